/* SPDX-License-Identifier: Apache-2.0 */
/* "Killed" as shells print it: alone on its line, "<script>: line 12: 4711 Killed   <command>", "zsh: killed     <command>", or
 * of a job, "[1]+  Killed   <command>". Anything else that holds the word is prose. */
#include "parsers/base/number.h"
#include "parsers/scan/format.h"

/* Reads ": line 12: 4711 Killed" somewhere in text. */
static bool read_shell_line(struct wo_view text, uint64_t *ret_pid) {
  const struct wo_view words = WO_VIEW(": line ");
  const size_t at = wo_view_find(text, words, 0);
  if (at == WO_NOT_FOUND) return false;
  struct wo_view in = wo_view_skip(text, at + words.len);
  uint64_t line = 0;
  if (wo_number_u64(&in, 100000000, &line) != WO_OK || !wo_view_starts(in, ": ")) return false;
  in = wo_view_trim_start(wo_view_skip(in, 2));
  return wo_number_u64(&in, UINT32_MAX, ret_pid) == WO_OK && wo_view_starts(wo_view_trim_start(in), "Killed");
}

/* "zsh: killed   ", "[1]+  Killed   ", "[1]    4711 killed   ". */
static bool is_shell_job(struct wo_view text) {
  uint64_t number = 0;
  if (wo_view_starts(text, "zsh: killed ")) return true;
  if (!wo_view_starts(text, "[")) return false;
  struct wo_view in = wo_view_skip(text, 1);
  if (wo_number_u64(&in, 10000, &number) != WO_OK || !wo_view_starts(in, "]")) return false;
  in = wo_view_skip(in, 1);
  if (wo_view_starts(in, "+") || wo_view_starts(in, "-")) in = wo_view_skip(in, 1);
  in = wo_view_trim_start(in);
  if (wo_number_u64(&in, UINT32_MAX, &number) == WO_OK) in = wo_view_trim_start(in);
  return wo_view_starts(in, "Killed ") || wo_view_starts(in, "killed ");
}

/* Alone on its line, as macOS prints it, or at the end of a progress bar, which ends no line. */
static bool is_alone(struct wo_view text) {
  const struct wo_view word = wo_view_trim(text);
  return wo_view_is(word, "Killed") || wo_view_is(word, "Killed: 9") || wo_view_ends(word, "]Killed");
}

static enum wo_more begin_killed(struct wo_open *open, const struct wo_match *match) {
  (void)match;
  uint64_t pid = 0;
  const bool has_pid = read_shell_line(open->line->text, &pid);
  if (!has_pid && !is_alone(open->line->text) && !is_shell_job(open->line->full)) return WO_MORE_NO;
  struct wo_event *event = wo_open_add(open, WO_KIND_KILLED, open->line->text);
  if (event && has_pid) wo_event_set_exact(open->store, event, WO_FIELD_PID, (double)pid);
  return WO_MORE_NO;
}

const struct wo_format wo__format_killed = {.name = "killed", .begin = begin_killed};
