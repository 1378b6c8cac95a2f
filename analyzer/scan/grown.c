/* SPDX-License-Identifier: Apache-2.0 */
/* See grown.h. */
#include "analyzer/scan/grown.h"

#include <stdlib.h>

#include "analyzer/pack/job_pack.h"
#include "analyzer/scan/read_job.h"
#include "parsers/base/limits.h"

/* What is before the last '-' of a version decides about evidence. */
static struct wo_view patterns_of(struct wo_view rules) {
  const size_t end = wo_view_find_last(rules, WO_VIEW("-"), rules.len);
  return wo_view_sub(rules, 0, end == WO_NOT_FOUND ? rules.len : end);
}

void wo_grown_begin(struct wo_grown *grown, const struct wo_store_kept *kept, struct wo_view rules, size_t file_count) {
  *grown = (struct wo_grown){.kept = kept, .patterns = patterns_of(rules), .file_count = file_count};
}

/* Whether the file is the one that was read before, with something behind it or without. One of the same size that was written
 * since holds other bytes. */
static bool is_grown(const struct wo_store_file *was, const struct wo_store_file *now) {
  const bool is_larger = now->size_bytes > was->size_bytes;
  const bool is_unchanged = now->size_bytes == was->size_bytes && now->mtime_ns == was->mtime_ns;
  return wo_view_equal(was->path, now->path) && was->inode == now->inode && (is_larger || is_unchanged) &&
         was->head_hash == now->head_hash && now->head_hash != 0;
}

/* Reads the bookmark of the file, if there is one. */
static bool find_bookmark(const struct wo_grown *grown, const struct wo_store_file *file, struct wo_bookmark *ret) {
  const struct wo_store_kept *const kept = grown->kept;
  const struct wo_bookmark_of of = {.evidence = kept->evidence, .rules = grown->patterns};
  for (size_t i = 0; i < kept->file_count; i++) {
    if (is_grown(&kept->files[i], file)) return wo_bookmark_unpack(kept->files[i].bookmark, &of, ret);
  }
  return false;
}

static void restore_before(struct wo_grown *grown, const struct wo_pack *pack) {
  if (grown->before || grown->is_damaged) return;
  grown->is_damaged = wo_job_unpack(grown->kept->evidence, pack, &grown->before, NULL) != WO_OK;
}

/* Packs a new bookmark; one that does not fit is left out. */
static void pack(struct wo_grown *grown, size_t at, struct wo_bookmark *bookmark) {
  if (!grown->packed) grown->packed = calloc(grown->file_count, sizeof *grown->packed);
  if (bookmark->state.len > 0 && grown->packed) {
    struct wo_text *const packed = &grown->packed[at];
    const bool is_good = wo_bookmark_pack(bookmark, packed) == WO_OK && !packed->is_failed;
    if (!is_good || grown->packed_bytes + packed->len > WO_LIMIT_BOOKMARKS_BYTES) wo_text_done(packed);
    grown->packed_bytes += packed->len;
  }
  wo_bookmark_done(bookmark);
}

bool wo_grown_read(struct wo_grown *grown, struct wo_job *job, size_t at, const struct wo_store_file *file, const char *path,
                   const volatile sig_atomic_t *is_up, struct wo_text *errors) {
  if (file->size_bytes < WO_LIMIT_BOOKMARK_FILE_BYTES) return wo_read_path(job, path, is_up, errors);
  struct wo_bookmarker marker;
  struct wo_bookmark from = {0}, to;
  const bool is_marked = find_bookmark(grown, file, &from);
  if (is_marked) restore_before(grown, job->pack);
  wo_bookmark_begin(&marker, path, (uint64_t)file->size_bytes, is_marked ? &from : NULL, grown->before);
  job->reader = &marker.reader;
  const bool is_good = wo_read_path(job, path, is_up, errors);
  job->reader = NULL;
  wo_bookmark_end(&marker, job, &to);
  wo_bookmark_done(&from);
  pack(grown, at, &to);
  return is_good;
}

void wo_grown_keep(const struct wo_grown *grown, struct wo_view evidence, struct wo_store_file *files, struct wo_arena *arena) {
  enum { BESIDE = 1024 * 1024 }; /* for the row */
  const struct wo_bookmark_of of = {.evidence = evidence, .rules = grown->patterns};
  char front[WO_BOOKMARK_OF_BYTES];
  if (!grown->packed || evidence.len == 0) return;
  wo_bookmark_of_bytes(&of, front);
  for (size_t i = 0; i < grown->file_count; i++) {
    const struct wo_text *const packed = &grown->packed[i];
    if (packed->len == 0 || packed->len + BESIDE > arena->cap_bytes - arena->used_bytes) continue;
    const struct wo_view parts[] = {{front, sizeof front}, {packed->ptr, packed->len}};
    files[i].bookmark = wo_arena_join(arena, parts, 2);
  }
}

void wo_grown_done(struct wo_grown *grown) {
  for (size_t i = 0; grown->packed && i < grown->file_count; i++) wo_text_done(&grown->packed[i]);
  free(grown->packed);
  wo_job_free(grown->before);
}
