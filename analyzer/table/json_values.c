/* SPDX-License-Identifier: Apache-2.0 */
/* Values of JSON as they are streamed: cJSON would hold, and indent, each object. See table_internal.h. */
#include "analyzer/table/table_internal.h"
#include "parsers/base/clean.h"

/* Beside quotes and backslashes, characters that end a script or a comment in HTML are escaped, and those that old readers of
 * JavaScript take for line ends; wo_clean_character has replaced what cannot be shown. */
static void add_character(struct wo_text *out, struct wo_view shown) {
  if (shown.len == 1 && (shown.ptr[0] == '"' || shown.ptr[0] == '\\')) {
    wo_text_repeat(out, '\\', 1);
    wo_text_add_view(out, shown);
  } else if (shown.len == 1 && (shown.ptr[0] == '<' || shown.ptr[0] == '>' || shown.ptr[0] == '&')) {
    wo_text_add(out, "\\u%04x", (unsigned)shown.ptr[0]);
  } else {
    wo_text_add_view(out, shown);
  }
}

void wo__json_string(struct wo_text *out, struct wo_view text) {
  wo_text_repeat(out, '"', 1);
  while (text.len > 0) {
    size_t read = 1;
    add_character(out, wo_clean_character(text, &read));
    text = wo_view_skip(text, read);
  }
  wo_text_repeat(out, '"', 1);
}

void wo__json_string_or_null(struct wo_text *out, struct wo_view text) {
  if (text.len == 0) {
    wo_text_add(out, "null");
  } else {
    wo__json_string(out, text);
  }
}

void wo__json_number(struct wo_text *out, int64_t number) {
  if (number == WO_ROW_UNKNOWN) {
    wo_text_add(out, "null");
  } else {
    wo_text_add(out, "%lld", (long long)number);
  }
}

void wo__json_settings(struct wo_text *out, struct wo_view settings) {
  bool is_first = true;
  wo_text_add(out, "{");
  for (struct wo_view rest = settings; rest.len > 0;) {
    struct wo_view line = wo_view_cut(&rest, '\n');
    const size_t equals = wo_view_find_char(line, '=', 0);
    if (equals == WO_NOT_FOUND) continue;
    if (!is_first) wo_text_add(out, ",");
    wo__json_string(out, wo_view_sub(line, 0, equals));
    wo_text_add(out, ":");
    wo__json_string(out, wo_view_skip(line, equals + 1));
    is_first = false;
  }
  wo_text_add(out, "}");
}
