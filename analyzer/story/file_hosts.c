/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts in the names of files: "%x.%N.err" gives each node a log of its own. There is no list of all node names, so a word of a
 * file name is a host only if other evidence of the job, or the workload manager's list of nodes, names such a host. */
#include "analyzer/files/names.h"
#include "analyzer/story/story_internal.h"

/* Limit, because each host name is compared to the name of every file. */
#define HOSTS_MAX 512

struct search {
  struct wo_job *job;
  struct wo_view *host_of; /* of each input; empty when unknown */
  size_t hosts;            /* searched so far */
};

/* Whether the name contains the host as a whole word. */
static bool has_host(struct wo_view base, struct wo_view host) {
  for (size_t at = wo_view_find(base, host, 0); at != WO_NOT_FOUND; at = wo_view_find(base, host, at + 1)) {
    const size_t end = at + host.len;
    const bool begins = at == 0 || !wo_is_alnum(base.ptr[at - 1]);
    if (begins && (end == base.len || !wo_is_alnum(base.ptr[end]))) return true;
  }
  return false;
}

/* A node's name has a letter and a digit; any file name can contain other words. */
static bool is_telling(struct wo_view host) {
  bool has_alpha = false;
  bool has_digit = false;
  for (size_t i = 0; i < host.len; i++) {
    has_alpha = has_alpha || wo_is_alpha(host.ptr[i]);
    has_digit = has_digit || wo_is_digit(host.ptr[i]);
  }
  return has_alpha && has_digit && host.len >= 3;
}

/* The longest name wins: "rack2-gpu1" contains "gpu1" too. The name is in a buffer of the caller, so it is copied. */
static bool try_host(void *context, struct wo_view host) {
  struct search *search = context;
  struct wo_job *job = search->job;
  const struct wo_view name = wo_view_cut(&host, '.');
  struct wo_view kept = {0};
  if (!is_telling(name)) return true;
  for (size_t i = 0; i < job->input_count; i++) {
    if (name.len <= search->host_of[i].len || !has_host(wo_name_base(job->inputs[i].path), name)) continue;
    if (kept.len == 0) kept = wo_arena_copy(&job->arena, name);
    search->host_of[i] = kept;
  }
  return ++search->hosts < HOSTS_MAX;
}

/* Lines of context also name other hosts; only their list of the job's own nodes counts. */
static void try_event(struct search *search, const struct wo_event *event) {
  if (event->is_quoted) return;
  if (event->kind == WO_KIND_JOB_INFO) wo_name_each_host(wo_event_text(event, WO_FIELD_NODES), try_host, search);
  if (wo_kind_class(event->kind) == WO_CLASS_CONTEXT && event->kind != WO_KIND_ELASTIC) return;
  wo_name_each_host(event->host, try_host, search);
  wo_name_each_host(wo_event_text(event, WO_FIELD_HOST), try_host, search);
}

enum wo_status wo__file_hosts_find(struct wo_job *job) {
  struct search search = {.job = job, .host_of = wo_arena_array(&job->arena, job->input_count + 1, sizeof *search.host_of)};
  if (!search.host_of) return WO_E_NOMEM;
  for (size_t i = 0; i < job->events.count && search.hosts < HOSTS_MAX; i++) try_event(&search, &job->events.items[i]);
  for (size_t i = 0; i < job->events.count; i++) {
    struct wo_event *event = &job->events.items[i];
    if (event->host.len == 0 && !wo_story_is_accounting(event)) event->host = search.host_of[event->span.file];
  }
  return WO_OK;
}
