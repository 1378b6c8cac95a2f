/* Plot for terminals: allocated and reserved over time in at most 16 lines, the segment map below. */
#ifndef WO_PLOT_TERM_H
#define WO_PLOT_TERM_H

#include "cuda_replay/plot/plot.h"

/* Appends the chart, at most 16 lines of at most style.width columns (40 to 200 are used), each ended by a line break. UTF-8
 * blocks or plain ASCII and colours by the style. Appends nothing for a run without requests. If memory is out, out->is_failed is
 * set. */
void wo_plot_term(const struct wo_plot *plot, struct wo_text_style style, struct wo_text *out);

#endif
