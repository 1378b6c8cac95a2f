/* SPDX-License-Identifier: Apache-2.0 */
/* Lines to names. See overheard.h. */
#include "parsers/base/anonymize/overheard.h"

#include "parsers/base/anonymize/pseudonyms_internal.h"
#include "parsers/base/clean.h"
#include "parsers/base/limits.h"

/* Bytes of a line that are read at a time. */
enum { PIECE_BYTES = 4096 };

void wo_overheard_done(struct wo_overheard *overheard) {
  if (!overheard) return;
  wo_pseudonyms_free(overheard->names);
  wo_text_done(&overheard->line);
  *overheard = (struct wo_overheard){0};
}

static bool has_room(const struct wo_pseudonyms *names) {
  return names->names.count < WO_LIMIT_OVERHEARD && !names->is_failed && !names->is_full;
}

/* Long lines are cut at a blank. Colours are taken out: they touch the words behind them. */
static void read_line(struct wo_overheard *overheard, struct wo_view line) {
  char buf[PIECE_BYTES];
  while (line.len > 0 && has_room(overheard->names)) {
    size_t len = line.len < sizeof buf ? line.len : sizeof buf;
    while (len < line.len && len > sizeof buf / 2 && !wo_is_space(line.ptr[len - 1])) len--;
    wo_pseudonyms_learn_text(overheard->names, wo_clean_line(wo_view_sub(line, 0, len), buf, sizeof buf));
    line = wo_view_skip(line, len);
  }
}

void wo_overheard_end(struct wo_overheard *overheard) {
  if (overheard->line.len > 0 && overheard->names)
    read_line(overheard, (struct wo_view){overheard->line.ptr, overheard->line.len});
  overheard->line.len = 0;
}

void wo_overheard_read(struct wo_overheard *overheard, struct wo_view part) {
  if (!overheard->names) overheard->names = wo_pseudonyms_new();
  while (part.len > 0 && overheard->names && has_room(overheard->names)) {
    const size_t end = wo_view_find_char(part, '\n', 0);
    const struct wo_view line = wo_view_sub(part, 0, end);
    if (overheard->line.len == 0 && end != WO_NOT_FOUND)
      read_line(overheard, line);
    else
      wo_text_add_view(&overheard->line, line);
    if (overheard->line.len > 0 && (end != WO_NOT_FOUND || overheard->line.len > WO_LIMIT_LINE_BYTES))
      wo_overheard_end(overheard);
    part = wo_view_skip(part, end == WO_NOT_FOUND ? part.len : end + 1);
  }
}

/* Names that are looked for everywhere alone: others are known by their place. */
void wo_overheard_tell(const struct wo_overheard *overheard, struct wo_pseudonyms *p) {
  for (size_t i = 0; overheard->names && i < overheard->names->names.count; i++) {
    const struct wo_pseudonym *const name = &overheard->names->names.items[i];
    if (name->is_everywhere && p->names.count < WO_LIMIT_PSEUDONYMS / 2) wo__pseudonym(p, name->kind, name->name);
  }
}
