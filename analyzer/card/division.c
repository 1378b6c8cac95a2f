/* SPDX-License-Identifier: Apache-2.0 */
/* Divides the card of a memory failure, and asks of each part whether it decides. */
#include "analyzer/card/division.h"

#include "parsers/base/units.h"

/* Shares of the need (tensors and request) that must be left free after the request for a job that would fit. While weights are
 * loaded nobody knows how much is still to come: half as much again. Else activations or optimizer states may be still to come: a
 * quarter. */
#define ALLOWANCE_LOADING 0.5
#define ALLOWANCE 0.25

/* Idle memory that the best packing leaves all the same: requests are rounded up to 2 MiB, and the last part of a segment stays.
 * A share of what tensors hold, and at least five segments of 20 MiB that are partly in use. */
#define IDLE_RESIDUE 0.02
#define IDLE_RESIDUE_LEAST (0.1 * WO_GIB)

/* Idle memory would have helped when it could serve another request as large, or leaves this share of the need after the first
 * one; or when it serves the request alone, and is no small share of the need. Below that share it does not decide: every pool
 * keeps so much, and a job whose tensors fill the card would soon stand there again. */
#define IDLE_ALLOWANCE 0.10
#define IDLE_SHARE 0.08

/* A request of this share of the card is itself what does not fit. */
#define REQUEST_SHARE 0.5

/* Tensors decide when they and the request would fill this share of the card. */
#define TENSORS_SHARE 0.6

static const char *const facts[] = {
#define WO_HOLDER_FACT(code, name) [code] = name,
    WO_HOLDER_MAP(WO_HOLDER_FACT)
#undef WO_HOLDER_FACT
};

const char *wo_holder_fact(enum wo_holder part) {
  return facts[part];
}

/* The word for a part: its fact without the table's name. */
static struct wo_view word_of(enum wo_holder part) {
  return wo_view_of(facts[part] + sizeof "part." - 1);
}

/* Whether a >= b for all values in both intervals, for none, or it depends. */
static enum wo_truth is_at_least(struct wo_interval a, struct wo_interval b) {
  if (a.lo >= b.hi) return WO_TRUE;
  return a.hi < b.lo ? WO_FALSE : WO_UNDECIDED;
}

static struct wo_interval scaled(struct wo_interval value, double factor) {
  return (struct wo_interval){value.lo * factor, value.mid * factor, value.hi * factor};
}

/* Whether the limit is that of the process, not of a card (MPS): what it holds outside the pool then belongs to the same work. */
static bool is_of_process(const struct wo_card *card) {
  return !card->capacity.is_known && card->allowed.is_known && card->process.is_known;
}

/* The pool of a framework that dumps it is the whole that its requests come from: what its tensors do not use is idle. A cap
 * stands in for the card where no capacity is printed. */
static void read_parts(const struct wo_card *card, struct wo_division *division) {
  struct wo_figure *const parts = division->parts;
  const bool is_pool = !card->free.is_known && !card->reserved.is_known && card->capacity.is_known && card->allocated.is_known;
  const struct wo_figure none = {true, {0, 0, 0}};
  division->total = card->capacity.is_known ? card->capacity : card->allowed;
  division->request = card->tried;
  parts[WO_HOLDER_TENSORS] = card->allocated;
  parts[WO_HOLDER_IDLE] = is_pool ? wo_figure_minus(card->capacity, card->allocated) : card->unallocated;
  parts[WO_HOLDER_FREE] = is_pool ? none : card->free;
  parts[WO_HOLDER_NON_PYTORCH] = is_pool ? none : card->non_pytorch;
  parts[WO_HOLDER_OTHER_PROCESSES] = is_pool ? none : card->other;
  division->need = wo_figure_plus(card->allocated, card->tried);
  /* The process stands for its tensors where the pool's own figures are missing. */
  if (!division->need.is_known || is_of_process(card)) division->need = wo_figure_plus(card->process, card->tried);
}

/* What is left of the whole when every known part is taken off. Where others are only what a usual context leaves, the context is
 * part of it. */
static void read_unknown(const struct wo_card *card, struct wo_division *division) {
  struct wo_figure rest = division->total;
  for (size_t i = 0; i < WO_HOLDER_UNKNOWN; i++) {
    if (division->parts[i].is_known) rest = wo_figure_minus(rest, division->parts[i]);
  }
  const bool is_deduced = card->other.is_known && !card->process.is_known && !card->listed.is_known;
  if (is_deduced) rest = wo_figure_minus(card->unaccounted, card->other);
  division->parts[WO_HOLDER_UNKNOWN] = wo_figure_settle(rest);
}

static double middle(const struct wo_division *division, enum wo_holder part) {
  return division->parts[part].is_known ? division->parts[part].value.mid : 0;
}

/* The bytes of a part that the request could really use: not the context that every process needs, nor the gaps that the best
 * packing leaves. */
static struct wo_interval usable(const struct wo_division *division, enum wo_holder part) {
  const struct wo_figure held = division->parts[part];
  struct wo_figure kept = {true, {0, 0, 0}};
  if (part == WO_HOLDER_IDLE) {
    const double share = IDLE_RESIDUE * middle(division, WO_HOLDER_TENSORS);
    kept.value = wo_interval_exact(share > IDLE_RESIDUE_LEAST ? share : IDLE_RESIDUE_LEAST);
  }
  if (part == WO_HOLDER_NON_PYTORCH) kept.value = wo_card_context(division->total);
  return wo_figure_minus(held, kept).value;
}

/* What must be left after the request. */
static struct wo_interval wanted_after(const struct wo_division *division, enum wo_holder part) {
  const struct wo_interval request = division->request.value;
  if (part != WO_HOLDER_IDLE) return scaled(division->need.value, division->allowance);
  const struct wo_interval share = scaled(division->need.value, IDLE_ALLOWANCE);
  return share.mid < request.mid ? share : request;
}

/* Whether more lies idle than every pool keeps. */
static bool is_idle_unusual(const struct wo_division *division) {
  return division->need.is_known && middle(division, WO_HOLDER_IDLE) >= IDLE_SHARE * division->need.value.mid;
}

/* Whether idle memory serves the request without any help of free memory, and is no small share of the need: what the best
 * packing leaves taken off, or with so large a share that this may be left out. */
static bool is_idle_large(const struct wo_division *division) {
  const struct wo_interval idle = division->parts[WO_HOLDER_IDLE].value;
  const double request = division->request.value.hi;
  if (idle.lo >= request && idle.lo >= IDLE_ALLOWANCE * division->need.value.hi) return true;
  return usable(division, WO_HOLDER_IDLE).lo >= request && is_idle_unusual(division);
}

/* Whether the request would have been served if the part had been free, and what would then be left. */
static void ask_part(struct wo_division *division, enum wo_holder part) {
  const struct wo_figure free = division->parts[WO_HOLDER_FREE];
  division->would_serve[part] = WO_UNDECIDED;
  division->would_fit[part] = WO_UNDECIDED;
  if (!division->request.is_known || !free.is_known || !division->parts[part].is_known) return;
  const struct wo_interval room = wo_interval_plus(free.value, usable(division, part));
  const struct wo_interval request = division->request.value;
  division->would_serve[part] = is_at_least(room, request);
  if (!division->need.is_known || part == WO_HOLDER_TENSORS) return;
  enum wo_truth leaves = is_at_least(room, wo_interval_plus(request, wanted_after(division, part)));
  if (part == WO_HOLDER_IDLE && is_idle_large(division)) leaves = WO_TRUE;
  division->would_fit[part] = division->would_serve[part] == WO_TRUE ? leaves : division->would_serve[part];
}

/* The largest part without which the job would have fitted; else the request or the tensors, where they explain the full card. */
static struct wo_view find_dominant(const struct wo_division *division) {
  static const enum wo_holder candidates[] = {WO_HOLDER_OTHER_PROCESSES, WO_HOLDER_NON_PYTORCH, WO_HOLDER_IDLE};
  int best = -1;
  for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
    if (division->would_fit[candidates[i]] != WO_TRUE) continue;
    if (candidates[i] == WO_HOLDER_IDLE && !is_idle_unusual(division)) continue;
    if (best < 0 || middle(division, candidates[i]) > middle(division, (enum wo_holder)best)) best = (int)candidates[i];
  }
  if (best >= 0) return word_of((enum wo_holder)best);
  if (!division->total.is_known || !division->request.is_known) return (struct wo_view){0};
  const double total = division->total.value.mid;
  if (division->request.value.mid >= REQUEST_SHARE * total) return WO_VIEW("request");
  const bool is_full = division->need.is_known && division->need.value.mid >= TENSORS_SHARE * total;
  return is_full ? word_of(WO_HOLDER_TENSORS) : (struct wo_view){0};
}

void wo_division_make(const struct wo_card *card, bool is_loading, struct wo_division *ret_division) {
  *ret_division = (struct wo_division){.allowance = is_loading ? ALLOWANCE_LOADING : ALLOWANCE};
  read_parts(card, ret_division);
  read_unknown(card, ret_division);
  for (size_t i = 0; i < WO_HOLDER_COUNT_; i++) ask_part(ret_division, (enum wo_holder)i);
  if (is_of_process(card)) ret_division->would_fit[WO_HOLDER_NON_PYTORCH] = WO_UNDECIDED;
  ret_division->dominant = find_dominant(ret_division);
}
