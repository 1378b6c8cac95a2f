/* SPDX-License-Identifier: Apache-2.0 */
/* The last step of the reader of the line form: finds the sizes of short frees ({"free": 7}).
 *
 * It comes at the end, so that files without short frees pay nothing: one pass over the entries knows the newest allocation of
 * each address, which is that of a free. This does not check that the block is still alive; making a pattern refuses a block that
 * is freed twice. */
#include <assert.h>
#include <inttypes.h>

#include "cuda_replay/collections/address_table.h"

#include "cuda_replay/recording/json/trace_lines_internal.h"

/* Stream and pool come from the allocation, too, so that people need not write them twice. */
static enum wo_status size_free(const struct wo_json_stream *json, const struct wo__short_free *item, struct wo_trace *trace,
                                const struct wo_address_table *newest, struct wo_err *err) {
  assert(item->entry < trace->entries.count);
  struct wo_trace_entry *const entry = &trace->entries.items[item->entry];
  uint32_t index = 0;
  if (!wo_address_table_find(newest, entry->address, &index)) {
    wo_json_stream_fail(json, err, WO_E_RANGE,
                        "no line above allocates %" PRIu64
                        ": say \"free_requested\" and \"free_completed\" with the size that was freed",
                        entry->address);
    wo_err_place(err, NULL, item->line, 0, 0);
    return WO_E_RANGE;
  }
  const struct wo_trace_entry *const alloc = &trace->entries.items[index];
  entry->size_bytes = alloc->size_bytes;
  entry->stream = alloc->stream;
  entry->pool = alloc->pool;
  return WO_OK;
}

/* Notes the allocations of entries [first, end). */
static enum wo_status note_allocations(const struct wo_trace *trace, size_t first, size_t end, struct wo_address_table *newest) {
  enum wo_status status = WO_OK;
  for (size_t i = first; i < end && status == WO_OK; i++) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i];
    if (entry->action == WO_ACTION_ALLOC) status = wo_address_table_put(newest, entry->address, (uint32_t)i);
  }
  return status;
}

/* The frees of one device, by rising entry; frees after the last kept entry are left out, too. */
static enum wo_status size_frees_of(const struct wo_json_stream *json, const struct wo__short_frees *frees,
                                    struct wo_trace *trace, struct wo_err *err) {
  struct wo_address_table newest = {0};
  size_t noted = 0;
  enum wo_status status = WO_OK;
  for (size_t i = 0; i < frees->count && status == WO_OK; i++) {
    const struct wo__short_free *const item = &frees->items[i];
    if (item->device != trace->device || item->entry >= trace->entries.count) continue;
    assert(noted <= item->entry);
    status = note_allocations(trace, noted, item->entry, &newest);
    if (status != WO_OK) wo_json_stream_fail(json, err, status, "%s", wo_status_text(status));
    noted = item->entry;
    if (status == WO_OK) status = size_free(json, item, trace, &newest, err);
  }
  wo_address_table_done(&newest);
  return status;
}

enum wo_status wo__lines_size_frees(const struct wo_json_stream *json, const struct wo__short_frees *frees,
                                    struct wo_recording *recording, struct wo_err *err) {
  enum wo_status status = WO_OK;
  if (frees->count == 0) return WO_OK;
  for (size_t i = 0; i < recording->traces.count && status == WO_OK; i++)
    status = size_frees_of(json, frees, &recording->traces.items[i], err);
  return status;
}
