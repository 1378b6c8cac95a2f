/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence: the statement that one place in the input makes. It flows from the parsers to the analyzer.
 *
 * An event has a kind, typed fields, and the place it came from. Events are append-only and keep the order in which they were
 * found. All text lives in the store's arena until wo_event_store_done. A store must not be used by two threads at once. */
#ifndef WO_EVENT_H
#define WO_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "parsers/base/arena.h"
#include "parsers/base/limits.h"
#include "parsers/base/number.h"
#include "parsers/base/view.h"
#include "parsers/event/severity.h"
#include "parsers/event/stamp.h"

enum wo_kind {
#define WO_KIND(code, name, class, meaning) code,
#include "parsers/event/event_kinds.def"
#undef WO_KIND
  WO_KIND_COUNT_
};

/* The meaning that a pattern's lines have for the program beside their kind. */
enum wo_mark {
#define WO_MARK(code, name, meaning) code,
#include "parsers/event/marks.def"
#undef WO_MARK
  WO_MARK_COUNT_
};

/* The value of the field is_caught where a log record, no error, tells of the exception: its program went on. Otherwise a server
 * caught it (1). */
#define WO_CAUGHT_RECORDED 2

/* The role that events of a kind can play in a job's story. */
enum wo_class {
  WO_CLASS_NONE,
  WO_CLASS_GPU_MEMORY,  /* the card's memory ran out */
  WO_CLASS_HOST_MEMORY, /* the host's memory ran out */
  WO_CLASS_ENDING,      /* the workload manager ended the job */
  WO_CLASS_EXIT,        /* a process ended badly; says how, not why */
  WO_CLASS_PROGRAM,     /* the program failed on its own */
  WO_CLASS_HARDWARE,    /* the machine failed */
  WO_CLASS_CONSEQUENCE, /* follows from another failure */
  WO_CLASS_CONTEXT      /* describes the job; no failure */
};

enum wo_field_id {
#define WO_FIELD(code, name, type) code,
#include "parsers/event/fields.def"
#undef WO_FIELD
  WO_FIELD_COUNT_
};

enum wo_field_type { WO_FIELD_TYPE_BYTES, WO_FIELD_TYPE_COUNT, WO_FIELD_TYPE_RATIO, WO_FIELD_TYPE_TEXT };

/* One field. Numbers use `number` (bytes, counts, ratios as 0..1); texts use `text`. */
struct wo_field {
  enum wo_field_id id;
  struct wo_interval number;
  struct wo_view text;
};

typedef int32_t wo_event_id; /* index into the store; WO_EVENT_NONE for none */
#define WO_EVENT_NONE ((wo_event_id)-1)
#define WO_RANK_UNKNOWN ((int32_t)-1)
#define WO_TIME_UNKNOWN INT64_MIN

/* Where an event was read. `line` counts from 1, `byte` from 0 (start of the line's piece plus the match), both in expanded
 * content. Of lines that a terminal had cut, `line` is the first. */
struct wo_span {
  uint32_t file; /* index in the order in which files were given */
  uint64_t line;
  uint64_t byte;
  uint32_t length;
};

struct wo_event {
  wo_event_id id;
  enum wo_kind kind;
  enum wo_mark mark; /* of the pattern that found it */
  struct wo_span span;
  int32_t rank;              /* WO_RANK_UNKNOWN if the line does not show it */
  struct wo_view host;       /* empty if the line does not show it */
  int64_t time_ns;           /* since 1970, or WO_TIME_UNKNOWN */
  bool is_local_rank;        /* `rank` counts the processes of one node */
  struct wo_stamp stamp;     /* of the line, or of the nearest earlier line of its writer */
  enum wo_severity severity; /* that the line's logger gives it; a construct over lines has that of its first */
  struct wo_view pattern_id;
  struct wo_view text;  /* the line, cleaned and cut to WO_LIMIT_EVENT_TEXT_BYTES */
  struct wo_view match; /* the part of text that was matched; empty when cleaning moved it */
  wo_event_id of;       /* the event that this one belongs to (a traceback of its memory message), or WO_EVENT_NONE */
  bool is_quoted;       /* printed by something that quotes text: a script listing, a help text, the row of another job */
  struct wo_field *fields;
  uint32_t field_count;
  uint32_t field_capacity;
};

struct wo_curve_set; /* parsers/base/exchange/curve.h */

struct wo_event_store {
  struct wo_arena arena;
  struct wo_event *items;
  size_t count;
  size_t capacity;
  uint32_t per_kind[WO_KIND_COUNT_]; /* found, including those not kept */
  uint64_t dropped;                  /* found but not kept, because a limit was reached */
  bool is_out_of_memory;
  struct wo_curve_set *curves; /* figures that readers sum up are also put here; NULL: they are not kept. Borrowed */
};

/* The stable name of a kind ("cuda_oom", static), and its class. Values outside the list have those of the unknown kind. */
const char *wo_kind_name(enum wo_kind kind);
enum wo_class wo_kind_class(enum wo_kind kind);

/* The kind of the given name, or WO_KIND_UNKNOWN. */
enum wo_kind wo_kind_find(struct wo_view name);

/* The name of a mark ("engine"). */
const char *wo_mark_name(enum wo_mark mark);

/* The stable name ("tried_bytes") and the type of a field. */
const char *wo_field_name(enum wo_field_id id);
enum wo_field_type wo_field_type_of(enum wo_field_id id);

/* The field of the given name, or WO_FIELD_COUNT_. */
enum wo_field_id wo_field_find(struct wo_view name);

/* Makes *store empty. */
void wo_event_store_init(struct wo_event_store *store);

/* Releases everything; NULL allowed. */
void wo_event_store_done(struct wo_event_store *store);

/* Whether there are so many events of the kind that a further one is only counted. */
bool wo_event_is_flooded(const struct wo_event_store *store, enum wo_kind kind);

/* Appends an event with no fields, rank and time unknown, and `text` copied (cleaned of control characters and of invalid
 * UTF-8, cut to its limit). Returns the event, valid until the next append, or NULL when a limit or memory is reached. */
struct wo_event *wo_event_add(struct wo_event_store *store, enum wo_kind kind, struct wo_span span, struct wo_view text);

/* Sets a number or text field (text is copied and cleaned). A field that is already set keeps its first value. False when
 * memory is out. */
bool wo_event_set_number(struct wo_event_store *store, struct wo_event *event, enum wo_field_id id, struct wo_interval value);
bool wo_event_set_text(struct wo_event_store *store, struct wo_event *event, enum wo_field_id id, struct wo_view value);

/* Sets a number field to a value that is known exactly. */
bool wo_event_set_exact(struct wo_event_store *store, struct wo_event *event, enum wo_field_id id, double value);

/* Sets a number field from one of another event, if that has it. */
void wo_event_copy_number(struct wo_event_store *store, struct wo_event *event, enum wo_field_id id, const struct wo_event *from,
                          enum wo_field_id from_id);

/* The field, or NULL when the event does not have it. */
const struct wo_field *wo_event_field(const struct wo_event *event, enum wo_field_id id);

/* The field's text, or an empty view / the field's nominal number, or `otherwise`. */
struct wo_view wo_event_text(const struct wo_event *event, enum wo_field_id id);
double wo_event_number(const struct wo_event *event, enum wo_field_id id, double otherwise);

/* The field's nominal number as an index of a card, rank or task; `otherwise` also where it is too large for one. */
int32_t wo_event_index(const struct wo_event *event, enum wo_field_id id, int32_t otherwise);

/* The field's nominal number without its fraction; `otherwise` also where it is 2^63 and more either way, as a store of evidence
 * from elsewhere may say. */
int64_t wo_event_whole(const struct wo_event *event, enum wo_field_id id, int64_t otherwise);

/* The field's nominal number as a count: 0 also where it is less, or 2^63 and more. */
uint64_t wo_event_count(const struct wo_event *event, enum wo_field_id id);

/* The event of that id, or NULL for WO_EVENT_NONE and ids out of range. */
struct wo_event *wo_event_get(const struct wo_event_store *store, wo_event_id id);

/* The event after another one, the first for NULL; NULL after the last. */
static inline const struct wo_event *wo_event_next(const struct wo_event_store *store, const struct wo_event *event) {
  const size_t next = event != NULL ? (size_t)(event - store->items) + 1 : 0;
  return next < store->count ? &store->items[next] : NULL;
}

/* Walks over the events of a store, in their order: `event` is a pointer to const. */
#define wo_each_event(event, store)                                                                                              \
  for (const struct wo_event *event = wo_event_next(store, NULL); event != NULL; event = wo_event_next(store, event))

/* Writes one event as one line of canonical text for tests and --verbose: `kind line=3 rank=0 tried_bytes=18962288435 ...`,
 * fields in the order of fields.def. Returns buf. */
char *wo_event_to_text(const struct wo_event *event, char *buf, size_t cap);

#endif
