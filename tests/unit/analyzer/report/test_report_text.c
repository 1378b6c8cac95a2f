/* SPDX-License-Identifier: Apache-2.0 */
/* The report for people: analyzer/report_text*.c. What it says, and that it fits every page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/failing_alloc.h"
#include "tests/support/job/report_sample.h"

static const struct wo_text_style plain = {.width = 80};

/* The report as a NUL-terminated text; released with wo_text_done. */
static struct wo_text written(const struct sample *sample, struct wo_text_style style) {
  struct wo_text text = {0};
  wo_report_text(&sample->report, style, &text);
  assert_false(text.is_failed);
  assert_true(text.len > 0 && text.ptr[text.len - 1] == '\n');
  return text;
}

static bool has(const struct wo_text *text, const char *part) {
  return wo_view_has((struct wo_view){text->ptr, text->len}, part);
}

/* Asserts that the report at the given style holds all parts (a NULL-terminated list). */
static void assert_parts(const struct sample *sample, struct wo_text_style style, const char *const *parts) {
  struct wo_text text = written(sample, style);
  for (; *parts != NULL; parts++) {
    if (!has(&text, *parts)) print_error("missing: %s\nin:\n%s", *parts, text.ptr);
    assert_true(has(&text, *parts));
  }
  wo_text_done(&text);
}

static void assert_lacks(const struct sample *sample, struct wo_text_style style, const char *part) {
  struct wo_text text = written(sample, style);
  assert_false(has(&text, part));
  wo_text_done(&text);
}

/* ---- What it says ---- */

static void test_whole_report(void **state) {
  (void)state;
  static const char expected[] =
      "slurm-88213.err  train.sbatch  job 88213  8 ranks on gpu11, gpu12\n"
      "out of GPU memory at step 4120 of 5000\n"
      "\n"
      "error[fragmentation]: 11.62 GiB lay idle in pieces while 2.00 GiB was refused\n"
      "                                                                          likely\n"
      "  --> slurm-88213.err:20917  rank 3  gpu12  GPU 1  backward\n"
      "      model/attention.py:208\n"
      "      | torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
      "      |                                             ^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
      "      | GPU 1 has a total capacity of 39.39 GiB of which 1.06 GiB is free. Of\n"
      "      | the allocated memory 26.11 GiB is allocated by PyTorch, and 11.62 GiB is\n"
      "      | reserved by PyTorch but unallocated.\n"
      "  The allocator held enough memory, but no free piece of it was large enough.\n"
      "\n"
      "  GPU 1  39.39 GiB\n"
      "  [###################################################......................-  ]\n"
      "    # 26.11 tensors  . 11.62 idle  - 0.60 outside PyTorch  1.06 free  (GiB)\n"
      "  free 1.06 + unallocated 11.62 = 12.68 GiB >= 2.00 GiB wanted: space enough, in\n"
      "    pieces\n"
      "  for:     11.62 GiB is 30 % of the card\n"
      "           the unallocated part grew from 6.10 to 11.62 GiB (line 3902)\n"
      "  against: the job ran for 4 120 steps\n"
      "\n"
      "  fix 1  expandable segments on\n"
      "         export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n"
      "         frees up to 11.6 GiB: at most the 11.62 GiB that lie idle\n"
      "         speed: about the same; results: unchanged; effort: one line\n"
      "  fix 2  micro-batch 8 -> 4, accumulation 4 -> 8\n"
      "         --per_device_train_batch_size 4  # now 8, train.sbatch:12\n"
      "         grad_accum=8  # now 4\n"
      "         srun --export=ALL python train.py --per_device_train_batch_size 4 --gradient_accumulation_steps 8 --resume\n"
      "         frees 6.0 to 9.0 GiB: half of the 12 to 18 GiB of activations\n"
      "         speed: 5-15 % slower; results: unchanged\n"
      "         note: the effective batch of 256 is kept\n"
      "  not proposed: max_split_size_mb (conflicts with fix 1); gradient checkpointing\n"
      "                (already on, train.sbatch:21)\n"
      "  would settle it: a memory snapshot: the largest free block against the request\n"
      "\n"
      "  also possible: a micro-batch of 8 is more than the card can hold\n"
      "                 (oversized-micro-batch, possible)\n"
      "  folded: 7 consequences on 2 ranks (NCCL watchdog 5, connection closed 2);\n"
      "          --verbose shows them\n"
      "  survived: 1 memory failure that the program caught (line 3902)\n"
      "  resubmit with: sbatch train.sbatch\n";
  struct sample sample;
  sample_fill(&sample);
  struct wo_text text = written(&sample, plain);
  assert_string_equal(text.ptr, expected);
  wo_text_done(&text);
}

static void test_nothing_wrong(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  sample_make_ok(&sample);
  struct wo_text text = written(&sample, plain);
  assert_string_equal(text.ptr, "slurm-88213.err  train.sbatch  job 88213  8 ranks on gpu11, gpu12\n"
                                "no failure found\n"
                                "\n"
                                "ok: no failure found in 2 files, 21 235 lines\n");
  wo_text_done(&text);
  sample.job.input_count = 1;
  sample.inputs[0].lines = 1;
  sample.job.story.outcome = WO_OUTCOME_UNKNOWN;
  assert_parts(&sample, plain, (const char *const[]){"note: no failure found in 1 file, 1 line; the log does not show", NULL});
  assert_lacks(&sample, plain, "  --> ");
  sample.job.events.count = 1;
  sample.job.story.outcome_evidence[sample.job.story.outcome_evidence_count++] = sample.job.events.items[0].id;
  assert_parts(&sample, plain, (const char *const[]){"  --> ", NULL});
}

static void test_nothing_readable(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  sample_make_ok(&sample);
  sample.job.input_count = 1;
  sample.inputs[0] = (struct wo_job_input){.path = WO_VIEW("gone.err"), .is_unreadable = true};
  sample.job.story.outcome = WO_OUTCOME_UNKNOWN;
  assert_parts(&sample, plain,
               (const char *const[]){"note: nothing could be read\n", "note: gone.err: could not be read\n", NULL});
}

/* A failure that no rule explains is still shown where it stands. */
static void test_failure_without_finding(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  sample.report.finding_count = 0;
  assert_parts(&sample, plain,
               (const char *const[]){"error: out of GPU memory; no rule knows more about it\n",
                                     "--> slurm-88213.err:20917  rank 3", "| torch.OutOfMemoryError", NULL});
}

static void test_ending_without_failure_event(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  sample.report.has_memory = false;
  sample.job.story.outcome = WO_OUTCOME_TIME_LIMIT;
  sample.job.story.failure = WO_EVENT_NONE;
  sample.job.story.outcome_evidence[0] = 4;
  assert_parts(&sample, plain,
               (const char *const[]){"stopped at its time limit at step 4120", "--> slurm-88213.err:21000", NULL});
  sample.job.story.outcome_evidence_count = 0;
  assert_parts(&sample, plain, (const char *const[]){"--> slurm-88213.err:20917", NULL}); /* what the first argument rests on */
  sample.findings[0].for_count = 0;
  assert_lacks(&sample, plain, "-->");
}

static void test_note_when_the_job_survived(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  sample.job.story.outcome = WO_OUTCOME_SUCCESS;
  assert_parts(&sample, plain, (const char *const[]){"note[fragmentation]:", NULL});
}

static void test_job_line(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  struct wo_job_input inputs[5];
  for (size_t i = 0; i < 5; i++) inputs[i] = sample.inputs[i % 2];
  sample.job.inputs = inputs;
  sample.job.input_count = 5;
  sample.job.story.array_task = 7;
  for (size_t i = 0; i < 6; i++) sample.job.story.nodes[i] = WO_VIEW("n1");
  sample.job.story.node_count = 6;
  sample.job.story.rank_count = 1;
  sample.job.story.step_total = -1;
  sample.job.story.step_unit = (struct wo_view){NULL, 0};
  assert_parts(
      &sample, (struct wo_text_style){.width = 200},
      (const char *const[]){"slurm-88213.err  train.sbatch  and 3 more files  job 88213, array task 7  1 rank on n1, n1, n1, n1 "
                            "and 2 more  out of GPU memory at step 4120\n",
                            NULL});
}

static void test_verbose_shows_what_is_folded(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  const struct wo_text_style verbose = {.width = 80, .is_verbose = true};
  assert_parts(&sample, verbose,
               (const char *const[]){"also[oversized-micro-batch]: a micro-batch of 8", "Activations grow with the micro-batch.",
                                     "    slurm-88213.err:21000  rank 0  Watchdog caught", "    slurm-88213.err:21001  rank 1",
                                     "    slurm-88213.err:3902  rank 3  CUDA out of memory, skipping", NULL});
  assert_lacks(&sample, verbose, "--verbose shows");
  assert_lacks(&sample, verbose, "also possible");
}

static void test_notes_on_inputs(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  sample.inputs[1].notes[0] = WO_VIEW("3 lines of more than 65536 bytes were read in pieces");
  sample.inputs[1].note_count = 1;
  sample.job.events.dropped = 1204;
  assert_parts(&sample, plain,
               (const char *const[]){"\nnote: train.sbatch: 3 lines of more than 65536 bytes",
                                     "\nnote: 1 204 pieces of evidence beyond the limits: counted, not kept\n", NULL});
}

static void test_long_evidence_is_cut_unless_verbose(void **state) {
  (void)state;
  static char words[2000];
  struct sample sample;
  sample_fill(&sample);
  for (size_t i = 0; i < sizeof words; i++) words[i] = i % 5 == 4 ? ' ' : 'w';
  sample.events[2].text = (struct wo_view){words, sizeof words};
  memcpy(words + sizeof words - 8, " the end", 8);
  assert_parts(&sample, plain, (const char *const[]){"      | ...\n", " the end\n", NULL});
  assert_lacks(&sample, (struct wo_text_style){.width = 80, .is_verbose = true}, "      | ...\n");
}

static void test_values_and_ranges(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  struct wo_finding_change *const change = &sample.changes[2];
  sample.fixes[1].saves_bytes = (struct wo_interval){536870912.0, 536870912.0, 536870912.0};
  change->to = (struct wo_value){.unit = WO_UNIT_BYTES, .is_known = true, .number = wo_interval_exact(2147483648.0)};
  change->from = (struct wo_value){.unit = WO_UNIT_TEXT, .is_known = true, .text = WO_VIEW("bf16")};
  assert_parts(&sample, plain, (const char *const[]){"grad_accum=2.00 GiB  # now bf16\n", "frees 512 MiB: half", NULL});
  change->to = sample_number(0.4);
  change->from = (struct wo_value){.unit = WO_UNIT_BOOL, .is_known = true, .truth = WO_FALSE};
  assert_parts(&sample, plain, (const char *const[]){"grad_accum=0.4  # now false\n", NULL});
  change->from = (struct wo_value){.unit = WO_UNIT_DURATION, .is_known = true, .number = wo_interval_exact(3.6e12)};
  assert_parts(&sample, plain, (const char *const[]){"# now 01:00:00\n", NULL});
}

/* ---- The bar ---- */

/* Columns between the brackets of the bar that hold the fill. */
static size_t count_cells(const struct wo_text *text, const char *fill) {
  const struct wo_view all = {text->ptr, text->len};
  const size_t start = wo_view_find(all, WO_VIEW("  ["), 0);
  assert_true(start != WO_NOT_FOUND);
  const size_t end = wo_view_find(all, WO_VIEW("]\n"), start);
  assert_true(end != WO_NOT_FOUND);
  size_t count = 0;
  for (size_t at = wo_view_find(all, wo_view_of(fill), start); at < end; at = wo_view_find(all, wo_view_of(fill), at + 1))
    count++;
  return count;
}

static void test_bar_shows_every_part(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  sample.report.memory.parts[2].bytes = sample_size(0.01); /* less than a column's worth */
  struct wo_text text = written(&sample, plain);
  assert_int_equal(count_cells(&text, "-"), 1);
  assert_in_range(count_cells(&text, "#"), 49, 52);
  assert_in_range(count_cells(&text, "."), 21, 23);
  wo_text_done(&text);
}

static void test_bar_keeps_its_width(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  struct wo_report_memory *const memory = &sample.report.memory;
  static const double sizes[] = {0.01, 39, 0.01, 0.01, 0.02, 100, 0.001, 1e-6};
  memory->part_count = 8;
  for (size_t i = 0; i < 8; i++)
    memory->parts[i] = (struct wo_memory_part){WO_VIEW("allocated"), wo_interval_exact(SAMPLE_GIB(sizes[i]))};
  memory->parts[4].bytes = (struct wo_interval){0, 0, 0};
  for (size_t width = 40; width <= 200; width += 13) {
    struct wo_text text = written(&sample, (struct wo_text_style){.width = width});
    assert_int_equal(count_cells(&text, "#"), width - 4);
    wo_text_done(&text);
  }
}

static void test_bar_in_block_characters(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  struct wo_text text = written(&sample, (struct wo_text_style){.width = 80, .use_utf8 = true});
  assert_in_range(count_cells(&text, "\xE2\x96\x88"), 49, 52);
  assert_int_equal(count_cells(&text, "#"), 0);
  assert_true(has(&text, "\xE2\x96\x91 11.62 idle"));
  assert_true(has(&text, "      \xE2\x94\x82 torch.OutOfMemoryError"));
  wo_text_done(&text);
}

static void test_no_bar_when_figures_contradict(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  sample.report.memory.is_contradictory = true;
  sample.report.memory.gpu = -1;
  assert_parts(&sample, plain,
               (const char *const[]){"  GPU  39.39 GiB  no bar is drawn: the figures cannot", "free 1.06 +", NULL});
  assert_lacks(&sample, plain, "###");
  sample.report.has_memory = false;
  assert_lacks(&sample, plain, "39.39 GiB  no bar");
}

static void test_unknown_sizes_draw_nothing(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  sample.report.memory.part_count = 0;
  sample.report.memory.capacity_bytes = (struct wo_interval){0, 0, 0};
  assert_parts(&sample, plain, (const char *const[]){"\n  GPU 1\n  free 1.06", NULL});
}

/* ---- How it looks ---- */

/* A line that may be wider than the page: a setting or command of a fix, on its own. */
static bool is_pasteable(struct wo_view line) {
  const struct wo_view text = wo_view_trim(line);
  return wo_view_starts(text, "srun ") || wo_view_starts(text, "export ") || wo_view_starts(text, "--per_device");
}

static void test_every_width_is_kept(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  sample.inputs[0].path =
      WO_VIEW("/scratch/project/\xE5\x86\x85\xE5\xAD\x98/a-very-long-folder-name-without-any-blank-in-it/slurm-88213.err");
  for (size_t width = 40; width <= 200; width++) {
    const struct wo_text_style style = {.width = width, .is_verbose = width % 2 == 0, .use_utf8 = width % 3 == 0};
    struct wo_text text = written(&sample, style);
    struct wo_view rest = {text.ptr, text.len};
    while (rest.len > 0) {
      const struct wo_view line = wo_view_cut(&rest, '\n');
      assert_true(wo_text_columns(line) <= width || is_pasteable(line));
      assert_false(wo_view_ends(line, " "));
    }
    wo_text_done(&text);
  }
}

static void test_narrower_pages_are_laid_out_as_the_narrowest(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  struct wo_text zero = written(&sample, (struct wo_text_style){.width = 0});
  struct wo_text forty = written(&sample, (struct wo_text_style){.width = 40});
  assert_string_equal(zero.ptr, forty.ptr);
  wo_text_done(&zero);
  wo_text_done(&forty);
}

/* Without its escape codes the coloured report is the plain one: colours say nothing that the text does not. */
static void test_colours_add_nothing_but_escapes(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  struct wo_text coloured = written(&sample, (struct wo_text_style){.width = 80, .use_color = true});
  struct wo_text expected = written(&sample, plain);
  assert_true(has(&coloured, "\033[1;31merror[fragmentation]:\033[0m"));
  size_t len = 0;
  for (size_t i = 0; i < coloured.len;) {
    if (coloured.ptr[i] == '\033') {
      i += strcspn(coloured.ptr + i, "m") + 1;
    } else {
      coloured.ptr[len++] = coloured.ptr[i++];
    }
  }
  assert_int_equal(len, expected.len);
  assert_memory_equal(coloured.ptr, expected.ptr, len);
  wo_text_done(&coloured);
  wo_text_done(&expected);
}

static void test_carets_follow_the_broken_line(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  sample.events[2].text = WO_VIEW("CUDA out of memory. Tried to allocate 2.00 GiB. And so on.");
  assert_parts(&sample, (struct wo_text_style){.width = 46},
               (const char *const[]){"      | CUDA out of memory. Tried to allocate\n"
                                     "      |                     ^^^^^^^^^^^^^^^^^\n"
                                     "      | 2.00 GiB. And so on.\n"
                                     "      | ^^^^^^^^\n",
                                     NULL});
  sample.events[2].text = WO_VIEW("Tried to allocate nothing at all");
  assert_lacks(&sample, plain, "^");
}

static void test_paths_cannot_smuggle_escapes(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  sample.inputs[0].path = WO_VIEW("a\033[2Jb\xFF.err");
  assert_lacks(&sample, plain, "\033");
  assert_parts(&sample, plain, (const char *const[]){"a [2Jb\xEF\xBF\xBD.err:20917", NULL});
}

static void test_events_of_unknown_files(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  sample.events[2].span.file = 9;
  assert_parts(&sample, plain, (const char *const[]){"--> ?:20917", NULL});
}

/* ---- Out of memory ---- */

static void test_out_of_memory_is_told(void **state) {
  (void)state;
  struct sample sample;
  sample_fill(&sample);
  for (long n = 1;; n++) {
    struct wo_text text = {0};
    wo_fail_alloc_at(n);
    wo_report_text(&sample.report, (struct wo_text_style){.width = 200, .is_verbose = true, .use_color = true}, &text);
    wo_fail_alloc_off();
    const bool has_hit = wo_fail_alloc_hit();
    assert_int_equal(text.is_failed, has_hit);
    wo_text_done(&text);
    if (!has_hit) break;
    assert_true(n < 100);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_whole_report),
      cmocka_unit_test(test_nothing_wrong),
      cmocka_unit_test(test_nothing_readable),
      cmocka_unit_test(test_failure_without_finding),
      cmocka_unit_test(test_ending_without_failure_event),
      cmocka_unit_test(test_note_when_the_job_survived),
      cmocka_unit_test(test_job_line),
      cmocka_unit_test(test_verbose_shows_what_is_folded),
      cmocka_unit_test(test_notes_on_inputs),
      cmocka_unit_test(test_long_evidence_is_cut_unless_verbose),
      cmocka_unit_test(test_values_and_ranges),
      cmocka_unit_test(test_bar_shows_every_part),
      cmocka_unit_test(test_bar_keeps_its_width),
      cmocka_unit_test(test_bar_in_block_characters),
      cmocka_unit_test(test_no_bar_when_figures_contradict),
      cmocka_unit_test(test_unknown_sizes_draw_nothing),
      cmocka_unit_test(test_every_width_is_kept),
      cmocka_unit_test(test_narrower_pages_are_laid_out_as_the_narrowest),
      cmocka_unit_test(test_colours_add_nothing_but_escapes),
      cmocka_unit_test(test_carets_follow_the_broken_line),
      cmocka_unit_test(test_paths_cannot_smuggle_escapes),
      cmocka_unit_test(test_events_of_unknown_files),
      cmocka_unit_test(test_out_of_memory_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
