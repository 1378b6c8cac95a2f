/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of a store say together: analyzer/fleet/. */
#include "analyzer/fleet/fleet.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parsers/base/limits.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/fleet/fleet_rows.h"

/* A fleet with what it was made of. */
struct made {
  struct wo_store *store;
  struct wo_arena arena;
  struct wo_fleet fleet;
};

static struct made make_with(struct wo_store *store, struct wo_fleet_options options) {
  struct made made = {.store = store};
  struct wo_err err;
  wo_arena_init(&made.arena, WO_LIMIT_FLEET_BYTES);
  if (wo_fleet_make(store, &options, &made.arena, &made.fleet, &err) != WO_OK) fail_msg("%s", err.message);
  return made;
}

static struct made make(struct wo_store *store) {
  return make_with(store, (struct wo_fleet_options){.filter = wo_fleet_all()});
}

static void done(struct made *made) {
  wo_arena_done(&made->arena);
  wo_store_close(made->store);
}

#define ASSERT_VIEW(view, text) assert_true(wo_view_is((view), (text)))

/* ---- Totals and lists ---- */

static void test_no_job(void **state) {
  (void)state;
  struct made made = make(wo_fleet_store((const char *const[]){NULL}));
  assert_int_equal(made.fleet.totals.sum.jobs, 0);
  assert_true(made.fleet.totals.first_ns == WO_ROW_UNKNOWN);
  assert_int_equal(made.fleet.node_count + made.fleet.repeat_count + made.fleet.sweep_count + made.fleet.cluster_count, 0);
  assert_int_equal(made.fleet.day_count, 0);
  for (enum wo_fleet_list_id list = 0; list < WO_FLEET_LIST_COUNT_; list++) assert_int_equal(made.fleet.lists[list].count, 0);
  done(&made);
}

static void test_one_job_of_which_little_is_known(void **state) {
  (void)state;
  struct made made = make(wo_fleet_store((const char *const[]){"path=a.out is_failed=1", NULL}));
  assert_int_equal(made.fleet.totals.sum.failed, 1);
  assert_int_equal(made.fleet.totals.sum.lost_unknown, 1);
  assert_int_equal(made.fleet.totals.users, 0);
  assert_int_equal(made.fleet.unplaced, 1);
  assert_int_equal(made.fleet.undated, 1);
  assert_int_equal(made.fleet.cluster_count, 1);
  assert_int_equal(made.fleet.lists[WO_FLEET_BY_USER].items[0].key.len, 0);
  assert_int_equal(made.fleet.lists[WO_FLEET_BY_FIX].count, 0);
  done(&made);
}

static const char *const some_jobs[] = {
    "path=a/1.out user=ann is_failed=1 outcome=gpu_oom cause=fragmentation fix=grow title=A gpu_s=3600 unread=0 files=2 bytes=10",
    "path=a/2.out user=ann is_failed=1 outcome=gpu_oom cause=fragmentation fix=grow title=B unread=1 files=1 bytes=5",
    "path=a/3.out user=bob is_failed=1 outcome=time_limit cause=time-limit title=C gpu_s=36000 unread=0 files=1 bytes=5",
    "path=a/4.out user=bob is_failed=0 outcome=success cause=card-under-used gpu_s=100 unread=0 files=1 bytes=5",
    "path=a/5.out is_failed=0 outcome=unknown unread=0 files=1 bytes=5",
    "path=a/6.out user=cay is_failed=0 outcome=cancelled unread=0 files=1 bytes=5",
    NULL};

static void test_totals(void **state) {
  (void)state;
  struct made made = make(wo_fleet_store(some_jobs));
  const struct wo_fleet_totals *const totals = &made.fleet.totals;
  assert_int_equal(totals->sum.jobs, 6);
  assert_int_equal(totals->sum.failed, 3);
  assert_int_equal(totals->ok, 1);
  assert_int_equal(totals->open, 1);
  assert_int_equal(totals->unread, 1);
  assert_int_equal(totals->sum.lost_s, 39600);
  assert_int_equal(totals->sum.lost_unknown, 1);
  assert_int_equal(totals->gpu_s, 39700);
  assert_int_equal(totals->gpu_unknown, 3);
  assert_int_equal(totals->users, 3);
  assert_int_equal(totals->files, 7);
  assert_int_equal(totals->bytes, 35);
  done(&made);
}

static void test_lists(void **state) {
  (void)state;
  struct made made = make(wo_fleet_store(some_jobs));
  const struct wo_fleet_list *list = &made.fleet.lists[WO_FLEET_BY_CAUSE];
  assert_int_equal(list->count, 2); /* a note about a good job is no cause */
  ASSERT_VIEW(list->items[0].key, "time-limit");
  ASSERT_VIEW(list->items[1].key, "fragmentation");
  ASSERT_VIEW(list->items[1].about, "A");
  ASSERT_VIEW(list->items[1].example, "a/1.out");
  assert_int_equal(list->items[1].sum.failed, 2);
  assert_int_equal(list->items[1].sum.lost_unknown, 1);
  list = &made.fleet.lists[WO_FLEET_BY_USER];
  assert_int_equal(list->count, 2); /* who has no failed job is not listed */
  ASSERT_VIEW(list->items[0].key, "bob");
  assert_int_equal(list->items[0].sum.jobs, 2);
  assert_int_equal(list->items[0].sum.failed, 1);
  assert_int_equal(made.fleet.lists[WO_FLEET_BY_OUTCOME].count, 5);
  assert_int_equal(made.fleet.lists[WO_FLEET_BY_FIX].count, 1); /* a job without a fix is in none */
  done(&made);
}

/* A short list holds the first by hours and the first by jobs; the rest is counted. */
static void test_short_lists(void **state) {
  (void)state;
  struct wo_store *const store = wo_fleet_store((const char *const[]){NULL});
  for (int i = 0; i < 5; i++) wo_fleet_putf(store, "path=a%d user=often is_failed=1 gpu_s=1", i);
  wo_fleet_put(store, "path=b user=costly is_failed=1 gpu_s=1000");
  for (int i = 0; i < 4; i++) wo_fleet_putf(store, "path=c%d user=u%d is_failed=1 gpu_s=%d", i, i, 10 + i);
  wo_fleet_put(store, "path=d user=u9 is_failed=1");
  struct made made = make_with(store, (struct wo_fleet_options){.filter = wo_fleet_all(), .rows = 1});
  const struct wo_fleet_list *const list = &made.fleet.lists[WO_FLEET_BY_USER];
  assert_int_equal(list->count, 2);
  ASSERT_VIEW(list->items[0].key, "costly");
  ASSERT_VIEW(list->items[1].key, "often");
  assert_int_equal(list->others, 5);
  assert_int_equal(list->rest.failed, 5);
  assert_int_equal(list->rest.lost_s, 46);
  assert_int_equal(list->rest.lost_unknown, 1);
  assert_int_equal(made.fleet.clusters_left_out, 0);
  done(&made);
}

/* ---- Clusters ---- */

static void test_clusters(void **state) {
  (void)state;
  struct made made = make(
      wo_fleet_store((const char *const[]){"path=1 user=ann is_failed=1 cause=c place=f settings=a=1;b=2 gpu_s=10 title=first",
                                           "path=2 user=bob is_failed=1 cause=c place=f settings=a=1;b=2 gpu_s=20",
                                           "path=3 user=bob is_failed=1 cause=c place=f settings=a=1;b=3 gpu_s=100",
                                           "path=4 user=bob is_failed=1 cause=c place=g settings=a=1;b=2",
                                           "path=5 user=bob is_failed=0 cause=c place=f settings=a=1;b=2 gpu_s=5", NULL}));
  assert_int_equal(made.fleet.cluster_count, 3);
  assert_int_equal(made.fleet.clusters[0].sum.lost_s, 100);
  assert_int_equal(made.fleet.clusters[1].sum.failed, 2);
  assert_int_equal(made.fleet.clusters[1].users, 2);
  ASSERT_VIEW(made.fleet.clusters[1].example, "1");
  ASSERT_VIEW(made.fleet.clusters[1].title, "first");
  ASSERT_VIEW(made.fleet.clusters[1].settings, "a=1\nb=2");
  assert_int_equal(made.fleet.clusters[2].sum.lost_unknown, 1);
  done(&made);
}

/* ---- Nodes ---- */

/* `count` good jobs on each of 20 nodes. */
static struct wo_store *sound_nodes(int count) {
  struct wo_store *const store = wo_fleet_store((const char *const[]){NULL});
  for (int node = 0; node < 20; node++) {
    for (int i = 0; i < count; i++)
      wo_fleet_putf(store, "path=good/%d/%d user=u%d nodes=n%d is_failed=0 outcome=success", node, i, i % 5, node);
  }
  return store;
}

static void put_faults(struct wo_store *store, const char *node, const char *family, int count) {
  for (int i = 0; i < count; i++) {
    wo_fleet_putf(store, "path=bad/%s/%s/%d user=u%d nodes=%s node=%s is_failed=1 outcome=%s family=%s", node, family, i, i % 3,
                  node, node, strcmp(family, "hardware") == 0 ? "hardware" : "gpu_oom", family);
  }
}

static void test_two_bad_nodes(void **state) {
  (void)state;
  struct wo_store *const store = sound_nodes(20);
  put_faults(store, "n3", "hardware", 8);
  put_faults(store, "n5", "hardware", 7); /* is not hidden by the other */
  put_faults(store, "n7", "other_process", 6);
  put_faults(store, "n9", "hardware", 1); /* one failure is no pattern */
  put_faults(store, "n11", "batch", 9);   /* no fault of a node */
  struct made made = make(store);
  assert_int_equal(made.fleet.nodes_seen, 20);
  assert_int_equal(made.fleet.node_count, 3);
  const struct wo_fleet_node *found[3] = {0};
  for (size_t i = 0; i < 3; i++) {
    const struct wo_fleet_node *const node = &made.fleet.nodes[i];
    found[wo_view_is(node->node, "n3") ? 0 : wo_view_is(node->node, "n5") ? 1 : 2] = node;
    assert_true(node->ln_chance <= log(0.01));
    assert_true(i == 0 || node->ln_chance >= made.fleet.nodes[i - 1].ln_chance);
  }
  assert_int_equal(found[0]->failed, 8);
  assert_int_equal(found[0]->jobs, 28);
  assert_int_equal(found[0]->users, 3);
  ASSERT_VIEW(found[0]->example, "bad/n3/hardware/0");
  ASSERT_VIEW(found[1]->kind, "hardware");
  ASSERT_VIEW(found[2]->node, "n7");
  ASSERT_VIEW(found[2]->kind, "other_process");
  done(&made);
}

/* Failures that are spread as chance spreads them name no node. */
static void test_no_bad_node(void **state) {
  (void)state;
  struct wo_store *const store = sound_nodes(30);
  for (int i = 0; i < 20; i++) {
    char node[16];
    snprintf(node, sizeof node, "n%d", i);
    put_faults(store, node, "hardware", i % 7 == 0 ? 2 : 1);
  }
  struct made made = make(store);
  assert_int_equal(made.fleet.node_count, 0);
  done(&made);
}

/* A job on several nodes counts on each; its failure on the named one, or on none. Lists of nodes may have ranges. */
static void test_jobs_on_several_nodes(void **state) {
  (void)state;
  struct made made = make(wo_fleet_store((const char *const[]){
      "path=1 nodes=a,b is_failed=1 outcome=hardware node=b", "path=2 nodes=a,b is_failed=1 outcome=hardware",
      "path=3 nodes=c is_failed=1 outcome=hardware", "path=4 node=d is_failed=1", "path=5 nodes=gpu[1,2],e is_failed=0", NULL}));
  assert_int_equal(made.fleet.nodes_seen, 6);
  assert_int_equal(made.fleet.unplaced, 1);
  assert_int_equal(made.fleet.node_count, 0);
  done(&made);
}

/* ---- Repeats ---- */

static void test_repeats(void **state) {
  (void)state;
  struct made made =
      make(wo_fleet_store((const char *const[]){"path=1 user=ann name=t work=w cause=c is_failed=1 gpu_s=100 end_ns=10",
                                                "path=2 user=ann name=t work=w cause=c is_failed=1 gpu_s=30 end_ns=20",
                                                "path=3 user=ann name=t work=w cause=c is_failed=1 end_ns=30",
                                                "path=4 user=ann name=t work=w cause=d is_failed=1 gpu_s=5 end_ns=40",
                                                "path=5 user=ann name=t work=w is_failed=0 outcome=success gpu_s=5 end_ns=50",
                                                /* the tasks of an array are one submission */
                                                "path=6 user=bob work=x array_job=9 array_task=1 cause=c is_failed=1 gpu_s=7",
                                                "path=7 user=bob work=x array_job=9 array_task=2 cause=c is_failed=1 gpu_s=7",
                                                /* a job of which nothing is known is no repetition of another one */
                                                "path=8 cause=c is_failed=1", "path=9 cause=c is_failed=1", NULL}));
  assert_int_equal(made.fleet.repeat_count, 1);
  const struct wo_fleet_repeat *const repeat = &made.fleet.repeats[0];
  ASSERT_VIEW(repeat->user, "ann");
  ASSERT_VIEW(repeat->work, "w");
  ASSERT_VIEW(repeat->cause, "c");
  ASSERT_VIEW(repeat->example, "3");
  assert_int_equal(repeat->submissions, 3);
  assert_int_equal(repeat->again_s, 30);
  assert_int_equal(repeat->again_unknown, 1);
  assert_int_equal(repeat->ok, 1);
  assert_int_equal(repeat->first_ns, 10);
  assert_int_equal(repeat->last_ns, 30);
  assert_int_equal(made.fleet.again_s, 30);
  assert_int_equal(made.fleet.again_unknown, 1);
  done(&made);
}

/* ---- Filters ---- */

static int64_t count_with(struct wo_fleet_filter filter) {
  struct made made =
      make_with(wo_fleet_store((const char *const[]){
                    "path=a/1 user=ann nodes=n1,n2 is_failed=1 cause=x end_ns=5 job_id=7",
                    "path=a/2 user=bob nodes=n12 node=n12 is_failed=1 cause=y end_ns=9 job_id=10 array_job=8 array_task=2",
                    "path=a/3 user=o'neil is_failed=0 job_id=11 array_job=8 array_task=3", NULL}),
                (struct wo_fleet_options){.filter = filter});
  const int64_t jobs = made.fleet.totals.sum.jobs;
  done(&made);
  return jobs;
}

static void test_filters(void **state) {
  (void)state;
#define COUNT(...) count_with((struct wo_fleet_filter){.since_ns = WO_ROW_UNKNOWN, .until_ns = WO_ROW_UNKNOWN, __VA_ARGS__})
  assert_int_equal(count_with(wo_fleet_all()), 3);
  assert_int_equal(COUNT(.only_failed = true), 2);
  assert_int_equal(COUNT(.user = WO_VIEW("ann")), 1);
  assert_int_equal(COUNT(.user = WO_VIEW("?nn")), 1);
  assert_int_equal(COUNT(.user = WO_VIEW("o'neil")), 1);
  assert_int_equal(COUNT(.user = WO_VIEW("' OR 1 --")), 0);
  assert_int_equal(COUNT(.cause = WO_VIEW("[xy]")), 2);
  assert_int_equal(COUNT(.node = WO_VIEW("n1")), 1);
  assert_int_equal(COUNT(.node = WO_VIEW("n1*")), 2);
  assert_int_equal(COUNT(.job = WO_VIEW("7")), 1);
  assert_int_equal(COUNT(.job = WO_VIEW("8")), 2);
  assert_int_equal(COUNT(.job = WO_VIEW("8_3")), 1);
  assert_int_equal(COUNT(.job = WO_VIEW("a/2")), 1);
  assert_int_equal(count_with((struct wo_fleet_filter){.since_ns = 9, .until_ns = WO_ROW_UNKNOWN}), 1);
  assert_int_equal(count_with((struct wo_fleet_filter){.since_ns = WO_ROW_UNKNOWN, .until_ns = 9}), 1);
#undef COUNT
}

/* ---- Time ---- */

static void test_days(void **state) {
  (void)state;
  struct wo_store *const store = wo_fleet_store((const char *const[]){NULL});
  for (int i = 0; i < 10; i++) wo_fleet_putf(store, "path=%d is_failed=%d gpu_s=1 end_ns=%d000000000", i, i % 2, i * 43200);
  struct made made = make(store);
  assert_int_equal(made.fleet.day_span, 1);
  assert_int_equal(made.fleet.day_count, 5);
  assert_int_equal(made.fleet.days[4].sum.jobs, 2);
  assert_int_equal(made.fleet.days[4].sum.failed, 1);
  done(&made);
}

/* The chart has few columns whatever the span of time is. */
static void test_many_years(void **state) {
  (void)state;
  struct made made = make(wo_fleet_store((const char *const[]){
      "path=1 is_failed=1 end_ns=1", "path=2 is_failed=1 end_ns=9200000000000000000", "path=3 is_failed=0", NULL}));
  assert_true(made.fleet.day_span >= 28);
  assert_int_equal(made.fleet.day_count, 2);
  assert_int_equal(made.fleet.undated, 1);
  done(&made);
}

/* ---- Baseline ---- */

static const char *const runs[] = {
    "path=old job_id=1 user=ann name=t is_failed=1 settings=micro_batch=8 end_ns=1",
    "path=good job_id=2 user=ann name=t is_failed=0 gpu_model=A100 gpus=4 settings=micro_batch=8;seq_len=2048 end_ns=2",
    "path=bad job_id=3 user=ann name=t is_failed=1 gpu_model=A100 gpus=2 settings=lr=1;micro_batch=16 end_ns=3",
    "path=other job_id=4 user=bob name=t is_failed=1 end_ns=4", NULL};

static void test_baseline(void **state) {
  (void)state;
  struct made made =
      make_with(wo_fleet_store(runs), (struct wo_fleet_options){.filter = wo_fleet_all(), .baseline = WO_VIEW("2")});
  const struct wo_fleet_baseline *const baseline = &made.fleet.baseline;
  assert_true(baseline->has_good && baseline->has_bad);
  ASSERT_VIEW(baseline->bad.path, "bad");
  assert_int_equal(baseline->difference_count, 4);
  ASSERT_VIEW(baseline->differences[0].name, "lr");
  assert_int_equal(baseline->differences[0].good.len, 0);
  ASSERT_VIEW(baseline->differences[1].name, "micro_batch");
  ASSERT_VIEW(baseline->differences[1].good, "8");
  ASSERT_VIEW(baseline->differences[1].bad, "16");
  ASSERT_VIEW(baseline->differences[2].name, "seq_len");
  ASSERT_VIEW(baseline->differences[3].name, "gpus");
  assert_false(baseline->differences[3].is_setting);
  done(&made);
}

static void test_baseline_that_is_not_there(void **state) {
  (void)state;
  struct made made =
      make_with(wo_fleet_store(runs), (struct wo_fleet_options){.filter = wo_fleet_all(), .baseline = WO_VIEW("3")});
  assert_true(made.fleet.baseline.is_wanted);
  assert_false(made.fleet.baseline.has_good);
  done(&made);
  made = make_with(wo_fleet_store(runs),
                   (struct wo_fleet_options){.filter = wo_fleet_all(), .baseline = WO_VIEW("good"), .against = WO_VIEW("1")});
  ASSERT_VIEW(made.fleet.baseline.bad.path, "old");
  done(&made);
}

/* ---- What a store does not have ---- */

static void test_gaps(void **state) {
  (void)state;
  struct wo_store *const store = wo_fleet_store((const char *const[]){NULL});
  struct wo_err err;
  assert_int_equal(wo_store_begin(store, &err), WO_OK);
  for (uint32_t shard = 0; shard < 4; shard++) {
    struct wo_store_scan scan = {.roots = WO_VIEW("logs"),
                                 .shard = shard,
                                 .shard_count = 5,
                                 .rules = WO_VIEW("r"),
                                 .start_ns = 1 + shard,
                                 .end_ns = WO_ROW_UNKNOWN};
    assert_int_equal(wo_store_begin_scan(store, &scan, &err), WO_OK);
    scan.end_ns = 10 + shard;
    if (shard != 2) assert_int_equal(wo_store_end_scan(store, &scan, &err), WO_OK);
  }
  for (int i = 0; i < 4; i++) {
    char path[16];
    snprintf(path, sizeof path, "p%d", i);
    assert_int_equal(wo_store_put_problem(store, wo_view_of(path), WO_VIEW("permission denied"), &err), WO_OK);
  }
  assert_int_equal(wo_store_commit(store, &err), WO_OK);
  struct made made = make_with(store, (struct wo_fleet_options){.filter = wo_fleet_all(), .rows = 3});
  assert_int_equal(made.fleet.shard_count, 2);
  assert_int_equal(made.fleet.shards[0].state, WO_STORE_SHARD_STOPPED);
  assert_int_equal(made.fleet.shards[0].first, 2);
  assert_int_equal(made.fleet.shards[1].state, WO_STORE_SHARD_MISSING);
  assert_int_equal(made.fleet.shards[1].last, 4);
  ASSERT_VIEW(made.fleet.shards[1].roots, "logs");
  assert_int_equal(made.fleet.problem_count, 3);
  assert_int_equal(made.fleet.problems_left_out, 1);
  ASSERT_VIEW(made.fleet.problems[0].path, "p0");
  ASSERT_VIEW(made.fleet.problems[0].message, "permission denied");
  done(&made);
}

/* Formats of rows alone need the filter and the totals. */
static void test_only_totals(void **state) {
  (void)state;
  struct made made =
      make_with(wo_fleet_store(some_jobs), (struct wo_fleet_options){.filter = wo_fleet_all(), .only_totals = true});
  assert_int_equal(made.fleet.totals.sum.failed, 3);
  assert_int_equal(made.fleet.cluster_count + made.fleet.lists[WO_FLEET_BY_CAUSE].count, 0);
  assert_true(made.fleet.where.len > 0);
  done(&made);
}

/* ---- Hostile texts, and memory ---- */

static void test_hostile_texts(void **state) {
  (void)state;
  struct made made = make(wo_fleet_store(
      (const char *const[]){"path=';DROP+TABLE+job;-- user='\" is_failed=1 cause=%s%n name=\\x00 settings==;;=1;a=;b "
                            "settings==== work=' nodes=,,,[,],] node=] family=hardware array_job='",
                            "path=2 user='\" is_failed=0 outcome=success array_job=' settings=a=1", NULL}));
  assert_int_equal(made.fleet.totals.sum.jobs, 2);
  ASSERT_VIEW(made.fleet.lists[WO_FLEET_BY_CAUSE].items[0].key, "%s%n");
  done(&made);
}

/* Whichever allocation fails: an error, or the same fleet. */
static void test_memory_is_out(void **state) {
  (void)state;
  struct wo_store *const store = sound_nodes(2);
  put_faults(store, "n3", "hardware", 8);
  for (int i = 0; i < 8; i++)
    wo_fleet_putf(store, "path=s/%d array_job=1 work=w cause=c is_failed=%d outcome=success settings=a=%d end_ns=%d", i, i > 3, i,
                  i);
  for (long n = 1;; n++) {
    struct wo_arena arena;
    struct wo_fleet fleet = {0};
    struct wo_err err;
    const struct wo_fleet_options options = {.filter = wo_fleet_all(), .baseline = WO_VIEW("s/0")};
    wo_arena_init(&arena, WO_LIMIT_FLEET_BYTES);
    wo_fail_alloc_at(n);
    const enum wo_status status = wo_fleet_make(store, &options, &arena, &fleet, &err);
    wo_fail_alloc_off();
    assert_true(status == WO_OK || status == WO_E_NOMEM || status == WO_E_IO);
    if (status == WO_OK) assert_int_equal(fleet.node_count, 1);
    wo_arena_done(&arena);
    if (!wo_fail_alloc_hit()) break;
  }
  wo_store_close(store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_job),
      cmocka_unit_test(test_one_job_of_which_little_is_known),
      cmocka_unit_test(test_totals),
      cmocka_unit_test(test_lists),
      cmocka_unit_test(test_short_lists),
      cmocka_unit_test(test_clusters),
      cmocka_unit_test(test_two_bad_nodes),
      cmocka_unit_test(test_no_bad_node),
      cmocka_unit_test(test_jobs_on_several_nodes),
      cmocka_unit_test(test_repeats),
      cmocka_unit_test(test_filters),
      cmocka_unit_test(test_days),
      cmocka_unit_test(test_many_years),
      cmocka_unit_test(test_baseline),
      cmocka_unit_test(test_baseline_that_is_not_there),
      cmocka_unit_test(test_gaps),
      cmocka_unit_test(test_only_totals),
      cmocka_unit_test(test_hostile_texts),
      cmocka_unit_test(test_memory_is_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
