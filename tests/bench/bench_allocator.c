/* SPDX-License-Identifier: Apache-2.0 */
/* How fast is the allocator model? Repeats iterations like those of a training run: parameters that stay, activations that live
 * from the forward to the backward pass, temporaries, gradients, on the default stream and a little on a second one.
 *
 *   bench_allocator [ROUNDS] [expandable]
 *
 * Prints one line: live blocks, requests, best and median trace operations a second (an operation
 * is an entry as torch records it: alloc, free_requested or free_completed) and calls a second (malloc or free). Requests are
 * made before the clock starts. */
#include <stdbool.h>
#include <stdint.h>

#include "cuda_replay/device/device_model.h"
#include "cuda_replay/allocator/allocator.h"
#include "tests/bench/timing.h"

#define MIB (UINT64_C(1) << 20)

enum { LAYERS = 96, PER_LAYER = 24, SLOTS = 16384, REQUESTS_MAX = 1 << 16, ROUNDS_DEFAULT = 9, ROUNDS_MAX = 101, REPEATS = 60 };

/* size 0: a free. */
struct request {
  uint64_t size_bytes;
  uint32_t slot;
  uint32_t stream;
};

struct run {
  struct request requests[REQUESTS_MAX];
  size_t count;
  wo_block_id blocks[SLOTS];
  uint64_t random;
};

static uint64_t below(struct run *run, uint64_t limit) {
  run->random = run->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (run->random >> 33) % limit;
}

static void add(struct run *run, uint64_t size_bytes, uint32_t slot) {
  if (run->count == REQUESTS_MAX) return;
  run->requests[run->count++] = (struct request){size_bytes, slot, slot % 31 == 0};
}

/* Sizes that a layer asks for: many equal ones, as between layers, and some of their own. */
static uint64_t layer_size(struct run *run, int item) {
  static const uint64_t common[] = {512,     2048,    4096,    16384,    65536,    393216,
                                    1572864, 3145728, 6291456, 12582912, 25165824, 50331648};
  if (below(run, 4) == 0) return 512 + below(run, 4000000);
  return common[item % (int)(sizeof common / sizeof common[0])];
}

/* One iteration; slots from `first` on are free before and after it. */
static void make_iteration(struct run *run, uint32_t first) {
  for (int layer = 0; layer < LAYERS; layer++) {
    for (int item = 0; item < PER_LAYER; item++) {
      const uint32_t slot = first + (uint32_t)(layer * PER_LAYER + item);
      add(run, layer_size(run, item), slot);
      /* A temporary of the forward pass. */
      add(run, layer_size(run, item + 5), SLOTS - 1);
      add(run, 0, SLOTS - 1);
    }
  }
  for (int layer = LAYERS - 1; layer >= 0; layer--) {
    const uint32_t gradient = first + LAYERS * PER_LAYER + (uint32_t)layer * 4;
    for (uint32_t item = 0; item < 4; item++) add(run, layer_size(run, (int)item * 3), gradient + item);
    for (int item = PER_LAYER - 1; item >= 0; item--) {
      add(run, layer_size(run, item), SLOTS - 2);
      add(run, 0, first + (uint32_t)(layer * PER_LAYER + item));
      add(run, 0, SLOTS - 2);
    }
  }
  for (uint32_t i = 0; i < LAYERS * 4; i++) add(run, 0, first + LAYERS * PER_LAYER + i);
}

/* False when the model failed. */
static bool serve(struct run *run, struct wo_allocator *allocator, const struct request *request) {
  wo_block_id *const block = &run->blocks[request->slot];
  if (request->size_bytes != 0) return wo_allocator_malloc(allocator, request->size_bytes, request->stream, block) == WO_OK;
  wo_allocator_free_block(allocator, *block, false);
  return true;
}

static bool serve_all(struct run *run, struct wo_allocator *allocator) {
  for (size_t i = 0; i < run->count; i++) {
    if (!serve(run, allocator, &run->requests[i])) return false;
  }
  return true;
}

/* Trace entries of one pass over the requests: two for each free. */
static size_t operations(const struct run *run) {
  size_t count = 0;
  for (size_t i = 0; i < run->count; i++) count += run->requests[i].size_bytes != 0 ? 1 : 2;
  return count;
}

/* Repeats the requests and prints. */
static bool measure(struct run *run, struct wo_allocator *allocator, size_t rounds, const char *name) {
  double took_s[ROUNDS_MAX];
  for (size_t i = 0; i < rounds; i++) {
    const double start_s = now_s();
    for (int repeat = 0; repeat < REPEATS; repeat++) {
      if (!serve_all(run, allocator)) return false;
    }
    took_s[i] = now_s() - start_s;
  }
  sort_times(took_s, rounds);
  const double entries = (double)operations(run) * (double)REPEATS;
  const double calls = (double)run->count * (double)REPEATS;
  printf("allocator %s live_peak=%lld requests=%zu best_mops=%.1f median_mops=%.1f best_mcalls=%.1f median_mcalls=%.1f\n", name,
         (long long)wo_allocator_stats(allocator)->allocation[WO_STAT_ALL].peak, run->count, entries / took_s[0] / 1e6,
         entries / took_s[rounds / 2] / 1e6, calls / took_s[0] / 1e6, calls / took_s[rounds / 2] / 1e6);
  return true;
}

/* Number of rounds asked for; one digit or two. */
static size_t read_rounds(const char *text) {
  size_t rounds = 0;
  for (; *text >= '0' && *text <= '9' && rounds < ROUNDS_MAX; text++) rounds = rounds * 10 + (size_t)(*text - '0');
  return rounds == 0 || rounds > ROUNDS_MAX ? ROUNDS_DEFAULT : rounds;
}

int main(int argc, char **argv) {
  static struct run run = {.random = 1};
  struct wo_device device;
  const struct wo_device_model_options capacity = {.capacity_bytes = UINT64_C(1) << 40};
  struct wo_device_model *const model = wo_device_model_new(&capacity, &device);
  struct wo_allocator_options options = {.settings = wo_alloc_settings_default(206), .torch = 206, .device = &device};
  options.settings.expandable_segments = argc > 2;
  struct wo_allocator *allocator = NULL;
  bool is_ok = model != NULL && wo_allocator_new(&options, &allocator, NULL) == WO_OK;
  /* What stays: parameters and optimizer states. */
  for (uint32_t i = 0; i < 2048 && is_ok; i++) {
    const struct request request = {layer_size(&run, (int)i), i, 0};
    is_ok = serve(&run, allocator, &request);
  }
  make_iteration(&run, 2048);
  is_ok = is_ok && serve_all(&run, allocator);
  const size_t rounds = argc > 1 ? read_rounds(argv[1]) : ROUNDS_DEFAULT;
  is_ok = is_ok && measure(&run, allocator, rounds, argc > 2 ? "expandable" : "default");
  if (!is_ok) fprintf(stderr, "bench_allocator: out of memory\n");
  wo_allocator_free(allocator);
  wo_device_model_free(model);
  return is_ok ? 0 : 1;
}
