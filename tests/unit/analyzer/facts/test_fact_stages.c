/* SPDX-License-Identifier: Apache-2.0 */
/* The list of stages that make facts (analyzer/facts/fact_stages.def): its order, and that each stage sets what it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/facts/facts_internal.h"
#include "tests/support/files.h"
#include "tests/support/job/job_sample.h"

/* Parts of struct wo_facts that stages give, beside facts. */
static const char *const parts[] = {"config.", "count.", "monitors",  "processes", "ranks",
                                    "sizes",   "steps",  "rank_rows", "card_rows", "program"};

static const char *const facts[] = {
#define WO_FACT(name, unit, meaning) name,
#include "rules/language/facts.def"
#undef WO_FACT
};

enum { PART_COUNT = sizeof parts / sizeof parts[0], FACT_COUNT = sizeof facts / sizeof facts[0], WORD_BYTES = 64 };

static bool is_part(struct wo_view word) {
  for (size_t i = 0; i < PART_COUNT; i++) {
    if (wo_view_is(word, parts[i])) return true;
  }
  return false;
}

/* Whether one stage before `count` gives the fact or part. */
static bool is_given(const struct wo_fact_stage *stages, size_t count, struct wo_view name) {
  for (size_t i = 0; i < count; i++) {
    if (wo__fact_is_listed(stages[i].gives, name)) return true;
  }
  return false;
}

/* A word of a list must mean something: a part, or at least one fact. `before` stages must give all that it means. */
static void check_word(const struct wo_fact_stage *stage, struct wo_view word, const struct wo_fact_stage *stages,
                       size_t before) {
  char text[WORD_BYTES];
  size_t count = 0;
  assert_true(word.len < sizeof text);
  snprintf(text, sizeof text, "%.*s", (int)word.len, word.ptr);
  if (is_part(word)) {
    if (!is_given(stages, before, word)) fail_msg("%s needs %s, which no stage before it gives", stage->name, text);
    return;
  }
  for (size_t i = 0; i < FACT_COUNT; i++) {
    if (!wo__fact_is_listed(text, wo_view_of(facts[i]))) continue;
    count++;
    if (!is_given(stages, before, wo_view_of(facts[i])))
      fail_msg("%s needs %s, which no stage before it gives", stage->name, facts[i]);
  }
  if (count == 0) fail_msg("%s lists %s, which is no fact", stage->name, text);
}

static void check_words(const struct wo_fact_stage *stage, const char *words, const struct wo_fact_stage *stages, size_t before) {
  for (struct wo_view rest = wo_view_of(words); rest.len > 0;) check_word(stage, wo_view_cut(&rest, ' '), stages, before);
}

static void test_order(void **state) {
  size_t count = 0;
  const struct wo_fact_stage *const stages = wo__fact_stages(&count);
  (void)state;
  for (size_t i = 0; i < count; i++) {
    check_words(&stages[i], stages[i].needs, stages, i);
    check_words(&stages[i], stages[i].gives, stages, count);
  }
  for (size_t i = 0; i < FACT_COUNT; i++) {
    if (!is_given(stages, count, wo_view_of(facts[i]))) fail_msg("no stage gives %s", facts[i]);
  }
}

static void test_words(void **state) {
  (void)state;
  assert_true(wo__fact_is_listed("a.b c.", WO_VIEW("a.b")));
  assert_true(wo__fact_is_listed("a.b c.", WO_VIEW("c.d")));
  assert_false(wo__fact_is_listed("a.b c.", WO_VIEW("a.")));
  assert_false(wo__fact_is_listed("a.b c.", WO_VIEW("a.bc")));
  assert_false(wo__fact_is_listed("", WO_VIEW("c.d")));
}

static bool is_same(const struct wo_value *a, const struct wo_value *b) {
  return a->is_known == b->is_known && a->truth == b->truth && a->evidence == b->evidence && a->number.mid == b->number.mid &&
         wo_view_equal(a->text, b->text);
}

/* Runs the stages one by one; facts that change must be among those that the stage gives. Returns how many changed. */
static size_t run_stages(const struct wo_job *job, const struct wo_pack *pack) {
  size_t count = 0, changes = 0;
  const struct wo_fact_stage *const stages = wo__fact_stages(&count);
  struct wo_value before[FACT_COUNT];
  struct wo_facts made;
  struct wo_arena arena;
  wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
  assert_int_equal(wo__facts_start(job, pack, &arena, &made), WO_OK);
  assert_int_equal(made.row_count, FACT_COUNT);
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < FACT_COUNT; k++) before[k] = made.rows[k].value;
    assert_int_equal(wo__facts_run(&made, &stages[i]), WO_OK);
    for (size_t k = 0; k < FACT_COUNT; k++) {
      if (is_same(&before[k], &made.rows[k].value)) continue;
      changes++;
      if (!wo__fact_is_listed(stages[i].gives, made.rows[k].name)) fail_msg("%s sets %s", stages[i].name, facts[k]);
    }
  }
  wo_arena_done(&arena);
  return changes;
}

/* All files of a folder of samples as one job. */
static struct wo_job *read_sample(const struct wo_pack *pack, const char *folder) {
  size_t count = 0;
  char **const names = wo_files_names(folder, "", &count);
  struct wo_job *job = NULL;
  assert_int_equal(wo_job_new(pack, &job), WO_OK);
  for (size_t i = 0; i < count; i++) {
    char path[1024];
    size_t len = 0;
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    char *const text = wo_files_read(path, &len);
    assert_non_null(text);
    assert_int_equal(wo_job_read_text(job, (struct wo_view){text, len}, names[i]), WO_OK);
    free(text);
  }
  wo_files_free_names(names, count);
  assert_int_equal(wo_job_close(job), WO_OK);
  return job;
}

static void test_gives(void **state) {
  size_t count = 0, changes = 0;
  char **const names = wo_files_names(WO_SOURCE_DIR "/samples", "", &count);
  assert_true(count > 5);
  for (size_t i = 0; i < count; i++) {
    char folder[512];
    if (strcmp(names[i], "README.md") == 0) continue;
    snprintf(folder, sizeof folder, "%s/samples/%s", WO_SOURCE_DIR, names[i]);
    struct wo_job *const job = read_sample(*state, folder);
    changes += run_stages(job, *state);
    wo_job_free(job);
  }
  assert_true(changes > 30 * (count - 1));
  wo_files_free_names(names, count);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_order),
      cmocka_unit_test(test_words),
      cmocka_unit_test(test_gives),
  };
  return cmocka_run_group_tests_name("fact_stages", tests, sample_load_all, sample_unload);
}
