/* SPDX-License-Identifier: Apache-2.0 */
/* From proposals to rows, sets, a choice and a verdict. See verify.h. */
#include "cuda_replay/verify/verify.h"

#include <assert.h>
#include <inttypes.h>

#include "cuda_replay/verify/verify_search.h"
#include "cuda_replay/whatif/whatif.h"
#include "parsers/base/limits.h"

/* The most sets that are tried: each takes up to a dozen runs of every recording. */
enum { SETS_MAX = 40, ROWS_MAX = 256 };

struct maker {
  const struct wo_verify_request *request;
  struct wo_verify *verify;
  struct wo_err *err;
};

/* ---- One row ---- */

/* Two changes of one setting, or the same transform twice, would prove an impossible change. */
static bool has_rivals(const struct wo_change *change) {
  for (size_t i = 0; i < change->set_count; i++) {
    for (size_t k = 0; k < i; k++) {
      struct wo_view a = change->sets[i], b = change->sets[k];
      if (wo_view_equal(wo_view_cut(&a, ':'), wo_view_cut(&b, ':'))) return true;
    }
  }
  for (size_t i = 0; i < change->transform_count; i++) {
    for (size_t k = 0; k < i; k++) {
      if (change->transforms[i].transform == change->transforms[k].transform) return true;
    }
  }
  return false;
}

enum wo_status wo_verify_join_changes(const struct wo_proposed_change *const *proposed, size_t count,
                                      struct wo_change *ret_change, struct wo_err *err) {
  struct wo_change change = {0};
  for (size_t i = 0; i < count; i++) {
    const enum wo_status status = wo_change_add_proposed(&change, proposed[i], err);
    if (status != WO_OK) return status;
  }
  if (has_rivals(&change)) return wo_err_set(err, WO_E_USAGE, "they change the same thing");
  *ret_change = change;
  return WO_OK;
}

/* The pattern of states alone gives a lower bound: it cannot show that something fits. */
static void weaken(const struct wo_verify_request *request, struct wo_verify_result *result) {
  if (!request->lacks_activations || result->fit != WO_VERIFY_YES) return;
  result->fit = WO_VERIFY_UNSURE;
  snprintf(result->why, sizeof result->why,
           "the model's states fit at the smallest size that the log allows; the need of activations is not known");
}

/* The change in words, settings included. */
static struct wo_view describe(struct maker *maker, const struct wo_change *change) {
  struct wo_text text = {0};
  wo_change_text(change, &text);
  for (size_t i = 0; i < change->set_count; i++) {
    wo_text_add(&text, "%s", text.len > 0 ? ", " : "");
    wo_text_add_view(&text, change->sets[i]);
  }
  const struct wo_view kept =
      text.is_failed ? (struct wo_view){0} : wo_arena_copy(&maker->verify->arena, (struct wo_view){text.ptr, text.len});
  wo_text_done(&text);
  return kept;
}

/* Writes the value that was judged in place of the proposed one: "length 2048 -> 1536" becomes "length 2048 -> 896". */
static void add_judged(struct wo_text *text, struct wo_view title, const struct wo_scale_axis *proposed, uint32_t judged) {
  char values[64];
  const int length = snprintf(values, sizeof values, "%" PRIu32 " -> %" PRIu32, proposed->from, proposed->to);
  const size_t at = wo_view_find(title, (struct wo_view){values, (size_t)length}, 0);
  const size_t end = at == WO_NOT_FOUND ? title.len : at + (size_t)length;
  wo_text_add_view(text, wo_view_sub(title, 0, at == WO_NOT_FOUND ? title.len : at));
  wo_text_add(text, at == WO_NOT_FOUND ? ", %" PRIu32 " -> %" PRIu32 : "%" PRIu32 " -> %" PRIu32, proposed->from, judged);
  wo_text_add_view(text, wo_view_skip(title, end));
}

/* The title of a row whose search ended at other values than the proposed ones names those: what is printed is what was judged.
 */
static enum wo_status name_judged(struct maker *maker, const struct wo_change *proposed, struct wo_verify_row *row) {
  for (int axis = 0; axis < WO_AXIS_COUNT_; axis++) {
    const struct wo_scale_axis *const ends = &proposed->scale.axes[axis];
    const uint32_t judged = row->replayed.scale.axes[axis].to;
    struct wo_text text = {0};
    if (ends->from == 0 || ends->to == judged) continue;
    add_judged(&text, row->title, ends, judged);
    row->title =
        text.is_failed ? (struct wo_view){0} : wo_arena_copy(&maker->verify->arena, (struct wo_view){text.ptr, text.len});
    wo_text_done(&text);
    if (!row->title.ptr) return wo_err_nomem(maker->err);
  }
  return WO_OK;
}

/* Tries a change and fills the row's figures. shuffles: orders of addresses in addition to two; with 0 the figures are rough. */
static enum wo_status try_row(struct maker *maker, const struct wo_change *change, unsigned shuffles, struct wo_verify_row *row) {
  const struct wo_verify_request *const request = maker->request;
  struct wo_change found = *change;
  const struct wo_verify_search search = {request->subjects, request->subject_count, .keeps_length = row->choice_count > 1,
                                          .shuffles = shuffles};
  enum wo_status status = wo_verify_search_run(&search, &found, &row->result, &row->is_searched, maker->err);
  if (status != WO_OK) return status;
  weaken(request, &row->result);
  row->change = describe(maker, &found);
  row->replayed = found;
  row->is_as_proposed = true;
  for (int axis = 0; axis < WO_AXIS_COUNT_; axis++)
    row->is_as_proposed = row->is_as_proposed && found.scale.axes[axis].to == change->scale.axes[axis].to;
  const enum wo_scale_axis_id length = WO_AXIS_SEQ_LEN;
  row->is_beyond = row->result.fit == WO_VERIFY_YES && found.scale.axes[length].to < change->scale.axes[length].to;
  if (row->is_beyond) row->cost *= 2;
  for (size_t i = 0; i < row->choice_count; i++) {
    row->choices[i].micro_batch = found.scale.axes[WO_AXIS_MICRO_BATCH].to;
    row->choices[i].grad_accum = wo_change_accumulation(&found);
    row->choices[i].seq_len = found.scale.axes[WO_AXIS_SEQ_LEN].to;
  }
  if (!row->change.ptr) return wo_err_nomem(maker->err);
  row->as_proposed = row->result;
  if (row->is_as_proposed || shuffles == 0 || shuffles == WO_VERIFY_YES_ALONE) return WO_OK;
  struct wo_verify_search proposed = search;
  if (request->is_quick) proposed.shuffles = 0;
  status = wo_verify_search_try(&proposed, change, &row->as_proposed, maker->err);
  if (status != WO_OK) return status;
  weaken(request, &row->as_proposed);
  row->is_rough = request->is_quick && row->as_proposed.fit == WO_VERIFY_NO;
  return name_judged(maker, change, row);
}

/* With all orders of addresses. Where time is short, two of them show first whether that is worth it: they show as well that a
 * change does not fit, and not by how much. */
static enum wo_status try_fully(struct maker *maker, const struct wo_change *change, struct wo_verify_row *row) {
  const struct wo_verify_row untried = *row;
  if (maker->request->is_quick) {
    const enum wo_status status = try_row(maker, change, 0, row);
    row->is_rough = row->result.fit == WO_VERIFY_NO;
    if (status != WO_OK || row->is_rough) return status;
    *row = untried;
  }
  return try_row(maker, change, WO_WHATIF_SHUFFLES, row);
}

/* The next row, empty; NULL if the most rows are used. */
static struct wo_verify_row *next_row(struct maker *maker) {
  struct wo_verify *const verify = maker->verify;
  return verify->row_count < ROWS_MAX ? &verify->rows[verify->row_count] : NULL;
}

/* ---- Single fixes ---- */

static void cannot(struct wo_verify_row *row, const char *why) {
  row->result = (struct wo_verify_result){.fit = WO_VERIFY_UNTRIED};
  snprintf(row->result.why, sizeof row->result.why, "%.190s", why);
}

static enum wo_status try_single(struct maker *maker, size_t index) {
  const struct wo_proposal *const proposal = &maker->request->job->proposals[index];
  struct wo_verify_row *const row = next_row(maker);
  struct wo_change change;
  struct wo_err reason = {0};
  if (!row) return WO_OK;
  maker->verify->row_count++;
  row->choices[0].proposal = index;
  row->choice_count = 1;
  row->title = proposal->title;
  row->cost = proposal->cost_rank;
  const struct wo_proposed_change *const proposed = &proposal->change;
  if (proposed->count == 0) return cannot(row, "no replay can show it"), WO_OK;
  if (wo_verify_join_changes(&proposed, 1, &change, &reason) != WO_OK) return cannot(row, reason.message), WO_OK;
  if (maker->request->subject_count == 0) return cannot(row, "there is no pattern to replay"), WO_OK;
  return try_fully(maker, &change, row);
}

/* Whether any proposal changes the micro-batch. */
static bool is_batch_proposed(const struct wo_verify_request *request) {
  for (size_t i = 0; i < request->job->proposal_count; i++) {
    const struct wo_proposed_change *const proposed = &request->job->proposals[i].change;
    for (size_t k = 0; k < proposed->count; k++) {
      if (proposed->parts[k].sort == WO_PROPOSED_MICRO_BATCH) return true;
    }
  }
  return false;
}

/* Users ask about a smaller batch after every failure, so the table answers it even if the diagnosis does not propose it. */
static enum wo_status try_batch(struct maker *maker) {
  const struct wo_verify_request *const request = maker->request;
  const double batch = request->job->sizes.micro_batch;
  struct wo_verify_row *const row = next_row(maker);
  if (!row || request->subject_count == 0 || is_batch_proposed(request) || !(batch >= 2 && batch <= 1e6)) return WO_OK;
  struct wo_change change = {.has_scale = true};
  change.scale.axes[WO_AXIS_MICRO_BATCH] = (struct wo_scale_axis){(uint32_t)batch, 1};
  maker->verify->row_count++;
  row->title = WO_VIEW("smaller micro-batch (not proposed)");
  row->cost = 2;
  return try_fully(maker, &change, row);
}

/* ---- Sets ---- */

/* A set: indices of single rows that were tried and are not enough. */
struct set {
  size_t rows[WO_CHOICES_MAX];
  size_t count;
  unsigned cost;
};

/* Rows that cannot be replayed, or that no proposal has, are in no set. */
static bool is_usable(const struct wo_verify_row *row) {
  return row->choice_count == 1 && row->result.fit != WO_VERIFY_UNTRIED;
}

static bool is_cheaper(const struct set *a, const struct set *b) {
  return a->cost != b->cost ? a->cost < b->cost : a->count < b->count;
}

/* Keeps the SETS_MAX cheapest, in order. */
static void add_set(struct wo_verify *verify, struct set *sets, size_t *count, struct set set) {
  if (*count == SETS_MAX) {
    verify->is_cut = true;
    if (!is_cheaper(&set, &sets[SETS_MAX - 1])) return;
    (*count)--;
  }
  size_t at = (*count)++;
  for (; at > 0 && is_cheaper(&set, &sets[at - 1]); at--) sets[at] = sets[at - 1];
  sets[at] = set;
}

/* As proposed: in a set, the length is not reduced below the proposed one. */
static unsigned cost_of(const struct wo_verify *verify, size_t row) {
  return verify->asked.job->proposals[verify->rows[row].choices[0].proposal].cost_rank;
}

static size_t list_sets(struct wo_verify *verify, size_t singles, struct set *sets) {
  size_t count = 0;
  const struct wo_verify_row *const rows = verify->rows;
  for (size_t a = 0; a < singles; a++) {
    for (size_t b = a + 1; b < singles && is_usable(&rows[a]); b++) {
      if (!is_usable(&rows[b])) continue;
      add_set(verify, sets, &count, (struct set){{a, b}, 2, cost_of(verify, a) + cost_of(verify, b)});
      for (size_t c = b + 1; c < singles; c++) {
        if (is_usable(&rows[c]))
          add_set(verify, sets, &count, (struct set){{a, b, c}, 3, cost_of(verify, a) + cost_of(verify, b) + cost_of(verify, c)});
      }
    }
  }
  return count;
}

/* Fills a row of a set; *ret_fits if it is proven. A set whose parts exclude each other is skipped. Most sets do not fit, and two
 * orders of addresses show that as well as all of them. */
static enum wo_status try_set(struct maker *maker, const struct set *set, bool *ret_fits) {
  struct wo_verify *const verify = maker->verify;
  struct wo_verify_row *const row = next_row(maker);
  const struct wo_proposed_change *proposed[WO_CHOICES_MAX];
  struct wo_text title = {0};
  struct wo_change change;
  struct wo_err reason = {0};
  if (!row) return WO_OK;
  *row = (struct wo_verify_row){.choice_count = set->count, .cost = set->cost};
  for (size_t i = 0; i < set->count; i++) {
    const size_t index = verify->rows[set->rows[i]].choices[0].proposal;
    row->choices[i].proposal = index;
    proposed[i] = &maker->request->job->proposals[index].change;
    wo_text_add(&title, "%s", i > 0 ? " + " : "");
    wo_text_add_view(&title, maker->request->job->proposals[index].title);
  }
  row->title = wo_arena_copy(&verify->arena, (struct wo_view){title.ptr, title.len});
  const bool is_failed = title.is_failed || !row->title.ptr;
  wo_text_done(&title);
  if (is_failed) return wo_err_nomem(maker->err);
  if (wo_verify_join_changes(proposed, set->count, &change, &reason) != WO_OK) return WO_OK;
  verify->sets_tried++;
  const struct wo_verify_row untried = *row;
  enum wo_status status = try_row(maker, &change, WO_VERIFY_YES_ALONE, row);
  if (status == WO_OK && row->result.fit == WO_VERIFY_YES) {
    *row = untried;
    status = try_row(maker, &change, WO_WHATIF_SHUFFLES, row);
  }
  *ret_fits = status == WO_OK && row->result.fit == WO_VERIFY_YES;
  return status;
}

/* The cheapest set that fits gets a row; the others are only counted, since a table of failures helps nobody. */
static enum wo_status try_sets(struct maker *maker, size_t singles) {
  struct set sets[SETS_MAX];
  const size_t count = list_sets(maker->verify, singles, sets);
  for (size_t i = 0; i < count; i++) {
    bool fits = false;
    const enum wo_status status = try_set(maker, &sets[i], &fits);
    if (status != WO_OK) return status;
    if (!fits) continue;
    maker->verify->row_count++;
    return WO_OK;
  }
  return WO_OK;
}

/* ---- Choice and verdict ---- */

static void choose(struct wo_verify *verify) {
  for (size_t i = 0; i < verify->row_count; i++) {
    const struct wo_verify_row *const row = &verify->rows[i];
    if (row->choice_count == 0 && row->result.fit == WO_VERIFY_NO) verify->is_batch_refuted = true;
    if (row->result.fit == WO_VERIFY_NO && row->choice_count == 1 && row->choices[0].micro_batch == 1)
      verify->is_batch_refuted = true;
  }
  verify->chosen = wo_verify_cheapest(verify);
}

/* Whether a fix that a replay could decide is still open. Fixes of another type (a larger card) are never decided here. */
static bool has_open(const struct wo_verify *verify) {
  size_t decided = 0;
  for (size_t i = 0; i < verify->row_count; i++) {
    const struct wo_verify_row *const row = &verify->rows[i];
    if (row->choice_count == 0) continue;
    const struct wo_proposal *const proposal = &verify->asked.job->proposals[row->choices[0].proposal];
    if (row->result.fit == WO_VERIFY_UNSURE) return true;
    if (row->result.fit == WO_VERIFY_UNTRIED && proposal->change.count > 0) return true;
    if (row->result.fit == WO_VERIFY_NO) decided++;
  }
  return decided == 0;
}

/* Whether the model's states alone, whose sizes the log shows, exceed the card: then no batch size can help. This is arithmetic,
 * not a guess. */
static bool is_card_exceeded(const struct wo_verify *verify) {
  return verify->asked.lacks_activations && verify->is_batch_refuted;
}

/* The only function that decides the verdict. */
static enum wo_verify_verdict judge(const struct wo_verify *verify) {
  const struct wo_verify_request *const asked = &verify->asked;
  if (!asked->job->has_gpu_oom) return WO_VERIFY_NO_FAILURE;
  if (asked->subject_count == 0) return WO_VERIFY_NO_PATTERN;
  if (verify->baseline.fit == WO_VERIFY_YES || verify->baseline.gets_past) return WO_VERIFY_NOT_SHOWN;
  if (verify->chosen && !asked->is_reconstructed) return WO_VERIFY_PROVEN;
  if (verify->chosen) return asked->accepts_reconstructed ? WO_VERIFY_ACCEPTED : WO_VERIFY_RECONSTRUCTED;
  if (is_card_exceeded(verify)) return WO_VERIFY_NONE_FITS;
  if (has_open(verify) || (asked->is_reconstructed && !asked->accepts_reconstructed)) return WO_VERIFY_OPEN;
  return WO_VERIFY_NONE_FITS;
}

/* ---- All together ---- */

/* The unchanged job: everything is compared with it, and it shows whether the recording reproduces the failure. */
static enum wo_status try_baseline(struct maker *maker) {
  const struct wo_verify_request *const request = maker->request;
  const struct wo_verify_search search = {request->subjects, request->subject_count,
                                          .shuffles = WO_WHATIF_SHUFFLES};
  if (request->subject_count == 0) return cannot(&(struct wo_verify_row){0}, ""), WO_OK;
  return wo_verify_search_try(&search, NULL, &maker->verify->baseline, maker->err);
}

/* A length far below the proposed one is an unwelcome answer, so sets are tried as well. */
static bool has_fitting(const struct wo_verify *verify) {
  for (size_t i = 0; i < verify->row_count; i++) {
    const struct wo_verify_row *const row = &verify->rows[i];
    if (row->choice_count > 0 && row->result.fit == WO_VERIFY_YES && !row->is_beyond) return true;
  }
  return false;
}

/* If one recording cannot prove anything, no set of fixes is proven either. */
static bool can_prove(const struct wo_verify_request *request) {
  for (size_t i = 0; i < request->subject_count; i++) {
    if (request->subjects[i].is_open || request->subjects[i].why_not_proven[0] != '\0') return false;
  }
  return request->subject_count > 0 && !request->lacks_activations;
}

static enum wo_status make_rows(struct maker *maker) {
  struct wo_verify *const verify = maker->verify;
  enum wo_status status = try_baseline(maker);
  for (size_t i = 0; i < maker->request->job->proposal_count && status == WO_OK; i++) status = try_single(maker, i);
  const size_t singles = verify->row_count;
  if (status == WO_OK) status = try_batch(maker);
  if (status != WO_OK || has_fitting(verify) || !can_prove(maker->request)) return status;
  return try_sets(maker, singles);
}

enum wo_status wo_verify_make(const struct wo_verify_request *request, struct wo_verify *ret_verify, struct wo_err *err) {
  assert(request && request->job && ret_verify && err);
  assert(request->subject_count > 0 || request->refusal.len > 0 || !request->job->has_gpu_oom);
  struct maker maker = {request, ret_verify, err};
  *ret_verify = (struct wo_verify){.asked = *request, .baseline = {.fit = WO_VERIFY_UNTRIED}};
  wo_arena_init(&ret_verify->arena, WO_LIMIT_REPORT_BYTES);
  ret_verify->rows = wo_arena_array(&ret_verify->arena, ROWS_MAX, sizeof *ret_verify->rows);
  enum wo_status status = ret_verify->rows ? WO_OK : wo_err_nomem(maker.err);
  if (status == WO_OK && request->job->has_gpu_oom) status = make_rows(&maker);
  if (status != WO_OK) {
    wo_verify_done(ret_verify);
    return status;
  }
  choose(ret_verify);
  ret_verify->verdict = judge(ret_verify);
  if (!request->gpu) return WO_OK;
  status = wo_verify_confirm(ret_verify, err);
  if (status != WO_OK) wo_verify_done(ret_verify);
  return status;
}

void wo_verify_done(struct wo_verify *verify) {
  if (verify) wo_arena_done(&verify->arena);
}
