/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the JSON readers are, and how much memory they take.
 *
 *   bench_json [MB] [chrome|lines]     (1024, chrome)
 *
 * chrome: writes a profiler trace of that size into the folder of $TMPDIR, as PyTorch lays one out (one event in twenty is a
 * memory event), and reads it. lines: writes a recording with half a million entries for every 40 MB in the line form, and reads
 * that. Tells MB/s of processor time and the peak of resident memory; the file is removed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cuda_replay/recording/json/chrome_trace.h"
#include "cuda_replay/recording/json/trace_lines.h"
#include "cuda_replay/recording/open/trace_open.h"
#include "tests/support/recording/trace_lines_writer.h"
#include "tests/bench/timing.h"

static double peak_mb(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_maxrss / 1024;
}

static void tell(const char *what, double mb, double seconds) {
  printf("%-24s %8.0f MB %8.2f s %8.0f MB/s, peak of resident memory %.0f MB\n", what, mb, seconds, mb / seconds, peak_mb());
}

/* ---- A profiler trace ---- */

/* One step of a program: operators under Python functions, kernels, and an allocation or a free. */
static void write_step(FILE *file, uint64_t step) {
  const uint64_t ts = step * 200, slot = step / 2 * UINT64_C(2654435761) % 512;
  for (unsigned i = 0; i < 9; i++) {
    fprintf(file,
            "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op%u\", \"pid\": 31337, \"tid\": 31337,\n    \"ts\": "
            "%" PRIu64 ".%03u, \"dur\": 180.125,\n    \"args\": {\n      \"External id\": %" PRIu64
            ",\"Record function id\": 0, \"Input Dims\": [[8, 1024, 768], [768, 768], []], \"Ev Idx\": %" PRIu64
            "\n    }\n  },\n",
            i, ts, i, step, step);
    fprintf(file,
            "  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void at::native::vectorized_elementwise_kernel<4, ...>\", "
            "\"pid\": 0, \"tid\": 7,\n    \"ts\": %" PRIu64 ".250, \"dur\": 4.256,\n    \"args\": {\n      \"grid\": [96, 1, 1], "
            "\"block\": [128, 1, 1], \"stream\": 7\n    }\n  },\n",
            ts);
  }
  fprintf(file,
          "  {\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\",\n    \"pid\": 31337, "
          "\"tid\": "
          "31337,\n    \"ts\": %" PRIu64
          ".500,\n    \"args\": {\n      \"Total Reserved\": 2097152, \"Total Allocated\": %d, \"Bytes\": %d, \"Addr\": %" PRIu64
          ", \"Device Id\": 0, \"Device Type\": 1, \"Ev Idx\": %" PRIu64 "\n    }\n  },\n",
          ts, step % 2 == 0 ? 512 : 0, step % 2 == 0 ? 512 : -512, UINT64_C(139900000000000) + slot * 512, step);
}

static bool write_chrome(const char *path, double mb) {
  FILE *const file = fopen(path, "wb");
  if (file == NULL) return false;
  fprintf(file, "{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n");
  for (uint64_t step = 0; (double)ftell(file) < mb * 1e6; step++) write_step(file, step);
  fprintf(file, "  {}\n  ]\n}\n");
  return fclose(file) == 0;
}

/* ---- A recording ---- */

static struct wo_recording *make_recording(double mb) {
  const size_t count = (size_t)(mb * 12500);
  struct wo_recording *const recording = wo_recording_new();
  struct wo_trace *const trace = recording != NULL ? wo_recording_trace(recording, 0) : NULL;
  for (size_t i = 0; trace != NULL && i < count; i++) {
    const struct wo_trace_entry entry = {.address = UINT64_C(139900000000000) + i / 3 * UINT64_C(2654435761) % 65536 * 512,
                                         .size_bytes = 1048576 + i % 7,
                                         .time_us = INT64_C(1700000000000000) + (int64_t)i,
                                         .stack = WO_NO_STACK,
                                         .action = (uint32_t)(i % 3) & 31u};
    if (wo_trace_add(trace, entry) != WO_OK) return wo_recording_free(recording);
  }
  return recording;
}

static enum wo_status put(void *context, struct wo_view bytes, struct wo_err *err) {
  return fwrite(bytes.ptr, 1, bytes.len, context) == bytes.len ? WO_OK : wo_err_set(err, WO_E_IO, "cannot write");
}

static bool write_lines(const char *path, double mb) {
  FILE *const file = fopen(path, "wb");
  struct wo_recording *const recording = make_recording(mb);
  if (file == NULL || recording == NULL) return false;
  const double start_s = now_s();
  const enum wo_status status = wo_trace_lines_write(recording, &(struct wo_trace_sink){file, put}, NULL);
  const double bytes = (double)ftell(file);
  const bool is_closed = fclose(file) == 0;
  tell("trace lines, written", bytes / 1e6, now_s() - start_s);
  wo_recording_free(recording);
  return status == WO_OK && is_closed;
}

/* ---- Reading ---- */

static bool read_back(const char *path, const char *what, double mb) {
  struct wo_recording *recording = NULL;
  struct wo_err err;
  const double start_s = now_s();
  const enum wo_status status = wo_trace_open(path, &recording, &err);
  const double seconds = now_s() - start_s;
  if (status != WO_OK) return fprintf(stderr, "%s: %s\n", path, err.message), false;
  tell(what, mb, seconds);
  printf("%zu entries, %zu stacks\n", recording->traces.items[0].entries.count, recording->stacks.count);
  wo_recording_free(recording);
  return true;
}

static double size_mb(const char *path) {
  FILE *const file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) return 0;
  const double mb = (double)ftell(file) / 1e6;
  fclose(file);
  return mb;
}

/* A whole number of megabytes; the default for anything else. */
static double read_mb(const char *text) {
  double mb = 0;
  for (; *text >= '0' && *text <= '9' && mb < 1e6; text++) mb = mb * 10 + (*text - '0');
  return mb > 0 ? mb : 1024;
}

int main(int argc, char **argv) {
  const char *const folder = getenv("TMPDIR");
  const double mb = argc > 1 ? read_mb(argv[1]) : 1024;
  const bool is_lines = argc > 2 && strcmp(argv[2], "lines") == 0;
  char path[4096];
  snprintf(path, sizeof path, "%s/bench_json.%d", folder != NULL ? folder : "/tmp", (int)getpid());
  bool is_done = is_lines ? write_lines(path, mb) : write_chrome(path, mb);
  if (!is_done) fprintf(stderr, "%s: cannot be written\n", path);
  is_done = is_done && read_back(path, is_lines ? "trace lines, read" : "profiler trace, read", size_mb(path));
  remove(path);
  return is_done ? 0 : 1;
}
