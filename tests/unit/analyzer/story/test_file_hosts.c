/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts in the names of files, told by what else calls a host so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/job_sample.h"

#define ENDED(host) "srun: error: " host ": task 1: Exited with exit code 1\n"
#define NODES(list) "JobId=4711 JobName=x\n   UserId=u(1) GroupId=g(1)\n   JobState=FAILED Reason=None\n   NodeList=" list "\n"

struct row {
  const char *name;
  struct sample_file files[2];
  const char *host; /* of the failure, which the first file holds */
};

static const struct row rows[] = {
    {"named by srun", {{"x.axl17.err", OOM_ON("0")}, {"job.out", ENDED("axl17")}}, "axl17"},
    {"named in its own file", {{"x.axl17.err", OOM_ON("0") ENDED("axl17")}}, "axl17"},
    {"of a list of hosts", {{"x_axl18_0.err", OOM_ON("0")}, {"job.out", ENDED("axl[17-19]")}}, "axl18"},
    {"of the job's nodes", {{"x.rack2-axl18.err", OOM_ON("0")}, {"scontrol.txt", NODES("rack2-axl[17-18]")}}, "rack2-axl18"},
    {"with a domain in the log", {{"x.axl17.err", OOM_ON("0")}, {"job.out", ENDED("axl17.example.org")}}, "axl17"},
    {"a longer name", {{"x.rack2-axl7.err", OOM_ON("0")}, {"job.out", ENDED("axl7") ENDED("rack2-axl7")}}, "rack2-axl7"},
    {"a part of another word", {{"x.maxl17.err", OOM_ON("0")}, {"job.out", ENDED("axl17")}}, ""},
    {"a word that is no node's", {{"x.train.err", OOM_ON("0")}, {"job.out", ENDED("train")}}, ""},
    {"nobody calls a host so", {{"x.axl17.err", OOM_ON("0")}, {"job.out", ENDED("axl18")}}, ""},
};

static void test_rows(void **state) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sample_job sample;
    sample_read(&sample, *state, rows[i].files, rows[i].files[1].path ? 2 : 1);
    const struct wo_event *failure = sample_failure(&sample);
    assert_non_null(failure);
    if (!wo_view_is(failure->host, rows[i].host)) fail_msg("%s: %.*s", rows[i].name, (int)failure->host.len, failure->host.ptr);
    sample_done(&sample);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
  return cmocka_run_group_tests_name("file_hosts", tests, sample_load_all, sample_unload);
}
