/* SPDX-License-Identifier: Apache-2.0 */
/* The first screen as text.
 *
 * Each part is written apart, so that the lines of all of them are known before one is shown: the table of further fixes takes
 * what the others leave. A line is cut and not wrapped where wrapping would push the fix off the screen; only what can be pasted
 * is never cut. */
#include <assert.h>

#include "analyzer/report/report_bar.h"
#include "analyzer/screen/screen.h"

enum {
  WIDTH_MIN = 40, /* narrower pages are laid out with this width */
  INDENT = 2,
  LABEL_COLUMNS = 8,
  HEAD_LINES = 12, /* so that the first fix is on line 14 */
  CHANGE_LINES = 8,
  SHORT_LINES = 12, /* of a screen without figures of memory */
  ROWS_WANTED = 2,  /* of further fixes */
  FREES_COLUMNS = 18,
  PRICE_MIN = 8 /* a narrower column says nothing */
};

struct part {
  struct wo_text text;
  struct wo_page page;
};

static struct part begin(struct wo_text_style style) {
  return (struct part){.page = {.style = style}};
}

/* The page writes into the part's own text, whose address is known only here. */
static const struct wo_page *page_of(struct part *part) {
  part->page.out = &part->text;
  return &part->page;
}

static size_t lines_of(const struct part *part) {
  size_t count = 0;
  for (size_t i = 0; i < part->text.len; i++) count += part->text.ptr[i] == '\n';
  return count;
}

static void end_part(struct part *part, struct wo_text *out) {
  wo_text_add_view(out, (struct wo_view){part->text.ptr, part->text.len});
  out->is_failed = out->is_failed || part->text.is_failed;
  wo_text_done(&part->text);
}

/* ---- Lines ---- */

/* The rest of the line: at most that many columns, with ".." where something is left out. Returns the columns written. */
static size_t put_cut(const struct wo_page *page, size_t columns, enum wo_tint tint, struct wo_view text) {
  const size_t whole = wo_text_columns(text);
  if (columns < 4) return 0; /* no line is narrower than two columns */
  if (whole <= columns) {
    wo_page_put(page, tint, text);
    return whole;
  }
  struct wo_view rest = text;
  const struct wo_view line = wo_text_take_line(&rest, columns - 2);
  wo_page_put(page, tint, line);
  wo_page_put(page, tint, WO_VIEW(".."));
  return wo_text_columns(line) + 2;
}

/* A title without its remark, where it has no room for that: "divide the model states (FSDP or ...)", "take it out: it ...". */
static struct wo_view shorten_title(struct wo_view title, size_t columns) {
  static const char *const marks[] = {": ", " (", ", "};
  size_t end = title.len;
  if (wo_text_columns(title) <= columns) return title;
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
    const size_t at = wo_view_find(title, wo_view_of(marks[i]), 0);
    if (at != WO_NOT_FOUND && at > columns / 2 && at < end) end = at;
  }
  return wo_view_sub(title, 0, end);
}

/* Code without the remark behind it, where it has no room for that. */
static struct wo_view shorten_code(struct wo_view code, size_t columns) {
  const size_t at = wo_view_find(code, WO_VIEW("  #"), 0);
  if (wo_text_columns(code) <= columns || at == WO_NOT_FOUND || at == 0) return code;
  return wo_view_trim(wo_view_sub(code, 0, at));
}

/* Where a call in Python goes on in a further line: behind the last comma inside of brackets within the first columns; 0 for
 * none. A command of a shell has no such place. */
static size_t break_of_call(struct wo_view code, size_t columns) {
  size_t depth = 0, found = 0;
  for (size_t i = 0; i < code.len && i < columns; i++) {
    if (strchr("([{", code.ptr[i]) != NULL) depth++;
    if (strchr(")]}", code.ptr[i]) != NULL && depth > 0) depth--;
    if (code.ptr[i] == ',' && depth > 0) found = i + 1;
  }
  return found;
}

/* A line of code that is pasted, in two lines if it is a call that is too long for one. What is still too long is cut where that
 * is seen, since half of it would be another command. */
static void put_code(const struct wo_page *page, size_t indent, struct wo_view code) {
  const size_t room = page->style.width - indent;
  code = shorten_code(code, room);
  const size_t end = wo_text_columns(code) > room ? break_of_call(code, room) : 0;
  if (end > 0) {
    const struct wo_view rest = wo_view_trim(wo_view_skip(code, end));
    wo_page_put(page, WO_TINT_FIX, wo_view_sub(code, 0, end));
    wo_page_break(page, indent + INDENT);
    put_cut(page, room - INDENT, WO_TINT_FIX, shorten_code(rest, room - INDENT));
  } else {
    put_cut(page, room, WO_TINT_FIX, code);
  }
  wo_page_break(page, 0);
}

/* A text of at most so many lines, further ones indented. */
static void put_lines(const struct wo_page *page, size_t column, size_t indent, size_t most, enum wo_tint tint,
                      struct wo_view text) {
  for (size_t i = 0; i < most && text.len > 0; i++) {
    const size_t room = page->style.width - column;
    if (i + 1 == most) {
      put_cut(page, room, tint, text);
      text.len = 0;
    } else {
      wo_page_put(page, tint, wo_text_take_line(&text, room));
      if (text.len > 0) wo_page_break(page, indent);
    }
    column = indent;
  }
  wo_page_break(page, 0);
}

/* "  wanted  2.32 GiB: ..." in at most `most` lines. */
static void put_row(const struct wo_page *page, struct wo_view label, size_t most, struct wo_view text) {
  const size_t indent = INDENT + LABEL_COLUMNS;
  wo_text_repeat(page->out, ' ', INDENT);
  wo_page_put(page, WO_TINT_FAINT, label);
  const size_t used = INDENT + wo_text_columns(label);
  wo_text_repeat(page->out, ' ', used < indent ? indent - used : 1);
  put_lines(page, used < indent ? indent : used + 1, indent, most, WO_TINT_PLAIN, text);
}

/* ---- Parts ---- */

static enum wo_tint tint_of(enum wo_screen_tone tone) {
  return tone == WO_SCREEN_GOOD ? WO_TINT_GOOD : tone == WO_SCREEN_NOTE ? WO_TINT_WARNING : WO_TINT_ERROR;
}

/* "OUT OF GPU MEMORY: the batch is too large                      (likely)" */
static void put_verdict(const struct wo_page *page, const struct wo_screen *screen) {
  const size_t width = page->style.width, last = screen->confidence.len > 0 ? screen->confidence.len + 2 : 0;
  size_t column = wo_page_flow(page, 0, INDENT, tint_of(screen->tone), screen->verdict);
  if (screen->cause.len > 0) {
    wo_page_put(page, WO_TINT_PLAIN, WO_VIEW(": "));
    column = wo_page_flow(page, column + 2, INDENT, WO_TINT_STRONG, screen->cause);
  }
  if (last > 0 && column + 2 + last > width) {
    wo_page_break(page, 0);
    column = 0;
  }
  if (last > 0) {
    wo_text_repeat(page->out, ' ', width - column - last);
    wo_text_add(page->out, "(%.*s)", WO_SHOWN(screen->confidence));
  }
  wo_page_break(page, 0);
}

/* `rows` and the bar are left out as far as the head has no room for them. */
static void put_head(const struct wo_page *page, const struct wo_screen *screen, size_t rows, bool has_bar) {
  put_lines(page, 0, INDENT, 2, WO_TINT_PLAIN, screen->job);
  wo_page_break(page, 0);
  put_verdict(page, screen);
  for (size_t i = 0; i < rows; i++) put_row(page, screen->rows[i].label, 1, screen->rows[i].text);
  if (has_bar) {
    wo_report_bar(page, screen->memory);
    wo_report_legend(page, screen->memory);
  }
  if (screen->quote.len > 0) put_row(page, WO_VIEW("line"), 3, screen->quote);
  if (screen->where.len > 0) put_row(page, WO_VIEW("where"), 2, screen->where);
  if (screen->notes.len > 0) put_row(page, WO_VIEW("note"), 1, screen->notes);
}

/* The head in at most HEAD_LINES: without the bar if need be, then with fewer rows. */
static void make_head(struct part *part, const struct wo_screen *screen) {
  size_t rows = screen->row_count;
  bool has_bar = screen->memory != NULL;
  for (;;) {
    part->text.len = 0;
    put_head(page_of(part), screen, rows, has_bar);
    if (lines_of(part) <= HEAD_LINES || (!has_bar && rows == 0)) return;
    if (has_bar) {
      has_bar = false;
    } else {
      rows--;
    }
  }
}

/* "  run_lora.sh:32  --per_device_train_batch_size   2 -> 1": place and key in columns of their own. */
static void put_change(const struct wo_page *page, const struct wo_screen_change *change, size_t place_columns,
                       size_t key_columns) {
  const bool has_place = place_columns > 0 && (change->place.len > 0 || change->then.len > 0);
  const size_t indent = INDENT + (has_place ? place_columns + 2 : 0);
  wo_text_repeat(page->out, ' ', INDENT);
  if (has_place) {
    wo_page_put(page, WO_TINT_PLACE, change->place);
    wo_text_repeat(page->out, ' ', place_columns + 2 - wo_text_columns(change->place));
  }
  if (change->then.len == 0) {
    put_code(page, indent, change->text);
    return;
  }
  /* A key that leaves its values no room gets a line of its own below its place. */
  const size_t key = wo_text_columns(change->text), now = wo_text_columns(change->now), then = wo_text_columns(change->then);
  const size_t pad = key_columns > key ? key_columns - key : 0;
  const size_t values = now > 0 ? now + then + 6 : then + 2;
  const bool is_wide = indent + key + pad + values > page->style.width;
  if (is_wide && place_columns > 0) wo_page_break(page, INDENT + 2);
  wo_page_put(page, WO_TINT_FIX, change->text);
  if (!is_wide) wo_text_repeat(page->out, ' ', pad);
  const bool has_now = now > 0 && (!is_wide || INDENT + 2 + key + values <= page->style.width);
  wo_text_add(page->out, now == 0 ? "  " : has_now ? "  %.*s -> " : "  -> ", WO_SHOWN(change->now));
  wo_page_put(page, WO_TINT_STRONG, change->then);
  wo_page_break(page, 0);
}

static void put_changes(const struct wo_page *page, const struct wo_screen *screen) {
  size_t place = 0, key = 0;
  for (size_t i = 0; i < screen->change_count; i++) {
    const struct wo_screen_change *const change = &screen->changes[i];
    const size_t columns = wo_text_columns(change->place), text = wo_text_columns(change->text);
    if (columns > place) place = columns;
    if (change->then.len > 0 && text > key) key = text;
  }
  if (place > page->style.width / 2) place = 0;
  const size_t before = page->out->len;
  for (size_t i = 0; i < screen->change_count; i++) {
    struct wo_text *const out = page->out;
    const size_t start = out->len;
    put_change(page, &screen->changes[i], place, key);
    size_t lines = 0;
    for (size_t at = before; at < out->len; at++) lines += out->ptr[at] == '\n';
    if (i == 0 || lines <= CHANGE_LINES - 2) continue;
    out->len = start;
    put_row(page, (struct wo_view){0}, 1, WO_VIEW("and more: -v shows the whole change"));
    return;
  }
  if (screen->more_changes > 0) put_row(page, (struct wo_view){0}, 1, WO_VIEW("and more: -v shows the whole change"));
}

/* The first change under its title, with its price and whether it is enough. */
static void make_first(struct part *part, const struct wo_screen *screen) {
  const struct wo_page *const page = page_of(part);
  const size_t width = page->style.width;
  if (screen->first.number == 0) return;
  wo_page_break(page, 0);
  wo_page_put(page, WO_TINT_STRONG, WO_VIEW("CHANGE FIRST"));
  wo_text_add(page->out, "  ");
  const size_t price = screen->first.price.len > 0 ? wo_text_columns(screen->first.price) + 4 : 0;
  const size_t indent = sizeof "CHANGE FIRST  " - 1;
  struct wo_view title = shorten_title(screen->first.title, width - indent - price);
  if (indent + wo_text_columns(title) + price > width) title = shorten_title(screen->first.title, width - indent);
  const bool fits = indent + wo_text_columns(title) + price <= width;
  const size_t used = put_cut(page, width - indent, WO_TINT_FIX, title);
  if (fits && price > 0) {
    wo_text_repeat(page->out, ' ', width - indent - used - price + 2);
    wo_text_add(page->out, "(%.*s)", WO_SHOWN(screen->first.price));
  }
  wo_page_break(page, 0);
  put_changes(page, screen);
  if (screen->first_verdict.len > 0) {
    wo_text_repeat(page->out, ' ', INDENT);
    put_lines(page, INDENT, INDENT + 2, 1, WO_TINT_PLAIN, screen->first_verdict);
  }
}

/* ---- The table ---- */

/* "  2 * loss and entropy over the vocabulary in pieces  1.2 to 4.7 GiB  same speed" */
static void put_other(const struct wo_page *page, const struct wo_screen_fix *fix, size_t title_columns) {
  const size_t width = page->style.width;
  wo_text_add(page->out, " %2zu %s ", fix->number, fix->is_enough ? "*" : " ");
  const size_t used = put_cut(page, title_columns, WO_TINT_PLAIN, shorten_title(fix->title, title_columns));
  wo_text_repeat(page->out, ' ', title_columns - used + 1);
  wo_page_put(page, WO_TINT_PLAIN, fix->frees);
  const size_t frees = wo_text_columns(fix->frees);
  const size_t room = 6 + title_columns + 1 + FREES_COLUMNS + PRICE_MIN;
  if (fix->price.len > 0 && width >= room) {
    wo_text_repeat(page->out, ' ', frees < FREES_COLUMNS ? FREES_COLUMNS - frees : 1);
    const size_t column = 6 + title_columns + 1 + (frees < FREES_COLUMNS ? FREES_COLUMNS : frees + 1);
    put_cut(page, width > column ? width - column : 0, WO_TINT_PLAIN, fix->price);
  }
  wo_page_break(page, 0);
}

static void put_table(const struct wo_page *page, const struct wo_screen *screen, size_t rows) {
  if (rows == 0) return;
  const size_t width = page->style.width;
  const size_t title = width >= 76 ? width - 42 : width / 2 - 3;
  bool has_enough = false;
  for (size_t i = 0; i < rows; i++) has_enough = has_enough || screen->others[i].is_enough;
  wo_page_break(page, 0);
  const struct wo_view heading = wo_view_of(screen->is_first_proven ? "OTHER WAYS" : "IF NOT ENOUGH");
  wo_page_put(page, WO_TINT_STRONG, heading);
  const char *const mark = has_enough ? "  (* enough alone)" : "";
  wo_text_add(page->out, "%s", mark);
  const size_t column = heading.len + strlen(mark);
  wo_text_repeat(page->out, ' ', 6 + title > column ? 6 + title - column : 1);
  const bool has_price = width >= 6 + title + 1 + FREES_COLUMNS + PRICE_MIN;
  wo_text_add(page->out, has_price ? "frees             price" : "frees");
  wo_page_break(page, 0);
  for (size_t i = 0; i < rows; i++) put_other(page, &screen->others[i], title);
}

/* "ALREADY ON: checkpointing, 16-bit weights.  NOT IT: memory in pieces": in one line if there is room, else in two. */
static void make_facts(struct part *part, const struct wo_screen *screen, bool has_also) {
  const struct wo_page *const page = page_of(part);
  part->text.len = 0;
  if (has_also && screen->also.len > 0) {
    wo_text_add(page->out, "ALSO: ");
    put_lines(page, sizeof "ALSO: " - 1, INDENT, 1, WO_TINT_PLAIN, screen->also);
  }
  const size_t already = wo_text_columns(screen->already), not_it = wo_text_columns(screen->not_it);
  const bool is_one_line = already + not_it + sizeof "ALREADY ON: .  NOT IT: " <= page->style.width;
  if (already > 0) {
    wo_text_add(page->out, "ALREADY ON: ");
    put_cut(page, page->style.width - sizeof "ALREADY ON: " + 1, WO_TINT_PLAIN, screen->already);
    if (!is_one_line || not_it == 0) wo_page_break(page, 0);
  }
  if (not_it > 0) {
    if (already > 0 && is_one_line) wo_text_add(page->out, ".  ");
    wo_text_add(page->out, "NOT IT: ");
    put_cut(page, page->style.width - sizeof "NOT IT: " + 1, WO_TINT_PLAIN, screen->not_it);
    wo_page_break(page, 0);
  }
  if (already + not_it > 0 || screen->settle.len == 0 || screen->tone != WO_SCREEN_FAILURE) return;
  wo_text_add(page->out, "WOULD SETTLE IT: ");
  put_lines(page, sizeof "WOULD SETTLE IT: " - 1, INDENT, 2, WO_TINT_PLAIN, screen->settle);
}

/* A command to paste is never cut: one that is too long for the page is said in words. The line to submit the job with, which has
 * no other words, is an exception. */
static void make_next(struct part *part, const struct wo_screen *screen) {
  const struct wo_page *const page = page_of(part);
  size_t columns = 0;
  for (size_t i = 0; i < screen->next_count; i++) {
    const size_t label = wo_text_columns(screen->next[i].label);
    if (label > columns) columns = label;
  }
  for (size_t i = 0; i < screen->next_count; i++) {
    wo_page_put(page, WO_TINT_FAINT, screen->next[i].label);
    wo_text_add(page->out, ":");
    wo_text_repeat(page->out, ' ', columns - wo_text_columns(screen->next[i].label) + 2);
    const struct wo_screen_next *const next = &screen->next[i];
    const bool fits = columns + 3 + wo_text_columns(next->command) <= page->style.width;
    const bool is_command = next->command.len > 0 && (fits || next->words.len == 0);
    wo_page_put(page, is_command ? WO_TINT_PLACE : WO_TINT_PLAIN, is_command ? next->command : next->words);
    wo_page_break(page, 0);
  }
}

/* The most rows of the table that leave everything else its lines; a heading without rows says nothing. */
static size_t rows_for(size_t lines, size_t count) {
  if (lines < 3 || count == 0) return 0;
  return count < lines - 2 ? count : lines - 2;
}

void wo_screen_text(const struct wo_screen *screen, struct wo_text_style style, struct wo_text *out) {
  assert(screen != NULL && out != NULL);
  if (style.width < WIDTH_MIN) style.width = WIDTH_MIN;
  struct part head = begin(style), first = begin(style), table = begin(style), facts = begin(style), next = begin(style);
  make_head(&head, screen);
  make_first(&first, screen);
  make_facts(&facts, screen, true);
  make_next(&next, screen);
  const size_t most = screen->memory == NULL && screen->row_count == 0 ? SHORT_LINES : WO_SCREEN_LINES;
  const size_t wanted = screen->other_count < ROWS_WANTED ? screen->other_count : ROWS_WANTED;
  size_t fixed = lines_of(&head) + lines_of(&first) + lines_of(&facts) + lines_of(&next) + 1;
  size_t rows = rows_for(most > fixed ? most - fixed : 0, screen->other_count);
  if (rows < wanted && screen->also.len > 0) { /* another fix says more than another cause */
    make_facts(&facts, screen, false);
    fixed = lines_of(&head) + lines_of(&first) + lines_of(&facts) + lines_of(&next) + 1;
    rows = rows_for(most > fixed ? most - fixed : 0, screen->other_count);
  }
  put_table(page_of(&table), screen, rows);
  end_part(&head, out);
  end_part(&first, out);
  end_part(&table, out);
  const bool has_gap = lines_of(&facts) + lines_of(&next) > 0;
  end_part(&facts, out);
  if (has_gap) wo_text_add(out, "\n");
  end_part(&next, out);
}

void wo_screen_oneline(const struct wo_screen *screen, struct wo_text *out) {
  assert(screen != NULL && out != NULL);
  wo_text_add(out, "%.*s; %.*s", WO_SHOWN(screen->job), WO_SHOWN(screen->verdict));
  if (screen->cause.len > 0) wo_text_add(out, ": %.*s", WO_SHOWN(screen->cause));
  if (screen->confidence.len > 0) wo_text_add(out, " (%.*s)", WO_SHOWN(screen->confidence));
  if (screen->first.number > 0) wo_text_add(out, "; first: %.*s", WO_SHOWN(screen->first.title));
  wo_text_add(out, "\n");
}
