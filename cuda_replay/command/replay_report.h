/* What `whyoom replay` has to say about one recording of one device: the value that the writers see.
 *
 * The command fills it (replay_command.c and the files that it names), the writers only read it. Texts are views into the
 * recording, the report's arena or string literals. One thread. */
#ifndef WO_REPLAY_REPORT_H
#define WO_REPLAY_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/inspect/attribution.h"
#include "cuda_replay/whatif/capacity.h"
#include "cuda_replay/change/change.h"
#include "cuda_replay/replay/check.h"
#include "cuda_replay/inspect/memory_over_time.h"
#include "cuda_replay/whatif/forecast.h"
#include "cuda_replay/inspect/holdings.h"
#include "cuda_replay/pattern/alloc_pattern.h"
#include "cuda_replay/inspect/pins.h"
#include "cuda_replay/replay/replay.h"
#include "cuda_replay/whatif/whatif_gpu.h"
#include "cuda_replay/recording/settings.h"
#include "cuda_replay/whatif/sweep.h"
#include "cuda_replay/recording/trace.h"
#include "cuda_replay/whatif/whatif.h"
#include "parsers/base/arena.h"
#include "parsers/base/text.h"

/* What it comes to. The exit code follows from it (replay_command.h). */
enum wo_replay_verdict {
  WO_REPLAY_REPRODUCED,  /* the recording, and nothing else was asked */
  WO_REPLAY_FITS,        /* with more to spare than is uncertain */
  WO_REPLAY_NOT_FIT,     /* a request fails */
  WO_REPLAY_DIVERGED,    /* the model gives something else than was recorded */
  WO_REPLAY_NO_CAPACITY, /* whether it fits was asked, and of what nobody says */
  WO_REPLAY_CLOSE,       /* it fits, with less to spare than is uncertain */
  WO_REPLAY_APPROXIMATE, /* the recording does not say enough for a proof */
  WO_REPLAY_GPU_DIFFERS, /* the GPU did something else than the model of it */
  WO_REPLAY_REFUSED,     /* the recording contradicts itself or lacks entries: nothing can be replayed */
  WO_REPLAY_STATE_ONLY,  /* a snapshot without a history: it holds a state, and there is nothing to replay */
  WO_REPLAY_VERDICT_COUNT_
};

/* The verdict's name in JSON ("does_not_fit"). Never NULL. */
const char *wo_replay_verdict_name(enum wo_replay_verdict verdict);

/* How the state before the first entry is known. */
enum wo_start_from { WO_START_EMPTY, WO_START_REBUILT, WO_START_APPROXIMATE };

struct wo_replay_report {
  struct wo_arena arena;                    /* of texts and rows made for the report */
  struct wo_start start;                    /* owned: the rebuilt state, empty where it could not be */
  struct wo_classes classes;                /* owned: of its allocations */
  struct wo_alloc_pattern recorded_pattern; /* owned: what the recording asked for */

  /* The recording. */
  struct wo_view path;
  const struct wo_recording *recording;
  const struct wo_trace *trace;
  uint64_t alloc_count, free_count;
  uint16_t torch;        /* whose rules were followed */
  bool is_torch_assumed; /* the file leaves it open and the command line does, too */
  enum wo_start_from start_from;

  /* What was asked. */
  struct wo_alloc_settings recorded_settings; /* as recorded; with --check those that were given, if any */
  struct wo_alloc_settings settings;          /* as replayed; the recorded ones unless changed */
  bool is_changed;                            /* --set was given, and is a what-if */
  bool has_chart;                             /* --chart: memory over time in the text */
  bool is_check;                              /* --check: nothing below `check` is of interest */
  bool has_question;                          /* more was asked than to look at the recording (replay_args.h) */
  struct wo_capacity capacity;

  /* What came out. */
  enum wo_replay_verdict verdict;
  struct wo_view why; /* of a refusal, an approximation, a mere state: one sentence; else empty */
  bool has_check;
  struct wo_replay_check check;
  bool has_recorded; /* the replay at the recorded settings from the recorded start */
  struct wo_replay_case recorded;
  bool has_whatif; /* at other settings or sizes, from an empty allocator; of an interval the likely sizes */
  struct wo_replay_case whatif;
  unsigned whatif_passes;                        /* how often the recorded requests were repeated for it, at least 1 */
  struct wo_alloc_pattern whatif_pattern;        /* owned: what was run for it, repeated to a steady state */
  bool has_bounds;                               /* sizes or the program changed: the low and the high end */
  struct wo_replay_case bounds[WO_BOUND_COUNT_]; /* LIKELY is the what-if */
  struct wo_change change;
  bool has_pair;
  struct wo_scale_from_two pair;
  bool has_forecast; /* sizes changed: what its likely peak is made of, by how each allocation was found to grow */
  struct wo_forecast forecast;
  bool has_baseline; /* the recorded settings, from an empty allocator: what the what-if is to be compared with */
  struct wo_replay_case baseline;
  bool has_warm; /* at other settings, from the recorded start state */
  struct wo_replay_case warm;

  /* What holds the memory when a request fails, or when allocated bytes peak: of the what-if where there is one. */
  const struct wo_alloc_pattern *pattern; /* of the run that `memory` shows; NULL without one */
  bool has_memory;
  struct wo_memory_over_time memory;
  struct wo_attribution attribution;
  struct wo_pins pins;

  /* Of a recording that cannot be replayed: what its segments hold. `memory` has no steps then, and the map of the snapshot. */
  bool has_holdings;
  struct wo_holdings holdings;

  struct wo_replay_gpu gpu; /* --on gpu; gpu.has_run says whether there is something in it */
  bool is_on_gpu;
  struct wo_view visible_devices; /* CUDA_VISIBLE_DEVICES, borrowed; empty when not set */

  bool has_sweep;
  struct wo_sweep sweep;

  bool has_state; /* --at */
  uint64_t state_at;
  struct wo_segment_map state;

  bool has_times;           /* false: --no-times */
  uint64_t operation_count; /* requests and segment events of all replays together */
  double seconds;           /* that they took, reading excluded */
  double events_per_second; /* of the model: requests and segment events */
};

/* The result that the verdict is about: the what-if, or the best row of the sweep, else the recorded run. NULL when nothing was
 * run. */
const struct wo_replay_case *wo_replay_subject(const struct wo_replay_report *report);

/* Whether a changed program's low and high end differ. */
bool wo_replay_is_interval(const struct wo_replay_report *report);

/* The result that must fit: the high end of an interval, else the subject. */
const struct wo_replay_case *wo_replay_most(const struct wo_replay_report *report);

/* The result whose peak and holders are shown: the what-if, else the recorded run. NULL when nothing was run. */
const struct wo_replay_case *wo_replay_shown(const struct wo_replay_report *report);

/* What is reserved beyond the most that was ever allocated, as a share of the peak of reserved bytes, in percent; 0 when nothing
 * is reserved. Of the order that needed most. */
double wo_replay_idle_pct(const struct wo_replay_case *result);

/* What a request that failed could have had in one piece at best: idle in segments, and free on the device unless a memory
 * fraction forbids to take it. At most UINT64_MAX. */
uint64_t wo_replay_room(const struct wo_allocator_oom *oom);

/* Bytes to spare: capacity less the most that was reserved; negative never, since a request then fails: 0 with an OOM. */
uint64_t wo_replay_margin(const struct wo_replay_report *report, const struct wo_replay_case *result);

/* Releases what the report owns; the recording is not its own. NULL allowed. */
void wo_replay_report_done(struct wo_replay_report *report);

/* Appends the report for people / as one JSON object of schema whyoom.replay/1 (docs/schema/replay-1.schema.json). When memory is
 * out the text says so (is_failed). */
void wo_replay_text(const struct wo_replay_report *report, struct wo_text_style style, struct wo_text *out);
void wo_replay_json(const struct wo_replay_report *report, struct wo_text *out);

#endif
