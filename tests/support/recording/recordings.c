/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing recordings by content: stacks and texts may be numbered otherwise. */
#include "tests/support/recording/recordings.h"

#include <stdio.h>
#include <string.h>

static enum wo_status fill(void *context, char *buf, size_t cap, size_t *ret_len, struct wo_err *err) {
  struct wo_test_bytes *const bytes = context;
  size_t len = bytes->len - bytes->at;
  if (len > bytes->piece) len = bytes->piece;
  if (len > cap) len = cap;
  if (bytes->at >= bytes->fail_at) return wo_err_set(err, WO_E_IO, "the disk is gone");
  memcpy(buf, bytes->bytes + bytes->at, len);
  bytes->at += len;
  *ret_len = len;
  return WO_OK;
}

struct wo_trace_feed wo_test_feed(struct wo_test_bytes *bytes) {
  return (struct wo_trace_feed){bytes, fill};
}

enum wo_status wo_test_read(const char *bytes, size_t len, size_t piece, struct wo_recording **ret_recording,
                            struct wo_err *err) {
  struct wo_test_bytes pieces = {bytes, len, 0, piece, SIZE_MAX};
  struct wo_trace_source source = {0};
  *ret_recording = NULL;
  enum wo_status status = wo_trace_source_init(&source, wo_test_feed(&pieces), "trace");
  if (status == WO_OK) {
    status = wo_trace_read(&source, ret_recording, err);
  } else {
    wo_err_set(err, status, "%s", wo_status_text(status));
  }
  wo_trace_source_done(&source);
  return status;
}

/* ---- Comparing ---- */

static bool is_frame_equal(const struct wo_frame *a, const struct wo_frame *b) {
  return wo_view_equal(a->function, b->function) && wo_view_equal(a->file, b->file) && a->line == b->line;
}

static bool is_stack_equal(const struct wo_recording *a, uint32_t a_stack, const struct wo_recording *b, uint32_t b_stack) {
  if (a_stack == WO_NO_STACK || b_stack == WO_NO_STACK) return a_stack == b_stack;
  const struct wo_stack left = a->stacks.items[a_stack];
  const struct wo_stack right = b->stacks.items[b_stack];
  if (left.count != right.count) return false;
  for (uint32_t i = 0; i < left.count; i++) {
    const struct wo_frame *const left_frame = &a->frames.items[a->stack_frames.items[left.first + i]];
    const struct wo_frame *const right_frame = &b->frames.items[b->stack_frames.items[right.first + i]];
    if (!is_frame_equal(left_frame, right_frame)) return false;
  }
  return true;
}

static bool is_entry_equal(const struct wo_recording *a, const struct wo_trace_entry *left, const struct wo_recording *b,
                           const struct wo_trace_entry *right) {
  const struct wo_pool_id left_pool = a->pools.items[left->pool];
  const struct wo_pool_id right_pool = b->pools.items[right->pool];
  return left->address == right->address && left->size_bytes == right->size_bytes && left->time_us == right->time_us &&
         left->action == right->action && a->streams.items[left->stream] == b->streams.items[right->stream] &&
         left_pool.first == right_pool.first && left_pool.second == right_pool.second &&
         is_stack_equal(a, left->stack, b, right->stack);
}

static bool is_block_equal(const struct wo_recording *a, const struct wo_trace_block *left, const struct wo_recording *b,
                           const struct wo_trace_block *right) {
  return left->address == right->address && left->size_bytes == right->size_bytes &&
         left->requested_bytes == right->requested_bytes && left->state == right->state &&
         is_stack_equal(a, left->stack, b, right->stack);
}

static bool is_segment_equal(const struct wo_recording *a, const struct wo_trace_segment *left, const struct wo_recording *b,
                             const struct wo_trace_segment *right) {
  return left->address == right->address && left->size_bytes == right->size_bytes && left->first_block == right->first_block &&
         left->block_count == right->block_count && left->is_small == right->is_small &&
         left->is_expandable == right->is_expandable && a->streams.items[left->stream] == b->streams.items[right->stream] &&
         a->pools.items[left->pool].second == b->pools.items[right->pool].second &&
         is_stack_equal(a, left->stack, b, right->stack);
}

static const char *trace_difference(const struct wo_recording *a, const struct wo_recording *b, size_t number) {
  static char where[80];
  const struct wo_trace *const left = &a->traces.items[number];
  const struct wo_trace *const right = &b->traces.items[number];
  if (left->device != right->device || left->has_segments != right->has_segments) return "device or has_segments";
  if (left->entries.count != right->entries.count) return "number of entries";
  if (left->metadata.count != right->metadata.count) return "number of metadata";
  for (size_t i = 0; i < left->metadata.count; i++) {
    const struct wo_entry_metadata *const one = &left->metadata.items[i];
    const struct wo_entry_metadata *const other = &right->metadata.items[i];
    if (one->entry != other->entry || !wo_view_equal(one->text, other->text)) return "metadata";
  }
  if (left->segments.count != right->segments.count) return "number of segments";
  if (left->blocks.count != right->blocks.count) return "number of blocks";
  for (size_t i = 0; i < left->entries.count; i++) {
    snprintf(where, sizeof where, "entry %zu of trace %zu", i, number);
    if (!is_entry_equal(a, &left->entries.items[i], b, &right->entries.items[i])) return where;
  }
  for (size_t i = 0; i < left->segments.count; i++) {
    snprintf(where, sizeof where, "segment %zu of trace %zu", i, number);
    if (!is_segment_equal(a, &left->segments.items[i], b, &right->segments.items[i])) return where;
  }
  for (size_t i = 0; i < left->blocks.count; i++) {
    snprintf(where, sizeof where, "block %zu of trace %zu", i, number);
    if (!is_block_equal(a, &left->blocks.items[i], b, &right->blocks.items[i])) return where;
  }
  return NULL;
}

static bool are_settings_equal(const struct wo_recording *a, const struct wo_recording *b) {
  const struct wo_alloc_settings *const left = &a->settings;
  const struct wo_alloc_settings *const right = &b->settings;
  if (memcmp(left->roundup_divisions, right->roundup_divisions, sizeof left->roundup_divisions) != 0) return false;
  const double gap = left->garbage_collection_threshold - right->garbage_collection_threshold;
  return a->has_settings == b->has_settings && left->max_split_bytes == right->max_split_bytes &&
         left->expandable_segments == right->expandable_segments && gap < 1e-9 && gap > -1e-9 &&
         wo_view_equal(a->settings_text, b->settings_text);
}

const char *wo_test_difference(const struct wo_recording *a, const struct wo_recording *b) {
  if (a->format != b->format || a->fidelity != b->fidelity || a->is_truncated != b->is_truncated) return "format or fidelity";
  if (a->torch_from != b->torch_from || a->torch_to != b->torch_to) return "torch";
  if (!are_settings_equal(a, b)) return "settings";
  if (a->traces.count != b->traces.count) return "number of traces";
  if (a->notes.count != b->notes.count) return "number of notes";
  if (a->annotations.count != b->annotations.count) return "number of annotations";
  for (size_t i = 0; i < a->annotations.count; i++) {
    const struct wo_annotation *const left = &a->annotations.items[i];
    const struct wo_annotation *const right = &b->annotations.items[i];
    if (!wo_view_equal(left->name, right->name) || left->time_us != right->time_us || left->is_start != right->is_start)
      return "annotation";
  }
  for (size_t i = 0; i < a->traces.count; i++) {
    const char *const difference = trace_difference(a, b, i);
    if (difference != NULL) return difference;
  }
  return NULL;
}

bool wo_test_has_note(const struct wo_recording *recording, const char *text) {
  for (size_t i = 0; i < recording->notes.count; i++) {
    if (wo_view_has(recording->notes.items[i], text)) return true;
  }
  return false;
}
