/* SPDX-License-Identifier: Apache-2.0 */
/* States, exit codes and resources as SLURM's accounting prints them. */
#include "parsers/formats/accounting/account.h"

#include <assert.h>
#include <string.h>

#include "parsers/base/units.h"

/* The signal that kills without a message: its number, and the exit code that a shell makes of it. */
#define SIGNAL_KILL 9
#define CODE_KILL 137

/* The signal that SLURM writes for a step that its memory limit killed (0:125). */
#define SIGNAL_OUT_OF_MEMORY 125

/* States by their full names. Those that are no ending, and the good one, describe the job. */
struct state_row {
  const char *name;
  enum wo_kind kind;
};

static const struct state_row states[] = {
    {"COMPLETED", WO_KIND_JOB_INFO},      {"FAILED", WO_KIND_TASK_EXIT},     {"CANCELLED", WO_KIND_CANCELLED},
    {"TIMEOUT", WO_KIND_TIME_LIMIT},      {"DEADLINE", WO_KIND_TIME_LIMIT},  {"OUT_OF_MEMORY", WO_KIND_CGROUP_OOM},
    {"NODE_FAIL", WO_KIND_NODE_FAIL},     {"BOOT_FAIL", WO_KIND_NODE_FAIL},  {"PREEMPTED", WO_KIND_PREEMPTED},
    {"REQUEUED", WO_KIND_PREEMPTED},      {"REVOKED", WO_KIND_CANCELLED},    {"LAUNCH_FAILED", WO_KIND_LAUNCH_FAIL},
    {"RUNNING", WO_KIND_JOB_INFO},        {"PENDING", WO_KIND_JOB_INFO},     {"COMPLETING", WO_KIND_JOB_INFO},
    {"SUSPENDED", WO_KIND_JOB_INFO},      {"RESIZING", WO_KIND_JOB_INFO},    {"CONFIGURING", WO_KIND_JOB_INFO},
    {"REQUEUE_HOLD", WO_KIND_JOB_INFO},   {"REQUEUE_FED", WO_KIND_JOB_INFO}, {"SPECIAL_EXIT", WO_KIND_JOB_INFO},
    {"RESV_DEL_HOLD", WO_KIND_JOB_INFO},  {"STAGE_OUT", WO_KIND_JOB_INFO},   {"STOPPED", WO_KIND_JOB_INFO},
    {"RECONFIG_FAIL", WO_KIND_NODE_FAIL}, {"SIGNALING", WO_KIND_JOB_INFO},
};

#define STATE_COUNT (sizeof states / sizeof states[0])

/* Letters that a cut state must show: with fewer letters the states look alike. */
#define CUT_STATE_MIN 4

struct wo_view wo__account_state(struct wo_view printed) {
  struct wo_view rest = wo_view_trim(printed);
  struct wo_view name = wo_view_cut(&rest, ' ');
  const bool is_cut = wo_view_ends(name, "+");
  if (is_cut) name.len--;
  for (size_t i = 0; i < STATE_COUNT; i++) {
    const struct wo_view full = wo_view_of(states[i].name);
    if (wo_view_equal(name, full)) return full;
    if (is_cut && name.len >= CUT_STATE_MIN && wo_view_equal(wo_view_sub(full, 0, name.len), name)) return full;
  }
  return (struct wo_view){0};
}

/* A state that this table does not know, of a SLURM newer than it, describes the job and ends nothing: no outcome is better than
 * a guessed one. */
static enum wo_kind kind_of_state(struct wo_view state) {
  for (size_t i = 0; i < STATE_COUNT; i++) {
    if (wo_view_is(state, states[i].name)) return states[i].kind;
  }
  return WO_KIND_JOB_INFO;
}

/* Exit codes are printed as code:signal. SLURM puts 125 into the second half itself when the step's cgroup counted a kill; no
 * signal of Linux has that number. */
static bool is_memory_exit(struct wo_account_exit exit) {
  return exit.is_known && exit.signal == SIGNAL_OUT_OF_MEMORY;
}

/* A kill by an unknown sender: memory, a user and an administrator look the same here. */
static bool is_kill_exit(struct wo_account_exit exit) {
  return exit.is_known && (exit.signal == SIGNAL_KILL || (exit.signal == 0 && exit.code == CODE_KILL));
}

/* A step that was killed for memory leaves its job FAILED with an ordinary code: then the mark is in the derived code. While a
 * job completes, only its exit code shows that it failed. The only end of a step that says more than the job's own row is a
 * memory kill. */
static enum wo_kind kind_of_end(const struct wo_account_end *end) {
  const enum wo_kind kind = kind_of_state(end->state);
  const bool is_memory = is_memory_exit(end->exit) || is_memory_exit(end->derived) || wo_view_is(end->reason, "OutOfMemory");
  if (kind == WO_KIND_TASK_EXIT && is_memory) return WO_KIND_CGROUP_OOM;
  if (end->is_step && kind != WO_KIND_CGROUP_OOM) return WO_KIND_JOB_INFO;
  if (kind == WO_KIND_TASK_EXIT && (is_kill_exit(end->exit) || is_kill_exit(end->derived))) return WO_KIND_KILLED;
  const bool is_bad = end->exit.is_known && (end->exit.code != 0 || end->exit.signal != 0);
  return wo_view_is(end->state, "COMPLETING") && is_bad ? WO_KIND_TASK_EXIT : kind;
}

/* Reads "1:0" or "0:125". Text after it, or a number that is too large, leaves the code unknown: a wrong one would name a wrong
 * ending. */
struct wo_account_exit wo__account_read_exit(struct wo_view text) {
  struct wo_view in = wo_view_trim(text);
  uint64_t code = 0;
  uint64_t signal = 0;
  if (wo_number_u64(&in, 65535, &code) != WO_OK || !wo_view_starts(in, ":")) return (struct wo_account_exit){0};
  in = wo_view_skip(in, 1);
  if (wo_number_u64(&in, 255, &signal) != WO_OK || in.len > 0) return (struct wo_account_exit){0};
  return (struct wo_account_exit){true, (uint32_t)code, (uint32_t)signal};
}

/* ---- Fields ---- */

void wo__account_set_text(struct wo_event_store *store, struct wo_event *event, enum wo_field_id id, struct wo_view text) {
  /* scontrol prints (null), sacct Unknown for the times of what has not happened and "None assigned" for the nodes of a job that
   * waits; the others come from plugins and site scripts. */
  static const char *const nothing[] = {"(null)", "None", "None assigned", "N/A", "Unknown", "n/a"};
  text = wo_view_trim(text);
  if (text.len == 0) return;
  if (!WO_VIEW_ANY(text, wo_view_is, nothing)) wo_event_set_text(store, event, id, text);
}

/* Forms of an id, and what is read from them:
 *
 *   300418            a job
 *   300418.0          its first step; also .batch, .extern and .interactive
 *   300418_7          task 7 of an array
 *   300418_[8-20%4]   the tasks that still wait, in one row: no task is noted */
void wo__account_set_job(struct wo_event_store *store, struct wo_event *event, struct wo_view id) {
  struct wo_view step = wo_view_trim(id);
  const struct wo_view whole = step;
  struct wo_view task = wo_view_cut(&step, '.');
  const struct wo_view job = wo_view_cut(&task, '_');
  uint64_t index = 0;
  wo__account_set_text(store, event, WO_FIELD_JOB, job);
  if (step.len > 0) wo__account_set_text(store, event, WO_FIELD_STEP_ID, whole);
  if (task.len == 0) return;
  wo__account_set_text(store, event, WO_FIELD_ARRAY_JOB, job);
  if (wo_number_u64(&task, 10000000, &index) == WO_OK && task.len == 0)
    wo_event_set_exact(store, event, WO_FIELD_ARRAY_TASK, (double)index);
}

void wo__account_set_seconds(struct wo_event_store *store, struct wo_event *event, enum wo_field_id id, struct wo_view text) {
  struct wo_view in = wo_view_trim(text);
  int64_t ns = 0;
  /* A bare number would be read as minutes, which none of these tools prints. */
  if (!wo_view_has(in, ":") || wo_units_slurm_duration(&in, &ns) != WO_OK || in.len > 0) return;
  wo_event_set_exact(store, event, id, (double)(ns / WO_NS_PER_S));
}

void wo__account_set_time(struct wo_event_store *store, struct wo_event *event, enum wo_field_id id, struct wo_view text) {
  struct wo_view in = wo_view_trim(text);
  int64_t ns = 0;
  if (wo_units_time(&in, &ns) != WO_OK || in.len > 0 || ns <= 0) return;
  wo_event_set_exact(store, event, id, (double)(ns / WO_NS_PER_S));
}

/* The share is that of one node, or of the CPUs on it: limits are compared with what the kernel says about one node's cgroup. A
 * limit of 0 is SLURM's way to say "all the memory of the node", which is no figure. */
void wo__account_set_limit(struct wo_event_store *store, struct wo_event *event, struct wo_view text, double bare_scale,
                           double share) {
  struct wo_interval bytes;
  if (wo_units_bytes(&text, bare_scale, &bytes) != WO_OK || bytes.mid <= 0 || !(share > 0)) return;
  bytes.lo *= share;
  bytes.mid *= share;
  bytes.hi *= share;
  wo_event_set_number(store, event, WO_FIELD_LIMIT_BYTES, bytes);
}

/* The number of "node=2" or "gres/gpu:a100=8", or 0. */
static uint64_t number_of(struct wo_view item) {
  const size_t at = wo_view_find_char(item, '=', 0);
  struct wo_view in = wo_view_skip(item, at == WO_NOT_FOUND ? item.len : at + 1);
  uint64_t number = 0;
  return wo_number_u64(&in, 10000000, &number) == WO_OK ? number : 0;
}

/* With cards of a type, "gres/gpu=8" and "gres/gpu:a100=8" are side by side and count the same cards. */
void wo__account_set_tres(struct wo_event_store *store, struct wo_event *event, struct wo_view tres, uint64_t nodes) {
  struct wo_view memory = {0};
  uint64_t gpus = 0;
  while (tres.len > 0) {
    const struct wo_view item = wo_view_cut(&tres, ',');
    if (nodes == 0 && wo_view_starts(item, "node=")) nodes = number_of(item);
    if (wo_view_starts(item, "mem=")) memory = wo_view_skip(item, 4);
    const bool is_gpu = wo_view_starts(item, "gres/gpu=") || wo_view_starts(item, "gres/gpu:");
    if (is_gpu && number_of(item) > gpus) gpus = number_of(item);
  }
  const double count = nodes > 0 ? (double)nodes : 1.0;
  if (nodes > 0) wo_event_set_exact(store, event, WO_FIELD_NODE_COUNT, count);
  if (gpus > 0) wo_event_set_exact(store, event, WO_FIELD_GPUS, (double)gpus / count);
  wo__account_set_limit(store, event, memory, WO_MIB, 1.0 / count);
}

/* ---- Endings ---- */

/* The ids are those of the job's own event, so that both belong to the same job. A memory kill has no exit code: 125 is a mark of
 * SLURM, not a code of the program. */
static void fill_end(struct wo_event_store *store, struct wo_event *event, const struct wo_event *info,
                     const struct wo_account_end *end) {
  static const enum wo_field_id ids[] = {WO_FIELD_JOB, WO_FIELD_ARRAY_JOB, WO_FIELD_STEP_ID};
  char signal[16];
  wo_event_set_text(store, event, WO_FIELD_STATE, end->state);
  for (size_t i = 0; info && i < sizeof ids / sizeof ids[0]; i++)
    wo__account_set_text(store, event, ids[i], wo_event_text(info, ids[i]));
  if (info) wo_event_copy_number(store, event, WO_FIELD_ARRAY_TASK, info, WO_FIELD_ARRAY_TASK);
  if (info) wo_event_copy_number(store, event, WO_FIELD_USED_BYTES, info, WO_FIELD_USED_BYTES);
  wo__account_set_text(store, event, WO_FIELD_REASON, end->reason);
  if (event->kind == WO_KIND_CGROUP_OOM || !end->exit.is_known) return;
  wo_event_set_exact(store, event, WO_FIELD_EXIT_CODE, end->exit.code);
  snprintf(signal, sizeof signal, "%u", end->exit.signal);
  if (end->exit.signal != 0) wo_event_set_text(store, event, WO_FIELD_SIGNAL, wo_view_of(signal));
}

void wo__account_add_end(struct wo_scan *scan, const struct wo_line *line, const struct wo_pattern *pattern, wo_event_id info,
                         const struct wo_account_end *end, size_t start, size_t length) {
  struct wo_event_store *store = wo_scan_store(scan);
  const enum wo_kind kind = kind_of_end(end);
  if (kind == WO_KIND_JOB_INFO) return;
  struct wo_event *event = wo_scan_add_event(scan, line, pattern, kind, start, length);
  if (event) fill_end(store, event, wo_event_get(store, info), end);
}

/* The first state counts: in scontrol's and seff's text there is only one, in JSON further words of the array are flags of the
 * first. The line itself is kept as the message, so that the ending can be shown where it was printed although it is only
 * understood once the exit code is known, some lines further on. */
void wo__account_keep_state(struct wo_open *open, const struct wo_line *line, struct wo_view printed) {
  struct wo_account_kept *const kept = open->state;
  const struct wo_view state = wo__account_state(printed);
  struct wo_event *event = wo_open_event(open);
  if (state.len == 0 || kept->state.len > 0) return;
  assert(printed.ptr >= line->full.ptr && printed.ptr + printed.len <= line->full.ptr + line->full.len);
  kept->line = line->number;
  kept->offset = line->offset;
  kept->start = (size_t)(printed.ptr - line->full.ptr);
  kept->length = printed.len;
  kept->state = state;
  open->message_len = 0;
  wo_open_append(open, line->full);
  if (event) wo_event_set_text(open->store, event, WO_FIELD_STATE, state);
}

static void add_kept(struct wo_open *open, const struct wo_account_kept *kept) {
  struct wo_line line = open->first;
  line.number = kept->line;
  line.offset = kept->offset;
  line.full = line.text = wo_open_message(open);
  const struct wo_event *info = wo_open_event(open);
  const struct wo_account_end end = {
      .state = kept->state,
      .reason = wo_view_of(kept->reason),
      .exit = kept->exit,
      .derived = kept->derived,
      .is_step = info && wo_event_field(info, WO_FIELD_STEP_ID),
  };
  wo__account_add_end(open->scan, &line, open->pattern, open->event, &end, kept->start, kept->length);
}

/* Called between the steps of one document too, so it leaves the construct ready for the next state. A code without a state is
 * removed too: it does not belong to the next step. */
void wo__account_flush(struct wo_open *open) {
  struct wo_account_kept *const kept = open->state;
  if (kept->state.len > 0) add_kept(open, kept);
  *kept = (struct wo_account_kept){.nodes = kept->nodes};
}
