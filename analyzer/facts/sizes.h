/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensors of this job have exactly the size of the refused request.
 *
 * Only shapes of the job are tried: its settings, its printed counts, and for the name of a known model the table of known
 * shapes, which is reported as an assumption. A size must fit within the printed decimals and the allocator's rounding. No
 * formula has a free factor. */
#ifndef WO_SIZES_H
#define WO_SIZES_H

#include "analyzer/facts/facts.h"

/* A reading of the request. Texts live in the facts' arena. */
struct wo_size_reading {
  struct wo_view id;      /* logits-fp32, logits-16bit, attention-scores-fp32, ...: names of the JSON report */
  struct wo_view meaning; /* "the fp32 logits" */
  struct wo_view formula; /* "2 x 2048 x 152064 x 4 B (micro-batch x length x vocabulary)" */
  double bytes;           /* of the tensor, before the allocator rounds it up */
  bool is_specific;       /* false: only powers of two, which match easily by chance */
  struct wo_view assumed[WO_LIMIT_SIZE_READINGS]; /* "vocabulary 152064 from the table of known shapes: qwen2.5-7b" */
  size_t assumed_count;
};

struct wo_sizes {
  bool has_request;                                        /* the refused request is known and large enough to identify */
  struct wo_interval request;                              /* its printed interval */
  struct wo_size_reading readings[WO_LIMIT_SIZE_READINGS]; /* the best first */
  size_t reading_count;                                    /* kept */
  size_t match_count;                                      /* all that fit, kept or not */
  size_t tried_count;
  double logits_max_bytes; /* the largest logits that were tried; 0 = none */
};

#endif
