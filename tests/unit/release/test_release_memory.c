/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of memory of the static program (packaging/release/memory.c) against those of the system: every length up to
 * several strides, at every place of a block, in front of a page that must not be touched, and every overlap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __SSE2__

#define memmove static_memmove
#define memcpy static_memcpy
#define memchr static_memchr
#define memcmp static_memcmp
#define strlen static_strlen
#include "packaging/release/memory.c"
#undef memmove
#undef memcpy
#undef memchr
#undef memcmp
#undef strlen

enum { LONGEST = 300, AROUND = 24, ROOM = 2 * LONGEST + 2 * AROUND };

/* `len` bytes that end where a page without rights begins. */
static unsigned char *before_an_edge(size_t len) {
  static unsigned char *pages;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (!pages) pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) != 0) abort();
  return pages + page - len;
}

/* `len` bytes that begin where a page without rights ends. */
static unsigned char *behind_an_edge(void) {
  static unsigned char *pages;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (!pages) pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages, page, PROT_NONE) != 0) abort();
  return pages + page;
}

static void fill(unsigned char *bytes, size_t len, unsigned seed) {
  for (size_t i = 0; i < len; i++) bytes[i] = (unsigned char)(seed + i * 7 + i / 5);
}

static void test_move(void **state) {
  static unsigned char mine[ROOM], theirs[ROOM];
  (void)state;
  for (size_t len = 0; len <= LONGEST; len++) {
    for (size_t from = 0; from < AROUND; from++) {
      for (size_t to = 0; to < AROUND + len && to<ROOM - len; to += to> AROUND && to < len ? 7 : 1) {
        fill(mine, ROOM, (unsigned)len);
        memcpy(theirs, mine, ROOM);
        assert_ptr_equal(static_memmove(mine + to, mine + from, len), mine + to);
        memmove(theirs + to, theirs + from, len);
        if (memcmp(mine, theirs, ROOM) != 0) fail_msg("memmove of %zu bytes from %zu to %zu", len, from, to);
        /* The other way. */
        static_memmove(mine + from, mine + to, len);
        memmove(theirs + from, theirs + to, len);
        if (memcmp(mine, theirs, ROOM) != 0) fail_msg("memmove of %zu bytes from %zu to %zu", len, to, from);
      }
    }
  }
}

static void test_copy_at_edges(void **state) {
  static unsigned char bytes[LONGEST];
  (void)state;
  for (size_t len = 0; len <= LONGEST; len++) {
    unsigned char *const end = before_an_edge(len);
    unsigned char *const begin = behind_an_edge();
    fill(bytes, len, (unsigned)len);
    assert_ptr_equal(static_memcpy(end, bytes, len), end);
    static_memcpy(begin, end, len);
    assert_memory_equal(begin, bytes, len + (len == 0));
    assert_int_equal(static_memcmp(begin, end, len), 0);
  }
}

static void check_search(const unsigned char *bytes, size_t len, int wanted) {
  const void *const mine = static_memchr(bytes, wanted, len);
  const void *const theirs = len > 0 ? memchr(bytes, wanted, len) : NULL;
  if (mine != theirs) fail_msg("memchr of %d in %zu bytes", wanted, len);
}

static void test_search(void **state) {
  (void)state;
  for (size_t len = 0; len <= 100; len++) {
    unsigned char *const places[] = {before_an_edge(len), before_an_edge(len + AROUND), behind_an_edge(), behind_an_edge() + 5};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
      memset(places[i], 1, len);
      check_search(places[i], len, 2);
      for (size_t at = 0; at < len; at++) {
        places[i][at] = 0xE9;
        check_search(places[i], len, 0xE9);
        check_search(places[i], len, 0xE9 - 256);
        check_search(places[i], at, 0xE9); /* it is behind the end */
        check_search(places[i] + at, len - at, 0xE9);
        if (at + 1 < len) check_search(places[i] + at + 1, len - at - 1, 0xE9); /* it is in front of the beginning */
        places[i][at] = 1;
      }
    }
  }
  /* A length beyond all addresses. */
  unsigned char *const end = before_an_edge(3);
  memcpy(end, "abc", 3);
  assert_ptr_equal(static_memchr(end, 'c', SIZE_MAX), end + 2);
  char far[64] = {[40] = 'c'};
  for (size_t more = 0; more < 3; more++) {
    assert_ptr_equal(static_memchr(far, 'c', SIZE_MAX - more), far + 40);
    assert_ptr_equal(static_memchr(far, 'c', (size_t)PTRDIFF_MAX + more), far + 40);
  }
}

static void test_length(void **state) {
  (void)state;
  for (size_t len = 0; len <= LONGEST; len++) {
    char *const end = (char *)before_an_edge(len + 1);
    memset(end, 'a', len);
    end[len] = '\0';
    for (size_t at = 0; at <= len; at++) assert_int_equal(static_strlen(end + at), len - at);
    char *const begin = (char *)behind_an_edge();
    memcpy(begin, end, len + 1);
    assert_int_equal(static_strlen(begin), len);
  }
}

static int sign(int value) {
  return (value > 0) - (value < 0);
}

static void test_compare(void **state) {
  (void)state;
  for (size_t len = 1; len <= 100; len++) {
    unsigned char *const a = before_an_edge(len);
    unsigned char *const b = behind_an_edge() + len % 7;
    memset(a, 0x80, len);
    memset(b, 0x80, len);
    assert_int_equal(static_memcmp(a, b, len), 0);
    for (size_t at = 0; at < len; at++) {
      a[at] = 0x7F;
      if (at + 1 < len) a[at + 1] = 0xFF;
      assert_int_equal(sign(static_memcmp(a, b, len)), -1);
      assert_int_equal(sign(static_memcmp(b, a, len)), 1);
      assert_int_equal(static_memcmp(a, b, at), 0);
      a[at] = 0x80;
      if (at + 1 < len) a[at + 1] = 0x80;
    }
  }
}

#else

static void test_other_machine(void **state) {
  (void)state;
  skip();
}

#endif

int main(void) {
  const struct CMUnitTest tests[] = {
#ifdef __SSE2__
      cmocka_unit_test(test_move),   cmocka_unit_test(test_copy_at_edges), cmocka_unit_test(test_search),
      cmocka_unit_test(test_length), cmocka_unit_test(test_compare),
#else
      cmocka_unit_test(test_other_machine),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
