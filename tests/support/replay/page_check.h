/* SPDX-License-Identifier: Apache-2.0 */
/* What holds of every page of a recording, whatever is in the recording. */
#ifndef WO_TEST_PAGE_CHECK_H
#define WO_TEST_PAGE_CHECK_H

#include <stdbool.h>

#include "parsers/base/text.h"

/* NULL, or what is wrong: the page is well-formed XML but for its doctype, its style sheet and its scripts; there is the policy;
 * there are one data element and one script, or neither; the data are JSON and hold no character that means something to a
 * browser; it is shorter than 5 MB. */
const char *wo_page_flaw(struct wo_view page);

/* The data of a page, NUL-terminated, to be freed. NULL if there are none or memory is out. */
char *wo_page_data(struct wo_view page);

#endif
