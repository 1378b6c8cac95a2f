/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a cause or a fix, in fixed sections, from the rule alone: for `whyoom explain` and `whyoom rules pages`. */
#ifndef WO_RULE_DOC_H
#define WO_RULE_DOC_H

#include "analyzer/command/doc.h"
#include "rules/load/rule.h"

/* Folders of the pages below that of the index. */
#define WO_DOC_CAUSES "causes"
#define WO_DOC_FIXES "fixes"

/* Writes the page of a cause: What it means, How we know, What to do, Looks like but is not, Examples, References. A section
 * without contents is left out. The pack must be loaded with WO_LOAD_ALL. */
void wo_rule_doc_cause(struct wo_doc *doc, const struct wo_pack *pack, const struct wo_cause *cause);

/* Writes the page of a fix: What it does, When it is offered, When it is not, What it saves, What it costs, Commands, Notes,
 * Proposed for. */
void wo_rule_doc_fix(struct wo_doc *doc, const struct wo_pack *pack, const struct wo_fix *fix);

#endif
