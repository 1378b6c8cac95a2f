/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the JSON report. Private to analyzer/report/report_json*.c, and to tests. */
#ifndef WO_REPORT_JSON_INTERNAL_H
#define WO_REPORT_JSON_INTERNAL_H

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>

#include "analyzer/diagnosis/ladder.h"
#include "parsers/base/output/json_out.h"

/* "e7", or null. Ids are texts so that nobody computes with them; they are valid within one report only. NULL when memory is
 * out. */
static inline cJSON *wo__json_id(wo_event_id id) {
  char text[24];
  if (id == WO_EVENT_NONE) return cJSON_CreateNull();
  snprintf(text, sizeof text, "e%" PRId32, id);
  return cJSON_CreateString(text);
}

/* Puts the ladder as one JSON object under a key of `parent`. */
void wo__json_ladder(struct wo_json_out *out, cJSON *parent, const char *key, const struct wo_ladder *ladder);

#endif
