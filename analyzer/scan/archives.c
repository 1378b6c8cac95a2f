/* SPDX-License-Identifier: Apache-2.0 */
/* Tar archives of a scan: read, ready, kept. See archives.h. */
#include "analyzer/scan/archives.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/pack/tar_pack.h"
#include "parsers/base/limits.h"

/* Archives with their bytes that the walk for accounting leaves to that for jobs. The others are read twice. */
enum { KEPT_MAX = WO_LIMIT_OPEN_ARCHIVES / 2 };

struct wo_archives {
  struct wo_archives_settings settings;
  struct wo_scan_archive *ready, **ready_end;
  struct wo_scan_archive *kept, *read;
  size_t kept_count, read_count;
  size_t open_count;     /* that are not freed */
  struct wo_spool spool; /* of files that stay */
  bool has_spool;
};

enum wo_status wo_archives_new(const struct wo_archives_settings *settings, struct wo_archives **ret_archives) {
  struct wo_archives *const archives = calloc(1, sizeof *archives);
  if (!archives) return WO_E_NOMEM;
  archives->settings = *settings;
  archives->ready_end = &archives->ready;
  *ret_archives = archives;
  return WO_OK;
}

static void free_archive(struct wo_archives *archives, struct wo_scan_archive *archive) {
  archives->open_count--;
  wo_tar_free(archive->tar);
  free(archive->took);
  free(archive);
}

void wo_archives_release(struct wo_archives *archives, struct wo_scan_archive *archive) {
  if (--archive->users == 0) free_archive(archives, archive);
}

static void free_list(struct wo_archives *archives, struct wo_scan_archive *first) {
  while (first) {
    struct wo_scan_archive *const archive = first;
    first = archive->next;
    free_archive(archives, archive);
  }
}

struct wo_archives *wo_archives_free(struct wo_archives *archives) {
  if (!archives) return NULL;
  free_list(archives, archives->ready);
  free_list(archives, archives->kept);
  free_list(archives, archives->read);
  if (archives->has_spool) wo_spool_close(&archives->spool);
  free(archives);
  return NULL;
}

static void make_ready(struct wo_archives *archives, struct wo_scan_archive *archive) {
  archive->next = NULL;
  *archives->ready_end = archive;
  archives->ready_end = &archive->next;
}

struct wo_scan_archive *wo_archives_next(struct wo_archives *archives) {
  struct wo_scan_archive *const archive = archives->ready;
  if (!archive) return NULL;
  archives->ready = archive->next;
  if (!archives->ready) archives->ready_end = &archives->ready;
  archive->next = NULL;
  return archive;
}

/* ---- The list that the store has ---- */

static struct wo_store_archive describe(const struct wo_tar *tar) {
  return (struct wo_store_archive){
      .path = wo_view_of(tar->path), .inode = tar->inode, .size_bytes = tar->size_bytes, .mtime_ns = tar->mtime_ns};
}

/* *ret_found: the archive has its list. A list that cannot be used is as none. */
static enum wo_status find_list(struct wo_archives *archives, struct wo_tar *tar, bool *ret_found, struct wo_err *err) {
  struct wo_arena arena;
  struct wo_view list = {0};
  const struct wo_store_archive wanted = describe(tar);
  *ret_found = false;
  if (!archives->settings.keeps_lists) return WO_OK;
  wo_arena_init(&arena, WO_LIMIT_DATABASE_VALUE_BYTES);
  enum wo_status status = wo_store_find_archive(archives->settings.store, &wanted, &arena, &list, err);
  if (status == WO_OK && list.len > 0) {
    const enum wo_status unpacked = wo_tar_unpack(list, tar);
    *ret_found = unpacked == WO_OK;
    if (unpacked == WO_E_NOMEM) status = wo_err_nomem(err);
  }
  wo_arena_done(&arena);
  return status;
}

/* Only what another reading would find again is kept. */
static enum wo_status keep_list(struct wo_archives *archives, const struct wo_tar *tar, struct wo_err *err) {
  struct wo_text packed = {0};
  enum wo_status status = WO_OK;
  if (!archives->settings.keeps_lists || (tar->status != WO_OK && tar->status != WO_E_SYNTAX)) return WO_OK;
  if (wo_tar_pack(tar, &packed) == WO_OK) {
    struct wo_store_archive archive = describe(tar);
    archive.list = (struct wo_view){packed.ptr, packed.len};
    status = wo_store_put_archive(archives->settings.store, &archive, err);
  }
  wo_text_done(&packed);
  return status;
}

/* ---- Reading ---- */

/* Takes the first archive off a list of which `is_it` is true. */
static struct wo_scan_archive *take_off(struct wo_scan_archive **list,
                                        bool (*is_it)(const struct wo_scan_archive *, const void *), const void *what) {
  while (*list && !is_it(*list, what)) list = &(*list)->next;
  struct wo_scan_archive *const archive = *list;
  if (archive) *list = archive->next;
  return archive;
}

static bool has_path(const struct wo_scan_archive *archive, const void *path) {
  return strcmp(archive->tar->path, path) == 0;
}

static bool has_reading(const struct wo_scan_archive *archive, const void *reading) {
  return archive->reading == reading;
}

/* Sends an archive to the threads. On failure it is the caller's still. */
static enum wo_status send_off(struct wo_archives *archives, struct wo_scan_archive *archive, struct wo_err *err) {
  struct wo_batch *const batch = wo_batch_new();
  struct wo_batch_reading *const work = batch ? calloc(1, sizeof *work) : NULL;
  if (!work) {
    wo_batch_free(batch);
    return wo_err_nomem(err);
  }
  batch->reading = work;
  work->tar = archive->tar;
  work->walk = archives->settings.walk;
  wo_spool_open(&work->spool, archives->settings.temp_folder);
  archive->reading = work;
  archive->next = archives->read;
  archives->read = archive;
  archives->read_count++;
  wo_pool_put(*archives->settings.pool, &batch->item);
  return WO_OK;
}

static struct wo_scan_archive *new_archive(struct wo_archives *archives, const struct wo_walk_file *file, size_t root_len) {
  struct wo_scan_archive *const archive = calloc(1, sizeof *archive);
  if (!archive) return NULL;
  archive->tar = wo_tar_new(file, root_len);
  archive->users = 1;
  if (archive->tar) {
    archives->open_count++;
    return archive;
  }
  free(archive);
  return NULL;
}

enum wo_status wo_archives_meet(struct wo_archives *archives, const struct wo_walk_file *file, size_t root_len,
                                struct wo_err *err) {
  bool is_found = false;
  struct wo_scan_archive *archive = take_off(&archives->kept, has_path, file->path);
  if (archive) {
    archives->kept_count--;
    make_ready(archives, archive);
    return WO_OK;
  }
  archive = new_archive(archives, file, root_len);
  if (!archive) return wo_err_nomem(err);
  enum wo_status status = find_list(archives, archive->tar, &is_found, err);
  if (status == WO_OK && is_found)
    make_ready(archives, archive);
  else if (status == WO_OK)
    status = send_off(archives, archive, err);
  if (status != WO_OK) wo_archives_release(archives, archive);
  return status;
}

enum wo_status wo_archives_take(struct wo_archives *archives, const struct wo_batch *batch, struct wo_err *err) {
  struct wo_scan_archive *const archive = take_off(&archives->read, has_reading, batch->reading);
  archives->read_count--;
  archive->reading = NULL;
  if (archive->is_stopped) {
    wo_archives_release(archives, archive);
    return WO_OK;
  }
  make_ready(archives, archive);
  if (archive->tar->status == WO_E_NOMEM) return wo_err_nomem(err);
  return keep_list(archives, archive->tar, err);
}

/* Its list is made anew, and may be another one by now. */
static enum wo_status read_again(struct wo_archives *archives, struct wo_scan_archive *archive, struct wo_err *err) {
  struct wo_tar *const old = archive->tar;
  const struct wo_walk_file file = {
      .path = old->path, .device = old->device, .inode = old->inode, .size_bytes = old->size_bytes, .mtime_ns = old->mtime_ns};
  struct wo_tar *const tar = wo_tar_new(&file, old->root_len);
  if (!tar) return wo_err_nomem(err);
  archive->tar = tar;
  archive->is_again = true;
  archive->needs_bytes = false;
  wo_tar_free(old);
  return send_off(archives, archive, err);
}

enum wo_status wo_archives_leave(struct wo_archives *archives, struct wo_scan_archive *archive, bool stays, struct wo_err *err) {
  if (archive->needs_bytes && archive->tar->fd < 0 && !archive->is_again) {
    const enum wo_status status = read_again(archives, archive, err);
    if (status != WO_OK) wo_archives_release(archives, archive);
    return status;
  }
  if (stays && archive->tar->fd >= 0 && archives->kept_count < KEPT_MAX) {
    archive->is_again = false;
    archive->next = archives->kept;
    archives->kept = archive;
    archives->kept_count++;
    return WO_OK;
  }
  wo_archives_release(archives, archive);
  return WO_OK;
}

size_t wo_archives_readings(const struct wo_archives *archives) {
  return archives->read_count;
}

bool wo_archives_are_many(const struct wo_archives *archives) {
  return archives->read_count >= archives->settings.threads || archives->open_count >= WO_LIMIT_OPEN_ARCHIVES;
}

void wo_archives_stop(struct wo_archives *archives, int64_t now_ns, int64_t limit_ns) {
  for (struct wo_scan_archive *archive = archives->read; archive; archive = archive->next) {
    const int64_t began_ns = archive->reading->began_ns;
    if (limit_ns > 0 && (began_ns == 0 || now_ns - began_ns <= limit_ns)) continue;
    archive->reading->is_over = 1;
    if (limit_ns == 0) archive->is_stopped = true;
  }
}

enum wo_status wo_archives_keep_file(struct wo_archives *archives, const struct wo_tar *tar, const struct wo_tar_member *member,
                                     struct wo_file_part *ret_part, struct wo_err *err) {
  struct wo_spool *const spool = &archives->spool;
  const uint64_t len = (uint64_t)member->size_bytes;
  if (!archives->has_spool) wo_spool_open(spool, archives->settings.temp_folder);
  archives->has_spool = true;
  *ret_part = (struct wo_file_part){spool->fd, spool->len, len};
  if (tar->fd >= 0) return wo_spool_copy(spool, tar->fd, member->at, len, err);
  return wo_spool_add(spool, wo_view_sub(tar->kept, (size_t)member->at, (size_t)(member->at + len)), err);
}
