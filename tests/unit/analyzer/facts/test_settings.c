/* SPDX-License-Identifier: Apache-2.0 */
/* Settings: which of the values that the inputs give for a knob counts, and how it is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/facts/facts_internal.h"
#include "tests/support/job/job_sample.h"

static const char rules[] =
    "[{\"knob\": \"micro_batch\", \"unit\": \"number\", \"means\": \"m\", \"aliases\": [\"per_device_train_batch_size\", "
    "\"micro_batch_size\", \"batch_size\", \"train_batch_size\"]},\n"
    " {\"knob\": \"global_batch\", \"unit\": \"number\", \"means\": \"m\", \"aliases\": [\"global_batch_size\", "
    "{\"key\": \"train_batch_size\", \"framework\": \"deepspeed\"}]},\n"
    " {\"knob\": \"checkpointing\", \"unit\": \"text\", \"means\": \"m\", \"aliases\": [{\"key\": \"gradient_checkpointing\", "
    "\"values\": {\"True\": \"full\", \"1\": \"full\", \"False\": \"none\"}}]},\n"
    " {\"knob\": \"offload\", \"unit\": \"bool\", \"means\": \"m\", \"aliases\": [\"cpu_offload\", {\"key\": \"keep_on_card\", "
    "\"values\": {\"true\": \"false\", \"false\": \"true\"}}]},\n"
    " {\"knob\": \"pool\", \"unit\": \"bytes\", \"means\": \"m\", \"aliases\": [\"pool_bytes_max\"]},\n"
    " {\"knob\": \"share\", \"unit\": \"number\", \"means\": \"m\", \"aliases\": [\"gpu_memory_utilization\"]},\n"
    " {\"knob\": \"model_name\", \"unit\": \"text\", \"means\": \"m\", \"aliases\": [\"model_name_or_path\"]},\n"
    " {\"pattern\": \"torch\", \"kind\": \"cuda_oom\", \"literals\": [\"Tried to allocate\"], \"reader\": \"torch_oom\", "
    "\"since\": \"s\", \"samples\": []},\n"
    " {\"pattern\": \"uses-deepspeed\", \"kind\": \"framework\", \"literals\": [\"DeepSpeed info\"], \"regex\": \"DeepSpeed "
    "info\", "
    "\"set\": {\"name\": \"DeepSpeed\"}, \"since\": \"s\", \"samples\": []}]";

static int load(void **state) {
  return sample_load(rules, state);
}

struct row {
  const char *name;
  const char *log;
  const char *fact;
  double number; /* NAN = unknown */
};

static const struct row number_rows[] = {
    {"not given", "learning_rate=1e-5\n", "config.micro_batch", (double)NAN},
    {"a knob that does not exist", "per_device_train_batch_size=4\n", "config.nothing", (double)NAN},

    /* precedence */
    {"command line over file", "--per_device_train_batch_size 4\nper_device_train_batch_size: 8\n", "config.micro_batch", 4},
    {"command line over file, the other way round", "per_device_train_batch_size: 8\n--per_device_train_batch_size 4\n",
     "config.micro_batch", 4},
    {"environment over file", "export MICRO=1\nexport micro_batch_size=2\n\"micro_batch_size\": 8\n", "config.micro_batch", 2},
    {"echo over file", "\"micro_batch_size\": 8\n  micro_batch_size ................................ 4\nmicro_batch_size: 16\n",
     "config.micro_batch", 4},
    {"the later of two equals", "--micro_batch_size 8\n--micro_batch_size 2\n", "config.micro_batch", 2},
    {"two keys of equal rank: the first", "--micro_batch_size 8\n--per_device_train_batch_size 2\n", "config.micro_batch", 8},
    {"a specific key over a generic one", "per_device_train_batch_size: 8\n--batch_size 64\n", "config.micro_batch", 8},
    {"the other way round", "--batch_size 64\nper_device_train_batch_size: 8\n", "config.micro_batch", 8},
    {"a generic key alone", "batch_size: 64\n", "config.micro_batch", 64},
    {"what cannot be read does not hide what can", "--micro_batch_size 8\n--micro_batch_size auto\n", "config.micro_batch", 8},

    {"the next trial of a sweep does not count",
     "batch_size: 64\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.78 GiB total capacity; 13.00 GiB "
     "already "
     "allocated; 1.00 GiB free; 14.00 GiB reserved in total by PyTorch)\nbatch_size: 128\n",
     "config.micro_batch", 64},

    /* keys that two knobs share */
    {"a shared key is the plain one", "--train_batch_size 32\n", "config.micro_batch", 32},
    {"and not the framework's", "--train_batch_size 32\n", "config.global_batch", (double)NAN},
    {"with the framework it is the framework's", "DeepSpeed info: version=0.15\n--train_batch_size 32\n", "config.global_batch",
     32},
    {"and not the plain one", "DeepSpeed info: version=0.15\n--train_batch_size 32\n", "config.micro_batch", (double)NAN},
    {"dotted, it is the framework's", "data.train_batch_size=256\n", "config.global_batch", 256},
    {"and not the plain one", "data.train_batch_size=256\n", "config.micro_batch", (double)NAN},

    /* numbers */
    {"a fraction", "gpu_memory_utilization=0.6\n", "config.share", 0.6},
    {"an exponent", "gpu_memory_utilization=5e-1\n", "config.share", 0.5},
    {"negative", "--micro_batch_size -1\n", "config.micro_batch", -1},
    {"separated digits", "micro_batch_size: 2_048\n", "config.micro_batch", 2048},
    {"thousands of either sort", "micro_batch_size: 8k\n", "config.micro_batch", (double)NAN},
    {"left to the framework", "\"micro_batch_size\": \"auto\"\n", "config.micro_batch", (double)NAN},
    {"none at all", "micro_batch_size: null\n", "config.micro_batch", (double)NAN},
    {"no number", "--micro_batch_size many\n", "config.micro_batch", (double)NAN},
    {"a number with a rest", "--micro_batch_size 8x\n", "config.micro_batch", (double)NAN},
    {"a size", "pool_bytes_max=2GiB\n", "config.pool", 2147483648.0},
    {"a size without a unit is bytes", "pool_bytes_max=4096\n", "config.pool", 4096},
};

static void test_numbers(void **state) {
  for (size_t i = 0; i < sizeof number_rows / sizeof number_rows[0]; i++)
    sample_expect_number(*state, number_rows[i].log, number_rows[i].fact, number_rows[i].number, 0);
}

/* A setting is exact, however many decimals it is written with. */
static void test_numbers_are_exact(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, "gpu_memory_utilization=0.6\n");
  const struct wo_value value = sample_fact(&sample, "config.share");
  assert_true(value.is_known && value.number.lo == value.number.hi);
  assert_int_equal(value.evidence, 0);
  sample_done(&sample);
}

static void test_styles(void **state) {
  static const struct {
    const char *line;
    const char *style;
  } rows[] = {
      {"  micro_batch_size: 7\n", "colon"},
      {"micro_batch_size=7,\n", "equals"},
      {"micro_batch_size = 7\n", "equals"},
      {"trainer.micro_batch_size=7\n", "equals"},
      {"torchrun t.py --micro_batch_size 7 --x 1\n", "flag"},
      {"torchrun t.py --micro-batch-size 7 --x 1\n", "flag"},
      {"torchrun t.py --micro_batch_size=7 --x 1\n", "flag-equals"},
      {"export micro_batch_size=7\n", "export"},
      {"  \"micro_batch_size\": 7,\n", "json"},
      {"{'x': 1, 'micro_batch_size': 7}\n", "json"},
      {"  micro_batch_size ................................ 7\n", "dots"},
      {"[rank0]: micro_batch_size: 7\n", "colon"},
      {"+ python t.py --micro_batch_size 7\n", "flag"}, /* an echo of `set -x` */
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sample_job sample;
    sample_log(&sample, *state, rows[i].line);
    const struct wo_setting *setting = wo_facts_setting(&sample.facts, WO_VIEW("micro_batch"));
    if (!setting) fail_msg("%s: not read", rows[i].line);
    const struct wo_view style = wo_event_text(setting->event, WO_FIELD_STYLE);
    if (!wo_view_is(style, rows[i].style) || setting->value.number.mid != 7)
      fail_msg("%s: %.*s, %g", rows[i].line, (int)style.len, style.ptr, setting->value.number.mid);
    sample_done(&sample);
  }
}

/* Comments, advice, placeholders and longer names are no settings. */
static void test_what_is_no_setting(void **state) {
  static const char *const lines[] = {
      "# micro_batch_size: 7\n",
      "try setting micro_batch_size=7 to avoid this\n",
      "  --micro_batch_size MICRO_BATCH_SIZE  samples at a time\n",
      "micro_batch_size: <number>\n",
      "x_micro_batch_size=7\n",
      "micro_batch_size_per_node=7\n",
      "if micro_batch_size == 7:\n",
      "micro_batch_size\n",
  };
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    struct sample_job sample;
    sample_log(&sample, *state, lines[i]);
    if (wo_facts_setting(&sample.facts, WO_VIEW("micro_batch"))) fail_msg("%s", lines[i]);
    sample_done(&sample);
  }
}

static void test_texts_and_maps(void **state) {
  static const struct {
    const char *log;
    const char *fact;
    const char *text;
  } rows[] = {
      {"gradient_checkpointing=True\n", "config.checkpointing", "full"},
      {"gradient_checkpointing: true\n", "config.checkpointing", "full"}, /* case is ignored */
      {"--gradient_checkpointing 1\n", "config.checkpointing", "full"},
      {"--gradient_checkpointing False\n", "config.checkpointing", "none"},
      {"--model_name_or_path /models/a-7b\n", "config.model_name", "/models/a-7b"},
      {"\"model_name_or_path\": \"my models/a 7b\",\n", "config.model_name", "my models/a 7b"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) sample_expect_text(*state, rows[i].log, rows[i].fact, rows[i].text);
}

/* A key with a list of values knows no others. */
static void test_values_outside_the_map(void **state) {
  struct sample_job sample;
  sample_log(&sample, *state, "gradient_checkpointing=every_second\n");
  assert_false(sample_fact(&sample, "config.checkpointing").is_known);
  sample_done(&sample);
}

static void test_bools(void **state) {
  static const struct {
    const char *log;
    enum wo_truth truth;
  } rows[] = {
      {"cpu_offload=True\n", WO_TRUE},
      {"cpu_offload: true\n", WO_TRUE},
      {"--cpu_offload 1\n", WO_TRUE},
      {"cpu_offload: yes\n", WO_TRUE},
      {"cpu_offload=on\n", WO_TRUE},
      {"\"cpu_offload\": \"cpu\"\n", WO_TRUE},
      {"cpu_offload=False\n", WO_FALSE},
      {"\"cpu_offload\": false,\n", WO_FALSE},
      {"--cpu_offload=0\n", WO_FALSE},
      {"cpu_offload: no\n", WO_FALSE},
      {"cpu_offload: None\n", WO_FALSE},
      {"cpu_offload: null\n", WO_FALSE},
      {"cpu_offload: maybe\n", WO_UNDECIDED},
      {"nothing\n", WO_UNDECIDED},
      {"keep_on_card=true\n", WO_FALSE}, /* a key that means the opposite */
      {"keep_on_card=false\n", WO_TRUE},
      {"cpu_offload: false\n--cpu_offload 1\n", WO_TRUE},
      {"--cpu_offload 0\ncpu_offload: true\n", WO_FALSE},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    sample_expect_truth(*state, rows[i].log, "config.offload", rows[i].truth);
}

static void test_aliases(void **state) {
  const struct wo_knob *knob = wo_pack_knob(*state, WO_VIEW("micro_batch"));
  assert_non_null(knob);
  assert_ptr_equal(wo__facts_alias(knob, WO_VIEW("micro_batch_size")), &knob->aliases[1]);
  assert_ptr_equal(wo__facts_alias(knob, WO_VIEW("a.b.micro-batch-size")), &knob->aliases[1]);
  assert_null(wo__facts_alias(knob, WO_VIEW("a.b.micro_batch_size.c")));
  assert_null(wo__facts_alias(knob, WO_VIEW("Micro_Batch_Size")));
  assert_null(wo__facts_alias(knob, (struct wo_view){0}));
}

/* Every file of the job is asked. */
static void test_files(void **state) {
  static const struct sample_file files[] = {{"job.err", "nothing\n"},
                                             {"train.sbatch", "torchrun t.py --micro_batch_size 2\n"},
                                             {"train.yaml", "micro_batch_size: 4\n"}};
  struct sample_job sample;
  sample_read(&sample, *state, files, 3);
  const struct wo_setting *setting = wo_facts_setting(&sample.facts, WO_VIEW("micro_batch"));
  assert_non_null(setting);
  assert_int_equal(setting->event->span.file, 1);
  assert_int_equal(setting->value.number.mid, 2);
  assert_int_equal(sample.facts.setting_count, ((const struct wo_pack *)*state)->knob_count);
  sample_done(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_numbers_are_exact),
      cmocka_unit_test(test_styles),
      cmocka_unit_test(test_what_is_no_setting),
      cmocka_unit_test(test_texts_and_maps),
      cmocka_unit_test(test_bools),
      cmocka_unit_test(test_values_outside_the_map),
      cmocka_unit_test(test_aliases),
      cmocka_unit_test(test_files),
  };
  return cmocka_run_group_tests_name("settings", tests, load, sample_unload);
}
