/* SPDX-License-Identifier: Apache-2.0 */
/* How fast is a file searched for literals? Times wo_prefilter_walk over a whole file in memory, line by line of hits, as the
 * scanner does.
 *
 *   bench_prefilter FILE LITERALS [ROUNDS]
 *
 * LITERALS is a text file with one literal per line; `\n` at the end of a line means the end of a line, and lines that are too
 * short are left out. Prints one line: name, bytes, literals, lines with a hit, best and median speed in GB/s. */
#include <stdbool.h>
#include <stdint.h>

#include "parsers/match/prefilter.h"
#include "tests/support/prefilter_reference.h"
#include "tests/bench/timing.h"

enum { LITERALS_MAX = 100000, ROUNDS_DEFAULT = 7, ROUNDS_MAX = 101 };

/* ---- Input ---- */

/* Reads a whole file; NULL when that fails. A byte behind the content is free for use. */
static char *read_file(const char *path, size_t *ret_len) {
  FILE *const file = fopen(path, "rb");
  if (file == NULL) return NULL;
  fseek(file, 0, SEEK_END);
  const long end = ftell(file);
  rewind(file);
  char *const bytes = end < 0 ? NULL : malloc((size_t)end + 1);
  const size_t len = bytes == NULL ? 0 : fread(bytes, 1, (size_t)end, file);
  fclose(file);
  *ret_len = len;
  return bytes;
}

/* Makes literals of the lines of text, in place. Returns how many. */
static size_t read_literals(char *text, size_t len, struct wo_prefilter_literal *literals) {
  size_t count = 0;
  for (size_t start = 0; start < len && count < LITERALS_MAX;) {
    char *const line = text + start;
    const char *const stop = memchr(line, '\n', len - start);
    size_t line_len = stop == NULL ? len - start : (size_t)(stop - line);
    start += line_len + 1;
    if (line_len >= 2 && line[line_len - 2] == '\\' && line[line_len - 1] == 'n') {
      line[line_len - 2] = '\n';
      line_len--;
    }
    if (line_len < WO_PATTERN_LITERAL_MIN) continue;
    literals[count] = (struct wo_prefilter_literal){{line, line_len}, (uint32_t)count, false};
    count++;
  }
  return count;
}

/* ---- Timing ---- */

/* Number of lines that hold a literal. */
static size_t count_lines(const struct wo_prefilter *filter, struct wo_view text) {
  size_t lines = 0;
  size_t at = first_hit(filter, text, 0);
  while (at != WO_NOT_FOUND) {
    lines++;
    const size_t end = wo_view_find_char(text, '\n', at);
    at = end == WO_NOT_FOUND ? WO_NOT_FOUND : first_hit(filter, text, end);
  }
  return lines;
}

static void run(const struct wo_prefilter *filter, struct wo_view text, size_t literal_count, size_t rounds) {
  double took_s[ROUNDS_MAX];
  size_t lines = 0;
  for (size_t i = 0; i < rounds; i++) {
    const double start_s = now_s();
    lines = count_lines(filter, text);
    took_s[i] = now_s() - start_s;
  }
  sort_times(took_s, rounds);
  const double gigabytes = (double)text.len / 1e9;
  printf("prefilter bytes=%zu literals=%zu lines=%zu best_gbps=%.3f median_gbps=%.3f\n", text.len, literal_count, lines,
         gigabytes / took_s[0], gigabytes / took_s[rounds / 2]);
}

/* Number of rounds asked for; one digit or two. */
static size_t read_rounds(const char *text) {
  size_t rounds = 0;
  for (; *text >= '0' && *text <= '9' && rounds < ROUNDS_MAX; text++) rounds = rounds * 10 + (size_t)(*text - '0');
  return rounds == 0 || rounds > ROUNDS_MAX ? ROUNDS_DEFAULT : rounds;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: bench_prefilter FILE LITERALS [ROUNDS]\n");
    return 2;
  }
  size_t text_len = 0;
  size_t list_len = 0;
  char *const text = read_file(argv[1], &text_len);
  char *const list = read_file(argv[2], &list_len);
  struct wo_prefilter_literal *const literals = calloc(LITERALS_MAX, sizeof *literals);
  struct wo_prefilter *filter = NULL;
  int exit_code = 1;
  if (text != NULL && list != NULL && literals != NULL) {
    const size_t count = read_literals(list, list_len, literals);
    const double start_s = now_s();
    if (wo_prefilter_new(literals, count, NULL, &filter) == WO_OK) {
      printf("prefilter_build literals=%zu ms=%.3f\n", count, 1e3 * (now_s() - start_s));
      run(filter, (struct wo_view){text, text_len}, count, argc > 3 ? read_rounds(argv[3]) : ROUNDS_DEFAULT);
      exit_code = 0;
    }
  }
  if (exit_code != 0) fprintf(stderr, "bench_prefilter: cannot read %s or %s, or out of memory\n", argv[1], argv[2]);
  wo_prefilter_free(filter);
  free(literals);
  free(list);
  free(text);
  return exit_code;
}
