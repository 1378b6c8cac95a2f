/* The report: the value that writers see. No decisions are left in it; whoever writes it only lays it out.
 *
 * Everything lives in the report's arena. Texts are valid UTF-8 without control characters. */
#ifndef WO_REPORT_H
#define WO_REPORT_H

#include "analyzer/story/job.h"
#include "analyzer/facts/ranks.h"
#include "parsers/base/exchange/proposal.h"
#include "rules/load/rule.h"
#include "parsers/base/text.h"

/* One argument for or against a finding. */
struct wo_argument {
  struct wo_view text;
  double weight;
  const wo_event_id *evidence;
  size_t evidence_count;
};

/* A changed knob, ready to paste. */
struct wo_report_change {
  struct wo_view knob;
  struct wo_value from; /* unknown when the job's files do not tell */
  struct wo_value to;
  struct wo_view spelled; /* in the user's own key and style: "ppo_micro_batch_size_per_gpu=16" */
  wo_event_id where;      /* evidence of the present setting, or WO_EVENT_NONE */
};

/* Whether a fix alone gives what the refused request lacked. */
enum wo_suffices { WO_SUFFICES_UNKNOWN, WO_SUFFICES_YES, WO_SUFFICES_MAYBE, WO_SUFFICES_NO };

/* What was missing when the failure came. */
struct wo_shortage {
  bool is_known;
  struct wo_interval bytes;
  struct wo_view formula;
};

struct wo_report_fix {
  struct wo_view id;
  struct wo_view title;
  unsigned cost_rank; /* 1 costs nothing .. WO_COST_RANK_MAX is no cure */
  enum wo_suffices suffices;
  struct wo_interval shortage_bytes; /* what it was compared with; all zero when that is not known */
  const struct wo_view *needs;       /* names of unknown facts without which the saving cannot be told; none otherwise */
  size_t need_count;
  const struct wo_report_change *changes;
  size_t change_count;
  bool has_saves;
  struct wo_interval saves_bytes;
  struct wo_view saves_formula;
  struct wo_view cost_speed;
  struct wo_view cost_accuracy;
  struct wo_view cost_effort;
  const struct wo_view *commands;
  size_t command_count;
  const struct wo_view *notes;
  size_t note_count;
  struct wo_view replays_as;    /* the change as options of `whyoom replay` (parsers/base/exchange/proposal.h); may be empty */
  const struct wo_proof *proof; /* of `whyoom verify`; NULL: none */
};

struct wo_report_finding {
  const struct wo_cause *cause;
  struct wo_view title;
  struct wo_view summary;
  enum wo_confidence confidence;
  double score;
  const struct wo_argument *for_;
  size_t for_count;
  const struct wo_argument *against;
  size_t against_count;
  const struct wo_view *would_tell;
  size_t would_tell_count;
  const struct wo_report_fix *fixes;
  size_t fix_count;
  const struct wo_view *not_proposed; /* "gradient checkpointing (already on, slurm-1.err:12)" */
  size_t not_proposed_count;
};

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
  bool is_contradictory;        /* the parts cannot be true together: no bar is drawn */
  struct wo_view arithmetic[6]; /* lines such as "free 1.06 + unallocated 11.62 = 12.68 GiB >= 2.00 GiB wanted" */
  size_t arithmetic_count;
};

/* A figure that a trace may not tell. */
struct wo_report_figure {
  bool is_known;
  double value;
};

/* A slope with its 95 % interval. */
struct wo_report_slope {
  bool is_known;
  struct wo_interval value;
};

/* What the monitoring traces of one file show of one card. */
struct wo_report_monitor {
  uint32_t file; /* index of the input */
  int32_t gpu;
  uint64_t samples;
  struct wo_report_figure fb_peak_bytes; /* a lower bound: sampling misses short peaks */
  struct wo_report_figure fb_last_bytes;
  struct wo_report_figure fb_slope_bytes_per_s; /* unknown without time stamps */
  struct wo_report_figure fb_slope_bytes_per_sample;
  struct wo_report_figure sm_mean_pct;
  struct wo_report_figure capacity_bytes;
  /* In the stretch in which clearly more memory was in use than when nothing ran: the job's. */
  struct wo_report_figure active_samples;
  struct wo_report_figure sm_active_mean_pct;
  struct wo_report_figure idle_pct;      /* share of its samples with a load below 5 % */
  struct wo_report_slope fb_trend_per_s; /* bytes; unknown without time stamps */
  struct wo_report_slope fb_trend_per_sample;
  struct wo_report_figure fb_late_rise_bytes; /* by how much memory rose at least in its second half */
  struct wo_view lack;                        /* why the trace has no memory figure, or empty */
  wo_event_id evidence;
};

/* What the program printed of the card's memory beside its steps: one figure of one rank, over all its prints. */
struct wo_report_steps {
  uint32_t file;         /* index of the input */
  struct wo_view figure; /* allocated, reserved, used (the line does not tell which), free, peak_allocated, peak_reserved */
  int32_t rank;          /* -1 when the lines do not tell it */
  bool is_counted;       /* of the run that the diagnosis is about */
  uint64_t samples;
  struct wo_view step_unit;           /* "step" or "epoch"; empty when the lines tell no step */
  struct wo_report_figure step_first; /* numbers of steps, where told */
  struct wo_report_figure step_last;
  struct wo_report_figure step_peak;
  struct wo_report_slope first_bytes; /* with the interval of the values that print so */
  struct wo_report_slope last_bytes;
  struct wo_report_slope peak_bytes;
  struct wo_report_slope lowest_bytes;
  struct wo_report_slope slope_bytes_per_step; /* per print where no step is told */
  struct wo_report_figure late_rise_bytes;     /* by how much it rose at least in the second half */
  struct wo_report_figure spread_bytes;        /* highest less lowest, behind the first prints */
  struct wo_report_figure jump_bytes;          /* largest rise between two prints, behind the first ones */
  struct wo_report_figure jump_from_bytes;
  struct wo_report_figure jump_step;
  uint64_t jump_line;
  struct wo_report_figure fall_bytes; /* largest fall between two prints */
  uint64_t falls;                     /* by more than a twentieth of the highest */
  uint64_t restarts;                  /* runs before this one in the same file */
  uint64_t wraps;                     /* how often the step began anew, at each epoch */
  uint64_t line_first;
  uint64_t line_last;
  wo_event_id evidence; /* the last print */
};

/* What the monitoring traces of one file show of one process. */
struct wo_report_process {
  uint32_t file;       /* index of the input */
  int32_t gpu;         /* -1 when the trace does not tell the card */
  uint64_t pid;        /* 0 when it does not tell the process: the name is a user's then */
  struct wo_view name; /* program, or user; may be empty */
  uint64_t samples;
  struct wo_report_figure peak_bytes; /* a lower bound */
  wo_event_id evidence;
};

/* Consequences of one sort, folded. */
struct wo_report_fold {
  struct wo_view what; /* "NCCL watchdog" */
  size_t count;
  size_t rank_count;
};

/* A fact that is known, for the JSON report. */
struct wo_report_fact {
  struct wo_view name;
  struct wo_value value;
};

/* A value that the inputs give for a knob and that does not count. */
struct wo_report_setting_other {
  struct wo_value value;  /* its evidence is where it stands */
  struct wo_view why_not; /* "a command line beats a file" */
  bool is_conflict;       /* the same key, set differently at a place of another sort */
};

/* What a knob is set to. */
struct wo_report_setting {
  struct wo_view knob;
  struct wo_value value;  /* its evidence is where it stands */
  struct wo_view spelled; /* "--micro-batch-size 4" */
  const struct wo_report_setting_other *others;
  size_t other_count;
  bool has_conflict;
};

struct wo_sizes;  /* analyzer/facts/sizes.h */
struct wo_ladder; /* analyzer/diagnosis/ladder.h */

struct wo_report {
  struct wo_arena arena;
  const struct wo_job *job;                 /* inputs, evidence, story; outlives the report */
  const struct wo_report_finding *findings; /* best first; the first is the diagnosis */
  size_t finding_count;
  bool has_memory;
  struct wo_report_memory memory;
  struct wo_shortage shortage;
  const struct wo_sizes *request;           /* what the refused request can have been; NULL when no such size is known */
  const struct wo_report_monitor *monitors; /* by file, then in the order of the trace */
  size_t monitor_count;
  const struct wo_report_process *processes; /* by file, then the largest first */
  size_t process_count;
  const struct wo_report_steps *steps; /* in the order of the evidence */
  size_t step_row_count;
  const struct wo_report_fold *folds;
  size_t fold_count;
  const struct wo_rank *ranks; /* by number */
  size_t rank_count;
  const struct wo_report_fact *facts;
  size_t fact_count;
  const struct wo_report_setting *settings; /* in the order of the knobs */
  size_t setting_count;
  const struct wo_ladder *ladder; /* larger settings from a run that fits; NULL when none is known */
  struct wo_view resubmit;        /* the line to resubmit with, or empty */
  struct wo_view verify_json;     /* a JSON object for the key "verify" of the JSON report, or empty */
  struct wo_view verify_patch;    /* the unified diff of that object; may be empty */
};

/* Whether the first finding tells of a failure. Notes stand behind all failures: without one there are only notes, or nothing. */
static inline bool wo_report_tells_failure(const struct wo_report *report) {
  return report->finding_count > 0 && report->findings[0].cause->is_failure;
}

/* Writes the report as text for people. */
void wo_report_text(const struct wo_report *report, struct wo_text_style style, struct wo_text *out);

/* Writes the report as one JSON object, schema whyoom.report/1 (docs/schema/report-1.schema.json), with a final newline. */
void wo_report_json(const struct wo_report *report, struct wo_text *out);

/* Makes the report of a job: evaluates the rules over its facts. WO_E_NOMEM. *ret_report is released with wo_report_free. */
enum wo_status wo_report_make(const struct wo_job *job, const struct wo_pack *pack, struct wo_report **ret_report);

/* Frees a report; NULL allowed; returns NULL. */
struct wo_report *wo_report_free(struct wo_report *report);

#endif
