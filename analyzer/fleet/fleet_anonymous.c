/* SPDX-License-Identifier: Apache-2.0 */
/* Names out of a store. See fleet_anonymous.h. */
#include "analyzer/fleet/fleet_anonymous.h"

#include "analyzer/row/row_anonymous.h"
#include "parsers/base/limits.h"

struct copy {
  struct wo_pseudonyms *p;
  struct wo_store *store;
  struct wo_arena arena; /* of one row */
  uint64_t number;
  enum wo_status status;
  struct wo_err *err;
};

/* ---- Learning ---- */

static bool learn_names(void *context, int64_t id, const struct wo_row *row) {
  (void)id;
  wo_row_learn_names(row, ((struct copy *)context)->p);
  return true;
}

static bool learn_texts(void *context, int64_t id, const struct wo_row *row) {
  (void)id;
  wo_row_learn_texts(row, ((struct copy *)context)->p);
  return true;
}

/* ---- Copying ---- */

/* Behind the number of names that are told apart, and in names that differ by their case alone, paths can become the same. */
static enum wo_status keep_apart(struct copy *copy, struct wo_row *row) {
  int64_t id = WO_ROW_UNKNOWN;
  const enum wo_status status = wo_store_find(copy->store, row->path, &id, copy->err);
  if (status == WO_OK && id != WO_ROW_UNKNOWN)
    row->path = wo_arena_format(&copy->arena, "%.*s (%llu)", WO_SHOWN(row->path), (unsigned long long)copy->number);
  return status;
}

static bool copy_row(void *context, int64_t id, const struct wo_row *row) {
  struct copy *const copy = context;
  struct wo_store_job job = {.row = *row, .rules = WO_VIEW("-")};
  (void)id;
  copy->number++;
  wo_arena_init(&copy->arena, WO_LIMIT_REPORT_BYTES);
  wo_row_anonymize(&job.row, copy->p, &copy->arena);
  copy->status = keep_apart(copy, &job.row);
  if (wo_arena_is_exhausted(&copy->arena)) copy->status = wo_err_nomem(copy->err);
  if (copy->status == WO_OK) copy->status = wo_store_put(copy->store, &job, copy->err);
  wo_arena_done(&copy->arena);
  return copy->status == WO_OK;
}

/* Columns: roots, shard, shard_count, rules, start_ns, end_ns, jobs, files, bytes. */
static bool copy_scan(void *context, const struct wo_store_value *values, size_t count) {
  struct copy *const copy = context;
  if (count != 9) return false;
  wo_arena_init(&copy->arena, WO_LIMIT_REPORT_BYTES);
  struct wo_store_scan scan = {.roots = wo_pseudonyms_text(copy->p, values[0].text, &copy->arena),
                               .shard = (uint32_t)values[1].number,
                               .shard_count = (uint32_t)values[2].number,
                               .rules = values[3].text,
                               .start_ns = values[4].number,
                               .end_ns = values[5].type == WO_STORE_NUMBER ? values[5].number : WO_ROW_UNKNOWN,
                               .jobs = values[6].number,
                               .files = values[7].number,
                               .bytes = values[8].number};
  copy->status = wo_store_begin_scan(copy->store, &scan, copy->err);
  if (copy->status == WO_OK && scan.end_ns != WO_ROW_UNKNOWN) copy->status = wo_store_end_scan(copy->store, &scan, copy->err);
  wo_arena_done(&copy->arena);
  return copy->status == WO_OK;
}

/* Columns: path, message. */
static bool copy_problem(void *context, const struct wo_store_value *values, size_t count) {
  struct copy *const copy = context;
  if (count != 2) return false;
  wo_arena_init(&copy->arena, WO_LIMIT_REPORT_BYTES);
  const struct wo_view path = wo_pseudonyms_path(copy->p, values[0].text, &copy->arena);
  const struct wo_view message = wo_pseudonyms_text(copy->p, values[1].text, &copy->arena);
  copy->status = wo_store_put_problem(copy->store, path, message, copy->err);
  wo_arena_done(&copy->arena);
  return copy->status == WO_OK;
}

static enum wo_status copy_all(struct copy *copy, struct wo_store *from, const char *where) {
  static const char scans[] =
      "SELECT roots, shard, shard_count, rules, start_ns, end_ns, jobs, files, bytes FROM scan ORDER BY id";
  enum wo_status status = wo_store_each(from, where, learn_names, copy, copy->err);
  if (status == WO_OK) status = wo_store_each(from, where, learn_texts, copy, copy->err);
  if (status == WO_OK) status = wo_store_ask(from, scans, NULL, 0, copy_scan, copy, copy->err);
  if (status == WO_OK && copy->status == WO_OK) status = wo_store_begin(copy->store, copy->err);
  if (status == WO_OK && copy->status == WO_OK) status = wo_store_each(from, where, copy_row, copy, copy->err);
  if (status == WO_OK && copy->status == WO_OK)
    status = wo_store_ask(from, "SELECT path, message FROM problem ORDER BY path", NULL, 0, copy_problem, copy, copy->err);
  if (status == WO_OK && copy->status == WO_OK) return wo_store_commit(copy->store, copy->err);
  return status != WO_OK ? status : copy->status;
}

enum wo_status wo_fleet_anonymize(struct wo_store *store, const struct wo_fleet_filter *filter, struct wo_pseudonyms *pseudonyms,
                                  struct wo_store **ret_store, struct wo_err *err) {
  struct copy copy = {.p = pseudonyms, .err = err};
  struct wo_text where = {0};
  wo_fleet_add_where(&where, filter);
  wo_text_add_view(&where, (struct wo_view){"", 1});
  enum wo_status status = where.is_failed ? wo_err_nomem(err) : wo_store_open("", WO_STORE_PRIVATE, &copy.store, err);
  if (status == WO_OK) status = copy_all(&copy, store, where.ptr);
  wo_text_done(&where);
  if (status == WO_OK)
    *ret_store = copy.store;
  else
    wo_store_close(copy.store);
  return status;
}
