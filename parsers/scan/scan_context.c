/* The lines around a failure: how far the job had come before it, whether it went on after it, and what the last lines say. */
#include <assert.h>
#include <string.h>

#include "parsers/base/clean.h"
#include "parsers/scan/scan_internal.h"

/* Lines after a memory failure that are looked at for progress. */
#define AFTERMATH_LINES 400

/* Lines at the end of the input that are looked at for words of success. */
#define TAIL_LINES 40

/* A bar that rewrites its line ends each state with CR: walking back over them sees the newest state first. */
static bool is_line_end(char c) {
  return c == '\n' || c == '\r';
}

/* A walk backwards over lines: `end` is the start of the line last visited. */
struct backwards {
  struct wo_scan *scan;
  size_t floor; /* nothing before this is looked at */
  size_t end;
  uint64_t number; /* line number at `end` */
  uint64_t base;   /* offset in the input of buf[0] */
  bool is_cut;     /* the line last visited begins before the floor */
};

/* Progress lines are short; a long one is looked at by its end, where a bar shows its newest state. */
#define AROUND_BYTES 1024

/* Prefixes stand at the front of a line. */
#define STAMP_BYTES 256

/* The floor is the lookback that the buffer keeps behind itself, not its start, so that what is found does not depend on how the
 * input was cut into chunks. */
static struct backwards walk_back(struct wo_scan *scan, size_t from, uint64_t number) {
  const size_t floor = from > WO_LIMIT_LOOKBACK_BYTES ? from - WO_LIMIT_LOOKBACK_BYTES : 0;
  return (struct backwards){.scan = scan, .floor = floor, .end = from, .number = number, .base = scan->buf_offset};
}

/* Whether one of the eight bytes of `word` is a line end; also true for most that are below it, tabs among them. */
static bool may_hold_line_end(uint64_t word) {
  const uint64_t ones = UINT64_C(0x0101010101010101);
  return ((word - ones * ('\r' + 1)) & ~word & (ones << 7)) != 0;
}

/* Where the line begins that ends at `end`: behind the last line end at or after floor, or at floor. Walks pass hundreds of lines
 * for one failure, so whole words are looked at first. */
static size_t line_start(const char *buf, size_t floor, size_t end) {
  while (end > floor) {
    uint64_t word = 0;
    for (; end - floor >= sizeof word; end -= sizeof word) {
      memcpy(&word, buf + end - sizeof word, sizeof word);
      if (may_hold_line_end(word)) break;
    }
    const size_t stop = end - floor < sizeof word ? floor : end - sizeof word;
    for (; end > stop; end--) {
      if (is_line_end(buf[end - 1])) return end;
    }
  }
  return end;
}

/* The next line further back, without blank ones; first what stands before `end` on its own line, when it does not start one.
 * False at the floor; of a line cut by the floor the end is given when enough of it can be seen. */
static bool previous_line(struct backwards *walk, struct wo_view *ret_raw, uint64_t *ret_offset) {
  const char *buf = walk->scan->buf;
  while (walk->end > walk->floor) {
    const bool is_ended = is_line_end(buf[walk->end - 1]);
    const size_t stop = walk->end - (is_ended ? 1 : 0);
    if (is_ended && buf[stop] == '\n') walk->number--;
    const size_t start = line_start(buf, walk->floor, stop);
    walk->is_cut = start == walk->floor && walk->base + start > 0;
    if (walk->is_cut && stop - start < AROUND_BYTES) return false;
    walk->end = start;
    if (start == stop) continue;
    *ret_raw = (struct wo_view){buf + start, stop - start};
    *ret_offset = walk->base + start;
    return true;
  }
  return false;
}

/* Lines of the same writer only: between two lines of one rank those of seven others may stand. */
size_t wo_open_lines_before(const struct wo_open *open, size_t n, struct wo_view *ret_texts, char *buf, size_t cap) {
  struct backwards walk = walk_back(open->scan, open->scan->line_start, open->line->number);
  struct wo_view raw;
  uint64_t offset = 0;
  size_t found = 0;
  while (found < n && previous_line(&walk, &raw, &offset) && !walk.is_cut) {
    const struct wo_view full = wo_clean_line(wo_view_sub(raw, 0, cap), buf + found * cap, cap);
    const struct wo_prefix prefix = wo_prefix_read(full);
    if (!wo_view_equal(prefix.source, open->line->prefix.source)) continue;
    ret_texts[found++] = wo_view_skip(full, prefix.length);
  }
  return found;
}

/* Lines before one without a time that are looked at for the time of its writer. */
#define STAMP_LINES 200

/* Whether the last search was for a line of this writer. */
static bool knows_source(const struct wo_stamp_memo *memo, struct wo_view source) {
  return memo->is_set && wo_view_equal((struct wo_view){memo->source, memo->source_len}, source);
}

/* What a search finds that has passed `lines` lines and comes to the line of the last one, of the same writer: the same, unless
 * that lies too far back by now. */
static void take_over(const struct wo_stamp_memo *last, const struct backwards *walk, int lines, struct wo_stamp_memo *memo) {
  const uint64_t floor = walk->base + walk->floor;
  const bool is_in_reach = last->offset > floor || floor == 0;
  if (last->stamp.clock == WO_CLOCK_NONE || !is_in_reach || lines + 1 + last->lines >= STAMP_LINES) return;
  memo->stamp = last->stamp;
  memo->offset = last->offset;
  memo->lines = lines + 1 + last->lines;
}

/* Looks for the nearest time of a writer; *memo gets what is found. */
static void find_stamp(struct wo_scan *scan, const struct wo_line *line, struct wo_stamp_memo *memo) {
  const struct wo_stamp_memo *const last = &scan->stamp_memo;
  const bool is_known = knows_source(last, line->prefix.source);
  struct backwards walk = walk_back(scan, scan->line_start, line->number);
  struct wo_view raw;
  uint64_t offset = 0;
  char buf[STAMP_BYTES];
  for (int lines = 0; lines < STAMP_LINES && previous_line(&walk, &raw, &offset) && !walk.is_cut; lines++) {
    if (is_known && offset == last->from) {
      take_over(last, &walk, lines, memo);
      return;
    }
    const struct wo_prefix prefix = wo_prefix_read(wo_clean_line(wo_view_sub(raw, 0, sizeof buf), buf, sizeof buf));
    if (prefix.stamp.clock == WO_CLOCK_NONE || !wo_view_equal(prefix.source, line->prefix.source)) continue;
    memo->stamp = prefix.stamp;
    memo->stamp.is_inherited = true;
    memo->offset = offset;
    memo->lines = lines;
    return;
  }
}

/* Only lines without a time of their own get here, so that the line of the last search has none to give. */
struct wo_stamp wo__scan_stamp_before(struct wo_scan *scan, const struct wo_line *line) {
  const struct wo_view source = line->prefix.source;
  struct wo_stamp_memo memo = {.from = scan->buf_offset + scan->line_start, .stamp = {.clock = WO_CLOCK_NONE}};
  assert(line->prefix.stamp.clock == WO_CLOCK_NONE);
  if (knows_source(&scan->stamp_memo, source) && scan->stamp_memo.from == memo.from) return scan->stamp_memo.stamp;
  find_stamp(scan, line, &memo);
  memo.is_set = source.len <= sizeof memo.source;
  if (memo.is_set && source.len > 0) memcpy(memo.source, source.ptr, source.len);
  memo.source_len = source.len;
  scan->stamp_memo = memo;
  return memo.stamp;
}

/* Adds the event of a BEFORE or TAIL pattern that matches; used as a match callback. */
struct around_context {
  struct wo_scan *scan;
  const struct wo_line *line;
  wo_event_id of;
  bool is_found;
};

static bool on_around(void *context, const struct wo_pattern *pattern, const struct wo_match *match) {
  struct around_context *c = context;
  struct wo_event *event =
      wo_scan_add_event(c->scan, c->line, pattern, pattern->kind, wo_match_start(match), wo_match_text(match).len);
  if (event) {
    event->of = c->of;
    wo_match_fill(match, pattern, c->scan->store, event);
  }
  c->is_found = true;
  return false;
}

/* Which pairs of bytes stand in a text, by their hash: most literals are ruled out by one of theirs. */
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

/* False only when the literal cannot stand in the text: its first or its last two bytes do not. */
static bool may_hold(const struct byte_pairs *pairs, struct wo_view literal) {
  if (literal.len < 2) return true;
  return pairs->is_there[hash_pair(literal.ptr)] && pairs->is_there[hash_pair(literal.ptr + literal.len - 2)];
}

/* A line that is looked at for progress or success. It is cleaned when a literal stands in it: most hold none. */
struct candidate {
  struct wo_view raw;
  uint64_t number;
  uint64_t offset;
  const struct wo_line *line; /* NULL: not made yet */
  struct wo_line made;
  struct byte_pairs pairs;
};

/* Of a line that was read for other ends. */
static struct candidate candidate_of(const struct wo_line *line) {
  return (struct candidate){.raw = line->raw, .line = line, .pairs = pairs_of(line->raw)};
}

/* The end of a line. Cuts in the middle of a character are mended by the cleaning. */
static struct candidate candidate_at(struct wo_view raw, uint64_t number, uint64_t offset) {
  const size_t skip = raw.len > AROUND_BYTES ? raw.len - AROUND_BYTES : 0;
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

/* Whether one of the pattern's literals stands in the line; true without literals. These patterns are few and their lines are
 * few, so their literals may be short and need no prefilter. */
static bool has_literal(const struct wo_pattern *pattern, const struct candidate *candidate) {
  for (size_t i = 0; i < pattern->literal_count; i++) {
    const struct wo_view literal = pattern->literals[i];
    if (may_hold(&candidate->pairs, literal) && wo_view_find(candidate->raw, literal, 0) != WO_NOT_FOUND) return true;
  }
  return pattern->literal_count == 0;
}

/* Tries patterns in order on one line until one matches. */
static bool match_first(struct wo_scan *scan, const size_t *indices, size_t count, struct candidate *candidate, wo_event_id of) {
  struct around_context context = {.scan = scan, .of = of};
  for (size_t i = 0; i < count && !context.is_found; i++) {
    if (!has_literal(wo_pattern_at(scan->set, indices[i]), candidate)) continue;
    context.line = line_of(scan, candidate);
    wo_pattern_match(scan->set, indices[i], context.line->full, on_around, &context);
    wo__scan_note_limits(scan, wo_pattern_at(scan->set, indices[i]), context.line->number);
  }
  return context.is_found;
}

/* The scanner's own buffer for clean text still holds the failing line, so the walk brings one of its own. */
static void find_progress_before(struct wo_scan *scan, const struct wo_line *line, wo_event_id failure) {
  struct backwards walk = walk_back(scan, scan->line_start, line->number);
  struct wo_view raw;
  uint64_t offset = 0;
  /* The failing line itself may carry the bar that the message was glued to. */
  const bool is_own = wo_event_get(scan->store, failure)->span.line == line->number;
  struct candidate own = candidate_of(line);
  if (is_own && match_first(scan, scan->around, scan->around_count, &own, failure)) return;
  char *const clean = scan->clean;
  char buf[AROUND_BYTES];
  scan->clean = buf;
  for (int lines = 0; lines < 200 && previous_line(&walk, &raw, &offset); lines++) {
    struct candidate before = candidate_at(raw, walk.number, offset);
    if (match_first(scan, scan->around, scan->around_count, &before, failure)) break;
  }
  scan->clean = clean;
}

/* Watches for progress behind a failure. */
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
    own->found += match_first(scan, scan->around, scan->around_count, &candidate, own->failure);
  }
  return WO_MORE_YES;
}

const struct wo_format wo__format_aftermath = {
    .name = "aftermath", .state_bytes = sizeof(struct aftermath), .feed = feed_aftermath};

static bool is_memory(const struct wo_event *event) {
  const enum wo_class class = wo_kind_class(event->kind);
  return class == WO_CLASS_GPU_MEMORY || class == WO_CLASS_HOST_MEMORY;
}

/* Progress after a failure tells whether it was survived, which is asked of memory failures only: an exception that was caught
 * leaves no other trace. */
static void look_around(struct wo_scan *scan, const struct wo_line *line, wo_event_id failure) {
  if (scan->context_count >= WO_SCAN_CONTEXT_MAX || scan->around_count == 0) return;
  scan->context_count++;
  find_progress_before(scan, line, failure);
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
 * tells a job that was stopped half-way from one that finished. */
void wo__scan_tail(struct wo_scan *scan) {
  struct backwards walk = walk_back(scan, scan->buf_len, scan->line_number);
  struct wo_view raw = {0};
  uint64_t offset = 0;
  bool has_success = false;
  bool has_progress = false;
  for (int lines = 0; lines < TAIL_LINES && previous_line(&walk, &raw, &offset); lines++) {
    struct candidate line = candidate_at(raw, walk.number, offset);
    if (!has_success) has_success = match_first(scan, scan->tail, scan->tail_count, &line, WO_EVENT_NONE);
    if (!has_progress) has_progress = match_first(scan, scan->around, scan->around_count, &line, WO_EVENT_NONE);
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

/* Several patterns can find the same key on one line. The place tells whether this print was looked at before: otherwise a line
 * that names a key twice with two values would change it to and fro. */
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
  struct backwards walk = walk_back(open->scan, open->scan->line_start, line->number);
  struct wo_view raw;
  uint64_t offset = 0;
  char buf[AROUND_BYTES];
  for (int lines = 0; lines < WO_LIMIT_LOOKBACK_LINES && previous_line(&walk, &raw, &offset) && !walk.is_cut; lines++) {
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
