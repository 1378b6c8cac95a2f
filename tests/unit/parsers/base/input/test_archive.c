/* SPDX-License-Identifier: Apache-2.0 */
/* Tar archives: every sort of header, every place where one may be cut, and bytes that only look like one. */
#include "parsers/base/input/archive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ARCHIVE_BYTES = 64 * 1024 };

/* An archive that grows, and how far it was read. */
struct tape {
  char bytes[ARCHIVE_BYTES];
  size_t len, at, chunk;
  size_t skipped;
};

static enum wo_status read_tape(void *context, char *buf, size_t cap, size_t *ret_len, struct wo_err *err) {
  struct tape *const tape = context;
  const size_t left = tape->len - tape->at;
  size_t len = cap < left ? cap : left;
  (void)err;
  if (tape->chunk > 0 && len > tape->chunk) len = tape->chunk;
  memcpy(buf, tape->bytes + tape->at, len);
  tape->at += len;
  *ret_len = len;
  return WO_OK;
}

static uint64_t skip_tape(void *context, uint64_t len) {
  struct tape *const tape = context;
  const size_t left = tape->len - tape->at, skipped = left < len ? left : (size_t)len;
  tape->at += skipped;
  tape->skipped += skipped;
  return skipped;
}

static struct wo_archive_source source_of(struct tape *tape, bool can_skip) {
  return (struct wo_archive_source){.context = tape, .read = read_tape, .skip = can_skip ? skip_tape : NULL};
}

static void put_sum(char *block) {
  unsigned sum = 0;
  memset(block + 148, ' ', 8);
  for (size_t i = 0; i < WO_ARCHIVE_BLOCK_BYTES; i++) sum += (unsigned char)block[i];
  snprintf(block + 148, 8, "%06o", sum);
}

/* Adds an entry; `magic` is "ustar" or empty (V7). Returns its header. */
static char *add_entry(struct tape *tape, const char *magic, char type, const char *name, const char *content) {
  char *const block = tape->bytes + tape->len;
  const size_t len = strlen(content);
  assert_true(tape->len + 2 * WO_ARCHIVE_BLOCK_BYTES + len < ARCHIVE_BYTES);
  memset(block, 0, WO_ARCHIVE_BLOCK_BYTES);
  memcpy(block, name, strlen(name) < 100 ? strlen(name) : 100);
  snprintf(block + 100, 8, "%07o", 0644u);
  snprintf(block + 124, 12, "%011o", (unsigned)len);
  block[156] = type;
  memcpy(block + 257, magic, strlen(magic));
  put_sum(block);
  tape->len += WO_ARCHIVE_BLOCK_BYTES;
  memcpy(tape->bytes + tape->len, content, len);
  tape->len += len;
  while (tape->len % WO_ARCHIVE_BLOCK_BYTES != 0) tape->bytes[tape->len++] = '\0';
  return block;
}

static void add_end(struct tape *tape) {
  memset(tape->bytes + tape->len, 0, (size_t)2 * WO_ARCHIVE_BLOCK_BYTES);
  tape->len += (size_t)2 * WO_ARCHIVE_BLOCK_BYTES;
}

/* Reads everything into "name=content;name=content;". */
static enum wo_status list(struct tape *tape, size_t cap, char *text, size_t text_cap, struct wo_err *err) {
  struct wo_archive archive = {0};
  const struct wo_archive_source source = source_of(tape, false);
  size_t len = 0;
  bool is_there = true;
  tape->at = 0;
  text[0] = '\0';
  for (;;) {
    enum wo_status status = wo_archive_next(&archive, &source, &is_there, err);
    if (status != WO_OK || !is_there) return status;
    len += (size_t)snprintf(text + len, text_cap - len, "%s=", archive.is_archive ? archive.name : "-");
    for (size_t got = 1; got > 0;) {
      char buf[600];
      status = wo_archive_read(&archive, &source, buf, cap < sizeof buf ? cap : sizeof buf, &got, err);
      if (status != WO_OK) return status;
      len += (size_t)snprintf(text + len, text_cap - len, "%.*s", (int)got, buf);
    }
    len += (size_t)snprintf(text + len, text_cap - len, ";");
  }
}

static void expect(struct tape *tape, const char *want) {
  static const size_t caps[] = {1, 100, 600};
  for (size_t i = 0; i < 6; i++) {
    char text[8192];
    struct wo_err err = {0};
    tape->chunk = i < 3 ? 0 : 7;
    assert_int_equal(list(tape, caps[i % 3], text, sizeof text, &err), WO_OK);
    assert_string_equal(text, want);
  }
  tape->chunk = 0;
}

static void files_come_one_after_the_other(void **state) {
  (void)state;
  static struct tape tape;
  tape = (struct tape){.len = 0};
  add_entry(&tape, "ustar", '5', "run/", "");
  add_entry(&tape, "ustar", '0', "run/a.err", "first\n");
  add_entry(&tape, "ustar", '2', "run/link", "");
  add_entry(&tape, "ustar", '0', "run/empty", "");
  add_entry(&tape, "", '\0', "old.out", "second\n");
  add_end(&tape);
  expect(&tape, "run/a.err=first\n;run/empty=;old.out=second\n;");
}

/* Lists the entries alone: "KIND name SIZE@AT MTIME UID user;". */
static enum wo_status list_entries(struct tape *tape, bool can_skip, char *text, size_t cap, struct wo_err *err) {
  struct wo_archive archive = {0};
  const struct wo_archive_source source = source_of(tape, can_skip);
  const struct wo_archive_entry *const entry = &archive.entry;
  bool is_there = true;
  size_t len = 0;
  tape->at = tape->skipped = 0;
  text[0] = '\0';
  for (;;) {
    const enum wo_status status = wo_archive_next_entry(&archive, &source, &is_there, err);
    if (status != WO_OK || !is_there) return status;
    len += (size_t)snprintf(text + len, cap - len, "%d %s %d@%d %lld %u %s;", (int)entry->kind, archive.name,
                            (int)entry->size_bytes, (int)entry->at, (long long)entry->mtime_ns, entry->uid, entry->user);
  }
}

static void expect_entries(struct tape *tape, const char *want) {
  for (int can_skip = 0; can_skip < 2; can_skip++) {
    char text[4096];
    struct wo_err err = {0};
    assert_int_equal(list_entries(tape, can_skip, text, sizeof text, &err), WO_OK);
    assert_string_equal(text, want);
  }
}

static void headers_say_whose_and_when(void **state) {
  (void)state;
  static struct tape tape;
  tape = (struct tape){.len = 0};
  char *block = add_entry(&tape, "ustar", '0', "a.out", "text");
  memcpy(block + 108, "0001750", 7);
  memcpy(block + 136, "14310061200", 11);
  memcpy(block + 265, "ada", 3);
  put_sum(block);
  add_entry(&tape, "ustar", 'x', "PaxHeaders/x", "27 mtime=1700000000.250000\n13 uid=70000\n13 uname=eve\n");
  block = add_entry(&tape, "ustar", '0', "b.out", "");
  memcpy(block + 136, "\x80\0\0\0\0\0\0\0\0\0\0\x07", 12);
  put_sum(block);
  block = add_entry(&tape, "", '\0', "old.out", "");
  memcpy(block + 136, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe", 12);
  memcpy(block + 265, "not a field of this format", 26);
  put_sum(block);
  add_end(&tape);
  expect_entries(&tape, "0 a.out 4@512 1663066752000000000 1000 ada;0 b.out 0@2560 1700000000250000000 70000 eve;"
                        "0 old.out 0@3072 0 0 ;");
}

static void every_kind_of_entry_is_named(void **state) {
  (void)state;
  static struct tape tape;
  tape = (struct tape){.len = 0};
  add_entry(&tape, "ustar", '5', "d/", "");
  add_entry(&tape, "", '\0', "e/", "");
  add_entry(&tape, "ustar", '1', "hard", "");
  add_entry(&tape, "ustar", '2', "link", "");
  add_entry(&tape, "ustar", '6', "fifo", "");
  add_entry(&tape, "ustar", 'V', "volume", "");
  add_entry(&tape, "ustar", 'g', "global", "11 path=no\n");
  char *block = add_entry(&tape, "ustar", 'S', "holes", "");
  char *const more = tape.bytes + tape.len;
  block[482] = 1;
  memcpy(block + 124, "00000001000", 11);
  put_sum(block);
  memset(more, 0, (size_t)2 * WO_ARCHIVE_BLOCK_BYTES);
  memcpy(more + WO_ARCHIVE_BLOCK_BYTES, "their bytes", 11);
  tape.len += (size_t)2 * WO_ARCHIVE_BLOCK_BYTES;
  add_entry(&tape, "ustar", 'x', "PaxHeaders/x", "22 GNU.sparse.major=1\n26 GNU.sparse.name=h2.out\n");
  add_entry(&tape, "ustar", '0', "GNUSparseFile.0/x", "1\n0\n");
  add_entry(&tape, "ustar", '0', "last", "text");
  add_end(&tape);
  expect_entries(&tape, "2 d/ 0@512 0 0 ;2 e/ 0@1024 0 0 ;4 hard 0@1536 0 0 ;3 link 0@2048 0 0 ;5 fifo 0@2560 0 0 ;"
                        "1 holes 512@5120 0 0 ;1 h2.out 4@7168 0 0 ;0 last 4@8192 0 0 ;");
  expect(&tape, "h2.out=1\n0\n;last=text;");
}

static void bytes_of_files_are_skipped_to_the_end_and_not_beyond(void **state) {
  (void)state;
  static struct tape tape;
  static char content[3000];
  char text[4096];
  struct wo_err err = {0};
  tape = (struct tape){.len = 0};
  memset(content, 'x', sizeof content - 1);
  add_entry(&tape, "ustar", '0', "a", content);
  add_entry(&tape, "ustar", '0', "b", content);
  tape.len -= 1000;
  assert_int_equal(list_entries(&tape, true, text, sizeof text, &err), WO_E_SYNTAX);
  assert_non_null(strstr(err.message, "ends inside a file"));
  assert_string_equal(text, "0 a 2999@512 0 0 ;0 b 2999@4096 0 0 ;");
  assert_true(tape.skipped > 4000);
}

static void names_in_archives_are_paths_below_them(void **state) {
  (void)state;
  static const char *const pairs[][2] = {{"a", "a"},       {"./a/b", "a/b"}, {"/a", "a"}, {"././/a", "a"},
                                         {"../a", "../a"}, {".", "."},       {"./", ""},  {"", ""}};
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
    assert_true(wo_view_is(wo_archive_name(wo_view_of(pairs[i][0])), pairs[i][1]));
}

static void names_are_put_together(void **state) {
  (void)state;
  static struct tape tape;
  char pax[64], long_name[301], want[1024];
  tape = (struct tape){.len = 0};
  char *const block = add_entry(&tape, "ustar", '0', "c.log", "1");
  memcpy(block + 345, "far/away", 8);
  put_sum(block);
  memset(long_name, 'n', 300);
  long_name[300] = '\0';
  add_entry(&tape, "ustar", 'L', "././@LongLink", long_name);
  add_entry(&tape, "ustar", '0', long_name, "2");
  snprintf(pax, sizeof pax, "20 mtime=1234.56789\n20 path=d/\xc3\xa9t\xc3\xa9.err\n");
  add_entry(&tape, "ustar", 'x', "PaxHeaders/x", pax);
  add_entry(&tape, "ustar", '0', "cut", "3");
  add_entry(&tape, "ustar", '0', "plain", "4");
  add_end(&tape);
  snprintf(want, sizeof want, "far/away/c.log=1;%s=2;d/\xc3\xa9t\xc3\xa9.err=3;plain=4;", long_name);
  expect(&tape, want);
}

/* Whatever the place of the cut: what is told was there, and the rest is an error, except at the end of a file. */
static void cut_archives_give_what_they_hold(void **state) {
  (void)state;
  static struct tape tape;
  tape = (struct tape){.len = 0};
  add_entry(&tape, "ustar", '0', "a", "first\n");
  add_entry(&tape, "ustar", 'L', "././@LongLink", "long-b");
  add_entry(&tape, "ustar", '0', "b", "second\n");
  const size_t whole = tape.len;
  for (size_t cut = WO_ARCHIVE_BLOCK_BYTES; cut < whole; cut++) {
    char text[1024];
    struct wo_err err = {0};
    tape.len = cut;
    const enum wo_status status = list(&tape, 100, text, sizeof text, &err);
    const bool is_between = cut == 2 * WO_ARCHIVE_BLOCK_BYTES || cut == 4 * WO_ARCHIVE_BLOCK_BYTES;
    assert_int_equal(status, is_between ? WO_OK : WO_E_SYNTAX);
    if (status != WO_OK) assert_non_null(strstr(err.message, "tar archive"));
    assert_memory_equal(text, "a=", 2);
  }
}

static void damaged_headers_are_named(void **state) {
  (void)state;
  static struct tape tape;
  char text[1024];
  struct wo_err err = {0};
  tape = (struct tape){.len = 0};
  add_entry(&tape, "ustar", '0', "a", "first\n");
  add_entry(&tape, "ustar", '0', "b", "second\n")[3] = 'x';
  assert_int_equal(list(&tape, 100, text, sizeof text, &err), WO_E_SYNTAX);
  assert_string_equal(text, "a=first\n;");
}

/* Sizes beyond reason, and records of a pax header that lie about their length. */
static void absurd_figures_end(void **state) {
  (void)state;
  static struct tape tape;
  static const char *const records[] = {
      "0 path=a\n", "9999999 path=a\n", "3 \n", "x", "12 path=", "9 size=-1\n", "17 size=9999999\n"};
  char text[4096];
  for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
    struct wo_err err = {0};
    tape = (struct tape){.len = 0};
    add_entry(&tape, "ustar", 'x', "PaxHeaders/x", records[i]);
    add_entry(&tape, "ustar", '0', "a", "1");
    list(&tape, 100, text, sizeof text, &err);
  }
  struct wo_err err = {0};
  tape = (struct tape){.len = 0};
  char *const block = add_entry(&tape, "ustar", '0', "a", "1");
  memset(block + 124, 0xff, 12);
  block[124] = (char)0x80;
  put_sum(block);
  assert_int_equal(list(&tape, 100, text, sizeof text, &err), WO_E_SYNTAX);
}

static void other_bytes_come_as_they_are(void **state) {
  (void)state;
  static struct tape tape;
  static const size_t lengths[] = {0, 1, 511, 512, 513, 2000};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    char want[2100] = "-=";
    tape = (struct tape){.len = lengths[i]};
    memset(tape.bytes, 'x', lengths[i]);
    memset(want + 2, 'x', lengths[i]);
    want[2 + lengths[i]] = ';';
    expect(&tape, want);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(files_come_one_after_the_other),
      cmocka_unit_test(headers_say_whose_and_when),
      cmocka_unit_test(every_kind_of_entry_is_named),
      cmocka_unit_test(bytes_of_files_are_skipped_to_the_end_and_not_beyond),
      cmocka_unit_test(names_in_archives_are_paths_below_them),
      cmocka_unit_test(names_are_put_together),
      cmocka_unit_test(cut_archives_give_what_they_hold),
      cmocka_unit_test(damaged_headers_are_named),
      cmocka_unit_test(absurd_figures_end),
      cmocka_unit_test(other_bytes_come_as_they_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
