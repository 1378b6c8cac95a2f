/* SPDX-License-Identifier: Apache-2.0 */
/* `whyoom scan --follow DIR...`: a row for each job as it ends, and a command for each that failed. */
#include <poll.h>

#include "analyzer/fleet/fleet_anonymous.h"
#include "analyzer/command/scan_args.h"
#include "analyzer/live/follow.h"
#include "analyzer/live/runner.h"
#include "analyzer/row/row_anonymous.h"
#include "analyzer/table/table.h"
#include "parsers/base/limits.h"
#include "parsers/base/units.h"

#define SETTLE_NS (60 * WO_NS_PER_S)
#define POLL_NS (10 * WO_NS_PER_S)

struct listener {
  struct wo_scan_run *run;
  struct wo_runner *runner; /* NULL: no command */
  struct wo_fleet fleet;    /* the filter alone */
  struct wo_text record;    /* of one job, as JSON */
  struct wo_text id;
  bool has_head; /* CSV: the names of the columns are written */
  uint64_t failed;
};

/* ---- A job that has ended ---- */

static bool keep_all(void *context, struct wo_text *out) {
  (void)context, (void)out;
  return true;
}

/* Writes one row in some form. The number of rows, 0 or 1, or -1 for an error, which is said. */
static int64_t write_row(struct listener *listener, const struct wo_row *row, enum wo_table_format format, bool has_no_head,
                         struct wo_text *out) {
  const struct wo_scan_run *const run = listener->run;
  const struct wo_table_options options = {.format = format,
                                           .style = run->call->style,
                                           .store_path = run->args.fleet.store,
                                           .job = row->path,
                                           .has_no_head = has_no_head};
  struct wo_table_result result = {0};
  struct wo_err err = {0};
  if (wo_table_write(run->store, &listener->fleet, &options, out, keep_all, NULL, &result, &err) == WO_OK)
    return result.rows - result.left_out;
  wo_message_error(run->call->errors, run->args.fleet.store, &err);
  return -1;
}

/* Prints the row, if the filter lets it through. False: it cannot be written. */
static bool print_row(struct listener *listener, const struct wo_row *row) {
  const struct wo_call *const call = listener->run->call;
  static const enum wo_table_format forms[] = {[WO_OUT_JSONL] = WO_TABLE_JSONL,
                                               [WO_OUT_CSV] = WO_TABLE_CSV,
                                               [WO_OUT_JOBID] = WO_TABLE_JOBID,
                                               [WO_OUT_TEXT] = WO_TABLE_TEXT};
  const size_t before = call->out->len;
  const int64_t rows = write_row(listener, row, forms[call->format], listener->has_head, call->out);
  if (rows == 0) call->out->len = before; /* the names of the columns wait for a row */
  listener->has_head |= rows > 0;
  return rows >= 0 && !call->out->is_failed && (call->out->len == 0 || !call->drain || call->drain(call));
}

/* Runs the command for it. What stands in the log is in variables and on its input, never in the command. */
static bool run_command(struct listener *listener, const struct wo_row *row) {
  const struct wo_scan_hooks *const hooks = &listener->run->process->hooks;
  listener->id.len = 0;
  if (write_row(listener, row, WO_TABLE_JOBID, true, &listener->id) < 0) return false;
  while (listener->id.len > 0 && listener->id.ptr[listener->id.len - 1] == '\n') listener->id.len--;
  const struct wo_view id = {listener->id.ptr, listener->id.len};
  const struct wo_runner_variable variables[] = {
      {"WHYOOM_JOB_ID", id},      {"WHYOOM_OUTCOME", row->outcome}, {"WHYOOM_CAUSE", row->cause}, {"WHYOOM_TITLE", row->title},
      {"WHYOOM_USER", row->user}, {"WHYOOM_NAME", row->name},       {"WHYOOM_PATH", row->path}};
  wo_runner_put(listener->runner, id.len > 0 ? id : row->path, (struct wo_view){listener->record.ptr, listener->record.len},
                variables, sizeof variables / sizeof *variables, hooks->now_ns(hooks->context));
  return true;
}

static bool tell(struct listener *listener, const struct wo_row *row) {
  if (!print_row(listener, row)) return false;
  if (row->is_failed != 1) return true;
  listener->record.len = 0;
  const int64_t rows = write_row(listener, row, WO_TABLE_JSONL, true, &listener->record);
  listener->failed += rows > 0;
  if (rows <= 0 || !listener->runner) return rows >= 0;
  return run_command(listener, row);
}

/* The rows of a store that grows are looked up in it by their path: names are replaced in a store of this row alone. */
static bool tell_anonymous(struct listener *listener, const struct wo_row *row) {
  struct wo_scan_run *const run = listener->run;
  struct wo_store *const store = run->store;
  struct wo_store *copy = NULL;
  struct wo_err err = {0};
  struct wo_arena arena;
  struct wo_row shown = *row;
  struct wo_fleet_filter filter = wo_fleet_all();
  bool is_good = false;
  filter.job = row->path;
  wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
  if (wo_fleet_anonymize(store, &filter, run->call->pseudonyms, &copy, &err) == WO_OK) {
    wo_row_anonymize(&shown, run->call->pseudonyms, &arena);
    run->store = copy;
    is_good = tell(listener, &shown);
    run->store = store;
    wo_store_close(copy);
  } else {
    wo_message_error(run->call->errors, run->args.fleet.store, &err);
  }
  wo_arena_done(&arena);
  return is_good;
}

static bool on_ended(void *context, const struct wo_row *row) {
  struct listener *const listener = context;
  return listener->run->call->pseudonyms ? tell_anonymous(listener, row) : tell(listener, row);
}

/* ---- The process around it ---- */

static bool on_tick(void *context, int64_t now_ns) {
  const struct listener *const listener = context;
  const bool is_busy = listener->runner && wo_runner_tick(listener->runner, now_ns);
  if (listener->run->process->flush_errors) listener->run->process->flush_errors(listener->run->call);
  return is_busy;
}

static void wait_a_while(void *context, int64_t span_ns) {
  (void)context;
  poll(NULL, 0, (int)(span_ns / (WO_NS_PER_S / 1000)));
}

/* Commands that run are given some time to end. */
static void end_commands(struct listener *listener) {
  const struct wo_scan_hooks *const hooks = &listener->run->process->hooks;
  const int64_t end_ns = hooks->now_ns(hooks->context) + WO_LIMIT_EXEC_END_S * WO_NS_PER_S;
  int64_t now_ns = end_ns - 1;
  wo_runner_stop(listener->runner);
  while (now_ns < end_ns && wo_runner_tick(listener->runner, now_ns)) {
    wait_a_while(NULL, WO_NS_PER_S / 50);
    now_ns = hooks->now_ns(hooks->context);
  }
  wo_runner_kill(listener->runner);
}

/* ---- The whole ---- */

static bool take_count(void *context, const struct wo_store_value *values, size_t count) {
  if (count == 1 && values[0].type == WO_STORE_NUMBER) *(int64_t *)context = values[0].number;
  return false;
}

/* Whether an earlier scan of these folders came to its end. */
static bool was_scanned(const struct wo_scan_run *run) {
  struct wo_text roots = {0};
  int64_t scans = 0;
  for (size_t i = 0; i < run->call->word_count; i++) wo_text_add(&roots, "%s%s", i > 0 ? "\n" : "", run->call->words[i]);
  const struct wo_view text = {roots.ptr, roots.len};
  wo_store_ask(run->store, "SELECT count(*) FROM scan WHERE roots = ?1 AND end_ns IS NOT NULL", &text, 1, take_count, &scans,
               NULL);
  wo_text_done(&roots);
  return scans > 0;
}

static enum wo_exit report_end(const struct listener *listener, const struct wo_follow_account *account) {
  const struct wo_call *const call = listener->run->call;
  const struct wo_runner_account commands =
      listener->runner ? wo_runner_account(listener->runner) : (struct wo_runner_account){0};
  if (account->is_short)
    wo_message(call->errors, (struct wo_view){0}, "interrupted before the folders were looked through for the first time");
  else
    wo_message(call->errors, (struct wo_view){0}, "ended; jobs reported: %llu, being written: %llu",
               (unsigned long long)account->reported, (unsigned long long)account->open);
  if (commands.failed > 0 || commands.left > 0)
    wo_message(call->errors, WO_VIEW("--exec"), "%llu commands ended well, %llu did not, %llu were not run",
               (unsigned long long)commands.done, (unsigned long long)commands.failed, (unsigned long long)commands.left);
  if (account->is_short || account->problems > 0 || commands.failed > 0 || commands.left > 0) return WO_EXIT_ERROR;
  return listener->failed > 0 && !call->exit_zero ? WO_EXIT_FAILURE_FOUND : WO_EXIT_FINE;
}

static enum wo_exit follow(struct listener *listener, const struct wo_pack *pack, struct wo_watcher *watcher) {
  const struct wo_scan_run *const run = listener->run;
  const struct wo_scan_args *const args = &run->args;
  char rules[WO_PACK_VERSION_BYTES];
  wo_pack_version(pack, rules);
  const struct wo_follow_settings settings = {.scan = wo_scan_make_settings(run, wo_view_of(rules)),
                                              .settle_ns = args->settle_ns > 0 ? args->settle_ns : SETTLE_NS,
                                              .poll_ns = args->poll_ns > 0 ? args->poll_ns : POLL_NS,
                                              .is_resumed = args->fleet.store.len > 0 && was_scanned(run)};
  /* A link is no change of the folder that it leads to. */
  const bool is_polled = args->poll_ns > 0 || args->follows_links;
  const struct wo_follow_hooks hooks = {.context = listener,
                                        .watch = is_polled ? NULL : &wo_watch_inotify,
                                        .watcher = watcher,
                                        .on_ended = on_ended,
                                        .on_tick = on_tick,
                                        .wait = wait_a_while};
  struct wo_scan_hooks scan_hooks = run->process->hooks;
  struct wo_follow_account account = {0};
  struct wo_err err = {0};
  if (args->no_progress) scan_hooks.on_progress = NULL;
  const enum wo_status status = wo_follow(pack, run->store, &settings, &scan_hooks, &hooks, run->call->errors, &account, &err);
  if (listener->runner) end_commands(listener);
  if (status != WO_OK && err.code != WO_OK) wo_message_error(run->call->errors, args->fleet.store, &err);
  const enum wo_exit code = report_end(listener, &account);
  return status == WO_OK ? code : WO_EXIT_ERROR;
}

enum wo_exit wo_run_follow(struct wo_scan_run *run, const struct wo_pack *pack) {
  struct listener listener = {.run = run};
  struct wo_text where = {0};
  struct wo_fleet_filter filter = run->args.fleet.filter;
  filter.since_ns = filter.until_ns = WO_ROW_UNKNOWN; /* the walk goes by the time of the logs */
  wo_fleet_add_where(&where, &filter);
  wo_text_add_view(&where, (struct wo_view){"", 1});
  listener.fleet.where = (struct wo_view){where.ptr, where.len - (where.len > 0)};
  struct wo_watcher *watcher = wo_watcher_new();
  bool is_good = watcher && !where.is_failed && wo_scan_forget_old(run);
  if (is_good && run->args.exec.len > 0)
    is_good = wo_runner_new(run->args.exec.ptr, run->process->environment, run->call->errors, &listener.runner) == WO_OK;
  const enum wo_exit code = is_good ? follow(&listener, pack, watcher) : WO_EXIT_ERROR;
  wo_runner_free(listener.runner);
  wo_watcher_free(watcher);
  wo_text_done(&listener.record);
  wo_text_done(&listener.id);
  wo_text_done(&where);
  return code;
}
