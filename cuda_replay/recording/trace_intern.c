/* Interning: one hash and one kind of index, for texts, frames, stacks, streams and pools. */
#include "cuda_replay/recording/trace_intern.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

/* ---- Hash: multiply to 128 bits and fold, eight bytes at a time ---- */

static uint64_t fold(uint64_t a, uint64_t b) {
  const unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Odd, with their bits well spread (digits of the golden ratio and of pi). */
#define MIX_A UINT64_C(0x9e3779b97f4a7c15)
#define MIX_B UINT64_C(0x243f6a8885a308d3)

/* The seed goes into every step, so that nobody can prepare texts that collide. */
static uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t len) {
  const char *at = bytes;
  uint64_t hash = seed ^ fold(len ^ MIX_B, MIX_A);
  uint64_t word = 0;
  for (; len >= 8; len -= 8, at += 8) {
    memcpy(&word, at, 8);
    hash = fold(hash ^ word, MIX_A ^ seed);
  }
  word = 0;
  if (len > 0) memcpy(&word, at, len);
  return fold(hash ^ word, MIX_B ^ seed);
}

/* ---- Index ---- */

enum { INDEX_FIRST = 64 };

/* The id of the next slot that may have this hash, from *at on; false at the first free slot. Begin with *at = hash. */
static bool next_match(const struct wo_hash_index *index, uint64_t hash, size_t *at, uint32_t *ret_id) {
  if (index->capacity == 0) return false;
  const size_t mask = index->capacity - 1;
  for (;; (*at)++) {
    const struct wo_hash_slot slot = index->slots[*at & mask];
    if (slot.next_id == 0) return false;
    if (slot.tag != (uint32_t)(hash >> 32)) continue;
    (*at)++;
    *ret_id = slot.next_id - 1;
    return true;
  }
}

/* Puts a slot into the first free place from `place` on; there is always one. */
static void put(struct wo_hash_index *index, size_t place, struct wo_hash_slot slot) {
  const size_t mask = index->capacity - 1;
  while (index->slots[place & mask].next_id != 0) place++;
  index->slots[place & mask] = slot;
}

/* The place of a slot in the table comes from the lower half of the hash, but the slot keeps only the upper half: growing
 * computes the hash of each id again. */
struct hasher {
  const struct wo_intern *intern;
  uint64_t (*hash)(const struct wo_intern *intern, uint32_t id);
};

/* Makes room for one more. False when memory is out; the index is unchanged then. */
static bool reserve(struct wo_hash_index *index, struct hasher hasher) {
  if (index->count < index->capacity / 2) return true;
  struct wo_hash_index grown = {.capacity = index->capacity == 0 ? INDEX_FIRST : index->capacity * 2, .count = index->count};
  grown.slots = calloc(grown.capacity, sizeof *grown.slots);
  if (grown.slots == NULL) return false;
  for (size_t i = 0; i < index->capacity; i++) {
    const struct wo_hash_slot slot = index->slots[i];
    if (slot.next_id != 0) put(&grown, (size_t)hasher.hash(hasher.intern, slot.next_id - 1), slot);
  }
  free(index->slots);
  *index = grown;
  return true;
}

/* Room must have been reserved. */
static void add(struct wo_hash_index *index, uint64_t hash, uint32_t id) {
  assert(index->count < index->capacity);
  put(index, (size_t)hash, (struct wo_hash_slot){id + 1, (uint32_t)(hash >> 32)});
  index->count++;
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

static uint64_t text_hash(const struct wo_intern *intern, uint32_t id) {
  return hash_bytes(intern->seed, intern->texts.items[id].ptr, intern->texts.items[id].len);
}

/* The arena has its own cap; it refuses for only one other reason: memory is out. */
enum wo_status wo_intern_text(struct wo_intern *intern, struct wo_view text, uint32_t *ret_text) {
  const uint64_t hash = hash_bytes(intern->seed, text.ptr, text.len);
  size_t at = (size_t)hash;
  uint32_t id = 0;
  while (next_match(&intern->text_index, hash, &at, &id)) {
    const struct wo_view known = intern->texts.items[id];
    if (known.len != text.len || memcmp(known.ptr, text.ptr, text.len) != 0) continue;
    *ret_text = id;
    return WO_OK;
  }
  if (!reserve(&intern->text_index, (struct hasher){intern, text_hash})) return WO_E_NOMEM;
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

static uint64_t hash_frame(uint64_t seed, uint32_t function, uint32_t file, uint32_t line) {
  const uint32_t parts[] = {function, file, line};
  return hash_bytes(seed, parts, sizeof parts);
}

static uint64_t frame_hash(const struct wo_intern *intern, uint32_t id) {
  const struct wo_text_frame frame = intern->frames.items[id];
  return hash_frame(intern->seed, frame.function, frame.file, intern->recording->frames.items[id].line);
}

/* Frames are compared by the numbers of their texts, which are equal only if the texts are equal. */
enum wo_status wo_intern_frame(struct wo_intern *intern, uint32_t function, uint32_t file, uint32_t line, uint32_t *ret_frame) {
  assert(function < intern->texts.count && file < intern->texts.count);
  struct wo_recording *const recording = intern->recording;
  const uint64_t hash = hash_frame(intern->seed, function, file, line);
  size_t at = (size_t)hash;
  uint32_t id = 0;
  while (next_match(&intern->frame_index, hash, &at, &id)) {
    const struct wo_text_frame known = intern->frames.items[id];
    if (known.function != function || known.file != file || recording->frames.items[id].line != line) continue;
    *ret_frame = id;
    return WO_OK;
  }
  if (recording->frames.count >= WO_LIMIT_TRACE_FRAMES) return WO_E_LIMIT;
  if (!reserve(&intern->frame_index, (struct hasher){intern, frame_hash})) return WO_E_NOMEM;
  if (!WO_VEC_RESERVE(&recording->frames, 1, WO_LIMIT_TRACE_FRAMES)) return WO_E_NOMEM;
  if (!WO_VEC_RESERVE(&intern->frames, 1, WO_LIMIT_TRACE_FRAMES)) return WO_E_NOMEM;
  assert(intern->frames.count == recording->frames.count);
  *ret_frame = (uint32_t)recording->frames.count;
  intern->frames.items[intern->frames.count++] = (struct wo_text_frame){function, file};
  recording->frames.items[recording->frames.count++] =
      (struct wo_frame){intern->texts.items[function], intern->texts.items[file], line};
  add(&intern->frame_index, hash, *ret_frame);
  return WO_OK;
}

/* ---- Stacks ---- */

static uint64_t stack_hash(const struct wo_intern *intern, uint32_t id) {
  const struct wo_stack stack = intern->recording->stacks.items[id];
  return hash_bytes(intern->seed, intern->recording->stack_frames.items + stack.first, stack.count * sizeof(uint32_t));
}

/* The frames are in their final place before the search, so a new stack needs no copy; the frames of a known stack are removed
 * again. */
enum wo_status wo_intern_stack(struct wo_intern *intern, uint32_t first, uint32_t count, uint32_t *ret_stack) {
  struct wo_recording *const recording = intern->recording;
  assert((size_t)first + count <= recording->stack_frames.count && count > 0);
  const uint32_t *const frames = recording->stack_frames.items + first;
  const uint64_t hash = hash_bytes(intern->seed, frames, count * sizeof *frames);
  size_t at = (size_t)hash;
  uint32_t id = 0;
  while (next_match(&intern->stack_index, hash, &at, &id)) {
    const struct wo_stack known = recording->stacks.items[id];
    if (known.count != count) continue;
    if (memcmp(recording->stack_frames.items + known.first, frames, count * sizeof *frames) != 0) continue;
    if ((size_t)first + count == recording->stack_frames.count && known.first != first) recording->stack_frames.count = first;
    *ret_stack = id;
    return WO_OK;
  }
  if (!reserve(&intern->stack_index, (struct hasher){intern, stack_hash})) return WO_E_NOMEM;
  if (!WO_VEC_RESERVE(&recording->stacks, 1, UINT32_MAX - 1)) return WO_E_NOMEM;
  *ret_stack = (uint32_t)recording->stacks.count;
  recording->stacks.items[recording->stacks.count++] = (struct wo_stack){first, count};
  add(&intern->stack_index, hash, *ret_stack);
  return WO_OK;
}

/* ---- Streams and pools: the recording searches them one by one, which is slow in hostile files with many ---- */

static uint64_t stream_hash(const struct wo_intern *intern, uint32_t id) {
  return hash_bytes(intern->seed, &intern->recording->streams.items[id], sizeof(uint64_t));
}

enum wo_status wo_intern_stream(struct wo_intern *intern, uint64_t raw, uint32_t *ret_stream) {
  if (raw == 0) {
    *ret_stream = 0;
    return WO_OK;
  }
  const uint64_t hash = hash_bytes(intern->seed, &raw, sizeof raw);
  size_t at = (size_t)hash;
  uint32_t id = 0;
  while (next_match(&intern->stream_index, hash, &at, &id)) {
    if (intern->recording->streams.items[id] != raw) continue;
    *ret_stream = id;
    return WO_OK;
  }
  if (!reserve(&intern->stream_index, (struct hasher){intern, stream_hash})) return WO_E_NOMEM;
  if (intern->recording->streams.count >= WO_TRACE_STREAMS_MAX) return WO_E_LIMIT;
  const enum wo_status status = wo_recording_stream(intern->recording, raw, ret_stream);
  if (status == WO_OK) add(&intern->stream_index, hash, *ret_stream);
  return status;
}

static uint64_t pool_hash(const struct wo_intern *intern, uint32_t id) {
  return hash_bytes(intern->seed, &intern->recording->pools.items[id], sizeof(struct wo_pool_id));
}

enum wo_status wo_intern_pool(struct wo_intern *intern, struct wo_pool_id id, uint32_t *ret_pool) {
  if (id.first == 0 && id.second == 0) {
    *ret_pool = WO_POOL_DEFAULT;
    return WO_OK;
  }
  const uint64_t hash = hash_bytes(intern->seed, &id, sizeof id);
  size_t at = (size_t)hash;
  uint32_t pool = 0;
  while (next_match(&intern->pool_index, hash, &at, &pool)) {
    const struct wo_pool_id known = intern->recording->pools.items[pool];
    if (known.first != id.first || known.second != id.second) continue;
    *ret_pool = pool;
    return WO_OK;
  }
  if (!reserve(&intern->pool_index, (struct hasher){intern, pool_hash})) return WO_E_NOMEM;
  if (intern->recording->pools.count >= WO_TRACE_POOLS_MAX) return WO_E_LIMIT;
  const enum wo_status status = wo_recording_pool(intern->recording, id, ret_pool);
  if (status == WO_OK) add(&intern->pool_index, hash, *ret_pool);
  return status;
}
