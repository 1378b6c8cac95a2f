/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that print how much of the card is used, not how much is free:
 *
 *   ERROR: LoadError: Out of GPU memory trying to allocate 1.500 GiB
 *   Effective GPU memory usage: 99.72% (7.773 GiB/7.795 GiB)
 *   Memory pool usage: 6.125 GiB (7.438 GiB reserved)
 *
 * Form: pool_status of CuArrays.jl and CUDA.jl, 2019 to 2025. The lines are joined and matched like those of the reader `joined`;
 * what is free follows from the two figures. */
#include "parsers/formats/common/fmt_joined.h"

static void complete_used(struct wo_event_store *store, struct wo_event *event, const struct wo_match *match) {
  (void)match;
  const struct wo_field *const capacity = wo_event_field(event, WO_FIELD_CAPACITY_BYTES);
  const struct wo_field *const used = wo_event_field(event, WO_FIELD_USED_BYTES);
  if (!capacity || !used || wo_event_field(event, WO_FIELD_FREE_BYTES)) return;
  struct wo_interval free_bytes = wo_interval_minus(capacity->number, used->number);
  if (free_bytes.mid < 0) return;
  if (free_bytes.lo < 0) free_bytes.lo = 0;
  wo_event_set_number(store, event, WO_FIELD_FREE_BYTES, free_bytes);
}

static const struct wo_joined_as used = {complete_used};

const struct wo_format wo__format_used_of_total = {
    .name = "used_of_total",
    .state_bytes = sizeof(struct wo_joined),
    .constants = &used,
    .begin = wo__joined_begin,
    .feed = wo__joined_feed,
    .finish = wo__joined_finish,
};
