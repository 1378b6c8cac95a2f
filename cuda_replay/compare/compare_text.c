/* SPDX-License-Identifier: Apache-2.0 */
/* What grew between two recordings, for people. See compare.h. */
#include <assert.h>
#include <inttypes.h>

#include "cuda_replay/compare/compare.h"
#include "parsers/base/output/page.h"
#include "parsers/base/units.h"

/* Rows of each list without --verbose; columns of a size. */
enum { ROWS_SHOWN = 12, SIZE_COLUMNS = 12 };

struct writer {
  const struct wo_compare *compare;
  struct wo_page page;
  struct wo_text line;
};

/* ---- Lines ---- */

/* Ends the line that was built. */
static void put(struct writer *w, size_t indent, size_t hanging) {
  wo_text_end_line(&w->line, indent, hanging, w->page.style.width, w->page.out);
}

static void add_count(struct wo_text *out, uint64_t count) {
  wo_text_add(out, "%" PRIu64 " block%s", count, count == 1 ? "" : "s");
}

/* "+1.20 GiB" or "-3.00 MiB". */
static void add_growth(struct wo_text *out, uint64_t before, uint64_t after) {
  char text[48];
  const uint64_t size = after >= before ? after - before : before - after;
  snprintf(text, sizeof text, "%s%s", after > before ? "+" : after < before ? "-" : " ", WO_BYTES_TEXT(size));
  wo_text_add(out, "%*s", SIZE_COLUMNS + 1, text);
}

static void write_side(struct writer *w, int i) {
  const struct wo_compare *const compare = w->compare;
  const struct wo_moment *const moment = &compare->moment[i];
  wo_text_add(&w->line, "%s ", i == 0 ? "A" : "B");
  wo_text_add_clean(&w->line, compare->side[i].path);
  wo_text_add(&w->line, ": %s in use in ", WO_BYTES_TEXT(moment->bytes));
  add_count(&w->line, moment->count);
  if (compare->at == WO_COMPARE_END) {
    wo_text_add(&w->line, " at the end");
    if (moment->entry != WO_NO_ENTRY) wo_text_add(&w->line, ", after entry %" PRIu32, moment->entry);
  } else if (moment->entry == WO_NO_ENTRY) {
    wo_text_add(&w->line, ", at the peak, before the first entry");
  } else {
    wo_text_add(&w->line, " at the peak, after entry %" PRIu32, moment->entry);
  }
  if (compare->side[i].look->lives.unclear_count > 0)
    wo_text_add(&w->line, "; %" PRIu64 " entries contradict others", compare->side[i].look->lives.unclear_count);
  put(w, 0, 2);
}

/* ---- Rows ---- */

/* The later recording names a row, if it has it. */
void wo_compare_name_site(const struct wo_compare *compare, const struct wo_compare_row *row, struct wo_text *out) {
  const int i = row->item[1] == UINT32_MAX ? 0 : 1;
  const struct wo_compare_side *const side = &compare->side[i];
  struct wo_text raw = {0};
  wo_site_show(side->look->lives.recording, &side->look->sites.items.items[row->item[i]], &raw);
  wo_text_add_clean(out, (struct wo_view){raw.ptr, raw.len});
  out->is_failed = out->is_failed || raw.is_failed;
  wo_text_done(&raw);
  if (row->is_line_same || row->item[0] == UINT32_MAX || row->item[1] == UINT32_MAX) return;
  const struct wo_compare_side *const before = &compare->side[0];
  const uint32_t frame = wo_site_frame(&before->look->sites.items.items[row->item[0]]);
  if (frame != WO_NO_FRAME) wo_text_add(out, " (line %u in A)", before->look->lives.recording->frames.items[frame].line);
}

void wo_compare_name_class(const struct wo_compare *compare, const struct wo_compare_row *row, struct wo_text *out) {
  (void)compare;
  wo_class_show((enum wo_alloc_class)row->item[row->item[1] == UINT32_MAX ? 0 : 1], out);
}

void wo_compare_name_category(const struct wo_compare *compare, const struct wo_compare_row *row, struct wo_text *out) {
  const uint32_t item = row->item[row->item[1] == UINT32_MAX ? 0 : 1];
  wo_text_add_clean(out, wo_category_name(compare->categories, (uint8_t)item));
}

static void write_row(struct writer *w, const struct wo_compare_row *row, wo_compare_name_fn name) {
  const uint64_t before = row->sum[0].bytes, after = row->sum[1].bytes;
  add_growth(&w->line, before, after);
  wo_text_add(&w->line, "  ");
  name(w->compare, row, &w->line);
  if (row->sum[0].count == 0) {
    wo_text_add(&w->line, "  (new: ");
    add_count(&w->line, row->sum[1].count);
  } else if (row->sum[1].count == 0) {
    wo_text_add(&w->line, "  (gone: ");
    add_count(&w->line, row->sum[0].count);
  } else {
    wo_text_add(&w->line, "  (%s to %s, ", WO_BYTES_TEXT(before), WO_BYTES_TEXT(after));
    if (row->sum[0].count != row->sum[1].count) wo_text_add(&w->line, "%" PRIu64 " to ", row->sum[0].count);
    add_count(&w->line, row->sum[1].count);
  }
  wo_text_add(&w->line, ")");
  put(w, 0, SIZE_COLUMNS + 5);
}

/* Rows without growth are only counted. */
static void write_rows(struct writer *w, const char *heading, const struct wo_compare_row *rows, size_t count,
                       wo_compare_name_fn name) {
  size_t equal = 0, changed = 0, shown = 0;
  if (count == 0) return;
  for (size_t i = 0; i < count; i++) equal += rows[i].sum[0].bytes == rows[i].sum[1].bytes;
  changed = count - equal;
  wo_text_add(w->page.out, "\n  %s\n", heading);
  /* What shrank stands last: of a long list both ends are shown. */
  const size_t most = w->page.style.is_verbose || changed <= ROWS_SHOWN ? changed : ROWS_SHOWN;
  const size_t from_end = changed > most ? most / 3 : 0;
  for (size_t i = 0, seen = 0; i < count; i++) {
    if (rows[i].sum[0].bytes == rows[i].sum[1].bytes) continue;
    seen++;
    if (seen > most - from_end && seen <= changed - from_end) continue;
    if (seen > most - from_end && shown == most - from_end && changed > most)
      wo_text_add(w->page.out, "        ...  %zu more; --verbose shows them\n", changed - most);
    write_row(w, &rows[i], name);
    shown++;
  }
  if (equal > 0) wo_text_add(w->page.out, "%*s  %zu without a change\n", SIZE_COLUMNS + 1, "=", equal);
}

void wo_compare_text(const struct wo_compare *compare, struct wo_text_style style, struct wo_text *out) {
  struct writer w = {.compare = compare, .page = {out, style}};
  write_side(&w, 0);
  write_side(&w, 1);
  wo_text_add(out, "\n");
  wo_text_add(&w.line, "B less A: ");
  const uint64_t before = compare->moment[0].bytes, after = compare->moment[1].bytes;
  wo_text_add(&w.line, "%s%s",
              after > before   ? "+"
              : after < before ? "-"
                               : "",
              WO_BYTES_TEXT(after >= before ? after - before : before - after));
  wo_text_add(&w.line, " of requested bytes");
  put(&w, 0, 2);
  if (compare->categories->count > 0)
    write_rows(&w, "by category (--where)", compare->categories_rows.items, compare->categories_rows.count,
               wo_compare_name_category);
  write_rows(&w, "by class", compare->classes.items, compare->classes.count, wo_compare_name_class);
  write_rows(&w, "by call site", compare->sites.items, compare->sites.count, wo_compare_name_site);
  out->is_failed = out->is_failed || w.line.is_failed;
  wo_text_done(&w.line);
}
