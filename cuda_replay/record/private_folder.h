/* SPDX-License-Identifier: Apache-2.0 */
/* Folders whose files nobody else can exchange: Python runs the code that `whyoom record` puts there. */
#ifndef WO_PRIVATE_FOLDER_H
#define WO_PRIVATE_FOLDER_H

#include "parsers/base/status.h"

/* Whether only the user and root can exchange what is in a folder (absolute path without links). It and each of its parents must
 * belong to one of them and be closed to the writing of others, or be sticky (/tmp), where only owners rename. WO_E_KIND with the
 * first folder that is not so, WO_E_IO. */
enum wo_status wo_private_folder_check(const char *path, struct wo_err *err);

/* Makes the folder, in one that wo_private_folder_check takes, if it does not exist. WO_E_KIND if it is no folder that belongs to
 * the user and that nobody else can write to; WO_E_IO. */
enum wo_status wo_private_folder_make(const char *path, struct wo_err *err);

#endif
