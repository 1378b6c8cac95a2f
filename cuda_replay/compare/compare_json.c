/* SPDX-License-Identifier: Apache-2.0 */
/* What grew between two recordings, for programs: schema whyoom.replay-diff/1. See compare.h. */
#include <assert.h>

#include "cuda_replay/compare/compare.h"
#include "parsers/base/output/json_out.h"

#ifndef WHYOOM_VERSION
#define WHYOOM_VERSION "unknown"
#endif

/* The most call sites of each end of the list: what grew most is first, and what shrank most last. The others are summed up. */
enum { SITES_EACH = 250 };

struct writer {
  const struct wo_compare *compare;
  struct wo_json_out json;
};

static void put_side(struct writer *w, cJSON *root, const char *key, int i) {
  const struct wo_compare_side *const side = &w->compare->side[i];
  const struct wo_moment *const moment = &w->compare->moment[i];
  cJSON *const object = wo_json_put_object(&w->json, root, key);
  wo_json_put_text(&w->json, object, "path", side->path);
  wo_json_put_count(&w->json, object, "entries", side->look->lives.trace->entries.count);
  wo_json_put_known(&w->json, object, "device", side->look->lives.trace->device);
  wo_json_put_maybe(&w->json, object, "entry", moment->entry != WO_NO_ENTRY, moment->entry);
  wo_json_put_count(&w->json, object, "bytes", moment->bytes);
  wo_json_put_count(&w->json, object, "blocks", moment->count);
  wo_json_put_count(&w->json, object, "contradictions", side->look->lives.unclear_count);
}

/* A difference of bytes: exact, and below zero where it shrank. */
static cJSON *difference(uint64_t before, uint64_t after) {
  char digits[32];
  const uint64_t size = after >= before ? after - before : before - after;
  snprintf(digits, sizeof digits, "%s%llu", after < before ? "-" : "", (unsigned long long)size);
  return cJSON_CreateRaw(digits);
}

static cJSON *push_row(struct writer *w, cJSON *array, const struct wo_compare_row *row) {
  cJSON *const object = wo_json_push(&w->json, array, cJSON_CreateObject());
  wo_json_put(&w->json, object, "growth_bytes", difference(row->sum[0].bytes, row->sum[1].bytes));
  wo_json_put_count(&w->json, object, "before_bytes", row->sum[0].bytes);
  wo_json_put_count(&w->json, object, "after_bytes", row->sum[1].bytes);
  wo_json_put_count(&w->json, object, "before_blocks", row->sum[0].count);
  wo_json_put_count(&w->json, object, "after_blocks", row->sum[1].count);
  return object;
}

/* null: none such in the stacks. */
static void put_frame(struct writer *w, cJSON *object, const char *key, const struct wo_recording *recording, uint32_t frame) {
  cJSON *const item = wo_json_put_part(&w->json, object, key, frame != WO_NO_FRAME);
  if (frame == WO_NO_FRAME) return;
  const struct wo_frame *const shown = &recording->frames.items[frame];
  wo_json_put_text(&w->json, item, "function", shown->function);
  wo_json_put_text(&w->json, item, "file", shown->file);
  wo_json_put_maybe(&w->json, item, "line", shown->line > 0, shown->line);
}

/* null: a site that this recording does not have then; without a stack both frames are null. */
static void put_site(struct writer *w, cJSON *object, const char *key, const struct wo_compare_row *row, int i) {
  const struct wo_look *const look = w->compare->side[i].look;
  cJSON *const site = wo_json_put_part(&w->json, object, key, row->item[i] != UINT32_MAX);
  if (row->item[i] == UINT32_MAX) return;
  const struct wo_stack_sites frames = look->sites.items.items[row->item[i]].frames;
  put_frame(w, site, "frame", look->lives.recording, frames.user);
  put_frame(w, site, "asked_by", look->lives.recording, frames.asker);
}

static void put_sites(struct writer *w, cJSON *root) {
  cJSON *const array = wo_json_put_array(&w->json, root, "sites");
  const size_t count = w->compare->sites.count;
  uint64_t left_out = 0, before_bytes = 0, after_bytes = 0;
  for (size_t i = 0; i < count; i++) {
    const struct wo_compare_row *const row = &w->compare->sites.items[i];
    if (i >= SITES_EACH && i + SITES_EACH < count) {
      before_bytes += row->sum[0].bytes;
      after_bytes += row->sum[1].bytes;
      left_out++;
      continue;
    }
    cJSON *const object = push_row(w, array, row);
    put_site(w, object, "before", row, 0);
    put_site(w, object, "after", row, 1);
  }
  wo_json_put_count(&w->json, root, "sites_left_out", left_out);
  wo_json_put(&w->json, root, "sites_left_out_growth_bytes", difference(before_bytes, after_bytes));
}

static uint32_t item_of(const struct wo_compare_row *row) {
  return row->item[row->item[1] == UINT32_MAX ? 0 : 1];
}

static void put_named(struct writer *w, cJSON *root) {
  const struct wo_compare *const compare = w->compare;
  cJSON *const classes = wo_json_put_array(&w->json, root, "classes");
  for (size_t i = 0; i < compare->classes.count; i++) {
    const struct wo_compare_row *const row = &compare->classes.items[i];
    cJSON *const object = push_row(w, classes, row);
    wo_json_put_name(&w->json, object, "class", wo_alloc_class_name((enum wo_alloc_class)item_of(row)));
  }
  cJSON *const categories = wo_json_put_array(&w->json, root, "categories");
  for (size_t i = 0; i < compare->categories_rows.count; i++) {
    const struct wo_compare_row *const row = &compare->categories_rows.items[i];
    const uint8_t item = (uint8_t)item_of(row);
    cJSON *const object = push_row(w, categories, row);
    wo_json_put_text(&w->json, object, "name", item == 0 ? (struct wo_view){0} : wo_category_name(compare->categories, item));
  }
}

void wo_compare_json(const struct wo_compare *compare, struct wo_text_style style, struct wo_text *out) {
  (void)style;
  struct writer w = {.compare = compare};
  cJSON *const root = cJSON_CreateObject();
  cJSON *const tool = wo_json_put_object(&w.json, root, "tool");
  wo_json_put_name(&w.json, tool, "name", "whyoom");
  wo_json_put_name(&w.json, tool, "version", WHYOOM_VERSION);
  wo_json_put_name(&w.json, root, "schema", "whyoom.replay-diff/1");
  wo_json_put_name(&w.json, root, "at", compare->at == WO_COMPARE_END ? "end" : "peak");
  put_side(&w, root, "a", 0);
  put_side(&w, root, "b", 1);
  wo_json_put(&w.json, root, "growth_bytes", difference(compare->moment[0].bytes, compare->moment[1].bytes));
  put_named(&w, root);
  put_sites(&w, root);
  wo_json_finish(&w.json, root, out);
}
