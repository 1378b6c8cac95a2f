/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a settings string, with one row of settings.def for each key and one reader for each kind. */
#include <assert.h>

#include "cuda_replay/recording/settings.h"
#include "cuda_replay/recording/torch_rules.h"
#include "parsers/base/number.h"

#define MIB (UINT64_C(1) << 20)

/* Longest string; real ones have at most a few hundred bytes. */
enum { TEXT_MAX = 1024 };

/* The most MiB that fit into a size: torch limits larger values to it. */
#define MIB_MAX (UINT64_MAX / MIB)

struct item;

/* A key, and where its value goes. */
struct key {
  const char *name;
  uint16_t since;
  bool is_ignored;
  enum wo_status (*read)(const struct item *item, void *member);
  size_t offset; /* of the member in struct wo_alloc_settings */
};

/* One "key:value" while it is read. */
struct item {
  const struct key *key;
  struct wo_view value;
  uint16_t torch;
  struct wo_alloc_settings *settings;
  struct wo_err *err;
};

/* ---- Values ---- */

static enum wo_status expect(const struct item *item, enum wo_status status, const char *expected) {
  const struct wo_view shown = wo_view_sub(item->value, 0, 60);
  return wo_err_set(item->err, status, "%s:%.*s: expected %s", item->key->name, (int)shown.len, shown.ptr, expected);
}

static enum wo_status read_flag(const struct item *item, void *member) {
  if (!wo_view_is(item->value, "True") && !wo_view_is(item->value, "False")) {
    return expect(item, WO_E_SYNTAX, "True or False, spelled so");
  }
  *(bool *)member = wo_view_is(item->value, "True");
  return WO_OK;
}

/* Reads a whole number; like torch it stops at the first character that is no digit ("512MB" is 512). */
static enum wo_status read_count(const struct item *item, void *member) {
  struct wo_view rest = item->value;
  const bool is_wide = wo_torch_has(item->torch, WO_TORCH_WIDE_NUMBERS);
  const enum wo_status status = wo_number_u64(&rest, is_wide ? UINT64_MAX : INT32_MAX, member);
  if (status == WO_E_RANGE) return expect(item, status, is_wide ? "a number below 2^64" : "a number below 2^31");
  return status == WO_OK ? WO_OK : expect(item, WO_E_SYNTAX, "a whole number");
}

/* Reads a number of MiB that is at least a segment (without WO_TORCH_SPLIT_MAY_BE_20: more than a segment). */
static enum wo_status read_split_size(const struct item *item, void *member) {
  uint64_t mib = MIB_MAX;
  /* Torch reads a negative number as a huge one: no limit. */
  const bool is_negative = item->value.len > 1 && item->value.ptr[0] == '-' && wo_is_digit(item->value.ptr[1]);
  const enum wo_status status = is_negative ? WO_OK : read_count(item, &mib);
  if (status != WO_OK) return status;
  const uint64_t least = item->settings->large_segment_bytes / MIB;
  const bool may_equal = wo_torch_has(item->torch, WO_TORCH_SPLIT_MAY_BE_20);
  if (mib < least || (mib == least && !may_equal)) {
    char expected[64];
    snprintf(expected, sizeof expected, "%s %llu", may_equal ? "at least" : "more than", (unsigned long long)least);
    return expect(item, WO_E_RANGE, expected);
  }
  *(uint64_t *)member = (mib < MIB_MAX ? mib : MIB_MAX) * MIB;
  return WO_OK;
}

static enum wo_status read_large_segment(const struct item *item, void *member) {
  uint64_t mib = 0;
  const enum wo_status status = read_count(item, &mib);
  if (status != WO_OK) return status;
  /* More than any card has; without this limit the arithmetic of ranges may overflow. */
  if (mib <= 10 || mib > UINT64_C(1) << 30) return expect(item, WO_E_RANGE, "more than 10, and a size that a card can have");
  *(uint64_t *)member = mib * MIB;
  return WO_OK;
}

static enum wo_status read_number(const struct item *item, double *ret_value) {
  struct wo_view rest = item->value;
  struct wo_interval number = {0};
  const enum wo_status status = wo_number_decimal(&rest, &number, NULL);
  if (status != WO_OK) return expect(item, WO_E_SYNTAX, "a number between 0 and 1");
  *ret_value = number.mid;
  return WO_OK;
}

static enum wo_status read_garbage(const struct item *item, void *member) {
  double value = 0;
  const enum wo_status status = read_number(item, &value);
  if (status != WO_OK) return status;
  if (!(value > 0 && value < 1)) return expect(item, WO_E_RANGE, "a number above 0 and below 1");
  *(double *)member = value;
  return WO_OK;
}

/* 0 is a fraction, too: it allows nothing. It is kept as a tiny fraction that does the same, because 0 means "not set". */
static enum wo_status read_fraction(const struct item *item, void *member) {
  double value = 0;
  const enum wo_status status = read_number(item, &value);
  if (status != WO_OK) return status;
  if (!(value >= 0 && value <= 1)) return expect(item, WO_E_RANGE, "a number from 0 to 1");
  item->settings->string_fraction = value > 0 ? value : WO_FRACTION_NOTHING;
  *(double *)member = item->settings->string_fraction;
  return WO_OK;
}

static enum wo_status read_backend(const struct item *item, void *member) {
  const bool is_native = wo_view_is(item->value, "native");
  if (!is_native && !wo_view_is(item->value, "cudaMallocAsync") && !wo_view_is(item->value, "hipMallocAsync")) {
    return expect(item, WO_E_SYNTAX, "native or cudaMallocAsync");
  }
  *(bool *)member = is_native;
  return WO_OK;
}

static bool is_power_of_two(uint64_t n) {
  return n != 0 && (n & (n - 1)) == 0;
}

static enum wo_status read_threads(const struct item *item, void *member) {
  const uint64_t *const count = member;
  const enum wo_status status = read_count(item, member);
  if (status != WO_OK) return status;
  return is_power_of_two(*count) && *count <= 128 ? WO_OK : expect(item, WO_E_RANGE, "a power of two up to 128");
}

/* ---- Divisions ---- */

/* Fills slots [from, to) with a number of divisions. */
static void fill(uint32_t slots[WO_ROUNDUP_SLOTS], int from, int to, uint32_t divisions) {
  for (int i = from; i < to; i++) slots[i] = divisions;
}

/* The state of a list so far. */
struct divisions {
  uint32_t *slots;
  bool has_first;
  int last_slot;
};

/* One "size:divisions" of a list; size may be ">". */
static enum wo_status read_pair(const struct item *item, struct wo_view pair, struct divisions *list) {
  struct wo_view value = pair;
  const struct wo_view name = wo_view_cut(&value, ':');
  uint64_t divisions = 0;
  if (wo_number_u64(&value, UINT32_MAX, &divisions) != WO_OK) return expect(item, WO_E_SYNTAX, "pairs like 256:4");
  if (divisions != 0 && !is_power_of_two(divisions)) return expect(item, WO_E_RANGE, "divisions that are powers of two, or 0");
  if (wo_view_is(name, ">")) {
    const int behind = wo_torch_has(item->torch, WO_TORCH_ROUNDUP_REST_AFTER_LAST) ? 1 : 0;
    fill(list->slots, list->last_slot + behind, WO_ROUNDUP_SLOTS, (uint32_t)divisions);
    return WO_OK;
  }
  struct wo_view rest = name;
  uint64_t mib = 0;
  if (wo_number_u64(&rest, UINT64_MAX, &mib) != WO_OK) return expect(item, WO_E_SYNTAX, "sizes in MiB, or > for the rest");
  if (!is_power_of_two(mib)) return expect(item, WO_E_RANGE, "sizes in MiB that are powers of two");
  int slot = __builtin_ctzll(mib);
  if (slot > WO_ROUNDUP_SLOTS - 1) slot = WO_ROUNDUP_SLOTS - 1;
  if (!list->has_first) fill(list->slots, 0, slot, (uint32_t)divisions);
  list->slots[slot] = (uint32_t)divisions;
  list->has_first = true;
  list->last_slot = slot;
  return WO_OK;
}

static enum wo_status read_roundup(const struct item *item, void *member) {
  uint64_t divisions = 0;
  if (!wo_view_starts(item->value, "[")) {
    const enum wo_status status = read_count(item, &divisions);
    if (status != WO_OK) return status;
    if (!is_power_of_two(divisions) || divisions > UINT32_MAX) return expect(item, WO_E_RANGE, "a power of two");
    fill(member, 0, WO_ROUNDUP_SLOTS, (uint32_t)divisions);
    return WO_OK;
  }
  if (!wo_torch_has(item->torch, WO_TORCH_ROUNDUP_LIST)) {
    return expect(item, WO_E_SYNTAX, "one number (lists are read since torch 2.0)");
  }
  if (!wo_view_ends(item->value, "]")) return expect(item, WO_E_SYNTAX, "a list that ends with ]");
  struct wo_view rest = wo_view_sub(item->value, 1, item->value.len - 1);
  struct divisions list = {.slots = member};
  while (rest.len > 0) {
    const enum wo_status status = read_pair(item, wo_view_cut(&rest, ','), &list);
    if (status != WO_OK) return status;
  }
  return WO_OK;
}

/* ---- Keys ---- */

static const struct key keys[] = {
#define WO_SETTING(name, since, reader, member) {name, since, false, read_##reader, offsetof(struct wo_alloc_settings, member)},
#define WO_SETTING_IGNORED(name, since, reader) {name, since, true, read_##reader, 0},
#include "cuda_replay/recording/settings.def"
#undef WO_SETTING
#undef WO_SETTING_IGNORED
};

enum { KEY_COUNT = sizeof keys / sizeof keys[0] };

/* The values of ignored keys are checked all the same. */
static enum wo_status read_item(const struct item *item) {
  uint64_t ignored = 0;
  void *const member = item->key->is_ignored ? (void *)&ignored : (char *)item->settings + item->key->offset;
  return item->key->read(item, member);
}

/* The number of edits that turn one word into the other. */
static size_t distance(struct wo_view a, struct wo_view b) {
  enum { WORD_MAX = 48 };
  size_t row[WORD_MAX + 1];
  if (a.len > WORD_MAX || b.len > WORD_MAX) return WORD_MAX;
  for (size_t k = 0; k <= b.len; k++) row[k] = k;
  for (size_t i = 0; i < a.len; i++) {
    size_t corner = row[0];
    row[0] = i + 1;
    for (size_t k = 0; k < b.len; k++) {
      const size_t replaced = corner + (wo_lower(a.ptr[i]) == wo_lower(b.ptr[k]) ? 0 : 1);
      const size_t shorter = (row[k] < row[k + 1] ? row[k] : row[k + 1]) + 1;
      corner = row[k + 1];
      row[k + 1] = replaced < shorter ? replaced : shorter;
    }
  }
  return row[b.len];
}

static enum wo_status unknown_key(struct wo_view name, struct wo_err *err) {
  const struct wo_view shown = wo_view_sub(name, 0, 60);
  size_t best = 0;
  for (size_t i = 1; i < KEY_COUNT; i++) {
    if (distance(name, wo_view_of(keys[i].name)) < distance(name, wo_view_of(keys[best].name))) best = i;
  }
  /* A word that is wrong by more than a third is not a typing error. */
  if (distance(name, wo_view_of(keys[best].name)) * 3 <= strlen(keys[best].name)) {
    return wo_err_set(err, WO_E_UNKNOWN, "%.*s: no such setting; did you mean %s?", (int)shown.len, shown.ptr, keys[best].name);
  }
  return wo_err_set(err, WO_E_UNKNOWN, "%.*s: no such setting of the CUDA allocator", (int)shown.len, shown.ptr);
}

static enum wo_status find_key(struct wo_view name, uint16_t torch, const struct key **ret_key, struct wo_err *err) {
  for (size_t i = 0; i < KEY_COUNT; i++) {
    if (!wo_view_is(name, keys[i].name)) continue;
    if (torch < keys[i].since) {
      return wo_err_set(err, WO_E_UNKNOWN, "%s is a setting since torch %u.%u; torch %u.%u refuses it", keys[i].name,
                        keys[i].since / 100U, keys[i].since % 100U, torch / 100U, torch % 100U);
    }
    *ret_key = &keys[i];
    return WO_OK;
  }
  return unknown_key(name, err);
}

/* ---- The string ---- */

/* Cuts off the next "key:value"; a comma inside brackets does not end it. */
static struct wo_view cut_item(struct wo_view *rest) {
  size_t depth = 0;
  size_t at = 0;
  for (; at < rest->len; at++) {
    if (rest->ptr[at] == '[') depth++;
    if (rest->ptr[at] == ']' && depth > 0) depth--;
    if (rest->ptr[at] == ',' && depth == 0) break;
  }
  const struct wo_view item = wo_view_sub(*rest, 0, at);
  *rest = wo_view_skip(*rest, at + 1);
  return item;
}

/* Reads the items of a string without blanks. only_segment: reads only the segment size, the limit for other keys. */
static enum wo_status read_items(struct wo_view text, uint16_t torch, bool only_segment, struct wo_alloc_settings *settings,
                                 struct wo_err *err) {
  while (text.len > 0) {
    struct wo_view value = cut_item(&text);
    const struct wo_view whole = value;
    const struct wo_view name = wo_view_cut(&value, ':');
    struct item item = {.value = value, .torch = torch, .settings = settings, .err = err};
    enum wo_status status = find_key(name, torch, &item.key, err);
    if (status != WO_OK) return status;
    assert(item.key != NULL);
    if (name.len == whole.len) return expect(&item, WO_E_SYNTAX, "a colon and a value");
    if (only_segment == (item.key->read == read_large_segment)) status = read_item(&item);
    if (status != WO_OK) return status;
  }
  return WO_OK;
}

/* The segment size is read first, as in torch, because the limits of other keys depend on it in any order. */
enum wo_status wo_alloc_settings_parse(struct wo_view text, uint16_t torch, struct wo_alloc_settings *settings,
                                       struct wo_err *err) {
  char packed[TEXT_MAX];
  size_t len = 0;
  for (size_t i = 0; i < text.len; i++) {
    if (wo_is_space(text.ptr[i])) continue;
    if (len == sizeof packed) return wo_err_set(err, WO_E_RANGE, "a settings string of more than %d bytes", TEXT_MAX);
    packed[len++] = text.ptr[i];
  }
  const struct wo_view compact = {packed, len};
  const struct wo_alloc_settings base = wo_alloc_settings_default(torch);
  struct wo_alloc_settings read = *settings;
  read.max_split_bytes = base.max_split_bytes;
  read.garbage_collection_threshold = base.garbage_collection_threshold;
  memcpy(read.roundup_divisions, base.roundup_divisions, sizeof read.roundup_divisions);
  enum wo_status status = read_items(compact, torch, true, &read, err);
  if (status != WO_OK) return status;
  if (wo_torch_has(torch, WO_TORCH_LARGE_SEGMENT_SIZE)) read.max_non_split_rounding_bytes = read.large_segment_bytes;
  status = read_items(compact, torch, false, &read, err);
  if (status == WO_OK) *settings = read;
  return status;
}
