/* SPDX-License-Identifier: Apache-2.0 */
/* The clock and the messages of a following. See follow_internal.h. */
#include "analyzer/live/follow_internal.h"
#include "parsers/base/command/message.h"
#include "parsers/base/limits.h"

int64_t wo__follow_now(const struct wo__follow *follow) {
  return follow->scan_hooks->now_ns(follow->scan_hooks->context);
}

void wo__follow_say(struct wo__follow *follow, struct wo_view lines) {
  while (lines.len > 0) {
    const struct wo_view line = wo_view_cut(&lines, '\n');
    const uint64_t hash = wo_view_hash(WO_HASH_START, line);
    if (wo_hash_map_get(&follow->said, hash) != WO_HASH_MAP_NONE) continue;
    if (!wo_hash_map_set(&follow->said, hash, 0, WO_LIMIT_LIVE_MESSAGES)) continue;
    wo_text_add_view(follow->errors, line);
    wo_text_add(follow->errors, "\n");
    if (follow->said.count == WO_LIMIT_LIVE_MESSAGES)
      wo_message(follow->errors, (struct wo_view){0}, "further messages of this sort are not shown");
  }
}
