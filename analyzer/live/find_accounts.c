/* SPDX-License-Identifier: Apache-2.0 */
/* The walk for accounting. See find_accounts.h. */
#include "analyzer/live/find_accounts.h"

#include <sys/stat.h>

struct finder {
  const struct wo_account_search *search;
  struct wo_accounts *accounts;
  enum wo_status status;
  uint64_t mark;
};

static enum wo_status walk(struct finder *finder, void (*on_accounting)(void *context, const char *path)) {
  const struct wo_account_search *const search = finder->search;
  const struct wo_walk_hooks hooks = {.context = finder, .on_accounting = on_accounting};
  struct wo_walk_counts counts;
  const enum wo_status status = wo_walk(search->roots, search->root_count, search->walk, &hooks, search->is_cancelled, &counts);
  return finder->status == WO_OK ? status : finder->status;
}

static void add_file(void *context, const char *path) {
  struct finder *const finder = context;
  struct wo_err err = {0};
  if (finder->status != WO_OK) return;
  const enum wo_status status = wo_accounts_add(finder->accounts, path, &err);
  if (status == WO_E_NOMEM) finder->status = status;
  if (status != WO_OK && finder->search->on_problem) finder->search->on_problem(finder->search->context, path, &err);
}

enum wo_status wo_find_accounts(const struct wo_account_search *search, struct wo_accounts **ret_accounts) {
  struct finder finder = {.search = search};
  enum wo_status status = wo_accounts_new(&finder.accounts);
  if (status == WO_OK) status = walk(&finder, add_file);
  if (status != WO_OK) {
    wo_accounts_free(finder.accounts);
    return WO_E_NOMEM;
  }
  wo_accounts_sort(finder.accounts);
  *ret_accounts = finder.accounts;
  return WO_OK;
}

/* The sum does not depend on the order. */
static void mark_file(void *context, const char *path) {
  struct finder *const finder = context;
  struct stat info;
  if (stat(path, &info) != 0) return;
  const int64_t numbers[] = {(int64_t)info.st_ino, (int64_t)info.st_size, (int64_t)info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
  const uint64_t hash = wo_view_hash(WO_HASH_START, wo_view_of(path));
  finder->mark += wo_view_hash(hash, (struct wo_view){(const char *)numbers, sizeof numbers});
}

enum wo_status wo_mark_accounts(const struct wo_account_search *search, uint64_t *ret_mark) {
  struct finder finder = {.search = search};
  const enum wo_status status = walk(&finder, mark_file);
  if (status == WO_OK) *ret_mark = finder.mark;
  return status;
}
