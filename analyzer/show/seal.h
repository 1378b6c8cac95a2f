/* SPDX-License-Identifier: Apache-2.0 */
/* The last change of messages before they are shown. */
#ifndef WO_SEAL_H
#define WO_SEAL_H

#include "parsers/base/command/command.h"

/* Takes out of call->errors the names that --anonymize replaces, and what a terminal would not show as it is. */
void wo_show_seal_errors(const struct wo_call *call);

#endif
