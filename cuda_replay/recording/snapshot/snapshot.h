/* Memory snapshots: the pickles of torch.cuda.memory._dump_snapshot and memory_snapshot(), every torch since 2.0. */
#ifndef WO_SNAPSHOT_H
#define WO_SNAPSHOT_H

#include "cuda_replay/recording/trace.h"
#include "cuda_replay/recording/trace_source.h"

/* Whether a file that begins so may be a pickle. Pure. */
bool wo_snapshot_sniff(struct wo_view front);

/* Reads a snapshot into *recording, which is new: the read of a row of trace_formats.def (trace_open.h). Nothing in the file is
 * executed; a pickle that asks for it gives WO_E_SYNTAX with the name and the place of what it would call. Memory: 32 bytes and
 * about 16 bytes of bookkeeping for each entry, and what is distinct. */
enum wo_status wo_snapshot_read(struct wo_trace_source *source, struct wo_recording *recording, struct wo_err *err);

#endif
