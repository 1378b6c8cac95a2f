/* SPDX-License-Identifier: Apache-2.0 */
/* The card's memory as a bar of characters. */
#ifndef WO_REPORT_BAR_H
#define WO_REPORT_BAR_H

#include "analyzer/report/report.h"
#include "parsers/base/output/page.h"

/* Writes the parts as a bar, as wide as the page: one line. The parts differ in their fill characters, so that nothing is lost
 * without colours. Nothing may be contradictory in `memory` (is_contradictory). */
void wo_report_bar(const struct wo_page *page, const struct wo_report_memory *memory);

/* Writes "# 26.11 tensors  . 11.62 idle  1.06 free  (GiB)", in the order of the bar: one line, or more on a narrow page.
 */
void wo_report_legend(const struct wo_page *page, const struct wo_report_memory *memory);

/* The name of a part for people: "tensors", "idle", "outside PyTorch". Static. */
const char *wo_report_part_label(struct wo_view name);

#endif
