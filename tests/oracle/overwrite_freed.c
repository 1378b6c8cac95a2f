/* SPDX-License-Identifier: Apache-2.0 */
/* Freed memory is overwritten and never given out again, so that any use of it shows. For LD_PRELOAD before the driver, where the
 * oracle asks what became of torch after a refusal of the model. Short programs only: memory is never given back. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* Its bytes make pointers that no process may follow. */
enum { OVERWRITTEN = 0xa5 };

void free(void *memory) {
  if (memory) memset(memory, OVERWRITTEN, malloc_usable_size(memory));
}
