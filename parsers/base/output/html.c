/* SPDX-License-Identifier: Apache-2.0 */
/* Pages in HTML. See html.h. */
#include "parsers/base/output/html.h"

#include "parsers/base/clean.h"

/* ---- Texts ---- */

static const char *entity_of(char c) {
  switch (c) {
  case '&':
    return "&amp;";
  case '<':
    return "&lt;";
  case '>':
    return "&gt;";
  case '"':
    return "&quot;";
  case '\'':
    return "&#39;";
  case '`':
    return "&#96;"; /* a quote of attributes in old browsers */
  default:
    return NULL;
  }
}

void wo_html_text(struct wo_text *out, struct wo_view text) {
  while (text.len > 0) {
    size_t read = 1;
    const struct wo_view shown = wo_clean_character(text, &read);
    const char *const entity = shown.len == 1 ? entity_of(shown.ptr[0]) : NULL;
    if (entity != NULL) {
      wo_text_add(out, "%s", entity);
    } else {
      wo_text_add_view(out, shown);
    }
    text = wo_view_skip(text, read);
  }
}

void wo_html_put(struct wo_text *out, const char *before, struct wo_view text, const char *after) {
  wo_text_add(out, "%s", before);
  wo_html_text(out, text);
  wo_text_add(out, "%s", after);
}

/* ---- Pages ---- */

static void add_part(struct wo_text *out, const char *element, const struct wo_html_part *part) {
  wo_text_add(out, "<%s>", element);
  wo_text_add_view(out, part->text);
  wo_text_add(out, "</%s>\n", element);
}

void wo_html_begin(struct wo_text *out, struct wo_view title, const struct wo_html_part *style,
                   const struct wo_html_part *script) {
  wo_text_add(out,
              "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '%s' '%s'; "
              "script-src '%s' '%s'; base-uri 'none'; form-action 'none'\">\n",
              wo_html_style.hash, style->hash, wo_html_script.hash, script->hash);
  wo_text_add(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                   "<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n");
  wo_html_put(out, "<title>", title, "</title>\n");
  add_part(out, "style", &wo_html_style);
  add_part(out, "style", style);
  wo_text_add(out, "</head>\n<body>\n");
}

void wo_html_end(struct wo_text *out, const struct wo_html_part *script) {
  add_part(out, "script", &wo_html_script);
  add_part(out, "script", script);
  wo_text_add(out, "</body>\n</html>\n");
}
