/* SPDX-License-Identifier: Apache-2.0 */
/* `seff` and Princeton's `jobstats`: "Key: value" lines about one job that has ended.
 *
 *   Job ID: 300419
 *   State: OUT_OF_MEMORY (exit code 0)
 *   Nodes: 2
 *   Job Wall-clock time: 00:21:07
 *   Memory Utilized: 61.20 GB
 *   Memory Efficiency: 95.63% of 64.00 GB (64.00 GB/node)
 *
 * jobstats right-aligns its keys, has other ones ("CPU Memory", "Run Time"), and tables of bars between them, among them one row
 * per card: "gpu07 (GPU 3): 26.5GB/40.0GB (66.2%)". Units are powers of 1024, written GB. Form: seff 2.1 to 25.05, jobstats 2. */
#include "parsers/formats/accounting/account.h"
#include "parsers/base/units.h"

/* The text is over after this many useless lines in a row, or lines in all: jobstats has one line per node and card. */
#define STRANGE_LINES 8
#define TEXT_LINES 2000

struct seff {
  struct wo_account_kept kept;
  int strange; /* lines in a row that say nothing */
};

/* seff prints "FAILED (exit code 1)", and the state alone for jobs that still run. The number is the program's code, without the
 * signal that sacct puts after it. */
static void keep_state(struct wo_open *open, struct wo_view value) {
  struct seff *const own = open->state;
  struct wo_view name = value;
  const size_t words = wo_view_find(value, WO_VIEW(" (exit code "), 0);
  if (words != WO_NOT_FOUND) {
    struct wo_view in = wo_view_skip(value, words + 12);
    uint64_t code = 0;
    name = wo_view_sub(value, 0, words);
    if (wo_number_u64(&in, 65535, &code) == WO_OK) own->kept.exit = (struct wo_account_exit){true, (uint32_t)code, 0};
  }
  wo__account_keep_state(open, open->line, name);
}

/* seff prints "Cores: 1" in place of this line for jobs of a single core. */
static void read_nodes(struct wo_open *open, struct wo_event *event, struct wo_view value) {
  uint64_t nodes = 0;
  if (wo_number_u64(&value, 1000000, &nodes) != WO_OK || nodes == 0) return;
  ((struct seff *)open->state)->kept.nodes = nodes;
  wo_event_set_exact(open->store, event, WO_FIELD_NODE_COUNT, (double)nodes);
}

/* seff counts the memory of all nodes together, and so does jobstats. Neither mentions a single node. */
static double node_share(const struct wo_open *open) {
  const struct seff *const own = open->state;
  return own->kept.nodes > 0 ? 1.0 / (double)own->kept.nodes : 1.0;
}

/* Three forms; the second is the limit, after "of":
 *
 *   Memory Utilized: 61.20 GB (estimated maximum)
 *   Memory Efficiency: 95.63% of 64.00 GB (64.00 GB/node)
 *   CPU Memory: 256GB (16GB per CPU-core) */
static void read_memory(const struct wo_open *open, struct wo_event *event, struct wo_view key, struct wo_view value) {
  struct wo_interval used;
  const size_t of = wo_view_find(value, WO_VIEW("% of "), 0);
  if (wo_view_is(key, "Memory Utilized") && wo_units_bytes(&value, 0, &used) == WO_OK) {
    wo_event_set_number(open->store, event, WO_FIELD_USED_BYTES, used);
  } else if (wo_view_is(key, "Memory Efficiency") && of != WO_NOT_FOUND) {
    wo__account_set_limit(open->store, event, wo_view_skip(value, of + 5), 0, node_share(open));
  } else if (wo_view_is(key, "CPU Memory")) {
    wo__account_set_limit(open->store, event, value, 0, node_share(open));
  }
}

/* jobstats counts the cards of all nodes. */
static void read_gpus(const struct wo_open *open, struct wo_event *event, struct wo_view value) {
  uint64_t gpus = 0;
  if (wo_number_u64(&value, 100000, &gpus) == WO_OK && gpus > 0)
    wo_event_set_exact(open->store, event, WO_FIELD_GPUS, (double)gpus * node_share(open));
}

/* Reads the value of a key. False for keys that are not needed. */
static bool read_key(struct wo_open *open, struct wo_view key, struct wo_view value) {
  struct wo_event *event = wo_open_event(open);
  if (!event) return false;
  if (wo_view_is(key, "State")) {
    keep_state(open, value);
  } else if (wo_view_is(key, "Array Job ID")) {
    wo__account_set_job(open->store, event, value);
  } else if (wo_view_is(key, "Job Name")) {
    wo__account_set_text(open->store, event, WO_FIELD_JOB_NAME, value);
  } else if (wo_view_is(key, "User/Group") || wo_view_is(key, "User/Account")) {
    wo__account_set_text(open->store, event, WO_FIELD_USER, wo_view_cut(&value, '/'));
    if (wo_view_is(key, "User/Account")) wo__account_set_text(open->store, event, WO_FIELD_ACCOUNT, value);
  } else if (wo_view_is(key, "Partition")) {
    wo__account_set_text(open->store, event, WO_FIELD_PARTITION, value);
  } else if (wo_view_is(key, "Nodes")) {
    read_nodes(open, event, value);
  } else if (wo_view_is(key, "GPUs")) {
    read_gpus(open, event, value);
  } else if (wo_view_is(key, "Job Wall-clock time") || wo_view_is(key, "Run Time")) {
    wo__account_set_seconds(open->store, event, WO_FIELD_ELAPSED_S, wo_view_cut(&value, ' '));
  } else if (wo_view_is(key, "Time Limit")) {
    wo__account_set_seconds(open->store, event, WO_FIELD_TIME_LIMIT_S, value);
  } else if (wo_view_has(key, "Memory")) {
    read_memory(open, event, key, value);
  } else {
    return wo_view_is(key, "Cluster") || wo_view_is(key, "Cores per node");
  }
  return true;
}

/* "gpu07 (GPU 3): 26.5GB/40.0GB (66.2%)": the most that was used of a card. */
static bool read_card(const struct wo_open *open, struct wo_view key, struct wo_view value) {
  const size_t at = wo_view_find(key, WO_VIEW(" (GPU "), 0);
  struct wo_view in = wo_view_skip(key, at == WO_NOT_FOUND ? key.len : at + 6);
  uint64_t gpu = 0;
  struct wo_interval used, capacity;
  if (wo_number_u64(&in, 1024, &gpu) != WO_OK || wo_units_bytes(&value, 0, &used) != WO_OK) return false;
  value = wo_view_skip(value, wo_view_starts(value, "/") ? 1 : value.len);
  if (wo_units_bytes(&value, 0, &capacity) != WO_OK) return false;
  struct wo_event *event = wo_open_add(open, WO_KIND_MEMORY_USE, key);
  if (!event) return true;
  wo_event_set_number(open->store, event, WO_FIELD_CAPACITY_BYTES, capacity);
  wo_event_set_exact(open->store, event, WO_FIELD_GPU, (double)gpu);
  wo_event_set_number(open->store, event, WO_FIELD_USED_BYTES, used);
  wo__account_set_text(open->store, event, WO_FIELD_HOST, wo_view_sub(key, 0, at));
  return true;
}

/* "gpu07: 61.2GB/64.0GB (7.6GB/8.0GB per core of 8)": the most that was used of a node's memory, and what was allocated there.
 * Times per node look alike but for the unit. */
static bool read_node_memory(const struct wo_open *open, struct wo_view key, struct wo_view value) {
  struct wo_interval used, allocated;
  if (!wo_view_has(value, " per core of ") || wo_view_starts(key, "Total ") || wo_units_bytes(&value, 0, &used) != WO_OK)
    return false;
  value = wo_view_skip(value, wo_view_starts(value, "/") ? 1 : value.len);
  if (wo_units_bytes(&value, 0, &allocated) != WO_OK) return false;
  struct wo_event *event = wo_open_add(open, WO_KIND_JOB_INFO, key);
  if (!event) return true;
  wo_event_set_number(open->store, event, WO_FIELD_LIMIT_BYTES, allocated);
  wo_event_set_number(open->store, event, WO_FIELD_USED_BYTES, used);
  wo__account_set_text(open->store, event, WO_FIELD_HOST, key);
  return true;
}

/* Keys of the header first: a node's row has a colon after "(GPU 3)" and no key that is known. */
static bool read_line(struct wo_open *open) {
  struct wo_view value = open->line->full;
  const struct wo_view key = wo_view_trim(wo_view_cut(&value, ':'));
  value = wo_view_trim(value);
  return read_key(open, key, value) || read_card(open, key, value) || read_node_memory(open, key, value);
}

/* Frames, headings and bars of jobstats, which indents all but its frames. */
static bool is_layout(struct wo_view text) {
  return wo_view_trim(text).len == 0 || wo_view_starts(text, "  ") || wo_view_starts(text, "====");
}

/* A second job's text follows without a line between when seff is called in a loop. */
static enum wo_more feed_seff(struct wo_open *open) {
  struct seff *const own = open->state;
  if (open->lines > TEXT_LINES || wo_view_starts(wo_view_trim_start(open->line->full), "Job ID:")) return WO_MORE_NO_UNREAD;
  if (read_line(open)) {
    own->strange = 0;
    return WO_MORE_YES;
  }
  if (is_layout(open->line->full)) return WO_MORE_YES;
  return ++own->strange > STRANGE_LINES ? WO_MORE_NO_UNREAD : WO_MORE_YES;
}

/* The id of the first line may be of an array's task; that line ("Array Job ID: 300400_7") follows and is read as a key. */
const struct wo_format wo__format_seff = {
    .name = "seff",
    .state_bytes = sizeof(struct seff),
    .begin = wo_open_begin,
    .feed = feed_seff,
    .finish = wo__account_flush,
};
