/* Failures that say little by themselves: lines that only look like one (unknown_failure), and a MemoryError without words. */
#include "analyzer/story/story_internal.h"

/* Whether another file of the job says that the program finished. */
static bool has_finished_elsewhere(const struct wo_job *job, const struct wo_event *event) {
  wo_each_event (other, &job->events) {
    if (other->kind == WO_KIND_SUCCESS && other->span.file != event->span.file) return true;
  }
  return false;
}

/* A line that no pattern knows counts only in a log: scripts and notes speak of failures too. */
void wo__unknown_drop(const struct wo_job *job, bool *is_open) {
  wo_each_event (event, &job->events) {
    if (event->kind != WO_KIND_UNKNOWN_FAILURE || !is_open[event->id]) continue;
    const bool is_log = wo_view_is(job->inputs[event->span.file].format, "log");
    is_open[event->id] = is_log && !has_finished_elsewhere(job, event);
  }
}

/* Beside an exit that was bad the line is the program's own word for it: the program failed. Alone it only looks like that. */
enum wo_outcome wo__unknown_outcome(const struct wo_job *job, const bool *is_open) {
  wo_each_event (event, &job->events) {
    if (is_open[event->id] && wo__claim_of(event) == WO__CLAIM_EXIT && wo__is_current(job, event))
      return WO_OUTCOME_PROGRAM_ERROR;
  }
  return WO_OUTCOME_UNKNOWN;
}

/* Lines after a MemoryError without words in which its message may stand: Paddle prints the calls of C++ between. */
#define MESSAGE_LINES 60

/* Whether the exception has no message: Python raises it so for main memory, but others do for a card, and say so below. */
static bool is_wordless(const struct wo_event *event) {
  const struct wo_view text = wo_view_trim(event->text);
  return event->kind == WO_KIND_HOST_OOM && wo_view_ends(text, "MemoryError:");
}

static bool has_card_below(const struct wo_job *job, const struct wo_event *event) {
  wo_each_event (other, &job->events) {
    const bool is_of_card = wo_kind_class(other->kind) == WO_CLASS_GPU_MEMORY && !other->is_quoted;
    const bool is_below = other->span.file == event->span.file && other->span.line > event->span.line;
    if (is_of_card && is_below && other->span.line - event->span.line <= MESSAGE_LINES) return true;
  }
  return false;
}

void wo__set_wordless_aside(struct wo_job *job) {
  for (size_t i = 0; i < job->events.count; i++) {
    struct wo_event *const event = &job->events.items[i];
    if (is_wordless(event) && has_card_below(job, event)) event->is_quoted = true;
  }
}
