/* SPDX-License-Identifier: Apache-2.0 */
/* Settings strings of the caching allocator: what each version reads, what it refuses and how that is told, and the way back. */
#include "cuda_replay/recording/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

struct row {
  uint16_t torch;
  const char *text;
  enum wo_status status;
  const char *expected; /* how it is shown again, or what the message has */
};

static const struct row rows[] = {
    {206, "", WO_OK, ""},
    {206, " ", WO_OK, ""},
    {206, "expandable_segments:True", WO_OK, "expandable_segments:True"},
    {206, "expandable_segments:True,", WO_OK, "expandable_segments:True"},
    {206, " expandable_segments : True , max_split_size_mb : 128 ", WO_OK, "expandable_segments:True,max_split_size_mb:128"},
    {206, "expandable_segments:False", WO_OK, ""},
    {206, "max_split_size_mb:512MB", WO_OK, "max_split_size_mb:512"},
    {206, "garbage_collection_threshold:0.8", WO_OK, "garbage_collection_threshold:0.8"},
    {206, "roundup_power2_divisions:4", WO_OK, "roundup_power2_divisions:4"},
    {206, "max_non_split_rounding_mb:64", WO_OK, "max_non_split_rounding_mb:64"},
    {206, "backend:native", WO_OK, ""},
    {206, "backend:cudaMallocAsync", WO_OK, "backend:cudaMallocAsync"},
    {206, "release_lock_on_cudamalloc:True,pinned_use_cuda_host_register:True,pinned_num_register_threads:8", WO_OK, ""},
    {212, "throw_on_cudamalloc_oom:True", WO_OK, "throw_on_cudamalloc_oom:True"},
    {210, "per_process_memory_fraction:0.333333333333", WO_OK, "per_process_memory_fraction:0.333333333333"},
    {211, "large_segment_size_mb:64", WO_OK, "large_segment_size_mb:64"},
    {211, "max_split_size_mb:64,large_segment_size_mb:64", WO_OK, "max_split_size_mb:64,large_segment_size_mb:64"},
    {210, "max_split_size_mb:20", WO_OK, "max_split_size_mb:20"},
    {206, "max_split_size_mb:-1", WO_OK, "max_split_size_mb:-1"},
    /* What is refused. */
    {206, "expandable_segments:true", WO_E_SYNTAX, "True or False"},
    {206, "expandable_segments", WO_E_SYNTAX, "a colon"},
    {206, "expandable_segment:True", WO_E_UNKNOWN, "did you mean expandable_segments?"},
    {206, "Max_Split_Size_MB:100", WO_E_UNKNOWN, "did you mean max_split_size_mb?"},
    {206, "colour:blue", WO_E_UNKNOWN, "no such setting"},
    {206, ",", WO_E_UNKNOWN, "no such setting"},
    {200, "expandable_segments:True", WO_E_UNKNOWN, "since torch 2.1; torch 2.0 refuses it"},
    {205, "max_non_split_rounding_mb:64", WO_E_UNKNOWN, "since torch 2.6"},
    {210, "large_segment_size_mb:64", WO_E_UNKNOWN, "since torch 2.11"},
    {113, "roundup_power2_divisions:[1:2]", WO_E_SYNTAX, "since torch 2.0"},
    {209, "max_split_size_mb:20", WO_E_RANGE, "more than 20"},
    {210, "max_split_size_mb:19", WO_E_RANGE, "at least 20"},
    {211, "max_split_size_mb:63,large_segment_size_mb:64", WO_E_RANGE, "at least 64"},
    {206, "max_split_size_mb:4294967296", WO_E_RANGE, "2^31"},
    {206, "max_split_size_mb:-x", WO_E_SYNTAX, "a whole number"},
    {206, "pinned_num_register_threads:-8", WO_E_SYNTAX, "a whole number"},
    {201, "pinned_num_register_threads:8", WO_E_UNKNOWN, "since torch 2.2"},
    {206, "max_split_size_mb:", WO_E_SYNTAX, "a whole number"},
    {206, "garbage_collection_threshold:1.0", WO_E_RANGE, "below 1"},
    {206, "garbage_collection_threshold:0", WO_E_RANGE, "above 0"},
    {206, "garbage_collection_threshold:much", WO_E_SYNTAX, "a number"},
    {206, "roundup_power2_divisions:3", WO_E_RANGE, "a power of two"},
    {206, "roundup_power2_divisions:0", WO_E_RANGE, "a power of two"},
    {206, "roundup_power2_divisions:[3:4]", WO_E_RANGE, "powers of two"},
    {206, "roundup_power2_divisions:[4:3]", WO_E_RANGE, "powers of two"},
    {206, "roundup_power2_divisions:[4:4", WO_E_SYNTAX, "ends with ]"},
    {206, "roundup_power2_divisions:[4]", WO_E_SYNTAX, "pairs"},
    {206, "roundup_power2_divisions:[x:4]", WO_E_SYNTAX, "sizes"},
    {206, "backend:mine", WO_E_SYNTAX, "native or cudaMallocAsync"},
    {206, "pinned_num_register_threads:3", WO_E_RANGE, "a power of two"},
    {206, "pinned_num_register_threads:256", WO_E_RANGE, "up to 128"},
    {211, "per_process_memory_fraction:1.5", WO_E_RANGE, "from 0 to 1"},
    {211, "large_segment_size_mb:10", WO_E_RANGE, "more than 10"},
};

static void reads_and_shows(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct row *const row = &rows[i];
    struct wo_alloc_settings settings = wo_alloc_settings_default(row->torch);
    const struct wo_alloc_settings before = settings;
    struct wo_err err = {0};
    const enum wo_status status = wo_alloc_settings_parse(wo_view_of(row->text), row->torch, &settings, &err);
    if (status != row->status) fail_msg("%s: %s (%s)", row->text, wo_status_text(status), err.message);
    struct wo_text shown = {0};
    if (status == WO_OK) {
      wo_alloc_settings_show(&settings, row->torch, &shown);
      const struct wo_view view = {shown.ptr, shown.len};
      if (!wo_view_is(view, row->expected)) fail_msg("%s: shown as %.*s", row->text, (int)view.len, view.ptr);
    } else {
      if (strstr(err.message, row->expected) == NULL) fail_msg("%s: %s", row->text, err.message);
      assert_memory_equal(&before, &settings, sizeof before);
    }
    wo_text_done(&shown);
  }
}

/* Pitfall 11: a later string resets some settings and keeps others. */
static void later_strings(void **state) {
  (void)state;
  struct wo_alloc_settings settings = wo_alloc_settings_default(211);
  const struct wo_view first = WO_VIEW("max_split_size_mb:100,garbage_collection_threshold:0.5,roundup_power2_divisions:8,"
                                       "expandable_segments:True,large_segment_size_mb:64,max_non_split_rounding_mb:70");
  assert_int_equal(wo_alloc_settings_parse(first, 211, &settings, NULL), WO_OK);
  assert_int_equal(settings.max_non_split_rounding_bytes, 70 * MIB);
  assert_int_equal(wo_alloc_settings_parse(WO_VIEW(""), 211, &settings, NULL), WO_OK);
  assert_true(settings.max_split_bytes == WO_SPLIT_UNLIMITED);
  assert_true(settings.garbage_collection_threshold == 0);
  assert_int_equal(settings.roundup_divisions[0], 0);
  assert_true(settings.expandable_segments);
  assert_int_equal(settings.large_segment_bytes, 64 * MIB);
  assert_int_equal(settings.max_non_split_rounding_bytes, 64 * MIB);
  assert_int_equal(wo_alloc_settings_parse(WO_VIEW("max_split_size_mb:22"), 211, &settings, NULL), WO_E_RANGE);
}

/* The whole of a list, and what the rest means before and after 2.10. */
static void lists(void **state) {
  (void)state;
  for (uint16_t torch = 209; torch <= 210; torch++) {
    struct wo_alloc_settings settings = wo_alloc_settings_default(torch);
    assert_int_equal(wo_alloc_settings_parse(WO_VIEW("roundup_power2_divisions:[4:2,16:4,65536:8,>:1]"), torch, &settings, NULL),
                     WO_OK);
    static const uint32_t expected[WO_ROUNDUP_SLOTS] = {2, 2, 2, 0, 4};
    for (int i = 0; i < WO_ROUNDUP_SLOTS - 1; i++) assert_int_equal(settings.roundup_divisions[i], expected[i]);
    assert_int_equal(settings.roundup_divisions[WO_ROUNDUP_SLOTS - 1], torch == 209 ? 1 : 8);
  }
}

static void long_and_strange_strings(void **state) {
  (void)state;
  static char text[4096];
  struct wo_alloc_settings settings = wo_alloc_settings_default(206);
  struct wo_err err = {0};
  memset(text, 'a', sizeof text);
  assert_int_equal(wo_alloc_settings_parse((struct wo_view){text, sizeof text}, 206, &settings, &err), WO_E_RANGE);
  memset(text, ' ', sizeof text);
  assert_int_equal(wo_alloc_settings_parse((struct wo_view){text, sizeof text}, 206, &settings, &err), WO_OK);
  memset(text, ',', 1000);
  assert_int_equal(wo_alloc_settings_parse((struct wo_view){text, 1000}, 206, &settings, &err), WO_E_UNKNOWN);
  memset(text, '[', 1000);
  assert_int_equal(wo_alloc_settings_parse((struct wo_view){text, 1000}, 206, &settings, NULL), WO_E_UNKNOWN);
  assert_int_equal(wo_alloc_settings_parse((struct wo_view){NULL, 0}, 206, &settings, NULL), WO_OK);
}

static void versions(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint16_t torch; /* 0: no version */
  } table[] = {{"2.6", 206},   {"2.6.0+cu124", 206}, {"1.13.1", 113}, {"2.11.0", 211}, {"2.10.0a0+git1234", 210},
               {"2.9a0", 209}, {"2.12+rocm", 212},   {"2", 0},        {"", 0},         {"x.y", 0},
               {"2.", 0},      {"2.6 ", 0},          {"-1.2", 0},     {"100.1", 0}};
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    uint16_t torch = 0;
    const bool is_version = wo_torch_version_parse(wo_view_of(table[i].text), &torch);
    if (is_version != (table[i].torch != 0) || torch != table[i].torch) fail_msg("%s: %u", table[i].text, torch);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_and_shows),          cmocka_unit_test(later_strings), cmocka_unit_test(lists),
      cmocka_unit_test(long_and_strange_strings), cmocka_unit_test(versions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
