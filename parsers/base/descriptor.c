/* Shells give such paths for `whyoom <(zcat log.gz)`: they are no regular files, but the user means a stream. */
#include "parsers/base/descriptor.h"

#include <string.h>
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
