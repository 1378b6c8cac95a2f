/* SPDX-License-Identifier: Apache-2.0 */
/* A bookmark as bytes:
 *
 *   hash of the job's packed evidence, hash of the rules (8 bytes each), "WOB", form-number, raw-length, then compressed:
 *     place, hash of the bytes before it, evidence at the start and at the place, state of the scanner
 *
 * The form is that of one version of the program; the version of the rules, of which the program's is a part, is asked first. */
#include <string.h>

#include "analyzer/pack/bookmark.h"
#include "analyzer/pack/pack_bytes.h"
#include "parsers/base/keep/keep.h"
#include "parsers/base/limits.h"

#define MAGIC "WOB"

/* Another number for each change of what a state holds, so that programs of one version that differ understand each other. */
#define FORM 1

static void keep_count(struct wo_bookmark_count *count, struct wo_keep *keep) {
  size_t kinds = WO_KIND_COUNT_;
  wo_keep_size(keep, &kinds, WO_KIND_COUNT_);
  if (kinds != WO_KIND_COUNT_) wo_keep_fail(keep);
  wo_keep_size(keep, &count->events, WO_LIMIT_EVENTS);
  wo_keep_size(keep, &count->used_bytes, WO_LIMIT_STORE_BYTES);
  wo_keep_number(keep, &count->dropped, UINT64_MAX / 4);
  for (size_t i = 0; i < WO_KIND_COUNT_; i++) {
    uint64_t number = count->per_kind[i];
    wo_keep_number(keep, &number, UINT32_MAX);
    count->per_kind[i] = (uint32_t)number;
  }
}

static void keep_head(struct wo_bookmark *bookmark, struct wo_keep *keep) {
  wo_keep_number(keep, &bookmark->place.next, UINT64_MAX / 4);
  wo_keep_number(keep, &bookmark->place.before, WO_SCAN_BEFORE_MAX);
  wo_keep_number(keep, &bookmark->before_hash, UINT64_MAX);
  keep_count(&bookmark->start, keep);
  keep_count(&bookmark->here, keep);
}

enum wo_status wo_bookmark_pack(const struct wo_bookmark *bookmark, struct wo_text *out) {
  struct wo_text raw = {0};
  struct wo_keep keep = {.out = &raw};
  struct wo_bookmark head = *bookmark;
  keep_head(&head, &keep);
  wo_text_add_view(&raw, (struct wo_view){bookmark->state.ptr, bookmark->state.len});
  enum wo_status status = raw.is_failed ? WO_E_NOMEM : keep.is_bad || raw.len > WO_LIMIT_BOOKMARK_BYTES ? WO_E_LIMIT : WO_OK;
  if (status == WO_OK) {
    wo_text_add(out, "%s%c", MAGIC, FORM);
    wo__put_number(out, raw.len);
    status = wo__pack_compress((struct wo_view){raw.ptr, raw.len}, out);
  }
  wo_text_done(&raw);
  return status;
}

static void put_hash(struct wo_view text, char *bytes) {
  const uint64_t hash = wo_view_hash(WO_HASH_START, text);
  for (size_t i = 0; i < 8; i++) bytes[i] = (char)(unsigned char)(hash >> (8 * i));
}

void wo_bookmark_of_bytes(const struct wo_bookmark_of *of, char bytes[WO_BOOKMARK_OF_BYTES]) {
  put_hash(of->evidence, bytes);
  put_hash(of->rules, bytes + 8);
}

/* The bytes that follow magic and form, expanded into *raw, which is to be released. */
static bool expand(struct wo_view packed, struct wo_text *raw) {
  struct wo__cursor in = {(const unsigned char *)packed.ptr, (const unsigned char *)packed.ptr + packed.len, false};
  const size_t len = (size_t)wo__take_number(&in, WO_LIMIT_BOOKMARK_BYTES);
  if (in.is_bad || len == 0) return false;
  wo_text_repeat(raw, ' ', len);
  return !raw->is_failed &&
         wo__pack_expand((struct wo_view){(const char *)in.at, (size_t)(in.end - in.at)}, raw->ptr, len) == WO_OK;
}

bool wo_bookmark_unpack(struct wo_view packed, const struct wo_bookmark_of *of, struct wo_bookmark *ret) {
  char front[WO_BOOKMARK_OF_BYTES + sizeof MAGIC];
  wo_bookmark_of_bytes(of, front);
  memcpy(front + WO_BOOKMARK_OF_BYTES, MAGIC, sizeof MAGIC - 1);
  front[sizeof front - 1] = FORM;
  if (packed.len < sizeof front || memcmp(packed.ptr, front, sizeof front) != 0) return false;
  struct wo_text raw = {0};
  struct wo_bookmark own = {0};
  struct wo_keep keep = {.is_bad = !expand(wo_view_skip(packed, sizeof front), &raw)};
  keep.in = keep.is_bad ? (struct wo_view){0} : (struct wo_view){raw.ptr, raw.len};
  keep_head(&own, &keep);
  if (!keep.is_bad) wo_text_add_view(&own.state, keep.in);
  const bool is_good = !keep.is_bad && own.state.len > 0 && !own.state.is_failed;
  if (!is_good) wo_bookmark_done(&own);
  wo_text_done(&raw);
  *ret = own;
  return is_good;
}
