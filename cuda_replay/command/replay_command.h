/* `whyoom replay TRACE...`: options and paths in, text for stdout, text for stderr and an exit code out. It opens files and looks
 * at the clock; it prints nothing. */
#ifndef WO_REPLAY_COMMAND_H
#define WO_REPLAY_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "cuda_replay/command/replay_args.h"
#include "parsers/base/text.h"

/* Exit codes; the same numbers mean the same for all commands. */
enum wo_replay_exit {
  WO_REPLAY_EXIT_FINE = 0,       /* it fits, or all is as recorded */
  WO_REPLAY_EXIT_FAILS = 1,      /* it does not fit, or is not as recorded */
  WO_REPLAY_EXIT_ERROR = 2,      /* usage; a recording could not be read (the others are reported) */
  WO_REPLAY_EXIT_NOT_PROVEN = 3, /* no capacity, too little to spare, an approximate recording */
};

struct wo_replay_hooks;

struct wo_replay_call {
  char **paths; /* "-" is standard input */
  size_t path_count;
  const struct wo_replay_option *options;
  size_t option_count;
  bool is_json;
  bool exit_zero; /* FAILS becomes FINE */
  struct wo_text_style style;
  const struct wo_replay_hooks *hooks; /* for --on gpu; NULL for none */
};

/* One report for each device of each path. Of several exit codes the gravest is returned: error, fails, not proven, fine. */
enum wo_replay_exit wo_replay_command(const struct wo_replay_call *call, struct wo_text *out, struct wo_text *errors);

#endif
