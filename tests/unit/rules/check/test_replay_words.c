/* SPDX-License-Identifier: Apache-2.0 */
/* The lint's list of what replays_as may say (rules/check/replay_words.def) against the options that a replay takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_replay/recording/settings.h"
#include "cuda_replay/verify/verify.h"

static const char *const words[] = {
#define WO_REPLAY_WORD(text) text,
#include "rules/check/replay_words.def"
#undef WO_REPLAY_WORD
};

enum { WORDS = sizeof words / sizeof words[0] };

/* A value that a word takes. */
static const char *value_of(const char *word) {
  if (strncmp(word, "scale=", 6) == 0) return "8:4";
  if (strstr(word, "expandable")) return "True";
  if (strstr(word, "threshold")) return "0.8";
  if (strncmp(word, "set=", 4) == 0) return "64";
  return strstr(word, "shard") || strstr(word, "accumulate") ? "=8" : "";
}

static void test_words_are_read(void **state) {
  (void)state;
  for (size_t i = 0; i < WORDS; i++) {
    char text[128];
    struct wo_change change;
    struct wo_err err = {0};
    snprintf(text, sizeof text, "%s%s", words[i], value_of(words[i]));
    const struct wo_proposed_change proposed = wo_proposed_change_read(wo_view_of(text)), *const all[] = {&proposed};
    if (wo_verify_join_changes(all, 1, &change, &err) != WO_OK) fail_msg("%s: %s", text, err.message);
    if (change.set_count == 0) continue;
    struct wo_alloc_settings settings = wo_alloc_settings_default(WO_TORCH_DEFAULT);
    if (wo_alloc_settings_parse(change.sets[0], WO_TORCH_DEFAULT, &settings, &err) != WO_OK)
      fail_msg("%s: %s", text, err.message);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_words_are_read)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
