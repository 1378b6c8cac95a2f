/* The command `whyoom verify`, seen from the replay: options and a diagnosed job in, a report and an exit code out. */
#ifndef WO_VERIFY_COMMAND_H
#define WO_VERIFY_COMMAND_H

#include "cuda_replay/command/replay_command.h"
#include "parsers/base/exchange/proposal.h"

/* A rank's recording each, at the most. */
enum { WO_VERIFY_TRACES_MAX = 64 };

/* The options; views are borrowed from the call. */
struct wo_verify_args {
  struct wo_replay_args replay;                /* capacity, torch, and where it runs: the first member, which its readers fill */
  struct wo_view traces[WO_VERIFY_TRACES_MAX]; /* each ends with a NUL byte */
  size_t trace_count;
  struct wo_scale_spec recorded_at; /* `to` is 0 where the log has to tell it */
  bool accepts_reconstructed;
  bool is_patch; /* for the caller: print the chosen fix as a diff, */
  bool is_write; /* and change the files */
};

extern const struct wo_command wo_command_verify;

/* Reads and checks all options, before any file is opened. WO_E_USAGE. */
enum wo_status wo_verify_args_read(const struct wo_call *call, struct wo_verify_args *ret_args, struct wo_err *err);

/* What the caller may show beside its own report. */
struct wo_verify_answer {
  struct wo_proof *proofs; /* one for each proposal, filled; room is the caller's */
  struct wo_choice choices[WO_CHOICES_MAX];
  size_t choice_count; /* 0: nothing is chosen */
};

/* Proves; the report goes to `out`, as JSON one object. `hooks` is for --on gpu, NULL for none. */
enum wo_exit wo_run_verify(const struct wo_call *call, const struct wo_verify_args *args, const struct wo_diagnosed *job,
                           const struct wo_replay_hooks *hooks, struct wo_verify_answer *answer, struct wo_text *out);

#endif
