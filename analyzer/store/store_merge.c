/* SPDX-License-Identifier: Apache-2.0 */
/* Merging: another store is attached, and SQLite copies its rows into this one, page by page, whatever their number. */
#include <sys/stat.h>

#include "analyzer/store/store_internal.h"
#include "parsers/base/limits.h"

/* ---- What is copied, in SQL ---- */

/* A scan is the same wherever it is, by the store that made it and its number there. */
static const char copy_scans[] =
    "INSERT INTO main.scan (roots, shard, shard_count, rules, start_ns, end_ns, jobs, files, bytes, origin, number)"
    " SELECT roots, shard, shard_count, rules, start_ns, end_ns, jobs, files, bytes, origin, number FROM source.scan WHERE true"
    " ORDER BY id ON CONFLICT (origin, number) DO UPDATE SET end_ns = excluded.end_ns, jobs = excluded.jobs,"
    " files = excluded.files, bytes = excluded.bytes WHERE excluded.end_ns IS NOT NULL;"
    "CREATE TEMP TABLE scan_of (source INTEGER PRIMARY KEY, id INTEGER NOT NULL);"
    "INSERT INTO temp.scan_of SELECT s.id, m.id FROM source.scan s JOIN main.scan m ON m.origin = s.origin AND m.number = "
    "s.number;";

/* When the scan with the id in `column` of table `of` began, and what orders those that began at the same time. */
#define BEGAN(schema, column)                                                                                                    \
  "coalesce((SELECT coalesce(start_ns, 0) FROM " schema ".scan WHERE id = " column "), -1),"                                     \
  " coalesce((SELECT origin FROM " schema ".scan WHERE id = " column "), ''),"                                                   \
  " coalesce((SELECT number FROM " schema ".scan WHERE id = " column "), 0)"

/* Bookmarks stay where they are: the process that scans a shard has them.
 *
 * The jobs to be copied, in the order of paths, which is that of the index that they are put into: `at` counts them. `old` is the
 * one here that is replaced. */
static const char choose_jobs[] =
    "CREATE TEMP TABLE chosen (at INTEGER PRIMARY KEY, source INTEGER NOT NULL UNIQUE, old INTEGER);"
    "INSERT INTO temp.chosen (source, old) SELECT s.id, m.id FROM source.job s LEFT JOIN main.job m ON m.path = s.path"
    " WHERE m.id IS NULL OR (" BEGAN("source", "s.scan") ") >= (" BEGAN("main", "m.scan") ") ORDER BY s.path;";

static const char drop_old[] = "DELETE FROM main.file WHERE job IN (SELECT old FROM temp.chosen);"
                               "DELETE FROM main.job_node WHERE job IN (SELECT old FROM temp.chosen);"
                               "DELETE FROM main.known WHERE job IN (SELECT old FROM temp.chosen);"
                               "DELETE FROM main.evidence WHERE job IN (SELECT old FROM temp.chosen);"
                               "DELETE FROM main.bookmark WHERE job IN (SELECT old FROM temp.chosen);";

/* A job that is new here gets the next free id: `base` is the highest one before. */
static const char number_jobs[] =
    "CREATE TEMP TABLE id_of (source INTEGER PRIMARY KEY, id INTEGER NOT NULL);"
    "INSERT INTO temp.id_of SELECT c.source, coalesce(c.old, c.at + (SELECT coalesce(max(id), 0) FROM main.job))"
    " FROM temp.chosen c;";

static const char copy_jobs[] =
    "INSERT OR REPLACE INTO main.job (id, rules, scan, $columns)"
    " SELECT i.id, s.rules, (SELECT id FROM temp.scan_of WHERE source = s.scan), $of_s"
    " FROM temp.chosen c CROSS JOIN temp.id_of i ON i.source = c.source CROSS JOIN source.job s ON s.id = c.source ORDER BY c.at;"
    "INSERT INTO main.file SELECT i.id, f.at, f.path, f.device, f.inode, f.size_bytes, f.mtime_ns, f.head_hash, f.is_unread"
    " FROM temp.chosen c CROSS JOIN temp.id_of i ON i.source = c.source CROSS JOIN source.file f ON f.job = c.source ORDER BY "
    "c.at;"
    "INSERT INTO main.job_node SELECT i.id, n.node"
    " FROM temp.chosen c CROSS JOIN temp.id_of i ON i.source = c.source CROSS JOIN source.job_node n ON n.job = c.source"
    " ORDER BY c.at;"
    "INSERT INTO main.evidence SELECT i.id, e.data"
    " FROM temp.chosen c CROSS JOIN temp.id_of i ON i.source = c.source CROSS JOIN source.evidence e ON e.job = c.source"
    " ORDER BY c.at;";

/* Problems that the other store had when it was merged before, and has no more, are over. */
static const char copy_problems[] =
    "DELETE FROM main.problem WHERE path NOT IN (SELECT path FROM source.problem) AND scan IN (SELECT id FROM main.scan WHERE"
    " origin = (SELECT value FROM source.meta WHERE key = 'origin'));"
    "INSERT OR REPLACE INTO main.problem SELECT s.path, s.message, (SELECT id FROM temp.scan_of WHERE source = s.scan)"
    " FROM source.problem s LEFT JOIN main.problem m ON m.path = s.path"
    " WHERE m.path IS NULL OR (" BEGAN("source", "s.scan") ") >= (" BEGAN("main", "m.scan") ");";

static const char drop_lists[] = "DROP TABLE temp.scan_of; DROP TABLE temp.chosen; DROP TABLE temp.id_of;";

/* ---- Copying ---- */

/* Jobs are found by the index of paths. If that is damaged, some are not: then the table has more. */
static enum wo_status check_index(struct wo_store *store, struct wo_err *err) {
  int64_t by_path = 0, in_table = 0;
  enum wo_status status =
      wo__store_ask_number(store, "SELECT count(*) FROM source.job INDEXED BY job_path WHERE path >= ''", &by_path, err);
  if (status == WO_OK) status = wo__store_ask_number(store, "SELECT count(*) FROM source.job NOT INDEXED", &in_table, err);
  if (status == WO_OK && by_path != in_table) status = wo__store_fail(store, SQLITE_CORRUPT, err);
  return status;
}

static enum wo_status copy(struct wo_store *store, struct wo_err *err) {
  static const char *const steps[] = {copy_scans, choose_jobs, drop_old, number_jobs, copy_jobs, copy_problems, drop_lists};
  enum wo_status status = WO_OK;
  for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == WO_OK; i++) status = wo__store_run(store, steps[i], err);
  return status;
}

/* Whether the attached store is damaged, which is looked at after a failure only. */
static bool is_source_damaged(struct wo_store *store) {
  sqlite3_stmt *check = NULL;
  bool is_whole = false;
  if (sqlite3_prepare_v2(store->db, "PRAGMA source.quick_check(1)", -1, &check, NULL) == SQLITE_OK &&
      sqlite3_step(check) == SQLITE_ROW) {
    is_whole = wo_view_is(wo__store_text(check, 0), "ok");
  }
  sqlite3_finalize(check);
  return !is_whole;
}

/* A failure while both are read may be that of either: the source is looked at. */
static enum wo_status copy_or_blame(struct wo_store *store, const struct wo_store *source, struct wo_err *err) {
  const enum wo_status status = copy(store, err);
  if (status != WO_E_IO || (sqlite3_errcode(store->db) & 0xff) == SQLITE_FULL) return status;
  return is_source_damaged(store) ? wo__store_fail_as(store, source, SQLITE_CORRUPT, err) : status;
}

static enum wo_status copy_in_transaction(struct wo_store *store, const struct wo_store *source, struct wo_err *err) {
  enum wo_status status = wo_store_begin(store, err);
  if (status == WO_OK) {
    status = check_index(store, err);
    if (status != WO_OK) wo_err_place(err, source->path, 0, 0, 0);
    if (status == WO_OK) status = copy_or_blame(store, source, err);
  }
  if (status == WO_OK) status = wo_store_commit(store, err);
  if (status != WO_OK) wo_store_rollback(store);
  return status;
}

/* ---- Attaching ---- */

static enum wo_status attach(struct wo_store *store, const struct wo_store *source, struct wo_err *err) {
  char *const uri = wo__store_uri(source->path, WO_STORE_READ, source->is_immutable);
  char *const sql = uri ? sqlite3_mprintf("ATTACH %Q AS source; PRAGMA source.cache_size = -%d", uri,
                                          (int)(WO_LIMIT_DATABASE_SOURCE_CACHE_BYTES / 1024))
                        : NULL;
  const enum wo_status status = sql ? wo__store_run(store, sql, err) : wo__store_fail(store, SQLITE_NOMEM, err);
  sqlite3_free(sql);
  sqlite3_free(uri);
  return status;
}

static bool is_same_file(const struct wo_store *store, const char *path) {
  struct stat a, b;
  return store->path && stat(store->path, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

enum wo_status wo_store_merge(struct wo_store *store, const char *path, struct wo_err *err) {
  if (store->is_transaction || store->mode == WO_STORE_READ) {
    return wo__store_refuse(store, WO_E_USAGE, err, "cannot take in another store: it is open for reading, or in a transaction");
  }
  if (is_same_file(store, path)) return wo__store_refuse(store, WO_E_USAGE, err, "cannot be merged into itself");
  struct wo_store *source = NULL;
  enum wo_status status = wo_store_open(path, WO_STORE_READ, &source, err);
  if (status != WO_OK) return status;
  status = attach(store, source, err);
  if (status == WO_OK) status = copy_in_transaction(store, source, err);
  sqlite3_exec(store->db, "DETACH source", NULL, NULL, NULL);
  wo_store_close(source);
  return status;
}
