/* SPDX-License-Identifier: Apache-2.0 */
/* Settings to try, and their benefit. See sweep.h.
 *
 * settings.c parses the texts as torch would, so that a row can be pasted exactly as it is. */
#include "cuda_replay/whatif/sweep.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parsers/base/output/shell_words.h"
#include "parsers/base/units.h"

/* One candidate. Order: of equals the earlier one wins, so simple and established settings come first. */
static const struct {
  const char *text;
  uint16_t since;         /* first version with all of its keys */
  double memory_fraction; /* 0 = none is set; garbage collection acts only with one */
} candidates[] = {
    {"", WO_TORCH_OLDEST, 0},
    {"expandable_segments:True", 201, 0},
    {"max_split_size_mb:32", WO_TORCH_OLDEST, 0},
    {"max_split_size_mb:64", WO_TORCH_OLDEST, 0},
    {"max_split_size_mb:128", WO_TORCH_OLDEST, 0},
    {"max_split_size_mb:256", WO_TORCH_OLDEST, 0},
    {"max_split_size_mb:512", WO_TORCH_OLDEST, 0},
    {"max_split_size_mb:1024", WO_TORCH_OLDEST, 0},
    {"roundup_power2_divisions:1", WO_TORCH_OLDEST, 0},
    {"roundup_power2_divisions:2", WO_TORCH_OLDEST, 0},
    {"roundup_power2_divisions:4", WO_TORCH_OLDEST, 0},
    {"roundup_power2_divisions:8", WO_TORCH_OLDEST, 0},
    {"roundup_power2_divisions:[64:8,128:4,256:2,512:1,>:1]", 200, 0},
    {"max_split_size_mb:128,roundup_power2_divisions:8", WO_TORCH_OLDEST, 0},
    {"max_split_size_mb:512,roundup_power2_divisions:8", WO_TORCH_OLDEST, 0},
    {"expandable_segments:True,roundup_power2_divisions:8", 201, 0},
    {"garbage_collection_threshold:0.6", WO_TORCH_OLDEST, 1.0},
    {"garbage_collection_threshold:0.8", WO_TORCH_OLDEST, 1.0},
    {"garbage_collection_threshold:0.8,max_split_size_mb:128", WO_TORCH_OLDEST, 1.0},
    {"large_segment_size_mb:12", 211, 0},
    {"large_segment_size_mb:32", 211, 0},
    {"large_segment_size_mb:64", 211, 0},
    {"expandable_segments:True,large_segment_size_mb:64", 211, 0},
};

enum { CANDIDATES = sizeof candidates / sizeof candidates[0], ROWS_MAX = CANDIDATES + 1 };

/* A difference below this share of the bytes that the recorded settings reserve does not count. */
enum { SAME_PCT = 1 };

/* The environment variable has a new name; the old one still works, and older versions read only the old one. */
enum { TORCH_NEW_VARIABLE = 209 };

struct sweeper {
  const struct wo_alloc_pattern *pattern;
  const struct wo_whatif_options *base;
  struct wo_arena *arena;
  struct wo_sweep_row *rows;
  size_t count;
  uint64_t live_bytes; /* allocated at the peak without a limit: no setting can go below it, except by rounding */
  uint64_t *requests_run;
};

/* ---- Rows ---- */

/* Ignores members that do not affect placement; the divisions have no padding. */
static bool is_same_settings(const struct wo_alloc_settings *a, const struct wo_alloc_settings *b) {
  if (memcmp(a->roundup_divisions, b->roundup_divisions, sizeof a->roundup_divisions) != 0) return false;
  return a->max_split_bytes == b->max_split_bytes && a->max_non_split_rounding_bytes == b->max_non_split_rounding_bytes &&
         a->large_segment_bytes == b->large_segment_bytes && a->garbage_collection_threshold == b->garbage_collection_threshold &&
         a->memory_fraction == b->memory_fraction && a->expandable_segments == b->expandable_segments;
}

/* Runs one setting. The row counts only if it has a result. */
static enum wo_status add_row(struct sweeper *sweeper, const struct wo_alloc_settings *settings, struct wo_view name,
                              const char *needs, struct wo_err *err) {
  assert(sweeper->count < ROWS_MAX);
  struct wo_sweep_row *const row = &sweeper->rows[sweeper->count];
  struct wo_whatif_options options = *sweeper->base;
  options.settings = *settings;
  *row = (struct wo_sweep_row){.text = name.len > 0 ? name : WO_VIEW("default"), .needs = wo_view_of(needs)};
  row->is_recorded = sweeper->count == 0;
  const enum wo_status status = wo_whatif_run(sweeper->pattern, &options, &row->result, sweeper->requests_run, err);
  if (status == WO_OK) sweeper->count++;
  return status;
}

/* The recorded settings are spelled out again, since the original spelling is unknown. The fraction is not in the string:
 * programs set it by a call. */
static enum wo_status add_recorded(struct sweeper *sweeper, struct wo_err *err) {
  struct wo_alloc_settings shown = sweeper->base->settings;
  struct wo_text text = {0};
  shown.memory_fraction = 0;
  wo_alloc_settings_show(&shown, sweeper->base->torch, &text);
  const struct wo_view name = wo_arena_copy(sweeper->arena, (struct wo_view){text.ptr, text.len});
  const bool is_failed = text.is_failed || name.ptr == NULL;
  wo_text_done(&text);
  if (is_failed) return wo_err_nomem(err);
  return add_row(sweeper, &sweeper->base->settings, name, "", err);
}

/* The recorded settings are the first row; a candidate with the same settings is not tried again. */
static enum wo_status run_all(struct sweeper *sweeper, struct wo_err *err) {
  enum wo_status status = add_recorded(sweeper, err);
  for (size_t i = 0; i < CANDIDATES && status == WO_OK; i++) {
    const uint16_t torch = sweeper->base->torch;
    struct wo_alloc_settings settings = wo_alloc_settings_default(torch);
    if (candidates[i].since > torch) continue;
    if (candidates[i].memory_fraction > 0 && sweeper->base->capacity_bytes == 0) continue;
    status = wo_alloc_settings_parse(wo_view_of(candidates[i].text), torch, &settings, err);
    if (status != WO_OK) return status;
    settings.memory_fraction =
        candidates[i].memory_fraction > 0 ? candidates[i].memory_fraction : sweeper->base->settings.memory_fraction;
    if (is_same_settings(&settings, &sweeper->base->settings)) continue;
    const bool needs_fraction = candidates[i].memory_fraction > 0 && sweeper->base->settings.memory_fraction == 0;
    status = add_row(sweeper, &settings, wo_view_of(candidates[i].text),
                     needs_fraction ? "set_per_process_memory_fraction(1.0)" : "", err);
  }
  return status;
}

/* ---- Judging ---- */

/* Compares with the recorded settings, which are row 0 until the rows are sorted. */
static void judge(struct sweeper *sweeper) {
  assert(sweeper->count > 0 && sweeper->rows[0].is_recorded);
  const struct wo_replay_case recorded = sweeper->rows[0].result;
  for (size_t i = 1; i < sweeper->count; i++) {
    struct wo_sweep_row *const row = &sweeper->rows[i];
    const struct wo_replay_case *const result = &row->result;
    const uint64_t spread = recorded.reserved_hi_bytes - recorded.reserved_lo_bytes;
    const uint64_t hundredth = recorded.reserved_hi_bytes / 100 * SAME_PCT;
    const uint64_t slack = spread > hundredth ? spread : hundredth;
    if (result->oom_count != recorded.oom_count) {
      row->worth = result->oom_count > recorded.oom_count ? WO_SWEEP_HARMFUL : WO_SWEEP_BETTER;
    } else if (result->reserved_hi_bytes > recorded.reserved_hi_bytes + slack) {
      /* If nothing fits, reserving more is no disadvantage: the run may have got further. */
      row->worth = result->oom_count == 0 ? WO_SWEEP_HARMFUL : WO_SWEEP_SAME;
    } else if (result->oom_count == 0 && result->reserved_hi_bytes + slack < recorded.reserved_hi_bytes) {
      row->worth = WO_SWEEP_BETTER;
    }
  }
}

/* Fewest failures, then (if all fail) the latest failure, then the fewest reserved bytes. */
static int compare(const void *a_item, const void *b_item) {
  const struct wo_sweep_row *const a = a_item;
  const struct wo_sweep_row *const b = b_item;
  if (a->result.oom_count != b->result.oom_count) return a->result.oom_count < b->result.oom_count ? -1 : 1;
  const uint32_t a_at = a->result.outcome.oom_at, b_at = b->result.outcome.oom_at;
  if (a->result.oom_count > 0 && a_at != b_at) return a_at > b_at ? -1 : 1;
  const uint64_t a_bytes = a->result.reserved_hi_bytes, b_bytes = b->result.reserved_hi_bytes;
  if (a_bytes != b_bytes) return a_bytes < b_bytes ? -1 : 1;
  return 0;
}

/* Stable, since equal rows keep the order of the table; the list is short. */
static void sort(struct wo_sweep_row *rows, size_t count) {
  for (size_t i = 1; i < count; i++) {
    const struct wo_sweep_row row = rows[i];
    size_t at = i;
    for (; at > 0 && compare(&row, &rows[at - 1]) < 0; at--) rows[at] = rows[at - 1];
    rows[at] = row;
  }
}

/* The environment variable, and the call that it requires. */
static struct wo_view write_paste(const struct sweeper *sweeper) {
  const struct wo_sweep_row *const best = &sweeper->rows[0];
  const char *const variable = sweeper->base->torch >= TORCH_NEW_VARIABLE ? "PYTORCH_ALLOC_CONF" : "PYTORCH_CUDA_ALLOC_CONF";
  if (best->worth != WO_SWEEP_BETTER || best->result.oom_count > 0) return (struct wo_view){"", 0};
  struct wo_text line = {0};
  wo_text_add(&line, "export %s=", variable);
  if (!wo_view_is(best->text, "default")) wo_shell_add_word(&line, best->text); /* brackets of a list mean names of files */
  if (best->needs.len > 0) wo_text_add(&line, "   # and %.*s", WO_SHOWN(best->needs));
  const struct wo_view kept =
      line.is_failed ? (struct wo_view){0} : wo_arena_copy(sweeper->arena, (struct wo_view){line.ptr, line.len});
  wo_text_done(&line);
  return kept;
}

/* The gain in terms of the question: whether it fits, else bytes. */
static struct wo_view advise_best(const struct sweeper *sweeper, const struct wo_replay_case *recorded) {
  const struct wo_sweep_row *const best = &sweeper->rows[0];
  const uint64_t before = recorded->reserved_hi_bytes, after = best->result.reserved_hi_bytes;
  const char *const saved = WO_BYTES_TEXT(before > after ? before - after : 0), *const needed = WO_BYTES_TEXT(after);
  if (recorded->oom_count > 0)
    return wo_arena_format(sweeper->arena, "%.*s fits, with %s, and the recorded settings do not", (int)best->text.len,
                           best->text.ptr, needed);
  return wo_arena_format(sweeper->arena, "%.*s reserves %s less: %s", (int)best->text.len, best->text.ptr, saved, needed);
}

/* If nothing helps, the reason matters more: with too much live memory no setting can help, with gaps another one might. */
static struct wo_view advise(const struct sweeper *sweeper, const struct wo_replay_case *recorded) {
  const struct wo_sweep_row *const best = &sweeper->rows[0];
  const uint64_t capacity_bytes = sweeper->base->capacity_bytes;
  const char *const live = WO_BYTES_TEXT(sweeper->live_bytes), *const most = WO_BYTES_TEXT(capacity_bytes);
  if (best->result.oom_count > 0 && sweeper->live_bytes > capacity_bytes)
    return wo_arena_format(sweeper->arena, "no setting helps: %s are live at the peak, and the allocator may take %s", live,
                           most);
  if (best->result.oom_count > 0)
    return wo_arena_format(
        sweeper->arena, "no setting of these helps: %s are live at the peak, which leaves too little of %s for gaps", live, most);
  if (best->worth != WO_SWEEP_BETTER)
    return wo_arena_format(sweeper->arena,
                           "no setting helps: %s are live at the peak, and the recorded settings reserve hardly more than needed",
                           live);
  return advise_best(sweeper, recorded);
}

/* The bytes alive at the peak if nothing is refused. */
static enum wo_status find_live(struct sweeper *sweeper, struct wo_err *err) {
  struct wo_whatif_options options = *sweeper->base;
  struct wo_replay_case result;
  options.capacity_bytes = 0;
  options.settings.memory_fraction = 0;
  options.shuffles = 0;
  const enum wo_status status = wo_whatif_run(sweeper->pattern, &options, &result, sweeper->requests_run, err);
  if (status == WO_OK) sweeper->live_bytes = result.outcome.peak.allocated_bytes;
  return status;
}

/* Everything returned to the caller is in its arena. */
enum wo_status wo_sweep_run(const struct wo_alloc_pattern *pattern, const struct wo_whatif_options *base, struct wo_arena *arena,
                            struct wo_sweep *ret_sweep, uint64_t *requests_run, struct wo_err *err) {
  assert(pattern != NULL && base != NULL && base->start == NULL);
  struct sweeper sweeper = {.pattern = pattern, .base = base, .arena = arena, .requests_run = requests_run};
  sweeper.rows = wo_arena_array(arena, ROWS_MAX, sizeof *sweeper.rows);
  if (!sweeper.rows) return wo_err_nomem(err);
  enum wo_status status = find_live(&sweeper, err);
  if (status == WO_OK) status = run_all(&sweeper, err);
  if (status != WO_OK) return status;
  judge(&sweeper);
  const struct wo_replay_case recorded = sweeper.rows[0].result;
  sort(sweeper.rows, sweeper.count);
  ret_sweep->rows = sweeper.rows;
  ret_sweep->count = sweeper.count;
  ret_sweep->advice = advise(&sweeper, &recorded);
  ret_sweep->paste = write_paste(&sweeper);
  return ret_sweep->advice.ptr && ret_sweep->paste.ptr ? WO_OK : wo_err_nomem(err);
}
