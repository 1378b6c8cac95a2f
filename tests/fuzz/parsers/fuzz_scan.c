/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes through the whole scanner with the compiled-in patterns. Properties: the evidence does not depend on how the input
 * was cut into chunks, nor on the prefilter; every place lies inside the input; line numbers count line feeds.
 *
 * A first byte of 'L' makes a line longer than the scanner reads in one piece: the second byte says how much filler stands in
 * front. */
#include "tests/fuzz/scan_target.h"

enum { BYTES_MAX = 6000, FILLER_UNIT = 1024 };

/* The log that an input stands for; *ret_log is an allocation of its own. */
static struct wo_view make_log(const uint8_t *data, size_t size, char **ret_log) {
  if (size > BYTES_MAX) size = BYTES_MAX;
  size_t filler = 0;
  if (size >= 2 && data[0] == 'L') {
    filler = WO_LIMIT_LINE_BYTES - WO_LIMIT_LINE_OVERLAP_BYTES - FILLER_UNIT + (size_t)data[1] * 64;
    data += 2;
    size -= 2;
  }
  char *const log = malloc(2 * filler + size + 1);
  require(log != NULL);
  memset(log, '.', filler);
  if (size > 0) memcpy(log + filler, data, size);
  memset(log + filler + size, '-', filler);
  *ret_log = log;
  return (struct wo_view){log, 2 * filler + size};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = NULL;
  const struct wo_view log = make_log(data, size, &text);
  struct wo_event_store whole, other;
  const uint64_t joined_lines = target_scan(log, 0, false, &whole);
  target_check_store(&whole, log, joined_lines);
  /* Single bytes into one long line are looked at again and again. */
  target_scan(log, log.len > BYTES_MAX ? 9000 : 1 + size % 61, false, &other);
  target_check_same(&whole, &other);
  wo_event_store_done(&other);
  /* The reference of the prefilter compares every literal everywhere: for short inputs only. */
  if (log.len <= BYTES_MAX) {
    target_scan(log, 0, true, &other);
    target_check_same(&whole, &other);
    wo_event_store_done(&other);
  }
  wo_event_store_done(&whole);
  free(text);
  return 0;
}
