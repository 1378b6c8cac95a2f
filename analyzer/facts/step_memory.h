/* Memory that programs printed with their steps: one row for each file, rank and figure. */
#ifndef WO_STEP_MEMORY_H
#define WO_STEP_MEMORY_H

#include "analyzer/facts/facts.h"

/* One figure of the card's memory that one rank printed with its steps, over all its prints. */
struct wo_step_memory {
  uint32_t file;         /* index of the input */
  struct wo_view figure; /* allocated, reserved, used (the line does not say which), free, peak_allocated, peak_reserved */
  int32_t rank;          /* -1 when the lines do not name it */
  bool is_counted;       /* of the run that is diagnosed */
  uint64_t samples;
  struct wo_view step_unit;    /* "step" or "epoch"; empty when the lines print no step */
  struct wo_figure step_first; /* numbers of steps, where printed */
  struct wo_figure step_last;
  struct wo_figure step_peak;
  struct wo_figure first_bytes; /* with the interval of their rounding */
  struct wo_figure last_bytes;
  struct wo_figure peak_bytes;
  struct wo_figure lowest_bytes;
  struct wo_figure slope_bytes_per_step; /* per print if no step is printed */
  struct wo_figure late_rise_bytes;      /* minimum rise in the second half */
  struct wo_figure spread_bytes;         /* highest less lowest, after the first prints */
  struct wo_figure jump_bytes;           /* largest rise between two prints, after the first ones */
  struct wo_figure jump_from_bytes;
  struct wo_figure jump_step;
  uint64_t jump_line;
  struct wo_figure fall_bytes; /* largest fall between two prints */
  uint64_t falls;              /* by more than a twentieth of the highest */
  uint64_t restarts;           /* runs before this one in the same file */
  uint64_t wraps;              /* how often the step number began again, for example at each epoch */
  uint64_t line_first;
  uint64_t line_last;
  wo_event_id evidence; /* the last print */
};

/* The row that explains the failure best, or NULL: a row of the rank that failed, then memory in use before peaks, then the
 * highest figure. Rows of earlier runs are left out, and rows with more than the card has (`capacity_bytes`; 0 when it is
 * unknown). */
const struct wo_step_memory *wo_step_memory_lead(const struct wo_job *job, const struct wo_step_memory *rows, size_t count,
                                                 double capacity_bytes);

#endif
