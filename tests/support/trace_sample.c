/* Recordings out of text, and back. */
#include "tests/support/trace_sample.h"

#include <string.h>

#include "cuda_replay/trace_lines.h"

/* ---- Reading ---- */

struct chunks {
  struct wo_view left;
  size_t chunk_bytes;
};

static enum wo_status fill(void *context, char *buf, size_t cap, size_t *ret_len, struct wo_err *err) {
  struct chunks *const chunks = context;
  (void)err;
  size_t len = chunks->left.len < cap ? chunks->left.len : cap;
  if (chunks->chunk_bytes > 0 && len > chunks->chunk_bytes) len = chunks->chunk_bytes;
  if (len > 0) memcpy(buf, chunks->left.ptr, len);
  chunks->left = wo_view_skip(chunks->left, len);
  *ret_len = len;
  return WO_OK;
}

enum wo_status wo_sample_read(wo_trace_read_fn *read, struct wo_view bytes, size_t chunk_bytes,
                              struct wo_recording **ret_recording, struct wo_err *err) {
  struct chunks chunks = {bytes, chunk_bytes};
  struct wo_trace_source source;
  *ret_recording = NULL;
  enum wo_status status = wo_trace_source_init(&source, (struct wo_trace_feed){&chunks, fill}, "sample");
  if (status != WO_OK) return status;
  struct wo_recording *const recording = wo_recording_new();
  status = recording == NULL ? WO_E_NOMEM : read(&source, recording, err);
  *ret_recording = status == WO_OK ? recording : wo_recording_free(recording);
  wo_trace_source_done(&source);
  return status;
}

/* ---- Writing ---- */

static enum wo_status put(void *context, struct wo_view bytes, struct wo_err *err) {
  struct wo_text *const text = context;
  wo_text_add_view(text, bytes);
  return text->is_failed ? wo_err_set(err, WO_E_NOMEM, "the text is full") : WO_OK;
}

bool wo_sample_write(const struct wo_recording *recording, struct wo_text *out) {
  return wo_trace_lines_write(recording, &(struct wo_trace_sink){out, put}, NULL) == WO_OK;
}

/* ---- Comparing ---- */

/* Whether two growing arrays of plain data without padding hold the same. */
#define SAME_ITEMS(a, b)                                                                                                         \
  ((a).count == (b).count && ((a).count == 0 || memcmp((a).items, (b).items, (a).count * sizeof *(a).items) == 0))

static bool same_entries(const struct wo_recording *a, const struct wo_trace *x, const struct wo_recording *b,
                         const struct wo_trace *y) {
  if (x->entries.count != y->entries.count) return false;
  for (size_t i = 0; i < x->entries.count; i++) {
    const struct wo_trace_entry *const p = &x->entries.items[i], *const q = &y->entries.items[i];
    const bool is_settings = p->action == WO_ACTION_SETTINGS;
    if (p->action != q->action || p->address != q->address || p->time_us != q->time_us || p->stack != q->stack) return false;
    if (p->stream != q->stream || p->pool != q->pool || (!is_settings && p->size_bytes != q->size_bytes)) return false;
    if (is_settings && !wo_view_equal(a->settings_texts.items[p->size_bytes], b->settings_texts.items[q->size_bytes]))
      return false;
  }
  return true;
}

static bool same_segments(const struct wo_trace *x, const struct wo_trace *y) {
  if (x->segments.count != y->segments.count || x->has_segments != y->has_segments) return false;
  for (size_t i = 0; i < x->segments.count; i++) {
    const struct wo_trace_segment *const p = &x->segments.items[i], *const q = &y->segments.items[i];
    if (p->address != q->address || p->size_bytes != q->size_bytes || p->block_count != q->block_count) return false;
    if (p->stream != q->stream || p->pool != q->pool || p->stack != q->stack) return false;
    if (p->is_small != q->is_small || p->is_expandable != q->is_expandable) return false;
    for (uint32_t j = 0; j < p->block_count; j++) {
      const struct wo_trace_block *const v = &x->blocks.items[p->first_block + j], *const w =
                                                                                       &y->blocks.items[q->first_block + j];
      if (v->address != w->address || v->size_bytes != w->size_bytes || v->requested_bytes != w->requested_bytes) return false;
      if (v->stack != w->stack || v->state != w->state) return false;
    }
  }
  return true;
}

static bool same_stacks(const struct wo_recording *a, const struct wo_recording *b) {
  if (a->frames.count != b->frames.count || a->stacks.count != b->stacks.count) return false;
  for (size_t i = 0; i < a->frames.count; i++) {
    const struct wo_frame *const p = &a->frames.items[i], *const q = &b->frames.items[i];
    if (!wo_view_equal(p->function, q->function) || !wo_view_equal(p->file, q->file) || p->line != q->line) return false;
  }
  for (size_t i = 0; i < a->stacks.count; i++) {
    const struct wo_stack p = a->stacks.items[i], q = b->stacks.items[i];
    if (p.count != q.count) return false;
    for (uint32_t j = 0; j < p.count; j++) {
      if (a->stack_frames.items[p.first + j] != b->stack_frames.items[q.first + j]) return false;
    }
  }
  return true;
}

static bool same_marks(const struct wo_recording *a, const struct wo_recording *b) {
  if (a->annotations.count != b->annotations.count || a->notes.count != b->notes.count) return false;
  for (size_t i = 0; i < a->annotations.count; i++) {
    const struct wo_annotation *const p = &a->annotations.items[i], *const q = &b->annotations.items[i];
    if (!wo_view_equal(p->name, q->name) || p->time_us != q->time_us || p->device != q->device || p->is_start != q->is_start)
      return false;
  }
  for (size_t i = 0; i < a->notes.count; i++) {
    if (!wo_view_equal(a->notes.items[i], b->notes.items[i])) return false;
  }
  return true;
}

static bool same_settings(const struct wo_alloc_settings *a, const struct wo_alloc_settings *b) {
  return a->max_split_bytes == b->max_split_bytes && a->max_non_split_rounding_bytes == b->max_non_split_rounding_bytes &&
         a->large_segment_bytes == b->large_segment_bytes &&
         memcmp(a->roundup_divisions, b->roundup_divisions, sizeof a->roundup_divisions) == 0 &&
         memcmp(&a->garbage_collection_threshold, &b->garbage_collection_threshold, sizeof(double)) == 0 &&
         memcmp(&a->memory_fraction, &b->memory_fraction, sizeof(double)) == 0 &&
         a->expandable_segments == b->expandable_segments &&
         a->graph_capture_record_stream_reuse == b->graph_capture_record_stream_reuse &&
         a->throw_on_cudamalloc_oom == b->throw_on_cudamalloc_oom && a->is_native == b->is_native;
}

bool wo_sample_equal(const struct wo_recording *a, const struct wo_recording *b) {
  if (a->format != b->format || a->fidelity != b->fidelity || a->is_truncated != b->is_truncated) return false;
  if (a->has_only_ids != b->has_only_ids || a->torch_from != b->torch_from || a->torch_to != b->torch_to) return false;
  if (a->capacity_bytes != b->capacity_bytes || a->has_settings != b->has_settings) return false;
  if (!wo_view_equal(a->settings_text, b->settings_text) || !same_settings(&a->settings, &b->settings)) return false;
  if (!SAME_ITEMS(a->streams, b->streams) || !SAME_ITEMS(a->pools, b->pools)) return false;
  if (!same_stacks(a, b) || !same_marks(a, b) || a->traces.count != b->traces.count) return false;
  for (size_t i = 0; i < a->traces.count; i++) {
    const struct wo_trace *const x = &a->traces.items[i], *const y = &b->traces.items[i];
    if (x->device != y->device || !same_entries(a, x, b, y) || !same_segments(x, y)) return false;
  }
  return true;
}
