/* The lines around a failure: how far the job had come before it, whether it went on after it, and what the last lines say. */
#include <assert.h>
#include <string.h>

#include "parsers/base/clean.h"
#include "parsers/scan/scan_internal.h"

/* Lines after a memory failure that are looked at for progress. */
#define AFTERMATH_LINES 400

/* Lines after a failure in which a launcher may name the task that failed. */
#define TASK_LINES 4

/* Lines before a failure that are looked at for progress and for the words of a stage. */
#define BEFORE_LINES 200

/* Lines at the end of the input that are looked at for words of success. */
#define TAIL_LINES 40

/* Adds the event of a BEFORE or TAIL pattern that matches; used as a match callback. */
struct around_context {
  struct wo_scan *scan;
  const struct wo_line *line;
  wo_event_id of;
  bool is_found;
};

static bool on_around(void *context, const struct wo_pattern *pattern, const struct wo_match *match) {
  struct around_context *c = context;
  struct wo_event *const event = wo__scan_add_match(c->scan, c->line, pattern, match);
  if (event) event->of = c->of;
  c->is_found = true;
  return false;
}

/* Which pairs of bytes are in a text, by their hash: most literals are ruled out by one of theirs. */
enum { PAIR_HASHES = 512 };
struct byte_pairs {
  bool is_there[PAIR_HASHES];
};

static size_t hash_pair(const char *at) {
  return ((unsigned char)at[0] * 7u + (unsigned char)at[1]) % PAIR_HASHES;
}

static struct byte_pairs pairs_of(struct wo_view text) {
  struct byte_pairs pairs = {{false}};
  for (size_t i = 0; i + 1 < text.len; i++) pairs.is_there[hash_pair(text.ptr + i)] = true;
  return pairs;
}

/* False only when the literal cannot be in the text: its first or its last two bytes are not in it. */
static bool may_hold(const struct byte_pairs *pairs, struct wo_view literal) {
  if (literal.len < 2) return true;
  return pairs->is_there[hash_pair(literal.ptr)] && pairs->is_there[hash_pair(literal.ptr + literal.len - 2)];
}

/* A line that is looked at for progress or success. It is cleaned when a literal is in it: most hold none. */
struct candidate {
  struct wo_view raw;
  uint64_t number;
  uint64_t offset;
  const struct wo_line *line; /* NULL: not made yet */
  struct wo_line made;
  struct byte_pairs pairs;
};

/* The candidate of a line that was read for other reasons. */
static struct candidate candidate_of(const struct wo_line *line) {
  return (struct candidate){.raw = line->raw, .line = line, .pairs = pairs_of(line->raw)};
}

/* The end of a line. Cleaning repairs a cut in the middle of a character. */
static struct candidate candidate_at(struct wo_view raw, uint64_t number, uint64_t offset) {
  const size_t skip = raw.len > WO_SCAN_AROUND_BYTES ? raw.len - WO_SCAN_AROUND_BYTES : 0;
  const struct wo_view end = wo_view_skip(raw, skip);
  return (struct candidate){.raw = end, .number = number, .offset = offset + skip, .pairs = pairs_of(end)};
}

static const struct wo_line *line_of(struct wo_scan *scan, struct candidate *candidate) {
  if (candidate->line == NULL) {
    wo_scan_make_line(scan, candidate->raw, candidate->number, candidate->offset, &candidate->made);
    candidate->line = &candidate->made;
  }
  return candidate->line;
}

/* Whether one of the pattern's literals is in the line; true without literals. These patterns are few and their lines are
 * few, so their literals may be short and need no prefilter. */
static bool has_literal(const struct wo_pattern *pattern, const struct candidate *candidate) {
  for (size_t i = 0; i < pattern->literal_count; i++) {
    const struct wo_view literal = pattern->literals[i];
    if (may_hold(&candidate->pairs, literal) && wo_view_find(candidate->raw, literal, 0) != WO_NOT_FOUND) return true;
  }
  return pattern->literal_count == 0;
}

/* Words of a stage and progress are found independently of each other: a bar of the evaluation is both. */
enum wanted { WANT_PROGRESS, WANT_STAGE };

static bool is_wanted(const struct wo_pattern *pattern, enum wanted wanted) {
  return (pattern->kind == WO_KIND_STAGE) == (wanted == WANT_STAGE);
}

/* Tries patterns in order on one line until one matches. */
static bool match_first(struct wo_scan *scan, struct wo_places places, enum wanted wanted, struct candidate *candidate,
                        wo_event_id of) {
  struct around_context context = {.scan = scan, .of = of};
  wo_pattern_begin_line(scan->set, candidate->raw.len);
  for (size_t i = 0; i < places.count && !context.is_found; i++) {
    const struct wo_pattern *const pattern = wo_pattern_at(scan->set, places.items[i]);
    if (!is_wanted(pattern, wanted) || !has_literal(pattern, candidate)) continue;
    context.line = line_of(scan, candidate);
    wo_pattern_match(scan->set, places.items[i], context.line->full, on_around, &context);
    wo__scan_note_limits(scan, pattern, context.line->number);
  }
  return context.is_found;
}

/* Looks at a line before a failure; true for progress. The program went on after a stage that is farther away, so the walk ends
 * with that. */
static bool look_at(struct wo_scan *scan, struct candidate *candidate, wo_event_id failure, bool *has_stage) {
  if (!*has_stage) *has_stage = match_first(scan, scan->before, WANT_STAGE, candidate, failure);
  return match_first(scan, scan->before, WANT_PROGRESS, candidate, failure);
}

/* The scanner's own buffer for clean text still holds the failing line, so the walk has a buffer of its own. */
static void look_before(struct wo_scan *scan, const struct wo_line *line, wo_event_id failure) {
  struct wo_backwards walk = wo__scan_walk_back(scan, scan->line_start, line->number);
  struct wo_view raw;
  uint64_t offset = 0;
  bool has_stage = false;
  /* The failing line itself may carry the bar that the message was glued to. */
  const bool is_own = wo_event_get(scan->store, failure)->span.line == line->number;
  struct candidate own = candidate_of(line);
  if (is_own && look_at(scan, &own, failure, &has_stage)) return;
  char *const clean = scan->clean;
  char buf[WO_SCAN_AROUND_BYTES];
  scan->clean = buf;
  for (int lines = 0; lines < BEFORE_LINES && wo__scan_previous_line(&walk, &raw, &offset); lines++) {
    struct candidate before = candidate_at(raw, walk.number, offset);
    if (look_at(scan, &before, failure, &has_stage)) break;
  }
  scan->clean = clean;
}

/* Watches for progress after a failure. */
struct aftermath {
  int found; /* lines of progress */
  wo_event_id failure;
};

static enum wo_more feed_aftermath(struct wo_open *open) {
  struct aftermath *const own = open->state;
  struct wo_scan *const scan = open->scan;
  if (open->lines > AFTERMATH_LINES) return WO_MORE_NO_UNREAD;
  if (own->found < 3) {
    struct candidate candidate = candidate_of(open->line);
    if (open->lines <= TASK_LINES) match_first(scan, scan->before, WANT_STAGE, &candidate, own->failure);
    own->found += match_first(scan, scan->before, WANT_PROGRESS, &candidate, own->failure);
  }
  return WO_MORE_YES;
}

const struct wo_format wo__format_aftermath = {
    .name = "aftermath", .state_bytes = sizeof(struct aftermath), .feed = feed_aftermath};

static bool is_memory(const struct wo_event *event) {
  const enum wo_class class = wo_kind_class(event->kind);
  return class == WO_CLASS_GPU_MEMORY || class == WO_CLASS_HOST_MEMORY;
}

/* Progress after a failure shows whether the job survived it. Only memory failures need this: an exception that was caught leaves
 * no other trace. */
static void look_around(struct wo_scan *scan, const struct wo_line *line, wo_event_id failure) {
  if (scan->context_count >= WO_SCAN_CONTEXT_MAX || scan->before.count == 0) return;
  scan->context_count++;
  look_before(scan, line, failure);
  const struct wo_event *event = wo_event_get(scan->store, failure);
  if (!is_memory(event) || scan->is_at_end) return;
  const struct wo_open *const open = wo__scan_open(scan, &wo__format_aftermath, NULL, line);
  ((struct aftermath *)open->state)->failure = failure;
}

/* Runs when the line is done: looking around adds events of its own, which must not come between a reader and the event that it
 * is filling. */
void wo__scan_contexts(struct wo_scan *scan, const struct wo_line *line) {
  for (size_t i = 0; i < scan->pending_count; i++) look_around(scan, line, scan->pending[i]);
  scan->pending_count = 0;
}

/* Words of success count at the end of the input only; "done" further up is the end of some stage. The last progress beside them
 * distinguishes a job that was stopped half-way from one that finished. */
void wo__scan_tail(struct wo_scan *scan) {
  struct wo_backwards walk = wo__scan_walk_back(scan, scan->buf_len, scan->line_number);
  struct wo_view raw = {0};
  uint64_t offset = 0;
  bool has_success = false;
  bool has_progress = false;
  for (int lines = 0; lines < TAIL_LINES && wo__scan_previous_line(&walk, &raw, &offset); lines++) {
    struct candidate line = candidate_at(raw, walk.number, offset);
    if (!has_success) has_success = match_first(scan, scan->tail, WANT_PROGRESS, &line, WO_EVENT_NONE);
    if (!has_progress) has_progress = match_first(scan, scan->before, WANT_PROGRESS, &line, WO_EVENT_NONE);
  }
}

/* FNV-1a; settings are few and short. */
static uint64_t hash_text(uint64_t hash, struct wo_view text) {
  for (size_t i = 0; i < text.len; i++) hash = (hash ^ (unsigned char)text.ptr[i]) * UINT64_C(1099511628211);
  return hash;
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
  const uint64_t start = UINT64_C(14695981039346656037);
  const uint64_t key_hash = hash_text(hash_text(start, path) ^ 61, key);
  const uint64_t value_hash = hash_text(start, value);
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
    struct wo_view text = raw;
    if (line->prefix.length > 0) {
      const struct wo_view full = wo_clean_line(wo_view_sub(raw, 0, sizeof buf), buf, sizeof buf);
      const struct wo_prefix prefix = wo_prefix_read(full);
      if (!wo_view_equal(prefix.source, line->prefix.source)) continue;
      text = wo_view_skip(full, prefix.length);
    }
    if (!visit(context, text)) return;
  }
}
