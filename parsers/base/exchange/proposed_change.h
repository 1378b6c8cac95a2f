/* SPDX-License-Identifier: Apache-2.0 */
/* A proposed change as a replay makes it, as values: a size with its old and new value, a setting, or a transform.
 *
 * Rules write it as text; it is read once, when the fix is made, and travels as values from there. */
#ifndef WO_PROPOSED_CHANGE_H
#define WO_PROPOSED_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/base/view.h"

enum wo_proposed_sort {
  WO_PROPOSED_MICRO_BATCH, /* from, to */
  WO_PROPOSED_SEQ_LEN,     /* from, to */
  WO_PROPOSED_SETTINGS,    /* text: KEY:VALUE[,KEY:VALUE...] of PyTorch's allocator */
  WO_PROPOSED_TRANSFORM,   /* text: its name; to: its amount, 0 without one */
  WO_PROPOSED_LEFT_OUT,    /* text: a setting that the fix changes and no replay does */
  WO_PROPOSED_OTHER        /* text: words that are none of these */
};

/* One part. Sizes are at least 1; texts are views of what was read. */
struct wo_proposed_part {
  enum wo_proposed_sort sort;
  struct wo_view text;
  uint32_t from, to;
};

enum { WO_PROPOSED_PARTS_MAX = 6 };

/* No parts: a replay cannot make it. */
struct wo_proposed_change {
  struct wo_proposed_part parts[WO_PROPOSED_PARTS_MAX];
  size_t count;
};

/* Reads the words of a rule's `replays_as`: items separated by blanks, each an option of `whyoom replay` without its dashes, such
 * as "scale=micro_batch=32:16", "set=expandable_segments:True" or "transform=shard-optimizer=8"; the amount of a transform may
 * have the present one before it, as in "transform=accumulate=1:2". An item that is none of these,
 * and the rest after the last part that there is room for, is a part OTHER. Never fails; any thread. */
struct wo_proposed_change wo_proposed_change_read(struct wo_view text);

/* A setting that a fix changes: the patch writes `to`. */
struct wo_changed_setting {
  struct wo_view knob; /* "grad_accum" */
  double from, to;     /* of a number; 0: unknown, or none */
  struct wo_view text; /* the new value of a text; else empty */
};

/* Whether the replay makes this change, with the same values (replayed_knobs.def). Any thread. */
bool wo_proposed_change_covers(const struct wo_proposed_change *change, const struct wo_changed_setting *setting);

/* Adds a part LEFT_OUT; the last part makes room for it. */
void wo_proposed_change_leave_out(struct wo_proposed_change *change, struct wo_view knob);

/* How the item of `replays_as` begins that replays a change of the knob ("scale=micro_batch="); NULL: no replay does. */
const char *wo_proposed_change_word(struct wo_view knob);

#endif
