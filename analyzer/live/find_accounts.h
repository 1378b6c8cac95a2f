/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for accounting of many jobs in an archive, where it may be anywhere. */
#ifndef WO_FIND_ACCOUNTS_H
#define WO_FIND_ACCOUNTS_H

#include "analyzer/archive/walk.h"
#include "analyzer/scan/accounts.h"

struct wo_account_search {
  const char *const *roots;
  size_t root_count;
  const struct wo_walk_options *walk;
  const volatile sig_atomic_t *is_cancelled; /* NULL: never */
  void *context;
  void (*on_problem)(void *context, const char *path,
                     const struct wo_err *err); /* a file that cannot be read, or not all of it */
};

/* Walks over the roots, looks through each file of accounting, and sorts what it found. WO_E_NOMEM. *ret_accounts is released
 * with wo_accounts_free. */
enum wo_status wo_find_accounts(const struct wo_account_search *search, struct wo_accounts **ret_accounts);

/* Only walks: *ret_mark is another number when such a file is new, gone or changed. WO_E_NOMEM. */
enum wo_status wo_mark_accounts(const struct wo_account_search *search, uint64_t *ret_mark);

#endif
