/* Words that all writers of a report use, so that one thing has one number and one name everywhere. */
#ifndef WO_REPORT_WORDS_H
#define WO_REPORT_WORDS_H

#include "analyzer/diagnosis/finding.h"
#include "parsers/base/text.h"

/* Adds "6.0 to 9.0 GiB", "up to 9.0 GiB", "6.0 GiB"; in MiB below one GiB. Bounds that differ by at most 1 % are written as one
 * number. A lower bound that is not positive means "perhaps nothing". */
void wo_report_add_range(struct wo_text *text, struct wo_interval bytes);

/* Adds a known value as people write it; nothing for one without a unit. Durations are written as SLURM prints them. */
void wo_report_add_value(struct wo_text *text, const struct wo_value *value);

/* Adds whether a fix is enough, with the interval that supports it: "enough: frees 1.2 to 4.4 GiB where 166 to 799 MiB is
 * missing"; after a replay "enough: replayed, 1.02 GiB is left". Nothing when nothing is known. */
void wo_report_add_verdict(struct wo_text *text, const struct wo_finding_fix *fix);

/* "certain", "likely" or "possible". Static. */
const char *wo_report_confidence_name(enum wo_confidence confidence);

#endif
