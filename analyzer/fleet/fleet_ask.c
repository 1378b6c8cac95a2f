/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the store, and small readers of answers. See fleet_internal.h. */
#include "analyzer/fleet/fleet_internal.h"

#include <assert.h>

/* Adds the statement with its marks replaced, and a NUL. */
static void add_statement(struct wo_text *out, const struct wo__fleet_maker *maker, const char *sql, const char *key) {
  struct wo_view rest = wo_view_of(sql);
  while (rest.len > 0) {
    const size_t mark = wo_view_find_char(rest, '@', 0);
    wo_text_add_view(out, wo_view_sub(rest, 0, mark));
    if (mark == WO_NOT_FOUND) break;
    rest = wo_view_skip(rest, mark);
    const bool is_where = wo_view_starts(rest, "@where");
    assert(is_where || (key != NULL && wo_view_starts(rest, "@key")));
    wo_text_add_view(out, is_where ? maker->fleet->where : wo_view_of(key));
    rest = wo_view_skip(rest, is_where ? sizeof "@where" - 1 : sizeof "@key" - 1);
  }
  wo_text_add_view(out, (struct wo_view){"", 1});
}

enum wo_status wo__ask_with(struct wo__fleet_maker *maker, const char *sql, const char *key, const struct wo_view *texts,
                            size_t text_count, wo_store_answer_fn fn, void *context) {
  struct wo_text statement = {0};
  add_statement(&statement, maker, sql, key);
  enum wo_status status = statement.is_failed ? wo_err_nomem(maker->err) : WO_OK;
  if (status == WO_OK) status = wo_store_ask(maker->store, statement.ptr, texts, text_count, fn, context, maker->err);
  wo_text_done(&statement);
  if (status == WO_OK && wo_arena_is_exhausted(maker->arena)) status = wo_err_nomem(maker->err);
  return status;
}

enum wo_status wo__ask(struct wo__fleet_maker *maker, const char *sql, const char *key, wo_store_answer_fn fn, void *context) {
  return wo__ask_with(maker, sql, key, NULL, 0, fn, context);
}

int64_t wo__number_of(const struct wo_store_value *value, int64_t otherwise) {
  if (value->type == WO_STORE_NUMBER) return value->number;
  return value->type == WO_STORE_REAL && value->real > -9e18 && value->real < 9e18 ? (int64_t)value->real : otherwise;
}

struct wo_view wo__text_of(struct wo__fleet_maker *maker, const struct wo_store_value *value) {
  if (value->type != WO_STORE_TEXT || value->text.len == 0) return (struct wo_view){0};
  return wo_arena_copy(maker->arena, value->text);
}

struct wo_fleet_sum wo__sum_of(const struct wo_store_value *values) {
  return (struct wo_fleet_sum){.jobs = wo__number_of(&values[0], 0),
                               .failed = wo__number_of(&values[1], 0),
                               .lost_s = wo__number_of(&values[2], 0),
                               .lost_unknown = wo__number_of(&values[3], 0)};
}

void wo_fleet_sum_add(struct wo_fleet_sum *sum, const struct wo_fleet_sum *more) {
  sum->jobs += more->jobs;
  sum->failed += more->failed;
  sum->lost_s += more->lost_s;
  sum->lost_unknown += more->lost_unknown;
}

void wo__add_constant(struct wo_text *out, struct wo_view text) {
  wo_text_add(out, "CAST(x'");
  for (size_t i = 0; i < text.len; i++) wo_text_add(out, "%02x", (unsigned char)text.ptr[i]);
  wo_text_add(out, "' AS TEXT)");
}

bool wo__next_setting(struct wo_view *rest, struct wo_view *ret_knob, struct wo_view *ret_value) {
  while (rest->len > 0) {
    struct wo_view line = wo_view_cut(rest, '\n');
    const size_t equals = wo_view_find_char(line, '=', 0);
    if (equals == WO_NOT_FOUND || equals == 0) continue;
    *ret_knob = wo_view_sub(line, 0, equals);
    *ret_value = wo_view_skip(line, equals + 1);
    return true;
  }
  return false;
}

bool wo__next_node(struct wo_view *rest, struct wo_view *ret_node) {
  while (rest->len > 0) {
    size_t end = 0;
    for (int depth = 0; end < rest->len && (depth > 0 || rest->ptr[end] != ','); end++) {
      depth += rest->ptr[end] == '[' ? 1 : rest->ptr[end] == ']' ? -1 : 0;
    }
    *ret_node = wo_view_trim(wo_view_sub(*rest, 0, end));
    *rest = wo_view_skip(*rest, end + 1);
    if (ret_node->len > 0) return true;
  }
  return false;
}
