/* SPDX-License-Identifier: Apache-2.0 */
/* Which windows of a literal are rare in logs: by how often the common ones were met in many logs, and for all others by the
 * pairs and windows of a page of such text. */
#include <stdlib.h>

#include "parsers/match/prefilter_internal.h"

/* ---- Ordinary text: a sample of the text that logs are mostly made of, to rank windows by ---- */

static const char ordinary[] =
    "2025-01-06 15:18:19,123 INFO [trainer.py:512] epoch 3 step 1200/50000 loss 2.3412 lr 1.0e-05 grad_norm 0.812 time 0.45s\n"
    "[2024-11-30 08:02:57] iteration     1200/  500000 | consumed samples:       307200 | elapsed time per iteration (ms): "
    "1482.9 |\n"
    " learning rate: 2.999E-04 | global batch size:   256 | lm loss: 2.718281E+00 | loss scale: 1.0 | grad norm: 0.412 |\n"
    "number of skipped iterations:   0 | number of nan iterations:   0 | params norm: 1234.567\n"
    "{'loss': 1.2345, 'grad_norm': 0.5678, 'learning_rate': 1.9e-05, 'epoch': 0.12}\n"
    "{\"step\": 100, \"train_loss\": 3.0123, \"tokens_per_second\": 12345.6, \"timestamp\": 1736176699.123}\n"
    " 45%|####5     | 4500/10000 [12:34<15:20,  5.97it/s, loss=0.432, acc=0.911, v_num=12]\n"
    "Epoch 12:  87%|\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x8b | 870/1000 "
    "[01:23<00:12, 10.45it/s]\n"
    "Downloading shards: 100%|\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88| 4/4 [00:02<00:00,  1.65it/s]\n"
    "Loading checkpoint shards:  50% 2/4 [00:10<00:10,  5.12s/it]  model-00001-of-00004.safetensors: 100% 4.98G/4.98G\n"
    "Requirement already satisfied: numpy in /home/user/.conda/envs/torch/lib/python3.10/site-packages (1.26.4)\n"
    "Collecting transformers==4.44.2  Downloading transformers-4.44.2-py3-none-any.whl (9.5 MB)  Installing build dependencies\n"
    "/opt/conda/lib/python3.11/site-packages/torch/nn/modules/module.py:1553: UserWarning: this function is deprecated and will "
    "be removed\n"
    "FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cuda', args...)` instead.\n"
    "  warnings.warn(\n"
    "Traceback (most recent call last):\n"
    "  File \"/home/user/project/train.py\", line 123, in <module>\n    main()\n"
    "    return self._call_impl(*args, **kwargs)\n    result = forward_call(*args, **kwargs)\n    hidden_states = "
    "self.model(input_ids)\n"
    "RuntimeError: The size of tensor a must match the size of tensor b at non-singleton dimension 1\n"
    "ValueError: invalid value    KeyError: 'name'    raise TypeError(f\"expected str, got {type(value)}\")\n"
    "[rank0]: using device cuda:0, torch version 2.5.1+cu124, number of gpus: 8, available memory 79.1 GiB\n"
    "0: starting worker process 12 with pid 34567 on host node001    1: done in 12.3 seconds\n"
    "NCCL INFO Channel 00/24 : 0 1 2 3 4 5 6 7   NCCL INFO Connected all rings   NCCL INFO comm 0x5581 rank 3 nranks 8 cudaDev "
    "3\n"
    "node01:1234:1301 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB ib0:10.0.0.1<0>   via P2P/CUMEM/read\n"
    "Loading dataset from /data/train/part-00012.parquet, 128 files, 1048576 examples, using the cached processed dataset\n"
    "Some weights of the model checkpoint were not used when initializing; this is expected if you are training from another "
    "task.\n"
    "You should probably TRAIN this model on a down-stream task to be able to use it for predictions and inference.\n"
    "The attention mask and the pad token id were not set. As a consequence, you may observe unexpected behavior.\n"
    "Setting `pad_token_id` to `eos_token_id`:2 for open-end generation. Tokenizing the prompts, batch size 32, max length 2048\n"
    "Saving model checkpoint to output/checkpoint-1000. Configuration saved in output/checkpoint-1000/config.json\n"
    "Evaluation: accuracy = 0.8734, precision 0.91, recall 0.82, f1 score: 0.8645, validation loss 0.3912 -> best so far\n"
    "***** Running training *****  Num examples = 52,002  Num Epochs = 3  Total optimization steps = 1,218  Gradient "
    "Accumulation steps = 8\n"
    "hidden_size: 4096\nnum_attention_heads: 32\nnum_hidden_layers: 32\nvocab_size: 32000\ngradient_checkpointing: true\n"
    "(0): Linear(in_features=4096, out_features=11008, bias=False)   (norm): LayerNorm((768,), eps=1e-05, "
    "elementwise_affine=True)\n"
    "model.layers.12.self_attn.q_proj.weight torch.Size([4096, 4096]) torch.bfloat16 requires_grad=True\n"
    "wandb: Currently logged in as: user. Use `wandb login --relogin` to force relogin   wandb: Run data is saved locally in "
    "wandb/run-2025\n"
    "INFO 03-19 07:27:53 [metrics.py:455] Avg prompt throughput: 512.3 tokens/s, Avg generation throughput: 87.1 tokens/s, "
    "Running: 4 reqs,"
    " Swapped: 0 reqs, Pending: 0 reqs, GPU KV cache usage: 12.3%, CPU KV cache usage: 0.0%.\n"
    "INFO:     10.0.0.12:52514 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK   GET /health HTTP/1.1\" 200 -\n"
    "| NVIDIA-SMI 550.54    Driver Version: 550.54   CUDA Version: 12.4 |  0  A100-SXM4-80GB  On | 00000000:07:00.0 Off |   0 |\n"
    "| N/A   45C    P0    85W / 400W |   1234MiB / 81920MiB |      0%      Default |\n"
    "+-----------------------------------------------------------------------------+ "
    "============================================\n"
    "#SBATCH --job-name=train --nodes=2 --ntasks-per-node=8 --gres=gpu:8 --cpus-per-task=12 --time=24:00:00 --partition=gpu\n"
    "Job ID: 1234567, running on node gpu01, started at Mon Jan  6 15:18:46 UTC 2025, working directory /scratch/user/exp\n"
    "export CUDA_VISIBLE_DEVICES=0,1,2,3 OMP_NUM_THREADS=8 MASTER_ADDR=node01 MASTER_PORT=29500   module load cuda/12.1 "
    "gcc/11.3\n"
    "torchrun --nproc_per_node=8 train.py --model_name_or_path meta/model --per_device_train_batch_size 4 --output_dir out "
    "--bf16 True\n"
    "WARNING: Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being "
    "overloaded,"
    " please further tune the variable for optimal performance in your application as needed.\n"
    "kernel: [  514.682838] audit: type=1400 audit(1736176726.123:45): apparmor=\"STATUS\" operation=\"profile_load\" "
    "name=\"snap\"\n"
    "there was an error while trying to read the file; the connection has been closed by the remote host and will be retried "
    "later\n"
    "process group is not initialized; using the default values for all other options, which may not be what you want to have "
    "here\n"
    "I1105 09:41:27.880134 4471 scheduler.cc:218] Batch 17 of 420 is queued, 3 slots are free, oldest request waits for 12 ms\n"
    "W1105 09:41:28.002177 4471 tensor_pool.cc:77] Pool of stream 2 grows to 512 blocks; the consumer is slower than the "
    "producer\n"
    "{\"level\":\"info\",\"ts\":1730794888.21,\"caller\":\"server/handler.go:92\",\"msg\":\"request "
    "served\",\"status\":200,\"latency_ms\":3.1}\n"
    "{\"time\": \"2025-02-11T10:22:31.118Z\", \"rank\": 3, \"global_step\": 4200, \"mem_used_gb\": 61.2, \"reward\": 0.71, "
    "\"done\": false}\n"
    "(train_worker pid=21093) epoch 7 finished, mean reward 12.4, episode length 311, buffer holds 50000 transitions\n"
    "10:22:31 | INFO | sampler | accepted 1812 of 2048 draws, acceptance rate 0.885, log likelihood -1032.77, effective size "
    "912\n"
    "[Epoch 004/100] train: loss=0.6931 top1=54.21 top5=78.02 data=0.012s batch=0.311s images/sec=824.1 eta=1:03:22 mem=14.3GB\n"
    "Test set: average loss 0.0312, accuracy 9911/10000 (99%)   Learning rate decayed to 0.00070, patience 3 of 10 used\n"
    "Train Epoch: 3 [12800/60000 (21%)]  Loss: 0.234561   learning: 0.001, momentum 0.9, weight decay 0.0005, clipped 12 times\n"
    "Generation 12: best fitness 0.9312, mean 0.7112, population 256, 31 evaluated, 225 from cache, workers 16, wall 00:12:45\n"
    "time step 1000  temperature 300.12  pressure 1.013  potential energy -51234.7  kinetic 12345.1  volume 98123.4  ns/day "
    "112.3\n"
    "  Iteration  12: residual = 1.2345e-07, ratio 0.312, linear solver took 34 steps, time = 1.07 s, next dt = 2.5000e-03\n"
    "trainable params: 41,943,040 || all params: 6,780,358,656 || trainable%: 0.6186   Number of trainable parameters = "
    "41943040\n"
    "| distributed init (rank 5): env://, gpu 5   Creating model, building data loaders with 12 workers each, pin memory, seed "
    "42\n"
    "batch_size: 16\noptimizer:\n  type: AdamW\n  betas: [0.9, 0.95]\nscheduler: cosine\nlog_interval: 50\ndata:\n  root: "
    "/datasets/images\n"
    "self.model = build_model(cfg.model)   for batch in tqdm(loader, desc='train'):   output = self.decoder(hidden, "
    "encoder_out)\n"
    "\"model.embed_tokens.weight\": {\"dtype\": \"BF16\", \"shape\": [32000, 4096], \"data_offsets\": [0, 262144000]}, "
    "\"metadata\": {}\n"
    "step 120 reward 0.512 kl 0.0312 entropy 1.204 value loss 0.0917 policy loss -0.0121 tokens 1,048,576 (12.1k tok/s/gpu)\n"
    "Unpacking objects: 100% (1203/1203), 4.21 MiB | 8.10 MiB/s, done.   Extracting archive to scratch, 10000 files written so "
    "far\n"
    "srun: job 4411223 queued and waiting for resources   srun: job 4411223 has been allocated resources   uploading artifacts\n";

/* ---- Windows that are common in many logs ---- */

/* Windows one after the other, with the power of two of their number in 1000 bytes. */
static const struct common {
  int level;
  const char *text;
  size_t len;
} commons[] = {
#define WO_COMMON_WINDOWS(level, text) {level, text, sizeof(text) - 1},
#include "parsers/match/common_windows.def"
#undef WO_COMMON_WINDOWS
};

/* ---- Counts ---- */

/* How often single bytes, pairs and windows (hashed) occur in the sample, and how often common windows do. Counting takes
 * microseconds and is thrown away. */
enum { PAIR_COUNTS_LOG2 = 13, WINDOW_COUNTS_LOG2 = 14, COMMON_SLOTS_LOG2 = 13 };
struct wo__frequencies {
  uint32_t bytes[256];
  uint16_t pairs[1 << PAIR_COUNTS_LOG2];
  uint16_t windows[1 << WINDOW_COUNTS_LOG2];
  struct {
    uint32_t window;
    float count;                    /* 0: free */
  } common[1 << COMMON_SLOTS_LOG2]; /* open addressing, at most half full */
};
_Static_assert(sizeof ordinary < UINT16_MAX, "counts of the sample fit");

/* Windows share counters when their hashes collide: that only makes one look more common than it is. */
static size_t window_count_index(const char *ptr) {
  return wo__hash_window(wo__load_window(ptr)) >> (32 - WINDOW_COUNTS_LOG2);
}

/* As for windows: a text has far fewer pairs than there are counters, so few share one. */
static size_t pair_index(const char *ptr) {
  const uint32_t pair = (uint32_t)(unsigned char)ptr[0] << 8 | (unsigned char)ptr[1];
  return wo__hash_window(pair) >> (32 - PAIR_COUNTS_LOG2);
}

/* In a text of the length of the sample. Levels are few, so that the power is a short loop. */
static double expected_count(int level) {
  double count = (double)sizeof ordinary / 1000;
  for (; level > 0; level--) count *= 2;
  for (; level < 0; level++) count /= 2;
  return count;
}

static size_t common_slot(const struct wo__frequencies *seen, const char *ptr) {
  const uint32_t window = wo__load_window(ptr);
  size_t at = wo__hash_window(window) >> (32 - COMMON_SLOTS_LOG2);
  while (seen->common[at].count > 0 && seen->common[at].window != window) at = (at + 1) % (1 << COMMON_SLOTS_LOG2);
  return at;
}

static void count_common(struct wo__frequencies *seen) {
  for (size_t i = 0; i < sizeof commons / sizeof commons[0]; i++) {
    const float count = (float)expected_count(commons[i].level);
    for (size_t at = 0; at + WO__WINDOW_BYTES <= commons[i].len; at += WO__WINDOW_BYTES) {
      const size_t slot = common_slot(seen, commons[i].text + at);
      seen->common[slot].window = wo__load_window(commons[i].text + at);
      seen->common[slot].count = count;
    }
  }
}

struct wo__frequencies *wo__frequencies_new(void) {
  struct wo__frequencies *const seen = calloc(1, sizeof *seen);
  if (seen == NULL) return NULL;
  const size_t len = sizeof ordinary - 1;
  for (size_t i = 0; i < len; i++) {
    seen->bytes[(unsigned char)ordinary[i]]++;
    if (i + 2 <= len) seen->pairs[pair_index(&ordinary[i])]++;
    if (i + WO__WINDOW_BYTES <= len) seen->windows[window_count_index(&ordinary[i])]++;
  }
  count_common(seen);
  return seen;
}

/* How often the pair at ptr is to be expected: as counted, and for pairs that the sample lacks, as
 * its bytes suggest. The sample is one page, so a pair that it lacks is not impossible; the small
 * constant keeps every product above zero. */
static double pair_frequency(const struct wo__frequencies *seen, const char *ptr) {
  const double a = seen->bytes[(unsigned char)ptr[0]];
  const double b = seen->bytes[(unsigned char)ptr[1]];
  const double unseen = 0.02;
  return seen->pairs[pair_index(ptr)] + a * b * (0.25 / (double)sizeof ordinary) + unseen;
}

/* A literal with the end of its line, and how common its pairs are. Each pair is part of three windows. */
struct ranking {
  size_t len;
  char text[WO__RANKED_BYTES];
  double pairs[WO__RANKED_BYTES];
};

/* Counts of many logs say more than those of a page. */
#define COMMON_WEIGHT 1000

/* How common the window at `at` is: a chain of pairs, but at least as common as it is in the sample, and in logs.
 * The chain is that of a text in which each byte depends on the one before it: P(ab) P(bc) P(cd) /
 * (P(b) P(c)). Only the order of the results counts, not their scale. */
static double window_frequency(const struct wo__frequencies *seen, const struct ranking *ranking, size_t at) {
  const char *const ptr = &ranking->text[at];
  const double *const pairs = &ranking->pairs[at];
  const double inner = (1.0 + seen->bytes[(unsigned char)ptr[1]]) * (1.0 + seen->bytes[(unsigned char)ptr[2]]);
  const size_t index = window_count_index(ptr);
  const double common = COMMON_WEIGHT * (double)seen->common[common_slot(seen, ptr)].count;
  return pairs[0] * pairs[1] * pairs[2] / inner + seen->windows[index] + common;
}

static void rank_text(const struct wo__frequencies *seen, const char *text, size_t len, struct ranking *ret) {
  ret->len = len < WO__RANKED_BYTES ? len : WO__RANKED_BYTES;
  memcpy(ret->text, text, ret->len);
  for (size_t i = 0; i + 1 < ret->len; i++) ret->pairs[i] = pair_frequency(seen, &ret->text[i]);
}

/* The rarest window of a literal among those that start at `alignment`, `alignment` + 4, ... There always is one: the shortest
 * literal holds a window at each alignment. The first of equal windows is taken, so that the result depends on the text alone. */
static size_t rarest_offset(const struct ranking *ranking, size_t alignment, const struct wo__frequencies *seen) {
  size_t best = alignment;
  double best_frequency = 0;
  for (size_t at = alignment; at + WO__WINDOW_BYTES <= ranking->len; at += WO__WINDOW_BYTES) {
    const double frequency = window_frequency(seen, ranking, at);
    if (at > alignment && frequency >= best_frequency) continue;
    best = at;
    best_frequency = frequency;
  }
  return best;
}

void wo__rarest_offsets(const struct wo__frequencies *seen, const char *text, size_t len, size_t ret_offsets[WO__WINDOW_BYTES]) {
  struct ranking ranking;
  assert(len >= WO_PATTERN_LITERAL_MIN);
  rank_text(seen, text, len, &ranking);
  for (size_t alignment = 0; alignment < WO__WINDOW_BYTES; alignment++)
    ret_offsets[alignment] = rarest_offset(&ranking, alignment, seen);
}
