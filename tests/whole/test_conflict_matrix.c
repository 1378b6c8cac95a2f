/* SPDX-License-Identifier: Apache-2.0 */
/* Every cause with every setting that its fixes speak of, generated from the packs: no report may propose what is set already,
 * what contradicts another proposal of the same finding, or what makes no sense. A rule that is added is in the matrix by itself.
 *
 * A job is the cause's own example with settings in front: each knob that a fix of the cause reads or changes, with each value
 * that the rules compare it with and some of its unit, in turn in several spellings and styles; then pairs of knobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/job/job_sample.h"

enum { KNOBS_MAX = 48, VALUES_MAX = 24, VALUE_BYTES = 96, SETTINGS_BYTES = 512, LOG_BYTES = 64 * 1024, PAIR_VALUES = 2 };

struct values {
  char items[VALUES_MAX][VALUE_BYTES];
  size_t count;
};

struct knobs {
  const struct wo_knob *items[KNOBS_MAX];
  size_t count;
};

/* What the matrix has seen, so that a test that never meets a rule is noticed. */
struct seen {
  size_t jobs;
  size_t *offered; /* by fix */
  size_t *withheld;
  size_t *already;
};

/* ---- Which settings ---- */

struct collector {
  const struct wo_pack *pack;
  struct knobs *knobs;
};

static void add_knob(void *context, struct wo_view name) {
  const struct collector *const collector = context;
  if (!wo_view_starts(name, "config.")) return;
  const struct wo_knob *const knob = wo_pack_knob(collector->pack, wo_view_skip(name, sizeof "config." - 1));
  struct knobs *const knobs = collector->knobs;
  if (!knob || knobs->count == KNOBS_MAX) return;
  for (size_t i = 0; i < knobs->count; i++) {
    if (knobs->items[i] == knob) return;
  }
  knobs->items[knobs->count++] = knob;
}

static void add_expr(struct collector *collector, const struct wo_expr *expr) {
  if (expr) wo_expr_each_fact(expr, add_knob, collector);
}

static void collect_fix(struct collector *collector, const struct wo_fix *fix) {
  add_expr(collector, fix->when);
  add_expr(collector, fix->already);
  for (size_t i = 0; i < fix->conflict_count; i++) add_expr(collector, fix->conflicts[i].when);
  for (size_t i = 0; i < fix->change_count; i++) {
    add_expr(collector, fix->changes[i].to);
    const struct wo_knob *const knob = wo_pack_knob(collector->pack, fix->changes[i].knob);
    char name[VALUE_BYTES];
    snprintf(name, sizeof name, "config.%.*s", (int)knob->id.len, knob->id.ptr);
    add_knob(collector, wo_view_of(name));
  }
}

/* ---- Which values ---- */

static void add_value(struct values *values, struct wo_view text) {
  if (text.len == 0 || text.len >= VALUE_BYTES || values->count == VALUES_MAX) return;
  for (size_t i = 0; i < values->count; i++) {
    if (wo_view_is(text, values->items[i])) return;
  }
  snprintf(values->items[values->count++], VALUE_BYTES, "%.*s", (int)text.len, text.ptr);
}

/* The literals behind a knob's name in a condition: has(config.x, "a"), one_of(config.x, "a", "b"), config.x == "a", config.x
 * >= 16. */
static void add_literals(struct values *values, const struct wo_expr *expr, const struct wo_knob *knob) {
  char name[VALUE_BYTES];
  if (!expr) return;
  snprintf(name, sizeof name, "config.%.*s", (int)knob->id.len, knob->id.ptr);
  struct wo_view rest = expr->source;
  for (size_t at = wo_view_find(rest, wo_view_of(name), 0); at != WO_NOT_FOUND; at = wo_view_find(rest, wo_view_of(name), 0)) {
    rest = wo_view_skip(rest, at + strlen(name));
    struct wo_view part = wo_view_sub(rest, 0, wo_view_find(rest, WO_VIEW("config."), 0));
    if (part.len > 0 && (wo_is_word(part.ptr[0]) || part.ptr[0] == '.')) continue;
    const size_t end = wo_view_find_char(part, ')', 0);
    part = wo_view_sub(part, 0, end);
    for (size_t quote = wo_view_find_char(part, '"', 0); quote != WO_NOT_FOUND; quote = wo_view_find_char(part, '"', 0)) {
      part = wo_view_skip(part, quote + 1);
      const struct wo_view literal = wo_view_sub(part, 0, wo_view_find_char(part, '"', 0));
      add_value(values, literal);
      part = wo_view_skip(part, literal.len + 1);
    }
    while (part.len > 0 && !wo_is_digit(part.ptr[0])) part = wo_view_skip(part, 1);
    size_t digits = 0;
    while (digits < part.len && (wo_is_digit(part.ptr[digits]) || part.ptr[digits] == '.')) digits++;
    if (knob->unit == WO_UNIT_NUMBER) add_value(values, wo_view_sub(part, 0, digits));
  }
}

static void add_of_unit(struct values *values, const struct wo_knob *knob) {
  static const char *const numbers[] = {"1", "2", "7", "64", "0.55", "0.9"};
  if (knob->unit == WO_UNIT_BOOL) {
    add_value(values, WO_VIEW("true"));
    add_value(values, WO_VIEW("false"));
  } else if (knob->unit == WO_UNIT_NUMBER) {
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) add_value(values, wo_view_of(numbers[i]));
  } else if (knob->unit == WO_UNIT_BYTES) {
    add_value(values, WO_VIEW("1048576"));
    add_value(values, WO_VIEW("8388608"));
  } else if (wo_view_is(knob->id, "alloc_conf")) {
    add_value(values, WO_VIEW("expandable_segments:True"));
    add_value(values, WO_VIEW("max_split_size_mb:128"));
    add_value(values, WO_VIEW("max_split_size_mb:128,expandable_segments:True"));
    add_value(values, WO_VIEW("garbage_collection_threshold:0.6"));
    add_value(values, WO_VIEW("roundup_power2_divisions:4"));
    add_value(values, WO_VIEW("backend:cudaMallocAsync"));
  } else if (values->count == 0) {
    add_value(values, WO_VIEW("other"));
  }
}

static void collect_values(const struct wo_pack *pack, const struct wo_cause *cause, const struct wo_knob *knob,
                           struct values *values) {
  values->count = 0;
  for (size_t i = 0; i < cause->fix_count; i++) {
    const struct wo_fix *const fix = wo_pack_fix(pack, cause->fixes[i]);
    add_literals(values, fix->when, knob);
    add_literals(values, fix->already, knob);
    for (size_t k = 0; k < fix->conflict_count; k++) add_literals(values, fix->conflicts[k].when, knob);
    for (size_t k = 0; k < fix->change_count; k++) {
      struct wo_view to = fix->changes[k].to->source;
      if (!wo_view_equal(fix->changes[k].knob, knob->id)) continue;
      if (to.len > 2 && to.ptr[0] == '"') add_value(values, wo_view_sub(to, 1, to.len - 1));
      if (wo_is_digit(to.len > 0 ? to.ptr[0] : 0)) add_value(values, to);
    }
  }
  add_of_unit(values, knob);
}

/* ---- How they are written ---- */

/* Aliases that stand for themselves: without a parent, without blanks, found by their key. */
static const struct wo_alias *plain_alias(const struct wo_knob *knob, size_t turn) {
  const struct wo_alias *found[8];
  size_t count = 0;
  for (size_t i = 0; i < knob->alias_count && count < 8; i++) {
    const struct wo_alias *const alias = &knob->aliases[i];
    const bool is_plain =
        wo_view_find_char(alias->key, '.', 0) == WO_NOT_FOUND && wo_view_find_char(alias->key, ' ', 0) == WO_NOT_FOUND;
    if (is_plain && alias->literal_count == 0) found[count++] = alias;
  }
  return count > 0 ? found[turn % count] : &knob->aliases[0];
}

/* The printed form of a canonical value, where the alias has one. */
static struct wo_view printed(const struct wo_alias *alias, const char *canonical) {
  struct wo_view map = alias->value_map;
  while (map.len > 0) {
    struct wo_view to = wo_view_cut(&map, ',');
    const struct wo_view from = wo_view_cut(&to, '=');
    if (from.len > 0 && wo_view_is(to, canonical)) return from;
  }
  return wo_view_of(canonical);
}

static size_t write_setting(char *buf, size_t cap, const struct wo_knob *knob, const char *value, size_t turn) {
  static const struct {
    const char *before, *between, *after;
  } styles[] = {
      {"", "=", "\n"}, {"python train.py --", " ", "\n"}, {"  ", ": ", "\n"}, {"export ", "=", "\n"}, {"  \"", "\": ", ",\n"}};
  const struct wo_alias *const alias = plain_alias(knob, turn);
  const struct wo_view text = printed(alias, value);
  const bool is_environment = alias->key.len > 0 && wo_lower(alias->key.ptr[0]) != alias->key.ptr[0];
  const size_t style = is_environment ? 3 : turn % (sizeof styles / sizeof styles[0]);
  const int len = snprintf(buf, cap, "%s%.*s%s%.*s%s", styles[style].before, (int)alias->key.len, alias->key.ptr,
                           styles[style].between, (int)text.len, text.ptr, styles[style].after);
  return len > 0 && (size_t)len < cap ? (size_t)len : 0;
}

/* ---- What must hold ---- */

/* Goes on after a complaint, so that one run shows them all; each with the settings of its job, which stand on the first two
 * lines. */
#define COMPLAIN(...) (print_error(__VA_ARGS__), print_error("   | %.*s\n", (int)strcspn(log, "\n"), log), complaints++)

static size_t complaints;

static bool is_same(const struct wo_value *a, const struct wo_value *b) {
  if (a->unit == WO_UNIT_BOOL) return a->truth == b->truth && a->truth != WO_UNDECIDED;
  if (!a->is_known || !b->is_known) return false;
  return a->unit == WO_UNIT_TEXT ? wo_view_equal(a->text, b->text) : a->number.mid == b->number.mid;
}

static bool lowers(struct wo_view id) {
  return wo_view_starts(id, "reduce-") || wo_view_starts(id, "lower-") || wo_view_starts(id, "fewer-");
}

static void check_change(const struct wo_finding_fix *fix, const struct wo_finding_change *change, const char *log) {
  const int len = (int)fix->id.len;
  if (is_same(&change->from, &change->to)) COMPLAIN("%.*s sets what is set", len, fix->id.ptr);
  if (change->spelling.key.len == 0) COMPLAIN("%.*s: nothing to paste", len, fix->id.ptr);
  if (change->to.unit != WO_UNIT_NUMBER) return;
  const bool is_batch = wo_view_ends(change->knob, "batch");
  if (change->to.number.mid <= 0 || (is_batch && change->to.number.mid < 1)) COMPLAIN("%.*s: to nothing", len, fix->id.ptr);
  if (lowers(fix->id) && change->from.is_known && !wo_view_is(change->knob, "grad_accum") &&
      change->to.number.mid >= change->from.number.mid)
    COMPLAIN("%.*s raises %.*s", len, fix->id.ptr, (int)change->knob.len, change->knob.ptr);
  /* Two settings have a value where nobody set them: the engine's default, and the length that the message names. */
  const bool has_default = wo_view_is(change->knob, "gpu_memory_utilization") || wo_view_is(change->knob, "max_model_len");
  if (!change->from.is_known && lowers(fix->id) && !has_default) COMPLAIN("%.*s lowers what is not there", len, fix->id.ptr);
}

/* What a fix tells the user to type holds the words. */
static bool types(const struct wo_finding_fix *fix, const char *words) {
  for (size_t i = 0; i < fix->change_count; i++) {
    struct wo_text text = {0};
    wo_spelling_add(&text, &fix->changes[i].spelling);
    const bool has_words = wo_view_has((struct wo_view){text.ptr, text.len}, words);
    wo_text_done(&text);
    if (has_words) return true;
  }
  for (size_t i = 0; i < fix->command_count; i++) {
    if (wo_view_has(fix->commands[i], words)) return true;
  }
  return false;
}

/* Advice that the numbers of jobs contradict. */
static void check_myths(const struct wo_finding_fix *fix, const char *log) {
  static const char *const myths[] = {"TOKENIZERS_PARALLELISM", "OMP_NUM_THREADS", "gpu-reset", "reboot", "python -c"};
  for (size_t i = 0; i < sizeof myths / sizeof myths[0]; i++) {
    if (types(fix, myths[i])) COMPLAIN("%.*s: %s", (int)fix->id.len, fix->id.ptr, myths[i]);
  }
  bool has_batch = false, has_accumulation = false;
  for (size_t i = 0; i < fix->change_count; i++) {
    const struct wo_finding_change *const change = &fix->changes[i];
    has_batch = has_batch || wo_view_is(change->knob, "micro_batch");
    has_accumulation = has_accumulation || wo_view_is(change->knob, "grad_accum");
    const bool is_16 = wo_view_is(change->from.text, "bf16") || wo_view_is(change->from.text, "fp16");
    if (wo_view_is(change->knob, "dtype") && is_16) COMPLAIN("%.*s: 16 bits for 16 bits", (int)fix->id.len, fix->id.ptr);
  }
  if (has_accumulation && !has_batch) COMPLAIN("%.*s: accumulation alone", (int)fix->id.len, fix->id.ptr);
}

static void check_rivals(const struct wo_finding_fix *a, const struct wo_finding_fix *b, const char *log) {
  for (size_t i = 0; i < a->change_count; i++) {
    for (size_t k = 0; k < b->change_count; k++) {
      if (!wo_view_equal(a->changes[i].knob, b->changes[k].knob) || is_same(&a->changes[i].to, &b->changes[k].to)) continue;
      COMPLAIN("%.*s and %.*s set %.*s differently", (int)a->id.len, a->id.ptr, (int)b->id.len, b->id.ptr,
               (int)a->changes[i].knob.len, a->changes[i].knob.ptr);
    }
  }
  if (types(a, "max_split_size_mb") && types(b, "expandable_segments:True"))
    COMPLAIN("max_split_size_mb with expandable segments");
  if (types(b, "max_split_size_mb") && types(a, "expandable_segments:True"))
    COMPLAIN("max_split_size_mb with expandable segments");
}

static void check_allocator(const struct sample_job *sample, const struct wo_finding_fix *fix, const char *log) {
  const struct wo_value conf = sample_fact(sample, "config.alloc_conf");
  const bool is_expandable = conf.is_known && wo_view_has(conf.text, "expandable_segments:True");
  if (types(fix, "max_split_size_mb") && (is_expandable || types(fix, "expandable_segments:True")))
    COMPLAIN("%.*s: max_split_size_mb with expandable segments", (int)fix->id.len, fix->id.ptr);
  const bool has_fraction = sample_fact(sample, "oom.allowed").is_known;
  if (types(fix, "garbage_collection_threshold") && !has_fraction &&
      !(conf.is_known && wo_view_has(conf.text, "garbage_collection")))
    COMPLAIN("%.*s: garbage_collection_threshold without a fraction", (int)fix->id.len, fix->id.ptr);
}

static const struct wo_proposed_part *find_part(const struct wo_finding_fix *fix, enum wo_proposed_sort sort, const char *text) {
  for (size_t i = 0; i < fix->replay.count; i++) {
    const struct wo_proposed_part *const part = &fix->replay.parts[i];
    if (part->sort == sort && (!text || wo_view_is(part->text, text))) return part;
  }
  return NULL;
}

/* What is replayed is what the user is told to change: the same sizes, the same effective batch, the settings as they are typed.
 */
static void check_replayed(const struct wo_finding_fix *fix, const char *log) {
  const struct wo_proposed_part *const batch = find_part(fix, WO_PROPOSED_MICRO_BATCH, NULL);
  const struct wo_proposed_part *const passes = find_part(fix, WO_PROPOSED_TRANSFORM, "accumulate");
  const struct wo_proposed_part *const settings = find_part(fix, WO_PROPOSED_SETTINGS, NULL);
  if (fix->replay.count == 0) return;
  if (find_part(fix, WO_PROPOSED_LEFT_OUT, NULL) || find_part(fix, WO_PROPOSED_OTHER, NULL))
    COMPLAIN("%.*s: not replayed as it is made", (int)fix->id.len, fix->id.ptr);
  if (batch && (!passes || (uint64_t)batch->from * passes->from != (uint64_t)batch->to * passes->to))
    COMPLAIN("%.*s: another effective batch", (int)fix->id.len, fix->id.ptr);
  for (size_t i = 0; i < fix->change_count; i++) {
    const struct wo_finding_change *const change = &fix->changes[i];
    const struct wo_proposed_part *const part = wo_view_is(change->knob, "micro_batch")  ? batch
                                                : wo_view_is(change->knob, "grad_accum") ? passes
                                                                                         : NULL;
    if (part && (part->from != change->from.number.mid || part->to != change->to.number.mid))
      COMPLAIN("%.*s: replayed at another size", (int)fix->id.len, fix->id.ptr);
  }
  char typed[512];
  snprintf(typed, sizeof typed, "%.*s", settings ? (int)settings->text.len : 0, settings ? settings->text.ptr : "");
  if (settings && !types(fix, typed)) COMPLAIN("%.*s: replayed with %s", (int)fix->id.len, fix->id.ptr, typed);
}

static void check_fix(const struct sample_job *sample, const struct wo_finding_fix *made, const char *log, struct seen *seen) {
  const struct wo_pack *const pack = sample->diagnosis.pack;
  const struct wo_fix *const fix = wo_pack_fix(pack, made->id);
  seen->offered[fix - pack->fixes]++;
  if (fix->already && wo_expr_truth(fix->already, &sample->diagnosis.source) == WO_TRUE)
    COMPLAIN("%.*s is on already", (int)made->id.len, made->id.ptr);
  for (size_t i = 0; i < fix->conflict_count; i++) {
    if (fix->conflicts[i].when && wo_expr_truth(fix->conflicts[i].when, &sample->diagnosis.source) == WO_TRUE)
      COMPLAIN("%.*s conflicts", (int)made->id.len, made->id.ptr);
  }
  for (size_t i = 0; i < made->change_count; i++) check_change(made, &made->changes[i], log);
  check_myths(made, log);
  check_allocator(sample, made, log);
  check_replayed(made, log);
  const struct wo_value capacity = sample_fact(sample, "gpu.capacity");
  if (made->has_saves && capacity.is_known && (made->saves_bytes.hi > capacity.number.hi || made->saves_bytes.hi <= 0))
    COMPLAIN("%.*s saves %.0f bytes", (int)made->id.len, made->id.ptr, made->saves_bytes.hi);
}

/* Fixes of the cause that the finding does not have. */
static void count_withheld(const struct wo_pack *pack, const struct wo_finding *finding, struct seen *seen) {
  for (size_t i = 0; i < finding->cause->fix_count; i++) {
    const struct wo_fix *const fix = wo_pack_fix(pack, finding->cause->fixes[i]);
    size_t at = 0;
    while (at < finding->fix_count && !wo_view_equal(finding->fixes[at].id, fix->id)) at++;
    seen->withheld[fix - pack->fixes] += at == finding->fix_count;
  }
}

static void check_job(const struct wo_pack *pack, const char *log, struct seen *seen) {
  struct sample_job sample;
  sample_log(&sample, pack, log);
  seen->jobs++;
  for (size_t i = 0; i < pack->fix_count; i++) {
    const struct wo_expr *const already = pack->fixes[i].already;
    seen->already[i] += already && wo_expr_truth(already, &sample.diagnosis.source) == WO_TRUE;
  }
  for (size_t i = 0; i < sample.report->finding_count; i++) {
    const struct wo_finding *const finding = &sample.report->findings[i];
    count_withheld(pack, finding, seen);
    for (size_t k = 0; k < finding->fix_count; k++) {
      check_fix(&sample, &finding->fixes[k], log, seen);
      for (size_t j = 0; j < k; j++) check_rivals(&finding->fixes[j], &finding->fixes[k], log);
    }
  }
  sample_done(&sample);
}

/* ---- The matrix ---- */

static void check_with(const struct wo_pack *pack, const char *settings, struct wo_view example, struct seen *seen) {
  static char log[LOG_BYTES];
  const int len = snprintf(log, sizeof log, "%s%.*s\n", settings, (int)example.len, example.ptr);
  if (len > 0 && (size_t)len < sizeof log) check_job(pack, log, seen);
}

static void check_pairs(const struct wo_pack *pack, const struct wo_cause *cause, const struct knobs *knobs,
                        struct wo_view example, struct seen *seen) {
  struct values a, b;
  char settings[SETTINGS_BYTES];
  for (size_t i = 0; i < knobs->count; i++) {
    collect_values(pack, cause, knobs->items[i], &a);
    for (size_t k = i + 1; k < knobs->count; k++) {
      collect_values(pack, cause, knobs->items[k], &b);
      for (size_t turn = 0; turn < PAIR_VALUES; turn++) {
        size_t len = write_setting(settings, sizeof settings, knobs->items[i], a.items[(k + turn) % a.count], 0);
        len += write_setting(settings + len, sizeof settings - len, knobs->items[k], b.items[(i + turn) % b.count], 0);
        check_with(pack, settings, example, seen);
      }
    }
  }
}

static void check_cause(const struct wo_pack *pack, const struct wo_cause *cause, struct seen *seen) {
  struct knobs knobs = {.count = 0};
  struct collector collector = {pack, &knobs};
  struct wo_view example = {0};
  for (size_t i = 0; i < cause->example_count && example.len == 0; i++) {
    if (cause->examples[i].gives) example = cause->examples[i].log;
  }
  for (size_t i = 0; i < cause->fix_count; i++) collect_fix(&collector, wo_pack_fix(pack, cause->fixes[i]));
  check_with(pack, "", example, seen);
  for (size_t i = 0; i < knobs.count; i++) {
    struct values values;
    collect_values(pack, cause, knobs.items[i], &values);
    for (size_t k = 0; k < values.count; k++) {
      for (size_t turn = 0; turn < (wo_process_is_sanitized ? 1 : 3); turn++) {
        char settings[SETTINGS_BYTES] = "";
        write_setting(settings, sizeof settings, knobs.items[i], values.items[k], turn * 2 + k);
        check_with(pack, settings, example, seen);
      }
    }
  }
  /* Under sanitizers one job takes ten times as long, and a second setting leads to no other code. */
  if (!wo_process_is_sanitized) check_pairs(pack, cause, &knobs, example, seen);
}

/* The table of fixes offers what no example of a cause does. */
static bool is_in_table(const char *table, const char *verb, struct wo_view fix) {
  char line[VALUE_BYTES];
  snprintf(line, sizeof line, "\n%s %.*s", verb, (int)fix.len, fix.ptr);
  for (const char *at = strstr(table, line); at; at = strstr(at + 1, line)) {
    const char next = at[strlen(line)];
    if (next == '\n' || next == ' ' || next == '\0') return true;
  }
  return false;
}

static void test_matrix(void **state) {
  const struct wo_pack *const pack = *state;
  struct seen seen = {.offered = calloc(pack->fix_count, sizeof *seen.offered),
                      .withheld = calloc(pack->fix_count, sizeof *seen.withheld),
                      .already = calloc(pack->fix_count, sizeof *seen.already)};
  assert_true(seen.offered && seen.withheld && seen.already);
  for (size_t i = 0; i < pack->cause_count; i++) check_cause(pack, &pack->causes[i], &seen);
  size_t size = 0;
  char *const table = wo_files_read(WO_SOURCE_DIR "/tests/judged/fixes.txt", &size);
  size_t missing = 0;
  assert_non_null(table);
  for (size_t i = 0; i < pack->fix_count; i++) {
    const struct wo_fix *const fix = &pack->fixes[i];
    const bool is_offered = seen.offered[i] > 0 || is_in_table(table, "offers", fix->id);
    const bool is_withheld =
        seen.withheld[i] > 0 || is_in_table(table, "silent", fix->id) || is_in_table(table, "withholds", fix->id);
    const bool is_already_missed = fix->already && seen.already[i] == 0 && !is_in_table(table, "withholds", fix->id);
    if (is_offered && is_withheld && !is_already_missed) continue;
    print_error("%.*s: never %s\n", (int)fix->id.len, fix->id.ptr,
                !is_offered    ? "offered"
                : !is_withheld ? "left out"
                               : "set already");
    missing++;
  }
  free(table);
  print_message("%zu jobs\n", seen.jobs);
  assert_true(seen.jobs > 1000);
  if (!wo_process_is_sanitized) assert_int_equal(missing, 0);
  assert_int_equal(complaints, 0);
  free(seen.withheld);
  free(seen.offered);
  free(seen.already);
}

static int load(void **state) {
  struct wo_pack *pack = NULL;
  struct wo_err err = {0};
  if (wo_pack_load_all(NULL, WO_LOAD_ALL, &pack, &err) != WO_OK) return -1;
  *state = pack;
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_matrix)};
  return cmocka_run_group_tests_name("conflict matrix", tests, load, sample_unload);
}
