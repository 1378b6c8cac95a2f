/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings as values: making, looking up, checking. Nothing here knows a file format. */
#include "cuda_replay/recording/trace.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

static const char *const action_names[] = {
#define WO_ACTION(id, name, traits) [WO_ACTION_##id] = name,
#include "cuda_replay/recording/actions.def"
#undef WO_ACTION
};

const uint8_t wo__action_traits[] = {
#define WO_ACTION(id, name, traits) [WO_ACTION_##id] = (traits),
#include "cuda_replay/recording/actions.def"
#undef WO_ACTION
};

const char *wo_action_name(enum wo_action action) {
  assert(action >= 0 && action < WO_ACTION_COUNT_);
  return action_names[action];
}

/* ---- Making ---- */

struct wo_recording *wo_recording_new(void) {
  struct wo_recording *const recording = calloc(1, sizeof *recording);
  if (!recording) return NULL;
  wo_arena_init(&recording->arena, WO_LIMIT_TRACE_TEXT_BYTES);
  recording->settings = wo_alloc_settings_default(WO_TORCH_DEFAULT);
  if (!WO_VEC_RESERVE(&recording->streams, 1, 1) || !WO_VEC_RESERVE(&recording->pools, 1, 1)) return wo_recording_free(recording);
  recording->streams.items[recording->streams.count++] = 0;
  recording->pools.items[recording->pools.count++] = (struct wo_pool_id){0};
  return recording;
}

struct wo_recording *wo_recording_free(struct wo_recording *recording) {
  if (!recording) return NULL;
  for (size_t i = 0; i < recording->traces.count; i++) {
    WO_VEC_DONE(&recording->traces.items[i].entries);
    WO_VEC_DONE(&recording->traces.items[i].segments);
    WO_VEC_DONE(&recording->traces.items[i].blocks);
    WO_VEC_DONE(&recording->traces.items[i].metadata);
  }
  WO_VEC_DONE(&recording->traces);
  WO_VEC_DONE(&recording->streams);
  WO_VEC_DONE(&recording->pools);
  WO_VEC_DONE(&recording->frames);
  WO_VEC_DONE(&recording->stack_frames);
  WO_VEC_DONE(&recording->stacks);
  WO_VEC_DONE(&recording->annotations);
  WO_VEC_DONE(&recording->settings_texts);
  WO_VEC_DONE(&recording->notes);
  wo_arena_done(&recording->arena);
  free(recording);
  return NULL;
}

struct wo_trace *wo_recording_trace(struct wo_recording *recording, int device) {
  size_t place = 0;
  while (place < recording->traces.count && recording->traces.items[place].device < device) place++;
  if (place < recording->traces.count && recording->traces.items[place].device == device) return &recording->traces.items[place];
  if (!WO_VEC_RESERVE(&recording->traces, 1, WO_LIMIT_TRACE_DEVICES)) return NULL;
  struct wo_trace *const traces = recording->traces.items;
  for (size_t i = recording->traces.count; i > place; i--) traces[i] = traces[i - 1];
  recording->traces.count++;
  traces[place] = (struct wo_trace){.device = device};
  return &traces[place];
}

enum wo_status wo_trace_add(struct wo_trace *trace, struct wo_trace_entry entry) {
  if (trace->entries.count >= WO_LIMIT_TRACE_ENTRIES) return WO_E_LIMIT;
  if (!WO_VEC_RESERVE(&trace->entries, 1, WO_LIMIT_TRACE_ENTRIES)) return WO_E_NOMEM;
  trace->entries.items[trace->entries.count++] = entry;
  return WO_OK;
}

enum wo_status wo_trace_add_metadata(struct wo_trace *trace, struct wo_view text) {
  assert(trace->entries.count > 0);
  if (text.len == 0) return WO_OK;
  if (!WO_VEC_RESERVE(&trace->metadata, 1, WO_LIMIT_TRACE_ENTRIES)) return WO_E_NOMEM;
  trace->metadata.items[trace->metadata.count++] =
      (struct wo_entry_metadata){.entry = (uint32_t)(trace->entries.count - 1), .text = text};
  return WO_OK;
}

void wo_recording_note(struct wo_recording *recording, const char *format, ...) {
  char text[512];
  if (recording->notes.count >= WO_LIMIT_TRACE_NOTES || !WO_VEC_RESERVE(&recording->notes, 1, WO_LIMIT_TRACE_NOTES)) return;
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const bool is_last = recording->notes.count + 1 == WO_LIMIT_TRACE_NOTES;
  const struct wo_view kept =
      wo_arena_copy(&recording->arena, is_last ? WO_VIEW("further notes are left out") : wo_view_of(text));
  if (kept.ptr) recording->notes.items[recording->notes.count++] = kept;
}

/* ---- Whether there is a run to replay ---- */

static size_t count_live(const struct wo_trace *trace) {
  size_t count = 0;
  for (size_t i = 0; i < trace->blocks.count; i++) count += trace->blocks.items[i].state != WO_BLOCK_FREE;
  return count;
}

static bool has_allocation(const struct wo_trace *trace) {
  for (size_t i = 0; i < trace->entries.count; i++) {
    if (trace->entries.items[i].action == WO_ACTION_ALLOC) return true;
  }
  return false;
}

/* A single allocation without other live blocks may be a whole program; with other live blocks it is the last one of many. */
const char *wo_trace_lack(const struct wo_recording *recording, const struct wo_trace *trace) {
  assert(recording && trace);
  const bool is_snapshot = trace->has_segments && !recording->has_only_ids && recording->fidelity == WO_TRACE_EXACT;
  if (!is_snapshot || recording->format == WO_TRACE_FORMAT_RECONSTRUCTED) return NULL;
  const bool has_run = has_allocation(trace);
  if (trace->entries.count == 0) return "the snapshot holds segments and no trace: recording was off on this device";
  if (trace->entries.count == 1 && (!has_run || count_live(trace) > 1))
    return "the trace holds one entry: it was recorded with a ring of one entry (the old form _record_memory_history(True), or "
           "enabled='state'), which keeps the last event only";
  return has_run ? NULL : "the trace holds no allocation: the ring was too short, or skip_actions left allocations out";
}

bool wo_trace_completes_at_once(const struct wo_trace *trace, size_t index) {
  const struct wo_trace_entry *const entry = &trace->entries.items[index];
  return index > 0 && entry->action == WO_ACTION_FREE_COMPLETED && entry[-1].action == WO_ACTION_FREE_REQUESTED &&
         entry[-1].address == entry->address;
}

bool wo_trace_has(const struct wo_trace *trace, enum wo_action action) {
  for (size_t i = 0; i < trace->entries.count; i++) {
    if (trace->entries.items[i].action == action) return true;
  }
  return false;
}

bool wo_trace_has_completions(const struct wo_trace *trace) {
  size_t requested = 0, pending = 0;
  for (size_t i = 0; i < trace->entries.count; i++) {
    if (trace->entries.items[i].action == WO_ACTION_FREE_COMPLETED) return true;
    requested += trace->entries.items[i].action == WO_ACTION_FREE_REQUESTED;
  }
  for (size_t i = 0; i < trace->blocks.count; i++) pending += trace->blocks.items[i].state == WO_BLOCK_PENDING;
  return requested > 0 && requested <= pending;
}
