/* SPDX-License-Identifier: Apache-2.0 */
/* Matches the call sites, classes and categories of two recordings. See compare.h. */
#include "cuda_replay/compare/compare.h"

#include <assert.h>
#include <stdlib.h>

#include "cuda_replay/classes/user_frame.h"

#define NOTHING UINT32_MAX

/* A call site with its sum, to be sorted. */
struct item {
  const struct wo_frame *user;  /* NULL: none of the program's own */
  const struct wo_frame *asker; /* NULL: no stack */
  uint32_t site;
  struct wo_sum sum;
};

/* ---- Sums ---- */

/* The moment of one recording. */
static struct wo_moment find_moment(const struct wo_compare_side *side, enum wo_compare_at at) {
  if (at == WO_COMPARE_PEAK) return wo_lives_peak(&side->look->lives, side->look->window);
  const uint32_t end = side->look->window.end;
  return wo_lives_at(&side->look->lives, end == 0 ? WO_NO_ENTRY : end - 1);
}

static void add(struct wo_sum *sum, const struct wo_life *life) {
  sum->bytes += life->size_bytes;
  sum->count++;
}

/* Sums of the blocks of a moment: of each site, which the caller frees; of each class and each category. NULL if memory is out.
 */
static struct item *sum_up(const struct wo_compare_side *side, struct wo_moment moment, struct wo_sum *classes,
                           struct wo_sum *categories) {
  struct item *const items = calloc(side->look->sites.items.count, sizeof *items);
  if (items == NULL) return NULL;
  for (size_t i = 0; i < side->look->sites.items.count; i++) {
    const struct wo_stack_sites frames = side->look->sites.items.items[i].frames;
    const struct wo_frame *const all = side->look->lives.recording->frames.items;
    items[i] = (struct item){.site = (uint32_t)i};
    if (frames.user != WO_NO_FRAME) items[i].user = &all[frames.user];
    if (frames.asker != WO_NO_FRAME) items[i].asker = &all[frames.asker];
  }
  for (size_t i = 0; i < side->look->lives.blocks.count; i++) {
    const struct wo_life *const life = &side->look->lives.blocks.items[i];
    if (!wo_life_is_at(life->birth, life->death, moment.entry)) continue;
    add(&items[wo_sites_of(&side->look->sites, life->stack)].sum, life);
    add(&classes[life->class_], life);
    add(&categories[life->category], life);
  }
  return items;
}

/* ---- Sites ---- */

static int compare_views(struct wo_view a, struct wo_view b) {
  const size_t len = a.len < b.len ? a.len : b.len;
  const int order = len > 0 ? memcmp(a.ptr, b.ptr, len) : 0;
  return order != 0 ? order : a.len < b.len ? -1 : a.len > b.len;
}

/* By function and file; a frame that is missing comes first. */
static int compare_frames(const struct wo_frame *a, const struct wo_frame *b) {
  if (a == NULL || b == NULL) return (a != NULL) - (b != NULL);
  const int order = compare_views(wo_frame_function_name(a), wo_frame_function_name(b));
  return order != 0 ? order : compare_views(wo_frame_file_name(a), wo_frame_file_name(b));
}

static int compare_places(const struct item *a, const struct item *b) {
  const int order = compare_frames(a->user, b->user);
  return order != 0 ? order : compare_frames(a->asker, b->asker);
}

/* The lines of both frames, as one number by which they are sorted. */
static uint64_t line_of(const struct item *item) {
  const uint64_t user = item->user == NULL ? 0 : item->user->line, asker = item->asker == NULL ? 0 : item->asker->line;
  return user << 32 | asker;
}

static int compare_items(const void *left, const void *right) {
  const struct item *const a = left;
  const struct item *const b = right;
  const int order = compare_places(a, b);
  if (order != 0) return order;
  if (line_of(a) != line_of(b)) return line_of(a) < line_of(b) ? -1 : 1;
  return a->site < b->site ? -1 : a->site > b->site;
}

/* Sites without bytes are left out first: a recording has many that allocate only at other moments. */
static size_t keep_used(struct item *items, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    if (items[i].sum.count > 0) items[kept++] = items[i];
  }
  return kept;
}

static bool push(struct wo_compare *compare, const struct item *before, const struct item *after) {
  if (!WO_VEC_RESERVE(&compare->sites, 1, NOTHING)) return false;
  struct wo_compare_row row = {.item = {NOTHING, NOTHING}};
  if (before != NULL) row.item[0] = before->site, row.sum[0] = before->sum;
  if (after != NULL) row.item[1] = after->site, row.sum[1] = after->sum;
  row.is_line_same = before != NULL && after != NULL && line_of(before) == line_of(after);
  compare->sites.items[compare->sites.count++] = row;
  return true;
}

/* Marks an item as used. */
static void take(struct item *item) {
  item->sum.count = 0;
}

/* One function of one file, with its lines in both recordings: the same line first, then the rest in order. */
static bool match_group(struct wo_compare *compare, struct item *a, size_t a_count, struct item *b, size_t b_count) {
  bool is_whole = true;
  for (size_t i = 0, k = 0; i < a_count && is_whole; i++) {
    while (k < b_count && line_of(&b[k]) < line_of(&a[i])) k++;
    if (k == b_count || line_of(&b[k]) != line_of(&a[i])) continue;
    is_whole = push(compare, &a[i], &b[k]);
    take(&a[i]);
    take(&b[k++]);
  }
  for (size_t i = 0, k = 0; is_whole; i++, k++) {
    while (i < a_count && a[i].sum.count == 0) i++;
    while (k < b_count && b[k].sum.count == 0) k++;
    if (i >= a_count && k >= b_count) break;
    is_whole = push(compare, i < a_count ? &a[i] : NULL, k < b_count ? &b[k] : NULL);
  }
  return is_whole;
}

static bool match_sites(struct wo_compare *compare, struct item *a, size_t a_count, struct item *b, size_t b_count) {
  qsort(a, a_count, sizeof *a, compare_items);
  qsort(b, b_count, sizeof *b, compare_items);
  bool is_whole = true;
  for (size_t i = 0, k = 0; (i < a_count || k < b_count) && is_whole;) {
    const int order = i == a_count ? 1 : k == b_count ? -1 : compare_places(&a[i], &b[k]);
    const struct item *const head = order <= 0 ? &a[i] : &b[k];
    size_t i_end = i, k_end = k;
    while (i_end < a_count && compare_places(&a[i_end], head) == 0) i_end++;
    while (k_end < b_count && compare_places(&b[k_end], head) == 0) k_end++;
    const size_t a_group = i_end - i, b_group = k_end - k;
    is_whole = match_group(compare, a + i, a_group, b + k, b_group);
    i = i_end;
    k = k_end;
  }
  return is_whole;
}

/* ---- Order ---- */

static int64_t growth(const struct wo_compare_row *row) {
  return (int64_t)(row->sum[1].bytes - row->sum[0].bytes);
}

/* Most growth first, what shrank most last. */
static int compare_rows(const void *left, const void *right) {
  const struct wo_compare_row *const a = left;
  const struct wo_compare_row *const b = right;
  if (growth(a) != growth(b)) return growth(a) > growth(b) ? -1 : 1;
  if (a->sum[1].bytes != b->sum[1].bytes) return a->sum[1].bytes > b->sum[1].bytes ? -1 : 1;
  if (a->item[1] != b->item[1]) return a->item[1] < b->item[1] ? -1 : 1;
  return a->item[0] < b->item[0] ? -1 : a->item[0] > b->item[0];
}

/* Rows of items that have the same number in both recordings. `rows` has room for `count`. */
static size_t pair(const struct wo_sum *before, const struct wo_sum *after, size_t count, struct wo_compare_row *rows) {
  size_t made = 0;
  for (size_t i = 0; i < count; i++) {
    if (before[i].count == 0 && after[i].count == 0) continue;
    rows[made] = (struct wo_compare_row){.sum = {before[i], after[i]}};
    rows[made].item[0] = before[i].count > 0 ? (uint32_t)i : NOTHING;
    rows[made++].item[1] = after[i].count > 0 ? (uint32_t)i : NOTHING;
  }
  qsort(rows, made, sizeof *rows, compare_rows);
  return made;
}

enum wo_status wo_compare_make(const struct wo_compare_side side[2], const struct wo_categories *categories,
                               enum wo_compare_at at, struct wo_compare *ret_compare) {
  struct wo_compare compare = {.side = {side[0], side[1]}, .categories = categories, .at = at};
  struct wo_sum classes[2][WO_CLASS_COUNT_] = {0}, named[2][WO_LIMIT_CATEGORIES + 1] = {0};
  struct item *items[2];
  for (int i = 0; i < 2; i++) {
    compare.moment[i] = find_moment(&side[i], at);
    items[i] = sum_up(&side[i], compare.moment[i], classes[i], named[i]);
  }
  bool is_whole = items[0] != NULL && items[1] != NULL && WO_VEC_RESERVE(&compare.classes, WO_CLASS_COUNT_, NOTHING) &&
                  WO_VEC_RESERVE(&compare.categories_rows, WO_LIMIT_CATEGORIES + 1, NOTHING);
  if (is_whole) {
    const size_t a_count = keep_used(items[0], side[0].look->sites.items.count);
    const size_t b_count = keep_used(items[1], side[1].look->sites.items.count);
    is_whole = match_sites(&compare, items[0], a_count, items[1], b_count);
    compare.classes.count = pair(classes[0], classes[1], WO_CLASS_COUNT_, compare.classes.items);
    if (categories->count > 0)
      compare.categories_rows.count = pair(named[0], named[1], categories->count + 1, compare.categories_rows.items);
  }
  if (compare.sites.count > 0) qsort(compare.sites.items, compare.sites.count, sizeof *compare.sites.items, compare_rows);
  free(items[0]);
  free(items[1]);
  if (!is_whole) wo_compare_done(&compare);
  *ret_compare = compare;
  return is_whole ? WO_OK : WO_E_NOMEM;
}

void wo_compare_done(struct wo_compare *compare) {
  if (compare == NULL) return;
  WO_VEC_DONE(&compare->sites);
  WO_VEC_DONE(&compare->classes);
  WO_VEC_DONE(&compare->categories_rows);
  *compare = (struct wo_compare){0};
}
