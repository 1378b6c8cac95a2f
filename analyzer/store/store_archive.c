/* SPDX-License-Identifier: Apache-2.0 */
/* Tar archives that were read: the lists of what is in them. */
#include "analyzer/store/store_internal.h"

enum wo_status wo_store_put_archive(struct wo_store *store, const struct wo_store_archive *archive, struct wo_err *err) {
  sqlite3_stmt *const put = wo__store_statement(store, WO__STORE_PUT_ARCHIVE, err);
  if (!put) return store->last_failure;
  wo__store_bind_text(put, 1, archive->path);
  sqlite3_bind_int64(put, 2, (int64_t)archive->inode);
  sqlite3_bind_int64(put, 3, archive->size_bytes);
  sqlite3_bind_int64(put, 4, archive->mtime_ns);
  sqlite3_bind_blob64(put, 5, archive->list.ptr, archive->list.len, SQLITE_STATIC);
  return wo__store_step(store, put, err);
}

enum wo_status wo_store_find_archive(struct wo_store *store, const struct wo_store_archive *archive, struct wo_arena *arena,
                                     struct wo_view *ret_list, struct wo_err *err) {
  sqlite3_stmt *const find = wo__store_statement(store, WO__STORE_FIND_ARCHIVE, err);
  if (!find) return store->last_failure;
  wo__store_bind_text(find, 1, archive->path);
  sqlite3_bind_int64(find, 2, (int64_t)archive->inode);
  sqlite3_bind_int64(find, 3, archive->size_bytes);
  sqlite3_bind_int64(find, 4, archive->mtime_ns);
  const int code = sqlite3_step(find);
  const char *const data = code == SQLITE_ROW ? sqlite3_column_blob(find, 0) : NULL;
  const int len = data ? sqlite3_column_bytes(find, 0) : 0;
  *ret_list = len > 0 ? wo_arena_copy(arena, (struct wo_view){data, (size_t)len}) : (struct wo_view){0};
  sqlite3_reset(find);
  if (len > 0 && !ret_list->ptr) return wo__store_fail(store, SQLITE_NOMEM, err);
  return code == SQLITE_ROW || code == SQLITE_DONE ? WO_OK : wo__store_fail(store, code, err);
}
