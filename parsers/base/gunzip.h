/* SPDX-License-Identifier: Apache-2.0 */
/* Expands a short gzip stream in memory. For whole inputs see input.h. */
#ifndef WO_GUNZIP_H
#define WO_GUNZIP_H

#include <stddef.h>

#include "parsers/base/view.h"

/* Decodes base64 into out; stops at the first byte that is none of it, at '=' and at the end of `cap`. Returns the bytes written.
 */
size_t wo_base64_decode(struct wo_view text, unsigned char *out, size_t cap);

/* Expands the gzip stream at the front of `bytes` into out, at most `cap` bytes. A stream that is cut or damaged gives what could
 * be expanded before; nothing, also without memory, gives 0. Returns the bytes written. */
size_t wo_gunzip(const unsigned char *bytes, size_t len, char *out, size_t cap);

#endif
