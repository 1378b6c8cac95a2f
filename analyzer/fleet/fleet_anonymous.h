/* SPDX-License-Identifier: Apache-2.0 */
/* A store to one without the names of people, machines and projects. */
#ifndef WO_FLEET_ANONYMOUS_H
#define WO_FLEET_ANONYMOUS_H

#include "analyzer/fleet/fleet.h"
#include "parsers/base/anonymize/pseudonyms.h"

/* Copies what reports are made of (scans, the rows that the filter lets pass, what could not be read) into a private store, with
 * pseudonyms: those of all rows are learned first, in the order of paths. Rows whose paths become the same keep apart by a number
 * behind them. The filter has done its work then: it names real names, and nothing in the copy has them. *ret_store is closed by
 * the caller. */
enum wo_status wo_fleet_anonymize(struct wo_store *store, const struct wo_fleet_filter *filter, struct wo_pseudonyms *pseudonyms,
                                  struct wo_store **ret_store, struct wo_err *err);

#endif
