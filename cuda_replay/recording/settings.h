/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the caching allocator, as PYTORCH_CUDA_ALLOC_CONF / PYTORCH_ALLOC_CONF spell them, and versions of torch.
 *
 * Source: c10/cuda/CUDAAllocatorConfig.{h,cpp} (2.0 to 2.8), c10/core/AllocatorConfig.{h,cpp} (2.9 on). Pure values; no function
 * here allocates; all are safe to call from any thread. */
#ifndef WO_SETTINGS_H
#define WO_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "parsers/base/status.h"
#include "parsers/base/text.h"
#include "parsers/base/exchange/torch_version.h"
#include "parsers/base/view.h"

/* A version of torch: 100 * major + minor (1.13 = 113, 2.6 = 206). */
enum { WO_TORCH_OLDEST = 113, WO_TORCH_NEWEST = 215, WO_TORCH_DEFAULT = 206 };

enum { WO_ROUNDUP_SLOTS = 16 };

#define WO_SPLIT_UNLIMITED UINT64_MAX

/* A memory fraction that allows nothing at all: 0 stands for "not set". */
#define WO_FRACTION_NOTHING 1e-30

struct wo_alloc_settings {
  uint64_t max_split_bytes;                     /* WO_SPLIT_UNLIMITED = no limit */
  uint64_t max_non_split_rounding_bytes;        /* from 2.6; default 20 MiB */
  uint64_t large_segment_bytes;                 /* from 2.11; default 20 MiB */
  uint32_t roundup_divisions[WO_ROUNDUP_SLOTS]; /* slot i is for sizes of [2^i MiB, 2^(i+1) MiB); 0 = off */
  double garbage_collection_threshold;          /* 0 = off; acts only with a memory fraction */
  double memory_fraction; /* of the card's total; 0 = not set (set_per_process_memory_fraction, or 2.10's key) */
  double string_fraction; /* the fraction in the last settings string that had one; 0 = none. For throw_on_cudamalloc_oom */
  bool expandable_segments;
  bool graph_capture_record_stream_reuse;
  bool throw_on_cudamalloc_oom;
  bool keeps_odd_sizes; /* up to 2.3: one division keeps sizes as they are; an allocator sets it by its version */
  bool is_native;       /* false: cudaMallocAsync, which has no blocks to model */
};

/* The defaults of a version. */
struct wo_alloc_settings wo_alloc_settings_default(uint16_t torch);

/* Applies a settings string as that version of torch would: max_split, roundup and gc threshold go back to their defaults first,
 * all else keeps its value (2.11 on: the non-split rounding goes back to the segment size). Keys that do not change placement
 * (pinned_*, release_lock_on_cudamalloc, ...) are accepted. WO_E_SYNTAX or WO_E_RANGE or WO_E_UNKNOWN with a message that names
 * the key, what was expected and, for a key of a later version, that version; *settings is unchanged then. */
enum wo_status wo_alloc_settings_parse(struct wo_view text, uint16_t torch, struct wo_alloc_settings *settings,
                                       struct wo_err *err);

/* Adds the settings that differ from the version's defaults, spelled as torch reads them ("expandable_segments:True"); adds
 * nothing if none differs. The memory fraction is always spelled per_process_memory_fraction. */
void wo_alloc_settings_show(const struct wo_alloc_settings *settings, uint16_t torch, struct wo_text *out);

#endif
