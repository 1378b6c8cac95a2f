/* SPDX-License-Identifier: Apache-2.0 */
/* The last part of a path, and the names of submitit's logs. See names.h. */
#include "analyzer/files/names.h"
#include "parsers/base/number.h"

/* Digits of a job's id. */
enum { JOB_ID_DIGITS_MIN = 3, JOB_ID_DIGITS_MAX = 10 };

/* A path that ends in a slash has an empty last part; no input has such a name. */
struct wo_view wo_name_base(struct wo_view path) {
  size_t start = path.len;
  while (start > 0 && path.ptr[start - 1] != '/') start--;
  return wo_view_skip(path, start);
}

/* Takes a whole run of digits off the front. */
static struct wo_view cut_digits(struct wo_view *rest) {
  size_t len = 0;
  while (len < rest->len && wo_is_digit(rest->ptr[len])) len++;
  const struct wo_view digits = wo_view_sub(*rest, 0, len);
  *rest = wo_view_skip(*rest, len);
  return digits;
}

bool wo_name_submitit(struct wo_view path, struct wo_name_submitit *ret) {
  struct wo_view rest = wo_name_base(path), numbers[3] = {{0}};
  size_t count = 0;
  do {
    numbers[count] = cut_digits(&rest);
    if (numbers[count].len == 0 || numbers[count].len > JOB_ID_DIGITS_MAX || !wo_view_starts(rest, "_")) return false;
    rest = wo_view_skip(rest, 1);
    count++;
  } while (count < 3 && rest.len > 0 && wo_is_digit(rest.ptr[0]));
  const bool is_log = wo_view_is(rest, "log.out") || wo_view_is(rest, "log.err");
  if (count < 2 || !is_log || numbers[0].len < JOB_ID_DIGITS_MIN) return false;
  uint64_t task = 0, rank = 0;
  *ret = (struct wo_name_submitit){.id = numbers[0], .task = -1};
  if (wo_number_u64(&numbers[count - 1], 1000000, &rank) != WO_OK) return false;
  if (count == 3 && wo_number_u64(&numbers[1], 10000000, &task) != WO_OK) return false;
  if (count == 3) ret->task = (int64_t)task;
  ret->rank = (int32_t)rank;
  return true;
}
