/* SPDX-License-Identifier: Apache-2.0 */
/* The command `whyoom verify` on the side of the replay: takes options and a diagnosed job, gives a report and an exit code. */
#ifndef WO_VERIFY_COMMAND_H
#define WO_VERIFY_COMMAND_H

#include "cuda_replay/command/replay_command.h"
#include "parsers/base/exchange/proposal.h"

/* The most recordings, one of each rank. */
enum { WO_VERIFY_TRACES_MAX = 64 };

/* The options; views are borrowed from the call. */
struct wo_verify_args {
  struct wo_replay_args
      replay; /* capacity, torch, and the place of the run: must be the first member, because its readers fill it */
  struct wo_view traces[WO_VERIFY_TRACES_MAX]; /* each ends with a NUL byte */
  size_t trace_count;
  bool takes_no_trace;              /* also none that the caller finds by itself */
  struct wo_scale_spec recorded_at; /* `to` is 0 if it has to come from the log */
  bool accepts_reconstructed;
  bool accepts_by_hand;
  bool is_quick; /* for the caller: figures of what does not fit may be rough */
  bool is_patch; /* for the caller: print the chosen fix as a diff, */
  bool is_write; /* and change the files */
};

extern const struct wo_command wo_command_verify;

/* Reads and checks all options, before any file is opened. WO_E_USAGE. */
enum wo_status wo_verify_args_read(const struct wo_call *call, struct wo_verify_args *ret_args, struct wo_err *err);

/* The result for the caller's own report. */
struct wo_verify_answer {
  struct wo_proof *proofs; /* one for each proposal, filled; the caller provides the memory */
  struct wo_proof
      *as_it_was; /* the recorded job, its failed step completed; not tried without a recording. By the caller or NULL */
  struct wo_choice choices[WO_CHOICES_MAX];
  size_t choice_count;    /* 0: no fix is chosen */
  bool is_open_by_hand;   /* a part of them is a change of the program that is still to be made */
  struct wo_proof chosen; /* of the choices together; is_tried: they are proven to fit */
};

/* Makes the proof; the report goes to `out`, as JSON one object. `hooks` is for --on gpu, NULL for none. */
enum wo_exit wo_run_verify(const struct wo_call *call, const struct wo_verify_args *args, const struct wo_diagnosed *job,
                           const struct wo_replay_hooks *hooks, struct wo_verify_answer *answer, struct wo_text *out);

#endif
