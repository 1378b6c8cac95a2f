/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the length that a job states is that of its data. */
#include <assert.h>

#include "cuda_replay/change/scale_internal.h"

/* A batch is on the device before anything is computed from it: the allocations at the beginning of a pass that are looked at. */
enum { BEGINNING = 16 };

/* Identifiers, masks and positions have 1 to 8 bytes for each token; a loss drops the last one, a loader may add one. */
static bool is_of_tokens(uint64_t size_bytes, uint64_t micro_batch, uint64_t seq_len) {
  for (uint64_t width = 1; width <= 8; width *= 2) {
    for (int shift = -1; shift <= 1; shift++) {
      if (size_bytes == width * micro_batch * (seq_len + (uint64_t)(int64_t)shift)) return true;
    }
  }
  return false;
}

/* ---- Passes ---- */

/* A forward pass: instances [first, end); the batch is made before `beginning`. */
struct pass {
  const struct wo_alloc_pattern *pattern;
  const struct wo_classes *classes;
  size_t first, beginning, end;
};

static uint64_t size_of(const struct pass *pass, size_t i) {
  return pass->pattern->instances.items[i].size_bytes;
}

/* Whether it depends on the data of the pass. */
static bool counts(const struct pass *pass, size_t i) {
  enum wo_scale_reason reason;
  return !wo__scale_is_constant(pass->classes->marks.items[i].rule, &reason);
}

/* Whether it may be a part of the batch. A module makes none, neither when it is built nor when it is called: the statistics of
 * its norms have a few bytes for each sample and channel, as identifiers have for each token. */
static bool may_be_batch(const struct pass *pass, size_t i) {
  const uint32_t stack = pass->pattern->instances.items[i].stack;
  return counts(pass, i) && (wo_stack_facts_of(&pass->classes->facts, stack).flags & (WO_STACK_MODULE | WO_STACK_SETUP)) == 0;
}

/* The pass whose first instance is at or behind `at`; empty if there is none. */
static struct pass next_pass(const struct wo_alloc_pattern *pattern, const struct wo_classes *classes, size_t at) {
  const size_t count = pattern->instances.count;
  unsigned counted = 0;
  while (at < count && classes->marks.items[at].phase != WO_PHASE_FORWARD) at++;
  struct pass pass = {pattern, classes, at, at, at};
  for (; pass.end < count && classes->marks.items[pass.end].phase == WO_PHASE_FORWARD; pass.end++) {
    if (counted < BEGINNING) pass.beginning = pass.end + 1;
    counted += counts(&pass, pass.end);
  }
  return pass;
}

bool wo_scale_has_length(const struct wo_alloc_pattern *pattern, const struct wo_classes *classes, uint32_t micro_batch,
                         uint32_t seq_len) {
  assert(pattern && classes && classes->marks.count == pattern->instances.count);
  if (micro_batch == 0 || seq_len < 2) return false;
  for (struct pass pass = next_pass(pattern, classes, pattern->start_count); pass.first < pass.end;
       pass = next_pass(pattern, classes, pass.end)) {
    for (size_t i = pass.first; i < pass.beginning; i++) {
      if (may_be_batch(&pass, i) && is_of_tokens(size_of(&pass, i), micro_batch, seq_len)) return true;
    }
  }
  return false;
}

/* ---- A length that nothing states ---- */

/* The part of a pass's bytes that are to be multiples of its tokens. */
#define EXPLAINED_SHARE 0.6

static bool is_explained(const struct pass *pass, uint64_t token_count) {
  double all = 0, multiples = 0;
  for (size_t i = pass->first; i < pass->end; i++) {
    if (!counts(pass, i)) continue;
    all += (double)size_of(pass, i);
    if (size_of(pass, i) % token_count == 0) multiples += (double)size_of(pass, i);
  }
  return multiples >= EXPLAINED_SHARE * all;
}

/* The first length that a tensor of tokens shows; PyTorch's own identifiers have 8 bytes. */
static uint32_t length_of(const struct pass *pass, uint32_t micro_batch, uint32_t most) {
  static const int shifts[] = {0, 1, -1};
  for (size_t i = pass->first; i < pass->beginning; i++) {
    if (!may_be_batch(pass, i)) continue;
    for (uint64_t width = 8; width >= 1; width /= 2) {
      const uint64_t size = size_of(pass, i), tokens = size / width / micro_batch;
      if (size % (width * micro_batch) != 0 || tokens < 3 || tokens > (uint64_t)most + 1) continue;
      for (size_t k = 0; k < sizeof shifts / sizeof *shifts; k++) {
        const uint64_t length = tokens - (uint64_t)(int64_t)shifts[k];
        if (length <= most && is_explained(pass, micro_batch * length)) return (uint32_t)length;
      }
    }
  }
  return 0;
}

struct wo_pass_length wo_scale_find_length(const struct wo_alloc_pattern *pattern, const struct wo_classes *classes,
                                           uint32_t first, uint32_t micro_batch, uint32_t most) {
  assert(pattern && classes && classes->marks.count == pattern->instances.count);
  struct wo_pass_length greatest = {0};
  if (micro_batch == 0 || most < 2) return greatest;
  for (struct pass pass = next_pass(pattern, classes, pattern->start_count); pass.first < pass.end;
       pass = next_pass(pattern, classes, pass.end)) {
    const uint32_t begin = pattern->instances.items[pass.first].birth;
    if (greatest.end == UINT32_MAX) greatest.end = begin;
    if (begin < first) continue;
    const uint32_t length = length_of(&pass, micro_batch, most);
    if (length > greatest.seq_len) greatest = (struct wo_pass_length){length, begin, UINT32_MAX};
  }
  return greatest;
}

/* ---- Another batch ---- */

/* The largest tensor of a pass has many numbers for each token, and its identifiers are at most this part of it. */
enum { IDENTIFIERS_PART = 32 };

/* Whether the pass begins with more tokens than `most`, of which it is made. */
static bool has_more_tokens(const struct pass *pass, uint64_t most) {
  uint64_t largest = 0;
  for (size_t i = pass->first; i < pass->end; i++) {
    if (counts(pass, i) && size_of(pass, i) > largest) largest = size_of(pass, i);
  }
  for (size_t i = pass->first; i < pass->beginning; i++) {
    const uint64_t tokens = size_of(pass, i) / 8;
    if (tokens > most && tokens <= largest / 8 / IDENTIFIERS_PART && may_be_batch(pass, i) && is_explained(pass, tokens))
      return true;
  }
  return false;
}

bool wo_scale_has_other_batch(const struct wo_alloc_pattern *pattern, const struct wo_classes *classes, uint32_t first,
                              uint32_t micro_batch, uint32_t seq_len) {
  assert(pattern && classes && classes->marks.count == pattern->instances.count);
  const struct wo_pass_length greatest = wo_scale_find_length(pattern, classes, 0, micro_batch, seq_len);
  size_t at = pattern->instances.count;
  if (greatest.seq_len == 0 || greatest.first >= first) return false;
  while (at > pattern->start_count && pattern->instances.items[at - 1].birth >= first) at--;
  const struct pass last = next_pass(pattern, classes, at);
  return last.first < last.end && has_more_tokens(&last, (uint64_t)micro_batch * ((uint64_t)seq_len + 1));
}
