/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files pickle*.c: the instructions, and their access to the stack. */
#ifndef WO_PICKLE_INTERNAL_H
#define WO_PICKLE_INTERNAL_H

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "cuda_replay/recording/snapshot/pickle.h"

/* The instructions: each gets its argument, or 0. They return WO_OK, WO_E_NOMEM, or the result of wo_pickle_fail or
 * wo__pickle_cut. */
#define WO_PICKLE_OP(code, name, argument_bytes, function)                                                                       \
  enum wo_status wo__op_##function(struct wo_pickle *pickle, uint64_t argument);
#define WO_PICKLE_FIXED(code, name, argument, function) WO_PICKLE_OP(code, name, 0, function)
#include "cuda_replay/recording/snapshot/pickle_ops.def"
#undef WO_PICKLE_OP
#undef WO_PICKLE_FIXED

/* The name of an instruction; "?" for none. */
const char *wo__pickle_op_name(uint8_t code);

/* ---- Failing ---- */

/* Fails because there are fewer values than the instruction takes. */
enum wo_status wo__pickle_underflow(struct wo_pickle *pickle);

/* The stream ended in the middle of an instruction. */
enum wo_status wo__pickle_cut(struct wo_pickle *pickle);

/* ---- Stack ---- */

/* wo__pickle_push for a stack without room. */
enum wo_status wo__pickle_push_slowly(struct wo_pickle *pickle, struct wo_pickle_value value);

static inline enum wo_status wo__pickle_push(struct wo_pickle *pickle, struct wo_pickle_value value) {
  if (pickle->stack.count == pickle->stack.capacity) return wo__pickle_push_slowly(pickle, value);
  pickle->stack.items[pickle->stack.count++] = value;
  return WO_OK;
}

/* Pushes an integer or float of any size / a text, which is stored only once. */
enum wo_status wo__pickle_push_number(struct wo_pickle *pickle, struct wo_pickle_number number);
enum wo_status wo__pickle_push_text(struct wo_pickle *pickle, struct wo_view text);

/* Whether there are that many values above the last mark; no instruction reaches below it. */
static inline bool wo__pickle_has_values(const struct wo_pickle *pickle, size_t count) {
  const size_t floor = pickle->marks.count == 0 ? 0 : pickle->marks.items[pickle->marks.count - 1];
  return pickle->stack.count >= floor && pickle->stack.count - floor >= count;
}

/* The value that lies `depth` below the top, which must be there. */
static inline struct wo_pickle_value *wo__pickle_top(struct wo_pickle *pickle, size_t depth) {
  assert(depth < pickle->stack.count);
  return &pickle->stack.items[pickle->stack.count - 1 - depth];
}

/* Removes the last mark; false without one. The values above it begin at *ret_start. */
bool wo__pickle_take_mark(struct wo_pickle *pickle, size_t *ret_start);

/* Throws away the values from `start` on. */
void wo__pickle_drop_from(struct wo_pickle *pickle, size_t start);

/* Gives the values from `start` on to a container, as pairs or as members. A value that is no container takes nothing. */
enum wo_status wo__pickle_set(struct wo_pickle *pickle, struct wo_pickle_value *dict, size_t start, bool is_whole);
enum wo_status wo__pickle_append(struct wo_pickle *pickle, struct wo_pickle_value *list, size_t start);

/* ---- Bytes ---- */

/* A number of 1, 2, 4 or 8 bytes, least significant first. Copies of fixed length are one load each. */
static inline uint64_t wo__pickle_little_endian(const char *bytes, size_t count) {
  uint64_t number = 0;
  assert(count == 1 || count == 2 || count == 4 || count == 8);
  if (count == 1) return (unsigned char)bytes[0];
  if (count == 2) memcpy(&number, bytes, 2);
  if (count == 4) memcpy(&number, bytes, 4);
  if (count == 8) memcpy(&number, bytes, 8);
  return number;
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arguments are copied as they stand");

/* Takes the rest of the line, without its end, from the source. It is valid until the source moves. */
enum wo_status wo__pickle_line(struct wo_pickle *pickle, struct wo_view *ret_line);

#endif
