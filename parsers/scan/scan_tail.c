/* The last lines of an input: how far it came, whether it says that it finished, and which lines look like a failure although no
 * pattern of all lines knows them.
 *
 * The walk goes backwards. A line that looks like a failure counts only while nothing good stands below it: no word of success,
 * no server that serves, no two steps. Words that many programs print in any case (a final accuracy, a bar that is full) are
 * weak: they are no good end when a failure stands below them, or right above. What the lines look like is told by the packs:
 * patterns of the place "tail", and their marks. */
#include <string.h>

#include "parsers/scan/candidate.h"

enum {
  SUCCESS_LINES = 40,  /* at the end of the input that are looked at for words of success */
  FAILURE_LINES = 250, /* that are looked at for failures */
  CLUSTER_LINES = 25,  /* between two lines about one failure: the calls that led to it */
  KNOWN_LINES = 120,   /* below a known failure: what looks like one there follows from it */
  NEAR_LINES = 5,      /* above weak words of success */
  FAILURES_MAX = 24,   /* lines of one failure that are compared */
  FAILURES_TOLD = 3,   /* and that are kept */
  STEPS_ALIVE = 2      /* different steps after a line show that the program went on; bars are often drawn once more */
};

/* A line that matched, and the pattern. Its text is still in the buffer. */
struct tail_line {
  size_t pattern; /* WO_NOT_FOUND: none */
  struct wo_view raw;
  uint64_t number;
  uint64_t offset;
};

struct tail {
  struct wo_scan *scan;
  size_t by_level;  /* the pattern of lines that their logger calls errors, or WO_NOT_FOUND */
  int lines;        /* visited so far */
  int last_failure; /* the value of `lines` at the failure found last */
  int weak_at;      /* and at the weak success */
  bool is_good;     /* nothing above is looked at for failures */
  int steps;        /* different ones below the line */
  struct wo_candidate_step step;
  struct tail_line success, weak, progress, alive;
  struct tail_line failures[FAILURES_MAX]; /* the last line first */
  size_t failure_count;
};

static enum wo_mark mark_of(const struct tail *tail, size_t pattern) {
  return wo_pattern_at(tail->scan->set, pattern)->mark;
}

static enum wo_kind kind_of(const struct tail *tail, size_t pattern) {
  return wo_pattern_at(tail->scan->set, pattern)->kind;
}

static struct tail_line line_at(const struct wo_candidate *candidate, size_t pattern) {
  return (struct tail_line){pattern, candidate->raw, candidate->number, candidate->offset};
}

/* A weak word of success is one after all when no failure stands near it. */
static void settle_weak(struct tail *tail) {
  const bool is_open = tail->weak.pattern != WO_NOT_FOUND && tail->success.pattern == WO_NOT_FOUND && tail->failure_count == 0;
  if (!is_open || (!tail->is_good && tail->lines - tail->weak_at <= NEAR_LINES)) return;
  tail->success = tail->weak;
  tail->is_good = true;
}

static void take_success(struct tail *tail, const struct wo_candidate *candidate, size_t pattern) {
  const bool is_weak = mark_of(tail, pattern) == WO_MARK_WEAK_END;
  if (tail->success.pattern != WO_NOT_FOUND || tail->lines > SUCCESS_LINES) return;
  if (!is_weak) {
    tail->success = line_at(candidate, pattern);
    tail->is_good = true;
  } else if (tail->failure_count == 0 && tail->weak.pattern == WO_NOT_FOUND) {
    tail->weak = line_at(candidate, pattern);
    tail->weak_at = tail->lines;
  }
}

/* Whether the line is known: a pattern of all lines, or a reader, found a failure on it, what follows from one, or a remark. */
static bool is_known(const struct tail *tail, const struct wo_candidate *candidate) {
  const struct wo_event_store *const store = tail->scan->store;
  for (size_t i = store->count; i-- > 0;) {
    const struct wo_event *const event = &store->items[i];
    if (event->span.file != tail->scan->options.file) return false;
    const bool is_remark = event->kind == WO_KIND_NOTE && event->mark != WO_MARK_NONE;
    if (event->span.line != candidate->number) continue;
    if (is_remark || wo_kind_class(event->kind) != WO_CLASS_CONTEXT) return true;
  }
  return false;
}

static void take_failure(struct tail *tail, const struct wo_candidate *candidate, size_t pattern) {
  if (tail->is_good || tail->failure_count == FAILURES_MAX || is_known(tail, candidate)) return;
  tail->failures[tail->failure_count++] = line_at(candidate, pattern);
  tail->last_failure = tail->lines;
}

/* Steps of the program. The newest is kept; different ones show that it went on. */
static void take_step(struct tail *tail, struct wo_candidate *candidate) {
  struct wo_candidate_step step = {""};
  const bool is_wanted = tail->progress.pattern == WO_NOT_FOUND || (!tail->is_good && tail->failure_count == 0);
  const size_t pattern =
      is_wanted ? wo__candidate_match(tail->scan, tail->scan->before, WO_MARK_NONE, candidate, &step) : WO_NOT_FOUND;
  if (pattern == WO_NOT_FOUND) return;
  const bool is_near = tail->lines <= SUCCESS_LINES || tail->failure_count > 0;
  if (tail->progress.pattern == WO_NOT_FOUND && is_near) tail->progress = line_at(candidate, pattern);
  if (step.text[0] == '\0' || strcmp(step.text, tail->step.text) == 0) return;
  tail->step = step;
  tail->steps++;
}

/* Whether lines of the pattern look like a failure: by their words, or by what they say of how the program left. */
static bool is_failure(const struct tail *tail, size_t pattern) {
  if (pattern == WO_NOT_FOUND) return false;
  const enum wo_kind kind = kind_of(tail, pattern);
  return kind == WO_KIND_UNKNOWN_FAILURE || kind == WO_KIND_TRACEBACK || mark_of(tail, pattern) == WO_MARK_LAST_WORD;
}

/* The pattern of the line. A logger that calls a line a warning or less says that it is no failure; one that calls it an error
 * says that it is, whatever its words. */
static size_t find_pattern(struct tail *tail, struct wo_candidate *candidate) {
  const size_t pattern = wo__candidate_match(tail->scan, tail->scan->tail, WO_MARK_BY_LEVEL, candidate, NULL);
  const bool is_bad = is_failure(tail, pattern);
  if (pattern != WO_NOT_FOUND && !is_bad) return pattern;
  if (!is_bad && tail->is_good) return WO_NOT_FOUND;
  const enum wo_severity severity = wo__candidate_line(tail->scan, candidate)->prefix.severity;
  if (severity >= WO_SEVERITY_ERROR) return is_bad ? pattern : tail->by_level;
  return severity == WO_SEVERITY_NONE ? pattern : WO_NOT_FOUND;
}

/* What one line of the tail says. */
static void visit(struct tail *tail, struct wo_candidate *candidate) {
  const size_t pattern = find_pattern(tail, candidate);
  if (is_failure(tail, pattern)) {
    take_failure(tail, candidate, pattern);
    return;
  }
  const bool is_alive = pattern != WO_NOT_FOUND && mark_of(tail, pattern) == WO_MARK_ALIVE;
  if (is_alive && tail->alive.pattern == WO_NOT_FOUND) tail->alive = line_at(candidate, pattern);
  if (pattern != WO_NOT_FOUND && kind_of(tail, pattern) == WO_KIND_SUCCESS) take_success(tail, candidate, pattern);
  take_step(tail, candidate);
  if (is_alive || (tail->steps >= STEPS_ALIVE && tail->failure_count == 0)) tail->is_good = true;
}

/* Whether the lines above can still say anything. */
static bool is_over(const struct tail *tail) {
  const bool has_told = tail->success.pattern != WO_NOT_FOUND && tail->progress.pattern != WO_NOT_FOUND;
  if (tail->lines >= FAILURE_LINES) return true;
  if (tail->failure_count > 0 && tail->lines - tail->last_failure > CLUSTER_LINES) return tail->lines >= SUCCESS_LINES;
  return tail->is_good && (has_told || tail->lines >= SUCCESS_LINES);
}

static struct wo_event *add(struct wo_scan *scan, const struct tail_line *line, wo_event_id of) {
  struct wo_candidate candidate = wo__candidate_at(line->raw, line->number, line->offset);
  return line->pattern == WO_NOT_FOUND ? NULL : wo__candidate_add(scan, line->pattern, &candidate, of);
}

/* The name of an exception says most; lines that only say that something failed decide when no other does. */
static int weight_of(const struct tail *tail, size_t at) {
  const size_t pattern = tail->failures[at].pattern;
  const enum wo_mark mark = mark_of(tail, pattern);
  if (kind_of(tail, pattern) == WO_KIND_TRACEBACK) return 3;
  return mark == WO_MARK_LAST_WORD ? 0 : mark == WO_MARK_BY_LEVEL ? 1 : 2;
}

/* Whether a failure that is known stands near the lines, above or among them, or above them what follows from one: so do they. */
static bool is_known_near(const struct tail *tail, uint64_t line) {
  const struct wo_event_store *const store = tail->scan->store;
  for (size_t i = store->count; i-- > 0;) {
    const struct wo_event *const event = &store->items[i];
    const enum wo_class class = wo_kind_class(event->kind);
    const bool is_failure = class == WO_CLASS_GPU_MEMORY || class == WO_CLASS_HOST_MEMORY || class == WO_CLASS_PROGRAM ||
                            class == WO_CLASS_HARDWARE || class == WO_CLASS_ENDING;
    if (event->span.file != tail->scan->options.file) return false;
    const bool is_bare = wo_event_field(event, WO_FIELD_IS_BARE) || wo_event_field(event, WO_FIELD_IS_SUSPECTED);
    const bool is_above = class == WO_CLASS_CONSEQUENCE && event->span.line <= line;
    if ((is_failure || is_above) && !is_bare && !event->is_quoted && event->span.line + KNOWN_LINES >= line) return true;
  }
  return false;
}

/* The deciding line: the first of the weightiest, because what comes later follows from it. It is told first, and those below it
 * as part of it, but for exits, which stand for themselves; and so is the step that the program had reached. */
static void add_failures(struct tail *tail) {
  size_t deciding = 0;
  for (size_t i = 1; i < tail->failure_count; i++) {
    if (weight_of(tail, i) >= weight_of(tail, deciding)) deciding = i;
  }
  const bool is_told = !is_known_near(tail, tail->failures[deciding].number);
  const struct wo_event *const event = is_told ? add(tail->scan, &tail->failures[deciding], WO_EVENT_NONE) : NULL;
  const wo_event_id of = event ? event->id : WO_EVENT_NONE;
  const bool is_exit = weight_of(tail, deciding) == 0;
  size_t told = 1;
  for (size_t i = deciding; of != WO_EVENT_NONE && i-- > 0 && told < FAILURES_TOLD; told++) {
    const bool is_exit_beside = weight_of(tail, i) == 0 && !is_exit;
    add(tail->scan, &tail->failures[i], is_exit_beside ? WO_EVENT_NONE : of);
  }
  if (!is_told || tail->progress.number <= tail->failures[deciding].number) add(tail->scan, &tail->progress, of);
}

/* The pattern of lines that their logger calls errors, or WO_NOT_FOUND. */
static size_t find_by_level(const struct wo_scan *scan) {
  for (size_t i = 0; i < scan->tail.count; i++) {
    if (wo_pattern_at(scan->set, scan->tail.items[i])->mark == WO_MARK_BY_LEVEL) return scan->tail.items[i];
  }
  return WO_NOT_FOUND;
}

void wo__scan_tail(struct wo_scan *scan) {
  const struct tail_line none = {.pattern = WO_NOT_FOUND};
  struct tail tail = {
      .scan = scan, .by_level = find_by_level(scan), .success = none, .weak = none, .progress = none, .alive = none};
  struct wo_backwards walk = wo__scan_walk_back(scan, scan->buf_len, scan->line_number);
  struct wo_view raw = {0};
  uint64_t offset = 0;
  while (!is_over(&tail) && wo__scan_previous_line(&walk, &raw, &offset)) {
    struct wo_candidate candidate = wo__candidate_at(raw, walk.number, offset);
    tail.lines++;
    visit(&tail, &candidate);
    settle_weak(&tail);
  }
  tail.lines += NEAR_LINES + 1;
  settle_weak(&tail);
  add(scan, &tail.success, WO_EVENT_NONE);
  if (tail.success.pattern == WO_NOT_FOUND && tail.failure_count == 0) add(scan, &tail.alive, WO_EVENT_NONE);
  if (tail.failure_count > 0) {
    add_failures(&tail);
  } else {
    add(scan, &tail.progress, WO_EVENT_NONE);
  }
}
