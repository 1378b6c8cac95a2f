/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as a file that is in no folder. */
#ifndef WO_MEMORY_FILE_H
#define WO_MEMORY_FILE_H

#include <stddef.h>

/* Opens a file in memory with a copy of these bytes (NULL allowed if `len` is 0), which the caller closes. -1: errno says why. */
int wo__memory_file(const char *bytes, size_t len);

#endif
