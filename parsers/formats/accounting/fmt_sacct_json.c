/* SPDX-License-Identifier: Apache-2.0 */
/* `sacct --json`: an array "jobs" of objects with an array "steps" in each; `scontrol --json show job` and `squeue --json`: the
 * same array without steps, and with other keys. Read as it streams by, token after token: the reader keeps only the names of the
 * containers that it is in ("/" + key, or "*" for an element) and the job or step being built, so the text may be indented or all
 * on one line, however long.
 *
 *   "jobs": [ { "job_id": 19, "state": { "current": "FAILED" }, "steps": [ { "state": "OUT_OF_MEMORY", ... } ] } ]
 *   "jobs": [ { "exit_code": { "return_code": 1 }, "job_id": 19, "job_state": [ "FAILED" ], "tres_alloc_str": "cpu=8,mem=64G" } ]
 *
 * From 23.02 on states are arrays of texts and numbers are objects {"set", "infinite", "number"}. Form: SLURM 20.11 to 25.05. */
#include <string.h>

#include "parsers/formats/accounting/account.h"
#include "parsers/base/units.h"
#include "parsers/formats/common/json_tokens.h"

/* The job or step being built is the construct's event. */
struct document {
  struct wo_account_kept kept;
  struct wo_json_place place;
  wo_event_id job; /* the event of the job whose step is being read */
  char type[64];   /* of the resource whose count follows */
};

static struct document *own(const struct wo_json_walk *json) {
  return json->open->state;
}

/* Bytes of a long line that are shown as the place of a job or state. */
#define SHOWN_BYTES 200

/* The job or step being built. NULL outside of both, and when the store is full. */
static struct wo_event *current(const struct wo_json_walk *json) {
  return wo_open_event(json->open);
}

/* The line as evidence shows it: of a document on one line only the part from the place on. *ret_at is the place within that
 * part. */
static struct wo_line shown_line(const struct wo_json_walk *json, const char *place, size_t *ret_at) {
  struct wo_line line = *json->open->line;
  const size_t at = (size_t)(place - line.full.ptr);
  *ret_at = at;
  if (line.full.len <= SHOWN_BYTES) return line;
  line.full = line.text = wo_view_sub(line.full, at, at + SHOWN_BYTES < line.full.len ? at + SHOWN_BYTES : line.full.len);
  line.offset += at;
  *ret_at = 0;
  return line;
}

static void keep_state(const struct wo_json_walk *json, struct wo_view printed) {
  size_t at = 0;
  const struct wo_line line = shown_line(json, printed.ptr, &at);
  wo__account_keep_state(json->open, &line, wo_view_sub(line.full, at, at + printed.len));
}

/* ---- Values ---- */

/* Numbers as far as a double holds them exactly. Infinite and unset ones are printed as 0 or as 4294967294 beside flags that say
 * so. */
static bool read_count(const struct wo_json_value *value, uint64_t *ret_number) {
  struct wo_view in = value->text;
  return wo_number_u64(&in, UINT64_C(1) << 53, ret_number) == WO_OK && in.len == 0;
}

static void set_number(const struct wo_json_walk *json, enum wo_field_id id, double number) {
  wo_event_set_exact(json->open->store, current(json), id, number);
}

static void set_text(const struct wo_json_walk *json, enum wo_field_id id, struct wo_view text) {
  wo__account_set_text(json->open->store, current(json), id, text);
}

/* The two halves of a status as wait() gives it: the code above, the signal in the seven bits below. */
static struct wo_account_exit exit_of_status(uint64_t status) {
  return (struct wo_account_exit){true, (uint32_t)((status >> 8) & 0xffff), (uint32_t)(status & 0x7f)};
}

/* Before 23.02 the id of a step is only its part after the dot. */
static void read_step_id(const struct wo_json_walk *json, const struct wo_json_value *value) {
  const struct wo_event *job = wo_event_get(json->open->store, own(json)->job);
  const struct wo_view id = job ? wo_event_text(job, WO_FIELD_JOB) : (struct wo_view){0};
  char whole[80];
  const struct wo_view part = wo_view_sub(value->text, 0, 32);
  if (!wo_view_has(value->text, "."))
    snprintf(whole, sizeof whole, "%.*s.%.*s", (int)(id.len < 32 ? id.len : 32), id.ptr ? id.ptr : "", (int)part.len, part.ptr);
  set_text(json, WO_FIELD_STEP_ID, wo_view_has(value->text, ".") ? value->text : wo_view_of(whole));
}

/* The memory of a job counts MiB on all its nodes; the number of nodes comes before it. */
static void read_resource(const struct wo_json_walk *json, const struct wo_json_value *value) {
  const double nodes = own(json)->kept.nodes > 0 ? (double)own(json)->kept.nodes : 1.0;
  const char *const type = own(json)->type;
  uint64_t count = 0;
  if (strcmp(value->name, "/*/tres/allocated/*/name") == 0 && strcmp(type, "gres") == 0 && wo_view_is(value->text, "gpu"))
    wo_view_copy(WO_VIEW("gpu"), own(json)->type, sizeof own(json)->type);
  if (strcmp(value->name, "/*/tres/allocated/*/count") != 0 || !read_count(value, &count) || count == 0) return;
  if (strcmp(type, "mem") == 0) set_number(json, WO_FIELD_LIMIT_BYTES, (double)count * WO_MIB / nodes);
  if (strcmp(type, "gpu") == 0) set_number(json, WO_FIELD_GPUS, (double)count / nodes);
}

/* Elapsed time is in seconds and the limit in minutes, as sacct keeps them. array/task_id is 0 or an unset object for jobs that
 * are no arrays, so it counts only after the id of an array. */
static void read_job_number(const struct wo_json_walk *json, const struct wo_json_value *value) {
  const char *const name = value->name;
  uint64_t number = 0;
  if (!read_count(value, &number)) return;
  if (strcmp(name, "/*/job_id") == 0) {
    set_text(json, WO_FIELD_JOB, value->text);
  } else if ((strcmp(name, "/*/array/job_id") == 0 || strcmp(name, "/*/array_job_id") == 0) && number > 0) {
    set_text(json, WO_FIELD_ARRAY_JOB, value->text);
  } else if ((strcmp(name, "/*/array/task_id") == 0 || strcmp(name, "/*/array_task_id") == 0) &&
             wo_event_field(current(json), WO_FIELD_ARRAY_JOB)) {
    set_number(json, WO_FIELD_ARRAY_TASK, (double)number);
  } else if (strcmp(name, "/*/allocation_nodes") == 0 && number > 0 && number < 1000000) {
    own(json)->kept.nodes = number;
    set_number(json, WO_FIELD_NODE_COUNT, (double)number);
  } else if (strcmp(name, "/*/time/elapsed") == 0 || strcmp(name, "/*/steps/*/time/elapsed") == 0) {
    set_number(json, WO_FIELD_ELAPSED_S, (double)number);
  } else if ((strcmp(name, "/*/time/start") == 0 || strcmp(name, "/*/start_time") == 0) && number > 0) {
    set_number(json, WO_FIELD_START_S, (double)number);
  } else if ((strcmp(name, "/*/time/end") == 0 || strcmp(name, "/*/end_time") == 0) && number > 0) {
    set_number(json, WO_FIELD_END_S, (double)number);
  } else if ((strcmp(name, "/*/time/limit") == 0 || strcmp(name, "/*/time_limit") == 0) && number > 0) {
    set_number(json, WO_FIELD_TIME_LIMIT_S, (double)number * 60);
  } else if (strcmp(name, "/*/steps/*/tres/requested/max/*/count") == 0 && strcmp(own(json)->type, "mem") == 0 && number > 0) {
    set_number(json, WO_FIELD_USED_BYTES, (double)number);
  }
}

/* Exit codes, by the ends of their names: jobs and steps have the same ones. */
static void read_exit(const struct wo_json_walk *json, const struct wo_json_value *value) {
  const struct wo_view name = wo_view_of(value->name);
  const size_t at = wo_view_find(name, WO_VIEW("exit_code/"), 0);
  uint64_t number = 0;
  if (at == WO_NOT_FOUND || !read_count(value, &number)) return;
  const struct wo_view part = wo_view_skip(name, at + 10);
  const bool is_derived = at >= 8 && wo_view_is(wo_view_sub(name, at - 8, at), "derived_");
  const bool is_signal = wo_view_is(part, "signal/signal_id") || wo_view_is(part, "signal/id");
  if (!is_signal && !wo_view_is(part, "return_code")) return;
  struct wo_account_exit *const exit = is_derived ? &own(json)->kept.derived : &own(json)->kept.exit;
  exit->is_known = true;
  if (is_signal) {
    exit->signal = (uint32_t)(number & 0xff);
  } else {
    exit->code = (uint32_t)(number & 0xffff);
  }
}

/* Reads the keys of scontrol and squeue that sacct does not have. Before 23.02 an exit code is one number, the status that wait()
 * gives. The memory that was allocated says the same as memory_per_node and memory_per_cpu, and says it per job. */
static bool read_control(const struct wo_json_walk *json, const struct wo_json_value *value) {
  struct wo_event_store *store = json->open->store;
  const char *const name = value->name;
  uint64_t number = 0;
  const bool is_count = read_count(value, &number);
  if (strcmp(name, "/*/job_state") == 0) {
    keep_state(json, value->text);
  } else if (strcmp(name, "/*/state_reason") == 0 && !wo_view_is(value->text, "None")) {
    wo_view_copy(value->text, own(json)->kept.reason, sizeof own(json)->kept.reason);
  } else if (strcmp(name, "/*/tres_alloc_str") == 0 || strcmp(name, "/*/tres_req_str") == 0) {
    wo__account_set_tres(store, current(json), value->text, 0);
  } else if (strcmp(name, "/*/command") == 0) {
    set_text(json, WO_FIELD_PROGRAM, value->text);
  } else if (strcmp(name, "/*/exit_code") == 0 && is_count) {
    own(json)->kept.exit = exit_of_status(number);
  } else if (strcmp(name, "/*/derived_exit_code") == 0 && is_count) {
    own(json)->kept.derived = exit_of_status(number);
  } else if (strcmp(name, "/*/memory_per_node") == 0 && is_count && number > 0) {
    set_number(json, WO_FIELD_LIMIT_BYTES, (double)number * WO_MIB);
  } else if (strcmp(name, "/*/node_count") == 0 && is_count && number > 0) {
    set_number(json, WO_FIELD_NODE_COUNT, (double)number);
  } else if (strcmp(name, "/*/tasks") == 0 && is_count && number > 0) {
    set_text(json, WO_FIELD_TASKS, value->text);
  } else {
    return false;
  }
  return true;
}

/* States of 23.02 and later are arrays (["OUT_OF_MEMORY"], or ["CANCELLED","REQUEUED"]), whose elements arrive here under the
 * array's own name. */
static void read_value(const struct wo_json_walk *json, const struct wo_json_value *value) {
  const char *const name = value->name;
  if (!current(json) || read_control(json, value)) return;
  if (strcmp(name, "/*/state/current") == 0 || strcmp(name, "/*/steps/*/state") == 0) {
    keep_state(json, value->text);
  } else if (strcmp(name, "/*/state/reason") == 0 && wo_view_is(value->text, "OutOfMemory")) {
    wo_view_copy(value->text, own(json)->kept.reason, sizeof own(json)->kept.reason);
  } else if (strcmp(name, "/*/name") == 0) {
    set_text(json, WO_FIELD_JOB_NAME, value->text);
  } else if (strcmp(name, "/*/nodes") == 0) {
    set_text(json, WO_FIELD_NODES, value->text);
  } else if (strcmp(name, "/*/association/user") == 0 || strcmp(name, "/*/user") == 0 || strcmp(name, "/*/user_name") == 0) {
    set_text(json, WO_FIELD_USER, value->text);
  } else if (strcmp(name, "/*/account") == 0) {
    set_text(json, WO_FIELD_ACCOUNT, value->text);
  } else if (strcmp(name, "/*/partition") == 0) {
    set_text(json, WO_FIELD_PARTITION, value->text);
  } else if (strcmp(name, "/*/steps/*/step/id") == 0) {
    read_step_id(json, value);
  } else if (wo_view_ends(wo_view_of(name), "/type")) {
    wo_view_copy(value->text, own(json)->type, sizeof own(json)->type);
  } else {
    read_job_number(json, value);
    read_resource(json, value);
    read_exit(json, value);
  }
}

/* ---- Structure ---- */

/* Paths count from the array "jobs", whose bracket the pattern has read: one star is a job, and a star below "steps" is a step of
 * it.
 *
 * Objects that are neither a job nor a step are only names on the path. The event is at the brace, the one place that is sure
 * to be on this line. */
static void begin_object(const struct wo_json_walk *json) {
  const bool is_step = wo_json_is_path(json, "/*/steps/*");
  /* A count that comes before its own type does not belong to the type before. */
  if (wo_view_ends(wo_view_of(own(json)->place.path), "/*")) own(json)->type[0] = '\0';
  if (!is_step && !wo_json_is_path(json, "/*")) return;
  size_t at = 0;
  const struct wo_line line = shown_line(json, json->rest.ptr, &at);
  if (is_step) wo__account_flush(json->open);
  const struct wo_event *event = wo_scan_add_event(json->open->scan, &line, json->open->pattern, WO_KIND_JOB_INFO, at, 1);
  json->open->event = event ? event->id : WO_EVENT_NONE;
  if (is_step) return;
  own(json)->job = json->open->event;
  own(json)->kept.nodes = 0;
}

/* After a step the job is the current object again: some versions print keys of the job after "steps". */
static void end_object(const struct wo_json_walk *json) {
  if (!wo_json_is_path(json, "/*") && !wo_json_is_path(json, "/*/steps/*")) return;
  wo__account_flush(json->open);
  json->open->event = own(json)->job;
}

static const struct wo_json_reader reader = {
    .place_at = offsetof(struct document, place),
    .begin_object = begin_object,
    .end_object = end_object,
    .read_value = read_value,
};

static enum wo_more begin_json(struct wo_open *open, const struct wo_match *match) {
  ((struct document *)open->state)->job = WO_EVENT_NONE;
  return wo_json_begin(open, match);
}

const struct wo_format wo__format_sacct_json = {
    .name = "sacct-json",
    .state_bytes = sizeof(struct document),
    .constants = &reader,
    .begin = begin_json,
    .feed = wo_json_feed,
    .finish = wo__account_flush,
};
