/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of text with everything that a page draws, for the tests of analyzer/document/. */
#ifndef WO_TEST_DOCUMENT_SAMPLE_H
#define WO_TEST_DOCUMENT_SAMPLE_H

#include "analyzer/document/document.h"
#include "parsers/base/limits.h"
#include "tests/support/job/job_sample.h"

/* What no page may have in this form: an element, the end of an attribute, of a comment, of CDATA, of a fence, a new line's
 * heading, an order of characters that is turned. */
#define HOSTILE                                                                                                                  \
  "<script>alert(1)</script><img src=x onerror=alert(2)>\"' `x` ``` ]]> --> @root #1 \xe2\x80\xae"                               \
  "evil"

/* Reads the files as one job whose figures are kept for pictures. The report is released with document_done. */
struct document_sample {
  struct wo_job *job;
  struct wo_report *report;
};

static inline void document_read(struct document_sample *sample, const struct wo_pack *pack, const struct sample_file *files,
                                 size_t count) {
  assert_int_equal(wo_job_new(pack, &sample->job), WO_OK);
  wo_job_keep_curves(sample->job);
  for (size_t i = 0; i < count; i++)
    assert_int_equal(wo_job_read_text(sample->job, wo_view_of(files[i].text), files[i].path), WO_OK);
  assert_int_equal(wo_job_close(sample->job), WO_OK);
  assert_int_equal(wo_report_make(sample->job, pack, &sample->report), WO_OK);
}

static inline void document_done(struct document_sample *sample) {
  wo_report_free(sample->report);
  wo_job_free(sample->job);
}

typedef void (*document_writer)(const struct wo_report *report, const struct wo_screen *screen, struct wo_text *out);

/* Writes a document; out->is_failed when memory was out anywhere. */
static inline void document_write(const struct document_sample *sample, document_writer writer, struct wo_text *out) {
  struct wo_arena arena;
  struct wo_screen screen;
  wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
  if (wo_screen_make(sample->report, WO_VIEW("a.err run.sh"), &arena, &screen) == WO_OK) {
    writer(sample->report, &screen, out);
  } else {
    out->is_failed = true;
  }
  wo_arena_done(&arena);
}

/* A job of four ranks that ran out of memory, with hostile words wherever a log can have them. */
static const struct sample_file document_job[] = {
    {"a.err", "[rank1]: Traceback (most recent call last):\n"
              "[rank1]:   File \"/home/" HOSTILE "/train.py\", line 88, in main\n"
              "[rank1]:     loss.backward()\n"
              "[rank1]: " OOM_ON("1") "note " HOSTILE "\n"
                                      "[rank0]: ncclRemoteError: A call failed possibly due to a network error " HOSTILE "\n"
                                      "[rank2]: ncclRemoteError: A call failed possibly due to a network error " HOSTILE "\n"
                                      "[rank3]: RuntimeError: " HOSTILE "\n"},
    {"a.out", "[Rank 1] (after 10 iterations) memory (MB) | allocated: 30822.0 | reserved: 33000.0\n"
              "[Rank 1] (after 20 iterations) memory (MB) | allocated: 31846.0 | reserved: 33500.0\n"
              "[Rank 1] (after 30 iterations) memory (MB) | allocated: 32870.0 | reserved: 34000.0\n"
              "[Rank 1] (after 40 iterations) memory (MB) | allocated: 37406.0 | reserved: 38500.0\n"
              "world size: 4\n" HOSTILE "\n"},
    {"run.sh", "#!/bin/bash\n#SBATCH --ntasks=4\nsrun python train.py --micro-batch-size 8 --name '" HOSTILE "'\n"},
    {"dmon.txt",
     "# gpu    fb    sm\n# Idx    MB     %\n    0   100     0\n    0 20000    80\n    0 37000    99\n    0 38000    99\n"
     "    0   100     0\n"}};

enum { DOCUMENT_JOB_FILES = sizeof document_job / sizeof *document_job };

#endif
