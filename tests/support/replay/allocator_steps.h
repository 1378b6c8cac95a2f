/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences of requests made of bytes, run on the model and on the plain allocator side by side. After each step both must have
 * told the same events, returned the same, and count the same; the model must be valid, and its walk must show the same blocks.
 * The first bytes choose the version of torch, the settings and the device. Any bytes are a sequence. */
#ifndef WO_TEST_ALLOCATOR_STEPS_H
#define WO_TEST_ALLOCATOR_STEPS_H

#include "cuda_replay/device/device_model.h"
#include "tests/support/replay/allocator_valid.h"
#include "tests/support/replay/plain_allocator.h"

enum { STEPS_LIVE = 96, STEPS_MAX = 4000 };

struct steps_live {
  wo_block_id id;
  uint64_t serial; /* pointers are used again */
  struct plain_block *plain;
};

struct steps {
  const uint8_t *data;
  size_t size;
  size_t at;
  uint16_t torch;
  struct wo_allocator *fast;
  struct wo_device_model *fast_device;
  struct wo_device_model *plain_device;
  struct wo_device fast_calls;
  struct wo_device plain_calls;
  struct plain plain;
  struct steps_live live[STEPS_LIVE];
  size_t live_count;
  uint64_t last_size;
  struct wo_allocator_event events[PLAIN_EVENTS];
  int event_count;
  bool is_over; /* torch would have stopped with an internal error */
};

static unsigned steps_byte(struct steps *s) {
  return s->at < s->size ? s->data[s->at++] : 0;
}

static unsigned steps_word(struct steps *s) {
  const unsigned high = steps_byte(s);
  return high << 8 | steps_byte(s);
}

static void steps_on_event(void *state, const struct wo_allocator_event *event) {
  struct steps *const s = state;
  if (s->event_count < PLAIN_EVENTS) s->events[s->event_count++] = *event;
}

/* ---- Settings and sizes ---- */

static void steps_roundup(struct steps *s, struct wo_alloc_settings *settings) {
  const unsigned kind = steps_byte(s);
  for (int i = 0; i < WO_ROUNDUP_SLOTS; i++) {
    if (kind % 4 == 1) settings->roundup_divisions[i] = 1U << kind / 4 % 8;
    if (kind % 4 == 2) settings->roundup_divisions[i] = kind >> (i % 6 + 2) & 1 ? 1U << i % 5 : 0;
  }
}

static struct wo_alloc_settings steps_settings(struct steps *s) {
  static const uint64_t splits[] = {WO_SPLIT_UNLIMITED, 21, 24, 40};
  struct wo_alloc_settings settings = wo_alloc_settings_default(s->torch);
  const unsigned flags = steps_byte(s);
  const uint64_t split = splits[flags % 4];
  if (split != WO_SPLIT_UNLIMITED) settings.max_split_bytes = split * PLAIN_MIB;
  settings.expandable_segments = (flags & 4) != 0 && s->torch >= 201;
  if ((flags & 8) != 0) {
    settings.memory_fraction = 0.25 * (1 + flags % 4);
    settings.garbage_collection_threshold = (flags & 16) != 0 ? 0.5 : 0;
  }
  if ((flags & 32) != 0 && s->torch >= 206) settings.max_non_split_rounding_bytes = 30 * PLAIN_MIB;
  if ((flags & 64) != 0 && s->torch >= 211) settings.large_segment_bytes = 12 * PLAIN_MIB;
  /* Often together with a fraction, so that a retry is rejected, too. */
  if (s->torch >= 212 && (flags & 6) != 0) {
    settings.throw_on_cudamalloc_oom = true;
    settings.string_fraction = 0.125 * (1 + flags % 8);
  }
  if ((flags & 128) != 0) steps_roundup(s, &settings);
  return settings;
}

static uint64_t steps_size(struct steps *s) {
  static const uint64_t borders[] = {1,       511,      512,      513,      1048064,  1048576,  1048577,  2097152,
                                     9437184, 10484736, 10485248, 10485249, 10485760, 10485761, 19922944, 20971520};
  const unsigned kind = steps_byte(s);
  const uint64_t value = steps_word(s);
  uint64_t size = 0;
  switch (kind % 8) {
  case 0:
    size = value % 2048;
    break;
  case 1:
    size = value % 8 * 512;
    break;
  case 2:
    size = value * 16;
    break;
  case 3:
    size = PLAIN_MIB + value * 144;
    break;
  case 4:
    size = 10 * PLAIN_MIB + value * 512;
    break;
  case 5:
    size = s->last_size;
    break;
  case 6:
    size = borders[value % (sizeof borders / sizeof borders[0])];
    break;
  default:
    size = value % 32 * (PLAIN_MIB / 2);
    break;
  }
  if (size == 0) size = 1;
  s->last_size = size;
  return size;
}

/* ---- Comparing ---- */

static bool steps_same_event(const struct wo_allocator_event *a, const struct wo_allocator_event *b) {
  return a->action == b->action && a->address == b->address && a->size_bytes == b->size_bytes && a->stream == b->stream &&
         a->pool.first == b->pool.first && a->pool.second == b->pool.second;
}

static const struct plain_block *steps_plain_at(const struct steps *s, uint64_t address) {
  for (const struct plain_block *b = s->plain.blocks; b != NULL; b = b->list_next) {
    if (b->address == address && b->is_mapped) return b;
  }
  return NULL;
}

struct steps_walk {
  const struct steps *s;
  size_t blocks;
  uint64_t last_end;
  bool is_equal;
};

static bool steps_same_block(const struct plain_block *b, const struct wo_allocator_segment *segment,
                             const struct wo_allocator_block *block) {
  if (b == NULL || b->size != block->size_bytes || b->stream != segment->stream || b->is_small != segment->is_small) return false;
  if (b->is_allocated != (block->state == WO_BLOCK_ALLOCATED) || b->is_pending != (block->state == WO_BLOCK_PENDING))
    return false;
  return block->state == WO_BLOCK_FREE || b->requested == block->requested_bytes;
}

static bool steps_visit(void *state, const struct wo_allocator_segment *segment, const struct wo_allocator_block *blocks,
                        const wo_block_id *ids, size_t count) {
  struct steps_walk *const walk = state;
  uint64_t address = segment->address;
  if (address < walk->last_end) walk->is_equal = false;
  for (size_t i = 0; i < count; i++) {
    const struct plain_block *const b = steps_plain_at(walk->s, address);
    if (!steps_same_block(b, segment, &blocks[i])) walk->is_equal = false;
    if (b != NULL && (b->range != NULL) != segment->is_expandable) walk->is_equal = false;
    if (wo_allocator_address(walk->s->fast, ids[i]) != address) walk->is_equal = false;
    address += blocks[i].size_bytes;
    walk->blocks++;
  }
  walk->last_end = address;
  return walk->is_equal && address == segment->address + segment->size_bytes;
}

/* What differs, or NULL. */
static const char *steps_compare(struct steps *s, bool has_walk) {
  const char *why = NULL;
  if (!wo_allocator_is_valid(s->fast, &why)) return why;
  if (s->event_count != s->plain.event_count) return "a different number of events";
  for (int i = 0; i < s->event_count; i++) {
    if (!steps_same_event(&s->events[i], &s->plain.events[i])) return "a different event";
  }
  if (memcmp(wo_allocator_stats(s->fast), &s->plain.stats, sizeof s->plain.stats) != 0) return "different statistics";
  if (wo_device_model_used(s->fast_device) != wo_device_model_used(s->plain_device)) return "different use of the device";
  if (!has_walk) return NULL;
  struct steps_walk walk = {.s = s, .is_equal = true};
  size_t blocks = 0;
  for (const struct plain_block *b = s->plain.blocks; b != NULL; b = b->list_next) blocks += b->is_mapped;
  if (wo_allocator_walk(s->fast, steps_visit, &walk) != WO_OK) return "the walk failed";
  return walk.is_equal && walk.blocks == blocks ? NULL : "different blocks";
}

/* ---- Steps ---- */

/* Forgets blocks that an emptied cache has completed. */
static void steps_drop_completed(struct steps *s) {
  bool is_held[STEPS_MAX + 1] = {false}; /* by serial: each step hands out one block at most */
  size_t kept = 0;
  for (const struct plain_block *b = s->plain.blocks; b != NULL; b = b->list_next) {
    if (b->serial > STEPS_MAX) abort();
    if (b->is_allocated || b->is_pending) is_held[b->serial] = true;
  }
  for (size_t i = 0; i < s->live_count; i++) {
    if (is_held[s->live[i].serial]) s->live[kept++] = s->live[i];
  }
  s->live_count = kept;
}

static const char *steps_malloc(struct steps *s) {
  if (s->live_count == STEPS_LIVE) return NULL;
  const uint64_t stream = steps_byte(s) % 16 < 11 ? 0 : s->at % (PLAIN_STREAMS - 1) + 1;
  const uint64_t size = steps_size(s);
  struct steps_live live = {0};
  const enum wo_status fast = wo_allocator_malloc(s->fast, size, stream, &live.id);
  const enum wo_status plain = plain_malloc(&s->plain, size, stream, &live.plain);
  if (fast != plain) return "malloc: different results";
  s->is_over = fast == WO_E_USAGE;
  if (fast != WO_OK) {
    steps_drop_completed(s);
    return fast == WO_E_LIMIT || fast == WO_E_USAGE ? NULL : "malloc: an unexpected result";
  }
  steps_drop_completed(s);
  live.serial = live.plain->serial;
  s->live[s->live_count++] = live;
  if (wo_allocator_address(s->fast, live.id) != live.plain->address) return "malloc: different addresses";
  return wo_allocator_block_bytes(s->fast, live.id) == live.plain->size ? NULL : "malloc: different sizes";
}

/* Frees, completes or marks a live block. */
static const char *steps_touch(struct steps *s, unsigned op) {
  if (s->live_count == 0) return NULL;
  const size_t i = steps_byte(s) % s->live_count;
  const struct steps_live live = s->live[i];
  const uint64_t stream = s->at % PLAIN_STREAMS;
  if (live.plain->is_pending) {
    wo_allocator_complete(s->fast, live.id);
    plain_complete(&s->plain, live.plain);
  } else if (op == 7) {
    if (wo_allocator_record_stream(s->fast, live.id, stream) != WO_OK) return "record_stream failed";
    plain_record(&s->plain, live.plain, stream);
  } else {
    wo_allocator_free_block(s->fast, live.id, op == 6);
    plain_free_block(&s->plain, live.plain, op == 6);
  }
  steps_drop_completed(s);
  return NULL;
}

static const char *steps_empty(struct steps *s) {
  const enum wo_status fast = wo_allocator_empty_cache(s->fast);
  if (fast != plain_empty(&s->plain, plain_captures(&s->plain, -1))) return "empty_cache: different results";
  s->is_over = fast != WO_OK;
  steps_drop_completed(s);
  return NULL;
}

static const char *steps_pool(struct steps *s) {
  const unsigned what = steps_byte(s);
  const struct wo_pool_id id = {0, what / 4 % 4};
  enum wo_status fast = WO_OK;
  enum wo_status plain = WO_OK;
  switch (what % 4) {
  case 0:
    plain = plain_pool_begin(&s->plain, id, what >> 4 & 3, (what & 64) != 0);
    if (plain == WO_E_LIMIT) return NULL;
    fast = wo_allocator_pool_begin(s->fast, id, what >> 4 & 3, (what & 64) != 0);
    break;
  case 1:
  case 2:
    fast = wo_allocator_pool_end(s->fast, id);
    plain = plain_pool_end(&s->plain, id);
    break;
  default:
    fast = wo_allocator_pool_release(s->fast, id);
    plain = plain_pool_release(&s->plain, id);
    break;
  }
  return fast == plain ? NULL : "a pool: different results";
}

static const char *steps_set(struct steps *s) {
  const struct wo_alloc_settings settings = steps_settings(s);
  wo_allocator_set(s->fast, &settings);
  plain_set(&s->plain, &settings);
  return NULL;
}

static const char *steps_one(struct steps *s) {
  const unsigned op = steps_byte(s);
  s->event_count = 0;
  s->plain.event_count = 0;
  if (op % 128 == 8) return steps_empty(s);
  if (op % 64 == 9) return steps_pool(s);
  if (op == 10) return steps_set(s);
  return op % 8 < 5 ? steps_malloc(s) : steps_touch(s, op % 8);
}

/* ---- A whole sequence ---- */

static bool steps_open(struct steps *s) {
  static const uint16_t versions[] = {113, 200, 201, 204, 205, 206, 207, 208, 209, 210, 211, 212, 213, 215};
  s->torch = versions[steps_byte(s) % (sizeof versions / sizeof versions[0])];
  const unsigned device = steps_byte(s);
  const struct wo_device_model_options options = {
      .capacity_bytes = (24 + 12 * (uint64_t)(device % 16)) * PLAIN_MIB,
      .total_bytes = (device & 16) != 0 ? 256 * PLAIN_MIB : 0,
      .policy = (enum wo_address_policy)(device / 32 % 3),
      .seed = device,
  };
  const struct wo_alloc_settings settings = steps_settings(s);
  s->fast_device = wo_device_model_new(&options, &s->fast_calls);
  s->plain_device = wo_device_model_new(&options, &s->plain_calls);
  if (s->fast_device == NULL || s->plain_device == NULL) return false;
  const struct wo_allocator_options allocator = {
      .settings = settings,
      .torch = s->torch,
      .device = &s->fast_calls,
      .observer = {s, steps_on_event},
  };
  plain_init(&s->plain, &settings, s->torch, &s->plain_calls);
  return wo_allocator_new(&allocator, &s->fast, NULL) == WO_OK;
}

/* Runs a sequence. NULL, or what went wrong; *ret_steps is the number of steps run. */
static const char *steps_run(const uint8_t *data, size_t size, size_t *ret_steps) {
  struct steps *const s = calloc(1, sizeof *s);
  if (s == NULL) return "out of memory";
  s->data = data;
  s->size = size;
  const char *why = steps_open(s) ? NULL : "cannot make the allocators";
  size_t steps = 0;
  while (why == NULL && s->at < s->size && !s->is_over && steps < STEPS_MAX) {
    why = steps_one(s);
    if (why == NULL) why = steps_compare(s, ++steps % 16 == 0 || s->is_over);
  }
  *ret_steps = steps;
  wo_allocator_free(s->fast);
  plain_done(&s->plain);
  wo_device_model_free(s->fast_device);
  wo_device_model_free(s->plain_device);
  free(s);
  return why;
}

#endif
