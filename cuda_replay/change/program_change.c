/* Scaling and transforms, one after the other. See program_change.h. */
#include "cuda_replay/change/program_change.h"

#include <assert.h>
#include <inttypes.h>

bool wo_program_change_is_none(const struct wo_program_change *change) {
  return !change->has_scale && change->transform_count == 0;
}

/* An axis that keeps its value is said for the inference's sake and changes nothing, so it is not told. */
void wo_program_change_text(const struct wo_program_change *change, struct wo_text *out) {
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
    if (change->transforms[i].amount > 0) wo_text_add(out, " %" PRIu32, change->transforms[i].amount);
    separator = ", ";
  }
}

/* The axis whose ends differ; WO_AXIS_COUNT_ when none or several do: two at once would leave open which of them a quotient
 * belongs to. */
static enum wo_scale_axis_id axis_of(const struct wo_program_change *change) {
  enum wo_scale_axis_id found = WO_AXIS_COUNT_;
  for (int axis = 0; axis < WO_AXIS_COUNT_; axis++) {
    if (change->scale.axes[axis].from == change->scale.axes[axis].to) continue;
    if (found != WO_AXIS_COUNT_) return WO_AXIS_COUNT_;
    found = (enum wo_scale_axis_id)axis;
  }
  return found;
}

/* Exponents read off a pair take the place of the inferred ones, which fill the gaps. */
static enum wo_status use_pair(const struct wo_program_change *change, const struct wo_alloc_pattern *second,
                               struct wo_program_change_basis *basis, struct wo_err *err) {
  const enum wo_scale_axis_id axis = axis_of(change);
  if (axis == WO_AXIS_COUNT_)
    return wo_err_set(err, WO_E_USAGE, "--pair tells how sizes grow along one axis: give --scale with one that changes");
  struct wo_exponents paired;
  const enum wo_status status = wo_pair_infer(basis->pattern, second, axis, &basis->exponents, &paired, &basis->pair, err);
  if (status != WO_OK) return status;
  wo_exponents_done(&basis->exponents);
  basis->exponents = paired;
  basis->has_pair = true;
  return WO_OK;
}

/* Inference comes first in any case: a second recording has no partner for every allocation. */
enum wo_status wo_program_change_prepare(const struct wo_program_change *change, const struct wo_alloc_pattern *pattern,
                                         const struct wo_classes *classes, const struct wo_alloc_pattern *second,
                                         struct wo_program_change_basis *ret_basis, struct wo_err *err) {
  struct wo_program_change_basis basis = {.pattern = pattern, .classes = classes};
  if (change->has_scale) {
    enum wo_status status = wo_scale_infer(pattern, classes, &change->scale, &basis.exponents, err);
    if (status != WO_OK) return status;
    if (second) status = use_pair(change, second, &basis, err);
    if (status != WO_OK) {
      wo_program_change_basis_done(&basis);
      return status;
    }
  }
  *ret_basis = basis;
  return WO_OK;
}

/* Replaces *pattern by its transform. A transform makes a pattern whose classes are not known, so each but the first begins with
 * finding them; `classes` are those of the pattern as it came, and hold for the first. */
static enum wo_status transform(const struct wo_program_change *change, size_t index, const struct wo_classes *classes,
                                enum wo_bound bound, struct wo_alloc_pattern *pattern, struct wo_err *err) {
  struct wo_classes found = {0};
  assert(index < change->transform_count);
  struct wo_alloc_pattern changed;
  if (index > 0) {
    const enum wo_status status = wo_classify(pattern, NULL, &found);
    if (status != WO_OK) return wo_err_set(err, status, "%s", wo_status_text(status));
  }
  const struct wo_transform_request request = {
      .pattern = pattern, .classes = index > 0 ? &found : classes, .amount = change->transforms[index].amount, .bound = bound};
  const enum wo_status status = wo_transform_apply(change->transforms[index].transform, &request, &changed, err);
  if (index > 0) wo_classes_done(&found);
  if (status != WO_OK) return status;
  wo_alloc_pattern_done(pattern);
  *pattern = changed;
  return WO_OK;
}

/* Scaling by nothing gives the copy that transforms start from. */
enum wo_status wo_program_change_apply(const struct wo_program_change *change, const struct wo_program_change_basis *basis,
                                       enum wo_bound bound, struct wo_alloc_pattern *ret_pattern, struct wo_err *err) {
  struct wo_alloc_pattern pattern;
  assert(!wo_program_change_is_none(change));
  enum wo_status status = WO_OK;
  size_t next = 0;
  if (change->has_scale) {
    status = wo_scale_apply(basis->pattern, &basis->exponents, &change->scale, bound, &pattern, err);
  } else {
    const struct wo_transform_request request = {
        .pattern = basis->pattern, .classes = basis->classes, .amount = change->transforms[0].amount, .bound = bound};
    status = wo_transform_apply(change->transforms[0].transform, &request, &pattern, err);
    next = 1;
  }
  if (status != WO_OK) return status;
  for (; next < change->transform_count && status == WO_OK; next++)
    status = transform(change, next, basis->classes, bound, &pattern, err);
  if (status != WO_OK) {
    wo_alloc_pattern_done(&pattern);
    return status;
  }
  *ret_pattern = pattern;
  return WO_OK;
}

void wo_program_change_basis_done(struct wo_program_change_basis *basis) {
  if (basis == NULL) return;
  wo_exponents_done(&basis->exponents);
  *basis = (struct wo_program_change_basis){0};
}
