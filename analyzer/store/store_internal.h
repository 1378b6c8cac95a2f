/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of a store: the connection, its statements, and how a failure becomes a message. Shared by the files of this room. */
#ifndef WO_STORE_INTERNAL_H
#define WO_STORE_INTERNAL_H

#include <sqlite3.h>

#include "analyzer/store/store.h"
#include "parsers/base/text.h"

/* Written into the file: who made it ("whyo"), and the version of its tables. */
#define WO__STORE_APPLICATION 0x7768796f
#define WO__STORE_SCHEMA 1

/* Statements that are kept, prepared when they are first used. WO__STATEMENT(name, sql); $columns and $values stand for the
 * columns of a row (store_statement.c). */
#define WO__STATEMENT_MAP(X)                                                                                                     \
  X(BEGIN_WRITE, "BEGIN IMMEDIATE")                                                                                              \
  X(BEGIN_READ, "BEGIN")                                                                                                         \
  X(COMMIT, "COMMIT")                                                                                                            \
  X(ROLLBACK, "ROLLBACK")                                                                                                        \
  X(FIND, "SELECT id FROM job WHERE path = ?1")                                                                                  \
  X(COMPARE, "SELECT j.rules, f.path, f.inode, f.size_bytes, f.mtime_ns, f.is_unread"                                            \
             " FROM job j LEFT JOIN file f ON f.job = j.id WHERE j.path = ?1 ORDER BY f.at")                                     \
  X(PUT, "INSERT OR REPLACE INTO job (id, rules, scan, $columns) VALUES (?1, ?2, ?3, $values)")                                  \
  X(PUT_FILE, "INSERT INTO file (job, at, path, device, inode, size_bytes, mtime_ns, head_hash, is_unread)"                      \
              " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")                                                                    \
  X(PUT_NODE, "INSERT OR IGNORE INTO job_node (job, node) VALUES (?1, ?2)")                                                      \
  X(PUT_KNOWN, "INSERT OR REPLACE INTO known (job, digest) VALUES (?1, ?2)")                                                     \
  X(KNOWN, "SELECT j.path, k.digest FROM job j CROSS JOIN known k ON k.job = j.id WHERE j.path >= ?1 ORDER BY j.path")           \
  X(PUT_EVIDENCE, "INSERT INTO evidence (job, data) VALUES (?1, ?2)")                                                            \
  X(PUT_BOOKMARK, "INSERT OR REPLACE INTO bookmark (job, at, data) VALUES (?1, ?2, ?3)")                                         \
  X(BOOKMARKS, "SELECT j.id, j.rules, f.path, f.inode, f.size_bytes, f.mtime_ns, f.head_hash, b.data"                            \
               " FROM job j JOIN bookmark b ON b.job = j.id JOIN file f ON f.job = b.job AND f.at = b.at"                        \
               " WHERE j.path = ?1 AND NOT f.is_unread ORDER BY b.at")                                                           \
  X(DROP_BOOKMARKS, "DELETE FROM bookmark WHERE job = ?1")                                                                       \
  X(DROP_FILES, "DELETE FROM file WHERE job = ?1")                                                                               \
  X(DROP_NODES, "DELETE FROM job_node WHERE job = ?1")                                                                           \
  X(DROP_KNOWN, "DELETE FROM known WHERE job = ?1")                                                                              \
  X(DROP_EVIDENCE, "DELETE FROM evidence WHERE job = ?1")                                                                        \
  X(PUT_PROBLEM, "INSERT OR REPLACE INTO problem (path, message, scan) VALUES (?1, ?2, ?3)")                                     \
  X(DROP_OLD_PROBLEMS, "DELETE FROM problem WHERE scan IN (SELECT id FROM scan WHERE roots = ?1 AND id <> ?2)")                  \
  X(DROP_PROBLEM, "DELETE FROM problem WHERE path = ?1")                                                                         \
  X(PUT_ARCHIVE, "INSERT OR REPLACE INTO archive (path, inode, size_bytes, mtime_ns, list) VALUES (?1, ?2, ?3, ?4, ?5)")         \
  X(FIND_ARCHIVE, "SELECT list FROM archive WHERE path = ?1 AND inode = ?2 AND size_bytes = ?3 AND mtime_ns = ?4")               \
  X(FILES, "SELECT path, device, inode, size_bytes, mtime_ns, head_hash, is_unread FROM file WHERE job = ?1 ORDER BY at")        \
  X(EVIDENCE, "SELECT data FROM evidence WHERE job = ?1")                                                                        \
  X(BEGIN_SCAN, "INSERT INTO scan (roots, shard, shard_count, rules, start_ns, origin)"                                          \
                " VALUES (?1, ?2, ?3, ?4, ?5, (SELECT value FROM meta WHERE key = 'origin'))")                                   \
  X(NUMBER_SCAN, "UPDATE scan SET number = id WHERE id = ?1")                                                                    \
  X(PUT_TALLY, "INSERT INTO temp.tally VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")                                                 \
  X(END_SCAN, "UPDATE scan SET end_ns = ?2, jobs = ?3, files = ?4, bytes = ?5 WHERE id = ?1")

enum wo__store_statement {
#define WO__STATEMENT_ENUM(name, sql) WO__STORE_##name,
  WO__STATEMENT_MAP(WO__STATEMENT_ENUM)
#undef WO__STATEMENT_ENUM
      WO__STORE_STATEMENT_COUNT_
};

/* Digests of the jobs of one folder (store_known.c): a set. */
struct wo__store_known {
  int64_t *digests; /* by their own lowest bits; 0: free */
  size_t count, room;
  struct wo_text folder;
  bool is_read; /* `folder` was */
};

struct wo_store {
  sqlite3 *db;
  char *path; /* NULL of a private store */
  enum wo_store_mode mode;
  bool is_immutable;   /* read without locks, because its folder cannot be written */
  bool is_transaction; /* begun and not ended by the caller */
  bool is_broken;      /* something in the transaction failed: it can only be undone */
  enum wo_status last_failure;
  int64_t scan; /* that was begun last; 0: none */
  struct {
    wo_store_test_fn fn;
    void *context;
  } test;         /* of questions */
  bool has_known; /* it has the table of digests */
  struct wo__store_known known;
  sqlite3_stmt *statements[WO__STORE_STATEMENT_COUNT_];
};

/* ---- store_error.c ---- */

/* Notes that SQLite failed with `code`: fills *err with a message and the store's path, and marks an open transaction. Returns
 * WO_E_NOMEM, WO_E_KIND (no database) or WO_E_IO. */
enum wo_status wo__store_fail(struct wo_store *store, int code, struct wo_err *err);

/* The same for a failure of another store that is merged into this one: its path is the place. */
enum wo_status wo__store_fail_as(struct wo_store *store, const struct wo_store *other, int code, struct wo_err *err);

/* Fills *err with a message about the store, and its path. Returns status. */
enum wo_status wo__store_refuse(const struct wo_store *store, enum wo_status status, struct wo_err *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- store_statement.c ---- */

/* All statements of SQL may hold $columns ("path", ...), $values (?, ...), $of_s (s."path", ...) and $definitions ("path" TEXT,
 * ...), which stand for the columns of a row. */

/* The prepared statement, reset and without values; NULL after a failure that *err names. */
sqlite3_stmt *wo__store_statement(struct wo_store *store, enum wo__store_statement which, struct wo_err *err);

/* Prepares `sql`, to be released with sqlite3_finalize. NULL after a failure that *err names. */
sqlite3_stmt *wo__store_prepare(struct wo_store *store, const char *sql, struct wo_err *err);

/* Gives a parameter its value. Texts must stay until the statement was run. An empty text / an unknown number is NULL with
 * `null_if_empty` / always. */
void wo__store_bind_text(sqlite3_stmt *statement, int at, struct wo_view text);
void wo__store_bind_known_text(sqlite3_stmt *statement, int at, struct wo_view text);
void wo__store_bind_number(sqlite3_stmt *statement, int at, int64_t number);

/* The values of the row that a statement stands on. */
struct wo_view wo__store_text(sqlite3_stmt *statement, int at);
int64_t wo__store_number(sqlite3_stmt *statement, int at);

/* Runs a statement that gives no rows, and resets it. */
enum wo_status wo__store_step(struct wo_store *store, sqlite3_stmt *statement, struct wo_err *err);

/* Runs statements that give no rows, expanded. */
enum wo_status wo__store_run(struct wo_store *store, const char *sql, struct wo_err *err);

/* The first number of the answer; 0 if there is none. */
enum wo_status wo__store_ask_number(struct wo_store *store, const char *sql, int64_t *ret_number, struct wo_err *err);

/* ---- store_read.c ---- */

/* How the version of the rules that diagnosed a job compares with the present one: SAME, OLD_RULES or OLD_PATTERNS. */
enum wo_store_fresh wo__store_compare_rules(struct wo_view kept, struct wo_view now);

/* ---- store_bookmark.c ---- */

/* Puts a file's bookmark, if it has one. */
enum wo_status wo__store_put_bookmark(struct wo_store *store, int64_t job, size_t at, struct wo_view bookmark,
                                      struct wo_err *err);

/* ---- store_write.c ---- */

/* Ends the transaction of changes that are whole in any case: with is_own (it was begun for them) it is committed, or undone if
 * `status` is a failure; otherwise it is the caller's, and nothing is done. Returns status, or the failure of the commit. */
enum wo_status wo__store_end_own(struct wo_store *store, bool is_own, enum wo_status status, struct wo_err *err);

/* ---- store_known.c ---- */

/* Keeps a digest of a job, by its path, files and rules. Nothing for one that has a file that could not be read. */
enum wo_status wo__store_put_known(struct wo_store *store, int64_t id, struct wo_view path, const struct wo_store_file *files,
                                   size_t count, struct wo_view rules, struct wo_err *err);

void wo__store_known_done(struct wo__store_known *known);

/* ---- store_schema.c ---- */

/* Makes the tables and views of a new store. In a transaction. */
enum wo_status wo__store_make(struct wo_store *store, struct wo_err *err);

/* Makes what makes questions faster and is not there, since an older version made the store. In a transaction. */
enum wo_status wo__store_make_aids(struct wo_store *store, struct wo_err *err);

/* Holds the columns of the table `job` against those of rows. With `may_add` (in a transaction) those that are missing are added.
 * WO_E_KIND: columns are missing, or some are not known. */
enum wo_status wo__store_check_columns(struct wo_store *store, bool may_add, struct wo_err *err);

/* Makes the tables that stores of older versions do not have. In a transaction. */
enum wo_status wo__store_add_tables(struct wo_store *store, struct wo_err *err);

/* Makes the views anew if another version of whyoom made them. In a transaction. */
enum wo_status wo__store_update_views(struct wo_store *store, struct wo_err *err);

/* ---- store_open.c ---- */

/* "file:..." for a path, with the parameters of a mode, to be released with sqlite3_free; NULL: memory is out. */
char *wo__store_uri(const char *path, enum wo_store_mode mode, bool is_immutable);

#endif
