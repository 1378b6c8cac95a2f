/* SPDX-License-Identifier: Apache-2.0 */
/* torchelastic's "Root Cause (first observed failure)" block: which process failed first, where, when, and with which exit code.
 *
 *   Root Cause (first observed failure):
 *   [0]:
 *     time      : 2024-08-25_17:31:27
 *     host      : node07
 *     rank      : 2 (local_rank: 2)
 *     exitcode  : -9 (pid: 9124)
 *     error_file: <N/A>
 *     traceback : Signal 9 (SIGKILL) received by PID 9124
 *
 * Form: torch/distributed/elastic/multiprocessing/errors, 1.9 to 2.9. */
#include "parsers/base/units.h"
#include "parsers/scan/format.h"

#define BLOCK_LINES 14

/* A number that follows `words` anywhere in text. */
static void set_number_after(struct wo_event_store *store, struct wo_event *event, enum wo_field_id field, struct wo_view text,
                             const char *words) {
  const struct wo_view needle = wo_view_of(words);
  const size_t at = wo_view_find(text, needle, 0);
  if (at == WO_NOT_FOUND) return;
  struct wo_view in = wo_view_trim_start(wo_view_skip(text, at + needle.len));
  int64_t value = 0;
  if (wo_number_i64(&in, INT32_MAX, &value) == WO_OK) wo_event_set_exact(store, event, field, (double)value);
}

static void read_row(struct wo_event_store *store, struct wo_event *event, struct wo_view text) {
  struct wo_view value = text;
  const struct wo_view key = wo_view_trim(wo_view_cut(&value, ':'));
  value = wo_view_trim(value);
  if (wo_view_is(key, "host")) {
    wo_event_set_text(store, event, WO_FIELD_HOST, value);
  } else if (wo_view_is(key, "rank")) {
    set_number_after(store, event, WO_FIELD_RANK, text, ":");
    set_number_after(store, event, WO_FIELD_LOCAL_RANK, text, "local_rank:");
  } else if (wo_view_is(key, "exitcode")) {
    set_number_after(store, event, WO_FIELD_EXIT_CODE, text, ":");
    set_number_after(store, event, WO_FIELD_PID, text, "pid:");
  } else if (wo_view_is(key, "time")) {
    int64_t time_ns = 0;
    wo_event_set_text(store, event, WO_FIELD_TIME, value);
    if (wo_units_time(&value, &time_ns) != WO_OK) return;
    event->time_ns = time_ns;
    event->stamp = (struct wo_stamp){.clock = WO_CLOCK_LOCAL, .time_ns = time_ns};
  } else if (wo_view_is(key, "traceback") && wo_view_has(value, "Signal ")) {
    wo_event_set_text(store, event, WO_FIELD_SIGNAL, value);
  }
}

/* SIGKILL, as torchelastic counts signals. */
#define EXIT_SIGKILL (-9)

/* With no other word, an exit by SIGKILL is how the host's memory shows itself through torchelastic: weak evidence, but evidence.
 */
static void add_kill(const struct wo_open *open, wo_event_id block) {
  const struct wo_span title = wo_event_get(open->store, block)->span;
  struct wo_line line = open->first;
  line.full = line.text = WO_VIEW("Root Cause (first observed failure): exitcode -9, Signal 9 (SIGKILL)");
  struct wo_event *kill =
      wo_scan_add_event(open->scan, &line, open->pattern, WO_KIND_HOST_OOM, title.byte - line.offset, title.length);
  const struct wo_event *event = wo_event_get(open->store, block);
  if (!kill || !event) return;
  kill->rank = event->rank;
  kill->host = event->host;
  kill->time_ns = event->time_ns;
  kill->stamp = event->stamp;
  kill->is_local_rank = event->is_local_rank;
  wo_event_set_exact(open->store, kill, WO_FIELD_EXIT_CODE, EXIT_SIGKILL);
}

/* The block names the rank and host of the failure, which count more than those of the line that printed it. */
static void finish_elastic(struct wo_open *open) {
  struct wo_event *event = wo_open_event(open);
  if (!event) return;
  const double rank = wo_event_number(event, WO_FIELD_RANK, -1);
  if (rank >= 0) {
    event->rank = (int32_t)rank;
    event->is_local_rank = false;
  }
  const struct wo_view host = wo_event_text(event, WO_FIELD_HOST);
  if (host.len > 0) event->host = host;
  if (wo_event_number(event, WO_FIELD_EXIT_CODE, 0) == EXIT_SIGKILL) add_kill(open, event->id);
}

static enum wo_more feed_elastic(struct wo_open *open) {
  struct wo_event *event = wo_open_event(open);
  if (!event || open->lines > BLOCK_LINES || wo_view_starts(wo_view_trim(open->line->text), "====")) return WO_MORE_NO;
  read_row(open->store, event, open->line->text);
  return WO_MORE_YES;
}

const struct wo_format wo__format_elastic = {
    .name = "elastic",
    .begin = wo_open_begin,
    .feed = feed_elastic,
    .finish = finish_elastic,
};
