/* SPDX-License-Identifier: Apache-2.0 */
/* Bookmarks of files, from which their reading goes on. A bookmark is of use with the evidence that was put with it alone, which
 * it names itself (analyzer/pack/bookmark.h). */
#include "analyzer/store/store_internal.h"
#include "parsers/base/limits.h"

enum wo_status wo__store_put_bookmark(struct wo_store *store, int64_t job, size_t at, struct wo_view bookmark,
                                      struct wo_err *err) {
  if (bookmark.len == 0 || bookmark.len >= WO_LIMIT_DATABASE_VALUE_BYTES) return WO_OK;
  sqlite3_stmt *const put = wo__store_statement(store, WO__STORE_PUT_BOOKMARK, err);
  if (!put) return store->last_failure;
  sqlite3_bind_int64(put, 1, job);
  sqlite3_bind_int64(put, 2, (int64_t)at);
  sqlite3_bind_blob64(put, 3, bookmark.ptr, bookmark.len, SQLITE_STATIC);
  return wo__store_step(store, put, err);
}

/* A copy of the bytes in a column; empty where there are none, or no room for them. */
static struct wo_view copy_blob(sqlite3_stmt *row, int at, struct wo_arena *arena) {
  enum { BESIDE = 4096 }; /* for what else is in the arena */
  const char *const data = sqlite3_column_blob(row, at);
  const int len = sqlite3_column_bytes(row, at);
  if (!data || len <= 0 || (size_t)len + BESIDE > arena->cap_bytes - arena->used_bytes) return (struct wo_view){0};
  return wo_arena_copy(arena, (struct wo_view){data, (size_t)len});
}

static struct wo_store_file read_file(sqlite3_stmt *row, struct wo_arena *arena) {
  return (struct wo_store_file){
      .path = wo_arena_copy(arena, wo__store_text(row, 2)),
      .inode = (uint64_t)sqlite3_column_int64(row, 3),
      .size_bytes = sqlite3_column_int64(row, 4),
      .mtime_ns = sqlite3_column_int64(row, 5),
      .head_hash = (uint64_t)sqlite3_column_int64(row, 6),
      .bookmark = copy_blob(row, 7, arena),
  };
}

/* More files than this grow in no job; the others are read again. */
enum { FILES_MOST = 64 };

static int read_files(sqlite3_stmt *rows, struct wo_view rules, struct wo_arena *arena, struct wo_store_kept *kept,
                      int64_t *ret_job) {
  int code;
  while ((code = sqlite3_step(rows)) == SQLITE_ROW && kept->file_count < FILES_MOST) {
    if (wo__store_compare_rules(wo__store_text(rows, 1), rules) == WO_STORE_OLD_PATTERNS) return SQLITE_DONE;
    if (!kept->files) kept->files = wo_arena_array(arena, FILES_MOST, sizeof *kept->files);
    const struct wo_store_file file = kept->files ? read_file(rows, arena) : (struct wo_store_file){0};
    if (file.bookmark.len > 0) kept->files[kept->file_count++] = file;
    *ret_job = sqlite3_column_int64(rows, 0);
  }
  return code == SQLITE_ROW ? SQLITE_DONE : code;
}

static int read_evidence(sqlite3_stmt *rows, int64_t job, struct wo_arena *arena, struct wo_store_kept *kept) {
  sqlite3_bind_int64(rows, 1, job);
  const int code = sqlite3_step(rows);
  if (code == SQLITE_ROW) kept->evidence = copy_blob(rows, 0, arena);
  return code == SQLITE_ROW ? SQLITE_DONE : code;
}

enum wo_status wo_store_bookmarks(struct wo_store *store, struct wo_view path, struct wo_view rules, struct wo_arena *arena,
                                  struct wo_store_kept *ret_kept, struct wo_err *err) {
  int64_t job = WO_ROW_UNKNOWN;
  *ret_kept = (struct wo_store_kept){0};
  sqlite3_stmt *const rows = wo__store_statement(store, WO__STORE_BOOKMARKS, err);
  if (!rows) return store->last_failure;
  wo__store_bind_text(rows, 1, path);
  int code = read_files(rows, rules, arena, ret_kept, &job);
  sqlite3_reset(rows);
  if (code == SQLITE_DONE && ret_kept->file_count > 0) {
    sqlite3_stmt *const evidence = wo__store_statement(store, WO__STORE_EVIDENCE, err);
    if (!evidence) return store->last_failure;
    code = read_evidence(evidence, job, arena, ret_kept);
    sqlite3_reset(evidence);
  }
  if (code != SQLITE_DONE) return wo__store_fail(store, code, err);
  if (ret_kept->evidence.len == 0 || wo_arena_is_exhausted(arena)) *ret_kept = (struct wo_store_kept){0};
  return WO_OK;
}
