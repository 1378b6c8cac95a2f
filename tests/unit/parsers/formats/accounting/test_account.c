/* SPDX-License-Identifier: Apache-2.0 */
/* What all readers of accounting share: every state in each of their texts, and texts that are cut, chunked, or met by a lack of
 * memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parsers/formats/accounting/account.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/job/scan_own.h"

static struct wo_pattern_set *set_of(void **state) {
  return ((struct sample_patterns *)*state)->set;
}

/* ---- States ---- */

static const struct {
  const char *name;
  enum wo_kind kind; /* of a job that ended in it */
} states[] = {
    {"COMPLETED", WO_KIND_JOB_INFO},        {"RUNNING", WO_KIND_JOB_INFO},         {"PENDING", WO_KIND_JOB_INFO},
    {"COMPLETING", WO_KIND_JOB_INFO},       {"SUSPENDED", WO_KIND_JOB_INFO},       {"RESIZING", WO_KIND_JOB_INFO},
    {"CONFIGURING", WO_KIND_JOB_INFO},      {"REQUEUE_HOLD", WO_KIND_JOB_INFO},    {"REQUEUE_FED", WO_KIND_JOB_INFO},
    {"SPECIAL_EXIT", WO_KIND_JOB_INFO},     {"RESV_DEL_HOLD", WO_KIND_JOB_INFO},   {"STAGE_OUT", WO_KIND_JOB_INFO},
    {"STOPPED", WO_KIND_JOB_INFO},          {"SIGNALING", WO_KIND_JOB_INFO},       {"FAILED", WO_KIND_TASK_EXIT},
    {"CANCELLED", WO_KIND_CANCELLED},       {"REVOKED", WO_KIND_CANCELLED},        {"TIMEOUT", WO_KIND_TIME_LIMIT},
    {"DEADLINE", WO_KIND_TIME_LIMIT},       {"NODE_FAIL", WO_KIND_NODE_FAIL},      {"BOOT_FAIL", WO_KIND_NODE_FAIL},
    {"RECONFIG_FAIL", WO_KIND_NODE_FAIL},   {"PREEMPTED", WO_KIND_PREEMPTED},      {"REQUEUED", WO_KIND_PREEMPTED},
    {"LAUNCH_FAILED", WO_KIND_LAUNCH_FAIL}, {"OUT_OF_MEMORY", WO_KIND_CGROUP_OOM},
};

/* One text of each reader around a state. */
static const char *const around[][2] = {
    {"JobId=61 JobName=a\n   JobState=", " Reason=None Dependency=(null)\n"},
    {"JobId=61 JobName=a UserId=x(1) JobState=", " Reason=None\n"},
    {"JobID|State|JobName\n61|", "|a\n"},
    {"JobID          State JobName\n----- -------------- -------\n61    ", "\n"},
    {"{\"jobs\":[{\"job_id\":61,\"state\":{\"current\":[\"", "\"]}}]}\n"},
    {"{\"jobs\": [\n{\"job_id\": 61,\n \"state\": {\"current\": \"", "\"}}]}\n"},
    {"Job ID: 61\nState: ", " (exit code 0)\n"},
    {"================\n   Slurm Job Statistics\n================\n   Job ID: 61\n    State: ", "\n"},
};

static void test_states(void **state) {
  for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
    for (size_t k = 0; k < sizeof around / sizeof around[0]; k++) {
      struct sample_log log = {0};
      struct wo_event_store store;
      sample_say(&log, around[k][0]);
      sample_say(&log, states[i].name);
      sample_say(&log, around[k][1]);
      sample_scan(set_of(state), sample_view(&log), CHUNK_WHOLE, &store);
      const struct wo_event *end = sample_find(&store, states[i].kind, 0);
      if (end == NULL) fail_msg("no %s: %.*s", wo_kind_name(states[i].kind), (int)log.len, log.text);
      sample_expect_text(end, WO_FIELD_STATE, states[i].name);
      sample_expect_text(end, WO_FIELD_JOB, "61");
      if (sample_count(&store, WO_KIND_JOB_INFO) != 1) fail_msg("%.*s", (int)log.len, log.text);
      wo_event_store_done(&store);
      sample_free(&log);
    }
  }
}

/* A cut name is full again when four letters are left of it; fewer are none. */
static void test_cut_states(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
    for (size_t len = 1; len < strlen(states[i].name); len++) {
      char cut[32];
      snprintf(cut, sizeof cut, "%.*s+", (int)len, states[i].name);
      const struct wo_view found = wo__account_state(wo_view_of(cut));
      const bool is_prefix = found.len > len && memcmp(found.ptr, states[i].name, len) == 0;
      if (len < 4 ? found.len != 0 : !is_prefix) fail_msg("%s is %.*s", cut, (int)found.len, found.len > 0 ? found.ptr : "");
      cut[len] = '\0';
      assert_int_equal(wo__account_state(wo_view_of(cut)).len, 0);
    }
  }
}

/* What sacct prints in its default width of ten. */
static void test_default_width(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
    char cut[32];
    snprintf(cut, sizeof cut, strlen(states[i].name) > 10 ? "%.9s+" : "%s", states[i].name);
    if (strncmp(cut, "REQUEUE_", 8) != 0 && !wo_view_is(wo__account_state(wo_view_of(cut)), states[i].name)) fail_msg("%s", cut);
  }
}

/* ---- Texts that are met by bad luck ---- */

#define LOG_LINE "step 12: loss = 3.5\n"

static const struct {
  const char *name;
  const char *text;
} texts[] = {
    {"scontrol", LOG_LINE
     "JobId=9001 ArrayJobId=8990 ArrayTaskId=11 JobName=big run\n   UserId=mara(51) GroupId=vit(64)\n"
     "   JobState=FAILED Reason=NonZeroExitCode Dependency=(null)\n   Requeue=1 ExitCode=17:0\n   DerivedExitCode=17:0\n"
     "   RunTime=11:12:13 TimeLimit=2-12:00:00 TimeMin=N/A\n   NodeList=gpu[21-22]\n   NumNodes=2 NumCPUs=64 NumTasks=16\n"
     "   TRES=cpu=64,mem=300G,node=2,gres/gpu=16\n   Command=/home/mara/x.sbatch --a=b c\n   WorkDir=/home/mara\n\n" LOG_LINE},
    {"sacct --parsable", "JobID|JobName|NNodes|Elapsed|Timelimit|State|ExitCode|MaxRSS|NodeList|\n"
                         "9001_11|big run|2|11:12:13|2-12:00:00|FAILED|17:0||gpu[21-22]|\n"
                         "9001_11.batch|batch|1|11:12:13||FAILED|17:0|77000K|gpu21|\n9001_11.0|python|2|11:00:10||OUT_OF_MEMORY|"
                         "0:125|88000K|n|\n" LOG_LINE},
    {"sacct",
     "JobID           JobName      State ExitCode     MaxRSS \n------------ ---------- ---------- -------- ---------- \n"
     "9001_11         big run     FAILED     17:0            \n9001_11.0        python OUT_OF_ME+    0:125     88000K \n"},
    {"sacct --json",
     "{\n \"jobs\": [\n  {\n   \"allocation_nodes\": 2,\n   \"array\": {\"job_id\": 8990, \"task_id\": {\"set\": true, "
     "\"number\": 11}},\n"
     "   \"time\": {\"elapsed\": 40333, \"limit\": {\"set\": true, \"infinite\": false, \"number\": 3600}},\n"
     "   \"exit_code\": {\"return_code\": 17, \"signal\": {\"id\": 0}},\n   \"job_id\": 9001,\n   \"name\": \"big "
     "\\\"run\\\"\",\n"
     "   \"nodes\": \"gpu[21-22]\",\n   \"state\": {\"current\": [\"FAILED\"], \"reason\": \"None\"},\n"
     "   \"steps\": [{\"exit_code\": {\"return_code\": 0, \"signal\": {\"id\": 125}}, \"state\": [\"OUT_OF_MEMORY\"],\n"
     "     \"step\": {\"id\": \"9001.0\"}, \"tres\": {\"requested\": {\"max\": [{\"type\": \"mem\", \"count\": 90112000}]}}}],\n"
     "   \"tres\": {\"allocated\": [{\"type\": \"mem\", \"count\": 307200}, {\"type\": \"gres\", \"name\": \"gpu\", \"count\": "
     "16}]}\n"
     "  }\n ]\n}\n"},
    {"seff", "Job ID: 9001\nArray Job ID: 8990_11\nCluster: c\nState: OUT_OF_MEMORY (exit code 0)\nNodes: 2\nCores per node: 32\n"
             "Job Wall-clock time: 11:12:13\nMemory Utilized: 290.50 GB\nMemory Efficiency: 96.83% of 300.00 GB\n" LOG_LINE},
    {"jobstats", "====================\n   Slurm Job Statistics\n====================\n     Job ID: 9001\n      State: FAILED\n"
                 "      Nodes: 2\n CPU Memory: 300GB (4.7GB per CPU-core)\n       GPUs: 16\n   Run Time: 11:12:13\n"
                 " Time Limit: 2-12:00:00\n\n  GPU memory usage per node\n      gpu21 (GPU 0): 26.5GB/40.0GB (66.2%)\n"},
};

#define TEXT_COUNT (sizeof texts / sizeof texts[0])

/* Fails unless each field of an event from a cut text is that of the whole text. */
static void expect_right_or_absent(const struct wo_event *cut, const struct wo_event *whole, const char *name, size_t len) {
  if (cut->kind != whole->kind || cut->span.byte != whole->span.byte) fail_msg("%s cut at %zu: another event", name, len);
  for (size_t i = 0; i < cut->field_count; i++) {
    const struct wo_field *field = wo_event_field(whole, cut->fields[i].id);
    const bool is_same =
        field && wo_view_equal(cut->fields[i].text, field->text) && fabs(cut->fields[i].number.mid - field->number.mid) < 0.5;
    if (!is_same) fail_msg("%s cut at %zu: %s differs", name, len, wo_field_name(cut->fields[i].id));
  }
}

/* The event of the whole text at the same place and of the same kind. */
static const struct wo_event *partner(const struct wo_event_store *store, const struct wo_event *event) {
  for (size_t i = 0; i < store->count; i++) {
    if (store->items[i].kind == event->kind && store->items[i].span.byte == event->span.byte) return &store->items[i];
  }
  return NULL;
}

/* Cut behind any line: whatever is told is right, unless its kind is not yet (the exit code comes after the state). */
static void test_cut_lines(void **state) {
  for (size_t i = 0; i < TEXT_COUNT; i++) {
    struct wo_event_store whole;
    sample_scan_text(set_of(state), texts[i].text, &whole);
    assert_true(whole.count > 1);
    for (size_t len = 1; texts[i].text[len - 1] != '\0'; len++) {
      struct wo_event_store cut;
      if (texts[i].text[len - 1] != '\n') continue;
      sample_scan(set_of(state), (struct wo_view){texts[i].text, len}, CHUNK_WHOLE, &cut);
      assert_true(cut.count <= whole.count);
      for (size_t k = 0; k < cut.count; k++) {
        const struct wo_event *other = partner(&whole, &cut.items[k]);
        if (cut.items[k].kind == WO_KIND_PROGRESS) continue;
        if (other == NULL) fail_msg("%s cut at %zu: an event of its own", texts[i].name, len);
        expect_right_or_absent(&cut.items[k], other, texts[i].name, len);
      }
      wo_event_store_done(&cut);
    }
    wo_event_store_done(&whole);
  }
}

/* Cut at any byte, also by force in the middle of the text: events stay inside it and are no more than before. */
static void test_cut_anywhere(void **state) {
  for (size_t i = 0; i < TEXT_COUNT; i++) {
    const struct wo_view text = wo_view_of(texts[i].text);
    struct wo_event_store whole;
    sample_scan_text(set_of(state), texts[i].text, &whole);
    for (size_t len = 0; len <= text.len; len++) {
      struct wo_event_store cut;
      sample_scan(set_of(state), wo_view_sub(text, 0, len), CHUNK_RANDOM, &cut);
      if (cut.count > whole.count) fail_msg("%s cut at %zu: %zu events", texts[i].name, len, cut.count);
      for (size_t k = 0; k < cut.count; k++) assert_true(cut.items[k].span.byte + cut.items[k].span.length <= len);
      wo_event_store_done(&cut);
      sample_scan(set_of(state), wo_view_skip(text, len), CHUNK_WHOLE, &cut);
      for (size_t k = 0; k < cut.count; k++) assert_true(cut.items[k].span.byte + cut.items[k].span.length <= text.len - len);
      wo_event_store_done(&cut);
    }
    wo_event_store_done(&whole);
  }
}

static void test_chunks(void **state) {
  for (size_t i = 0; i < TEXT_COUNT; i++) {
    struct wo_event_store whole;
    sample_scan_text(set_of(state), texts[i].text, &whole);
    expect_stable(set_of(state), wo_view_of(texts[i].text), &whole);
    wo_event_store_done(&whole);
  }
}

/* Any byte replaced by one that means something to a reader. */
static void test_damage(void **state) {
  static const char marks[] = "|=+\"{}[]:\\\n\t ,0\x1b";
  for (size_t i = 0; i < TEXT_COUNT; i++) {
    char *const copy = strdup(texts[i].text);
    const size_t len = strlen(copy);
    for (size_t at = 0; at < len; at++) {
      struct wo_event_store store;
      copy[at] = at % sizeof marks == sizeof marks - 1 ? '\0' : marks[(at * 7 + i) % (sizeof marks - 1)];
      sample_scan(set_of(state), (struct wo_view){copy, len}, CHUNK_WHOLE, &store);
      for (size_t k = 0; k < store.count; k++) assert_true(store.items[k].span.byte + store.items[k].span.length <= len);
      wo_event_store_done(&store);
      copy[at] = texts[i].text[at];
    }
    free(copy);
  }
}

/* ---- Lack of memory ---- */

/* Whether a scan says that it succeeded. */
static bool scan_with_failures(struct wo_pattern_set *set, const char *text, struct wo_event_store *store) {
  struct wo_scan *scan = NULL;
  struct wo_scan_summary summary;
  wo_event_store_init(store);
  bool is_good = wo_scan_new(set, &wo_formats, store, (struct wo_scan_options){.rank = WO_RANK_UNKNOWN}, &scan) == WO_OK;
  is_good = is_good && wo_scan_feed(scan, text, strlen(text)) == WO_OK;
  is_good = is_good && wo_scan_end(scan, &summary) == WO_OK;
  wo_scan_free(scan);
  return is_good && !store->is_out_of_memory;
}

static void test_failing_allocations(void **state) {
  for (size_t i = 0; i < TEXT_COUNT; i++) {
    struct wo_event_store whole, store;
    size_t failed = 0;
    bool was_hit = true;
    sample_scan_text(set_of(state), texts[i].text, &whole);
    for (long n = 1; was_hit; n++) {
      if (n % 2 == 0) wo_fail_alloc_from(n / 2);
      if (n % 2 == 1) wo_fail_alloc_at(n / 2 + 1);
      const bool is_good = scan_with_failures(set_of(state), texts[i].text, &store);
      was_hit = wo_fail_alloc_hit();
      wo_fail_alloc_off();
      if (is_good) sample_expect_same(&whole, &store);
      if (!is_good && !was_hit) fail_msg("%s failed without a reason", texts[i].name);
      failed += !is_good;
      wo_event_store_done(&store);
    }
    assert_true(failed > 0);
    wo_event_store_done(&whole);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_states),        cmocka_unit_test(test_cut_states),
      cmocka_unit_test(test_default_width), cmocka_unit_test(test_cut_lines),
      cmocka_unit_test(test_chunks),        cmocka_unit_test(test_damage),
      cmocka_unit_test(test_cut_anywhere),  cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests_name("account", tests, own_setup, own_teardown);
}
