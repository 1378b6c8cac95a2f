/* SPDX-License-Identifier: Apache-2.0 */
/* The phase in which a job failed.
 *
 * Witnesses from the outside to the inside: the last words of the program before the failure ("Capturing CUDA graphs"), the
 * frames of the traceback from the outermost to the innermost, the node of a graph, and the message itself. Each sign may replace
 * what was found outside of it unless that reaches further (enum wo_reach): a forward pass in the evaluation loop is evaluation,
 * a forward pass that the optimizer calls for its loss is one of training, and the gradients inside of it are the backward pass.
 */
#include "analyzer/story/story.h"
#include "analyzer/story/story_internal.h"
#include "parsers/base/pairs.h"

/* Lines after a failure whose messages belong to it: engines report one failure in several sentences. */
#define MESSAGE_LINES 6

/* Repeats of a failure that are asked for their traceback. */
#define REPEATS_ASKED 16

struct found {
  struct wo_view phase;
  enum wo_reach reach;
};

/* A hint without a reach names a part of a step. */
static enum wo_reach reach_of(const struct wo_phase_hint *hint) {
  return hint->reach == WO_REACH_NONE ? WO_REACH_PASS : hint->reach;
}

/* What a program predicts inside of its evaluation is for that. */
static bool is_for_evaluation(const struct found *found, const struct found *sign) {
  return sign->reach == WO_REACH_PASS && found->reach == WO_REACH_PASS && wo_view_is(found->phase, "eval") &&
         wo_view_is(sign->phase, "generate");
}

static void take(struct found *found, struct found sign) {
  if (sign.phase.len > 0 && sign.reach >= found->reach && !is_for_evaluation(found, &sign)) *found = sign;
}

static bool is_any(struct wo_view text, const struct wo_view *names, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (wo_view_equal(text, names[i])) return true;
  }
  return false;
}

/* ---- Frames ---- */

/* Size of the table of a frame's pairs of bytes. */
enum { PAIRS = 256 };

/* Frames from the innermost that hints for the innermost ones look at. */
#define INNERMOST 4

/* "path|function|code"; packages begin with "~/". */
struct frame {
  struct wo_view text, function, code;
  bool is_user, is_innermost, is_in_work;
  bool has_pair[PAIRS];
};

static struct frame frame_of(struct wo_view text) {
  struct wo_view rest = text;
  (void)wo_view_cut(&rest, '|');
  struct frame frame = {.text = text, .function = wo_view_cut(&rest, '|'), .is_user = !wo_view_starts(text, "~/")};
  frame.code = rest;
  wo_pairs_add(frame.has_pair, PAIRS, text);
  return frame;
}

static bool frame_has(const struct frame *frame, const struct wo_view *needles, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!wo_pairs_may_hold(frame->has_pair, PAIRS, needles[i])) continue;
    if (wo_view_find(frame->text, needles[i], 0) != WO_NOT_FOUND) return true;
  }
  return false;
}

/* The name counts if the user wrote it: libraries call other things "test". */
static bool is_named(const struct wo_phase_hint *hint, const struct frame *frame) {
  if (!frame->is_user || hint->word_count == 0) return false;
  const struct wo_view name = hint->is_of_code ? frame->code : frame->function;
  if (hint->with_word_count > 0 && !wo_view_has_word(name, hint->with_words, hint->with_word_count)) return false;
  return wo_view_has_word(name, hint->words, hint->word_count) &&
         !wo_view_has_word(name, hint->not_words, hint->not_word_count);
}

static bool shows(const struct wo_phase_hint *hint, const struct frame *frame) {
  if ((hint->is_innermost && !frame->is_innermost) || (hint->is_before_work && frame->is_in_work)) return false;
  const bool is_shown = is_any(frame->function, hint->functions, hint->function_count) ||
                        frame_has(frame, hint->any_of, hint->any_of_count) || is_named(hint, frame);
  return is_shown && !frame_has(frame, hint->none_of, hint->none_of_count);
}

/* The sign of one frame that reaches furthest; of equal ones the first in the list. */
static struct found sign_of(const struct wo_pack *pack, const struct frame *frame, bool is_memory) {
  struct found best = {.reach = WO_REACH_NONE};
  for (size_t i = 0; i < pack->phase_count; i++) {
    const struct wo_phase_hint *const hint = &pack->phases[i];
    if (hint->fact.len > 0 || reach_of(hint) <= best.reach || (hint->is_of_memory && !is_memory)) continue;
    if (!shows(hint, frame)) continue;
    best = (struct found){hint->phase, reach_of(hint)};
  }
  return best;
}

/* Functions of a test suite are called tests whatever they do. */
static void take_frames(const struct wo_pack *pack, struct wo_view frames, bool is_memory, struct found *found) {
  const bool is_test_run = wo_view_has(frames, ";~/_pytest/") || wo_view_has(frames, "unittest/case.py|");
  const struct wo_view inner = wo__innermost_frames(frames, INNERMOST);
  bool is_in_work = false;
  while (frames.len > 0) {
    const struct wo_view text = wo_view_cut(&frames, ';');
    if (text.len == 0) continue;
    struct frame frame = frame_of(text);
    frame.is_user = frame.is_user && !is_test_run;
    frame.is_innermost = text.ptr >= inner.ptr;
    frame.is_in_work = is_in_work;
    const struct found sign = sign_of(pack, &frame, is_memory);
    is_in_work = is_in_work || sign.reach == WO_REACH_WORK;
    take(found, sign);
  }
}

/* ---- Words ---- */

/* Lines between the words of a stage and the failure, or between the failure and the name of the task that it ended. */
#define STAGE_LINES 250
#define TASK_LINES 8

/* Lines that TensorFlow may print between a failure and its node. */
#define DUMP_LINES 3000

static bool has_state(const struct wo_event *stage, const char *state) {
  return wo_view_is(wo_event_text(stage, WO_FIELD_STATE), state);
}

/* The frames inside of a stage decide against its words, unless those hold for all that is computed in it. */
static enum wo_reach reach_of_words(const struct wo_event *stage) {
  return has_state(stage, "pass") || has_state(stage, "task") ? WO_REACH_PASS : WO_REACH_WORK;
}

/* Whether the program made a step between two lines. */
static bool has_step(const struct wo_job *job, const struct wo_event *stage, const struct wo_event *failure) {
  wo_each_event (event, &job->events) {
    if (event->kind != WO_KIND_PROGRESS || event->span.file != failure->span.file) continue;
    if (event->span.line > stage->span.line && event->span.line <= failure->span.line) return true;
  }
  return false;
}

/* Sorts of stages, by the state that their pattern gives: what the program does, what sort of program it is, and the node of a
 * graph that failed. */
enum sort { SORT_STAGE, SORT_PROGRAM, SORT_NODE };

static enum sort sort_of(const struct wo_event *stage) {
  if (has_state(stage, "program")) return SORT_PROGRAM;
  return has_state(stage, "node") ? SORT_NODE : SORT_STAGE;
}

/* Whether a stage is about the failure. Behind it only the name of the failed task is, or what one sort of program prints; a node
 * is told in the failure's own line, or at the end of a dump of the memory. */
static bool is_about(const struct wo_event *stage, const struct wo_event *failure) {
  if (stage->kind != WO_KIND_STAGE || stage->span.file != failure->span.file) return false;
  const uint64_t line = stage->span.line;
  if (line < failure->span.line) return sort_of(stage) != SORT_NODE && failure->span.line - line <= STAGE_LINES;
  if (line == failure->span.line) return true;
  if (sort_of(stage) == SORT_NODE) return line - failure->span.line <= DUMP_LINES;
  return line - failure->span.line <= TASK_LINES && (sort_of(stage) == SORT_PROGRAM || has_state(stage, "task"));
}

/* The nearest stage before the failure, else the nearest behind it. NULL if there is none. */
static const struct wo_event *stage_of(const struct wo_job *job, const struct wo_event *failure, enum sort sort) {
  const struct wo_event *best = NULL;
  wo_each_event (event, &job->events) {
    if (!is_about(event, failure) || sort_of(event) != sort) continue;
    const bool is_before = event->span.line <= failure->span.line;
    const bool is_nearer = best && (best->span.line > failure->span.line || event->span.line >= best->span.line);
    if (!best || (is_before && is_nearer)) best = event;
  }
  return best;
}

/* An exception has its traceback; what the program said long before says nothing about where it was raised. */
static void take_words(const struct wo_job *job, const struct wo_event *failure, struct found *found) {
  if (failure->kind == WO_KIND_TRACEBACK && wo_event_field(failure, WO_FIELD_FRAMES)) return;
  const struct wo_event *const stage = stage_of(job, failure, SORT_STAGE);
  if (!stage || has_step(job, stage, failure)) return;
  take(found, (struct found){wo_event_text(stage, WO_FIELD_PHASE), reach_of_words(stage)});
}

/* Layers alone do not show what a program is for; lines that only one sort of program prints do. */
static void take_program(const struct wo_job *job, const struct wo_event *failure, struct found *found) {
  const struct wo_event *const stage = stage_of(job, failure, SORT_PROGRAM);
  if (stage && found->reach == WO_REACH_WORK) take(found, (struct found){wo_event_text(stage, WO_FIELD_PHASE), WO_REACH_PASS});
}

/* ---- The message ---- */

/* The node of a graph is where it failed, whatever called the graph. */
static void take_node(const struct wo_job *job, const struct wo_event *failure, struct found *found) {
  const struct wo_event *const node = stage_of(job, failure, SORT_NODE);
  if (node) take(found, (struct found){wo_event_text(node, WO_FIELD_PHASE), WO_REACH_TOLD});
}

static void take_message(const struct wo_pack *pack, const struct wo_event *event, struct found *found) {
  const struct wo_view kind = wo_view_of(wo_kind_name(event->kind));
  for (size_t i = 0; i < pack->phase_count; i++) {
    const struct wo_phase_hint *const hint = &pack->phases[i];
    const bool is_told =
        is_any(kind, hint->kinds, hint->kind_count) || wo_view_has_any(event->text, hint->said, hint->said_count);
    if (hint->fact.len == 0 && is_told) take(found, (struct found){hint->phase, reach_of(hint)});
  }
}

static void take_messages(const struct wo_job *job, const struct wo_event *failure, struct found *found) {
  wo_each_event (event, &job->events) {
    if (event->span.file != failure->span.file || event->span.line < failure->span.line) continue;
    if (event->span.line > failure->span.line + MESSAGE_LINES) continue;
    if (event->kind == failure->kind) take_message(job->pack, event, found);
  }
}

/* ---- All of them ---- */

/* Libraries in C print their own line, and then the exception arrives. */
static const struct wo_event *raised_after(struct wo_job *job, const struct wo_event *failure) {
  for (size_t i = (size_t)failure->id + 1; i < job->events.count && i - (size_t)failure->id <= WO__TRACEBACK_EVENTS; i++) {
    const struct wo_event *const other = &job->events.items[i];
    if (other->kind == WO_KIND_TRACEBACK && other->rank == failure->rank) return wo__follows_at_once(failure, other) ? other : NULL;
  }
  return NULL;
}

static bool has_frames(const struct wo_job *job, wo_event_id traceback) {
  const struct wo_event *const event = traceback == WO_EVENT_NONE ? NULL : &job->events.items[traceback];
  return event && wo_event_field(event, WO_FIELD_FRAMES);
}

/* Ranks fail alike, and a failure may be told again: one of the repeats may have left the frames that the first one lacks. */
static void borrow_traceback(struct wo_job *job, const struct wo_event *failure) {
  const struct wo_event *const raised = raised_after(job, failure);
  if (raised && job->story.traceback == WO_EVENT_NONE) job->story.traceback = raised->id;
  int asked = 0;
  wo_each_event (event, &job->events) {
    if (has_frames(job, job->story.traceback)) return;
    if (job->story.roles[event->id] != WO_ROLE_REPEAT) continue;
    if (++asked > REPEATS_ASKED) return;
    const wo_event_id traceback = wo_story_traceback_of(job, event);
    if (has_frames(job, traceback)) job->story.traceback = traceback;
  }
}

/* An exception whose message holds the traceback of another layer (MXNet, Ray): where that one does not tell, the outer one may. */
static void take_wrapper(struct wo_job *job, const struct wo_event *traceback, bool is_memory, struct found *found) {
  for (wo_event_id id = traceback->id - 1; id >= 0 && traceback->id - id <= WO__TRACEBACK_EVENTS; id--) {
    const struct wo_event *const other = wo_event_get(&job->events, id);
    if (other->kind != WO_KIND_TRACEBACK || other->rank != traceback->rank || !wo__is_wrapper(job, other)) continue;
    if (wo__follows_at_once(other, traceback)) take_frames(job->pack, wo_event_text(other, WO_FIELD_FRAMES), is_memory, found);
    return;
  }
}

void wo__read_phase(struct wo_job *job, const struct wo_event *failure) {
  struct found found = {.reach = WO_REACH_NONE};
  if (!failure) return;
  const bool is_memory = wo_story_is_memory(failure);
  if (is_memory && !has_frames(job, job->story.traceback)) borrow_traceback(job, failure);
  const struct wo_event *const traceback = wo_event_get(&job->events, job->story.traceback);
  take_words(job, failure, &found);
  if (traceback) take_frames(job->pack, wo_event_text(traceback, WO_FIELD_FRAMES), is_memory, &found);
  if (traceback && found.reach == WO_REACH_NONE) take_wrapper(job, traceback, is_memory, &found);
  take_program(job, failure, &found);
  take_node(job, failure, &found);
  take_messages(job, failure, &found);
  job->story.phase = found.phase;
}
