/* SPDX-License-Identifier: Apache-2.0 */
/* Pickles, protocols 0 to 5, read as a stream: a total, non-executing, iterative, bounded reader.
 *
 * Total: any bytes give a value, a cut, or a message. Non-executing: opcodes that import, call or build are refused by name.
 * Iterative and bounded: no recursion; memory grows with the values that wait for their container and with 8 bytes for each memo
 * entry; all caps are in limits.h. The reader does not know the meaning of dicts and lists: a builder turns them into records as
 * soon as they are complete (pickle_value.h). One reader must not be used by two threads at once. */
#ifndef WO_PICKLE_H
#define WO_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/recording/snapshot/pickle_value.h"
#include "cuda_replay/recording/trace_intern.h"
#include "cuda_replay/recording/trace_source.h"
#include "parsers/base/status.h"
#include "parsers/base/vec.h"

struct wo_pickle;

/* Makes records of containers. A failure stops the reading: WO_E_NOMEM, WO_E_LIMIT with a message in pickle->err. */
struct wo_pickle_builder {
  void *context;

  /* Sets pairs (key, value, key, value, ...) of a NEW_DICT or DICT, which may become another value. is_whole: these are all pairs
   * of the dict, as with SETITEMS and DICT. */
  enum wo_status (*set)(void *context, struct wo_pickle_value *dict, const struct wo_pickle_value *pairs, size_t pair_count,
                        bool is_whole);

  /* Appends to a NEW_LIST or LIST. */
  enum wo_status (*append)(void *context, struct wo_pickle_value *list, const struct wo_pickle_value *items, size_t count);

  /* Gives the value for another reference to an open DICT or LIST: one that is not open. */
  enum wo_status (*share)(void *context, struct wo_pickle_value open, struct wo_pickle_value *ret_value);

  /* Only the memo still refers to a value. */
  void (*drop)(void *context, struct wo_pickle_value value);

  /* The memo slot of an open DICT or LIST: slot + 1, or 0 when it has none yet. */
  uint32_t *(*next_slot)(void *context, struct wo_pickle_value open);
};

/* Why the reading ended. */
enum wo_pickle_end {
  WO_PICKLE_STOP,    /* at its STOP */
  WO_PICKLE_CUT,     /* the stream ended before */
  WO_PICKLE_BROKEN,  /* malformed, or a limit: err says which; everything before it is good */
  WO_PICKLE_REFUSED, /* it would execute something: err says what */
  WO_PICKLE_FAILED   /* memory is out */
};

/* A number that does not fit into a value. */
struct wo_pickle_number {
  enum { WO_NUMBER_FLOAT, WO_NUMBER_SIGNED, WO_NUMBER_UNSIGNED, WO_NUMBER_HUGE } kind;
  union {
    double real;
    int64_t integer;
    uint64_t natural;
  } is;
};

struct wo_pickle {
  struct wo_trace_source *source; /* borrowed */
  struct wo_intern *intern;       /* borrowed: texts */
  struct wo_pickle_builder builder;
  struct wo_err *err; /* borrowed, never NULL */
  uint64_t offset;    /* of the present opcode */
  uint8_t opcode;
  bool is_stopped;
  bool is_cut;
  bool is_refused;
  WO_VEC(struct wo_pickle_value) stack;
  WO_VEC(size_t) marks; /* heights of the stack */
  WO_VEC(struct wo_pickle_value) memo;
  WO_VEC(struct wo_pickle_number) numbers;
};

/* Reads one pickle. With WO_PICKLE_STOP its value is the top of the stack. Release with wo_pickle_done after any result. */
enum wo_pickle_end wo_pickle_run(struct wo_pickle *pickle);

/* Releases what the reader owns. */
void wo_pickle_done(struct wo_pickle *pickle);

/* For a stream that was cut: closes the open containers from the inside to the outside, as if the missing opcodes had come, but
 * drops the dict that was cut. The outermost value stays on the stack. WO_E_NOMEM. */
enum wo_status wo_pickle_close_all(struct wo_pickle *pickle);

/* A container became `now`: its memo slot (slot + 1, or 0) becomes `now`, too, if it still holds `was`. */
void wo_pickle_patch_memo(struct wo_pickle *pickle, uint32_t next_slot, struct wo_pickle_value was, struct wo_pickle_value now);

/* For builders: fills pickle->err with a message that ends in the instruction's name and offset, and returns status. */
enum wo_status wo_pickle_fail(struct wo_pickle *pickle, enum wo_status status, const char *message);

/* For builders, too: makes room for more in an array. A full array, which is the file's fault, fails with the message. */
#define WO_PICKLE_RESERVE(pickle, vec, more, cap, message)                                                                       \
  ((vec)->capacity - (vec)->count >= (more) || WO_VEC_RESERVE((vec), (more), (cap)) ? WO_OK                                      \
   : (more) <= (cap) - (vec)->count                                                 ? WO_E_NOMEM                                 \
                                    : wo_pickle_fail((pickle), WO_E_LIMIT, (message)))

/* The number of a value; false if it is no number, negative or too large. */
bool wo_pickle_u64(const struct wo_pickle *pickle, struct wo_pickle_value value, uint64_t *ret_number);
bool wo_pickle_i64(const struct wo_pickle *pickle, struct wo_pickle_value value, int64_t *ret_number);
bool wo_pickle_double(const struct wo_pickle *pickle, struct wo_pickle_value value, double *ret_number);

#endif
