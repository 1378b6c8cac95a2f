/* SPDX-License-Identifier: Apache-2.0 */
/* The input of `whyoom verify` from a diagnosis: the proposals and the sizes of the failed job, as the plain values of
 * parsers/base/exchange/proposal.h; and its output: the report with its proofs. One thread. */
#ifndef WO_VERIFY_PLAN_H
#define WO_VERIFY_PLAN_H

#include "analyzer/command/commands.h"
#include "parsers/base/exchange/proposal.h"

/* A diagnosed job with all that its views point into. */
struct wo_verify_plan {
  struct wo_arena arena;
  struct wo_pack *pack;
  struct wo_job *job;
  struct wo_report *report;
  struct wo_diagnosed diagnosed;
  struct wo_finding_fix *fixes; /* copies, in the order of the proposals */
  struct wo_proof *proofs;      /* one for each proposal, for the proof to fill */
  struct wo_proof as_it_was;    /* for the proof to fill: the recorded job without any change */
  bool is_complete;             /* every input could be read */
};

/* Reads and diagnoses the command line's words. False when no plan can be made, with a line in errors. Released with
 * wo_verify_plan_done in any case. */
bool wo_verify_plan_read(const struct wo_call *call, struct wo_verify_plan *ret_plan);
void wo_verify_plan_done(struct wo_verify_plan *plan);

/* Fills the plan from the diagnosis of a report; everything lives in the plan's arena or in the report. WO_E_NOMEM. */
enum wo_status wo_verify_plan_fill(const struct wo_report *report, struct wo_verify_plan *plan);

/* Gives a copy of the plan's report its results: the proofs of its fixes, and, where `chosen` is tried, the choices together as
 * the change to make first. Everything new lives in the plan's arena. False when memory is out. */
bool wo_verify_plan_attach(struct wo_verify_plan *plan, const struct wo_choice *choices, size_t count,
                           const struct wo_proof *chosen, struct wo_report *report);

/* The JSON report (one with proofs), and the object that `proved` (JSON text) holds under "verify", which gets the
 * diff of --patch (empty: null). */
void wo_verify_plan_json(const struct wo_report *proven, struct wo_view proved, struct wo_view patch, struct wo_text *out);

#endif
