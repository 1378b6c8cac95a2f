/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of torch.cuda._memory_viz: HTML with a snapshot in it, as base64 in the JSON array local_files, padded with zero bytes.
 *
 * The page is searched for the text, which is decoded as a stream: a page may be gigabytes long. */
#include "cuda_replay/recording/snapshot/snapshot_page.h"

#include <inttypes.h>

#include "cuda_replay/recording/snapshot/snapshot.h"

static const struct wo_view key = {"\"base64\"", 8};

bool wo_snapshot_page_sniff(struct wo_view front) {
  const struct wo_view text = wo_view_trim_start(front);
  return wo_view_starts(text, "<") && wo_view_has(text, "local_files");
}

/* Moves to the byte after the quote that opens the first base64 text. */
static bool find_text(struct wo_trace_source *page) {
  for (;;) {
    const struct wo_view front = wo_trace_source_peek(page, WO_TRACE_PAGE_LOOK_BYTES);
    const size_t at = wo_view_find(front, key, 0);
    if (at != WO_NOT_FOUND) {
      struct wo_view rest = wo_view_trim_start(wo_view_skip(front, at + key.len));
      if (rest.len > 0 && rest.ptr[0] == ':') rest = wo_view_trim_start(wo_view_skip(rest, 1));
      const bool is_text = rest.len > 0 && rest.ptr[0] == '"';
      wo_trace_source_skip(page, is_text ? (uint64_t)(rest.ptr + 1 - front.ptr) : at + key.len);
      if (is_text) return true;
      continue;
    }
    if (front.len < WO_TRACE_PAGE_LOOK_BYTES) return false;
    wo_trace_source_skip(page, front.len - 1024); /* the key may cross the end */
  }
}

/* The six bits of a base64 character (RFC 4648), or SKIPPED, or ENDS. */
enum { SKIPPED = 64, ENDS = 65 };

static unsigned digit(char c) {
  if (c >= 'A' && c <= 'Z') return (unsigned)(c - 'A');
  if (c >= 'a' && c <= 'z') return (unsigned)(c - 'a') + 26;
  if (c >= '0' && c <= '9') return (unsigned)(c - '0') + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return c == '\\' || c == '\n' || c == '\r' ? SKIPPED : ENDS; /* JSON may write \/ */
}

struct text {
  struct wo_trace_source *page;
  uint32_t bits; /* read and not given yet */
  unsigned bit_count;
  bool is_at_end;
};

/* The feed of the decoded bytes. */
static enum wo_status decode(void *context, char *buf, size_t cap, size_t *ret_len, struct wo_err *err) {
  struct text *const text = context;
  size_t len = 0;
  while (len < cap && !text->is_at_end) {
    const struct wo_view front = wo_trace_source_peek(text->page, 1);
    size_t at = 0;
    text->is_at_end = front.len == 0;
    for (; at < front.len && len < cap && !text->is_at_end; at++) {
      const unsigned value = digit(front.ptr[at]);
      if (value == SKIPPED) continue;
      text->is_at_end = value == ENDS;
      if (text->is_at_end) break;
      text->bits = text->bits << 6 | value;
      text->bit_count += 6;
      if (text->bit_count < 8) continue;
      text->bit_count -= 8;
      buf[len++] = (char)(text->bits >> text->bit_count);
    }
    wo_trace_source_skip(text->page, at);
  }
  *ret_len = len;
  (void)err;
  return WO_OK;
}

enum wo_status wo_snapshot_page_read(struct wo_trace_source *source, struct wo_recording *recording, struct wo_err *err) {
  if (!find_text(source))
    return wo_err_set(err, WO_E_SYNTAX, "is a web page without a snapshot in it (expected local_files with base64 text)");
  const uint64_t start = wo_trace_source_offset(source);
  struct text text = {.page = source};
  struct wo_trace_source inner = {0};
  enum wo_status status = wo_trace_source_init(&inner, (struct wo_trace_feed){&text, decode}, source->name);
  if (status == WO_OK) status = wo_snapshot_read(&inner, recording, err);
  wo_trace_source_done(&inner);
  if (status == WO_OK && recording->notes.count > 0)
    wo_recording_note(recording, "places are those in the snapshot, whose text begins at byte %" PRIu64 " of the page", start);
  return status;
}
