/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all readers: what the caller of a scan hands to it. */
#ifndef WO_FORMATS_H
#define WO_FORMATS_H

#include "parsers/scan/format.h"

/* One for each row of formats.def, in its order. */
extern const struct wo_formats wo_formats;

#endif
