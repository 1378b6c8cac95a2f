/* SPDX-License-Identifier: Apache-2.0 */
/* Logs of the same job that lie beside those that were named: the .out of a failed job says nothing of its .err. */
#ifndef WO_SIBLINGS_H
#define WO_SIBLINGS_H

#include <stddef.h>

#include "analyzer/archive/folder.h"
#include "parsers/base/arena.h"
#include "parsers/base/text.h"

/* The paths, and behind them the logs of the same folders whose names have the id of a named log (and its task of an array), or
 * differ from its name only in the stream ("train.out", "train.err"). Only regular files count, no links to
 * them: nobody has named what a link leads to. Nothing is opened. A call that names more than WO_LIMIT_SIBLING_LOGS paths has named what it wants. One line in `errors` names
 * what was added, and another one counts what was left out beyond WO_LIMIT_SIBLING_LOGS. A folder that `kept` holds is not listed
 * again. Everything lives in the arena; NULL when it is exhausted. */
char **wo_intake_add_logs(struct wo_arena *arena, struct wo_kept_folder *kept, char **paths, size_t count, struct wo_text *errors,
                          size_t *ret_count);

#endif
