/* SPDX-License-Identifier: Apache-2.0 */
/* The table of torch.cuda.memory_summary().
 *
 *   |                  PyTorch CUDA memory summary, device ID 0                 |
 *   |            CUDA OOMs: 1            |        cudaMalloc retries: 2         |
 *   |        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |
 *   | Allocated memory      |  17920 MiB |  18944 MiB |   1251 GiB |   1233 GiB |
 *   |       from large pool |  17912 MiB | ...
 *   | Allocations           |    1204    | ...
 *
 * Sizes are whole numbers of B, KiB (older: KB) and so on, all powers of 1024, with the rest cut off. The rows of sizes come
 * before those of counts, and the abbreviated form lacks only the rows of the pools. */
#include "parsers/base/units.h"
#include "parsers/scan/format.h"

/* Lines from the title to the last row of sizes, and some more for what other ranks print between them. */
#define TABLE_LINES 60

/* The cells between the bars: the metric, and the two that are read. */
struct row {
  struct wo_view metric, now, peak;
};

/* A cell that no bar closes was cut off by a kill and is not read. */
static struct wo_view take_cell(struct wo_view *rest) {
  const bool is_closed = wo_view_find_char(*rest, '|', 0) != WO_NOT_FOUND;
  const struct wo_view cell = wo_view_trim(wo_view_cut(rest, '|'));
  return is_closed ? cell : (struct wo_view){0};
}

static bool split(struct wo_view text, struct row *row) {
  const size_t bar = wo_view_find_char(text, '|', 0);
  if (bar == WO_NOT_FOUND) return false;
  struct wo_view rest = wo_view_skip(text, bar + 1);
  row->metric = take_cell(&rest);
  row->now = take_cell(&rest);
  row->peak = take_cell(&rest);
  return row->metric.len > 0 && row->now.len > 0;
}

/* Because the rest is cut off, the figure is a lower bound. Sizes in bytes are exact. */
static bool read_size(struct wo_view cell, struct wo_interval *ret) {
  struct wo_interval size = {0, 0, 0};
  if (wo_units_bytes(&cell, 0, &size) != WO_OK || cell.len > 0) return false;
  *ret = (struct wo_interval){.lo = size.mid, .mid = size.mid, .hi = size.mid + (size.hi - size.lo)};
  return true;
}

/* A field keeps its first value, so the rows of the pools could not spoil it; they have other names anyway. */
static void read_sizes(struct wo_event_store *store, struct wo_event *event, const struct row *row) {
  static const struct {
    const char *metric;
    enum wo_field_id now, peak;
  } rows[] = {{"Allocated memory", WO_FIELD_ALLOCATED_BYTES, WO_FIELD_PEAK_BYTES},
              {"Active memory", WO_FIELD_ACTIVE_BYTES, WO_FIELD_COUNT_},
              {"Requested memory", WO_FIELD_REQUESTED_BYTES, WO_FIELD_COUNT_},
              {"GPU reserved memory", WO_FIELD_RESERVED_BYTES, WO_FIELD_PEAK_RESERVED_BYTES},
              {"Non-releasable memory", WO_FIELD_NON_RELEASABLE_BYTES, WO_FIELD_PEAK_NON_RELEASABLE_BYTES}};
  struct wo_interval size = {0, 0, 0};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (!wo_view_is(row->metric, rows[i].metric)) continue;
    if (read_size(row->now, &size)) wo_event_set_number(store, event, rows[i].now, size);
    if (rows[i].peak != WO_FIELD_COUNT_ && read_size(row->peak, &size)) {
      wo_event_set_number(store, event, rows[i].peak, size);
    }
  }
}

/* "CUDA OOMs: 1". */
static void read_count(struct wo_event_store *store, struct wo_event *event, struct wo_view cell, const char *name,
                       enum wo_field_id id) {
  uint64_t count = 0;
  if (!wo_view_starts(cell, name)) return;
  cell = wo_view_trim(wo_view_skip(cell, wo_view_of(name).len));
  if (wo_number_u64(&cell, UINT32_MAX, &count) != WO_OK || cell.len > 0) return;
  wo_event_set_exact(store, event, id, (double)count);
}

/* The rows of counts end the table. */
static enum wo_more feed_summary(struct wo_open *open) {
  struct wo_event *const event = wo_open_event(open);
  struct row row;
  if (!event || open->lines > TABLE_LINES) return WO_MORE_NO;
  if (wo_view_has(open->line->text, "memory summary, device ID")) return WO_MORE_NO_UNREAD;
  if (!split(open->line->text, &row)) return WO_MORE_YES;
  if (wo_view_is(row.metric, "Allocations")) return WO_MORE_NO;
  read_count(open->store, event, row.metric, "CUDA OOMs:", WO_FIELD_OOM_COUNT);
  read_count(open->store, event, row.now, "cudaMalloc retries:", WO_FIELD_RETRY_COUNT);
  read_sizes(open->store, event, &row);
  return WO_MORE_YES;
}

/* The pattern's group is the device. */
const struct wo_format wo__format_memory_summary = {.name = "memory_summary", .begin = wo_open_begin, .feed = feed_summary};
