/* SPDX-License-Identifier: Apache-2.0 */
/* Sums up monitoring traces for each card and turns the sums into evidence. */
#include "parsers/formats/monitors/monitor.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "parsers/base/exchange/curve.h"
#include "parsers/base/units.h"
#include "parsers/formats/common/monitor_trend.h"

/* Seconds since 1970 below which a bare number is no time stamp (1973). */
#define EPOCH_MIN 1e8

/* Bytes of a row that are kept with its evidence. */
#define WO_MONITOR_TEXT_BYTES 256

/* The row that is to be shown: the buffer has moved on when the trace is over. */
struct place {
  struct wo_line line; /* its texts are `text`, and no more of its prefix is known than rank and time */
  size_t length;
  char text[WO_MONITOR_TEXT_BYTES];
};

/* Sums for a straight line by least squares. */
struct fit {
  double count, x, y, xx, xy;
};

/* The state of one card so far. */
struct card {
  const struct wo_pattern *pattern;
  int32_t gpu;
  uint64_t samples;
  double fb_first_bytes;
  double fb_last_bytes;
  double fb_peak_bytes;
  double capacity_bytes;
  double sm_count;
  double sm_sum;
  double time_first_s;
  struct fit by_sample;
  struct fit by_second;
  struct wo_trend trend;
  bool is_guessed;
  bool is_refuted; /* guessed, and wrong */
  const char *lack;
  struct place place; /* of the row with the peak; of the first row while no memory is known */
};

/* The state of one process so far. */
struct process {
  const struct wo_pattern *pattern;
  int32_t gpu;
  uint64_t pid;
  uint64_t samples;
  double peak_bytes;
  struct place place; /* of the row with the peak */
  size_t name_len;
  char name[WO_MONITOR_NAME_BYTES];
};

/* The sums of one input's traces so far, one row for each card and format, and for each process. */
struct sums {
  struct card cards[WO_LIMIT_MONITORS];
  size_t card_count;
  struct process processes[WO_LIMIT_MONITOR_PROCESSES];
  size_t process_count;
};

/* ---- Cells ---- */

/* The texts of nvidia-smi for figures that a card does not have, that need rights, or that cannot be read any more. A lost card
 * ("GPU is lost", Xid 79) still has its row. */
static bool is_missing(struct wo_view cell) {
  static const char *const words[] = {"-",
                                      "N/A",
                                      "[N/A]",
                                      "[Not Supported]",
                                      "Not Supported",
                                      "[Unknown Error]",
                                      "[Insufficient Permissions]",
                                      "ERR!",
                                      "[GPU is lost]",
                                      "[GPU requires reset]"};
  return WO_VIEW_ANY(cell, wo_view_is_nocase, words);
}

enum wo_cell wo_monitor_cell(struct wo_view cell, double *ret_number, struct wo_view *ret_unit) {
  struct wo_interval number = {0, 0, 0};
  cell = wo_view_trim(cell);
  *ret_number = WO_MONITOR_MISSING;
  *ret_unit = (struct wo_view){0};
  if (is_missing(cell)) return WO_CELL_MISSING;
  if (wo_number_decimal(&cell, &number, NULL) != WO_OK || number.mid < 0) return WO_CELL_BAD;
  *ret_number = number.mid;
  *ret_unit = wo_view_trim(cell);
  return WO_CELL_NUMBER;
}

/* MB is MiB here: nvidia-smi prints dmon's memory under "MB" and divides by 1024 twice, and loggers copy its figures. */
double wo_monitor_unit_bytes(struct wo_view unit) {
  static const struct {
    const char *name;
    double bytes;
  } rows[] = {{"MiB", WO_MIB}, {"MB", WO_MIB},  {"M", WO_MIB},  {"GiB", WO_GIB}, {"GB", WO_GIB},
              {"G", WO_GIB},   {"KiB", WO_KIB}, {"kB", WO_KIB}, {"bytes", 1},    {"B", 1}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (wo_view_is_nocase(unit, rows[i].name)) return rows[i].bytes;
  }
  return 0;
}

bool wo_monitor_gpu(struct wo_view text, int32_t *ret_gpu) {
  uint64_t gpu = 0;
  text = wo_view_trim(text);
  if (wo_number_u64(&text, WO_MONITOR_GPU_MAX, &gpu) != WO_OK || text.len > 0) return false;
  *ret_gpu = (int32_t)gpu;
  return true;
}

bool wo_monitor_pid(struct wo_view text, uint64_t *ret_pid) {
  text = wo_view_trim(text);
  return wo_number_u64(&text, UINT32_MAX, ret_pid) == WO_OK && text.len == 0 && *ret_pid > 0;
}

/* Puts the year in front: "03-30-2025 21:38:15" is written month first; a month beyond 12 shows that it was the day. */
static void put_year_first(char *text) {
  const bool is_year_last = wo_is_digit(text[0]) && wo_is_digit(text[1]) && text[2] == '-' && wo_is_digit(text[3]) &&
                            wo_is_digit(text[4]) && text[5] == '-';
  if (!is_year_last) return;
  char old[10];
  memcpy(old, text, sizeof old);
  const bool is_day_first = old[0] > '1' || (old[0] == '1' && old[1] > '2');
  memcpy(text, old + 6, 4);
  text[4] = text[7] = '-';
  memcpy(text + 5, old + (is_day_first ? 3 : 0), 2);
  memcpy(text + 8, old + (is_day_first ? 0 : 3), 2);
}

/* A slash or a dash divides the date; seconds may have a fraction. Bare numbers are seconds since 1970 (loggers with
 * time.time()), smaller ones count from the start of an unknown program. */
double wo_monitor_time(struct wo_view text) {
  enum { SHORTEST = 16 };
  char copy[48];
  struct wo_interval seconds = {0, 0, 0};
  int64_t time_ns = 0;
  text = wo_view_trim(text);
  struct wo_view number = text;
  if (wo_number_decimal(&number, &seconds, NULL) == WO_OK && number.len == 0) {
    return seconds.mid >= EPOCH_MIN ? seconds.mid : WO_MONITOR_MISSING;
  }
  if (text.len < SHORTEST || text.len > sizeof copy) return WO_MONITOR_MISSING;
  for (size_t i = 0; i < text.len; i++) copy[i] = text.ptr[i] == '/' ? '-' : text.ptr[i];
  put_year_first(copy);
  struct wo_view in = {copy, text.len};
  if (wo_units_time(&in, &time_ns) != WO_OK || time_ns < 0) return WO_MONITOR_MISSING;
  const int64_t whole_s = time_ns / WO_NS_PER_S;
  return (double)whole_s + (double)(time_ns % WO_NS_PER_S) / (double)WO_NS_PER_S;
}

/* The form of ctime, "Fri Mar  1 12:00:05 2024": the day is padded with a blank, the weekday is not checked. */
double wo_monitor_date(struct wo_view text) {
  static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  char date[48];
  uint64_t day = 0;
  wo_view_word(&text);
  const struct wo_view month = wo_view_word(&text);
  struct wo_view day_word = wo_view_word(&text);
  const struct wo_view clock = wo_view_word(&text);
  const struct wo_view year = wo_view_word(&text);
  const size_t at = month.len == 3 ? wo_view_find(wo_view_of(months), month, 0) : WO_NOT_FOUND;
  const bool is_date =
      at != WO_NOT_FOUND && at % 3 == 0 && clock.len == 8 && year.len == 4 && wo_number_u64(&day_word, 31, &day) == WO_OK;
  if (!is_date) return WO_MONITOR_MISSING;
  snprintf(date, sizeof date, "%.4s-%02u-%02u %.8s", year.ptr, (unsigned)(at / 3 + 1), (unsigned)day, clock.ptr);
  return wo_monitor_time(wo_view_of(date));
}

bool wo_monitor_is_over(int *count) {
  return ++*count > WO_LIMIT_MONITOR_STRANGE_LINES;
}

/* ---- Sums ---- */

struct wo_monitor_sample wo_monitor_sample_of(int32_t gpu) {
  return (struct wo_monitor_sample){.gpu = gpu,
                                    .fb_bytes = WO_MONITOR_MISSING,
                                    .capacity_bytes = WO_MONITOR_MISSING,
                                    .sm_pct = WO_MONITOR_MISSING,
                                    .time_s = WO_MONITOR_MISSING};
}

/* One pass of least squares: five sums in place of the points, as a trace of weeks has millions of them. */
static void fit_add(struct fit *fit, double x, double y) {
  fit->count++;
  fit->x += x;
  fit->y += y;
  fit->xx += x * x;
  fit->xy += x * y;
}

/* Whether a line goes through the points: two of them must differ in x. */
static bool fit_slope(const struct fit *fit, double *ret_slope) {
  const double spread = fit->count * fit->xx - fit->x * fit->x;
  if (fit->count < 2 || spread <= 0) return false;
  *ret_slope = (fit->count * fit->xy - fit->x * fit->y) / spread;
  return true;
}

/* The sums of a card; new ones are made. NULL when there are too many cards. */
static struct card *find_card(struct sums *sums, const struct wo_pattern *pattern, int32_t gpu) {
  for (size_t i = 0; i < sums->card_count; i++) {
    if (sums->cards[i].gpu == gpu && sums->cards[i].pattern == pattern) return &sums->cards[i];
  }
  if (sums->card_count == WO_LIMIT_MONITORS) return NULL;
  struct card *monitor = &sums->cards[sums->card_count++];
  *monitor = (struct card){.pattern = pattern,
                           .gpu = gpu,
                           .fb_peak_bytes = WO_MONITOR_MISSING,
                           .capacity_bytes = WO_MONITOR_MISSING,
                           .time_first_s = WO_MONITOR_MISSING};
  return monitor;
}

static void keep_place(struct place *place, const struct wo_line *line) {
  const struct wo_view text = {place->text, line->full.len < sizeof place->text ? line->full.len : sizeof place->text};
  if (text.len > 0) memcpy(place->text, line->full.ptr, text.len);
  place->length = line->raw.len;
  place->line = (struct wo_line){.full = text,
                                 .text = text,
                                 .number = line->number,
                                 .offset = line->offset,
                                 .prefix = {.rank = line->prefix.rank, .time_ns = line->prefix.time_ns}};
}

/* Sums are taken of differences from the first sample: small numbers keep their last digits. */
static void add_memory(struct card *monitor, const struct wo_monitor_sample *sample) {
  if (monitor->by_sample.count == 0) monitor->fb_first_bytes = sample->fb_bytes;
  const double rise = sample->fb_bytes - monitor->fb_first_bytes;
  monitor->fb_last_bytes = sample->fb_bytes;
  fit_add(&monitor->by_sample, (double)(monitor->samples - 1), rise);
  if (sample->time_s < 0) return;
  if (monitor->time_first_s < 0) monitor->time_first_s = sample->time_s;
  fit_add(&monitor->by_second, sample->time_s - monitor->time_first_s, rise);
}

/* For pictures. */
static void keep_sample(const struct wo_open *open, const struct card *monitor, const struct wo_monitor_sample *sample) {
  const struct wo_curve_key key = {.source = open->pattern, .name = "used", .card = sample->gpu, .rank = -1};
  const struct wo_curve_point point = {.x = (double)monitor->samples, .at = sample->time_s, .bytes = sample->fb_bytes};
  if (open->store->curves != NULL) wo_curve_add(open->store->curves, key, point);
}

/* Two sizes without names are the memory in use and the card's total when the second one never changes, and when the card was not
 * half full at first: free memory would be. */
static void test_guess(struct card *monitor, const struct wo_monitor_sample *sample) {
  const bool is_first = !monitor->is_guessed;
  monitor->is_guessed = true;
  if (is_first && sample->fb_bytes >= sample->capacity_bytes / 2) monitor->is_refuted = true;
  if (!is_first && sample->capacity_bytes != monitor->capacity_bytes) monitor->is_refuted = true;
}

/* Only the memory has a slope; a row without it (dmon without -s m) still counts as a sample with its load. */
void wo_monitor_add(const struct wo_open *open, const struct wo_monitor_sample *sample, bool is_continued) {
  struct sums *const sums = wo_scan_follow(open->scan, &wo__monitor_follower);
  if (!sums) return;
  struct card *monitor = find_card(sums, open->pattern, sample->gpu);
  if (!monitor) {
    open->store->dropped++;
    return;
  }
  if (!is_continued || monitor->samples == 0) monitor->samples++;
  if (monitor->place.length == 0 || sample->fb_bytes > monitor->fb_peak_bytes) keep_place(&monitor->place, open->line);
  if (sample->is_guessed) test_guess(monitor, sample);
  if (sample->lack) monitor->lack = sample->lack;
  wo_trend_add(&monitor->trend, sample->fb_bytes, sample->sm_pct, sample->time_s, is_continued);
  /* The total does not change; a smaller figure was cut by a kill. */
  if (sample->capacity_bytes > monitor->capacity_bytes) monitor->capacity_bytes = sample->capacity_bytes;
  if (sample->sm_pct >= 0) {
    monitor->sm_count++;
    monitor->sm_sum += sample->sm_pct;
  }
  if (sample->fb_bytes < 0) return;
  add_memory(monitor, sample);
  keep_sample(open, monitor, sample);
  if (sample->fb_bytes > monitor->fb_peak_bytes) monitor->fb_peak_bytes = sample->fb_bytes;
}

/* ---- Processes ---- */

/* If another program gets the same id later, its name differs; a name that only begins alike was cut by a kill. */
static bool is_same_process(const struct process *process, const struct wo_pattern *pattern, const struct wo_monitor_use *use,
                            struct wo_view name) {
  const struct wo_view known = {process->name, process->name_len};
  const bool is_cut = use->pid > 0 && name.len > 0 && wo_view_equal(wo_view_sub(known, 0, name.len), name);
  return process->pattern == pattern && process->gpu == use->gpu && process->pid == use->pid &&
         (is_cut || wo_view_equal(known, name));
}

/* Few enough for a plain search. NULL when there are too many. */
static struct process *find_process(struct sums *sums, const struct wo_pattern *pattern, const struct wo_monitor_use *use) {
  const struct wo_view name = wo_view_sub(use->name, 0, WO_MONITOR_NAME_BYTES);
  for (size_t i = 0; i < sums->process_count; i++) {
    if (is_same_process(&sums->processes[i], pattern, use, name)) return &sums->processes[i];
  }
  if (sums->process_count == WO_LIMIT_MONITOR_PROCESSES) return NULL;
  struct process *const process = &sums->processes[sums->process_count++];
  *process = (struct process){
      .pattern = pattern, .gpu = use->gpu, .pid = use->pid, .peak_bytes = WO_MONITOR_MISSING, .name_len = name.len};
  if (name.len > 0) memcpy(process->name, name.ptr, name.len);
  return process;
}

void wo_monitor_add_process(const struct wo_open *open, const struct wo_monitor_use *use) {
  struct sums *const sums = wo_scan_follow(open->scan, &wo__monitor_follower);
  if (!sums) return;
  struct process *const process = find_process(sums, open->pattern, use);
  if (!process) {
    open->store->dropped++;
    return;
  }
  process->samples++;
  if (process->samples > 1 && use->bytes <= process->peak_bytes) return;
  process->peak_bytes = use->bytes;
  keep_place(&process->place, open->line);
  process->place.line.prefix.time_ns = WO_TIME_UNKNOWN; /* the time of the peak is not the time at which it ran */
}

/* ---- Evidence ---- */

static void set(struct wo_scan *scan, struct wo_event *event, enum wo_field_id id, double value) {
  wo_event_set_exact(wo_scan_store(scan), event, id, value);
}

/* Fields from the course of the card over time. A slope keeps its interval: the analyzer asks whether zero is in it. */
static void set_trend(struct wo_scan *scan, struct wo_event *event, const struct wo_trend *trend) {
  struct wo_event_store *const store = wo_scan_store(scan);
  const struct wo_trend_span span = wo_trend_active(trend);
  struct wo_interval slope = {0, 0, 0};
  double mean = 0;
  double idle = 0;
  double rise = 0;
  if (wo_trend_load(trend, span, &mean, &idle)) {
    set(scan, event, WO_FIELD_IDLE_PCT, wo_trend_rounded(idle, 1000));
    if (trend->has_fb) set(scan, event, WO_FIELD_SM_ACTIVE_MEAN_PCT, wo_trend_rounded(mean, 1000));
  }
  if (wo_trend_slope(trend, span, true, &slope))
    wo_event_set_number(store, event, WO_FIELD_FB_TREND_BYTES_PER_S, wo_trend_whole(slope));
  if (wo_trend_slope(trend, span, false, &slope))
    wo_event_set_number(store, event, WO_FIELD_FB_TREND_BYTES_PER_SAMPLE, wo_trend_whole(slope));
  if (wo_trend_late_rise(trend, span, &rise)) set(scan, event, WO_FIELD_FB_LATE_RISE_BYTES, wo_trend_rounded(rise, 1));
  double samples = 0;
  for (size_t i = span.first; i < span.end; i++) samples += trend->points[i].samples;
  set(scan, event, WO_FIELD_ACTIVE_SAMPLES, samples);
}

/* Sums over the whole trace, idle times included. */
static void set_sums(struct wo_scan *scan, struct wo_event *event, const struct card *monitor) {
  double slope = 0;
  set(scan, event, WO_FIELD_SAMPLES, (double)monitor->samples);
  if (monitor->capacity_bytes >= 0) set(scan, event, WO_FIELD_CAPACITY_BYTES, monitor->capacity_bytes);
  if (monitor->sm_count > 0) set(scan, event, WO_FIELD_SM_MEAN_PCT, wo_trend_rounded(monitor->sm_sum / monitor->sm_count, 1000));
  if (monitor->fb_peak_bytes < 0) return;
  set(scan, event, WO_FIELD_FB_PEAK_BYTES, monitor->fb_peak_bytes);
  set(scan, event, WO_FIELD_FB_LAST_BYTES, monitor->fb_last_bytes);
  if (fit_slope(&monitor->by_second, &slope)) set(scan, event, WO_FIELD_FB_SLOPE_BYTES_PER_S, wo_trend_rounded(slope, 1));
  if (fit_slope(&monitor->by_sample, &slope)) set(scan, event, WO_FIELD_FB_SLOPE_BYTES_PER_SAMPLE, wo_trend_rounded(slope, 1));
}

/* A trace is never quoted, because the words before its line say nothing about its figures. */
static struct wo_event *add_event(struct wo_scan *scan, const struct wo_pattern *pattern, enum wo_kind kind,
                                  const struct place *place) {
  struct wo_event *const event = wo_scan_add_event(scan, &place->line, pattern, kind, 0, place->length);
  if (event) event->is_quoted = false;
  return event;
}

/* Columns without names that fit no card, or only one row, which does not show which column stays the same. */
static bool is_unclear(const struct card *monitor) {
  return monitor->is_guessed && (monitor->is_refuted || monitor->samples < 2);
}

static void emit(struct wo_scan *scan, const struct card *monitor) {
  const enum wo_kind kind = is_unclear(monitor) ? WO_KIND_NOTE : WO_KIND_MONITOR;
  struct wo_event *const event = add_event(scan, monitor->pattern, kind, &monitor->place);
  if (!event) return;
  if (kind == WO_KIND_NOTE) {
    wo_event_set_text(wo_scan_store(scan), event, WO_FIELD_MESSAGE,
                      WO_VIEW("a trace without a header: which column is the memory in use cannot be told, so it is not read"));
    return;
  }
  set(scan, event, WO_FIELD_GPU, monitor->gpu);
  set_sums(scan, event, monitor);
  set_trend(scan, event, &monitor->trend);
  if (monitor->lack && monitor->fb_peak_bytes < 0) {
    wo_event_set_text(wo_scan_store(scan), event, WO_FIELD_MESSAGE, wo_view_of(monitor->lack));
  }
}

static void emit_process(struct wo_scan *scan, const struct process *process) {
  struct wo_event *const event = add_event(scan, process->pattern, WO_KIND_GPU_PROCESS, &process->place);
  if (!event) return;
  if (process->gpu >= 0) set(scan, event, WO_FIELD_GPU, process->gpu);
  if (process->pid > 0) set(scan, event, WO_FIELD_PID, (double)process->pid);
  if (process->name_len > 0) {
    wo_event_set_text(wo_scan_store(scan), event, WO_FIELD_NAME, (struct wo_view){process->name, process->name_len});
  }
  set(scan, event, WO_FIELD_SAMPLES, (double)process->samples);
  if (process->peak_bytes >= 0) set(scan, event, WO_FIELD_PEAK_BYTES, process->peak_bytes);
}

static void emit_all(struct wo_scan *scan, void *state) {
  const struct sums *const sums = state;
  for (size_t i = 0; i < sums->card_count; i++) emit(scan, &sums->cards[i]);
  for (size_t i = 0; i < sums->process_count; i++) emit_process(scan, &sums->processes[i]);
}

/* ---- Going on another time ---- */

#define TIME_MOST_NS (INT64_MAX / 4)

static void keep_figure(struct wo_keep *keep, double *figure) {
  wo_keep_double(keep, figure, WO_MONITOR_MISSING, 1e16);
}

/* The line of a place has its texts in the place itself. */
static void keep_shown(struct place *place, struct wo_keep *keep) {
  struct wo_line *const line = &place->line;
  size_t len = line->full.len;
  wo_keep_size(keep, &place->length, UINT32_MAX);
  wo_keep_size(keep, &len, sizeof place->text);
  wo_keep_bytes(keep, place->text, len);
  wo_keep_number(keep, &line->number, UINT64_MAX);
  wo_keep_number(keep, &line->offset, UINT64_MAX / 4);
  wo_keep_int(keep, &line->prefix.rank, WO_RANK_UNKNOWN, INT32_MAX);
  bool has_time = line->prefix.time_ns != WO_TIME_UNKNOWN;
  wo_keep_flag(keep, &has_time);
  if (has_time) wo_keep_signed(keep, &line->prefix.time_ns, -TIME_MOST_NS, TIME_MOST_NS);
  if (!wo_keep_is_reading(keep)) return;
  if (!has_time) line->prefix.time_ns = WO_TIME_UNKNOWN;
  line->full = line->text = (struct wo_view){place->text, len};
}

static void keep_fit(struct fit *fit, struct wo_keep *keep) {
  wo_keep_count(keep, &fit->count, WO_TREND_SUM_MOST);
  wo_keep_double(keep, &fit->x, -WO_TREND_SUM_MOST, WO_TREND_SUM_MOST);
  wo_keep_double(keep, &fit->y, -WO_TREND_SUM_MOST, WO_TREND_SUM_MOST);
  wo_keep_double(keep, &fit->xx, 0, WO_TREND_SUM_MOST);
  wo_keep_double(keep, &fit->xy, -WO_TREND_SUM_MOST, WO_TREND_SUM_MOST);
}

/* A trace that lacks something is not kept: its reason is a text of the program. */
static void keep_card(struct wo_scan *scan, struct card *card, struct wo_keep *keep) {
  if (card->lack) wo_keep_fail(keep);
  wo_scan_keep_pattern(scan, keep, &card->pattern);
  wo_keep_int(keep, &card->gpu, 0, WO_MONITOR_GPU_MAX);
  wo_keep_number(keep, &card->samples, UINT64_MAX);
  keep_figure(keep, &card->fb_first_bytes);
  keep_figure(keep, &card->fb_last_bytes);
  keep_figure(keep, &card->fb_peak_bytes);
  keep_figure(keep, &card->capacity_bytes);
  wo_keep_count(keep, &card->sm_count, WO_TREND_SUM_MOST);
  keep_figure(keep, &card->sm_sum);
  keep_figure(keep, &card->time_first_s);
  keep_fit(&card->by_sample, keep);
  keep_fit(&card->by_second, keep);
  wo_trend_keep(&card->trend, keep);
  wo_keep_flag(keep, &card->is_guessed);
  wo_keep_flag(keep, &card->is_refuted);
  keep_shown(&card->place, keep);
}

static void keep_process(struct wo_scan *scan, struct process *process, struct wo_keep *keep) {
  wo_scan_keep_pattern(scan, keep, &process->pattern);
  wo_keep_int(keep, &process->gpu, -1, WO_MONITOR_GPU_MAX);
  wo_keep_number(keep, &process->pid, UINT32_MAX);
  wo_keep_number(keep, &process->samples, UINT64_MAX);
  keep_figure(keep, &process->peak_bytes);
  keep_shown(&process->place, keep);
  wo_keep_size(keep, &process->name_len, sizeof process->name);
  wo_keep_bytes(keep, process->name, process->name_len);
}

static void keep_sums(struct wo_scan *scan, void *state, struct wo_keep *keep) {
  struct sums *const sums = state;
  wo_keep_size(keep, &sums->card_count, WO_LIMIT_MONITORS);
  wo_keep_size(keep, &sums->process_count, WO_LIMIT_MONITOR_PROCESSES);
  for (size_t i = 0; i < sums->card_count && !keep->is_bad; i++) keep_card(scan, &sums->cards[i], keep);
  for (size_t i = 0; i < sums->process_count && !keep->is_bad; i++) keep_process(scan, &sums->processes[i], keep);
}

const struct wo_follower wo__monitor_follower = {.state_bytes = sizeof(struct sums), .emit = emit_all, .keep = keep_sums};
