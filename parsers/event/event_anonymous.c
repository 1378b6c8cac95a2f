/* SPDX-License-Identifier: Apache-2.0 */
/* Names out of evidence. See event_anonymous.h. */
#include "parsers/event/event_anonymous.h"

#include "parsers/base/text.h"

/* How the text of a field is taken. */
enum reading {
  AS_TEXT,
  AS_NAME,
  AS_HOSTS,
  AS_PATH,
  AS_IT_IS, /* a word of the program's own lists, or a number */
};

struct field_reading {
  enum reading reading;
  enum wo_name_kind kind;
};

static struct field_reading reading_of(enum wo_field_id id) {
  switch (id) {
  case WO_FIELD_HOST:
    return (struct field_reading){AS_NAME, WO_NAME_OF_HOST};
  case WO_FIELD_USER:
    return (struct field_reading){AS_NAME, WO_NAME_OF_USER};
  case WO_FIELD_ACCOUNT:
    return (struct field_reading){AS_NAME, WO_NAME_OF_ACCOUNT};
  case WO_FIELD_PARTITION:
    return (struct field_reading){AS_NAME, WO_NAME_OF_PARTITION};
  case WO_FIELD_JOB_NAME:
    return (struct field_reading){AS_NAME, WO_NAME_OF_JOB};
  case WO_FIELD_NODES:
    return (struct field_reading){AS_HOSTS, WO_NAME_OF_HOST};
  case WO_FIELD_FRAME_FILE:
  case WO_FIELD_INNER_FILE:
  case WO_FIELD_PATH:
  case WO_FIELD_PROGRAM:
    return (struct field_reading){AS_PATH, WO_NAME_OF_FILE};
  case WO_FIELD_OTHER_PROCESS_PIDS:
  case WO_FIELD_SHAPE:
  case WO_FIELD_DTYPE:
  case WO_FIELD_JOB:
  case WO_FIELD_ARRAY_JOB:
  case WO_FIELD_STEP_ID:
  case WO_FIELD_TASKS:
  case WO_FIELD_SIGNAL:
  case WO_FIELD_TIME:
  case WO_FIELD_PHASE:
  case WO_FIELD_EXCEPTION:
  case WO_FIELD_KNOB:
  case WO_FIELD_KEY:
  case WO_FIELD_STYLE:
  case WO_FIELD_STATE:
  case WO_FIELD_OPERATOR:
  case WO_FIELD_TORCH:
  case WO_FIELD_STEP_UNIT:
    return (struct field_reading){AS_IT_IS, WO_NAME_OF_NOTHING};
  default:
    return (struct field_reading){AS_TEXT, WO_NAME_OF_NOTHING};
  }
}

/* The value of a setting can be a name ("job_name"). */
static struct field_reading reading_in(const struct wo_event *event, enum wo_field_id id) {
  const enum wo_name_kind kind =
      id == WO_FIELD_VALUE ? wo_pseudonyms_key_kind(wo_event_text(event, WO_FIELD_KEY)) : WO_NAME_OF_NOTHING;
  if (kind == WO_NAME_OF_NOTHING) return reading_of(id);
  return (struct field_reading){kind == WO_NAME_OF_HOST ? AS_HOSTS : AS_NAME, kind};
}

/* ---- Learning ---- */

static void learn_fields(const struct wo_event_store *store, struct wo_pseudonyms *p) {
  wo_each_event (event, store) {
    wo_pseudonyms_learn(p, WO_NAME_OF_HOST, event->host);
    for (uint32_t i = 0; i < event->field_count; i++) {
      const struct wo_field *const field = &event->fields[i];
      if (wo_field_type_of(field->id) != WO_FIELD_TYPE_TEXT) continue;
      const struct field_reading reading = reading_in(event, field->id);
      if (reading.reading == AS_NAME) wo_pseudonyms_learn(p, reading.kind, field->text);
      if (reading.reading == AS_HOSTS) wo_pseudonyms_learn_hosts(p, field->text);
    }
  }
}

static void learn_texts(const struct wo_event_store *store, struct wo_pseudonyms *p) {
  wo_each_event (event, store) {
    wo_pseudonyms_learn_text(p, event->text);
    for (uint32_t i = 0; i < event->field_count; i++) {
      const struct wo_field *const field = &event->fields[i];
      const bool is_text = wo_field_type_of(field->id) == WO_FIELD_TYPE_TEXT;
      if (is_text && reading_in(event, field->id).reading == AS_TEXT) wo_pseudonyms_learn_text(p, field->text);
    }
  }
}

/* ---- Rewriting ---- */

/* A text that was cut may end in the middle of a name, which is then not recognised: that word is left out. */
static struct wo_view without_cut_word(struct wo_view text) {
  const size_t character = 4;
  size_t end = text.len;
  if (text.len + character <= WO_LIMIT_EVENT_TEXT_BYTES) return text;
  while (end > 0 && text.len - end < WO_LIMIT_PSEUDONYM_NAME_BYTES && !wo_is_space(text.ptr[end - 1])) end--;
  return wo_view_sub(text, 0, end);
}

/* What was added, kept; the text itself if it is the same. */
static struct wo_view keep(struct wo_text *shown, struct wo_view text, struct wo_arena *arena) {
  struct wo_view kept = {shown->ptr, shown->len};
  if (shown->is_failed || !wo_view_equal(kept, text))
    kept = shown->is_failed ? WO_VIEW("") : wo_arena_copy(arena, kept);
  else
    kept = text;
  wo_text_done(shown);
  return kept.ptr ? kept : WO_VIEW("");
}

static void rewrite_line(struct wo_event *event, struct wo_pseudonyms *p, struct wo_arena *arena) {
  struct wo_text shown = {0};
  const struct wo_view text = without_cut_word(event->text);
  const bool has_match = event->match.len > 0;
  const size_t at = has_match ? (size_t)(event->match.ptr - event->text.ptr) : 0;
  size_t marks[] = {at, at + event->match.len};
  wo_pseudonyms_add_text(p, text, marks, 2, &shown);
  event->text = keep(&shown, event->text, arena);
  if (has_match) event->match = wo_view_sub(event->text, marks[0], marks[1]);
}

static struct wo_view rewritten(struct wo_pseudonyms *p, struct field_reading reading, struct wo_view text,
                                struct wo_arena *arena) {
  struct wo_text shown = {0};
  switch (reading.reading) {
  case AS_NAME:
    wo_pseudonyms_add_name(p, reading.kind, text, &shown);
    break;
  case AS_HOSTS:
    wo_pseudonyms_add_hosts(p, text, &shown);
    break;
  case AS_PATH:
    wo_pseudonyms_add_path(p, text, &shown);
    break;
  case AS_TEXT:
    wo_pseudonyms_add_text(p, text, NULL, 0, &shown);
    break;
  case AS_IT_IS:
    return text;
  }
  return keep(&shown, text, arena);
}

static void rewrite_event(struct wo_event *event, struct wo_pseudonyms *p, struct wo_arena *arena) {
  const struct field_reading host = {AS_NAME, WO_NAME_OF_HOST};
  rewrite_line(event, p, arena);
  if (event->host.len > 0) event->host = rewritten(p, host, event->host, arena);
  for (uint32_t i = 0; i < event->field_count; i++) {
    struct wo_field *const field = &event->fields[i];
    if (wo_field_type_of(field->id) != WO_FIELD_TYPE_TEXT || field->text.len == 0) continue;
    field->text = rewritten(p, reading_in(event, field->id), field->text, arena);
  }
}

void wo_event_store_anonymize(struct wo_event_store *store, struct wo_pseudonyms *p, const struct wo_overheard *overheard,
                              struct wo_arena *arena) {
  learn_fields(store, p);
  learn_texts(store, p);
  if (overheard) wo_overheard_tell(overheard, p);
  for (size_t i = 0; i < store->count; i++) rewrite_event(&store->items[i], p, arena);
}
