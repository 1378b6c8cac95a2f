/* SPDX-License-Identifier: Apache-2.0 */
/* The command `whyoom replay`. See replay_command.h. */
#include "cuda_replay/command/replay_command.h"

#include <assert.h>

#include "cuda_replay/whatif/device_hooks.h"
#include "cuda_replay/command/replay_make.h"
#include "cuda_replay/command/replay_plot.h"
#include "cuda_replay/recording/open/trace_open.h"
#include "cuda_replay/recording/trace_anonymous.h"
#include "cuda_replay/viewer/viewer.h"
#include "cuda_replay/viewer/viewer_growth.h"
#include "parsers/base/command/call_output.h"
#include "parsers/base/command/message.h"

/* One run of the command. */
struct run {
  const struct wo_call *call;
  struct wo_replay_args args;
  enum wo_exit exit;
  size_t report_count;
  size_t plot_count;
};

/* ---- Exit codes ---- */

/* A divergence answers "is it as recorded", but only makes any other answer doubtful. */
static enum wo_exit exit_of(const struct wo_replay_args *args, enum wo_replay_verdict verdict) {
  const bool is_shown = verdict == WO_REPLAY_STATE_ONLY && !wo_replay_args_asks(args);
  if (is_shown || verdict == WO_REPLAY_REPRODUCED || verdict == WO_REPLAY_FITS) return WO_EXIT_FINE;
  const bool is_other = verdict == WO_REPLAY_DIVERGED && !args->is_sweep && !wo_change_is_any(&args->change);
  return is_other || verdict == WO_REPLAY_NOT_FIT ? WO_EXIT_FAILURE_FOUND : WO_EXIT_NOT_PROVEN;
}

/* Keeps the gravest of several exit codes. The numbers themselves are not in that order. */
static void join_exit(struct run *run, enum wo_exit exit) {
  assert(exit >= WO_EXIT_FINE && exit <= WO_EXIT_NOT_PROVEN);
  static const int gravity[] = {[WO_EXIT_FINE] = 0, [WO_EXIT_NOT_PROVEN] = 1, [WO_EXIT_FAILURE_FOUND] = 2, [WO_EXIT_ERROR] = 3};
  if (exit == WO_EXIT_FAILURE_FOUND && run->call->exit_zero) exit = WO_EXIT_FINE;
  if (gravity[exit] > gravity[run->exit]) run->exit = exit;
}

/* ---- Messages ---- */

/* `path` may be NULL. */
static void fail(struct run *run, const char *path, const struct wo_err *err) {
  wo_message_error(run->call->errors, wo_view_of(path), err);
  join_exit(run, WO_EXIT_ERROR);
}

/* ---- The page ---- */

/* Columns of the report in the page. */
enum { PAGE_COLUMNS = 110 };

/* The page shows the recording whatever the model says, so it says what the model says of it. */
static void add_reasons(const struct wo_replay_report *report, struct wo_text *out) {
  if (report->has_check && report->check.verdict == WO_CHECK_DIVERGED) {
    const struct wo_replay_check *const check = &report->check;
    wo_text_add(out, "recorded: %s\nmodel: %s\n%s\n", check->expected, check->got, check->why);
    wo_text_add(out, "this page shows the recording, not the model\n");
  } else if (report->verdict == WO_REPLAY_REFUSED) {
    wo_text_add(out, "this page shows the entries as well as they go together\n");
  }
  if (report->has_whatif || report->has_sweep)
    wo_text_add(out, "this page shows the recording as it was; the what-if is in the report below\n");
  for (size_t i = 0; i < report->recording->notes.count; i++) {
    wo_text_add_view(out, report->recording->notes.items[i]);
    wo_text_add(out, "\n");
  }
}

static enum wo_viewer_tone tone_of(enum wo_replay_verdict verdict) {
  switch (verdict) {
  case WO_REPLAY_REPRODUCED:
  case WO_REPLAY_FITS:
    return WO_VIEWER_GOOD;
  case WO_REPLAY_NOT_FIT:
  case WO_REPLAY_DIVERGED:
  case WO_REPLAY_REFUSED:
    return WO_VIEWER_BAD;
  default:
    return WO_VIEWER_DOUBTFUL;
  }
}

static struct wo_view view_of(const struct wo_text *text) {
  return (struct wo_view){text->ptr, text->len};
}

/* Appends the page: the recording as it was, with the verdict and the whole text report. WO_E_NOMEM. */
static enum wo_status make_page(const struct wo_replay_report *report, struct wo_text *out, struct wo_err *err) {
  assert(report->has_look);
  struct wo_text subtitle = {0}, verdict = {0}, reasons = {0}, text = {0};
  wo_text_add(&subtitle, "device %d, torch %d.%d%s, settings ", report->trace->device, report->torch / 100, report->torch % 100,
              report->is_torch_assumed ? " (assumed)" : "");
  wo_replay_settings(report, &report->recorded_settings, &subtitle);
  wo_replay_verdict_line(report, &verdict);
  add_reasons(report, &reasons);
  wo_replay_text(report, (struct wo_text_style){.width = PAGE_COLUMNS, .use_utf8 = true}, &text);
  const struct wo_viewer viewer = {.look = &report->look,
                                   .title = report->path,
                                   .subtitle = view_of(&subtitle),
                                   .verdict = view_of(&verdict),
                                   .reasons = view_of(&reasons),
                                   .tone = tone_of(report->verdict),
                                   .report = view_of(&text)};
  const bool is_failed = subtitle.is_failed || verdict.is_failed || reasons.is_failed || text.is_failed;
  const enum wo_status status = is_failed ? WO_E_NOMEM : wo_viewer_html(&viewer, out);
  wo_text_done(&subtitle);
  wo_text_done(&verdict);
  wo_text_done(&reasons);
  wo_text_done(&text);
  return status == WO_OK ? WO_OK : wo_err_nomem(err);
}

/* A page is one document: further reports would come behind its end. */
static void write_page(struct run *run, const char *path, const struct wo_replay_report *report) {
  struct wo_err err = {0};
  if (run->report_count > 1) {
    wo_err_set(&err, WO_E_USAGE, "--format html shows the first report only: give one recording, and --device");
    fail(run, path, &err);
    return;
  }
  run->call->out->is_exact = true; /* everything is escaped, and line breaks are meant */
  if (make_page(report, run->call->out, &err) != WO_OK) fail(run, path, &err);
}

/* ---- One recording ---- */

/* A plot is one file: further reports would overwrite it. */
static void plot(struct run *run, const char *path, const struct wo_replay_report *report) {
  struct wo_err err = {0};
  if (run->args.plot.len == 0) return;
  if (run->plot_count++ > 0) {
    wo_err_set(&err, WO_E_USAGE, "--plot shows the first report only: give one recording, and --device");
    fail(run, path, &err);
  } else if (!report->has_memory) {
    wo_err_set(&err, WO_E_USAGE, "--plot: nothing was replayed, so there is nothing to draw");
    fail(run, path, &err);
  } else if (wo_replay_plot_file(run->call, report, run->args.plot.ptr, &err) != WO_OK) {
    fail(run, run->args.plot.ptr, &err);
  }
}

/* Writes a report that was made. */
static void write_report(struct run *run, const char *path, struct wo_replay_report *report, double seconds) {
  report->has_times = !run->args.no_times;
  report->seconds = seconds;
  if (report->seconds > 0) report->events_per_second = (double)report->operation_count / report->seconds;
  if (run->report_count++ > 0 && run->call->format == WO_OUT_TEXT) wo_text_add(run->call->out, "\n");
  if (run->call->format == WO_OUT_JSON) {
    wo_replay_json(report, run->call->out);
  } else if (run->call->format == WO_OUT_HTML) {
    write_page(run, path, report);
  } else {
    wo_replay_text(report, run->call->style, run->call->out);
  }
  plot(run, path, report);
  join_exit(run, exit_of(&run->args, report->verdict));
}

/* One report; false if there is none, which has been reported as an error. */
static bool replay_device(struct run *run, const char *path, struct wo_recording *recording, const struct wo_trace *trace) {
  struct wo_replay_report *const report = malloc(sizeof *report); /* too large for a small stack */
  struct wo_err err = {0};
  const struct wo_view shown = wo_pseudonyms_path(run->call->pseudonyms, wo_view_of(path), &recording->arena);
  const double begin = wo_hooks_seconds_now(run->args.gpu.hooks);
  const enum wo_status status = report ? wo_replay_make(recording, trace, shown, &run->args, report, &err) : wo_err_nomem(&err);
  if (status == WO_OK) {
    write_report(run, path, report, wo_hooks_seconds_now(run->args.gpu.hooks) - begin);
    wo_replay_report_done(report);
  } else {
    if (err.code == WO_OK) err.code = status;
    fail(run, path, &err);
  }
  free(report);
  return status == WO_OK;
}

/* Lists the devices if the requested one does not exist. */
static void fail_device(struct run *run, const char *path, const struct wo_recording *recording) {
  struct wo_err err = {0};
  char list[160];
  size_t len = 0;
  list[0] = '\0';
  for (size_t i = 0; i < recording->traces.count && len + 16 < sizeof list; i++)
    len += (size_t)snprintf(list + len, sizeof list - len, "%s%d", i > 0 ? ", " : "", recording->traces.items[i].device);
  if (recording->traces.count == 0) {
    wo_err_set(&err, WO_E_USAGE,
               "has no entries of any device: was torch.cuda.memory._record_memory_history() called? `whyoom record -- COMMAND` "
               "does it");
  } else {
    wo_err_set(&err, WO_E_USAGE, "records nothing of device %d; it has %s", run->args.device, list);
  }
  fail(run, path, &err);
}

/* Of several recordings all names are known before the first one is shown. What cannot be read is named when its turn comes. */
static void learn_names(const struct wo_call *call) {
  for (size_t i = 0; i < call->word_count && call->word_count > 1 && call->pseudonyms; i++) {
    struct wo_recording *recording = NULL;
    struct wo_err err = {0};
    if (strcmp(call->words[i], "-") != 0 && wo_trace_open(call->words[i], &recording, &err) == WO_OK)
      wo_recording_learn(recording, call->pseudonyms);
    wo_recording_free(recording);
  }
}

/* A file that cannot be read does not stop the others. */
static void replay_path(struct run *run, const char *path) {
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  size_t count = 0;
  const enum wo_status status = wo_trace_open(path, &recording, &err);
  if (status != WO_OK) {
    if (err.code == WO_OK) err.code = status;
    fail(run, path, &err);
    return;
  }
  recording->stop = run->call->stop;
  wo_recording_anonymize(recording, run->call->pseudonyms);
  for (size_t i = 0; i < recording->traces.count; i++) {
    const struct wo_trace *const trace = &recording->traces.items[i];
    if (run->args.has_device && trace->device != run->args.device) continue;
    count++;
    /* An option that does not fit the file is reported once for the file. */
    if (!replay_device(run, path, recording, trace)) break;
  }
  if (count == 0) fail_device(run, path, recording);
  wo_recording_free(recording);
}

/* Nothing is judged, so two recordings that could be read are exit code 0. */
static void compare(struct run *run) {
  const struct wo_call *const call = run->call;
  const struct wo_compare_options options = {.categories = &run->args.categories,
                                             .at = run->args.diff_at,
                                             .device = run->args.has_device ? run->args.device : -1,
                                             .part = run->args.part,
                                             .pseudonyms = call->pseudonyms,
                                             .write = call->format == WO_OUT_JSON   ? wo_compare_json
                                                      : call->format == WO_OUT_HTML ? wo_viewer_growth
                                                                                    : wo_compare_text,
                                             .style = call->style};
  struct wo_err err = {0};
  const char *failed = NULL;
  call->out->is_exact = call->format == WO_OUT_HTML;
  if (call->word_count != 2) {
    wo_err_set(&err, WO_E_USAGE, "--diff wants two recordings, the one before and the one after; there are %zu",
               call->word_count);
    fail(run, NULL, &err);
  } else if (wo_compare_files((const char *const[2]){call->words[0], call->words[1]}, &options, call->out, &failed, &err) !=
             WO_OK) {
    fail(run, failed, &err);
  }
}

/* The file of --plot can be written, and is neither a recording nor the file of --output. */
static enum wo_status check_plot(const struct run *run, struct wo_err *err) {
  struct wo_output_file plot, output;
  if (run->args.plot.len == 0) return WO_OK;
  const enum wo_status status = wo_call_find_output(run->call, run->args.plot.ptr, &plot, err);
  if (status != WO_OK || run->call->output.len == 0) return status;
  if (wo_output_find(run->call->output.ptr, &output, NULL) != WO_OK || !wo_output_is_same(&plot, &output)) return WO_OK;
  return wo_err_set(err, WO_E_USAGE, "is named by --plot and by --output: give two names");
}

/* A page, and a part of a recording, are not for every question. */
static enum wo_status check_format(const struct run *run, struct wo_err *err) {
  const struct wo_replay_args *const args = &run->args;
  const bool is_page = run->call->format == WO_OUT_HTML, is_part = args->part.has_first || args->part.has_last;
  if (is_part && !is_page && !args->is_diff && args->categories.count == 0)
    return wo_err_set(err, WO_E_USAGE,
                      "--from and --to are about what is shown: give --format html, --where or --diff with them");
  return WO_OK;
}

/* A user who interrupts a replay on a GPU does not want the other files either. */
static bool is_interrupted(const struct run *run) {
  const struct wo_replay_hooks *const hooks = run->args.gpu.hooks;
  return hooks && hooks->is_cancelled && *hooks->is_cancelled;
}

/* Options are read before any file is opened, so that a mistake is reported immediately. A recording is never typed at a
 * terminal, so standard input must be requested explicitly. */
enum wo_exit wo_run_replay(const struct wo_call *call, const struct wo_replay_hooks *hooks) {
  struct run run = {.call = call};
  struct wo_err err = {0};
  enum wo_status status = wo_call_apply(call, &run.args, &err);
  if (call->word_count == 0)
    status = wo_err_set(&err, WO_E_USAGE,
                        "replay wants a recording: a snapshot of torch.cuda.memory._dump_snapshot(), or - for "
                        "standard input; see whyoom help replay");
  if (status == WO_OK) status = wo_replay_args_check(&run.args, &err);
  if (status == WO_OK) status = check_format(&run, &err);
  if (status != WO_OK) {
    fail(&run, NULL, &err);
    return run.exit;
  }
  if (check_plot(&run, &err) != WO_OK) {
    fail(&run, run.args.plot.ptr, &err);
    return run.exit;
  }
  if (run.args.is_diff) {
    compare(&run);
    return run.exit;
  }
  learn_names(call);
  run.args.gpu.hooks = hooks;
  run.args.pseudonyms = call->pseudonyms;
  run.args.shows_page = call->format == WO_OUT_HTML;
  run.args.shows_memory = call->format == WO_OUT_JSON || run.args.shows_page || run.args.plot.len > 0;
  for (size_t i = 0; i < call->word_count && !is_interrupted(&run); i++) replay_path(&run, call->words[i]);
  return run.exit;
}
