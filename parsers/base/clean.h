/* Turns the bytes of a line into text that can be matched, shown and trusted.
 *
 * Removes terminal control sequences (CSI, OSC, two-byte escapes), backspaces and other control characters; keeps tabs. */
#ifndef WO_CLEAN_H
#define WO_CLEAN_H

#include <stddef.h>
#include <stdint.h>

#include "parsers/base/view.h"

/* Writes the cleaned text of `raw` into buf (at most cap bytes, cut there) and returns it. When nothing needs to be removed,
 * returns `raw` itself and leaves buf alone. NUL bytes become blanks. Bytes above 127 are kept. */
struct wo_view wo_clean_line(struct wo_view raw, char *buf, size_t cap);

/* Writes `raw` as valid UTF-8 without control characters: invalid bytes become U+FFFD, control characters and tabs become blanks.
 * At most cap bytes, cut at a character boundary. Returns the written part of buf. */
struct wo_view wo_clean_utf8(struct wo_view raw, char *buf, size_t cap);

/* Writes the UTF-8 of a code point below 0x110000 and returns its length. Halves of surrogate pairs are written as they are. */
size_t wo_utf8_write(uint32_t code, char buf[4]);

#endif
