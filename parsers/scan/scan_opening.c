/* The opening of a log: its first lines, by which another start of the same program in the same file is recognised.
 *
 * Logs with a fixed name grow with each start, and most programs print the same lines at each: warnings of imports, modules that
 * are loaded, settings. Lines are compared without their prefix and their digits. A line that stands twice in the opening (each
 * rank prints it) says nothing. */
#include "parsers/scan/scan_internal.h"

/* Shorter texts are found anywhere. */
#define LEAST_LETTERS 12

/* Bytes of a line by which it is known: banners differ early, and lines may be long. */
#define KNOWN_BYTES 80

/* So many lines that stand there again, in the order of the first, are a second start in the opening itself, which ends there. */
#define STARTS_MIN 3

/* FNV-1a over what is no digit; 0 for a line that is too short. */
static uint64_t hash_line(struct wo_view text) {
  uint64_t hash = UINT64_C(14695981039346656037);
  size_t letters = 0;
  const size_t len = text.len < KNOWN_BYTES ? text.len : KNOWN_BYTES;
  for (size_t i = 0; i < len; i++) {
    if (wo_is_digit(text.ptr[i])) continue;
    hash = (hash ^ (unsigned char)text.ptr[i]) * UINT64_C(1099511628211);
    letters += wo_is_alpha(text.ptr[i]);
  }
  return letters < LEAST_LETTERS ? 0 : hash | 1;
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

static void learn(struct wo_opening *opening, uint64_t hash) {
  const size_t at = find_line(opening, hash);
  if (is_second_start(opening, at)) {
    opening->is_over = true;
    for (size_t i = 0; i < STARTS_MIN; i++) opening->lines[i].is_repeated = false;
  } else if (at < opening->count) {
    opening->lines[at].is_repeated = true;
  } else {
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
    learn(opening, hash);
  }
}
