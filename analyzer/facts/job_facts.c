/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the job as a whole: its frameworks, requests, outcome, earlier runs, and the work of one pass. */
#include "analyzer/facts/facts_internal.h"
#include "analyzer/files/names.h"
#include "analyzer/story/story.h"
#include "parsers/base/units.h"

/* Largest number in a file's name that can be a batch or a length. */
#define NUMBER_MAX 10000000

/* ---- Frameworks ---- */

/* Failures that only an inference engine can report. */
static bool is_engine_kind(enum wo_kind kind) {
  return kind == WO_KIND_VLLM_KV || kind == WO_KIND_VLLM_STARTUP || kind == WO_KIND_SGLANG_KV || kind == WO_KIND_TGI_OOM ||
         kind == WO_KIND_GGML_OOM;
}

/* Inference has neither gradients nor an optimizer. Where signs do not tell the kind, a phase or a setting of trainers does. */
static bool is_training(const struct wo_facts *facts) {
  const struct wo_view phase = facts->job->story.phase;
  if (facts->program.kind != WO_PROGRAM_UNKNOWN) return facts->program.kind == WO_PROGRAM_TRAINING;
  if (wo_view_is(phase, "backward") || wo_view_is(phase, "optimizer")) return true;
  return wo_facts_setting(facts, WO_VIEW("micro_batch")) != NULL || wo_facts_setting(facts, WO_VIEW("optimizer")) != NULL;
}

/* Trainers for reinforcement learning start an engine inside (verl, OpenRLHF with vLLM), so the name of an engine alone does not
 * show that the job serves. vLLM's line on graph capture is next to the failure that it explains. */
void wo__facts_frameworks(struct wo_facts *facts) {
  const struct wo_event *failure = wo__failure_of(facts);
  bool is_serving = failure && is_engine_kind(failure->kind);
  bool is_capture = false;
  wo_each_event (event, &facts->job->events) {
    if (event->is_quoted) continue;
    const bool is_graph_capture = event->mark == WO_MARK_GRAPH_CAPTURE;
    if (is_graph_capture || event->mark == WO_MARK_ENGINE) is_serving = true;
    if (event->kind == WO_KIND_FRAMEWORK) wo__set_text(facts, "job.framework", wo_event_text(event, WO_FIELD_NAME), event->id);
    if (is_graph_capture && failure && event->span.line >= failure->span.line - 1 && event->span.line <= failure->span.line + 1) {
      is_capture = true;
    }
  }
  if (!failure || !wo_story_is_memory(failure)) return;
  wo__set_bool(facts, "oom.is_serving", is_serving && !is_training(facts), failure->id);
  wo__set_bool(facts, "oom.is_graph_capture", is_capture, failure->id);
}

/* ---- The program ---- */

void wo__facts_program(struct wo_facts *facts) {
  struct wo_program *const program = &facts->program;
  wo_program_judge(facts->job, facts->arena, program);
  const bool is_known = program->kind != WO_PROGRAM_UNKNOWN;
  if (is_known) wo__set_text(facts, "program.kind", wo_view_of(wo_program_kind_name(program->kind)), program->kind_evidence);
  wo__set_text(facts, "program.name", program->name.text, program->name.evidence);
  wo__set_text(facts, "host.platform", program->platform.text, program->platform.evidence);
  wo__set_text(facts, "gpu.vendor", program->vendor.text, program->vendor.evidence);
  wo__set_text(facts, "job.manager", program->manager.text, program->manager.evidence);
  const bool trains = wo_program_suits(program, WO_PROGRAM_BIT(WO_PROGRAM_TRAINING));
  if (trains || is_known) wo__set_bool(facts, "program.trains", trains, program->kind_evidence);
}

/* ---- Requests and outcome ---- */

/* Accounting gives the GPUs per node, and the number of nodes separately. */
static void read_cards(struct wo_facts *facts, const struct wo_event *event) {
  const struct wo_field *gpus = wo_event_field(event, WO_FIELD_GPUS);
  const double nodes = wo_event_number(event, WO_FIELD_NODE_COUNT, 1);
  if (gpus && nodes > 1) wo__set_number(facts, "gpu.count", gpus->number.mid * nodes, event->id);
}

static void read_shares(struct wo_facts *facts) {
  wo_each_event (event, &facts->job->events) {
    const struct wo_view key = wo_event_text(event, WO_FIELD_KEY);
    struct wo_view value = wo_event_text(event, WO_FIELD_VALUE);
    struct wo_interval bytes;
    if (event->is_quoted || !wo_view_starts(key, "mem-per-")) continue;
    if (wo_units_bytes(&value, WO_MIB, &bytes) != WO_OK || bytes.mid <= 0) continue;
    if (wo_view_is(key, "mem-per-cpu")) wo__set_number(facts, "slurm.mem_per_cpu", bytes.mid, event->id);
    if (wo_view_is(key, "mem-per-gpu")) wo__set_number(facts, "slurm.mem_per_gpu", bytes.mid, event->id);
  }
}

/* "B:USR1@300": the batch shell gets SIGUSR1 five minutes before the limit. */
static void read_signal_request(struct wo_facts *facts) {
  wo_each_event (event, &facts->job->events) {
    if (event->kind != WO_KIND_SBATCH || event->is_quoted || !wo_view_is(wo_event_text(event, WO_FIELD_KEY), "signal")) continue;
    wo__set_text(facts, "slurm.signal", wo_event_text(event, WO_FIELD_VALUE), event->id);
  }
}

/* Resources that the script requested, and that accounting says it got. The number of processes in the launch line counts most,
 * because the program sees that one. */
void wo__facts_requests(struct wo_facts *facts) {
  read_shares(facts);
  read_signal_request(facts);
  wo_each_event (event, &facts->job->events) {
    if (event->kind != WO_KIND_SBATCH && event->kind != WO_KIND_JOB_INFO) continue;
    if (event->is_quoted && wo_story_is_accounting(event)) continue;
    wo__set_field(facts, "slurm.mem_limit", event, WO_FIELD_LIMIT_BYTES);
    wo__set_field(facts, "host.limit", event, WO_FIELD_LIMIT_BYTES);
    wo__set_field(facts, "slurm.gpus", event, WO_FIELD_GPUS);
    wo__set_field(facts, "gpu.count", event, WO_FIELD_GPUS);
    read_cards(facts, event);
  }
  const struct wo_setting *gpus = wo_facts_setting(facts, WO_VIEW("n_gpus"));
  if (gpus && gpus->value.is_known) wo_facts_set(facts, "gpu.count", gpus->value, gpus->event->id);
}

/* The text that says how the job ended: the exception with its message, the manager's reason, or the line itself. */
static struct wo_view end_text(const struct wo_facts *facts, const struct wo_event *failure) {
  const struct wo_view exception = wo_event_text(failure, WO_FIELD_EXCEPTION);
  const struct wo_view message = wo_event_text(failure, WO_FIELD_MESSAGE);
  const struct wo_view reason = wo_event_text(failure, WO_FIELD_REASON);
  if (exception.len > 0) {
    const struct wo_view part = wo_view_sub(message, 0, 160);
    return wo_arena_format(facts->arena, "%.*s%s%.*s", WO_SHOWN(exception), part.len ? ": " : "", WO_SHOWN(part));
  }
  if (reason.len > 0) return reason;
  if (failure->kind == WO_KIND_UNKNOWN_FAILURE) return wo_view_sub(wo_view_trim(failure->text), 0, 200);
  return wo_view_sub(wo_view_trim(failure->match.len > 0 ? failure->match : failure->text), 0, 200);
}

/* Facts that hold for every job, failed or not. */
void wo__facts_job(struct wo_facts *facts) {
  const struct wo_job *job = facts->job;
  const struct wo_event *failure = wo__failure_of(facts);
  size_t recovered = 0;
  size_t consequences = 0;
  for (size_t i = 0; i < job->events.count; i++) {
    recovered += job->story.roles[i] == WO_ROLE_RECOVERED;
    consequences += job->story.roles[i] == WO_ROLE_CONSEQUENCE;
  }
  wo__set_text(facts, "job.outcome", wo_view_of(wo_outcome_name(job->story.outcome)), job->story.failure);
  wo__set_number(facts, "job.recovered", (double)recovered, WO_EVENT_NONE);
  wo__set_number(facts, "job.consequences", (double)consequences, WO_EVENT_NONE);
  if (job->story.rank_count > 0) wo__set_number(facts, "job.ranks", job->story.rank_count, WO_EVENT_NONE);
  if (!failure) return;
  wo__set_text(facts, "job.end_text", end_text(facts, failure), failure->id);
  wo__set_text(facts, "job.exception", wo_event_text(failure, WO_FIELD_EXCEPTION), failure->id);
}

/* ---- Earlier runs ---- */

/* The traceback of a failure, which shows the place in the user's code; NULL when the log does not have it. */
static const struct wo_event *place_of(const struct wo_job *job, const struct wo_event *failure) {
  return failure->kind == WO_KIND_TRACEBACK ? failure : wo_event_get(&job->events, wo_story_traceback_of(job, failure));
}

/* Same kind, and the same line of the user's code or the same request. Undecided if neither is known for both. */
static enum wo_truth is_same_root(const struct wo_job *job, const struct wo_event *a, const struct wo_event *b) {
  if (a->kind != b->kind) return WO_FALSE;
  const struct wo_field *a_tried = wo_event_field(a, WO_FIELD_TRIED_BYTES);
  const struct wo_field *b_tried = wo_event_field(b, WO_FIELD_TRIED_BYTES);
  if (a_tried && b_tried && a_tried->number.mid == b_tried->number.mid) return WO_TRUE;
  const struct wo_event *a_place = place_of(job, a);
  const struct wo_event *b_place = place_of(job, b);
  const struct wo_view a_file = a_place ? wo_event_text(a_place, WO_FIELD_FRAME_FILE) : (struct wo_view){0};
  const struct wo_view b_file = b_place ? wo_event_text(b_place, WO_FIELD_FRAME_FILE) : (struct wo_view){0};
  if (a_file.len == 0 || b_file.len == 0) return a_tried && b_tried ? WO_FALSE : WO_UNDECIDED;
  const bool is_same_line =
      wo_event_number(a_place, WO_FIELD_FRAME_LINE, -1) == wo_event_number(b_place, WO_FIELD_FRAME_LINE, -1);
  const bool is_same_exception =
      wo_view_equal(wo_event_text(a_place, WO_FIELD_EXCEPTION), wo_event_text(b_place, WO_FIELD_EXCEPTION));
  return wo_view_equal(a_file, b_file) && is_same_line && is_same_exception ? WO_TRUE : WO_FALSE;
}

/* Runs of the same log before the diagnosed one. The weakest answer of all pairs counts. */
void wo__facts_restarts(struct wo_facts *facts) {
  const struct wo_story *story = &facts->job->story;
  const struct wo_event *failure = wo_event_get(&facts->job->events, story->failure);
  const int32_t own = failure ? story->run_of[failure->id] : -1;
  if (own < 0) return;
  size_t count = 0;
  const struct wo_run *first = NULL;
  enum wo_truth truth = WO_TRUE;
  for (int32_t r = 0; r < own; r++) {
    const struct wo_run *run = &story->runs[r];
    const struct wo_event *earlier = wo_event_get(&facts->job->events, run->failure);
    if (!wo_story_is_same_log(run, &story->runs[own]) || !earlier) continue;
    if (!first) first = run;
    count++;
    const enum wo_truth same = is_same_root(facts->job, earlier, failure);
    if (same == WO_FALSE || (same == WO_UNDECIDED && truth == WO_TRUE)) truth = same;
  }
  wo__set_number(facts, "restart.count", (double)count, failure->id);
  if (count == 0) return;
  wo_facts_set(facts, "restart.is_same_root", wo_value_bool(truth), failure->id);
  if (first->step_last < 0 || story->runs[own].step_last < 0) return;
  const double steps = (double)(story->runs[own].step_last - first->step_last);
  wo__set_number(facts, "restart.progress_steps", steps, failure->id);
}

/* ---- The work of one pass ---- */

static double setting_number(const struct wo_facts *facts, const char *knob) {
  const struct wo_setting *const setting = wo_facts_setting(facts, wo_view_of(knob));
  return setting && setting->value.is_known ? setting->value.number.mid : 0;
}

/* The number of a word such as "mb1": one of the leads, digits, and nothing else. 0 for other words. */
static double number_of_word(struct wo_view word, const char *const *leads, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const struct wo_view lead = wo_view_of(leads[i]);
    if (!wo_view_starts_nocase(word, leads[i])) continue;
    struct wo_view digits = wo_view_skip(word, lead.len);
    uint64_t number = 0;
    if (wo_number_u64(&digits, NUMBER_MAX, &number) == WO_OK && digits.len == 0) return (double)number;
  }
  return 0;
}

/* "dmon_mb1_seq1024.txt": people name a trace after the settings that they tried. */
static void read_trace_name(struct wo_facts *facts, struct wo_view path, wo_event_id evidence) {
  static const char *const batches[] = {"mb", "mbs", "bs", "micro", "batch"};
  static const char *const lengths[] = {"seq", "seqlen", "len", "ctx"};
  struct wo_view rest = wo_name_base(path);
  double batch = 0;
  double length = 0;
  while (rest.len > 0) {
    const struct wo_view word = wo_name_word(&rest);
    if (batch == 0) batch = number_of_word(word, batches, sizeof batches / sizeof batches[0]);
    if (length == 0) length = number_of_word(word, lengths, sizeof lengths / sizeof lengths[0]);
  }
  if (batch > 0) wo__set_number(facts, "trace.micro_batch", batch, evidence);
  if (length > 0) wo__set_number(facts, "trace.seq_len", length, evidence);
  if (batch > 0 && length > 0) wo__set_number(facts, "trace.tokens", batch * length, evidence);
}

/* Reads the first trace. Nothing if there are several, because the right one to compare with is unknown. */
static void read_trace(struct wo_facts *facts) {
  const struct wo_event *first = NULL;
  wo_each_event (event, &facts->job->events) {
    if (event->kind != WO_KIND_MONITOR || event->is_quoted) continue;
    if (first && first->span.file != event->span.file) return;
    first = event;
  }
  if (first) read_trace_name(facts, facts->job->inputs[first->span.file].path, first->id);
}

void wo__facts_workload(struct wo_facts *facts) {
  const struct wo_setting *const micro = wo_facts_setting(facts, WO_VIEW("micro_batch"));
  const double batch = setting_number(facts, "micro_batch");
  const double length = setting_number(facts, "seq_len");
  const double steps = setting_number(facts, "grad_accum");
  const double parts = setting_number(facts, "tensor_parallel") + setting_number(facts, "pipeline_parallel");
  const struct wo_value cards = wo__facts_value(facts, WO_VIEW("gpu.count"));
  read_trace(facts);
  if (batch <= 0) return;
  if (steps > 0 && parts == 0 && cards.is_known)
    wo__set_number(facts, "work.batch", batch * steps * cards.number.mid, micro->event->id);
  if (length <= 0) return;
  wo__set_number(facts, "work.tokens", batch * length, micro->event->id);
  const struct wo_value before = wo__facts_value(facts, WO_VIEW("trace.tokens"));
  if (before.is_known) wo__set_number(facts, "trace.growth", batch * length / before.number.mid, before.evidence);
}
