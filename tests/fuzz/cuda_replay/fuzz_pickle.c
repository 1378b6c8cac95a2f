/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the snapshot reader with a pickle. Checks: what comes out is valid, or nothing with a message; the size of the pieces in
 * which the bytes come does not matter; the same holds for a file that ends early. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cuda_replay/recording/snapshot/snapshot.h"
#include "cuda_replay/recording/snapshot/snapshot_page.h"
#include "cuda_replay/recording/open/trace_open.h"
#include "tests/fuzz/require.h"
#include "cuda_replay/recording/recording_valid.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct pieces {
  const uint8_t *data;
  size_t len, at, piece;
};

static enum wo_status give_piece(void *context, char *buf, size_t cap, size_t *ret_len, struct wo_err *err) {
  struct pieces *const pieces = context;
  (void)err;
  size_t len = pieces->len - pieces->at;
  if (len > pieces->piece) len = pieces->piece;
  if (len > cap) len = cap;
  if (len > 0) memcpy(buf, pieces->data + pieces->at, len);
  pieces->at += len;
  *ret_len = len;
  return WO_OK;
}

/* What is compared. */
struct outcome {
  size_t status; /* enum wo_status; no padding, as memcmp looks at all */
  size_t traces, entries, segments, blocks, notes, stacks;
};

static void count(const struct wo_recording *recording, struct outcome *outcome) {
  outcome->traces = recording->traces.count;
  outcome->notes = recording->notes.count;
  outcome->stacks = recording->stacks.count;
  for (size_t i = 0; i < recording->traces.count; i++) {
    outcome->entries += recording->traces.items[i].entries.count;
    outcome->segments += recording->traces.items[i].segments.count;
    outcome->blocks += recording->traces.items[i].blocks.count;
  }
}

static struct outcome read_it(const uint8_t *data, size_t size, size_t piece) {
  struct pieces pieces = {data, size, 0, piece};
  struct wo_trace_source source = {0};
  struct outcome outcome = {.status = WO_OK};
  struct wo_err err = {.code = WO_OK};
  struct wo_recording *const recording = wo_recording_new();
  require(recording != NULL);
  require(wo_trace_source_init(&source, (struct wo_trace_feed){&pieces, give_piece}, "fuzz") == WO_OK);
  const bool is_page = wo_snapshot_page_sniff((struct wo_view){(const char *)data, size});
  outcome.status =
      (size_t)(is_page ? wo_snapshot_page_read(&source, recording, &err) : wo_snapshot_read(&source, recording, &err));
  if (outcome.status == WO_OK) {
    require(wo_recording_is_valid(recording));
    count(recording, &outcome);
  } else {
    require((size_t)err.code == outcome.status && err.message[0] != '\0');
  }
  wo_trace_source_done(&source);
  wo_recording_free(recording);
  return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const struct outcome whole = read_it(data, size, SIZE_MAX);
  const struct outcome chopped = read_it(data, size, 3);
  require(memcmp(&whole, &chopped, sizeof whole) == 0);
  /* What a cut file gives can be more than what its later instructions would leave; it must be valid. */
  read_it(data, size - size / 4, SIZE_MAX);
  return 0;
}
