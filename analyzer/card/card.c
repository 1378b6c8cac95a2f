/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on the figures of one memory message: which process holds which part of the GPU memory, and whether the figures
 * contradict each other. */
#include "analyzer/card/card.h"

#include "parsers/base/units.h"

/* A process outside its pool: the context grows with the number of multiprocessors, and so with the card; libraries and NCCL come
 * on top. Observed: 0.25 GiB for a small context; 0.6 GiB usually; up to 2 GiB on cards of 40 GiB and more. */
#define CONTEXT_LO (0.25 * WO_GIB)
#define CONTEXT_MID (0.6 * WO_GIB)
#define CONTEXT_HI (2.0 * WO_GIB)
#define CONTEXT_SHARE 0.04 /* of the card, beside CONTEXT_MID, up to CONTEXT_HI */

/* A figure that exceeds the capacity by less than this share is no contradiction: rounding, or a reserve of the driver. */
#define CONTRADICTION_SHARE 0.01

/* A rest below this share of the card is the driver's own, or of another moment: nobody is blamed for it. */
#define NOBODY_SHARE 0.01

struct wo_interval wo_card_context(struct wo_figure capacity) {
  double hi = CONTEXT_HI;
  if (capacity.is_known && CONTEXT_MID + CONTEXT_SHARE * capacity.value.mid < hi)
    hi = CONTEXT_MID + CONTEXT_SHARE * capacity.value.mid;
  return (struct wo_interval){CONTEXT_LO, CONTEXT_MID, hi};
}

/* Versions of PyTorch print different parts of the pool; the rest is computed. */
static void read_pool(const struct wo_event *event, struct wo_card *card) {
  const struct wo_figure cached = wo_figure_size_of(event, WO_FIELD_CACHED_BYTES);
  card->allocated = wo_figure_size_of(event, WO_FIELD_ALLOCATED_BYTES);
  card->unallocated = wo_figure_size_of(event, WO_FIELD_RESERVED_UNALLOCATED_BYTES);
  card->reserved = wo_figure_size_of(event, WO_FIELD_RESERVED_BYTES);
  if (!card->unallocated.is_known && cached.is_known) card->unallocated = cached;
  if (!card->unallocated.is_known) card->unallocated = wo_figure_settle(wo_figure_minus(card->reserved, card->allocated));
  if (!card->reserved.is_known) card->reserved = wo_figure_plus(card->allocated, card->unallocated);
}

/* Whether the listed process is the own one. In a container its pid does not match, so it is listed as another: one process,
 * about as large as the pool, or so large that the card cannot hold both it and the pool. */
static bool is_own_listed(const struct wo_event *event, const struct wo_card *card) {
  const struct wo_figure pool = card->reserved.is_known ? card->reserved : card->allocated;
  if (card->process.is_known || !card->listed.is_known || !pool.is_known) return false;
  if (wo_event_number(event, WO_FIELD_OTHER_PROCESS_COUNT, 0) > 1) return false;
  const double rest = card->listed.value.mid - pool.value.mid;
  if (rest >= 0 && card->capacity.is_known && card->listed.value.lo + pool.value.lo > card->capacity.value.hi) return true;
  if (!card->reserved.is_known) return false;
  return rest > -0.05 * WO_GIB && rest <= CONTEXT_HI + 0.5 * WO_GIB;
}

/* Memory of no listed process when only the pool is known: the context of the own process is subtracted. */
static struct wo_figure rest_beside_pool(const struct wo_card *card) {
  const struct wo_figure rest = wo_figure_minus(wo_figure_minus(card->capacity, card->free), card->reserved);
  const struct wo_figure context = {true, wo_card_context(card->capacity)};
  return wo_figure_minus(rest, context);
}

/* Where the driver does not count memory by process (WSL, virtual GPUs) PyTorch prints 0 bytes for a process whose pool is full.
 */
static bool is_process_uncounted(const struct wo_card *card) {
  return card->process.is_known && card->process.value.hi <= 0 && card->allocated.is_known && card->allocated.value.lo > 0;
}

/* Whether the own process is among several listed ones: in a container its pid does not match, and nobody but it can hold the
 * pool. */
static bool is_own_among(const struct wo_card *card, struct wo_figure used) {
  if (card->process.is_known || !card->listed.is_known || !card->reserved.is_known || !used.is_known) return false;
  return card->listed.value.lo + card->reserved.value.lo > used.value.hi + NOBODY_SHARE * card->capacity.value.mid;
}

/* The rest that is left when the own process and the listed ones are known belongs to somebody who is not listed; one below a
 * hundredth of the card, to nobody. */
static struct wo_figure add_unlisted(const struct wo_card *card) {
  const struct wo_figure rest = card->unaccounted;
  if (!rest.is_known || rest.value.mid < NOBODY_SHARE * card->capacity.value.mid) return card->listed;
  return wo_figure_plus(card->listed, rest);
}

/* With the figure of the own process, which newer versions of PyTorch print, all parts are known. With only a list of others,
 * these are the listed ones. With neither, the others hold the rest outside the pool, less a usual context. */
static void read_processes(const struct wo_event *event, struct wo_card *card) {
  const struct wo_figure none = {true, {0, 0, 0}};
  card->process = wo_figure_size_of(event, WO_FIELD_PROCESS_BYTES);
  if (is_process_uncounted(card)) card->process = (struct wo_figure){.is_known = false};
  card->listed = wo_figure_size_of(event, WO_FIELD_OTHER_PROCESS_BYTES);
  if (is_own_listed(event, card)) {
    card->process = card->listed;
    card->listed = none;
  }
  const struct wo_figure used = wo_figure_minus(card->capacity, card->free);
  if (is_own_among(card, used)) card->listed = (struct wo_figure){.is_known = false};
  if (card->process.is_known) {
    if (!card->listed.is_known) card->listed = none;
    card->non_pytorch = wo_figure_settle(wo_figure_minus(card->process, card->reserved));
    card->unaccounted = wo_figure_settle(wo_figure_minus(wo_figure_minus(used, card->process), card->listed));
    card->other = add_unlisted(card);
  } else {
    card->unaccounted = wo_figure_settle(wo_figure_minus(used, card->reserved));
    card->other = card->listed.is_known ? card->listed : rest_beside_pool(card);
  }
}

/* MPS counts itself what its process holds outside the pool, and prints the limit of the process in place of a card. */
static void read_mps(const struct wo_event *event, struct wo_card *card) {
  const struct wo_figure outside = wo_figure_size_of(event, WO_FIELD_MPS_OTHER_BYTES);
  if (event->kind != WO_KIND_MPS_OOM || !outside.is_known) return;
  card->non_pytorch = outside;
  card->process = wo_figure_plus(card->allocated, outside);
  card->free = wo_figure_minus(card->allowed, card->process);
}

void wo_card_read(const struct wo_event *event, struct wo_card *ret_card) {
  *ret_card = (struct wo_card){.tried = wo_figure_size_of(event, WO_FIELD_TRIED_BYTES),
                               .capacity = wo_figure_size_of(event, WO_FIELD_CAPACITY_BYTES),
                               .free = wo_figure_size_of(event, WO_FIELD_FREE_BYTES),
                               .allowed = wo_figure_size_of(event, WO_FIELD_ALLOWED_BYTES)};
  read_pool(event, ret_card);
  read_processes(event, ret_card);
  read_mps(event, ret_card);
}

/* From the present figure to the peak of a table; unknown where either is missing or the peak is nothing. */
static struct wo_figure up_to_peak(const struct wo_event *table, enum wo_field_id now, enum wo_field_id peak) {
  const struct wo_figure low = wo_figure_size_of(table, now);
  const struct wo_figure high = wo_figure_size_of(table, peak);
  if (!low.is_known || !high.is_known || high.value.mid <= 0 || low.value.lo > high.value.mid) return (struct wo_figure){0};
  return (struct wo_figure){true, {low.value.lo, high.value.mid, high.value.hi}};
}

bool wo_card_add_table(struct wo_card *card, const struct wo_event *table) {
  if (card->allocated.is_known || card->reserved.is_known || card->process.is_known) return false;
  card->allocated = up_to_peak(table, WO_FIELD_ALLOCATED_BYTES, WO_FIELD_PEAK_BYTES);
  card->reserved = up_to_peak(table, WO_FIELD_RESERVED_BYTES, WO_FIELD_PEAK_RESERVED_BYTES);
  card->unallocated = wo_figure_minus(card->reserved, card->allocated);
  return card->allocated.is_known;
}

struct wo_view wo_card_contradiction(struct wo_arena *arena, const struct wo_card *card) {
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
      {"allocated and free together", wo_figure_plus(card->allocated, card->free)},
      {"in use by the listed processes and free together",
       wo_figure_plus(wo_figure_plus(card->process, card->listed), card->free)},
  };
  const char *const capacity = WO_BYTES_TEXT(card->capacity.value.mid);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (!rows[i].figure.is_known || rows[i].figure.value.lo <= room) continue;
    return wo_arena_format(arena, "%s %s cannot fit in a card of %s", WO_BYTES_TEXT(rows[i].figure.value.mid), rows[i].what,
                           capacity);
  }
  return (struct wo_view){0};
}
