/* Texts in HTML. See html_internal.h. */
#include "analyzer/table/html_internal.h"
#include "parsers/base/clean.h"

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

void wo__html_text(struct wo_text *out, struct wo_view text) {
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

/* Paths that hash alike would share a page, which no archive lives to see. */
uint64_t wo__html_page_hash(struct wo_view path) {
  return wo_view_hash(WO_HASH_START, path);
}

void wo__html_page_name(struct wo_text *out, struct wo_view path) {
  wo_text_add(out, "job-%016llx", (unsigned long long)wo__html_page_hash(path));
}
