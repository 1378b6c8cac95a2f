/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes in: a regular file or an open descriptor; plain, gzip, xz or zstd (recognised by content, concatenated members too), and
 * the files of a tar archive one after the other.
 *
 * Streams: memory does not grow with the input. One input must not be used by two threads at once. */
#ifndef WO_INPUT_H
#define WO_INPUT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/base/input/archive.h"
#include "parsers/base/status.h"

struct wo_input;

/* Opens a regular file for reading without following it into a FIFO or device: anything that is no regular file gives WO_E_KIND
 * with a message that says what it is and what to do ("is a FIFO: pipe its reader into whyoom instead"; "is a folder: name the
 * files in it"). The paths /dev/stdin and /dev/fd/N are taken as descriptors. Symbolic links to regular files are
 * followed. A path that goes on behind the name of a tar archive ("logs.tar.gz/run7/slurm-4711.out") is that of a file in it; of
 * several with that name the last one counts. WO_E_IO: cannot be opened (the message holds the system's reason). WO_E_NOMEM. */
enum wo_status wo_input_open(const char *path, struct wo_input **ret_input, struct wo_err *err);

/* Reads from an open descriptor (stdin, a pipe). The descriptor stays the caller's. `name` is used in messages and is copied. */
enum wo_status wo_input_open_fd(int fd, const char *name, struct wo_input **ret_input, struct wo_err *err);

/* Reads `len` bytes at an offset of a regular file that is open for reading, of which several such inputs may read at the same
 * time, on different threads. The descriptor stays the caller's. WO_E_NOMEM. */
enum wo_status wo_input_open_part(int fd, uint64_t at, uint64_t len, const char *name, struct wo_input **ret_input,
                                  struct wo_err *err);

/* Reads bytes in memory, which are copied: compressed formats and archives are read as in a file. `bytes` may be NULL if `len` is
 * 0. WO_E_NOMEM, WO_E_IO. */
enum wo_status wo_input_open_bytes(const char *bytes, size_t len, const char *name, struct wo_input **ret_input,
                                   struct wo_err *err);

/* Ends the reading once *is_up is set: the next wo_input_read, and one that a signal interrupts, gives WO_E_LIMIT. */
void wo_input_stop_when(struct wo_input *input, const volatile sig_atomic_t *is_up);

/* Moves on to the next file of the input; *ret_is_there is false when there is none. The first call looks whether the input is a
 * tar archive: if so, each of its regular files is one, and folders, links and devices are passed over; else the whole input is
 * the only file. Without any call an archive is delivered as the bytes that it is. Errors as of wo_input_read; WO_E_SYNTAX too
 * where a header of the archive is damaged: nothing behind it can be read. */
enum wo_status wo_input_next_file(struct wo_input *input, bool *ret_is_there, struct wo_err *err);

/* As wo_input_next_file, but stops at each name in the archive: also at folders, links and devices. */
enum wo_status wo_input_next_entry(struct wo_input *input, bool *ret_is_there, struct wo_err *err);

/* What the archive says of the present file, valid until the next one; NULL where the input is no archive. */
const struct wo_archive_entry *wo_input_entry(const struct wo_input *input);

/* The descriptor that is read, for fstat; -1 of a file in an archive. */
int wo_input_fd(const struct wo_input *input);

/* The name of the file in the archive, valid until the next call of wo_input_next_file; NULL where the input is no archive. It
 * may hold any bytes but NUL, and `..`: nothing is written there. */
const char *wo_input_file_name(const struct wo_input *input);

/* Reads up to cap bytes of expanded content into buf. *ret_len 0 means the end. On failure what came before has already been
 * delivered: WO_E_IO (reading failed), WO_E_SYNTAX (a compressed member is damaged or ends in the middle; the message gives
 * the offset in the compressed file), WO_E_KIND (a format that this build has no library for), WO_E_LIMIT (expanded size or
 * ratio, see limits.h; the time is up). After a failure every further call gives *ret_len 0 and WO_OK. EINTR is retried. Zero
 * padding between and after members is passed over; other bytes after a member that are no member are delivered as they are
 * (wo_input_tail_offset). */
enum wo_status wo_input_read(struct wo_input *input, char *buf, size_t cap, size_t *ret_len, struct wo_err *err);

/* Goes to a byte of a regular file that is delivered as it is, whatever was delivered of it before: the next read gives what is
 * there, and all before it counts as delivered. False, and nothing is changed: the input is something else, or the system
 * refuses. After wo_input_next_file or a read. */
bool wo_input_go_to(struct wo_input *input, uint64_t offset);

/* Bytes of this file delivered so far, after expansion. */
uint64_t wo_input_bytes(const struct wo_input *input);

/* Whether the input is compressed (known after the first read). */
bool wo_input_is_compressed(const struct wo_input *input);

/* Offset in a compressed input of bytes behind its compressed members that were delivered as plain ones, as far as was read; 0
 * without any. */
uint64_t wo_input_tail_offset(const struct wo_input *input);

/* Closes and frees. NULL allowed. Returns NULL so that `in = wo_input_close(in);` reads well. */
struct wo_input *wo_input_close(struct wo_input *input);

#endif
