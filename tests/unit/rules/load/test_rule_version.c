/* SPDX-License-Identifier: Apache-2.0 */
/* The version of rules: the same for the same rules, however much of them is loaded, and another for any other rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rules/load/rule.h"
#include "tests/support/files.h"

static const char cause[] =
    "{\"cause\": \"own\", \"family\": \"unclear\", \"title\": \"t\", \"when\": \"known(oom.free)\", \"prior\": \"medium\"}";
static const char pattern[] =
    "{\"pattern\": \"own-line\", \"kind\": \"program_error\", \"literals\": [\"no such line in any log\"], "
    "\"regex\": \"no such line\", \"since\": \"us\", \"samples\": []}";

struct version {
  char text[WO_PACK_VERSION_BYTES];
};

static struct version version_of(const char *folder, enum wo_load_depth depth) {
  struct wo_pack *pack = NULL;
  struct wo_err err = {0};
  if (wo_pack_load_all(folder, depth, &pack, &err) != WO_OK) fail_msg("%s:%d: %s", err.file, (int)err.line, err.message);
  struct version version;
  wo_pack_version(pack, version.text);
  wo_pack_free(pack);
  assert_int_equal(strlen(version.text), 33);
  assert_int_equal(version.text[16], '-');
  return version;
}

/* The version of the built-in rules together with some of the user's: name and text of each file, NULL at the end. */
static struct version version_with(const char *const *files) {
  char folder[400], path[500];
  assert_true(wo_files_scratch(folder, sizeof folder));
  for (size_t i = 0; files[i]; i += 2) {
    snprintf(path, sizeof path, "%s/%s", folder, files[i]);
    assert_true(wo_files_write(path, wo_view_of(files[i + 1])));
  }
  const struct version version = version_of(folder, WO_LOAD_FOR_DIAGNOSIS);
  wo_files_remove_scratch(folder);
  return version;
}

static bool is_same_evidence(const struct version *a, const struct version *b) {
  return memcmp(a->text, b->text, 16) == 0;
}

static bool is_same_rest(const struct version *a, const struct version *b) {
  return strcmp(a->text + 16, b->text + 16) == 0;
}

static void test_every_depth_is_the_same(void **state) {
  (void)state;
  const struct version one = version_of(NULL, WO_LOAD_FOR_ONE_JOB), all = version_of(NULL, WO_LOAD_ALL);
  const struct version diagnosis = version_of(NULL, WO_LOAD_FOR_DIAGNOSIS);
  assert_string_equal(one.text, all.text);
  assert_string_equal(one.text, diagnosis.text);
}

static void test_rules_of_the_user(void **state) {
  (void)state;
  const struct version none = version_of(NULL, WO_LOAD_FOR_DIAGNOSIS);
  const struct version with_cause = version_with((const char *const[]){"a.json", cause, NULL});
  assert_true(is_same_evidence(&none, &with_cause));
  assert_false(is_same_rest(&none, &with_cause));
  const struct version again = version_with((const char *const[]){"b.json", cause, NULL});
  assert_string_equal(with_cause.text, again.text);
  const struct version with_pattern = version_with((const char *const[]){"a.json", pattern, NULL});
  assert_false(is_same_evidence(&none, &with_pattern));
  const struct version both = version_with((const char *const[]){"a.json", pattern, "b.json", cause, NULL});
  assert_true(is_same_evidence(&with_pattern, &both));
  assert_false(is_same_rest(&with_pattern, &both));
  const struct version off =
      version_with((const char *const[]){"a.json", "{\"off\": \"batch-not-shown\", \"why\": \"a test\"}", NULL});
  assert_false(is_same_rest(&none, &off));
}

/* All literals, expressions and names of a pattern are looked at. */
static void test_every_part_of_a_pattern_counts(void **state) {
  (void)state;
  static const char *const others[][2] = {{"own-line", "own-other"},
                                          {"program_error", "note"},
                                          {"any log", "any file"},
                                          {"\"no such line\"", "\"no such (?i)line\""},
                                          {"\"since\"", "\"unless\": \"xyz\", \"since\""},
                                          {"\"since\"", "\"mark\": \"harmless\", \"since\""}};
  const struct version first = version_with((const char *const[]){"a.json", pattern, NULL});
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    char text[600];
    const char *const at = strstr(pattern, others[i][0]);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - pattern), pattern, others[i][1], at + strlen(others[i][0]));
    const struct version other = version_with((const char *const[]){"a.json", text, NULL});
    assert_false(is_same_evidence(&first, &other));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_depth_is_the_same),
      cmocka_unit_test(test_rules_of_the_user),
      cmocka_unit_test(test_every_part_of_a_pattern_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
