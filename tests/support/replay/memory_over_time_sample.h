/* SPDX-License-Identifier: Apache-2.0 */
/* Small programs for the tests of memory over time, attribution, pins and plots: made request by request, run over the model. */
#ifndef WO_TEST_MEMORY_OVER_TIME_SAMPLE_H
#define WO_TEST_MEMORY_OVER_TIME_SAMPLE_H

#include "cuda_replay/inspect/memory_over_time.h"
#include "cuda_replay/device/device_model.h"

#define SAMPLE_KIB UINT64_C(1024)
#define SAMPLE_MIB (UINT64_C(1024) * 1024)
#define SAMPLE_GIB (UINT64_C(1024) * 1024 * 1024)

struct memory_sample {
  struct wo_recording *recording;
  struct wo_trace *trace; /* an entry for each request, 1 ms apart */
  struct wo_alloc_pattern pattern;
  struct wo_alloc_settings settings;
  struct wo_device_model_options device; /* capacity: no limit */
  bool stops_at_oom;
  const struct wo_start *start; /* NULL by default */
  struct wo_device_model *model;
  struct wo_device current;
};

/* An empty program. Fails the test when memory is out, as all functions below. */
void memory_sample_init(struct memory_sample *sample);
void memory_sample_done(struct memory_sample *sample);

/* A stack of `count` frames, innermost first. Texts live as long as the test. */
struct sample_frame {
  const char *function;
  const char *file;
  uint32_t line;
};
uint32_t memory_sample_stack(struct memory_sample *sample, const struct sample_frame *frames, size_t count);

/* Something that was alive before the first request (all of them before any request), of `bytes`. */
uint32_t memory_sample_alive(struct memory_sample *sample, uint64_t bytes, uint32_t stack, enum wo_alloc_class class_);

/* Requests. */
uint32_t memory_sample_alloc(struct memory_sample *sample, uint64_t bytes, uint32_t stack, enum wo_alloc_class class_);
void memory_sample_free(struct memory_sample *sample, uint32_t instance);
void memory_sample_request(struct memory_sample *sample, enum wo_request_kind kind, uint32_t instance);

/* `count` random requests of all kinds that concern memory, with random classes, some of them pending for a while. */
void memory_sample_random(struct memory_sample *sample, uint64_t seed, size_t count);

/* Devices for wo_memory_over_time_record, and the options of the sample. */
struct wo_memory_devices memory_sample_devices(struct memory_sample *sample);
struct wo_replay_options memory_sample_options(const struct memory_sample *sample);

/* Runs it. */
enum wo_status memory_sample_record(struct memory_sample *sample, struct wo_memory_over_time *ret_memory);

#endif
