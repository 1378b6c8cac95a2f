/* SPDX-License-Identifier: Apache-2.0 */
/* A look at some folders: one scan, whose jobs pass through live_jobs. See follow.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/live/follow_internal.h"
#include "parsers/base/limits.h"
#include "parsers/base/units.h"
#include "parsers/base/vec.h"

/* Looks take at most one part of so many of the time. */
enum { REST_SHARE = 20 };

/* A folder that is written all the time is looked at so often. */
#define REST_NS (WO_NS_PER_S / 2)

/* A folder in which much is to be read is not left alone for longer. */
#define REST_MOST_NS (120 * WO_NS_PER_S)

int64_t wo__follow_rest(int64_t took_ns, bool has_read) {
  const int64_t rest = took_ns > REST_MOST_NS / REST_SHARE ? REST_MOST_NS : took_ns * REST_SHARE;
  return has_read || rest < REST_NS ? REST_NS : rest;
}

/* ---- Folders ---- */

/* The folder that was walked until now rests. */
static void end_folder(struct wo__follow *follow) {
  const int64_t now_ns = wo__follow_now(follow);
  if (follow->folder != WO_HASH_MAP_NONE) {
    struct wo_live_folder *const folder = &follow->folders.items[follow->folder];
    folder->rest_ns = now_ns + wo__follow_rest(now_ns - follow->folder_ns, follow->has_read);
  }
  follow->folder = WO_HASH_MAP_NONE;
  follow->folder_ns = now_ns;
  follow->has_read = false;
}

/* A look goes into the folders it was made for, and into those that are new below them. */
static bool on_folder(void *context, const char *path, bool is_root) {
  struct wo__follow *const follow = context;
  struct wo_live_folders *const folders = &follow->folders;
  uint32_t at = wo_live_folders_find(folders, wo_view_of(path));
  end_folder(follow);
  if (at != WO_HASH_MAP_NONE && !is_root && !follow->is_all) return false;
  if (at == WO_HASH_MAP_NONE) at = wo_live_folders_add(folders, path, follow->root);
  follow->folder = at;
  if (at == WO_HASH_MAP_NONE) {
    follow->is_full = true;
    return true;
  }
  folders->items[at].look = follow->look;
  folders->items[at].look_ns = INT64_MAX;
  return true;
}

/* ---- Jobs ---- */

static void note_read(struct wo__follow *follow, bool is_read) {
  follow->has_read |= is_read;
  follow->jobs_read += is_read;
}

static bool on_found(void *context, const struct wo_walk_job *job, bool is_same) {
  struct wo__follow *const follow = context;
  if (follow->is_first) {
    wo_live_jobs_settle(&follow->jobs, job);
    note_read(follow, !is_same);
    return true;
  }
  const bool is_due =
      wo_live_jobs_see(&follow->jobs, job, follow->folder, is_same, follow->is_accounting, wo__follow_now(follow));
  note_read(follow, is_due && !is_same);
  return is_due;
}

/* The answer that the store has of a failed job since before the following began. */
struct known {
  struct wo_row row;
  struct wo_arena arena;
  bool is_there;
};

static bool take_known(void *context, const struct wo_store_value *values, size_t count) {
  struct known *const known = context;
  if (count != 4 || values[3].number != 1) return false;
  known->row = wo_row_empty();
  known->row.outcome = values[0].text;
  known->row.cause = values[1].text;
  if (values[2].type == WO_STORE_NUMBER) known->row.step = values[2].number;
  known->row.is_failed = 1;
  wo_row_keep(&known->row, &known->arena);
  known->is_there = !wo_arena_is_exhausted(&known->arena);
  return false;
}

static bool on_row(void *context, const struct wo_row *row, bool has_ended) {
  struct wo__follow *const follow = context;
  if (follow->is_first) return true;
  struct known known = {0};
  wo_arena_init(&known.arena, WO_LIMIT_REPORT_BYTES);
  if (follow->settings->is_resumed && follow->status == WO_OK)
    follow->status = wo_store_ask(follow->store, "SELECT outcome, cause, step, is_failed FROM job WHERE path = ?1", &row->path, 1,
                                  take_known, &known, follow->err);
  const enum wo_live_verdict verdict =
      wo_live_jobs_judge(&follow->jobs, row, has_ended, known.is_there ? &known.row : NULL, wo__follow_now(follow));
  wo_arena_done(&known.arena);
  follow->is_news = verdict == WO_LIVE_REPORT;
  return verdict != WO_LIVE_WAIT;
}

static void on_stored(void *context, const struct wo_row *row) {
  struct wo__follow *const follow = context;
  if (follow->is_first || !follow->is_news) return;
  follow->account.reported++;
  if (follow->status == WO_OK && !follow->hooks->on_ended(follow->hooks->context, row)) follow->status = WO_E_IO;
}

/* ---- One root ---- */

static void on_progress(void *context, const struct wo_scan_progress *progress) {
  struct wo__follow *const follow = context;
  const struct wo_scan_hooks *const hooks = follow->scan_hooks;
  follow->hooks->on_tick(follow->hooks->context, wo__follow_now(follow));
  if (follow->is_first && hooks->on_progress) hooks->on_progress(hooks->context, progress);
}

/* The context of the hooks is the caller's, but for progress, which is shown to this room first. */
struct progress_context {
  struct wo__follow *follow;
  const struct wo_scan_hooks *hooks;
};

static int64_t pass_now(void *context) {
  const struct wo_scan_hooks *const hooks = ((struct progress_context *)context)->hooks;
  return hooks->now_ns(hooks->context);
}

static int64_t pass_clock(void *context) {
  const struct wo_scan_hooks *const hooks = ((struct progress_context *)context)->hooks;
  return hooks->clock_ns ? hooks->clock_ns(hooks->context) : WO_ROW_UNKNOWN;
}

static struct wo_view pass_owner(void *context, uint32_t uid) {
  const struct wo_scan_hooks *const hooks = ((struct progress_context *)context)->hooks;
  return hooks->owner ? hooks->owner(hooks->context, uid) : (struct wo_view){0};
}

static bool pass_thread(void *context) {
  const struct wo_scan_hooks *const hooks = ((struct progress_context *)context)->hooks;
  return !hooks->enter_thread || hooks->enter_thread(hooks->context);
}

static void pass_progress(void *context, const struct wo_scan_progress *progress) {
  on_progress(((struct progress_context *)context)->follow, progress);
}

/* Bytes of the paths below a root that are the root's. */
static size_t root_len_of(const char *root) {
  const size_t len = strlen(root);
  return len > 0 && root[len - 1] == '/' ? len : len + 1;
}

/* Scans folders of the present root, or all of it. */
static void scan(struct wo__follow *follow, const char *const *paths, size_t count) {
  const struct wo_scan_live live = {.context = follow,
                                    .accounts = follow->accounts,
                                    .is_part = true,
                                    .on_folder = on_folder,
                                    .on_found = on_found,
                                    .on_row = on_row,
                                    .on_stored = on_stored};
  struct progress_context context = {follow, follow->scan_hooks};
  const struct wo_scan_hooks hooks = {.context = &context,
                                      .now_ns = pass_now,
                                      .clock_ns = pass_clock,
                                      .owner = pass_owner,
                                      .on_progress = pass_progress,
                                      .enter_thread = pass_thread,
                                      .is_cancelled = follow->scan_hooks->is_cancelled};
  struct wo_scan_settings settings = follow->settings->scan;
  struct wo_scan_account account = {0};
  struct wo_text messages = {0};
  settings.roots = paths;
  settings.root_count = count;
  settings.live = &live;
  settings.walk.is_live = true;
  settings.walk.root_len = root_len_of(follow->settings->scan.roots[follow->root]);
  const enum wo_status status = wo_fleet_scan(follow->pack, follow->store, &settings, &hooks, &messages, &account, follow->err);
  if (follow->status == WO_OK) follow->status = status;
  end_folder(follow);
  follow->account.problems += account.problems;
  follow->record.jobs += (int64_t)account.progress.jobs_found;
  follow->record.files += (int64_t)account.walk.files;
  follow->record.bytes += (int64_t)account.progress.bytes_done;
  follow->account.is_short |= follow->is_first && account.was_cancelled;
  wo__follow_say(follow, (struct wo_view){messages.ptr, messages.len});
  wo_text_done(&messages);
}

bool wo__follow_has_root(const struct wo__follow *follow, size_t root) {
  struct stat info;
  return stat(follow->settings->scan.roots[root], &info) == 0 && S_ISDIR(info.st_mode);
}

/* ---- What is due ---- */

struct paths {
  const char **items;
  size_t count, capacity;
};

static bool is_there(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Folders of one root that are due; those that are gone are forgotten. Their paths are copies, since the table may grow. */
static void take_due(struct wo__follow *follow, uint32_t root, struct paths *paths) {
  struct wo_live_folders *const folders = &follow->folders;
  const int64_t now_ns = wo__follow_now(follow);
  for (uint32_t i = 0; i < folders->used; i++) {
    struct wo_live_folder *const folder = &folders->items[i];
    if (!folder->path || folder->root != root || folder->look_ns > now_ns) continue;
    if (!is_there(folder->path)) {
      wo_live_folders_drop(folders, i);
      continue;
    }
    char *const copy = WO_VEC_RESERVE(paths, 1, SIZE_MAX) ? strdup(folder->path) : NULL;
    if (!copy) follow->status = wo_err_nomem(follow->err);
    if (copy) paths->items[paths->count++] = copy;
  }
}

static void look_at_due(struct wo__follow *follow) {
  for (uint32_t root = 0; root < follow->settings->scan.root_count && follow->status == WO_OK; root++) {
    struct paths paths = {0};
    follow->root = root;
    take_due(follow, root, &paths);
    if (paths.count > 0 && follow->status == WO_OK) scan(follow, paths.items, paths.count);
    for (size_t i = 0; i < paths.count; i++) free((char *)(uintptr_t)paths.items[i]);
    free(paths.items);
  }
}

/* Each root is a scan of its own, so that its folders are known by it. */
static void look_at_all(struct wo__follow *follow) {
  const struct wo_scan_settings *const settings = &follow->settings->scan;
  const int64_t begin_ns = wo__follow_now(follow);
  const uint64_t read_before = follow->jobs_read;
  for (uint32_t root = 0; root < settings->root_count && follow->status == WO_OK; root++) {
    follow->root = root;
    if (!wo__follow_has_root(follow, root)) continue;
    scan(follow, &settings->roots[root], 1);
  }
  for (uint32_t i = 0; i < follow->folders.used; i++) {
    if (follow->folders.items[i].path && follow->folders.items[i].look != follow->look &&
        !is_there(follow->folders.items[i].path))
      wo_live_folders_drop(&follow->folders, i);
  }
  const int64_t now_ns = wo__follow_now(follow);
  follow->all_rest_ns = now_ns + wo__follow_rest(now_ns - begin_ns, follow->jobs_read > read_before);
}

/* ---- The look ---- */

static bool was_seen(void *context, uint32_t folder) {
  const struct wo__follow *const follow = context;
  if (follow->is_all || folder == WO_HASH_MAP_NONE) return follow->is_all;
  return !follow->folders.items[folder].path || follow->folders.items[folder].look == follow->look;
}

static void on_due(void *context, uint32_t folder, int64_t due_ns) {
  struct wo__follow *const follow = context;
  if (folder != WO_HASH_MAP_NONE && follow->folders.items[folder].path)
    wo_live_folders_want(&follow->folders, folder, due_ns);
  else if (due_ns < follow->all_ns)
    follow->all_ns = due_ns;
}

void wo__follow_look(struct wo__follow *follow, bool is_all) {
  follow->look++;
  follow->is_all = is_all;
  follow->folder = WO_HASH_MAP_NONE;
  follow->folder_ns = wo__follow_now(follow);
  if (is_all) follow->all_ns = INT64_MAX;
  wo_live_jobs_begin_look(&follow->jobs);
  if (is_all)
    look_at_all(follow);
  else
    look_at_due(follow);
  wo_live_jobs_end_look(&follow->jobs, was_seen, on_due, follow);
  follow->account.open = follow->jobs.open;
  if (follow->jobs.waiting > 0) {
    wo__follow_say(follow, WO_VIEW("whyoom: more jobs are being written than are kept in mind: further ones wait\n"));
    on_due(follow, WO_HASH_MAP_NONE, wo__follow_now(follow) + follow->settings->settle_ns);
  }
}
