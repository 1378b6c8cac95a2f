/* SPDX-License-Identifier: Apache-2.0 */
/* Scans that a store took part in. */
#include "analyzer/store/store_internal.h"

/* Its number in this store is its name, with that of the store, wherever the store is merged to. */
static enum wo_status number_scan(struct wo_store *store, int64_t id, struct wo_err *err) {
  sqlite3_stmt *const number = wo__store_statement(store, WO__STORE_NUMBER_SCAN, err);
  if (number) sqlite3_bind_int64(number, 1, id);
  return wo__store_step(store, number, err);
}

/* Problems of earlier scans of the same folders: this one meets again those that are still there. */
static enum wo_status drop_old_problems(struct wo_store *store, const struct wo_store_scan *scan, int64_t id,
                                        struct wo_err *err) {
  sqlite3_stmt *const drop = wo__store_statement(store, WO__STORE_DROP_OLD_PROBLEMS, err);
  if (drop) {
    wo__store_bind_text(drop, 1, scan->roots);
    sqlite3_bind_int64(drop, 2, id);
  }
  return wo__store_step(store, drop, err);
}

enum wo_status wo_store_begin_scan(struct wo_store *store, struct wo_store_scan *scan, struct wo_err *err) {
  const bool is_own = !store->is_transaction;
  enum wo_status status = is_own ? wo_store_begin(store, err) : WO_OK;
  if (status != WO_OK) return status;
  sqlite3_stmt *const begin = wo__store_statement(store, WO__STORE_BEGIN_SCAN, err);
  if (begin) {
    wo__store_bind_text(begin, 1, scan->roots);
    sqlite3_bind_int64(begin, 2, scan->shard);
    sqlite3_bind_int64(begin, 3, scan->shard_count);
    wo__store_bind_text(begin, 4, scan->rules);
    wo__store_bind_number(begin, 5, scan->start_ns);
  }
  status = wo__store_step(store, begin, err);
  const int64_t id = status == WO_OK ? sqlite3_last_insert_rowid(store->db) : 0;
  if (status == WO_OK) status = number_scan(store, id, err);
  if (status == WO_OK) status = drop_old_problems(store, scan, id, err);
  status = wo__store_end_own(store, is_own, status, err);
  if (status == WO_OK) store->scan = scan->id = id;
  return status;
}

enum wo_status wo_store_end_scan(struct wo_store *store, const struct wo_store_scan *scan, struct wo_err *err) {
  sqlite3_stmt *const end = wo__store_statement(store, WO__STORE_END_SCAN, err);
  if (end) {
    sqlite3_bind_int64(end, 1, scan->id);
    wo__store_bind_number(end, 2, scan->end_ns);
    sqlite3_bind_int64(end, 3, scan->jobs);
    sqlite3_bind_int64(end, 4, scan->files);
    sqlite3_bind_int64(end, 5, scan->bytes);
  }
  return wo__store_step(store, end, err);
}
