/* SPDX-License-Identifier: Apache-2.0 */
/* `scontrol show job`: blanks, then Key=Value pairs, several on a line; one job after the other with an empty line between. With
 * -o the whole job is on one line.
 *
 *   JobId=32 JobName=train
 *      JobState=NODE_FAIL Reason=NodeDown Dependency=(null)
 *      Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:15
 *      NumNodes=2 NumCPUs=2 NumTasks=2 CPUs/Task=1 ReqB:S:C:T=0:0:*:*
 *      TRES=cpu=2,mem=512M,node=2,billing=2
 *
 * Form: SLURM 17.02 to 25.05. ReqTRES and AllocTRES replace TRES from 23.02. */
#include "parsers/formats/accounting/account.h"
#include "parsers/base/units.h"

/* Lines of one job: there are about 40. */
#define JOB_LINES 80

struct job {
  struct wo_account_kept kept;
  uint64_t cpus; /* on all nodes */
};

/* One Key=Value. Both point into the line; the value may be empty ("Comment="). */
struct pair {
  struct wo_view key;
  struct wo_view value;
};

/* Keys such as CPUs/Task and ReqB:S:C:T hold signs that no name elsewhere has. */
static bool is_key_char(char c) {
  return wo_is_word(c) || c == '/' || c == ':';
}

/* Length of a key with its '=' at the front of text, or 0. Keys begin with a capital letter. */
static size_t key_length(struct wo_view text) {
  size_t len = 0;
  while (len < text.len && is_key_char(text.ptr[len])) len++;
  const bool is_key = len > 0 && len < text.len && text.ptr[len] == '=' && text.ptr[0] >= 'A' && text.ptr[0] <= 'Z';
  return is_key ? len + 1 : 0;
}

/* Values hold no blanks but for these two, whose end is the next key that scontrol prints, or the end of the line. */
static struct wo_view read_value(struct wo_view key, struct wo_view rest) {
  size_t end = wo_view_find_char(rest, ' ', 0);
  if (wo_view_is(key, "Command")) end = wo_view_find(rest, WO_VIEW(" WorkDir="), 0);
  if (wo_view_is(key, "JobName")) end = wo_view_find(rest, WO_VIEW(" UserId="), 0);
  return wo_view_sub(rest, 0, end == WO_NOT_FOUND ? rest.len : end);
}

/* Cuts the next pair off *rest; words that are none are passed over. False at the end. */
static bool next_pair(struct wo_view *rest, struct pair *ret_pair) {
  for (*rest = wo_view_trim_start(*rest); rest->len > 0; *rest = wo_view_trim_start(*rest)) {
    const size_t len = key_length(*rest);
    if (len == 0) {
      wo_view_cut(rest, ' ');
      continue;
    }
    ret_pair->key = wo_view_sub(*rest, 0, len - 1);
    *rest = wo_view_skip(*rest, len);
    ret_pair->value = read_value(ret_pair->key, *rest);
    *rest = wo_view_skip(*rest, ret_pair->value.len);
    return true;
  }
  return false;
}

/* Tasks of an array that still wait are printed as a range ("ArrayTaskId=8-20%4"), which is no task's number. */
static void set_count(struct wo_event_store *store, struct wo_event *event, enum wo_field_id id, struct wo_view value) {
  uint64_t number = 0;
  if (wo_number_u64(&value, 10000000, &number) != WO_OK || value.len > 0) return;
  wo_event_set_exact(store, event, id, (double)number);
}

/* Keys whose value goes into a field as it is. BatchHost and ReqNodeList name nodes too, but only NodeList is what the job ran
 * on. */
static void read_text(struct wo_event_store *store, struct wo_event *event, const struct pair *pair) {
  static const struct {
    const char *key;
    enum wo_field_id field;
  } rows[] = {{"JobId", WO_FIELD_JOB},       {"ArrayJobId", WO_FIELD_ARRAY_JOB}, {"JobName", WO_FIELD_JOB_NAME},
              {"NodeList", WO_FIELD_NODES},  {"Command", WO_FIELD_PROGRAM},      {"NumTasks", WO_FIELD_TASKS},
              {"Account", WO_FIELD_ACCOUNT}, {"Partition", WO_FIELD_PARTITION}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (wo_view_is(pair->key, rows[i].key)) wo__account_set_text(store, event, rows[i].field, pair->value);
  }
  if (wo_view_is(pair->key, "UserId")) { /* mara(1042) */
    struct wo_view user = pair->value;
    wo__account_set_text(store, event, WO_FIELD_USER, wo_view_cut(&user, '('));
  }
  if (wo_view_is(pair->key, "StartTime")) wo__account_set_time(store, event, WO_FIELD_START_S, pair->value);
  if (wo_view_is(pair->key, "EndTime")) wo__account_set_time(store, event, WO_FIELD_END_S, pair->value);
}

/* The limit per CPU counts for all CPUs that the job has on a node. */
static void read_memory(const struct wo_open *open, struct wo_event *event, const struct pair *pair) {
  const struct job *const own = open->state;
  const uint64_t nodes = own->kept.nodes;
  if (wo_view_ends(pair->key, "TRES")) {
    wo__account_set_tres(open->store, event, pair->value, nodes);
  } else if (wo_view_is(pair->key, "MinMemoryNode")) {
    wo__account_set_limit(open->store, event, pair->value, WO_MIB, 1);
  } else if (wo_view_is(pair->key, "MinMemoryCPU") && nodes > 0) {
    wo__account_set_limit(open->store, event, pair->value, WO_MIB, (double)own->cpus / (double)nodes);
  }
}

/* NumNodes and NumCPUs come before every key that gives memory, so they are kept until then. */
static void read_numbers(struct wo_open *open, struct wo_event *event, const struct pair *pair) {
  struct job *const own = open->state;
  struct wo_view in = pair->value;
  uint64_t number = 0;
  if (wo_view_is(pair->key, "NumNodes") && wo_number_u64(&in, 1000000, &number) == WO_OK) {
    own->kept.nodes = number;
    if (number > 0) wo_event_set_exact(open->store, event, WO_FIELD_NODE_COUNT, (double)number);
  } else if (wo_view_is(pair->key, "NumCPUs") && wo_number_u64(&in, 10000000, &number) == WO_OK) {
    own->cpus = number;
  } else if (wo_view_is(pair->key, "ArrayTaskId")) {
    set_count(open->store, event, WO_FIELD_ARRAY_TASK, pair->value);
  } else if (wo_view_is(pair->key, "RunTime")) {
    wo__account_set_seconds(open->store, event, WO_FIELD_ELAPSED_S, pair->value);
  } else if (wo_view_is(pair->key, "TimeLimit")) {
    wo__account_set_seconds(open->store, event, WO_FIELD_TIME_LIMIT_S, pair->value);
  }
}

static void keep_exit(struct wo_view text, struct wo_account_exit *kept) {
  const struct wo_account_exit exit = wo__account_read_exit(text);
  if (exit.is_known) *kept = exit;
}

/* Reason is why a job waits as well as why it ended; while the job runs it is None. The state decides which one it was, at the
 * end of the job's text. */
static void read_pair(struct wo_open *open, const struct pair *pair) {
  struct wo_account_kept *const kept = open->state;
  struct wo_event *event = wo_open_event(open);
  if (!event) return;
  read_text(open->store, event, pair);
  read_numbers(open, event, pair);
  read_memory(open, event, pair);
  if (wo_view_is(pair->key, "JobState")) {
    wo__account_keep_state(open, open->line, pair->value);
  } else if (wo_view_is(pair->key, "Reason") && !wo_view_is(pair->value, "None")) {
    wo_view_copy(pair->value, kept->reason, sizeof kept->reason);
  } else if (wo_view_is(pair->key, "ExitCode")) {
    keep_exit(pair->value, &kept->exit);
  } else if (wo_view_is(pair->key, "DerivedExitCode")) {
    keep_exit(pair->value, &kept->derived);
  }
}

/* With -o all pairs of the job are on the first line, which is read like the lines of the long form. */
static void read_line(struct wo_open *open) {
  struct wo_view rest = open->line->full;
  struct pair pair;
  while (next_pair(&rest, &pair)) read_pair(open, &pair);
}

/* The event is at the words that the pattern found, and is filled as the job's lines come. */
static enum wo_more begin_scontrol(struct wo_open *open, const struct wo_match *match) {
  if (wo_open_begin(open, match) == WO_MORE_NO) return WO_MORE_NO;
  read_line(open);
  return WO_MORE_YES;
}

/* Every line of a job begins with a pair; another line does not belong to the job. */
static enum wo_more feed_scontrol(struct wo_open *open) {
  const struct wo_view text = wo_view_trim(open->line->full);
  if (text.len == 0) return WO_MORE_NO;
  if (open->lines > JOB_LINES || key_length(text) == 0 || wo_view_starts(text, "JobId=")) return WO_MORE_NO_UNREAD;
  read_line(open);
  return WO_MORE_YES;
}

const struct wo_format wo__format_scontrol = {
    .name = "scontrol",
    .state_bytes = sizeof(struct job),
    .begin = begin_scontrol,
    .feed = feed_scontrol,
    .finish = wo__account_flush,
};
