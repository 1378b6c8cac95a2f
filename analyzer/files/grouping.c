/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts the files of a scan into jobs by their names.
 *
 * Makes one row for each path and sorts them, so that the logs of one job are neighbours: by folder, id, array task, and the rest
 * of the name (its stem). Runs of equal rows are the groups. Then the other files of each folder join its groups. Sorting keeps
 * this fast for archives of many thousand logs in one folder. */
#include "analyzer/files/grouping.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/files/names.h"
#include "parsers/base/number.h"
#include "parsers/base/vec.h"

/* Sorts of files, in the order in which they are handled: logs make the groups that the others join. */
enum sort { SORT_LOG, SORT_RECORD, SORT_SCRIPT, SORT_CONFIG, SORT_REST };

struct row {
  struct wo_view folder;
  struct wo_view id;   /* or empty */
  int64_t task;        /* or -1 */
  struct wo_view stem; /* the name's words without id, rank, stream and ending, joined by '-' */
  uint64_t number;     /* at the end of a name without an id */
  bool has_number;
  enum sort sort;
  uint32_t path;
};

/* A path in a group; the list is in the order of joining. */
struct member {
  uint32_t path;
  struct member *next;
};

struct draft {
  const struct row *first; /* of its logs */
  struct member *members;
  struct member **end;
  uint32_t log_count;
  uint32_t member_count;
};

struct work {
  struct wo_arena *arena;
  struct row *rows;
  uint32_t row_count;
  struct draft *drafts; /* in the order of rows: by folder, then id */
  uint32_t draft_count;
  struct draft **by_stem; /* those of the folder; NULL until they are asked for */
  uint32_t *rest;
  uint32_t rest_count;
};

/* ---- Names ---- */

/* Programs whose output people save with their logs, in files named after the program: dmon-4711.csv, sacct.txt. */
static const char *const records[] = {"dmon", "scontrol", "sacct", "seff", "jobstats"};

/* Words that name the sort of a file and not the job. */
static const char *const sorts[] = {"out", "err",   "log",    "stdout", "stderr", "txt", "gz",   "xz",   "zst", "slurm",
                                    "job", "batch", "sbatch", "sh",     "yaml",   "yml", "json", "toml", "csv", "config"};

/* Whole words only: "seffort.log" is no output of seff. */
static bool has_record_word(struct wo_view rest) {
  while (rest.len > 0) {
    if (WO_NAME_IS_ANY(wo_name_word(&rest), records)) return true;
  }
  return false;
}

/* Records are checked first, because their ending (.log, .txt, .csv) may be that of a log too. TensorBoard's files
 * ("events.out.tfevents.1732579200.gpu01.34567.0") are no text. */
static enum sort sort_of(struct wo_view base) {
  static const char *const configs[] = {".yaml", ".yml", ".json", ".toml"};
  if (wo_view_has(base, ".tfevents.")) return SORT_REST;
  if (has_record_word(base)) return SORT_RECORD;
  if (wo_name_is_script(base)) return SORT_SCRIPT;
  for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
    if (wo_view_ends(base, configs[i])) return SORT_CONFIG;
  }
  return wo_name_is_stream(base) ? SORT_LOG : SORT_REST;
}

/* "rank3", or with the number as a word of its own, which is then cut from *rest. */
static bool is_rank(struct wo_view word, struct wo_view *rest) {
  static const char *const words[] = {"rank", "task"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (!wo_view_starts_nocase(word, words[i])) continue;
    struct wo_view behind = wo_view_skip(word, strlen(words[i]));
    struct wo_view after = *rest;
    struct wo_view number = behind.len > 0 ? behind : wo_name_word(&after);
    uint64_t rank = 0;
    if (wo_number_u64(&number, UINT32_MAX, &rank) != WO_OK || number.len > 0) continue;
    if (behind.len == 0) *rest = after;
    return true;
  }
  return false;
}

/* Cuts the numbers that stand behind an id: the task of an array, the rank. */
static void cut_numbers(const struct row *row, struct wo_view base, struct wo_view *rest) {
  struct wo_name_submitit submitit;
  if (row->task >= 0) wo_name_word(rest);
  if (wo_name_submitit(base, &submitit)) wo_name_word(rest);
}

/* Joins the other words of the name; `number_at` is the position of its last number, or WO_NOT_FOUND. */
static struct wo_view make_stem(struct wo_arena *arena, const struct row *row, struct wo_view base, size_t number_at) {
  char *stem = wo_arena_alloc(arena, base.len + 1);
  if (!stem) return (struct wo_view){0};
  size_t len = 0;
  struct wo_view rest = base;
  while (rest.len > 0) {
    const size_t at = base.len - rest.len;
    const struct wo_view word = wo_name_word(&rest);
    const bool is_id = row->id.len > 0 && word.ptr == row->id.ptr;
    if (is_id) cut_numbers(row, base, &rest);
    if (word.len == 0 || is_id || at == number_at || WO_NAME_IS_ANY(word, sorts) || WO_NAME_IS_ANY(word, records) ||
        is_rank(word, &rest))
      continue;
    if (len > 0) stem[len++] = '-';
    memcpy(stem + len, word.ptr, word.len);
    len += word.len;
  }
  return (struct wo_view){stem, len};
}

/* Whether the number that looks like an id is the rank that a word says it is: "rank_100.err". */
static bool is_rank_number(struct wo_view path, struct wo_view id) {
  uint64_t number = 0;
  const int32_t rank = wo_name_rank(path, NULL, 0);
  return rank != WO_RANK_UNKNOWN && wo_number_u64(&id, UINT32_MAX, &number) == WO_OK && number == (uint64_t)rank;
}

/* Reads a file's name. Only names of logs and records contain ids, and those of submitit's scripts ("4711_submission.sh"): the
 * digits in train_8x7b.sh or config-2048.yaml are none. A
 * number at the end of a log's name without an id is a rank or a run; its neighbours decide which. */
static struct row read_row(struct wo_arena *arena, struct wo_view path, uint32_t index) {
  const struct wo_view base = wo_name_base(path);
  struct row row = {.folder = wo_view_sub(path, 0, path.len - base.len), .task = -1, .sort = sort_of(base), .path = index};
  const bool can_have_id = row.sort == SORT_LOG || row.sort == SORT_RECORD || wo_view_ends(base, "_submission.sh");
  if (can_have_id) row.id = wo_name_id(path, &row.task);
  if (is_rank_number(path, row.id)) {
    row.id = (struct wo_view){0};
    row.task = -1;
  }
  struct wo_name_number number;
  size_t number_at = WO_NOT_FOUND;
  if (row.sort == SORT_LOG && wo_name_rank(path, NULL, 0) == WO_RANK_UNKNOWN && wo_name_number(path, &number)) {
    number_at = number.head.len - row.folder.len;
    row.has_number = row.id.len == 0;
    row.number = row.has_number ? number.number : 0;
  }
  row.stem = make_stem(arena, &row, base, number_at);
  return row;
}

/* ---- Order ---- */

/* Subtraction would overflow. */
static int compare_numbers(uint64_t a, uint64_t b) {
  return (a > b) - (a < b);
}

/* Logs with an id come first and are compared by it alone, because stems differ between files of one job. */
static int compare_keys(const struct row *a, const struct row *b) {
  int order = wo_view_compare(a->folder, b->folder);
  if (order == 0) order = (int)a->sort - (int)b->sort;
  if (order == 0) order = (a->id.len == 0) - (b->id.len == 0);
  if (order == 0) order = wo_view_compare(a->id, b->id);
  if (order == 0) order = (a->task > b->task) - (a->task < b->task);
  if (order == 0 && a->id.len == 0) order = wo_view_compare(a->stem, b->stem);
  return order;
}

/* The path's index decides between equal rows, so that the order is the same on every C library: qsort is not stable. */
static int compare_rows(const void *left, const void *right) {
  const struct row *a = left;
  const struct row *b = right;
  int order = compare_keys(a, b);
  if (order == 0) order = (int)a->has_number - (int)b->has_number;
  if (order == 0) order = compare_numbers(a->number, b->number);
  return order != 0 ? order : compare_numbers(a->path, b->path);
}

/* ---- Groups ---- */

/* A file may join several groups (a script that all jobs of a folder share), so members are separate and not links in the
 * rows. */
static enum wo_status join(struct work *work, struct draft *draft, uint32_t path) {
  struct member *member = wo_arena_alloc(work->arena, sizeof *member);
  if (!member) return WO_E_NOMEM;
  *member = (struct member){.path = path};
  *draft->end = member;
  draft->end = &member->next;
  draft->member_count++;
  return WO_OK;
}

/* Whether the run's numbers are ranks: from 0 without a gap, at least two, and no name without number among them. */
static bool is_ranks(const struct row *rows, uint32_t count) {
  if (!rows[0].has_number || rows[0].number != 0 || rows[count - 1].number == 0) return false;
  for (uint32_t i = 1; i < count; i++) {
    if (rows[i].number > rows[i - 1].number + 1) return false;
  }
  return true;
}

/* Rows [first, end) have equal keys: they are one job, or one job for each number if the numbers are no ranks. */
static enum wo_status add_run(struct work *work, uint32_t first, uint32_t end) {
  const bool is_one = work->rows[first].id.len > 0 || is_ranks(&work->rows[first], end - first);
  struct draft *draft = NULL;
  for (uint32_t i = first; i < end; i++) {
    const struct row *row = &work->rows[i];
    const bool is_other = draft && !is_one && (row->has_number != row[-1].has_number || row->number != row[-1].number);
    if (!draft || is_other) {
      draft = &work->drafts[work->draft_count++];
      *draft = (struct draft){.first = row};
      draft->end = &draft->members;
    }
    if (join(work, draft, row->path) != WO_OK) return WO_E_NOMEM;
    draft->log_count++;
  }
  return WO_OK;
}

/* Adds logs without name and id ("err.0" to "err.3") to the one job of the folder that has an id ("slurm-4711.out"). */
static enum wo_status adopt_nameless(struct work *work, uint32_t first_draft) {
  const uint32_t count = work->draft_count - first_draft;
  struct draft *drafts = &work->drafts[first_draft];
  if (count < 2 || drafts[0].first->id.len == 0 || drafts[1].first->id.len > 0) return WO_OK;
  uint32_t kept = 1;
  for (uint32_t i = 1; i < count; i++) {
    if (drafts[i].first->stem.len > 0) {
      drafts[kept++] = drafts[i];
      continue;
    }
    for (const struct member *member = drafts[i].members; member; member = member->next) {
      if (join(work, &drafts[0], member->path) != WO_OK) return WO_E_NOMEM;
      drafts[0].log_count++;
    }
  }
  work->draft_count = first_draft + kept;
  return WO_OK;
}

/* The first of the folder's drafts, sorted by id, whose id is not smaller. */
static size_t lower_bound(const struct draft *drafts, uint32_t count, struct wo_view id) {
  size_t low = 0;
  WO_LOWER_BOUND(low, count, at, drafts[at].first->id.len > 0 && wo_view_compare(drafts[at].first->id, id) < 0);
  return low;
}

/* Adds a file to the groups of its id; a record of a whole array joins all its tasks. */
static enum wo_status join_by_id(struct work *work, const struct row *row, struct draft *drafts, uint32_t count,
                                 uint32_t *ret_joined) {
  for (size_t i = lower_bound(drafts, count, row->id); i < count && wo_view_equal(drafts[i].first->id, row->id); i++) {
    if (row->task >= 0 && row->task != drafts[i].first->task) continue;
    if (join(work, &drafts[i], row->path) != WO_OK) return WO_E_NOMEM;
    (*ret_joined)++;
  }
  return WO_OK;
}

static int compare_stems(const void *left, const void *right) {
  const struct draft *const *a = left;
  const struct draft *const *b = right;
  const int order = wo_view_compare((*a)->first->stem, (*b)->first->stem);
  return order != 0 ? order : (*a > *b) - (*a < *b);
}

/* The drafts of a folder by their stems, made when the first file asks for them. */
static enum wo_status sort_stems(struct work *work, struct draft *drafts, uint32_t count) {
  if (work->by_stem) return WO_OK;
  work->by_stem = wo_arena_array(work->arena, (size_t)count + 1, sizeof *work->by_stem);
  if (!work->by_stem) return WO_E_NOMEM;
  for (uint32_t i = 0; i < count; i++) work->by_stem[i] = &drafts[i];
  qsort(work->by_stem, count, sizeof *work->by_stem, compare_stems);
  return WO_OK;
}

/* "train.sbatch" belongs to train-4711.out and train-4712.out. */
static enum wo_status join_by_stem(struct work *work, const struct row *row, struct draft *drafts, uint32_t count,
                                   uint32_t *ret_joined) {
  size_t low = 0;
  if (sort_stems(work, drafts, count) != WO_OK) return WO_E_NOMEM;
  WO_LOWER_BOUND(low, count, at, wo_view_compare(work->by_stem[at]->first->stem, row->stem) < 0);
  for (size_t i = low; i < count && wo_view_equal(work->by_stem[i]->first->stem, row->stem); i++) {
    if (join(work, work->by_stem[i], row->path) != WO_OK) return WO_E_NOMEM;
    (*ret_joined)++;
  }
  return WO_OK;
}

/* Adds one file that is no log to groups of its folder, or to the rest. `is_only`: the folder has no other of its sort. */
static enum wo_status place(struct work *work, const struct row *row, bool is_only, struct draft *drafts, uint32_t count) {
  uint32_t joined = 0;
  enum wo_status status = WO_OK;
  if (row->sort != SORT_REST && row->id.len > 0) status = join_by_id(work, row, drafts, count, &joined);
  if (status == WO_OK && joined == 0 && row->sort != SORT_REST && row->stem.len > 0) {
    status = join_by_stem(work, row, drafts, count, &joined);
  }
  const bool is_shared = (row->sort == SORT_SCRIPT || row->sort == SORT_CONFIG) && is_only;
  const bool is_foreign = row->sort != SORT_REST && row->id.len > 0 && count > 0 && drafts[0].first->id.len > 0;
  if (joined == 0 && row->sort != SORT_REST && !is_foreign && (is_shared || count == 1)) {
    for (uint32_t i = 0; i < count && status == WO_OK; i++, joined++) status = join(work, &drafts[i], row->path);
  }
  if (status == WO_OK && joined == 0) work->rest[work->rest_count++] = row->path;
  return status;
}

/* Rows [first, end) are one folder. */
static enum wo_status add_folder(struct work *work, uint32_t first, uint32_t end) {
  const uint32_t first_draft = work->draft_count;
  enum wo_status status = WO_OK;
  uint32_t at = first;
  while (at < end && work->rows[at].sort == SORT_LOG && status == WO_OK) {
    uint32_t next = at + 1;
    while (next < end && compare_keys(&work->rows[at], &work->rows[next]) == 0) next++;
    status = add_run(work, at, next);
    at = next;
  }
  if (status == WO_OK) status = adopt_nameless(work, first_draft);
  const uint32_t count = work->draft_count - first_draft;
  work->by_stem = NULL;
  for (; at < end && status == WO_OK; at++) {
    const struct row *row = &work->rows[at];
    const bool is_before = at > first && row[-1].sort == row->sort;
    const bool is_behind = at + 1 < end && row[1].sort == row->sort;
    status = place(work, row, !is_before && !is_behind, &work->drafts[first_draft], count);
  }
  return status;
}

/* ---- Result ---- */

/* The first member is a log, and the earliest of them. */
static int compare_groups(const void *left, const void *right) {
  const struct wo_group *a = left;
  const struct wo_group *b = right;
  return compare_numbers(a->members[0], b->members[0]);
}

static int compare_paths(const void *left, const void *right) {
  const uint32_t *a = left;
  const uint32_t *b = right;
  return compare_numbers(*a, *b);
}

/* Logs come first and in the order given, so that lines of rank 0 come before those of rank 1. The others follow as they
 * joined. */
static enum wo_status finish_group(struct work *work, const struct draft *draft, struct wo_group *group) {
  uint32_t *members = wo_arena_array(work->arena, draft->member_count, sizeof *members);
  if (!members) return WO_E_NOMEM;
  uint32_t count = 0;
  for (const struct member *member = draft->members; member; member = member->next) members[count++] = member->path;
  assert(count == draft->member_count && draft->log_count > 0);
  qsort(members, draft->log_count, sizeof *members, compare_paths);
  *group = (struct wo_group){.folder = draft->first->folder,
                             .job_id = draft->first->id,
                             .array_task = draft->first->task,
                             .name = draft->first->stem,
                             .members = members,
                             .member_count = count,
                             .log_count = draft->log_count};
  return WO_OK;
}

/* Groups were made in the order of names; the result has the order of the given paths. */
static enum wo_status finish(struct work *work, struct wo_grouping *ret) {
  struct wo_group *groups = wo_arena_array(work->arena, (size_t)work->draft_count + 1, sizeof *groups);
  if (!groups) return WO_E_NOMEM;
  for (uint32_t i = 0; i < work->draft_count; i++) {
    if (finish_group(work, &work->drafts[i], &groups[i]) != WO_OK) return WO_E_NOMEM;
  }
  qsort(groups, work->draft_count, sizeof *groups, compare_groups);
  qsort(work->rest, work->rest_count, sizeof *work->rest, compare_paths);
  *ret = (struct wo_grouping){
      .groups = groups, .group_count = work->draft_count, .rest = work->rest, .rest_count = work->rest_count};
  return WO_OK;
}

enum wo_status wo_group_paths(const char *const *paths, uint32_t count, struct wo_arena *arena, struct wo_grouping *ret) {
  struct work work = {.arena = arena, .row_count = count};
  work.rows = wo_arena_array(arena, (size_t)count + 1, sizeof *work.rows);
  work.drafts = wo_arena_array(arena, (size_t)count + 1, sizeof *work.drafts);
  work.rest = wo_arena_array(arena, (size_t)count + 1, sizeof *work.rest);
  if (!work.rows || !work.drafts || !work.rest) return WO_E_NOMEM;
  for (uint32_t i = 0; i < count; i++) work.rows[i] = read_row(arena, wo_view_of(paths[i]), i);
  if (wo_arena_is_exhausted(arena)) return WO_E_NOMEM;
  qsort(work.rows, count, sizeof *work.rows, compare_rows);
  uint32_t first = 0;
  while (first < count) {
    uint32_t end = first + 1;
    while (end < count && wo_view_equal(work.rows[first].folder, work.rows[end].folder)) end++;
    if (add_folder(&work, first, end) != WO_OK) return WO_E_NOMEM;
    first = end;
  }
  return finish(&work, ret);
}

/* ---- Times ---- */

/* Monitors are usually started before the program and stopped after it, but not always. */
#define TIME_MARGIN_NS (INT64_C(60) * 1000000000)

static const struct wo_group_span *find_span(const struct wo_group_span *spans, uint32_t count, uint32_t path) {
  for (uint32_t i = 0; i < count; i++) {
    if (spans[i].path == path) return &spans[i];
  }
  return NULL;
}

/* From the first to the last line of all logs of a group. False when no time of theirs is known. */
static bool span_of_logs(const struct wo_group *group, const struct wo_group_span *spans, uint32_t count,
                         struct wo_group_span *ret) {
  bool is_known = false;
  for (uint32_t i = 0; i < group->log_count; i++) {
    const struct wo_group_span *span = find_span(spans, count, group->members[i]);
    if (!span) continue;
    if (!is_known || span->first_ns < ret->first_ns) ret->first_ns = span->first_ns;
    if (!is_known || span->last_ns > ret->last_ns) ret->last_ns = span->last_ns;
    is_known = true;
  }
  return is_known;
}

/* Whether two spans overlap within the margin. Times come from text, so sums must not overflow. */
static bool overlaps(const struct wo_group_span *a, const struct wo_group_span *b) {
  const double margin = (double)TIME_MARGIN_NS;
  return (double)a->first_ns - margin <= (double)b->last_ns && (double)b->first_ns - margin <= (double)a->last_ns;
}

/* Only a path that names a monitor or an accounting tool, and no job, is matched by time. */
static bool goes_by_time(struct wo_view path) {
  int64_t task = -1;
  return sort_of(wo_name_base(path)) == SORT_RECORD && wo_name_id(path, &task).len == 0;
}

uint32_t wo_group_by_time(const struct wo_grouping *grouping, const char *const *paths, const struct wo_group_span *spans,
                          uint32_t span_count, struct wo_group_match *matches) {
  uint32_t count = 0;
  for (uint32_t r = 0; r < grouping->rest_count; r++) {
    const struct wo_view path = wo_view_of(paths[grouping->rest[r]]);
    const struct wo_group_span *own = find_span(spans, span_count, grouping->rest[r]);
    const struct wo_view folder = wo_view_sub(path, 0, path.len - wo_name_base(path).len);
    uint32_t fitting = 0;
    if (!own || !goes_by_time(path)) continue;
    for (uint32_t g = 0; g < grouping->group_count; g++) {
      struct wo_group_span logs = {0};
      const struct wo_group *group = &grouping->groups[g];
      if (!wo_view_equal(group->folder, folder) || !span_of_logs(group, spans, span_count, &logs)) continue;
      if (!overlaps(own, &logs)) continue;
      matches[count] = (struct wo_group_match){.path = grouping->rest[r], .group = g};
      fitting++;
    }
    if (fitting == 1) count++;
  }
  return count;
}

bool wo_group_can_join(struct wo_view path) {
  return sort_of(wo_name_base(path)) != SORT_REST;
}

bool wo_group_is_log(struct wo_view path) {
  return sort_of(wo_name_base(path)) == SORT_LOG;
}

bool wo_group_is_shared(struct wo_view path) {
  const enum sort sort = sort_of(wo_name_base(path));
  return sort == SORT_SCRIPT || sort == SORT_CONFIG;
}

bool wo_group_is_accounting(struct wo_view path) {
  static const char *const tools[] = {"sacct", "scontrol"};
  struct wo_view rest = wo_name_base(path);
  bool is_any = false;
  while (rest.len > 0 && !is_any) {
    const struct wo_view word = wo_name_word(&rest);
    is_any = WO_NAME_IS_ANY(word, tools);
  }
  int64_t task = -1;
  const struct wo_view id = is_any ? wo_name_id(path, &task) : (struct wo_view){0};
  const bool is_year = id.len == 4 && wo_view_starts(id, "20"); /* sacct-2026-11.txt */
  return is_any && (id.len == 0 || is_year);
}
