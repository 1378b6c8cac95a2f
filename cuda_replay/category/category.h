/* SPDX-License-Identifier: Apache-2.0 */
/* Categories: a user's own names for parts of the memory, each with a regular expression (`--where REGEX=NAME`).
 *
 * An expression is looked for in the metadata of an allocation (torch.cuda.memory._set_memory_metadata), in the names of the
 * annotations that are open when it is made (record_function), and in the frames of its stack, each as "FILE:LINE FUNCTION". The
 * first category that matches counts. Matching takes bounded time for any expression and text; a text on which an expression
 * gives up is counted. One thread at a time. */
#ifndef WO_CATEGORY_H
#define WO_CATEGORY_H

#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/lives/lives.h"
#include "parsers/base/limits.h"
#include "parsers/base/status.h"
#include "parsers/base/view.h"

struct wo_category {
  struct wo_view regex; /* borrowed, as is the name */
  struct wo_view name;
};

/* {0} has none. */
struct wo_categories {
  struct wo_category items[WO_LIMIT_CATEGORIES];
  size_t count;
};

/* Adds "REGEX=NAME", divided at the last '='. WO_E_USAGE with the reason: no name, an expression that PCRE2 does not read, or
 * more than WO_LIMIT_CATEGORIES; WO_E_NOMEM. Views point into the text. */
enum wo_status wo_categories_add(struct wo_categories *categories, struct wo_view text, struct wo_err *err);

/* Sets the category of every block: 0 if none matches, else its place from 1. *ret_given_up: texts on which an expression gave
 * up, or on which it was not tried any more (WO_LIMIT_CATEGORY_GIVEN_UP), each once. WO_E_NOMEM. */
enum wo_status wo_categories_set(const struct wo_categories *categories, struct wo_lives *lives, uint64_t *ret_given_up);

/* The name of a category as set; "(no category)" for 0. */
struct wo_view wo_category_name(const struct wo_categories *categories, uint8_t category);

#endif
