/* SPDX-License-Identifier: Apache-2.0 */
/* Options of `whyoom replay`. See replay_args.h. Those of a change are read in change.c. */
#include "cuda_replay/command/replay_args.h"

#include "parsers/base/number.h"
#include "parsers/base/units.h"

/* Larger than any card, and far from overflow when doubled. */
#define CAPACITY_MAX (UINT64_C(1) << 50)

/* ---- Values ---- */

/* The whole text must be a number. */
static bool read_number(struct wo_view value, uint64_t most, uint64_t *ret_number) {
  uint64_t number = 0;
  if (wo_number_u64(&value, most, &number) != WO_OK || value.len > 0) return false;
  *ret_number = number;
  return true;
}

/* A number without a unit is bytes; the whole text must be a size. */
static bool read_size(struct wo_view value, double least, uint64_t *ret_bytes) {
  struct wo_view rest = value;
  struct wo_interval bytes;
  if (wo_units_bytes(&rest, 1, &bytes) != WO_OK || rest.len > 0) return false;
  if (!(bytes.mid >= least && bytes.mid <= (double)CAPACITY_MAX)) return false;
  *ret_bytes = (uint64_t)bytes.mid;
  return true;
}

bool wo_replay_read_capacity(void *target, const struct wo_option_value *value) {
  return read_size(value->text, 1, &((struct wo_replay_args *)target)->change.capacity_bytes);
}

bool wo_replay_read_torch(void *target, const struct wo_option_value *value) {
  return wo_torch_version_parse(value->text, &((struct wo_replay_args *)target)->torch);
}

/* "model", "gpu" or "gpu:N". */
bool wo_replay_read_on(void *target, const struct wo_option_value *value) {
  struct wo_replay_args *const args = target;
  struct wo_view rest = value->text;
  const struct wo_view device = wo_view_cut(&rest, ':');
  const bool is_gpu = wo_view_is(device, "gpu");
  const bool has_number = device.len < value->text.len;
  uint64_t gpu = 0;
  if (!is_gpu && (has_number || !wo_view_is(device, "model"))) return false;
  if (has_number && !read_number(rest, INT16_MAX, &gpu)) return false;
  args->has_gpu = is_gpu;
  args->gpu.ordinal = (int)gpu;
  return true;
}

/* 0 is allowed, for users who know that nothing else uses the card. */
bool wo_replay_read_reserve(void *target, const struct wo_option_value *value) {
  struct wo_replay_args *const args = target;
  const bool is_read = read_size(value->text, 0, &args->gpu.reserve_bytes);
  args->gpu.has_reserve = args->gpu.has_reserve || is_read;
  return is_read;
}

/* Entries are counted in 32 bits everywhere, so a larger number is a mistake. */
static bool read_at(void *target, const struct wo_option_value *value) {
  struct wo_replay_args *const args = target;
  const bool is_read = read_number(value->text, UINT32_MAX, &args->at_entry);
  args->has_at = args->has_at || is_read;
  return is_read;
}

/* "cuda:0" is refused: a recording has ordinals only. */
static bool read_device(void *target, const struct wo_option_value *value) {
  struct wo_replay_args *const args = target;
  uint64_t device = 0;
  if (!read_number(value->text, INT32_MAX, &device)) return false;
  args->has_device = true;
  args->device = (int)device;
  return true;
}

/* Entries, both included. */
static bool read_from(void *target, const struct wo_option_value *value) {
  struct wo_look_part *const part = &((struct wo_replay_args *)target)->part;
  if (!read_number(value->text, UINT32_MAX, &part->first)) return false;
  return part->has_first = true;
}

static bool read_to(void *target, const struct wo_option_value *value) {
  struct wo_look_part *const part = &((struct wo_replay_args *)target)->part;
  if (!read_number(value->text, UINT32_MAX, &part->last)) return false;
  return part->has_last = true;
}

static bool read_where(void *target, const struct wo_option_value *value) {
  return wo_categories_add(&((struct wo_replay_args *)target)->categories, value->text, value->err) == WO_OK;
}

/* The moment is optional: "--diff" alone compares the peaks. */
static bool read_diff(void *target, const struct wo_option_value *value) {
  struct wo_replay_args *const args = target;
  const int at = wo_option_choice("peak|end", value->text);
  if (at < 0) return false;
  args->is_diff = true;
  args->diff_at = at == 0 ? WO_COMPARE_PEAK : WO_COMPARE_END;
  return true;
}

/* An item of the change, under the option's name. */
static bool read_change(void *target, const struct wo_option_value *value) {
  struct wo_replay_args *const args = target;
  return wo_change_add(&args->change, wo_view_of(value->option->name), value->text, value->err) == WO_OK;
}

/* ---- All options ---- */

/* "|empty-cache|checkpoint|..." */
static const char transform_names[] =
#define WO_TRANSFORM(id, name, amount_min, amount_max, above_pct, below_pct, summary, assumption) "|" name
#include "parsers/base/exchange/transforms.def"
#undef WO_TRANSFORM
    ;

static const struct wo_option options[] = {
    WO_OPTION("format", "FORMAT", "text (default), json, or html: a page that shows the\nrecording in a browser (-o view.html)",
              WO_TO_READER(wo_call_read_format), .choices = "text|json|html"),
    WO_OPTION("check", NULL, "compare every address, segment and the final layout only",
              WO_TO_FLAG(struct wo_replay_args, is_check)),
    WO_OPTION("set", "KEY:VALUE,...", "other settings: expandable_segments:True; may be repeated", WO_TO_READER(read_change)),
    WO_OPTION("sweep", NULL, "many settings, best first", WO_TO_FLAG(struct wo_replay_args, is_sweep)),
    WO_OPTION("capacity", "SIZE",
              "what the allocator may take of the card: 79.1GiB; without\nit: what the recording's own out-of-memory entry shows",
              WO_TO_READER(wo_replay_read_capacity), .wants = "a size, such as 79.1GiB"),
    WO_OPTION("scale", "AXIS=A:B,...", "other sizes: micro_batch=32:16,seq_len=512:1024", WO_TO_READER(read_change)),
    WO_OPTION("pair", "OTHER", "a recording at another size, which tells how sizes grow", WO_TO_TEXT(struct wo_replay_args, pair),
              .path = WO_PATH_READ, .wants = "a second recording of the same program at another size"),
    WO_OPTION("transform", "NAME[=N]",
              "another program; may be repeated: empty-cache,\ncheckpoint, 8bit-optimizer, "
              "offload-optimizer,\noffload-parameters, shard-optimizer, shard-gradients,\nshard, accumulate",
              WO_TO_READER(read_change), .choices = &transform_names[1]),
    WO_OPTION("torch", "VERSION", "follow the rules of that version: 2.6", WO_TO_READER(wo_replay_read_torch),
              .wants = "a version of torch from 1.13 on, such as 2.6"),
    WO_OPTION("at", "ENTRY", "every segment and block after that entry", WO_TO_READER(read_at),
              .wants = "the number of an entry, counted from 0"),
    WO_OPTION("device", "N", "only that device of the recording", WO_TO_READER(read_device),
              .wants = "the number of a device, such as 0"),
    WO_OPTION("plot", "FILE.svg", "memory over time by class, fragmentation, segments", WO_TO_TEXT(struct wo_replay_args, plot),
              .path = WO_PATH_WRITTEN, .wants = "the name of a file to write, such as memory.svg"),
    WO_OPTION("chart", NULL, "memory over time in the text report", WO_TO_FLAG(struct wo_replay_args, has_chart)),
    WO_OPTION("diff", "[=MOMENT]", "what grew from the first recording to the second, at\ntheir peaks (default) or at their end",
              .without = "peak", WO_TO_READER(read_diff), .choices = "peak|end", .about = "what grew between two recordings"),
    WO_OPTION("where", "REGEX=NAME",
              "a category of your own, by annotation, metadata or\nframe (FILE:LINE FUNCTION); may be repeated",
              WO_TO_READER(read_where), .wants = "REGEX=NAME, such as 'attention|sdpa=attention'"),
    WO_OPTION("from", "ENTRY", "only from that entry on; for html, --where and --diff", WO_TO_READER(read_from),
              .wants = "the number of an entry, counted from 0"),
    WO_OPTION("to", "ENTRY", "only up to that entry", WO_TO_READER(read_to), .wants = "the number of an entry, counted from 0"),
    WO_OPTION("on", "model|gpu[:N]",
              "where it runs: on the model alone (the default), or also\non GPU N, with the driver's addresses and refusals",
              WO_TO_READER(wo_replay_read_on), .choices = "model|gpu", .wants = "model, gpu or gpu:N"),
    WO_OPTION("touch", NULL, "write every byte on the GPU", WO_TO_FLAG(struct wo_replay_args, gpu.touches)),
    WO_OPTION("reserve", "SIZE", "what stays free on the GPU beside the capacity", WO_TO_READER(wo_replay_read_reserve),
              .wants = "a size, such as 1.5GiB"),
    WO_OPTION("no-times", NULL, "leave out how long it took: equal bytes on every run",
              WO_TO_FLAG(struct wo_replay_args, no_times)),
};

const struct wo_command wo_command_replay = {
    .name = "replay",
    .needs_more = "on|plot",
    .summary = "run a recording of PyTorch's memory again, as it was or changed",
    .usage = "replay [OPTION...] TRACE...",
    .about = "Runs what a program asked of PyTorch's memory allocator again, on an exact model\n"
             "of it. TRACE: a snapshot of torch.cuda.memory._dump_snapshot() (any torch from\n"
             "2.0 on, plain, gzip or HTML), a profiler trace, or whyoom's own lines; - is\n"
             "standard input. Without options: whether the model gives what was recorded, the\n"
             "peak, what holds the memory there, and what keeps segments from being freed.\n",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .ending = "exit status: 0 it fits, or all is as recorded; 1 it does not fit, or is not as\n"
              "recorded; 2 wrong usage, or a recording could not be read; 3 not proven\n",
    .examples = "# who holds the memory at the peak, and is the recording whole?\n"
                "whyoom replay snapshot.pickle\n"
                "# the allocator's settings with which it would have fitted\n"
                "whyoom replay --sweep snapshot.pickle\n"
                "# half the micro-batch on a smaller card\n"
                "whyoom replay --scale micro_batch=32:16 --capacity 47GiB snapshot.pickle\n"
                "# what grew between two snapshots of one program\n"
                "whyoom replay --diff before.pickle after.pickle\n",
};

/* --at shows the recording as it is; --sweep and --set change it. --check takes --set for recordings without their settings. */
enum wo_status wo_replay_args_check(const struct wo_replay_args *args, struct wo_err *err) {
  if (args->is_check && args->is_sweep)
    return wo_err_set(err, WO_E_USAGE, "--check compares at one set of settings and --sweep tries many: give one of them");
  if (args->is_sweep && args->change.set_count > 0)
    return wo_err_set(err, WO_E_USAGE, "--sweep tries settings of its own: give --sweep or --set");
  const bool is_changed = wo_change_alters_program(&args->change);
  if (is_changed && (args->is_check || args->is_sweep || args->has_at))
    return wo_err_set(err, WO_E_USAGE, "--scale and --transform change the program: give them without --check, --sweep and --at");
  if (!args->has_gpu && (args->gpu.touches || args->gpu.has_reserve))
    return wo_err_set(err, WO_E_USAGE, "--touch and --reserve are about a GPU: give them with --on gpu");
  if (args->has_gpu && (args->is_check || args->is_sweep || args->has_at))
    return wo_err_set(err, WO_E_USAGE,
                      "--on gpu runs the program from an empty allocator: give it without --check, --sweep and --at");
  if (args->part.has_first && args->part.has_last && args->part.first > args->part.last)
    return wo_err_set(err, WO_E_USAGE, "--from is behind --to");
  const bool has_detail = args->plot.len > 0 || args->has_chart || args->torch != 0 || args->no_times;
  if (args->is_diff && (wo_replay_args_asks(args) || has_detail))
    return wo_err_set(err, WO_E_USAGE,
                      "--diff compares two recordings and replays none: give it with --where, --from, --to and --device only");
  if (args->pair.len > 0 && !args->change.has_scale)
    return wo_err_set(err, WO_E_USAGE, "--pair tells how sizes grow: give --scale with it, such as seq_len=512:1024");
  if (args->has_at && (args->is_sweep || args->change.set_count > 0 || args->is_check))
    return wo_err_set(err, WO_E_USAGE, "--at shows the recorded run: give it without --check, --set and --sweep");
  return WO_OK;
}

bool wo_replay_args_asks(const struct wo_replay_args *args) {
  return args->is_check || args->is_sweep || args->has_at || args->has_gpu || wo_change_is_any(&args->change);
}
