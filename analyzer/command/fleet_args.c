/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the commands over many jobs, and the report that all of them end with. */
#include "analyzer/command/fleet_args.h"

#include "analyzer/fleet/fleet_anonymous.h"
#include "analyzer/table/table.h"
#include "parsers/base/units.h"

#define NS_PER_MIN (60 * WO_NS_PER_S)

/* ---- Times ---- */

/* "7d": seconds of its letter; 0 for another letter. */
static int64_t seconds_of(char letter) {
  switch (letter) {
  case 'm':
    return 60;
  case 'h':
    return 3600;
  case 'd':
    return 86400;
  case 'w':
    return 7 * 86400;
  default:
    return 0;
  }
}

static bool read_ago(struct wo_view text, struct wo_given_time *time) {
  uint64_t count = 0;
  struct wo_view rest = text;
  if (wo_number_u64(&rest, 100000, &count) != WO_OK || rest.len != 1 || seconds_of(rest.ptr[0]) == 0) return false;
  *time = (struct wo_given_time){.is_given = true, .is_ago = true, .ns = (int64_t)count * seconds_of(rest.ptr[0]) * WO_NS_PER_S};
  return true;
}

/* A date alone is its first moment; times without a zone are taken as if they were UTC, as in logs. */
static bool read_date(struct wo_view text, struct wo_given_time *time) {
  char whole[64];
  const char *const rest = text.len == 10 ? "T00:00:00" : text.len == 16 ? ":00" : "";
  snprintf(whole, sizeof whole, "%.*s%s", (int)(text.len < 40 ? text.len : 40), text.ptr, rest);
  struct wo_view in = wo_view_of(whole);
  *time = (struct wo_given_time){.is_given = true};
  return text.len <= 40 && wo_units_time(&in, &time->ns) == WO_OK && in.len == 0;
}

bool wo_fleet_read_time(void *target, const struct wo_option_value *value) {
  struct wo_given_time time;
  if (!read_ago(value->text, &time) && !read_date(value->text, &time)) return false;
  *(struct wo_given_time *)((char *)target + value->option->at) = time;
  return true;
}

int64_t wo_fleet_time(const struct wo_given_time *time, int64_t now_ns) {
  if (!time->is_given) return WO_ROW_UNKNOWN;
  return time->is_ago ? now_ns - time->ns : time->ns;
}

/* ---- The report ---- */

static bool drain(void *context, struct wo_text *out) {
  const struct wo_call *const call = context;
  (void)out; /* is call->out */
  return !call->drain || call->drain(call);
}

static enum wo_table_format table_format(enum wo_format_out format) {
  switch (format) {
  case WO_OUT_JSONL:
    return WO_TABLE_JSONL;
  case WO_OUT_CSV:
    return WO_TABLE_CSV;
  case WO_OUT_HTML:
    return WO_TABLE_HTML;
  case WO_OUT_MARKDOWN:
    return WO_TABLE_MARKDOWN;
  case WO_OUT_JOBID:
    return WO_TABLE_JOBID;
  default:
    return WO_TABLE_TEXT;
  }
}

/* Says what the form leaves out. */
static void report_left_out(const struct wo_call *call, const struct wo_table_result *result) {
  if (call->format == WO_OUT_JOBID && result->left_out > 0)
    wo_message(call->errors, (struct wo_view){0}, "%lld failed jobs have no id and are left out", (long long)result->left_out);
}

static enum wo_exit write_fleet(const struct wo_call *call, struct wo_store *store, const struct wo_fleet_args *args,
                                const struct wo_fleet *fleet) {
  struct wo_call caller = *call;
  struct wo_table_result result = {0};
  struct wo_err err = {0};
  const struct wo_table_options options = {.format = table_format(call->format),
                                           .style = call->style,
                                           .rows = args->rows,
                                           .with_fleet = args->with_fleet,
                                           .store_path = args->store,
                                           .roots = args->roots};
  if (wo_table_write(store, fleet, &options, call->out, drain, &caller, &result, &err) != WO_OK) {
    wo_message_error(call->errors, args->store, &err);
    return WO_EXIT_ERROR;
  }
  report_left_out(call, &result);
  return fleet->totals.sum.failed > 0 && !call->exit_zero ? WO_EXIT_FAILURE_FOUND : WO_EXIT_FINE;
}

static enum wo_exit make_and_write(const struct wo_call *call, struct wo_store *store, const struct wo_fleet_args *args,
                                   int64_t now_ns) {
  struct wo_fleet fleet;
  struct wo_arena arena;
  struct wo_err err = {0};
  const bool is_rows_only =
      call->format == WO_OUT_CSV || call->format == WO_OUT_JOBID || (call->format == WO_OUT_JSONL && !args->with_fleet);
  struct wo_fleet_options options = {.only_totals = is_rows_only,
                                     .filter = args->filter,
                                     .rows = args->rows,
                                     .baseline = args->baseline,
                                     .against = args->against};
  options.filter.since_ns = wo_fleet_time(&args->since, now_ns);
  options.filter.until_ns = wo_fleet_time(&args->until, now_ns);
  wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
  enum wo_exit code = WO_EXIT_ERROR;
  if (wo_fleet_make(store, &options, &arena, &fleet, &err) == WO_OK)
    code = write_fleet(call, store, args, &fleet);
  else
    wo_message_error(call->errors, args->store, &err);
  wo_arena_done(&arena);
  return code;
}

/* The report of the copy without names. What names a store or a job on the command line is rewritten as the rows were. */
static enum wo_exit write_anonymous(const struct wo_call *call, struct wo_store *store, const struct wo_fleet_args *args,
                                    int64_t now_ns) {
  struct wo_fleet_args shown = *args;
  struct wo_arena arena;
  struct wo_store *copy = NULL;
  struct wo_err err = {0};
  enum wo_exit code = WO_EXIT_ERROR;
  wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
  shown.filter.since_ns = wo_fleet_time(&args->since, now_ns);
  shown.filter.until_ns = wo_fleet_time(&args->until, now_ns);
  if (wo_fleet_anonymize(store, &shown.filter, call->pseudonyms, &copy, &err) == WO_OK) {
    shown.filter = wo_fleet_all();
    shown.since = shown.until = (struct wo_given_time){0};
    shown.baseline = wo_pseudonyms_path(call->pseudonyms, args->baseline, &arena);
    shown.against = wo_pseudonyms_path(call->pseudonyms, args->against, &arena);
    shown.store = wo_pseudonyms_path(call->pseudonyms, args->store, &arena);
    shown.roots = wo_pseudonyms_text(call->pseudonyms, args->roots, &arena);
    code = make_and_write(call, copy, &shown, now_ns);
    wo_store_close(copy);
  } else {
    wo_message_error(call->errors, args->store, &err);
  }
  wo_arena_done(&arena);
  return code;
}

enum wo_exit wo_fleet_write(const struct wo_call *call, struct wo_store *store, const struct wo_fleet_args *args,
                            int64_t now_ns) {
  return call->pseudonyms ? write_anonymous(call, store, args, now_ns) : make_and_write(call, store, args, now_ns);
}
