/* SPDX-License-Identifier: Apache-2.0 */
/* From a report to proposals and sizes. See verify_plan.h. Facts are taken unchanged; verify_states.c computes the model's
 * states. */
#include "analyzer/verify/verify_plan.h"

#include <assert.h>

#include "analyzer/diagnosis/ladder.h"
#include "analyzer/files/names.h"
#include "analyzer/report/report_words.h"
#include "analyzer/verify/verify_states.h"
#include "parsers/base/units.h"

/* Findings whose fixes are tried, and the most fixes of all of them. */
enum { FINDINGS_MAX = 2 };

/* ---- Sizes ---- */

/* The text of a fact; empty when it is unknown. */
static struct wo_view words(const struct wo_report *report, const char *fact) {
  return wo_facts_get(&report->facts, wo_view_of(fact)).text;
}

/* The printed release; else the only one that can have worded the failure's message so. */
static struct wo_view read_torch(const struct wo_report *report, struct wo_arena *arena) {
  const struct wo_value release = wo_facts_get(&report->facts, WO_VIEW("job.torch_release"));
  const struct wo_view printed = words(report, "job.torch");
  if (printed.len > 0 || !release.is_known || release.number.lo != release.number.hi) return printed;
  const unsigned number = (unsigned)release.number.lo;
  return wo_arena_format(arena, "%u.%u", number / 100, number % 100);
}

/* Libraries that ask the driver directly fail because of the memory that PyTorch's allocator holds: they do not count. */
static bool is_other_allocator(struct wo_view kind) {
  static const char *const torch[] = {"cuda_oom", "hip_oom", "cublas_oom", "cudnn_oom", "nccl_oom"};
  if (WO_VIEW_ANY(kind, wo_view_is, torch)) return false;
  return kind.len > 0;
}

/* The configured length is the limit that batches are cut to, so a tensor of that length belongs to a step as long as any. */
static bool is_of_full_length(const struct wo_report *report) {
  static const char *const readings[] = {"size.is_logits", "size.is_attention_scores"};
  if (wo_verify_number(report, "config.seq_len") < 0) return false;
  for (size_t i = 0; i < sizeof readings / sizeof readings[0]; i++) {
    if (wo_facts_get(&report->facts, wo_view_of(readings[i])).truth == WO_TRUE) return true;
  }
  return false;
}

/* The count of steps, and how many there are; -1 where epochs or episodes are counted. */
static double steps(const struct wo_report *report, const char *fact) {
  const struct wo_view unit = words(report, "job.step_unit");
  return wo_view_is(unit, "epoch") || wo_view_is(unit, "episode") ? -1 : wo_verify_number(report, fact);
}

static struct wo_job_sizes read_sizes(const struct wo_report *report, struct wo_arena *arena) {
  struct wo_job_sizes sizes = {
      .capacity_bytes = wo_verify_number(report, "gpu.capacity"),
      .tried_bytes = wo_verify_number(report, "oom.tried"),
      .free_bytes = wo_verify_number(report, "oom.free"),
      .allowed_bytes = wo_verify_number(report, "oom.allowed"),
      .allocated_bytes = wo_verify_number(report, "oom.allocated"),
      .unallocated_bytes = wo_verify_number(report, "oom.reserved_unallocated"),
      .non_pytorch_bytes = wo_verify_number(report, "oom.non_pytorch"),
      .other_bytes = wo_verify_number(report, "oom.other_processes"),
      .is_other_allocator = is_other_allocator(words(report, "oom.kind")),
      .are_contradicting = wo_facts_get(&report->facts, WO_VIEW("oom.contradiction")).is_known,
      .micro_batch = wo_verify_number(report, "config.micro_batch"),
      .seq_len = wo_verify_number(report, "config.seq_len"),
      .layers = wo_verify_number(report, "model.layers"),
      .hidden = wo_verify_number(report, "model.hidden_size"),
      .vocabulary = wo_verify_number(report, "model.vocab_size"),
      .step = steps(report, "job.step"),
      .step_total = steps(report, "job.step_total"),
      .alloc_conf = words(report, "config.alloc_conf"),
      .torch = read_torch(report, arena),
      .phase = words(report, "oom.phase"),
  };
  const struct wo_view checkpointing = words(report, "config.checkpointing");
  sizes.is_full_length = is_of_full_length(report);
  sizes.has_checkpointing = checkpointing.len > 0 && !wo_view_is(checkpointing, "none");
  if (report->ladder) {
    sizes.measured = report->ladder->base.run;
    sizes.measured_path = report->ladder->path;
  }
  return sizes;
}

/* ---- Proposals ---- */

/* Fixes that cure nothing only find out more, which a proof does itself. */
static bool is_wanted(const struct wo_verify_plan *plan, const struct wo_finding_fix *fix) {
  if (fix->cost_rank == WO_COST_RANK_MAX) return false;
  for (size_t i = 0; i < plan->diagnosed.proposal_count; i++) {
    if (wo_view_equal(plan->fixes[i].id, fix->id)) return false;
  }
  return true;
}

/* The changed settings on one line. */
static struct wo_view make_paste(struct wo_verify_plan *plan, const struct wo_finding_fix *fix) {
  struct wo_text text = {0};
  for (size_t i = 0; i < fix->change_count; i++) {
    wo_text_add(&text, "%s", i > 0 ? "  " : "");
    wo_spelling_add(&text, &fix->changes[i].spelling);
  }
  for (size_t i = 0; i < fix->command_count && fix->change_count == 0; i++) {
    wo_text_add(&text, "%s%.*s", i > 0 ? "  " : "", WO_SHOWN(fix->commands[i]));
  }
  const struct wo_view kept = wo_arena_copy(&plan->arena, (struct wo_view){text.ptr, text.len});
  if (text.is_failed) plan->arena.is_exhausted = true;
  wo_text_done(&text);
  return kept;
}

static void add_fix(struct wo_verify_plan *plan, struct wo_proposal *proposals, const struct wo_finding_fix *fix) {
  const size_t at = plan->diagnosed.proposal_count++;
  plan->fixes[at] = *fix;
  proposals[at] = (struct wo_proposal){.id = fix->id,
                                       .title = fix->title,
                                       .change = fix->replay,
                                       .cost_rank = fix->cost_rank > 0 ? fix->cost_rank : (WO_COST_RANK_MAX + 1) / 2,
                                       .speed = fix->cost_speed,
                                       .accuracy = fix->cost_accuracy,
                                       .paste = make_paste(plan, fix),
                                       .is_by_hand = fix->change_count == 0};
}

enum wo_status wo_verify_plan_fill(const struct wo_report *report, struct wo_verify_plan *plan) {
  size_t most = 1;
  for (size_t i = 0; i < report->finding_count; i++) most += report->findings[i].fix_count;
  struct wo_proposal *const proposals = wo_arena_array(&plan->arena, most, sizeof *proposals);
  plan->fixes = wo_arena_array(&plan->arena, most, sizeof *plan->fixes);
  plan->proofs = wo_arena_array(&plan->arena, most, sizeof *plan->proofs);
  if (!proposals || !plan->fixes || !plan->proofs) return WO_E_NOMEM;
  plan->diagnosed = (struct wo_diagnosed){.has_gpu_oom = report->job->story.outcome == WO_OUTCOME_GPU_OOM,
                                          .resubmit = report->resubmit,
                                          .sizes = read_sizes(report, &plan->arena),
                                          .proposals = proposals};
  if (wo_verify_states_read(report, &plan->arena, &plan->diagnosed.sizes) != WO_OK) return WO_E_NOMEM;
  size_t used = 0;
  for (size_t i = 0; i < report->finding_count && used < FINDINGS_MAX; i++) {
    const struct wo_finding *const finding = &report->findings[i];
    if (!finding->cause->is_failure) continue;
    if (used++ == 0) {
      plan->diagnosed.cause = finding->cause->id;
      plan->diagnosed.sizes.grows = wo_view_is(finding->cause->family, "leak_growth");
    }
    for (size_t k = 0; k < finding->fix_count; k++) {
      if (is_wanted(plan, &finding->fixes[k])) add_fix(plan, proposals, &finding->fixes[k]);
    }
  }
  return wo_arena_is_exhausted(&plan->arena) ? WO_E_NOMEM : WO_OK;
}

/* ---- Reading ---- */

bool wo_verify_plan_read(const struct wo_call *call, struct wo_verify_plan *ret_plan) {
  struct wo_verify_plan *const plan = ret_plan;
  *plan = (struct wo_verify_plan){0};
  wo_arena_init(&plan->arena, WO_LIMIT_REPORT_BYTES);
  assert(call->word_count > 0);
  plan->pack = wo_command_load(call, WO_LOAD_FOR_ONE_JOB);
  if (!plan->pack) return false;
  plan->is_complete = wo_command_read_job(call, plan->pack, call->words, call->word_count, &plan->job) == WO_EXIT_FINE;
  const bool is_made = plan->job && wo_report_make(plan->job, plan->pack, &plan->report) == WO_OK &&
                       wo_verify_plan_fill(plan->report, plan) == WO_OK;
  if (plan->job && !is_made) wo_command_fail_memory(call);
  return is_made;
}

void wo_verify_plan_done(struct wo_verify_plan *plan) {
  wo_report_free(plan->report);
  wo_job_free(plan->job);
  wo_pack_free(plan->pack);
  wo_arena_done(&plan->arena);
}

/* ---- The report ---- */

/* Proposals of one id are the same one, in all findings. */
static const struct wo_proof *proof_of(const struct wo_verify_plan *plan, struct wo_view id) {
  for (size_t i = 0; i < plan->diagnosed.proposal_count; i++) {
    if (plan->proofs[i].is_tried && wo_view_equal(plan->fixes[i].id, id)) return &plan->proofs[i];
  }
  return NULL;
}

/* A recording may show that more is missing in the whole step than at the request that failed. What no replay can make is then
 * compared with that. */
static void judge_by_recording(struct wo_verify_plan *plan, struct wo_finding_fix *fix) {
  const struct wo_proof *const was = &plan->as_it_was;
  const double missing = -was->margin_bytes;
  const bool is_judged = fix->has_saves && (fix->suffices == WO_SUFFICES_YES || fix->suffices == WO_SUFFICES_MAYBE);
  struct wo_text text = {0};
  if (fix->proof || !was->is_tried || !is_judged || fix->support.len > 0 || missing <= fix->shortage_bytes.hi) return;
  fix->suffices = fix->saves_bytes.lo >= missing  ? WO_SUFFICES_YES
                  : fix->saves_bytes.hi < missing ? WO_SUFFICES_NO
                                                  : WO_SUFFICES_MAYBE;
  wo_text_add(&text, "%s: frees ", wo_report_verdict_words(fix->suffices));
  wo_report_add_range(&text, fix->saves_bytes);
  wo_text_add(&text, ", the whole step on ");
  wo_text_add_clean(&text, wo_name_base(was->path));
  wo_text_add(&text, " lacks %s", WO_BYTES_TEXT(missing));
  fix->support = wo_arena_copy(&plan->arena, (struct wo_view){text.ptr, text.len});
  if (text.is_failed) plan->arena.is_exhausted = true;
  wo_text_done(&text);
}

/* Adds the proofs to copies of the findings, which belong to the report. */
static bool add_proofs(struct wo_verify_plan *plan, struct wo_report *report) {
  struct wo_finding *const findings = wo_arena_array(&plan->arena, report->finding_count + 1, sizeof *findings);
  if (!findings) return false;
  for (size_t i = 0; i < report->finding_count; i++) {
    findings[i] = report->findings[i];
    struct wo_finding_fix *const fixes = wo_arena_array(&plan->arena, findings[i].fix_count + 1, sizeof *fixes);
    if (!fixes) return false;
    for (size_t k = 0; k < findings[i].fix_count; k++) {
      fixes[k] = findings[i].fixes[k];
      fixes[k].proof = proof_of(plan, fixes[k].id);
      judge_by_recording(plan, &fixes[k]);
    }
    findings[i].fixes = fixes;
  }
  report->findings = findings;
  return !wo_arena_is_exhausted(&plan->arena);
}

/* ---- The chosen change ---- */

/* The number at which the change was replayed; 0: the proposed one. */
static uint32_t chosen_number(const struct wo_choice *choice, struct wo_view knob) {
  if (wo_view_is(knob, "micro_batch")) return choice->micro_batch;
  if (wo_view_is(knob, "grad_accum")) return choice->grad_accum;
  return wo_view_is(knob, "seq_len") ? choice->seq_len : 0;
}

/* A change with the number of the search in it. */
static struct wo_finding_change at_chosen(struct wo_verify_plan *plan, const struct wo_choice *choice,
                                          struct wo_finding_change change) {
  const uint32_t number = chosen_number(choice, change.knob);
  if (number == 0 || change.to.number.mid == number) return change;
  change.to.number = (struct wo_interval){number, number, number};
  change.spelling.value = wo_arena_format(&plan->arena, "%u", (unsigned)number);
  return change;
}

/* "micro-batch 2 -> 1, effective batch kept": as proposed, or with the number of the search. */
static void add_title(struct wo_text *text, const struct wo_finding_fix *fix, const struct wo_choice *choice) {
  bool is_other = false;
  for (size_t i = 0; i < fix->change_count && !is_other; i++) {
    const struct wo_finding_change *const change = &fix->changes[i];
    const uint32_t number = chosen_number(choice, change->knob);
    is_other = number > 0 && change->to.number.mid != number;
    if (is_other) wo_text_add(text, "%.*s %.0f -> %u", WO_SHOWN(change->knob), change->from.number.mid, (unsigned)number);
  }
  if (!is_other) wo_text_add_view(text, fix->title);
}

/* The fixes of a set as one change. What a setting cannot make is a line of code, as in the fix itself. */
static bool join(struct wo_verify_plan *plan, const struct wo_choice *choices, size_t count, const struct wo_proof *chosen,
                 struct wo_finding_fix *ret_fix) {
  size_t changes = 0, commands = 0;
  for (size_t i = 0; i < count; i++) changes += plan->fixes[choices[i].proposal].change_count;
  for (size_t i = 0; i < count; i++) commands += plan->fixes[choices[i].proposal].command_count;
  struct wo_finding_change *const joined = wo_arena_array(&plan->arena, changes + 1, sizeof *joined);
  struct wo_view *const lines = wo_arena_array(&plan->arena, commands + 1, sizeof *lines);
  struct wo_proof *const proof = wo_arena_alloc(&plan->arena, sizeof *proof);
  struct wo_text title = {0};
  if (!joined || !lines || !proof) return false;
  *proof = *chosen;
  *ret_fix = (struct wo_finding_fix){
      .id = WO_VIEW("proven"), .suffices = WO_SUFFICES_YES, .changes = joined, .commands = lines, .proof = proof};
  for (size_t i = 0; i < count; i++) {
    const struct wo_finding_fix *const fix = &plan->fixes[choices[i].proposal];
    if (i > 0) wo_text_add(&title, " + ");
    add_title(&title, fix, &choices[i]);
    for (size_t k = 0; k < fix->change_count; k++)
      joined[ret_fix->change_count++] = at_chosen(plan, &choices[i], fix->changes[k]);
    for (size_t k = 0; k < fix->command_count; k++) lines[ret_fix->command_count++] = fix->commands[k];
    if (fix->cost_rank > ret_fix->cost_rank) ret_fix->cost_rank = fix->cost_rank;
    if (ret_fix->cost_speed.len == 0) ret_fix->cost_speed = fix->cost_speed;
  }
  ret_fix->title = wo_arena_copy(&plan->arena, (struct wo_view){title.ptr, title.len});
  const bool is_made = !title.is_failed && !wo_arena_is_exhausted(&plan->arena);
  wo_text_done(&title);
  return is_made;
}

bool wo_verify_plan_attach(struct wo_verify_plan *plan, const struct wo_choice *choices, size_t count,
                           const struct wo_proof *chosen, struct wo_report *report) {
  if (!add_proofs(plan, report)) return false;
  if (!chosen->is_tried || count == 0) return true;
  struct wo_finding_fix *const fix = wo_arena_alloc(&plan->arena, sizeof *fix);
  if (!fix || !join(plan, choices, count, chosen, fix)) return false;
  report->first_change = fix;
  return true;
}

void wo_verify_plan_json(const struct wo_report *proven, struct wo_view proved, struct wo_view patch, struct wo_text *out) {
  struct wo_report report = *proven;
  report.verify_json = proved;
  report.verify_patch = patch;
  wo_report_json(&report, out);
}
