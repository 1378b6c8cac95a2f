/* A recorded pattern, repeated until its reserved bytes settle: every what-if runs it.
 *
 * A recording that begins empty is a whole program, and one that a failure ended is no iteration: both run once. Pure. */
#ifndef WO_STEADY_PATTERN_H
#define WO_STEADY_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_replay/pattern/alloc_pattern.h"
#include "cuda_replay/recording/settings.h"
#include "parsers/base/status.h"

struct wo_steady_pattern_options {
  struct wo_alloc_settings settings;
  uint16_t torch;
  bool is_once; /* the recording ends with a failure */
};

/* Makes a pattern of its own, released with wo_alloc_pattern_done; *ret_passes (NULL allowed) is the number of repetitions.
 * WO_E_RANGE: too long to be repeated; WO_E_NOMEM; others of wo_steady_run. */
enum wo_status wo_steady_pattern_make(const struct wo_alloc_pattern *pattern, const struct wo_steady_pattern_options *options,
                                      struct wo_alloc_pattern *ret_pattern, unsigned *ret_passes, struct wo_err *err);

#endif
