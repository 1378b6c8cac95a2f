/* SPDX-License-Identifier: Apache-2.0 */
/* Opening: whose file it is, before anything is written to it. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/store/store_internal.h"
#include "parsers/base/limits.h"

/* ---- Names ---- */

/* Every byte that could mean something in a URI is escaped. "./" keeps ":memory:" and the like from being no files. */
char *wo__store_uri(const char *path, enum wo_store_mode mode, bool is_immutable) {
  sqlite3_str *const out = sqlite3_str_new(NULL);
  sqlite3_str_appendall(out, path[0] == '/' ? "file://" : "file:./");
  for (const char *at = path; *at != '\0'; at++) {
    if (wo_is_alnum(*at) || strchr("/._-", *at)) {
      sqlite3_str_appendchar(out, 1, *at);
    } else {
      sqlite3_str_appendf(out, "%%%02x", (unsigned char)*at);
    }
  }
  sqlite3_str_appendall(out, mode == WO_STORE_READ ? "?mode=ro" : "?mode=rwc");
  if (is_immutable) sqlite3_str_appendall(out, "&immutable=1");
  return sqlite3_str_finish(out);
}

/* ---- The connection ---- */

/* Nothing that stands in the file of somebody else is run: no triggers, no functions with effects. A connection that ends leaves
 * the file as it is until this is known to be a store. */
static void protect(sqlite3 *db) {
  sqlite3_extended_result_codes(db, 1);
  sqlite3_busy_timeout(db, WO_LIMIT_DATABASE_BUSY_MS);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, (int)WO_LIMIT_DATABASE_VALUE_BYTES);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

static enum wo_status set_pragmas(struct wo_store *store, struct wo_err *err) {
  char sql[160];
  snprintf(sql, sizeof sql,
           "PRAGMA cache_size = -%zu; PRAGMA temp_store = FILE; PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON",
           WO_LIMIT_DATABASE_CACHE_BYTES / 1024);
  return wo__store_run(store, sql, err);
}

static void disconnect(struct wo_store *store) {
  for (size_t i = 0; i < WO__STORE_STATEMENT_COUNT_; i++) {
    sqlite3_finalize(store->statements[i]);
    store->statements[i] = NULL;
  }
  sqlite3_close_v2(store->db);
  store->db = NULL;
}

static enum wo_status connect(struct wo_store *store, struct wo_err *err) {
  char *const uri = store->path ? wo__store_uri(store->path, store->mode, store->is_immutable) : sqlite3_mprintf("");
  if (!uri) return wo__store_fail(store, SQLITE_NOMEM, err);
  const int access = store->mode == WO_STORE_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(uri, &store->db, access | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
  sqlite3_free(uri);
  if (code != SQLITE_OK) return wo__store_fail(store, code, err);
  protect(store->db);
  return WO_OK;
}

/* ---- Whose it is ---- */

struct identity {
  int64_t application, version, tables;
  int code; /* SQLite's, of the question that failed */
};

/* In one transaction: another process may be making the store. */
static enum wo_status identify(struct wo_store *store, struct identity *ret, struct wo_err *err) {
  enum wo_status status = wo__store_run(store, "SAVEPOINT identify", err);
  if (status == WO_OK) status = wo__store_ask_number(store, "SELECT count(*) FROM sqlite_master", &ret->tables, err);
  if (status == WO_OK) status = wo__store_ask_number(store, "PRAGMA application_id", &ret->application, err);
  if (status == WO_OK) status = wo__store_ask_number(store, "PRAGMA user_version", &ret->version, err);
  ret->code = sqlite3_errcode(store->db) & 0xff;
  sqlite3_exec(store->db, "RELEASE identify", NULL, NULL, NULL);
  return status;
}

static bool is_empty(const struct identity *it) {
  return it->application == 0 && it->version == 0 && it->tables == 0;
}

static enum wo_status check_identity(const struct wo_store *store, const struct identity *it, struct wo_err *err) {
  if (is_empty(it)) return wo__store_refuse(store, WO_E_KIND, err, "is no store of whyoom: it is empty");
  if (it->application != WO__STORE_APPLICATION) {
    return wo__store_refuse(store, WO_E_KIND, err, "is no store of whyoom: it is a database of another program");
  }
  if (it->version != WO__STORE_SCHEMA) {
    return wo__store_refuse(store, WO_E_KIND, err,
                            "is a store of %s version of whyoom (its tables are version %lld, those of this one are %d)",
                            it->version > WO__STORE_SCHEMA ? "a newer" : "another", (long long)it->version, WO__STORE_SCHEMA);
  }
  return WO_OK;
}

/* ---- For reading ---- */

/* Whether changes of the store are in a file beside it, which belongs to what the store holds. */
static bool has_log(const struct wo_store *store) {
  const char *const name = sqlite3_db_filename(store->db, "main");
  char *const log = sqlite3_mprintf("%s-wal", name ? name : store->path);
  struct stat found;
  const bool has = !log || (stat(log, &found) == 0 && found.st_size > 0);
  sqlite3_free(log);
  return has;
}

/* A store that nobody writes, in a folder where the files for locks cannot be made, is read without locks. */
static enum wo_status identify_for_reading(struct wo_store *store, struct identity *ret, struct wo_err *err) {
  const enum wo_status status = identify(store, ret, err);
  if (status == WO_OK || (ret->code != SQLITE_CANTOPEN && ret->code != SQLITE_READONLY)) return status;
  if (has_log(store)) {
    return wo__store_refuse(store, WO_E_IO, err,
                            "has changes in a file beside it (-wal), which can be read only where its folder can be written");
  }
  disconnect(store);
  store->is_immutable = true;
  if (err) *err = (struct wo_err){0};
  const enum wo_status connected = connect(store, err);
  return connected == WO_OK ? identify(store, ret, err) : connected;
}

static enum wo_status open_for_reading(struct wo_store *store, struct wo_err *err) {
  struct identity it;
  enum wo_status status = identify_for_reading(store, &it, err);
  if (status == WO_OK) status = check_identity(store, &it, err);
  if (status == WO_OK) status = set_pragmas(store, err);
  return status == WO_OK ? wo__store_check_columns(store, false, err) : status;
}

/* ---- For writing ---- */

/* Makes a new store whole or not at all; brings one of an older version up to date. Another process may be doing the same. */
static enum wo_status make_or_update(struct wo_store *store, struct wo_err *err) {
  struct identity it;
  enum wo_status status = wo__store_run(store, "BEGIN IMMEDIATE", err);
  if (status == WO_OK) status = identify(store, &it, err);
  if (status == WO_OK) {
    status = is_empty(&it) ? wo__store_make(store, err) : check_identity(store, &it, err);
    if (status == WO_OK) status = wo__store_check_columns(store, true, err);
    if (status == WO_OK) status = wo__store_add_tables(store, err);
    if (status == WO_OK) status = wo__store_make_aids(store, err);
    if (status == WO_OK) status = wo__store_update_views(store, err);
  }
  if (status == WO_OK) return wo__store_run(store, "COMMIT", err);
  sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
  return status;
}

/* Write-ahead logging: others read while one writes, and a killed process leaves whole transactions. Where it cannot be had (the
 * file system, or another process that has the store open), the rollback journal gives the same, but for readers, who wait. */
static enum wo_status set_journal(struct wo_store *store, struct wo_err *err) {
  sqlite3_exec(store->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
  sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
  return wo__store_run(
      store, "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 67108864", err);
}

static enum wo_status open_for_writing(struct wo_store *store, struct wo_err *err) {
  struct identity it;
  enum wo_status status = identify(store, &it, err);
  if (status == WO_OK && !is_empty(&it)) status = check_identity(store, &it, err);
  if (status == WO_OK && sqlite3_db_readonly(store->db, "main") == 1) status = wo__store_fail(store, SQLITE_READONLY, err);
  if (status == WO_OK) status = set_pragmas(store, err);
  if (status == WO_OK) status = make_or_update(store, err);
  return status == WO_OK ? set_journal(store, err) : status;
}

static enum wo_status open_private(struct wo_store *store, struct wo_err *err) {
  enum wo_status status = set_pragmas(store, err);
  if (status == WO_OK) status = wo__store_run(store, "PRAGMA synchronous = OFF", err);
  return status == WO_OK ? make_or_update(store, err) : status;
}

/* ---- All of it ---- */

static enum wo_status check_file(const struct wo_store *store, struct wo_err *err) {
  struct stat found;
  if (store->path[0] == '\0') return wo__store_refuse(store, WO_E_KIND, err, "the name of a store is empty");
  if (stat(store->path, &found) != 0) return WO_OK; /* it may be made; otherwise opening it gives the reason */
  if (S_ISDIR(found.st_mode)) return wo__store_refuse(store, WO_E_KIND, err, "is a folder, no store");
  if (!S_ISREG(found.st_mode)) return wo__store_refuse(store, WO_E_KIND, err, "is not a regular file");
  return WO_OK;
}

static enum wo_status open_store(struct wo_store *store, struct wo_err *err) {
  enum wo_status status = store->path ? check_file(store, err) : WO_OK;
  if (status == WO_OK) status = connect(store, err);
  if (status != WO_OK) return status;
  switch (store->mode) {
  case WO_STORE_READ:
    return open_for_reading(store, err);
  case WO_STORE_WRITE:
    return open_for_writing(store, err);
  default:
    return open_private(store, err);
  }
}

enum wo_status wo_store_open(const char *path, enum wo_store_mode mode, struct wo_store **ret_store, struct wo_err *err) {
  struct wo_store *store = calloc(1, sizeof *store);
  if (!store) return wo_err_nomem(err);
  store->mode = mode;
  if (mode != WO_STORE_PRIVATE && !(store->path = strdup(path))) {
    wo_store_close(store);
    return wo_err_nomem(err);
  }
  const enum wo_status status = open_store(store, err);
  if (status != WO_OK) {
    wo_store_close(store);
    return status;
  }
  *ret_store = store;
  return WO_OK;
}

struct wo_store *wo_store_close(struct wo_store *store) {
  if (!store) return NULL;
  wo_store_rollback(store);
  disconnect(store);
  wo__store_known_done(&store->known);
  free(store->path);
  free(store);
  return NULL;
}
