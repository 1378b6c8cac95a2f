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

#include "parsers/account.h"
#include "parsers/base/units.h"

/* Lines after which a document is left: 25 000 jobs of a typical size. */
#define DOCUMENT_LINES 10000000

/* The slots of struct wo_open that only this reader uses. */
#define PATH WO_ACCOUNT_TEXT_OWN
#define TYPE WO_ACCOUNT_TEXT_OWN_2 /* of the resource whose count follows */
#define JOB_EVENT WO_ACCOUNT_OWN   /* the event of the job whose step is being read */
#define SKIP WO_ACCOUNT_OWN_2      /* bytes at the start of the line's next piece that were read with this one */
#define IN_TEXT WO_ACCOUNT_OWN_3   /* whether the next piece begins inside of a quoted text */

/* Bytes of a long line that are shown as the place of a job or state. */
#define SHOWN_BYTES 200

/* One scalar with its name: the path of containers and its key. */
struct value {
  char name[300];
  struct wo_view text; /* without quotes; escapes are left as they are: no value that is used has any */
};

/* A walk over one line. */
struct walk {
  struct wo_scan *scan;
  const struct wo_line *line;
  struct wo_open *open;
  struct wo_view rest;
  struct wo_view key; /* read, and its value is not yet */
};

/* The job or step being built. NULL outside of both, and when the store is full. */
static struct wo_event *current(const struct walk *walk) {
  return wo_event_get(wo_scan_store(walk->scan), walk->open->event);
}

/* Paths count from the array "jobs", whose bracket the pattern has read: one star is a job, and a star below "steps" is a step of
 * it. */
static bool is_path(const struct walk *walk, const char *path) {
  return strcmp(walk->open->texts[PATH], path) == 0;
}

/* The line as evidence shows it: of a document on one line only what stands behind the place. *ret_at is where the place is then.
 */
static struct wo_line shown_line(const struct walk *walk, const char *place, size_t *ret_at) {
  struct wo_line line = *walk->line;
  const size_t at = (size_t)(place - line.full.ptr);
  *ret_at = at;
  if (line.full.len <= SHOWN_BYTES) return line;
  line.full = line.text = wo_view_sub(line.full, at, at + SHOWN_BYTES < line.full.len ? at + SHOWN_BYTES : line.full.len);
  line.offset += at;
  *ret_at = 0;
  return line;
}

static void keep_state(const struct walk *walk, struct wo_view printed) {
  size_t at = 0;
  const struct wo_line line = shown_line(walk, printed.ptr, &at);
  wo__account_keep_state(walk->scan, &line, walk->open, wo_view_sub(line.full, at, at + printed.len));
}

/* ---- Values ---- */

/* Numbers as far as a double holds them exactly. Infinite and unset ones are printed as 0 or as 4294967294 beside flags that say
 * so. */
static bool read_count(const struct value *value, uint64_t *ret_number) {
  struct wo_view in = value->text;
  return wo_number_u64(&in, UINT64_C(1) << 53, ret_number) == WO_OK && in.len == 0;
}

static void set_number(const struct walk *walk, enum wo_field_id id, double number) {
  wo_event_set_number(wo_scan_store(walk->scan), current(walk), id, wo_interval_exact(number));
}

static void set_text(const struct walk *walk, enum wo_field_id id, struct wo_view text) {
  wo__account_set_text(wo_scan_store(walk->scan), current(walk), id, text);
}

/* Code and signal come one after the other. */
static void keep_exit_part(struct wo_open *open, enum wo_account_number slot, bool is_signal, uint64_t number) {
  const int64_t packed = open->numbers[slot] > 0 ? open->numbers[slot] - 1 : 0;
  const struct wo_account_exit exit = {
      .is_known = true,
      .code = is_signal ? (uint32_t)(packed / 256) : (uint32_t)(number & 0xffff),
      .signal = is_signal ? (uint32_t)(number & 0xff) : (uint32_t)(packed % 256),
  };
  wo__account_keep_exit(open, slot, exit);
}

/* The two halves of a status as wait() gives it: the code above, the signal in the seven bits below. */
static struct wo_account_exit exit_of_status(uint64_t status) {
  return (struct wo_account_exit){true, (uint32_t)((status >> 8) & 0xffff), (uint32_t)(status & 0x7f)};
}

/* Before 23.02 the id of a step is only its part behind the dot. */
static void read_step_id(const struct walk *walk, const struct value *value) {
  const struct wo_event *job = wo_event_get(wo_scan_store(walk->scan), (wo_event_id)(walk->open->numbers[JOB_EVENT] - 1));
  const struct wo_view id = job ? wo_event_text(job, WO_FIELD_JOB) : (struct wo_view){0};
  char whole[80];
  const struct wo_view part = wo_view_sub(value->text, 0, 32);
  if (!wo_view_has(value->text, "."))
    snprintf(whole, sizeof whole, "%.*s.%.*s", (int)(id.len < 32 ? id.len : 32), id.ptr ? id.ptr : "", (int)part.len, part.ptr);
  set_text(walk, WO_FIELD_STEP_ID, wo_view_has(value->text, ".") ? value->text : wo_view_of(whole));
}

/* The memory of a job counts MiB on all its nodes; the number of nodes comes before it. */
static void read_resource(const struct walk *walk, const struct value *value) {
  const double nodes = walk->open->numbers[WO_ACCOUNT_NODES] > 0 ? (double)walk->open->numbers[WO_ACCOUNT_NODES] : 1.0;
  const char *const type = walk->open->texts[TYPE];
  uint64_t count = 0;
  if (strcmp(value->name, "/*/tres/allocated/*/name") == 0 && strcmp(type, "gres") == 0 && wo_view_is(value->text, "gpu"))
    wo__account_keep_text(walk->open, TYPE, WO_VIEW("gpu"));
  if (strcmp(value->name, "/*/tres/allocated/*/count") != 0 || !read_count(value, &count) || count == 0) return;
  if (strcmp(type, "mem") == 0) set_number(walk, WO_FIELD_LIMIT_BYTES, (double)count * WO_MIB / nodes);
  if (strcmp(type, "gpu") == 0) set_number(walk, WO_FIELD_GPUS, (double)count / nodes);
}

/* Elapsed time is in seconds and the limit in minutes, as sacct keeps them. array/task_id is 0 or an unset object for jobs that
 * are no arrays, so it counts only behind the id of an array. */
static void read_job_number(const struct walk *walk, const struct value *value) {
  const char *const name = value->name;
  uint64_t number = 0;
  if (!read_count(value, &number)) return;
  if (strcmp(name, "/*/job_id") == 0) {
    set_text(walk, WO_FIELD_JOB, value->text);
  } else if ((strcmp(name, "/*/array/job_id") == 0 || strcmp(name, "/*/array_job_id") == 0) && number > 0) {
    set_text(walk, WO_FIELD_ARRAY_JOB, value->text);
  } else if ((strcmp(name, "/*/array/task_id") == 0 || strcmp(name, "/*/array_task_id") == 0) &&
             wo_event_field(current(walk), WO_FIELD_ARRAY_JOB)) {
    set_number(walk, WO_FIELD_ARRAY_TASK, (double)number);
  } else if (strcmp(name, "/*/allocation_nodes") == 0 && number > 0 && number < 1000000) {
    walk->open->numbers[WO_ACCOUNT_NODES] = (int64_t)number;
    set_number(walk, WO_FIELD_NODE_COUNT, (double)number);
  } else if (strcmp(name, "/*/time/elapsed") == 0 || strcmp(name, "/*/steps/*/time/elapsed") == 0) {
    set_number(walk, WO_FIELD_ELAPSED_S, (double)number);
  } else if ((strcmp(name, "/*/time/limit") == 0 || strcmp(name, "/*/time_limit") == 0) && number > 0) {
    set_number(walk, WO_FIELD_TIME_LIMIT_S, (double)number * 60);
  } else if (strcmp(name, "/*/steps/*/tres/requested/max/*/count") == 0 && strcmp(walk->open->texts[TYPE], "mem") == 0 &&
             number > 0) {
    set_number(walk, WO_FIELD_USED_BYTES, (double)number);
  }
}

/* Exit codes by what their names end in: jobs and steps have the same. */
static void read_exit(const struct walk *walk, const struct value *value) {
  const struct wo_view name = wo_view_of(value->name);
  const size_t at = wo_view_find(name, WO_VIEW("exit_code/"), 0);
  uint64_t number = 0;
  if (at == WO_NOT_FOUND || !read_count(value, &number)) return;
  const struct wo_view part = wo_view_skip(name, at + 10);
  const bool is_derived = at >= 8 && wo_view_is(wo_view_sub(name, at - 8, at), "derived_");
  const bool is_signal = wo_view_is(part, "signal/signal_id") || wo_view_is(part, "signal/id");
  if (!is_signal && !wo_view_is(part, "return_code")) return;
  keep_exit_part(walk->open, is_derived ? WO_ACCOUNT_DERIVED : WO_ACCOUNT_EXIT, is_signal, number);
}

/* What scontrol and squeue print besides the keys that they share with sacct. Before 23.02 an exit code is one number, the status
 * that wait() gives. The memory that was allocated says the same as memory_per_node and memory_per_cpu, and says it per job. */
static bool read_control(const struct walk *walk, const struct value *value) {
  struct wo_event_store *store = wo_scan_store(walk->scan);
  const char *const name = value->name;
  uint64_t number = 0;
  const bool is_count = read_count(value, &number);
  if (strcmp(name, "/*/job_state") == 0) {
    keep_state(walk, value->text);
  } else if (strcmp(name, "/*/state_reason") == 0 && !wo_view_is(value->text, "None")) {
    wo__account_keep_text(walk->open, WO_ACCOUNT_REASON, value->text);
  } else if (strcmp(name, "/*/tres_alloc_str") == 0 || strcmp(name, "/*/tres_req_str") == 0) {
    wo__account_set_tres(store, current(walk), value->text, 0);
  } else if (strcmp(name, "/*/command") == 0) {
    set_text(walk, WO_FIELD_PROGRAM, value->text);
  } else if (strcmp(name, "/*/exit_code") == 0 && is_count) {
    wo__account_keep_exit(walk->open, WO_ACCOUNT_EXIT, exit_of_status(number));
  } else if (strcmp(name, "/*/derived_exit_code") == 0 && is_count) {
    wo__account_keep_exit(walk->open, WO_ACCOUNT_DERIVED, exit_of_status(number));
  } else if (strcmp(name, "/*/memory_per_node") == 0 && is_count && number > 0) {
    set_number(walk, WO_FIELD_LIMIT_BYTES, (double)number * WO_MIB);
  } else if (strcmp(name, "/*/node_count") == 0 && is_count && number > 0) {
    set_number(walk, WO_FIELD_NODE_COUNT, (double)number);
  } else if (strcmp(name, "/*/tasks") == 0 && is_count && number > 0) {
    set_text(walk, WO_FIELD_TASKS, value->text);
  } else {
    return false;
  }
  return true;
}

/* States of 23.02 and later are arrays (["OUT_OF_MEMORY"], or ["CANCELLED","REQUEUED"]), whose elements arrive here under the
 * array's own name. */
static void read_value(const struct walk *walk, const struct value *value) {
  const char *const name = value->name;
  if (!current(walk) || read_control(walk, value)) return;
  if (strcmp(name, "/*/state/current") == 0 || strcmp(name, "/*/steps/*/state") == 0) {
    keep_state(walk, value->text);
  } else if (strcmp(name, "/*/state/reason") == 0 && wo_view_is(value->text, "OutOfMemory")) {
    wo__account_keep_text(walk->open, WO_ACCOUNT_REASON, value->text);
  } else if (strcmp(name, "/*/name") == 0) {
    set_text(walk, WO_FIELD_JOB_NAME, value->text);
  } else if (strcmp(name, "/*/nodes") == 0) {
    set_text(walk, WO_FIELD_NODES, value->text);
  } else if (strcmp(name, "/*/steps/*/step/id") == 0) {
    read_step_id(walk, value);
  } else if (wo_view_ends(wo_view_of(name), "/type")) {
    wo__account_keep_text(walk->open, TYPE, value->text);
  } else {
    read_job_number(walk, value);
    read_resource(walk, value);
    read_exit(walk, value);
  }
}

/* ---- Structure ---- */

/* Objects that are neither a job nor a step are only names on the path. The event stands at the brace, the one place that is sure
 * to be on this line. */
static void begin_object(struct walk *walk) {
  const bool is_step = is_path(walk, "/*/steps/*");
  /* A count that comes before its own type is not of the last one's. */
  if (wo_view_ends(wo_view_of(walk->open->texts[PATH]), "/*")) walk->open->texts[TYPE][0] = '\0';
  if (!is_step && !is_path(walk, "/*")) return;
  size_t at = 0;
  const struct wo_line line = shown_line(walk, walk->rest.ptr, &at);
  if (is_step) wo__account_flush(walk->scan, walk->open);
  const struct wo_event *event = wo_scan_add_event(walk->scan, &line, walk->open->pattern, WO_KIND_JOB_INFO, at, 1);
  walk->open->event = event ? event->id : WO_EVENT_NONE;
  if (is_step) return;
  walk->open->numbers[JOB_EVENT] = event ? event->id + 1 : 0;
  walk->open->numbers[WO_ACCOUNT_NODES] = 0;
}

/* Behind a step the job is the current object again: some versions print keys of the job after "steps". */
static void end_object(struct walk *walk) {
  if (!is_path(walk, "/*") && !is_path(walk, "/*/steps/*")) return;
  wo__account_flush(walk->scan, walk->open);
  walk->open->event = (wo_event_id)(walk->open->numbers[JOB_EVENT] - 1);
}

/* Goes into a container. False when it lies deeper than names can be kept. */
static bool push(struct walk *walk) {
  char *const path = walk->open->texts[PATH];
  const size_t len = strlen(path);
  const struct wo_view name = walk->key.len > 0 ? walk->key : WO_VIEW("*");
  if (len + name.len + 2 > sizeof walk->open->texts[PATH]) return false;
  path[len] = '/';
  memcpy(path + len + 1, name.ptr, name.len);
  path[len + 1 + name.len] = '\0';
  walk->key = (struct wo_view){0};
  return true;
}

/* Leaves a container. False at the end of the document. */
static bool pop(struct walk *walk) {
  char *const slash = strrchr(walk->open->texts[PATH], '/');
  if (!slash) return false;
  *slash = '\0';
  return true;
}

/* Keys with a slash would look like containers; none that is wanted has one, so the rest of such a path is never asked for. */
static void take_scalar(struct walk *walk, struct wo_view text) {
  struct value value = {.text = text};
  const struct wo_view key = wo_view_sub(walk->key, 0, 40);
  if (wo_view_is(key, "number")) {
    snprintf(value.name, sizeof value.name, "%s", walk->open->texts[PATH]);
  } else {
    snprintf(value.name, sizeof value.name, "%s%s%.*s", walk->open->texts[PATH], key.len > 0 ? "/" : "", (int)key.len,
             key.ptr ? key.ptr : "");
  }
  walk->key = (struct wo_view){0};
  read_value(walk, &value);
}

/* Index of the quote that ends a text, counted from `from`, or more than the last index when it stands in the line's next piece.
 */
static size_t find_quote(struct wo_view in, size_t from) {
  while (from < in.len && in.ptr[from] != '"') from += in.ptr[from] == '\\' ? 2 : 1;
  return from;
}

/* A script or an environment may fill pieces: no text of that length is looked for, so its end is all that counts. */
static void leave_in_text(struct walk *walk, size_t end) {
  walk->open->numbers[IN_TEXT] = 1;
  walk->open->numbers[SKIP] = (int64_t)(end - walk->rest.len);
  walk->rest = wo_view_skip(walk->rest, walk->rest.len);
  walk->key = (struct wo_view){0};
}

/* A text in quotes: a key when a colon follows. */
static void take_text(struct walk *walk) {
  const struct wo_view in = walk->rest;
  const size_t end = find_quote(in, 1);
  if (end >= in.len) {
    leave_in_text(walk, end);
    return;
  }
  const struct wo_view text = wo_view_sub(in, 1, end);
  walk->rest = wo_view_trim_start(wo_view_skip(in, end + 1));
  if (!wo_view_starts(walk->rest, ":")) {
    take_scalar(walk, text);
    return;
  }
  walk->key = text;
  walk->rest = wo_view_skip(walk->rest, 1);
}

/* Numbers, true, false and null. A byte that begins none of them is skipped alone, so that the walk always moves. */
static void take_word(struct walk *walk) {
  size_t end = 0;
  while (end < walk->rest.len && !strchr(",]}[{\" \t", walk->rest.ptr[end])) end++;
  const struct wo_view word = wo_view_sub(walk->rest, 0, end > 0 ? end : 1);
  walk->rest = wo_view_skip(walk->rest, word.len);
  if (end > 0) take_scalar(walk, word);
}

/* The next token. False at the end of the document, or of what can be understood. */
static bool take_token(struct walk *walk) {
  const char c = walk->rest.ptr[0];
  if (c == '"') {
    take_text(walk);
    return true;
  }
  if (c == '{' || c == '[') {
    if (!push(walk)) return false;
    if (c == '{') begin_object(walk);
  } else if (c == '}' || c == ']') {
    if (c == '}') end_object(walk);
    if (!pop(walk)) return false;
  } else if (c != ',') {
    take_word(walk);
    return true;
  }
  walk->rest = wo_view_skip(walk->rest, 1);
  return true;
}

/* The end of a text that began in an earlier piece. False when it does not end in this one either. */
static bool end_text(struct walk *walk) {
  const size_t end = find_quote(walk->rest, 0);
  if (end >= walk->rest.len) {
    leave_in_text(walk, end);
    return false;
  }
  walk->open->numbers[IN_TEXT] = 0;
  walk->rest = wo_view_trim_start(wo_view_skip(walk->rest, end + 1));
  return true;
}

/* Pieces of a long line overlap: what begins in the overlap is left to the next piece, and what that piece shows again of a token
 * that began before it is passed over there. A key stays with its value. Texts do not go on behind the end of a line. */
static enum wo_more read_tokens(struct wo_scan *scan, const struct wo_line *line, struct wo_open *open, size_t start) {
  struct walk walk = {.scan = scan, .line = line, .open = open, .rest = wo_view_skip(line->full, start)};
  const bool is_last = line->own_end == SIZE_MAX;
  const char *const own_end = line->full.ptr + (is_last ? line->full.len : line->own_end);
  open->numbers[SKIP] = 0;
  const bool is_open = open->numbers[IN_TEXT] == 0 || end_text(&walk);
  for (walk.rest = wo_view_trim_start(walk.rest); is_open && walk.rest.len > 0; walk.rest = wo_view_trim_start(walk.rest)) {
    if (walk.rest.ptr >= own_end && walk.key.len == 0) break;
    if (!take_token(&walk)) return WO_MORE_NO;
  }
  if (is_last) open->numbers[IN_TEXT] = open->numbers[SKIP] = 0;
  if (!is_last && walk.rest.ptr > own_end) open->numbers[SKIP] += walk.rest.ptr - own_end;
  return WO_MORE_YES;
}

static enum wo_more begin_json(struct wo_scan *scan, const struct wo_line *line, const struct wo_match *match,
                               struct wo_open *open) {
  return read_tokens(scan, line, open, wo_match_start(match) + wo_match_text(match).len);
}

/* Every line is tokens from its first byte: a prefix that looks like a logger's would be part of the document here. */
static enum wo_more feed_json(struct wo_scan *scan, const struct wo_line *line, struct wo_open *open) {
  if (open->lines > DOCUMENT_LINES) return WO_MORE_NO_UNREAD;
  return read_tokens(scan, line, open, (size_t)open->numbers[SKIP]);
}

const struct wo_format wo__format_sacct_json = {
    .name = "sacct-json",
    .begin = begin_json,
    .feed = feed_json,
    .finish = wo__account_flush,
};
