/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of an HTML page. See html_page.h. */
#include "tests/support/html_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parsers/base/text.h"
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

void wo_page_hash(const char *text, size_t len, char out[64]) {
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

/* ---- Pages ---- */

struct wo_view wo_page_between(const char *page, const char *begin, const char *end) {
  const char *const from = strstr(page, begin);
  assert_non_null(from);
  assert_null(strstr(from + 1, begin));
  const char *const start = from + strlen(begin), *const to = strstr(start, end);
  assert_non_null(to);
  return (struct wo_view){start, (size_t)(to - start)};
}

/* Each element of that name is allowed by its hash. */
static void expect_hashes(const char *page, struct wo_view policy, const char *begin, const char *end) {
  size_t count = 0;
  for (const char *at = strstr(page, begin); at != NULL; at = strstr(at, begin), count++) {
    char hash[64];
    at += strlen(begin);
    const char *const to = strstr(at, end);
    assert_non_null(to);
    wo_page_hash(at, (size_t)(to - at), hash);
    if (!wo_view_has(policy, hash)) fail_msg("%s %s is not in the policy", begin, hash);
  }
  assert_true(count > 0);
}

void wo_page_expect_policy(const char *page) {
  const struct wo_view policy = wo_page_between(page, "http-equiv=\"Content-Security-Policy\" content=\"", "\"");
  assert_true(wo_view_starts(policy, "default-src 'none'; "));
  assert_false(wo_view_has(policy, "unsafe"));
  expect_hashes(page, policy, "<style>", "</style>");
  expect_hashes(page, policy, "<script>", "</script>");
}

void wo_page_expect_needs_nothing(const char *page) {
  static const char *const refused[] = {"http://", "https://", " src=",     "@import",  "url(",     "<link",
                                        "<iframe", "<object",  " style=\"", " onclick", " onerror", "javascript:"};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    if (strstr(page, refused[i]) != NULL) fail_msg("the page has %s", refused[i]);
  }
}

/* One attribute: nothing that runs or fetches, and links only within the page. */
static void expect_attribute(struct wo_view name, struct wo_view value) {
  static const char *const refused[] = {"src", "srcset", "style", "action", "formaction", "data", "xlink:href"};
  if (wo_view_starts(name, "on") || WO_VIEW_ANY(name, wo_view_is, refused)) fail_msg("an attribute %.*s", WO_SHOWN(name));
  if (wo_view_is(name, "href") && !wo_view_starts(value, "#")) fail_msg("a link to %.*s", WO_SHOWN(value));
}

void wo_page_expect_inert(const char *page) {
  static const char *const allowed[] = {
      "a",       "b",   "body",       "button", "caption", "circle", "code",  "dd",    "del", "details", "div",     "dl",
      "dt",      "em",  "figcaption", "figure", "footer",  "g",      "h1",    "h2",    "h3",  "header",  "ins",     "input",
      "label",   "li",  "line",       "main",   "mark",    "nav",    "p",     "path",  "pre", "rect",    "section", "span",
      "summary", "svg", "table",      "tbody",  "td",      "th",     "thead", "title", "tr",  "ul"};
  const char *at = strstr(page, "<body>");
  const char *const end = strstr(page, "<script>");
  assert_true(at != NULL && end != NULL && at < end);
  while (at < end && *at != '\0') {
    if (*at++ != '<') continue;
    if (*at == '/') at++;
    const struct wo_view name = {at, strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789")};
    if (at - 1 != end && !WO_VIEW_ANY(name, wo_view_is, allowed) && !wo_view_is(name, "script")) fail_msg("an element %.40s", at);
    for (at += name.len; *at == ' ';) {
      at++;
      const struct wo_view attribute = {at, strcspn(at, "=")};
      const char *const value = at + attribute.len + 2;
      const struct wo_view quoted = {value, strcspn(value, "\"")};
      expect_attribute(attribute, quoted);
      at = value + quoted.len + 1;
    }
  }
}

void wo_page_expect_well_formed(const char *page) {
  struct wo_text body = {0};
  wo_text_add(&body, "<body>");
  const char *const start = strstr(page, "<body>"), *const end = strstr(page, "<script>");
  assert_true(start != NULL && end != NULL && start < end);
  wo_text_add_view(&body, (struct wo_view){start + 6, (size_t)(end - start - 6)});
  wo_text_add(&body, "</body>\n");
  size_t at = 0;
  if (!wo_xml_is_well_formed((struct wo_view){body.ptr, body.len}, &at))
    fail_msg("...%.200s", body.ptr + (at > 80 ? at - 80 : 0));
  wo_text_done(&body);
}

void wo_page_expect_links(const char *page, size_t least) {
  size_t links = 0;
  for (const char *at = page; (at = strstr(at, "href=\"#")) != NULL; at++, links++) {
    char id[96];
    const struct wo_view name = {at + 7, strcspn(at + 7, "\"")};
    assert_true(name.len < 80);
    snprintf(id, sizeof id, " id=\"%.*s\"", WO_SHOWN(name));
    if (strstr(page, id) == NULL) fail_msg("no place for the link %s", id);
  }
  assert_true(links >= least);
}
