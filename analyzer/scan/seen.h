/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that are as the store knows them: told before anything else is done for them, since most jobs of most scans are. */
#ifndef WO_SEEN_H
#define WO_SEEN_H

#include "analyzer/archive/walk.h"
#include "analyzer/scan/accounts.h"
#include "analyzer/store/store.h"
#include "parsers/base/vec.h"

/* Room that is kept from one job to the next. */
struct wo_seen {
  WO_VEC(struct wo_store_file) files;
  struct wo_arena texts; /* of accounting */
};

/* Whether the store has a job as it was found, its accounting included. False: it is to be compared. WO_E_NOMEM, or the errors of
 * the store. */
enum wo_status wo_seen_ask(struct wo_seen *seen, struct wo_store *store, struct wo_accounts *accounts,
                           const struct wo_walk_job *found, struct wo_view rules, bool *ret_is_seen, struct wo_err *err);

void wo_seen_done(struct wo_seen *seen);

#endif
