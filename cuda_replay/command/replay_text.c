/* SPDX-License-Identifier: Apache-2.0 */
/* The replay for people: verdict first, then the peak, then where the memory is. See replay_report.h.
 *
 * The reader may be tired: the first line names the input, the second has the verdict, and the rest follows in the order of
 * likely questions. */
#include "cuda_replay/command/replay_text_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "cuda_replay/plot/plot.h"
#include "cuda_replay/command/replay_plot.h"
#include "parsers/base/clean.h"

/* The most bytes of a note that are shown; the most notes without --verbose. */
enum { NOTE_BYTES = 400, NOTES_SHOWN = 3 };

/* ---- First lines ---- */

/* The versions that the file's layout allows, and the one whose rules were followed. */
static void write_torch(struct wo_replay_writer *w) {
  const struct wo_replay_report *const report = w->report;
  const unsigned from = report->recording->torch_from, to = report->recording->torch_to, used = report->torch;
  if (!report->is_torch_assumed || from == 0) {
    wo_text_add(&w->line, "  torch %u.%u%s", used / 100, used % 100, report->is_torch_assumed ? " (assumed)" : "");
  } else if (to == 0) {
    wo_text_add(&w->line, "  torch %u.%u or later (rules of %u.%u)", from / 100, from % 100, used / 100, used % 100);
  } else {
    wo_text_add(&w->line, "  torch %u.%u to %u.%u (rules of %u.%u)", from / 100, from % 100, to / 100, to % 100, used / 100,
                used % 100);
  }
}

/* The input: enough to distinguish two reports. */
static void write_title(struct wo_replay_writer *w) {
  const struct wo_replay_report *const report = w->report;
  wo_text_add_view(&w->line, report->path);
  if (report->trace) wo_text_add(&w->line, "  device %d", report->trace->device);
  write_torch(w);
  if (report->trace) {
    wo_text_add(&w->line, "  ");
    wo__replay_count(&w->line, report->trace->entries.count, "entry", "entries");
  }
  wo_text_add(&w->line, "  settings ");
  wo_replay_settings(report, &report->recorded_settings, &w->line);
  wo__replay_put(w, 0, 2);
  wo_text_add(w->out, "\n");
}

/* The memory that a setting's result needs, as a size or as a range. */
static void add_reserved(struct wo_text *line, const struct wo_replay_case *result) {
  const char *const lo = WO_BYTES_TEXT(result->reserved_lo_bytes);
  const char *const hi = WO_BYTES_TEXT(result->reserved_hi_bytes);
  if (result->reserved_lo_bytes == result->reserved_hi_bytes) {
    wo_text_add(line, "%s", hi);
  } else {
    wo_text_add(line, "%s to %s", lo, hi);
  }
}

/* The peak of a result; that of a changed program with its interval, or as an interval alone where no figure stands for it. */
static void add_peak(struct wo_replay_writer *w, const struct wo_replay_case *subject) {
  if (!w->report->has_bounds) {
    add_reserved(&w->line, subject);
    return;
  }
  const struct wo_replay_interval interval = wo_replay_interval(w->report);
  const char *const lo = WO_BYTES_TEXT(interval.lo_bytes), *const hi = WO_BYTES_TEXT(interval.hi_bytes);
  if (interval.is_figure) {
    add_reserved(&w->line, subject);
    wo_text_add(&w->line, " (%s to %s)", lo, hi);
  } else {
    wo_text_add(&w->line, "%s to %s (%s)", lo, hi, wo_replay_width_text(interval.widest));
  }
}

/* The used part of the capacity, and the rest. */
static void say_fits(struct wo_replay_writer *w, const struct wo_replay_case *subject) {
  add_peak(w, subject);
  wo_text_add(&w->line, " of %s, %s to spare", WO_BYTES_TEXT(w->report->capacity.bytes),
              WO_BYTES_TEXT(wo_replay_margin(w->report, wo_replay_most(w->report))));
}

/* The same figures, with the reason why they are no proof. */
static void say_close(struct wo_replay_writer *w, const struct wo_replay_case *subject) {
  wo_text_add(&w->line, "it fits, ");
  say_fits(w, subject);
  wo_text_add(&w->line, ": less than the %s that is uncertain", WO_BYTES_TEXT(wo_replay_uncertainty(w->report)));
}

/* The requested bytes, as the program knows them; torch's message has those of the segment. */
static void say_oom(struct wo_replay_writer *w, const struct wo_replay_case *subject) {
  const struct wo_replay_outcome *const outcome = &subject->outcome;
  wo_text_add(&w->line, "a request of %s fails", WO_BYTES_TEXT(outcome->oom.requested_bytes));
  if (subject->outcome.oom_entry != WO_NO_ENTRY) wo_text_add(&w->line, " at entry %" PRIu32, subject->outcome.oom_entry);
  if (w->report->capacity.bytes > 0)
    wo_text_add(&w->line, "; the allocator may take %s", WO_BYTES_TEXT(w->report->capacity.bytes));
}

/* A need without a capacity is half an answer, so the text says how to get the other half. */
static void say_needs(struct wo_replay_writer *w, const struct wo_replay_case *subject) {
  wo_text_add(&w->line, "without a limit it would reserve ");
  add_peak(w, subject);
  wo_text_add(&w->line, ", and the recording does not name the card's memory: give --capacity");
}

/* The place, in one line; the expected values are below, with the counts. */
static void say_diverged(struct wo_replay_writer *w, const struct wo_replay_case *subject) {
  const struct wo_replay_check *const check = &w->report->check;
  (void)subject;
  if (check->diverged_at >= w->report->trace->entries.count) {
    wo_text_add(&w->line, "every entry agrees, but not the segments at the end");
  } else {
    wo_text_add(&w->line, "the model differs from the recording at entry %zu", check->diverged_at);
  }
}

static void say_reproduced(struct wo_replay_writer *w, const struct wo_replay_case *subject) {
  (void)subject;
  wo_text_add(&w->line, "the model gives every address and every segment of the recording");
}

static void say_why(struct wo_replay_writer *w, const struct wo_replay_case *subject) {
  (void)subject;
  wo_text_add_view(&w->line, w->report->why);
}

/* The word before the colon, its colour, and the words behind it. */
static const struct {
  const char *word;
  enum wo_tint color;
  void (*say)(struct wo_replay_writer *w, const struct wo_replay_case *subject);
} heads[WO_REPLAY_VERDICT_COUNT_] = {
    [WO_REPLAY_REPRODUCED] = {"as recorded", WO_TINT_GOOD, say_reproduced},
    [WO_REPLAY_FITS] = {"fits", WO_TINT_GOOD, say_fits},
    [WO_REPLAY_NOT_FIT] = {"does not fit", WO_TINT_ERROR, say_oom},
    [WO_REPLAY_DIVERGED] = {"not as recorded", WO_TINT_ERROR, say_diverged},
    [WO_REPLAY_NO_CAPACITY] = {"not proven", WO_TINT_WARNING, say_needs},
    [WO_REPLAY_CLOSE] = {"not proven", WO_TINT_WARNING, say_close},
    [WO_REPLAY_APPROXIMATE] = {"not proven", WO_TINT_WARNING, say_why},
    [WO_REPLAY_REFUSED] = {"cannot be replayed", WO_TINT_ERROR, say_why},
    [WO_REPLAY_GPU_DIFFERS] = {"not proven", WO_TINT_WARNING, say_why},
    [WO_REPLAY_STATE_ONLY] = {"state only", WO_TINT_WARNING, say_why},
};

static void add_verdict(struct wo_replay_writer *w) {
  const struct wo_replay_report *const report = w->report;
  const struct wo_replay_case *const subject = wo_replay_subject(report);
  wo_text_add(&w->line, "%s: ", heads[report->verdict].word);
  if (report->has_sweep && subject && report->verdict != WO_REPLAY_REPRODUCED && report->verdict != WO_REPLAY_APPROXIMATE) {
    wo_text_add(&w->line, "at best, with ");
    wo_text_add_view(&w->line, report->sweep.rows[0].text);
    wo_text_add(&w->line, ", ");
  }
  heads[report->verdict].say(w, subject);
}

void wo_replay_verdict_line(const struct wo_replay_report *report, struct wo_text *out) {
  struct wo_replay_writer w = {.report = report, .out = out};
  add_verdict(&w);
  wo_text_add_view(out, (struct wo_view){w.line.ptr, w.line.len});
  out->is_failed = out->is_failed || w.line.is_failed;
  wo_text_done(&w.line);
}

/* The most important line of the report. */
static void write_verdict(struct wo_replay_writer *w) {
  add_verdict(w);
  wo__replay_color(w, heads[w->report->verdict].color);
  wo__replay_put(w, 0, 2);
  wo__replay_color(w, WO_TINT_PLAIN);
}

/* ---- The comparison with the recording ---- */

/* "only" makes a difference visible among large numbers. */
static void add_equal(struct wo_text *line, const char *what, uint64_t equal, uint64_t all) {
  if (equal == all) {
    wo_text_add(line, "%s %" PRIu64 " of %" PRIu64, what, equal, all);
  } else {
    wo_text_add(line, "%s only %" PRIu64 " of %" PRIu64, what, equal, all);
  }
}

/* Both sides in the words of the recording, then possible reasons. */
static void write_difference(struct wo_replay_writer *w) {
  const struct wo_replay_check *const check = &w->report->check;
  const struct {
    const char *head;
    const char *text;
  } rows[] = {{"recorded", check->expected}, {"model", check->got}, {"why", check->why}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (rows[i].text[0] == '\0') continue;
    wo_text_add(&w->line, "%s: ", rows[i].head);
    wo__replay_clean(&w->line, wo_view_of(rows[i].text));
    wo__replay_put(w, 4, 6);
  }
}

/* The versions that were tried, if the file leaves it open and the rules differ. */
static void write_versions(struct wo_replay_writer *w) {
  const struct wo_replay_check *const check = &w->report->check;
  if (check->version_count < 2) return;
  wo_text_add(&w->line, "rules of torch");
  for (size_t i = 0; i < check->version_count; i++) {
    const unsigned torch = check->versions_tried[i];
    wo_text_add(&w->line, "%s %u.%u %s", i > 0 ? "," : "", torch / 100, torch % 100,
                check->versions_agree[i] ? "agree" : "do not");
  }
  wo__replay_put(w, 4, 6);
}

/* "yes" alone only if every block was compared with one that the model placed. */
static void add_layout(struct wo_replay_writer *w) {
  const struct wo_replay_check *const check = &w->report->check;
  if (!w->report->trace->has_segments) return;
  wo_text_add(&w->line, ", final layout %s", check->final_layout_equal ? "yes" : "no");
  if (!check->final_layout_equal) return;
  if (check->blocks_changed > 0) {
    wo_text_add(&w->line, ", if ");
    wo__replay_count(&w->line, check->blocks_changed, "block was", "blocks were");
    wo_text_add(&w->line, " allocated or freed while the snapshot was taken");
  }
  if (check->blocks_untouched > 0) {
    wo_text_add(&w->line, "; left out: ");
    wo__replay_count(&w->line, check->blocks_untouched, "block", "blocks");
    wo_text_add(&w->line, " of %zu that no entry touches", check->blocks);
  }
  if (check->blocks_unexplained > 0) {
    wo_text_add(&w->line, " (%zu of them not of the size of their request: settings or the file were changed)",
                check->blocks_unexplained);
  }
}

/* Counts show the strength of "as recorded": five addresses prove less than five thousand. */
static void write_check(struct wo_replay_writer *w) {
  const struct wo_replay_check *const check = &w->report->check;
  if (w->report->recording->has_only_ids && w->report->verdict != WO_REPLAY_REFUSED)
    wo_text_add(w->out, "  the file has requests and no results: nothing to compare\n");
  if (!w->report->has_check || check->verdict == WO_CHECK_REFUSED) return;
  wo_text_add(&w->line, "against the recording: ");
  wo__replay_count(&w->line, check->entries_compared, "entry", "entries");
  wo_text_add(&w->line, ", equal: ");
  add_equal(&w->line, "addresses", check->addresses_equal, check->allocations);
  add_equal(&w->line, ", segment events", check->segment_events_equal, check->segment_events);
  if (check->refusals > 0) add_equal(&w->line, ", refused requests", check->refusals_equal, check->refusals);
  if (w->report->recorded_pattern.probe_count > 0)
    wo_text_add(&w->line, " (the program went on without %zu of them)", w->report->recorded_pattern.probe_count);
  add_layout(w);
  if (check->garbage_limit_bytes > 0) {
    wo_text_add(&w->line, "; garbage was collected beyond about %s reserved, as its releases show",
                WO_BYTES_TEXT(check->garbage_limit_bytes));
  }
  if (check->hidden_pools > 0) {
    wo_text_add(&w->line, "; taken to be of private pools that the recording does not name (graphs, MemPools): ");
    wo__replay_count(&w->line, check->hidden_pools, "segment or request", "segments and requests");
  }
  if (check->entries_skipped > 0) {
    wo_text_add(&w->line, "; left out: the first ");
    wo__replay_count(&w->line, check->entries_skipped, "entry", "entries");
    wo_text_add(&w->line, ", of a call that began before the recording");
  }
  wo__replay_put(w, 2, 4);
  if (check->verdict == WO_CHECK_DIVERGED) write_difference(w);
  write_versions(w);
}

/* Shown if the start is in question, or if the recording itself is the question. */
static void write_start(struct wo_replay_writer *w) {
  static const char *const texts[] = {
      [WO_START_EMPTY] = "the recording begins with an empty allocator",
      [WO_START_REBUILT] = "the state before the first entry was rebuilt from the segments at the end",
      [WO_START_APPROXIMATE] = "the state before the first entry is not in the recording: it was guessed"};
  const bool is_plain = w->report->start_from != WO_START_APPROXIMATE && w->report->open_blocks == 0;
  if (is_plain && !w->report->is_check && !w->style.is_verbose) return;
  wo_text_add(&w->line, "start: %s", texts[w->report->start_from]);
  if (w->report->open_blocks > 0) {
    wo_text_add(&w->line, "; of ");
    wo__replay_count(&w->line, w->report->open_blocks, "block", "blocks");
    wo_text_add(&w->line, " the recording does not tell the last 1 MiB");
  }
  wo__replay_put(w, 2, 4);
}

/* ---- The peak ---- */

/* The moment of the bar and the holders, if it is not the peak itself. A request that failed in the recorded run and is served
 * here is given back at once, since the program continued without it: it counts in the peak and is in no map. */
static void write_moment(struct wo_replay_writer *w, const struct wo_replay_case *subject) {
  const struct wo_memory_place *const at = &w->report->memory.moment_at;
  const bool is_oom = w->report->memory.moment == WO_MOMENT_OOM;
  const uint64_t in_map = w->report->attribution.total.block_bytes;
  const uint64_t peak = subject->outcome.peak.allocated_bytes;
  if (!is_oom && in_map >= peak) return;
  wo_text_add(&w->line, "%s", is_oom ? "when the request failed" : "after it");
  if (at->entry != WO_NO_ENTRY) wo_text_add(&w->line, ", at entry %" PRIu32, at->entry);
  if (!is_oom && w->report->capacity.oom_entry != UINT32_MAX)
    wo_text_add(&w->line, ", without %s that the recorded program was refused and that are given back at once",
                WO_BYTES_TEXT(peak - in_map));
  wo_text_add(&w->line, ":");
  wo__replay_put(w, 2, 4);
}

/* Three sizes: requested bytes, bytes of blocks, bytes of segments. */
static void write_peak(struct wo_replay_writer *w, const struct wo_replay_case *subject) {
  const struct wo_replay_report *const report = w->report;
  const struct wo_replay_peak *const peak = &subject->outcome.peak;
  wo_text_add(w->out, "\n");
  wo_text_add(&w->line, "peak%s: allocated %s (requested %s)",
              report->has_sweep    ? " as recorded"
              : report->has_whatif ? " of the what-if"
                                   : "",
              WO_BYTES_TEXT(peak->allocated_bytes), WO_BYTES_TEXT(peak->requested_bytes));
  if (subject->outcome.peak.allocated_entry == WO_NO_ENTRY) {
    wo_text_add(&w->line, " before the first entry");
  } else {
    wo_text_add(&w->line, " at entry %" PRIu32, subject->outcome.peak.allocated_entry);
  }
  wo_text_add(&w->line, "; reserved %s at most", WO_BYTES_TEXT(peak->reserved_bytes));
  wo__replay_put(w, 2, 4);
  if (!report->has_memory) return;
  write_moment(w, subject);
  wo__replay_bar(w, report->attribution.total.block_bytes, report->attribution.use.reserved_bytes);
}

/* Whether the pieces would be enough if they were one, which torch's message leaves open. If a memory fraction refused, the free
 * memory of the device is not available. */
static void write_oom(struct wo_replay_writer *w, const struct wo_replay_case *subject) {
  const struct wo_allocator_oom *const oom = &subject->outcome.oom;
  if (!subject->outcome.has_oom) return;
  wo_text_add(w->out, "\n");
  wo_text_add(&w->line, "the request: %s", WO_BYTES_TEXT(oom->requested_bytes));
  if (oom->segment_bytes > oom->rounded_bytes)
    wo_text_add(&w->line, ", for which a segment of %s was wanted", WO_BYTES_TEXT(oom->segment_bytes));
  if (oom->by_fraction) wo_text_add(&w->line, " (refused by the memory fraction)");
  wo__replay_put(w, 2, 4);
  const uint64_t room = wo_replay_room(oom);
  const bool has_space = room >= oom->rounded_bytes;
  if (!oom->by_fraction) wo_text_add(&w->line, "free on the device %s + ", WO_BYTES_TEXT(oom->device_free_bytes));
  wo_text_add(&w->line, "idle in segments %s", WO_BYTES_TEXT(oom->cached_free_bytes));
  if (!oom->by_fraction) wo_text_add(&w->line, " = %s", WO_BYTES_TEXT(room));
  wo_text_add(&w->line, " %s %s wanted: %s", has_space ? ">=" : "<", WO_BYTES_TEXT(oom->rounded_bytes),
              has_space ? "space enough, in pieces (fragmentation)" : "not enough, even in one piece");
  wo__replay_put(w, 2, 4);
  if (oom->largest_free_block_bytes == 0) return;
  wo_text_add(&w->line, "the largest free block that could have served it: %s", WO_BYTES_TEXT(oom->largest_free_block_bytes));
  wo__replay_put(w, 2, 4);
}

/* ---- The whole ---- */

/* Below the numbers, since it fills half a screen. */
static void write_chart(struct wo_replay_writer *w) {
  struct wo_text subtitle = {0};
  if (!w->report->has_chart || !w->report->has_memory) return;
  const struct wo_plot plot = wo_replay_plot(w->report, &subtitle);
  wo_text_add(w->out, "\n");
  wo_plot_term(&plot, w->style, w->out);
  if (subtitle.is_failed) w->out->is_failed = true;
  wo_text_done(&subtitle);
}

/* Notes report skipped or cut parts of the file: they come last, and matter if a number looks strange. */
static void write_notes(struct wo_replay_writer *w) {
  const struct wo_recording *const recording = w->report->recording;
  const size_t shown = w->style.is_verbose || recording->notes.count <= NOTES_SHOWN ? recording->notes.count : NOTES_SHOWN;
  if (recording->notes.count > 0) wo_text_add(w->out, "\n");
  for (size_t i = 0; i < shown; i++) {
    char note[NOTE_BYTES];
    wo_text_add(&w->line, "note: ");
    wo_text_add_view(&w->line, wo_clean_utf8(recording->notes.items[i], note, sizeof note));
    wo__replay_put(w, 2, 4);
  }
  if (shown == recording->notes.count) return;
  wo_text_add(&w->line, "and %zu more notes; --verbose shows them", recording->notes.count - shown);
  wo__replay_put(w, 2, 4);
}

/* The next question, if the answer so far is only a failure, or none. */
static void write_next(struct wo_replay_writer *w) {
  const struct wo_replay_report *const report = w->report;
  const bool is_failure = report->verdict == WO_REPLAY_NOT_FIT && !report->has_whatif && !report->has_sweep;
  if (!is_failure && report->verdict != WO_REPLAY_STATE_ONLY && report->verdict != WO_REPLAY_REFUSED) return;
  wo_text_add(w->out, "\n");
  if (is_failure) {
    wo_text_add(&w->line, "next: whyoom replay --sweep shows which allocator settings would have helped");
  } else {
    wo_text_add(&w->line, "next: whyoom record -- COMMAND leaves a recording that can be replayed; in the program itself, "
                          "torch.cuda.memory._record_memory_history(max_entries=100000) before the model is made");
  }
  wo__replay_put(w, 2, 4);
}

/* Only useful to users who ask for everything. */
static void write_times(struct wo_replay_writer *w) {
  if (!w->report->has_times || !w->style.is_verbose || w->report->seconds <= 0) return;
  wo_text_add(w->out, "\n  replayed in %.3f s, %.1f million operations a second\n", w->report->seconds,
              w->report->events_per_second / 1e6);
}

/* In the order of questions: does it fit, why not, what if, who holds the memory. */
void wo_replay_text(const struct wo_replay_report *report, struct wo_text_style style, struct wo_text *out) {
  assert(report != NULL && report->recording != NULL && style.width >= 40);
  struct wo_replay_writer w = {.report = report, .out = out, .style = style};
  const struct wo_replay_case *const subject = wo_replay_shown(report);
  write_title(&w);
  write_verdict(&w);
  write_check(&w);
  if (report->verdict != WO_REPLAY_REFUSED && !report->has_holdings) write_start(&w);
  wo__replay_text_gpu(&w);
  wo__replay_text_sweep(&w);
  wo__replay_text_state(&w);
  if (subject && !report->is_check && !report->has_state) {
    write_oom(&w, subject);
    write_peak(&w, subject);
    write_chart(&w);
    wo__replay_text_whatif(&w);
    wo__replay_text_holders(&w);
  }
  if (report->has_holdings) {
    wo__replay_text_holdings(&w);
    write_chart(&w);
    wo__replay_text_holders(&w);
  }
  wo__replay_text_categories(&w);
  write_next(&w);
  write_notes(&w);
  write_times(&w);
  wo_text_done(&w.line);
}
