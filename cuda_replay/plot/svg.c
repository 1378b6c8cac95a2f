/* SPDX-License-Identifier: Apache-2.0 */
/* Writing SVG. Text is more restricted than on terminals: one forbidden character makes a whole document unreadable. */
#include "cuda_replay/plot/svg.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "parsers/base/clean.h"

#define ELLIPSIS "\xE2\x80\xA6"

/* ---- Text ---- */

/* Whether a character may be written: it is shown as it is, and XML 1.0 allows it. */
static bool is_plain(uint32_t code) {
  if (code == WO_UTF8_INVALID || wo_clean_is_control(code) || wo_clean_is_hidden(code)) return false;
  return code != 0xFFFE && code != 0xFFFF;
}

/* All five are escaped everywhere: the same rule for text and attributes. */
static void escape_char(struct wo_text *out, struct wo_view one, uint32_t code) {
  static const struct {
    uint32_t code;
    const char *text;
  } escapes[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
  for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++) {
    if (escapes[i].code == code) one = wo_view_of(escapes[i].text);
  }
  wo_text_add_view(out, is_plain(code) ? one : WO_VIEW(WO_REPLACEMENT));
}

/* Counts characters, not bytes, so that no character is cut. */
void wo_svg_escape(struct wo_text *out, struct wo_view text, size_t max_chars) {
  size_t at = 0;
  for (size_t chars = 0; at < text.len; chars++) {
    const struct wo_view rest = wo_view_skip(text, at);
    size_t len = 0;
    const uint32_t code = wo_utf8_read(rest, &len);
    if (chars + 1 >= max_chars && len < rest.len) {
      wo_text_add_view(out, WO_VIEW(ELLIPSIS));
      return;
    }
    escape_char(out, wo_view_sub(rest, 0, len), code);
    at += len;
  }
}

/* Widths of a sans-serif font, by type of letter: exact enough to place legends side by side. */
double wo_svg_text_width(struct wo_view text) {
  double width = 0;
  for (size_t i = 0; i < text.len; i++) {
    const char c = text.ptr[i];
    if ((c & 0xC0) == 0x80) continue; /* continues a character that was counted */
    const bool is_narrow =
        c == 'i' || c == 'l' || c == 'j' || c == 't' || c == 'f' || c == '.' || c == ',' || c == ' ' || c == ':';
    const bool is_wide = c == 'm' || c == 'w' || c == 'M' || c == 'W' || c == 'G' || c == 'O';
    width += is_narrow ? 4.0 : is_wide ? 10.0 : 7.2;
  }
  return width;
}

/* ---- Shapes ---- */

/* A tenth of a pixel is finer than any screen shows, and needs a third of the bytes of a full number. */
void wo_svg_number(struct wo_text *out, double value) {
  assert(isfinite(value));
  const double tenths = floor(value * 10 + 0.5);
  const long long whole = (long long)tenths;
  const char *const sign = whole < 0 ? "-" : "";
  const long long size = whole < 0 ? -whole : whole;
  if (size % 10 == 0) {
    wo_text_add(out, "%s%lld", sign, size / 10);
  } else {
    wo_text_add(out, "%s%lld.%lld", sign, size / 10, size % 10);
  }
}

void wo_svg_add(struct wo_text *out, const char *form, const char *classes, const double *numbers) {
  for (size_t len = 0; *form != '\0'; form += len) {
    len = strcspn(form, "@$");
    wo_text_add_view(out, (struct wo_view){form, len});
    if (form[len] == '@') wo_svg_number(out, *numbers++);
    if (form[len] == '$') wo_text_add_view(out, wo_view_of(classes));
    if (form[len] != '\0') len++;
  }
}

void wo_svg_text(struct wo_text *out, double x, double y, const char *classes, struct wo_view text, size_t max_chars) {
  wo_svg_add(out, "<text class=\"$\" x=\"@\" y=\"@\">", classes, (const double[]){x, y});
  wo_svg_escape(out, text, max_chars);
  wo_text_add(out, "</text>\n");
}

void wo_svg_rect(struct wo_text *out, double x, double y, double width, double height, const char *classes) {
  wo_svg_add(out, "<rect class=\"$\" x=\"@\" y=\"@\" width=\"@\" height=\"@\"/>\n", classes,
             (const double[]){x, y, width, height});
}

void wo_svg_line(struct wo_text *out, double x1, double y1, double x2, double y2, const char *classes) {
  wo_svg_add(out, "<path class=\"$\" d=\"M@,@L@,@\"/>\n", classes, (const double[]){x1, y1, x2, y2});
}

/* ---- Steps ---- */

/* Whether two coordinates are written in the same way. */
static bool are_same(double a, double b) {
  return floor(a * 10 + 0.5) == floor(b * 10 + 0.5);
}

/* Written only if the value visibly changes: flat parts cost nothing. */
void wo_svg_steps(struct wo_text *out, const double *x, const double *y, size_t count) {
  assert(count > 0);
  wo_svg_add(out, "M@,@", NULL, (const double[]){x[0], y[0]});
  for (size_t i = 1; i < count; i++) {
    if (!are_same(y[i], y[i - 1])) wo_svg_add(out, "H@V@", NULL, (const double[]){x[i], y[i]});
  }
  wo_svg_add(out, "H@", NULL, &x[count]);
}

/* Begins at the height of the last step: the caller's path is at its right end. */
void wo_svg_steps_back(struct wo_text *out, const double *x, const double *y, size_t count) {
  assert(count > 0);
  wo_svg_add(out, "V@", NULL, &y[count - 1]);
  for (size_t i = count - 1; i > 0; i--) {
    if (!are_same(y[i], y[i - 1])) wo_svg_add(out, "H@V@", NULL, (const double[]){x[i], y[i - 1]});
  }
  wo_svg_add(out, "H@", NULL, &x[0]);
}
