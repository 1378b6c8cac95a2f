/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text that is short and safe anywhere in a page: digits of base 64, five bits each, lowest first; the sixth bit says
 * that another digit follows. Small numbers take one character. viewer.js reads them. */
#ifndef WO_VIEWER_CODE_H
#define WO_VIEWER_CODE_H

#include <stdint.h>

#include "parsers/base/text.h"

/* Appends a number / a number that may be negative (an even number for one that is not: 0, -1, 1, -2, ... are 0, 1, 2, 3, ...).
 */
void wo_code_u64(struct wo_text *out, uint64_t number);
void wo_code_i64(struct wo_text *out, int64_t number);

/* A row of numbers, each as its difference from the one before; of equal neighbours only the number is written. {0} at the
 * beginning. */
struct wo_code_row {
  uint64_t last;
  uint64_t equal; /* neighbours that are not written yet */
};

/* Appends the next number of a row. */
void wo_code_row_add(struct wo_text *out, struct wo_code_row *row, uint64_t number);

/* Ends a row: to be called once, before anything else is appended. */
void wo_code_row_end(struct wo_text *out, struct wo_code_row *row);

/* Appends text as the inside of a JSON string that is also safe inside of <script>: '<', '>', '&', quotes and backslashes as
 * escapes, everything that wo_clean_utf8 takes out replaced as there. At most max_chars characters, of which the last is then an
 * ellipsis; of a text that is cut in front (`is_end`) the first. */
void wo_code_text(struct wo_text *out, struct wo_view text, size_t max_chars, bool is_end);

#endif
