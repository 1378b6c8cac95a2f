/* SPDX-License-Identifier: Apache-2.0 */
/* The version of rules: hashes of what decides about evidence, and of everything else. */
#include <inttypes.h>
#include <stdio.h>

#include "rules/load/embedded.h"
#include "rules/load/pack_internal.h"

/* Names, because the numbers of kinds and fields may change with the program. */
static void add_name(uint64_t *hash, const char *name) {
  wo__hash_text(hash, wo_view_of(name));
}

static void add_double(uint64_t *hash, double number) {
  char digits[40];
  snprintf(digits, sizeof digits, "%.17g", number);
  add_name(hash, digits);
}

/* ---- What decides about evidence ---- */

static void add_pattern(uint64_t *hash, const struct wo_pattern *pattern) {
  wo__hash_text(hash, pattern->id);
  add_name(hash, wo_kind_name(pattern->kind));
  add_name(hash, wo_mark_name(pattern->mark));
  wo__hash_number(hash, pattern->where);
  wo__hash_number(hash, pattern->literal_count);
  for (size_t i = 0; i < pattern->literal_count; i++) wo__hash_text(hash, pattern->literals[i]);
  wo__hash_number(hash,
                  (pattern->is_before_number ? 1U : 0U) | (pattern->is_every_match ? 2U : 0U) | (pattern->is_fallback ? 4U : 0U));
  wo__hash_text(hash, pattern->regex);
  wo__hash_text(hash, pattern->unless);
  wo__hash_text(hash, pattern->reader);
  wo__hash_text(hash, pattern->argument);
  add_double(hash, pattern->bare_scale);
  wo__hash_number(hash, pattern->set_count);
  for (size_t i = 0; i < pattern->set_count; i++) {
    add_name(hash, wo_field_name(pattern->sets[i].id));
    wo__hash_text(hash, pattern->sets[i].value);
  }
}

/* Readers of messages are code, which changes with the program's version. */
static uint64_t hash_patterns(const struct wo_pack *pack) {
  uint64_t hash = WO__RULE_HASH_START;
  add_name(&hash, WHYOOM_VERSION);
  for (size_t i = 0; i < pack->pattern_count; i++) add_pattern(&hash, &pack->patterns[i]);
  return hash;
}

void wo_pack_version(const struct wo_pack *pack, char version[WO_PACK_VERSION_BYTES]) {
  uint64_t rules = WO__RULE_HASH_START;
  add_name(&rules, WHYOOM_VERSION);
  wo__hash_number(&rules, pack->is_compiled_in ? wo_embedded_hash : pack->files_hash);
  wo__hash_number(&rules, pack->user_files_hash);
  snprintf(version, WO_PACK_VERSION_BYTES, "%016" PRIx64 "-%016" PRIx64, hash_patterns(pack), rules);
}
