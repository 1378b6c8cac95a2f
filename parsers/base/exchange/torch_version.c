/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a version of PyTorch. See torch_version.h. */
#include "parsers/base/exchange/torch_version.h"

#include "parsers/base/number.h"

bool wo_torch_version_parse(struct wo_view text, uint16_t *ret_torch) {
  uint64_t major = 0;
  uint64_t minor = 0;
  if (wo_number_u64(&text, 99, &major) != WO_OK || !wo_view_starts(text, ".")) return false;
  text = wo_view_skip(text, 1);
  if (wo_number_u64(&text, 99, &minor) != WO_OK) return false;
  if (text.len > 0 && !wo_view_starts(text, ".") && !wo_view_starts(text, "+") && !wo_is_alpha(text.ptr[0])) return false;
  *ret_torch = (uint16_t)(100 * major + minor);
  return true;
}
