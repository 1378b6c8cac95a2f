/* SPDX-License-Identifier: Apache-2.0 */
/* The reports on the five sample jobs, for the tests of what they say: the whole program is run once for each. */
#ifndef WO_TEST_SAMPLE_REPORTS_H
#define WO_TEST_SAMPLE_REPORTS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <cJSON.h>

#include "parsers/base/vec.h"
#include "tests/support/files.h"
#include "tests/support/process.h"

#define GIB (1024.0 * 1024.0 * 1024.0)

enum { MOST_FILES = 8, PATH_BYTES = 1024, MIB_PER_GIB = 1024 };

enum { GRPO, PRETRAIN, LORA, DDP, DECODE, SAMPLE_COUNT };

struct sample {
  const char *name;
  const char *files[MOST_FILES]; /* logs first */
};

static const struct sample samples[SAMPLE_COUNT] = {
    [GRPO] = {"grpo-micro-batch",
              {"samples/grpo-micro-batch/slurm-4471902.err", "samples/grpo-micro-batch/slurm-4471902.out",
               "samples/grpo-micro-batch/submit_grpo.slurm", "samples/grpo-micro-batch/scontrol-4471902.txt"}},
    [PRETRAIN] = {"pretrain-512m-sequence",
                  {"samples/pretrain-512m-sequence/slurm-218391.err", "samples/pretrain-512m-sequence/slurm-218391.out",
                   "samples/pretrain-512m-sequence/train_512m.sbatch", "samples/pretrain-512m-sequence/pretrain_512m.yaml",
                   "samples/pretrain-512m-sequence/dmon_mb1_seq1024.txt", "samples/pretrain-512m-sequence/sacct-218391.txt"}},
    [LORA] = {"lora-7b-24g",
              {"samples/lora-7b-24g/slurm-90817.err", "samples/lora-7b-24g/slurm-90817.out", "samples/lora-7b-24g/run_lora.sh",
               "samples/lora-7b-24g/dmon-90817.txt", "samples/lora-7b-24g/scontrol-90817.txt"}},
    [DDP] = {"ddp-8.5b-too-large",
             {"samples/ddp-8.5b-too-large/slurm-1553046.err", "samples/ddp-8.5b-too-large/slurm-1553046.out",
              "samples/ddp-8.5b-too-large/train_ddp.sbatch", "samples/ddp-8.5b-too-large/scontrol-1553046.txt",
              "samples/ddp-8.5b-too-large/sacct-1553046.txt"}},
    [DECODE] = {"rank0-decode",
                {"samples/rank0-decode/slurm-667120.err", "samples/rank0-decode/slurm-667120.out",
                 "samples/rank0-decode/train_bridge.sbatch", "samples/rank0-decode/bridge.yaml",
                 "samples/rank0-decode/scontrol-667120.txt"}},
};

static cJSON *reports[SAMPLE_COUNT];

static inline cJSON *report_on(const struct sample *sample) {
  const char *args[MOST_FILES + 3] = {"--format", "json"};
  for (size_t i = 0; i < MOST_FILES && sample->files[i]; i++) args[i + 2] = sample->files[i];
  const struct wo_process_spec spec = {.args = args};
  struct wo_process_result result;
  if (!wo_process_run(&spec, &result)) return NULL;
  const bool is_fine = result.exit_code == 1 && result.err_len == 0;
  if (!is_fine) print_error("%s: exit %d: %s\n", sample->name, result.exit_code, result.err);
  cJSON *report = is_fine ? cJSON_Parse(result.out) : NULL;
  wo_process_done(&result);
  return report;
}

static inline int make_reports(void **state) {
  (void)state;
  for (size_t i = 0; i < SAMPLE_COUNT; i++) {
    reports[i] = report_on(&samples[i]);
    if (!reports[i]) return -1;
  }
  return 0;
}

static inline int drop_reports(void **state) {
  (void)state;
  for (size_t i = 0; i < SAMPLE_COUNT; i++) cJSON_Delete(reports[i]);
  return 0;
}

/* ---- Reading a report ---- */

static inline const cJSON *item(const cJSON *object, const char *name) {
  return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* The text of that name, or "". */
static inline const char *text(const cJSON *object, const char *name) {
  const char *value = cJSON_GetStringValue(item(object, name));
  return value ? value : "";
}

/* The number of that name, or NAN. */
static inline double number(const cJSON *object, const char *name) {
  return cJSON_GetNumberValue(item(object, name));
}

static inline bool is_null(const cJSON *object, const char *name) {
  const cJSON *value = item(object, name);
  return value == NULL || cJSON_IsNull(value);
}

/* The place of the object of that id in an array, or -1. */
static inline int place_of(const cJSON *array, const char *id) {
  for (int i = 0; i < cJSON_GetArraySize(array); i++)
    if (strcmp(text(cJSON_GetArrayItem(array, i), "id"), id) == 0) return i;
  return -1;
}

static inline const cJSON *by_id(const cJSON *array, const char *id) {
  const int place = place_of(array, id);
  return place < 0 ? NULL : cJSON_GetArrayItem(array, place);
}

static inline const cJSON *first_finding(int sample) {
  return cJSON_GetArrayItem(item(reports[sample], "findings"), 0);
}

static inline const cJSON *fix_of(const cJSON *finding, const char *id) {
  return by_id(item(finding, "fixes"), id);
}

static inline const cJSON *fact(int sample, const char *name) {
  return item(item(item(reports[sample], "facts"), name), "value");
}

/* Whether the words stand anywhere in this part of a report. */
static inline bool says(const cJSON *part, const char *words) {
  char *printed = part ? cJSON_PrintUnformatted(part) : NULL;
  const bool is_said = printed && strstr(printed, words) != NULL;
  cJSON_free(printed);
  return is_said;
}

static inline void expect_words(const cJSON *part, const char *words) {
  if (!says(part, words)) fail_msg("nowhere: \"%s\"", words);
}

static inline void expect_no_words(const cJSON *part, const char *words) {
  if (says(part, words)) fail_msg("should not be said: \"%s\"", words);
}

static inline void expect_near(double found, double expected, double slack, const char *what) {
  if (!(fabs(found - expected) <= slack)) fail_msg("%s: found %.3f, expected %.3f", what, found, expected);
}

#endif
