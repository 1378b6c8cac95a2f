/* SPDX-License-Identifier: Apache-2.0 */
/* A store of jobs: one SQLite file (docs/store.md has its tables and views), or a private one that ends with the call.
 *
 * The rows of a store are all that reports over many jobs are made of: a report does not depend on how and in which order the
 * rows came into it. Changes are made in transactions, so that a process that is killed leaves what was committed, and nothing in
 * part. Memory is bounded whatever the number of jobs. A store must not be used by two threads at once; several processes may
 * read a file while one writes it. */
#ifndef WO_STORE_H
#define WO_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/row/row.h"
#include "parsers/base/status.h"

struct wo_store;

enum wo_store_mode {
  WO_STORE_PRIVATE, /* no file: the path is not looked at */
  WO_STORE_WRITE,   /* made if it is not there */
  WO_STORE_READ
};

/* Opens a store. WO_E_IO: the file cannot be opened or written; WO_E_KIND: it is no store of whyoom, or one of a newer version;
 * WO_E_NOMEM. The message says what to do. */
enum wo_status wo_store_open(const char *path, enum wo_store_mode mode, struct wo_store **ret_store, struct wo_err *err);

/* Ends an open transaction without its changes, and closes. NULL allowed; returns NULL. */
struct wo_store *wo_store_close(struct wo_store *store);

/* All further functions give WO_E_IO (disk full, file damaged, busy for too long) or WO_E_NOMEM; the transaction is then still
 * open, and can only be undone. */
enum wo_status wo_store_begin(struct wo_store *store, struct wo_err *err);
enum wo_status wo_store_commit(struct wo_store *store, struct wo_err *err);

/* Undoes an open transaction. Without one, nothing. */
void wo_store_rollback(struct wo_store *store);

/* ---- Scans ---- */

/* One run of `whyoom scan`, over a shard of an archive or all of it (shard 0 of 1). */
struct wo_store_scan {
  int64_t id;           /* set by wo_store_begin_scan */
  struct wo_view roots; /* the folders as they were named, one a line */
  uint32_t shard, shard_count;
  struct wo_view rules;     /* version of the rules (a hash) */
  int64_t start_ns, end_ns; /* end_ns WO_ROW_UNKNOWN: it did not end */
  int64_t jobs, files, bytes;
};

/* Adds a scan that begins, and forgets the problems of earlier scans of the same roots / notes that it has ended, with its
 * figures. */
enum wo_status wo_store_begin_scan(struct wo_store *store, struct wo_store_scan *scan, struct wo_err *err);
enum wo_status wo_store_end_scan(struct wo_store *store, const struct wo_store_scan *scan, struct wo_err *err);

/* ---- Jobs ---- */

/* A file of a job as it was when it was read. */
struct wo_store_file {
  struct wo_view path; /* any bytes but NUL */
  uint64_t device, inode;
  int64_t size_bytes, mtime_ns;
  uint64_t head_hash; /* of its first bytes (WO_LIMIT_HEAD_HASH_BYTES); 0 where nothing was read */
  bool is_unread;     /* it could not be read to its end */
  struct wo_view
      bookmark; /* from which its reading can go on (analyzer/pack/bookmark.h); empty: none. wo_store_files gives none */
};

struct wo_store_job {
  struct wo_row row;
  const struct wo_store_file *files;
  size_t file_count;
  struct wo_view evidence; /* packed; empty: none is kept */
  struct wo_view rules;    /* version of the rules that diagnosed it */
};

/* How a job's files compare with those that the store has. */
enum wo_store_fresh {
  WO_STORE_NEW,       /* the store does not have the job */
  WO_STORE_CHANGED,   /* a file is new, gone, or its content another */
  WO_STORE_APPENDED,  /* files are larger (whether by what was appended is for the caller to see) */
  WO_STORE_OLD_RULES, /* the files are the same; other rules diagnosed it, and the evidence that is kept can be diagnosed again */
  WO_STORE_OLD_PATTERNS, /* the files are the same; other patterns looked for evidence in them */
  WO_STORE_SAME
};

/* Compares. `path` is the key of the row; only paths, inodes, sizes and times of `files` are looked at, in any order. The device
 * is not: each node that mounts a network file system has another. A file that could not be read has changed, because its rights
 * may have, which neither its size nor its time shows. In a transaction this is twice as fast.
 *
 * Versions of rules are "PATTERNS-REST" (wo_pack_version): what is before the last '-' decides about evidence. */
enum wo_status wo_store_compare(struct wo_store *store, struct wo_view path, const struct wo_store_file *files, size_t count,
                                struct wo_view rules, enum wo_store_fresh *ret_fresh, struct wo_err *err);

/* Whether a comparison would say WO_STORE_SAME, at a small part of its cost; false: it has to be made. Files in the order in
 * which they were put. What the store knows of a folder is read when the first job of it comes, so that jobs of one folder are to
 * come one after the other; those that are put afterwards are not seen. */
enum wo_status wo_store_knows(struct wo_store *store, struct wo_view path, const struct wo_store_file *files, size_t count,
                              struct wo_view rules, bool *ret_is_known, struct wo_err *err);

/* Puts a job in place of the one with the same path. */
enum wo_status wo_store_put(struct wo_store *store, const struct wo_store_job *job, struct wo_err *err);

/* Puts a row in place of the one with the same path, which must be there (WO_E_UNKNOWN), and keeps its files and evidence: that
 * was diagnosed again. */
enum wo_status wo_store_put_row(struct wo_store *store, const struct wo_row *row, struct wo_view rules, struct wo_err *err);

/* Notes a file or folder that could not be read and belongs to no job / forgets that note. */
enum wo_status wo_store_put_problem(struct wo_store *store, struct wo_view path, struct wo_view message, struct wo_err *err);
enum wo_status wo_store_drop_problem(struct wo_store *store, struct wo_view path, struct wo_err *err);

/* A tar archive as it was when it was read, and the packed list of what is in it. */
struct wo_store_archive {
  struct wo_view path;
  uint64_t inode;
  int64_t size_bytes, mtime_ns;
  struct wo_view list;
};

/* Puts the list in place of the one for the same path / finds the list of the archive as it is now, in the arena; empty if there
 * is none. */
enum wo_status wo_store_put_archive(struct wo_store *store, const struct wo_store_archive *archive, struct wo_err *err);
enum wo_status wo_store_find_archive(struct wo_store *store, const struct wo_store_archive *archive, struct wo_arena *arena,
                                     struct wo_view *ret_list, struct wo_err *err);

/* Forgets jobs that ended before a time, with all that belongs to them; *ret_count is their number. Jobs whose end is not known
 * stay. */
enum wo_status wo_store_forget(struct wo_store *store, int64_t before_ns, int64_t *ret_count, struct wo_err *err);

/* Calls fn for each job, in the order of paths (bytes), with the row (valid during the call), until it returns false. `where` is
 * a condition in SQL over the table `job`, a constant of the caller; NULL: all jobs. fn must not change the store. Texts are as
 * the file holds them, and the file may come from anywhere: they are to be cleaned on their way out. */
typedef bool (*wo_store_row_fn)(void *context, int64_t id, const struct wo_row *row);
enum wo_status wo_store_each(struct wo_store *store, const char *where, wo_store_row_fn fn, void *context, struct wo_err *err);

/* The id of the job whose row has that path; WO_ROW_UNKNOWN: there is none. Ids stay when a job is put again. */
enum wo_status wo_store_find(struct wo_store *store, struct wo_view path, int64_t *ret_id, struct wo_err *err);

/* The files of a job, in the order in which they were put, in the arena. */
enum wo_status wo_store_files(struct wo_store *store, int64_t id, struct wo_arena *arena, const struct wo_store_file **ret_files,
                              size_t *ret_count, struct wo_err *err);

/* The evidence of a job, in the arena; empty if there is none. */
enum wo_status wo_store_evidence(struct wo_store *store, int64_t id, struct wo_arena *arena, struct wo_view *ret_evidence,
                                 struct wo_err *err);

/* What is kept of a job whose files may have grown: those of them that have a bookmark, and its evidence. */
struct wo_store_kept {
  struct wo_store_file *files;
  size_t file_count;
  struct wo_view evidence;
};

/* Finds that of the job whose row has that path, in the arena. Nothing, if the job is not there, has no bookmark, was read with
 * other patterns than `rules`, or has more than the arena has room for. */
enum wo_status wo_store_bookmarks(struct wo_store *store, struct wo_view path, struct wo_view rules, struct wo_arena *arena,
                                  struct wo_store_kept *ret_kept, struct wo_err *err);

/* ---- Questions ---- */

/* One value of an answer. */
struct wo_store_value {
  enum { WO_STORE_NULL, WO_STORE_NUMBER, WO_STORE_REAL, WO_STORE_TEXT } type;
  int64_t number;
  double real;
  struct wo_view text; /* valid during the call */
};

/* Most columns of an answer. */
#define WO_STORE_ANSWER_COLUMNS 64

/* Runs one statement of SQL that reads, a constant of the caller, with `texts` bound to ?1, ?2, ...; calls fn for each row of the
 * answer, until it returns false. */
typedef bool (*wo_store_answer_fn)(void *context, const struct wo_store_value *values, size_t count);
enum wo_status wo_store_ask(struct wo_store *store, const char *sql, const struct wo_view *texts, size_t text_count,
                            wo_store_answer_fn fn, void *context, struct wo_err *err);

/* ---- Tallies: sums over jobs that the caller makes while it reads them, and asks about afterwards ---- */

/* Sums of some jobs. There may be several with the same list and key: their sums are to be added, and of their examples the first
 * one counts. */
struct wo_store_tally {
  int list;
  struct wo_view key, detail, example; /* an empty example is NULL */
  int64_t jobs, failed, lost_s, lost_unknown;
};

/* Makes the table `tally` (list, key, detail, example, jobs, failed, lost, unknown) empty for tallies that follow, also while the
 * jobs are being read / says that all were put. The table is beside the store, in memory or a temporary file, and ends with the
 * call; also where the store is only read. */
enum wo_status wo_store_begin_tallies(struct wo_store *store, struct wo_err *err);
enum wo_status wo_store_put_tally(struct wo_store *store, const struct wo_store_tally *tally, struct wo_err *err);
enum wo_status wo_store_end_tallies(struct wo_store *store, struct wo_err *err);

/* Makes `passes(A, B, C, D)` a condition in questions: fn looks at four texts, which are empty for NULL. NULL: there is no such
 * condition any more. The context must stay until then. */
enum { WO_STORE_TEST_TEXTS = 4 };
typedef bool (*wo_store_test_fn)(void *context, const struct wo_view texts[WO_STORE_TEST_TEXTS]);
enum wo_status wo_store_set_test(struct wo_store *store, wo_store_test_fn fn, void *context, struct wo_err *err);

/* ---- Merging ---- */

/* Copies everything of the store at `path` into this one, in one transaction. A job that both have is kept as the later scan
 * diagnosed it, so that the order of merges does not matter; merging a store again brings what it has got since. The scans of
 * both are kept. Not in a transaction. A store that is damaged, of another version or the same one (WO_E_USAGE) is named by the
 * error's place; nothing of it is kept then. */
enum wo_status wo_store_merge(struct wo_store *store, const char *path, struct wo_err *err);

/* What is wrong with a shard of a scan that several processes share. */
enum wo_store_shard_state {
  WO_STORE_SHARD_MISSING, /* no scan of it is in the store */
  WO_STORE_SHARD_STOPPED, /* its last scan did not end */
  WO_STORE_SHARD_TWICE,   /* two stores have scanned it since each other shard was scanned last */
  WO_STORE_SHARD_BEHIND   /* most other shards have been scanned once more since, and it was not */
};

/* Shards first to last of one scan, by what the store knows: scans with the same folders and number of shards belong together,
 * however often they ran, because each scan of a shard brings it up to date. A scan that is not shared is shard 0 of 1. */
struct wo_store_shards {
  struct wo_view roots; /* valid during the call */
  uint32_t first, last, shard_count;
  enum wo_store_shard_state state;
  int64_t start_ns; /* of the last scan of `first`; WO_ROW_UNKNOWN for those that are missing */
};

/* Calls fn for all shards with which something is wrong, by folders and number, until it returns false. A way of dividing folders
 * is left out once a later one, or a scan of them by one process, has come to its end with all shards. */
typedef bool (*wo_store_shards_fn)(void *context, const struct wo_store_shards *shards);
enum wo_status wo_store_check_shards(struct wo_store *store, wo_store_shards_fn fn, void *context, struct wo_err *err);

#endif
