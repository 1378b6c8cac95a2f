/* SPDX-License-Identifier: Apache-2.0 */
/* Memory snapshots: the pickles of torch.cuda.memory._dump_snapshot and memory_snapshot(), every torch since 2.0. */
#ifndef WO_SNAPSHOT_H
#define WO_SNAPSHOT_H

#include "cuda_replay/recording/trace_reader.h"

/* The reader. Nothing in the file is executed; a pickle that asks for it gives WO_E_SYNTAX with the name and the place of the
 * call. Memory: 32 bytes and about 16 bytes of bookkeeping for each entry, and one copy of each text, frame and stack. */
wo_trace_sniff wo_snapshot_sniff;
wo_trace_reading wo_snapshot_read;

#endif
