/* Reads facts off file names. Names are hints: what the content says wins.
 *
 * Users name logs by hand and by SLURM's patterns (%j job, %A_%a array and task, %t task), and
 * launchers add theirs. Everything here looks at the last part of a path: folders are named after
 * experiments, users and dates. */
#include "analyzer/names.h"

#include "parsers/base/number.h"

/* A path that ends in a slash has an empty last part; no input has such a name. */
struct wo_view wo_name_base(struct wo_view path) {
  const size_t slash = wo_view_find_last(path, WO_VIEW("/"), path.len);
  return slash == WO_NOT_FOUND ? path : wo_view_skip(path, slash + 1);
}

/* Separators may stand between the word and its number: "rank3", "rank_3", "rank-03", "task.3". */
int32_t wo_name_rank(struct wo_view path) {
  static const char *const words[] = {"rank", "task"};
  const struct wo_view base = wo_name_base(path);
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    const struct wo_view word = wo_view_of(words[i]);
    const size_t at = wo_view_find(base, word, 0);
    if (at == WO_NOT_FOUND) continue;
    struct wo_view in = wo_view_skip(base, at + word.len);
    while (in.len > 0 && (in.ptr[0] == '_' || in.ptr[0] == '-' || in.ptr[0] == '.')) in = wo_view_skip(in, 1);
    uint64_t rank = 0;
    if (wo_number_u64(&in, 1000000, &rank) == WO_OK) return (int32_t)rank;
  }
  return WO_RANK_UNKNOWN;
}

/* Whether the input holds evidence of the kind. Linear, once per input. */
static bool has_kind(const struct wo_event_store *store, uint32_t file, enum wo_kind kind) {
  for (size_t i = 0; i < store->count; i++) {
    if (store->items[i].span.file == file && store->items[i].kind == kind) return true;
  }
  return false;
}

/* By the name's end for what people edit, by a word in it for what tools print. A text file with
 * #SBATCH lines is a script that lost its ending on the way through a mail. */
struct wo_view wo_name_format(const struct wo_event_store *store, uint32_t file, struct wo_view path) {
  const struct wo_view base = wo_name_base(path);
  const bool is_script = wo_view_ends(base, ".sbatch") || wo_view_ends(base, ".slurm") || wo_view_ends(base, ".sh");
  const bool is_config =
      wo_view_ends(base, ".yaml") || wo_view_ends(base, ".yml") || wo_view_ends(base, ".json") || wo_view_ends(base, ".toml");
  if (is_script || (has_kind(store, file, WO_KIND_SBATCH) && wo_view_ends(base, ".txt"))) return WO_VIEW("sbatch");
  if (is_config) return WO_VIEW("config");
  if (wo_view_has(base, "scontrol")) return WO_VIEW("scontrol");
  if (wo_view_has(base, "sacct")) return WO_VIEW("sacct");
  if (wo_view_has(base, "dmon")) return WO_VIEW("dmon");
  return WO_VIEW("log");
}

/* SLURM job ids have at least three digits in practice; shorter numbers in names are versions and counters. */
#define JOB_ID_DIGITS_MIN 3
#define JOB_ID_DIGITS_MAX 10

/* The first run of digits that stands alone: not part of a word ("gpt2"), nor the head of one
 * ("70b"), and of a length that ids have. What follows an underscore is the array task. */
struct wo_view wo_name_job(struct wo_view path, int64_t *ret_array_task) {
  const struct wo_view base = wo_name_base(path);
  *ret_array_task = -1;
  if (!wo_view_has(base, ".out") && !wo_view_has(base, ".err") && !wo_view_has(base, ".log")) return (struct wo_view){0};
  for (size_t at = 0; at < base.len; at++) {
    if (!wo_is_digit(base.ptr[at]) || (at > 0 && wo_is_alnum(base.ptr[at - 1]))) continue;
    size_t end = at;
    while (end < base.len && wo_is_digit(base.ptr[end])) end++;
    const bool is_word = end < base.len && wo_is_alpha(base.ptr[end]);
    if (!is_word && end - at >= JOB_ID_DIGITS_MIN && end - at <= JOB_ID_DIGITS_MAX) {
      struct wo_view task = wo_view_skip(base, end);
      uint64_t index = 0;
      if (wo_view_starts(task, "_")) {
        task = wo_view_skip(task, 1);
        if (wo_number_u64(&task, 10000000, &index) == WO_OK) *ret_array_task = (int64_t)index;
      }
      return wo_view_sub(base, at, end);
    }
    at = end;
  }
  return (struct wo_view){0};
}
