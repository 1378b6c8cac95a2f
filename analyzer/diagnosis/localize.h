/* SPDX-License-Identifier: Apache-2.0 */
/* Texts for the system and the cards that the log shows. Rules are written for Linux and NVIDIA's cards. */
#ifndef WO_LOCALIZE_H
#define WO_LOCALIZE_H

#include "analyzer/diagnosis/finding.h"

struct wo_diagnosis;

/* A sentence, with the tool of the cards' maker in place of nvidia-smi, and a batch in place of a micro-batch where the program
 * does not train. */
struct wo_view wo_localize_text(const struct wo_diagnosis *diagnosis, struct wo_view text);

/* A line to paste, as the system's shell takes it; empty when the system or the cards have nothing like it. */
struct wo_view wo_localize_command(const struct wo_diagnosis *diagnosis, struct wo_view command);

#endif
