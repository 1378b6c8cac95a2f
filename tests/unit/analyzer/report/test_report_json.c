/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON report: analyzer/report/report_json.c against docs/schema/report-1.schema.json and the promises in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "tests/support/failing_alloc.h"
#include "tests/support/job/report_sample.h"

/* Writes and reads back. The tree is released with cJSON_Delete. */
static cJSON *written(const struct sample *sample) {
  struct wo_text text = {0};
  wo_report_json(&sample->report, &text);
  assert_false(text.is_failed);
  assert_true(text.len > 0 && text.ptr[text.len - 1] == '\n');
  assert_null(memchr(text.ptr, '\t', text.len));
  const char *end = NULL;
  cJSON *const root = cJSON_ParseWithLengthOpts(text.ptr, text.len, &end, false);
  assert_non_null(root);
  assert_ptr_equal(end, text.ptr + text.len - 1);
  wo_text_done(&text);
  return root;
}

/* The item at a path such as "findings/0/fixes/1/id". */
static const cJSON *at(const cJSON *item, const char *path) {
  struct wo_view rest = wo_view_of(path);
  while (rest.len > 0 && item != NULL) {
    char key[64];
    const struct wo_view step = wo_view_cut(&rest, '/');
    snprintf(key, sizeof key, "%.*s", (int)step.len, step.ptr);
    uint64_t index = 0;
    struct wo_view digits = step;
    if (cJSON_IsArray(item)) {
      assert_int_equal(wo_number_u64(&digits, 1000, &index), WO_OK);
      item = cJSON_GetArrayItem(item, (int)index);
    } else {
      item = cJSON_GetObjectItemCaseSensitive(item, key);
    }
  }
  return item;
}

static void assert_text(const cJSON *root, const char *path, const char *expected) {
  const cJSON *const item = at(root, path);
  assert_true(cJSON_IsString(item));
  assert_string_equal(item->valuestring, expected);
}

static void assert_number(const cJSON *root, const char *path, double expected) {
  const cJSON *const item = at(root, path);
  assert_true(cJSON_IsNumber(item));
  assert_true(item->valuedouble == expected);
}

static void assert_null_at(const cJSON *root, const char *path) {
  assert_true(cJSON_IsNull(at(root, path)));
}

static void assert_count(const cJSON *root, const char *path, int expected) {
  assert_true(cJSON_IsArray(at(root, path)));
  assert_int_equal(cJSON_GetArraySize(at(root, path)), expected);
}

/* ---- What it says ---- */

static void test_head_and_inputs(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  sample.inputs[1].format = (struct wo_view){NULL, 0};
  sample.inputs[1].is_unreadable = true;
  sample.inputs[1].notes[0] = WO_VIEW("gzip member ends in the middle");
  sample.inputs[1].note_count = 1;
  cJSON *const root = written(&sample);
  assert_text(root, "schema", "whyoom.report/1");
  assert_text(root, "tool/name", "whyoom");
  assert_text(root, "inputs/0/path", "slurm-88213.err");
  assert_text(root, "inputs/0/format", "log");
  assert_number(root, "inputs/0/bytes", 2400000);
  assert_count(root, "inputs/0/notes", 0);
  assert_text(root, "inputs/1/format", "unknown");
  assert_text(root, "inputs/1/notes/0", "gzip member ends in the middle");
  assert_true(cJSON_IsTrue(at(root, "inputs/1/unreadable")));
  assert_count(root, "monitors", 0);
  cJSON_Delete(root);
}

static void test_job_and_failure(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  cJSON *const root = written(&sample);
  assert_text(root, "job/id", "88213");
  assert_null_at(root, "job/array_task");
  assert_text(root, "job/nodes/1", "gpu12");
  assert_number(root, "job/ranks", 8);
  assert_text(root, "job/outcome", "gpu_oom");
  assert_text(root, "job/outcome_evidence/0", "e2");
  assert_text(root, "job/recovered/0", "e1");
  assert_text(root, "failure/kind", "cuda_oom");
  assert_number(root, "failure/rank", 3);
  assert_text(root, "failure/host", "gpu12");
  assert_number(root, "failure/gpu", 1);
  assert_text(root, "failure/time", "2025-03-11T04:00:12");
  assert_number(root, "failure/step", 4120);
  assert_text(root, "failure/phase", "backward");
  assert_text(root, "failure/evidence", "e2");
  assert_count(root, "failure/consequences", 2);
  assert_text(root, "failure/consequences/1", "e5");
  cJSON_Delete(root);
}

static void test_findings_and_fixes(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  cJSON *const root = written(&sample);
  assert_count(root, "findings", 2);
  assert_text(root, "findings/0/id", "fragmentation");
  assert_text(root, "findings/0/family", "fragmentation");
  assert_text(root, "findings/0/confidence", "likely");
  assert_number(root, "findings/0/score", 0.87);
  assert_text(root, "findings/0/for/1/evidence/0", "e1");
  assert_count(root, "findings/0/against/0/evidence", 0);
  assert_text(root, "findings/0/not_proposed/1", "gradient checkpointing (already on, train.sbatch:21)");
  assert_text(root, "findings/0/fixes/0/id", "enable-expandable-segments");
  assert_null_at(root, "findings/0/fixes/0/changes/0/from");
  assert_true(cJSON_IsTrue(at(root, "findings/0/fixes/0/changes/0/to")));
  assert_null_at(root, "findings/0/fixes/0/changes/0/where");
  assert_null_at(root, "findings/0/fixes/0/proof");
  assert_number(root, "findings/0/fixes/1/changes/0/from", 8);
  assert_text(root, "findings/0/fixes/1/changes/0/spelled", "--per_device_train_batch_size 4");
  assert_text(root, "findings/0/fixes/1/changes/0/where", "e0");
  assert_null_at(root, "findings/0/fixes/1/changes/1/spelled");
  assert_number(root, "findings/0/fixes/1/saves_bytes/hi", 9663676416.0);
  assert_text(root, "findings/0/fixes/1/cost/accuracy", "none");
  assert_null_at(root, "findings/0/fixes/1/cost/effort");
  assert_text(root, "findings/1/family", "oversized_batch");
  cJSON_Delete(root);
}

static void test_memory_facts_and_folds(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  cJSON *const root = written(&sample);
  assert_number(root, "memory/gpu", 1);
  assert_number(root, "memory/parts/0/bytes", (double)(long long)(SAMPLE_GIB(26.11) + 0.5));
  assert_text(root, "memory/parts/1/name", "reserved_unallocated");
  assert_true(at(root, "memory/parts/1/lo")->valuedouble < at(root, "memory/parts/1/hi")->valuedouble);
  assert_number(root, "facts/config.micro_batch/value", 8);
  assert_text(root, "facts/config.micro_batch/unit", "count");
  assert_text(root, "facts/config.micro_batch/evidence", "e0");
  assert_text(root, "facts/oom.tried/unit", "bytes");
  assert_number(root, "facts/oom.tried/value", 2147483648.0);
  assert_non_null(at(root, "facts/oom.tried/lo"));
  assert_text(root, "facts/oom.phase/value", "backward");
  assert_true(cJSON_IsFalse(at(root, "facts/oom.first_step/value")));
  assert_null(at(root, "facts/model.parameters"));
  assert_text(root, "folded/0/what", "NCCL watchdog");
  assert_number(root, "folded/0/ranks", 5);
  assert_text(root, "resubmit", "sbatch train.sbatch");
  cJSON_Delete(root);
}

static void test_evidence(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  sample.events[5].is_quoted = true;
  cJSON *const root = written(&sample);
  assert_count(root, "evidence", SAMPLE_EVENTS);
  assert_text(root, "evidence/2/id", "e2");
  assert_text(root, "evidence/2/kind", "cuda_oom");
  assert_text(root, "evidence/2/path", "slurm-88213.err");
  assert_number(root, "evidence/2/line", 20917);
  assert_text(root, "evidence/2/role", "failure");
  assert_number(root, "evidence/2/fields/tried_bytes", 2147483648.0);
  assert_number(root, "evidence/2/fields/utilization", 0.85);
  assert_text(root, "evidence/2/fields/shape", "[8, 4096]");
  assert_text(root, "evidence/3/of", "e2");
  assert_text(root, "evidence/0/path", "train.sbatch");
  assert_null_at(root, "evidence/0/rank");
  assert_null_at(root, "evidence/0/host");
  assert_null_at(root, "evidence/0/time");
  assert_null(at(root, "evidence/0/role"));
  assert_null(at(root, "evidence/4/quoted"));
  assert_true(cJSON_IsTrue(at(root, "evidence/5/quoted")));
  cJSON_Delete(root);
}

static void test_absent_knowledge_is_null(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  sample_make_ok(&sample);
  sample.job.story.job_id = (struct wo_view){NULL, 0};
  sample.job.story.rank_count = -1;
  sample.job.story.roles = NULL;
  sample.report.facts.row_count = 0;
  cJSON *const root = written(&sample);
  assert_null_at(root, "failure");
  assert_null_at(root, "memory");
  assert_null_at(root, "job/id");
  assert_null_at(root, "job/ranks");
  assert_null_at(root, "resubmit");
  assert_count(root, "findings", 0);
  assert_count(root, "evidence", 0);
  assert_text(root, "job/outcome", "success");
  cJSON_Delete(root);
}

static void test_host_that_the_message_names(void **state) {
  (void)state;
  static const struct {
    const char *named, *host;
  } rows[] = {{"10.8.0.21", "10.8.0.21"}, {"gpu[09-12]", NULL}, {"gpu09,gpu10", NULL}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sample sample;
    sample_fill(&sample);
    sample.events[2].host = (struct wo_view){NULL, 0};
    sample.oom_fields[0] = (struct wo_field){.id = WO_FIELD_HOST, .text = wo_view_of(rows[i].named)};
    cJSON *const root = written(&sample);
    if (rows[i].host) {
      assert_text(root, "failure/host", rows[i].host);
    } else {
      assert_null_at(root, "failure/host");
    }
    cJSON_Delete(root);
  }
}

static void test_unknown_places_are_null(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  sample.events[2].span.file = 99;
  sample.events[2].field_count = 0;
  sample.report.memory.gpu = -1;
  sample.report.memory.capacity_bytes = (struct wo_interval){0, 0, 0};
  sample.report.memory.is_contradictory = true;
  sample.fixes[0].has_saves = false;
  cJSON *const root = written(&sample);
  assert_null_at(root, "evidence/2/path");
  assert_null_at(root, "failure/gpu");
  assert_null_at(root, "memory/gpu");
  assert_null_at(root, "memory/capacity_bytes");
  assert_true(cJSON_IsTrue(at(root, "memory/contradictory")));
  assert_null_at(root, "findings/0/fixes/0/saves_bytes");
  cJSON_Delete(root);
}

/* ---- How it says it ---- */

static void assert_has(const struct sample *sample, const char *wanted) {
  struct wo_text text = {0};
  wo_report_json(&sample->report, &text);
  assert_false(text.is_failed);
  assert_true(wo_view_has((struct wo_view){text.ptr, text.len}, wanted));
  wo_text_done(&text);
}

/* Sizes beyond what "%.15g" or a 32-bit int would print must stay exact. */
static void test_integers_are_exact(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  sample.inputs[0].bytes = UINT64_MAX;
  sample.events[2].span.byte = UINT64_C(9007199254740993);
  sample.oom_fields[0].number = wo_interval_exact(1000000000000000.0); /* a round number is tempting to print as 1e+15 */
  assert_has(&sample, "\"bytes\": 18446744073709551615,");
  assert_has(&sample, "\"byte\": 9007199254740993,");
  assert_has(&sample, "\"tried_bytes\": 1000000000000000,");
  sample.oom_fields[0].number = wo_interval_exact(9223372036854774784.0);
  assert_has(&sample, "\"tried_bytes\": 9223372036854774784,");
}

static void test_texts_are_escaped(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  sample.inputs[0].path = WO_VIEW("a\"b\\c\n\xFF\x1B[31m.err");
  sample.findings[0].title = WO_VIEW("<b>& \xE5\x86\x85");
  cJSON *const root = written(&sample);
  assert_text(root, "inputs/0/path", "a\"b\\c \xEF\xBF\xBD [31m.err");
  assert_text(root, "findings/0/title", "<b>& \xE5\x86\x85");
  cJSON_Delete(root);
}

static void test_numbers_that_json_cannot_say(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  const double infinite = 1e308 * 10;
  sample.setting.value.number = (struct wo_interval){0, infinite, infinite};
  sample.facts[0].value = sample_number(-0.0);
  sample.facts[1].value = sample_number(0.9);
  sample.facts[2].value.truth = WO_UNDECIDED;
  cJSON *const root = written(&sample);
  assert_null_at(root, "facts/config.micro_batch/value");
  assert_number(root, "facts/oom.phase/value", 0.9);
  assert_text(root, "facts/oom.phase/unit", "ratio");
  assert_null_at(root, "facts/oom.first_step/value");
  cJSON_Delete(root);
  assert_has(&sample, "\"value\": 0,");
}

/* ---- Out of memory ---- */

static long allocations_left;

static void *limited_malloc(size_t size) {
  if (allocations_left == 0) return NULL;
  allocations_left--;
  return malloc(size);
}

static void plain_free(void *ptr) {
  free(ptr);
}

/* cJSON allocates inside its own library: its hook makes the n-th call and all later ones fail. */
static void test_out_of_memory_in_cjson(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  cJSON_Hooks hooks = {limited_malloc, plain_free};
  cJSON_InitHooks(&hooks);
  bool is_complete = false;
  for (long n = 0; !is_complete; n += n < 40 ? 1 : 17) {
    struct wo_text text = {0};
    allocations_left = n;
    wo_report_json(&sample.report, &text);
    is_complete = !text.is_failed;
    if (!is_complete) assert_int_equal(text.len, 0);
    wo_text_done(&text);
    assert_true(n < 100000);
  }
  cJSON_InitHooks(NULL);
}

static void test_out_of_memory_in_texts(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  for (long n = 1;; n++) {
    struct wo_text text = {0};
    wo_fail_alloc_at(n);
    wo_report_json(&sample.report, &text);
    wo_fail_alloc_off();
    const bool has_hit = wo_fail_alloc_hit();
    assert_int_equal(text.is_failed, has_hit);
    wo_text_done(&text);
    if (!has_hit) break;
    assert_true(n < 1000);
  }
}

/* ---- Schema ---- */

static bool write_report(const struct sample *sample, const char *path) {
  struct wo_text text = {0};
  wo_report_json(&sample->report, &text);
  FILE *const file = fopen(path, "w");
  bool is_written = file != NULL && !text.is_failed && fwrite(text.ptr, 1, text.len, file) == text.len;
  if (file != NULL) is_written = fclose(file) == 0 && is_written;
  wo_text_done(&text);
  return is_written;
}

/* Validates with python3-jsonschema where it is installed; without it there is nothing to run. */
static void test_reports_satisfy_the_schema(void **state) {
  (void)state;
  static const char program[] =
      "python3 -c 'import json,sys,jsonschema as j\n"
      "s=json.load(open(sys.argv[1]));v=j.validators.validator_for(s);v.check_schema(s)\n"
      "[v(s).validate(json.load(open(p))) for p in sys.argv[2:]]' " WO_SOURCE_DIR "/docs/schema/report-1.schema.json %s %s";
  if (system("python3 -c 'import jsonschema' 2>/dev/null") != 0) skip();
  struct sample sample;
  char full[] = "/tmp/whyoom-report-XXXXXX";
  char ok[] = "/tmp/whyoom-report-XXXXXX";
  const int descriptors[] = {mkstemp(full), mkstemp(ok)};
  assert_true(descriptors[0] >= 0 && descriptors[1] >= 0);
  sample_fill(&sample);
  const bool is_full_written = write_report(&sample, full);
  sample_make_ok(&sample);
  const bool is_ok_written = write_report(&sample, ok);
  char command[1024];
  snprintf(command, sizeof command, program, full, ok);
  const int result = system(command);
  remove(full);
  remove(ok);
  assert_true(is_full_written && is_ok_written);
  assert_int_equal(result, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_head_and_inputs),
      cmocka_unit_test(test_job_and_failure),
      cmocka_unit_test(test_host_that_the_message_names),
      cmocka_unit_test(test_findings_and_fixes),
      cmocka_unit_test(test_memory_facts_and_folds),
      cmocka_unit_test(test_evidence),
      cmocka_unit_test(test_absent_knowledge_is_null),
      cmocka_unit_test(test_unknown_places_are_null),
      cmocka_unit_test(test_integers_are_exact),
      cmocka_unit_test(test_texts_are_escaped),
      cmocka_unit_test(test_numbers_that_json_cannot_say),
      cmocka_unit_test(test_out_of_memory_in_cjson),
      cmocka_unit_test(test_out_of_memory_in_texts),
      cmocka_unit_test(test_reports_satisfy_the_schema),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
