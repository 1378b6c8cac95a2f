/* The last step of the reader of the line form: finds the sizes of short frees ({"free": 7}).
 *
 * It comes at the end, so that files without short frees pay nothing: all allocations are sorted by address and age, and each
 * free finds the newest before it. This does not check that the block is still alive; making a pattern refuses a block that is
 * freed twice. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "parsers/base/vec.h"

#include "cuda_replay/recording/json/trace_lines_internal.h"

/* An allocation with its address and time. */
struct place {
  uint64_t address;
  size_t entry;
};

/* By address, and at one address by age. */
static int compare_places(const void *left, const void *right) {
  const struct place *const a = left, *const b = right;
  if (a->address != b->address) return a->address < b->address ? -1 : 1;
  return a->entry < b->entry ? -1 : a->entry > b->entry;
}

/* All allocations of a trace, in the order of compare_places; NULL when memory is out. */
static struct place *sort_allocations(const struct wo_trace *trace, size_t *ret_count) {
  struct place *const places = malloc((trace->entries.count + 1) * sizeof *places);
  size_t count = 0;
  if (places == NULL) return NULL;
  for (size_t i = 0; i < trace->entries.count; i++) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i];
    if (entry->action == WO_ACTION_ALLOC) places[count++] = (struct place){entry->address, i};
  }
  qsort(places, count, sizeof *places, compare_places);
  *ret_count = count;
  return places;
}

/* The newest allocation of the address before an entry, or NULL. */
static const struct place *find_before(const struct place *places, size_t count, struct place wanted) {
  size_t low = 0;
  WO_LOWER_BOUND(low, count, at, compare_places(&places[at], &wanted) < 0);
  return low > 0 && places[low - 1].address == wanted.address ? &places[low - 1] : NULL;
}

/* Stream and pool come from the allocation, too, so that people need not write them twice. */
static enum wo_status size_free(const struct wo_json_stream *json, const struct wo__short_free *item, struct wo_trace *trace,
                                const struct place *places, size_t count, struct wo_err *err) {
  assert(item->entry < trace->entries.count);
  struct wo_trace_entry *const entry = &trace->entries.items[item->entry];
  const struct place *const place = find_before(places, count, (struct place){entry->address, item->entry});
  if (place == NULL) {
    wo_json_stream_fail(json, err, WO_E_RANGE,
                        "no line above allocates %" PRIu64
                        ": say \"free_requested\" and \"free_completed\" with the size that was freed",
                        entry->address);
    wo_err_place(err, NULL, item->line, 0, 0);
    return WO_E_RANGE;
  }
  const struct wo_trace_entry *const alloc = &trace->entries.items[place->entry];
  entry->size_bytes = alloc->size_bytes;
  entry->stream = alloc->stream;
  entry->pool = alloc->pool;
  return WO_OK;
}

/* The frees of one device; frees after the last kept entry are left out, too. */
static enum wo_status size_frees_of(const struct wo_json_stream *json, const struct wo__short_frees *frees,
                                    struct wo_trace *trace, struct wo_err *err) {
  size_t count = 0;
  struct place *const places = sort_allocations(trace, &count);
  enum wo_status status = places == NULL ? wo_json_stream_fail(json, err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM)) : WO_OK;
  for (size_t i = 0; i < frees->count && status == WO_OK; i++) {
    const struct wo__short_free *const item = &frees->items[i];
    if (item->device != trace->device || item->entry >= trace->entries.count) continue;
    status = size_free(json, item, trace, places, count, err);
  }
  free(places);
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
