/* SPDX-License-Identifier: Apache-2.0 */
/* See pattern_attack.h. */
#include "rules/check/pattern_attack.h"

#include <assert.h>
#include <stdlib.h>

/* Parts of a pattern that lines are made of: more would say nothing new. */
enum { LITERALS_MAX = 3, SAMPLES_MAX = 3, CUTS_MAX = 24 };

/* Characters of the classes that expressions repeat. */
static const char repeated[] = " \ta0AZ.:/\"'=,()[]{}-_|%<x";

struct attack {
  const struct wo_pattern *pattern;
  const struct wo_pattern_samples *samples;
  char *line;
  size_t len;
  wo_attack_fn fn;
  void *context;
};

static void put(char *at, struct wo_view part) {
  if (part.len > 0) memcpy(at, part.ptr, part.len);
}

/* `head`, as many `unit`s as fit, the beginning of one more, and `tail`. Parts that are too long lose their end. */
static void emit(const struct attack *attack, struct wo_view head, struct wo_view unit, struct wo_view tail) {
  char *const line = attack->line;
  head = wo_view_sub(head, 0, attack->len / 4);
  tail = wo_view_sub(tail, 0, attack->len / 4);
  const size_t end = attack->len - tail.len;
  put(line, head);
  unit = wo_view_sub(unit, 0, end - head.len);
  put(line + head.len, unit);
  for (size_t filled = unit.len; head.len + filled < end;) {
    const size_t left = end - head.len - filled;
    const size_t more = filled < left ? filled : left;
    memcpy(line + head.len + filled, line + head.len, more);
    filled += more;
  }
  put(line + end, tail);
  attack->fn(attack->context, (struct wo_view){line, attack->len});
}

static struct wo_view literal_of(const struct wo_pattern *pattern, size_t index) {
  if (pattern->literal_count == 0) return WO_VIEW("");
  const struct wo_view literal = pattern->literals[index];
  return wo_view_sub(literal, 0, literal.len - wo_view_ends(literal, "\n"));
}

/* A repeated part with each of the expressions behind it, as they are written: they hold the characters without which PCRE2 would
 * not search at all. */
static void emit_sources(const struct attack *attack, struct wo_view head, struct wo_view unit) {
  emit(attack, head, unit, attack->pattern->regex);
  if (attack->pattern->unless.len > 0) emit(attack, head, unit, attack->pattern->unless);
}

/* One character, with a literal behind and before it: what stands unbounded beside the words. */
static void attack_with_characters(const struct attack *attack) {
  size_t count = attack->pattern->literal_count == 0 ? 1 : attack->pattern->literal_count;
  if (count > LITERALS_MAX) count = LITERALS_MAX;
  for (size_t i = 0; i < count; i++) {
    const struct wo_view literal = literal_of(attack->pattern, i);
    for (size_t k = 0; k + 1 < sizeof repeated; k++) {
      const struct wo_view unit = {&repeated[k], 1};
      emit(attack, WO_VIEW(""), unit, literal);
      emit_sources(attack, literal, unit);
    }
  }
}

static bool is_cut(struct wo_view sample, size_t at) {
  return at == sample.len || wo_is_word(sample.ptr[at]) != wo_is_word(sample.ptr[at - 1]);
}

/* Parts of a sample repeated: all up to a place, the word before it, the characters beside it. */
static void attack_with_sample(const struct attack *attack, struct wo_view sample) {
  size_t before = 0;
  for (size_t at = 1, cuts = 0; at <= sample.len && cuts < CUTS_MAX; at++) {
    if (!is_cut(sample, at)) continue;
    const struct wo_view head = wo_view_sub(sample, 0, at), tail = wo_view_sub(sample, at, sample.len);
    const struct wo_view units[] = {head, wo_view_sub(sample, before, at), wo_view_sub(sample, at - 1, at),
                                    wo_view_sub(tail, 0, 1)};
    for (size_t k = 0; k < sizeof units / sizeof *units; k++) {
      if (units[k].len == 0) continue;
      emit(attack, k == 0 ? WO_VIEW("") : head, units[k], tail);
      emit_sources(attack, k == 0 ? WO_VIEW("") : head, units[k]);
    }
    before = at;
    cuts++;
  }
}

bool wo_pattern_attacks(const struct wo_pattern *pattern, const struct wo_pattern_samples *samples, size_t len, wo_attack_fn fn,
                        void *context) {
  assert(len >= 256);
  struct attack attack = {pattern, samples, malloc(len), len, fn, context};
  if (attack.line == NULL) return false;
  attack_with_characters(&attack);
  for (size_t i = 0; i < samples->match_count && i < SAMPLES_MAX; i++) attack_with_sample(&attack, samples->match[i]);
  free(attack.line);
  return true;
}
