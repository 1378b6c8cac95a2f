/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions, jobs and problems that are put into a store or forgotten. */
#include "analyzer/store/store_internal.h"
#include "parsers/base/limits.h"

/* ---- Transactions ---- */

enum wo_status wo_store_begin(struct wo_store *store, struct wo_err *err) {
  const bool is_read = store->mode == WO_STORE_READ;
  const enum wo_status status =
      wo__store_step(store, wo__store_statement(store, is_read ? WO__STORE_BEGIN_READ : WO__STORE_BEGIN_WRITE, err), err);
  store->is_transaction = status == WO_OK;
  return status;
}

enum wo_status wo_store_commit(struct wo_store *store, struct wo_err *err) {
  const enum wo_status status = wo__store_step(store, wo__store_statement(store, WO__STORE_COMMIT, err), err);
  if (status == WO_OK) store->is_transaction = false;
  return status;
}

/* SQLite may have undone it by itself: then undoing it again is an error without meaning. */
void wo_store_rollback(struct wo_store *store) {
  if (!store->is_transaction) return;
  if (sqlite3_get_autocommit(store->db) == 0) sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
  store->is_transaction = store->is_broken = false;
}

enum wo_status wo__store_end_own(struct wo_store *store, bool is_own, enum wo_status status, struct wo_err *err) {
  if (!is_own) return status;
  if (status == WO_OK) status = wo_store_commit(store, err);
  if (status != WO_OK) wo_store_rollback(store);
  return status;
}

/* ---- Jobs ---- */

static enum wo_status drop_part(struct wo_store *store, enum wo__store_statement part, int64_t id, struct wo_err *err) {
  sqlite3_stmt *const drop = wo__store_statement(store, part, err);
  if (drop) wo__store_bind_number(drop, 1, id);
  return wo__store_step(store, drop, err);
}

/* Drops what belongs to a job beside its row. */
static enum wo_status drop_parts(struct wo_store *store, int64_t id, struct wo_err *err) {
  static const enum wo__store_statement parts[] = {WO__STORE_DROP_FILES, WO__STORE_DROP_NODES, WO__STORE_DROP_KNOWN,
                                                   WO__STORE_DROP_EVIDENCE, WO__STORE_DROP_BOOKMARKS};
  enum wo_status status = WO_OK;
  for (size_t i = 0; i < sizeof parts / sizeof parts[0] && status == WO_OK; i++) status = drop_part(store, parts[i], id, err);
  return status;
}

/* Puts the row in place of that of the same id, or (WO_ROW_UNKNOWN) as a new one. */
static enum wo_status put_row(struct wo_store *store, const struct wo_row *row, struct wo_view rules, int64_t id,
                              struct wo_err *err) {
  enum { FIRST = 4 };
  sqlite3_stmt *const put = wo__store_statement(store, WO__STORE_PUT, err);
  if (!put) return store->last_failure;
  wo__store_bind_number(put, 1, id);
  wo__store_bind_text(put, 2, rules);
  wo__store_bind_number(put, 3, store->scan > 0 ? store->scan : WO_ROW_UNKNOWN);
  for (enum wo_column_id column = 0; column < WO_COLUMN_COUNT_; column++) {
    const int at = FIRST + (int)column;
    if (wo_columns[column].type == WO_COLUMN_TEXT) {
      wo__store_bind_known_text(put, at, wo_row_text(row, column));
    } else {
      wo__store_bind_number(put, at, wo_row_number(row, column));
    }
  }
  return wo__store_step(store, put, err);
}

static enum wo_status put_file(struct wo_store *store, int64_t id, size_t at, const struct wo_store_file *file,
                               struct wo_err *err) {
  sqlite3_stmt *const put = wo__store_statement(store, WO__STORE_PUT_FILE, err);
  if (!put) return store->last_failure;
  sqlite3_bind_int64(put, 1, id);
  sqlite3_bind_int64(put, 2, (int64_t)at);
  wo__store_bind_text(put, 3, file->path);
  sqlite3_bind_int64(put, 4, (int64_t)file->device);
  sqlite3_bind_int64(put, 5, (int64_t)file->inode);
  sqlite3_bind_int64(put, 6, file->size_bytes);
  sqlite3_bind_int64(put, 7, file->mtime_ns);
  sqlite3_bind_int64(put, 8, (int64_t)file->head_hash);
  sqlite3_bind_int64(put, 9, file->is_unread);
  const enum wo_status status = wo__store_step(store, put, err);
  return status == WO_OK ? wo__store_put_bookmark(store, id, at, file->bookmark, err) : status;
}

/* The next of names divided by commas; those in brackets ("gpu[01-03,07]") belong to a name. */
static struct wo_view next_node(struct wo_view *rest) {
  size_t end = 0;
  for (int depth = 0; end < rest->len && (depth > 0 || rest->ptr[end] != ','); end++) {
    if (rest->ptr[end] == '[') depth++;
    if (rest->ptr[end] == ']') depth--;
  }
  const struct wo_view node = wo_view_trim(wo_view_sub(*rest, 0, end));
  *rest = wo_view_skip(*rest, end + 1);
  return node;
}

static enum wo_status put_nodes(struct wo_store *store, int64_t id, struct wo_view nodes, struct wo_err *err) {
  enum wo_status status = WO_OK;
  while (nodes.len > 0 && status == WO_OK) {
    const struct wo_view node = next_node(&nodes);
    if (node.len == 0) continue;
    sqlite3_stmt *const put = wo__store_statement(store, WO__STORE_PUT_NODE, err);
    if (put) sqlite3_bind_int64(put, 1, id);
    if (put) wo__store_bind_text(put, 2, node);
    status = wo__store_step(store, put, err);
  }
  return status;
}

static enum wo_status put_evidence(struct wo_store *store, int64_t id, struct wo_view evidence, struct wo_err *err) {
  if (evidence.len == 0) return WO_OK;
  if (evidence.len >= WO_LIMIT_DATABASE_VALUE_BYTES) return wo__store_fail(store, SQLITE_TOOBIG, err);
  sqlite3_stmt *const put = wo__store_statement(store, WO__STORE_PUT_EVIDENCE, err);
  if (!put) return store->last_failure;
  sqlite3_bind_int64(put, 1, id);
  sqlite3_bind_blob64(put, 2, evidence.ptr, evidence.len, SQLITE_STATIC);
  return wo__store_step(store, put, err);
}

static enum wo_status put_job(struct wo_store *store, const struct wo_store_job *job, struct wo_err *err) {
  int64_t id = WO_ROW_UNKNOWN;
  enum wo_status status = wo_store_find(store, job->row.path, &id, err);
  if (status == WO_OK && id != WO_ROW_UNKNOWN) status = drop_parts(store, id, err);
  if (status == WO_OK) status = put_row(store, &job->row, job->rules, id, err);
  if (status != WO_OK) return status;
  if (id == WO_ROW_UNKNOWN) id = sqlite3_last_insert_rowid(store->db);
  for (size_t i = 0; i < job->file_count && status == WO_OK; i++) status = put_file(store, id, i, &job->files[i], err);
  if (status == WO_OK) status = put_nodes(store, id, job->row.nodes, err);
  if (status == WO_OK) status = wo__store_put_known(store, id, job->row.path, job->files, job->file_count, job->rules, err);
  return status == WO_OK ? put_evidence(store, id, job->evidence, err) : status;
}

enum wo_status wo_store_put(struct wo_store *store, const struct wo_store_job *job, struct wo_err *err) {
  const bool is_own = !store->is_transaction;
  const enum wo_status status = is_own ? wo_store_begin(store, err) : WO_OK;
  return status == WO_OK ? wo__store_end_own(store, is_own, put_job(store, job, err), err) : status;
}

/* Its nodes follow from the row; files and evidence stay. Its digest is that of other rules: the next comparison makes it anew.
 */
static enum wo_status put_row_again(struct wo_store *store, const struct wo_row *row, struct wo_view rules, struct wo_err *err) {
  int64_t id = WO_ROW_UNKNOWN;
  enum wo_status status = wo_store_find(store, row->path, &id, err);
  if (status != WO_OK) return status;
  if (id == WO_ROW_UNKNOWN) return wo__store_refuse(store, WO_E_UNKNOWN, err, "has no such job");
  status = drop_part(store, WO__STORE_DROP_NODES, id, err);
  if (status == WO_OK) status = drop_part(store, WO__STORE_DROP_KNOWN, id, err);
  if (status == WO_OK) status = put_row(store, row, rules, id, err);
  return status == WO_OK ? put_nodes(store, id, row->nodes, err) : status;
}

enum wo_status wo_store_put_row(struct wo_store *store, const struct wo_row *row, struct wo_view rules, struct wo_err *err) {
  const bool is_own = !store->is_transaction;
  const enum wo_status status = is_own ? wo_store_begin(store, err) : WO_OK;
  return status == WO_OK ? wo__store_end_own(store, is_own, put_row_again(store, row, rules, err), err) : status;
}

/* ---- Problems ---- */

enum wo_status wo_store_put_problem(struct wo_store *store, struct wo_view path, struct wo_view message, struct wo_err *err) {
  sqlite3_stmt *const put = wo__store_statement(store, WO__STORE_PUT_PROBLEM, err);
  if (!put) return store->last_failure;
  wo__store_bind_text(put, 1, path);
  wo__store_bind_text(put, 2, message);
  wo__store_bind_number(put, 3, store->scan > 0 ? store->scan : WO_ROW_UNKNOWN);
  return wo__store_step(store, put, err);
}

enum wo_status wo_store_drop_problem(struct wo_store *store, struct wo_view path, struct wo_err *err) {
  sqlite3_stmt *const drop = wo__store_statement(store, WO__STORE_DROP_PROBLEM, err);
  if (drop) wo__store_bind_text(drop, 1, path);
  return wo__store_step(store, drop, err);
}

/* ---- Retention ---- */

static enum wo_status forget(struct wo_store *store, int64_t before_ns, int64_t *ret_count, struct wo_err *err) {
  static const char *const parts[] = {"DELETE FROM file WHERE job IN (SELECT id FROM job WHERE end_ns < ?1)",
                                      "DELETE FROM job_node WHERE job IN (SELECT id FROM job WHERE end_ns < ?1)",
                                      "DELETE FROM known WHERE job IN (SELECT id FROM job WHERE end_ns < ?1)",
                                      "DELETE FROM evidence WHERE job IN (SELECT id FROM job WHERE end_ns < ?1)",
                                      "DELETE FROM bookmark WHERE job IN (SELECT id FROM job WHERE end_ns < ?1)",
                                      "DELETE FROM archive WHERE mtime_ns < ?1",
                                      "DELETE FROM job WHERE end_ns < ?1"};
  enum wo_status status = WO_OK;
  for (size_t i = 0; i < sizeof parts / sizeof parts[0] && status == WO_OK; i++) {
    sqlite3_stmt *const drop = wo__store_prepare(store, parts[i], err);
    if (drop) sqlite3_bind_int64(drop, 1, before_ns);
    status = wo__store_step(store, drop, err);
    sqlite3_finalize(drop);
  }
  if (status == WO_OK) *ret_count = sqlite3_changes(store->db);
  return status;
}

enum wo_status wo_store_forget(struct wo_store *store, int64_t before_ns, int64_t *ret_count, struct wo_err *err) {
  const bool is_own = !store->is_transaction;
  const enum wo_status status = is_own ? wo_store_begin(store, err) : WO_OK;
  return status == WO_OK ? wo__store_end_own(store, is_own, forget(store, before_ns, ret_count, err), err) : status;
}
