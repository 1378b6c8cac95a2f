/* SPDX-License-Identifier: Apache-2.0 */
/* The whole of `whyoom replay` on any bytes: the first byte chooses the wishes, the rest is a file of trace lines. Whatever the
 * recording says, there is a report or a message, no control character reaches a terminal, and figures agree with each other. */
#include <stdint.h>
#include <string.h>

#include "cuda_replay/recording/json/trace_lines.h"
#include "cuda_replay/command/replay_make.h"
#include "cuda_replay/recording/open/trace_open.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
  const char *at;
  size_t left;
};

static enum wo_status fill(void *context, char *buf, size_t cap, size_t *ret_len, struct wo_err *err) {
  struct bytes *const bytes = context;
  (void)err;
  *ret_len = bytes->left < cap ? bytes->left : cap;
  if (*ret_len > 0) memcpy(buf, bytes->at, *ret_len);
  bytes->at += *ret_len;
  bytes->left -= *ret_len;
  return WO_OK;
}

static struct wo_recording *read_lines(struct bytes bytes) {
  struct wo_trace_source source;
  struct wo_recording *recording = wo_recording_new();
  struct wo_err err = {0};
  if (!recording) return NULL;
  if (wo_trace_source_init(&source, (struct wo_trace_feed){&bytes, fill}, "fuzz") != WO_OK) return wo_recording_free(recording);
  if (wo_trace_lines_read(&source, recording, &err) != WO_OK) recording = wo_recording_free(recording);
  wo_trace_source_done(&source);
  return recording;
}

static void look(const struct wo_replay_report *report) {
  struct wo_text text = {0};
  wo_replay_text(report, (struct wo_text_style){.width = 80, .is_verbose = true}, &text);
  wo_replay_json(report, &text);
  for (size_t i = 0; i < text.len; i++) require(text.ptr[i] == '\n' || (unsigned char)text.ptr[i] >= ' ');
  wo_text_done(&text);
  const struct wo_replay_case *const subject = wo_replay_subject(report);
  if (!subject) return;
  require(subject->reserved_lo_bytes <= subject->reserved_hi_bytes && subject->oom_count <= subject->run_count);
  require(subject->outcome.peak.allocated_bytes <= subject->outcome.peak.reserved_bytes);
  if (report->capacity.bytes > 0 && report->has_whatif) require(report->whatif.reserved_hi_bytes <= report->capacity.bytes);
}

static void replay(const struct wo_recording *recording, uint8_t wishes) {
  struct wo_replay_args args = {.is_sweep = wishes == 1, .is_check = wishes == 2, .has_at = wishes == 3, .at_entry = wishes};
  static const char *const sets[] = {"expandable_segments:True", "max_split_size_mb:32", "roundup_power2_divisions:4"};
  if (wishes >= 4) args.change.sets[args.change.set_count++] = wo_view_of(sets[wishes % 3]);
  if (wishes % 2 == 1) args.change.capacity_bytes = (uint64_t)wishes << 21;
  args.has_chart = wishes == 8;
  for (size_t i = 0; i < recording->traces.count; i++) {
    struct wo_replay_report report;
    struct wo_err err = {0};
    if (wo_replay_make(recording, &recording->traces.items[i], WO_VIEW("fuzz"), &args, &report, &err) != WO_OK) {
      require(err.message[0] != '\0');
      continue;
    }
    look(&report);
    wo_replay_report_done(&report);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  struct wo_recording *recording = read_lines((struct bytes){(const char *)data + 1, size - 1});
  if (recording) replay(recording, data[0]);
  wo_recording_free(recording);
  return 0;
}
