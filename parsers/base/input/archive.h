/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a tar archive (POSIX ustar and pax, GNU, and V7, whose headers have a checksum only), one after the other, from a
 * stream of bytes. */
#ifndef WO_ARCHIVE_H
#define WO_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/base/status.h"
#include "parsers/base/view.h"

enum { WO_ARCHIVE_BLOCK_BYTES = 512, WO_ARCHIVE_NAME_BYTES = 1024, WO_ARCHIVE_USER_BYTES = 33 };

enum wo_archive_kind {
  WO_ARCHIVE_FILE,
  WO_ARCHIVE_SPARSE, /* a file with holes: its bytes begin with a list of them, or are without them */
  WO_ARCHIVE_FOLDER,
  WO_ARCHIVE_LINK,
  WO_ARCHIVE_HARD_LINK, /* a second name of a file before it */
  WO_ARCHIVE_OTHER      /* a FIFO or a device */
};

/* What a header says of its file, but for the name. All of it is as its author wrote it. */
struct wo_archive_entry {
  enum wo_archive_kind kind;
  bool is_plain; /* its bytes are those of a file, or nearly so */
  uint64_t size_bytes;
  uint64_t at;      /* of its bytes, in the archive as it is when expanded */
  int64_t mtime_ns; /* since 1970; 0 where it is not known */
  uint32_t uid;
  char user[WO_ARCHIVE_USER_BYTES]; /* name of its owner; empty where it is not known */
};

/* Zeroed memory is a stream that was not looked at: it is read as the bytes that it is. */
struct wo_archive {
  bool is_looked_at;
  bool is_archive;
  bool is_over;
  uint64_t taken;           /* bytes of the stream until here */
  uint64_t left;            /* bytes of the file that is read */
  uint64_t padding;         /* behind them, to the end of a block */
  size_t head_at, head_len; /* the part of `head` not given yet */
  char head[WO_ARCHIVE_BLOCK_BYTES];
  enum wo_status head_status; /* of the read that filled it; a failure follows the bytes */
  struct wo_err head_err;
  char name[WO_ARCHIVE_NAME_BYTES]; /* of the file; a longer one is cut */
  struct wo_archive_entry entry;
};

/* Where the stream comes from. */
struct wo_archive_source {
  void *context;
  /* Gives up to cap bytes; 0 at the end. */
  enum wo_status (*read)(void *context, char *buf, size_t cap, size_t *ret_len, struct wo_err *err);
  /* Passes over up to `len` bytes without reading them; 0: it cannot, or there are none. */
  uint64_t (*skip)(void *context, uint64_t len);
};

/* A name in an archive as a path below it: without the slashes and "./" that it may begin with. */
struct wo_view wo_archive_name(struct wo_view name);

/* See wo_input_next_file, wo_input_next_entry and wo_input_read. */
enum wo_status wo_archive_next(struct wo_archive *archive, const struct wo_archive_source *source, bool *ret_is_there,
                               struct wo_err *err);
enum wo_status wo_archive_next_entry(struct wo_archive *archive, const struct wo_archive_source *source, bool *ret_is_there,
                                     struct wo_err *err);
enum wo_status wo_archive_read(struct wo_archive *archive, const struct wo_archive_source *source, char *buf, size_t cap,
                               size_t *ret_len, struct wo_err *err);

#endif
