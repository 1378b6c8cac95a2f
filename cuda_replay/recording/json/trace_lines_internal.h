/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the reader of the line form. Private to trace_lines*.c and to the tests' writer. */
#ifndef WO_TRACE_LINES_INTERNAL_H
#define WO_TRACE_LINES_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/recording/json/json_stream.h"
#include "cuda_replay/recording/trace.h"
#include "cuda_replay/recording/trace_intern.h"
#include "parsers/base/vec.h"

/* Keys of lines; the actions, as keys, follow them. */
enum wo__line_key {
#define WO_LINE_KEY(id, name, type, is_kind) WO__LINE_##id,
#include "cuda_replay/recording/json/trace_lines.def"
#undef WO_LINE_KEY
  WO__LINE_ACTION,
  WO__LINE_COUNT_ = (int)WO__LINE_ACTION + (int)WO_ACTION_COUNT_
};

/* Names for the values of enumerations, by value. */
extern const char *const wo__line_sources[WO_TRACE_FORMAT_RECONSTRUCTED + 1];
extern const char *const wo__line_fidelities[WO_TRACE_APPROXIMATE + 1];
extern const char *const wo__line_states[WO_BLOCK_PENDING + 1];

/* The key "settings" of a header is an object with the members of struct wo_alloc_settings. One row for each. */
enum wo__setting_type { WO__SETTING_BYTES, WO__SETTING_FRACTION, WO__SETTING_FLAG, WO__SETTING_DIVISIONS };

struct wo__setting_row {
  const char *name;
  enum wo__setting_type type;
  size_t offset; /* of the member */
};

enum { WO__SETTING_ROWS = 10 };
extern const struct wo__setting_row wo__setting_rows[WO__SETTING_ROWS];

/* One line, as it is read: numbers, flags and places of texts by key. */
struct wo__line {
  uint64_t seen;                      /* a bit for each key that is there */
  uint64_t numbers[WO__LINE_COUNT_];  /* of texts: where they begin in `text` */
  size_t lengths[WO__LINE_COUNT_];    /* of texts and lists */
  uint8_t after[WO__LINE_COUNT_ + 1]; /* the key that came after each one last; at the end: the first key of a line */
  WO_VEC(char) text;
};

_Static_assert(WO__LINE_COUNT_ <= 64, "a bit for each key");

static inline bool wo__line_has(const struct wo__line *line, int key) {
  return (line->seen >> key & 1) != 0;
}

/* A number of the line, or a default if the key is missing. */
static inline uint64_t wo__line_number(const struct wo__line *line, int key, uint64_t without) {
  return wo__line_has(line, key) ? line->numbers[key] : without;
}

/* A text of the line, empty if the key is missing; valid as long as the line. */
static inline struct wo_view wo__line_text(const struct wo__line *line, int key) {
  if (!wo__line_has(line, key) || line->lengths[key] == 0) return (struct wo_view){0}; /* the array of texts may be NULL */
  return (struct wo_view){line->text.items + line->numbers[key], line->lengths[key]};
}

/* Whether the address of an action is a block's. */
static inline bool wo__line_names_block(enum wo_action action) {
  return wo_action_is(action, WO_TRAIT_BLOCK) || action == WO_ACTION_RECORD_STREAM;
}

/* A free that takes its size from its allocation. */
struct wo__short_free {
  int device;
  size_t entry;
  uint64_t line;
};

struct wo__short_frees {
  struct wo__short_free *items;
  size_t count, capacity;
};

/* Gives each of these frees the size, stream and pool of the newest allocation of its address above it. WO_E_RANGE with the line
 * of the first that has none; WO_E_NOMEM. */
enum wo_status wo__lines_size_frees(const struct wo_json_stream *json, const struct wo__short_frees *frees,
                                    struct wo_recording *recording, struct wo_err *err);

/* ---- The reader (trace_lines.c) and its keys (trace_lines_keys.c) ---- */

/* How blocks are named in this file. */
enum wo__line_naming { WO__LINE_NAMING_OPEN, WO__LINE_NAMING_ADDRESSES, WO__LINE_NAMING_IDS };

/* The state of the reader. */
struct wo__line_reader {
  struct wo_json_stream json;
  struct wo_recording *recording;
  struct wo_intern intern; /* of streams and pools */
  struct wo_err *err;
  struct wo__line line;
  struct wo_alloc_settings settings; /* of the header's object */
  bool has_settings_object;
  bool has_header;
  bool has_unknown_key;
  bool has_unknown_line;
  enum wo__line_naming naming;
  int device; /* of lines that name none */
  size_t left_out_count;
  struct wo_trace_segment segment; /* the one whose blocks are being read */
  uint64_t filled_bytes;
  int segment_device;
  bool is_segment_open;
  struct wo__short_frees short_frees;
};

/* Reads the object of "settings", after its opening bracket, into reader->settings; missing members keep their value. Failures as
 * in the reader. */
enum wo_status wo__line_read_settings(struct wo__line_reader *reader);

/* Applies a header line, except its streams and pools. */
enum wo_status wo__line_read_header(struct wo__line_reader *reader);

#define WO__LINE_FAIL(reader, code, ...) wo_json_stream_fail(&(reader)->json, (reader)->err, (code), __VA_ARGS__)

/* Makes room for one more in an array; a full array and memory that is out are different errors. */
#define WO__LINE_RESERVE(reader, vec, cap)                                                                                       \
  (WO_VEC_RESERVE((vec), 1, (cap)) ? WO_OK                                                                                       \
   : (vec)->count >= (cap) ? WO__LINE_FAIL((reader), WO_E_LIMIT, "is one of more than %zu lines of its kind", (size_t)(cap))     \
                           : wo__line_no_memory(reader))

/* WO_E_NOMEM with its message, at the last token. */
enum wo_status wo__line_no_memory(struct wo__line_reader *reader);

/* WO_E_TYPE: the value of that key has another type than expected. */
enum wo_status wo__line_mistyped(struct wo__line_reader *reader, int key, const char *expected);

/* The index of a stream; a failure has its message. */
enum wo_status wo__line_find_stream(struct wo__line_reader *reader, uint64_t raw, uint32_t *ret_stream);

/* Reads an object after its opening bracket into reader->line. *ret_is_whole: whether the input does not end inside. */
enum wo_status wo__line_read_object(struct wo__line_reader *reader, bool *ret_is_whole);

/* Whether a key says what its line is; its name. */
bool wo__line_is_kind(int key);
const char *wo__line_key_name(int key);

#endif
