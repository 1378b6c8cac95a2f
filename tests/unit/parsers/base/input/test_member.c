/* SPDX-License-Identifier: Apache-2.0 */
/* Files in archives by their paths, and parts of files. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "parsers/base/descriptor.h"
#include "parsers/base/input/input.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"
#include "tests/support/tar_maker.h"

struct place {
  char folder[256], path[300];
  struct wo_text tar;
};

static int set_up(void **state) {
  struct place *const place = calloc(1, sizeof *place);
  if (!place || !wo_files_scratch(place->folder, sizeof place->folder)) return -1;
  snprintf(place->path, sizeof place->path, "%s/logs.tar", place->folder);
  *state = place;
  return 0;
}

static int tear_down(void **state) {
  struct place *const place = *state;
  wo_text_done(&place->tar);
  wo_files_remove_scratch(place->folder);
  free(place);
  return 0;
}

/* A gzip member with that text. */
static struct wo_view pack(const struct place *place, const char *text) {
  static char bytes[1024];
  char path[320];
  size_t len = 0;
  snprintf(path, sizeof path, "%s/packed", place->folder);
  gzFile file = gzopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(gzputs(file, text), (int)strlen(text));
  assert_int_equal(gzclose(file), Z_OK);
  char *const read = wo_files_read(path, &len);
  assert_true(read && len < sizeof bytes);
  memcpy(bytes, read, len);
  free(read);
  unlink(path);
  return (struct wo_view){bytes, len};
}

static enum wo_status read_all(struct wo_input *input, char *text, size_t cap, struct wo_err *err) {
  enum wo_status status = WO_OK;
  size_t len = 0, got = 1;
  bool is_there = false;
  status = wo_input_next_file(input, &is_there, err);
  assert_true(status != WO_OK || (is_there && !wo_input_file_name(input)));
  while (status == WO_OK && got > 0) {
    status = wo_input_read(input, text + len, cap - 1 - len, &got, err);
    if (status == WO_OK) len += got;
  }
  text[len] = '\0';
  wo_input_close(input);
  return status;
}

static void expect(const struct place *place, const char *name, enum wo_status want, const char *content) {
  char path[600], text[256] = "";
  struct wo_input *input = NULL;
  struct wo_err err = {0};
  snprintf(path, sizeof path, "%s/%s", place->path, name);
  enum wo_status status = wo_input_open(path, &input, &err);
  if (status == WO_OK) status = read_all(input, text, sizeof text, &err);
  assert_int_equal(status, want);
  assert_string_equal(text, content);
  assert_true(status == WO_OK || err.message[0] != '\0');
}

static void make(struct place *place) {
  wo_tar_maker_add(&place->tar, '5', "run/", WO_VIEW(""));
  wo_tar_maker_add(&place->tar, '0', "./run/a.out", WO_VIEW("old"));
  wo_tar_maker_add(&place->tar, '0', "run/b.out.gz", pack(place, "packed twice"));
  wo_tar_maker_add(&place->tar, '0', "/abs.out", WO_VIEW("absolute"));
  wo_tar_maker_add(&place->tar, '2', "run/link.out", WO_VIEW(""));
  wo_tar_maker_add(&place->tar, '0', "run/a.out", WO_VIEW("new"));
  wo_tar_maker_end(&place->tar);
}

static void expect_usual(const struct place *place) {
  expect(place, "run/a.out", WO_OK, "new");
  expect(place, "run/b.out.gz", WO_OK, "packed twice");
  expect(place, "abs.out", WO_OK, "absolute");
  expect(place, "run/link.out", WO_E_IO, "");
  expect(place, "run", WO_E_IO, "");
  expect(place, "", WO_E_IO, "");
  expect(place, "run/a.out/more", WO_E_IO, "");
}

static void test_paths_into_archives(void **state) {
  struct place *const place = *state;
  make(place);
  assert_true(wo_files_write(place->path, (struct wo_view){place->tar.ptr, place->tar.len}));
  expect_usual(place);
  gzFile file = gzopen(place->path, "wb");
  assert_int_equal(gzwrite(file, place->tar.ptr, (unsigned)place->tar.len), (int)place->tar.len);
  assert_int_equal(gzclose(file), Z_OK);
  expect_usual(place);
  char path[400];
  snprintf(path, sizeof path, "%s/a/b", place->path);
  assert_int_equal(wo_path_archive(path), strlen(place->path));
  assert_int_equal(wo_path_archive(place->path), 0);
  assert_int_equal(wo_path_archive("/nowhere/at/all"), 0);
}

static void test_damage(void **state) {
  struct place *const place = *state;
  make(place);
  assert_true(wo_files_write(place->path, (struct wo_view){place->tar.ptr, 512 + 512 + 2}));
  expect(place, "run/a.out", WO_E_SYNTAX, "ol");
  expect(place, "abs.out", WO_E_SYNTAX, "");
  assert_true(wo_files_write(place->path, WO_VIEW("just a text")));
  expect(place, "run/a.out", WO_E_IO, "");
}

static void test_parts(void **state) {
  struct place *const place = *state;
  struct wo_err err = {0};
  char text[256];
  const struct wo_view packed = pack(place, "some text");
  wo_text_add(&place->tar, "before");
  wo_text_add_view(&place->tar, packed);
  wo_text_add(&place->tar, "behind");
  assert_true(wo_files_write(place->path, (struct wo_view){place->tar.ptr, place->tar.len}));
  const int fd = open(place->path, O_RDONLY);
  const struct {
    uint64_t at, len;
    enum wo_status status;
    const char *text;
  } parts[] = {
      {6, packed.len, WO_OK, "some text"},          {6, packed.len - 3, WO_E_SYNTAX, "some text"}, {0, 6, WO_OK, "before"},
      {6 + packed.len, 6, WO_OK, "behind"},         {6 + packed.len, 7, WO_E_IO, "behind"},        {6 + packed.len, 0, WO_OK, ""},
      {6, packed.len + 6, WO_OK, "some textbehind"}};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    struct wo_input *input = NULL;
    assert_int_equal(wo_input_open_part(fd, parts[i].at, parts[i].len, "part", &input, &err), WO_OK);
    assert_int_equal(read_all(input, text, sizeof text, &err), parts[i].status);
    assert_string_equal(text, parts[i].text);
  }
  assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
  close(fd);
}

static void test_without_memory(void **state) {
  struct place *const place = *state;
  char path[400], text[64];
  make(place);
  assert_true(wo_files_write(place->path, (struct wo_view){place->tar.ptr, place->tar.len}));
  snprintf(path, sizeof path, "%s/run/b.out.gz", place->path);
  bool is_hit = true;
  for (long n = 1; is_hit; n++) {
    struct wo_input *input = NULL;
    struct wo_err err = {0};
    wo_fail_alloc_from(n);
    enum wo_status status = wo_input_open(path, &input, &err);
    if (status == WO_OK) status = read_all(input, text, sizeof text, &err);
    is_hit = wo_fail_alloc_hit();
    wo_fail_alloc_off();
    assert_true(is_hit ? status != WO_OK : status == WO_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_paths_into_archives, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_damage, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_parts, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_without_memory, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
