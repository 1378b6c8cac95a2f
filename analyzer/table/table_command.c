/* SPDX-License-Identifier: Apache-2.0 */
/* Commands to paste that show one job in full. See table_internal.h. */
#include "analyzer/table/table_internal.h"
#include "parsers/base/output/shell_words.h"

enum { ARENA_BYTES = 1024 * 1024, FILES_MOST = 8 };

/* "whyoom FILE...", with the log alone for a job of many files: the others are found beside it. */
static bool add_files(struct wo_text *out, const struct wo_store_file *files, size_t count, struct wo_arena *arena) {
  const size_t named = count <= FILES_MOST ? count : 1;
  const size_t start = out->len;
  wo_text_add(out, "whyoom");
  bool is_shown = named > 0;
  for (size_t i = 0; i < named && is_shown; i++) {
    wo_text_add(out, " ");
    is_shown = wo_shell_add_word(out, wo_shell_path(arena, files[i].path));
  }
  if (!is_shown) out->len = start;
  return is_shown;
}

/* Without a store, or where a job cannot be named by it, its files are read again: their names are any bytes, and those of a row
 * are not. */
static bool add_command_of_files(struct wo_text *out, const struct wo__table *table, const struct wo_row *row) {
  struct wo_arena arena;
  int64_t id = WO_ROW_UNKNOWN;
  const struct wo_store_file own = {.path = row->path}, *files = NULL;
  size_t count = 0;
  wo_arena_init(&arena, ARENA_BYTES);
  enum wo_status status = wo_store_find(table->store, row->path, &id, NULL);
  if (status == WO_OK && id != WO_ROW_UNKNOWN) status = wo_store_files(table->store, id, &arena, &files, &count, NULL);
  if (count == 0) {
    files = &own;
    count = 1;
  }
  const bool is_shown = add_files(out, files, count, &arena);
  out->is_failed |= status == WO_E_NOMEM || wo_arena_is_exhausted(&arena);
  wo_arena_done(&arena);
  return is_shown;
}

/* A job in a store is found by its path, which is its key; ids come again after some years, and not every log has one. */
bool wo__show_command(struct wo_text *out, const struct wo__table *table, const struct wo_row *row) {
  const struct wo_view store = table->options->store_path;
  const struct wo_view words[] = {WO_VIEW("whyoom"), WO_VIEW("report"), WO_VIEW("--store"), store, WO_VIEW("--job"), row->path};
  if (store.len > 0 && wo_shell_add_command(out, words, sizeof words / sizeof *words)) return true;
  return add_command_of_files(out, table, row);
}
