/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `whyoom replay`: names and values of the command line -> struct wo_replay_args. Pure: any text gives a value or
 * a message. */
#ifndef WO_REPLAY_ARGS_H
#define WO_REPLAY_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/category/look.h"
#include "cuda_replay/change/change.h"
#include "cuda_replay/compare/compare.h"
#include "cuda_replay/whatif/whatif_gpu.h"
#include "parsers/base/command/command.h"

struct wo_replay_args {
  bool is_check;
  bool is_sweep;
  bool has_at;
  bool has_device;
  bool no_times;
  bool has_chart;
  bool shows_memory;       /* the caller shows more than the verdict of --check, if that agrees; not from the command line */
  bool shows_page;         /* --format html; not from the command's own options */
  uint64_t at_entry;       /* entries count from 0 */
  int device;              /* ordinal in the program that was recorded */
  uint16_t torch;          /* settings.h; 0 = not given */
  struct wo_change change; /* --set, --scale, --transform and --capacity */
  struct wo_pseudonyms *pseudonyms; /* of the call; NULL: names stay */
  struct wo_view pair;              /* second recording; NUL-terminated likewise; empty = none */
  bool has_gpu;                     /* --on gpu[:N] */
  struct wo_gpu_place gpu; /* --on, --touch and --reserve; the hooks are not from the command line: the caller sets them */
  bool is_diff;            /* --diff: two recordings are compared, and nothing is replayed */
  enum wo_compare_at diff_at;
  struct wo_categories categories; /* --where */
  struct wo_look_part part;        /* --from and --to */
  struct wo_view plot;             /* file to write; NUL-terminated, as the option's value is; empty = none */
};

/* The command with its options, which wo_call_apply reads into a struct wo_replay_args; views point into the values. */
extern const struct wo_command wo_command_replay;

/* Readers of options that other commands have too: the target begins with a struct wo_replay_args. */
bool wo_replay_read_capacity(void *target, const struct wo_option_value *value);
bool wo_replay_read_torch(void *target, const struct wo_option_value *value);
bool wo_replay_read_on(void *target, const struct wo_option_value *value);
bool wo_replay_read_reserve(void *target, const struct wo_option_value *value);

/* Checks all options together: two that exclude each other, one that requires another. WO_E_USAGE. */
enum wo_status wo_replay_args_check(const struct wo_replay_args *args, struct wo_err *err);

/* Whether more is asked than to show the recording: whether the model agrees, whether something fits, the state after an entry.
 */
bool wo_replay_args_asks(const struct wo_replay_args *args);

#endif
