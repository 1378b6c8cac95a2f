/* SPDX-License-Identifier: Apache-2.0 */
/* The table of transforms, their specification, and the function that applies them. */
#include "cuda_replay/change/transforms.h"

#include <assert.h>
#include <inttypes.h>

#include "cuda_replay/change/transform_internal.h"
#include "cuda_replay/pattern/alloc_pattern_valid.h"
#include "parsers/base/number.h"

static const struct wo_transform rows[] = {
#define WO_TRANSFORM(id, name, amount_min, amount_max, above_pct, below_pct, summary, assumption)                                \
  {name, summary, amount_min, amount_max, above_pct, below_pct, wo__transform_##id, assumption},
#include "parsers/base/exchange/transforms.def"
#undef WO_TRANSFORM
};

enum { ROWS = sizeof rows / sizeof rows[0] };

/* All names, each after a comma and a blank. */
static const char names[] =
#define WO_TRANSFORM(id, name, amount_min, amount_max, above_pct, below_pct, summary, assumption) ", " name
#include "parsers/base/exchange/transforms.def"
#undef WO_TRANSFORM
    ;

/* The message about an unknown name lists all names. */
static enum wo_status fail_unknown(struct wo_view name, struct wo_err *err) {
  const struct wo_view shown = wo_view_sub(name, 0, 40);
  return wo_err_set(err, WO_E_UNKNOWN, "no transform \"%.*s\"; there are %s", (int)shown.len, shown.len > 0 ? shown.ptr : "",
                    names + sizeof ", " - 1);
}

/* Only exact names match: a wrong guess would prove the wrong program. */
static const struct wo_transform *find(struct wo_view name) {
  for (size_t i = 0; i < ROWS; i++) {
    if (wo_view_is(name, rows[i].name)) return &rows[i];
  }
  return NULL;
}

bool wo_transform_is_accumulation(const struct wo_transform *transform) {
  return transform->apply == wo__transform_accumulate;
}

static enum wo_status check_amount(const struct wo_transform *row, uint32_t amount, struct wo_err *err) {
  if (row->amount_max == 0) return wo_err_set(err, WO_E_SYNTAX, "%s takes no number", row->name);
  if (amount >= row->amount_min && amount <= row->amount_max) return WO_OK;
  return wo_err_set(err, WO_E_RANGE, "%s=N takes %" PRIu32 " to %" PRIu32, row->name, row->amount_min, row->amount_max);
}

enum wo_status wo_transform_choose(struct wo_view name, bool has_amount, uint32_t amount,
                                   const struct wo_transform **ret_transform, uint32_t *ret_amount, struct wo_err *err) {
  const struct wo_transform *const row = find(name);
  if (row == NULL) return fail_unknown(name, err);
  if (!has_amount && row->amount_min > 0) {
    return wo_err_set(err, WO_E_SYNTAX, "%s needs a number, as in %s=%" PRIu32, row->name, row->name,
                      row->amount_max < 8 ? row->amount_max : 8);
  }
  const enum wo_status status = has_amount ? check_amount(row, amount, err) : WO_OK;
  if (status != WO_OK) return status;
  *ret_transform = row;
  *ret_amount = has_amount ? amount : 0;
  return WO_OK;
}

enum wo_status wo_transform_parse(struct wo_view text, const struct wo_transform **ret_transform, uint32_t *ret_amount,
                                  struct wo_err *err) {
  struct wo_view rest = wo_view_trim(text);
  const bool has_amount = wo_view_find_char(rest, '=', 0) != WO_NOT_FOUND;
  const struct wo_view name = wo_view_trim(wo_view_cut(&rest, '='));
  const struct wo_transform *const row = has_amount ? find(name) : NULL;
  uint64_t amount = 0;
  rest = wo_view_trim(rest);
  if (row != NULL && row->amount_max > 0) {
    const enum wo_status status = wo_number_u64(&rest, UINT32_MAX, &amount);
    if (status == WO_E_SYNTAX || (status == WO_OK && rest.len > 0))
      return wo_err_set(err, WO_E_SYNTAX, "%s=N needs a whole number from %" PRIu32 " to %" PRIu32, row->name, row->amount_min,
                        row->amount_max);
    if (status != WO_OK) amount = UINT32_MAX;
  }
  return wo_transform_choose(name, has_amount, (uint32_t)amount, ret_transform, ret_amount, err);
}

enum wo_status wo_transform_apply(const struct wo_transform *transform, const struct wo_transform_request *request,
                                  struct wo_alloc_pattern *ret_pattern, struct wo_err *err) {
  assert(request->classes->marks.count == request->pattern->instances.count);
  assert(request->bound < WO_BOUND_COUNT_);
  enum wo_status status = transform->apply(request, ret_pattern, err);
  assert(status != WO_OK || wo_alloc_pattern_is_valid(ret_pattern));
  return status;
}
