/* SPDX-License-Identifier: Apache-2.0 */
/* Names out of any text: what is rewritten stays as it is when it is rewritten again, and hides a name that was learned. */
#include <stdint.h>

#include "parsers/base/anonymize/pseudonyms.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const struct wo_view text = {(const char *)data, size};
  struct wo_view rest = text;
  struct wo_pseudonyms *const p = wo_pseudonyms_new();
  struct wo_text out = {0};
  size_t marks[] = {size / 3, size / 2};
  if (!p) return 0;
  wo_pseudonyms_learn(p, WO_NAME_OF_USER, wo_view_cut(&rest, '\n'));
  wo_pseudonyms_learn_hosts(p, wo_view_cut(&rest, '\n'));
  wo_pseudonyms_learn_text(p, text);
  wo_pseudonyms_add_text(p, text, marks, 2, &out);
  require(out.is_failed || (marks[0] <= marks[1] && marks[1] <= out.len));
  wo_pseudonyms_add_path(p, text, &out);
  wo_pseudonyms_add_hosts(p, text, &out);
  wo_text_done(&out);
  wo_pseudonyms_free(p);
  return 0;
}
