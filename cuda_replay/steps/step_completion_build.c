/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the completed step: the recorded requests up to the refused one, then those of the whole step after its counterpart.
 *
 * Every block that the whole step frees there is represented: a block made there by its copy, a block of the aligned part by its
 * partner, and an older one (a gradient, a variable that is set again) by the block that took its place one step later. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_replay/steps/step_completion_internal.h"
#include "cuda_replay/pattern/alloc_pattern_edit.h"
#include "cuda_replay/pattern/alloc_pattern_valid.h"
#include "parsers/base/arena.h"
#include "parsers/base/vec.h"

/* A block that is alive at the refused request, and whose end the aligned part does not show. */
struct heir {
  uint64_t size_bytes; /* 0 if only the stack counts */
  uint32_t stack;      /* WO_NO_STACK if only the size counts */
  uint32_t instance;
  uint32_t given; /* only in the first of a group: how many of the group are given away */
};

enum state { STATE_ALIVE, STATE_PENDING, STATE_GONE };

struct builder {
  const struct wo__continuing *work;
  struct wo_alloc_pattern *to;
  struct heir *heirs;
  size_t heir_count;
  struct heir *former; /* left by the whole step before: not heirs, but rows of the same type */
  size_t former_count;
  uint32_t *now;     /* for each recorded instance: the instance that represents it in the completed step, or WO__NOBODY */
  uint8_t *is_taken; /* for each of these: whether it has taken the place of an older one */
  uint32_t *origin;  /* for each instance of the completed pattern: the recorded one that it is or repeats */
  uint64_t *low;     /* for each of these: the low end of its size */
  uint8_t *state;    /* for each of these: enum state */
};

static const struct wo_instance *recorded(const struct builder *builder, uint32_t instance) {
  return &builder->work->pattern->instances.items[instance];
}

static bool is_end(const struct wo_request *request) {
  return request->kind == WO_REQUEST_FREE || request->kind == WO_REQUEST_DEFER;
}

/* Whether an instance is older than the whole step. */
static bool is_old(const struct builder *builder, uint32_t instance) {
  const uint32_t birth = recorded(builder, instance)->birth;
  return birth == WO_NO_REQUEST || birth < builder->work->donor_first;
}

/* ---- Shared ---- */

/* Whether an instance exists when a request is made. */
static bool is_alive_at(const struct wo_instance *instance, uint32_t request) {
  if (instance->birth != WO_NO_REQUEST && (instance->birth >= request || instance->death == instance->birth)) return false;
  return instance->death == WO_NO_REQUEST || instance->death >= request;
}

bool wo__cut(const struct wo_alloc_pattern *pattern, uint32_t end, struct wo_alloc_pattern *ret_pattern) {
  if (!wo_alloc_pattern_copy(pattern, ret_pattern)) return false;
  size_t kept = pattern->start_count;
  ret_pattern->requests.count = end;
  for (size_t i = 0; i < pattern->instances.count; i++) {
    struct wo_instance *instance = &ret_pattern->instances.items[i];
    if (i >= pattern->start_count && instance->birth < end) kept = i + 1;
    if (instance->death != WO_NO_REQUEST && instance->death >= end) instance->death = WO_NO_REQUEST;
  }
  ret_pattern->instances.count = kept; /* instances are born in the order of their indices */
  return true;
}

bool wo__begins_pass(const struct wo__continuing *work, uint32_t instance, bool *was_backward) {
  const struct wo_class_mark mark = work->classes->marks.items[instance];
  const uint32_t stack = work->pattern->instances.items[instance].stack;
  const unsigned flags = wo_stack_facts_of(&work->classes->facts, stack).flags;
  if (mark.rule == WO_CLASS_RULE_RECOMPUTED || (flags & WO_STACK_RECOMPUTE) != 0) return false;
  const bool is_first = mark.phase == WO_PHASE_FORWARD && *was_backward;
  if (mark.phase == WO_PHASE_BACKWARD) *was_backward = true;
  if (is_first) *was_backward = false;
  return is_first;
}

/* ---- Heirs ---- */

/* Collects the blocks that exist at the refused request, were born in the whole step or later, and have no partner that shows
 * their end. */
static void gather_heirs(struct builder *builder) {
  const struct wo__continuing *const work = builder->work;
  for (uint32_t i = (uint32_t)work->pattern->start_count; i < work->pattern->instances.count; i++) {
    const struct wo_instance *const instance = recorded(builder, i);
    if (instance->birth < work->donor_first || !is_alive_at(instance, work->refused)) continue;
    const uint32_t partner = instance->birth >= work->step_first ? work->partners[i] : WO__NOBODY;
    if (partner != WO__NOBODY && is_alive_at(recorded(builder, partner), work->donor_at)) continue;
    builder->heirs[builder->heir_count++] = (struct heir){.instance = i};
  }
}

static int compare_keys(const struct heir *left, const struct heir *right) {
  if (left->stack != right->stack) return left->stack < right->stack ? -1 : 1;
  return (left->size_bytes > right->size_bytes) - (left->size_bytes < right->size_bytes);
}

static int compare_heirs(const void *a, const void *b) {
  const struct heir *left = a, *right = b;
  const int by_key = compare_keys(left, right);
  return by_key != 0 ? by_key : (left->instance > right->instance) - (left->instance < right->instance);
}

/* How two instances are compared: by stack, by size, or by both. */
struct likeness {
  bool of_stack, of_size;
};

static struct heir key_of(const struct builder *builder, uint32_t instance, struct likeness likeness) {
  const struct wo_instance *const from = recorded(builder, instance);
  return (struct heir){.size_bytes = likeness.of_size ? from->size_bytes : 0,
                       .stack = likeness.of_stack ? from->stack : WO_NO_STACK,
                       .instance = instance};
}

/* The first of a group, or the end of the list. */
static size_t find_group(const struct builder *builder, const struct heir *key) {
  size_t low = 0;
  WO_LOWER_BOUND(low, builder->heir_count, at, compare_keys(&builder->heirs[at], key) < 0);
  return low;
}

/* For each old instance that dies after the counterpart and is not represented yet: gives it the oldest free heir that is like
 * it. */
static void give(struct builder *builder, struct likeness likeness) {
  const struct wo__continuing *const work = builder->work;
  size_t kept = 0;
  for (size_t i = 0; i < builder->heir_count; i++) {
    const uint32_t instance = builder->heirs[i].instance;
    if (builder->is_taken[instance] == 0) builder->heirs[kept++] = key_of(builder, instance, likeness);
  }
  builder->heir_count = kept;
  if (kept == 0) return;
  qsort(builder->heirs, kept, sizeof builder->heirs[0], compare_heirs);
  for (uint32_t r = work->donor_at; r < work->donor_end; r++) {
    const struct wo_request *const request = &work->pattern->requests.items[r];
    if (!is_end(request) || !is_old(builder, request->subject) || builder->now[request->subject] != WO__NOBODY) continue;
    const struct heir key = key_of(builder, request->subject, likeness);
    if (likeness.of_stack && key.stack == WO_NO_STACK) continue;
    const size_t first = find_group(builder, &key);
    if (first == kept || compare_keys(&builder->heirs[first], &key) != 0) continue;
    const size_t at = first + builder->heirs[first].given;
    if (at == kept || compare_keys(&builder->heirs[at], &key) != 0) continue;
    builder->heirs[first].given++;
    builder->is_taken[builder->heirs[at].instance] = 1;
    builder->now[request->subject] = builder->heirs[at].instance;
  }
}

/* ---- Births ---- */

/* Collects the instances that were born in the whole step before and still exist, by stack and size. */
static void gather_former(struct builder *builder) {
  const struct wo__continuing *const work = builder->work;
  for (uint32_t r = work->donor_before; r < work->donor_first; r++) {
    const struct wo_request *const request = &work->pattern->requests.items[r];
    if (request->kind != WO_REQUEST_ALLOC || !is_alive_at(recorded(builder, request->subject), work->refused)) continue;
    builder->former[builder->former_count++] = key_of(builder, request->subject, (struct likeness){true, true});
  }
  if (builder->former_count > 0) qsort(builder->former, builder->former_count, sizeof builder->former[0], compare_heirs);
}

static int compare_former(const void *a, const void *b) {
  return compare_keys(a, b);
}

/* Whether the whole step before also made an instance like this that still exists: then each step adds one. */
static bool is_growing(const struct builder *builder, uint32_t instance) {
  const struct heir key = key_of(builder, instance, (struct likeness){true, true});
  return builder->former_count > 0 && bsearch(&key, builder->former, builder->former_count, sizeof key, compare_former) != NULL;
}

enum repeat { REPEAT_YES, REPEAT_NO, REPEAT_BRIEFLY };

/* A block that the whole step made for good (states of the optimizer in a first step, workspaces) exists and is not made again;
 * an existing gradient has the new one added to it. */
static enum repeat repeat_of(const struct builder *builder, uint32_t instance) {
  const struct wo__continuing *const work = builder->work;
  const struct wo_instance *const born = recorded(builder, instance);
  const bool is_kept = is_alive_at(born, work->refused) && builder->is_taken[instance] == 0;
  if (!is_kept) return REPEAT_YES;
  switch (work->classes->marks.items[instance].rule) {
  case WO_CLASS_RULE_GRADIENT:
    return is_growing(builder, instance) ? REPEAT_YES : REPEAT_BRIEFLY;
  case WO_CLASS_RULE_OPTIMIZER_STATE:
  case WO_CLASS_RULE_WORKSPACE:
  case WO_CLASS_RULE_COMMUNICATION:
    return is_growing(builder, instance) ? REPEAT_YES : REPEAT_NO;
  default:
    return REPEAT_YES; /* each step may add one, which needs more memory */
  }
}

static bool add(struct builder *builder, struct wo_instance instance, struct wo__size_span size, uint32_t origin,
                uint32_t entry) {
  uint32_t added;
  instance.size_bytes = size.high;
  if (!wo_alloc_pattern_add_alloc(builder->to, instance, entry, &added)) return false;
  builder->now[origin] = added;
  builder->origin[added] = origin;
  builder->low[added] = size.low;
  builder->state[added] = STATE_ALIVE;
  return true;
}

static bool repeat_birth(struct builder *builder, uint32_t instance, bool is_later) {
  const enum repeat repeat = repeat_of(builder, instance);
  if (repeat == REPEAT_NO) return true;
  if (!add(builder, *recorded(builder, instance), wo__size_of(builder->work, instance, is_later), instance, WO_NO_ENTRY))
    return false;
  if (repeat == REPEAT_YES) return true;
  builder->state[builder->now[instance]] = STATE_GONE;
  return wo_alloc_pattern_add_free(builder->to, builder->now[instance]);
}

/* The refused request, now served: it represents its counterpart from here on. */
static bool serve_refused(struct builder *builder) {
  const struct wo__continuing *const work = builder->work;
  const struct wo_request *const refused = &work->pattern->requests.items[work->refused];
  const struct wo__size_span size = {work->refused_bytes, work->refused_bytes};
  return add(builder, *recorded(builder, refused->subject), size, work->pattern->requests.items[work->donor_at].subject,
             refused->entry);
}

/* ---- Requests ---- */

/* Repeats a request for the block that represents its subject, if that block is in the right state. */
static bool repeat_for(struct builder *builder, const struct wo_request *request) {
  const uint32_t player = builder->now[request->subject];
  const bool is_completion = request->kind == WO_REQUEST_COMPLETE;
  if (player == WO__NOBODY || builder->state[player] != (is_completion ? STATE_PENDING : STATE_ALIVE)) return true;
  struct wo_request repeated = *request;
  repeated.subject = player;
  repeated.entry = WO_NO_ENTRY;
  if (request->kind == WO_REQUEST_FREE || is_completion) builder->state[player] = STATE_GONE;
  if (request->kind == WO_REQUEST_DEFER) builder->state[player] = STATE_PENDING;
  return wo_alloc_pattern_add_request(builder->to, repeated);
}

static bool repeat_rest(struct builder *builder) {
  const struct wo__continuing *const work = builder->work;
  bool was_backward = false, is_later = false;
  for (uint32_t r = work->donor_first; r < work->donor_end; r++) {
    const struct wo_request *const request = &work->pattern->requests.items[r];
    const bool is_birth = request->kind == WO_REQUEST_ALLOC;
    const bool begins = is_birth && wo__begins_pass(work, request->subject, &was_backward);
    bool is_added = true;
    if (r <= work->donor_at) continue;
    is_later = is_later || begins;
    if (is_birth) {
      is_added = repeat_birth(builder, request->subject, is_later);
    } else if (wo_request_has_instance(request)) {
      is_added = repeat_for(builder, request);
    } else {
      struct wo_request repeated = *request;
      repeated.entry = WO_NO_ENTRY;
      is_added = wo_alloc_pattern_add_request(builder->to, repeated);
    }
    if (!is_added) return false;
  }
  return true;
}

/* ---- All together ---- */

/* At the refused request: which instance represents which, and their states. */
static void begin(struct builder *builder) {
  const struct wo__continuing *const work = builder->work;
  for (uint32_t i = 0; i < work->pattern->instances.count; i++) {
    const struct wo_instance *const instance = recorded(builder, i);
    const bool is_donor =
        instance->birth != WO_NO_REQUEST && instance->birth >= work->donor_first && instance->birth < work->donor_end;
    builder->now[i] = is_donor ? work->partners[i] : WO__NOBODY;
  }
  for (uint32_t i = 0; i < builder->to->instances.count; i++) {
    const struct wo_instance *const instance = &builder->to->instances.items[i];
    builder->origin[i] = i;
    builder->low[i] = instance->size_bytes;
    const bool is_gone = instance->birth != WO_NO_REQUEST && instance->death == instance->birth;
    builder->state[i] = is_gone ? STATE_GONE : STATE_ALIVE;
  }
  for (size_t r = 0; r < builder->to->requests.count; r++) {
    const struct wo_request *const request = &builder->to->requests.items[r];
    if (request->kind == WO_REQUEST_DEFER) builder->state[request->subject] = STATE_PENDING;
    if (request->kind == WO_REQUEST_FREE || request->kind == WO_REQUEST_COMPLETE) builder->state[request->subject] = STATE_GONE;
  }
}

/* Classifies again, since blocks that remained at the end of the recording now have an end. An added instance keeps its class
 * from the whole step, where all its surroundings were known. */
static enum wo_status classify(const struct builder *builder, size_t first_added, const struct wo_trace *trace,
                               struct wo_alloc_pattern *pattern, struct wo_classes *classes) {
  const struct wo__continuing *const work = builder->work;
  const enum wo_status status = wo_classify(pattern, trace, classes);
  if (status != WO_OK) return status;
  for (size_t i = first_added; i < pattern->instances.count; i++) {
    classes->marks.items[i] = work->classes->marks.items[builder->origin[i]];
    pattern->instances.items[i].class_ = work->pattern->instances.items[builder->origin[i]].class_;
  }
  return WO_OK;
}

static enum wo_status make_low(const struct builder *builder, size_t first_added, const struct wo_trace *trace,
                               struct wo_step_completion *completion) {
  const struct wo_alloc_pattern *const high = &completion->high;
  for (size_t i = first_added; i < high->instances.count; i++)
    completion->is_interval = completion->is_interval || builder->low[i] != high->instances.items[i].size_bytes;
  if (!completion->is_interval) return WO_OK;
  if (!wo_alloc_pattern_copy(high, &completion->low)) return WO_E_NOMEM;
  for (size_t i = first_added; i < high->instances.count; i++) completion->low.instances.items[i].size_bytes = builder->low[i];
  return classify(builder, first_added, trace, &completion->low, &completion->low_classes);
}

static enum wo_status write(struct builder *builder, const struct wo_trace *trace, struct wo_step_completion *completion) {
  const size_t first_added = builder->to->instances.count;
  begin(builder);
  gather_heirs(builder);
  gather_former(builder);
  give(builder, (struct likeness){.of_stack = true, .of_size = true});
  give(builder, (struct likeness){.of_stack = true});
  give(builder, (struct likeness){.of_size = true});
  if (!serve_refused(builder) || !repeat_rest(builder)) return WO_E_NOMEM;
  assert(wo_alloc_pattern_is_valid(builder->to));
  completion->added_count = builder->to->instances.count - first_added;
  const enum wo_status status = classify(builder, first_added, trace, builder->to, &completion->high_classes);
  return status == WO_OK ? make_low(builder, first_added, trace, completion) : status;
}

enum wo_status wo__step_completion_build(const struct wo__continuing *work, const struct wo_trace *trace,
                                         struct wo_step_completion *completion) {
  const size_t count = work->pattern->instances.count + 1, most = count + work->donor_end - work->donor_at;
  struct builder builder = {.work = work, .to = &completion->high};
  if (!wo__cut(work->pattern, work->refused, builder.to)) return WO_E_NOMEM;
  struct wo_arena arena;
  wo_arena_init(&arena, SIZE_MAX);
  builder.heirs = wo_arena_array(&arena, count, sizeof builder.heirs[0]);
  builder.former = wo_arena_array(&arena, count, sizeof builder.former[0]);
  builder.now = wo_arena_array(&arena, count, sizeof builder.now[0]);
  builder.is_taken = wo_arena_array(&arena, count, 1);
  builder.origin = wo_arena_array(&arena, most, sizeof builder.origin[0]);
  builder.low = wo_arena_array(&arena, most, sizeof builder.low[0]);
  builder.state = wo_arena_array(&arena, most, 1);
  const enum wo_status status = wo_arena_is_exhausted(&arena) ? WO_E_NOMEM : write(&builder, trace, completion);
  wo_arena_done(&arena);
  return status;
}
