/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that the kernel's out-of-memory killer prints: the figures of the memory cgroup, the table of tasks, and the kill
 * itself, which gets the figures of the block before it.
 *
 *   python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
 *   memory: usage 33554432kB, limit 33554432kB, failcnt 20117
 *   Memory cgroup stats for /slurm/uid_1004/job_7431/step_0:
 *   anon 34301018112
 *   [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name
 *   [  30411]  1004 30411 12052751  3082528 42004480        0             0 pt_data_worker
 *   Memory cgroup out of memory: Killed process 30411 (pt_data_worker) total-vm:...
 *
 * Form: Linux mm/oom_kill.c and mm/memcontrol.c, 2.6.32 to 6.8. */
#include "parsers/base/units.h"
#include "parsers/scan/format.h"

/* Lines between a block's figures and its kill: the table has one for each process of the job, or of the node. */
#define BLOCK_LINES 5000

/* Lines between the two sentences with which kernels before 5.0 report one kill. */
#define KILL_LINES 20

/* Rows of the table that are read. */
#define TABLE_LINES 4000

/* The table counts pages. 4 KiB on x86; kernels with larger pages do not say so here. */
#define PAGE_BYTES 4096.0

/* ---- The kill ---- */

/* The last event of the input with a mark, not more than `reach` lines back. */
static const struct wo_event *find_before(const struct wo_open *open, uint64_t reach, enum wo_mark mark) {
  const uint64_t line = open->line->number;
  for (size_t i = open->store->count; i-- > 0;) {
    const struct wo_event *event = &open->store->items[i];
    if (event->span.file != wo_scan_file(open->scan)) return NULL;
    if (event->span.line > line || event->span.line + reach < line) return NULL;
    if (event->mark == mark) return event;
  }
  return NULL;
}

/* Kernels before 5.0 name the limit in one line and the figures in the next: the second belongs to the first. */
static enum wo_kind kind_of_kill(const struct wo_open *open, const struct wo_match *match) {
  if (open->pattern->mark != WO_MARK_KILL_FIGURES) return open->pattern->kind;
  const struct wo_event *kill = find_before(open, KILL_LINES, WO_MARK_CGROUP_KILL);
  struct wo_view pid_in = wo_match_group(match, "pid");
  uint64_t pid = 0;
  if (!kill || wo_number_u64(&pid_in, UINT32_MAX, &pid) != WO_OK) return open->pattern->kind;
  return wo_event_number(kill, WO_FIELD_PID, -1) == (double)pid ? WO_KIND_CGROUP_OOM : open->pattern->kind;
}

/* Figures stay with the lines that printed them as well: the kill only borrows them, so that rules need one event. The figures of
 * the cgroup belong to a kill by its limit only. When the whole node ran out, a cgroup's figures further up belong
 * to an earlier kill and would name the wrong limit. */
static enum wo_more begin_kill(struct wo_open *open, const struct wo_match *match) {
  const enum wo_kind kind = kind_of_kill(open, match);
  struct wo_event *event = wo_open_add_filled(open, kind, match);
  if (!event) return WO_MORE_NO;
  const struct wo_event *usage = kind == WO_KIND_CGROUP_OOM ? find_before(open, BLOCK_LINES, WO_MARK_CGROUP_USE) : NULL;
  if (!usage || usage->span.file != event->span.file) return WO_MORE_NO;
  wo_event_copy_number(open->store, event, WO_FIELD_LIMIT_BYTES, usage, WO_FIELD_LIMIT_BYTES);
  wo_event_copy_number(open->store, event, WO_FIELD_USED_BYTES, usage, WO_FIELD_USED_BYTES);
  return WO_MORE_NO;
}

const struct wo_format wo__format_kernel_kill = {.name = "kernel_kill", .begin = begin_kill};

/* ---- The table of tasks ---- */

/* Sums over the rows, and the largest task. */
struct tasks {
  uint64_t count, pages;
  uint64_t largest_pages, largest_pid;
  char largest_name[256];
};

/* A row of the table. Pages are resident ones; total_vm, which is often hundreds of gigabytes with CUDA's address space, says
 * nothing about memory in use. */
struct task {
  uint64_t pid;
  uint64_t pages;
  struct wo_view name;
};

/* Numbers are right-aligned in columns that overflow on large machines, so blanks and not positions divide them. */
static bool read_column(struct wo_view *in, uint64_t *ret_value) {
  *in = wo_view_trim_start(*in);
  return wo_number_u64(in, INT64_C(1) << 40, ret_value) == WO_OK;
}

/* Reads "[  30411]  1004 30411 12052751  3082528 ... name": the columns up to rss are the same in all kernels. */
static bool read_task(struct wo_view in, struct task *ret_task) {
  uint64_t unused = 0;
  in = wo_view_skip(in, 1);
  if (!read_column(&in, &ret_task->pid)) return false;
  in = wo_view_trim_start(in);
  if (!wo_view_starts(in, "]")) return false;
  in = wo_view_skip(in, 1);
  for (size_t i = 0; i < 3; i++) {
    if (!read_column(&in, &unused)) return false;
  }
  if (!read_column(&in, &ret_task->pages)) return false;
  in = wo_view_trim(in);
  size_t start = in.len;
  while (start > 0 && in.ptr[start - 1] != ' ') start--;
  ret_task->name = wo_view_skip(in, start);
  return true;
}

/* A row somewhere in the line: times may come before it, in brackets too. */
static bool find_task(struct wo_view text, struct task *ret_task) {
  for (size_t at = wo_view_find_char(text, '[', 0); at != WO_NOT_FOUND; at = wo_view_find_char(text, '[', at + 1)) {
    if (read_task(wo_view_skip(text, at), ret_task)) return true;
  }
  return false;
}

/* Ranks of one job are about equal in size: of equal ones the last is kept, as recent kernels do when they go through the list
 * for a victim. A line without a row ends the table; the next one is usually the kill. */
static enum wo_more feed_tasks(struct wo_open *open) {
  struct tasks *const own = open->state;
  struct task task = {0};
  if (open->lines > TABLE_LINES || !find_task(open->line->full, &task)) return WO_MORE_NO_UNREAD;
  own->pages += task.pages;
  own->count++;
  if (task.pages < own->largest_pages) return WO_MORE_YES;
  own->largest_pages = task.pages;
  own->largest_pid = task.pid;
  wo_view_copy(task.name, own->largest_name, sizeof own->largest_name);
  return WO_MORE_YES;
}

/* The sum counts pages that processes share once for each of them (data loader workers after fork), so it may exceed the limit;
 * it is kept as the kernel's own heuristic sees it. */
static void finish_tasks(struct wo_open *open) {
  struct tasks *const own = open->state;
  struct wo_event *event = wo_open_event(open);
  if (!event || own->count == 0) return;
  wo_event_set_exact(open->store, event, WO_FIELD_USED_BYTES, (double)own->pages * PAGE_BYTES);
  wo_event_set_exact(open->store, event, WO_FIELD_LARGEST_BYTES, (double)own->largest_pages * PAGE_BYTES);
  wo_event_set_exact(open->store, event, WO_FIELD_PID, (double)own->largest_pid);
  wo_event_set_exact(open->store, event, WO_FIELD_COUNT, (double)own->count);
  wo_event_set_text(open->store, event, WO_FIELD_PROGRAM, wo_view_of(own->largest_name));
}

/* The event is at the table's header and is filled when the table is over. */
const struct wo_format wo__format_kernel_tasks = {
    .name = "kernel_tasks",
    .state_bytes = sizeof(struct tasks),
    .begin = wo_open_begin,
    .feed = feed_tasks,
    .finish = finish_tasks,
};

/* ---- The parts of the cgroup's memory ---- */

/* Lines of the block: the kernel prints about forty, the first ones count. */
#define STATS_LINES 60

/* Reads "anon 34301018112" (bytes; since 5.2). False when it is no such row. */
static bool read_stat(struct wo_event_store *store, struct wo_event *event, struct wo_view text) {
  static const struct {
    const char *name;
    enum wo_field_id field;
  } rows[] = {{"anon", WO_FIELD_ANON_RSS_BYTES}, {"file", WO_FIELD_FILE_RSS_BYTES}, {"shmem", WO_FIELD_SHMEM_RSS_BYTES}};
  struct wo_view value = wo_view_trim(text);
  const struct wo_view name = wo_view_cut(&value, ' ');
  struct wo_interval bytes;
  struct wo_view in = wo_view_trim(value);
  if (wo_units_bytes(&in, 1, &bytes) != WO_OK || in.len > 0) return false;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (wo_view_is(name, rows[i].name)) wo_event_set_number(store, event, rows[i].field, bytes);
  }
  return true;
}

/* Kernels before 5.2 print everything on the first line, which the pattern reads. */
static enum wo_more begin_memcg(struct wo_open *open, const struct wo_match *match) {
  if (wo_open_begin(open, match) == WO_MORE_NO) return WO_MORE_NO;
  return wo_event_field(wo_open_event(open), WO_FIELD_ANON_RSS_BYTES) ? WO_MORE_NO : WO_MORE_YES;
}

/* The three figures are among the first ten lines; the others (slab, workingset_refault, thp_fault_alloc) are skipped as rows
 * that belong here. */
static enum wo_more feed_memcg(struct wo_open *open) {
  struct wo_event *event = wo_open_event(open);
  if (!event || open->lines > STATS_LINES || !read_stat(open->store, event, open->line->text)) return WO_MORE_NO_UNREAD;
  return WO_MORE_YES;
}

const struct wo_format wo__format_kernel_memcg = {.name = "kernel_memcg", .begin = begin_memcg, .feed = feed_memcg};
