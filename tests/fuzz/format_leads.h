/* SPDX-License-Identifier: Apache-2.0 */
/* The lines that open a reader: the samples of its patterns in the packs; for patterns without samples (the spellings of knobs)
 * their literals. */
#ifndef WO_FUZZ_FORMAT_LEADS_H
#define WO_FUZZ_FORMAT_LEADS_H

#include <stddef.h>

#include "parsers/formats/formats.h"
#include "rules/load/rule.h"

/* The lead of that number among those of the reader's patterns; NULL behind the last. The pack is loaded with WO_LOAD_ALL. */
static inline const struct wo_view *format_lead(const struct wo_pack *pack, const struct wo_format *format, size_t number) {
  for (size_t i = 0; i < pack->sample_count; i++) {
    const struct wo_pattern_samples *const samples = &pack->samples[i];
    if (!wo_view_is(pack->patterns[samples->pattern].reader, format->name)) continue;
    if (number < samples->match_count) return &samples->match[number];
    number -= samples->match_count;
  }
  for (size_t i = pack->own_pattern_count; i < pack->pattern_count; i++) {
    const struct wo_pattern *const pattern = &pack->patterns[i];
    if (!wo_view_is(pattern->reader, format->name)) continue;
    if (number < pattern->literal_count) return &pattern->literals[number];
    number -= pattern->literal_count;
  }
  return NULL;
}

/* How many leads the reader has. */
static inline size_t format_lead_count(const struct wo_pack *pack, const struct wo_format *format) {
  size_t count = 0;
  while (format_lead(pack, format, count) != NULL) count++;
  return count;
}

#endif
