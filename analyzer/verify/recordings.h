/* SPDX-License-Identifier: Apache-2.0 */
/* The recordings of a job: among the files given, else beside them. */
#ifndef WO_RECORDINGS_H
#define WO_RECORDINGS_H

#include "analyzer/archive/folder.h"
#include "analyzer/story/job.h"

/* Writes the paths of the job's recordings (`whyoom replay` reads them), at most `most`, and returns their number. Without one
 * among the inputs those are taken that lie in the folder of the first input, or in whyoom-traces there, with the job's id in
 * their names ("trace-4711.jsonl"). Paths end with a NUL byte and live in the arena or the job.
 * Nothing but names is looked at, and a folder that `kept` holds is not listed again. */
size_t wo_recordings_find(const struct wo_job *job, struct wo_kept_folder *kept, struct wo_arena *arena, struct wo_view *paths,
                          size_t most);

#endif
