/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by commands: loading rules, the error for lack of memory. */
#include "analyzer/command/commands.h"

#include <unistd.h>

/* Counts the mistakes of a load, and reports the first. */
struct mistakes {
  struct wo_text *errors;
  size_t count;
};

static void note_mistake(void *context, const struct wo_err *mistake) {
  struct mistakes *const mistakes = context;
  const bool is_note = mistakes->count > 0 && mistake->file[0] == '\0'; /* that the rest was not read */
  if (mistakes->count == 0) wo_message_error(mistakes->errors, (struct wo_view){0}, mistake);
  if (!is_note) mistakes->count++;
}

struct wo_pack *wo_command_load(const struct wo_call *call, enum wo_load_depth depth) {
  struct wo_pack *pack = NULL;
  struct mistakes mistakes = {.errors = call->errors};
  const struct wo_load_notes notes = {.fn = note_mistake, .context = &mistakes};
  if (wo_pack_load_all_noting(call->rules_dir.ptr, depth, notes, &pack) == WO_OK) return pack;
  if (mistakes.count > 1)
    wo_message(call->errors, call->rules_dir, "%zu more mistake%s: `whyoom rules check` on this folder shows them",
               mistakes.count - 1, mistakes.count == 2 ? "" : "s");
  return NULL;
}

void wo_command_add_place(struct wo_text *out, struct wo_rule_place place) {
  wo_text_add_clean(out, place.file);
  wo_text_add(out, ":%llu", (unsigned long long)place.line);
}

void wo_command_offer_rules(const struct wo_pack *pack, struct wo_nearest *nearest) {
  for (size_t i = 0; i < pack->cause_count; i++) wo_nearest_offer(nearest, pack->causes[i].id);
  for (size_t i = 0; i < pack->fix_count; i++) wo_nearest_offer(nearest, pack->fixes[i].id);
  for (size_t i = 0; i < pack->knob_count; i++) wo_nearest_offer(nearest, pack->knobs[i].id);
}

/* Names of commands are letters only; logs have endings. */
static bool is_like_command(struct wo_view word) {
  size_t letters = 0;
  while (letters < word.len && (wo_is_alpha(word.ptr[letters]) || word.ptr[letters] == '-')) letters++;
  return word.len > 0 && letters == word.len && wo_is_alpha(word.ptr[0]);
}

bool wo_command_is_meant(const struct wo_call *call) {
  const struct wo_view word = wo_view_of(call->word_count > 0 ? call->words[0] : NULL);
  struct wo_nearest nearest = {.want = word};
  if (!is_like_command(word) || access(word.ptr, F_OK) == 0) return false;
  for (size_t i = 0; i < call->commands.count; i++) wo_nearest_offer(&nearest, wo_view_of(call->commands.items[i].command->name));
  const struct wo_view near = wo_nearest_best(&nearest);
  if (near.len == 0 && call->word_count > 1) return false;
  if (near.len > 0)
    wo_message(call->errors, word, "is no file and no command: did you mean `whyoom %.*s`?", WO_SHOWN(near));
  else
    wo_message(call->errors, word, "is no file and no command (`whyoom --help` lists the commands)");
  return true;
}

enum wo_exit wo_command_fail_memory(const struct wo_call *call) {
  wo_message(call->errors, (struct wo_view){0}, "out of memory");
  return WO_EXIT_ERROR;
}
