/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about how the job ended, for every outcome: the signal, the code, the driver's report, and an earlier failure of a
 * task. */
#include "analyzer/facts/facts_internal.h"
#include "analyzer/story/story.h"
#include "parsers/base/units.h"
#include "parsers/event/signal.h"

/* Bytes of an ending's text that rules search. */
#define TEXT_BYTES 1200

/* ---- Signals ---- */

/* The signal of an event, or NULL. "Fatal Python error: Bus error" is a crash like a segmentation fault and names its signal. */
static const char *signal_of(const struct wo_event *event) {
  enum wo_signal signal = wo_signal_of(event);
  if (signal == WO_SIGNAL_NONE && event->kind == WO_KIND_SEGFAULT) {
    signal = wo_signal_of_text(wo_event_text(event, WO_FIELD_MESSAGE));
    if (signal == WO_SIGNAL_NONE) signal = WO_SIGNAL_SEGV;
  }
  return wo_signal_name(signal);
}

/* ---- Earlier failures ---- */

static void read_task_failure(struct wo_facts *facts, const struct wo_event *failure) {
  if (!wo_story_may_answer_task(failure)) return;
  const struct wo_event *const task = wo_story_failed_task(facts->job, failure);
  wo__set_bool(facts, "end.is_after_task_failure", task != NULL, task ? task->id : failure->id);
}

/* The driver's first report of a fault. Xids 45 and 154 only follow from others (parsers/formats/kernel/fmt_xid.c reports no
 * failure for them). */
static void read_xid(struct wo_facts *facts, const struct wo_event *failure) {
  const struct wo_event *xid = wo_event_field(failure, WO_FIELD_XID) ? failure : NULL;
  for (size_t i = 0; i < facts->job->events.count && !xid; i++) {
    const struct wo_event *event = &facts->job->events.items[i];
    const bool is_fault = event->kind == WO_KIND_XID || event->kind == WO_KIND_PROGRAM_ERROR;
    if (is_fault && !event->is_quoted && wo_event_field(event, WO_FIELD_XID)) xid = event;
  }
  if (xid) wo__set_number(facts, "end.xid", wo_event_number(xid, WO_FIELD_XID, 0), xid->id);
}

/* ---- Text ---- */

/* Appends a part with a blank before it, unless the text contains it already; cuts what does not fit. */
static size_t append(char *text, size_t len, struct wo_view part) {
  const bool is_there = wo_view_find((struct wo_view){text, len}, part, 0) != WO_NOT_FOUND;
  if (part.len == 0 || is_there || len + 1 >= TEXT_BYTES) return len;
  if (len > 0) text[len++] = ' ';
  const size_t room = TEXT_BYTES - len;
  const size_t count = part.len < room ? part.len : room;
  memcpy(text + len, part.ptr, count);
  return len + count;
}

/* The line with its fields, for rules that search words in it. The line alone may not contain the whole of a long message. */
static struct wo_view words_of(const struct wo_facts *facts, const struct wo_event *event) {
  static const enum wo_field_id ids[] = {WO_FIELD_EXCEPTION, WO_FIELD_MESSAGE, WO_FIELD_REASON};
  char text[TEXT_BYTES];
  size_t len = append(text, 0, event->text);
  for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) len = append(text, len, wo_event_text(event, ids[i]));
  return wo_arena_copy(facts->arena, (struct wo_view){text, len});
}

/* Further lines of a failure that no pattern knows. */
static void read_further_lines(struct wo_facts *facts, const struct wo_event *failure) {
  static const char *const names[] = {"end.second_text", "end.third_text"};
  size_t count = 0;
  if (failure->kind != WO_KIND_UNKNOWN_FAILURE) return;
  wo_each_event (event, &facts->job->events) {
    const bool is_further = event->kind == failure->kind && event->of == failure->id;
    if (is_further && count < sizeof names / sizeof names[0])
      wo__set_text(facts, names[count++], wo_view_sub(wo_view_trim(event->text), 0, 200), event->id);
  }
}

/* ---- Accounting ---- */

/* Times of the job as a whole; rows of steps are skipped. */
static void read_times(struct wo_facts *facts) {
  wo_each_event (event, &facts->job->events) {
    const double elapsed = wo_event_number(event, WO_FIELD_ELAPSED_S, -1);
    const double limit = wo_event_number(event, WO_FIELD_TIME_LIMIT_S, -1);
    if (event->is_quoted || wo_event_field(event, WO_FIELD_STEP_ID)) continue;
    if (elapsed >= 0) wo__set_number(facts, "job.elapsed_min", elapsed / 60, event->id);
    if (limit > 0) wo__set_number(facts, "job.time_limit_min", limit / 60, event->id);
  }
}

static void read_step(struct wo_facts *facts) {
  const struct wo_story *story = &facts->job->story;
  if (story->step < 0 || !wo_program_has_steps(&facts->program)) return;
  wo__set_number(facts, "job.step", (double)story->step, WO_EVENT_NONE);
  wo__set_text(facts, "job.step_unit", story->step_unit, WO_EVENT_NONE);
  if (story->step_total > 0) wo__set_number(facts, "job.step_total", (double)story->step_total, WO_EVENT_NONE);
}

/* sacct --json of SLURM 22.05 prints 0 for every code, and no reasons: another row of the job has them. */
static const struct wo_event *find_code(const struct wo_facts *facts, const struct wo_event *failure) {
  if (signal_of(failure) || wo_event_number(failure, WO_FIELD_EXIT_CODE, 0) != 0) return failure;
  wo_each_event (event, &facts->job->events) {
    if (event->kind != failure->kind || event->is_quoted || !wo_story_is_accounting(event)) continue;
    if (signal_of(event) || wo_event_number(event, WO_FIELD_EXIT_CODE, 0) != 0) return event;
  }
  return failure;
}

/* A failed job does not end with code 0, so that is left out. */
static void read_code(struct wo_facts *facts, const struct wo_event *failure) {
  const struct wo_event *event = find_code(facts, failure);
  const double code = wo_event_number(event, WO_FIELD_EXIT_CODE, 0);
  const char *signal = signal_of(event);
  if (signal) wo__set_text(facts, "end.signal", wo_view_of(signal), event->id);
  if (code != 0) wo__set_number(facts, "end.exit_code", code, event->id);
}

/* The reason of a cancelled job, from any row of accounting. */
static void read_cancellation(struct wo_facts *facts) {
  wo_each_event (event, &facts->job->events) {
    if (event->kind != WO_KIND_CANCELLED || event->is_quoted || !wo_story_is_accounting(event)) continue;
    wo__set_text(facts, "end.reason", wo_event_text(event, WO_FIELD_REASON), event->id);
  }
}

void wo__facts_ending(struct wo_facts *facts) {
  const struct wo_event *failure = wo__failure_of(facts);
  read_times(facts);
  read_step(facts);
  if (!failure) return;
  wo__set_text(facts, "end.kind", wo_view_of(wo_kind_name(failure->kind)), failure->id);
  /* For memory failures, oom.text has the text. */
  if (!wo_story_is_memory(failure)) wo__set_text(facts, "end.text", words_of(facts, failure), failure->id);
  wo__set_text(facts, "end.reason", wo_event_text(failure, WO_FIELD_REASON), failure->id);
  wo__set_text(facts, "end.state", wo_event_text(failure, WO_FIELD_STATE), failure->id);
  read_code(facts, failure);
  read_xid(facts, failure);
  read_task_failure(facts, failure);
  read_further_lines(facts, failure);
  if (failure->kind == WO_KIND_CANCELLED) read_cancellation(facts);
}
