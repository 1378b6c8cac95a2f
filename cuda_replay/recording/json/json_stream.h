/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as a stream of tokens, read one at a time from a trace source, in memory that does not grow with the input.
 *
 * It accepts any bytes. It reads RFC 8259 and the deviations of real programs: NaN and Infinity, commas before a closing bracket,
 * raw control characters and unknown escapes inside strings. Several values may follow each other (JSON lines). An input that
 * stops inside a value (WO_JSON_CUT) is not an error. One stream must not be used by two threads at once. */
#ifndef WO_JSON_STREAM_H
#define WO_JSON_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/recording/trace_source.h"
#include "parsers/base/limits.h"
#include "parsers/base/status.h"
#include "parsers/base/vec.h"
#include "parsers/base/view.h"

enum wo_json_kind {
  WO_JSON_END, /* the input ends between two values */
  WO_JSON_CUT, /* the input ends inside of a value; so does every later call */
  WO_JSON_OBJECT,
  WO_JSON_OBJECT_END,
  WO_JSON_ARRAY,
  WO_JSON_ARRAY_END,
  WO_JSON_KEY, /* its colon has been read */
  WO_JSON_STRING,
  WO_JSON_NUMBER, /* also NaN, Infinity and -Infinity, which no conversion accepts */
  WO_JSON_TRUE,
  WO_JSON_FALSE,
  WO_JSON_NULL
};

/* One token. `text` holds until the next call: for strings and keys the content with escapes resolved (bytes that are no UTF-8
 * stay as they are, half a surrogate pair becomes U+FFFD), for numbers the digits as written. */
struct wo_json_token {
  enum wo_json_kind kind;
  bool is_cut; /* a string longer than WO_LIMIT_JSON_STRING_BYTES; text is its front */
  struct wo_view text;
};

/* The next token that a stream expects; private. */
enum wo__json_state { WO__JSON_VALUE, WO__JSON_KEY_OR_END, WO__JSON_SEPARATOR };

/* A stream. Other files may read its members, but never write them. */
struct wo_json_stream {
  struct wo_trace_source *source; /* borrowed */
  bool ends_at_newline;           /* a newline inside of a string is an error: one value on each line */
  bool is_cut;
  enum wo__json_state state;
  uint32_t depth;                                      /* open objects and arrays */
  uint64_t is_object[(WO_LIMIT_JSON_DEPTH + 63) / 64]; /* for each open level: an object, or an array */
  uint64_t line;                                       /* of the last token, from 1 */
  uint64_t line_offset;                                /* where that line begins */
  uint64_t offset;                                     /* where the last token begins */
  WO_VEC(char) scratch;                                /* a string that is not in one piece in the window */
};

/* Makes *json a stream over the rest of source. Allocates nothing. */
void wo_json_stream_init(struct wo_json_stream *json, struct wo_trace_source *source, bool ends_at_newline);

/* Releases what it owns, not the source. */
void wo_json_stream_done(struct wo_json_stream *json);

/* The next token. WO_E_SYNTAX: this is no JSON; WO_E_LIMIT: nested deeper than WO_LIMIT_JSON_DEPTH, or a number of more than
 * WO_LIMIT_JSON_NUMBER_BYTES; WO_E_NOMEM. *err gets the message with line, column and offset; the stream ends then. */
enum wo_status wo_json_stream_next(struct wo_json_stream *json, struct wo_json_token *ret_token, struct wo_err *err);

/* Takes the next value if it is a plain whole number of at most 18 digits in the window: the same as wo_json_stream_next and
 * wo_json_number_u64, in one step. False for everything else: nothing is taken then. */
bool wo_json_stream_take_u64(struct wo_json_stream *json, uint64_t *ret_value);

/* Skips the next value (after a key, or in an array) of any depth; only its brackets and quotes are checked. WO_OK also if the
 * input ends inside: the next token is WO_JSON_CUT then. Failures as in wo_json_stream_next. */
enum wo_status wo_json_stream_skip(struct wo_json_stream *json, struct wo_err *err);

/* Skips the rest of the innermost open object or array (depth must be above 0) with its closing bracket, in the same way. */
void wo_json_stream_leave(struct wo_json_stream *json);

/* Fills *err with a message at the place of the last token, and returns code. */
enum wo_status wo_json_stream_fail(const struct wo_json_stream *json, struct wo_err *err, enum wo_status code, const char *format,
                                   ...) __attribute__((format(printf, 4, 5)));

/* The value of a number's text. False if it is no number or does not fit. The integer readers accept fractions and exponents only
 * if the value is whole ("1e3", "2.0"); no bit of a 64-bit integer is lost. */
bool wo_json_number_u64(struct wo_view number, uint64_t *ret_value);
bool wo_json_number_i64(struct wo_view number, int64_t *ret_value);

/* The value times 10^decimals (at most 9), rounded down to a whole number: "12.3456" with 3 decimals is 12345. */
bool wo_json_number_fixed(struct wo_view number, unsigned decimals, int64_t *ret_value);

/* The nearest double, at most one unit of its last place away for very large and small exponents; finite. */
bool wo_json_number_double(struct wo_view number, double *ret_value);

#endif
