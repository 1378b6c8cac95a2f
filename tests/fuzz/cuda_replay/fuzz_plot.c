/* SPDX-License-Identifier: Apache-2.0 */
/* Any program and any names through memory, attribution, pins and both plots: sums add up, the SVG is well-formed, the chart
 * keeps its size. Input: a byte of settings, then four bytes for each step; the bytes themselves are the names in stacks. */
#include <stdint.h>
#include <stdlib.h>

#include "cuda_replay/inspect/pins.h"
#include "cuda_replay/plot/plot.h"
#include "parsers/base/vec.h"

/* Fuzz programs are built without the test support. */
#include "tests/support/replay/memory_over_time_sample.c"
#include "tests/support/xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds) {
  if (!holds) abort();
}

/* A stack of two frames named by the bytes at `data`. */
static uint32_t add_stack(struct memory_sample *sample, const uint8_t *data, size_t size) {
  struct wo_recording *const recording = sample->recording;
  const struct wo_view all = {(const char *)data, size};
  const struct wo_stack stack = {(uint32_t)recording->stack_frames.count, 2};
  must(WO_VEC_RESERVE(&recording->stacks, 1, UINT32_MAX) && WO_VEC_RESERVE(&recording->frames, 2, UINT32_MAX) &&
       WO_VEC_RESERVE(&recording->stack_frames, 2, UINT32_MAX));
  for (uint32_t i = 0; i < 2; i++) {
    recording->stack_frames.items[recording->stack_frames.count++] = (uint32_t)recording->frames.count;
    recording->frames.items[recording->frames.count++] =
        (struct wo_frame){wo_view_sub(all, i * 4, 40), wo_view_sub(all, 2 + i * 3, 30), data[0]};
  }
  recording->stacks.items[recording->stacks.count] = stack;
  return (uint32_t)recording->stacks.count++;
}

static void make_program(struct memory_sample *sample, const uint8_t *data, size_t size) {
  enum { LIVE_MAX = 64 };
  uint32_t live[LIVE_MAX];
  size_t live_count = 0;
  for (size_t at = 0; at + 4 <= size; at += 4) {
    const uint8_t *const step = data + at;
    const uint64_t bytes = ((uint64_t)step[1] << 8 | step[2]) << (step[3] % 16);
    if ((step[0] < 150 || live_count == 0) && live_count < LIVE_MAX) {
      const uint32_t stack = step[0] % 8 == 0 ? add_stack(sample, step, size - at) : WO_NO_STACK;
      live[live_count++] = memory_sample_alloc(sample, bytes + 1, stack, (enum wo_alloc_class)(step[0] % 32));
    } else if (step[0] < 240) {
      const size_t k = step[1] % live_count;
      memory_sample_request(sample, step[2] % 8 == 0 ? WO_REQUEST_DEFER : WO_REQUEST_FREE, live[k]);
      live[k] = live[--live_count];
    } else {
      memory_sample_request(sample, WO_REQUEST_EMPTY_CACHE, 0);
    }
    struct wo_trace_entry *const entry = &sample->trace->entries.items[sample->trace->entries.count - 1];
    entry->time_us = step[3] > 250 ? WO_NO_TIME : step[3] * INT64_C(77777);
  }
}

static void check_plots(const struct wo_plot *plot, uint8_t choice) {
  struct wo_text svg = {0};
  struct wo_text chart = {0};
  size_t at = 0;
  size_t lines = 0;
  wo_plot_svg(plot, &svg);
  must(!svg.is_failed && wo_xml_is_well_formed((struct wo_view){svg.ptr, svg.len}, &at));
  wo_plot_term(plot, (struct wo_text_style){.width = choice, .use_utf8 = choice % 2, .use_color = choice % 3 == 0}, &chart);
  for (size_t i = 0; i < chart.len; i++) lines += chart.ptr[i] == '\n';
  must(!chart.is_failed && lines <= 16);
  wo_text_done(&svg);
  wo_text_done(&chart);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct memory_sample sample;
  struct wo_memory_over_time memory;
  struct wo_attribution attribution;
  struct wo_pins pins;
  if (size < 1 || size > 4096) return 0;
  memory_sample_init(&sample);
  sample.settings.expandable_segments = data[0] & 1;
  sample.stops_at_oom = data[0] & 2;
  if (data[0] & 4) sample.device.capacity_bytes = (uint64_t)(1 + (data[0] >> 3)) * 100 * SAMPLE_MIB;
  make_program(&sample, data + 1, size - 1);
  must(memory_sample_record(&sample, &memory) == WO_OK);
  must(wo_attribution_make(&sample.pattern, &memory.map, &attribution) == WO_OK);
  must(wo_pins_find(&sample.pattern, &memory.map, &pins) == WO_OK);
  const struct wo_segment_use *const use = &attribution.use;
  must(use->reserved_bytes == use->live_bytes + use->slack_bytes + use->pinned_free_bytes + use->releasable_bytes);
  must(attribution.total.block_bytes == use->live_bytes + use->slack_bytes);
  must(pins.free_bytes <= use->pinned_free_bytes);
  const struct wo_plot plot = {.pattern = &sample.pattern,
                               .memory = &memory,
                               .attribution = &attribution,
                               .capacity_bytes = sample.device.capacity_bytes,
                               .title = {(const char *)data, size},
                               .subtitle = {(const char *)data, size}};
  check_plots(&plot, data[0]);
  wo_pins_done(&pins);
  wo_attribution_done(&attribution);
  wo_memory_over_time_done(&memory);
  memory_sample_done(&sample);
  return 0;
}
