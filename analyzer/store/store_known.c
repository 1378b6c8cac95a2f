/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that are as the store knows them, told by one number each.
 *
 * A scan of an archive in which nothing changed asks for each job. Looking up its row and its files would be most of such a scan;
 * so the digests of a folder's jobs are read in one go, in the order of the index, when its first job comes. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/store/store_internal.h"
#include "parsers/base/limits.h"

/* ---- Digests ---- */

/* The device is left out, as it is in comparisons. A digest of 0 stands for none. */
static int64_t digest_of(struct wo_view path, const struct wo_store_file *files, size_t count, struct wo_view rules) {
  uint64_t hash = wo_view_hash(WO_HASH_START, rules);
  if (count == 0 || !wo_view_equal(files[0].path, path)) hash = wo_view_hash(hash, path);
  for (size_t i = 0; i < count; i++) {
    hash = wo_hash_number(wo_view_hash(hash, files[i].path), files[i].path.len);
    hash = wo_hash_number(hash, files[i].inode);
    hash = wo_hash_number(hash, (uint64_t)files[i].size_bytes);
    hash = wo_hash_number(hash, (uint64_t)files[i].mtime_ns);
  }
  return hash == 0 ? 1 : (int64_t)hash;
}

enum wo_status wo__store_put_known(struct wo_store *store, int64_t id, struct wo_view path, const struct wo_store_file *files,
                                   size_t count, struct wo_view rules, struct wo_err *err) {
  for (size_t i = 0; i < count; i++) {
    if (files[i].is_unread) return WO_OK;
  }
  sqlite3_stmt *const put = wo__store_statement(store, WO__STORE_PUT_KNOWN, err);
  if (put) sqlite3_bind_int64(put, 1, id);
  if (put) sqlite3_bind_int64(put, 2, digest_of(path, files, count, rules));
  return wo__store_step(store, put, err);
}

/* ---- Those of a folder ---- */

static bool has_digest(const struct wo__store_known *known, int64_t digest) {
  if (known->room == 0) return false;
  size_t at = (uint64_t)digest & (known->room - 1);
  while (known->digests[at] != 0 && known->digests[at] != digest) at = (at + 1) & (known->room - 1);
  return known->digests[at] == digest;
}

static void add_digest(struct wo__store_known *known, int64_t digest) {
  size_t at = (uint64_t)digest & (known->room - 1);
  while (known->digests[at] != 0 && known->digests[at] != digest) at = (at + 1) & (known->room - 1);
  known->count += known->digests[at] == 0;
  known->digests[at] = digest;
}

/* False: no memory. The room is a power of two. */
static bool grow(struct wo__store_known *known) {
  struct wo__store_known grown = {.room = known->room > 0 ? 2 * known->room : 64};
  grown.digests = calloc(grown.room, sizeof *grown.digests);
  if (!grown.digests) return false;
  for (size_t i = 0; i < known->room; i++) {
    if (known->digests[i] != 0) add_digest(&grown, known->digests[i]);
  }
  free(known->digests);
  known->digests = grown.digests;
  known->room = grown.room;
  return true;
}

/* The text behind a folder within it, in the order of bytes: '0' is what comes after '/'. Empty without memory. */
static struct wo_view end_of(struct wo_text *text, struct wo_view folder) {
  text->len = 0;
  wo_text_add_view(text, folder);
  wo_text_add_view(text, WO_VIEW("0"));
  return text->is_failed ? (struct wo_view){0} : (struct wo_view){text->ptr, text->len};
}

/* Steps over jobs from a place on, as far as they are of the folder itself. Returns SQLite's last code: SQLITE_ROW if it stands
 * on a job in another folder within this one, SQLITE_DONE at the end. */
static int read_run(struct wo__store_known *known, struct wo_view folder, sqlite3_stmt *rows) {
  int code;
  while ((code = sqlite3_step(rows)) == SQLITE_ROW) {
    const struct wo_view path = wo__store_text(rows, 0);
    if (path.len <= folder.len || memcmp(path.ptr, folder.ptr, folder.len) != 0) return SQLITE_DONE;
    if (wo_view_find_char(path, '/', folder.len) != WO_NOT_FOUND) return SQLITE_ROW;
    if (2 * (known->count + 1) > known->room && !grow(known)) return SQLITE_NOMEM;
    add_digest(known, sqlite3_column_int64(rows, 1));
  }
  return code;
}

static enum wo_status read_folder(struct wo_store *store, struct wo_view folder, struct wo_err *err) {
  sqlite3_stmt *const rows = wo__store_statement(store, WO__STORE_KNOWN, err);
  if (!rows) return store->last_failure;
  struct wo_text from = {0};
  wo__store_bind_text(rows, 1, folder);
  int code;
  while ((code = read_run(&store->known, folder, rows)) == SQLITE_ROW) {
    const struct wo_view path = wo__store_text(rows, 0);
    const struct wo_view next = end_of(&from, wo_view_sub(path, 0, wo_view_find_char(path, '/', folder.len)));
    sqlite3_reset(rows);
    if (next.len == 0) code = SQLITE_NOMEM;
    if (next.len == 0) break;
    wo__store_bind_text(rows, 1, next);
  }
  sqlite3_reset(rows);
  wo_text_done(&from);
  return code == SQLITE_DONE ? WO_OK : wo__store_fail(store, code, err);
}

static void forget(struct wo__store_known *known) {
  if (known->room > 0) memset(known->digests, 0, known->room * sizeof *known->digests);
  known->count = 0;
  known->folder.len = 0;
}

void wo__store_known_done(struct wo__store_known *known) {
  free(known->digests);
  wo_text_done(&known->folder);
  *known = (struct wo__store_known){0};
}

/* Digests of a large folder are given back before those of the next one. */
static enum wo_status go_to(struct wo_store *store, struct wo_view folder, struct wo_err *err) {
  struct wo__store_known *const known = &store->known;
  const struct wo_view present = {known->folder.ptr, known->folder.len};
  if (known->is_read && wo_view_equal(present, folder)) return WO_OK;
  if (known->count > 0 && known->room > 4096) wo__store_known_done(known);
  forget(known);
  known->is_read = false;
  wo_text_add_view(&known->folder, folder);
  if (known->folder.is_failed) return wo__store_fail(store, SQLITE_NOMEM, err);
  const enum wo_status status = read_folder(store, folder, err);
  known->is_read = status == WO_OK;
  return status;
}

enum wo_status wo_store_knows(struct wo_store *store, struct wo_view path, const struct wo_store_file *files, size_t count,
                              struct wo_view rules, bool *ret_is_known, struct wo_err *err) {
  size_t folder_len = path.len;
  while (folder_len > 0 && path.ptr[folder_len - 1] != '/') folder_len--;
  const struct wo_view folder = wo_view_sub(path, 0, folder_len);
  *ret_is_known = false;
  const enum wo_status status = store->has_known ? go_to(store, folder, err) : WO_OK;
  if (status == WO_OK) *ret_is_known = has_digest(&store->known, digest_of(path, files, count, rules));
  return status;
}
