/* SPDX-License-Identifier: Apache-2.0 */
/* Notes: what a report over many jobs does not have. See table_internal.h. */
#include "analyzer/table/table_internal.h"
#include "parsers/base/limits.h"

enum { PROBLEMS_NAMED = 3 };

/* A line that is being built, and who takes it. */
struct notes {
  struct wo_text line;
  wo__table_note_fn fn;
  void *context;
};

static void end_note(struct notes *notes) {
  notes->fn(notes->context, (struct wo_view){notes->line.ptr, notes->line.len});
  notes->line.len = 0;
}

/* "shards 3 to 5 of 8 of /scratch/logs were not scanned". */
static void add_shards(struct notes *notes, const struct wo_store_shards *shards) {
  static const char *const states[] = {
      [WO_STORE_SHARD_MISSING] = "not scanned",
      [WO_STORE_SHARD_STOPPED] = "not scanned to the end",
      [WO_STORE_SHARD_TWICE] = "scanned twice, by two processes",
      [WO_STORE_SHARD_BEHIND] = "not scanned again when the others were",
  };
  const bool is_one = shards->first == shards->last;
  if (shards->shard_count <= 1) {
    wo_text_add(&notes->line, "the scan");
  } else if (is_one) {
    wo_text_add(&notes->line, "shard %u of %u", shards->first, shards->shard_count);
  } else {
    wo_text_add(&notes->line, "shards %u to %u of %u", shards->first, shards->last, shards->shard_count);
  }
  struct wo_view roots = shards->roots;
  for (bool is_first = true; roots.len > 0; is_first = false) {
    wo_text_add(&notes->line, is_first ? " of " : ", ");
    wo_text_add_clean(&notes->line, wo_view_cut(&roots, '\n'));
  }
  wo_text_add(&notes->line, " %s %s: jobs may be missing", is_one || shards->shard_count <= 1 ? "was" : "were",
              states[shards->state]);
  end_note(notes);
}

static void add_problems(struct notes *notes, const struct wo_fleet *fleet) {
  for (size_t i = 0; i < fleet->problem_count && i < PROBLEMS_NAMED; i++) {
    wo_text_add_clean(&notes->line, fleet->problems[i].path);
    wo_text_add(&notes->line, ": ");
    wo_text_add_clean(&notes->line, fleet->problems[i].message);
    end_note(notes);
  }
  const int64_t named = fleet->problem_count < PROBLEMS_NAMED ? (int64_t)fleet->problem_count : PROBLEMS_NAMED;
  const int64_t left = fleet->problems_left_out + (int64_t)fleet->problem_count - named;
  if (left <= 0) return;
  wo__show_counted(&notes->line, left, "further file or folder", "further files or folders");
  wo_text_add(&notes->line, " could not be read");
  end_note(notes);
}

static void add_baseline(struct notes *notes, const struct wo_fleet_baseline *baseline) {
  if (!baseline->is_wanted || baseline->has_bad) return;
  wo_text_add(&notes->line, baseline->has_good
                                ? "there is no failed run to compare the baseline with: none of the same user and name"
                                : "no job that went well has the id or path of the baseline");
  end_note(notes);
}

void wo__table_notes(struct wo__table *table, wo__table_note_fn fn, void *context) {
  const struct wo_fleet *const fleet = table->fleet;
  struct notes notes = {.fn = fn, .context = context};
  for (size_t i = 0; i < fleet->shard_count; i++) add_shards(&notes, &fleet->shards[i]);
  if (fleet->shards_left_out > 0) {
    wo__show_counted(&notes.line, fleet->shards_left_out, "further shard was", "further shards were");
    wo_text_add(&notes.line, " not scanned as the others were");
    end_note(&notes);
  }
  if (fleet->totals.unread > 0) {
    wo_text_add(&notes.line, "files of ");
    wo__show_counted(&notes.line, fleet->totals.unread, "job", "jobs");
    wo_text_add(&notes.line, " could not be read to their end");
    end_note(&notes);
  }
  add_problems(&notes, fleet);
  if (fleet->nodes_left_out > 0) {
    wo_text_add(&notes.line, "there are more than %zu nodes; jobs on the further ones count for no node", WO_LIMIT_FLEET_NODES);
    end_note(&notes);
  }
  if (fleet->sweeps_not_compared > 0) {
    wo_text_add(&notes.line, "settings are compared in the %zu sweeps that cost most, not in ", WO_LIMIT_FLEET_SWEEPS);
    wo__show_counted(&notes.line, fleet->sweeps_not_compared, "further one", "further ones");
    end_note(&notes);
  }
  add_baseline(&notes, &fleet->baseline);
  table->out->is_failed |= notes.line.is_failed;
  wo_text_done(&notes.line);
}
