/* SPDX-License-Identifier: Apache-2.0 */
/* Which failures a program survived. */
#include "analyzer/story/story_internal.h"

#include <stdlib.h>

#include "parsers/base/vec.h"

/* The job must go on by this number of steps after a failure. Ranks that have not noticed it often print one more step. */
#define PROGRESS_STEPS 2

/* Lines below a preparation that failed, at least, by which the script shows that it went on: the tool's own advice is shorter.
 */
#define LINES_AFTER_SETUP 20

/* Lines below the exception of an import, at least, by which the program shows that it went on. */
#define LINES_AFTER_IMPORT 3

/* Lines below an exception that the program caught and printed, at least, by which it shows the same: its own clean-up is
 * shorter. */
#define LINES_AFTER_PRINT 30

/* Lines below a warning of memory that ran out, at least, by which the program shows that it went on: the warning's own end, and
 * the code that Python prints with it. */
#define LINES_AFTER_WARNING 4

/* Failures below a failure that are looked at: the death of its process, and what was survived, come soon. */
#define LATER_MAX 64

/* Bytes at the start of a line in which a label with the number of its process may be. */
#define LABEL_BYTES 80

bool wo_story_is_memory(const struct wo_event *event) {
  const enum wo_class class = wo_kind_class(event->kind);
  return class == WO_CLASS_GPU_MEMORY || class == WO_CLASS_HOST_MEMORY;
}

/* ---- What follows a failure ---- */

/* Properties of an event that decide whether a failure before it was survived. */
enum aspect {
  RECOVERED,   /* the program says that it goes on */
  SUCCEEDED,   /* a good end of the work */
  SAID_GOOD,   /* a good end of anything, also of the script around */
  SAID_SO,     /* the same in words, not only by a bar that is full */
  ENDED_BADLY, /* a bad one */
  EXITED_ITSELF,
  EXITED_BADLY, /* a process or the launcher reports an exit that is not good */
  WAS_ENDED,    /* a task by srun, since another one had ended */
  LEFT_BEHIND,  /* a process misses another one */
  RAN_OUT,      /* of memory, again */
  FAILED_OTHERWISE,
  ENDED_UNNAMED, /* by a traceback that does not show its own reason: an echo, or cut off */
  STEPPED,       /* a step was done */
  ANSWERED,      /* a server answered a request */
  SERVED,        /* a server ended in order */
  STARTED,       /* a program, or a server, is up */
  PROGRESSED,    /* around a failure: the place is the event's id, the rank that failure's */
  LIVED          /* the same: its program went on writing */
};

/* One aspect of one event. Only within one run of one file is a later line later: the order of the files on the command line is
 * not an order in time. */
struct mark {
  uint32_t file;
  int32_t run;
  enum aspect aspect;
  int32_t rank; /* ANY_RANK: a second mark, for questions about all ranks */
  uint64_t place;
  wo_event_id event;
};

enum { ANY_RANK = INT32_MAX, MARKS_PER_EVENT = 8 };

/* The end of the log cut the traceback before its exception. */
static bool is_cut(const struct wo_event *traceback) {
  return wo_event_text(traceback, WO_FIELD_EXCEPTION).len == 0;
}

/* All marks of a job in order, so that a question about what is later takes one search. */
struct marks {
  struct mark *items;
  size_t count;
};

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_marks(const void *a, const void *b) {
  const struct mark *const left = a, *const right = b;
  const int by_file = ORDER(left->file, right->file), by_run = ORDER(left->run, right->run);
  const int by_aspect = ORDER(left->aspect, right->aspect), by_rank = ORDER(left->rank, right->rank);
  if (by_file != 0) return by_file;
  if (by_run != 0) return by_run;
  if (by_aspect != 0) return by_aspect;
  return by_rank != 0 ? by_rank : ORDER(left->place, right->place);
}

static void add(struct marks *marks, const struct wo_job *job, const struct wo_event *event, enum aspect aspect, int32_t rank) {
  const int32_t run = job->story.run_of[event->id];
  marks->items[marks->count++] = (struct mark){event->span.file, run, aspect, rank, event->span.line, event->id};
}

/* Whether an exception is another report of memory that ran out. Libraries that could not get their handles or work space for it
 * say only that they failed. */
static bool is_about_memory(const struct wo_event *traceback) {
  static const char *const words[] = {"Blas ", "CUBLAS_STATUS", "CUDNN_STATUS", "cuDNN failed", "tensor is not initialized"};
  const struct wo_view message = wo_event_text(traceback, WO_FIELD_MESSAGE);
  return wo_view_has_nocase(message, "out of memory") || WO_VIEW_ANY(message, wo_view_has, words) ||
         wo_view_has(wo_event_text(traceback, WO_FIELD_EXCEPTION), "OutOfMemory");
}

static bool fails_otherwise(const struct wo_event *event) {
  if (wo_event_field(event, WO_FIELD_IS_BARE)) return false;
  return event->kind == WO_KIND_TRACEBACK && !is_cut(event) && !wo_story_is_echo(event) &&
         !wo_event_field(event, WO_FIELD_IS_CAUGHT) && !wo__is_chained(event) && !is_about_memory(event);
}

/* Whether a word of success is about the work of the program. "Done", and the end of a job or a script, are said by shells too,
 * whatever had become of the program. */
static bool is_of_work(const struct wo_event *success) {
  static const char words[][12] = {"train",      "evaluat",    "infer",  "generat", "tun",      "epoch",    "model",
                                   "checkpoint", "saved",      "wrote",  "writt",   "export",   "result",   "accura",
                                   "loss",       "score",      "metric", "runtime", "sample",   "100%",     "sweep",
                                   "processed",  "processing", "f1",     "correct", "analysis", "NbConvert"};
  return success->mark != WO_MARK_SERVED && WO_VIEW_ANY_ROW(success->match, wo_view_has_nocase, words);
}

/* At most MARKS_PER_EVENT. */
static void add_event(struct marks *marks, const struct wo_job *job, const struct wo_event *event) {
  const enum wo_class class = wo_kind_class(event->kind);
  if (event->is_quoted) return;
  if (event->kind == WO_KIND_RECOVERY) add(marks, job, event, RECOVERED, ANY_RANK);
  if (event->kind == WO_KIND_SUCCESS && is_of_work(event)) add(marks, job, event, SUCCEEDED, ANY_RANK);
  if (event->kind == WO_KIND_SUCCESS) add(marks, job, event, SAID_GOOD, ANY_RANK);
  if (event->kind == WO_KIND_SUCCESS && event->mark != WO_MARK_WEAK_END) add(marks, job, event, SAID_SO, ANY_RANK);
  if (event->mark == WO_MARK_SERVED) add(marks, job, event, SERVED, ANY_RANK);
  if (event->kind == WO_KIND_RUN_START) add(marks, job, event, STARTED, ANY_RANK);
  if (event->kind == WO_KIND_PROGRESS) add(marks, job, event, STEPPED, ANY_RANK);
  if (event->kind == WO_KIND_LIFE && wo_view_has(event->text, "HTTP/")) add(marks, job, event, ANSWERED, ANY_RANK);
  if (class == WO_CLASS_EXIT || class == WO_CLASS_ENDING || event->kind == WO_KIND_ELASTIC)
    add(marks, job, event, ENDED_BADLY, ANY_RANK);
  if (class == WO_CLASS_EXIT || event->kind == WO_KIND_ELASTIC) add(marks, job, event, EXITED_BADLY, ANY_RANK);
  if (wo__is_consequence(event) && !wo__is_reaction(event)) add(marks, job, event, LEFT_BEHIND, ANY_RANK);
  if (event->kind == WO_KIND_TASK_EXIT) {
    if (wo_event_number(event, WO_FIELD_EXIT_CODE, 0) > 0) add(marks, job, event, EXITED_ITSELF, ANY_RANK);
    if (wo__is_ended_by_others(event)) add(marks, job, event, WAS_ENDED, ANY_RANK);
  }
  if (event->kind == WO_KIND_TRACEBACK && (is_cut(event) || wo_story_is_echo(event)))
    add(marks, job, event, ENDED_UNNAMED, ANY_RANK);
  const bool is_memory = wo_story_is_memory(event);
  if (!is_memory && !fails_otherwise(event)) return;
  add(marks, job, event, is_memory ? RAN_OUT : FAILED_OTHERWISE, ANY_RANK);
  add(marks, job, event, is_memory ? RAN_OUT : FAILED_OTHERWISE, event->rank);
}

static enum wo_status make_marks(const struct wo_job *job, struct marks *marks) {
  marks->items = calloc(job->events.count * MARKS_PER_EVENT + 1, sizeof *marks->items);
  if (!marks->items) return WO_E_NOMEM;
  wo_each_event (event, &job->events) {
    add_event(marks, job, event);
    const bool is_life = event->kind == WO_KIND_LIFE;
    if ((event->kind != WO_KIND_PROGRESS && !is_life) || event->of == WO_EVENT_NONE) continue;
    if (job->story.run_of[event->id] != job->story.run_of[event->of]) continue;
    marks->items[marks->count++] = (struct mark){0, 0, is_life ? LIVED : PROGRESSED, event->of, (uint64_t)event->id, event->id};
  }
  qsort(marks->items, marks->count, sizeof *marks->items, compare_marks);
  return WO_OK;
}

/* The index of the first mark that is not before `wanted`. */
static size_t find_mark(const struct marks *marks, const struct mark *wanted) {
  size_t low = 0;
  WO_LOWER_BOUND(low, marks->count, at, compare_marks(&marks->items[at], wanted) < 0);
  return low;
}

/* Whether both marks are of one sort, in one run. */
static bool is_alike(const struct mark *a, const struct mark *b) {
  return a->file == b->file && a->run == b->run && a->aspect == b->aspect && a->rank == b->rank;
}

/* Such events of the failure's run below it: [first, end) of the marks. */
struct later {
  size_t first, end;
};

static struct later marks_below(const struct marks *marks, const struct wo_job *job, const struct wo_event *failure,
                                enum aspect aspect, int32_t rank) {
  const int32_t run = job->story.run_of[failure->id];
  const struct mark first = {failure->span.file, run, aspect, rank, failure->span.line + 1, 0};
  const struct mark end = {failure->span.file, run, aspect, rank, UINT64_MAX, 0};
  return (struct later){find_mark(marks, &first), find_mark(marks, &end)};
}

/* The first few of them. */
static struct later few_below(const struct marks *marks, const struct wo_job *job, const struct wo_event *failure,
                              enum aspect aspect, int32_t rank) {
  struct later later = marks_below(marks, job, failure, aspect, rank);
  if (later.end - later.first > LATER_MAX) later.end = later.first + LATER_MAX;
  return later;
}

/* The line of the next such event of the failure's run, or 0. */
static uint64_t next_line(const struct marks *marks, const struct wo_job *job, const struct wo_event *failure, enum aspect aspect,
                          int32_t rank) {
  const int32_t run = job->story.run_of[failure->id];
  const struct mark wanted = {failure->span.file, run, aspect, rank, failure->span.line + 1, 0};
  const size_t at = find_mark(marks, &wanted);
  if (at == marks->count) return 0;
  const struct mark *const next = &marks->items[at];
  return is_alike(next, &wanted) ? next->place : 0;
}

/* Whether one of several sorts stands below the failure in its run. */
static bool has_any_below(const struct marks *marks, const struct wo_job *job, const struct wo_event *failure,
                          const enum aspect *aspects, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (next_line(marks, job, failure, aspects[i], ANY_RANK) > 0) return true;
  }
  return false;
}

/* Whether such an event follows by the failure's rank. Lines without a rank may be from any. */
static bool follows(const struct marks *marks, const struct wo_job *job, const struct wo_event *failure, enum aspect aspect) {
  if (failure->rank == WO_RANK_UNKNOWN) return next_line(marks, job, failure, aspect, ANY_RANK) > 0;
  return next_line(marks, job, failure, aspect, failure->rank) > 0 || next_line(marks, job, failure, aspect, WO_RANK_UNKNOWN) > 0;
}

/* ---- Survival ---- */

/* Compares the last step before the failure with the steps after it. */
static bool steps_went_on(const struct marks *marks, const struct wo_job *job, const struct wo_event *failure) {
  double before = -1;
  double total = -1;
  const struct mark first = {0, 0, PROGRESSED, failure->id, 0, 0};
  for (size_t i = find_mark(marks, &first); i < marks->count; i++) {
    const struct mark *const mark = &marks->items[i];
    if (mark->aspect != PROGRESSED || mark->rank != failure->id || mark->file != 0 || mark->run != 0) break;
    const struct wo_event *const event = &job->events.items[mark->place];
    const double step = wo_event_number(event, WO_FIELD_STEP, -1);
    const double of = wo_event_number(event, WO_FIELD_STEP_TOTAL, -1);
    if (event->span.file != failure->span.file || event->span.line <= failure->span.line) {
      before = step;
      total = of;
    } else if (before >= 0 && of == total && step >= before + PROGRESS_STEPS) {
      return true;
    }
  }
  return false;
}

static double step_of(const struct wo_event *progress) {
  return wo_event_number(progress, WO_FIELD_STEP, -1);
}

/* Whether the later step is counted as the earlier one is; it may leave the total out. */
static bool count_alike(const struct wo_event *earlier, const struct wo_event *later) {
  const double total = wo_event_number(later, WO_FIELD_STEP_TOTAL, -1);
  return wo_view_equal(wo_event_text(earlier, WO_FIELD_NAME), wo_event_text(later, WO_FIELD_NAME)) &&
         (total < 0 || total == wo_event_number(earlier, WO_FIELD_STEP_TOTAL, -1));
}

/* Compares the last step that is known before the failure with the last one of its run: only the first failures of a log have
 * their surroundings looked at. */
static bool steps_reached_further(const struct marks *marks, const struct wo_job *job, const struct wo_event *failure) {
  const struct later steps = marks_below(marks, job, failure, STEPPED, ANY_RANK);
  const size_t at = steps.first, last = steps.end;
  if (at == 0 || last <= at || !is_alike(&marks->items[at - 1], &marks->items[at])) return false;
  const struct wo_event *const before = &job->events.items[marks->items[at - 1].event];
  const struct wo_event *const reached = &job->events.items[marks->items[last - 1].event];
  return step_of(before) >= 0 && count_alike(before, reached) && step_of(reached) >= step_of(before) + PROGRESS_STEPS;
}

/* Whether several steps are known after the failure, and none before it: it is from the start of the program. */
static bool has_steps_after(const struct marks *marks, const struct wo_job *job, const struct wo_event *failure) {
  const struct later steps = marks_below(marks, job, failure, STEPPED, ANY_RANK);
  const size_t at = steps.first, last = steps.end;
  if (last <= at || (at > 0 && is_alike(&marks->items[at - 1], &marks->items[at]))) return false;
  const struct wo_event *const first = &job->events.items[marks->items[at].event];
  return step_of(&job->events.items[marks->items[last - 1].event]) >= step_of(first) + PROGRESS_STEPS;
}

/* Whether srun ended the other tasks because one had ended by itself. Without ranks, steps after the failure may come from those
 * others, which ran on for a moment. */
static bool has_one_task_gone(const struct marks *marks, const struct wo_job *job, const struct wo_event *failure) {
  return failure->rank == WO_RANK_UNKNOWN && follows(marks, job, failure, EXITED_ITSELF) &&
         follows(marks, job, failure, WAS_ENDED);
}

/* Whether nothing caught the exception of a process, and others then missed it: steps below may be theirs, printed late or before
 * they noticed. */
static bool has_left_peers(const struct marks *marks, struct wo_job *job, const struct wo_event *failure) {
  return failure->rank == WO_RANK_UNKNOWN && wo__is_uncaught(job, failure) && follows(marks, job, failure, LEFT_BEHIND) &&
         follows(marks, job, failure, EXITED_BADLY);
}

/* Whether the steps below an exception that nothing caught may be those that its process had printed before it, and held back. No
 * good end stands below, and no failure to which the process would have lived. */
static bool is_held_back(const struct marks *marks, struct wo_job *job, const struct wo_event *failure) {
  if (!wo__is_uncaught(job, failure) || follows(marks, job, failure, FAILED_OTHERWISE) || follows(marks, job, failure, RAN_OUT))
    return false;
  const bool has_bad_exit = next_line(marks, job, failure, EXITED_BADLY, ANY_RANK) > 0;
  if (!has_bad_exit && next_line(marks, job, failure, SAID_SO, ANY_RANK) > 0) return false;
  const struct later steps = marks_below(marks, job, failure, STEPPED, ANY_RANK);
  if (steps.end <= steps.first) return true;
  return wo__may_be_held_back(&job->events.items[marks->items[steps.end - 1].event], failure);
}

/* Whether the steps show that the process that failed went on. */
static bool has_stepped_on(const struct marks *marks, struct wo_job *job, const struct wo_event *failure) {
  return steps_went_on(marks, job, failure) && !has_one_task_gone(marks, job, failure) && !has_left_peers(marks, job, failure) &&
         !is_held_back(marks, job, failure);
}

/* Whether the program ended right after it had said that it goes on, and nothing else explains that end: it did not recover. */
static bool has_died_recovering(const struct marks *marks, const struct wo_job *job, const struct wo_event *failure,
                                uint64_t recovery) {
  const uint64_t end = next_line(marks, job, failure, ENDED_UNNAMED, ANY_RANK);
  if (end < recovery || end - recovery > WO__RECOVERY_LINES || steps_went_on(marks, job, failure)) return false;
  const uint64_t other = next_line(marks, job, failure, FAILED_OTHERWISE, ANY_RANK);
  const uint64_t again = next_line(marks, job, failure, RAN_OUT, ANY_RANK);
  return other == 0 && again == 0 && next_line(marks, job, failure, SUCCEEDED, ANY_RANK) == 0;
}

/* Whether the process that failed went on by itself: its label has its number, and steps follow under the same label. */
static bool is_process_alive(const struct marks *marks, const struct wo_job *job, const struct wo_event *failure) {
  if (!wo_view_has(wo_view_sub(failure->text, 0, LABEL_BYTES), "pid=")) return false;
  const struct mark first = {0, 0, PROGRESSED, failure->id, 0, 0};
  for (size_t i = find_mark(marks, &first); i < marks->count; i++) {
    const struct mark *const mark = &marks->items[i];
    if (mark->aspect != PROGRESSED || mark->rank != failure->id || mark->file != 0 || mark->run != 0) return false;
    if (job->events.items[mark->place].span.line > failure->span.line) return true;
  }
  return false;
}

/* The event by which the program is known to have gone on, or the first sign of it; NULL without one. */
static const struct wo_event *life_of(const struct marks *marks, const struct wo_job *job, const struct wo_event *failure,
                                      bool is_first) {
  const struct mark wanted = {0, 0, LIVED, failure->id, 0, 0};
  const size_t at = find_mark(marks, &wanted);
  for (size_t i = at; i < marks->count && marks->items[i].aspect == LIVED && marks->items[i].rank == failure->id; i++) {
    const struct wo_event *const life = &job->events.items[marks->items[i].event];
    if (is_first || !wo_event_field(life, WO_FIELD_COUNT)) return life;
  }
  return NULL;
}

/* Whether the program worked on after an exception that it caught: it answers requests or keeps a log, and a bad exit, if there
 * is one, has a failure of its own. */
static bool has_worked_on(const struct marks *marks, const struct wo_job *job, const struct wo_event *failure) {
  const struct wo_event *const sign = life_of(marks, job, failure, false);
  if (!sign) return false;
  const uint64_t life = sign->span.line;
  const uint64_t exit = next_line(marks, job, failure, EXITED_BADLY, ANY_RANK);
  const uint64_t other = next_line(marks, job, failure, FAILED_OTHERWISE, ANY_RANK);
  if (next_line(marks, job, failure, ENDED_UNNAMED, ANY_RANK) > 0) return other > life;
  return exit == 0 || other > life || next_line(marks, job, failure, RAN_OUT, ANY_RANK) > life;
}

/* A server that caught an exception lives on: any sign of it is enough, and so is its end by something else. Without one, the
 * exception is what a user asks about who shows no more of the log. */
static bool is_request_over(const struct marks *marks, const struct wo_job *job, const struct wo_event *failure) {
  return life_of(marks, job, failure, true) != NULL || next_line(marks, job, failure, SAID_GOOD, ANY_RANK) > 0 ||
         next_line(marks, job, failure, ENDED_BADLY, ANY_RANK) > 0;
}

/* Whether a server answered requests after the failure, and nobody tells of a bad end. It must have logged the failure as one of
 * a request, or have ended in order: answers that were on their way when the memory ran out are told below it. */
static bool has_served_on(const struct marks *marks, const struct wo_job *job, const struct wo_event *failure) {
  if (next_line(marks, job, failure, ANSWERED, ANY_RANK) == 0 || next_line(marks, job, failure, ENDED_BADLY, ANY_RANK) > 0)
    return false;
  if (next_line(marks, job, failure, ENDED_UNNAMED, ANY_RANK) > 0) return false;
  const bool is_logged = failure->severity >= WO_SEVERITY_ERROR && !wo_story_is_memory(failure);
  return is_logged || next_line(marks, job, failure, SERVED, ANY_RANK) > 0;
}

/* Whether the program only warned of it: it had caught the failure, and had another way. */
static bool is_warned_of(const struct wo_event *failure) {
  if (failure->severity == WO_SEVERITY_WARNING) return failure->kind == WO_KIND_CUDA_OOM;
  const size_t warning = wo_view_find(failure->text, WO_VIEW("Warning: "), 0);
  return warning != WO_NOT_FOUND && warning < wo_view_find(failure->text, WO_VIEW("out of memory"), 0);
}

/* Whether the program went on after such a warning: it wrote more, and nothing below is worse than another one. */
static bool has_only_warned(const struct marks *marks, const struct wo_job *job, const struct wo_event *failure) {
  static const enum aspect ends[] = {ENDED_BADLY, ENDED_UNNAMED, LEFT_BEHIND, FAILED_OTHERWISE};
  if (!is_warned_of(failure) || job->inputs[failure->span.file].lines <= failure->span.line + LINES_AFTER_WARNING) return false;
  if (has_any_below(marks, job, failure, ends, sizeof ends / sizeof ends[0])) return false;
  const struct later later = few_below(marks, job, failure, RAN_OUT, ANY_RANK);
  for (size_t at = later.first; at < later.end; at++) {
    if (!is_warned_of(&job->events.items[marks->items[at].event])) return false;
  }
  return true;
}

/* A message of recovery decides if the program lived on. Without one the job must have gone on: to a good end without a bad one,
 * to further steps, or to an exception that has nothing to do with memory and shows that the program was still running its own
 * code. */
static bool is_survived(const struct marks *marks, struct wo_job *job, const struct wo_event *failure) {
  const uint64_t recovery = next_line(marks, job, failure, RECOVERED, ANY_RANK);
  if (recovery > 0 && recovery - failure->span.line <= WO__RECOVERY_LINES)
    return !has_died_recovering(marks, job, failure, recovery);
  const bool has_bad_end = next_line(marks, job, failure, ENDED_BADLY, ANY_RANK) > 0;
  if (wo__is_caught(job, failure) && is_request_over(marks, job, failure)) return true;
  if (has_stepped_on(marks, job, failure) || has_only_warned(marks, job, failure)) return true;
  if (wo__is_uncaught(job, failure)) return is_process_alive(marks, job, failure);
  if (!has_bad_end && next_line(marks, job, failure, SUCCEEDED, ANY_RANK) > 0) return true;
  if (!has_bad_end && has_worked_on(marks, job, failure)) return true;
  if (has_served_on(marks, job, failure)) return true;
  return follows(marks, job, failure, FAILED_OTHERWISE) && !follows(marks, job, failure, RAN_OUT);
}

static bool is_same_exception(const struct wo_event *a, const struct wo_event *b) {
  return wo_view_equal(wo_event_text(a, WO_FIELD_MESSAGE), wo_event_text(b, WO_FIELD_MESSAGE)) &&
         wo_view_equal(wo_event_text(a, WO_FIELD_EXCEPTION), wo_event_text(b, WO_FIELD_EXCEPTION));
}

/* The next other exception of the same rank that nothing caught; NULL without one. The first few below are looked at. */
static const struct wo_event *next_death(const struct marks *marks, struct wo_job *job, const struct wo_event *failure) {
  const struct later later = few_below(marks, job, failure, FAILED_OTHERWISE, failure->rank);
  for (size_t at = later.first; at < later.end; at++) {
    const struct wo_event *const event = &job->events.items[marks->items[at].event];
    if (is_same_exception(failure, event)) return NULL;
    if (wo__is_uncaught(job, event)) return event;
  }
  return NULL;
}

/* Whether a process that had caught this exception died of another one: it was alive in between. One that is raised again is the
 * same. Without ranks, several processes may be writing. */
static bool has_died_later(const struct marks *marks, struct wo_job *job, const struct wo_event *failure) {
  if (wo_event_field(failure, WO_FIELD_IS_BARE) || wo__is_started_apart(failure)) return false;
  const bool is_one = failure->rank != WO_RANK_UNKNOWN || next_line(marks, job, failure, ENDED_UNNAMED, ANY_RANK) == 0;
  return is_one && next_death(marks, job, failure) != NULL;
}

/* Whether the work of the job began after this exception: a check or a preparation failed before it, or a module that the program
 * does without. Where ranks are named, the steps may be those of others. */
static bool has_job_gone_on(const struct marks *marks, struct wo_job *job, const struct wo_event *failure) {
  if (failure->rank != WO_RANK_UNKNOWN || has_one_task_gone(marks, job, failure)) return false;
  const struct wo_event *const life = life_of(marks, job, failure, false);
  if (life && wo_view_has(life->text, "HTTP/")) return true;
  return has_steps_after(marks, job, failure) && !is_held_back(marks, job, failure);
}

/* Whether a program that prints an exception of a package's module goes on without that module: it writes more, and nobody tells
 * of a bad end. */
static bool has_done_without(const struct marks *marks, const struct wo_job *job, const struct wo_event *failure) {
  const bool has_more = job->inputs[failure->span.file].lines > failure->span.line + LINES_AFTER_IMPORT;
  if (!has_more || !wo__is_in_import(failure) || is_cut(failure)) return false;
  return next_line(marks, job, failure, ENDED_BADLY, ANY_RANK) == 0 &&
         next_line(marks, job, failure, ENDED_UNNAMED, ANY_RANK) == 0;
}

/* Whether an exception stands below in the run that nobody is known to have survived. */
static bool has_open_failure_below(const struct marks *marks, const struct wo_job *job, const struct wo_event *failure) {
  const struct later later = few_below(marks, job, failure, FAILED_OTHERWISE, ANY_RANK);
  for (size_t at = later.first; at < later.end; at++) {
    if (job->story.roles[marks->items[at].event] != WO_ROLE_SURVIVED) return true;
  }
  return later.end - later.first == LATER_MAX;
}

/* Whether a program that printed an exception, which it had caught, went on writing. One process only: others write on when one
 * has died. */
static bool has_written_on(const struct marks *marks, struct wo_job *job, const struct wo_event *failure) {
  static const enum aspect ends[] = {ENDED_BADLY, ENDED_UNNAMED, LEFT_BEHIND, RAN_OUT};
  const uint64_t line = wo__printed_line(job, failure);
  if (line == 0 || is_cut(failure) || failure->rank != WO_RANK_UNKNOWN) return false;
  struct wo_event last = *failure;
  last.span.line = line;
  if (has_any_below(marks, job, &last, ends, sizeof ends / sizeof ends[0]) || has_open_failure_below(marks, job, &last))
    return false;
  return job->inputs[failure->span.file].lines > line + LINES_AFTER_PRINT || next_line(marks, job, &last, STARTED, ANY_RANK) > 0;
}

/* Whether the script went on without a program that was not started: another one made steps or finished its work, and nobody
 * tells of a bad end. After a preparation any output will do: what ends the job later decides. */
static bool has_started_another(const struct marks *marks, const struct wo_job *job, const struct wo_event *failure) {
  const uint64_t lines = job->inputs[failure->span.file].lines;
  if (failure->mark == WO_MARK_SETUP && lines > failure->span.line + LINES_AFTER_SETUP) return true;
  const bool is_unstarted =
      failure->mark == WO_MARK_NOT_STARTED || failure->mark == WO_MARK_REFUSED || failure->mark == WO_MARK_SETUP;
  if (!is_unstarted || next_line(marks, job, failure, ENDED_BADLY, ANY_RANK) > 0) return false;
  return next_line(marks, job, failure, STEPPED, ANY_RANK) > 0 || next_line(marks, job, failure, SUCCEEDED, ANY_RANK) > 0;
}

/* An interrupted program ends in order: it saves, tells its results, says that it is done. Only more of its work shows that it
 * lived on; for a server, the end of its work is one in order. */
static bool is_interrupt_survived(const struct marks *marks, struct wo_job *job, const struct wo_event *interrupt) {
  if (has_stepped_on(marks, job, interrupt) || steps_reached_further(marks, job, interrupt)) return true;
  if (has_steps_after(marks, job, interrupt) || is_process_alive(marks, job, interrupt)) return true;
  return next_line(marks, job, interrupt, ANSWERED, ANY_RANK) > 0 || next_line(marks, job, interrupt, SERVED, ANY_RANK) > 0;
}

/* Whether somebody interrupted another program below one that had not even started. */
static bool is_refusal_outlived(const struct marks *marks, struct wo_job *job, const struct wo_event *failure) {
  if (failure->mark != WO_MARK_NOT_STARTED && failure->mark != WO_MARK_REFUSED) return false;
  const struct later later = few_below(marks, job, failure, FAILED_OTHERWISE, ANY_RANK);
  for (size_t at = later.first; at < later.end; at++) {
    const struct wo_event *const event = &job->events.items[marks->items[at].event];
    if (wo__is_interrupt(event) && wo__is_uncaught(job, event)) return true;
  }
  return false;
}

static bool is_error_survived(const struct marks *marks, struct wo_job *job, const struct wo_event *failure);

/* Whether what failed is told by an exception that the program survived: the lines around are noted with that. */
static bool has_exception_been_survived(const struct marks *marks, struct wo_job *job, const struct wo_event *failure) {
  const struct wo_event *const exception = wo_event_get(&job->events, wo_story_traceback_of(job, failure));
  if (failure->kind != WO_KIND_PROGRAM_ERROR || !exception || exception->kind != WO_KIND_TRACEBACK) return false;
  return is_error_survived(marks, job, exception);
}

/* Whether a program that died was started again where it had been, and came to a good end. */
static bool has_been_resumed(const struct marks *marks, struct wo_job *job, const struct wo_event *failure) {
  return failure->rank == WO_RANK_UNKNOWN && !is_held_back(marks, job, failure) &&
         next_line(marks, job, failure, LEFT_BEHIND, ANY_RANK) == 0 &&
         next_line(marks, job, failure, ENDED_BADLY, ANY_RANK) == 0 && next_line(marks, job, failure, SUCCEEDED, ANY_RANK) > 0 &&
         steps_reached_further(marks, job, failure);
}

/* A failure other than of memory. An exception that nothing caught ended its process: what a script says later, and lines of
 * others, prove nothing. */
static bool is_error_survived(const struct marks *marks, struct wo_job *job, const struct wo_event *failure) {
  const uint64_t recovery = next_line(marks, job, failure, RECOVERED, ANY_RANK);
  if (wo__is_interrupt(failure)) return is_interrupt_survived(marks, job, failure);
  if (is_process_alive(marks, job, failure)) return true;
  if (is_refusal_outlived(marks, job, failure)) return true;
  if (wo_event_number(failure, WO_FIELD_IS_CAUGHT, 0) == WO_CAUGHT_RECORDED) return true;
  if (wo__is_caught(job, failure)) return is_request_over(marks, job, failure);
  if (has_stepped_on(marks, job, failure)) return true;
  if (has_started_another(marks, job, failure)) return true;
  const bool is_exception = failure->kind == WO_KIND_TRACEBACK;
  if (is_exception && (has_job_gone_on(marks, job, failure) || has_done_without(marks, job, failure))) return true;
  if (is_exception && has_written_on(marks, job, failure)) return true;
  if (wo__is_uncaught(job, failure)) return has_been_resumed(marks, job, failure);
  if (!is_exception) return has_exception_been_survived(marks, job, failure);
  if (steps_reached_further(marks, job, failure) || has_died_later(marks, job, failure)) return true;
  if (recovery > 0 && recovery - failure->span.line <= WO__RECOVERY_LINES)
    return !has_died_recovering(marks, job, failure, recovery);
  if (next_line(marks, job, failure, ENDED_BADLY, ANY_RANK) == 0 && next_line(marks, job, failure, SUCCEEDED, ANY_RANK) > 0)
    return true;
  return has_worked_on(marks, job, failure) || has_served_on(marks, job, failure);
}

/* Whether the card or its driver was found faulty, and the program did its work on it all the same. Other processes, if there are
 * any, missed nobody. */
static bool has_worked_with_it(const struct marks *marks, const struct wo_job *job, const struct wo_event *fault) {
  if (fault->kind != WO_KIND_HARDWARE || fault->rank != WO_RANK_UNKNOWN) return false;
  if (next_line(marks, job, fault, LEFT_BEHIND, ANY_RANK) > 0 || follows(marks, job, fault, FAILED_OTHERWISE)) return false;
  return next_line(marks, job, fault, SUCCEEDED, ANY_RANK) > 0;
}

/* Whether the shell that reports a kill went on with the next of a series of runs: the lines below are those above, and nobody
 * tells of a bad end after them. */
static bool is_kill_survived(const struct marks *marks, const struct wo_job *job, const struct wo_event *kill) {
  const struct wo_event *const life = life_of(marks, job, kill, false);
  if (!life || kill->rank != WO_RANK_UNKNOWN) return false;
  return next_line(marks, job, life, ENDED_BADLY, ANY_RANK) == 0 && next_line(marks, job, kill, LEFT_BEHIND, ANY_RANK) == 0;
}

/* Peers and children also go at a good end. What a launcher does with its processes says so little that any word of success
 * weighs more, but where a process died of it: then one that stands below. */
static bool is_end_good(const struct marks *marks, struct wo_job *job, const struct wo_event *consequence) {
  const enum aspect good = wo__is_reaction(consequence) ? SAID_GOOD : SUCCEEDED;
  struct wo_event start = *consequence;
  if (!wo__is_uncaught(job, consequence)) start.span.line = 0;
  /* A signal ends a program after any bar. */
  const bool is_signal = wo__outcome_of_consequence(consequence) == WO_OUTCOME_CANCELLED;
  if (is_signal && next_line(marks, job, &start, SAID_SO, ANY_RANK) == 0) return false;
  return next_line(marks, job, &start, good, ANY_RANK) > 0 || steps_went_on(marks, job, consequence);
}

/* What a survived failure would suggest is beside the point: the events on its line that only suspect something are ignored. */
static void set_suspicions_aside(struct wo_job *job, const struct wo_event *survived) {
  wo__each_beside (event, job, survived) {
    if (wo_story_is_suspicion(event)) event->is_quoted = true;
  }
}

/* Whether a consequence is an exception that a handler printed, and the program went on. Launchers, which are modules of packages
 * that were started as scripts, print what ended their processes. */
static bool is_consequence_survived(const struct marks *marks, struct wo_job *job, const struct wo_event *event) {
  const wo_event_id own = event->kind == WO_KIND_TRACEBACK ? event->id : wo_story_traceback_of(job, event);
  const struct wo_event *const traceback = wo_event_get(&job->events, own);
  return traceback && !wo__is_in_import(traceback) && has_written_on(marks, job, traceback);
}

/* The same for what else was read in the exception's line. */
static void close_consequences_beside(struct wo_job *job, const struct wo_event *survived, bool *is_open) {
  wo__each_beside (event, job, survived) {
    if (!wo__is_consequence(event)) continue;
    job->story.roles[event->id] = WO_ROLE_SURVIVED;
    is_open[event->id] = false;
  }
}

enum wo_status wo__survivors_find(struct wo_job *job, bool *is_open) {
  struct marks marks = {0};
  if (make_marks(job, &marks) != WO_OK) return WO_E_NOMEM;
  for (size_t i = job->events.count; i-- > 0;) { /* an exception is judged by those below that were survived */
    struct wo_event *const event = &job->events.items[i];
    const enum wo_class class = wo_kind_class(event->kind);
    if (!is_open[event->id]) continue;
    if (wo__is_consequence(event)) {
      is_open[event->id] = !is_end_good(&marks, job, event);
      if (is_consequence_survived(&marks, job, event)) close_consequences_beside(job, event, is_open);
    } else if (wo_story_is_memory(event) && is_survived(&marks, job, event)) {
      job->story.roles[event->id] = WO_ROLE_RECOVERED;
      is_open[event->id] = false;
      set_suspicions_aside(job, event);
    } else if ((class == WO_CLASS_PROGRAM && is_error_survived(&marks, job, event)) || has_worked_with_it(&marks, job, event) ||
               (event->kind == WO_KIND_KILLED && is_kill_survived(&marks, job, event))) {
      job->story.roles[event->id] = WO_ROLE_SURVIVED;
      is_open[event->id] = false;
    }
  }
  free(marks.items);
  return WO_OK;
}
