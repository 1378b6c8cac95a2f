/* SPDX-License-Identifier: Apache-2.0 */
/* The result of `whyoom replay` for one recording of one device: the input of the writers.
 *
 * The command fills it (replay_command.c and the files that it names), the writers only read it. Texts are views into the
 * recording, the report's arena or string literals. One thread. */
#ifndef WO_REPLAY_REPORT_H
#define WO_REPLAY_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/category/look.h"
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

/* The result. It determines the exit code (replay_command.h). */
enum wo_replay_verdict {
  WO_REPLAY_REPRODUCED,  /* as recorded, and nothing else was asked */
  WO_REPLAY_FITS,        /* with more to spare than the uncertainty */
  WO_REPLAY_NOT_FIT,     /* a request fails */
  WO_REPLAY_DIVERGED,    /* the model differs from the recording */
  WO_REPLAY_NO_CAPACITY, /* asked whether it fits, but the capacity is unknown */
  WO_REPLAY_CLOSE,       /* it fits, but with less to spare than the uncertainty */
  WO_REPLAY_APPROXIMATE, /* the recording has too little information for a proof */
  WO_REPLAY_GPU_DIFFERS, /* the GPU behaved differently from its model */
  WO_REPLAY_REFUSED,     /* the recording contradicts itself or lacks entries: nothing can be replayed */
  WO_REPLAY_STATE_ONLY,  /* a snapshot without a history: it has a state, but nothing to replay */
  WO_REPLAY_VERDICT_COUNT_
};

/* The verdict's name in JSON ("does_not_fit"). Never NULL. */
const char *wo_replay_verdict_name(enum wo_replay_verdict verdict);

/* The source of the state before the first entry. */
enum wo_start_from { WO_START_EMPTY, WO_START_REBUILT, WO_START_APPROXIMATE };

struct wo_replay_report {
  struct wo_arena arena;                    /* of texts and rows made for the report */
  struct wo_start start;                    /* owned: the rebuilt state, empty if it could not be rebuilt */
  bool is_start_checked;                    /* it was rebuilt with the settings that are checked */
  struct wo_classes classes;                /* owned: of the recording's allocations */
  struct wo_alloc_pattern recorded_pattern; /* owned: the requests of the recording */
  struct wo_alloc_pattern needed_pattern;   /* owned: the same without its probes, if it has any (wo_replay_needed) */
  struct wo_classes needed_classes;         /* owned: of that */
  bool hides_kernels;                       /* much of forward is of convolutions whose kernels have no names */

  /* The recording. */
  struct wo_view path;
  const struct wo_recording *recording;
  const struct wo_trace *trace;
  uint64_t alloc_count, free_count;
  uint16_t torch;        /* the version with the rules that were followed */
  bool is_torch_assumed; /* neither the file nor the command line has it */
  enum wo_start_from start_from;
  size_t open_blocks; /* whose size at the start stayed open */

  /* The question. */
  struct wo_alloc_settings recorded_settings; /* as recorded; with --check the given ones, if any */
  struct wo_alloc_settings settings;          /* as replayed; the recorded ones unless changed */
  bool is_changed;                            /* --set was given, and is a what-if */
  bool has_chart;                             /* --chart: memory over time in the text */
  bool is_check;                              /* --check: only `check` and the members above are used */
  bool needs_memory;                          /* even if the check agrees: classes, and a run that follows the memory */
  bool has_question;                          /* more was asked than to show the recording (replay_args.h) */
  struct wo_capacity capacity;

  /* The results. */
  enum wo_replay_verdict verdict;
  struct wo_view why; /* of a refusal, an approximation, a state alone: one sentence; else empty */
  bool has_check;
  struct wo_replay_check check;
  bool has_recorded; /* the replay with the recorded settings from the recorded start */
  struct wo_replay_case recorded;
  bool has_whatif; /* with other settings or sizes, from an empty allocator; of an interval the likely sizes */
  struct wo_replay_case whatif;
  struct wo_steady_course whatif_course;         /* how the recorded requests were repeated */
  struct wo_alloc_pattern whatif_pattern;        /* owned: its pattern, repeated to a steady state */
  bool has_bounds;                               /* sizes or the program changed: the low and the high end */
  struct wo_replay_case bounds[WO_BOUND_COUNT_]; /* LIKELY is the what-if */
  struct wo_change change;
  bool has_pair;
  struct wo_scale_from_two pair;
  bool has_forecast; /* sizes changed: the parts of the likely peak, by the reason for each allocation's growth */
  struct wo_forecast forecast;
  bool has_baseline; /* the recorded settings, from an empty allocator: for comparison with the what-if */
  struct wo_replay_case baseline;
  bool has_warm; /* other settings, from the recorded start state */
  struct wo_replay_case warm;

  /* The holders of the memory when a request fails, or at the peak of allocated bytes: of the what-if if there is one. */
  const struct wo_alloc_pattern *pattern; /* of the run in `memory`; NULL without one */
  bool has_memory;
  struct wo_memory_over_time memory;
  struct wo_attribution attribution;
  struct wo_pins pins;

  /* For a recording that cannot be replayed: the contents of its segments. `memory` then has no steps, only the map of the
   * snapshot. */
  bool has_holdings;
  struct wo_holdings holdings;

  /* The recording as people look at it, for --where and for the page; and the moment of which categories are reported: that of
   * the holders, or the peak of --from and --to. */
  bool has_look;
  struct wo_look look; /* owned */
  struct wo_moment look_at;

  struct wo_replay_gpu gpu; /* --on gpu; gpu.has_run says whether it has a result */
  bool is_on_gpu;
  struct wo_view visible_devices; /* CUDA_VISIBLE_DEVICES, borrowed; empty if not set */

  bool has_sweep;
  struct wo_sweep sweep;

  bool has_state; /* --at */
  uint64_t state_at;
  struct wo_segment_map state;

  bool has_times;           /* false: --no-times */
  uint64_t operation_count; /* requests and segment events of all replays together */
  double seconds;           /* duration of these replays, without reading */
  double events_per_second; /* of the model: requests and segment events */
};

/* What every what-if begins with: the requests of the recording without its probes, and their classes. */
const struct wo_alloc_pattern *wo_replay_needed(const struct wo_replay_report *report);
const struct wo_classes *wo_replay_needed_classes(const struct wo_replay_report *report);

/* The result that decides the verdict: the what-if, or the best row of the sweep, else the recorded run. NULL if nothing was run.
 */
const struct wo_replay_case *wo_replay_subject(const struct wo_replay_report *report);

/* Whether a changed program's low and high end differ. */
bool wo_replay_is_interval(const struct wo_replay_report *report);

/* What makes an interval wide, in the order of the names in the report. */
enum wo_replay_width {
  WO_WIDTH_ORDER,     /* the order of addresses, which a run that never happened does not show */
  WO_WIDTH_SIZES,     /* how some allocations grow, or what a transform saves */
  WO_WIDTH_TRANSFORM, /* real programs with a transform were that far from its ends */
  WO_WIDTH_SINGLE,    /* the recording is of micro-batch 1: operators that copy nothing there do so at larger ones */
  WO_WIDTH_KERNELS,   /* convolutions whose kernels and workspaces the recording does not name */
  WO_WIDTH_MIDDLE,    /* the recording begins in the middle of a run */
  WO_WIDTH_REST,      /* what real programs differ by anyway */
  WO_WIDTH_COUNT_
};

/* Where the peak of reserved bytes of a changed program lies (has_bounds): from the low end to the high one, and as far beyond
 * them as real programs were (docs/training.md): by 1 %; by 6 % without stacks; if the recording begins in the middle of a run,
 * by 3 % where a later step stands in for its first, else by 9 %; by 10 % from micro-batch 1, and for convolutions without named
 * kernels. Transforms have figures of their own. */
struct wo_replay_interval {
  uint64_t lo_bytes, hi_bytes;
  bool is_figure;              /* no end is more than 5 % from the middle of the likely peaks (over orders of addresses) */
  enum wo_replay_width widest; /* what contributes most */
};
struct wo_replay_interval wo_replay_interval(const struct wo_replay_report *report);

/* The name of what makes an interval wide ("order_of_addresses"), and the words for it ("the order of addresses"). */
const char *wo_replay_width_name(enum wo_replay_width width);
const char *wo_replay_width_text(enum wo_replay_width width);

/* How much more than the result that must fit could be needed: the capacity's uncertainty, or the interval beyond it. */
uint64_t wo_replay_uncertainty(const struct wo_replay_report *report);

/* The result that must fit: the high end of an interval, else the subject. */
const struct wo_replay_case *wo_replay_most(const struct wo_replay_report *report);

/* The result whose peak and holders are shown: the what-if, else the recorded run. NULL if nothing was run. */
const struct wo_replay_case *wo_replay_shown(const struct wo_replay_report *report);

/* The bytes reserved beyond the most that was ever allocated, as a share of the peak of reserved bytes, in percent; 0 if nothing
 * is reserved. Of the order that needed most. */
double wo_replay_idle_pct(const struct wo_replay_case *result);

/* The most bytes that a failed request could have had in one piece: idle in segments, and free on the device unless a memory
 * fraction forbids using it. At most UINT64_MAX. */
uint64_t wo_replay_room(const struct wo_allocator_oom *oom);

/* Bytes to spare: capacity less the most that was reserved; never negative, since a request then fails: 0 with an OOM. */
uint64_t wo_replay_margin(const struct wo_replay_report *report, const struct wo_replay_case *result);

/* Adds the verdict in one line, as at the head of the text report. */
void wo_replay_verdict_line(const struct wo_replay_report *report, struct wo_text *out);

/* Adds settings as people read them: "default" if nothing differs from the version's defaults. */
void wo_replay_settings(const struct wo_replay_report *report, const struct wo_alloc_settings *settings, struct wo_text *out);

/* The entry of a request of the shown run, which may differ from the request's own number; WO_NO_ENTRY before the first. */
uint32_t wo_replay_entry_of(const struct wo_replay_report *report, uint32_t request);

/* Releases the report's own data, without the recording. NULL allowed. */
void wo_replay_report_done(struct wo_replay_report *report);

/* Appends the report for people / as one JSON object of schema whyoom.replay/1 (docs/schema/replay-1.schema.json). If memory is
 * out, out->is_failed is set. */
void wo_replay_text(const struct wo_replay_report *report, struct wo_text_style style, struct wo_text *out);
void wo_replay_json(const struct wo_replay_report *report, struct wo_text *out);

#endif
