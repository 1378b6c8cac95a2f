/* SPDX-License-Identifier: Apache-2.0 */
/* The table of readers, made of the rows in formats.def. */
#include "parsers/formats/formats.h"

#define WO_FORMAT(name) extern const struct wo_format wo__format_##name;
#include "parsers/formats/formats.def"
#undef WO_FORMAT

static const struct wo_format *const items[] = {
#define WO_FORMAT(name) &wo__format_##name,
#include "parsers/formats/formats.def"
#undef WO_FORMAT
};

const struct wo_formats wo_formats = {.items = items, .count = sizeof items / sizeof items[0]};
