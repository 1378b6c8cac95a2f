/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of jobs written as words. See fleet_rows.h. */
#include "tests/support/fleet/fleet_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "parsers/base/number.h"

enum { LINE_BYTES = 4096 };

static void set_column(struct wo_row *row, char *word) {
  char *const equals = strchr(word, '=');
  assert_non_null(equals);
  *equals = '\0';
  for (char *c = equals + 1; *c != '\0'; c++) *c = *c == '+' ? ' ' : *c == ';' ? '\n' : *c;
  for (enum wo_column_id id = 0; id < WO_COLUMN_COUNT_; id++) {
    if (strcmp(wo_columns[id].name, word) != 0) continue;
    if (wo_columns[id].type == WO_COLUMN_TEXT) {
      wo_row_set_text(row, id, wo_view_of(equals + 1));
    } else {
      struct wo_view text = wo_view_of(equals + 1);
      int64_t number = 0;
      assert_int_equal(wo_number_i64(&text, INT64_MAX, &number), WO_OK);
      wo_row_set_number(row, id, number);
    }
    return;
  }
  fail_msg("no column %s", word);
}

void wo_fleet_put(struct wo_store *store, const char *words) {
  char line[LINE_BYTES];
  assert_true(strlen(words) < sizeof line);
  memcpy(line, words, strlen(words) + 1);
  struct wo_store_job job = {.row = wo_row_empty()};
  char *rest = NULL;
  for (char *word = strtok_r(line, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) set_column(&job.row, word);
  struct wo_err err;
  if (wo_store_put(store, &job, &err) != WO_OK) fail_msg("%s: %s", words, err.message);
}

void wo_fleet_putf(struct wo_store *store, const char *format, ...) {
  char line[LINE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  const int len = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  assert_true(len > 0 && (size_t)len < sizeof line);
  wo_fleet_put(store, line);
}

struct wo_store *wo_fleet_store(const char *const *rows) {
  struct wo_store *store = NULL;
  struct wo_err err;
  if (wo_store_open("", WO_STORE_PRIVATE, &store, &err) != WO_OK) fail_msg("%s", err.message);
  assert_int_equal(wo_store_begin(store, &err), WO_OK);
  for (; *rows != NULL; rows++) wo_fleet_put(store, *rows);
  assert_int_equal(wo_store_commit(store, &err), WO_OK);
  return store;
}
