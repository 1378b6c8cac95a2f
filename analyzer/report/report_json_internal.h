/* What the parts of the JSON report share. Private to analyzer/report/report_json*.c, and to tests. */
#ifndef WO_REPORT_JSON_INTERNAL_H
#define WO_REPORT_JSON_INTERNAL_H

#include "analyzer/diagnosis/ladder.h"
#include "parsers/base/json_out.h"

/* "e7", or null. Ids are texts so that nobody computes with them; they hold within one report only. NULL when memory is out. */
struct cJSON *wo__json_id(wo_event_id id);

/* Puts the ladder as one JSON object under a key of parent. */
void wo__json_ladder(struct wo_json_out *out, struct cJSON *parent, const char *key, const struct wo_ladder *ladder);

#endif
