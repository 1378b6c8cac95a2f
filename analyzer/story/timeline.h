/* SPDX-License-Identifier: Apache-2.0 */
/* The order of events across files, ranks and hosts, by the time stamps of their lines.
 *
 * An event lies between two times: both are those of its own line if that has a time stamp; else they are those of the nearest
 * stamped line of the same writer before it and of the next stamped event after it in its file. Clocks of hosts differ by
 * seconds; the difference is known only if several hosts stamp the same act of the workload manager. Pure; the job must outlive
 * the timeline. */
#ifndef WO_TIMELINE_H
#define WO_TIMELINE_H

#include "analyzer/story/job.h"

struct wo_timeline;

/* Times of two hosts that differ by less decide nothing: without and with a common event that sets their clocks. */
#define WO_TIMELINE_SKEW_NS (INT64_C(5) * 1000000000)
#define WO_TIMELINE_KNOWN_SKEW_NS (INT64_C(2) * 1000000000)

/* Makes the timeline of a job whose inputs have all been read; it lives in the job's arena. WO_E_NOMEM. */
enum wo_status wo_timeline_make(struct wo_job *job, const struct wo_timeline **ret);

/* Whether the times alone show that event a came before event b. False when they leave it open. */
bool wo_timeline_is_before(const struct wo_timeline *timeline, const struct wo_event *a, const struct wo_event *b);

/* The host of an event: the one that it names, else that of its line; empty when both are unknown. */
struct wo_view wo_timeline_host(const struct wo_event *event);

/* How far apart the times of two events are, or -1 where they cannot be compared. */
int64_t wo_timeline_gap_ns(const struct wo_timeline *timeline, const struct wo_event *a, const struct wo_event *b);

#endif
