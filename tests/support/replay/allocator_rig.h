/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator on a device that is not there, with a log of its events as text, for tests of single rules.
 *
 * An event is logged as "name:size ", with sizes as 20M when they are whole MiB. Addresses ascend, so that the first segment is
 * the lowest. */
#ifndef WO_TEST_ALLOCATOR_RIG_H
#define WO_TEST_ALLOCATOR_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cuda_replay/allocator/allocator.h"
#include "cuda_replay/device/device_model.h"
#include "tests/support/replay/allocator_valid.h"

#define MIB (UINT64_C(1) << 20)

struct rig {
  struct wo_device device;
  struct wo_device_model *model;
  struct wo_allocator *a;
  char log[2048];
  size_t log_len;
};

static void rig_on_event(void *state, const struct wo_allocator_event *event) {
  struct rig *const rig = state;
  const bool is_mib = event->size_bytes % MIB == 0;
  const int len = snprintf(rig->log + rig->log_len, sizeof rig->log - rig->log_len, "%s:%llu%s ", wo_action_name(event->action),
                           (unsigned long long)(is_mib ? event->size_bytes / MIB : event->size_bytes), is_mib ? "M" : "");
  rig->log_len += (size_t)len;
  assert_true(rig->log_len < sizeof rig->log);
}

/* Opens an allocator with settings as a string, of a version, on a device of so many MiB. */
static void rig_open_sized(struct rig *rig, uint16_t torch, const char *text, uint64_t capacity_mib, uint64_t total_mib) {
  memset(rig, 0, sizeof *rig);
  const struct wo_device_model_options device = {.capacity_bytes = capacity_mib * MIB, .total_bytes = total_mib * MIB};
  rig->model = wo_device_model_new(&device, &rig->device);
  assert_non_null(rig->model);
  struct wo_allocator_options options = {
      .settings = wo_alloc_settings_default(torch),
      .torch = torch,
      .device = &rig->device,
      .observer = {rig, rig_on_event},
  };
  struct wo_err err = {0};
  const enum wo_status status = wo_alloc_settings_parse(wo_view_of(text), torch, &options.settings, &err);
  if (status != WO_OK) fail_msg("%s", err.message);
  assert_int_equal(wo_allocator_new(&options, &rig->a, &err), WO_OK);
}

static inline void rig_open(struct rig *rig, uint16_t torch, const char *text, uint64_t capacity_mib) {
  rig_open_sized(rig, torch, text, capacity_mib, capacity_mib);
}

static void rig_check(const struct rig *rig) {
  const char *why = NULL;
  if (!wo_allocator_is_valid(rig->a, &why)) fail_msg("%s", why);
}

static inline void rig_close(struct rig *rig) {
  rig_check(rig);
  rig->a = wo_allocator_free(rig->a);
  rig->model = wo_device_model_free(rig->model);
}

/* Compares the log with what is expected, and empties it. */
static inline void rig_expect(struct rig *rig, const char *log) {
  rig_check(rig);
  assert_string_equal(rig->log, log);
  rig->log[0] = '\0';
  rig->log_len = 0;
}

static inline void rig_forget(struct rig *rig) {
  rig->log[0] = '\0';
  rig->log_len = 0;
}

static inline wo_block_id rig_malloc_on(struct rig *rig, uint64_t size_bytes, uint64_t stream) {
  wo_block_id id = WO_NO_BLOCK;
  assert_int_equal(wo_allocator_malloc(rig->a, size_bytes, stream, &id), WO_OK);
  rig_check(rig);
  return id;
}

static inline wo_block_id rig_malloc(struct rig *rig, uint64_t size_bytes) {
  return rig_malloc_on(rig, size_bytes, 0);
}

static inline void rig_refuses(struct rig *rig, uint64_t size_bytes) {
  wo_block_id id = 12345;
  assert_int_equal(wo_allocator_malloc(rig->a, size_bytes, 0, &id), WO_E_LIMIT);
  assert_int_equal(id, 12345);
  rig_check(rig);
}

static inline void rig_free(struct rig *rig, wo_block_id id) {
  wo_allocator_free_block(rig->a, id, false);
  rig_check(rig);
}

static inline uint64_t rig_address(const struct rig *rig, wo_block_id id) {
  return wo_allocator_address(rig->a, id);
}

static inline int64_t rig_reserved_mib(const struct rig *rig) {
  return wo_allocator_stats(rig->a)->reserved_bytes[WO_STAT_ALL].current / (int64_t)MIB;
}

#endif
