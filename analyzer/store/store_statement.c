/* SPDX-License-Identifier: Apache-2.0 */
/* Statements of SQL: prepared once, given values, run. */
#include <string.h>

#include "analyzer/store/store_internal.h"

/* ---- The columns of a row in SQL ---- */

static const char *type_of(enum wo_column_type type) {
  return type == WO_COLUMN_TEXT ? "TEXT" : "INTEGER";
}

static void add_definitions(sqlite3_str *out) {
  for (enum wo_column_id id = 0; id < WO_COLUMN_COUNT_; id++) {
    const bool is_key = id == WO_COLUMN_OF_path;
    sqlite3_str_appendf(out, "%s\"%s\" %s%s", id > 0 ? ", " : "", wo_columns[id].name, type_of(wo_columns[id].type),
                        is_key ? " NOT NULL" : "");
  }
}

static void add_names(sqlite3_str *out, const char *table) {
  for (enum wo_column_id id = 0; id < WO_COLUMN_COUNT_; id++) {
    sqlite3_str_appendf(out, "%s%s\"%s\"", id > 0 ? ", " : "", table, wo_columns[id].name);
  }
}

static void add_values(sqlite3_str *out) {
  for (enum wo_column_id id = 0; id < WO_COLUMN_COUNT_; id++) sqlite3_str_appendall(out, id > 0 ? ", ?" : "?");
}

/* Adds what a word stands for and returns its length; 0: it is none of ours. */
static size_t add_word(sqlite3_str *out, struct wo_view sql) {
  static const char *const words[] = {"$definitions", "$columns", "$values", "$of_s"};
  size_t which = 0;
  while (which < 4 && !wo_view_starts(sql, words[which])) which++;
  switch (which) {
  case 0:
    add_definitions(out);
    break;
  case 1:
    add_names(out, "");
    break;
  case 2:
    add_values(out);
    break;
  case 3:
    add_names(out, "s.");
    break;
  default:
    return 0;
  }
  return strlen(words[which]);
}

/* The result is released with sqlite3_free; NULL: memory is out. */
static char *expand(const char *sql) {
  sqlite3_str *const out = sqlite3_str_new(NULL);
  for (struct wo_view rest = wo_view_of(sql); rest.len > 0;) {
    const size_t word = add_word(out, rest);
    if (word == 0) sqlite3_str_appendchar(out, 1, rest.ptr[0]);
    rest = wo_view_skip(rest, word == 0 ? 1 : word);
  }
  return sqlite3_str_finish(out);
}

/* ---- Preparing ---- */

/* Prepares `sql`, expanded. In a transaction that failed nothing is run any more: SQLite may have undone it already, and what is
 * written now would be kept. */
static sqlite3_stmt *prepare(struct wo_store *store, const char *sql, unsigned flags, struct wo_err *err) {
  char *const expanded = expand(sql);
  sqlite3_stmt *statement = NULL;
  const int code = expanded ? sqlite3_prepare_v3(store->db, expanded, -1, flags, &statement, NULL) : SQLITE_NOMEM;
  sqlite3_free(expanded);
  if (code == SQLITE_OK) return statement;
  wo__store_fail(store, code, err);
  return NULL;
}

static bool is_refused(struct wo_store *store, struct wo_err *err) {
  if (store->is_broken)
    store->last_failure = wo__store_refuse(store, WO_E_IO, err, "something failed before: nothing of this is kept");
  return store->is_broken;
}

sqlite3_stmt *wo__store_prepare(struct wo_store *store, const char *sql, struct wo_err *err) {
  return is_refused(store, err) ? NULL : prepare(store, sql, 0, err);
}

sqlite3_stmt *wo__store_statement(struct wo_store *store, enum wo__store_statement which, struct wo_err *err) {
  static const char *const texts[] = {
#define WO__STATEMENT_TEXT(name, sql) sql,
      WO__STATEMENT_MAP(WO__STATEMENT_TEXT)
#undef WO__STATEMENT_TEXT
  };
  if (which != WO__STORE_ROLLBACK && is_refused(store, err)) return NULL;
  sqlite3_stmt **const kept = &store->statements[which];
  if (*kept) {
    sqlite3_reset(*kept);
  } else {
    *kept = prepare(store, texts[which], SQLITE_PREPARE_PERSISTENT, err);
  }
  return *kept;
}

/* ---- Values. Binding numbers and texts that stay where they are needs no memory, so that it cannot fail; texts that may be too
 * long are looked at before (put_evidence). ---- */

void wo__store_bind_text(sqlite3_stmt *statement, int at, struct wo_view text) {
  sqlite3_bind_text64(statement, at, text.len > 0 ? text.ptr : "", text.len, SQLITE_STATIC, SQLITE_UTF8);
}

void wo__store_bind_known_text(sqlite3_stmt *statement, int at, struct wo_view text) {
  if (text.len > 0) {
    wo__store_bind_text(statement, at, text);
  } else {
    sqlite3_bind_null(statement, at);
  }
}

void wo__store_bind_number(sqlite3_stmt *statement, int at, int64_t number) {
  if (number != WO_ROW_UNKNOWN) {
    sqlite3_bind_int64(statement, at, number);
  } else {
    sqlite3_bind_null(statement, at);
  }
}

struct wo_view wo__store_text(sqlite3_stmt *statement, int at) {
  const char *const ptr = (const char *)sqlite3_column_text(statement, at);
  const int len = sqlite3_column_bytes(statement, at);
  return ptr && len > 0 ? (struct wo_view){ptr, (size_t)len} : (struct wo_view){0};
}

int64_t wo__store_number(sqlite3_stmt *statement, int at) {
  return sqlite3_column_type(statement, at) == SQLITE_NULL ? WO_ROW_UNKNOWN : sqlite3_column_int64(statement, at);
}

/* ---- Running ---- */

enum wo_status wo__store_step(struct wo_store *store, sqlite3_stmt *statement, struct wo_err *err) {
  if (!statement) return store->last_failure;
  const int code = sqlite3_step(statement);
  const enum wo_status status = code == SQLITE_DONE || code == SQLITE_ROW ? WO_OK : wo__store_fail(store, code, err);
  sqlite3_reset(statement);
  return status;
}

enum wo_status wo__store_run(struct wo_store *store, const char *sql, struct wo_err *err) {
  char *const expanded = expand(sql);
  if (!expanded) return wo__store_fail(store, SQLITE_NOMEM, err);
  if (is_refused(store, err)) {
    sqlite3_free(expanded);
    return store->last_failure;
  }
  const int code = sqlite3_exec(store->db, expanded, NULL, NULL, NULL);
  sqlite3_free(expanded);
  return code == SQLITE_OK ? WO_OK : wo__store_fail(store, sqlite3_extended_errcode(store->db), err);
}

enum wo_status wo__store_ask_number(struct wo_store *store, const char *sql, int64_t *ret_number, struct wo_err *err) {
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
  if (code == SQLITE_OK) code = sqlite3_step(statement);
  const int64_t number = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
  sqlite3_finalize(statement);
  if (code != SQLITE_ROW && code != SQLITE_DONE) return wo__store_fail(store, code, err);
  *ret_number = number;
  return WO_OK;
}
