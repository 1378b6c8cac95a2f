/* The phase in which a job failed.
 *
 * Three witnesses, from the outside to the inside: the last words of the program before the failure ("Capturing CUDA graphs"),
 * the frames of the traceback from the outermost to the innermost, and the message itself. Each sign may replace what was found
 * outside of it unless that reaches further (enum wo_reach): a forward pass in the evaluation loop is evaluation, a forward pass
 * that the optimizer calls for its loss is one of training, and the gradients inside of it are the backward pass. */
#include "analyzer/story/story.h"
#include "analyzer/story/story_internal.h"

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

static void take(struct found *found, struct found sign) {
  if (sign.phase.len > 0 && sign.reach >= found->reach) *found = sign;
}

static bool has_any(struct wo_view text, const struct wo_view *needles, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (wo_view_find(text, needles[i], 0) != WO_NOT_FOUND) return true;
  }
  return false;
}

static bool is_any(struct wo_view text, const struct wo_view *names, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (wo_view_equal(text, names[i])) return true;
  }
  return false;
}

/* The next word of a name: "run", "eval" and "Epoch" of "run_evalEpoch". */
static struct wo_view next_word(struct wo_view *rest) {
  size_t start = 0;
  while (start < rest->len && !wo_is_alpha(rest->ptr[start])) start++;
  size_t end = start;
  while (end < rest->len && wo_is_alpha(rest->ptr[end])) {
    const bool is_capital = wo_lower(rest->ptr[end]) != rest->ptr[end];
    if (end > start && is_capital && wo_lower(rest->ptr[end - 1]) == rest->ptr[end - 1]) break;
    end++;
  }
  const struct wo_view word = wo_view_sub(*rest, start, end);
  *rest = wo_view_skip(*rest, end);
  return word;
}

static bool has_word(struct wo_view name, const struct wo_view *words, size_t count) {
  while (name.len > 0) {
    const struct wo_view word = next_word(&name);
    for (size_t i = 0; i < count && word.len > 0; i++) {
      if (wo_view_is_nocase(word, words[i].ptr)) return true;
    }
  }
  return false;
}

/* ---- Frames ---- */

/* "path|function|code"; packages begin with "~/". */
struct frame {
  struct wo_view text, function;
  bool is_user;
};

static struct frame frame_of(struct wo_view text) {
  struct wo_view rest = text;
  (void)wo_view_cut(&rest, '|');
  return (struct frame){.text = text, .function = wo_view_cut(&rest, '|'), .is_user = !wo_view_starts(text, "~/")};
}

static bool shows(const struct wo_phase_hint *hint, const struct frame *frame) {
  return is_any(frame->function, hint->functions, hint->function_count) ||
         has_any(frame->text, hint->any_of, hint->any_of_count) ||
         (frame->is_user && hint->word_count > 0 && has_word(frame->function, hint->words, hint->word_count) &&
          !has_word(frame->function, hint->not_words, hint->not_word_count));
}

/* The sign of one frame that reaches furthest; of equal ones the first in the list. */
static struct found sign_of(const struct wo_pack *pack, const struct frame *frame) {
  struct found best = {.reach = WO_REACH_NONE};
  for (size_t i = 0; i < pack->phase_count; i++) {
    const struct wo_phase_hint *const hint = &pack->phases[i];
    if (hint->fact.len > 0 || reach_of(hint) <= best.reach || !shows(hint, frame)) continue;
    best = (struct found){hint->phase, reach_of(hint)};
  }
  return best;
}

/* Functions of a test suite are called tests whatever they do. */
static void take_frames(const struct wo_pack *pack, struct wo_view frames, struct found *found) {
  const bool is_test_run = wo_view_has(frames, ";~/_pytest/") || wo_view_has(frames, "unittest/case.py|");
  while (frames.len > 0) {
    const struct wo_view text = wo_view_cut(&frames, ';');
    if (text.len == 0) continue;
    struct frame frame = frame_of(text);
    frame.is_user = frame.is_user && !is_test_run;
    take(found, sign_of(pack, &frame));
  }
}

struct wo_view wo_story_phase(const struct wo_pack *pack, struct wo_view frames) {
  struct found found = {.reach = WO_REACH_NONE};
  take_frames(pack, frames, &found);
  return found.phase;
}

/* ---- Words ---- */

/* Whether an event was found while looking around the failure. */
static bool is_around(const struct wo_job *job, const struct wo_event *event, const struct wo_event *failure) {
  return event->of == failure->id || (event->of != WO_EVENT_NONE && event->of == job->story.traceback);
}

/* The reach that a pattern gives to the words of a stage: what follows decides against most of them. */
static enum wo_reach reach_of_words(const struct wo_event *stage) {
  return wo_view_is(wo_event_text(stage, WO_FIELD_STATE), "pass") ? WO_REACH_PASS : WO_REACH_WORK;
}

static void take_words(const struct wo_job *job, const struct wo_event *failure, struct found *found) {
  wo_each_event (event, &job->events) {
    if (event->kind != WO_KIND_STAGE || !is_around(job, event, failure)) continue;
    const struct found sign = {wo_event_text(event, WO_FIELD_PHASE), reach_of_words(event)};
    take(found, sign);
    return;
  }
}

/* ---- The message ---- */

static void take_message(const struct wo_pack *pack, const struct wo_event *event, struct found *found) {
  const struct wo_view kind = wo_view_of(wo_kind_name(event->kind));
  for (size_t i = 0; i < pack->phase_count; i++) {
    const struct wo_phase_hint *const hint = &pack->phases[i];
    const bool is_told = is_any(kind, hint->kinds, hint->kind_count) || has_any(event->text, hint->said, hint->said_count);
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

/* Ranks fail alike: one of them may have left the traceback that the first one lacks. */
static void borrow_traceback(struct wo_job *job) {
  int asked = 0;
  wo_each_event (event, &job->events) {
    if (job->story.roles[event->id] != WO_ROLE_REPEAT || job->story.traceback != WO_EVENT_NONE) continue;
    if (++asked > REPEATS_ASKED) return;
    job->story.traceback = wo_story_traceback_of(job, event);
  }
}

void wo__read_phase(struct wo_job *job, const struct wo_event *failure) {
  struct found found = {.reach = WO_REACH_NONE};
  if (!failure) return;
  if (job->story.traceback == WO_EVENT_NONE && wo_story_is_memory(failure)) borrow_traceback(job);
  const struct wo_event *const traceback = wo_event_get(&job->events, job->story.traceback);
  take_words(job, failure, &found);
  if (traceback) take_frames(job->pack, wo_event_text(traceback, WO_FIELD_FRAMES), &found);
  take_messages(job, failure, &found);
  job->story.phase = found.phase;
}
