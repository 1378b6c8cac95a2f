/* SPDX-License-Identifier: Apache-2.0 */
/* How fast is a trace replayed? Reads a recording, makes its pattern many times over (each round frees what the one before it
 * left, so that the rounds are alike), and times wo_replay_run on the model of a device.
 *
 *   bench_replay FILE [MILLION_ENTRIES [ROUNDS]]
 *
 * Prints one line: entries, requests, best and median time, entries and requests a second in millions; then the same for the
 * making of the pattern, the rebuilding of the start and the check of the recording as it is. */
#include <stdbool.h>
#include <stdint.h>

#include "cuda_replay/replay/check.h"
#include "cuda_replay/device/device_model.h"
#include "cuda_replay/replay/replay.h"
#include "cuda_replay/recording/open/trace_open.h"
#include "parsers/base/number.h"
#include "parsers/base/vec.h"
#include "tests/bench/timing.h"

enum { ROUNDS_DEFAULT = 5, ROUNDS_MAX = 101, MILLIONS_DEFAULT = 4 };

#define REQUESTS_MAX ((size_t)1 << 31)

/* ---- The long pattern ---- */

static bool add(struct wo_alloc_pattern *pattern, struct wo_request request) {
  if (!WO_VEC_RESERVE(&pattern->requests, 1, REQUESTS_MAX)) return false;
  pattern->requests.items[pattern->requests.count++] = request;
  return true;
}

/* One round of the trace: its live set is allocated, its requests run, and what is left is freed. */
static bool add_round(struct wo_alloc_pattern *pattern, const struct wo_alloc_pattern *once) {
  const uint32_t first = (uint32_t)pattern->instances.count;
  if (!WO_VEC_RESERVE(&pattern->instances, once->instances.count, REQUESTS_MAX)) return false;
  for (size_t i = 0; i < once->instances.count; i++) {
    struct wo_instance instance = once->instances.items[i];
    instance.birth = instance.death = WO_NO_REQUEST;
    pattern->instances.items[pattern->instances.count++] = instance;
  }
  bool is_added = true;
  for (uint32_t i = 0; i < once->start_count; i++) {
    is_added &= add(pattern, (struct wo_request){.kind = WO_REQUEST_ALLOC, .subject = first + i, .entry = WO_NO_ENTRY});
  }
  for (size_t i = 0; i < once->requests.count; i++) {
    struct wo_request request = once->requests.items[i];
    const bool was_refused = request.kind == WO_REQUEST_ALLOC && once->instances.items[request.subject].death == (uint32_t)i;
    request.subject += first;
    if (was_refused) pattern->instances.items[request.subject].death = (uint32_t)pattern->requests.count;
    is_added &= add(pattern, request);
  }
  for (uint32_t i = 0; i < once->instances.count; i++) {
    if (once->instances.items[i].death != WO_NO_REQUEST) continue;
    is_added &= add(pattern, (struct wo_request){.kind = WO_REQUEST_FREE, .subject = first + i, .entry = WO_NO_ENTRY});
  }
  return is_added;
}

/* ---- Timing ---- */

static bool run(const struct wo_alloc_pattern *pattern, const struct wo_recording *recording, double *ret_took_s) {
  struct wo_device device;
  struct wo_err err;
  const struct wo_device_model_options model_options = {.capacity_bytes = UINT64_MAX};
  struct wo_device_model *const model = wo_device_model_new(&model_options, &device);
  if (!model) return false;
  const struct wo_replay_options options = {.settings = recording->settings, .torch = WO_TORCH_DEFAULT, .device = &device};
  struct wo_replay_outcome outcome;
  const double start_s = now_s();
  const bool is_done = wo_replay_run(pattern, &options, &outcome, &err) == WO_OK;
  *ret_took_s = now_s() - start_s;
  wo_device_model_free(model);
  return is_done;
}

static void time_replay(const struct wo_alloc_pattern *pattern, const struct wo_recording *recording, size_t entries,
                        size_t rounds) {
  double took_s[ROUNDS_MAX];
  for (size_t i = 0; i < rounds; i++) {
    if (!run(pattern, recording, &took_s[i])) return;
  }
  sort_times(took_s, rounds);
  const double best_s = took_s[0];
  printf("replay entries %zu requests %zu best_s %.3f median_s %.3f million_entries_per_s %.1f million_requests_per_s %.1f\n",
         entries, pattern->requests.count, best_s, took_s[rounds / 2], 1e-6 * (double)entries / best_s,
         1e-6 * (double)pattern->requests.count / best_s);
}

static void time_rest(const struct wo_recording *recording, const struct wo_trace *trace) {
  struct wo_start start;
  struct wo_alloc_pattern pattern;
  struct wo_replay_check check;
  struct wo_err err;
  const double entries = 1e-6 * (double)trace->entries.count;
  const double begin_s = now_s();
  wo_start_rebuild(recording, trace, &recording->settings, &start, &err);
  const double start_s = now_s();
  wo_alloc_pattern_make(recording, trace, &pattern, &err);
  const double pattern_s = now_s();
  wo_replay_check_run(recording, trace, &(struct wo_replay_check_options){0}, &check, &err);
  const double check_s = now_s();
  printf("million_entries_per_s start %.1f pattern %.1f check %.1f\n", entries / (start_s - begin_s),
         entries / (pattern_s - start_s), entries / (check_s - pattern_s));
  wo_start_done(&start);
  wo_alloc_pattern_done(&pattern);
}

/* The trace of a recording with the most entries, or NULL. */
static const struct wo_trace *largest(const struct wo_recording *recording) {
  const struct wo_trace *chosen = NULL;
  for (size_t i = 0; i < recording->traces.count; i++) {
    const struct wo_trace *const trace = &recording->traces.items[i];
    if (!chosen || trace->entries.count > chosen->entries.count) chosen = trace;
  }
  return chosen && chosen->entries.count > 0 ? chosen : NULL;
}

static void bench(const struct wo_recording *recording, const struct wo_trace *trace, size_t entries_wanted, size_t rounds) {
  struct wo_alloc_pattern once, many = {.recording = recording};
  struct wo_err err;
  if (wo_alloc_pattern_make(recording, trace, &once, &err) != WO_OK) {
    fprintf(stderr, "%s\n", err.message);
    return;
  }
  size_t entries = 0;
  bool is_made = true;
  for (; is_made && entries < entries_wanted; entries += trace->entries.count) is_made = add_round(&many, &once);
  if (is_made) time_replay(&many, recording, entries, rounds);
  time_rest(recording, trace);
  wo_alloc_pattern_done(&once);
  wo_alloc_pattern_done(&many);
}

static size_t read_count(const char *text, size_t most, size_t otherwise) {
  struct wo_view view = wo_view_of(text);
  uint64_t value = 0;
  return text && wo_number_u64(&view, most, &value) == WO_OK && view.len == 0 && value > 0 ? (size_t)value : otherwise;
}

int main(int argc, char **argv) {
  struct wo_recording *recording = NULL;
  struct wo_err err;
  if (argc < 2 || wo_trace_open(argv[1], &recording, &err) != WO_OK) {
    fprintf(stderr, "%s\n", argc < 2 ? "usage: bench_replay FILE [MILLION_ENTRIES [ROUNDS]]" : err.message);
    return 2;
  }
  const struct wo_trace *const trace = largest(recording);
  const size_t millions = read_count(argc > 2 ? argv[2] : NULL, 100, MILLIONS_DEFAULT);
  const size_t rounds = read_count(argc > 3 ? argv[3] : NULL, ROUNDS_MAX, ROUNDS_DEFAULT);
  if (trace) bench(recording, trace, millions * 1000000, rounds);
  wo_recording_free(recording);
  return 0;
}
