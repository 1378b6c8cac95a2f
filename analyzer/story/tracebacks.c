/* SPDX-License-Identifier: Apache-2.0 */
/* How tracebacks belong together: chains, wrappers around the exception of another process, and whether anything caught them. */
#include "analyzer/story/story_internal.h"

/* Lines of a frame: its place, its code, and the markers under the code. */
#define FRAME_LINES 3

/* Tracebacks that Python prints together; longer chains are hostile input. */
#define CHAIN_MAX 16

/* Lines between an exception and the traceback in its message: blank ones, quotes, the header. */
#define HEADER_LINES 6

static bool is_same_writer(const struct wo_event *a, const struct wo_event *b) {
  return a->span.file == b->span.file && a->rank == b->rank;
}

/* The next traceback of the same writer; NULL when none is near in the store. */
static struct wo_event *next_of(struct wo_job *job, const struct wo_event *traceback) {
  const size_t first = (size_t)traceback->id + 1;
  for (size_t i = first; i < job->events.count && i - first <= WO__TRACEBACK_EVENTS; i++) {
    struct wo_event *const other = &job->events.items[i];
    if (other->kind == WO_KIND_TRACEBACK && is_same_writer(other, traceback)) return other;
  }
  return NULL;
}

bool wo__is_chained(const struct wo_event *traceback) {
  return wo_event_number(traceback, WO_FIELD_IS_CHAINED, 0) > 0;
}

/* The last of the tracebacks that Python printed together: that exception left the program, or was caught. */
static const struct wo_event *last_of_chain(struct wo_job *job, const struct wo_event *traceback) {
  for (int i = 0; i < CHAIN_MAX; i++) {
    const struct wo_event *const next = next_of(job, traceback);
    if (!next || !wo__is_chained(next)) break;
    traceback = next;
  }
  return traceback;
}

/* Whether a launcher got a signal: what it was handling then is no failure of the job. */
static bool is_launcher_stopped(const struct wo_event *traceback) {
  return wo_view_ends(wo_event_text(traceback, WO_FIELD_EXCEPTION), "SignalException");
}

void wo__set_caught_chains_aside(struct wo_job *job) {
  for (size_t i = 0; i < job->events.count; i++) {
    struct wo_event *const event = &job->events.items[i];
    if (event->kind != WO_KIND_TRACEBACK || event->is_quoted) continue;
    const struct wo_event *const last = last_of_chain(job, event);
    event->is_quoted = last->is_quoted || (last != event && is_launcher_stopped(last));
    const double caught = wo_event_number(last, WO_FIELD_IS_CAUGHT, 0);
    if (caught > 0) wo_event_set_exact(&job->events, event, WO_FIELD_IS_CAUGHT, caught);
  }
}

void wo__lift_what_was_passed_on(struct wo_job *job) {
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *const traceback = &job->events.items[i];
    if (traceback->kind != WO_KIND_TRACEBACK || traceback->severity != WO_SEVERITY_NONE) continue;
    wo__each_beside (event, job, traceback) {
      if (wo_severity_is_below(event->severity, WO_SEVERITY_WARNING)) event->severity = WO_SEVERITY_NONE;
    }
  }
}

/* ---- Caught or not ---- */

/* The outermost frame of "…;path|function|code", if the list is whole: a very long one has lost its first frames. */
static struct wo_view outermost(const struct wo_event *traceback) {
  const struct wo_view frames = wo_event_text(traceback, WO_FIELD_FRAMES);
  if (!wo_view_starts(frames, ";")) return (struct wo_view){0};
  struct wo_view rest = wo_view_skip(frames, 1);
  return wo_view_cut(&rest, ';');
}

struct wo_view wo__script_of(struct wo_job *job, const struct wo_event *traceback) {
  struct wo_view frame = outermost(last_of_chain(job, traceback));
  return wo_view_cut(&frame, '|');
}

/* Python prints what nothing caught from the module that was started down; a handler sees the frames below itself only. Loggers
 * print what was caught. */
bool wo__is_uncaught(struct wo_job *job, const struct wo_event *event) {
  static const char *const starts[] = {"|<module>|", "|_run_module_as_main|", "|_run_code|"};
  const wo_event_id own = event->kind == WO_KIND_TRACEBACK ? event->id : wo_story_traceback_of(job, event);
  const struct wo_event *const traceback = wo_event_get(&job->events, own);
  if (!traceback) return false;
  const struct wo_event *const last = last_of_chain(job, traceback);
  return last->severity == WO_SEVERITY_NONE && !wo_event_field(last, WO_FIELD_IS_CAUGHT) && !wo__is_in_import(last) &&
         WO_VIEW_ANY(outermost(last), wo_view_has, starts);
}

/* Modules of packages are no scripts, but for those that start workers and the commands that packages install: the frame of
 * whoever imported them would stand above, had nobody caught the exception. */
bool wo__is_in_import(const struct wo_event *traceback) {
  static const char *const scripts[] = {"worker.py|", "__main__.py|", "/bin/", "/Scripts/", "|sys.exit("};
  const struct wo_view frame = outermost(traceback);
  const bool is_script = WO_VIEW_ANY(frame, wo_view_has, scripts);
  if (wo_view_has(frame, ".exec_module(")) return true; /* a program that loads its plugins by itself */
  return wo_view_starts(frame, "~/") && !wo_view_starts(frame, "~/<") && wo_view_has(frame, "|<module>|") && !is_script;
}

bool wo__is_caught(const struct wo_job *job, const struct wo_event *event) {
  const wo_event_id own = event->kind == WO_KIND_TRACEBACK ? event->id : wo_story_traceback_of(job, event);
  const struct wo_event *const traceback = wo_event_get(&job->events, own);
  return traceback && wo_event_field(traceback, WO_FIELD_IS_CAUGHT);
}

uint64_t wo__printed_line(struct wo_job *job, const struct wo_event *traceback) {
  const struct wo_event *const last = last_of_chain(job, traceback);
  const struct wo_view frame = outermost(last);
  const bool is_thread = wo_view_has(frame, "threading.py|");
  if (frame.len == 0 || wo__is_uncaught(job, last) || (wo__is_started_apart(last) && !is_thread)) return 0;
  return last->span.line;
}

bool wo__is_started_apart(const struct wo_event *traceback) {
  static const char *const starts[] = {"|_bootstrap", "|spawn_main|", "|_wrap|", "|run|", "|worker|"};
  return WO_VIEW_ANY(outermost(traceback), wo_view_has, starts);
}

/* ---- Wrappers ---- */

/* Whether the message of an exception introduces the traceback of another one. */
static bool introduces(const struct wo_event *traceback) {
  const struct wo_view message = wo_view_trim(wo_event_text(traceback, WO_FIELD_MESSAGE));
  if (wo_view_ends(message, ":")) return true;
  return wo_view_starts(message, "Caught ") && wo_view_has(message, " in ");
}

static size_t count_frames(const struct wo_event *traceback) {
  const struct wo_view frames = wo_event_text(traceback, WO_FIELD_FRAMES);
  size_t count = 0;
  for (size_t i = 0; i < frames.len; i++) count += frames.ptr[i] == ';';
  return count;
}

bool wo__follows_at_once(const struct wo_event *outer, const struct wo_event *inner) {
  if (inner->span.file != outer->span.file || inner->span.line <= outer->span.line || wo__is_chained(inner)) return false;
  return inner->span.line - outer->span.line <= HEADER_LINES + FRAME_LINES * count_frames(inner);
}

/* Whether the program provoked the exception on purpose, and another one came up while it was handled: a queue that is empty for
 * now, an iterator at its end. */
static bool is_probe(struct wo_job *job, const struct wo_event *traceback) {
  static const char *const probes[] = {"Empty", "StopIteration", "StopAsyncIteration", "BlockingIOError"};
  const struct wo_event *const next = next_of(job, traceback);
  return next && wo__is_chained(next) && WO_VIEW_ANY(wo_event_text(traceback, WO_FIELD_EXCEPTION), wo_view_ends, probes);
}

bool wo__is_wrapper(struct wo_job *job, const struct wo_event *event) {
  if (event->kind == WO_KIND_TRACEBACK && is_probe(job, event)) return true;
  if (event->kind != WO_KIND_TRACEBACK || !introduces(event)) return false;
  const size_t first = (size_t)event->id + 1;
  for (size_t i = first; i < job->events.count && i - first <= WO__TRACEBACK_EVENTS; i++) {
    const struct wo_event *const other = &job->events.items[i];
    if (other->kind != WO_KIND_TRACEBACK || wo_event_field(other, WO_FIELD_IS_BARE)) continue;
    const bool is_repeat = wo_view_equal(wo_event_text(other, WO_FIELD_MESSAGE), wo_event_text(event, WO_FIELD_MESSAGE));
    return !is_repeat && wo__follows_at_once(event, other);
  }
  return false;
}
