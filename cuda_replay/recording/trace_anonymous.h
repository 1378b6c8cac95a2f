/* SPDX-License-Identifier: Apache-2.0 */
/* A recording to the same recording with the names of people, machines and projects replaced. */
#ifndef WO_TRACE_ANONYMOUS_H
#define WO_TRACE_ANONYMOUS_H

#include "cuda_replay/recording/trace.h"
#include "parsers/base/anonymize/pseudonyms.h"

/* Learns the names in a recording. Where several are shown together, all are learned before the first is rewritten: a name that
 * one shows by its form is then replaced in the functions of the others too. Nothing for NULL as pseudonyms. */
void wo_recording_learn(const struct wo_recording *recording, struct wo_pseudonyms *pseudonyms);

/* Learns the names, and rewrites the files and functions of frames, annotations, metadata and notes; nothing for NULL as
 * pseudonyms. Files of well-known packages stay, so that blocks are classified as before. New texts are in the recording's arena;
 * one that finds no memory becomes empty. */
void wo_recording_anonymize(struct wo_recording *recording, struct wo_pseudonyms *pseudonyms);

#endif
