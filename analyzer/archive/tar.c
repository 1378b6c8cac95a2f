/* SPDX-License-Identifier: Apache-2.0 */
/* Tar archives to lists of files. See tar.h. */
#include "analyzer/archive/tar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/archive/select.h"
#include "analyzer/files/grouping.h"
#include "analyzer/files/names.h"
#include "parsers/base/input/input.h"
#include "parsers/base/limits.h"
#include "parsers/base/text.h"
#include "parsers/base/vec.h"

struct wo_tar *wo_tar_new(const struct wo_walk_file *file, size_t root_len) {
  struct wo_tar *const tar = calloc(1, sizeof *tar);
  if (!tar) return NULL;
  *tar = (struct wo_tar){.path = strdup(file->path),
                         .root_len = root_len,
                         .device = file->device,
                         .inode = file->inode,
                         .size_bytes = file->size_bytes,
                         .mtime_ns = file->mtime_ns,
                         .fd = -1};
  wo_arena_init(&tar->arena, WO_LIMIT_FOLDER_BYTES);
  return tar->path ? tar : wo_tar_free(tar);
}

struct wo_tar *wo_tar_free(struct wo_tar *tar) {
  if (!tar) return NULL;
  if (tar->fd >= 0) close(tar->fd);
  wo_arena_done(&tar->arena);
  free(tar->items);
  free(tar->path);
  free(tar);
  return NULL;
}

/* ---- The list ---- */

enum wo_status wo_tar_add(struct wo_tar *tar, const struct wo_tar_member *member, struct wo_err *err) {
  WO_VEC(struct wo_tar_member) items = {tar->items, tar->count, tar->capacity};
  if (tar->count == WO_LIMIT_FOLDER_FILES)
    return wo_err_set(err, WO_E_LIMIT, "has more than %zu files: those beyond are left out", WO_LIMIT_FOLDER_FILES);
  const struct wo_view name = wo_arena_copy(&tar->arena, wo_view_of(member->name));
  const char *const last_user = tar->count > 0 ? tar->items[tar->count - 1].user : "";
  const bool is_same_user = strcmp(member->user, last_user) == 0;
  const char *const user = is_same_user ? last_user : wo_arena_copy(&tar->arena, wo_view_of(member->user)).ptr;
  if (!name.ptr || !user || !WO_VEC_RESERVE(&items, 1, WO_LIMIT_FOLDER_FILES))
    return wo_err_set(err, WO_E_LIMIT, "has more names than fit into memory: those beyond are left out");
  tar->items = items.items;
  tar->capacity = items.capacity;
  struct wo_tar_member *const added = &tar->items[tar->count];
  *added = *member;
  added->name = name.ptr;
  added->user = user;
  added->order = (uint32_t)tar->count++;
  return WO_OK;
}

static int compare_members(const void *a, const void *b) {
  const struct wo_tar_member *const left = a, *const right = b;
  const int order = strcmp(left->name, right->name);
  return order != 0 ? order : (left->order > right->order) - (left->order < right->order);
}

/* A file that was put into the archive again takes the place of the earlier one, as it does when the archive is unpacked. */
void wo_tar_sort(struct wo_tar *tar) {
  size_t kept = 0;
  if (tar->count > 1) qsort(tar->items, tar->count, sizeof *tar->items, compare_members);
  for (size_t i = 0; i < tar->count; i++) {
    const bool is_replaced = i + 1 < tar->count && strcmp(tar->items[i].name, tar->items[i + 1].name) == 0;
    if (!is_replaced) tar->items[kept++] = tar->items[i];
  }
  tar->count = kept;
}

/* ---- Bytes that are kept ---- */

/* The temporary file of a compressed archive, through a buffer. */
struct keeper {
  struct wo_spool spool;
  size_t len;
  char *buf; /* WO_LIMIT_READ_BYTES */
};

static enum wo_status flush(struct keeper *keeper, struct wo_err *err) {
  const struct wo_view bytes = {keeper->buf, keeper->len};
  keeper->len = 0;
  return wo_spool_add(&keeper->spool, bytes, err);
}

/* Copies the present file of the input into the spool. Its member gets the place, and the size that it really has. */
static enum wo_status keep(struct keeper *keeper, struct wo_input *input, struct wo_tar_member *member, struct wo_err *err) {
  enum wo_status status = WO_OK;
  member->at = keeper->spool.len + keeper->len;
  member->size_bytes = 0;
  while (status == WO_OK) {
    size_t len = 0;
    if (keeper->len == WO_LIMIT_READ_BYTES) status = flush(keeper, err);
    if (status == WO_OK) status = wo_input_read(input, keeper->buf + keeper->len, WO_LIMIT_READ_BYTES - keeper->len, &len, err);
    if (status != WO_OK || len == 0) break;
    keeper->len += len;
    member->size_bytes += (int64_t)len;
    if (keeper->spool.len + keeper->len > WO_LIMIT_ARCHIVE_BYTES)
      status = wo_err_set(err, WO_E_LIMIT, "holds more than %llu bytes of logs; the rest is not read",
                          (unsigned long long)WO_LIMIT_ARCHIVE_BYTES);
  }
  return status;
}

/* ---- Reading ---- */

struct reader {
  struct wo_tar *tar;
  const struct wo_walk_options *options;
  struct wo_input *input;
  struct keeper keeper;
  struct wo_text path; /* of the file that is looked at */
};

/* Whether the bytes of a file may be needed: it may belong to a job by its name, and is not left out. */
static bool is_wanted(struct reader *reader, const char *name) {
  const struct wo_view view = wo_view_of(name);
  struct wo_text *const path = &reader->path;
  path->len = 0;
  wo_text_add(path, "%s/", reader->tar->path);
  const size_t archive_len = path->len;
  wo_text_add(path, "%s", name);
  if (path->is_failed || wo_name_is_archive(view)) return false;
  return wo_select_member(reader->options, path->ptr, reader->tar->root_len, archive_len) == WO_SELECTED &&
         (reader->options->include_count > 0 || wo_group_can_join(view));
}

/* A name of a user as systems have them, since it goes into reports as it is. */
static bool is_user(const char *name) {
  size_t len = 0;
  while (wo_is_word(name[len]) || (name[len] != '\0' && strchr("-.@+$", name[len]))) len++;
  return name[len] == '\0';
}

static enum wo_status take_entry(struct reader *reader, struct wo_err *err) {
  const struct wo_archive_entry *const entry = wo_input_entry(reader->input);
  const struct wo_view name = wo_archive_name(wo_view_of(wo_input_file_name(reader->input)));
  struct wo_tar_member member = {.name = name.ptr,
                                 .user = is_user(entry->user) ? entry->user : "",
                                 .at = WO_TAR_NOT_KEPT,
                                 .size_bytes = (int64_t)entry->size_bytes,
                                 .mtime_ns = entry->mtime_ns,
                                 .uid = entry->uid,
                                 .kind = entry->kind};
  if (entry->kind == WO_ARCHIVE_FOLDER || name.len == 0) return WO_OK;
  enum wo_status status = WO_OK;
  if (entry->kind == WO_ARCHIVE_FILE && !reader->tar->is_compressed)
    member.at = entry->at;
  else if (entry->kind == WO_ARCHIVE_FILE && is_wanted(reader, name.ptr))
    status = keep(&reader->keeper, reader->input, &member, err);
  if (status != WO_OK && status != WO_E_SYNTAX) return status;
  const enum wo_status added = wo_tar_add(reader->tar, &member, status == WO_OK ? err : NULL);
  return status == WO_OK ? added : status;
}

/* An archive without files is nothing but zeros; whatever else has no header is no archive. */
static enum wo_status check_empty(struct reader *reader, struct wo_err *err) {
  size_t len = 0;
  const enum wo_status status = wo_input_read(reader->input, reader->keeper.buf, WO_ARCHIVE_BLOCK_BYTES, &len, err);
  size_t zeros = 0;
  while (zeros < len && reader->keeper.buf[zeros] == '\0') zeros++;
  if (status != WO_OK || (len == WO_ARCHIVE_BLOCK_BYTES && zeros == len)) return status;
  return wo_err_set(err, WO_E_KIND, "is no tar archive, although its name says so: it is not read");
}

static enum wo_status read_entries(struct reader *reader, struct wo_err *err) {
  struct wo_tar *const tar = reader->tar;
  bool is_there = true;
  enum wo_status status = WO_OK;
  while (status == WO_OK) {
    status = wo_input_next_entry(reader->input, &is_there, err);
    if (status != WO_OK || !is_there) break;
    tar->is_compressed = wo_input_is_compressed(reader->input);
    if (!wo_input_file_name(reader->input)) return check_empty(reader, err);
    status = take_entry(reader, err);
  }
  return status;
}

/* The archive as it was when it was opened; the walk saw it before. */
static void note_state(struct wo_tar *tar, int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return;
  tar->inode = (uint64_t)info.st_ino;
  tar->size_bytes = (int64_t)info.st_size;
  tar->mtime_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
}

/* Files of an archive that is cut off end with it. Those that could not be kept are left out: only the rest of the archive is. */
static void cut_members(struct wo_tar *tar, uint64_t source_bytes) {
  size_t kept = 0;
  for (size_t i = 0; i < tar->count; i++) {
    struct wo_tar_member *const member = &tar->items[i];
    const bool is_kept = member->at != WO_TAR_NOT_KEPT;
    const uint64_t there = is_kept && member->at < source_bytes ? source_bytes - member->at : 0;
    const bool is_whole = !is_kept || (uint64_t)member->size_bytes <= there;
    if (!is_whole) member->size_bytes = (int64_t)there;
    if (is_whole || tar->status == WO_E_SYNTAX) tar->items[kept++] = *member;
  }
  tar->count = kept;
}

/* The bytes are in the archive itself or in the spool, which nothing else needs then. */
static void choose_source(struct reader *reader) {
  struct wo_tar *const tar = reader->tar;
  if (tar->is_compressed) {
    tar->fd = reader->keeper.spool.fd;
    cut_members(tar, reader->keeper.spool.len);
  } else {
    tar->fd = fcntl(wo_input_fd(reader->input), F_DUPFD_CLOEXEC, 0);
    if (tar->fd < 0) tar->status = wo_err_set(&tar->err, WO_E_IO, "cannot be read: %s", strerror(errno));
    wo_spool_close(&reader->keeper.spool);
    cut_members(tar, (uint64_t)tar->size_bytes);
  }
}

void wo_tar_read(struct wo_tar *tar, const struct wo_walk_options *options, struct wo_spool spool,
                 const volatile sig_atomic_t *is_up) {
  struct reader reader = {.tar = tar, .options = options, .keeper = {.spool = spool}};
  reader.keeper.buf = malloc(WO_LIMIT_READ_BYTES);
  tar->status = reader.keeper.buf ? wo_input_open(tar->path, &reader.input, &tar->err) : wo_err_nomem(&tar->err);
  if (tar->status == WO_OK) {
    wo_input_stop_when(reader.input, is_up);
    note_state(tar, wo_input_fd(reader.input));
    tar->status = read_entries(&reader, &tar->err);
    const enum wo_status flushed = reader.keeper.len > 0 ? flush(&reader.keeper, tar->status == WO_OK ? &tar->err : NULL) : WO_OK;
    if (tar->status == WO_OK) tar->status = flushed;
    choose_source(&reader);
  } else {
    wo_spool_close(&spool);
  }
  wo_tar_sort(tar);
  wo_input_close(reader.input);
  wo_text_done(&reader.path);
  free(reader.keeper.buf);
}
