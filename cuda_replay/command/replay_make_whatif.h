/* SPDX-License-Identifier: Apache-2.0 */
/* The what-if of `whyoom replay`: other settings, another capacity, other sizes, a changed program. */
#ifndef WO_REPLAY_MAKE_WHATIF_H
#define WO_REPLAY_MAKE_WHATIF_H

#include "cuda_replay/command/replay_args.h"
#include "cuda_replay/command/replay_report.h"

/* Runs the what-if and fills whatif, bounds, baseline, warm and memory over time of the report, whose recording, pattern,
 * classes, settings, version and capacity must be set. A pattern that begins with live memory is repeated until it is steady.
 * WO_E_USAGE and WO_E_RANGE: the recording does not allow the change, or a second recording cannot be read or does not match (the
 * message has the reason); WO_E_NOMEM. */
enum wo_status wo_replay_whatif_run(const struct wo_replay_args *args, struct wo_replay_report *report, struct wo_err *err);

/* The sweep, on the same repeated pattern. */
enum wo_status wo_replay_sweep_run(struct wo_replay_report *report, struct wo_err *err);

#endif
