/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of pages. See page_check.h. */
#include "tests/support/replay/page_check.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/xml.h"

#define POLICY                                                                                                                   \
  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "                       \
  "script-src 'unsafe-inline'; img-src data:\"/>"
#define DATA "<script type=\"application/json\" id=\"data\">"

enum { PAGE_BYTES_MAX = 5 * 1000 * 1000 };

/* The text between `start` and `end`, from *at on, which then is behind it. False if there is none. */
static bool take(struct wo_view page, const char *start, const char *end, size_t *at, struct wo_view *ret_inside) {
  const size_t from = wo_view_find(page, wo_view_of(start), *at);
  if (from == WO_NOT_FOUND) return false;
  const size_t begin = from + strlen(start), close = wo_view_find(page, wo_view_of(end), begin);
  if (close == WO_NOT_FOUND) return false;
  *ret_inside = wo_view_sub(page, begin, close);
  *at = close + strlen(end);
  return true;
}

/* The page without doctype, style and scripts. */
static bool strip(struct wo_view page, bool is_scripted, struct wo_text *out) {
  static const char doctype[] = "<!doctype html>\n";
  if (!wo_view_starts(page, doctype)) return false;
  size_t at = sizeof doctype - 1;
  static const char *const parts[][2] = {{"<style>", "</style>"}, {DATA, "</script>"}, {"<script>", "</script>"}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    struct wo_view inside;
    size_t behind = at;
    const bool has_part = take(page, parts[i][0], parts[i][1], &behind, &inside);
    if (!has_part && (i == 0 || is_scripted)) return false;
    if (!has_part) continue;
    wo_text_add_view(out, wo_view_sub(page, at, (size_t)(inside.ptr - page.ptr) - strlen(parts[i][0])));
    at = behind;
  }
  wo_text_add_view(out, wo_view_skip(page, at));
  return true;
}

static const char *data_flaw(struct wo_view data) {
  for (size_t i = 0; i < data.len; i++) {
    if (strchr("<>&'", data.ptr[i]) != NULL) return "the data hold a character that means something to a browser";
    if ((unsigned char)data.ptr[i] < ' ') return "the data hold a control character";
  }
  cJSON *const json = cJSON_ParseWithLength(data.ptr, data.len);
  const bool is_object = cJSON_IsObject(json);
  cJSON_Delete(json);
  return is_object ? NULL : "the data are no JSON object";
}

const char *wo_page_flaw(struct wo_view page) {
  struct wo_text rest = {0};
  struct wo_view data = {0};
  size_t at = 0;
  if (page.len >= PAGE_BYTES_MAX) return "it is too large";
  if (wo_view_find(page, WO_VIEW(POLICY), 0) == WO_NOT_FOUND) return "it has no policy";
  const bool is_scripted = wo_view_find(page, WO_VIEW(DATA), 0) != WO_NOT_FOUND;
  const char *flaw = strip(page, is_scripted, &rest) ? NULL : "a part is missing";
  if (flaw == NULL && wo_view_has((struct wo_view){rest.ptr, rest.len}, "<script")) flaw = "it has a further script";
  if (flaw == NULL && !wo_xml_is_well_formed((struct wo_view){rest.ptr, rest.len}, &at)) flaw = "it is not well-formed";
  at = 0;
  if (flaw == NULL && is_scripted) flaw = take(page, DATA, "</script>", &at, &data) ? data_flaw(data) : "it has no data";
  wo_text_done(&rest);
  return flaw;
}

char *wo_page_data(struct wo_view page) {
  struct wo_view data;
  size_t at = 0;
  if (!take(page, DATA, "</script>", &at, &data)) return NULL;
  char *const copy = malloc(data.len + 1);
  if (copy == NULL) return NULL;
  memcpy(copy, data.ptr, data.len);
  copy[data.len] = '\0';
  return copy;
}
