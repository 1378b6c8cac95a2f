/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of an HTML page (NUL-terminated); each fails the test that calls it. */
#ifndef WO_TEST_HTML_PAGE_H
#define WO_TEST_HTML_PAGE_H

#include <stddef.h>

#include "parsers/base/view.h"

/* Writes "sha256-" and the hash of a text in base 64. */
void wo_page_hash(const char *text, size_t len, char out[64]);

/* What is between two texts; the first is there once. */
struct wo_view wo_page_between(const char *page, const char *begin, const char *end);

/* The policy of the page lets through its own styles and scripts, as they are in it, and nothing else. */
void wo_page_expect_policy(const char *page);

/* The words of addresses and of code that would run are nowhere, not even as text: for pages whose texts have none. */
void wo_page_expect_needs_nothing(const char *page);

/* Elements of the body are those that pages are made of, without attributes that run or fetch anything, and links stay within the
 * page. For a page that is well formed. */
void wo_page_expect_inert(const char *page);

/* Tags are balanced, attributes quoted, and no character is a control character. */
void wo_page_expect_well_formed(const char *page);

/* Each link leads to a place of the page; there are at least so many. */
void wo_page_expect_links(const char *page, size_t least);

#endif
