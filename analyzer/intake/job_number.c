/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a job by its number alone. See intake_internal.h. */
#include <string.h>

#include "analyzer/archive/folder.h"
#include "analyzer/files/grouping.h"
#include "analyzer/intake/intake_internal.h"
#include "parsers/base/command/message.h"
#include "parsers/base/limits.h"
#include "parsers/base/number.h"

/* SLURM counts to 67 million, other managers further. */
enum { DIGITS_MAX = 10, NAMES_SHOWN = 12 };

struct number {
  struct wo_view id;
  int64_t task; /* or -1: all tasks */
};

static bool read_number(struct wo_view word, struct number *ret) {
  size_t len = 0;
  uint64_t task = 0;
  while (len < word.len && wo_is_digit(word.ptr[len])) len++;
  struct wo_view rest = wo_view_skip(word, len);
  *ret = (struct number){wo_view_sub(word, 0, len), -1};
  if (len == 0 || len > DIGITS_MAX) return false;
  if (rest.len == 0) return true;
  if (!wo_view_starts(rest, "_")) return false;
  rest = wo_view_skip(rest, 1);
  if (wo_number_u64(&rest, UINT32_MAX, &task) != WO_OK || rest.len > 0) return false;
  ret->task = (int64_t)task;
  return true;
}

bool wo__intake_is_number(struct wo_view word) {
  struct number number;
  return read_number(word, &number);
}

/* Whether the path is one of the first of them. */
static bool is_among(const struct wo__paths *paths, size_t count, const char *path) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(paths->items[i], path) == 0) return true;
  }
  return false;
}

/* Adds the files of a group that are not among the first paths; the names live as long as the intake. */
static enum wo_status add_group(struct wo_intake *intake, const struct wo_group *group, const char *const *names, size_t before,
                                struct wo__paths *paths) {
  for (uint32_t i = 0; i < group->member_count; i++) {
    /* A log is in one group, and what joins groups may be in several. */
    if (is_among(paths, i < group->log_count ? before : paths->count, names[group->members[i]])) continue;
    const struct wo_view name = wo_arena_copy(&intake->arena, wo_view_of(names[group->members[i]]));
    if (name.ptr == NULL || !wo__paths_add(paths, name.ptr)) return WO_E_NOMEM;
  }
  return WO_OK;
}

/* Groups the whole folder, since what a file joins depends on the others. */
static enum wo_status add_files(struct wo_intake *intake, const struct wo_folder *folder, const struct number *number,
                                struct wo__paths *paths) {
  struct wo_grouping grouping;
  const size_t before = paths->count;
  uint32_t count = 0;
  const char **const names = wo_arena_array(&intake->arena, folder->count + 1, sizeof *names);
  if (names == NULL) return WO_E_NOMEM;
  for (size_t i = 0; i < folder->count; i++) {
    const bool is_file = folder->items[i].kind != WO_ENTRY_FOLDER && folder->items[i].kind != WO_ENTRY_OTHER;
    if (is_file && wo_group_can_join(wo_view_of(folder->items[i].name))) names[count++] = folder->items[i].name;
  }
  enum wo_status status = wo_group_paths(names, count, &intake->arena, &grouping);
  for (uint32_t i = 0; status == WO_OK && i < grouping.group_count; i++) {
    const struct wo_group *const group = &grouping.groups[i];
    const bool is_its_own = wo_view_equal(group->job_id, number->id) && (number->task < 0 || group->array_task == number->task);
    if (is_its_own) status = add_group(intake, group, names, before, paths);
  }
  return status;
}

static void report_found(struct wo_view word, const struct wo__paths *paths, size_t first, struct wo_text *errors) {
  struct wo_text names = {0};
  for (size_t i = first; i < paths->count && i - first < NAMES_SHOWN; i++)
    wo_text_add(&names, "%s%s", i > first ? ", " : "", paths->items[i]);
  if (paths->count - first > NAMES_SHOWN) wo_text_add(&names, " and %zu more", paths->count - first - NAMES_SHOWN);
  const struct wo_view shown = {names.ptr, names.len};
  wo_message(errors, (struct wo_view){0}, "job %.*s: reading %.*s", WO_SHOWN(word), WO_SHOWN(shown));
  if (names.is_failed) errors->is_failed = true;
  wo_text_done(&names);
}

enum wo_status wo__intake_find(struct wo_intake *intake, struct wo_view word, struct wo__paths *paths, struct wo_text *errors) {
  struct number number;
  struct wo_folder folder = {0};
  const size_t before = paths->count;
  read_number(word, &number);
  wo_folder_list(".", wo_group_can_join, &folder, NULL);
  const enum wo_status status = add_files(intake, &folder, &number, paths);
  wo_folder_done(&folder);
  if (status == WO_OK && paths->count > before) report_found(word, paths, before, errors);
  if (status == WO_OK && paths->count == before) {
    intake->is_incomplete = true;
    wo_message(errors, word, "is no file, and this folder has no log of a job %.*s (a name such as slurm-%.*s.out)",
               WO_SHOWN(word), WO_SHOWN(word));
  }
  return status;
}
