/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the bytes of a line into text that can be matched, shown and trusted.
 *
 * Removes terminal control sequences (CSI, OSC, two-byte escapes), backspaces and other control characters; keeps tabs. */
#ifndef WO_CLEAN_H
#define WO_CLEAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/base/view.h"

/* Writes the cleaned text of `raw` into buf (at most cap bytes, cut there) and returns it. When nothing needs to be removed,
 * returns `raw` itself and leaves buf alone. NUL bytes become blanks. Bytes above 127 are kept. */
struct wo_view wo_clean_line(struct wo_view raw, char *buf, size_t cap);

/* Writes `raw` as valid UTF-8 that looks like what it is, on one line: control characters and tabs become blanks; invalid bytes
 * and characters that are not seen or change the order of others (wo_clean_is_hidden) become U+FFFD. At most cap bytes, cut at a
 * character boundary. Returns the written part of buf. wo_text_add_clean does the same for texts. */
struct wo_view wo_clean_utf8(struct wo_view raw, char *buf, size_t cap);

/* The character that wo_clean_utf8 writes for the one at the front of a text that is not empty; *ret_read is the number of bytes
 * that it stands for. Borrowed from the text, or static. */
struct wo_view wo_clean_character(struct wo_view text, size_t *ret_read);

/* Whether a character is a control character (C0, DEL, C1; also a tab and a line feed). */
bool wo_clean_is_control(uint32_t code);

/* Whether a character has no width or changes the order in which others are shown: overrides and isolates of direction, line
 * separators, zero-width blanks, tags. */
bool wo_clean_is_hidden(uint32_t code);

/* Whether a text has such a character. */
bool wo_clean_has_hidden(struct wo_view text);

/* Offset at or after `at` up to which all bytes are printable ASCII. */
size_t wo_clean_printable_until(struct wo_view raw, size_t at);

/* U+FFFD, which stands for what cannot be shown. */
#define WO_REPLACEMENT "\xef\xbf\xbd"

/* Given in place of a code point for a byte that is not part of well-formed UTF-8. */
#define WO_UTF8_INVALID UINT32_MAX

/* The code point at the front of a text that is not empty, or WO_UTF8_INVALID, and the bytes that it takes. */
uint32_t wo_utf8_read(struct wo_view text, size_t *ret_len);

/* At most so many bytes of the front of a text, without the first bytes of a character. */
struct wo_view wo_utf8_front(struct wo_view text, size_t most);

/* Writes the UTF-8 of a code point below 0x110000 and returns its length. Halves of surrogate pairs are written as they are. */
size_t wo_utf8_write(uint32_t code, char buf[4]);

#endif
