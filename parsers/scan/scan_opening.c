/* SPDX-License-Identifier: Apache-2.0 */
/* The opening of a log: its first lines, by which another start of the same program in the same file is recognised.
 *
 * Logs with a fixed name grow with each start, and most programs print the same lines at each: warnings of imports, modules that
 * are loaded, settings. Lines are compared without their prefix and their digits. A line that stands twice in the opening (each
 * rank prints it) says nothing. */
#include <string.h>

#include "parsers/scan/scan_internal.h"

/* Shorter texts are found anywhere. */
#define LEAST_LETTERS 12

/* Bytes of a line by which it is known: banners differ early, and lines may be long. */
#define KNOWN_BYTES 80

/* So many lines that stand there again, in the order of the first, are a second start in the opening itself, which ends there. */
#define STARTS_MIN 3

/* What is no digit in the bytes by which a line is known. */
struct known {
  char text[KNOWN_BYTES + sizeof(uint64_t)];
  size_t len;
};

/* Without a branch for each character: most lines of an opening have some digits here and there. */
static void cut_digits(struct wo_view line, struct known *ret) {
  const size_t len = line.len < KNOWN_BYTES ? line.len : KNOWN_BYTES;
  size_t kept = 0;
  for (size_t i = 0; i < len; i++) {
    ret->text[kept] = line.ptr[i];
    kept += (unsigned char)(line.ptr[i] - '0') > 9;
  }
  memset(ret->text + kept, 0, sizeof(uint64_t));
  ret->len = kept;
}

/* Over what is no digit; 0 for a line that is too short. */
static uint64_t hash_line(struct wo_view line) {
  struct known known;
  size_t letters = 0;
  cut_digits(line, &known);
  for (size_t i = 0; i < known.len; i++) letters += (unsigned char)((known.text[i] | 0x20) - 'a') < 26;
  if (letters < LEAST_LETTERS) return 0;
  uint64_t hash = UINT64_C(14695981039346656037) ^ known.len;
  for (size_t i = 0; i < known.len; i += sizeof(uint64_t)) {
    uint64_t word = 0;
    memcpy(&word, known.text + i, sizeof word);
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 32;
  }
  return hash | 1;
}

/* The place of the line in the opening, or its count. */
static size_t find_line(const struct wo_opening *opening, uint64_t hash) {
  size_t at = 0;
  while (at < opening->count && opening->lines[at].hash != hash) at++;
  return at;
}

/* Whether the line goes on with a second start: the first lines of the log stand there again, in their order. */
static bool is_second_start(struct wo_opening *opening, size_t at) {
  const bool is_next = opening->count >= STARTS_MIN && at == opening->again;
  opening->again = is_next ? at + 1 : 0;
  return opening->again == STARTS_MIN;
}

/* Keeps the longest stretch, or the first one that is long enough, of the line without digits and control characters, in the
 * bytes by which it is known. */
static void keep_sign(struct wo_opening *opening, size_t at, struct wo_view line) {
  const size_t len = line.len < KNOWN_BYTES ? line.len : KNOWN_BYTES;
  size_t best = 0, best_len = 0;
  for (size_t start = 0, i = 0; i <= len; i++) {
    const bool is_over = i == len || wo_is_digit(line.ptr[i]) || (unsigned char)line.ptr[i] < ' ' || line.ptr[i] == 0x7f;
    if (!is_over) continue;
    if (i - start > best_len) {
      best = start;
      best_len = i - start;
      if (best_len >= WO_SCAN_SIGN_BYTES) break;
    }
    start = i + 1;
  }
  if (best_len > WO_SCAN_SIGN_BYTES) best_len = WO_SCAN_SIGN_BYTES;
  opening->signs[at].len = best_len < WO_PATTERN_LITERAL_MIN ? 0 : best_len;
  memcpy(opening->signs[at].text, line.ptr + best, opening->signs[at].len);
}

static void learn(struct wo_opening *opening, struct wo_view line, uint64_t hash) {
  const size_t at = find_line(opening, hash);
  if (is_second_start(opening, at)) {
    opening->is_over = true;
    for (size_t i = 0; i < STARTS_MIN; i++) opening->lines[i].is_repeated = false;
  } else if (at < opening->count) {
    opening->lines[at].is_repeated = true;
  } else {
    keep_sign(opening, opening->count, line);
    opening->lines[opening->count].is_repeated = false;
    opening->lines[opening->count++].hash = hash;
  }
}

/* Two lines of the opening in their order are another start. */
static void recognise(struct wo_scan *scan, const struct wo_line *line, uint64_t hash) {
  struct wo_opening *const opening = &scan->opening;
  const size_t at = find_line(opening, hash);
  if (at == opening->count || opening->lines[at].is_repeated) return;
  const bool is_second = opening->found > 0 && at + 1 > opening->found;
  opening->found = at + 1;
  if (!is_second) return;
  struct wo_event *const event = wo_scan_add_event(scan, line, NULL, WO_KIND_RUN_START, 0, 0);
  if (event) event->pattern_id = WO_VIEW(WO_SCAN_BEGINS_AGAIN);
  opening->watched = 0;
}

/* ---- Lines that are no lines of the opening ---- */

/* A line that stands twice in the opening is never recognised. Without a sign of each other line no line can be passed over. */
static bool make_filter(struct wo_opening *opening) {
  struct wo_prefilter_literal literals[WO_SCAN_OPENING_LINES];
  size_t count = 0;
  for (size_t i = 0; i < opening->count && !opening->has_no_filter; i++) {
    if (opening->lines[i].is_repeated) continue;
    opening->has_no_filter = opening->signs[i].len == 0;
    literals[count++] =
        (struct wo_prefilter_literal){.text = {opening->signs[i].text, opening->signs[i].len}, .owner = (uint32_t)i};
  }
  if (!opening->has_no_filter) opening->has_no_filter = wo_prefilter_new(literals, count, NULL, &opening->filter) != WO_OK;
  return !opening->has_no_filter;
}

/* Whether a text holds a control character that cleaning removes: then a sign may stand in it with others inside. */
static bool has_control(const char *text, size_t len) {
  unsigned char found = 0;
  for (size_t i = 0; i < len; i++) {
    const unsigned char c = (unsigned char)text[i];
    found |= (unsigned char)(((c < ' ') & (c != '\n') & (c != '\r') & (c != '\t')) | (c == 0x7f));
  }
  return found != 0;
}

/* Steps over the lines before `end`, and counts them, as long as lines are watched. A line that is longer than a piece is left to
 * be read. */
static size_t step_over(struct wo_scan *scan, size_t end) {
  size_t at = scan->pos;
  while (at < end && scan->opening.watched > 0) {
    const size_t reach = end - at < WO_LIMIT_LINE_BYTES ? end : at + WO_LIMIT_LINE_BYTES;
    const size_t line_end = wo__scan_line_end(scan->buf, at, reach);
    if (line_end == reach) return at;
    const bool is_crlf = line_end == at && scan->buf[at] == '\n' && at > 0 && scan->buf[at - 1] == '\r';
    scan->opening.watched -= !is_crlf;
    at = line_end + 1;
  }
  return at;
}

size_t wo__scan_pass_unopened(struct wo_scan *scan, size_t end) {
  enum { AHEAD = 4096 };
  struct wo_opening *const opening = &scan->opening;
  if (opening->filter == NULL && (opening->has_no_filter || end - scan->pos < AHEAD || !make_filter(opening))) return scan->pos;
  const size_t hit = wo__lookout_peek(scan, opening->filter, &scan->opening_out, scan->pos);
  size_t stop = hit < end ? wo__scan_line_start(scan->buf, scan->pos, hit) : end;
  if (stop - scan->pos > AHEAD) stop = wo__scan_line_start(scan->buf, scan->pos, scan->pos + AHEAD);
  if (stop == scan->pos || has_control(scan->buf + scan->pos, stop - scan->pos)) return scan->pos;
  return step_over(scan, stop);
}

bool wo__scan_is_opening(const struct wo_scan *scan) {
  const struct wo_opening *const opening = &scan->opening;
  return opening->watched > 0 || (!opening->is_over && scan->line_number <= WO_SCAN_OPENING_LINES);
}

void wo__scan_opening(struct wo_scan *scan, const struct wo_line *line) {
  struct wo_opening *const opening = &scan->opening;
  const uint64_t hash = hash_line(line->text);
  if (opening->watched > 0) opening->watched--;
  if (hash == 0) return;
  if (opening->is_over) {
    recognise(scan, line, hash);
  } else if (opening->count < WO_SCAN_OPENING_LINES) {
    learn(opening, line->text, hash);
  }
}
