/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of memory timelines: matches raw events by size, newest first, to lifetimes; refuses drawn timelines with their
 * peaks.
 *
 * Raw events, as they come:
 *
 *   [-1, 1, 4096, 0]        4096 bytes of a parameter existed before the profiler began
 *   [5000, 2, 512, 3]       512 temporary bytes are created
 *   [6000, 3, -512, 3]      they get a new version: no longer temporary ...
 *   [6000, 3, 512, 5]       ... but a gradient
 *   [7000, 4, -512, 5]      and go
 *
 * Newest first is the better guess: temporaries of one size follow each other closely, and long-lived blocks were made early. */
#include "cuda_replay/recording/json/memory_timeline.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda_replay/collections/address_map.h"
#include "cuda_replay/recording/json/json_stream.h"
#include "cuda_replay/recording/trace_front.h"
#include "cuda_replay/recording/trace_intern.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

/* The exporter's numbers. */
enum { ACTION_PREEXISTING = 1, ACTION_CREATE, ACTION_INCREMENT_VERSION, ACTION_DESTROY };
enum { CATEGORY_COUNT = 8, EVENT_NUMBERS = 4, DRAWN_NUMBERS = 1 + CATEGORY_COUNT };

static const char *const categories[CATEGORY_COUNT] = {
    "PARAMETER", "OPTIMIZER_STATE", "INPUT", "TEMPORARY", "ACTIVATION", "GRADIENT", "AUTOGRAD_DETAIL", "UNKNOWN",
};

/* Larger blocks exist on no card; sizes and categories share a key. */
#define SIZE_MAX_BYTES ((INT64_C(1) << 60) - 1)

/* The end of a chain. */
#define NONE UINT32_MAX

/* A block between its old category and its new one. */
struct moving {
  uint32_t block; /* NONE: no block moves */
  uint64_t size_bytes;
  unsigned category;
};

struct reader {
  struct wo_json_stream json;
  struct wo_recording *recording;
  struct wo_trace *trace;
  struct wo_err *err;
  struct wo_intern intern;
  struct wo_trace_front front;
  struct wo_address_map newest; /* key_of(size, category) -> the newest block alive */
  WO_VEC(uint32_t) blocks; /* the next older live one of its size and category; its number in the recording is its place + 1 */
  struct moving moving;
  uint32_t stacks[CATEGORY_COUNT];
  uint64_t event_count;
  size_t guess_count; /* freed in another category than allocated */
  size_t odd_count;   /* events that cannot be used */
  size_t left_out_count;
};

static enum wo_status no_memory(struct reader *reader) {
  return wo_json_stream_fail(&reader->json, reader->err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
}

/* ---- Blocks that are alive ---- */

/* Blocks of one size and category cannot be distinguished. */
static uint64_t key_of(uint64_t size_bytes, unsigned category) {
  assert(size_bytes <= (uint64_t)SIZE_MAX_BYTES && category < CATEGORY_COUNT);
  return size_bytes * CATEGORY_COUNT + category;
}

/* Makes a block the newest alive of its size and category. */
static enum wo_status push(struct reader *reader, uint32_t block, uint64_t size_bytes, unsigned category) {
  assert(block < reader->blocks.count);
  const uint64_t key = key_of(size_bytes, category);
  uint32_t older = NONE;
  wo_address_map_find(&reader->newest, key, &older);
  reader->blocks.items[block] = older;
  return wo_address_map_put(&reader->newest, key, block) == WO_OK ? WO_OK : no_memory(reader);
}

/* Takes the newest of a size and category; NONE when none is alive. */
static enum wo_status pop(struct reader *reader, uint64_t size_bytes, unsigned category, uint32_t *ret_block) {
  const uint64_t key = key_of(size_bytes, category);
  *ret_block = NONE;
  if (!wo_address_map_find(&reader->newest, key, ret_block)) return WO_OK;
  const uint32_t older = reader->blocks.items[*ret_block];
  if (older == NONE) return wo_address_map_remove(&reader->newest, key, NULL), WO_OK;
  return wo_address_map_put(&reader->newest, key, older) == WO_OK ? WO_OK : no_memory(reader);
}

/* Blocks are never removed, because their numbers are their places. */
static enum wo_status make_block(struct reader *reader, uint32_t *ret_block) {
  *ret_block = (uint32_t)reader->blocks.count;
  if (!WO_VEC_RESERVE(&reader->blocks, 1, WO_LIMIT_TRACE_ENTRIES)) return no_memory(reader);
  reader->blocks.items[reader->blocks.count++] = NONE;
  return WO_OK;
}

/* Takes the block that is freed: of its category, else of another one, else a block from before the first event. */
static enum wo_status take_block(struct reader *reader, uint64_t size_bytes, unsigned category, uint32_t *ret_block) {
  enum wo_status status = pop(reader, size_bytes, category, ret_block);
  for (unsigned i = 0; i < CATEGORY_COUNT && status == WO_OK && *ret_block == NONE; i++) {
    status = pop(reader, size_bytes, i, ret_block);
    if (status == WO_OK && *ret_block != NONE) reader->guess_count++;
  }
  if (status != WO_OK || *ret_block != NONE) return status;
  status = make_block(reader, ret_block);
  if (status != WO_OK) return status;
  status = wo_trace_front_add(&reader->front, (uint64_t)*ret_block + 1, size_bytes);
  if (status == WO_OK) reader->front.items[reader->front.count - 1].stack = reader->stacks[category];
  return status == WO_OK ? WO_OK : no_memory(reader);
}

/* ---- Events ---- */

struct event {
  int64_t time_ns;
  int64_t action;
  int64_t bytes;
  int64_t category;
};

/* Blocks that existed already have the time -1. */
static enum wo_status add_entry(struct reader *reader, const struct event *event, enum wo_action action, uint32_t block) {
  const int64_t time_us = event->time_ns < 0 ? WO_NO_TIME : event->time_ns / 1000;
  const enum wo_status status =
      wo_trace_add(reader->trace, (struct wo_trace_entry){
                                      .address = (uint64_t)block + 1,
                                      .size_bytes = (uint64_t)(event->bytes < 0 ? -event->bytes : event->bytes),
                                      .time_us = time_us,
                                      .stack = action == WO_ACTION_ALLOC ? reader->stacks[event->category] : WO_NO_STACK,
                                      .action = (uint32_t)action & 31u,
                                  });
  if (status == WO_E_LIMIT) return reader->left_out_count++, WO_OK;
  return status == WO_OK ? WO_OK : no_memory(reader);
}

/* A block that cannot be kept must not be found by a later free. */
static enum wo_status take_create(struct reader *reader, const struct event *event) {
  assert(event->bytes > 0);
  uint32_t block = NONE;
  if (reader->trace->entries.count >= WO_LIMIT_TRACE_ENTRIES) return reader->left_out_count++, WO_OK;
  enum wo_status status = make_block(reader, &block);
  if (status == WO_OK) status = push(reader, block, (uint64_t)event->bytes, (unsigned)event->category);
  return status == WO_OK ? add_entry(reader, event, WO_ACTION_ALLOC, block) : status;
}

static enum wo_status take_destroy(struct reader *reader, const struct event *event) {
  assert(event->bytes < 0);
  uint32_t block = NONE;
  enum wo_status status = take_block(reader, (uint64_t)-event->bytes, (unsigned)event->category, &block);
  if (status == WO_OK) status = add_entry(reader, event, WO_ACTION_FREE_REQUESTED, block);
  return status == WO_OK ? add_entry(reader, event, WO_ACTION_FREE_COMPLETED, block) : status;
}

/* If the new category of a block never came, the block keeps its old one. */
static enum wo_status settle(struct reader *reader) {
  const struct moving moving = reader->moving;
  if (moving.block == NONE) return WO_OK;
  reader->moving.block = NONE;
  return push(reader, moving.block, moving.size_bytes, moving.category);
}

/* A new version comes as two events: minus in the old category, plus in the new one. */
static enum wo_status take_version(struct reader *reader, const struct event *event) {
  if (event->bytes > 0 && reader->moving.block != NONE && reader->moving.size_bytes == (uint64_t)event->bytes) {
    reader->moving.category = (unsigned)event->category;
    return settle(reader);
  }
  enum wo_status status = settle(reader);
  if (status != WO_OK) return status;
  if (event->bytes > 0) return reader->odd_count++, WO_OK;
  uint32_t block = NONE;
  status = take_block(reader, (uint64_t)-event->bytes, (unsigned)event->category, &block);
  reader->moving = (struct moving){block, (uint64_t)-event->bytes, (unsigned)event->category};
  return status;
}

/* Events that contradict themselves are counted and left out. */
static enum wo_status take_event(struct reader *reader, const struct event *event) {
  const bool is_right = event->bytes >= -SIZE_MAX_BYTES && event->bytes <= SIZE_MAX_BYTES && event->category >= 0 &&
                        event->category < CATEGORY_COUNT;
  if (is_right && event->bytes == 0) return WO_OK;
  if (is_right && event->action == ACTION_INCREMENT_VERSION) return take_version(reader, event);
  const enum wo_status status = settle(reader);
  if (status != WO_OK) return status;
  if (is_right && event->bytes > 0 && (event->action == ACTION_CREATE || event->action == ACTION_PREEXISTING))
    return take_create(reader, event);
  if (is_right && event->bytes < 0 && event->action == ACTION_DESTROY) return take_destroy(reader, event);
  reader->odd_count++;
  return WO_OK;
}

/* ---- Lists of numbers ---- */

/* Reads a list of numbers after its opening bracket: the first `cap` into numbers (rounded down), *ret_count of all. It ends at
 * the bracket, at the end of the input, or at a list inside, whose bracket has been read: then *ret_has_list. */
static enum wo_status read_numbers(struct reader *reader, int64_t *numbers, size_t cap, size_t *ret_count, bool *ret_has_list) {
  *ret_count = 0;
  *ret_has_list = false;
  for (;;) {
    struct wo_json_token token;
    const enum wo_status status = wo_json_stream_next(&reader->json, &token, reader->err);
    if (status != WO_OK || token.kind == WO_JSON_ARRAY_END || token.kind == WO_JSON_CUT) return status;
    *ret_has_list = token.kind == WO_JSON_ARRAY;
    if (*ret_has_list) return WO_OK;
    int64_t value = 0;
    if (token.kind != WO_JSON_NUMBER)
      return wo_json_stream_fail(&reader->json, reader->err, WO_E_TYPE, "is no memory timeline: lists of numbers are expected");
    if (!wo_json_number_fixed(token.text, 0, &value)) value = -1;
    if (*ret_count < cap) numbers[*ret_count] = value;
    ++*ret_count;
  }
}

static enum wo_status take_numbers(struct reader *reader, const int64_t numbers[EVENT_NUMBERS], size_t count) {
  const struct event event = {numbers[0], numbers[1], numbers[2], numbers[3]};
  reader->event_count++;
  if (count == EVENT_NUMBERS) return take_event(reader, &event);
  reader->odd_count++;
  return WO_OK;
}

/* Reads the remaining events. */
static enum wo_status read_events(struct reader *reader) {
  for (;;) {
    struct wo_json_token token;
    int64_t numbers[EVENT_NUMBERS] = {0};
    size_t count = 0;
    bool has_list = false;
    enum wo_status status = wo_json_stream_next(&reader->json, &token, reader->err);
    if (status != WO_OK || token.kind != WO_JSON_ARRAY) return status;
    status = read_numbers(reader, numbers, EVENT_NUMBERS, &count, &has_list);
    if (status != WO_OK || reader->json.is_cut) return status;
    if (has_list)
      return wo_json_stream_fail(&reader->json, reader->err, WO_E_TYPE, "is no memory timeline: a list stands in an event");
    status = take_numbers(reader, numbers, count);
    if (status != WO_OK) return status;
  }
}

/* ---- Drawn timelines ---- */

/* Adds the peaks of a timeline, largest first, as far as they fit into a message. */
static void show_peaks(const int64_t peaks[DRAWN_NUMBERS], char *buf, size_t cap) {
  bool is_shown[DRAWN_NUMBERS] = {false};
  size_t len = 0;
  buf[0] = '\0';
  for (int n = 0; n < 4; n++) {
    int largest = 0;
    for (int i = 1; i < DRAWN_NUMBERS; i++) {
      if (!is_shown[i] && peaks[i] > 0 && (largest == 0 || peaks[i] > peaks[largest])) largest = i;
    }
    if (largest == 0 || len >= cap) return;
    is_shown[largest] = true;
    const int more = snprintf(buf + len, cap - len, "%s%s %.1f", n == 0 ? "; at most " : ", ", categories[largest - 1],
                              (double)peaks[largest] / (1024.0 * 1024.0));
    len += more > 0 ? (size_t)more : 0;
  }
}

/* The advice comes first, because the peaks may be cut. */
static enum wo_status refuse_drawn(struct reader *reader, const int64_t peaks[DRAWN_NUMBERS]) {
  char shown[160];
  show_peaks(peaks, shown, sizeof shown);
  return wo_json_stream_fail(&reader->json, reader->err, WO_E_KIND,
                             "is a drawn memory timeline, which holds sums and no allocations: record a memory snapshot "
                             "(_record_memory_history), or export to .raw.json.gz. It peaks at %.1f MiB%s",
                             (double)peaks[0] / (1024.0 * 1024.0), shown);
}

/* Reads the sums of a drawn timeline, after the bracket of their first row; always refuses the file. */
static enum wo_status read_drawn(struct reader *reader, bool is_row_open) {
  int64_t peaks[DRAWN_NUMBERS] = {0};
  while (is_row_open) {
    struct wo_json_token token;
    int64_t row[DRAWN_NUMBERS] = {0};
    int64_t sum = 0;
    size_t count = 0;
    bool has_list = false;
    enum wo_status status = read_numbers(reader, row, DRAWN_NUMBERS, &count, &has_list);
    if (status != WO_OK) return status;
    for (int i = 1; i < DRAWN_NUMBERS; i++) {
      if (row[i] > peaks[i]) peaks[i] = row[i];
      if (__builtin_add_overflow(sum, row[i], &sum)) sum = 0;
    }
    if (sum > peaks[0]) peaks[0] = sum;
    status = has_list ? WO_OK : wo_json_stream_next(&reader->json, &token, reader->err);
    if (status != WO_OK) return status;
    is_row_open = !has_list && token.kind == WO_JSON_ARRAY;
  }
  return refuse_drawn(reader, peaks);
}

/* ---- Files ---- */

/* The first list shows the form: four numbers are a raw event, others are times; a list inside the second one is a row of
 * sums. */
static enum wo_status read_file(struct reader *reader) {
  struct wo_json_token token;
  int64_t first[EVENT_NUMBERS] = {0}, second[EVENT_NUMBERS] = {0};
  size_t first_count = 0, second_count = 0;
  bool has_list = false;
  for (int i = 0; i < 2; i++) {
    const enum wo_status status = wo_json_stream_next(&reader->json, &token, reader->err);
    if (status != WO_OK) return status;
    if (token.kind != WO_JSON_ARRAY) return wo_json_stream_fail(&reader->json, reader->err, WO_E_SYNTAX, "is no memory timeline");
  }
  enum wo_status status = read_numbers(reader, first, EVENT_NUMBERS, &first_count, &has_list);
  if (status != WO_OK || reader->json.is_cut) return status;
  if (has_list) return wo_json_stream_fail(&reader->json, reader->err, WO_E_TYPE, "is no memory timeline: lists lie too deep");
  status = wo_json_stream_next(&reader->json, &token, reader->err);
  const bool has_second = status == WO_OK && token.kind == WO_JSON_ARRAY;
  if (has_second) status = read_numbers(reader, second, EVENT_NUMBERS, &second_count, &has_list);
  if (status != WO_OK) return status;
  if (has_list || first_count != EVENT_NUMBERS) return read_drawn(reader, has_list);
  status = take_numbers(reader, first, first_count);
  if (status != WO_OK || !has_second || reader->json.is_cut) return status;
  status = take_numbers(reader, second, second_count);
  return status == WO_OK ? read_events(reader) : status;
}

/* Makes a stack of one frame for each category. */
static enum wo_status make_stacks(struct reader *reader) {
  for (int i = 0; i < CATEGORY_COUNT; i++) {
    const size_t first = reader->recording->stack_frames.count;
    enum wo_status status = wo_intern_add_frame(&reader->intern, wo_view_of(categories[i]), WO_VIEW("category"), 0);
    if (status == WO_OK) status = wo_intern_stack(&reader->intern, (uint32_t)first, 1, &reader->stacks[i]);
    if (status != WO_OK) return no_memory(reader);
  }
  return WO_OK;
}

static void note_file(struct reader *reader) {
  struct wo_recording *const recording = reader->recording;
  if (reader->json.is_cut) {
    recording->is_truncated = true;
    wo_recording_note(recording, "the file ends inside of event %" PRIu64 ": the events before it are read", reader->event_count);
  }
  if (reader->odd_count > 0)
    wo_recording_note(recording, "%zu of %" PRIu64 " events make no sense and are left out", reader->odd_count,
                      reader->event_count);
  if (reader->guess_count > 0)
    wo_recording_note(recording, "%zu blocks were freed in a category in which none of their size was alive",
                      reader->guess_count);
  if (reader->front.count > 0)
    wo_recording_note(recording, "%zu blocks were freed and never created: they count as there from the start",
                      reader->front.count);
  if (reader->left_out_count > 0)
    wo_recording_note(recording, "%zu entries beyond the first %zu are left out", reader->left_out_count, WO_LIMIT_TRACE_ENTRIES);
  wo_recording_note(recording,
                    "a memory timeline has no addresses and sizes of tensors only: which block a free frees is a guess "
                    "by its size, newest first");
}

static enum wo_status read_all(struct reader *reader) {
  enum wo_status status = make_stacks(reader);
  if (status == WO_OK) status = read_file(reader);
  if (status == WO_OK && reader->json.is_cut && reader->event_count == 0)
    return wo_json_stream_fail(&reader->json, reader->err, WO_E_SYNTAX, "ends before its first event");
  if (status == WO_OK) note_file(reader);
  if (status == WO_OK) status = wo_trace_front_put(&reader->front, reader->trace);
  if (status == WO_E_LIMIT)
    return wo_json_stream_fail(&reader->json, reader->err, status, "has more blocks than %zu entries hold",
                               WO_LIMIT_TRACE_ENTRIES);
  return status == WO_E_NOMEM ? no_memory(reader) : status;
}

enum wo_status wo_memory_timeline_read(struct wo_trace_source *source, struct wo_recording *recording, struct wo_err *err) {
  assert(source != NULL && recording != NULL);
  struct reader *const reader = calloc(1, sizeof *reader);
  if (reader == NULL) return wo_err_nomem(err);
  recording->format = WO_TRACE_FORMAT_TIMELINE;
  recording->fidelity = WO_TRACE_APPROXIMATE;
  recording->has_only_ids = true;
  reader->recording = recording;
  reader->err = err;
  reader->moving.block = NONE;
  wo_json_stream_init(&reader->json, source, false);
  wo_intern_init(&reader->intern, recording);
  reader->trace = wo_recording_trace(recording, 0);
  const enum wo_status status = reader->trace == NULL ? no_memory(reader) : read_all(reader);
  wo_json_stream_done(&reader->json);
  wo_intern_done(&reader->intern);
  wo_address_map_done(&reader->newest);
  WO_VEC_DONE(&reader->front);
  WO_VEC_DONE(&reader->blocks);
  free(reader);
  return status;
}

bool wo_memory_timeline_sniff(struct wo_view front) {
  struct wo_view text = wo_view_trim_start(front);
  for (int i = 0; i < 2; i++) {
    if (!wo_view_starts(text, "[")) return false;
    text = wo_view_trim_start(wo_view_skip(text, 1));
  }
  return text.len > 0 && (wo_is_digit(text.ptr[0]) || text.ptr[0] == '-' || text.ptr[0] == ']');
}
