/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over folders and finds jobs: files that belong together by their names (analyzer/files/grouping.h), folder by folder.
 *
 * The order is that of names, byte by byte: the jobs of a folder, then its folders. It does not depend on the order in which the
 * system lists them. Memory grows with the largest folder, not with the archive. Nothing is opened but folders. Tar archives are
 * handed to a hook, and then walked as if they were unpacked. One walk must not
 * be used by two threads at once. */
#ifndef WO_WALK_H
#define WO_WALK_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/base/status.h"
#include "parsers/base/view.h"

/* A time that is not given. */
#define WO_WALK_ANY_TIME INT64_MIN

struct wo_walk_options {
  const struct wo_view *include, *exclude; /* patterns of the shell: of names, or of paths below the root if they hold a '/' */
  size_t include_count, exclude_count;
  int64_t since_ns, until_ns; /* jobs whose newest log was written within; WO_WALK_ANY_TIME: no limit */
  bool follows_links;
  bool is_one_file_system;
  bool is_flat;    /* the folders that are named alone, not those in them */
  bool is_live;    /* files may go at any time: one that is gone since it was listed is no problem */
  size_t root_len; /* bytes of the paths, their last slash included, that are those of the root for patterns and shards, where
                      folders below it are walked as roots; 0: those of each root */
  uint32_t shard, shard_count; /* jobs of one part: by a hash of their paths below the root; 0 of 1 is all */
};

struct wo_tar;
struct wo_tar_member;

/* A regular file, as it was when it was found. One in an archive has no inode, so that it is the same in a copy of the archive.
 */
struct wo_walk_file {
  const char *path;
  uint64_t device, inode;
  int64_t size_bytes, mtime_ns;
  uint32_t owner;
  const struct wo_tar_member *member; /* in the archive; NULL: it is in none */
};

/* The files of one job: logs first, in the order of names. Valid during the call. */
struct wo_walk_job {
  const struct wo_walk_file *files;
  size_t file_count, log_count;
  struct wo_view name;      /* of its log without id and endings; or empty */
  const struct wo_tar *tar; /* the archive that its files are in; NULL: none */
};

/* Files that the walk passed over. */
struct wo_walk_counts {
  uint64_t folders, files;
  uint64_t left_out;    /* by include and exclude */
  uint64_t nameless;    /* whose names say that they are no logs */
  uint64_t out_of_time; /* files of jobs that were not written within the limits of time */
  double share;         /* of the folders, from 0 to 1: how far the walk has come, if all folders were alike */
};

struct wo_walk_hooks {
  void *context;
  /* False ends the walk. */
  bool (*on_job)(void *context, const struct wo_walk_job *job, const struct wo_walk_counts *counts);
  /* A file or folder that cannot be read, or is of a kind that is not read. */
  void (*on_problem)(void *context, const char *path, const struct wo_err *err);
  /* Not NULL: the walk only looks for files of accounting that name no job, and finds no jobs. No problem is reported: the walk
   * for jobs meets it again. */
  void (*on_accounting)(void *context, const char *path);
  /* The same in an archive; to be set with on_accounting and on_archive. */
  void (*on_archive_accounting)(void *context, const struct wo_tar *tar, const struct wo_tar_member *member, const char *path);
  /* A file whose name says that it is a tar archive: the hook has it read, and hands it to wo_walk_archive, now or later. NULL:
   * such files are like others. The path of what is in it below the root begins behind `root_len` bytes. */
  void (*on_archive)(void *context, const struct wo_walk_file *file, size_t root_len, const struct wo_walk_counts *counts);
  /* Not NULL: asked for each folder before it is listed; false: the walk does not go into it. */
  bool (*on_folder)(void *context, const char *path, bool is_root);
};

/* Walks over the roots ("": the present folder, whose paths begin with the names in it), which are folders, or files that are
 * jobs of their own together with those beside them. WO_E_NOMEM; everything else is a problem for the hook. `is_cancelled` ends
 * the walk when it is set. */
enum wo_status wo_walk(const char *const *roots, size_t count, const struct wo_walk_options *options,
                       const struct wo_walk_hooks *hooks, const volatile sig_atomic_t *is_cancelled,
                       struct wo_walk_counts *ret_counts);

/* Walks over the files of an archive that was read, as over folders; archives in it are named and not read. `is_again`: what is
 * wrong with it was said before. Adds to *counts. WO_E_NOMEM. */
enum wo_status wo_walk_archive(const struct wo_tar *tar, const struct wo_walk_options *options, const struct wo_walk_hooks *hooks,
                               const volatile sig_atomic_t *is_cancelled, bool is_again, struct wo_walk_counts *counts);

#endif
