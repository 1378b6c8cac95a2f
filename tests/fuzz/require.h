/* SPDX-License-Identifier: Apache-2.0 */
/* The check of the fuzz targets. */
#ifndef WO_FUZZ_REQUIRE_H
#define WO_FUZZ_REQUIRE_H

#include <stdbool.h>

/* A failed check must stop the fuzzer in every build type, so assert would not do. */
static inline void require(bool holds) {
  if (!holds) __builtin_trap();
}

#endif
