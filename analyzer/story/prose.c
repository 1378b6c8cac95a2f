/* SPDX-License-Identifier: Apache-2.0 */
/* Texts about a job that are stored with its logs: a README, notes. They quote messages, plans and settings of other runs. */
#include "analyzer/story/story_internal.h"

static bool is_prose(const struct wo_job *job, const struct wo_event *event) {
  return wo_view_is(job->inputs[event->span.file].format, "prose");
}

/* If no other input has a failure, the prose may be the only source: an issue in Markdown contains the log itself. */
static bool has_failure_elsewhere(const struct wo_job *job) {
  wo_each_event (event, &job->events) {
    if (!event->is_quoted && wo__claim_of(event) != WO__CLAIM_NONE && !is_prose(job, event)) return true;
  }
  return false;
}

void wo__set_prose_aside(struct wo_job *job) {
  if (!has_failure_elsewhere(job)) return;
  for (size_t i = 0; i < job->events.count; i++) {
    struct wo_event *const event = &job->events.items[i];
    if (is_prose(job, event)) event->is_quoted = true;
  }
}
