/* SPDX-License-Identifier: Apache-2.0 */
/* What has a form of its own: addresses of the web, of mail and of machines, secrets. See pseudonyms_internal.h. */
#include <string.h>

#include "parsers/base/anonymize/pseudonyms_internal.h"

static bool is_hex(char c) {
  return wo_is_digit(c) || (wo_lower(c) >= 'a' && wo_lower(c) <= 'f');
}

static bool is_one_of(char c, const char *set) {
  return c != '\0' && strchr(set, c) != NULL;
}

/* ---- Secrets ---- */

struct mix {
  size_t digits, uppers, lowers, others, changes; /* changes: places where digits and letters meet */
  bool is_hex;
};

static struct mix mix_of(struct wo_view text) {
  struct mix mix = {.is_hex = true};
  for (size_t i = 0; i < text.len; i++) {
    const char c = text.ptr[i];
    if (wo_is_digit(c))
      mix.digits++;
    else if (wo_is_alpha(c))
      *(wo_lower(c) == c ? &mix.lowers : &mix.uppers) += 1;
    else
      mix.others++;
    if (i > 0 && wo_is_digit(c) != wo_is_digit(text.ptr[i - 1])) mix.changes++;
    mix.is_hex = mix.is_hex && is_hex(c);
  }
  return mix;
}

/* Beginnings that services give to their keys, and how long these are at least. */
static bool has_key_prefix(struct wo_view text) {
  static const struct {
    const char *prefix;
    size_t least;
  } keys[] = {
      {"hf_", 20},         {"ghp_", 20},   {"gho_", 20},  {"ghu_", 20},      {"ghs_", 20},  {"ghr_", 20},
      {"github_pat_", 20}, {"glpat-", 16}, {"AKIA", 16},  {"ASIA", 16},      {"sk-", 20},   {"xoxb-", 16},
      {"xoxp-", 16},       {"AIza", 30},   {"ya29.", 20}, {"nvapi-", 20},    {"pypi-", 30}, {"npm_", 30},
      {"dckr_pat_", 16},   {"r8_", 20},    {"gsk_", 20},  {"wandb_v1_", 16},
  };
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    if (text.len >= keys[i].least && wo_view_starts(text, keys[i].prefix)) return true;
  }
  return false;
}

/* "eyJhbGciOi....eyJzdWIi....c2ln": three parts of base64. */
static bool is_web_token(struct wo_view text) {
  return text.len >= 20 && wo_view_starts(text, "eyJ") && wo_view_find_char(text, '.', 0) != WO_NOT_FOUND;
}

enum { HEX_BYTES_MIN = 32, RANDOM_BYTES_MIN = 32, RANDOM_CHANGES_MIN = 5, UUID_BYTES = 36 };

/* Long words of hexadecimal digits are keys or hashes; long words in which digits and letters of both cases change again and
 * again are no names that people give. Names of C++ symbols are not meant. */
static bool is_random(struct wo_view text) {
  if (text.len < RANDOM_BYTES_MIN || text.ptr[0] == '/' || wo_view_starts(text, "_Z") || wo_view_has(text, "__")) return false;
  for (size_t i = 0; i < text.len; i++) {
    if (!wo_is_alnum(text.ptr[i]) && !is_one_of(text.ptr[i], "+/_-")) return false;
  }
  const struct mix mix = mix_of(text);
  if (mix.is_hex) return text.len >= HEX_BYTES_MIN && mix.digits > 0 && mix.digits < text.len;
  return mix.digits > 0 && mix.uppers > 0 && mix.lowers > 0 && mix.changes >= RANDOM_CHANGES_MIN && mix.others <= 3;
}

/* "5d3c1a7e-0b1c-4f6e-9a51-0c2f3e1d7b99", also behind "GPU-" and "MIG-". */
static bool is_uuid(struct wo_view text) {
  if (text.len != UUID_BYTES) return false;
  for (size_t i = 0; i < text.len; i++) {
    const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (is_dash ? text.ptr[i] != '-' : !is_hex(text.ptr[i])) return false;
  }
  return !wo_view_starts(text, "00000000-0000-0000-0000-");
}

bool wo__add_secret(struct wo_pseudonyms *p, struct wo_view chunk, struct wo_text *out) {
  const size_t head = chunk.len > UUID_BYTES ? chunk.len - UUID_BYTES : 0;
  if (is_uuid(wo_view_skip(chunk, head)) && (head == 0 || !wo__is_name_byte(chunk.ptr[head - 1]))) {
    wo_text_add_view(out, wo_view_sub(chunk, 0, head));
    wo_text_add_view(out, wo__pseudonym(p, WO_NAME_OF_DEVICE, wo_view_skip(chunk, head)));
    return true;
  }
  if (!has_key_prefix(chunk) && !is_web_token(chunk) && !is_random(chunk)) return false;
  wo_text_add_view(out, wo__pseudonym(p, WO_NAME_OF_SECRET, chunk));
  return true;
}

/* ---- Addresses ---- */

/* The address at the front of a text: its bytes, or 0. Four numbers are also a version ("12.1.3.1"): callers look at what is
 * before them. */
static size_t ipv4_length(struct wo_view text) {
  size_t at = 0;
  for (int part = 0; part < 4; part++) {
    unsigned value = 0;
    const size_t begin = at;
    while (at < text.len && wo_is_digit(text.ptr[at]) && at - begin < 3) value = value * 10 + (unsigned)(text.ptr[at++] - '0');
    if (at == begin || value > 255) return 0;
    if (part < 3 && (at >= text.len || text.ptr[at++] != '.')) return 0;
  }
  return at < text.len &&
                 (wo__is_name_byte(text.ptr[at]) || (text.ptr[at] == '.' && at + 1 < text.len && wo_is_digit(text.ptr[at + 1])))
             ? 0
             : at;
}

/* Addresses that every machine has, and those that stand for others already. */
static bool is_no_address(struct wo_view text) {
  return wo_view_starts(text, "127.") || wo_view_is(text, "0.0.0.0") || wo_view_starts(text, "192.0.2.") ||
         wo_view_starts(text, "255.");
}

/* Where an address begins in a chunk: at its front, behind "ip-" or a slash. */
bool wo__add_ipv4(struct wo_pseudonyms *p, struct wo_view chunk, struct wo_text *out) {
  size_t at = 0;
  while (at < chunk.len && is_one_of(chunk.ptr[at], "/@$#+-_~")) at++;
  const size_t len = ipv4_length(wo_view_skip(chunk, at));
  const struct wo_view address = wo_view_sub(chunk, at, at + len);
  const bool is_whole = at + len == chunk.len || is_one_of(chunk.ptr[at + len], "/-_@+");
  if (len == 0 || !is_whole || is_no_address(address)) return false;
  wo_text_add_view(out, wo_view_sub(chunk, 0, at));
  wo_text_add_view(out, wo__pseudonym(p, WO_NAME_OF_IPV4, address));
  if (at + len < chunk.len) wo__add_shown_path(p, wo_view_skip(chunk, at + len), out);
  return true;
}

/* "00:11:22:33:44:55": six groups of two. */
static bool is_ethernet(struct wo_view address) {
  if (address.len != 17) return false;
  for (size_t i = 0; i < address.len; i++) {
    if ((address.ptr[i] == ':') != (i % 3 == 2)) return false;
  }
  return true;
}

/* IPv6 and Ethernet: at least six groups of hexadecimal digits with colons, or two colons together with a digit somewhere
 * ("fd00::42", and not "ab::cd", which is C++). Times ("12:30:05") and places on the bus ("0000:3b:00.0") are neither. */
size_t wo__add_colon_address(struct wo_pseudonyms *p, struct wo_view rest, struct wo_text *out) {
  size_t end = 0, colons = 0;
  bool has_double = false, has_letter = false, has_digit = false;
  while (end < rest.len && (is_hex(rest.ptr[end]) || rest.ptr[end] == ':')) {
    colons += rest.ptr[end] == ':';
    has_double = has_double || (end > 0 && rest.ptr[end] == ':' && rest.ptr[end - 1] == ':');
    has_letter = has_letter || wo_is_alpha(rest.ptr[end]);
    has_digit = has_digit || wo_is_digit(rest.ptr[end]);
    end++;
  }
  while (end > 0 && rest.ptr[end - 1] == ':') end--;
  const struct wo_view address = wo_view_sub(rest, 0, end);
  const bool is_short = has_double && has_digit && has_letter && end >= 6;
  const bool is_long = colons >= 5 && (has_letter || colons == 7 || is_ethernet(address));
  if (!(is_short || is_long) || !wo_is_alnum(rest.ptr[0])) return 0;
  if (end < rest.len && wo__is_name_byte(rest.ptr[end])) return 0;
  const bool is_own = wo_view_starts_nocase(address, "2001:db8::");
  wo_text_add_view(out, is_own ? address : wo__pseudonym(p, WO_NAME_OF_IPV6, address));
  return end;
}

/* ---- Mail ---- */

/* "mara.lind@uni-x.de" and, in addresses of the web, "mara%40uni-x.de"; "mara@node04:" as shells show it. */
bool wo__add_mail(struct wo_pseudonyms *p, struct wo_view chunk, struct wo_view after, struct wo_text *out) {
  size_t at = wo_view_find_char(chunk, '@', 0), len = 1;
  if (at == WO_NOT_FOUND) {
    at = wo_view_find(chunk, WO_VIEW("%40"), 0);
    len = 3;
  }
  if (at == WO_NOT_FOUND || at == 0 || at + len >= chunk.len) return false;
  const struct wo_view local = wo_view_sub(chunk, 0, at), domain = wo_view_skip(chunk, at + len);
  for (size_t i = 0; i < chunk.len; i++) {
    if ((i < at || i >= at + len) && !wo__is_name_byte(chunk.ptr[i]) && !is_one_of(chunk.ptr[i], "._-+%")) return false;
  }
  if (!wo__is_name_byte(domain.ptr[0])) return false;
  if (ipv4_length(domain) == domain.len) {
    wo_pseudonyms_add_name(p, WO_NAME_OF_USER, local, out);
    wo_text_add_view(out, wo_view_sub(chunk, at, at + len));
    if (!wo__add_ipv4(p, domain, out)) wo_text_add_view(out, domain);
    return true;
  }
  const size_t dot = wo_view_find_char(domain, '.', 0);
  if (dot != WO_NOT_FOUND && wo_is_alpha(domain.ptr[domain.len - 1])) {
    if (wo_view_is(domain, "example.org") && wo_view_starts(local, "mail")) return false;
    if (!wo_known_web_host(domain)) wo__pseudonym(p, WO_NAME_OF_DOMAIN, domain);
    wo_text_add_view(out, wo__pseudonym(p, WO_NAME_OF_MAIL, chunk));
    return true;
  }
  const bool is_prompt = after.len > 1 && after.ptr[0] == ':' && is_one_of(after.ptr[1], "~/ ") && !wo_is_digit(local.ptr[0]);
  if (dot != WO_NOT_FOUND || !is_prompt) return false;
  wo_pseudonyms_add_name(p, WO_NAME_OF_USER, local, out);
  wo_text_add_view(out, wo_view_sub(chunk, at, at + len));
  wo_pseudonyms_add_name(p, WO_NAME_OF_HOST, domain, out);
  return true;
}

/* ---- Hosts ---- */

/* "login01.hpc.uni-x.de": what is known of no package, and ends as the name of a host. */
bool wo__add_host_name(struct wo_pseudonyms *p, struct wo_view chunk, struct wo_text *out) {
  size_t dots = 0;
  for (size_t i = 0; i < chunk.len; i++) {
    if (chunk.ptr[i] == '.')
      dots++;
    else if (!wo_is_alnum(chunk.ptr[i]) && chunk.ptr[i] != '-')
      return false;
  }
  if (dots < 2 || !wo_known_host_ending(chunk) || wo_known_web_host(chunk) || wo_known_name(chunk)) return false;
  wo_pseudonyms_add_name(p, WO_NAME_OF_HOST, chunk, out);
  return true;
}

/* ---- The web ---- */

static bool ends_url(char c) {
  return wo_is_space(c) || is_one_of(c, "\"'<>`|\\^{}(),;");
}

/* "https": letters before "://". */
static size_t scheme_length(struct wo_view rest) {
  size_t len = 0;
  while (len < rest.len && len < 16 && (wo_is_alnum(rest.ptr[len]) || is_one_of(rest.ptr[len], "+-"))) len++;
  return len > 0 && wo_view_starts(wo_view_skip(rest, len), "://") ? len + 3 : 0;
}

/* The path and what follows it: components, and values behind '?', '=' and '&'. */
static void add_url_path(struct wo_pseudonyms *p, struct wo_view path, struct wo_text *out) {
  for (size_t at = 0; at < path.len;) {
    size_t end = at;
    while (end < path.len && !is_one_of(path.ptr[end], "?=&#:")) end++;
    const struct wo_view part = wo_view_sub(path, at, end);
    if (!wo__add_secret(p, part, out) && !wo__add_mail(p, part, (struct wo_view){0}, out)) wo__add_shown_path(p, part, out);
    wo_text_add_view(out, wo_view_sub(path, end, end + 1));
    at = end + 1;
  }
}

/* The part between the scheme and the path: "user:word@host:port". */
static void add_authority(struct wo_pseudonyms *p, struct wo_view authority, struct wo_view host, struct wo_text *out) {
  if (authority.len > host.len)
    wo_text_add(out, "%.*s@",
                WO_SHOWN(wo__pseudonym(p, WO_NAME_OF_SECRET, wo_view_sub(authority, 0, authority.len - host.len - 1))));
  const size_t bracket = host.len > 0 && host.ptr[0] == '[' ? wo_view_find_char(host, ']', 0) : WO_NOT_FOUND;
  if (bracket != WO_NOT_FOUND) { /* "[2a02:1234::5]:8080" */
    const struct wo_view address = wo_view_sub(host, 1, bracket);
    const struct wo_view shown =
        wo_view_starts_nocase(address, "2001:db8::") ? address : wo__pseudonym(p, WO_NAME_OF_IPV6, address);
    wo_text_add(out, "[%.*s%.*s", WO_SHOWN(shown), WO_SHOWN(wo_view_skip(host, bracket)));
    return;
  }
  const size_t colon = wo_view_find_char(host, ':', 0);
  const struct wo_view name = wo_view_sub(host, 0, colon);
  if (wo_known_web_host(name) || name.len == 0 || wo_view_ends(name, ".example"))
    wo_text_add_view(out, name);
  else if (!wo__add_ipv4(p, name, out))
    wo_pseudonyms_add_name(p, WO_NAME_OF_HOST, name, out);
  if (colon != WO_NOT_FOUND) wo_text_add_view(out, wo_view_skip(host, colon));
}

size_t wo__add_url(struct wo_pseudonyms *p, struct wo_view rest, struct wo_text *out) {
  const size_t scheme = scheme_length(rest);
  size_t end = scheme;
  if (scheme == 0) return 0;
  while (end < rest.len && !ends_url(rest.ptr[end])) end++;
  while (end > scheme && is_one_of(rest.ptr[end - 1], ".!?:]")) end--;
  const struct wo_view body = wo_view_sub(rest, scheme, end);
  const size_t slash = wo_view_find_char(body, '/', 0);
  const struct wo_view authority = wo_view_sub(body, 0, slash);
  const size_t at = wo_view_find_last(authority, WO_VIEW("@"), authority.len);
  const struct wo_view host = at == WO_NOT_FOUND ? authority : wo_view_skip(authority, at + 1);
  wo_text_add_view(out, wo_view_sub(rest, 0, scheme));
  add_authority(p, authority, host, out);
  if (slash == WO_NOT_FOUND) return end;
  const struct wo_view path = wo_view_skip(body, slash);
  struct wo_view first = wo_view_skip(path, 1);
  const struct wo_view owner = wo_view_cut(&first, '/');
  const bool is_public = wo_known_docs_host(host) || (wo_known_web_host(host) && wo_known_publisher(owner));
  if (is_public)
    wo_text_add_view(out, path);
  else
    add_url_path(p, path, out);
  return end;
}
