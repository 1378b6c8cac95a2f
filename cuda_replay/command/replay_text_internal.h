/* What the text writers of a replay share: a line that wraps, colours, sizes. Private to replay_text*.c. */
#ifndef WO_REPLAY_TEXT_INTERNAL_H
#define WO_REPLAY_TEXT_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/command/replay_report.h"
#include "parsers/base/page.h"

enum { WO_SIZE_TEXT = 32 };

struct wo_replay_writer {
  const struct wo_replay_report *report;
  struct wo_text *out;
  struct wo_text line; /* under construction */
  struct wo_text_style style;
};

/* Starts a tint on out, or ends it (PLAIN); nothing without colours. */
void wo__replay_color(struct wo_replay_writer *w, enum wo_tint tint);

/* Writes the line under construction, wrapped to the width: the first line behind `indent` blanks, further ones behind
 * `hanging`. Empties it. */
void wo__replay_put(struct wo_replay_writer *w, size_t indent, size_t hanging);

/* The same behind what stands on the output's last line: `column` columns, which further lines are indented by. */
void wo__replay_put_behind(struct wo_replay_writer *w, size_t column);

/* "24.21 GiB" into a buffer of WO_SIZE_TEXT bytes, which is returned. */
const char *wo__replay_size(uint64_t bytes, char *buf);

/* "1 block", "12 blocks". */
void wo__replay_count(struct wo_text *out, uint64_t count, const char *one, const char *many);

/* Adds a text out of a file, which never reaches a terminal as it is; at most 200 bytes of it. */
void wo__replay_clean(struct wo_text *out, struct wo_view raw);

/* A frame as "train.py:88 step" (verbose: with the whole path), cleaned; "(no stack recorded)" for WO_NO_FRAME. */
void wo__replay_frame(const struct wo_replay_writer *w, uint32_t frame, struct wo_text *out);

/* A bar and its legend: in use and idle in segments, of the capacity where it is known, else of what is reserved. */
void wo__replay_bar(struct wo_replay_writer *w, uint64_t in_use, uint64_t reserved);

/* The parts: who holds the memory at the peak and what pins segments / the what-if beside what was recorded / the table of the
 * sweep / the state after an entry / what a GPU did / what a snapshot without a usable history holds. */
void wo__replay_text_holders(struct wo_replay_writer *w);
void wo__replay_text_whatif(struct wo_replay_writer *w);
void wo__replay_text_sweep(struct wo_replay_writer *w);
void wo__replay_text_state(struct wo_replay_writer *w);
void wo__replay_text_gpu(struct wo_replay_writer *w);
void wo__replay_text_holdings(struct wo_replay_writer *w);

/* Adds a settings value as people read it: "default" where nothing differs from the version's defaults. */
void wo__replay_settings(const struct wo_replay_report *report, const struct wo_alloc_settings *settings, struct wo_text *out);

#endif
