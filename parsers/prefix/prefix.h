/* SPDX-License-Identifier: Apache-2.0 */
/* Prefixes of log lines: the text that launchers, loggers and collectors write before a program's own text.
 *
 * Known: torchrun `[rank3]:` and `[default0]:` and `[host:1]:`, `srun -l` labels ` 8: `, Open MPI `[1,3]<stderr>:`, MPICH `[3] `,
 * pdsh `node01: `, Ray `(WorkerDict pid=1, ip=10.0.0.2)`, vLLM `(Worker_TP1 pid=1) ERROR 03-19 07:27:53 [file.py:375] `, logger
 * times and levels, kernel `[ 1234.5]`, glog `W0106 15:18:46.6 209443 path:1]`, pytest `E   `, console boxes. Pure; any thread.
 */
#ifndef WO_PREFIX_H
#define WO_PREFIX_H

#include <stdbool.h>
#include <stdint.h>

#include "parsers/base/view.h"
#include "parsers/event/severity.h"
#include "parsers/event/stamp.h"

struct wo_prefix {
  int32_t rank;              /* global or local rank as printed, or WO_RANK_UNKNOWN */
  bool is_local_rank;        /* torchrun's own labels count per node */
  struct wo_view host;       /* empty when absent */
  int64_t time_ns;           /* WO_TIME_UNKNOWN when absent or without a year */
  struct wo_stamp stamp;     /* the same time, also without a year; for the order of lines */
  struct wo_view source;     /* what distinguishes this writer from others: the rank label, worker name or pid; "" when absent */
  enum wo_severity severity; /* of the record, by its level or by the program's own word ("WARNING: ...", "WARNING:root:...") */
  size_t length;             /* bytes of all prefixes together */
};

/* Reads all prefixes at the start of a cleaned line. Total: without a prefix, everything is unknown and length is 0. Indentation
 * of program text is not a prefix. */
struct wo_prefix wo_prefix_read(struct wo_view line);

/* The rank of the last `[rank3]:` in text: if several writers mix, the label is in the middle of a line. False, and *ret_rank
 * stays, without one. */
bool wo_prefix_rank_inside(struct wo_view text, int32_t *ret_rank);

/* The text without the frame of a console box (`│ ... │`, `| ... |` with both sides) and without blanks at both ends. */
struct wo_view wo_prefix_unbox(struct wo_view text);

#endif
