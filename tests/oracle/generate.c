/* SPDX-License-Identifier: Apache-2.0 */
/* Writes programs of requests for the oracle: random, and mean about it.
 *
 * Usage: generate GROUP TORCH SEED SEQUENCES OPERATIONS > PROGRAM. TORCH is 206 for 2.6: settings that a version does not know
 * are not written. The same arguments give the same program. README.md describes programs and groups. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB UINT64_C(1048576)

enum { SLOTS = 512, PALETTE = 12, STREAMS = 5, POOLS = 4 };

/* Up to 2.12 allocating into any private pool counts as a capture. */
enum { POOLS_ARE_NO_CAPTURES = 213 };

enum feature {
  USES_EXPANDABLE = 1,
  USES_SPLIT = 2,
  USES_ROUNDUP = 4,
  USES_GC = 8,
  USES_STREAMS = 16,
  USES_POOLS = 32,
  USES_CAPS = 64,
  USES_CHANGES = 128,   /* settings, fraction and capacity change while it runs */
  USES_NEWER = 256,     /* settings of 2.10 and later */
  USES_MEMPOOLS = 512,  /* private pools without a capture (MemPool) */
  USES_LIMITS = 1024,   /* capacity, fraction and thresholds that whole segments meet to the byte */
  USES_RELEASES = 2048, /* pools are begun, released and begun again all the time; at the end everything is given back */
};

static const struct {
  const char *name;
  unsigned features;
} groups[] = {
    {"default", 0},
    {"expandable", USES_EXPANDABLE},
    {"expandable-oom", USES_EXPANDABLE | USES_CAPS},
    {"max-split", USES_SPLIT | USES_CAPS},
    {"roundup", USES_ROUNDUP},
    {"gc", USES_GC | USES_CAPS},
    {"streams", USES_STREAMS},
    {"pools", USES_POOLS | USES_STREAMS},
    {"mempools", USES_MEMPOOLS | USES_POOLS | USES_STREAMS | USES_CAPS},
    {"oom", USES_CAPS},
    {"mix", USES_EXPANDABLE | USES_SPLIT | USES_ROUNDUP | USES_GC | USES_STREAMS | USES_POOLS | USES_CAPS | USES_CHANGES},
    {"newer", USES_NEWER | USES_EXPANDABLE | USES_SPLIT | USES_CAPS | USES_CHANGES},
    {"limits", USES_LIMITS | USES_SPLIT | USES_ROUNDUP | USES_GC | USES_CAPS},
    {"graphs", USES_RELEASES | USES_MEMPOOLS | USES_POOLS | USES_STREAMS | USES_EXPANDABLE | USES_CAPS},
};

/* Raw pointers of streams: the default one, and others whose order as numbers is not the order of use. */
static const uint64_t stream_names[STREAMS] = {0, 94318592, 64, 139637976727552, 4096};

struct slot {
  uint64_t size_bytes; /* 0 = free */
  uint64_t stream;
  bool is_of_capture; /* a capture recorded another stream for it: only a capture frees it (README.md) */
};

struct pool {
  uint64_t id;      /* 0 = none */
  uint64_t last_id; /* that lost its last user; 0 = none */
  uint64_t stream;
  bool is_open;
  bool is_capture;
  unsigned uses;
};

struct writer {
  unsigned features;
  unsigned torch;
  uint64_t random;
  uint64_t total_bytes;
  uint64_t target_bytes; /* of live blocks, about */
  uint64_t live_bytes;
  uint64_t limit_bytes; /* of the fraction: whole segments, and at the most a block beside it */
  uint64_t split_bytes; /* max_split_size, or 0 */
  uint64_t palette[PALETTE];
  unsigned palette_pct; /* how often a size is one of the palette: ties */
  unsigned pattern;     /* who is freed: 0 random, 1 newest, 2 oldest */
  size_t live[SLOTS];   /* slots in use, oldest first */
  size_t live_count;
  struct slot slots[SLOTS];
  struct pool pools[POOLS];
  uint64_t next_pool;
  size_t stream_count;
};

static uint64_t draw(struct writer *w) {
  uint64_t z = (w->random += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static uint64_t below(struct writer *w, uint64_t limit) {
  return draw(w) % limit;
}

static bool chance(struct writer *w, unsigned pct) {
  return below(w, 100) < pct;
}

/* A size at a border of the rules, off by nothing, a byte or a step. */
static uint64_t border_size(struct writer *w) {
  static const uint64_t borders[] = {512,      1024,     4096,      MIB / 2,   MIB,       2 * MIB,   4 * MIB,  9 * MIB,
                                     10 * MIB, 11 * MIB, 19 * MIB,  20 * MIB,  21 * MIB,  32 * MIB,  40 * MIB, 41 * MIB,
                                     60 * MIB, 64 * MIB, 100 * MIB, 128 * MIB, 200 * MIB, 256 * MIB, 12 * MIB, 30 * MIB};
  static const int64_t steps[] = {0, 0, 0, 1, -1, 512, -512, 513, -513, 511, -511, 1048576, -1048576, 1048577, -1048577, 1049088};
  uint64_t size = borders[below(w, sizeof borders / sizeof *borders)];
  if (w->split_bytes && chance(w, 20))
    size = w->split_bytes;
  else if (chance(w, 20))
    size = (1 + below(w, 60)) * 2 * MIB;
  const int64_t step = steps[below(w, sizeof steps / sizeof *steps)];
  return step < 0 && (uint64_t)-step >= size ? size : size + (uint64_t)step;
}

static uint64_t fresh_size(struct writer *w) {
  const uint64_t kind = below(w, 100);
  uint64_t size = 0;
  if (kind < 35 || ((w->features & USES_LIMITS) && kind < 80))
    size = border_size(w);
  else if (kind < 50)
    size = 1 + below(w, 8192);
  else if (kind < 65)
    size = 1 + below(w, MIB);
  else if (kind < 80)
    size = MIB + below(w, 9 * MIB);
  else if (kind < 97)
    size = 10 * MIB + below(w, 60 * MIB);
  else
    size = 1 + below(w, w->total_bytes);
  return size;
}

static uint64_t next_size(struct writer *w) {
  if (chance(w, w->palette_pct)) return w->palette[below(w, PALETTE)];
  return fresh_size(w);
}

/* ---- Settings ---- */

static void add_setting(char *text, size_t capacity, const char *setting) {
  const size_t used = strlen(text);
  snprintf(text + used, capacity - used, "%s%s", used ? "," : "", setting);
}

static void add_roundup(struct writer *w, char *text, size_t capacity) {
  static const char *const lists[] = {"[256:1,512:2,1024:4,>:8]",
                                      "[1:2,2:4,4:8,8:16,16:32,>:4]",
                                      "[4:8,64:2]",
                                      "[2:16,>:1]",
                                      "[1:4,8:2,32:8,>:16]",
                                      "[16:4,32:8]",
                                      "[1:8]",
                                      "[8:2,64:4,>:2]"};
  char setting[80];
  if (chance(w, 50))
    snprintf(setting, sizeof setting, "roundup_power2_divisions:%u", 1U << below(w, 7));
  else
    snprintf(setting, sizeof setting, "roundup_power2_divisions:%s", lists[below(w, 8)]);
  add_setting(text, capacity, setting);
}

/* Settings of 2.10 and later; the segment size, which other settings may not undercut, comes first. Returns it in MiB. */
static unsigned add_newer(struct writer *w, char *text, size_t capacity) {
  static const unsigned segments_mb[] = {12, 14, 16, 20, 24, 32, 40, 64, 100};
  char setting[80];
  unsigned segment_mb = 20;
  if (w->torch >= 211 && chance(w, 70)) {
    segment_mb = segments_mb[below(w, 9)];
    snprintf(setting, sizeof setting, "large_segment_size_mb:%u", segment_mb);
    add_setting(text, capacity, setting);
  }
  if (w->torch >= 210 && chance(w, 40)) {
    snprintf(setting, sizeof setting, "per_process_memory_fraction:0.%02u", (unsigned)(5 + below(w, 95)));
    add_setting(text, capacity, setting);
  }
  if (w->torch >= 212 && chance(w, 30))
    add_setting(text, capacity, chance(w, 80) ? "throw_on_cudamalloc_oom:True" : "throw_on_cudamalloc_oom:False");
  return segment_mb > 20 ? segment_mb : 20;
}

static void add_split(struct writer *w, unsigned segment_mb, char *text, size_t capacity) {
  static const unsigned splits_mb[] = {21, 22, 25, 32, 40, 64, 100, 128, 200, 512};
  char setting[80];
  const unsigned split_mb = splits_mb[below(w, 10)];
  w->split_bytes = (w->features & USES_LIMITS) ? (split_mb < segment_mb ? segment_mb : split_mb) * MIB : 0;
  snprintf(setting, sizeof setting, "max_split_size_mb:%u", split_mb < segment_mb ? segment_mb : split_mb);
  add_setting(text, capacity, setting);
  if (w->torch >= 206 && chance(w, 50)) {
    snprintf(setting, sizeof setting, "max_non_split_rounding_mb:%u", (unsigned)(segment_mb + 1 + below(w, 100)));
    add_setting(text, capacity, setting);
  }
}

/* A settings string of the group, perhaps empty; an "expandable" is stated either way, since it outlives a string. */
static void make_settings(struct writer *w, char *text, size_t capacity) {
  const bool is_mix = (w->features & (USES_CHANGES | USES_LIMITS | USES_RELEASES)) != 0;
  static const char *const halves[] = {"5", "25", "75", "125", "875", "625"};
  unsigned segment_mb = 20;
  char setting[80];
  text[0] = 0;
  w->split_bytes = 0;
  if (w->features & USES_NEWER) segment_mb = add_newer(w, text, capacity);
  if ((w->features & USES_EXPANDABLE) && w->torch >= 201)
    add_setting(text, capacity, !is_mix || chance(w, 60) ? "expandable_segments:True" : "expandable_segments:False");
  if ((w->features & USES_SPLIT) && (!is_mix || chance(w, 50))) add_split(w, segment_mb, text, capacity);
  if ((w->features & USES_ROUNDUP) && (!is_mix || chance(w, 30))) add_roundup(w, text, capacity);
  if ((w->features & USES_GC) && (!is_mix || chance(w, 50))) {
    if (w->features & USES_LIMITS)
      snprintf(setting, sizeof setting, "garbage_collection_threshold:0.%s", halves[below(w, 6)]);
    else
      snprintf(setting, sizeof setting, "garbage_collection_threshold:0.%02u", (unsigned)(5 + below(w, 90)));
    add_setting(text, capacity, setting);
  }
}

static void write_settings(struct writer *w) {
  char text[400];
  make_settings(w, text, sizeof text);
  if (text[0]) printf("s %s\n", text);
}

/* ---- Requests ---- */

static bool is_capturing(const struct writer *w) {
  for (size_t i = 0; i < POOLS; i++)
    if (w->pools[i].id && w->pools[i].is_open && (w->pools[i].is_capture || w->torch < POOLS_ARE_NO_CAPTURES)) return true;
  return false;
}

static uint64_t some_stream(struct writer *w) {
  for (size_t i = 0; i < POOLS; i++)
    if (w->pools[i].id && w->pools[i].is_open && chance(w, 75)) return w->pools[i].stream;
  return w->stream_count > 1 && chance(w, 60) ? stream_names[below(w, w->stream_count)] : stream_names[0];
}

static void write_malloc(struct writer *w) {
  size_t slot = below(w, SLOTS);
  while (w->slots[slot].size_bytes) slot = (slot + 1) % SLOTS;
  w->slots[slot].size_bytes = next_size(w);
  w->slots[slot].stream = some_stream(w);
  w->slots[slot].is_of_capture = false;
  w->live[w->live_count++] = slot;
  w->live_bytes += w->slots[slot].size_bytes;
  printf("m %zu %" PRIu64 " %" PRIu64 "\n", slot, w->slots[slot].size_bytes, w->slots[slot].stream);
}

static void write_free(struct writer *w) {
  size_t at = w->live_count - 1;
  if (w->pattern == 0 || chance(w, 15))
    at = below(w, w->live_count);
  else if (w->pattern == 2)
    at = 0;
  const size_t slot = w->live[at];
  if (w->slots[slot].is_of_capture && !is_capturing(w)) return;
  memmove(&w->live[at], &w->live[at + 1], (w->live_count - at - 1) * sizeof *w->live);
  w->live_count--;
  w->live_bytes -= w->slots[slot].size_bytes;
  w->slots[slot].size_bytes = 0;
  printf("f %zu\n", slot);
}

static void write_record_stream(struct writer *w) {
  const size_t slot = w->live[below(w, w->live_count)];
  const uint64_t stream = stream_names[below(w, w->stream_count)];
  w->slots[slot].is_of_capture = w->slots[slot].is_of_capture || is_capturing(w);
  printf("r %zu %" PRIu64 "\n", slot, stream);
}

/* A byte, a block or nothing beside a limit. */
static uint64_t beside(struct writer *w, uint64_t bytes) {
  static const int64_t steps[] = {0, 0, 0, -1, 1, -512, 512};
  return bytes + (uint64_t)steps[below(w, sizeof steps / sizeof *steps)];
}

/* A pool that no one uses any more may come back under its name: a graph is captured into the pool of one that is gone. */
static uint64_t pool_name(struct writer *w, struct pool *pool) {
  const bool is_again = (w->features & USES_RELEASES) && pool->last_id && chance(w, 2);
  return is_again ? pool->last_id : w->next_pool++;
}

static void write_pool(struct writer *w) {
  struct pool *pool = &w->pools[below(w, POOLS)];
  if (pool->id && pool->is_open) {
    pool->is_open = false;
    printf("e %" PRIu64 "\n", pool->id);
  } else if (pool->id && chance(w, 50)) {
    printf("d %" PRIu64 "\n", pool->id);
    if (--pool->uses == 0) {
      pool->last_id = pool->id;
      pool->id = 0;
    }
  } else {
    for (size_t i = 0; i < POOLS; i++)
      if (w->pools[i].id && w->pools[i].is_open && chance(w, 70)) return;
    const uint64_t stream = stream_names[1 + below(w, w->stream_count - 1)];
    for (size_t i = 0; i < POOLS; i++)
      if (w->pools[i].id && w->pools[i].is_open && w->pools[i].stream == stream) return;
    if (!pool->id) pool->id = pool_name(w, pool);
    pool->uses++;
    pool->stream = stream;
    pool->is_open = true;
    pool->is_capture = !(w->features & USES_MEMPOOLS) || chance(w, 35);
    printf("%c %" PRIu64 " %" PRIu64 "\n", pool->is_capture ? 'b' : 'u', pool->id, pool->stream);
  }
}

static void write_change(struct writer *w) {
  const uint64_t kind = below(w, 3);
  if (kind == 0)
    write_settings(w);
  else if (kind == 1)
    printf("p %u\n", (unsigned)(50000 + below(w, 950001)));
  else
    printf("k %" PRIu64 "\n", (1 + below(w, w->total_bytes / (2 * MIB))) * 2 * MIB);
}

/* The limits move by whole segments, so that requests meet them again. */
static void write_limit(struct writer *w) {
  const uint64_t segments = w->limit_bytes / (2 * MIB);
  if (chance(w, 50))
    printf("k %" PRIu64 "\n", beside(w, (1 + segments / 2 + below(w, segments)) * 2 * MIB));
  else
    printf("p %u\n", (unsigned)(250000 * (1 + below(w, 4))));
}

static void write_rare(struct writer *w) {
  const uint64_t kind = below(w, 100);
  if (kind < 30 && !is_capturing(w))
    puts("x");
  else if (kind < 60 && (w->features & USES_LIMITS))
    write_limit(w);
  else if (kind < 45 && (w->features & USES_CAPS) && !(w->features & USES_GC))
    printf("k %" PRIu64 "\n", w->total_bytes - below(w, w->total_bytes / (4 * MIB)) * 2 * MIB);
  else if (kind < 60 && (w->features & (USES_GC | USES_CAPS)))
    printf("p %u\n", (unsigned)(200000 + below(w, 800001)));
  else if (kind < 80 && (w->features & USES_CHANGES))
    write_change(w);
  else
    puts("n");
}

static void write_operation(struct writer *w) {
  const uint64_t kind = below(w, 1000);
  if (kind < 20)
    write_rare(w);
  else if (kind < ((w->features & USES_RELEASES) ? 200 : 80) && (w->features & USES_POOLS))
    write_pool(w);
  else if (kind < 160 && (w->features & USES_STREAMS) && w->live_count)
    write_record_stream(w);
  else if (kind < 220 && (w->features & USES_STREAMS))
    printf("c %" PRIu64 "\n", stream_names[below(w, w->stream_count)]);
  else if (w->live_count && (w->live_count > SLOTS - 8 || chance(w, w->live_bytes > w->target_bytes ? 70 : 42)))
    write_free(w);
  else if (w->live_count < SLOTS - 4)
    write_malloc(w);
}

/* Frees all blocks but those that only a capture frees. */
static void free_all(const struct writer *w) {
  for (size_t i = 0; i < w->live_count; i++)
    if (!w->slots[w->live[i]].is_of_capture) printf("f %zu\n", w->live[i]);
}

/* Everything is given back: captures end, pools lose their users, blocks are freed, in an order of their own. */
static void write_end(struct writer *w) {
  for (size_t i = 0; i < POOLS; i++)
    if (w->pools[i].id && w->pools[i].is_open) printf("e %" PRIu64 "\n", w->pools[i].id);
  const bool frees_first = chance(w, 50);
  if (frees_first) free_all(w);
  for (size_t i = 0; i < POOLS; i++)
    for (; w->pools[i].id && w->pools[i].uses > 0; w->pools[i].uses--) printf("d %" PRIu64 "\n", w->pools[i].id);
  if (chance(w, 50)) puts("x");
  if (!frees_first) free_all(w);
  for (size_t i = 0; i < STREAMS; i++) printf("c %" PRIu64 "\n", stream_names[i]);
  puts("x\nn\nx");
}

/* A card, and a fraction of it that lets whole segments in. Returns the fraction in parts per million. */
static unsigned choose_limits(struct writer *w) {
  static const unsigned parts[] = {500000, 250000, 750000, 800000, 1000000, 1000000, 640000};
  const unsigned part = parts[below(w, sizeof parts / sizeof *parts)];
  w->limit_bytes = beside(w, (16 + 8 * below(w, 20)) * 2 * MIB);
  w->total_bytes = (w->limit_bytes * 1000000 + part - 1) / part;
  return part;
}

static void begin(struct writer *w, uint64_t index) {
  const bool is_small = (w->features & USES_CAPS) != 0;
  unsigned part = 0;
  char text[400];
  w->total_bytes = (is_small ? 32 + below(w, 500) : 4096 + below(w, 40000)) * 2 * MIB;
  if (w->features & USES_LIMITS) part = choose_limits(w);
  w->target_bytes = w->total_bytes / 4 + below(w, w->total_bytes);
  if (!is_small) w->target_bytes = (50 + below(w, 2000)) * MIB;
  w->live_bytes = 0;
  w->live_count = 0;
  memset(w->slots, 0, sizeof w->slots);
  memset(w->pools, 0, sizeof w->pools);
  w->next_pool = 1;
  w->pattern = (unsigned)below(w, 3);
  w->palette_pct = (unsigned)below(w, 90);
  w->stream_count = (w->features & USES_STREAMS) ? 2 + below(w, STREAMS - 1) : chance(w, 20) ? 2 : 1;
  for (size_t i = 0; i < PALETTE; i++) w->palette[i] = fresh_size(w);
  make_settings(w, text, sizeof text);
  printf("S %" PRIu64 " %" PRIu64 " %u %" PRIu64 " %s\n", index, w->total_bytes, (unsigned)below(w, 4), below(w, 1000000), text);
  if (part)
    printf("p %u\n", part);
  else if ((w->features & USES_GC) && chance(w, 90))
    printf("p %u\n", (unsigned)(100000 + below(w, 900001)));
}

int main(int argc, char **argv) {
  static struct writer w;
  if (argc != 6) {
    fputs("usage: generate GROUP TORCH SEED SEQUENCES OPERATIONS\n", stderr);
    return 2;
  }
  size_t group = 0;
  while (group < sizeof groups / sizeof *groups && strcmp(groups[group].name, argv[1]) != 0) group++;
  if (group == sizeof groups / sizeof *groups) {
    fputs("generate: no such group\n", stderr);
    return 2;
  }
  w.features = groups[group].features;
  w.torch = (unsigned)strtoul(argv[2], NULL, 10);
  w.random = strtoull(argv[3], NULL, 10) * 1000003 + group;
  const uint64_t sequences = strtoull(argv[4], NULL, 10);
  const uint64_t operations = strtoull(argv[5], NULL, 10);
  for (uint64_t i = 0; i < sequences; i++) {
    begin(&w, i);
    for (uint64_t k = 0; k < operations; k++) write_operation(&w);
    if (w.features & USES_RELEASES) write_end(&w);
  }
  return 0;
}
