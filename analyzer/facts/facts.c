/* Works out the facts of a job from its story, its evidence and its settings. One function per family of facts. */
#include "analyzer/facts/facts.h"

#include <assert.h>

#include "analyzer/facts/facts_ending.h"
#include "analyzer/facts/model.h"
#include "analyzer/facts/monitors.h"
#include "analyzer/facts/step_memory.h"
#include "analyzer/facts/sizes.h"
#include "analyzer/story/story.h"
#include "parsers/base/units.h"

struct fact_row {
  const char *name;
  enum wo_unit unit;
};

/* The names are checked when rules are loaded, against the same list; a fact that is set here under another name is a mistake of
 * this file. */
static const struct fact_row fact_table[] = {
#define WO_FACT(name, unit, meaning) {name, WO_UNIT_##unit},
#include "rules/language/facts.def"
#undef WO_FACT
};

#define FACT_COUNT (sizeof fact_table / sizeof fact_table[0])

/* Steps from which a failure no longer counts as one of the first. */
#define FIRST_STEPS 3

/* The row of a name, or NULL. */
static struct wo_fact_row *find_row(const struct wo_facts *facts, struct wo_view name) {
  const size_t at = wo_fact_place(facts->pack, name);
  assert(at >= facts->row_count || wo_view_equal(facts->rows[at].name, name));
  return at < facts->row_count ? &facts->rows[at] : NULL;
}

void wo_facts_set(struct wo_facts *facts, const char *name, struct wo_value value, wo_event_id evidence) {
  struct wo_fact_row *const row = find_row(facts, wo_view_of(name));
  assert(row != NULL && row->unit == value.unit && "fact is missing in rules/language/facts.def");
  if (row == NULL) return;
  value.evidence = evidence;
  row->value = value;
}

static void set_number(struct wo_facts *facts, const char *name, double value, wo_event_id evidence) {
  wo_facts_set(facts, name, wo_value_exact(WO_UNIT_NUMBER, value), evidence);
}

static void set_text(struct wo_facts *facts, const char *name, struct wo_view value, wo_event_id evidence) {
  if (value.len > 0) wo_facts_set(facts, name, wo_value_text(value), evidence);
}

static void set_bool(struct wo_facts *facts, const char *name, bool value, wo_event_id evidence) {
  wo_facts_set(facts, name, wo_value_bool(value ? WO_TRUE : WO_FALSE), evidence);
}

/* Sets a fact from a number field, when the event has it. */
static void set_field_number(struct wo_facts *facts, const char *name, const struct wo_event *event, enum wo_field_id id,
                             enum wo_unit unit) {
  const struct wo_field *field = wo_event_field(event, id);
  if (field) wo_facts_set(facts, name, wo_value_number(unit, field->number), event->id);
}

/* NULL when the job did not fail, or when nothing tells of what. */
static const struct wo_event *failure_of(const struct wo_facts *facts) {
  return wo_event_get(&facts->job->events, facts->job->story.failure);
}

static bool is_memory(const struct wo_event *event) {
  const enum wo_class class = wo_kind_class(event->kind);
  return class == WO_CLASS_GPU_MEMORY || class == WO_CLASS_HOST_MEMORY;
}

/* Whether an event was neither survived nor of an earlier run of the program. */
static bool is_of_this_end(const struct wo_job *job, size_t index) {
  const enum wo_role role = job->story.roles[index];
  return role != WO_ROLE_RECOVERED && role != WO_ROLE_EARLIER;
}

bool wo_facts_is_counted(const struct wo_job *job, const struct wo_event *event) {
  return !event->is_quoted && !wo_story_is_suspicion(event) && is_of_this_end(job, (size_t)event->id);
}

/* What "count.<kind>" says in rules. Quoted and survived events do not count: a rule that asks whether there was a segmentation
 * fault means one that did harm. */
static void count_events(struct wo_facts *facts) {
  const struct wo_job *job = facts->job;
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    if (wo_facts_is_counted(job, event)) facts->counts[event->kind]++;
  }
}

/* ---- The failure ---- */

/* How often the failure was reported, and by how many ranks; all ranks at once point to a setting, a single one to uneven work.
 * Ranks are counted by their last eight bits: of more than 256 the figure is a lower bound. */
static void read_repeats(struct wo_facts *facts, const struct wo_event *failure) {
  const struct wo_job *job = facts->job;
  size_t count = 0;
  size_t ranks = 0;
  uint64_t seen[4] = {0};
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    const enum wo_role role = job->story.roles[i];
    if (event->kind != failure->kind || (role != WO_ROLE_FAILURE && role != WO_ROLE_REPEAT)) continue;
    count++;
    const uint32_t slot = (uint32_t)event->rank % 256;
    if (event->rank == WO_RANK_UNKNOWN || (seen[slot / 64] >> (slot % 64) & 1)) continue;
    seen[slot / 64] |= UINT64_C(1) << (slot % 64);
    ranks++;
  }
  set_number(facts, "oom.count", (double)count, failure->id);
  if (ranks > 0) set_number(facts, "oom.rank_count", (double)ranks, failure->id);
}

/* The innermost function of all is PyTorch's or a library's; the user's own file is where a change can be made. */
static void read_traceback(struct wo_facts *facts) {
  const struct wo_story *story = &facts->job->story;
  const struct wo_event *traceback = wo_event_get(&facts->job->events, story->traceback);
  if (!traceback) return;
  const struct wo_view frames = wo_event_text(traceback, WO_FIELD_FRAMES);
  set_text(facts, "oom.function", wo_event_text(traceback, WO_FIELD_INNER_FUNCTION), traceback->id);
  set_text(facts, "oom.user_file", wo_event_text(traceback, WO_FIELD_FRAME_FILE), traceback->id);
  if (frames.len == 0) return;
  for (size_t i = 0; i < facts->pack->phase_count; i++) {
    const struct wo_phase_hint *const hint = &facts->pack->phases[i];
    if (hint->is_innermost) set_bool(facts, hint->fact.ptr, wo_story_hint_shows(hint, frames), traceback->id);
  }
}

/* A failure in the first steps comes from sizes that are wrong from the start; one that comes late, from growth or from an odd
 * batch. Epochs are too long to tell. */
static void read_step(struct wo_facts *facts, const struct wo_event *failure) {
  const struct wo_story *story = &facts->job->story;
  if (story->step < 0) return;
  set_number(facts, "oom.step", (double)story->step, failure->id);
  set_text(facts, "oom.step_unit", story->step_unit, failure->id);
  const bool counts_steps = !wo_view_is(story->step_unit, "epoch");
  if (counts_steps) set_bool(facts, "oom.first_step", story->step < FIRST_STEPS, failure->id);
}

/* Lines behind a failure whose messages of the same kind belong to it: engines report one failure in several sentences. */
#define TEXT_LINES 12

/* Bytes of one sentence, and of all, that are kept. */
#define SENTENCE_BYTES 400
#define TEXT_BYTES 1600

/* The events are in the order of lines, so the sentences are joined as they were printed. Each is cut at a length of its own, so
 * that a long one leaves room for the next. */
static void read_text(struct wo_facts *facts, const struct wo_event *failure) {
  char text[TEXT_BYTES];
  size_t len = 0;
  for (size_t i = (size_t)failure->id; i < facts->job->events.count; i++) {
    const struct wo_event *event = &facts->job->events.items[i];
    if (event->kind != failure->kind || event->span.file != failure->span.file) continue;
    if (event->span.line > failure->span.line + TEXT_LINES) break;
    const struct wo_view part = wo_view_sub(event->text, 0, SENTENCE_BYTES);
    if (len + part.len + 1 > sizeof text) break;
    if (len > 0) text[len++] = ' ';
    memcpy(text + len, part.ptr, part.len);
    len += part.len;
  }
  set_text(facts, "oom.text", wo_arena_copy(facts->arena, (struct wo_view){text, len}), failure->id);
}

/* Only for memory failures: the "oom." facts of other endings stay unknown, and rules about memory cannot hold. */
static void read_failure(struct wo_facts *facts) {
  const struct wo_event *failure = failure_of(facts);
  if (!failure || !is_memory(failure)) return;
  set_text(facts, "oom.kind", wo_view_of(wo_kind_name(failure->kind)), failure->id);
  if (failure->rank != WO_RANK_UNKNOWN) set_number(facts, "oom.rank", failure->rank, failure->id);
  set_text(facts, "oom.phase", facts->job->story.phase, failure->id);
  set_text(facts, "oom.shape", wo_event_text(failure, WO_FIELD_SHAPE), failure->id);
  set_text(facts, "oom.other_process_pids", wo_event_text(failure, WO_FIELD_OTHER_PROCESS_PIDS), failure->id);
  set_field_number(facts, "oom.gpu", failure, WO_FIELD_GPU, WO_UNIT_NUMBER);
  set_field_number(facts, "oom.batch", failure, WO_FIELD_BATCH, WO_UNIT_NUMBER);
  set_field_number(facts, "oom.max_model_len", failure, WO_FIELD_MAX_MODEL_LEN, WO_UNIT_NUMBER);
  if (failure->kind == WO_KIND_VLLM_KV)
    set_field_number(facts, "oom.fitting_tokens", failure, WO_FIELD_KV_TOKENS, WO_UNIT_NUMBER);
  read_repeats(facts, failure);
  read_text(facts, failure);
  read_traceback(facts);
  read_step(facts, failure);
}

/* ---- Frameworks ---- */

/* Failures that only an inference engine can report. */
static bool is_engine_kind(enum wo_kind kind) {
  return kind == WO_KIND_VLLM_KV || kind == WO_KIND_VLLM_STARTUP || kind == WO_KIND_SGLANG_KV || kind == WO_KIND_TGI_OOM ||
         kind == WO_KIND_GGML_OOM;
}

/* Inference has neither gradients nor an optimizer. */
static bool is_training_phase(struct wo_view phase) {
  return wo_view_is(phase, "backward") || wo_view_is(phase, "optimizer");
}

/* Trainers for reinforcement learning start an engine inside (verl, OpenRLHF with vLLM), so an engine's name alone does not make
 * a job one that serves. vLLM's line on graph capture stands right beside the failure that it explains. */
static void read_frameworks(struct wo_facts *facts) {
  const struct wo_event *failure = failure_of(facts);
  bool is_serving = failure && is_engine_kind(failure->kind);
  bool is_capture = false;
  bool is_training = is_training_phase(facts->job->story.phase) || wo_facts_setting(facts, WO_VIEW("micro_batch")) != NULL ||
                     wo_facts_setting(facts, WO_VIEW("optimizer")) != NULL;
  for (size_t i = 0; i < facts->job->events.count; i++) {
    const struct wo_event *event = &facts->job->events.items[i];
    if (event->is_quoted) continue;
    const bool is_graph_capture = event->mark == WO_MARK_GRAPH_CAPTURE;
    if (is_graph_capture || event->mark == WO_MARK_ENGINE) is_serving = true;
    if (event->kind == WO_KIND_FRAMEWORK) set_text(facts, "job.framework", wo_event_text(event, WO_FIELD_NAME), event->id);
    if (is_graph_capture && failure && event->span.line >= failure->span.line - 1 && event->span.line <= failure->span.line + 1) {
      is_capture = true;
    }
  }
  if (!failure || !is_memory(failure)) return;
  set_bool(facts, "oom.is_serving", is_serving && !is_training, failure->id);
  set_bool(facts, "oom.is_graph_capture", is_capture, failure->id);
}

/* ---- The model ---- */

/* A file of DeepSpeed's settings is named, and what it says of sharding is not known. */
static bool is_stage_unknown(const struct wo_facts *facts, const struct wo_setting *stage) {
  const struct wo_setting *const file = wo_facts_setting(facts, WO_VIEW("deepspeed_config"));
  return stage == NULL && file && wo_view_has(file->value.text, ".json");
}

/* ZeRO, FSDP or a trainer that shards by itself (verl). A setting that is not given means that nothing is sharded. */
static void read_sharding(struct wo_facts *facts) {
  static const char *const plain[] = {"none", "false", "off", "[]", "ddp", "no_shard", ""};
  const struct wo_setting *stage = wo_facts_setting(facts, WO_VIEW("zero_stage"));
  const struct wo_setting *sharding = wo_facts_setting(facts, WO_VIEW("sharding"));
  const struct wo_setting *mini_batch = wo_facts_setting(facts, WO_VIEW("mini_batch"));
  bool is_sharded = mini_batch != NULL || (stage && stage->value.is_known && stage->value.number.mid >= 1);
  if (sharding) {
    bool is_plain = false;
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
      is_plain = is_plain || wo_view_is_nocase(sharding->value.text, plain[i]);
    is_sharded = is_sharded || !is_plain;
  }
  if (!is_sharded && is_stage_unknown(facts, stage)) return;
  set_bool(facts, "model.is_sharded", is_sharded, sharding ? sharding->event->id : stage ? stage->event->id : WO_EVENT_NONE);
}

/* ---- The host ---- */

/* The kernel prints the three parts of a killed process and no sum. */
static double rss_of(const struct wo_event *event) {
  return wo_event_number(event, WO_FIELD_ANON_RSS_BYTES, 0) + wo_event_number(event, WO_FIELD_FILE_RSS_BYTES, 0) +
         wo_event_number(event, WO_FIELD_SHMEM_RSS_BYTES, 0);
}

/* What a monitor of the node's memory printed as it killed. It gives the size of the node beside the use, the kernel does not. */
static void read_node_event(struct wo_facts *facts, const struct wo_event *event) {
  if (!wo_event_field(event, WO_FIELD_TOTAL_BYTES)) return;
  set_text(facts, "host.node", wo_event_text(event, WO_FIELD_HOST), event->id);
  set_field_number(facts, "host.node_used", event, WO_FIELD_USED_BYTES, WO_UNIT_BYTES);
  set_field_number(facts, "host.node_total", event, WO_FIELD_TOTAL_BYTES, WO_UNIT_BYTES);
  set_field_number(facts, "host.threshold", event, WO_FIELD_UTILIZATION, WO_UNIT_NUMBER);
  set_field_number(facts, "host.victim", event, WO_FIELD_PROCESS_BYTES, WO_UNIT_BYTES);
}

/* Later events overwrite: the last kill is the one that ended the job. Of sizes the largest process is kept, with its share of
 * /dev/shm, where data loaders hand over their batches. */
static void read_host_event(struct wo_facts *facts, const struct wo_event *event, double *rss) {
  set_field_number(facts, "host.tried", event, WO_FIELD_TRIED_BYTES, WO_UNIT_BYTES);
  set_field_number(facts, "host.limit", event, WO_FIELD_LIMIT_BYTES, WO_UNIT_BYTES);
  set_text(facts, "host.constraint", wo_event_text(event, WO_FIELD_CONSTRAINT), event->id);
  set_text(facts, "host.program", wo_event_text(event, WO_FIELD_PROGRAM), event->id);
  set_text(facts, "host.signal", wo_event_text(event, WO_FIELD_SIGNAL), event->id);
  read_node_event(facts, event);
  if (rss_of(event) <= *rss) return;
  *rss = rss_of(event);
  wo_facts_set(facts, "host.rss", wo_value_exact(WO_UNIT_BYTES, *rss), event->id);
  set_field_number(facts, "host.shmem", event, WO_FIELD_SHMEM_RSS_BYTES, WO_UNIT_BYTES);
}

/* Without the kernel's own figure, the most that accounting sampled of a task stands for the process that the limit killed. Of
 * other failures it says nothing. */
static void read_sampled_rss(struct wo_facts *facts) {
  const struct wo_event *failure = failure_of(facts);
  double rss = 0;
  if (!failure || failure->kind != WO_KIND_CGROUP_OOM) return;
  for (size_t i = 0; i < facts->job->events.count; i++) {
    const struct wo_event *event = &facts->job->events.items[i];
    const double used = wo_event_number(event, WO_FIELD_USED_BYTES, 0);
    if (event->kind != WO_KIND_JOB_INFO || event->is_quoted || used <= rss) continue;
    if (wo_event_field(event, WO_FIELD_HOST)) continue; /* all processes of a node together */
    rss = used;
    set_field_number(facts, "host.rss", event, WO_FIELD_USED_BYTES, WO_UNIT_BYTES);
  }
}

/* SLURM reports all kills of a step in one line ("Detected 3 oom_kill events in StepId=4711.0"), the kernel prints one for each
 * and no number; the largest report stands. */
static void read_host(struct wo_facts *facts) {
  double kills = 0;
  double rss = 0;
  wo_event_id last = WO_EVENT_NONE;
  for (size_t i = 0; i < facts->job->events.count; i++) {
    const struct wo_event *event = &facts->job->events.items[i];
    if (event->is_quoted || !is_of_this_end(facts->job, i) || wo_kind_class(event->kind) != WO_CLASS_HOST_MEMORY) continue;
    if (wo_story_is_suspicion(event)) {
      set_bool(facts, "host.is_shm_suspected", true, event->id);
      continue;
    }
    read_host_event(facts, event, &rss);
    if (event->kind != WO_KIND_CGROUP_OOM) continue;
    const double count = wo_event_number(event, WO_FIELD_COUNT, 1);
    if (count > kills) kills = count;
    last = event->id;
  }
  if (kills > 0) set_number(facts, "host.kills", kills, last);
  if (rss == 0) read_sampled_rss(facts);
}

/* ---- The job ---- */

/* Accounting counts cards per node here, and the nodes beside them. */
static void read_cards(struct wo_facts *facts, const struct wo_event *event) {
  const struct wo_field *gpus = wo_event_field(event, WO_FIELD_GPUS);
  const double nodes = wo_event_number(event, WO_FIELD_NODE_COUNT, 1);
  if (gpus && nodes > 1) set_number(facts, "gpu.count", gpus->number.mid * nodes, event->id);
}

/* What the script asked for and what accounting says it got. The launch line's own number of processes counts most, as it is what
 * the program sees. */
static void read_requests(struct wo_facts *facts) {
  for (size_t i = 0; i < facts->job->events.count; i++) {
    const struct wo_event *event = &facts->job->events.items[i];
    if (event->kind != WO_KIND_SBATCH && event->kind != WO_KIND_JOB_INFO) continue;
    if (event->is_quoted && wo_story_is_accounting(event)) continue;
    set_field_number(facts, "slurm.mem_limit", event, WO_FIELD_LIMIT_BYTES, WO_UNIT_BYTES);
    set_field_number(facts, "host.limit", event, WO_FIELD_LIMIT_BYTES, WO_UNIT_BYTES);
    set_field_number(facts, "slurm.gpus", event, WO_FIELD_GPUS, WO_UNIT_NUMBER);
    set_field_number(facts, "gpu.count", event, WO_FIELD_GPUS, WO_UNIT_NUMBER);
    read_cards(facts, event);
  }
  const struct wo_setting *gpus = wo_facts_setting(facts, WO_VIEW("n_gpus"));
  if (gpus && gpus->value.is_known) wo_facts_set(facts, "gpu.count", gpus->value, gpus->event->id);
}

/* The words that tell how the job ended: the exception with its message, the manager's reason, or the line itself. */
static struct wo_view end_text(const struct wo_facts *facts, const struct wo_event *failure) {
  const struct wo_view exception = wo_event_text(failure, WO_FIELD_EXCEPTION);
  const struct wo_view message = wo_event_text(failure, WO_FIELD_MESSAGE);
  const struct wo_view reason = wo_event_text(failure, WO_FIELD_REASON);
  if (exception.len > 0) {
    const struct wo_view part = wo_view_sub(message, 0, 160);
    return wo_arena_format(facts->arena, "%.*s%s%.*s", (int)exception.len, exception.ptr, part.len ? ": " : "", (int)part.len,
                           part.ptr ? part.ptr : "");
  }
  if (reason.len > 0) return reason;
  return wo_view_sub(wo_view_trim(failure->match.len > 0 ? failure->match : failure->text), 0, 200);
}

/* Facts that hold for every job, failed or not. */
static void read_job(struct wo_facts *facts) {
  const struct wo_job *job = facts->job;
  const struct wo_event *failure = failure_of(facts);
  size_t recovered = 0;
  size_t consequences = 0;
  for (size_t i = 0; i < job->events.count; i++) {
    recovered += job->story.roles[i] == WO_ROLE_RECOVERED;
    consequences += job->story.roles[i] == WO_ROLE_CONSEQUENCE;
  }
  set_text(facts, "job.outcome", wo_view_of(wo_outcome_name(job->story.outcome)), job->story.failure);
  set_number(facts, "job.recovered", (double)recovered, WO_EVENT_NONE);
  set_number(facts, "job.consequences", (double)consequences, WO_EVENT_NONE);
  if (job->story.rank_count > 0) set_number(facts, "job.ranks", job->story.rank_count, WO_EVENT_NONE);
  if (!failure) return;
  set_text(facts, "job.end_text", end_text(facts, failure), failure->id);
  set_text(facts, "job.exception", wo_event_text(failure, WO_FIELD_EXCEPTION), failure->id);
}

/* ---- Traces ---- */

/* The card with the highest peak: which one the job failed on is numbered differently by nvidia-smi and CUDA. */
static const struct wo_report_monitor *find_fullest(const struct wo_report_monitor *monitors, size_t count) {
  const struct wo_report_monitor *best = NULL;
  for (size_t i = 0; i < count; i++) {
    if (monitors[i].samples < 2) continue;
    if (best == NULL || monitors[i].fb_peak_bytes.value > best->fb_peak_bytes.value) best = &monitors[i];
  }
  return best;
}

static void set_bytes(struct wo_facts *facts, const char *name, struct wo_report_figure figure, wo_event_id evidence) {
  if (figure.is_known) wo_facts_set(facts, name, wo_value_exact(WO_UNIT_BYTES, figure.value), evidence);
}

static void set_share(struct wo_facts *facts, const char *name, struct wo_report_figure pct, wo_event_id evidence) {
  if (pct.is_known) set_number(facts, name, pct.value / 100, evidence);
}

/* Rise is told from the first to the last sample: a slope per second would need times, which many traces lack, and says little
 * without the trace's length. */
static void read_fullest(struct wo_facts *facts, const struct wo_report_monitor *best) {
  set_bytes(facts, "dmon.fb_peak", best->fb_peak_bytes, best->evidence);
  set_bytes(facts, "dmon.capacity", best->capacity_bytes, best->evidence);
  set_bytes(facts, "dmon.fb_late_rise", best->fb_late_rise_bytes, best->evidence);
  set_share(facts, "dmon.sm_mean", best->sm_mean_pct, best->evidence);
  set_share(facts, "dmon.sm_active_mean", best->sm_active_mean_pct, best->evidence);
  set_share(facts, "dmon.idle", best->idle_pct, best->evidence);
  if (best->fb_peak_bytes.is_known && best->capacity_bytes.is_known) {
    const double room = best->capacity_bytes.value - best->fb_peak_bytes.value;
    set_bytes(facts, "dmon.headroom", (struct wo_report_figure){true, room > 0 ? room : 0}, best->evidence);
  }
  if (best->fb_slope_bytes_per_sample.is_known) {
    const double rise = best->fb_slope_bytes_per_sample.value * (double)(best->samples - 1);
    set_bytes(facts, "dmon.fb_slope", (struct wo_report_figure){true, rise}, best->evidence);
  }
}

/* The most cards that one file shows: two files may be of two nodes, or of the same cards. */
static size_t count_cards(const struct wo_report_monitor *monitors, size_t count) {
  size_t most = 0;
  size_t cards = 0;
  for (size_t i = 0; i < count; i++) {
    if (i > 0 && monitors[i].file != monitors[i - 1].file) cards = 0;
    if (monitors[i].samples >= 2 && ++cards > most) most = cards;
  }
  return most;
}

/* The cards among each other. */
static void read_spread(struct wo_facts *facts, const struct wo_report_monitor *monitors, size_t count, wo_event_id evidence) {
  double lowest = 0;
  double highest = 0;
  size_t known = 0;
  for (size_t i = 0; i < count; i++) {
    if (monitors[i].samples < 2 || !monitors[i].fb_peak_bytes.is_known) continue;
    const double peak = monitors[i].fb_peak_bytes.value;
    if (known == 0 || peak < lowest) lowest = peak;
    if (known == 0 || peak > highest) highest = peak;
    known++;
  }
  set_number(facts, "dmon.gpu_count", (double)count_cards(monitors, count), evidence);
  if (known > 1) set_bytes(facts, "dmon.fb_spread", (struct wo_report_figure){true, highest - lowest}, evidence);
}

static enum wo_status read_monitors(struct wo_facts *facts) {
  const struct wo_report_monitor *monitors = NULL;
  const struct wo_report_process *processes = NULL;
  size_t count = 0;
  size_t process_count = 0;
  enum wo_status status = wo_monitors_make(facts->job, facts->arena, &monitors, &count);
  if (status == WO_OK) status = wo_processes_make(facts->job, facts->arena, &processes, &process_count);
  if (status != WO_OK) return status;
  if (process_count > 0) set_number(facts, "dmon.process_count", (double)process_count, processes[0].evidence);
  const struct wo_report_monitor *const best = find_fullest(monitors, count);
  if (best == NULL) return WO_OK;
  read_fullest(facts, best);
  read_spread(facts, monitors, count, best->evidence);
  return WO_OK;
}

/* The figures of one field keep the interval in which the printed number lies. */
static void set_field(struct wo_facts *facts, const char *name, enum wo_unit unit, const struct wo_event *event,
                      enum wo_field_id id) {
  const struct wo_field *const field = wo_event_field(event, id);
  if (field) wo_facts_set(facts, name, wo_value_number(unit, field->number), event->id);
}

/* The last table tells most: its counts are those of the whole run until then. */
static void read_summary(struct wo_facts *facts) {
  const struct wo_event *last = NULL;
  for (size_t i = 0; i < facts->job->events.count; i++) {
    const struct wo_event *const event = &facts->job->events.items[i];
    if (event->kind == WO_KIND_MEMORY_USE && event->mark == WO_MARK_ALLOCATOR_SUMMARY) last = event;
  }
  if (last == NULL) return;
  set_field(facts, "summary.allocated_peak", WO_UNIT_BYTES, last, WO_FIELD_PEAK_BYTES);
  set_field(facts, "summary.reserved_peak", WO_UNIT_BYTES, last, WO_FIELD_PEAK_RESERVED_BYTES);
  set_field(facts, "summary.reserved", WO_UNIT_BYTES, last, WO_FIELD_RESERVED_BYTES);
  set_field(facts, "summary.allocated", WO_UNIT_BYTES, last, WO_FIELD_ALLOCATED_BYTES);
  set_field(facts, "summary.active", WO_UNIT_BYTES, last, WO_FIELD_ACTIVE_BYTES);
  set_field(facts, "summary.non_releasable", WO_UNIT_BYTES, last, WO_FIELD_NON_RELEASABLE_BYTES);
  set_field(facts, "summary.oom_count", WO_UNIT_NUMBER, last, WO_FIELD_OOM_COUNT);
  set_field(facts, "summary.retries", WO_UNIT_NUMBER, last, WO_FIELD_RETRY_COUNT);
}

enum wo_status wo_facts_make(const struct wo_job *job, const struct wo_pack *pack, struct wo_arena *arena,
                             struct wo_facts *ret_facts) {
  struct wo_facts *facts = ret_facts;
  *facts = (struct wo_facts){.job = job, .pack = pack, .arena = arena, .row_count = FACT_COUNT};
  facts->rows = wo_arena_array(arena, FACT_COUNT, sizeof *facts->rows);
  if (!facts->rows) return WO_E_NOMEM;
  for (size_t i = 0; i < FACT_COUNT; i++) {
    facts->rows[i] =
        (struct wo_fact_row){wo_view_of(fact_table[i].name), fact_table[i].unit, wo_value_unknown(fact_table[i].unit)};
  }
  enum wo_status status = wo_facts_read_settings(facts);
  if (status == WO_OK) status = wo_facts_read_alloc_conf(facts);
  if (status == WO_OK) status = read_monitors(facts);
  if (status != WO_OK) return status;
  read_summary(facts);
  count_events(facts);
  read_failure(facts);
  wo_facts_read_memory(facts);
  read_frameworks(facts);
  read_sharding(facts);
  wo_facts_read_model(facts);
  read_host(facts);
  read_requests(facts);
  read_job(facts);
  wo_facts_read_torch(facts);
  wo_facts_read_signs(facts);
  wo_facts_read_ending(facts);
  wo_facts_read_host_use(facts);
  wo_facts_read_workload(facts);
  wo_facts_read_ranks(facts);
  wo_facts_read_restarts(facts);
  wo_facts_read_sizes(facts);
  status = wo_facts_read_steps(facts);
  if (status == WO_OK) status = wo_facts_read_rows(facts);
  if (status != WO_OK) return status;
  return wo_arena_is_exhausted(arena) ? WO_E_NOMEM : WO_OK;
}

struct wo_value wo_facts_get(const struct wo_facts *facts, struct wo_view name) {
  if (wo_view_starts(name, "config.")) {
    const struct wo_setting *setting = wo_facts_setting(facts, wo_view_skip(name, 7));
    const struct wo_knob *knob = wo_pack_knob(facts->pack, wo_view_skip(name, 7));
    return setting ? setting->value : wo_value_unknown(knob ? knob->unit : WO_UNIT_NONE);
  }
  if (wo_view_starts(name, "count.")) {
    const enum wo_kind kind = wo_kind_find(wo_view_skip(name, 6));
    return wo_value_exact(WO_UNIT_NUMBER, (double)facts->counts[kind]);
  }
  const struct wo_fact_row *const row = find_row(facts, name);
  return row != NULL ? row->value : wo_facts_get_event_fact(facts, name);
}

static struct wo_value get_from_source(void *context, struct wo_view name) {
  return wo_facts_get(context, name);
}

static size_t count_rows(void *context, enum wo_rows rows) {
  const struct wo_facts *facts = context;
  return rows == WO_ROWS_RANK ? facts->ranks.row_count : facts->cards.row_count;
}

static struct wo_value get_from_row(void *context, size_t row, struct wo_view name) {
  return wo_facts_get_row(context, row, name);
}

struct wo_facts_source wo_facts_source(const struct wo_facts *facts) {
  union {
    const struct wo_facts *in;
    void *out;
  } cast = {.in = facts};
  return (struct wo_facts_source){.get = get_from_source, .context = cast.out, .row_count = count_rows, .get_row = get_from_row};
}
