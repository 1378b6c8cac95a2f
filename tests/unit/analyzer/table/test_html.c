/* The HTML page as a browser takes it: analyzer/table/html_*.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/table/html_internal.h"
#include "parsers/base/limits.h"
#include "tests/support/fleet/fleet_rows.h"
#include "tests/support/xml.h"

/* ---- SHA-256 (FIPS 180-4), for the hashes by which the page allows its style and script ---- */

static uint32_t turn(uint32_t x, int by) {
  return x >> by | x << (32 - by);
}

/* The constants are the first bits of the fractions of roots of primes; they are made here rather than copied. */
static uint32_t fraction_of_root(int prime, bool is_cube) {
  double root = 1.0;
  for (int i = 0; i < 200; i++)
    root = is_cube ? root - (root * root * root - prime) / (3 * root * root) : root - (root * root - prime) / (2 * root);
  /* a double has too few bits behind a large whole part for the last one: it is found by comparing exactly */
  unsigned __int128 whole = (unsigned __int128)(uint64_t)(root * 4294967296.0 - 2);
  for (;; whole++) {
    const unsigned __int128 next = whole + 1;
    if (is_cube ? next * next * next > ((unsigned __int128)prime << 96) : next * next > ((unsigned __int128)prime << 64)) break;
  }
  return (uint32_t)whole;
}

static void compress(uint32_t state[8], const uint32_t constants[64], const unsigned char block[64]) {
  uint32_t w[64], s[8];
  for (int i = 0; i < 16; i++)
    w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
  for (int i = 16; i < 64; i++) {
    const uint32_t a = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3,
                   b = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + a + w[i - 7] + b;
  }
  memcpy(s, state, sizeof s);
  for (int i = 0; i < 64; i++) {
    const uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]), majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    const uint32_t one = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) + choice + constants[i] + w[i];
    const uint32_t two = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) + majority;
    memmove(s + 1, s, 7 * sizeof *s);
    s[4] += one;
    s[0] = one + two;
  }
  for (int i = 0; i < 8; i++) state[i] += s[i];
}

/* Writes "sha256-" and the hash in base 64. */
static void hash_of(const char *text, size_t len, char out[64]) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  uint32_t state[8], constants[64];
  for (int n = 2, count = 0; count < 64; n++) {
    bool is_prime = true;
    for (int d = 2; d * d <= n; d++) is_prime &= n % d != 0;
    if (!is_prime) continue;
    if (count < 8) state[count] = fraction_of_root(n, false);
    constants[count++] = fraction_of_root(n, true);
  }
  const size_t padded = (len + 9 + 63) / 64 * 64;
  unsigned char *const bytes = calloc(padded, 1);
  assert_non_null(bytes);
  memcpy(bytes, text, len);
  bytes[len] = 0x80;
  for (int i = 0; i < 8; i++) bytes[padded - 1 - (size_t)i] = (unsigned char)((uint64_t)len * 8 >> 8 * i);
  for (size_t i = 0; i < padded; i += 64) compress(state, constants, bytes + i);
  free(bytes);
  unsigned char hash[33] = {0};
  for (int i = 0; i < 32; i++) hash[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
  size_t at = (size_t)snprintf(out, 64, "sha256-");
  for (int i = 0; i < 33; i += 3) {
    const uint32_t group = (uint32_t)hash[i] << 16 | (uint32_t)hash[i + 1] << 8 | (i + 2 < 32 ? hash[i + 2] : 0U);
    for (int k = 0; k < 4; k++) out[at++] = i == 30 && k == 3 ? '=' : digits[group >> (18 - 6 * k) & 63];
  }
  out[at] = '\0';
}

static void test_hash_itself(void **state) {
  (void)state;
  char hash[64];
  hash_of("abc", 3, hash);
  assert_string_equal(hash, "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
}

/* ---- The page ---- */

static bool append(void *context, struct wo_text *out) {
  wo_text_add_view(context, (struct wo_view){out->ptr, out->len});
  out->len = 0;
  return true;
}

/* The page of a store, with a NUL, to be released with free. */
static char *page_of(struct wo_store *store) {
  struct wo_arena arena;
  struct wo_fleet fleet;
  struct wo_err err;
  struct wo_text out = {0}, all = {0};
  const struct wo_fleet_options options = {.filter = wo_fleet_all(), .rows = 50};
  const struct wo_table_options table = {.format = WO_TABLE_HTML, .roots = WO_VIEW("<logs>")};
  wo_arena_init(&arena, WO_LIMIT_FLEET_BYTES);
  assert_int_equal(wo_fleet_make(store, &options, &arena, &fleet, &err), WO_OK);
  assert_int_equal(wo_table_write(store, &fleet, &table, &out, append, &all, NULL, &err), WO_OK);
  append(&all, &out);
  wo_text_add_view(&all, (struct wo_view){"", 1});
  wo_text_done(&out);
  wo_arena_done(&arena);
  assert_false(all.is_failed);
  return all.ptr;
}

/* Finds what is between two texts that are each there once. */
static struct wo_view between(const char *page, const char *begin, const char *end) {
  const char *const from = strstr(page, begin);
  assert_non_null(from);
  assert_null(strstr(from + 1, begin));
  const char *const start = from + strlen(begin), *const to = strstr(start, end);
  assert_non_null(to);
  return (struct wo_view){start, (size_t)(to - start)};
}

static struct wo_store *store_of_everything(void) {
  struct wo_store *const store = wo_fleet_store((const char *const[]){NULL});
  for (int i = 0; i < 30; i++) {
    wo_fleet_putf(store,
                  "path=a/%d&<\"'.out job_id=%d name=x user=u<%d> nodes=n1 node=n%d family=not_memory cause=c&%d is_failed=%d "
                  "outcome=success gpu_s=%d end_ns=%d000000000 work=w "
                  "settings=a=%d;b&=<x> fix=f change=a+<b> title=<script>alert(1)</script> evidence=</pre> place=%%s",
                  i, i, i % 3, i % 2, i % 4, i % 2, i * 100, 1700000000 + i * 40000, i % 2);
  }
  return store;
}

/* What the policy of the page lets through is the page's own style and script, as they are in it. */
static void test_policy_has_the_hashes(void **state) {
  (void)state;
  struct wo_store *const store = store_of_everything();
  char *const page = page_of(store);
  char hash[64];
  const struct wo_view style = between(page, "<style>", "</style>"), script = between(page, "<script>", "</script>");
  hash_of(style.ptr, style.len, hash);
  assert_string_equal(wo__html_style_hash, hash);
  assert_non_null(strstr(page, hash));
  hash_of(script.ptr, script.len, hash);
  assert_string_equal(wo__html_script_hash, hash);
  assert_non_null(strstr(page, hash));
  const struct wo_view policy = between(page, "http-equiv=\"Content-Security-Policy\" content=\"", "\"");
  assert_true(wo_view_starts(policy, "default-src 'none'; "));
  assert_false(wo_view_has(policy, "unsafe"));
  free(page);
  wo_store_close(store);
}

/* Nothing is fetched, and nothing runs but the script. */
static void test_page_needs_nothing(void **state) {
  (void)state;
  struct wo_store *const store = store_of_everything();
  char *const page = page_of(store);
  static const char *const refused[] = {"http://", "https://", " src=",     "@import",  "url(",     "<link",
                                        "<iframe", "<object",  " style=\"", " onclick", " onerror", "javascript:"};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) assert_null(strstr(page, refused[i]));
  free(page);
  wo_store_close(store);
}

/* Tags are balanced and attributes quoted, whatever the texts of the jobs are. */
static void test_page_is_well_formed(void **state) {
  (void)state;
  struct wo_store *const store = store_of_everything();
  char *const page = page_of(store);
  struct wo_text body = {0};
  wo_text_add(&body, "<body>");
  wo_text_add_view(&body, between(page, "<body>", "<script>"));
  wo_text_add(&body, "</body>\n");
  size_t at = 0;
  if (!wo_xml_is_well_formed((struct wo_view){body.ptr, body.len}, &at))
    fail_msg("...%.200s", body.ptr + (at > 80 ? at - 80 : 0));
  wo_text_done(&body);
  free(page);
  wo_store_close(store);
}

/* Each failed job has a row, a page, and a link from the one to the other; links lead somewhere. */
static void test_links_lead_somewhere(void **state) {
  (void)state;
  struct wo_store *const store = store_of_everything();
  char *const page = page_of(store);
  size_t pages = 0, links = 0;
  for (const char *at = page; (at = strstr(at, "<section class=\"job\" id=\"job-")) != NULL; at++) pages++;
  assert_int_equal(pages, 15);
  for (const char *at = page; (at = strstr(at, "href=\"#")) != NULL; at++) {
    char id[64];
    const struct wo_view name = {at + 7, strcspn(at + 7, "\"")};
    assert_true(name.len < 40);
    snprintf(id, sizeof id, " id=\"%.*s\"", WO_SHOWN(name));
    if (strstr(page, id) == NULL) fail_msg("no place for the link %s", id);
    links++;
  }
  assert_true(links > 40);
  free(page);
  wo_store_close(store);
}

/* More jobs than pages: the page says how many have one, and the rows beyond have no link. */
static void test_caps_are_said(void **state) {
  (void)state;
  struct wo_store *const store = wo_fleet_store((const char *const[]){NULL});
  struct wo_err err;
  const size_t jobs = WO_LIMIT_HTML_ROWS + 10;
  assert_int_equal(wo_store_begin(store, &err), WO_OK);
  for (size_t i = 0; i < jobs; i++) wo_fleet_putf(store, "path=%zu is_failed=1 gpu_s=%zu", i, i);
  assert_int_equal(wo_store_commit(store, &err), WO_OK);
  char *const page = page_of(store);
  size_t pages = 0, rows = 0, links = 0;
  for (const char *at = page; (at = strstr(at, "<section class=\"job\" id=\"job-")) != NULL; at++) pages++;
  for (const char *at = strstr(page, "id=\"job-table\""); (at = strstr(at, "\n<tr><td>")) != NULL; at++) rows++;
  for (const char *at = strstr(page, "id=\"job-table\""); (at = strstr(at, "<tr><td><a href=\"#job-")) != NULL; at++) links++;
  assert_int_equal(pages, WO_LIMIT_HTML_PAGES);
  assert_int_equal(rows, WO_LIMIT_HTML_ROWS);
  assert_int_equal(links, WO_LIMIT_HTML_PAGES);
  assert_non_null(strstr(page, "The table has the 5000 failed jobs that cost most, of 5 010"));
  assert_non_null(strstr(page, "The 2000 jobs that cost most have a page of their own"));
  free(page);
  wo_store_close(store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hash_itself),          cmocka_unit_test(test_policy_has_the_hashes),
      cmocka_unit_test(test_page_needs_nothing),   cmocka_unit_test(test_page_is_well_formed),
      cmocka_unit_test(test_links_lead_somewhere), cmocka_unit_test(test_caps_are_said),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
