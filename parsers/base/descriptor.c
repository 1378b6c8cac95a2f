/* SPDX-License-Identifier: Apache-2.0 */
/* Shells give such paths for `whyoom <(zcat log.gz)`: they are no regular files, but the user means a stream. */
#include "parsers/base/descriptor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parsers/base/number.h"
#include "parsers/base/view.h"

int wo_path_descriptor(const char *path) {
  static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
  const struct wo_view whole = wo_view_of(path);
  if (wo_view_is(whole, "/dev/stdin")) return STDIN_FILENO;
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    if (!wo_view_starts(whole, folders[i])) continue;
    struct wo_view digits = wo_view_skip(whole, strlen(folders[i]));
    uint64_t number = 0;
    if (wo_number_u64(&digits, 1 << 20, &number) == WO_OK && digits.len == 0) return (int)number;
  }
  return -1;
}

size_t wo_path_archive(const char *path) {
  struct stat info;
  const size_t len = strlen(path);
  size_t found = 0;
  if (stat(path, &info) == 0 || errno != ENOTDIR) return 0;
  char *const part = malloc(len + 1);
  if (!part) return 0;
  memcpy(part, path, len + 1);
  for (size_t at = 1; at < len && found == 0; at++) {
    if (part[at] != '/') continue;
    part[at] = '\0';
    if (stat(part, &info) != 0) break;
    if (S_ISREG(info.st_mode)) found = at;
    part[at] = '/';
  }
  free(part);
  return found;
}
