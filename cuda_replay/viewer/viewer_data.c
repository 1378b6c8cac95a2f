/* SPDX-License-Identifier: Apache-2.0 */
/* The data of the page's script: one JSON object whose long lists are rows of digits (viewer_code.h). viewer.js reads it. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cuda_replay/viewer/viewer_code.h"
#include "cuda_replay/viewer/viewer_internal.h"

/* Samples of the times of entries; marks of the program's steps; characters of a name. */
enum { TIMES_MAX = 512, MARKS_MAX = 200, NAME_CHARS = 160 };

/* Column values are written in units that leave at most this many bits: so small a part of the highest one is not seen. */
enum { VALUE_BITS = 18 };

struct writer {
  const struct wo__viewer *viewer;
  struct wo_text *out;
  struct wo_text scratch;
  uint64_t unit_bytes; /* of addresses and sizes of ranges */
};

static void put(struct writer *w, const char *text) {
  wo_text_add_view(w->out, wo_view_of(text));
}

/* Adds the text that was built as a JSON string, and empties it. */
static void put_scratch(struct writer *w) {
  put(w, "\"");
  wo_code_text(w->out, (struct wo_view){w->scratch.ptr, w->scratch.len}, NAME_CHARS, false);
  put(w, "\"");
  w->scratch.len = 0;
}

/* The time on the page's axis of the state after an entry: 0 is before the window's first entry. */
static uint32_t time_of(const struct wo__viewer *viewer, uint32_t entry) {
  return entry == WO_NO_ENTRY || entry < viewer->window.first ? 0 : entry - viewer->window.first + 1;
}

/* ---- Facts ---- */

static void put_facts(struct writer *w) {
  const struct wo__viewer *const viewer = w->viewer;
  const struct wo_trace *const trace = viewer->look->lives.trace;
  wo_text_add(w->out, "{\"first\":%" PRIu32 ",\"count\":%" PRIu32, viewer->window.first,
              viewer->window.end - viewer->window.first);
  wo_text_add(w->out, ",\"peak\":[%" PRIu32 ",%" PRIu64 "],\"ooms\":[", time_of(viewer, viewer->peak.entry), viewer->peak.bytes);
  for (size_t i = 0; i < viewer->oom_kept; i++)
    wo_text_add(w->out, "%s[%" PRIu32 ",%" PRIu64 "]", i > 0 ? "," : "", time_of(viewer, viewer->ooms[i]),
                trace->entries.items[viewer->ooms[i]].size_bytes);
  put(w, "],\"exact\":[");
  for (size_t i = 0; i < viewer->exact_count; i++)
    wo_text_add(w->out, "%s[%" PRIu32 ",%" PRIu32 "]", i > 0 ? "," : "", viewer->exact[i].first - viewer->window.first,
                viewer->exact[i].end - viewer->window.first);
  wo_text_add(w->out, "],\"all\":%s", viewer->is_all_kept ? "true" : "false");
  wo_text_add(w->out, ",\"placed\":%s,\"unit\":%" PRIu64, viewer->look->lives.recording->has_only_ids ? "false" : "true",
              w->unit_bytes);
}

static void put_groups(struct writer *w) {
  put(w, ",\"groupings\":[");
  for (size_t i = 0; i < w->viewer->grouping_count; i++) {
    wo_text_add(w->out, "%s{\"name\":\"%s\",\"groups\":[", i > 0 ? "," : "", w->viewer->groupings[i].name);
    for (size_t k = 0; k < w->viewer->groupings[i].count; k++) {
      if (k > 0) put(w, ",");
      wo__viewer_group_name(w->viewer, i, k, &w->scratch);
      put_scratch(w);
    }
    put(w, "]}");
  }
  put(w, "]");
}

/* ---- Columns ---- */

/* Where all blocks are in the page, the script sums them up itself: only the reserved bytes are left. The state before the window
 * is a row of its own: its reserved bytes, then its groups. */
static void put_columns(struct writer *w) {
  const struct wo__viewer_columns *const columns = &w->viewer->columns;
  const size_t groups = w->viewer->is_all_kept ? 0 : columns->groups;
  uint64_t unit = 1;
  while (w->viewer->peak.bytes / unit >> VALUE_BITS > 0) unit *= 2;
  wo_text_add(w->out, ",\"columns\":{\"width\":%" PRIu32 ",\"count\":%zu,\"unit\":%" PRIu64 ",\"at\":\"", columns->width,
              columns->count, unit);
  struct wo_code_row row = {0};
  for (size_t i = 0; i < columns->count && groups > 0; i++) {
    const uint32_t begin = w->viewer->window.first + (uint32_t)i * columns->width;
    wo_code_row_add(w->out, &row, columns->at[i] == WO_NO_ENTRY ? 0 : columns->at[i] - begin + 1);
  }
  wo_code_row_end(w->out, &row);
  put(w, "\",\"before\":\"");
  row = (struct wo_code_row){0};
  wo_code_row_add(w->out, &row, columns->reserved_before / unit);
  for (size_t g = 0; g < groups; g++) wo_code_row_add(w->out, &row, columns->before[g] / unit);
  wo_code_row_end(w->out, &row);
  put(w, "\",\"reserved\":\"");
  row = (struct wo_code_row){0};
  for (size_t i = 0; i < columns->count; i++) wo_code_row_add(w->out, &row, columns->reserved[i] / unit);
  wo_code_row_end(w->out, &row);
  put(w, "\",\"values\":[");
  for (size_t g = 0; g < groups; g++) {
    put(w, g > 0 ? ",\"" : "\"");
    row = (struct wo_code_row){0};
    for (size_t i = 0; i < columns->count; i++) wo_code_row_add(w->out, &row, columns->values[i * columns->groups + g] / unit);
    wo_code_row_end(w->out, &row);
    put(w, "\"");
  }
  put(w, "]}");
}

/* ---- Names and stacks ---- */

static void put_texts(struct writer *w) {
  const struct wo__viewer *const viewer = w->viewer;
  put(w, ",\"texts\":[");
  for (size_t i = 0; i < viewer->texts.count; i++) {
    const struct wo__viewer_text *const text = &viewer->texts.items[i];
    put(w, i > 0 ? ",\"" : "\"");
    wo_code_text(w->out, text->text, text->is_file ? WO__VIEWER_FILE_CHARS : WO__VIEWER_FUNCTION_CHARS, text->is_file);
    put(w, "\"");
  }
  put(w, "],\"frames\":\"");
  for (size_t i = 0; i < viewer->frames.count; i++) {
    const struct wo__viewer_frame *const frame = &viewer->frames.items[i];
    wo_code_u64(w->out, frame->function);
    wo_code_u64(w->out, frame->file);
    wo_code_u64(w->out, viewer->look->lives.recording->frames.items[frame->frame].line);
    wo_code_u64(w->out, wo_frame_origin(&viewer->look->lives.recording->frames.items[frame->frame]));
  }
  put(w, "\",\"nodes\":\"");
  for (size_t i = 0; i < viewer->nodes.count; i++) {
    const struct wo__viewer_node *const node = &viewer->nodes.items[i];
    wo_code_u64(w->out, node->parent == UINT32_MAX ? 0 : i - node->parent);
    wo_code_u64(w->out, viewer->frame_place[node->frame]);
  }
  put(w, "\"");
}

/* Sums are those of all blocks of the stack in the window, whether they are in the page or not. */
static void put_stacks(struct writer *w) {
  const struct wo__viewer *const viewer = w->viewer;
  put(w, ",\"stacks\":\"");
  for (size_t i = 0; i < viewer->stacks.count; i++) {
    const struct wo__viewer_stack *const stack = &viewer->stacks.items[i];
    wo_code_u64(w->out, stack->node);
    wo_code_u64(w->out, stack->count);
    wo_code_u64(w->out, stack->total_bytes);
    wo_code_u64(w->out, stack->peak_bytes);
  }
  put(w, "\"");
}

/* ---- Blocks ---- */

/* What blocks have in common that are made again and again. */
struct kind {
  uint64_t size_bytes;
  uint32_t stack; /* place in the page from 1; 0: none, or not in the page */
  uint8_t site, class_, category;
};

/* The kind of a kept block. */
struct kinded {
  struct kind kind;
  uint32_t block; /* its place among the kept ones */
};

static int compare_kinds(const void *left, const void *right) {
  const struct kind *const a = &((const struct kinded *)left)->kind;
  const struct kind *const b = &((const struct kinded *)right)->kind;
  if (a->stack != b->stack) return a->stack < b->stack ? -1 : 1;
  if (a->size_bytes != b->size_bytes) return a->size_bytes < b->size_bytes ? -1 : 1;
  if (a->class_ != b->class_) return a->class_ < b->class_ ? -1 : 1;
  if (a->category != b->category) return a->category < b->category ? -1 : 1;
  return a->site < b->site ? -1 : a->site > b->site;
}

/* The kept blocks with their kinds; `places` has the page's place of each stack of the recording, from 1. */
static void collect_kinds(const struct wo__viewer *viewer, const uint32_t *places, struct kinded *kinds) {
  const struct wo_lives *const lives = &viewer->look->lives;
  uint32_t kept = 0;
  for (size_t i = 0; i < lives->blocks.count; i++) {
    const struct wo_life *const life = &lives->blocks.items[i];
    if (!viewer->is_kept[i]) continue;
    kinds[kept] = (struct kinded){{.size_bytes = life->size_bytes,
                                   .stack = life->stack == WO_NO_STACK ? 0 : places[life->stack],
                                   .site = wo__viewer_group_of(viewer, 0, life),
                                   .class_ = wo__viewer_group_of(viewer, 1, life),
                                   .category = wo__viewer_group_of(viewer, 2, life)},
                                  kept};
    kept++;
  }
  assert(kept == viewer->kept_count);
}

/* Writes each kind once, and fills of_block. */
static void put_kinds(struct writer *w, const struct kinded *kinds, size_t count, uint32_t *of_block) {
  uint32_t number = 0;
  put(w, ",\"kinds\":\"");
  for (size_t i = 0; i < count; i++) {
    const struct kind *const kind = &kinds[i].kind;
    if (i > 0 && compare_kinds(&kinds[i], &kinds[i - 1]) != 0) number++;
    of_block[kinds[i].block] = number;
    if (i > 0 && compare_kinds(&kinds[i], &kinds[i - 1]) == 0) continue;
    wo_code_u64(w->out, kind->size_bytes);
    wo_code_u64(w->out, kind->stack);
    wo_code_u64(w->out, kind->site);
    wo_code_u64(w->out, kind->class_);
    wo_code_u64(w->out, kind->category);
  }
  put(w, "\"");
}

/* Begin and end of a block or range; begins rise. */
static void put_life(struct writer *w, uint32_t birth, uint32_t death, uint32_t *last_birth) {
  uint32_t from, end;
  wo__viewer_place(w->viewer->window, birth, death, &from, &end);
  wo_code_u64(w->out, from - *last_birth);
  wo_code_u64(w->out, end == 0 ? 0 : end - from);
  *last_birth = from;
}

static void put_address(struct writer *w, uint64_t address, uint64_t *last) {
  wo_code_i64(w->out, (int64_t)(address / w->unit_bytes - *last));
  *last = address / w->unit_bytes;
}

static void put_lives(struct writer *w, const uint32_t *kind_of) {
  const struct wo_lives *const lives = &w->viewer->look->lives;
  const bool is_placed = !lives->recording->has_only_ids;
  uint32_t birth = 0;
  uint64_t address = 0;
  put(w, ",\"blocks\":\"");
  for (size_t i = 0, kept = 0; i < lives->blocks.count; i++) {
    if (!w->viewer->is_kept[i]) continue;
    put_life(w, lives->blocks.items[i].birth, lives->blocks.items[i].death, &birth);
    wo_code_u64(w->out, kind_of[kept++]);
    if (is_placed) put_address(w, lives->blocks.items[i].address, &address);
  }
  birth = 0;
  address = 0;
  put(w, "\",\"ranges\":\"");
  for (size_t i = 0; i < lives->ranges.count; i++) {
    const struct wo_range_life *const range = &lives->ranges.items[i];
    if (!w->viewer->is_range_kept[i]) continue;
    put_life(w, range->birth, range->death, &birth);
    put_address(w, range->address, &address);
    wo_code_u64(w->out, range->size_bytes / w->unit_bytes);
    wo_code_u64(w->out, range->stream);
    wo_code_u64(w->out, range->pool);
    wo_code_u64(w->out, (range->is_small ? 1u : 0u) | (range->is_expandable ? 2u : 0u));
  }
  put(w, "\"");
}

static bool put_blocks(struct writer *w) {
  const struct wo__viewer *const viewer = w->viewer;
  uint32_t *const places = calloc(viewer->look->lives.recording->stacks.count + 1, sizeof *places);
  struct kinded *const kinds = malloc((viewer->kept_count + 1) * sizeof *kinds);
  uint32_t *const kind_of = malloc((viewer->kept_count + 1) * sizeof *kind_of);
  const bool is_whole = places != NULL && kinds != NULL && kind_of != NULL;
  if (is_whole) {
    for (size_t i = 0; i < viewer->stacks.count; i++) places[viewer->stacks.items[i].stack] = (uint32_t)i + 1;
    collect_kinds(viewer, places, kinds);
    qsort(kinds, viewer->kept_count, sizeof *kinds, compare_kinds);
    put_kinds(w, kinds, viewer->kept_count, kind_of);
    put_lives(w, kind_of);
  }
  free(places);
  free(kinds);
  free(kind_of);
  return is_whole;
}

/* ---- Streams, pools, times ---- */

static void put_streams(struct writer *w) {
  const struct wo_recording *const recording = w->viewer->look->lives.recording;
  put(w, ",\"streams\":[");
  for (size_t i = 0; i < recording->streams.count; i++)
    wo_text_add(w->out, "%s\"0x%" PRIx64 "\"", i > 0 ? "," : "", recording->streams.items[i]);
  put(w, "],\"pools\":[");
  for (size_t i = 0; i < recording->pools.count && i < 1000; i++)
    wo_text_add(w->out, "%s\"%" PRIu64 ", %" PRIu64 "\"", i > 0 ? "," : "", recording->pools.items[i].first,
                recording->pools.items[i].second);
  put(w, "]");
}

/* Times of entries that are spread over the window, and that of its last one, in microseconds since the first of them. Times that
 * fall back count as the one before. */
static void put_times(struct writer *w) {
  const struct wo_window window = w->viewer->window;
  const struct wo_trace_entry *const entries = w->viewer->look->lives.trace->entries.items;
  const uint32_t count = window.end - window.first;
  const uint32_t step = count <= TIMES_MAX ? 1 : (count + TIMES_MAX - 1) / TIMES_MAX;
  if (count == 0 || entries[window.first].time_us == WO_NO_TIME) return;
  wo_text_add(w->out, ",\"timestep\":%" PRIu32 ",\"times\":\"", step);
  int64_t last_us = entries[window.first].time_us;
  for (uint32_t i = window.first;;) {
    const int64_t now_us = entries[i].time_us > last_us ? entries[i].time_us : last_us;
    wo_code_u64(w->out, (uint64_t)now_us - (uint64_t)last_us);
    last_us = now_us;
    const uint32_t left = window.end - 1 - i;
    if (left == 0) break;
    i += left < step ? left : step;
  }
  put(w, "\"");
}

/* Where steps of the optimizer begin: they end an iteration. */
static void put_marks(struct writer *w) {
  const struct wo_recording *const recording = w->viewer->look->lives.recording;
  const struct wo_trace *const trace = w->viewer->look->lives.trace;
  size_t count = 0;
  put(w, ",\"marks\":[");
  for (size_t i = 0; i < recording->annotations.count && count < MARKS_MAX; i++) {
    const struct wo_annotation *const mark = &recording->annotations.items[i];
    const bool is_step = wo_view_starts(mark->name, "Optimizer.step") || wo_view_starts(mark->name, "ProfilerStep");
    if (!mark->is_start || !is_step || (mark->device >= 0 && mark->device != trace->device)) continue;
    size_t at = w->viewer->window.first;
    WO_LOWER_BOUND(at, w->viewer->window.end, k, trace->entries.items[k].time_us < mark->time_us);
    if (at == w->viewer->window.first || at >= w->viewer->window.end) continue;
    wo_text_add(w->out, "%s%" PRIu32, count++ > 0 ? "," : "", time_of(w->viewer, (uint32_t)at));
  }
  put(w, "]");
}

/* ---- Together ---- */

/* Real addresses are multiples of 512, which saves digits. */
static uint64_t find_unit(const struct wo__viewer *viewer) {
  const struct wo_lives *const lives = &viewer->look->lives;
  uint64_t bits = 512;
  for (size_t i = 0; i < lives->blocks.count; i++) bits |= lives->blocks.items[i].address;
  for (size_t i = 0; i < lives->ranges.count; i++) bits |= lives->ranges.items[i].address | lives->ranges.items[i].size_bytes;
  return bits % 512 == 0 ? 512 : 1;
}

bool wo__viewer_data(const struct wo__viewer *viewer, struct wo_text *out) {
  struct writer w = {.viewer = viewer, .out = out, .unit_bytes = find_unit(viewer)};
  put_facts(&w);
  put_groups(&w);
  put_columns(&w);
  put_texts(&w);
  put_stacks(&w);
  const bool is_whole = put_blocks(&w);
  put_streams(&w);
  put_times(&w);
  put_marks(&w);
  put(&w, "}");
  out->is_failed = out->is_failed || w.scratch.is_failed;
  wo_text_done(&w.scratch);
  return is_whole;
}
