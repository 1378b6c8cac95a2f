/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the ranks of a job, and the facts about which of them failed. */
#include "analyzer/facts/ranks.h"

#include <stdio.h>

#include "analyzer/facts/facts_internal.h"
#include "analyzer/story/story.h"
#include "analyzer/story/timeline.h"

/* Failed ranks that are listed by number. */
#define LISTED_MAX 12

const char *wo_rank_status_name(enum wo_rank_status status) {
  static const char *const names[] = {"silent", "followed", "failed"};
  return names[status];
}

/* A label that counts processes per node is a rank of the job only if there is one node. */
static bool has_global_rank(const struct wo_job *job, const struct wo_event *event) {
  if (event->is_quoted || event->rank < 0 || event->rank >= WO_LIMIT_RANKS) return false;
  return !event->is_local_rank || job->story.node_count <= 1;
}

static enum wo_rank_status status_of(enum wo_role role) {
  if (role == WO_ROLE_FAILURE || role == WO_ROLE_REPEAT) return WO_RANK_FAILED;
  return role == WO_ROLE_CONSEQUENCE ? WO_RANK_FOLLOWED : WO_RANK_SILENT;
}

static void note_event(struct wo_rank *row, const struct wo_event *event, enum wo_role role) {
  const enum wo_rank_status status = status_of(role);
  const int32_t gpu = wo_event_index(event, WO_FIELD_GPU, -1);
  if (row->host.len == 0) row->host = wo_timeline_host(event);
  if (row->gpu < 0 && status == WO_RANK_FAILED) row->gpu = gpu;
  if (status <= row->status) return;
  row->status = status;
  row->evidence = event->id;
}

/* Ranks from 0 to the highest that a line names; 0 if none does. In small jobs the silent ones beyond it count too. */
static int32_t count_ranks(const struct wo_job *job) {
  int32_t count = 0;
  wo_each_event (event, &job->events) {
    const bool is_named = has_global_rank(job, event) && job->story.roles[event->id] != WO_ROLE_EARLIER;
    if (is_named && event->rank >= count) count = event->rank + 1;
  }
  const bool is_small = job->story.rank_count > count && job->story.rank_count <= WO_LIMIT_RANKS;
  return count > 0 && is_small ? job->story.rank_count : count;
}

/* Collects the ranks that lines name, and in small jobs the silent ones too, in the order of their numbers. */
static void make_ranks(struct wo_facts *facts) {
  const struct wo_job *const job = facts->job;
  const int32_t count = count_ranks(job);
  struct wo_rank *const rows = count > 0 ? wo_arena_array(facts->arena, (size_t)count, sizeof *rows) : NULL;
  if (!rows) return;
  for (int32_t rank = 0; rank < count; rank++) {
    rows[rank] = (struct wo_rank){.rank = rank, .gpu = -1, .evidence = WO_EVENT_NONE};
  }
  wo_each_event (event, &job->events) {
    if (!has_global_rank(job, event) || job->story.roles[event->id] == WO_ROLE_EARLIER) continue;
    rows[event->rank].is_seen = true;
    note_event(&rows[event->rank], event, job->story.roles[event->id]);
  }
  for (int32_t rank = 0; rank < count; rank++) {
    const bool is_silent = !rows[rank].is_seen && rank < job->story.rank_count && job->story.rank_count <= WO_LIMIT_RANKS;
    if (rows[rank].is_seen || is_silent) rows[facts->rank_count++] = rows[rank];
  }
  facts->ranks = rows;
}

/* ---- Facts ---- */

/* "0, 3, 5". */
static struct wo_view list_ranks(struct wo_arena *arena, const struct wo_rank *rows, size_t count, bool is_failed) {
  char text[LISTED_MAX * 12 + 8];
  size_t len = 0;
  size_t listed = 0;
  for (size_t i = 0; i < count && listed < LISTED_MAX; i++) {
    if ((rows[i].status == WO_RANK_FAILED) != is_failed) continue;
    len += (size_t)snprintf(text + len, sizeof text - len, "%s%d", listed++ > 0 ? ", " : "", (int)rows[i].rank);
  }
  return wo_arena_copy(arena, (struct wo_view){text, len});
}

/* Whether all failed ranks are on one host while ranks of another one did not fail; undecided if a host is unknown. */
static enum wo_truth is_one_node(const struct wo_rank *rows, size_t count) {
  struct wo_view host = {0};
  bool has_other = false;
  for (size_t i = 0; i < count; i++) {
    if (rows[i].status != WO_RANK_FAILED) continue;
    if (rows[i].host.len == 0) return WO_UNDECIDED;
    if (host.len > 0 && !wo_view_equal(host, rows[i].host)) return WO_FALSE;
    host = rows[i].host;
  }
  for (size_t i = 0; i < count; i++) {
    if (rows[i].host.len > 0 && !wo_view_equal(host, rows[i].host)) has_other = true;
  }
  return host.len > 0 && has_other ? WO_TRUE : WO_UNDECIDED;
}

/* Other processes on the GPU of this report. If the report has no figure for its own process, one of the listed ones is that
 * process: in a container its pid differs. */
static double others_on_card(const struct wo_event *event) {
  const double listed = wo_event_number(event, WO_FIELD_OTHER_PROCESS_COUNT, 0);
  return wo_event_field(event, WO_FIELD_PROCESS_BYTES) ? listed : listed - 1;
}

/* Whether all ranks of a node use GPU 0: each report names GPU 0, and as many processes hold memory there as the node has ranks.
 * A single other process in a single report may belong to another user. If CUDA_VISIBLE_DEVICES gives each rank one GPU, all are
 * called GPU 0, but each holds one process. */
static enum wo_truth are_all_on_gpu0(const struct wo_job *job) {
  const double nodes = job->story.node_count > 1 ? (double)job->story.node_count : 1;
  const double per_node = (double)job->story.rank_count / nodes;
  bool is_crowded = false;
  bool is_sure = false;
  int32_t first = WO_RANK_UNKNOWN;
  wo_each_event (event, &job->events) {
    if (event->is_quoted || status_of(job->story.roles[event->id]) != WO_RANK_FAILED || !wo_event_field(event, WO_FIELD_GPU))
      continue;
    if (wo_event_number(event, WO_FIELD_GPU, -1) != 0) return WO_FALSE;
    const double others = others_on_card(event);
    if (per_node < 2 || others + 1 < per_node) continue;
    if (first == WO_RANK_UNKNOWN) first = event->rank;
    is_crowded = true;
    is_sure = is_sure || others >= 2 || event->rank != first;
  }
  return is_crowded && is_sure ? WO_TRUE : WO_UNDECIDED;
}

void wo__facts_ranks(struct wo_facts *facts) {
  const struct wo_job *job = facts->job;
  const struct wo_event *failure = wo__failure_of(facts);
  size_t failed = 0;
  make_ranks(facts);
  if (job->story.rank_count > 0) {
    wo__set_number(facts, "ranks.total", job->story.rank_count, WO_EVENT_NONE);
  }
  if (!failure || !wo_story_is_memory(failure)) return;
  const struct wo_rank *const rows = facts->ranks;
  const size_t count = facts->rank_count;
  for (size_t i = 0; i < count; i++) failed += rows[i].status == WO_RANK_FAILED;
  wo_facts_set(facts, "ranks.all_on_gpu0", wo_value_bool(are_all_on_gpu0(job)), failure->id);
  if (failed == 0) return;
  const bool is_only_rank0 = failed == 1 && failure->rank == 0;
  wo__set_number(facts, "ranks.failed_count", (double)failed, failure->id);
  wo_facts_set(facts, "ranks.failed", wo_value_text(list_ranks(facts->arena, rows, count, true)), failure->id);
  if (failed < count) {
    wo_facts_set(facts, "ranks.not_failed", wo_value_text(list_ranks(facts->arena, rows, count, false)), failure->id);
  }
  wo_facts_set(facts, "ranks.is_one_node", wo_value_bool(is_one_node(rows, count)), failure->id);
  if (job->story.rank_count > 1) {
    wo__set_bool(facts, "ranks.is_only_rank0", is_only_rank0, failure->id);
  }
}
