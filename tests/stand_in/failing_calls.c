/* SPDX-License-Identifier: Apache-2.0 */
/* A library to preload: makes the n-th system call of a kind fail, do a part of its work, or end the process. It counts calls
 * that write: opening a file for reading is none. glibc's FILE functions call the kernel past it; Python and the program's own
 * writing do not.
 *
 *   WO_FAIL          CALL:N:WHAT, such as write:3:28 (errno), write:1:short, rename:2:kill
 *   WO_FAIL_PROGRAM  the name of the program that is meant; others, such as a recorded command, work as ever
 *   WO_FAIL_HIT      a file that is made when the call comes */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CALLS_MAX = 1 << 20, FILES_MAX = 1024, SHORT = -1 };

/* Descriptors that were opened for writing. */
static bool is_writer[FILES_MAX];
static long seen;

/* ---- Which call ---- */

static bool is_program(void) {
  char path[4096];
  const char *const wanted = getenv("WO_FAIL_PROGRAM");
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (!wanted || length < 0) return false;
  path[length] = '\0';
  const char *const slash = strrchr(path, '/');
  return strcmp(slash ? slash + 1 : path, wanted) == 0;
}

static void mark(void) {
  const char *const path = getenv("WO_FAIL_HIT");
  if (path) syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY, 0600));
}

static long number(const char **text) {
  long value = 0;
  for (; **text >= '0' && **text <= '9' && value < CALLS_MAX; ++*text) value = 10 * value + (**text - '0');
  return value;
}

/* Counts a call: 0 if it is to work, an errno, or SHORT. */
static int decide(const char *call) {
  const char *plan = getenv("WO_FAIL");
  const size_t length = strlen(call);
  if (!plan || strncmp(plan, call, length) != 0 || plan[length] != ':' || !is_program()) return 0;
  plan += length + 1;
  if (++seen != number(&plan) || *plan++ != ':') return 0;
  mark();
  if (strcmp(plan, "kill") == 0) kill(getpid(), SIGKILL);
  return strcmp(plan, "short") == 0 ? SHORT : (int)number(&plan);
}

/* Returns -1 with errno set if the call is to fail. */
static int refuse(const char *call) {
  const int why = decide(call);
  if (why <= 0) return 0;
  errno = why;
  return -1;
}

/* ---- Files ---- */

static int open_file(const char *call, int folder, const char *path, int flags, mode_t mode) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT) != 0;
  if (writes && refuse(call) != 0) return -1;
  const int fd = (int)syscall(SYS_openat, folder, path, flags, mode);
  if (fd >= 0 && fd < FILES_MAX) is_writer[fd] = writes;
  return fd;
}

#define OPEN(name)                                                                                                               \
  int name(const char *path, int flags, ...);                                                                                    \
  int name(const char *path, int flags, ...) {                                                                                   \
    va_list arguments;                                                                                                           \
    va_start(arguments, flags);                                                                                                  \
    const mode_t mode = (flags & O_CREAT) ? va_arg(arguments, mode_t) : 0;                                                       \
    va_end(arguments);                                                                                                           \
    return open_file("open", AT_FDCWD, path, flags, mode);                                                                       \
  }
#define OPENAT(name)                                                                                                             \
  int name(int folder, const char *path, int flags, ...);                                                                        \
  int name(int folder, const char *path, int flags, ...) {                                                                       \
    va_list arguments;                                                                                                           \
    va_start(arguments, flags);                                                                                                  \
    const mode_t mode = (flags & O_CREAT) ? va_arg(arguments, mode_t) : 0;                                                       \
    va_end(arguments);                                                                                                           \
    return open_file("openat", folder, path, flags, mode);                                                                       \
  }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

int creat(const char *path, mode_t mode) {
  return open_file("creat", AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

ssize_t write(int fd, const void *bytes, size_t count) {
  const int why = decide("write");
  if (why > 0) errno = why;
  if (why > 0) return -1;
  return syscall(SYS_write, fd, bytes, why == SHORT ? (count + 1) / 2 : count);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  const int why = decide("writev");
  if (why > 0) errno = why;
  if (why > 0) return -1;
  return syscall(SYS_writev, fd, parts, why == SHORT && count > 1 ? 1 : count);
}

/* What a failing close(2) leaves open is closed all the same, as in Linux. */
int close(int fd) {
  const bool writes = fd >= 0 && fd < FILES_MAX && is_writer[fd];
  const int result = writes ? refuse("close") : 0;
  const int why = errno;
  if (writes) is_writer[fd] = false;
  if (result == 0) return (int)syscall(SYS_close, fd);
  syscall(SYS_close, fd);
  errno = why;
  return -1;
}

int fsync(int fd) {
  return refuse("fsync") == 0 ? (int)syscall(SYS_fsync, fd) : -1;
}

int ftruncate(int fd, off_t length) {
  return refuse("ftruncate") == 0 ? (int)syscall(SYS_ftruncate, fd, length) : -1;
}

int fchmod(int fd, mode_t mode) {
  return refuse("fchmod") == 0 ? (int)syscall(SYS_fchmod, fd, mode) : -1;
}

int fchown(int fd, uid_t user, gid_t group) {
  return refuse("fchown") == 0 ? (int)syscall(SYS_fchown, fd, user, group) : -1;
}

/* ---- Names ---- */

int rename(const char *from, const char *to) {
  return refuse("rename") == 0 ? (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0) : -1;
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
  return refuse("rename") == 0 ? (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0) : -1;
}

int link(const char *from, const char *to) {
  return refuse("link") == 0 ? (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0) : -1;
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
  return refuse("link") == 0 ? (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags) : -1;
}

int unlink(const char *path) {
  return refuse("unlink") == 0 ? (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0) : -1;
}

int unlinkat(int folder, const char *path, int flags) {
  return refuse("unlink") == 0 ? (int)syscall(SYS_unlinkat, folder, path, flags) : -1;
}

int mkdir(const char *path, mode_t mode) {
  return refuse("mkdir") == 0 ? (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode) : -1;
}

int mkdirat(int folder, const char *path, mode_t mode) {
  return refuse("mkdir") == 0 ? (int)syscall(SYS_mkdirat, folder, path, mode) : -1;
}
