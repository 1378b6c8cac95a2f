/* SPDX-License-Identifier: Apache-2.0 */
/* What does a job cost when many are read one after the other? Reads each FILE as a job of its own, ROUNDS times, in one
 * workspace, and diagnoses it.
 *
 *   bench_jobs ROUNDS [--events] FILE...
 *
 * Prints one line: jobs, bytes, seconds, microseconds for each. With --events the evidence of the last round instead, for
 * comparing it with that of single calls. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "analyzer/report/report.h"
#include "tests/bench/timing.h"

static bool print_events(const struct wo_job *job, const char *path) {
  static char line[8192];
  printf("== %s\n", path);
  for (size_t i = 0; i < job->events.count; i++) puts(wo_event_to_text(&job->events.items[i], line, sizeof line));
  return true;
}

static bool run_job(struct wo_job_workspace *workspace, const struct wo_pack *pack, const char *path, bool prints,
                    uint64_t *bytes) {
  struct wo_job *job = NULL;
  struct wo_input *input = NULL;
  struct wo_report *report = NULL;
  struct wo_err err = {0};
  if (wo_job_new_in(workspace, &job) != WO_OK) return false;
  if (wo_input_open(path, &input, &err) == WO_OK) (void)wo_job_read(job, input, path, &err);
  const bool is_good = wo_job_close(job) == WO_OK && wo_report_make_brief(job, pack, &report) == WO_OK;
  if (job->input_count > 0) *bytes += job->inputs[0].bytes;
  if (prints && is_good) print_events(job, path);
  wo_report_free(report);
  wo_input_close(input);
  wo_job_free(job);
  return is_good;
}

static long read_count(const char *text) {
  long count = 0;
  for (; *text >= '0' && *text <= '9' && count < 1000000; text++) count = count * 10 + (*text - '0');
  return count;
}

int main(int argc, char **argv) {
  const bool prints = argc > 2 && strcmp(argv[2], "--events") == 0;
  const int first = prints ? 3 : 2;
  const long rounds = argc > first ? read_count(argv[1]) : 0;
  struct wo_pack *pack = NULL;
  struct wo_job_workspace *workspace = NULL;
  struct wo_err err = {0};
  uint64_t bytes = 0;
  size_t jobs = 0;
  if (rounds < 1) {
    fprintf(stderr, "usage: bench_jobs ROUNDS [--events] FILE...\n");
    return 2;
  }
  if (wo_pack_load_all(NULL, WO_LOAD_FOR_DIAGNOSIS, &pack, &err) != WO_OK || wo_job_workspace_new(pack, &workspace) != WO_OK)
    return 1;
  const double start_s = now_s();
  for (long round = 0; round < rounds; round++) {
    for (int i = first; i < argc; i++, jobs++) {
      if (!run_job(workspace, pack, argv[i], prints && round + 1 == rounds, &bytes)) return 1;
    }
  }
  const double took_s = now_s() - start_s;
  if (!prints)
    printf("jobs=%zu bytes=%llu s=%.3f us_per_job=%.1f\n", jobs, (unsigned long long)bytes, took_s, 1e6 * took_s / (double)jobs);
  wo_job_workspace_free(workspace);
  wo_pack_free(pack);
  return 0;
}
