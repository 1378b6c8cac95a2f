/* The table of readers, made of the rows in formats.def. */
#include "parsers/scan/format.h"

#define WO_FORMAT(name) extern const struct wo_format wo__format_##name;
#include "parsers/formats/formats.def"
#undef WO_FORMAT

const struct wo_format *const wo_formats[] = {
#define WO_FORMAT(name) &wo__format_##name,
#include "parsers/formats/formats.def"
#undef WO_FORMAT
};

const size_t wo_format_count = sizeof wo_formats / sizeof wo_formats[0];

const struct wo_format *wo_format_find(struct wo_view name) {
  for (size_t i = 0; i < wo_format_count; i++) {
    if (wo_view_is(name, wo_formats[i]->name)) return wo_formats[i];
  }
  return NULL;
}
