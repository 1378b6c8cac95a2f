/* Call sites. See sites.h. */
#include "cuda_replay/lives/sites.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* No site has been made for a frame. */
#define NO_SITE UINT32_MAX

enum wo_status wo_sites_make(const struct wo_recording *recording, struct wo_sites *ret_sites) {
  const size_t stacks = recording->stacks.count, frames = recording->frames.count;
  struct wo_sites sites = {.of_stack = calloc(stacks + 1, sizeof *sites.of_stack), .stack_count = stacks};
  uint32_t *const of_frame = malloc((frames + 1) * sizeof *of_frame);
  uint8_t *const origins = calloc(frames + 1, sizeof *origins);
  bool is_whole = sites.of_stack != NULL && of_frame != NULL && origins != NULL && WO_VEC_RESERVE(&sites.items, 1, NO_SITE);
  if (is_whole) {
    memset(of_frame, 0xff, (frames + 1) * sizeof *of_frame);
    sites.items.items[sites.items.count++] = (struct wo_site){{WO_NO_FRAME, WO_NO_FRAME}};
  }
  for (size_t i = 0; i < stacks && is_whole; i++) {
    const struct wo_stack_sites found = wo_stack_sites(recording, origins, (uint32_t)i);
    if (found.asker == WO_NO_FRAME) continue;
    if (of_frame[found.asker] == NO_SITE) {
      is_whole = WO_VEC_RESERVE(&sites.items, 1, NO_SITE);
      if (!is_whole) break;
      of_frame[found.asker] = (uint32_t)sites.items.count;
      sites.items.items[sites.items.count++] = (struct wo_site){found};
    }
    sites.of_stack[i] = of_frame[found.asker];
  }
  free(of_frame);
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
  wo_frame_show(recording, site->frames.asker, out);
  if (site->frames.user == WO_NO_FRAME || site->frames.user == site->frames.asker) return;
  wo_text_add(out, " from ");
  wo_frame_show(recording, site->frames.user, out);
}
