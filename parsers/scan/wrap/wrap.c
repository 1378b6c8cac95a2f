/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a wrapped text: stretches of lines, and what is said by the place where a full line goes over into the next.
 *
 * Nothing is decided by one line. Of each width at which several lines might have been cut, every stretch of lines that are no
 * longer is weighed as a whole; in a stretch that is taken, each full line is joined with the next unless that begins like a line
 * of its own. */
#include "parsers/scan/wrap/wrap.h"

#include <assert.h>
#include <string.h>

#include "parsers/prefix/prefix.h"

enum {
  CANDIDATES_MAX = 6, /* widths of one text that are weighed */
  SEEN_MAX = 32,      /* places of a stretch that are compared; what is repeated counts once */
  SURE_MAX = 16,      /* places of a stretch at which literals are looked for */
  RULER_CHARS = 4,
  PROBES = 4,
  AROUND_BYTES = 64, /* on both sides of a place */
  HEAD_CHARS = 16,   /* by which two lines are compared */
  HEAD_ALIKE = 12,
  BLOCK_LINES = 16,
  /* Points of a place, and of the literal that it cuts. */
  POINTS_OWN = -3,
  POINTS_INDENTED = -1,
  POINTS_LITERAL = 3,
  /* Points that a stretch must have: where it is all of the input, or the width is known, usual, or neither. */
  ENOUGH_ALL_USUAL = 1,
  ENOUGH_ALL_PLACES = 2, /* from several places */
  ENOUGH_ALL = 3,
  ENOUGH_KNOWN = 2,
  ENOUGH_USUAL = 4,
  ENOUGH = 6,
  SURE_WORTH = 3,  /* lines that may be a little shorter, for each place that cuts a literal */
  GOOD_PER_OWN = 4 /* so many places that go on are needed for each that does not */
};

/* ---- Lines ---- */

/* Bytes that begin a character, eight at a time: the others have the two top bits 10. */
static size_t count_chars(struct wo_view line) {
  const uint64_t ones = UINT64_C(0x0101010101010101);
  size_t chars = line.len, at = 0;
  for (uint64_t word = 0; line.len - at >= sizeof word; at += sizeof word) {
    memcpy(&word, line.ptr + at, sizeof word);
    chars -= (((word >> 7 & ~word >> 6) & ones) * ones) >> 56;
  }
  for (; at < line.len; at++) chars -= ((unsigned char)line.ptr[at] & 0xc0) == 0x80;
  return chars;
}

/* Whether some bytes of the line, here and there, are not ASCII. To look at all of them would cost more than everything else
 * here: a line that is found too long is counted then. */
static bool seems_encoded(struct wo_view line) {
  uint64_t word = 0, all = 0;
  if (line.len < sizeof word) return line.len > 0;
  for (size_t i = 0; i <= PROBES; i++) {
    memcpy(&word, line.ptr + (line.len - sizeof word) * i / PROBES, sizeof word);
    all |= word;
  }
  return (all & UINT64_C(0x8080808080808080)) != 0;
}

static struct wo_view bytes_of(struct wo_view text, const struct wo_wrap_line *line) {
  return wo_view_sub(text, line->start, line->end);
}

static size_t chars_of(struct wo_view line) {
  if (line.len > WO_WRAP_BYTES_MAX) return WO_WRAP_BYTES_MAX;
  return seems_encoded(line) ? count_chars(line) : line.len;
}

static void split(struct wo_wrap *wrap, struct wo_view text, bool is_last) {
  wrap->count = 0;
  for (size_t at = 0; at < text.len && wrap->count < WO_LIMIT_WRAP_LINES;) {
    const char *const feed = memchr(text.ptr + at, '\n', text.len - at);
    if (!feed && !is_last) return;
    size_t end = feed ? (size_t)(feed - text.ptr) : text.len;
    const size_t next = feed ? end + 1 : end;
    while (end > at && text.ptr[end - 1] == '\r') end--;
    const size_t chars = chars_of(wo_view_sub(text, at, end));
    wrap->lines[wrap->count++] =
        (struct wo_wrap_line){.start = (uint32_t)at, .end = (uint32_t)end, .next = (uint32_t)next, .chars = (uint16_t)chars};
    at = next;
  }
}

/* ---- Where a full line goes over into the next ---- */

/* A line with CR in it was rewritten while it was shown: it has no width. */
static bool is_rewritten(struct wo_view line) {
  return line.len > 0 && memchr(line.ptr, '\r', line.len) != NULL;
}

static bool is_one_of(char c, const char *chars) {
  return c != '\0' && strchr(chars, c) != NULL;
}

static char last_of(struct wo_view line) {
  return line.ptr[line.len - 1];
}

/* Whether both lines begin in the same form, as rows do, in which only figures differ. */
static bool are_alike(struct wo_view left, struct wo_view right) {
  size_t alike = 0;
  if (left.len < HEAD_CHARS || right.len < HEAD_CHARS) return false;
  if (left.ptr[0] != right.ptr[0] && !(wo_is_digit(left.ptr[0]) && wo_is_digit(right.ptr[0]))) return false;
  for (size_t i = 0; i < HEAD_CHARS; i++)
    alike += left.ptr[i] == right.ptr[i] || (wo_is_digit(left.ptr[i]) && wo_is_digit(right.ptr[i]));
  return alike >= HEAD_ALIKE;
}

/* Rulers, bars of a known length and pictures made of characters have hardly a letter. */
static bool has_words(struct wo_view line) {
  size_t count = 0;
  for (size_t i = 0; i < line.len; i++) count += wo_is_alnum(line.ptr[i]) || (unsigned char)line.ptr[i] >= 0x80;
  return count * 5 >= line.len * 2;
}

static bool is_frame_char(char c) {
  return c == '|' || c == '+';
}

/* A row with both sides of its frame, or a bar that is drawn to its end: they are as wide as they were meant to be. */
static bool is_complete(struct wo_view line) {
  return (is_frame_char(line.ptr[0]) && is_frame_char(last_of(line))) || (wo_view_has(line, "%|") && last_of(line) == ']');
}

/* How many literals start in the first `before` bytes of a text. */
static size_t count_literals(const struct wo_prefilter *prefilter, struct wo_view text, size_t before) {
  struct wo_prefilter_cursor cursor;
  struct wo_prefilter_hit hit;
  size_t count = 0;
  wo_prefilter_begin(&cursor, 0);
  while (wo_prefilter_walk(prefilter, text, &cursor, &hit)) count += hit.start < before;
  return count;
}

/* Whether a text that patterns look for stands there once the two are one. */
static bool cuts_literal(const struct wo_prefilter *prefilter, struct wo_view left, struct wo_view right) {
  char both[2 * AROUND_BYTES];
  const struct wo_view end = wo_view_skip(left, left.len > AROUND_BYTES ? left.len - AROUND_BYTES : 0);
  const struct wo_view start = wo_view_sub(right, 0, AROUND_BYTES);
  memcpy(both, end.ptr, end.len);
  memcpy(both + end.len, start.ptr, start.len);
  const struct wo_view joined = {both, end.len + start.len};
  return count_literals(prefilter, joined, end.len) > count_literals(prefilter, end, end.len);
}

/* Whether a ruler goes up to the end of the line: it goes on as it is. */
static bool ends_in_ruler(struct wo_view line) {
  const char last = last_of(line);
  for (size_t i = 2; i <= RULER_CHARS; i++) {
    if (line.ptr[line.len - i] != last) return false;
  }
  return !wo_is_alnum(last) && last != ' ';
}

/* Whether a word with which patterns know a line stands at its start, where no word is cut. */
static bool begins_with_literal(const struct wo_prefilter *prefilter, struct wo_view left, struct wo_view right) {
  if (is_one_of(last_of(left), " ([{,=/\\-_") || !wo_is_alnum(right.ptr[0])) return false;
  return count_literals(prefilter, wo_view_sub(right, 0, AROUND_BYTES), 1) > 0 && !cuts_literal(prefilter, left, right);
}

static bool begins_with_blanks(struct wo_view line) {
  return line.len > 1 && line.ptr[0] == ' ' && line.ptr[1] == ' ';
}

/* Whether the line begins as only a line of its own does. */
static bool begins_line(const struct wo_prefilter *prefilter, struct wo_view left, struct wo_view right) {
  static const char *const heads[] = {"Traceback (", "File \"", "At line:"};
  const struct wo_view body = wo_view_trim_start(right);
  if (is_complete(left) || WO_VIEW_ANY(body, wo_view_starts, heads)) return true;
  if (ends_in_ruler(left)) return last_of(left) != right.ptr[0];
  if (begins_with_blanks(right)) return last_of(left) != ' ';
  if (left.len >= 8 && right.len >= 8 && memcmp(left.ptr, right.ptr, 8) == 0) return true;
  if (is_one_of(last_of(left), ")]}") && wo_is_alpha(right.ptr[0])) return true;
  if (begins_with_literal(prefilter, left, right)) return true;
  const struct wo_prefix prefix = wo_prefix_read(right);
  return prefix.stamp.clock != WO_CLOCK_NONE || prefix.severity != WO_SEVERITY_NONE || (prefix.length > 0 && right.ptr[0] == '[');
}

static size_t count_char(struct wo_view text, char c) {
  size_t count = 0;
  for (size_t i = 0; i < text.len; i++) count += text.ptr[i] == c;
  return count;
}

/* A quotation that is open at the end of the one and is closed in the other. */
static bool is_in_quotation(struct wo_view left, struct wo_view right) {
  return count_char(left, '"') % 2 == 1 && count_char(right, '"') % 2 == 1;
}

/* What the two characters at the place say: no line begins with a comma; a word of small letters rarely follows a whole one
 * without a blank. */
static int points_of_chars(char left, char right) {
  const bool is_word = wo_is_word(left) || is_one_of(left, "/\\-([=.");
  if (is_one_of(right, ",;:)]}=")) return left != ' ' ? 2 : 0;
  if (wo_is_digit(right)) return wo_is_digit(left) ? 2 : (is_word && !wo_is_alpha(left)) || left == ',';
  if (wo_is_alpha(right) && wo_lower(right) == right) return (is_word && !wo_is_digit(left)) || left == ' ';
  if (right == ' ') return left == ' ' ? 0 : 2;
  if (left == right) return 1;
  if (is_one_of(right, "./\\_-")) return is_word;
  return wo_is_alpha(right) && is_one_of(left, "/\\_([=");
}

static int points_of(const struct wo_prefilter *prefilter, struct wo_view left, struct wo_view right) {
  if (right.len == 0 || !has_words(left)) return 0;
  if (begins_with_blanks(right)) return last_of(left) == ' ' ? 0 : POINTS_INDENTED;
  if (begins_line(prefilter, left, right) || are_alike(left, right)) return POINTS_OWN;
  return points_of_chars(last_of(left), right.ptr[0]) + is_in_quotation(left, right);
}

/* ---- Stretches ---- */

/* Lines in a row that are no longer than the width. */
struct extent {
  size_t first, count;
  size_t full, near; /* lines of exactly the width; lines a little shorter */
};

/* What its places say. */
struct stretch {
  size_t width;
  size_t full, near; /* of lines with words */
  size_t going_on, own;
  size_t known, sure; /* lines that hold a literal, and places that cut one */
  int points, clear;  /* clear: of places that no other line begins like */
  uint32_t seen[SEEN_MAX];
  size_t seen_count;
};

/* FNV-1a over the bytes around a place, without figures. Rows of tables end in figures or blanks, and begin with blanks: however
 * many there are, they are one place. */
static uint32_t hash_place(struct wo_view left, struct wo_view right) {
  if (last_of(left) == ' ') return 1;
  if (wo_is_digit(last_of(left)) && right.ptr[0] == ' ') return 2;
  const struct wo_view parts[] = {wo_view_skip(left, left.len > 6 ? left.len - 6 : 0), wo_view_sub(right, 0, 6)};
  uint32_t hash = 2166136261U;
  for (size_t part = 0; part < 2; part++) {
    for (size_t i = 0; i < parts[part].len; i++) {
      const char c = parts[part].ptr[i];
      hash = (hash ^ (unsigned char)(wo_is_digit(c) ? '0' : c)) * 16777619U;
    }
  }
  return hash;
}

/* What a program prints again and again shows no more than once. */
static bool is_new(struct stretch *stretch, struct wo_view left, struct wo_view right) {
  const uint32_t hash = hash_place(left, right);
  for (size_t i = 0; i < stretch->seen_count; i++) {
    if (stretch->seen[i] == hash) return false;
  }
  if (stretch->seen_count == SEEN_MAX) return false;
  stretch->seen[stretch->seen_count++] = hash;
  return true;
}

/* Whether the line may be one of its own after all: patterns know a word in it, or another line begins with the same word. */
static bool may_be_own(const struct wo_wrap *wrap, const struct wo_prefilter *prefilter, struct wo_view text,
                       struct wo_view line) {
  struct wo_view rest = line;
  const struct wo_view word = wo_view_word(&rest);
  if (count_literals(prefilter, line, HEAD_CHARS) > 0) return true;
  for (size_t i = 0; i < wrap->count; i++) {
    struct wo_view other = bytes_of(text, &wrap->lines[i]);
    if (other.ptr != line.ptr && wo_view_equal(wo_view_word(&other), word)) return true;
  }
  return false;
}

static void weigh_place(struct stretch *stretch, const struct wo_wrap *wrap, const struct wo_prefilter *prefilter,
                        struct wo_view text, struct wo_view left, struct wo_view right) {
  if (right.len == 0 || !is_new(stretch, left, right)) return;
  const int points = points_of(prefilter, left, right);
  stretch->points += points;
  stretch->own += points == POINTS_OWN;
  stretch->going_on += points > 0;
  if (points < 0 || stretch->seen_count > SURE_MAX) return;
  const size_t known = count_literals(prefilter, left, left.len);
  const bool is_cut = cuts_literal(prefilter, left, right);
  stretch->points += is_cut ? POINTS_LITERAL : 0;
  stretch->known += known > 0;
  stretch->sure += is_cut;
  stretch->clear += is_cut                                                                      ? POINTS_LITERAL
                    : wrap->is_whole && points == 1 && may_be_own(wrap, prefilter, text, right) ? 0
                                                                                                : points;
}

static bool is_usual(size_t width) {
  static const size_t usual[] = {80, 100, 120, 132, 160, 200};
  for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
    if (usual[i] == width) return true;
  }
  return false;
}

/* Whether hardly a line is shorter, and hardly one has a blank: a list of keys, or a block of data. */
static bool is_block(const struct wo_wrap *wrap, struct wo_view text, const struct extent *extent) {
  size_t solid = 0;
  if (extent->count < BLOCK_LINES || extent->full * 20 < extent->count * 19) return false;
  for (size_t i = extent->first; i < extent->first + extent->count; i++)
    solid += wo_view_find_char(bytes_of(text, &wrap->lines[i]), ' ', 0) == WO_NOT_FOUND;
  return solid * 2 > extent->count;
}

/* Lines of a text that was broken between words are mostly a little shorter than the longest. */
static bool is_wrapped(const struct stretch *stretch, size_t known, bool is_all) {
  const size_t places = stretch->going_on + stretch->sure;
  if (stretch->own * GOOD_PER_OWN > places || stretch->near > stretch->full + SURE_WORTH * stretch->sure) return false;
  if (stretch->width == known) return stretch->points >= ENOUGH_KNOWN;
  const bool is_usual_width = is_usual(stretch->width);
  const bool is_enough_of_all = stretch->clear >= (is_usual_width ? ENOUGH_ALL_USUAL
                                                   : places > 1   ? ENOUGH_ALL_PLACES
                                                                  : ENOUGH_ALL);
  if (is_all && is_enough_of_all && (stretch->known > 0 || stretch->sure > 0)) return true;
  return stretch->points >= (is_usual_width ? ENOUGH_USUAL : ENOUGH) && (stretch->sure > 0 || places > 2);
}

/* ---- Texts ---- */

/* Whether the line may have been cut, at the first look. */
static bool may_go_on(struct wo_view text, const struct wo_wrap_line *line, const struct wo_wrap_line *next) {
  if (line->chars < WO_WRAP_WIDTH_MIN || line->chars > WO_WRAP_WIDTH_MAX) return false;
  if (next->chars == 0 || next->chars > line->chars) return false;
  const char *const left = text.ptr + line->start, *const right = text.ptr + next->start;
  if (right[0] == ' ' && next->chars > 1 && right[1] == ' ') return false;
  return next->chars < 4 || memcmp(left, right, 4) != 0;
}

/* Widths by the number of lines that may have been cut there, the most first. */
struct candidates {
  struct {
    size_t width, places;
  } items[CANDIDATES_MAX];
  size_t count;
};

static void offer(struct candidates *candidates, size_t width, size_t places) {
  size_t at = candidates->count;
  while (at > 0 && candidates->items[at - 1].places < places) at--;
  if (at == CANDIDATES_MAX) return;
  if (candidates->count < CANDIDATES_MAX) candidates->count++;
  for (size_t i = candidates->count - 1; i > at; i--) candidates->items[i] = candidates->items[i - 1];
  candidates->items[at].width = width;
  candidates->items[at].places = places;
}

/* One line is a sign only of a width that is usual, that the input has shown before, or that no line of it exceeds. */
static size_t least_places(const struct wo_wrap *wrap, size_t width, bool is_longest) {
  if (width == wrap->width || (wrap->is_whole && (is_longest || is_usual(width)))) return 1;
  return is_usual(width) ? 2 : 3;
}

static void find_candidates(const struct wo_wrap *wrap, struct wo_view text, struct candidates *candidates) {
  uint16_t counts[WO_WRAP_WIDTH_MAX + 1] = {0};
  size_t longest = 0;
  for (size_t i = 0; i < wrap->count; i++) {
    if (wrap->lines[i].chars > longest) longest = wrap->lines[i].chars;
    if (i + 1 == wrap->count) break;
    if (!may_go_on(text, &wrap->lines[i], &wrap->lines[i + 1])) continue;
    counts[wrap->lines[i].chars]++;
  }
  for (size_t i = 0; i < wrap->count; i++) {
    const size_t width = wrap->lines[i].chars;
    if (width > WO_WRAP_WIDTH_MAX || counts[width] == 0) continue;
    if (counts[width] >= least_places(wrap, width, width == longest)) offer(candidates, width, counts[width]);
    counts[width] = 0;
  }
}

static void take(struct wo_wrap *wrap, const struct wo_prefilter *prefilter, struct wo_view text, size_t width,
                 struct extent extent) {
  for (size_t i = extent.first; i + 1 < extent.first + extent.count; i++) {
    struct wo_wrap_line *const line = &wrap->lines[i];
    if (line->chars != width || line[1].chars == 0) continue;
    const struct wo_view left = bytes_of(text, line), right = bytes_of(text, line + 1);
    if (!is_rewritten(left) && !is_rewritten(right) && !begins_line(prefilter, left, right)) line->width = line->chars;
  }
}

/* Counts the characters of a line that seems to be longer. */
static void settle(struct wo_wrap *wrap, struct wo_view text, size_t at, size_t width) {
  struct wo_wrap_line *const line = &wrap->lines[at];
  if (line->chars <= width || line->chars > 2 * width || line->is_counted) return;
  line->chars = (uint16_t)count_chars(bytes_of(text, line));
  line->is_counted = true;
}

/* The stretch of lines that begins at `first`. A line that was cut at another width ends it. */
static struct extent measure(struct wo_wrap *wrap, struct wo_view text, size_t width, size_t first) {
  struct extent extent = {.first = first};
  const size_t reach = width / 10;
  for (size_t i = first; i < wrap->count; i++, extent.count++) {
    const struct wo_wrap_line *const line = &wrap->lines[i];
    settle(wrap, text, i, width);
    if (line->chars > width || line->width != 0) break;
    extent.full += line->chars == width;
    extent.near += line->chars < width && line->chars + reach >= width;
  }
  return extent;
}

static struct stretch weigh(const struct wo_wrap *wrap, const struct wo_prefilter *prefilter, struct wo_view text, size_t width,
                            struct extent extent) {
  struct stretch stretch = {.width = width, .near = extent.near};
  for (size_t i = extent.first; i + 1 < extent.first + extent.count; i++) {
    if (wrap->lines[i].chars != width) continue;
    const struct wo_view left = bytes_of(text, &wrap->lines[i]);
    const struct wo_view right = bytes_of(text, &wrap->lines[i + 1]);
    if (is_rewritten(left) || is_rewritten(right)) continue;
    stretch.full += has_words(left);
    weigh_place(&stretch, wrap, prefilter, text, left, right);
  }
  return stretch;
}

static void look_for(struct wo_wrap *wrap, const struct wo_prefilter *prefilter, struct wo_view text, size_t width) {
  const size_t least = least_places(wrap, width, true);
  for (size_t first = 0; first < wrap->count;) {
    const struct extent extent = measure(wrap, text, width, first);
    first += extent.count + 1;
    if (extent.full < least || extent.near > (1 + SURE_WORTH) * extent.full || is_block(wrap, text, &extent)) continue;
    const struct stretch stretch = weigh(wrap, prefilter, text, width, extent);
    if (!is_wrapped(&stretch, wrap->width, wrap->is_whole && extent.count == wrap->count)) continue;
    take(wrap, prefilter, text, width, extent);
    wrap->width = width;
  }
}

void wo_wrap_find(struct wo_wrap *wrap, const struct wo_prefilter *prefilter, struct wo_view text, bool is_last) {
  struct candidates candidates = {.count = 0};
  assert(text.len <= WO_LIMIT_WRAP_BYTES);
  split(wrap, text, is_last);
  wrap->is_whole = is_last && !wrap->has_begun && !wo_view_starts(text, "#!");
  wrap->has_begun = true;
  find_candidates(wrap, text, &candidates);
  for (size_t i = 0; i < candidates.count; i++) look_for(wrap, prefilter, text, candidates.items[i].width);
}
