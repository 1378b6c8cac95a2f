/* Writing SVG. Text is decoded here again, more strictly than for terminals: one forbidden character makes a whole document
 * unreadable. */
#include "cuda_replay/plot/svg.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD"
#define ELLIPSIS "\xE2\x80\xA6"

/* ---- Text ---- */

/* The code of a character; 0 for a byte that is not part of a well-formed one. */
static uint32_t code_of(struct wo_view text, size_t len) {
  const unsigned char lead = (unsigned char)text.ptr[0];
  uint32_t code = len == 1 ? lead : lead & (0x7FU >> len);
  for (size_t i = 1; i < len; i++) code = code << 6 | ((unsigned char)text.ptr[i] & 0x3FU);
  static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  assert(len >= 1 && len <= 4);
  return (len == 1 && lead >= 0x80) || code < smallest[len] || code > 0x10FFFF ? 0 : code;
}

/* Whether a character may be written: XML 1.0 allows it, it is no control, and it does not change the direction of the text
 * around it. */
static bool is_plain(uint32_t code) {
  if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return false;
  if (code >= 0xD800 && code <= 0xDFFF) return false;
  if ((code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069)) return false;
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
  wo_text_add_view(out, is_plain(code) ? one : WO_VIEW(REPLACEMENT));
}

/* Counts characters, not bytes, so that no character is cut. */
void wo_svg_escape(struct wo_text *out, struct wo_view text, size_t max_chars) {
  size_t at = 0;
  size_t columns = 0;
  for (size_t chars = 0; at < text.len; chars++) {
    const struct wo_view rest = wo_view_skip(text, at);
    const size_t len = wo_text_char(rest, &columns);
    if (chars + 1 >= max_chars && len < rest.len) {
      wo_text_add_view(out, WO_VIEW(ELLIPSIS));
      return;
    }
    escape_char(out, wo_view_sub(rest, 0, len), code_of(rest, len));
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
