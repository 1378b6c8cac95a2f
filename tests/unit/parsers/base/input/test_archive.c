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
  size_t len = 0;
  bool is_there = true;
  tape->at = 0;
  text[0] = '\0';
  for (;;) {
    enum wo_status status = wo_archive_next(&archive, read_tape, tape, &is_there, err);
    if (status != WO_OK || !is_there) return status;
    len += (size_t)snprintf(text + len, text_cap - len, "%s=", archive.is_archive ? archive.name : "-");
    for (size_t got = 1; got > 0;) {
      char buf[600];
      status = wo_archive_read(&archive, read_tape, tape, buf, cap < sizeof buf ? cap : sizeof buf, &got, err);
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
      cmocka_unit_test(names_are_put_together),
      cmocka_unit_test(cut_archives_give_what_they_hold),
      cmocka_unit_test(damaged_headers_are_named),
      cmocka_unit_test(absurd_figures_end),
      cmocka_unit_test(other_bytes_come_as_they_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
