/* SPDX-License-Identifier: Apache-2.0 */
/* TensorFlow's "OOM when allocating tensor with shape[64,512,1024] and type float on ...device:GPU:0": the size is not printed,
 * it is the product of the dimensions times the size of the type (float when TF 1 does not name it). And the dump of the BFC
 * allocator, which XLA shares: limit, use and peak of the pool, and which chunks hold most of it. Wording:
 * tensorflow/core/common_runtime/bfc_allocator.cc, 1.0 to 2.15; xla/tsl/framework/bfc_allocator.cc. */
#include <string.h>

#include "parsers/base/units.h"
#include "parsers/formats/common/fmt_joined.h"

/* Lines between the allocator's dump and the failure that it belongs to. The dump lists every chunk before its sums. */
#define DUMP_LINES_BEFORE 200
#define DUMP_LINES_AFTER 20000

/* Bytes of an element. Four for float, int32 and whatever else has no row: most tensors of a training program are float. */
static double size_of_type(struct wo_view type) {
  static const struct {
    const char *name;
    double bytes;
  } types[] = {{"half", 2},        {"bfloat16", 2}, {"double", 8}, {"int64", 8}, {"uint64", 8}, {"complex64", 8},
               {"complex128", 16}, {"int8", 1},     {"uint8", 1},  {"bool", 1},  {"int16", 2},  {"uint16", 2}};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    if (wo_view_is(type, types[i].name)) return types[i].bytes;
  }
  return 4;
}

/* Rows of a matrix from which it is a table of weights or the gradient of one, not a batch of vectors. */
#define BATCH_ROWS 65536

/* A vector has no batch; a matrix may be one of weights. */
static bool is_batch(size_t dimensions, double first, struct wo_view text) {
  if (wo_view_has(text, "failed at random_op") || wo_view_has(text, "/Initializer/")) return false;
  return dimensions > 2 || (dimensions == 2 && first <= BATCH_ROWS);
}

/* Reads "64,512,1024"; *ret_first is the leading dimension. */
static bool read_shape(struct wo_view shape, double *ret_elements, double *ret_first, size_t *ret_dimensions) {
  double elements = 1;
  bool is_first = true;
  *ret_dimensions = 0;
  while (shape.len > 0) {
    struct wo_view part = wo_view_trim(wo_view_cut(&shape, ','));
    uint64_t dimension = 0;
    if (wo_number_u64(&part, INT64_C(1) << 40, &dimension) != WO_OK || part.len > 0) return false;
    elements *= (double)dimension;
    if (is_first) *ret_first = (double)dimension;
    is_first = false;
    ++*ret_dimensions;
  }
  *ret_elements = elements;
  return !is_first && elements < 1e18;
}

/* The failures that the pool's allocator reports; an out-of-memory error of another framework in the same file has its own
 * figures. */
static bool is_pool_failure(const struct wo_event *event) {
  return event->kind == WO_KIND_TF_OOM || event->kind == WO_KIND_JAX_OOM;
}

/* The pool is what the framework may use of the card: to a failed request it is the capacity. */
static void take_limit(struct wo_event_store *store, const struct wo_event *dump, struct wo_event *failure) {
  wo_event_copy_number(store, failure, WO_FIELD_CAPACITY_BYTES, dump, WO_FIELD_LIMIT_BYTES);
}

static void take_figures(struct wo_event_store *store, const struct wo_event *dump, struct wo_event *failure) {
  take_limit(store, dump, failure);
  wo_event_copy_number(store, failure, WO_FIELD_ALLOCATED_BYTES, dump, WO_FIELD_USED_BYTES);
}

/* The dump just before a failure. */
static const struct wo_event *find_dump(const struct wo_event_store *store, const struct wo_event *failure) {
  for (size_t i = (size_t)failure->id; i-- > 0;) {
    const struct wo_event *event = &store->items[i];
    if (event->span.file != failure->span.file || event->span.line + DUMP_LINES_BEFORE < failure->span.line) return NULL;
    if (event->mark == WO_MARK_POOL_DUMP) return event;
  }
  return NULL;
}

/* Adds the figures that the message does not print: the size, and the pool from the allocator's dump. */
static void complete_tensor(struct wo_event_store *store, struct wo_event *event, const struct wo_match *match) {
  double elements = 0;
  double first = 0;
  size_t dimensions = 0;
  if (read_shape(wo_match_group(match, "shape"), &elements, &first, &dimensions)) {
    const double bytes = elements * size_of_type(wo_match_group(match, "dtype"));
    wo_event_set_exact(store, event, WO_FIELD_TRIED_BYTES, bytes);
    if (is_batch(dimensions, first, event->text)) wo_event_set_exact(store, event, WO_FIELD_BATCH, first);
  }
  const struct wo_event *dump = find_dump(store, event);
  if (dump) take_figures(store, dump, event);
}

static const struct wo_joined_as tensor = {complete_tensor};

/* The shape may be wrapped away from the words before it, so the message is joined first and completed on the whole. */
const struct wo_format wo__format_tf_tensor = {
    .name = "tf_tensor",
    .state_bytes = sizeof(struct wo_joined),
    .constants = &tensor,
    .begin = wo__joined_begin,
    .feed = wo__joined_feed,
    .finish = wo__joined_finish,
};

/* ---- The allocator's dump ---- */

/* Lines without a figure after which a dump is over: notes on memory regions are between its sums. */
#define DUMP_STRAYS 12

/* The largest group of chunks of one size. */
struct dump {
  double group_bytes;
  uint64_t group_count;
  int strays; /* lines since the last figure */
};

/* Reads "4 Chunks of size 488374272 totalling 1.82GiB"; the exact product counts, not the rounded sum. */
static bool read_chunks(struct wo_open *open, struct wo_view text) {
  struct dump *const own = open->state;
  const size_t at = wo_view_find(text, WO_VIEW(" Chunks of size "), 0);
  if (at == WO_NOT_FOUND) return false;
  size_t start = at;
  while (start > 0 && wo_is_digit(text.ptr[start - 1])) start--;
  struct wo_view count_in = wo_view_sub(text, start, at);
  struct wo_view size_in = wo_view_skip(text, at + strlen(" Chunks of size "));
  uint64_t count = 0;
  uint64_t size = 0;
  if (wo_number_u64(&count_in, UINT32_MAX, &count) != WO_OK) return false;
  if (wo_number_u64(&size_in, INT64_C(1) << 50, &size) != WO_OK) return false;
  const double bytes = (double)count * (double)size;
  if (bytes > (double)own->group_bytes && bytes < 1e18) {
    own->group_bytes = bytes;
    own->group_count = count;
  }
  return true;
}

/* Reads "Limit: 10619240448" and its neighbours. The sum of chunks in use is rounded and comes before the exact figure, so it is
 * not taken. */
static bool read_statistic(struct wo_event_store *store, struct wo_event *event, const struct wo_line *line) {
  static const struct {
    const char *key;
    enum wo_field_id field;
  } rows[] = {{"Limit", WO_FIELD_LIMIT_BYTES}, {"InUse", WO_FIELD_USED_BYTES}, {"MaxInUse", WO_FIELD_PEAK_BYTES}};
  struct wo_view value = line->text;
  const struct wo_view key = wo_view_trim(wo_view_cut(&value, ':'));
  value = wo_view_trim(value);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (!wo_view_is(key, rows[i].key)) continue;
    struct wo_interval bytes;
    if (wo_units_bytes(&value, 1, &bytes) == WO_OK) wo_event_set_number(store, event, rows[i].field, bytes);
    return true;
  }
  return wo_view_is(key, "NumAllocs") || wo_view_is(key, "MaxAllocSize") || wo_view_has(line->full, "] Stats:") ||
         wo_view_has(line->full, "Sum Total of in-use chunks");
}

/* The dump begins with its chunks ("6 Chunks of size 67108864 totalling 384.00MiB") or, where a log lost those, at one of the
 * sums. */
static enum wo_more begin_dump(struct wo_open *open, const struct wo_match *match) {
  if (wo_open_begin(open, match) == WO_MORE_NO) return WO_MORE_NO;
  read_chunks(open, open->line->full);
  return WO_MORE_YES;
}

/* The failure after the dump is given back: its own pattern must find it. */
static enum wo_more feed_dump(struct wo_open *open) {
  struct dump *const own = open->state;
  struct wo_event *event = wo_open_event(open);
  if (!event || wo_view_has(open->line->full, "OOM when") || wo_view_has(open->line->full, "Out of memory"))
    return WO_MORE_NO_UNREAD;
  if (read_chunks(open, open->line->full) || read_statistic(open->store, event, open->line)) {
    own->strays = 0;
    return WO_MORE_YES;
  }
  return ++own->strays > DUMP_STRAYS ? WO_MORE_NO_UNREAD : WO_MORE_YES;
}

/* The allocator speaks first ("ran out of memory trying to allocate"), then dumps: that failure gets the figures too. What the
 * pool may use is the same for the failures before it that were not dumped. */
static void finish_dump(struct wo_open *open) {
  struct dump *const own = open->state;
  struct wo_event *dump = wo_open_event(open);
  if (!dump) return;
  if (own->group_bytes > 0) {
    wo_event_set_exact(open->store, dump, WO_FIELD_LARGEST_BYTES, (double)own->group_bytes);
    wo_event_set_exact(open->store, dump, WO_FIELD_COUNT, (double)own->group_count);
  }
  bool is_first = true;
  for (size_t i = (size_t)dump->id; i-- > 0;) {
    struct wo_event *event = &open->store->items[i];
    if (event->span.file != dump->span.file || event->span.line + DUMP_LINES_AFTER < dump->span.line) return;
    if (!is_pool_failure(event) || event->rank != dump->rank) continue;
    if (is_first) take_figures(open->store, dump, event);
    if (!is_first && wo_event_field(event, WO_FIELD_CAPACITY_BYTES) == NULL) take_limit(open->store, dump, event);
    is_first = false;
  }
}

const struct wo_format wo__format_tf_dump = {
    .name = "tf_dump",
    .state_bytes = sizeof(struct dump),
    .begin = begin_dump,
    .feed = feed_dump,
    .finish = finish_dump,
};
