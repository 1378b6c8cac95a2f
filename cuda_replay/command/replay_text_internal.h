/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the text writers of a replay: a line that wraps, colours, sizes. Private to replay_text*.c. */
#ifndef WO_REPLAY_TEXT_INTERNAL_H
#define WO_REPLAY_TEXT_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/command/replay_report.h"
#include "parsers/base/output/page.h"
#include "parsers/base/units.h"

struct wo_replay_writer {
  const struct wo_replay_report *report;
  struct wo_text *out;
  struct wo_text line; /* under construction */
  struct wo_text_style style;
};

/* Starts a colour on out, or ends it (PLAIN); nothing without colours. */
void wo__replay_color(struct wo_replay_writer *w, enum wo_tint tint);

/* Writes the line under construction, wrapped to the width: the first line after `indent` blanks, further ones after `hanging`.
 * Empties it. */
void wo__replay_put(struct wo_replay_writer *w, size_t indent, size_t hanging);

/* The same, after the text on the output's last line, which has `column` columns; further lines are indented by that much. */
void wo__replay_put_behind(struct wo_replay_writer *w, size_t column);

/* "1 block", "12 blocks". */
void wo__replay_count(struct wo_text *out, uint64_t count, const char *one, const char *many);

/* Adds a text from a file, cleaned for terminals; at most 200 bytes of it. */
void wo__replay_clean(struct wo_text *out, struct wo_view raw);

/* A frame as "train.py:88 step" (verbose: with the whole path), cleaned; "(no stack recorded)" for WO_NO_FRAME. */
void wo__replay_frame(const struct wo_replay_writer *w, uint32_t frame, struct wo_text *out);

/* A bar and its legend: in use and idle in segments, of the capacity where it is known, else of what is reserved. */
void wo__replay_bar(struct wo_replay_writer *w, uint64_t in_use, uint64_t reserved);

/* The parts: the holders of the memory at the peak and the pins / the what-if beside the recorded run / the table of the sweep /
 * the state after an entry / the results of a GPU / the contents of a snapshot without a usable history / the categories of
 * --where. */
void wo__replay_text_holders(struct wo_replay_writer *w);
void wo__replay_text_categories(struct wo_replay_writer *w);
void wo__replay_text_whatif(struct wo_replay_writer *w);
void wo__replay_text_sweep(struct wo_replay_writer *w);
void wo__replay_text_state(struct wo_replay_writer *w);
void wo__replay_text_gpu(struct wo_replay_writer *w);
void wo__replay_text_holdings(struct wo_replay_writer *w);

#endif
