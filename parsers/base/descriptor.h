/* SPDX-License-Identifier: Apache-2.0 */
/* Paths that mean something else than a file of the system: an open descriptor, or a file in an archive. */
#ifndef WO_DESCRIPTOR_H
#define WO_DESCRIPTOR_H

#include <stddef.h>

/* The number in /dev/fd/N and /proc/self/fd/N, 0 for /dev/stdin, or -1 for every other path. */
int wo_path_descriptor(const char *path);

/* The length of the part of a path that names a regular file, where the path goes on behind it ("logs.tar/run7/train.out"); 0 for
 * every other path. */
size_t wo_path_archive(const char *path);

#endif
