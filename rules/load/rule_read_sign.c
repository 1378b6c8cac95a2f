/* SPDX-License-Identifier: Apache-2.0 */
/* Signs of what a program does and where it runs: their keys, and where each goes; and the sets of kinds that fixes are meant
 * for. */
#include <string.h>

#include "rules/load/rule_read_internal.h"

#define COUNT_OF(table) (sizeof(table) / sizeof(table)[0])

static const struct wo_rule_word kind_names[] = {
#define KIND_NAME(code, name, meaning) {name, code},
    WO_PROGRAM_MAP(KIND_NAME)
#undef KIND_NAME
};
static const struct wo_rule_words kinds = {"kind of program", kind_names, COUNT_OF(kind_names)};

const char *wo_program_kind_name(enum wo_program_kind kind) {
  for (size_t i = 0; i < COUNT_OF(kind_names); i++) {
    if (kind_names[i].value == (int)kind) return kind_names[i].text;
  }
  return "unknown";
}

/* ---- sets of kinds ------------------------------------------------------------------------------------------------------ */

static bool add_kind(struct wo_loader *loader, const struct wo_tree *word, unsigned *set) {
  const char *const text = wo__load_string(loader, word);
  if (text == NULL) return false;
  if (strcmp(text, "any") == 0) {
    *set = WO_PROGRAM_ANY;
    return true;
  }
  int kind = WO_PROGRAM_UNKNOWN;
  const struct wo_member as_word = {.key = "kind", .how = &kinds};
  if (strcmp(text, "unknown") != 0 && !wo__load_word(loader, word, &as_word, &kind)) return false;
  *set |= WO_PROGRAM_BIT(kind);
  return true;
}

bool wo__load_program_kinds(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  unsigned *const set = (unsigned *)(void *)((char *)target + member->offset);
  if (!wo_tree_is(value, WO_TREE_ARRAY)) return wo__load_fail(loader, value, WO_RULE_VALUE, WO_E_TYPE, "expected an array");
  bool is_fine = true;
  for (const struct wo_tree *child = wo_tree_child(value); child != NULL && !loader->is_stopped; child = wo_tree_next(child))
    is_fine &= add_kind(loader, child, set);
  return is_fine;
}

/* ---- signs -------------------------------------------------------------------------------------------------------------- */

#define TEXTS(name, field, count) .key = name, .read = wo__load_exacts, WO_ARRAY_AT(wo_sign, field, count)

static const struct wo_member sign_members[] = {
    {.key = "sign", .read = wo__load_skip},
    {.key = "kind", .read = wo__load_word, WO_AT(wo_sign, kind), .how = &kinds},
    {.key = "name", .read = wo__load_text, WO_AT(wo_sign, name)},
    {.key = "platform", .read = wo__load_text, WO_AT(wo_sign, platform)},
    {.key = "vendor", .read = wo__load_text, WO_AT(wo_sign, vendor)},
    {.key = "manager", .read = wo__load_text, WO_AT(wo_sign, manager)},
    {.key = "weight", .read = wo__load_weight, WO_AT(wo_sign, weight), .is_needed = true},
    {TEXTS("frames", frames, frame_count)},
    {TEXTS("files", files, file_count)},
    {TEXTS("scripts", scripts, script_count)},
    {TEXTS("patterns", patterns, pattern_count)},
    {TEXTS("knobs", knobs, knob_count)},
    {TEXTS("progress", progress, progress_count)},
    {TEXTS("evidence", kinds, kind_count)},
};

/* The lint checks that it shows something, and by something. */
bool wo__load_sign(struct wo_loader *loader, const struct wo_tree *object, void *rule) {
  return wo__load_members(loader, object, sign_members, COUNT_OF(sign_members), rule);
}
