/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for signs in the evidence of a job: frames of tracebacks, names of scripts, lines that patterns know, settings. */
#include "analyzer/program/signs.h"

#include "analyzer/story/story.h"
#include "parsers/base/pairs.h"

/* ---- Gathering ---- */

/* Whether an event is of the run that is diagnosed, or of none: an earlier program in the same file may be another one. */
static bool is_of_this_run(const struct wo_job *job, const struct wo_event *event) {
  const int32_t run = job->story.run_of ? job->story.run_of[event->id] : -1;
  return run < 0 || (size_t)run >= job->story.run_count || job->story.runs[run].is_current;
}

/* Windows separates folders by '\'. */
static struct wo_view with_slashes(struct wo_arena *arena, struct wo_view text) {
  if (wo_view_find_char(text, '\\', 0) == WO_NOT_FOUND) return text;
  char *const copy = wo_arena_alloc(arena, text.len + 1);
  if (copy == NULL) return text;
  for (size_t i = 0; i < text.len; i++) copy[i] = text.ptr[i] == '\\' ? '/' : text.ptr[i];
  return (struct wo_view){copy, text.len};
}

/* Most ids differ in their length or last letter, and hundreds are compared. */
static bool is_same(struct wo_view a, struct wo_view b) {
  if (a.len != b.len || (a.len > 0 && a.ptr[a.len - 1] != b.ptr[b.len - 1])) return false;
  return wo_view_equal(a, b);
}

static void add(struct wo_sign_text *items, size_t *count, size_t cap, struct wo_view text, wo_event_id event) {
  if (text.len == 0 || *count == cap) return;
  for (size_t i = 0; i < *count; i++) {
    if (is_same(items[i].text, text)) return;
  }
  items[(*count)++] = (struct wo_sign_text){text, event};
}

static struct wo_view base_name(struct wo_view path) {
  size_t at = path.len;
  while (at > 0 && path.ptr[at - 1] != '/' && path.ptr[at - 1] != '\\') at--;
  return wo_view_skip(path, at);
}

static void add_name(struct wo_signs_seen *seen, struct wo_view name, wo_event_id event) {
  if (wo_view_ends(name, ".py")) name.len -= 3;
  add(seen->names, &seen->name_count, WO_SIGNS_NAMES, name, event);
}

/* Frames at the top level of a file name a script, others a function, of the user or of a package: "path|function|code;". Files
 * of functions say nothing: a model is often defined in modeling_finetune.py. */
static void add_frame_names(struct wo_signs_seen *seen, struct wo_view frames, wo_event_id event) {
  while (frames.len > 0) {
    struct wo_view frame = wo_view_cut(&frames, ';');
    const struct wo_view path = wo_view_cut(&frame, '|');
    const struct wo_view function = wo_view_cut(&frame, '|');
    const bool is_of_file = !wo_view_starts(path, "<");
    if (is_of_file) add_name(seen, wo_view_is(function, "<module>") ? base_name(path) : function, event);
  }
}

static void add_traceback(struct wo_signs_seen *seen, struct wo_arena *arena, const struct wo_event *event) {
  static const enum wo_field_id files[] = {WO_FIELD_FRAME_FILE, WO_FIELD_INNER_FILE};
  if (event == NULL || event->kind != WO_KIND_TRACEBACK || wo_event_field(event, WO_FIELD_IS_BARE)) return;
  for (size_t i = 0; i < seen->frames_count; i++) {
    if (seen->frames[i].event == event->id) return;
  }
  const struct wo_view frames = with_slashes(arena, wo_event_text(event, WO_FIELD_FRAMES));
  const size_t place = seen->frames_count;
  add(seen->frames, &seen->frames_count, WO_SIGNS_TRACEBACKS, frames, event->id);
  if (seen->frames_count > place) {
    seen->has_pair[place] = wo_arena_array(arena, WO_SIGNS_PAIRS, sizeof *seen->has_pair[place]);
    if (seen->has_pair[place] == NULL) seen->frames_count = place; /* the arena knows that memory is out */
    if (seen->frames_count > place) wo_pairs_add(seen->has_pair[place], WO_SIGNS_PAIRS, frames);
  }
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    const struct wo_view file = with_slashes(arena, wo_event_text(event, files[i]));
    add(seen->files, &seen->file_count, sizeof seen->files / sizeof seen->files[0], file, event->id);
  }
  add_frame_names(seen, frames, event->id);
}

/* Adds the earliest tracebacks of the run, those that begin with a script or all. */
static void add_earliest(struct wo_signs_seen *seen, struct wo_arena *arena, bool needs_script) {
  wo_each_event (event, &seen->job->events) {
    if (seen->frames_count == WO_SIGNS_TRACEBACKS) return;
    if (event->kind != WO_KIND_TRACEBACK || !is_of_this_run(seen->job, event)) continue;
    if (!needs_script || wo_view_has(wo_event_text(event, WO_FIELD_FRAMES), "|<module>|")) add_traceback(seen, arena, event);
  }
}

/* The failure's own traceback first, as it says most; then those that are whole: ranks that write at once cut each other's. */
static void add_tracebacks(struct wo_signs_seen *seen, struct wo_arena *arena) {
  const struct wo_job *const job = seen->job;
  if (job->events.per_kind[WO_KIND_TRACEBACK] == 0) return;
  add_traceback(seen, arena, wo_event_get(&job->events, job->story.traceback));
  add_traceback(seen, arena, wo_event_get(&job->events, job->story.failure));
  add_earliest(seen, arena, true);
  add_earliest(seen, arena, false);
}

/* The scripts that a launcher names: words that end in .py, and the module behind -m. */
static void add_launch(struct wo_signs_seen *seen, struct wo_view line, wo_event_id event) {
  bool is_module = false;
  while (line.len > 0) {
    struct wo_view word = wo_view_cut(&line, ' ');
    while (word.len > 0 && !wo_is_word(word.ptr[word.len - 1])) word.len--;
    if (is_module || wo_view_ends(word, ".py")) add_name(seen, base_name(word), event);
    is_module = wo_view_is(word, "-m");
  }
}

static void add_event(struct wo_signs_seen *seen, const struct wo_event *event) {
  if (seen->kinds[event->kind] == WO_EVENT_NONE) seen->kinds[event->kind] = event->id;
  if (event->mark == WO_MARK_LAUNCH_LINE || event->kind == WO_KIND_FRAMEWORK)
    add_launch(seen, wo_event_text(event, WO_FIELD_PROGRAM), event->id);
  if (event->kind == WO_KIND_PROGRESS) add(seen->progress, &seen->progress_count, WO_SIGNS_PROGRESS, event->text, event->id);
  if (event->kind == WO_KIND_CONFIG) {
    add(seen->knobs, &seen->knob_count, WO_SIGNS_KNOBS, wo_event_text(event, WO_FIELD_KNOB), event->id);
  }
  add(seen->patterns, &seen->pattern_count, WO_SIGNS_PATTERNS, event->pattern_id, event->id);
}

const struct wo_signs_seen *wo_signs_collect(const struct wo_job *job, struct wo_arena *arena) {
  const char *last = NULL;
  struct wo_signs_seen *const seen = wo_arena_array(arena, 1, sizeof *seen);
  if (seen == NULL) return NULL;
  seen->job = job;
  for (size_t i = 0; i < WO_KIND_COUNT_; i++) seen->kinds[i] = WO_EVENT_NONE;
  add_tracebacks(seen, arena);
  wo_each_event (event, &job->events) {
    const bool is_again =
        event->kind != WO_KIND_CONFIG && event->kind != WO_KIND_PROGRESS && event->pattern_id.ptr == last && last != NULL;
    if (is_again || event->is_quoted || !is_of_this_run(job, event)) continue;
    last = event->pattern_id.ptr;
    add_event(seen, event);
  }
  return seen;
}

/* ---- Finding ---- */

/* The first of the texts that holds one of the parts. */
static wo_event_id find_part(const struct wo_sign_text *texts, size_t count, const struct wo_view *parts, size_t part_count) {
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < part_count; k++) {
      if (wo_view_find(texts[i].text, parts[k], 0) != WO_NOT_FOUND) return texts[i].event;
    }
  }
  return WO_EVENT_NONE;
}

/* The first traceback with a frame that holds one of the parts. */
static wo_event_id find_frame(const struct wo_signs_seen *seen, const struct wo_sign *sign) {
  for (size_t i = 0; i < seen->frames_count; i++) {
    for (size_t k = 0; k < sign->frame_count; k++) {
      if (!wo_pairs_may_hold(seen->has_pair[i], WO_SIGNS_PAIRS, sign->frames[k])) continue;
      if (wo_view_find(seen->frames[i].text, sign->frames[k], 0) != WO_NOT_FOUND) return seen->frames[i].event;
    }
  }
  return WO_EVENT_NONE;
}

/* The first of the texts that is one of the ids. */
static wo_event_id find_id(const struct wo_sign_text *texts, size_t count, const struct wo_view *ids, size_t id_count) {
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < id_count; k++) {
      if (is_same(texts[i].text, ids[k])) return texts[i].event;
    }
  }
  return WO_EVENT_NONE;
}

static wo_event_id find_script(const struct wo_signs_seen *seen, const struct wo_sign *sign) {
  for (size_t i = 0; sign->script_count > 0 && i < seen->name_count; i++) {
    if (wo_view_has_word(seen->names[i].text, sign->scripts, sign->script_count)) return seen->names[i].event;
  }
  return WO_EVENT_NONE;
}

static wo_event_id find_kind(const struct wo_signs_seen *seen, const struct wo_sign *sign) {
  for (size_t i = 0; i < sign->kind_count; i++) {
    const wo_event_id event = seen->kinds[wo_kind_find(sign->kinds[i])];
    if (event != WO_EVENT_NONE) return event;
  }
  return WO_EVENT_NONE;
}

/* The cheapest lists first. */
wo_event_id wo_signs_find(const struct wo_signs_seen *seen, const struct wo_sign *sign) {
  wo_event_id event = find_kind(seen, sign);
  if (event == WO_EVENT_NONE) event = find_id(seen->patterns, seen->pattern_count, sign->patterns, sign->pattern_count);
  if (event == WO_EVENT_NONE) event = find_id(seen->knobs, seen->knob_count, sign->knobs, sign->knob_count);
  if (event == WO_EVENT_NONE) event = find_script(seen, sign);
  if (event == WO_EVENT_NONE) event = find_part(seen->progress, seen->progress_count, sign->progress, sign->progress_count);
  if (event == WO_EVENT_NONE) event = find_part(seen->files, seen->file_count, sign->files, sign->file_count);
  return event != WO_EVENT_NONE ? event : find_frame(seen, sign);
}
