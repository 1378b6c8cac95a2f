/* SPDX-License-Identifier: Apache-2.0 */
/* Memory snapshots of PyTorch (torch.cuda.memory._dump_snapshot, every version since 2.0): from the pickle to a recording. */
#include "cuda_replay/recording/snapshot/snapshot.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "cuda_replay/recording/recording_valid.h"
#include "cuda_replay/recording/snapshot/snapshot_internal.h"
#include "cuda_replay/recording/trace_front.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

/* Whether it may be a pickle: PROTO 2 to 5, or the first container of a snapshot in protocol 0 or 1. */
bool wo_snapshot_sniff(struct wo_view front) {
  if (front.len < 2) return false;
  if ((unsigned char)front.ptr[0] == 0x80) return front.ptr[1] >= 2 && front.ptr[1] <= 5;
  /* Protocol 1 begins with an empty dict or list, protocol 0 with a mark before it. Both store it at once, unless an optimizer
   * removed the store because nothing refers to it. */
  static const char *const starts[] = {"}q", "]q", "(dp", "(lp", "}(", "](", "(dV", "(dS"};
  return WO_VIEW_ANY(front, wo_view_starts, starts);
}

/* ---- The outermost value ---- */

/* The outermost value is a whole snapshot, or only the list of segments from torch.cuda.memory_snapshot(). */
static enum wo_status find_whole(struct wo_snapshot *snapshot) {
  if (snapshot->pickle.stack.count == 0 || snapshot->is_found) return WO_OK;
  struct wo_pickle_value *const value = &snapshot->pickle.stack.items[0];
  const enum wo_status status = wo__snapshot_settle(snapshot, value);
  if (status != WO_OK || snapshot->is_found) return status;
  const struct wo_record_range segments = wo__snapshot_take_list(snapshot, *value, WO_VALUE_SEGMENT);
  snapshot->is_found = snapshot->has_segments = segments.count > 0;
  snapshot->found_segments = segments;
  return WO_OK;
}

static bool is_worth_keeping(const struct wo_snapshot *snapshot) {
  return snapshot->is_found && (snapshot->found_segments.count > 0 || snapshot->found_traces.count > 0);
}

static enum wo_status refuse_other(struct wo_err *err) {
  return wo_err_set(err, WO_E_SYNTAX,
                    "is a pickle, but no memory snapshot: expected a dict with 'segments' and 'device_traces', as "
                    "torch.cuda.memory._dump_snapshot writes it");
}

/* Decides by the end of the pickle whether to use the data so far or to give up. */
static enum wo_status judge_end(struct wo_snapshot *snapshot, enum wo_pickle_end end, struct wo_err *err) {
  struct wo_recording *const recording = snapshot->recording;
  if (end == WO_PICKLE_FAILED) return WO_E_NOMEM;
  if (end == WO_PICKLE_REFUSED) return err->code;
  const struct wo_err reason = *err;
  recording->is_truncated = end != WO_PICKLE_STOP;
  enum wo_status status = recording->is_truncated ? wo_pickle_close_all(&snapshot->pickle) : WO_OK;
  if (status == WO_OK) status = find_whole(snapshot);
  if (status == WO_E_NOMEM) return status;
  const uint64_t offset = snapshot->pickle.source->end_offset;
  if (end == WO_PICKLE_CUT) {
    wo_recording_note(recording, "the file ends in the middle, at byte %" PRIu64 ": what came before is kept", offset);
    if (!is_worth_keeping(snapshot))
      return wo_err_set(err, WO_E_SYNTAX, "ends at byte %" PRIu64 ", before any segment or entry", offset);
  } else if (end == WO_PICKLE_BROKEN) {
    wo_recording_note(recording, "the file %s: what came before is kept", reason.message);
    *err = reason;
    if (!is_worth_keeping(snapshot)) return reason.code;
  }
  return snapshot->is_found ? WO_OK : refuse_other(err);
}

/* ---- Traces ---- */

/* Moves a range of entries to its trace; gives it the store itself if no other trace has entries. */
static enum wo_status give_entries(struct wo_snapshot *snapshot, struct wo_trace *trace, struct wo_record_range range,
                                   bool is_only) {
  if (is_only && range.first == 0) {
    trace->entries.items = snapshot->entries.items;
    trace->entries.capacity = snapshot->entries.capacity;
    trace->entries.count = range.count;
    snapshot->entries.items = NULL;
    snapshot->entries.count = snapshot->entries.capacity = 0;
    return WO_OK;
  }
  if (!WO_VEC_RESERVE(&trace->entries, range.count, WO_LIMIT_TRACE_ENTRIES)) return WO_E_NOMEM;
  memcpy(trace->entries.items, snapshot->entries.items + range.first, range.count * sizeof *trace->entries.items);
  trace->entries.count = range.count;
  return WO_OK;
}

/* Gives a trace the metadata of its range of entries. */
static enum wo_status give_metadata(const struct wo_snapshot *snapshot, struct wo_trace *trace, struct wo_record_range range) {
  size_t at = 0;
  WO_LOWER_BOUND(at, snapshot->metadata.count, i, snapshot->metadata.items[i].entry < range.first);
  for (; at < snapshot->metadata.count && snapshot->metadata.items[at].entry - range.first < range.count; at++) {
    const struct wo_metadata_record *const record = &snapshot->metadata.items[at];
    if (!WO_VEC_RESERVE(&trace->metadata, 1, WO_LIMIT_TRACE_ENTRIES)) return WO_E_NOMEM;
    trace->metadata.items[trace->metadata.count++] =
        (struct wo_entry_metadata){record->entry - range.first, snapshot->intern.texts.items[record->text]};
  }
  return WO_OK;
}

static enum wo_status place_entries(struct wo_snapshot *snapshot) {
  const uint32_t count = snapshot->found_traces.count;
  if (count == 0) return WO_OK;
  const struct wo_record_range *const traces = snapshot->traces.items + snapshot->found_traces.first;
  uint32_t with_entries = 0;
  for (uint32_t i = 0; i < count; i++) with_entries += traces[i].count > 0;
  for (uint32_t i = 0; i < count; i++) {
    if (traces[i].count == 0) continue;
    struct wo_trace *const trace = wo_recording_trace(snapshot->recording, (int)i);
    if (trace == NULL && snapshot->recording->traces.count < WO_LIMIT_TRACE_DEVICES) return WO_E_NOMEM;
    if (trace == NULL) {
      wo__snapshot_skip(snapshot, "the entries of one device too many");
    } else if (give_metadata(snapshot, trace, traces[i]) != WO_OK ||
               give_entries(snapshot, trace, traces[i], with_entries == 1) != WO_OK) {
      return WO_E_NOMEM;
    }
  }
  return WO_OK;
}

/* ---- Snapshots made of a profiler's events ---- */

/* torch.cuda._memory_viz makes a snapshot of a profiler's run: tensors instead of blocks, one made-up segment for each device,
 * which has no type. */
static bool is_made_of_profile(const struct wo_snapshot *snapshot) {
  if ((snapshot->entry_keys & wo__key_bit(WO_KEY_CATEGORY)) != 0) return true;
  return snapshot->segment_keys != 0 && (snapshot->segment_keys & wo__key_bit(WO_KEY_SEGMENT_TYPE)) == 0;
}

static void note_findings(struct wo_snapshot *snapshot) {
  struct wo_recording *const recording = snapshot->recording;
  if (snapshot->skipped_count > 8)
    wo_recording_note(recording, "%" PRIu64 " things were left out in all; only the first are named", snapshot->skipped_count);
  if (is_made_of_profile(snapshot)) {
    wo_recording_note(recording, "this snapshot was made of a profiler's run (torch.cuda._memory_viz): it shows tensors, not the "
                                 "allocator's blocks and segments, and replays only approximately");
  }
  if (recording->traces.count == 0)
    wo_recording_note(recording, "the snapshot is empty: no device had memory, and nothing was recorded");
}

static enum wo_status assemble(struct wo_snapshot *snapshot) {
  struct wo_recording *const recording = snapshot->recording;
  recording->format = WO_TRACE_FORMAT_SNAPSHOT;
  recording->fidelity = WO_TRACE_EXACT;
  enum wo_status status = place_entries(snapshot);
  if (is_made_of_profile(snapshot)) {
    recording->fidelity = WO_TRACE_APPROXIMATE;
    snapshot->has_segments = false;
  } else {
    if (status == WO_OK) status = wo__snapshot_place_segments(snapshot);
    wo__snapshot_date(snapshot);
    wo__snapshot_read_text(snapshot);
  }
  if (status != WO_OK) return status;
  for (size_t i = 0; i < recording->traces.count; i++) recording->traces.items[i].has_segments = snapshot->has_segments;
  if (!wo_trace_sort_annotations(recording)) return WO_E_NOMEM;
  note_findings(snapshot);
  return WO_OK;
}

/* ---- Reading ---- */

static void done(struct wo_snapshot *snapshot) {
  wo_pickle_done(&snapshot->pickle);
  wo_intern_done(&snapshot->intern);
  WO_VEC_DONE(&snapshot->dicts);
  WO_VEC_DONE(&snapshot->lists);
  WO_VEC_DONE(&snapshot->entries);
  WO_VEC_DONE(&snapshot->metadata);
  WO_VEC_DONE(&snapshot->blocks);
  WO_VEC_DONE(&snapshot->segments);
  WO_VEC_DONE(&snapshot->histories);
  WO_VEC_DONE(&snapshot->traces);
}

enum wo_status wo_snapshot_read(struct wo_trace_source *source, struct wo_recording *recording, struct wo_err *err) {
  struct wo_err own_err = {0};
  struct wo_snapshot snapshot = {.recording = recording};
  wo_intern_init(&snapshot.intern, recording);
  snapshot.pickle = (struct wo_pickle){.source = source, .intern = &snapshot.intern, .err = &own_err};
  snapshot.pickle.builder = wo__snapshot_builder(&snapshot);
  enum wo_status status = wo__snapshot_learn_words(&snapshot);
  if (status == WO_OK) {
    const enum wo_pickle_end end = wo_pickle_run(&snapshot.pickle);
    status = judge_end(&snapshot, end, &own_err);
  }
  if (status == WO_OK) status = assemble(&snapshot);
  done(&snapshot);
  if (status != WO_OK && err != NULL) *err = own_err;
  assert(status != WO_OK || wo_recording_is_valid(recording));
  return status;
}
