/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-16 to UTF-8, for the texts that PowerShell writes (`python train.py > log.txt`). */
#ifndef WO_UTF16_H
#define WO_UTF16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/base/view.h"

/* A text that is read piece by piece. Zeroed at first. */
struct wo_utf16 {
  bool has_begun;
  bool is_on; /* the text is UTF-16 */
  bool is_big_endian;
  size_t held; /* bytes of a unit whose second byte is still to come */
  unsigned char unit;
  uint32_t high; /* first half of a character outside of the first plane; 0 for none */
};

/* Bytes that the text of `len` bytes may become. */
#define WO_UTF16_ROOM(len) (((len) / 2 + 2) * 3)

/* Writes the next bytes of a text as UTF-8 into buf, of WO_UTF16_ROOM(bytes.len), and returns the written part. A text that does
 * not begin with the mark of UTF-16 is returned as it is. The mark is left out; halves of characters become U+FFFD. */
struct wo_view wo_utf16_read(struct wo_utf16 *text, struct wo_view bytes, char *buf);

#endif
