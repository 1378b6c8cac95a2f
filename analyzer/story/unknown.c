/* Lines that look like a failure although no pattern knows them (unknown_failure): when they count, and what they tell. */
#include "analyzer/story/story_internal.h"

/* Whether an exit names a signal that says more than a line which no pattern knows: a crash or a kill. A program that aborts, or
 * leaves with a code of its own, has said why before. */
bool wo__unknown_is_less_than(const struct wo_event *event) {
  static const char *const signals[] = {"Killed", "Segmentation fault", "Bus error", "Floating point", "Illegal instruction"};
  static const int codes[] = {-4, -7, -8, -9, -11, 132, 135, 136, 137, 139};
  if (wo_kind_class(event->kind) != WO_CLASS_EXIT) return false;
  const int code = (int)wo_event_number(event, WO_FIELD_EXIT_CODE, 0);
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
    if (code == codes[i]) return true;
  }
  return event->kind == WO_KIND_KILLED || WO_VIEW_ANY(wo_event_text(event, WO_FIELD_SIGNAL), wo_view_starts, signals);
}

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
    const bool is_exit = wo_kind_class(event->kind) == WO_CLASS_EXIT && !wo__unknown_is_less_than(event);
    if (is_open[event->id] && is_exit && wo__is_current(job, event)) return WO_OUTCOME_PROGRAM_ERROR;
  }
  return WO_OUTCOME_UNKNOWN;
}
