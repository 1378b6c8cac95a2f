/* SPDX-License-Identifier: Apache-2.0 */
/* The replay as one JSON object, schema whyoom.replay/1 (docs/schema/replay-1.schema.json). See replay_report.h.
 *
 * Unknown is null, never zero; keys never change their meaning. json_out.h describes the format of values. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cuda_replay/command/replay_report.h"
#include "cuda_replay/whatif/whatif_gpu_text.h"
#include "parsers/base/output/json_out.h"

#ifndef WHYOOM_VERSION
#define WHYOOM_VERSION "unknown"
#endif

/* The most rows of a list of holders, and frames of a stack. */
enum { ROWS_MAX = 50, FRAMES_MAX = 64 };

struct writer {
  const struct wo_replay_report *report;
  struct wo_json_out json;
};

/* ---- Building ---- */

/* Six digits: more would not be exact. */
static cJSON *real(double number) {
  char digits[48];
  if (!isfinite(number)) return cJSON_CreateNull();
  snprintf(digits, sizeof digits, "%.6g", number);
  return cJSON_CreateRaw(digits);
}

/* A text for a list; an empty one is null. */
static cJSON *text_or_null(struct writer *w, struct wo_view view) {
  return view.len == 0 ? cJSON_CreateNull() : wo_json_text(&w->json, view);
}

static void put_pool(struct writer *w, cJSON *object, struct wo_pool_id id) {
  cJSON *const pool = wo_json_put_array(&w->json, object, "pool");
  wo_json_push(&w->json, pool, wo_json_count(id.first));
  wo_json_push(&w->json, pool, wo_json_count(id.second));
}

/* ---- Settings and versions ---- */

static void put_divisions(struct writer *w, cJSON *object, const struct wo_alloc_settings *settings) {
  cJSON *const array = wo_json_put_array(&w->json, object, "roundup_power2_divisions");
  for (size_t i = 0; i < WO_ROUNDUP_SLOTS; i++) wo_json_push(&w->json, array, wo_json_count(settings->roundup_divisions[i]));
}

/* The text is for people and for pasting, the members are for programs. */
static void put_settings(struct writer *w, cJSON *object, const char *key, const struct wo_alloc_settings *settings) {
  cJSON *const item = wo_json_put_object(&w->json, object, key);
  struct wo_text text = {0};
  wo_alloc_settings_show(settings, w->report->torch, &text);
  wo_json_put(&w->json, item, "text",
              text.len > 0 ? text_or_null(w, (struct wo_view){text.ptr, text.len}) : cJSON_CreateString(""));
  if (text.is_failed) w->json.is_failed = true;
  wo_text_done(&text);
  wo_json_put_bool(&w->json, item, "expandable_segments", settings->expandable_segments);
  wo_json_put_maybe(&w->json, item, "max_split_bytes", settings->max_split_bytes != WO_SPLIT_UNLIMITED,
                    settings->max_split_bytes);
  put_divisions(w, item, settings);
  wo_json_put(&w->json, item, "garbage_collection_threshold", real(settings->garbage_collection_threshold));
  wo_json_put_count(&w->json, item, "max_non_split_rounding_bytes", settings->max_non_split_rounding_bytes);
  wo_json_put_count(&w->json, item, "large_segment_bytes", settings->large_segment_bytes);
  wo_json_put(&w->json, item, "memory_fraction",
              settings->memory_fraction > 0 ? real(settings->memory_fraction) : cJSON_CreateNull());
}

/* "2.6" if the layout allows one version, "2.2-2.4" for several, null for none. */
static void put_torch(struct writer *w, cJSON *object) {
  const unsigned from = w->report->recording->torch_from, to = w->report->recording->torch_to;
  char text[32];
  if (from == 0 && to == 0) {
    wo_json_put(&w->json, object, "torch", cJSON_CreateNull());
    return;
  }
  if (from == to) {
    snprintf(text, sizeof text, "%u.%u", from / 100, from % 100);
  } else if (to == 0) {
    snprintf(text, sizeof text, "%u.%u-", from / 100, from % 100);
  } else {
    snprintf(text, sizeof text, "%u.%u-%u.%u", from / 100, from % 100, to / 100, to % 100);
  }
  wo_json_put_name(&w->json, object, "torch", text);
}

/* ---- The recording ---- */

/* The recording itself, before anything was replayed. */
static void put_trace(struct writer *w, cJSON *root) {
  static const char *const formats[] = {
      [WO_TRACE_FORMAT_UNKNOWN] = "unknown",   [WO_TRACE_FORMAT_SNAPSHOT] = "snapshot",
      [WO_TRACE_FORMAT_PROFILER] = "profiler", [WO_TRACE_FORMAT_TIMELINE] = "timeline",
      [WO_TRACE_FORMAT_LINES] = "jsonl",       [WO_TRACE_FORMAT_RECONSTRUCTED] = "reconstructed"};
  static const char *const starts[] = {
      [WO_START_EMPTY] = "empty", [WO_START_REBUILT] = "rebuilt", [WO_START_APPROXIMATE] = "approximate"};
  static const char *const fidelities[] = {
      [WO_TRACE_EXACT] = "exact", [WO_TRACE_BLOCK_SIZES] = "block_sizes", [WO_TRACE_APPROXIMATE] = "approximate"};
  const struct wo_replay_report *const report = w->report;
  cJSON *const trace = wo_json_put_object(&w->json, root, "trace");
  wo_json_put_text(&w->json, trace, "path", report->path);
  wo_json_put_name(&w->json, trace, "format", formats[report->recording->format]);
  wo_json_put_name(&w->json, trace, "fidelity", fidelities[report->recording->fidelity]);
  wo_json_put(&w->json, trace, "device", report->trace ? cJSON_CreateNumber(report->trace->device) : cJSON_CreateNull());
  wo_json_put_maybe(&w->json, trace, "entries", report->trace != NULL, report->trace ? report->trace->entries.count : 0);
  wo_json_put_maybe(&w->json, trace, "allocs", report->trace != NULL, report->alloc_count);
  wo_json_put_maybe(&w->json, trace, "frees", report->trace != NULL, report->free_count);
  put_torch(w, trace);
  put_settings(w, trace, "settings", &report->recorded_settings);
  wo_json_put_name(&w->json, trace, "start", starts[report->start_from]);
  wo_json_put_count(&w->json, trace, "start_ambiguous", report->open_blocks);
  wo_json_put_bool(&w->json, trace, "truncated", report->recording->is_truncated);
  cJSON *const notes = wo_json_put_array(&w->json, trace, "notes");
  for (size_t i = 0; i < report->recording->notes.count; i++)
    wo_json_push(&w->json, notes, text_or_null(w, report->recording->notes.items[i]));
}

/* Null if nothing could be compared: zeros would look like a failed comparison. */
static void put_check(struct writer *w, cJSON *root) {
  const struct wo_replay_check *const check = &w->report->check;
  const bool has_part = w->report->has_check && check->verdict != WO_CHECK_REFUSED;
  cJSON *const object = wo_json_put_part(&w->json, root, "check", has_part);
  if (!has_part) return;
  const bool has_diverged = check->verdict == WO_CHECK_DIVERGED;
  wo_json_put_count(&w->json, object, "entries_compared", check->entries_compared);
  wo_json_put_count(&w->json, object, "allocations", check->allocations);
  wo_json_put_count(&w->json, object, "addresses_equal", check->addresses_equal);
  wo_json_put_count(&w->json, object, "segment_events", check->segment_events);
  wo_json_put_count(&w->json, object, "segment_events_equal", check->segment_events_equal);
  wo_json_put_count(&w->json, object, "refusals", check->refusals);
  wo_json_put_count(&w->json, object, "refusals_equal", check->refusals_equal);
  wo_json_put_count(&w->json, object, "refusals_survived", w->report->recorded_pattern.probe_count);
  wo_json_put(&w->json, object, "final_layout_equal",
              w->report->trace->has_segments ? cJSON_CreateBool(check->final_layout_equal) : cJSON_CreateNull());
  wo_json_put_count(&w->json, object, "blocks", check->blocks);
  wo_json_put_count(&w->json, object, "blocks_changed", check->blocks_changed);
  wo_json_put_count(&w->json, object, "blocks_untouched", check->blocks_untouched);
  wo_json_put_count(&w->json, object, "blocks_unexplained", check->blocks_unexplained);
  wo_json_put_count(&w->json, object, "entries_skipped", check->entries_skipped);
  wo_json_put_maybe(&w->json, object, "garbage_limit_bytes", check->garbage_limit_bytes > 0, check->garbage_limit_bytes);
  wo_json_put_count(&w->json, object, "hidden_pools", check->hidden_pools);
  wo_json_put_maybe(&w->json, object, "diverged_at", has_diverged, check->diverged_at);
  wo_json_put_text(&w->json, object, "expected", has_diverged ? wo_view_of(check->expected) : (struct wo_view){0});
  wo_json_put_text(&w->json, object, "got", has_diverged ? wo_view_of(check->got) : (struct wo_view){0});
  wo_json_put_text(&w->json, object, "why", has_diverged ? wo_view_of(check->why) : (struct wo_view){0});
}

/* ---- Results ---- */

/* The first request that failed, of the run that needed most. */
static void put_oom(struct writer *w, cJSON *root, const struct wo_replay_case *subject) {
  const bool has_part = subject != NULL && subject->outcome.has_oom;
  cJSON *const object = wo_json_put_part(&w->json, root, "oom", has_part);
  if (!has_part) return;
  const struct wo_allocator_oom *const oom = &subject->outcome.oom;
  wo_json_put_maybe(&w->json, object, "entry", subject->outcome.oom_entry != WO_NO_ENTRY, subject->outcome.oom_entry);
  wo_json_put_count(&w->json, object, "requested_bytes", oom->requested_bytes);
  wo_json_put_count(&w->json, object, "rounded_bytes", oom->rounded_bytes);
  wo_json_put_count(&w->json, object, "segment_bytes", oom->segment_bytes);
  wo_json_put_maybe(&w->json, object, "free_bytes", oom->device_free_bytes != UINT64_MAX, oom->device_free_bytes);
  wo_json_put_count(&w->json, object, "idle_bytes", oom->cached_free_bytes);
  wo_json_put_count(&w->json, object, "largest_free_block_bytes", oom->largest_free_block_bytes);
  wo_json_put_bool(&w->json, object, "by_fraction", oom->by_fraction);
  wo_json_put_bool(&w->json, object, "would_fit_unfragmented", wo_replay_room(oom) >= oom->rounded_bytes);
}

/* Each peak has its own moment; at_entry is that of allocated bytes. */
static void put_peak(struct writer *w, cJSON *root, const struct wo_replay_case *subject) {
  const bool has_part = subject != NULL;
  cJSON *const object = wo_json_put_part(&w->json, root, "peak", has_part);
  if (!has_part) return;
  const struct wo_replay_peak *const peak = &subject->outcome.peak;
  wo_json_put_count(&w->json, object, "reserved_bytes", peak->reserved_bytes);
  wo_json_put_count(&w->json, object, "allocated_bytes", peak->allocated_bytes);
  wo_json_put_count(&w->json, object, "requested_bytes", peak->requested_bytes);
  wo_json_put_count(&w->json, object, "active_bytes", peak->active_bytes);
  wo_json_put_maybe(&w->json, object, "at_entry", subject->outcome.peak.allocated_entry != WO_NO_ENTRY,
                    subject->outcome.peak.allocated_entry);
}

/* One setting over several address orders. */
static void put_case(struct writer *w, cJSON *object, const struct wo_replay_case *result) {
  put_settings(w, object, "settings", &result->settings);
  put_peak(w, object, result);
  wo_json_put(&w->json, object, "idle_at_peak_pct", real(wo_replay_idle_pct(result)));
  wo_json_put_count(&w->json, object, "runs", result->run_count);
  wo_json_put_count(&w->json, object, "runs_out_of_memory", result->oom_count);
  wo_json_put_count(&w->json, object, "reserved_lo_bytes", result->reserved_lo_bytes);
  wo_json_put_count(&w->json, object, "reserved_hi_bytes", result->reserved_hi_bytes);
  const bool has_margin = w->report->capacity.bytes > 0 && result->oom_count == 0;
  wo_json_put_maybe(&w->json, object, "margin_bytes", has_margin, wo_replay_margin(w->report, result));
  wo_json_put(&w->json, object, "fits",
              w->report->capacity.bytes > 0 || result->oom_count > 0 ? cJSON_CreateBool(result->oom_count == 0)
                                                                     : cJSON_CreateNull());
}

static void put_named_case(struct writer *w, cJSON *root, const char *key, bool has_case, const struct wo_replay_case *result) {
  cJSON *const object = wo_json_put_part(&w->json, root, key, has_case);
  if (has_case) put_case(w, object, result);
}

/* Omits axes that were not named. */
static void put_axes(struct writer *w, cJSON *scale, const struct wo_scale_spec *spec) {
  for (int axis = 0; axis < WO_AXIS_COUNT_; axis++) {
    if (spec->axes[axis].from == 0) continue;
    cJSON *const ends = wo_json_put_object(&w->json, scale, wo_scale_axis_name((enum wo_scale_axis_id)axis));
    wo_json_put_count(&w->json, ends, "from", spec->axes[axis].from);
    wo_json_put_count(&w->json, ends, "to", spec->axes[axis].to);
  }
}

/* The assumption is always with the name, since a result without it would claim too much. */
static void put_transforms(struct writer *w, cJSON *scale, const struct wo_change *change) {
  cJSON *const array = wo_json_put_array(&w->json, scale, "transforms");
  for (size_t i = 0; i < change->transform_count; i++) {
    cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
    wo_json_put_name(&w->json, object, "name", change->transforms[i].transform->name);
    wo_json_put_maybe(&w->json, object, "amount", change->transforms[i].amount > 0, change->transforms[i].amount);
    wo_json_put_text(&w->json, object, "assumption", wo_view_of(change->transforms[i].transform->assumption));
  }
}

static void put_pair(struct writer *w, cJSON *scale) {
  const struct wo_scale_from_two *const pair = &w->report->pair;
  cJSON *const object = wo_json_put_part(&w->json, scale, "pair", w->report->has_pair);
  if (!w->report->has_pair) return;
  wo_json_put_count(&w->json, object, "allocations", pair->count);
  wo_json_put_count(&w->json, object, "matched", pair->matched);
  wo_json_put_count(&w->json, object, "constant", pair->by_power[0]);
  wo_json_put_count(&w->json, object, "linear", pair->by_power[1]);
  wo_json_put_count(&w->json, object, "quadratic", pair->by_power[2]);
  wo_json_put_count(&w->json, object, "others", pair->others);
}

/* The reasons are words for people and may change; the sum of their bytes is the requested bytes at the likely peak. */
static void put_forecast(struct writer *w, cJSON *scale) {
  const struct wo_forecast *const forecast = &w->report->forecast;
  wo_json_put_maybe(&w->json, scale, "unsure_bytes", w->report->has_forecast, forecast->unsure_bytes);
  cJSON *const array = wo_json_put_array(&w->json, scale, "reasons");
  for (int i = 0; i < WO_SCALE_REASON_COUNT_ && w->report->has_forecast; i++) {
    if (forecast->reason_bytes[i] == 0) continue;
    cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
    wo_json_put_name(&w->json, object, "reason", wo_scale_reason_text((enum wo_scale_reason)i));
    wo_json_put_count(&w->json, object, "bytes", forecast->reason_bytes[i]);
  }
}

/* The changed program; an empty object if nothing was changed. */
static void put_scale(struct writer *w, cJSON *root) {
  const struct wo_replay_report *const report = w->report;
  cJSON *const scale = wo_json_put_object(&w->json, root, "scale");
  if (!report->has_bounds) return;
  put_axes(w, scale, &report->change.scale);
  put_transforms(w, scale, &report->change);
  put_pair(w, scale);
  put_forecast(w, scale);
  const struct wo_replay_interval interval = wo_replay_interval(report);
  cJSON *const lies = wo_json_put_object(&w->json, scale, "interval");
  wo_json_put_count(&w->json, lies, "reserved_lo_bytes", interval.lo_bytes);
  wo_json_put_count(&w->json, lies, "reserved_hi_bytes", interval.hi_bytes);
  wo_json_put_bool(&w->json, lies, "is_figure", interval.is_figure);
  wo_json_put_name(&w->json, lies, "widest", wo_replay_width_name(interval.widest));
  for (int bound = 0; bound < WO_BOUND_COUNT_; bound++)
    put_named_case(w, scale, wo_bound_name((enum wo_bound)bound), true, &report->bounds[bound]);
}

/* ---- Who holds the memory ---- */

/* "dir/train.py:88 step": whole paths, because programs compare them. */
static cJSON *frame_item(struct writer *w, uint32_t index) {
  if (index == WO_NO_FRAME) return cJSON_CreateNull();
  assert(index < w->report->recording->frames.count);
  const struct wo_frame *const frame = &w->report->recording->frames.items[index];
  struct wo_text text = {0};
  wo_text_add_view(&text, frame->file);
  wo_text_add(&text, ":%" PRIu32 " ", frame->line);
  wo_text_add_view(&text, frame->function);
  cJSON *const item = text_or_null(w, (struct wo_view){text.ptr, text.len});
  wo_text_done(&text);
  return item;
}

/* The innermost frame first, as everywhere; own_frame is the frame in the program's own code. */
static void put_stack(struct writer *w, cJSON *object, uint32_t stack, const struct wo_stack_sites *sites) {
  const struct wo_recording *const recording = w->report->recording;
  wo_json_put(&w->json, object, "own_frame", frame_item(w, sites->user));
  cJSON *const array = wo_json_put_array(&w->json, object, "stack");
  if (stack == WO_NO_STACK) return;
  assert(stack < recording->stacks.count);
  const struct wo_stack frames = recording->stacks.items[stack];
  for (uint32_t i = 0; i < frames.count && i < FRAMES_MAX; i++)
    wo_json_push(&w->json, array, frame_item(w, recording->stack_frames.items[frames.first + i]));
}

/* The entry of a request; null before the first one. */
static void put_birth(struct writer *w, cJSON *object, uint32_t request) {
  const uint32_t entry = wo_replay_entry_of(w->report, request);
  wo_json_put_maybe(&w->json, object, "since_entry", entry != WO_NO_ENTRY, entry);
}

/* The number of rows is limited, their sum is not. */
static void put_pins(struct writer *w, cJSON *fragmentation) {
  const struct wo_pins *const pins = &w->report->pins;
  wo_json_put_count(&w->json, fragmentation, "pinned_idle_bytes", pins->free_bytes);
  wo_json_put_count(&w->json, fragmentation, "pinned_count", pins->pins.count);
  cJSON *const array = wo_json_put_array(&w->json, fragmentation, "pinned_segments");
  for (size_t i = 0; i < pins->pins.count && i < ROWS_MAX; i++) {
    const struct wo_pin *const pin = &pins->pins.items[i];
    cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
    wo_json_put_count(&w->json, object, "address", pin->address);
    wo_json_put_count(&w->json, object, "bytes", pin->size_bytes);
    wo_json_put_count(&w->json, object, "idle_bytes", pin->free_bytes);
    wo_json_put_count(&w->json, object, "held_by_bytes", pin->held_bytes);
    wo_json_put_count(&w->json, object, "blocks", pin->holder_count);
    wo_json_put_name(&w->json, object, "class", wo_alloc_class_name(pin->holder.class_));
    put_birth(w, object, pin->holder.born_at);
    put_stack(w, object, pin->holder.stack, &pin->holder.sites);
  }
}

/* at_peak_pct belongs to the moment of the map; peaks_apart_pct compares the two peaks of the whole run. */
static void put_fragmentation(struct writer *w, cJSON *root, const struct wo_replay_case *subject) {
  const struct wo_replay_report *const report = w->report;
  const struct wo_segment_use *const use = &report->attribution.use;
  const uint64_t idle = report->has_memory ? use->reserved_bytes - report->attribution.total.block_bytes : 0;
  cJSON *const object = wo_json_put_object(&w->json, root, "fragmentation");
  wo_json_put(&w->json, object, "at_peak_pct",
              report->has_memory ? real(wo_share_pct(idle, use->reserved_bytes)) : cJSON_CreateNull());
  wo_json_put_maybe(&w->json, object, "idle_at_peak_bytes", report->has_memory, idle);
  wo_json_put_maybe(&w->json, object, "releasable_at_peak_bytes", report->has_memory, use->releasable_bytes);
  wo_json_put_maybe(&w->json, object, "largest_free_block_bytes", report->has_memory, use->largest_free_bytes);
  wo_json_put(&w->json, object, "peaks_apart_pct", subject ? real(wo_replay_idle_pct(subject)) : cJSON_CreateNull());
  put_pins(w, object);
}

static void put_share(struct writer *w, cJSON *object, enum wo_alloc_class class_, const struct wo_share *share) {
  wo_json_put_name(&w->json, object, "class", wo_alloc_class_name(class_));
  wo_json_put_count(&w->json, object, "bytes", share->block_bytes);
  wo_json_put_count(&w->json, object, "requested_bytes", share->requested_bytes);
  wo_json_put_count(&w->json, object, "blocks", share->count);
}

/* Rows add up: other_stacks_bytes has the bytes of stacks without a row. */
static void put_holders(struct writer *w, cJSON *root) {
  const struct wo_attribution *const attribution = &w->report->attribution;
  cJSON *const holders = wo_json_put_part(&w->json, root, "holders", w->report->has_memory);
  if (!w->report->has_memory) return;
  static const char *const moments[] = {[WO_MOMENT_NONE] = "peak_allocated",
                                        [WO_MOMENT_OOM] = "out_of_memory",
                                        [WO_MOMENT_PEAK] = "peak_allocated",
                                        [WO_MOMENT_STATE] = "snapshot"};
  wo_json_put_name(&w->json, holders, "at", moments[w->report->memory.moment]);
  wo_json_put_maybe(&w->json, holders, "at_entry", w->report->memory.moment_at.entry != WO_NO_ENTRY,
                    w->report->memory.moment_at.entry);
  cJSON *const classes = wo_json_put_array(&w->json, holders, "classes");
  for (int i = 0; i < WO_CLASS_COUNT_; i++) {
    if (attribution->classes[i].count == 0) continue;
    put_share(w, wo_json_push(&w->json, classes, cJSON_CreateObject()), (enum wo_alloc_class)i, &attribution->classes[i]);
  }
  cJSON *const stacks = wo_json_put_array(&w->json, holders, "stacks");
  uint64_t rest = attribution->total.block_bytes;
  for (size_t i = 0; i < attribution->stacks.count && i < ROWS_MAX; i++) {
    const struct wo_attribution_stack *const row = &attribution->stacks.items[i];
    cJSON *const object = wo_json_push(&w->json, stacks, cJSON_CreateObject());
    put_share(w, object, row->class_, &row->share);
    put_stack(w, object, row->stack, &row->sites);
    rest -= row->share.block_bytes;
  }
  wo_json_put_count(&w->json, holders, "other_stacks_bytes", rest);
}

/* ---- The contents of a snapshot ---- */

static void put_use(struct writer *w, cJSON *object, const struct wo_segment_use *use, uint64_t block_bytes) {
  wo_json_put_count(&w->json, object, "reserved_bytes", use->reserved_bytes);
  wo_json_put_count(&w->json, object, "in_use_bytes", block_bytes);
  wo_json_put_maybe(&w->json, object, "requested_bytes", w->report->holdings.knows_requested, use->live_bytes);
  wo_json_put_count(&w->json, object, "pending_bytes", use->pending_bytes);
  wo_json_put_count(&w->json, object, "idle_bytes", use->pinned_free_bytes + use->releasable_bytes);
  wo_json_put_count(&w->json, object, "kept_idle_bytes", use->pinned_free_bytes);
  wo_json_put_count(&w->json, object, "largest_free_block_bytes", use->largest_free_bytes);
}

static void put_place(struct writer *w, cJSON *array, const struct wo_holdings_place *place) {
  cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
  wo_json_put_count(&w->json, object, "stream", place->stream);
  put_pool(w, object, place->pool);
  wo_json_put_count(&w->json, object, "segments", place->segment_count);
  wo_json_put_count(&w->json, object, "blocks", place->block_count);
  put_use(w, object, &place->use, place->block_bytes);
  wo_json_put_count(&w->json, object, "free_segments_bytes", place->use.releasable_bytes);
}

/* For a recording that cannot be replayed; the holders of the same moment are in `holders`. */
static void put_holdings(struct writer *w, cJSON *root) {
  const struct wo_replay_report *const report = w->report;
  const struct wo_holdings *const holdings = &report->holdings;
  cJSON *const object = wo_json_put_part(&w->json, root, "holdings", report->has_holdings);
  if (!report->has_holdings) return;
  wo_json_put_count(&w->json, object, "segments", holdings->segment_count);
  wo_json_put_count(&w->json, object, "blocks", holdings->block_count);
  put_use(w, object, &report->attribution.use, report->attribution.total.block_bytes);
  wo_json_put_count(&w->json, object, "releasable_bytes", holdings->releasable_bytes);
  wo_json_put_count(&w->json, object, "private_idle_bytes", holdings->private_idle_bytes);
  wo_json_put_maybe(&w->json, object, "refused_bytes", holdings->has_oom, holdings->oom_bytes);
  wo_json_put_maybe(&w->json, object, "free_at_refusal_bytes", holdings->has_oom, holdings->oom_free_bytes);
  cJSON *const places = wo_json_put_array(&w->json, object, "places");
  for (size_t i = 0; i < holdings->places.count && i < ROWS_MAX; i++) put_place(w, places, &holdings->places.items[i]);
}

/* ---- Sweep ---- */

/* Rows in the order of the text report. */
static void put_sweep(struct writer *w, cJSON *root) {
  static const char *const worths[] = {[WO_SWEEP_SAME] = "same", [WO_SWEEP_BETTER] = "better", [WO_SWEEP_HARMFUL] = "harmful"};
  const struct wo_replay_report *const report = w->report;
  cJSON *const sweep = wo_json_put_part(&w->json, root, "sweep", report->has_sweep);
  if (!report->has_sweep) return;
  wo_json_put_text(&w->json, sweep, "advice", report->sweep.advice);
  wo_json_put_text(&w->json, sweep, "paste", report->sweep.paste);
  cJSON *const array = wo_json_put_array(&w->json, sweep, "rows");
  for (size_t i = 0; i < report->sweep.count; i++) {
    const struct wo_sweep_row *const row = &report->sweep.rows[i];
    cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
    wo_json_put_text(&w->json, object, "text", row->text);
    wo_json_put_text(&w->json, object, "needs", row->needs);
    wo_json_put_name(&w->json, object, "worth", worths[row->worth]);
    wo_json_put_bool(&w->json, object, "is_recorded", row->is_recorded);
    put_case(w, object, &row->result);
  }
}

/* ---- The state after an entry ---- */

/* A free block has no owner, so it has no further members. */
static void put_state_block(struct writer *w, cJSON *array, const struct wo_map_block *block) {
  static const char *const states[] = {
      [WO_BLOCK_FREE] = "free", [WO_BLOCK_ALLOCATED] = "allocated", [WO_BLOCK_PENDING] = "pending"};
  const struct wo_alloc_pattern *const pattern = w->report->pattern;
  cJSON *const item = wo_json_push(&w->json, array, cJSON_CreateObject());
  wo_json_put_count(&w->json, item, "address", block->address);
  wo_json_put_count(&w->json, item, "bytes", block->size_bytes);
  wo_json_put_name(&w->json, item, "state", states[block->state]);
  if (block->state == WO_BLOCK_FREE) return;
  wo_json_put_count(&w->json, item, "requested_bytes", block->requested_bytes);
  if (block->instance == WO_NO_INSTANCE || !pattern) return;
  assert(block->instance < pattern->instances.count);
  const struct wo_instance *const instance = &pattern->instances.items[block->instance];
  const struct wo_stack_sites sites = wo_stack_sites(w->report->recording, NULL, instance->stack);
  put_birth(w, item, instance->birth);
  put_stack(w, item, instance->stack, &sites);
}

/* The only part that can be large: every block of the allocator. */
static void put_state(struct writer *w, cJSON *root) {
  const struct wo_segment_map *const map = &w->report->state;
  cJSON *const state = wo_json_put_part(&w->json, root, "state", w->report->has_state);
  if (!w->report->has_state) return;
  wo_json_put_count(&w->json, state, "after_entry", w->report->state_at);
  wo_json_put_count(&w->json, state, "reserved_bytes", map->reserved_bytes);
  cJSON *const segments = wo_json_put_array(&w->json, state, "segments");
  for (size_t i = 0; i < map->segments.count; i++) {
    const struct wo_map_segment *const segment = &map->segments.items[i];
    cJSON *const object = wo_json_push(&w->json, segments, cJSON_CreateObject());
    wo_json_put_count(&w->json, object, "address", segment->address);
    wo_json_put_count(&w->json, object, "bytes", segment->size_bytes);
    wo_json_put_count(&w->json, object, "stream", segment->stream);
    put_pool(w, object, segment->pool);
    wo_json_put_bool(&w->json, object, "is_small", segment->is_small);
    wo_json_put_bool(&w->json, object, "is_expandable", segment->is_expandable);
    cJSON *const blocks = wo_json_put_array(&w->json, object, "blocks");
    for (size_t j = 0; j < segment->block_count; j++) put_state_block(w, blocks, &map->blocks.items[segment->first_block + j]);
  }
}

/* ---- Categories ---- */

/* Null without --where. The last one, without a name, is the rest. */
static void put_categories(struct writer *w, cJSON *root) {
  const struct wo_replay_report *const report = w->report;
  const bool has_any = report->has_look && report->look.categories->count > 0;
  struct wo_sum sums[WO_LIMIT_CATEGORIES + 1];
  cJSON *const object = wo_json_put_part(&w->json, root, "categories", has_any);
  if (!has_any) return;
  const size_t count = report->look.categories->count;
  wo_look_categories(&report->look, report->look_at.entry, sums);
  wo_json_put_maybe(&w->json, object, "at_entry", report->look_at.entry != WO_NO_ENTRY, report->look_at.entry);
  wo_json_put_count(&w->json, object, "requested_bytes", report->look_at.bytes);
  wo_json_put_count(&w->json, object, "given_up", report->look.given_up);
  cJSON *const rows = wo_json_put_array(&w->json, object, "rows");
  for (size_t i = 1; i <= count + 1; i++) {
    const uint8_t category = (uint8_t)(i <= count ? i : 0);
    cJSON *const row = wo_json_push(&w->json, rows, cJSON_CreateObject());
    wo_json_put_text(&w->json, row, "name", i <= count ? report->look.categories->items[i - 1].name : (struct wo_view){0});
    wo_json_put_count(&w->json, row, "requested_bytes", sums[category].bytes);
    wo_json_put_count(&w->json, row, "blocks", sums[category].count);
  }
}

/* ---- The whole ---- */

/* The capacity with its source and its uncertainty. */
static void put_capacity(struct writer *w, cJSON *root) {
  static const char *const froms[] = {[WO_CAPACITY_NONE] = NULL,
                                      [WO_CAPACITY_OPTION] = "option",
                                      [WO_CAPACITY_OOM_ENTRY] = "oom_entry",
                                      [WO_CAPACITY_FILE] = "file",
                                      [WO_CAPACITY_FRACTION] = "memory_fraction",
                                      [WO_CAPACITY_GPU] = "gpu"};
  const struct wo_replay_report *const report = w->report;
  const bool is_known = report->capacity.bytes > 0;
  wo_json_put_maybe(&w->json, root, "capacity_bytes", is_known, report->capacity.bytes);
  wo_json_put_text(&w->json, root, "capacity_from", wo_view_of(froms[report->capacity.from]));
  wo_json_put_maybe(&w->json, root, "uncertainty_bytes", is_known, report->capacity.uncertainty_bytes);
}

/* The result on the card, and whether its model did the same. */
static void put_gpu(struct writer *w, cJSON *root) {
  static const char *const froms[] = {
      [WO_RESERVE_OPTION] = "option", [WO_RESERVE_RECORDING] = "recording", [WO_RESERVE_USUAL] = "usual"};
  const struct wo_replay_gpu *const gpu = &w->report->gpu;
  const struct wo_device_gpu_info *const info = &gpu->info;
  char driver[WO_GPU_DRIVER_TEXT];
  cJSON *const object = wo_json_put_part(&w->json, root, "gpu", gpu->has_run);
  if (!gpu->has_run) return;
  wo_json_put_text(&w->json, object, "name", wo_view_of(info->name));
  wo_json_put_name(&w->json, object, "driver", wo_gpu_driver_text(info, driver));
  wo_json_put_text(&w->json, object, "uuid", wo_view_of(info->uuid));
  wo_json_put_count(&w->json, object, "ordinal", (uint64_t)gpu->ordinal);
  wo_json_put_text(&w->json, object, "visible_devices", w->report->visible_devices);
  wo_json_put_text(&w->json, object, "cuda_library", gpu->libraries.cuda);
  wo_json_put_text(&w->json, object, "nvml_library", gpu->libraries.nvml);
  wo_json_put_count(&w->json, object, "total_bytes", info->total_bytes);
  wo_json_put_count(&w->json, object, "cap_bytes", info->cap_bytes);
  wo_json_put_count(&w->json, object, "reserve_bytes", gpu->reserve_bytes);
  wo_json_put_name(&w->json, object, "reserve_from", froms[gpu->reserve_from]);
  wo_json_put_bool(&w->json, object, "touched", gpu->touches);
  wo_json_put_count(&w->json, object, "calls", info->calls);
  wo_json_put_count(&w->json, object, "free_before_bytes", info->free_before_bytes);
  wo_json_put_count(&w->json, object, "free_at_peak_bytes", info->free_lowest_bytes);
  wo_json_put_count(&w->json, object, "peak_bytes", info->peak_bytes);
  wo_json_put_count(&w->json, object, "peak_reserved_bytes", gpu->outcome.peak.reserved_bytes);
  wo_json_put_count(&w->json, object, "segment_events", gpu->outcome.segment_events);
  wo_json_put_count(&w->json, object, "failed_requests", gpu->outcome.oom_count);
  wo_json_put_maybe(&w->json, object, "failed_entry", gpu->outcome.oom_entry != WO_NO_ENTRY, gpu->outcome.oom_entry);
  wo_json_put_count(&w->json, object, "refusals", info->refusals);
  wo_json_put_bool(&w->json, object, "model_agrees", gpu->agrees);
  wo_json_put_text(&w->json, object, "difference", wo_view_of(gpu->difference));
}

/* The high end of an interval decides the margin. */
static void put_fits(struct writer *w, cJSON *root, const struct wo_replay_case *subject) {
  const bool is_known = subject && (subject->oom_count > 0 || w->report->capacity.bytes > 0);
  wo_json_put(&w->json, root, "fits", is_known ? cJSON_CreateBool(subject->oom_count == 0) : cJSON_CreateNull());
  const bool has_margin = is_known && subject->oom_count == 0;
  wo_json_put_maybe(&w->json, root, "margin_bytes", has_margin,
                    has_margin ? wo_replay_margin(w->report, wo_replay_most(w->report)) : 0);
}

static void put_times(struct writer *w, cJSON *root) {
  const bool has = w->report->has_times;
  wo_json_put(&w->json, root, "seconds", has ? real(w->report->seconds) : cJSON_CreateNull());
  wo_json_put(&w->json, root, "events_per_second",
              has && w->report->seconds > 0 ? real(w->report->events_per_second) : cJSON_CreateNull());
}

/* The keys are in reading order; the long lists come last. */
static void put_replay(struct writer *w, cJSON *root) {
  const struct wo_replay_report *const report = w->report;
  const struct wo_replay_case *const subject = wo_replay_subject(report);
  const struct wo_replay_case *const shown = wo_replay_shown(report);
  wo_json_put_name(&w->json, root, "schema", "whyoom.replay/1");
  cJSON *const tool = wo_json_put_object(&w->json, root, "tool");
  wo_json_put_name(&w->json, tool, "name", "whyoom");
  wo_json_put_name(&w->json, tool, "version", WHYOOM_VERSION);
  wo_json_put_name(&w->json, root, "verdict", wo_replay_verdict_name(report->verdict));
  wo_json_put_text(&w->json, root, "why", report->why);
  put_trace(w, root);
  wo_json_put_name(&w->json, root, "on", report->is_on_gpu ? "gpu" : "model");
  char torch[32];
  snprintf(torch, sizeof torch, "%d.%d", report->torch / 100, report->torch % 100);
  wo_json_put_name(&w->json, root, "torch", torch);
  put_settings(w, root, "settings", &report->settings);
  put_scale(w, root);
  put_capacity(w, root);
  put_check(w, root);
  put_fits(w, root, subject);
  put_oom(w, root, shown);
  put_peak(w, root, shown);
  put_fragmentation(w, root, shown);
  put_gpu(w, root);
  put_named_case(w, root, "recorded", report->has_recorded, &report->recorded);
  put_named_case(w, root, "baseline", report->has_baseline, &report->baseline);
  put_named_case(w, root, "whatif", report->has_whatif, &report->whatif);
  wo_json_put_maybe(&w->json, root, "whatif_passes", report->has_whatif, report->whatif_course.passes);
  wo_json_put(&w->json, root, "whatif_first_step",
              report->has_whatif ? cJSON_CreateBool(report->whatif_course.has_first_step) : cJSON_CreateNull());
  put_named_case(w, root, "whatif_from_recorded_start", report->has_warm, &report->warm);
  put_holdings(w, root);
  put_holders(w, root);
  put_sweep(w, root);
  put_state(w, root);
  put_categories(w, root);
  put_times(w, root);
}

/* Builds everything, checks once whether that worked, then prints: half an object helps nobody. */
void wo_replay_json(const struct wo_replay_report *report, struct wo_text *out) {
  assert(report != NULL && report->recording != NULL && out != NULL);
  struct writer w = {.report = report};
  cJSON *const root = cJSON_CreateObject();
  if (root != NULL) put_replay(&w, root);
  wo_json_finish(&w.json, root, out);
}
