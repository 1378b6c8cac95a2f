/* SPDX-License-Identifier: Apache-2.0 */
/* Releases of PyTorch as numbers: the settings that exist, and their names, depend on them. */
#ifndef WO_TORCH_VERSION_H
#define WO_TORCH_VERSION_H

#include <stdbool.h>
#include <stdint.h>

#include "parsers/base/view.h"

/* Reads "2.6", "2.6.0+cu124", "2.7.0.dev20250310" as 100 * major + minor (206). False, and *ret_torch unchanged, if the text is
 * no version; a part above 99 makes it none. Threads: any. */
bool wo_torch_version_parse(struct wo_view text, uint16_t *ret_torch);

#endif
