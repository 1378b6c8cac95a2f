/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a file of any trace format into a recording. */
#ifndef WO_TRACE_OPEN_H
#define WO_TRACE_OPEN_H

#include "cuda_replay/recording/trace_reader.h"

/* The reader of a file with this beginning, or NULL. */
const struct wo_trace_reader *wo_trace_reader_find(struct wo_view front);

/* Reads a source of any format. The caller owns *ret_recording (wo_recording_free). Errors name the file: those of reader->read,
 * and WO_E_SYNTAX for a file that is empty or of no known format, with a guess at its format and advice. */
enum wo_status wo_trace_read(struct wo_trace_source *source, struct wo_recording **ret_recording, struct wo_err *err);

/* Opens and reads a file ("-" is standard input); failures as wo_input_open and wo_trace_read. */
enum wo_status wo_trace_open(const char *path, struct wo_recording **ret_recording, struct wo_err *err);

#endif
