/* SPDX-License-Identifier: Apache-2.0 */
/* Packing: texts and names are numbered, then events are written as numbers. Form: pack_form.h. */
#include "analyzer/pack/job_pack.h"

#include <assert.h>

#include "analyzer/pack/pack_bytes.h"
#include "analyzer/pack/pack_form.h"
#include "analyzer/pack/pack_words.h"
#include "parsers/base/clean.h"
#include "parsers/base/limits.h"

/* The names that are used, of kinds, marks or fields: their numbers in the pack, by those in the program, and their texts. */
enum { NAMES_MAX = 512 };
_Static_assert((int)WO_KIND_COUNT_ <= NAMES_MAX && (int)WO_MARK_COUNT_ <= NAMES_MAX && (int)WO_FIELD_COUNT_ <= NAMES_MAX,
               "there is room for all names");

struct names {
  uint32_t number[NAMES_MAX]; /* + 1; 0: not used */
  uint32_t words[NAMES_MAX];
  uint32_t count;
};

struct packer {
  const struct wo_job *job;
  struct wo_arena arena; /* texts that had to be cleaned */
  struct wo__words words;
  struct names kinds, marks, fields;
  struct wo_text body; /* inputs, counts and events: what the texts and names are used in */
  /* of the event before */
  struct wo_span span;
  int64_t time_ns, stamp_ns;
};

/* Texts that are not clean are refused when they are read: names of hosts out of strange file names are cleaned here. */
static struct wo_view clean(struct packer *p, struct wo_view text) {
  if (text.len <= WO_LIMIT_MESSAGE_BYTES && wo_clean_printable_until(text, 0) == text.len) return text;
  char buf[WO_LIMIT_MESSAGE_BYTES];
  const struct wo_view cleaned = wo_clean_utf8(text, buf, sizeof buf);
  if (wo_view_equal(cleaned, text)) return text;
  const struct wo_view kept = wo_arena_copy(&p->arena, cleaned);
  if (wo_arena_is_exhausted(&p->arena)) p->words.is_failed = true;
  return kept;
}

static void put_word(struct packer *p, struct wo_view text) {
  wo__put_number(&p->body, wo__word(&p->words, clean(p, text)));
}

static void put_name(struct packer *p, struct names *names, unsigned which, const char *name) {
  if (names->number[which] == 0) {
    names->words[names->count++] = wo__word(&p->words, wo_view_of(name));
    names->number[which] = names->count;
  }
  wo__put_number(&p->body, names->number[which] - 1);
}

/* ---- Inputs and counts ---- */

static void put_input(struct packer *p, const struct wo_job_input *input) {
  put_word(p, input->path);
  put_word(p, input->format);
  wo__put_number(&p->body, input->bytes);
  wo__put_number(&p->body, input->lines);
  const int flags = (input->is_compressed ? WO__PACK_COMPRESSED : 0) | (input->is_path_exact ? WO__PACK_PATH_EXACT : 0) |
                    (input->is_unreadable ? WO__PACK_UNREADABLE : 0) | (input->is_recording ? WO__PACK_RECORDING : 0);
  wo__put_number(&p->body, (uint64_t)flags);
  wo__put_number(&p->body, input->note_count);
  for (size_t i = 0; i < input->note_count; i++) put_word(p, input->notes[i]);
}

static void put_counts(struct packer *p) {
  const struct wo_event_store *const events = &p->job->events;
  size_t kinds = 0;
  wo__put_number(&p->body, p->job->unopened_count);
  wo__put_number(&p->body, p->job->left_out_count);
  wo__put_number(&p->body, events->dropped);
  wo__put_number(&p->body, events->is_out_of_memory);
  for (unsigned kind = 0; kind < WO_KIND_COUNT_; kind++) kinds += events->per_kind[kind] > 0;
  wo__put_number(&p->body, kinds);
  for (unsigned kind = 0; kind < WO_KIND_COUNT_; kind++) {
    if (events->per_kind[kind] == 0) continue;
    put_name(p, &p->kinds, kind, wo_kind_name((enum wo_kind)kind));
    wo__put_number(&p->body, events->per_kind[kind]);
  }
}

/* ---- Events ---- */

/* Differences of 64 bits, which may wrap around. */
static void put_later(struct packer *p, int64_t *last, int64_t now) {
  wo__put_signed(&p->body, (int64_t)((uint64_t)now - (uint64_t)*last));
  *last = now;
}

static void put_place(struct packer *p, struct wo_span span) {
  assert(span.file >= p->span.file);
  if (span.file != p->span.file) p->span.line = p->span.byte = 0;
  wo__put_number(&p->body, span.file - p->span.file);
  wo__put_signed(&p->body, (int64_t)(span.line - p->span.line));
  wo__put_signed(&p->body, (int64_t)(span.byte - p->span.byte));
  wo__put_number(&p->body, span.length);
  p->span = span;
}

static size_t match_offset(const struct wo_event *event) {
  const struct wo_view text = event->text, match = event->match;
  const bool is_inside = match.len > 0 && match.ptr >= text.ptr && match.ptr + match.len <= text.ptr + text.len;
  return is_inside ? (size_t)(match.ptr - text.ptr) : WO_NOT_FOUND;
}

static unsigned flags_of(const struct wo_event *event) {
  return (event->is_local_rank ? WO__PACK_LOCAL_RANK : 0U) | (event->is_quoted ? WO__PACK_QUOTED : 0U) |
         (event->stamp.is_inherited ? WO__PACK_INHERITED : 0U) | (event->rank != WO_RANK_UNKNOWN ? WO__PACK_HAS_RANK : 0U) |
         (event->host.len > 0 ? WO__PACK_HAS_HOST : 0U) | (event->time_ns != WO_TIME_UNKNOWN ? WO__PACK_HAS_TIME : 0U) |
         (event->stamp.clock != WO_CLOCK_NONE ? WO__PACK_HAS_STAMP : 0U) | (event->pattern_id.len > 0 ? WO__PACK_HAS_ID : 0U) |
         (match_offset(event) != WO_NOT_FOUND ? WO__PACK_HAS_MATCH : 0U) | (event->of != WO_EVENT_NONE ? WO__PACK_HAS_OF : 0U);
}

static unsigned number_of_severity(enum wo_severity severity) {
  unsigned number = 0;
  while (number + 1 < WO__PACK_SEVERITIES && wo__pack_severities[number] != severity) number++;
  return number;
}

static unsigned number_of_clock(enum wo_clock clock) {
  unsigned number = 0;
  while (number + 1 < WO__PACK_CLOCKS && wo__pack_clocks[number] != clock) number++;
  return number;
}

/* What the flags announce, in their order. */
static void put_announced(struct packer *p, const struct wo_event *event, unsigned flags) {
  if (flags & WO__PACK_HAS_RANK) wo__put_signed(&p->body, event->rank);
  if (flags & WO__PACK_HAS_HOST) put_word(p, event->host);
  if (flags & WO__PACK_HAS_TIME) put_later(p, &p->time_ns, event->time_ns);
  if (flags & WO__PACK_HAS_STAMP) {
    wo__put_number(&p->body, number_of_clock(event->stamp.clock));
    put_later(p, &p->stamp_ns, event->stamp.time_ns);
  }
  if (flags & WO__PACK_HAS_ID) put_word(p, event->pattern_id);
  if (flags & WO__PACK_HAS_MATCH) {
    wo__put_number(&p->body, match_offset(event));
    wo__put_number(&p->body, event->match.len);
  }
  if (flags & WO__PACK_HAS_OF) wo__put_signed(&p->body, (int64_t)event->id - event->of);
}

static void put_field(struct packer *p, const struct wo_field *field) {
  const bool is_text = wo_field_type_of(field->id) == WO_FIELD_TYPE_TEXT;
  put_name(p, &p->fields, field->id, wo_field_name(field->id));
  wo__put_number(&p->body, is_text);
  if (is_text) {
    put_word(p, field->text);
  } else {
    wo__put_interval(&p->body, field->number);
  }
}

static void put_event(struct packer *p, const struct wo_event *event) {
  const unsigned flags = flags_of(event);
  put_name(p, &p->kinds, event->kind, wo_kind_name(event->kind));
  put_name(p, &p->marks, event->mark, wo_mark_name(event->mark));
  wo__put_number(&p->body, flags);
  wo__put_number(&p->body, number_of_severity(event->severity));
  put_place(p, event->span);
  put_word(p, event->text);
  put_announced(p, event, flags);
  wo__put_number(&p->body, event->field_count);
  for (uint32_t i = 0; i < event->field_count; i++) put_field(p, &event->fields[i]);
}

/* ---- All of it ---- */

static void put_body(struct packer *p) {
  wo__put_number(&p->body, p->job->input_count);
  for (size_t i = 0; i < p->job->input_count; i++) put_input(p, &p->job->inputs[i]);
  put_counts(p);
  wo__put_number(&p->body, p->job->events.count);
  for (size_t i = 0; i < p->job->events.count; i++) put_event(p, &p->job->events.items[i]);
}

static void put_names(const struct names *names, struct wo_text *out) {
  wo__put_number(out, names->count);
  for (uint32_t i = 0; i < names->count; i++) wo__put_number(out, names->words[i]);
}

/* Texts of evidence, paths and notes are clean (wo_clean_utf8), so that none holds a NUL. */
static void put_words(const struct wo__words *words, struct wo_text *out) {
  wo__put_number(out, words->count);
  wo__put_number(out, words->bytes + words->count);
  for (size_t i = 0; i < words->count; i++) {
    wo_text_add_view(out, words->items[i]);
    wo_text_add_view(out, (struct wo_view){"", 1});
  }
}

static enum wo_status put_all(struct packer *p, struct wo_text *raw, struct wo_text *out) {
  put_body(p);
  if (p->words.is_failed) return WO_E_NOMEM;
  if (p->words.bytes + p->words.count + p->body.len > WO_LIMIT_PACKED_JOB_BYTES - 1024 * 1024) return WO_E_LIMIT;
  put_words(&p->words, raw);
  put_names(&p->kinds, raw);
  put_names(&p->marks, raw);
  put_names(&p->fields, raw);
  wo_text_add_view(raw, (struct wo_view){p->body.ptr, p->body.len});
  if (raw->is_failed || p->body.is_failed) return WO_E_NOMEM;
  wo_text_add(out, "%s%c", WO__PACK_MAGIC, WO__PACK_FORM);
  wo__put_number(out, raw->len);
  return wo__pack_compress((struct wo_view){raw->ptr, raw->len}, out);
}

enum wo_status wo_job_pack(const struct wo_job *job, struct wo_text *out) {
  struct packer *const p = calloc(1, sizeof *p);
  if (!p) return WO_E_NOMEM;
  p->job = job;
  wo_arena_init(&p->arena, WO_LIMIT_PACKED_JOB_BYTES);
  struct wo_text raw = {0};
  const enum wo_status status = put_all(p, &raw, out);
  wo_text_done(&raw);
  wo_text_done(&p->body);
  wo__words_done(&p->words);
  wo_arena_done(&p->arena);
  free(p);
  return status;
}
