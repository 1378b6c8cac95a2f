/* SPDX-License-Identifier: Apache-2.0 */
/* Segments of a snapshot: checked one by one, ordered, and given to the traces of their devices. A segment that contradicts
 * itself is left out with a note, so that all later code can rely on the layout. */
#include "cuda_replay/recording/snapshot/snapshot_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

/* Sets the addresses of the blocks of a segment; returns what is wrong with them, or NULL. Without addresses (torch 2.0) each
 * block begins where the one before it ends. */
static const char *place_blocks(struct wo_snapshot *snapshot, const struct wo_trace_segment *segment) {
  uint64_t at = segment->address;
  uint64_t end = 0;
  if (__builtin_add_overflow(segment->address, segment->size_bytes, &end)) return "ends beyond the last address";
  for (uint32_t i = 0; i < segment->block_count; i++) {
    struct wo_trace_block *const block = &snapshot->blocks.items[segment->first_block + i];
    if (block->size_bytes == 0) return "has a block without a valid size, address or state";
    if (block->address == WO_BLOCK_ADDRESS_OPEN) block->address = at;
    if (block->address != at) return "has blocks that overlap or leave gaps";
    if (block->size_bytes > end - at) return "has blocks that reach beyond its end";
    at += block->size_bytes;
  }
  return at == end ? NULL : "is not filled by its blocks";
}

/* Like wo__snapshot_skip, with the segment instead of the byte. */
static void leave_out(struct wo_snapshot *snapshot, const struct wo_segment_record *record, uint32_t first, const char *flaw) {
  if (snapshot->skipped_count++ >= 8) return;
  wo_recording_note(snapshot->recording, "segment %" PRIu32 " of the snapshot (at 0x%" PRIx64 ") %s: left out",
                    record->index - first, record->segment.address, flaw);
}

/* By address, on which the replay relies; files are sorted so already. Equal ones keep the order of the file. */
static int by_place(const void *a, const void *b) {
  const struct wo_segment_record *const left = a;
  const struct wo_segment_record *const right = b;
  if (left->device != right->device) return left->device < right->device ? -1 : 1;
  if (left->segment.address != right->segment.address) return left->segment.address < right->segment.address ? -1 : 1;
  return left->index < right->index ? -1 : 1;
}

/* Adds a segment without flaws of its own after those of its device. */
static enum wo_status add_segment(struct wo_snapshot *snapshot, struct wo_trace *trace, const struct wo_trace_segment *segment) {
  if (!WO_VEC_RESERVE(&trace->segments, 1, WO_LIMIT_TRACE_BLOCKS)) return WO_E_NOMEM;
  if (!WO_VEC_RESERVE(&trace->blocks, segment->block_count, WO_LIMIT_TRACE_BLOCKS)) return WO_E_NOMEM;
  struct wo_trace_segment *const added = &trace->segments.items[trace->segments.count++];
  assert(segment->first_block + segment->block_count <= snapshot->blocks.count);
  *added = *segment;
  added->first_block = (uint32_t)trace->blocks.count;
  for (uint32_t i = 0; i < segment->block_count; i++) {
    trace->blocks.items[trace->blocks.count++] = snapshot->blocks.items[segment->first_block + i];
  }
  return WO_OK;
}

/* The flaw of a segment whose fields are good, compared with the segment before it and with its blocks; or NULL. */
static const char *find_flaw(struct wo_snapshot *snapshot, const struct wo_segment_record *record, const struct wo_trace *trace) {
  const size_t count = trace->segments.count;
  const struct wo_trace_segment *const before = count > 0 ? &trace->segments.items[count - 1] : NULL;
  if (before != NULL && record->segment.address < before->address + before->size_bytes) return "overlaps the one before it";
  return place_blocks(snapshot, &record->segment);
}

/* If two segments overlap, the second by address is left out; there is no better reason to choose. */
enum wo_status wo__snapshot_place_segments(struct wo_snapshot *snapshot) {
  const struct wo_record_range range = snapshot->found_segments;
  if (range.count == 0) return WO_OK;
  struct wo_segment_record *const records = snapshot->segments.items + range.first;
  qsort(records, range.count, sizeof *records, by_place);
  for (uint32_t i = 0; i < range.count; i++) {
    const struct wo_segment_record *const record = &records[i];
    const char *flaw = record->flaw;
    if (record->device < 0 || record->device > INT32_MAX) flaw = "names no valid device";
    if (flaw == NULL && record->segment.size_bytes == 0) flaw = "is empty";
    struct wo_trace *const trace = flaw == NULL ? wo_recording_trace(snapshot->recording, (int)record->device) : NULL;
    if (trace == NULL && flaw == NULL) {
      if (snapshot->recording->traces.count < WO_LIMIT_TRACE_DEVICES) return WO_E_NOMEM;
      flaw = "is of one device too many";
    }
    if (flaw == NULL) flaw = find_flaw(snapshot, record, trace);
    if (flaw != NULL) {
      leave_out(snapshot, record, range.first, flaw);
    } else if (add_segment(snapshot, trace, &record->segment) != WO_OK) {
      return WO_E_NOMEM;
    }
  }
  return WO_OK;
}
