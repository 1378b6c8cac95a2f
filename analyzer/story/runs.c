/* SPDX-License-Identifier: Apache-2.0 */
/* The runs in a log: where one start of the program ends and the next begins.
 *
 * Logs with a fixed name grow with each job, requeued jobs continue their file, launchers restart failed processes. A new run
 * begins where another job id appears, where the launcher or the workload manager reports a restart, and where a start banner of
 * the program appears again after an end. A program that caught its failure and goes on is one run. */
#include "analyzer/story/story_internal.h"

/* Banners of a run that are remembered, and job ids of a file. */
#define BANNERS_MAX 8
#define IDS_MAX 64

/* Steps that a run must have done for its successor to be told by steps that start again. */
#define STEPS_DONE 10
#define EPOCHS_DONE 0.5

/* Lines after an exception in which its message may go on. */
#define MESSAGE_LINES 8

/* A walk over the events of one file. */
struct walk {
  struct wo_story *story;
  uint32_t file;
  struct wo_run run;       /* the one being read */
  uint64_t end_line;       /* of the last end in it; 0 if there is none */
  uint64_t failure_line;   /* of the last end or failure of any sort in it; 0 if there is none */
  uint64_t trouble_line;   /* the same, or of what follows from one */
  uint64_t over_line;      /* the last line of its job; 0 if it is not over */
  uint64_t id_line;        /* where its job was last named; 0 = nowhere */
  bool is_starting;        /* the program is started again after that end */
  bool has_mixed_ids;      /* two jobs write to the file at once: ids divide nothing */
  bool is_uncaught;        /* that end is an exception that nothing caught */
  double step, step_total; /* progress last seen before it, and what that counts */
  struct wo_view step_name;
  bool is_alone;                  /* one process writes to the file, as far as it shows */
  const struct wo_event *death;   /* the last exception that nothing caught */
  const struct wo_event *refusal; /* the last command line that the program refused */
  struct banner {
    struct wo_view pattern;
    struct wo_view program; /* that a line of the shell starts; empty for others */
  } banners[BANNERS_MAX];
  size_t banner_count;
};

/* The id of the job that writes here. Lines of context name other jobs, such as dependencies; LSF's report names the job whose
 * output is above. */
static struct wo_view writer_of(const struct wo_event *event) {
  const bool is_report = event->kind == WO_KIND_RUN_START || event->mark == WO_MARK_LSF_REPORT;
  const bool is_context = wo_kind_class(event->kind) == WO_CLASS_CONTEXT && !is_report;
  return is_context || wo_story_is_accounting(event) ? (struct wo_view){0} : wo__job_id_of(event);
}

/* Whether two jobs wrote these lines at the same moment, because both ended then. A job that starts writes a header instead. */
static bool are_side_by_side(const struct wo_event *a, const struct wo_event *b) {
  return b->kind != WO_KIND_RUN_START && b->span.line - a->span.line <= 1;
}

/* Whether an id appears again after another one, or two jobs end at the same moment: then both wrote at the same time. */
static bool has_mixed_ids(const struct wo_job *job, size_t from, size_t to) {
  struct wo_view seen[IDS_MAX];
  size_t count = 0;
  const struct wo_event *last = NULL;
  for (size_t i = from; i < to; i++) {
    const struct wo_event *event = &job->events.items[i];
    const struct wo_view id = event->is_quoted ? (struct wo_view){0} : writer_of(event);
    if (id.len == 0) continue;
    const bool is_new = count == 0 || !wo_view_equal(seen[count - 1], id);
    if (is_new && last && are_side_by_side(last, event)) return true;
    last = event;
    if (!is_new) continue;
    for (size_t k = 0; k < count; k++) {
      if (wo_view_equal(seen[k], id)) return true;
    }
    if (count == IDS_MAX) return true;
    seen[count++] = id;
  }
  return false;
}

/* Whether the program or the job ended here. A memory message alone is no end: the program may have caught it. */
static bool is_end(const struct wo_event *event) {
  const enum wo_class class = wo_kind_class(event->kind);
  return event->kind == WO_KIND_TRACEBACK || event->kind == WO_KIND_PROGRAM_ERROR || event->kind == WO_KIND_ELASTIC ||
         event->kind == WO_KIND_RESTART || event->kind == WO_KIND_SUCCESS || class == WO_CLASS_ENDING || class == WO_CLASS_EXIT;
}

/* Whether a traceback reports a signal. The workload manager first prints its line and then sends the signal, so this traceback
 * may come after the line and still belong to the run that it ends. */
static bool is_answer_to_signal(const struct wo_event *traceback) {
  static const char *const exceptions[] = {"KeyboardInterrupt", "SignalException", "SignalHandler"};
  static const char *const messages[] = {"killed by signal", "eceived signal", "eceived SIG", "got signal", "SIGTERM", "SIGUSR"};
  if (WO_VIEW_ANY(wo_event_text(traceback, WO_FIELD_EXCEPTION), wo_view_has, exceptions)) return true;
  return WO_VIEW_ANY(wo_event_text(traceback, WO_FIELD_MESSAGE), wo_view_has, messages);
}

/* Whether only a program that runs again prints this. */
static bool is_sign_of_life(const struct wo_event *event) {
  return event->kind == WO_KIND_PROGRESS || event->kind == WO_KIND_RUN_START || wo_story_is_memory(event) ||
         (event->kind == WO_KIND_TRACEBACK && !wo_story_is_echo(event) && !is_answer_to_signal(event));
}

static struct banner banner_of(const struct wo_event *event) {
  return (struct banner){event->pattern_id, wo_event_text(event, WO_FIELD_PROGRAM)};
}

/* Another script that the shell starts is the next stage of a job, not its next run. */
static bool is_known_banner(const struct walk *walk, const struct wo_event *event) {
  const struct banner banner = banner_of(event);
  for (size_t i = 0; i < walk->banner_count; i++) {
    const struct banner *const known = &walk->banners[i];
    if (wo_view_equal(known->pattern, banner.pattern) && wo_view_equal(known->program, banner.program)) return true;
  }
  return false;
}

/* Whether the numbers of the steps start again: the program does too, if nothing caught what had ended it. Of several processes
 * another one may print its own steps late, until the launcher tells of the end. */
static bool has_steps_again(const struct walk *walk, const struct wo_event *event) {
  const bool is_epoch = wo_view_is(walk->step_name, "epoch");
  if (event->kind != WO_KIND_PROGRESS || !walk->is_uncaught || walk->step < (is_epoch ? EPOCHS_DONE : STEPS_DONE)) return false;
  if (!walk->is_alone && walk->end_line <= walk->death->span.line) return false;
  const double step = wo_event_number(event, WO_FIELD_STEP, -1);
  const bool is_same_count = wo_event_number(event, WO_FIELD_STEP_TOTAL, -1) == walk->step_total &&
                             wo_view_equal(wo_event_text(event, WO_FIELD_NAME), walk->step_name);
  return step >= 0 && step < walk->step / 2 && is_same_count;
}

/* Whether a script that died of an exception fails with another sort of one, which a framework may catch to say more below: it
 * was started again in between. Where several processes write, each may tell of its own; and ranks that nobody names fail
 * alike. */
static bool is_script_again(struct wo_job *job, const struct walk *walk, const struct wo_event *event) {
  const struct wo_event *const death = walk->death;
  if (!walk->is_alone || !death || event->kind != WO_KIND_TRACEBACK) return false;
  if (wo__is_chained(event) || wo_story_is_echo(event) || wo_story_is_echo(death)) return false;
  if (wo_view_equal(wo_event_text(death, WO_FIELD_EXCEPTION), wo_event_text(event, WO_FIELD_EXCEPTION))) return false;
  const struct wo_view script = wo__script_of(job, death);
  return !wo_view_is(script, "<stdin>") && wo_view_equal(script, wo__script_of(job, event)); /* a session reads the next line */
}

/* Whether a program refused its command line, which ends it at once. */
static bool is_refusal(const struct wo_event *event) {
  return event->mark == WO_MARK_REFUSED;
}

/* Whether a command line is refused again, for another reason: the user has changed it and started the program once more. */
static bool is_refused_again(const struct walk *walk, const struct wo_event *event) {
  const struct wo_event *const last = walk->refusal;
  if (!last || !is_refusal(event)) return false;
  return !wo_view_equal(wo_event_text(event, WO_FIELD_MESSAGE), wo_event_text(last, WO_FIELD_MESSAGE));
}

/* Whether a program that died tells the size of its model again: it was started again. */
static bool has_model_again(const struct walk *walk, const struct wo_event *event) {
  return event->kind == WO_KIND_MODEL && walk->is_alone && walk->is_uncaught && event->rank == WO_RANK_UNKNOWN;
}

/* Whether the event belongs to a run that began after the last end. */
static bool begins_run(struct wo_job *job, const struct walk *walk, const struct wo_event *event, struct wo_view id) {
  if (walk->run.job_id.len > 0 && id.len > 0 && !wo_view_equal(id, walk->run.job_id)) return !walk->has_mixed_ids;
  const bool is_again = wo_view_is(event->pattern_id, WO_SCAN_BEGINS_AGAIN);
  const bool is_start = event->kind == WO_KIND_RUN_START && !is_again && walk->failure_line > 0;
  if (is_start && (event->mark == WO_MARK_FIRST_LINE || is_known_banner(walk, event))) return true;
  if (walk->end_line == 0 || event->span.line <= walk->end_line) return false;
  if (is_again) return true;
  if (walk->is_starting) return is_sign_of_life(event);
  return has_steps_again(walk, event) || has_model_again(walk, event) || is_script_again(job, walk, event) ||
         is_refused_again(walk, event);
}

static void start_run(struct walk *walk, uint64_t line) {
  walk->run = (struct wo_run){
      .file = walk->file, .first_line = line, .failure = WO_EVENT_NONE, .step_first = -1, .step_last = -1, .is_current = true};
  walk->end_line = 0;
  walk->trouble_line = walk->failure_line = 0;
  walk->death = walk->refusal = NULL;
  walk->over_line = walk->id_line = 0;
  walk->is_starting = false;
  walk->is_uncaught = false;
  walk->step = -1;
  walk->banner_count = 0;
}

/* Closes the run at `last_line`. False beyond the limit of runs: the run then goes on. */
static bool close_run(struct walk *walk, uint64_t last_line) {
  struct wo_story *story = walk->story;
  if (story->run_count == story->run_room) return false;
  walk->run.last_line = last_line;
  story->runs[story->run_count++] = walk->run;
  return true;
}

/* Whether a memory failure is part of the message of the exception that ended the run. */
static bool is_in_message(const struct walk *walk, const struct wo_event *event) {
  return wo_story_is_memory(event) && walk->end_line > 0 && event->span.line > walk->end_line &&
         event->span.line - walk->end_line <= MESSAGE_LINES;
}

/* Lines that their logger calls less than a warning only sound like trouble. */
static bool is_trouble(const struct wo_event *event) {
  const enum wo_class class = wo_kind_class(event->kind);
  if (wo_severity_is_below(event->severity, WO_SEVERITY_WARNING) && class != WO_CLASS_ENDING) return false;
  return class != WO_CLASS_CONTEXT && class != WO_CLASS_NONE;
}

static void note_end(struct wo_job *job, struct walk *walk, const struct wo_event *event) {
  const bool is_failure = is_end(event) || (is_trouble(event) && wo_kind_class(event->kind) != WO_CLASS_CONSEQUENCE);
  if (is_trouble(event) && event->span.line > walk->trouble_line) walk->trouble_line = event->span.line;
  if (is_failure && event->span.line > walk->failure_line) walk->failure_line = event->span.line;
  const bool is_restart = event->kind == WO_KIND_RESTART || event->kind == WO_KIND_PREEMPTED;
  const bool is_refused = walk->is_alone && is_refusal(event); /* of several processes each may refuse it */
  if (!is_end(event) && !is_in_message(walk, event) && !is_refused) return;
  if (event->span.line > walk->end_line) walk->end_line = event->span.line;
  if (is_refused) walk->refusal = event;
  walk->is_starting = walk->is_starting || is_restart;
  if (event->kind != WO_KIND_TRACEBACK || !wo__is_uncaught(job, event)) return;
  walk->is_uncaught = true;
  walk->death = event;
}

/* Progress before an end; that around a failure is stored after it. */
static void note_step(struct walk *walk, const struct wo_event *event) {
  const double step = wo_event_number(event, WO_FIELD_STEP, -1);
  if (event->kind != WO_KIND_PROGRESS || step < 0 || (walk->end_line > 0 && event->span.line > walk->end_line)) return;
  walk->step = step;
  walk->step_total = wo_event_number(event, WO_FIELD_STEP_TOTAL, -1);
  walk->step_name = wo_event_text(event, WO_FIELD_NAME);
}

/* First line of the run that this event begins: a header is the first line; else the run began after the end of the one
 * before. */
static uint64_t first_line_of(const struct walk *walk, const struct wo_event *event, bool is_other_job) {
  const bool is_start = event->kind == WO_KIND_RUN_START && walk->trouble_line > walk->end_line;
  const uint64_t end = is_other_job ? walk->id_line : is_start ? walk->trouble_line : walk->end_line;
  if (event->kind == WO_KIND_RUN_START && is_other_job) return event->span.line;
  return end > 0 && end < event->span.line ? end + 1 : event->span.line;
}

/* What stands below the last line of a job is of the next one. */
static void leave_job(struct walk *walk, const struct wo_event *event) {
  const uint64_t over = walk->over_line;
  if (over == 0 || event->span.line <= over || !close_run(walk, over)) return;
  walk->story->runs[walk->story->run_count - 1].is_current = false;
  start_run(walk, over + 1);
}

static void visit(struct wo_job *job, struct walk *walk, const struct wo_event *event) {
  const struct wo_view id = writer_of(event);
  leave_job(walk, event);
  if (begins_run(job, walk, event, id)) {
    const bool is_other_job = id.len > 0 && walk->id_line > 0 && !wo_view_equal(id, walk->run.job_id);
    const uint64_t line = first_line_of(walk, event, is_other_job);
    if (close_run(walk, line - 1)) {
      walk->story->runs[walk->story->run_count - 1].is_current = false;
      start_run(walk, line);
    }
  }
  if (id.len > 0) {
    walk->run.job_id = id;
    walk->id_line = event->span.line;
  }
  const bool is_banner = event->kind == WO_KIND_RUN_START;
  if (is_banner && walk->banner_count < BANNERS_MAX) walk->banners[walk->banner_count++] = banner_of(event);
  if (event->kind == WO_KIND_RECOVERY && event->span.line - walk->end_line <= WO__RECOVERY_LINES)
    walk->end_line = walk->failure_line = walk->trouble_line = 0;
  if (event->mark == WO_MARK_JOB_OVER) walk->over_line = event->span.line;
  note_end(job, walk, event);
  note_step(walk, event);
}

/* Whether nothing in the file speaks of several processes. */
static bool is_one_process(const struct wo_job *job, size_t from, size_t to) {
  for (size_t i = from; i < to; i++) {
    const struct wo_event *const event = &job->events.items[i];
    const struct wo_view tasks = wo_event_text(event, WO_FIELD_TASKS);
    const bool is_group = wo_view_find_char(tasks, '-', 0) != WO_NOT_FOUND || wo_view_find_char(tasks, ',', 0) != WO_NOT_FOUND;
    if (event->rank > 0 || is_group || event->kind == WO_KIND_ELASTIC || event->kind == WO_KIND_NCCL_TIMEOUT) return false;
    if (wo__is_consequence(event)) return false;
  }
  return true;
}

/* Divides the events [from, to) of one file. */
static void divide_file(struct wo_job *job, size_t from, size_t to) {
  const struct wo_event *items = job->events.items;
  struct walk walk = {.story = &job->story,
                      .file = items[from].span.file,
                      .has_mixed_ids = has_mixed_ids(job, from, to),
                      .is_alone = is_one_process(job, from, to)};
  const size_t before = job->story.run_count;
  start_run(&walk, 1);
  for (size_t i = from; i < to; i++) {
    const bool is_read = !items[i].is_quoted || items[i].kind == WO_KIND_RUN_START; /* the shell's trace looks like a quotation */
    if (is_read && !wo_story_is_accounting(&items[i])) visit(job, &walk, &items[i]);
  }
  if (job->story.run_count > before) close_run(&walk, job->inputs[walk.file].lines);
}

/* Sets the run of each event. Late events of a run may be stored after the first ones of the next run, so lines decide. */
static void assign_runs(struct wo_job *job, const int32_t *run_of_file) {
  const struct wo_story *story = &job->story;
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_span *span = &job->events.items[i].span;
    story->run_of[i] = run_of_file[span->file];
    for (size_t r = 0; r < story->run_count; r++) {
      const struct wo_run *run = &story->runs[r];
      if (run->attempt == 0 && run->file == span->file && run->first_line <= span->line) story->run_of[i] = (int32_t)r;
    }
  }
}

/* A table such as seff's begins with the id of the job, in the words by which scripts begin a run. */
static void set_heads_of_tables_aside(struct wo_job *job) {
  for (size_t i = 0; i < job->events.count; i++) {
    struct wo_event *const head = &job->events.items[i];
    if (head->kind != WO_KIND_RUN_START) continue;
    wo__each_beside (row, job, head) {
      if (row->kind != WO_KIND_JOB_INFO || !wo_story_is_accounting(row)) continue;
      head->kind = WO_KIND_JOB_INFO;
      head->is_quoted = true;
      break;
    }
  }
}

enum wo_status wo__runs_find(struct wo_job *job) {
  struct wo_story *story = &job->story;
  set_heads_of_tables_aside(job);
  /* A run ends with an event, or with its file, or is an attempt, which a file is named after. */
  const size_t most = job->events.count + 2 * job->input_count;
  story->run_room = most < WO_LIMIT_RUNS ? most : WO_LIMIT_RUNS;
  story->runs = wo_arena_array(&job->arena, story->run_room + 1, sizeof *story->runs);
  story->run_of = wo_arena_array(&job->arena, job->events.count + 1, sizeof *story->run_of);
  const int32_t *run_of_file = NULL;
  if (!story->runs || !story->run_of || wo__attempts_find(job, &run_of_file) != WO_OK) return WO_E_NOMEM;
  for (size_t from = 0; from < job->events.count;) {
    size_t to = from;
    while (to < job->events.count && job->events.items[to].span.file == job->events.items[from].span.file) to++;
    if (run_of_file[job->events.items[from].span.file] < 0) divide_file(job, from, to);
    from = to;
  }
  assign_runs(job, run_of_file);
  return WO_OK;
}

bool wo__is_current(const struct wo_job *job, const struct wo_event *event) {
  const int32_t run = job->story.run_of[event->id];
  return run < 0 || job->story.runs[run].is_current;
}

bool wo_story_is_same_log(const struct wo_run *a, const struct wo_run *b) {
  if (a->attempt == 0 || b->attempt == 0) return a->attempt == b->attempt && a->file == b->file;
  return wo_view_equal(a->launch_folder, b->launch_folder);
}
