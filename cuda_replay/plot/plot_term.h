/* Plot for terminals: allocated and reserved over time in at most 16 lines, the segment map below. */
#ifndef WO_PLOT_TERM_H
#define WO_PLOT_TERM_H

#include "cuda_replay/plot/plot.h"

/* Appends the chart, at most 16 lines of at most style.width columns (40 to 200 are used), each ended by a line break. UTF-8
 * blocks or plain ASCII and colours by the style. Nothing for a run without requests. Memory that is out shows in
 * out->is_failed. */
void wo_plot_term(const struct wo_plot *plot, struct wo_text_style style, struct wo_text *out);

#endif
