/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files: new, replaced, streams; what is refused; what stays where something fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include <fcntl.h>

#include "parsers/base/output_file.h"
#include "tests/support/files.h"

enum { PATH_BYTES = 600 };

static char folder[512];

static int set_up(void **state) {
  (void)state;
  return wo_files_scratch(folder, sizeof folder) ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  char command[PATH_BYTES];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}

/* A path in the folder; valid until the fourth call after it. */
static const char *at(const char *name) {
  static char paths[4][PATH_BYTES];
  static size_t next;
  char *const path = paths[next++ % 4];
  snprintf(path, PATH_BYTES, "%s/%s", folder, name);
  return path;
}

static void put(const char *name, const char *content) {
  assert_true(wo_files_write(at(name), wo_view_of(content)));
}

static void check_content(const char *name, const char *content) {
  size_t len = 0;
  char *const now = wo_files_read(at(name), &len);
  assert_non_null(now);
  assert_string_equal(now, content);
  free(now);
}

static void check_count(size_t count) {
  char command[PATH_BYTES + 64];
  snprintf(command, sizeof command, "test $(ls -A '%s' | wc -l) -eq %zu", folder, count);
  assert_int_equal(system(command), 0);
}

static enum wo_status write_path(const char *path, const char *content, struct wo_err *err) {
  struct wo_output_file file;
  const enum wo_status status = wo_output_find(path, &file, err);
  return status == WO_OK ? wo_output_write(&file, wo_view_of(content), true, err) : status;
}

static void refuse(const char *path, const char *told) {
  struct wo_err err = {0};
  if (write_path(path, "new", &err) == WO_OK || !strstr(err.message, told)) fail_msg("%s: %s", path, err.message);
}

static mode_t mode_of(const char *name) {
  struct stat info;
  assert_int_equal(stat(at(name), &info), 0);
  return info.st_mode & 07777;
}

/* A new file takes its mode from the umask, an old one keeps its own. */
static void test_new_and_old(void **state) {
  (void)state;
  struct wo_err err = {0};
  const mode_t before = umask(027);
  assert_int_equal(write_path(at("new"), "text\n", &err), WO_OK);
  umask(before);
  check_content("new", "text\n");
  assert_int_equal(mode_of("new"), 0640);
  assert_int_equal(chmod(at("new"), 0604), 0);
  assert_int_equal(write_path(at("new"), "", &err), WO_OK);
  check_content("new", "");
  assert_int_equal(mode_of("new"), 0604);
  check_count(1);
}

/* A reader that has the old file open keeps it whole: the file is replaced, never changed in place. */
static void test_replaced_and_not_changed(void **state) {
  (void)state;
  struct wo_err err = {0};
  put("a", "old\n");
  const int fd = open(at("a"), O_RDONLY);
  assert_int_equal(write_path(at("a"), "new\n", &err), WO_OK);
  size_t len = 0;
  char *const seen = wo_files_read_fd(fd, &len);
  assert_string_equal(seen, "old\n");
  free(seen);
  close(fd);
  check_content("a", "new\n");
}

static void test_refused(void **state) {
  (void)state;
  refuse(folder, "is a folder: name a file in it");
  refuse(at("no/file"), "cannot be written: its folder does not exist");
  put("a", "old");
  refuse(at("a/file"), "Not a directory");
  assert_int_equal(link(at("a"), at("b")), 0);
  refuse(at("b"), "has 2 names (hard links)");
  assert_int_equal(unlink(at("b")), 0);
  assert_int_equal(chmod(at("a"), 0444), 0);
  refuse(at("a"), "is read-only");
  assert_int_equal(symlink("nowhere", at("b")), 0);
  refuse(at("b"), "is a link to a file that does not exist");
  assert_int_equal(symlink("circle", at("circle")), 0);
  refuse(at("circle"), "Too many levels");
  char text[5000];
  memset(text, 'x', sizeof text);
  text[sizeof text - 1] = '\0';
  refuse(text, "name too long");
  text[300] = '\0';
  refuse(at(text), "name too long");
  refuse("/dev/fd/987", "Bad file descriptor");
  check_content("a", "old");
  check_count(3);
}

/* Links are followed to the file, which is replaced, and stay links. */
static void test_links(void **state) {
  (void)state;
  struct wo_err err = {0};
  struct stat info;
  put("file", "old");
  assert_int_equal(symlink("file", at("one")), 0);
  assert_int_equal(symlink(at("one"), at("two")), 0);
  assert_int_equal(write_path(at("two"), "new", &err), WO_OK);
  check_content("file", "new");
  assert_true(lstat(at("two"), &info) == 0 && S_ISLNK(info.st_mode) && lstat(at("one"), &info) == 0 && S_ISLNK(info.st_mode));
  if (geteuid() == 0) {
    assert_int_equal(lchown(at("one"), 12345, 12345), 0);
    refuse(at("two"), "a link that another user made");
    check_content("file", "new");
  }
  check_count(3);
}

/* Who may write to a folder of many may plant a link of the temporary file's name: it is not followed. */
static void test_planted_temporary(void **state) {
  (void)state;
  struct wo_err err = {0};
  char name[64];
  put("victim", "theirs");
  for (int i = 0; i < 3; i++) {
    snprintf(name, sizeof name, ".whyoom-%ld-%d", (long)getpid(), i);
    assert_int_equal(symlink("victim", at(name)), 0);
  }
  assert_int_equal(write_path(at("a"), "new", &err), WO_OK);
  check_content("victim", "theirs");
  check_content("a", "new");
  check_count(5);
}

/* As another user: the owner of a file that is replaced cannot be kept, a folder cannot be written to. */
static void run_as_other(const char *path, const char *told) {
  const pid_t child = fork();
  if (child == 0) {
    struct wo_err err = {0};
    if (setgid(54321) != 0 || setuid(54321) != 0) _exit(3);
    const bool is_refused = write_path(path, "new", &err) != WO_OK && strstr(err.message, told);
    if (!is_refused) fprintf(stderr, "%s: %s\n", path, err.message);
    _exit(is_refused ? 0 : 1);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static void test_owner(void **state) {
  (void)state;
  struct wo_err err = {0};
  struct stat info;
  if (geteuid() != 0) skip();
  put("a", "old");
  assert_int_equal(chown(at("a"), 12345, 12346), 0);
  assert_int_equal(chmod(at("a"), 04755), 0);
  assert_int_equal(write_path(at("a"), "new", &err), WO_OK);
  assert_int_equal(stat(at("a"), &info), 0);
  assert_true(info.st_uid == 12345 && info.st_gid == 12346 && (info.st_mode & 07777) == 04755);
  assert_int_equal(chmod(at("a"), 0666), 0);
  assert_int_equal(chmod(folder, 0755), 0);
  run_as_other(at("a"), "its folder: Permission denied");
  assert_int_equal(chmod(folder, 0777), 0);
  run_as_other(at("a"), "its owner and group cannot be kept");
  assert_int_equal(chmod(at("a"), 0600), 0);
  run_as_other(at("a"), "cannot be written: Permission denied");
  check_content("a", "new");
  check_count(1);
}

/* user::rw-, user:54321:rw-, group::---, mask::rw-, other::---, as the kernel stores it. */
static void test_access_list(void **state) {
  (void)state;
  static const uint8_t list[] = {2, 0,    0,    0,    1,    0,    6,    0, 0xff, 0xff, 0xff, 0xff, 2,    0,    6,
                                 0, 0x31, 0xd4, 0,    0,    4,    0,    0, 0,    0xff, 0xff, 0xff, 0xff, 0x10, 0,
                                 6, 0,    0xff, 0xff, 0xff, 0xff, 0x20, 0, 0,    0,    0xff, 0xff, 0xff, 0xff};
  static const char name[] = "system.posix_acl_access";
  uint8_t now[sizeof list + 1];
  struct wo_err err = {0};
  put("a", "old");
  if (setxattr(at("a"), name, list, sizeof list, 0) != 0) skip();
  assert_int_equal(write_path(at("a"), "new", &err), WO_OK);
  assert_int_equal(getxattr(at("a"), name, now, sizeof now), sizeof list);
  assert_memory_equal(now, list, sizeof list);
  /* a file without one gets none from its folder */
  put("b", "old");
  assert_int_equal(setxattr(folder, "system.posix_acl_default", list, sizeof list, 0), 0);
  assert_int_equal(write_path(at("b"), "new", &err), WO_OK);
  assert_int_equal(getxattr(at("b"), name, now, sizeof now), -1);
}

/* What is no regular file is written as it is; an open file that a path means goes on where it stands. */
static void test_streams(void **state) {
  (void)state;
  struct wo_err err = {0};
  struct stat info;
  assert_int_equal(write_path("/dev/null", "text", &err), WO_OK);
  assert_true(stat("/dev/null", &info) == 0 && S_ISCHR(info.st_mode));
  refuse("/dev/full", "No space left");
  assert_int_equal(mkfifo(at("fifo"), 0600), 0);
  const int reader = open(at("fifo"), O_RDONLY | O_NONBLOCK);
  char buf[16] = "";
  assert_int_equal(write_path(at("fifo"), "piped", &err), WO_OK);
  assert_int_equal(read(reader, buf, sizeof buf), 5);
  close(reader);
  put("log", "begun\n");
  const int log = open(at("log"), O_WRONLY | O_APPEND);
  char path[32];
  snprintf(path, sizeof path, "/dev/fd/%d", log);
  assert_int_equal(write_path(path, "more\n", &err), WO_OK);
  close(log);
  check_content("log", "begun\nmore\n");
}

/* The same file under other names; a new file in the same folder. */
static void test_same(void **state) {
  (void)state;
  struct wo_output_file a, b;
  put("a", "x");
  put("b", "x");
  assert_int_equal(symlink("a", at("link")), 0);
  assert_int_equal(wo_output_find(at("link"), &a, NULL), WO_OK);
  assert_true(wo_output_is(&a, at("a")) && wo_output_is(&a, at("./a")) && wo_output_is(&a, at("link")));
  assert_false(wo_output_is(&a, at("b")) || wo_output_is(&a, at("gone")) || wo_output_is(&a, "/dev/null"));
  assert_int_equal(wo_output_find(at("a"), &b, NULL), WO_OK);
  assert_true(wo_output_is_same(&a, &b));
  assert_int_equal(wo_output_find(at("b"), &b, NULL), WO_OK);
  assert_false(wo_output_is_same(&a, &b));
  assert_int_equal(wo_output_find(at("new"), &a, NULL), WO_OK);
  assert_int_equal(wo_output_find(at("./new"), &b, NULL), WO_OK);
  assert_true(wo_output_is_same(&a, &b) && !wo_output_is(&a, at("a")));
  assert_int_equal(wo_output_find("/dev/null", &a, NULL), WO_OK);
  assert_false(wo_output_is_same(&a, &a) || wo_output_is(&a, "/dev/null"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_new_and_old),
      TEST(test_replaced_and_not_changed),
      TEST(test_refused),
      TEST(test_links),
      TEST(test_planted_temporary),
      TEST(test_owner),
      TEST(test_access_list),
      TEST(test_streams),
      TEST(test_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
