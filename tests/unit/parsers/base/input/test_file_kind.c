/* SPDX-License-Identifier: Apache-2.0 */
/* First bytes of files that are no logs, and texts that only begin like them. */
#include "parsers/base/input/file_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROW(literal, name)                                                                                                       \
  { {literal, sizeof literal - 1}, name }

static const struct {
  struct wo_view front;
  const char *name; /* a part of it; NULL: it is none of these */
} rows[] = {
    ROW("BZh91AY&SY....", "bzip2"),
    ROW("BZh9\x17rE8P\x90....", "bzip2"),
    ROW("BZhang et al. 2024", NULL),
    ROW("\x04\x22\x4d\x18", "lz4"),
    ROW("PK\x03\x04....", "zip"),
    ROW("PKI is not set up", NULL),
    ROW("7z\xbc\xaf\x27\x1c", "7-Zip"),
    ROW("7zip is missing", NULL),
    ROW("\x7f"
        "ELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0",
        "a program"),
    ROW("\x7f"
        "ELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\0",
        "core dump"),
    ROW("\x7f"
        "ELF\x02\x02\x01\0\0\0\0\0\0\0\0\0\0\x04",
        "core dump"),
    ROW("\x7f"
        "ELF",
        "a program"),
    ROW("\x80\x04\x95....", "pickle"),
    ROW("\x80\x81\x82", NULL),
    ROW("\x40\0\0\0\0\0\0\0{\"w\":1}", "safetensors"),
    ROW("\x40\0\0\0\0\0\0\0", NULL),
    ROW("GGUF\x03\0\0\0", "GGUF"),
    ROW("GGUF loader started", NULL),
    ROW("LZIP and PAR1 are words", NULL),
    ROW("PAR1 x", NULL),
    ROW("LZIP\x01", "lzip"),
    ROW("\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22\t\0\0\xc0\xc5\x4e\xd1\xd9\x41\x1a\rbrain.Event:2", "TensorBoard"),
    ROW("\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22\t\0\0\xc0\xc5\x4e\xd1\xd9\x41\x1a\rtrain.Event:2", NULL),
    ROW("\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff\0", "lzma"),
    ROW("\x5d\0\0\x80\0\x40\x10\x01\0\0\0\0\0", "lzma"),
    ROW("]\0\0 is no list of ranks that ends here", NULL),
    ROW("ARROW1\0\0", "Arrow"),
    ROW("MZ\x90\0\x03", "Windows"),
    ROW("SQLite format 3\0", "SQLite"),
    ROW("SQLite format 3 is read", NULL),
    ROW("\x1f\x8b\x08", NULL),
    ROW("\xfd"
        "7zXZ",
        NULL),
    ROW("step 1 loss 2\n", NULL),
    ROW("{\"w\": 1}", NULL),
    ROW("", NULL),
};

static void test_rows(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct wo_file_kind *const kind = wo_file_kind(rows[i].front);
    const bool is_right = rows[i].name == NULL ? kind == NULL : kind != NULL && wo_view_has(wo_view_of(kind->name), rows[i].name);
    if (!is_right) fail_msg("row %zu: %s, expected %s", i, kind ? kind->name : "none", rows[i].name ? rows[i].name : "none");
    if (kind != NULL) assert_true(kind->advice[0] != '\0');
  }
}

/* Every shorter front is looked at without reading behind it: under AddressSanitizer the copy ends where it ends. */
static void test_cut(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    for (size_t len = 0; len < rows[i].front.len; len++) {
      char *const copy = malloc(len > 0 ? len : 1);
      memcpy(copy, rows[i].front.ptr, len);
      wo_file_kind((struct wo_view){copy, len});
      wo_file_is_binary((struct wo_view){copy, len});
      wo_file_is_blank((struct wo_view){copy, len});
      free(copy);
    }
  }
}

#define TEN "0123456789"
#define NULS "\0\0\0\0\0\0\0\0\0\0"
#define TEXT(literal)                                                                                                            \
  { literal, sizeof literal - 1 }

static void test_binary(void **state) {
  (void)state;
  static const struct {
    struct wo_view front;
    bool is_binary;
  } fronts[] = {
      {TEXT(""), false},
      {TEXT("step 1 loss 2\r\n\x1b[31mred\x1b[0m\tx\b\b"), false},
      {TEXT("step 1" NULS NULS "step 2"), false},       /* blocks that were lost */
      {TEXT("step 1\0" TEN TEN TEN TEN), false},        /* one that slipped in */
      {TEXT("\xca\xfe\xba\xbe\0\0\0\x41\0\x16"), true}, /* a class of Java */
      {TEXT("a\0b\0c\0d\0"), true},
      {TEXT("\x01\x02\x03" TEN), true},
      {TEXT("\x01" TEN TEN), false},
      {TEXT("\xe8\xae\xad\xe7\xbb\x83\xe5\xbc\x80\xe5\xa7\x8b"), false}, /* Chinese, also cut */
      {TEXT("\xe8\xae\xad\xe7\xbb"), false},
      {TEXT("f\xfcr gr\xf6\xdf"
            "ere \xd6"
            "fen"),
       false},                                                       /* Latin-1 */
      {TEXT("\x91\x93\xfe\xb6\x17\x99\xd5\x96 \xaa\xbb\xc1"), true}, /* random */
  };
  for (size_t i = 0; i < sizeof fronts / sizeof fronts[0]; i++) {
    if (wo_file_is_binary(fronts[i].front) != fronts[i].is_binary) fail_msg("front %zu", i);
  }
}

static void test_blank(void **state) {
  (void)state;
  static const struct {
    struct wo_view text;
    bool is_blank;
  } texts[] = {
      {TEXT(""), true},
      {TEXT(" \t\r\n" NULS), true},
      {TEXT("\xef\xbb\xbf\n"), true},
      {TEXT("\n\xef\xbb\xbf"), false},
      {TEXT("\x1b[0m\x1b[K\x1b[1;31m\n"), true},
      {TEXT("\x1b[1;3"), true},
      {TEXT("\x1b"), true},
      {TEXT("\x1b[0mx"), false},
      {TEXT("\x07\x7f"), true},
      {TEXT(NULS "."), false},
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    if (wo_file_is_blank(texts[i].text) != texts[i].is_blank) fail_msg("text %zu", i);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_cut), cmocka_unit_test(test_binary),
                                     cmocka_unit_test(test_blank)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
