/* Activation checkpointing by layers: what a layer saves for backward is freed at the end of the layer, but for its output, and
 * made again when backward reaches the layer.
 *
 * Layers are found by repetition: of the groups of saved tensors with the same stack and size, those of the most common count (by
 * bytes) are one for each layer; the first born of them marks where layers begin. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cuda_replay/transform_rewrite.h"

#define GONE UINT32_MAX

struct segment {
  size_t first, end;   /* requests of forward */
  size_t recompute_at; /* the request of backward before which it runs again; SIZE_MAX: never */
};

struct checkpoint {
  const struct wo_transform_request *request;
  struct wo_pattern to;
  size_t *next_backward;   /* for each request: the next one born in backward */
  uint8_t *is_saved;       /* saved for backward, freed and made again */
  uint32_t *now;           /* of each instance: who plays it */
  uint32_t *ends_at;       /* for each request: segment + 1 that ends before it */
  uint32_t *recomputes_at; /* for each request: segment + 1 that runs again before it */
  struct segment *segments;
  size_t segment_count;
};

static const struct wo_instance *instance_of(const struct checkpoint *work, size_t i) {
  return &work->request->pattern->instances.items[i];
}

/* Whether something is saved for backward: an activation or a copy of a weight that is freed there. */
static bool is_saved(const struct checkpoint *work, size_t i) {
  const struct wo_instance *instance = instance_of(work, i);
  enum wo_class_rule rule = wo__rule_of(work->request, i);
  bool is_class =
      rule == WO_CLASS_RULE_ACTIVATION || rule == WO_CLASS_RULE_MAYBE_WEIGHT_COPY || rule == WO_CLASS_RULE_WEIGHT_COPY;
  if (!is_class || instance->birth == WO_NO_REQUEST || instance->death == WO_NO_REQUEST) return false;
  if (work->request->classes->marks.items[i].phase != WO_PHASE_FORWARD) return false;
  return instance->death > work->next_backward[instance->birth];
}

/* ---- Layers ---- */

struct group {
  uint64_t size_bytes;
  uint32_t stack;
  uint32_t first; /* the first born, as an instance */
  uint32_t count;
};

/* By stack and size, so that members of a group stand together; the first born first. */
static int compare_groups(const void *a, const void *b) {
  const struct group *left = a, *right = b;
  if (left->stack != right->stack) return left->stack < right->stack ? -1 : 1;
  if (left->size_bytes != right->size_bytes) return left->size_bytes < right->size_bytes ? -1 : 1;
  return (left->first > right->first) - (left->first < right->first);
}

/* By how many members, then by birth. */
static int compare_counts(const void *a, const void *b) {
  const struct group *left = a, *right = b;
  if (left->count != right->count) return left->count < right->count ? -1 : 1;
  return (left->first > right->first) - (left->first < right->first);
}

/* Gathers what is saved into groups; returns their number. */
static size_t gather_groups(const struct checkpoint *work, struct group *groups) {
  size_t count = 0, kept = 0;
  for (size_t i = work->request->pattern->start_count; i < work->request->pattern->instances.count; i++) {
    if (work->is_saved[i] == 0 || instance_of(work, i)->stack == WO_NO_STACK) continue;
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

/* The group that marks the layers: of the count that holds most bytes, the first born. NULL when nothing repeats. */
static const struct group *find_marker(struct group *groups, size_t count) {
  const struct group *best = NULL;
  double most = 0;
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
  return best;
}

/* Cuts forward at every `step`-th member of the marker. */
static void cut_segments(struct checkpoint *work, const struct group *marker) {
  const struct wo_pattern *from = work->request->pattern;
  uint32_t wanted = work->request->amount;
  size_t step = wanted == 0 || wanted >= marker->count ? 1 : (marker->count + wanted - 1) / wanted;
  size_t seen = 0;
  for (size_t i = marker->first; i < from->instances.count; i++) {
    const struct wo_instance *instance = instance_of(work, i);
    bool is_member = work->is_saved[i] != 0 && instance->stack == marker->stack && instance->size_bytes == marker->size_bytes;
    if (!is_member || seen++ % step != 0) continue;
    struct segment *segment = &work->segments[work->segment_count++];
    *segment = (struct segment){instance->birth, work->next_backward[instance->birth], SIZE_MAX};
    if (work->segment_count > 1 && segment[-1].end > segment->first) segment[-1].end = segment->first;
  }
}

/* Takes what stays saved out of a segment (its last `keep` activations: the input of the next layer), and notes where it runs
 * again. */
static void settle_segment(struct checkpoint *work, size_t index) {
  const struct wo_pattern *from = work->request->pattern;
  struct segment *segment = &work->segments[index];
  assert(segment->first < segment->end);
  unsigned keep = work->request->bound == WO_BOUND_HIGH ? 2 : 1;
  for (size_t r = segment->end; r-- > segment->first;) {
    const struct wo_request *request = &from->requests.items[r];
    if (request->kind != WO_REQUEST_ALLOC || work->is_saved[request->subject] == 0) continue;
    const struct wo_instance *instance = instance_of(work, request->subject);
    if (instance->death < segment->recompute_at) segment->recompute_at = instance->death;
    bool is_activation = wo__rule_of(work->request, request->subject) != WO_CLASS_RULE_WEIGHT_COPY;
    if (keep == 0 || !is_activation) continue;
    work->is_saved[request->subject] = 0;
    keep--;
  }
  if (segment->recompute_at == SIZE_MAX) return;
  work->ends_at[segment->end] = (uint32_t)index + 1;
  work->recomputes_at[segment->recompute_at] = (uint32_t)index + 1;
}

/* What is saved outside of every segment stays. */
static void drop_outside(struct checkpoint *work) {
  const struct wo_pattern *from = work->request->pattern;
  size_t index = 0;
  for (size_t i = from->start_count; i < from->instances.count; i++) {
    uint32_t birth = instance_of(work, i)->birth;
    while (index < work->segment_count && work->segments[index].end <= birth) index++;
    bool is_inside = index < work->segment_count && work->segments[index].first <= birth;
    if (!is_inside) work->is_saved[i] = 0;
  }
}

/* ---- Writing ---- */

/* Frees the segment's tensors (is_again false) or makes them again. */
static bool play_segment(struct checkpoint *work, const struct segment *segment, bool is_again) {
  const struct wo_pattern *from = work->request->pattern;
  for (size_t r = segment->first; r < segment->end; r++) {
    const struct wo_request *request = &from->requests.items[r];
    if (request->kind != WO_REQUEST_ALLOC || work->is_saved[request->subject] == 0) continue;
    uint32_t *now = &work->now[request->subject];
    if (is_again) {
      if (*now == GONE && !wo_pattern_add_alloc(&work->to, *instance_of(work, request->subject), WO_NO_ENTRY, now)) return false;
    } else if (*now != GONE) {
      if (!wo_pattern_add_free(&work->to, *now)) return false;
      *now = GONE;
    }
  }
  return true;
}

/* Frees of what is not there any more (it was freed with its segment and nothing made it again) go. */
static bool write_request(struct checkpoint *work, const struct wo_request *request) {
  if (request->kind == WO_REQUEST_ALLOC) {
    const struct wo_instance *instance = instance_of(work, request->subject);
    uint32_t *now = &work->now[request->subject];
    if (instance->death == instance->birth) return wo_pattern_add_refused(&work->to, *instance, request->entry, now);
    return wo_pattern_add_alloc(&work->to, *instance, request->entry, now);
  }
  struct wo_request repeated = *request;
  if (wo_request_has_instance(request)) {
    repeated.subject = work->now[request->subject];
    if (repeated.subject == GONE) return true;
  }
  return wo_pattern_add_request(&work->to, repeated);
}

/* Segments end, and run again, before the request at which they are noted. */
static bool write_all(struct checkpoint *work) {
  const struct wo_pattern *from = work->request->pattern;
  for (uint32_t i = 0; i < from->instances.count; i++) work->now[i] = i < from->start_count ? i : GONE;
  for (size_t i = 0; i < from->start_count; i++) {
    if (!wo_pattern_add_start(&work->to, from->instances.items[i])) return false;
  }
  for (size_t r = 0; r < from->requests.count; r++) {
    if (work->ends_at[r] != 0 && !play_segment(work, &work->segments[work->ends_at[r] - 1], false)) return false;
    if (work->recomputes_at[r] != 0 && !play_segment(work, &work->segments[work->recomputes_at[r] - 1], true)) return false;
    if (!write_request(work, &from->requests.items[r])) return false;
  }
  return true;
}

/* ---- Whole ---- */

static bool prepare(struct checkpoint *work) {
  const struct wo_pattern *from = work->request->pattern;
  size_t requests = from->requests.count + 1, instances = from->instances.count + 1;
  work->next_backward = malloc(requests * sizeof work->next_backward[0]);
  work->ends_at = calloc(requests, sizeof work->ends_at[0]);
  work->recomputes_at = calloc(requests, sizeof work->recomputes_at[0]);
  work->is_saved = calloc(instances, 1);
  work->now = malloc(instances * sizeof work->now[0]);
  work->segments = malloc(instances * sizeof work->segments[0]);
  if (work->next_backward == NULL || work->ends_at == NULL || work->recomputes_at == NULL) return false;
  if (work->is_saved == NULL || work->now == NULL || work->segments == NULL) return false;
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

/* Finds the segments. False when memory is out; none are found when nothing repeats. */
static bool find_segments(struct checkpoint *work) {
  struct group *groups = malloc((work->request->pattern->instances.count + 1) * sizeof groups[0]);
  if (groups == NULL) return false;
  size_t count = gather_groups(work, groups);
  const struct group *marker = find_marker(groups, count);
  if (marker != NULL) cut_segments(work, marker);
  free(groups);
  for (size_t i = 0; i < work->segment_count; i++) settle_segment(work, i);
  drop_outside(work);
  return true;
}

static enum wo_status apply_checkpoint(const struct wo_transform_request *request, struct wo_pattern *ret_pattern,
                                       struct wo_err *err) {
  struct checkpoint work = {.request = request, .to = {.recording = request->pattern->recording}};
  bool is_made = prepare(&work) && find_segments(&work);
  bool has_layers = work.segment_count > 0;
  if (is_made && has_layers) is_made = write_all(&work);
  free(work.next_backward);
  free(work.ends_at);
  free(work.recomputes_at);
  free(work.is_saved);
  free(work.now);
  free(work.segments);
  if (is_made && has_layers) {
    *ret_pattern = work.to;
    return WO_OK;
  }
  wo_pattern_done(&work.to);
  if (!is_made) return wo_err_set(err, WO_E_NOMEM, "no memory for the changed recording");
  return wo_err_set(err, WO_E_RANGE, "no layers were found: nothing that backward needs repeats in forward");
}

const struct wo_transform wo__transform_checkpoint = {
    .name = "checkpoint",
    .summary = "activation checkpointing, in N segments or one for each layer that repeats",
    .amount_min = 0,
    .amount_max = 100000,
    .apply = apply_checkpoint,
    .assumption =
        "each segment keeps its output (at the high end two tensors) and makes all else again at once when backward reaches it; "
        "temporaries of that second forward are not counted"};
