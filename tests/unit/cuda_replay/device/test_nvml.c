/* SPDX-License-Identifier: Apache-2.0 */
/* NVML and the look at the cards, over the libraries that stand in for both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_replay/device/gpu_cards.h"
#include "cuda_replay/device/nvml.h"

static const char first_card[] = "GPU-abababab-abab-abab-abab-ababababab00";

/* Without a library nothing is known, and nothing fails. */
static void test_absent(void **state) {
  struct wo_nvml nvml;
  struct wo_nvml_holder holders[4];
  bool is_known = true;
  (void)state;
  assert_false(wo_nvml_open("/nonexistent/libnvidia-ml.so.1", &nvml));
  assert_false(wo_nvml_open(WO_STAND_IN_CUDA, &nvml)); /* a library without its functions */
  assert_false(wo_nvml_is_mig(&nvml, first_card));
  assert_true(wo_nvml_free_bytes(&nvml, first_card) == UINT64_MAX);
  assert_int_equal(wo_nvml_holders(&nvml, first_card, holders, 4, &is_known), 0);
  assert_false(is_known);
  wo_nvml_close(&nvml);
  wo_nvml_close(NULL);
}

/* Most first, the unknown last, whyoom itself not at all. */
static void test_holders(void **state) {
  struct wo_nvml nvml;
  struct wo_nvml_holder holders[3];
  char processes[256];
  bool is_known = false;
  (void)state;
  snprintf(processes, sizeof processes,
           "12:small:1000,13:silent:,%u:whyoom:99999999,14:a-name-that-is-longer-than-a-message-has-room-for-it:5000,15:x:2000",
           (unsigned)getpid());
  setenv("STAND_IN_PROCESSES", processes, 1);
  assert_true(wo_nvml_open(WO_STAND_IN_NVML, &nvml));
  assert_int_equal(wo_nvml_holders(&nvml, first_card, holders, 3, &is_known), 3);
  assert_true(is_known);
  assert_int_equal(holders[0].pid, 14);
  assert_int_equal(strlen(holders[0].name), WO_NVML_NAME_BYTES - 1);
  assert_int_equal(holders[1].pid, 15);
  assert_int_equal(holders[2].pid, 12);
  assert_string_equal(holders[2].name, "small");
  assert_int_equal(wo_nvml_holders(&nvml, "GPU-of-nobody", holders, 3, &is_known), 0);
  assert_false(is_known);
  assert_int_equal(wo_nvml_holders(&nvml, "", holders, 3, &is_known), 0);
  assert_false(is_known);
  unsetenv("STAND_IN_PROCESSES");
  assert_int_equal(wo_nvml_holders(&nvml, first_card, holders, 3, &is_known), 0);
  assert_true(is_known);
  wo_nvml_close(&nvml);
}

/* More processes than there are rows for: not known beats a part that looks like all. */
static void test_too_many(void **state) {
  struct wo_nvml nvml;
  struct wo_nvml_holder holders[3];
  static char processes[16 * (WO_NVML_PROCESSES_MAX + 1)];
  size_t len = 0;
  bool is_known = true;
  (void)state;
  for (unsigned i = 0; i <= WO_NVML_PROCESSES_MAX; i++)
    len += (size_t)snprintf(processes + len, sizeof processes - len, "%u:p:%u,", 100000 + i, i);
  setenv("STAND_IN_PROCESSES", processes, 1);
  assert_true(wo_nvml_open(WO_STAND_IN_NVML, &nvml));
  assert_int_equal(wo_nvml_holders(&nvml, first_card, holders, 3, &is_known), 0);
  assert_false(is_known);
  unsetenv("STAND_IN_PROCESSES");
  wo_nvml_close(&nvml);
}

static void test_mig_and_free(void **state) {
  struct wo_nvml nvml;
  (void)state;
  assert_true(wo_nvml_open(WO_STAND_IN_NVML, &nvml));
  setenv("STAND_IN_OTHER", "1073741824", 1);
  assert_false(wo_nvml_is_mig(&nvml, first_card));
  assert_true(wo_nvml_free_bytes(&nvml, first_card) == UINT64_C(23) << 30);
  setenv("STAND_IN_MIG", "1", 1);
  assert_true(wo_nvml_is_mig(&nvml, first_card));
  assert_false(wo_nvml_is_mig(&nvml, "MIG-abababab-abab-abab-abab-ababababab00"));
  unsetenv("STAND_IN_MIG");
  unsetenv("STAND_IN_OTHER");
  wo_nvml_close(&nvml);
}

/* Names of cards and processes are somebody else's bytes: no control character of theirs reaches a message. */
static void test_hostile_names(void **state) {
  struct wo_cuda_driver driver = {0};
  struct wo_nvml nvml;
  struct wo_err err = {0};
  struct wo_text text = {0};
  char uuid[WO_GPU_UUID_BYTES];
  (void)state;
  setenv("STAND_IN_NAME", "\x1b[2J MIG \xff", 1);
  setenv("STAND_IN_PROCESSES", "7:\x1b[31mred\xfe:4096", 1);
  assert_int_equal(wo_cuda_open(WO_STAND_IN_CUDA, &driver, &err), WO_OK);
  assert_true(wo_nvml_open(WO_STAND_IN_NVML, &nvml));
  assert_int_equal(wo_gpu_look(&driver, &nvml, 3, NULL, &err), WO_E_RANGE);
  assert_null(strchr(err.message, '\x1b'));
  assert_null(strchr(err.message, '\xff'));
  assert_true(strncmp(wo_gpu_uuid(&driver, 0, uuid), "MIG-", 4) == 0);
  unsetenv("STAND_IN_NAME");
  wo_gpu_add_holders(&driver, &nvml, 0, &text);
  assert_true(text.len > 0 && !text.is_failed);
  assert_null(memchr(text.ptr, '\x1b', text.len));
  assert_null(memchr(text.ptr, '\xfe', text.len));
  unsetenv("STAND_IN_PROCESSES");
  wo_text_done(&text);
  wo_nvml_close(&nvml);
  wo_cuda_close(&driver);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_absent),       cmocka_unit_test(test_holders),       cmocka_unit_test(test_too_many),
      cmocka_unit_test(test_mig_and_free), cmocka_unit_test(test_hostile_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
