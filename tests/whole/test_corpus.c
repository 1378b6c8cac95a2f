/* SPDX-License-Identifier: Apache-2.0 */
/* Logs that people published, with labels made by hand, beside the source tree (../shared/corpus). Without them this test says so
 * and is skipped: some of the texts carry no licence, so they are no part of the source.
 *
 * Read in this process, not by running the program: some two hundred files take a second. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <cJSON.h>

#include "tests/support/files.h"
#include "tests/support/job/job_sample.h"

#define CORPUS WO_SOURCE_DIR "/../shared/corpus"

enum { PATH_BYTES = 1024 };

/* Called for one label and the closed job made of its file; returns how many fields were wrong, each of them told. */
typedef size_t check_fn(const cJSON *label, const struct wo_job *job);

struct tally {
  size_t files;
  size_t wrong;
};

/* ---- Labels ---- */

static const cJSON *item(const cJSON *object, const char *name) {
  return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* The text of that name, or "". */
static const char *text(const cJSON *object, const char *name) {
  const char *value = cJSON_GetStringValue(item(object, name));
  return value ? value : "";
}

/* A label that does not say is decidable. */
static bool is_decidable(const cJSON *label) {
  return !cJSON_IsFalse(item(label, "decidable"));
}

static size_t complain(const cJSON *label, const char *field, const char *found, const char *expected) {
  print_error("%s: %s: found %s, expected %s\n", text(label, "file"), field, found, expected);
  return 1;
}

static size_t complain_number(const cJSON *label, const char *field, double found, double expected) {
  char was[64], should[64];
  snprintf(was, sizeof was, "%.0f", found);
  snprintf(should, sizeof should, "%.0f", expected);
  return complain(label, field, was, should);
}

/* Reads the file of a label as a job and checks it. */
static void check_label(const char *folder, const cJSON *label, const struct wo_pack *pack, check_fn *check,
                        struct tally *tally) {
  char path[PATH_BYTES];
  struct wo_job *job = NULL;
  struct wo_input *input = NULL;
  struct wo_err err = {0};
  snprintf(path, sizeof path, CORPUS "/%s/%s", folder, text(label, "file"));
  assert_int_equal(wo_job_new(pack, &job), WO_OK);
  if (wo_input_open(path, &input, &err) != WO_OK) fail_msg("%s: %s", path, err.message);
  if (wo_job_read(job, input, path, &err) != WO_OK) fail_msg("%s: %s", path, err.message);
  wo_input_close(input);
  assert_int_equal(wo_job_close(job), WO_OK);
  tally->files++;
  tally->wrong += check(label, job);
  wo_job_free(job);
}

/* Checks all files of a folder, by the lines of its labels.jsonl. Skips when there is none. */
static void check_folder(const char *folder, const struct wo_pack *pack, check_fn *check) {
  char path[PATH_BYTES];
  size_t len = 0;
  struct tally tally = {0};
  snprintf(path, sizeof path, CORPUS "/%s/labels.jsonl", folder);
  char *labels = access(path, R_OK) == 0 ? wo_files_read(path, &len) : NULL;
  if (!labels) {
    print_message("skipped: no corpus beside the tree\n");
    skip();
  }
  struct wo_view rest = {labels, len};
  while (rest.len > 0) {
    const struct wo_view line = wo_view_trim(wo_view_cut(&rest, '\n'));
    if (line.len == 0) continue;
    cJSON *label = cJSON_ParseWithLength(line.ptr, line.len);
    if (!label) fail_msg("%s: not JSON: %.*s", path, (int)(line.len < 80 ? line.len : 80), line.ptr);
    check_label(folder, label, pack, check, &tally);
    cJSON_Delete(label);
  }
  free(labels);
  assert_true(tally.files > 0);
  if (tally.wrong > 0) fail_msg("%s: %zu wrong in %zu files", folder, tally.wrong, tally.files);
}

/* ---- Messages ---- */

/* A number of the label, and the field that must hold it. */
struct number_of {
  const char *label;
  enum wo_field_id field;
  const char *reserved_kind; /* only where the label's reserved_kind is this; NULL = always */
};

static const struct number_of numbers[] = {
    {"tried_bytes", WO_FIELD_TRIED_BYTES, NULL},
    {"total_bytes", WO_FIELD_CAPACITY_BYTES, NULL},
    {"free_bytes", WO_FIELD_FREE_BYTES, NULL},
    {"allocated_bytes", WO_FIELD_ALLOCATED_BYTES, NULL},
    {"process_bytes", WO_FIELD_PROCESS_BYTES, NULL},
    {"other_process_bytes", WO_FIELD_OTHER_PROCESS_BYTES, NULL},
    {"private_pool_bytes", WO_FIELD_PRIVATE_POOL_BYTES, NULL},
    {"allowed_bytes", WO_FIELD_ALLOWED_BYTES, NULL},
    {"active_bytes", WO_FIELD_ACTIVE_BYTES, NULL},
    {"mps_other_bytes", WO_FIELD_MPS_OTHER_BYTES, NULL},
    {"reserved_bytes", WO_FIELD_RESERVED_BYTES, "total"},
    {"reserved_bytes", WO_FIELD_RESERVED_UNALLOCATED_BYTES, "unallocated"},
    {"reserved_bytes", WO_FIELD_CACHED_BYTES, "cached"},
    {"gpu", WO_FIELD_GPU, NULL},
};

/* Kinds whose messages PyTorch's allocators print. */
static bool is_torch(enum wo_kind kind) {
  static const char *const names[] = {"cuda_oom", "hip_oom", "xpu_oom", "mps_oom", "npu_oom"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(wo_kind_name(kind), names[i]) == 0) return true;
  return false;
}

static bool is_memory(enum wo_kind kind) {
  const enum wo_class class = wo_kind_class(kind);
  return class == WO_CLASS_GPU_MEMORY || class == WO_CLASS_HOST_MEMORY;
}

/* How far a number may be off: the rounding of a size printed with two decimals, in its unit. A GPU's index is exact. */
static double slack_of(enum wo_field_id field, double expected) {
  const double mib = 1024.0 * 1024.0, gib = 1024.0 * mib;
  if (field == WO_FIELD_GPU) return 0;
  if (expected >= gib) return 0.006 * gib;
  return expected >= mib ? 0.006 * mib : 8;
}

/* Compares the numbers of the label with an event; counts those that are wrong, and tells them if asked. */
static size_t count_wrong(const cJSON *label, const struct wo_event *event, bool tell) {
  size_t wrong = 0;
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    const struct number_of *want = &numbers[i];
    const cJSON *value = item(label, want->label);
    if (!cJSON_IsNumber(value)) continue;
    if (want->reserved_kind && strcmp(text(label, "reserved_kind"), want->reserved_kind) != 0) continue;
    const double found = wo_event_number(event, want->field, (double)NAN);
    if (fabs(found - value->valuedouble) <= slack_of(want->field, value->valuedouble)) continue;
    wrong++;
    if (tell) complain_number(label, wo_field_name(want->field), found, value->valuedouble);
  }
  return wrong;
}

/* The event of that kind that agrees best with the label, or NULL when there is none of that kind. */
static const struct wo_event *best_event(const cJSON *label, const struct wo_job *job, enum wo_kind kind) {
  const struct wo_event *best = NULL;
  size_t fewest = SIZE_MAX;
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_event *event = &job->events.items[i];
    const size_t wrong = event->kind == kind ? count_wrong(label, event, false) : SIZE_MAX;
    if (wrong >= fewest) continue;
    fewest = wrong;
    best = event;
  }
  return best;
}

/* A message of PyTorch's: its kind is found, and one event holds every number right. */
static size_t check_message(const cJSON *label, const struct wo_job *job) {
  const enum wo_kind kind = wo_kind_find(wo_view_of(text(label, "kind")));
  if (!is_torch(kind)) return 0;
  const struct wo_event *event = best_event(label, job, kind);
  if (!event) return complain(label, "kind", "none", text(label, "kind"));
  return count_wrong(label, event, true);
}

/* A text that surely tells of no shortage: nothing is blamed on memory. */
static size_t check_no_alarm(const cJSON *label, const struct wo_job *job) {
  if (strcmp(text(label, "kind"), "not_oom") != 0 || !is_decidable(label)) return 0;
  const struct wo_event *failure = wo_event_get(&job->events, job->story.failure);
  const enum wo_outcome outcome = job->story.outcome;
  size_t wrong = 0;
  if (failure && is_memory(failure->kind)) wrong += complain(label, "failure.kind", wo_kind_name(failure->kind), "no shortage");
  if (outcome == WO_OUTCOME_GPU_OOM || outcome == WO_OUTCOME_HOST_OOM)
    wrong += complain(label, "job.outcome", wo_outcome_name(outcome), "no shortage");
  return wrong;
}

static void test_messages(void **state) {
  check_folder("oom", *state, check_message);
}

static void test_no_false_alarm(void **state) {
  check_folder("oom", *state, check_no_alarm);
}

/* ---- Job logs ---- */

/* The outcome that stands for a label's, or NULL where the text does not show it. */
static const char *outcome_of(const char *label) {
  static const char *const names[][2] = {
      {"host_oom_cgroup", "host_oom"},
      {"host_oom_kernel", "host_oom"},
      {"out_of_memory", "host_oom"},
      {"python_error", "program_error"},
      {"completed", "success"},
      {"timeout", "time_limit"},
      {"unclear", NULL},
      {"failed", NULL},
      {"rejected", NULL},
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(names[i][0], label) == 0) return names[i][1];
  return label;
}

static size_t check_outcome(const cJSON *label, const struct wo_job *job) {
  const char *expected = outcome_of(text(label, "outcome")), *found = wo_outcome_name(job->story.outcome);
  if (!expected || !is_decidable(label) || strcmp(found, expected) == 0) return 0;
  return complain(label, "job.outcome", found, expected);
}

static void test_outcomes(void **state) {
  check_folder("slurm", *state, check_outcome);
}

/* Labels name kinds that exist: a new name must not pass unseen. */
static size_t check_name(const cJSON *label, const struct wo_job *job) {
  const char *kind = text(label, "kind");
  (void)job;
  if (strcmp(kind, "not_oom") == 0 || wo_kind_find(wo_view_of(kind)) != WO_KIND_UNKNOWN) return 0;
  return complain(label, "kind", kind, "the name of a kind");
}

static void test_labels_name_kinds(void **state) {
  check_folder("oom", *state, check_name);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_messages),
      cmocka_unit_test(test_no_false_alarm),
      cmocka_unit_test(test_labels_name_kinds),
      cmocka_unit_test(test_outcomes),
  };
  return cmocka_run_group_tests_name("corpus", tests, sample_load_all, sample_unload);
}
