/* SPDX-License-Identifier: Apache-2.0 */
/* Leaving a bookmark while a file is read, and going on from one. See bookmark.h. */
#include "analyzer/pack/bookmark.h"

#include <stdlib.h>
#include <string.h>

#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

/* ---- Evidence ---- */

static void count_evidence(const struct wo_event_store *events, struct wo_bookmark_count *ret) {
  *ret = (struct wo_bookmark_count){.events = events->count, .used_bytes = events->arena.used_bytes, .dropped = events->dropped};
  memcpy(ret->per_kind, events->per_kind, sizeof ret->per_kind);
}

/* Of everything in the events that may change once they are there. */
static uint64_t hash_events(const struct wo_event_store *events, size_t first, size_t end) {
  uint64_t hash = WO_HASH_START;
  for (size_t i = first; i < end; i++) {
    const struct wo_event *const event = &events->items[i];
    hash = wo_hash_number(hash, (uint64_t)event->kind << 32 ^ (uint64_t)event->mark << 16 ^ event->field_count);
    hash = wo_hash_number(hash, (uint64_t)event->of << 32 ^ (uint32_t)event->rank);
    hash = wo_hash_number(hash, (uint64_t)event->severity << 3 ^ (event->is_quoted ? 2U : 0U) ^ (event->is_local_rank ? 1U : 0U));
    hash = wo_hash_number(hash, (uint64_t)event->time_ns);
    hash = wo_hash_number(hash, (uint64_t)event->stamp.time_ns ^ (uint64_t)event->stamp.clock);
    hash = wo_hash_number(hash, event->span.line << 20 ^ event->span.byte ^ (uint64_t)event->match.len << 40);
    for (uint32_t k = 0; k < event->field_count; k++) {
      uint64_t bits;
      memcpy(&bits, &event->fields[k].number.mid, sizeof bits);
      hash = wo_hash_number(hash, bits ^ event->fields[k].id ^ (uint64_t)event->fields[k].text.len << 32);
    }
  }
  return hash;
}

/* ---- Leaving one ---- */

/* A file whose end comes nearer by less than this gets no other one. */
static uint64_t next_after(const struct wo_bookmarker *marker, uint64_t at) {
  if (at >= marker->tail) return at + WO_LIMIT_BOOKMARK_TAIL_BYTES;
  const uint64_t step = at + WO_LIMIT_BOOKMARK_STEP_BYTES;
  return step < marker->tail ? step : marker->tail;
}

static struct wo_bookmarker *marker_of(struct wo_job_reader *reader) {
  return (struct wo_bookmarker *)reader;
}

static void leave(struct wo_job_reader *reader, struct wo_job *job, struct wo_scan *scan, struct wo_input *input) {
  struct wo_bookmarker *const marker = marker_of(reader);
  if (wo_input_bytes(input) < marker->next || wo_input_is_compressed(input) || wo_input_file_name(input)) return;
  struct wo_bookmark bookmark = {.start = marker->start};
  struct wo_view before = {0};
  if (!wo_scan_keep(scan, &bookmark.state, &bookmark.place, &before)) {
    wo_bookmark_done(&bookmark);
    return;
  }
  bookmark.before_hash = wo_view_hash(WO_HASH_START, before);
  count_evidence(&job->events, &bookmark.here);
  bookmark.events_hash = hash_events(&job->events, bookmark.start.events, bookmark.here.events);
  wo_bookmark_done(&marker->to);
  marker->to = bookmark;
  marker->next = next_after(marker, wo_input_bytes(input));
}

/* ---- Going on ---- */

/* Reads the bytes before a place with a descriptor of its own, so that the input need not go back. */
static bool read_before(const char *path, const struct wo_scan_place *place, char *buf) {
  struct wo_input *input = NULL;
  bool is_there = false;
  size_t len = 0, more = 1;
  if (place->before > place->next || wo_input_open(path, &input, NULL) != WO_OK) return false;
  bool is_good =
      wo_input_next_file(input, &is_there, NULL) == WO_OK && is_there && wo_input_go_to(input, place->next - place->before);
  while (is_good && len < place->before && more > 0) {
    is_good = wo_input_read(input, buf + len, (size_t)place->before - len, &more, NULL) == WO_OK;
    len += is_good ? more : 0;
  }
  wo_input_close(input);
  return is_good && len == place->before;
}

static bool is_same_count(const struct wo_bookmark_count *a, const struct wo_bookmark_count *b) {
  return a->events == b->events && a->used_bytes == b->used_bytes && a->dropped == b->dropped &&
         memcmp(a->per_kind, b->per_kind, sizeof a->per_kind) == 0;
}

/* Whether no limit of evidence was near: then how much the files before have does not matter. */
static bool is_far_from_limits(const struct wo_bookmark_count *count) {
  for (size_t kind = 0; kind < WO_KIND_COUNT_; kind++) {
    const size_t most = kind == WO_KIND_RUN_START ? WO_LIMIT_RUNS : WO_LIMIT_EVENTS_PER_KIND;
    if (count->per_kind[kind] >= most) return false;
  }
  return count->events < WO_LIMIT_EVENTS / 2 && count->used_bytes < WO_LIMIT_STORE_BYTES / 2;
}

static bool is_before(const struct wo_bookmark_count *start, const struct wo_bookmark_count *here) {
  bool is_less = start->events <= here->events && start->used_bytes <= here->used_bytes && start->dropped <= here->dropped;
  for (size_t kind = 0; kind < WO_KIND_COUNT_; kind++) is_less = is_less && start->per_kind[kind] <= here->per_kind[kind];
  return is_less;
}

/* What the job has at the place of the bookmark, if it has `start` at the start of the file. False if the evidence of the files
 * before could have made a difference. */
static bool find_here(const struct wo_bookmark *from, const struct wo_bookmark_count *start, struct wo_bookmark_count *ret) {
  if (!is_before(&from->start, &from->here)) return false;
  *ret = *start;
  ret->events += from->here.events - from->start.events;
  ret->used_bytes += from->here.used_bytes - from->start.used_bytes;
  ret->dropped += from->here.dropped - from->start.dropped;
  for (size_t kind = 0; kind < WO_KIND_COUNT_; kind++)
    ret->per_kind[kind] += from->here.per_kind[kind] - from->start.per_kind[kind];
  return is_same_count(&from->start, start) || (is_far_from_limits(&from->here) && is_far_from_limits(ret));
}

/* Whether the evidence that is kept has that of the file up to the bookmark, and of no other file. */
static bool has_events(const struct wo_event_store *events, const struct wo_bookmark *from) {
  const size_t first = from->start.events, end = from->here.events;
  if (end > events->count || end > WO_LIMIT_EVENTS) return false;
  for (size_t i = first; i < end; i++) {
    const struct wo_event *const event = &events->items[i];
    const bool is_own = event->of == WO_EVENT_NONE || ((size_t)event->of >= first && (size_t)event->of < end);
    if (event->span.file != events->items[first].span.file || !is_own) return false;
  }
  return first == 0 || first == end || events->items[first - 1].span.file != events->items[first].span.file;
}

/* Adds the events to the job, for which there is room. */
static void take_events(struct wo_job *job, const struct wo_event_store *kept, const struct wo_bookmark *from,
                        const struct wo_bookmark_count *here) {
  struct wo_event_store *const events = &job->events;
  const wo_event_id shift = (wo_event_id)events->count - (wo_event_id)from->start.events;
  for (size_t i = from->start.events; i < from->here.events; i++) {
    struct wo_event *const event = &events->items[events->count];
    *event = kept->items[i];
    event->id = (wo_event_id)events->count++;
    event->span.file = (uint32_t)(job->input_count - 1);
    if (event->of != WO_EVENT_NONE) event->of += shift;
  }
  events->arena.used_bytes = here->used_bytes;
  events->dropped = here->dropped;
  memcpy(events->per_kind, here->per_kind, sizeof events->per_kind);
}

/* The bookmark that was gone on from is there for the next time too, until another one is put. */
static void keep_from(struct wo_bookmarker *marker, struct wo_job *job, const struct wo_bookmark_count *here) {
  const struct wo_bookmark *const from = marker->from;
  marker->to =
      (struct wo_bookmark){.place = from->place, .before_hash = from->before_hash, .start = marker->start, .here = *here};
  marker->to.events_hash = hash_events(&job->events, marker->start.events, here->events);
  wo_text_add_view(&marker->to.state, (struct wo_view){from->state.ptr, from->state.len});
  if (marker->to.state.is_failed) wo_bookmark_done(&marker->to);
  marker->next = next_after(marker, from->place.next);
}

/* Brings the scanner to the place, if the bytes before it are what they were. */
static bool move_scan(const struct wo_bookmarker *marker, struct wo_scan *scan) {
  const struct wo_bookmark *const from = marker->from;
  if (from->place.before > WO_SCAN_BEFORE_MAX) return false;
  char *const buf = malloc(WO_SCAN_BEFORE_MAX);
  const struct wo_view before = {buf, (size_t)from->place.before};
  const bool is_same =
      buf && read_before(marker->path, &from->place, buf) && wo_view_hash(WO_HASH_START, before) == from->before_hash;
  const bool is_there = is_same && wo_scan_go_on(scan, (struct wo_view){from->state.ptr, from->state.len}, &from->place, before);
  free(buf);
  return is_there;
}

/* The input is moved when nothing can fail any more. */
static bool go_on(struct wo_bookmarker *marker, struct wo_job *job, struct wo_scan *scan, struct wo_input *input) {
  const struct wo_bookmark *const from = marker->from;
  struct wo_bookmark_count here;
  if (!find_here(from, &marker->start, &here) || !has_events(&marker->before->events, from)) return false;
  if (here.events > WO_LIMIT_EVENTS || here.used_bytes > WO_LIMIT_STORE_BYTES || !move_scan(marker, scan)) return false;
  const size_t more = here.events - marker->start.events;
  if (more > 0 && !WO_VEC_RESERVE(&job->events, more, WO_LIMIT_EVENTS)) return false;
  if (!wo_input_go_to(input, from->place.next)) return false;
  take_events(job, &marker->before->events, from, &here);
  keep_from(marker, job, &here);
  return true;
}

static bool begin(struct wo_job_reader *reader, struct wo_job *job, struct wo_scan *scan, struct wo_input *input) {
  struct wo_bookmarker *const marker = marker_of(reader);
  count_evidence(&job->events, &marker->start);
  marker->is_continued =
      marker->from && !wo_input_is_compressed(input) && !wo_input_file_name(input) && go_on(marker, job, scan, input);
  return marker->is_continued;
}

/* ---- The whole ---- */

void wo_bookmark_begin(struct wo_bookmarker *marker, const char *path, uint64_t size_bytes, const struct wo_bookmark *from,
                       const struct wo_job *before) {
  const uint64_t tail = size_bytes > WO_LIMIT_BOOKMARK_TAIL_BYTES ? size_bytes - WO_LIMIT_BOOKMARK_TAIL_BYTES : 0;
  *marker = (struct wo_bookmarker){.reader = {.begin = begin, .after_part = leave},
                                   .path = path,
                                   .from = before ? from : NULL,
                                   .before = before,
                                   .tail = tail,
                                   .next = WO_LIMIT_BOOKMARK_STEP_BYTES < tail ? WO_LIMIT_BOOKMARK_STEP_BYTES : tail};
}

/* Evidence before the place that was changed behind it is not what was there at the place. */
void wo_bookmark_end(struct wo_bookmarker *marker, const struct wo_job *job, struct wo_bookmark *ret) {
  struct wo_bookmark *const to = &marker->to;
  const struct wo_job_input *const row = job->input_count > 0 ? &job->inputs[job->input_count - 1] : NULL;
  const bool is_whole = row && !row->is_unreadable && !row->is_recording && !job->events.is_out_of_memory;
  const bool is_good =
      to->state.len > 0 && is_whole && hash_events(&job->events, to->start.events, to->here.events) == to->events_hash;
  if (!is_good) wo_bookmark_done(to);
  *ret = *to;
  *to = (struct wo_bookmark){0};
}

void wo_bookmark_done(struct wo_bookmark *bookmark) {
  wo_text_done(&bookmark->state);
  *bookmark = (struct wo_bookmark){0};
}
