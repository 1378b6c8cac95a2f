/* SPDX-License-Identifier: Apache-2.0 */
/* The evidence store: kinds, fields, and the events of one job in the order in which they were found.
 *
 * Two things are kept apart when a store fills up. A limit that was reached is counted (`dropped`), because the input is to
 * blame; memory that the system refused is noted (`is_out_of_memory`), because whyoom is. Kinds that only describe the job stop
 * at half of the room, so that a flood of settings or progress lines never crowds out the failure that comes last. */
#include "parsers/event/event.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "parsers/base/vec.h"
#include "parsers/base/clean.h"

/* Fields that a new event has room for; doubled when more are set. */
enum { FIELD_CAPACITY_FIRST = 4 };

/* ---- Tables of kinds and fields ---- */

/* One row per kind, in the order of the enumeration, whatever the order of the lines in the .def file. */
struct kind_row {
  struct wo_view name;
  enum wo_class class;
};

static const struct kind_row kinds[] = {
#define WO_KIND(code, label, kind_class, text) [code] = {.name = {(label), sizeof(label) - 1}, .class = WO_CLASS_##kind_class},
#include "parsers/event/event_kinds.def"
#undef WO_KIND
};
_Static_assert(sizeof kinds / sizeof kinds[0] == WO_KIND_COUNT_, "every kind has one row");
_Static_assert(WO_KIND_UNKNOWN == 0, "zeroed memory is an unknown kind");

/* One row per field; the name's length is kept for wo_field_find. */
struct field_row {
  const char *name;
  size_t len;
  enum wo_field_type type;
};

static const struct field_row fields[] = {
#define WO_FIELD(code, label, kind) [code] = {.name = (label), .len = sizeof(label) - 1, .type = WO_FIELD_TYPE_##kind},
#include "parsers/event/fields.def"
#undef WO_FIELD
};
_Static_assert(sizeof fields / sizeof fields[0] == WO_FIELD_COUNT_, "every field has one row");

static const char *const marks[] = {
#define WO_MARK(code, label, text) [code] = (label),
#include "parsers/event/marks.def"
#undef WO_MARK
};
_Static_assert(WO_MARK_NONE == 0, "zeroed memory has no mark");

/* The row of a kind; that of the unknown one for values outside the list. */
static const struct kind_row *kind_row(enum wo_kind kind) {
  return &kinds[(unsigned)kind < WO_KIND_COUNT_ ? kind : WO_KIND_UNKNOWN];
}

const char *wo_kind_name(enum wo_kind kind) {
  return kind_row(kind)->name.ptr;
}

enum wo_class wo_kind_class(enum wo_kind kind) {
  return kind_row(kind)->class;
}

/* Linear: called while rule files are loaded, never per line. */
enum wo_kind wo_kind_find(struct wo_view name) {
  for (size_t i = 0; i < WO_KIND_COUNT_; i++) {
    if (wo_view_equal(name, kinds[i].name)) return (enum wo_kind)i;
  }
  return WO_KIND_UNKNOWN;
}

const char *wo_mark_name(enum wo_mark mark) {
  return (unsigned)mark < WO_MARK_COUNT_ ? marks[mark] : "";
}

const char *wo_field_name(enum wo_field_id id) {
  return (unsigned)id < WO_FIELD_COUNT_ ? fields[id].name : "?";
}

enum wo_field_type wo_field_type_of(enum wo_field_id id) {
  return (unsigned)id < WO_FIELD_COUNT_ ? fields[id].type : WO_FIELD_TYPE_TEXT;
}

/* Called for every named group of every match; the lengths kept in the table rule out nearly all rows. */
enum wo_field_id wo_field_find(struct wo_view name) {
  for (size_t i = 0; i < WO_FIELD_COUNT_; i++) {
    if (fields[i].len == name.len && memcmp(fields[i].name, name.ptr, name.len) == 0) return (enum wo_field_id)i;
  }
  return WO_FIELD_COUNT_;
}

/* ---- The store ---- */

/* Nothing is allocated before the first event: most files of a job hold none. */
void wo_event_store_init(struct wo_event_store *store) {
  assert(store != NULL);
  *store = (struct wo_event_store){0};
  wo_arena_init(&store->arena, WO_LIMIT_STORE_BYTES);
}

void wo_event_store_done(struct wo_event_store *store) {
  if (store == NULL) return;
  wo_arena_done(&store->arena);
  WO_VEC_DONE(store);
  *store = (struct wo_event_store){0};
}

/* Decides after a failed allocation of `size` bytes in the arena whether its cap or the system was the reason. Judged by the room
 * that was left, with some allowance; near the cap it may be wrong, and then calls a refusal of the system a full store. */
static void note_arena_failure(struct wo_event_store *store, size_t size) {
  assert(wo_arena_is_exhausted(&store->arena));
  const size_t overhead = 64; /* alignment and red zone of one piece */
  const size_t room = store->arena.cap_bytes - store->arena.used_bytes;
  if (room < size + overhead) {
    store->dropped++;
  } else {
    store->is_out_of_memory = true;
  }
}

bool wo_event_is_flooded(const struct wo_event_store *store, enum wo_kind kind) {
  return store->per_kind[kind] >= WO_LIMIT_EVENTS_PER_KIND || store->count >= WO_LIMIT_EVENTS;
}

/* Whether the limits leave room for one more event of this kind. per_kind already counts it. Kinds of context are those that
 * describe a job (settings, steps, banners): useful, but not the reason to run a diagnosis. */
static bool has_room(const struct wo_event_store *store, enum wo_kind kind) {
  if (store->per_kind[kind] > WO_LIMIT_EVENTS_PER_KIND || store->count >= WO_LIMIT_EVENTS) return false;
  if (wo_kind_class(kind) != WO_CLASS_CONTEXT) return true;
  return store->count < WO_LIMIT_EVENTS / 2 && store->arena.used_bytes < store->arena.cap_bytes / 2;
}

/* A cleaned copy of value in the arena, cut to cap bytes (at most WO_LIMIT_MESSAGE_BYTES). ptr NULL
 * when it failed, and then the failure is noted. Cutting never splits a character. */
static struct wo_view keep_text(struct wo_event_store *store, struct wo_view value, size_t cap) {
  char buf[WO_LIMIT_MESSAGE_BYTES];
  assert(cap <= sizeof buf);
  const struct wo_view clean = wo_clean_utf8(value, buf, cap);
  const struct wo_view copy = wo_arena_copy(&store->arena, clean);
  if (copy.ptr == NULL) note_arena_failure(store, clean.len + 1);
  return copy;
}

/* Everything that may fail comes before the event is counted: a NULL leaves the store as it was,
 * but for its counters. The pointer is valid until the next event is added, since the array may
 * move. */
struct wo_event *wo_event_add(struct wo_event_store *store, enum wo_kind kind, struct wo_span span, struct wo_view text) {
  assert(store != NULL && (unsigned)kind < WO_KIND_COUNT_);
  if (store->per_kind[kind] < UINT32_MAX) store->per_kind[kind]++;
  if (!has_room(store, kind)) {
    store->dropped++;
    return NULL;
  }
  if (!WO_VEC_RESERVE(store, 1, WO_LIMIT_EVENTS)) {
    store->is_out_of_memory = true;
    return NULL;
  }
  const struct wo_view kept = keep_text(store, text, WO_LIMIT_EVENT_TEXT_BYTES);
  if (kept.ptr == NULL) return NULL;
  struct wo_event *const event = &store->items[store->count];
  *event = (struct wo_event){
      .id = (wo_event_id)store->count,
      .kind = kind,
      .span = span,
      .rank = WO_RANK_UNKNOWN,
      .time_ns = WO_TIME_UNKNOWN,
      .text = kept,
      .of = WO_EVENT_NONE,
  };
  store->count++;
  assert(store->count <= store->capacity && wo_event_get(store, event->id) == event);
  return event;
}

struct wo_event *wo_event_get(const struct wo_event_store *store, wo_event_id id) {
  assert(store != NULL);
  if (id < 0 || (size_t)id >= store->count) return NULL;
  return &store->items[id];
}

/* ---- Fields ---- */

/* Place of the first field whose id is not below `id`: fields are kept in the order of fields.def.
 * A walk, not a search: events have a handful of fields. */
static uint32_t field_place(const struct wo_event *event, enum wo_field_id id) {
  uint32_t at = 0;
  while (at < event->field_count && event->fields[at].id < id) at++;
  return at;
}

/* Makes room for one more field. The old array stays in the arena, which is released as a whole.
 * Doubling bounds that waste to the size of what is in use. */
static bool grow_fields(struct wo_event_store *store, struct wo_event *event) {
  if (event->field_count < event->field_capacity) return true;
  const uint32_t capacity = event->field_capacity == 0 ? FIELD_CAPACITY_FIRST : event->field_capacity * 2;
  struct wo_field *const grown = wo_arena_array(&store->arena, capacity, sizeof *grown);
  if (grown == NULL) {
    note_arena_failure(store, capacity * sizeof *grown);
    return false;
  }
  if (event->field_count > 0) memcpy(grown, event->fields, event->field_count * sizeof *grown);
  event->fields = grown;
  event->field_capacity = capacity;
  return true;
}

/* Adds a field that the event does not have yet. False when memory is out or the store is full; the
 * event then lacks this field and is otherwise whole. */
static bool insert_field(struct wo_event_store *store, struct wo_event *event, struct wo_field field) {
  if (!grow_fields(store, event)) return false;
  const uint32_t at = field_place(event, field.id);
  assert(at == event->field_count || event->fields[at].id != field.id);
  memmove(&event->fields[at + 1], &event->fields[at], (event->field_count - at) * sizeof field);
  event->fields[at] = field;
  event->field_count++;
  assert(event->field_count <= event->field_capacity);
  return true;
}

/* The first value stays: in a message that says a thing twice, the later one is a repetition or the
 * words of another process. */
bool wo_event_set_number(struct wo_event_store *store, struct wo_event *event, enum wo_field_id id, struct wo_interval value) {
  assert(store != NULL && event != NULL && (unsigned)id < WO_FIELD_COUNT_);
  assert(value.lo <= value.mid && value.mid <= value.hi);
  if (wo_event_field(event, id) != NULL) return true;
  return insert_field(store, event, (struct wo_field){.id = id, .number = value});
}

bool wo_event_set_exact(struct wo_event_store *store, struct wo_event *event, enum wo_field_id id, double value) {
  return wo_event_set_number(store, event, id, wo_interval_exact(value));
}

void wo_event_copy_number(struct wo_event_store *store, struct wo_event *event, enum wo_field_id id, const struct wo_event *from,
                          enum wo_field_id from_id) {
  const struct wo_field *const field = wo_event_field(from, from_id);
  if (field) wo_event_set_number(store, event, id, field->number);
}

bool wo_event_set_text(struct wo_event_store *store, struct wo_event *event, enum wo_field_id id, struct wo_view value) {
  assert(store != NULL && event != NULL && (unsigned)id < WO_FIELD_COUNT_);
  if (wo_event_field(event, id) != NULL) return true;
  const struct wo_view kept = keep_text(store, value, WO_LIMIT_MESSAGE_BYTES);
  if (kept.ptr == NULL) return false;
  return insert_field(store, event, (struct wo_field){.id = id, .text = kept});
}

const struct wo_field *wo_event_field(const struct wo_event *event, enum wo_field_id id) {
  assert(event != NULL);
  const uint32_t at = field_place(event, id);
  return at < event->field_count && event->fields[at].id == id ? &event->fields[at] : NULL;
}

struct wo_view wo_event_text(const struct wo_event *event, enum wo_field_id id) {
  const struct wo_field *const field = wo_event_field(event, id);
  return field == NULL ? (struct wo_view){NULL, 0} : field->text;
}

/* The nominal value. Code that adds sizes takes the interval from the field. */
double wo_event_number(const struct wo_event *event, enum wo_field_id id, double otherwise) {
  const struct wo_field *const field = wo_event_field(event, id);
  return field == NULL || wo_field_type_of(id) == WO_FIELD_TYPE_TEXT ? otherwise : field->number.mid;
}

int32_t wo_event_index(const struct wo_event *event, enum wo_field_id id, int32_t otherwise) {
  const double number = wo_event_number(event, id, otherwise);
  return number >= INT32_MIN && number <= INT32_MAX ? (int32_t)number : otherwise;
}

int64_t wo_event_whole(const struct wo_event *event, enum wo_field_id id, int64_t otherwise) {
  const struct wo_field *const field = wo_event_field(event, id);
  const double number = field ? field->number.mid : NAN;
  return number > -0x1p63 && number < 0x1p63 ? (int64_t)number : otherwise;
}

uint64_t wo_event_count(const struct wo_event *event, enum wo_field_id id) {
  const int64_t number = wo_event_whole(event, id, 0);
  return number > 0 ? (uint64_t)number : 0;
}

/* ---- Canonical text ---- */

/* A line being written: never longer than cap, always NUL-terminated. */
struct writer {
  char *buf;
  size_t cap;
  size_t len;
};

/* Appends as much of the text as fits. */
static void put(struct writer *out, const char *text, size_t len) {
  assert(out->len < out->cap);
  const size_t room = out->cap - 1 - out->len;
  const size_t part = len < room ? len : room;
  if (part > 0) memcpy(out->buf + out->len, text, part);
  out->len += part;
  out->buf[out->len] = '\0';
}

static void put_string(struct writer *out, const char *text) {
  put(out, text, strlen(text));
}

/* Appends a text in quotes, so that the end of a value with blanks can be seen. */
static void put_quoted(struct writer *out, struct wo_view text) {
  put_string(out, "\"");
  for (size_t i = 0; i < text.len; i++) {
    if (text.ptr[i] == '"' || text.ptr[i] == '\\') put_string(out, "\\");
    put(out, &text.ptr[i], 1);
  }
  put_string(out, "\"");
}

/* Whole numbers without an exponent, others short. 2^63 bounds every field that is a size. */
static void put_number(struct writer *out, double value) {
  char digits[32];
  const double whole_end = 9223372036854775808.0;
  const bool is_whole = value > -whole_end && value < whole_end && value == (double)(int64_t)value;
  snprintf(digits, sizeof digits, is_whole ? "%.0f" : "%.6g", value);
  put_string(out, digits);
}

static void put_field(struct writer *out, const struct wo_field *field) {
  put_string(out, " ");
  put_string(out, wo_field_name(field->id));
  put_string(out, "=");
  if (wo_field_type_of(field->id) == WO_FIELD_TYPE_TEXT) {
    put_quoted(out, field->text);
  } else {
    put_number(out, field->number.mid);
  }
}

char *wo_event_to_text(const struct wo_event *event, char *buf, size_t cap) {
  assert(event != NULL && (buf != NULL || cap == 0));
  if (cap == 0) return buf;
  struct writer out = {.buf = buf, .cap = cap};
  char place[96];
  snprintf(place, sizeof place, "%s line=%llu", wo_kind_name(event->kind), (unsigned long long)event->span.line);
  put_string(&out, place);
  if (event->rank != WO_RANK_UNKNOWN) {
    snprintf(place, sizeof place, " rank=%ld", (long)event->rank);
    put_string(&out, place);
  }
  if (event->host.len > 0) {
    put_string(&out, " host=");
    put(&out, event->host.ptr, event->host.len);
  }
  for (uint32_t i = 0; i < event->field_count; i++) put_field(&out, &event->fields[i]);
  return buf;
}
