/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacking: total over any bytes, because stores come from anywhere. What the rest of the program relies on is checked here:
 * texts are clean and no longer than they can be, places are in inputs, events of one input follow each other. */
#include "analyzer/pack/job_pack.h"

#include "analyzer/pack/pack_bytes.h"
#include "analyzer/pack/pack_form.h"
#include "parsers/base/clean.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

/* A list of names: their numbers in this program; those that it does not know are its number of names. */
struct names {
  uint32_t *known;
  size_t count;
};

struct unpacker {
  struct wo_job *job;
  struct wo_arena arena; /* lists that are needed only here */
  struct wo__cursor in;
  const struct wo_view *words;
  size_t word_count;
  struct names kinds, marks, fields;
  struct wo_span span;
  int64_t time_ns, stamp_ns;
  bool is_out_of_memory;
};

static void *make_list(struct unpacker *u, struct wo_arena *arena, size_t count, size_t size) {
  void *const list = wo_arena_array(arena, count, size);
  if (list) return list;
  u->is_out_of_memory = true;
  u->in.is_bad = true;
  u->in.at = u->in.end;
  return NULL;
}

static void *fail(struct unpacker *u) {
  u->in.is_bad = true;
  u->in.at = u->in.end;
  return NULL;
}

/* A count of things that take at least one byte each: it cannot be larger than what is left. */
static size_t take_count(struct unpacker *u) {
  return (size_t)wo__take_number(&u->in, (uint64_t)(u->in.end - u->in.at));
}

/* ---- Texts and names ---- */

/* Whether a text is as wo_event_add leaves it. */
static bool is_clean(struct wo_view text) {
  if (wo_clean_printable_until(text, 0) == text.len) return true;
  char buf[WO_LIMIT_MESSAGE_BYTES];
  return text.len <= sizeof buf && wo_view_equal(wo_clean_utf8(text, buf, sizeof buf), text);
}

static void take_words(struct unpacker *u) {
  const size_t count = take_count(u);
  struct wo_view rest = wo__take_bytes(&u->in, (size_t)wo__take_number(&u->in, WO_LIMIT_PACKED_JOB_BYTES));
  struct wo_view *const words = make_list(u, &u->arena, count, sizeof *words);
  for (size_t i = 0; words && i < count; i++) {
    const size_t end = wo_view_find_char(rest, '\0', 0);
    words[i] = wo_view_sub(rest, 0, end == WO_NOT_FOUND ? 0 : end);
    if (end == WO_NOT_FOUND || words[i].len > WO_LIMIT_MESSAGE_BYTES || !is_clean(words[i])) fail(u);
    if (u->in.is_bad) return;
    rest = wo_view_skip(rest, end + 1);
  }
  if (rest.len > 0) fail(u);
  u->words = words;
  u->word_count = words ? count : 0;
}

static struct wo_view take_word(struct unpacker *u) {
  const size_t number = (size_t)wo__take_number(&u->in, UINT32_MAX);
  if (number < u->word_count) return u->words[number];
  fail(u);
  return (struct wo_view){0};
}

static uint32_t find_kind(struct wo_view name) {
  return wo_kind_find(name);
}

static uint32_t find_mark(struct wo_view name) {
  uint32_t mark = 0;
  while (mark < WO_MARK_COUNT_ && !wo_view_is(name, wo_mark_name((enum wo_mark)mark))) mark++;
  return mark < WO_MARK_COUNT_ ? mark : WO_MARK_NONE;
}

static uint32_t find_field(struct wo_view name) {
  return wo_field_find(name);
}

static void take_names(struct unpacker *u, struct names *names, uint32_t (*find)(struct wo_view name)) {
  const size_t count = take_count(u);
  names->known = make_list(u, &u->arena, count, sizeof *names->known);
  for (size_t i = 0; names->known && i < count && !u->in.is_bad; i++) names->known[i] = find(take_word(u));
  names->count = u->in.is_bad ? 0 : count;
}

static uint32_t take_name(struct unpacker *u, const struct names *names) {
  const size_t number = (size_t)wo__take_number(&u->in, UINT32_MAX);
  if (number < names->count) return names->known[number];
  fail(u);
  return 0;
}

/* ---- Inputs and counts ---- */

static void take_notes(struct unpacker *u, struct wo_job_input *input) {
  input->note_count = (size_t)wo__take_number(&u->in, sizeof input->notes / sizeof input->notes[0]);
  for (size_t i = 0; i < input->note_count; i++) {
    input->notes[i] = take_word(u);
  }
}

static void take_input(struct unpacker *u, struct wo_job_input *input) {
  input->path = take_word(u);
  input->file = input->path;
  input->format = take_word(u);
  input->bytes = wo__take_number(&u->in, UINT64_MAX);
  input->lines = wo__take_number(&u->in, UINT64_MAX);
  const uint64_t flags = wo__take_number(&u->in, UINT64_MAX);
  input->is_compressed = flags & WO__PACK_COMPRESSED;
  input->is_path_exact = flags & WO__PACK_PATH_EXACT;
  input->is_unreadable = flags & WO__PACK_UNREADABLE;
  input->is_recording = flags & WO__PACK_RECORDING;
  take_notes(u, input);
}

static void take_inputs(struct unpacker *u) {
  struct wo_job *const job = u->job;
  const size_t count = (size_t)wo__take_number(&u->in, WO_LIMIT_INPUT_FILES);
  WO_VEC(struct wo_job_input) rows = {0};
  if (count > 0 && !WO_VEC_RESERVE(&rows, count, WO_LIMIT_INPUT_FILES)) {
    u->is_out_of_memory = true;
    fail(u);
    return;
  }
  job->inputs = rows.items;
  job->input_capacity = rows.capacity;
  for (; job->input_count < count && !u->in.is_bad; job->input_count++) {
    job->inputs[job->input_count] = (struct wo_job_input){0};
    take_input(u, &job->inputs[job->input_count]);
  }
}

static void take_counts(struct unpacker *u) {
  struct wo_event_store *const events = &u->job->events;
  u->job->unopened_count = (size_t)wo__take_number(&u->in, UINT32_MAX);
  u->job->left_out_count = (size_t)wo__take_number(&u->in, UINT32_MAX);
  events->dropped = wo__take_number(&u->in, UINT64_MAX);
  events->is_out_of_memory = wo__take_number(&u->in, 1) == 1;
  const size_t kinds = take_count(u);
  for (size_t i = 0; i < kinds && !u->in.is_bad; i++) {
    const uint32_t kind = take_name(u, &u->kinds);
    events->per_kind[kind] = (uint32_t)wo__take_number(&u->in, UINT32_MAX);
  }
}

/* ---- Events ---- */

static int64_t take_later(struct unpacker *u, int64_t *last) {
  *last = (int64_t)((uint64_t)*last + (uint64_t)wo__take_signed(&u->in));
  return *last;
}

static struct wo_span take_place(struct unpacker *u) {
  const uint64_t further = wo__take_number(&u->in, UINT32_MAX);
  if (further > 0) u->span.line = u->span.byte = 0;
  if (u->span.file + further >= u->job->input_count) fail(u);
  if (u->in.is_bad) return (struct wo_span){0};
  u->span.file += (uint32_t)further;
  u->span.line += (uint64_t)wo__take_signed(&u->in);
  u->span.byte += (uint64_t)wo__take_signed(&u->in);
  u->span.length = (uint32_t)wo__take_number(&u->in, UINT32_MAX);
  return u->span;
}

static struct wo_view take_match(struct unpacker *u, struct wo_view text) {
  const size_t at = (size_t)wo__take_number(&u->in, text.len);
  const size_t len = (size_t)wo__take_number(&u->in, text.len - at);
  return u->in.is_bad ? (struct wo_view){0} : (struct wo_view){text.ptr + at, len};
}

/* The number of the event that this one belongs to; `count` is that of all. */
static wo_event_id take_of(struct unpacker *u, wo_event_id id, size_t count) {
  const int64_t back = wo__take_signed(&u->in);
  if (back > id || back <= id - (int64_t)count || back == 0) fail(u);
  return u->in.is_bad ? WO_EVENT_NONE : (wo_event_id)(id - back);
}

static void take_announced(struct unpacker *u, struct wo_event *event, uint64_t flags, size_t count) {
  if (flags & WO__PACK_HAS_RANK) {
    const int64_t rank = wo__take_signed(&u->in);
    if (rank < 0 || rank > INT32_MAX) fail(u);
    event->rank = u->in.is_bad ? WO_RANK_UNKNOWN : (int32_t)rank;
  }
  if (flags & WO__PACK_HAS_HOST) event->host = take_word(u);
  if (flags & WO__PACK_HAS_TIME) event->time_ns = take_later(u, &u->time_ns);
  if (flags & WO__PACK_HAS_STAMP) {
    event->stamp.clock = wo__pack_clocks[wo__take_number(&u->in, WO__PACK_CLOCKS - 1)];
    event->stamp.time_ns = take_later(u, &u->stamp_ns);
  }
  if (flags & WO__PACK_HAS_ID) event->pattern_id = take_word(u);
  if (flags & WO__PACK_HAS_MATCH) event->match = take_match(u, event->text);
  if (flags & WO__PACK_HAS_OF) event->of = take_of(u, event->id, count);
}

/* Fields are in the order of this program's list, whatever the order of the one that packed them. */
static void keep_field(struct unpacker *u, struct wo_event *event, struct wo_field field) {
  uint32_t at = event->field_count;
  while (at > 0 && event->fields[at - 1].id > field.id) at--;
  if (at > 0 && event->fields[at - 1].id == field.id) {
    fail(u);
    return;
  }
  for (uint32_t i = event->field_count; i > at; i--) event->fields[i] = event->fields[i - 1];
  event->fields[at] = field;
  event->field_count++;
}

/* Whether a number is one that can be read from a log (wo_number_decimal): it can be converted to 64 bits. */
static bool is_bounded(struct wo_interval number) {
  const double end = 9223372036854775808.0; /* 2^63 */
  return number.lo > -end && number.hi < end;
}

static void take_field(struct unpacker *u, struct wo_event *event) {
  const uint32_t id = take_name(u, &u->fields);
  const bool is_text = wo__take_number(&u->in, 1) == 1;
  struct wo_field field = {.id = (enum wo_field_id)id};
  if (is_text) {
    field.text = take_word(u);
  } else {
    field.number = wo__take_interval(&u->in);
  }
  if (!is_text && !is_bounded(field.number)) fail(u);
  const bool is_known = id < WO_FIELD_COUNT_ && is_text == (wo_field_type_of(field.id) == WO_FIELD_TYPE_TEXT);
  if (is_known && !u->in.is_bad) keep_field(u, event, field);
}

static void take_fields(struct unpacker *u, struct wo_event *event) {
  const size_t count = (size_t)wo__take_number(&u->in, WO_FIELD_COUNT_ + (uint64_t)256);
  if (count == 0 || u->in.is_bad) return;
  event->fields = make_list(u, &u->job->events.arena, count, sizeof *event->fields);
  event->field_capacity = (uint32_t)count;
  for (size_t i = 0; event->fields && i < count && !u->in.is_bad; i++) take_field(u, event);
}

static void take_event(struct unpacker *u, size_t count) {
  struct wo_event_store *const events = &u->job->events;
  struct wo_event *const event = &events->items[events->count];
  *event = (struct wo_event){
      .id = (wo_event_id)events->count, .rank = WO_RANK_UNKNOWN, .time_ns = WO_TIME_UNKNOWN, .of = WO_EVENT_NONE};
  event->kind = (enum wo_kind)take_name(u, &u->kinds);
  event->mark = (enum wo_mark)take_name(u, &u->marks);
  const uint64_t flags = wo__take_number(&u->in, WO__PACK_EVENT_FLAGS);
  event->is_local_rank = flags & WO__PACK_LOCAL_RANK;
  event->is_quoted = flags & WO__PACK_QUOTED;
  event->stamp.is_inherited = flags & WO__PACK_INHERITED;
  event->severity = wo__pack_severities[wo__take_number(&u->in, WO__PACK_SEVERITIES - 1)];
  event->span = take_place(u);
  event->text = take_word(u);
  if (event->text.len > WO_LIMIT_EVENT_TEXT_BYTES) fail(u);
  take_announced(u, event, flags, count);
  take_fields(u, event);
}

static void take_events(struct unpacker *u) {
  struct wo_event_store *const events = &u->job->events;
  const size_t count = (size_t)wo__take_number(&u->in, WO_LIMIT_EVENTS);
  if (count > 0 && !WO_VEC_RESERVE(events, count, WO_LIMIT_EVENTS)) {
    u->is_out_of_memory = true;
    fail(u);
    return;
  }
  while (events->count < count && !u->in.is_bad) {
    take_event(u, count);
    events->count++;
  }
}

/* ---- All of it ---- */

static enum wo_status damaged(struct wo_err *err) {
  return wo_err_set(err, WO_E_SYNTAX, "the kept evidence is damaged");
}

static enum wo_status take_all(struct unpacker *u, struct wo_err *err) {
  take_words(u);
  take_names(u, &u->kinds, find_kind);
  take_names(u, &u->marks, find_mark);
  take_names(u, &u->fields, find_field);
  take_inputs(u);
  take_counts(u);
  take_events(u);
  if (u->is_out_of_memory) return wo_err_nomem(err);
  return u->in.is_bad || u->in.at != u->in.end ? damaged(err) : WO_OK;
}

/* The raw bytes stay as long as the job: texts are in them. */
static enum wo_status expand(struct wo_view packed, struct wo_job *job, struct wo_view *ret_raw, struct wo_err *err) {
  const struct wo_view magic = WO_VIEW(WO__PACK_MAGIC);
  if (!wo_view_starts(packed, WO__PACK_MAGIC) || packed.len <= magic.len) return damaged(err);
  if (packed.ptr[magic.len] != WO__PACK_FORM)
    return wo_err_set(err, WO_E_KIND, "the kept evidence is of a newer version of whyoom");
  packed = wo_view_skip(packed, magic.len + 1);
  struct wo__cursor in = {(const unsigned char *)packed.ptr, (const unsigned char *)packed.ptr + packed.len, false};
  const size_t len = (size_t)wo__take_number(&in, WO_LIMIT_PACKED_JOB_BYTES);
  if (in.is_bad) return damaged(err);
  job->events.arena.cap_bytes += WO_LIMIT_PACKED_JOB_BYTES;
  char *const buf = wo_arena_alloc(&job->events.arena, len);
  if (!buf) return wo_err_nomem(err);
  const enum wo_status status = wo__pack_expand((struct wo_view){(const char *)in.at, (size_t)(in.end - in.at)}, buf, len);
  if (status != WO_OK) return status == WO_E_NOMEM ? wo_err_nomem(err) : damaged(err);
  *ret_raw = (struct wo_view){buf, len};
  return WO_OK;
}

enum wo_status wo_job_unpack(struct wo_view packed, const struct wo_pack *pack, struct wo_job **ret_job, struct wo_err *err) {
  struct unpacker u = {0};
  if (wo_job_new_unread(pack, &u.job) != WO_OK) return wo_err_nomem(err);
  struct wo_view raw = {0};
  enum wo_status status = expand(packed, u.job, &raw, err);
  if (status == WO_OK) {
    u.in = (struct wo__cursor){(const unsigned char *)raw.ptr, (const unsigned char *)raw.ptr + raw.len, false};
    wo_arena_init(&u.arena, 20 * WO_LIMIT_PACKED_JOB_BYTES);
    status = take_all(&u, err);
    wo_arena_done(&u.arena);
  }
  if (status != WO_OK) {
    wo_job_free(u.job);
    return status;
  }
  *ret_job = u.job;
  return WO_OK;
}
