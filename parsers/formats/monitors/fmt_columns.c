/* SPDX-License-Identifier: Apache-2.0 */
/* Monitoring tables in columns: a line of names, then one row for each card or process and sample. They differ in the names of
 * their columns, so each has a table of names.
 *
 *   nvidia-smi dmon                      # gpu   pwr gtemp    sm   mem    fb  bar1
 *                                        # Idx     W     C     %     %    MB    MB
 *                                            0    29    69    97    42 30211     5
 *   nvidia-smi pmon                      # gpu        pid  type    sm   mem    fb   command
 *                                            0      14835     C    45    15  6021   python train.py
 *                                            1          -     -     -     -     -   -
 *   dcgmi dmon -e 203,252,...            #Entity   GPUTL    FBUSD    FBTTL
 *                                        GPU 0     45       1234     81920
 *                                        GPU-I 0   N/A      900      N/A
 *   nvidia-smi --query-compute-apps=...  pid, process_name, used_gpu_memory [MiB]
 *                                        4711, python, 29500 MiB
 *
 * Which columns there are, and in which order, is the user's choice and the driver's, so they are taken from the names, and again
 * whenever these are repeated. Wide values push a row, so cells are told apart by what divides them. A line that does not fit the
 * names in every cell is not a row: a monitor in the background of a job shares the job's output. */
#include <stdio.h>

#include "parsers/base/units.h"
#include "parsers/formats/monitors/monitor.h"

/* The meaning of a column. Those above FIGURE are required in some tables, and are bits of a set. */
enum role { FIGURE /* that is not needed */, ENTITY, GPU, DATE, TIME, PID, TYPE, NAME, USED, TOTAL, BUSY, ACTIVE };

struct column {
  const char *name;
  enum role role;
};

struct layout {
  bool is_csv;       /* commas divide the cells, and names have no '#' before them; else blanks and commas do */
  unsigned required; /* roles that the names must have */
  unsigned refused;  /* and must not have: those of a table that begins alike */
  size_t least;      /* columns */
  bool has_any_case; /* of names */
  const char *lack;  /* the note about a table of cards without memory */
  struct column columns[9];
};

#define SET(role) (1U << (role))

/* The set of dmon without -s has no fb column; dates and times are those of -o DT. */
static const struct layout dmon = {
    .required = SET(GPU),
    .refused = SET(PID),
    .least = 2,
    .has_any_case = true,
    .lack = "no memory column (fb): record with nvidia-smi dmon -s mu",
    .columns = {{"gpu", GPU}, {"fb", USED}, {"sm", BUSY}, {"Date", DATE}, {"Time", TIME}, {"pid", PID}}};

/* A card without processes has a row of dashes; only -s m has the memory. */
static const struct layout pmon = {.required = SET(GPU) | SET(PID) | SET(TYPE) | SET(NAME),
                                   .columns = {{"gpu", GPU},
                                               {"fb", USED},
                                               {"pid", PID},
                                               {"type", TYPE},
                                               {"Date", DATE},
                                               {"Time", TIME},
                                               {"command", NAME},
                                               {"name", NAME}}};

/* Slices of a card (GPU-I, GPU-CI) and other entities have rows of their own, which are accepted and left out: they are parts of
 * a card. The profiling counter is a ratio; the utilisation says the same where both are asked for. */
static const struct layout dcgmi = {
    .required = SET(ENTITY),
    .least = 3,
    .lack = "no memory field (FBUSD): record with dcgmi dmon -e 203,252",
    .columns = {{"Entity", ENTITY}, {"FBUSD", USED}, {"FBTTL", TOTAL}, {"GPUTL", BUSY}, {"GRACT", ACTIVE}}};

/* The card is named by an address at best, which no other trace has, so it stays unknown. */
static const struct layout apps = {.is_csv = true,
                                   .required = SET(PID) | SET(USED),
                                   .columns = {{"pid", PID},
                                               {"process_name", NAME},
                                               {"name", NAME},
                                               {"used_gpu_memory [MiB]", USED},
                                               {"used_gpu_memory", USED},
                                               {"used_memory [MiB]", USED}}};

struct table {
  const struct layout *layout;
  size_t skip; /* bytes of a launcher's label before the names, and before each row */
  int strange; /* lines in a row that are no part of the table */
  bool has_units;
  bool is_too_wide; /* the names have more columns than are read */
  unsigned seen;    /* set of roles */
  size_t count;
  unsigned char roles[WO_LIMIT_MONITOR_COLUMNS];
};

/* One row, with the values that its columns have. */
struct row {
  bool is_card;
  int32_t gpu;
  uint64_t pid;
  struct wo_view name, date, time;
  double used_bytes, total_bytes, busy_pct;
};

/* ---- Cells ---- */

static bool is_separator(char c) {
  return wo_is_space(c) || c == ',';
}

/* Cuts the next cell off *rest. False at the end. */
static bool next_cell(const struct layout *layout, struct wo_view *rest, struct wo_view *ret_cell) {
  if (!layout->is_csv) {
    size_t start = 0;
    while (start < rest->len && is_separator(rest->ptr[start])) start++;
    size_t end = start;
    while (end < rest->len && !is_separator(rest->ptr[end])) end++;
    *ret_cell = wo_view_sub(*rest, start, end);
    *rest = wo_view_skip(*rest, end);
    return ret_cell->len > 0;
  }
  if (rest->len == 0) return false;
  *ret_cell = wo_view_trim(wo_view_cut(rest, ','));
  return true;
}

/* ---- Names ---- */

static enum role role_of(const struct layout *layout, struct wo_view name) {
  for (size_t i = 0; i < sizeof layout->columns / sizeof layout->columns[0] && layout->columns[i].name; i++) {
    const char *const known = layout->columns[i].name;
    if (layout->has_any_case ? wo_view_is_nocase(name, known) : wo_view_is(name, known)) return layout->columns[i].role;
  }
  return FIGURE;
}

/* A column's name in a table with commas: a word, and a unit in brackets. */
static bool is_name(struct wo_view cell) {
  for (size_t i = 0; i < cell.len; i++) {
    if (!wo_is_word(cell.ptr[i]) && wo_view_find_char(WO_VIEW(". []"), cell.ptr[i], 0) == WO_NOT_FOUND) return false;
  }
  return cell.len > 0 && wo_is_alpha(cell.ptr[0]);
}

/* An entity is two cells of a row: "GPU 0". */
static bool add_column(struct table *table, enum role role) {
  if (table->count == WO_LIMIT_MONITOR_COLUMNS) return false;
  table->roles[table->count++] = (unsigned char)role;
  return role != ENTITY || add_column(table, GPU);
}

/* Reads the line of names. False when it is none, and then nothing is changed. Without commas the columns that a table must have
 * come in the order of their roles. */
static bool read_names(struct wo_view text, struct table *table) {
  const struct layout *const layout = table->layout;
  struct table names = {.layout = layout, .skip = table->skip, .has_units = table->has_units};
  struct wo_view name;
  text = wo_view_trim_start(text);
  if (!layout->is_csv && !wo_view_starts(text, "#")) return false;
  text = wo_view_skip(text, layout->is_csv ? 0 : 1);
  while (next_cell(layout, &text, &name)) {
    enum role role = role_of(layout, name);
    if (layout->is_csv && !is_name(name)) return false;
    if ((names.seen & SET(role)) || (role == ACTIVE && (names.seen & SET(BUSY)))) role = FIGURE;
    if (!layout->is_csv && role != FIGURE && (names.seen & layout->required) > SET(role)) return false;
    names.seen |= SET(role);
    table->is_too_wide = !add_column(&names, role);
    if (table->is_too_wide) return false;
  }
  const bool ends_in_name = !(layout->required & SET(NAME)) || (names.count > 0 && names.roles[names.count - 1] == NAME);
  if ((names.seen & layout->required) != layout->required || (names.seen & layout->refused) || names.count < layout->least ||
      !ends_in_name)
    return false;
  *table = names;
  return true;
}

/* ---- Rows ---- */

/* Digits and colons: "20240131" and "12:00:05". A date is not checked further here; a trace whose dates are wrong still has good
 * figures. */
static bool is_clock(struct wo_view cell) {
  for (size_t i = 0; i < cell.len; i++) {
    if (!wo_is_digit(cell.ptr[i]) && cell.ptr[i] != ':') return false;
  }
  return true;
}

/* A time without its date says nothing across midnight, and is not used. */
static double read_time(struct wo_view date, struct wo_view time) {
  char text[32];
  enum { DATE_LEN = 8, TIME_LEN = 8 };
  if (date.len != DATE_LEN || time.len != TIME_LEN) return WO_MONITOR_MISSING;
  snprintf(text, sizeof text, "%.4s-%.2s-%.2s %.8s", date.ptr, date.ptr + 4, date.ptr + 6, time.ptr);
  return wo_monitor_time(wo_view_of(text));
}

/* Compute, graphics, or both; M for a client of the multi-process service. */
static bool is_type(struct wo_view cell) {
  enum { LONGEST = 5 };
  for (size_t i = 0; i < cell.len; i++) {
    if (wo_view_find_char(WO_VIEW("CGM+-"), cell.ptr[i], 0) == WO_NOT_FOUND) return false;
  }
  return cell.len <= LONGEST;
}

static bool read_entity(struct wo_view cell, bool *ret_is_card) {
  static const char *const entities[] = {"GPU", "GPU-I", "GPU-CI", "CPU", "Core", "Switch", "Link"};
  *ret_is_card = wo_view_is(cell, "GPU");
  return WO_VIEW_ANY(cell, wo_view_is, entities);
}

/* Figures have units in tables with commas only, and then all have them: one that lost its unit was cut by a kill. */
static bool read_figure(struct table *table, enum role role, struct wo_view cell, struct row *row) {
  enum { PCT = 100 };
  struct wo_view unit;
  double number = 0;
  const enum wo_cell kind = wo_monitor_cell(cell, &number, &unit);
  if (kind != WO_CELL_NUMBER) return kind == WO_CELL_MISSING;
  if (unit.len > 0 ? !table->layout->is_csv : table->has_units) return false;
  table->has_units = unit.len > 0;
  const double scale = unit.len > 0 ? wo_monitor_unit_bytes(unit) : WO_MIB;
  if (role == USED) row->used_bytes = number * scale;
  if (role == TOTAL) row->total_bytes = number * scale;
  if (role == BUSY) row->busy_pct = number;
  if (role == ACTIVE) row->busy_pct = number * (double)PCT;
  return scale > 0;
}

static bool read_cell(struct table *table, enum role role, struct wo_view cell, struct row *row) {
  switch (role) {
  case ENTITY:
    return read_entity(cell, &row->is_card);
  case GPU:
    return wo_monitor_gpu(cell, &row->gpu);
  case DATE:
    row->date = cell;
    return is_clock(cell);
  case TIME:
    row->time = cell;
    return is_clock(cell);
  case PID:
    return (!table->layout->is_csv && wo_view_is(cell, "-")) || wo_monitor_pid(cell, &row->pid);
  case TYPE:
    return is_type(cell);
  case NAME:
    row->name = cell;
    return true;
  default:
    return (table->layout->is_csv && role == FIGURE) || read_figure(table, role, cell, row);
  }
}

/* Whether the row fits the names in every cell. A command at the end of a row may hold blanks. */
static bool read_row(struct table *table, struct wo_view text, struct row *row) {
  const struct layout *const layout = table->layout;
  struct wo_view cell;
  *row = (struct row){.is_card = true,
                      .gpu = -1,
                      .used_bytes = WO_MONITOR_MISSING,
                      .total_bytes = WO_MONITOR_MISSING,
                      .busy_pct = WO_MONITOR_MISSING};
  for (size_t i = 0; i < table->count; i++) {
    const bool is_rest = !layout->is_csv && table->roles[i] == NAME && i + 1 == table->count;
    if (!next_cell(layout, &text, &cell) || cell.len == 0) return false;
    if (is_rest) cell.len = (size_t)(text.ptr + text.len - cell.ptr);
    if (is_rest) text.len = 0;
    if (!read_cell(table, (enum role)table->roles[i], wo_view_trim(cell), row)) return false;
  }
  return !next_cell(layout, &text, &cell);
}

static void add_card(const struct wo_open *open, const struct table *table, const struct row *row) {
  struct wo_monitor_sample sample = wo_monitor_sample_of(row->gpu);
  sample.fb_bytes = row->used_bytes;
  sample.capacity_bytes = row->total_bytes;
  sample.sm_pct = row->busy_pct;
  sample.time_s = read_time(row->date, row->time);
  if (!(table->seen & SET(USED))) sample.lack = table->layout->lack;
  if (row->is_card) wo_monitor_add(open, &sample, false);
}

static void add_process(const struct wo_open *open, const struct row *row) {
  const struct wo_monitor_use use = {.gpu = row->gpu, .pid = row->pid, .name = row->name, .bytes = row->used_bytes};
  if (row->pid > 0) wo_monitor_add_process(open, &use);
}

/* ---- The readers ---- */

static enum wo_more begin_table(struct wo_open *open, const struct wo_match *match) {
  struct table *const table = open->state;
  (void)match;
  table->layout = open->format->constants;
  table->skip = open->line->prefix.length;
  if (read_names(open->line->text, table)) return WO_MORE_YES;
  if (table->is_too_wide) wo_scan_note_cap(open->scan, WO_CAP_COLUMNS, 1);
  return WO_MORE_NO;
}

/* Lines with '#' that are no names are units, or those of another monitor beside it. */
static enum wo_more feed_table(struct wo_open *open) {
  struct table *const table = open->state;
  const struct layout *const layout = table->layout;
  const struct wo_view text = wo_view_skip(open->line->full, table->skip);
  struct row row;
  if (read_names(text, table) || (!layout->is_csv && wo_view_starts(wo_view_trim_start(text), "#"))) return WO_MORE_YES;
  if (!read_row(table, text, &row)) return wo_monitor_is_over(&table->strange) ? WO_MORE_NO : WO_MORE_YES;
  table->strange = 0;
  if (layout->required & SET(PID)) {
    add_process(open, &row);
  } else {
    add_card(open, table, &row);
  }
  return WO_MORE_YES;
}

#define COLUMN_FORMAT(id, layout_of)                                                                                             \
  const struct wo_format wo__format_##id = {.name = #id,                                                                         \
                                            .constants = &(layout_of),                                                           \
                                            .state_bytes = sizeof(struct table),                                                 \
                                            .follower = &wo__monitor_follower,                                                   \
                                            .begin = begin_table,                                                                \
                                            .feed = feed_table}

COLUMN_FORMAT(dmon, dmon);
COLUMN_FORMAT(pmon, pmon);
COLUMN_FORMAT(dcgmi, dcgmi);
COLUMN_FORMAT(query_apps, apps);
