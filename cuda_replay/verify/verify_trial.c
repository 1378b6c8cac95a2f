/* SPDX-License-Identifier: Apache-2.0 */
/* Tries a changed pattern on the card of the job. See verify_trial.h.
 *
 * The high end runs on the capacity less the uncertainty: if it fits there, and so does the low end (smaller requests may pack
 * worse), it is proven. If it fails, both ends are tried on the whole capacity; if the low end fails in every order of addresses,
 * it cannot fit. */
#include "cuda_replay/verify/verify_trial.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "cuda_replay/pattern/alloc_pattern_edit.h"
#include "cuda_replay/replay/check.h"
#include "cuda_replay/whatif/steady.h"
#include "cuda_replay/verify/verify_growth.h"
#include "cuda_replay/verify/verify_lengths.h"
#include "cuda_replay/verify/verify_measured.h"
#include "cuda_replay/whatif/whatif.h"
#include "parsers/base/units.h"

#define MIB (UINT64_C(1) << 20)

/* The driver's figure of free memory, and the rounding of the message; without that figure, the needs of a context and libraries
 * vary. */
#define MESSAGE_UNCERTAINTY_BYTES (256 * MIB)
#define CARD_UNCERTAINTY_BYTES (640 * MIB)
#define UNSEEN_START_BYTES (320 * MIB)

/* A limit of the program is exact to the byte; the message prints it in hundredths of a GiB. */
#define LIMIT_UNCERTAINTY_BYTES (16 * MIB)

/* No card has more; a larger figure was misread. */
#define CARD_BYTES_MAX 1e15

/* ---- Capacity ---- */

/* False for a size that no card has, and for NaN. */
static bool take_capacity(struct wo_verify_subject *subject, double bytes) {
  if (!(bytes >= 1 && bytes <= CARD_BYTES_MAX)) return false;
  subject->capacity_bytes = (uint64_t)bytes;
  return true;
}

/* A memory fraction limits the bytes that PyTorch reserves, whatever the card has left. */
static void apply_memory_limit(const struct wo_job_sizes *sizes, struct wo_verify_subject *subject) {
  const double limit = sizes->allowed_bytes;
  if (!(limit >= 1 && limit < (double)subject->capacity_bytes)) return;
  subject->capacity_bytes = (uint64_t)limit;
  subject->uncertainty_bytes = LIMIT_UNCERTAINTY_BYTES;
  subject->capacity_from = "the program's own limit, a memory fraction, in the log's message";
}

/* After the refusal PyTorch held allocated + unallocated, and the driver had `free` left: PyTorch can have at most their sum.
 * Without these figures, it is the card less the memory of others. */
static bool read_message(const struct wo_job_sizes *sizes, struct wo_verify_subject *subject) {
  if (sizes->are_contradicting) return false;
  if (sizes->allocated_bytes >= 0 && sizes->unallocated_bytes >= 0 && sizes->free_bytes >= 0) {
    if (!take_capacity(subject, sizes->allocated_bytes + sizes->unallocated_bytes + sizes->free_bytes)) return false;
    subject->uncertainty_bytes = MESSAGE_UNCERTAINTY_BYTES;
    subject->capacity_from = "allocated + unallocated + free in the log's message";
    return true;
  }
  if (!(sizes->capacity_bytes > 0)) return false;
  double left = sizes->capacity_bytes;
  if (sizes->non_pytorch_bytes > 0) left -= sizes->non_pytorch_bytes;
  if (sizes->other_bytes > 0) left -= sizes->other_bytes;
  if (!take_capacity(subject, left)) return false;
  subject->uncertainty_bytes = CARD_UNCERTAINTY_BYTES;
  subject->capacity_from = "the card in the log, less what others hold";
  return true;
}

static void find_capacity(struct wo_verify_subject *subject, const struct wo_job_sizes *sizes, uint64_t stated_bytes) {
  if (stated_bytes == 0 && read_message(sizes, subject)) {
    apply_memory_limit(sizes, subject);
    return;
  }
  const struct wo_capacity found = wo_capacity_find(subject->recording, subject->trace, stated_bytes);
  static const char *const from[] = {
      [WO_CAPACITY_NONE] = "not known",
      [WO_CAPACITY_OPTION] = "--capacity",
      [WO_CAPACITY_FILE] = "the card that the recording names",
      [WO_CAPACITY_OOM_ENTRY] = "reserved + free at the recording's own failure",
      [WO_CAPACITY_FRACTION] = "reserved where a limit of the program refused",
  };
  subject->capacity_bytes = found.bytes;
  subject->uncertainty_bytes = found.uncertainty_bytes;
  subject->capacity_from = from[found.from];
}

/* ---- Subjects ---- */

static uint32_t whole_or_zero(double value) {
  return value >= 1 && value <= 1e9 ? (uint32_t)value : 0;
}

static void note_job(struct wo_verify_subject *subject, const struct wo_job_sizes *sizes) {
  subject->failed_step = sizes->step > 0 ? sizes->step : (double)subject->completed.growth.whole_steps + 1;
  subject->step_total = fmax(sizes->step_total, 0);
  subject->grows_in_log = sizes->grows;
  subject->micro_batch = whole_or_zero(sizes->micro_batch);
  subject->seq_len = whole_or_zero(sizes->seq_len);
  wo_verify_note_lengths(subject, sizes);
}

/* A model that does not reproduce the recording proves nothing about a changed one. */
static enum wo_status find_why_not_proven(struct wo_verify_subject *subject, struct wo_err *err) {
  const struct wo_recording *const recording = subject->recording;
  if (recording->fidelity != WO_TRACE_EXACT) {
    snprintf(subject->why_not_proven, sizeof subject->why_not_proven,
             "the recording has no requested sizes or no addresses; a memory snapshot has");
    return WO_OK;
  }
  if (recording->is_truncated) {
    snprintf(subject->why_not_proven, sizeof subject->why_not_proven,
             "the recording is cut off: entries after its end are not known");
    return WO_OK;
  }
  if (recording->has_only_ids || recording->format == WO_TRACE_FORMAT_RECONSTRUCTED) return WO_OK;
  struct wo_replay_check check;
  const struct wo_replay_check_options options = {.settings = NULL}; /* as recorded */
  const enum wo_status status = wo_replay_check_run(recording, subject->trace, &options, &check, err);
  if (status == WO_E_NOMEM) return status;
  if (status == WO_OK && check.verdict == WO_CHECK_REFUSED)
    snprintf(subject->why_not_proven, sizeof subject->why_not_proven,
             "the recording contradicts itself or lacks entries, so no model can follow it: `whyoom replay` tells where");
  else if (status == WO_OK && check.verdict == WO_CHECK_EQUAL && check.hidden_pools > 0)
    snprintf(subject->why_not_proven, sizeof subject->why_not_proven,
             "parts of it lie in private pools (graphs, MemPools) that the recording does not name: torch after 2.11 names them");
  else if (status != WO_OK || check.verdict == WO_CHECK_DIVERGED)
    snprintf(subject->why_not_proven, sizeof subject->why_not_proven, "the model does not reproduce the recording");
  return WO_OK;
}

static bool is_ended_by_oom(const struct wo_trace *trace) {
  for (size_t i = trace->entries.count; i > 0; i--) {
    const enum wo_action action = (enum wo_action)trace->entries.items[i - 1].action;
    if (action == WO_ACTION_OOM) return true;
    if (action == WO_ACTION_ALLOC) return false;
  }
  return false;
}

/* Completes a failed step from the recording itself. */
static enum wo_status complete(struct wo_verify_subject *subject) {
  if (subject->recording->format == WO_TRACE_FORMAT_RECONSTRUCTED) return WO_OK;
  const enum wo_status status =
      wo_step_completion_make(&subject->pattern, &subject->classes, subject->trace, &subject->completed);
  subject->is_open = status == WO_OK && subject->completed.refused != WO_NO_REQUEST && !subject->completed.is_made;
  return status;
}

enum wo_status wo_verify_subject_make(const struct wo_recording *recording, const struct wo_trace *trace, struct wo_view path,
                                      const struct wo_job_sizes *sizes, uint64_t stated_bytes, uint16_t torch,
                                      struct wo_verify_subject *ret_subject, struct wo_err *err) {
  assert(recording && trace && sizes && ret_subject && err);
  struct wo_verify_subject subject = {
      .recording = recording, .trace = trace, .path = path, .torch = torch, .completed = {.refused = WO_NO_REQUEST}};
  if (torch == 0) subject.torch = recording->torch_to > 0 ? recording->torch_to : recording->torch_from;
  if (subject.torch == 0 && !wo_torch_version_parse(sizes->torch, &subject.torch)) subject.torch = WO_TORCH_DEFAULT;
  if (recording->format == WO_TRACE_FORMAT_RECONSTRUCTED) subject.sizes = sizes;
  subject.ends_at_oom = is_ended_by_oom(trace);
  find_capacity(&subject, sizes, stated_bytes);
  enum wo_status status = wo_alloc_pattern_make(recording, trace, &subject.pattern, err);
  if (status == WO_OK && (!wo_alloc_pattern_drop_probes(&subject.pattern) ||
                          wo_classify(&subject.pattern, trace, &subject.classes) != WO_OK || complete(&subject) != WO_OK))
    status = wo_err_nomem(err);
  if (status == WO_OK) status = find_why_not_proven(&subject, err);
  if (status == WO_OK) note_job(&subject, sizes);
  if (status != WO_OK) {
    wo_verify_subject_done(&subject);
    return status;
  }
  *ret_subject = subject;
  return WO_OK;
}

void wo_verify_subject_done(struct wo_verify_subject *subject) {
  if (!subject) return;
  wo_alloc_pattern_done(&subject->pattern);
  wo_classes_done(&subject->classes);
  wo_step_completion_done(&subject->completed);
}

void wo_verify_subject_rescale(struct wo_verify_subject *subject, const struct wo_scale_spec *recorded_at) {
  assert(subject && recorded_at);
  subject->recorded_at = *recorded_at;
  if (wo_verify_is_of_another_run(subject)) wo_verify_note_lengths(subject, NULL);
}

/* ---- Runs ---- */

/* A pattern to run: its two ends, which may be the same, and their classes. */
struct part {
  const struct wo_alloc_pattern *patterns[WO_BOUND_COUNT_];
  const struct wo_classes *classes[WO_BOUND_COUNT_];
  bool is_once; /* it is not an iteration */
};

/* One trial: the question, and the basis of all its runs. */
struct trial {
  const struct wo_verify_subject *subject;
  const struct part *part;
  const struct wo_change *change;
  unsigned shuffles;
  bool is_yes_alone; /* figures of a change that does not fit are not wanted */
  struct wo_alloc_settings settings;
  struct wo_change_basis bases[WO_BOUND_COUNT_]; /* LOW only if the part has its own low end */
  bool is_changed;                               /* the program changes, not only settings */
};

static enum wo_status choose_settings(struct trial *trial, struct wo_err *err) {
  static const struct wo_change none;
  return wo_change_settings(trial->change ? trial->change : &none, &trial->subject->recording->settings, trial->subject->torch,
                            &trial->settings, err);
}

static bool has_low(const struct part *part) {
  return part->patterns[WO_BOUND_LOW] != part->patterns[WO_BOUND_HIGH];
}

/* One end of the interval as a pattern in its steady state; released with wo_alloc_pattern_done. */
static enum wo_status make_end(const struct trial *trial, enum wo_bound bound, struct wo_alloc_pattern *ret_pattern,
                               struct wo_err *err) {
  const struct wo_steady_options repeat = {
      .settings = trial->settings, .torch = trial->subject->torch, .is_once = trial->part->is_once};
  if (!trial->is_changed) return wo_steady_pattern_make(trial->part->patterns[bound], &repeat, ret_pattern, NULL, err);
  const enum wo_bound from = has_low(trial->part) ? bound : WO_BOUND_HIGH;
  struct wo_alloc_pattern changed;
  enum wo_status status = wo_change_apply(trial->change, &trial->bases[from], bound, &changed, err);
  if (status != WO_OK) return status;
  status = wo_steady_pattern_make(&changed, &repeat, ret_pattern, NULL, err);
  wo_alloc_pattern_done(&changed);
  return status;
}

/* The only place that says how a pattern runs on the model. A GPU takes the same pattern, settings and capacity
 * (wo_verify_high_end_make). */
static struct wo_whatif_options options_of(const struct trial *trial, uint64_t capacity_bytes) {
  return (struct wo_whatif_options){
      .settings = trial->settings, .torch = trial->subject->torch, .capacity_bytes = capacity_bytes, .shuffles = trial->shuffles};
}

static enum wo_status run(const struct trial *trial, const struct wo_alloc_pattern *pattern, uint64_t capacity_bytes,
                          struct wo_replay_case *ret_case, struct wo_err *err) {
  const struct wo_whatif_options options = options_of(trial, capacity_bytes);
  return wo_whatif_run(pattern, &options, ret_case, NULL, err);
}

/* Both ends at the capacity and without one. */
struct ends {
  struct wo_replay_case sure, high, low;
};

/* ---- The least card ---- */

/* The accuracy of the least card: a 128th of it, at least this. */
#define LEAST_STEP_BYTES (32 * MIB)
#define LEAST_STEP_SHARE 128

/* A capacity that is too small and one that is enough; the search narrows them. */
struct bracket {
  uint64_t fails_bytes, enough_bytes;
};

/* With unlimited memory an allocator keeps everything; with less it gives back idle memory and continues. A program needs the
 * smallest card on which it runs, not the memory that it takes on an unlimited one. That is seldom far above the bytes alive at
 * once, and a capacity that fails is soon known, so the search goes up in growing steps. needs_all: it must run at every order of
 * addresses, else at one. */
static enum wo_status narrow(const struct trial *trial, const struct wo_alloc_pattern *pattern, bool needs_all,
                             struct bracket *bracket, struct wo_err *err) {
  unsigned order = 0;
  uint64_t probe_bytes = bracket->fails_bytes / LEAST_STEP_SHARE + LEAST_STEP_BYTES;
  while (trial->shuffles > 0 && bracket->fails_bytes < bracket->enough_bytes) {
    const uint64_t step = bracket->enough_bytes / LEAST_STEP_SHARE, gap = bracket->enough_bytes - bracket->fails_bytes;
    const uint64_t middle = bracket->fails_bytes + (probe_bytes < gap / 2 ? probe_bytes : gap / 2);
    if (gap <= step || gap <= LEAST_STEP_BYTES) break;
    const struct wo_whatif_options options = options_of(trial, middle);
    bool fits;
    const enum wo_status status = wo_whatif_fits(pattern, &options, needs_all, &order, &fits, err);
    if (status != WO_OK) return status;
    if (fits) {
      bracket->enough_bytes = middle;
    } else {
      bracket->fails_bytes = middle;
      probe_bytes *= 2;
    }
  }
  return WO_OK;
}

/* From a capacity that failed, or from the bytes alive at once, to one that is enough. */
static struct bracket bracket_of(uint64_t failed_bytes, const struct wo_replay_case *endless, uint64_t enough_bytes) {
  const uint64_t alive = endless->outcome.peak.requested_bytes;
  return (struct bracket){alive > failed_bytes ? alive : failed_bytes, enough_bytes};
}

/* Finds the least cards, starting from the peaks on an unlimited card. */
static enum wo_status find_least(const struct trial *trial, const struct wo_alloc_pattern *high,
                                 const struct wo_alloc_pattern *low, const struct ends *endless, const struct ends *ends,
                                 struct wo_verify_result *result, struct wo_err *err) {
  const uint64_t capacity = trial->subject->capacity_bytes;
  struct bracket high_end = bracket_of(capacity, &endless->high, endless->high.reserved_hi_bytes);
  struct bracket low_end = bracket_of(capacity, &endless->low, endless->low.reserved_lo_bytes);
  if (ends->high.oom_count == 0)
    high_end = bracket_of(wo_verify_sure_bytes(trial->subject), &endless->high, ends->high.reserved_hi_bytes);
  enum wo_status status = narrow(trial, high, true, &high_end, err);
  if (status == WO_OK && ends->low.oom_count == ends->low.run_count) {
    status = narrow(trial, low, false, &low_end, err);
  } else {
    low_end.enough_bytes = ends->low.reserved_lo_bytes;
  }
  result->reserved_hi_bytes = high_end.enough_bytes;
  result->reserved_lo_bytes = low_end.enough_bytes < high_end.enough_bytes ? low_end.enough_bytes : high_end.enough_bytes;
  result->margin_bytes = (int64_t)capacity - (int64_t)result->reserved_hi_bytes;
  return status;
}

/* In percent of the card: by how much real programs missed the ends that were predicted from a small run (docs/training.md). */
enum { OTHER_RUN_BELOW_PCT = 1, OTHER_RUN_ABOVE_PCT = 1 };

/* Whether the recorded run was refused memory and the change makes it do as much or more: such a run fails again. */
static bool is_more_of_a_failure(const struct trial *trial) {
  const struct wo_change *const change = trial->change;
  if (trial->subject->completed.refused == WO_NO_REQUEST || !change) return false;
  for (int axis = 0; axis < WO_AXIS_COUNT_; axis++) {
    if (change->scale.axes[axis].to < change->scale.axes[axis].from) return false;
  }
  for (size_t i = 0; i < change->transform_count; i++) {
    if (!wo_transform_is_accumulation(change->transforms[i].transform)) return false;
  }
  return change->set_count == 0;
}

/* How far beyond the ends of the changed program's need its real need has been seen, of the card. */
static uint64_t spread_bytes(const struct trial *trial, bool is_above) {
  const struct wo_change *const change = trial->change;
  const bool is_of_another_run = wo_verify_is_of_another_run(trial->subject);
  uint32_t most = 0;
  if (!is_above && is_more_of_a_failure(trial)) return 0;
  for (size_t i = 0; change && i < change->transform_count; i++) {
    const struct wo_transform *const transform = change->transforms[i].transform;
    const uint32_t pct = is_above ? transform->above_pct : transform->below_pct;
    if (pct > most) most = pct;
  }
  if (is_of_another_run) most += is_above ? OTHER_RUN_ABOVE_PCT : OTHER_RUN_BELOW_PCT;
  return trial->subject->sizes ? 0 : trial->subject->capacity_bytes / 100 * most;
}

static void say_failing(const struct ends *ends, struct wo_verify_result *result) {
  if (ends->low.oom_count == ends->low.run_count)
    result->fit = WO_VERIFY_NO;
  else if (ends->high.oom_count == 0)
    snprintf(result->why, sizeof result->why, "it fits, with less to spare than is uncertain");
  else
    snprintf(result->why, sizeof result->why, "it fits at the low end of its need, not at the high end");
}

/* A recording that begins in the middle of a run does not show where the first step left its blocks, and the need of later steps
 * depends on this: real programs need up to 308 MiB less than such a recording shows (docs/training.md). So a "no" needs this
 * much more missing memory. */
static uint64_t unseen_bytes(const struct trial *trial, const struct wo_alloc_pattern *pattern) {
  const bool is_reconstructed = trial->subject->recording->format == WO_TRACE_FORMAT_RECONSTRUCTED;
  return pattern->start_count > 0 && !is_reconstructed ? UNSEEN_START_BYTES : 0;
}

/* Fills the result if the high end does not fit on the capacity less the uncertainty. */
static enum wo_status judge_failing(const struct trial *trial, const struct wo_alloc_pattern *high,
                                    const struct wo_alloc_pattern *low, struct wo_verify_result *result, struct wo_err *err) {
  const uint64_t capacity = trial->subject->capacity_bytes;
  struct ends endless, ends;
  enum wo_status status = run(trial, high, 0, &endless.high, err);
  if (status == WO_OK) status = run(trial, low, 0, &endless.low, err);
  if (status != WO_OK) return status;
  result->reserved_lo_bytes = endless.low.reserved_lo_bytes;
  result->reserved_hi_bytes = endless.high.reserved_hi_bytes;
  if (result->reserved_lo_bytes > result->reserved_hi_bytes) result->reserved_lo_bytes = result->reserved_hi_bytes;
  if (capacity == 0) {
    snprintf(result->why, sizeof result->why, "the capacity of the card is not known: give --capacity");
    return WO_OK;
  }
  status = run(trial, low, capacity + unseen_bytes(trial, low) + spread_bytes(trial, false), &ends.low, err);
  if (status == WO_OK) status = run(trial, high, capacity, &ends.high, err);
  if (status != WO_OK) return status;
  say_failing(&ends, result);
  return find_least(trial, high, low, &endless, &ends, result, err);
}

/* A change fits, but the recording proves nothing, or ends before the step does. */
static void heed_why_not_proven(const struct wo_verify_subject *subject, struct wo_verify_result *result) {
  if (subject->why_not_proven[0] != '\0') {
    result->fit = WO_VERIFY_UNSURE;
    snprintf(result->why, sizeof result->why, "%s", subject->why_not_proven);
  } else if (subject->is_open) {
    result->fit = WO_VERIFY_UNSURE;
    result->gets_past = true;
    snprintf(result->why, sizeof result->why,
             "the refused request goes through with %s to spare; the recording has nothing of the rest of the step",
             WO_BYTES_TEXT(result->margin_bytes));
  }
}

static enum wo_status judge(const struct trial *trial, const struct wo_alloc_pattern *high, const struct wo_alloc_pattern *low,
                            struct wo_verify_result *result, struct wo_err *err) {
  const struct wo_verify_subject *const subject = trial->subject;
  struct ends ends;
  result->fit = WO_VERIFY_UNSURE;
  const uint64_t uncertain = subject->uncertainty_bytes + spread_bytes(trial, true);
  if (subject->capacity_bytes <= uncertain) return judge_failing(trial, high, low, result, err);
  enum wo_status status = run(trial, high, subject->capacity_bytes - uncertain, &ends.sure, err);
  if (status != WO_OK) return status;
  if (ends.sure.oom_count > 0 && trial->is_yes_alone) return WO_OK;
  if (ends.sure.oom_count > 0) return judge_failing(trial, high, low, result, err);
  status = run(trial, low, subject->capacity_bytes - uncertain, &ends.low, err);
  if (status != WO_OK) return status;
  const bool is_sure = ends.low.oom_count == 0;
  result->reserved_hi_bytes = ends.sure.reserved_hi_bytes;
  if (!is_sure && ends.low.reserved_hi_bytes > result->reserved_hi_bytes) result->reserved_hi_bytes = ends.low.reserved_hi_bytes;
  result->reserved_lo_bytes =
      ends.low.reserved_lo_bytes < ends.sure.reserved_hi_bytes ? ends.low.reserved_lo_bytes : ends.sure.reserved_hi_bytes;
  result->margin_bytes = (int64_t)subject->capacity_bytes - (int64_t)result->reserved_hi_bytes;
  if (is_sure) {
    result->fit = WO_VERIFY_YES;
    heed_why_not_proven(subject, result);
  } else {
    snprintf(result->why, sizeof result->why,
             "it fits at the high end of its need, but not in every order of addresses at the low end: fragmentation decides");
  }
  return WO_OK;
}

/* Runs both patterns together: with settings alone they are often the same. */
static enum wo_status run_ends(const struct trial *trial, struct wo_verify_result *result, struct wo_err *err) {
  struct wo_alloc_pattern high, low;
  enum wo_status status = make_end(trial, WO_BOUND_HIGH, &high, err);
  if (status != WO_OK) return status;
  if (!trial->is_changed && !has_low(trial->part)) {
    status = judge(trial, &high, &high, result, err);
  } else {
    status = make_end(trial, WO_BOUND_LOW, &low, err);
    if (status == WO_OK) {
      status = judge(trial, &high, &low, result, err);
      wo_alloc_pattern_done(&low);
    }
  }
  wo_alloc_pattern_done(&high);
  return status;
}

static void unprepare(struct trial *trial) {
  for (enum wo_bound bound = 0; bound < WO_BOUND_COUNT_; bound++) wo_change_basis_done(&trial->bases[bound]);
}

static enum wo_status prepare_change(struct trial *trial, struct wo_err *err) {
  const struct part *const part = trial->part;
  const struct wo_change *const change = trial->change;
  const enum wo_status status = wo_change_prepare(change, part->patterns[WO_BOUND_HIGH], part->classes[WO_BOUND_HIGH], NULL,
                                                  &trial->bases[WO_BOUND_HIGH], err);
  if (status != WO_OK || !has_low(part)) return status;
  return wo_change_prepare(change, part->patterns[WO_BOUND_LOW], part->classes[WO_BOUND_LOW], NULL, &trial->bases[WO_BOUND_LOW],
                           err);
}

/* Prepares the data that all runs of a trial share; after WO_OK released with unprepare. */
static enum wo_status prepare(struct trial *trial, struct wo_err *err) {
  trial->is_changed = trial->change && wo_change_alters_program(trial->change);
  enum wo_status status = choose_settings(trial, err);
  if (status != WO_OK || !trial->is_changed) return status;
  status = prepare_change(trial, err);
  if (status != WO_OK) unprepare(trial);
  return status;
}

/* A change that cannot be applied to the recording is a result, not an error. */
static enum wo_status try_part(const struct wo_verify_subject *subject, const struct part *part, const struct wo_change *change,
                               unsigned shuffles, struct wo_verify_result *ret_result, struct wo_err *err) {
  struct trial trial = {.subject = subject,
                        .part = part,
                        .change = change,
                        .shuffles = shuffles == WO_VERIFY_YES_ALONE ? 0 : shuffles,
                        .is_yes_alone = shuffles == WO_VERIFY_YES_ALONE};
  struct wo_verify_result result = {.fit = WO_VERIFY_UNTRIED};
  struct wo_err reason = {0};
  enum wo_status status = prepare(&trial, &reason);
  if (status == WO_OK) {
    status = run_ends(&trial, &result, &reason);
    unprepare(&trial);
  }
  if (status == WO_E_NOMEM) return wo_err_nomem(err);
  if (status != WO_OK) {
    result = (struct wo_verify_result){.fit = WO_VERIFY_UNTRIED};
    snprintf(result.why, sizeof result.why, "%.190s", reason.message);
    if (subject->sizes && status == WO_E_RANGE)
      snprintf(result.why, sizeof result.why, "the log's figures do not show the effect of this; a recording would");
  }
  *ret_result = result;
  return WO_OK;
}

/* The completed step if there is one, and the recorded pattern too if it continues after the refused request. */
static size_t list_parts(const struct wo_verify_subject *subject, struct part parts[2]) {
  const struct wo_step_completion *const completed = &subject->completed;
  size_t count = 0;
  if (completed->is_made) {
    const bool is_two = completed->is_interval;
    parts[count++] = (struct part){
        .patterns = {[WO_BOUND_LOW] = is_two ? &completed->low : &completed->high, [WO_BOUND_HIGH] = &completed->high},
        .classes = {[WO_BOUND_LOW] = is_two ? &completed->low_classes : &completed->high_classes,
                    [WO_BOUND_HIGH] = &completed->high_classes}};
  }
  if (!completed->is_made || completed->goes_on)
    parts[count++] = (struct part){.patterns = {[WO_BOUND_LOW] = &subject->pattern, [WO_BOUND_HIGH] = &subject->pattern},
                                   .classes = {[WO_BOUND_LOW] = &subject->classes, [WO_BOUND_HIGH] = &subject->classes},
                                   .is_once = subject->ends_at_oom};
  return count;
}

static bool has_backward(const struct wo_classes *classes) {
  for (size_t i = 0; i < classes->marks.count; i++) {
    if (classes->marks.items[i].phase == WO_PHASE_BACKWARD) return true;
  }
  return false;
}

/* Makes it a change of the recording of another run: it also scales that to the job's own sizes. */
static void rebase(const struct wo_verify_subject *subject, struct wo_change *change) {
  if (!wo_verify_is_of_another_run(subject)) return;
  for (int axis = 0; axis < WO_AXIS_COUNT_; axis++) {
    const struct wo_scale_axis recorded = subject->recorded_at.axes[axis];
    struct wo_scale_axis *const wanted = &change->scale.axes[axis];
    if (recorded.from > 0) *wanted = (struct wo_scale_axis){recorded.from, wanted->to > 0 ? wanted->to : recorded.to};
  }
  change->has_scale = true;
}

/* The change as one of the recording, in *room; NULL: none. A recording that ends in its first forward pass has nothing that
 * accumulation repeats: it is tried without, and what fits is not sure anyway. A pass with a batch of its own, such as an
 * evaluation, is left as it is. */
static const struct wo_change *fit_to_recording(const struct wo_verify_subject *subject, const struct wo_change *change,
                                                struct wo_change *room) {
  *room = change ? *change : (struct wo_change){0};
  rebase(subject, room);
  if (subject->is_open && wo_change_accumulation(room) > 0 && !has_backward(&subject->classes)) wo_change_drop_accumulation(room);
  if (subject->has_other_batch) room->scale.batch_end = subject->completed.pass_first;
  return wo_change_is_any(room) ? room : NULL;
}

static enum wo_status try_parts(const struct wo_verify_subject *subject, const struct wo_change *change, unsigned shuffles,
                                struct wo_verify_result *ret_result, struct wo_err *err) {
  struct part parts[2];
  struct wo_verify_result result = WO_VERIFY_BEST;
  const size_t count = list_parts(subject, parts);
  for (size_t i = 0; i < count; i++) {
    struct wo_verify_result one;
    const enum wo_status status = try_part(subject, &parts[i], change, shuffles, &one, err);
    if (status != WO_OK) return status;
    wo_verify_result_join(&result, &one);
  }
  *ret_result = result;
  return WO_OK;
}

enum wo_status wo_verify_try(const struct wo_verify_subject *subject, const struct wo_change *change, unsigned shuffles,
                             struct wo_verify_result *ret_result, struct wo_err *err) {
  struct wo_verify_result result;
  struct wo_change room, longest;
  assert(subject && ret_result && err);
  const struct wo_change *const rebased = fit_to_recording(subject, change, &room);
  enum wo_status status = try_parts(subject, rebased, shuffles, &result, err);
  if (status != WO_OK) return status;
  const struct wo_change *decisive = rebased;
  if (result.fit == WO_VERIFY_YES && wo_verify_has_longer_steps(subject)) {
    struct wo_verify_result other = {.fit = WO_VERIFY_UNTRIED};
    const bool is_known = wo_verify_lengthen(subject, rebased, &longest);
    if (is_known) status = try_parts(subject, &longest, shuffles, &other, err);
    if (status != WO_OK) return status;
    if (is_known) decisive = &longest;
    wo_verify_join_longer(subject, &other, &result);
  }
  if (!wo_verify_apply_measured(subject, change, &result)) wo_verify_widen_reconstructed(subject, change, &result);
  wo_verify_apply_growth(subject, rebased, &result);
  wo_verify_heed_length(subject, decisive, &result);
  *ret_result = result;
  return WO_OK;
}

/* ---- For other files ---- */

enum wo_status wo_verify_high_end_make(const struct wo_verify_subject *subject, const struct wo_change *change,
                                       struct wo_verify_high_end *ret_end, struct wo_err *err) {
  struct part parts[2];
  struct wo_change room, longest;
  assert(subject && ret_end && err);
  list_parts(subject, parts);
  const struct wo_change *const rebased = fit_to_recording(subject, change, &room);
  const bool is_longer = wo_verify_has_longer_steps(subject) && wo_verify_lengthen(subject, rebased, &longest);
  struct trial trial = {.subject = subject, .part = &parts[0], .change = is_longer ? &longest : rebased};
  enum wo_status status = prepare(&trial, err);
  if (status != WO_OK) return status;
  *ret_end = (struct wo_verify_high_end){.settings = trial.settings, .capacity_bytes = wo_verify_sure_bytes(subject)};
  status = make_end(&trial, WO_BOUND_HIGH, &ret_end->pattern, err);
  unprepare(&trial);
  return status;
}

void wo_verify_high_end_done(struct wo_verify_high_end *end) {
  if (end) wo_alloc_pattern_done(&end->pattern);
}

/* The enumerators are in order from good to bad, except that NO is worse than UNTRIED. */
void wo_verify_result_join(struct wo_verify_result *result, const struct wo_verify_result *other) {
  static const int gravity[] = {[WO_VERIFY_YES] = 0, [WO_VERIFY_UNSURE] = 1, [WO_VERIFY_UNTRIED] = 2, [WO_VERIFY_NO] = 3};
  assert(result->fit < WO_VERIFY_FIT_COUNT_ && other->fit < WO_VERIFY_FIT_COUNT_);
  const int a = gravity[result->fit], b = gravity[other->fit];
  if (b > a || (a == b && other->margin_bytes < result->margin_bytes)) *result = *other;
}
