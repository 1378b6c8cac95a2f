/* SPDX-License-Identifier: Apache-2.0 */
/* Reports over many jobs: analyzer/table/, in all formats. */
#include "analyzer/table/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "parsers/base/limits.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/files.h"
#include "tests/support/fleet/fleet_rows.h"

/* ---- Writing ---- */

/* What a report was handed to: it keeps all of it, and how much came at once. */
struct sink {
  struct wo_text all;
  size_t most_bytes, calls;
  bool refuses;
};

static bool take(void *context, struct wo_text *out) {
  struct sink *const sink = context;
  sink->calls++;
  if (out->len > sink->most_bytes) sink->most_bytes = out->len;
  if (sink->refuses) return false;
  wo_text_add_view(&sink->all, (struct wo_view){out->ptr, out->len});
  out->len = 0;
  return !sink->all.is_failed;
}

/* Writes the report of a store. The text of *sink is released by the caller, and ends with a NUL. */
static enum wo_status write_table(struct wo_store *store, const struct wo_fleet_options *fleet_options,
                                  const struct wo_table_options *options, struct sink *sink, struct wo_table_result *ret) {
  struct wo_arena arena;
  struct wo_fleet fleet;
  struct wo_err err;
  struct wo_text out = {0};
  wo_arena_init(&arena, WO_LIMIT_FLEET_BYTES);
  enum wo_status status = wo_fleet_make(store, fleet_options, &arena, &fleet, &err);
  if (status == WO_OK) status = wo_table_write(store, &fleet, options, &out, take, sink, ret, &err);
  if (status == WO_OK) take(sink, &out);
  wo_text_add_view(&sink->all, (struct wo_view){"", 1});
  wo_text_done(&out);
  wo_arena_done(&arena);
  return status;
}

static const struct wo_text_style plain = {.width = 80};

static char *text_of(struct wo_store *store, struct wo_table_options options) {
  const struct wo_fleet_options fleet = {.filter = wo_fleet_all()};
  struct sink sink = {0};
  if (options.style.width == 0) options.style = plain;
  assert_int_equal(write_table(store, &fleet, &options, &sink, NULL), WO_OK);
  assert_false(sink.all.is_failed);
  return sink.all.ptr;
}

/* ---- A small archive ---- */

static struct wo_store *small_archive(void) {
  struct wo_store *const store = wo_fleet_store(
      (const char *const[]){"path=logs/ann/slurm-11.out job_id=11 name=train user=ann account=nlp partition=h100 nodes=n1 "
                            "gpu_model=NVIDIA+H100 start_ns=1740000000000000000 "
                            "end_ns=1740036000000000000 elapsed_s=36000 gpus=4 gpu_s=144000 time_from=accounting state=FAILED "
                            "outcome=gpu_oom is_failed=1 cause=oversized-micro-batch "
                            "family=batch confidence=certain title=The+micro-batch+of+32+is+too+large node=n1 rank=0 gpu=0 "
                            "phase=forward step=12 step_total=100 capacity_bytes=85899345920 "
                            "tried_bytes=2147483648 program=training model=Qwen2.5-7B place=model.py+in+forward "
                            "settings=micro_batch=32;seq_len=4096 work=00aa "
                            "evidence=CUDA+out+of+memory.+Tried+to+allocate+2.00+GiB evidence_path=logs/ann/slurm-11.err "
                            "evidence_line=182 fix=reduce-micro-batch "
                            "change=micro_batch+32+->+16 files=2 bytes=40000 unread=0",
                            "path=logs/ann/slurm-12.out job_id=12 name=train user=ann account=nlp partition=h100 nodes=n2 "
                            "gpu_model=NVIDIA+H100 end_ns=1740136000000000000 elapsed_s=3600 gpus=4 "
                            "gpu_s=14400 outcome=gpu_oom is_failed=1 cause=oversized-micro-batch family=batch confidence=certain "
                            "title=The+micro-batch+of+32+is+too+large "
                            "place=model.py+in+forward settings=micro_batch=32;seq_len=4096 work=00aa fix=reduce-micro-batch "
                            "change=micro_batch+32+->+16 files=1 bytes=100 unread=1",
                            "path=logs/ann/slurm-13.out job_id=13 name=train user=ann account=nlp partition=h100 nodes=n2 "
                            "end_ns=1740236000000000000 elapsed_s=7200 gpus=4 gpu_s=28800 "
                            "outcome=success is_failed=0 settings=micro_batch=16;seq_len=4096 files=1 bytes=100 unread=0",
                            "path=logs/bob/run.log user=bob outcome=host_oom is_failed=1 cause=host-memory-cgroup "
                            "family=host-memory confidence=likely title=The+limit+of+main+memory+was+reached "
                            "evidence=Killed files=1 bytes=100 unread=0",
                            "path=logs/bob/other.log user=bob outcome=unknown is_failed=0 files=1 bytes=100 unread=0", NULL});
  for (int i = 0; i < 14; i++) {
    const bool is_failed = i % 2 == 1;
    wo_fleet_putf(store,
                  "path=logs/cay/lr_77_%d.out job_id=%d array_job=77 array_task=%d name=lr user=cay nodes=n%d end_ns=%d000000000 "
                  "elapsed_s=600 gpus=1 gpu_s=600 outcome=%s "
                  "is_failed=%d %s settings=lr=0.00%d;micro_batch=%d files=1 bytes=10 unread=0",
                  i, 78 + i, i, 3 + i % 4, 1740300000 + i, is_failed ? "gpu_oom" : "success", is_failed,
                  is_failed ? "cause=oversized-micro-batch family=batch confidence=likely title=Too+large fix=reduce-micro-batch"
                            : "files=1",
                  1 + i % 3, is_failed ? 64 : 8);
  }
  for (int i = 0; i < 6; i++) {
    wo_fleet_putf(store,
                  "path=logs/dan/%d.out job_id=%d name=d%d user=dan%d nodes=n9 node=n9 end_ns=%d000000000 outcome=hardware "
                  "is_failed=1 cause=gpu-off-the-bus family=not_memory "
                  "confidence=certain title=The+card+has+fallen+off+the+bus fix=avoid-node files=1 bytes=10 unread=0",
                  i, 100 + i, i, i, 1740400000 + i * 90000);
  }
  wo_fleet_put(
      store,
      "path=logs/dan/9.out job_id=109 name=d9 user=dan nodes=n9 outcome=success is_failed=0 gpu_s=36 files=1 bytes=10 unread=0");
  return store;
}

/* ---- Goldens ---- */

/* Takes the style sheet and the script out of a page: they are not what the golden is about. */
static void cut_element(char *text, const char *begin, const char *end) {
  char *const from = strstr(text, begin);
  char *const to = from != NULL ? strstr(from + strlen(begin), end) : NULL;
  if (to == NULL) return;
  memmove(from + strlen(begin), to, strlen(to) + 1);
}

/* The versions of the program and of the page's style and script change without a change of the page. */
static void cut_versions(char *text) {
  cut_element(text, "<style>", "</style>");
  cut_element(text, "</style>\n<style>", "</style>");
  cut_element(text, "<script>", "</script>");
  cut_element(text, "</script>\n<script>", "</script>");
  cut_element(text, "style-src '", "'; script-src");
  cut_element(text, "script-src '", "'; base-uri");
  cut_element(text, "Made by whyoom ", ". A ");
}

/* With WHYOOM_UPDATE_GOLDEN=1 the golden is rewritten instead. */
static void check_golden(const char *name, char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s/tests/unit/analyzer/table/golden/%s", WO_SOURCE_DIR, name);
  if (getenv("WHYOOM_UPDATE_GOLDEN") != NULL) assert_true(wo_files_write(path, wo_view_of(text)));
  size_t len = 0;
  char *const golden = wo_files_read(path, &len);
  assert_non_null(golden);
  size_t line = 1;
  for (size_t i = 0; i < len && golden[i] == text[i]; i++) line += golden[i] == '\n';
  if (strcmp(golden, text) != 0) fail_msg("%s differs at line %zu", name, line);
  free(golden);
  free(text);
}

static void test_goldens(void **state) {
  (void)state;
  struct wo_store *const store = small_archive();
  const struct wo_view roots = WO_VIEW("logs");
  check_golden("text-80.txt", text_of(store, (struct wo_table_options){.roots = roots}));
  check_golden("text-50.txt", text_of(store, (struct wo_table_options){.roots = roots, .rows = 3, .style = {.width = 50}}));
  check_golden("verbose-120.txt", text_of(store, (struct wo_table_options){.store_path = WO_VIEW("my fleet.db"),
                                                                           .style = {.width = 120, .is_verbose = true}}));
  check_golden("jobs.jsonl", text_of(store, (struct wo_table_options){.format = WO_TABLE_JSONL, .with_fleet = true}));
  check_golden("jobs.csv", text_of(store, (struct wo_table_options){.format = WO_TABLE_CSV}));
  check_golden("jobs.md", text_of(store, (struct wo_table_options){.format = WO_TABLE_MARKDOWN}));
  check_golden("ids.txt", text_of(store, (struct wo_table_options){.format = WO_TABLE_JOBID}));
  char *const page =
      text_of(store, (struct wo_table_options){.format = WO_TABLE_HTML, .roots = roots, .store_path = WO_VIEW("fleet.db")});
  cut_versions(page);
  check_golden("jobs.html", page);
  wo_store_close(store);
}

/* Text and pages say what is not in the store; so does a baseline that is not there. */
static void test_notes(void **state) {
  (void)state;
  struct wo_store *const store = small_archive();
  struct wo_err err;
  struct wo_store_scan scan = {
      .roots = WO_VIEW("logs"), .shard = 1, .shard_count = 3, .rules = WO_VIEW("r"), .start_ns = 1, .end_ns = WO_ROW_UNKNOWN};
  assert_int_equal(wo_store_begin_scan(store, &scan, &err), WO_OK);
  assert_int_equal(wo_store_put_problem(store, WO_VIEW("logs/<x>"), WO_VIEW("permission denied"), &err), WO_OK);
  const struct wo_fleet_options fleet = {.filter = wo_fleet_all(), .baseline = WO_VIEW("11")};
  static const char *const said[] = {"shard 1 of 3 of logs was not scanned to the end: jobs may be missing", "permission denied",
                                     "no job that went well has the id or path of the baseline",
                                     "files of 1 job could not be read to their end"};
  for (enum wo_table_format format = WO_TABLE_TEXT; format <= WO_TABLE_HTML; format++) {
    if (format == WO_TABLE_JSONL || format == WO_TABLE_CSV) continue;
    const struct wo_table_options options = {.format = format, .style = {.width = 130}};
    struct sink sink = {0};
    assert_int_equal(write_table(store, &fleet, &options, &sink, NULL), WO_OK);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
      if (strstr(sink.all.ptr, said[i]) == NULL) fail_msg("format %d does not say: %s", (int)format, said[i]);
    }
    wo_text_done(&sink.all);
  }
  wo_store_close(store);
}

static void test_no_jobs(void **state) {
  (void)state;
  struct wo_store *const store = wo_fleet_store((const char *const[]){NULL});
  for (enum wo_table_format format = WO_TABLE_TEXT; format <= WO_TABLE_JOBID; format++) {
    char *const text = text_of(store, (struct wo_table_options){.format = format});
    if (format == WO_TABLE_TEXT) assert_string_equal(text, "0 jobs\n");
    if (format == WO_TABLE_JSONL || format == WO_TABLE_JOBID) assert_string_equal(text, "");
    free(text);
  }
  wo_store_close(store);
}

/* The screen of a terminal is not left by a line. */
static void test_width_is_kept(void **state) {
  (void)state;
  struct wo_store *const store = small_archive();
  for (size_t width = 40; width <= 130; width += 15) {
    char *const text = text_of(store, (struct wo_table_options){.roots = WO_VIEW("logs"), .style = {.width = width}});
    struct wo_view rest = wo_view_of(text);
    while (rest.len > 0) {
      const struct wo_view line = wo_view_cut(&rest, '\n');
      if (wo_text_columns(line) > width && !wo_view_has(line, "whyoom ")) fail_msg("%zu columns: %.*s", width, WO_SHOWN(line));
    }
    free(text);
  }
  wo_store_close(store);
}

static void test_colours_only_where_wanted(void **state) {
  (void)state;
  struct wo_store *const store = small_archive();
  char *text = text_of(store, (struct wo_table_options){.style = {.width = 80}});
  assert_null(strchr(text, '\033'));
  free(text);
  text = text_of(store, (struct wo_table_options){.style = {.width = 80, .use_color = true}});
  assert_non_null(strstr(text, "\033[1;31moversized-micro-batch\033[0m"));
  free(text);
  wo_store_close(store);
}

/* ---- CSV and JSON ---- */

static struct wo_store *hostile_archive(void) {
  struct wo_store *const store = wo_fleet_store((const char *const[]){NULL});
  struct wo_store_job job = {.row = wo_row_empty()};
  const struct wo_view text =
      WO_VIEW("=cmd|'/C calc'!A0\"</script><img src=x onerror=alert(1)>&amp;`<!--\xe2\x80\xae\x1b[31m\xff{{x}}");
  for (enum wo_column_id id = 0; id < WO_COLUMN_COUNT_; id++) {
    if (wo_columns[id].type == WO_COLUMN_TEXT) wo_row_set_text(&job.row, id, text);
  }
  job.row.settings = WO_VIEW("<b>=\"1\"\n\x1b]0;=x\nmicro_batch=-1");
  job.row.is_failed = 1;
  struct wo_err err;
  for (int i = 0; i < 3; i++) {
    char path[128];
    snprintf(path, sizeof path, "a/'\"<x onerror=%d>\xe2\x80\xae\x1b[31m\xff", i);
    job.row.path = wo_view_of(path);
    assert_int_equal(wo_store_put(store, &job, &err), WO_OK);
  }
  return store;
}

/* Nothing that a terminal or a reader would obey is in any format. */
static void test_hostile_texts(void **state) {
  (void)state;
  struct wo_store *const store = hostile_archive();
  for (enum wo_table_format format = WO_TABLE_TEXT; format <= WO_TABLE_JOBID; format++) {
    char *const text = text_of(
        store, (struct wo_table_options){.format = format, .with_fleet = true, .style = {.width = 100, .is_verbose = true}});
    assert_null(strchr(text, '\033'));
    assert_null(strstr(text, "\xe2\x80\xae"));
    assert_null(strchr(text, '\xff'));
    if (format == WO_TABLE_JSONL || format == WO_TABLE_HTML || format == WO_TABLE_MARKDOWN) assert_null(strstr(text, "<img"));
    if (format == WO_TABLE_JSONL) assert_null(strstr(text, "</"));
    free(text);
  }
  wo_store_close(store);
}

/* Splits a row of CSV into cells, by RFC 4180; returns their number. */
static size_t split_csv(char **rest, char cells[][256], size_t room) {
  size_t count = 0;
  char *c = *rest;
  for (bool is_end = false; !is_end && count < room; count++) {
    size_t len = 0;
    const bool is_quoted = *c == '"';
    if (is_quoted) c++;
    while (*c != '\0' && !(is_quoted ? c[0] == '"' && c[1] != '"' : *c == ',' || *c == '\r')) {
      if (is_quoted && *c == '"') c++;
      assert_true(len < 255);
      cells[count][len++] = *c++;
    }
    cells[count][len] = '\0';
    if (is_quoted) assert_int_equal(*c++, '"');
    assert_true(*c == ',' || (c[0] == '\r' && c[1] == '\n'));
    is_end = *c == '\r';
    c += is_end ? 2 : 1;
  }
  *rest = c;
  return count;
}

static void test_csv(void **state) {
  (void)state;
  struct wo_store *const store = hostile_archive();
  char *const text = text_of(store, (struct wo_table_options){.format = WO_TABLE_CSV}), *rest = text;
  static char cells[WO_COLUMN_COUNT_ + 1][256];
  assert_int_equal(split_csv(&rest, cells, WO_COLUMN_COUNT_ + 1), WO_COLUMN_COUNT_);
  for (enum wo_column_id id = 0; id < WO_COLUMN_COUNT_; id++) assert_string_equal(cells[id], wo_columns[id].name);
  for (int row = 0; row < 3; row++) {
    assert_int_equal(split_csv(&rest, cells, WO_COLUMN_COUNT_ + 1), WO_COLUMN_COUNT_);
    for (enum wo_column_id id = 0; id < WO_COLUMN_COUNT_; id++)
      assert_null(strchr("=+-@\t", cells[id][0] == '\0' ? 'x' : cells[id][0]));
    assert_string_equal(cells[WO_COLUMN_OF_gpus], "");
    assert_string_equal(cells[WO_COLUMN_OF_is_failed], "1");
    assert_non_null(strstr(cells[WO_COLUMN_OF_title], "'=cmd|'/C calc'!A0\"</script>"));
  }
  assert_string_equal(rest, "");
  free(text);
  wo_store_close(store);
}

static void test_jsonl(void **state) {
  (void)state;
  struct wo_store *const store = hostile_archive();
  char *const text = text_of(store, (struct wo_table_options){.format = WO_TABLE_JSONL, .with_fleet = true});
  struct wo_view rest = wo_view_of(text);
  for (int row = 0; row < 4; row++) {
    const struct wo_view line = wo_view_cut(&rest, '\n');
    cJSON *const object = cJSON_ParseWithLength(line.ptr, line.len);
    if (object == NULL) fail_msg("no JSON: %.*s", WO_SHOWN(line));
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(object, "schema")), row < 3 ? "whyoom.job/1" : "whyoom.fleet/1");
    if (row < 3) {
      assert_int_equal(cJSON_GetArraySize(object), WO_COLUMN_COUNT_ + 1);
      assert_true(cJSON_IsNull(cJSON_GetObjectItem(object, "gpus")));
      assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetObjectItem(object, "settings"), "micro_batch")),
                          "-1");
    } else {
      assert_int_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(object, "totals"), "failed")->valueint, 3);
      assert_true(cJSON_IsNull(cJSON_GetObjectItem(cJSON_GetObjectItem(object, "totals"), "lost_gpu_s")));
    }
    cJSON_Delete(object);
  }
  assert_int_equal(rest.len, 0);
  free(text);
  wo_store_close(store);
}

static void test_ids(void **state) {
  (void)state;
  struct wo_store *const store =
      wo_fleet_store((const char *const[]){"path=1 job_id=5 is_failed=1", "path=2 job_id=6 is_failed=0", "path=3 is_failed=1",
                                           "path=4 job_id=9 array_job=7 array_task=0 is_failed=1", NULL});
  const struct wo_fleet_options fleet = {.filter = wo_fleet_all()};
  const struct wo_table_options options = {.format = WO_TABLE_JOBID};
  struct sink sink = {0};
  struct wo_table_result result;
  assert_int_equal(write_table(store, &fleet, &options, &sink, &result), WO_OK);
  assert_string_equal(sink.all.ptr, "5\n7_0\n");
  assert_int_equal(result.left_out, 1);
  wo_text_done(&sink.all);
  wo_store_close(store);
}

/* ---- Streams, and failures ---- */

static void test_rows_are_handed_on(void **state) {
  (void)state;
  struct wo_store *const store = wo_fleet_store((const char *const[]){NULL});
  struct wo_err err;
  assert_int_equal(wo_store_begin(store, &err), WO_OK);
  for (int i = 0; i < 3000; i++)
    wo_fleet_putf(store, "path=logs/%d.out job_id=%d is_failed=1 user=u%d title=A+title+of+some+length gpu_s=%d", i, i, i % 7, i);
  assert_int_equal(wo_store_commit(store, &err), WO_OK);
  const struct wo_fleet_options fleet = {.filter = wo_fleet_all()};
  for (enum wo_table_format format = WO_TABLE_TEXT; format <= WO_TABLE_JOBID; format++) {
    const struct wo_table_options options = {.format = format, .style = {.width = 80, .is_verbose = true}};
    struct sink sink = {0};
    struct wo_table_result result = {0};
    assert_int_equal(write_table(store, &fleet, &options, &sink, &result), WO_OK);
    assert_true(sink.most_bytes < WO_LIMIT_DRAIN_BYTES + 32 * 1024);
    if (format != WO_TABLE_MARKDOWN) assert_int_equal(result.rows, 3000);
    wo_text_done(&sink.all);
    sink = (struct sink){.refuses = true};
    const enum wo_status status = write_table(store, &fleet, &options, &sink, NULL);
    const bool is_long = format != WO_TABLE_MARKDOWN && format != WO_TABLE_JOBID;
    assert_int_equal(status, is_long ? WO_E_IO : WO_OK);
    assert_int_equal(sink.calls, 1);
    wo_text_done(&sink.all);
  }
  wo_store_close(store);
}

/* Whichever allocation fails: an error, or the whole report. */
static void test_memory_is_out(void **state) {
  (void)state;
  struct wo_store *const store = small_archive();
  struct wo_arena arena;
  struct wo_fleet fleet;
  struct wo_err err;
  const struct wo_fleet_options fleet_options = {.filter = wo_fleet_all(), .baseline = WO_VIEW("13")};
  wo_arena_init(&arena, WO_LIMIT_FLEET_BYTES);
  assert_int_equal(wo_fleet_make(store, &fleet_options, &arena, &fleet, &err), WO_OK);
  for (enum wo_table_format format = WO_TABLE_TEXT; format <= WO_TABLE_JOBID; format++) {
    const struct wo_table_options options = {.format = format, .with_fleet = true, .style = {.width = 80, .is_verbose = true}};
    size_t whole = 0;
    for (long n = 0;; n++) {
      struct sink sink = {0};
      struct wo_text out = {0};
      if (n > 0) wo_fail_alloc_at(n);
      const enum wo_status status = wo_table_write(store, &fleet, &options, &out, take, &sink, NULL, &err);
      wo_fail_alloc_off();
      const size_t len = sink.all.len + out.len;
      if (n == 0) whole = len;
      if (status == WO_OK) assert_int_equal(len, whole);
      wo_text_done(&out);
      wo_text_done(&sink.all);
      if (n > 0 && !wo_fail_alloc_hit()) break;
    }
  }
  wo_arena_done(&arena);
  wo_store_close(store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_goldens),
      cmocka_unit_test(test_notes),
      cmocka_unit_test(test_no_jobs),
      cmocka_unit_test(test_width_is_kept),
      cmocka_unit_test(test_colours_only_where_wanted),
      cmocka_unit_test(test_hostile_texts),
      cmocka_unit_test(test_csv),
      cmocka_unit_test(test_jsonl),
      cmocka_unit_test(test_ids),
      cmocka_unit_test(test_rows_are_handed_on),
      cmocka_unit_test(test_memory_is_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
