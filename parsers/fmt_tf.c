/* TensorFlow's "OOM when allocating tensor with shape[64,512,1024] and type float on ...device:GPU:0": the size is not printed,
 * it is the product of the dimensions times the size of the type (float when TF 1 does not name it). */
#include "parsers/format.h"

static double size_of_type(struct wo_view type) {
  static const struct {
    const char *name;
    double bytes;
  } types[] = {{"half", 2},        {"bfloat16", 2}, {"double", 8}, {"int64", 8}, {"uint64", 8}, {"complex64", 8},
               {"complex128", 16}, {"int8", 1},     {"uint8", 1},  {"bool", 1},  {"int16", 2},  {"uint16", 2}};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    if (wo_view_is(type, types[i].name)) return types[i].bytes;
  }
  return 4;
}

/* Reads "64,512,1024"; *ret_first is the leading dimension. */
static bool read_shape(struct wo_view shape, double *ret_elements, double *ret_first) {
  double elements = 1;
  bool is_first = true;
  while (shape.len > 0) {
    struct wo_view part = wo_view_trim(wo_view_cut(&shape, ','));
    uint64_t dimension = 0;
    if (wo_number_u64(&part, INT64_C(1) << 40, &dimension) != WO_OK || part.len > 0) return false;
    elements *= (double)dimension;
    if (is_first) *ret_first = (double)dimension;
    is_first = false;
  }
  *ret_elements = elements;
  return !is_first && elements < 1e18;
}

static enum wo_more begin_tf(struct wo_scan *scan, const struct wo_line *line, const struct wo_match *match,
                             struct wo_open *open) {
  struct wo_event_store *store = wo_scan_store(scan);
  struct wo_event *event =
      wo_scan_add_event(scan, line, open->pattern, WO_KIND_TF_OOM, wo_match_start(match), wo_match_text(match).len);
  if (!event) return WO_MORE_NO;
  wo_match_fill(match, open->pattern, store, event);
  double elements = 0;
  double first = 0;
  if (read_shape(wo_match_group(match, "shape"), &elements, &first)) {
    const double bytes = elements * size_of_type(wo_match_group(match, "dtype"));
    wo_event_set_number(store, event, WO_FIELD_TRIED_BYTES, wo_interval_exact(bytes));
    wo_event_set_number(store, event, WO_FIELD_BATCH, wo_interval_exact(first));
  }
  return WO_MORE_NO;
}

const struct wo_format wo__format_tf_tensor = {.name = "tf_tensor", .begin = begin_tf};
