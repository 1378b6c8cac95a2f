/* SPDX-License-Identifier: Apache-2.0 */
/* A file of rules in memory. Packs are loaded from it. */
#ifndef WO_RULE_FILE_H
#define WO_RULE_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct wo_tree;

struct wo_rule_file {
  const char *name; /* for messages: "causes/fragmentation/fragmentation.json" */
  const char *data;
  size_t size;
  bool is_user;               /* from --rules: may replace a rule without a complaint */
  const struct wo_tree *tree; /* compiled-in rules: made when the program was built; data is then NULL */
};

#endif
