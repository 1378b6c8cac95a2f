/* SPDX-License-Identifier: Apache-2.0 */
/* Monitors that print one key and its value a line, in blocks for each card:
 *
 *   nvidia-smi -q                                      nvidia-smi -q -x
 *     Timestamp : Wed Aug 30 06:46:27 2023               <timestamp>Wed Aug 30 06:46:27 2023</timestamp>
 *     GPU 00000000:08:00.0                               <gpu id="00000000:08:00.0">
 *         FB Memory Usage                                    <fb_memory_usage>
 *             Total                 : 24564 MiB                  <total>24564 MiB</total>
 *             Used                  : 2545 MiB                   <used>2545 MiB</used>
 *         BAR1 Memory Usage                                  </fb_memory_usage>
 *             Total                 : 32768 MiB              <bar1_memory_usage>
 *
 *   gpustat --json (MiB and percent without units; null is unknown)
 *     "query_time": "2024-01-01T12:00:00.123456",
 *     "gpus": [ {
 *             "index": 0,
 *             "memory.used": 30000,
 *             "processes": [ {
 *                     "command": "python",
 *                     "gpu_memory_usage": 29500,
 *                     "pid": 4711
 *
 * Keys repeat from block to block ("BAR1 Memory Usage" and, from driver 535 on, "Conf Compute Protected Memory Usage" have those
 * of the card's own memory), so they are read inside the right one only: for each form a table says what which key means where.
 * nvidia-smi's cards are counted in the order of the output, which is the order of their indices. */
#include "parsers/base/units.h"
#include "parsers/formats/monitors/monitor.h"

enum block { ANYWHERE, OTHER, MEMORY, UTILIZATION, PROCESS };
enum item { USED, TOTAL, BUSY, PROCESS_ID, PROCESS_NAME, PROCESS_BYTES };

struct key {
  const char *name;
  enum block block;
  enum item item;
};

struct form {
  double unit_bytes; /* of a size, where no figure has a unit; 0 where all have one */
  struct key keys[6];
};

static const struct form smi_q = {.keys = {{"Total", MEMORY, TOTAL},
                                           {"Used", MEMORY, USED},
                                           {"Gpu", UTILIZATION, BUSY},
                                           {"Process ID", ANYWHERE, PROCESS_ID},
                                           {"Name", ANYWHERE, PROCESS_NAME},
                                           {"Used GPU Memory", ANYWHERE, PROCESS_BYTES}}};

static const struct form smi_xml = {.keys = {{"total", MEMORY, TOTAL},
                                             {"used", MEMORY, USED},
                                             {"gpu_util", UTILIZATION, BUSY},
                                             {"pid", PROCESS, PROCESS_ID},
                                             {"process_name", PROCESS, PROCESS_NAME},
                                             {"used_memory", PROCESS, PROCESS_BYTES}}};

static const struct form gpustat = {.unit_bytes = WO_MIB,
                                    .keys = {{"memory.total", ANYWHERE, TOTAL},
                                             {"memory.used", ANYWHERE, USED},
                                             {"utilization.gpu", ANYWHERE, BUSY},
                                             {"pid", ANYWHERE, PROCESS_ID},
                                             {"command", ANYWHERE, PROCESS_NAME},
                                             {"gpu_memory_usage", ANYWHERE, PROCESS_BYTES}}};

struct document {
  int32_t gpu; /* the card being read, or -1 */
  enum block block;
  bool is_slice; /* a slice of a card: its blocks have the names of the card's */
  int strange;
  double time_s; /* in whole seconds */
  uint64_t pid;  /* of the process being read; 0: unknown */
  double process_bytes;
  char name[WO_MONITOR_NAME_BYTES + 1];
};

/* Lines of the largest documents that are believed: hundreds for each card. */
#define XML_LINES 200000
#define JSON_LINES 20000

/* ---- The meaning of a key ---- */

static void forget_process(struct document *own) {
  own->pid = 0;
  own->process_bytes = WO_MONITOR_MISSING;
  own->name[0] = '\0';
}

static enum wo_more begin_document(struct document *own, double time_s) {
  own->gpu = -1;
  own->time_s = (double)(int64_t)time_s;
  forget_process(own);
  return WO_MORE_YES;
}

/* The next card; its figures are parts of the sample that begins here. */
static void begin_card(const struct wo_open *open, int32_t gpu) {
  struct document *const own = open->state;
  const struct wo_monitor_sample sample = wo_monitor_sample_of(gpu);
  own->gpu = gpu;
  own->block = OTHER;
  own->is_slice = false;
  wo_monitor_add(open, &sample, false);
}

static void end_process(const struct wo_open *open) {
  struct document *const own = open->state;
  const struct wo_monitor_use use = {
      .gpu = own->gpu, .pid = own->pid, .name = wo_view_of(own->name), .bytes = own->process_bytes};
  if (own->pid > 0 && own->gpu >= 0) wo_monitor_add_process(open, &use);
  forget_process(own);
}

/* Reads a figure with its unit, or without one where the form has none. Sizes are in bytes. */
static bool read_figure(const struct form *form, enum item item, struct wo_view value, double *ret_number) {
  enum { PCT_MAX = 100 };
  struct wo_view unit;
  if (wo_monitor_cell(value, ret_number, &unit) != WO_CELL_NUMBER || (form->unit_bytes > 0 && unit.len > 0)) return false;
  if (item == BUSY) return form->unit_bytes > 0 ? *ret_number <= (double)PCT_MAX : wo_view_is(unit, "%");
  const double scale = form->unit_bytes > 0 ? form->unit_bytes : wo_monitor_unit_bytes(unit);
  *ret_number *= scale;
  return scale > 0;
}

/* The time goes with the memory in use, the figure that a slope is taken of. */
static void add_figure(const struct wo_open *open, enum item item, double number) {
  const struct document *const own = open->state;
  struct wo_monitor_sample sample = wo_monitor_sample_of(own->gpu);
  if (item == TOTAL) sample.capacity_bytes = number;
  if (item == BUSY) sample.sm_pct = number;
  if (item == USED) sample.fb_bytes = number;
  if (item == USED) sample.time_s = own->time_s;
  if (own->gpu >= 0) wo_monitor_add(open, &sample, true);
}

/* nvidia-smi prints the memory of a process last, so it ends the process; in gpustat's output a brace does. */
static void take_value(const struct wo_open *open, const struct form *form, enum item item, struct wo_view value) {
  struct document *const own = open->state;
  double number = 0;
  if (item == PROCESS_ID) {
    if (!wo_monitor_pid(value, &own->pid)) own->pid = 0;
  } else if (item == PROCESS_NAME) {
    wo_view_copy(value, own->name, sizeof own->name);
  } else if (item == PROCESS_BYTES) {
    if (read_figure(form, item, value, &number)) own->process_bytes = number;
    if (form->unit_bytes <= 0) end_process(open);
  } else if (read_figure(form, item, value, &number)) {
    add_figure(open, item, number);
  }
}

static void take_key(const struct wo_open *open, struct wo_view name, struct wo_view value) {
  const struct form *const form = open->format->constants;
  const struct document *const own = open->state;
  for (size_t i = 0; i < sizeof form->keys / sizeof form->keys[0]; i++) {
    const struct key *const key = &form->keys[i];
    const bool is_here = key->block == ANYWHERE || key->block == own->block;
    if (is_here && wo_view_is_nocase(name, key->name)) take_value(open, form, key->item, wo_view_trim(value));
  }
}

/* ---- nvidia-smi -q ---- */

/* Lines at the left margin that are neither a card nor a pair: the text is over. */
#define STRANGE_MAX 3

/* The pattern is the banner. The time, the driver's and CUDA's version, and the number of cards come before the first card. */
static enum wo_more begin_smi(struct wo_open *open, const struct wo_match *match) {
  (void)match;
  return begin_document(open->state, WO_MONITOR_MISSING);
}

/* "GPU 00000000:08:00.0". */
static bool is_card(struct wo_view text) {
  return wo_view_starts(text, "GPU ") && text.len > 5 && wo_is_alnum(text.ptr[4]) && wo_view_has(text, ":") &&
         !wo_view_has(text, " : ");
}

/* Titles of blocks are indented and have no colon. */
static enum block block_of_title(struct wo_view title) {
  if (wo_view_is(title, "FB Memory Usage")) return MEMORY;
  return wo_view_is(title, "Utilization") ? UTILIZATION : OTHER;
}

static enum wo_more feed_q(struct wo_open *open) {
  struct document *const own = open->state;
  const struct wo_view text = open->line->text;
  if (wo_view_has(text, "NVSMI LOG=====")) return WO_MORE_NO_UNREAD;
  if (wo_view_trim(text).len == 0) return WO_MORE_YES;
  if (is_card(text)) {
    if (own->gpu < WO_MONITOR_GPU_MAX) begin_card(open, own->gpu + 1);
    return WO_MORE_YES;
  }
  const size_t colon = wo_view_find(text, WO_VIEW(" : "), 0);
  const bool is_indented = wo_is_space(text.ptr[0]);
  if (colon == WO_NOT_FOUND && !is_indented) return ++own->strange > STRANGE_MAX ? WO_MORE_NO : WO_MORE_YES;
  if (colon == WO_NOT_FOUND) {
    own->block = block_of_title(wo_view_trim(text));
  } else if (wo_view_starts(text, "Timestamp ")) {
    own->time_s = wo_monitor_date(wo_view_skip(text, colon + 3));
  } else if (is_indented && own->gpu >= 0) {
    take_key(open, wo_view_trim(wo_view_sub(text, 0, colon)), wo_view_skip(text, colon + 3));
  }
  return WO_MORE_YES;
}

/* ---- nvidia-smi -q -x ---- */

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

static enum block block_of_tag(struct wo_view text) {
  if (wo_view_is(text, "<fb_memory_usage>")) return MEMORY;
  if (wo_view_is(text, "<utilization>")) return UTILIZATION;
  return wo_view_is(text, "<process_info>") ? PROCESS : OTHER;
}

/* A tag alone on its line begins or ends a block. Slices are parts of the card: they are left out. */
static void read_tag(struct document *own, struct wo_view text) {
  if (!wo_view_starts(text, "<")) return;
  if (wo_view_is(text, "<mig_device>")) own->is_slice = true;
  if (wo_view_is(text, "</mig_device>")) own->is_slice = false;
  own->block = own->is_slice ? OTHER : block_of_tag(text);
}

/* A loop appends documents, each with its own head. */
static enum wo_more feed_xml(struct wo_open *open) {
  struct document *const own = open->state;
  struct wo_view name;
  struct wo_view value;
  const struct wo_view text = wo_view_trim(open->line->full);
  if (wo_view_has(text, "<nvidia_smi_log>")) return WO_MORE_NO_UNREAD;
  if (wo_view_is(text, "</nvidia_smi_log>") || open->lines > XML_LINES) return WO_MORE_NO;
  if (wo_view_starts(text, "<gpu id=")) {
    begin_card(open, own->gpu < WO_MONITOR_GPU_MAX ? own->gpu + 1 : own->gpu);
  } else if (!read_element(text, &name, &value)) {
    read_tag(own, text);
  } else if (wo_view_is(name, "timestamp")) {
    own->time_s = wo_monitor_date(value);
  } else if (own->gpu >= 0) {
    take_key(open, name, value);
  }
  return WO_MORE_YES;
}

/* ---- gpustat --json ---- */

/* `"key": value,` without quotes and comma. False for lines that are no pair. */
static bool read_pair(struct wo_view text, struct wo_view *ret_key, struct wo_view *ret_value) {
  text = wo_view_trim(text);
  if (!wo_view_starts(text, "\"")) return false;
  text = wo_view_skip(text, 1);
  const size_t end = wo_view_find(text, WO_VIEW("\": "), 0);
  if (end == WO_NOT_FOUND) return false;
  *ret_key = wo_view_sub(text, 0, end);
  struct wo_view value = wo_view_trim(wo_view_skip(text, end + 3));
  if (wo_view_ends(value, ",")) value.len--;
  if (wo_view_starts(value, "\"") && wo_view_ends(value, "\"") && value.len >= 2) value = wo_view_sub(value, 1, value.len - 1);
  *ret_value = value;
  return true;
}

static enum wo_more begin_json(struct wo_open *open, const struct wo_match *match) {
  struct wo_view key;
  struct wo_view value;
  (void)match;
  if (!read_pair(open->line->text, &key, &value)) return WO_MORE_NO;
  return begin_document(open->state, wo_monitor_time(value));
}

/* The document ends with a brace at the margin; another one begins with its own time. */
static enum wo_more feed_json(struct wo_open *open) {
  struct document *const own = open->state;
  struct wo_view key;
  struct wo_view value;
  int32_t gpu = 0;
  if (wo_view_starts(open->line->full, "}") || open->lines > JSON_LINES) return WO_MORE_NO;
  if (wo_view_starts(wo_view_trim(open->line->full), "}")) end_process(open);
  if (!read_pair(open->line->full, &key, &value)) return WO_MORE_YES;
  if (wo_view_is(key, "query_time")) return WO_MORE_NO_UNREAD;
  if (!wo_view_is(key, "index")) {
    take_key(open, key, value);
  } else if (wo_monitor_gpu(value, &gpu)) {
    begin_card(open, gpu);
  } else {
    own->gpu = -1;
  }
  return WO_MORE_YES;
}

#define KEY_FORMAT(id, keys, begin_of, feed_of)                                                                                  \
  const struct wo_format wo__format_##id = {.name = #id,                                                                         \
                                            .constants = keys,                                                                   \
                                            .state_bytes = sizeof(struct document),                                              \
                                            .follower = &wo__monitor_follower,                                                   \
                                            .begin = begin_of,                                                                   \
                                            .feed = feed_of}

KEY_FORMAT(smi_q, &smi_q, begin_smi, feed_q);
KEY_FORMAT(smi_xml, &smi_xml, begin_smi, feed_xml);
KEY_FORMAT(gpustat_json, &gpustat, begin_json, feed_json);
