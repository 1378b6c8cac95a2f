/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that a parser must refuse, each with what it says. Included after cmocka.h. */
#ifndef WO_TEST_REFUSAL_H
#define WO_TEST_REFUSAL_H

#include <string.h>

#include "parsers/base/status.h"

struct refusal {
  const char *text;
  enum wo_status status;
  uint32_t column; /* where the error is, from 1 */
  const char *message;
};

/* Asserts that the text was refused just so. */
static inline void assert_refused(const struct refusal *row, enum wo_status status, const struct wo_err *err) {
  if (status != row->status || err->code != status || err->column != row->column || strcmp(err->message, row->message) != 0)
    fail_msg("%s: %s at %u: %s", row->text, wo_status_text(status), err->column, err->message);
}

#endif
