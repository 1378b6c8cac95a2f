/* SPDX-License-Identifier: Apache-2.0 */
/* Reads any line of the line form into a table of its keys. New keys are rows of trace_lines.def.
 *
 * A key's number is its place in that table, followed by the actions; a line has a bit and a number for each of its keys. So a
 * line is read before its kind is known, with its keys in any order, and a key is defined in one place only. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "cuda_replay/recording/json/trace_lines_internal.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

/* The types of values. SIZE: a number, or true for "none of its own". PARTS: a fraction, kept in parts per million. SETTINGS: a
 * text, or an object in the header. */
enum key_type {
  NUMBER,
  SIGNED,
  SIZE /* up to here a plain whole number is enough */,
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
#include "cuda_replay/recording/json/trace_lines.def"
#undef WO_LINE_KEY
#define WO_ACTION(id, name, traits)                                                                                              \
  [(int)WO__LINE_ACTION + (int)WO_ACTION_##                                                                                      \
      id] = {name, sizeof(name) - 1,                                                                                             \
             WO_ACTION_##id == WO_ACTION_FRACTION ? PARTS : (WO_ACTION_##id == WO_ACTION_SETTINGS ? SETTINGS : SIZE), true},
#include "cuda_replay/recording/actions.def"
#undef WO_ACTION
};

enum wo_status wo__line_no_memory(struct wo__line_reader *reader) {
  return WO__LINE_FAIL(reader, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
}

static bool is_key(int key, struct wo_view name) {
  return keys[key].len == name.len && memcmp(keys[key].name, name.ptr, name.len) == 0;
}

/* The key of that name. Most lines have the keys of another one in its order: the key that came after `last` then is tried first.
 * Actions come first on most others. */
static int find_key(const struct wo__line *line, int last, struct wo_view name) {
  const int start = line->seen == 0 ? (int)WO__LINE_ACTION : 0;
  if (is_key(line->after[last], name)) return line->after[last];
  for (int i = start; i < start + (int)WO__LINE_COUNT_; i++) {
    const int key = i < (int)WO__LINE_COUNT_ ? i : i - (int)WO__LINE_COUNT_;
    if (is_key(key, name)) return key;
  }
  return -1;
}

enum wo_status wo__line_mistyped(struct wo__line_reader *reader, int key, const char *expected) {
  return WO__LINE_FAIL(reader, WO_E_TYPE, "\"%s\" must be %s", keys[key].name, expected);
}

/* The texts of a line follow each other in one buffer, which the next line uses again: only texts that are kept are copied. */
static enum wo_status read_text(struct wo__line_reader *reader, int key, const struct wo_json_token *token) {
  struct wo__line *const line = &reader->line;
  if (token->kind != WO_JSON_STRING) return wo__line_mistyped(reader, key, "a text");
  if (token->is_cut)
    return WO__LINE_FAIL(reader, WO_E_LIMIT, "\"%s\" is longer than %zu bytes", keys[key].name, WO_LIMIT_JSON_STRING_BYTES);
  if (!WO_VEC_RESERVE(&line->text, token->text.len, WO__LINE_COUNT_ * WO_LIMIT_JSON_STRING_BYTES))
    return wo__line_no_memory(reader);
  if (token->text.len > 0) memcpy(line->text.items + line->text.count, token->text.ptr, token->text.len);
  line->numbers[key] = line->text.count;
  line->lengths[key] = token->text.len;
  line->text.count += token->text.len;
  return WO_OK;
}

/* The settings object comes after the settings' own token, its opening bracket. */
static enum wo_status read_settings(struct wo__line_reader *reader, int key, const struct wo_json_token *token) {
  if (token->kind != WO_JSON_OBJECT) return read_text(reader, key, token);
  reader->settings = wo_alloc_settings_default(WO_TORCH_DEFAULT);
  reader->has_settings_object = true;
  return wo__line_read_settings(reader);
}

/* Reads the two numbers of a pool, after its opening bracket; *ret_pool is its index. */
static enum wo_status read_pool(struct wo__line_reader *reader, int key, const struct wo_json_token *first, uint64_t *ret_pool) {
  uint64_t numbers[2] = {0};
  struct wo_json_token token = *first;
  enum wo_status status = WO_OK;
  if (token.kind != WO_JSON_ARRAY) return wo__line_mistyped(reader, key, "a pair of numbers, such as [0, 1]");
  for (int i = 0; i < 3; i++) {
    status = wo_json_stream_next(&reader->json, &token, reader->err);
    if (status != WO_OK || token.kind == WO_JSON_CUT) return status;
    const bool is_right =
        i == 2 ? token.kind == WO_JSON_ARRAY_END : token.kind == WO_JSON_NUMBER && wo_json_number_u64(token.text, &numbers[i]);
    if (!is_right) return wo__line_mistyped(reader, key, "a pair of numbers, such as [0, 1]");
  }
  uint32_t pool = 0;
  status = wo_intern_pool(&reader->intern, (struct wo_pool_id){numbers[0], numbers[1]}, &pool);
  if (status == WO_E_NOMEM) return wo__line_no_memory(reader);
  if (status != WO_OK) return WO__LINE_FAIL(reader, status, "has more than %d pools", WO_TRACE_POOLS_MAX);
  *ret_pool = pool;
  return WO_OK;
}

enum wo_status wo__line_find_stream(struct wo__line_reader *reader, uint64_t raw, uint32_t *ret_stream) {
  const enum wo_status status = wo_intern_stream(&reader->intern, raw, ret_stream);
  if (status == WO_E_NOMEM) return wo__line_no_memory(reader);
  return status == WO_OK ? WO_OK : WO__LINE_FAIL(reader, status, "has more than %d streams", WO_TRACE_STREAMS_MAX);
}

/* Reads one item of a list: a frame's number, a stream or a pool. */
static enum wo_status read_item(struct wo__line_reader *reader, int key, const struct wo_json_token *token) {
  struct wo_recording *const recording = reader->recording;
  uint64_t value = 0;
  uint32_t stream = 0;
  if (keys[key].type == POOLS) return read_pool(reader, key, token, &value);
  if (token->kind != WO_JSON_NUMBER || !wo_json_number_u64(token->text, &value))
    return wo__line_mistyped(reader, key, "a list of numbers");
  if (keys[key].type == STREAMS) return wo__line_find_stream(reader, value, &stream);
  if (value >= recording->frames.count) return WO__LINE_FAIL(reader, WO_E_RANGE, "frame %" PRIu64 " is not defined above", value);
  const enum wo_status status = WO__LINE_RESERVE(reader, &recording->stack_frames, WO_LIMIT_TRACE_STACK_FRAMES);
  if (status == WO_OK) recording->stack_frames.items[recording->stack_frames.count++] = (uint32_t)value;
  return status;
}

/* Frames go directly into the recording; their start and their number represent the list. */
static enum wo_status read_list(struct wo__line_reader *reader, int key, const struct wo_json_token *first) {
  const size_t start = reader->recording->stack_frames.count;
  if (first->kind != WO_JSON_ARRAY) return wo__line_mistyped(reader, key, "a list");
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

static enum wo_status read_value(struct wo__line_reader *reader, int key, const struct wo_json_token *token) {
  assert(key >= 0 && key < (int)WO__LINE_COUNT_);
  uint64_t *const number = &reader->line.numbers[key];
  const bool is_number = token->kind == WO_JSON_NUMBER;
  int64_t value = 0;
  switch (keys[key].type) {
  case NUMBER:
    return is_number && wo_json_number_u64(token->text, number) ? WO_OK
                                                                : wo__line_mistyped(reader, key, "a whole number of 0 or more");
  case SIZE:
    reader->line.lengths[key] = token->kind == WO_JSON_TRUE; /* no size of its own */
    if (token->kind == WO_JSON_TRUE) return *number = 0, WO_OK;
    return is_number && wo_json_number_u64(token->text, number) ? WO_OK
                                                                : wo__line_mistyped(reader, key, "a whole number of 0 or more");
  case SIGNED:
  case PARTS:
    if (!is_number ||
        (keys[key].type == SIGNED ? !wo_json_number_i64(token->text, &value) : !wo_json_number_fixed(token->text, 6, &value)) ||
        (keys[key].type == PARTS && value < 0))
      return wo__line_mistyped(reader, key, keys[key].type == SIGNED ? "a whole number" : "a fraction, such as 0.5");
    *number = (uint64_t)value;
    reader->line.lengths[key] = 0;
    return WO_OK;
  case FLAG:
    *number = token->kind == WO_JSON_TRUE;
    return token->kind == WO_JSON_TRUE || token->kind == WO_JSON_FALSE ? WO_OK : wo__line_mistyped(reader, key, "true or false");
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

/* Skips the value of an unknown key. */
static enum wo_status pass_unknown(struct wo__line_reader *reader, struct wo_view name) {
  if (!reader->has_unknown_key)
    wo_recording_note(reader->recording, "line %" PRIu64 ": the key \"%.*s\" is not known; it and all like it are passed over",
                      reader->json.line, (int)(name.len < 80 ? name.len : 80), name.ptr);
  reader->has_unknown_key = true;
  return wo_json_stream_skip(&reader->json, reader->err);
}

enum wo_status wo__line_read_object(struct wo__line_reader *reader, bool *ret_is_whole) {
  struct wo__line *const line = &reader->line;
  line->seen = 0;
  line->text.count = 0;
  reader->has_settings_object = false;
  for (int last = WO__LINE_COUNT_;;) {
    struct wo_json_token token;
    enum wo_status status = wo_json_stream_next(&reader->json, &token, reader->err);
    *ret_is_whole = token.kind == WO_JSON_OBJECT_END;
    if (status != WO_OK || token.kind != WO_JSON_KEY) return status;
    const int key = find_key(line, last, token.text);
    if (key < 0) {
      status = pass_unknown(reader, token.text);
      if (status != WO_OK) return status;
      continue;
    }
    line->after[last] = (uint8_t)key;
    last = key;
    if (wo__line_has(line, key)) return WO__LINE_FAIL(reader, WO_E_SYNTAX, "has the key \"%s\" twice", keys[key].name);
    if (keys[key].type <= SIZE && wo_json_stream_take_u64(&reader->json, &line->numbers[key])) {
      line->lengths[key] = 0;
      line->seen |= UINT64_C(1) << key;
      continue;
    }
    status = wo_json_stream_next(&reader->json, &token, reader->err);
    if (status != WO_OK || token.kind == WO_JSON_CUT) return status;
    if (token.kind == WO_JSON_NULL) continue; /* like a missing key */
    status = read_value(reader, key, &token);
    if (status != WO_OK) return status;
    line->seen |= UINT64_C(1) << key;
  }
}

bool wo__line_is_kind(int key) {
  return keys[key].is_kind;
}

const char *wo__line_key_name(int key) {
  return keys[key].name;
}
