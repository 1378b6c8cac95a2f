/* What `whyoom replay` has to say about one recording of one device: the value that the writers see.
 *
 * The command fills it (replay_command.c and the files that it names), the writers only read it. Texts are views into the
 * recording, the report's arena or string literals. One thread. */
#ifndef WO_REPLAY_REPORT_H
#define WO_REPLAY_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/pattern.h"
#include "cuda_replay/replay.h"
#include "cuda_replay/settings.h"
#include "cuda_replay/trace.h"
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
  WO_REPLAY_REFUSED,     /* the recording contradicts itself or lacks entries: nothing can be replayed */
  WO_REPLAY_VERDICT_COUNT_
};

/* The verdict's name in JSON ("does_not_fit"). Never NULL. */
const char *wo_replay_verdict_name(enum wo_replay_verdict verdict);

/* Where the capacity comes from. */
enum wo_capacity_from { WO_CAPACITY_NONE, WO_CAPACITY_OPTION, WO_CAPACITY_OOM_ENTRY, WO_CAPACITY_FILE };

/* How the state before the first entry is known. */
enum wo_start_from { WO_START_EMPTY, WO_START_REBUILT, WO_START_APPROXIMATE };

/* The comparison of a replay at the recorded settings with the recording. Counts of what was compared and of what was equal. */
struct wo_replay_check {
  uint64_t entries_compared;
  uint64_t allocations;
  uint64_t addresses_equal;
  uint64_t segment_events;
  uint64_t segment_events_equal;
  bool has_final_layout; /* the file states the segments at the end */
  bool final_layout_equal;
  bool has_diverged;
  uint32_t diverged_at; /* entry */
  struct wo_view why;   /* of a divergence: what was expected, what came */
};

/* A stack for people: the program's own innermost frame, and where that came from. */
enum { WO_REPLAY_FRAMES = 12 };
struct wo_replay_stack {
  struct wo_view own;                      /* "train.py:88 step"; empty when there is no frame at all */
  struct wo_view frames[WO_REPLAY_FRAMES]; /* innermost first, the own one included, in the same form */
  size_t frame_count;
};

/* Blocks of one class or of one stack that are live at the peak. */
struct wo_replay_holder {
  enum wo_alloc_class class_; /* the class of the most bytes */
  struct wo_replay_stack stack;
  uint64_t bytes;
  uint64_t block_count;
};

/* A segment that is mostly idle and cannot be freed because of the few blocks in it. */
struct wo_replay_pin {
  uint64_t address;
  uint64_t segment_bytes;
  uint64_t held_by_bytes; /* in all its blocks in use */
  uint64_t block_count;
  enum wo_alloc_class class_; /* of the largest of them, and its stack */
  struct wo_replay_stack stack;
  bool is_older;  /* the largest was there before the recording began */
  uint32_t birth; /* else: the entry that made it */
};

/* A replay at one set of settings, over several address orders. */
struct wo_replay_case {
  struct wo_alloc_settings settings;
  struct wo_replay_outcome outcome; /* of the order that needed most; one that ran out of memory counts as most */
  uint32_t oom_entry;               /* of that order: the entry whose request failed, or WO_NO_ENTRY */
  uint32_t peak_entry;              /* at which reserved bytes peaked, or WO_NO_ENTRY (before the first entry) */
  uint64_t idle_at_peak_bytes;      /* reserved and neither allocated nor pending, when reserved bytes peaked */
  uint32_t run_count;
  uint32_t oom_count; /* runs in which a request failed */
  uint64_t reserved_lo_bytes, reserved_hi_bytes;
};

/* What a row of the sweep is worth. */
enum wo_sweep_worth { WO_SWEEP_SAME, WO_SWEEP_BETTER, WO_SWEEP_HARMFUL };

struct wo_replay_sweep_row {
  struct wo_view text;  /* as PYTORCH_CUDA_ALLOC_CONF spells it; "default" without any */
  struct wo_view needs; /* what beside the settings string: "a memory fraction of 0.95"; empty for nothing */
  struct wo_replay_case result;
  enum wo_sweep_worth worth;
  bool is_recorded; /* the recorded settings */
};

/* A block or a segment of the state after an entry. */
struct wo_replay_state_block {
  uint64_t address;
  uint64_t size_bytes;
  uint64_t requested_bytes;
  enum wo_block_state state;
  bool is_older;
  uint32_t birth;
  struct wo_replay_stack stack;
};

struct wo_replay_state_segment {
  uint64_t address;
  uint64_t size_bytes;
  uint64_t stream; /* raw */
  struct wo_pool_id pool;
  bool is_small;
  bool is_expandable;
  size_t first_block, block_count; /* of wo_replay_report.state_blocks */
};

struct wo_replay_report {
  struct wo_arena arena; /* of texts and rows made for the report */

  /* The recording. */
  struct wo_view path;
  const struct wo_recording *recording;
  const struct wo_trace *trace;
  uint64_t alloc_count, free_count;
  uint16_t torch;        /* whose rules were followed */
  bool is_torch_assumed; /* the file leaves it open and the command line does, too */
  enum wo_start_from start;
  size_t ambiguous_count; /* of the start state: blocks whose slack stayed open */

  /* What was asked. */
  struct wo_alloc_settings settings; /* as replayed; the recorded ones unless changed */
  bool is_changed;                   /* settings differ from the recorded ones */
  bool is_check;                     /* --check: nothing below `check` is of interest */
  uint64_t capacity_bytes;           /* what the allocator may take; 0 = not known */
  enum wo_capacity_from capacity_from;
  uint64_t uncertainty_bytes; /* how well that is known */

  /* What came out. */
  enum wo_replay_verdict verdict;
  struct wo_view why; /* of a refusal, an approximation: one sentence; else empty */
  bool has_check;
  struct wo_replay_check check;
  bool has_recorded; /* the replay at the recorded settings from the recorded start */
  struct wo_replay_case recorded;
  bool has_whatif; /* at other settings, from an empty allocator */
  struct wo_replay_case whatif;
  bool has_baseline; /* the recorded settings, from an empty allocator: what the what-if is to be compared with */
  struct wo_replay_case baseline;
  bool has_warm; /* at other settings, from the recorded start state */
  struct wo_replay_case warm;

  /* What holds the memory when reserved bytes peak, largest first; of the what-if where there is one. */
  struct wo_replay_holder *classes;
  size_t class_count;
  struct wo_replay_holder *stacks;
  size_t stack_count;
  uint64_t stacks_rest_bytes; /* in stacks that are not told */
  struct wo_replay_pin *pins; /* most idle first */
  size_t pin_count;
  uint64_t pins_idle_bytes; /* idle in all pinned segments, also those that are not told */
  size_t pins_total;

  struct wo_replay_sweep_row *sweep; /* best first */
  size_t sweep_count;
  struct wo_view advice; /* what to paste, or why nothing helps; empty without a sweep */

  bool has_state; /* --at */
  uint64_t state_at;
  struct wo_replay_state_segment *state_segments;
  size_t state_segment_count;
  struct wo_replay_state_block *state_blocks;
  size_t state_block_count;
  struct wo_allocator_stats state_stats;

  bool has_times;           /* false: --no-times */
  double seconds;           /* of all replays together */
  double events_per_second; /* of the model: requests and segment events */
};

/* The result that the verdict is about: the what-if, else the recorded run. NULL when nothing was run. */
const struct wo_replay_case *wo_replay_subject(const struct wo_replay_report *report);

/* Idle bytes as a share of reserved ones at the peak, in percent; 0 when nothing is reserved. */
double wo_replay_idle_pct(const struct wo_replay_case *result);

/* Bytes to spare: capacity less the most that was reserved; negative never, since a request then fails: 0 with an OOM. */
uint64_t wo_replay_margin(const struct wo_replay_report *report, const struct wo_replay_case *result);

/* Appends the report for people / as one JSON object of schema whyoom.replay/1 (docs/schema/replay-1.schema.json). When memory is
 * out the text says so (is_failed). */
void wo_replay_text(const struct wo_replay_report *report, struct wo_text_style style, struct wo_text *out);
void wo_replay_json(const struct wo_replay_report *report, struct wo_text *out);

#endif
