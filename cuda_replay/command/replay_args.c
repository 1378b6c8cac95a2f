/* Options of `whyoom replay`. See replay_args.h.
 *
 * One row per option: its name, the reader of its value, what to say when that fails. Those of a change are read in change.c. */
#include "cuda_replay/command/replay_args.h"

#include <assert.h>

#include "parsers/base/number.h"
#include "parsers/base/units.h"

/* Bytes of a value that a message repeats. */
enum { SHOWN_MAX = 60 };

/* Larger than any card, and far from overflow when doubled. */
#define CAPACITY_MAX (UINT64_C(1) << 50)

/* ---- Values ---- */

/* Each reader takes one value and is false, with *args untouched, when it is not what was expected. */
static bool read_check(struct wo_replay_args *args, struct wo_view value) {
  (void)value;
  args->is_check = true;
  return true;
}

static bool read_sweep(struct wo_replay_args *args, struct wo_view value) {
  (void)value;
  args->is_sweep = true;
  return true;
}

static bool read_no_times(struct wo_replay_args *args, struct wo_view value) {
  (void)value;
  args->no_times = true;
  return true;
}

/* A bare number is bytes; the whole text must be a size. */
static bool read_size(struct wo_view value, double least, uint64_t *ret_bytes) {
  struct wo_view rest = value;
  struct wo_interval bytes;
  if (wo_units_bytes(&rest, 1, &bytes) != WO_OK || rest.len > 0) return false;
  if (!(bytes.mid >= least && bytes.mid <= (double)CAPACITY_MAX)) return false;
  *ret_bytes = (uint64_t)bytes.mid;
  return true;
}

static bool read_capacity(struct wo_replay_args *args, struct wo_view value) {
  return read_size(value, 1, &args->capacity_bytes);
}

static bool read_torch(struct wo_replay_args *args, struct wo_view value) {
  uint16_t torch = 0;
  if (!wo_torch_version_parse(value, &torch)) return false;
  args->torch = torch;
  return true;
}

/* Entries are counted in 32 bits everywhere, so that a larger number is a slip. */
static bool read_at(struct wo_replay_args *args, struct wo_view value) {
  struct wo_view rest = value;
  uint64_t entry = 0;
  if (wo_number_u64(&rest, UINT32_MAX, &entry) != WO_OK || rest.len > 0) return false;
  args->has_at = true;
  args->at_entry = entry;
  return true;
}

/* "cuda:0" is refused: a recording knows ordinals only. */
static bool read_device(struct wo_replay_args *args, struct wo_view value) {
  struct wo_view rest = value;
  uint64_t device = 0;
  if (wo_number_u64(&rest, INT32_MAX, &device) != WO_OK || rest.len > 0) return false;
  args->has_device = true;
  args->device = (int)device;
  return true;
}

static bool read_chart(struct wo_replay_args *args, struct wo_view value) {
  (void)value;
  args->has_chart = true;
  return true;
}

/* An empty name comes from an unset shell variable. */
static bool read_plot(struct wo_replay_args *args, struct wo_view value) {
  if (value.len == 0) return false;
  args->plot = value;
  return true;
}

static bool read_pair(struct wo_replay_args *args, struct wo_view value) {
  if (value.len == 0) return false;
  args->pair = value;
  return true;
}

/* "model", "gpu" or "gpu:N". */
static bool read_on(struct wo_replay_args *args, struct wo_view value) {
  struct wo_view rest = value;
  uint64_t gpu = 0;
  if (wo_view_is(value, "model") || wo_view_is(value, "gpu")) {
    args->has_gpu = wo_view_is(value, "gpu");
    args->gpu = 0;
    return true;
  }
  if (!wo_view_is(wo_view_sub(value, 0, 4), "gpu:")) return false;
  rest = wo_view_skip(value, 4);
  if (wo_number_u64(&rest, INT16_MAX, &gpu) != WO_OK || rest.len > 0) return false;
  args->has_gpu = true;
  args->gpu = (int)gpu;
  return true;
}

static bool read_touch(struct wo_replay_args *args, struct wo_view value) {
  (void)value;
  args->touches = true;
  return true;
}

/* 0 is allowed: who knows that nothing else comes onto the card. */
static bool read_reserve(struct wo_replay_args *args, struct wo_view value) {
  if (!read_size(value, 0, &args->reserve_bytes)) return false;
  args->has_reserve = true;
  return true;
}

/* ---- All options ---- */

static const struct {
  const char *name;
  bool (*read)(struct wo_replay_args *args, struct wo_view value);
  const char *wants;
} rows[] = {
    {"check", read_check, "no value"},
    {"capacity", read_capacity, "a size, such as 79.1GiB"},
    {"torch", read_torch, "a version of torch from 1.13 on, such as 2.6"},
    {"sweep", read_sweep, "no value"},
    {"at", read_at, "the number of an entry, counted from 0"},
    {"device", read_device, "the number of a device, such as 0"},
    {"on", read_on, "model, gpu or gpu:N"},
    {"touch", read_touch, "no value"},
    {"reserve", read_reserve, "a size, such as 1.5GiB"},
    {"no-times", read_no_times, "no value"},
    {"plot", read_plot, "the name of a file to write, such as memory.svg"},
    {"chart", read_chart, "no value"},
    {"pair", read_pair, "a second recording of the same program at another size"},
};

enum wo_status wo_replay_args_apply(struct wo_replay_args *args, struct wo_replay_option option, struct wo_err *err) {
  assert(args != NULL);
  if (wo_change_has_item(option.name)) return wo_change_add(&args->change, option.name, option.value, err);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (!wo_view_is(option.name, rows[i].name)) continue;
    if (rows[i].read(args, option.value)) return WO_OK;
    const struct wo_view shown = wo_view_sub(option.value, 0, SHOWN_MAX);
    return wo_err_set(err, WO_E_USAGE, "--%s wants %s, not '%.*s'", rows[i].name, rows[i].wants, (int)shown.len,
                      shown.len > 0 ? shown.ptr : "");
  }
  const struct wo_view shown = wo_view_sub(option.name, 0, SHOWN_MAX);
  return wo_err_set(err, WO_E_USAGE, "replay has no option --%.*s", (int)shown.len, shown.len > 0 ? shown.ptr : "");
}

/* --at looks at the recording as it is; --sweep and --set change it. --check takes --set for recordings that do not tell their
 * settings. */
enum wo_status wo_replay_args_check(const struct wo_replay_args *args, struct wo_err *err) {
  if (args->is_check && args->is_sweep)
    return wo_err_set(err, WO_E_USAGE, "--check compares at one set of settings and --sweep tries many: give one of them");
  if (args->is_sweep && args->change.set_count > 0)
    return wo_err_set(err, WO_E_USAGE, "--sweep tries settings of its own: give --sweep or --set");
  const bool is_changed = wo_change_alters_program(&args->change);
  if (is_changed && (args->is_check || args->is_sweep || args->has_at))
    return wo_err_set(err, WO_E_USAGE, "--scale and --transform change the program: give them without --check, --sweep and --at");
  if (!args->has_gpu && (args->touches || args->has_reserve))
    return wo_err_set(err, WO_E_USAGE, "--touch and --reserve are about a GPU: give them with --on gpu");
  if (args->has_gpu && (args->is_check || args->is_sweep || args->has_at))
    return wo_err_set(err, WO_E_USAGE,
                      "--on gpu runs the program from an empty allocator: give it without --check, --sweep and --at");
  if (args->pair.len > 0 && !args->change.has_scale)
    return wo_err_set(err, WO_E_USAGE, "--pair tells how sizes grow: give --scale with it, such as seq_len=512:1024");
  if (args->has_at && (args->is_sweep || args->change.set_count > 0 || args->is_check))
    return wo_err_set(err, WO_E_USAGE, "--at shows the recorded run: give it without --check, --set and --sweep");
  return WO_OK;
}

/* Everything or nothing: *ret_args is written once all of it was understood. */
enum wo_status wo_replay_args_read(const struct wo_replay_option *options, size_t count, struct wo_replay_args *ret_args,
                                   struct wo_err *err) {
  struct wo_replay_args args = {0};
  for (size_t i = 0; i < count; i++) {
    const enum wo_status status = wo_replay_args_apply(&args, options[i], err);
    if (status != WO_OK) return status;
  }
  const enum wo_status status = wo_replay_args_check(&args, err);
  if (status == WO_OK) *ret_args = args;
  return status;
}

bool wo_replay_args_asks(const struct wo_replay_args *args) {
  return args->is_check || args->is_sweep || args->has_at || args->has_gpu || args->change.set_count > 0 ||
         args->capacity_bytes > 0 || wo_change_alters_program(&args->change);
}

struct wo_gpu_place wo_replay_args_gpu(const struct wo_replay_args *args) {
  return (struct wo_gpu_place){.ordinal = args->gpu,
                               .touches = args->touches,
                               .has_reserve = args->has_reserve,
                               .reserve_bytes = args->reserve_bytes,
                               .hooks = args->hooks};
}
