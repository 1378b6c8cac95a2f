/* SPDX-License-Identifier: Apache-2.0 */
/* The table of readers: every row can be called as the scanner calls it, and every name in the packs leads to one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/formats/formats.h"
#include "tests/support/job/scan_sample.h"

static void test_names(void **state) {
  (void)state;
  assert_true(wo_formats.count > 0);
  for (size_t i = 0; i < wo_formats.count; i++) {
    assert_non_null(wo_formats.items[i]);
    const struct wo_view name = wo_view_of(wo_formats.items[i]->name);
    assert_true(name.len > 0);
    for (size_t at = 0; at < name.len; at++) {
      if (!wo_is_word(name.ptr[at]) && name.ptr[at] != '-') fail_msg("%s is no name", wo_formats.items[i]->name);
    }
    for (size_t j = 0; j < i; j++) {
      if (wo_view_is(name, wo_formats.items[j]->name)) fail_msg("%s stands there twice", wo_formats.items[i]->name);
      assert_ptr_not_equal(wo_formats.items[i], wo_formats.items[j]);
    }
  }
}

static void test_find(void **state) {
  (void)state;
  for (size_t i = 0; i < wo_formats.count; i++) {
    char longer[64];
    const struct wo_view name = wo_view_of(wo_formats.items[i]->name);
    assert_ptr_equal(wo_format_find(&wo_formats, name), wo_formats.items[i]);
    assert_null(wo_format_find(&wo_formats, wo_view_skip(name, 1)));
    snprintf(longer, sizeof longer, "%s ", wo_formats.items[i]->name);
    assert_null(wo_format_find(&wo_formats, wo_view_of(longer)));
    assert_ptr_equal(wo_format_find(&wo_formats, (struct wo_view){longer, name.len}), wo_formats.items[i]);
  }
  assert_null(wo_format_find(&wo_formats, (struct wo_view){0}));
  assert_null(wo_format_find(&wo_formats, WO_VIEW("no-such-reader")));
  assert_null(wo_format_find(&wo_formats, WO_VIEW("aftermath")));
}

/* What asks for more lines can take them: the scanner asserts it at each sample. */
static void test_functions(void **state) {
  const struct sample_patterns *const patterns = *state;
  struct wo_pack *pack = NULL;
  struct wo_err err;
  for (size_t i = 0; i < wo_formats.count; i++) {
    const struct wo_format *const format = wo_formats.items[i];
    assert_true(format->begin != NULL);
    if (format->finish != NULL && format->feed == NULL) fail_msg("%s: finishes what it cannot go on with", format->name);
  }
  assert_int_equal(wo_pack_load_all(NULL, WO_LOAD_ALL, &pack, &err), WO_OK);
  for (size_t i = 0; i < pack->sample_count; i++) {
    for (size_t j = 0; j < pack->samples[i].match_count; j++) {
      struct wo_event_store store;
      sample_scan(patterns->set, pack->samples[i].match[j], CHUNK_WHOLE, &store);
      wo_event_store_done(&store);
    }
  }
  wo_pack_free(pack);
}

static void test_readers_of_the_packs(void **state) {
  const struct sample_patterns *const patterns = *state;
  for (size_t i = 0; i < patterns->pack->pattern_count; i++) {
    const struct wo_pattern *const pattern = &patterns->pack->patterns[i];
    if (pattern->reader.len == 0 || wo_format_find(&wo_formats, pattern->reader) != NULL) continue;
    fail_msg("%.*s: no reader %.*s", (int)pattern->id.len, pattern->id.ptr, (int)pattern->reader.len, pattern->reader.ptr);
  }
}

static void test_every_reader_is_used(void **state) {
  const struct sample_patterns *const patterns = *state;
  for (size_t i = 0; i < wo_formats.count; i++) {
    size_t users = 0;
    for (size_t j = 0; j < patterns->pack->pattern_count; j++) {
      users += wo_view_is(patterns->pack->patterns[j].reader, wo_formats.items[i]->name);
    }
    if (users == 0) fail_msg("%s: no pattern names it", wo_formats.items[i]->name);
  }
}

/* The scanner does not ask readers for lines around failures and at the end, so such patterns name none. */
static void test_readers_see_every_line(void **state) {
  const struct sample_patterns *const patterns = *state;
  for (size_t i = 0; i < patterns->pack->pattern_count; i++) {
    const struct wo_pattern *const pattern = &patterns->pack->patterns[i];
    if (pattern->reader.len > 0) assert_true(pattern->where == WO_WHERE_LINE || pattern->where == WO_WHERE_HEAD);
    if (i >= patterns->pack->own_pattern_count) assert_true(wo_view_is(pattern->reader, "setting") && pattern->argument.len > 0);
  }
}

/* A name that leads nowhere is passed over. */
static void test_unknown_reader(void **state) {
  static const struct wo_view literals[] = {WO_VIEW("ODDMARK")};
  static const struct wo_pattern patterns[] = {
      {.id = WO_VIEW("odd"), .kind = WO_KIND_NOTE, .literals = literals, .literal_count = 1, .reader = WO_VIEW("no-such-reader")},
      {.id = WO_VIEW("plain"), .kind = WO_KIND_HOST_OOM, .literals = literals, .literal_count = 1}};
  struct wo_pattern_set *set = NULL;
  struct wo_event_store store;
  (void)state;
  assert_int_equal(wo_pattern_set_new(patterns, 2, NULL, &set), WO_OK);
  sample_scan_text(set, "one ODDMARK\nanother ODDMARK", &store);
  assert_int_equal(sample_count(&store, WO_KIND_NOTE), 0);
  assert_int_equal(sample_count(&store, WO_KIND_HOST_OOM), 2);
  wo_event_store_done(&store);
  wo_pattern_set_free(set);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_find),
      cmocka_unit_test(test_functions),
      cmocka_unit_test(test_readers_of_the_packs),
      cmocka_unit_test(test_every_reader_is_used),
      cmocka_unit_test(test_readers_see_every_line),
      cmocka_unit_test(test_unknown_reader),
  };
  return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
