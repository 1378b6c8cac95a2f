/* `nvidia-smi -q -x`: the same as -q, as XML with one element a line.
 *
 *   <timestamp>Wed Aug 30 06:46:27 2023</timestamp>
 *   <gpu id="00000000:08:00.0">
 *       <fb_memory_usage>
 *           <total>24564 MiB</total>
 *           <used>2545 MiB</used>
 *       </fb_memory_usage>
 *       <bar1_memory_usage>
 *
 * Elements repeat from block to block, so they are read inside the right one only. Cards are counted in the order in which they
 * stand. */
#include <string.h>

#include "parsers/formats/monitors/monitor.h"

/* Slots of struct wo_open that this reader uses. */
enum number { GPU, BLOCK, PID, TIME_S, IS_SLICE };

enum block { BLOCK_OTHER, BLOCK_FB, BLOCK_UTILIZATION, BLOCK_PROCESS };

/* The slot of texts with the program's name. */
enum { NAME = 0 };

/* Lines of the largest document that is believed: hundreds for each card. */
#define DOCUMENT_LINES 200000

/* "<used>2545 MiB</used>" in two. False for lines that are no such element. */
static bool read_element(struct wo_view text, struct wo_view *ret_name, struct wo_view *ret_value) {
  if (!wo_view_starts(text, "<")) return false;
  const size_t end = wo_view_find_char(text, '>', 0);
  const size_t close = wo_view_find_last(text, WO_VIEW("</"), text.len);
  if (end == WO_NOT_FOUND || close == WO_NOT_FOUND || close <= end) return false;
  *ret_name = wo_view_sub(text, 1, end);
  *ret_value = wo_view_sub(text, end + 1, close);
  return wo_view_equal(wo_view_sub(text, close + 2, close + 2 + ret_name->len), *ret_name);
}

static enum block block_of(struct wo_view text) {
  if (wo_view_is(text, "<fb_memory_usage>")) return BLOCK_FB;
  if (wo_view_is(text, "<utilization>")) return BLOCK_UTILIZATION;
  return wo_view_is(text, "<process_info>") ? BLOCK_PROCESS : BLOCK_OTHER;
}

static void read_process(struct wo_scan *scan, const struct wo_line *line, struct wo_open *open, struct wo_view name,
                         struct wo_view value) {
  uint64_t pid = 0;
  if (wo_view_is(name, "pid")) {
    open->numbers[PID] = wo_monitor_pid(value, &pid) ? (int64_t)pid : 0;
    open->texts[NAME][0] = '\0';
  } else if (wo_view_is(name, "process_name")) {
    const size_t len = value.len < WO_MONITOR_NAME_BYTES ? value.len : WO_MONITOR_NAME_BYTES;
    memcpy(open->texts[NAME], value.ptr, len);
    open->texts[NAME][len] = '\0';
  } else if (wo_view_is(name, "used_memory") && open->numbers[PID] > 0) {
    struct wo_monitor_use use = {
        .gpu = (int32_t)open->numbers[GPU], .pid = (uint64_t)open->numbers[PID], .name = wo_view_of(open->texts[NAME])};
    struct wo_view unit;
    const enum wo_cell kind = wo_monitor_cell(value, &use.bytes, &unit);
    if (kind == WO_CELL_NUMBER) use.bytes *= wo_monitor_unit_bytes(unit);
    wo_monitor_add_process(scan, line, open->pattern, &use);
  }
}

/* Every element is a part of its card's one sample; the time goes with the memory, the figure that a slope is taken of. */
static void read_figure(struct wo_scan *scan, const struct wo_line *line, struct wo_open *open, struct wo_view name,
                        struct wo_view value) {
  struct wo_monitor_sample sample = wo_monitor_sample_of((int32_t)open->numbers[GPU]);
  struct wo_view unit;
  double number = 0;
  if (wo_monitor_cell(value, &number, &unit) != WO_CELL_NUMBER) return;
  const double scale = wo_monitor_unit_bytes(unit);
  if (open->numbers[BLOCK] == BLOCK_FB && scale > 0 && wo_view_is(name, "used")) {
    sample.fb_bytes = number * scale;
    sample.time_s = (double)open->numbers[TIME_S];
  } else if (open->numbers[BLOCK] == BLOCK_FB && scale > 0 && wo_view_is(name, "total")) {
    sample.capacity_bytes = number * scale;
  } else if (open->numbers[BLOCK] == BLOCK_UTILIZATION && wo_view_is(name, "gpu_util") && wo_view_is(unit, "%")) {
    sample.sm_pct = number;
  } else {
    return;
  }
  wo_monitor_add(scan, line, open->pattern, &sample, true);
}

static enum wo_more begin_xml(struct wo_scan *scan, const struct wo_line *line, const struct wo_match *match,
                              struct wo_open *open) {
  (void)scan;
  (void)line;
  (void)match;
  open->numbers[GPU] = -1;
  open->numbers[TIME_S] = (int64_t)WO_MONITOR_MISSING;
  return WO_MORE_YES;
}

/* "<gpu id=...>": the next card. */
static void begin_card(struct wo_scan *scan, const struct wo_line *line, struct wo_open *open) {
  if (open->numbers[GPU] < WO_MONITOR_GPU_MAX) open->numbers[GPU]++;
  open->numbers[BLOCK] = BLOCK_OTHER;
  open->numbers[IS_SLICE] = 0;
  const struct wo_monitor_sample sample = wo_monitor_sample_of((int32_t)open->numbers[GPU]);
  wo_monitor_add(scan, line, open->pattern, &sample, false);
}

/* A tag alone on its line begins or ends a block. Blocks of a slice have the names of the card's and are parts of it: they are
 * left out. */
static void read_tag(struct wo_open *open, struct wo_view text) {
  if (!wo_view_starts(text, "<")) return;
  if (wo_view_is(text, "<mig_device>")) open->numbers[IS_SLICE] = 1;
  if (wo_view_is(text, "</mig_device>")) open->numbers[IS_SLICE] = 0;
  open->numbers[BLOCK] = open->numbers[IS_SLICE] ? BLOCK_OTHER : (int64_t)block_of(text);
}

/* A loop appends documents, each with its own head. */
static enum wo_more feed_xml(struct wo_scan *scan, const struct wo_line *line, struct wo_open *open) {
  struct wo_view name;
  struct wo_view value;
  const struct wo_view text = wo_view_trim(line->full);
  if (wo_view_has(text, "<nvidia_smi_log>")) return WO_MORE_NO_UNREAD;
  if (wo_view_is(text, "</nvidia_smi_log>") || open->lines > DOCUMENT_LINES) return WO_MORE_NO;
  if (wo_view_starts(text, "<gpu id=")) {
    begin_card(scan, line, open);
  } else if (!read_element(text, &name, &value)) {
    read_tag(open, text);
  } else if (wo_view_is(name, "timestamp")) {
    open->numbers[TIME_S] = (int64_t)wo_monitor_date(value);
  } else if (open->numbers[GPU] >= 0 && open->numbers[BLOCK] == BLOCK_PROCESS) {
    read_process(scan, line, open, name, value);
  } else if (open->numbers[GPU] >= 0) {
    read_figure(scan, line, open, name, value);
  }
  return WO_MORE_YES;
}

const struct wo_format wo__format_smi_xml = {
    .name = "smi_xml", .follower = &wo__monitor_follower, .begin = begin_xml, .feed = feed_xml};
