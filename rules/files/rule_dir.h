/* SPDX-License-Identifier: Apache-2.0 */
/* The rule files of a folder, in memory: of --rules, and of the packs when the program is built. */
#ifndef WO_RULE_DIR_H
#define WO_RULE_DIR_H

#include "parsers/base/status.h"
#include "rules/files/rule_file.h"

/* Files that are about to be loaded. Zeroed: none. */
struct wo_rule_files {
  struct wo_rule_file *items; /* name and data are owned of those with is_user */
  size_t count;
  size_t capacity;
};

/* Appends every file below `dir` whose name ends in .json, hidden ones apart, in the byte-wise order of their paths. A compressed
 * file is expanded. A NUL follows each text. WO_E_IO, WO_E_LIMIT or WO_E_NOMEM with the path in *err; what was read until
 * then stays in *files. */
enum wo_status wo_rule_dir_read(const char *dir, struct wo_rule_files *files, struct wo_err *err);

/* Frees what was read, and the list. */
void wo_rule_files_done(struct wo_rule_files *files);

#endif
