/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a fix is enough: compares its saving with the shortage. Ranks fixes by that, then by cost.
 *
 * Both are intervals. A fix is enough alone if its lowest saving covers the largest shortage; "maybe" if only a part of the
 * intervals does. The question is only whether the refused request succeeds: later parts of the step are not in the log. */
#include <assert.h>

#include "analyzer/diagnosis/diagnose.h"
#include "parsers/base/units.h"

/* Limit of unknown facts in a formula; more are ignored. */
#define NEEDS_MAX 8

/* After this number of steps the model's states have been on the card together: a later shortage is not theirs. */
#define STATES_COMPLETE_STEP 3

/* ---- The shortage ---- */

/* Replaces the shortage if the new one is larger. */
static void raise_to(struct wo_shortage *shortage, struct wo_interval bytes, struct wo_view formula) {
  if (bytes.hi <= 0 || (shortage->is_known && bytes.hi <= shortage->bytes.hi)) return;
  if (bytes.lo < 0) bytes.lo = 0;
  if (bytes.mid < bytes.lo) bytes.mid = bytes.lo;
  *shortage = (struct wo_shortage){true, bytes, formula};
}

/* The idle part of the cache counts from 0, if none of its gaps is large enough, to all of it. */
static void add_request(const struct wo_diagnosis *diagnosis, struct wo_shortage *shortage) {
  const struct wo_value tried = wo_diagnosis_fact(diagnosis, "oom.tried");
  const struct wo_value room = wo_diagnosis_fact(diagnosis, "oom.free");
  const struct wo_value idle = wo_diagnosis_fact(diagnosis, "oom.reserved_unallocated");
  if (!tried.is_known || !room.is_known) return;
  struct wo_interval bytes = wo_interval_minus(tried.number, room.number);
  const char *const t = WO_BYTES_TEXT(tried.number.mid);
  const char *const f = WO_BYTES_TEXT(room.number.mid);
  if (!idle.is_known || wo_diagnosis_fact(diagnosis, "oom.contradiction").is_known) {
    raise_to(shortage, bytes, wo_arena_format(diagnosis->arena, "%s wanted - %s free", t, f));
    return;
  }
  bytes.lo -= idle.number.hi;
  bytes.mid -= idle.number.mid;
  raise_to(shortage, bytes,
           wo_arena_format(diagnosis->arena, "%s wanted - %s free - 0 to %s unallocated", t, f, WO_BYTES_TEXT(idle.number.mid)));
}

/* With a memory limit for the process, free memory of the card does not count. */
static void add_cap(const struct wo_diagnosis *diagnosis, struct wo_shortage *shortage) {
  const struct wo_value tried = wo_diagnosis_fact(diagnosis, "oom.tried");
  const struct wo_value allowed = wo_diagnosis_fact(diagnosis, "oom.allowed");
  const struct wo_value allocated = wo_diagnosis_fact(diagnosis, "oom.allocated");
  if (!tried.is_known || !allowed.is_known || !allocated.is_known) return;
  const struct wo_interval sum = wo_interval_plus(tried.number, allocated.number);
  raise_to(shortage, wo_interval_minus(sum, allowed.number),
           wo_arena_format(diagnosis->arena, "%s allocated and wanted - %s allowed", WO_BYTES_TEXT(sum.mid),
                           WO_BYTES_TEXT(allowed.number.mid)));
}

/* A small request that fails while the states are allocated does not show how much of them is still missing. */
static void add_states(const struct wo_diagnosis *diagnosis, struct wo_shortage *shortage) {
  const struct wo_value states = wo_diagnosis_fact(diagnosis, "model.states");
  const struct wo_value capacity = wo_diagnosis_fact(diagnosis, "gpu.capacity");
  const struct wo_value step = wo_diagnosis_fact(diagnosis, "oom.step");
  if (!states.is_known || !capacity.is_known || states.number.lo <= capacity.number.hi) return;
  if (wo_diagnosis_fact(diagnosis, "model.is_sharded").truth == WO_TRUE ||
      wo_diagnosis_fact(diagnosis, "oom.is_serving").truth == WO_TRUE)
    return;
  if (step.is_known && step.number.mid > STATES_COMPLETE_STEP) return;
  const char *const lo = WO_BYTES_TEXT(states.number.lo);
  const char *const hi = WO_BYTES_TEXT(states.number.hi);
  const bool is_range = states.number.hi - states.number.lo > states.number.hi / 100;
  raise_to(shortage, wo_interval_minus(states.number, capacity.number),
           wo_arena_format(diagnosis->arena, "%s%s%s of model states - %s of the card", is_range ? lo : hi,
                           is_range ? " to " : "", is_range ? hi : "", WO_BYTES_TEXT(capacity.number.mid)));
}

/* In the first step the optimizer makes its states: those that are still to come are not in the request. Where they may be more
 * than the card holds, the shortage may be as much; no saving is enough for certain that does not cover that. */
static void add_unmade_states(const struct wo_diagnosis *diagnosis, struct wo_shortage *shortage) {
  const struct wo_value states = wo_diagnosis_fact(diagnosis, "model.states");
  const struct wo_value capacity = wo_diagnosis_fact(diagnosis, "gpu.capacity");
  const struct wo_value step = wo_diagnosis_fact(diagnosis, "oom.step");
  const bool is_optimizer = wo_view_is(wo_diagnosis_fact(diagnosis, "oom.phase").text, "optimizer");
  const bool is_first = step.is_known ? step.number.mid <= 1 : wo_diagnosis_fact(diagnosis, "oom.first_step").truth == WO_TRUE;
  if (!shortage->is_known || !states.is_known || !capacity.is_known || !is_optimizer || !is_first) return;
  if (wo_diagnosis_fact(diagnosis, "model.is_sharded").truth == WO_TRUE) return;
  const double most = states.number.hi - capacity.number.lo;
  if (most <= shortage->bytes.hi) return;
  shortage->bytes.hi = most;
  shortage->bytes.mid = (shortage->bytes.lo + most) / 2;
  shortage->formula =
      wo_arena_format(diagnosis->arena, "%.*s, or up to %s of model states - %s of the card", WO_SHOWN(shortage->formula),
                      WO_BYTES_TEXT(states.number.hi), WO_BYTES_TEXT(capacity.number.mid));
}

/* Engines print how much they need. */
static void add_engine(const struct wo_diagnosis *diagnosis, struct wo_shortage *shortage) {
  const struct wo_value needed = wo_diagnosis_fact(diagnosis, "oom.needed");
  const bool is_start = wo_view_is(wo_diagnosis_fact(diagnosis, "oom.kind").text, "vllm_startup");
  const struct wo_value available = wo_diagnosis_fact(diagnosis, is_start ? "oom.free" : "oom.available");
  if (!needed.is_known || !available.is_known) return;
  raise_to(shortage, wo_interval_minus(needed.number, available.number),
           wo_arena_format(diagnosis->arena, "%s needed - %s available", WO_BYTES_TEXT(needed.number.mid),
                           WO_BYTES_TEXT(available.number.mid)));
}

struct wo_shortage wo_shortage_find(const struct wo_diagnosis *diagnosis) {
  struct wo_shortage shortage = {.is_known = false};
  add_request(diagnosis, &shortage);
  add_cap(diagnosis, &shortage);
  add_states(diagnosis, &shortage);
  add_unmade_states(diagnosis, &shortage);
  add_engine(diagnosis, &shortage);
  return shortage;
}

/* ---- Unknown facts ---- */

struct needs {
  const struct wo_diagnosis *diagnosis;
  struct wo_view names[NEEDS_MAX];
  size_t count;
  size_t withheld; /* index of the fact that stays unknown in a trial; `count`: none */
};

static void add_unknown(void *context, struct wo_view name) {
  struct needs *needs = context;
  const struct wo_value value = wo_facts_get(needs->diagnosis->facts, name);
  if (value.is_known || value.unit == WO_UNIT_NONE || needs->count == NEEDS_MAX) return;
  for (size_t i = 0; i < needs->count; i++) {
    if (wo_view_equal(needs->names[i], name)) return;
  }
  needs->names[needs->count++] = name;
}

/* The facts, with arbitrary values for the unknown ones. */
static struct wo_value trial_value(void *context, struct wo_view name) {
  const struct needs *needs = context;
  const struct wo_value value = wo_facts_get(needs->diagnosis->facts, name);
  for (size_t i = 0; i < needs->count; i++) {
    if (i == needs->withheld || !wo_view_equal(needs->names[i], name)) continue;
    if (value.unit == WO_UNIT_BOOL) return wo_value_bool(WO_TRUE);
    if (value.unit == WO_UNIT_TEXT) return wo_value_text(WO_VIEW("x"));
    return wo_value_exact(value.unit, 1);
  }
  return value;
}

static bool is_known_in_trial(const struct needs *needs, const struct wo_fix *fix) {
  struct needs trial = *needs;
  const struct wo_facts_source source = {.get = trial_value, .context = &trial};
  return wo_expr_eval(fix->saves_lo, &source).is_known && wo_expr_eval(fix->saves_hi, &source).is_known;
}

/* Lists the facts without which the saving stays unknown even if all others are known. A formula with an alternative for a fact
 * (`otherwise`) does not need it; a formula that stays unknown with all facts is withheld on purpose, and needs nothing. */
static void name_needs(const struct wo_diagnosis *diagnosis, const struct wo_fix *fix, struct wo_finding_fix *out) {
  struct needs needs = {.diagnosis = diagnosis};
  wo_expr_each_fact(fix->saves_lo, add_unknown, &needs);
  wo_expr_each_fact(fix->saves_hi, add_unknown, &needs);
  needs.withheld = needs.count;
  struct wo_view *names = wo_arena_array(diagnosis->arena, needs.count + 1, sizeof *names);
  if (!names || !is_known_in_trial(&needs, fix)) return;
  for (size_t i = 0; i < needs.count; i++) {
    needs.withheld = i;
    if (!is_known_in_trial(&needs, fix)) names[out->need_count++] = needs.names[i];
  }
  out->needs = names;
}

/* ---- The verdict ---- */

/* A fix frees at most what the card holds, and the bytes by which the refused request shrinks. States that were never on the card
 * are in the formula, but do not count as freed bytes. */
static struct wo_interval cap_saving(const struct wo_diagnosis *diagnosis, const struct wo_fix *fix, struct wo_interval bytes) {
  const struct wo_value allocated = wo_diagnosis_fact(diagnosis, "oom.allocated");
  const struct wo_value capacity = wo_diagnosis_fact(diagnosis, "gpu.capacity");
  const struct wo_value tried = wo_diagnosis_fact(diagnosis, "oom.tried");
  const bool is_trusted =
      !fix->saves_of_others && allocated.is_known && !wo_diagnosis_fact(diagnosis, "oom.contradiction").is_known;
  if (!is_trusted && !capacity.is_known) return bytes;
  double most = is_trusted ? allocated.number.hi + (tried.is_known ? tried.number.hi : 0) : capacity.number.mid;
  if (capacity.is_known && most > capacity.number.mid) most = capacity.number.mid;
  if (bytes.hi > most) bytes.hi = most;
  if (bytes.lo > most) bytes.lo = most;
  bytes.mid = (bytes.lo + bytes.hi) / 2;
  return bytes;
}

static enum wo_suffices compare(struct wo_interval saved, const struct wo_shortage *shortage) {
  if (!shortage->is_known) return WO_SUFFICES_UNKNOWN;
  if (saved.lo >= shortage->bytes.hi) return WO_SUFFICES_YES;
  return saved.hi < shortage->bytes.lo ? WO_SUFFICES_NO : WO_SUFFICES_MAYBE;
}

static void support(const struct wo_diagnosis *diagnosis, const char *verdict, struct wo_view why, struct wo_finding_fix *out) {
  if (why.len > 0) out->support = wo_arena_format(diagnosis->arena, "%s: %.*s", verdict, WO_SHOWN(why));
}

/* A rule may know better than two independent intervals: states and their saving depend on the same unknown number format. */
static void overrule(const struct wo_diagnosis *diagnosis, const struct wo_fix *fix, struct wo_finding_fix *out) {
  const struct wo_template *say = NULL;
  if (fix->saves_enough && wo_expr_truth(fix->saves_enough, &diagnosis->source) == WO_TRUE) {
    out->suffices = WO_SUFFICES_YES;
    say = fix->enough_say;
  } else if (fix->saves_too_little && wo_expr_truth(fix->saves_too_little, &diagnosis->source) == WO_TRUE) {
    out->suffices = WO_SUFFICES_NO;
    say = fix->too_little_say;
  }
  const struct wo_view why = say ? wo_template_render(say, &diagnosis->source, diagnosis->arena, NULL) : (struct wo_view){0};
  support(diagnosis, out->suffices == WO_SUFFICES_YES ? "enough" : "not enough", why, out);
}

/* What a fix frees is bounded by what is there. Where only more than that is enough, because the job would have needed more than
 * the card, the verdict rests on what it would need less. */
static void support_beyond_cap(const struct wo_diagnosis *diagnosis, struct wo_interval saved, struct wo_finding_fix *out) {
  if (out->suffices != WO_SUFFICES_YES || out->saves_bytes.lo >= out->shortage_bytes.hi) return;
  const struct wo_view why =
      wo_arena_format(diagnosis->arena, "it would need %.1f GiB less at least, and at most %.1f GiB is missing",
                      saved.lo / WO_GIB, out->shortage_bytes.hi / WO_GIB);
  support(diagnosis, "enough", why, out);
}

bool wo_suffice_judge(const struct wo_diagnosis *diagnosis, const struct wo_fix *fix, const struct wo_shortage *shortage,
                      struct wo_finding_fix *out) {
  assert(fix && shortage && out);
  out->cost_rank = fix->cost_rank;
  if (shortage->is_known) out->shortage_bytes = shortage->bytes;
  if (fix->saves_lo && fix->saves_hi) {
    const struct wo_value lo = wo_expr_eval(fix->saves_lo, &diagnosis->source);
    const struct wo_value hi = wo_expr_eval(fix->saves_hi, &diagnosis->source);
    if (!lo.is_known || !hi.is_known) {
      name_needs(diagnosis, fix, out);
    } else {
      if (hi.number.hi <= 0) return false;
      const double low = lo.number.lo > 0 ? lo.number.lo : 0;
      const double high = hi.number.hi > low ? hi.number.hi : low;
      const struct wo_interval saved = {low, (low + high) / 2, high};
      out->has_saves = true;
      out->saves_bytes = cap_saving(diagnosis, fix, saved);
      out->saves_formula = wo_template_render(fix->saves_formula, &diagnosis->source, diagnosis->arena, NULL);
      out->suffices = compare(saved, shortage);
      support_beyond_cap(diagnosis, saved, out);
    }
  }
  overrule(diagnosis, fix, out);
  return true;
}

bool wo_suffice_headroom(const struct wo_finding_fix *fix, struct wo_interval *room) {
  assert(fix && room);
  const bool is_compared = fix->suffices == WO_SUFFICES_YES || fix->suffices == WO_SUFFICES_MAYBE;
  if (!fix->has_saves || !is_compared || fix->shortage_bytes.hi <= 0) return false;
  *room = wo_interval_minus(fix->saves_bytes, fix->shortage_bytes);
  if (room->hi <= 0 || (fix->suffices == WO_SUFFICES_YES && room->lo < 0)) return false;
  if (room->lo < 0) room->lo = 0;
  if (room->mid < room->lo) room->mid = room->lo;
  return true;
}

/* ---- The order ---- */

/* Whether it frees at most a tenth of what may be missing: it is enough only if hardly anything is. */
static bool is_trifle(const struct wo_finding_fix *fix) {
  return fix->suffices == WO_SUFFICES_MAYBE && fix->has_saves && fix->saves_bytes.hi * 10 < fix->shortage_bytes.hi;
}

/* If the saving is unknown, cost does not count: else a guess that costs nothing would come before the first choice of the
 * rule. A trifle comes behind all that may be enough, however little it costs. */
static unsigned place_of(const struct wo_finding_fix *fix) {
  static const unsigned places[] = {
      [WO_SUFFICES_YES] = 0, [WO_SUFFICES_MAYBE] = 1, [WO_SUFFICES_UNKNOWN] = 2, [WO_SUFFICES_NO] = 3};
  const unsigned cost = fix->cost_rank > 0 ? fix->cost_rank : (WO_COST_RANK_MAX + 1) / 2;
  const unsigned rank = is_trifle(fix) ? WO_COST_RANK_MAX : cost;
  const unsigned first = cost == WO_COST_RANK_MAX ? sizeof places / sizeof places[0] : places[fix->suffices];
  return first * (WO_COST_RANK_MAX + 1) + (fix->suffices == WO_SUFFICES_UNKNOWN ? 0 : rank);
}

/* Insertion sort, because equal fixes must keep the order of the rule. */
void wo_suffice_order(struct wo_finding_fix *fixes, size_t count) {
  for (size_t i = 1; i < count; i++) {
    const struct wo_finding_fix fix = fixes[i];
    size_t at = i;
    for (; at > 0 && place_of(&fixes[at - 1]) > place_of(&fix); at--) fixes[at] = fixes[at - 1];
    fixes[at] = fix;
  }
}

const char *wo_suffices_name(enum wo_suffices suffices) {
  static const char *const names[] = {
      [WO_SUFFICES_UNKNOWN] = "unknown", [WO_SUFFICES_YES] = "yes", [WO_SUFFICES_MAYBE] = "maybe", [WO_SUFFICES_NO] = "no"};
  return names[suffices];
}
