/* SPDX-License-Identifier: Apache-2.0 */
/* Makes traces of memory events: pairs frees with allocations, adds blocks that existed before, and checks the file's own sums.
 *
 * Every resulting trace can be replayed, for any events: an address is allocated only while no block lives there, and freed only
 * while one does. If the events break that rule, something was not recorded (a profiler paused, a buffer overflowed): the fewest
 * events that explain it are added and counted. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cuda_replay/collections/address_map.h"
#include "cuda_replay/recording/json/chrome_trace_internal.h"
#include "cuda_replay/recording/trace_front.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

/* In the map of addresses: no block lives there now. */
#define DEAD UINT32_MAX

/* A block without a known address is put above all others, aligned like a segment. */
#define SEGMENT_ALIGN_BYTES (UINT64_C(2) * 1024 * 1024)

/* One device while its trace is made. */
struct build {
  struct wo_recording *recording;
  struct wo_trace *trace;
  struct wo_address_map places; /* address -> entry of its allocation, or DEAD */
  struct wo_trace_front front;
  int64_t base_us;
  uint64_t end; /* above every block */
  bool has_level;
  int64_t first_level_bytes; /* allocated before the first event */
  int64_t level_bytes;
  size_t level_wrong_count;
  uint64_t level_wrong_at; /* the first event that disagrees, and the difference */
  int64_t level_wrong_bytes;
  size_t lost_count; /* frees and allocations that are missing in the file */
  size_t size_wrong_count;
  size_t left_out_count;
  int64_t reserved_bytes, first_reserved_bytes, peak_reserved_bytes; /* WO__CHROME_UNKNOWN before the first */
  size_t rise_count, fall_count;
};

/* ---- Order ---- */

/* Times of two events can be equal; then their order in the file counts. */
static int compare_events(const void *left, const void *right) {
  const struct wo__chrome_event *const a = left, *const b = right;
  if (a->device != b->device) return a->device < b->device ? -1 : 1;
  if (a->ts_ns != b->ts_ns) return a->ts_ns < b->ts_ns ? -1 : 1;
  return a->index < b->index ? -1 : a->index > b->index;
}

static void sort_events(struct wo__chrome_events *events) {
  size_t sorted = 1;
  while (sorted < events->count && compare_events(&events->items[sorted - 1], &events->items[sorted]) < 0) sorted++;
  if (sorted < events->count) qsort(events->items, events->count, sizeof *events->items, compare_events);
}

/* ---- Entries ---- */

/* Rounded down, also for negative times. */
static int64_t time_us(const struct build *build, int64_t ts_ns) {
  const int64_t us = ts_ns / 1000 - (ts_ns % 1000 < 0 ? 1 : 0);
  int64_t sum = 0;
  return __builtin_add_overflow(us, build->base_us, &sum) ? us : sum;
}

/* An OOM has no address, and the free memory of the card is not known. */
static enum wo_status add_entry(struct build *build, const struct wo__chrome_event *event, enum wo_action action,
                                uint64_t size_bytes) {
  const enum wo_status status = wo_trace_add(build->trace, (struct wo_trace_entry){
                                                               .address = event->is_oom ? 0 : event->address,
                                                               .size_bytes = size_bytes,
                                                               .time_us = time_us(build, event->ts_ns),
                                                               .stack = event->stack,
                                                               .action = (uint32_t)action & 31u,
                                                           });
  if (status == WO_E_LIMIT) build->left_out_count++;
  return status == WO_E_LIMIT ? WO_OK : status;
}

/* No event shows when a block that other streams use is given back, so the free completes at once. */
static enum wo_status add_free(struct build *build, const struct wo__chrome_event *event, uint64_t size_bytes) {
  const enum wo_status status = add_entry(build, event, WO_ACTION_FREE_REQUESTED, size_bytes);
  return status == WO_OK ? add_entry(build, event, WO_ACTION_FREE_COMPLETED, size_bytes) : status;
}

static uint64_t magnitude(int64_t bytes) {
  return bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
}

/* An allocation at a taken address: the free before it is missing, and is added. */
static enum wo_status take_alloc(struct build *build, const struct wo__chrome_event *event) {
  assert(event->bytes > 0);
  uint32_t place = DEAD;
  uint64_t end = 0;
  enum wo_status status = WO_OK;
  if (wo_address_map_find(&build->places, event->address, &place) && place != DEAD) {
    build->lost_count++; /* its free was not recorded */
    status = add_free(build, event, build->trace->entries.items[place].size_bytes);
  }
  if (!__builtin_add_overflow(event->address, (uint64_t)event->bytes, &end) && end > build->end) build->end = end;
  const size_t entry = build->trace->entries.count;
  if (status == WO_OK) status = add_entry(build, event, WO_ACTION_ALLOC, (uint64_t)event->bytes);
  if (status != WO_OK || build->trace->entries.count == entry) return status;
  return wo_address_map_put(&build->places, event->address, (uint32_t)entry);
}

/* Three cases: the block is alive, its allocation is missing, or it was there before the first event. */
static enum wo_status take_free(struct build *build, const struct wo__chrome_event *event) {
  assert(event->bytes < 0);
  uint64_t size_bytes = magnitude(event->bytes), end = 0;
  uint32_t place = DEAD;
  const bool is_known = wo_address_map_find(&build->places, event->address, &place);
  enum wo_status status = WO_OK;
  if (place != DEAD) {
    const uint64_t allocated_bytes = build->trace->entries.items[place].size_bytes;
    if (allocated_bytes != size_bytes) build->size_wrong_count++;
    size_bytes = allocated_bytes;
  } else if (is_known) {
    build->lost_count++; /* a block lived there before this one, whose allocation was not recorded */
    status = add_entry(build, event, WO_ACTION_ALLOC, size_bytes);
  } else {
    status = wo_trace_front_add(&build->front, event->address, size_bytes);
    if (!__builtin_add_overflow(event->address, size_bytes, &end) && end > build->end) build->end = end;
  }
  if (status == WO_OK) status = add_free(build, event, size_bytes);
  return status == WO_OK ? wo_address_map_put(&build->places, event->address, DEAD) : status;
}

/* ---- The file's sums ---- */

/* After a difference the file's value is used, so that each gap counts once. */
static void check_level(struct build *build, const struct wo__chrome_event *event) {
  int64_t expected = 0;
  const int64_t bytes = event->is_oom ? 0 : event->bytes;
  if (event->allocated_bytes == WO__CHROME_UNKNOWN) {
    if (!__builtin_add_overflow(build->level_bytes, bytes, &expected)) build->level_bytes = expected;
    return;
  }
  if (!build->has_level) {
    const bool is_wrong = __builtin_sub_overflow(event->allocated_bytes, bytes, &expected) ||
                          __builtin_sub_overflow(expected, build->level_bytes, &expected);
    build->first_level_bytes = is_wrong || expected < 0 ? 0 : expected;
  } else if (__builtin_add_overflow(build->level_bytes, bytes, &expected) || expected != event->allocated_bytes) {
    if (build->level_wrong_count++ == 0) {
      build->level_wrong_at = event->index;
      build->level_wrong_bytes = event->allocated_bytes - (expected < 0 ? 0 : expected);
    }
  }
  build->has_level = true;
  build->level_bytes = event->allocated_bytes;
}

/* Segments leave no event; only the steps of the reserved memory show them. */
static void check_reserved(struct build *build, const struct wo__chrome_event *event) {
  if (event->reserved_bytes == WO__CHROME_UNKNOWN) return;
  if (build->reserved_bytes == WO__CHROME_UNKNOWN) {
    build->first_reserved_bytes = event->reserved_bytes;
  } else {
    build->rise_count += event->reserved_bytes > build->reserved_bytes;
    build->fall_count += event->reserved_bytes < build->reserved_bytes;
  }
  build->reserved_bytes = event->reserved_bytes;
  if (event->reserved_bytes > build->peak_reserved_bytes) build->peak_reserved_bytes = event->reserved_bytes;
}

/* ---- Notes ---- */

static double mib(int64_t bytes) {
  return (double)bytes / (1024.0 * 1024.0);
}

static void note_checks(const struct build *build) {
  struct wo_recording *const recording = build->recording;
  const int device = build->trace->device;
  if (build->level_wrong_count > 0)
    wo_recording_note(recording,
                      "device %d: Total Allocated of event %" PRIu64 " is %" PRId64
                      " bytes off the sum of the events before it, as are %zu events in all: events are missing",
                      device, build->level_wrong_at, build->level_wrong_bytes, build->level_wrong_count);
  if (build->lost_count > 0)
    wo_recording_note(recording, "device %d: %zu allocations or frees are missing between two at the same address and were added",
                      device, build->lost_count);
  if (build->size_wrong_count > 0)
    wo_recording_note(recording, "device %d: %zu frees state another size than their allocation, whose size is used", device,
                      build->size_wrong_count);
  if (build->left_out_count > 0)
    wo_recording_note(recording, "device %d: %zu entries beyond the first %zu are left out", device, build->left_out_count,
                      WO_LIMIT_TRACE_ENTRIES);
  if (build->peak_reserved_bytes != WO__CHROME_UNKNOWN)
    wo_recording_note(
        recording, "device %d: the profiler saw %.1f MiB reserved at first, %.1f MiB at most, in %zu steps up and %zu down",
        device, mib(build->first_reserved_bytes), mib(build->peak_reserved_bytes), build->rise_count, build->fall_count);
}

/* ---- Devices ---- */

/* Adds one block for the memory that was allocated before the first event and stays: only its sum is known. */
static enum wo_status add_rest(struct build *build) {
  uint64_t known_bytes = 0, address = 0;
  for (size_t i = 0; i < build->front.count; i++) {
    if (__builtin_add_overflow(known_bytes, build->front.items[i].size_bytes, &known_bytes)) known_bytes = UINT64_MAX;
  }
  const size_t count = build->front.count;
  if (count > 0)
    wo_recording_note(build->recording,
                      "device %d: %zu blocks (%.1f MiB) were allocated before profiling began: where they lay is a guess",
                      build->trace->device, count, mib((int64_t)(known_bytes & INT64_MAX)));
  if (!build->has_level || (uint64_t)build->first_level_bytes <= known_bytes) return WO_OK;
  const uint64_t rest_bytes = (uint64_t)build->first_level_bytes - known_bytes;
  if (__builtin_add_overflow(build->end, SEGMENT_ALIGN_BYTES - 1, &address)) return WO_OK;
  wo_recording_note(build->recording,
                    "device %d: %.1f MiB more were allocated before profiling began and stay to the end: they count as one block",
                    build->trace->device, mib((int64_t)rest_bytes));
  return wo_trace_front_add(&build->front, address / SEGMENT_ALIGN_BYTES * SEGMENT_ALIGN_BYTES, rest_bytes);
}

static enum wo_status take_event(struct build *build, const struct wo__chrome_event *event) {
  check_level(build, event);
  check_reserved(build, event);
  if (event->is_oom) return add_entry(build, event, WO_ACTION_OOM, magnitude(event->bytes));
  if (event->bytes == 0) return WO_OK;
  return event->bytes > 0 ? take_alloc(build, event) : take_free(build, event);
}

static enum wo_status build_device(struct build *build, const struct wo__chrome_event *events, size_t count) {
  assert(count > 0 && build->trace->entries.count == 0);
  enum wo_status status = WO_OK;
  for (size_t i = 0; i < count && status == WO_OK; i++) status = take_event(build, &events[i]);
  if (status == WO_OK) status = add_rest(build);
  if (status == WO_OK) status = wo_trace_front_put(&build->front, build->trace);
  if (status == WO_OK) note_checks(build);
  wo_address_map_done(&build->places);
  WO_VEC_DONE(&build->front);
  return status;
}

enum wo_status wo__chrome_build(struct wo__chrome_events *events, int64_t base_us, struct wo_recording *recording) {
  sort_events(events);
  for (size_t first = 0, end = 0; first < events->count; first = end) {
    const int device = events->items[first].device;
    while (end < events->count && events->items[end].device == device) end++;
    struct build build = {.recording = recording,
                          .trace = wo_recording_trace(recording, device),
                          .base_us = base_us,
                          .reserved_bytes = WO__CHROME_UNKNOWN,
                          .peak_reserved_bytes = WO__CHROME_UNKNOWN};
    if (build.trace == NULL) return recording->traces.count < WO_LIMIT_TRACE_DEVICES ? WO_E_NOMEM : WO_E_LIMIT;
    const enum wo_status status = build_device(&build, events->items + first, end - first);
    if (status != WO_OK) return status;
  }
  return WO_OK;
}
