/* The command `whyoom replay`. See replay_command.h. */
#include "cuda_replay/command/replay_command.h"

#include <assert.h>
#include <time.h>

#include "cuda_replay/whatif/device_hooks.h"
#include "cuda_replay/command/replay_make.h"
#include "cuda_replay/command/replay_plot.h"
#include "cuda_replay/recording/open/trace_open.h"
#include "parsers/base/clean.h"

enum { PATH_BYTES = 1024 };

/* What one call works on. */
struct call {
  const struct wo_replay_call *wanted;
  struct wo_replay_args args;
  struct wo_text *out;
  struct wo_text *errors;
  enum wo_replay_exit exit;
  size_t report_count;
  size_t plot_count;
};

/* Only for telling how long it took; no result depends on it. */
static double seconds_now(void) {
  struct timespec now = {0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- Exit codes ---- */

/* Whether the question was another one than "is it as recorded". */
static bool asks_more(const struct wo_replay_args *args) {
  return args->is_sweep || args->change.set_count > 0 || args->capacity_bytes > 0 || wo_change_alters_program(&args->change);
}

/* A divergence is the answer to "is it as recorded", and only a doubt about any other answer. */
static enum wo_replay_exit exit_of(const struct wo_replay_args *args, enum wo_replay_verdict verdict) {
  switch (verdict) {
  case WO_REPLAY_REPRODUCED:
  case WO_REPLAY_FITS:
    return WO_REPLAY_EXIT_FINE;
  case WO_REPLAY_NOT_FIT:
    return WO_REPLAY_EXIT_FAILS;
  case WO_REPLAY_STATE_ONLY:
    return wo_replay_args_asks(args) ? WO_REPLAY_EXIT_NOT_PROVEN : WO_REPLAY_EXIT_FINE;
  case WO_REPLAY_DIVERGED:
    return asks_more(args) ? WO_REPLAY_EXIT_NOT_PROVEN : WO_REPLAY_EXIT_FAILS;
  case WO_REPLAY_NO_CAPACITY:
  case WO_REPLAY_CLOSE:
  case WO_REPLAY_APPROXIMATE:
  case WO_REPLAY_GPU_DIFFERS:
  case WO_REPLAY_REFUSED:
  case WO_REPLAY_VERDICT_COUNT_:
    break;
  }
  return WO_REPLAY_EXIT_NOT_PROVEN;
}

/* Of several the gravest. The numbers themselves are not in that order. */
static void join_exit(struct call *call, enum wo_replay_exit exit) {
  assert(exit >= WO_REPLAY_EXIT_FINE && exit <= WO_REPLAY_EXIT_NOT_PROVEN);
  static const int gravity[] = {
      [WO_REPLAY_EXIT_FINE] = 0, [WO_REPLAY_EXIT_NOT_PROVEN] = 1, [WO_REPLAY_EXIT_FAILS] = 2, [WO_REPLAY_EXIT_ERROR] = 3};
  if (exit == WO_REPLAY_EXIT_FAILS && call->wanted->exit_zero) exit = WO_REPLAY_EXIT_FINE;
  if (gravity[exit] > gravity[call->exit]) call->exit = exit;
}

/* ---- Messages ---- */

/* One line on stderr, with the file where there is one. Messages quote names out of files, hence the cleaning. */
static void fail(struct call *call, const char *path, const struct wo_err *err) {
  char text[PATH_BYTES];
  wo_text_add(call->errors, "whyoom: ");
  if (path) {
    wo_text_add_view(call->errors, wo_clean_utf8(wo_view_of(path), text, sizeof text));
    wo_text_add(call->errors, ": ");
  }
  const struct wo_view message = wo_view_of(err->message[0] != '\0' ? err->message : wo_status_text(err->code));
  wo_text_add_view(call->errors, wo_clean_utf8(message, text, sizeof text));
  wo_text_add(call->errors, "\n");
  join_exit(call, WO_REPLAY_EXIT_ERROR);
}

/* ---- One recording ---- */

/* One plot is one file: further reports would overwrite it. */
static void plot(struct call *call, const char *path, const struct wo_replay_report *report) {
  struct wo_err err = {0};
  if (call->args.plot.len == 0) return;
  if (call->plot_count++ > 0) {
    wo_err_set(&err, WO_E_USAGE, "--plot shows the first report only: give one recording, and --device");
    fail(call, path, &err);
  } else if (!report->has_course) {
    wo_err_set(&err, WO_E_USAGE, "--plot: nothing was replayed, so there is nothing to draw");
    fail(call, path, &err);
  } else if (wo_replay_plot_file(report, call->args.plot.ptr, &err) != WO_OK) {
    fail(call, NULL, &err);
  }
}

/* One report; false when there is none, which has been told. */
static bool replay_device(struct call *call, const char *path, const struct wo_recording *recording,
                          const struct wo_trace *trace) {
  struct wo_replay_report report;
  struct wo_err err = {0};
  const double begin = seconds_now();
  const enum wo_status status = wo_replay_make(recording, trace, wo_view_of(path), &call->args, &report, &err);
  if (status != WO_OK) {
    if (err.code == WO_OK) err.code = status;
    fail(call, path, &err);
    return false;
  }
  report.has_times = !call->args.no_times;
  report.seconds = seconds_now() - begin;
  if (report.seconds > 0) report.events_per_second = (double)report.operation_count / report.seconds;
  if (call->report_count++ > 0 && !call->wanted->is_json) wo_text_add(call->out, "\n");
  if (call->wanted->is_json) {
    wo_replay_json(&report, call->out);
  } else {
    wo_replay_text(&report, call->wanted->style, call->out);
  }
  plot(call, path, &report);
  join_exit(call, exit_of(&call->args, report.verdict));
  wo_replay_report_done(&report);
  return true;
}

/* Which devices there are, when the one that was asked for is none of them. */
static void fail_device(struct call *call, const char *path, const struct wo_recording *recording) {
  struct wo_err err = {0};
  char list[160];
  size_t len = 0;
  list[0] = '\0';
  for (size_t i = 0; i < recording->traces.count && len + 16 < sizeof list; i++)
    len += (size_t)snprintf(list + len, sizeof list - len, "%s%d", i > 0 ? ", " : "", recording->traces.items[i].device);
  if (recording->traces.count == 0) {
    wo_err_set(&err, WO_E_USAGE,
               "records nothing of any device: was torch.cuda.memory._record_memory_history() called? `whyoom record -- COMMAND` "
               "does it");
  } else {
    wo_err_set(&err, WO_E_USAGE, "records nothing of device %d; it has %s", call->args.device, list);
  }
  fail(call, path, &err);
}

/* A file that cannot be read ends nothing but its own part. */
static void replay_path(struct call *call, const char *path) {
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  size_t count = 0;
  const enum wo_status status = wo_trace_open(path, &recording, &err);
  if (status != WO_OK) {
    if (err.code == WO_OK) err.code = status;
    fail(call, path, &err);
    return;
  }
  for (size_t i = 0; i < recording->traces.count; i++) {
    const struct wo_trace *const trace = &recording->traces.items[i];
    if (call->args.has_device && trace->device != call->args.device) continue;
    count++;
    /* A wish that cannot be met is told once for a file. */
    if (!replay_device(call, path, recording, trace)) break;
  }
  if (count == 0) fail_device(call, path, recording);
  wo_recording_free(recording);
}

/* Who interrupts a replay on a GPU wants no other file either. */
static bool is_interrupted(const struct call *call) {
  const struct wo_replay_hooks *const hooks = call->wanted->hooks;
  return hooks && hooks->is_cancelled && *hooks->is_cancelled;
}

/* Options are read before any file is opened, so that a slip is told at once. */
enum wo_replay_exit wo_replay_command(const struct wo_replay_call *wanted, struct wo_text *out, struct wo_text *errors) {
  assert(wanted != NULL && out != NULL && errors != NULL);
  struct call call = {.wanted = wanted, .out = out, .errors = errors};
  struct wo_err err = {0};
  if (wo_replay_args_read(wanted->options, wanted->option_count, &call.args, &err) != WO_OK) {
    fail(&call, NULL, &err);
    return call.exit;
  }
  call.args.hooks = wanted->hooks;
  for (size_t i = 0; i < wanted->path_count && !is_interrupted(&call); i++) replay_path(&call, wanted->paths[i]);
  return call.exit;
}
