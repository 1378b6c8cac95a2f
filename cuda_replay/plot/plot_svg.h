/* Plot as SVG: memory over time by class, fragmentation, the segment map at the peak, and the lines that requested most. */
#ifndef WO_PLOT_SVG_H
#define WO_PLOT_SVG_H

#include "cuda_replay/plot/plot.h"

/* Appends one self-contained SVG document: no scripts, no fonts or files from elsewhere, light and dark by the reader's setting,
 * texts escaped and cut. At most about 1 MiB however long the trace. Deterministic. If memory is out, out->is_failed is set. */
void wo_plot_svg(const struct wo_plot *plot, struct wo_text *out);

#endif
