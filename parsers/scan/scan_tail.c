/* SPDX-License-Identifier: Apache-2.0 */
/* The last lines of an input: how far it came, whether it says that it finished, and which lines look like a failure although no
 * pattern of all lines knows them.
 *
 * The walk goes backwards. A line that looks like a failure counts only while nothing good stands below it: no word of success,
 * no server that serves, no two steps. Words that many programs print in any case (a final accuracy, a bar that is full) are
 * weak: they are no good end when a failure stands below them, or right above. What the lines look like is told by the packs:
 * patterns of the place "tail", and their marks. */
#include <string.h>

#include "parsers/scan/candidate.h"
#include "parsers/scan/scan_counter.h"

enum {
  SUCCESS_LINES = 40,    /* at the end of the input that are looked at for words of success */
  FAILURE_LINES = 120,   /* that are looked at for failures */
  CLUSTER_LINES = 25,    /* between two lines about one failure: the calls that led to it */
  NEAR_LINES = 12,       /* above weak words of success */
  KNOWN_LINES = 120,     /* below a known failure: what looks like one there follows from it */
  FAILURES_MAX = 24,     /* lines of one failure that are compared */
  FAILURES_TOLD = 3,     /* and that are kept */
  TEXT_ALIVE = 40,       /* lines of plain text below it, too */
  TEXT_ALIVE_LEVEL = 15, /* below what a logger calls an error */
  TEXT_ALIVE_WEAK = 8,   /* below a mere sentence about what did not work */
  TEXT_ALIVE_SETUP = 3,  /* below a preparation that failed: any program that runs after it */
  RECORDS_ALIVE = 8,     /* records of a logger below it that are no errors, over some time */
  SERIES_ALIVE = 4,      /* lines of one shape that differ */
  STOP_LINES = 80,       /* above a good end that may tell of an interruption: the program ended in order then */
  WARNING_LINES = 12,    /* of one warning */
  INDENT_PLAIN = 2,      /* blanks before plain text */
  PROSE_BYTES = 600,     /* a line without a level that is longer holds data, or prose: failures are told in fewer words */
  STEPS_ALIVE = 2        /* different steps after a line show that the program went on; bars are often drawn once more */
};

/* A program that ends logs for a moment. */
#define RECORDS_NS (INT64_C(2) * 1000000000)

/* What a pattern of the tail looks for. */
enum sort {
  SORT_SUCCESS,
  SORT_HARMLESS,
  SORT_ALIVE,
  SORT_FAILURE,
  SORT_BY_LEVEL,
  SORT_ADVICE,
  SORT_COUNTER,
  SORT_LAST_LINE,
  SORT_STOP, /* those of SORT_FAILURE that tell of an interruption */
  SORT_COUNT
};
_Static_assert(SORT_COUNT == WO_SCAN_TAIL_SORTS, "a scanner has room for each sort");

/* A line that matched, and the pattern. Its text is still in the buffer. */
struct tail_line {
  size_t pattern; /* WO_NOT_FOUND: none */
  struct wo_view raw;
  uint64_t number;
  uint64_t offset;
};

struct tail {
  struct wo_scan *scan;
  int lines;        /* visited so far */
  int last_failure; /* the value of `lines` at the failure found last */
  int weak_at;      /* and at the weak success */
  bool has_text;    /* lines that are not blank were visited */
  bool is_good;     /* nothing above is looked at for failures */
  bool is_at_work;  /* nor for interruptions: the program worked there, or a server ended in order */
  int texts;        /* lines of plain text, while no failure is found */
  struct tail_line success, weak, progress, alive, last;
  struct tail_line failures[FAILURES_MAX]; /* the last line first */
  size_t failure_count;
};

/* ---- Sorts of patterns ---- */

static enum sort sort_of(const struct wo_pattern *pattern) {
  if (pattern->mark == WO_MARK_HARMLESS) return SORT_HARMLESS;
  if (pattern->mark == WO_MARK_ALIVE || pattern->mark == WO_MARK_SAVED) return SORT_ALIVE;
  if (pattern->mark == WO_MARK_BY_LEVEL) return SORT_BY_LEVEL;
  if (pattern->mark == WO_MARK_ADVICE) return SORT_ADVICE;
  if (pattern->mark == WO_MARK_COUNTER) return SORT_COUNTER;
  if (pattern->mark == WO_MARK_LAST_LINE) return SORT_LAST_LINE;
  return pattern->kind == WO_KIND_SUCCESS ? SORT_SUCCESS : SORT_FAILURE;
}

void wo__scan_sort_tail(struct wo_scan *scan, size_t *items) {
  for (enum sort sort = 0; sort < SORT_COUNT; sort++) {
    struct wo_places *const places = &scan->tail_sorts[sort];
    *places = (struct wo_places){.items = items};
    for (size_t i = 0; i < scan->tail.count; i++) {
      const struct wo_pattern *const pattern = wo_pattern_at(scan->set, scan->tail.items[i]);
      const bool is_stop = sort == SORT_STOP && pattern->mark == WO_MARK_STOPPED;
      if (is_stop || sort_of(pattern) == sort) items[places->count++] = scan->tail.items[i];
    }
    items += places->count;
    wo_literal_net_place(scan->net, places);
  }
}

/* The first pattern of the sort, or WO_NOT_FOUND. */
static size_t first_of(const struct tail *tail, enum sort sort) {
  const struct wo_places *const places = &tail->scan->tail_sorts[sort];
  return places->count > 0 ? places->items[0] : WO_NOT_FOUND;
}

static size_t match(struct tail *tail, enum sort sort, struct wo_candidate *candidate) {
  return wo__candidate_match(tail->scan, &tail->scan->tail_sorts[sort], candidate, NULL);
}

static struct tail_line line_at(const struct wo_candidate *candidate, size_t pattern) {
  return (struct tail_line){pattern, candidate->raw, candidate->number, candidate->offset};
}

/* Whether the line is text that a program prints when it works, and no call, address or frame of a message. */
static bool is_plain(struct wo_view raw) {
  static const char *const parts[] = {"0x", "::", "wandb: ", " at ", "=="};
  const struct wo_view text = wo_view_trim_start(raw);
  const bool is_record = wo_view_starts(text, "{\"");
  const bool is_begun = is_record || (text.len > 0 && (wo_is_word(text.ptr[0]) || text.ptr[0] == '[' || text.ptr[0] == '('));
  return is_begun && raw.len - text.len <= INDENT_PLAIN && !WO_VIEW_ANY(raw, wo_view_has, parts);
}

/* ---- What is known already ---- */

/* Whether the event says that something failed, by itself, and was not caught. A program that warns of its failure has caught it.
 */
static bool is_failure(const struct wo_event *event) {
  const enum wo_class class = wo_kind_class(event->kind);
  if (wo_event_number(event, WO_FIELD_IS_CAUGHT, 0) == WO_CAUGHT_RECORDED || event->severity == WO_SEVERITY_WARNING) return false;
  return class == WO_CLASS_GPU_MEMORY || class == WO_CLASS_HOST_MEMORY || class == WO_CLASS_PROGRAM ||
         class == WO_CLASS_HARDWARE || class == WO_CLASS_ENDING;
}

/* Whether a failure that is known stands near the line, above or below, or above it what follows from one: so does the line. */
static bool is_known_near(const struct wo_scan *scan, uint64_t line) {
  const struct wo_event_store *const store = scan->store;
  for (size_t i = store->count; i-- > 0;) {
    const struct wo_event *const event = &store->items[i];
    if (event->span.file != scan->options.file) return false;
    const bool is_open = wo_event_field(event, WO_FIELD_IS_BARE) || wo_event_field(event, WO_FIELD_IS_SUSPECTED);
    const bool is_above = wo_kind_class(event->kind) == WO_CLASS_CONSEQUENCE && event->span.line <= line;
    if ((is_failure(event) || is_above) && !is_open && !event->is_quoted && event->span.line + KNOWN_LINES >= line) return true;
  }
  return false;
}

/* Whether a failure that is known stands right above the line. */
static bool is_known_above(const struct wo_scan *scan, uint64_t line) {
  const struct wo_event_store *const store = scan->store;
  for (size_t i = store->count; i-- > 0;) {
    const struct wo_event *const event = &store->items[i];
    if (event->span.file != scan->options.file) return false;
    const bool is_near = event->span.line <= line && event->span.line + NEAR_LINES >= line;
    if (is_near && is_failure(event) && !event->is_quoted) return true;
  }
  return false;
}

/* Whether the line is known: a pattern of all lines, or a reader, found a failure on it, what follows from one, or a remark. */
static bool is_known(const struct wo_scan *scan, const struct wo_candidate *candidate) {
  const struct wo_event_store *const store = scan->store;
  for (size_t i = store->count; i-- > 0;) {
    const struct wo_event *const event = &store->items[i];
    if (event->span.file != scan->options.file) return false;
    const bool is_remark = event->kind == WO_KIND_NOTE && event->mark != WO_MARK_NONE;
    if (event->span.line != candidate->number) continue;
    if (is_remark || wo_kind_class(event->kind) != WO_CLASS_CONTEXT) return true;
  }
  return false;
}

/* ---- Words of success, and steps ---- */

/* A weak word of success is one after all when no failure stands near it. */
static void settle_weak(struct tail *tail) {
  const bool is_open = tail->weak.pattern != WO_NOT_FOUND && tail->success.pattern == WO_NOT_FOUND && tail->failure_count == 0;
  if (!is_open || (!tail->is_good && tail->lines - tail->weak_at <= NEAR_LINES)) return;
  tail->success = tail->weak;
  tail->is_good = true;
}

static void look_for_success(struct tail *tail, struct wo_candidate *candidate) {
  if (tail->success.pattern != WO_NOT_FOUND || tail->lines > SUCCESS_LINES) return;
  const size_t pattern = match(tail, SORT_SUCCESS, candidate);
  if (pattern == WO_NOT_FOUND) return;
  if (wo_pattern_at(tail->scan->set, pattern)->mark != WO_MARK_WEAK_END) {
    tail->success = line_at(candidate, pattern);
    tail->is_good = true;
    tail->is_at_work = wo_pattern_at(tail->scan->set, pattern)->mark == WO_MARK_SERVED;
  } else if (tail->failure_count == 0 && tail->weak.pattern == WO_NOT_FOUND && !is_known_above(tail->scan, candidate->number)) {
    tail->weak = line_at(candidate, pattern);
    tail->weak_at = tail->lines;
  }
}

/* The newest step. */
static void look_for_step(struct tail *tail, struct wo_candidate *candidate) {
  const bool is_near = tail->lines <= SUCCESS_LINES || tail->failure_count > 0;
  if (tail->progress.pattern != WO_NOT_FOUND || !is_near) return;
  const size_t pattern = wo__candidate_progress(tail->scan, candidate, NULL);
  if (pattern != WO_NOT_FOUND) tail->progress = line_at(candidate, pattern);
}

/* The last line, if any program that goes on prints more. */
static void look_for_last_line(struct tail *tail, struct wo_candidate *candidate) {
  if (tail->has_text) return;
  tail->last = line_at(candidate, match(tail, SORT_LAST_LINE, candidate));
  tail->has_text = wo_view_trim(candidate->raw).len > 0;
}

/* ---- What looks like a failure ---- */

/* Signs that the program goes on, in the lines below one; these are walked upwards. */
struct life {
  struct wo_candidate_step step; /* last seen */
  int steps;                     /* that differ */
  int texts;                     /* lines of plain text */
  int records;                   /* that its logger calls no trouble; without a time each counts half */
  struct wo_stamp newest;        /* of these */
  struct wo_series series;
};

/* How many of the lines of a logger are enough depends on their time: a program that ends logs for a moment, too. */
static bool has_records(struct life *life, const struct wo_line *line) {
  const struct wo_stamp stamp = line->prefix.stamp;
  const enum wo_severity severity = line->prefix.severity;
  if ((severity != WO_SEVERITY_INFO && severity != WO_SEVERITY_DEBUG) || wo__scan_is_about_end(line->text)) return false;
  if (stamp.clock == WO_CLOCK_NONE) return ++life->records >= 2 * RECORDS_ALIVE;
  if (life->newest.clock == WO_CLOCK_NONE) life->newest = stamp;
  life->records += 2;
  return life->records >= 2 * RECORDS_ALIVE && life->newest.clock == stamp.clock &&
         life->newest.time_ns - stamp.time_ns >= RECORDS_NS;
}

/* Whether the lines so far show that the program does its work: steps, requests that are answered. */
static bool shows_work(struct tail *tail, struct wo_candidate *candidate, struct life *life) {
  struct wo_candidate_step step = {""};
  if (wo__candidate_progress(tail->scan, candidate, &step) == WO_NOT_FOUND) return false;
  if (step.text[0] == '\0' || strcmp(step.text, life->step.text) == 0) return false;
  life->step = step;
  return ++life->steps >= STEPS_ALIVE;
}

/* Whether they show that the program goes on: also by words, by records of its log, or by lines that differ in their figures. An
 * interrupted program saves what it has and logs that. */
static bool shows_life(struct tail *tail, struct wo_candidate *candidate, bool is_stop, struct life *life) {
  const size_t alive = match(tail, SORT_ALIVE, candidate);
  if (alive != WO_NOT_FOUND && !(is_stop && wo_pattern_at(tail->scan->set, alive)->mark == WO_MARK_SAVED)) {
    tail->alive = line_at(candidate, alive);
    return true;
  }
  if (shows_work(tail, candidate, life)) return true;
  if (!is_plain(candidate->raw)) return false;
  const struct wo_line *const line = wo__candidate_line(tail->scan, candidate);
  return (!is_stop && has_records(life, line)) || wo__series_grows(&life->series, line->text, SERIES_ALIVE);
}

/* How many lines of such text below a line show that it was no end: few after a mere sentence, some after what a logger calls an
 * error. */
static int most_text(const struct tail *tail, size_t pattern) {
  const enum wo_mark mark = wo_pattern_at(tail->scan->set, pattern)->mark;
  if (mark == WO_MARK_SETUP) return TEXT_ALIVE_SETUP - 1;
  if (mark == WO_MARK_WEAK_FAILURE || mark == WO_MARK_LAST_WORD) return TEXT_ALIVE_WEAK;
  return mark == WO_MARK_BY_LEVEL ? TEXT_ALIVE_LEVEL : TEXT_ALIVE;
}

/* Whether the line is text of a program that works, as seen from a line of that pattern. The advice of a tool that could not
 * prepare something is none. */
static bool counts_as_text(struct tail *tail, size_t pattern, struct wo_candidate *candidate) {
  if (!is_plain(candidate->raw)) return false;
  if (wo_pattern_at(tail->scan->set, pattern)->mark != WO_MARK_SETUP) return true;
  return match(tail, SORT_ADVICE, candidate) == WO_NOT_FOUND && match(tail, SORT_FAILURE, candidate) == WO_NOT_FOUND;
}

/* Whether the program goes on below a line, and above the line `end`; after an interruption only its work shows that. The lines
 * there were walked over before: most logs have no line that looks like a failure, and then nobody has to ask this. */
static bool has_life_between(struct tail *tail, uint64_t number, uint64_t end, size_t pattern) {
  const bool is_stop = wo_pattern_at(tail->scan->set, pattern)->mark == WO_MARK_STOPPED;
  const int most = most_text(tail, pattern);
  struct wo_backwards walk = wo__scan_walk_back(tail->scan, tail->scan->buf_len, tail->scan->line_number);
  struct life life = {.newest = {.clock = WO_CLOCK_NONE}};
  struct wo_view raw = {0};
  uint64_t offset = 0;
  while (wo__scan_previous_line(&walk, &raw, &offset) && walk.number > number) {
    if (walk.number >= end) continue;
    struct wo_candidate candidate = wo__candidate_at(tail->scan, raw, walk.number, offset);
    life.texts += counts_as_text(tail, pattern, &candidate);
    if (life.texts > most || shows_life(tail, &candidate, is_stop, &life)) return true;
  }
  return false;
}

/* The pattern by which the line looks like a failure, or WO_NOT_FOUND. A logger that calls a line a warning or less says that it
 * is none; one that calls it an error says that it is one, whatever its words. Programs tell calmly of signals. */
static size_t find_failure(struct tail *tail, struct wo_candidate *candidate) {
  const size_t pattern = match(tail, SORT_FAILURE, candidate);
  const size_t by_level = first_of(tail, SORT_BY_LEVEL);
  const bool may_have_level = by_level != WO_NOT_FOUND && wo__candidate_has_literal(tail->scan, by_level, candidate);
  if (pattern == WO_NOT_FOUND && !may_have_level) return WO_NOT_FOUND;
  const enum wo_severity severity = wo__candidate_line(tail->scan, candidate)->prefix.severity;
  const bool is_mild = wo_severity_is_below(severity, WO_SEVERITY_ERROR);
  const bool is_error = pattern != WO_NOT_FOUND || severity >= WO_SEVERITY_ERROR;
  const bool is_stop = pattern != WO_NOT_FOUND && wo_pattern_at(tail->scan->set, pattern)->mark == WO_MARK_STOPPED;
  if (is_stop) return pattern;
  if (candidate->raw.len > PROSE_BYTES && severity == WO_SEVERITY_NONE) return WO_NOT_FOUND;
  if (is_mild || !is_error || match(tail, SORT_HARMLESS, candidate) != WO_NOT_FOUND) return WO_NOT_FOUND;
  const bool is_by_level =
      pattern == WO_NOT_FOUND || (severity >= WO_SEVERITY_ERROR && most_text(tail, pattern) == TEXT_ALIVE_WEAK);
  return is_by_level ? by_level : pattern;
}

/* Whether the line, from its start, is the record of a logger or a place in a source: no text of a warning. */
static bool is_record(struct wo_scan *scan, struct wo_view raw, uint64_t number, uint64_t offset) {
  static const char *const parts[] = {"Traceback (most recent call last)", "  File \""};
  struct wo_candidate candidate = wo__candidate_at(scan, raw, number, offset);
  const struct wo_prefix *const prefix = &wo__candidate_line(scan, &candidate)->prefix;
  return prefix->severity != WO_SEVERITY_NONE || prefix->stamp.clock != WO_CLOCK_NONE || WO_VIEW_ANY(raw, wo_view_has, parts);
}

/* Whether a warning begins above the line: "path:12: UserWarning: ...". */
static bool begins_above(struct wo_scan *scan, struct wo_view own, uint64_t number) {
  struct wo_backwards walk = wo__scan_walk_back(scan, (size_t)(own.ptr - scan->buf), number);
  struct wo_view raw = {0};
  uint64_t offset = 0;
  for (int lines = 0; lines < WARNING_LINES && wo__scan_previous_line(&walk, &raw, &offset); lines++) {
    if (wo_view_has(raw, "Warning: ")) return true;
    if (wo_view_starts(raw, "  ") || is_record(scan, raw, walk.number, offset)) return false;
  }
  return false;
}

/* Whether it ends below the line: Python prints the source line there, with two blanks before it. */
static bool ends_below(struct wo_scan *scan, struct wo_view own) {
  const size_t end = (size_t)(own.ptr - scan->buf) + own.len;
  struct wo_view rest = {scan->buf + end, scan->buf_len - end};
  wo_view_cut(&rest, '\n');
  for (int lines = 0; lines < WARNING_LINES && rest.len > 0; lines++) {
    const struct wo_view raw = wo_view_cut(&rest, '\n');
    if (wo_view_starts(raw, "  ")) return !wo_view_starts(raw, "   ") && !wo_view_starts(raw, "  File \"");
    if (wo_view_has(raw, "Warning: ") || is_record(scan, raw, 0, 0)) return false;
  }
  return false;
}

/* Whether the line is a sentence of a warning. An exception that names itself at the start of a line, or a record of a logger, is
 * none. */
static bool is_of_warning(struct tail *tail, const struct wo_candidate *candidate, size_t pattern) {
  const struct wo_view own = candidate->raw;
  if (wo_pattern_at(tail->scan->set, pattern)->kind != WO_KIND_UNKNOWN_FAILURE || candidate->line->prefix.length > 0)
    return false;
  if (own.len == 0 || !wo_is_alpha(own.ptr[0]) || wo_view_has(own, "rror:")) return false;
  return begins_above(tail->scan, own, candidate->number) && ends_below(tail->scan, own);
}

/* A preparation that failed is also survived where the program worked before it failed otherwise. */
static void note_failure(struct tail *tail, struct wo_candidate *candidate, size_t pattern) {
  const bool is_last = tail->failure_count == 0;
  const bool is_setup = wo_pattern_at(tail->scan->set, pattern)->mark == WO_MARK_SETUP;
  const uint64_t end = is_last ? UINT64_MAX : tail->failures[tail->failure_count - 1].number;
  if ((is_last || is_setup) && has_life_between(tail, candidate->number, end, pattern)) {
    tail->is_good = tail->is_at_work = is_last;
    return;
  }
  tail->failures[tail->failure_count++] = line_at(candidate, pattern);
  tail->last_failure = tail->lines;
}

/* Above a good end: a program that is interrupted saves, tells its results, and says that it is done. */
static void look_for_stop(struct tail *tail, struct wo_candidate *candidate) {
  if (tail->is_at_work || tail->failure_count > 0 || tail->lines > STOP_LINES) return;
  const size_t pattern = match(tail, SORT_STOP, candidate);
  if (pattern != WO_NOT_FOUND && !is_known(tail->scan, candidate)) note_failure(tail, candidate, pattern);
}

/* Whether the lines so far, none of which looks like a failure, hold so much plain text that the program was at work. There are
 * not enough of them in most walks, so they are counted when they can be. */
static bool shows_text(struct tail *tail, const struct wo_candidate *candidate) {
  if (tail->lines <= TEXT_ALIVE + 1) return false;
  if (tail->lines > TEXT_ALIVE + 2) return (tail->texts += is_plain(candidate->raw)) > TEXT_ALIVE + 1;
  struct wo_backwards walk = wo__scan_walk_back(tail->scan, tail->scan->buf_len, tail->scan->line_number);
  struct wo_view raw = {0};
  uint64_t offset = 0;
  for (int i = 0; i < tail->lines && wo__scan_previous_line(&walk, &raw, &offset); i++)
    tail->texts += is_plain(wo__candidate_end(raw));
  return tail->texts > TEXT_ALIVE + 1;
}

static void look_for_failure(struct tail *tail, struct wo_candidate *candidate) {
  if (tail->failure_count == FAILURES_MAX) return;
  if (tail->is_good) {
    look_for_stop(tail, candidate);
    return;
  }
  if (tail->failure_count == 0 && shows_text(tail, candidate)) tail->is_good = tail->is_at_work = true;
  const size_t pattern = find_failure(tail, candidate);
  if (pattern == WO_NOT_FOUND || is_known(tail->scan, candidate) || is_of_warning(tail, candidate, pattern)) return;
  note_failure(tail, candidate, pattern);
}

/* ---- The walk ---- */

/* Whether the lines above can still say anything. */
static bool is_over(const struct tail *tail) {
  const bool has_told = tail->success.pattern != WO_NOT_FOUND && tail->progress.pattern != WO_NOT_FOUND;
  if (tail->lines >= FAILURE_LINES) return true;
  if (tail->failure_count > 0 && tail->lines - tail->last_failure > CLUSTER_LINES) return tail->lines >= SUCCESS_LINES;
  if (tail->is_good && !tail->is_at_work && tail->lines < STOP_LINES) return false;
  return tail->is_good && (has_told || tail->lines >= SUCCESS_LINES);
}

static struct wo_event *add(struct wo_scan *scan, const struct tail_line *line, wo_event_id of) {
  struct wo_candidate candidate = wo__candidate_at(scan, line->raw, line->number, line->offset);
  return line->pattern == WO_NOT_FOUND ? NULL : wo__candidate_add(scan, line->pattern, &candidate, of);
}

/* How much a line says of the failure. The name of an exception says most; lines that only say that something failed decide when
 * no other does. */
enum weight { WEIGHT_EXIT, WEIGHT_LOOKS, WEIGHT_KNOWN, WEIGHT_EXCEPTION };

static enum weight weight_of(const struct tail *tail, size_t at) {
  const struct wo_pattern *const pattern = wo_pattern_at(tail->scan->set, tail->failures[at].pattern);
  if (pattern->kind == WO_KIND_TRACEBACK) return WEIGHT_EXCEPTION;
  if (pattern->mark == WO_MARK_LAST_WORD) return WEIGHT_EXIT;
  return pattern->kind == WO_KIND_PROGRAM_ERROR && pattern->mark == WO_MARK_NONE ? WEIGHT_KNOWN : WEIGHT_LOOKS;
}

static bool is_stop_at(const struct tail *tail, size_t at) {
  return wo_pattern_at(tail->scan->set, tail->failures[at].pattern)->mark == WO_MARK_STOPPED;
}

static bool is_weak_at(const struct tail *tail, size_t at) {
  return wo_pattern_at(tail->scan->set, tail->failures[at].pattern)->mark == WO_MARK_WEAK_FAILURE;
}

/* The deciding line: the first of the weightiest, because what comes later follows from it (but no signal follows from a word
 * like "could not"), or a signal above it. It is told first, and those below it as part of it, but for exits, which stand for
 * themselves; and so is the step that the program had reached. */
static void add_failures(struct tail *tail) {
  size_t deciding = 0;
  for (size_t i = 1; i < tail->failure_count; i++) {
    if (is_weak_at(tail, i) && is_stop_at(tail, deciding)) continue;
    if (weight_of(tail, i) >= weight_of(tail, deciding)) deciding = i;
  }
  for (size_t i = deciding + 1; i < tail->failure_count; i++) {
    if (is_stop_at(tail, i)) deciding = i;
  }
  const bool is_told = !is_known_near(tail->scan, tail->failures[deciding].number);
  const struct wo_event *const event = is_told ? add(tail->scan, &tail->failures[deciding], WO_EVENT_NONE) : NULL;
  const wo_event_id of = event ? event->id : WO_EVENT_NONE;
  const bool is_exit = weight_of(tail, deciding) == WEIGHT_EXIT;
  size_t told = 1;
  for (size_t i = deciding; of != WO_EVENT_NONE && i-- > 0; told++) {
    const bool is_exit_beside = weight_of(tail, i) == WEIGHT_EXIT && !is_exit;
    if (told < FAILURES_TOLD || (is_exit_beside && i == 0))
      add(tail->scan, &tail->failures[i], is_exit_beside ? WO_EVENT_NONE : of);
  }
  if (!is_told || tail->progress.number <= tail->failures[deciding].number) add(tail->scan, &tail->progress, of);
}

/* How far the log had come when it stopped, if it had further to go, by numbers out of a total in the lines that were walked. */
static void add_counter(const struct tail *tail, int lines) {
  struct wo_counter counter = {.count = 0};
  struct tail_line counted = {.pattern = WO_NOT_FOUND};
  struct wo_backwards walk = wo__scan_walk_back(tail->scan, tail->scan->buf_len, tail->scan->line_number);
  struct wo_view raw = {0};
  uint64_t offset = 0;
  for (int i = 0; i < lines && wo__scan_previous_line(&walk, &raw, &offset); i++) {
    const bool is_begun = counter.count > 0;
    wo__counter_look(&counter, wo__candidate_end(raw));
    if (!is_begun && counter.count > 0) counted = (struct tail_line){first_of(tail, SORT_COUNTER), raw, walk.number, offset};
  }
  const struct wo_counter_series *const series = wo__counter_unfinished(&counter);
  struct wo_event *const event = series ? add(tail->scan, &counted, WO_EVENT_NONE) : NULL;
  if (!event) return;
  wo_event_set_exact(tail->scan->store, event, WO_FIELD_STEP, (double)series->step);
  wo_event_set_exact(tail->scan->store, event, WO_FIELD_STEP_TOTAL, (double)series->total);
}

static void walk_back(struct tail *tail) {
  struct wo_scan *const scan = tail->scan;
  struct wo_backwards walk = wo__scan_walk_back(scan, scan->buf_len, scan->line_number);
  const bool is_explained = is_known_near(scan, scan->line_number);
  struct wo_view raw = {0};
  uint64_t offset = 0;
  while (!is_over(tail) && wo__scan_previous_line(&walk, &raw, &offset)) {
    struct wo_candidate candidate = wo__candidate_at(tail->scan, raw, walk.number, offset);
    if (is_explained && tail->lines >= SUCCESS_LINES) return;
    tail->lines++;
    look_for_last_line(tail, &candidate);
    look_for_success(tail, &candidate);
    look_for_step(tail, &candidate);
    if (!is_explained) look_for_failure(tail, &candidate);
    settle_weak(tail);
  }
}

void wo__scan_tail(struct wo_scan *scan) {
  const struct tail_line none = {.pattern = WO_NOT_FOUND};
  struct tail tail = {.scan = scan, .success = none, .weak = none, .progress = none, .alive = none, .last = none};
  walk_back(&tail);
  const int lines = tail.lines;
  tail.lines += NEAR_LINES + 1;
  settle_weak(&tail);
  add(scan, &tail.success, WO_EVENT_NONE);
  add(scan, &tail.alive, WO_EVENT_NONE);
  if (tail.failure_count > 0) {
    add_failures(&tail);
  } else {
    const struct wo_event *const progress = add(scan, &tail.progress, WO_EVENT_NONE);
    if (!progress || !wo_event_field(progress, WO_FIELD_STEP_TOTAL)) add_counter(&tail, lines);
    add(scan, &tail.last, WO_EVENT_NONE);
  }
}
