/* SPDX-License-Identifier: Apache-2.0 */
/* The loop: wait, hear what changed, look at what is due. See follow.h.
 *
 * Nothing wakes this loop but time: it sleeps a quarter of a second at a time, so that a log that is written a thousand times a
 * second costs as much as one that is written once. */
#include "analyzer/live/follow.h"

#include <stdlib.h>

#include "analyzer/files/grouping.h"
#include "analyzer/live/follow_internal.h"
#include "parsers/base/command/message.h"
#include "parsers/base/limits.h"
#include "parsers/base/units.h"

#define SLICE_NS (WO_NS_PER_S / 4)
#define SLICE_BUSY_NS (WO_NS_PER_S / 50)

/* A root that is gone is looked for so often. */
#define ROOT_NS WO_NS_PER_S

static bool is_over(const struct wo__follow *follow) {
  return follow->status != WO_OK || (follow->scan_hooks->is_cancelled && *follow->scan_hooks->is_cancelled);
}

/* ---- What changed ---- */

static void take_event(struct wo__follow *follow, const struct wo_watch_event *event) {
  const uint32_t at = wo_live_folders_of_watch(&follow->folders, event->watch);
  if (event->kind == WO_WATCH_LOST) follow->is_lost = true;
  if (event->kind == WO_WATCH_LOST || at == WO_HASH_MAP_NONE) return;
  if (event->kind == WO_WATCH_GONE) {
    wo_live_folders_drop(&follow->folders, at);
    return;
  }
  if (event->name.len > 0 && wo_group_is_accounting(event->name)) follow->has_new_accounts = true;
  wo_live_folders_want(&follow->folders, at, wo__follow_now(follow));
}

static void take_events(struct wo__follow *follow) {
  struct wo_watch_event event;
  while (follow->folders.ops && follow->folders.ops->next(follow->folders.watcher, &event)) take_event(follow, &event);
}

/* ---- What is due ---- */

/* Folders that are not watched are all due together. */
static void want_polled(struct wo__follow *follow) {
  for (uint32_t i = 0; i < follow->folders.used; i++) {
    struct wo_live_folder *const folder = &follow->folders.items[i];
    if (folder->path && folder->watch == WO_HASH_MAP_NONE) folder->look_ns = wo__follow_now(follow);
  }
  if (follow->folders.polled > 0 && wo__follow_accounts_changed(follow)) follow->has_new_accounts = true;
  if (follow->is_full) follow->is_lost = true;
}

static bool is_any_due(const struct wo__follow *follow) {
  const int64_t now_ns = wo__follow_now(follow);
  bool is_due = follow->is_lost || follow->has_new_accounts || follow->all_ns <= now_ns;
  for (uint32_t i = 0; i < follow->folders.used && !is_due; i++) is_due = follow->folders.items[i].look_ns <= now_ns;
  return is_due;
}

/* Accounting that has changed is read before anything else, since it may be about any job. */
static void look(struct wo__follow *follow) {
  if (!follow->has_new_accounts && !wo_accounts_are_current(follow->accounts)) follow->has_new_accounts = true;
  const bool is_all = follow->is_lost || follow->has_new_accounts || follow->all_ns <= wo__follow_now(follow);
  const bool has_rested = wo__follow_now(follow) >= follow->all_rest_ns;
  if (follow->has_new_accounts && !has_rested) return;
  follow->is_accounting = follow->has_new_accounts;
  if (follow->has_new_accounts) wo__follow_read_accounts(follow);
  if (follow->status != WO_OK) return;
  if (is_all && has_rested) follow->is_lost = false;
  wo__follow_look(follow, is_all && has_rested);
  follow->is_accounting = false;
}

/* A root that is gone is waited for. */
static void heed_roots(struct wo__follow *follow) {
  const int64_t now_ns = wo__follow_now(follow);
  if (now_ns < follow->roots_ns) return;
  follow->roots_ns = now_ns + ROOT_NS;
  for (size_t i = 0; i < follow->settings->scan.root_count; i++) {
    const struct wo_view root = wo_view_of(follow->settings->scan.roots[i]);
    const bool is_there = wo__follow_has_root(follow, i);
    const uint32_t at = wo_live_folders_find(&follow->folders, root);
    if (!is_there && at != WO_HASH_MAP_NONE) wo_live_folders_drop(&follow->folders, at);
    if (is_there == !follow->is_gone[i]) continue;
    follow->is_gone[i] = !is_there;
    follow->is_lost |= is_there;
    wo_message(follow->errors, root, is_there ? "is back" : "is gone: it is waited for");
  }
}

/* One turn of the loop. The time that polling took decides when it comes again. */
static void turn(struct wo__follow *follow) {
  const int64_t begin_ns = wo__follow_now(follow);
  const uint64_t read_before = follow->jobs_read;
  const bool is_poll = begin_ns >= follow->poll_ns;
  take_events(follow);
  heed_roots(follow);
  if (is_poll) want_polled(follow);
  if (is_any_due(follow)) look(follow);
  if (!is_poll) return;
  const int64_t now_ns = wo__follow_now(follow), rest_ns = wo__follow_rest(now_ns - begin_ns, follow->jobs_read > read_before);
  follow->poll_ns = now_ns + (rest_ns > follow->settings->poll_ns ? rest_ns : follow->settings->poll_ns);
}

/* ---- The whole ---- */

static enum wo_status note_scan(struct wo__follow *follow, bool is_end) {
  const struct wo_scan_hooks *const hooks = follow->scan_hooks;
  const int64_t clock_ns = hooks->clock_ns ? hooks->clock_ns(hooks->context) : WO_ROW_UNKNOWN;
  enum wo_status status = wo_store_begin(follow->store, follow->err);
  if (is_end) follow->record.end_ns = clock_ns;
  if (!is_end) follow->record.start_ns = clock_ns;
  if (status == WO_OK)
    status = is_end ? wo_store_end_scan(follow->store, &follow->record, follow->err)
                    : wo_store_begin_scan(follow->store, &follow->record, follow->err);
  if (status == WO_OK) return wo_store_commit(follow->store, follow->err);
  wo_store_rollback(follow->store);
  return status;
}

static void say_begun(struct wo__follow *follow) {
  const struct wo_live_folders *const folders = &follow->folders;
  struct wo_text line = {0};
  if (folders->is_limited)
    wo_message(follow->errors, (struct wo_view){0},
               "the system allows no more watches (fs.inotify.max_user_watches): further folders are polled");
  if (follow->is_full)
    wo_message(follow->errors, (struct wo_view){0}, "more than %zu folders: all of them are polled", WO_LIMIT_LIVE_FOLDERS);
  wo_text_add(&line, "following %zu %s", folders->count, folders->count == 1 ? "folder" : "folders");
  if (folders->polled > 0)
    wo_text_add(&line, ", %zu of them by looking every %lld s or more", folders->polled,
                (long long)(follow->settings->poll_ns / WO_NS_PER_S));
  wo_message(follow->errors, (struct wo_view){0}, "%.*s", (int)line.len, line.ptr ? line.ptr : "");
  wo_text_done(&line);
}

/* The archive as it is. */
static void begin(struct wo__follow *follow) {
  const struct wo_scan_settings *const scan = &follow->settings->scan;
  struct wo_text roots = {0};
  for (size_t i = 0; i < scan->root_count; i++) wo_text_add(&roots, "%s%s", i > 0 ? "\n" : "", scan->roots[i]);
  follow->record = (struct wo_store_scan){.roots = {roots.ptr, roots.len},
                                          .shard = scan->walk.shard,
                                          .shard_count = scan->walk.shard_count > 0 ? scan->walk.shard_count : 1,
                                          .rules = scan->rules,
                                          .end_ns = WO_ROW_UNKNOWN};
  follow->is_first = !follow->settings->is_resumed && scan->walk.since_ns == WO_WALK_ANY_TIME;
  follow->status = roots.is_failed ? wo_err_nomem(follow->err) : note_scan(follow, false);
  if (follow->status == WO_OK) wo__follow_read_accounts(follow);
  if (follow->status == WO_OK) wo__follow_look(follow, true);
  follow->is_first = false;
  if (!is_over(follow)) follow->status = note_scan(follow, true);
  wo_text_done(&roots);
  follow->record.roots = (struct wo_view){0};
  if (!is_over(follow)) say_begun(follow);
}

static void run(struct wo__follow *follow) {
  const struct wo_follow_hooks *const hooks = follow->hooks;
  begin(follow);
  follow->poll_ns = wo__follow_now(follow) + follow->settings->poll_ns;
  while (!is_over(follow)) {
    const bool is_busy = hooks->on_tick(hooks->context, wo__follow_now(follow));
    hooks->wait(hooks->context, is_busy ? SLICE_BUSY_NS : SLICE_NS);
    if (!is_over(follow)) turn(follow);
  }
}

enum wo_status wo_follow(const struct wo_pack *pack, struct wo_store *store, const struct wo_follow_settings *settings,
                         const struct wo_scan_hooks *scan_hooks, const struct wo_follow_hooks *hooks, struct wo_text *errors,
                         struct wo_follow_account *ret_account, struct wo_err *err) {
  struct wo__follow follow = {.pack = pack,
                              .store = store,
                              .settings = settings,
                              .scan_hooks = scan_hooks,
                              .hooks = hooks,
                              .errors = errors,
                              .folders = {.ops = hooks->watch, .watcher = hooks->watcher},
                              .all_ns = INT64_MAX,
                              .is_gone = calloc(settings->scan.root_count, sizeof *follow.is_gone),
                              .err = err};
  wo_live_jobs_init(&follow.jobs, settings->settle_ns);
  if (!follow.is_gone) return wo_err_nomem(err);
  run(&follow);
  wo_live_jobs_done(&follow.jobs);
  wo_live_folders_done(&follow.folders);
  wo_hash_map_done(&follow.said);
  wo_accounts_free(follow.accounts);
  free(follow.is_gone);
  *ret_account = follow.account;
  return follow.status;
}
