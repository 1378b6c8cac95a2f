/* SPDX-License-Identifier: Apache-2.0 */
/* The tokens of a JSON document in a stream of lines. */
#include "parsers/formats/common/json_tokens.h"

#include <stdint.h>
#include <string.h>

/* Lines after which a document is left: 25 000 jobs of a typical size. */
#define DOCUMENT_LINES 10000000

bool wo_json_is_path(const struct wo_json_walk *json, const char *path) {
  return strcmp(json->place->path, path) == 0;
}

/* Goes into a container. False if it is too deep for its name to be kept. */
static bool push(struct wo_json_walk *json) {
  char *const path = json->place->path;
  const size_t len = strlen(path);
  const struct wo_view name = json->key.len > 0 ? json->key : WO_VIEW("*");
  if (len + name.len + 2 > sizeof json->place->path) return false;
  path[len] = '/';
  memcpy(path + len + 1, name.ptr, name.len);
  path[len + 1 + name.len] = '\0';
  json->key = (struct wo_view){0};
  return true;
}

/* Leaves a container. False at the end of the document. */
static bool pop(struct wo_json_walk *json) {
  char *const slash = strrchr(json->place->path, '/');
  if (!slash) return false;
  *slash = '\0';
  return true;
}

/* Keys with a slash would look like containers, but no needed key has one, so the rest of such a path is never used. */
static void take_scalar(struct wo_json_walk *json, struct wo_view text) {
  struct wo_json_value value = {.text = text};
  const struct wo_view key = wo_view_sub(json->key, 0, 40);
  if (wo_view_is(key, "number")) {
    snprintf(value.name, sizeof value.name, "%s", json->place->path);
  } else {
    snprintf(value.name, sizeof value.name, "%s%s%.*s", json->place->path, key.len > 0 ? "/" : "", (int)key.len,
             key.ptr ? key.ptr : "");
  }
  json->key = (struct wo_view){0};
  json->reader->read_value(json, &value);
}

/* Index of the quote that ends a text, counted from `from`, or more than the last index when it is in the line's next piece.
 */
static size_t find_quote(struct wo_view in, size_t from) {
  while (from < in.len && in.ptr[from] != '"') from += in.ptr[from] == '\\' ? 2 : 1;
  return from;
}

/* A script or an environment may fill pieces: no text of that length is looked for, so its end is all that counts. */
static void leave_in_text(struct wo_json_walk *json, size_t end) {
  json->place->is_in_text = true;
  json->place->skip = end - json->rest.len;
  json->rest = wo_view_skip(json->rest, json->rest.len);
  json->key = (struct wo_view){0};
}

/* A text in quotes: a key when a colon follows. */
static void take_text(struct wo_json_walk *json) {
  const struct wo_view in = json->rest;
  const size_t end = find_quote(in, 1);
  if (end >= in.len) {
    leave_in_text(json, end);
    return;
  }
  const struct wo_view text = wo_view_sub(in, 1, end);
  json->rest = wo_view_trim_start(wo_view_skip(in, end + 1));
  if (!wo_view_starts(json->rest, ":")) {
    take_scalar(json, text);
    return;
  }
  json->key = text;
  json->rest = wo_view_skip(json->rest, 1);
}

/* Numbers, true, false and null. A byte that begins none of them is skipped alone, so that the walk always moves. */
static void take_word(struct wo_json_walk *json) {
  size_t end = 0;
  while (end < json->rest.len && !strchr(",]}[{\" \t", json->rest.ptr[end])) end++;
  const struct wo_view word = wo_view_sub(json->rest, 0, end > 0 ? end : 1);
  json->rest = wo_view_skip(json->rest, word.len);
  if (end > 0) take_scalar(json, word);
}

/* The next token. False at the end of the document, or of what can be understood. */
static bool take_token(struct wo_json_walk *json) {
  const char c = json->rest.ptr[0];
  if (c == '"') {
    take_text(json);
    return true;
  }
  if (c == '{' || c == '[') {
    if (!push(json)) return false;
    if (c == '{') json->reader->begin_object(json);
  } else if (c == '}' || c == ']') {
    if (c == '}') json->reader->end_object(json);
    if (!pop(json)) return false;
  } else if (c != ',') {
    take_word(json);
    return true;
  }
  json->rest = wo_view_skip(json->rest, 1);
  return true;
}

/* The end of a text that began in an earlier piece. False when it does not end in this one either. */
static bool end_text(struct wo_json_walk *json) {
  const size_t end = find_quote(json->rest, 0);
  if (end >= json->rest.len) {
    leave_in_text(json, end);
    return false;
  }
  json->place->is_in_text = false;
  json->rest = wo_view_trim_start(wo_view_skip(json->rest, end + 1));
  return true;
}

static struct wo_json_place *place_of(const struct wo_open *open) {
  const struct wo_json_reader *const reader = open->format->constants;
  return (struct wo_json_place *)((char *)open->state + reader->place_at);
}

/* Pieces of a long line overlap: tokens that begin in the overlap are left to the next piece, which skips the rest of a token
 * that began before it. A key stays with its value. Texts do not go on after the end of a line. */
enum wo_more wo_json_read(struct wo_open *open, size_t start) {
  const struct wo_json_reader *const reader = open->format->constants;
  struct wo_json_place *const place = place_of(open);
  const struct wo_line *const line = open->line;
  struct wo_json_walk json = {.reader = reader, .open = open, .place = place, .rest = wo_view_skip(line->full, start)};
  const bool is_last = line->own_end == SIZE_MAX;
  const char *const own_end = line->full.ptr + (is_last ? line->full.len : line->own_end);
  place->skip = 0;
  const bool is_open = !place->is_in_text || end_text(&json);
  for (json.rest = wo_view_trim_start(json.rest); is_open && json.rest.len > 0; json.rest = wo_view_trim_start(json.rest)) {
    if (json.rest.ptr >= own_end && json.key.len == 0) break;
    if (!take_token(&json)) return WO_MORE_NO;
  }
  if (is_last) {
    place->is_in_text = false;
    place->skip = 0;
  }
  if (!is_last && json.rest.ptr > own_end) place->skip += (size_t)(json.rest.ptr - own_end);
  return WO_MORE_YES;
}

enum wo_more wo_json_begin(struct wo_open *open, const struct wo_match *match) {
  return wo_json_read(open, wo_match_start(match) + wo_match_text(match).len);
}

enum wo_more wo_json_feed(struct wo_open *open) {
  return open->lines > DOCUMENT_LINES ? WO_MORE_NO_UNREAD : wo_json_read(open, place_of(open)->skip);
}
