/* SPDX-License-Identifier: Apache-2.0 */
/* The structure that a setting is in: `stage: 3` under `zero_optimization:` has the path "zero_optimization".
 *
 * Read backwards from the setting, through the braces of JSON, of Python's dictionaries and calls, the indentation of YAML, and
 * the section headers of INI and TOML files. Nothing is kept between settings, so that it costs nothing where there are none. */
#ifndef WO_CONFIG_PATH_H
#define WO_CONFIG_PATH_H

#include "parsers/scan/format.h"

enum wo_config_shape {
  WO_CONFIG_NONE,  /* flags, overrides, exports */
  WO_CONFIG_LINE,  /* no structure beyond the line */
  WO_CONFIG_BRACE, /* JSON, Python's repr */
  WO_CONFIG_YAML,
  WO_CONFIG_INI
};

/* Writes the names that enclose the place `start` of line->full, outermost first, joined with dots; the name of a call ends in
 * "()". `buf` holds `cap` bytes; names that do not fit are left out from the outside in. Empty when nothing encloses the place.
 * The shape says what to look for on the lines before; braces on the line itself are always followed. */
struct wo_view wo_config_path(const struct wo_open *open, size_t start, enum wo_config_shape shape, char *buf, size_t cap);

/* Blanks at the start of a text; a tab counts as one. */
size_t wo_config_indent(struct wo_view text);

#endif
