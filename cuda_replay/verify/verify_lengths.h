/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of other lengths than the one that failed. Internal to verify.
 *
 * Steps of many programs differ in length, up to a limit that the log shows. The need of a shorter step says nothing about the
 * longest one; where the recording shows its own length, it is scaled to that of the job. */
#ifndef WO_VERIFY_LENGTHS_H
#define WO_VERIFY_LENGTHS_H

#include "cuda_replay/verify/verify_trial.h"

/* Finds out whether the recorded step is as long as any can be, and whether the pass that failed has another batch; sizes: of the
 * log, if its message is about this recording, else NULL. */
void wo_verify_note_lengths(struct wo_verify_subject *subject, const struct wo_job_sizes *sizes);

/* Whether a longer step than the recorded one may come. */
bool wo_verify_has_longer_steps(const struct wo_verify_subject *subject);

/* The change (NULL: none) for a step of the longest length, as one of the recording; false where that, or the recorded length, is
 * not known. */
bool wo_verify_lengthen(const struct wo_verify_subject *subject, const struct wo_change *change, struct wo_change *ret_change);

/* A YES for the recorded step, with the result for the longest one, or UNTRIED: that one's YES, else UNSURE, since no step need
 * be as long as the log's limit. */
void wo_verify_join_longer(const struct wo_verify_subject *subject, const struct wo_verify_result *longest,
                           struct wo_verify_result *result);

/* Takes back the YES of a change of length that no tensor of the recording shows: it may be one that the program's data never
 * has, as that of an image model's empty texts, or a limit far above them. */
void wo_verify_heed_length(const struct wo_verify_subject *subject, const struct wo_change *change,
                           struct wo_verify_result *result);

#endif
