/* The command `whyoom verify`, seen from the replay: options and a diagnosed job in, a report and an exit code out. */
#ifndef WO_VERIFY_COMMAND_H
#define WO_VERIFY_COMMAND_H

#include "cuda_replay/command/replay_command.h"
#include "parsers/base/exchange/proposal.h"

struct wo_verify_call {
  const struct wo_diagnosed *job;
  const struct wo_replay_option *options; /* trace, accept-reconstructed, and those of a replay that stand in docs/verify.md;
                                             others are passed over */
  size_t option_count;
  bool is_json;   /* one JSON object instead of the text */
  bool exit_zero; /* 1 becomes 0 */
  struct wo_text_style style;
  const struct wo_replay_hooks *hooks; /* for --on gpu; NULL for none */
};

/* What the caller may show beside its own report. */
struct wo_verify_answer {
  struct wo_proof *proofs; /* one for each proposal, filled; room is the caller's */
  struct wo_choice choices[WO_CHOICES_MAX];
  size_t choice_count; /* 0: nothing is chosen */
};

/* Values of a --trace must end with a NUL byte behind them. Exit codes: 0 a fix is proven to fit; 1 nothing that is proposed
 * fits; 2 usage or a recording that cannot be read; 3 not proven. */
enum wo_replay_exit wo_verify_command(const struct wo_verify_call *call, struct wo_verify_answer *answer, struct wo_text *out,
                                      struct wo_text *errors);

#endif
