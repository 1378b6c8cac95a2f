/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that a terminal wrapped: which are joined, which must not be, and where evidence in them stands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/base/limits.h"
#include "parsers/scan/wrap/wrap.h"
#include "tests/support/job/scan_sample.h"

/* A traceback as it is printed. */
static const char failure[] =
    "starting training of the tiny model on one card\n"
    "Traceback (most recent call last):\n"
    "  File \"/home/kim/projects/segmentation/experiments/2031/train_distributed.py\", line 231, in <module>\n"
    "    main(parse_arguments())\n"
    "  File \"/home/kim/projects/segmentation/experiments/2031/train_distributed.py\", line 198, in main\n"
    "    losses = trainer.run_one_epoch(model, optimizer, scheduler, loader, step_offset=epoch * steps_per_epoch)\n"
    "  File \"/opt/conda/envs/seg/lib/python3.10/site-packages/torch/nn/modules/module.py\", line 1553, in _wrapped_call_impl\n"
    "    return self._call_impl(*args, **kwargs)\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.69 GiB of which "
    "1.19 GiB is free. Including non-PyTorch memory, this process has 22.49 GiB memory in use. Of the allocated memory 21.50 GiB "
    "is allocated by PyTorch, and 540.00 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large "
    "try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.\n";

static bool is_start(char c) {
  return ((unsigned char)c & 0xc0) != 0x80;
}

/* Appends the text as a console of that width shows it: so many characters, then a line end. */
static void wrap(struct sample_log *log, const char *text, size_t width, const char *line_end) {
  size_t column = 0;
  for (; *text != '\0'; text++) {
    if (*text == '\n') {
      sample_say(log, line_end);
      column = 0;
      continue;
    }
    if (is_start(*text) && column++ == width) {
      sample_say(log, line_end);
      column = 1;
    }
    sample_put(log, text, 1);
  }
}

/* The lines that the scanner would see. */
static struct sample_log unwrap(void **state, struct wo_view log, size_t *ret_joined) {
  const struct sample_patterns *const patterns = *state;
  struct wo_wrap *const lines = calloc(1, sizeof *lines);
  struct sample_log text = {0};
  assert_non_null(lines);
  wo_wrap_find(lines, wo_pattern_set_prefilter(patterns->set), log, true);
  *ret_joined = 0;
  for (size_t i = 0; i < lines->count; i++) {
    const struct wo_wrap_line *const line = &lines->lines[i];
    sample_put(&text, log.ptr + line->start, line->end - line->start);
    if (line->width == 0) sample_say(&text, "\n");
    *ret_joined += line->width > 0;
  }
  free(lines);
  return text;
}

/* What was wrapped at that width becomes what it was. */
static void expect_back(void **state, const char *text, size_t width, const char *line_end) {
  struct sample_log wrapped = {0};
  size_t joined = 0;
  wrap(&wrapped, text, width, line_end);
  struct sample_log back = unwrap(state, sample_view(&wrapped), &joined);
  const bool is_same = joined > 0 && wo_view_equal(sample_view(&back), wo_view_of(text));
  if (!is_same) print_error("width %zu, %zu joined:\n%.*s", width, joined, (int)back.len, back.text);
  assert_true(is_same);
  sample_free(&back);
  sample_free(&wrapped);
}

/* None of the lines is joined with the next. */
static void expect_apart(void **state, const char *text) {
  size_t joined = 0;
  struct sample_log back = unwrap(state, wo_view_of(text), &joined);
  if (joined > 0) print_error("%zu joined:\n%.*s", joined, (int)back.len, back.text);
  assert_true(joined == 0);
  sample_free(&back);
}

static void test_widths(void **state) {
  static const size_t widths[] = {22, 31, 40, 57, 78, 80, 100, 105, 120, 132, 169, 200};
  for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
    expect_back(state, failure, widths[i], "\n");
    expect_back(state, failure, widths[i], "\r\n");
  }
}

/* Characters count, not bytes. */
static void test_characters(void **state) {
  static const char text[] =
      "Das Modell wird auf die Karte geladen, was einige Zeit dauert: \xc3\xbc"
      "ber f\xc3\xbcnf Minuten w\xc3\xa4ren m\xc3\xb6glich\n"
      "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.76 GiB total capacity; 9.61 GiB already "
      "allocated; 12.56 MiB free; 9.70 GiB reserved in total by PyTorch)\n"
      "\xe6\xa8\xa1\xe5\x9e\x8b\xe5\xb7\xb2\xe5\x8d\xb8\xe8\xbd\xbd: out/run_7/checkpoints, \xe6\x98\xbe\xe5\xad\x98 freed\n";
  expect_back(state, text, 40, "\n");
  expect_back(state, text, 57, "\n");
}

/* What a wrapped text may end with: a line that is full, with a line end and without. */
static void test_last_line(void **state) {
  static const char text[] =
      "slurmstepd: error: Detected 1 oom_kill event in StepId=5512.0. Some of the step tasks have been OOM Killed, and ends";
  size_t joined = 0;
  struct sample_log log = {0};
  wrap(&log, text, 29, "\n");
  assert_true(log.len == 29 * 4 + 3);
  for (int has_end = 0; has_end < 2; has_end++) {
    struct sample_log back = unwrap(state, sample_view(&log), &joined);
    assert_true(joined == 3 && back.len == strlen(text) + 1);
    sample_free(&back);
    sample_say(&log, "\n");
  }
  sample_free(&log);
}

/* Texts whose lines have one width for another reason. */
static void test_apart(void **state) {
  expect_apart(state, "");
  expect_apart(state, "\n\n\n");
  expect_apart(state, "one line\n");
  expect_apart(state, "+-----------------------------------------------------------------------------+\n"
                      "| NVIDIA-SMI 470.82.01    Driver Version: 470.82.01    CUDA Version: 11.4     |\n"
                      "|-------------------------------+----------------------+----------------------+\n"
                      "| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |\n"
                      "| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |\n"
                      "|===============================+======================+======================|\n"
                      "|   0  Tesla V100-SXM2...  On   | 00000000:1A:00.0 Off |                    0 |\n"
                      "| N/A   34C    P0    56W / 300W |  30510MiB / 32510MiB |      0%      Default |\n"
                      "+-----------------------------------------------------------------------------+\n");
  expect_apart(state, "================================================================================\n"
                      "loading weights\n"
                      "================================================================================\n"
                      "epoch 1 of 3\n"
                      "--------------------------------------------------------------------------------\n"
                      "torch.OutOfMemoryError: CUDA out of memory.\n"
                      "********************************************************************************\n"
                      "********************************************************************************\n");
  expect_apart(state, "Epoch 1:  10%|###        | 10/100 [00:01<00:10,  9.02it/s, loss=2.311, lr=0.01]\n"
                      "Epoch 1:  11%|###        | 11/100 [00:01<00:10,  9.04it/s, loss=2.309, lr=0.01]\n"
                      "Epoch 1:  12%|####       | 12/100 [00:01<00:10,  9.05it/s, loss=2.302, lr=0.01]\n"
                      "done with the first part\n"
                      "Epoch 2:  10%|###        | 10/100 [00:01<00:10,  9.02it/s, loss=1.311, lr=0.01]\n"
                      "saved\n");
  expect_apart(state, "step 0100 loss 2.3011 lr 0.0100 grad 1.011\n"
                      "step 0110 loss 2.2011 lr 0.0100 grad 1.021\n"
                      "step 0120 loss 2.1011 lr 0.0100 grad 1.031\n"
                      "step 0130 loss 2.0011 lr 0.0100 grad 1.041\n"
                      "evaluating\n");
  expect_apart(state, "MIIEpAIBAAKCAQEA7bq2y0T1cV9sXkq0uJm3nQ8xZt4wLr5aPz6oKc2vDfYhGeSb\n"
                      "Wn0iUxRkM7dQa3LtJyEoHgVp1CzBs9XfTlNwK4mYuAqDjOrP8iSe5vGhZbx2cF6k\n"
                      "tR0yLqWaMnJ3pKzVdEoX7uHg1CsBfTiY9wQmNvU4kAjDxOrP8lSe5iGhZbt2cF6y\n"
                      "qQ==\n");
  /* Rows of figures, keys, and a table that is filled up with blanks. */
  expect_apart(state, " Etot   =   -471663.6712  EKtot   =     48980.6303  EPtot      =   -234080.7002\n"
                      " BOND   =    187056.0695  ANGLE   =     56314.8274  DIHED      =   -782048.0534\n"
                      " UB     =   -876297.6152  IMP     =     75372.2174  CMAP       =   -433162.7742\n"
                      " 1-4 NB =   -478204.2701  1-4 EEL =     89608.0352  VDWAALS    =    -53525.6865\n"
                      " EELEC  =    605630.6123  EHBOND  =     42871.7888  RESTRAINT  =    250322.6530\n"
                      " EKCMT  =   -628890.4368  VIRIAL  =     57137.4592  VOLUME     =    662481.5529\n"
                      " ----------------------------------------\n"
                      " Etot   =     41726.1787  EKtot   =     66712.6671  EPtot      =    308540.6557\n"
                      " BOND   =   -784743.4112  ANGLE   =     68240.7222  DIHED      =    163979.2493\n"
                      " UB     =   -357718.2129  IMP     =      2791.0576  CMAP       =    657949.0266\n"
                      " 1-4 NB =    -49051.6404  1-4 EEL =     64694.1532  VDWAALS    =    681863.0405\n"
                      " EELEC  =    385433.0705  EHBOND  =     82898.8801  RESTRAINT  =   -189065.8728\n"
                      " EKCMT  =    541635.7878  VIRIAL  =     40015.8950  VOLUME     =    784056.0991\n"
                      " ----------------------------------------\n");
  expect_apart(state, "b314f68d9dcbd7a085a368932ff2b2d409dd311ca871902316d9841aab4ccec3\n"
                      "8d79d89a0da0c41aebb8f010b8e9a5b5ab89c3049787a5d33aa7e52a6e87316a\n"
                      "58a2b4d98ebd9dd1d460fd71e9a72937116d10f35970d13a48f1b763357840fc\n"
                      "1878d1fa0141312f12fa5a2bcc9b86ad340c251bec1d1bfadde07682d7d40ab8\n"
                      "3e3c3a30f47c123c50a303f99217331a52757ec8bcbd2c7d5df4c453ffe54864\n"
                      "a79d86908fc65b7af4df6e0f2c1e77268768451851a5d2232891bea00aadcf26\n"
                      "fc4a382d3e83bbe983a3fb19545be334ad95ef95235cb388c141f87bace2bf34\n"
                      "833356dc44c65568b90edca9f9f06037f5e6661e3944e210b72f0aaab4212a62\n"
                      "6d7fa31d265cff2d6f90eece5e18bbebc7068b4e65605c50435ef510cead117c\n"
                      "1cf0773cf65a3b3198e9f780aba21d20302051f16a6fafb1c9c295d3cac5cb5b\n"
                      "de7efb85cf1450e23a711eeab026c3a93e267144037967da6e5213036823ec73\n"
                      "fbce39ec630e92ab6f2bd267b1a7de286a566edb6dfdf190530491f1668fd1be\n"
                      "6943e9de264f9cb5d9ef7b990ebb97004405106ebb1f5708da13e987fd8a10d1\n"
                      "574da480510f1eedb595243dbee88e94a41df7e80a3f4883d2b1fe69b5cca186\n"
                      "1aac914d8d2f76233092d8fe89157f5445ec04c1559644146c3dc508343494cb\n"
                      "260b4f72bf3af0bede9e4ec69595a86411d53053cb82eea46aebabba998537a7\n"
                      "9d8e4fa5e12dd917cc62b61f3dcb09bbceb3f4a70b20426ad9600aeb6ea3c7f4\n"
                      "996352d0bc0f5f84c6d9d9322ea20afd3ad7a6c2107257fc9be769a4bba6e1d9\n"
                      "6f653e3c6a51af7c17cbc7598b81a3679e557f66b75cd59eb12ef058df7cfbcf\n"
                      "53da4a3b49f4ebf1b6299ad90dbdfb5796c3a5af5ce6db31f655333cac82f8a7\n");
  expect_apart(state, "b1024.skip      35190       16        [4, 32, 1024, 1024]  float16  \n"
                      "b1024.conv0     16362       16        [4, 32, 1024, 1024]  float16  \n"
                      "b1024.conv1     28754       16        [4, 32, 1024, 1024]  float16  \n"
                      "b512.skip       15427       16        [4, 64, 512, 512]    float16  \n"
                      "b512.conv0      63486       16        [4, 64, 512, 512]    float16  \n"
                      "b512.conv1      49685       16        [4, 64, 512, 512]    float16  \n"
                      "b256.skip       57891       16        [4, 128, 256, 256]   float16  \n"
                      "b256.conv0      20329       16        [4, 128, 256, 256]   float16  \n"
                      "b256.conv1      35376       16        [4, 128, 256, 256]   float16  \n"
                      "b128.skip       49407       16        [4, 256, 128, 128]   float16  \n"
                      "b128.conv0      90343       16        [4, 256, 128, 128]   float16  \n"
                      "b128.conv1      25390       16        [4, 256, 128, 128]   float16  \n"
                      "b64.skip        35693       16        [4, 512, 64, 64]     float16  \n"
                      "b64.conv0       75887       16        [4, 512, 64, 64]     float16  \n"
                      "b64.conv1       67945       16        [4, 512, 64, 64]     float16  \n"
                      "b32.skip        27150       16        [4, 1024, 32, 32]    float16  \n"
                      "b32.conv0       88417       16        [4, 1024, 32, 32]    float16  \n"
                      "b32.conv1       30223       16        [4, 1024, 32, 32]    float16  \n");
  /* Broken between words: most lines are a little shorter than the longest. */
  expect_apart(state, "the trainer was given fewer tokens than it asks for in one step, so the\n"
                      "last batch of each epoch is smaller than the others and its gradients\n"
                      "are scaled by the number of samples that it has; this is what most of\n"
                      "the published runs did as well, and it makes no difference to the loss\n"
                      "after the first epochs, but the learning rate should be lowered a bit\n"
                      "if the number of workers is changed between two runs of one job\n");
  /* A known message, and what begins like a line of its own below it. */
  expect_apart(state, "./run.sh: line 13: 334159 Aborted                 python -m experiments.train\n"
                      "srun: error: cn07: task 0: Exited with exit code 134\n");
}

/* A log that begins unwrapped, with output of another program between. */
static void test_part(void **state) {
  struct sample_log log = {0}, want = {0};
  size_t joined = 0;
  for (int i = 0; i < 40; i++) {
    char line[200];
    snprintf(line, sizeof line, "[2031-05-06 07:%02d:00] trainer: epoch %d is done, %d samples were read from the shards%s\n", i,
             i, 1000 * i, i % 3 == 0 ? " of the second set, which is larger" : "");
    sample_say(&log, line);
    sample_say(&want, line);
    if (i == 20 || i == 30) wrap(&log, failure, 40, "\n");
    if (i == 20 || i == 30) sample_say(&want, failure);
  }
  struct sample_log back = unwrap(state, sample_view(&log), &joined);
  if (!wo_view_equal(sample_view(&back), sample_view(&want))) print_error("%.*s", (int)back.len, back.text);
  assert_true(wo_view_equal(sample_view(&back), sample_view(&want)));
  sample_free(&back);
  sample_free(&want);
  sample_free(&log);
}

/* The evidence is that of the text that was wrapped, at its first line and its byte, however the input comes. */
static void test_evidence(void **state) {
  const struct sample_patterns *const patterns = *state;
  struct sample_log log = {0};
  struct wo_event_store whole;
  wrap(&log, failure, 40, "\r\n");
  const struct wo_scan_summary summary = sample_scan(patterns->set, sample_view(&log), CHUNK_WHOLE, &whole);
  const struct wo_event *const event = sample_find(&whole, WO_KIND_CUDA_OOM, 0);
  assert_true(summary.joined_width == 40 && summary.joined_lines > 15 && summary.bytes == log.len);
  assert_non_null(event);
  sample_expect_number(event, WO_FIELD_TRIED_BYTES, 2147483648.0);
  uint64_t line = 1;
  for (size_t i = 0; i < log.len && strncmp(log.text + i, "torch.OutOf", 11) != 0; i++) line += log.text[i] == '\n';
  assert_true(event->span.line == line);
  assert_true(strncmp(log.text + event->span.byte, "CUDA out of memory", 15) == 0 ||
              strncmp(log.text + event->span.byte, "torch.OutOf", 11) == 0);
  for (int chunk = -1; chunk < 90; chunk += chunk == -1 ? 2 : 1) {
    struct wo_event_store store;
    const struct wo_scan_summary other = sample_scan(patterns->set, sample_view(&log), chunk, &store);
    assert_true(other.joined_lines == summary.joined_lines && other.lines == summary.lines);
    sample_expect_same(&whole, &store);
    wo_event_store_done(&store);
  }
  wo_event_store_done(&whole);
  sample_free(&log);
}

/* Cut after any byte, nothing is read outside of the text, and lines and bytes stay those of the input. */
static void test_cut(void **state) {
  const struct sample_patterns *const patterns = *state;
  struct sample_log log = {0};
  wrap(&log, failure, 33, "\n");
  for (size_t len = 0; len <= log.len; len += 7) {
    struct wo_event_store store;
    const struct wo_scan_summary summary = sample_scan(patterns->set, (struct wo_view){log.text, len}, CHUNK_RANDOM, &store);
    assert_true(summary.bytes == len && summary.joined_lines <= summary.lines);
    for (size_t i = 0; i < store.count; i++)
      assert_true(store.items[i].span.byte <= len && store.items[i].span.line <= summary.lines);
    wo_event_store_done(&store);
  }
  sample_free(&log);
}

/* A long input: wrapped from its start, or only at its end. Chunks make no difference. */
static void test_long(void **state) {
  const struct sample_patterns *const patterns = *state;
  for (int at_end = 0; at_end < 2; at_end++) {
    struct sample_log log = {0};
    struct wo_event_store whole, pieces;
    char line[200];
    for (int i = 0; log.len < 900 * 1024; i++) {
      snprintf(line, sizeof line,
               "worker %d has read shard %d of the set and waits for others; the queue holds %d of %d samples\n", i % 7, i,
               i % 90, 900);
      if (at_end) sample_say(&log, line);
      if (!at_end) wrap(&log, line, 80, "\n");
    }
    wrap(&log, failure, 80, "\n");
    const struct wo_scan_summary summary = sample_scan(patterns->set, sample_view(&log), CHUNK_WHOLE, &whole);
    assert_true(summary.joined_width == 80 && summary.joined_lines > (at_end ? 8 : 8000) && summary.bytes == log.len);
    assert_true(sample_count(&whole, WO_KIND_CUDA_OOM) == 1);
    const struct wo_event *const event = sample_find(&whole, WO_KIND_CUDA_OOM, 0);
    uint64_t number = 1;
    for (size_t i = 0; i < event->span.byte; i++) number += log.text[i] == '\n';
    assert_true(event->span.line <= number && number <= event->span.line + 1);
    sample_scan(patterns->set, sample_view(&log), CHUNK_RANDOM, &pieces);
    sample_expect_same(&whole, &pieces);
    wo_event_store_done(&whole);
    wo_event_store_done(&pieces);
    sample_free(&log);
  }
}

/* A line that would become longer than is joined ends where it was cut, which is said. */
static void test_cap(void **state) {
  static const char *const words[] = {"shard", "reads of", "a", "number", "without end", "and", "samples"};
  const struct sample_patterns *const patterns = *state;
  struct sample_log line = {0}, log = {0};
  struct wo_event_store store;
  uint64_t seed = 7;
  while (line.len < 2 * WO_LIMIT_UNWRAPPED_BYTES) {
    sample_say(&line, words[sample_below(&seed, sizeof words / sizeof words[0])]);
    sample_say(&line, " ");
  }
  sample_put(&line, "", 1);
  wrap(&log, line.text, 80, "\n");
  const struct wo_scan_summary summary = sample_scan(patterns->set, sample_view(&log), CHUNK_WHOLE, &store);
  assert_true(summary.joined_lines > 200 && summary.caps[WO_CAP_WRAPPED] >= 1);
  wo_event_store_done(&store);
  sample_free(&line);
  sample_free(&log);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_widths), cmocka_unit_test(test_characters), cmocka_unit_test(test_last_line),
      cmocka_unit_test(test_apart),  cmocka_unit_test(test_part),       cmocka_unit_test(test_evidence),
      cmocka_unit_test(test_cut),    cmocka_unit_test(test_long),       cmocka_unit_test(test_cap),
  };
  return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
