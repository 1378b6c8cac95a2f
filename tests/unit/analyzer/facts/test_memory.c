/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a memory failure: what each generation of the message gives, what follows from it, and what cannot be true. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/job_sample.h"

#define SAYS_OLD(parts) "RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; " parts ")\n"

static int load(void **state) {
  return sample_load("[" OOM_PATTERN "]", state);
}

/* A figure in GiB with half the width of its interval, in hundredths of GiB printed; NAN = must be unknown. */
struct figure {
  const char *fact;
  double gib;
  double slack;
};

struct row {
  const char *name;
  const char *log;
  struct figure figures[10];
};

/* Half a unit of the last of two decimals. */
#define HALF 0.005
#define HALF_MIB (HALF / 1024)
#define MIB(x) ((x) / 1024.0)

static const struct row rows[] = {
    {"1.0 to 1.3: cached is the idle part",
     SAYS_OLD("10.00 GiB total capacity; 6.00 GiB already allocated; 512.00 MiB free; 256.00 MiB cached"),
     {{"oom.tried", 1, HALF},
      {"oom.capacity", 10, HALF},
      {"gpu.capacity", 10, HALF},
      {"oom.allocated", 6, HALF},
      {"oom.reserved_unallocated", 0.25, HALF_MIB},
      {"oom.reserved", 6.25, HALF + HALF_MIB},
      {"oom.unaccounted", 3.25, 2 * HALF + 2 * HALF_MIB},
      {"oom.process", (double)NAN, 0},
      {"oom.non_pytorch", (double)NAN, 0}}},
    {"1.4 to 2.0: reserved in total",
     SAYS_OLD("10.00 GiB total capacity; 6.00 GiB already allocated; 1.00 GiB free; 8.50 GiB reserved in total by PyTorch"),
     {{"oom.allocated", 6, HALF},
      {"oom.reserved", 8.5, HALF},
      {"oom.reserved_unallocated", 2.5, 2 * HALF},
      {"oom.unaccounted", 0.5, 3 * HALF},
      {"oom.free", 1, HALF}}},
    {"2.1 on: this process is counted",
     OOM_SAYS("1.00 GiB", "0", "40.00 GiB", "1.00 GiB", "38.50 GiB", "30.00 GiB", "7.50 GiB"),
     {{"oom.process", 38.5, HALF},
      {"oom.reserved", 37.5, 2 * HALF},
      {"oom.reserved_unallocated", 7.5, HALF},
      {"oom.non_pytorch", 1, 3 * HALF},
      {"oom.unaccounted", 0.5, 3 * HALF},
      {"oom.other_processes_listed", 0, 0},
      {"oom.other_processes", 0.5, 3 * HALF},
      {"oom.contradiction", (double)NAN, 0}}},
    {"2.1 on: another process is listed",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 40.00 GiB of which "
     "1.00 GiB is "
     "free. Process 4711 has 20.00 GiB memory in use. Including non-PyTorch memory, this process has 18.00 GiB memory in use. Of "
     "the "
     "allocated memory 17.00 GiB is allocated by PyTorch, and 0.50 GiB is reserved by PyTorch but unallocated.\n",
     {{"oom.process", 18, HALF},
      {"oom.other_processes_listed", 20, HALF},
      {"oom.unaccounted", 1, 4 * HALF},
      {"oom.other_processes", 21, 5 * HALF},
      {"oom.non_pytorch", 0.5, 3 * HALF}}},
    {"several others",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 40.00 GiB of which "
     "1.00 GiB is "
     "free. Process 4711 has 10.00 GiB memory in use. Process 4712 has 9.00 GiB memory in use. Including non-PyTorch memory, "
     "this process "
     "has 19.00 GiB memory in use. Of the allocated memory 18.00 GiB is allocated by PyTorch, and 0.50 GiB is reserved by "
     "PyTorch but "
     "unallocated.\n",
     {{"oom.other_processes_listed", 19, 2 * HALF}, {"oom.other_processes", 20, 7 * HALF}, {"oom.unaccounted", 1, 5 * HALF}}},
    {"in a container the process lists itself",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 40.00 GiB of which "
     "1.00 GiB is "
     "free. Process 4711 has 39.00 GiB memory in use. Of the allocated memory 37.50 GiB is allocated by PyTorch, and 0.50 GiB is "
     "reserved by PyTorch but unallocated.\n",
     {{"oom.process", 39, HALF},
      {"oom.non_pytorch", 1, 3 * HALF},
      {"oom.other_processes_listed", 0, 0},
      {"oom.other_processes", 0, 0}}},
    {"a process that the card cannot hold beside the pool is the own one",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 40.00 GiB of which "
     "0.50 GiB is "
     "free. Process 4711 has 39.50 GiB memory in use. Of the allocated memory 33.00 GiB is allocated by PyTorch, and 0.50 GiB is "
     "reserved by PyTorch but unallocated.\n",
     {{"oom.process", 39.5, HALF},
      {"oom.non_pytorch", 6, 3 * HALF},
      {"oom.other_processes_listed", 0, 0},
      {"oom.other_processes", 0, 0}}},
    {"in a container the process is among several listed ones",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 40.00 GiB of which "
     "0.50 GiB is free. Process 4711 has 33.00 GiB memory in use. Process 4712 has 6.50 GiB memory in use. Of the allocated "
     "memory 31.00 GiB is allocated by PyTorch, and 0.50 GiB is reserved by PyTorch but unallocated.\n",
     {{"oom.process", (double)NAN, 0}, {"oom.other_processes_listed", (double)NAN, 0}, {"oom.unaccounted", 8, 4 * HALF}}},
    {"a driver that does not count by process",
     OOM_SAYS("1.00 GiB", "0", "40.00 GiB", "1.00 GiB", "0 bytes", "37.00 GiB", "0.50 GiB"),
     {{"oom.process", (double)NAN, 0}, {"oom.reserved", 37.5, 2 * HALF}, {"oom.unaccounted", 1.5, 4 * HALF}}},
    {"so it is without a figure for the idle part",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 40.00 GiB of which "
     "50.00 MiB is free. Process 4711 has 39.80 GiB memory in use. Of the allocated memory 33.00 GiB is allocated by PyTorch.\n",
     {{"oom.process", 39.8, HALF}, {"oom.other_processes_listed", 0, 0}}},
    {"a listed process of quite another size is another",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 40.00 GiB of which "
     "1.00 GiB is "
     "free. Process 4711 has 28.00 GiB memory in use. Of the allocated memory 9.50 GiB is allocated by PyTorch, and 0.50 GiB is "
     "reserved by PyTorch but unallocated.\n",
     {{"oom.process", (double)NAN, 0}, {"oom.other_processes_listed", 28, HALF}, {"oom.other_processes", 28, HALF}}},
    {"two listed processes beside a pool that is not theirs",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 40.00 GiB of which "
     "1.00 GiB is "
     "free. Process 4711 has 20.00 GiB memory in use. Process 4712 has 16.00 GiB memory in use. Of the allocated memory 1.50 "
     "GiB is "
     "allocated by PyTorch, and 0.50 GiB is reserved by PyTorch but unallocated.\n",
     {{"oom.process", (double)NAN, 0}, {"oom.other_processes", 36, 2 * HALF}}},
    {"figures in MiB keep their finer rounding",
     OOM_SAYS("256.00 MiB", "3", "47.50 GiB", "192.00 MiB", "47.00 GiB", "46.50 GiB", "64.00 MiB"),
     {{"oom.tried", MIB(256), HALF_MIB}, {"oom.free", MIB(192), HALF_MIB}, {"oom.reserved_unallocated", MIB(64), HALF_MIB}}},
    {"the driver cannot tell",
     "RuntimeError: CUDA error: out of memory. Tried to allocate 1.00 GiB.\nRuntimeError: CUDA out of memory. Tried to allocate "
     "1.00 GiB.\n",
     {{"oom.tried", 1, HALF},
      {"oom.capacity", (double)NAN, 0},
      {"oom.other_processes", (double)NAN, 0},
      {"oom.reserved", (double)NAN, 0}}},
    {"a cap is set",
     SAYS_OLD("32.00 GiB total capacity; 14.00 GiB already allocated; 16.00 GiB free; 15.50 GiB allowed; 15.00 GiB reserved in "
              "total by "
              "PyTorch"),
     {{"oom.allowed", 15.5, HALF}, {"oom.reserved_unallocated", 1, 2 * HALF}}},
};

static void check_figure(const struct sample_job *sample, const char *name, const struct figure *figure) {
  const struct wo_value value = sample_fact(sample, figure->fact);
  char what[200];
  snprintf(what, sizeof what, "%s: %s", name, figure->fact);
  if (isnan(figure->gib)) {
    if (value.is_known) fail_msg("%s must be unknown, is %g GiB", what, value.number.mid / WO_GIB);
    return;
  }
  if (!value.is_known) fail_msg("%s is unknown", what);
  const double lo = figure->gib - figure->slack < 0 ? 0 : figure->gib - figure->slack;
  /* The middle of a printed size is a whole byte; a few of them may add up. */
  sample_assert_near(value.number.mid, figure->gib * WO_GIB, 4, what);
  sample_assert_near(value.number.lo, lo * WO_GIB, 8, what);
  sample_assert_near(value.number.hi, (figure->gib + figure->slack) * WO_GIB, 8, what);
  assert_int_equal(value.evidence, sample->job->story.failure);
}

static void test_generations(void **state) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sample_job sample;
    sample_log(&sample, *state, rows[i].log);
    for (const struct figure *figure = rows[i].figures; figure->fact; figure++) check_figure(&sample, rows[i].name, figure);
    sample_done(&sample);
  }
}

/* Without a list of processes, the process's own context has to be taken off what nobody claims: a wide interval. */
static void test_others_without_a_list(void **state) {
  struct sample_job sample;
  sample_log(
      &sample, *state,
      SAYS_OLD("10.00 GiB total capacity; 2.00 GiB already allocated; 1.00 GiB free; 3.00 GiB reserved in total by PyTorch"));
  const struct wo_value others = sample_fact(&sample, "oom.other_processes");
  assert_true(others.is_known);
  assert_true(others.number.lo >= 3.9 * WO_GIB && others.number.lo < others.number.mid);
  assert_true(others.number.hi <= 6 * WO_GIB && others.number.hi > others.number.mid);
  sample_done(&sample);
}

/* ---- Contradictions ---- */

static void test_contradictions(void **state) {
  static const struct {
    const char *name;
    const char *log;
    const char *size; /* stands in the text; NULL = no contradiction */
  } cases[] = {
      {"the pool is larger than the card",
       SAYS_OLD("10.00 GiB total capacity; 11.00 GiB already allocated; 1.00 GiB free; 11.50 GiB reserved in "
                "total by PyTorch"),
       "11.00 GiB"},
      {"reserved is",
       SAYS_OLD("10.00 GiB total capacity; 6.00 GiB already allocated; 1.00 GiB free; 12.00 GiB reserved in total by PyTorch"),
       "12.00 GiB"},
      {"the process is", OOM_SAYS("1.00 GiB", "0", "40.00 GiB", "1.00 GiB", "41.00 GiB", "30.00 GiB", "1.00 GiB"), "41.00 GiB"},
      {"free is",
       SAYS_OLD("10.00 GiB total capacity; 6.00 GiB already allocated; 17.00 GiB free; 7.00 GiB reserved in total by PyTorch"),
       "17.00 GiB"},
      {"allocated and free together are",
       SAYS_OLD("10.00 GiB total capacity; 7.00 GiB already allocated; 4.00 GiB free; 7.50 GiB reserved in total by PyTorch"),
       "11.00 GiB"},
      {"the processes and free together are",
       "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 40.00 GiB of which "
       "1.00 GiB is "
       "free. Process 4711 has 30.00 GiB memory in use. Including non-PyTorch memory, this process has 19.00 GiB memory in use. "
       "Of the "
       "allocated memory 18.00 GiB is allocated by PyTorch, and 0.50 GiB is reserved by PyTorch but unallocated.\n",
       "50.00 GiB"},
      {"rounding alone is none", OOM_SAYS("1.00 GiB", "0", "40.00 GiB", "0.00 GiB", "40.01 GiB", "30.00 GiB", "1.00 GiB"), NULL},
      {"a driver's reserve is none", OOM_SAYS("1.00 GiB", "0", "40.00 GiB", "0.25 GiB", "40.10 GiB", "30.00 GiB", "1.00 GiB"),
       NULL},
      {"without a capacity there is none", "RuntimeError: CUDA out of memory. Tried to allocate 90.00 GiB.\n", NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct sample_job sample;
    sample_log(&sample, *state, cases[i].log);
    const struct wo_value value = sample_fact(&sample, "oom.contradiction");
    if (value.is_known != (cases[i].size != NULL)) fail_msg("%s: %.*s", cases[i].name, (int)value.text.len, value.text.ptr);
    if (cases[i].size && !wo_view_has(value.text, cases[i].size))
      fail_msg("%s: %.*s", cases[i].name, (int)value.text.len, value.text.ptr);
    /* Sums that cannot be trusted are withheld; what was printed stays. */
    if (cases[i].size)
      assert_false(sample_fact(&sample, "oom.other_processes").is_known || sample_fact(&sample, "oom.unaccounted").is_known);
    assert_true(sample_fact(&sample, "oom.tried").is_known);
    sample_done(&sample);
  }
}

/* ---- Growth ---- */

static void test_growth(void **state) {
  struct sample_job sample;
  sample_log(
      &sample, *state,
      "[rank1]: " OOM_SAYS("1.00 GiB", "1", "40.00 GiB", "1.00 GiB", "38.00 GiB", "30.00 GiB", "1.00 GiB") "[rank0]: " OOM_SAYS(
          "1.00 GiB", "0", "40.00 GiB", "1.00 GiB", "38.00 GiB", "12.00 GiB",
          "9.00 GiB") "[rank1]: " OOM_SAYS("1.00 GiB", "1", "40.00 GiB", "1.00 GiB", "38.00 GiB", "31.00 GiB",
                                           "2.50 GiB") "[rank1]: " OOM_SAYS("1.00 GiB", "1", "40.00 GiB", "1.00 GiB", "38.00 GiB",
                                                                            "32.00 GiB", "4.00 GiB"));
  sample_assert_near(sample_number(&sample, "oom.reserved_unallocated_growth"), 3 * WO_GIB, 8, "unallocated");
  sample_assert_near(sample_number(&sample, "oom.allocated_growth"), 2 * WO_GIB, 8, "allocated");
  sample_done(&sample);
}

static void test_no_growth(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, OOM_ON("0"));
  assert_false(sample_fact(&sample, "oom.allocated_growth").is_known);
  sample_done(&sample);
  sample_log(&sample, *state,
             OOM_SAYS("1.00 GiB", "1", "40.00 GiB", "1.00 GiB", "38.00 GiB", "30.00 GiB", "1.00 GiB")
                 OOM_SAYS("1.00 GiB", "1", "40.00 GiB", "1.00 GiB", "38.00 GiB", "28.00 GiB", "1.00 GiB"));
  assert_false(sample_fact(&sample, "oom.allocated_growth").is_known);
  assert_false(sample_fact(&sample, "oom.reserved_unallocated_growth").is_known);
  sample_done(&sample);
}

/* Whatever the figures: intervals stay ordered, and none is negative. */
static void test_intervals_stay_ordered(void **state) {
  static const char *const sizes[] = {"0.00 GiB", "3.00 GiB", "39.99 GiB", "20.00 MiB"};
  enum { COUNT = sizeof sizes / sizeof sizes[0] };
  for (size_t i = 0; i < COUNT * COUNT * COUNT; i++) {
    char log[1024];
    struct sample_job sample;
    snprintf(log, sizeof log, OOM_SAYS("1.00 GiB", "0", "40.00 GiB", "%s", "%s", "%s", "1.00 GiB"), sizes[i % COUNT],
             sizes[i / COUNT % COUNT], sizes[i / COUNT / COUNT]);
    sample_log(&sample, *state, log);
    for (size_t k = 0; k < sample.facts.row_count; k++) {
      const struct wo_value value = sample.facts.rows[k].value;
      if (value.unit != WO_UNIT_BYTES || !value.is_known) continue;
      if (!(value.number.lo >= 0 && value.number.lo <= value.number.mid && value.number.mid <= value.number.hi))
        fail_msg("%.*s of %s", (int)sample.facts.rows[k].name.len, sample.facts.rows[k].name.ptr, log);
    }
    sample_done(&sample);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_generations),    cmocka_unit_test(test_others_without_a_list),
      cmocka_unit_test(test_contradictions), cmocka_unit_test(test_growth),
      cmocka_unit_test(test_no_growth),      cmocka_unit_test(test_intervals_stay_ordered),
  };
  return cmocka_run_group_tests_name("memory", tests, load, sample_unload);
}
