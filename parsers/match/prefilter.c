/* The literal prefilter: where could anything of interest be in a large buffer?
 *
 * One window of four bytes is looked at for every four bytes of text. Its hash is tested in a
 * bitmap that fits the first-level cache; almost all windows end there. A hit is looked up in a
 * table of windows, which leads to the literals that hold this window at some offset, and those are
 * compared byte by byte, so that the answer is exact.
 *
 * Whatever its alignment, a literal of at least seven bytes has one window that the scan looks at for each of the four
 * alignments, and long literals have several to choose from. False hits are the whole cost, so the window is taken that is rarest
 * in ordinary log text, judged by pairs and windows counted in a page of such text (`ordinary`).
 *
 * A line feed at the end of a literal means the end of a line. The windows that reach it are in the table twice, once for each
 * character that ends lines, and the end of the text is read as if a line feed followed.
 *
 * Compared with running every expression on every line this is what makes whyoom fast: logs are
 * long and evidence is rare. Compared with Aho-Corasick it needs no table that grows with the
 * literals' bytes, and takes one step for each window, not for each byte. */
#include "parsers/match/prefilter.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
  WINDOW_BYTES = 4,
  BITMAP_BITS_LOG2 = 18, /* 32 KiB */
  BITMAP_WORDS = (1 << BITMAP_BITS_LOG2) / 32,
  VARIANTS_MAX = 2,  /* of a window that reaches the end of a line */
  NUMBERS_MAX = 150, /* variants of a window that reaches them */
};
_Static_assert(WO_PATTERN_LITERAL_MIN - WO_PREFILTER_NUMBER_BYTES >= WINDOW_BYTES, "every literal's body holds a window");
_Static_assert(WO_PATTERN_LITERAL_MIN == 2 * WINDOW_BYTES - 1, "every alignment has a window inside the shortest literal");

/* ---- Types ---- */

/* A literal. `body` is what is compared; is_line_end stands for the line feed that was cut from it. */
struct needle {
  struct wo_view body;
  uint32_t owner;
  bool is_line_end;
  bool is_before_number;
};

/* Characters that may follow a literal before a number. */
static const char number_first[] = "0123456789";
static const char number_second[] = "0123456789. GMK"; /* of "9.3", "12", "9 GiB" and "9G" */
_Static_assert((sizeof number_first - 1) * (sizeof number_second - 1) <= NUMBERS_MAX, "room for all variants");

struct wo_prefilter {
  struct wo_prefilter_tables tables;
  struct needle *needles;
  size_t needle_count;
  uint32_t slot_mask;
  /* Where `tables` was made here. */
  uint32_t *own_bitmap;
  struct wo_prefilter_place *own_places;
  struct wo_prefilter_slot *own_slots;
};

/* ---- Windows and hashes ---- */

/* The window at ptr, in the byte order of this machine: tables never leave it. Through memcpy,
 * since text has no alignment; it becomes one load. */
static inline uint32_t load_window(const char *ptr) {
  uint32_t window = 0;
  memcpy(&window, ptr, sizeof window);
  return window;
}

/* Fibonacci hashing: the high bits are well mixed, and both tables take theirs from there. */
static inline uint32_t hash_window(uint32_t window) {
  return window * UINT32_C(0x9e3779b1);
}

/* Whether the window's bit is set: true for all windows of literals, and for few others. */
static inline bool is_in_bitmap(const uint32_t *bitmap, uint32_t window) {
  const uint32_t bit = hash_window(window) >> (32 - BITMAP_BITS_LOG2);
  return (bitmap[bit / 32] >> (bit % 32) & 1) != 0;
}

/* The bitmap may say yes to windows that no literal has, when hashes collide, but never no to one
 * that some literal has. Everything after it only costs time. */
static void add_to_bitmap(uint32_t *bitmap, uint32_t window) {
  const uint32_t bit = hash_window(window) >> (32 - BITMAP_BITS_LOG2);
  bitmap[bit / 32] |= UINT32_C(1) << (bit % 32);
  assert(is_in_bitmap(bitmap, window));
}

/* The slot of a window, or the free slot where it belongs. Its bits of the hash are others than
 * those of the bitmap, at least in part, so a collision there need not be one here; the window
 * itself is compared in any case. */
static const struct wo_prefilter_slot *find_slot(const struct wo_prefilter *filter, uint32_t window) {
  const struct wo_prefilter_slot *const slots = filter->tables.slots;
  uint32_t at = hash_window(window) >> 8 & filter->slot_mask;
  while (slots[at].head > 0 && slots[at].window != window) at = (at + 1) & filter->slot_mask;
  return &slots[at];
}

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
    "here\n";

/* How often single bytes, pairs and windows (hashed) occur in the sample. Counting takes microseconds and is thrown away. */
enum { PAIR_COUNTS_LOG2 = 13, WINDOW_COUNTS_LOG2 = 14 };
struct frequencies {
  uint32_t bytes[256];
  uint16_t pairs[1 << PAIR_COUNTS_LOG2];
  uint16_t windows[1 << WINDOW_COUNTS_LOG2];
};
_Static_assert(sizeof ordinary < UINT16_MAX, "counts of the sample fit");

/* Windows share counters when their hashes collide: that only makes one look more common than it is. */
static size_t window_count_index(const char *ptr) {
  return hash_window(load_window(ptr)) >> (32 - WINDOW_COUNTS_LOG2);
}

/* As for windows: a text has far fewer pairs than there are counters, so few share one. */
static size_t pair_index(const char *ptr) {
  const uint32_t pair = (uint32_t)(unsigned char)ptr[0] << 8 | (unsigned char)ptr[1];
  return hash_window(pair) >> (32 - PAIR_COUNTS_LOG2);
}

static struct frequencies *new_frequencies(void) {
  struct frequencies *const seen = calloc(1, sizeof *seen);
  if (seen == NULL) return NULL;
  const size_t len = sizeof ordinary - 1;
  for (size_t i = 0; i < len; i++) {
    seen->bytes[(unsigned char)ordinary[i]]++;
    if (i + 2 <= len) seen->pairs[pair_index(&ordinary[i])]++;
    if (i + WINDOW_BYTES <= len) seen->windows[window_count_index(&ordinary[i])]++;
  }
  return seen;
}

/* How often the pair at ptr is to be expected: as counted, and for pairs that the sample lacks, as
 * its bytes suggest. The sample is one page, so a pair that it lacks is not impossible; the small
 * constant keeps every product above zero. */
static double pair_frequency(const struct frequencies *seen, const char *ptr) {
  const double a = seen->bytes[(unsigned char)ptr[0]];
  const double b = seen->bytes[(unsigned char)ptr[1]];
  const double unseen = 0.02;
  return seen->pairs[pair_index(ptr)] + a * b * (0.25 / (double)sizeof ordinary) + unseen;
}

/* Bytes of a literal that are looked at for its rarest windows. */
#define RANKED_BYTES 256

/* A literal with the end of its line, and how common its pairs are. Each pair is part of three windows. */
struct ranking {
  size_t len;
  char text[RANKED_BYTES];
  double pairs[RANKED_BYTES];
};

/* How common the window at `at` is: a chain of pairs, but at least as common as it is in the sample.
 * The chain is that of a text in which each byte depends on the one before it: P(ab) P(bc) P(cd) /
 * (P(b) P(c)). Only the order of the results counts, not their scale. */
static double window_frequency(const struct frequencies *seen, const struct ranking *ranking, size_t at) {
  const char *const ptr = &ranking->text[at];
  const double *const pairs = &ranking->pairs[at];
  const double inner = (1.0 + seen->bytes[(unsigned char)ptr[1]]) * (1.0 + seen->bytes[(unsigned char)ptr[2]]);
  return pairs[0] * pairs[1] * pairs[2] / inner + seen->windows[window_count_index(ptr)];
}

/* ---- Building ---- */

/* Bytes of a literal that windows may cover: the end of a line counts as one, the number after it as
 * two. They may be all that makes a literal long enough. */
static size_t covered_len(const struct needle *needle) {
  return needle->body.len + (needle->is_line_end ? 1 : 0) + (needle->is_before_number ? WO_PREFILTER_NUMBER_BYTES : 0);
}

/* The bytes of the window at `offset`, with `line_end` in the place of the end of the line. */
static void copy_window(const struct needle *needle, size_t offset, char line_end, char ret_window[WINDOW_BYTES]) {
  assert(offset + WINDOW_BYTES <= covered_len(needle));
  const size_t left = needle->body.len - offset;
  memset(ret_window, line_end, WINDOW_BYTES);
  memcpy(ret_window, needle->body.ptr + offset, left < WINDOW_BYTES ? left : WINDOW_BYTES);
}

static void rank_literal(const struct needle *needle, const struct frequencies *seen, struct ranking *ret) {
  ret->len = covered_len(needle) < RANKED_BYTES ? covered_len(needle) : RANKED_BYTES;
  const size_t own = needle->body.len < ret->len ? needle->body.len : ret->len;
  memcpy(ret->text, needle->body.ptr, own);
  for (size_t i = own; i < ret->len; i++) ret->text[i] = needle->is_line_end ? '\n' : i == own ? '1' : '.';
  for (size_t i = 0; i + 1 < ret->len; i++) ret->pairs[i] = pair_frequency(seen, &ret->text[i]);
}

/* The rarest window of a literal among those that start at `alignment`, `alignment` + 4, ... There always is one: the shortest
 * literal holds a window at each alignment. The first of equal windows is taken, so that the result depends on the text alone. */
static size_t rarest_offset(const struct ranking *ranking, size_t alignment, const struct frequencies *seen) {
  size_t best = alignment;
  double best_frequency = 0;
  for (size_t at = alignment; at + WINDOW_BYTES <= ranking->len; at += WINDOW_BYTES) {
    const double frequency = window_frequency(seen, ranking, at);
    if (at > alignment && frequency >= best_frequency) continue;
    best = at;
    best_frequency = frequency;
  }
  return best;
}

static void add_variant(struct wo_prefilter *filter, size_t index, size_t offset, const char window[WINDOW_BYTES]) {
  const struct wo_view body = filter->needles[index].body;
  filter->own_places[filter->tables.place_count++] =
      (struct wo_prefilter_place){.window = load_window(window),
                                  .literal = (uint32_t)index,
                                  .offset = (uint32_t)offset,
                                  .len = (uint32_t)body.len,
                                  .head = load_window(body.ptr),
                                  .tail = load_window(body.ptr + body.len - WINDOW_BYTES)};
}

/* The windows of a literal before a number that reach the number: one for each of its beginnings. */
static void add_number_places(struct wo_prefilter *filter, size_t index, size_t offset) {
  const struct needle *const needle = &filter->needles[index];
  const size_t own = needle->body.len - offset;
  const bool has_second = own + WO_PREFILTER_NUMBER_BYTES <= WINDOW_BYTES;
  char window[WINDOW_BYTES];
  memcpy(window, needle->body.ptr + offset, own);
  for (const char *first = number_first; *first; first++) {
    window[own] = *first;
    if (!has_second) add_variant(filter, index, offset, window);
    for (const char *second = number_second; has_second && *second; second++) {
      window[own + 1] = *second;
      add_variant(filter, index, offset, window);
    }
  }
}

/* Adds the window of a literal at `offset` to the places, in both variants when it reaches the end
 * of a line. Room for both was made by the caller. */
static void add_place(struct wo_prefilter *filter, size_t index, size_t offset) {
  const struct needle *const needle = &filter->needles[index];
  const bool has_variants = offset + WINDOW_BYTES > needle->body.len;
  const char line_ends[VARIANTS_MAX] = {'\n', '\r'};
  if (needle->is_before_number && has_variants) {
    add_number_places(filter, index, offset);
    return;
  }
  for (size_t i = 0; i < (has_variants ? VARIANTS_MAX : 1); i++) {
    char window[WINDOW_BYTES];
    copy_window(needle, offset, line_ends[i], window);
    add_variant(filter, index, offset, window);
  }
}

/* The most places that the literals can have. */
static size_t count_places(const struct wo_prefilter *filter) {
  size_t most = 0;
  for (size_t i = 0; i < filter->needle_count; i++)
    most += (size_t)WINDOW_BYTES * (filter->needles[i].is_before_number ? NUMBERS_MAX : VARIANTS_MAX);
  return most;
}

/* Chooses the windows of all literals, one for each alignment, since it depends on the text which
 * one the scan will meet. False when memory is out. */
static bool choose_places(struct wo_prefilter *filter) {
  const size_t most = count_places(filter);
  filter->tables.places = filter->own_places = calloc(most == 0 ? 1 : most, sizeof *filter->own_places);
  struct frequencies *const seen = new_frequencies();
  if (filter->own_places == NULL || seen == NULL) {
    free(seen);
    return false;
  }
  for (size_t i = 0; i < filter->needle_count; i++) {
    struct ranking ranking;
    rank_literal(&filter->needles[i], seen, &ranking);
    for (size_t alignment = 0; alignment < WINDOW_BYTES; alignment++) {
      add_place(filter, i, rarest_offset(&ranking, alignment, seen));
    }
  }
  free(seen);
  assert(filter->tables.place_count <= most);
  return true;
}

/* Builds the table of windows and the bitmap. False when memory is out. At least half of the slots
 * stay free, so a search for a window that is not there ends soon. Places of equal windows are
 * chained, later literals first; no answer depends on their order. */
static bool fill_slots(struct wo_prefilter *filter) {
  struct wo_prefilter_tables *const tables = &filter->tables;
  tables->slot_count = 16;
  while (tables->slot_count < 2 * tables->place_count) tables->slot_count *= 2;
  tables->bitmap_words = BITMAP_WORDS;
  tables->slots = filter->own_slots = calloc(tables->slot_count, sizeof *filter->own_slots);
  tables->bitmap = filter->own_bitmap = calloc(BITMAP_WORDS, sizeof *filter->own_bitmap);
  if (filter->own_slots == NULL || filter->own_bitmap == NULL) return false;
  filter->slot_mask = (uint32_t)(tables->slot_count - 1);
  for (size_t i = 0; i < tables->place_count; i++) {
    struct wo_prefilter_place *const place = &filter->own_places[i];
    struct wo_prefilter_slot *const slot = &filter->own_slots[find_slot(filter, place->window) - filter->own_slots];
    slot->window = place->window;
    place->next = slot->head;
    slot->head = (uint32_t)i + 1;
    add_to_bitmap(filter->own_bitmap, place->window);
  }
  return true;
}

/* The hash of the literals, in order, with their conditions on the next characters. Their texts are one stream in which each is
 * followed by its length, so that two lists have the same hash only by accident, once in 2^64. Owners are not part of the
 * tables. */
static uint64_t hash_literals(const struct wo_prefilter_literal *literals, size_t count) {
  uint64_t hash = load_window("\1\2\3\4");
  for (size_t i = 0; i < count; i++) {
    const struct wo_view text = literals[i].text;
    for (size_t at = 0; at < text.len; at += sizeof(uint64_t)) {
      uint64_t word = 0;
      memcpy(&word, text.ptr + at, text.len - at < sizeof word ? text.len - at : sizeof word);
      hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
      hash ^= hash >> 29;
    }
    hash = (hash ^ (text.len << 1 | (literals[i].is_before_number ? 1 : 0))) * UINT64_C(0xd6e8feb86659fd93);
  }
  return hash;
}

/* Takes the literals over, cutting the line feeds that stand for the end of a line. The bytes stay
 * the caller's. False when memory is out. */
static bool copy_needles(struct wo_prefilter *filter, const struct wo_prefilter_literal *literals, size_t count) {
  filter->needles = calloc(count == 0 ? 1 : count, sizeof *filter->needles);
  if (filter->needles == NULL) return false;
  filter->needle_count = count;
  for (size_t i = 0; i < count; i++) {
    struct wo_view body = literals[i].text;
    const bool is_line_end = body.ptr[body.len - 1] == '\n';
    if (is_line_end) body.len--;
    filter->needles[i] = (struct needle){.body = body,
                                         .owner = literals[i].owner,
                                         .is_line_end = is_line_end,
                                         .is_before_number = literals[i].is_before_number && !is_line_end};
  }
  return true;
}

bool wo_prefilter_is_long_enough(const struct wo_prefilter_literal *literal) {
  const struct wo_view text = literal->text;
  const bool is_line_end = text.len > 0 && text.ptr[text.len - 1] == '\n';
  return text.len + (literal->is_before_number && !is_line_end ? WO_PREFILTER_NUMBER_BYTES : 0) >= WO_PATTERN_LITERAL_MIN;
}

/* Lengths and counts are checked first, so that 32 bits hold every index from here on. */
enum wo_status wo_prefilter_new(const struct wo_prefilter_literal *literals, size_t count,
                                const struct wo_prefilter_tables *ready, struct wo_prefilter **ret_filter) {
  assert((literals != NULL || count == 0) && ret_filter != NULL);
  for (size_t i = 0; i < count; i++) {
    if (!wo_prefilter_is_long_enough(&literals[i]) || literals[i].text.len > UINT32_MAX) return WO_E_RANGE;
  }
  if (count > UINT32_MAX / WINDOW_BYTES / NUMBERS_MAX / 2) return WO_E_RANGE;
  struct wo_prefilter *const filter = calloc(1, sizeof *filter);
  if (filter == NULL) return WO_E_NOMEM;
  filter->tables.made_of = hash_literals(literals, count);
  const bool is_ready = ready != NULL && ready->made_of == filter->tables.made_of;
  if (!copy_needles(filter, literals, count) || (!is_ready && !(choose_places(filter) && fill_slots(filter)))) {
    wo_prefilter_free(filter);
    return WO_E_NOMEM;
  }
  if (is_ready) {
    filter->tables = *ready;
    filter->slot_mask = (uint32_t)(ready->slot_count - 1);
  }
  *ret_filter = filter;
  return WO_OK;
}

struct wo_prefilter *wo_prefilter_free(struct wo_prefilter *filter) {
  if (filter == NULL) return NULL;
  free(filter->needles);
  free(filter->own_places);
  free(filter->own_slots);
  free(filter->own_bitmap);
  free(filter);
  return NULL;
}

struct wo_prefilter_tables wo_prefilter_tables(const struct wo_prefilter *filter) {
  return filter->tables;
}

/* ---- Comparing ---- */

static inline bool is_digit(char c) {
  return (unsigned char)(c - '0') < 10;
}

/* Whether a number of at least two bytes begins at `at`: as number_first and number_second say, without a search in them. */
static inline bool is_number_start(struct wo_view text, size_t at) {
  if (at >= text.len || text.len - at < WO_PREFILTER_NUMBER_BYTES || !is_digit(text.ptr[at])) return false;
  const char c = text.ptr[at + 1];
  return is_digit(c) || c == '.' || c == ' ' || c == 'G' || c == 'M' || c == 'K';
}

/* Whether the literal is in text at `at`: the definition of an occurrence, shared by both ways
 * of searching. That the fast way misses none is then all there is to test. */
static inline bool stands_at(const struct needle *needle, struct wo_view text, size_t at) {
  const struct wo_view body = needle->body;
  if (at > text.len || body.len > text.len - at) return false;
  if (memcmp(text.ptr + at, body.ptr, body.len) != 0) return false;
  const size_t end = at + body.len;
  if (needle->is_before_number) return is_number_start(text, end);
  return !needle->is_line_end || end == text.len || text.ptr[end] == '\n' || text.ptr[end] == '\r';
}

/* ---- Searching ---- */

/* The window at `at`; a line feed follows the end of the text. Literals that would need other bytes there are refused by
 * stands_at. */
static uint32_t window_at(struct wo_view text, size_t at) {
  assert(at < text.len);
  if (text.len - at >= WINDOW_BYTES) return load_window(text.ptr + at);
  char tail[WINDOW_BYTES];
  memset(tail, '\n', sizeof tail);
  memcpy(tail, text.ptr + at, text.len - at);
  return load_window(tail);
}

/* Offset of the next window at `at`, `at` + 4, ... whose hash is in the bitmap, or WO_NOT_FOUND.
 * This loop is where the time goes: four windows for one branch. The single bars are on purpose:
 * all four tests are made, and none is jumped over. */
static size_t next_hit(const struct wo_prefilter *filter, struct wo_view text, size_t at) {
  const uint32_t *const bitmap = filter->tables.bitmap;
  const size_t stride = (size_t)4 * WINDOW_BYTES;
  while (at < text.len && text.len - at >= stride) {
    const char *const ptr = text.ptr + at;
    const bool a = is_in_bitmap(bitmap, load_window(ptr));
    const bool b = is_in_bitmap(bitmap, load_window(ptr + WINDOW_BYTES));
    const bool c = is_in_bitmap(bitmap, load_window(ptr + (ptrdiff_t)2 * WINDOW_BYTES));
    const bool d = is_in_bitmap(bitmap, load_window(ptr + (ptrdiff_t)3 * WINDOW_BYTES));
    if (a | b | c | d) return at + (size_t)(a ? 0 : b ? 1 : c ? 2 : 3) * WINDOW_BYTES;
    at += stride;
  }
  for (; at < text.len; at += WINDOW_BYTES) {
    if (is_in_bitmap(bitmap, window_at(text, at))) return at;
  }
  return WO_NOT_FOUND;
}

/* Whether the literal of this place is around the window at `at`, starting at `from` or later.
 * A literal that began before `from` was reported by an earlier search, or lies in a line that is
 * done with. */
static inline bool stands_around(const struct wo_prefilter *filter, const struct wo_prefilter_place *place, struct wo_view text,
                                 size_t from, size_t at) {
  if (at < place->offset || at - place->offset < from) return false;
  const size_t start = at - place->offset;
  if (text.len - start < place->len || load_window(text.ptr + start) != place->head) return false;
  if (load_window(text.ptr + start + place->len - WINDOW_BYTES) != place->tail) return false;
  return stands_at(&filter->needles[place->literal], text, start);
}

/* The first window that is hit need not belong to the first literal of its line, but a literal of
 * an earlier line would have been hit before: windows are met in order, and a literal without its
 * line feed lies within one line. That is what the header promises. */
bool wo_prefilter_walk(const struct wo_prefilter *filter, struct wo_view text, struct wo_prefilter_cursor *cursor,
                       struct wo_prefilter_hit *ret_hit) {
  assert(filter != NULL);
  if (filter->needle_count == 0) return false;
  for (;;) {
    while (cursor->next > 0) {
      const struct wo_prefilter_place *const place = &filter->tables.places[cursor->next - 1];
      cursor->next = place->next;
      if (!stands_around(filter, place, text, cursor->from, cursor->window)) continue;
      *ret_hit = (struct wo_prefilter_hit){cursor->window - place->offset, filter->needles[place->literal].owner};
      return true;
    }
    cursor->window = next_hit(filter, text, cursor->at);
    if (cursor->window == WO_NOT_FOUND) return false;
    cursor->at = cursor->window + WINDOW_BYTES;
    cursor->next = find_slot(filter, window_at(text, cursor->window))->head;
  }
}

/* Sets the owner's bit; true when it was not set before. Owners beyond the bits are not recorded. */
static bool mark_owner(uint64_t *owners, size_t words, uint32_t owner) {
  if (owner / 64 >= words) return false;
  const uint64_t bit = UINT64_C(1) << (owner % 64);
  const bool is_new = (owners[owner / 64] & bit) == 0;
  owners[owner / 64] |= bit;
  return is_new;
}

/* Goes on after every hit, also within a literal just found: literals overlap ("out of memory"
 * is in "CUDA out of memory"). */
size_t wo_prefilter_mark(const struct wo_prefilter *filter, struct wo_view text, uint64_t *owners, size_t words) {
  assert(filter != NULL && (owners != NULL || words == 0));
  size_t marked = 0;
  if (filter->needle_count == 0) return 0;
  for (size_t at = next_hit(filter, text, 0); at != WO_NOT_FOUND; at = next_hit(filter, text, at + WINDOW_BYTES)) {
    const struct wo_prefilter_slot *const slot = find_slot(filter, window_at(text, at));
    for (uint32_t i = slot->head; i > 0; i = filter->tables.places[i - 1].next) {
      const struct wo_prefilter_place *const place = &filter->tables.places[i - 1];
      if (!stands_around(filter, place, text, 0, at)) continue;
      marked += mark_owner(owners, words, filter->needles[place->literal].owner) ? 1 : 0;
    }
  }
  return marked;
}

/* The reference: every literal, everywhere; the first byte is looked at before the call, which makes it bearable in tests. */
size_t wo_prefilter_mark_slow(const struct wo_prefilter *filter, struct wo_view text, uint64_t *owners, size_t words) {
  assert(filter != NULL && (owners != NULL || words == 0));
  size_t marked = 0;
  for (size_t i = 0; i < filter->needle_count; i++) {
    for (size_t at = 0; at < text.len; at++) {
      if (filter->needles[i].body.ptr[0] != text.ptr[at] || !stands_at(&filter->needles[i], text, at)) continue;
      marked += mark_owner(owners, words, filter->needles[i].owner) ? 1 : 0;
      break;
    }
  }
  return marked;
}
