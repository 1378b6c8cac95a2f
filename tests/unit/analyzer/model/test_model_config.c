/* SPDX-License-Identifier: Apache-2.0 */
/* config.json and safetensors headers: the shape, the count, and what is no such file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/model/model_config.h"
#include "parsers/base/view.h"
#include "tests/support/failing_alloc.h"

static enum wo_status read_text(const char *json, struct wo_model_shape *shape, struct wo_err *err) {
  struct wo_arena arena;
  wo_arena_init(&arena, 4096);
  *err = (struct wo_err){.code = WO_OK};
  const enum wo_status status = wo_model_config_read(wo_view_of(json), &arena, shape, err);
  wo_arena_done(&arena);
  return status;
}

/* Published configurations, cut to the keys that matter, and the published counts. */
static void test_counts(void **state) {
  (void)state;
  static const struct {
    const char *json;
    double parameters;
  } rows[] = {
      {"{\"model_type\": \"llama\", \"hidden_size\": 4096, \"intermediate_size\": 14336, \"num_attention_heads\": 32, "
       "\"num_hidden_layers\": 32, \"num_key_value_heads\": 8, \"vocab_size\": 128256, \"tie_word_embeddings\": false}",
       8030261248},
      {"{\"model_type\": \"mistral\", \"hidden_size\": 4096, \"intermediate_size\": 14336, \"num_attention_heads\": 32, "
       "\"num_hidden_layers\": 32, \"num_key_value_heads\": 8, \"vocab_size\": 32000, \"head_dim\": null}",
       7241732096},
      {"{\"model_type\": \"qwen2\", \"hidden_size\": 896, \"intermediate_size\": 4864, \"num_attention_heads\": 14, "
       "\"num_hidden_layers\": 24, \"num_key_value_heads\": 2, \"vocab_size\": 151936, \"tie_word_embeddings\": true}",
       494032768},
      {"{\"model_type\": \"gemma\", \"hidden_size\": 2048, \"intermediate_size\": 16384, \"num_attention_heads\": 8, "
       "\"head_dim\": 256, "
       "\"num_hidden_layers\": 18, \"num_key_value_heads\": 1, \"vocab_size\": 256000}",
       2506172416},
      {"{\"model_type\": \"gpt2\", \"n_embd\": 768, \"n_head\": 12, \"n_layer\": 12, \"n_positions\": 1024, \"vocab_size\": "
       "50257, "
       "\"n_inner\": null}",
       124439808},
      {"{\"model_type\": \"gpt_neox\", \"hidden_size\": 2048, \"intermediate_size\": 8192, \"num_attention_heads\": 16, "
       "\"num_hidden_layers\": 24, \"vocab_size\": 50304, \"tie_word_embeddings\": false}",
       1414647808},
      {"{\"model_type\": \"opt\", \"hidden_size\": 2048, \"ffn_dim\": 8192, \"num_attention_heads\": 32, \"num_hidden_layers\": "
       "24, "
       "\"max_position_embeddings\": 2048, \"vocab_size\": 50272}",
       1315758080},
      {"{\"model_type\": \"qwen3_moe\", \"hidden_size\": 2048, \"intermediate_size\": 6144, \"num_attention_heads\": 32, "
       "\"head_dim\": 128, \"num_hidden_layers\": 48, \"num_key_value_heads\": 4, \"vocab_size\": 151936, \"num_experts\": 128, "
       "\"num_experts_per_tok\": 8, \"moe_intermediate_size\": 768, \"decoder_sparse_step\": 1, \"sliding_window\": null}",
       30532122624},
      {"{\"model_type\": \"deepseek_v2\", \"hidden_size\": 2048, \"intermediate_size\": 10944, \"num_attention_heads\": 16, "
       "\"num_hidden_layers\": 27, \"num_key_value_heads\": 16, \"vocab_size\": 102400, \"n_routed_experts\": 64, "
       "\"n_shared_experts\": 2, \"num_experts_per_tok\": 6, \"moe_intermediate_size\": 1408, \"first_k_dense_replace\": 1, "
       "\"kv_lora_rank\": 512, \"q_lora_rank\": null, \"qk_nope_head_dim\": 128, \"qk_rope_head_dim\": 64, \"v_head_dim\": 128}",
       15706484224},
      {"{\"model_type\": \"gemma3_text\", \"hidden_size\": 1152, \"intermediate_size\": 6912, \"num_attention_heads\": 4, "
       "\"head_dim\": 256, \"num_hidden_layers\": 26, \"num_key_value_heads\": 1, \"vocab_size\": 262144, \"sliding_window\": "
       "512}",
       999885952},
      {"{\"model_type\": \"a-vision-model\", \"text_config\": {\"model_type\": \"qwen3\", \"hidden_size\": 1024, "
       "\"intermediate_size\": 3072, \"num_attention_heads\": 16, \"head_dim\": 128, \"num_hidden_layers\": 28, "
       "\"num_key_value_heads\": 8, \"vocab_size\": 151936, \"tie_word_embeddings\": true}}",
       596049920},
      {"{\"model_type\": \"unheard-of\", \"hidden_size\": 64, \"num_attention_heads\": 4, \"num_hidden_layers\": 2}", 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_model_shape shape;
    struct wo_err err;
    if (read_text(rows[i].json, &shape, &err) != WO_OK) fail_msg("%s: %s", rows[i].json, err.message);
    if (shape.parameters != rows[i].parameters) fail_msg("%s: %.0f", rows[i].json, shape.parameters);
  }
}

static void test_refused(void **state) {
  (void)state;
  static const struct {
    const char *json;
    enum wo_status status;
    const char *words;
  } rows[] = {
      {"", WO_E_SYNTAX, "JSON object"},
      {"[1]", WO_E_SYNTAX, "JSON object"},
      {"{\"model_type\": \"llama\"", WO_E_SYNTAX, "JSON object"},
      {"{\"model_type\": \"llama\"}", WO_E_UNKNOWN, "num_hidden_layers"},
      {"{\"hidden_size\": -1, \"num_attention_heads\": 4, \"num_hidden_layers\": 2}", WO_E_RANGE, "hidden_size"},
      {"{\"hidden_size\": 64, \"num_attention_heads\": 4, \"num_hidden_layers\": 1e300}", WO_E_RANGE, "num_hidden_layers"},
      {"{\"hidden_size\": 64, \"num_attention_heads\": 4, \"num_key_value_heads\": 8, \"num_hidden_layers\": 2}", WO_E_RANGE,
       "num_key_value_heads"},
      {"{\"hidden_size\": 64, \"num_attention_heads\": 4, \"num_hidden_layers\": 2, \"num_experts\": 4, \"num_experts_per_tok\": "
       "8}",
       WO_E_RANGE, "experts"},
      {"{\"hidden_size\": 64.5, \"num_attention_heads\": 4, \"num_hidden_layers\": 2}", WO_E_RANGE, "64.5"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_model_shape shape;
    struct wo_err err;
    assert_int_equal(read_text(rows[i].json, &shape, &err), rows[i].status);
    if (!strstr(err.message, rows[i].words)) fail_msg("%s: %s", rows[i].json, err.message);
  }
}

/* Windows, formats, and what files of a text within another model leave out. */
static void test_details(void **state) {
  (void)state;
#define SMALL "\"hidden_size\": 64, \"num_attention_heads\": 4, \"num_hidden_layers\": 6, \"vocab_size\": 10"
  static const struct {
    const char *json;
    double window, full_every;
    const char *dtype, *quantised;
  } rows[] = {
      {"{\"model_type\": \"llama\", " SMALL "}", 0, 0, "", ""},
      {"{\"model_type\": \"mistral\", \"sliding_window\": 4096, " SMALL "}", 4096, 0, "", ""},
      {"{\"model_type\": \"qwen2\", \"use_sliding_window\": false, \"sliding_window\": 4096, " SMALL "}", 0, 0, "", ""},
      {"{\"model_type\": \"gemma2\", \"sliding_window\": 4096, " SMALL "}", 4096, 2, "", ""},
      {"{\"model_type\": \"gpt_oss\", \"sliding_window\": 128, \"layer_types\": [\"sliding_attention\", "
       "\"full_attention\"], " SMALL "}",
       128, 2, "", ""},
      {"{\"model_type\": \"qwen3\", \"sliding_window\": 128, \"layer_types\": [\"full_attention\", \"full_attention\"], " SMALL
       "}",
       0, 0, "", ""},
      {"{\"model_type\": \"qwen3\", \"sliding_window\": 128, \"layer_types\": [1, null], " SMALL "}", 128, 0, "", ""},
      {"{\"model_type\": \"llama\", \"torch_dtype\": \"bfloat16\", \"quantization_config\": {\"quant_method\": \"fp8\"}, " SMALL
       "}",
       0, 0, "bfloat16", "fp8"},
      {"{\"dtype\": \"bfloat16\", \"text_config\": {\"model_type\": \"gemma3_text\", \"hidden_size\": 2560, "
       "\"num_hidden_layers\": 34, \"sliding_window\": 1024}}",
       1024, 6, "bfloat16", ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct wo_arena arena;
    struct wo_model_shape shape;
    struct wo_err err = {0};
    wo_arena_init(&arena, 4096);
    assert_int_equal(wo_model_config_read(wo_view_of(rows[i].json), &arena, &shape, &err), WO_OK);
    if (shape.window != rows[i].window || shape.full_every != rows[i].full_every)
      fail_msg("%s: %g, %g", rows[i].json, shape.window, shape.full_every);
    assert_true(wo_view_is(shape.dtype, rows[i].dtype) && wo_view_is(shape.quantised, rows[i].quantised));
    if (i + 1 == sizeof rows / sizeof rows[0]) {
      assert_true(shape.heads == 8 && shape.kv_heads == 4 && shape.head_dim == 256 && shape.vocab == 262208);
    }
    wo_arena_done(&arena);
  }
}

static void test_tensors(void **state) {
  (void)state;
  struct wo_model_tensors tensors = {.parameters = 0};
  struct wo_err err = {.code = WO_OK};
  assert_int_equal(
      wo_model_tensors_add(WO_VIEW("{\"__metadata__\": {\"format\": \"pt\"}, \"a\": {\"dtype\": \"BF16\", \"shape\": [100, 50], "
                                   "\"data_offsets\": [0, 10000]}, \"b\": {\"dtype\": \"F32\", \"shape\": []}}"),
                           &tensors, &err),
      WO_OK);
  assert_true(tensors.parameters == 5001);
  static const char *const wrong[] = {
      "", "7", "{\"a\": 1}", "{\"a\": {\"shape\": [-1]}}", "{\"a\": {\"shape\": [1e300]}}", "{\"a\": {\"shape\": [1e9, 1e9]}}"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    assert_int_equal(wo_model_tensors_add(wo_view_of(wrong[i]), &tensors, &err), WO_E_SYNTAX);
    assert_true(tensors.parameters == 5001);
  }
}

/* ---- Files ---- */

static void write_file(const char *folder, const char *name, const void *bytes, size_t size) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *const file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static const char config[] =
    "{\"model_type\": \"unheard-of\", \"hidden_size\": 64, \"num_attention_heads\": 4, \"num_hidden_layers\": 2}";
static const char header[] = "{\"a\": {\"dtype\": \"F16\", \"shape\": [10, 5]}}";

static void write_tensors(const char *folder, const char *name, size_t stated) {
  char bytes[128];
  for (int i = 0; i < 8; i++) bytes[i] = (char)(stated >> 8 * i & 0xff);
  memcpy(bytes + 8, header, sizeof header - 1);
  write_file(folder, name, bytes, 8 + sizeof header - 1);
}

static void test_folder(void **state) {
  (void)state;
  char folder[] = "/tmp/whyoom-model-XXXXXX", path[256];
  struct wo_model_shape shape;
  struct wo_model_tensors tensors;
  struct wo_err err = {.code = WO_OK};
  struct wo_arena arena;
  wo_arena_init(&arena, 65536);
  assert_non_null(mkdtemp(folder));
  assert_int_equal(wo_model_path_read(folder, &arena, &shape, &tensors, &err), WO_E_IO);
  write_file(folder, "config.json", config, sizeof config - 1);
  write_tensors(folder, "model-00001-of-00002.safetensors", sizeof header - 1);
  write_tensors(folder, "model-00002-of-00002.safetensors", sizeof header - 1);
  write_tensors(folder, "consolidated.safetensors", sizeof header - 1);
  assert_int_equal(wo_model_path_read(folder, &arena, &shape, &tensors, &err), WO_OK);
  assert_true(shape.layers == 2 && tensors.parameters == 100);
  static const size_t wrong[] = {sizeof header, (size_t)1 << 40, (size_t)-1};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    write_tensors(folder, "cut.safetensors", wrong[i]);
    assert_int_not_equal(wo_model_path_read(folder, &arena, &shape, &tensors, &err), WO_OK);
    assert_non_null(strstr(err.file, "cut.safetensors"));
  }
  for (size_t n = 1; n < 30; n++) {
    wo_fail_alloc_at((long)n);
    const enum wo_status status = wo_model_path_read(folder, &arena, &shape, &tensors, &err);
    wo_fail_alloc_off();
    assert_int_not_equal(status, WO_OK);
  }
  static const char *const names[] = {"config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                                      "consolidated.safetensors", "cut.safetensors"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    unlink(path);
  }
  rmdir(folder);
  wo_arena_done(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts), cmocka_unit_test(test_refused),
                                     cmocka_unit_test(test_details), cmocka_unit_test(test_tensors),
                                     cmocka_unit_test(test_folder)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
