/* SPDX-License-Identifier: Apache-2.0 */
/* Settings: a key of a knob and its value, in any of the styles that launchers and frameworks print.
 *
 *   a.b.key=value    key: value    "key": value    --key value    --key=value    key ........ value    export KEY=value
 * KEY=value,
 *
 * In front of each comes its path: the structure that the line is in (parsers/formats/common/config_path.h), and who set it, if
 * the line shows it: "effective" (printed by the program after it had read everything), "command" or "environment".
 *
 * The pattern (one per alias of a knob, made by the rule loader) says that the key's text is somewhere in the line. This
 * reader decides whether it really is a setting there: the key must be the whole last part of a dotted name, and a value must
 * follow. */
#include "parsers/formats/settings/setting_internal.h"

/* A comment in a script or in a file of any configuration language sets nothing. `#SBATCH` is no comment. */
static bool is_comment(struct wo_view text) {
  const struct wo_view body = wo_view_trim_start(text);
  if (wo_view_starts(body, "//") || wo_view_starts(body, "; ")) return true;
  return wo_view_starts(body, "#") && !wo_view_starts(body, "#SBATCH");
}

/* A remark after another setting: "lr: 0.1 # was batch_size: 8". */
static bool is_in_remark(const struct wo_setting_place *place) {
  return wo_view_has(place->before, " # ") && !wo_view_has(wo_view_trim(place->before), "\"");
}

/* The text to look for in the line. A short key is looked for by longer texts that hold it ("\"mbs\": "); a found text without it
 * is the key in its other spelling. */
static struct wo_view find_key(struct wo_view key, struct wo_view found) {
  return key.len > 0 && wo_view_find(found, key, 0) != WO_NOT_FOUND ? key : found;
}

/* Whether the pattern found "parent" on behalf of "parent.child", and the line does not hold both in one name. */
static bool is_parent(const struct wo_line *line, struct wo_view key, struct wo_view found) {
  return wo_view_find_char(found, '.', 0) == WO_NOT_FOUND && wo_view_find(line->full, key, 0) == WO_NOT_FOUND;
}

/* A setting takes one line; only a structure stays open. A key may be in a line more than once (a.key=1 b.key=2), and each place
 * is looked at. */
static enum wo_more begin_setting(struct wo_open *open, const struct wo_match *match) {
  const struct wo_view pattern_key = wo__setting_key(open->pattern);
  const struct wo_view found = wo_match_text(match);
  const bool is_dotted = wo_view_find_char(pattern_key, '.', 0) != WO_NOT_FOUND;
  if (is_comment(open->line->text)) return WO_MORE_NO;
  if (is_dotted && is_parent(open->line, pattern_key, found)) {
    return wo__setting_block_begin(open, pattern_key, wo_match_start(match));
  }
  const struct wo_view key = is_dotted ? pattern_key : find_key(pattern_key, found);
  struct wo_setting_place place;
  size_t from = 0;
  int places = 0;
  for (; places < WO_LIMIT_MATCHES_PER_LINE && wo__setting_find_place(open->line->full, key, &from, &place); places++) {
    if (place.before.len >= open->line->own_end) break;
    if (is_in_remark(&place)) break;
    if (!wo__setting_take(open, &place)) break;
  }
  if (places == WO_LIMIT_MATCHES_PER_LINE) wo_scan_note_cap(open->scan, WO_CAP_MATCHES, 1);
  return WO_MORE_NO;
}

/* A construct that begin leaves open belongs to the reader of blocks. */
const struct wo_format wo__format_setting = {
    .name = "setting", .state_bytes = sizeof(struct wo_setting_block), .begin = begin_setting};
