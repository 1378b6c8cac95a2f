/* SPDX-License-Identifier: Apache-2.0 */
/* The report: the value that writers see. All decisions are made in it; a writer only lays it out.
 *
 * Everything lives in the report's arena. Texts are valid UTF-8 without control characters. */
#ifndef WO_REPORT_H
#define WO_REPORT_H

#include "analyzer/diagnosis/finding.h"
#include "analyzer/facts/monitors.h"
#include "analyzer/facts/ranks.h"
#include "analyzer/facts/step_memory.h"
#include "analyzer/row/row.h"
#include "parsers/base/text.h"

/* A part of the card's memory. Names: allocated, reserved_unallocated, non_pytorch, other_processes, free, unaccounted. */
struct wo_memory_part {
  struct wo_view name;
  struct wo_interval bytes;
};

struct wo_report_memory {
  int32_t gpu; /* -1 unknown */
  struct wo_interval capacity_bytes;
  struct wo_memory_part parts[8];
  size_t part_count;
  bool is_contradictory;        /* the parts cannot all be true: no bar is drawn */
  bool is_room_clear;           /* clearly more was free than the refused request wanted */
  struct wo_view arithmetic[6]; /* lines such as "free 1.06 + unallocated 11.62 = 12.68 GiB >= 2.00 GiB wanted" */
  size_t arithmetic_count;
};

/* Consequences of one sort, folded. */
struct wo_report_fold {
  struct wo_view what; /* "NCCL watchdog" */
  size_t count;
  size_t rank_count;
};

struct wo_recorded_memory;
struct wo_sizes;  /* analyzer/facts/sizes.h */
struct wo_ladder; /* analyzer/diagnosis/ladder.h */

struct wo_report {
  struct wo_arena arena;
  const struct wo_job *job;          /* inputs, evidence, story; outlives the report */
  struct wo_facts facts;             /* of the job, with its settings, traces and ranks */
  const struct wo_finding *findings; /* best first; the first is the diagnosis */
  size_t finding_count;
  const struct wo_finding_fix *first_change; /* what a recording or a run that fits supports, and is none of the fixes of the
                                                findings alone; NULL: the first fix that nothing refutes (wo_report_first_fix) */
  bool has_memory;
  struct wo_report_memory memory;
  struct wo_shortage shortage;
  const struct wo_sizes *request; /* possible tensors of the refused request; NULL when its size is not known */
  const struct wo_report_fold *folds;
  size_t fold_count;
  const struct wo_ladder *ladder;            /* larger settings from a run that fits; NULL when none is known */
  struct wo_view resubmit;                   /* the line to resubmit with, or empty */
  struct wo_view verify_json;                /* a JSON object for the key "verify" of the JSON report, or empty */
  const struct wo_recorded_memory *recorded; /* parsers/base/exchange/recorded_memory.h; NULL: no recording is shown */
  struct wo_view verify_patch;               /* the unified diff of that object; may be empty */
};

/* Whether the first finding is a failure. Notes follow all failures, so otherwise there are only notes, or nothing. */
static inline bool wo_report_tells_failure(const struct wo_report *report) {
  return report->finding_count > 0 && report->findings[0].cause->is_failure;
}

/* Whether a replay, or else the comparison with what is missing, shows that the fix alone is not enough. */
bool wo_report_is_refuted(const struct wo_finding_fix *fix);

/* The place among the fixes of the first finding of the one to make first: the first that no recording refutes, else the first.
 * The finding must have a fix. */
size_t wo_report_first_fix(const struct wo_finding *finding);

/* The line that the report points at: the failure, else the line that shows how the job ended, else the first evidence of the
 * first finding. NULL when there is none. */
const struct wo_event *wo_report_where(const struct wo_report *report);

/* What the files of a job show of it, for a row in which nothing else does. */
struct wo_row_hints {
  struct wo_view path;  /* the key of the row */
  struct wo_view name;  /* from the name of its log; or empty */
  struct wo_view owner; /* of its log; or empty */
  int64_t written_ns;   /* when its log was written last, or WO_ROW_UNKNOWN */
};

/* The report as a row in a table of many jobs. Its texts live as long as report, job, hints and arena do. WO_E_NOMEM. */
enum wo_status wo_report_row(const struct wo_report *report, const struct wo_row_hints *hints, struct wo_arena *arena,
                             struct wo_row *ret_row);

/* Writes the report as text for people. */
void wo_report_text(const struct wo_report *report, struct wo_text_style style, struct wo_text *out);

/* The parts that are sentences: ranks, their order, other runs, consequences, failures that were survived / memory in monitoring
 * traces and prints / the steps up from a run that fits. */
enum wo_report_part { WO_REPORT_PART_COURSE, WO_REPORT_PART_MEMORY, WO_REPORT_PART_LADDER };

/* Takes a sentence of the report with its label ("ranks", "trace"); an empty label: it belongs to the one before. Both are valid
 * during the call only. */
typedef void (*wo_report_statement_fn)(void *context, struct wo_view label, struct wo_view text);

/* Calls `say` for each sentence of a part, in the words of the text report in full. False: memory was out. */
bool wo_report_statements(const struct wo_report *report, enum wo_report_part part, wo_report_statement_fn say, void *context);

/* Writes the report as one JSON object, schema whyoom.report/1 (docs/schema/report-1.schema.json), with a final newline. */
void wo_report_json(const struct wo_report *report, struct wo_text *out);

/* Makes the report of a job: evaluates the rules over its facts. WO_E_NOMEM. *ret_report is released with wo_report_free. */
enum wo_status wo_report_make(const struct wo_job *job, const struct wo_pack *pack, struct wo_report **ret_report);

/* As that, for a row alone: findings do not say what would settle them. */
enum wo_status wo_report_make_brief(const struct wo_job *job, const struct wo_pack *pack, struct wo_report **ret_report);

/* Frees a report; NULL allowed; returns NULL. */
struct wo_report *wo_report_free(struct wo_report *report);

#endif
