/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the line ends that a terminal or a shell put into a text when it cut each line at its own width.
 *
 *   torch.OutOfMemoryError: CUDA out of mem
 *   ory. Tried to allocate 7.53 GiB. GPU 0
 *   has a total capacity of 24.00 GiB ...
 *
 * Such a text has a shape of its own: over a stretch no line is longer than the width, many are exactly as long, and few a little
 * shorter; and what follows such a line goes on in the middle of a word, a quotation, or one of the texts that patterns look for.
 * Texts that were broken between words, tables, rulers and bars do not have it. */
#ifndef WO_WRAP_H
#define WO_WRAP_H

#include <stdbool.h>
#include <stdint.h>

#include "parsers/base/limits.h"
#include "parsers/base/view.h"
#include "parsers/match/prefilter.h"

/* Widths, in characters, at which texts are cut. */
#define WO_WRAP_WIDTH_MIN 20
#define WO_WRAP_WIDTH_MAX 300

/* Bytes of a line that may have such a width. */
#define WO_WRAP_BYTES_MAX (4 * WO_WRAP_WIDTH_MAX)

/* One line of the text that was looked at. */
struct wo_wrap_line {
  uint32_t start, end; /* of its bytes, without its line end */
  uint32_t next;       /* where the next line starts; `end` if the text ends without a line end */
  bool is_counted;     /* `chars` is certain */
  uint16_t chars;      /* more than WO_WRAP_WIDTH_MAX in a line that is no part of a wrapped text */
  uint16_t width;      /* at which it was cut: the next line goes on with it; 0 if its end is one */
};

/* Keeps what was learnt about the input from one text to the next. Zeroed at first; belongs to one input. */
struct wo_wrap {
  size_t width;             /* at which an earlier part was cut; 0 for none so far */
  bool has_begun, is_whole; /* is_whole: the text is all of the input, and no script */
  size_t count;
  struct wo_wrap_line lines[WO_LIMIT_WRAP_LINES];
};

/* Splits the text into lines, WO_LIMIT_WRAP_LINES at most, and sets the widths of those that were cut. A last line without a line
 * end counts only if the text `is_last`: otherwise it may go on. Literals of the prefilter that a line end cuts count as a sign.
 * The text has at most WO_LIMIT_WRAP_BYTES. */
void wo_wrap_find(struct wo_wrap *wrap, const struct wo_prefilter *prefilter, struct wo_view text, bool is_last);

#endif
