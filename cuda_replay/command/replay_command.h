/* SPDX-License-Identifier: Apache-2.0 */
/* `whyoom replay TRACE...`: takes a call; gives text for stdout, text for stderr and an exit code. It opens files; it prints
 * nothing. */
#ifndef WO_REPLAY_COMMAND_H
#define WO_REPLAY_COMMAND_H

#include "cuda_replay/command/replay_args.h"

/* Makes one report for each device of each word of the call ("-" is standard input); `hooks` is for --on gpu and for times, NULL
 * for none. Of several exit codes the gravest is returned: error, not fit, not proven, fine. */
enum wo_exit wo_run_replay(const struct wo_call *call, const struct wo_replay_hooks *hooks);

#endif
