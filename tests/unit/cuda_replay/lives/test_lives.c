/* SPDX-License-Identifier: Apache-2.0 */
/* Lives of blocks and ranges: what the entries say, what is smoothed over where they contradict each other, and the same sums as
 * the allocator's model on real recordings. */
#include "cuda_replay/lives/lives.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_replay/lives/sites.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/recording/recordings.h"
#include "tests/support/recording/shared_traces.h"

static struct wo_recording *read_lines(const char *text) {
  struct wo_recording *recording = NULL;
  struct wo_err err = {0};
  if (wo_test_read(text, strlen(text), SIZE_MAX, &recording, &err) != WO_OK) fail_msg("line %d: %s", (int)err.line, err.message);
  return recording;
}

static struct wo_lives make(const struct wo_recording *recording) {
  struct wo_lives lives;
  assert_int_equal(wo_lives_make(recording, &recording->traces.items[0], &lives), WO_OK);
  return lives;
}

/* Each row: size, birth, death; -1 is WO_NO_ENTRY. */
struct expected {
  long long size, birth, death;
};

static void check_blocks(const struct wo_lives *lives, const struct expected *rows, size_t count) {
  assert_int_equal(lives->blocks.count, count);
  for (size_t i = 0; i < count; i++) {
    const struct wo_life *const life = &lives->blocks.items[i];
    assert_int_equal(life->size_bytes, rows[i].size);
    assert_int_equal(life->birth, (uint32_t)rows[i].birth);
    assert_int_equal(life->death, (uint32_t)rows[i].death);
    if (life->death != WO_NO_ENTRY) assert_int_equal(lives->died_at[life->death], i);
  }
}

static void check_ranges(const struct wo_lives *lives, const struct expected *rows, size_t count) {
  assert_int_equal(lives->ranges.count, count);
  for (size_t i = 0; i < count; i++) {
    const struct wo_range_life *const range = &lives->ranges.items[i];
    assert_int_equal(range->size_bytes, rows[i].size);
    assert_int_equal(range->birth, (uint32_t)rows[i].birth);
    assert_int_equal(range->death, (uint32_t)rows[i].death);
  }
}

/* One block from before the first entry that is freed, one that stays, one that comes and goes, one that waits for a stream. */
static void blocks_have_their_entries(void **state) {
  (void)state;
  struct wo_recording *const recording = read_lines("{\"whyoom_trace\":1}\n"
                                                    "{\"alloc\":600,\"addr\":4096}\n"
                                                    "{\"free_requested\":500,\"addr\":1024}\n"
                                                    "{\"free_completed\":500,\"addr\":1024}\n"
                                                    "{\"alloc\":700,\"addr\":1024}\n"
                                                    "{\"free_requested\":600,\"addr\":4096}\n"
                                                    "{\"segment\":8192,\"addr\":0}\n"
                                                    "{\"block\":1024,\"state\":\"allocated\",\"requested\":900}\n"
                                                    "{\"block\":1024,\"state\":\"allocated\",\"requested\":700}\n"
                                                    "{\"block\":2048,\"state\":\"free\"}\n"
                                                    "{\"block\":1024,\"state\":\"pending\",\"requested\":600}\n"
                                                    "{\"block\":3072,\"state\":\"free\"}\n");
  struct wo_lives lives = make(recording);
  check_blocks(&lives, (struct expected[]){{900, -1, -1}, {500, -1, 1}, {600, 0, 4}, {700, 3, -1}}, 4);
  check_ranges(&lives, (struct expected[]){{8192, -1, -1}}, 1);
  assert_int_equal(lives.start_count, 2);
  assert_int_equal(lives.unclear_count, 0);
  const struct wo_moment peak = wo_lives_peak(&lives, wo_lives_all(&lives));
  assert_int_equal(peak.entry, 3);
  assert_int_equal(peak.bytes, 900 + 600 + 700);
  assert_int_equal(peak.count, 3);
  assert_int_equal(wo_lives_at(&lives, WO_NO_ENTRY).bytes, 1400);
  assert_int_equal(wo_lives_at(&lives, 4).bytes, 1600);
  wo_lives_done(&lives);
  wo_recording_free(recording);
}

/* The peak of a part counts the state before the part, and nothing before that. */
static void a_peak_is_that_of_its_window(void **state) {
  (void)state;
  struct wo_recording *const recording = read_lines("{\"whyoom_trace\":1}\n"
                                                    "{\"alloc\":9000,\"id\":1}\n{\"free\":1}\n"
                                                    "{\"alloc\":100,\"id\":2}\n{\"alloc\":50,\"id\":3}\n{\"free\":2}\n");
  struct wo_lives lives = make(recording);
  assert_int_equal(wo_lives_peak(&lives, wo_lives_all(&lives)).bytes, 9000);
  const struct wo_moment part = wo_lives_peak(&lives, (struct wo_window){3, 7});
  assert_int_equal(part.bytes, 150);
  assert_int_equal(part.entry, 4);
  assert_int_equal(wo_lives_peak(&lives, (struct wo_window){1, 2}).bytes, 9000);
  wo_lives_done(&lives);
  wo_recording_free(recording);
}

/* Frees that are missing, and a block that is freed twice: no life is lost, and each contradiction is counted. */
static void contradictions_are_smoothed_over(void **state) {
  (void)state;
  struct wo_recording *const recording = read_lines("{\"whyoom_trace\":1}\n"
                                                    "{\"alloc\":10,\"addr\":512}\n"
                                                    "{\"alloc\":20,\"addr\":512}\n"
                                                    "{\"free_requested\":20,\"addr\":512}\n"
                                                    "{\"free_requested\":20,\"addr\":512}\n"
                                                    "{\"alloc\":30,\"addr\":1024}\n");
  struct wo_lives lives = make(recording);
  check_blocks(&lives, (struct expected[]){{10, 0, 1}, {20, 1, 2}, {20, 2, 3}, {30, 4, -1}}, 4);
  assert_int_equal(lives.unclear_count, 2);
  assert_int_equal(wo_lives_at(&lives, 4).bytes, 30);
  wo_lives_done(&lives);
  wo_recording_free(recording);
}

/* An expandable segment that was mapped in two pieces, and of which the middle was unmapped. */
static void ranges_are_cut_where_they_begin_and_end(void **state) {
  (void)state;
  struct wo_recording *const recording = read_lines("{\"whyoom_trace\":1}\n"
                                                    "{\"segment_map\":4096,\"addr\":4096}\n"
                                                    "{\"segment_map\":8192,\"addr\":8192}\n"
                                                    "{\"segment_unmap\":4096,\"addr\":8192}\n"
                                                    "{\"segment_alloc\":512,\"addr\":65536}\n"
                                                    "{\"segment_free\":512,\"addr\":65536}\n"
                                                    "{\"segment\":4096,\"addr\":4096,\"expandable\":true}\n"
                                                    "{\"block\":4096,\"state\":\"free\"}\n"
                                                    "{\"segment\":4096,\"addr\":12288,\"expandable\":true}\n"
                                                    "{\"block\":4096,\"state\":\"free\"}\n");
  struct wo_lives lives = make(recording);
  check_ranges(&lives, (struct expected[]){{4096, 0, -1}, {4096, 1, 2}, {4096, 1, -1}, {512, 3, 4}}, 4);
  assert_true(lives.ranges.items[1].is_expandable && !lives.ranges.items[3].is_expandable);
  assert_int_equal(lives.unclear_count, 0);
  wo_lives_done(&lives);
  wo_recording_free(recording);
}

/* Addresses at the end of all addresses do not wrap around. */
static void ranges_end_with_the_addresses(void **state) {
  (void)state;
  struct wo_recording *const recording =
      read_lines("{\"whyoom_trace\":1}\n{\"segment_map\":18446744073709551615,\"addr\":18446744073709551000}\n"
                 "{\"segment_map\":18446744073709551615,\"addr\":0}\n{\"segment_unmap\":18446744073709551615,\"addr\":5}\n");
  struct wo_lives lives = make(recording);
  for (size_t i = 0; i < lives.ranges.count; i++)
    assert_true(lives.ranges.items[i].size_bytes <= UINT64_MAX - lives.ranges.items[i].address);
  wo_lives_done(&lives);
  wo_recording_free(recording);
}

/* Entries of a segment of 0 bytes, inside a range and at its ends, leave it whole. */
static void ranges_are_not_cut_by_nothing(void **state) {
  (void)state;
  struct wo_recording *const recording = read_lines("{\"whyoom_trace\":1}\n"
                                                    "{\"segment_alloc\":0,\"addr\":4096}\n"
                                                    "{\"segment_alloc\":0,\"addr\":5120}\n"
                                                    "{\"segment_free\":0,\"addr\":6144}\n"
                                                    "{\"segment_alloc\":0,\"addr\":8192}\n"
                                                    "{\"segment_alloc\":512,\"addr\":18446744073709551615}\n"
                                                    "{\"segment\":4096,\"addr\":4096}\n"
                                                    "{\"block\":4096,\"state\":\"free\"}\n");
  struct wo_lives lives = make(recording);
  check_ranges(&lives, (struct expected[]){{4096, -1, -1}}, 1);
  wo_lives_done(&lives);
  wo_recording_free(recording);
}

/* Real recordings: as many blocks before the first entry as the pattern finds, and the requested bytes of its instances at every
 * moment. */
static void real_recordings_have_the_lives_of_the_pattern(void **state) {
  (void)state;
  static const char *const names[] = {"trainstep-torch2.1.pickle", "fromempty-torch2.6.pickle",
                                      "lm-ctx512-fullstep-torch2.6.pickle", "lm-medium1024-training-torch2.11.pickle"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct wo_shared_trace shared;
    if (!wo_shared_trace_open(names[i], &shared)) skip();
    struct wo_lives lives;
    assert_int_equal(wo_lives_make(shared.recording, shared.trace, &lives), WO_OK);
    assert_int_equal(lives.start_count, shared.pattern.start_count);
    assert_int_equal(lives.blocks.count, shared.pattern.instances.count);
    assert_int_equal(lives.unclear_count, 0);
    uint64_t start_bytes = 0;
    for (size_t k = 0; k < shared.pattern.start_count; k++) start_bytes += shared.pattern.instances.items[k].size_bytes;
    assert_int_equal(wo_lives_at(&lives, WO_NO_ENTRY).bytes, start_bytes);
    for (size_t k = lives.start_count; k < lives.blocks.count; k++) {
      const struct wo_instance *const instance = &shared.pattern.instances.items[k];
      assert_int_equal(lives.blocks.items[k].size_bytes, instance->size_bytes);
      assert_int_equal(lives.blocks.items[k].birth, shared.pattern.requests.items[instance->birth].entry);
    }
    wo_lives_done(&lives);
    wo_shared_trace_done(&shared);
  }
}

static const char two_stacks[] = "{\"whyoom_trace\":1}\n"
                                 "{\"frame\":0,\"function\":\"at::empty\",\"file\":\"??\"}\n"
                                 "{\"frame\":1,\"function\":\"linear\",\"file\":\"/e/site-packages/torch/nn.py\",\"line\":9}\n"
                                 "{\"frame\":2,\"function\":\"forward\",\"file\":\"/home/me/model.py\",\"line\":31}\n"
                                 "{\"frame\":3,\"function\":\"main\",\"file\":\"/home/me/train.py\",\"line\":12}\n"
                                 "{\"frame\":4,\"function\":\"attend\",\"file\":\"/e/site-packages/lib/layer.py\",\"line\":5}\n"
                                 "{\"stack\":0,\"frames\":[0,1,2,3]}\n{\"stack\":1,\"frames\":[0,2,3]}\n"
                                 "{\"stack\":2,\"frames\":[0,4,2,3]}\n{\"stack\":3,\"frames\":[]}\n"
                                 "{\"alloc\":10,\"id\":1,\"stack\":0}\n";

/* Stacks with the same own line and asker are one site; those without frames are the site of no stack. */
static void sites_join_stacks(void **state) {
  (void)state;
  struct wo_recording *const recording = read_lines(two_stacks);
  struct wo_sites sites;
  struct wo_text text = {0};
  assert_int_equal(wo_sites_make(recording, &sites), WO_OK);
  assert_int_equal(sites.items.count, 3);
  assert_int_equal(wo_sites_of(&sites, 0), wo_sites_of(&sites, 1));
  assert_int_not_equal(wo_sites_of(&sites, 0), wo_sites_of(&sites, 2));
  assert_int_equal(wo_sites_of(&sites, 3), 0);
  assert_int_equal(wo_sites_of(&sites, WO_NO_STACK), 0);
  wo_site_show(recording, &sites.items.items[wo_sites_of(&sites, 2)], &text);
  assert_string_equal(text.ptr, "forward model.py:31 in attend layer.py:5");
  wo_text_done(&text);
  wo_sites_done(&sites);
  wo_recording_free(recording);
}

/* Whichever allocation fails, nothing is left and nothing crashes. */
static void memory_may_run_out(void **state) {
  (void)state;
  struct wo_recording *const recording = read_lines(two_stacks);
  for (long n = 1;; n++) {
    struct wo_lives lives;
    struct wo_sites sites = {0};
    wo_fail_alloc_at(n);
    enum wo_status status = wo_lives_make(recording, &recording->traces.items[0], &lives);
    if (status == WO_OK) status = wo_lives_classify(&lives, NULL);
    if (status == WO_OK) status = wo_sites_make(recording, &sites);
    wo_fail_alloc_off();
    assert_int_equal(status, wo_fail_alloc_hit() ? WO_E_NOMEM : WO_OK);
    wo_lives_done(&lives);
    wo_sites_done(&sites);
    if (status == WO_OK) break;
  }
  wo_recording_free(recording);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_have_their_entries),
      cmocka_unit_test(a_peak_is_that_of_its_window),
      cmocka_unit_test(contradictions_are_smoothed_over),
      cmocka_unit_test(ranges_are_cut_where_they_begin_and_end),
      cmocka_unit_test(ranges_end_with_the_addresses),
      cmocka_unit_test(ranges_are_not_cut_by_nothing),
      cmocka_unit_test(real_recordings_have_the_lives_of_the_pattern),
      cmocka_unit_test(sites_join_stacks),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
