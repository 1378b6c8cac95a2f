/* SPDX-License-Identifier: Apache-2.0 */
/* JSON pointers (RFC 6901): the way to a value in a JSON text. */
#ifndef WO_POINTER_H
#define WO_POINTER_H

#include <cjson/cJSON.h>

/* The value in `root` (NULL: none) that the pointer names, or NULL: there is none, or it is no pointer. "" is the root itself. */
const cJSON *wo_pointer_find(const cJSON *root, const char *pointer);

#endif
