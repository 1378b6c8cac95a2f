/* SPDX-License-Identifier: Apache-2.0 */
/* A job that is packed and restored has the report of the job itself: on all logs of this tree, and of the corpus beside it. */
#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "analyzer/pack/job_pack.h"
#include "parsers/base/clean.h"
#include "parsers/base/input/input.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/job/job_sample.h"

enum { PATH_BYTES = 1024, FILES_MAX = 16 };

/* Figures over all jobs, for those who want to know (WHYOOM_PACK_FIGURES=1). */
struct totals {
  size_t jobs, events, logs_bytes, packed_bytes, most_bytes;
  double pack_s, unpack_s;
};

static struct totals totals;

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- One job ---- */

static struct wo_job *read_job(const struct wo_pack *pack, const char *const *paths, size_t count) {
  struct wo_job *job = NULL;
  assert_int_equal(wo_job_new(pack, &job), WO_OK);
  wo_job_expect(job, paths, count);
  for (size_t i = 0; i < count; i++) {
    struct wo_input *input = NULL;
    struct wo_err err = {0};
    if (wo_input_open(paths[i], &input, &err) != WO_OK) {
      wo_job_add_unreadable(job, paths[i], &err);
      continue;
    }
    wo_job_read(job, input, paths[i], &err);
    wo_input_close(input);
  }
  return job;
}

static struct wo_text packed_of(const struct wo_job *job) {
  struct wo_text packed = {0};
  assert_int_equal(wo_job_pack(job, &packed), WO_OK);
  return packed;
}

static struct wo_job *unpack(const struct wo_pack *pack, const struct wo_text *packed) {
  struct wo_job *job = NULL;
  struct wo_err err = {0};
  if (wo_job_unpack((struct wo_view){packed->ptr, packed->len}, pack, &job, &err) != WO_OK) fail_msg("%s", err.message);
  return job;
}

/* All reports on a job, one after the other. */
static char *reports_on(struct wo_job *job, const struct wo_pack *pack) {
  struct wo_report *report = NULL;
  struct wo_text text = {0};
  assert_int_equal(wo_job_close(job), WO_OK);
  assert_int_equal(wo_report_make(job, pack, &report), WO_OK);
  wo_report_json(report, &text);
  wo_report_text(report, (struct wo_text_style){.width = 80}, &text);
  wo_report_text(report, (struct wo_text_style){.width = 120, .use_utf8 = true, .is_verbose = true}, &text);
  wo_report_free(report);
  assert_false(text.is_failed);
  wo_text_add_view(&text, (struct wo_view){"", 1});
  return text.ptr;
}

/* Every member of every piece of evidence is as it was. */
static void check_events(const struct wo_event_store *a, const struct wo_event_store *b) {
  assert_int_equal(a->count, b->count);
  assert_true(a->dropped == b->dropped);
  assert_memory_equal(a->per_kind, b->per_kind, sizeof a->per_kind);
  for (size_t i = 0; i < a->count; i++) {
    const struct wo_event *const x = &a->items[i], *const y = &b->items[i];
    assert_true(x->id == y->id && x->kind == y->kind && x->mark == y->mark && x->rank == y->rank && x->time_ns == y->time_ns);
    assert_true(x->span.file == y->span.file && x->span.line == y->span.line && x->span.byte == y->span.byte);
    assert_int_equal(x->span.length, y->span.length);
    assert_true(x->is_local_rank == y->is_local_rank && x->severity == y->severity && x->of == y->of &&
                x->is_quoted == y->is_quoted);
    assert_true(x->stamp.clock == y->stamp.clock && x->stamp.is_inherited == y->stamp.is_inherited);
    assert_true(x->stamp.time_ns == y->stamp.time_ns);
    assert_true(wo_view_equal(x->host, y->host) && wo_view_equal(x->pattern_id, y->pattern_id));
    assert_true(wo_view_equal(x->text, y->text) && wo_view_equal(x->match, y->match));
    assert_true(x->match.len == 0 || x->match.ptr - x->text.ptr == y->match.ptr - y->text.ptr);
    assert_int_equal(x->field_count, y->field_count);
    for (uint32_t k = 0; k < x->field_count; k++) {
      assert_int_equal(x->fields[k].id, y->fields[k].id);
      assert_memory_equal(&x->fields[k].number, &y->fields[k].number, sizeof x->fields[k].number);
      assert_true(wo_view_equal(x->fields[k].text, y->fields[k].text));
    }
  }
}

static void check_job(const struct wo_pack *pack, const char *const *paths, size_t count) {
  struct wo_job *const job = read_job(pack, paths, count);
  const double start_s = seconds();
  struct wo_text packed = packed_of(job);
  const double packed_s = seconds();
  struct wo_job *const restored = unpack(pack, &packed);
  const double unpacked_s = seconds();
  check_events(&job->events, &restored->events);
  struct wo_text again = packed_of(restored);
  assert_int_equal(packed.len, again.len);
  assert_memory_equal(packed.ptr, again.ptr, packed.len);
  char *const expected = reports_on(job, pack), *const found = reports_on(restored, pack);
  if (strcmp(expected, found) != 0) fail_msg("the report on %s is another one", paths[0]);
  totals.jobs++;
  totals.events += job->events.count;
  for (size_t i = 0; i < job->input_count; i++) totals.logs_bytes += job->inputs[i].bytes;
  totals.packed_bytes += packed.len;
  if (packed.len > totals.most_bytes) totals.most_bytes = packed.len;
  totals.pack_s += packed_s - start_s;
  totals.unpack_s += unpacked_s - packed_s;
  free(expected);
  free(found);
  wo_text_done(&packed);
  wo_text_done(&again);
  wo_job_free(job);
  wo_job_free(restored);
}

/* ---- All logs ---- */

/* Takes each file below a folder as a job, and, where there are few, all of them as one. */
static void check_folder(const struct wo_pack *pack, const char *folder) {
  DIR *const dir = opendir(folder);
  assert_non_null(dir);
  static const char *const none[] = {".", ".."};
  char paths[FILES_MAX][PATH_BYTES];
  const char *list[FILES_MAX];
  size_t count = 0;
  for (struct dirent *entry; (entry = readdir(dir));) {
    char path[PATH_BYTES];
    struct stat found;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (strcmp(entry->d_name, none[0]) == 0 || strcmp(entry->d_name, none[1]) == 0 || stat(path, &found) != 0) continue;
    if (S_ISDIR(found.st_mode)) check_folder(pack, path);
    if (!S_ISREG(found.st_mode)) continue;
    const char *const one = path;
    check_job(pack, &one, 1);
    if (count < FILES_MAX) memcpy(paths[count], path, sizeof path);
    if (count < FILES_MAX) list[count] = paths[count];
    count++;
  }
  closedir(dir);
  if (count > 1 && count <= FILES_MAX) check_job(pack, list, count);
}

static void tell(const char *what) {
  if (getenv("WHYOOM_PACK_FIGURES"))
    print_message(
        "%s: %zu jobs, %.1f KB of logs and %.1f events each; packed %.0f bytes each, %zu at most, in %.1f us; restored in "
        "%.1f us\n",
        what, totals.jobs, (double)totals.logs_bytes / 1e3 / (double)totals.jobs, (double)totals.events / (double)totals.jobs,
        (double)totals.packed_bytes / (double)totals.jobs, totals.most_bytes, 1e6 * totals.pack_s / (double)totals.jobs,
        1e6 * totals.unpack_s / (double)totals.jobs);
  totals = (struct totals){0};
}

static void test_samples(void **state) {
  check_folder(*state, WO_SOURCE_DIR "/samples");
  assert_true(totals.jobs > 30);
  tell("samples");
}

static void test_tests(void **state) {
  static const char *const folders[] = {"judged", "table", "golden/diagnose", "fuzz/corpus/fuzz_report", "fuzz/corpus/fuzz_scan",
                                        "slurm"};
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/tests/%s", WO_SOURCE_DIR, folders[i]);
    check_folder(*state, path);
  }
  assert_true(totals.jobs > 100);
  tell("tests");
}

static void test_corpus(void **state) {
  const char *const corpus = WO_SOURCE_DIR "/../shared/corpus";
  struct stat found;
  if (stat(corpus, &found) != 0) skip();
  check_folder(*state, corpus);
  tell("corpus");
}

static void test_a_job_without_inputs(void **state) {
  check_job(*state, NULL, 0);
}

static void test_files_that_cannot_be_opened(void **state) {
  const char *const paths[] = {"/none/a.err", WO_SOURCE_DIR "/samples/lora-7b-24g/slurm-90817.err", "/none/\x80\n.out"};
  check_job(*state, paths, 3);
}

/* A host as only the name of a file can give it: kept clean, so that the job can be restored. */
static void test_texts_that_are_not_clean(void **state) {
  struct wo_job *job = NULL;
  assert_int_equal(wo_job_new(*state, &job), WO_OK);
  assert_int_equal(wo_job_read_text(job, WO_VIEW("Segmentation fault (core dumped)\n"), "a.err"), WO_OK);
  assert_true(job->events.count > 0);
  job->events.items[0].host = WO_VIEW("no\xff"
                                      "de\n\x1b[1m");
  struct wo_text packed = packed_of(job);
  struct wo_job *const restored = unpack(*state, &packed);
  assert_true(wo_view_is(restored->events.items[0].host, "no" WO_REPLACEMENT "de  [1m"));
  wo_job_free(restored);
  wo_job_free(job);
  wo_text_done(&packed);
}

/* ---- Damage, versions and memory ---- */

static struct wo_text pack_sample(const struct wo_pack *pack) {
  const char *const path = WO_SOURCE_DIR "/samples/lora-7b-24g/slurm-90817.err";
  struct wo_job *const job = read_job(pack, &path, 1);
  struct wo_text packed = packed_of(job);
  wo_job_free(job);
  return packed;
}

/* Whether bytes of which one bit was changed are refused, or make the same job: a stream of zlib has a few bits of padding. */
static void expect_damage(const struct wo_pack *pack, const struct wo_text *packed, struct wo_view whole) {
  struct wo_job *job = NULL;
  struct wo_err err = {0};
  if (wo_job_unpack((struct wo_view){packed->ptr, packed->len}, pack, &job, &err) != WO_OK) return;
  struct wo_text again = packed_of(job);
  assert_true(wo_view_equal((struct wo_view){again.ptr, again.len}, whole));
  wo_text_done(&again);
  wo_job_free(job);
}

static void test_any_damage_is_found(void **state) {
  struct wo_text packed = pack_sample(*state), copy = {0};
  wo_text_add_view(&copy, (struct wo_view){packed.ptr, packed.len});
  for (size_t i = 0; i < packed.len; i++) {
    struct wo_job *job = NULL;
    struct wo_err err = {0};
    const char whole = packed.ptr[i];
    packed.ptr[i] = (char)(whole ^ (1 << i % 8));
    expect_damage(*state, &packed, (struct wo_view){copy.ptr, copy.len});
    packed.ptr[i] = whole;
    assert_int_equal(wo_job_unpack((struct wo_view){packed.ptr, i}, *state, &job, &err), WO_E_SYNTAX);
    assert_string_equal(err.message, "the kept evidence is damaged");
    assert_null(job);
  }
  wo_text_done(&packed);
  wo_text_done(&copy);
}

static void test_a_newer_form(void **state) {
  struct wo_text packed = pack_sample(*state);
  struct wo_job *job = NULL;
  struct wo_err err = {0};
  packed.ptr[3]++;
  assert_int_equal(wo_job_unpack((struct wo_view){packed.ptr, packed.len}, *state, &job, &err), WO_E_KIND);
  assert_string_equal(err.message, "the kept evidence is of a newer version of whyoom");
  wo_text_done(&packed);
}

static void test_memory_that_is_out(void **state) {
  const char *const path = WO_SOURCE_DIR "/samples/lora-7b-24g/slurm-90817.err";
  struct wo_job *const job = read_job(*state, &path, 1);
  struct wo_text whole = packed_of(job);
  bool is_hit = true;
  for (long n = 1; is_hit; n++) {
    struct wo_text packed = {0};
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_job_pack(job, &packed);
    wo_fail_alloc_off();
    is_hit = wo_fail_alloc_hit();
    assert_int_equal(status, is_hit ? WO_E_NOMEM : WO_OK);
    wo_text_done(&packed);
  }
  is_hit = true;
  for (long n = 1; is_hit; n++) {
    struct wo_job *restored = NULL;
    struct wo_err err = {0};
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_job_unpack((struct wo_view){whole.ptr, whole.len}, *state, &restored, &err);
    wo_fail_alloc_off();
    is_hit = wo_fail_alloc_hit();
    assert_int_equal(status, is_hit ? WO_E_NOMEM : WO_OK);
    wo_job_free(restored);
  }
  wo_text_done(&whole);
  wo_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_samples),
      cmocka_unit_test(test_tests),
      cmocka_unit_test(test_corpus),
      cmocka_unit_test(test_a_job_without_inputs),
      cmocka_unit_test(test_files_that_cannot_be_opened),
      cmocka_unit_test(test_texts_that_are_not_clean),
      cmocka_unit_test(test_any_damage_is_found),
      cmocka_unit_test(test_a_newer_form),
      cmocka_unit_test(test_memory_that_is_out),
  };
  return cmocka_run_group_tests(tests, sample_load_all, sample_unload);
}
