/* SPDX-License-Identifier: Apache-2.0 */
/* See tar_maker.h. */
#include "tests/support/tar_maker.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 512 };

static const char zeros[2 * BLOCK];

void wo_tar_maker_add(struct wo_text *tar, char type, const char *name, struct wo_view content) {
  char block[BLOCK] = {0};
  unsigned sum = 0;
  assert(strlen(name) < 100);
  memcpy(block, name, strlen(name));
  snprintf(block + 108, 8, "%07o", 1000u);
  snprintf(block + 124, 12, "%011o", (unsigned)content.len);
  snprintf(block + 136, 12, "%011o", 1000000000u);
  memset(block + 148, ' ', 8);
  block[156] = type;
  memcpy(block + 257, "ustar", 5);
  memcpy(block + 265, "ada", 3);
  for (size_t i = 0; i < BLOCK; i++) sum += (unsigned char)block[i];
  snprintf(block + 148, 8, "%06o", sum);
  wo_text_add_view(tar, (struct wo_view){block, BLOCK});
  wo_text_add_view(tar, content);
  if (content.len % BLOCK > 0) wo_text_add_view(tar, (struct wo_view){zeros, BLOCK - content.len % BLOCK});
}

void wo_tar_maker_end(struct wo_text *tar) {
  wo_text_add_view(tar, (struct wo_view){zeros, sizeof zeros});
}
