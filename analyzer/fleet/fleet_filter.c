/* SPDX-License-Identifier: Apache-2.0 */
/* Filters as conditions in SQL. See fleet.h. */
#include "analyzer/fleet/fleet_internal.h"

struct wo_fleet_filter wo_fleet_all(void) {
  return (struct wo_fleet_filter){.since_ns = WO_ROW_UNKNOWN, .until_ns = WO_ROW_UNKNOWN};
}

/* " = constant", or " GLOB constant" for a pattern. */
static void add_match(struct wo_text *out, struct wo_view wanted) {
  bool is_pattern = false;
  for (size_t i = 0; i < wanted.len; i++) is_pattern |= wanted.ptr[i] == '*' || wanted.ptr[i] == '?' || wanted.ptr[i] == '[';
  wo_text_add(out, is_pattern ? " GLOB " : " = ");
  wo__add_constant(out, wanted);
}

static void add_equal(struct wo_text *out, const char *column, struct wo_view wanted) {
  if (wanted.len == 0) return;
  wo_text_add(out, " AND %s", column);
  add_match(out, wanted);
}

/* The list of nodes is looked through between commas; a pattern's `*` may then reach over a comma, which lets too much pass only
 * for patterns that have text behind it. */
static void add_node(struct wo_text *out, struct wo_view wanted) {
  if (wanted.len == 0) return;
  wo_text_add(out, " AND (node");
  add_match(out, wanted);
  wo_text_add(out, " OR ',' || nodes || ',' GLOB '*,' || ");
  wo__add_constant(out, wanted);
  wo_text_add(out, " || ',*')");
}

static void add_job(struct wo_text *out, struct wo_view wanted) {
  if (wanted.len == 0) return;
  wo_text_add(out, " AND (job_id");
  add_match(out, wanted);
  wo_text_add(out, " OR array_job");
  add_match(out, wanted);
  wo_text_add(out, " OR (array_job <> '' AND array_job || '_' || array_task");
  add_match(out, wanted);
  wo_text_add(out, ") OR path = ");
  wo__add_constant(out, wanted);
  wo_text_add(out, ")");
}

void wo_fleet_add_where(struct wo_text *out, const struct wo_fleet_filter *filter) {
  wo_text_add(out, "1");
  if (filter->only_failed) wo_text_add(out, " AND is_failed = 1");
  add_equal(out, "cause", filter->cause);
  add_equal(out, "family", filter->family);
  add_equal(out, "outcome", filter->outcome);
  add_equal(out, "user", filter->user);
  add_equal(out, "account", filter->account);
  add_equal(out, "partition", filter->partition);
  add_equal(out, "model", filter->model);
  add_equal(out, "name", filter->name);
  add_node(out, filter->node);
  add_job(out, filter->job);
  if (filter->since_ns != WO_ROW_UNKNOWN) wo_text_add(out, " AND end_ns >= %lld", (long long)filter->since_ns);
  if (filter->until_ns != WO_ROW_UNKNOWN) wo_text_add(out, " AND end_ns < %lld", (long long)filter->until_ns);
}
