/* SPDX-License-Identifier: Apache-2.0 */
/* The cause of a full card by arithmetic: cards that are made of numbers, not of corpora. Each row divides a card; the family and
 * the highest confidence that the figures allow follow from the question whether the request would have been served, and the job
 * would have had a future, without one of the parts (docs/decisions/0021-attribution-is-arithmetic.md).
 *
 * Each row is told in each wording that PyTorch has had, and with all sizes scaled: neither may change the family. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/job/job_sample.h"
#include "tests/support/process.h"

enum phase { NONE, LOAD, FORWARD, BACKWARD, OPTIMIZER, EVAL, ATTENTION, LATE };

/* Generations of the wording; of the newest, whether the driver lists the other processes. */
enum wording { CACHED, RESERVED_TOTAL, LISTED, UNLISTED, WORDINGS };

#define POSSIBLE WO_CONFIDENCE_POSSIBLE
#define LIKELY WO_CONFIDENCE_LIKELY
#define CERTAIN WO_CONFIDENCE_CERTAIN

/* Sizes in GiB; the rest of the card is free. `families` are separated by blanks: any of them is right where the figures leave it
 * open. */
struct row {
  double card, tensors, idle, own, others, request;
  enum phase phase;
  const char *families;
  enum wo_confidence least, most;
  const char *settings;
};

static const struct row rows[] = {
    /* Others hold the card: whatever is wanted, and in whatever phase. */
    {10.76, 2.42, 0.33, 0.45, 7.53, 0.0195, NONE, "other_process", LIKELY, CERTAIN, ""},
    {44.42, 0.12, 0.02, 0.34, 43.9, 0.0195, NONE, "other_process", LIKELY, CERTAIN, ""},
    {24, 2, 0.1, 0.4, 20, 2.5, FORWARD, "other_process", LIKELY, CERTAIN, ""},
    {80, 30, 1, 0.6, 40, 12, NONE, "other_process", LIKELY, CERTAIN, ""},
    {16, 7, 0.1, 0.4, 8, 0.6, BACKWARD, "other_process", LIKELY, CERTAIN, ""},
    {40, 22, 0.5, 0.6, 15, 2.5, FORWARD, "other_process", LIKELY, LIKELY, ""},
    {24, 15, 0.2, 0.5, 7.5, 1.2, FORWARD, "other_process", LIKELY, LIKELY, ""},
    {24, 8, 0.2, 0.5, 15, 0.5, LOAD, "other_process", LIKELY, CERTAIN, ""},
    {24, 12, 0.2, 0.4, 11, 0.5, LOAD, "other_process model_too_large", POSSIBLE, POSSIBLE, ""},
    {24, 15.4, 0.2, 0.5, 5.4, 3, FORWARD, "other_process oversized_batch", POSSIBLE, POSSIBLE, ""},
    {80, 1, 0.1, 0.6, 78, 0.5, LOAD, "other_process", LIKELY, CERTAIN, ""},
    {80, 20, 1, 0.6, 58, 1, OPTIMIZER, "other_process", LIKELY, CERTAIN, ""},
    {80, 20, 1, 0.6, 58, 1, EVAL, "other_process", LIKELY, CERTAIN, ""},
    {48, 28, 0.5, 0.6, 18, 2, LATE, "other_process", LIKELY, LIKELY, ""},
    {8, 3, 0.1, 0.4, 4.3, 0.4, NONE, "other_process", LIKELY, CERTAIN, ""},
    {80, 10, 1, 0.6, 66, 4, FORWARD, "other_process", LIKELY, CERTAIN, "per_device_train_batch_size=32,\n"},
    {24, 10, 0.2, 0.5, 12.5, 1, BACKWARD, "other_process", LIKELY, CERTAIN, "per_device_train_batch_size=4,\n"},
    {80, 12, 0.5, 0.6, 60, 9, FORWARD, "other_process", LIKELY, CERTAIN,
     "per_device_train_batch_size=1,\nmax_seq_length=32768,\n"},
    {80, 12, 0.5, 0.6, 45, 23, ATTENTION, "other_process", LIKELY, LIKELY, ""},
    {80, 12, 0.5, 0.6, 66, 1, LATE, "other_process", LIKELY, CERTAIN, "max_response_length=4096,\n"},
    {80, 36, 5, 0.7, 34, 6, NONE, "other_process", LIKELY, LIKELY, ""},
    {80, 30, 6, 0.7, 41, 4, BACKWARD, "other_process", LIKELY, LIKELY, ""},
    /* Others hold something, but without it the job would have stood before the same wall soon after. */
    {24, 20.8, 0.3, 0.6, 1.5, 1.2, FORWARD, "oversized_batch", POSSIBLE, LIKELY, ""},
    {80, 72, 1, 1, 4, 3, BACKWARD, "oversized_batch", POSSIBLE, LIKELY, ""},
    {24, 21.2, 0.2, 0.6, 0.9, 1.5, LOAD, "model_too_large", LIKELY, LIKELY, ""},
    {14.56, 12.72, 0.07, 0.11, 1.56, 0.133, LOAD, "model_too_large", LIKELY, LIKELY, ""},
    {40, 30, 0.3, 0.6, 8, 1.5, LOAD, "model_too_large", POSSIBLE, LIKELY, ""},
    {24, 18.5, 0.5, 0.5, 3.3, 3.8, NONE, "other_process oversized_batch unclear", POSSIBLE, POSSIBLE, ""},
    {24, 20.8, 0.3, 0.6, 1.5, 1.2, OPTIMIZER, "model_too_large", LIKELY, LIKELY, ""},
    /* Idle memory serves the request many times over, and is not small beside the tensors. */
    {24, 15, 7, 0.5, 0, 2, BACKWARD, "fragmentation", LIKELY, LIKELY, ""},
    {80, 60, 16, 0.7, 0, 4, FORWARD, "fragmentation", LIKELY, LIKELY, ""},
    {40, 29.1, 10.29, 0.6, 0, 0.0195, BACKWARD, "fragmentation", LIKELY, LIKELY, ""},
    {6, 2.95, 2.4, 0.6, 0, 1.7, FORWARD, "fragmentation", LIKELY, LIKELY, ""},
    {80, 40, 25, 0.7, 8, 6, BACKWARD, "fragmentation", LIKELY, LIKELY, ""},
    {80, 60, 18, 0.7, 0, 3, NONE, "fragmentation", LIKELY, LIKELY, ""},
    {80, 60, 18, 0.7, 0, 3, LATE, "fragmentation", LIKELY, LIKELY, ""},
    {80, 60, 18, 0.7, 0, 3, EVAL, "fragmentation", LIKELY, LIKELY, ""},
    {80, 55, 20, 0.7, 0, 6, FORWARD, "fragmentation", LIKELY, LIKELY, "per_device_train_batch_size=1,\nmax_seq_length=32768,\n"},
    {80, 55, 20, 0.7, 0, 6, OPTIMIZER, "fragmentation", LIKELY, LIKELY, ""},
    {24, 16, 6.5, 0.5, 0, 1.5, BACKWARD, "fragmentation", LIKELY, LIKELY, "per_device_train_batch_size=4,\n"},
    {80, 67.5, 8.8, 0.5, 0, 8, FORWARD, "fragmentation", LIKELY, LIKELY, ""},
    /* It serves the request, but is small: the usual gaps. */
    {40, 37.6, 1.12, 0.7, 0, 0.58, FORWARD, "oversized_batch", POSSIBLE, LIKELY, ""},
    {15, 13.21, 0.49, 0.8, 0, 0.45, FORWARD, "oversized_batch", POSSIBLE, LIKELY, ""},
    {40, 37.54, 1.12, 0.7, 0, 0.7, NONE, "oversized_batch model_too_large", POSSIBLE, POSSIBLE, ""},
    {40, 37.85, 1.2, 0.9, 0, 0.1, FORWARD, "fragmentation oversized_batch", POSSIBLE, POSSIBLE, ""},
    {24, 22.5, 0.4, 0.6, 0, 0.6, LOAD, "model_too_large", LIKELY, CERTAIN, ""},
    /* It serves the request only just: nothing would be left for the next one. */
    {32, 20, 4.9, 1.3, 0, 9.6, NONE, "oversized_batch", POSSIBLE, LIKELY, ""},
    {80, 60, 7, 0.8, 0, 14.8, FORWARD, "oversized_batch", POSSIBLE, LIKELY, ""},
    {80, 50, 9, 0.8, 0, 28.5, FORWARD, "oversized_batch", POSSIBLE, LIKELY, ""},
    /* Tensors fill the card: the phase tells whether it is the model or a step. */
    {80, 76, 1, 0.7, 0, 3, FORWARD, "oversized_batch", LIKELY, LIKELY, ""},
    {80, 76, 1, 0.7, 0, 3, BACKWARD, "oversized_batch", LIKELY, LIKELY, ""},
    {80, 76, 1, 0.7, 0, 3, LATE, "oversized_batch", LIKELY, LIKELY, ""},
    {80, 76, 1, 0.7, 0, 3, LOAD, "model_too_large", LIKELY, CERTAIN, ""},
    {80, 76, 1, 0.7, 0, 3, OPTIMIZER, "model_too_large", LIKELY, LIKELY, ""},
    {80, 76, 1, 0.7, 0, 3, EVAL, "oversized_batch", LIKELY, LIKELY, ""},
    {80, 76, 1, 0.7, 0, 3, NONE, "oversized_batch model_too_large", POSSIBLE, POSSIBLE, ""},
    {24, 22.6, 0.3, 0.5, 0, 0.7, FORWARD, "oversized_batch", LIKELY, LIKELY, ""},
    {11, 10, 0.1, 0.5, 0, 0.5, BACKWARD, "oversized_batch", LIKELY, LIKELY, ""},
    {11, 8.9, 0.1, 0.5, 0, 1.6, BACKWARD, "oversized_batch", LIKELY, LIKELY, ""},
    {24, 15, 0.3, 0.5, 0, 8.5, LOAD, "model_too_large", LIKELY, CERTAIN, ""},
    {4, 3.1, 0.05, 0.6, 0, 0.5, FORWARD, "oversized_batch", POSSIBLE, LIKELY, ""},
    {80, 74, 1, 0.7, 0, 5, FORWARD, "oversized_batch", LIKELY, LIKELY, "per_device_train_batch_size=16,\n"},
    {80, 74, 1, 0.7, 0, 5, NONE, "oversized_batch", LIKELY, LIKELY, "per_device_train_batch_size=16,\n"},
    {80, 74, 1, 0.7, 0, 5, FORWARD, "sequence_length", LIKELY, LIKELY, "per_device_train_batch_size=1,\nmax_seq_length=32768,\n"},
    /* One request is most of the card, or more than it: the length is named only where something shows it. */
    {79, 1.7, 0.1, 0.5, 0, 104, FORWARD, "oversized_batch", LIKELY, CERTAIN, ""},
    {10.75, 0.04, 0.01, 0.26, 0, 36.8, BACKWARD, "oversized_batch", LIKELY, CERTAIN, ""},
    {79, 1.7, 0.1, 0.5, 0, 104, NONE, "oversized_batch", LIKELY, CERTAIN, ""},
    {79, 1.7, 0.1, 0.5, 0, 104, ATTENTION, "sequence_length", LIKELY, CERTAIN, ""},
    {24, 6, 0.1, 0.5, 0, 19, FORWARD, "oversized_batch", POSSIBLE, LIKELY, ""},
    {24, 6, 0.1, 0.5, 0, 19, NONE, "oversized_batch", POSSIBLE, LIKELY, ""},
    {24, 6, 0.1, 0.5, 0, 19, ATTENTION, "sequence_length", LIKELY, LIKELY, ""},
    {80, 30, 0.1, 0.5, 0, 55, FORWARD, "sequence_length", LIKELY, LIKELY,
     "per_device_train_batch_size=1,\nmax_seq_length=65536,\n"},
    /* This process outside the pool. */
    {24, 6, 0.2, 15.5, 0, 3, NONE, "unclear", POSSIBLE, LIKELY, ""},
    {80, 20, 0.5, 54, 0, 8, FORWARD, "unclear", POSSIBLE, LIKELY, ""},
};

/* ---- The log of a row ---- */

/* Writes a size as PyTorch does. */
static const char *size_text(char buf[32], double gib) {
  return wo_units_bytes_text(gib < 0 ? 0 : gib * WO_GIB, buf, 32);
}

static void add_message(struct wo_text *log, const struct row *row, double scale, enum wording wording) {
  char request[32], card[32], tensors[32], free[32], idle[32], reserved[32], process[32], others[32];
  size_text(request, row->request * scale);
  size_text(card, row->card * scale);
  size_text(tensors, row->tensors * scale);
  size_text(idle, row->idle * scale);
  size_text(others, row->others * scale);
  size_text(reserved, (row->tensors + row->idle) * scale);
  size_text(process, (row->tensors + row->idle + row->own) * scale);
  size_text(free, (row->card - row->tensors - row->idle - row->own - row->others) * scale);
  if (wording == CACHED || wording == RESERVED_TOTAL) {
    wo_text_add(log,
                "RuntimeError: CUDA out of memory. Tried to allocate %s (GPU 0; %s total capacity; %s already allocated; %s "
                "free; %s %s)\n",
                request, card, tensors, free, wording == CACHED ? idle : reserved,
                wording == CACHED ? "cached" : "reserved in total by PyTorch");
    return;
  }
  wo_text_add(log,
              "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %s. GPU 0 has a total capacity of %s of which %s is "
              "free. ",
              request, card, free);
  if (wording == LISTED && row->others > 0) wo_text_add(log, "Process 40711 has %s memory in use. ", others);
  wo_text_add(log,
              "Including non-PyTorch memory, this process has %s memory in use. Of the allocated memory %s is allocated by "
              "PyTorch, and %s is reserved by PyTorch but unallocated.\n",
              process, tensors, idle);
}

static void add_frame(struct wo_text *log, const char *file, const char *function, const char *code) {
  wo_text_add(log, "  File \"%s\", line 211, in %s\n    %s\n", file, function, code);
}

static void add_traceback(struct wo_text *log, enum phase phase) {
  static const char own[] = "/home/mira/jobs/train.py";
  static const char torch[] = "/opt/conda/lib/python3.11/site-packages/torch";
  char file[160];
  if (phase == LATE) wo_text_add(log, "step 4200: loss=1.204\n");
  if (phase == NONE) return;
  wo_text_add(log, "Traceback (most recent call last):\n");
  switch (phase) {
  case LOAD:
    add_frame(log, own, "<module>", "model.to(device)");
    snprintf(file, sizeof file, "%s/nn/modules/module.py", torch);
    add_frame(log, file, "convert", "return t.to(device, dtype if t.is_floating_point() else None, non_blocking)");
    break;
  case BACKWARD:
    add_frame(log, own, "<module>", "loss.backward()");
    snprintf(file, sizeof file, "%s/autograd/__init__.py", torch);
    add_frame(log, file, "backward", "_engine_run_backward(");
    break;
  case OPTIMIZER:
    add_frame(log, own, "<module>", "optimizer.step()");
    snprintf(file, sizeof file, "%s/optim/adamw.py", torch);
    add_frame(log, file, "_init_group", "state[\"exp_avg\"] = torch.zeros_like(p, memory_format=torch.preserve_format)");
    break;
  case EVAL:
    add_frame(log, own, "<module>", "trainer.evaluate()");
    add_frame(log, "/opt/conda/lib/python3.11/site-packages/transformers/trainer.py", "evaluation_loop",
              "losses, logits, labels = self.prediction_step(model, inputs, prediction_loss_only, ignore_keys=ignore_keys)");
    break;
  case ATTENTION:
    add_frame(log, own, "<module>", "out = model(batch)");
    add_frame(log, "/home/mira/jobs/attention.py", "forward", "attn_weights = torch.matmul(query, key.transpose(2, 3))");
    break;
  default:
    add_frame(log, own, "<module>", "out = model(batch)");
    snprintf(file, sizeof file, "%s/nn/modules/conv.py", torch);
    add_frame(log, file, "forward", "return self._conv_forward(input, self.weight, self.bias)");
  }
}

static void make_log(struct wo_text *log, const struct row *row, double scale, enum wording wording) {
  wo_text_add(log, "%s", row->settings);
  add_traceback(log, row->phase);
  add_message(log, row, scale, wording);
}

/* ---- The test ---- */

/* Whether a list of words holds the word. */
static bool holds(const char *words, struct wo_view word) {
  for (struct wo_view rest = wo_view_of(words); rest.len > 0;) {
    if (wo_view_equal(wo_view_word(&rest), word)) return true;
  }
  return false;
}

/* Returns the number of complaints: 0 or 1. */
static int check(const struct wo_pack *pack, size_t index, double scale, enum wording wording) {
  static const char *const names[] = {"cached", "reserved in total", "listed", "unlisted"};
  const struct row *const row = &rows[index];
  struct wo_text log = {0};
  make_log(&log, row, scale, wording);
  struct sample_job sample;
  sample_log(&sample, pack, log.ptr);
  const struct wo_finding *const first = sample.report->finding_count > 0 ? &sample.report->findings[0] : NULL;
  const struct wo_view family = first ? first->cause->family : WO_VIEW("(nothing)");
  const bool is_right = first && holds(row->families, family);
  const bool is_sure = first && first->confidence >= row->least && first->confidence <= row->most;
  const bool is_plain = scale == 1 && wording == LISTED; /* how sure it is may depend on what is printed */
  const bool is_ok = is_right && (is_sure || (!is_plain && first->confidence <= row->most));
  if (!is_ok) {
    print_error("row %zu (%s, x %.2f): %.*s (%.*s, %d, %.2f), expected %s [%d to %d]\n%s\n", index, names[wording], scale,
                WO_SHOWN(family), WO_SHOWN(first ? first->cause->id : WO_VIEW("-")), first ? (int)first->confidence : -1,
                first ? first->score : 0, row->families, (int)row->least, (int)row->most, log.ptr);
  }
  sample_done(&sample);
  wo_text_done(&log);
  return is_ok ? 0 : 1;
}

/* What this process holds outside its pool is known from the newest wording only. */
static bool is_told(const struct row *row, enum wording wording) {
  return wording >= LISTED || row->own <= 2;
}

static void test_truth_table(void **state) {
  int wrong = 0;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) wrong += check(*state, i, 1, LISTED);
  assert_int_equal(wrong, 0);
}

static void test_wording_does_not_matter(void **state) {
  int wrong = 0;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    for (enum wording wording = CACHED; wording < WORDINGS; wording++) {
      if (is_told(&rows[i], wording)) wrong += check(*state, i, 1, wording);
    }
  }
  assert_int_equal(wrong, 0);
}

/* What a context takes does not scale with the rest, so the wordings without the figure of the own process are left out. */
static void test_scale_does_not_matter(void **state) {
  static const double scales[] = {0.6, 1.7, 2.5};
  int wrong = 0;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    for (size_t k = 0; k < sizeof scales / sizeof scales[0]; k++) {
      wrong += check(*state, i, scales[k], LISTED);
      wrong += check(*state, i, scales[k], UNLISTED);
    }
  }
  assert_int_equal(wrong, 0);
}

/* ---- Sweeps ---- */

/* Moves memory from the tensors to another part in hundredths of the card: from some share on the family is that of the part, and
 * it stays so. Returns the share at which it changes. */
static double find_crossing(const struct wo_pack *pack, double card, enum phase phase, bool is_idle) {
  const char *const family = is_idle ? "fragmentation" : "other_process";
  double crossing = -1;
  for (double share = 0; share < 0.9; share += 0.01) {
    const double moved = share * card, rest = card * 0.93 - moved;
    const struct row row = {.card = card,
                            .tensors = rest,
                            .idle = is_idle ? moved : 0.002 * card,
                            .own = 0.02 * card,
                            .others = is_idle ? 0 : moved,
                            .request = 0.06 * card,
                            .phase = phase,
                            .families = family,
                            .settings = ""};
    struct wo_text log = {0};
    make_log(&log, &row, 1, LISTED);
    struct sample_job sample;
    sample_log(&sample, pack, log.ptr);
    const bool is_named = sample.report->finding_count > 0 && wo_view_is(sample.report->findings[0].cause->family, family);
    if (is_named && crossing < 0) crossing = share;
    if (!is_named && crossing >= 0) fail_msg("%s again not at %.2f, after %.2f\n%s", family, share, crossing, log.ptr);
    sample_done(&sample);
    wo_text_done(&log);
  }
  return crossing;
}

/* The same share decides on small and large cards; loading asks for more of others than a step does. */
static void test_one_crossing(void **state) {
  static const enum phase phases[] = {NONE, FORWARD, BACKWARD, LATE, LOAD};
  const double next = wo_process_is_sanitized ? 5 : 2.4;
  for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
    for (double card = 16; card <= 96; card *= next) {
      const double others = find_crossing(*state, card, phases[i], false);
      const double idle = find_crossing(*state, card, phases[i], true);
      const double least = phases[i] == LOAD ? 0.25 : phases[i] == NONE ? 0.10 : 0.18;
      if (others < least || others > least + 0.16)
        fail_msg("phase %d, card %.0f: others from %.2f on", (int)phases[i], card, others);
      if (idle < 0.06 || idle > 0.16) fail_msg("phase %d, card %.0f: idle from %.2f on", (int)phases[i], card, idle);
    }
  }
}

/* ---- Logs whose message has no figures of the pool ---- */

#define BARE "RuntimeError: CUDA error: out of memory\n"
#define TRACEBACK "Traceback (most recent call last):\n"
#define FRAME(file, function, code) "  File \"" file "\", line 31, in " function "\n    " code "\n"
#define TORCH "/opt/conda/lib/python3.11/site-packages/torch/"
#define TO_CARD                                                                                                                  \
  TRACEBACK FRAME("/home/mira/jobs/train.py", "<module>", "net = Net().to(device)")                                              \
      FRAME(TORCH "nn/modules/module.py", "convert", "return t.to(device, dtype if t.is_floating_point() else None)")
#define IN_BACKWARD                                                                                                              \
  TRACEBACK FRAME("/home/mira/jobs/train.py", "<module>", "loss.backward()")                                                     \
      FRAME(TORCH "autograd/__init__.py", "backward", "_engine_run_backward(")
#define GPUSTAT(index, used) "[" index "] Tesla V100-SXM2-32GB | 46'C,   0 % | " used " / 32510 MB |\n"
#define TF_DEVICE(mb)                                                                                                            \
  "2021-07-08 09:10:01.121314: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1304] Created TensorFlow device "              \
  "(/job:localhost/replica:0/task:0/device:GPU:0 with " mb " MB memory) -> physical GPU (device: 0, name: Tesla T4)\n"
#define TF_REFUSED(size)                                                                                                         \
  "2021-07-08 09:10:11.121314: W tensorflow/core/common_runtime/bfc_allocator.cc:467] Allocator (GPU_0_bfc) ran out of memory "  \
  "trying to allocate " size " (rounded to 65663744)requested by op model/dense/MatMul\n"
#define VLLM "(EngineCore_DP0 pid=8123) "
#define VLLM_LOADED(size)                                                                                                        \
  VLLM "INFO 03-04 05:06:07 [gpu_model_runner.py:1549] Model loading took " size " GiB memory and 6.1 seconds\n"
#define VLLM_REFUSED                                                                                                             \
  VLLM "ERROR 03-04 05:06:17 [core.py:868] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 896.00 MiB. GPU 0 has " \
       "a "                                                                                                                      \
       "total capacity of 23.64 GiB of which 402.00 MiB is free. Including non-PyTorch memory, this process has 23.21 GiB "      \
       "memory "                                                                                                                 \
       "in use. Of the allocated memory 22.72 GiB is allocated by PyTorch, and 60.00 MiB is reserved by PyTorch but "            \
       "unallocated.\n"

#define IN_FORWARD                                                                                                               \
  TRACEBACK FRAME("/home/mira/jobs/train.py", "<module>", "out = model(batch)")                                                  \
      FRAME(TORCH "nn/modules/module.py", "_call_impl", "return forward_call(*args, **kwargs)")
#define ON_WINDOWS                                                                                                               \
  TRACEBACK FRAME("C:\\Users\\mira\\work\\train.py", "<module>", "out = model(batch)")                                           \
      FRAME("C:\\Python\\Lib\\site-packages\\torch\\nn\\modules\\module.py", "_call_impl", "return forward_call(*args, **kwargs)")
#define REFUSED(request, card, free, process, cap, tensors, idle)                                                                \
  "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate " request ". GPU 0 has a total capacity of " card " of which "  \
  free " is free. Including non-PyTorch memory, this process has " process " memory in use. " cap "Of the allocated memory "     \
  tensors " is allocated by PyTorch, and " idle " is reserved by PyTorch but unallocated.\n"
#define USUAL_IDLE REFUSED("96.00 MiB", "31.73 GiB", "40.00 MiB", "31.69 GiB", "", "29.60 GiB", "1.45 GiB")
#define XLA(parameters, temporary)                                                                                               \
  "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes.\n"         \
  "BufferAssignment OOM Debugging.\nBufferAssignment stats:\n             parameter allocation:    " parameters "\n"             \
  "        maybe_live_out allocation:    " parameters "\n     preallocated temp allocation:    " temporary "\n"                  \
  "                 total allocation:   20.00GiB\n"
#define TF_POOL(limit, used)                                                                                                     \
  "2021-07-08 09:10:11.120000: I tensorflow/core/common_runtime/bfc_allocator.cc:647] Stats: \nLimit:   " limit                  \
  "\nInUse:   " used "\nMaxInUse:   " used "\nNumAllocs:   4711\nMaxAllocSize:   33554432\n\n"
#define TF_TENSOR(shape, node)                                                                                                   \
  "ResourceExhaustedError: OOM when allocating tensor with shape[" shape                                                         \
  "] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n\t [[{{node " node "}}]]\n"

static const struct {
  const char *log;
  const char *families;
  enum wo_confidence most;
} told[] = {
    /* idle memory that every pool keeps: the batch, while nothing shows that its like fitted */
    {"  0%|          | 2/5120 [00:09<6:24:11,  4.50s/it]\n" IN_FORWARD USUAL_IDLE, "oversized_batch", LIKELY},
    {IN_FORWARD USUAL_IDLE, "oversized_batch", POSSIBLE},
    {USUAL_IDLE, "fragmentation", POSSIBLE},
    {"Epoch 7: loss 0.231\n" IN_FORWARD USUAL_IDLE, "fragmentation", POSSIBLE},
    /* thousands of steps with the same batch went well */
    {" 40%|####      | 16200/40000 [3:50:05<5:30:27,  1.21it/s]\n" IN_FORWARD REFUSED(
         "60.00 MiB", "31.73 GiB", "12.00 MiB", "31.71 GiB", "", "30.90 GiB", "90.00 MiB"),
     "leak_growth", LIKELY},
    {"  0%|          | 2/40000 [00:05<5:30:27,  1.21it/s]\n" IN_FORWARD REFUSED(
         "60.00 MiB", "31.73 GiB", "12.00 MiB", "31.71 GiB", "", "30.90 GiB", "90.00 MiB"),
     "oversized_batch", LIKELY},
    /* a cap decides where the job would have fitted without it */
    {IN_FORWARD REFUSED("600.00 MiB", "47.40 GiB", "1.40 GiB", "46.00 GiB", "45.03 GiB allowed; ", "44.60 GiB", "30.00 MiB"),
     "oversized_batch", LIKELY},
    {IN_FORWARD REFUSED("600.00 MiB", "47.40 GiB", "23.40 GiB", "24.00 GiB", "23.70 GiB allowed; ", "23.20 GiB", "30.00 MiB"),
     "unclear", LIKELY},
    /* more than the card: Windows moves it to the host, elsewhere nobody knows */
    {ON_WINDOWS "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.10 GiB. GPU 0 has a total capacity of 11.99 GiB "
                "of which 0 bytes is free. Of the allocated memory 19.20 GiB is allocated by PyTorch, and 70.00 MiB is reserved "
                "by PyTorch but unallocated.\n",
     "oversized_batch", LIKELY},
    {IN_FORWARD "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.10 GiB. GPU 0 has a total capacity of 11.99 GiB "
                "of which 0 bytes is free. Of the allocated memory 19.20 GiB is allocated by PyTorch, and 70.00 MiB is reserved "
                "by PyTorch but unallocated.\n",
     "unclear", LIKELY},
    /* what an XLA program is handed, and what it makes */
    {XLA("8.10GiB", "8.00GiB"), "model_too_large", POSSIBLE},
    {XLA("0.40GiB", "19.20GiB"), "sequence_length", POSSIBLE},
    {XLA("4.00GiB", "15.00GiB"), "unclear", POSSIBLE},
    /* the pool of TensorFlow: the shape of the tensor, where the pool is that of a whole card */
    {TF_POOL("15784227328", "9120005888") TF_TENSOR("96,512,12001", "loss/Pad"), "oversized_batch", LIKELY},
    {TF_POOL("151101312", "151101312") TF_TENSOR("64,512", "dense/MatMul"), "other_process", LIKELY},
    {TF_TENSOR("1200000,16", "tower/table/Adagrad/Initializer/Const"), "unclear", POSSIBLE},
    /* tests beside each other */
    {"[gw5] linux -- Python 3.10.4 /opt/conda/bin/python\n" BARE, "other_process", POSSIBLE},
    /* the first use of the card, a step, and nothing at all */
    {TO_CARD BARE, "other_process", LIKELY},
    {IN_BACKWARD BARE, "oversized_batch unclear", POSSIBLE},
    {"step 61: loss=2.208\n" IN_BACKWARD BARE, "oversized_batch unclear", POSSIBLE},
    {BARE, "unclear", POSSIBLE},
    {TO_CARD "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`\n", "unclear", POSSIBLE},
    {TO_CARD "torch.OutOfMemoryError: Allocation on device \n", "model_too_large unclear", POSSIBLE},
    /* a monitor's table */
    {BARE GPUSTAT("0", "31655") GPUSTAT("1", "    0"), "other_process", LIKELY},
    {BARE GPUSTAT("0", "31655") GPUSTAT("1", "31655"), "other_process", LIKELY},
    {BARE GPUSTAT("0", "   11") GPUSTAT("1", "31655"), "unclear", POSSIBLE},
    {"CUDA_VISIBLE_DEVICES=1 python train.py\n" BARE GPUSTAT("0", "   11") GPUSTAT("1", "31655"), "other_process", LIKELY},
    {"CUDA_VISIBLE_DEVICES=1 python train.py\n" BARE GPUSTAT("0", "31655") GPUSTAT("1", "   11"), "unclear", POSSIBLE},
    {TO_CARD BARE GPUSTAT("0", "   11"), "other_process unclear", POSSIBLE},
    /* what TensorFlow's pool got at its start */
    {TF_DEVICE("251") TF_REFUSED("62.62MiB"), "other_process", LIKELY},
    {TF_DEVICE("13912") TF_REFUSED("2.62GiB"), "unclear oversized_batch", POSSIBLE},
    {"totalMemory: 11.17GiB freeMemory: 3.10GiB\n" TF_DEVICE("2890") TF_REFUSED("802.62MiB"), "other_process", LIKELY},
    {"totalMemory: 11.17GiB freeMemory: 11.05GiB\n" TF_DEVICE("10763") TF_REFUSED("802.62MiB"), "unclear oversized_batch",
     POSSIBLE},
    /* what an engine says of its weights */
    {VLLM_LOADED("20.6100") VLLM_REFUSED, "model_too_large", LIKELY},
    {VLLM_LOADED("12.6100") VLLM_REFUSED, "kv_cache", LIKELY},
    /* llama.cpp */
    {"ggml_backend_cuda_buffer_type_alloc_buffer: allocating 320000.00 MiB on device 0: cudaMalloc failed: out of memory\n"
     "llama_new_context_with_model: failed to allocate compute buffers\n",
     "unclear", LIKELY},
    {"ggml_backend_cuda_buffer_type_alloc_buffer: allocating 20480.00 MiB on device 0: cudaMalloc failed: out of memory\n"
     "llama_new_context_with_model: failed to allocate compute buffers\n",
     "sequence_length", LIKELY},
    {"ggml_backend_cuda_buffer_type_alloc_buffer: allocating 20480.00 MiB on device 0: cudaMalloc failed: out of memory\n"
     "llama_model_load: error loading model: unable to allocate CUDA0 buffer\n",
     "model_too_large", LIKELY},
    /* other makers: the process's limit, and no free memory */
    {"RuntimeError: MPS backend out of memory (MPS allocated: 9.84 GB, other allocations: 8.19 GB, max allowed: 18.13 GB). Tried "
     "to allocate 471.29 MB on private pool.\n",
     "oversized_batch model_too_large", POSSIBLE},
    {"torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1.20 GiB. GPU 0 has a total capacity of 23.98 GiB of which "
     "310.00 MiB is free. Of the allocated memory 3.11 GiB is allocated by PyTorch, and 90.00 MiB is reserved by PyTorch but "
     "unallocated.\n",
     "other_process", LIKELY},
    {"torch.OutOfMemoryError: XPU out of memory. Tried to allocate 1.71 GiB. GPU 0 has a total capacity of 15.56 GiB. Of the "
     "allocated memory 0.17 GiB is allocated by PyTorch, and 12.00 MiB is reserved by PyTorch but unallocated.\n",
     "unclear", POSSIBLE},
    {"RuntimeError: NPU out of memory. Tried to allocate 256.00 MiB (NPU 0; 29.50 GiB total capacity; 9.80 GiB already "
     "allocated; "
     "9.80 GiB current active; 150.00 MiB free; 9.90 GiB reserved in total by PyTorch)\n",
     "other_process", LIKELY},
};

/* Where little is said, little is concluded. */
static void test_without_figures(void **state) {
  int wrong = 0;
  for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
    struct sample_job sample;
    sample_log(&sample, *state, told[i].log);
    const struct wo_finding *const first = sample.report->finding_count > 0 ? &sample.report->findings[0] : NULL;
    const bool is_ok = first && holds(told[i].families, first->cause->family) && first->confidence <= told[i].most;
    if (!is_ok) {
      print_error("told %zu: %.*s (%.*s, %d), expected %s [up to %d]\n%s\n", i,
                  WO_SHOWN(first ? first->cause->family : WO_VIEW("-")), WO_SHOWN(first ? first->cause->id : WO_VIEW("-")),
                  first ? (int)first->confidence : -1, told[i].families, (int)told[i].most, told[i].log);
      wrong++;
    }
    sample_done(&sample);
  }
  assert_int_equal(wrong, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_truth_table),           cmocka_unit_test(test_wording_does_not_matter),
      cmocka_unit_test(test_scale_does_not_matter), cmocka_unit_test(test_one_crossing),
      cmocka_unit_test(test_without_figures),
  };
  return cmocka_run_group_tests(tests, sample_load_all, sample_unload);
}
