/* Private pools that nothing names: recordings up to 2.11 name the pools of the segments that are left at the end. That of a
 * graph or a MemPool which was released shows only in what the default pool did not do. Each guess costs a run, and stays only if
 * the run gets farther. */
#include <assert.h>

#include "cuda_replay/collections/address_map.h"
#include "cuda_replay/replay/check_internal.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

/* The most guesses, and the entries of all runs together after which no more are made. */
enum { HIDDEN_MAX = 256 };
#define ENTRIES_RUN_MAX 8000000

/* The entry before `end` that allocated the segment which holds an address and that is released later; SIZE_MAX: none. */
static size_t find_segment(const struct wo_trace *trace, uint64_t address, size_t end) {
  size_t found = SIZE_MAX;
  for (size_t i = end; i > 0 && found == SIZE_MAX; i--) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i - 1];
    const bool is_here =
        entry->action == WO_ACTION_SEGMENT_ALLOC && address >= entry->address && address - entry->address < entry->size_bytes;
    if (is_here) found = i - 1;
  }
  if (found == SIZE_MAX) return SIZE_MAX;
  for (size_t i = found + 1; i < trace->entries.count; i++) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i];
    if (entry->action == WO_ACTION_SEGMENT_FREE && entry->address == trace->entries.items[found].address) return found;
  }
  return SIZE_MAX;
}

static bool can_go_on(const struct wo__checker *checker) {
  return checker->entries_run < ENTRIES_RUN_MAX && checker->readings.hidden.count < HIDDEN_MAX;
}

/* The readings before a change of them. */
struct kept {
  size_t hidden, emptied;
};

static enum wo_status take_back(struct wo__checker *checker, struct kept kept) {
  checker->readings.hidden.count = kept.hidden;
  checker->readings.emptied.count = kept.emptied;
  return wo__check_make_pattern(checker);
}

/* Runs with the changed readings. */
static enum wo_status run_readings(struct wo__checker *checker, uint16_t torch, struct wo__start_trial *ret_trial) {
  const enum wo_status status = wo__check_make_pattern(checker);
  return status == WO_OK ? wo__check_run(checker, torch, ret_trial) : status;
}

/* The same; takes the change back if it does not get farther. */
static enum wo_status try_readings(struct wo__checker *checker, uint16_t torch, struct kept kept, struct wo__start_trial *trial,
                                   bool *ret_is_better) {
  struct wo__start_trial tried;
  const enum wo_status status = run_readings(checker, torch, &tried);
  *ret_is_better = status == WO_OK && (tried.is_equal || tried.cursor > trial->cursor);
  if (*ret_is_better) {
    *trial = tried;
    return WO_OK;
  }
  return status == WO_E_NOMEM ? status : take_back(checker, kept);
}

static enum wo_status hide(struct wo__checker *checker, size_t entry, uint32_t number) {
  struct wo__readings *const readings = &checker->readings;
  if (!WO_VEC_RESERVE(&readings->hidden, 1, HIDDEN_MAX)) return WO_E_NOMEM;
  readings->hidden.items[readings->hidden.count++] = (struct wo__hidden){.entry = entry, .number = number};
  return WO_OK;
}

static bool is_hidden(const struct wo__checker *checker, size_t entry) {
  for (size_t i = 0; i < checker->readings.hidden.count; i++) {
    if (checker->readings.hidden.items[i].entry == entry) return true;
  }
  return false;
}

/* One more segment, or refused request, in a pool of its own. */
static enum wo_status try_hidden(struct wo__checker *checker, uint16_t torch, size_t entry, struct wo__start_trial *trial,
                                 bool *ret_is_better) {
  const struct kept kept = {checker->readings.hidden.count, checker->readings.emptied.count};
  *ret_is_better = false;
  if (entry == SIZE_MAX || is_hidden(checker, entry) || hide(checker, entry, checker->next_pool++) != WO_OK) return WO_OK;
  return try_readings(checker, torch, kept, trial, ret_is_better);
}

/* The segments that the model chooses at a divergence, one after the other, until it makes the recorded choice. */
enum { CHOSEN_MAX = 32 };

static enum wo_status try_chosen(struct wo__checker *checker, uint16_t torch, struct wo__start_trial *trial,
                                 bool *ret_is_better) {
  const struct kept kept = {checker->readings.hidden.count, checker->readings.emptied.count};
  struct wo__start_trial tried = *trial;
  enum wo_status status = WO_OK;
  *ret_is_better = false;
  for (unsigned i = 0; i < CHOSEN_MAX && status == WO_OK && tried.misplaced.is_known && can_go_on(checker); i++) {
    const size_t entry = find_segment(checker->trace, tried.misplaced.address, trial->cursor);
    if (entry == SIZE_MAX || is_hidden(checker, entry) || hide(checker, entry, checker->next_pool++) != WO_OK) break;
    status = run_readings(checker, torch, &tried);
    if (status != WO_OK || (!tried.is_equal && tried.cursor <= trial->cursor)) continue;
    *ret_is_better = true;
    *trial = tried;
    return WO_OK;
  }
  return status == WO_E_NOMEM ? status : take_back(checker, kept);
}

/* Whether an entry releases a segment in the same call as another one: calls one after the other differ in their stacks. */
static bool is_of_run(const struct wo_trace *trace, size_t i, size_t other) {
  return i < trace->entries.count && trace->entries.items[i].action == WO_ACTION_SEGMENT_FREE &&
         trace->entries.items[i].stack == trace->entries.items[other].stack;
}

/* The run of releases at a divergence ends a MemPool: all its segments are in one pool, and no other is released. The numbers
 * that are added last count. */
static enum wo_status try_emptied(struct wo__checker *checker, uint16_t torch, struct wo__start_trial *trial,
                                  bool *ret_is_better) {
  struct wo__readings *const readings = &checker->readings;
  const struct wo_trace *const trace = checker->trace;
  const struct kept kept = {readings->hidden.count, readings->emptied.count};
  const uint32_t number = checker->next_pool++;
  /* The run, or what follows one that the model goes on with. */
  size_t first = trial->cursor;
  if (first > 0 && trace->entries.items[first].action != WO_ACTION_SEGMENT_FREE) first--;
  *ret_is_better = false;
  while (first > 0 && is_of_run(trace, first - 1, first)) first--;
  for (size_t i = first; i == first || is_of_run(trace, i, first); i++) {
    const size_t segment = find_segment(trace, trace->entries.items[i].address, i);
    if (segment == SIZE_MAX || hide(checker, segment, number) != WO_OK) {
      readings->hidden.count = kept.hidden;
      return WO_OK;
    }
  }
  if (!WO_VEC_RESERVE(&readings->emptied, 1, HIDDEN_MAX)) return WO_E_NOMEM;
  readings->emptied.items[readings->emptied.count++] = first;
  return try_readings(checker, torch, kept, trial, ret_is_better);
}

/* A segment of the recording, while it exists. */
struct seen_segment {
  size_t entry;
  uint64_t end;
  size_t live; /* blocks */
};

/* Segments by address as entries show them. */
struct seen {
  struct wo_address_map map; /* address -> index */
  WO_VEC(struct seen_segment) list;
};

static struct seen_segment *seen_at(const struct seen *seen, uint64_t address) {
  struct wo_address_item item;
  if (!wo_address_map_below(&seen->map, address, &item)) return NULL;
  struct seen_segment *const segment = &seen->list.items[item.value];
  return address < segment->end ? segment : NULL;
}

static bool see(struct seen *seen, const struct wo_trace *trace, size_t index) {
  const struct wo_trace_entry *const entry = &trace->entries.items[index];
  struct seen_segment *const segment = seen_at(seen, entry->address);
  switch ((enum wo_action)entry->action) {
  case WO_ACTION_SEGMENT_ALLOC:
    if (!WO_VEC_RESERVE(&seen->list, 1, WO_LIMIT_TRACE_ENTRIES)) return false;
    seen->list.items[seen->list.count++] = (struct seen_segment){index, entry->address + entry->size_bytes, 0};
    return wo_address_map_put(&seen->map, entry->address, (uint32_t)seen->list.count - 1) == WO_OK;
  case WO_ACTION_SEGMENT_FREE:
    wo_address_map_remove(&seen->map, entry->address, NULL);
    return true;
  case WO_ACTION_ALLOC:
    if (segment) segment->live++;
    return true;
  case WO_ACTION_FREE_COMPLETED:
    if (segment && segment->live > 0) segment->live--;
    return true;
  default:
    return true;
  }
}

/* Each segment that has no block and that the release at a divergence left alone, in a pool of its own: its pool has a user. */
static enum wo_status try_left(struct wo__checker *checker, uint16_t torch, struct wo__start_trial *trial, bool *ret_is_better) {
  const struct wo_trace *const trace = checker->trace;
  const struct kept kept = {checker->readings.hidden.count, checker->readings.emptied.count};
  struct seen seen = {.list = {0}};
  size_t end = trial->cursor;
  bool is_done = true;
  *ret_is_better = false;
  while (end < trace->entries.count && trace->entries.items[end].action == WO_ACTION_SEGMENT_FREE) end++;
  for (size_t i = 0; i < end && is_done; i++) is_done = see(&seen, trace, i);
  struct wo_address_item item;
  for (uint64_t at = 0; is_done && wo_address_map_above(&seen.map, at, &item); at = item.address + 1) {
    const struct seen_segment *const segment = &seen.list.items[item.value];
    if (segment->live > 0 || find_segment(trace, item.address, end) == SIZE_MAX) continue;
    if (hide(checker, segment->entry, checker->next_pool++) != WO_OK) break;
  }
  wo_address_map_done(&seen.map);
  WO_VEC_DONE(&seen.list);
  if (!is_done) return WO_E_NOMEM;
  return checker->readings.hidden.count > kept.hidden ? try_readings(checker, torch, kept, trial, ret_is_better) : WO_OK;
}

/* The refused request at a divergence (a capture releases nothing first), the new segment of the recording there, or that of the
 * recorded address. */
static size_t find_suspect(const struct wo_trace *trace, size_t cursor) {
  const struct wo_trace_entry *const expected = &trace->entries.items[cursor];
  if (expected->action == WO_ACTION_OOM) return cursor;
  if (expected->action == WO_ACTION_SEGMENT_FREE) return SIZE_MAX;
  return find_segment(trace, expected->address, cursor + (expected->action == WO_ACTION_SEGMENT_ALLOC ? 1 : 0));
}

/* Whether the run of releases at an entry is one of everything that is free: a call of that name, or the retry of a request. */
static bool is_of_all(const struct wo_recording *recording, const struct wo_trace *trace, size_t at) {
  if (wo__release_cause_is_named(recording, trace->entries.items[at].stack)) return true;
  while (at < trace->entries.count && trace->entries.items[at].action == WO_ACTION_SEGMENT_FREE) at++;
  if (at == trace->entries.count) return false;
  return trace->entries.items[at].action == WO_ACTION_SEGMENT_ALLOC || trace->entries.items[at].action == WO_ACTION_OOM;
}

/* The release at a divergence is one of everything, but of pools that have users; or the end of a MemPool. */
static enum wo_status try_release(struct wo__checker *checker, uint16_t torch, struct wo__start_trial *trial,
                                  bool *ret_is_better) {
  const bool is_left_first = is_of_all(checker->recording, checker->trace, trial->cursor);
  enum wo_status status = WO_OK;
  for (int turn = 0; turn < 2 && status == WO_OK && !*ret_is_better; turn++)
    status = (turn == 0) == is_left_first ? try_left(checker, torch, trial, ret_is_better)
                                          : try_emptied(checker, torch, trial, ret_is_better);
  return status;
}

static enum wo_status try_pools(struct wo__checker *checker, uint16_t torch, struct wo__start_trial *trial, bool *ret_is_better) {
  const struct wo_trace *const trace = checker->trace;
  const bool is_release = trace->entries.items[trial->cursor].action == WO_ACTION_SEGMENT_FREE || trial->released_address > 0;
  enum wo_status status = WO_OK;
  *ret_is_better = false;
  if (is_release) status = try_release(checker, torch, trial, ret_is_better);
  if (status == WO_OK && !*ret_is_better)
    status = try_hidden(checker, torch, find_suspect(trace, trial->cursor), trial, ret_is_better);
  if (status == WO_OK && !*ret_is_better) status = try_chosen(checker, torch, trial, ret_is_better);
  return status;
}

/* All that stacks show at once, before anything is guessed. */
static enum wo_status try_captures(struct wo__checker *checker, uint16_t torch, struct wo__start_trial *trial) {
  const struct kept kept = {checker->readings.hidden.count, checker->readings.emptied.count};
  bool is_better = false;
  if (kept.hidden > 0) return WO_OK;
  const enum wo_status status = wo__check_hide_captures(checker);
  if (status != WO_OK || checker->readings.hidden.count == 0) return status;
  return try_readings(checker, torch, kept, trial, &is_better);
}

enum wo_status wo__check_find_pools(struct wo__checker *checker, uint16_t torch, struct wo__start_trial *trial) {
  enum wo_status status = try_captures(checker, torch, trial);
  bool is_better = true;
  while (status == WO_OK && is_better && !trial->is_equal && trial->cursor < checker->trace->entries.count && can_go_on(checker))
    status = try_pools(checker, torch, trial, &is_better);
  return status;
}
