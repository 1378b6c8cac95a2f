/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings whose segments were changed: each change is noticed, or counted among what the comparison leaves out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_replay/recording/recording_valid.h"
#include "cuda_replay/replay/check.h"
#include "parsers/base/vec.h"
#include "tests/support/replay/random_program.h"

#define UNIT_BYTES ((uint64_t)512)

enum { SEEDS = 30, CHANGES_EACH = 8 };

/* ---- The changes ---- */

/* A change of a block, or of the one after it; false: it is not possible there, or is none. */
typedef bool change(struct wo_trace *trace, struct wo_trace_segment *segment, struct wo_trace_block *block, bool has_next,
                    uint64_t *random);

static bool move_boundary(struct wo_trace *trace, struct wo_trace_segment *segment, struct wo_trace_block *block, bool has_next,
                          uint64_t *random) {
  (void)trace, (void)segment;
  if (!has_next) return false;
  struct wo_trace_block *const next = block + 1;
  const bool is_up = wo_random_next(random) % 2 == 0;
  const uint64_t room = is_up ? next->size_bytes : block->size_bytes;
  if (room <= UNIT_BYTES) return false;
  const uint64_t units = (room - 1) / UNIT_BYTES;
  const uint64_t bytes = (wo_random_next(random) % 3 > 0 ? 1 : 1 + wo_random_next(random) % units) * UNIT_BYTES;
  block->size_bytes += is_up ? bytes : -bytes;
  next->size_bytes -= is_up ? bytes : -bytes;
  next->address += is_up ? bytes : -bytes;
  return true;
}

static bool change_request(struct wo_trace *trace, struct wo_trace_segment *segment, struct wo_trace_block *block, bool has_next,
                           uint64_t *random) {
  (void)trace, (void)segment, (void)has_next;
  if (block->state == WO_BLOCK_FREE || block->requested_bytes == 0) return false;
  const uint64_t size = 1 + wo_random_next(random) % block->size_bytes;
  const bool is_other = size != block->requested_bytes;
  block->requested_bytes = size;
  return is_other;
}

static bool change_state(struct wo_trace *trace, struct wo_trace_segment *segment, struct wo_trace_block *block, bool has_next,
                         uint64_t *random) {
  (void)trace, (void)segment, (void)has_next;
  const enum wo_block_state state = (enum wo_block_state)(wo_random_next(random) % 3);
  if (state == block->state) return false;
  block->requested_bytes = state == WO_BLOCK_FREE ? 0 : block->requested_bytes > 0 ? block->requested_bytes : block->size_bytes;
  block->state = state;
  return true;
}

static void remove_block(struct wo_trace *trace, struct wo_trace_segment *segment, size_t index) {
  for (size_t i = index + 1; i < trace->blocks.count; i++) trace->blocks.items[i - 1] = trace->blocks.items[i];
  trace->blocks.count--;
  segment->block_count--;
  for (struct wo_trace_segment *later = segment + 1; later < trace->segments.items + trace->segments.count; later++)
    later->first_block--;
}

/* The block takes its neighbour's memory. */
static bool drop_block(struct wo_trace *trace, struct wo_trace_segment *segment, struct wo_trace_block *block, bool has_next,
                       uint64_t *random) {
  (void)random;
  if (!has_next) return false;
  block->size_bytes += block[1].size_bytes;
  remove_block(trace, segment, (size_t)(block - trace->blocks.items) + 1);
  return true;
}

/* A live block is taken for part of the free memory around it. */
static bool forget_block(struct wo_trace *trace, struct wo_trace_segment *segment, struct wo_trace_block *block, bool has_next,
                         uint64_t *random) {
  (void)random;
  if (!has_next || block->state == WO_BLOCK_FREE || block[1].state != WO_BLOCK_FREE) return false;
  block->size_bytes += block[1].size_bytes;
  block->state = WO_BLOCK_FREE;
  block->requested_bytes = 0;
  remove_block(trace, segment, (size_t)(block - trace->blocks.items) + 1);
  return true;
}

static bool change_segment(struct wo_trace *trace, struct wo_trace_segment *segment, struct wo_trace_block *block, bool has_next,
                           uint64_t *random) {
  (void)trace, (void)block, (void)has_next, (void)random;
  segment->is_small = !segment->is_small;
  return true;
}

/* ---- What becomes of them ---- */

struct place {
  uint64_t address, size_bytes;
};

/* Whether an entry names memory of the block and its neighbour, or of the whole segment. */
static bool is_touched(const struct wo_trace *trace, struct place place) {
  for (size_t i = 0; i < trace->entries.count; i++) {
    const struct wo_trace_entry *const entry = &trace->entries.items[i];
    if (!wo_entry_is(entry, WO_TRAIT_RANGE)) continue;
    if (entry->address < place.address + place.size_bytes && place.address < entry->address + entry->size_bytes) return true;
  }
  return false;
}

struct tally {
  size_t noticed, assumed, untouched, unexplained, missed;
};

static void change_one(change *make, uint64_t seed, uint64_t *random, struct tally *tally) {
  struct wo_random_program program = wo_random_program_of(seed);
  program.has_pools = false;
  struct wo_recording *const recording = wo_random_program_record(&program);
  struct wo_trace *const trace = &recording->traces.items[0];
  const size_t count = trace->segments.count;
  for (unsigned tries = 0; count > 0 && tries < 40; tries++) {
    struct wo_trace_segment *const segment = &trace->segments.items[wo_random_next(random) % count];
    const size_t at = wo_random_next(random) % segment->block_count;
    struct wo_trace_block *const block = &trace->blocks.items[segment->first_block + at];
    const bool has_next = at + 1 < segment->block_count;
    const bool is_of_two = has_next && make != change_state && make != change_request;
    const struct place place = make == change_segment
                                   ? (struct place){segment->address, segment->size_bytes}
                                   : (struct place){block->address, block->size_bytes + (is_of_two ? block[1].size_bytes : 0)};
    if (!make(trace, segment, block, has_next, random)) continue;
    assert_true(wo_recording_is_valid(recording));
    struct wo_replay_check check;
    struct wo_err err = {0};
    const struct wo_replay_check_options options = {0};
    assert_int_equal(wo_replay_check_run(recording, trace, &options, &check, &err), WO_OK);
    assert_int_equal(check.final_layout_equal, check.verdict == WO_CHECK_EQUAL);
    if (check.verdict != WO_CHECK_EQUAL)
      tally->noticed++;
    else if (check.blocks_changed > 0)
      tally->assumed++;
    else if (check.blocks_unexplained > 0)
      tally->unexplained++;
    else if (!is_touched(trace, place) && check.blocks_untouched > 0)
      tally->untouched++;
    else
      tally->missed++;
    break;
  }
  wo_recording_free(recording);
}

static void changes_are_noticed(void **state) {
  static const struct {
    const char *name;
    change *make;
  } changes[] = {{"boundary moved", move_boundary}, {"request changed", change_request}, {"state changed", change_state},
                 {"block dropped", drop_block},     {"block forgotten", forget_block},   {"pool changed", change_segment}};
  uint64_t random = 77;
  size_t missed = 0;
  (void)state;
  for (size_t kind = 0; kind < sizeof changes / sizeof *changes; kind++) {
    struct tally tally = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
      for (size_t i = 0; i < CHANGES_EACH; i++) change_one(changes[kind].make, seed, &random, &tally);
    print_message("%s: %zu noticed, %zu with assumed calls, %zu with sizes that no request explains, %zu of blocks that no entry "
                  "touches, %zu missed\n",
                  changes[kind].name, tally.noticed, tally.assumed, tally.unexplained, tally.untouched, tally.missed);
    missed += tally.missed;
    assert_true(tally.noticed > SEEDS);
    if (changes[kind].make == move_boundary) assert_int_equal(tally.assumed, 0);
  }
  assert_int_equal(missed, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(changes_are_noticed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
