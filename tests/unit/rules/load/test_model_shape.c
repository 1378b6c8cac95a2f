/* SPDX-License-Identifier: Apache-2.0 */
/* The table of known models: every shape adds up to its published count, names lead to the right one, and wrong tables are
 * refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rules/load/model_shape.h"
#include "rules/check/rule_check.h"
#include "tests/support/job/job_sample.h"

static void test_every_shape_adds_up(void **state) {
  const struct wo_pack *const pack = *state;
  assert_true(pack->model_count >= 40);
  for (size_t i = 0; i < pack->model_count; i++) {
    const struct wo_model_shape *const shape = &pack->models[i];
    const double sum = wo_model_shape_parameters(shape);
    if (sum != shape->parameters) {
      fail_msg("%.*s: %.0f, published %.0f", (int)shape->id.len, shape->id.ptr, sum, shape->parameters);
    }
    if (shape->heads < shape->kv_heads) fail_msg("%.*s: heads", (int)shape->id.len, shape->id.ptr);
  }
}

/* Counts worked out by hand, one for each way in which a layer can be built. */
static void test_counts(void **state) {
  (void)state;
  struct wo_model_shape shape = {.architecture = WO_VIEW("llama"),
                                 .layers = 2,
                                 .hidden = 8,
                                 .intermediate = 16,
                                 .heads = 4,
                                 .kv_heads = 2,
                                 .head_dim = 2,
                                 .vocab = 10};
  /* attention 8*8 + 2*8*4 + 8*8 = 192, feed-forward 3*8*16 = 384, norms 16; twice; two tables of 80 and a norm of 8 */
  assert_true(wo_model_shape_parameters(&shape) == 2 * (192 + 384 + 16) + 160 + 8);
  shape.is_tied = true;
  assert_true(wo_model_shape_parameters(&shape) == 2 * (192 + 384 + 16) + 80 + 8);
  shape.architecture = WO_VIEW("qwen2"); /* biases of queries (8), keys and values (4 each) */
  assert_true(wo_model_shape_parameters(&shape) == 2 * (192 + 16 + 384 + 16) + 80 + 8);
  shape.architecture = WO_VIEW("llama");
  shape.experts.count = 3; /* each with a column of the router */
  assert_true(wo_model_shape_parameters(&shape) == 2 * (192 + 3 * (384 + 8) + 16) + 80 + 8);
  shape.architecture = WO_VIEW("mamba");
  assert_true(wo_model_shape_parameters(&shape) == 0);
}

static const struct {
  const char *name;
  const char *id; /* NULL: none */
} name_rows[] = {
    {"Qwen/Qwen2.5-7B", "qwen2.5-7b"},
    {"/data/models/qwen2.5-7b-instruct/", "qwen2.5-7b"},
    {"Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "qwen2.5-7b"},
    {"Qwen2.5-72B", "qwen2.5-72b"},
    {"Qwen2.5-7B-13B", NULL},
    {"Qwen2.5-VL-7B-Instruct", NULL},
    {"Qwen2.5-7B-mymerge", NULL},
    {"meta-llama/Llama-3.1-8B", "llama-3.1-8b"},
    {"meta-llama/Meta-Llama-3-8B-Instruct", "llama-3-8b"},
    {"/hub/models--meta-llama--Llama-3.2-1B/snapshots/4e20de36", "llama-3.2-1b"},
    {"gpt2", "gpt2"},
    {"gpt2-medium", "gpt2-medium"},
    {"gpt2-chinese-cluecorpussmall", NULL},
    {"gpt2/checkpoint-100", NULL},
    {"opt-1.3b", "opt-1.3b"},
    {"opt-1.3", NULL},
    {"t5-3b", "t5-3b"},
    {"bert-base-uncased", "bert-base-uncased"},
    {"bert-base-multilingual", NULL},
    {"models--", NULL},
    {"/", NULL},
    {"", NULL},
};

static void test_names(void **state) {
  for (size_t i = 0; i < sizeof name_rows / sizeof name_rows[0]; i++) {
    const struct wo_model_shape *const shape = wo_model_shape_find(*state, wo_view_of(name_rows[i].name));
    const bool is_right = name_rows[i].id ? shape && wo_view_is(shape->id, name_rows[i].id) : shape == NULL;
    if (!is_right) fail_msg("%s: %.*s", name_rows[i].name, shape ? (int)shape->id.len : 4, shape ? shape->id.ptr : "none");
  }
}

static enum wo_status load(const char *text, enum wo_load_depth depth, struct wo_pack **ret_pack, struct wo_err *err) {
  const struct wo_rule_file file = {.name = "own.json", .data = text, .size = strlen(text)};
  return wo_pack_load(&file, 1, depth, ret_pack, err);
}

#define REST "\"layers\": 2, \"hidden\": 8, \"intermediate\": 16, \"heads\": 4, \"kv_heads\": 2, \"head_dim\": 2, \"vocab\": 10"

static void test_wrong_tables_are_refused(void **state) {
  (void)state;
  static const char *const texts[] = {
      "{\"model\": \"a\", \"parameters\": 5}",
      "{\"model\": \"a\", \"parameters\": 0, " REST "}",
      "{\"model\": \"a\", \"parameters\": 1.5, " REST "}",
      "{\"model\": \"a\", \"parameters\": \"7B\", " REST "}",
      "{\"model\": \"a\", \"parameters\": -4, " REST "}",
      "{\"model\": \"a\", \"parameters\": 1e20, " REST "}",
      "{\"model\": \"a\", \"parameters\": 5, \"width\": 3, " REST "}",
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    struct wo_pack *pack = NULL;
    struct wo_err err = {0};
    if (load(texts[i], WO_LOAD_ALL, &pack, &err) == WO_OK) fail_msg("accepted: %s", texts[i]);
    assert_int_equal(err.line, 1);
  }
}

static void count_complaint(void *context, const struct wo_err *complaint) {
  if (strstr(complaint->message, "has 1352 parameters, not 1361")) ++*(size_t *)context;
  if (strstr(complaint->message, "unknown architecture")) *(size_t *)context += 10;
}

static void test_lint_counts_again(void **state) {
  (void)state;
  struct wo_pack *pack = NULL;
  struct wo_err err = {0};
  size_t seen = 0;
  assert_int_equal(load("[{\"model\": \"a\", \"names\": [\"a\"], \"architecture\": \"llama\", \"source\": \"x\", \"parameters\": "
                        "1361, \"tied\": false, " REST "}, {\"model\": \"b\", \"names\": [\"b\"], \"architecture\": \"other\", "
                        "\"source\": \"x\", \"parameters\": 1352, " REST "}]",
                        WO_LOAD_ALL, &pack, &err),
                   WO_OK);
  wo_pack_check(pack, count_complaint, &seen);
  wo_pack_free(pack);
  assert_int_equal(seen, 11);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_shape_adds_up),
      cmocka_unit_test(test_counts),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_wrong_tables_are_refused),
      cmocka_unit_test(test_lint_counts_again),
  };
  return cmocka_run_group_tests_name("model_shape", tests, sample_load_all, sample_unload);
}
