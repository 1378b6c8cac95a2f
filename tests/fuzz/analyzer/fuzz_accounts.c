/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of accounting in an archive. For each id that stands in it as a word: the text of that job is lines of the
 * file, as they are there, behind the head of their table, and the line that it names is one of them. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/scan/accounts.h"
#include "parsers/base/number.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXTS_MOST = 4, IDS_MOST = 64 };

/* One file for all inputs of a process. */
static const char *file_of(const uint8_t *data, size_t size) {
  static char path[64];
  if (path[0] == '\0') snprintf(path, sizeof path, "/tmp/whyoom-fuzz-accounts-%ld", (long)getpid());
  FILE *const file = fopen(path, "w");
  require(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
  return path;
}

/* The bytes of a line of the whole, from 1, to the end. */
static struct wo_view from_line(struct wo_view whole, uint64_t line) {
  for (; line > 1 && whole.len > 0; line--) wo_view_cut(&whole, '\n');
  return whole;
}

static void check_job(struct wo_accounts *accounts, struct wo_view whole, struct wo_view id) {
  struct wo_account_text texts[TEXTS_MOST];
  struct wo_arena arena;
  wo_arena_init(&arena, (size_t)16 << 20);
  const size_t count = wo_accounts_find(accounts, id, -1, &arena, texts, TEXTS_MOST);
  require(count <= TEXTS_MOST);
  for (size_t i = 0; i < count; i++) {
    require(texts[i].text.len > 0 && texts[i].first_line > 0);
    /* The job's own lines come last. */
    const size_t last = wo_view_find_last(texts[i].text, WO_VIEW("\n"), texts[i].text.len - 1);
    const struct wo_view end = last == WO_NOT_FOUND ? texts[i].text : wo_view_skip(texts[i].text, last + 1);
    require(wo_view_find(from_line(whole, texts[i].first_line), end, 0) != WO_NOT_FOUND);
  }
  wo_arena_done(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const struct wo_view whole = {(const char *)data, size};
  struct wo_accounts *accounts = NULL;
  struct wo_err err = {0};
  const char *const path = file_of(data, size);
  require(wo_accounts_new(&accounts) == WO_OK);
  require(wo_accounts_add(accounts, path, &err) == WO_OK && wo_accounts_add(accounts, path, &err) == WO_OK);
  wo_accounts_sort(accounts);
  size_t ids = 0;
  for (struct wo_view rest = whole; rest.len > 0 && ids < IDS_MOST;) {
    size_t len = 0;
    while (len < rest.len && wo_is_digit(rest.ptr[len])) len++;
    if (len > 0) check_job(accounts, whole, wo_view_sub(rest, 0, len));
    ids += len > 0;
    rest = wo_view_skip(rest, len > 0 ? len : 1);
  }
  wo_accounts_free(accounts);
  unlink(path);
  return 0;
}
