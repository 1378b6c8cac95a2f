/* SPDX-License-Identifier: Apache-2.0 */
/* The recorded device: a cursor over the segment events and `oom` entries of a trace. */
#include "cuda_replay/replay/device_recorded.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cuda_replay/replay/expandable_ranges_internal.h"

struct wo_device_recorded {
  const struct wo_trace *trace;
  size_t cursor; /* the next entry to look at */
  size_t limit;  /* the last entry that can belong to the current request */
  uint64_t total_bytes;
  char message[200];
};

/* ---- The cursor ---- */

/* The next event, or NULL at the end of the recording. */
static const struct wo_trace_entry *peek(struct wo_device_recorded *device) {
  while (device->cursor < device->trace->entries.count) {
    const struct wo_trace_entry *const entry = &device->trace->entries.items[device->cursor];
    if (wo_entry_is(entry, WO_TRAIT_SEGMENT | WO_TRAIT_REFUSAL)) return entry;
    device->cursor++;
  }
  return NULL;
}

static enum wo_status fail(struct wo_device_recorded *device, const char *what, uint64_t size_bytes) {
  snprintf(device->message, sizeof device->message, "the recording shows no %s of %" PRIu64 " bytes here", what, size_bytes);
  return WO_E_IO;
}

/* Whether the recorded device had no memory: its next event is a release, which follows a failure, or the failed request itself.
 */
static bool is_refusal(struct wo_device_recorded *device) {
  const struct wo_trace_entry *const next = peek(device);
  if (!next || device->cursor > device->limit) return false;
  return next->action != WO_ACTION_SEGMENT_ALLOC && next->action != WO_ACTION_SEGMENT_MAP;
}

/* Takes the next event if it is `action`. */
static const struct wo_trace_entry *take(struct wo_device_recorded *device, enum wo_action action) {
  const struct wo_trace_entry *const next = peek(device);
  if (!next || next->action != action) return NULL;
  device->cursor++;
  return next;
}

/* ---- The device's calls ---- */

static enum wo_status segment_alloc(void *state, uint64_t size_bytes, uint64_t *ret_address) {
  struct wo_device_recorded *const device = state;
  if (is_refusal(device)) return WO_E_LIMIT;
  const bool is_here = peek(device) != NULL && device->cursor <= device->limit;
  const struct wo_trace_entry *const entry = is_here ? take(device, WO_ACTION_SEGMENT_ALLOC) : NULL;
  if (!entry || entry->address == 0) return fail(device, "segment_alloc", size_bytes);
  *ret_address = entry->address;
  return WO_OK;
}

/* Takes the release that is next. An `oom` before it belongs to an earlier request, since nothing is released after one. The
 * observer of the allocator compares the released segments. */
static void release(struct wo_device_recorded *device, enum wo_action action) {
  while (take(device, WO_ACTION_OOM) != NULL) continue;
  take(device, action);
}

static enum wo_status segment_free(void *state, uint64_t address, uint64_t size_bytes) {
  (void)address;
  (void)size_bytes;
  release(state, WO_ACTION_SEGMENT_FREE);
  return WO_OK;
}

/* A range begins with its first mapping. A range whose first mapping fails is not needed yet: the next request reserves it. */
static enum wo_status range_reserve(void *state, uint64_t size_bytes, uint64_t *ret_address) {
  struct wo_device_recorded *const device = state;
  if (is_refusal(device)) return WO_E_LIMIT;
  const struct wo_trace_entry *const next = peek(device);
  const bool is_here = next && device->cursor <= device->limit && next->action == WO_ACTION_SEGMENT_MAP && next->address != 0;
  if (!is_here) return fail(device, "segment_map in a new range", size_bytes);
  *ret_address = next->address;
  return WO_OK;
}

static enum wo_status range_free(void *state, uint64_t address, uint64_t size_bytes) {
  (void)state;
  (void)address;
  (void)size_bytes;
  return WO_OK;
}

static enum wo_status map(void *state, uint64_t address, uint64_t size_bytes, uint64_t handle_bytes) {
  struct wo_device_recorded *const device = state;
  (void)address;
  (void)handle_bytes;
  if (is_refusal(device)) return WO_E_LIMIT;
  const bool is_here = peek(device) != NULL && device->cursor <= device->limit;
  if (is_here && take(device, WO_ACTION_SEGMENT_MAP)) return WO_OK;
  return fail(device, "segment_map", size_bytes);
}

static enum wo_status unmap(void *state, uint64_t address, uint64_t size_bytes, uint64_t handle_bytes) {
  (void)address;
  (void)size_bytes;
  (void)handle_bytes;
  release(state, WO_ACTION_SEGMENT_UNMAP);
  return WO_OK;
}

static void memory_info(void *state, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes) {
  struct wo_device_recorded *const device = state;
  const struct wo_trace_entry *const next = peek(device);
  *ret_free_bytes = next && next->action == WO_ACTION_OOM ? next->address : UINT64_MAX;
  *ret_total_bytes = device->total_bytes;
}

static const char *message(void *state) {
  return ((const struct wo_device_recorded *)state)->message;
}

/* ---- Life ---- */

struct wo_device_recorded *wo_device_recorded_new(const struct wo_recording *recording, const struct wo_trace *trace,
                                                  const struct wo_start *start, struct wo_device *ret_device) {
  struct wo_device_recorded *const device = calloc(1, sizeof *device);
  if (!device) return NULL;
  device->trace = trace;
  device->limit = SIZE_MAX;
  if (wo__card_bytes(recording, trace, start, &device->total_bytes) != WO_OK) return wo_device_recorded_free(device);
  /* The limit of a memory fraction needs the card's real memory. */
  if (recording->capacity_bytes == 0 && recording->settings.memory_fraction > 0) device->total_bytes = UINT64_MAX;
  *ret_device = (struct wo_device){.state = device,
                                   .segment_alloc = segment_alloc,
                                   .segment_free = segment_free,
                                   .range_reserve = range_reserve,
                                   .range_free = range_free,
                                   .map = map,
                                   .unmap = unmap,
                                   .memory_info = memory_info,
                                   .message = message};
  return device;
}

void wo_device_recorded_seek(struct wo_device_recorded *device, size_t entry) {
  assert(device->cursor <= device->trace->entries.count);
  device->limit = entry;
  for (const struct wo_trace_entry *next = peek(device); next && next->action == WO_ACTION_OOM; next = peek(device)) {
    if (device->cursor >= entry) break;
    device->cursor++;
  }
}

struct wo_device_recorded *wo_device_recorded_free(struct wo_device_recorded *device) {
  if (!device) return NULL;
  free(device);
  return NULL;
}
