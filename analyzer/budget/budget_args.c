/* Options of `whyoom budget`. See budget_args.h. */
#include "analyzer/budget/budget_args.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "parsers/base/units.h"
#include "parsers/base/view.h"

#define PARAMETERS_MAX 1e15
#define SHOWN_MAX 60

static const struct key_row {
  const char *option;
  enum wo_budget_sort sort;
  double most;
  const char *choices;
} keys[] = {
#define WO_BUDGET_ROW(code, option, sort, most, choices, meaning) [code] = {option, sort, most, choices},
    WO_BUDGET_KEY_MAP(WO_BUDGET_ROW)
#undef WO_BUDGET_ROW
};

/* ---- Keys ---- */

enum wo_budget_key wo_budget_key_find(struct wo_view option) {
  for (int key = 0; key < WO_BUDGET_KEY_COUNT_; key++) {
    if (wo_view_is(option, keys[key].option)) return (enum wo_budget_key)key;
  }
  return WO_BUDGET_KEY_COUNT_;
}

const char *wo_budget_key_option(enum wo_budget_key key) {
  assert(key < WO_BUDGET_KEY_COUNT_);
  return keys[key].option;
}

enum wo_budget_sort wo_budget_key_sort(enum wo_budget_key key) {
  assert(key < WO_BUDGET_KEY_COUNT_);
  return keys[key].sort;
}

enum wo_budget_takes wo_budget_option(struct wo_view name) {
  static const char *const others[] = {"model", "frozen", "extra", "activations", "stated"};
  const enum wo_budget_key key = wo_budget_key_find(name);
  if (key != WO_BUDGET_KEY_COUNT_) return keys[key].sort == WO_BUDGET_FLAG ? WO_BUDGET_TAKES_NOTHING : WO_BUDGET_TAKES_VALUE;
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    if (wo_view_is(name, others[i])) return WO_BUDGET_TAKES_VALUE;
  }
  return WO_BUDGET_IS_NO_OPTION;
}

/* The place of a choice of a key from 1, or 0. */
static double find_choice(enum wo_budget_key key, struct wo_view name) {
  struct wo_view rest = wo_view_of(keys[key].choices);
  for (double place = 1; rest.len > 0; place++) {
    if (wo_view_equal(wo_view_cut(&rest, '|'), name)) return name.len > 0 ? place : 0;
  }
  return 0;
}

struct wo_view wo_budget_choice_name(enum wo_budget_key key, double place) {
  struct wo_view rest = wo_view_of(keys[key].choices);
  for (double at = 1; rest.len > 0; at++) {
    const struct wo_view name = wo_view_cut(&rest, '|');
    if (at == place) return name;
  }
  return WO_VIEW("?");
}

char *wo_budget_value_text(enum wo_budget_key key, double value, char *buf, size_t cap) {
  const struct wo_view choice = wo_budget_choice_name(key, value);
  switch (keys[key].sort) {
  case WO_BUDGET_SIZE:
    return wo_units_bytes_text(value, buf, cap);
  case WO_BUDGET_FLAG:
    snprintf(buf, cap, "yes");
    return buf;
  case WO_BUDGET_CHOICE:
    snprintf(buf, cap, "%.*s", (int)choice.len, choice.ptr);
    return buf;
  case WO_BUDGET_COUNT:
    break;
  }
  snprintf(buf, cap, "%.0f", value);
  return buf;
}

/* ---- Numbers ---- */

/* Decimal multipliers: parameters are counted in thousands, not in 1024s. */
static double multiplier_of(struct wo_view suffix) {
  static const struct {
    const char *name;
    double factor;
  } rows[] = {{"", 1}, {"k", 1e3}, {"m", 1e6}, {"b", 1e9}, {"g", 1e9}, {"t", 1e12}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (wo_view_is_nocase(suffix, rows[i].name)) return rows[i].factor;
  }
  return 0;
}

/* "8499653234", "8,499,653,234", "8.5B", "7e9". Whole numbers from 1 to `most`. */
static bool read_count(struct wo_view text, double most, double *ret_count) {
  struct wo_view rest = text;
  struct wo_interval number;
  uint64_t grouped = 0;
  if (wo_view_find_char(text, ',', 0) != WO_NOT_FOUND) {
    if (wo_number_grouped(&rest, (uint64_t)most, &grouped) != WO_OK || rest.len > 0) return false;
    number = wo_interval_exact((double)grouped);
  } else if (wo_number_decimal(&rest, &number, NULL) != WO_OK) {
    return false;
  }
  const double count = round(number.mid * multiplier_of(rest));
  if (!(count >= 1 && count <= most)) return false;
  *ret_count = count;
  return true;
}

/* "47.4GiB"; a bare number is bytes. */
static bool read_size(struct wo_view text, double most, struct wo_interval *ret_bytes) {
  struct wo_view rest = text;
  if (wo_units_bytes(&rest, 1, ret_bytes) != WO_OK || rest.len > 0) return false;
  return ret_bytes->mid >= 1 && ret_bytes->mid <= most;
}

/* "7-8GB", with the unit at the end or at both; one size alone is an interval of one point. */
static bool read_range(struct wo_view text, struct wo_interval *ret_bytes) {
  struct wo_view rest = text;
  struct wo_view low = wo_view_cut(&rest, '-');
  struct wo_interval hi, lo;
  if (rest.len == 0) return wo_view_find_char(text, '-', 0) == WO_NOT_FOUND && read_size(text, PARAMETERS_MAX, ret_bytes);
  if (!read_size(rest, PARAMETERS_MAX, &hi)) return false;
  size_t unit = rest.len;
  while (unit > 0 && wo_is_alpha(rest.ptr[unit - 1])) unit--;
  char with_unit[SHOWN_MAX];
  const bool has_unit = low.len > 0 && wo_is_alpha(low.ptr[low.len - 1]);
  const struct wo_view suffix = has_unit ? (struct wo_view){0} : wo_view_skip(rest, unit);
  if (low.len + suffix.len >= sizeof with_unit) return false;
  snprintf(with_unit, sizeof with_unit, "%.*s%.*s", (int)low.len, low.ptr, (int)suffix.len, suffix.len > 0 ? suffix.ptr : "");
  if (!read_size(wo_view_of(with_unit), PARAMETERS_MAX, &lo) || lo.mid > hi.mid) return false;
  *ret_bytes = (struct wo_interval){lo.mid, (lo.mid + hi.mid) / 2, hi.mid};
  return true;
}

/* ---- Values with parts ---- */

/* "micro_batch=4,seq_len=2048"; dashes do as well as underscores. */
static bool read_point(struct wo_view text, struct wo_budget_measured *measured) {
  while (text.len > 0) {
    struct wo_view value = wo_view_cut(&text, ',');
    const struct wo_view name = wo_view_cut(&value, '=');
    const bool is_batch = wo_view_is(name, "micro_batch") || wo_view_is(name, "micro-batch");
    const bool is_length = wo_view_is(name, "seq_len") || wo_view_is(name, "seq-len");
    if (!is_batch && !is_length) return false;
    if (!read_count(value, 1e9, is_batch ? &measured->micro_batch : &measured->seq_len)) return false;
  }
  return true;
}

/* "30GiB@micro_batch=4". */
static bool read_measured(struct wo_view text, struct wo_budget_measured *ret_measured) {
  struct wo_view point = text;
  const bool has_point = wo_view_find_char(text, '@', 0) != WO_NOT_FOUND;
  const struct wo_view size = wo_view_cut(&point, '@');
  *ret_measured = (struct wo_budget_measured){.micro_batch = 0};
  if (!read_range(size, &ret_measured->bytes)) return false;
  return has_point ? point.len > 0 && read_point(point, ret_measured) : true;
}

static bool add_activations(struct wo_budget_input *input, struct wo_view value) {
  struct wo_budget_measured measured;
  if (!read_measured(value, &measured)) return false;
  input->has_activations = true;
  input->activations = measured;
  return true;
}

/* "rank0=15GiB@micro_batch=4". */
static bool add_extra(struct wo_budget_input *input, struct wo_view value) {
  struct wo_budget_extra extra;
  struct wo_view rest = value;
  uint64_t rank = 0;
  if (!wo_view_starts(rest, "rank")) return false;
  rest = wo_view_skip(rest, 4);
  if (wo_number_u64(&rest, 1000000, &rank) != WO_OK || !wo_view_starts(rest, "=")) return false;
  if (!read_measured(wo_view_skip(rest, 1), &extra.measured)) return false;
  extra.rank = (uint32_t)rank;
  input->extras[input->extra_count++] = extra;
  return true;
}

/* Bytes of one frozen weight: a number format, or a quantised one. */
static double frozen_bytes(struct wo_view format) {
  if (wo_view_is(format, "8bit") || wo_view_is(format, "int8")) return 1;
  if (wo_view_is(format, "4bit") || wo_view_is(format, "nf4")) return 0.55;
  return wo_budget_dtype_bytes(find_choice(WO_BUDGET_DTYPE, format));
}

/* Names are shown, so that control characters have no place in them. */
static bool is_name(struct wo_view name) {
  for (size_t i = 0; i < name.len; i++) {
    if ((unsigned char)name.ptr[i] < ' ' || name.ptr[i] == 0x7f) return false;
  }
  return name.len > 0;
}

/* "mistral-7b=7.25B:fp16". */
static bool add_frozen(struct wo_budget_input *input, struct wo_view value) {
  struct wo_budget_frozen frozen = {.parameters = 0};
  struct wo_view rest = value;
  frozen.name = wo_view_cut(&rest, '=');
  const struct wo_view count = wo_view_cut(&rest, ':');
  if (!is_name(frozen.name) || !read_count(count, PARAMETERS_MAX, &frozen.parameters)) return false;
  frozen.bytes_per_parameter = frozen_bytes(rest);
  if (frozen.bytes_per_parameter == 0) return false;
  input->frozen[input->frozen_count++] = frozen;
  return true;
}

/* "gradients=2.5GB". */
static bool add_stated(struct wo_budget_input *input, struct wo_view value) {
  static const char *const rows[] = {"weights", "adapters", "gradients", "optimizer", "activations",
                                     "logits",  "kv_cache", "buffers",   "context",   "frozen"};
  struct wo_budget_stated stated = {.bytes = {0, 0, 0}};
  struct wo_view rest = value;
  stated.row = wo_view_cut(&rest, '=');
  if (!read_range(rest, &stated.bytes)) return false;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (!wo_view_is(stated.row, rows[i])) continue;
    input->stated[input->stated_count++] = stated;
    return true;
  }
  return false;
}

static const struct live_row {
  const char *option;
  bool (*read)(struct wo_budget_input *input, struct wo_view value);
  size_t count_offset; /* of the member that counts them; 0: only one */
  const char *wants;
} compounds[] = {
    {"activations", add_activations, 0, "a size and where it was measured, such as 30GiB@micro_batch=4"},
    {"extra", add_extra, offsetof(struct wo_budget_input, extra_count), "a rank and a size, such as rank0=15GiB@micro_batch=4"},
    {"frozen", add_frozen, offsetof(struct wo_budget_input, frozen_count),
     "NAME=PARAMETERS:FORMAT, such as encoder=7.25B:fp16 (fp32, bf16, fp16, fp8, 8bit, 4bit)"},
    {"stated", add_stated, offsetof(struct wo_budget_input, stated_count),
     "COMPONENT=SIZE, such as gradients=2.5GB (weights, adapters, gradients, optimizer, activations, logits, kv_cache, buffers, "
     "context, frozen)"},
};

/* ---- All options ---- */

static enum wo_status refuse(struct wo_err *err, struct wo_view option, const char *wants, struct wo_view value) {
  const int shown = (int)(value.len < SHOWN_MAX ? value.len : SHOWN_MAX);
  return wo_err_set(err, WO_E_USAGE, "--%.*s wants %s, not '%.*s'", (int)option.len, option.ptr, wants, shown,
                    value.len > 0 ? value.ptr : "");
}

static size_t count_at(const struct wo_budget_input *input, size_t offset) {
  size_t count = 0;
  if (offset > 0) memcpy(&count, (const char *)input + offset, sizeof count);
  return count;
}

static enum wo_status apply_compound(struct wo_budget_input *input, struct wo_view option, struct wo_view value,
                                     struct wo_err *err) {
  for (size_t i = 0; i < sizeof compounds / sizeof compounds[0]; i++) {
    if (!wo_view_is(option, compounds[i].option)) continue;
    if (count_at(input, compounds[i].count_offset) == WO_LIMIT_BUDGET_ITEMS)
      return wo_err_set(err, WO_E_USAGE, "--%s can be given %d times at the most", compounds[i].option, WO_LIMIT_BUDGET_ITEMS);
    return compounds[i].read(input, value) ? WO_OK : refuse(err, option, compounds[i].wants, value);
  }
  return wo_view_is(option, "model") ? WO_OK
                                     : wo_err_set(err, WO_E_USAGE, "budget has no option --%.*s", (int)option.len, option.ptr);
}

static enum wo_status apply_key(struct wo_budget_input *input, enum wo_budget_key key, struct wo_view value, struct wo_err *err) {
  const struct wo_view option = wo_view_of(keys[key].option);
  char wants[128];
  struct wo_interval size;
  double number = 0;
  switch (keys[key].sort) {
  case WO_BUDGET_FLAG:
    number = 1;
    break;
  case WO_BUDGET_SIZE:
    if (!read_size(value, keys[key].most, &size)) return refuse(err, option, "a size, such as 47.4GiB", value);
    number = size.mid;
    break;
  case WO_BUDGET_CHOICE:
    number = find_choice(key, value);
    snprintf(wants, sizeof wants, "one of %s", keys[key].choices);
    if (number == 0) return refuse(err, option, wants, value);
    break;
  case WO_BUDGET_COUNT:
    snprintf(wants, sizeof wants, "a whole number from 1 to %.0e%s", keys[key].most,
             keys[key].most >= 1e12 ? ", such as 8499653234 or 8.5B" : "");
    if (!read_count(value, keys[key].most, &number)) return refuse(err, option, wants, value);
    break;
  }
  input->values[key] = number;
  return WO_OK;
}

enum wo_status wo_budget_apply(struct wo_budget_input *input, struct wo_view option, struct wo_view value, struct wo_err *err) {
  const enum wo_budget_key key = wo_budget_key_find(option);
  if (key == WO_BUDGET_KEY_COUNT_) return apply_compound(input, option, value, err);
  return apply_key(input, key, value, err);
}

enum wo_status wo_budget_check(const struct wo_budget_input *input, struct wo_err *err) {
  const double *const v = input->values;
  const double parts = fmax(1, v[WO_BUDGET_TENSOR]) * fmax(1, v[WO_BUDGET_PIPELINE]);
  if (v[WO_BUDGET_TRAINABLE] > v[WO_BUDGET_PARAMS] && v[WO_BUDGET_PARAMS] > 0)
    return wo_err_set(err, WO_E_USAGE, "--trainable %.0f is more than --params %.0f; trained parameters beside them: --adapters",
                      v[WO_BUDGET_TRAINABLE], v[WO_BUDGET_PARAMS]);
  if (v[WO_BUDGET_TRAINABLE] > 0 && v[WO_BUDGET_ADAPTERS] > 0)
    return wo_err_set(err, WO_E_USAGE, "--trainable is a part of --params, --adapters stand beside them: give one of the two");
  if (parts > fmax(1, v[WO_BUDGET_GPUS]) && v[WO_BUDGET_GPUS] > 0)
    return wo_err_set(err, WO_E_USAGE, "tensor parallel x pipeline = %.0f is more than --gpus %.0f", parts, v[WO_BUDGET_GPUS]);
  if (v[WO_BUDGET_ZERO] > 0 && v[WO_BUDGET_FSDP] > 0)
    return wo_err_set(err, WO_E_USAGE, "--zero and --fsdp both say how the states are divided: give one of the two");
  return WO_OK;
}
