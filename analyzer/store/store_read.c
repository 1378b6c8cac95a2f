/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to a store: rows, files, evidence, comparisons, and statements of the caller. */
#include <string.h>

#include "analyzer/store/store_internal.h"

/* ---- Is a job as it was? ---- */

/* Finds the file of that path, first where the one before it leads to expect it: files mostly come in the order they had. */
static const struct wo_store_file *find_file(const struct wo_store_file *files, size_t count, size_t expected,
                                             struct wo_view path) {
  for (size_t i = 0; i < count; i++) {
    const struct wo_store_file *const file = &files[(expected + i) % count];
    if (wo_view_equal(file->path, path)) return file;
  }
  return NULL;
}

/* How a file compares with the row of it that the statement stands on. The device is not looked at: it is another one on each
 * node that mounts a network file system. A file that could not be read is tried again: its rights may be others now. */
static enum wo_store_fresh compare_file(sqlite3_stmt *row, const struct wo_store_file *file) {
  const int64_t size_bytes = sqlite3_column_int64(row, 3), mtime_ns = sqlite3_column_int64(row, 4);
  const bool is_unread = sqlite3_column_int(row, 5) != 0;
  if (!file || is_unread || (int64_t)file->inode != sqlite3_column_int64(row, 2)) return WO_STORE_CHANGED;
  if (file->size_bytes == size_bytes) return file->mtime_ns == mtime_ns ? WO_STORE_SAME : WO_STORE_CHANGED;
  return file->size_bytes > size_bytes ? WO_STORE_APPENDED : WO_STORE_CHANGED;
}

enum wo_store_fresh wo__store_compare_rules(struct wo_view kept, struct wo_view now) {
  if (wo_view_equal(kept, now)) return WO_STORE_SAME;
  const size_t kept_end = wo_view_find_last(kept, WO_VIEW("-"), kept.len), end = wo_view_find_last(now, WO_VIEW("-"), now.len);
  const bool is_same_part = kept_end == end && end != WO_NOT_FOUND && memcmp(kept.ptr, now.ptr, end) == 0;
  return is_same_part ? WO_STORE_OLD_RULES : WO_STORE_OLD_PATTERNS;
}

/* The verdict of all rows of the statement. */
static int compare_rows(sqlite3_stmt *rows, const struct wo_store_file *files, size_t count, struct wo_view rules,
                        enum wo_store_fresh *ret) {
  size_t seen = 0;
  bool is_changed = false, is_appended = false;
  int code;
  *ret = WO_STORE_NEW;
  while ((code = sqlite3_step(rows)) == SQLITE_ROW) {
    if (*ret == WO_STORE_NEW) *ret = wo__store_compare_rules(wo__store_text(rows, 0), rules);
    if (sqlite3_column_type(rows, 1) == SQLITE_NULL) continue;
    const struct wo_store_file *const file = find_file(files, count, seen++, wo__store_text(rows, 1));
    const enum wo_store_fresh one = compare_file(rows, file);
    is_changed |= one == WO_STORE_CHANGED;
    is_appended |= one == WO_STORE_APPENDED;
  }
  if (*ret == WO_STORE_NEW) return code;
  if (is_changed || seen != count) {
    *ret = WO_STORE_CHANGED;
  } else if (is_appended) {
    *ret = WO_STORE_APPENDED;
  }
  return code;
}

static enum wo_status compare_job(struct wo_store *store, struct wo_view path, const struct wo_store_file *files, size_t count,
                                  struct wo_view rules, enum wo_store_fresh *ret_fresh, struct wo_err *err) {
  sqlite3_stmt *const rows = wo__store_statement(store, WO__STORE_COMPARE, err);
  if (!rows) return store->last_failure;
  wo__store_bind_text(rows, 1, path);
  enum wo_store_fresh fresh;
  const int code = compare_rows(rows, files, count, rules, &fresh);
  sqlite3_reset(rows);
  if (code != SQLITE_DONE) return wo__store_fail(store, code, err);
  *ret_fresh = fresh;
  return WO_OK;
}

/* A job that is as it was, and whose digest is not there, gets one. */
static enum wo_status note_known(struct wo_store *store, struct wo_view path, const struct wo_store_file *files, size_t count,
                                 struct wo_view rules, struct wo_err *err) {
  int64_t id = WO_ROW_UNKNOWN;
  const enum wo_status status = store->has_known ? wo_store_find(store, path, &id, err) : WO_OK;
  if (status != WO_OK || id == WO_ROW_UNKNOWN) return status;
  return wo__store_put_known(store, id, path, files, count, rules, err);
}

enum wo_status wo_store_compare(struct wo_store *store, struct wo_view path, const struct wo_store_file *files, size_t count,
                                struct wo_view rules, enum wo_store_fresh *ret_fresh, struct wo_err *err) {
  enum wo_status status = compare_job(store, path, files, count, rules, ret_fresh, err);
  if (status == WO_OK && *ret_fresh == WO_STORE_SAME) status = note_known(store, path, files, count, rules, err);
  return status;
}

/* ---- Rows ---- */

static int64_t known_number(sqlite3_stmt *statement, int at) {
  const int64_t number = wo__store_number(statement, at);
  return number < 0 ? WO_ROW_UNKNOWN : number;
}

static void read_row(sqlite3_stmt *statement, struct wo_row *row) {
  for (enum wo_column_id id = 0; id < WO_COLUMN_COUNT_; id++) {
    const int at = 1 + (int)id;
    if (wo_columns[id].type == WO_COLUMN_TEXT) {
      wo_row_set_text(row, id, wo__store_text(statement, at));
    } else {
      wo_row_set_number(row, id, known_number(statement, at));
    }
  }
}

enum wo_status wo_store_each(struct wo_store *store, const char *where, wo_store_row_fn fn, void *context, struct wo_err *err) {
  char *const sql = sqlite3_mprintf("SELECT id, $columns FROM job WHERE (%s) ORDER BY path", where ? where : "1");
  if (!sql) return wo__store_fail(store, SQLITE_NOMEM, err);
  sqlite3_stmt *const rows = wo__store_prepare(store, sql, err);
  sqlite3_free(sql);
  if (!rows) return store->last_failure;
  int code;
  struct wo_row row;
  while ((code = sqlite3_step(rows)) == SQLITE_ROW) {
    read_row(rows, &row);
    if (!fn(context, sqlite3_column_int64(rows, 0), &row)) {
      code = SQLITE_DONE;
      break;
    }
  }
  sqlite3_finalize(rows);
  return code == SQLITE_DONE ? WO_OK : wo__store_fail(store, code, err);
}

/* ---- What belongs to a job ---- */

enum wo_status wo_store_find(struct wo_store *store, struct wo_view path, int64_t *ret_id, struct wo_err *err) {
  sqlite3_stmt *const find = wo__store_statement(store, WO__STORE_FIND, err);
  if (!find) return store->last_failure;
  wo__store_bind_text(find, 1, path);
  const int code = sqlite3_step(find);
  const int64_t id = code == SQLITE_ROW ? sqlite3_column_int64(find, 0) : WO_ROW_UNKNOWN;
  sqlite3_reset(find);
  if (code != SQLITE_ROW && code != SQLITE_DONE) return wo__store_fail(store, code, err);
  *ret_id = id;
  return WO_OK;
}

enum wo_status wo_store_evidence(struct wo_store *store, int64_t id, struct wo_arena *arena, struct wo_view *ret_evidence,
                                 struct wo_err *err) {
  sqlite3_stmt *const find = wo__store_statement(store, WO__STORE_EVIDENCE, err);
  if (!find) return store->last_failure;
  sqlite3_bind_int64(find, 1, id);
  const int code = sqlite3_step(find);
  struct wo_view kept = {0};
  bool is_kept = true;
  if (code == SQLITE_ROW) {
    const char *const data = sqlite3_column_blob(find, 0);
    const int len = sqlite3_column_bytes(find, 0);
    if (data && len > 0) kept = wo_arena_copy(arena, (struct wo_view){data, (size_t)len});
    is_kept = len <= 0 || kept.len > 0;
  }
  sqlite3_reset(find);
  if (!is_kept) return wo__store_fail(store, SQLITE_NOMEM, err);
  if (code != SQLITE_ROW && code != SQLITE_DONE) return wo__store_fail(store, code, err);
  *ret_evidence = kept;
  return WO_OK;
}

/* A growing list of files in an arena: what a list leaves behind when it grows is no more than it holds. */
struct file_list {
  struct wo_arena *arena;
  struct wo_store_file *items;
  size_t count, capacity;
};

static bool add_file(struct file_list *list, sqlite3_stmt *row) {
  if (list->count == list->capacity) {
    const size_t capacity = list->capacity > 0 ? 2 * list->capacity : 4;
    struct wo_store_file *const grown = wo_arena_array(list->arena, capacity, sizeof *grown);
    if (!grown) return false;
    if (list->count > 0) memcpy(grown, list->items, list->count * sizeof *grown);
    list->items = grown;
    list->capacity = capacity;
  }
  list->items[list->count++] = (struct wo_store_file){
      .path = wo_arena_copy(list->arena, wo__store_text(row, 0)),
      .device = (uint64_t)sqlite3_column_int64(row, 1),
      .inode = (uint64_t)sqlite3_column_int64(row, 2),
      .size_bytes = sqlite3_column_int64(row, 3),
      .mtime_ns = sqlite3_column_int64(row, 4),
      .head_hash = (uint64_t)sqlite3_column_int64(row, 5),
      .is_unread = sqlite3_column_int(row, 6) != 0,
  };
  return !wo_arena_is_exhausted(list->arena);
}

enum wo_status wo_store_files(struct wo_store *store, int64_t id, struct wo_arena *arena, const struct wo_store_file **ret_files,
                              size_t *ret_count, struct wo_err *err) {
  sqlite3_stmt *const rows = wo__store_statement(store, WO__STORE_FILES, err);
  if (!rows) return store->last_failure;
  sqlite3_bind_int64(rows, 1, id);
  struct file_list list = {.arena = arena};
  int code;
  while ((code = sqlite3_step(rows)) == SQLITE_ROW) {
    if (add_file(&list, rows)) continue;
    code = SQLITE_NOMEM;
    break;
  }
  sqlite3_reset(rows);
  if (code != SQLITE_DONE) return wo__store_fail(store, code, err);
  *ret_files = list.items;
  *ret_count = list.count;
  return WO_OK;
}

/* ---- Questions of the caller ---- */

/* A column's value is looked up once, not for each question about it: reports read millions of them. */
static struct wo_store_value read_value(sqlite3_stmt *row, int at) {
  sqlite3_value *const value = sqlite3_column_value(row, at);
  switch (sqlite3_value_type(value)) {
  case SQLITE_NULL:
    return (struct wo_store_value){.type = WO_STORE_NULL};
  case SQLITE_INTEGER:
    return (struct wo_store_value){.type = WO_STORE_NUMBER, .number = sqlite3_value_int64(value)};
  case SQLITE_FLOAT:
    return (struct wo_store_value){.type = WO_STORE_REAL, .real = sqlite3_value_double(value)};
  default: {
    const char *const text = (const char *)sqlite3_value_text(value);
    const int len = sqlite3_value_bytes(value);
    return (struct wo_store_value){.type = WO_STORE_TEXT,
                                   .text = text && len > 0 ? (struct wo_view){text, (size_t)len} : (struct wo_view){0}};
  }
  }
}

/* Calls fn for the rows of the answer; returns SQLite's last code. */
static int answer(sqlite3_stmt *rows, wo_store_answer_fn fn, void *context) {
  struct wo_store_value values[WO_STORE_ANSWER_COLUMNS];
  int code;
  while ((code = sqlite3_step(rows)) == SQLITE_ROW) {
    const int count = sqlite3_data_count(rows);
    for (int i = 0; i < count; i++) values[i] = read_value(rows, i);
    if (!fn(context, values, (size_t)count)) return SQLITE_DONE;
  }
  return code;
}

enum wo_status wo_store_ask(struct wo_store *store, const char *sql, const struct wo_view *texts, size_t text_count,
                            wo_store_answer_fn fn, void *context, struct wo_err *err) {
  sqlite3_stmt *const rows = wo__store_prepare(store, sql, err);
  if (!rows) return store->last_failure;
  enum wo_status status = WO_OK;
  if (!sqlite3_stmt_readonly(rows) || sqlite3_column_count(rows) > WO_STORE_ANSWER_COLUMNS) {
    status = wo__store_refuse(store, WO_E_USAGE, err, "was asked something that writes, or has too many columns");
  } else {
    for (size_t i = 0; i < text_count; i++) wo__store_bind_text(rows, (int)i + 1, texts[i]);
    const int code = answer(rows, fn, context);
    if (code != SQLITE_DONE) status = wo__store_fail(store, code, err);
  }
  sqlite3_finalize(rows);
  return status;
}
