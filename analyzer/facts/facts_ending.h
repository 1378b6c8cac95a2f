/* Facts about the end of a job and about the memory of its host. Parts of wo_facts_make, in files of their own. */
#ifndef WO_FACTS_ENDING_H
#define WO_FACTS_ENDING_H

#include "analyzer/facts/facts.h"

/* Sets the facts "end." and the times and steps of "job." (analyzer/facts/ending.c). Without a failure those of the end stay unknown.
 */
void wo_facts_read_ending(struct wo_facts *facts);

/* Sets host.needed and what the host's memory was made of (analyzer/facts/host.c). Call once the figures of kills and requests are
 * set. */
void wo_facts_read_host_use(struct wo_facts *facts);

#endif
