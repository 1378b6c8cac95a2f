/* Commands to paste that show one job in full. See table_internal.h. */
#include "analyzer/table/table_internal.h"
#include "parsers/base/output/shell_words.h"

/* A job in a store is found by its path, which is its key; ids come again after some years, and not every log has one. Without a
 * store the log itself is read. Nothing is added for a path that cannot be typed. */
bool wo__show_command(struct wo_text *out, const struct wo__table *table, const struct wo_row *row) {
  struct wo_arena arena;
  wo_arena_init(&arena, 64 * 1024);
  struct wo_text id = {0};
  const struct wo_view store = table->options->store_path;
  struct wo_view words[] = {WO_VIEW("whyoom"), WO_VIEW("report"), WO_VIEW("--store"), store, WO_VIEW("--job"), row->path};
  bool is_shown = false;
  if (store.len > 0) {
    is_shown = wo_shell_add_command(out, words, sizeof words / sizeof *words);
  } else {
    words[1] = wo_shell_path(&arena, row->path);
    is_shown = words[1].len > 0 && wo_shell_add_command(out, words, 2);
  }
  wo_text_done(&id);
  wo_arena_done(&arena);
  return is_shown;
}
