/* SPDX-License-Identifier: Apache-2.0 */
/* Call sites. See sites.h. */
#include "cuda_replay/lives/sites.h"

#include <assert.h>
#include <stdlib.h>

/* A stack with its frames, to be sorted. */
struct found {
  struct wo_stack_sites frames;
  uint32_t stack;
};

static bool are_same(const struct found *a, const struct found *b) {
  return a->frames.user == b->frames.user && a->frames.asker == b->frames.asker;
}

static int compare(const void *left, const void *right) {
  const struct found *const a = left;
  const struct found *const b = right;
  if (a->frames.user != b->frames.user) return a->frames.user < b->frames.user ? -1 : 1;
  if (a->frames.asker != b->frames.asker) return a->frames.asker < b->frames.asker ? -1 : 1;
  return a->stack < b->stack ? -1 : a->stack > b->stack;
}

/* Equal frames follow each other. Stacks of nothing belong to site 0. False if memory is out. */
static bool make_sites(struct wo_sites *sites, struct found *found, size_t count) {
  if (!WO_VEC_RESERVE(&sites->items, 1, UINT32_MAX)) return false;
  sites->items.items[sites->items.count++] = (struct wo_site){{WO_NO_FRAME, WO_NO_FRAME}};
  if (count > 0) qsort(found, count, sizeof *found, compare);
  for (size_t i = 0; i < count; i++) {
    if (found[i].frames.asker == WO_NO_FRAME) continue;
    if (i == 0 || !are_same(&found[i], &found[i - 1])) {
      if (!WO_VEC_RESERVE(&sites->items, 1, UINT32_MAX)) return false;
      sites->items.items[sites->items.count++] = (struct wo_site){found[i].frames};
    }
    sites->of_stack[found[i].stack] = (uint32_t)(sites->items.count - 1);
  }
  return true;
}

enum wo_status wo_sites_make(const struct wo_recording *recording, struct wo_sites *ret_sites) {
  const size_t stacks = recording->stacks.count;
  struct wo_sites sites = {.of_stack = calloc(stacks + 1, sizeof *sites.of_stack), .stack_count = stacks};
  struct found *const found = malloc((stacks + 1) * sizeof *found);
  uint8_t *const origins = calloc(recording->frames.count + 1, sizeof *origins);
  bool is_whole = sites.of_stack != NULL && found != NULL && origins != NULL;
  for (size_t i = 0; i < stacks && is_whole; i++)
    found[i] = (struct found){wo_stack_sites(recording, origins, (uint32_t)i), (uint32_t)i};
  is_whole = is_whole && make_sites(&sites, found, stacks);
  free(found);
  free(origins);
  if (!is_whole) wo_sites_done(&sites);
  *ret_sites = sites;
  return is_whole ? WO_OK : WO_E_NOMEM;
}

void wo_sites_done(struct wo_sites *sites) {
  if (sites == NULL) return;
  WO_VEC_DONE(&sites->items);
  free(sites->of_stack);
  *sites = (struct wo_sites){0};
}

void wo_frame_show(const struct wo_recording *recording, uint32_t frame, struct wo_text *out) {
  if (frame == WO_NO_FRAME) {
    wo_text_add(out, "no stack recorded");
    return;
  }
  const struct wo_frame *const shown = &recording->frames.items[frame];
  const struct wo_view file = wo_frame_file_name(shown);
  wo_text_add_view(out, wo_frame_function_name(shown));
  if (file.len == 0 || wo_view_is(file, "??")) return;
  wo_text_add(out, " ");
  wo_text_add_view(out, file);
  if (shown->line > 0) wo_text_add(out, ":%u", shown->line);
}

void wo_site_show(const struct wo_recording *recording, const struct wo_site *site, struct wo_text *out) {
  const uint32_t frame = wo_site_frame(site);
  wo_frame_show(recording, frame, out);
  if (site->frames.asker == frame) return;
  wo_text_add(out, " in ");
  wo_frame_show(recording, site->frames.asker, out);
}

/* "unknown" would look like the name of a class. */
void wo_class_show(enum wo_alloc_class class_, struct wo_text *out) {
  const char *name = class_ == WO_CLASS_UNKNOWN ? "not classified" : wo_alloc_class_name(class_);
  for (; *name != '\0'; name++) wo_text_add(out, "%c", *name == '_' ? ' ' : *name);
}
