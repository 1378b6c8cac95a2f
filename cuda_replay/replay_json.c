/* The replay as one JSON object, schema whyoom.replay/1 (docs/schema/replay-1.schema.json). See replay_report.h.
 *
 * Unknown is null, never zero; keys never change their meaning. cJSON builds; what it cannot allocate makes the text failed and
 * empty. Numbers of bytes and addresses are written digit by digit, since doubles end at 2^53. */
#include <assert.h>
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cuda_replay/replay_report.h"
#include "parsers/base/clean.h"

#ifndef WHYOOM_VERSION
#define WHYOOM_VERSION "unknown"
#endif

enum { TEXT_BYTES = 1024 };

struct writer {
  const struct wo_replay_report *report;
  bool is_failed;
};

/* ---- Building ---- */

/* Takes the item over; NULL for NULL, so that callers need not look. */
static cJSON *put(struct writer *w, cJSON *object, const char *key, cJSON *item) {
  if (item != NULL && cJSON_AddItemToObject(object, key, item)) return item;
  cJSON_Delete(item);
  w->is_failed = true;
  return NULL;
}

static cJSON *push(struct writer *w, cJSON *array, cJSON *item) {
  if (item != NULL && cJSON_AddItemToArray(array, item)) return item;
  cJSON_Delete(item);
  w->is_failed = true;
  return NULL;
}

static cJSON *whole(uint64_t number) {
  char digits[32];
  snprintf(digits, sizeof digits, "%" PRIu64, number);
  return cJSON_CreateRaw(digits);
}

static cJSON *real(double number) {
  char digits[48];
  if (!isfinite(number)) return cJSON_CreateNull();
  snprintf(digits, sizeof digits, "%.6g", number);
  return cJSON_CreateRaw(digits);
}

static void put_whole(struct writer *w, cJSON *object, const char *key, uint64_t number) {
  put(w, object, key, whole(number));
}

static void put_maybe(struct writer *w, cJSON *object, const char *key, bool is_known, uint64_t number) {
  put(w, object, key, is_known ? whole(number) : cJSON_CreateNull());
}

static void put_bool(struct writer *w, cJSON *object, const char *key, bool value) {
  put(w, object, key, cJSON_CreateBool(value));
}

static cJSON *text_item(struct wo_view view) {
  char text[TEXT_BYTES];
  const struct wo_view clean = wo_clean_utf8(view, text, sizeof text - 1);
  text[clean.len] = '\0';
  return view.len == 0 ? cJSON_CreateNull() : cJSON_CreateString(text);
}

static void put_text(struct writer *w, cJSON *object, const char *key, struct wo_view view) {
  put(w, object, key, text_item(view));
}

static void put_name(struct writer *w, cJSON *object, const char *key, const char *name) {
  put(w, object, key, cJSON_CreateString(name));
}

/* ---- Settings and versions ---- */

static void put_divisions(struct writer *w, cJSON *object, const struct wo_alloc_settings *settings) {
  cJSON *const array = put(w, object, "roundup_power2_divisions", cJSON_CreateArray());
  for (size_t i = 0; i < WO_ROUNDUP_SLOTS; i++) push(w, array, whole(settings->roundup_divisions[i]));
}

static void put_settings(struct writer *w, cJSON *object, const char *key, const struct wo_alloc_settings *settings) {
  cJSON *const item = put(w, object, key, cJSON_CreateObject());
  struct wo_text text = {0};
  wo_alloc_settings_show(settings, w->report->torch, &text);
  put_name(w, item, "text", "");
  if (text.len > 0) cJSON_ReplaceItemInObjectCaseSensitive(item, "text", text_item((struct wo_view){text.ptr, text.len}));
  if (text.is_failed) w->is_failed = true;
  wo_text_done(&text);
  put_bool(w, item, "expandable_segments", settings->expandable_segments);
  put_maybe(w, item, "max_split_bytes", settings->max_split_bytes != WO_SPLIT_UNLIMITED, settings->max_split_bytes);
  put_divisions(w, item, settings);
  put(w, item, "garbage_collection_threshold", real(settings->garbage_collection_threshold));
  put_whole(w, item, "max_non_split_rounding_bytes", settings->max_non_split_rounding_bytes);
  put_whole(w, item, "large_segment_bytes", settings->large_segment_bytes);
  put(w, item, "memory_fraction", settings->memory_fraction > 0 ? real(settings->memory_fraction) : cJSON_CreateNull());
}

/* "2.6" when the layout leaves one version, "2.2-2.4" for several, null for none. */
static void put_torch(struct writer *w, cJSON *object) {
  const unsigned from = w->report->recording->torch_from, to = w->report->recording->torch_to;
  char text[32];
  if (from == 0 && to == 0) {
    put(w, object, "torch", cJSON_CreateNull());
    return;
  }
  if (from == to) {
    snprintf(text, sizeof text, "%u.%u", from / 100, from % 100);
  } else if (to == 0) {
    snprintf(text, sizeof text, "%u.%u-", from / 100, from % 100);
  } else {
    snprintf(text, sizeof text, "%u.%u-%u.%u", from / 100, from % 100, to / 100, to % 100);
  }
  put_name(w, object, "torch", text);
}

/* ---- The recording ---- */

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
  cJSON *const trace = put(w, root, "trace", cJSON_CreateObject());
  put_text(w, trace, "path", report->path);
  put_name(w, trace, "format", formats[report->recording->format]);
  put_name(w, trace, "fidelity", fidelities[report->recording->fidelity]);
  put(w, trace, "device", report->trace ? cJSON_CreateNumber(report->trace->device) : cJSON_CreateNull());
  put_maybe(w, trace, "entries", report->trace != NULL, report->trace ? report->trace->entries.count : 0);
  put_maybe(w, trace, "allocs", report->trace != NULL, report->alloc_count);
  put_maybe(w, trace, "frees", report->trace != NULL, report->free_count);
  put_torch(w, trace);
  put_settings(w, trace, "settings", &report->recording->settings);
  put_name(w, trace, "start", starts[report->start]);
  put_whole(w, trace, "start_ambiguous", report->ambiguous_count);
  put_bool(w, trace, "truncated", report->recording->is_truncated);
  cJSON *const notes = put(w, trace, "notes", cJSON_CreateArray());
  for (size_t i = 0; i < report->recording->notes.count; i++) push(w, notes, text_item(report->recording->notes.items[i]));
}

static void put_check(struct writer *w, cJSON *root) {
  const struct wo_replay_check *const check = &w->report->check;
  if (!w->report->has_check) {
    put(w, root, "check", cJSON_CreateNull());
    return;
  }
  cJSON *const object = put(w, root, "check", cJSON_CreateObject());
  put_whole(w, object, "entries_compared", check->entries_compared);
  put_whole(w, object, "allocations", check->allocations);
  put_whole(w, object, "addresses_equal", check->addresses_equal);
  put_whole(w, object, "segment_events", check->segment_events);
  put_whole(w, object, "segment_events_equal", check->segment_events_equal);
  put(w, object, "final_layout_equal",
      check->has_final_layout ? cJSON_CreateBool(check->final_layout_equal) : cJSON_CreateNull());
  put_maybe(w, object, "diverged_at", check->has_diverged, check->diverged_at);
  put_text(w, object, "why", check->has_diverged ? check->why : (struct wo_view){0});
}

/* ---- Results ---- */

static void put_oom(struct writer *w, cJSON *root, const struct wo_replay_case *subject) {
  if (subject == NULL || !subject->outcome.has_oom) {
    put(w, root, "oom", cJSON_CreateNull());
    return;
  }
  const struct wo_allocator_oom *const oom = &subject->outcome.oom;
  cJSON *const object = put(w, root, "oom", cJSON_CreateObject());
  put_maybe(w, object, "entry", subject->oom_entry != WO_NO_ENTRY, subject->oom_entry);
  put_whole(w, object, "requested_bytes", oom->requested_bytes);
  put_whole(w, object, "rounded_bytes", oom->rounded_bytes);
  put_whole(w, object, "segment_bytes", oom->segment_bytes);
  put_whole(w, object, "free_bytes", oom->device_free_bytes);
  put_whole(w, object, "idle_bytes", oom->cached_free_bytes);
  put_whole(w, object, "largest_free_block_bytes", oom->largest_free_block_bytes);
  put_bool(w, object, "by_fraction", oom->by_fraction);
  put_bool(w, object, "would_fit_unfragmented", oom->cached_free_bytes + oom->device_free_bytes >= oom->rounded_bytes);
}

static void put_peak(struct writer *w, cJSON *root, const struct wo_replay_case *subject) {
  if (subject == NULL) {
    put(w, root, "peak", cJSON_CreateNull());
    return;
  }
  const struct wo_replay_peak *const peak = &subject->outcome.peak;
  cJSON *const object = put(w, root, "peak", cJSON_CreateObject());
  put_whole(w, object, "reserved_bytes", peak->reserved_bytes);
  put_whole(w, object, "allocated_bytes", peak->allocated_bytes);
  put_whole(w, object, "requested_bytes", peak->requested_bytes);
  put_whole(w, object, "active_bytes", peak->active_bytes);
  put_maybe(w, object, "at_entry", subject->peak_entry != WO_NO_ENTRY, subject->peak_entry);
}

/* One setting over several address orders. */
static void put_case(struct writer *w, cJSON *object, const struct wo_replay_case *result) {
  put_settings(w, object, "settings", &result->settings);
  put_peak(w, object, result);
  put(w, object, "idle_at_peak_pct", real(wo_replay_idle_pct(result)));
  put_whole(w, object, "runs", result->run_count);
  put_whole(w, object, "runs_out_of_memory", result->oom_count);
  put_whole(w, object, "reserved_lo_bytes", result->reserved_lo_bytes);
  put_whole(w, object, "reserved_hi_bytes", result->reserved_hi_bytes);
  const bool has_margin = w->report->capacity_bytes > 0 && result->oom_count == 0;
  put_maybe(w, object, "margin_bytes", has_margin, wo_replay_margin(w->report, result));
  put(w, object, "fits",
      w->report->capacity_bytes > 0 || result->oom_count > 0 ? cJSON_CreateBool(result->oom_count == 0) : cJSON_CreateNull());
}

static void put_named_case(struct writer *w, cJSON *root, const char *key, bool has_case, const struct wo_replay_case *result) {
  cJSON *const object = put(w, root, key, has_case ? cJSON_CreateObject() : cJSON_CreateNull());
  if (has_case) put_case(w, object, result);
}

/* The innermost frame first, as everywhere; `own` is the program's own. */
static void put_stack(struct writer *w, cJSON *object, const struct wo_replay_stack *stack) {
  put_text(w, object, "own_frame", stack->own);
  cJSON *const array = put(w, object, "stack", cJSON_CreateArray());
  for (size_t i = 0; i < stack->frame_count; i++) push(w, array, text_item(stack->frames[i]));
}

static void put_pins(struct writer *w, cJSON *fragmentation) {
  cJSON *const array = put(w, fragmentation, "pinned_segments", cJSON_CreateArray());
  for (size_t i = 0; i < w->report->pin_count; i++) {
    const struct wo_replay_pin *const pin = &w->report->pins[i];
    cJSON *const object = push(w, array, cJSON_CreateObject());
    put_whole(w, object, "address", pin->address);
    put_whole(w, object, "bytes", pin->segment_bytes);
    put_whole(w, object, "held_by_bytes", pin->held_by_bytes);
    put_whole(w, object, "blocks", pin->block_count);
    put_name(w, object, "class", wo_alloc_class_name(pin->class_));
    put_maybe(w, object, "since_entry", !pin->is_older, pin->birth);
    put_stack(w, object, &pin->stack);
  }
}

static void put_fragmentation(struct writer *w, cJSON *root, const struct wo_replay_case *subject) {
  cJSON *const object = put(w, root, "fragmentation", cJSON_CreateObject());
  put(w, object, "at_peak_pct", subject ? real(wo_replay_idle_pct(subject)) : cJSON_CreateNull());
  put_maybe(w, object, "idle_at_peak_bytes", subject != NULL, subject ? subject->idle_at_peak_bytes : 0);
  put_whole(w, object, "pinned_count", w->report->pins_total);
  put_whole(w, object, "pinned_idle_bytes", w->report->pins_idle_bytes);
  put_pins(w, object);
}

static void put_holders(struct writer *w, cJSON *root) {
  const struct wo_replay_report *const report = w->report;
  cJSON *const holders = put(w, root, "holders", cJSON_CreateObject());
  cJSON *const classes = put(w, holders, "classes", cJSON_CreateArray());
  for (size_t i = 0; i < report->class_count; i++) {
    cJSON *const object = push(w, classes, cJSON_CreateObject());
    put_name(w, object, "class", wo_alloc_class_name(report->classes[i].class_));
    put_whole(w, object, "bytes", report->classes[i].bytes);
    put_whole(w, object, "blocks", report->classes[i].block_count);
  }
  cJSON *const stacks = put(w, holders, "stacks", cJSON_CreateArray());
  for (size_t i = 0; i < report->stack_count; i++) {
    cJSON *const object = push(w, stacks, cJSON_CreateObject());
    put_name(w, object, "class", wo_alloc_class_name(report->stacks[i].class_));
    put_whole(w, object, "bytes", report->stacks[i].bytes);
    put_whole(w, object, "blocks", report->stacks[i].block_count);
    put_stack(w, object, &report->stacks[i].stack);
  }
  put_whole(w, holders, "other_stacks_bytes", report->stacks_rest_bytes);
}

static void put_sweep(struct writer *w, cJSON *root) {
  static const char *const worths[] = {[WO_SWEEP_SAME] = "same", [WO_SWEEP_BETTER] = "better", [WO_SWEEP_HARMFUL] = "harmful"};
  const struct wo_replay_report *const report = w->report;
  if (report->sweep_count == 0) {
    put(w, root, "sweep", cJSON_CreateNull());
    return;
  }
  cJSON *const sweep = put(w, root, "sweep", cJSON_CreateObject());
  put_text(w, sweep, "advice", report->advice);
  cJSON *const array = put(w, sweep, "rows", cJSON_CreateArray());
  for (size_t i = 0; i < report->sweep_count; i++) {
    const struct wo_replay_sweep_row *const row = &report->sweep[i];
    cJSON *const object = push(w, array, cJSON_CreateObject());
    put_text(w, object, "text", row->text);
    put_text(w, object, "needs", row->needs);
    put_name(w, object, "worth", worths[row->worth]);
    put_bool(w, object, "is_recorded", row->is_recorded);
    put_case(w, object, &row->result);
  }
}

/* ---- The state after an entry ---- */

static void put_state_blocks(struct writer *w, cJSON *object, const struct wo_replay_state_segment *segment) {
  static const char *const states[] = {
      [WO_BLOCK_FREE] = "free", [WO_BLOCK_ALLOCATED] = "allocated", [WO_BLOCK_PENDING] = "pending"};
  cJSON *const array = put(w, object, "blocks", cJSON_CreateArray());
  for (size_t i = 0; i < segment->block_count; i++) {
    const struct wo_replay_state_block *const block = &w->report->state_blocks[segment->first_block + i];
    cJSON *const item = push(w, array, cJSON_CreateObject());
    const bool is_used = block->state != WO_BLOCK_FREE;
    put_whole(w, item, "address", block->address);
    put_whole(w, item, "bytes", block->size_bytes);
    put_name(w, item, "state", states[block->state]);
    if (!is_used) continue;
    put_maybe(w, item, "requested_bytes", block->requested_bytes > 0, block->requested_bytes);
    put_maybe(w, item, "since_entry", !block->is_older, block->birth);
    put_stack(w, item, &block->stack);
  }
}

static void put_state(struct writer *w, cJSON *root) {
  const struct wo_replay_report *const report = w->report;
  if (!report->has_state) {
    put(w, root, "state", cJSON_CreateNull());
    return;
  }
  const struct wo_allocator_stats *const stats = &report->state_stats;
  cJSON *const state = put(w, root, "state", cJSON_CreateObject());
  put_whole(w, state, "after_entry", report->state_at);
  put_whole(w, state, "reserved_bytes", (uint64_t)stats->reserved_bytes[WO_STAT_ALL].current);
  put_whole(w, state, "allocated_bytes", (uint64_t)stats->allocated_bytes[WO_STAT_ALL].current);
  put_whole(w, state, "active_bytes", (uint64_t)stats->active_bytes[WO_STAT_ALL].current);
  put_whole(w, state, "requested_bytes", (uint64_t)stats->requested_bytes[WO_STAT_ALL].current);
  cJSON *const segments = put(w, state, "segments", cJSON_CreateArray());
  for (size_t i = 0; i < report->state_segment_count; i++) {
    const struct wo_replay_state_segment *const segment = &report->state_segments[i];
    cJSON *const object = push(w, segments, cJSON_CreateObject());
    put_whole(w, object, "address", segment->address);
    put_whole(w, object, "bytes", segment->size_bytes);
    put_whole(w, object, "stream", segment->stream);
    cJSON *const pool = put(w, object, "pool", cJSON_CreateArray());
    push(w, pool, whole(segment->pool.first));
    push(w, pool, whole(segment->pool.second));
    put_bool(w, object, "is_small", segment->is_small);
    put_bool(w, object, "is_expandable", segment->is_expandable);
    put_state_blocks(w, object, segment);
  }
}

/* ---- The whole ---- */

static void put_capacity(struct writer *w, cJSON *root) {
  static const char *const froms[] = {[WO_CAPACITY_NONE] = NULL,
                                      [WO_CAPACITY_OPTION] = "option",
                                      [WO_CAPACITY_OOM_ENTRY] = "oom_entry",
                                      [WO_CAPACITY_FILE] = "file"};
  const struct wo_replay_report *const report = w->report;
  const bool is_known = report->capacity_bytes > 0;
  put_maybe(w, root, "capacity_bytes", is_known, report->capacity_bytes);
  put_text(w, root, "capacity_from", wo_view_of(froms[report->capacity_from]));
  put_maybe(w, root, "uncertainty_bytes", is_known, report->uncertainty_bytes);
}

static void put_fits(struct writer *w, cJSON *root, const struct wo_replay_case *subject) {
  const bool is_known = subject && (subject->oom_count > 0 || w->report->capacity_bytes > 0);
  put(w, root, "fits", is_known ? cJSON_CreateBool(subject->oom_count == 0) : cJSON_CreateNull());
  const bool has_margin = is_known && subject->oom_count == 0;
  put_maybe(w, root, "margin_bytes", has_margin, has_margin ? wo_replay_margin(w->report, subject) : 0);
}

static void put_times(struct writer *w, cJSON *root) {
  const bool has = w->report->has_times;
  put(w, root, "seconds", has ? real(w->report->seconds) : cJSON_CreateNull());
  put(w, root, "events_per_second", has && w->report->seconds > 0 ? real(w->report->events_per_second) : cJSON_CreateNull());
}

/* The keys in the order in which people read them; the long lists come last. */
static void put_replay(struct writer *w, cJSON *root) {
  const struct wo_replay_report *const report = w->report;
  const struct wo_replay_case *const subject = wo_replay_subject(report);
  put_name(w, root, "schema", "whyoom.replay/1");
  cJSON *const tool = put(w, root, "tool", cJSON_CreateObject());
  put_name(w, tool, "name", "whyoom");
  put_name(w, tool, "version", WHYOOM_VERSION);
  put_name(w, root, "verdict", wo_replay_verdict_name(report->verdict));
  put_text(w, root, "why", report->why);
  put_trace(w, root);
  put_name(w, root, "on", "model");
  char torch[32];
  snprintf(torch, sizeof torch, "%d.%d", report->torch / 100, report->torch % 100);
  put_name(w, root, "torch", torch);
  put_settings(w, root, "settings", &report->settings);
  put(w, root, "scale", cJSON_CreateObject());
  put_capacity(w, root);
  put_check(w, root);
  put_fits(w, root, subject);
  put_oom(w, root, subject);
  put_peak(w, root, subject);
  put_fragmentation(w, root, subject);
  put(w, root, "gpu", cJSON_CreateNull());
  put_named_case(w, root, "recorded", report->has_recorded, &report->recorded);
  put_named_case(w, root, "baseline", report->has_baseline, &report->baseline);
  put_named_case(w, root, "whatif", report->has_whatif, &report->whatif);
  put_named_case(w, root, "whatif_from_recorded_start", report->has_warm, &report->warm);
  put_holders(w, root);
  put_sweep(w, root);
  put_state(w, root);
  put_times(w, root);
}

/* cJSON indents with tabs; a tab inside of a string is escaped, so that every tab stands between tokens. */
static void add_printed(struct wo_text *out, const char *printed) {
  for (const char *at = printed; *at != '\0';) {
    const size_t plain = strcspn(at, "\t");
    wo_text_add_view(out, (struct wo_view){at, plain});
    const bool is_behind_key = plain > 0 && at[plain - 1] == ':';
    at += plain;
    if (*at == '\0') break;
    wo_text_repeat(out, ' ', is_behind_key ? 1 : 2);
    at++;
  }
  wo_text_add(out, "\n");
}

void wo_replay_json(const struct wo_replay_report *report, struct wo_text *out) {
  assert(report != NULL && report->recording != NULL && out != NULL);
  struct writer w = {.report = report};
  cJSON *const root = cJSON_CreateObject();
  if (root != NULL) put_replay(&w, root);
  char *const printed = root == NULL || w.is_failed ? NULL : cJSON_Print(root);
  if (printed == NULL) {
    out->is_failed = true;
  } else {
    add_printed(out, printed);
  }
  cJSON_free(printed);
  cJSON_Delete(root);
}
