/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parsers/base/number.h"
#include "parsers/base/view.h"
#include "tests/support/files.h"
#include "tests/support/process.h"

enum { MOST_ARGS = 64, PATH_BYTES = 4096, MOST_VARIABLES = 16 };

static const char *path_of(const char *folder, const char *name, char *buf) {
  snprintf(buf, PATH_BYTES, "%s/%s", folder, name);
  return buf;
}

/* Splits the file `cmd` in place. */
static bool read_args(char *text, size_t len, const char **args) {
  size_t count = 0;
  char *start = text;
  for (char *end = text; end <= text + len; end++) {
    if (end < text + len && *end != '\n') continue;
    if (end > start && count == MOST_ARGS) return false;
    if (end > start) args[count++] = start;
    *end = '\0';
    start = end + 1;
  }
  args[count] = NULL;
  return true;
}

/* Writes where `found` leaves `wanted`. */
static void describe_difference(const char *what, struct wo_view wanted, struct wo_view found, char *complaint, size_t cap) {
  size_t line = 1;
  while (wanted.len > 0 || found.len > 0) {
    const struct wo_view a = wo_view_cut(&wanted, '\n'), b = wo_view_cut(&found, '\n');
    if (!wo_view_equal(a, b)) {
      snprintf(complaint, cap, "%s differs in line %zu\n  wanted: %.*s\n  found:  %.*s\n", what, line, (int)a.len, a.ptr,
               (int)b.len, b.ptr);
      return;
    }
    line++;
  }
  snprintf(complaint, cap, "%s differs in its last line feed\n", what);
}

/* Compares one stream with its file (missing: empty), or rewrites the file. */
static bool check_stream(const char *folder, const char *name, struct wo_view found, bool is_update, char *complaint,
                         size_t cap) {
  char path[PATH_BYTES];
  size_t len = 0;
  path_of(folder, name, path);
  if (is_update) {
    const bool is_needed = found.len > 0 || strcmp(name, "stderr") != 0;
    if (!is_needed) unlink(path);
    return !is_needed || wo_files_write(path, found);
  }
  char *text = wo_files_read(path, &len);
  const struct wo_view wanted = {text, len};
  const bool is_same = wo_view_equal(wanted, found);
  if (!is_same) describe_difference(name, wanted, found, complaint, cap);
  free(text);
  return is_same;
}

static bool check_result(const char *folder, const struct wo_process_result *result, char *complaint, size_t cap) {
  const char *update = getenv("WHYOOM_UPDATE_GOLDEN");
  const bool is_update = update != NULL && strcmp(update, "1") == 0;
  char code[64];
  const int code_len = snprintf(code, sizeof code, "%d\n", result->exit_code);
  if (result->signal != 0) {
    snprintf(complaint, cap, "ended by signal %d\n%.2000s", result->signal, result->err);
    return false;
  }
  return check_stream(folder, "stdout", (struct wo_view){result->out, result->out_len}, is_update, complaint, cap) &&
         check_stream(folder, "stderr", (struct wo_view){result->err, result->err_len}, is_update, complaint, cap) &&
         check_stream(folder, "exit", (struct wo_view){code, (size_t)code_len}, is_update, complaint, cap);
}

/* The file `env`. */
struct variables {
  const char *items[MOST_VARIABLES + 3];
  char texts[MOST_VARIABLES][PATH_BYTES];
  char folder[PATH_BYTES]; /* where the loader finds the stand-ins; empty when none is named */
};

/* The stand-ins are named without their folder, which the loader gets to know in another way: reports show the name. */
static void set_library(struct variables *variables, size_t at, struct wo_view name, const char *library) {
  const char *const slash = strrchr(library, '/');
  snprintf(variables->texts[at], PATH_BYTES, "%.*s%s", (int)name.len, name.ptr, slash + 1);
  snprintf(variables->folder, PATH_BYTES, "LD_LIBRARY_PATH=%.*s", (int)(slash - library), library);
}

static void read_variables(const char *folder, struct variables *ret) {
  char path[PATH_BYTES];
  size_t len = 0;
  size_t count = 0;
  char *const text = wo_files_read(path_of(folder, "env", path), &len);
  ret->folder[0] = '\0';
  struct wo_view rest = {text, text ? len : 0};
  while (rest.len > 0 && count < MOST_VARIABLES) {
    const struct wo_view line = wo_view_cut(&rest, '\n');
    const size_t equal = wo_view_find_char(line, '=', 0);
    if (equal == WO_NOT_FOUND) continue;
    const struct wo_view value = wo_view_skip(line, equal + 1);
    const char *const library = wo_view_is(value, "@cuda@")   ? WO_STAND_IN_CUDA
                                : wo_view_is(value, "@nvml@") ? WO_STAND_IN_NVML
                                                              : NULL;
    if (library) {
      set_library(ret, count, wo_view_sub(line, 0, equal + 1), library);
    } else {
      snprintf(ret->texts[count], PATH_BYTES, "%.*s", (int)line.len, line.ptr);
    }
    ret->items[count] = ret->texts[count];
    count++;
  }
  if (ret->folder[0] != '\0') ret->items[count++] = ret->folder;
  ret->items[count] = NULL;
  free(text);
}

static bool run_once(const char *folder, const struct wo_process_spec *spec, char *complaint, size_t cap) {
  struct wo_process_result result;
  if (!wo_process_run(spec, &result)) {
    snprintf(complaint, cap, "the program could not be started\n");
    return false;
  }
  const bool is_fine = check_result(folder, &result, complaint, cap);
  wo_process_done(&result);
  return is_fine;
}

/* The driver in a process of its own, as for the static program: the same report. False where none is named. */
static bool add_helper(struct variables *variables) {
  size_t count = 0;
  bool has_driver = false;
  for (; variables->items[count]; count++)
    has_driver = has_driver || strncmp(variables->items[count], "WHYOOM_CUDA_LIBRARY=", strlen("WHYOOM_CUDA_LIBRARY=")) == 0;
  variables->items[count] = "WHYOOM_GPU_HELPER=" WO_GPU_HELPER;
  variables->items[count + 1] = NULL;
  return has_driver;
}

bool wo_golden_run(const char *folder, char *complaint, size_t cap) {
  char cmd_path[PATH_BYTES], stdin_path[PATH_BYTES];
  const char *args[MOST_ARGS + 1];
  size_t len = 0;
  char *cmd = wo_files_read(path_of(folder, "cmd", cmd_path), &len);
  if (cmd == NULL || !read_args(cmd, len, args)) {
    snprintf(complaint, cap, "%s is missing or has too many lines\n", cmd_path);
    free(cmd);
    return false;
  }
  path_of(folder, "stdin", stdin_path);
  struct variables variables;
  read_variables(folder, &variables);
  const struct wo_process_spec spec = {
      .args = args, .stdin_path = access(stdin_path, R_OK) == 0 ? stdin_path : NULL, .environment = variables.items};
  bool is_fine = run_once(folder, &spec, complaint, cap);
  if (is_fine && add_helper(&variables)) {
    is_fine = run_once(folder, &spec, complaint, cap);
  }
  free(cmd);
  return is_fine;
}
