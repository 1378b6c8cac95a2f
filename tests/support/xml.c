/* SPDX-License-Identifier: Apache-2.0 */
/* A check of XML as the program writes it. */
#include "tests/support/xml.h"

#include <stdint.h>
#include <string.h>

enum { DEPTH_MAX = 32, ATTRIBUTES_MAX = 16 };

struct xml {
  struct wo_view text;
  size_t at;
  struct wo_view open[DEPTH_MAX];
  size_t depth;
};

static char here(const struct xml *xml) {
  return xml->at < xml->text.len ? xml->text.ptr[xml->at] : '\0';
}

static bool take(struct xml *xml, const char *what) {
  if (!wo_view_starts(wo_view_skip(xml->text, xml->at), what)) return false;
  xml->at += strlen(what);
  return true;
}

static struct wo_view read_name(struct xml *xml) {
  const size_t start = xml->at;
  while (wo_is_word(here(xml)) || here(xml) == '-' || here(xml) == ':') xml->at++;
  return wo_view_sub(xml->text, start, xml->at);
}

/* One character of data. */
static bool read_char(struct xml *xml) {
  static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;", "&#96;"};
  const struct wo_view rest = wo_view_skip(xml->text, xml->at);
  const unsigned char lead = (unsigned char)here(xml);
  if (lead == '&') {
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) {
      if (take(xml, entities[i])) return true;
    }
    return false;
  }
  const size_t len = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (len == 0 || len > rest.len || (lead < 0x20 && lead != '\n') || lead == '<' || lead == 0x7F) return false;
  uint32_t code = len == 1 ? lead : lead & (0x7FU >> len);
  for (size_t i = 1; i < len; i++) {
    if ((rest.ptr[i] & 0xC0) != 0x80) return false;
    code = code << 6 | ((unsigned char)rest.ptr[i] & 0x3FU);
  }
  const bool is_short = len == 1 || code >= (len == 2 ? 0x80U : len == 3 ? 0x800U : 0x10000U);
  if (!is_short || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) || code == 0xFFFE || code == 0xFFFF) return false;
  xml->at += len;
  return true;
}

/* Attributes up to the end of the tag; none twice. */
static bool read_attributes(struct xml *xml) {
  struct wo_view names[ATTRIBUTES_MAX];
  for (size_t count = 0; take(xml, " "); count++) {
    if (count == ATTRIBUTES_MAX) return false;
    names[count] = read_name(xml);
    for (size_t i = 0; i < count; i++) {
      if (wo_view_equal(names[i], names[count])) return false;
    }
    if (names[count].len == 0 || !take(xml, "=\"")) return false;
    while (here(xml) != '"') {
      if (!read_char(xml)) return false;
    }
    xml->at++;
  }
  return true;
}

static bool read_tag(struct xml *xml) {
  if (take(xml, "</")) {
    const struct wo_view name = read_name(xml);
    return xml->depth > 0 && wo_view_equal(name, xml->open[--xml->depth]) && take(xml, ">");
  }
  if (!take(xml, "<")) return false;
  const struct wo_view name = read_name(xml);
  if (name.len == 0 || !read_attributes(xml)) return false;
  if (take(xml, "/>")) return true;
  if (!take(xml, ">") || xml->depth == DEPTH_MAX) return false;
  xml->open[xml->depth++] = name;
  return true;
}

bool wo_xml_is_well_formed(struct wo_view text, size_t *ret_at) {
  struct xml xml = {.text = text};
  bool is_good = read_tag(&xml);
  while (is_good && xml.depth > 0) is_good = here(&xml) == '<' ? read_tag(&xml) : read_char(&xml);
  *ret_at = xml.at;
  return is_good && wo_view_is(wo_view_skip(text, xml.at), "\n");
}
