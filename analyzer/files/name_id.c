/* SPDX-License-Identifier: Apache-2.0 */
/* The number of a job in a file's name. See names.h.
 *
 * Names hold other numbers, too: dates, sizes, steps, processes. Taken for ids they would make one job of all logs of a year, and
 * many jobs of the logs of one. */
#include "analyzer/files/names.h"
#include "parsers/base/number.h"

/* SLURM job ids have at least three digits in practice; shorter numbers are versions and counters. */
#define JOB_ID_DIGITS_MIN 3
#define JOB_ID_DIGITS_MAX 10

static size_t digits_end(struct wo_view text, size_t at) {
  while (at < text.len && wo_is_digit(text.ptr[at])) at++;
  return at;
}

/* Cuts a whole run of digits off the front. */
static struct wo_view cut_digits(struct wo_view *rest) {
  const struct wo_view digits = wo_view_sub(*rest, 0, digits_end(*rest, 0));
  *rest = wo_view_skip(*rest, digits.len);
  return digits;
}

static bool cut(struct wo_view *rest, const char *text) {
  if (!wo_view_starts(*rest, text)) return false;
  *rest = wo_view_skip(*rest, wo_view_of(text).len);
  return true;
}

/* ---- Names of one shape ---- */

/* SLURM's own names for logs, "slurm-12.out" and "slurm-12_3.err", also compressed: in them even a short number is a job. */
static bool is_default_name(struct wo_view base) {
  struct wo_view rest = base;
  if (!cut(&rest, "slurm-") || cut_digits(&rest).len == 0) return false;
  if (cut(&rest, "_") && cut_digits(&rest).len == 0) return false;
  if (!cut(&rest, ".out") && !cut(&rest, ".err")) return false;
  return rest.len == 0 || rest.ptr[0] == '.';
}

/* ---- Numbers that are no ids ---- */

/* The number that these digits are; UINT64_MAX for other bytes. */
static uint64_t number_at(struct wo_view text, size_t at, size_t len) {
  struct wo_view digits = wo_view_sub(text, at, at + len);
  uint64_t number = 0;
  if (digits.len != len || wo_number_u64(&digits, 99999999, &number) != WO_OK || digits.len > 0) return UINT64_MAX;
  return number;
}

static bool is_day(struct wo_view text, size_t year_at, size_t month_at, size_t day_at) {
  const uint64_t year = number_at(text, year_at, 4), month = number_at(text, month_at, 2), day = number_at(text, day_at, 2);
  return year >= 2000 && year <= 2099 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/* The end of a date that begins here, "20261126" or "2026-11-26" with any separator; `at` where there is none. */
static size_t date_end(struct wo_view base, size_t at) {
  const size_t end = digits_end(base, at);
  if (end - at == 8) return is_day(base, at, at + 4, at + 6) ? end : at;
  const bool is_parted = end - at == 4 && base.len - end >= 6 && wo_name_is_separator(base.ptr[end]) &&
                         base.ptr[end] == base.ptr[end + 3] && digits_end(base, end + 1) == end + 3;
  const bool is_date = is_parted && digits_end(base, end + 4) == end + 6 && is_day(base, at, end + 1, end + 4);
  return is_date ? end + 6 : at;
}

/* The end of the time behind a date that ended here, "_1015" or "-101500"; `at` where there is none. */
static size_t time_end(struct wo_view base, size_t at) {
  if (at >= base.len || !wo_name_is_separator(base.ptr[at])) return at;
  const size_t end = digits_end(base, at + 1), len = end - at - 1;
  if (len != 4 && len != 6) return at;
  const bool is_time = number_at(base, at + 1, 2) < 24 && number_at(base, at + 3, 2) < 60 &&
                       (len == 4 || number_at(base, at + 5, 2) < 60) && (end == base.len || !wo_is_alpha(base.ptr[end]));
  return is_time ? end : at;
}

static bool has_digit(struct wo_view word) {
  for (size_t i = 0; i < word.len; i++) {
    if (wo_is_digit(word.ptr[i])) return true;
  }
  return false;
}

/* Whether the words before the number say that it counts something else ("eval_step_1000.log"; jobs can have such names, too, but
 * SLURM's files end in .out and .err), or that it is a process's: NCCL's files are named after the host and the process
 * ("nccl.gpu01.34567.log"). */
static bool counts_no_jobs(struct wo_view base, size_t at) {
  static const char *const counted[] = {"epoch", "epochs", "step", "steps", "iter", "iters",  "iteration", "seed",
                                        "fold",  "pid",    "port", "seq",   "len",  "seqlen", "bs",        "ctx"};
  struct wo_view rest = wo_view_sub(base, 0, at > 0 ? at - 1 : 0), word = {0};
  bool is_nccl = false;
  while (rest.len > 0) {
    word = wo_name_word(&rest);
    is_nccl = is_nccl || wo_view_starts_nocase(word, "nccl");
  }
  const bool is_slurm = wo_view_ends(base, ".out") || wo_view_ends(base, ".err");
  return (!is_slurm && WO_NAME_IS_ANY(word, counted)) || (is_nccl && has_digit(word));
}

/* ---- Ids ---- */

/* A number after an underscore is the task of an array. */
static int64_t task_behind(struct wo_view base, size_t end) {
  struct wo_view task = wo_view_skip(base, end);
  uint64_t index = 0;
  return cut(&task, "_") && wo_number_u64(&task, 10000000, &index) == WO_OK ? (int64_t)index : -1;
}

/* The first run of digits that is no part of a word ("gpt2", "70b"), that is as long as ids are, and that is nothing else. */
struct wo_view wo_name_id(struct wo_view path, int64_t *ret_array_task) {
  const struct wo_view base = wo_name_base(path);
  const bool is_default = is_default_name(base);
  const size_t digits_min = is_default ? 1 : JOB_ID_DIGITS_MIN;
  struct wo_name_submitit submitit;
  *ret_array_task = -1;
  if (wo_name_submitit(path, &submitit)) {
    *ret_array_task = submitit.task;
    return submitit.id;
  }
  for (size_t at = 0; at < base.len; at++) {
    if (!wo_is_digit(base.ptr[at]) || (at > 0 && wo_is_alnum(base.ptr[at - 1]))) continue;
    const size_t end = digits_end(base, at), date = is_default ? at : date_end(base, at);
    const bool is_word = end < base.len && wo_is_alpha(base.ptr[end]);
    const bool is_as_long = end - at >= digits_min && end - at <= JOB_ID_DIGITS_MAX;
    if (date == at && !is_word && is_as_long && !counts_no_jobs(base, at)) {
      *ret_array_task = task_behind(base, end);
      return wo_view_sub(base, at, end);
    }
    at = date == at ? end : time_end(base, date);
  }
  return (struct wo_view){0};
}

/* Numbers in the names of scripts and configurations are sizes and dates. */
struct wo_view wo_name_job(struct wo_view path, int64_t *ret_array_task) {
  *ret_array_task = -1;
  return wo_name_is_stream(path) ? wo_name_id(path, ret_array_task) : (struct wo_view){0};
}
