/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which files are given changes nothing: the failure and the findings are the same. The sample jobs, and a job whose
 * tasks write a file each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cJSON.h>
#include <cmocka.h>

#include "tests/support/files.h"
#include "tests/support/job/job_sample.h"

enum { MOST_FILES = 6, MOST_ORDERS = 24 };

struct file_set {
  const char *name;
  size_t count;
  const char *paths[MOST_FILES];
  const char *texts[MOST_FILES];
};

static cJSON *report_on(const struct wo_pack *pack, const struct file_set *set, const size_t *order) {
  struct wo_job *job = NULL;
  struct wo_report *report = NULL;
  struct wo_text out = {0};
  const char *paths[MOST_FILES];
  for (size_t i = 0; i < set->count; i++) paths[i] = set->paths[order[i]];
  assert_int_equal(wo_job_new(pack, &job), WO_OK);
  wo_job_expect(job, paths, set->count);
  for (size_t i = 0; i < set->count; i++) {
    assert_int_equal(wo_job_read_text(job, wo_view_of(set->texts[order[i]]), paths[i]), WO_OK);
  }
  assert_int_equal(wo_job_close(job), WO_OK);
  assert_int_equal(wo_report_make(job, pack, &report), WO_OK);
  wo_report_json(report, &out);
  cJSON *const json = cJSON_Parse(out.ptr);
  assert_non_null(json);
  wo_text_done(&out);
  wo_report_free(report);
  wo_job_free(job);
  return json;
}

/* ---- Evidence by its place ---- */

static const cJSON *item(const cJSON *object, const char *name) {
  return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* The evidence of that id, or NULL. */
static const cJSON *evidence_of(const cJSON *report, const char *id) {
  const cJSON *row = NULL;
  cJSON_ArrayForEach(row, item(report, "evidence")) {
    if (strcmp(cJSON_GetStringValue(item(row, "id")), id) == 0) return row;
  }
  return NULL;
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lists of evidence stand in the order of the inputs. Sorts an array that holds nothing but strings. */
static void sort_strings(cJSON *array) {
  char *texts[4096];
  size_t count = 0;
  cJSON *value = NULL;
  cJSON_ArrayForEach(value, array) {
    if (!cJSON_IsString(value) || count == 4096) return;
    texts[count++] = value->valuestring;
  }
  qsort(texts, count, sizeof *texts, compare_texts);
  count = 0;
  cJSON_ArrayForEach(value, array) value->valuestring = texts[count++];
}

/* Puts the place of each piece of evidence where its id stands, which counts through the inputs. */
static void place_evidence(const cJSON *report, cJSON *value) {
  cJSON *child = NULL;
  cJSON_ArrayForEach(child, value) place_evidence(report, child);
  if (cJSON_IsArray(value)) sort_strings(value);
  const cJSON *const evidence = cJSON_IsString(value) ? evidence_of(report, value->valuestring) : NULL;
  if (!evidence) return;
  char place[1024];
  snprintf(place, sizeof place, "%s:%.0f:%.0f:%s", cJSON_GetStringValue(item(evidence, "path")),
           cJSON_GetNumberValue(item(evidence, "line")), cJSON_GetNumberValue(item(evidence, "byte")),
           cJSON_GetStringValue(item(evidence, "kind")));
  assert_non_null(cJSON_SetValuestring(value, place));
}

/* The failure and the findings, comparable. Released with free. */
static char *answer_of(const struct wo_pack *pack, const struct file_set *set, const size_t *order) {
  cJSON *const report = report_on(pack, set, order);
  cJSON *const answer = cJSON_CreateObject();
  cJSON_AddItemToObject(answer, "failure", cJSON_Duplicate(item(report, "failure"), true));
  cJSON_AddItemToObject(answer, "findings", cJSON_Duplicate(item(report, "findings"), true));
  cJSON_AddItemToObject(answer, "rank_table", cJSON_Duplicate(item(item(report, "job"), "rank_table"), true));
  place_evidence(report, answer);
  char *const text = cJSON_Print(answer);
  assert_non_null(text);
  cJSON_Delete(answer);
  cJSON_Delete(report);
  return text;
}

/* ---- Orders ---- */

/* The n-th order of `count` files: all of them for four files and fewer; of more the turns, forwards and backwards. False when
 * there is none. */
static bool make_order(size_t n, size_t count, size_t *order) {
  size_t orders = 1;
  for (size_t i = 2; i <= count; i++) orders *= i;
  if (count > 4) orders = 2 * count;
  if (n >= orders || n >= MOST_ORDERS) return false;
  if (count > 4) {
    for (size_t i = 0; i < count; i++) order[i] = n < count ? (i + n) % count : (2 * count - 1 - i + n) % count;
    return true;
  }
  for (size_t i = 0; i < count; i++) order[i] = i;
  for (size_t i = 0, left = n; i < count; i++) {
    const size_t pick = i + left % (count - i);
    left /= count - i;
    const size_t kept = order[i];
    order[i] = order[pick];
    order[pick] = kept;
  }
  return true;
}

static void check_set(const struct wo_pack *pack, const struct file_set *set) {
  size_t order[MOST_FILES];
  assert_true(make_order(0, set->count, order));
  char *const first = answer_of(pack, set, order);
  assert_non_null(strstr(first, "\"kind\""));
  for (size_t n = 1; make_order(n, set->count, order); n++) {
    char *const other = answer_of(pack, set, order);
    size_t at = 0;
    while (first[at] != '\0' && first[at] == other[at]) at++;
    const size_t from = at > 300 ? at - 300 : 0;
    if (strcmp(first, other) != 0) {
      fail_msg("%s, order %zu (first %s) differs\n%.600s\n--- and\n%.600s", set->name, n, set->paths[order[0]], first + from,
               other + from);
    }
    free(other);
  }
  free(first);
}

static void test_orders(void **state) {
  (void)state;
  size_t order[MOST_FILES];
  size_t sum = 0;
  for (size_t n = 0; make_order(n, 4, order); n++) sum += order[0] * 64 + order[1] * 16 + order[2] * 4 + order[3];
  assert_int_equal(sum, 24 * (0 + 1 + 2 + 3) * 85 / 4);
}

/* ---- Jobs ---- */

#define SAMPLE(name) "samples/" name "/"

static const struct file_set samples[] = {
    {"grpo",
     4,
     {SAMPLE("grpo-micro-batch") "slurm-4471902.err", SAMPLE("grpo-micro-batch") "slurm-4471902.out",
      SAMPLE("grpo-micro-batch") "submit_grpo.slurm", SAMPLE("grpo-micro-batch") "scontrol-4471902.txt"},
     {NULL}},
    {"pretrain",
     6,
     {SAMPLE("pretrain-512m-sequence") "slurm-218391.err", SAMPLE("pretrain-512m-sequence") "slurm-218391.out",
      SAMPLE("pretrain-512m-sequence") "train_512m.sbatch", SAMPLE("pretrain-512m-sequence") "pretrain_512m.yaml",
      SAMPLE("pretrain-512m-sequence") "dmon_mb1_seq1024.txt", SAMPLE("pretrain-512m-sequence") "sacct-218391.txt"},
     {NULL}},
    {"lora",
     5,
     {SAMPLE("lora-7b-24g") "slurm-90817.err", SAMPLE("lora-7b-24g") "slurm-90817.out", SAMPLE("lora-7b-24g") "run_lora.sh",
      SAMPLE("lora-7b-24g") "dmon-90817.txt", SAMPLE("lora-7b-24g") "scontrol-90817.txt"},
     {NULL}},
    {"ddp",
     5,
     {SAMPLE("ddp-8.5b-too-large") "slurm-1553046.err", SAMPLE("ddp-8.5b-too-large") "slurm-1553046.out",
      SAMPLE("ddp-8.5b-too-large") "train_ddp.sbatch", SAMPLE("ddp-8.5b-too-large") "scontrol-1553046.txt",
      SAMPLE("ddp-8.5b-too-large") "sacct-1553046.txt"},
     {NULL}},
    {"decode",
     5,
     {SAMPLE("rank0-decode") "slurm-667120.err", SAMPLE("rank0-decode") "slurm-667120.out",
      SAMPLE("rank0-decode") "train_bridge.sbatch", SAMPLE("rank0-decode") "bridge.yaml",
      SAMPLE("rank0-decode") "scontrol-667120.txt"},
     {NULL}},
};

static void test_samples(void **state) {
  for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
    struct file_set set = samples[i];
    char *texts[MOST_FILES] = {NULL};
    size_t len = 0;
    for (size_t k = 0; k < set.count; k++) {
      char path[1024];
      snprintf(path, sizeof path, "%s/%s", WO_SOURCE_DIR, set.paths[k]);
      texts[k] = wo_files_read(path, &len);
      assert_non_null(texts[k]);
      set.texts[k] = texts[k];
    }
    check_set(*state, &set);
    for (size_t k = 0; k < set.count; k++) free(texts[k]);
  }
}

#define STEPS(host) "SLURM_JOB_NODELIST=" host "\nstep 10/900 loss 2.41\nstep 20/900 loss 2.30\n"
#define ENDED "RuntimeError: NCCL communicator was aborted on rank 0.\n"

/* Four tasks: one runs out of memory, one a little later, two follow; with times, without, and with a file for both streams. */
static const struct file_set tasks[] = {
    {"times",
     4,
     {"err.0", "err.1", "err.2", "err.3"},
     {STEPS("gpu01") "2026-03-05T20:24:36 " OOM_ON("0"), STEPS("gpu01") EXCEPTION(ENDED),
      STEPS("gpu02") "2026-03-05T20:24:06 " OOM_ON("0"), STEPS("gpu02") "srun: error: gpu02: task 2: Exited with exit code 1\n"}},
    {"no times",
     4,
     {"job_gpu01_0.err", "job_gpu01_1.err", "job_gpu02_2.err", "job_gpu02_3.err"},
     {STEPS("gpu01") EXCEPTION(ENDED), STEPS("gpu01") OOM_ON("1"), STEPS("gpu02") OOM_ON("0"), STEPS("gpu02") EXCEPTION(ENDED)}},
    {"attempts",
     4,
     {"r/attempt_0/0/stderr.log", "r/attempt_0/1/stderr.log", "r/attempt_1/0/stderr.log", "r/attempt_1/1/stderr.log"},
     {EXCEPTION("KeyError: 'x'"), OOM_ON("1"), OOM_ON("0"), EXCEPTION(ENDED)}},
};

static void test_tasks(void **state) {
  for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++) check_set(*state, &tasks[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_orders),
      cmocka_unit_test(test_samples),
      cmocka_unit_test(test_tasks),
  };
  return cmocka_run_group_tests_name("permuted", tests, sample_load_all, sample_unload);
}
