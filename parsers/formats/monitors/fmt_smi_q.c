/* `nvidia-smi -q`: keys and values in blocks, for each card.
 *
 *   ==============NVSMI LOG==============
 *   GPU 00000000:08:00.0
 *       FB Memory Usage
 *           Total                             : 24564 MiB
 *           Used                              : 2545 MiB
 *       BAR1 Memory Usage
 *           Total                             : 32768 MiB
 *       Utilization
 *           Gpu                               : 2 %
 *
 * Keys repeat from block to block, so they are read inside the right one only. Cards are counted in the order in which they
 * stand: it is the order of their indices. */
#include <string.h>

#include "parsers/formats/monitors/monitor.h"

/* Slots of struct wo_open that this reader uses. */
enum number { GPU, BLOCK, STRANGE, TIME_S, PID };

/* The slot of texts with the program's name. */
enum { NAME = 0 };

enum block { BLOCK_OTHER, BLOCK_FB, BLOCK_UTILIZATION };

/* Lines at the left margin that are neither a card nor a pair: the text is over. */
#define STRANGE_MAX 3

/* The pattern is the banner. Before the first card stand the time, the driver's and CUDA's version, and the number of cards. */
static enum wo_more begin_q(struct wo_scan *scan, const struct wo_line *line, const struct wo_match *match,
                            struct wo_open *open) {
  (void)scan;
  (void)line;
  (void)match;
  open->numbers[GPU] = -1;
  open->numbers[TIME_S] = (int64_t)WO_MONITOR_MISSING;
  return WO_MORE_YES;
}

/* "BAR1 Memory Usage" and, from driver 535 on, "Conf Compute Protected Memory Usage" have the same keys and mean other memory. FB
 * is the frame buffer, the card's own memory. */
static enum block block_of(struct wo_view title) {
  if (wo_view_is(title, "FB Memory Usage")) return BLOCK_FB;
  return wo_view_is(title, "Utilization") ? BLOCK_UTILIZATION : BLOCK_OTHER;
}

/* "Process ID", "Name" and "Used GPU Memory" stand below each other at the end of a card; no other block has the last one. */
static void read_process(struct wo_scan *scan, const struct wo_line *line, struct wo_open *open, struct wo_view key,
                         struct wo_view value) {
  uint64_t pid = 0;
  value = wo_view_trim(value);
  if (wo_view_is(key, "Process ID")) {
    open->numbers[PID] = wo_monitor_pid(value, &pid) ? (int64_t)pid : 0;
    open->texts[NAME][0] = '\0';
  } else if (wo_view_is(key, "Name")) {
    const size_t len = value.len < WO_MONITOR_NAME_BYTES ? value.len : WO_MONITOR_NAME_BYTES;
    if (len > 0) memcpy(open->texts[NAME], value.ptr, len);
    open->texts[NAME][len] = '\0';
  } else if (wo_view_is(key, "Used GPU Memory") && open->numbers[PID] > 0) {
    struct wo_monitor_use use = {
        .gpu = (int32_t)open->numbers[GPU], .pid = (uint64_t)open->numbers[PID], .name = wo_view_of(open->texts[NAME])};
    struct wo_view unit;
    if (wo_monitor_cell(value, &use.bytes, &unit) == WO_CELL_NUMBER) use.bytes *= wo_monitor_unit_bytes(unit);
    wo_monitor_add_process(scan, line, open->pattern, &use);
    open->numbers[PID] = 0;
  }
}

/* Every pair is a part of its card's one sample; the time goes with the memory, the figure that a slope is taken of. */
static void read_pair(struct wo_scan *scan, const struct wo_line *line, struct wo_open *open, struct wo_view key,
                      struct wo_view value) {
  struct wo_monitor_sample sample = wo_monitor_sample_of((int32_t)open->numbers[GPU]);
  struct wo_view unit;
  double number = 0;
  if (open->numbers[GPU] < 0 || wo_monitor_cell(value, &number, &unit) != WO_CELL_NUMBER) return;
  const double scale = wo_monitor_unit_bytes(unit);
  if (open->numbers[BLOCK] == BLOCK_FB && scale > 0) {
    if (wo_view_is(key, "Total")) sample.capacity_bytes = number * scale;
    if (wo_view_is(key, "Used")) sample.fb_bytes = number * scale;
    sample.time_s = (double)open->numbers[TIME_S];
  } else if (open->numbers[BLOCK] == BLOCK_UTILIZATION && wo_view_is_nocase(key, "Gpu") && wo_view_is(unit, "%")) {
    sample.sm_pct = number;
  } else {
    return;
  }
  wo_monitor_add(scan, line, open->pattern, &sample, true);
}

/* "GPU 00000000:08:00.0". False for anything else. */
static bool read_card(struct wo_scan *scan, const struct wo_line *line, struct wo_open *open) {
  const struct wo_view text = line->text;
  const bool is_card = wo_view_starts(text, "GPU ") && text.len > 5 && wo_is_alnum(text.ptr[4]) && wo_view_has(text, ":") &&
                       !wo_view_has(text, " : ");
  if (!is_card) return false;
  if (open->numbers[GPU] == WO_MONITOR_GPU_MAX) return true;
  open->numbers[GPU]++;
  open->numbers[BLOCK] = BLOCK_OTHER;
  const struct wo_monitor_sample sample = wo_monitor_sample_of((int32_t)open->numbers[GPU]);
  wo_monitor_add(scan, line, open->pattern, &sample, false);
  return true;
}

/* Titles of blocks are indented and have no colon. */
static enum wo_more feed_q(struct wo_scan *scan, const struct wo_line *line, struct wo_open *open) {
  struct wo_view rest = line->text;
  if (wo_view_has(rest, "NVSMI LOG=====")) return WO_MORE_NO_UNREAD;
  if (wo_view_trim(rest).len == 0 || read_card(scan, line, open)) return WO_MORE_YES;
  const size_t colon = wo_view_find(rest, WO_VIEW(" : "), 0);
  const bool is_indented = wo_is_space(rest.ptr[0]);
  if (wo_view_starts(rest, "Timestamp ") && colon != WO_NOT_FOUND) {
    open->numbers[TIME_S] = (int64_t)wo_monitor_date(wo_view_skip(rest, colon + 3));
  }
  if (colon == WO_NOT_FOUND) {
    if (!is_indented) return ++open->numbers[STRANGE] > STRANGE_MAX ? WO_MORE_NO : WO_MORE_YES;
    open->numbers[BLOCK] = block_of(wo_view_trim(rest));
    return WO_MORE_YES;
  }
  if (is_indented && open->numbers[GPU] >= 0) {
    read_process(scan, line, open, wo_view_trim(wo_view_sub(rest, 0, colon)), wo_view_skip(rest, colon + 3));
  }
  if (is_indented) read_pair(scan, line, open, wo_view_trim(wo_view_sub(rest, 0, colon)), wo_view_skip(rest, colon + 3));
  return WO_MORE_YES;
}

const struct wo_format wo__format_smi_q = {.name = "smi_q", .follower = &wo__monitor_follower, .begin = begin_q, .feed = feed_q};
