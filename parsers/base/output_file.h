/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes out: the one place that opens files to write them.
 *
 * A file is written beside its place under a temporary name (".whyoom-PID-N") and renamed when it is complete and closed, so that
 * its name never holds a part of it: whatever fails, the old file stays as it was and no temporary file is left. Only a process
 * that is killed leaves one. A file that is replaced keeps its owner, group, mode and access list; one that cannot keep them,
 * that has further names (hard links) or that nobody may write is refused.
 *
 * A path that names no regular file but is meant so (/dev/null, a terminal, a FIFO, /dev/stdout, /dev/fd/N) is written directly.
 * A symbolic link is followed to its file if it belongs to the user or to root: in a folder that others can write to, a link of
 * theirs would choose the file that is replaced. */
#ifndef WO_OUTPUT_FILE_H
#define WO_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "parsers/base/status.h"
#include "parsers/base/view.h"

/* Longer paths are refused. */
enum { WO_OUTPUT_PATH_BYTES = 2048 };

/* The place of an output. */
struct wo_output_file {
  char path[WO_OUTPUT_PATH_BYTES]; /* of the file itself: links in its last part are followed */
  struct stat old;                 /* the file or stream that is there */
  bool is_old;                     /* a regular file is there, which is replaced */
  bool is_stream;                  /* is written directly */
  int descriptor;                  /* of the open file that the path means; else -1 */
};

/* The new content of a file, under a temporary name. */
struct wo_output_draft {
  char path[WO_OUTPUT_PATH_BYTES]; /* empty: there is none */
  bool is_open;                    /* it is being written, through the descriptor */
  int descriptor;
};

/* Finds the place of an output, and whether it can be written. Nothing is opened or changed. WO_E_KIND: it is a folder, a device
 * that holds data, a link that is not followed, or a file with several names; WO_E_IO with the system's reason; WO_E_LIMIT.
 * After a failure *ret_file is not to be used. */
enum wo_status wo_output_find(const char *path, struct wo_output_file *ret_file, struct wo_err *err);

/* Whether `path` names the regular file that is there, under whatever name; "-" is standard input. */
bool wo_output_is(const struct wo_output_file *file, const char *path);

/* Whether two places are one, whether or not there is a file. */
bool wo_output_is_same(const struct wo_output_file *a, const struct wo_output_file *b);

/* Writes the whole content. With is_synced a file that is replaced is on its disk before it takes the old one's name. A stream
 * whose reader has ended is no error. WO_E_IO, WO_E_KIND, WO_E_LIMIT. */
enum wo_status wo_output_write(const struct wo_output_file *file, struct wo_view content, bool is_synced, struct wo_err *err);

/* The same for an open descriptor. */
enum wo_status wo_output_write_fd(int fd, struct wo_view content, struct wo_err *err);

/* The two halves of wo_output_write for regular files: all of several files can so be complete before the first one is replaced.
 * Writing needs space and rights; renaming hardly fails. */
enum wo_status wo_output_draft(const struct wo_output_file *file, struct wo_view content, bool is_synced,
                               struct wo_output_draft *ret_draft, struct wo_err *err);

/* A draft whose content comes in pieces: opens it / adds a piece / closes it when it is whole, with the rights of the file that it
 * replaces. Not for streams. On failure there is no draft any more. */
enum wo_status wo_output_open(const struct wo_output_file *file, struct wo_output_draft *ret_draft, struct wo_err *err);
enum wo_status wo_output_add(struct wo_output_draft *draft, struct wo_view content, struct wo_err *err);
enum wo_status wo_output_close(const struct wo_output_file *file, struct wo_output_draft *draft, bool is_synced,
                               struct wo_err *err);

/* Renames the draft to its file; the draft is gone in any case. WO_E_IO. */
enum wo_status wo_output_commit(const struct wo_output_file *file, struct wo_output_draft *draft, struct wo_err *err);

/* Removes a draft; nothing without one. False if it could not be removed: draft->path still names it then. */
bool wo_output_drop(struct wo_output_draft *draft);

#endif
