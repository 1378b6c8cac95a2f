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

/* A module makes no batch, neither when it is built nor when it is called: the statistics of its norms have a few bytes for each
 * sample and channel, as identifiers have for each token. */
static bool is_in_module(const struct wo_alloc_pattern *pattern, const struct wo_classes *classes, size_t i) {
  return (wo_stack_facts_of(&classes->facts, pattern->instances.items[i].stack).flags & (WO_STACK_MODULE | WO_STACK_SETUP)) != 0;
}

bool wo_scale_has_length(const struct wo_alloc_pattern *pattern, const struct wo_classes *classes, uint32_t micro_batch,
                         uint32_t seq_len) {
  assert(pattern && classes && classes->marks.count == pattern->instances.count);
  unsigned in_pass = 0;
  bool was_forward = false;
  if (micro_batch == 0 || seq_len < 2) return false;
  for (size_t i = pattern->start_count; i < pattern->instances.count; i++) {
    const bool is_forward = classes->marks.items[i].phase == WO_PHASE_FORWARD;
    if (is_forward && !was_forward) in_pass = 0;
    was_forward = is_forward;
    enum wo_scale_reason reason;
    if (!is_forward || wo__scale_is_constant(classes->marks.items[i].rule, &reason) || in_pass++ >= BEGINNING) continue;
    if (is_in_module(pattern, classes, i)) continue;
    if (is_of_tokens(pattern->instances.items[i].size_bytes, micro_batch, seq_len)) return true;
  }
  return false;
}

/* ---- A length that nothing states ---- */

/* The part of a pass's bytes that are to be multiples of its tokens. */
#define EXPLAINED_SHARE 0.6

/* A forward pass: instances [first, end), of which those count that depend on its data. */
struct pass {
  const struct wo_alloc_pattern *pattern;
  const struct wo_classes *classes;
  size_t first, end;
};

static bool counts(const struct pass *pass, size_t i) {
  enum wo_scale_reason reason;
  return !wo__scale_is_constant(pass->classes->marks.items[i].rule, &reason);
}

static bool is_explained(const struct pass *pass, uint64_t token_count) {
  double all = 0, multiples = 0;
  for (size_t i = pass->first; i < pass->end; i++) {
    if (!counts(pass, i)) continue;
    const uint64_t size = pass->pattern->instances.items[i].size_bytes;
    all += (double)size;
    if (size % token_count == 0) multiples += (double)size;
  }
  return multiples >= EXPLAINED_SHARE * all;
}

/* The first length that a tensor of tokens shows; PyTorch's own identifiers have 8 bytes. */
static uint32_t length_of(const struct pass *pass, uint32_t micro_batch, uint32_t most) {
  static const int shifts[] = {0, 1, -1};
  unsigned seen = 0;
  for (size_t i = pass->first; i < pass->end && seen < BEGINNING; i++) {
    if (!counts(pass, i) || seen++ >= BEGINNING || is_in_module(pass->pattern, pass->classes, i)) continue;
    for (uint64_t width = 8; width >= 1; width /= 2) {
      const uint64_t size = pass->pattern->instances.items[i].size_bytes, tokens = size / width / micro_batch;
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
  for (size_t i = pattern->start_count; i < pattern->instances.count;) {
    struct pass pass = {pattern, classes, i, i};
    while (pass.end < pattern->instances.count && classes->marks.items[pass.end].phase == WO_PHASE_FORWARD) pass.end++;
    i = pass.end > i ? pass.end : i + 1;
    if (pass.end == pass.first) continue;
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
  unsigned seen = 0;
  uint64_t largest = 0;
  for (size_t i = pass->first; i < pass->end; i++) {
    const uint64_t size = pass->pattern->instances.items[i].size_bytes;
    if (counts(pass, i) && size > largest) largest = size;
  }
  for (size_t i = pass->first; i < pass->end && seen < BEGINNING; i++) {
    if (!counts(pass, i) || seen++ >= BEGINNING || is_in_module(pass->pattern, pass->classes, i)) continue;
    const uint64_t tokens = pass->pattern->instances.items[i].size_bytes / 8;
    if (tokens > most && tokens <= largest / 8 / IDENTIFIERS_PART && is_explained(pass, tokens)) return true;
  }
  return false;
}

bool wo_scale_has_other_batch(const struct wo_alloc_pattern *pattern, const struct wo_classes *classes, uint32_t first,
                              uint32_t micro_batch, uint32_t seq_len) {
  assert(pattern && classes && classes->marks.count == pattern->instances.count);
  const struct wo_pass_length greatest = wo_scale_find_length(pattern, classes, 0, micro_batch, seq_len);
  struct pass last = {pattern, classes, pattern->instances.count, pattern->instances.count};
  if (greatest.seq_len == 0 || greatest.first >= first) return false;
  while (last.first > pattern->start_count && pattern->instances.items[last.first - 1].birth >= first) last.first--;
  return has_more_tokens(&last, (uint64_t)micro_batch * ((uint64_t)seq_len + 1));
}
