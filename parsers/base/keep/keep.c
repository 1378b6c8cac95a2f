/* SPDX-License-Identifier: Apache-2.0 */
/* See keep.h. Numbers are eight bytes, the lowest first: whoever keeps the whole compresses it. */
#include "parsers/base/keep/keep.h"

#include <string.h>

void wo_keep_fail(struct wo_keep *keep) {
  keep->is_bad = true;
  keep->in = (struct wo_view){0};
}

/* Writes or reads eight bytes. */
static void pass(struct wo_keep *keep, uint64_t *bits) {
  char bytes[8];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(unsigned char)(*bits >> (8 * i));
  wo_keep_bytes(keep, bytes, sizeof bytes);
  if (!wo_keep_is_reading(keep)) return;
  *bits = 0;
  for (size_t i = 0; i < sizeof bytes; i++) *bits |= (uint64_t)(unsigned char)bytes[i] << (8 * i);
}

void wo_keep_number(struct wo_keep *keep, uint64_t *number, uint64_t most) {
  pass(keep, number);
  if (*number <= most) return;
  wo_keep_fail(keep);
  if (wo_keep_is_reading(keep)) *number = 0;
}

void wo_keep_size(struct wo_keep *keep, size_t *number, size_t most) {
  uint64_t value = *number;
  wo_keep_number(keep, &value, most);
  if (wo_keep_is_reading(keep)) *number = (size_t)value;
}

/* What is out of bounds is the least value, so that it is one that the reader can be left with. */
void wo_keep_signed(struct wo_keep *keep, int64_t *number, int64_t least, int64_t most) {
  uint64_t bits = (uint64_t)*number;
  pass(keep, &bits);
  const int64_t value = (int64_t)bits;
  const bool is_inside = value >= least && value <= most && !keep->is_bad;
  if (!is_inside) wo_keep_fail(keep);
  if (wo_keep_is_reading(keep)) *number = is_inside ? value : least;
}

void wo_keep_int(struct wo_keep *keep, int32_t *number, int32_t least, int32_t most) {
  int64_t value = *number;
  wo_keep_signed(keep, &value, least, most);
  if (wo_keep_is_reading(keep)) *number = (int32_t)value;
}

void wo_keep_flag(struct wo_keep *keep, bool *flag) {
  uint64_t value = !wo_keep_is_reading(keep) && *flag;
  wo_keep_number(keep, &value, 1);
  if (wo_keep_is_reading(keep)) *flag = value == 1;
}

void wo_keep_double(struct wo_keep *keep, double *number, double least, double most) {
  uint64_t bits;
  memcpy(&bits, number, sizeof bits);
  pass(keep, &bits);
  double value;
  memcpy(&value, &bits, sizeof value);
  const bool is_inside = value >= least && value <= most;
  if (!is_inside) wo_keep_fail(keep);
  if (wo_keep_is_reading(keep)) *number = is_inside ? value : 0;
}

void wo_keep_count(struct wo_keep *keep, double *number, double most) {
  wo_keep_double(keep, number, 0, most < 9007199254740992.0 ? most : 9007199254740992.0); /* 2^53: whole up to there */
  if (keep->is_bad || *number == (double)(uint64_t)*number) return;
  wo_keep_fail(keep);
  if (wo_keep_is_reading(keep)) *number = 0;
}

void wo_keep_bytes(struct wo_keep *keep, char *bytes, size_t len) {
  if (!wo_keep_is_reading(keep)) {
    wo_text_add_view(keep->out, (struct wo_view){bytes, len});
    keep->is_bad |= keep->out->is_failed;
    return;
  }
  const bool is_there = len <= keep->in.len;
  if (!is_there) wo_keep_fail(keep);
  if (len == 0) return;
  if (is_there) {
    memcpy(bytes, keep->in.ptr, len);
  } else {
    memset(bytes, 0, len);
  }
  if (is_there) keep->in = wo_view_skip(keep->in, len);
}

bool wo_keep_is_whole(const struct wo_keep *keep) {
  return !keep->is_bad && keep->in.len == 0;
}
