/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON. See json_out.h. */
#include "parsers/base/output/json_out.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "parsers/base/clean.h"

/* From here on a double holds no fraction and %.0f is exact. */
#define WHOLE_MAX 9223372036854775807.0

/* An invalid byte becomes a replacement character of three. */
enum { UTF8_GROWTH = 3 };

/* ---- Placing ---- */

cJSON *wo_json_put(struct wo_json_out *out, cJSON *object, const char *key, cJSON *item) {
  assert(out != NULL && key != NULL);
  if (item != NULL && cJSON_AddItemToObject(object, key, item)) return item;
  cJSON_Delete(item);
  out->is_failed = true;
  return NULL;
}

cJSON *wo_json_push(struct wo_json_out *out, cJSON *array, cJSON *item) {
  assert(out != NULL);
  if (item != NULL && cJSON_AddItemToArray(array, item)) return item;
  cJSON_Delete(item);
  out->is_failed = true;
  return NULL;
}

cJSON *wo_json_put_object(struct wo_json_out *out, cJSON *object, const char *key) {
  return wo_json_put(out, object, key, cJSON_CreateObject());
}

cJSON *wo_json_put_array(struct wo_json_out *out, cJSON *object, const char *key) {
  return wo_json_put(out, object, key, cJSON_CreateArray());
}

/* ---- Values ---- */

/* Cleans a text into the scratch text, a NUL after it. ptr NULL when memory is out. */
static struct wo_view clean_text(struct wo_json_out *out, struct wo_view view) {
  assert(out != NULL);
  out->scratch.len = 0;
  wo_text_repeat(&out->scratch, ' ', view.len * UTF8_GROWTH + 1);
  if (out->scratch.is_failed) return (struct wo_view){NULL, 0};
  const struct wo_view clean = wo_clean_utf8(view, out->scratch.ptr, out->scratch.len - 1);
  out->scratch.ptr[clean.len] = '\0';
  return clean;
}

cJSON *wo_json_text(struct wo_json_out *out, struct wo_view view) {
  const struct wo_view clean = clean_text(out, view);
  return clean.ptr == NULL ? NULL : cJSON_CreateString(clean.ptr);
}

void wo_json_put_text(struct wo_json_out *out, cJSON *object, const char *key, struct wo_view view) {
  wo_json_put(out, object, key, view.len == 0 ? cJSON_CreateNull() : wo_json_text(out, view));
}

/* Whether a text can be given back as it is: valid UTF-8 without NUL, and not empty. */
static bool is_exact(struct wo_view view) {
  for (size_t at = 0, len = 0; at < view.len; at += len) {
    const uint32_t code = wo_utf8_read(wo_view_skip(view, at), &len);
    if (code == WO_UTF8_INVALID || code == 0) return false;
  }
  return view.len > 0;
}

void wo_json_put_exact(struct wo_json_out *out, cJSON *object, const char *key, struct wo_view view) {
  out->scratch.len = 0;
  wo_text_add_view(&out->scratch, view);
  if (out->scratch.is_failed) {
    wo_json_put(out, object, key, NULL);
  } else {
    wo_json_put(out, object, key, is_exact(view) ? cJSON_CreateString(out->scratch.ptr) : cJSON_CreateNull());
  }
}

void wo_json_put_name(struct wo_json_out *out, cJSON *object, const char *key, const char *name) {
  assert(name != NULL);
  wo_json_put(out, object, key, cJSON_CreateString(name));
}

void wo_json_put_texts(struct wo_json_out *out, cJSON *object, const char *key, const struct wo_view *views, size_t count) {
  cJSON *const array = wo_json_put_array(out, object, key);
  for (size_t i = 0; i < count; i++) wo_json_push(out, array, wo_json_text(out, views[i]));
}

cJSON *wo_json_count(uint64_t count) {
  char digits[24];
  snprintf(digits, sizeof digits, "%" PRIu64, count);
  return cJSON_CreateRaw(digits);
}

void wo_json_put_count(struct wo_json_out *out, cJSON *object, const char *key, uint64_t count) {
  wo_json_put(out, object, key, wo_json_count(count));
}

void wo_json_put_maybe(struct wo_json_out *out, cJSON *object, const char *key, bool is_known, uint64_t count) {
  wo_json_put(out, object, key, is_known ? wo_json_count(count) : cJSON_CreateNull());
}

cJSON *wo_json_put_part(struct wo_json_out *out, cJSON *object, const char *key, bool has_part) {
  return wo_json_put(out, object, key, has_part ? cJSON_CreateObject() : cJSON_CreateNull());
}

void wo_json_put_known(struct wo_json_out *out, cJSON *object, const char *key, int64_t value) {
  wo_json_put(out, object, key, value < 0 ? cJSON_CreateNull() : wo_json_count((uint64_t)value));
}

cJSON *wo_json_number(double value) {
  if (!isfinite(value)) return cJSON_CreateNull();
  if (value != floor(value) || fabs(value) >= WHOLE_MAX) return cJSON_CreateNumber(value);
  char digits[32];
  snprintf(digits, sizeof digits, "%.0f", value == 0 ? 0.0 : value);
  return cJSON_CreateRaw(digits);
}

void wo_json_put_bytes(struct wo_json_out *out, cJSON *object, const char *key, double bytes) {
  wo_json_put(out, object, key, wo_json_number(round(bytes)));
}

void wo_json_put_bool(struct wo_json_out *out, cJSON *object, const char *key, bool truth) {
  wo_json_put(out, object, key, cJSON_CreateBool(truth));
}

/* ---- Printing ---- */

/* A character as JSON escapes it: those above U+FFFF as two halves. */
static void add_escape(struct wo_text *text, uint32_t code) {
  const uint32_t high = code - 0x10000;
  if (code < 0x10000) {
    wo_text_add(text, "\\u%04x", (unsigned)code);
  } else {
    wo_text_add(text, "\\u%04x\\u%04x", (unsigned)(0xd800 + (high >> 10)), (unsigned)(0xdc00 + (high & 0x3ff)));
  }
}

/* Whether a text has neither DEL nor bytes above it, eight at a time: then nothing in it needs an escape. */
static bool is_ascii(struct wo_view text) {
  const uint64_t ones = UINT64_C(0x0101010101010101), tops = UINT64_C(0x8080808080808080);
  uint64_t found = 0, word = 0;
  size_t at = 0;
  for (; text.len - at >= sizeof word && (found & tops) == 0; at += sizeof word) {
    memcpy(&word, text.ptr + at, sizeof word);
    found = word | (word + ones);
  }
  for (; at < text.len && (found & tops) == 0; at++) found = (unsigned char)text.ptr[at] >= 0x7f ? tops : 0;
  return (found & tops) == 0;
}

/* Adds a part of a string or of what is around strings. Exact texts may hold characters that a terminal must not get: only
 * strings have any, so they are escaped, and every reader of JSON gets them back. */
static void add_escaped(struct wo_text *text, struct wo_view part) {
  for (size_t at = 0, len = 0; at < part.len; at += len) {
    len = wo_clean_printable_until(part, at) - at;
    const bool is_plain = len > 0;
    const uint32_t code = is_plain ? ' ' : wo_utf8_read(wo_view_skip(part, at), &len);
    const bool is_layout = code == '\n';
    if (!is_layout && (wo_clean_is_control(code) || wo_clean_is_hidden(code))) {
      add_escape(text, code);
    } else {
      wo_text_add_view(text, wo_view_sub(part, at, at + len));
    }
  }
}

/* cJSON indents with tabs, which occur only between tokens, since a tab inside a string is escaped; so is a line feed. */
static void add_printed(struct wo_text *text, const char *printed) {
  const bool is_plain = is_ascii(wo_view_of(printed));
  for (const char *at = printed; *at != '\0';) {
    const size_t plain = strcspn(at, "\t");
    const struct wo_view part = {at, plain};
    if (is_plain || is_ascii(part))
      wo_text_add_view(text, part);
    else
      add_escaped(text, part);
    at += plain;
    if (*at != '\t') continue;
    const bool is_behind_key = plain > 0 && at[-1] == ':';
    wo_text_repeat(text, ' ', is_behind_key ? 1 : 2);
    at++;
  }
  wo_text_add(text, "\n");
}

void wo_json_finish(struct wo_json_out *out, cJSON *root, struct wo_text *text) {
  assert(out != NULL && text != NULL);
  char *const printed = root == NULL || out->is_failed ? NULL : cJSON_Print(root);
  if (printed == NULL) {
    text->is_failed = true;
  } else {
    add_printed(text, printed);
    text->is_exact = true; /* what must not be shown is escaped */
  }
  cJSON_free(printed);
  cJSON_Delete(root);
  wo_text_done(&out->scratch);
}
