/* SPDX-License-Identifier: Apache-2.0 */
/* See memory_file.h. Linux since 3.17. */
#include "parsers/base/input/memory_file.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

int wo__memory_file(const char *bytes, size_t len) {
  const int fd = memfd_create("whyoom", MFD_CLOEXEC);
  size_t at = 0;
  while (fd >= 0 && at < len) {
    const ssize_t written = pwrite(fd, bytes + at, len - at, (off_t)at);
    if (written > 0) at += (size_t)written;
    if (written == 0 || (written < 0 && errno != EINTR)) break;
  }
  if (fd < 0 || at == len) return fd;
  const int reason = errno;
  close(fd);
  errno = reason;
  return -1;
}
