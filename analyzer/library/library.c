/* SPDX-License-Identifier: Apache-2.0 */
/* libwhyoom: a call of a command is made of its arguments, run, and kept as a result. See whyoom.h. */
#include "analyzer/library/whyoom.h"

#include <assert.h>
#include <locale.h>
#include <string.h>
#include <time.h>

#include "analyzer/joined/joined.h"
#include "analyzer/library/pointer.h"
#include "analyzer/show/seal.h"
#include "cuda_replay/command/verify_command.h"
#include "parsers/base/output/page.h"

struct whyoom_result {
  enum whyoom_code code;
  struct wo_text report;
  struct wo_text messages;
  cJSON *reports; /* a list; NULL where they are not JSON */
};

/* See run(): the functions need more than a call. */
static const struct wo_command_entry commands[] = {
    {&wo_command_diagnose, NULL},
    {&wo_command_budget, NULL},
    {&wo_command_replay, NULL},
    {&wo_command_verify, NULL},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static_assert((int)WHYOOM_STOP_READING == WO_STOP_READING && (int)WHYOOM_STOP_ALL == WO_STOP_ALL, "they are the same numbers");

/* ---- The arguments ---- */

/* As the command line would have them: "whyoom COMMAND --format=json OPTION... -- PATH...". The array is the caller's; its texts
 * are borrowed. NULL: memory is out. */
static char **make_argv(const struct whyoom_request *request, size_t option_count, int *ret_argc) {
  static const char *const before[] = {"whyoom", NULL, "--format=json"};
  enum { BEFORE = sizeof before / sizeof *before };
  const size_t count = BEFORE + option_count + 1 + request->path_count;
  char **const argv = count < INT32_MAX ? calloc(count + 1, sizeof *argv) : NULL;
  size_t at = 0;
  if (!argv) return NULL;
  for (size_t i = 0; i < BEFORE; i++) argv[at++] = (char *)(uintptr_t)(before[i] ? before[i] : request->command);
  for (size_t i = 0; i < option_count; i++) argv[at++] = (char *)(uintptr_t)request->options[i];
  argv[at++] = (char *)(uintptr_t) "--";
  for (size_t i = 0; i < request->path_count; i++) argv[at++] = (char *)(uintptr_t)request->paths[i];
  *ret_argc = (int)at;
  return argv;
}

/* The first option that is for a program, which owns the process and its files; "" if there is none. */
static const char *find_refused(const struct wo_call *call) {
  if (call->wants_help || call->wants_version) return "help";
  if (call->output.len > 0) return "output";
  if (call->time_limit_s > 0) return "time-limit=N";
  if (call->sandbox == WO_SANDBOX_ON) return "sandbox";
  for (size_t i = 0; i < call->given_count; i++) {
    const struct wo_option *const option =
        wo_option_find(call->command->options, call->command->option_count, call->given[i].name);
    if (wo_view_is(call->given[i].name, "write")) return "write";
    if (option && option->path == WO_PATH_WRITTEN) return option->name;
  }
  return "";
}

/* All but the budget are of something that a path names. */
static bool check(const struct wo_call *call) {
  const char *const refused = find_refused(call), *const name = call->command->name;
  if (*refused)
    wo_message(call->errors, (struct wo_view){0}, "--%s is for the program alone: a library changes no file and no process",
               refused);
  else if (call->word_count == 0 && call->command != &wo_command_budget)
    wo_message(call->errors, (struct wo_view){0}, "whyoom_%s needs a path", name);
  else
    return true;
  return false;
}

/* ---- The call ---- */

static enum wo_exit run(const struct wo_call *call, const struct whyoom_request *request) {
  const struct wo_replay_hooks hooks = {.seconds_now = request->seconds_now};
  if (!check(call)) return WO_EXIT_ERROR;
  if (call->command == &wo_command_budget) return wo_run_budget(call);
  if (call->command == &wo_command_replay) return wo_run_replay(call, &hooks);
  return call->command == &wo_command_verify ? wo_joined_verify(call, &hooks) : wo_joined_diagnose(call, &hooks);
}

/* Runs a call that was read, on the result's texts. */
static enum wo_exit run_call(struct wo_call *call, const struct whyoom_request *request) {
  enum wo_exit code = WO_EXIT_ERROR;
  call->style.width = call->width > 0 ? call->width : 80;
  call->style.use_color = call->color == WO_COLOR_ALWAYS;
  call->style.is_verbose = call->is_verbose;
  call->text = (struct wo_view){request->text, request->text_bytes};
  call->text_name = request->text_name;
  call->stop = request->stop;
  if (call->is_anonymous) call->pseudonyms = wo_pseudonyms_new();
  if (!call->is_anonymous || call->pseudonyms) code = run(call, request);
  if ((call->is_anonymous && !call->pseudonyms) || call->out->is_failed) code = wo_command_fail_memory(call);
  wo_page_seal(call->out, call->style.use_color);
  wo_show_seal_errors(call);
  wo_pseudonyms_free(call->pseudonyms);
  return code;
}

/* A call that was ended has looked at a part of its question: a report of that would be wrong, and so would its messages. */
static bool drop_if_stopped(const struct whyoom_request *request, struct whyoom_result *result) {
  if (!request->stop || *request->stop < WHYOOM_STOP_ALL) return false;
  wo_text_done(&result->report);
  wo_text_done(&result->messages);
  result->report = result->messages = (struct wo_text){0};
  wo_message(&result->messages, (struct wo_view){0}, "stopped");
  return true;
}

/* One report follows the other in the text. False: memory is out. */
static bool parse_reports(struct whyoom_result *result) {
  const char *at = result->report.ptr, *const end = at + result->report.len;
  result->reports = cJSON_CreateArray();
  while (result->reports && at < end) {
    cJSON *const report = cJSON_ParseWithLengthOpts(at, (size_t)(end - at), &at, false);
    if (!report || !cJSON_AddItemToArray(result->reports, report)) {
      cJSON_Delete(report);
      return false;
    }
    while (at < end && wo_is_space(*at)) at++;
  }
  return result->reports != NULL;
}

static void read_and_run(const struct whyoom_request *request, int argc, char **argv, struct whyoom_result *result) {
  const struct wo_commands known = {commands, COMMANDS};
  struct wo_call call;
  struct wo_err err = {0};
  enum wo_exit code = WO_EXIT_ERROR;
  if (wo_call_read(argc, argv, known, &call, &err) == WO_OK) {
    call.out = &result->report;
    call.errors = &result->messages;
    code = run_call(&call, request);
    const bool is_json = call.format == WO_OUT_JSON && !call.list_events && result->report.len > 0;
    if (drop_if_stopped(request, result))
      code = WO_EXIT_ERROR;
    else if (is_json && !parse_reports(result))
      code = wo_command_fail_memory(&call);
  } else {
    wo_message_error(&result->messages, (struct wo_view){0}, &err);
  }
  result->code = (enum whyoom_code)code;
}

/* ---- The request ---- */

/* What the caller's version of the struct lacks is not there. A text takes the place of the paths. */
static struct whyoom_request complete(const struct whyoom_request *given) {
  static const char *const dash = "-";
  struct whyoom_request request = {0};
  const size_t whole = given ? given->request_bytes / sizeof(void *) * sizeof(void *) : 0; /* no half of a pointer */
  if (given) memcpy(&request, given, whole < sizeof request ? whole : sizeof request);
  if (!request.paths) request.path_count = 0;
  if (!request.text) return request;
  if (!request.text_name) request.text_name = "<text>";
  request.paths = &dash;
  request.path_count = 1;
  return request;
}

/* Only a diagnosis reads a text that is no file. */
static const char *why_wrong(const struct whyoom_request *request) {
  size_t at = 0;
  if (!request->command) return "whyoom_run needs a command";
  while (at < COMMANDS && strcmp(commands[at].command->name, request->command) != 0) at++;
  if (at == COMMANDS) return "whyoom_run knows the commands diagnose, budget, replay and verify";
  for (size_t i = 0; i < request->path_count; i++) {
    if (!request->paths[i]) return "a path is NULL";
  }
  return request->text && commands[at].command != &wo_command_diagnose ? "only a diagnosis takes a text" : NULL;
}

/* Numbers have a point in the reports, whatever the locale of the process. */
static void run_plainly(const struct whyoom_request *request, int argc, char **argv, struct whyoom_result *result) {
  const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  const locale_t before = plain ? uselocale(plain) : (locale_t)0;
  read_and_run(request, argc, argv, result);
  if (!plain) return;
  uselocale(before);
  freelocale(plain);
}

/* ---- The public functions ---- */

double whyoom_seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

const char *whyoom_version(void) {
  return WHYOOM_VERSION;
}

struct whyoom_result *whyoom_run(const struct whyoom_request *given) {
  const struct whyoom_request request = complete(given);
  const char *const wrong = why_wrong(&request);
  struct whyoom_result *const result = calloc(1, sizeof *result);
  size_t option_count = 0;
  int argc = 0;
  if (result && wrong) {
    result->code = WHYOOM_ERROR;
    wo_message(&result->messages, (struct wo_view){0}, "%s", wrong);
    return result;
  }
  while (request.options && request.options[option_count]) option_count++;
  char **const argv = result ? make_argv(&request, option_count, &argc) : NULL;
  if (!argv) {
    free(result);
    return NULL;
  }
  run_plainly(&request, argc, argv, result);
  free((void *)argv);
  return result;
}

static struct whyoom_result *run_paths(const char *command, const char *const *paths, size_t path_count,
                                       const char *const *options) {
  return whyoom_run(&(struct whyoom_request){.request_bytes = sizeof(struct whyoom_request),
                                             .command = command,
                                             .paths = paths,
                                             .path_count = path_count,
                                             .options = options});
}

struct whyoom_result *whyoom_diagnose(const char *const *paths, size_t path_count, const char *const *options) {
  return run_paths("diagnose", paths, path_count, options);
}

struct whyoom_result *whyoom_diagnose_text(const char *text, size_t text_bytes, const char *name, const char *const *options) {
  return whyoom_run(&(struct whyoom_request){.request_bytes = sizeof(struct whyoom_request),
                                             .command = "diagnose",
                                             .options = options,
                                             .text = text ? text : "",
                                             .text_bytes = text ? text_bytes : 0,
                                             .text_name = name});
}

struct whyoom_result *whyoom_budget(const char *const *paths, size_t path_count, const char *const *options) {
  return run_paths("budget", paths, path_count, options);
}

struct whyoom_result *whyoom_replay(const char *const *paths, size_t path_count, const char *const *options) {
  return run_paths("replay", paths, path_count, options);
}

struct whyoom_result *whyoom_verify(const char *const *paths, size_t path_count, const char *const *options) {
  return run_paths("verify", paths, path_count, options);
}

void whyoom_free(struct whyoom_result *result) {
  if (!result) return;
  cJSON_Delete(result->reports);
  wo_text_done(&result->report);
  wo_text_done(&result->messages);
  free(result);
}

enum whyoom_code whyoom_result_code(const struct whyoom_result *result) {
  return result ? result->code : WHYOOM_ERROR;
}

const char *whyoom_result_text(const struct whyoom_result *result, size_t *ret_bytes) {
  if (ret_bytes) *ret_bytes = result ? result->report.len : 0;
  return result && result->report.ptr ? result->report.ptr : "";
}

const char *whyoom_result_messages(const struct whyoom_result *result) {
  return result && result->messages.ptr ? result->messages.ptr : "";
}

size_t whyoom_result_count(const struct whyoom_result *result) {
  return result && result->reports ? (size_t)cJSON_GetArraySize(result->reports) : 0;
}

struct whyoom_value whyoom_result_read(const struct whyoom_result *result, size_t report, const char *pointer) {
  struct whyoom_value value = {WHYOOM_ABSENT, 0, NULL, 0};
  if (!result || !pointer || report >= whyoom_result_count(result)) return value;
  const cJSON *const item = wo_pointer_find(cJSON_GetArrayItem(result->reports, (int)report), pointer);
  if (!item) return value;
  value.kind = cJSON_IsString(item)   ? WHYOOM_TEXT
               : cJSON_IsNumber(item) ? WHYOOM_NUMBER
               : cJSON_IsBool(item)   ? WHYOOM_BOOL
               : cJSON_IsArray(item)  ? WHYOOM_LIST
               : cJSON_IsObject(item) ? WHYOOM_OBJECT
                                      : WHYOOM_NULL;
  if (value.kind == WHYOOM_TEXT) value.text = item->valuestring;
  if (value.kind == WHYOOM_NUMBER) value.number = item->valuedouble;
  if (value.kind == WHYOOM_BOOL) value.number = cJSON_IsTrue(item) ? 1 : 0;
  if (value.kind == WHYOOM_LIST || value.kind == WHYOOM_OBJECT) value.count = (size_t)cJSON_GetArraySize(item);
  return value;
}
