/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence to the same evidence with the names of people, machines and projects replaced. */
#ifndef WO_EVENT_ANONYMOUS_H
#define WO_EVENT_ANONYMOUS_H

#include "parsers/base/anonymize/overheard.h"
#include "parsers/event/event.h"

/* Learns all names in a store, and those that were overheard (NULL: none), then rewrites the texts of its events, their hosts and
 * their fields. Kinds, numbers, places and the words of rules stay, so that the same is concluded from it. New texts are in the
 * arena; one that finds no room there, or no memory, becomes empty. */
void wo_event_store_anonymize(struct wo_event_store *store, struct wo_pseudonyms *pseudonyms,
                              const struct wo_overheard *overheard, struct wo_arena *arena);

#endif
