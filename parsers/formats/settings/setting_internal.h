/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the two readers of settings, fmt_setting.c (a key and its value on one line) and fmt_setting_block.c (keys too short
 * to be looked for, inside a structure whose name is); setting_line.c does the work on one line, setting_advice.c tells advice.
 */
#ifndef WO_SETTING_INTERNAL_H
#define WO_SETTING_INTERNAL_H

#include "parsers/scan/format.h"

/* The state of a setting that opened a structure. */
struct wo_setting_block {
  int depth; /* braces that are open; 0 before the first and after the last */
  enum { WO_IN_BRACES, WO_INDENTED, WO_IN_SECTION } shape;
  int64_t parent_indent, child_indent; /* the latter -1 before the first child */
};

/* A key found in a line. */
struct wo_setting_place {
  struct wo_view name;   /* with its dotted part: a.b.key */
  struct wo_view before; /* line->full up to it */
  struct wo_view after;  /* line->full after it */
};

/* The next place after *from where the key is the whole last part of a name in the line; *from moves after it. */
bool wo__setting_find_place(struct wo_view line, struct wo_view key, size_t *from, struct wo_setting_place *ret_place);

/* Notes the setting at the place if a value follows that is neither advice nor a placeholder. False if nothing more can be
 * stored. */
bool wo__setting_take(const struct wo_open *open, const struct wo_setting_place *place);

/* Whether the setting is named in a sentence that advises it, not given to the program. */
bool wo__setting_is_advice(const struct wo_setting_place *place, struct wo_view value);

/* Whether c can be in the name of a setting. */
bool wo__setting_is_name(char c);

/* The key of a pattern's id, "setting:<knob>:<key>". */
struct wo_view wo__setting_key(const struct wo_pattern *pattern);

/* As begin of a format, for a key "parent.child" whose parent is in the line at `at` (of line->full) or later. Makes the open
 * construct one of the reader of blocks. */
enum wo_more wo__setting_block_begin(struct wo_open *open, struct wo_view key, size_t at);

#endif
