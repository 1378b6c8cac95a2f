/* SPDX-License-Identifier: Apache-2.0 */
/* Course, attribution, pins and plots of recordings of real programs, where they lie beside the tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cuda_replay/inspect/pins.h"
#include "cuda_replay/plot/plot.h"
#include "cuda_replay/recording/open/trace_open.h"
#include "tests/support/replay/memory_over_time_sample.h"
#include "tests/support/files.h"
#include "tests/support/xml.h"

#define CORPUS WO_SOURCE_DIR "/../shared/corpus/snapshots"

/* A model device that knows the start's segments. */
struct fresh {
  struct wo_device_model *model;
  struct wo_device device;
  const struct wo_start *start;
};

static const struct wo_device *fresh_device(void *state) {
  struct fresh *const fresh = state;
  const struct wo_device_model_options options = {.capacity_bytes = UINT64_MAX};
  wo_device_model_free(fresh->model);
  fresh->model = wo_device_model_new(&options, &fresh->device);
  for (size_t i = 0; fresh->model && i < fresh->start->segments.count; i++) {
    const struct wo_allocator_segment *const segment = &fresh->start->segments.items[i];
    assert_int_equal(wo_device_model_take(fresh->model, segment->address, segment->size_bytes), WO_OK);
  }
  return fresh->model ? &fresh->device : NULL;
}

static void assert_plots(const struct wo_plot *plot) {
  struct wo_text text = {0};
  size_t at = 0;
  wo_plot_svg(plot, &text);
  assert_true(wo_xml_is_well_formed((struct wo_view){text.ptr, text.len}, &at));
  assert_true(text.len < 400000);
  text.len = 0;
  wo_plot_term(plot, (struct wo_text_style){.width = 80, .use_utf8 = true}, &text);
  assert_false(text.is_failed);
  wo_text_done(&text);
}

/* Every block in use has the instance of its size, and all sums agree with the run's own figures. */
static void assert_explained(const struct wo_alloc_pattern *pattern, const struct wo_memory_over_time *memory) {
  struct wo_attribution a;
  struct wo_pins pins;
  assert_int_equal(wo_attribution_make(pattern, &memory->map, &a), WO_OK);
  assert_int_equal(wo_pins_find(pattern, &memory->map, &pins), WO_OK);
  for (size_t i = 0; i < memory->map.blocks.count; i++) {
    const struct wo_map_block *const block = &memory->map.blocks.items[i];
    if (block->state == WO_BLOCK_FREE) continue;
    assert_true(block->instance < pattern->instances.count);
  }
  assert_int_equal(memory->peak[WO_MEMORY_RESERVED].bytes, memory->outcome.peak.reserved_bytes);
  assert_int_equal(memory->peak[WO_MEMORY_ALLOCATED].bytes, memory->outcome.peak.allocated_bytes);
  assert_int_equal(a.total.block_bytes, memory->moment_at.bytes + a.use.pending_bytes);
  assert_int_equal(a.use.reserved_bytes, a.use.live_bytes + a.use.slack_bytes + a.use.pinned_free_bytes + a.use.releasable_bytes);
  assert_true(pins.free_bytes <= a.use.pinned_free_bytes);
  const struct wo_plot plot = {.pattern = pattern, .memory = memory, .attribution = &a, .capacity_bytes = 80 * SAMPLE_GIB};
  assert_plots(&plot);
  wo_pins_done(&pins);
  wo_attribution_done(&a);
}

/* False for a recording that cannot be replayed (its ring dropped entries). */
static bool explain(const char *path) {
  struct wo_recording *recording = NULL;
  struct wo_alloc_pattern pattern = {0};
  struct wo_start start = {0};
  struct wo_memory_over_time memory;
  assert_int_equal(wo_trace_open(path, &recording, NULL), WO_OK);
  const struct wo_trace *const trace = &recording->traces.items[0];
  const uint16_t torch = recording->torch_to ? recording->torch_to : WO_TORCH_DEFAULT;
  const bool is_whole = wo_alloc_pattern_make(recording, trace, &pattern, NULL) == WO_OK &&
                        wo_start_rebuild(recording, trace, &recording->settings, &start, NULL) == WO_OK;
  if (is_whole) {
    struct fresh fresh = {.start = &start};
    const struct wo_memory_devices devices = {&fresh, fresh_device, {0}};
    const struct wo_replay_options options = {.settings = recording->settings, .torch = torch, .start = &start};
    assert_int_equal(wo_memory_over_time_record(&pattern, trace, &options, &devices, &memory, NULL), WO_OK);
    assert_explained(&pattern, &memory);
    wo_memory_over_time_done(&memory);
    wo_device_model_free(fresh.model);
  }
  wo_alloc_pattern_done(&pattern);
  wo_start_done(&start);
  wo_recording_free(recording);
  return is_whole;
}

static void explains_real_recordings(void **state) {
  (void)state;
  size_t count = 0, explained = 0;
  char **const names = wo_files_names(CORPUS, ".pickle", &count);
  if (count == 0) {
    wo_files_free_names(names, count);
    print_message("skipped: no recordings beside the tree\n");
    skip();
  }
  for (size_t i = 0; i < count; i++) {
    char path[512];
    snprintf(path, sizeof path, CORPUS "/%s", names[i]);
    explained += explain(path);
  }
  assert_true(explained * 2 > count);
  wo_files_free_names(names, count);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(explains_real_recordings)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
