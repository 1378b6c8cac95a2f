/* Which of the events that claim to be the end was the first failure. */
#include "analyzer/story_internal.h"

/* Order in which things stand in the inputs: files as given, then lines. */
static bool is_earlier(const struct wo_event *a, const struct wo_event *b) {
  if (a->span.file != b->span.file) return a->span.file < b->span.file;
  return a->span.line < b->span.line;
}

/* A cancellation before an error of the program explains that error, unless it is itself the answer to a task's failure. */
static bool is_stopped_by(const struct wo_event *error, const struct wo_event *stop) {
  if (stop->kind != WO_KIND_CANCELLED || wo__claim_of(error) != WO__CLAIM_PROGRAM || stop->span.file != error->span.file)
    return false;
  if (wo_story_is_accounting(stop)) return false;
  return is_earlier(stop, error) && !wo_view_is(wo_event_text(stop, WO_FIELD_REASON), "TASK FAILURE");
}

/* Of two equal claims the earlier wins: the first failure pulls the others after it, as ranks wait for each other. */
static bool wins(const struct wo_event *event, const struct wo_event *best) {
  if (!best || is_stopped_by(best, event)) return true;
  if (is_stopped_by(event, best)) return false;
  const enum wo__claim a = wo__claim_of(event);
  const enum wo__claim b = wo__claim_of(best);
  if (a != b) return a > b;
  const bool is_row = wo_story_is_accounting(event);
  if (is_row != wo_story_is_accounting(best)) return !is_row;
  return is_earlier(event, best);
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
const struct wo_event *wo__choose_failure(const struct wo_job *job, const bool *is_open) {
  const struct wo_event *best = NULL;
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    if (is_open[i] && wins(event, best)) best = event;
  }
  const int32_t rank = root_rank(job);
  if (!best || rank == WO_RANK_UNKNOWN || best->rank == rank) return best;
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    if (is_open[i] && event->rank == rank && wo__claim_of(event) == wo__claim_of(best) && event->kind == best->kind) return event;
  }
  return best;
}
