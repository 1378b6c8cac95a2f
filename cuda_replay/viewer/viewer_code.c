/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and texts of the page's data. See viewer_code.h. */
#include "cuda_replay/viewer/viewer_code.h"

#include <assert.h>

#include "parsers/base/clean.h"

#define ELLIPSIS "\xE2\x80\xA6"

/* No character of HTML or of JSON's strings is among the digits. */
static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

enum { BITS = 5, MORE = 1 << BITS };

void wo_code_u64(struct wo_text *out, uint64_t number) {
  char text[16];
  size_t len = 0;
  do {
    const unsigned digit = (unsigned)(number & (MORE - 1));
    number >>= BITS;
    text[len++] = digits[digit | (number > 0 ? MORE : 0)];
  } while (number > 0);
  assert(len <= sizeof text);
  wo_text_add_view(out, (struct wo_view){text, len});
}

void wo_code_i64(struct wo_text *out, int64_t number) {
  const uint64_t bits = (uint64_t)number;
  wo_code_u64(out, number < 0 ? ~(bits << 1) : bits << 1);
}

/* A difference of 0 is followed by how many more of them there are. */
void wo_code_row_end(struct wo_text *out, struct wo_code_row *row) {
  if (row->equal == 0) return;
  wo_code_i64(out, 0);
  wo_code_u64(out, row->equal - 1);
  row->equal = 0;
}

void wo_code_row_add(struct wo_text *out, struct wo_code_row *row, uint64_t number) {
  if (number == row->last) {
    row->equal++;
    return;
  }
  wo_code_row_end(out, row);
  wo_code_i64(out, (int64_t)(number - row->last));
  row->last = number;
}

/* ---- Texts ---- */

static void add_character(struct wo_text *out, struct wo_view one) {
  static const struct {
    char c;
    const char *text;
  } escapes[] = {{'"', "\\\""}, {'\\', "\\\\"}, {'<', "\\u003c"}, {'>', "\\u003e"}, {'&', "\\u0026"}, {'\'', "\\u0027"}};
  for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++) {
    if (one.len == 1 && one.ptr[0] == escapes[i].c) one = wo_view_of(escapes[i].text);
  }
  wo_text_add_view(out, one);
}

/* The number of characters, as far as `most`. */
static size_t count_characters(struct wo_view text) {
  size_t count = 0, read = 0;
  for (; text.len > 0; text = wo_view_skip(text, read), count++) wo_clean_character(text, &read);
  return count;
}

/* A file's end says more than its beginning, and a function's beginning more than its end. */
void wo_code_text(struct wo_text *out, struct wo_view text, size_t max_chars, bool is_end) {
  const size_t count = text.len <= max_chars ? 0 : count_characters(text);
  const bool is_cut = count > max_chars;
  size_t read = 0;
  if (is_cut && is_end) {
    for (size_t i = 0; i + max_chars < count + 1; i++, text = wo_view_skip(text, read)) wo_clean_character(text, &read);
    wo_text_add(out, ELLIPSIS);
  }
  for (size_t i = 0; text.len > 0; i++, text = wo_view_skip(text, read)) {
    if (is_cut && !is_end && i + 1 == max_chars) {
      wo_text_add(out, ELLIPSIS);
      break;
    }
    add_character(out, wo_clean_character(text, &read));
  }
}
