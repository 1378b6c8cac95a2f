/* SPDX-License-Identifier: Apache-2.0 */
/* A check of XML as the program writes it: no declaration, no comments, no CDATA; the five entities and that of the backtick only. Stricter than XML. */
#ifndef WO_TEST_XML_H
#define WO_TEST_XML_H

#include <stdbool.h>

#include "parsers/base/view.h"

/* Whether the text is one element and a line break behind it: tags are balanced, attributes quoted and each once in its tag,
 * characters are allowed by XML 1.0 and valid UTF-8. *ret_at is where it stopped. */
bool wo_xml_is_well_formed(struct wo_view text, size_t *ret_at);

#endif
