/* SPDX-License-Identifier: Apache-2.0 */
/* Specifications of a scaling, and the names of axes, bounds and reasons. */
#include <assert.h>
#include <inttypes.h>

#include "cuda_replay/change/scale.h"
#include "parsers/base/number.h"

const char *wo_bound_name(enum wo_bound bound) {
  static const char *const names[] = {"low", "likely", "high"};
  assert(bound < WO_BOUND_COUNT_);
  return names[bound];
}

/* Names that programs use for the axes; the first name of each axis is its own. */
static const struct {
  const char *name;
  enum wo_scale_axis_id axis;
} axis_names[] = {
    {"micro_batch", WO_AXIS_MICRO_BATCH},
    {"seq_len", WO_AXIS_SEQ_LEN},
    {"microbatch", WO_AXIS_MICRO_BATCH},
    {"micro_batch_size", WO_AXIS_MICRO_BATCH},
    {"batch", WO_AXIS_MICRO_BATCH},
    {"batch_size", WO_AXIS_MICRO_BATCH},
    {"seq", WO_AXIS_SEQ_LEN},
    {"seq_length", WO_AXIS_SEQ_LEN},
    {"sequence_length", WO_AXIS_SEQ_LEN},
    {"context_length", WO_AXIS_SEQ_LEN},
    {"max_seq_len", WO_AXIS_SEQ_LEN},
    {"block_size", WO_AXIS_SEQ_LEN},
};

const char *wo_scale_axis_name(enum wo_scale_axis_id axis) {
  assert(axis < WO_AXIS_COUNT_);
  for (size_t i = 0; i < sizeof axis_names / sizeof axis_names[0]; i++) {
    if (axis_names[i].axis == axis) return axis_names[i].name;
  }
  return "?";
}

const char *wo_scale_reason_text(enum wo_scale_reason reason) {
  static const char *const texts[] = {
#define WO_SCALE_REASON(id, text) text,
#include "cuda_replay/change/scale_reasons.def"
#undef WO_SCALE_REASON
  };
  assert(reason < WO_SCALE_REASON_COUNT_);
  return texts[reason];
}

#define AXIS_MAX ((uint64_t)1 << 31)

/* Reports an error at the place where `rest` begins inside `text`. */
static enum wo_status fail_at(struct wo_view text, struct wo_view rest, struct wo_err *err, enum wo_status code,
                              const char *what) {
  wo_err_set(err, code, "%s, expected for example \"micro_batch=32:16,seq_len=512:1024\"", what);
  wo_err_place(err, NULL, 1, (uint32_t)(text.len - rest.len) + 1, text.len - rest.len);
  return code;
}

/* Ignores case, since programs spell their options in either. */
static bool find_axis(struct wo_view name, enum wo_scale_axis_id *ret_axis) {
  for (size_t i = 0; i < sizeof axis_names / sizeof axis_names[0]; i++) {
    if (!wo_view_is_nocase(name, axis_names[i].name)) continue;
    *ret_axis = axis_names[i].axis;
    return true;
  }
  return false;
}

/* Reads one end of an axis from *rest, with the blanks around it. */
static enum wo_status read_end(struct wo_view text, struct wo_view *rest, uint32_t *ret_value, struct wo_err *err) {
  uint64_t value;
  *rest = wo_view_trim_start(*rest);
  enum wo_status status = wo_number_u64(rest, AXIS_MAX, &value);
  if (status == WO_E_RANGE) return fail_at(text, *rest, err, WO_E_RANGE, "a value above 2^31");
  if (status != WO_OK) return fail_at(text, *rest, err, WO_E_SYNTAX, "a number is missing");
  if (value == 0) return fail_at(text, *rest, err, WO_E_RANGE, "a value of 0");
  *ret_value = (uint32_t)value;
  *rest = wo_view_trim_start(*rest);
  return WO_OK;
}

/* Reads "name=from:to" from *rest. */
static enum wo_status read_item(struct wo_view text, struct wo_view *rest, struct wo_scale_spec *spec, struct wo_err *err) {
  struct wo_view at = *rest = wo_view_trim_start(*rest);
  size_t equals = wo_view_find_char(*rest, '=', 0);
  if (equals == WO_NOT_FOUND) return fail_at(text, at, err, WO_E_SYNTAX, "\"=\" is missing");
  enum wo_scale_axis_id id;
  if (!find_axis(wo_view_trim(wo_view_sub(*rest, 0, equals)), &id)) {
    return fail_at(text, at, err, WO_E_UNKNOWN, "not micro_batch or seq_len");
  }
  struct wo_scale_axis *axis = &spec->axes[id];
  if (axis->from != 0) return fail_at(text, at, err, WO_E_SYNTAX, "the same quantity twice");
  *rest = wo_view_skip(*rest, equals + 1);
  enum wo_status status = read_end(text, rest, &axis->from, err);
  if (status != WO_OK) return status;
  if (rest->len == 0 || rest->ptr[0] != ':') return fail_at(text, *rest, err, WO_E_SYNTAX, "\":\" is missing");
  *rest = wo_view_skip(*rest, 1);
  return read_end(text, rest, &axis->to, err);
}

enum wo_status wo_scale_parse(struct wo_view text, struct wo_scale_spec *ret_spec, struct wo_err *err) {
  struct wo_scale_spec spec = {0};
  struct wo_view rest = text;
  for (;;) {
    enum wo_status status = read_item(text, &rest, &spec, err);
    if (status != WO_OK) return status;
    if (rest.len == 0) break;
    if (rest.ptr[0] != ',') return fail_at(text, rest, err, WO_E_SYNTAX, "\",\" is missing between two quantities");
    rest = wo_view_skip(rest, 1);
  }
  *ret_spec = spec;
  return WO_OK;
}
