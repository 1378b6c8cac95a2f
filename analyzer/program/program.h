/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of program a log is of, which program, and where it ran.
 *
 * Signs (rules/packs/programs/) are looked for in frames, arguments, banners, settings and the names of scripts. Each sign counts
 * once, however often the log shows it, and adds its share of what is missing to 1 (rules/load/weights.h). A word alone never
 * reaches WO_SCORE_LIKELY: several signs do, or one that no other program can print. */
#ifndef WO_PROGRAM_H
#define WO_PROGRAM_H

#include "analyzer/story/job.h"

/* A text with the event that shows it; empty when nothing does. */
struct wo_program_text {
  struct wo_view text;
  double score;
  wo_event_id evidence;
};

struct wo_program {
  enum wo_program_kind kind;
  wo_event_id kind_evidence;        /* of the strongest sign of it, or WO_EVENT_NONE */
  double scores[WO_PROGRAM_COUNT_]; /* of each kind, 0 to 1 */
  struct wo_program_text name;      /* "vllm" */
  struct wo_program_text platform;  /* "linux" */
  struct wo_program_text vendor;    /* "nvidia" */
  struct wo_program_text manager;   /* "slurm" */
};

/* Judges a closed job. Memory that is out leaves texts empty and the kind unknown. */
void wo_program_judge(const struct wo_job *job, struct wo_arena *arena, struct wo_program *ret_program);

/* Whether what is meant for a set of kinds (WO_PROGRAM_BIT) suits the program. One of unknown kind is suited by sets that hold
 * WO_PROGRAM_UNKNOWN, and by kinds of which it shows some sign, and a better one than of the others. */
bool wo_program_suits(const struct wo_program *program, unsigned set);

/* Whether the steps of a progress bar say how far a run had come: those of a sampler begin anew for each image, and a server has
 * none of its own. */
bool wo_program_has_steps(const struct wo_program *program);

#endif
