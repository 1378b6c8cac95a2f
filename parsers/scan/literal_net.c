/* SPDX-License-Identifier: Apache-2.0 */
/* Each literal hangs in a table by the three of its bytes in a row that are rarest in logs. The hash of each three bytes of a
 * line is looked up without a branch that depends on the text, and where some may be those of literals, the literals are
 * compared. */
#include "parsers/scan/literal_net.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 3, PAIR = 2, HASH_BITS = 17, HEADS = 1024, NO_SLOT = UINT16_MAX };

/* Windows that are looked up in one go. */
enum { BLOCK = 512 };

struct entry {
  struct wo_view literal;
  uint32_t window; /* its bytes; of a literal of two bytes, these */
  uint16_t offset; /* of its window */
  uint16_t slot;   /* of its pattern in the list */
  uint16_t next;   /* under the same head, from 1; 0 ends */
};

struct wo_literal_net {
  uint64_t is_there[(1 << HASH_BITS) / 64]; /* hashes of windows, and of all that begin with a literal of two bytes */
  uint64_t is_pair[(1 << 16) / 64];         /* literals of two bytes */
  uint16_t heads[HEADS];                    /* from 1 */
  struct wo_net_hits always;                /* patterns without literals */
  struct entry *entries;                    /* those with literals shorter than a window come last */
  size_t entry_count, short_count;
  bool has_single;            /* a literal of one byte, which is looked for by itself */
  const struct entry *shorts; /* the end of these */
  uint16_t *slot_of;          /* by the index of a pattern in its set */
  const size_t *items;        /* the index of the pattern of each slot */
};

static inline uint32_t pair_at(const char *at) {
  return (uint32_t)(unsigned char)at[0] | (uint32_t)(unsigned char)at[1] << 8;
}

/* Of three bytes, the first one lowest; what is above them does not matter. */
static inline uint32_t hash_of(uint32_t bytes) {
  return (bytes << 8) * UINT32_C(2654435761) >> (32 - HASH_BITS);
}

static inline uint32_t window_at(const char *at) {
  return pair_at(at) | (uint32_t)(unsigned char)at[2] << 16;
}

/* The same of a window that a byte follows, by one load. Bytes that a machine stores the other way round are put in order. */
static inline uint32_t hash_inside(const char *at) {
  uint32_t bytes = 0;
  memcpy(&bytes, at, sizeof bytes);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  bytes = __builtin_bswap32(bytes);
#endif
  return hash_of(bytes);
}

/* How often a byte is met in logs, roughly: small letters and blanks most. */
struct frequencies {
  unsigned char of[UCHAR_MAX + 1];
};

static void rank_bytes(struct frequencies *frequencies) {
  static const char common[] = "qjxzkvwybgfhmpucdlsrnioate ";
  memset(frequencies->of, 1, sizeof frequencies->of);
  for (size_t i = 0; i + 1 < sizeof common; i++) frequencies->of[(unsigned char)common[i]] = (unsigned char)(i + 2);
}

static uint16_t rarest_window(const struct frequencies *frequencies, struct wo_view literal) {
  const unsigned char *const bytes = (const unsigned char *)literal.ptr;
  size_t best = 0;
  int least = INT_MAX;
  for (size_t i = 0; i + WINDOW <= literal.len; i++) {
    const int often = frequencies->of[bytes[i]] * frequencies->of[bytes[i + 1]] * frequencies->of[bytes[i + 2]];
    if (often >= least) continue;
    least = often;
    best = i;
  }
  return (uint16_t)best;
}

static void set_bit(struct wo_net_hits *hits, size_t slot) {
  hits->words[slot / 64] |= UINT64_C(1) << (slot % 64);
}

static void hang_up(struct wo_literal_net *net, const struct frequencies *frequencies, struct entry *entry, size_t number) {
  entry->offset = rarest_window(frequencies, entry->literal);
  entry->window = window_at(entry->literal.ptr + entry->offset);
  const uint32_t hash = hash_of(entry->window);
  uint16_t *const head = &net->heads[hash % HEADS];
  net->is_there[hash / 64] |= UINT64_C(1) << (hash % 64);
  entry->next = *head;
  *head = (uint16_t)number;
}

static void add_short(struct wo_literal_net *net, const struct entry *entry, size_t capacity) {
  struct entry *const kept = &net->entries[capacity - ++net->short_count];
  *kept = *entry;
  net->has_single = net->has_single || entry->literal.len < PAIR;
  if (entry->literal.len < PAIR) return;
  const uint32_t pair = kept->window = pair_at(entry->literal.ptr);
  net->is_pair[pair / 64] |= UINT64_C(1) << (pair % 64);
  for (unsigned third = 0; third <= UCHAR_MAX; third++) {
    const uint32_t hash = hash_of(pair | third << 16);
    net->is_there[hash / 64] |= UINT64_C(1) << (hash % 64);
  }
}

/* Short literals fill the table of entries from its end. */
static void add_pattern(struct wo_literal_net *net, const struct frequencies *frequencies, const struct wo_pattern *pattern,
                        size_t slot, size_t capacity) {
  if (pattern->literal_count == 0) set_bit(&net->always, slot);
  for (size_t i = 0; i < pattern->literal_count; i++) {
    const struct entry entry = {.literal = pattern->literals[i], .slot = (uint16_t)slot};
    if (entry.literal.len == 0) {
      set_bit(&net->always, slot);
      continue;
    }
    if (entry.literal.len < WINDOW) {
      add_short(net, &entry, capacity);
      continue;
    }
    net->entries[net->entry_count++] = entry;
    hang_up(net, frequencies, &net->entries[net->entry_count - 1], net->entry_count);
  }
}

struct wo_literal_net *wo_literal_net_new(const struct wo_pattern_set *set, const size_t *items, size_t count) {
  struct wo_literal_net *const net = calloc(1, sizeof *net);
  if (!net) return NULL;
  size_t literals = 0;
  const size_t total = wo_pattern_count(set);
  for (size_t i = 0; i < count; i++) literals += wo_pattern_at(set, items[i])->literal_count;
  net->slot_of = malloc((total + 1) * sizeof *net->slot_of);
  net->entries = literals < UINT16_MAX ? calloc(literals + 1, sizeof *net->entries) : NULL;
  if (!net->slot_of || !net->entries) {
    wo_literal_net_free(net);
    return NULL;
  }
  struct frequencies frequencies;
  rank_bytes(&frequencies);
  net->shorts = net->entries + literals;
  net->items = items;
  for (size_t i = 0; i < total; i++) net->slot_of[i] = NO_SLOT;
  for (size_t i = 0; i < count && i < WO_NET_PATTERNS; i++) {
    net->slot_of[items[i]] = (uint16_t)i;
    add_pattern(net, &frequencies, wo_pattern_at(set, items[i]), i, literals);
  }
  return net;
}

void wo_literal_net_free(struct wo_literal_net *net) {
  if (!net) return;
  free(net->slot_of);
  free(net->entries);
  free(net);
}

static bool is_at(const struct entry *entry, struct wo_view text, size_t place) {
  if (place < entry->offset) return false;
  const size_t start = place - entry->offset;
  return text.len - start >= entry->literal.len && memcmp(text.ptr + start, entry->literal.ptr, entry->literal.len) == 0;
}

/* Sets the patterns that have the two bytes as a literal. */
static void find_pair(const struct wo_literal_net *net, const char *at, struct wo_net_hits *hits) {
  const uint32_t pair = pair_at(at);
  if ((net->is_pair[pair / 64] >> (pair % 64) & 1) == 0) return;
  for (size_t i = 1; i <= net->short_count; i++) {
    const struct entry *const entry = &net->shorts[-(ptrdiff_t)i];
    if (entry->literal.len == PAIR && entry->window == pair) set_bit(hits, entry->slot);
  }
}

static void find_singles(const struct wo_literal_net *net, struct wo_view text, struct wo_net_hits *hits) {
  for (size_t i = 1; i <= net->short_count; i++) {
    const struct entry *const entry = &net->shorts[-(ptrdiff_t)i];
    if (entry->literal.len < PAIR && wo_view_find(text, entry->literal, 0) != WO_NOT_FOUND) set_bit(hits, entry->slot);
  }
}

/* Writes the places of the windows that may be those of literals. A byte follows each of them, so that four are read at once. */
static size_t look_up(const struct wo_literal_net *net, const char *text, size_t count, uint16_t *ret_found) {
  size_t found = 0;
  for (size_t i = 0; i < count; i++) {
    const uint32_t hash = hash_inside(text + i);
    ret_found[found] = (uint16_t)i;
    found += net->is_there[hash / 64] >> (hash % 64) & 1;
  }
  return found;
}

static void find_around(const struct wo_literal_net *net, struct wo_view text, size_t place, struct wo_net_hits *hits) {
  const uint32_t window = window_at(text.ptr + place);
  find_pair(net, text.ptr + place, hits);
  for (uint16_t at = net->heads[hash_of(window) % HEADS]; at != 0; at = net->entries[at - 1].next) {
    const struct entry *const entry = &net->entries[at - 1];
    if (entry->window == window && is_at(entry, text, place)) set_bit(hits, entry->slot);
  }
}

struct wo_net_hits wo_literal_net_find(const struct wo_literal_net *net, struct wo_view text) {
  struct wo_net_hits hits = net->always;
  uint16_t found[BLOCK];
  const size_t inside = text.len > WINDOW ? text.len - WINDOW : 0; /* windows that a byte follows */
  for (size_t from = 0; from < inside; from += BLOCK) {
    const size_t count = look_up(net, text.ptr + from, inside - from < BLOCK ? inside - from : BLOCK, found);
    for (size_t i = 0; i < count; i++) find_around(net, text, from + found[i], &hits);
  }
  if (text.len >= WINDOW) find_around(net, text, text.len - WINDOW, &hits);
  if (text.len >= PAIR) find_pair(net, text.ptr + text.len - PAIR, &hits);
  if (net->has_single) find_singles(net, text, &hits);
  return hits;
}

void wo_literal_net_place(const struct wo_literal_net *net, struct wo_places *places) {
  memset(&places->slots, 0, sizeof places->slots);
  for (places->held = 0; places->held < places->count; places->held++) {
    const uint16_t slot = net->slot_of[places->items[places->held]];
    if (slot == NO_SLOT) return;
    set_bit(&places->slots, slot);
  }
}

size_t wo_literal_net_next(const struct wo_literal_net *net, const struct wo_net_hits *hits, const struct wo_places *places,
                           size_t *at) {
  for (size_t word = *at / 64; word < WO_NET_WORDS; word++) {
    const uint64_t wanted = hits->words[word] & places->slots.words[word];
    const uint64_t rest = word == *at / 64 ? wanted >> *at % 64 << *at % 64 : wanted;
    if (rest == 0) continue;
    const size_t slot = word * 64 + (size_t)__builtin_ctzll(rest);
    *at = slot + 1;
    return net->items[slot];
  }
  const size_t beyond = places->held + (*at > WO_NET_PATTERNS ? *at - WO_NET_PATTERNS : 0);
  if (beyond >= places->count) return WO_NOT_FOUND;
  *at = WO_NET_PATTERNS + (beyond - places->held) + 1;
  return places->items[beyond];
}

bool wo_literal_net_has(const struct wo_literal_net *net, const struct wo_net_hits *hits, size_t pattern) {
  const uint16_t slot = net->slot_of[pattern];
  return slot == NO_SLOT || (hits->words[slot / 64] >> (slot % 64) & 1) != 0;
}
