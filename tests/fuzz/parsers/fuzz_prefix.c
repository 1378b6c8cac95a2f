/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: a prefix lies inside its line, and so do host and source; the rank is known or unknown, nothing else; unboxing only
 * ever takes away. */
#include <stdbool.h>
#include <stdint.h>

#include "parsers/event/event.h"
#include "parsers/prefix/prefix.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A failed check must stop the fuzzer in every build type, so assert would not do. */
static void require(bool holds) {
  if (!holds) __builtin_trap();
}

static bool is_inside(struct wo_view part, struct wo_view whole) {
  return part.len == 0 || (part.ptr >= whole.ptr && part.ptr + part.len <= whole.ptr + whole.len);
}

static void check_line(struct wo_view line) {
  const struct wo_prefix prefix = wo_prefix_read(line);
  require(prefix.length <= line.len);
  require(prefix.rank == WO_RANK_UNKNOWN || prefix.rank >= 0);
  require(!prefix.is_local_rank || prefix.rank >= 0);
  require(prefix.time_ns == WO_TIME_UNKNOWN || prefix.stamp.clock != WO_CLOCK_NONE);
  require(!prefix.stamp.is_inherited && prefix.stamp.clock <= WO_CLOCK_YEARLESS);
  int32_t rank = WO_RANK_UNKNOWN;
  require(wo_prefix_rank_inside(line, &rank) == (rank >= 0));
  const struct wo_view head = wo_view_sub(line, 0, prefix.length);
  require(is_inside(prefix.host, head) && is_inside(prefix.source, head));
  const struct wo_view text = wo_view_skip(line, prefix.length);
  require(is_inside(wo_prefix_unbox(text), text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const struct wo_view whole = {(const char *)data, size};
  check_line(whole);
  struct wo_view rest = whole;
  while (rest.len > 0) check_line(wo_view_cut(&rest, '\n'));
  return 0;
}
