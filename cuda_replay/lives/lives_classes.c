/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of blocks. See lives.h. */
#include <assert.h>
#include <stdlib.h>

#include "cuda_replay/classes/classify.h"
#include "cuda_replay/inspect/holdings.h"
#include "cuda_replay/lives/lives.h"

/* ---- From a pattern ---- */

/* Blocks and requests are both in the order of entries. Those from before the first entry are by rising address in both, and the
 * same ones if there are as many. */
static void take_classes(struct wo_lives *lives, const struct wo_alloc_pattern *classed) {
  if (classed->start_count == lives->start_count) {
    for (size_t i = 0; i < lives->start_count; i++) lives->blocks.items[i].class_ = (uint8_t)classed->instances.items[i].class_;
  }
  size_t at = lives->start_count;
  for (size_t i = 0; i < classed->requests.count; i++) {
    const struct wo_request *const request = &classed->requests.items[i];
    if (request->kind != WO_REQUEST_ALLOC || request->entry == WO_NO_ENTRY) continue;
    while (at < lives->blocks.count && lives->blocks.items[at].birth < request->entry) at++;
    if (at < lives->blocks.count && lives->blocks.items[at].birth == request->entry)
      lives->blocks.items[at].class_ = (uint8_t)classed->instances.items[request->subject].class_;
  }
}

/* ---- From the lives themselves ---- */

static struct wo_request request_of(enum wo_request_kind kind, uint32_t subject, uint32_t entry) {
  return (struct wo_request){.kind = (unsigned)kind & 0xffu, .subject = subject, .entry = entry};
}

/* The requests that the lives stand for: they never contradict each other. False if memory is out. */
static bool make_pattern(const struct wo_lives *lives, struct wo_alloc_pattern *pattern) {
  struct wo_lives_walk walk = wo_lives_walk_begin(lives);
  uint32_t dead, born;
  if (!WO_VEC_RESERVE(&pattern->instances, lives->blocks.count + 1, WO_NO_REQUEST)) return false;
  if (!WO_VEC_RESERVE(&pattern->requests, 2 * lives->blocks.count + 1, SIZE_MAX)) return false;
  for (size_t i = 0; i < lives->blocks.count; i++) {
    pattern->instances.items[i] = (struct wo_instance){.size_bytes = lives->blocks.items[i].size_bytes,
                                                       .birth = WO_NO_REQUEST,
                                                       .death = WO_NO_REQUEST,
                                                       .stack = lives->blocks.items[i].stack};
  }
  pattern->instances.count = lives->blocks.count;
  pattern->start_count = lives->start_count;
  while (wo_lives_walk_next(&walk, &dead, &born)) {
    if (dead != WO_NO_LIFE) {
      pattern->instances.items[dead].death = (uint32_t)pattern->requests.count;
      pattern->requests.items[pattern->requests.count++] = request_of(WO_REQUEST_FREE, dead, walk.entry - 1);
    }
    if (born == WO_NO_LIFE) continue;
    pattern->instances.items[born].birth = (uint32_t)pattern->requests.count;
    pattern->requests.items[pattern->requests.count++] = request_of(WO_REQUEST_ALLOC, born, walk.entry - 1);
  }
  return true;
}

static enum wo_status classify_lives(struct wo_lives *lives) {
  struct wo_alloc_pattern pattern = {.recording = lives->recording};
  struct wo_classes classes = {0};
  enum wo_status status = make_pattern(lives, &pattern) ? wo_classify(&pattern, lives->trace, &classes) : WO_E_NOMEM;
  if (status == WO_OK) {
    for (size_t i = 0; i < lives->blocks.count; i++) lives->blocks.items[i].class_ = (uint8_t)pattern.instances.items[i].class_;
  }
  wo_classes_done(&classes);
  wo_alloc_pattern_done(&pattern);
  return status;
}

/* Without entries no block is known to live longer than another: the stacks decide. Both lists are by rising address. */
static enum wo_status classify_state(struct wo_lives *lives) {
  struct wo_holdings holdings;
  struct wo_memory_over_time memory;
  if (wo_holdings_make(lives->recording, lives->trace, &holdings, &memory) != WO_OK) return WO_E_NOMEM;
  size_t at = 0;
  for (size_t i = 0; i < memory.map.blocks.count; i++) {
    const struct wo_map_block *const block = &memory.map.blocks.items[i];
    while (at < lives->start_count && lives->blocks.items[at].address < block->address) at++;
    if (at == lives->start_count) break;
    if (block->instance != WO_NO_INSTANCE && lives->blocks.items[at].address == block->address)
      lives->blocks.items[at].class_ = (uint8_t)holdings.pattern.instances.items[block->instance].class_;
  }
  wo_holdings_done(&holdings);
  wo_memory_over_time_done(&memory);
  return WO_OK;
}

enum wo_status wo_lives_classify(struct wo_lives *lives, const struct wo_alloc_pattern *classed) {
  if (classed != NULL && classed->instances.count > 0) {
    take_classes(lives, classed);
    return WO_OK;
  }
  return wo_trace_lack(lives->recording, lives->trace) != NULL ? classify_state(lives) : classify_lives(lives);
}
