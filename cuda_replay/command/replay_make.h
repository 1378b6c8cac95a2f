/* SPDX-License-Identifier: Apache-2.0 */
/* From a recording and the options to the report: every step of `whyoom replay` between reading and writing. */
#ifndef WO_REPLAY_MAKE_H
#define WO_REPLAY_MAKE_H

#include "cuda_replay/command/replay_args.h"
#include "cuda_replay/command/replay_report.h"

/* Fills *ret_report for one device of a recording; both are borrowed by the report, which is released with wo_replay_report_done
 * after WO_OK only. A recording that cannot be replayed is no failure: the report says why. WO_E_USAGE and the statuses of
 * wo_alloc_settings_parse for options that do not fit this recording (an entry that it does not have, a setting that its version
 * of torch does not have); WO_E_NOMEM. path is cleaned and copied. */
enum wo_status wo_replay_make(const struct wo_recording *recording, const struct wo_trace *trace, struct wo_view path,
                              const struct wo_replay_args *args, struct wo_replay_report *ret_report, struct wo_err *err);

#endif
