/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings: a program's requests to PyTorch's caching allocator on one or several devices, and the answers.
 *
 * A recording is a value: readers (snapshot.h, chrome_trace.h, trace_lines.h, memory_timeline.h) make it; everything else only
 * reads it. Texts, frames and stacks are stored once and referred to by index, so that memory grows with the distinct stacks and
 * with 32 bytes for each entry, not with the text of the file. Readers guarantee that all indices are valid,
 * that segments do not overlap and that blocks fill them. Only one thread may use a recording while it is made; any number may
 * use it afterwards.
 *
 * Facts about the fields: PyTorch's c10/cuda/CUDACachingAllocator.{h,cpp} and torch/csrc/cuda/memory_snapshot.cpp, 2.0 to 2.11.
 */
#ifndef WO_TRACE_H
#define WO_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/recording/settings.h"
#include "parsers/base/arena.h"
#include "parsers/base/status.h"
#include "parsers/base/vec.h"
#include "parsers/base/view.h"

enum wo_action {
#define WO_ACTION(id, name, traits) WO_ACTION_##id,
#include "cuda_replay/recording/actions.def"
#undef WO_ACTION
  WO_ACTION_COUNT_
};

/* The name of an action in files ("free_completed"). Never NULL. */
const char *wo_action_name(enum wo_action action);

/* What entries of one kind have in common. */
enum wo_trait {
  WO_TRAIT_BLOCK = 1,        /* an allocation, or a step of a free */
  WO_TRAIT_GROWTH = 2,       /* the driver gives memory */
  WO_TRAIT_RELEASE = 4,      /* the driver gets memory back */
  WO_TRAIT_REFUSAL = 8,      /* the driver refused a request */
  WO_TRAIT_STATE = 16,       /* a snapshot was taken */
  WO_TRAIT_INSIDE = 32,      /* changes no segment, and can come between the segment events of a call */
  WO_TRAIT_INSTRUCTION = 64, /* the program's own words: a recording that has one also has each empty_cache() */
  WO_TRAIT_SEGMENT = WO_TRAIT_GROWTH | WO_TRAIT_RELEASE,
  WO_TRAIT_RANGE = WO_TRAIT_BLOCK | WO_TRAIT_SEGMENT,                     /* the entry names a range of addresses */
  WO_TRAIT_RECORDED = WO_TRAIT_RANGE | WO_TRAIT_REFUSAL | WO_TRAIT_STATE, /* by PyTorch */
  WO_TRAIT_IN_CALL = WO_TRAIT_SEGMENT | WO_TRAIT_INSIDE /* comes between the first segment event of a call and its end */
};

extern const uint8_t wo__action_traits[]; /* by action: enum wo_trait */

/* Whether actions of that kind have one of the traits. */
static inline bool wo_action_is(enum wo_action action, unsigned traits) {
  return (wo__action_traits[action] & traits) != 0;
}

/* The stack is not known / the entry belongs to the default pool / the time is not known. */
#define WO_NO_STACK UINT32_MAX
#define WO_POOL_DEFAULT 0
#define WO_NO_TIME INT64_MIN

/* One entry, in the order of the allocator's work. actions.def gives the meaning of address and size. */
struct wo_trace_entry {
  uint64_t address; /* device address; 0 if there is none */
  uint64_t size_bytes;
  int64_t time_us;      /* Unix epoch, or WO_NO_TIME */
  uint32_t stack;       /* index into wo_recording.stacks, or WO_NO_STACK */
  uint32_t stream : 12; /* index into wo_recording.streams */
  uint32_t pool : 15;   /* index into wo_recording.pools; also WO_POOL_DEFAULT when the file does not state it */
  uint32_t action : 5;  /* enum wo_action */
};

/* Whether an entry's action has one of the traits. */
static inline bool wo_entry_is(const struct wo_trace_entry *entry, unsigned traits) {
  return wo_action_is((enum wo_action)entry->action, traits);
}

enum { WO_TRACE_STREAMS_MAX = 1 << 12, WO_TRACE_POOLS_MAX = 1 << 15 };

/* A private pool's name as PyTorch gives it; {0, 0} is the default pool and always at index 0. */
struct wo_pool_id {
  uint64_t first;
  uint64_t second;
};

/* A line of a stack. Texts are views into the recording's arena. */
struct wo_frame {
  struct wo_view function;
  struct wo_view file; /* "??" for frames of C++ */
  uint32_t line;       /* 0 = unknown */
};

/* A stack: frames[first .. first + count) of wo_recording.stack_frames, innermost first, as indices into wo_recording.frames. */
struct wo_stack {
  uint32_t first;
  uint32_t count;
};

/* The state of a block. PENDING: freed by the program, waiting for work on other streams. */
enum wo_block_state { WO_BLOCK_FREE, WO_BLOCK_ALLOCATED, WO_BLOCK_PENDING };

/* A block of a segment at the moment of the snapshot. */
struct wo_trace_block {
  uint64_t address;
  uint64_t size_bytes;
  uint64_t requested_bytes; /* 0 when not known (for free blocks it is stale and not kept; none before 2.0) */
  uint32_t stack;           /* of its allocation, or WO_NO_STACK */
  enum wo_block_state state;
};

/* A segment (for expandable ones: a contiguous mapped run) at the moment of the snapshot; blocks[first_block ..
 * first_block + block_count) of the trace, by rising address, without gaps. */
struct wo_trace_segment {
  uint64_t address;
  uint64_t size_bytes;
  uint32_t first_block;
  uint32_t block_count;
  uint32_t stream; /* index into wo_recording.streams */
  uint32_t pool;   /* index into wo_recording.pools */
  uint32_t stack;
  bool is_small; /* of the small pool */
  bool is_expandable;
};

/* What the program said about an allocation when it made it (torch.cuda.memory._set_memory_metadata): `text`, a view into the
 * recording's arena, of entry `entry`. */
struct wo_entry_metadata {
  uint32_t entry;
  struct wo_view text;
};

/* The recording of one device: entries, and the segments at the end of the recording, by rising address. */
struct wo_trace {
  int device; /* ordinal in the program that was recorded */
  WO_VEC(struct wo_trace_entry) entries;
  WO_VEC(struct wo_trace_segment) segments;
  WO_VEC(struct wo_trace_block) blocks;
  WO_VEC(struct wo_entry_metadata) metadata; /* of the entries that have any, in their order */
  bool has_segments; /* the file states them (even if there are none); otherwise the start is empty or approximate */
};

/* A mark of the program in time ('Optimizer.step#AdamW.step'). */
struct wo_annotation {
  struct wo_view name;
  int64_t time_us;
  int device;
  bool is_start;
};

enum wo_trace_format {
  WO_TRACE_FORMAT_UNKNOWN,
  WO_TRACE_FORMAT_SNAPSHOT, /* pickle, plain, gzip or inside of HTML */
  WO_TRACE_FORMAT_PROFILER, /* Chrome trace: sizes are block sizes, no streams, no segments */
  WO_TRACE_FORMAT_TIMELINE, /* memory timeline: no addresses */
  WO_TRACE_FORMAT_LINES,    /* our own JSONL */
  WO_TRACE_FORMAT_RECONSTRUCTED
};

/* How exact the entries are. EXACT: requested bytes and addresses. BLOCK_SIZES: sizes are rounded. APPROXIMATE: allocations and
 * frees were paired by guess. */
enum wo_trace_fidelity { WO_TRACE_EXACT, WO_TRACE_BLOCK_SIZES, WO_TRACE_APPROXIMATE };

/* The content of one file. The caller of the reader owns it; released with wo_recording_free. */
struct wo_recording {
  enum wo_trace_format format;
  enum wo_trace_fidelity fidelity;
  bool is_truncated; /* the file ends early; a note says where */
  bool has_only_ids; /* addresses of blocks are only distinct numbers: there is no placement to check. Line form only */
  /* Versions of torch that the layout allows (settings.h: 206 = 2.6); 0 = not known. Equal if the version is certain. */
  uint16_t torch_from;
  uint16_t torch_to;
  bool has_settings;
  struct wo_alloc_settings settings; /* if not has_settings the defaults, or what entries show */
  struct wo_view settings_text;      /* the last settings string, or empty */
  uint64_t capacity_bytes;           /* of the card, if the file states it; 0 = unknown. Line form only */
  struct wo_arena arena;             /* texts and notes */
  WO_VEC(struct wo_trace) traces;    /* one per device that has entries or segments, by rising ordinal */
  WO_VEC(uint64_t) streams;          /* raw stream pointers as PyTorch gives them; 0 = the default stream; index 0 is always 0 */
  WO_VEC(struct wo_pool_id) pools;
  WO_VEC(struct wo_frame) frames;
  WO_VEC(uint32_t) stack_frames;
  WO_VEC(struct wo_stack) stacks;
  WO_VEC(struct wo_annotation) annotations; /* by rising time */
  WO_VEC(struct wo_view) settings_texts;    /* strings of WO_ACTION_SETTINGS */
  WO_VEC(struct wo_view) notes;             /* one sentence each: something was skipped, guessed or cut, with its place */
  const volatile int *stop;                 /* enum wo_stop, of another thread: WO_STOP_ALL ends its replays. NULL: never */
};

/* A recording that holds only stream 0 and the default pool. NULL when memory is out. */
struct wo_recording *wo_recording_new(void);

/* Frees a recording; NULL allowed; returns NULL. */
struct wo_recording *wo_recording_free(struct wo_recording *recording);

/* The trace of a device; it is made if it does not exist. NULL when memory is out or there are WO_LIMIT_TRACE_DEVICES. */
struct wo_trace *wo_recording_trace(struct wo_recording *recording, int device);

/* Adds an entry. WO_E_NOMEM, WO_E_LIMIT (WO_LIMIT_TRACE_ENTRIES). */
enum wo_status wo_trace_add(struct wo_trace *trace, struct wo_trace_entry entry);

/* Adds metadata to the trace's last entry; empty ones are left out. WO_E_NOMEM. */
enum wo_status wo_trace_add_metadata(struct wo_trace *trace, struct wo_view text);

/* Whether an entry completes the free that the entry before it requested. */
bool wo_trace_completes_at_once(const struct wo_trace *trace, size_t index);

/* Whether a trace has an entry with that action. */
bool wo_trace_has(const struct wo_trace *trace, enum wo_action action);

/* Whether the completion of a free is an entry of its own: false only if skip_actions left such entries out. Without any, all
 * frees of the trace must be pending at the end. */
bool wo_trace_has_completions(const struct wo_trace *trace);

/* Why the entries of a trace cannot be replayed as a run: no history was recorded, the ring had one entry, or no entry is an
 * allocation. NULL if there may be a run, and for a recording that states no segments or does not come from an allocator. The
 * text is a literal. */
const char *wo_trace_lack(const struct wo_recording *recording, const struct wo_trace *trace);

/* Adds a note, printf-formatted; it is lost when memory is out or there are WO_LIMIT_TRACE_NOTES notes, the last of which says
 * so. */
void wo_recording_note(struct wo_recording *recording, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
