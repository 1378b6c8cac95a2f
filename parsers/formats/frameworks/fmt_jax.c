/* SPDX-License-Identifier: Apache-2.0 */
/* XLA's account of a program that does not fit: "BufferAssignment stats:" with the sums, then "Peak buffers:" with the largest
 * ones.
 *
 *   BufferAssignment stats:
 *                parameter allocation:  372.76MiB
 *        preallocated temp allocation:    4.44GiB
 *                    total allocation:   14.44GiB
 *   Peak buffers:
 *           Buffer 1:
 *                   Size: 3.00GiB
 *                   Operator: op_name="jit(step)/dot_general" source_file="..."
 *                   XLA Label: fusion
 *                   Shape: f32[4096,196608]
 *                   ==========================
 *
 * Form: xla/service/buffer_assignment.cc, jaxlib 0.3 to 0.7. */
#include <stdio.h>

#include "parsers/base/units.h"
#include "parsers/scan/format.h"

/* The largest buffer so far, as it was printed. Operator names hold whole paths of modules
 * ("jit(train_step)/jit(main)/transpose(jvp(...))/dot_general") and may be cut: their front shows which part of the program it
 * was. */
struct listing {
  double largest_bytes;
  bool is_largest; /* the lines that follow describe it */
  int strays;      /* lines since the last known one */
  char size[256], shape[256], operator_name[256];
};

/* Lines of other text between two of the listing's: wrapped operators and labels. */
#define LISTING_STRAYS 4

/* Buffers that are read: XLA lists fifteen. */
#define LISTING_LINES 300

/* Whether the line is one of the sums, taken or not. The total counts outputs and constants besides the other two, so it is read
 * and not computed. */
static bool read_sum(struct wo_event_store *store, struct wo_event *event, struct wo_view key, struct wo_view value) {
  static const struct {
    const char *key;
    enum wo_field_id field;
  } rows[] = {{"parameter allocation", WO_FIELD_PARAMETER_BYTES},
              {"preallocated temp allocation", WO_FIELD_TEMP_BYTES},
              {"total allocation", WO_FIELD_TOTAL_BYTES}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_interval bytes;
    if (!wo_view_is(key, rows[i].key)) continue;
    if (wo_units_bytes(&value, 1, &bytes) == WO_OK) wo_event_set_number(store, event, rows[i].field, bytes);
  }
  return wo_view_ends(key, " allocation") || wo_view_is(key, "total fragmentation") || wo_view_is(key, "Peak buffers");
}

/* A buffer begins with its size; what follows is kept when no larger one was seen. */
static void read_size(struct wo_open *open, struct wo_view value) {
  struct listing *const own = open->state;
  struct wo_view in = value;
  struct wo_interval bytes;
  own->is_largest = 0;
  if (wo_units_bytes(&in, 1, &bytes) != WO_OK || bytes.mid <= own->largest_bytes) return;
  own->largest_bytes = bytes.mid;
  own->is_largest = 1;
  wo_view_copy(value, own->size, sizeof own->size);
  own->shape[0] = own->operator_name[0] = '\0';
}

/* The value of op_name="...", or all of the text. */
static struct wo_view operator_name(struct wo_view value) {
  const struct wo_view words = WO_VIEW("op_name=\"");
  const size_t at = wo_view_find(value, words, 0);
  if (at == WO_NOT_FOUND) return value;
  struct wo_view name = wo_view_skip(value, at + words.len);
  return wo_view_cut(&name, '"');
}

/* Whether the line belongs to the description of a buffer. Parameters have a subshape ("Entry Parameter Subshape: bf16[...]") in
 * place of a shape, as they may be parts of a tuple. */
static bool read_buffer(struct wo_open *open, struct wo_view key, struct wo_view value) {
  struct listing *const own = open->state;
  if (wo_view_is(key, "Size")) {
    read_size(open, value);
    return true;
  }
  const bool is_shape = wo_view_is(key, "Shape") || wo_view_is(key, "Entry Parameter Subshape");
  if (is_shape && own->is_largest) wo_view_copy(value, own->shape, sizeof own->shape);
  const bool is_operator = wo_view_is(key, "Operator");
  if (is_operator && own->is_largest) wo_view_copy(operator_name(value), own->operator_name, sizeof own->operator_name);
  return is_shape || is_operator || wo_view_is(key, "XLA Label") || wo_view_starts(key, "Buffer ") || wo_view_starts(key, "====");
}

/* Each line has its key before the first colon. Shapes and operators hold colons of their own, which stay in the value. */
static enum wo_more feed_listing(struct wo_open *open) {
  struct listing *const own = open->state;
  struct wo_event *event = wo_open_event(open);
  if (!event || open->lines > LISTING_LINES) return WO_MORE_NO_UNREAD;
  struct wo_view value = wo_view_trim(open->line->text);
  const struct wo_view key = wo_view_trim(wo_view_cut(&value, ':'));
  value = wo_view_trim(value);
  if (key.len == 0) return WO_MORE_YES;
  if (read_sum(open->store, event, key, value) || read_buffer(open, key, value)) {
    own->strays = 0;
    return WO_MORE_YES;
  }
  return ++own->strays > LISTING_STRAYS ? WO_MORE_NO_UNREAD : WO_MORE_YES;
}

/* A listing that was cut before its buffers has the sums only; they are in the event already. */
static void finish_listing(struct wo_open *open) {
  struct listing *const own = open->state;
  struct wo_event *event = wo_open_event(open);
  struct wo_view size = wo_view_of(own->size);
  struct wo_interval bytes;
  if (!event || wo_units_bytes(&size, 1, &bytes) != WO_OK) return;
  wo_event_set_number(open->store, event, WO_FIELD_LARGEST_BYTES, bytes);
  const struct wo_view shape = wo_view_of(own->shape);
  const struct wo_view operator= wo_view_of(own->operator_name);
  if (shape.len > 0) wo_event_set_text(open->store, event, WO_FIELD_SHAPE, shape);
  if (operator.len> 0) wo_event_set_text(open->store, event, WO_FIELD_OPERATOR, operator);
}

const struct wo_format wo__format_jax_buffers = {
    .name = "jax_buffers",
    .state_bytes = sizeof(struct listing),
    .begin = wo_open_begin,
    .feed = feed_listing,
    .finish = finish_listing,
};
