/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing of rule files with cJSON, and places for messages.
 *
 * cJSON does the parsing, and a table (tree.h) is made of what it gives; this file does the rest. Before parsing it looks for
 * mistakes that cJSON accepts, and after parsing it finds the place of a value, for messages only. A tree that was compiled in
 * has no text: its messages name the file and no line. */
#include "rules/files/rule_json.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "parsers/base/limits.h"
#include "parsers/base/number.h"
#include "parsers/base/vec.h"
#include "rules/files/rule_comments.h"

/* Nesting of a rule file. Rules need far less; cJSON and the making of the table recurse this far, and
 * cJSON's own limit would allow a stack many times as tall. */
enum { JSON_DEPTH_MAX = 32 };

/* ---- a walk over the text --------------------------------------------------------------------------------------------- */

/* Visits values in the order of the text. Understands only as much of JSON as is needed once cJSON
 * has accepted the text; on other text it still ends, because every step moves forward by a byte at
 * least. */
struct walk {
  struct wo_view text;
  size_t at;
  size_t key; /* of the last key, or WO_NOT_FOUND */
  size_t value;
};

static size_t skip_string(struct wo_view text, size_t at) {
  assert(at < text.len && text.ptr[at] == '"');
  const size_t end = wo_rule_string_end(text.ptr, text.len, at);
  return end < text.len ? end + 1 : end;
}

/* cJSON takes every control character for a blank. */
static bool is_blank(char c) {
  return (unsigned char)c <= ' ';
}

/* Characters that end a number or a word. */
static bool is_punctuation(char c) {
  return c == ',' || c == ':' || c == '{' || c == '}' || c == '[' || c == ']' || c == '"';
}

/* Whether a string that ends at `at` is a key: a colon follows. In JSON nothing but a key can be
 * before one. */
static bool is_key_end(struct wo_view text, size_t at) {
  while (at < text.len && is_blank(text.ptr[at])) at++;
  return at < text.len && text.ptr[at] == ':';
}

/* Moves to the next value; false at the end. A container counts as a value at its opening bracket,
 * and its members follow: the same order in which the nodes of the tree are.
 * Closing brackets, commas and colons are passed over like blanks. */
static bool next_value(struct walk *walk) {
  const struct wo_view text = walk->text;
  while (walk->at < text.len) {
    const size_t start = walk->at;
    const char c = text.ptr[start];
    if (c == '"') {
      walk->at = skip_string(text, start);
      if (is_key_end(text, walk->at)) {
        walk->key = start;
        continue;
      }
    } else if (c == '{' || c == '[') {
      walk->at++;
    } else if (is_blank(c) || is_punctuation(c)) {
      walk->at++;
      continue;
    } else {
      while (walk->at < text.len && !is_blank(text.ptr[walk->at]) && !is_punctuation(text.ptr[walk->at])) walk->at++;
    }
    walk->value = start;
    return true;
  }
  return false;
}

/* ---- checks before parsing -------------------------------------------------------------------------------------------- */

/* Fills the error (message NULL: only its place) for a byte of the text, counting lines up to it.
 * Counting from the start each time is quadratic over many errors, but a load ends with its first. */
static enum wo_status fail_at(const struct wo_rule_json *json, size_t offset, enum wo_status code, const char *message,
                              struct wo_err *err) {
  assert(offset <= json->text.len);
  uint64_t line = 1;
  size_t line_start = wo_view_starts(json->text, "\xef\xbb\xbf") && offset >= 3 ? 3 : 0; /* behind a byte order mark */
  for (size_t i = 0; i < offset; i++) {
    if (json->text.ptr[i] != '\n') continue;
    line++;
    line_start = i + 1;
  }
  if (message != NULL) wo_err_set(err, code, "%s", message);
  wo_err_place(err, json->name, line, (uint32_t)(offset - line_start) + 1, offset);
  return code;
}

/* Whether an escape at a backslash writes a NUL, which would cut the text for cJSON: its strings
 * are C strings, so an id of "a\u0000b" would silently be "a". */
static bool is_nul_escape(struct wo_view text, size_t at) {
  return wo_view_starts(wo_view_skip(text, at), "\\u0000");
}

/* Refuses a string that writes a NUL. Counts its line ends, which proper JSON has none of but cJSON
 * accepts. After a backslash two bytes are passed over, so that the second of "\\\\" starts
 * nothing. */
static enum wo_status scan_string(const struct wo_rule_json *json, size_t start, size_t end, uint64_t *line, struct wo_err *err) {
  assert(start <= end && end <= json->text.len);
  const struct wo_view text = wo_view_sub(json->text, 0, end);
  for (size_t i = wo_view_find_char(text, '\n', start); i != WO_NOT_FOUND; i = wo_view_find_char(text, '\n', i + 1)) ++*line;
  for (size_t i = wo_view_find_char(text, '\\', start); i != WO_NOT_FOUND; i = wo_view_find_char(text, '\\', i + 2)) {
    if (is_nul_escape(text, i)) return fail_at(json, i, WO_E_SYNTAX, "NUL character", err);
  }
  return WO_OK;
}

/* Refuses mistakes that cJSON would accept silently: NUL bytes and deep nesting. Notes the lines of the rule objects, which
 * become the places of rules: cheaper to count here, once, than to search for each rule later. */
static enum wo_status scan(struct wo_rule_json *json, struct wo_err *err) {
  const struct wo_view text = json->text;
  const size_t nul = wo_view_find_char(text, '\0', 0);
  if (nul != WO_NOT_FOUND) return fail_at(json, nul, WO_E_SYNTAX, "NUL character", err);
  uint64_t line = 1;
  size_t depth = 0;
  size_t object_depth = 0; /* of rule objects: 1 when the root is an array */
  for (size_t i = 0; i < text.len; i++) {
    const char c = text.ptr[i];
    if (c == '\n') line++;
    if (c == '"') {
      const size_t end = wo_rule_string_end(text.ptr, text.len, i);
      const enum wo_status status = scan_string(json, i + 1, end, &line, err);
      if (status != WO_OK) return status;
      i = end;
      continue;
    }
    if (c == '[' && depth == 0) object_depth = 1;
    if (c == '{' && depth == object_depth) {
      if (!WO_VEC_RESERVE(&json->lines, 1, text.len)) return wo_err_set(err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
      json->lines.items[json->lines.count++] = line;
    }
    if (c == '[' || c == '{') depth++;
    if ((c == ']' || c == '}') && depth > 0) depth--;
    if (depth > JSON_DEPTH_MAX) return fail_at(json, i, WO_E_LIMIT, "nested too deep", err);
  }
  return WO_OK;
}

/* ---- public ----------------------------------------------------------------------------------------------------------- */

/* Parses the text of a file that holds no surprises. */
static enum wo_status parse_text(struct wo_rule_json *json, const char *text, struct wo_err *err) {
  const char *end = text;
  cJSON *const root = cJSON_ParseWithLengthOpts(text, json->text.len + 1, &end, true);
  if (root == NULL) {
    /* cJSON's place may be missing, or lie after the text. */
    const size_t offset = end == NULL || end < text ? 0 : (size_t)(end - text);
    return fail_at(json, offset < json->text.len ? offset : json->text.len, WO_E_SYNTAX, "malformed JSON", err);
  }
  size_t nodes = 0;
  size_t text_bytes = 0;
  json->owned_root = wo_tree_of(root, &nodes, &text_bytes);
  json->root = json->owned_root;
  cJSON_Delete(root);
  return json->root != NULL ? WO_OK : wo_err_set(err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
}

/* The NUL after the copy is part of what cJSON is given, so that it refuses anything after the
 * value. The copy exists because comments are blanked in place, and because places are looked up in
 * it for as long as the file is being read. */
enum wo_status wo_rule_json_parse(const struct wo_rule_file *file, struct wo_rule_json *ret_json, struct wo_err *err) {
  assert(file != NULL && ret_json != NULL && (file->data != NULL || file->size == 0));
  *ret_json = (struct wo_rule_json){.name = file->name, .root = file->tree};
  if (file->tree != NULL) return WO_OK;
  if (file->size > WO_LIMIT_RULE_FILE_BYTES) {
    wo_err_set(err, WO_E_LIMIT, "rule file is larger than %zu bytes", WO_LIMIT_RULE_FILE_BYTES);
    wo_err_place(err, file->name, 0, 0, 0);
    return WO_E_LIMIT;
  }
  char *const copy = malloc(file->size + 1);
  if (copy == NULL) return wo_err_set(err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
  if (file->size > 0) memcpy(copy, file->data, file->size);
  copy[file->size] = '\0';
  wo_rule_blank_comments(copy, file->size);
  ret_json->text = (struct wo_view){copy, file->size};
  const enum wo_status status = scan(ret_json, err);
  if (status != WO_OK) return status;
  return parse_text(ret_json, copy, err);
}

void wo_rule_json_done(struct wo_rule_json *json) {
  if (json == NULL) return;
  free(json->owned_root);
  free((void *)(uintptr_t)json->text.ptr);
  WO_VEC_DONE(&json->lines);
  *json = (struct wo_rule_json){0};
}

/* The bytes of text that one written character (or escape) at the front of a string stands for;
 * *ret_raw_len is how many it takes in the file. "\n" is two bytes that mean one, "\u00e9" six that
 * mean two in UTF-8. */
static size_t decoded_len(struct wo_view raw, size_t *ret_raw_len) {
  *ret_raw_len = 1;
  if (raw.len < 2 || raw.ptr[0] != '\\') return 1;
  *ret_raw_len = 2;
  if (raw.ptr[1] != 'u') return 1;
  uint64_t code = 0;
  struct wo_view digits = wo_view_sub(raw, 2, 6);
  if (wo_number_hex(&digits, 0xffff, &code) != WO_OK) return 1;
  *ret_raw_len = 6;
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  if (is_surrogate) return 2; /* half of a pair that becomes four bytes */
  return code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
}

/* The offset in the file of byte `column` (from 1) of the string that starts at `start`. A column
 * beyond the string gives its closing quote: an expression that ends too early is reported there. */
static size_t place_in_string(struct wo_view text, size_t start, uint32_t column) {
  size_t at = start + 1;
  for (size_t left = column - 1; left > 0 && at < text.len && text.ptr[at] != '"';) {
    size_t raw_len = 1;
    const size_t len = decoded_len(wo_view_skip(text, at), &raw_len);
    at += raw_len;
    left -= len < left ? len : left;
  }
  return at < text.len ? at : text.len;
}

/* Walks nodes and text side by side; the key of a value is the last one before it. A tree without
 * text finds nothing, and the error then names the file alone. */
void wo_rule_json_place(const struct wo_rule_json *json, const struct wo_tree *node, enum wo_rule_part part, uint32_t text_column,
                        struct wo_err *err) {
  assert(json != NULL && json->root != NULL && node != NULL);
  struct walk walk = {.text = json->text, .key = WO_NOT_FOUND};
  /* A byte order mark is no value. */
  if (wo_view_starts(json->text, "\xef\xbb\xbf")) walk.at = 3;
  bool is_found = next_value(&walk);
  for (const struct wo_tree *at = json->root; is_found && at < node; at++) is_found = next_value(&walk);
  if (!is_found) {
    wo_err_place(err, json->name, 0, 0, 0);
    return;
  }
  size_t offset = part == WO_RULE_KEY && walk.key != WO_NOT_FOUND ? walk.key : walk.value;
  if (part == WO_RULE_VALUE && text_column > 0 && json->text.ptr[offset] == '"') {
    offset = place_in_string(json->text, offset, text_column);
  }
  fail_at(json, offset, WO_OK, NULL, err);
}
