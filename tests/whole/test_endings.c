/* How logs end: tests/judged/bad_ends.txt and good_ends.txt, in the format of tests/table (tests/support/table.h). The
 * expectation is a line of outcomes, any of which is right ("other|host_oom"), and for a failure the lines that may decide
 * ("line=2,3"). A log of good.txt has no failure, one of bad.txt has one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/report/report.h"
#include "analyzer/story/job.h"
#include "rules/load/rule.h"
#include "tests/support/table.h"

#define FOLDER WO_SOURCE_DIR "/tests/judged/"

static struct wo_pack *pack;

static int load_pack(void **state) {
  (void)state;
  struct wo_err err;
  return wo_pack_load_all(NULL, WO_LOAD_FOR_DIAGNOSIS, &pack, &err) == WO_OK ? 0 : -1;
}

static int free_pack(void **state) {
  (void)state;
  pack = wo_pack_free(pack);
  return 0;
}

/* Whether the word is one of those that `list` holds between `mark`. */
static bool is_listed(struct wo_view list, char mark, struct wo_view word) {
  while (list.len > 0) {
    const size_t end = wo_view_find_char(list, mark, 0);
    const struct wo_view item = wo_view_sub(list, 0, end == WO_NOT_FOUND ? list.len : end);
    if (wo_view_equal(item, word)) return true;
    list = wo_view_skip(list, item.len + (end == WO_NOT_FOUND ? 0 : 1));
  }
  return false;
}

/* What is wrong with the report, in buf; empty when nothing is. */
static void judge(const struct wo_report *report, struct wo_view expect, bool is_bad, char *buf, size_t cap) {
  const struct wo_job *const job = report->job;
  const struct wo_event *const failure = wo_event_get(&job->events, job->story.failure);
  const bool tells = wo_report_tells_failure(report) || failure != NULL;
  struct wo_view rest = expect;
  const struct wo_view outcomes = wo_view_word(&rest);
  const struct wo_view lines = wo_view_trim(rest);
  const char *const outcome = wo_outcome_name(job->story.outcome);
  char line[32];
  snprintf(line, sizeof line, "%llu", failure ? (unsigned long long)failure->span.line : 0);
  const bool is_right_line = lines.len == 0 || is_listed(wo_view_skip(lines, strlen("line=")), ',', wo_view_of(line));
  const bool is_right = is_listed(outcomes, '|', wo_view_of(outcome)) && is_right_line && tells == is_bad;
  buf[0] = '\0';
  if (!is_right) {
    snprintf(buf, cap, "wanted %.*s, got %s line=%s %s%s%.*s", (int)expect.len, expect.ptr, outcome, line,
             tells ? "a failure: " : "no failure", failure ? wo_kind_name(failure->kind) : "",
             report->finding_count > 0 ? (int)report->findings[0].title.len : 0,
             report->finding_count > 0 ? report->findings[0].title.ptr : "");
  }
}

static bool run_case(const struct wo_table_case *item, bool is_bad, const char *name) {
  struct wo_job *job = NULL;
  struct wo_report *report = NULL;
  char complaint[1024];
  assert_int_equal(wo_job_new(pack, &job), WO_OK);
  assert_int_equal(wo_job_read_text(job, item->log, "job.log"), WO_OK);
  assert_int_equal(wo_job_close(job), WO_OK);
  assert_int_equal(wo_report_make(job, pack, &report), WO_OK);
  judge(report, wo_view_trim(item->expect), is_bad, complaint, sizeof complaint);
  if (complaint[0] != '\0') {
    print_error("tests/judged/%s:%llu: %.*s: %s\n", name, (unsigned long long)item->line, (int)item->title.len, item->title.ptr,
                complaint);
  }
  wo_report_free(report);
  wo_job_free(job);
  return complaint[0] == '\0';
}

static void run_file(const char *name, bool is_bad, size_t least) {
  char path[1024], complaint[512];
  struct wo_table table;
  size_t wrong = 0;
  snprintf(path, sizeof path, FOLDER "%s", name);
  if (!wo_table_read(path, &table, complaint, sizeof complaint)) fail_msg("%s", complaint);
  assert_true(table.count >= least);
  for (size_t i = 0; i < table.count; i++) wrong += !run_case(&table.items[i], is_bad, name);
  if (wrong > 0) fail_msg("%zu of %zu logs are told wrongly", wrong, table.count);
  wo_table_done(&table);
}

static void test_bad_ends(void **state) {
  (void)state;
  run_file("bad_ends.txt", true, 40);
}

static void test_good_ends(void **state) {
  (void)state;
  run_file("good_ends.txt", false, 25);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bad_ends), cmocka_unit_test(test_good_ends)};
  return cmocka_run_group_tests(tests, load_pack, free_pack);
}
