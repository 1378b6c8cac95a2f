/* SPDX-License-Identifier: Apache-2.0 */
/* Private pools that nothing names: recordings up to 2.11 name the pools of the segments that are left at the end. That of a
 * graph or a MemPool which was released shows only in what the default pool did not do. At each divergence every guess is run;
 * the one that gets farthest stays (of equals the one that hides least), and the others wait for the case that it leads nowhere.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_replay/replay/check_pools_internal.h"
#include "parsers/base/vec.h"

/* The segments that the model chooses or releases at a divergence, one after the other, until it makes the recorded choice. */
enum { CHOSEN_MAX = 32 };

/* Readings that were tried: how far they get. */
struct option {
  struct wo__start_trial trial;
  struct wo__hidden *hidden;
  size_t *emptied;
  size_t hidden_count, emptied_count;
  unsigned aside; /* guesses in a row that only changed the divergence, at the same entry */
};

enum { WAITING_MAX = 64, ASIDE_MAX = 2 };

struct search {
  struct wo__checker *checker;
  uint16_t torch;
  struct option now;                  /* from where guesses are made */
  struct option waiting[WAITING_MAX]; /* the latest last */
  size_t waiting_count;
};

/* ---- Options ---- */

static void option_done(struct option *option) {
  free(option->hidden);
  free(option->emptied);
  *option = (struct option){0};
}

/* Keeps the present readings. */
static enum wo_status option_make(const struct wo__checker *checker, const struct wo__start_trial *trial,
                                  struct option *ret_option) {
  const struct wo__readings *const readings = &checker->readings;
  struct option option = {.trial = *trial, .hidden_count = readings->hidden.count, .emptied_count = readings->emptied.count};
  option.hidden = malloc((option.hidden_count + 1) * sizeof *option.hidden);
  option.emptied = malloc((option.emptied_count + 1) * sizeof *option.emptied);
  if (!option.hidden || !option.emptied) return option_done(&option), WO_E_NOMEM;
  if (option.hidden_count > 0) memcpy(option.hidden, readings->hidden.items, option.hidden_count * sizeof *option.hidden);
  if (option.emptied_count > 0) memcpy(option.emptied, readings->emptied.items, option.emptied_count * sizeof *option.emptied);
  *ret_option = option;
  return WO_OK;
}

/* Makes its readings the present ones again; the pattern stays behind. */
static enum wo_status option_restore(struct wo__checker *checker, const struct option *option) {
  struct wo__readings *const readings = &checker->readings;
  readings->hidden.count = readings->emptied.count = 0;
  if (!WO_VEC_RESERVE(&readings->hidden, option->hidden_count, WO__HIDDEN_MAX) ||
      !WO_VEC_RESERVE(&readings->emptied, option->emptied_count, WO__HIDDEN_MAX))
    return WO_E_NOMEM;
  if (option->hidden_count > 0) memcpy(readings->hidden.items, option->hidden, option->hidden_count * sizeof *option->hidden);
  if (option->emptied_count > 0)
    memcpy(readings->emptied.items, option->emptied, option->emptied_count * sizeof *option->emptied);
  readings->hidden.count = option->hidden_count;
  readings->emptied.count = option->emptied_count;
  return WO_OK;
}

static bool is_better(const struct option *a, const struct option *b) {
  if (a->trial.is_equal != b->trial.is_equal) return a->trial.is_equal;
  if (a->trial.cursor != b->trial.cursor) return a->trial.cursor > b->trial.cursor;
  return a->hidden_count < b->hidden_count;
}

/* The oldest is forgotten if there is no room. */
static void put_off(struct search *search, struct option option) {
  if (search->waiting_count == WAITING_MAX) {
    option_done(&search->waiting[0]);
    memmove(search->waiting, search->waiting + 1, (WAITING_MAX - 1) * sizeof *search->waiting);
    search->waiting_count--;
  }
  search->waiting[search->waiting_count++] = option;
}

/* ---- Guesses ---- */

/* Runs with the changed readings. A version that cannot run with them says WO_E_USAGE. */
static enum wo_status run_readings(struct search *search, struct wo__start_trial *ret_trial) {
  const enum wo_status status = wo__check_make_pattern(search->checker);
  return status == WO_OK ? wo__check_run(search->checker, search->torch, ret_trial) : status;
}

/* Hides the segments that the model chooses or releases, each in a pool of its own. */
static enum wo_status run_chosen(struct search *search, struct wo__start_trial *ret_trial, bool *ret_is_made) {
  struct wo__checker *const checker = search->checker;
  const size_t cursor = search->now.trial.cursor;
  struct wo__start_trial tried = search->now.trial;
  for (unsigned i = 0; i < CHOSEN_MAX && wo__check_can_go_on(checker); i++) {
    const uint64_t address = tried.misplaced.is_known ? tried.misplaced.address : tried.released_address;
    const size_t entry = address > 0 ? wo__find_segment(checker->trace, address, cursor) : SIZE_MAX;
    if (entry == SIZE_MAX || wo__is_hidden(checker, entry)) return WO_OK;
    const enum wo__guess guess = wo__hide(checker, entry, checker->next_pool++);
    if (guess != WO__GUESS_MADE) return guess == WO__GUESS_NONE ? WO_OK : WO_E_NOMEM;
    const enum wo_status status = run_readings(search, &tried);
    if (status != WO_OK) return status;
    *ret_is_made = tried.is_equal || tried.cursor > cursor;
    *ret_trial = tried;
    if (*ret_is_made || tried.cursor < cursor) return WO_OK;
  }
  return WO_OK;
}

static wo__guess_one *const guesses[] = {wo__guess_suspect,      wo__guess_left,         wo__guess_emptied, wo__guess_tail,
                                         wo__guess_each_emptied, wo__guess_each_of_tail, wo__guess_shown};

enum { GUESS_COUNT = sizeof guesses / sizeof guesses[0] };

/* Whether a trial diverges at the same entry, but in another way: two guesses may be needed there. */
static bool is_aside(const struct search *search, const struct wo__start_trial *trial) {
  const struct wo__start_trial *const now = &search->now.trial;
  return search->now.aside < ASIDE_MAX && trial->cursor == now->cursor && strcmp(trial->got, now->got) != 0;
}

/* Makes guess `which` at the present divergence, and runs it. *ret_is_made: it gets farther, or aside. */
static enum wo_status run_guess(struct search *search, size_t which, struct wo__start_trial *ret_trial, bool *ret_is_made) {
  enum wo_status status = option_restore(search->checker, &search->now);
  *ret_is_made = false;
  if (status != WO_OK) return status;
  if (which == GUESS_COUNT) return run_chosen(search, ret_trial, ret_is_made);
  const enum wo__guess guess = guesses[which](search->checker, &search->now.trial);
  if (guess != WO__GUESS_MADE) return guess == WO__GUESS_NONE ? WO_OK : WO_E_NOMEM;
  status = run_readings(search, ret_trial);
  *ret_is_made =
      status == WO_OK && (ret_trial->is_equal || ret_trial->cursor > search->now.trial.cursor || is_aside(search, ret_trial));
  return status;
}

/* The present option leads nowhere. */
static enum wo_status take_waiting(struct search *search, bool *ret_goes_on) {
  *ret_goes_on = search->waiting_count > 0;
  if (!*ret_goes_on) return WO_OK;
  option_done(&search->now);
  search->now = search->waiting[--search->waiting_count];
  return WO_OK;
}

/* Whether the present divergence is a refused request before which nothing was released. Taking it for one of a private pool
 * never makes anything else wrong: such a request changes nothing. */
static bool is_refused_alone(const struct search *search) {
  const struct wo_trace *const trace = search->checker->trace;
  size_t i = search->now.trial.cursor;
  if (i >= trace->entries.count || trace->entries.items[i].action != WO_ACTION_OOM) return false;
  while (i > 0 && wo_entry_is(&trace->entries.items[i - 1], WO_TRAIT_IN_CALL)) {
    if (wo_entry_is(&trace->entries.items[--i], WO_TRAIT_RELEASE)) return false;
  }
  return true;
}

/* All guesses at the present divergence. The best becomes the present option, others wait. */
static enum wo_status step(struct search *search, bool *ret_goes_on) {
  struct option best = {0};
  *ret_goes_on = false;
  const size_t end = is_refused_alone(search) ? 1 : GUESS_COUNT + 1;
  for (size_t which = 0; which < end && wo__check_can_go_on(search->checker) && !best.trial.is_equal; which++) {
    struct wo__start_trial trial;
    struct option option;
    bool is_made = false;
    enum wo_status status = run_guess(search, which, &trial, &is_made);
    if (status == WO_OK && is_made) status = option_make(search->checker, &trial, &option);
    if (status == WO_E_NOMEM) return option_done(&best), status;
    if (status != WO_OK || !is_made) continue;
    if (!trial.is_equal && trial.cursor == search->now.trial.cursor) {
      option.aside = search->now.aside + 1;
      put_off(search, option);
      continue;
    }
    const bool is_first = best.hidden == NULL, is_best = is_first || is_better(&option, &best);
    if (!is_first) put_off(search, is_best ? best : option);
    if (is_best) best = option;
  }
  if (!best.hidden) return take_waiting(search, ret_goes_on);
  option_done(&search->now);
  search->now = best;
  *ret_goes_on = true;
  return WO_OK;
}

/* ---- Whole ---- */

/* All that stacks show at once, before anything is guessed. */
static enum wo_status try_captures(struct search *search) {
  struct wo__checker *const checker = search->checker;
  struct wo__start_trial trial;
  if (search->now.hidden_count > 0) return WO_OK;
  enum wo_status status = wo__check_hide_captures(checker);
  if (status != WO_OK || checker->readings.hidden.count == 0) return status;
  status = run_readings(search, &trial);
  if (status != WO_OK) return status == WO_E_NOMEM ? status : WO_OK;
  const bool is_farther = trial.is_equal || trial.cursor > search->now.trial.cursor;
  if (!is_farther) return WO_OK;
  /* Without them guesses are made last: two captures may have been taken for one. */
  put_off(search, search->now);
  search->now = (struct option){0};
  return option_make(checker, &trial, &search->now);
}

/* The best of all options gives the result. */
static enum wo_status go_on(struct search *search, struct option *best) {
  const size_t count = search->checker->trace->entries.count;
  bool goes_on = true;
  enum wo_status status = WO_OK;
  while (status == WO_OK && goes_on && !search->now.trial.is_equal && wo__check_can_go_on(search->checker)) {
    const bool has_guess = search->now.trial.cursor < count || search->now.trial.released_address > 0;
    status = has_guess ? step(search, &goes_on) : take_waiting(search, &goes_on);
    if (status != WO_OK || !goes_on || !is_better(&search->now, best)) continue;
    option_done(best);
    status = option_restore(search->checker, &search->now);
    if (status == WO_OK) status = option_make(search->checker, &search->now.trial, best);
  }
  return status;
}

enum wo_status wo__check_find_pools(struct wo__checker *checker, uint16_t torch, struct wo__start_trial *trial) {
  struct search *const search = calloc(1, sizeof *search);
  struct option best = {0};
  if (!search) return WO_E_NOMEM;
  search->checker = checker;
  search->torch = torch;
  enum wo_status status = option_make(checker, trial, &search->now);
  if (status == WO_OK) status = try_captures(search);
  if (status == WO_OK) status = option_restore(checker, &search->now);
  if (status == WO_OK) status = option_make(checker, &search->now.trial, &best);
  if (status == WO_OK) status = go_on(search, &best);
  if (status == WO_OK) status = option_restore(checker, &best);
  if (status == WO_OK) *trial = best.trial;
  option_done(&best);
  option_done(&search->now);
  while (search->waiting_count > 0) option_done(&search->waiting[--search->waiting_count]);
  free(search);
  return status == WO_OK ? wo__check_make_pattern(checker) : status;
}
