/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots as torch writes them, of any size and version, through the pickle writer. */
#ifndef WO_TEST_SNAPSHOT_WRITER_H
#define WO_TEST_SNAPSHOT_WRITER_H

#include "tests/support/recording/pickle_writer.h"

struct wo_snapshot_sample {
  int torch;            /* 200, 201, 206, 211 or 212: decides the keys */
  uint64_t entry_count; /* of device 0; at least 1 */
  uint32_t frame_count; /* distinct frames */
  uint32_t stack_depth;
  uint32_t stack_count;   /* distinct stacks, by content */
  bool has_other_devices; /* device 1 without anything, device 2 with three entries and a segment */
  const char *alloc_conf; /* the settings string; NULL for "max_split_size_mb:64" */
  bool is_segments_only;  /* the list that torch.cuda.memory_snapshot() gives */
};

/* A small one that holds everything. */
struct wo_snapshot_sample wo_snapshot_sample_small(int torch);

/* Writes a whole pickle. Entries: a segment_alloc, then alloc, free_requested and free_completed in turn (addresses and sizes by
 * formula), the last one an oom with device_free 12345 when there are at least 4. From 2.11 on, entries 1, 9, 17, ... have the
 * metadata "layer 3". Two thirds of the entries bring a list of
 * frames of their own, as in real files; the others refer to the last one. */
void wo_snapshot_write(struct wo_pickle_writer *writer, const struct wo_snapshot_sample *sample);

/* Segment 0 of device 0 begins here. */
#define WO_SAMPLE_ADDRESS INT64_C(0x7f1200000000)

#endif
