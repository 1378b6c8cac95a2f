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
    ROW("GGUF\x03", "GGUF"),
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
      free(copy);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_cut)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
