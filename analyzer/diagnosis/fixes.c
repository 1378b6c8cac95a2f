/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the fixes of a finding: formulas over the job's facts, written in the user's own keys. A fix that is in force already,
 * conflicts or cannot help is not proposed; the report says why. */
#include <assert.h>

#include "analyzer/diagnosis/diagnose.h"
#include "analyzer/diagnosis/localize.h"

static struct wo_view render(const struct wo_diagnosis *diagnosis, const struct wo_template *text) {
  return wo_template_render(text, &diagnosis->source, diagnosis->arena, NULL);
}

/* The clauses that hold, as texts; returns their number. */
static size_t make_texts(const struct wo_diagnosis *diagnosis, const struct wo_clause *clauses, size_t count,
                         const struct wo_view **ret_texts) {
  struct wo_view *texts = wo_arena_array(diagnosis->arena, count + 1, sizeof *texts);
  size_t kept = 0;
  for (size_t i = 0; texts && i < count; i++) {
    if (!wo_diagnosis_holds(diagnosis, clauses[i].when)) continue;
    texts[kept++] = wo_localize_text(diagnosis, render(diagnosis, clauses[i].say));
  }
  *ret_texts = texts;
  return kept;
}

/* The lines to paste that hold. One that cannot be made without harm is left out. */
static size_t make_commands(const struct wo_diagnosis *diagnosis, const struct wo_fix *fix, const struct wo_view **ret_commands) {
  struct wo_view *const commands = wo_arena_array(diagnosis->arena, fix->command_count + 1, sizeof *commands);
  size_t kept = 0;
  for (size_t i = 0; commands && i < fix->command_count; i++) {
    if (!wo_diagnosis_holds(diagnosis, fix->commands[i].when)) continue;
    const struct wo_view command = wo_template_render_command(fix->commands[i].say, &diagnosis->source, diagnosis->arena);
    commands[kept] = wo_localize_command(diagnosis, command);
    if (commands[kept].len > 0) kept++;
  }
  *ret_commands = commands;
  return kept;
}

/* Two unknown values are not the same: the change is proposed if the present value is unknown. */
static bool is_same_value(struct wo_value a, struct wo_value b) {
  if (a.unit != b.unit) return false;
  if (a.unit == WO_UNIT_BOOL) return a.truth == b.truth;
  if (!a.is_known || !b.is_known) return false;
  return a.unit == WO_UNIT_TEXT ? wo_view_equal(a.text, b.text) : a.number.mid == b.number.mid;
}

/* Changes whose new value is known and differs from the present one. */
static void make_changes(const struct wo_diagnosis *diagnosis, const struct wo_fix *fix, struct wo_finding_fix *out) {
  struct wo_finding_change *changes = wo_arena_array(diagnosis->arena, fix->change_count + 1, sizeof *changes);
  for (size_t i = 0; changes && i < fix->change_count; i++) {
    const struct wo_knob *knob = wo_pack_knob(diagnosis->pack, fix->changes[i].knob);
    if (!knob || !wo_diagnosis_holds(diagnosis, fix->changes[i].when)) continue;
    const struct wo_setting *setting = wo_facts_setting(diagnosis->facts, knob->id);
    const struct wo_value to = wo_expr_eval(fix->changes[i].to, &diagnosis->source);
    const struct wo_value from = setting ? setting->value : wo_value_unknown(knob->unit);
    if (!to.is_known || is_same_value(from, to)) continue;
    changes[out->change_count++] = (struct wo_finding_change){
        .knob = knob->id,
        .from = from,
        .to = to,
        .spelling = wo_spell_change(diagnosis, knob, to),
        .where = setting ? setting->event->id : WO_EVENT_NONE,
    };
  }
  out->changes = changes;
}

/* Why the fix is not proposed, or an empty view when it is. *is_silent: it does not apply, and no reason is shown. */
static struct wo_view why_not(const struct wo_diagnosis *diagnosis, const struct wo_fix *fix, bool *is_silent) {
  *is_silent = false;
  if (fix->already && wo_expr_truth(fix->already, &diagnosis->source) == WO_TRUE) {
    const wo_event_id *ids = NULL;
    struct wo_view say = render(diagnosis, fix->already_say);
    if (say.len == 0) say = render(diagnosis, fix->title);
    if (wo_diagnose_evidence(diagnosis, fix->already, &ids) == 0) return say;
    const struct wo_view place = wo_diagnose_place(diagnosis, wo_event_get(&diagnosis->facts->job->events, ids[0]));
    return wo_arena_format(diagnosis->arena, "%.*s [%.*s]", WO_SHOWN(say), WO_SHOWN(place));
  }
  for (size_t i = 0; i < fix->conflict_count; i++) {
    if (fix->conflicts[i].when && wo_diagnosis_holds(diagnosis, fix->conflicts[i].when))
      return render(diagnosis, fix->conflicts[i].say);
  }
  *is_silent = !wo_diagnosis_holds(diagnosis, fix->when);
  return (struct wo_view){0};
}

/* What the patch changes and the replay does not is said in the replay itself, which then proves nothing. */
static void heed_left_out(struct wo_finding_fix *fix) {
  for (size_t i = 0; i < fix->change_count && fix->replay.count > 0; i++) {
    const struct wo_finding_change *const change = &fix->changes[i];
    const struct wo_changed_setting setting = {.knob = change->knob,
                                               .from = change->from.is_known ? change->from.number.mid : 0,
                                               .to = change->to.number.mid,
                                               .text = change->to.text};
    if (!wo_proposed_change_covers(&fix->replay, &setting)) wo_proposed_change_leave_out(&fix->replay, change->knob);
  }
}

/* Texts and costs come from the rule; changes and savings from the job's own figures. */
static void make_fix(const struct wo_diagnosis *diagnosis, const struct wo_fix *fix, struct wo_finding_fix *out) {
  out->id = fix->id;
  out->title = render(diagnosis, fix->title);
  out->cost_speed = render(diagnosis, fix->cost_speed);
  out->cost_accuracy = render(diagnosis, fix->cost_accuracy);
  out->cost_effort = render(diagnosis, fix->cost_effort);
  bool has_unknown = false;
  const struct wo_view replay = wo_template_render(fix->replays_as, &diagnosis->source, diagnosis->arena, &has_unknown);
  if (!has_unknown) out->replay = wo_proposed_change_read(replay);
  make_changes(diagnosis, fix, out);
  heed_left_out(out);
  out->command_count = make_commands(diagnosis, fix, &out->commands);
  out->note_count = make_texts(diagnosis, fix->notes, fix->note_count, &out->notes);
}

/* Whether two fixes set one knob to different values: if a user pastes both, the later wins unnoticed. */
static bool are_rivals(const struct wo_finding_fix *a, const struct wo_finding_fix *b) {
  for (size_t i = 0; i < a->change_count; i++) {
    for (size_t k = 0; k < b->change_count; k++) {
      const bool is_one_knob = wo_view_equal(a->changes[i].knob, b->changes[k].knob);
      if (is_one_knob && !is_same_value(a->changes[i].to, b->changes[k].to)) return true;
    }
  }
  return false;
}

/* If two fixes set one knob differently, keeps the better and lists the other with the reason. Returns how many are left. */
static size_t drop_rivals(const struct wo_diagnosis *diagnosis, struct wo_finding_fix *fixes, size_t count,
                          struct wo_view *others, size_t *other_count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    size_t rival = 0;
    while (rival < kept && !are_rivals(&fixes[rival], &fixes[i])) rival++;
    if (rival == kept) {
      fixes[kept++] = fixes[i];
      continue;
    }
    const struct wo_view title = fixes[i].title;
    others[(*other_count)++] =
        wo_arena_format(diagnosis->arena, "%.*s (fix %zu sets the same key to another value)", WO_SHOWN(title), rival + 1);
  }
  return kept;
}

/* Whether a fix is meant for what the program does. */
static bool is_meant(const struct wo_diagnosis *diagnosis, const struct wo_fix *fix) {
  return fix->for_programs == 0 || wo_program_suits(&diagnosis->facts->program, fix->for_programs);
}

/* Fixes, each once. */
struct candidates {
  const struct wo_fix **items;
  size_t count;
};

static void add_candidate(const struct wo_diagnosis *diagnosis, struct candidates *all, const struct wo_fix *fix) {
  if (!fix || fix->off || !is_meant(diagnosis, fix)) return;
  for (size_t i = 0; i < all->count; i++) {
    if (all->items[i] == fix) return;
  }
  all->items[all->count++] = fix;
}

/* The fixes that the cause proposes, best first. Where one is not meant for the program, such as gradient accumulation for a
 * server, those that stand in for it are tried instead. This is the one place where the kind of program decides. */
static struct candidates collect_candidates(const struct wo_diagnosis *diagnosis, const struct wo_cause *cause) {
  struct candidates all = {0};
  size_t most = cause->fix_count;
  for (size_t i = 0; i < cause->fix_count; i++) {
    const struct wo_fix *const fix = wo_pack_fix(diagnosis->pack, cause->fixes[i]);
    most += fix ? fix->stand_in_count : 0;
  }
  all.items = wo_arena_array(diagnosis->arena, most + 1, sizeof *all.items);
  for (size_t i = 0; all.items && i < cause->fix_count; i++) {
    const struct wo_fix *const fix = wo_pack_fix(diagnosis->pack, cause->fixes[i]);
    add_candidate(diagnosis, &all, fix);
    if (!fix || is_meant(diagnosis, fix)) continue;
    for (size_t k = 0; k < fix->stand_in_count; k++) {
      add_candidate(diagnosis, &all, wo_pack_fix(diagnosis->pack, fix->stand_ins[k]));
    }
  }
  return all;
}

void wo_diagnose_fixes(const struct wo_diagnosis *diagnosis, struct wo_finding *finding) {
  const struct candidates all = collect_candidates(diagnosis, finding->cause);
  struct wo_finding_fix *fixes = wo_arena_array(diagnosis->arena, all.count + 1, sizeof *fixes);
  struct wo_view *others = wo_arena_array(diagnosis->arena, all.count + 1, sizeof *others);
  const struct wo_shortage shortage = wo_shortage_find(diagnosis);
  if (!all.items || !fixes || !others) return;
  for (size_t i = 0; i < all.count; i++) {
    const struct wo_fix *const fix = all.items[i];
    bool is_silent = false;
    const struct wo_view reason = why_not(diagnosis, fix, &is_silent);
    if (reason.len > 0) {
      others[finding->not_proposed_count++] = reason;
    } else if (!is_silent) {
      struct wo_finding_fix made = {0};
      if (!wo_suffice_judge(diagnosis, fix, &shortage, &made)) continue;
      make_fix(diagnosis, fix, &made);
      /* A fix with changes of which none applies is no fix. */
      if (fix->change_count > 0 && made.change_count == 0 && made.command_count == 0) continue;
      fixes[finding->fix_count++] = made;
    }
  }
  wo_suffice_order(fixes, finding->fix_count);
  finding->fix_count = drop_rivals(diagnosis, fixes, finding->fix_count, others, &finding->not_proposed_count);
  finding->fixes = fixes;
  finding->not_proposed = others;
}
