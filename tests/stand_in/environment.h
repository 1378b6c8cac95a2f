/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that the stand-ins read from the environment. */
#ifndef WO_STAND_IN_ENVIRONMENT_H
#define WO_STAND_IN_ENVIRONMENT_H

#include <stdint.h>
#include <stdlib.h>

/* The digits at the front of *text, which moves behind them. */
static inline uint64_t digits(const char **text) {
  uint64_t number = 0;
  for (; **text >= '0' && **text <= '9'; (*text)++) number = number * 10 + (uint64_t)(**text - '0');
  return number;
}

/* The number of that variable, or `otherwise` where it is not set. */
static inline uint64_t number_of(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? digits(&text) : otherwise;
}

#endif
