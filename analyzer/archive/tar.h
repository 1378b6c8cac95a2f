/* SPDX-License-Identifier: Apache-2.0 */
/* A tar archive as a list of the files in it, and the place where their bytes are.
 *
 * The bytes of a plain archive are read where they are. A compressed one is expanded once, from front to back, and the files that
 * may belong to jobs are kept in a temporary file. Nothing is ever opened or made by a name that stands in the archive. */
#ifndef WO_TAR_H
#define WO_TAR_H

#include <signal.h>

#include "analyzer/archive/walk.h"
#include "parsers/base/arena.h"
#include "parsers/base/input/archive.h"
#include "parsers/base/input/spool.h"

/* A name in the archive; that of a folder is left out. */
struct wo_tar_member {
  const char *name; /* a path below the archive: any bytes but NUL, `..` too */
  const char *user; /* name of its owner, if it is one; or empty */
  uint64_t at;      /* of its bytes in the source; WO_TAR_NOT_KEPT */
  int64_t size_bytes, mtime_ns;
  uint32_t uid;
  uint32_t order; /* in the archive */
  enum wo_archive_kind kind;
};

#define WO_TAR_NOT_KEPT UINT64_MAX

struct wo_tar {
  char *path;
  size_t root_len;        /* of the walk's root in the path of the archive and its files */
  uint64_t device, inode; /* of the archive, as it was when it was read */
  int64_t size_bytes, mtime_ns;
  struct wo_arena arena;       /* of the names */
  struct wo_tar_member *items; /* in the order of names, byte by byte; each name once */
  size_t count, capacity;
  int fd;              /* the source: the archive, or the temporary file; -1: none */
  struct wo_view kept; /* without a source: bytes of the accounting that was kept with the list */
  bool is_compressed;
  enum wo_status status; /* why the list ends early, with `err` */
  struct wo_err err;
};

/* Makes an archive of which nothing is read yet, for a file that the walk has found. NULL without memory. */
struct wo_tar *wo_tar_new(const struct wo_walk_file *file, size_t root_len);

/* Closes the source and frees. NULL allowed; returns NULL. */
struct wo_tar *wo_tar_free(struct wo_tar *tar);

/* Reads the archive: its list, and the bytes of a compressed one, which go into the spool, an empty one. That becomes the source
 * then, and is closed here otherwise. The reading ends when *is_up is set. Whatever goes wrong is tar->status, and what was read
 * until then counts: WO_E_SYNTAX (damaged, or cut off), WO_E_KIND (no archive), WO_E_IO, WO_E_LIMIT, WO_E_NOMEM. */
void wo_tar_read(struct wo_tar *tar, const struct wo_walk_options *options, struct wo_spool spool,
                 const volatile sig_atomic_t *is_up);

/* Adds a member whose texts are copied / brings the members into order, the last one of each name alone. WO_E_LIMIT:
 * there is no room for it. */
enum wo_status wo_tar_add(struct wo_tar *tar, const struct wo_tar_member *member, struct wo_err *err);
void wo_tar_sort(struct wo_tar *tar);

#endif
