/* SPDX-License-Identifier: Apache-2.0 */
/* Where both flows meet: what a diagnosis proposes is replayed, and the report says what that shows. Functions open files and
 * print nothing. One call, one thread. */
#ifndef WO_JOINED_H
#define WO_JOINED_H

#include "analyzer/command/commands.h"
#include "cuda_replay/whatif/device_hooks.h"

/* `whyoom [PATH...]`: a report of each job; those with a recording beside their logs are replayed. Hooks: NULL for none. */
enum wo_exit wo_joined_diagnose(const struct wo_call *call, const struct wo_replay_hooks *hooks);

/* `whyoom verify`: the diagnosis gives its proposals, the proof returns its results, and --patch makes the change of the job's
 * files. Hooks: NULL for none. */
enum wo_exit wo_joined_verify(const struct wo_call *call, const struct wo_replay_hooks *hooks);

#endif
