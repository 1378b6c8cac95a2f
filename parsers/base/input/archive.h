/* The files of a tar archive (POSIX ustar and pax, GNU, and V7, whose headers have a checksum only), one after the other, from a
 * stream of bytes. */
#ifndef WO_ARCHIVE_H
#define WO_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/base/status.h"

enum { WO_ARCHIVE_BLOCK_BYTES = 512, WO_ARCHIVE_NAME_BYTES = 1024 };

/* Zeroed memory is a stream that was not looked at: it is read as the bytes that it is. */
struct wo_archive {
  bool is_looked_at;
  bool is_archive;
  bool is_over;
  uint64_t left;            /* bytes of the file that is read */
  uint64_t padding;         /* behind them, to the end of a block */
  size_t head_at, head_len; /* the part of `head` not given yet */
  char head[WO_ARCHIVE_BLOCK_BYTES];
  enum wo_status head_status; /* of the read that filled it; a failure follows the bytes */
  struct wo_err head_err;
  char name[WO_ARCHIVE_NAME_BYTES]; /* of the file; a longer one is cut */
};

/* Gives up to cap bytes; 0 at the end. */
typedef enum wo_status wo_archive_source(void *context, char *buf, size_t cap, size_t *ret_len, struct wo_err *err);

/* See wo_input_next_file and wo_input_read. */
enum wo_status wo_archive_next(struct wo_archive *archive, wo_archive_source *source, void *context, bool *ret_is_there,
                               struct wo_err *err);
enum wo_status wo_archive_read(struct wo_archive *archive, wo_archive_source *source, void *context, char *buf, size_t cap,
                               size_t *ret_len, struct wo_err *err);

#endif
