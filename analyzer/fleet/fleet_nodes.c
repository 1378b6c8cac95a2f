/* SPDX-License-Identifier: Apache-2.0 */
/* Suspect nodes: one kind of failure is more frequent there than chance allows. See fleet.h, docs/fleet.md.
 *
 * A node is compared with all others by Fisher's exact test (hypergeometric, one side), which needs no rate to be known and holds
 * when no other node has such a failure. The chance is multiplied by the number of tests (Bonferroni), because a node that is
 * named gets drained: the reader is told how many fleets without a bad node would show one like it. A node that was found is
 * taken out before the rest is looked at again, so that one bad node does not hide the next. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/fleet/chance.h"
#include "analyzer/fleet/fleet_internal.h"
#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

/* Kinds of failure that a node can be the reason of, by how the job ended or by the family of its cause. */
enum { KIND_HARDWARE, KIND_OTHERS, KIND_COMMUNICATION, KIND_COUNT };

static const struct {
  const char *name, *words, *condition;
} kinds[KIND_COUNT] = {
    [KIND_HARDWARE] = {"hardware", "hardware faults", "outcome IN ('hardware', 'node_fail')"},
    [KIND_OTHERS] = {"other_process", "memory held by others", "family = 'other_process'"},
    [KIND_COMMUNICATION] = {"communication", "failed communication", "outcome = 'nccl'"},
};

static const double ln_alpha = -4.605170185988091; /* ln 0.01: one fleet of a hundred may name a node that is sound */

struct tally {
  struct wo_view name; /* in the arena */
  int64_t jobs;
  int64_t failed[KIND_COUNT];
  double ln_chance[KIND_COUNT]; /* the last one that was computed */
  double expected[KIND_COUNT];
  bool is_found[KIND_COUNT];
};

struct tallies {
  struct wo__fleet_maker *maker;
  WO_VEC(struct tally) nodes;
  uint32_t *slots;   /* index + 1 in nodes, by hash; 0: free */
  size_t slot_count; /* a power of two */
};

/* ---- Counting ---- */

static size_t hash_of(struct wo_view name) {
  const uint64_t hash = wo_view_hash(WO_HASH_START, name);
  return (size_t)(hash ^ (hash >> 32));
}

static uint32_t *slot_of(const struct tallies *t, struct wo_view name) {
  size_t at = hash_of(name) & (t->slot_count - 1);
  while (t->slots[at] != 0 && !wo_view_equal(t->nodes.items[t->slots[at] - 1].name, name)) at = (at + 1) & (t->slot_count - 1);
  return &t->slots[at];
}

static bool grow_slots(struct tallies *t) {
  const size_t wanted = t->slot_count == 0 ? 256 : 2 * t->slot_count;
  uint32_t *const fresh = calloc(wanted, sizeof *fresh);
  if (fresh == NULL) return false;
  free(t->slots);
  t->slots = fresh;
  t->slot_count = wanted;
  for (size_t i = 0; i < t->nodes.count; i++) *slot_of(t, t->nodes.items[i].name) = (uint32_t)(i + 1);
  return true;
}

/* The tally of a node, or NULL: too many nodes, or the arena is exhausted. */
static struct tally *tally_of(struct tallies *t, struct wo_view name) {
  if (2 * (t->nodes.count + 1) > t->slot_count && !grow_slots(t)) {
    t->maker->arena->is_exhausted = true;
    return NULL;
  }
  uint32_t *const slot = slot_of(t, name);
  if (*slot != 0) return &t->nodes.items[*slot - 1];
  if (t->nodes.count == WO_LIMIT_FLEET_NODES) {
    t->maker->fleet->nodes_left_out++;
    return NULL;
  }
  const struct wo_view kept = wo_arena_copy(t->maker->arena, name);
  if (kept.ptr == NULL || !WO_VEC_RESERVE(&t->nodes, 1, WO_LIMIT_FLEET_NODES)) {
    t->maker->arena->is_exhausted = true;
    return NULL;
  }
  struct tally *const fresh = &t->nodes.items[t->nodes.count++];
  *fresh = (struct tally){.name = kept};
  *slot = (uint32_t)t->nodes.count;
  return fresh;
}

/* The node that a failure belongs to: the one that is named, else the only one. Empty: which of them it was is not known. */
static struct wo_view blamed_node(struct wo_view node, struct wo_view nodes) {
  struct wo_view first = {0}, second = {0};
  if (node.len > 0) return node;
  if (!wo__next_node(&nodes, &first) || wo__next_node(&nodes, &second)) return (struct wo_view){0};
  return first;
}

static struct wo_view text_of(const struct wo_store_value *value) {
  return value->type == WO_STORE_TEXT ? value->text : (struct wo_view){0};
}

/* Columns: nodes, node, jobs, failed jobs. The named node counts as one of the nodes when it is not in their list: the list may
 * spell names in another way, or be missing. */
static bool take_nodes(void *context, const struct wo_store_value *values, size_t count) {
  assert(count == 4);
  (void)count;
  struct tallies *const t = context;
  const struct wo_view nodes = text_of(&values[0]);
  const int64_t jobs = wo__number_of(&values[2], 0);
  const struct wo_view blamed = blamed_node(text_of(&values[1]), nodes);
  bool is_listed = false;
  struct wo_view rest = nodes, name;
  while (wo__next_node(&rest, &name)) {
    struct tally *const tally = tally_of(t, name);
    if (tally != NULL) tally->jobs += jobs;
    is_listed |= wo_view_equal(name, blamed);
  }
  if (blamed.len == 0) {
    t->maker->fleet->unplaced += wo__number_of(&values[3], 0);
    return !t->maker->arena->is_exhausted;
  }
  struct tally *const tally = tally_of(t, blamed);
  if (tally != NULL && !is_listed) tally->jobs += jobs;
  return !t->maker->arena->is_exhausted;
}

/* Columns: nodes, node, failed jobs of each kind. Nodes beyond the limit have no tally, and were counted with their jobs. */
static bool take_failures(void *context, const struct wo_store_value *values, size_t count) {
  assert(count == 2 + KIND_COUNT);
  (void)count;
  struct tallies *const t = context;
  const struct wo_view blamed = blamed_node(text_of(&values[1]), text_of(&values[0]));
  const uint32_t slot = blamed.len > 0 && t->slot_count > 0 ? *slot_of(t, blamed) : 0;
  for (size_t kind = 0; kind < KIND_COUNT && slot != 0; kind++)
    t->nodes.items[slot - 1].failed[kind] += wo__number_of(&values[2 + kind], 0);
  return true;
}

/* ---- The test ---- */

/* Looks at all nodes for one kind, without those that were found. Returns the most improbable one, or NULL. */
static struct tally *look(struct tallies *t, size_t kind) {
  int64_t population = 0, marked = 0;
  for (size_t i = 0; i < t->nodes.count; i++) {
    if (t->nodes.items[i].is_found[kind]) continue;
    population += t->nodes.items[i].jobs;
    marked += t->nodes.items[i].failed[kind];
  }
  struct tally *best = NULL;
  for (size_t i = 0; i < t->nodes.count; i++) {
    struct tally *const tally = &t->nodes.items[i];
    if (tally->is_found[kind] || tally->failed[kind] < 2 || tally->jobs == population) continue;
    tally->expected[kind] = (double)tally->jobs * (double)(marked - tally->failed[kind]) / (double)(population - tally->jobs);
    tally->ln_chance[kind] = wo_chance_ln_tail(population, marked, tally->jobs, tally->failed[kind]);
    if (best == NULL || tally->ln_chance[kind] < best->ln_chance[kind] ||
        (tally->ln_chance[kind] == best->ln_chance[kind] && wo_view_compare(tally->name, best->name) < 0)) {
      best = tally;
    }
  }
  return best;
}

static int by_chance(const void *a, const void *b) {
  const struct wo_fleet_node *const x = a, *const y = b;
  if (x->ln_chance != y->ln_chance) return x->ln_chance < y->ln_chance ? -1 : 1;
  const int order = wo_view_compare(x->node, y->node);
  return order != 0 ? order : wo_view_compare(x->kind, y->kind);
}

/* A single failure never names a node. */
static void test_nodes(struct tallies *t, struct wo_fleet_node *items) {
  struct wo_fleet *const fleet = t->maker->fleet;
  const int64_t looks = (int64_t)t->nodes.count * KIND_COUNT;
  for (size_t kind = 0; kind < KIND_COUNT; kind++) {
    for (size_t found = 0; found < fleet->rows; found++) {
      struct tally *const tally = look(t, kind);
      const double ln_chance = tally != NULL ? wo_chance_ln_any(tally->ln_chance[kind], looks) : 0.0;
      if (ln_chance > ln_alpha) break;
      tally->is_found[kind] = true;
      items[fleet->node_count++] = (struct wo_fleet_node){.node = tally->name,
                                                          .kind = wo_view_of(kinds[kind].name),
                                                          .words = wo_view_of(kinds[kind].words),
                                                          .failed = tally->failed[kind],
                                                          .jobs = tally->jobs,
                                                          .expected = tally->expected[kind],
                                                          .ln_chance = ln_chance};
    }
  }
  if (fleet->node_count > 0) qsort(items, fleet->node_count, sizeof *items, by_chance);
}

struct users_context {
  struct wo__fleet_maker *maker;
  struct wo_fleet_node *nodes;
  size_t kind;
};

/* Columns: node, users, path. Of the nodes in the answer a few were found. */
static bool take_users(void *context, const struct wo_store_value *values, size_t count) {
  assert(count == 3);
  (void)count;
  struct users_context *const c = context;
  for (size_t i = 0; i < c->maker->fleet->node_count; i++) {
    struct wo_fleet_node *const node = &c->nodes[i];
    if (!wo_view_is(node->kind, kinds[c->kind].name) || !wo_view_equal(node->node, values[0].text)) continue;
    node->users = wo__number_of(&values[1], 0);
    node->example = wo__text_of(c->maker, &values[2]);
  }
  return true;
}

/* Failures of one user, or of one job again and again, are no proof against a node, so their number is shown. */
static enum wo_status add_users(struct wo__fleet_maker *maker, struct wo_fleet_node *items) {
  enum wo_status status = WO_OK;
  for (size_t kind = 0; kind < KIND_COUNT && status == WO_OK && maker->fleet->node_count > 0; kind++) {
    struct users_context c = {.maker = maker, .nodes = items, .kind = kind};
    status = wo__ask(maker,
                     "SELECT CASE WHEN coalesce(node, '') = '' THEN nodes ELSE node END AS blamed, "
                     "count(DISTINCT nullif(user, '')), min(path) FROM job WHERE is_failed = 1 AND @key AND @where "
                     "GROUP BY blamed HAVING blamed <> ''",
                     kinds[kind].condition, take_users, &c);
  }
  return status;
}

static enum wo_status count_jobs(struct tallies *t) {
  const struct wo_view list = wo_arena_format(t->maker->arena, "%d", WO__TALLY_NODES);
  if (list.len == 0) return wo_err_nomem(t->maker->err);
  return wo__ask(t->maker,
                 "SELECT key, detail, sum(jobs), sum(failed) FROM temp.tally WHERE list = @key GROUP BY key, detail "
                 "ORDER BY key, detail",
                 list.ptr, take_nodes, t);
}

static enum wo_status count_failures(struct tallies *t) {
  struct wo_text sql = {0};
  wo_text_add(&sql, "SELECT nodes, node");
  for (size_t kind = 0; kind < KIND_COUNT; kind++) wo_text_add(&sql, ", sum(%s)", kinds[kind].condition);
  wo_text_add(&sql, " FROM job WHERE is_failed = 1 AND @where GROUP BY nodes, node%c", '\0');
  const enum wo_status status = sql.is_failed ? wo_err_nomem(t->maker->err) : wo__ask(t->maker, sql.ptr, NULL, take_failures, t);
  wo_text_done(&sql);
  return status;
}

enum wo_status wo__make_nodes(struct wo__fleet_maker *maker) {
  struct wo_fleet *const fleet = maker->fleet;
  struct tallies t = {.maker = maker};
  struct wo_fleet_node *const items = wo_arena_array(maker->arena, fleet->rows * KIND_COUNT, sizeof *items);
  if (items == NULL) return wo_err_nomem(maker->err);
  fleet->nodes = items;
  enum wo_status status = count_jobs(&t);
  if (status == WO_OK) status = count_failures(&t);
  fleet->nodes_seen = (int64_t)t.nodes.count;
  if (status == WO_OK) test_nodes(&t, items);
  WO_VEC_DONE(&t.nodes);
  free(t.slots);
  return status != WO_OK ? status : add_users(maker, items);
}
