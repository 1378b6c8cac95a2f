/* Tells the story: roles of events, the first failure that was not survived, and the outcome.
 *
 * Order of evidence: memory that ran out and was not survived; then what the workload manager says (time limit, preemption,
 * node); then the program's own errors; then collective time-outs; a plain cancellation, a kill without reason and bad exit codes
 * last, because they follow from the others. Of two that say the same, a line of a log counts more than a state of accounting. */
#include "analyzer/story.h"

#include <assert.h>

#include "analyzer/names.h"
#include "analyzer/rank_infer.h"

/* Lines between a message and the traceback that it ends, when wrapping or loggers push them apart. */
#define TRACEBACK_LINES 6

/* Events on either side within which related ones are looked for. */
#define NEIGHBOURS 256

wo_event_id wo_story_traceback_of(const struct wo_job *job, const struct wo_event *event) {
  /* What the workload manager or the kernel says belongs to no traceback, however near one stands. */
  const enum wo_class class = wo_kind_class(event->kind);
  if (event->kind == WO_KIND_CGROUP_OOM || class == WO_CLASS_ENDING || class == WO_CLASS_EXIT) return WO_EVENT_NONE;
  for (wo_event_id id = event->id - 1; id >= 0 && event->id - id <= NEIGHBOURS; id--) {
    const struct wo_event *other = &job->events.items[id];
    if (other->kind != WO_KIND_TRACEBACK || other->span.file != event->span.file || other->rank != event->rank) continue;
    if (other->span.line <= event->span.line && event->span.line - other->span.line <= TRACEBACK_LINES) return id;
  }
  return WO_EVENT_NONE;
}

/* Hints are plain texts, looked for in path, function and line of code alike. */
static bool hint_matches(const struct wo_phase_hint *hint, struct wo_view frame) {
  for (size_t i = 0; i < hint->any_of_count; i++) {
    if (wo_view_find(frame, hint->any_of[i], 0) != WO_NOT_FOUND) return true;
  }
  return false;
}

/* These two hints tell what kind of tensor was wanted, and stand in the same list as the phases of a step. */
static bool is_nature(struct wo_view name) {
  return wo_view_is(name, "attention") || wo_view_is(name, "logits");
}

struct wo_view wo_story_phase(const struct wo_pack *pack, struct wo_view frames) {
  for (size_t i = 0; i < pack->phase_count; i++) {
    const struct wo_phase_hint *hint = &pack->phases[i];
    if (!is_nature(hint->phase) && hint_matches(hint, frames)) return hint->phase;
  }
  return (struct wo_view){0};
}

/* The last `count` frames of "…;path|function|code;path|function|code". */
static struct wo_view innermost(struct wo_view frames, size_t count) {
  size_t at = frames.len;
  while (count > 0 && at > 0) {
    at--;
    if (frames.ptr[at] == ';') count--;
  }
  return wo_view_skip(frames, at);
}

bool wo_story_frames_show(const struct wo_pack *pack, struct wo_view frames, const char *name) {
  const struct wo_view inner = innermost(frames, 4);
  for (size_t i = 0; i < pack->phase_count; i++) {
    if (wo_view_is(pack->phases[i].phase, name) && hint_matches(&pack->phases[i], inner)) return true;
  }
  return false;
}

/* ---- Candidates ---- */

/* Outcome that an event stands for, if it is what the job died of. */
static enum wo_outcome outcome_of(const struct wo_event *event) {
  switch (event->kind) {
  case WO_KIND_TIME_LIMIT:
    return WO_OUTCOME_TIME_LIMIT;
  case WO_KIND_CANCELLED:
    return WO_OUTCOME_CANCELLED;
  case WO_KIND_PREEMPTED:
    return WO_OUTCOME_PREEMPTED;
  case WO_KIND_NODE_FAIL:
    return WO_OUTCOME_NODE_FAIL;
  case WO_KIND_LAUNCH_FAIL:
    return WO_OUTCOME_OTHER;
  case WO_KIND_SEGFAULT:
    return WO_OUTCOME_SEGFAULT;
  case WO_KIND_NCCL_TIMEOUT:
    return WO_OUTCOME_NCCL;
  case WO_KIND_DISK:
    return WO_OUTCOME_DISK;
  case WO_KIND_XID:
  case WO_KIND_HARDWARE:
    return WO_OUTCOME_HARDWARE;
  default:
    break;
  }
  switch (wo_kind_class(event->kind)) {
  case WO_CLASS_GPU_MEMORY:
    return WO_OUTCOME_GPU_OOM;
  case WO_CLASS_HOST_MEMORY:
    return WO_OUTCOME_HOST_OOM;
  case WO_CLASS_PROGRAM:
    return WO_OUTCOME_PROGRAM_ERROR;
  case WO_CLASS_EXIT:
    return WO_OUTCOME_OTHER;
  default:
    return WO_OUTCOME_UNKNOWN;
  }
}

/* Evidence of a host kill that a cancellation or time limit explains as well: a SIGKILL without a word about memory. */
static bool is_weak_kill(const struct wo_event *event) {
  const struct wo_view signal = wo_event_text(event, WO_FIELD_SIGNAL);
  const bool is_sigkill = wo_view_is(signal, "Killed") || wo_view_is(signal, "9");
  return event->kind == WO_KIND_HOST_OOM && (is_sigkill || wo_event_field(event, WO_FIELD_EXIT_CODE));
}

/* Events that belong to another one (`of`), such as progress around a failure, are never what a job died of. */
static bool is_candidate(const struct wo_event *event) {
  if (event->is_quoted || event->of != WO_EVENT_NONE) return false;
  if (event->kind == WO_KIND_TRACEBACK) return !wo_story_is_echo(event);
  return outcome_of(event) != WO_OUTCOME_UNKNOWN;
}

/* Kinds that say more than the traceback around them. */
static bool is_specific(const struct wo_event *event) {
  const enum wo_class class = wo_kind_class(event->kind);
  return class == WO_CLASS_GPU_MEMORY || class == WO_CLASS_HOST_MEMORY || class == WO_CLASS_HARDWARE ||
         event->kind == WO_KIND_DISK;
}

/* A traceback or error that only frames a more specific message belongs to it. */
static bool is_frame(const struct wo_job *job, const struct wo_event *event) {
  if (event->kind != WO_KIND_TRACEBACK && event->kind != WO_KIND_PROGRAM_ERROR) return false;
  const size_t first = (size_t)event->id;
  for (size_t i = first; i < job->events.count && i - first <= NEIGHBOURS; i++) {
    const struct wo_event *other = &job->events.items[i];
    if (!is_specific(other) || other->is_quoted) continue;
    if (other->span.file != event->span.file || other->rank != event->rank) continue;
    if (other->span.line >= event->span.line && other->span.line - event->span.line <= TRACEBACK_LINES) return true;
  }
  return false;
}

/* Strength with which an event claims to be what the job died of; higher wins, then the earlier one. */
enum claim { CLAIM_NONE, CLAIM_EXIT, CLAIM_CANCELLED, CLAIM_NCCL, CLAIM_PROGRAM, CLAIM_ENDING, CLAIM_MEMORY };

static enum claim claim_of(const struct wo_event *event) {
  switch (wo_kind_class(event->kind)) {
  case WO_CLASS_GPU_MEMORY:
    return CLAIM_MEMORY;
  case WO_CLASS_HOST_MEMORY:
    return is_weak_kill(event) ? CLAIM_PROGRAM : CLAIM_MEMORY;
  case WO_CLASS_ENDING:
    return event->kind == WO_KIND_CANCELLED ? CLAIM_CANCELLED : CLAIM_ENDING;
  case WO_CLASS_HARDWARE:
    return CLAIM_ENDING;
  case WO_CLASS_PROGRAM:
    return event->kind == WO_KIND_NCCL_TIMEOUT ? CLAIM_NCCL : CLAIM_PROGRAM;
  case WO_CLASS_EXIT:
    return CLAIM_EXIT;
  default:
    return CLAIM_NONE;
  }
}

static bool is_memory_claim(const struct wo_event *event) {
  const enum wo_class class = wo_kind_class(event->kind);
  return class == WO_CLASS_GPU_MEMORY || class == WO_CLASS_HOST_MEMORY;
}

/* Order in which things stand in the inputs: files as given, then lines. */
static bool is_earlier(const struct wo_event *a, const struct wo_event *b) {
  if (a->span.file != b->span.file) return a->span.file < b->span.file;
  return a->span.line < b->span.line;
}

/* A cancellation before an error of the program explains that error, unless it is itself the answer to a task's failure. */
static bool is_stopped_by(const struct wo_event *error, const struct wo_event *stop) {
  if (stop->kind != WO_KIND_CANCELLED || claim_of(error) != CLAIM_PROGRAM || stop->span.file != error->span.file) return false;
  if (wo_story_is_accounting(stop)) return false;
  return is_earlier(stop, error) && !wo_view_is(wo_event_text(stop, WO_FIELD_REASON), "TASK FAILURE");
}

/* Of two equal claims the earlier wins: the first failure pulls the others after it, as ranks wait for each other. */
static bool wins(const struct wo_event *event, const struct wo_event *best) {
  if (!best || is_stopped_by(best, event)) return true;
  if (is_stopped_by(event, best)) return false;
  const enum claim a = claim_of(event);
  const enum claim b = claim_of(best);
  if (a != b) return a > b;
  const bool is_row = wo_story_is_accounting(event);
  if (is_row != wo_story_is_accounting(best)) return !is_row;
  return is_earlier(event, best);
}

/* Opens the candidates, and closes those memory failures that the program went on after. is_open has a place for each event. */
static void assign_recovered(struct wo_job *job, bool *is_open) {
  struct wo_story *story = &job->story;
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    is_open[i] = is_candidate(event) && !is_frame(job, event);
    if (!is_open[i] || !is_memory_claim(event) || !wo_story_survived(job, i)) continue;
    story->roles[i] = WO_ROLE_RECOVERED;
    is_open[i] = false;
  }
}

/* Kills without a word about memory count for nothing once the workload manager says that it ended the job. */
static void drop_explained_kills(const struct wo_job *job, bool *is_open) {
  bool is_ended = false;
  for (size_t i = 0; i < job->events.count; i++) {
    if (is_open[i] && wo_kind_class(job->events.items[i].kind) == WO_CLASS_ENDING) is_ended = true;
  }
  for (size_t i = 0; is_ended && i < job->events.count; i++) {
    if (is_weak_kill(&job->events.items[i])) is_open[i] = false;
  }
}

/* Whether the state that a job ended in shows that this line of a log was not its end. A log that holds several starts shows how
 * the earlier ones ended; and a step that was cancelled while the job FAILED was ended by srun, not by a user. */
static bool is_outlived(const struct wo_event *event, struct wo_view state) {
  const bool is_failed = wo_view_is(state, "FAILED");
  const bool is_later =
      is_failed || wo_view_is(state, "COMPLETED") || wo_view_is(state, "OUT_OF_MEMORY") || wo_view_is(state, "TIMEOUT");
  if (wo_story_is_accounting(event)) return false;
  if (event->kind == WO_KIND_CANCELLED) return is_failed && wo_event_field(event, WO_FIELD_STEP_ID);
  return event->kind == WO_KIND_PREEMPTED && is_later;
}

/* A step's cancellation is still told, as a consequence of what ended the job. */
static void drop_outlived(struct wo_job *job, bool *is_open) {
  const struct wo_view state = wo_story_final_state(job);
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    if (!is_open[i] || !is_outlived(event, state)) continue;
    is_open[i] = false;
    if (event->kind == WO_KIND_CANCELLED) job->story.roles[i] = WO_ROLE_CONSEQUENCE;
  }
}

/* The failing rank that torchelastic names, or WO_RANK_UNKNOWN. */
static int32_t root_rank(const struct wo_job *job) {
  const struct wo_event *best = NULL;
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    if (event->kind != WO_KIND_ELASTIC || event->rank == WO_RANK_UNKNOWN) continue;
    if (!best || (event->time_ns != WO_TIME_UNKNOWN && event->time_ns < best->time_ns)) best = event;
  }
  return best ? best->rank : WO_RANK_UNKNOWN;
}

/* The strongest claim; where torchelastic names the rank that failed first, that rank's own report of the same thing, as clocks
 * of nodes and the buffering of pipes shuffle lines. */
static const struct wo_event *choose_failure(const struct wo_job *job, const bool *is_open) {
  const struct wo_event *best = NULL;
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    if (is_open[i] && wins(event, best)) best = event;
  }
  const int32_t rank = root_rank(job);
  if (!best || rank == WO_RANK_UNKNOWN || best->rank == rank) return best;
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    if (is_open[i] && event->rank == rank && claim_of(event) == claim_of(best) && event->kind == best->kind) return event;
  }
  return best;
}

/* ---- What surrounds the failure ---- */

/* Roles that are given already stay. Repeats are reports of the same kind, of other ranks or of the same one; all else that looks
 * like an end follows from the failure. */
static void assign_roles(struct wo_job *job, const bool *is_open, const struct wo_event *failure) {
  struct wo_story *story = &job->story;
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    const bool is_echo =
        wo_kind_class(event->kind) == WO_CLASS_CONSEQUENCE || (event->kind == WO_KIND_TRACEBACK && wo_story_is_echo(event));
    if (story->roles[i] != WO_ROLE_NONE || event->is_quoted) continue;
    if (event == failure) {
      story->roles[i] = WO_ROLE_FAILURE;
    } else if (wo_story_is_accounting(event)) {
      continue; /* the same end once more */
    } else if (is_open[i] && failure && event->kind == failure->kind && is_memory_claim(event)) {
      story->roles[i] = WO_ROLE_REPEAT;
    } else if (is_echo || is_open[i]) {
      story->roles[i] = WO_ROLE_CONSEQUENCE;
    }
  }
}

/* Progress before the failure only; lines after it are of ranks that had not noticed. The newest was found first, so the first
 * one counts. */
static void read_progress(struct wo_job *job, const struct wo_event *failure) {
  struct wo_story *story = &job->story;
  for (size_t i = 0; failure && i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    const bool is_its_own = event->of == failure->id || (event->of != WO_EVENT_NONE && event->of == story->traceback);
    if (event->kind != WO_KIND_PROGRESS || !is_its_own || event->span.line > failure->span.line) continue;
    if (story->step < 0) {
      story->step = (int64_t)wo_event_number(event, WO_FIELD_STEP, -1);
      story->step_total = (int64_t)wo_event_number(event, WO_FIELD_STEP_TOTAL, -1);
      story->step_unit = wo_event_text(event, WO_FIELD_NAME);
    }
    if (story->phase.len == 0) story->phase = wo_event_text(event, WO_FIELD_PHASE);
  }
}

/* The traceback's frames are better than progress lines: a bar says "train" during the backward pass too. */
static void read_phase(struct wo_job *job) {
  const struct wo_event *traceback = wo_event_get(&job->events, job->story.traceback);
  if (traceback) job->story.phase = wo_story_phase(job->pack, wo_event_text(traceback, WO_FIELD_FRAMES));
}

/* What accounting says when nothing else tells of a failure: the job finished, or has not ended yet. */
static enum wo_outcome outcome_of_state(const struct wo_job *job) {
  const struct wo_view state = wo_story_final_state(job);
  return wo_view_is(state, "COMPLETED") ? WO_OUTCOME_SUCCESS : WO_OUTCOME_UNKNOWN;
}

/* A log without any failure: it finished, unless its last progress bar shows that it stopped half-way. */
static enum wo_outcome outcome_without_failure(const struct wo_job *job) {
  uint64_t lines = 0;
  for (size_t i = 0; i < job->input_count; i++) lines += job->inputs[i].lines;
  const struct wo_event *last = NULL;
  bool has_consequence = false;
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    if (event->kind == WO_KIND_SUCCESS) return WO_OUTCOME_SUCCESS;
    if (job->story.roles[i] == WO_ROLE_CONSEQUENCE) has_consequence = true;
    if (event->kind == WO_KIND_PROGRESS && event->of == WO_EVENT_NONE) last = event;
  }
  if (has_consequence) return WO_OUTCOME_OTHER;
  if (wo_story_final_state(job).len > 0) return outcome_of_state(job);
  if (lines == 0) return WO_OUTCOME_UNKNOWN;
  if (!last) return WO_OUTCOME_SUCCESS;
  const double total = wo_event_number(last, WO_FIELD_STEP_TOTAL, -1);
  return total > 0 && wo_event_number(last, WO_FIELD_STEP, 0) < total ? WO_OUTCOME_UNKNOWN : WO_OUTCOME_SUCCESS;
}

/* ---- Names and numbers of the job ---- */

/* Each name once. Names are few and the room is small: a job on more nodes is listed by its first ones. */
static void add_node(struct wo_story *story, struct wo_view node) {
  if (node.len == 0 || story->node_count == sizeof story->nodes / sizeof story->nodes[0]) return;
  for (size_t i = 0; i < story->node_count; i++) {
    if (wo_view_equal(story->nodes[i], node)) return;
  }
  story->nodes[story->node_count++] = node;
}

/* Ranks that the launch line starts: processes per node times nodes; 0 when it does not tell. */
static int32_t ranks_launched(const struct wo_job *job) {
  double per_node = 0;
  double nodes = 1;
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    struct wo_view value = wo_event_text(event, event->kind == WO_KIND_SBATCH ? WO_FIELD_NODES : WO_FIELD_VALUE);
    uint64_t number = 0;
    if (wo_number_u64(&value, 100000, &number) != WO_OK || value.len > 0 || number == 0) continue;
    if (event->kind == WO_KIND_SBATCH) nodes = (double)number;
    if (event->kind == WO_KIND_CONFIG && wo_view_is(wo_event_text(event, WO_FIELD_KNOB), "n_gpus")) per_node = (double)number;
  }
  const double ranks = per_node * nodes;
  return ranks < 1e6 ? (int32_t)ranks : 0;
}

/* SLURM's list "gpu[01-04]" is taken apart name by name; a new name lies in a buffer of the caller and is copied. False stops the
 * walk when the room is full. */
static bool add_listed_node(void *context, struct wo_view node) {
  struct wo_job *job = context;
  struct wo_story *story = &job->story;
  const size_t before = story->node_count;
  add_node(story, node);
  if (story->node_count > before) story->nodes[before] = wo_arena_copy(&job->arena, node);
  return story->node_count < sizeof story->nodes / sizeof story->nodes[0];
}

/* Nodes that were allocated, and tasks that were started. A single task may start ranks of its own, so it tells nothing. */
static void read_allocation(struct wo_job *job, const struct wo_event *event) {
  struct wo_story *story = &job->story;
  if (event->kind != WO_KIND_JOB_INFO || wo_event_field(event, WO_FIELD_STEP_ID)) return;
  wo_name_each_host(wo_event_text(event, WO_FIELD_NODES), add_listed_node, job);
  struct wo_view tasks = wo_event_text(event, WO_FIELD_TASKS);
  uint64_t number = 0;
  if (story->rank_count < 0 && wo_number_u64(&tasks, 1000000, &number) == WO_OK && number > 1)
    story->rank_count = (int32_t)number;
  const double task = wo_event_number(event, WO_FIELD_ARRAY_TASK, -1);
  if (story->array_task < 0 && task >= 0) story->array_task = (int64_t)task;
}

/* The job's id, its nodes and the number of ranks. Context lines name hosts that are only mentioned (a rendezvous endpoint, a
 * file server), so their hosts do not count. */
static void read_names(struct wo_job *job) {
  struct wo_story *story = &job->story;
  int32_t highest = -1;
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    if (event->is_quoted && wo_story_is_accounting(event)) continue;
    struct wo_view id = wo_event_text(event, WO_FIELD_JOB);
    if (id.len == 0) id = wo_event_text(event, WO_FIELD_STEP_ID);
    if (story->job_id.len == 0 && id.len > 0) story->job_id = wo_view_cut(&id, '.');
    if (event->rank > highest) highest = event->rank;
    if (wo_kind_class(event->kind) != WO_CLASS_CONTEXT || event->kind == WO_KIND_ELASTIC) {
      add_node(story, event->host.len > 0 ? event->host : wo_event_text(event, WO_FIELD_HOST));
    }
  }
  const int32_t launched = ranks_launched(job);
  story->rank_count = highest + 1 > launched ? highest + 1 : launched;
  if (story->rank_count == 0) story->rank_count = -1;
  for (size_t i = 0; i < job->events.count; i++) {
    if (!job->events.items[i].is_quoted) read_allocation(job, &job->events.items[i]);
  }
  for (size_t i = 0; i < job->input_count && story->job_id.len == 0; i++) {
    story->job_id = wo_name_job(job->inputs[i].path, &story->array_task);
  }
}

/* The failure and its traceback are of one rank. */
static void set_rank(struct wo_job *job, int32_t rank) {
  struct wo_event *traceback = wo_event_get(&job->events, job->story.traceback);
  if (rank == WO_RANK_UNKNOWN) return;
  wo_event_get(&job->events, job->story.failure)->rank = rank;
  if (traceback) traceback->rank = rank;
}

enum wo_status wo_story_tell(struct wo_job *job) {
  struct wo_story *story = &job->story;
  const size_t count = job->events.count;
  *story =
      (struct wo_story){.failure = WO_EVENT_NONE, .traceback = WO_EVENT_NONE, .step = -1, .step_total = -1, .array_task = -1};
  story->roles = wo_arena_array(&job->arena, count + 1, sizeof *story->roles);
  bool *is_open = wo_arena_array(&job->arena, count + 1, sizeof *is_open);
  if (!story->roles || !is_open) return WO_E_NOMEM;
  wo_story_choose_accounting(job);
  assign_recovered(job, is_open);
  drop_explained_kills(job, is_open);
  drop_outlived(job, is_open);
  const struct wo_event *failure = choose_failure(job, is_open);
  if (failure) {
    story->failure = failure->id;
    story->outcome = outcome_of(failure);
    story->outcome_evidence[story->outcome_evidence_count++] = failure->id;
    story->traceback = failure->kind == WO_KIND_TRACEBACK ? failure->id : wo_story_traceback_of(job, failure);
    set_rank(job, wo_rank_infer(job, failure));
  }
  assign_roles(job, is_open, failure);
  if (!failure) story->outcome = outcome_without_failure(job);
  read_phase(job);
  read_progress(job, failure);
  read_names(job);
  return WO_OK;
}
