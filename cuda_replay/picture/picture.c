/* SPDX-License-Identifier: Apache-2.0 */
/* A recording as a value that can be drawn. See picture.h. */
#include "cuda_replay/picture/picture.h"

#include <assert.h>
#include <stdlib.h>

#include "cuda_replay/command/replay_make.h"
#include "cuda_replay/recording/open/trace_open.h"
#include "cuda_replay/recording/trace_anonymous.h"

/* Columns of the picture of memory over time: two points each. */
enum { COLUMNS_MAX = WO_CURVE_STRETCHES };

/* ---- Memory over time ---- */

/* Lowest and highest of a column; the lowest is written first, since a column does not say which came first. */
static size_t add_column(const struct wo_memory_bin *bin, enum wo_memory_series series, struct wo_curve_point *points) {
  const double first = bin->first + 1.0, last = bin->first + (double)bin->count;
  points[0] = (struct wo_curve_point){.x = first, .at = first, .bytes = (double)bin->low_bytes[series]};
  points[1] = (struct wo_curve_point){.x = last, .at = last, .bytes = (double)bin->high_bytes[series]};
  if (bin->count > 1) return 2;
  points[0] = points[1];
  return 1;
}

static bool add_course(const struct wo_memory_over_time *memory, struct wo_arena *arena, struct wo_recorded_memory *ret_memory) {
  struct wo_curve_point *const allocated = wo_arena_array(arena, (size_t)2 * COLUMNS_MAX, sizeof *allocated);
  struct wo_curve_point *const reserved = wo_arena_array(arena, (size_t)2 * COLUMNS_MAX, sizeof *reserved);
  struct wo_memory_bin *const columns = malloc(COLUMNS_MAX * sizeof *columns);
  if (allocated == NULL || reserved == NULL || columns == NULL) {
    arena->is_exhausted = true;
    free(columns);
    return false;
  }
  const size_t count = wo_memory_columns(memory, COLUMNS_MAX, columns);
  size_t points = 0;
  for (size_t i = 0; i < count; i++) {
    add_column(&columns[i], WO_MEMORY_ALLOCATED, &allocated[points]);
    points += add_column(&columns[i], WO_MEMORY_RESERVED, &reserved[points]);
  }
  free(columns);
  ret_memory->requests = memory->request_count;
  ret_memory->allocated = allocated;
  ret_memory->reserved = reserved;
  ret_memory->point_count = points;
  return true;
}

/* ---- Segments ---- */

static const char *sort_of(const struct wo_alloc_pattern *pattern, const struct wo_map_block *block) {
  if (block->state == WO_BLOCK_FREE) return "free";
  if (block->state == WO_BLOCK_PENDING) return "pending";
  if (block->instance == WO_NO_INSTANCE) return wo_alloc_class_name(WO_CLASS_UNKNOWN);
  return wo_alloc_class_name((enum wo_alloc_class)pattern->instances.items[block->instance].class_);
}

/* The largest first; equal ones by address, so that the result is always the same. */
static int compare_segments(const void *a, const void *b) {
  const struct wo_map_segment *const x = *(const struct wo_map_segment *const *)a, *const y =
                                                                                       *(const struct wo_map_segment *const *)b;
  if (x->size_bytes != y->size_bytes) return x->size_bytes > y->size_bytes ? -1 : 1;
  return x->address < y->address ? -1 : x->address > y->address;
}

struct blocks {
  struct wo_recorded_block *items;
  size_t count;
};

/* Neighbours of one sort are one block; one that is too small to be seen belongs to its neighbour. */
static void add_segment(const struct wo_replay_report *report, const struct wo_map_segment *segment, struct blocks *blocks,
                        struct wo_recorded_segment *ret_segment) {
  const size_t first = blocks->count;
  const double least = (double)segment->size_bytes / 1000;
  for (uint32_t i = 0; i < segment->block_count; i++) {
    const struct wo_map_block *const block = &report->memory.map.blocks.items[segment->first_block + i];
    const char *const sort = sort_of(report->pattern, block);
    struct wo_recorded_block *const last = blocks->count > first ? &blocks->items[blocks->count - 1] : NULL;
    if (block->state != WO_BLOCK_FREE) ret_segment->used_bytes += (double)block->size_bytes;
    const bool is_joined =
        last != NULL && (last->sort == sort || (double)block->size_bytes < least || blocks->count == WO_RECORDED_BLOCKS_MAX);
    if (is_joined) {
      last->bytes += (double)block->size_bytes;
    } else if (blocks->count < WO_RECORDED_BLOCKS_MAX) {
      blocks->items[blocks->count++] = (struct wo_recorded_block){
          .sort = sort, .offset_bytes = (double)(block->address - segment->address), .bytes = (double)block->size_bytes};
    }
  }
  ret_segment->bytes = (double)segment->size_bytes;
  ret_segment->is_small = segment->is_small;
  ret_segment->is_expandable = segment->is_expandable;
  ret_segment->first_block = first;
  ret_segment->block_count = blocks->count - first;
}

static bool add_segments(const struct wo_replay_report *report, struct wo_arena *arena, struct wo_recorded_memory *ret_memory) {
  const struct wo_segment_map *const map = &report->memory.map;
  const size_t shown = map->segments.count < WO_RECORDED_SEGMENTS_MAX ? map->segments.count : WO_RECORDED_SEGMENTS_MAX;
  const struct wo_map_segment **const order = malloc((map->segments.count + 1) * sizeof *order);
  struct wo_recorded_segment *const segments = wo_arena_array(arena, shown + 1, sizeof *segments);
  struct blocks blocks = {.items = wo_arena_array(arena, WO_RECORDED_BLOCKS_MAX, sizeof *blocks.items)};
  if (order == NULL || segments == NULL || blocks.items == NULL) {
    arena->is_exhausted = true;
    free(order);
    return false;
  }
  for (size_t i = 0; i < map->segments.count; i++) order[i] = &map->segments.items[i];
  qsort(order, map->segments.count, sizeof *order, compare_segments);
  for (size_t i = 0; i < shown; i++) add_segment(report, order[i], &blocks, &segments[i]);
  free(order);
  ret_memory->segments = segments;
  ret_memory->segment_count = shown;
  ret_memory->segments_left_out = map->segments.count - shown;
  ret_memory->blocks = blocks.items;
  ret_memory->block_count = blocks.count;
  return true;
}

/* ---- Who holds it ---- */

/* "forward attention.py:208". */
static struct wo_view name_of(const struct wo_recording *recording, uint32_t index, struct wo_arena *arena) {
  struct wo_text text = {0};
  if (index == WO_NO_FRAME) return (struct wo_view){0};
  const struct wo_frame *const frame = &recording->frames.items[index];
  const struct wo_view file = wo_frame_file_name(frame);
  wo_text_add_clean(&text, wo_view_sub(wo_frame_function_name(frame), 0, 80));
  if (file.len > 0 && !wo_view_is(file, "??")) {
    wo_text_add(&text, " ");
    wo_text_add_clean(&text, wo_view_sub(file, 0, 80));
    if (frame->line > 0) wo_text_add(&text, ":%u", frame->line);
  }
  const struct wo_view name = wo_arena_copy(arena, (struct wo_view){text.ptr, text.len});
  if (text.is_failed) arena->is_exhausted = true;
  wo_text_done(&text);
  return name;
}

static void add_holders(const struct wo_replay_report *report, struct wo_arena *arena, struct wo_recorded_memory *ret_memory) {
  const struct wo_recording *const recording = report->recording;
  for (size_t i = 0; i < report->attribution.sites.count && i < WO_RECORDED_HOLDERS_MAX; i++) {
    const struct wo_attribution_site *const site = &report->attribution.sites.items[i];
    ret_memory->holders[ret_memory->holder_count++] = (struct wo_recorded_holder){
        .name = name_of(recording, site->frame, arena),
        .user = site->user != site->frame ? name_of(recording, site->user, arena) : (struct wo_view){0},
        .sort = wo_alloc_class_name(site->class_),
        .bytes = (double)site->share.block_bytes,
        .count = site->share.count};
  }
}

/* ---- All together ---- */

static bool convert(const struct wo_replay_report *report, struct wo_arena *arena, struct wo_recorded_memory *ret_memory) {
  const struct wo_memory_over_time *const memory = &report->memory;
  *ret_memory = (struct wo_recorded_memory){.is_compared = report->has_check,
                                            .is_exact = report->has_check && report->check.verdict == WO_CHECK_EQUAL,
                                            .capacity_bytes = (double)report->capacity.bytes,
                                            .has_failed = memory->moment == WO_MOMENT_OOM,
                                            .is_state = report->has_holdings};
  if (!report->has_holdings && !add_course(memory, arena, ret_memory)) return false;
  const bool has_moment =
      memory->moment != WO_MOMENT_NONE && (report->has_holdings || memory->moment_at.request != WO_NO_REQUEST);
  if (!has_moment) return true;
  ret_memory->moment = report->has_holdings ? 0 : (size_t)memory->moment_at.request + 1;
  ret_memory->allocated_bytes = (double)report->attribution.total.block_bytes;
  ret_memory->reserved_bytes = (double)memory->map.reserved_bytes;
  ret_memory->largest_free_bytes = (double)report->attribution.use.largest_free_bytes;
  if (!add_segments(report, arena, ret_memory)) return false;
  add_holders(report, arena, ret_memory);
  return !wo_arena_is_exhausted(arena);
}

/* What is asked of one card of the recording. False: nothing can be shown. */
static bool choose_args(const struct wo_recording *recording, double capacity_bytes, struct wo_replay_args *ret_args) {
  *ret_args = (struct wo_replay_args){.shows_memory = true};
  if (recording->fidelity == WO_TRACE_EXACT && !recording->has_only_ids) return true;
  if (!(capacity_bytes >= 1) || capacity_bytes >= 9e18) return false;
  ret_args->change.capacity_bytes = (uint64_t)capacity_bytes;
  return true;
}

static bool look_at(const struct wo_recording *recording, const struct wo_trace *trace, const char *path,
                    const struct wo_replay_args *args, struct wo_arena *arena, struct wo_recorded_memory *ret_memory) {
  struct wo_replay_report *const report = malloc(sizeof *report); /* too large for a small stack */
  struct wo_err err = {0};
  bool has_some = false;
  if (report == NULL) {
    arena->is_exhausted = true;
    return false;
  }
  const enum wo_status status = wo_replay_make(recording, trace, wo_view_of(path), args, report, &err);
  if (status == WO_E_NOMEM) arena->is_exhausted = true;
  if (status == WO_OK) {
    has_some = report->has_memory && (report->has_holdings || report->memory.request_count > 1);
    has_some = has_some && convert(report, arena, ret_memory);
    wo_replay_report_done(report);
  }
  free(report);
  return has_some;
}

bool wo_picture_make(const char *path, double capacity_bytes, struct wo_pseudonyms *pseudonyms, struct wo_arena *arena,
                     struct wo_recorded_memory *ret_memory) {
  assert(path != NULL && arena != NULL && ret_memory != NULL);
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  bool has_some = false;
  const enum wo_status status = wo_trace_open(path, &recording, &err);
  if (status == WO_E_NOMEM) arena->is_exhausted = true;
  if (status != WO_OK) return false;
  wo_recording_anonymize(recording, pseudonyms);
  struct wo_replay_args args;
  const bool is_shown = choose_args(recording, capacity_bytes, &args);
  for (size_t i = 0; i < recording->traces.count && is_shown; i++) {
    struct wo_recorded_memory memory;
    if (!look_at(recording, &recording->traces.items[i], path, &args, arena, &memory)) continue;
    if (!has_some || memory.has_failed) *ret_memory = memory;
    has_some = true;
    if (memory.has_failed) break;
  }
  wo_recording_free(recording);
  if (has_some) ret_memory->path = wo_arena_copy(arena, wo_pseudonyms_path(pseudonyms, wo_view_of(path), arena));
  return has_some;
}
