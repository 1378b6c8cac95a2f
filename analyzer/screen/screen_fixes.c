/* SPDX-License-Identifier: Apache-2.0 */
/* The change to make first, and the others in a table. */
#include <stdio.h>
#include <string.h>

#include "analyzer/report/report_words.h"
#include "analyzer/screen/screen_internal.h"
#include "analyzer/story/story.h"
#include "parsers/base/units.h"

/* Up to the first of these marks: "usually 5 to 15 % slower: more, smaller passes" says enough before it. */
static struct wo_view first_clause(struct wo_view text) {
  for (size_t i = 0; i < text.len; i++) {
    if (strchr(":;,", text.ptr[i]) && (i + 1 == text.len || text.ptr[i + 1] == ' ')) return wo_view_sub(text, 0, i);
  }
  return text;
}

static bool is_free(struct wo_view cost) {
  static const char *const words[] = {"none", "unchanged", "about the same", "same"};
  return cost.len == 0 || WO_VIEW_ANY(cost, wo_view_starts, words);
}

/* "10 to 30 % slower", "same speed". A search, or a change to a job that did not lack memory, has no price. */
static struct wo_view price_of(struct wo__screen_maker *m, const struct wo_finding_fix *fix) {
  struct wo_text *const text = wo__screen_start(m);
  const bool is_memory = m->story->outcome == WO_OUTCOME_GPU_OOM || m->story->outcome == WO_OUTCOME_HOST_OOM;
  if (!is_memory || fix->cost_rank == WO_COST_RANK_MAX) return (struct wo_view){0};
  struct wo_view speed = first_clause(fix->cost_speed);
  if (wo_view_starts(speed, "usually ")) speed = wo_view_skip(speed, sizeof "usually " - 1);
  if (is_free(speed)) speed = fix->cost_speed.len > 0 ? WO_VIEW("same speed") : speed;
  wo_text_add_view(text, speed);
  return wo__screen_keep(m);
}

static struct wo_view frees_of(struct wo__screen_maker *m, const struct wo_finding_fix *fix) {
  struct wo_text *const text = wo__screen_start(m);
  if (fix->proof != NULL && fix->proof->is_tried) {
    const double margin = fix->proof->margin_bytes;
    if (fix->proof->is_rough)
      wo_text_add(text, "does not fit");
    else
      wo_text_add(text, "%s %s", margin < 0 ? "lacks" : "leaves", WO_BYTES_TEXT(margin < 0 ? -margin : margin));
  } else if (fix->has_saves) {
    wo_report_add_range(text, fix->saves_bytes);
  }
  return wo__screen_keep(m);
}

static struct wo_screen_fix make_fix(struct wo__screen_maker *m, const struct wo_finding_fix *fix, size_t number) {
  const bool is_tried = fix->proof != NULL && fix->proof->is_tried;
  return (struct wo_screen_fix){.number = number,
                                .title = fix->title,
                                .frees = frees_of(m, fix),
                                .price = price_of(m, fix),
                                .fix = fix,
                                .is_enough = is_tried ? fix->proof->fits : fix->suffices == WO_SUFFICES_YES};
}

/* ---- The first change ---- */

static void add_change(struct wo__screen_maker *m, struct wo_screen_change change) {
  if (m->screen->change_count == WO_SCREEN_CHANGES_MAX) {
    m->screen->more_changes++;
  } else {
    m->screen->changes[m->screen->change_count++] = change;
  }
}

/* The key as it stands before its value, in the style of the file: "--lr", "lr:", "lr=". */
static struct wo_view key_of(struct wo__screen_maker *m, const struct wo_spelling *spelling) {
  static const char *const forms[][2] = {
      [WO_STYLE_EQUALS] = {"", "="},        [WO_STYLE_FLAG] = {"--", ""}, [WO_STYLE_FLAG_EQUALS] = {"--", "="},
      [WO_STYLE_EXPORT] = {"export ", "="}, [WO_STYLE_COLON] = {"", ":"}, [WO_STYLE_JSON] = {"\"", "\":"},
      [WO_STYLE_SET] = {"set ", "="}};
  struct wo_text *const text = wo__screen_start(m);
  const struct wo_view key = spelling->key;
  const bool has_dashes = wo_view_starts(key, "-");
  wo_text_add(text, "%s%.*s%s", has_dashes && spelling->style == WO_STYLE_FLAG ? "" : forms[spelling->style][0], WO_SHOWN(key),
              forms[spelling->style][1]);
  return wo__screen_keep(m);
}

static struct wo_view value_of(struct wo__screen_maker *m, const struct wo_value *value) {
  if (!value->is_known) return (struct wo_view){0};
  wo_report_add_value(wo__screen_start(m), value);
  return wo__screen_keep(m);
}

/* A log shows what a setting was; it is changed elsewhere. */
static struct wo_view place_of(struct wo__screen_maker *m, const struct wo_event *where) {
  struct wo_text *const text = wo__screen_start(m);
  if (wo_view_is(m->report->job->inputs[where->span.file].format, "log")) wo_text_add(text, "seen in ");
  wo__screen_add_place(m, text, where);
  return wo__screen_keep(m);
}

static void add_setting(struct wo__screen_maker *m, const struct wo_finding_change *setting) {
  const struct wo_event *const where = wo_event_get(m->events, setting->where);
  struct wo_screen_change change = {.now = value_of(m, &setting->from)};
  if (where != NULL) change.place = place_of(m, where);
  if (setting->spelling.key.len == 0) {
    change.text = setting->knob;
    change.then = value_of(m, &setting->to);
  } else if (change.now.len == 0) { /* a line to add, as it is pasted */
    wo_spelling_add(wo__screen_start(m), &setting->spelling);
    change.text = wo__screen_keep(m);
  } else {
    change.text = key_of(m, &setting->spelling);
    change.then = setting->spelling.value;
  }
  add_change(m, change);
}

/* "enough: frees 1.2 to 4.4 GiB of the missing 166 to 799 MiB". */
static struct wo_view verdict_of(struct wo__screen_maker *m, const struct wo_finding_fix *fix) {
  struct wo_text *const text = wo__screen_start(m);
  wo_report_add_verdict(text, fix);
  return wo__screen_keep(m);
}

static void make_first(struct wo__screen_maker *m, const struct wo_finding_fix *fix, size_t number) {
  m->screen->first = make_fix(m, fix, number);
  m->screen->is_first_proven = fix->proof != NULL && fix->proof->is_tried && fix->proof->fits;
  m->screen->first_verdict = verdict_of(m, fix);
  for (size_t i = 0; i < fix->change_count; i++) add_setting(m, &fix->changes[i]);
  for (size_t i = 0; i < fix->command_count; i++) add_change(m, (struct wo_screen_change){.text = fix->commands[i]});
}

/* ---- What is not proposed ---- */

/* "gradient checkpointing, 16-bit weights" of reasons that begin with "(already". */
static void make_already(struct wo__screen_maker *m, const struct wo_finding *finding) {
  struct wo_text *const text = wo__screen_start(m);
  for (size_t i = 0; i < finding->not_proposed_count; i++) {
    const size_t at = wo_view_find(finding->not_proposed[i], WO_VIEW(" (already"), 0);
    if (at == WO_NOT_FOUND) continue;
    wo_text_add(text, "%s%.*s", text->len > 0 ? ", " : "", WO_SHOWN(wo_view_sub(finding->not_proposed[i], 0, at)));
  }
  m->screen->already = wo__screen_keep(m);
}

/* The change to make first is the one that a recording or a run that fits supports, else the first fix that nothing refutes. The
 * others keep their numbers. Fixes that cure nothing are for the end of the report, except where there is nothing else. */
void wo__screen_fixes(struct wo__screen_maker *m) {
  if (m->report->finding_count == 0 || m->screen->tone == WO_SCREEN_GOOD) return;
  const struct wo_finding *const finding = &m->report->findings[0];
  const struct wo_finding_fix *const supported = m->report->first_change;
  struct wo_screen_fix *const others = wo_arena_array(m->arena, finding->fix_count + 1, sizeof *others);
  if (others == NULL) return;
  const size_t first = wo_report_first_fix(finding);
  if (supported != NULL) {
    make_first(m, supported, finding->fix_count + 1);
  } else if (finding->fix_count > 0) {
    make_first(m, &finding->fixes[first], first + 1);
  }
  for (int pass = 0; pass < 2; pass++) { /* what is not enough comes last */
    for (size_t i = 0; i < finding->fix_count; i++) {
      const struct wo_finding_fix *const fix = &finding->fixes[i];
      const bool is_first = supported == NULL && i == first, is_last = wo_report_is_refuted(fix);
      if (!is_first && fix->cost_rank != WO_COST_RANK_MAX && is_last == (pass == 1))
        others[m->screen->other_count++] = make_fix(m, fix, i + 1);
    }
  }
  m->screen->others = others;
  make_already(m, finding);
  if (finding->would_tell_count > 0) m->screen->settle = finding->would_tell[0];
}
