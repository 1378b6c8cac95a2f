/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of `whyoom replay` between a recording and its report. See replay_make.h.
 *
 * First the recording is replayed as it was: a what-if depends on a model that reproduces it. Then the requested runs are made,
 * and one function decides the verdict (conclude). */
#include "cuda_replay/command/replay_make.h"

#include <assert.h>
#include <inttypes.h>

#include "cuda_replay/pattern/alloc_pattern_edit.h"
#include "cuda_replay/whatif/device_hooks.h"
#include "cuda_replay/command/replay_make_recorded.h"
#include "cuda_replay/command/replay_make_whatif.h"
#include "parsers/base/clean.h"
#include "parsers/base/limits.h"
#include "parsers/base/units.h"

enum { PATH_BYTES = 1024 };

struct maker {
  const struct wo_recording *recording;
  const struct wo_trace *trace;
  const struct wo_replay_args *args;
  struct wo_replay_report *report;
  struct wo_err *err;
};

/* Keeps a sentence for the report. */
static enum wo_status keep(struct maker *maker, const char *text, struct wo_view *ret_view) {
  *ret_view = wo_arena_copy(&maker->report->arena, wo_view_of(text));
  return ret_view->ptr ? WO_OK : wo_err_nomem(maker->err);
}

/* ---- The question ---- */

/* The newest version that the file's layout allows: default behaviour is the same for the whole range. */
static void choose_torch(struct maker *maker) {
  const struct wo_recording *const recording = maker->recording;
  struct wo_replay_report *const report = maker->report;
  const uint16_t known = recording->torch_to > 0 ? recording->torch_to : recording->torch_from;
  report->torch = maker->args->torch > 0 ? maker->args->torch : known > 0 ? known : WO_TORCH_DEFAULT;
  report->is_torch_assumed =
      maker->args->torch == 0 && (recording->torch_from != recording->torch_to || recording->torch_to == 0);
}

/* With --check the given settings are the recorded ones. */
static enum wo_status choose_settings(struct maker *maker) {
  struct wo_replay_report *const report = maker->report;
  const struct wo_change *const change = &maker->args->change;
  const struct wo_alloc_settings *const recorded = &maker->recording->settings;
  report->recorded_settings = *recorded;
  const enum wo_status status = wo_change_settings(change, recorded, report->torch, &report->settings, maker->err);
  if (status != WO_OK || change->set_count == 0) return status;
  if (!report->settings.is_native)
    return wo_err_set(maker->err, WO_E_USAGE,
                      "--set backend:cudaMallocAsync: that allocator keeps no blocks of its own, the "
                      "driver does, and cannot be modelled");
  report->is_changed = !maker->args->is_check;
  if (maker->args->is_check) report->recorded_settings = report->settings;
  return WO_OK;
}

/* For the report only; a free counts at the program's request. */
static void count_entries(struct maker *maker) {
  for (size_t i = 0; i < maker->trace->entries.count; i++) {
    const enum wo_action action = (enum wo_action)maker->trace->entries.items[i].action;
    if (action == WO_ACTION_ALLOC) maker->report->alloc_count++;
    if (action == WO_ACTION_FREE_REQUESTED) maker->report->free_count++;
  }
}

/* Reports a problem of this machine before time is spent. */
static enum wo_status look_at_gpu(struct maker *maker) {
  struct wo_replay_report *const report = maker->report;
  const char *const visible = maker->args->gpu.hooks ? maker->args->gpu.hooks->visible_devices : NULL;
  report->is_on_gpu = true;
  if (visible) report->visible_devices = wo_view_of(visible);
  return wo_replay_gpu_look(&maker->args->gpu, maker->recording, maker->trace, &report->capacity, &report->gpu, maker->err);
}

/* Everything that is known before anything runs. */
static enum wo_status describe(struct maker *maker, struct wo_view path) {
  char text[PATH_BYTES];
  struct wo_replay_report *const report = maker->report;
  report->recording = maker->recording;
  report->trace = maker->trace;
  report->is_check = maker->args->is_check;
  report->needs_memory = !report->is_check || maker->args->shows_memory;
  report->has_question = wo_replay_args_asks(maker->args);
  report->has_chart = maker->args->has_chart;
  report->path = wo_arena_copy(&report->arena, wo_clean_utf8(path, text, sizeof text));
  if (!report->path.ptr) return wo_err_nomem(maker->err);
  report->capacity = wo_capacity_find(maker->recording, maker->trace, maker->args->change.capacity_bytes);
  count_entries(maker);
  choose_torch(maker);
  const enum wo_status status = choose_settings(maker);
  const bool needs_gpu = maker->args->has_gpu && !wo_trace_lack(maker->recording, maker->trace);
  return status == WO_OK && needs_gpu ? look_at_gpu(maker) : status;
}

/* ---- The recording as it was ---- */

/* WO_E_RANGE means that the recording contradicts itself or lacks entries: a result, not a failure. */
static enum wo_status refuse(struct maker *maker, enum wo_status status) {
  if (status != WO_E_RANGE && status != WO_E_USAGE) return status;
  maker->report->verdict = WO_REPLAY_REFUSED;
  return keep(maker, maker->err->message, &maker->report->why);
}

/* Whether convolutions without named kernels make this part of what forward makes: the embedding of patches does not. */
enum { CONVOLUTIONS_MIN_PCT = 20 };

static bool hides_kernels(const struct wo_replay_report *report) {
  const struct wo_stack_facts_set *const facts = &report->classes.facts;
  if (!wo_stack_facts_hide_kernels(facts)) return false;
  const struct wo_alloc_pattern *const pattern = wo_replay_needed(report);
  double all_bytes = 0, convolution_bytes = 0;
  for (size_t i = pattern->start_count; i < pattern->instances.count; i++) {
    const struct wo_instance *const instance = &pattern->instances.items[i];
    if (wo_replay_needed_classes(report)->marks.items[i].phase != WO_PHASE_FORWARD) continue;
    all_bytes += (double)instance->size_bytes;
    if ((wo_stack_facts_of(facts, instance->stack).flags & WO_STACK_CONVOLUTION) != 0)
      convolution_bytes += (double)instance->size_bytes;
  }
  return convolution_bytes * 100 >= all_bytes * (double)CONVOLUTIONS_MIN_PCT;
}

/* The classes of the recorded requests, and of those that the program needs if it went on without some. */
static enum wo_status classify(struct maker *maker) {
  struct wo_replay_report *const report = maker->report;
  if (wo_classify(&report->recorded_pattern, maker->trace, &report->classes) != WO_OK) return wo_err_nomem(maker->err);
  if (report->recorded_pattern.probe_count > 0 &&
      (!wo_alloc_pattern_copy(&report->recorded_pattern, &report->needed_pattern) ||
       !wo_alloc_pattern_drop_probes(&report->needed_pattern) ||
       wo_classify(&report->needed_pattern, maker->trace, &report->needed_classes) != WO_OK))
    return wo_err_nomem(maker->err);
  report->hides_kernels = hides_kernels(report);
  return WO_OK;
}

/* Whether an equal check has compared the whole trace: all but the rest of a call that began before it. Also gives the bytes that
 * were reserved before the first entry, by going back from the end. */
static bool is_whole(const struct wo_replay_report *report, uint64_t *ret_start_bytes) {
  const struct wo_trace *const trace = report->trace;
  uint64_t events = 0, bytes = 0;
  for (size_t i = 0; i < trace->segments.count; i++) bytes += trace->segments.items[i].size_bytes;
  for (size_t i = 0; i < trace->entries.count; i++) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i];
    if (!wo_entry_is(entry, WO_TRAIT_SEGMENT)) continue;
    events++;
    bytes += wo_entry_is(entry, WO_TRAIT_RELEASE) ? entry->size_bytes : -entry->size_bytes;
  }
  *ret_start_bytes = trace->has_segments ? bytes : 0;
  return trace->entries.items[0].action != WO_ACTION_FREE_COMPLETED && report->check.allocations == report->alloc_count &&
         report->check.segment_events == events;
}

/* Whether the check is all that is asked for, agrees, and leaves nothing to explain. Then the report needs neither the start nor
 * the pattern. */
static enum wo_status ask_check(struct maker *maker, bool *ret_is_answered) {
  struct wo_replay_report *const report = maker->report;
  const struct wo_replay_check *const check = &report->check;
  uint64_t start_bytes = 0;
  *ret_is_answered = false;
  if (report->needs_memory || maker->args->change.set_count > 0) return WO_OK;
  const enum wo_status status = wo_replay_recorded_check(report, maker->err);
  if (status == WO_E_NOMEM) return status;
  if (!report->has_check || check->verdict != WO_CHECK_EQUAL || check->refusals > 0) return WO_OK;
  if (!is_whole(report, &start_bytes)) return WO_OK;
  *ret_is_answered = true;
  report->operation_count = report->alloc_count + report->free_count + check->segment_events;
  report->start_from = start_bytes > 0 ? WO_START_REBUILT : WO_START_EMPTY;
  report->open_blocks = check->open_blocks;
  return WO_OK;
}

/* All later steps need start and pattern; if one of them cannot be made, that is the answer. */
static enum wo_status prepare(struct maker *maker) {
  struct wo_replay_report *const report = maker->report;
  enum wo_status status =
      wo_start_rebuild(maker->recording, maker->trace, &maker->recording->settings, &report->start, maker->err);
  report->is_start_checked = status == WO_OK && maker->args->change.set_count == 0;
  if (status == WO_OK) status = wo_alloc_pattern_make(maker->recording, maker->trace, &report->recorded_pattern, maker->err);
  if (status != WO_OK) return refuse(maker, status);
  report->start_from = report->start.segments.count > 0 ? WO_START_REBUILT : WO_START_EMPTY;
  if (maker->recording->fidelity != WO_TRACE_EXACT) report->start_from = WO_START_APPROXIMATE;
  report->open_blocks = report->start.open.count;
  return WO_OK;
}

/* ---- Where the memory is ---- */

/* The holders of the memory, and the blocks that pin segments, at the one moment with a map. */
static enum wo_status explain_memory(struct maker *maker) {
  struct wo_replay_report *const report = maker->report;
  if (!report->has_memory) return WO_OK;
  if (!report->pattern) report->pattern = &report->recorded_pattern;
  enum wo_status status = wo_attribution_make(report->pattern, &report->memory.map, &report->attribution);
  if (status == WO_OK) status = wo_pins_find(report->pattern, &report->memory.map, &report->pins);
  return status == WO_OK ? WO_OK : wo_err_nomem(maker->err);
}

/* ---- The state of the snapshot ---- */

/* The holders of the memory in the segments of a recording that cannot be replayed. */
static enum wo_status report_holdings(struct maker *maker) {
  struct wo_replay_report *const report = maker->report;
  assert(!report->has_memory && !report->has_holdings);
  if (!maker->trace->has_segments) return WO_OK;
  if (wo_holdings_make(maker->recording, maker->trace, &report->holdings, &report->memory) != WO_OK)
    return wo_err_nomem(maker->err);
  report->has_holdings = report->has_memory = true;
  report->pattern = &report->holdings.pattern;
  report->start_from = WO_START_APPROXIMATE;
  return explain_memory(maker);
}

/* A snapshot without a history is not a broken recording: it answers other questions. */
static enum wo_status make_state(struct maker *maker, const char *lack) {
  maker->report->verdict = WO_REPLAY_STATE_ONLY;
  const enum wo_status status = keep(maker, lack, &maker->report->why);
  return status == WO_OK ? report_holdings(maker) : status;
}

/* ---- The state after an entry ---- */

/* After the last entry there is no state: reporting this is better than showing the last one. */
static enum wo_status run_state(struct maker *maker) {
  struct wo_replay_report *const report = maker->report;
  const uint64_t at = maker->args->at_entry;
  if (at >= maker->trace->entries.count)
    return wo_err_set(maker->err, WO_E_USAGE, "--at %" PRIu64 ": the recording has %zu entries, counted from 0", at,
                      maker->trace->entries.count);
  const enum wo_status status = wo_replay_recorded_state(report, (uint32_t)at, &report->state, maker->err);
  if (status != WO_OK) return status;
  report->has_state = true;
  report->state_at = at;
  report->pattern = &report->recorded_pattern;
  return WO_OK;
}

/* ---- Verdict ---- */

/* If only one end of the interval fits, nothing is proven. */
static bool is_undecided(const struct wo_replay_report *report) {
  const struct wo_replay_case *const bounds = report->bounds;
  return report->has_bounds && bounds[WO_BOUND_LOW].oom_count == 0 && bounds[WO_BOUND_HIGH].oom_count > 0;
}

/* One sentence with the reason why nothing is proven; false if there is none. */
static bool why_not_proven(const struct maker *maker, char *buf, size_t cap) {
  const struct wo_replay_report *const report = maker->report;
  if (maker->recording->fidelity == WO_TRACE_APPROXIMATE) {
    snprintf(buf, cap, "the recording has no addresses: lives of allocations were paired by size");
  } else if (maker->recording->fidelity == WO_TRACE_BLOCK_SIZES) {
    snprintf(
        buf, cap,
        "the recording is a profiler's: it has no segments, no streams, and rounded sizes; a memory snapshot would prove it");
  } else if (is_undecided(report)) {
    snprintf(buf, cap, "it fits at the low end of the sizes that are possible and not at the high end");
  } else if (report->has_check && report->check.verdict == WO_CHECK_DIVERGED) {
    snprintf(buf, cap, "the model does not reproduce the recording beyond entry %zu", report->check.diverged_at);
  } else {
    return false;
  }
  return true;
}

/* The verdict if there is no reason against a proof. A run without a question about capacity is as recorded. */
static enum wo_replay_verdict judge(const struct maker *maker, const struct wo_replay_case *subject) {
  const struct wo_replay_report *const report = maker->report;
  assert(subject || !report->has_whatif);
  if (subject && subject->oom_count > 0) return WO_REPLAY_NOT_FIT;
  if (!report->has_whatif && !report->has_sweep) return WO_REPLAY_REPRODUCED;
  if (report->capacity.from == WO_CAPACITY_NONE) return report->has_whatif ? WO_REPLAY_NO_CAPACITY : WO_REPLAY_REPRODUCED;
  const uint64_t margin = wo_replay_margin(report, wo_replay_most(report));
  return margin < wo_replay_uncertainty(report) ? WO_REPLAY_CLOSE : WO_REPLAY_FITS;
}

/* The only function that decides the verdict. */
static enum wo_status conclude(struct maker *maker) {
  struct wo_replay_report *const report = maker->report;
  const struct wo_replay_case *const subject = report->has_sweep ? &report->sweep.rows[0].result : wo_replay_subject(report);
  char text[320];
  if (report->has_check && report->check.verdict == WO_CHECK_DIVERGED && !report->has_whatif && !report->has_sweep) {
    report->verdict = WO_REPLAY_DIVERGED;
    return WO_OK;
  }
  if (why_not_proven(maker, text, sizeof text)) {
    report->verdict = WO_REPLAY_APPROXIMATE;
    return keep(maker, text, &report->why);
  }
  if (report->gpu.has_run && !report->gpu.agrees) {
    report->verdict = WO_REPLAY_GPU_DIFFERS;
    wo_replay_gpu_tell_difference(&report->gpu, text, sizeof text);
    return keep(maker, text, &report->why);
  }
  report->verdict = report->is_check ? WO_REPLAY_REPRODUCED : judge(maker, subject);
  return WO_OK;
}

/* ---- All steps ---- */

/* Each step needs only the results that the steps before it left in the report. */
static enum wo_status run_all(struct maker *maker) {
  struct wo_replay_report *const report = maker->report;
  const char *const lack = wo_trace_lack(maker->recording, maker->trace);
  if (lack) return make_state(maker, lack);
  bool is_answered = false;
  enum wo_status status = ask_check(maker, &is_answered);
  if (status == WO_OK && is_answered) return conclude(maker);
  if (status == WO_OK) status = prepare(maker);
  if (status == WO_OK && report->verdict == WO_REPLAY_REFUSED) return report_holdings(maker);
  if (status != WO_OK) return status;
  /* A file with requests only has no results to compare and no addresses: every answer is a what-if. */
  const bool is_asked_only = maker->recording->has_only_ids && !report->is_check && !maker->args->has_at;
  if (!is_asked_only) status = wo_replay_recorded_run(report, maker->err);
  if (status == WO_E_RANGE || status == WO_E_USAGE) return refuse(maker, status);
  if (status == WO_OK) status = classify(maker);
  const bool has_whatif = report->is_changed || report->is_on_gpu || wo_change_alters_program(&maker->args->change) ||
                          ((maker->args->change.capacity_bytes > 0 || is_asked_only) && !maker->args->is_sweep);
  if (status == WO_OK && maker->args->has_at) status = run_state(maker);
  if (status == WO_OK && has_whatif && !report->is_check) status = wo_replay_whatif_run(maker->args, report, maker->err);
  if (status == WO_OK && maker->args->is_sweep) status = wo_replay_sweep_run(report, maker->err);
  if (status == WO_OK) status = explain_memory(maker);
  return status == WO_OK ? conclude(maker) : status;
}

/* ---- The recording as people look at it ---- */

/* The first entry of the part that is looked at which is a refusal; WO_NO_ENTRY for none. */
static uint32_t find_refusal(const struct wo_look *look) {
  for (uint32_t i = look->window.first; i < look->window.end; i++) {
    if (wo_entry_is(&look->lives.trace->entries.items[i], WO_TRAIT_REFUSAL)) return i;
  }
  return WO_NO_ENTRY;
}

/* The moment of the holders, if they are those of the recording; else the first failure, or the peak, of the part that is looked
 * at. */
static struct wo_moment find_moment(const struct maker *maker) {
  const struct wo_replay_report *const report = maker->report;
  const struct wo_look *const look = &report->look;
  const bool is_part = maker->args->part.has_first || maker->args->part.has_last;
  if (is_part || report->has_whatif || !report->has_memory) {
    const uint32_t refusal = find_refusal(look);
    return refusal != WO_NO_ENTRY ? wo_lives_at(&look->lives, refusal) : wo_lives_peak(&look->lives, look->window);
  }
  if (report->memory.moment != WO_MOMENT_STATE) return wo_lives_at(&look->lives, report->memory.moment_at.entry);
  return wo_lives_at(&look->lives, look->window.end == 0 ? WO_NO_ENTRY : look->window.end - 1);
}

/* Classes are those of the recorded requests, if they could be made. */
static enum wo_status make_look(struct maker *maker) {
  struct wo_replay_report *const report = maker->report;
  const struct wo_replay_args *const args = maker->args;
  if (args->categories.count == 0 && !args->shows_page) return WO_OK;
  const struct wo_alloc_pattern *const classed = report->classes.marks.count > 0 ? &report->recorded_pattern : NULL;
  const enum wo_status status =
      wo_look_make(maker->recording, maker->trace, classed, &args->categories, args->part, &report->look, maker->err);
  report->has_look = status == WO_OK;
  if (report->has_look) report->look_at = find_moment(maker);
  return status;
}

/* After a failure nothing has to be released. */
enum wo_status wo_replay_make(const struct wo_recording *recording, const struct wo_trace *trace, struct wo_view path,
                              const struct wo_replay_args *args, struct wo_replay_report *ret_report, struct wo_err *err) {
  assert(recording != NULL && trace != NULL && args != NULL && err != NULL);
  *ret_report = (struct wo_replay_report){0};
  wo_arena_init(&ret_report->arena, WO_LIMIT_REPORT_BYTES);
  struct maker maker = {recording, trace, args, ret_report, err};
  enum wo_status status = describe(&maker, path);
  if (status == WO_OK) status = run_all(&maker);
  if (status == WO_OK) status = make_look(&maker);
  if (status != WO_OK) wo_replay_report_done(ret_report);
  return status;
}
