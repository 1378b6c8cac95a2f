/* SPDX-License-Identifier: Apache-2.0 */
/* What a report counts while it reads the jobs, in a table that ends with the connection. */
#include <string.h>

#include "analyzer/store/store_internal.h"

enum wo_status wo_store_begin_tallies(struct wo_store *store, struct wo_err *err) {
  return wo__store_run(store,
                       "CREATE TEMP TABLE IF NOT EXISTS tally (list INTEGER, key TEXT, detail TEXT, example TEXT, jobs INTEGER,"
                       " failed INTEGER, lost INTEGER, unknown INTEGER); DELETE FROM temp.tally; SAVEPOINT tally",
                       err);
}

enum wo_status wo_store_end_tallies(struct wo_store *store, struct wo_err *err) {
  return wo__store_run(store, "RELEASE tally", err);
}

enum wo_status wo_store_put_tally(struct wo_store *store, const struct wo_store_tally *tally, struct wo_err *err) {
  sqlite3_stmt *const put = wo__store_statement(store, WO__STORE_PUT_TALLY, err);
  if (!put) return store->last_failure;
  sqlite3_bind_int(put, 1, tally->list);
  wo__store_bind_text(put, 2, tally->key);
  wo__store_bind_text(put, 3, tally->detail);
  wo__store_bind_known_text(put, 4, tally->example);
  sqlite3_bind_int64(put, 5, tally->jobs);
  sqlite3_bind_int64(put, 6, tally->failed);
  sqlite3_bind_int64(put, 7, tally->lost_s);
  sqlite3_bind_int64(put, 8, tally->lost_unknown);
  return wo__store_step(store, put, err);
}

/* ---- Tests of the caller ---- */

static void run_test(sqlite3_context *call, int count, sqlite3_value **arguments) {
  const struct wo_store *const store = sqlite3_user_data(call);
  struct wo_view texts[WO_STORE_TEST_TEXTS] = {0};
  for (int i = 0; i < count; i++) {
    const char *const text = (const char *)sqlite3_value_text(arguments[i]);
    if (text) texts[i] = (struct wo_view){text, (size_t)sqlite3_value_bytes(arguments[i])};
  }
  sqlite3_result_int(call, store->test.fn(store->test.context, texts));
}

enum wo_status wo_store_set_test(struct wo_store *store, wo_store_test_fn fn, void *context, struct wo_err *err) {
  store->test.fn = fn;
  store->test.context = context;
  const int code = sqlite3_create_function_v2(store->db, "passes", WO_STORE_TEST_TEXTS, SQLITE_UTF8 | SQLITE_DIRECTONLY, store,
                                              fn ? run_test : NULL, NULL, NULL, NULL);
  return code == SQLITE_OK ? WO_OK : wo__store_fail(store, code, err);
}
