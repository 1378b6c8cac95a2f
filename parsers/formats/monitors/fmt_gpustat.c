/* SPDX-License-Identifier: Apache-2.0 */
/* `gpustat`: one line for each card.
 *
 *   node07                 Mon Jan  1 12:00:00 2024  535.104.05
 *   [0] NVIDIA A100-SXM4-80GB | 45'C,  98 % | 30000 / 81920 MB | mara:python/4711(29500M) jon(400M)
 *
 * Options add a fan's percentage before the load, the codecs' in brackets and the power after it, and the names of a process: the
 * user, the program, the pid. "MB" are MiB. */
#include "parsers/base/units.h"
#include "parsers/formats/monitors/monitor.h"

/* "45'C,  30 %,  98 % (E: 0 %  D: 0 %), 250 / 400 W": the load is the last percentage outside of brackets. */
static double read_busy(struct wo_view cell) {
  const size_t bracket = wo_view_find_char(cell, '(', 0);
  double busy = WO_MONITOR_MISSING;
  cell = wo_view_sub(cell, 0, bracket == WO_NOT_FOUND ? cell.len : bracket);
  while (cell.len > 0) {
    struct wo_view unit;
    double number = 0;
    const enum wo_cell kind = wo_monitor_cell(wo_view_cut(&cell, ','), &number, &unit);
    if (kind == WO_CELL_NUMBER && wo_view_is(unit, "%") && number <= 100) busy = number;
  }
  return busy;
}

/* "30000 / 81920 MB". */
static bool read_memory(struct wo_view cell, struct wo_monitor_sample *sample) {
  struct wo_view unit;
  double used = 0;
  double total = 0;
  const bool is_used = wo_monitor_cell(wo_view_cut(&cell, '/'), &used, &unit) == WO_CELL_NUMBER && unit.len == 0;
  if (wo_monitor_cell(cell, &total, &unit) != WO_CELL_NUMBER || !wo_view_is(unit, "MB")) return false;
  sample->capacity_bytes = total * WO_MIB;
  if (is_used) sample->fb_bytes = used * WO_MIB;
  return used <= total;
}

/* "mara:python/4711(29500M)". False for anything else; "(?M)" is an unknown size. */
static bool read_use(struct wo_view word, struct wo_monitor_use *use) {
  const size_t open = wo_view_find_last(word, WO_VIEW("("), word.len);
  if (open == WO_NOT_FOUND || open == 0 || !wo_view_ends(word, "M)")) return false;
  struct wo_view size = wo_view_sub(word, open + 1, word.len - 2);
  uint64_t mib = 0;
  const bool is_told = wo_number_u64(&size, UINT32_MAX, &mib) == WO_OK && size.len == 0;
  use->bytes = is_told ? (double)mib * WO_MIB : WO_MONITOR_MISSING;
  use->name = wo_view_sub(word, 0, open);
  use->pid = 0;
  const size_t slash = wo_view_find_last(use->name, WO_VIEW("/"), use->name.len);
  if (slash != WO_NOT_FOUND && wo_monitor_pid(wo_view_skip(use->name, slash + 1), &use->pid)) {
    use->name = wo_view_sub(use->name, 0, slash);
  }
  return is_told || wo_view_is(size, "?");
}

/* Without pids a user's processes cannot be told apart: each of them counts for the user, once for the line. */
static double bytes_of_user(struct wo_view uses, const struct wo_monitor_use *user) {
  double sum = 0;
  struct wo_view word = {0};
  while ((word = wo_view_word(&uses)).len > 0) {
    struct wo_monitor_use use;
    if (read_use(word, &use) && use.pid == 0 && wo_view_equal(use.name, user->name) && use.bytes > 0) sum += use.bytes;
  }
  return sum;
}

/* Whether the user of a process without pid is further left on the line. */
static bool is_counted(struct wo_view uses, struct wo_view word, const struct wo_monitor_use *user) {
  struct wo_monitor_use use;
  for (struct wo_view other = wo_view_word(&uses); other.ptr != word.ptr && other.len > 0; other = wo_view_word(&uses)) {
    if (read_use(other, &use) && use.pid == 0 && wo_view_equal(use.name, user->name)) return true;
  }
  return false;
}

/* The line is as long as a terminal is wide, rarely more; the number of its processes is bounded all the same. */
static void add_uses(struct wo_open *open, int32_t gpu, struct wo_view uses) {
  enum { MOST = 32 };
  struct wo_view rest = uses;
  for (int i = 0; i < MOST; i++) {
    const struct wo_view word = wo_view_word(&rest);
    struct wo_monitor_use use = {.gpu = gpu};
    if (word.len == 0) return;
    if (!read_use(word, &use) || (use.pid == 0 && is_counted(uses, word, &use))) continue;
    if (use.pid == 0 && use.bytes >= 0) use.bytes = bytes_of_user(uses, &use);
    wo_monitor_add_process(open, &use);
  }
}

/* Every line stands for itself. The index in brackets looks like a launcher's label, so the whole line is read. */
static enum wo_more begin_gpustat(struct wo_open *open, const struct wo_match *match) {
  struct wo_view text = wo_view_skip(open->line->full, wo_match_start(match) + 1);
  int32_t gpu = 0;
  if (!wo_monitor_gpu(wo_view_cut(&text, ']'), &gpu)) return WO_MORE_NO;
  struct wo_monitor_sample sample = wo_monitor_sample_of(gpu);
  wo_view_cut(&text, '|');
  sample.sm_pct = read_busy(wo_view_cut(&text, '|'));
  if (!read_memory(wo_view_cut(&text, '|'), &sample)) return WO_MORE_NO;
  wo_monitor_add(open, &sample, false);
  add_uses(open, gpu, text);
  return WO_MORE_NO;
}

const struct wo_format wo__format_gpustat = {.name = "gpustat", .follower = &wo__monitor_follower, .begin = begin_gpustat};
