/* SPDX-License-Identifier: Apache-2.0 */
/* `nvidia-smi --query-gpu=... --format=csv`, and the tables of home-made loggers that copy it: one header, one row for each card
 * and sample.
 *
 *   timestamp, index, utilization.gpu [%], memory.used [MiB], memory.total [MiB]
 *   2023/06/22 18:56:56.252, 0, 22 %, 841 MiB, 8192 MiB
 *
 * The columns are the user's choice, in any order, so the header names them; it may come again before each row. Without a header
 * (noheader) two percentages cannot be told apart and are not read; two sizes after a time stamp are taken for the memory in use
 * and the total, until a later row shows that they are not. Units are in the cells, or in the header's brackets
 * only (nounits), or nowhere; then the size of memory.total gives them away. A row whose last cell lost its unit was cut by a
 * kill. */
#include <assert.h>
#include <string.h>

#include "parsers/base/units.h"
#include "parsers/formats/monitors/monitor.h"

/* The meaning of a column. */
enum role { ROLE_NONE, ROLE_GPU, ROLE_USED, ROLE_TOTAL, ROLE_BUSY, ROLE_TIME, ROLE_CARD /* a name that no other card has */ };
#define ROLE_COUNT 7

struct state {
  size_t columns;
  int column[ROLE_COUNT]; /* of each role, -1 for none */
  double used_scale;      /* bytes of the header's unit, 0 when it names none */
  double total_scale;
  char separator;
  bool has_units; /* the cells carry units: seen in a row */
  bool is_bare;   /* no header: the first row showed the columns */
  size_t skip;    /* bytes of the label before header and rows */
  double last_time_s;
  int32_t moment_gpu; /* the card of the row before, if only the time distinguishes them */
  int strange;
  size_t card_count;
  uint32_t cards[WO_LIMIT_MONITORS]; /* hashes of the cards' names, in order of appearance */
};

/* The number of cells, or 0 when there are too many. */
static size_t split(struct wo_view text, char separator, struct wo_view *cells) {
  size_t count = 0;
  while (count < WO_LIMIT_MONITOR_COLUMNS) {
    const bool is_last = wo_view_find_char(text, separator, 0) == WO_NOT_FOUND;
    cells[count++] = wo_view_trim(wo_view_cut(&text, separator));
    if (is_last) return count;
  }
  return 0;
}

/* ---- The header ---- */

/* A column's name as letters and digits only, small, and the unit in its bracket. */
struct name {
  char text[48];
  size_t len;
  struct wo_view unit;
};

/* Header cells are names: a letter first, no quotes, no signs of code or JSON. */
static bool read_name(struct wo_view cell, struct name *name) {
  *name = (struct name){.len = 0};
  if (cell.len == 0 || !wo_is_alpha(cell.ptr[0])) return false;
  for (size_t i = 0; i < cell.len; i++) {
    const char c = cell.ptr[i];
    if (c == '[' || c == '(') {
      struct wo_view rest = wo_view_skip(cell, i + 1);
      name->unit = wo_view_trim(wo_view_cut(&rest, c == '[' ? ']' : ')'));
      return wo_view_trim(rest).len == 0;
    }
    if (wo_is_alnum(c) && name->len < sizeof name->text) name->text[name->len++] = wo_lower(c);
    if (!wo_is_word(c) && c != '.' && c != ' ' && c != '-' && c != '%') return false;
  }
  return true;
}

/* "memory_used_mb": the unit at the end of the name, when there is no bracket. */
static void take_unit(struct name *name) {
  static const char *const units[] = {"mib", "gib", "kib", "mb", "gb", "kb", "bytes", "pct", "percent"};
  for (size_t i = 0; i < sizeof units / sizeof units[0] && name->unit.len == 0; i++) {
    const struct wo_view text = {name->text, name->len};
    if (!wo_view_ends(text, units[i])) continue;
    name->unit = wo_view_of(units[i]);
    name->len -= name->unit.len;
  }
}

/* Names are compared without case, blanks and signs, so "memory.used [MiB]", "Memory Used (MB)" and memory_used_mb are one. A
 * column named gpu is the index for nvidia-smi and the load for loggers that write "gpu [%]"; the unit decides. */
static enum role role_of(const struct name *name) {
  static const struct {
    enum role role;
    const char *names; /* divided by blanks */
  } rows[] = {
      {ROLE_GPU, "index gpu gpuid gpuindex gpuidx"},
      {ROLE_USED, "memoryused memused usedmemory gpumemoryused gpumemused fbused vramused fbmemoryused"},
      {ROLE_TOTAL, "memorytotal memtotal totalmemory gpumemorytotal memorymax memmax vramtotal"},
      {ROLE_BUSY, "utilizationgpu gpuutilization gpuutil utilgpu gpuload"},
      {ROLE_TIME, "timestamp time datetime"},
      {ROLE_CARD, "uuid gpuuuid pcibusid gpubusid"},
  };
  const struct wo_view text = {name->text, name->len};
  const bool is_share = wo_view_is(name->unit, "%") || wo_view_is(name->unit, "pct") || wo_view_is(name->unit, "percent");
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    for (struct wo_view names = wo_view_of(rows[i].names); names.len > 0;) {
      if (!wo_view_equal(wo_view_word(&names), text)) continue;
      return rows[i].role == ROLE_GPU && is_share ? ROLE_BUSY : rows[i].role;
    }
  }
  return ROLE_NONE;
}

/* Rows of processes have the same figures for each of them, not for the card. A "DeviceId" is Intel's (xpu-smi dump). */
static bool is_of_another_sort(const struct name *name) {
  const struct wo_view text = {name->text, name->len};
  return wo_view_is(text, "pid") || wo_view_is(text, "processname") || wo_view_is(text, "usedgpumemory") ||
         wo_view_is(text, "deviceid");
}

/* Reads a header into *state. False when the line is none: then *state is not to be used. */
static bool read_header(struct wo_view text, struct state *state) {
  struct wo_view cells[WO_LIMIT_MONITOR_COLUMNS];
  bool has_unit = false;
  state->separator = wo_view_find_char(text, ';', 0) != WO_NOT_FOUND ? ';' : ',';
  state->columns = split(text, state->separator, cells);
  state->used_scale = state->total_scale = 0;
  for (size_t role = 0; role < ROLE_COUNT; role++) state->column[role] = -1;
  for (size_t i = 0; i < state->columns; i++) {
    struct name name;
    if (!read_name(cells[i], &name) || is_of_another_sort(&name)) return false;
    has_unit = has_unit || name.unit.len > 0;
    take_unit(&name);
    const enum role role = role_of(&name);
    if (role == ROLE_NONE || state->column[role] >= 0) continue;
    state->column[role] = (int)i;
    if (role == ROLE_USED) state->used_scale = wo_monitor_unit_bytes(name.unit);
    if (role == ROLE_TOTAL) state->total_scale = wo_monitor_unit_bytes(name.unit);
  }
  const bool has_figure = state->column[ROLE_USED] >= 0 || state->column[ROLE_BUSY] >= 0;
  return has_figure && (state->columns > 1 || (state->columns == 1 && has_unit));
}

/* ---- Rows ---- */

/* The card of a row that names it by address only: its place among those seen. -1 when there are too many. */
static int32_t find_card(struct state *state, struct wo_view name) {
  uint32_t hash = 2166136261U;
  for (size_t i = 0; i < name.len; i++) hash = (hash ^ (unsigned char)name.ptr[i]) * 16777619U;
  for (size_t i = 0; i < state->card_count; i++) {
    if (state->cards[i] == hash) return (int32_t)i;
  }
  if (state->card_count == WO_LIMIT_MONITORS) return -1;
  state->cards[state->card_count] = hash;
  return (int32_t)state->card_count++;
}

/* If neither index nor address distinguishes the cards, rows of the same moment belong to one card after the other. */
static int32_t count_moment(struct state *state, double time_s) {
  const double apart = time_s - state->last_time_s;
  const bool is_same = time_s >= 0 && state->last_time_s >= 0 && apart >= 0 && apart < WO_MONITOR_MOMENT_S;
  state->moment_gpu = is_same && state->moment_gpu < WO_LIMIT_MONITORS - 1 ? state->moment_gpu + 1 : 0;
  state->last_time_s = time_s;
  return state->moment_gpu;
}

/* Bytes of a figure without any unit: nvidia-smi counts MiB; loggers of their own also bytes, KiB or GiB, which the size of a
 * card distinguishes. */
static double guess_scale(double figure) {
  if (figure >= 1e9) return 1;
  if (figure >= 2e6) return WO_KIB;
  return figure > 0 && figure < 400 ? WO_GIB : WO_MIB;
}

/* A memory cell in bytes. False when it is none, or lost the unit that the others have. */
static bool read_memory(struct state *state, struct wo_view cell, double header_scale, double bare_scale, double *ret_bytes) {
  struct wo_view unit;
  double number = 0;
  *ret_bytes = WO_MONITOR_MISSING;
  const enum wo_cell kind = wo_monitor_cell(cell, &number, &unit);
  if (kind != WO_CELL_NUMBER) return kind == WO_CELL_MISSING;
  const double scale = wo_monitor_unit_bytes(unit);
  if ((unit.len > 0 && scale <= 0) || (unit.len == 0 && state->has_units)) return false;
  state->has_units = unit.len > 0;
  *ret_bytes = number * (scale > 0 ? scale : header_scale > 0 ? header_scale : bare_scale);
  return true;
}

/* A column that the header does not have reads like one that the card does not support. */
static struct wo_view cell_of(const struct state *state, const struct wo_view *cells, enum role role) {
  return state->column[role] < 0 ? WO_VIEW("-") : cells[state->column[role]];
}

/* Both memory cells; the total's size shows the unit of both if nothing else does. */
static bool read_memories(struct state *state, const struct wo_view *cells, struct wo_monitor_sample *sample) {
  struct wo_view unit;
  double total = 0;
  const struct wo_view cell = cell_of(state, cells, ROLE_TOTAL);
  const bool is_told = wo_monitor_cell(cell, &total, &unit) == WO_CELL_NUMBER;
  const double total_scale = is_told ? guess_scale(total) : WO_MIB;
  const double used_scale = state->total_scale > 0 ? state->total_scale : total_scale;
  return read_memory(state, cell, state->total_scale, total_scale, &sample->capacity_bytes) &&
         read_memory(state, cell_of(state, cells, ROLE_USED), state->used_scale, used_scale, &sample->fb_bytes);
}

/* The percentage of time in which a kernel ran; nvidia-smi does not report how much of the card it used. */
static bool read_busy(struct wo_view cell, double *ret_pct) {
  struct wo_view unit;
  const enum wo_cell kind = wo_monitor_cell(cell, ret_pct, &unit);
  return kind != WO_CELL_BAD && (unit.len == 0 || wo_view_is(unit, "%"));
}

/* The row's card: by its index, its address, or the moment. */
static bool read_gpu(struct state *state, const struct wo_view *cells, struct wo_monitor_sample *sample) {
  if (state->column[ROLE_GPU] >= 0) return wo_monitor_gpu(cells[state->column[ROLE_GPU]], &sample->gpu);
  if (state->column[ROLE_CARD] >= 0) {
    sample->gpu = find_card(state, cells[state->column[ROLE_CARD]]);
  } else {
    sample->gpu = count_moment(state, sample->time_s);
  }
  return sample->gpu >= 0;
}

/* The time is read first, as the moment may have to distinguish the cards. */
static bool read_row(struct state *state, const struct wo_view *cells, struct wo_monitor_sample *sample) {
  *sample = wo_monitor_sample_of(0);
  sample->is_guessed = state->is_bare;
  if (state->column[ROLE_USED] < 0) sample->lack = "no memory.used column: add it to --query-gpu";
  if (state->column[ROLE_TIME] >= 0) sample->time_s = wo_monitor_time(cells[state->column[ROLE_TIME]]);
  return read_memories(state, cells, sample) && read_busy(cell_of(state, cells, ROLE_BUSY), &sample->sm_pct) &&
         read_gpu(state, cells, sample);
}

/* ---- No header ---- */

/* Whether the cell is a size with its unit: the only cells that show their meaning themselves. */
static bool is_size(struct wo_view cell) {
  struct wo_view unit;
  double number = 0;
  return wo_monitor_cell(cell, &number, &unit) == WO_CELL_NUMBER && unit.len > 0 && wo_monitor_unit_bytes(unit) > 0;
}

/* A row whose first cell is a time stamp and that has two sizes side by side, as "memory.used,memory.total" prints. Three sizes,
 * or one, cannot be told apart; nor can percentages. The index of a card is a 0 after the time: the first row is of the first
 * card, and no other figure without unit is 0 there. */
static bool read_bare_row(struct wo_view text, struct state *state) {
  struct wo_view cells[WO_LIMIT_MONITOR_COLUMNS];
  size_t sizes = 0;
  state->separator = ',';
  state->columns = split(text, ',', cells);
  for (size_t role = 0; role < ROLE_COUNT; role++) state->column[role] = -1;
  if (state->columns < 3 || wo_view_find_char(cells[0], ':', 0) == WO_NOT_FOUND || wo_monitor_time(cells[0]) < 0) return false;
  state->column[ROLE_TIME] = 0;
  for (size_t i = 1; i < state->columns; i++) {
    if (!is_size(cells[i])) continue;
    state->column[sizes++ == 0 ? ROLE_USED : ROLE_TOTAL] = (int)i;
  }
  if (wo_view_is(cells[1], "0")) state->column[ROLE_GPU] = 1;
  state->is_bare = state->has_units = true;
  return sizes == 2 && state->column[ROLE_TOTAL] == state->column[ROLE_USED] + 1;
}

/* ---- The reader ---- */

static enum wo_more feed_csv(struct wo_open *open);

/* A launcher's label before the header also comes before the rows, with the same length. The times of rows look like a logger's,
 * so the prefix of a row is not read. */
static enum wo_more begin_csv(struct wo_open *open, const struct wo_match *match) {
  struct state *const state = open->state;
  *state = (struct state){.skip = open->line->prefix.length, .last_time_s = WO_MONITOR_MISSING};
  if (wo_view_is(open->pattern->argument, "noheader")) {
    state->skip = wo_match_start(match); /* the row's own time stamp was taken for a prefix as well */
    return read_bare_row(wo_view_skip(open->line->full, state->skip), state) ? feed_csv(open) : WO_MORE_NO;
  }
  if (read_header(open->line->text, state)) return WO_MORE_YES;
  if (state->columns == 0) wo_scan_note_cap(open->scan, WO_CAP_COLUMNS, 1);
  return WO_MORE_NO;
}

/* Strange lines in between are warnings of the program that shares the file. After too many in a row the trace counts as over, so
 * that a log of gigabytes is not read cell by cell. */
static enum wo_more feed_csv(struct wo_open *open) {
  struct wo_view cells[WO_LIMIT_MONITOR_COLUMNS];
  struct wo_monitor_sample sample;
  struct state *const state = open->state;
  const struct wo_view text = wo_view_skip(open->line->full, state->skip);
  struct state next = *state; /* what a row changes counts only when the whole row was understood */
  if (read_header(text, &next)) {
    *state = next;
    return WO_MORE_YES;
  }
  next = *state;
  if (split(text, state->separator, cells) != state->columns || !read_row(&next, cells, &sample))
    return wo_monitor_is_over(&state->strange) ? WO_MORE_NO : WO_MORE_YES;
  wo_monitor_add(open, &sample, false);
  *state = next;
  state->strange = 0;
  return WO_MORE_YES;
}

const struct wo_format wo__format_query_csv = {.name = "query_csv",
                                               .state_bytes = sizeof(struct state),
                                               .follower = &wo__monitor_follower,
                                               .begin = begin_csv,
                                               .feed = feed_csv};
