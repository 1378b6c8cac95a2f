/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of allocations: phases first, then one pass for each sort of rule. The first rule that takes an instance keeps it. */
#include "cuda_replay/classes/classify.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_replay/classes/classify_internal.h"
#include "parsers/base/vec.h"

/* ---- Phases ---- */

/* Whether a request lies between START and END of an optimizer's step, by the annotations. Requests come in order; `next` is the
 * first annotation that may still matter. */
struct step_marks {
  const struct wo_recording *recording;
  const struct wo_trace *trace;
  size_t next;
  unsigned depth;
};

/* PyTorch writes "Optimizer.step#Adam.step"; frameworks that wrap it use the other spelling. */
static bool is_step_mark(struct wo_view name) {
  return wo_view_has(name, "Optimizer.step") || wo_view_has(name, "optimizer_step");
}

static bool is_in_step(struct step_marks *marks, const struct wo_request *request) {
  if (marks->trace == NULL || request->entry == WO_NO_ENTRY || request->entry >= marks->trace->entries.count) {
    return marks->depth > 0;
  }
  int64_t time_us = marks->trace->entries.items[request->entry].time_us;
  if (time_us == WO_NO_TIME) return false;
  for (; marks->next < marks->recording->annotations.count; marks->next++) {
    const struct wo_annotation *mark = &marks->recording->annotations.items[marks->next];
    if (mark->time_us > time_us) break;
    if (mark->device != marks->trace->device || !is_step_mark(mark->name)) continue;
    if (mark->is_start)
      marks->depth++;
    else if (marks->depth > 0)
      marks->depth--;
  }
  return marks->depth > 0;
}

/* An optimizer that steps inside of backward (one parameter at a time) is the optimizer phase; annotations count only if the
 * stack shows no phase. */
static enum wo_phase phase_of(struct wo_stack_facts facts, bool is_step) {
  if ((facts.flags & WO_STACK_OPTIMIZER) != 0) return WO_PHASE_OPTIMIZER;
  if ((facts.flags & WO_STACK_BACKWARD) != 0) return WO_PHASE_BACKWARD;
  return is_step ? WO_PHASE_OPTIMIZER : WO_PHASE_FORWARD;
}

/* Sets the phase of each birth; for each request the phase of the latest birth, and the request where that phase ends. */
static void find_phases(struct wo__classing *work, const struct wo_trace *trace) {
  const struct wo_alloc_pattern *pattern = work->pattern;
  struct step_marks marks = {.recording = pattern->recording, .trace = trace};
  for (size_t i = 0; i < pattern->instances.count; i++) work->classes->marks.items[i].phase = WO_PHASE_START;
  uint8_t phase = WO_PHASE_START;
  for (size_t r = 0; r < pattern->requests.count; r++) {
    const struct wo_request *request = &pattern->requests.items[r];
    bool is_step = is_in_step(&marks, request);
    uint32_t born = work->born_at[r];
    if (born != WO_NO_INSTANCE) {
      phase = (uint8_t)phase_of(wo__class_facts(work, born), is_step);
      work->classes->marks.items[born].phase = phase;
    }
    work->phase_at[r] = phase;
  }
  uint32_t end = (uint32_t)pattern->requests.count, backward = 0;
  for (size_t r = 0; r < pattern->requests.count; r++) {
    bool was_backward = r > 0 && work->phase_at[r - 1] == WO_PHASE_BACKWARD, is_backward = work->phase_at[r] == WO_PHASE_BACKWARD;
    if (is_backward && !was_backward) backward = (uint32_t)r;
    if (!was_backward || is_backward) continue;
    work->earlier_backward = work->last_backward;
    work->last_backward = backward;
  }
  uint32_t last = 0;
  for (size_t r = pattern->requests.count; r-- > 0;) {
    const bool is_last = r + 1 == pattern->requests.count || work->phase_at[r + 1] != work->phase_at[r];
    if (is_last && r + 1 < pattern->requests.count) end = (uint32_t)r + 1;
    if (is_last || (work->born_at[r] != WO_NO_INSTANCE && work->born_at[last] == WO_NO_INSTANCE)) last = (uint32_t)r;
    work->pass_end[r] = end;
    work->pass_last[r] = last;
  }
}

/* ---- Rules ---- */

/* Whether an instance lasts to the end: memory that a program frees only when it ends counts as lasting. */
static bool is_lasting(const struct wo__classing *work, const struct wo_instance *instance) {
  const uint32_t end = instance->birth == WO_NO_REQUEST ? work->start_end : work->program_end;
  return instance->death == WO_NO_REQUEST || instance->death >= end;
}

/* Whether an instance is still there when its phase is over. */
static bool outlives_pass(const struct wo__classing *work, const struct wo_instance *instance) {
  assert(instance->birth != WO_NO_REQUEST);
  return is_lasting(work, instance) || instance->death >= work->pass_end[instance->birth];
}

/* Whether an instance may be a parameter by its life: alive from the start to the end. In a recording of a whole program nothing
 * is alive at the start; there, parameters are the instances made during setup or, if no stack shows setup, all instances that
 * forward made and never freed. (A recording that ends in the middle of a step keeps that step's activations, so forward counts
 * only in this case.) */
static bool may_be_parameter(const struct wo__classing *work, size_t i, bool has_setup) {
  enum wo_phase phase = work->classes->marks.items[i].phase;
  if (!is_lasting(work, &work->pattern->instances.items[i])) return false;
  if (work->pattern->start_count > 0) return phase == WO_PHASE_START;
  if (has_setup) return (wo__class_facts(work, i).flags & WO_STACK_SETUP) != 0;
  return phase == WO_PHASE_FORWARD;
}

/* Counts the sizes that parameters may have. */
static bool count_lasting(struct wo__classing *work) {
  bool has_setup = (work->classes->facts.all_flags & WO_STACK_SETUP) != 0;
  for (size_t i = 0; i < work->pattern->instances.count; i++) {
    if (!may_be_parameter(work, i, has_setup)) continue;
    if (!wo_size_counts_add(&work->lasting, work->pattern->instances.items[i].size_bytes)) return false;
  }
  wo_size_counts_sort(&work->lasting);
  return true;
}

/* Classes that the stack alone decides, and those of the optimizer's step. */
static void class_by_stack(struct wo__classing *work) {
  for (size_t i = 0; i < work->pattern->instances.count; i++) {
    const struct wo_instance *instance = &work->pattern->instances.items[i];
    struct wo_stack_facts facts = wo__class_facts(work, i);
    enum wo_phase phase = work->classes->marks.items[i].phase;
    if ((facts.flags & (WO_STACK_WORKSPACE | WO_STACK_PLAN)) != 0)
      wo__class_set(work, i, WO_CLASS_RULE_WORKSPACE);
    else if ((facts.flags & WO_STACK_COMMUNICATION) != 0)
      wo__class_set(work, i, WO_CLASS_RULE_COMMUNICATION);
    else if (phase == WO_PHASE_OPTIMIZER && outlives_pass(work, instance))
      wo__class_set(work, i, WO_CLASS_RULE_OPTIMIZER_STATE);
    else if (phase == WO_PHASE_OPTIMIZER)
      wo__class_set(work, i, WO_CLASS_RULE_OPTIMIZER_TEMPORARY);
    else if ((facts.flags & WO_STACK_RECOMPUTE) != 0 && phase == WO_PHASE_BACKWARD)
      wo__class_set(work, i, WO_CLASS_RULE_RECOMPUTED);
  }
}

/* Whether an instance is freed between the last birth of its pass and the next of forward: by a step that makes nothing
 * (momentum, in place), after which gradients go. What the last birth was made of goes there too, but at once. */
static bool is_freed_by_step(const struct wo__classing *work, const struct wo_instance *instance) {
  const uint32_t end = work->pass_end[instance->birth], last = work->pass_last[instance->birth];
  const bool is_before_forward = end < work->pattern->requests.count && work->phase_at[end] == WO_PHASE_FORWARD;
  if (!is_before_forward || instance->death <= last || work->born_at[last] == WO_NO_INSTANCE) return false;
  const struct wo_instance *const made = &work->pattern->instances.items[work->born_at[last]];
  const bool has_its_elements = made->size_bytes == instance->size_bytes || made->size_bytes == 2 * instance->size_bytes;
  return made == instance || instance->death > last + WO__CONSUMED_WITHIN || !has_its_elements;
}

/* Gradients: instances as large as a parameter that outlive backward, which made them. */
static bool class_gradients(struct wo__classing *work) {
  for (size_t i = 0; i < work->pattern->instances.count; i++) {
    const struct wo_instance *instance = &work->pattern->instances.items[i];
    if (work->classes->marks.items[i].phase != WO_PHASE_BACKWARD || !wo__class_is_open(work, i)) continue;
    if (!outlives_pass(work, instance) && !is_freed_by_step(work, instance)) continue;
    if (wo_size_counts_of(&work->lasting, instance->size_bytes) == 0) continue;
    wo__class_set(work, i, WO_CLASS_RULE_GRADIENT);
    if (!wo_size_counts_add(&work->gradients, instance->size_bytes)) return false;
  }
  wo_size_counts_sort(&work->gradients);
  return true;
}

/* The rule for an instance that was alive at the start and dies, by the time of its death. */
static enum wo_class_rule rule_of_replaced(const struct wo__classing *work, const struct wo_instance *instance) {
  enum wo_phase phase = work->phase_at[instance->death];
  bool has_gradient = wo_size_counts_find(&work->gradients, instance->size_bytes) != NULL;
  bool is_parameter_size = has_gradient || wo_size_counts_of(&work->lasting, instance->size_bytes) > 0;
  if (phase == WO_PHASE_OPTIMIZER) return WO_CLASS_RULE_START_REPLACED_STATE;
  if (is_parameter_size && phase == WO_PHASE_START) return WO_CLASS_RULE_START_GRADIENT;
  if (has_gradient) return WO_CLASS_RULE_START_GRADIENT;
  return WO_CLASS_RULE_START_ACTIVATION;
}

/* How many gradients of each size are alive at once: those of one step, which are as many as the parameters that it trains. False
 * when memory is out. */
static bool count_trained(struct wo__classing *work) {
  const struct wo_alloc_pattern *const pattern = work->pattern;
  struct wo_size_counts *const trained = &work->trained;
  for (size_t i = 0; i < work->gradients.count; i++) {
    if (!wo_size_counts_add(trained, work->gradients.items[i].size_bytes)) return false;
    trained->items[i].count = 0;
  }
  uint32_t *const alive = calloc(trained->count + 1, sizeof *alive);
  if (!alive) return false;
  for (size_t r = 0; r < pattern->requests.count && trained->count > 0; r++) {
    const uint32_t born = work->born_at[r], freed = work->freed_at[r];
    const uint32_t at = born != WO_NO_INSTANCE ? born : freed;
    if (at == WO_NO_INSTANCE || work->classes->marks.items[at].rule != WO_CLASS_RULE_GRADIENT) continue;
    struct wo_size_count *const row = wo_size_counts_find(trained, pattern->instances.items[at].size_bytes);
    uint32_t *const now = &alive[row - trained->items];
    *now = born != WO_NO_INSTANCE ? *now + 1 : *now - 1;
    if (*now > row->count) row->count = *now;
  }
  free(alive);
  return true;
}

/* Classes the instances that were alive at the start. `left` counts down the parameters of each size: there are as many as
 * gradients, the others are states. */
static void class_start(struct wo__classing *work, struct wo_size_counts *left) {
  for (size_t i = 0; i < work->pattern->instances.count; i++) {
    const struct wo_instance *instance = &work->pattern->instances.items[i];
    if (work->classes->marks.items[i].phase != WO_PHASE_START || !wo__class_is_open(work, i)) continue;
    struct wo_stack_facts facts = wo__class_facts(work, i);
    struct wo_size_count *row = wo_size_counts_find(left, instance->size_bytes);
    enum wo_class_rule rule = WO_CLASS_RULE_PARAMETER;
    if ((facts.flags & WO_STACK_OPTIMIZER) != 0)
      rule = WO_CLASS_RULE_OPTIMIZER_STATE;
    else if ((facts.flags & WO_STACK_SETUP) != 0)
      rule = WO_CLASS_RULE_START_SETUP;
    else if (!is_lasting(work, instance))
      rule = rule_of_replaced(work, instance);
    else if (row != NULL && row->count == 0)
      rule = WO_CLASS_RULE_START_STATE;
    else if (row != NULL)
      row->count--;
    wo__class_set(work, i, rule);
  }
}

/* The largest allocation of the loss in forward; 0 when there is none. */
static uint64_t largest_in_loss(const struct wo__classing *work, size_t *ret_first) {
  uint64_t largest = 0;
  *ret_first = SIZE_MAX;
  for (size_t i = 0; i < work->pattern->instances.count; i++) {
    struct wo_stack_facts facts = wo__class_facts(work, i);
    if (work->classes->marks.items[i].phase != WO_PHASE_FORWARD || (facts.flags & WO_STACK_LOSS) == 0) continue;
    if ((facts.flags & WO_STACK_SCRATCH) != 0) continue;
    if (*ret_first == SIZE_MAX) *ret_first = i;
    if (work->pattern->instances.items[i].size_bytes > largest) largest = work->pattern->instances.items[i].size_bytes;
  }
  return largest;
}

/* Logits: the large allocations of the loss, forward and backward, and the product right before the loss that makes its input. */
static void class_logits(struct wo__classing *work) {
  enum { BEFORE_LOSS = 16 };
  size_t first;
  uint64_t largest = largest_in_loss(work, &first);
  if (largest == 0) return;
  for (size_t i = 0; i < work->pattern->instances.count; i++) {
    uint64_t size = work->pattern->instances.items[i].size_bytes;
    struct wo_stack_facts facts = wo__class_facts(work, i);
    enum wo_phase phase = work->classes->marks.items[i].phase;
    if (!wo__class_is_open(work, i) || phase == WO_PHASE_START || size < largest / 4) continue;
    bool is_in_loss = (facts.flags & WO_STACK_LOSS) != 0;
    bool is_before = i < first && first - i <= BEFORE_LOSS && (size == largest || size * 2 == largest || size * 4 == largest);
    if (is_in_loss || is_before) wo__class_set(work, i, WO_CLASS_RULE_LOGITS);
  }
}

static int compare_made(const void *a, const void *b) {
  const struct wo__made *left = a, *right = b;
  if (left->stack != right->stack) return left->stack < right->stack ? -1 : 1;
  return (left->size_bytes > right->size_bytes) - (left->size_bytes < right->size_bytes);
}

/* Gathers the instances that forward made and that were freed. */
static bool gather_remade(struct wo__classing *work) {
  size_t count = work->pattern->instances.count;
  work->remade = malloc((count > 0 ? count : 1) * sizeof work->remade[0]);
  if (work->remade == NULL) return false;
  for (size_t i = work->pattern->start_count; i < count; i++) {
    const struct wo_instance *instance = &work->pattern->instances.items[i];
    if (work->classes->marks.items[i].phase != WO_PHASE_FORWARD || instance->stack == WO_NO_STACK) continue;
    if (!is_lasting(work, instance))
      work->remade[work->remade_count++] = (struct wo__made){instance->size_bytes, instance->stack};
  }
  qsort(work->remade, work->remade_count, sizeof work->remade[0], compare_made);
  return true;
}

/* Whether an instance that a whole program made and never freed is constant. It is not if its pass did not end (jobs die in the
 * middle of a pass), or if it is a variable that earlier passes set, too, and no later pass has set it again. If no stack shows
 * setup, parameters are among the constant ones. */
static bool is_persistent(const struct wo__classing *work, const struct wo_instance *instance, struct wo_stack_facts facts) {
  if (work->pattern->start_count > 0 || !is_lasting(work, instance) || facts.kind == WO_OP_MATMUL) return false;
  bool has_setup = (work->classes->facts.all_flags & WO_STACK_SETUP) != 0;
  struct wo__made made = {instance->size_bytes, instance->stack};
  bool is_remade = bsearch(&made, work->remade, work->remade_count, sizeof made, compare_made) != NULL;
  const uint32_t before = is_remade ? work->earlier_backward : work->last_backward;
  return !has_setup || instance->birth < before;
}

/* The rule by phase and life, for all instances that no special rule took. */
static enum wo_class_rule rule_by_life(const struct wo__classing *work, size_t i) {
  const struct wo_instance *instance = &work->pattern->instances.items[i];
  struct wo_stack_facts facts = wo__class_facts(work, i);
  if (work->classes->marks.items[i].phase == WO_PHASE_BACKWARD) return WO_CLASS_RULE_BACKWARD_TEMPORARY;
  if ((facts.flags & WO_STACK_DATA) != 0) return WO_CLASS_RULE_INPUT;
  if ((facts.flags & WO_STACK_SETUP) != 0) return WO_CLASS_RULE_START_SETUP; /* also what is converted and goes */
  bool has_stacks = work->classes->facts.all_flags != 0;
  if (!has_stacks && is_lasting(work, instance)) {
    /* In a whole program the instance counts itself. */
    uint32_t itself = work->pattern->start_count == 0 ? 1 : 0;
    bool is_parameter_size = wo_size_counts_of(&work->lasting, instance->size_bytes) > itself;
    return is_parameter_size ? WO_CLASS_RULE_SIZE_OF_PARAMETER : WO_CLASS_RULE_PERSISTENT;
  }
  if (is_persistent(work, instance, facts)) return WO_CLASS_RULE_PERSISTENT;
  return outlives_pass(work, instance) ? WO_CLASS_RULE_ACTIVATION : WO_CLASS_RULE_FORWARD_TEMPORARY;
}

/* Notes who is born and who dies at each request, so that neighbours in time can be found. */
static bool index_requests(struct wo__classing *work) {
  const struct wo_alloc_pattern *pattern = work->pattern;
  size_t count = pattern->requests.count > 0 ? pattern->requests.count : 1;
  work->born_at = malloc(count * sizeof work->born_at[0]);
  work->freed_at = malloc(count * sizeof work->freed_at[0]);
  work->pass_end = calloc(count, sizeof work->pass_end[0]);
  work->pass_last = calloc(count, sizeof work->pass_last[0]);
  work->phase_at = calloc(count, sizeof work->phase_at[0]);
  if (!work->born_at || !work->freed_at || !work->pass_end || !work->pass_last || !work->phase_at) return false;
  memset(work->born_at, 0xff, count * sizeof work->born_at[0]);
  memset(work->freed_at, 0xff, count * sizeof work->freed_at[0]);
  for (size_t i = 0; i < pattern->instances.count; i++) {
    const struct wo_instance *instance = &pattern->instances.items[i];
    if (instance->birth != WO_NO_REQUEST) work->born_at[instance->birth] = (uint32_t)i;
    if (instance->death != WO_NO_REQUEST) work->freed_at[instance->death] = (uint32_t)i;
  }
  return true;
}

/* Whether the frees from request `first` on, after which nothing is allocated, are the end of the program: they free its model,
 * or nearly all memory. A step may also end with frees (of gradients), but parameters stay. */
static bool is_teardown(const struct wo__classing *work, size_t first) {
  enum { LEFT_MAX_PCT = 10 };
  const struct wo_alloc_pattern *pattern = work->pattern;
  double alive_bytes = 0, left_bytes = 0;
  for (size_t i = 0; i < pattern->instances.count; i++) {
    const struct wo_instance *instance = &pattern->instances.items[i];
    bool is_left = instance->death == WO_NO_REQUEST;
    if (!is_left && instance->death < first) continue;
    alive_bytes += (double)instance->size_bytes;
    if (is_left)
      left_bytes += (double)instance->size_bytes;
    else if ((wo__class_facts(work, i).flags & WO_STACK_SETUP) != 0)
      return true;
  }
  return left_bytes * 100 < alive_bytes * (double)LEFT_MAX_PCT;
}

/* Whether a recording from the middle of a run goes on behind a step of the optimizer: what it begins with and still has at its
 * end is no part of a step. */
static bool passes_a_step(const struct wo__classing *work) {
  for (size_t r = 1; r < work->pattern->requests.count && work->pattern->start_count > 0; r++) {
    if (work->phase_at[r - 1] == WO_PHASE_OPTIMIZER && work->phase_at[r] != WO_PHASE_OPTIMIZER) return true;
  }
  return false;
}

/* A recording may go on while the program ends: functions return, or an exception unwinds them, and their model is freed. */
static void find_end(struct wo__classing *work) {
  size_t count = work->pattern->requests.count;
  size_t first = count;
  while (first > 0 && work->born_at[first - 1] == WO_NO_INSTANCE) first--;
  const bool is_end = first < count && is_teardown(work, first);
  work->program_end = (uint32_t)(is_end ? first : count);
  work->start_end = (uint32_t)(is_end || passes_a_step(work) ? first : count);
}

/* The order matters: gradients need the sizes of parameters, weights need the sizes of gradients, and the last step takes what is
 * left. */
static enum wo_status class_all(struct wo__classing *work, const struct wo_trace *trace) {
  if (!index_requests(work)) return WO_E_NOMEM;
  find_phases(work, trace);
  find_end(work);
  if (!gather_remade(work)) return WO_E_NOMEM;
  class_by_stack(work);
  if (!wo__class_scratch(work) || !count_lasting(work) || !class_gradients(work)) return WO_E_NOMEM;
  wo__class_gradient_sources(work);
  enum wo_status status = wo__class_weight_copies(work);
  if (status != WO_OK) return status;
  class_logits(work);
  if (!count_trained(work)) return WO_E_NOMEM;
  class_start(work, &work->trained);
  for (size_t i = 0; i < work->pattern->instances.count; i++) {
    if (wo__class_is_open(work, i)) wo__class_set(work, i, rule_by_life(work, i));
  }
  return WO_OK;
}

enum wo_status wo_classify(struct wo_alloc_pattern *pattern, const struct wo_trace *trace, struct wo_classes *ret_classes) {
  struct wo_classes classes = {0};
  struct wo__classing work = {.pattern = pattern, .classes = &classes};
  enum wo_status status = wo_stack_facts_make(pattern->recording, &classes.facts);
  size_t count = pattern->instances.count;
  if (status == WO_OK && count > 0 && !WO_VEC_RESERVE(&classes.marks, count, SIZE_MAX)) status = WO_E_NOMEM;
  if (status == WO_OK) {
    for (; classes.marks.count < count; classes.marks.count++) {
      classes.marks.items[classes.marks.count] = (struct wo_class_mark){.rule = WO_CLASS_RULE_COUNT_};
    }
    status = class_all(&work, trace);
  }
  free(work.born_at);
  free(work.freed_at);
  free(work.pass_end);
  free(work.pass_last);
  free(work.phase_at);
  free(work.remade);
  wo_size_counts_done(&work.lasting);
  wo_size_counts_done(&work.gradients);
  wo_size_counts_done(&work.trained);
  if (status != WO_OK) {
    wo_classes_done(&classes);
    return status;
  }
  *ret_classes = classes;
  return WO_OK;
}

void wo_classes_done(struct wo_classes *classes) {
  if (classes == NULL) return;
  WO_VEC_DONE(&classes->marks);
  wo_stack_facts_done(&classes->facts);
}
