/* The reader of the line form.
 *
 * One line is read into a table of its keys first, whatever it is; then the one key that is a kind says what becomes of it. New
 * keys are rows of trace_lines.def. The header is understood in trace_lines_header.c. */
#include "cuda_replay/trace_lines.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_replay/trace_front.h"
#include "cuda_replay/trace_intern.h"
#include "cuda_replay/trace_lines_private.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

/* What may stand behind a key. SIZE: a number, or true for "none of its own". PARTS: a fraction, kept in parts per million.
 * SETTINGS: a text, or an object in the header. */
enum key_type {
  NUMBER,
  SIGNED,
  SIZE /* up to here a plain whole number will do */,
  PARTS,
  FLAG,
  TEXT,
  SETTINGS,
  POOL,
  FRAMES,
  STREAMS,
  POOLS
};

struct key_row {
  const char *name;
  size_t len;
  enum key_type type;
  bool is_kind;
};

static const struct key_row keys[WO__LINE_COUNT_] = {
#define WO_LINE_KEY(id, name, type, is_kind) [WO__LINE_##id] = {name, sizeof(name) - 1, type, is_kind},
#include "cuda_replay/trace_lines.def"
#undef WO_LINE_KEY
#define WO_ACTION(id, name, is_recorded)                                                                                         \
  [(int)WO__LINE_ACTION + (int)WO_ACTION_##                                                                                      \
      id] = {name, sizeof(name) - 1,                                                                                             \
             WO_ACTION_##id == WO_ACTION_FRACTION ? PARTS : (WO_ACTION_##id == WO_ACTION_SETTINGS ? SETTINGS : SIZE), true},
#include "cuda_replay/actions.def"
#undef WO_ACTION
};

/* How blocks are named in this file. */
enum naming { NAMING_OPEN, NAMING_ADDRESSES, NAMING_IDS };

struct reader {
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
  enum naming naming;
  int device; /* of lines that name none */
  size_t left_out_count;
  struct wo_trace_segment segment; /* the one whose blocks are being read */
  uint64_t filled_bytes;
  int segment_device;
  bool is_segment_open;
  struct wo__short_frees short_frees;
};

#define FAIL(reader, code, ...) wo_json_stream_fail(&(reader)->json, (reader)->err, (code), __VA_ARGS__)

static enum wo_status no_memory(struct reader *reader) {
  return FAIL(reader, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
}

/* Room for one more in a growing array: a full one and memory that is out are two things. */
#define RESERVE(reader, vec, cap)                                                                                                \
  (WO_VEC_RESERVE((vec), 1, (cap)) ? WO_OK                                                                                       \
   : (vec)->count >= (cap)         ? FAIL((reader), WO_E_LIMIT, "is one of more than %zu lines of its kind", (size_t)(cap))      \
                                   : no_memory(reader))

/* A lasting copy of a text. */
static enum wo_status copy_text(struct reader *reader, struct wo_view text, struct wo_view *ret) {
  struct wo_arena *const arena = &reader->recording->arena;
  *ret = wo_arena_copy(arena, text);
  if (ret->ptr != NULL) return WO_OK;
  if (text.len >= arena->cap_bytes - arena->used_bytes)
    return FAIL(reader, WO_E_LIMIT, "holds more than %zu bytes of texts", WO_LIMIT_TRACE_TEXT_BYTES);
  return no_memory(reader);
}

/* ---- One line into its keys ---- */

/* The key of that name; actions come first on most lines. */
static int find_key(const struct wo__line *line, struct wo_view name) {
  const int start = line->seen == 0 ? (int)WO__LINE_ACTION : 0;
  for (int i = start; i < start + (int)WO__LINE_COUNT_; i++) {
    const int key = i < (int)WO__LINE_COUNT_ ? i : i - (int)WO__LINE_COUNT_;
    if (keys[key].len == name.len && memcmp(keys[key].name, name.ptr, name.len) == 0) return key;
  }
  return -1;
}

static enum wo_status mistyped(struct reader *reader, int key, const char *expected) {
  return FAIL(reader, WO_E_TYPE, "\"%s\" must be %s", keys[key].name, expected);
}

static enum wo_status read_text(struct reader *reader, int key, const struct wo_json_token *token) {
  struct wo__line *const line = &reader->line;
  if (token->kind != WO_JSON_STRING) return mistyped(reader, key, "a text");
  if (token->is_cut)
    return FAIL(reader, WO_E_LIMIT, "\"%s\" is longer than %zu bytes", keys[key].name, WO_LIMIT_JSON_STRING_BYTES);
  if (!WO_VEC_RESERVE(&line->text, token->text.len, WO__LINE_COUNT_ * WO_LIMIT_JSON_STRING_BYTES)) return no_memory(reader);
  if (token->text.len > 0) memcpy(line->text.items + line->text.count, token->text.ptr, token->text.len);
  line->numbers[key] = line->text.count;
  line->lengths[key] = token->text.len;
  line->text.count += token->text.len;
  return WO_OK;
}

/* The settings object comes after the settings' own token, its opening bracket. */
static enum wo_status read_settings(struct reader *reader, int key, const struct wo_json_token *token) {
  if (token->kind != WO_JSON_OBJECT) return read_text(reader, key, token);
  reader->settings = wo_alloc_settings_default(WO_TORCH_DEFAULT);
  reader->has_settings_object = true;
  return wo__line_read_settings(&reader->json, &reader->settings, reader->err);
}

/* The two numbers of a pool, behind its opening bracket; *ret_pool is its index. */
static enum wo_status read_pool(struct reader *reader, int key, const struct wo_json_token *first, uint64_t *ret_pool) {
  uint64_t numbers[2] = {0};
  struct wo_json_token token = *first;
  enum wo_status status = WO_OK;
  if (token.kind != WO_JSON_ARRAY) return mistyped(reader, key, "a pair of numbers, such as [0, 1]");
  for (int i = 0; i < 3; i++) {
    status = wo_json_stream_next(&reader->json, &token, reader->err);
    if (status != WO_OK || token.kind == WO_JSON_CUT) return status;
    const bool is_right =
        i == 2 ? token.kind == WO_JSON_ARRAY_END : token.kind == WO_JSON_NUMBER && wo_json_number_u64(token.text, &numbers[i]);
    if (!is_right) return mistyped(reader, key, "a pair of numbers, such as [0, 1]");
  }
  uint32_t pool = 0;
  status = wo_intern_pool(&reader->intern, (struct wo_pool_id){numbers[0], numbers[1]}, &pool);
  if (status == WO_E_NOMEM) return no_memory(reader);
  if (status != WO_OK) return FAIL(reader, status, "has more than %d pools", WO_TRACE_POOLS_MAX);
  *ret_pool = pool;
  return WO_OK;
}

static enum wo_status find_stream(struct reader *reader, uint64_t raw, uint32_t *ret_stream) {
  const enum wo_status status = wo_intern_stream(&reader->intern, raw, ret_stream);
  if (status == WO_E_NOMEM) return no_memory(reader);
  return status == WO_OK ? WO_OK : FAIL(reader, status, "has more than %d streams", WO_TRACE_STREAMS_MAX);
}

/* One item of a list: a frame's number, a stream or a pool. */
static enum wo_status read_item(struct reader *reader, int key, const struct wo_json_token *token) {
  struct wo_recording *const recording = reader->recording;
  uint64_t value = 0;
  uint32_t stream = 0;
  if (keys[key].type == POOLS) return read_pool(reader, key, token, &value);
  if (token->kind != WO_JSON_NUMBER || !wo_json_number_u64(token->text, &value))
    return mistyped(reader, key, "a list of numbers");
  if (keys[key].type == STREAMS) return find_stream(reader, value, &stream);
  if (value >= recording->frames.count) return FAIL(reader, WO_E_RANGE, "frame %" PRIu64 " is not defined above", value);
  const enum wo_status status = RESERVE(reader, &recording->stack_frames, WO_LIMIT_TRACE_STACK_FRAMES);
  if (status == WO_OK) recording->stack_frames.items[recording->stack_frames.count++] = (uint32_t)value;
  return status;
}

static enum wo_status read_list(struct reader *reader, int key, const struct wo_json_token *first) {
  const size_t start = reader->recording->stack_frames.count;
  if (first->kind != WO_JSON_ARRAY) return mistyped(reader, key, "a list");
  for (;;) {
    struct wo_json_token token;
    enum wo_status status = wo_json_stream_next(&reader->json, &token, reader->err);
    if (status != WO_OK || token.kind == WO_JSON_CUT) return status;
    if (token.kind == WO_JSON_ARRAY_END) break;
    status = read_item(reader, key, &token);
    if (status != WO_OK) return status;
  }
  reader->line.numbers[key] = start;
  reader->line.lengths[key] = reader->recording->stack_frames.count - start;
  return WO_OK;
}

static enum wo_status read_value(struct reader *reader, int key, const struct wo_json_token *token) {
  uint64_t *const number = &reader->line.numbers[key];
  const bool is_number = token->kind == WO_JSON_NUMBER;
  int64_t value = 0;
  switch (keys[key].type) {
  case NUMBER:
    return is_number && wo_json_number_u64(token->text, number) ? WO_OK : mistyped(reader, key, "a whole number of 0 or more");
  case SIZE:
    reader->line.lengths[key] = token->kind == WO_JSON_TRUE; /* no size of its own */
    if (token->kind == WO_JSON_TRUE) return *number = 0, WO_OK;
    return is_number && wo_json_number_u64(token->text, number) ? WO_OK : mistyped(reader, key, "a whole number of 0 or more");
  case SIGNED:
  case PARTS:
    if (!is_number ||
        (keys[key].type == SIGNED ? !wo_json_number_i64(token->text, &value) : !wo_json_number_fixed(token->text, 6, &value)) ||
        (keys[key].type == PARTS && value < 0))
      return mistyped(reader, key, keys[key].type == SIGNED ? "a whole number" : "a fraction, such as 0.5");
    *number = (uint64_t)value;
    return WO_OK;
  case FLAG:
    *number = token->kind == WO_JSON_TRUE;
    return token->kind == WO_JSON_TRUE || token->kind == WO_JSON_FALSE ? WO_OK : mistyped(reader, key, "true or false");
  case TEXT:
    return read_text(reader, key, token);
  case SETTINGS:
    return read_settings(reader, key, token);
  case POOL:
    return read_pool(reader, key, token, number);
  case FRAMES:
  case STREAMS:
  case POOLS:
    return read_list(reader, key, token);
  }
  return WO_OK;
}

/* Passes over the value of a key that is not known. */
static enum wo_status pass_unknown(struct reader *reader, struct wo_view name) {
  if (!reader->has_unknown_key)
    wo_recording_note(reader->recording, "line %" PRIu64 ": the key \"%.*s\" is not known; it and all like it are passed over",
                      reader->json.line, (int)(name.len < 80 ? name.len : 80), name.ptr);
  reader->has_unknown_key = true;
  return wo_json_stream_skip(&reader->json, reader->err);
}

/* Reads an object whose opening bracket has been read. *ret_is_whole: the input does not end inside. */
static enum wo_status read_object(struct reader *reader, bool *ret_is_whole) {
  struct wo__line *const line = &reader->line;
  line->seen = 0;
  line->text.count = 0;
  reader->has_settings_object = false;
  for (;;) {
    struct wo_json_token token;
    enum wo_status status = wo_json_stream_next(&reader->json, &token, reader->err);
    *ret_is_whole = token.kind == WO_JSON_OBJECT_END;
    if (status != WO_OK || token.kind != WO_JSON_KEY) return status;
    const int key = find_key(line, token.text);
    if (key < 0) {
      status = pass_unknown(reader, token.text);
      if (status != WO_OK) return status;
      continue;
    }
    if (wo__line_has(line, key)) return FAIL(reader, WO_E_SYNTAX, "has the key \"%s\" twice", keys[key].name);
    if (keys[key].type <= SIZE && wo_json_stream_take_u64(&reader->json, &line->numbers[key])) {
      line->lengths[key] = 0;
      line->seen |= UINT64_C(1) << key;
      continue;
    }
    status = wo_json_stream_next(&reader->json, &token, reader->err);
    if (status != WO_OK || token.kind == WO_JSON_CUT) return status;
    if (token.kind == WO_JSON_NULL) continue; /* as if it were not there */
    status = read_value(reader, key, &token);
    if (status != WO_OK) return status;
    line->seen |= UINT64_C(1) << key;
  }
}

/* ---- What lines have in common ---- */

static enum wo_status get_trace(struct reader *reader, struct wo_trace **ret_trace) {
  const int64_t device = (int64_t)wo__line_number(&reader->line, WO__LINE_DEVICE, (uint64_t)reader->device);
  if (device < 0 || device > INT32_MAX) return FAIL(reader, WO_E_RANGE, "\"device\" must be an ordinal of 0 or more");
  *ret_trace = wo_recording_trace(reader->recording, (int)device);
  if (*ret_trace != NULL) return WO_OK;
  if (reader->recording->traces.count < WO_LIMIT_TRACE_DEVICES) return no_memory(reader);
  return FAIL(reader, WO_E_LIMIT, "has more than %zu devices", WO_LIMIT_TRACE_DEVICES);
}

static enum wo_status get_stack(struct reader *reader, uint32_t *ret_stack) {
  const uint64_t stack = wo__line_number(&reader->line, WO__LINE_STACK, WO_NO_STACK);
  *ret_stack = WO_NO_STACK;
  if (!wo__line_has(&reader->line, WO__LINE_STACK)) return WO_OK;
  if (stack >= reader->recording->stacks.count) return FAIL(reader, WO_E_RANGE, "stack %" PRIu64 " is not defined above", stack);
  *ret_stack = (uint32_t)stack;
  return WO_OK;
}

static enum wo_status get_stream(struct reader *reader, uint32_t *ret_stream) {
  return find_stream(reader, wo__line_number(&reader->line, WO__LINE_STREAM, 0), ret_stream);
}

static enum wo_status need(struct reader *reader, int key, const char *what) {
  if (wo__line_has(&reader->line, key)) return WO_OK;
  return FAIL(reader, WO_E_SYNTAX, "%s needs \"%s\"", what, keys[key].name);
}

/* ---- Entries ---- */

/* The address of an entry; a block may have a plain number in its place. */
static enum wo_status get_address(struct reader *reader, enum wo_action action, uint64_t *ret_address) {
  const struct wo__line *const line = &reader->line;
  const bool has_id = wo__line_has(line, WO__LINE_ID), has_address = wo__line_has(line, WO__LINE_ADDR);
  *ret_address = wo__line_number(line, has_id ? WO__LINE_ID : action == WO_ACTION_OOM ? WO__LINE_DEVICE_FREE : WO__LINE_ADDR, 0);
  if (wo__line_names_segment(action)) return need(reader, WO__LINE_ADDR, wo_action_name(action));
  if (!wo__line_names_block(action)) return WO_OK;
  if (!has_id && !has_address) return FAIL(reader, WO_E_SYNTAX, "%s needs \"addr\" or \"id\"", wo_action_name(action));
  const enum naming naming = has_id ? NAMING_IDS : NAMING_ADDRESSES;
  if ((has_id && has_address) || (reader->naming != NAMING_OPEN && reader->naming != naming))
    return FAIL(reader, WO_E_SYNTAX, "names blocks by \"addr\" and by \"id\": one file uses one of them");
  reader->naming = naming;
  return WO_OK;
}

static enum wo_status add_entry(struct reader *reader, struct wo_trace *trace, struct wo_trace_entry entry) {
  const enum wo_status status = wo_trace_add(trace, entry);
  if (status == WO_E_LIMIT) return reader->left_out_count++, WO_OK;
  return status == WO_OK ? WO_OK : no_memory(reader);
}

/* Remembers that the entry to come has the size of its allocation. */
static enum wo_status add_short_free(struct reader *reader, const struct wo_trace *trace) {
  const enum wo_status status = RESERVE(reader, &reader->short_frees, WO_LIMIT_TRACE_ENTRIES);
  if (status != WO_OK) return status;
  reader->short_frees.items[reader->short_frees.count++] =
      (struct wo__short_free){.device = trace->device, .entry = trace->entries.count, .line = reader->json.line};
  return WO_OK;
}

/* A new settings string; the last one is often said again. */
static enum wo_status add_settings(struct reader *reader, uint64_t *ret_index) {
  struct wo_recording *const recording = reader->recording;
  const struct wo_view text = wo__line_text(&reader->line, WO__LINE_ACTION + WO_ACTION_SETTINGS);
  const size_t count = recording->settings_texts.count;
  if (reader->has_settings_object) return FAIL(reader, WO_E_TYPE, "\"settings\" must be a text here");
  if (count == 0 || !wo_view_equal(recording->settings_texts.items[count - 1], text)) {
    struct wo_view kept;
    enum wo_status status = RESERVE(reader, &recording->settings_texts, WO_LIMIT_TRACE_BLOCKS);
    if (status == WO_OK) status = copy_text(reader, text, &kept);
    if (status != WO_OK) return status;
    recording->settings_texts.items[recording->settings_texts.count++] = kept;
  }
  *ret_index = recording->settings_texts.count - 1;
  return WO_OK;
}

/* What all entries have, but for their size. */
static enum wo_status start_entry(struct reader *reader, enum wo_action action, struct wo_trace **ret_trace,
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

static enum wo_status take_entry(struct reader *reader, enum wo_action action) {
  const int key = (int)WO__LINE_ACTION + (int)action;
  struct wo_trace *trace = NULL;
  struct wo_trace_entry entry;
  enum wo_status status = start_entry(reader, action, &trace, &entry);
  if (status == WO_OK) status = get_address(reader, action, &entry.address);
  if (status != WO_OK) return status;
  entry.size_bytes = reader->line.numbers[key];
  const bool has_no_size = keys[key].type == SIZE && reader->line.lengths[key] != 0;
  if (action == WO_ACTION_SETTINGS) {
    entry.size_bytes = 0;
    status = add_settings(reader, &entry.size_bytes);
  } else if (has_no_size && (action == WO_ACTION_FREE_REQUESTED || action == WO_ACTION_FREE_COMPLETED)) {
    status = add_short_free(reader, trace);
  } else if (has_no_size && (wo__line_names_segment(action) || action == WO_ACTION_ALLOC)) {
    status = mistyped(reader, key, "a number of bytes");
  }
  return status == WO_OK ? add_entry(reader, trace, entry) : status;
}

/* {"free": 7}: asked for and done at once. */
static enum wo_status take_free(struct reader *reader) {
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

static enum wo_status check_count(struct reader *reader, int key, size_t count) {
  const uint64_t number = reader->line.numbers[key];
  if (number == count) return WO_OK;
  return FAIL(reader, WO_E_RANGE, "%s %" PRIu64 " stands where %s %zu is due: they are numbered from 0, without gaps",
              keys[key].name, number, keys[key].name, count);
}

static enum wo_status take_frame(struct reader *reader) {
  struct wo_recording *const recording = reader->recording;
  const uint64_t line = wo__line_number(&reader->line, WO__LINE_LINE, 0);
  struct wo_frame frame = {.line = (uint32_t)line};
  enum wo_status status = check_count(reader, WO__LINE_FRAME, recording->frames.count);
  if (status == WO_OK && line > UINT32_MAX) status = mistyped(reader, WO__LINE_LINE, "a line number");
  if (status == WO_OK) status = RESERVE(reader, &recording->frames, WO_LIMIT_TRACE_FRAMES);
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

static enum wo_status take_stack(struct reader *reader) {
  struct wo_recording *const recording = reader->recording;
  enum wo_status status = need(reader, WO__LINE_STACK, "a list of frames");
  if (status == WO_OK) status = check_count(reader, WO__LINE_STACK, recording->stacks.count);
  if (status == WO_OK) status = RESERVE(reader, &recording->stacks, WO_LIMIT_TRACE_FRAMES);
  if (status != WO_OK) return status;
  recording->stacks.items[recording->stacks.count++] = (struct wo_stack){
      .first = (uint32_t)reader->line.numbers[WO__LINE_FRAMES], .count = (uint32_t)reader->line.lengths[WO__LINE_FRAMES]};
  return WO_OK;
}

/* ---- Segments and blocks ---- */

/* A segment is part of the recording once its blocks fill it. */
static enum wo_status close_segment(struct reader *reader) {
  assert(reader->is_segment_open && reader->filled_bytes == reader->segment.size_bytes);
  struct wo_trace *const trace = wo_recording_trace(reader->recording, reader->segment_device);
  assert(trace != NULL); /* made when the segment was opened */
  reader->segment.block_count = (uint32_t)(trace->blocks.count - reader->segment.first_block);
  reader->is_segment_open = false;
  const enum wo_status status = RESERVE(reader, &trace->segments, WO_LIMIT_TRACE_BLOCKS);
  if (status == WO_OK) trace->segments.items[trace->segments.count++] = reader->segment;
  return status;
}

static enum wo_status check_segment(struct reader *reader, const struct wo_trace *trace, const struct wo_trace_segment *segment) {
  uint64_t end = 0;
  if (__builtin_add_overflow(segment->address, segment->size_bytes, &end))
    return FAIL(reader, WO_E_RANGE, "the segment ends beyond the last address");
  if (trace->segments.count == 0) return WO_OK;
  const struct wo_trace_segment *const last = &trace->segments.items[trace->segments.count - 1];
  if (segment->address >= last->address + last->size_bytes) return WO_OK;
  return FAIL(reader, WO_E_RANGE, "the segment begins before the end of the one above: they stand by rising address");
}

static enum wo_status take_segment(struct reader *reader) {
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

static enum wo_status get_state(struct reader *reader, enum wo_block_state *ret_state) {
  const struct wo_view text = wo__line_text(&reader->line, WO__LINE_STATE);
  for (int i = 0; i <= WO_BLOCK_PENDING; i++) {
    if (!wo_view_is(text, wo__line_states[i])) continue;
    *ret_state = (enum wo_block_state)i;
    return WO_OK;
  }
  return FAIL(reader, WO_E_UNKNOWN, "\"state\" of a block must be \"allocated\", \"pending\" or \"free\"");
}

static enum wo_status take_block(struct reader *reader) {
  const struct wo__line *const line = &reader->line;
  struct wo_trace_block block = {
      .address = reader->segment.address + reader->filled_bytes,
      .size_bytes = line->numbers[WO__LINE_BLOCK],
      .requested_bytes = wo__line_number(line, WO__LINE_REQUESTED, 0),
  };
  if (!reader->is_segment_open) return FAIL(reader, WO_E_SYNTAX, "a block stands behind a segment that it does not fit into");
  if (block.size_bytes == 0 || block.size_bytes > reader->segment.size_bytes - reader->filled_bytes)
    return FAIL(reader, WO_E_RANGE, "the block does not fit into its segment: %" PRIu64 " bytes of it are left",
                reader->segment.size_bytes - reader->filled_bytes);
  struct wo_trace *const trace = wo_recording_trace(reader->recording, reader->segment_device);
  enum wo_status status = get_state(reader, &block.state);
  if (status == WO_OK) status = get_stack(reader, &block.stack);
  if (status == WO_OK) status = RESERVE(reader, &trace->blocks, WO_LIMIT_TRACE_BLOCKS);
  if (status != WO_OK) return status;
  trace->blocks.items[trace->blocks.count++] = block;
  reader->filled_bytes += block.size_bytes;
  return reader->filled_bytes == reader->segment.size_bytes ? close_segment(reader) : WO_OK;
}

/* ---- Other lines ---- */

static enum wo_status take_annotation(struct reader *reader) {
  struct wo_recording *const recording = reader->recording;
  const struct wo__line *const line = &reader->line;
  const struct wo_view stage = wo__line_text(line, WO__LINE_STAGE);
  const int64_t device = (int64_t)wo__line_number(line, WO__LINE_DEVICE, (uint64_t)reader->device);
  struct wo_annotation annotation = {.device = (int)device, .is_start = wo_view_is(stage, "start")};
  annotation.time_us = (int64_t)wo__line_number(line, WO__LINE_TIME_US, (uint64_t)WO_NO_TIME);
  if (!annotation.is_start && !wo_view_is(stage, "end"))
    return FAIL(reader, WO_E_UNKNOWN, "\"stage\" of an annotation must be \"start\" or \"end\"");
  if (device < INT32_MIN || device > INT32_MAX) return mistyped(reader, WO__LINE_DEVICE, "an ordinal");
  enum wo_status status = RESERVE(reader, &recording->annotations, WO_LIMIT_TRACE_BLOCKS);
  if (status == WO_OK) status = copy_text(reader, wo__line_text(line, WO__LINE_ANNOTATION), &annotation.name);
  if (status == WO_OK) recording->annotations.items[recording->annotations.count++] = annotation;
  return status;
}

/* Kept as it is, where wo_recording_note would format it. */
static enum wo_status take_note(struct reader *reader) {
  struct wo_recording *const recording = reader->recording;
  if (recording->notes.count >= WO_LIMIT_TRACE_NOTES) return WO_OK;
  if (!WO_VEC_RESERVE(&recording->notes, 1, WO_LIMIT_TRACE_NOTES)) return no_memory(reader);
  struct wo_view kept;
  const enum wo_status status = copy_text(reader, wo__line_text(&reader->line, WO__LINE_NOTE), &kept);
  if (status == WO_OK) recording->notes.items[recording->notes.count++] = kept;
  return status;
}

/* A line of a kind that a later version may know. */
static enum wo_status pass_line(struct reader *reader) {
  if (!reader->has_unknown_line)
    wo_recording_note(reader->recording, "line %" PRIu64 ": no key says what the line is; it and all like it are passed over",
                      reader->json.line);
  reader->has_unknown_line = true;
  return WO_OK;
}

/* A line without a kind: {"device": 1} turns to a device, {"device": 1, "has_segments": true} says that it states its segments.
 */
static enum wo_status take_device(struct reader *reader) {
  struct wo_trace *trace = NULL;
  if (!wo__line_has(&reader->line, WO__LINE_DEVICE)) return pass_line(reader);
  const enum wo_status status = get_trace(reader, &trace);
  if (status != WO_OK) return status;
  reader->device = trace->device;
  trace->has_segments = trace->has_segments || wo__line_number(&reader->line, WO__LINE_HAS_SEGMENTS, 0) != 0;
  return WO_OK;
}

static enum wo_status take_header(struct reader *reader) {
  if (reader->has_header) return FAIL(reader, WO_E_SYNTAX, "a second header stands here: one file holds one recording");
  reader->has_header = true;
  return wo__line_read_header(&reader->json, &reader->line, reader->has_settings_object ? &reader->settings : NULL,
                              reader->recording, reader->err);
}

/* ---- All lines ---- */

/* The key that says what the line is; -1 without one, -2 with several. */
static int find_kind(const struct wo__line *line) {
  int kind = -1;
  if (wo__line_has(line, WO__LINE_WHYOOM_TRACE)) return WO__LINE_WHYOOM_TRACE;
  for (uint64_t left = line->seen; left != 0; left &= left - 1) {
    const int key = __builtin_ctzll(left);
    if (keys[key].is_kind) kind = kind == -1 ? key : -2;
  }
  return kind;
}

static enum wo_status take_line(struct reader *reader) {
  const int kind = find_kind(&reader->line);
  if (!reader->has_header && kind != WO__LINE_WHYOOM_TRACE)
    return FAIL(reader, WO_E_SYNTAX, "the first line must be a header: {\"whyoom_trace\": %d}", WO_TRACE_LINES_VERSION);
  if (kind == -2) return FAIL(reader, WO_E_SYNTAX, "says two things at once: one line is one thing");
  if (reader->is_segment_open && kind != WO__LINE_BLOCK)
    return FAIL(reader, WO_E_SYNTAX, "blocks for %" PRIu64 " bytes of the segment above are missing",
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

static enum wo_status read_lines(struct reader *reader) {
  for (;;) {
    struct wo_json_token token;
    bool is_whole = false;
    enum wo_status status = wo_json_stream_next(&reader->json, &token, reader->err);
    if (status != WO_OK || token.kind == WO_JSON_END) return status;
    if (token.kind != WO_JSON_CUT) {
      if (token.kind != WO_JSON_OBJECT) return FAIL(reader, WO_E_SYNTAX, "expected an object: one line is one thing");
      status = read_object(reader, &is_whole);
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

/* What is known only when all lines are read. */
static enum wo_status finish(struct reader *reader) {
  struct wo_recording *const recording = reader->recording;
  if (!reader->has_header) return FAIL(reader, WO_E_SYNTAX, "ends before its header is complete");
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
  recording->has_only_ids = reader->naming == NAMING_IDS;
  enum wo_status status = wo__lines_size_frees(&reader->json, &reader->short_frees, recording, reader->err);
  if (status == WO_OK && !wo_trace_sort_annotations(recording)) status = no_memory(reader);
  return status;
}

enum wo_status wo_trace_lines_read(struct wo_trace_source *source, struct wo_recording *recording, struct wo_err *err) {
  struct reader *const reader = calloc(1, sizeof *reader);
  if (reader == NULL) return wo_err_set(err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
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

/* The header is the first line, and its version its first key where a program wrote it. */
bool wo_trace_lines_sniff(struct wo_view front) {
  const struct wo_view text = wo_view_trim_start(wo_view_starts(front, "\xEF\xBB\xBF") ? wo_view_skip(front, 3) : front);
  const size_t end = wo_view_find_char(text, '\n', 0);
  const struct wo_view line = wo_view_sub(text, 0, end == WO_NOT_FOUND ? text.len : end);
  return wo_view_starts(line, "{") && wo_view_has(line, "\"whyoom_trace\"");
}
