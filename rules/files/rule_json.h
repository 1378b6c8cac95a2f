/* SPDX-License-Identifier: Apache-2.0 */
/* JSON with comments, and where each value is in its file. Private to rules/.
 *
 * Trees are values without places. A place is therefore found when a message needs it: values come in the same order in the
 * tree and in the text, so the n-th value of one is the n-th of the other. Loading without errors pays nothing for it. */
#ifndef WO_RULE_JSON_H
#define WO_RULE_JSON_H

#include "parsers/base/status.h"
#include "parsers/base/vec.h"
#include "parsers/base/view.h"
#include "rules/files/rule_file.h"
#include "rules/files/tree.h"

/* A parsed file. */
struct wo_rule_json {
  const char *name;
  struct wo_view text; /* a copy with comments blanked, owned */
  const struct wo_tree *root;
  struct wo_tree *owned_root; /* NULL when the tree was compiled in */
  WO_VEC(uint64_t) lines;     /* of the rule objects: the root, or the elements of the root array */
};

/* Reads a file. WO_E_SYNTAX with its place, WO_E_LIMIT, WO_E_NOMEM. *ret_json is to be released with wo_rule_json_done, on
 * failure too. */
enum wo_status wo_rule_json_parse(const struct wo_rule_file *file, struct wo_rule_json *ret_json, struct wo_err *err);

/* Releases what it holds. */
void wo_rule_json_done(struct wo_rule_json *json);

/* Which part of a member a message is about. */
enum wo_rule_part { WO_RULE_KEY, WO_RULE_VALUE };

/* Adds to *err the place of a value of the tree, or of its key. text_column > 0 points into a string: the column (from 1) in what
 * the string means, after escapes. */
void wo_rule_json_place(const struct wo_rule_json *json, const struct wo_tree *node, enum wo_rule_part part, uint32_t text_column,
                        struct wo_err *err);

#endif
