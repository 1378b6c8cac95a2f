/* SPDX-License-Identifier: Apache-2.0 */
/* Words that all writers of a report use, so that one thing has one number and one name everywhere. */
#ifndef WO_REPORT_WORDS_H
#define WO_REPORT_WORDS_H

#include "analyzer/diagnosis/finding.h"
#include "analyzer/facts/sizes.h"
#include "parsers/base/text.h"

/* Adds "6.0 to 9.0 GiB", "up to 9.0 GiB", "6.0 GiB"; in MiB below one GiB. Bounds that differ by at most 1 % are written as one
 * number. A lower bound that is not positive means "perhaps nothing". */
void wo_report_add_range(struct wo_text *text, struct wo_interval bytes);

/* Adds a known value as people write it; nothing for one without a unit. Durations are written as SLURM prints them. */
void wo_report_add_value(struct wo_text *text, const struct wo_value *value);

/* "enough", "may be enough", "not enough"; empty for unknown. */
const char *wo_report_verdict_words(enum wo_suffices suffices);

/* Adds whether a fix is enough, with the interval that supports it: "enough: frees 1.2 to 4.4 GiB where 166 to 799 MiB is
 * missing"; after a replay "enough: replayed on NAME, 1.02 GiB is left". Nothing when nothing is known. */
void wo_report_add_verdict(struct wo_text *text, const struct wo_finding_fix *fix);

/* Adds a changed setting as it is pasted: "--micro-batch-size 4"; "micro_batch=4" where it has no spelling. */
void wo_report_add_change(struct wo_text *text, const struct wo_finding_change *change);

/* Adds "speed: 5 % slower; results: unchanged; effort: one line" / "saving unknown: the log does not show ...". Nothing where
 * nothing is known / missing. */
void wo_report_add_costs(struct wo_text *text, const struct wo_finding_fix *fix);
void wo_report_add_needs(struct wo_text *text, const struct wo_finding_fix *fix);

/* Adds "the request: 2.32 GiB = 2 x 2048 x 152064 x 4 B (micro-batch x length x vocabulary): the fp32 logits; vocabulary 152064
 * from the table of known shapes: qwen2.5-7b"; readings after the first begin with "or:". */
void wo_report_add_reading(struct wo_text *text, const struct wo_sizes *sizes, size_t index);

/* The words of a memory message that name the refused request: "Tried to allocate 2.00 GiB", as a part of the event's text.
 * Without them it is empty, but still points into the text, so that places can be compared. All PyTorch devices since 1.0 print
 * these words. / Those, or the part by which the event was found, unless that is most of the line. */
struct wo_view wo_report_decisive(const struct wo_event *event);
struct wo_view wo_report_found(const struct wo_event *event);

/* "certain", "likely" or "possible". Static. */
const char *wo_report_confidence_name(enum wo_confidence confidence);

#endif
