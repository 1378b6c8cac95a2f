/* SPDX-License-Identifier: Apache-2.0 */
/* Tar archives to lists, to jobs, and to bytes of a store and back. */
#include "analyzer/archive/tar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "analyzer/pack/tar_pack.h"
#include "parsers/base/text.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"
#include "tests/support/tar_maker.h"

enum { BLOCK = WO_ARCHIVE_BLOCK_BYTES };

struct place {
  char folder[256], path[300];
  struct wo_text tar; /* bytes */
};

static int set_up(void **state) {
  struct place *const place = calloc(1, sizeof *place);
  if (!place || !wo_files_scratch(place->folder, sizeof place->folder)) return -1;
  snprintf(place->path, sizeof place->path, "%s/a.tar", place->folder);
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

static void add(struct place *place, char type, const char *name, const char *content) {
  wo_tar_maker_add(&place->tar, type, name, wo_view_of(content));
}

static void add_usual(struct place *place) {
  add(place, '5', "./", "");
  add(place, '0', "./b/slurm-2.out", "two");
  add(place, '0', "slurm-1.out", "old");
  add(place, '0', "b/data.bin", "no log");
  add(place, '0', "sacct-2026-01.txt", "JobID|State\n1|FAILED\n");
  add(place, '0', "slurm-1.err", "one, errors");
  add(place, '1', "slurm-3.out", "");
  add(place, '0', "in.tar.gz", "an archive");
  add(place, '0', "/slurm-1.out", "one");
}

/* Writes the archive, as far as `len` bytes of it. */
static void write_plain(struct place *place, size_t len) {
  assert_true(wo_files_write(place->path, (struct wo_view){place->tar.ptr, len}));
}

static void write_packed(struct place *place) {
  gzFile file = gzopen(place->path, "wb");
  assert_non_null(file);
  assert_int_equal(gzwrite(file, place->tar.ptr, (unsigned)place->tar.len), (int)place->tar.len);
  assert_int_equal(gzclose(file), Z_OK);
}

static const struct wo_walk_options everything = {.since_ns = WO_WALK_ANY_TIME, .until_ns = WO_WALK_ANY_TIME};

static struct wo_tar *read_tar(const struct place *place, const struct wo_walk_options *options) {
  const struct wo_walk_file file = {.path = place->path};
  struct wo_spool spool;
  struct wo_tar *const tar = wo_tar_new(&file, strlen(place->folder) + 1);
  if (!tar) return NULL;
  wo_spool_open(&spool, place->folder);
  wo_tar_read(tar, options, spool, NULL);
  return tar;
}

/* "name=content;" of each member whose bytes are there, "name;" of the others. */
static const char *show(const struct wo_tar *tar) {
  static char text[4096];
  size_t len = 0;
  text[0] = '\0';
  for (size_t i = 0; i < tar->count; i++) {
    const struct wo_tar_member *const member = &tar->items[i];
    char content[256] = "";
    len += (size_t)snprintf(text + len, sizeof text - len, "%s", member->name);
    if (member->at != WO_TAR_NOT_KEPT && tar->fd >= 0) {
      assert_int_equal(pread(tar->fd, content, (size_t)member->size_bytes, (off_t)member->at), member->size_bytes);
      len += (size_t)snprintf(text + len, sizeof text - len, "=%s", content);
    }
    len += (size_t)snprintf(text + len, sizeof text - len, ";");
    assert_string_equal(member->user, "ada");
    assert_true(member->uid == 1000 && member->mtime_ns == INT64_C(1000000000000000000));
  }
  return text;
}

static void expect(const struct place *place, const struct wo_walk_options *options, enum wo_status status, const char *shown) {
  struct wo_tar *const tar = read_tar(place, options);
  assert_int_equal(tar->status, status);
  assert_string_equal(show(tar), shown);
  wo_tar_free(tar);
}

static void test_list(void **state) {
  struct place *const place = *state;
  add_usual(place);
  write_plain(place, place->tar.len);
  expect(place, &everything, WO_OK,
         "b/data.bin=no log;b/slurm-2.out=two;in.tar.gz=an archive;sacct-2026-01.txt=JobID|State\n1|FAILED\n;"
         "slurm-1.err=one, errors;slurm-1.out=one;slurm-3.out;");
  /* Of a compressed one only what may belong to jobs is kept. */
  write_packed(place);
  expect(place, &everything, WO_OK,
         "b/data.bin;b/slurm-2.out=two;in.tar.gz;sacct-2026-01.txt=JobID|State\n1|FAILED\n;slurm-1.err=one, errors;"
         "slurm-1.out=one;slurm-3.out;");
  const struct wo_view out[] = {WO_VIEW("*.out")}, folder[] = {WO_VIEW("b")};
  struct wo_walk_options options = everything;
  options.include = out;
  options.include_count = 1;
  options.exclude = folder;
  options.exclude_count = 1;
  expect(place, &options, WO_OK, "b/data.bin;b/slurm-2.out;in.tar.gz;sacct-2026-01.txt;slurm-1.err;slurm-1.out=one;slurm-3.out;");
}

static void test_cut(void **state) {
  struct place *const place = *state;
  add(place, '0', "a.out", "first");
  add(place, '0', "b.out", "second, and more of it");
  const size_t at = (size_t)3 * BLOCK;
  write_plain(place, at + 6);
  expect(place, &everything, WO_E_SYNTAX, "a.out=first;b.out=second;");
  write_plain(place, at - 100);
  expect(place, &everything, WO_E_SYNTAX, "a.out=first;");
  write_plain(place, at);
  expect(place, &everything, WO_E_SYNTAX, "a.out=first;b.out=;");
  place->tar.len = at + 6;
  write_packed(place);
  expect(place, &everything, WO_E_SYNTAX, "a.out=first;b.out=second;");
  assert_true(wo_files_write(place->path, WO_VIEW("no archive")));
  expect(place, &everything, WO_E_KIND, "");
  unlink(place->path);
  expect(place, &everything, WO_E_IO, "");
}

static void test_no_room(void **state) {
  struct place *const place = *state;
  const struct wo_walk_file file = {.path = place->path};
  struct wo_spool none;
  add_usual(place);
  write_packed(place);
  struct wo_tar *const tar = wo_tar_new(&file, 0);
  wo_spool_open(&none, "/nowhere");
  wo_tar_read(tar, &everything, none, NULL);
  assert_int_equal(tar->status, WO_E_IO);
  assert_non_null(strstr(tar->err.message, "TMPDIR"));
  assert_string_equal(show(tar), "b/data.bin;in.tar.gz;slurm-3.out;");
  wo_tar_free(tar);
}

static void test_stopped(void **state) {
  struct place *const place = *state;
  const struct wo_walk_file file = {.path = place->path};
  const volatile sig_atomic_t is_up = 1;
  struct wo_spool spool;
  add_usual(place);
  write_packed(place);
  struct wo_tar *const tar = wo_tar_new(&file, 0);
  wo_spool_open(&spool, place->folder);
  wo_tar_read(tar, &everything, spool, &is_up);
  assert_int_equal(tar->status, WO_E_LIMIT);
  wo_tar_free(tar);
}

/* ---- Jobs ---- */

static bool on_job(void *context, const struct wo_walk_job *job, const struct wo_walk_counts *counts) {
  struct wo_text *const said = context;
  (void)counts;
  for (size_t i = 0; i < job->file_count; i++)
    wo_text_add(said, "%s%s", i > 0 ? " " : "", strstr(job->files[i].path, "a.tar/") + 6);
  wo_text_add(said, "\n");
  return true;
}

static void on_problem(void *context, const char *path, const struct wo_err *err) {
  struct wo_text *const said = context;
  if (err->code != WO_E_NOMEM) wo_text_add(said, "! %s\n", strstr(path, "a.tar"));
}

static enum wo_status walk(const struct wo_tar *tar, struct wo_text *said) {
  const struct wo_walk_hooks hooks = {.context = said, .on_job = on_job, .on_problem = on_problem};
  struct wo_walk_counts counts = {0};
  said->len = 0;
  return wo_walk_archive(tar, &everything, &hooks, NULL, false, &counts);
}

static void test_jobs(void **state) {
  struct place *const place = *state;
  struct wo_text said = {0};
  add_usual(place);
  write_plain(place, place->tar.len);
  struct wo_tar *const tar = read_tar(place, &everything);
  assert_int_equal(walk(tar, &said), WO_OK);
  assert_string_equal(said.ptr,
                      "! a.tar/in.tar.gz\n! a.tar/slurm-3.out\nb/slurm-2.out\nslurm-1.err slurm-1.out\n");
  wo_tar_free(tar);
  wo_text_done(&said);
}

/* ---- The store ---- */

static void test_pack(void **state) {
  struct place *const place = *state;
  const struct wo_walk_file file = {.path = place->path};
  struct wo_text packed = {0};
  add_usual(place);
  write_plain(place, place->tar.len - 3);
  struct wo_tar *const tar = read_tar(place, &everything);
  assert_int_equal(wo_tar_pack(tar, &packed), WO_OK);
  struct wo_tar *const back = wo_tar_new(&file, 0);
  assert_int_equal(wo_tar_unpack((struct wo_view){packed.ptr, packed.len}, back), WO_OK);
  assert_int_equal(back->status, WO_E_SYNTAX);
  assert_string_equal(back->err.message, tar->err.message);
  assert_int_equal(back->count, tar->count);
  assert_true(wo_view_is(back->kept, "JobID|State\n1|FAILED\n"));
  for (size_t i = 0; i < tar->count; i++) {
    const struct wo_tar_member *const a = &tar->items[i], *const b = &back->items[i];
    assert_string_equal(a->name, b->name);
    assert_true(strcmp(a->user, b->user) == 0 && a->size_bytes == b->size_bytes && a->mtime_ns == b->mtime_ns);
    assert_true(a->uid == b->uid && a->kind == b->kind && (b->at == WO_TAR_NOT_KEPT) == (strstr(b->name, "sacct") == NULL));
  }
  for (size_t i = 0; i < packed.len; i++) {
    struct wo_tar *const other = wo_tar_new(&file, 0);
    packed.ptr[i] ^= 0x55;
    (void)wo_tar_unpack((struct wo_view){packed.ptr, packed.len}, other);
    packed.ptr[i] ^= 0x55;
    wo_tar_free(other);
    struct wo_tar *const cut = wo_tar_new(&file, 0);
    assert_int_equal(wo_tar_unpack((struct wo_view){packed.ptr, i}, cut), WO_E_SYNTAX);
    assert_int_equal(cut->count, 0);
    wo_tar_free(cut);
  }
  wo_tar_free(back);
  wo_tar_free(tar);
  wo_text_done(&packed);
}

static void test_without_memory(void **state) {
  struct place *const place = *state;
  struct wo_text said = {0}, packed = {0};
  add_usual(place);
  write_packed(place);
  bool is_hit = true;
  for (long n = 1; is_hit; n++) {
    wo_fail_alloc_from(n);
    struct wo_tar *const tar = read_tar(place, &everything);
    if (tar) (void)walk(tar, &said);
    if (tar) (void)wo_tar_pack(tar, &packed);
    is_hit = wo_fail_alloc_hit();
    wo_fail_alloc_off();
    assert_true(is_hit || tar->status == WO_OK);
    wo_tar_free(tar);
    wo_text_done(&said);
    wo_text_done(&packed);
    said = packed = (struct wo_text){0};
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_list, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_cut, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_no_room, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_stopped, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_jobs, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_pack, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_without_memory, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
