/* SPDX-License-Identifier: Apache-2.0 */
/* The table of names. See pseudonyms.h. */
#include "parsers/base/anonymize/pseudonyms.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parsers/base/anonymize/pseudonyms_internal.h"
#include "parsers/base/limits.h"
#include "parsers/base/number.h"

/* Shorter words than this are too often words of a language, unless a field says that they are names. */
enum { PATH_WORD_BYTES_MIN = 4, SLOTS_FIRST = 256 };

struct wo_pseudonyms *wo_pseudonyms_new(void) {
  struct wo_pseudonyms *const p = calloc(1, sizeof *p);
  if (p) wo_arena_init(&p->arena, WO_LIMIT_PSEUDONYM_BYTES);
  return p;
}

void wo_pseudonyms_free(struct wo_pseudonyms *p) {
  if (!p) return;
  wo_arena_done(&p->arena);
  WO_VEC_DONE(&p->names);
  free(p->slots);
  free(p);
}

/* ---- Finding ---- */

static uint64_t hash_add(uint64_t hash, char c) {
  return (hash ^ (unsigned char)wo_lower(c)) * UINT64_C(1099511628211);
}

static uint64_t hash_of(struct wo_view name) {
  uint64_t hash = WO_HASH_START;
  for (size_t i = 0; i < name.len; i++) hash = hash_add(hash, name.ptr[i]);
  return hash;
}

/* FNV leaves little in the low bits of short names. */
static size_t slot_of(const struct wo_pseudonyms *p, uint64_t hash) {
  return (size_t)(hash ^ hash >> 29) & (p->slot_count - 1);
}

static bool is_same(struct wo_view lower, struct wo_view name) {
  if (lower.len != name.len) return false;
  for (size_t i = 0; i < name.len; i++) {
    if (lower.ptr[i] != wo_lower(name.ptr[i])) return false;
  }
  return true;
}

static struct wo_pseudonym *find(const struct wo_pseudonyms *p, struct wo_view name, uint64_t hash) {
  if (p->slot_count == 0) return NULL;
  for (size_t at = slot_of(p, hash); p->slots[at] != 0; at = (at + 1) & (p->slot_count - 1)) {
    struct wo_pseudonym *const item = &p->names.items[p->slots[at] - 1];
    if (is_same(item->name, name)) return item;
  }
  return NULL;
}

/* Place of the bit for two bytes. */
static size_t start_of(char first, char second) {
  return (size_t)(unsigned char)wo_lower(first) << 8 | (unsigned char)wo_lower(second);
}

/* Names of one byte are never looked for. */
static bool may_start(const struct wo_pseudonyms *p, struct wo_view text, size_t at) {
  if (at + 1 >= text.len) return false;
  const size_t bit = start_of(text.ptr[at], text.ptr[at + 1]);
  return (p->starts[bit / 8] >> (bit % 8) & 1) != 0;
}

static bool is_hex(char c) {
  return wo_is_digit(c) || (wo_lower(c) >= 'a' && wo_lower(c) <= 'f');
}

/* "\n", "\t", "\r" in texts that were printed with escapes, and "%2F". */
bool wo__starts_word(struct wo_view text, size_t at) {
  if (at == 0 || !wo__is_name_byte(text.ptr[at - 1])) return true;
  if (at >= 2 && text.ptr[at - 2] == '\\' && strchr("ntr", text.ptr[at - 1])) return true;
  return at >= 3 && text.ptr[at - 3] == '%' && is_hex(text.ptr[at - 2]) && is_hex(text.ptr[at - 1]);
}

bool wo__ends_word(struct wo_view text, size_t at) {
  return at >= text.len || !wo__is_name_byte(text.ptr[at]);
}

size_t wo__find_name(const struct wo_pseudonyms *p, struct wo_view text, size_t at, struct wo_view *ret_shown) {
  size_t found = 0;
  if (!may_start(p, text, at)) return 0;
  const size_t most = text.len - at < p->longest ? text.len - at : p->longest;
  uint64_t hash = WO_HASH_START;
  for (size_t len = 1; len <= most; len++) {
    hash = hash_add(hash, text.ptr[at + len - 1]);
    if (!wo__ends_word(text, at + len)) continue;
    const struct wo_pseudonym *const item = find(p, wo_view_sub(text, at, at + len), hash);
    if (!item || !item->is_everywhere) continue;
    found = len;
    *ret_shown = item->shown;
  }
  return found;
}

static bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

/* Whether a part of a word can end and another one begin there: at a change from letters to digits or back, and at a capital. */
static bool is_joint(struct wo_view word, size_t at) {
  if (at == 0 || at == word.len) return true;
  const char left = word.ptr[at - 1], right = word.ptr[at];
  if (wo_is_digit(left) != wo_is_digit(right)) return true;
  const bool ends_capitals = is_upper(left) && at + 1 < word.len && wo_is_alpha(word.ptr[at + 1]) && !is_upper(word.ptr[at + 1]);
  return is_upper(right) && (!is_upper(left) || ends_capitals);
}

/* Names of so many letters are looked for between such joints, and of so many anywhere in a word; longer names are not. */
enum { PART_BYTES_MIN = 4, INSIDE_BYTES_MIN = 6, INSIDE_BYTES_MAX = 40 };

/* The longest known name at a place inside of a word. */
static size_t find_inside_at(const struct wo_pseudonyms *p, struct wo_view word, size_t at, struct wo_view *ret_shown) {
  const struct wo_view rest = wo_view_sub(word, at, at + INSIDE_BYTES_MAX);
  const bool begins = is_joint(word, at);
  uint64_t hash = WO_HASH_START;
  size_t found = 0;
  if (!may_start(p, word, at)) return 0;
  for (size_t len = 1; len <= rest.len; len++) {
    hash = hash_add(hash, rest.ptr[len - 1]);
    const bool is_part = len >= PART_BYTES_MIN && begins && is_joint(word, at + len);
    if (!is_part && len < INSIDE_BYTES_MIN) continue;
    const struct wo_pseudonym *const item = find(p, wo_view_sub(rest, 0, len), hash);
    if (!item || !item->is_everywhere) continue;
    found = len;
    *ret_shown = item->shown;
  }
  return found;
}

/* The first known name inside of a word that is no name itself; *ret_at is its place. */
static size_t find_inside(const struct wo_pseudonyms *p, struct wo_view word, size_t *ret_at, struct wo_view *ret_shown) {
  if (word.len <= PART_BYTES_MIN || p->names.count == 0 || wo_known_word(word)) return 0;
  for (size_t at = 0; at < word.len; at++) {
    const size_t len = find_inside_at(p, word, at, ret_shown);
    if (len > 0) *ret_at = at;
    if (len > 0) return len;
  }
  return 0;
}

/* A word with known names inside; digits beside a pseudonym are held apart from its number. */
static void add_inside(const struct wo_pseudonyms *p, struct wo_view word, struct wo_text *out) {
  while (word.len > 0) {
    struct wo_view shown = {0};
    size_t at = 0;
    const size_t len = find_inside(p, word, &at, &shown);
    if (len == 0) at = word.len;
    wo_text_add_view(out, wo_view_sub(word, 0, at));
    if (len > 0 && at > 0 && wo_is_digit(word.ptr[at - 1])) wo_text_add(out, "_");
    wo_text_add_view(out, shown);
    word = wo_view_skip(word, at + len);
    if (len > 0 && word.len > 0 && wo_is_digit(word.ptr[0])) wo_text_add(out, "_");
  }
}

/* Where not all names could be kept, any word that is not known may be one. */
static bool is_suspect(const struct wo_pseudonyms *p, struct wo_view word) {
  if (word.len > WO_LIMIT_PSEUDONYM_NAME_BYTES) return true;
  return (p->is_full || p->is_failed) && !wo_known_word(word);
}

void wo__add_words(const struct wo_pseudonyms *p, struct wo_view text, struct wo_text *out) {
  size_t copied = 0;
  for (size_t at = 0; at < text.len;) {
    struct wo_view shown = WO_VIEW("name0");
    size_t end = at;
    while (end < text.len && wo__is_name_byte(text.ptr[end])) end++;
    size_t len = end > at ? wo__find_name(p, text, at, &shown) : 0;
    if (len == 0 && end > at && is_suspect(p, wo_view_sub(text, at, end))) len = end - at;
    if (len > 0) {
      wo_text_add_view(out, wo_view_sub(text, copied, at));
      wo_text_add_view(out, shown);
      copied = at + len;
    } else if (end > at) {
      size_t next = at + 1; /* a word begins behind an escape ("\\nmara") too */
      while (next < end && !wo__starts_word(text, next)) next++;
      end = next;
      wo_text_add_view(out, wo_view_sub(text, copied, at));
      add_inside(p, wo_view_sub(text, at, end), out);
      copied = end;
      len = end - at;
    }
    const size_t next = len > 0 ? at + len : at + 1;
    at = next;
    while (at < text.len && !wo__starts_word(text, at)) at++;
  }
  wo_text_add_view(out, wo_view_skip(text, copied));
}

/* ---- Making ---- */

/* The words before the numbers. */
static const char *const kind_words[WO_NAME_OF_KINDS_] = {
    [WO_NAME_OF_USER] = "user",           [WO_NAME_OF_HOST] = "host",    [WO_NAME_OF_ACCOUNT] = "account",
    [WO_NAME_OF_PARTITION] = "partition", [WO_NAME_OF_JOB] = "job",      [WO_NAME_OF_FOLDER] = "dir",
    [WO_NAME_OF_FILE] = "file",           [WO_NAME_OF_SECRET] = "token",
};

/* Whether the text is one of those that were given out: it stands for a name, and is none. */
static bool is_given(const struct wo_pseudonyms *p, struct wo_view text) {
  for (int kind = 0; kind < WO_NAME_OF_KINDS_; kind++) {
    uint64_t number = 0;
    if (!kind_words[kind] || !wo_view_starts(text, kind_words[kind])) continue;
    struct wo_view digits = wo_view_skip(text, strlen(kind_words[kind]));
    return wo_number_u64(&digits, UINT32_MAX, &number) == WO_OK && digits.len == 0 && number <= p->numbers[kind];
  }
  return wo_view_ends(text, ".example");
}

static struct wo_view format_shown(struct wo_arena *arena, enum wo_name_kind kind, uint32_t number) {
  switch (kind) {
  case WO_NAME_OF_DOMAIN:
    return wo_arena_format(arena, "domain%u.example", number);
  case WO_NAME_OF_MAIL:
    return wo_arena_format(arena, "mail%u@example.org", number);
  case WO_NAME_OF_IPV4:
    return number < 255 ? wo_arena_format(arena, "192.0.2.%u", number) : WO_VIEW("192.0.2.255");
  case WO_NAME_OF_IPV6:
    return wo_arena_format(arena, "2001:db8::%x", number);
  case WO_NAME_OF_DEVICE:
    return wo_arena_format(arena, "00000000-0000-0000-0000-%012u", number);
  default:
    return wo_arena_format(arena, "%s%u", kind_words[kind], number);
  }
}

static struct wo_view constant_of(enum wo_name_kind kind) {
  static const char *const constants[] = {
      [WO_NAME_OF_NOTHING] = "name0",
      [WO_NAME_OF_USER] = "user0",
      [WO_NAME_OF_HOST] = "host0",
      [WO_NAME_OF_ACCOUNT] = "account0",
      [WO_NAME_OF_PARTITION] = "partition0",
      [WO_NAME_OF_JOB] = "job0",
      [WO_NAME_OF_DOMAIN] = "domain0.example",
      [WO_NAME_OF_FOLDER] = "dir0",
      [WO_NAME_OF_FILE] = "file0",
      [WO_NAME_OF_MAIL] = "mail0@example.org",
      [WO_NAME_OF_SECRET] = "token0",
      [WO_NAME_OF_IPV4] = "192.0.2.255",
      [WO_NAME_OF_IPV6] = "2001:db8::",
      [WO_NAME_OF_DEVICE] = "00000000-0000-0000-0000-000000000000",
  };
  return wo_view_of(constants[kind]);
}

static bool grow(struct wo_pseudonyms *p) {
  const size_t count = p->slot_count == 0 ? SLOTS_FIRST : p->slot_count * 2;
  uint32_t *const slots = calloc(count, sizeof *slots);
  if (!slots) return false;
  free(p->slots);
  p->slots = slots;
  p->slot_count = count;
  for (size_t i = 0; i < p->names.count; i++) {
    size_t at = slot_of(p, hash_of(p->names.items[i].name));
    while (slots[at] != 0) at = (at + 1) & (count - 1);
    slots[at] = (uint32_t)i + 1;
  }
  return true;
}

static bool has_letter(struct wo_view name) {
  for (size_t i = 0; i < name.len; i++) {
    if (wo_is_alpha(name.ptr[i]) || (unsigned char)name.ptr[i] >= 0x80) return true;
  }
  return false;
}

static bool has_digit(struct wo_view name) {
  for (size_t i = 0; i < name.len; i++) {
    if (wo_is_digit(name.ptr[i])) return true;
  }
  return false;
}

/* Whether the name has several words. */
static bool has_blank(struct wo_view name) {
  for (size_t i = 1; i + 1 < name.len; i++) {
    if (!wo_is_alnum(name.ptr[i]) && (unsigned char)name.ptr[i] < 0x80) return true;
  }
  return false;
}

/* Common words say nothing where they are no name: a user called "test" must not take the word out of all texts. The number in
 * the name of a machine ("node04") or a user makes it one of its own, and so do the words of a job ("llm-bridge"), unless they
 * are those of a model, whose name decides the arithmetic. */
static bool is_everywhere(enum wo_name_kind kind, struct wo_view name) {
  const bool is_known = wo_known_name(name);
  if (name.len < 2 || !has_letter(name)) return kind == WO_NAME_OF_IPV4 || kind == WO_NAME_OF_IPV6 || kind == WO_NAME_OF_DEVICE;
  switch (kind) {
  case WO_NAME_OF_HOST:
  case WO_NAME_OF_USER:
  case WO_NAME_OF_ACCOUNT:
    return !is_known || has_digit(name);
  case WO_NAME_OF_FOLDER:
  case WO_NAME_OF_FILE:
    return !is_known && name.len >= PATH_WORD_BYTES_MIN;
  case WO_NAME_OF_JOB:
    return !is_known || (has_blank(name) && !wo_known_model(name));
  default:
    return !is_known;
  }
}

static void look_everywhere(struct wo_pseudonyms *p, struct wo_pseudonym *item) {
  const size_t bit = start_of(item->name.ptr[0], item->name.ptr[1]);
  p->starts[bit / 8] |= (uint8_t)(1U << bit % 8);
  if (item->name.len > p->longest) p->longest = item->name.len;
  item->is_everywhere = true;
}

static bool put(struct wo_pseudonyms *p, struct wo_pseudonym item) {
  const bool has_room = p->names.count < WO_LIMIT_PSEUDONYMS;
  if (!has_room || (2 * (p->names.count + 1) > p->slot_count && !grow(p))) return false;
  if (!WO_VEC_RESERVE(&p->names, 1, WO_LIMIT_PSEUDONYMS)) return false;
  size_t at = slot_of(p, hash_of(item.name));
  while (p->slots[at] != 0) at = (at + 1) & (p->slot_count - 1);
  p->names.items[p->names.count++] = item;
  p->slots[at] = (uint32_t)p->names.count;
  if (item.is_everywhere) look_everywhere(p, &p->names.items[p->names.count - 1]);
  return true;
}

static struct wo_view lower_copy(struct wo_arena *arena, struct wo_view name) {
  char *const copy = wo_arena_alloc(arena, name.len + 1);
  if (!copy) return (struct wo_view){0};
  for (size_t i = 0; i < name.len; i++) copy[i] = wo_lower(name.ptr[i]);
  copy[name.len] = '\0';
  return (struct wo_view){copy, name.len};
}

void wo__pseudonym_also(struct wo_pseudonyms *p, enum wo_name_kind kind, struct wo_view name, struct wo_view shown) {
  if (name.len == 0 || name.len > WO_LIMIT_PSEUDONYM_NAME_BYTES || find(p, name, hash_of(name))) return;
  const struct wo_view lower = lower_copy(&p->arena, name);
  const struct wo_pseudonym item = {.name = lower, .shown = shown, .kind = kind, .is_everywhere = is_everywhere(kind, name)};
  if (!lower.ptr || !put(p, item)) p->is_failed = true;
}

/* The next pseudonym that is no name itself: a machine may be called "host1". NULL: memory is out. */
static struct wo_view next_shown(struct wo_pseudonyms *p, enum wo_name_kind kind, struct wo_view name) {
  struct wo_view shown = {0};
  const struct wo_pseudonym *taken = NULL;
  do {
    shown = format_shown(&p->arena, kind, ++p->numbers[kind]);
    taken = shown.ptr ? find(p, shown, hash_of(shown)) : NULL;
  } while (taken && !is_same(taken->name, name));
  return shown;
}

/* `is_real`: also what has the form of a pseudonym is a name. */
static struct wo_view pseudonym_of(struct wo_pseudonyms *p, enum wo_name_kind kind, struct wo_view name, bool is_real) {
  assert(kind > WO_NAME_OF_NOTHING && kind < WO_NAME_OF_KINDS_);
  struct wo_pseudonym *const known = find(p, name, hash_of(name));
  if (known && !known->is_everywhere && is_everywhere(kind, name)) look_everywhere(p, known);
  if (known) return known->shown;
  if (!is_real && is_given(p, name)) return name;
  if (p->names.count >= WO_LIMIT_PSEUDONYMS) p->is_full = true;
  if (name.len == 0 || name.len > WO_LIMIT_PSEUDONYM_NAME_BYTES || p->is_full) return constant_of(kind);
  const struct wo_view shown = next_shown(p, kind, name);
  if (!shown.ptr) {
    p->is_failed = true;
    return constant_of(kind);
  }
  wo__pseudonym_also(p, kind, name, shown);
  return p->is_failed ? constant_of(kind) : shown;
}

/* A name that a path has shown first, and a field later, keeps its pseudonym; but it is then replaced everywhere. The text that
 * is returned lives in the table, or is the name. */
struct wo_view wo__pseudonym(struct wo_pseudonyms *p, enum wo_name_kind kind, struct wo_view name) {
  return pseudonym_of(p, kind, name, false);
}

/* ---- Names of fields ---- */

/* "mara(1001)" without the id. */
static struct wo_view without_id(struct wo_view name) {
  name = wo_view_trim(name);
  return wo_view_sub(name, 0, wo_view_find_char(name, '(', 0));
}

/* Values that stand for no name. */
static bool is_no_name(enum wo_name_kind kind, struct wo_view name) {
  static const char *const none[] = {"(null)", "null", "none", "unknown", "n/a", "localhost", "default"};
  static const char *const steps[] = {"batch", "extern", "interactive", "bat+", "ext+", "wrap"};
  if (name.len == 0 || WO_VIEW_ANY(name, wo_view_is_nocase, none)) return true;
  if (kind == WO_NAME_OF_USER) return wo_known_system_user(name);
  if (kind == WO_NAME_OF_JOB) return WO_VIEW_ANY(name, wo_view_is, steps);
  return kind == WO_NAME_OF_PARTITION && wo_known_name(name);
}

static void learn_host(struct wo_pseudonyms *p, struct wo_view name, bool is_real) {
  const size_t dot = wo_view_find_char(name, '.', 0);
  const struct wo_view label = wo_view_sub(name, 0, dot);
  if (dot == WO_NOT_FOUND || !has_letter(label)) {
    if (has_letter(name)) pseudonym_of(p, WO_NAME_OF_HOST, name, is_real);
    return;
  }
  const struct wo_view shown = pseudonym_of(p, WO_NAME_OF_HOST, label, is_real);
  if (shown.ptr != label.ptr) wo__pseudonym_also(p, WO_NAME_OF_HOST, name, shown);
  const struct wo_view domain = wo_view_skip(name, dot + 1);
  if (wo_view_find_char(domain, '.', 0) != WO_NOT_FOUND) wo__pseudonym(p, WO_NAME_OF_DOMAIN, domain);
}

/* The words of a name with blanks are looked for one by one. */
static void learn_words(struct wo_pseudonyms *p, enum wo_name_kind kind, struct wo_view name) {
  while (name.len > 0) {
    const struct wo_view word = wo_view_trim(wo_view_cut(&name, ' '));
    if (word.len > 1 && !wo_known_name(word)) wo__pseudonym(p, kind, word);
  }
}

void wo_pseudonyms_learn(struct wo_pseudonyms *p, enum wo_name_kind kind, struct wo_view name) {
  name = without_id(name);
  if (is_no_name(kind, name)) return;
  if (kind == WO_NAME_OF_HOST) {
    learn_host(p, name, true);
  } else if (has_letter(name)) {
    pseudonym_of(p, kind, name, true);
    if (wo_view_find_char(name, ' ', 0) != WO_NOT_FOUND) learn_words(p, kind, name);
  }
}

/* A host that is named by its address; other numbers are none. */
static void add_address(struct wo_pseudonyms *p, struct wo_view address, struct wo_text *out) {
  const bool is_own = wo_view_starts(address, "127.") || wo_view_starts(address, "192.0.2.") || wo_view_is(address, "0.0.0.0");
  const bool is_number = wo_view_find_char(address, '.', 0) == WO_NOT_FOUND && wo_view_find_char(address, ':', 0) == WO_NOT_FOUND;
  wo_text_add_view(out, is_own || is_number ? address : wo__pseudonym(p, WO_NAME_OF_IPV4, address));
}

void wo_pseudonyms_add_name(struct wo_pseudonyms *p, enum wo_name_kind kind, struct wo_view name, struct wo_text *out) {
  const struct wo_view plain = without_id(name);
  if (is_no_name(kind, plain)) {
    wo_text_add_view(out, name);
    return;
  }
  if (kind == WO_NAME_OF_HOST && has_letter(plain)) learn_host(p, plain, false);
  if (kind == WO_NAME_OF_HOST && !has_letter(plain))
    add_address(p, plain, out);
  else
    wo_text_add_view(out, wo__pseudonym(p, kind, plain));
}

/* Names of settings and fields whose value is a name. */
static const struct {
  const char *key;
  enum wo_name_kind kind;
} keys[] = {
    {"user", WO_NAME_OF_USER},
    {"username", WO_NAME_OF_USER},
    {"user_name", WO_NAME_OF_USER},
    {"userid", WO_NAME_OF_USER},
    {"login", WO_NAME_OF_USER},
    {"owner", WO_NAME_OF_USER},
    {"mail_user", WO_NAME_OF_USER},
    {"logname", WO_NAME_OF_USER},
    {"author", WO_NAME_OF_USER},
    {"groupid", WO_NAME_OF_ACCOUNT},
    {"host", WO_NAME_OF_HOST},
    {"hostname", WO_NAME_OF_HOST},
    {"node", WO_NAME_OF_HOST},
    {"nodename", WO_NAME_OF_HOST},
    {"nodelist", WO_NAME_OF_HOST},
    {"reqnodelist", WO_NAME_OF_HOST},
    {"batchhost", WO_NAME_OF_HOST},
    {"master_addr", WO_NAME_OF_HOST},
    {"slurm_job_nodelist", WO_NAME_OF_HOST},
    {"slurmd_nodename", WO_NAME_OF_HOST},
    {"slurm_nodelist", WO_NAME_OF_HOST},
    {"server", WO_NAME_OF_HOST},
    {"account", WO_NAME_OF_ACCOUNT},
    {"reservation", WO_NAME_OF_ACCOUNT},
    {"qos", WO_NAME_OF_PARTITION},
    {"acct", WO_NAME_OF_ACCOUNT},
    {"slurm_job_account", WO_NAME_OF_ACCOUNT},
    {"partition", WO_NAME_OF_PARTITION},
    {"jobname", WO_NAME_OF_JOB},
    {"job_name", WO_NAME_OF_JOB},
    {"run_name", WO_NAME_OF_JOB},
    {"experiment_name", WO_NAME_OF_JOB},
    {"experiment", WO_NAME_OF_JOB},
    {"exp_name", WO_NAME_OF_JOB},
    {"project", WO_NAME_OF_JOB},
    {"project_name", WO_NAME_OF_JOB},
    {"wandb_project", WO_NAME_OF_JOB},
    {"wandb_entity", WO_NAME_OF_ACCOUNT},
    {"entity", WO_NAME_OF_ACCOUNT},
    {"wandb_name", WO_NAME_OF_JOB},
    {"wandb_run_name", WO_NAME_OF_JOB},
    {"slurm_job_name", WO_NAME_OF_JOB},
    {"slurm_job_user", WO_NAME_OF_USER},
    {"api_key", WO_NAME_OF_SECRET},
    {"apikey", WO_NAME_OF_SECRET},
    {"access_token", WO_NAME_OF_SECRET},
    {"auth_token", WO_NAME_OF_SECRET},
    {"hf_token", WO_NAME_OF_SECRET},
    {"hub_token", WO_NAME_OF_SECRET},
    {"secret", WO_NAME_OF_SECRET},
    {"password", WO_NAME_OF_SECRET},
    {"passwd", WO_NAME_OF_SECRET},
    {"access_key", WO_NAME_OF_SECRET},
    {"secret_key", WO_NAME_OF_SECRET},
    {"wandb_api_key", WO_NAME_OF_SECRET},
    {"github_token", WO_NAME_OF_SECRET},
    {"openai_api_key", WO_NAME_OF_SECRET},
    {"aws_secret_access_key", WO_NAME_OF_SECRET},
    {"aws_access_key_id", WO_NAME_OF_SECRET},
};

enum wo_name_kind wo_pseudonyms_key_kind(struct wo_view key) {
  char plain[40];
  while (key.len > 0 && (key.ptr[0] == '-' || key.ptr[0] == '$')) key = wo_view_skip(key, 1);
  if (key.len == 0 || key.len >= sizeof plain) return WO_NAME_OF_NOTHING;
  for (size_t i = 0; i < key.len; i++) plain[i] = key.ptr[i] == '-' ? '_' : key.ptr[i];
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    if (wo_view_is_nocase((struct wo_view){plain, key.len}, keys[i].key)) return keys[i].kind;
  }
  return WO_NAME_OF_NOTHING;
}
