/* Facts on the memory of the card that the failure is about: the figures that are printed and computed, the division of the card,
 * and what decided (analyzer/card). */
#include "analyzer/card/division.h"
#include "analyzer/facts/facts_internal.h"

/* Steps, or epochs, after which the peak of a step is known. */
#define FIRST_STEPS 3
#define WHOLE_EPOCHS 1

/* "0.00 GiB" is at least nothing. */
static void set_size(struct wo_facts *facts, const char *name, const struct wo_event *event, enum wo_field_id id) {
  wo__set_figure(facts, name, wo_figure_size_of(event, id), event->id);
}

/* Printed figures are set even if they contradict each other. */
static void set_card(struct wo_facts *facts, const struct wo_card *card, wo_event_id id) {
  wo__set_figure(facts, "oom.tried", card->tried, id);
  wo__set_figure(facts, "oom.capacity", card->capacity, id);
  wo__set_figure(facts, "gpu.capacity", card->capacity, id);
  wo__set_figure(facts, "oom.free", card->free, id);
  wo__set_figure(facts, "oom.allocated", card->allocated, id);
  wo__set_figure(facts, "oom.reserved", card->reserved, id);
  wo__set_figure(facts, "oom.reserved_unallocated", card->unallocated, id);
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

/* How far the job had come before the failure. One epoch is many steps. */
static enum wo_progress progress_of(const struct wo_facts *facts) {
  const struct wo_view phase = wo__facts_value(facts, WO_VIEW("oom.phase")).text;
  const struct wo_value step = wo__facts_value(facts, WO_VIEW("oom.step"));
  const bool is_epoch = wo_view_is(wo__facts_value(facts, WO_VIEW("oom.step_unit")).text, "epoch");
  if (wo_view_is(phase, "load") || wo_view_is(phase, "startup")) return WO_PROGRESS_LOADING;
  if (!step.is_known) return WO_PROGRESS_UNKNOWN;
  return step.number.mid > (is_epoch ? WHOLE_EPOCHS : FIRST_STEPS) ? WO_PROGRESS_STEPPING : WO_PROGRESS_UNKNOWN;
}

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
  wo_division_make(card, progress_of(facts), &division);
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

/* The last table is used: its counts cover the whole run until then. */
static void read_summary(struct wo_facts *facts) {
  const struct wo_event *last = NULL;
  wo_each_event (event, &facts->job->events) {
    if (event->kind == WO_KIND_MEMORY_USE && event->mark == WO_MARK_ALLOCATOR_SUMMARY) last = event;
  }
  if (last == NULL) return;
  wo__set_field(facts, "summary.allocated_peak", last, WO_FIELD_PEAK_BYTES);
  wo__set_field(facts, "summary.reserved_peak", last, WO_FIELD_PEAK_RESERVED_BYTES);
  wo__set_field(facts, "summary.reserved", last, WO_FIELD_RESERVED_BYTES);
  wo__set_field(facts, "summary.allocated", last, WO_FIELD_ALLOCATED_BYTES);
  wo__set_field(facts, "summary.active", last, WO_FIELD_ACTIVE_BYTES);
  wo__set_field(facts, "summary.non_releasable", last, WO_FIELD_NON_RELEASABLE_BYTES);
  wo__set_field(facts, "summary.oom_count", last, WO_FIELD_OOM_COUNT);
  wo__set_field(facts, "summary.retries", last, WO_FIELD_RETRY_COUNT);
}

void wo__facts_memory(struct wo_facts *facts) {
  const struct wo_event *event = wo__failure_of(facts);
  read_summary(facts);
  if (!event || wo_kind_class(event->kind) != WO_CLASS_GPU_MEMORY) return;
  struct wo_card card;
  wo_card_read(event, &card);
  set_card(facts, &card, event->id);
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
