/* SPDX-License-Identifier: Apache-2.0 */
/* `nvidia-smi --query-gpu=... --format=csv,noheader,nounits`: rows of numbers at the start of a file, without names and units.
 *
 *   2025/03/30 21:38:15.137, 45, 30211, 81559
 *
 * Read only when the first rows leave one reading: a time stamp first, and one column that never changes and has the size of a
 * card in MiB, with a column before it that stays below. Anything else of that form is noted, with how to record it. */
#include <string.h>

#include "parsers/base/units.h"
#include "parsers/formats/monitors/monitor.h"

/* Rows that are compared before one is believed. */
#define ROWS 4
#define ROW_BYTES 160
#define COLUMNS_MAX 16

/* Sizes of cards in MiB. Smaller ones, and figures in the range of a percentage, look like other columns. */
#define CARD_MIN 1900
#define CARD_MAX 400000
#define PERCENT_MAX 100

/* One of the first rows. */
struct kept {
  uint64_t number;
  uint64_t offset;
  size_t len;
  char text[ROW_BYTES];
};

struct table {
  size_t rows; /* kept so far */
  size_t columns;
  size_t total_column; /* 0 = not known yet */
  bool has_index;      /* the second column */
  int strange;
  int32_t gpu;
  double last_time_s; /* of the row before */
  struct kept kept[ROWS];
};

/* A row as numbers; the first is the time where there is one, and negative otherwise. */
struct row {
  double cells[COLUMNS_MAX];
  bool is_whole[COLUMNS_MAX];
  size_t count;
};

static bool read_row(struct wo_view text, struct row *row) {
  *row = (struct row){.count = 0};
  for (bool is_last = false; !is_last; row->count++) {
    if (row->count == COLUMNS_MAX) return false;
    is_last = wo_view_find_char(text, ',', 0) == WO_NOT_FOUND;
    struct wo_view cell = wo_view_trim(wo_view_cut(&text, ','));
    double *const number = &row->cells[row->count];
    if (row->count == 0 && wo_view_find_char(cell, ':', 0) != WO_NOT_FOUND) {
      *number = wo_monitor_time(cell);
      if (*number < 0) return false;
      continue;
    }
    struct wo_interval printed;
    if (wo_number_decimal(&cell, &printed, &row->is_whole[row->count]) != WO_OK || cell.len > 0) return false;
    *number = printed.mid;
  }
  return row->count >= 3;
}

static bool has_time(const struct row *row) {
  return !row->is_whole[0] && row->cells[0] > CARD_MAX;
}

/* Whether the column holds whole numbers from 0 to `most` in all rows; *ret_highest is the highest. */
static bool is_below(const struct row *rows, size_t column, double most, double *ret_highest) {
  *ret_highest = 0;
  for (size_t i = 0; i < ROWS; i++) {
    const double cell = rows[i].cells[column];
    if (!rows[i].is_whole[column] || cell < 0 || cell > most) return false;
    if (cell > *ret_highest) *ret_highest = cell;
  }
  return true;
}

/* Whether the column may be a card's memory, with the memory in use before it. A later column that stays below it too could also
 * be the memory in use. */
static bool is_total(const struct row *rows, size_t column) {
  double highest = 0;
  const double total = rows[0].cells[column];
  if (total < CARD_MIN || total > CARD_MAX) return false;
  for (size_t i = 0; i < ROWS; i++) {
    if (!rows[i].is_whole[column] || rows[i].cells[column] != total) return false;
  }
  if (!is_below(rows, column - 1, total, &highest) || highest <= PERCENT_MAX) return false;
  const bool is_followed = column + 1 < rows[0].count && is_below(rows, column + 1, total, &highest) && highest > PERCENT_MAX;
  return rows[0].cells[column - 1] < total / 2 && !is_followed;
}

/* The one column that is the total; 0 for none, or more than one. */
static size_t find_total(const struct row *rows) {
  size_t found = 0;
  size_t count = 0;
  for (size_t column = 2; column < rows[0].count; column++) {
    if (!is_total(rows, column)) continue;
    found = column;
    count++;
  }
  return count == 1 ? found : 0;
}

/* Whether the second column counts the cards: from 0, in steps of one, beginning again at 0. */
static bool is_index(const struct row *rows) {
  bool has_second = false;
  for (size_t i = 0; i < ROWS; i++) {
    const double cell = rows[i].cells[1];
    if (cell != 0 && (i == 0 || cell != rows[i - 1].cells[1] + 1)) return false;
    has_second = has_second || cell == 1;
  }
  return has_second;
}

static void add_row(struct wo_open *open, const struct row *row) {
  struct table *const own = open->state;
  const double apart_s = row->cells[0] - own->last_time_s;
  const bool is_same_moment = apart_s >= 0 && apart_s < WO_MONITOR_MOMENT_S;
  own->gpu = is_same_moment && own->gpu < WO_LIMIT_MONITORS - 1 ? own->gpu + 1 : 0;
  if (own->has_index && row->cells[1] >= 0 && row->cells[1] < WO_LIMIT_MONITORS) own->gpu = (int32_t)row->cells[1];
  own->last_time_s = row->cells[0];
  struct wo_monitor_sample sample = wo_monitor_sample_of(own->gpu);
  sample.time_s = row->cells[0];
  sample.fb_bytes = row->cells[own->total_column - 1] * WO_MIB;
  sample.capacity_bytes = row->cells[own->total_column] * WO_MIB;
  sample.is_guessed = true;
  wo_monitor_add(open, &sample, false);
}

/* ---- The first rows ---- */

static struct wo_line line_of(const struct wo_line *line, const struct kept *kept) {
  struct wo_line other = *line;
  other.number = kept->number;
  other.offset = kept->offset;
  other.raw = other.full = other.text = (struct wo_view){kept->text, kept->len};
  return other;
}

static void note(struct wo_open *open) {
  const struct table *const own = open->state;
  const struct wo_line shown = line_of(open->line, &own->kept[0]);
  struct wo_event *event = wo_scan_add_event(open->scan, &shown, open->pattern, WO_KIND_NOTE, 0, own->kept[0].len);
  if (event)
    wo_event_set_text(open->store, event, WO_FIELD_MESSAGE,
                      WO_VIEW("rows that look like nvidia-smi's without names and units cannot be read safely: record them with "
                              "--query-gpu=timestamp,index,memory.used,memory.total --format=csv"));
}

/* Finds the columns, and adds the rows that were kept. */
static enum wo_more decide(struct wo_open *open) {
  struct table *const own = open->state;
  const struct wo_line *const line = open->line;
  struct row rows[ROWS];
  for (size_t i = 0; i < ROWS; i++) {
    if (!read_row((struct wo_view){own->kept[i].text, own->kept[i].len}, &rows[i])) return WO_MORE_NO;
  }
  const size_t total = find_total(rows);
  if (total == 0 || !has_time(&rows[0])) {
    if (total > 0 || has_time(&rows[0])) note(open);
    return WO_MORE_NO;
  }
  own->total_column = total;
  own->has_index = total > 2 && is_index(rows);
  own->last_time_s = -1;
  for (size_t i = 0; i < ROWS; i++) {
    const struct wo_line shown = line_of(line, &own->kept[i]);
    open->line = &shown;
    add_row(open, &rows[i]);
    open->line = line;
  }
  return WO_MORE_YES;
}

/* Keeps one of the first rows. Rows must follow each other and have the same columns. */
static enum wo_more keep(struct wo_open *open, struct wo_view text) {
  struct table *const own = open->state;
  struct row row;
  if (text.len > ROW_BYTES || !read_row(text, &row)) return WO_MORE_NO_UNREAD;
  if (own->rows > 0 && row.count != own->columns) return WO_MORE_NO_UNREAD;
  struct kept *const kept = &own->kept[own->rows++];
  own->columns = row.count;
  kept->number = open->line->number;
  kept->offset = open->line->offset + (uint64_t)(text.ptr - open->line->full.ptr);
  kept->len = text.len;
  memcpy(kept->text, text.ptr, text.len);
  return own->rows == ROWS ? decide(open) : WO_MORE_YES;
}

/* ---- The reader ---- */

static enum wo_more begin_bare(struct wo_open *open, const struct wo_match *match) {
  return keep(open, wo_view_trim(wo_match_text(match)));
}

static enum wo_more feed_bare(struct wo_open *open) {
  struct table *const own = open->state;
  struct row row;
  const struct wo_view text = wo_view_trim(open->line->full);
  if (own->total_column == 0) return keep(open, text);
  if (!read_row(text, &row) || row.count != own->columns || !has_time(&row))
    return wo_monitor_is_over(&own->strange) ? WO_MORE_NO : WO_MORE_YES;
  own->strange = 0;
  add_row(open, &row);
  return WO_MORE_YES;
}

const struct wo_format wo__format_query_bare = {.name = "query_bare",
                                                .state_bytes = sizeof(struct table),
                                                .follower = &wo__monitor_follower,
                                                .begin = begin_bare,
                                                .feed = feed_bare};
