/* SPDX-License-Identifier: Apache-2.0 */
/* The recording as it was: replayed with its own settings from its own start, compared, and analysed. */
#ifndef WO_REPLAY_MAKE_RECORDED_H
#define WO_REPLAY_MAKE_RECORDED_H

#include "cuda_replay/command/replay_report.h"

/* Compares a replay with the recording (report->check), once: a second call only repeats its status. Needs the recording and the
 * version; an assumed version is replaced by the one that agrees. Recordings without addresses are not compared. Failures as
 * below. */
enum wo_status wo_replay_recorded_check(struct wo_replay_report *report, struct wo_err *err);

/* Compares a replay with the recording, and runs it again for the peaks and the memory over time
 * (report->recorded, report->memory). The report must have the recording, the start, the pattern and the version.
 * Recordings without addresses are not compared, and run with invented ones.
 * WO_E_RANGE and WO_E_USAGE: the recording cannot be replayed, with the reason; WO_E_NOMEM. */
enum wo_status wo_replay_recorded_run(struct wo_replay_report *report, struct wo_err *err);

/* The allocator's segments and blocks after an entry: after the last request of this entry or an earlier one. The map is released
 * with wo_segment_map_done after WO_OK only. Failures as above. */
enum wo_status wo_replay_recorded_state(const struct wo_replay_report *report, uint32_t at_entry, struct wo_segment_map *ret_map,
                                        struct wo_err *err);

#endif
