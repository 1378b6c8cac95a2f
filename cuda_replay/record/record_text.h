/* SPDX-License-Identifier: Apache-2.0 */
/* The text of record_sitecustomize.py, which the build converts to a C array (embed_text.cmake). */
#ifndef WO_RECORD_TEXT_H
#define WO_RECORD_TEXT_H

#include <stddef.h>

extern const char wo__record_text[];
extern const size_t wo__record_text_bytes;

#endif
