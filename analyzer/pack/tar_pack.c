/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of archives to bytes: names by what they share with the one before, then compressed. See tar_pack.h. */
#include "analyzer/pack/tar_pack.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/files/grouping.h"
#include "analyzer/pack/pack_bytes.h"
#include "parsers/base/limits.h"

/* Changes with the form, and with what is read of an archive: older lists are made anew then. */
enum { FORM = 1, USER_BYTES = WO_ARCHIVE_USER_BYTES };

static size_t shared_len(const char *a, const char *b) {
  size_t len = 0;
  while (a[len] != '\0' && a[len] == b[len]) len++;
  return len;
}

static void put_text(struct wo_text *out, const char *text) {
  const struct wo_view view = wo_view_of(text);
  wo__put_number(out, view.len);
  wo_text_add_view(out, view);
}

/* The form of the list is the same for all archives that were read in the same way: those that ended early say why. */
static void put_list(const struct wo_tar *tar, struct wo_text *raw) {
  const char *name = "", *user = "";
  int64_t mtime_ns = 0;
  wo__put_number(raw, tar->is_compressed);
  wo__put_number(raw, tar->status != WO_OK);
  if (tar->status != WO_OK) put_text(raw, tar->err.message);
  wo__put_number(raw, tar->count);
  for (size_t i = 0; i < tar->count; i++) {
    const struct wo_tar_member *const member = &tar->items[i];
    const size_t shared = shared_len(name, member->name);
    const bool is_same_user = strcmp(user, member->user) == 0;
    wo__put_number(raw, shared);
    put_text(raw, member->name + shared);
    wo__put_number(raw, (uint64_t)member->size_bytes);
    wo__put_signed(raw, member->mtime_ns - mtime_ns);
    wo__put_number(raw, member->uid);
    wo__put_number(raw, (uint64_t)member->kind << 1 | is_same_user);
    if (!is_same_user) put_text(raw, member->user);
    name = member->name;
    user = member->user;
    mtime_ns = member->mtime_ns;
  }
}

/* Accounting of many jobs, as far as its bytes are there. */
static bool is_kept(const struct wo_tar_member *member) {
  return member->at != WO_TAR_NOT_KEPT && wo_group_is_accounting(wo_view_of(member->name));
}

static uint64_t count_kept(const struct wo_tar *tar) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < tar->count && bytes <= WO_LIMIT_KEPT_ACCOUNTS_BYTES; i++) {
    if (is_kept(&tar->items[i])) bytes += (uint64_t)tar->items[i].size_bytes;
  }
  return bytes;
}

/* The bytes of the accounting, one file after the other: which, and then all of them. */
static bool put_kept(const struct wo_tar *tar, struct wo_text *raw) {
  const uint64_t len = count_kept(tar);
  const bool has_any = tar->fd >= 0 && len > 0 && len <= WO_LIMIT_KEPT_ACCOUNTS_BYTES;
  char *const bytes = has_any ? malloc((size_t)len) : NULL;
  size_t done = 0, before = 0;
  wo__put_number(raw, bytes ? len : 0);
  for (size_t i = 0; bytes && i < tar->count; i++) {
    const struct wo_tar_member *const member = &tar->items[i];
    if (!is_kept(member)) continue;
    const size_t want = (size_t)member->size_bytes;
    if (pread(tar->fd, bytes + done, want, (off_t)member->at) != (ssize_t)want) break;
    wo__put_number(raw, i - before);
    wo__put_number(raw, want);
    before = i;
    done += want;
  }
  if (bytes) wo_text_add_view(raw, (struct wo_view){bytes, done});
  free(bytes);
  return !bytes || done == len;
}

enum wo_status wo_tar_pack(const struct wo_tar *tar, struct wo_text *out) {
  struct wo_text raw = {0};
  put_list(tar, &raw);
  const bool is_good = put_kept(tar, &raw) && !raw.is_failed && raw.len <= WO_LIMIT_PACKED_JOB_BYTES;
  wo__put_number(out, FORM);
  wo__put_number(out, raw.len);
  const enum wo_status status = is_good ? wo__pack_compress((struct wo_view){raw.ptr, raw.len}, out) : WO_E_LIMIT;
  wo_text_done(&raw);
  return status == WO_OK && out->is_failed ? WO_E_NOMEM : status;
}

/* Copies the next text behind the first `at` bytes of a buffer. */
static void take_text(struct wo__cursor *in, char *buf, size_t at, size_t cap) {
  const size_t len = (size_t)wo__take_number(in, cap - 1 - at);
  const struct wo_view text = wo__take_bytes(in, len);
  if (text.len > 0) memcpy(buf + at, text.ptr, text.len);
  buf[at + text.len] = '\0';
  in->is_bad |= memchr(buf + at, '\0', text.len) != NULL;
}

/* A member of the list, and what it shares with the one before. */
struct taken {
  struct wo_tar_member member;
  char name[WO_ARCHIVE_NAME_BYTES], user[USER_BYTES];
};

static void take_member(struct wo__cursor *in, struct taken *taken) {
  struct wo_tar_member *const member = &taken->member;
  const size_t shared = (size_t)wo__take_number(in, strlen(taken->name));
  take_text(in, taken->name, shared, sizeof taken->name);
  member->size_bytes = (int64_t)wo__take_number(in, INT64_MAX);
  member->mtime_ns = (int64_t)((uint64_t)member->mtime_ns + (uint64_t)wo__take_signed(in));
  member->uid = (uint32_t)wo__take_number(in, UINT32_MAX);
  const uint64_t kind = wo__take_number(in, 2 * WO_ARCHIVE_OTHER + 1);
  member->kind = (enum wo_archive_kind)(kind >> 1);
  if ((kind & 1) == 0) take_text(in, taken->user, 0, sizeof taken->user);
}

static void take_kept(struct wo__cursor *in, struct wo_tar *tar) {
  const uint64_t len = wo__take_number(in, WO_LIMIT_KEPT_ACCOUNTS_BYTES);
  uint64_t done = 0;
  for (size_t at = 0; done < len && !in->is_bad;) {
    at += (size_t)wo__take_number(in, WO_LIMIT_FOLDER_FILES);
    const uint64_t size = wo__take_number(in, len - done);
    in->is_bad |= at >= tar->count || (uint64_t)tar->items[at].size_bytes != size || tar->items[at].at != WO_TAR_NOT_KEPT;
    if (in->is_bad) return;
    tar->items[at].at = done;
    done += size;
  }
  if (len > 0 && !in->is_bad) tar->kept = wo_arena_copy(&tar->arena, wo__take_bytes(in, (size_t)len));
  in->is_bad |= tar->kept.len != len;
}

static enum wo_status take_list(struct wo__cursor *in, struct wo_tar *tar) {
  struct taken taken = {.member = {.at = WO_TAR_NOT_KEPT}, .name = "", .user = ""};
  taken.member.name = taken.name;
  taken.member.user = taken.user;
  tar->is_compressed = wo__take_number(in, 1) != 0;
  if (wo__take_number(in, 1) != 0) {
    char message[sizeof tar->err.message];
    take_text(in, message, 0, sizeof message);
    tar->status = wo_err_set(&tar->err, WO_E_SYNTAX, "%s", message);
  }
  const uint64_t count = wo__take_number(in, WO_LIMIT_FOLDER_FILES);
  for (uint64_t i = 0; i < count && !in->is_bad; i++) {
    take_member(in, &taken);
    in->is_bad |= !in->is_bad && wo_tar_add(tar, &taken.member, NULL) != WO_OK;
  }
  wo_tar_sort(tar);
  in->is_bad |= tar->count != count;
  if (!in->is_bad) take_kept(in, tar);
  return in->is_bad || in->at != in->end ? WO_E_SYNTAX : WO_OK;
}

enum wo_status wo_tar_unpack(struct wo_view packed, struct wo_tar *tar) {
  struct wo__cursor in = {(const unsigned char *)packed.ptr, (const unsigned char *)packed.ptr + packed.len, false};
  const bool is_form = wo__take_number(&in, UINT32_MAX) == FORM;
  const size_t len = (size_t)wo__take_number(&in, WO_LIMIT_PACKED_JOB_BYTES);
  if (!is_form || in.is_bad) return WO_E_SYNTAX;
  char *const raw = malloc(len + 1);
  if (!raw) return WO_E_NOMEM;
  enum wo_status status = wo__pack_expand((struct wo_view){(const char *)in.at, (size_t)(in.end - in.at)}, raw, len);
  struct wo__cursor list = {(const unsigned char *)raw, (const unsigned char *)raw + len, false};
  if (status == WO_OK) status = take_list(&list, tar);
  free(raw);
  if (status == WO_OK) return WO_OK;
  tar->count = 0;
  tar->kept = (struct wo_view){0};
  tar->status = WO_OK;
  tar->err = (struct wo_err){0};
  return status;
}
