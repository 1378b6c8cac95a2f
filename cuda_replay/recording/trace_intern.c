/* SPDX-License-Identifier: Apache-2.0 */
/* Interning: one hash and one kind of index, for texts, frames, stacks, streams and pools. */
#include "cuda_replay/recording/trace_intern.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

/* ---- Hash: multiply to 128 bits and fold, sixteen bytes at a time ---- */

static uint64_t fold(uint64_t a, uint64_t b) {
  const unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Odd, with their bits well spread (digits of the golden ratio and of pi). */
#define MIX_A UINT64_C(0x9e3779b97f4a7c15)
#define MIX_B UINT64_C(0x243f6a8885a308d3)

static uint64_t word_at(const char *bytes) {
  uint64_t word = 0;
  memcpy(&word, bytes, sizeof word);
  return word;
}

/* The seed goes into every step, so that nobody can prepare texts that collide. */
static uint32_t hash_bytes(uint64_t seed, const void *bytes, size_t len) {
  const char *at = bytes;
  uint64_t hash = seed ^ fold(len ^ MIX_B, MIX_A);
  uint64_t word = 0;
  for (; len >= 16; len -= 16, at += 16) hash = fold(hash ^ word_at(at), word_at(at + 8) ^ MIX_A ^ seed);
  if (len >= 8) {
    hash = fold(hash ^ word_at(at), MIX_A ^ seed);
    len -= 8;
    at += 8;
  }
  if (len > 0) memcpy(&word, at, len);
  return (uint32_t)(fold(hash ^ word, MIX_B ^ seed) >> 32);
}

/* ---- Index ---- */

enum { INDEX_FIRST = 64 };

/* The id of the next slot that may have this hash, from *at on; false at the first free slot. Begin with *at = hash. */
static bool next_match(const struct wo_hash_index *index, uint32_t hash, size_t *at, uint32_t *ret_id) {
  if (index->capacity == 0) return false;
  const size_t mask = index->capacity - 1;
  for (;; (*at)++) {
    const struct wo_hash_slot slot = index->slots[*at & mask];
    if (slot.next_id == 0) return false;
    if (slot.hash != hash) continue;
    (*at)++;
    *ret_id = slot.next_id - 1;
    return true;
  }
}

/* Puts a slot into the first free place from that of its hash on; there is always one. */
static void put(struct wo_hash_index *index, struct wo_hash_slot slot) {
  const size_t mask = index->capacity - 1;
  size_t place = slot.hash;
  while (index->slots[place & mask].next_id != 0) place++;
  index->slots[place & mask] = slot;
}

/* Makes room for one more. False when memory is out; the index is unchanged then. */
static bool reserve(struct wo_hash_index *index) {
  if (index->count < index->capacity / 2) return true;
  struct wo_hash_index grown = {.capacity = index->capacity == 0 ? INDEX_FIRST : index->capacity * 2, .count = index->count};
  grown.slots = calloc(grown.capacity, sizeof *grown.slots);
  if (grown.slots == NULL) return false;
  for (size_t i = 0; i < index->capacity; i++) {
    if (index->slots[i].next_id != 0) put(&grown, index->slots[i]);
  }
  free(index->slots);
  *index = grown;
  return true;
}

/* Room must have been reserved. */
static void add(struct wo_hash_index *index, uint32_t hash, uint32_t id) {
  assert(index->count < index->capacity);
  put(index, (struct wo_hash_slot){id + 1, hash});
  index->count++;
}

/* The id of a value in an array of values of one size, in which bytes that are equal mean equal values. */
static bool find_value(const struct wo_hash_index *index, uint32_t hash, const void *values, const void *value, size_t size,
                       uint32_t *ret_id) {
  for (size_t at = hash; next_match(index, hash, &at, ret_id);) {
    if (memcmp((const char *)values + *ret_id * size, value, size) == 0) return true;
  }
  return false;
}

static void index_done(struct wo_hash_index *index) {
  free(index->slots);
  *index = (struct wo_hash_index){0};
}

void wo_intern_init(struct wo_intern *intern, struct wo_recording *recording) {
  uint64_t secret = 0;
  if (getentropy(&secret, sizeof secret) != 0) secret = 0; /* an address is a secret, too */
  *intern = (struct wo_intern){.recording = recording};
  intern->seed = fold(secret ^ (uint64_t)(uintptr_t)recording, MIX_B) | 1;
}

void wo_intern_done(struct wo_intern *intern) {
  WO_VEC_DONE(&intern->texts);
  WO_VEC_DONE(&intern->frames);
  index_done(&intern->text_index);
  index_done(&intern->frame_index);
  index_done(&intern->stack_index);
  index_done(&intern->stream_index);
  index_done(&intern->pool_index);
}

/* ---- Texts ---- */

/* The arena has its own cap; it refuses for only one other reason: memory is out. */
enum wo_status wo_intern_text(struct wo_intern *intern, struct wo_view text, uint32_t *ret_text) {
  const uint32_t hash = hash_bytes(intern->seed, text.ptr, text.len);
  size_t at = hash;
  uint32_t id = 0;
  while (next_match(&intern->text_index, hash, &at, &id)) {
    const struct wo_view known = intern->texts.items[id];
    if (known.len != text.len || memcmp(known.ptr, text.ptr, text.len) != 0) continue;
    *ret_text = id;
    return WO_OK;
  }
  if (!reserve(&intern->text_index)) return WO_E_NOMEM;
  if (!WO_VEC_RESERVE(&intern->texts, 1, UINT32_MAX - 1)) return WO_E_NOMEM;
  struct wo_arena *const arena = &intern->recording->arena;
  const struct wo_view kept = wo_arena_copy(arena, text);
  if (kept.ptr == NULL) return text.len >= arena->cap_bytes - arena->used_bytes ? WO_E_LIMIT : WO_E_NOMEM;
  *ret_text = (uint32_t)intern->texts.count;
  intern->texts.items[intern->texts.count++] = kept;
  add(&intern->text_index, hash, *ret_text);
  return WO_OK;
}

/* ---- Frames ---- */

/* Frames are compared by the numbers of their texts, which are equal only if the texts are equal. */
enum wo_status wo_intern_frame(struct wo_intern *intern, uint32_t function, uint32_t file, uint32_t line, uint32_t *ret_frame) {
  assert(function < intern->texts.count && file < intern->texts.count);
  struct wo_recording *const recording = intern->recording;
  const struct wo_text_frame frame = {function, file, line};
  const uint32_t hash = hash_bytes(intern->seed, &frame, sizeof frame);
  if (find_value(&intern->frame_index, hash, intern->frames.items, &frame, sizeof frame, ret_frame)) return WO_OK;
  if (recording->frames.count >= WO_LIMIT_TRACE_FRAMES) return WO_E_LIMIT;
  if (!reserve(&intern->frame_index)) return WO_E_NOMEM;
  if (!WO_VEC_RESERVE(&recording->frames, 1, WO_LIMIT_TRACE_FRAMES)) return WO_E_NOMEM;
  if (!WO_VEC_RESERVE(&intern->frames, 1, WO_LIMIT_TRACE_FRAMES)) return WO_E_NOMEM;
  assert(intern->frames.count == recording->frames.count);
  *ret_frame = (uint32_t)recording->frames.count;
  intern->frames.items[intern->frames.count++] = frame;
  recording->frames.items[recording->frames.count++] =
      (struct wo_frame){intern->texts.items[function], intern->texts.items[file], line};
  add(&intern->frame_index, hash, *ret_frame);
  return WO_OK;
}

/* ---- Stacks ---- */

enum wo_status wo_intern_add_frame(struct wo_intern *intern, struct wo_view function, struct wo_view file, uint32_t line) {
  struct wo_recording *const recording = intern->recording;
  uint32_t function_text = 0, file_text = 0, frame = 0;
  enum wo_status status = wo_intern_text(intern, function, &function_text);
  if (status == WO_OK) status = wo_intern_text(intern, file, &file_text);
  if (status == WO_OK) status = wo_intern_frame(intern, function_text, file_text, line, &frame);
  if (status != WO_OK) return status;
  if (recording->stack_frames.count >= WO_LIMIT_TRACE_STACK_FRAMES) return WO_E_LIMIT;
  if (!WO_VEC_RESERVE(&recording->stack_frames, 1, WO_LIMIT_TRACE_STACK_FRAMES)) return WO_E_NOMEM;
  recording->stack_frames.items[recording->stack_frames.count++] = frame;
  return WO_OK;
}

/* The frames are in their final place before the search, so a new stack needs no copy; the frames of a known stack are removed
 * again. */
enum wo_status wo_intern_stack(struct wo_intern *intern, uint32_t first, uint32_t count, uint32_t *ret_stack) {
  struct wo_recording *const recording = intern->recording;
  assert((size_t)first + count <= recording->stack_frames.count && count > 0);
  const uint32_t *const frames = recording->stack_frames.items + first;
  const uint32_t hash = hash_bytes(intern->seed, frames, count * sizeof *frames);
  size_t at = hash;
  uint32_t id = 0;
  while (next_match(&intern->stack_index, hash, &at, &id)) {
    const struct wo_stack known = recording->stacks.items[id];
    if (known.count != count) continue;
    if (memcmp(recording->stack_frames.items + known.first, frames, count * sizeof *frames) != 0) continue;
    if ((size_t)first + count == recording->stack_frames.count && known.first != first) recording->stack_frames.count = first;
    *ret_stack = id;
    return WO_OK;
  }
  if (!reserve(&intern->stack_index)) return WO_E_NOMEM;
  if (!WO_VEC_RESERVE(&recording->stacks, 1, UINT32_MAX - 1)) return WO_E_NOMEM;
  *ret_stack = (uint32_t)recording->stacks.count;
  recording->stacks.items[recording->stacks.count++] = (struct wo_stack){first, count};
  add(&intern->stack_index, hash, *ret_stack);
  return WO_OK;
}

/* ---- Streams and pools ---- */

enum wo_status wo_intern_stream(struct wo_intern *intern, uint64_t raw, uint32_t *ret_stream) {
  struct wo_recording *const recording = intern->recording;
  *ret_stream = 0;
  if (raw == 0) return WO_OK;
  const uint32_t hash = hash_bytes(intern->seed, &raw, sizeof raw);
  if (find_value(&intern->stream_index, hash, recording->streams.items, &raw, sizeof raw, ret_stream)) return WO_OK;
  if (recording->streams.count >= WO_TRACE_STREAMS_MAX) return WO_E_LIMIT;
  if (!reserve(&intern->stream_index) || !WO_VEC_RESERVE(&recording->streams, 1, WO_TRACE_STREAMS_MAX)) return WO_E_NOMEM;
  *ret_stream = (uint32_t)recording->streams.count;
  recording->streams.items[recording->streams.count++] = raw;
  add(&intern->stream_index, hash, *ret_stream);
  return WO_OK;
}

enum wo_status wo_intern_pool(struct wo_intern *intern, struct wo_pool_id id, uint32_t *ret_pool) {
  struct wo_recording *const recording = intern->recording;
  *ret_pool = WO_POOL_DEFAULT;
  if (id.first == 0 && id.second == 0) return WO_OK;
  const uint32_t hash = hash_bytes(intern->seed, &id, sizeof id);
  if (find_value(&intern->pool_index, hash, recording->pools.items, &id, sizeof id, ret_pool)) return WO_OK;
  if (recording->pools.count >= WO_TRACE_POOLS_MAX) return WO_E_LIMIT;
  if (!reserve(&intern->pool_index) || !WO_VEC_RESERVE(&recording->pools, 1, WO_TRACE_POOLS_MAX)) return WO_E_NOMEM;
  *ret_pool = (uint32_t)recording->pools.count;
  recording->pools.items[recording->pools.count++] = id;
  add(&intern->pool_index, hash, *ret_pool);
  return WO_OK;
}
