/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds the memory at the peak, and which small blocks keep whole segments from being freed. See replay_text_internal.h.
 *
 * The program's own frame comes first: this is the line that the user can change. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cuda_replay/plot/plot.h"
#include "cuda_replay/command/replay_text_internal.h"
#include "parsers/base/clean.h"

/* Rows without --verbose, so that all parts fit on the first screen. */
enum { STACKS_SHOWN = 6, PINS_SHOWN = 4, NAME_COLUMNS = 20, SIZE_COLUMNS = 12, SITE_COLUMN = SIZE_COLUMNS + 13 };

/* The most groups of stacks; stacks come by size, so the rest is small. */
enum { GROUPS_MAX = 64 };

/* --verbose shows every row. */
static size_t shown_of(const struct wo_replay_writer *w, size_t count, size_t most) {
  return w->style.is_verbose || count < most ? count : most;
}

/* "unknown" would look like the name of a class. */
static const char *class_text(enum wo_alloc_class class_) {
  return class_ == WO_CLASS_UNKNOWN ? "not classified" : wo_plot_class_label(class_, false);
}

/* The user's own line; if a stack has none, the innermost line outside libraries. */
static uint32_t first_frame(const struct wo_stack_sites *sites) {
  return sites->user != WO_NO_FRAME ? sites->user : sites->asker;
}

/* The program's frame that called its own innermost one, or WO_NO_FRAME. */
static uint32_t find_caller(const struct wo_recording *recording, uint32_t stack, uint32_t own) {
  if (stack == WO_NO_STACK || own == WO_NO_FRAME) return WO_NO_FRAME;
  const struct wo_stack range = recording->stacks.items[stack];
  bool is_behind = false;
  for (uint32_t i = 0; i < range.count; i++) {
    const uint32_t index = recording->stack_frames.items[range.first + i];
    if (is_behind && index != own && wo_frame_origin(&recording->frames.items[index]) == WO_FRAME_USER) return index;
    is_behind = is_behind || index == own;
  }
  return WO_NO_FRAME;
}

/* The library function that this line used, and the caller of the line: both in one line. */
static void write_context(struct wo_replay_writer *w, uint32_t stack, const struct wo_stack_sites *sites, size_t indent) {
  if (sites->user == WO_NO_FRAME || w->style.is_verbose) return;
  const uint32_t caller = find_caller(w->report->recording, stack, sites->user);
  if (sites->asker != WO_NO_FRAME && sites->asker != sites->user) {
    wo_text_add(&w->line, "in ");
    wo__replay_frame(w, sites->asker, &w->line);
  }
  if (caller != WO_NO_FRAME) {
    wo_text_add(&w->line, "%sfrom ", w->line.len > 0 ? ", " : "");
    wo__replay_frame(w, caller, &w->line);
  }
  wo__replay_put(w, indent, indent + 3);
}

/* Every frame of the stack, with --verbose. */
static void write_frames(struct wo_replay_writer *w, uint32_t stack, size_t indent) {
  const struct wo_recording *const recording = w->report->recording;
  if (!w->style.is_verbose || stack == WO_NO_STACK) return;
  assert(stack < recording->stacks.count);
  const struct wo_stack *const frames = &recording->stacks.items[stack];
  for (uint32_t i = 0; i < frames->count; i++) {
    wo__replay_frame(w, recording->stack_frames.items[frames->first + i], &w->line);
    wo__replay_put(w, indent, indent + 3);
  }
}

/* Selects the largest each time: there are ten classes. */
static void write_classes(struct wo_replay_writer *w) {
  const struct wo_attribution *const attribution = &w->report->attribution;
  const uint64_t all = attribution->total.block_bytes;
  bool is_written[WO_CLASS_COUNT_] = {false};
  wo_text_add(w->out, "\n  what holds %s\n", WO_BYTES_TEXT(all));
  for (;;) {
    int best = WO_CLASS_COUNT_;
    for (int i = 0; i < WO_CLASS_COUNT_; i++) {
      if (is_written[i] || attribution->classes[i].count == 0) continue;
      if (best == WO_CLASS_COUNT_ || attribution->classes[i].block_bytes > attribution->classes[best].block_bytes) best = i;
    }
    if (best == WO_CLASS_COUNT_) return;
    const struct wo_share *const share = &attribution->classes[best];
    is_written[best] = true;
    wo_text_add(w->out, "    %-*s%*s  %5.1f %%  ", NAME_COLUMNS, class_text((enum wo_alloc_class)best), SIZE_COLUMNS,
                WO_BYTES_TEXT(share->block_bytes), wo_share_pct(share->block_bytes, all));
    wo__replay_count(w->out, share->count, "block", "blocks");
    wo_text_add(w->out, "\n");
  }
}

/* Stacks whose rows would look the same: with the same own line, library line, caller and class. */
struct group {
  const struct wo_attribution_stack *first; /* the largest of them */
  uint32_t caller;
  uint64_t bytes;
  uint64_t block_count;
};

static bool is_same(const struct group *group, const struct wo_attribution_stack *stack, uint32_t caller) {
  return group->first->sites.user == stack->sites.user && group->first->sites.asker == stack->sites.asker &&
         group->first->class_ == stack->class_ && group->caller == caller;
}

/* With --verbose, which shows whole stacks, each stack is a group of its own. */
static size_t make_groups(const struct wo_replay_writer *w, struct group *groups) {
  const struct wo_attribution *const attribution = &w->report->attribution;
  size_t count = 0;
  for (size_t i = 0; i < attribution->stacks.count; i++) {
    const struct wo_attribution_stack *const stack = &attribution->stacks.items[i];
    const uint32_t caller = find_caller(w->report->recording, stack->stack, stack->sites.user);
    size_t at = w->style.is_verbose ? count : 0;
    while (at < count && !is_same(&groups[at], stack, caller)) at++;
    if (at == GROUPS_MAX) continue;
    if (at == count) groups[count++] = (struct group){.first = stack, .caller = caller};
    groups[at].bytes += stack->share.block_bytes;
    groups[at].block_count += stack->share.count;
  }
  return count;
}

static int compare_groups(const void *a_item, const void *b_item) {
  const struct group *const a = a_item;
  const struct group *const b = b_item;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  return a->first < b->first ? -1 : a->first > b->first;
}

static void write_group(struct wo_replay_writer *w, const struct group *group) {
  const struct wo_attribution_stack *const first = group->first;
  const uint64_t all = w->report->attribution.total.block_bytes;
  wo_text_add(&w->line, "%*s  %5.1f %%  ", SIZE_COLUMNS, WO_BYTES_TEXT(group->bytes), wo_share_pct(group->bytes, all));
  wo__replay_frame(w, first_frame(&first->sites), &w->line);
  wo_text_add(&w->line, "  (");
  wo__replay_count(&w->line, group->block_count, "block", "blocks");
  wo_text_add(&w->line, ", %s)", class_text(first->class_));
  wo__replay_put(w, 2, SITE_COLUMN);
  write_context(w, first->stack, &first->sites, SITE_COLUMN);
  write_frames(w, first->stack, SITE_COLUMN);
}

/* Omitted rows are reported as a sum, so that the rows add up. */
static void write_stacks(struct wo_replay_writer *w) {
  const uint64_t all = w->report->attribution.total.block_bytes;
  struct group groups[GROUPS_MAX];
  const size_t count = make_groups(w, groups);
  const size_t shown = shown_of(w, count, STACKS_SHOWN);
  uint64_t rest = all;
  if (count > 0) qsort(groups, count, sizeof groups[0], compare_groups);
  wo_text_add(w->out, "\n  who asked for it\n");
  for (size_t i = 0; i < shown; i++) {
    rest -= groups[i].bytes;
    write_group(w, &groups[i]);
  }
  if (rest == 0) return;
  wo_text_add(w->out, "  %*s  %5.1f %%  others\n", SIZE_COLUMNS, WO_BYTES_TEXT(rest), wo_share_pct(rest, all));
}

/* "since entry 17". */
static void add_birth(struct wo_replay_writer *w, uint32_t request) {
  const uint32_t entry = wo_replay_entry_of(w->report, request);
  if (entry == WO_NO_ENTRY) {
    wo_text_add(&w->line, "older than the recording");
  } else {
    wo_text_add(&w->line, "since entry %" PRIu32, entry);
  }
}

/* The bytes that would be freed, the block that keeps them, and its owner. */
static void write_pin(struct wo_replay_writer *w, const struct wo_pin *pin) {
  wo_text_add(&w->line, "%s idle of %s, held by %s in ", WO_BYTES_TEXT(pin->free_bytes), WO_BYTES_TEXT(pin->size_bytes),
              WO_BYTES_TEXT(pin->held_bytes));
  wo__replay_count(&w->line, pin->holder_count, "block", "blocks");
  if (pin->holder.instance != WO_NO_INSTANCE) {
    wo_text_add(&w->line, ": ");
    wo__replay_frame(w, first_frame(&pin->holder.sites), &w->line);
    wo_text_add(&w->line, "  (%s", class_text(pin->holder.class_));
    if (!w->report->has_holdings) {
      wo_text_add(&w->line, ", ");
      add_birth(w, pin->holder.born_at);
    }
    wo_text_add(&w->line, ")");
  }
  wo_text_add(&w->line, "  0x%" PRIx64, pin->address);
  wo__replay_put(w, 4, 6);
  write_context(w, pin->holder.stack, &pin->holder.sites, 6);
  write_frames(w, pin->holder.stack, 6);
}

/* The sentence comes first: its sum shows whether the rows are worth reading. */
static void write_pins(struct wo_replay_writer *w) {
  const struct wo_pins *const pins = &w->report->pins;
  const size_t shown = shown_of(w, pins->pins.count, PINS_SHOWN);
  if (pins->pins.count == 0) return;
  wo_text_add(w->out, "\n");
  wo_text_add(&w->line, "what pins segments: ");
  wo_pins_sentence(pins, &w->line);
  wo__replay_put(w, 2, 4);
  for (size_t i = 0; i < shown; i++) write_pin(w, &pins->pins.items[i]);
  if (pins->pins.count > shown) wo_text_add(w->out, "    and %zu more; --verbose shows them\n", pins->pins.count - shown);
}

void wo__replay_text_holders(struct wo_replay_writer *w) {
  assert(w->line.len == 0);
  if (!w->report->has_memory || w->report->attribution.total.count == 0) return;
  write_classes(w);
  write_stacks(w);
  write_pins(w);
}

/* ---- Categories ---- */

/* In the order in which they were given; they are of the recorded run also where the rest is of a what-if. */
void wo__replay_text_categories(struct wo_replay_writer *w) {
  const struct wo_replay_report *const report = w->report;
  struct wo_sum sums[WO_LIMIT_CATEGORIES + 1];
  char name[NAME_COLUMNS * 4];
  assert(w->line.len == 0);
  if (!report->has_look || report->look.categories->count == 0) return;
  const size_t count = report->look.categories->count;
  wo_look_categories(&report->look, report->look_at.entry, sums);
  wo_text_add(w->out, "\n  by category, recorded, ");
  if (report->look_at.entry == WO_NO_ENTRY) {
    wo_text_add(w->out, "before the first entry\n");
  } else {
    wo_text_add(w->out, "after entry %" PRIu32 "\n", report->look_at.entry);
  }
  for (size_t i = 1; i <= count + 1; i++) {
    const uint8_t category = (uint8_t)(i <= count ? i : 0);
    const struct wo_view shown = wo_clean_utf8(wo_category_name(report->look.categories, category), name, sizeof name);
    const size_t columns = wo_text_columns(shown);
    wo_text_add(w->out, "    ");
    wo_text_add_view(w->out, shown);
    wo_text_repeat(w->out, ' ', columns < NAME_COLUMNS ? NAME_COLUMNS - columns : 1);
    wo_text_add(w->out, "%*s  %5.1f %%  ", SIZE_COLUMNS, WO_BYTES_TEXT(sums[category].bytes),
                wo_share_pct(sums[category].bytes, report->look_at.bytes));
    wo__replay_count(w->out, sums[category].count, "block", "blocks");
    wo_text_add(w->out, "\n");
  }
  if (report->look.given_up > 0) wo_text_add(w->out, "    an expression gave up on %" PRIu64 " texts\n", report->look.given_up);
}
