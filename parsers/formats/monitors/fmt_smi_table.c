/* SPDX-License-Identifier: Apache-2.0 */
/* The table that plain `nvidia-smi` prints, once or in a loop. Two lines for each card, whatever the driver's width:
 *
 *   | NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
 *   |   0  NVIDIA L40S                    On  |   00000000:4A:00.0 Off |                    0 |
 *   | N/A   27C    P8             32W /  350W |       0MiB /  46068MiB |      0%      Default |
 *
 * Cells are recognised by their content: an index before a bus address; sizes; a percentage in the last cell (the first one's is
 * the fan's). MIG slices below have no bus address and are not read. Other vendors draw similar tables with a banner of their
 * own, which do not get here. */
#include "parsers/formats/monitors/monitor.h"

struct table {
  int64_t gpu;   /* the card whose figures come next, or -1 */
  double time_s; /* the table's, in seconds since 1970 */
  bool is_in_processes;
};

/* Lines of the largest table: 64 cards of four lines, and the frame. */
#define TABLE_LINES 320

/* The three cells between the bars. */
struct cells {
  struct wo_view at[3];
};

/* False for lines with fewer bars: the frame, and the rows of the process table, which have two. */
static bool split(struct wo_view text, struct cells *cells) {
  const size_t bar = wo_view_find_char(text, '|', 0);
  if (bar == WO_NOT_FOUND) return false;
  struct wo_view rest = wo_view_skip(text, bar + 1);
  for (size_t i = 0; i < 3; i++) {
    if (wo_view_find_char(rest, '|', 0) == WO_NOT_FOUND) return false;
    cells->at[i] = wo_view_trim(wo_view_cut(&rest, '|'));
  }
  return true;
}

/* "00000000:4A:00.0" or, in old drivers, "0000:4A:00.0". */
static bool is_bus(struct wo_view text) {
  size_t colons = 0;
  size_t at = 0;
  for (; at < text.len && (wo_is_alnum(text.ptr[at]) || text.ptr[at] == ':'); at++) colons += text.ptr[at] == ':';
  return colons == 2 && at < text.len && text.ptr[at] == '.';
}

/* "0  NVIDIA L40S   On": the index, or -1. */
static int64_t read_index(const struct cells *cells) {
  struct wo_view text = cells->at[0];
  uint64_t index = 0;
  if (!is_bus(cells->at[1]) || wo_number_u64(&text, WO_MONITOR_GPU_MAX, &index) != WO_OK) return -1;
  return text.len > 0 && wo_is_space(text.ptr[0]) ? (int64_t)index : -1;
}

/* A size with its unit at the front of *in, or missing. */
static double read_size(struct wo_view *in) {
  struct wo_interval number = {0, 0, 0};
  *in = wo_view_trim_start(*in);
  if (wo_number_decimal(in, &number, NULL) != WO_OK || number.mid < 0 || !wo_view_starts(*in, "MiB")) return WO_MONITOR_MISSING;
  *in = wo_view_skip(*in, 3);
  return number.mid * wo_monitor_unit_bytes(WO_VIEW("MiB"));
}

/* "14778MiB / 32510MiB" and "100%   Default"; either may be N/A. */
static bool read_figures(const struct cells *cells, struct wo_monitor_sample *sample) {
  struct wo_view memory = cells->at[1];
  struct wo_view busy = cells->at[2];
  struct wo_interval number = {0, 0, 0};
  const bool is_told =
      wo_view_has(memory, "MiB /") || wo_view_has_nocase(memory, "N/A") || wo_view_has_nocase(memory, "Not Supported");
  if (!is_told) return false;
  sample->fb_bytes = read_size(&memory);
  memory = wo_view_trim_start(memory);
  if (sample->fb_bytes >= 0 && wo_view_starts(memory, "/")) {
    memory = wo_view_skip(memory, 1);
    sample->capacity_bytes = read_size(&memory);
  }
  if (wo_number_decimal(&busy, &number, NULL) == WO_OK && wo_view_starts(busy, "%") && number.mid >= 0)
    sample->sm_pct = number.mid;
  return true;
}

/* The date that nvidia-smi prints on top ("Fri Mar  1 12:00:05 2024") has no pattern of its own, so it is looked up in the lines
 * above once the banner shows that a table begins. */
static enum wo_more begin_table(struct wo_open *open, const struct wo_match *match) {
  struct table *const own = open->state;
  enum { DATE_ABOVE = 2 }; /* lines above the banner, over the frame */
  char buf[DATE_ABOVE][64];
  struct wo_view above[DATE_ABOVE] = {{0}};
  (void)match;
  wo_open_lines_before(open, DATE_ABOVE, above, buf[0], sizeof buf[0]);
  own->gpu = -1;
  own->time_s = wo_monitor_date(above[DATE_ABOVE - 1]);
  return WO_MORE_YES;
}

/* Compute, graphics, or both; M for a client of the multi-process service. */
static bool is_type(struct wo_view word) {
  static const char *const types[] = {"C", "G", "C+G", "M+C", "M"};
  return WO_VIEW_ANY(word, wo_view_is, types);
}

/* "|    0   N/A  N/A     69154      C   ...torch/bin/python    14907MiB |"; before driver 450 without the two columns of slices.
 */
static bool read_process(struct wo_view text, struct wo_monitor_use *use) {
  text = wo_view_trim(text);
  if (!wo_view_starts(text, "|") || !wo_view_ends(text, "|") || text.len < 3) return false;
  text = wo_view_sub(text, 1, text.len - 1);
  if (!wo_monitor_gpu(wo_view_word(&text), &use->gpu)) return false;
  struct wo_view pid = wo_view_word(&text);
  struct wo_view type = wo_view_word(&text);
  if (!is_type(type)) {
    pid = wo_view_word(&text);
    type = wo_view_word(&text);
  }
  if (!is_type(type) || !wo_monitor_pid(pid, &use->pid)) return false;
  text = wo_view_trim(text);
  const size_t blank = wo_view_find_last(text, WO_VIEW(" "), text.len);
  if (blank == WO_NOT_FOUND) return false;
  struct wo_view size = wo_view_skip(text, blank + 1);
  use->bytes = read_size(&size);
  use->name = wo_view_trim(wo_view_sub(text, 0, blank));
  return use->bytes >= 0 || wo_view_is(wo_view_trim(size), "N/A");
}

/* The frame below the rows ends the table; so does a line that says that there are none. */
static enum wo_more feed_processes(struct wo_open *open) {
  struct wo_monitor_use use = {.gpu = -1};
  if (wo_view_starts(wo_view_trim(open->line->full), "+") || wo_view_has(open->line->full, "No running")) return WO_MORE_NO;
  if (read_process(open->line->full, &use)) wo_monitor_add_process(open, &use);
  return WO_MORE_YES;
}

/* The head of another vendor's table, whose rows look the same. */
static bool is_other_banner(struct wo_view text) {
  return wo_view_has(text, "Driver Version") || wo_view_has_nocase(text, "-smi ");
}

/* A new banner ends the table, as `nvidia-smi -l` prints one after the other without a line between. */
static enum wo_more feed_table(struct wo_open *open) {
  struct table *const own = open->state;
  struct cells cells;
  if (wo_view_has(open->line->full, "| NVIDIA-SMI ")) return WO_MORE_NO_UNREAD;
  if (open->lines > TABLE_LINES) return WO_MORE_NO;
  if (own->is_in_processes) return feed_processes(open);
  if (is_other_banner(open->line->full)) return WO_MORE_NO;
  if (wo_view_has(open->line->full, "| Processes:")) own->is_in_processes = 1;
  if (!split(open->line->full, &cells)) return WO_MORE_YES;
  const int64_t index = read_index(&cells);
  if (index >= 0) {
    own->gpu = index;
    return WO_MORE_YES;
  }
  struct wo_monitor_sample sample = wo_monitor_sample_of((int32_t)own->gpu);
  sample.time_s = (double)own->time_s;
  if (own->gpu < 0 || !read_figures(&cells, &sample)) return WO_MORE_YES;
  wo_monitor_add(open, &sample, false);
  own->gpu = -1;
  return WO_MORE_YES;
}

const struct wo_format wo__format_smi_table = {.name = "smi_table",
                                               .state_bytes = sizeof(struct table),
                                               .follower = &wo__monitor_follower,
                                               .begin = begin_table,
                                               .feed = feed_table};
