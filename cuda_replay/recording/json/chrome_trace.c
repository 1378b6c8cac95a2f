/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of profiler traces: one pass over the events, which keeps memory events and follows operators.
 *
 * A memory event looks like this, in one line or in ten:
 *
 *   {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 7, "tid": 8, "ts": 101.5, "args":
 *    {"Total Reserved": 2097152, "Total Allocated": 5120, "Bytes": 1024, "Addr": 4096, "Device Id": 0, "Device Type": 1}}
 *
 * and an operator around it like this:
 *
 *   {"ph": "X", "cat": "cpu_op", "name": "aten::empty", "pid": 7, "tid": 8, "ts": 100.001, "dur": 2.5, "args": {...}}
 *
 * Most of a large file is skipped bracket by bracket, as soon as an event's phase, category or name shows that it is not needed.
 * chrome_trace_build.c makes traces of the kept events. */
#include "cuda_replay/recording/json/chrome_trace.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_replay/recording/json/chrome_trace_internal.h"
#include "cuda_replay/recording/json/json_stream.h"
#include "cuda_replay/recording/trace_front.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

enum { DEVICE_TYPE_CUDA = 1, DEVICE_TYPE_HIP = 6 };

/* Larger values are garbage. */
#define SIZE_MAX_BYTES ((INT64_C(1) << 60) - 1)

/* The kind of an event, by its name or its category. */
enum event_kind { EVENT_OPEN, EVENT_MEMORY, EVENT_OOM, EVENT_OP, EVENT_PYTHON, EVENT_MARK, EVENT_OTHER };

/* One event, as far as it has been read. */
struct event {
  enum event_kind by_name;
  enum event_kind by_category;
  bool is_span;    /* phase X */
  bool is_instant; /* phase i */
  bool has_phase, has_start, has_duration, has_address, has_bytes;
  int64_t start_ns;
  int64_t duration_ns;
  uint64_t process, thread; /* hashes of the values */
  int64_t device;
  int64_t device_type;
  struct wo__chrome_event memory;
  size_t name_len;
  char name[WO__CHROME_NAME_BYTES];
};

struct reader {
  struct wo_json_stream json;
  struct wo_recording *recording;
  struct wo_err *err;
  struct wo_intern intern;
  struct wo__chrome_ops ops;
  struct wo__chrome_events events;
  uint64_t event_count;
  size_t cpu_count;        /* memory events of other devices */
  size_t no_address_count; /* events of a GPU that cannot be paired */
  size_t left_out_count;
  int64_t base_us; /* times are relative to it */
  int64_t rank, world_size;
};

static enum wo_status next(struct reader *reader, struct wo_json_token *token) {
  return wo_json_stream_next(&reader->json, token, reader->err);
}

static enum wo_status no_memory(struct reader *reader) {
  return wo_json_stream_fail(&reader->json, reader->err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
}

/* Reads a scalar, or skips an object or a list: *token is its opening bracket then. */
static enum wo_status next_scalar(struct reader *reader, struct wo_json_token *token) {
  const enum wo_status status = next(reader, token);
  if (status == WO_OK && (token->kind == WO_JSON_OBJECT || token->kind == WO_JSON_ARRAY)) wo_json_stream_leave(&reader->json);
  return status;
}

/* Reads a value that is a number into *ret; all others are ignored. */
static enum wo_status read_number(struct reader *reader, int64_t *ret, bool *ret_is_read) {
  struct wo_json_token token;
  const enum wo_status status = next_scalar(reader, &token);
  *ret_is_read = status == WO_OK && token.kind == WO_JSON_NUMBER && wo_json_number_fixed(token.text, 0, ret);
  return status;
}

/* ---- Memory events' arguments ---- */

struct arg {
  const char *name;
  size_t offset; /* of an int64_t in struct event */
};

static const struct arg args[] = {
    {"Bytes", offsetof(struct event, memory.bytes)},
    {"Total Allocated", offsetof(struct event, memory.allocated_bytes)},
    {"Total Reserved", offsetof(struct event, memory.reserved_bytes)},
    {"Device Id", offsetof(struct event, device)},
    {"Device Type", offsetof(struct event, device_type)},
};

/* Addresses use all 64 bits. */
static enum wo_status read_address(struct reader *reader, struct event *event) {
  struct wo_json_token token;
  const enum wo_status status = next_scalar(reader, &token);
  if (status != WO_OK) return status;
  event->has_address = token.kind == WO_JSON_NUMBER && wo_json_number_u64(token.text, &event->memory.address);
  return WO_OK;
}

/* Values that are no numbers, or do not fit, stay unknown. */
static enum wo_status read_arg(struct reader *reader, struct wo_view key, struct event *event) {
  if (wo_view_is(key, "Addr")) return read_address(reader, event);
  for (size_t i = 0; i < sizeof args / sizeof args[0]; i++) {
    if (!wo_view_is(key, args[i].name)) continue;
    int64_t value = 0;
    bool is_read = false;
    const enum wo_status status = read_number(reader, &value, &is_read);
    if (is_read) memcpy((char *)event + args[i].offset, &value, sizeof value);
    if (is_read && i == 0) event->has_bytes = true;
    return status;
  }
  return wo_json_stream_skip(&reader->json, reader->err);
}

static enum wo_status read_args(struct reader *reader, struct event *event) {
  struct wo_json_token token;
  enum wo_status status = next(reader, &token);
  if (status != WO_OK || token.kind != WO_JSON_OBJECT) {
    if (status == WO_OK && token.kind == WO_JSON_ARRAY) wo_json_stream_leave(&reader->json);
    return status;
  }
  for (;;) {
    status = next(reader, &token);
    if (status != WO_OK || token.kind != WO_JSON_KEY) return status;
    status = read_arg(reader, token.text, event);
    if (status != WO_OK) return status;
  }
}

/* ---- Events ---- */

/* Process and thread are numbers or names ("stream 7"); only equality matters. */
static uint64_t hash_text(struct wo_view text) {
  uint64_t hash = UINT64_C(1469598103934665603);
  for (size_t i = 0; i < text.len; i++) hash = (hash ^ (unsigned char)text.ptr[i]) * UINT64_C(1099511628211);
  return hash;
}

/* Like wo_view_is, but compares no bytes if the lengths differ. */
#define IS(view, literal) ((view).len == sizeof(literal) - 1 && memcmp((view).ptr, (literal), sizeof(literal) - 1) == 0)

/* The name is kept for stacks, cut to the length that a stack holds. */
static void classify_name(struct event *event, struct wo_view name) {
  event->name_len = name.len < sizeof event->name ? name.len : sizeof event->name;
  if (event->name_len > 0) memcpy(event->name, name.ptr, event->name_len);
  event->by_name = IS(name, "[memory]") ? EVENT_MEMORY : IS(name, "[OutOfMemory]") ? EVENT_OOM : EVENT_OTHER;
}

static void classify_category(struct event *event, struct wo_view category) {
  event->by_category = IS(category, "cpu_op")            ? EVENT_OP
                       : IS(category, "python_function") ? EVENT_PYTHON
                       : IS(category, "user_annotation") ? EVENT_MARK
                                                         : EVENT_OTHER;
}

/* Keys whose value is a text or a number. */
enum text_key { KEY_PHASE, KEY_CATEGORY, KEY_NAME, KEY_PROCESS, KEY_THREAD, KEY_START, KEY_DURATION, KEY_COUNT_ };

static const struct wo_view text_keys[KEY_COUNT_] = {
    {"ph", 2}, {"cat", 3}, {"name", 4}, {"pid", 3}, {"tid", 3}, {"ts", 2}, {"dur", 3},
};

static void take_text(struct event *event, enum text_key key, struct wo_view text) {
  switch (key) {
  case KEY_PHASE:
    event->has_phase = true;
    event->is_span = IS(text, "X");
    event->is_instant = IS(text, "i") || IS(text, "I");
    break;
  case KEY_CATEGORY:
    classify_category(event, text);
    break;
  case KEY_NAME:
    classify_name(event, text);
    break;
  case KEY_PROCESS:
    event->process = hash_text(text);
    break;
  case KEY_THREAD:
    event->thread = hash_text(text);
    break;
  case KEY_START:
    event->has_start = wo_json_number_fixed(text, 3, &event->start_ns);
    break;
  case KEY_DURATION:
    event->has_duration = wo_json_number_fixed(text, 3, &event->duration_ns);
    break;
  case KEY_COUNT_:
    assert(false);
  }
}

/* Decided by the name alone: the category changed between versions. */
static bool is_memory(const struct event *event) {
  return event->by_name == EVENT_MEMORY || event->by_name == EVENT_OOM;
}

/* Whether no later key can make the event relevant, or an operator is complete. */
static bool is_settled(const struct event *event) {
  if (event->has_phase && !event->is_span && !event->is_instant) return true;
  if (event->is_span && event->by_category == EVENT_OTHER) return true; /* memory events are instants */
  if (event->by_name == EVENT_OPEN || is_memory(event)) return false;
  if (event->has_phase && event->is_instant) return true;
  if (event->by_category == EVENT_OPEN) return false;
  if (event->by_category == EVENT_OTHER) return true;
  return event->has_phase && event->has_start && event->has_duration && event->thread != 0 && event->process != 0;
}

/* Arguments are large and only those of memory events are needed; nearly every writer writes the name before them. */
static enum wo_status read_key(struct reader *reader, struct wo_view key, struct event *event) {
  if (IS(key, "args")) {
    const bool may_matter = event->by_name == EVENT_OPEN || is_memory(event);
    return may_matter ? read_args(reader, event) : wo_json_stream_skip(&reader->json, reader->err);
  }
  for (int i = 0; i < KEY_COUNT_; i++) {
    if (key.len != text_keys[i].len || memcmp(key.ptr, text_keys[i].ptr, key.len) != 0) continue;
    struct wo_json_token token;
    const enum wo_status status = next_scalar(reader, &token);
    if (status != WO_OK) return status;
    if (token.kind == WO_JSON_STRING || token.kind == WO_JSON_NUMBER) take_text(event, (enum text_key)i, token.text);
    return WO_OK;
  }
  return wo_json_stream_skip(&reader->json, reader->err);
}

/* Reads an event after its opening bracket, as far as it is needed. */
static enum wo_status read_event(struct reader *reader, struct event *event) {
  memset(event, 0, offsetof(struct event, name));
  event->device_type = DEVICE_TYPE_CUDA; /* tools that leave it out name GPUs only */
  event->memory.allocated_bytes = event->memory.reserved_bytes = WO__CHROME_UNKNOWN;
  while (!reader->json.is_cut) {
    struct wo_json_token token;
    enum wo_status status = next(reader, &token);
    if (status != WO_OK || token.kind != WO_JSON_KEY) return status;
    status = read_key(reader, token.text, event);
    if (status != WO_OK) return status;
    if (is_settled(event)) {
      wo_json_stream_leave(&reader->json);
      return WO_OK;
    }
  }
  return WO_OK;
}

/* ---- Using events ---- */

/* Keeps a memory event of a GPU, with the operators that ran at that time on its thread. */
static enum wo_status take_memory(struct reader *reader, struct event *event) {
  assert(is_memory(event) && reader->event_count > 0);
  struct wo__chrome_event *const memory = &event->memory;
  if ((event->device_type != DEVICE_TYPE_CUDA && event->device_type != DEVICE_TYPE_HIP) || event->device < 0 ||
      event->device >= (int64_t)WO_LIMIT_TRACE_DEVICES) {
    reader->cpu_count++;
    return WO_OK;
  }
  memory->is_oom = event->by_name == EVENT_OOM;
  const bool is_size = event->has_bytes && memory->bytes >= -SIZE_MAX_BYTES && memory->bytes <= SIZE_MAX_BYTES;
  if (!is_size || (!memory->is_oom && !event->has_address)) {
    reader->no_address_count++;
    return WO_OK;
  }
  memory->ts_ns = event->start_ns;
  memory->index = reader->event_count - 1;
  memory->device = (int16_t)event->device;
  /* Old versions left negative values out, others write them. */
  if (memory->allocated_bytes < 0 || memory->allocated_bytes > SIZE_MAX_BYTES) memory->allocated_bytes = WO__CHROME_UNKNOWN;
  if (memory->reserved_bytes < 0 || memory->reserved_bytes > SIZE_MAX_BYTES) memory->reserved_bytes = WO__CHROME_UNKNOWN;
  const enum wo_status status =
      wo__chrome_ops_stack(&reader->ops, event->process ^ (event->thread << 1), event->start_ns, &reader->intern, &memory->stack);
  if (status == WO_E_LIMIT) memory->stack = WO_NO_STACK;
  if (status == WO_E_NOMEM) return no_memory(reader);
  if (reader->events.count >= WO_LIMIT_TRACE_ENTRIES) return reader->left_out_count++, WO_OK;
  if (!WO_VEC_RESERVE(&reader->events, 1, WO_LIMIT_TRACE_ENTRIES)) return no_memory(reader);
  reader->events.items[reader->events.count++] = *memory;
  return WO_OK;
}

/* Whether a mark divides a run into its steps. There are many others; they are only frames of stacks. */
static bool is_step_mark(struct wo_view name) {
  return wo_view_starts(name, "ProfilerStep#") || wo_view_starts(name, "Optimizer.");
}

static enum wo_status add_mark(struct reader *reader, struct wo_view name, int64_t at_ns, bool is_start) {
  struct wo_recording *const recording = reader->recording;
  if (recording->annotations.count >= WO_LIMIT_TRACE_BLOCKS) return WO_OK;
  if (!WO_VEC_RESERVE(&recording->annotations, 1, WO_LIMIT_TRACE_BLOCKS)) return no_memory(reader);
  uint32_t text = 0;
  const enum wo_status status = wo_intern_text(&reader->intern, name, &text);
  if (status == WO_E_LIMIT) return WO_OK;
  if (status != WO_OK) return no_memory(reader);
  recording->annotations.items[recording->annotations.count++] =
      (struct wo_annotation){.name = reader->intern.texts.items[text], .time_us = at_ns / 1000, .is_start = is_start};
  return WO_OK;
}

/* Every operator is followed, because any may allocate; most are forgotten when they end. */
static enum wo_status take_span(struct reader *reader, const struct event *event) {
  const struct wo_view name = {event->name, event->name_len};
  int64_t end_ns = 0;
  if (__builtin_add_overflow(event->start_ns, event->duration_ns, &end_ns) || end_ns < event->start_ns) return WO_OK;
  if (event->by_category == EVENT_MARK && is_step_mark(name)) {
    enum wo_status status = add_mark(reader, name, event->start_ns, true);
    if (status == WO_OK) status = add_mark(reader, name, end_ns, false);
    if (status != WO_OK) return status;
  }
  const enum wo_status status = wo__chrome_ops_add(&reader->ops, event->process ^ (event->thread << 1), event->start_ns, end_ns,
                                                   name, event->by_category == EVENT_PYTHON);
  return status == WO_OK ? WO_OK : no_memory(reader);
}

static enum wo_status take_event(struct reader *reader, struct event *event) {
  const bool is_op = event->by_category == EVENT_OP || event->by_category == EVENT_PYTHON || event->by_category == EVENT_MARK;
  if (is_memory(event)) return take_memory(reader, event);
  if (event->is_span && is_op && event->has_start && event->has_duration) return take_span(reader, event);
  return WO_OK;
}

/* Reads the events, after the list's opening bracket. Values that are no objects are skipped. */
static enum wo_status read_events(struct reader *reader) {
  struct event event;
  while (!reader->json.is_cut) {
    struct wo_json_token token;
    enum wo_status status = next(reader, &token);
    if (status != WO_OK || token.kind == WO_JSON_ARRAY_END || token.kind == WO_JSON_CUT) return status;
    reader->event_count++;
    if (token.kind == WO_JSON_ARRAY) wo_json_stream_leave(&reader->json);
    if (token.kind != WO_JSON_OBJECT) continue;
    status = read_event(reader, &event);
    if (status == WO_OK && !reader->json.is_cut) status = take_event(reader, &event);
    if (status != WO_OK) return status;
  }
  return WO_OK;
}

/* ---- Around the events ---- */

/* Reads up to two numbers of an object. */
static enum wo_status read_pair(struct reader *reader, const char *first, int64_t *ret_first, const char *second,
                                int64_t *ret_second) {
  while (!reader->json.is_cut) {
    struct wo_json_token token;
    bool is_read = false;
    enum wo_status status = next(reader, &token);
    if (status != WO_OK || token.kind != WO_JSON_KEY) return status;
    if (wo_view_is(token.text, first)) {
      status = read_number(reader, ret_first, &is_read);
    } else if (second != NULL && wo_view_is(token.text, second)) {
      status = read_number(reader, ret_second, &is_read);
    } else {
      status = wo_json_stream_skip(&reader->json, reader->err);
    }
    if (status != WO_OK) return status;
  }
  return WO_OK;
}

/* "deviceProperties": a list of objects; the first card's memory counts for all. */
static enum wo_status read_devices(struct reader *reader) {
  int64_t capacity_bytes = 0;
  while (!reader->json.is_cut) {
    struct wo_json_token token;
    enum wo_status status = next(reader, &token);
    if (status != WO_OK || token.kind == WO_JSON_ARRAY_END || token.kind == WO_JSON_CUT) return status;
    if (token.kind == WO_JSON_ARRAY) wo_json_stream_leave(&reader->json);
    if (token.kind != WO_JSON_OBJECT) continue;
    status = read_pair(reader, "totalGlobalMem", &capacity_bytes, NULL, NULL);
    if (status != WO_OK) return status;
    if (reader->recording->capacity_bytes == 0 && capacity_bytes > 0)
      reader->recording->capacity_bytes = (uint64_t)capacity_bytes;
  }
  return WO_OK;
}

static enum wo_status read_top(struct reader *reader, struct wo_view key) {
  const bool is_events = wo_view_is(key, "traceEvents"), is_devices = wo_view_is(key, "deviceProperties");
  const bool is_ranks = wo_view_is(key, "distributedInfo");
  if (wo_view_is(key, "baseTimeNanoseconds")) {
    bool is_read = false;
    int64_t base_ns = 0;
    const enum wo_status status = read_number(reader, &base_ns, &is_read);
    if (is_read && base_ns > 0) reader->base_us = base_ns / 1000;
    return status;
  }
  if (!is_events && !is_devices && !is_ranks) return wo_json_stream_skip(&reader->json, reader->err);
  struct wo_json_token token;
  const enum wo_status status = next(reader, &token);
  if (status != WO_OK) return status;
  if (token.kind == WO_JSON_ARRAY && is_events) return read_events(reader);
  if (token.kind == WO_JSON_ARRAY && is_devices) return read_devices(reader);
  if (token.kind == WO_JSON_OBJECT && is_ranks)
    return read_pair(reader, "rank", &reader->rank, "world_size", &reader->world_size);
  if (token.kind == WO_JSON_OBJECT || token.kind == WO_JSON_ARRAY) wo_json_stream_leave(&reader->json);
  return WO_OK;
}

/* An object with the events in it, or the events alone. */
static enum wo_status read_file(struct reader *reader) {
  struct wo_json_token token;
  enum wo_status status = next(reader, &token);
  if (status != WO_OK || token.kind == WO_JSON_CUT || token.kind == WO_JSON_END) return status;
  if (token.kind == WO_JSON_ARRAY) return read_events(reader);
  if (token.kind != WO_JSON_OBJECT) return wo_json_stream_fail(&reader->json, reader->err, WO_E_SYNTAX, "is no profiler trace");
  while (!reader->json.is_cut) {
    status = next(reader, &token);
    if (status != WO_OK || token.kind != WO_JSON_KEY) return status;
    status = read_top(reader, token.text);
    if (status != WO_OK) return status;
  }
  return WO_OK;
}

/* ---- The end ---- */

/* The message says what to record instead. */
static enum wo_status refuse_empty(struct reader *reader) {
  assert(reader->events.count == 0);
  if (reader->no_address_count > 0)
    return wo_json_stream_fail(
        &reader->json, reader->err, WO_E_SYNTAX,
        "holds %zu memory events without address or size, as torch before 1.12 wrote them: record a memory snapshot "
        "(torch.cuda.memory._record_memory_history) instead",
        reader->no_address_count);
  return wo_json_stream_fail(&reader->json, reader->err, WO_E_SYNTAX,
                             "holds no memory event of a GPU among %" PRIu64
                             " events (%zu of CPU memory): profile with profile_memory=True, "
                             "or record a memory snapshot (torch.cuda.memory._record_memory_history)",
                             reader->event_count, reader->cpu_count);
}

static void note_file(struct reader *reader) {
  struct wo_recording *const recording = reader->recording;
  if (reader->json.is_cut) {
    recording->is_truncated = true;
    wo_recording_note(recording, "the file ends inside of event %" PRIu64 ": the events before it are read",
                      reader->event_count > 0 ? reader->event_count - 1 : 0);
  }
  if (reader->world_size > 1)
    wo_recording_note(recording, "the trace is of rank %" PRId64 " of %" PRId64, reader->rank, reader->world_size);
  if (reader->no_address_count > 0)
    wo_recording_note(recording, "%zu memory events without address or size are left out", reader->no_address_count);
  if (reader->left_out_count > 0)
    wo_recording_note(recording, "%zu memory events beyond the first %zu are left out", reader->left_out_count,
                      WO_LIMIT_TRACE_ENTRIES);
  wo_recording_note(recording,
                    "sizes are those of blocks, already rounded up, and streams are not known: a profiler trace does not "
                    "hold what was requested");
}

/* Bytes that are no JSON count as an early end of the file, if there is something to keep. */
static enum wo_status forgive(struct reader *reader, enum wo_status status, const struct wo_err *wrong) {
  if ((status != WO_E_SYNTAX && status != WO_E_LIMIT) || reader->events.count == 0) {
    if (status != WO_OK && reader->err != NULL) *reader->err = *wrong;
    return status;
  }
  wo_recording_note(reader->recording, "byte %" PRIu64 ", in event %" PRIu64 ": the file %s", wrong->offset, reader->event_count,
                    wrong->message);
  return WO_OK;
}

/* Marks belong to the program, not to a device; the first device that it allocated on gets them. */
static void finish_marks(struct reader *reader) {
  struct wo_recording *const recording = reader->recording;
  assert(recording->traces.count > 0);
  for (size_t i = 0; i < recording->annotations.count; i++) {
    struct wo_annotation *const mark = &recording->annotations.items[i];
    mark->device = recording->traces.items[0].device;
    if (__builtin_add_overflow(mark->time_us, reader->base_us, &mark->time_us)) mark->time_us = INT64_MAX;
  }
}

/* Times become absolute at the end, because the base time comes after the events. */
static enum wo_status read_all(struct reader *reader) {
  struct wo_err *const err = reader->err;
  struct wo_err wrong = {0};
  reader->err = &wrong;
  enum wo_status status = read_file(reader);
  reader->err = err;
  status = forgive(reader, status, &wrong);
  if (status != WO_OK) return status;
  if (reader->events.count == 0) return refuse_empty(reader);
  status = wo__chrome_build(&reader->events, reader->base_us, reader->recording);
  if (status == WO_OK) finish_marks(reader);
  if (status == WO_OK && !wo_trace_sort_annotations(reader->recording)) status = WO_E_NOMEM;
  if (status == WO_OK) note_file(reader);
  if (status == WO_E_LIMIT)
    return wo_json_stream_fail(&reader->json, reader->err, status, "has more blocks than %zu entries hold",
                               WO_LIMIT_TRACE_ENTRIES);
  return status == WO_E_NOMEM ? no_memory(reader) : status;
}

enum wo_status wo_chrome_trace_read(struct wo_trace_source *source, struct wo_recording *recording, struct wo_err *err) {
  assert(source != NULL && recording != NULL);
  struct reader *const reader = calloc(1, sizeof *reader);
  if (reader == NULL) return wo_err_nomem(err);
  recording->format = WO_TRACE_FORMAT_PROFILER;
  recording->fidelity = WO_TRACE_BLOCK_SIZES;
  reader->recording = recording;
  reader->err = err;
  wo_json_stream_init(&reader->json, source, false);
  wo_intern_init(&reader->intern, recording);
  const enum wo_status status = read_all(reader);
  wo_json_stream_done(&reader->json);
  wo_intern_done(&reader->intern);
  wo__chrome_ops_done(&reader->ops);
  WO_VEC_DONE(&reader->events);
  free(reader);
  return status;
}

bool wo_chrome_trace_sniff(struct wo_view front) {
  const struct wo_view text = wo_view_trim_start(wo_view_starts(front, "\xEF\xBB\xBF") ? wo_view_skip(front, 3) : front);
  if (wo_view_starts(text, "{")) return wo_view_has(text, "\"traceEvents\"");
  return wo_view_starts(text, "[") && wo_view_starts(wo_view_trim_start(wo_view_skip(text, 1)), "{") &&
         wo_view_has(text, "\"ph\"");
}
