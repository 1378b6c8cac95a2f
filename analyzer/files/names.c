/* SPDX-License-Identifier: Apache-2.0 */
/* Reads file names. Names are hints: the content counts more.
 *
 * Users name logs by hand and by SLURM's patterns (%j job, %A_%a array and task, %t task), and launchers add theirs. Only the
 * last part of a path is read, except for torchrun's folders: others are named after experiments, users and dates. */
#include "analyzer/files/names.h"

#include <stdio.h>

#include "parsers/base/limits.h"
#include "parsers/base/number.h"

bool wo_name_is_separator(char c) {
  return c == '_' || c == '-' || c == '.';
}

/* The rank by a word. Separators may come between the word and its number: "rank3", "rank_3", "rank-03", "task.3". */
static int32_t rank_by_word(struct wo_view base) {
  static const char *const words[] = {"rank", "task"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    const struct wo_view word = wo_view_of(words[i]);
    const size_t at = wo_view_find(base, word, 0);
    if (at == WO_NOT_FOUND) continue;
    struct wo_view in = wo_view_skip(base, at + word.len);
    while (in.len > 0 && wo_name_is_separator(in.ptr[0])) in = wo_view_skip(in, 1);
    uint64_t rank = 0;
    if (wo_number_u64(&in, 1000000, &rank) == WO_OK) return (int32_t)rank;
  }
  return WO_RANK_UNKNOWN;
}

/* Whether a word is a node's name: a usual stem and a number. "gpu3" is a GPU, "gpu03" a node. */
static bool is_host(struct wo_view word) {
  static const char *const stems[] = {"node", "nid", "host", "gpu", "cn", "compute", "worker", "server", "dgx", "hgx"};
  size_t letters = 0;
  while (letters < word.len && wo_is_alpha(word.ptr[letters])) letters++;
  size_t end = letters;
  while (end < word.len && wo_is_digit(word.ptr[end])) end++;
  const struct wo_view stem = wo_view_sub(word, 0, letters);
  if (end != word.len || end == letters || (wo_view_is(stem, "gpu") && end - letters < 2)) return false;
  return WO_VIEW_ANY(stem, wo_view_is, stems);
}

/* Whether the last word of the view is a node's name. */
static bool ends_in_host(struct wo_view view) {
  size_t start = view.len;
  while (start > 0 && wo_is_alnum(view.ptr[start - 1])) start--;
  return is_host(wo_view_skip(view, start));
}

struct wo_view wo_name_host(struct wo_view path) {
  struct wo_view rest = wo_name_base(path);
  while (rest.len > 0) {
    const struct wo_view word = wo_name_word(&rest);
    if (is_host(word)) return word;
  }
  return (struct wo_view){0};
}

/* Cuts the last folder or file name off a path. */
static struct wo_view cut_last(struct wo_view *path) {
  const struct wo_view base = wo_name_base(*path);
  *path = wo_view_sub(*path, 0, path->len - base.len > 0 ? path->len - base.len - 1 : 0);
  return base;
}

/* The whole word is a number. */
static bool is_number(struct wo_view word, uint64_t *ret) {
  return wo_number_u64(&word, 1000000, ret) == WO_OK && word.len == 0;
}

bool wo_name_attempt(struct wo_view path, struct wo_name_attempt *ret) {
  const struct wo_view file = cut_last(&path);
  const struct wo_view folder = cut_last(&path);
  const struct wo_view attempt = cut_last(&path);
  const bool is_stream = wo_view_is(file, "stdout.log") || wo_view_is(file, "stderr.log");
  uint64_t rank = 0;
  uint64_t number = 0;
  if (!is_stream || !wo_view_starts(attempt, "attempt_") || !is_number(folder, &rank)) return false;
  if (!is_number(wo_view_skip(attempt, sizeof "attempt_" - 1), &number)) return false;
  *ret = (struct wo_name_attempt){.folder = path, .attempt = (int32_t)number, .local_rank = (int32_t)rank};
  return true;
}

int32_t wo_name_local_rank(struct wo_view path) {
  struct wo_name_attempt name;
  return wo_name_attempt(path, &name) ? name.local_rank : WO_RANK_UNKNOWN;
}

/* Whether the number after `head`, which ends in a separator, counts something else: "epoch_0.log", "part-0.err". A task of an
 * array has the job before it: "slurm-4711_0.out". */
static bool counts_other_things(struct wo_view head) {
  static const char *const counted[] = {"epoch",   "step", "iter", "part",  "run",   "try",  "attempt",
                                        "restart", "seed", "fold", "trial", "array", "node", "job"};
  const struct wo_view front = wo_view_sub(head, 0, head.len - 1);
  if (WO_VIEW_ANY(front, wo_view_ends, counted)) return true;
  size_t digits = 0;
  while (digits < front.len && wo_is_digit(front.ptr[front.len - 1 - digits])) digits++;
  return wo_view_ends(head, "_") && digits > 0 && !ends_in_host(front);
}

/* As wo_name_number, whatever the number counts. */
static bool read_numbered(struct wo_view path, struct wo_name_number *ret) {
  size_t end = path.len;
  while (end > 0 && (wo_is_alpha(path.ptr[end - 1]) || path.ptr[end - 1] == '.')) end--;
  size_t at = end;
  while (at > 0 && wo_is_digit(path.ptr[at - 1])) at--;
  const bool is_ending = end == path.len || path.ptr[end] == '.';
  if (at == end || at == 0 || !wo_name_is_separator(path.ptr[at - 1]) || !is_ending) return false;
  struct wo_view digits = wo_view_sub(path, at, end);
  if (wo_number_u64(&digits, WO_LIMIT_INPUT_FILES - 1, &ret->number) != WO_OK) return false;
  ret->head = wo_view_sub(path, 0, at);
  ret->tail = wo_view_skip(path, end);
  return true;
}

bool wo_name_number(struct wo_view path, struct wo_name_number *ret) {
  struct wo_name_number numbered;
  if (!read_numbered(path, &numbered) || counts_other_things(numbered.head)) return false;
  *ret = numbered;
  return true;
}

/* Whether both are equal if all numbers after the first `exact` bytes count as equal: with "%N.%t" the node's name is before the
 * task. */
static bool is_same_pattern(struct wo_view a, struct wo_view b, size_t exact) {
  size_t i = 0;
  size_t k = 0;
  while (i < a.len && k < b.len) {
    if (wo_is_digit(a.ptr[i]) && wo_is_digit(b.ptr[k]) && i >= exact && k >= exact) {
      while (i < a.len && wo_is_digit(a.ptr[i])) i++;
      while (k < b.len && wo_is_digit(b.ptr[k])) k++;
    } else if (a.ptr[i++] != b.ptr[k++]) {
      return false;
    }
  }
  return i == a.len && k == b.len;
}

/* The number at the end of a name is a rank if the names that differ only there count from 0 without a gap, and none of them has
 * no number ("train.log", "train.log.1" are rotated logs). */
static int32_t rank_by_siblings(struct wo_view path, const char *const *all, size_t count) {
  struct wo_name_number own;
  if (count == 0 || !wo_name_number(path, &own)) return WO_RANK_UNKNOWN;
  const size_t folder_len = path.len - wo_name_base(path).len;
  unsigned char is_seen[WO_LIMIT_INPUT_FILES] = {0};
  uint64_t highest = 0;
  uint64_t seen_count = 0;
  for (size_t i = 0; i < count; i++) {
    const struct wo_view other = wo_view_of(all[i]);
    struct wo_name_number its;
    if (wo_view_equal(other, wo_view_sub(own.head, 0, own.head.len - 1))) return WO_RANK_UNKNOWN;
    if (!read_numbered(other, &its) || !wo_view_equal(its.tail, own.tail)) continue;
    if (!is_same_pattern(its.head, own.head, folder_len)) continue;
    if (!is_seen[its.number]) seen_count++;
    is_seen[its.number] = 1;
    if (its.number > highest) highest = its.number;
  }
  return seen_count >= 2 && seen_count == highest + 1 ? (int32_t)own.number : WO_RANK_UNKNOWN;
}

bool wo_name_is_node_rank(struct wo_view path, const char *const *all, size_t count) {
  struct wo_name_number own;
  if (!wo_name_number(path, &own)) return false;
  const size_t folder_len = path.len - wo_name_base(path).len;
  for (size_t i = 0; i < count; i++) {
    struct wo_name_number its;
    if (!read_numbered(wo_view_of(all[i]), &its) || its.number != own.number || !wo_view_equal(its.tail, own.tail)) continue;
    if (!wo_view_equal(its.head, own.head) && is_same_pattern(its.head, own.head, folder_len)) return true;
  }
  return false;
}

int32_t wo_name_rank(struct wo_view path, const char *const *all, size_t count) {
  const int32_t rank = rank_by_word(wo_name_base(path));
  struct wo_name_submitit submitit;
  if (wo_name_submitit(path, &submitit)) return submitit.rank;
  return rank != WO_RANK_UNKNOWN ? rank : rank_by_siblings(path, all, count);
}

/* Whether the input holds evidence of the kind. Linear, once per input. */
static bool has_kind(const struct wo_event_store *store, uint32_t file, enum wo_kind kind) {
  for (size_t i = 0; i < store->count; i++) {
    if (store->items[i].span.file == file && store->items[i].kind == kind) return true;
  }
  return false;
}

/* The format of a trace if the input holds nothing else; else an empty view. Outputs of jobs often contain a table of nvidia-smi,
 * but are logs. */
static struct wo_view trace_format(const struct wo_event_store *store, uint32_t file, struct wo_view base) {
  enum wo_mark mark = WO_MARK_NONE;
  if (wo_view_ends(base, ".out") || wo_view_ends(base, ".err")) return (struct wo_view){0};
  for (size_t i = 0; i < store->count; i++) {
    if (store->items[i].span.file != file) continue;
    const enum wo_kind kind = store->items[i].kind;
    if (kind != WO_KIND_MONITOR && kind != WO_KIND_GPU_PROCESS) return (struct wo_view){0};
    if (kind == WO_KIND_MONITOR || mark == WO_MARK_NONE) mark = store->items[i].mark;
  }
  return mark >= WO_MARK_SMI_DMON ? wo_view_of(wo_mark_name(mark)) : (struct wo_view){0};
}

bool wo_name_is_control(const struct wo_event_store *store, uint32_t file) {
  bool has_block = false;
  wo_each_event (event, store) {
    if (event->span.file != file || event->kind == WO_KIND_CONFIG) continue;
    if (event->mark != WO_MARK_SCONTROL) return false;
    has_block = true;
  }
  return has_block;
}

/* The format of accounting if the input holds nothing else. The JSON of scontrol and squeue has other keys than that of sacct:
 * its jobs have a command or a count of tasks, and no steps. */
static struct wo_view account_format(const struct wo_event_store *store, uint32_t file) {
  bool is_scontrol = false;
  bool is_sacct = false;
  bool is_jobstats = false;
  wo_each_event (event, store) {
    if (event->span.file != file || event->kind == WO_KIND_CONFIG) continue; /* a job may have keys that look like settings */
    const bool is_json = event->mark == WO_MARK_SACCT_JSON;
    const bool is_control = wo_event_text(event, WO_FIELD_PROGRAM).len > 0 || wo_event_text(event, WO_FIELD_TASKS).len > 0;
    if (event->mark == WO_MARK_SCONTROL || (is_json && is_control)) {
      is_scontrol = true;
    } else if (is_json || event->mark == WO_MARK_SACCT) {
      is_sacct = true;
    } else if (event->mark == WO_MARK_JOBSTATS) {
      is_jobstats = true;
    } else {
      return (struct wo_view){0};
    }
  }
  if (is_scontrol) return WO_VIEW("scontrol");
  if (is_sacct) return WO_VIEW("sacct");
  return is_jobstats ? WO_VIEW("jobstats") : (struct wo_view){0};
}

bool wo_name_is_script(struct wo_view path) {
  static const char *const endings[] = {".sbatch", ".slurm", ".sh"};
  return WO_VIEW_ANY(wo_name_base(path), wo_view_ends, endings);
}

bool wo_name_is_archive(struct wo_view path) {
  static const char *const plain[] = {"tar", "tgz", "txz", "tzst"}, *const packed[] = {"gz", "xz", "zst", "zstd"};
  const struct wo_view base = wo_name_base(path), tar = WO_VIEW(".tar");
  const size_t dot = wo_view_find_last(base, WO_VIEW("."), base.len);
  if (dot == WO_NOT_FOUND || dot == 0) return false;
  const struct wo_view ending = wo_view_skip(base, dot + 1);
  if (WO_VIEW_ANY(ending, wo_view_is_nocase, plain)) return true;
  const bool is_of_tar = dot > tar.len && wo_view_is_nocase(wo_view_sub(base, dot - tar.len, dot), tar.ptr);
  return is_of_tar && WO_VIEW_ANY(ending, wo_view_is_nocase, packed);
}

/* Files that people edit are known by their ending, output of tools by a word in the name. A .txt file with #SBATCH lines is a
 * script that was renamed, for example in a mail. */
struct wo_view wo_name_format(const struct wo_event_store *store, uint32_t file, struct wo_view path) {
  const struct wo_view base = wo_name_base(path);
  const bool is_config = wo_view_ends(base, ".yaml") || wo_view_ends(base, ".yml") || wo_view_ends(base, ".json") ||
                         wo_view_ends(base, ".toml") || wo_view_ends(base, ".ini") || wo_view_ends(base, ".cfg");
  const bool is_prose = wo_view_ends(base, ".md") || wo_view_ends(base, ".rst") || wo_view_ends(base, ".markdown");
  if (is_prose) return WO_VIEW("prose");
  const bool is_stream = wo_view_ends(base, ".out") || wo_view_ends(base, ".err") || wo_view_ends(base, ".log");
  if (wo_name_is_script(path) || (has_kind(store, file, WO_KIND_SBATCH) && wo_view_ends(base, ".txt"))) return WO_VIEW("sbatch");
  if (wo_view_has(base, "scontrol")) return WO_VIEW("scontrol");
  if (wo_view_has(base, "sacct")) return WO_VIEW("sacct");
  const struct wo_view trace = trace_format(store, file, base);
  if (trace.len > 0) return trace;
  const struct wo_view account = is_stream ? (struct wo_view){0} : account_format(store, file);
  if (account.len > 0) return account;
  if (is_config) return WO_VIEW("config");
  if (wo_view_has(base, "dmon")) return WO_VIEW("dmon");
  return WO_VIEW("log");
}

struct wo_view wo_name_word(struct wo_view *rest) {
  size_t len = 0;
  while (len < rest->len && !wo_name_is_separator(rest->ptr[len])) len++;
  const struct wo_view word = wo_view_sub(*rest, 0, len);
  *rest = wo_view_skip(*rest, len + 1);
  return word;
}

bool wo_name_is_stream(struct wo_view path) {
  static const char *const streams[] = {"out", "err", "log", "stdout", "stderr"};
  struct wo_view rest = wo_name_base(path);
  while (rest.len > 0) {
    if (WO_VIEW_ANY(wo_name_word(&rest), wo_view_is_nocase, streams)) return true;
  }
  return false;
}

/* ---- Lists of hosts ---- */

#define HOST_BYTES 200

/* Cuts the next item off a list at a comma outside of brackets. */
static struct wo_view cut_item(struct wo_view *list) {
  size_t depth = 0;
  size_t at = 0;
  while (at < list->len && (list->ptr[at] != ',' || depth > 0)) {
    if (list->ptr[at] == '[') depth++;
    if (list->ptr[at] == ']' && depth > 0) depth--;
    at++;
  }
  const struct wo_view item = wo_view_sub(*list, 0, at);
  *list = wo_view_skip(*list, at + 1);
  return item;
}

/* "03-06" or "9". The width keeps leading zeros. False for anything else. */
static bool read_range(struct wo_view text, uint64_t *ret_first, uint64_t *ret_last, int *ret_width) {
  const size_t dash = wo_view_find_char(text, '-', 0);
  *ret_width = (int)(dash == WO_NOT_FOUND ? text.len : dash);
  if (*ret_width > 9 || wo_number_u64(&text, UINT32_MAX, ret_first) != WO_OK) return false;
  *ret_last = *ret_first;
  if (text.len == 0) return true;
  text = wo_view_skip(text, 1);
  return wo_number_u64(&text, UINT32_MAX, ret_last) == WO_OK && text.len == 0 && *ret_last >= *ret_first;
}

void wo_name_each_host(struct wo_view list, bool (*fn)(void *context, struct wo_view host), void *context) {
  char host[HOST_BYTES + 32];
  while (list.len > 0) {
    const struct wo_view item = wo_view_trim(cut_item(&list));
    const size_t open = wo_view_find_char(item, '[', 0);
    const size_t close = wo_view_find_char(item, ']', 0);
    if (item.len == 0 || item.len > HOST_BYTES) continue;
    if (open == WO_NOT_FOUND) {
      if (!fn(context, item)) return;
      continue;
    }
    struct wo_view ranges = wo_view_sub(item, open + 1, close == WO_NOT_FOUND ? item.len : close);
    while (ranges.len > 0) {
      uint64_t first = 0;
      uint64_t last = 0;
      int width = 0;
      if (!read_range(wo_view_cut(&ranges, ','), &first, &last, &width)) continue;
      for (uint64_t i = first; i <= last; i++) {
        const int len = snprintf(host, sizeof host, "%.*s%0*llu", (int)open, item.ptr, width, (unsigned long long)i);
        if (!fn(context, (struct wo_view){host, (size_t)len})) return;
      }
    }
  }
}
