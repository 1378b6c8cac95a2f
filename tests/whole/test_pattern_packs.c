/* SPDX-License-Identifier: Apache-2.0 */
/* The patterns of the packs by their own samples, through the whole scanner: what a sample gives, that nothing which must not
 * matter matters, and that what is ruled out stays out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/table.h"
#include "tests/support/job/scan_own.h"

static int setup(void **state) {
  struct sample_patterns *const patterns = calloc(1, sizeof *patterns);
  struct wo_err err;
  if (patterns == NULL) return -1;
  *state = patterns;
  if (wo_pack_load_all(NULL, WO_LOAD_ALL, &patterns->pack, &err) != WO_OK) return -1;
  return wo_pattern_set_new(patterns->pack->patterns, patterns->pack->pattern_count, NULL, &patterns->set) == WO_OK ? 0 : -1;
}

/* One sample, or one line of `not`, of one pattern. */
struct place {
  struct wo_pattern_set *set;
  const struct wo_pattern *pattern;
  size_t index; /* of the pattern */
  struct wo_view line;
  size_t number; /* from 1 */
};

#define WHERE(place) (int)(place)->pattern->id.len, (place)->pattern->id.ptr, (place)->number

typedef void (*place_fn)(const struct place *place);

static size_t for_each(void **state, bool is_not, place_fn fn) {
  const struct sample_patterns *const patterns = *state;
  size_t calls = 0;
  for (size_t i = 0; i < patterns->pack->sample_count; i++) {
    const struct wo_pattern_samples *const samples = &patterns->pack->samples[i];
    const struct wo_view *const lines = is_not ? samples->no_match : samples->match;
    const size_t count = is_not ? samples->no_match_count : samples->match_count;
    for (size_t j = 0; j < count; j++, calls++) {
      fn(&(struct place){patterns->set, &patterns->pack->patterns[samples->pattern], samples->pattern, lines[j], j + 1});
    }
  }
  return calls;
}

/* The line with something in front and a line feed behind; stages are looked for before a failure only. */
static struct sample_log log_of(const struct place *place, const char *front) {
  struct sample_log log = {0};
  sample_say(&log, front);
  sample_put(&log, place->line.ptr, place->line.len);
  sample_say(&log, place->pattern->kind == WO_KIND_STAGE ? "\nRuntimeError: CUDA error: out of memory\n" : "\n");
  return log;
}

static void scan_place(const struct place *place, const char *front, struct wo_event_store *store) {
  struct sample_log log = log_of(place, front);
  sample_scan(place->set, sample_view(&log), CHUNK_WHOLE, store);
  sample_free(&log);
}

static const struct wo_event *find_own(const struct wo_event_store *store, struct wo_view id) {
  for (size_t i = 0; i < store->count; i++) {
    if (wo_view_equal(store->items[i].pattern_id, id)) return &store->items[i];
  }
  return NULL;
}

#define TABLE_DIR WO_SOURCE_DIR "/tests/table/"

enum { PATTERNS_MAX = 4096 };

/* Of each pattern, whether a case of the tables gives an event of it. Filled by read_tables. */
static bool is_in_tables[PATTERNS_MAX];

static void read_table(const struct sample_patterns *patterns, const char *name) {
  char path[1024];
  char complaint[512];
  struct wo_table table;
  snprintf(path, sizeof path, TABLE_DIR "%s", name);
  if (!wo_table_read(path, &table, complaint, sizeof complaint)) fail_msg("%s", complaint);
  for (size_t i = 0; i < table.count; i++) {
    struct wo_event_store store;
    sample_scan(patterns->set, table.items[i].log, CHUNK_WHOLE, &store);
    for (size_t k = 0; k < patterns->pack->pattern_count; k++)
      is_in_tables[k] = is_in_tables[k] || find_own(&store, patterns->pack->patterns[k].id);
    wo_event_store_done(&store);
  }
  wo_table_done(&table);
}

static void read_tables(const struct sample_patterns *patterns) {
  size_t count = 0;
  char **const names = wo_files_names(TABLE_DIR, ".txt", &count);
  assert_true(count > 0 && patterns->pack->pattern_count <= PATTERNS_MAX);
  for (size_t i = 0; i < count; i++) read_table(patterns, names[i]);
  wo_files_free_names(names, count);
}

/* Headers of tables and documents say nothing alone: their readers tell of the rows. Nor do signs of life, without a failure
 * above. Then a table test has what makes it an event.
 */
static bool is_tested_with_rows(const struct place *place) {
  return is_in_tables[place->index];
}

/* torch_oom tells the card's maker from the message, so its kind is one of three; xid tells by its number whose fault it was; at
 * most one progress or success is looked for, so there another pattern may have been first. */
static bool is_expected(const struct wo_pattern *pattern, const struct wo_event *event) {
  if (pattern->where != WO_WHERE_LINE) return event->kind == pattern->kind;
  if (!wo_view_equal(event->pattern_id, pattern->id)) return false;
  if (event->kind == pattern->kind || wo_view_is(pattern->reader, "xid")) return true;
  return wo_view_is(pattern->reader, "torch_oom") && wo_kind_class(event->kind) == WO_CLASS_GPU_MEMORY;
}

static const struct wo_event *find_expected(const struct wo_event_store *store, const struct wo_pattern *pattern) {
  for (size_t i = 0; i < store->count; i++) {
    if (is_expected(pattern, &store->items[i])) return &store->items[i];
  }
  return NULL;
}

/* What sounds like a failure and is none leaves no evidence at all. */
static void expect_no_failure(const struct place *place) {
  struct wo_event_store store;
  scan_place(place, "", &store);
  for (size_t i = 0; i < store.count; i++) {
    if (store.items[i].kind == WO_KIND_UNKNOWN_FAILURE) fail_msg("%.*s: sample %zu looks like a failure", WHERE(place));
  }
  wo_event_store_done(&store);
}

static void expect_event(const struct place *place) {
  struct wo_event_store store;
  if (place->pattern->mark == WO_MARK_HARMLESS || place->pattern->mark == WO_MARK_ADVICE) {
    expect_no_failure(place);
    return;
  }
  scan_place(place, "", &store);
  const struct wo_event *const event = find_expected(&store, place->pattern);
  const enum wo_mark mark = place->pattern->mark;
  const bool needs_others = mark == WO_MARK_ALIVE || mark == WO_MARK_SAVED || mark == WO_MARK_COUNTER;
  const bool is_alone = place->pattern->reader.len == 0 && !needs_others;
  if (event == NULL && (is_alone || !is_tested_with_rows(place))) {
    fail_msg("%.*s: sample %zu gives nothing, nor does a table test", WHERE(place));
  }
  if (event != NULL) {
    assert_int_equal(event->span.line, 1);
    assert_true(event->span.byte + event->span.length <= place->line.len + 1);
  }
  wo_event_store_done(&store);
}

static void test_samples(void **state) {
  const struct sample_patterns *const patterns = *state;
  assert_int_equal(patterns->pack->sample_count, patterns->pack->own_pattern_count);
  read_tables(patterns);
  assert_true(for_each(state, false, expect_event) >= patterns->pack->own_pattern_count);
}

static void expect_none(const struct place *place) {
  static const char *const fronts[] = {"", "[rank3]: ", " 8: "};
  for (size_t i = 0; i < sizeof fronts / sizeof fronts[0]; i++) {
    struct wo_event_store store;
    scan_place(place, fronts[i], &store);
    if (find_own(&store, place->pattern->id) != NULL) fail_msg("%.*s: line %zu of 'not' gives an event", WHERE(place));
    wo_event_store_done(&store);
  }
}

static void test_not(void **state) {
  assert_true(for_each(state, true, expect_none) > 0);
}

/* In chunks, byte by byte and without the prefilter. */
static void expect_stable_place(const struct place *place) {
  struct sample_log log = log_of(place, "");
  struct wo_event_store store;
  sample_scan(place->set, sample_view(&log), CHUNK_WHOLE, &store);
  expect_stable(place->set, sample_view(&log), &store);
  wo_event_store_done(&store);
  sample_free(&log);
}

static void test_stable(void **state) {
  for_each(state, false, expect_stable_place);
  for_each(state, true, expect_stable_place);
}

/* All samples as one log, which opens and closes every reader among the others. */
static void test_all_at_once(void **state) {
  const struct sample_patterns *const patterns = *state;
  struct sample_log log = {0};
  struct wo_event_store whole;
  struct wo_event_store other;
  for (size_t i = 0; i < patterns->pack->sample_count; i++) {
    const struct wo_pattern_samples *const samples = &patterns->pack->samples[i];
    for (size_t j = 0; j < samples->match_count; j++) {
      sample_put(&log, samples->match[j].ptr, samples->match[j].len);
      sample_say(&log, j % 2 == 0 ? "\n" : "\r\n");
    }
  }
  sample_scan(patterns->set, sample_view(&log), CHUNK_WHOLE, &whole);
  for (int chunk = CHUNK_RANDOM; chunk <= 13; chunk += 7) {
    sample_scan(patterns->set, sample_view(&log), chunk, &other);
    sample_expect_same(&whole, &other);
    wo_event_store_done(&other);
  }
  sample_scan_with(patterns->set, sample_view(&log), CHUNK_WHOLE,
                   (struct wo_scan_options){.no_prefilter = true, .rank = WO_RANK_UNKNOWN}, &other);
  sample_expect_same(&whole, &other);
  wo_event_store_done(&other);
  wo_event_store_done(&whole);
  sample_free(&log);
}

/* ---- What stands in front ---- */

/* A pattern that asks for the start of the line: `^` that neither begins a set of characters nor stands for itself. */
static bool needs_line_start(const struct wo_pattern *pattern) {
  const struct wo_view regex = pattern->regex;
  for (size_t at = wo_view_find_char(regex, '^', 0); at != WO_NOT_FOUND; at = wo_view_find_char(regex, '^', at + 1)) {
    if (at == 0 || (regex.ptr[at - 1] != '[' && regex.ptr[at - 1] != '\\')) return true;
  }
  return false;
}

/* The fields of both, by value. */
static void expect_fields(const struct place *place, const struct wo_event *bare, const struct wo_event *event) {
  if (bare->field_count != event->field_count) fail_msg("%.*s: sample %zu has other fields", WHERE(place));
  for (uint32_t i = 0; i < bare->field_count; i++) {
    const struct wo_field *const a = &bare->fields[i];
    const struct wo_field *const b = wo_event_field(event, a->id);
    if (b == NULL) fail_msg("%.*s: sample %zu lost %s", WHERE(place), wo_field_name(a->id));
    const bool is_same = a->number.lo == b->number.lo && a->number.mid == b->number.mid && a->number.hi == b->number.hi &&
                         wo_view_equal(a->text, b->text);
    if (!is_same) fail_msg("%.*s: sample %zu has another %s", WHERE(place), wo_field_name(a->id));
  }
}

static void expect_front(const struct place *place, const char *front) {
  struct wo_event_store bare_store;
  struct wo_event_store store;
  scan_place(place, "", &bare_store);
  scan_place(place, front, &store);
  const struct wo_event *const bare = find_own(&bare_store, place->pattern->id);
  const struct wo_event *const event = find_own(&store, place->pattern->id);
  if ((bare == NULL) != (event == NULL)) fail_msg("%.*s: sample %zu behind \"%s\"", WHERE(place), front);
  if (bare != NULL) {
    assert_int_equal(bare->kind, event->kind);
    expect_fields(place, bare, event);
    /* Rows of traces are shown whole, with what stands in front of them. */
    const bool is_row = bare->span.byte == 0 && bare->span.length == place->line.len && event->span.byte == 0;
    assert_int_equal(event->span.byte, bare->span.byte + (is_row ? 0 : strlen(front)));
    assert_int_equal(event->span.length, bare->span.length + (is_row ? strlen(front) : 0));
  }
  wo_event_store_done(&bare_store);
  wo_event_store_done(&store);
}

static void expect_label(const struct place *place) {
  if (!needs_line_start(place->pattern)) expect_front(place, " 8: ");
}

static void expect_rank(const struct place *place) {
  if (!needs_line_start(place->pattern)) expect_front(place, "[rank3]: ");
}

static void expect_time(const struct place *place) {
  if (!needs_line_start(place->pattern)) expect_front(place, "2025-01-02 03:04:05 ");
}

static void test_srun_label(void **state) {
  for_each(state, false, expect_label);
}

static void test_torchrun_prefix(void **state) {
  for_each(state, false, expect_rank);
}

static void test_time(void **state) {
  for_each(state, false, expect_time);
}

/* ---- Fields ---- */

static void expect_sane_fields(const struct place *place) {
  struct wo_event_store store;
  scan_place(place, "", &store);
  for (size_t i = 0; i < store.count; i++) {
    for (uint32_t j = 0; j < store.items[i].field_count; j++) {
      const struct wo_field *const field = &store.items[i].fields[j];
      const enum wo_field_type type = wo_field_type_of(field->id);
      const struct wo_interval number = field->number;
      bool is_sane = type == WO_FIELD_TYPE_TEXT || (number.lo <= number.mid && number.mid <= number.hi && isfinite(number.hi));
      if (type == WO_FIELD_TYPE_BYTES) is_sane = is_sane && number.lo >= 0 && number.hi < 0x1p63;
      if (type == WO_FIELD_TYPE_RATIO) is_sane = is_sane && number.mid >= 0;
      if (!is_sane) fail_msg("%.*s: sample %zu: %s", WHERE(place), wo_field_name(field->id));
    }
  }
  wo_event_store_done(&store);
}

static void test_fields(void **state) {
  for_each(state, false, expect_sane_fields);
  for_each(state, true, expect_sane_fields);
}

/* Cut after any byte, a sample reads nothing beyond its end, and its numbers stay sane. Under a sanitizer each sample is cut at
 * some bytes, which are others in the next one. */
static void expect_sane_cut(const struct place *place) {
  const size_t step = wo_process_is_sanitized ? 9 : 1;
  for (size_t end = place->index % step; end < place->line.len; end += step) {
    struct place cut = *place;
    cut.line.len = end;
    expect_sane_fields(&cut);
  }
}

static void test_cut_anywhere(void **state) {
  for_each(state, false, expect_sane_cut);
}

/* The compiled-in tables are those that would be made now, and are used for the packs at any depth. */
static void test_ready_tables(void **state) {
  const struct sample_patterns *const patterns = *state;
  const struct wo_prefilter_tables *const ready = wo_rule_prefilter();
  const struct wo_prefilter_tables made = wo_prefilter_tables(wo_pattern_set_prefilter(patterns->set));
  assert_true(made.places != ready->places && made.made_of == ready->made_of);
  assert_true(made.place_count == ready->place_count && made.slot_count == ready->slot_count);
  assert_int_equal(made.bitmap_words, ready->bitmap_words);
  assert_memory_equal(made.places, ready->places, made.place_count * sizeof *made.places);
  assert_memory_equal(made.slots, ready->slots, made.slot_count * sizeof *made.slots);
  assert_memory_equal(made.bitmap, ready->bitmap, made.bitmap_words * sizeof *made.bitmap);
  for (int depth = WO_LOAD_FOR_ONE_JOB; depth <= WO_LOAD_ALL; depth++) {
    struct wo_pack *pack = NULL;
    struct wo_pattern_set *set = NULL;
    assert_int_equal(wo_pack_load_all(NULL, (enum wo_load_depth)depth, &pack, NULL), WO_OK);
    assert_int_equal(wo_pattern_set_new(pack->patterns, pack->pattern_count, ready, &set), WO_OK);
    assert_ptr_equal(wo_prefilter_tables(wo_pattern_set_prefilter(set)).places, ready->places);
    wo_pattern_set_free(set);
    wo_pack_free(pack);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_samples),         cmocka_unit_test(test_not),        cmocka_unit_test(test_stable),
      cmocka_unit_test(test_all_at_once),     cmocka_unit_test(test_srun_label), cmocka_unit_test(test_time),
      cmocka_unit_test(test_torchrun_prefix), cmocka_unit_test(test_fields),     cmocka_unit_test(test_cut_anywhere),
      cmocka_unit_test(test_ready_tables),
  };
  return cmocka_run_group_tests(tests, setup, sample_teardown);
}
