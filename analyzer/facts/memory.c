/* Arithmetic on the figures of a memory failure: which process holds which part of the GPU memory, and whether the figures
 * contradict each other.
 *
 * All results keep rounding intervals: "17.66 GiB" is ±0.005 GiB, and a difference of two such figures is ±0.01. */
#include <assert.h>

#include "analyzer/facts/facts_internal.h"
#include "parsers/base/units.h"

/* Memory of a process outside PyTorch's pool: context, kernels, library workspaces. Observed: from 0.25 GiB (small context) to
 * about 2 GiB (NCCL with many channels, several libraries). */
#define CONTEXT_LO (0.25 * WO_GIB)
#define CONTEXT_MID (0.6 * WO_GIB)
#define CONTEXT_HI (2.0 * WO_GIB)

/* A figure that exceeds the capacity by less than this share is no contradiction: rounding, or a reserve of the driver. */
#define CONTRADICTION_SHARE 0.01

static struct wo_figure read_figure(const struct wo_event *event, enum wo_field_id id) {
  struct wo_figure figure = wo_figure_of(event, id);
  if (figure.value.lo < 0) figure.value.lo = 0; /* "0.00 GiB" is at least nothing */
  return figure;
}

/* The difference is at least 0: figures are printed at slightly different moments and may overlap by a few MiB. */
static struct wo_figure minus(struct wo_figure a, struct wo_figure b) {
  if (!a.is_known || !b.is_known) return (struct wo_figure){false, {0, 0, 0}};
  struct wo_interval d = wo_interval_minus(a.value, b.value);
  if (d.lo < 0) d.lo = 0;
  if (d.mid < d.lo) d.mid = d.lo;
  if (d.hi < d.mid) d.hi = d.mid;
  return (struct wo_figure){true, d};
}

/* Unknown if either is: half a sum would look like the whole. */
static struct wo_figure plus(struct wo_figure a, struct wo_figure b) {
  if (!a.is_known || !b.is_known) return (struct wo_figure){false, {0, 0, 0}};
  return (struct wo_figure){true, wo_interval_plus(a.value, b.value)};
}

/* All figures of one message, printed and computed. */
struct card {
  struct wo_figure tried, capacity, free, allocated, unallocated, reserved, process, listed, other, non_pytorch, unaccounted;
};

/* Versions of PyTorch print different parts of the pool; the rest is computed. */
static void read_pool(const struct wo_event *event, struct card *card) {
  const struct wo_figure cached = read_figure(event, WO_FIELD_CACHED_BYTES);
  card->allocated = read_figure(event, WO_FIELD_ALLOCATED_BYTES);
  card->unallocated = read_figure(event, WO_FIELD_RESERVED_UNALLOCATED_BYTES);
  card->reserved = read_figure(event, WO_FIELD_RESERVED_BYTES);
  if (!card->unallocated.is_known && cached.is_known) card->unallocated = cached;
  if (!card->unallocated.is_known) card->unallocated = minus(card->reserved, card->allocated);
  if (!card->reserved.is_known) card->reserved = plus(card->allocated, card->unallocated);
}

/* Whether the listed process is the own one. In a container its pid does not match, so it is listed as another: one process,
 * about as large as the pool, or so large that the card cannot hold both it and the pool. */
static bool is_own_listed(const struct wo_event *event, const struct card *card) {
  const struct wo_figure pool = card->reserved.is_known ? card->reserved : card->allocated;
  if (card->process.is_known || !card->listed.is_known || !pool.is_known) return false;
  if (wo_event_number(event, WO_FIELD_OTHER_PROCESS_COUNT, 0) > 1) return false;
  const double rest = card->listed.value.mid - pool.value.mid;
  if (rest >= 0 && card->capacity.is_known && card->listed.value.lo + pool.value.lo > card->capacity.value.hi) return true;
  if (!card->reserved.is_known) return false;
  return rest > -0.05 * WO_GIB && rest <= CONTEXT_HI + 0.5 * WO_GIB;
}

/* Memory of no listed process when only the pool is known: the context of the own process is subtracted. */
static struct wo_figure rest_beside_pool(const struct card *card) {
  const struct wo_figure rest = minus(minus(card->capacity, card->free), card->reserved);
  if (!rest.is_known) return rest;
  const struct wo_figure context = {true, {CONTEXT_LO, CONTEXT_MID, CONTEXT_HI}};
  return minus(rest, context);
}

/* Where the driver does not count memory by process (WSL, virtual GPUs) PyTorch prints 0 bytes for a process whose pool is full.
 */
static bool is_process_uncounted(const struct card *card) {
  return card->process.is_known && card->process.value.hi <= 0 && card->allocated.is_known && card->allocated.value.lo > 0;
}

/* With the figure of the own process, which newer versions of PyTorch print, all parts are known. With only a list of others,
 * these are the listed ones. With neither, the others hold the rest outside the pool, less a usual context. */
static void read_processes(const struct wo_event *event, struct card *card) {
  const struct wo_figure none = {true, {0, 0, 0}};
  card->process = read_figure(event, WO_FIELD_PROCESS_BYTES);
  if (is_process_uncounted(card)) card->process = (struct wo_figure){false, {0, 0, 0}};
  card->listed = read_figure(event, WO_FIELD_OTHER_PROCESS_BYTES);
  if (is_own_listed(event, card)) {
    card->process = card->listed;
    card->listed = none;
  }
  if (card->process.is_known) {
    if (!card->listed.is_known) card->listed = none;
    card->non_pytorch = minus(card->process, card->reserved);
    card->unaccounted = minus(minus(minus(card->capacity, card->free), card->process), card->listed);
    card->other = card->unaccounted.is_known ? plus(card->listed, card->unaccounted) : card->listed;
  } else if (card->listed.is_known) {
    card->other = card->listed;
  } else {
    card->other = rest_beside_pool(card);
    card->unaccounted = minus(minus(card->capacity, card->free), card->reserved);
  }
}

/* PyTorch prints all figures in one message, so they belong to one moment and can be added. */
static void read_card(const struct wo_event *event, struct card *card) {
  *card = (struct card){.tried = read_figure(event, WO_FIELD_TRIED_BYTES),
                        .capacity = read_figure(event, WO_FIELD_CAPACITY_BYTES),
                        .free = read_figure(event, WO_FIELD_FREE_BYTES)};
  read_pool(event, card);
  read_processes(event, card);
}

/* A contradiction between the figures, in words; empty when they agree. */
static struct wo_view find_contradiction(struct wo_arena *arena, const struct card *card) {
  if (!card->capacity.is_known) return (struct wo_view){0};
  const double room = card->capacity.value.hi * (1 + CONTRADICTION_SHARE);
  const struct {
    const char *what;
    struct wo_figure figure;
  } rows[] = {
      {"allocated", card->allocated},
      {"reserved", card->reserved},
      {"in use by this process", card->process},
      {"free", card->free},
      {"allocated and free together", plus(card->allocated, card->free)},
      {"in use by the listed processes and free together", plus(plus(card->process, card->listed), card->free)},
  };
  const char *const capacity = WO_BYTES_TEXT(card->capacity.value.mid);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (!rows[i].figure.is_known || rows[i].figure.value.lo <= room) continue;
    return wo_arena_format(arena, "%s %s cannot fit in a card of %s", WO_BYTES_TEXT(rows[i].figure.value.mid), rows[i].what,
                           capacity);
  }
  return (struct wo_view){0};
}

static void set_field(struct wo_facts *facts, const char *name, const struct wo_event *event, enum wo_field_id id) {
  wo__set_figure(facts, name, read_figure(event, id), event->id);
}

/* Printed figures are set even if they contradict each other. */
static void set_card(struct wo_facts *facts, const struct card *card, wo_event_id id) {
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
static void set_shortfall(struct wo_facts *facts, const struct card *card, wo_event_id id) {
  if (!card->tried.is_known || !card->free.is_known || !card->unallocated.is_known) return;
  const double hi = card->tried.value.mid - card->free.value.mid;
  const double lo = hi - card->unallocated.value.mid;
  if (lo <= 0) return;
  wo_facts_set(facts, "oom.short", wo_value_number(WO_UNIT_BYTES, (struct wo_interval){lo, (lo + hi) / 2, hi}), id);
}

/* Figures that come from sums; not set when the printed figures contradict each other. */
static void set_sums(struct wo_facts *facts, const struct card *card, wo_event_id id) {
  wo__set_figure(facts, "oom.non_pytorch", card->non_pytorch, id);
  wo__set_figure(facts, "oom.other_processes", card->other, id);
  wo__set_figure(facts, "oom.other_processes_listed", card->listed, id);
  wo__set_figure(facts, "oom.unaccounted", card->unaccounted, id);
}

struct wo_value wo__facts_figure(const struct wo_event *event, struct wo_view figure) {
  struct card card;
  read_card(event, &card);
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
    struct card card;
    read_card(event, &card);
    const struct wo_figure figure = wants_unallocated ? card.unallocated : card.allocated;
    if (!figure.is_known) continue;
    if (!first.is_known) first = figure;
    last = figure;
  }
  if (first.is_known && last.value.mid > first.value.mid) wo__set_figure(facts, name, minus(last, first), failure->id);
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
  struct card card;
  read_card(event, &card);
  set_card(facts, &card, event->id);
  const struct wo_view contradiction = find_contradiction(facts->arena, &card);
  if (contradiction.len > 0) {
    wo_facts_set(facts, "oom.contradiction", wo_value_text(contradiction), event->id);
  } else {
    set_sums(facts, &card, event->id);
    set_shortfall(facts, &card, event->id);
  }
  set_field(facts, "oom.private_pool", event, WO_FIELD_PRIVATE_POOL_BYTES);
  set_field(facts, "oom.allowed", event, WO_FIELD_ALLOWED_BYTES);
  set_field(facts, "oom.needed", event, WO_FIELD_NEEDED_BYTES);
  set_field(facts, "oom.available", event, WO_FIELD_AVAILABLE_BYTES);
  set_growth(facts, "oom.reserved_unallocated_growth", event, true);
  set_growth(facts, "oom.allocated_growth", event, false);
}
