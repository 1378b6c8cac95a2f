/* SPDX-License-Identifier: Apache-2.0 */
/* Changed settings are written the way the user wrote them: same key, same style, same way to say true. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job/job_sample.h"

static const char rules[] =
    "[{\"knob\": \"micro_batch\", \"unit\": \"number\", \"means\": \"m\", \"aliases\": [\"per_device_train_batch_size\", "
    "\"micro_batch_size\"]},\n"
    " {\"knob\": \"share\", \"unit\": \"number\", \"means\": \"m\", \"aliases\": [\"gpu_memory_utilization\"]},\n"
    " {\"knob\": \"offload\", \"unit\": \"bool\", \"means\": \"m\", \"aliases\": [\"cpu_offload\", {\"key\": \"offload_device\", "
    "\"values\": {\"cpu\": \"true\", \"none\": \"false\"}}, {\"key\": \"keep_on_card\", \"values\": {\"true\": \"false\", "
    "\"false\": "
    "\"true\"}}]},\n"
    " {\"knob\": \"checkpointing\", \"unit\": \"text\", \"means\": \"m\", \"aliases\": [{\"key\": \"gradient_checkpointing\", "
    "\"values\": {\"True\": \"full\", \"true\": \"full\", \"False\": \"none\", \"false\": \"none\", \"full\": \"full\", \"1\": "
    "\"full\"}}]}]";

static int load(void **state) {
  return sample_load(rules, state);
}

/* *state is the pack; what `log` becomes when the knob is set to `to`. */
static void check(const struct wo_pack *pack, const char *log, const char *knob, struct wo_value to, const char *expected) {
  struct sample_job sample;
  sample_log(&sample, pack, log);
  const struct wo_spelling spelling = wo_spell_change(&sample.diagnosis, wo_pack_knob(pack, wo_view_of(knob)), to);
  if (!sample_is_spelled(&spelling, expected)) fail_msg("%s: expected \"%s\"", log, expected);
  sample_done(&sample);
}

static void test_styles(void **state) {
  static const struct {
    const char *log;
    const char *expected;
  } rows[] = {
      {"micro_batch_size: 8\n", "micro_batch_size: 4"},
      {"  micro_batch_size: 8\n", "micro_batch_size: 4"},
      {"micro_batch_size=8\n", "micro_batch_size=4"},
      {"actor.ppo.micro_batch_size=8\n", "actor.ppo.micro_batch_size=4"},
      {"t.py --micro_batch_size 8\n", "--micro_batch_size 4"},
      {"t.py --micro-batch-size 8\n", "--micro-batch-size 4"},
      {"t.py --micro_batch_size=8\n", "--micro_batch_size=4"},
      {"export micro_batch_size=8\n", "export micro_batch_size=4"},
      {"\"micro_batch_size\": 8,\n", "\"micro_batch_size\": 4"},
      {"  micro_batch_size ................... 8\n", "--micro-batch-size 4"}, /* printed with underscores, taken as a flag */
      {"--per_device_train_batch_size 8\n", "--per_device_train_batch_size 4"},
      {"nothing is set\n", "per_device_train_batch_size=4"}, /* the default spelling */
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    check(*state, rows[i].log, "micro_batch", wo_value_exact(WO_UNIT_NUMBER, 4), rows[i].expected);
}

static void test_numbers(void **state) {
  check(*state, "gpu_memory_utilization=0.6\n", "share", wo_value_exact(WO_UNIT_NUMBER, 0.4), "gpu_memory_utilization=0.4");
  check(*state, "gpu_memory_utilization=0.6\n", "share", wo_value_exact(WO_UNIT_NUMBER, 1), "gpu_memory_utilization=1");
  check(*state, "--micro_batch_size 8\n", "micro_batch", wo_value_exact(WO_UNIT_NUMBER, 123456789),
        "--micro_batch_size 123456789");
  check(*state, "--micro_batch_size 8\n", "micro_batch", wo_value_exact(WO_UNIT_NUMBER, 1e36), "--micro_batch_size 1e+36");
}

static void test_bools(void **state) {
  check(*state, "cpu_offload=False\n", "offload", wo_value_bool(WO_TRUE), "cpu_offload=True");
  check(*state, "cpu_offload: false\n", "offload", wo_value_bool(WO_TRUE), "cpu_offload: true");
  check(*state, "--cpu_offload 0\n", "offload", wo_value_bool(WO_TRUE), "--cpu_offload 1");
  check(*state, "--cpu_offload 1\n", "offload", wo_value_bool(WO_FALSE), "--cpu_offload 0");
  check(*state, "\"cpu_offload\": true\n", "offload", wo_value_bool(WO_FALSE), "\"cpu_offload\": false");
}

/* A key with words of its own, or one that means the opposite. */
static void test_mapped_bools(void **state) {
  check(*state, "offload_device: none\n", "offload", wo_value_bool(WO_TRUE), "offload_device: cpu");
  check(*state, "\"offload_device\": \"none\",\n", "offload", wo_value_bool(WO_TRUE), "\"offload_device\": \"cpu\"");
  check(*state, "keep_on_card=True\n", "offload", wo_value_bool(WO_TRUE), "keep_on_card=False");
  check(*state, "keep_on_card=0\n", "offload", wo_value_bool(WO_FALSE), "keep_on_card=1");
}

/* A text that is printed as a bool is written as one. */
static void test_mapped_texts(void **state) {
  const struct wo_value full = wo_value_text(WO_VIEW("full"));
  const struct wo_value none = wo_value_text(WO_VIEW("none"));
  check(*state, "gradient_checkpointing=False\n", "checkpointing", full, "gradient_checkpointing=True");
  check(*state, "gradient_checkpointing: false\n", "checkpointing", full, "gradient_checkpointing: true");
  check(*state, "gradient_checkpointing: true\n", "checkpointing", none, "gradient_checkpointing: false");
  check(*state, "\"gradient_checkpointing\": false,\n", "checkpointing", full, "\"gradient_checkpointing\": true");
  check(*state, "\"gradient_checkpointing\": \"full\",\n", "checkpointing", wo_value_text(WO_VIEW("selective")),
        "\"gradient_checkpointing\": \"selective\"");
  check(*state, "--gradient_checkpointing full\n", "checkpointing", none,
        "--gradient_checkpointing none"); /* who writes names gets one */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_styles), cmocka_unit_test(test_numbers), cmocka_unit_test(test_bools),
                                     cmocka_unit_test(test_mapped_bools), cmocka_unit_test(test_mapped_texts)};
  return cmocka_run_group_tests_name("spell", tests, load, sample_unload);
}
