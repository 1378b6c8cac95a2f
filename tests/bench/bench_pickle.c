/* SPDX-License-Identifier: Apache-2.0 */
/* How fast are snapshots read, and how much memory does it take?
 *
 *   bench_pickle MEGABYTES [FOLDER]   writes a made-up snapshot of that size into FOLDER (/tmp), reads it, removes it
 *   bench_pickle FILE [ROUNDS]        reads a file
 *
 * The made-up one shares stacks and frames as real ones do: two entries of three bring a list of 46 frames of their own, of 500
 * distinct stacks and 600 distinct frames. Prints one line for each: name, bytes, entries, best and median speed on one core,
 * peak resident memory of the process, and what of it falls to an entry. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuda_replay/recording/open/trace_open.h"
#include "parsers/base/number.h"
#include "tests/bench/timing.h"
#include "tests/support/recording/snapshot_writer.h"

enum { ROUNDS_DEFAULT = 5, ROUNDS_MAX = 100, ENTRY_BYTES_ABOUT = 200 };

static size_t count_entries(const struct wo_recording *recording) {
  size_t count = 0;
  for (size_t i = 0; i < recording->traces.count; i++) count += recording->traces.items[i].entries.count;
  return count;
}

static bool bench_file(const char *path, size_t rounds) {
  double took_s[ROUNDS_MAX];
  struct stat info = {0};
  struct rusage usage = {0};
  size_t entries = 0;
  if (stat(path, &info) != 0) return false;
  for (size_t i = 0; i < rounds; i++) {
    struct wo_recording *recording = NULL;
    struct wo_err err = {0};
    const double start_s = now_s();
    if (wo_trace_open(path, &recording, &err) != WO_OK) {
      fprintf(stderr, "bench_pickle: %s: %s\n", err.file, err.message);
      return false;
    }
    took_s[i] = now_s() - start_s;
    entries = count_entries(recording);
    wo_recording_free(recording);
  }
  getrusage(RUSAGE_SELF, &usage);
  sort_times(took_s, rounds);
  const double megabytes = (double)info.st_size / 1e6;
  const double peak_bytes = 1024.0 * (double)usage.ru_maxrss;
  printf("pickle bytes=%lld entries=%zu rounds=%zu best_mbps=%.0f median_mbps=%.0f peak_rss_mib=%.0f rss_bytes_per_entry=%.0f\n",
         (long long)info.st_size, entries, rounds, megabytes / took_s[0], megabytes / took_s[rounds / 2],
         peak_bytes / (1024 * 1024), entries == 0 ? 0.0 : peak_bytes / (double)entries);
  return true;
}

/* Writes, reads and removes a snapshot of about that size. */
static bool bench_made_up(uint64_t megabytes, const char *folder) {
  static struct wo_pickle_writer writer;
  char path[4096];
  const struct wo_snapshot_sample sample = {.torch = 211,
                                            .entry_count = megabytes * 1000000 / ENTRY_BYTES_ABOUT + 1,
                                            .frame_count = 600,
                                            .stack_depth = 46,
                                            .stack_count = 500};
  snprintf(path, sizeof path, "%s/whyoom-bench-%ld.pickle", folder, (long)getpid());
  FILE *const file = fopen(path, "wb");
  if (file == NULL) return false;
  wo_pickle_write_begin(&writer, 4, false, file);
  wo_snapshot_write(&writer, &sample);
  wo_pickle_write_done(&writer);
  const bool is_good = fclose(file) == 0 && bench_file(path, megabytes > 200 ? 2 : ROUNDS_DEFAULT);
  unlink(path);
  return is_good;
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: bench_pickle MEGABYTES [FOLDER] | FILE [ROUNDS]\n");
    return 2;
  }
  uint64_t number = 0;
  struct wo_view text = wo_view_of(argv[1]);
  if (wo_number_u64(&text, 100000, &number) == WO_OK && text.len == 0)
    return bench_made_up(number, argc > 2 ? argv[2] : "/tmp") ? 0 : 1;
  number = ROUNDS_DEFAULT;
  if (argc > 2) text = wo_view_of(argv[2]);
  if (argc > 2 && (wo_number_u64(&text, ROUNDS_MAX, &number) != WO_OK || number == 0)) return 2;
  return bench_file(argv[1], (size_t)number) ? 0 : 1;
}
