/* SPDX-License-Identifier: Apache-2.0 */
/* The arena: zeroed, aligned, separate pieces; a hard cap; failures that are remembered. */
#include "parsers/base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/failing_alloc.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#endif

enum { CAP_BYTES = 8 * 1024 * 1024 };

static bool is_zero(const char *ptr, size_t len) {
  for (size_t i = 0; i < len; i++) {
    if (ptr[i] != 0) return false;
  }
  return true;
}

/* Many sizes, each filled with its own byte; none may change another. */
static void pieces_are_zeroed_aligned_and_separate(void **state) {
  (void)state;
  struct wo_arena arena;
  wo_arena_init(&arena, CAP_BYTES);
  enum { COUNT = 600 };
  static char *pieces[COUNT];
  for (size_t i = 0; i < COUNT; i++) {
    const size_t size = i * 13 % 4001;
    pieces[i] = wo_arena_alloc(&arena, size);
    assert_non_null(pieces[i]);
    assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
    assert_true(is_zero(pieces[i], size));
    memset(pieces[i], (int)(i & 0xff), size);
  }
  for (size_t i = 0; i < COUNT; i++) {
    for (size_t k = 0; k < i * 13 % 4001; k++) assert_int_equal((unsigned char)pieces[i][k], i & 0xff);
  }
  assert_false(wo_arena_is_exhausted(&arena));
  wo_arena_done(&arena);
}

static void large_pieces_have_their_own_block(void **state) {
  (void)state;
  struct wo_arena arena;
  wo_arena_init(&arena, CAP_BYTES);
  char *const small = wo_arena_alloc(&arena, 64);
  char *const large = wo_arena_alloc(&arena, 3000000);
  char *const next = wo_arena_alloc(&arena, 64);
  assert_true(small != NULL && large != NULL && next != NULL);
  memset(large, 1, 3000000);
  assert_true(is_zero(next, 64));
  /* The small ones share a block, although a large one came between them. */
  assert_true(next > small && next - small < 1024);
  wo_arena_done(&arena);
}

static void cap_is_hard(void **state) {
  (void)state;
  struct wo_arena arena;
  wo_arena_init(&arena, 1024);
  assert_null(wo_arena_alloc(&arena, 1025));
  assert_true(wo_arena_is_exhausted(&arena));
  size_t count = 0;
  while (wo_arena_alloc(&arena, 100) != NULL) count++;
  assert_true(count >= 9 && count <= 10);
  assert_true(arena.used_bytes <= 1024);
  while (wo_arena_alloc(&arena, 0) != NULL) assert_true(arena.used_bytes <= 1024);
  wo_arena_done(&arena);
  assert_false(wo_arena_is_exhausted(&arena));
  assert_non_null(wo_arena_alloc(&arena, 1024));
  wo_arena_done(&arena);
}

static void sizes_that_overflow(void **state) {
  (void)state;
  struct wo_arena arena;
  wo_arena_init(&arena, SIZE_MAX);
  assert_null(wo_arena_alloc(&arena, SIZE_MAX));
  assert_null(wo_arena_alloc(&arena, SIZE_MAX - 8));
  assert_null(wo_arena_array(&arena, SIZE_MAX / 2, 3));
  assert_true(wo_arena_is_exhausted(&arena));
  assert_non_null(wo_arena_array(&arena, 10, 3));
  assert_non_null(wo_arena_array(&arena, 0, 3));
  wo_arena_done(&arena);
  wo_arena_init(&arena, 0);
  assert_null(wo_arena_alloc(&arena, 0));
}

static void copies_end_with_nul(void **state) {
  (void)state;
  struct wo_arena arena;
  wo_arena_init(&arena, CAP_BYTES);
  const struct wo_view copy = wo_arena_copy(&arena, WO_VIEW("a\0b"));
  assert_int_equal(copy.len, 3);
  assert_memory_equal(copy.ptr, "a\0b", 4);
  const struct wo_view empty = wo_arena_copy(&arena, (struct wo_view){NULL, 0});
  assert_true(empty.ptr != NULL && empty.len == 0 && empty.ptr[0] == '\0');
  wo_arena_done(&arena);
}

static void joins_parts(void **state) {
  (void)state;
  struct wo_arena arena;
  wo_arena_init(&arena, CAP_BYTES);
  const struct wo_view parts[] = {WO_VIEW("ran"), {NULL, 0}, WO_VIEW("k\0"), WO_VIEW("7")};
  const struct wo_view joined = wo_arena_join(&arena, parts, 4);
  assert_int_equal(joined.len, 6);
  assert_memory_equal(joined.ptr,
                      "rank\0"
                      "7",
                      7);
  const struct wo_view empty = wo_arena_join(&arena, NULL, 0);
  assert_true(empty.ptr != NULL && empty.len == 0 && empty.ptr[0] == '\0');
  const struct wo_view huge[] = {{"", SIZE_MAX - 1}, {"", 2}};
  assert_null(wo_arena_join(&arena, huge, 2).ptr);
  assert_true(wo_arena_is_exhausted(&arena));
  assert_null(wo_arena_join(&arena, huge, 1).ptr);
  wo_arena_done(&arena);
}

static void formats(void **state) {
  (void)state;
  struct wo_arena arena;
  wo_arena_init(&arena, 4096);
  const struct wo_view text = wo_arena_format(&arena, "%s has %d", "rank", 7);
  assert_true(wo_view_is(text, "rank has 7"));
  assert_int_equal(text.ptr[text.len], '\0');
  assert_int_equal(wo_arena_format(&arena, "%s", "").len, 0);
  assert_int_equal(wo_arena_format(&arena, "%02000d", 1).len, 2000);
  const struct wo_view failed = wo_arena_format(&arena, "%09000d", 1);
  assert_true(failed.ptr == NULL && failed.len == 0 && wo_arena_is_exhausted(&arena));
  const struct wo_view no_copy = wo_arena_copy(&arena, (struct wo_view){text.ptr, 5000});
  assert_true(no_copy.ptr == NULL && no_copy.len == 0);
  wo_arena_done(&arena);
}

static void done_accepts_anything(void **state) {
  (void)state;
  struct wo_arena arena;
  wo_arena_done(NULL);
  wo_arena_init(&arena, 10);
  wo_arena_done(&arena);
  wo_arena_done(&arena);
}

/* Each block's allocation fails once; the arena says so and works on afterwards. */
static void out_of_memory_is_remembered(void **state) {
  (void)state;
  for (long n = 1; n <= 3; n++) {
    struct wo_arena arena;
    wo_arena_init(&arena, CAP_BYTES);
    wo_fail_alloc_at(n);
    size_t failures = 0;
    for (size_t i = 0; i < 60; i++) failures += wo_arena_alloc(&arena, 3500) == NULL;
    wo_fail_alloc_off();
    assert_true(wo_fail_alloc_hit());
    assert_int_equal(failures, 1);
    assert_true(wo_arena_is_exhausted(&arena));
    assert_non_null(wo_arena_alloc(&arena, 3500));
    wo_arena_done(&arena);
  }
}

static void red_zones_are_poisoned(void **state) {
  (void)state;
#ifdef HAS_ASAN
  struct wo_arena arena;
  wo_arena_init(&arena, CAP_BYTES);
  char *const a = wo_arena_alloc(&arena, 13);
  char *const b = wo_arena_alloc(&arena, 32);
  assert_false(__asan_address_is_poisoned(a + 12));
  assert_true(__asan_address_is_poisoned(a + 13));
  assert_true(__asan_address_is_poisoned(b - 1));
  assert_true(__asan_address_is_poisoned(b + 32));
  wo_arena_done(&arena);
#else
  skip();
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pieces_are_zeroed_aligned_and_separate),
      cmocka_unit_test(large_pieces_have_their_own_block),
      cmocka_unit_test(cap_is_hard),
      cmocka_unit_test(sizes_that_overflow),
      cmocka_unit_test(copies_end_with_nul),
      cmocka_unit_test(joins_parts),
      cmocka_unit_test(formats),
      cmocka_unit_test(done_accepts_anything),
      cmocka_unit_test(out_of_memory_is_remembered),
      cmocka_unit_test(red_zones_are_poisoned),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
