/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a job that was found, as the store knows them. See seen.h. */
#include "analyzer/scan/seen.h"

#include "analyzer/files/names.h"
#include "analyzer/scan/batch.h"
#include "parsers/base/limits.h"

static size_t find_accounts(struct wo_seen *seen, struct wo_accounts *accounts, const struct wo_walk_job *found,
                            struct wo_account_text texts[WO_LIMIT_BATCH_ACCOUNTS]) {
  int64_t task = -1;
  if (!accounts || wo_accounts_is_empty(accounts)) return 0;
  wo_arena_done(&seen->texts);
  wo_arena_init(&seen->texts, WO_LIMIT_REPORT_BYTES);
  const struct wo_view id = wo_name_job(wo_view_of(found->files[0].path), &task);
  return wo_accounts_find(accounts, id, task, &seen->texts, texts, WO_LIMIT_BATCH_ACCOUNTS);
}

enum wo_status wo_seen_ask(struct wo_seen *seen, struct wo_store *store, struct wo_accounts *accounts,
                           const struct wo_walk_job *found, struct wo_view rules, bool *ret_is_seen, struct wo_err *err) {
  struct wo_account_text texts[WO_LIMIT_BATCH_ACCOUNTS];
  const size_t count = find_accounts(seen, accounts, found, texts);
  seen->files.count = 0;
  if (wo_arena_is_exhausted(&seen->texts) || !WO_VEC_RESERVE(&seen->files, found->file_count + count, SIZE_MAX))
    return wo_err_nomem(err);
  struct wo_store_file *const files = seen->files.items;
  for (size_t i = 0; i < found->file_count; i++) files[i] = wo_batch_file(&found->files[i]);
  for (size_t i = 0; i < count; i++) files[found->file_count + i] = wo_batch_account_file(&texts[i]);
  return wo_store_knows(store, files[0].path, files, found->file_count + count, rules, ret_is_seen, err);
}

void wo_seen_done(struct wo_seen *seen) {
  WO_VEC_DONE(&seen->files);
  wo_arena_done(&seen->texts);
}
