/* SPDX-License-Identifier: Apache-2.0 */
/* The state of something that runs, as bytes, and back: one function for both ways, so that they cannot differ.
 *
 *   static void keep_counter(struct wo_keep *keep, struct counter *counter) {
 *     wo_keep_size(keep, &counter->count, COUNT_MAX);
 *     wo_keep_flag(keep, &counter->is_full);
 *   }
 *
 * Bytes that are read may come from anywhere: each value has its bounds, and what is outside of them, or missing, makes the keep
 * bad; from then on values are 0. What is read into is zeroed memory, or has values. A value that is outside when it is written
 * makes the keep bad as well, so that only what can be read is written. The form is that of one version of the program. Pure; not
 * for two threads at once. */
#ifndef WO_KEEP_H
#define WO_KEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/base/text.h"
#include "parsers/base/view.h"

/* {.out = text} writes, behind what the text holds; {.in = bytes} reads. */
struct wo_keep {
  struct wo_text *out; /* NULL: reads */
  struct wo_view in;   /* what is left */
  bool is_bad;
};

static inline bool wo_keep_is_reading(const struct wo_keep *keep) {
  return keep->out == NULL;
}

/* Makes it bad. */
void wo_keep_fail(struct wo_keep *keep);

/* Whole numbers, within bounds. */
void wo_keep_number(struct wo_keep *keep, uint64_t *number, uint64_t most);
void wo_keep_size(struct wo_keep *keep, size_t *number, size_t most);
void wo_keep_signed(struct wo_keep *keep, int64_t *number, int64_t least, int64_t most);
void wo_keep_int(struct wo_keep *keep, int32_t *number, int32_t least, int32_t most);
void wo_keep_flag(struct wo_keep *keep, bool *flag);

/* A number with a fraction, within bounds; never infinite or none. / The same, whole and not below 0. */
void wo_keep_double(struct wo_keep *keep, double *number, double least, double most);
void wo_keep_count(struct wo_keep *keep, double *number, double most);

/* `len` bytes of text, whatever they are. */
void wo_keep_bytes(struct wo_keep *keep, char *bytes, size_t len);

/* Whether all went well, and all bytes were read. */
bool wo_keep_is_whole(const struct wo_keep *keep);

#endif
