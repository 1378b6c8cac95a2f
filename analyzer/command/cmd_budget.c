/* `whyoom budget`: memory by component, from options, from the files of a job, and from the table of known shapes.
 *
 * Options win over a model that is named, that over the job's files. */
#include "analyzer/budget/budget_args.h"
#include "analyzer/budget/budget_report.h"
#include "analyzer/command/command.h"

/* What one call works on. */
struct call {
  const struct wo_cli *cli;
  const struct wo_pack *pack;
  struct wo_text *errors;
  struct wo_arena arena;
  struct wo_job *job; /* NULL without paths */
  bool is_changed;    /* an option or a model says something else than the files: the log's figures are then no measure */
  struct wo_facts facts;
  struct wo_budget_report report;
};

static enum wo_exit fail(struct call *call, const struct wo_err *err) {
  wo_command_error(call->errors, err);
  return WO_EXIT_ERROR;
}

static enum wo_exit read_files(struct call *call) {
  const enum wo_exit code =
      wo_command_read_job(call->cli, call->pack, call->cli->words, call->cli->word_count, &call->job, call->errors);
  if (!call->job || wo_facts_make(call->job, call->pack, &call->arena, &call->facts) != WO_OK) {
    wo_text_add(call->errors, "whyoom: out of memory\n");
    return WO_EXIT_ERROR;
  }
  wo_budget_from_facts(&call->facts, &call->arena, &call->report);
  return code;
}

static enum wo_exit read_model(struct call *call) {
  for (size_t i = 0; i < call->cli->option_count; i++) {
    const struct wo_cli_option *const option = &call->cli->options[i];
    if (!wo_view_is(option->name, "model")) continue;
    const struct wo_model_shape *const shape = wo_model_shape_find(call->pack, wo_view_of(option->value));
    struct wo_err err = {0};
    if (!shape) {
      wo_err_set(&err, WO_E_USAGE, "no model of known shape is called '%.60s'; give --params, --layers, --hidden, ...",
                 option->value);
      return fail(call, &err);
    }
    call->is_changed = true;
    wo_budget_from_shape(shape, &call->arena, &call->report);
  }
  return WO_EXIT_FINE;
}

/* Of two ways to say one thing the option drops what the files said in the other way. */
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

static enum wo_exit read_options(struct call *call) {
  struct wo_err err = {0};
  bool has_frozen = false;
  for (size_t i = 0; i < call->cli->option_count; i++) {
    const struct wo_cli_option *const option = &call->cli->options[i];
    const enum wo_budget_key key = wo_budget_key_find(option->name);
    const bool is_frozen = wo_view_is(option->name, "frozen");
    if (is_frozen && !has_frozen) call->report.input.frozen_count = 0;
    has_frozen = has_frozen || is_frozen;
    const double before = key == WO_BUDGET_KEY_COUNT_ ? 0 : call->report.input.values[key];
    if (wo_budget_apply(&call->report.input, option->name, wo_view_of(option->value), &err) != WO_OK) return fail(call, &err);
    if (key == WO_BUDGET_KEY_COUNT_) continue;
    if (before > 0 && before != call->report.input.values[key]) call->is_changed = true;
    drop_rival(&call->report, key);
    call->report.origins[key] = wo_arena_format(&call->arena, "--%s", wo_budget_key_option(key));
  }
  return wo_budget_check(&call->report.input, &err) == WO_OK ? WO_EXIT_FINE : fail(call, &err);
}

static enum wo_exit write_out(struct call *call, const struct wo_terminal *terminal, struct wo_text *out) {
  if (wo_budget_make(&call->report.input, &call->arena, &call->report.budget) != WO_OK) {
    wo_text_add(call->errors, "whyoom: out of memory\n");
    return WO_EXIT_ERROR;
  }
  if (call->job && !call->is_changed) wo_budget_compare(&call->facts, &call->arena, &call->report);
  if (call->cli->format == WO_OUT_JSON) {
    wo_budget_json(&call->report, out);
  } else {
    wo_budget_text(&call->report, wo_command_style(call->cli, terminal), out);
  }
  const bool is_failed = call->report.budget.verdict == WO_BUDGET_NOT_FIT && !call->cli->exit_zero;
  return is_failed ? WO_EXIT_FAILURE_FOUND : WO_EXIT_FINE;
}

/* Everything behind the loading of rules. */
static enum wo_exit run(struct call *call, const struct wo_terminal *terminal, struct wo_text *out) {
  const enum wo_exit reading = call->cli->word_count > 0 ? read_files(call) : WO_EXIT_FINE;
  if (reading != WO_EXIT_FINE && !call->job) return reading;
  enum wo_exit code = read_model(call);
  if (code == WO_EXIT_FINE) code = read_options(call);
  if (code == WO_EXIT_FINE) code = write_out(call, terminal, out);
  return reading != WO_EXIT_FINE ? reading : code;
}

enum wo_exit wo_command_budget(const struct wo_cli *cli, const struct wo_terminal *terminal, struct wo_text *out,
                               struct wo_text *errors) {
  if (cli->word_count == 0 && cli->option_count == 0) {
    wo_text_add(errors,
                "whyoom: budget wants options (--params 8.5B ...), --model NAME or the files of a job; see whyoom help budget\n");
    return WO_EXIT_ERROR;
  }
  struct wo_pack *pack = wo_command_load(cli, WO_LOAD_FOR_ONE_JOB, errors);
  if (!pack) return WO_EXIT_ERROR;
  struct call call = {.cli = cli, .pack = pack, .errors = errors};
  wo_arena_init(&call.arena, WO_LIMIT_REPORT_BYTES);
  const enum wo_exit code = run(&call, terminal, out);
  wo_arena_done(&call.arena);
  wo_job_free(call.job);
  wo_pack_free(pack);
  return code;
}
