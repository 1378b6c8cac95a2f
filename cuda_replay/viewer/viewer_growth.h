/* SPDX-License-Identifier: Apache-2.0 */
/* Two recordings as one page of HTML: what grew, what is new, what is gone. */
#ifndef WO_VIEWER_GROWTH_H
#define WO_VIEWER_GROWTH_H

#include "cuda_replay/compare/compare.h"
#include "parsers/base/text.h"

/* Appends the page: tables with bars, without a script, under the policy of the page of a recording (viewer.h). Names are hostile
 * and escaped. The style is not used. If memory is out, out->is_failed is set. */
void wo_viewer_growth(const struct wo_compare *compare, struct wo_text_style style, struct wo_text *out);

#endif
