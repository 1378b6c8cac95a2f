/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON, for all reports. cJSON builds and prints; this module decides how values look.
 *
 * Unknown is null or a missing key, never zero. Sizes, lines and offsets are exact integers (raw numbers: cJSON's own go through
 * double and may get an exponent). Text is made valid UTF-8 as reports show it (wo_clean_utf8), exact text is escaped, so that no
 * output holds a control character or a mark of direction.
 *
 * wo_json_put_x(out, object, key, x) adds a key, wo_json_x(x) makes a value. Ownership is cJSON's: an item that was added belongs
 * to its parent, one that could not be added is deleted. So nothing but the root is ever released, on success and on failure, and
 * callers look once, at is_failed. One writer must not be used by two threads at once. */
#ifndef WO_JSON_OUT_H
#define WO_JSON_OUT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/base/text.h"
#include "parsers/base/view.h"

/* A writer, {0} at the beginning. */
struct wo_json_out {
  struct wo_text scratch; /* NUL-terminated copies of views */
  bool is_failed;         /* something could not be made: memory is out */
};

/* Puts an item under a key / appends it to an array and returns it. Takes the item over; NULL (also as the object, so that
 * putting into what could not be made fails in turn) is a failure, and NULL is returned. */
cJSON *wo_json_put(struct wo_json_out *out, cJSON *object, const char *key, cJSON *item);
cJSON *wo_json_push(struct wo_json_out *out, cJSON *array, cJSON *item);

/* Puts an empty object / array under a key and returns it. */
cJSON *wo_json_put_object(struct wo_json_out *out, cJSON *object, const char *key);
cJSON *wo_json_put_array(struct wo_json_out *out, cJSON *object, const char *key);

/* Puts an empty object, to be filled where has_part, else null. */
cJSON *wo_json_put_part(struct wo_json_out *out, cJSON *object, const char *key, bool has_part);

/* A string of any bytes. NULL when memory is out. */
cJSON *wo_json_text(struct wo_json_out *out, struct wo_view view);

/* Puts a text; an empty one is null. */
void wo_json_put_text(struct wo_json_out *out, cJSON *object, const char *key, struct wo_view view);

/* Puts a text byte by byte, control characters included, for users who feed it to another program. Null when it is empty, no
 * valid UTF-8 or has a NUL: a part of it, or another text, would be wrong. */
void wo_json_put_exact(struct wo_json_out *out, cJSON *object, const char *key, struct wo_view view);

/* Puts a name from one of our own lists: plain ASCII, never NULL. */
void wo_json_put_name(struct wo_json_out *out, cJSON *object, const char *key, const char *name);

/* Puts an array of texts, in order; empty ones are kept, since positions may mean something. */
void wo_json_put_texts(struct wo_json_out *out, cJSON *object, const char *key, const struct wo_view *views, size_t count);

/* An unsigned number, exact over the whole range of 64 bits. */
cJSON *wo_json_count(uint64_t count);
void wo_json_put_count(struct wo_json_out *out, cJSON *object, const char *key, uint64_t count);

/* Puts a count, or null when it is not known; `count` is not looked at then. */
void wo_json_put_maybe(struct wo_json_out *out, cJSON *object, const char *key, bool is_known, uint64_t count);

/* Puts a number that is negative when unknown, which is null then. */
void wo_json_put_known(struct wo_json_out *out, cJSON *object, const char *key, int64_t value);

/* Whole numbers exactly, others as doubles; values that JSON cannot express (infinity, NaN) are null. "-0" is 0, which all
 * readers agree on. */
cJSON *wo_json_number(double value);

/* Puts bytes, rounded to whole ones: a printed size is a product of a fraction and a power of 1024. */
void wo_json_put_bytes(struct wo_json_out *out, cJSON *object, const char *key, double bytes);

/* Puts a truth. */
void wo_json_put_bool(struct wo_json_out *out, cJSON *object, const char *key, bool truth);

/* Adds the printed root to `text`, two blanks of indentation and a final newline, releases the root (NULL allowed, which is a
 * failure) and what the writer needed. After a failure nothing is added, since half an object is useless, and text->is_failed is
 * set. */
void wo_json_finish(struct wo_json_out *out, cJSON *root, struct wo_text *text);

#endif
