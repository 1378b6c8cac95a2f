/* SPDX-License-Identifier: Apache-2.0 */
/* `free` of procps: memory of the host.
 *
 *                  total        used        free      shared  buff/cache   available
 *   Mem:       527988372    83886080   209715200     1048576   234387092   440401920
 *   Swap:        8388604           0     8388604
 *
 * Before 3.3.10 what is in use includes the caches, and a row "-/+ buffers/cache:" says the rest. Sizes are KiB, or what -b, -m
 * and -g ask for, which the output does not say: the unit follows from the sizes that a host can have and from the pages that KiB
 * and bytes are multiples of. If two readings remain, the table is not read. -h writes the unit after each number. */
#include "parsers/base/units.h"
#include "parsers/scan/format.h"

struct table {
  bool has_available;
  double unit_bytes; /* of the bare numbers, while the row after "Mem:" is waited for */
};

/* Memory of a host that a job runs on. */
#define HOST_MIN_BYTES (3 * WO_GIB)
#define HOST_MAX_BYTES (16 * 1024 * WO_GIB)

/* Columns of the row "Mem:" that are read: `free -w` has the most. */
#define CELLS_MAX 7

struct row {
  struct wo_view cells[CELLS_MAX];
  size_t count;
};

/* The words after the row's name. */
static struct row split(struct wo_view text) {
  struct row row = {.count = 0};
  for (text = wo_view_trim(text); text.len > 0 && row.count < CELLS_MAX;) row.cells[row.count++] = wo_view_word(&text);
  return row;
}

static bool read_bare(struct wo_view cell, uint64_t *ret_number) {
  return wo_number_u64(&cell, UINT64_C(1) << 53, ret_number) == WO_OK && cell.len == 0;
}

/* Whether all numbers are multiples of `step`; false when one has a unit of its own. */
static bool are_multiples(const struct row *row, uint64_t step) {
  for (size_t i = 0; i < row->count; i++) {
    uint64_t number = 0;
    if (!read_bare(row->cells[i], &number) || number % step != 0) return false;
  }
  return true;
}

static bool is_host(double bytes) {
  return bytes >= HOST_MIN_BYTES && bytes < HOST_MAX_BYTES;
}

/* Bytes of the unit of a row of bare numbers; 0 if it is unclear. Pages have 4 KiB: five numbers of MiB are never all multiples
 * of four by chance. */
static double find_unit(const struct row *row) {
  uint64_t total = 0;
  if (!read_bare(row->cells[0], &total)) return 0;
  const double number = (double)total;
  const bool is_mib = is_host(number * WO_MIB);
  const bool is_gib = is_host(number * WO_GIB);
  if (is_host(number) && are_multiples(row, 4096)) return 1;
  if (is_host(number * WO_KIB) && are_multiples(row, 4)) return WO_KIB;
  if (is_mib == is_gib) return 0;
  return is_mib ? WO_MIB : WO_GIB;
}

/* A cell in bytes. Units above KiB are cut, not rounded, by `free`. */
static bool read_cell(struct wo_view cell, double unit_bytes, struct wo_interval *ret) {
  uint64_t number = 0;
  if (!read_bare(cell, &number)) return wo_units_bytes(&cell, 0, ret) == WO_OK && cell.len == 0;
  if (unit_bytes <= 0) return false;
  const double bytes = (double)number * unit_bytes;
  *ret = (struct wo_interval){bytes, bytes, unit_bytes > WO_KIB ? bytes + unit_bytes : bytes};
  return true;
}

/* Adds the event at the row "Mem:". False if its figures cannot be read. */
static bool add_memory(struct wo_open *open, const struct row *row) {
  struct table *const own = open->state;
  struct wo_interval total;
  struct wo_interval used;
  struct wo_interval available;
  const double unit_bytes = find_unit(row);
  if (row->count < 4 || !read_cell(row->cells[0], unit_bytes, &total) || !is_host(total.mid)) return false;
  if (!read_cell(row->cells[1], unit_bytes, &used) || used.lo > total.hi) return false;
  if (own->has_available && !read_cell(row->cells[row->count - 1], unit_bytes, &available)) return false;
  struct wo_event *event = wo_open_add(open, WO_KIND_MEMORY_USE, open->line->full);
  if (!event) return false;
  open->event = event->id;
  own->unit_bytes = unit_bytes;
  wo_event_set_number(open->store, event, WO_FIELD_TOTAL_BYTES, total);
  if (!own->has_available) return true;
  wo_event_set_number(open->store, event, WO_FIELD_USED_BYTES, used);
  wo_event_set_number(open->store, event, WO_FIELD_AVAILABLE_BYTES, available);
  return true;
}

/* The old layout's second row: what is in use without the caches, and what is free when they are dropped. */
static void add_without_caches(const struct wo_open *open, const struct row *row) {
  struct table *const own = open->state;
  struct wo_event *event = wo_open_event(open);
  struct wo_interval bytes;
  if (!event || row->count != 2) return;
  if (read_cell(row->cells[0], own->unit_bytes, &bytes)) wo_event_set_number(open->store, event, WO_FIELD_USED_BYTES, bytes);
  if (read_cell(row->cells[1], own->unit_bytes, &bytes)) wo_event_set_number(open->store, event, WO_FIELD_AVAILABLE_BYTES, bytes);
}

static enum wo_more begin_free(struct wo_open *open, const struct wo_match *match) {
  struct table *const own = open->state;
  own->has_available = wo_view_has(wo_match_text(match), "available");
  return WO_MORE_YES;
}

static enum wo_more feed_free(struct wo_open *open) {
  struct table *const own = open->state;
  const struct wo_view text = wo_view_trim(open->line->text);
  if (open->event == WO_EVENT_NONE) {
    if (!wo_view_starts(text, "Mem:")) return WO_MORE_NO_UNREAD;
    const struct row row = split(wo_view_skip(text, sizeof "Mem:" - 1));
    return row.count > 0 && add_memory(open, &row) && !own->has_available ? WO_MORE_YES : WO_MORE_NO;
  }
  if (!wo_view_starts(text, "-/+ buffers/cache:")) return WO_MORE_NO_UNREAD;
  const struct row row = split(wo_view_skip(text, sizeof "-/+ buffers/cache:" - 1));
  add_without_caches(open, &row);
  return WO_MORE_NO;
}

const struct wo_format wo__format_free = {
    .name = "free", .state_bytes = sizeof(struct table), .begin = begin_free, .feed = feed_free};
