/* The recording as it was: replayed at its own settings from its own start, compared, and looked into. */
#ifndef WO_REPLAY_MAKE_RECORDED_H
#define WO_REPLAY_MAKE_RECORDED_H

#include "cuda_replay/command/replay_report.h"

/* Compares a replay with the recording (report->check), runs it once more for the peaks and for where the memory is
 * (report->recorded, report->memory). The recording, the start, the pattern and the version stand in the report; an
 * assumed version becomes the one that agrees. Recordings without addresses are not compared, and run on invented ones.
 * WO_E_RANGE and WO_E_USAGE: the recording cannot be replayed, with the reason; WO_E_NOMEM. */
enum wo_status wo_replay_recorded_run(struct wo_replay_report *report, struct wo_err *err);

/* The allocator's segments and blocks after an entry: after the last request that the entry or an earlier one made. The map is
 * released with wo_segment_map_done after WO_OK only. Failures as above. */
enum wo_status wo_replay_recorded_state(const struct wo_replay_report *report, uint32_t at_entry, struct wo_segment_map *ret_map,
                                        struct wo_err *err);

#endif
