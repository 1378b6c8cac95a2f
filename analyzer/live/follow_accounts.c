/* SPDX-License-Identifier: Apache-2.0 */
/* Accounting of many jobs, while it grows. See follow_internal.h. */
#include "analyzer/live/follow_internal.h"
#include "analyzer/live/find_accounts.h"
#include "parsers/base/command/message.h"

static void on_problem(void *context, const char *path, const struct wo_err *err) {
  struct wo__follow *const follow = context;
  struct wo_text line = {0};
  wo_message_error(&line, wo_view_of(path), err);
  wo__follow_say(follow, (struct wo_view){line.ptr, line.len});
  wo_text_done(&line);
  follow->account.problems++;
}

static struct wo_account_search make_search(struct wo__follow *follow, struct wo_walk_options *walk) {
  const struct wo_scan_settings *const scan = &follow->settings->scan;
  *walk = scan->walk;
  walk->is_live = true;
  return (struct wo_account_search){scan->roots, scan->root_count, walk, follow->scan_hooks->is_cancelled, follow, on_problem};
}

void wo__follow_read_accounts(struct wo__follow *follow) {
  struct wo_walk_options walk;
  const struct wo_account_search search = make_search(follow, &walk);
  follow->accounts = wo_accounts_free(follow->accounts);
  follow->has_new_accounts = false;
  enum wo_status status = wo_mark_accounts(&search, &follow->accounts_mark);
  if (status == WO_OK) status = wo_find_accounts(&search, &follow->accounts);
  if (status != WO_OK && follow->status == WO_OK) follow->status = wo_err_nomem(follow->err);
}

bool wo__follow_accounts_changed(struct wo__follow *follow) {
  struct wo_walk_options walk;
  const struct wo_account_search search = make_search(follow, &walk);
  uint64_t mark = 0;
  const enum wo_status status = wo_mark_accounts(&search, &mark);
  if (status != WO_OK && follow->status == WO_OK) follow->status = wo_err_nomem(follow->err);
  return status == WO_OK && mark != follow->accounts_mark;
}
