/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares a command for recording: folders, one file, environment, exec (record.h). record_sitecustomize.py is responsible for
 * everything inside Python; both share the WHYOOM_RECORD_* variables. */
#include "cuda_replay/record/record.h"

#include <assert.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuda_replay/record/private_folder.h"
#include "cuda_replay/record/record_text.h"
#include "parsers/base/command/message.h"
#include "parsers/base/limits.h"
#include "parsers/base/output_file.h"

#define OUTPUT_DEFAULT "whyoom-traces"
#define FOLDER_NAME ".whyoom-record" /* record_sitecustomize.py removes it from sys.path by this name */

/* ---- Options ---- */

#define STACKS "python|all"
#define AT_EXIT "always|oom|never"

static bool read_no_stacks(void *target, const struct wo_option_value *value) {
  (void)value;
  ((struct wo_record_settings *)target)->stacks = WO_RECORD_STACKS_NONE;
  return true;
}

/* --output and --verbose are parsed as for all commands, but have a meaning of their own here. */
static const struct wo_option options[] = {
    WO_OPTION("output", "DIR", "where snapshots go (./whyoom-traces)", .letter = 'o', .kind = WO_OPTION_TEXT),
    WO_OPTION("entries", "N", "entries kept for each card (100000: 15 to 30 MB a file)", .kind = WO_OPTION_NUMBER,
              .at = offsetof(struct wo_record_settings, entries), .least = 1, .most = (double)WO_LIMIT_TRACE_ENTRIES),
    WO_OPTION("stacks", STACKS, "with Python's stacks (default), or C++ frames as well",
              WO_TO_CHOICE(struct wo_record_settings, stacks, STACKS)),
    WO_OPTION("no-stacks", NULL, "without stacks: smaller, but nothing says who held memory", WO_TO_READER(read_no_stacks)),
    WO_OPTION("at-exit", "WHEN", "always (default), oom (where memory ran out), never",
              WO_TO_CHOICE(struct wo_record_settings, at_exit, AT_EXIT),
              .about = "whether a process leaves a snapshot at its exit"),
    WO_OPTION("verbose", NULL, "tell on standard error what is recorded and written", .letter = 'v', .kind = WO_OPTION_FLAG),
};

const struct wo_command wo_command_record = {
    .name = "record",
    .summary = "run a command so that its processes leave memory snapshots",
    .usage = "record [OPTION...] [--] COMMAND [ARGUMENT...]",
    .synopsis = "record [OPTION...] [--] COMMAND...",
    .first_path = WO_NO_PATHS,
    .about = "Runs the command with the recording of PyTorch's allocator switched on in every\n"
             "Python process that uses CUDA, and becomes it: exit status, signals and output\n"
             "are the command's own. Each process leaves snapshots for `whyoom replay`: at\n"
             "an out-of-memory error, at its exit and at SIGUSR1, named by job and rank.\n",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .ending = "exit status: that of the command; 2 wrong usage; 126 the command cannot be run,\n"
              "127 it was not found. Where snapshots cannot be written, one line says so and\n"
              "the command runs without\n",
    .examples = "# one program; its snapshots go to ./whyoom-traces\n"
                "whyoom record -- python train.py\n"
                "# every rank of a run on eight cards, to another folder\n"
                "whyoom record -o traces -- torchrun --nproc-per-node 8 train.py\n"
                "# in a batch script, where each task records itself\n"
                "srun whyoom record --at-exit oom -- python train.py\n",
    .becomes_program = true,
};

enum wo_status wo_record_settings_read(const struct wo_call *call, struct wo_record_settings *ret_settings, struct wo_err *err) {
  *ret_settings = (struct wo_record_settings){
      .output = call->output.ptr, .entries = WO_RECORD_ENTRIES_DEFAULT, .is_verbose = call->is_verbose};
  if (call->word_count == 0)
    return wo_err_set(err, WO_E_USAGE, "record wants a command to run: whyoom record -- python train.py; see whyoom help record");
  return wo_call_apply(call, ret_settings, err);
}

/* ---- The output folder and the file ---- */

static enum wo_status io_error(struct wo_err *err, const char *path) {
  return wo_err_set(err, WO_E_IO, "%s: %s", path, strerror(errno));
}

/* Makes a folder and its parents, as mkdir -p; path is modified during the call. If a parent cannot be made, making the last one
 * fails. */
static enum wo_status make_folders(char *path, mode_t mode, struct wo_err *err) {
  assert(path[0] != '\0');
  for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    (void)mkdir(path, mode);
    *slash = '/';
  }
  struct stat found;
  if (mkdir(path, mode) != 0 && errno != EEXIST) return io_error(err, path);
  if (stat(path, &found) != 0) return io_error(err, path);
  if (!S_ISDIR(found.st_mode)) return wo_err_set(err, WO_E_IO, "%s: is no folder; choose another one with -o", path);
  return WO_OK;
}

/* Makes the output folder and returns it as an absolute path without links, because the command may change its folder. The caller
 * frees it. NULL with *err filled on failure. */
static char *make_output(const char *output, struct wo_err *err) {
  char *const wanted = strdup(output);
  if (wanted == NULL) {
    wo_err_set(err, WO_E_NOMEM, "out of memory");
    return NULL;
  }
  char *path = NULL;
  if (make_folders(wanted, 0777, err) == WO_OK) {
    path = realpath(wanted, NULL);
    if (path == NULL) io_error(err, output);
  }
  free(wanted);
  if (path != NULL && access(path, W_OK | X_OK) != 0) {
    io_error(err, path);
    free(path);
    path = NULL;
  }
  return path;
}

/* Other tasks of the job write the same file at the same time, and Python may be reading it, so it is put in place as a whole. */
static enum wo_status write_script(const char *folder, struct wo_err *err) {
  struct wo_text path = {0};
  struct wo_output_file file = {0};
  struct wo_err why = {0};
  wo_text_add(&path, "%s/sitecustomize.py", folder);
  enum wo_status status = path.is_failed ? wo_err_nomem(err) : wo_output_find(path.ptr, &file, &why);
  file.is_old = false; /* it has no rights that are worth keeping, and other tasks replace it now */
  if (status == WO_OK) status = wo_output_write(&file, (struct wo_view){wo__record_text, wo__record_text_bytes}, false, &why);
  if (why.code != WO_OK) wo_err_set(err, why.code, "%s %s", path.ptr, why.message);
  wo_text_done(&path);
  return status;
}

/* ---- The folder of the code ---- */

/* Puts the code into a folder of its own below `parent`, an absolute path without links; *ret_folder is its path. */
static enum wo_status place_code(const char *parent, struct wo_text *ret_folder, struct wo_err *err) {
  ret_folder->len = 0;
  wo_text_add(ret_folder, "%s/" FOLDER_NAME, strcmp(parent, "/") == 0 ? "" : parent);
  if (ret_folder->is_failed) return wo_err_nomem(err);
  if (strchr(parent, ':') != NULL)
    return wo_err_set(err, WO_E_IO, "%s: PYTHONPATH cannot hold a path with a colon; choose another folder with -o", parent);
  enum wo_status status = wo_private_folder_check(parent, err);
  if (status == WO_OK) status = wo_private_folder_make(ret_folder->ptr, err);
  return status == WO_OK ? write_script(ret_folder->ptr, err) : status;
}

/* The variable, if it holds an absolute path; else NULL. */
static const char *path_variable(const char *name) {
  const char *const value = getenv(name);
  return value != NULL && value[0] == '/' ? value : NULL;
}

/* The same below the user's own cache folder, which all nodes of a job see as they see the home folder. That one is checked
 * before anything is made in it: it may be another user's, after sudo. */
static enum wo_status place_code_at_home(struct wo_text *ret_folder, struct wo_err *err) {
  const char *const cache = path_variable("XDG_CACHE_HOME"), *const home = path_variable("HOME");
  if (cache == NULL && home == NULL) return wo_err_set(err, WO_E_IO, "HOME: is not set");
  char *const base = realpath(cache != NULL ? cache : home, NULL);
  if (base == NULL) return io_error(err, cache != NULL ? cache : home);
  struct wo_text wanted = {0};
  char *parent = NULL;
  enum wo_status status = wo_private_folder_check(base, err);
  wo_text_add(&wanted, "%s%s/whyoom", base, cache != NULL ? "" : "/.cache");
  if (wanted.is_failed) status = wo_err_nomem(err);
  if (status == WO_OK) status = make_folders(wanted.ptr, 0700, err);
  if (status == WO_OK && (parent = realpath(wanted.ptr, NULL)) == NULL) status = io_error(err, wanted.ptr);
  if (status == WO_OK) status = place_code(parent, ret_folder, err);
  wo_text_done(&wanted);
  free(parent);
  free(base);
  return status;
}

/* ---- Environment ---- */

/* The name that groups the files of one run: the scheduler's job, else this process, which becomes the command. */
static void add_job(struct wo_text *job) {
  static const char *const variables[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    const char *const value = getenv(variables[i]);
    if (value == NULL || value[0] == '\0') continue;
    wo_text_add(job, "%s", value);
    return;
  }
  wo_text_add(job, "pid%ld", (long)getpid());
}

/* An empty PYTHONPATH is left out, since an empty entry would mean the working folder. A folder of ours that is already in it (a
 * recording within a recording) is not repeated. */
static void add_python_path(struct wo_text *path, const char *folder) {
  struct wo_view rest = wo_view_of(getenv("PYTHONPATH"));
  wo_text_add(path, "%s", folder);
  if (wo_view_starts(rest, folder) && (rest.len == strlen(folder) || rest.ptr[strlen(folder)] == ':'))
    rest = wo_view_skip(rest, strlen(folder) + 1);
  if (rest.len > 0) {
    wo_text_add(path, ":");
    wo_text_add_view(path, rest);
  }
}

static const char *const stacks_names[] = {
    [WO_RECORD_STACKS_PYTHON] = "python", [WO_RECORD_STACKS_ALL] = "all", [WO_RECORD_STACKS_NONE] = "none"};
static const char *const at_exit_names[] = {
    [WO_RECORD_EXIT_ALWAYS] = "always", [WO_RECORD_EXIT_OOM] = "oom", [WO_RECORD_EXIT_NEVER] = "never"};

/* PYTHONPATH is set last: the other variables have no effect without it. */
static enum wo_status set_environment(const struct wo_record_settings *settings, const char *output, const char *folder,
                                      struct wo_err *err) {
  struct wo_text job = {0};
  struct wo_text entries = {0};
  struct wo_text path = {0};
  add_job(&job);
  wo_text_add(&entries, "%zu", settings->entries);
  add_python_path(&path, folder);
  bool is_set = !job.is_failed && !entries.is_failed && !path.is_failed;
  is_set = is_set && setenv("WHYOOM_RECORD_DIR", output, 1) == 0 && setenv("WHYOOM_RECORD_JOB", job.ptr, 1) == 0 &&
           setenv("WHYOOM_RECORD_ENTRIES", entries.ptr, 1) == 0 &&
           setenv("WHYOOM_RECORD_STACKS", stacks_names[settings->stacks], 1) == 0 &&
           setenv("WHYOOM_RECORD_AT_EXIT", at_exit_names[settings->at_exit], 1) == 0 &&
           (!settings->is_verbose || setenv("WHYOOM_RECORD_VERBOSE", "1", 1) == 0) && setenv("PYTHONPATH", path.ptr, 1) == 0;
  wo_text_done(&job);
  wo_text_done(&entries);
  wo_text_done(&path);
  return is_set ? WO_OK : wo_err_set(err, WO_E_NOMEM, "out of memory");
}

/* The code is beside the snapshots, where all nodes see it. Where others could exchange it there (a folder of a team), it is in
 * the user's own cache folder. */
enum wo_status wo_record_arm(const struct wo_record_settings *settings, struct wo_err *err) {
  assert(settings != NULL && settings->entries > 0 && settings->entries <= WO_LIMIT_TRACE_ENTRIES);
  assert(err != NULL);
  struct wo_text folder = {0};
  struct wo_err reason = {0};
  char *const output = make_output(settings->output != NULL ? settings->output : OUTPUT_DEFAULT, err);
  if (output == NULL) return err->code;
  enum wo_status status = place_code(output, &folder, err);
  if (status == WO_E_KIND && place_code_at_home(&folder, &reason) == WO_OK) status = WO_OK;
  if (status == WO_OK) status = set_environment(settings, output, folder.ptr, err);
  wo_text_done(&folder);
  free(output);
  return status;
}

/* ---- The command ---- */

/* Whether the last part of a path names a Python: python, python3, python3.12, python3.13t (without a global lock); not
 * python-config or pythonx. */
static bool is_python(const char *word) {
  const char *const slash = strrchr(word, '/');
  struct wo_view name = wo_view_of(slash != NULL ? slash + 1 : word);
  if (!wo_view_starts(name, "python")) return false;
  if (name.ptr[name.len - 1] == 't' && name.ptr[name.len - 2] >= '0' && name.ptr[name.len - 2] <= '9') name.len--;
  for (size_t i = strlen("python"); i < name.len; i++) {
    if (name.ptr[i] != '.' && (name.ptr[i] < '0' || name.ptr[i] > '9')) return false;
  }
  return true;
}

/* The first option of Python that makes it ignore PYTHONPATH (-E, -I) or sitecustomize (-S), in one word of options such as -uE;
 * 0 for none. *ret_last: the rest belongs to the program (-c, -m). *ret_skip: the next word is the value of this option. */
static char blocking_letter(const char *letters, bool *ret_last, bool *ret_skip) {
  for (; *letters != '\0'; letters++) {
    if (*letters == 'E' || *letters == 'I' || *letters == 'S') return *letters;
    *ret_last = *letters == 'c' || *letters == 'm';
    *ret_skip = (*letters == 'W' || *letters == 'X') && letters[1] == '\0';
    if (*ret_last || *letters == 'W' || *letters == 'X') return 0;
  }
  return 0;
}

void wo_record_notes(char *const *command, struct wo_text *notes) {
  assert(command != NULL && notes != NULL);
  while (*command != NULL && !is_python(*command)) command++;
  if (*command == NULL) return;
  const char *const python = *command++;
  for (; *command != NULL && (*command)[0] == '-' && (*command)[1] != '\0'; command++) {
    bool is_last = false;
    bool skips = false;
    if ((*command)[1] == '-') continue;
    const char letter = blocking_letter(*command + 1, &is_last, &skips);
    if (letter != 0)
      wo_message(notes, WO_VIEW("record"), "%s -%c passes over %s: this process will not be recorded", python, letter,
                 letter == 'S' ? "sitecustomize" : "PYTHONPATH");
    if (letter != 0 || is_last) return;
    if (skips && command[1] != NULL) command++;
  }
}

enum wo_exit wo_record_become(char *const *command, struct wo_err *err) {
  assert(command != NULL && command[0] != NULL);
  execvp(command[0], command);
  const int why = errno;
  wo_err_set(err, WO_E_IO, "%s: %s", command[0], strerror(why));
  return why == ENOENT ? WO_EXIT_NOT_FOUND : WO_EXIT_CANNOT_RUN;
}
