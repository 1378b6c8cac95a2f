/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory when it ran out: which process was killed at which limit, how the memory was used, and how much the job needed at
 * least. */
#include "analyzer/facts/facts_internal.h"
#include "analyzer/story/story.h"
#include "parsers/base/units.h"

/* From this number of prints on, a rise counts as growth: a single rise is normal at the start. */
#define GROWTH_PRINTS 4

/* ---- Kills ---- */

/* The kernel prints the three parts of a killed process and no sum. */
static double rss_of(const struct wo_event *event) {
  return wo_event_number(event, WO_FIELD_ANON_RSS_BYTES, 0) + wo_event_number(event, WO_FIELD_FILE_RSS_BYTES, 0) +
         wo_event_number(event, WO_FIELD_SHMEM_RSS_BYTES, 0);
}

/* A message of a monitor that killed a process by the node's memory. Unlike the kernel it prints the size of the node. */
static void read_node_event(struct wo_facts *facts, const struct wo_event *event) {
  if (!wo_event_field(event, WO_FIELD_TOTAL_BYTES)) return;
  wo__set_text(facts, "host.node", wo_event_text(event, WO_FIELD_HOST), event->id);
  wo__set_field(facts, "host.node_used", event, WO_FIELD_USED_BYTES);
  wo__set_field(facts, "host.node_total", event, WO_FIELD_TOTAL_BYTES);
  wo__set_field(facts, "host.threshold", event, WO_FIELD_UTILIZATION);
  wo__set_field(facts, "host.victim", event, WO_FIELD_PROCESS_BYTES);
}

/* Later events overwrite: the last kill is the one that ended the job. Of all processes the largest is kept, with its share of
 * /dev/shm, through which data loaders pass their batches. */
static void read_host_event(struct wo_facts *facts, const struct wo_event *event, double *rss) {
  wo__set_field(facts, "host.tried", event, WO_FIELD_TRIED_BYTES);
  wo__set_field(facts, "host.limit", event, WO_FIELD_LIMIT_BYTES);
  wo__set_text(facts, "host.constraint", wo_event_text(event, WO_FIELD_CONSTRAINT), event->id);
  wo__set_text(facts, "host.program", wo_event_text(event, WO_FIELD_PROGRAM), event->id);
  wo__set_text(facts, "host.signal", wo_event_text(event, WO_FIELD_SIGNAL), event->id);
  read_node_event(facts, event);
  if (rss_of(event) <= *rss) return;
  *rss = rss_of(event);
  wo__set_number(facts, "host.rss", *rss, event->id);
  wo__set_field(facts, "host.shmem", event, WO_FIELD_SHMEM_RSS_BYTES);
}

/* Without a figure of the kernel, the largest sample of a task in accounting is used for the process that the limit killed. It
 * says nothing about other failures. */
static void read_sampled_rss(struct wo_facts *facts) {
  const struct wo_event *failure = wo__failure_of(facts);
  double rss = 0;
  if (!failure || failure->kind != WO_KIND_CGROUP_OOM) return;
  wo_each_event (event, &facts->job->events) {
    const double used = wo_event_number(event, WO_FIELD_USED_BYTES, 0);
    if (event->kind != WO_KIND_JOB_INFO || event->is_quoted || used <= rss) continue;
    if (wo_event_field(event, WO_FIELD_HOST)) continue; /* all processes of a node together */
    rss = used;
    wo__set_field(facts, "host.rss", event, WO_FIELD_USED_BYTES);
  }
}

/* SLURM reports all kills of a step in one line ("Detected 3 oom_kill events in StepId=4711.0"), the kernel prints one for each
 * and no number; the largest number counts. */
void wo__facts_host(struct wo_facts *facts) {
  double kills = 0;
  double rss = 0;
  wo_event_id last = WO_EVENT_NONE;
  wo_each_event (event, &facts->job->events) {
    if (event->is_quoted || !wo__is_of_this_end(facts->job, event) || wo_kind_class(event->kind) != WO_CLASS_HOST_MEMORY)
      continue;
    if (wo_story_is_suspicion(event)) {
      wo__set_bool(facts, "host.is_shm_suspected", true, event->id);
      continue;
    }
    read_host_event(facts, event, &rss);
    if (event->kind != WO_KIND_CGROUP_OOM) continue;
    const double count = wo_event_number(event, WO_FIELD_COUNT, 1);
    if (count > kills) kills = count;
    last = event->id;
  }
  if (kills > 0) wo__set_number(facts, "host.kills", kills, last);
  if (rss == 0) read_sampled_rss(facts);
}

/* Keeps the larger. */
struct figure {
  double bytes;
  wo_event_id evidence;
};

static void keep_larger(struct figure *figure, double bytes, wo_event_id evidence) {
  if (bytes > figure->bytes) *figure = (struct figure){bytes, evidence};
}

/* ---- How much was needed ---- */

/* seff prints the use of all nodes together; one node used at least the mean. The ending that seff prints only repeats that
 * figure. */
static double used_of(const struct wo_event *event) {
  const double used = wo_event_number(event, WO_FIELD_USED_BYTES, 0);
  const double nodes = wo_event_number(event, WO_FIELD_NODE_COUNT, 1);
  if (event->mark != WO_MARK_SEFF || wo_event_field(event, WO_FIELD_HOST)) return used;
  return event->kind == WO_KIND_JOB_INFO && nodes >= 1 ? used / nodes : 0;
}

/* The use of the job on one node by one event. "exceeded memory limit (used > limit)" gives it for the step, accounting for the
 * largest task, the kernel for one process. The sum of the kernel's table counts shared pages several times, so it is left
 * out. */
static void measure(const struct wo_event *event, struct figure *needed) {
  const enum wo_kind kind = event->kind;
  const bool is_kill = kind == WO_KIND_CGROUP_OOM || kind == WO_KIND_HOST_OOM;
  const bool is_monitor = wo_event_field(event, WO_FIELD_TOTAL_BYTES) != NULL;
  if (is_kill && !is_monitor) {
    keep_larger(needed, used_of(event), event->id);
    keep_larger(needed, wo_event_number(event, WO_FIELD_ANON_RSS_BYTES, 0) + wo_event_number(event, WO_FIELD_SHMEM_RSS_BYTES, 0),
                event->id);
  }
  if (kind == WO_KIND_JOB_INFO && !wo_event_field(event, WO_FIELD_TOTAL_BYTES)) keep_larger(needed, used_of(event), event->id);
}

/* A job that was killed at its limit needed more than that; sampled figures are often lower. */
static void read_needed(struct wo_facts *facts) {
  const struct wo_event *failure = wo__failure_of(facts);
  if (!failure || wo_kind_class(failure->kind) != WO_CLASS_HOST_MEMORY) return;
  struct figure needed = {0, WO_EVENT_NONE};
  const struct wo_value limit = wo__facts_value(facts, WO_VIEW("host.limit"));
  for (size_t i = 0; i < facts->job->events.count; i++) {
    if (!facts->job->events.items[i].is_quoted) measure(&facts->job->events.items[i], &needed);
  }
  if (needed.bytes > 0) wo__set_number(facts, "host.measured", needed.bytes, needed.evidence);
  if (failure->kind == WO_KIND_CGROUP_OOM && limit.is_known) keep_larger(&needed, limit.number.mid, limit.evidence);
  if (needed.bytes > 0) wo__set_number(facts, "host.needed", needed.bytes, needed.evidence);
}

/* ---- Parts ---- */

/* The kernel's figures of the cgroup. Files in memory include /dev/shm. */
static void read_cgroup(struct wo_facts *facts, const struct wo_event *event) {
  if (event->mark != WO_MARK_CGROUP_PARTS) return;
  const double file = wo_event_number(event, WO_FIELD_FILE_RSS_BYTES, -1);
  const double shmem = wo_event_number(event, WO_FIELD_SHMEM_RSS_BYTES, 0);
  const double anon = wo_event_number(event, WO_FIELD_ANON_RSS_BYTES, -1);
  if (anon >= 0) wo__set_number(facts, "host.group_anon", anon, event->id);
  if (shmem > 0) wo__set_number(facts, "host.group_shmem", shmem, event->id);
  if (file >= 0) wo__set_number(facts, "host.group_cache", file > shmem ? file - shmem : 0, event->id);
}

/* The kernel's table of all processes; when the node ran out, of all jobs on it. */
static void read_table(struct wo_facts *facts, const struct wo_event *event) {
  if (event->mark != WO_MARK_TASK_TABLE || !wo_event_field(event, WO_FIELD_LARGEST_BYTES)) return;
  wo__set_number(facts, "host.table_sum", wo_event_number(event, WO_FIELD_USED_BYTES, 0), event->id);
  wo__set_number(facts, "host.table_largest", wo_event_number(event, WO_FIELD_LARGEST_BYTES, 0), event->id);
  wo__set_text(facts, "host.table_program", wo_event_text(event, WO_FIELD_PROGRAM), event->id);
}

/* Data-loader workers are named pt_data_worker since PyTorch 2.1; the message of the trainer names them in all versions. */
static bool is_worker_kill(const struct wo_event *event) {
  if (wo_kind_class(event->kind) != WO_CLASS_HOST_MEMORY) return false;
  return wo_view_starts(wo_event_text(event, WO_FIELD_PROGRAM), "pt_data_worker") || event->mark == WO_MARK_WORKER_KILLED;
}

static void read_parts(struct wo_facts *facts) {
  wo_each_event (event, &facts->job->events) {
    if (event->is_quoted) continue;
    read_cgroup(facts, event);
    read_table(facts, event);
    if (is_worker_kill(event)) wo__set_bool(facts, "host.is_worker_killed", true, event->id);
    if (event->mark == WO_MARK_LIMIT_TOUCHED) wo__set_bool(facts, "host.is_limit_touched", true, event->id);
  }
}

/* ---- The node over time ---- */

/* A rise in less time belongs to the start: models are loaded, and states are set up. */
#define GROWTH_SECONDS 3600

/* Whether both prints have time stamps of their own that are far enough apart. */
static bool are_apart(const struct wo_event *first, const struct wo_event *last) {
  const struct wo_stamp *a = &first->stamp;
  const struct wo_stamp *b = &last->stamp;
  if (a->clock == WO_CLOCK_NONE || a->clock != b->clock || a->is_inherited || b->is_inherited) return false;
  return b->time_ns - a->time_ns >= GROWTH_SECONDS * WO_NS_PER_S;
}

/* The last print before the end: "used = 84.52 GB, percent = 67.1%". */
static void read_node_use(struct wo_facts *facts, const struct wo_event *last) {
  const double share = wo_event_number(last, WO_FIELD_HOST_USED_PCT, -1) / 100;
  if (share < 0 || share > 1) return;
  wo__set_number(facts, "host.used_share", share, last->id);
}

/* Repeated prints of one program ("CPU Virtual Memory: used = 84.52 GB"). Only a rise without a fall counts, and it must exceed
 * the rounding. */
static void read_growth(struct wo_facts *facts) {
  const struct wo_event *first = NULL;
  const struct wo_event *last = NULL;
  size_t prints = 0;
  bool is_rising = true;
  wo_each_event (event, &facts->job->events) {
    const struct wo_field *used = wo_event_field(event, WO_FIELD_USED_BYTES);
    if (event->is_quoted || !used || event->mark != WO_MARK_HOST_USE) continue;
    if (last && used->number.hi < wo_event_field(last, WO_FIELD_USED_BYTES)->number.lo) is_rising = false;
    if (!first) first = event;
    last = event;
    prints++;
  }
  if (!last) return;
  read_node_use(facts, last);
  if (!is_rising || prints < GROWTH_PRINTS || !are_apart(first, last)) return;
  const double rise =
      wo_event_field(last, WO_FIELD_USED_BYTES)->number.lo - wo_event_field(first, WO_FIELD_USED_BYTES)->number.hi;
  if (rise > 0) wo__set_number(facts, "host.growth", rise, last->id);
}

/* ---- Offloading ---- */

static void read_offload(struct wo_facts *facts) {
  static const char *const knobs[] = {"optimizer_offload", "param_offload"};
  for (size_t i = 0; i < sizeof knobs / sizeof knobs[0]; i++) {
    const struct wo_setting *setting = wo_facts_setting(facts, wo_view_of(knobs[i]));
    if (!setting || !setting->event) continue;
    const bool is_disk = wo_view_is_nocase(wo_event_text(setting->event, WO_FIELD_VALUE), "nvme");
    if (is_disk) wo__set_bool(facts, "host.is_offload_nvme", true, setting->event->id);
  }
}

/* ---- Page-locked memory ---- */

/* A failure while batches were copied to page-locked memory is a failure of the host, although CUDA reports it as its own. */
static void read_pinned(struct wo_facts *facts) {
  const struct wo_event *failure = wo__failure_of(facts);
  const struct wo_event *traceback = wo_event_get(&facts->job->events, facts->job->story.traceback);
  if (!failure || failure->kind != WO_KIND_CUDA_OOM) return;
  const bool is_named = wo_view_has(failure->text, "cudaHostAlloc") || wo_view_has(failure->text, "pin_memory") ||
                        wo_view_has(failure->text, "cudaHostRegister");
  const struct wo_view function = traceback ? wo_event_text(traceback, WO_FIELD_INNER_FUNCTION) : (struct wo_view){0};
  if (is_named || wo_view_has(function, "pin_memory")) wo__set_bool(facts, "host.is_pinned", true, failure->id);
}

void wo__facts_host_use(struct wo_facts *facts) {
  read_parts(facts);
  read_growth(facts);
  read_offload(facts);
  read_pinned(facts);
  read_needed(facts);
}
