/* SPDX-License-Identifier: Apache-2.0 */
/* A report made by hand: a fragmented card, eight ranks, two fixes, everything that a writer can be asked to write.
 *
 * Tests take it and change what they are about. All of it is plain data in one struct; nothing is to be released. */
#ifndef WO_TEST_REPORT_SAMPLE_H
#define WO_TEST_REPORT_SAMPLE_H

#include "analyzer/report/report.h"

#define SAMPLE_GIB(x) ((double)(x)*1073741824.0)

enum { SAMPLE_EVENTS = 6 };

struct sample {
  struct wo_report report;
  struct wo_job job;
  struct wo_job_input inputs[2];
  struct wo_event events[SAMPLE_EVENTS];
  enum wo_role roles[SAMPLE_EVENTS];
  struct wo_field setting_fields[2];
  struct wo_field oom_fields[4];
  struct wo_field traceback_fields[2];
  struct wo_cause causes[2];
  struct wo_finding findings[2];
  wo_event_id growth[2];
  struct wo_argument for_[2];
  struct wo_argument against[1];
  struct wo_view would_tell[1];
  struct wo_finding_change changes[3];
  struct wo_finding_fix fixes[2];
  struct wo_view commands[1];
  struct wo_view notes[1];
  struct wo_view not_proposed[2];
  struct wo_report_fold folds[2];
  struct wo_pack pack; /* without rules */
  struct wo_knob knob;
  struct wo_setting setting;
  struct wo_fact_row facts[4];
};

static inline struct wo_interval sample_size(double gib) {
  return (struct wo_interval){SAMPLE_GIB(gib - 0.005), (double)(long long)(SAMPLE_GIB(gib) + 0.5), SAMPLE_GIB(gib + 0.005)};
}

static inline struct wo_value sample_number(double number) {
  return (struct wo_value){
      .unit = WO_UNIT_NUMBER, .is_known = true, .number = {number, number, number}, .evidence = WO_EVENT_NONE};
}

static inline struct wo_event sample_event(wo_event_id id, enum wo_kind kind, uint64_t line, int32_t rank, struct wo_view text) {
  return (struct wo_event){.id = id,
                           .kind = kind,
                           .span = {.file = 0, .line = line, .byte = line * 100, .length = (uint32_t)text.len},
                           .rank = rank,
                           .time_ns = WO_TIME_UNKNOWN,
                           .pattern_id = WO_VIEW("torch-oom"),
                           .text = text,
                           .of = WO_EVENT_NONE};
}

static inline void sample_events(struct sample *s) {
  static const char oom[] =
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 39.39 GiB of which "
      "1.06 GiB "
      "is free. Of the allocated memory 26.11 GiB is allocated by PyTorch, and 11.62 GiB is reserved by PyTorch but unallocated.";
  s->events[0] = sample_event(0, WO_KIND_CONFIG, 12, WO_RANK_UNKNOWN, WO_VIEW("--per_device_train_batch_size 8"));
  s->events[0].span.file = 1;
  s->setting_fields[0] = (struct wo_field){.id = WO_FIELD_KEY, .text = WO_VIEW("per_device_train_batch_size")};
  s->setting_fields[1] = (struct wo_field){.id = WO_FIELD_VALUE, .text = WO_VIEW("8")};
  s->events[0].fields = s->setting_fields;
  s->events[0].field_count = 2;
  s->events[1] = sample_event(1, WO_KIND_CUDA_OOM, 3902, 3, WO_VIEW("CUDA out of memory, skipping the batch"));
  s->events[2] = sample_event(2, WO_KIND_CUDA_OOM, 20917, 3, WO_VIEW(oom));
  s->events[2].host = WO_VIEW("gpu12");
  s->events[2].time_ns = INT64_C(1741665612) * 1000000000;
  s->oom_fields[0] = (struct wo_field){.id = WO_FIELD_TRIED_BYTES, .number = sample_size(2)};
  s->oom_fields[1] = (struct wo_field){.id = WO_FIELD_GPU, .number = {1, 1, 1}};
  s->oom_fields[2] = (struct wo_field){.id = WO_FIELD_UTILIZATION, .number = {0.85, 0.85, 0.85}};
  s->oom_fields[3] = (struct wo_field){.id = WO_FIELD_SHAPE, .text = WO_VIEW("[8, 4096]")};
  s->events[2].fields = s->oom_fields;
  s->events[2].field_count = 4;
  s->events[3] = sample_event(3, WO_KIND_TRACEBACK, 20910, 3, WO_VIEW("Traceback (most recent call last):"));
  s->events[3].of = 2;
  s->traceback_fields[0] = (struct wo_field){.id = WO_FIELD_FRAME_FILE, .text = WO_VIEW("model/attention.py")};
  s->traceback_fields[1] = (struct wo_field){.id = WO_FIELD_FRAME_LINE, .number = {208, 208, 208}};
  s->events[3].fields = s->traceback_fields;
  s->events[3].field_count = 2;
  s->events[4] = sample_event(4, WO_KIND_NCCL_TIMEOUT, 21000, 0, WO_VIEW("Watchdog caught collective operation timeout"));
  s->events[5] = sample_event(5, WO_KIND_SECONDARY, 21001, 1, WO_VIEW("Connection closed by remote peer"));
  s->roles[1] = WO_ROLE_RECOVERED;
  s->roles[2] = WO_ROLE_FAILURE;
  s->roles[4] = WO_ROLE_CONSEQUENCE;
  s->roles[5] = WO_ROLE_CONSEQUENCE;
}

static inline void sample_job(struct sample *s) {
  s->inputs[0] =
      (struct wo_job_input){.path = WO_VIEW("slurm-88213.err"), .format = WO_VIEW("log"), .bytes = 2400000, .lines = 21204};
  s->inputs[1] = (struct wo_job_input){.path = WO_VIEW("train.sbatch"), .format = WO_VIEW("sbatch"), .bytes = 900, .lines = 31};
  s->job.inputs = s->inputs;
  s->job.input_count = 2;
  s->job.events.items = s->events;
  s->job.events.count = SAMPLE_EVENTS;
  s->job.story = (struct wo_story){.outcome = WO_OUTCOME_GPU_OOM,
                                   .failure = 2,
                                   .outcome_evidence = {2},
                                   .outcome_evidence_count = 1,
                                   .roles = s->roles,
                                   .traceback = 3,
                                   .step = 4120,
                                   .step_total = 5000,
                                   .step_unit = WO_VIEW("step"),
                                   .phase = WO_VIEW("backward"),
                                   .job_id = WO_VIEW("88213"),
                                   .array_task = -1,
                                   .nodes = {WO_VIEW("gpu11"), WO_VIEW("gpu12")},
                                   .node_count = 2,
                                   .rank_count = 8};
}

static inline void sample_fixes(struct sample *s) {
  s->changes[0] = (struct wo_finding_change){
      .knob = WO_VIEW("alloc.expandable_segments"),
      .from = {.unit = WO_UNIT_BOOL},
      .to = {.unit = WO_UNIT_BOOL, .is_known = true, .truth = WO_TRUE},
      .spelling = {WO_STYLE_EXPORT, WO_VIEW("PYTORCH_CUDA_ALLOC_CONF"), WO_VIEW("expandable_segments:True")},
      .where = WO_EVENT_NONE};
  s->changes[1] = (struct wo_finding_change){.knob = WO_VIEW("micro_batch"),
                                             .from = sample_number(8),
                                             .to = sample_number(4),
                                             .spelling = {WO_STYLE_FLAG, WO_VIEW("per_device_train_batch_size"), WO_VIEW("4")},
                                             .where = 0};
  s->changes[2] = (struct wo_finding_change){
      .knob = WO_VIEW("grad_accum"), .from = sample_number(4), .to = sample_number(8), .where = WO_EVENT_NONE};
  s->commands[0] =
      WO_VIEW("srun --export=ALL python train.py --per_device_train_batch_size 4 --gradient_accumulation_steps 8 --resume");
  s->notes[0] = WO_VIEW("the effective batch of 256 is kept");
  s->fixes[0] = (struct wo_finding_fix){.id = WO_VIEW("enable-expandable-segments"),
                                        .title = WO_VIEW("expandable segments on"),
                                        .changes = &s->changes[0],
                                        .change_count = 1,
                                        .has_saves = true,
                                        .saves_bytes = {0, SAMPLE_GIB(5.8), SAMPLE_GIB(11.62)},
                                        .saves_formula = WO_VIEW("at most the 11.62 GiB that lie idle"),
                                        .cost_speed = WO_VIEW("about the same"),
                                        .cost_accuracy = WO_VIEW("none"),
                                        .cost_effort = WO_VIEW("one line")};
  s->fixes[1] = (struct wo_finding_fix){.id = WO_VIEW("reduce-micro-batch"),
                                        .title = WO_VIEW("micro-batch 8 -> 4, accumulation 4 -> 8"),
                                        .changes = &s->changes[1],
                                        .change_count = 2,
                                        .has_saves = true,
                                        .saves_bytes = {SAMPLE_GIB(6), SAMPLE_GIB(7.5), SAMPLE_GIB(9)},
                                        .saves_formula = WO_VIEW("half of the 12 to 18 GiB of activations"),
                                        .cost_speed = WO_VIEW("5-15 % slower"),
                                        .cost_accuracy = WO_VIEW("none"),
                                        .commands = s->commands,
                                        .command_count = 1,
                                        .notes = s->notes,
                                        .note_count = 1};
}

static inline void sample_findings(struct sample *s) {
  s->growth[0] = 1;
  s->growth[1] = 2;
  s->for_[0] = (struct wo_argument){
      .text = WO_VIEW("11.62 GiB is 30 % of the card"), .weight = 0.6, .evidence = &s->growth[1], .evidence_count = 1};
  s->for_[1] = (struct wo_argument){.text = WO_VIEW("the unallocated part grew from 6.10 to 11.62 GiB"),
                                    .weight = 0.35,
                                    .evidence = s->growth,
                                    .evidence_count = 2};
  s->against[0] = (struct wo_argument){.text = WO_VIEW("the job ran for 4 120 steps"), .weight = 0.15};
  s->would_tell[0] = WO_VIEW("a memory snapshot: the largest free block against the request");
  s->not_proposed[0] = WO_VIEW("max_split_size_mb (conflicts with fix 1)");
  s->not_proposed[1] = WO_VIEW("gradient checkpointing (already on, train.sbatch:21)");
  s->causes[0] = (struct wo_cause){.id = WO_VIEW("fragmentation"), .family = WO_VIEW("fragmentation"), .is_failure = true};
  s->causes[1] =
      (struct wo_cause){.id = WO_VIEW("oversized-micro-batch"), .family = WO_VIEW("oversized_batch"), .is_failure = true};
  s->findings[0] =
      (struct wo_finding){.cause = &s->causes[0],
                          .title = WO_VIEW("11.62 GiB lay idle in pieces while 2.00 GiB was refused"),
                          .summary = WO_VIEW("The allocator held enough memory, but no free piece of it was large enough."),
                          .confidence = WO_CONFIDENCE_LIKELY,
                          .score = 0.87,
                          .for_ = s->for_,
                          .for_count = 2,
                          .against = s->against,
                          .against_count = 1,
                          .would_tell = s->would_tell,
                          .would_tell_count = 1,
                          .fixes = s->fixes,
                          .fix_count = 2,
                          .not_proposed = s->not_proposed,
                          .not_proposed_count = 2};
  s->findings[1] = (struct wo_finding){.cause = &s->causes[1],
                                       .title = WO_VIEW("a micro-batch of 8 is more than the card can hold"),
                                       .summary = WO_VIEW("Activations grow with the micro-batch."),
                                       .confidence = WO_CONFIDENCE_POSSIBLE,
                                       .score = 0.3,
                                       .for_ = s->for_,
                                       .for_count = 1};
}

static inline void sample_memory(struct sample *s) {
  static const struct wo_view names[] = {WO_VIEW("allocated"), WO_VIEW("reserved_unallocated"), WO_VIEW("non_pytorch"),
                                         WO_VIEW("free")};
  static const double sizes[] = {26.11, 11.62, 0.60, 1.06};
  struct wo_report_memory *const memory = &s->report.memory;
  s->report.has_memory = true;
  memory->gpu = 1;
  memory->capacity_bytes = sample_size(39.39);
  for (size_t i = 0; i < 4; i++) memory->parts[i] = (struct wo_memory_part){names[i], sample_size(sizes[i])};
  memory->part_count = 4;
  memory->arithmetic[0] = WO_VIEW("free 1.06 + unallocated 11.62 = 12.68 GiB >= 2.00 GiB wanted: space enough, in pieces");
  memory->arithmetic_count = 1;
}

static inline void sample_facts(struct sample *s) {
  const struct wo_value phase = {.unit = WO_UNIT_TEXT, .is_known = true, .text = WO_VIEW("backward"), .evidence = WO_EVENT_NONE};
  const struct wo_value first = {.unit = WO_UNIT_BOOL, .is_known = true, .truth = WO_FALSE, .evidence = WO_EVENT_NONE};
  const struct wo_value tried = {.unit = WO_UNIT_BYTES, .is_known = true, .number = sample_size(2), .evidence = 2};
  s->facts[0] = (struct wo_fact_row){WO_VIEW("oom.tried"), WO_UNIT_BYTES, tried};
  s->facts[1] = (struct wo_fact_row){WO_VIEW("oom.phase"), WO_UNIT_TEXT, phase};
  s->facts[2] = (struct wo_fact_row){WO_VIEW("oom.first_step"), WO_UNIT_BOOL, first};
  s->facts[3] =
      (struct wo_fact_row){WO_VIEW("model.parameters"), WO_UNIT_NUMBER, {.unit = WO_UNIT_NUMBER, .evidence = WO_EVENT_NONE}};
  s->knob = (struct wo_knob){.id = WO_VIEW("micro_batch"), .unit = WO_UNIT_NUMBER};
  s->setting = (struct wo_setting){.knob = &s->knob, .event = &s->events[0], .value = sample_number(8)};
  s->setting.value.evidence = 0;
  s->report.facts = (struct wo_facts){
      .job = &s->job, .pack = &s->pack, .rows = s->facts, .row_count = 4, .settings = &s->setting, .setting_count = 1};
}

/* Fills *s; pointers go into it, so it must not be moved afterwards. */
static inline void sample_fill(struct sample *s) {
  *s = (struct sample){0};
  sample_events(s);
  sample_job(s);
  sample_fixes(s);
  sample_findings(s);
  sample_memory(s);
  sample_facts(s);
  s->folds[0] = (struct wo_report_fold){WO_VIEW("NCCL watchdog"), 5, 5};
  s->folds[1] = (struct wo_report_fold){WO_VIEW("connection closed"), 2, 2};
  s->report.job = &s->job;
  s->report.findings = s->findings;
  s->report.finding_count = 2;
  s->report.folds = s->folds;
  s->report.fold_count = 2;
  s->report.resubmit = WO_VIEW("sbatch train.sbatch");
}

/* Makes the job one in which nothing went wrong. */
static inline void sample_make_ok(struct sample *s) {
  s->report.finding_count = 0;
  s->report.has_memory = false;
  s->report.fold_count = 0;
  s->report.resubmit = (struct wo_view){NULL, 0};
  s->job.story.outcome = WO_OUTCOME_SUCCESS;
  s->job.story.failure = WO_EVENT_NONE;
  s->job.story.traceback = WO_EVENT_NONE;
  s->job.story.outcome_evidence_count = 0;
  s->job.events.count = 0;
}

#endif
