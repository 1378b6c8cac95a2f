/* SPDX-License-Identifier: Apache-2.0 */
/* The card of the failure as the rules see it: its parts, and for each of them whether the request would have been served, and
 * the job would have fitted, without it. */
#include "analyzer/diagnosis/why.h"

/* The facts of one part; those without a question have no more than their bytes. */
static const struct {
  const char *name;
  const char *bytes;
  const char *would_serve;
  const char *would_fit;
} rows[] = {
    {"total", "part.total", NULL, NULL},
    {"tensors", "part.tensors", "part.tensors.would_serve", NULL},
    {"idle", "part.idle", "part.idle.would_serve", "part.idle.would_fit"},
    {"non-PyTorch", "part.non_pytorch", "part.non_pytorch.would_serve", "part.non_pytorch.would_fit"},
    {"other processes", "part.other_processes", "part.other_processes.would_serve", "part.other_processes.would_fit"},
    {"free", "part.free", NULL, NULL},
    {"unknown", "part.unknown", NULL, NULL},
    {"wanted", "oom.tried", NULL, NULL},
};

_Static_assert(sizeof rows / sizeof rows[0] <= WO_WHY_PARTS, "a row for each part");

static enum wo_truth truth_of(const struct wo_diagnosis *diagnosis, const char *fact) {
  return fact ? wo_diagnosis_fact(diagnosis, fact).truth : WO_UNDECIDED;
}

void wo__why_divide(const struct wo_diagnosis *diagnosis, struct wo_why_division *ret_division) {
  const struct wo_value allowance = wo_diagnosis_fact(diagnosis, "part.allowance");
  *ret_division = (struct wo_why_division){.need = wo_diagnosis_fact(diagnosis, "part.need"),
                                           .allowance = allowance.is_known ? allowance.number.mid : 0,
                                           .dominant = wo_diagnosis_fact(diagnosis, "part.dominant").text};
  if (!wo_diagnosis_fact(diagnosis, "part.total").is_known) return;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct wo_value bytes = wo_diagnosis_fact(diagnosis, rows[i].bytes);
    if (!bytes.is_known) continue;
    ret_division->parts[ret_division->part_count++] =
        (struct wo_why_part){.name = rows[i].name,
                             .bytes = bytes,
                             .is_asked = rows[i].would_serve != NULL,
                             .would_serve = truth_of(diagnosis, rows[i].would_serve),
                             .is_whole = rows[i].would_fit != NULL,
                             .would_fit = truth_of(diagnosis, rows[i].would_fit)};
  }
}

static const char *answer(enum wo_truth truth) {
  if (truth == WO_UNDECIDED) return "open";
  return truth == WO_TRUE ? "yes" : "no";
}

void wo__why_division_text(const struct wo_why_division *division, struct wo_text *out) {
  if (division->part_count == 0) return;
  wo_text_add(out, "\nthe card, divided; without a part, would the request be served, and the job fit?\n");
  for (size_t i = 0; i < division->part_count; i++) {
    const struct wo_why_part *const part = &division->parts[i];
    struct wo_arena arena;
    wo_arena_init(&arena, (size_t)4 * 1024);
    const struct wo_view bytes = wo_value_show(&arena, part->bytes);
    wo_text_add(out, part->is_asked ? "  %-16s %-24.*s" : "  %-16s %.*s", part->name, WO_SHOWN(bytes));
    if (part->is_asked) wo_text_add(out, "  served: %s", answer(part->would_serve));
    if (part->is_whole) wo_text_add(out, "%*sfits: %s", part->would_serve == WO_FALSE ? 4 : 3, "", answer(part->would_fit));
    wo_text_add(out, "\n");
    wo_arena_done(&arena);
  }
  if (division->need.is_known)
    wo_text_add(out, "  the job needed tensors and request at the least; it fits if %.0f %% of that are left\n",
                100 * division->allowance);
  if (division->dominant.len > 0) wo_text_add(out, "  it decides: %.*s\n", WO_SHOWN(division->dominant));
}
