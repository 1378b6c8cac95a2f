/* SPDX-License-Identifier: Apache-2.0 */
/* The lines around a failure: how far the job had come before it, and whether it went on after it. */
#include <assert.h>
#include <string.h>

#include "parsers/base/clean.h"
#include "parsers/scan/candidate.h"
#include "parsers/scan/scan_internal.h"

/* Lines after a failure that are looked at for progress. */
#define AFTERMATH_LINES 400

/* Lines after a failure in which a launcher may name the task that failed. */
#define TASK_LINES 4

/* Lines before a failure that are looked at for progress and for the words of a stage. */
#define BEFORE_LINES 200

/* Lines above a share of an epoch in which the bar of the steps may be. */
#define BAR_LINES 4

/* Tries patterns in order on one line until one matches, and adds its event. */
static bool match_first(struct wo_scan *scan, const struct wo_places *places, struct wo_candidate *candidate, wo_event_id of) {
  const size_t pattern = wo__candidate_match(scan, places, candidate, NULL);
  if (pattern != WO_NOT_FOUND) wo__candidate_add(scan, pattern, candidate, of);
  return pattern != WO_NOT_FOUND;
}

/* Adds the progress that the line shows, if any. */
static bool match_progress(struct wo_scan *scan, struct wo_candidate *candidate, wo_event_id of) {
  const size_t pattern = wo__candidate_progress(scan, candidate, NULL);
  if (pattern != WO_NOT_FOUND) wo__candidate_add(scan, pattern, candidate, of);
  return pattern != WO_NOT_FOUND;
}

/* A look back from a failure. */
struct look {
  wo_event_id failure;
  bool has_stage; /* a stage is known, or was looked for by the walk from an earlier failure */
  bool has_share; /* a share of an epoch was found */
  int lines_left; /* then */
};

/* Whether the line shows how far the job had come. A share of an epoch ("'epoch': 0.21") says less than the bar right above it.
 */
static bool finds_progress(struct wo_scan *scan, struct wo_candidate *candidate, struct look *look) {
  if (look->has_share && look->lines_left-- == 0) return true;
  struct wo_candidate_step step = {""};
  const size_t pattern = wo__candidate_progress(scan, candidate, &step);
  if (pattern == WO_NOT_FOUND) return false;
  const bool is_share = strchr(step.text, '.') != NULL;
  if (look->has_share && is_share) return true;
  wo__candidate_add(scan, pattern, candidate, look->failure);
  look->has_share = is_share;
  return !is_share;
}

/* Looks at a line before a failure; true when no more are to be looked at. The program went on after a stage that is farther
 * away, so the walk ends with progress. */
static bool look_at(struct wo_scan *scan, struct wo_candidate *candidate, struct look *look) {
  if (!look->has_stage) look->has_stage = match_first(scan, &scan->stages, candidate, look->failure);
  return finds_progress(scan, candidate, look);
}

/* At the failure of the last walk, goes to where that one came to. False when nothing is left to look at. */
static bool pass_walked(const struct wo_walk_memo *memo, struct wo_backwards *walk, int *lines) {
  if (memo->line == 0 || walk->base + walk->end != memo->from) return true;
  if (memo->to <= walk->base + walk->floor) return false;
  walk->end = (size_t)(memo->to - walk->base);
  walk->number = memo->to_line;
  *lines += memo->lines;
  return true;
}

/* Walks back to the nearest progress. */
static void walk_to_progress(struct wo_scan *scan, struct wo_backwards *walk, struct look *look, struct wo_walk_memo *memo) {
  struct wo_view raw;
  uint64_t offset = 0;
  bool is_found = false;
  int lines = 0;
  while (!is_found && pass_walked(&scan->walk_memo, walk, &lines)) {
    if (!look->has_share) *memo = (struct wo_walk_memo){memo->line, memo->from, walk->base + walk->end, walk->number, lines};
    if (lines++ >= BEFORE_LINES || !wo__scan_previous_line(walk, &raw, &offset)) return;
    struct wo_candidate before = wo__candidate_at(scan, raw, walk->number, offset);
    look->has_stage = look->has_stage || walk->number <= scan->walk_memo.line;
    is_found = look_at(scan, &before, look);
  }
}

/* The scanner's own buffer for clean text still holds the failing line, so the walk has a buffer of its own. */
static void look_before(struct wo_scan *scan, const struct wo_line *line, wo_event_id failure) {
  struct wo_backwards walk = wo__scan_walk_back(scan, scan->line_start, line->number);
  struct wo_walk_memo memo = {.line = line->number, .from = walk.base + walk.end};
  struct look look = {.failure = failure, .lines_left = BAR_LINES};
  /* The failing line itself may carry the bar that the message was glued to. */
  const bool is_own = wo_event_get(scan->store, failure)->span.line == line->number;
  struct wo_candidate own = wo__candidate_of(scan, line);
  if (is_own && look_at(scan, &own, &look)) return;
  char *const clean = scan->clean;
  char buf[WO_SCAN_AROUND_BYTES];
  scan->clean = buf;
  walk_to_progress(scan, &walk, &look, &memo);
  scan->clean = clean;
  scan->walk_memo = memo;
}

/* Lines of one shape that differ, below an exception that may have been caught. */
#define SERIES_BARE 10

/* Watches for progress after a failure, and for other signs that the program lives. */
struct aftermath {
  int found; /* lines of progress */
  int alive; /* signs of life, up to WO_SCAN_LIFE_ENOUGH */
  bool is_kill;
  bool is_bare; /* an exception without its traceback */
  wo_event_id failure;
  struct wo_before before;
  struct wo_series series;
};

static void tell_life(const struct wo_open *open, wo_event_id failure, bool is_first) {
  struct wo_event *const life = wo_open_add(open, WO_KIND_LIFE, open->line->text);
  if (!life) return;
  life->of = failure;
  if (is_first) wo_event_set_exact(open->store, life, WO_FIELD_COUNT, 1);
}

/* The first sign, and the line that makes it enough, are the evidence. */
static void count_life(struct wo_open *open) {
  struct aftermath *const own = open->state;
  const struct wo_event *const failure = wo_event_get(open->store, own->failure);
  if (own->alive >= WO_SCAN_LIFE_ENOUGH || !failure) return;
  const int life = wo__scan_life(open->line, failure->stamp);
  if (life == WO_SCAN_LIFE_SURE && own->alive < WO_SCAN_LIFE_SURE) tell_life(open, own->failure, true);
  own->alive += life;
  if (life > 0 && own->alive >= WO_SCAN_LIFE_ENOUGH) tell_life(open, own->failure, false);
}

/* Below an exception without its traceback, of which nothing shows whether it was caught, and below a kill, which a shell reports
 * that goes on with the next command, lines of the same shapes as those above are a sign of life. */
static enum wo_more compare_with_before(struct wo_open *open) {
  struct aftermath *const own = open->state;
  const struct wo_candidate candidate = wo__candidate_of(open->scan, open->line);
  const enum wo_again again = wo__before_compare(open->scan, &own->before, candidate);
  const bool is_series = own->is_bare && wo__series_grows(&own->series, open->line->text, SERIES_BARE);
  if (again == WO_AGAIN_OTHERS) return WO_MORE_NO_UNREAD;
  if (again != WO_AGAIN_SURE && !is_series) return WO_MORE_YES;
  tell_life(open, own->failure, false);
  return WO_MORE_NO_UNREAD;
}

static enum wo_more feed_aftermath(struct wo_open *open) {
  struct aftermath *const own = open->state;
  struct wo_scan *const scan = open->scan;
  if (open->lines > AFTERMATH_LINES) return WO_MORE_NO_UNREAD;
  if (own->is_kill) return compare_with_before(open);
  count_life(open);
  if (own->found < 3) {
    struct wo_candidate candidate = wo__candidate_of(scan, open->line);
    if (open->lines <= TASK_LINES) match_first(scan, &scan->stages, &candidate, own->failure);
    own->found += match_progress(scan, &candidate, own->failure);
  }
  if (own->is_bare && compare_with_before(open) != WO_MORE_YES) own->is_bare = false;
  return WO_MORE_YES;
}

const struct wo_format wo__format_aftermath = {
    .name = "aftermath", .state_bytes = sizeof(struct aftermath), .feed = feed_aftermath};

static bool is_exception(const struct wo_scan *scan, wo_event_id failure) {
  return wo_event_get(scan->store, failure)->kind == WO_KIND_TRACEBACK;
}

static bool is_kill(const struct wo_scan *scan, wo_event_id failure) {
  return wo_event_get(scan->store, failure)->kind == WO_KIND_KILLED;
}

/* Watches the lines below, unless the log ends here. */
static void watch(struct wo_scan *scan, const struct wo_line *line, wo_event_id failure) {
  if (scan->is_at_end) return;
  struct aftermath *const own = wo__scan_open(scan, &wo__format_aftermath, NULL, line)->state;
  own->failure = failure;
  own->is_kill = is_kill(scan, failure);
  own->is_bare = wo_event_field(wo_event_get(scan->store, failure), WO_FIELD_IS_BARE) != NULL;
  if (own->is_kill || own->is_bare) wo__before_learn(scan, line, &own->before);
}

/* Progress after a failure shows whether the job survived it. An exception is not watched beside the memory failure that it
 * reports, and leaves room for others. What was done before a kill is told by the end of the log. */
static void look_around(struct wo_scan *scan, const struct wo_line *line, wo_event_id failure, bool is_alone) {
  if (scan->context_count >= WO_SCAN_CONTEXT_MAX || scan->before.count == 0) return;
  scan->context_count++;
  if (!is_kill(scan, failure)) look_before(scan, line, failure);
  const bool has_room = scan->open_count < WO_LIMIT_OPEN_READERS / 2;
  if (is_exception(scan, failure) && (!is_alone || !has_room)) return;
  watch(scan, line, failure);
}

/* Runs when the line is done: looking around adds events of its own, which must not come between a reader and the event that it
 * is filling. */
void wo__scan_contexts(struct wo_scan *scan, const struct wo_line *line) {
  bool is_alone = true;
  for (size_t i = 0; i < scan->pending_count; i++) is_alone = is_alone && is_exception(scan, scan->pending[i]);
  for (size_t i = 0; i < scan->pending_count; i++) look_around(scan, line, scan->pending[i], is_alone);
  scan->pending_count = 0;
}

/* The entry of a key, or a free one; NULL when the table is full. */
static struct wo_seen_setting *find_seen(struct wo_scan *scan, uint64_t key) {
  size_t at = (size_t)(key % WO_SCAN_SETTINGS_MAX);
  for (size_t probes = 0; probes < WO_SCAN_SETTINGS_MAX; probes++) {
    struct wo_seen_setting *seen = &scan->settings[at];
    if (seen->changes == 0 || seen->key == key) return seen;
    at = (at + 1) % WO_SCAN_SETTINGS_MAX;
  }
  return NULL;
}

/* Several patterns can find the same key on one line. The place shows whether this print was looked at before: otherwise a line
 * that names a key twice with two values would change it back and forth. */
bool wo_scan_is_setting_change(struct wo_scan *scan, struct wo_view path, struct wo_view key, struct wo_view value,
                               uint64_t offset) {
  const uint64_t key_hash = wo_view_hash(wo_view_hash(WO_HASH_START, path) ^ 61, key);
  const uint64_t value_hash = wo_view_hash(WO_HASH_START, value);
  struct wo_seen_setting *seen = find_seen(scan, key_hash);
  if (seen == NULL) {
    scan->store->dropped++;
    return false;
  }
  const bool is_new = seen->changes == 0 || (seen->value != value_hash && offset > seen->offset);
  if (seen->changes >= WO_LIMIT_SETTING_CHANGES) {
    if (is_new) wo_scan_note_cap(scan, WO_CAP_CHANGES, 1);
    return false;
  }
  if (is_new) {
    if (seen->changes == 0) scan->setting_count++;
    seen->changes++;
    seen->value = value_hash;
  }
  if (seen->changes == 1 || offset > seen->offset) seen->offset = offset;
  seen->key = key_hash;
  return is_new;
}

bool wo_scan_may_look_back(struct wo_scan *scan, size_t bytes) {
  if (scan->looked_back_bytes >= WO_LIMIT_LOOKED_BACK_BYTES) return false;
  scan->looked_back_bytes += bytes;
  return true;
}

/* Cleaning and reading the prefix is only needed where the writer puts one before its lines. */
void wo_open_each_line_before(const struct wo_open *open, bool (*visit)(void *context, struct wo_view text), void *context) {
  const struct wo_line *const line = open->line;
  struct wo_backwards walk = wo__scan_walk_back(open->scan, open->scan->line_start, line->number);
  struct wo_view raw;
  uint64_t offset = 0;
  char buf[WO_SCAN_AROUND_BYTES];
  for (int lines = 0; lines < WO_LIMIT_LOOKBACK_LINES && wo__scan_previous_line(&walk, &raw, &offset) && !walk.is_cut; lines++) {
    if (!wo_scan_may_look_back(open->scan, raw.len + 1)) {
      wo_scan_note_cap(open->scan, WO_CAP_PATH, 1);
      return;
    }
    const struct wo_view label = wo__scan_cut_label(open->scan, &raw);
    struct wo_view text = raw;
    if (line->prefix.length > 0 || label.len > 0) {
      const struct wo_view full = wo_clean_line(wo_view_sub(raw, 0, sizeof buf), buf, sizeof buf);
      struct wo_prefix prefix = wo_prefix_read(full);
      wo__scan_note_label(open->scan, label, &prefix);
      if (!wo_view_equal(prefix.source, line->prefix.source)) continue;
      text = wo_view_skip(full, prefix.length);
    }
    if (!visit(context, text)) return;
  }
}
