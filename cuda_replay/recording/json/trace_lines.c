/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of the line form: uses a line after its keys have been read (trace_lines_keys.c).
 *
 * Lines are read one after the other, and each is checked only against the lines above it: its stack is defined, its block fits
 * into the rest of the segment. So memory holds only the recording and one line, and an error is reported on its own line.
 * Exactly one key of a line is a kind and says what the line is. trace_lines_header.c reads the header. */
#include "cuda_replay/recording/json/trace_lines.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cuda_replay/recording/trace_front.h"
#include "cuda_replay/recording/json/trace_lines_internal.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

/* A lasting copy of a text. */
static enum wo_status copy_text(struct wo__line_reader *reader, struct wo_view text, struct wo_view *ret) {
  struct wo_arena *const arena = &reader->recording->arena;
  *ret = wo_arena_copy(arena, text);
  if (ret->ptr != NULL) return WO_OK;
  if (text.len >= arena->cap_bytes - arena->used_bytes)
    return WO__LINE_FAIL(reader, WO_E_LIMIT, "holds more than %zu bytes of texts", WO_LIMIT_TRACE_TEXT_BYTES);
  return wo__line_no_memory(reader);
}

/* ---- Common to all lines ---- */

/* The trace of the line's device. A new device moves the traces, so the pointer is valid for one line only. */
static enum wo_status get_trace(struct wo__line_reader *reader, struct wo_trace **ret_trace) {
  const int64_t device = (int64_t)wo__line_number(&reader->line, WO__LINE_DEVICE, (uint64_t)reader->device);
  if (device < 0 || device > INT32_MAX) return WO__LINE_FAIL(reader, WO_E_RANGE, "\"device\" must be an ordinal of 0 or more");
  *ret_trace = wo_recording_trace(reader->recording, (int)device);
  if (*ret_trace != NULL) return WO_OK;
  if (reader->recording->traces.count < WO_LIMIT_TRACE_DEVICES) return wo__line_no_memory(reader);
  return WO__LINE_FAIL(reader, WO_E_LIMIT, "has more than %zu devices", WO_LIMIT_TRACE_DEVICES);
}

static enum wo_status get_stack(struct wo__line_reader *reader, uint32_t *ret_stack) {
  const uint64_t stack = wo__line_number(&reader->line, WO__LINE_STACK, WO_NO_STACK);
  *ret_stack = WO_NO_STACK;
  if (!wo__line_has(&reader->line, WO__LINE_STACK)) return WO_OK;
  if (stack >= reader->recording->stacks.count)
    return WO__LINE_FAIL(reader, WO_E_RANGE, "stack %" PRIu64 " is not defined above", stack);
  *ret_stack = (uint32_t)stack;
  return WO_OK;
}

static enum wo_status get_stream(struct wo__line_reader *reader, uint32_t *ret_stream) {
  return wo__line_find_stream(reader, wo__line_number(&reader->line, WO__LINE_STREAM, 0), ret_stream);
}

/* Requires a key without which a line of its kind has no meaning. */
static enum wo_status need(struct wo__line_reader *reader, int key, const char *what) {
  if (wo__line_has(&reader->line, key)) return WO_OK;
  return WO__LINE_FAIL(reader, WO_E_SYNTAX, "%s needs \"%s\"", what, wo__line_key_name(key));
}

/* ---- Entries ---- */

/* Reads the address of an entry; a block may have a plain number instead. */
static enum wo_status get_address(struct wo__line_reader *reader, enum wo_action action, uint64_t *ret_address) {
  const struct wo__line *const line = &reader->line;
  const bool has_id = wo__line_has(line, WO__LINE_ID), has_address = wo__line_has(line, WO__LINE_ADDR);
  *ret_address = wo__line_number(line, has_id ? WO__LINE_ID : action == WO_ACTION_OOM ? WO__LINE_DEVICE_FREE : WO__LINE_ADDR, 0);
  if (wo_action_is(action, WO_TRAIT_SEGMENT)) return need(reader, WO__LINE_ADDR, wo_action_name(action));
  if (!wo__line_names_block(action)) return WO_OK;
  if (!has_id && !has_address) return WO__LINE_FAIL(reader, WO_E_SYNTAX, "%s needs \"addr\" or \"id\"", wo_action_name(action));
  const enum wo__line_naming naming = has_id ? WO__LINE_NAMING_IDS : WO__LINE_NAMING_ADDRESSES;
  if ((has_id && has_address) || (reader->naming != WO__LINE_NAMING_OPEN && reader->naming != naming))
    return WO__LINE_FAIL(reader, WO_E_SYNTAX, "names blocks by \"addr\" and by \"id\": one file uses one of them");
  reader->naming = naming;
  return WO_OK;
}

/* Keeps what the program said about the last entry; equal texts that follow each other are kept once. */
static enum wo_status add_metadata(struct wo__line_reader *reader, struct wo_trace *trace) {
  const struct wo_view text = wo__line_text(&reader->line, WO__LINE_METADATA);
  struct wo_view kept = {0};
  if (text.len == 0) return WO_OK;
  if (trace->metadata.count > 0) kept = trace->metadata.items[trace->metadata.count - 1].text;
  const enum wo_status status = wo_view_equal(kept, text) ? WO_OK : copy_text(reader, text, &kept);
  if (status != WO_OK) return status;
  return wo_trace_add_metadata(trace, kept) == WO_OK ? WO_OK : wo__line_no_memory(reader);
}

/* Above the limit, entries are only counted, and the rest of the file is still checked. */
static enum wo_status add_entry(struct wo__line_reader *reader, struct wo_trace *trace, struct wo_trace_entry entry) {
  const enum wo_status status = wo_trace_add(trace, entry);
  if (status == WO_E_LIMIT) return reader->left_out_count++, WO_OK;
  return status == WO_OK ? add_metadata(reader, trace) : wo__line_no_memory(reader);
}

/* Notes that the next entry takes its size from its allocation. */
static enum wo_status add_short_free(struct wo__line_reader *reader, const struct wo_trace *trace) {
  const enum wo_status status = WO__LINE_RESERVE(reader, &reader->short_frees, WO_LIMIT_TRACE_ENTRIES);
  if (status != WO_OK) return status;
  reader->short_frees.items[reader->short_frees.count++] =
      (struct wo__short_free){.device = trace->device, .entry = trace->entries.count, .line = reader->json.line};
  return WO_OK;
}

/* Adds a new settings string; most files repeat the last one. */
static enum wo_status add_settings(struct wo__line_reader *reader, uint64_t *ret_index) {
  struct wo_recording *const recording = reader->recording;
  const struct wo_view text = wo__line_text(&reader->line, (int)WO__LINE_ACTION + WO_ACTION_SETTINGS);
  const size_t count = recording->settings_texts.count;
  if (reader->has_settings_object) return WO__LINE_FAIL(reader, WO_E_TYPE, "\"settings\" must be a text here");
  if (count == 0 || !wo_view_equal(recording->settings_texts.items[count - 1], text)) {
    struct wo_view kept;
    enum wo_status status = WO__LINE_RESERVE(reader, &recording->settings_texts, WO_LIMIT_TRACE_BLOCKS);
    if (status == WO_OK) status = copy_text(reader, text, &kept);
    if (status != WO_OK) return status;
    recording->settings_texts.items[recording->settings_texts.count++] = kept;
  }
  *ret_index = recording->settings_texts.count - 1;
  return WO_OK;
}

/* Reads the fields that all entries have, except the size. */
static enum wo_status start_entry(struct wo__line_reader *reader, enum wo_action action, struct wo_trace **ret_trace,
                                  struct wo_trace_entry *ret_entry) {
  const struct wo__line *const line = &reader->line;
  uint32_t stream = 0;
  *ret_entry = (struct wo_trace_entry){
      .time_us = (int64_t)wo__line_number(line, WO__LINE_TIME_US, (uint64_t)WO_NO_TIME),
      .pool = wo__line_number(line, WO__LINE_POOL, WO_POOL_DEFAULT) & (WO_TRACE_POOLS_MAX - 1),
      .action = (uint32_t)action & 31u,
  };
  enum wo_status status = get_trace(reader, ret_trace);
  if (status == WO_OK) status = get_stack(reader, &ret_entry->stack);
  if (status == WO_OK) status = get_stream(reader, &stream);
  ret_entry->stream = stream & (WO_TRACE_STREAMS_MAX - 1);
  return status;
}

static enum wo_status take_entry(struct wo__line_reader *reader, enum wo_action action) {
  assert(action >= 0 && action < WO_ACTION_COUNT_);
  const int key = (int)WO__LINE_ACTION + (int)action;
  struct wo_trace *trace = NULL;
  struct wo_trace_entry entry;
  enum wo_status status = start_entry(reader, action, &trace, &entry);
  if (status == WO_OK) status = get_address(reader, action, &entry.address);
  if (status != WO_OK) return status;
  entry.size_bytes = reader->line.numbers[key];
  const bool has_no_size = reader->line.lengths[key] != 0;
  if (action == WO_ACTION_SETTINGS) {
    entry.size_bytes = 0;
    status = add_settings(reader, &entry.size_bytes);
  } else if (has_no_size && (action == WO_ACTION_FREE_REQUESTED || action == WO_ACTION_FREE_COMPLETED)) {
    status = add_short_free(reader, trace);
  } else if (has_no_size && (wo_action_is(action, WO_TRAIT_SEGMENT) || action == WO_ACTION_ALLOC)) {
    status = wo__line_mistyped(reader, key, "a number of bytes");
  }
  return status == WO_OK ? add_entry(reader, trace, entry) : status;
}

/* {"free": 7}: requested and completed at once. */
static enum wo_status take_free(struct wo__line_reader *reader) {
  assert(wo__line_has(&reader->line, WO__LINE_FREE));
  struct wo_trace *trace = NULL;
  struct wo_trace_entry entry;
  enum wo_status status = start_entry(reader, WO_ACTION_FREE_REQUESTED, &trace, &entry);
  entry.address = reader->line.numbers[WO__LINE_FREE];
  for (int i = 0; i < 2 && status == WO_OK; i++) {
    status = add_short_free(reader, trace);
    if (status == WO_OK) status = add_entry(reader, trace, entry);
    entry.action = WO_ACTION_FREE_COMPLETED;
  }
  return status;
}

/* ---- Frames and stacks ---- */

/* Numbers must count up: this finds lost lines, and indices need no table. */
static enum wo_status check_count(struct wo__line_reader *reader, int key, size_t count) {
  assert(wo__line_has(&reader->line, key));
  const uint64_t number = reader->line.numbers[key];
  if (number == count) return WO_OK;
  return WO__LINE_FAIL(reader, WO_E_RANGE, "%s %" PRIu64 " stands where %s %zu is due: they are numbered from 0, without gaps",
                       wo__line_key_name(key), number, wo__line_key_name(key), count);
}

/* Neighbours are often in the same file; they share one copy of its name. */
static enum wo_status take_frame(struct wo__line_reader *reader) {
  struct wo_recording *const recording = reader->recording;
  const uint64_t line = wo__line_number(&reader->line, WO__LINE_LINE, 0);
  struct wo_frame frame = {.line = (uint32_t)line};
  enum wo_status status = check_count(reader, WO__LINE_FRAME, recording->frames.count);
  if (status == WO_OK && line > UINT32_MAX) status = wo__line_mistyped(reader, WO__LINE_LINE, "a line number");
  if (status == WO_OK) status = WO__LINE_RESERVE(reader, &recording->frames, WO_LIMIT_TRACE_FRAMES);
  if (status == WO_OK) status = copy_text(reader, wo__line_text(&reader->line, WO__LINE_FUNCTION), &frame.function);
  const struct wo_view file = wo__line_text(&reader->line, WO__LINE_FILE);
  const size_t count = recording->frames.count;
  if (status == WO_OK && count > 0 && wo_view_equal(recording->frames.items[count - 1].file, file)) {
    frame.file = recording->frames.items[count - 1].file;
  } else if (status == WO_OK) {
    status = copy_text(reader, file, &frame.file);
  }
  if (status == WO_OK) recording->frames.items[recording->frames.count++] = frame;
  return status;
}

static enum wo_status take_stack(struct wo__line_reader *reader) {
  struct wo_recording *const recording = reader->recording;
  enum wo_status status = need(reader, WO__LINE_STACK, "a list of frames");
  if (status == WO_OK) status = check_count(reader, WO__LINE_STACK, recording->stacks.count);
  if (status == WO_OK) status = WO__LINE_RESERVE(reader, &recording->stacks, WO_LIMIT_TRACE_FRAMES);
  if (status != WO_OK) return status;
  recording->stacks.items[recording->stacks.count++] = (struct wo_stack){
      .first = (uint32_t)reader->line.numbers[WO__LINE_FRAMES], .count = (uint32_t)reader->line.lengths[WO__LINE_FRAMES]};
  return WO_OK;
}

/* ---- Segments and blocks ---- */

/* A segment joins the recording once its blocks fill it. */
static enum wo_status close_segment(struct wo__line_reader *reader) {
  assert(reader->is_segment_open && reader->filled_bytes == reader->segment.size_bytes);
  struct wo_trace *const trace = wo_recording_trace(reader->recording, reader->segment_device);
  assert(trace != NULL); /* made when the segment was opened */
  reader->segment.block_count = (uint32_t)(trace->blocks.count - reader->segment.first_block);
  reader->is_segment_open = false;
  const enum wo_status status = WO__LINE_RESERVE(reader, &trace->segments, WO_LIMIT_TRACE_BLOCKS);
  if (status == WO_OK) trace->segments.items[trace->segments.count++] = reader->segment;
  return status;
}

/* Rising addresses make overlaps visible at once. */
static enum wo_status check_segment(struct wo__line_reader *reader, const struct wo_trace *trace,
                                    const struct wo_trace_segment *segment) {
  uint64_t end = 0;
  if (__builtin_add_overflow(segment->address, segment->size_bytes, &end))
    return WO__LINE_FAIL(reader, WO_E_RANGE, "the segment ends beyond the last address");
  if (trace->segments.count == 0) return WO_OK;
  const struct wo_trace_segment *const last = &trace->segments.items[trace->segments.count - 1];
  if (segment->address >= last->address + last->size_bytes) return WO_OK;
  return WO__LINE_FAIL(reader, WO_E_RANGE, "the segment begins before the end of the one above: they stand by rising address");
}

static enum wo_status take_segment(struct wo__line_reader *reader) {
  assert(!reader->is_segment_open);
  const struct wo__line *const line = &reader->line;
  struct wo_trace *trace = NULL;
  struct wo_trace_segment segment = {
      .address = wo__line_number(line, WO__LINE_ADDR, 0),
      .size_bytes = line->numbers[WO__LINE_SEGMENT],
      .pool = (uint32_t)wo__line_number(line, WO__LINE_POOL, WO_POOL_DEFAULT),
      .is_small = wo__line_number(line, WO__LINE_SMALL, 0) != 0,
      .is_expandable = wo__line_number(line, WO__LINE_EXPANDABLE, 0) != 0,
  };
  enum wo_status status = need(reader, WO__LINE_ADDR, "a segment");
  if (status == WO_OK) status = get_trace(reader, &trace);
  if (status == WO_OK) status = get_stack(reader, &segment.stack);
  if (status == WO_OK) status = get_stream(reader, &segment.stream);
  if (status == WO_OK) status = check_segment(reader, trace, &segment);
  if (status != WO_OK) return status;
  segment.first_block = (uint32_t)trace->blocks.count;
  trace->has_segments = true;
  reader->segment = segment;
  reader->segment_device = trace->device;
  reader->filled_bytes = 0;
  reader->is_segment_open = true;
  return segment.size_bytes == 0 ? close_segment(reader) : WO_OK;
}

static enum wo_status get_state(struct wo__line_reader *reader, enum wo_block_state *ret_state) {
  const struct wo_view text = wo__line_text(&reader->line, WO__LINE_STATE);
  for (int i = 0; i <= WO_BLOCK_PENDING; i++) {
    if (!wo_view_is(text, wo__line_states[i])) continue;
    *ret_state = (enum wo_block_state)i;
    return WO_OK;
  }
  return WO__LINE_FAIL(reader, WO_E_UNKNOWN, "\"state\" of a block must be \"allocated\", \"pending\" or \"free\"");
}

/* Blocks need no address: each begins where the one before it ends. */
static enum wo_status take_block(struct wo__line_reader *reader) {
  const struct wo__line *const line = &reader->line;
  struct wo_trace_block block = {
      .address = reader->segment.address + reader->filled_bytes,
      .size_bytes = line->numbers[WO__LINE_BLOCK],
      .requested_bytes = wo__line_number(line, WO__LINE_REQUESTED, 0),
  };
  if (!reader->is_segment_open)
    return WO__LINE_FAIL(reader, WO_E_SYNTAX, "a block stands behind a segment that it does not fit into");
  if (block.size_bytes == 0 || block.size_bytes > reader->segment.size_bytes - reader->filled_bytes)
    return WO__LINE_FAIL(reader, WO_E_RANGE, "the block does not fit into its segment: %" PRIu64 " bytes of it are left",
                         reader->segment.size_bytes - reader->filled_bytes);
  struct wo_trace *const trace = wo_recording_trace(reader->recording, reader->segment_device);
  enum wo_status status = get_state(reader, &block.state);
  if (status == WO_OK) status = get_stack(reader, &block.stack);
  if (status == WO_OK) status = WO__LINE_RESERVE(reader, &trace->blocks, WO_LIMIT_TRACE_BLOCKS);
  if (status != WO_OK) return status;
  trace->blocks.items[trace->blocks.count++] = block;
  reader->filled_bytes += block.size_bytes;
  return reader->filled_bytes == reader->segment.size_bytes ? close_segment(reader) : WO_OK;
}

/* ---- Other lines ---- */

static enum wo_status take_annotation(struct wo__line_reader *reader) {
  struct wo_recording *const recording = reader->recording;
  const struct wo__line *const line = &reader->line;
  const struct wo_view stage = wo__line_text(line, WO__LINE_STAGE);
  const int64_t device = (int64_t)wo__line_number(line, WO__LINE_DEVICE, (uint64_t)reader->device);
  struct wo_annotation annotation = {.device = (int)device, .is_start = wo_view_is(stage, "start")};
  annotation.time_us = (int64_t)wo__line_number(line, WO__LINE_TIME_US, (uint64_t)WO_NO_TIME);
  if (!annotation.is_start && !wo_view_is(stage, "end"))
    return WO__LINE_FAIL(reader, WO_E_UNKNOWN, "\"stage\" of an annotation must be \"start\" or \"end\"");
  if (device < INT32_MIN || device > INT32_MAX) return wo__line_mistyped(reader, WO__LINE_DEVICE, "an ordinal");
  enum wo_status status = WO__LINE_RESERVE(reader, &recording->annotations, WO_LIMIT_TRACE_BLOCKS);
  if (status == WO_OK) status = copy_text(reader, wo__line_text(line, WO__LINE_ANNOTATION), &annotation.name);
  if (status == WO_OK) recording->annotations.items[recording->annotations.count++] = annotation;
  return status;
}

/* The note is kept as it is; wo_recording_note would format it. */
static enum wo_status take_note(struct wo__line_reader *reader) {
  struct wo_recording *const recording = reader->recording;
  if (recording->notes.count >= WO_LIMIT_TRACE_NOTES) return WO_OK;
  if (!WO_VEC_RESERVE(&recording->notes, 1, WO_LIMIT_TRACE_NOTES)) return wo__line_no_memory(reader);
  struct wo_view kept;
  const enum wo_status status = copy_text(reader, wo__line_text(&reader->line, WO__LINE_NOTE), &kept);
  if (status == WO_OK) recording->notes.items[recording->notes.count++] = kept;
  return status;
}

/* Skips a line of a kind that a later version may know. */
static enum wo_status pass_line(struct wo__line_reader *reader) {
  if (!reader->has_unknown_line)
    wo_recording_note(reader->recording, "line %" PRIu64 ": no key says what the line is; it and all like it are passed over",
                      reader->json.line);
  reader->has_unknown_line = true;
  return WO_OK;
}

/* A line without a kind: {"device": 1} turns to a device, {"device": 1, "has_segments": true} says that it states its segments.
 */
static enum wo_status take_device(struct wo__line_reader *reader) {
  struct wo_trace *trace = NULL;
  if (!wo__line_has(&reader->line, WO__LINE_DEVICE)) return pass_line(reader);
  const enum wo_status status = get_trace(reader, &trace);
  if (status != WO_OK) return status;
  reader->device = trace->device;
  trace->has_segments = trace->has_segments || wo__line_number(&reader->line, WO__LINE_HAS_SEGMENTS, 0) != 0;
  return WO_OK;
}

static enum wo_status take_header(struct wo__line_reader *reader) {
  if (reader->has_header) return WO__LINE_FAIL(reader, WO_E_SYNTAX, "a second header stands here: one file holds one recording");
  reader->has_header = true;
  return wo__line_read_header(reader);
}

/* ---- All lines ---- */

/* The key that says what the line is; -1 without one, -2 with several. */
static int find_kind(const struct wo__line *line) {
  int kind = -1;
  if (wo__line_has(line, WO__LINE_WHYOOM_TRACE)) return WO__LINE_WHYOOM_TRACE;
  for (uint64_t left = line->seen; left != 0; left &= left - 1) {
    const int key = __builtin_ctzll(left);
    if (wo__line_is_kind(key)) kind = kind == -1 ? key : -2;
  }
  return kind;
}

/* The header comes first and blocks follow their segment; all other lines may be in any order. */
static enum wo_status take_line(struct wo__line_reader *reader) {
  const int kind = find_kind(&reader->line);
  if (!reader->has_header && kind != WO__LINE_WHYOOM_TRACE)
    return WO__LINE_FAIL(reader, WO_E_SYNTAX, "the first line must be a header: {\"whyoom_trace\": %d}", WO_TRACE_LINES_VERSION);
  if (kind == -2) return WO__LINE_FAIL(reader, WO_E_SYNTAX, "says two things at once: one line is one thing");
  if (reader->is_segment_open && kind != WO__LINE_BLOCK)
    return WO__LINE_FAIL(reader, WO_E_SYNTAX, "blocks for %" PRIu64 " bytes of the segment above are missing",
                         reader->segment.size_bytes - reader->filled_bytes);
  if (kind >= (int)WO__LINE_ACTION) return take_entry(reader, (enum wo_action)(kind - (int)WO__LINE_ACTION));
  switch (kind) {
  case WO__LINE_FREE:
    return take_free(reader);
  case WO__LINE_FRAME:
    return take_frame(reader);
  case WO__LINE_FRAMES:
    return take_stack(reader);
  case WO__LINE_SEGMENT:
    return take_segment(reader);
  case WO__LINE_BLOCK:
    return take_block(reader);
  case WO__LINE_ANNOTATION:
    return take_annotation(reader);
  case WO__LINE_NOTE:
    return take_note(reader);
  case WO__LINE_WHYOOM_TRACE:
    return take_header(reader);
  default:
    return take_device(reader);
  }
}

static enum wo_status read_lines(struct wo__line_reader *reader) {
  for (;;) {
    struct wo_json_token token;
    bool is_whole = false;
    enum wo_status status = wo_json_stream_next(&reader->json, &token, reader->err);
    if (status != WO_OK || token.kind == WO_JSON_END) return status;
    if (token.kind != WO_JSON_CUT) {
      if (token.kind != WO_JSON_OBJECT) return WO__LINE_FAIL(reader, WO_E_SYNTAX, "expected an object: one line is one thing");
      status = wo__line_read_object(reader, &is_whole);
      if (status != WO_OK) return status;
    }
    if (!is_whole) {
      reader->recording->is_truncated = true;
      wo_recording_note(reader->recording, "the file ends inside of line %" PRIu64 ", which is left out", reader->json.line);
      return WO_OK;
    }
    status = take_line(reader);
    if (status != WO_OK) return status;
  }
}

/* The steps after all lines are read. */
static enum wo_status finish(struct wo__line_reader *reader) {
  struct wo_recording *const recording = reader->recording;
  if (!reader->has_header) return WO__LINE_FAIL(reader, WO_E_SYNTAX, "ends before its header is complete");
  if (reader->is_segment_open) {
    struct wo_trace *const trace = wo_recording_trace(recording, reader->segment_device);
    trace->blocks.count = reader->segment.first_block;
    recording->is_truncated = true;
    wo_recording_note(recording, "the file ends inside of the segment at 0x%" PRIx64 ", which is left out",
                      reader->segment.address);
  }
  if (reader->left_out_count > 0)
    wo_recording_note(recording, "%zu entries beyond the first %zu of a device are left out", reader->left_out_count,
                      WO_LIMIT_TRACE_ENTRIES);
  recording->has_only_ids = reader->naming == WO__LINE_NAMING_IDS;
  enum wo_status status = wo__lines_size_frees(&reader->json, &reader->short_frees, recording, reader->err);
  if (status == WO_OK && !wo_trace_sort_annotations(recording)) status = wo__line_no_memory(reader);
  return status;
}

enum wo_status wo_trace_lines_read(struct wo_trace_source *source, struct wo_recording *recording, struct wo_err *err) {
  assert(source != NULL && recording != NULL);
  struct wo__line_reader *const reader = calloc(1, sizeof *reader);
  if (reader == NULL) return wo_err_nomem(err);
  reader->recording = recording;
  reader->err = err;
  wo_json_stream_init(&reader->json, source, true);
  wo_intern_init(&reader->intern, recording);
  enum wo_status status = read_lines(reader);
  if (status == WO_OK) status = finish(reader);
  wo_json_stream_done(&reader->json);
  wo_intern_done(&reader->intern);
  WO_VEC_DONE(&reader->line.text);
  WO_VEC_DONE(&reader->short_frees);
  free(reader);
  return status;
}

/* The header is the first line; programs write its version as the first key. */
bool wo_trace_lines_sniff(struct wo_view front) {
  const struct wo_view text = wo_view_trim_start(wo_view_starts(front, "\xEF\xBB\xBF") ? wo_view_skip(front, 3) : front);
  const size_t end = wo_view_find_char(text, '\n', 0);
  const struct wo_view line = wo_view_sub(text, 0, end == WO_NOT_FOUND ? text.len : end);
  return wo_view_starts(line, "{") && wo_view_has(line, "\"whyoom_trace\"");
}
