/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the time stamps of all events on one scale, and corrects the clocks of hosts by an act that several of them stamped. */
#include "analyzer/story/timeline.h"

#include <stdio.h>

#include "parsers/base/units.h"

/* Limit of hosts whose clocks are compared. */
#define HOSTS_MAX 64

/* If two stamps differ by more, they belong to two acts. */
#define AHEAD_MAX_NS (INT64_C(3600) * WO_NS_PER_S)

/* Many loggers print whole seconds only. */
#define SECOND_NS WO_NS_PER_S

/* Bounds of the time of an event. */
struct moment {
  enum wo_clock clock;
  int64_t low_ns;  /* not earlier; INT64_MIN when open */
  int64_t high_ns; /* not later; INT64_MAX when open */
};

/* How far the clock of a host is ahead of the first host's clock. */
struct host_clock {
  struct wo_view host;
  int64_t ahead_ns;
};

struct wo_timeline {
  struct moment *moments; /* one for each event */
  struct host_clock hosts[HOSTS_MAX];
  size_t host_count;
};

struct wo_view wo_timeline_host(const struct wo_event *event) {
  const struct wo_view told = wo_event_text(event, WO_FIELD_HOST);
  return told.len > 0 ? told : event->host;
}

/* The time of an event: the time that it names counts more than when its line was printed. */
static struct wo_stamp stamp_of(const struct wo_event *event) {
  struct wo_view text = wo_event_text(event, WO_FIELD_TIME);
  struct wo_stamp stamp = {.clock = WO_CLOCK_LOCAL};
  if (text.len > 0 && wo_units_time(&text, &stamp.time_ns) == WO_OK) return stamp;
  return event->stamp;
}

/* The first stamp with a year, from which the others get theirs; clock NONE if there is none. */
static struct wo_stamp find_dated(const struct wo_job *job) {
  for (size_t i = 0; i < job->events.count; i++) {
    const struct wo_stamp stamp = stamp_of(&job->events.items[i]);
    if (stamp.clock == WO_CLOCK_LOCAL) return stamp;
  }
  return (struct wo_stamp){.clock = WO_CLOCK_NONE};
}

static int64_t distance(int64_t a, int64_t b) {
  return a < b ? b - a : a - b;
}

/* A stamp without a year gets the year that brings it nearest to the one that has a year. */
static struct wo_stamp with_year(struct wo_stamp stamp, struct wo_stamp dated) {
  if (stamp.clock != WO_CLOCK_YEARLESS || dated.clock == WO_CLOCK_NONE) return stamp;
  char text[64];
  char year[64];
  wo_units_time_text(stamp.time_ns, text, sizeof text);
  wo_units_time_text(dated.time_ns, year, sizeof year);
  struct wo_view digits = wo_view_sub(wo_view_of(year), 0, 4);
  uint64_t middle = 0;
  struct wo_stamp best = stamp;
  if (wo_number_u64(&digits, 9998, &middle) != WO_OK || middle == 0) return stamp;
  for (uint64_t at = middle - 1; at <= middle + 1; at++) {
    struct wo_stamp candidate = {.clock = WO_CLOCK_LOCAL, .is_inherited = stamp.is_inherited};
    snprintf(year, sizeof year, "%04u%.40s", (unsigned)at, text + 4);
    struct wo_view in = wo_view_of(year);
    if (wo_units_time(&in, &candidate.time_ns) != WO_OK) continue;
    candidate.time_ns += stamp.time_ns % SECOND_NS;
    const bool is_nearer = distance(candidate.time_ns, dated.time_ns) < distance(best.time_ns, dated.time_ns);
    if (best.clock == WO_CLOCK_YEARLESS || is_nearer) best = candidate;
  }
  return best;
}

/* A stamp without a fraction can be any time in its second. */
static int64_t end_of(int64_t time_ns) {
  return time_ns % SECOND_NS == 0 ? time_ns + SECOND_NS - 1 : time_ns;
}

/* No log was printed before 1970 or after 2200; between them sums of two times cannot overflow. */
#define TIME_MAX_NS (INT64_C(230) * 366 * 86400 * WO_NS_PER_S)

static struct moment moment_of(struct wo_stamp stamp) {
  const bool is_possible = stamp.time_ns >= 0 && stamp.time_ns < TIME_MAX_NS;
  if (stamp.clock == WO_CLOCK_NONE || !is_possible) return (struct moment){.low_ns = INT64_MIN, .high_ns = INT64_MAX};
  return (struct moment){
      .clock = stamp.clock, .low_ns = stamp.time_ns, .high_ns = stamp.is_inherited ? INT64_MAX : end_of(stamp.time_ns)};
}

/* Lines before a stamped line of the same file were printed before it. The store holds the events of a file one after the other,
 * nearly in the order of their lines; events that were looked up around another one are out of order and give no bound. Launchers
 * report events long past, so their blocks give no bound either. */
static void bound_from_behind(const struct wo_job *job, struct moment *moments) {
  struct moment bound = {.high_ns = INT64_MAX};
  const struct wo_event *by = NULL;
  for (size_t i = job->events.count; i-- > 0;) {
    const struct wo_event *event = &job->events.items[i];
    if (by && by->span.file != event->span.file) by = NULL;
    const bool is_own = moments[i].clock != WO_CLOCK_NONE && moments[i].high_ns != INT64_MAX;
    if (is_own && event->kind != WO_KIND_ELASTIC && event->of == WO_EVENT_NONE) {
      by = event;
      bound = moments[i];
    } else if (!is_own && by && by->span.line >= event->span.line) {
      if (moments[i].clock == WO_CLOCK_NONE) moments[i].clock = bound.clock;
      if (moments[i].clock == bound.clock && bound.high_ns >= moments[i].low_ns) moments[i].high_ns = bound.high_ns;
    }
  }
}

/* The workload manager ends a step on all of its nodes at once, and each of them stamps that. */
static bool is_common_act(const struct wo_event *event) {
  return wo_kind_class(event->kind) == WO_CLASS_ENDING && wo_event_field(event, WO_FIELD_TIME) && !event->is_quoted &&
         wo_timeline_host(event).len > 0;
}

static struct wo_view act_of(const struct wo_event *event) {
  const struct wo_view job = wo_event_text(event, WO_FIELD_JOB);
  return job.len > 0 ? job : wo_event_text(event, WO_FIELD_STEP_ID);
}

static const struct host_clock *find_clock(const struct wo_timeline *timeline, struct wo_view host) {
  for (size_t i = 0; i < timeline->host_count; i++) {
    if (wo_view_equal(timeline->hosts[i].host, host)) return &timeline->hosts[i];
  }
  return NULL;
}

/* The first such act sets the clocks; the first stamp of each host counts. */
static void set_clocks(const struct wo_job *job, struct wo_timeline *timeline) {
  const struct wo_event *first = NULL;
  wo_each_event (event, &job->events) {
    if (!is_common_act(event)) continue;
    if (!first) first = event;
    const struct wo_view host = wo_timeline_host(event);
    const bool is_same = wo_view_equal(act_of(event), act_of(first)) && event->kind == first->kind;
    if (!is_same || find_clock(timeline, host) || timeline->host_count == HOSTS_MAX) continue;
    const double ahead_ns = (double)stamp_of(event).time_ns - (double)stamp_of(first).time_ns;
    if (ahead_ns > (double)AHEAD_MAX_NS || ahead_ns < -(double)AHEAD_MAX_NS) continue;
    timeline->hosts[timeline->host_count++] = (struct host_clock){.host = host, .ahead_ns = (int64_t)ahead_ns};
  }
}

enum wo_status wo_timeline_make(struct wo_job *job, const struct wo_timeline **ret) {
  struct wo_timeline *timeline = wo_arena_alloc(&job->arena, sizeof *timeline);
  struct moment *moments = wo_arena_array(&job->arena, job->events.count + 1, sizeof *moments);
  if (!timeline || !moments) return WO_E_NOMEM;
  *timeline = (struct wo_timeline){.moments = moments};
  const struct wo_stamp dated = find_dated(job);
  for (size_t i = 0; i < job->events.count; i++) moments[i] = moment_of(with_year(stamp_of(&job->events.items[i]), dated));
  bound_from_behind(job, moments);
  set_clocks(job, timeline);
  *ret = timeline;
  return WO_OK;
}

/* How much two clocks may differ: 0 on one host. *ret_ahead_ns is how far a's clock is known to be ahead of b's. */
static int64_t skew_ns(const struct wo_timeline *timeline, const struct wo_event *a, const struct wo_event *b,
                       int64_t *ret_ahead_ns) {
  const struct wo_view a_host = wo_timeline_host(a);
  const struct wo_view b_host = wo_timeline_host(b);
  *ret_ahead_ns = 0;
  if (a_host.len > 0 && wo_view_equal(a_host, b_host)) return 0;
  const struct host_clock *a_clock = find_clock(timeline, a_host);
  const struct host_clock *b_clock = find_clock(timeline, b_host);
  if (!a_clock || !b_clock) return WO_TIMELINE_SKEW_NS;
  *ret_ahead_ns = a_clock->ahead_ns - b_clock->ahead_ns;
  return WO_TIMELINE_KNOWN_SKEW_NS;
}

bool wo_timeline_is_before(const struct wo_timeline *timeline, const struct wo_event *a, const struct wo_event *b) {
  const struct moment *x = &timeline->moments[a->id];
  const struct moment *y = &timeline->moments[b->id];
  if (x->clock == WO_CLOCK_NONE || x->clock != y->clock || x->high_ns == INT64_MAX || y->low_ns == INT64_MIN) return false;
  int64_t ahead_ns = 0;
  const int64_t skew = skew_ns(timeline, a, b, &ahead_ns);
  return x->high_ns - ahead_ns < y->low_ns - skew;
}

int64_t wo_timeline_gap_ns(const struct wo_timeline *timeline, const struct wo_event *a, const struct wo_event *b) {
  const struct moment *x = &timeline->moments[a->id];
  const struct moment *y = &timeline->moments[b->id];
  const bool is_open = x->high_ns == INT64_MAX || y->high_ns == INT64_MAX || x->low_ns == INT64_MIN || y->low_ns == INT64_MIN;
  if (x->clock == WO_CLOCK_NONE || x->clock != y->clock || is_open) return -1;
  int64_t ahead_ns = 0;
  skew_ns(timeline, a, b, &ahead_ns);
  return distance(x->low_ns - ahead_ns, y->low_ns);
}
