/* SPDX-License-Identifier: Apache-2.0 */
/* Activation checkpointing by layers: the tensors that a layer saves for backward, except its output, are freed at the end of the
 * layer. They are made again when backward reaches the layer, with the temporaries of that second forward.
 *
 * Layers are found by repetition: saved tensors are grouped by stack and size. The groups with the most common count (by bytes)
 * have one member for each layer; the first born of these groups marks where layers begin. A program may have several stacks of
 * layers (an encoder and a decoder, two towers): what is left outside of the first is searched in the same way. The output of a
 * layer is the last allocation that is alive where the layer ends: often one that the next layer saves, or a temporary that the
 * checkpoint now has to keep. Casts of weights outlive their layer: autocast keeps them until forward is over. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cuda_replay/change/transform_internal.h"
#include "parsers/base/arena.h"

struct segment {
  size_t first, end;   /* requests of forward */
  size_t stop;         /* the second forward needs no request from here on: all saved tensors exist */
  size_t recompute_at; /* it runs again before this request of backward; SIZE_MAX: never */
  uint32_t output;     /* an instance that nothing saved but the checkpoint keeps; WO__GONE: none */
};

struct checkpoint {
  const struct wo_transform_request *request;
  struct wo__rewriting pattern;
  struct wo_arena arena;   /* of the following */
  size_t *next_backward;   /* for each request: the next one born in backward */
  uint8_t *is_saved;       /* saved for backward, freed and made again */
  uint8_t *is_extended;    /* an output that lives longer than in the recording */
  uint32_t *segment_of;    /* for each instance: segment + 1 that it was born in; 0: in none that runs again */
  uint32_t *ends_at;       /* for each request: segment + 1 that ends before it */
  uint32_t *recomputes_at; /* for each request: segment + 1 that runs again before it */
  struct segment *segments;
  size_t segment_count;
};

static const struct wo_instance *instance_of(const struct checkpoint *work, size_t i) {
  return &work->request->pattern->instances.items[i];
}

/* Whether an instance is saved for backward: an activation or a copy of a weight that is freed there. */
static bool is_saved(const struct checkpoint *work, size_t i) {
  const struct wo_instance *instance = instance_of(work, i);
  enum wo_class_rule rule = wo__rule_of(work->request, i);
  bool is_class =
      rule == WO_CLASS_RULE_ACTIVATION || rule == WO_CLASS_RULE_MAYBE_WEIGHT_COPY || rule == WO_CLASS_RULE_WEIGHT_COPY;
  if (!is_class || instance->birth == WO_NO_REQUEST || instance->death == WO_NO_REQUEST) return false;
  if (work->request->classes->marks.items[i].phase != WO_PHASE_FORWARD) return false;
  return instance->death > work->next_backward[instance->birth];
}

/* Whether an instance is a copy of a weight. */
static bool is_weight(const struct checkpoint *work, size_t i) {
  return wo__rule_of(work->request, i) == WO_CLASS_RULE_WEIGHT_COPY;
}

/* Whether an instance is a copy of a weight that autocast keeps until forward is over; one that was unpacked is freed with its
 * layer. */
static bool is_cached(const struct checkpoint *work, size_t i) {
  struct wo_stack_facts facts = wo_stack_facts_of(&work->request->classes->facts, instance_of(work, i)->stack);
  return is_weight(work, i) && (facts.flags & WO_STACK_DEQUANTIZE) == 0;
}

/* ---- Layers ---- */

struct group {
  uint64_t size_bytes;
  uint32_t stack;
  uint32_t first; /* the first born, as an instance */
  uint32_t count;
};

/* By stack and size, so that members of a group are adjacent, the first born first. */
static int compare_groups(const void *a, const void *b) {
  const struct group *left = a, *right = b;
  if (left->stack != right->stack) return left->stack < right->stack ? -1 : 1;
  if (left->size_bytes != right->size_bytes) return left->size_bytes < right->size_bytes ? -1 : 1;
  return (left->first > right->first) - (left->first < right->first);
}

/* By the number of members, then by birth. */
static int compare_counts(const void *a, const void *b) {
  const struct group *left = a, *right = b;
  if (left->count != right->count) return left->count < right->count ? -1 : 1;
  return (left->first > right->first) - (left->first < right->first);
}

/* Whether a request lies in a segment. Segments are in order. */
static bool is_inside(const struct checkpoint *work, size_t request) {
  size_t low = 0, high = work->segment_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (work->segments[middle].end <= request)
      low = middle + 1;
    else
      high = middle;
  }
  return low < work->segment_count && work->segments[low].first <= request;
}

/* Collects saved instances outside of the segments in groups; returns the number of groups. */
static size_t gather_groups(const struct checkpoint *work, struct group *groups) {
  size_t count = 0, kept = 0;
  for (size_t i = work->request->pattern->start_count; i < work->request->pattern->instances.count; i++) {
    if (work->is_saved[i] == 0 || instance_of(work, i)->stack == WO_NO_STACK) continue;
    if (is_inside(work, instance_of(work, i)->birth)) continue;
    groups[count++] = (struct group){instance_of(work, i)->size_bytes, instance_of(work, i)->stack, (uint32_t)i, 1};
  }
  if (count == 0) return 0;
  qsort(groups, count, sizeof groups[0], compare_groups);
  for (size_t i = 1; i < count; i++) {
    if (groups[i].stack == groups[kept].stack && groups[i].size_bytes == groups[kept].size_bytes)
      groups[kept].count++;
    else
      groups[++kept] = groups[i];
  }
  return kept + 1;
}

/* Layers that are found after the first ones have at least this part of the bytes that are saved outside of these. */
enum { LATER_MIN_PCT = 10 };

/* The group that marks the layers: the first born of those with the count that has the most bytes. NULL if nothing repeats. */
static const struct group *find_marker(const struct checkpoint *work, struct group *groups, size_t count) {
  const struct group *best = NULL;
  double most = 0, all = 0;
  for (size_t i = 0; i < count; i++) all += (double)groups[i].size_bytes * groups[i].count;
  qsort(groups, count, sizeof groups[0], compare_counts);
  for (size_t first = 0, end; first < count; first = end) {
    double bytes = 0;
    for (end = first; end < count && groups[end].count == groups[first].count; end++) {
      bytes += (double)groups[end].size_bytes * groups[end].count;
    }
    if (groups[first].count < 2 || bytes <= most) continue;
    most = bytes;
    best = &groups[first];
  }
  if (work->segment_count > 0 && most < all * (double)LATER_MIN_PCT / 100) return NULL;
  return best;
}

/* For each forward pass, by the request of backward that follows it: the size that marks its layers. A pass of another length has
 * the marker's tensors in another size: that of the first one there. False if memory is out. */
static bool find_sizes(const struct checkpoint *work, const struct group *marker, uint64_t **ret_sizes) {
  const struct wo_alloc_pattern *from = work->request->pattern;
  uint64_t *sizes = calloc(from->requests.count + 1, sizeof sizes[0]);
  for (size_t i = from->start_count; sizes && i < from->instances.count; i++) {
    const struct wo_instance *instance = instance_of(work, i);
    if (work->is_saved[i] == 0 || instance->stack != marker->stack) continue;
    uint64_t *size = &sizes[work->next_backward[instance->birth]];
    if (*size == 0 || instance->size_bytes == marker->size_bytes) *size = instance->size_bytes;
  }
  *ret_sizes = sizes;
  return sizes != NULL;
}

static int compare_segments(const void *a, const void *b) {
  const struct segment *const left = a, *const right = b;
  return (left->first > right->first) - (left->first < right->first);
}

/* Puts segments in order; none reaches into the next one. */
static void sort_segments(struct checkpoint *work) {
  qsort(work->segments, work->segment_count, sizeof work->segments[0], compare_segments);
  for (size_t i = 1; i < work->segment_count; i++) {
    if (work->segments[i - 1].end > work->segments[i].first) work->segments[i - 1].end = work->segments[i].first;
  }
}

/* Whether layers repeat inside of a pass: what occurs once in each pass is no layer. */
static bool repeats_in_pass(const struct checkpoint *work, const struct group *marker) {
  size_t pass = SIZE_MAX, members = 0, passes = 0;
  for (size_t i = work->request->pattern->start_count; i < work->request->pattern->instances.count; i++) {
    const struct wo_instance *instance = instance_of(work, i);
    if (work->is_saved[i] == 0 || instance->stack != marker->stack || is_inside(work, instance->birth)) continue;
    members++;
    passes += work->next_backward[instance->birth] != pass;
    pass = work->next_backward[instance->birth];
  }
  return 2 * members >= 3 * passes;
}

/* Cuts forward, outside of the segments that are there, at every `step`-th member of the marker. False if memory is out. */
static bool cut_segments(struct checkpoint *work, const struct group *marker) {
  const struct wo_alloc_pattern *from = work->request->pattern;
  uint32_t wanted = work->request->amount;
  size_t step = wanted == 0 || wanted >= marker->count ? 1 : (marker->count + wanted - 1) / wanted;
  size_t seen = 0;
  const size_t before = work->segment_count;
  struct checkpoint outside = *work; /* the segments that were there */
  uint64_t *sizes;
  if (!find_sizes(work, marker, &sizes)) return false;
  for (size_t i = from->start_count; i < from->instances.count; i++) {
    const struct wo_instance *instance = instance_of(work, i);
    if (work->is_saved[i] == 0 || instance->stack != marker->stack) continue;
    if (instance->size_bytes != sizes[work->next_backward[instance->birth]] || is_inside(&outside, instance->birth)) continue;
    if (seen++ % step != 0) continue;
    struct segment *segment = &work->segments[work->segment_count++];
    size_t end = work->next_backward[instance->birth];
    *segment = (struct segment){.first = instance->birth, .end = end, .recompute_at = SIZE_MAX, .output = WO__GONE};
    if (work->segment_count > before + 1 && segment[-1].end > segment->first) segment[-1].end = segment->first;
  }
  free(sizes);
  return true;
}

/* The birth of an instance; for the index after the last one, the end of the requests. */
static size_t birth_of(const struct checkpoint *work, size_t i) {
  const struct wo_alloc_pattern *from = work->request->pattern;
  return i < from->instances.count ? instance_of(work, i)->birth : from->requests.count;
}

/* The number of instances from `a` and from `b` on with the same stacks and sizes, at most `most`. */
static size_t count_alike(const struct checkpoint *work, size_t a, size_t b, size_t most) {
  size_t count = 0;
  while (count < most && b + count < work->request->pattern->instances.count) {
    const struct wo_instance *left = instance_of(work, a + count), *right = instance_of(work, b + count);
    if (left->stack != right->stack || left->size_bytes != right->size_bytes) break;
    count++;
  }
  return count;
}

/* The forward pass in which an instance is born, by the request of backward that follows it. */
static size_t pass_of(const struct checkpoint *work, size_t i) {
  return work->next_backward[birth_of(work, i)];
}

/* Segments first .. end - 1 are consecutive. The marker may not be the first instance of a layer (a norm's temporary may precede
 * it), and the last segment has no next one that would end it. The last segment shows both: it is a layer as far as it is like
 * the one before; the rest of the one before is the beginning of the next. */
static void align_segments(struct checkpoint *work, size_t first, size_t end) {
  const struct wo_alloc_pattern *from = work->request->pattern;
  if (end - first < 2) return;
  size_t last = from->requests.items[work->segments[end - 1].first].subject;
  size_t before = from->requests.items[work->segments[end - 2].first].subject;
  size_t births = last - before, alike = count_alike(work, before, last, births);
  size_t shift = births - alike;
  size_t begin = from->requests.items[work->segments[first].first].subject;
  bool is_clear =
      alike > births / 2 && begin >= from->start_count + shift && birth_of(work, last + alike) <= work->segments[end - 1].end;
  if (!is_clear || pass_of(work, begin - shift) != pass_of(work, begin)) return;
  for (size_t i = first; i < end; i++) {
    struct segment *segment = &work->segments[i];
    segment->first = birth_of(work, from->requests.items[segment->first].subject - shift);
    if (i > first) segment[-1].end = segment->first;
  }
  work->segments[end - 1].end = birth_of(work, last + alike);
}

/* Aligns each range of consecutive segments from `begin` on, one for each forward pass. */
static void align_all(struct checkpoint *work, size_t begin) {
  for (size_t first = begin, end; first < work->segment_count; first = end) {
    for (end = first + 1; end < work->segment_count && work->segments[end - 1].end == work->segments[end].first;) end++;
    align_segments(work, first, end);
  }
}

/* The last instance of a segment that outlives it and is large enough to be its output (a few bytes are not); WO__GONE if there
 * is none. */
static uint32_t output_of(const struct checkpoint *work, const struct segment *segment) {
  enum { OUTPUT_MIN_BYTES = 4096 };
  const struct wo_alloc_pattern *from = work->request->pattern;
  for (size_t r = segment->end; r-- > segment->first;) {
    const struct wo_request *request = &from->requests.items[r];
    if (request->kind != WO_REQUEST_ALLOC) continue;
    const struct wo_instance *instance = instance_of(work, request->subject);
    enum wo_class_rule rule = wo__rule_of(work->request, request->subject);
    bool is_kind =
        rule == WO_CLASS_RULE_ACTIVATION || rule == WO_CLASS_RULE_FORWARD_TEMPORARY || rule == WO_CLASS_RULE_MAYBE_WEIGHT_COPY;
    if (is_kind && instance->death != WO_NO_REQUEST && instance->death >= segment->end &&
        instance->size_bytes >= OUTPUT_MIN_BYTES)
      return request->subject;
  }
  return WO__GONE;
}

/* Keeps an output: a saved one stays saved, another one lives until its own segment runs again. */
static void keep_output(struct checkpoint *work, struct segment *segment) {
  uint32_t output = output_of(work, segment);
  if (output == WO__GONE) return;
  if (work->is_saved[output] != 0) {
    work->is_saved[output] = 0;
  } else if (instance_of(work, output)->death < segment->recompute_at) {
    segment->output = output;
    work->is_extended[output] = 1;
  }
}

/* The operator that first frees a saved instance made its results immediately before. */
static size_t begin_of_operator(const struct checkpoint *work, size_t at) {
  const struct wo_alloc_pattern *from = work->request->pattern;
  while (at > 0 && from->requests.items[at - 1].kind == WO_REQUEST_ALLOC) at--;
  return at;
}

/* Removes from a segment what stays saved (its output, at the high end one more: the input of the next layer), and notes where
 * the segment runs again. */
static void settle_segment(struct checkpoint *work, size_t index) {
  const struct wo_alloc_pattern *from = work->request->pattern;
  struct segment *segment = &work->segments[index];
  assert(segment->first < segment->end);
  for (size_t r = segment->first; r < segment->end; r++) {
    const struct wo_request *request = &from->requests.items[r];
    if (request->kind != WO_REQUEST_ALLOC || work->is_saved[request->subject] == 0) continue;
    size_t death = instance_of(work, request->subject)->death;
    if (death < segment->recompute_at) segment->recompute_at = death;
  }
  if (segment->recompute_at == SIZE_MAX) return;
  segment->recompute_at = begin_of_operator(work, segment->recompute_at);
  keep_output(work, segment);
  if (work->request->bound == WO_BOUND_HIGH) {
    for (size_t r = segment->end; r-- > segment->first;) {
      const struct wo_request *request = &from->requests.items[r];
      if (request->kind != WO_REQUEST_ALLOC || work->is_saved[request->subject] == 0 || is_weight(work, request->subject))
        continue;
      work->is_saved[request->subject] = 0;
      break;
    }
  }
  for (size_t r = segment->first; r < segment->end; r++) {
    const struct wo_request *request = &from->requests.items[r];
    if (request->kind != WO_REQUEST_ALLOC) continue;
    work->segment_of[request->subject] = (uint32_t)index + 1;
    if (work->is_saved[request->subject] != 0) segment->stop = r + 1;
  }
  work->ends_at[segment->end] = (uint32_t)index + 1;
  work->recomputes_at[segment->recompute_at] = (uint32_t)index + 1;
}

/* Instances saved outside every segment stay. */
static void drop_outside(struct checkpoint *work) {
  const struct wo_alloc_pattern *from = work->request->pattern;
  size_t index = 0;
  for (size_t i = from->start_count; i < from->instances.count; i++) {
    uint32_t birth = instance_of(work, i)->birth;
    while (index < work->segment_count && work->segments[index].end <= birth) index++;
    bool is_inside = index < work->segment_count && work->segments[index].first <= birth;
    if (!is_inside) work->is_saved[i] = 0;
  }
}

/* ---- Writing ---- */

/* The segment is over: its saved instances are freed, except those that autocast keeps. */
static bool end_segment(struct checkpoint *work, const struct segment *segment) {
  const struct wo_alloc_pattern *from = work->request->pattern;
  for (size_t r = segment->first; r < segment->end; r++) {
    const struct wo_request *request = &from->requests.items[r];
    if (request->kind != WO_REQUEST_ALLOC || work->is_saved[request->subject] == 0) continue;
    if (!is_cached(work, request->subject) && !wo__free_now(&work->pattern, request->subject)) return false;
  }
  return true;
}

/* Only the program holds what a checkpointed layer makes, so most of it dies when the next operators have used it. The exact
 * moment is unknown: likely this many births later, at the high end at the end of the layer. */
static bool free_used(struct checkpoint *work, uint32_t made) {
  enum { USED_WITHIN = 3 };
  if (work->request->bound == WO_BOUND_HIGH || made < USED_WITHIN) return true;
  uint32_t used = made - USED_WITHIN;
  if (work->is_saved[used] == 0 || is_cached(work, used) || work->segment_of[used] == 0) return true;
  return work->segment_of[used] != work->segment_of[made] || wo__free_now(&work->pattern, used);
}

/* Forward is over: autocast frees its copies. */
static bool end_forward(struct checkpoint *work, size_t begin, size_t end) {
  const struct wo_alloc_pattern *from = work->request->pattern;
  for (size_t r = begin; r < end; r++) {
    const struct wo_request *request = &from->requests.items[r];
    if (request->kind != WO_REQUEST_ALLOC || work->is_saved[request->subject] == 0) continue;
    if (is_cached(work, request->subject) && !wo__free_now(&work->pattern, request->subject)) return false;
  }
  return true;
}

/* Whether an instance is one of the segment's temporaries, which its second forward also makes and frees. */
static bool is_temporary(const struct checkpoint *work, const struct segment *segment, uint32_t i) {
  const struct wo_instance *instance = instance_of(work, i);
  bool is_inside = instance->birth != WO_NO_REQUEST && instance->birth >= segment->first && instance->death < segment->end;
  return is_inside && instance->death != instance->birth && work->is_saved[i] == 0;
}

/* Runs the second forward, request by request, up to the last one that makes a saved instance; then frees the remaining
 * temporaries. */
static bool run_again(struct checkpoint *work, const struct segment *segment) {
  const struct wo_alloc_pattern *from = work->request->pattern;
  for (size_t r = segment->first; r < segment->end; r++) {
    const struct wo_request *request = &from->requests.items[r];
    uint32_t i = request->subject;
    if (!wo_request_has_instance(request)) continue;
    uint32_t *now = &work->pattern.now[i];
    bool is_alloc = request->kind == WO_REQUEST_ALLOC, is_short = is_temporary(work, segment, i);
    if (is_alloc && r < segment->stop && (is_short || work->is_saved[i] != 0) && *now == WO__GONE) {
      if (!wo_alloc_pattern_add_alloc(&work->pattern.to, *instance_of(work, i), WO_NO_ENTRY, now)) return false;
    } else if (request->kind == WO_REQUEST_FREE && is_short && !wo__free_now(&work->pattern, i)) {
      return false;
    }
  }
  return segment->output == WO__GONE || wo__free_now(&work->pattern, segment->output);
}

/* Drops frees of instances that no longer exist (freed with their segment and not made again). */
static bool write_request(struct checkpoint *work, const struct wo_request *request) {
  const bool is_free = request->kind == WO_REQUEST_FREE || request->kind == WO_REQUEST_DEFER;
  if (is_free && work->is_extended[request->subject] != 0) return true;
  if (!wo__repeat_request(&work->pattern, request)) return false;
  if (request->kind == WO_REQUEST_FREE) work->pattern.now[request->subject] = WO__GONE;
  if (request->kind != WO_REQUEST_ALLOC) return true;
  const struct wo_instance *const instance = instance_of(work, request->subject);
  return instance->death == instance->birth || free_used(work, request->subject);
}

/* Segments end and run again before the request at which this is noted. */
static bool write_all(struct checkpoint *work) {
  const struct wo_alloc_pattern *from = work->request->pattern;
  size_t forward = 0;
  for (size_t r = 0; r < from->requests.count; r++) {
    if (work->ends_at[r] != 0 && !end_segment(work, &work->segments[work->ends_at[r] - 1])) return false;
    if (work->next_backward[r] == r) {
      if (!end_forward(work, forward, r)) return false;
      forward = r + 1;
    }
    if (work->recomputes_at[r] != 0 && !run_again(work, &work->segments[work->recomputes_at[r] - 1])) return false;
    if (!write_request(work, &from->requests.items[r])) return false;
  }
  return true;
}

/* ---- All together ---- */

static bool prepare(struct checkpoint *work) {
  const struct wo_alloc_pattern *from = work->request->pattern;
  size_t requests = from->requests.count + 1, instances = from->instances.count + 1;
  wo_arena_init(&work->arena, SIZE_MAX);
  work->next_backward = wo_arena_array(&work->arena, requests, sizeof work->next_backward[0]);
  work->ends_at = wo_arena_array(&work->arena, requests, sizeof work->ends_at[0]);
  work->recomputes_at = wo_arena_array(&work->arena, requests, sizeof work->recomputes_at[0]);
  work->is_saved = wo_arena_array(&work->arena, instances, 1);
  work->is_extended = wo_arena_array(&work->arena, instances, 1);
  work->segment_of = wo_arena_array(&work->arena, instances, sizeof work->segment_of[0]);
  work->segments = wo_arena_array(&work->arena, instances, sizeof work->segments[0]);
  if (wo_arena_is_exhausted(&work->arena)) return false;
  size_t next = from->requests.count;
  for (size_t r = from->requests.count; r-- > 0;) {
    const struct wo_request *request = &from->requests.items[r];
    bool is_birth = request->kind == WO_REQUEST_ALLOC;
    if (is_birth && work->request->classes->marks.items[request->subject].phase == WO_PHASE_BACKWARD) next = r;
    work->next_backward[r] = next;
  }
  for (size_t i = 0; i < from->instances.count; i++) work->is_saved[i] = is_saved(work, i);
  return true;
}

/* Finds the layers that are left outside of the segments. False if memory is out; *ret_is_found: whether there were some. */
static bool find_layers(struct checkpoint *work, struct group *groups, bool *ret_is_found) {
  const size_t before = work->segment_count;
  const struct group *const marker = find_marker(work, groups, gather_groups(work, groups));
  *ret_is_found = false;
  if (marker == NULL || (before > 0 && !repeats_in_pass(work, marker))) return true;
  if (!cut_segments(work, marker)) return false;
  align_all(work, before);
  sort_segments(work);
  *ret_is_found = work->segment_count > before;
  return true;
}

/* The most stacks of layers of one program. */
enum { STACKS_MAX = 8 };

/* Finds the segments. False if memory is out; finds none if nothing repeats. */
static bool find_segments(struct checkpoint *work) {
  struct group *groups = malloc((work->request->pattern->instances.count + 1) * sizeof groups[0]);
  bool is_found = true, is_done = groups != NULL;
  for (unsigned i = 0; i < STACKS_MAX && is_done && is_found; i++) is_done = find_layers(work, groups, &is_found);
  free(groups);
  if (!is_done) return false;
  for (size_t i = 0; i < work->segment_count; i++) settle_segment(work, i);
  drop_outside(work);
  return true;
}

enum wo_status wo__transform_checkpoint(const struct wo_transform_request *request, struct wo_alloc_pattern *ret_pattern,
                                        struct wo_err *err) {
  struct checkpoint work = {.request = request};
  const bool is_made =
      wo__rewriting_begin_alive(&work.pattern, request->pattern) && prepare(&work) && find_segments(&work) && write_all(&work);
  wo_arena_done(&work.arena);
  return wo__rewriting_end(&work.pattern, is_made,
                           work.segment_count > 0 ? NULL : "no layers were found: nothing that backward needs repeats in forward",
                           ret_pattern, err);
}
