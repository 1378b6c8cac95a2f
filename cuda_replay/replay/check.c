/* SPDX-License-Identifier: Apache-2.0 */
/* The check: refuses a recording that cannot be checked, with the reason; then runs each possible version of torch once. */
#include "cuda_replay/replay/check.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>

#include "cuda_replay/recording/torch_rules.h"
#include "cuda_replay/replay/check_internal.h"
#include "parsers/base/vec.h"

#define MIB ((uint64_t)1024 * 1024)
/* The first version that records. */
#define TORCH_RECORDS 200

/* How often an unsure release is read the other way (release_cause.h). */
enum { TURNS_MAX = 32 };

/* The first with expandable segments. */
#define TORCH_MAPS 201

/* The first that takes equal blocks by age, without any setting. */
#define TORCH_AGES 212

/* ---- Words ---- */

static void add_why(struct wo_replay_check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add_why(struct wo_replay_check *check, const char *format, ...) {
  const size_t used = strlen(check->why);
  va_list args;
  va_start(args, format);
  vsnprintf(check->why + used, sizeof check->why - used, format, args);
  va_end(args);
}

static enum wo_status refuse(struct wo__checker *checker, size_t entry, const char *why) {
  checker->check->verdict = WO_CHECK_REFUSED;
  checker->check->diverged_at = entry;
  add_why(checker->check, "%s", why);
  if (checker->recording->is_truncated) add_why(checker->check, "; the file ends early, so entries may be missing");
  return WO_OK;
}

/* Whether this trace lacks its end because the file is cut: it is the last trace in the file. Its segments are those of the end,
 * so its start cannot be rebuilt, and a divergence from the model proves nothing. */
static bool is_cut(const struct wo__checker *checker) {
  const struct wo_recording *const recording = checker->recording;
  assert(recording->traces.count > 0);
  return recording->is_truncated && checker->trace->device == recording->traces.items[recording->traces.count - 1].device;
}

/* ---- Whether it can be checked ---- */

static void count_entries(struct wo__checker *checker) {
  struct wo_replay_check *const check = checker->check;
  for (size_t i = 0; i < checker->trace->entries.count; i++) {
    switch ((enum wo_action)checker->trace->entries.items[i].action) {
    case WO_ACTION_ALLOC:
      check->allocations++;
      break;
    case WO_ACTION_OOM:
      check->refusals++;
      break;
    case WO_ACTION_SEGMENT_MAP:
    case WO_ACTION_SEGMENT_UNMAP:
      checker->has_maps = true;
      check->segment_events++;
      break;
    case WO_ACTION_SEGMENT_ALLOC:
    case WO_ACTION_SEGMENT_FREE:
      checker->has_plain_segments = true;
      check->segment_events++;
      break;
    default:
      break;
    }
  }
}

/* Whether the allocator cannot have made the segments: a dict in the form of a snapshot, made from a profiler's run. */
static bool is_made_up(const struct wo_trace *trace) {
  for (size_t i = 0; i < trace->segments.count; i++) {
    if (trace->segments.items[i].size_bytes % MIB != 0) return true;
  }
  return false;
}

/* Why a recording cannot be checked, or NULL. */
static const char *refusal(const struct wo__checker *checker) {
  const struct wo_recording *const recording = checker->recording;
  const struct wo_trace *const trace = checker->trace;
  switch (recording->format) {
  case WO_TRACE_FORMAT_PROFILER:
    return "a profiler trace has no segments and only block sizes: nothing to compare with; record a memory snapshot "
           "(torch.cuda.memory._record_memory_history)";
  case WO_TRACE_FORMAT_TIMELINE:
    return "a memory timeline has no addresses: nothing to compare with; record a memory snapshot "
           "(torch.cuda.memory._record_memory_history)";
  case WO_TRACE_FORMAT_RECONSTRUCTED:
    return "the trace was reconstructed and not recorded: its addresses are made up";
  default:
    break;
  }
  if (recording->fidelity != WO_TRACE_EXACT) return "the recording does not hold the requested sizes exactly";
  if (!checker->settings.is_native) {
    return "the cudaMallocAsync backend was used: its blocks are the driver's, and no model of PyTorch's allocator can follow "
           "them";
  }
  if (!trace->has_segments) return "the file holds no segments, so the state at the start and at the end is not known";
  if (is_made_up(trace)) return "the segments have sizes that no allocator makes: a snapshot made from a profiler run";
  const char *const lack = wo_trace_lack(recording, trace);
  if (lack) return lack;
  return checker->check->allocations > 0 ? NULL : "the trace holds no allocation";
}

/* ---- Settings and versions ---- */

static void add_version(struct wo_replay_check *check, uint16_t torch) {
  size_t at = check->version_count;
  for (size_t i = 0; i < check->version_count; i++) {
    if (check->versions_tried[i] == torch) return;
  }
  if (check->version_count == WO_CHECK_VERSIONS_MAX) return;
  for (; at > 0 && check->versions_tried[at - 1] > torch; at--) check->versions_tried[at] = check->versions_tried[at - 1];
  check->versions_tried[at] = torch;
  check->version_count++;
}

/* Up to 2.11 versions differ only in these (torch_rules.def). */
static bool can_versions_differ(const struct wo__checker *checker) {
  const struct wo_alloc_settings *const settings = &checker->settings;
  const bool has_pools = checker->recording->pools.count > 1;
  return has_pools || checker->has_maps || settings->expandable_segments || settings->max_split_bytes != WO_SPLIT_UNLIMITED ||
         settings->garbage_collection_threshold > 0 || checker->recording->settings_texts.count > 0;
}

/* The versions in which a rule begins. */
static const uint16_t turns[] = {
#define WO_TORCH_RULE(id, since, text) since,
#include "cuda_replay/recording/torch_rules.def"
#undef WO_TORCH_RULE
};

/* The versions that the recording may be of. */
static void possible_versions(const struct wo__checker *checker, uint16_t *ret_from, uint16_t *ret_to) {
  const struct wo_recording *const recording = checker->recording;
  uint16_t from = recording->torch_from, to = recording->torch_to;
  if (checker->options->torch != 0) from = to = checker->options->torch;
  if (from == 0) from = checker->has_maps ? TORCH_MAPS : TORCH_RECORDS;
  if (to == 0 || to < from) to = WO_TORCH_NEWEST > from ? WO_TORCH_NEWEST : from;
  *ret_from = from;
  *ret_to = to;
}

/* Adds the versions in which a rule begins, from `first` on. */
static void add_turns(struct wo__checker *checker, uint16_t first) {
  uint16_t from, to;
  possible_versions(checker, &from, &to);
  for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++) {
    if (from < turns[i] && first <= turns[i] && turns[i] <= to) add_version(checker->check, turns[i]);
  }
}

static void choose_versions(struct wo__checker *checker) {
  uint16_t from, to;
  possible_versions(checker, &from, &to);
  const bool is_one = from == to || !can_versions_differ(checker);
  const bool has_default = from < to && is_one && from <= WO_TORCH_DEFAULT && WO_TORCH_DEFAULT <= to;
  add_version(checker->check, has_default ? WO_TORCH_DEFAULT : from);
  if (!is_one) add_turns(checker, from);
}

/* ---- Verdict ---- */

/* Possible reasons for a divergence, as far as the recording shows them. */
static void explain(const struct wo__checker *checker) {
  struct wo_replay_check *const check = checker->check;
  const struct wo_alloc_settings *const settings = &checker->settings;
  const struct wo_recording *const recording = checker->recording;
  const bool has_pools = recording->pools.count > 1;
  const bool has_plain = checker->has_plain_segments && settings->expandable_segments && !has_pools;
  if (recording->is_truncated) add_why(check, "the file ends early, so entries may be missing; ");
  if (has_plain || (checker->has_maps && !settings->expandable_segments)) {
    add_why(check,
            "settings were changed during the run, as segments were %s although expandable_segments is %s in the snapshot, "
            "which holds only the last settings; ",
            has_plain ? "allocated whole" : "mapped", settings->expandable_segments ? "on" : "off");
  }
  if (wo__check_has_unknown_limit(checker)) {
    add_why(check, "garbage collection acts with a memory fraction, which snapshots do not tell and no limit that was tried "
                   "explains: give it with --set; ");
  }
  if (has_pools || check->hidden_pools > 0) {
    add_why(check, "a private pool (of a graph or MemPool) that was released before the end is named by nothing, and no guess "
                   "explains it; ");
  }
  if (check->versions_tried[check->version_count - 1] >= TORCH_AGES && checker->start.segments.count > 0) {
    add_why(check, "since torch 2.12 ages of free blocks decide between equal ones, and those at the start are not recorded; ");
  }
  if (check->open_blocks > 0) {
    add_why(check, "the sizes of %zu blocks at the start are not certain (%zu layouts tried); ", check->open_blocks,
            check->layouts_tried);
  }
  if (check->blocks_changed > 0) {
    const bool is_at_end = check->diverged_at == checker->trace->entries.count;
    add_why(check, "%zu blocks changed while the snapshot was taken%s; ", check->blocks_changed,
            is_at_end ? ", or the file was changed: no calls in between give them" : "");
  }
  if (!recording->has_settings && !checker->options->settings) {
    add_why(check, "this snapshot does not hold the allocator's settings: give them with --set if they were not the defaults; ");
  }
  const size_t length = strlen(check->why);
  if (length == 0) {
    add_why(check,
            "nothing in the recording explains it: entries before this one were not recorded or changed, settings were changed "
            "during the run, or the model is wrong");
  } else if (length >= 2 && check->why[length - 2] == ';') {
    check->why[length - 2] = '\0';
  }
}

static void take_trial(const struct wo__checker *checker, const struct wo__start_trial *trial, uint16_t torch) {
  struct wo_replay_check *const check = checker->check;
  check->verdict = trial->is_equal ? WO_CHECK_EQUAL : WO_CHECK_DIVERGED;
  check->torch = torch;
  check->addresses_equal = trial->addresses_equal;
  check->segment_events_equal = trial->segment_events_equal;
  check->refusals_equal = trial->refusals_equal;
  check->final_layout_equal = trial->is_equal;
  check->entries_compared = trial->cursor;
  check->diverged_at = trial->cursor;
  check->peak_reserved_bytes = trial->peak_reserved_bytes;
  check->peak_allocated_bytes = trial->peak_allocated_bytes;
  snprintf(check->expected, sizeof check->expected, "%s", trial->is_equal ? "" : trial->expected);
  snprintf(check->got, sizeof check->got, "%s", trial->is_equal ? "" : trial->got);
}

/* Reads the last unsure release before a divergence, and those after it, the other way. False if there is none that was not
 * turned yet. */
static bool turn_reading(struct wo__readings *readings, size_t diverged_at) {
  assert(readings->turns.count <= TURNS_MAX);
  size_t run = readings->unsure.count;
  while (run > 0 && readings->unsure.items[run - 1] > diverged_at) run--;
  if (run == 0 || readings->turns.count >= TURNS_MAX) return false;
  const size_t entry = readings->unsure.items[run - 1];
  if (readings->turns.count > 0 && readings->turns.items[readings->turns.count - 1] >= entry) return false;
  if (!WO_VEC_RESERVE(&readings->turns, 1, TURNS_MAX)) return false;
  readings->turns.items[readings->turns.count++] = entry;
  return true;
}

/* As long as it gets farther that way, reads unsure releases the other way. */
static enum wo_status turn_more(struct wo__checker *checker, uint16_t torch, struct wo__start_trial *ret_trial) {
  enum wo_status status = WO_OK;
  while (status == WO_OK && !ret_trial->is_equal && wo__check_can_go_on(checker) &&
         turn_reading(&checker->readings, ret_trial->cursor)) {
    struct wo__start_trial trial;
    status = wo__check_make_pattern(checker);
    if (status == WO_OK) status = wo__check_run(checker, torch, &trial);
    if (status != WO_OK) return status;
    const bool is_better = trial.is_equal || trial.cursor > ret_trial->cursor;
    if (is_better) {
      *ret_trial = trial;
      continue;
    }
    checker->readings.turns.count--;
    return wo__check_make_pattern(checker);
  }
  return status;
}

/* The pattern is that of the present readings. */
static enum wo_status run_version(struct wo__checker *checker, uint16_t torch, struct wo__start_trial *ret_trial) {
  const bool was_turned = checker->readings.turns.count > 0;
  checker->garbage_limit_bytes = 0;
  checker->readings.turns.count = 0;
  enum wo_status status = was_turned ? wo__check_make_pattern(checker) : WO_OK;
  if (status == WO_OK) status = wo__check_run(checker, torch, ret_trial);
  if (!wo__check_has_unknown_limit(checker)) return status == WO_OK ? turn_more(checker, torch, ret_trial) : status;
  for (size_t before = SIZE_MAX; status == WO_OK && !ret_trial->is_equal && ret_trial->cursor != before;) {
    before = ret_trial->cursor;
    status = wo__check_find_limit(checker, torch, ret_trial);
    if (status == WO_OK && !ret_trial->is_equal) status = turn_more(checker, torch, ret_trial);
  }
  return status;
}

/* The same, with private pools that nothing names. */
static enum wo_status explain_version(struct wo__checker *checker, uint16_t torch, struct wo__start_trial *ret_trial) {
  checker->readings.hidden.count = checker->readings.emptied.count = 0;
  enum wo_status status = wo__check_make_pattern(checker);
  if (status == WO_OK) status = run_version(checker, torch, ret_trial);
  for (size_t before = 0; status == WO_OK && !ret_trial->is_equal && ret_trial->cursor > before;) {
    before = ret_trial->cursor;
    status = wo__check_find_pools(checker, torch, ret_trial);
    if (status == WO_OK && !ret_trial->is_equal) status = turn_more(checker, torch, ret_trial);
  }
  return status;
}

/* The newest version that agrees, else the one that got farthest; torch 0: none could run. */
struct best {
  struct wo__start_trial trial;
  uint16_t torch;
};

typedef enum wo_status run_one(struct wo__checker *checker, uint16_t torch, struct wo__start_trial *ret_trial);

static enum wo_status try_versions(struct wo__checker *checker, run_one *run, struct best *best) {
  struct wo_replay_check *const check = checker->check;
  for (size_t i = check->version_count; i > 0; i--) {
    const uint16_t torch = check->versions_tried[i - 1];
    struct wo__start_trial trial;
    const enum wo_status status = run(checker, torch, &trial);
    if (status == WO_E_USAGE) continue; /* this version cannot run with the settings or the start */
    if (status != WO_OK) return status;
    check->versions_agree[i - 1] = trial.is_equal;
    const bool is_better = best->torch == 0 || (trial.is_equal && !best->trial.is_equal) ||
                           (!best->trial.is_equal && trial.cursor > best->trial.cursor);
    if (!is_better) continue;
    *best = (struct best){trial, torch};
    check->hidden_pools = checker->readings.hidden.count;
    check->garbage_limit_bytes = trial.is_equal ? checker->garbage_limit_bytes : 0;
  }
  return WO_OK;
}

/* Pools are guessed only if no version agrees without: wrong rules of another version are no pools. */
static enum wo_status run_versions(struct wo__checker *checker) {
  struct wo_replay_check *const check = checker->check;
  struct best best = {.torch = 0};
  assert(check->version_count > 0);
  enum wo_status status = try_versions(checker, run_version, &best);
  const size_t count = check->version_count;
  if (status == WO_OK && !best.trial.is_equal) add_turns(checker, TORCH_AGES);
  if (check->version_count > count) status = try_versions(checker, run_version, &best);
  const bool has_reason = best.torch != 0 && !best.trial.is_equal && !is_cut(checker);
  if (status == WO_OK && has_reason) status = try_versions(checker, explain_version, &best);
  if (status != WO_OK) return status;
  if (best.torch == 0) return refuse(checker, 0, checker->err->message);
  if (!best.trial.is_equal && is_cut(checker)) {
    return refuse(checker, check->diverged_at, "its entries and its segments belong to different moments");
  }
  take_trial(checker, &best.trial, best.torch);
  if (best.trial.is_equal) return WO_OK;
  explain(checker);
  check->hidden_pools = 0;
  return WO_OK;
}

/* ---- Whole ---- */

/* A contradiction inside the recording: reported with its entry, as nothing can be compared. */
static enum wo_status contradiction(struct wo__checker *checker, enum wo_status status) {
  if (status == WO_E_NOMEM) return status;
  return refuse(checker, (size_t)checker->err->offset, checker->err->message);
}

static enum wo_status check_trace(struct wo__checker *checker) {
  const struct wo_start *const known = checker->known_start;
  enum wo_status status =
      known ? wo_start_copy(known, &checker->start)
            : wo_start_rebuild(checker->recording, checker->trace, &checker->settings, &checker->start, checker->err);
  if (status != WO_OK) return contradiction(checker, status);
  status = wo__check_make_pattern(checker);
  if (status != WO_OK) return contradiction(checker, status);
  checker->check->open_blocks = checker->start.open.count;
  checker->check->blocks_changed = checker->start.strangers.count;
  status = wo__check_count_left_out(checker);
  if (status != WO_OK) return status;
  choose_versions(checker);
  return run_versions(checker);
}

/* The number of entries up to the end of a call that began before the first entry: a ring that dropped its oldest entries may
 * begin in the middle of a call. 0 if the first entry can begin a call. */
static size_t rest_of_call(const struct wo_trace *trace) {
  for (size_t i = 0; i < trace->entries.count; i++) {
    switch ((enum wo_action)trace->entries.items[i].action) {
    case WO_ACTION_FREE_COMPLETED:
    case WO_ACTION_SEGMENT_ALLOC:
    case WO_ACTION_SEGMENT_FREE:
    case WO_ACTION_SEGMENT_MAP:
    case WO_ACTION_SEGMENT_UNMAP:
      continue;
    case WO_ACTION_ALLOC:
    case WO_ACTION_OOM:
      return i == 0 ? 0 : i + 1;
    default:
      return i;
    }
  }
  return 0;
}

static void done(struct wo__checker *checker) {
  wo_alloc_pattern_done(&checker->pattern);
  wo_start_done(&checker->start);
  WO_VEC_DONE(&checker->readings.turns);
  WO_VEC_DONE(&checker->readings.unsure);
  WO_VEC_DONE(&checker->readings.hidden);
  WO_VEC_DONE(&checker->readings.emptied);
}

/* Checks another form of the trace. */
static enum wo_status check_form(const struct wo__checker *whole, const struct wo_trace *form,
                                 struct wo_replay_check *ret_check) {
  *ret_check = (struct wo_replay_check){0};
  struct wo__checker checker = {.recording = whole->recording, .trace = form, .options = whole->options, .check = ret_check};
  checker.err = whole->err;
  count_entries(&checker);
  checker.settings = whole->settings;
  if (ret_check->allocations == 0) return refuse(&checker, 0, "the trace holds no allocation");
  const enum wo_status status = check_trace(&checker);
  done(&checker);
  return status;
}

/* Checks the entries after the first `skipped` ones; takes that result if it gets farther. */
static enum wo_status check_rest(const struct wo__checker *whole, size_t skipped) {
  struct wo_trace rest = *whole->trace;
  struct wo_replay_check check;
  rest.entries.items += skipped;
  rest.entries.count -= skipped;
  const enum wo_status status = check_form(whole, &rest, &check);
  check.diverged_at += skipped;
  check.entries_compared += skipped;
  check.entries_skipped = skipped;
  const bool is_better = check.verdict == WO_CHECK_EQUAL || check.diverged_at > whole->check->diverged_at;
  if (status == WO_OK && check.verdict != WO_CHECK_REFUSED && is_better) *whole->check = check;
  return status;
}

/* Only the final layout differs, and blocks changed while the snapshot was taken: the calls that explain each of them are
 * assumed, and must give the layout, so that a block which was moved in the file is no such call. */
static enum wo_status check_completed(const struct wo__checker *whole) {
  enum wo_status status = WO_OK;
  for (unsigned order = 0; order < WO__CHECK_ORDERS && status == WO_OK && whole->check->verdict != WO_CHECK_EQUAL; order++) {
    struct wo_trace longer;
    struct wo_replay_check check = {0};
    status = wo__check_complete(whole->trace, &whole->start.strangers, order, &longer);
    if (status == WO_OK) status = check_form(whole, &longer, &check);
    WO_VEC_DONE(&longer.entries);
    if (status != WO_OK || check.verdict != WO_CHECK_EQUAL) continue;
    check.blocks_changed = whole->check->blocks_changed;
    check.allocations = check.addresses_equal = whole->check->allocations;
    check.entries_compared = check.diverged_at = whole->trace->entries.count;
    *whole->check = check;
  }
  return status;
}

enum wo_status wo_replay_check_run(const struct wo_recording *recording, const struct wo_trace *trace,
                                   const struct wo_replay_check_options *options, struct wo_replay_check *ret_check,
                                   struct wo_err *err) {
  *ret_check = (struct wo_replay_check){0};
  struct wo_err own = {0};
  struct wo__checker checker = {.recording = recording,
                                .trace = trace,
                                .options = options,
                                .check = ret_check,
                                .err = err ? err : &own,
                                .known_start = options->start};
  count_entries(&checker);
  checker.settings = options->settings ? *options->settings : recording->settings;
  const char *const why = refusal(&checker);
  if (why) return refuse(&checker, 0, why);
  enum wo_status status = check_trace(&checker);
  const bool is_at_end = ret_check->verdict == WO_CHECK_DIVERGED && ret_check->diverged_at == trace->entries.count;
  if (status == WO_OK && is_at_end && checker.start.strangers.count > 0) status = check_completed(&checker);
  done(&checker);
  const size_t skipped = rest_of_call(trace);
  const bool begins_inside = status == WO_OK && ret_check->verdict == WO_CHECK_DIVERGED && ret_check->diverged_at <= skipped;
  if (begins_inside && skipped > 0) status = check_rest(&checker, skipped);
  return status;
}
