/* SPDX-License-Identifier: Apache-2.0 */
/* whyoom's own form of recordings: JSON lines, which other tools and people can write, and exact for every recording.
 *
 * docs/trace-lines.md is the contract with users. A header line, then frames and stacks (numbered, each defined once), entries,
 * segments with their blocks, annotations and notes, one object on each line. It is read as a stream. */
#ifndef WO_TRACE_LINES_H
#define WO_TRACE_LINES_H

#include "cuda_replay/recording/trace_reader.h"

/* The newest version of the form that is read. */
enum { WO_TRACE_LINES_VERSION = 1 };

/* The reader. It fails at the first wrong line, because a replay without that line would prove nothing: WO_E_SYNTAX, WO_E_TYPE,
 * WO_E_RANGE or WO_E_UNKNOWN with the line and what was expected. A file that ends inside a line gives the lines before it.
 * Unknown keys are skipped, with one note. */
wo_trace_sniff wo_trace_lines_sniff;
wo_trace_reading wo_trace_lines_read;

#endif
