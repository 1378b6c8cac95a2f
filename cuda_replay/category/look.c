/* SPDX-License-Identifier: Apache-2.0 */
/* A recording as people look at it. See look.h. */
#include "cuda_replay/category/look.h"

#include <inttypes.h>
#include <string.h>

/* A part that begins behind the end is a mistake; one that ends behind it is not: people write a large number for "to the end".
 */
static enum wo_status find_window(const struct wo_lives *lives, struct wo_look_part part, struct wo_window *ret_window,
                                  struct wo_err *err) {
  struct wo_window window = wo_lives_all(lives);
  if (part.has_first && part.first >= window.end)
    return wo_err_set(err, WO_E_USAGE, "--from %" PRIu64 ": the recording has %" PRIu32 " entries, counted from 0", part.first,
                      window.end);
  if (part.has_first) window.first = (uint32_t)part.first;
  if (part.has_last && part.last + 1 < window.end) window.end = (uint32_t)part.last + 1;
  *ret_window = window;
  return WO_OK;
}

enum wo_status wo_look_make(const struct wo_recording *recording, const struct wo_trace *trace,
                            const struct wo_alloc_pattern *classed, const struct wo_categories *categories,
                            struct wo_look_part part, struct wo_look *ret_look, struct wo_err *err) {
  struct wo_look look = {.categories = categories};
  enum wo_status status = wo_lives_make(recording, trace, &look.lives);
  if (status == WO_OK) status = wo_lives_classify(&look.lives, classed);
  if (status == WO_OK) status = wo_sites_make(recording, &look.sites);
  if (status == WO_OK) status = wo_categories_set(categories, &look.lives, &look.given_up);
  if (status == WO_E_NOMEM) wo_err_nomem(err);
  if (status == WO_OK) status = find_window(&look.lives, part, &look.window, err);
  if (status != WO_OK) wo_look_done(&look);
  *ret_look = look;
  return status;
}

void wo_look_done(struct wo_look *look) {
  if (look == NULL) return;
  wo_lives_done(&look->lives);
  wo_sites_done(&look->sites);
}

void wo_look_categories(const struct wo_look *look, uint32_t entry, struct wo_sum sums[WO_LIMIT_CATEGORIES + 1]) {
  memset(sums, 0, (WO_LIMIT_CATEGORIES + 1) * sizeof *sums);
  for (size_t i = 0; i < look->lives.blocks.count; i++) {
    const struct wo_life *const life = &look->lives.blocks.items[i];
    if (!wo_life_is_at(life->birth, life->death, entry)) continue;
    sums[life->category].bytes += life->size_bytes;
    sums[life->category].count++;
  }
}
