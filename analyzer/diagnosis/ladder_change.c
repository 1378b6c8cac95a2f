/* SPDX-License-Identifier: Apache-2.0 */
/* The step up from a run that fits, as a change of the job that failed. See ladder.h. */
#include "analyzer/diagnosis/ladder.h"
#include "parsers/base/units.h"

enum { KNOBS = 3, COST_RANK = 2 };

const struct wo_ladder_rung *wo_ladder_choice(const struct wo_ladder *ladder) {
  const struct wo_ladder_rung *safe = NULL, *tight = NULL;
  for (size_t i = 0; i < ladder->rung_count; i++) {
    const struct wo_ladder_rung *const rung = &ladder->rungs[i];
    if (rung->verdict == WO_LADDER_SAFE && (!safe || rung->micro_batch > safe->micro_batch)) safe = rung;
    if (rung->verdict == WO_LADDER_TIGHT && (!tight || rung->peak_bytes.hi < tight->peak_bytes.hi)) tight = rung;
  }
  return safe ? safe : tight;
}

/* A setting that is not known, or has the value already, needs no change. */
static void add_change(const struct wo_diagnosis *diagnosis, const char *name, double number, struct wo_finding_change *changes,
                       size_t *count) {
  const struct wo_knob *const knob = wo_pack_knob(diagnosis->pack, wo_view_of(name));
  const struct wo_setting *const setting = knob ? wo_facts_setting(diagnosis->facts, knob->id) : NULL;
  if (!setting || !setting->value.is_known || number < 1 || setting->value.number.mid == number) return;
  struct wo_value to = setting->value;
  to.number = (struct wo_interval){number, number, number};
  changes[(*count)++] = (struct wo_finding_change){.knob = knob->id,
                                                   .from = setting->value,
                                                   .to = to,
                                                   .spelling = wo_spell_change(diagnosis, knob, to),
                                                   .where = setting->event->id};
}

/* "micro-batch 8 -> 2, length 2048 -> 1024: one step up from the run that fits". */
static struct wo_view make_title(const struct wo_diagnosis *diagnosis, const struct wo_ladder *ladder,
                                 const struct wo_ladder_rung *rung) {
  const struct wo_ladder_base *const base = &ladder->base;
  const bool has_batch = base->failed_micro_batch > 0 && base->failed_micro_batch != rung->micro_batch;
  const bool has_length = base->failed_seq_len > 0 && rung->seq_len > 0 && base->failed_seq_len != rung->seq_len;
  const struct wo_view batch =
      has_batch ? wo_arena_format(diagnosis->arena, "micro-batch %.0f -> %.0f", base->failed_micro_batch, rung->micro_batch)
                : (struct wo_view){0};
  const struct wo_view length = has_length ? wo_arena_format(diagnosis->arena, "%slength %.0f -> %.0f", has_batch ? ", " : "",
                                                             base->failed_seq_len, rung->seq_len)
                                           : (struct wo_view){0};
  return wo_arena_format(diagnosis->arena, "%.*s%.*s: one step up from a run that fits", WO_SHOWN(batch), WO_SHOWN(length));
}

bool wo_ladder_change(const struct wo_diagnosis *diagnosis, const struct wo_ladder *ladder, struct wo_finding_fix *ret_fix) {
  const struct wo_ladder_rung *const rung = wo_ladder_choice(ladder);
  if (rung == NULL || ladder->base.failed_micro_batch <= 0) return false;
  struct wo_finding_change *const changes = wo_arena_array(diagnosis->arena, KNOBS, sizeof *changes);
  size_t count = 0;
  if (changes == NULL) return false;
  add_change(diagnosis, "micro_batch", rung->micro_batch, changes, &count);
  add_change(diagnosis, "grad_accum", rung->grad_accum, changes, &count);
  add_change(diagnosis, "seq_len", rung->seq_len, changes, &count);
  const bool is_safe = rung->verdict == WO_LADDER_SAFE;
  const struct wo_view support =
      wo_arena_format(diagnosis->arena, "%s: it peaks at %.1f to %.1f GiB of %s; the run that fits at %s",
                      is_safe ? "enough" : "may be enough", rung->peak_bytes.lo / WO_GIB, rung->peak_bytes.hi / WO_GIB,
                      WO_BYTES_TEXT(ladder->base.capacity_bytes), WO_BYTES_TEXT(ladder->base.run.peak_bytes));
  *ret_fix = (struct wo_finding_fix){.id = WO_VIEW("step-up"),
                                     .title = make_title(diagnosis, ladder, rung),
                                     .cost_rank = COST_RANK,
                                     .suffices = is_safe ? WO_SUFFICES_YES : WO_SUFFICES_MAYBE,
                                     .changes = changes,
                                     .change_count = count,
                                     .support = support};
  return count > 0;
}
