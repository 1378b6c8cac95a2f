/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU device over the stand-in driver: the right calls, the cap, and nothing left behind in any state. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_replay/device/device_gpu.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

enum { PATH_BYTES = 512 };

/* A card, from its environment on. */
struct bench {
  char log[PATH_BYTES + sizeof "/calls"];
  struct wo_cuda_driver driver;
  struct wo_device_gpu *gpu;
  struct wo_device device;
  struct wo_err err;
};

static char folder[PATH_BYTES];

static int make_folder(void **state) {
  (void)state;
  return wo_files_scratch(folder, sizeof folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  wo_files_remove_scratch(folder);
  return 0;
}

/* The library keeps what it read from its environment, so each card is a library opened anew. */
static enum wo_status open_card(struct bench *bench, const char *variable, const char *value,
                                const struct wo_device_gpu_options *options) {
  *bench = (struct bench){0};
  snprintf(bench->log, sizeof bench->log, "%s/calls", folder);
  setenv("STAND_IN_LOG", bench->log, 1);
  if (variable) setenv(variable, value, 1);
  enum wo_status status = wo_cuda_open(WO_STAND_IN_CUDA, &bench->driver, &bench->err);
  if (status == WO_OK) status = wo_device_gpu_open(&bench->driver, options, &bench->gpu, &bench->device, &bench->err);
  return status;
}

/* Closes everything, and looks whether the card is as empty as it was. */
static void close_card(struct bench *bench, const char *variable, bool is_whole) {
  uint64_t left = 0;
  const bool was_open = bench->gpu != NULL;
  wo_device_gpu_close(bench->gpu, &left);
  wo_cuda_close(&bench->driver);
  if (variable) unsetenv(variable);
  size_t len = 0;
  char *const calls = wo_files_read(bench->log, &len);
  if (is_whole) {
    assert_int_equal(left, 0);
    if (was_open) assert_non_null(strstr(calls, "cuDevicePrimaryCtxRelease_v2 0x0 0 0\n"));
  }
  free(calls);
}

static void test_segments(void **state) {
  struct bench bench;
  uint64_t a = 0;
  uint64_t b = 0;
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
  (void)state;
  assert_int_equal(open_card(&bench, NULL, NULL, &(struct wo_device_gpu_options){.capacity_bytes = 100 * MIB, .touches = true}),
                   WO_OK);
  assert_int_equal(bench.device.segment_alloc(bench.gpu, 20 * MIB, &a), WO_OK);
  assert_int_equal(bench.device.segment_alloc(bench.gpu, 80 * MIB, &b), WO_OK);
  assert_int_equal(bench.device.segment_alloc(bench.gpu, 2 * MIB, &b), WO_E_LIMIT); /* the cap, not the card */
  bench.device.memory_info(bench.gpu, &free_bytes, &total_bytes);
  assert_int_equal(free_bytes, 0);
  assert_int_equal(total_bytes, 24 * GIB);
  assert_int_equal(bench.device.segment_free(bench.gpu, a, 20 * MIB), WO_OK);
  const struct wo_device_gpu_info *const info = wo_device_gpu_info(bench.gpu);
  assert_int_equal(info->peak_bytes, 100 * MIB);
  assert_int_equal(info->used_bytes, 80 * MIB);
  assert_int_equal(info->refusals, 0);
  assert_int_equal(info->free_before_bytes - info->free_lowest_bytes, 100 * MIB);
  assert_string_equal(info->name, "Stand-in 0");
  assert_string_equal(info->uuid, "GPU-abababab-abab-abab-abab-ababababab00");
  close_card(&bench, NULL, true); /* b is still held, and given back */
}

static void test_expandable(void **state) {
  struct bench bench;
  uint64_t range = 0;
  (void)state;
  assert_int_equal(open_card(&bench, NULL, NULL, &(struct wo_device_gpu_options){.capacity_bytes = 100 * MIB}), WO_OK);
  assert_int_equal(bench.device.range_reserve(bench.gpu, 200 * MIB, &range), WO_OK);
  assert_int_equal(bench.device.map(bench.gpu, range, 60 * MIB, 20 * MIB), WO_OK);
  assert_int_equal(bench.device.map(bench.gpu, range + 60 * MIB, 60 * MIB, 20 * MIB), WO_E_LIMIT);
  assert_int_equal(bench.device.unmap(bench.gpu, range + 20 * MIB, 20 * MIB, 20 * MIB), WO_OK);
  assert_int_equal(bench.device.map(bench.gpu, range + 60 * MIB, 60 * MIB, 20 * MIB), WO_OK);
  assert_int_equal(wo_device_gpu_info(bench.gpu)->used_bytes, 100 * MIB);
  close_card(&bench, NULL, true);

  assert_int_equal(open_card(&bench, NULL, NULL, &(struct wo_device_gpu_options){0}), WO_OK);
  assert_int_equal(bench.device.range_reserve(bench.gpu, 40 * MIB, &range), WO_OK);
  assert_int_equal(bench.device.map(bench.gpu, range, 40 * MIB, 20 * MIB), WO_OK);
  assert_int_equal(bench.device.unmap(bench.gpu, range, 40 * MIB, 20 * MIB), WO_OK);
  assert_int_equal(bench.device.range_free(bench.gpu, range, 40 * MIB), WO_OK);
  size_t len = 0;
  char *const calls = wo_files_read(bench.log, &len);
  const char *const order[] = {"cuMemAddressReserve", "cuMemCreate", "cuMemCreate",  "cuMemMap",   "cuMemMap",
                               "cuMemSetAccess",      "cuMemUnmap",  "cuMemRelease", "cuMemUnmap", "cuMemRelease",
                               "cuMemAddressFree"};
  const char *at = calls;
  for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
    at = strstr(at, order[i]);
    assert_non_null(at);
    at++;
  }
  free(calls);
  close_card(&bench, NULL, true);
}

static int (*real_memory_info)(size_t *ret_free, size_t *ret_total);
static int memory_info_calls;

static int counted_memory_info(size_t *ret_free, size_t *ret_total) {
  memory_info_calls++;
  return real_memory_info(ret_free, ret_total);
}

/* Asking for free memory is slow: once for each 64 MiB of a growing peak, and the figure is right in between. */
static void test_free_memory_is_seldom_asked(void **state) {
  struct bench bench;
  uint64_t segment = 0;
  (void)state;
  assert_int_equal(open_card(&bench, NULL, NULL, &(struct wo_device_gpu_options){.capacity_bytes = 10 * GIB}), WO_OK);
  real_memory_info = bench.driver.memory_info;
  bench.driver.memory_info = counted_memory_info;
  memory_info_calls = 0;
  const struct wo_device_gpu_info *const info = wo_device_gpu_info(bench.gpu);
  for (int i = 0; i < 1000; i++) {
    assert_int_equal(bench.device.segment_alloc(bench.gpu, 2 * MIB, &segment), WO_OK);
    assert_int_equal(info->free_before_bytes - info->free_lowest_bytes, info->peak_bytes);
  }
  assert_in_range(memory_info_calls, 1000 * 2 / 64 - 1, 1000 * 2 / 64 + 1);
  close_card(&bench, NULL, true);
}

/* A handle that the card refuses takes those before it with it, as torch does. */
static void test_refusal_by_the_card(void **state) {
  struct bench bench;
  uint64_t range = 0;
  uint64_t segment = 0;
  (void)state;
  assert_int_equal(open_card(&bench, "STAND_IN_FAIL", "cuMemCreate:3:2", &(struct wo_device_gpu_options){0}), WO_OK);
  assert_int_equal(bench.device.range_reserve(bench.gpu, 200 * MIB, &range), WO_OK);
  assert_int_equal(bench.device.map(bench.gpu, range, 60 * MIB, 20 * MIB), WO_E_LIMIT);
  assert_int_equal(wo_device_gpu_info(bench.gpu)->refusals, 1);
  assert_int_equal(wo_device_gpu_info(bench.gpu)->used_bytes, 0);
  assert_int_equal(bench.device.map(bench.gpu, range, 60 * MIB, 20 * MIB), WO_OK);
  close_card(&bench, "STAND_IN_FAIL", true);

  assert_int_equal(open_card(&bench, "STAND_IN_FAIL", "cuMemAlloc_v2:1:2", &(struct wo_device_gpu_options){0}), WO_OK);
  assert_int_equal(bench.device.segment_alloc(bench.gpu, 2 * MIB, &segment), WO_E_LIMIT);
  assert_int_equal(bench.device.segment_alloc(bench.gpu, 2 * MIB, &segment), WO_OK);
  close_card(&bench, "STAND_IN_FAIL", true);
}

static void test_others_hold_the_card(void **state) {
  struct bench bench;
  (void)state;
  assert_int_equal(open_card(&bench, "STAND_IN_OTHER", "21474836480", &(struct wo_device_gpu_options){.capacity_bytes = 5 * GIB}),
                   WO_E_LIMIT);
  assert_non_null(strstr(bench.err.message, "has 4.00 GiB free of 24.00"));
  close_card(&bench, "STAND_IN_OTHER", true);
  assert_int_equal(open_card(&bench, "STAND_IN_OTHER", "21474836480",
                             &(struct wo_device_gpu_options){.capacity_bytes = 3 * GIB, .reserve_bytes = 2 * GIB}),
                   WO_E_LIMIT);
  close_card(&bench, "STAND_IN_OTHER", true);
  assert_int_equal(open_card(&bench, "STAND_IN_OTHER", "21474836480",
                             &(struct wo_device_gpu_options){.capacity_bytes = 3 * GIB, .reserve_bytes = 1 * GIB}),
                   WO_OK);
  close_card(&bench, "STAND_IN_OTHER", true);
}

static void test_cards_that_cannot_be_used(void **state) {
  struct bench bench;
  (void)state;
  assert_int_equal(open_card(&bench, NULL, NULL, &(struct wo_device_gpu_options){.ordinal = 1}), WO_E_RANGE);
  assert_non_null(strstr(bench.err.message, "no GPU 1"));
  close_card(&bench, NULL, true);
  assert_int_equal(open_card(&bench, "STAND_IN_MODE", "2", &(struct wo_device_gpu_options){0}), WO_E_IO);
  assert_non_null(strstr(bench.err.message, "prohibited mode: no process may compute"));
  close_card(&bench, "STAND_IN_MODE", true);
  assert_int_equal(open_card(&bench, "STAND_IN_CARDS", "0", &(struct wo_device_gpu_options){0}), WO_E_IO);
  close_card(&bench, "STAND_IN_CARDS", true);
  struct wo_cuda_driver none;
  assert_int_equal(wo_cuda_open("/nonexistent/libcuda.so", &none, &bench.err), WO_E_UNKNOWN);
  assert_non_null(strstr(bench.err.message, "no CUDA driver"));
}

/* A context is not part of the cap, and takes memory all the same: on a card that is full not even that has room. */
static void test_context_takes_memory(void **state) {
  struct bench bench;
  (void)state;
  setenv("STAND_IN_CONTEXT", "536870912", 1);
  assert_int_equal(open_card(&bench, NULL, NULL, &(struct wo_device_gpu_options){.reserve_bytes = GIB}), WO_OK);
  assert_true(wo_device_gpu_info(bench.gpu)->cap_bytes == 23 * GIB - 512 * MIB);
  close_card(&bench, NULL, true);
  assert_int_equal(open_card(&bench, "STAND_IN_OTHER", "25500000000", &(struct wo_device_gpu_options){0}), WO_E_LIMIT);
  assert_non_null(strstr(bench.err.message, "not even a context has room"));
  close_card(&bench, "STAND_IN_OTHER", true);
  unsetenv("STAND_IN_CONTEXT");
}

/* Cards that cannot map memory, or not as PyTorch does, serve plain segments and say why they serve no others. */
static void test_mapping_is_not_there(void **state) {
  static const char *const rows[][3] = {{"STAND_IN_NO_VMM", "1", "cannot map memory on this card"},
                                        {"STAND_IN_PAGE", "4194304", "in pages of 4194304 bytes"}};
  uint64_t address = 0;
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    struct bench bench;
    assert_int_equal(open_card(&bench, rows[i][0], rows[i][1], &(struct wo_device_gpu_options){0}), WO_OK);
    assert_int_equal(bench.device.segment_alloc(bench.gpu, 20 * MIB, &address), WO_OK);
    assert_int_equal(bench.device.range_reserve(bench.gpu, 200 * MIB, &address), WO_E_IO);
    assert_non_null(strstr(bench.device.message(bench.gpu), rows[i][2]));
    close_card(&bench, rows[i][0], true);
  }
}

/* The card that cannot have it is not asked for RDMA; older versions of torch never do. The stand-in refuses what is wrong. */
static void test_kinds_of_memory(void **state) {
  static const struct {
    const char *variable;
    uint16_t torch;
  } rows[] = {{NULL, 0}, {NULL, 201}, {NULL, 206}, {"STAND_IN_NO_RDMA", 0}, {"STAND_IN_NO_RDMA", 204}};
  uint64_t range = 0;
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct bench bench;
    const struct wo_device_gpu_options options = {.torch = rows[i].torch, .touches = true};
    assert_int_equal(open_card(&bench, rows[i].variable, "1", &options), WO_OK);
    assert_int_equal(bench.device.range_reserve(bench.gpu, 200 * MIB, &range), WO_OK);
    assert_int_equal(bench.device.map(bench.gpu, range, 60 * MIB, 20 * MIB), WO_OK);
    close_card(&bench, rows[i].variable, true);
  }
}

/* What the real driver refuses the stand-in refuses, too: otherwise the tests above would prove nothing. */
static void test_stand_in_is_strict(void **state) {
  const struct wo_cuda_access access = {{1, 0}, 3};
  struct wo_cuda_memory_kind kind = {.type = 1, .location = {1, 0}};
  struct bench bench;
  uint64_t range = 0, handle = 0, segment = 0;
  void *context = NULL;
  size_t free_bytes = 0, total_bytes = 0;
  (void)state;
  snprintf(bench.log, sizeof bench.log, "%s/calls", folder);
  assert_int_equal(wo_cuda_open(WO_STAND_IN_CUDA, &bench.driver, &bench.err), WO_OK);
  const struct wo_cuda_driver *const driver = &bench.driver;
  assert_int_equal(driver->memory_info(&free_bytes, &total_bytes), 201); /* no context is current */
  assert_int_equal(driver->context_release(0), 201);
  assert_int_equal(driver->context_retain(&context, 0), 0);
  assert_int_equal(driver->memory_alloc(&segment, MIB), 201);
  assert_int_equal(driver->context_set(context), 0);
  assert_int_equal(driver->memory_alloc(&segment, 0), 1);
  assert_int_equal(driver->memory_alloc(&segment, 20 * MIB), 0);
  assert_int_equal(driver->memory_set(segment, 1, 21 * MIB), 1); /* beyond its end */
  assert_int_equal(driver->memory_free(segment + 512), 1);
  assert_int_equal(driver->memory_free(segment), 0);
  assert_int_equal(driver->memory_free(segment), 1); /* twice */
  assert_int_equal(driver->address_reserve(&range, MIB, 0, 0, 0), 1);
  assert_int_equal(driver->address_reserve(&range, 40 * MIB, 3, 0, 0), 1);
  assert_int_equal(driver->address_reserve(&range, 40 * MIB, 0, 0, 0), 0);
  assert_int_equal(driver->handle_create(&handle, MIB, &kind, 0), 1);
  kind.flags[4] = 1; /* reserved */
  assert_int_equal(driver->handle_create(&handle, 20 * MIB, &kind, 0), 1);
  kind.flags[4] = 0;
  assert_int_equal(driver->handle_create(&handle, 20 * MIB, &kind, 0), 0);
  assert_int_equal(driver->set_access(range, 20 * MIB, &access, 1), 1); /* nothing is mapped */
  assert_int_equal(driver->map(range + 512, 20 * MIB, 0, handle, 0), 1);
  assert_int_equal(driver->map(range, 20 * MIB, 0, handle, 0), 0);
  assert_int_equal(driver->memory_set(range, 1, 2 * MIB), 1);           /* no access yet */
  assert_int_equal(driver->set_access(range, 40 * MIB, &access, 1), 1); /* the second half is not mapped */
  assert_int_equal(driver->set_access(range, 20 * MIB, &access, 1), 0);
  assert_int_equal(driver->memory_set(range, 1, 20 * MIB), 0);
  assert_int_equal(driver->unmap(range, 2 * MIB), 1); /* a part of a mapping */
  assert_int_equal(driver->handle_release(handle), 1);
  assert_int_equal(driver->address_free(range, 40 * MIB), 1); /* something is mapped there */
  assert_int_equal(driver->unmap(range, 20 * MIB), 0);
  assert_int_equal(driver->handle_release(handle), 0);
  assert_int_equal(driver->handle_release(handle), 1);
  assert_int_equal(driver->address_free(range, 20 * MIB), 1);
  assert_int_equal(driver->address_free(range, 40 * MIB), 0);
  assert_int_equal(driver->context_release(0), 0);
  assert_int_equal(driver->memory_info(&free_bytes, &total_bytes), 709); /* current, and gone */
  assert_int_equal(driver->context_set(NULL), 0);
  wo_cuda_close(&bench.driver);
}

/* Works at the card until something fails. */
static enum wo_status work(struct bench *bench) {
  uint64_t range = 0;
  uint64_t segment = 0;
  enum wo_status status = bench->device.segment_alloc(bench->gpu, 20 * MIB, &segment);
  if (status == WO_OK) status = bench->device.range_reserve(bench->gpu, 200 * MIB, &range);
  if (status == WO_OK) status = bench->device.map(bench->gpu, range, 60 * MIB, 20 * MIB);
  if (status == WO_OK) status = bench->device.unmap(bench->gpu, range, 20 * MIB, 20 * MIB);
  if (status == WO_OK) status = bench->device.segment_free(bench->gpu, segment, 20 * MIB);
  return status;
}

/* Lost at every call in turn: always a clear end, never a call too many. */
static void test_lost_card(void **state) {
  (void)state;
  bool is_done = false;
  for (int at = 1; !is_done; at++) {
    struct bench bench;
    char count[16];
    snprintf(count, sizeof count, "%d", at);
    enum wo_status status = open_card(&bench, "STAND_IN_LOST", count, &(struct wo_device_gpu_options){.touches = true});
    const bool is_open = status == WO_OK;
    if (is_open) status = work(&bench);
    is_done = status == WO_OK;
    const char *const words = is_open ? bench.device.message(bench.gpu) : bench.err.message;
    if (!is_done) assert_non_null(strstr(words, "CUDA_ERROR_LAUNCH_FAILED (unspecified launch failure)"));
    close_card(&bench, "STAND_IN_LOST", false); /* what a lost card holds is lost with it */
    assert_true(at < 100);
  }
}

static void test_interrupt(void **state) {
  static volatile sig_atomic_t is_cancelled;
  struct bench bench;
  uint64_t segment = 0;
  (void)state;
  is_cancelled = 0;
  assert_int_equal(open_card(&bench, NULL, NULL, &(struct wo_device_gpu_options){.is_cancelled = &is_cancelled}), WO_OK);
  assert_int_equal(bench.device.segment_alloc(bench.gpu, 20 * MIB, &segment), WO_OK);
  is_cancelled = 1;
  assert_int_equal(bench.device.segment_alloc(bench.gpu, 20 * MIB, &segment), WO_E_IO);
  assert_non_null(strstr(bench.device.message(bench.gpu), "interrupted"));
  close_card(&bench, NULL, true);
}

static void test_failing_allocations(void **state) {
  (void)state;
  bool is_done = false;
  for (long n = 1; !is_done; n++) {
    struct bench bench;
    assert_int_equal(open_card(&bench, NULL, NULL, &(struct wo_device_gpu_options){0}), WO_OK);
    wo_fail_alloc_at(n);
    const enum wo_status status = work(&bench);
    wo_fail_alloc_off();
    is_done = status == WO_OK;
    if (!is_done) assert_int_equal(status, WO_E_NOMEM);
    close_card(&bench, NULL, true);
    assert_true(n < 100);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_segments),
      cmocka_unit_test(test_expandable),
      cmocka_unit_test(test_free_memory_is_seldom_asked),
      cmocka_unit_test(test_refusal_by_the_card),
      cmocka_unit_test(test_others_hold_the_card),
      cmocka_unit_test(test_cards_that_cannot_be_used),
      cmocka_unit_test(test_lost_card),
      cmocka_unit_test(test_interrupt),
      cmocka_unit_test(test_failing_allocations),
      cmocka_unit_test(test_context_takes_memory),
      cmocka_unit_test(test_mapping_is_not_there),
      cmocka_unit_test(test_kinds_of_memory),
      cmocka_unit_test(test_stand_in_is_strict),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
