/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the first failure among the events that claim to be the end.
 *
 * The stronger claim wins. Among equal claims: the process that torchelastic blames; then the earlier event, by lines within a
 * file and by times across files; then the lower rank. Files are walked in the order of their names, so that the order in which
 * they were given changes nothing. */
#include <stdlib.h>

#include "analyzer/story/story_internal.h"

/* Exit code of a process that torchelastic ended itself. */
#define EXIT_SIGTERM (-15)

/* Only lines of one file have an order. */
static bool is_line_before(const struct wo_event *a, const struct wo_event *b) {
  return a->span.file == b->span.file && a->span.line < b->span.line;
}

/* Whether the line tells of a signal that ends programs, which reached one. */
static bool is_signal(const struct wo_event *event) {
  return event->kind == WO_KIND_SECONDARY && wo__outcome_of_consequence(event) == WO_OUTCOME_CANCELLED;
}

/* Whether the exception is one that Python raises because a signal came. */
static bool is_answer_to_signal(const struct wo_event *error) {
  return wo__is_interrupt(error) ||
         (error->kind == WO_KIND_TRACEBACK && wo_view_ends(wo_event_text(error, WO_FIELD_EXCEPTION), "CancelledError"));
}

/* A cancellation before an error of the program explains that error, unless a task's failure led to the cancellation; a signal
 * explains the exceptions that are its answers. */
static bool is_stopped_by(const struct wo_event *error, const struct wo_event *stop) {
  if (is_answer_to_signal(error) && is_signal(stop)) return is_line_before(stop, error);
  if (stop->kind != WO_KIND_CANCELLED || wo__claim_of(error) != WO__CLAIM_PROGRAM || stop->span.file != error->span.file)
    return false;
  if (wo_story_is_accounting(stop)) return false;
  return is_line_before(stop, error) && !wo_view_is(wo_event_text(stop, WO_FIELD_REASON), "TASK FAILURE");
}

/* Whether both lines have time stamps of their own: these are more reliable than the order in which a launcher received the
 * lines. */
static bool are_stamped(const struct wo_event *a, const struct wo_event *b) {
  return a->stamp.clock != WO_CLOCK_NONE && b->stamp.clock != WO_CLOCK_NONE && !a->stamp.is_inherited && !b->stamp.is_inherited;
}

/* Whether a is known to come before b. */
static bool is_before(const struct wo_timeline *timeline, const struct wo_event *a, const struct wo_event *b) {
  const bool is_same_file = a->span.file == b->span.file;
  if (!is_same_file || are_stamped(a, b)) {
    if (wo_timeline_is_before(timeline, a, b)) return true;
    if (wo_timeline_is_before(timeline, b, a)) return false;
  }
  return is_line_before(a, b);
}

/* Whether a is preferred although the order of the two is unknown. */
static bool is_lower(const struct wo_event *a, const struct wo_event *b) {
  if (a->span.file == b->span.file || a->rank == b->rank) return false;
  return a->rank != WO_RANK_UNKNOWN && (b->rank == WO_RANK_UNKNOWN || a->rank < b->rank);
}

/* Whether the order of two unequal claims decides, not their strength: ranks lose their peers before a job is cancelled for it,
 * or after; and the exception of a rank follows from the collective that timed out on it. */
static bool is_decided_by_order(const struct wo_event *event, const struct wo_event *best) {
  const enum wo__claim a = wo__claim_of(event), b = wo__claim_of(best);
  const enum wo__claim low = a < b ? a : b, high = a < b ? b : a;
  const bool is_one_rank = event->rank == best->rank && event->rank != WO_RANK_UNKNOWN;
  return (low == WO__CLAIM_SECONDARY && high == WO__CLAIM_CANCELLED) ||
         (low == WO__CLAIM_NCCL && high == WO__CLAIM_PROGRAM && is_one_rank);
}

/* Lines between two messages about one shortage of memory, at most: a process that cannot even leave a block in order prints a
 * second traceback. */
#define SAME_SHORTAGE_LINES 300

/* Whether both are messages about one shortage of a card, and only the first of them has figures. */
static bool tells_more(const struct wo_event *a, const struct wo_event *b) {
  if (a->kind != b->kind || wo_kind_class(a->kind) != WO_CLASS_GPU_MEMORY || a->span.file != b->span.file) return false;
  if (a->rank != b->rank || !wo_event_field(a, WO_FIELD_TRIED_BYTES) || wo_event_field(b, WO_FIELD_TRIED_BYTES)) return false;
  const uint64_t low = a->span.line < b->span.line ? a->span.line : b->span.line;
  return a->span.line + b->span.line - 2 * low <= SAME_SHORTAGE_LINES;
}

/* The earlier of two equal claims wins: the first failure causes the others, because ranks wait for each other. */
static bool wins(const struct wo_timeline *timeline, const struct wo_event *event, const struct wo_event *best) {
  if (!best || is_stopped_by(best, event)) return true;
  if (is_stopped_by(event, best)) return false;
  const enum wo__claim a = wo__claim_of(event);
  const enum wo__claim b = wo__claim_of(best);
  if (is_decided_by_order(event, best)) {
    if (is_line_before(event, best)) return true;
    if (is_line_before(best, event)) return false;
  }
  if (a != b) return a > b;
  const bool is_row = wo_story_is_accounting(event);
  if (is_row != wo_story_is_accounting(best)) return !is_row;
  if (tells_more(event, best)) return true;
  if (tells_more(best, event)) return false;
  if (is_before(timeline, event, best)) return true;
  return !is_before(timeline, best, event) && is_lower(event, best);
}

/* ---- Files by name ---- */

static int compare_files(const void *a, const void *b) {
  const struct wo_file_events *x = a;
  const struct wo_file_events *y = b;
  const int order = wo_view_compare(x->path, y->path);
  if (order != 0) return order;
  return x->first < y->first ? -1 : 1;
}

/* Whether the event at `index` is the first one of its file. */
static bool begins_file(const struct wo_job *job, size_t index) {
  const struct wo_event *const event = &job->events.items[index];
  return index == 0 || event->span.file != event[-1].span.file;
}

enum wo_status wo__sort_files(struct wo_job *job) {
  size_t count = 0, used = 0;
  for (size_t i = 0; i < job->events.count; i++) count += begins_file(job, i);
  struct wo_file_events *const files = wo_arena_array(&job->arena, count + 1, sizeof *files);
  if (!files) return WO_E_NOMEM;
  for (size_t i = 0; i < job->events.count; i++) {
    const uint32_t file = job->events.items[i].span.file;
    if (begins_file(job, i)) files[used++] = (struct wo_file_events){.path = job->inputs[file].path, .first = i};
    files[used - 1].end = i + 1;
  }
  if (used > 1) qsort(files, used, sizeof *files, compare_files);
  job->story.files = files;
  job->story.file_count = used;
  return WO_OK;
}

/* ---- The launcher's report ---- */

static bool is_in(const struct wo_job *job, const struct wo_event *event, int32_t run) {
  return run == WO__RUNS_CURRENT ? wo__is_current(job, event) : job->story.run_of[event->id] == run;
}

/* Torchelastic's report of the first failure; if there are several (one for each node), the earliest about a process that
 * torchelastic did not end itself. NULL if there is none. */
static const struct wo_event *find_root(const struct wo_job *job, int32_t run) {
  const struct wo_event *best = NULL;
  wo_each_event (event, &job->events) {
    if (event->kind != WO_KIND_ELASTIC || event->rank == WO_RANK_UNKNOWN || event->is_quoted || !is_in(job, event, run)) continue;
    if (wo_event_number(event, WO_FIELD_EXIT_CODE, 0) == EXIT_SIGTERM) continue;
    const int64_t gap_ns = best ? wo_timeline_gap_ns(job->story.timeline, event, best) : 0;
    const bool is_earlier = best && gap_ns > 0 && event->stamp.time_ns < best->stamp.time_ns;
    if (!best || is_earlier || (gap_ns <= 0 && event->rank < best->rank)) best = event;
  }
  return best;
}

/* Whether an event belongs to the process that the launcher blames. For ranks that count per node the hosts must match too. */
static bool is_of_root(const struct wo_event *event, const struct wo_event *root) {
  const struct wo_view host = wo_timeline_host(event);
  const struct wo_view root_host = wo_timeline_host(root);
  if (!event->is_local_rank) return event->rank == root->rank;
  if (host.len > 0 && root_host.len > 0 && !wo_view_equal(host, root_host)) return false;
  return event->rank == wo_event_index(root, WO_FIELD_LOCAL_RANK, -1);
}

/* ---- The choice ---- */

/* The failure by claims, times and ranks alone. */
static const struct wo_event *choose_by_order(const struct wo_job *job, const bool *is_open, int32_t run) {
  const struct wo_file_events *const files = job->story.files;
  const struct wo_event *best = NULL;
  for (size_t f = 0; f < job->story.file_count; f++) {
    for (size_t i = files[f].first; i < files[f].end; i++) {
      const struct wo_event *event = &job->events.items[i];
      if (is_open[i] && is_in(job, event, run) && wins(job->story.timeline, event, best)) best = event;
    }
  }
  return best;
}

/* If torchelastic names the rank that failed first, that rank's own report of the same failure is chosen: clocks of nodes and
 * buffers of pipes change the order of lines. */
const struct wo_event *wo__choose_failure(const struct wo_job *job, const bool *is_open, int32_t run) {
  const struct wo_event *best = choose_by_order(job, is_open, run);
  const struct wo_event *root = best ? find_root(job, run) : NULL;
  if (!root || is_of_root(best, root)) return best;
  wo_each_event (event, &job->events) {
    if (!is_open[event->id] || !is_in(job, event, run) || event->kind != best->kind) continue;
    if (is_of_root(event, root) && wo__claim_of(event) == wo__claim_of(best)) return event;
  }
  return best;
}

const struct wo_event *wo__find_rival(const struct wo_job *job, const bool *is_open, const struct wo_event *failure) {
  const struct wo_event *root = find_root(job, WO__RUNS_CURRENT);
  if (!wo_story_is_memory(failure) || failure->rank == WO_RANK_UNKNOWN || (root && is_of_root(failure, root))) return NULL;
  const struct wo_event *rival = NULL;
  wo_each_event (event, &job->events) {
    if (!is_open[event->id] || event->span.file == failure->span.file || event->kind != failure->kind) continue;
    if (event->rank == WO_RANK_UNKNOWN || event->rank == failure->rank || !wo__is_current(job, event)) continue;
    if (is_before(job->story.timeline, failure, event) || is_before(job->story.timeline, event, failure)) continue;
    if (!rival || event->rank < rival->rank) rival = event;
  }
  return rival;
}
