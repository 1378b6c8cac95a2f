/* SPDX-License-Identifier: Apache-2.0 */
/* Looks into the folders of the logs that were named. See siblings.h. */
#include "analyzer/intake/siblings.h"

#include <string.h>
#include <sys/stat.h>

#include "analyzer/archive/folder.h"
#include "analyzer/files/grouping.h"
#include "analyzer/files/names.h"
#include "parsers/base/command/message.h"
#include "parsers/base/limits.h"

/* Names that a message lists; the others are counted. */
enum { NAMES_SHOWN = 6 };

struct siblings {
  struct wo_arena *arena;
  struct wo_kept_folder *kept;
  char **paths; /* those that were named, then those that were found */
  size_t named, count;
  size_t left_out;
};

/* ---- Names ---- */

static bool is_stream_word(struct wo_view word) {
  static const char *const words[] = {"out", "err", "log", "stdout", "stderr", "gz", "xz", "zst"};
  return wo_is_alpha(word.ptr[0]) && WO_NAME_IS_ANY(word, words); /* most words that are asked about are ids */
}

/* The next word that does not say which stream of the program a file holds; empty at the end. */
static struct wo_view next_word(struct wo_view *rest) {
  struct wo_view word = {0};
  while (rest->len > 0 && word.len == 0) {
    word = wo_name_word(rest);
    if (is_stream_word(word)) word = (struct wo_view){0};
  }
  return word;
}

/* The words with which both names begin, and the separator behind them. */
static size_t common_front(struct wo_view a, struct wo_view b) {
  size_t len = 0, end = 0;
  while (len < a.len && len < b.len && a.ptr[len] == b.ptr[len]) {
    len++;
    if (wo_name_is_separator(a.ptr[len - 1])) end = len;
  }
  return end;
}

/* Whether two names differ only in the stream that they name. */
static bool differ_in_stream(struct wo_view a, struct wo_view b) {
  const size_t front = common_front(a, b);
  struct wo_view left = {0}, right = {0};
  a = wo_view_skip(a, front);
  b = wo_view_skip(b, front);
  do {
    left = next_word(&a);
    right = next_word(&b);
  } while (left.len > 0 && wo_view_equal(left, right));
  return left.len == 0 && right.len == 0;
}

/* ---- One folder ---- */

static struct wo_view folder_of(struct wo_view path) {
  return wo_view_sub(path, 0, path.len - wo_name_base(path).len);
}

/* Whether the file is one of those that are read, by this path or by another ("./slurm-4711.err", a link). */
static bool is_known(const struct siblings *found, const char *path, const struct stat *info) {
  for (size_t i = 0; i < found->count; i++) {
    struct stat its;
    if (strcmp(found->paths[i], path) == 0) return true;
    if (stat(found->paths[i], &its) == 0 && its.st_dev == info->st_dev && its.st_ino == info->st_ino) return true;
  }
  return false;
}

/* A log of the folder that was named: what its name has in common with those of its job. */
struct named_log {
  struct wo_view base, id;
  int64_t task;
};

/* Whether grouping would put both names into one job because of an id in them. */
static bool share_id(struct wo_view a, struct wo_view b) {
  const char *const names[] = {a.ptr, b.ptr};
  struct wo_arena arena;
  struct wo_grouping grouping;
  wo_arena_init(&arena, WO_LIMIT_GROUPING_BYTES);
  const bool is_shared = wo_group_paths(names, 2, &arena, &grouping) == WO_OK && grouping.group_count == 1 &&
                         grouping.groups[0].log_count == 2 && grouping.groups[0].job_id.len > 0;
  wo_arena_done(&arena);
  return is_shared;
}

/* The id in the name of a log is looked for as text first, since a folder may hold many thousand names. */
static bool has_id(const struct named_log *log, struct wo_view name) {
  int64_t task = -1;
  if (log->id.len == 0 || wo_view_find(name, log->id, 0) == WO_NOT_FOUND) return false;
  return wo_view_equal(wo_name_id(name, &task), log->id) && task == log->task && share_id(log->base, name);
}

/* The named logs of a folder; NULL without memory. */
static struct named_log *logs_in(const struct siblings *found, struct wo_view folder, size_t *ret_count) {
  struct named_log *const logs = wo_arena_array(found->arena, found->named, sizeof *logs);
  *ret_count = 0;
  for (size_t i = 0; logs != NULL && i < found->named; i++) {
    const struct wo_view path = wo_view_of(found->paths[i]);
    int64_t task = -1;
    if (!wo_view_equal(folder_of(path), folder) || !wo_group_is_log(path)) continue;
    const struct wo_view id = wo_name_id(path, &task);
    logs[(*ret_count)++] = (struct named_log){wo_name_base(path), id, task};
  }
  return logs;
}

/* Whether the name is that of a log of the job. */
static bool is_of_job(const struct named_log *logs, size_t count, struct wo_view name) {
  for (size_t i = 0; i < count; i++) {
    if (differ_in_stream(logs[i].base, name) || has_id(&logs[i], name)) return true;
  }
  return false;
}

/* Adds a log of the folder, if it is a regular file and no link. False without memory. */
static bool add_log(struct siblings *found, struct wo_view folder, struct wo_view name) {
  struct stat info;
  const struct wo_view path = wo_arena_format(found->arena, "%.*s%.*s", WO_SHOWN(folder), WO_SHOWN(name));
  if (path.ptr == NULL) return false;
  if (lstat(path.ptr, &info) != 0 || !S_ISREG(info.st_mode) || is_known(found, path.ptr, &info)) return true;
  if (found->count - found->named == WO_LIMIT_SIBLING_LOGS) {
    found->left_out++;
    return true;
  }
  found->paths[found->count++] = (char *)(uintptr_t)path.ptr;
  return true;
}

/* A folder that cannot be listed has nothing beside the log: reading the log itself says what is wrong. */
static bool look_into(struct siblings *found, struct wo_view folder) {
  const struct wo_view path = wo_arena_copy(found->arena, folder.len > 0 ? folder : WO_VIEW("."));
  size_t count = 0;
  const struct named_log *const logs = logs_in(found, folder, &count);
  if (path.ptr == NULL || logs == NULL) return false;
  const struct wo_folder *const list = wo_kept_folder_list(found->kept, path.ptr);
  bool is_good = true;
  for (size_t i = 0; i < list->count && is_good; i++) {
    const struct wo_view name = wo_view_of(list->items[i].name);
    if (list->items[i].kind == WO_ENTRY_FOLDER || !is_of_job(logs, count, name) || !wo_group_is_log(name)) continue;
    is_good = add_log(found, folder, name);
  }
  return is_good;
}

/* ---- All folders ---- */

/* Whether a path before this one has the same folder. */
static bool is_folder_seen(const struct siblings *found, size_t at) {
  const struct wo_view folder = folder_of(wo_view_of(found->paths[at]));
  for (size_t i = 0; i < at; i++) {
    const struct wo_view path = wo_view_of(found->paths[i]);
    if (wo_group_is_log(path) && wo_view_equal(folder_of(path), folder)) return true;
  }
  return false;
}

static void report_added(const struct siblings *found, struct wo_text *errors) {
  struct wo_text names = {0};
  const size_t added = found->count - found->named;
  for (size_t i = 0; i < added && i < NAMES_SHOWN; i++)
    wo_text_add(&names, "%s%s", i > 0 ? ", " : "", found->paths[found->named + i]);
  if (added > NAMES_SHOWN) wo_text_add(&names, " and %zu more", added - NAMES_SHOWN);
  const struct wo_view shown = {names.ptr, names.len};
  if (added > 0)
    wo_message(errors, (struct wo_view){0}, "also reading %.*s: by name %s of the same job", WO_SHOWN(shown),
               added == 1 ? "a log" : "logs");
  if (found->left_out > 0)
    wo_message(errors, (struct wo_view){0}, "%zu more logs of the same job lie beside them: name them to have them read",
               found->left_out);
  if (names.is_failed) errors->is_failed = true;
  wo_text_done(&names);
}

char **wo_intake_add_logs(struct wo_arena *arena, struct wo_kept_folder *kept, char **paths, size_t count, struct wo_text *errors,
                          size_t *ret_count) {
  struct siblings found = {.arena = arena, .kept = kept, .named = count, .count = count};
  found.paths = wo_arena_array(arena, count + WO_LIMIT_SIBLING_LOGS + 1, sizeof *found.paths);
  if (found.paths == NULL) return NULL;
  if (count > 0) memcpy(found.paths, paths, count * sizeof *paths);
  for (size_t i = 0; i < count && count <= WO_LIMIT_SIBLING_LOGS; i++) {
    const struct wo_view path = wo_view_of(paths[i]);
    if (!wo_group_is_log(path) || is_folder_seen(&found, i)) continue;
    if (!look_into(&found, folder_of(path))) return NULL;
  }
  report_added(&found, errors);
  *ret_count = found.count;
  return found.paths;
}
