/* SPDX-License-Identifier: Apache-2.0 */
/* Tar archives for tests. */
#ifndef WO_TEST_TAR_MAKER_H
#define WO_TEST_TAR_MAKER_H

#include "parsers/base/text.h"

/* Appends an entry of ustar: of user "ada" (1000), written 1 000 000 000 s after 1970. Names have less than 100 bytes. */
void wo_tar_maker_add(struct wo_text *tar, char type, const char *name, struct wo_view content);

/* Appends the two blocks of zeros that an archive ends with. */
void wo_tar_maker_end(struct wo_text *tar);

#endif
