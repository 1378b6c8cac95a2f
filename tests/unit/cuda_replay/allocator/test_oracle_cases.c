/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator model against answers of the real allocator: tests/oracle/cases/, in the line form.
 *
 * A case's requests go to the model over a stand-in card with the case's capacity, addresses and seed; everything that the model
 * tells must be what the real one told, entry by entry, and the final layout block by block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_replay/allocator/allocator.h"
#include "cuda_replay/recording/trace.h"
#include "cuda_replay/recording/open/trace_open.h"
#include "parsers/base/number.h"
#include "tests/support/replay/allocator_valid.h"
#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/gpu/standin_device.h"

enum { BLOCKS = 4096, EVENTS = 4096 };

/* Snapshots tell a segment's pool from 2.1 on. */
enum { POOLS_ARE_TOLD = 201 };

struct event {
  enum wo_action action;
  uint64_t address;
  uint64_t size_bytes;
  uint64_t stream;
};

struct events {
  struct event items[EVENTS];
  size_t count;
};

struct runner {
  const char *path;
  struct wo_recording *recording;
  const struct wo_trace *trace;
  size_t entry; /* the first that is not accounted for */
  struct wo_standin standin;
  struct wo_device device;
  struct wo_allocator *allocator;
  struct {
    uint64_t address;
    wo_block_id id;
    bool is_pending;
  } blocks[BLOCKS];
  size_t block_count;
  struct events got;
  struct events wanted;
  bool has_pools;
  size_t segment; /* of the final layout: the next to compare */
};

/* Fails the test, with the case and the entry that it had come to. */
static void fail_case(const struct runner *r, const char *what) {
  print_error("%s: at entry %zu of %zu: %s\n", r->path, r->entry, r->trace ? r->trace->entries.count : 0, what);
  fail();
}

static void check(const struct runner *r, bool holds, const char *what) {
  if (!holds) fail_case(r, what);
}

static void add_event(struct events *events, struct event event) {
  assert_true(events->count < EVENTS);
  events->items[events->count++] = event;
}

/* ---- Blocks that the program holds ---- */

static size_t find_block(const struct runner *r, uint64_t address) {
  for (size_t i = 0; i < r->block_count; i++)
    if (r->blocks[i].address == address) return i;
  return SIZE_MAX;
}

static void forget_block(struct runner *r, uint64_t address) {
  const size_t at = find_block(r, address);
  if (at != SIZE_MAX) r->blocks[at] = r->blocks[--r->block_count];
}

static void on_event(void *state, const struct wo_allocator_event *event) {
  struct runner *r = state;
  if (event->action == WO_ACTION_FREE_COMPLETED) forget_block(r, event->address);
  add_event(&r->got, (struct event){event->action, event->address, event->size_bytes, event->stream});
}

/* ---- Comparing ---- */

static int by_action_and_address(const void *left, const void *right) {
  const struct event *a = left;
  const struct event *b = right;
  if (a->action != b->action) return a->action < b->action ? -1 : 1;
  return a->address < b->address ? -1 : a->address > b->address;
}

static bool has_free_order(const struct runner *r, enum wo_action action) {
  const bool is_release = action == WO_ACTION_SEGMENT_FREE || action == WO_ACTION_SEGMENT_UNMAP;
  return action == WO_ACTION_FREE_COMPLETED || (is_release && r->has_pools);
}

/* torch walks hash maps where frees of several streams complete, and where several pools are released: no order to rely on. */
static void settle(const struct runner *r, struct events *events) {
  for (size_t i = 0; i < events->count; i++) {
    size_t end = i;
    while (end < events->count && has_free_order(r, events->items[end].action)) end++;
    if (end > i + 1) qsort(&events->items[i], end - i, sizeof *events->items, by_action_and_address);
    i = end > i ? end - 1 : i;
  }
}

static struct event event_of(const struct runner *r, size_t entry) {
  const struct wo_trace_entry *e = &r->trace->entries.items[entry];
  return (struct event){(enum wo_action)e->action, e->address, e->size_bytes, r->recording->streams.items[e->stream]};
}

/* What the model told since the last call must be the next entries of the case. */
static void match(struct runner *r) {
  check(r, r->entry + r->got.count <= r->trace->entries.count, "the model tells more than the real allocator");
  r->wanted.count = 0;
  for (size_t i = 0; i < r->got.count; i++) add_event(&r->wanted, event_of(r, r->entry + i));
  settle(r, &r->wanted);
  settle(r, &r->got);
  for (size_t i = 0; i < r->got.count; i++) {
    const struct event *real = &r->wanted.items[i];
    const struct event *model = &r->got.items[i];
    const bool is_same = real->action == model->action && real->address == model->address &&
                         real->size_bytes == model->size_bytes && real->stream == model->stream;
    if (!is_same)
      print_error("real: %s %llu of %llu bytes; model: %s %llu of %llu bytes\n", wo_action_name(real->action),
                  (unsigned long long)real->address, (unsigned long long)real->size_bytes, wo_action_name(model->action),
                  (unsigned long long)model->address, (unsigned long long)model->size_bytes);
    check(r, is_same, "the model tells something else than the real allocator");
  }
  r->entry += r->got.count;
  r->got.count = 0;
}

/* ---- Requests ---- */

static bool is_request(enum wo_action action) {
  return action == WO_ACTION_ALLOC || action == WO_ACTION_OOM || action == WO_ACTION_FREE_REQUESTED ||
         (action >= WO_ACTION_EMPTY_CACHE && action <= WO_ACTION_FRACTION);
}

static void run_malloc(struct runner *r, const struct wo_trace_entry *request) {
  for (size_t i = r->entry; r->trace->entries.items[i].action == WO_ACTION_FREE_COMPLETED; i++) {
    const size_t block = find_block(r, r->trace->entries.items[i].address);
    check(r, block != SIZE_MAX && r->blocks[block].is_pending, "a free completes that waits for nothing");
    wo_allocator_complete(r->allocator, r->blocks[block].id);
  }
  wo_block_id id = WO_NO_BLOCK;
  const uint64_t stream = r->recording->streams.items[request->stream];
  const enum wo_status status = wo_allocator_malloc(r->allocator, request->size_bytes, stream, &id);
  check(r, status == (request->action == WO_ACTION_ALLOC ? WO_OK : WO_E_LIMIT), "served by one side only");
  if (status != WO_OK) return;
  assert_true(r->block_count < BLOCKS);
  r->blocks[r->block_count].address = wo_allocator_address(r->allocator, id);
  r->blocks[r->block_count].is_pending = false;
  r->blocks[r->block_count++].id = id;
}

static void run_free(struct runner *r, const struct wo_trace_entry *request) {
  const size_t block = find_block(r, request->address);
  check(r, block != SIZE_MAX && !r->blocks[block].is_pending, "a block is freed that nobody holds");
  r->blocks[block].is_pending = true;
  wo_allocator_free_block(r->allocator, r->blocks[block].id, false);
}

static void run_fraction(struct runner *r, uint64_t parts_per_million) {
  struct wo_alloc_settings settings = *wo_allocator_settings(r->allocator);
  settings.memory_fraction = (double)parts_per_million / 1e6;
  wo_allocator_set(r->allocator, &settings);
}

static void run_instruction(struct runner *r, const struct wo_trace_entry *entry) {
  const uint64_t stream = r->recording->streams.items[entry->stream];
  const struct wo_pool_id pool = r->recording->pools.items[entry->pool];
  enum wo_status status = WO_OK;
  size_t block = 0;
  r->entry++;
  switch ((enum wo_action)entry->action) {
  case WO_ACTION_EMPTY_CACHE:
    status = wo_allocator_empty_cache(r->allocator);
    break;
  case WO_ACTION_RECORD_STREAM:
    block = find_block(r, entry->address);
    check(r, block != SIZE_MAX, "a stream uses a block that nobody holds");
    status = wo_allocator_record_stream(r->allocator, r->blocks[block].id, stream);
    break;
  case WO_ACTION_CAPTURE_BEGIN:
    r->has_pools = true;
    status = wo_allocator_pool_begin(r->allocator, pool, stream, true);
    break;
  case WO_ACTION_CAPTURE_END:
    status = wo_allocator_pool_end(r->allocator, pool);
    break;
  case WO_ACTION_POOL_RELEASE:
    status = wo_allocator_pool_release(r->allocator, pool);
    break;
  case WO_ACTION_SETTINGS:
    status = wo_allocator_set_text(r->allocator, r->recording->settings_texts.items[entry->size_bytes], NULL);
    break;
  case WO_ACTION_FRACTION:
    run_fraction(r, entry->size_bytes);
    break;
  default:
    fail_case(r, "not an instruction");
  }
  check(r, status == WO_OK, "the model refuses the instruction");
}

/* One request with all entries that it caused. */
static void run_step(struct runner *r) {
  size_t at = r->entry;
  while (at < r->trace->entries.count && !is_request((enum wo_action)r->trace->entries.items[at].action)) at++;
  check(r, at < r->trace->entries.count, "entries that no request caused");
  const struct wo_trace_entry *request = &r->trace->entries.items[at];
  if (request->action == WO_ACTION_ALLOC || request->action == WO_ACTION_OOM) {
    run_malloc(r, request);
  } else {
    check(r, at == r->entry, "entries that the request before did not cause");
    if (request->action == WO_ACTION_FREE_REQUESTED)
      run_free(r, request);
    else
      run_instruction(r, request);
  }
  match(r);
  const char *why = "";
  check(r, wo_allocator_is_valid(r->allocator, &why), why);
}

/* ---- The final layout ---- */

static bool match_segment(void *state, const struct wo_allocator_segment *segment, const struct wo_allocator_block *blocks,
                          const wo_block_id *ids, size_t count) {
  struct runner *r = state;
  (void)ids;
  check(r, r->segment < r->trace->segments.count, "the model holds more segments");
  const struct wo_trace_segment *real = &r->trace->segments.items[r->segment++];
  check(r, real->address == segment->address && real->size_bytes == segment->size_bytes, "another segment");
  check(r, real->is_small == segment->is_small && real->is_expandable == segment->is_expandable, "another kind of segment");
  check(r, r->recording->streams.items[real->stream] == segment->stream, "a segment of another stream");
  check(r, r->recording->torch_from < POOLS_ARE_TOLD || r->recording->pools.items[real->pool].second == segment->pool.second,
        "a segment of another pool");
  check(r, real->block_count == count, "another number of blocks");
  for (size_t i = 0; i < count; i++) {
    const struct wo_trace_block *block = &r->trace->blocks.items[real->first_block + i];
    check(r, block->size_bytes == blocks[i].size_bytes && block->state == blocks[i].state, "another block");
    check(r, block->state == WO_BLOCK_FREE || block->requested_bytes == blocks[i].requested_bytes, "another request");
  }
  return true;
}

static void match_layout(struct runner *r) {
  assert_int_equal(wo_allocator_walk(r->allocator, match_segment, r), WO_OK);
  check(r, r->segment == r->trace->segments.count, "the model holds fewer segments");
}

/* ---- Cases ---- */

/* The number behind a word of the note that tells of the stand-in card. */
static uint64_t noted(const struct runner *r, const char *word) {
  for (size_t i = 0; i < r->recording->notes.count; i++) {
    const struct wo_view note = r->recording->notes.items[i];
    const size_t length = strlen(word);
    for (size_t at = 0; wo_view_starts(note, "stand-in card:") && at + length < note.len; at++) {
      struct wo_view rest = wo_view_skip(note, at);
      uint64_t value = 0;
      if (!wo_view_starts(rest, word)) continue;
      rest = wo_view_skip(rest, length);
      if (wo_number_u64(&rest, UINT64_MAX, &value) == WO_OK) return value;
    }
  }
  fail_case(r, "no note tells of the stand-in card");
  return 0;
}

static void begin(struct runner *r) {
  struct wo_err err;
  check(r, r->recording->torch_from == r->recording->torch_to && r->recording->torch_from != 0, "no version of torch");
  const enum wo_standin_policy policy = (enum wo_standin_policy)noted(r, "policy ");
  wo_standin_reset(&r->standin, r->recording->capacity_bytes, policy, noted(r, "seed "));
  r->device = wo_standin_device(&r->standin);
  const struct wo_allocator_options options = {.settings = r->recording->settings,
                                               .torch = r->recording->torch_from,
                                               .device = &r->device,
                                               .observer = {.state = r, .on_event = on_event}};
  assert_int_equal(wo_allocator_new(&options, &r->allocator, &err), WO_OK);
}

static void run_case(const char *path) {
  static struct runner runner;
  struct runner *r = &runner;
  struct wo_err err;
  memset(r, 0, sizeof *r);
  r->path = path;
  if (wo_trace_open(path, &r->recording, &err) != WO_OK) {
    print_error("%s: line %llu: %s\n", path, (unsigned long long)err.line, err.message);
    fail();
  }
  assert_int_equal(r->recording->traces.count, 1);
  r->trace = &r->recording->traces.items[0];
  begin(r);
  while (r->entry < r->trace->entries.count) run_step(r);
  match_layout(r);
  wo_allocator_free(r->allocator);
  wo_recording_free(r->recording);
}

static void for_each_case(void (*run)(const char *path)) {
  static const char folder[] = WO_SOURCE_DIR "/tests/oracle/cases";
  size_t count = 0;
  char **names = wo_files_names(folder, ".jsonl", &count);
  assert_true(count >= 10);
  for (size_t i = 0; i < count; i++) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    run(path);
  }
  wo_files_free_names(names, count);
}

static void test_cases(void **state) {
  (void)state;
  for_each_case(run_case);
}

/* The same by the program: a check that takes addresses and refusals from the recording. */
static void check_case(const char *path) {
  const char *args[] = {"replay", "--check", path, NULL};
  const struct wo_process_spec spec = {.args = args};
  struct wo_process_result result;
  assert_true(wo_process_run(&spec, &result));
  if (result.exit_code != 0) print_error("%s: exit code %d\n%s%s", path, result.exit_code, result.out, result.err);
  assert_int_equal(result.exit_code, 0);
  wo_process_done(&result);
}

static void test_replay_check(void **state) {
  (void)state;
  for_each_case(check_case);
}

/* With an argument: that case alone, for tests/oracle/make_cases.py. */
int main(int argc, char **argv) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_replay_check)};
  if (argc == 2) {
    run_case(argv[1]);
    return 0;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
