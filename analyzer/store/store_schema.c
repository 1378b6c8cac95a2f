/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and views of a store (docs/store.md). Columns of jobs come from analyzer/row/columns.def. */
#include <string.h>

#include "analyzer/store/store_internal.h"

/* Nodes and files are kept in the order of jobs, so that jobs that are added change few pages; there is no index but that of
 * paths, and that of the failed jobs, on which most questions are. Times, sizes and the like are integers; 64 bits of an inode, a
 * device or a hash may look negative. */
static const char tables[] =
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE scan (id INTEGER PRIMARY KEY, roots TEXT NOT NULL, shard INTEGER NOT NULL, shard_count INTEGER NOT NULL,"
    " rules TEXT NOT NULL, start_ns INTEGER, end_ns INTEGER, jobs INTEGER, files INTEGER, bytes INTEGER,"
    " origin TEXT NOT NULL, number INTEGER, UNIQUE (origin, number));"
    "CREATE TABLE job (id INTEGER PRIMARY KEY, $definitions, rules TEXT NOT NULL, scan INTEGER);"
    "CREATE UNIQUE INDEX job_path ON job (path);"
    "CREATE TABLE file (job INTEGER NOT NULL, at INTEGER NOT NULL, path TEXT NOT NULL, device INTEGER NOT NULL,"
    " inode INTEGER NOT NULL, size_bytes INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, head_hash INTEGER NOT NULL,"
    " is_unread INTEGER NOT NULL, PRIMARY KEY (job, at)) WITHOUT ROWID;"
    "CREATE TABLE job_node (job INTEGER NOT NULL, node TEXT NOT NULL, PRIMARY KEY (job, node)) WITHOUT ROWID;"
    "CREATE TABLE evidence (job INTEGER PRIMARY KEY, data BLOB NOT NULL);"
    "CREATE TABLE problem (path TEXT PRIMARY KEY, message TEXT NOT NULL, scan INTEGER) WITHOUT ROWID;";

/* Tables that came later. */
static const char later_tables[] =
    "CREATE TABLE IF NOT EXISTS bookmark (job INTEGER NOT NULL, at INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (job, at));"
    "CREATE TABLE IF NOT EXISTS archive (path TEXT PRIMARY KEY, inode INTEGER NOT NULL, size_bytes INTEGER NOT NULL,"
    " mtime_ns INTEGER NOT NULL, list BLOB NOT NULL) WITHOUT ROWID;";

/* Also for stores that were made without them. */
static const char aids[] = "CREATE INDEX IF NOT EXISTS job_failed ON job (is_failed, path) WHERE is_failed = 1;"
                           "CREATE TABLE IF NOT EXISTS known (job INTEGER PRIMARY KEY, digest INTEGER NOT NULL);";

/* Sums of jobs in the views that follow. */
#define FAILED_JOBS                                                                                                              \
  "count(*) AS jobs, round(sum(gpu_s) / 3600.0, 2) AS gpu_hours, sum(gpu_s IS NULL) AS jobs_without_hours,"                      \
  " count(DISTINCT user) AS users"

#define ALL_JOBS                                                                                                                 \
  "count(*) AS jobs, sum(is_failed) AS failed, round(sum(gpu_s) / 3600.0, 2) AS gpu_hours,"                                      \
  " round(sum(CASE WHEN is_failed THEN gpu_s END) / 3600.0, 2) AS gpu_hours_failed, sum(gpu_s IS NULL) AS jobs_without_hours"

static const char old_views[] = "DROP VIEW IF EXISTS failed_jobs; DROP VIEW IF EXISTS causes; DROP VIEW IF EXISTS users;"
                                "DROP VIEW IF EXISTS nodes; DROP VIEW IF EXISTS clusters";

static const char views[] =
    "CREATE VIEW failed_jobs AS SELECT id, path, job_id, array_task, name, user, account, partition, outcome, cause, confidence,"
    " title, node, rank, gpu, place, round(gpu_s / 3600.0, 2) AS gpu_hours,"
    " datetime(end_ns / 1000000000, 'unixepoch') AS ended_utc, evidence, evidence_path, evidence_line, fix, change"
    " FROM job WHERE is_failed = 1;"
    "CREATE VIEW causes AS SELECT cause, family, outcome, " FAILED_JOBS
    " FROM job WHERE is_failed = 1 GROUP BY cause, family, outcome;"
    "CREATE VIEW users AS SELECT user, " ALL_JOBS " FROM job GROUP BY user;"
    "CREATE VIEW nodes AS SELECT job_node.node, " ALL_JOBS ", sum(is_failed AND job.node IS job_node.node) AS failed_first"
    " FROM job_node JOIN job ON job.id = job_node.job GROUP BY job_node.node;"
    "CREATE VIEW clusters AS SELECT cause, place, settings, " FAILED_JOBS ", min(path) AS first_path,"
    " datetime(min(end_ns) / 1000000000, 'unixepoch') AS first_ended_utc,"
    " datetime(max(end_ns) / 1000000000, 'unixepoch') AS last_ended_utc"
    " FROM job WHERE is_failed = 1 GROUP BY cause, place, settings;";

static enum wo_status run_number(struct wo_store *store, const char *pragma, int number, struct wo_err *err) {
  char sql[64];
  snprintf(sql, sizeof sql, "PRAGMA %s = %d", pragma, number);
  return wo__store_run(store, sql, err);
}

/* The name by which scans of this store are known wherever it is merged to, and the version that the views are of. */
static const char naming[] = "INSERT INTO meta VALUES ('origin', lower(hex(randomblob(16)))), ('whyoom', '" WHYOOM_VERSION "')";
/* Another version may have put jobs and left their digests. */
static const char renaming[] = "DELETE FROM known; UPDATE meta SET value = '" WHYOOM_VERSION "' WHERE key = 'whyoom'";

enum wo_status wo__store_make_aids(struct wo_store *store, struct wo_err *err) {
  const enum wo_status status = wo__store_run(store, aids, err);
  store->has_known = status == WO_OK;
  return status;
}

enum wo_status wo__store_make(struct wo_store *store, struct wo_err *err) {
  enum wo_status status = wo__store_run(store, tables, err);
  if (status == WO_OK) status = wo__store_run(store, views, err);
  if (status == WO_OK) status = wo__store_run(store, naming, err);
  if (status == WO_OK) status = run_number(store, "application_id", WO__STORE_APPLICATION, err);
  if (status == WO_OK) status = run_number(store, "user_version", WO__STORE_SCHEMA, err);
  return status;
}

enum wo_status wo__store_add_tables(struct wo_store *store, struct wo_err *err) {
  return wo__store_run(store, later_tables, err);
}

/* ---- Columns ---- */

static enum wo_column_id find_column(struct wo_view name) {
  enum wo_column_id id = 0;
  while (id < WO_COLUMN_COUNT_ && !wo_view_is(name, wo_columns[id].name)) id++;
  return id;
}

/* Marks the columns that the table has; *ret_strange: it has one that is not known. */
static enum wo_status read_columns(struct wo_store *store, bool has[WO_COLUMN_COUNT_], bool *ret_strange, struct wo_err *err) {
  sqlite3_stmt *const statement = wo__store_prepare(store, "SELECT name FROM pragma_table_info('job')", err);
  if (!statement) return store->last_failure;
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    const struct wo_view name = wo__store_text(statement, 0);
    const enum wo_column_id id = find_column(name);
    if (id < WO_COLUMN_COUNT_) has[id] = true;
    if (id == WO_COLUMN_COUNT_ && !wo_view_is(name, "id") && !wo_view_is(name, "rules") && !wo_view_is(name, "scan")) {
      *ret_strange = true;
    }
  }
  sqlite3_finalize(statement);
  return code == SQLITE_DONE ? WO_OK : wo__store_fail(store, code, err);
}

static enum wo_status add_column(struct wo_store *store, enum wo_column_id id, struct wo_err *err) {
  char sql[128];
  const char *const type = wo_columns[id].type == WO_COLUMN_TEXT ? "TEXT" : "INTEGER";
  snprintf(sql, sizeof sql, "ALTER TABLE job ADD COLUMN \"%s\" %s", wo_columns[id].name, type);
  return wo__store_run(store, sql, err);
}

enum wo_status wo__store_check_columns(struct wo_store *store, bool may_add, struct wo_err *err) {
  bool has[WO_COLUMN_COUNT_] = {false}, is_strange = false;
  const enum wo_status status = read_columns(store, has, &is_strange, err);
  if (status != WO_OK) return status;
  if (!has[WO_COLUMN_OF_path]) return wo__store_refuse(store, WO_E_KIND, err, "is damaged: it has no table of jobs");
  if (is_strange) {
    return wo__store_refuse(store, WO_E_KIND, err,
                            "is a store of a newer version of whyoom: it has columns that this one does not know");
  }
  for (enum wo_column_id id = 0; id < WO_COLUMN_COUNT_; id++) {
    if (has[id]) continue;
    if (!may_add) {
      return wo__store_refuse(store, WO_E_KIND, err,
                              "is a store of an older version of whyoom: the next scan into it brings it up to date");
    }
    const enum wo_status added = add_column(store, id, err);
    if (added != WO_OK) return added;
  }
  return WO_OK;
}

enum wo_status wo__store_update_views(struct wo_store *store, struct wo_err *err) {
  int64_t is_current = 0;
  enum wo_status status = wo__store_ask_number(
      store, "SELECT count(*) FROM meta WHERE key = 'whyoom' AND value = '" WHYOOM_VERSION "'", &is_current, err);
  if (status != WO_OK || is_current) return status;
  status = wo__store_run(store, old_views, err);
  if (status == WO_OK) status = wo__store_run(store, views, err);
  return status == WO_OK ? wo__store_run(store, renaming, err) : status;
}
