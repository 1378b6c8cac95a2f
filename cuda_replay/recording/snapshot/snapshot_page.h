/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of torch.cuda._memory_viz (trace_plot, segment_plot), which carry the snapshot that they show. */
#ifndef WO_SNAPSHOT_PAGE_H
#define WO_SNAPSHOT_PAGE_H

#include "cuda_replay/recording/trace_reader.h"

/* Bytes that are searched at a time for the snapshot's text. */
enum { WO_TRACE_PAGE_LOOK_BYTES = 64 * 1024 };

/* The reader: finds the first snapshot in the page and reads it as wo_snapshot_read does. WO_E_SYNTAX also when there is none.
 * Offsets count in the decoded snapshot. */
wo_trace_sniff wo_snapshot_page_sniff;
wo_trace_reading wo_snapshot_page_read;

#endif
