/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that tell: which shapes of a job have the size of the refused request, and which only nearly have it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/facts/sizes.h"
#include "tests/support/job/job_sample.h"

/* A full card that refused `tried`. */
#define TRIED(tried) OOM_SAYS(tried, "0", "79.15 GiB", "1.00 GiB", "78.15 GiB", "77.00 GiB", "0.40 GiB")

#define SET(key, value) key "=" value ",\n"

/* Odd factors, so that nothing fits by chance: 6 x 1500 x 48000 x 4 B = 1.609 GiB. */
#define LM SET("micro_batch_size", "6") SET("seq_length", "1500") SET("vocab_size", "48000") SET("hidden_size", "2880")

static const struct {
  const char *name;
  const char *log;
  const char *id;      /* of the first reading; NULL: none */
  const char *formula; /* NULL: any */
  size_t count;
  bool is_specific;
} rows[] = {
    {"fp32 logits", LM TRIED("1.61 GiB"), "logits-fp32", "6 x 1500 x 48000 x 4 B (micro-batch x length x vocabulary)", 1, true},
    {"16-bit logits", LM TRIED("824.00 MiB"), "logits-16bit", "6 x 1500 x 48000 x 2 B (micro-batch x length x vocabulary)", 1,
     true},
    {"one step of the last digit below", LM TRIED("1.60 GiB"), NULL, NULL, 0, false},
    {"one step above", LM TRIED("1.62 GiB"), NULL, NULL, 0, false},
    {"before the allocator rounds up to 2 MiB", LM TRIED("823.97 MiB"), NULL, NULL, 0, false},
    {"shifted by one, where the plain size is another",
     SET("micro_batch_size", "7") SET("seq_length", "33") SET("vocab_size", "1000003") TRIED("856.00 MiB"), "logits-fp32",
     "7 x 32 x 1000003 x 4 B (micro-batch x length less one x vocabulary)", 1, true},
    {"prompt and response",
     SET("ppo_micro_batch_size_per_gpu", "3") SET("max_prompt_length", "700") SET("max_response_length", "1100")
         SET("vocab_size", "152064") TRIED("3.06 GiB"),
     "logits-fp32", "3 x 1800 x 152064 x 4 B (micro-batch x prompt and response x vocabulary)", 1, true},
    {"the response alone",
     SET("ppo_micro_batch_size_per_gpu", "3") SET("max_prompt_length", "700") SET("max_response_length", "1100")
         SET("vocab_size", "152064") TRIED("1.87 GiB"),
     "logits-fp32", "3 x 1100 x 152064 x 4 B (micro-batch x response x vocabulary)", 1, true},
    {"a token budget", SET("ppo_max_token_len_per_gpu", "9000") SET("vocab_size", "152064") TRIED("5.10 GiB"), "logits-fp32",
     "9000 x 152064 x 4 B (token budget x vocabulary)", 1, true},
    {"a card's part of the vocabulary", LM SET("tensor_model_parallel_size", "4") TRIED("412.00 MiB"), "logits-fp32",
     "6 x 1500 x 12000 x 4 B (micro-batch x length x vocabulary / tensor parallel)", 1, true},
    {"the rollout engine divides something else",
     LM SET("actor_rollout_ref.rollout.tensor_model_parallel_size", "4") TRIED("412.00 MiB"), NULL, NULL, 0, false},
    {"attention scores",
     SET("micro_batch_size", "3") SET("seq_length", "6000") SET("num_attention_heads", "20") TRIED("8.05 GiB"),
     "attention-scores-fp32", "3 x 20 x 6000 x 6000 x 4 B (micro-batch x heads x length x length)", 1, true},
    {"the inner width",
     SET("micro_batch_size", "9") SET("seq_length", "5000") SET("intermediate_size", "11008") TRIED("946.00 MiB"),
     "feed-forward-16bit", NULL, 1, true},
    {"powers of two coincide",
     SET("micro_batch_size", "8") SET("seq_length", "4096") SET("num_attention_heads", "32") SET("hidden_size", "4096")
         TRIED("512.00 MiB"),
     "hidden-states-fp32", NULL, 1, false},
    {"a number for each parameter", "model: 355,012,609 parameters\n" TRIED("1356.00 MiB"), "parameters-fp32",
     "355012609 x 4 B (parameters)", 1, true},
    {"a count with few digits is none", "number of parameters: 355M\n" TRIED("1356.00 MiB"), NULL, NULL, 0, false},
    {"an embedding", SET("vocab_size", "152064") SET("hidden_size", "3584") TRIED("2.03 GiB"), "embedding-fp32",
     "152064 x 3584 x 4 B (vocabulary x hidden size)", 1, true},
    {"no shapes", TRIED("2.03 GiB"), NULL, NULL, 0, false},
    {"no vocabulary", SET("micro_batch_size", "6") SET("seq_length", "1500") TRIED("1.61 GiB"), NULL, NULL, 0, false},
    {"small requests are not told apart", LM TRIED("20.00 MiB"), NULL, NULL, 0, false},
};

static void test_readings(void **state) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct sample_job sample;
    struct wo_sizes sizes;
    sample_log(&sample, *state, rows[i].log);
    sizes = *sample.facts.sizes;
    const struct wo_size_reading *const first = &sizes.readings[0];
    if (sizes.reading_count != rows[i].count || sizes.match_count != rows[i].count) {
      fail_msg("%s: %zu readings, first %.*s %.*s", rows[i].name, sizes.match_count, (int)first->id.len, first->id.ptr,
               (int)first->formula.len, first->formula.ptr);
    }
    if (rows[i].id && !wo_view_is(first->id, rows[i].id)) fail_msg("%s: %.*s", rows[i].name, (int)first->id.len, first->id.ptr);
    if (rows[i].formula && !wo_view_is(first->formula, rows[i].formula)) {
      fail_msg("%s: %.*s", rows[i].name, (int)first->formula.len, first->formula.ptr);
    }
    if (rows[i].id && first->is_specific != rows[i].is_specific) fail_msg("%s: specific", rows[i].name);
    sample_done(&sample);
  }
}

/* Shapes of the table are used, and named as assumed; printed ones are not. */
static void test_assumed(void **state) {
  struct sample_job sample;
  struct wo_sizes sizes;
  sample_log(&sample, *state,
             SET("model_name_or_path", "Qwen/Qwen2.5-7B") SET("micro_batch_size", "3") SET("seq_length", "1800")
                 TRIED("3.06 GiB"));
  sizes = *sample.facts.sizes;
  assert_int_equal(sizes.reading_count, 1);
  assert_int_equal(sizes.readings[0].assumed_count, 1);
  assert_true(wo_view_is(sizes.readings[0].assumed[0], "vocabulary 152064 from the table of known shapes: qwen2.5-7b"));
  assert_true(
      sample_text_is(&sample, "size.reading",
                     "the fp32 logits: 3.06 GiB = 3 x 1800 x 152064 x 4 B (micro-batch x length x vocabulary), vocabulary "
                     "152064 from the table of known shapes: qwen2.5-7b"));
  sample_done(&sample);
  sample_log(&sample, *state,
             SET("vocab_size", "152064") SET("micro_batch_size", "3") SET("seq_length", "1800") TRIED("3.06 GiB"));
  sizes = *sample.facts.sizes;
  assert_int_equal(sizes.readings[0].assumed_count, 0);
  sample_done(&sample);
}

/* Several readings fit: all are listed, the one that the frames show first. */
static void test_coincidence(void **state) {
  static const char shapes[] =
      SET("micro_batch_size", "6") SET("seq_length", "2500") SET("vocab_size", "50000") SET("num_attention_heads", "20");
  struct sample_job sample;
  struct wo_sizes sizes;
  char log[2048];
  /* 6 x 2500 x 50000 and 6 x 20 x 2500 x 2500 are the same */
  snprintf(log, sizeof log, "%s%s", shapes, TRIED("2.79 GiB"));
  sample_log(&sample, *state, log);
  sizes = *sample.facts.sizes;
  assert_int_equal(sizes.match_count, 2);
  assert_true(sizes.tried_count > 2);
  assert_true(sample_fact(&sample, "size.is_logits").truth == WO_TRUE);
  assert_true(sample_fact(&sample, "size.is_attention_scores").truth == WO_TRUE);
  sample_done(&sample);
  snprintf(log, sizeof log,
           "%sTraceback (most recent call last):\n  File \"/home/user/net.py\", line 7, in forward\n    p = f.softmax(s)\n  File "
           "\"/opt/env/lib/python3.11/site-packages/torch/nn/functional.py\", line 2142, in softmax\n    ret = "
           "input.softmax(dim)\n%s",
           shapes, TRIED("2.79 GiB"));
  sample_log(&sample, *state, log);
  sizes = *sample.facts.sizes;
  assert_int_equal(sizes.match_count, 2);
  assert_true(wo_view_is(sizes.readings[0].id, "attention-scores-fp32"));
  sample_done(&sample);
}

static const struct {
  const char *name;
  const char *log;
  const char *fact;
  enum wo_truth truth;
} fact_rows[] = {
    {"the logits fit", LM TRIED("1.61 GiB"), "size.is_logits", WO_TRUE},
    {"a smaller batch could be meant", LM TRIED("1.20 GiB"), "size.is_logits", WO_UNDECIDED},
    {"more than all logits", LM TRIED("2.10 GiB"), "size.is_logits", WO_FALSE},
    {"no vocabulary, no statement", SET("micro_batch_size", "6") SET("seq_length", "1500") TRIED("2.10 GiB"), "size.is_logits",
     WO_UNDECIDED},
    {"powers of two are no proof",
     SET("micro_batch_size", "8") SET("seq_length", "2048") SET("num_attention_heads", "16") TRIED("2.00 GiB"),
     "size.is_attention_scores", WO_UNDECIDED},
    {"parameters", "model: 355,012,609 parameters\n" TRIED("1356.00 MiB"), "size.is_optimizer_step", WO_TRUE},
    {"no parameters", LM TRIED("1.61 GiB"), "size.is_optimizer_step", WO_UNDECIDED},
    {"a KV cache of a batch",
     SET("micro_batch_size", "3") SET("seq_length", "9000") SET("num_hidden_layers", "28") SET("num_key_value_heads", "4")
         SET("head_dim", "128") TRIED("1478.00 MiB"),
     "size.is_kv_cache", WO_TRUE},
};

static void test_facts(void **state) {
  for (size_t i = 0; i < sizeof fact_rows / sizeof fact_rows[0]; i++)
    sample_expect_truth(*state, fact_rows[i].log, fact_rows[i].fact, fact_rows[i].truth);
}

/* Other allocators print the bytes that were asked for; a message without a size gives no request at all. */
static void test_exact_bytes(void **state) {
  struct sample_job sample;
  struct wo_sizes sizes;
  sample_log(
      &sample, *state,
      LM "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1728000000 bytes.\n");
  sizes = *sample.facts.sizes;
  assert_int_equal(sizes.reading_count, 1);
  assert_true(wo_view_is(sizes.readings[0].id, "logits-fp32"));
  sample_done(&sample);
  sample_log(
      &sample, *state,
      LM "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1728002000 bytes.\n");
  sizes = *sample.facts.sizes;
  assert_int_equal(sizes.reading_count, 0);
  sample_done(&sample);
  sample_log(&sample, *state, LM "RuntimeError: CUDA error: out of memory\n");
  sizes = *sample.facts.sizes;
  assert_false(sizes.has_request);
  assert_null(sample.report->request);
  sample_done(&sample);
}

/* Sharded parameters are a part for each rank. */
static void test_sharded(void **state) {
  struct sample_job sample;
  struct wo_sizes sizes;
  sample_log(
      &sample, *state,
      SET("zero_stage",
          "3") "model: 7,000,000,001 parameters\n[rank6]: Traceback (most recent call last):\n[rank6]: " TRIED("3.73 GiB"));
  sizes = *sample.facts.sizes;
  const double ranks = sample_number(&sample, "job.ranks");
  assert_true(ranks == 7);
  assert_int_equal(sizes.reading_count, 1);
  assert_true(wo_view_is(sizes.readings[0].formula, "1000000001 x 4 B (parameters / ranks)"));
  sample_done(&sample);
}

/* However many settings there are, no more readings are kept than there is room for. */
static void test_bounds(void **state) {
  struct sample_job sample;
  struct wo_sizes sizes;
  sample_log(&sample, *state,
             SET("micro_batch_size", "8") SET("log_prob_micro_batch_size_per_gpu", "16") SET("decode_samples", "32")
                 SET("seq_length", "4096") SET("max_prompt_length", "1024") SET("max_response_length", "2048")
                     SET("num_attention_heads", "32") SET("hidden_size", "4096") SET("intermediate_size", "8192")
                         SET("vocab_size", "65536") "model: 268,435,456 parameters\n" TRIED("1.00 GiB"));
  sizes = *sample.facts.sizes;
  assert_true(sizes.reading_count <= WO_LIMIT_SIZE_READINGS);
  assert_true(sizes.match_count >= sizes.reading_count && sizes.tried_count > sizes.match_count);
  for (size_t i = 0; i < sizes.reading_count; i++) {
    assert_false(sizes.readings[i].is_specific);
    assert_true(sizes.readings[i].bytes == WO_GIB);
  }
  sample_done(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_readings), cmocka_unit_test(test_assumed),     cmocka_unit_test(test_coincidence),
      cmocka_unit_test(test_facts),    cmocka_unit_test(test_exact_bytes), cmocka_unit_test(test_sharded),
      cmocka_unit_test(test_bounds),
  };
  return cmocka_run_group_tests_name("sizes", tests, sample_load_all, sample_unload);
}
