/* What the reader and the writer of the line form share: the names in it. Private to trace_lines*.c. */
#ifndef WO_TRACE_LINES_PRIVATE_H
#define WO_TRACE_LINES_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/json_stream.h"
#include "cuda_replay/trace.h"

/* Keys of lines; the actions, as keys, follow them. */
enum wo__line_key {
#define WO_LINE_KEY(id, name, type, is_kind) WO__LINE_##id,
#include "cuda_replay/trace_lines.def"
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
  uint64_t seen;                     /* a bit for each key that is there */
  uint64_t numbers[WO__LINE_COUNT_]; /* of texts: where they begin in `text` */
  size_t lengths[WO__LINE_COUNT_];   /* of texts and lists */
  struct {
    char *items;
    size_t count, capacity;
  } text;
};

_Static_assert(WO__LINE_COUNT_ <= 64, "a bit for each key");

static inline bool wo__line_has(const struct wo__line *line, int key) {
  return (line->seen >> key & 1) != 0;
}

/* A number of the line, or what stands for a key that is not there. */
static inline uint64_t wo__line_number(const struct wo__line *line, int key, uint64_t without) {
  return wo__line_has(line, key) ? line->numbers[key] : without;
}

/* A text of the line, empty without the key; valid as long as the line. */
static inline struct wo_view wo__line_text(const struct wo__line *line, int key) {
  if (!wo__line_has(line, key)) return (struct wo_view){0};
  return (struct wo_view){line->text.items + line->numbers[key], line->lengths[key]};
}

/* Actions whose address is a block's / a segment's. */
bool wo__line_names_block(enum wo_action action);
bool wo__line_names_segment(enum wo_action action);

/* A free whose size stands at its allocation. */
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

/* Reads the object behind "settings" into *settings; members that are missing keep their value. Failures as the reader's. */
enum wo_status wo__line_read_settings(struct wo_json_stream *json, struct wo_alloc_settings *settings, struct wo_err *err);

/* Takes over what a header line says, but for its streams and pools; `settings` is its object, NULL when it had none. */
enum wo_status wo__line_read_header(struct wo_json_stream *json, const struct wo__line *line,
                                    const struct wo_alloc_settings *settings, struct wo_recording *recording, struct wo_err *err);

#endif
