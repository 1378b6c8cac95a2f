/* SPDX-License-Identifier: Apache-2.0 */
/* Which release of PyTorch failed: the versions that the inputs print, compared with the words of the failure.
 *
 * A job's inputs may show several environments (the node's, a container's, one that was just installed). The words of the failure
 * exclude some. Of the others, the version nearest above the failure counts; if there is none above and they differ, the release
 * is unknown. A version that a program or a list of packages prints beats one that a script requested. */
#include "analyzer/facts/facts_internal.h"
#include "parsers/base/exchange/torch_version.h"

/* No last release: all later known releases print it too. */
#define TORCH_OPEN 9999

struct wording {
  const char *words;
  uint16_t first, last;
};

/* Words in messages of PyTorch, and the releases that can print them, as 100 x major + minor. If a message contains several, all
 * of them hold. Evidence: the sources of 1.0 to 2.11, and dated messages. */
static const struct wording wordings[] = {
    {" cached)", 100, 103},
    {" reserved in total by PyTorch)", 104, 200},
    {"If reserved memory is >> allocated memory", 110, 200},
    {"torch.cuda.OutOfMemoryError: ", 113, 205},
    {"has a total capacty of", 201, 201},
    {"has a total capacity of", 202, TORCH_OPEN},
    {"try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments", 202, 209},
    {"allocated in private pools", 204, TORCH_OPEN},
    {"torch.OutOfMemoryError: ", 204, TORCH_OPEN},
    {"try setting PYTORCH_ALLOC_CONF=expandable_segments", 210, TORCH_OPEN},
    {"torch.AcceleratorError: ", 208, TORCH_OPEN},
    {"PYTORCH_CUDA_ALLOC_CONF is deprecated, use PYTORCH_ALLOC_CONF instead", 209, TORCH_OPEN},
};

/* Possible releases, and the event that shows them, or NULL. */
struct range {
  uint16_t first, last;
  const struct wo_event *event;
};

static void narrow(struct range *range, const struct wo_event *event) {
  for (size_t i = 0; i < sizeof wordings / sizeof wordings[0]; i++) {
    const struct wording *const row = &wordings[i];
    if (!wo_view_has(event->text, row->words)) continue;
    if (row->first > range->first) range->first = row->first;
    if (row->last < range->last) range->last = row->last;
    if (range->event == NULL) range->event = event;
  }
}

/* Words that contradict each other come from different programs, and are ignored. */
static struct range read_wordings(const struct wo_facts *facts, const struct wo_event *failure) {
  struct range range = {.first = 0, .last = TORCH_OPEN};
  if (failure != NULL && (failure->kind == WO_KIND_CUDA_OOM || failure->kind == WO_KIND_HIP_OOM)) narrow(&range, failure);
  wo_each_event (event, &facts->job->events) {
    if (event->mark == WO_MARK_ALLOCATOR_REMARK) narrow(&range, event);
  }
  return range.first > range.last ? (struct range){.first = 0, .last = TORCH_OPEN} : range;
}

/* Whether the event names a version of the wanted sort that can have failed this way. */
static bool is_candidate(const struct wo_event *event, const struct range *range, bool is_pinned, uint16_t *ret_release) {
  if (event->kind != WO_KIND_FRAMEWORK || event->is_quoted) return false;
  const struct wo_view version = wo_event_text(event, WO_FIELD_TORCH);
  if (version.len == 0 || !wo_torch_version_parse(version, ret_release)) return false;
  if ((event->mark == WO_MARK_TORCH_PINNED) != is_pinned) return false;
  return *ret_release >= range->first && *ret_release <= range->last;
}

/* Whether it is above the failure, and of the same rank if both ranks are known. */
static bool is_above(const struct wo_event *event, const struct wo_event *failure) {
  if (failure == NULL || event->span.file != failure->span.file || event->span.line > failure->span.line) return false;
  return event->rank == failure->rank || event->rank == WO_RANK_UNKNOWN || failure->rank == WO_RANK_UNKNOWN;
}

/* The version that counts among those of one sort, or NULL. */
static const struct wo_event *choose(const struct wo_facts *facts, const struct wo_event *failure, const struct range *range,
                                     bool is_pinned) {
  const struct wo_event *any = NULL, *nearest = NULL;
  uint16_t release = 0, first = 0;
  bool is_one = true;
  wo_each_event (event, &facts->job->events) {
    if (!is_candidate(event, range, is_pinned, &release)) continue;
    if (any == NULL) first = release;
    is_one = is_one && release == first;
    any = event;
    if (is_above(event, failure) && (nearest == NULL || event->span.line >= nearest->span.line)) nearest = event;
  }
  if (nearest != NULL) return nearest;
  return is_one ? any : NULL;
}

static void set_release(struct wo_facts *facts, uint16_t first, uint16_t last, wo_event_id evidence) {
  const struct wo_interval number = {.lo = first, .mid = first, .hi = last};
  wo_facts_set(facts, "job.torch_release", wo_value_number(WO_UNIT_NUMBER, number), evidence);
}

void wo__facts_torch(struct wo_facts *facts) {
  const struct wo_event *const failure = wo__failure_of(facts);
  const struct range range = read_wordings(facts, failure);
  const struct wo_event *event = choose(facts, failure, &range, false);
  uint16_t release = 0;
  if (event == NULL) event = choose(facts, failure, &range, true);
  if (event != NULL && wo_torch_version_parse(wo_event_text(event, WO_FIELD_TORCH), &release)) {
    wo_facts_set(facts, "job.torch", wo_value_text(wo_event_text(event, WO_FIELD_TORCH)), event->id);
    set_release(facts, release, release, event->id);
  } else if (range.event != NULL) {
    set_release(facts, range.first, range.last, range.event->id);
  }
}

const struct wo_alias *wo_facts_default_alias(const struct wo_facts *facts, const struct wo_knob *knob) {
  const struct wo_value release = wo__facts_value(facts, WO_VIEW("job.torch_release"));
  const struct wo_alias *chosen = &knob->aliases[0];
  for (size_t i = 0; i < knob->alias_count && facts->program.name.text.len > 0; i++) {
    if (wo_view_equal(knob->aliases[i].framework, facts->program.name.text)) return &knob->aliases[i];
  }
  for (size_t i = 0; i < knob->alias_count && release.is_known; i++) {
    const struct wo_alias *const alias = &knob->aliases[i];
    if (alias->torch_since > chosen->torch_since && release.number.lo >= alias->torch_since) chosen = alias;
  }
  return chosen;
}
