/* SPDX-License-Identifier: Apache-2.0 */
/* Facts on the memory of the card that the failure is about: the figures that are printed and computed, the division of the card,
 * and what decided (analyzer/card). */
#include "analyzer/card/division.h"
#include "analyzer/facts/facts_internal.h"
#include "analyzer/facts/monitors.h"

/* Shares of a card in use above which it is full, and below which it is empty. */
#define SHOWN_FULL 0.9
#define SHOWN_EMPTY 0.1

/* "0.00 GiB" is at least nothing. */
static void set_size(struct wo_facts *facts, const char *name, const struct wo_event *event, enum wo_field_id id) {
  wo__set_figure(facts, name, wo_figure_size_of(event, id), event->id);
}

/* Printed figures are set even if they contradict each other. Those of the pool stand in the line `pool`. */
static void set_card(struct wo_facts *facts, const struct wo_card *card, wo_event_id id, wo_event_id pool) {
  wo__set_figure(facts, "oom.tried", card->tried, id);
  wo__set_figure(facts, "oom.capacity", card->capacity, id);
  wo__set_figure(facts, "gpu.capacity", card->capacity, id);
  wo__set_figure(facts, "oom.free", card->free, id);
  wo__set_figure(facts, "oom.allocated", card->allocated, pool);
  wo__set_figure(facts, "oom.reserved", card->reserved, pool);
  wo__set_figure(facts, "oom.reserved_unallocated", card->unallocated, pool);
  wo__set_figure(facts, "oom.process", card->process, id);
}

/* How many bytes the request lacked: at least, if every gap between tensors could be used; at most, if none could. */
static void set_shortfall(struct wo_facts *facts, const struct wo_card *card, wo_event_id id) {
  if (!card->tried.is_known || !card->free.is_known || !card->unallocated.is_known) return;
  const double hi = card->tried.value.mid - card->free.value.mid;
  const double lo = hi - card->unallocated.value.mid;
  if (lo <= 0) return;
  wo_facts_set(facts, "oom.short", wo_value_number(WO_UNIT_BYTES, (struct wo_interval){lo, (lo + hi) / 2, hi}), id);
}

/* Figures that come from sums; not set when the printed figures contradict each other. */
static void set_sums(struct wo_facts *facts, const struct wo_card *card, wo_event_id id) {
  wo__set_figure(facts, "oom.non_pytorch", card->non_pytorch, id);
  wo__set_figure(facts, "oom.other_processes", card->other, id);
  wo__set_figure(facts, "oom.other_processes_listed", card->listed, id);
  wo__set_figure(facts, "oom.unaccounted", card->unaccounted, id);
}

/* ---- The division ---- */

static void set_truth(struct wo_facts *facts, const char *name, enum wo_truth truth, wo_event_id id) {
  if (truth != WO_UNDECIDED) wo_facts_set(facts, name, wo_value_bool(truth), id);
}

/* The facts of a part: "part.idle", "part.idle.would_serve", "part.idle.would_fit". */
static void set_part(struct wo_facts *facts, const struct wo_division *division, enum wo_holder part, wo_event_id id) {
  char name[64];
  const int len = snprintf(name, sizeof name, "%s", wo_holder_fact(part));
  wo__set_figure(facts, name, division->parts[part], id);
  if (part == WO_HOLDER_FREE || part == WO_HOLDER_UNKNOWN) return;
  snprintf(name + len, sizeof name - (size_t)len, ".would_serve");
  set_truth(facts, name, division->would_serve[part], id);
  if (part == WO_HOLDER_TENSORS) return;
  snprintf(name + len, sizeof name - (size_t)len, ".would_fit");
  set_truth(facts, name, division->would_fit[part], id);
}

static void set_division(struct wo_facts *facts, const struct wo_card *card, wo_event_id id) {
  struct wo_division division;
  const struct wo_view phase = wo__facts_value(facts, WO_VIEW("oom.phase")).text;
  wo_division_make(card, wo_view_is(phase, "load") || wo_view_is(phase, "startup"), &division);
  for (size_t i = 0; i < WO_HOLDER_COUNT_; i++) set_part(facts, &division, (enum wo_holder)i, id);
  wo__set_figure(facts, "part.total", division.total, id);
  wo__set_figure(facts, "part.need", division.need, id);
  wo__set_text(facts, "part.dominant", division.dominant, id);
  if (division.need.is_known) wo__set_number(facts, "part.allowance", division.allowance, id);
}

struct wo_value wo__facts_figure(const struct wo_event *event, struct wo_view figure) {
  struct wo_card card;
  wo_card_read(event, &card);
  const struct {
    const char *name;
    struct wo_figure figure;
  } rows[] = {
      {"tried", card.tried},         {"capacity", card.capacity}, {"free", card.free},
      {"allocated", card.allocated}, {"reserved", card.reserved}, {"reserved_unallocated", card.unallocated},
      {"process", card.process},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (!wo_view_is(figure, rows[i].name) || !rows[i].figure.is_known) continue;
    struct wo_value value = wo_value_number(WO_UNIT_BYTES, rows[i].figure.value);
    value.evidence = event->id;
    return value;
  }
  return wo_value_unknown(WO_UNIT_BYTES);
}

/* Rise of a figure from the first to the last message of the failing rank. */
static void set_growth(struct wo_facts *facts, const char *name, const struct wo_event *failure, bool wants_unallocated) {
  struct wo_figure first = {false, {0, 0, 0}};
  struct wo_figure last = first;
  wo_each_event (event, &facts->job->events) {
    if (event->kind != failure->kind || event->is_quoted || event->rank != failure->rank) continue;
    struct wo_card card;
    wo_card_read(event, &card);
    const struct wo_figure figure = wants_unallocated ? card.unallocated : card.allocated;
    if (!figure.is_known) continue;
    if (!first.is_known) first = figure;
    last = figure;
  }
  if (first.is_known && last.value.mid > first.value.mid) wo__set_figure(facts, name, wo_figure_minus(last, first), failure->id);
}

/* ---- The table of torch.cuda.memory_summary() ---- */

/* The index of the card that failed, as the process sees it; negative where no line names it. */
static double gpu_of(const struct wo_facts *facts) {
  const struct wo_value gpu = wo__facts_value(facts, WO_VIEW("oom.gpu"));
  return gpu.is_known ? gpu.number.mid : -1;
}

/* Whether a table may be of the failing card. Where the failure names none, only a card that was in use can have failed. */
static bool is_table_of(const struct wo_event *event, double gpu) {
  if (event->kind != WO_KIND_MEMORY_USE || event->mark != WO_MARK_ALLOCATOR_SUMMARY) return false;
  if (gpu >= 0) return wo_event_number(event, WO_FIELD_GPU, gpu) == gpu;
  return wo_event_number(event, WO_FIELD_PEAK_BYTES, 1) > 0;
}

/* The last table is used: its counts cover the whole run until then. */
static const struct wo_event *find_table(const struct wo_facts *facts) {
  const double gpu = gpu_of(facts);
  const struct wo_event *last = NULL;
  wo_each_event (event, &facts->job->events) {
    if (is_table_of(event, gpu)) last = event;
  }
  return last;
}

static void set_table(struct wo_facts *facts, const struct wo_event *table) {
  wo__set_field(facts, "summary.allocated_peak", table, WO_FIELD_PEAK_BYTES);
  wo__set_field(facts, "summary.reserved_peak", table, WO_FIELD_PEAK_RESERVED_BYTES);
  wo__set_field(facts, "summary.reserved", table, WO_FIELD_RESERVED_BYTES);
  wo__set_field(facts, "summary.allocated", table, WO_FIELD_ALLOCATED_BYTES);
  wo__set_field(facts, "summary.active", table, WO_FIELD_ACTIVE_BYTES);
  wo__set_field(facts, "summary.non_releasable", table, WO_FIELD_NON_RELEASABLE_BYTES);
  wo__set_field(facts, "summary.oom_count", table, WO_FIELD_OOM_COUNT);
  wo__set_field(facts, "summary.retries", table, WO_FIELD_RETRY_COUNT);
}

/* Reads the card of the failure, with what a table below it adds. Returns the event that tells of the pool. */
static wo_event_id read_card(struct wo_facts *facts, const struct wo_event *failure, const struct wo_event *table,
                             struct wo_card *ret_card) {
  wo_card_read(failure, ret_card);
  if (!table || table->span.file != failure->span.file || table->span.line < failure->span.line) return failure->id;
  const struct wo_figure peak = wo_figure_of(table, WO_FIELD_PEAK_BYTES);
  wo__set_figure(facts, "summary.given_back", wo_figure_minus(peak, wo_figure_of(table, WO_FIELD_ALLOCATED_BYTES)), table->id);
  return wo_card_add_table(ret_card, table) ? table->id : failure->id;
}

/* ---- Beside the message ---- */

/* Adds a buffer of the card to the sum; buffers of other cards do not count where the failure names its card. */
static void add_buffer(struct wo_figure *sum, const struct wo_event *event, double gpu) {
  const struct wo_figure bytes = wo_figure_size_of(event, WO_FIELD_USED_BYTES);
  if (!bytes.is_known || (gpu >= 0 && wo_event_number(event, WO_FIELD_GPU, gpu) != gpu)) return;
  *sum = sum->is_known ? wo_figure_plus(*sum, bytes) : bytes;
}

/* An engine's account of its memory: the last word on each part. */
static void read_account(struct wo_facts *facts, const struct wo_event *event) {
  wo__set_field(facts, "engine.weights", event, WO_FIELD_USED_BYTES);
  wo__set_field(facts, "engine.non_torch", event, WO_FIELD_NON_TORCH_BYTES);
  wo__set_field(facts, "engine.activation_peak", event, WO_FIELD_ACTIVATION_BYTES);
  wo__set_field(facts, "engine.kv_cache", event, WO_FIELD_AVAILABLE_BYTES);
  wo__set_field(facts, "engine.kv_tokens", event, WO_FIELD_KV_TOKENS);
  wo__set_field(facts, "engine.concurrency", event, WO_FIELD_CONCURRENCY);
}

/* What programs print of their card besides a failure. Only lines above the failure count. */
static void read_prints(struct wo_facts *facts, const struct wo_event *failure) {
  const double gpu = gpu_of(facts);
  struct wo_figure held = {.is_known = false};
  wo_each_event (event, &facts->job->events) {
    if (event->kind != WO_KIND_MEMORY_USE || event->is_quoted || !wo__is_of_this_end(facts->job, event)) continue;
    if (event->span.file == failure->span.file && event->span.line > failure->span.line) continue;
    if (event->mark == WO_MARK_ENGINE) read_account(facts, event);
    if (event->mark == WO_MARK_ENGINE_BUFFER) add_buffer(&held, event, gpu);
    if (event->mark != WO_MARK_DEVICE_START || (gpu >= 0 && wo_event_number(event, WO_FIELD_GPU, gpu) != gpu)) continue;
    wo__set_field(facts, "start.free", event, WO_FIELD_FREE_BYTES);
    wo__set_field(facts, "start.total", event, WO_FIELD_CAPACITY_BYTES);
  }
  wo__set_figure(facts, "engine.held", held, failure->id);
}

/* The number that a monitor gives the card: the process may see only some of the cards. Negative where that cannot be told. */
static double shown_index(const struct wo_facts *facts) {
  const double gpu = gpu_of(facts);
  const double wanted = gpu < 0 ? 0 : gpu;
  struct wo_view visible = wo__facts_value(facts, WO_VIEW("config.visible_devices")).text;
  if (visible.len == 0) return wanted;
  for (double at = 0; visible.len > 0; at++) {
    struct wo_view word = wo_view_trim(wo_view_cut(&visible, ','));
    uint64_t number = 0;
    if (wo_number_u64(&word, 1024, &number) != WO_OK || word.len > 0) return -1;
    if (at == wanted) return (double)number;
  }
  return -1;
}

static bool is_shown(const struct wo_card_trace *row) {
  return row->samples == 1 && row->fb_last_bytes.is_known && row->capacity_bytes.is_known && row->capacity_bytes.value.mid > 0;
}

/* The file whose table counts: that of the failure, else the first with one. Negative without any. */
static int64_t shown_file(const struct wo_facts *facts, const struct wo_event *failure) {
  int64_t first = -1;
  for (size_t i = facts->monitor_count; i-- > 0;) {
    if (!is_shown(&facts->monitors[i])) continue;
    if (facts->monitors[i].file == failure->span.file) return failure->span.file;
    first = facts->monitors[i].file;
  }
  return first;
}

/* A table that a monitor printed once: the card of the failure in it, and how full all cards are. */
static void read_shown(struct wo_facts *facts, const struct wo_event *failure) {
  const int64_t file = shown_file(facts, failure);
  const double index = shown_index(facts);
  double cards = 0, full = 0, empty = 0;
  for (size_t i = 0; i < facts->monitor_count; i++) {
    const struct wo_card_trace *const row = &facts->monitors[i];
    if (row->file != file || !is_shown(row)) continue;
    const double share = row->fb_last_bytes.value.mid / row->capacity_bytes.value.mid;
    cards++;
    full += share > SHOWN_FULL;
    empty += share < SHOWN_EMPTY;
    if (row->gpu != index) continue;
    wo__set_figure(facts, "shown.used", row->fb_last_bytes, row->evidence);
    wo__set_figure(facts, "shown.total", row->capacity_bytes, row->evidence);
  }
  if (cards == 0) return;
  wo__set_number(facts, "shown.cards", cards, failure->id);
  wo__set_number(facts, "shown.full_cards", full, failure->id);
  wo__set_number(facts, "shown.empty_cards", empty, failure->id);
}

void wo__facts_memory(struct wo_facts *facts) {
  const struct wo_event *event = wo__failure_of(facts);
  const struct wo_event *const table = find_table(facts);
  if (table) set_table(facts, table);
  /* A library that fails without a word of memory may have found the card full. */
  if (event) read_prints(facts, event);
  if (!event || wo_kind_class(event->kind) != WO_CLASS_GPU_MEMORY) return;
  read_shown(facts, event);
  struct wo_card card;
  const wo_event_id pool = read_card(facts, event, table, &card);
  set_card(facts, &card, event->id, pool);
  const struct wo_view contradiction = wo_card_contradiction(facts->arena, &card);
  if (contradiction.len > 0) {
    wo_facts_set(facts, "oom.contradiction", wo_value_text(contradiction), event->id);
  } else {
    set_sums(facts, &card, event->id);
    set_shortfall(facts, &card, event->id);
    set_division(facts, &card, event->id);
  }
  set_size(facts, "oom.private_pool", event, WO_FIELD_PRIVATE_POOL_BYTES);
  set_size(facts, "oom.allowed", event, WO_FIELD_ALLOWED_BYTES);
  set_size(facts, "oom.needed", event, WO_FIELD_NEEDED_BYTES);
  set_size(facts, "oom.available", event, WO_FIELD_AVAILABLE_BYTES);
  set_growth(facts, "oom.reserved_unallocated_growth", event, true);
  set_growth(facts, "oom.allocated_growth", event, false);
}
