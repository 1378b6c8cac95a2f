/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON tokenizer.
 *
 * It works on the source's window directly. Before each token it asks for enough bytes that every token but a long string is in
 * the window in one piece: texts are views, and only strings with escapes, or across the window's end, are copied. Skipping a
 * value has its own loop, which counts brackets and reads most of a large trace. Numbers: json_number.c.
 *
 * Three states are enough: a value comes next, a key or the end of its object, or a separator. The kind of each open level is a
 * bit, so there is no stack and no recursion. The reader is lenient where programs are known to break the rules (a comma before a
 * bracket when a run was killed, backslashes of Windows paths); other errors are refused at their byte, because reading on would
 * invent events. */
#include "cuda_replay/recording/json/json_stream.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "parsers/base/clean.h"
#include "parsers/base/vec.h"

/* The bytes asked for before a token: more than any token but a string needs. */
#define WINDOW_BYTES (4 * WO_LIMIT_JSON_NUMBER_BYTES)

_Static_assert(WINDOW_BYTES <= WO_LIMIT_READ_BYTES, "a window is one read");

void wo_json_stream_init(struct wo_json_stream *json, struct wo_trace_source *source, bool ends_at_newline) {
  assert(source != NULL);
  *json = (struct wo_json_stream){.source = source, .ends_at_newline = ends_at_newline, .line = 1};
  /* Some editors put a byte order mark at the front. */
  if (wo_trace_source_offset(source) == 0 && wo_view_starts(wo_trace_source_peek(source, 3), "\xEF\xBB\xBF"))
    wo_trace_source_skip(source, 3);
  json->line_offset = json->offset = wo_trace_source_offset(source);
}

void wo_json_stream_done(struct wo_json_stream *json) {
  WO_VEC_DONE(&json->scratch);
}

enum wo_status wo_json_stream_fail(const struct wo_json_stream *json, struct wo_err *err, enum wo_status code, const char *format,
                                   ...) {
  char message[sizeof err->message];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  wo_err_set(err, code, "%s", message);
  const uint64_t column = json->offset - json->line_offset + 1;
  wo_err_place(err, NULL, json->line, column > UINT32_MAX ? UINT32_MAX : (uint32_t)column, json->offset);
  return code;
}

/* ---- Bytes ---- */

static bool has_byte(struct wo_json_stream *json) {
  return json->source->at < json->source->end || wo_trace_source_peek(json->source, 1).len > 0;
}

/* Moves to the next byte that is no white space and notes its place; false at the end of the input. */
static bool find_token(struct wo_json_stream *json) {
  struct wo_trace_source *const source = json->source;
  while (source->at == source->end || (unsigned char)*source->at <= ' ') {
    if (!has_byte(json)) return false;
    const char c = *source->at;
    if (c == '\n') {
      json->line++;
      json->line_offset = wo_trace_source_offset(source) + 1;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      break;
    }
    source->at++;
  }
  if ((size_t)(source->end - source->at) < WINDOW_BYTES && !source->is_at_end) wo_trace_source_peek(source, WINDOW_BYTES);
  json->offset = source->end_offset - (uint64_t)(source->end - source->at);
  return true;
}

static struct wo_view window(const struct wo_json_stream *json) {
  return (struct wo_view){json->source->at, (size_t)(json->source->end - json->source->at)};
}

/* Ends the stream: the rest of the window is part of a token that never ends. */
static enum wo_status cut(struct wo_json_stream *json, struct wo_json_token *token) {
  json->is_cut = true;
  json->source->at = json->source->end;
  *token = (struct wo_json_token){.kind = WO_JSON_CUT};
  return WO_OK;
}

/* Reports the byte that is here instead of the expected one; shows it only if it is printable. */
static enum wo_status refuse(struct wo_json_stream *json, struct wo_err *err, const char *expected) {
  assert(json->source->at < json->source->end);
  const unsigned char c = (unsigned char)*json->source->at;
  json->is_cut = true;
  if (c > ' ' && c < 127)
    return wo_json_stream_fail(json, err, WO_E_SYNTAX, "is no JSON here: expected %s, found '%c'", expected, c);
  return wo_json_stream_fail(json, err, WO_E_SYNTAX, "is no JSON here: expected %s, found the byte 0x%02x", expected, c);
}

/* ---- Levels ---- */

static bool in_object(const struct wo_json_stream *json) {
  const uint32_t level = json->depth - 1;
  return json->depth > 0 && (json->is_object[level / 64] >> (level % 64) & 1) != 0;
}

/* A level is one bit: an object expects keys, a list does not. */
static enum wo_status open_level(struct wo_json_stream *json, bool is_object, struct wo_json_token *token, struct wo_err *err) {
  if (json->depth == WO_LIMIT_JSON_DEPTH) {
    json->is_cut = true;
    return wo_json_stream_fail(json, err, WO_E_LIMIT, "is nested more than %d deep: no trace is", WO_LIMIT_JSON_DEPTH);
  }
  const uint32_t level = json->depth++;
  const uint64_t bit = UINT64_C(1) << (level % 64);
  json->is_object[level / 64] = is_object ? json->is_object[level / 64] | bit : json->is_object[level / 64] & ~bit;
  json->state = is_object ? WO__JSON_KEY_OR_END : WO__JSON_VALUE;
  json->source->at++;
  *token = (struct wo_json_token){.kind = is_object ? WO_JSON_OBJECT : WO_JSON_ARRAY};
  return WO_OK;
}

/* After a value; at the top level another one may follow at once. */
static void end_value(struct wo_json_stream *json) {
  json->state = json->depth == 0 ? WO__JSON_VALUE : WO__JSON_SEPARATOR;
}

static enum wo_status close_level(struct wo_json_stream *json, struct wo_json_token *token) {
  assert(json->depth > 0);
  *token = (struct wo_json_token){.kind = in_object(json) ? WO_JSON_OBJECT_END : WO_JSON_ARRAY_END};
  json->source->at++;
  json->depth--;
  end_value(json);
  return WO_OK;
}

/* ---- Strings ---- */

/* Sets the high bit of each byte of `word` that is `c`, and maybe of bytes above the lowest one of these. */
static uint64_t find_byte(uint64_t word, char c) {
  const uint64_t ones = UINT64_C(0x0101010101010101), zeros = word ^ (ones * (unsigned char)c);
  return (zeros - ones) & ~zeros & (ones << 7);
}

/* The number of bytes of `view` before the first special one of a string; eight at a time, the lowest byte is the first. */
static size_t plain_length(struct wo_view view, bool ends_at_newline) {
  size_t len = 0;
  while (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && view.len - len >= 8) {
    uint64_t word = 0;
    memcpy(&word, view.ptr + len, 8);
    const uint64_t found = find_byte(word, '"') | find_byte(word, '\\') | (ends_at_newline ? find_byte(word, '\n') : 0);
    if (found != 0) return len + (size_t)__builtin_ctzll(found) / 8;
    len += 8;
  }
  for (; len < view.len; len++) {
    const char c = view.ptr[len];
    if (c == '"' || c == '\\' || (c == '\n' && ends_at_newline)) break;
  }
  return len;
}

/* Adds bytes to the scratch text, up to the longest string. */
static bool keep(struct wo_json_stream *json, const char *bytes, size_t len, bool *is_cut) {
  assert(json->scratch.count <= WO_LIMIT_JSON_STRING_BYTES);
  const size_t room = WO_LIMIT_JSON_STRING_BYTES - json->scratch.count;
  if (len > room) *is_cut = true;
  len = len > room ? room : len;
  if (!WO_VEC_RESERVE(&json->scratch, len, WO_LIMIT_JSON_STRING_BYTES)) return false;
  if (len > 0) memcpy(json->scratch.items + json->scratch.count, bytes, len);
  json->scratch.count += len;
  return true;
}

/* The number of the four hexadecimal digits after "\u" at the front, or -1. */
static int32_t read_unit(struct wo_view at) {
  int32_t unit = 0;
  if (at.len < 6 || at.ptr[0] != '\\' || at.ptr[1] != 'u') return -1;
  for (size_t i = 2; i < 6; i++) {
    const char c = wo_lower(at.ptr[i]);
    if (!wo_is_digit(c) && (c < 'a' || c > 'f')) return -1;
    unit = unit * 16 + (wo_is_digit(c) ? c - '0' : c - 'a' + 10);
  }
  return unit;
}

/* Writes the escape at the front of the window to out; returns its length in the input, 0 if the input ends inside. */
static size_t read_escape(struct wo_json_stream *json, char out[4], size_t *ret_len) {
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  const struct wo_view at = wo_trace_source_peek(json->source, 12);
  if (at.len < 2) return 0;
  const char *const simple = at.ptr[1] != '\0' ? strchr(names, at.ptr[1]) : NULL;
  *ret_len = 1;
  out[0] = simple != NULL ? values[simple - names] : '\\'; /* an unknown escape stands for itself */
  if (simple != NULL) return 2;
  const int32_t unit = read_unit(at);
  if (unit < 0 && at.ptr[1] == 'u' && at.len < 6) return 0;
  if (unit < 0) return 1;
  const bool is_high = unit >= 0xD800 && unit < 0xDC00, is_low = unit >= 0xDC00 && unit < 0xE000;
  const int32_t second = is_high ? read_unit(wo_view_skip(at, 6)) : -1;
  const bool is_pair = second >= 0xDC00 && second < 0xE000;
  const int32_t pair = 0x10000 + (unit - 0xD800) * 0x400 + (second - 0xDC00);
  *ret_len = wo_utf8_write((uint32_t)(is_pair ? pair : is_high || is_low ? 0xFFFD : unit), out);
  return is_pair ? 12 : 6;
}

/* Reads the rest of a string, piece by piece, into the scratch text; `at` is after the quote. */
static enum wo_status read_pieces(struct wo_json_stream *json, struct wo_json_token *token, struct wo_err *err) {
  json->scratch.count = 0;
  while (has_byte(json)) {
    const size_t plain = plain_length(window(json), json->ends_at_newline);
    char out[4];
    size_t out_len = 0;
    if (!keep(json, json->source->at, plain, &token->is_cut)) return wo_json_stream_fail(json, err, WO_E_NOMEM, "out of memory");
    json->source->at += plain;
    if (!has_byte(json)) break;
    const char c = *json->source->at;
    if (c == '"') {
      json->source->at++;
      token->text = (struct wo_view){json->scratch.items, json->scratch.count};
      return WO_OK;
    }
    if (c == '\n' && json->ends_at_newline) {
      json->is_cut = true;
      return wo_json_stream_fail(json, err, WO_E_SYNTAX, "has a string here that does not end on its line");
    }
    if (c != '\\') continue; /* the window ended */
    const size_t in_len = read_escape(json, out, &out_len);
    if (in_len == 0) break;
    if (!keep(json, out, out_len, &token->is_cut)) return wo_json_stream_fail(json, err, WO_E_NOMEM, "out of memory");
    json->source->at += in_len;
  }
  return cut(json, token);
}

/* Reads a string; `at` is at its quote. */
static enum wo_status read_string(struct wo_json_stream *json, struct wo_json_token *token, struct wo_err *err) {
  assert(*json->source->at == '"');
  json->source->at++;
  const struct wo_view at = window(json);
  const size_t plain = plain_length(at, json->ends_at_newline);
  if (plain >= at.len || at.ptr[plain] != '"') return read_pieces(json, token, err);
  token->text = (struct wo_view){at.ptr, plain};
  json->source->at += plain + 1;
  return WO_OK;
}

/* Copies a text, so that it stays valid when the window moves. */
static bool hold(struct wo_json_stream *json, struct wo_json_token *token) {
  bool is_cut = token->is_cut;
  if (token->text.ptr == json->scratch.items && token->text.ptr != NULL) return true;
  json->scratch.count = 0;
  if (!keep(json, token->text.ptr, token->text.len, &is_cut)) return false;
  token->text.ptr = json->scratch.items;
  return true;
}

/* Reads a key and its colon. If the colon is not in the window, the window moves, and the key must be copied before. */
static enum wo_status read_key(struct wo_json_stream *json, struct wo_json_token *token, struct wo_err *err) {
  *token = (struct wo_json_token){.kind = WO_JSON_KEY};
  const enum wo_status status = read_string(json, token, err);
  if (status != WO_OK || token->kind == WO_JSON_CUT) return status;
  json->state = WO__JSON_VALUE;
  if (json->source->at < json->source->end && *json->source->at == ':') return json->source->at++, WO_OK;
  const uint64_t offset = json->offset;
  if (!hold(json, token)) return wo_json_stream_fail(json, err, WO_E_NOMEM, "out of memory");
  if (!find_token(json)) return cut(json, token);
  if (*json->source->at != ':') return refuse(json, err, "a colon");
  json->source->at++;
  json->offset = offset;
  return WO_OK;
}

/* ---- Numbers and words ---- */

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_number_byte(char c) {
  return is_digit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* Whether text is a number as JSON writes it. Leading zeros are accepted. */
static bool is_number(struct wo_view text) {
  size_t at = text.len > 0 && text.ptr[0] == '-' ? 1 : 0;
  const size_t digits = at;
  while (at < text.len && is_digit(text.ptr[at])) at++;
  if (at == digits) return false;
  if (at < text.len && text.ptr[at] == '.') {
    const size_t fraction = ++at;
    while (at < text.len && is_digit(text.ptr[at])) at++;
    if (at == fraction) return false;
  }
  if (at < text.len && wo_lower(text.ptr[at]) == 'e') {
    at++;
    if (at < text.len && (text.ptr[at] == '-' || text.ptr[at] == '+')) at++;
    const size_t exponent = at;
    while (at < text.len && is_digit(text.ptr[at])) at++;
    if (at == exponent) return false;
  }
  return at == text.len;
}

/* A number ends where its bytes do. At the end of the input more digits may be missing, except at the top, where nothing else can
 * end a number. */
static enum wo_status read_number(struct wo_json_stream *json, struct wo_json_token *token, struct wo_err *err) {
  const struct wo_view at = window(json);
  const size_t cap = at.len < WO_LIMIT_JSON_NUMBER_BYTES + 1 ? at.len : WO_LIMIT_JSON_NUMBER_BYTES + 1;
  size_t len = 0;
  while (len < cap && is_digit(at.ptr[len])) len++;
  const size_t digits = len; /* most numbers are nothing else */
  while (len < cap && is_number_byte(at.ptr[len])) len++;
  if (len > WO_LIMIT_JSON_NUMBER_BYTES) {
    json->is_cut = true;
    return wo_json_stream_fail(json, err, WO_E_LIMIT, "has a number of more than %zu digits", WO_LIMIT_JSON_NUMBER_BYTES);
  }
  if (len == at.len && json->depth > 0) return cut(json, token);
  *token = (struct wo_json_token){.kind = WO_JSON_NUMBER, .text = {at.ptr, len}};
  if (len > digits && !is_number(token->text)) return refuse(json, err, "a number");
  json->source->at += len;
  end_value(json);
  return WO_OK;
}

bool wo_json_stream_take_u64(struct wo_json_stream *json, uint64_t *ret_value) {
  assert(ret_value != NULL);
  enum { DIGITS_MAX = 18 };
  struct wo_trace_source *const source = json->source;
  const char *at = source->at;
  uint64_t value = 0;
  if (json->is_cut || json->state != WO__JSON_VALUE || source->end - at < DIGITS_MAX + 3) return false;
  if (*at == ' ') at++;
  const char *const first = at;
  while (is_digit(*at) && at - first <= DIGITS_MAX) value = value * 10 + (uint64_t)(*at++ - '0');
  if (at == first || at - first > DIGITS_MAX || is_number_byte(*at)) return false;
  json->offset = source->end_offset - (uint64_t)(source->end - first);
  source->at = at;
  *ret_value = value;
  end_value(json);
  return true;
}

struct word {
  const char *text;
  enum wo_json_kind kind;
};

static const struct word words[] = {
    {"true", WO_JSON_TRUE},  {"false", WO_JSON_FALSE},     {"null", WO_JSON_NULL},
    {"NaN", WO_JSON_NUMBER}, {"Infinity", WO_JSON_NUMBER}, {"-Infinity", WO_JSON_NUMBER},
};

static enum wo_status read_word(struct wo_json_stream *json, struct wo_json_token *token, struct wo_err *err) {
  const struct wo_view at = window(json);
  size_t len = at.ptr[0] == '-' ? 1 : 0;
  while (len < at.len && len < 16 && wo_is_word(at.ptr[len])) len++;
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    const struct wo_view text = {at.ptr, len};
    if (wo_view_is(text, words[i].text)) {
      *token = (struct wo_json_token){.kind = words[i].kind, .text = text};
      json->source->at += len;
      end_value(json);
      return WO_OK;
    }
    if (len == at.len && strncmp(words[i].text, at.ptr, len) == 0) return cut(json, token);
  }
  return refuse(json, err, "a value");
}

/* ---- Tokens ---- */

/* Reads a value, or the bracket that closes a list, also after a comma. */
static enum wo_status read_value(struct wo_json_stream *json, struct wo_json_token *token, struct wo_err *err) {
  const char c = *json->source->at;
  if (c == '{' || c == '[') return open_level(json, c == '{', token, err);
  if (c == ']' && json->depth > 0 && !in_object(json)) return close_level(json, token);
  if (is_digit(c)) return read_number(json, token, err);
  if (c == '-') {
    const struct wo_view at = window(json);
    return at.len > 1 && at.ptr[1] == 'I' ? read_word(json, token, err) : read_number(json, token, err);
  }
  if (c != '"') return read_word(json, token, err);
  *token = (struct wo_json_token){.kind = WO_JSON_STRING};
  end_value(json);
  return read_string(json, token, err);
}

enum wo_status wo_json_stream_next(struct wo_json_stream *json, struct wo_json_token *ret_token, struct wo_err *err) {
  assert(ret_token != NULL && json->depth <= WO_LIMIT_JSON_DEPTH);
  *ret_token = (struct wo_json_token){.kind = WO_JSON_CUT};
  if (json->is_cut) return WO_OK;
  for (;;) {
    if (!find_token(json)) {
      json->offset = wo_trace_source_offset(json->source);
      if (json->depth > 0) return cut(json, ret_token);
      ret_token->kind = WO_JSON_END;
      return WO_OK;
    }
    const char c = *json->source->at;
    switch (json->state) {
    case WO__JSON_VALUE:
      return read_value(json, ret_token, err);
    case WO__JSON_KEY_OR_END:
      if (c == '"') return read_key(json, ret_token, err);
      return c == '}' ? close_level(json, ret_token) : refuse(json, err, "a key or '}'");
    case WO__JSON_SEPARATOR:
      if (c == (in_object(json) ? '}' : ']')) return close_level(json, ret_token);
      if (c != ',') return refuse(json, err, in_object(json) ? "',' or '}'" : "',' or ']'");
      json->state = in_object(json) ? WO__JSON_KEY_OR_END : WO__JSON_VALUE;
      json->source->at++;
    }
  }
}

/* ---- Skipping ---- */

/* The meaning of a byte while brackets are counted. */
enum skip_class { SKIP_PLAIN, SKIP_OPEN, SKIP_CLOSE, SKIP_QUOTE, SKIP_NEWLINE };

static const unsigned char skip_classes[256] = {
    ['{'] = SKIP_OPEN, ['['] = SKIP_OPEN, ['}'] = SKIP_CLOSE, [']'] = SKIP_CLOSE, ['"'] = SKIP_QUOTE, ['\n'] = SKIP_NEWLINE,
};

/* Skips the rest of a string, `at` after its quote; false if the input ends inside. A newline that ends a line is left for the
 * next token. */
static bool skip_string(struct wo_json_stream *json) {
  struct wo_trace_source *const source = json->source;
  while (has_byte(json)) {
    source->at += plain_length(window(json), false);
    if (source->at == source->end) continue;
    if (*source->at++ == '"') return true;
    if (!has_byte(json)) return false;
    source->at++; /* the escaped byte */
  }
  return false;
}

/* Counts brackets from `at` on until `open` levels have been closed. */
static void skip_levels(struct wo_json_stream *json, uint64_t open) {
  assert(open > 0);
  struct wo_trace_source *const source = json->source;
  while (has_byte(json)) {
    const char *at = source->at;
    while (at < source->end && skip_classes[(unsigned char)*at] == SKIP_PLAIN) at++;
    source->at = at;
    if (at == source->end) continue;
    source->at++;
    switch ((enum skip_class)skip_classes[(unsigned char)*at]) {
    case SKIP_OPEN:
      open++;
      break;
    case SKIP_CLOSE:
      if (--open == 0) return;
      break;
    case SKIP_QUOTE:
      if (!skip_string(json)) json->is_cut = true;
      break;
    case SKIP_NEWLINE:
      json->line++;
      json->line_offset = wo_trace_source_offset(source);
      break;
    case SKIP_PLAIN:
      break;
    }
  }
  json->is_cut = true;
}

/* Skips token by token, so that a string without its end is found on its own line. */
static enum wo_status skip_tokens(struct wo_json_stream *json, struct wo_err *err) {
  const uint32_t depth = json->depth;
  struct wo_json_token token;
  enum wo_status status = WO_OK;
  do status = wo_json_stream_next(json, &token, err);
  while (status == WO_OK && token.kind != WO_JSON_CUT && json->depth > depth);
  return status;
}

enum wo_status wo_json_stream_skip(struct wo_json_stream *json, struct wo_err *err) {
  if (json->ends_at_newline || json->is_cut || json->state != WO__JSON_VALUE || !find_token(json)) return skip_tokens(json, err);
  const char c = *json->source->at;
  if (c != '{' && c != '[' && c != '"') return skip_tokens(json, err);
  json->source->at++;
  if (c != '"') {
    skip_levels(json, 1);
  } else if (!skip_string(json)) {
    json->is_cut = true;
  }
  end_value(json);
  return WO_OK;
}

void wo_json_stream_leave(struct wo_json_stream *json) {
  assert(json->depth > 0);
  if (json->is_cut) return;
  skip_levels(json, 1);
  json->depth--;
  end_value(json);
}
