/* SPDX-License-Identifier: Apache-2.0 */
/* `whyoom budget`: memory by component, from options, from the files of a job, and from the table of known shapes.
 *
 * Options win over a named model, and a named model over the job's files. */
#include <math.h>
#include <unistd.h>

#include "analyzer/budget/budget_args.h"
#include "analyzer/budget/budget_report.h"
#include "analyzer/command/commands.h"
#include "parsers/base/nearest/nearest.h"

/* One run of the command. */
struct run {
  const struct wo_call *call;
  const struct wo_pack *pack;
  struct wo_arena arena;
  struct wo_job *job; /* NULL without paths */
  bool is_changed;    /* an option or a model differs from the files: the log's figures are then not compared */
  struct wo_facts facts;
  struct wo_budget_report report;
};

static enum wo_exit fail(struct run *run, const struct wo_err *err) {
  wo_message_error(run->call->errors, (struct wo_view){0}, err);
  return WO_EXIT_ERROR;
}

static enum wo_exit read_files(struct run *run) {
  const enum wo_exit code = wo_command_read_job(run->call, run->pack, run->call->words, run->call->word_count, &run->job);
  if (!run->job) return WO_EXIT_ERROR;
  if (wo_facts_make(run->job, run->pack, &run->arena, &run->facts) != WO_OK) return wo_command_fail_memory(run->call);
  wo_budget_from_facts(&run->facts, &run->arena, &run->report);
  return code;
}

/* The known model with nearly that name; empty when there is none. */
static struct wo_view find_near_model(const struct wo_pack *pack, struct wo_view name) {
  struct wo_nearest nearest = {.want = name};
  for (size_t i = 0; i < pack->model_count; i++) wo_nearest_offer(&nearest, pack->models[i].id);
  return wo_nearest_best(&nearest);
}

/* Whether the value of --model is a path: what looks like one of its files, or a file or folder whose name the table lacks. */
static bool is_path(const struct wo_pack *pack, struct wo_view name) {
  if (wo_view_ends(name, ".json") || wo_view_ends(name, ".safetensors")) return true;
  const bool has_slash = wo_view_find_char(name, '/', 0) != WO_NOT_FOUND;
  return access(name.ptr, F_OK) == 0 && (has_slash || !wo_model_shape_find(pack, name));
}

/* Whether an option changes what the job did, also where its files do not say what that was. */
static bool is_change(enum wo_budget_key key) {
  static const enum wo_budget_key keys[] = {
      WO_BUDGET_MICRO_BATCH,   WO_BUDGET_SEQ_LEN,  WO_BUDGET_GPUS,      WO_BUDGET_CHECKPOINTING, WO_BUDGET_FUSED_LOSS,
      WO_BUDGET_LIGER,         WO_BUDGET_QUANTIZE, WO_BUDGET_LORA_RANK, WO_BUDGET_ADAPTERS,      WO_BUDGET_ZERO,
      WO_BUDGET_FSDP,          WO_BUDGET_TENSOR,   WO_BUDGET_PIPELINE,  WO_BUDGET_OPTIMIZER,     WO_BUDGET_OFFLOAD_OPTIMIZER,
      WO_BUDGET_OFFLOAD_PARAMS};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    if (keys[i] == key) return true;
  }
  return false;
}

/* The model that a config.json or the headers of its weights describe. */
static enum wo_exit read_model_path(struct run *run, const char *path) {
  struct wo_model_shape shape;
  struct wo_model_tensors tensors;
  struct wo_err err = {0};
  if (wo_model_path_read(path, &run->arena, &shape, &tensors, &err) != WO_OK) return fail(run, &err);
  run->is_changed = true;
  wo_budget_from_model(&shape, &tensors, path, &run->arena, &run->report);
  return WO_EXIT_FINE;
}

static enum wo_exit read_model(struct run *run) {
  for (size_t i = 0; i < run->call->given_count; i++) {
    const struct wo_given *const option = &run->call->given[i];
    if (!wo_view_is(option->name, "model")) continue;
    if (is_path(run->pack, option->value)) {
      const enum wo_exit code = read_model_path(run, option->value.ptr);
      if (code != WO_EXIT_FINE) return code;
      continue;
    }
    const struct wo_model_shape *const shape = wo_model_shape_find(run->pack, option->value);
    struct wo_err err = {0};
    if (!shape) {
      char hint[WO_NEAREST_BYTES];
      wo_err_set(&err, WO_E_USAGE, "no model of known shape is called '%.60s'%s; give --params, --layers, --hidden, ...",
                 option->value.ptr, wo_nearest_hint(find_near_model(run->pack, option->value), hint, sizeof hint));
      return fail(run, &err);
    }
    run->is_changed = true;
    wo_budget_from_shape(shape, &run->arena, &run->report);
  }
  return WO_EXIT_FINE;
}

/* If an option and the files give the same input under two keys, the option drops the files' key. */
static void drop_rival(struct wo_budget_report *report, enum wo_budget_key given) {
  static const struct {
    enum wo_budget_key given;
    enum wo_budget_key dropped;
  } rivals[] = {{WO_BUDGET_ZERO, WO_BUDGET_FSDP},
                {WO_BUDGET_FSDP, WO_BUDGET_ZERO},
                {WO_BUDGET_ADAPTERS, WO_BUDGET_TRAINABLE},
                {WO_BUDGET_TRAINABLE, WO_BUDGET_ADAPTERS}};
  for (size_t i = 0; i < sizeof rivals / sizeof rivals[0]; i++) {
    const enum wo_budget_key dropped = rivals[i].dropped;
    if (rivals[i].given == given && !wo_view_starts(report->origins[dropped], "--")) report->input.values[dropped] = 0;
  }
}

static enum wo_exit read_options(struct run *run) {
  struct wo_err err = {0};
  bool has_frozen = false;
  for (size_t i = 0; i < run->call->given_count; i++) {
    const struct wo_given *const option = &run->call->given[i];
    const enum wo_budget_key key = wo_budget_key_find(option->name);
    const bool is_frozen = wo_view_is(option->name, "frozen");
    if (is_frozen && !has_frozen) run->report.input.frozen_count = 0;
    has_frozen = has_frozen || is_frozen;
    const double before = key == WO_BUDGET_KEY_COUNT_ ? 0 : run->report.input.values[key];
    if (wo_command_apply(run->call->command, *option, &run->report.input, &err) != WO_OK) return fail(run, &err);
    if (key == WO_BUDGET_KEY_COUNT_) continue;
    if ((before > 0 || is_change(key)) && before != run->report.input.values[key]) run->is_changed = true;
    drop_rival(&run->report, key);
    run->report.origins[key] = wo_arena_format(&run->arena, "--%s", wo_budget_key_option(key)->name);
  }
  double *const values = run->report.input.values;
  const double parts =
      fmax(1, values[WO_BUDGET_TENSOR]) * fmax(1, values[WO_BUDGET_PIPELINE]) * fmax(1, values[WO_BUDGET_CONTEXT]);
  /* A log that names one card has others. */
  if (values[WO_BUDGET_GPUS] > 0 && values[WO_BUDGET_GPUS] < parts && !wo_view_starts(run->report.origins[WO_BUDGET_GPUS], "--"))
    values[WO_BUDGET_GPUS] = parts;
  if (values[WO_BUDGET_DTYPE] == (double)WO_BUDGET_FP32 && values[WO_BUDGET_AUTOCAST] == (double)WO_BUDGET_ON)
    values[WO_BUDGET_DTYPE] = WO_BUDGET_AMP;
  return wo_budget_check(&run->report.input, &err) == WO_OK ? WO_EXIT_FINE : fail(run, &err);
}

/* Scales the budget to the peak that the run at `path` printed. */
static enum wo_exit calibrate_by(struct run *run, char *path) {
  struct wo_job *job = NULL;
  struct wo_facts *const facts = wo_arena_alloc(&run->arena, sizeof *facts);
  const char *why = NULL;
  struct wo_err err = {0};
  enum wo_exit code = wo_command_read_job(run->call, run->pack, &path, 1, &job);
  if (!job || code != WO_EXIT_FINE) {
    wo_job_free(job);
    return WO_EXIT_ERROR;
  }
  if (!facts || wo_facts_make(job, run->pack, &run->arena, facts) != WO_OK ||
      wo_budget_calibrate(facts, &run->arena, &run->report, &why) != WO_OK) {
    code = wo_command_fail_memory(run->call);
  } else if (why || run->report.input.live_factor == 0) {
    wo_err_set(&err, WO_E_USAGE, "--calibrate %.200s: %s", path,
               why ? why : "it printed no peak of tensors in use (torch.cuda.max_memory_allocated, or a memory summary)");
    code = fail(run, &err);
  }
  wo_job_free(job);
  return code;
}

/* Whether options change the job in its sizes alone, if at all: its own peak then says something of the changed job. */
static bool is_same_program(const struct run *run) {
  for (size_t i = 0; i < run->call->given_count; i++) {
    const enum wo_budget_key key = wo_budget_key_find(run->call->given[i].name);
    if (wo_view_is(run->call->given[i].name, "stated")) continue;
    if (key != WO_BUDGET_MICRO_BATCH && key != WO_BUDGET_SEQ_LEN && key != WO_BUDGET_GRAD_ACCUM && key != WO_BUDGET_CAPACITY)
      return false;
  }
  return true;
}

/* By another run, if one is named; else by the job's own peak. */
static enum wo_exit calibrate(struct run *run) {
  const char *why = NULL;
  for (size_t i = 0; i < run->call->given_count; i++) {
    const struct wo_given *const option = &run->call->given[i];
    if (!wo_view_is(option->name, "calibrate")) continue;
    char *const path = wo_arena_alloc(&run->arena, option->value.len + 1);
    if (!path) return wo_command_fail_memory(run->call);
    memcpy(path, option->value.ptr, option->value.len);
    path[option->value.len] = '\0';
    return calibrate_by(run, path);
  }
  if (run->job && is_same_program(run) && wo_budget_calibrate(&run->facts, &run->arena, &run->report, &why) != WO_OK)
    return wo_command_fail_memory(run->call);
  return WO_EXIT_FINE;
}

static enum wo_exit write_out(struct run *run) {
  if (wo_budget_make(&run->report.input, &run->arena, &run->report.budget) != WO_OK) return wo_command_fail_memory(run->call);
  if (run->job && !run->is_changed) wo_budget_compare(&run->facts, &run->arena, &run->report);
  if (run->call->format == WO_OUT_JSON) {
    wo_budget_json(&run->report, run->call->out);
  } else {
    wo_budget_text(&run->report, run->call->style, run->call->out);
  }
  const bool is_failed = run->report.budget.verdict == WO_BUDGET_NOT_FIT && !run->call->exit_zero;
  return is_failed ? WO_EXIT_FAILURE_FOUND : WO_EXIT_FINE;
}

/* Everything after the rules are loaded. */
static enum wo_exit make(struct run *run) {
  const enum wo_exit reading = run->call->word_count > 0 ? read_files(run) : WO_EXIT_FINE;
  if (reading != WO_EXIT_FINE && !run->job) return reading;
  enum wo_exit code = read_model(run);
  if (code == WO_EXIT_FINE) code = read_options(run);
  if (code == WO_EXIT_FINE) code = calibrate(run);
  if (code == WO_EXIT_FINE) code = write_out(run);
  return reading != WO_EXIT_FINE ? reading : code;
}

enum wo_exit wo_run_budget(const struct wo_call *call) {
  if (call->word_count == 0 && call->given_count == 0) {
    wo_message(call->errors, (struct wo_view){0},
               "budget needs options (--params 8.5B ...), --model NAME or the files of a job; see whyoom help budget");
    return WO_EXIT_ERROR;
  }
  struct wo_pack *pack = wo_command_load(call, WO_LOAD_FOR_ONE_JOB);
  if (!pack) return WO_EXIT_ERROR;
  struct run *const run = calloc(1, sizeof *run); /* too large for a small stack */
  enum wo_exit code = WO_EXIT_ERROR;
  if (run) {
    run->call = call;
    run->pack = pack;
    wo_arena_init(&run->arena, WO_LIMIT_REPORT_BYTES);
    code = make(run);
    wo_arena_done(&run->arena);
    wo_job_free(run->job);
  } else {
    wo_command_fail_memory(call);
  }
  free(run);
  wo_pack_free(pack);
  return code;
}

const struct wo_command wo_command_budget = {
    .name = "budget",
    .needs_more = "",
    .summary = "memory of one card by component, and whether it fits",
    .usage = "budget [OPTION...] [PATH...]",
    .about = "Memory of one card by component: weights, gradients, optimizer, activations,\n"
             "logits, buffers. Inputs are options, what the job's files (PATH) say, and for a\n"
             "known model its shape; options win.\n",
    .options = wo_budget_options,
    .option_count = WO_BUDGET_OPTION_COUNT,
    .help_column = 27,
    .ending = "exit status: 0 it fits (or no capacity is given); 1 it does not fit; 2 wrong\n"
              "usage, or some input could not be read\n",
    .examples = "# before the first run: does full training fit on this card?\n"
                "whyoom budget --model llama-3.1-8b --dtype bf16 --micro-batch 1 \\\n"
                "  --seq-len 4096 --capacity 79.1GiB\n"
                "# the same over eight cards, sharded, with checkpointing\n"
                "whyoom budget --model llama-3.1-8b --dtype bf16 --zero 3 --gpus 8 \\\n"
                "  --micro-batch 2 --seq-len 4096 --checkpointing full --capacity 79.1GiB\n"
                "# a job's own settings, one of them changed\n"
                "whyoom budget slurm-4711.err slurm-4711.out train.sbatch --micro-batch 1\n"
                "# a server: how many tokens does the KV cache hold?\n"
                "whyoom budget --model llama-3.1-8b --inference --dtype bf16 \\\n"
                "  --max-model-len 8192 --capacity 23.6GiB\n",
};
