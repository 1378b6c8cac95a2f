/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs made of text, for the tests of analyzer/: read, told, turned into facts and into a report.
 *
 * A test program loads its rules once (the compiled-in ones, or a few of its own) and gets them as its state. */
#ifndef WO_TEST_JOB_SAMPLE_H
#define WO_TEST_JOB_SAMPLE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/diagnosis/diagnose.h"
#include "analyzer/report/report.h"
#include "analyzer/story/story.h"
#include "parsers/base/units.h"

/* PyTorch's message since 2.1, with the usual parts: tried, GPU, capacity, free, in use by this process, allocated, unallocated.
 */
#define OOM_SAYS(tried, gpu, capacity, free, process, allocated, unallocated)                                                    \
  "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate " tried ". GPU " gpu " has a total capacity of " capacity       \
  " of which " free " is free. Including non-PyTorch memory, this process has " process                                          \
  " memory in use. Of the allocated memory " allocated " is allocated by PyTorch, and " unallocated                              \
  " is reserved by PyTorch but unallocated.\n"

/* A full card. */
#define OOM_ON(gpu) OOM_SAYS("2.00 GiB", gpu, "39.38 GiB", "1.25 GiB", "38.12 GiB", "36.53 GiB", "1.09 GiB")

/* A Python exception with one frame of the user's. */
#define EXCEPTION(class_and_message)                                                                                             \
  "Traceback (most recent call last):\n"                                                                                         \
  "  File \"/home/user/train.py\", line 88, in main\n"                                                                           \
  "    state = step(batch)\n" class_and_message "\n"

/* A rule file's pattern that reads PyTorch's messages, for rules of a test's own. */
#define OOM_PATTERN                                                                                                              \
  "{\"pattern\": \"torch-oom\", \"kind\": \"cuda_oom\", \"literals\": [\"out of memory\"], \"reader\": \"torch_oom\",\n"         \
  " \"since\": \"PyTorch\", \"samples\": []}"

struct sample_file {
  const char *path;
  const char *text;
};

struct sample_job {
  struct wo_job *job;
  struct wo_arena arena;
  struct wo_facts facts;
  struct wo_diagnosis diagnosis;
  struct wo_report *report;
};

/* Group setup: the compiled-in rules / releases whatever rules were loaded. */
static inline int sample_load_all(void **state) {
  struct wo_pack *pack = NULL;
  struct wo_err err = {0};
  if (wo_pack_load_all(NULL, WO_LOAD_FOR_DIAGNOSIS, &pack, &err) != WO_OK) return -1;
  *state = pack;
  return 0;
}

static inline int sample_unload(void **state) {
  wo_pack_free(*state);
  return 0;
}

/* Group setup for rules of a test's own. */
static inline int sample_load(const char *rules, void **state) {
  const struct wo_rule_file file = {.name = "own.json", .data = rules, .size = strlen(rules)};
  struct wo_pack *pack = NULL;
  struct wo_err err = {0};
  if (wo_pack_load(&file, 1, WO_LOAD_ALL, &pack, &err) != WO_OK) {
    print_error("%s:%llu:%u: %s\n", err.file, (unsigned long long)err.line, err.column, err.message);
    return -1;
  }
  *state = pack;
  return 0;
}

/* Reads the files as one job and works everything out. */
static inline void sample_read(struct sample_job *sample, const struct wo_pack *pack, const struct sample_file *files,
                               size_t count) {
  *sample = (struct sample_job){.job = NULL};
  assert_int_equal(wo_job_new(pack, &sample->job), WO_OK);
  for (size_t i = 0; i < count; i++)
    assert_int_equal(wo_job_read_text(sample->job, wo_view_of(files[i].text), files[i].path), WO_OK);
  assert_int_equal(wo_job_close(sample->job), WO_OK);
  wo_arena_init(&sample->arena, WO_LIMIT_REPORT_BYTES);
  assert_int_equal(wo_facts_make(sample->job, pack, &sample->arena, &sample->facts), WO_OK);
  sample->diagnosis = (struct wo_diagnosis){
      .facts = &sample->facts, .pack = pack, .source = wo_facts_source(&sample->facts), .arena = &sample->arena};
  assert_int_equal(wo_report_make(sample->job, pack, &sample->report), WO_OK);
}

/* As sample_read for one log. */
static inline void sample_log(struct sample_job *sample, const struct wo_pack *pack, const char *text) {
  const struct sample_file file = {"job.err", text};
  sample_read(sample, pack, &file, 1);
}

static inline void sample_done(struct sample_job *sample) {
  wo_report_free(sample->report);
  wo_arena_done(&sample->arena);
  wo_job_free(sample->job);
}

/* ---- What came of it ---- */

/* The failure, or NULL. */
static inline const struct wo_event *sample_failure(const struct sample_job *sample) {
  return wo_event_get(&sample->job->events, sample->job->story.failure);
}

static inline enum wo_kind sample_failure_kind(const struct sample_job *sample) {
  const struct wo_event *failure = sample_failure(sample);
  return failure ? failure->kind : WO_KIND_UNKNOWN;
}

static inline const char *sample_outcome(const struct sample_job *sample) {
  return wo_outcome_name(sample->job->story.outcome);
}

/* Events of a kind that play a role. */
static inline size_t sample_count(const struct sample_job *sample, enum wo_kind kind, enum wo_role role) {
  size_t count = 0;
  for (size_t i = 0; i < sample->job->events.count; i++)
    count += sample->job->events.items[i].kind == kind && sample->job->story.roles[i] == role;
  return count;
}

static inline struct wo_value sample_fact(const struct sample_job *sample, const char *name) {
  return wo_facts_get(&sample->facts, wo_view_of(name));
}

/* The nominal number of a fact, or NAN when it is unknown. */
static inline double sample_number(const struct sample_job *sample, const char *name) {
  const struct wo_value value = sample_fact(sample, name);
  return value.is_known ? value.number.mid : (double)NAN;
}

/* Whether a text fact is known and just this. */
static inline bool sample_text_is(const struct sample_job *sample, const char *name, const char *text) {
  const struct wo_value value = sample_fact(sample, name);
  return value.is_known && wo_view_is(value.text, text);
}

/* Whether a setting is pasted just so. */
static inline bool sample_is_spelled(const struct wo_spelling *spelling, const char *expected) {
  struct wo_text text = {0};
  wo_spelling_add(&text, spelling);
  const bool is_same = wo_view_is((struct wo_view){text.ptr, text.len}, expected);
  if (!is_same) print_error("%.*s\n", (int)text.len, text.len > 0 ? text.ptr : "");
  wo_text_done(&text);
  return is_same;
}

static inline const struct wo_finding *sample_finding(const struct sample_job *sample, const char *id) {
  for (size_t i = 0; i < sample->report->finding_count; i++)
    if (wo_view_is(sample->report->findings[i].cause->id, id)) return &sample->report->findings[i];
  return NULL;
}

/* Asserts that a number is known and close to `expected`. */
static inline void sample_assert_near(double found, double expected, double slack, const char *what) {
  if (!(fabs(found - expected) <= slack)) fail_msg("%s: found %.3f, expected %.3f", what, found, expected);
}

/* What a log says: the job of this text is made, and one of its facts is looked at. A number within `slack`; NAN: it is unknown.
 */
static inline void sample_expect_number(const struct wo_pack *pack, const char *log, const char *fact, double number,
                                        double slack) {
  struct sample_job sample;
  sample_log(&sample, pack, log);
  const double found = sample_number(&sample, fact);
  if (isnan(number) ? !isnan(found) : !(fabs(found - number) <= slack)) fail_msg("%s%s is %f, not %f", log, fact, found, number);
  sample_done(&sample);
}

/* A text; NULL: it is unknown. */
static inline void sample_expect_text(const struct wo_pack *pack, const char *log, const char *fact, const char *text) {
  struct sample_job sample;
  sample_log(&sample, pack, log);
  const struct wo_value value = sample_fact(&sample, fact);
  if (text ? !sample_text_is(&sample, fact, text) : value.is_known)
    fail_msg("%s%s is \"%.*s\", not \"%s\"", log, fact, WO_SHOWN(value.text), text ? text : "(unknown)");
  sample_done(&sample);
}

/* A truth, which may be unknown. */
static inline void sample_expect_truth(const struct wo_pack *pack, const char *log, const char *fact, enum wo_truth truth) {
  struct sample_job sample;
  sample_log(&sample, pack, log);
  const struct wo_value value = sample_fact(&sample, fact);
  if (value.unit != WO_UNIT_BOOL || value.truth != truth) fail_msg("%s%s is %d, not %d", log, fact, (int)value.truth, (int)truth);
  sample_done(&sample);
}

#endif
