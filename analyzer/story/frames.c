/* SPDX-License-Identifier: Apache-2.0 */
/* Tracebacks of failures: which one belongs to which message, and which facts its frames show. */
#include "analyzer/story/story_internal.h"

/* Lines below a traceback in which its message may be: an exception without one is explained further down, by Paddle below the
 * stack of C++. */
static uint64_t reach_of(const struct wo_event *traceback) {
  const bool is_explained_later = wo_event_field(traceback, WO_FIELD_EXCEPTION) && !wo_event_field(traceback, WO_FIELD_MESSAGE);
  return is_explained_later ? WO__TRACEBACK_EMPTY_LINES : WO__TRACEBACK_LINES;
}

/* A traceback on one line with the message may have been read after it. */
static wo_event_id after_on_its_line(const struct wo_job *job, const struct wo_event *event) {
  for (size_t i = (size_t)event->id + 1; i < job->events.count; i++) {
    const struct wo_event *const other = &job->events.items[i];
    if (other->span.file != event->span.file || other->span.line != event->span.line) break;
    if (other->kind == WO_KIND_TRACEBACK && !wo_event_field(other, WO_FIELD_IS_BARE)) return other->id;
  }
  return WO_EVENT_NONE;
}

/* A debugger shows the frames below the message; they are an event of the line above it. */
static wo_event_id just_after(const struct wo_job *job, const struct wo_event *event) {
  for (size_t i = (size_t)event->id + 1; i < job->events.count && i <= (size_t)event->id + WO__TRACEBACK_NEXT; i++) {
    const struct wo_event *const other = &job->events.items[i];
    const bool is_above = other->span.line < event->span.line && event->span.line - other->span.line <= WO__TRACEBACK_LINES;
    if (other->kind == WO_KIND_TRACEBACK && other->span.file == event->span.file && is_above) return other->id;
  }
  return WO_EVENT_NONE;
}

wo_event_id wo_story_traceback_of(const struct wo_job *job, const struct wo_event *event) {
  /* Messages of the workload manager or the kernel belong to no traceback, even to a near one. */
  const enum wo_class class = wo_kind_class(event->kind);
  if (event->kind == WO_KIND_CGROUP_OOM || class == WO_CLASS_ENDING || class == WO_CLASS_EXIT) return WO_EVENT_NONE;
  const wo_event_id on_line = after_on_its_line(job, event);
  if (on_line != WO_EVENT_NONE) return on_line;
  for (wo_event_id id = event->id - 1; id >= 0 && event->id - id <= WO__TRACEBACK_EVENTS; id--) {
    const struct wo_event *other = &job->events.items[id];
    if (wo_event_field(other, WO_FIELD_IS_BARE)) continue; /* it has no frames to add */
    if (other->kind != WO_KIND_TRACEBACK || other->span.file != event->span.file || other->rank != event->rank) continue;
    if (other->span.line <= event->span.line && event->span.line - other->span.line <= reach_of(other)) return id;
  }
  return just_after(job, event);
}

struct wo_view wo__innermost_frames(struct wo_view frames, size_t count) {
  size_t at = frames.len;
  while (count > 0 && at > 0) {
    at--;
    if (frames.ptr[at] == ';') count--;
  }
  return wo_view_skip(frames, at);
}

bool wo_story_hint_shows(const struct wo_phase_hint *hint, struct wo_view frames) {
  return wo_view_has_any(hint->is_innermost ? wo__innermost_frames(frames, 4) : frames, hint->any_of, hint->any_of_count);
}
