/* SPDX-License-Identifier: Apache-2.0 */
/* How a user writes a setting: key, value and style. Kept as values until a writer prints them. */
#ifndef WO_SPELL_H
#define WO_SPELL_H

#include "parsers/base/text.h"
#include "parsers/event/event.h"
#include "rules/language/value.h"
#include "rules/load/rule.h"

/* The styles that the readers of settings find. */
enum wo_style {
  WO_STYLE_EQUALS,      /* key=value */
  WO_STYLE_FLAG,        /* --key value */
  WO_STYLE_FLAG_EQUALS, /* --key=value */
  WO_STYLE_EXPORT,      /* export key=value */
  WO_STYLE_COLON,       /* key: value */
  WO_STYLE_JSON,        /* "key": value, "key": "value" */
  WO_STYLE_SET          /* set key=value, in a command line of Windows */
};

/* Key and value as in the file. An empty key: the setting has no spelling. */
struct wo_spelling {
  enum wo_style style;
  struct wo_view key;
  struct wo_view value;
};

struct wo_diagnosis;

/* A knob's new value in the key and style in which the user set it, or in the knob's default spelling. Texts live in the arena of
 * the diagnosis; if memory runs out, it is exhausted. */
struct wo_spelling wo_spell_change(const struct wo_diagnosis *diagnosis, const struct wo_knob *knob, struct wo_value to);

/* A setting as the input has it. Views of the event. */
struct wo_spelling wo_spell_setting(const struct wo_event *event);

/* Adds the text that a user can paste: "--micro-batch-size 4". Nothing without a key. */
void wo_spelling_add(struct wo_text *out, const struct wo_spelling *spelling);

#endif
