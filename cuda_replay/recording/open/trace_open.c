/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the trace formats, and the common steps around every reader: it recognises the file, names it in errors, and keeps
 * what was read before a stream broke. */
#include "cuda_replay/recording/open/trace_open.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cuda_replay/recording/json/chrome_trace.h"
#include "cuda_replay/recording/json/memory_timeline.h"
#include "cuda_replay/recording/json/trace_lines.h"
#include "cuda_replay/recording/snapshot/snapshot.h"
#include "cuda_replay/recording/snapshot/snapshot_page.h"

static const struct wo_trace_reader readers[] = {
#define WO_TRACE_READER(name, title) {#name, title, wo_##name##_sniff, wo_##name##_read},
#include "cuda_replay/recording/open/trace_formats.def"
#undef WO_TRACE_READER
};

enum { READER_COUNT = sizeof readers / sizeof readers[0] };

const struct wo_trace_reader *wo_trace_reader_find(struct wo_view front) {
  for (size_t i = 0; i < READER_COUNT; i++) {
    if (readers[i].sniff(front)) return &readers[i];
  }
  return NULL;
}

/* ---- Files that are no trace ---- */

/* Files that people give as traces by mistake, and the advice for each. */
static const struct {
  const char *front;
  const char *advice;
} lookalikes[] = {
    {"PK\x03\x04", "is a zip archive (made by torch.save?): write the snapshot with torch.cuda.memory._dump_snapshot"},
    {"\x28\xb5\x2f\xfd", "is compressed with zstd: unpack it first"},
    {"\xfd"
     "7zXZ",
     "is compressed with xz: unpack it first"},
    {"BZh", "is compressed with bzip2: unpack it first"},
    {"version https://git-lfs", "is only a pointer to a file in Git LFS: fetch the file with git lfs pull"},
};

/* The error's offset is 0, because the first bytes decide. */
static enum wo_status refuse_unknown(struct wo_view front, struct wo_err *err) {
  if (front.len == 0) return wo_err_set(err, WO_E_SYNTAX, "is empty: no trace was written");
  for (size_t i = 0; i < sizeof lookalikes / sizeof lookalikes[0]; i++) {
    if (wo_view_starts(front, lookalikes[i].front)) return wo_err_set(err, WO_E_SYNTAX, "%s", lookalikes[i].advice);
  }
  return wo_err_set(err, WO_E_SYNTAX,
                    "is no trace that can be read: expected a memory snapshot of torch.cuda.memory._dump_snapshot (pickle), its "
                    "memory_viz page, or a profiler trace (JSON), all plain or gzip");
}

/* ---- Reading ---- */

/* Adds a note about a failure of the stream to the recording. */
static void note_failure(const struct wo_trace_source *source, struct wo_recording *recording) {
  if (source->failure == WO_OK) return;
  recording->is_truncated = true;
  wo_recording_note(recording, "the file cannot be read beyond byte %" PRIu64 ": %s", source->end_offset,
                    source->failure_err.message);
}

/* A stream that broke before anything useful is reported as that failure, and not as a wrong trace. */
static enum wo_status fail(const struct wo_trace_source *source, enum wo_status status, struct wo_err *err) {
  if (source->failure != WO_OK && status == WO_E_SYNTAX) {
    if (err != NULL) *err = source->failure_err;
    status = source->failure;
  }
  if (err != NULL && status == WO_E_NOMEM) wo_err_set(err, status, "%s", wo_status_text(status));
  if (err != NULL) wo_err_place(err, source->name, err->line, err->column, err->offset);
  return status;
}

/* Whether memory was mapped, and no segment was allocated whole. */
static bool is_all_mapped(const struct wo_recording *recording) {
  bool has_maps = false;
  for (size_t i = 0; i < recording->traces.count; i++) {
    const struct wo_trace *const trace = &recording->traces.items[i];
    for (size_t k = 0; k < trace->entries.count; k++) {
      if (trace->entries.items[k].action == WO_ACTION_SEGMENT_ALLOC) return false;
      has_maps = has_maps || trace->entries.items[k].action == WO_ACTION_SEGMENT_MAP;
    }
  }
  return has_maps;
}

enum wo_status wo_trace_read(struct wo_trace_source *source, struct wo_recording **ret_recording, struct wo_err *err) {
  const struct wo_view front = wo_trace_source_peek(source, WO_TRACE_SNIFF_BYTES);
  const struct wo_trace_reader *const reader = wo_trace_reader_find(front);
  if (reader == NULL) return fail(source, refuse_unknown(front, err), err);
  struct wo_recording *const recording = wo_recording_new();
  const enum wo_status status = recording == NULL ? WO_E_NOMEM : reader->read(source, recording, err);
  if (status != WO_OK) {
    wo_recording_free(recording);
    return fail(source, status, err);
  }
  note_failure(source, recording);
  if (!recording->has_settings && is_all_mapped(recording)) recording->settings.expandable_segments = true;
  *ret_recording = recording;
  return WO_OK;
}

/* Readers end with their format's last byte, so the stream is asked for one more. */
static void note_tail(struct wo_trace_source *source, const struct wo_input *input, struct wo_recording *recording) {
  wo_trace_source_peek(source, 1);
  if (wo_input_tail_offset(input) == 0) return;
  wo_recording_note(recording, "behind the compressed part, from byte %" PRIu64 ", are bytes that were not read",
                    wo_input_tail_offset(input));
}

enum wo_status wo_trace_open(const char *path, struct wo_recording **ret_recording, struct wo_err *err) {
  assert(path != NULL && ret_recording != NULL);
  struct wo_input *input = NULL;
  const bool is_stdin = strcmp(path, "-") == 0;
  const char *const name = is_stdin ? "standard input" : path;
  enum wo_status status = is_stdin ? wo_input_open_fd(STDIN_FILENO, name, &input, err) : wo_input_open(path, &input, err);
  if (status != WO_OK) {
    wo_err_place(err, name, 0, 0, 0);
    return status;
  }
  struct wo_trace_source source = {0};
  status = wo_trace_source_init(&source, wo_trace_feed_input(input), name);
  if (status == WO_OK) {
    status = wo_trace_read(&source, ret_recording, err);
    if (status == WO_OK) note_tail(&source, input, *ret_recording);
  } else {
    wo_err_set(err, status, "%s", wo_status_text(status));
  }
  wo_trace_source_done(&source);
  wo_input_close(input);
  return status;
}
