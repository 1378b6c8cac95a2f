/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files and scratch folders for tests. */
#ifndef WO_TEST_FILES_H
#define WO_TEST_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "parsers/base/view.h"

/* Reads a whole file. The text is NUL-terminated (not counted) and released with free; NULL when it cannot be read. */
char *wo_files_read(const char *path, size_t *ret_len);

/* Reads an open descriptor from its start, likewise. */
char *wo_files_read_fd(int fd, size_t *ret_len);

/* Writes (replaces) a whole file. */
bool wo_files_write(const char *path, struct wo_view content);

/* The names in a folder that end in `suffix` ("" = all), without those that begin with a dot, sorted. The array and the names are
 * released with wo_files_free_names. NULL when there are none. */
char **wo_files_names(const char *folder, const char *suffix, size_t *ret_count);

/* Releases what wo_files_names returned; NULL allowed. */
void wo_files_free_names(char **names, size_t count);

/* Makes an empty scratch folder and writes its path (NUL-terminated) to buf. */
bool wo_files_scratch(char *buf, size_t cap);

/* Removes a scratch folder and the files in it (no subfolders with content). */
void wo_files_remove_scratch(const char *folder);

#endif
