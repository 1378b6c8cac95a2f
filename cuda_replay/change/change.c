/* SPDX-License-Identifier: Apache-2.0 */
/* Fills a change, and applies it to a pattern: first the scaling, then the transforms in their order. See change.h. */
#include "cuda_replay/change/change.h"

#include <assert.h>
#include <inttypes.h>

#include "cuda_replay/pattern/alloc_pattern_edit.h"

/* Bytes of a value that a message repeats. */
enum { SHOWN_MAX = 60 };

/* How often a replay repeats the passes of a step for a stated accumulation: every pass after the second has its peak. */
enum { PASSES = 2 };

bool wo_change_is_any(const struct wo_change *change) {
  return change->set_count > 0 || change->capacity_bytes > 0 || wo_change_alters_program(change);
}

bool wo_change_alters_program(const struct wo_change *change) {
  return change->has_scale || change->transform_count > 0;
}

static bool is_stated_accumulation(const struct wo_change *change, size_t index) {
  return wo_transform_is_accumulation(change->transforms[index].transform) && change->transforms[index].from > 0;
}

/* Whether the recorded program accumulates already. */
static bool is_recorded(const struct wo_change *change, size_t index) {
  return is_stated_accumulation(change, index) && change->transforms[index].from > 1;
}

bool wo_change_is_of_sizes(const struct wo_change *change) {
  for (size_t i = 0; i < change->transform_count; i++) {
    if (!is_recorded(change, i)) return false;
  }
  return change->set_count == 0;
}

/* ---- Items ---- */

/* The reader's own message is more precise than "wants", but lacks the option's name. */
static enum wo_status refuse(struct wo_err *err, const char *name, const struct wo_err *reason) {
  return wo_err_set(err, WO_E_USAGE, "--%s: %s", name, reason->message);
}

/* Only stores the string: its keys are read when the recording's version is known. */
static enum wo_status add_set(struct wo_change *change, struct wo_view value, struct wo_err *err) {
  const struct wo_view trimmed = wo_view_trim(value), shown = wo_view_sub(value, 0, SHOWN_MAX);
  if (trimmed.len == 0 || wo_view_find_char(trimmed, ':', 0) == WO_NOT_FOUND || change->set_count == WO_CHANGE_SETS_MAX)
    return wo_err_set(
        err, WO_E_USAGE,
        "--set wants KEY:VALUE[,KEY:VALUE...], such as expandable_segments:True, and stands 16 times at the most, not "
        "'%.*s'",
        (int)shown.len, shown.len > 0 ? shown.ptr : "");
  change->sets[change->set_count++] = trimmed;
  return WO_OK;
}

/* A second --scale is refused, since it would be unclear which of the two wins. */
static enum wo_status add_scale(struct wo_change *change, struct wo_view value, struct wo_err *err) {
  struct wo_err reason = {0};
  struct wo_scale_spec spec = {0};
  if (wo_scale_parse(value, &spec, &reason) != WO_OK) return refuse(err, "scale", &reason);
  if (change->has_scale) return wo_err_set(err, WO_E_USAGE, "--scale can be given once: micro_batch=A:B,seq_len=C:D");
  change->scale = spec;
  change->has_scale = true;
  return WO_OK;
}

/* Keeps transforms in the order given. */
static enum wo_status keep_transform(struct wo_change *change, const struct wo_transform *transform, uint32_t from,
                                     uint32_t amount, struct wo_err *err) {
  if (change->transform_count == WO_CHANGE_TRANSFORMS_MAX)
    return wo_err_set(err, WO_E_USAGE, "--transform can be given %d times at the most", WO_CHANGE_TRANSFORMS_MAX);
  change->transforms[change->transform_count].transform = transform;
  change->transforms[change->transform_count].from = from;
  change->transforms[change->transform_count++].amount = amount;
  return WO_OK;
}

static enum wo_status add_transform(struct wo_change *change, struct wo_view value, struct wo_err *err) {
  struct wo_err reason = {0};
  const struct wo_transform *transform = NULL;
  uint32_t amount = 0;
  if (wo_transform_parse(value, &transform, &amount, &reason) != WO_OK) return refuse(err, "transform", &reason);
  return keep_transform(change, transform, 0, amount, err);
}

static const struct {
  const char *name;
  enum wo_status (*add)(struct wo_change *change, struct wo_view value, struct wo_err *err);
} items[] = {{"set", add_set}, {"scale", add_scale}, {"transform", add_transform}};

/* Neither an option nor a proposal has another one. */
static enum wo_status fail_unknown(struct wo_view name, struct wo_err *err) {
  const struct wo_view shown = wo_view_sub(name, 0, 40);
  return wo_err_set(err, WO_E_USAGE, "'%.*s' is none of scale, set, transform", (int)shown.len, shown.len > 0 ? shown.ptr : "");
}

enum wo_status wo_change_add(struct wo_change *change, struct wo_view name, struct wo_view value, struct wo_err *err) {
  for (size_t i = 0; i < sizeof items / sizeof items[0]; i++) {
    if (wo_view_is(name, items[i].name)) return items[i].add(change, value, err);
  }
  return fail_unknown(name, err);
}

/* ---- Proposals of a diagnosis ---- */

/* Joins the sizes of all proposals in one scale, in which each axis occurs once. */
static enum wo_status add_size(struct wo_change *change, enum wo_scale_axis_id id, const struct wo_proposed_part *part,
                               struct wo_err *err) {
  struct wo_scale_axis *const axis = &change->scale.axes[id];
  if (axis->from != 0) return wo_err_set(err, WO_E_USAGE, "--scale: %s twice", wo_scale_axis_name(id));
  *axis = (struct wo_scale_axis){part->from, part->to};
  change->has_scale = true;
  return WO_OK;
}

/* "accumulate=4:8": any amount, since two passes are replayed. */
static enum wo_status add_accumulation(struct wo_change *change, const struct wo_proposed_part *part, struct wo_err *err) {
  struct wo_err reason = {0};
  const struct wo_transform *transform = NULL;
  uint32_t amount = 0;
  if (wo_transform_choose(part->text, true, PASSES, &transform, &amount, &reason) != WO_OK)
    return refuse(err, "transform", &reason);
  if (wo_transform_is_accumulation(transform)) return keep_transform(change, transform, part->from, part->to, err);
  wo_err_set(&reason, WO_E_SYNTAX, "%s takes no present number", transform->name);
  return refuse(err, "transform", &reason);
}

static enum wo_status add_part(struct wo_change *change, const struct wo_proposed_part *part, struct wo_err *err) {
  struct wo_err reason = {0};
  const struct wo_transform *transform = NULL;
  uint32_t amount = 0;
  switch (part->sort) {
  case WO_PROPOSED_MICRO_BATCH:
    return add_size(change, WO_AXIS_MICRO_BATCH, part, err);
  case WO_PROPOSED_SEQ_LEN:
    return add_size(change, WO_AXIS_SEQ_LEN, part, err);
  case WO_PROPOSED_SETTINGS:
    return add_set(change, part->text, err);
  case WO_PROPOSED_TRANSFORM:
    if (part->from > 0) return add_accumulation(change, part, err);
    if (wo_transform_choose(part->text, part->to > 0, part->to, &transform, &amount, &reason) != WO_OK)
      return refuse(err, "transform", &reason);
    return keep_transform(change, transform, 0, amount, err);
  case WO_PROPOSED_LEFT_OUT:
    return wo_err_set(err, WO_E_USAGE, "it also changes %.*s, which no replay does", (int)wo_view_sub(part->text, 0, 40).len,
                      part->text.len > 0 ? part->text.ptr : "");
  case WO_PROPOSED_OTHER:
    break;
  }
  return fail_unknown(part->text, err);
}

enum wo_status wo_change_add_proposed(struct wo_change *change, const struct wo_proposed_change *proposed, struct wo_err *err) {
  enum wo_status status = WO_OK;
  for (size_t i = 0; i < proposed->count && status == WO_OK; i++) status = add_part(change, &proposed->parts[i], err);
  return status;
}

/* ---- The effective batch ---- */

/* The index of the accumulation; the count of transforms if there is none. */
static size_t find_accumulation(const struct wo_change *change) {
  size_t at = 0;
  while (at < change->transform_count && !wo_transform_is_accumulation(change->transforms[at].transform)) at++;
  return at;
}

void wo_change_set_micro_batch(struct wo_change *change, uint32_t micro_batch) {
  struct wo_scale_axis *const axis = &change->scale.axes[WO_AXIS_MICRO_BATCH];
  const size_t at = find_accumulation(change);
  assert(micro_batch > 0 && axis->from > 0);
  axis->to = micro_batch;
  if (at == change->transform_count || change->transforms[at].from == 0) return;
  const uint64_t amount = (uint64_t)change->transforms[at].from * axis->from / micro_batch;
  change->transforms[at].amount = amount < UINT32_MAX ? (uint32_t)amount : UINT32_MAX;
}

void wo_change_drop_accumulation(struct wo_change *change) {
  const size_t at = find_accumulation(change);
  if (at == change->transform_count) return;
  change->transform_count--;
  for (size_t i = at; i < change->transform_count; i++) change->transforms[i] = change->transforms[i + 1];
}

uint32_t wo_change_accumulation(const struct wo_change *change) {
  const size_t at = find_accumulation(change);
  return at < change->transform_count ? change->transforms[at].amount : 0;
}

/* ---- Settings ---- */

enum wo_status wo_change_settings(const struct wo_change *change, const struct wo_alloc_settings *recorded, uint16_t torch,
                                  struct wo_alloc_settings *ret_settings, struct wo_err *err) {
  struct wo_alloc_settings settings = wo_alloc_settings_default(torch);
  struct wo_text text = {0};
  if (change->set_count == 0) {
    *ret_settings = *recorded;
    return WO_OK;
  }
  settings.memory_fraction = recorded->memory_fraction;
  for (size_t i = 0; i < change->set_count; i++) {
    wo_text_add(&text, "%s", i > 0 ? "," : "");
    wo_text_add_view(&text, change->sets[i]);
  }
  const enum wo_status status =
      text.is_failed ? wo_err_nomem(err) : wo_alloc_settings_parse((struct wo_view){text.ptr, text.len}, torch, &settings, err);
  wo_text_done(&text);
  if (status == WO_OK) *ret_settings = settings;
  return status;
}

/* ---- Sizes and transforms ---- */

/* An axis that keeps its value only helps the inference and changes nothing, so it is not reported. */
void wo_change_text(const struct wo_change *change, struct wo_text *out) {
  const char *separator = "";
  for (int axis = 0; axis < WO_AXIS_COUNT_; axis++) {
    const struct wo_scale_axis *const ends = &change->scale.axes[axis];
    if (ends->from == ends->to) continue;
    wo_text_add(out, "%s%s %" PRIu32 " -> %" PRIu32, separator, wo_scale_axis_name((enum wo_scale_axis_id)axis), ends->from,
                ends->to);
    separator = ", ";
  }
  for (size_t i = 0; i < change->transform_count; i++) {
    wo_text_add(out, "%s%s", separator, change->transforms[i].transform->name);
    if (change->transforms[i].from > 0) wo_text_add(out, " %" PRIu32 " ->", change->transforms[i].from);
    if (change->transforms[i].amount > 0) wo_text_add(out, " %" PRIu32, change->transforms[i].amount);
    separator = ", ";
  }
}

/* The axis whose ends differ; WO_AXIS_COUNT_ if none or several differ: with two axes a quotient could belong to either. */
static enum wo_scale_axis_id axis_of(const struct wo_change *change) {
  enum wo_scale_axis_id found = WO_AXIS_COUNT_;
  for (int axis = 0; axis < WO_AXIS_COUNT_; axis++) {
    if (change->scale.axes[axis].from == change->scale.axes[axis].to) continue;
    if (found != WO_AXIS_COUNT_) return WO_AXIS_COUNT_;
    found = (enum wo_scale_axis_id)axis;
  }
  return found;
}

/* Exponents from a second recording replace the inferred ones; the inferred ones fill the gaps. */
static enum wo_status use_pair(const struct wo_change *change, const struct wo_alloc_pattern *second,
                               struct wo_change_basis *basis, struct wo_err *err) {
  const enum wo_scale_axis_id axis = axis_of(change);
  if (axis == WO_AXIS_COUNT_)
    return wo_err_set(err, WO_E_USAGE, "--pair tells how sizes grow along one axis: give --scale with one that changes");
  struct wo_exponents paired;
  const enum wo_status status =
      wo_scale_from_two_infer(basis->pattern, second, axis, &basis->exponents, &paired, &basis->pair, err);
  if (status != WO_OK) return status;
  wo_exponents_done(&basis->exponents);
  basis->exponents = paired;
  basis->has_pair = true;
  return WO_OK;
}

/* Inference always comes first: a second recording has no partner for some allocations. */
enum wo_status wo_change_prepare(const struct wo_change *change, const struct wo_alloc_pattern *pattern,
                                 const struct wo_classes *classes, const struct wo_alloc_pattern *second,
                                 struct wo_change_basis *ret_basis, struct wo_err *err) {
  struct wo_change_basis basis = {.pattern = pattern, .classes = classes};
  if (change->has_scale) {
    enum wo_status status = wo_scale_infer(pattern, classes, &change->scale, &basis.exponents, err);
    if (status != WO_OK) return status;
    if (second) status = use_pair(change, second, &basis, err);
    if (status != WO_OK) {
      wo_change_basis_done(&basis);
      return status;
    }
  }
  *ret_basis = basis;
  return WO_OK;
}

/* A pattern that transforms replace, one after the other. */
struct changing {
  struct wo_alloc_pattern pattern;
  const struct wo_classes
      *classes; /* the original pattern's, as long as no transform has added or removed instances; else NULL */
};

/* Replaces the pattern by its transform; one without known classes is classified first. */
static enum wo_status transform(struct changing *changing, const struct wo_change *change, size_t index, enum wo_bound bound,
                                struct wo_err *err) {
  struct wo_classes found = {0};
  struct wo_alloc_pattern changed;
  const struct wo_transform *const row = change->transforms[index].transform;
  const uint32_t amount = is_stated_accumulation(change, index) ? PASSES : change->transforms[index].amount;
  enum wo_status status = changing->classes ? WO_OK : wo_classify(&changing->pattern, NULL, &found);
  if (status != WO_OK) return wo_err_set(err, status, "%s", wo_status_text(status));
  const struct wo_transform_request request = {
      .pattern = &changing->pattern, .classes = changing->classes ? changing->classes : &found, .amount = amount, .bound = bound};
  status = wo_transform_apply(row, &request, &changed, err);
  if (!changing->classes) wo_classes_done(&found);
  if (status != WO_OK) return status;
  wo_alloc_pattern_done(&changing->pattern);
  *changing = (struct changing){.pattern = changed};
  return WO_OK;
}

enum wo_status wo_change_apply(const struct wo_change *change, const struct wo_change_basis *basis, enum wo_bound bound,
                               struct wo_alloc_pattern *ret_pattern, struct wo_err *err) {
  struct changing changing = {.classes = basis->classes};
  assert(wo_change_alters_program(change));
  enum wo_status status = WO_OK;
  if (change->has_scale)
    status = wo_scale_apply(basis->pattern, &basis->exponents, &change->scale, bound, &changing.pattern, err);
  else if (!wo_alloc_pattern_copy(basis->pattern, &changing.pattern))
    status = wo_err_set(err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
  if (status != WO_OK) return status;
  for (size_t i = 0; i < change->transform_count && status == WO_OK; i++) {
    if (!is_recorded(change, i)) status = transform(&changing, change, i, bound, err);
  }
  if (status != WO_OK) {
    wo_alloc_pattern_done(&changing.pattern);
    return status;
  }
  *ret_pattern = changing.pattern;
  return WO_OK;
}

void wo_change_basis_done(struct wo_change_basis *basis) {
  if (basis == NULL) return;
  wo_exponents_done(&basis->exponents);
  *basis = (struct wo_change_basis){0};
}
