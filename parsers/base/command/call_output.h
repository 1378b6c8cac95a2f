/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a call writes, and that are none of those that it reads. */
#ifndef WO_CALL_OUTPUT_H
#define WO_CALL_OUTPUT_H

#include "parsers/base/command/command.h"
#include "parsers/base/output_file.h"

/* Finds the file that an option or a word of the call names for writing, as wo_output_find does. WO_E_USAGE if the call reads it:
 * as a word, as an option's value or as standard input, under this name or another (a link, another spelling). To be called
 * before the work, so that a mistake is reported immediately. */
enum wo_status wo_call_find_output(const struct wo_call *call, const char *path, struct wo_output_file *ret_file,
                                   struct wo_err *err);

/* Finds it again and writes the whole content. A report that is lost to a power cut is made again, but the one before it may be
 * the only copy: is_synced as in wo_output_write. */
enum wo_status wo_call_write_output(const struct wo_call *call, const char *path, struct wo_view content, bool is_synced,
                                    struct wo_err *err);

#endif
