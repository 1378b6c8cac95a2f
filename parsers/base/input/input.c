/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes in.
 *
 * Owns the opening of inputs (regular files, descriptors), the recognition of compressed formats by their first bytes, the
 * expansion of any number of concatenated members, and the limits on expansion. Plain bytes go straight into the caller's buffer;
 * compressed ones pass through one fixed buffer. A failure met after bytes were produced is held back until the next read, so
 * that what came before it is always delivered. The meaning of the bytes does not matter here. */
#include "parsers/base/input/input.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parsers/base/descriptor.h"
#include "parsers/base/input/archive.h"
#include "parsers/base/input/member.h"
#include "parsers/base/input/memory_file.h"
#include "parsers/base/input/unpack.h"
#include "parsers/base/limits.h"

/* One read asks for no more than this, which fits into ssize_t everywhere. */
#define READ_MAX_BYTES ((size_t)1 << 30)

/* The next part of the input. A compressed file is a row of members (all formats allow any number, and `cat a.gz b.gz` makes
 * them), so
 * MEMBER and BETWEEN alternate; plain bytes, also those behind a member, never change into anything else. */
enum state {
  STATE_START,   /* nothing looked at yet */
  STATE_PLAIN,   /* bytes are delivered as they are, to the end */
  STATE_MEMBER,  /* inside a compressed member */
  STATE_BETWEEN, /* a member is complete; what follows is another one, or the end */
  STATE_END
};

/* An input. `raw` holds compressed bytes, and the bytes that were read to find out whether the input is compressed. */
struct wo_input {
  int fd;
  bool owns_fd;
  bool is_regular; /* a file: it can be read again from any place */
  bool is_compressed;
  bool is_raw_at_end; /* the descriptor has nothing more */
  enum state state;
  bool is_part; /* of the file: [part_at, part_end) is the input, read without moving the descriptor */
  uint64_t part_at, part_end;
  struct wo_input *outer;             /* whose file this is; NULL: the bytes come from the descriptor */
  const volatile sig_atomic_t *is_up; /* the time is; NULL: there is no limit */
  enum wo_status pending_status;      /* delivered by the next read, with `pending_err` */
  struct wo_err pending_err;
  const struct wo_unpacker *unpacker; /* of the member that is read, or of the last one; NULL without any */
  void *unpacked;                     /* its state */
  struct {
    bool is_fast;   /* `unpacker` is the faster one: the member may be gone through again */
    uint64_t start; /* of the member, in the compressed input */
    uint64_t given; /* bytes that came out of it */
    uint64_t skip;  /* of these, at its second time, what is still to be passed over */
  } member;
  struct wo_archive archive;
  uint64_t raw_bytes;        /* read from the descriptor so far */
  uint64_t expanded_bytes;   /* that came out of it */
  uint64_t file_bytes;       /* of these, handed to the caller for the file that is read */
  uint64_t tail_offset;      /* in the compressed input, of plain bytes behind its members; 0: none */
  size_t raw_start, raw_end; /* the part of `raw` not used yet */
  unsigned char *raw;
  char *name;
};

/* ---- Opening ---- */

/* The message about a path that is not a regular file. Each says what to do instead; opening such a file could block forever, or
 * never end. */
static const char *kind_advice(mode_t mode) {
  if (S_ISDIR(mode)) return "is a folder: name the files in it";
  if (S_ISFIFO(mode)) return "is a FIFO: pipe its reader into whyoom instead";
  if (S_ISSOCK(mode)) return "is a socket: name a regular file, or pipe the text into whyoom";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "is a device: name a regular file, or pipe the text into whyoom";
  return "is not a regular file: name a regular file, or pipe the text into whyoom";
}

/* Fills *err for a failed system call and returns its status. `what` is the start of the sentence
 * ("cannot be opened"). The POSIX strerror_r is meant, which returns a number. */
static enum wo_status io_error(struct wo_err *err, const char *what, int error_number) {
  char reason[128];
  if (strerror_r(error_number, reason, sizeof reason) != 0) snprintf(reason, sizeof reason, "error %d", error_number);
  const char *advice = "";
  if (error_number == ENOENT) advice = " (check the name and the current folder)";
  if (error_number == EACCES) advice = " (you need permission to read it)";
  if (error_number == EMFILE || error_number == ENFILE) advice = " (name fewer files at a time)";
  if (error_number == EAGAIN) advice = " (the descriptor is non-blocking; use a pipe or a file)";
  return wo_err_set(err, WO_E_IO, "%s: %s%s", what, reason, advice);
}

/* An input around fd, which is closed with it when owned, or NULL when memory is out. On failure an owned fd stays open: the
 * caller closes it. */
static struct wo_input *new_input(int fd, bool owns_fd, const char *name) {
  struct wo_input *const input = calloc(1, sizeof *input);
  if (input == NULL) return NULL;
  const size_t name_size = strlen(name) + 1;
  input->fd = -1;
  input->raw = malloc(WO_LIMIT_READ_BYTES);
  input->name = malloc(name_size);
  if (input->raw == NULL || input->name == NULL) return wo_input_close(input);
  memcpy(input->name, name, name_size);
  input->fd = fd;
  input->owns_fd = owns_fd;
  return input;
}

/* Makes the input of an open descriptor. `is_stream_allowed`: something other than a regular file
 * will do, unless it is a folder. Asking the descriptor cannot be fooled by a path that changes. */
static enum wo_status adopt_fd(int fd, bool owns_fd, bool is_stream_allowed, const char *name, struct wo_input **ret_input,
                               struct wo_err *err) {
  struct stat info;
  if (fstat(fd, &info) != 0) return io_error(err, "cannot be read", errno);
  if (!S_ISREG(info.st_mode) && (!is_stream_allowed || S_ISDIR(info.st_mode))) {
    return wo_err_set(err, WO_E_KIND, "%s", kind_advice(info.st_mode));
  }
  struct wo_input *const input = new_input(fd, owns_fd, name);
  if (input == NULL) return wo_err_set(err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
  input->is_regular = S_ISREG(info.st_mode);
  *ret_input = input;
  return WO_OK;
}

/* Opens without touching what is no regular file: opening a device can have effects, and a FIFO would wait for a writer. The kind
 * is checked by name first, and again for the descriptor, since the name may lead elsewhere by then; O_NONBLOCK and O_NOCTTY are
 * for that case, and mean nothing for a regular file. */
static enum wo_status open_regular(const char *path, int *ret_fd, struct wo_err *err) {
  struct stat info;
  if (stat(path, &info) != 0) return io_error(err, "cannot be opened", errno);
  if (!S_ISREG(info.st_mode)) return wo_err_set(err, WO_E_KIND, "%s", kind_advice(info.st_mode));
  int fd = -1;
  do {
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return io_error(err, "cannot be opened", errno);
  *ret_fd = fd;
  return WO_OK;
}

/* A descriptor of our own for a path that names one: duplicating works for sockets and closed-off
 * files too, where opening the path would fail. */
static enum wo_status open_descriptor(int number, int *ret_fd, struct wo_err *err) {
  const int fd = fcntl(number, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return io_error(err, "cannot be opened", errno);
  *ret_fd = fd;
  return WO_OK;
}

/* Sets *ret_input on success only. The place of an error is the path alone. */
enum wo_status wo__input_open_path(const char *path, struct wo_input **ret_input, struct wo_err *err) {
  assert(path != NULL && ret_input != NULL);
  const int number = wo_path_descriptor(path);
  int fd = -1;
  enum wo_status status = number >= 0 ? open_descriptor(number, &fd, err) : open_regular(path, &fd, err);
  if (status == WO_OK) {
    status = adopt_fd(fd, true, number >= 0, path, ret_input, err);
    if (status != WO_OK) close(fd);
  }
  if (status != WO_OK) wo_err_place(err, path, 0, 0, 0);
  return status;
}

enum wo_status wo_input_open_part(int fd, uint64_t at, uint64_t len, const char *name, struct wo_input **ret_input,
                                  struct wo_err *err) {
  struct wo_input *const input = new_input(fd, false, name);
  if (!input) return wo_err_nomem(err);
  input->is_part = input->is_regular = true;
  input->part_at = at;
  input->part_end = at + len;
  *ret_input = input;
  return WO_OK;
}

/* A file, so that everything that reads files at an offset works. */
enum wo_status wo_input_open_bytes(const char *bytes, size_t len, const char *name, struct wo_input **ret_input,
                                   struct wo_err *err) {
  const int fd = wo__memory_file(bytes, len);
  if (fd < 0) return io_error(err, "cannot be kept in memory", errno);
  const enum wo_status status = adopt_fd(fd, true, false, name, ret_input, err);
  if (status != WO_OK) close(fd);
  return status;
}

enum wo_status wo__input_open_inside(struct wo_input *outer, const char *name, struct wo_input **ret_input, struct wo_err *err) {
  struct wo_input *const input = new_input(-1, false, name);
  if (!input) return wo_err_nomem(err);
  input->outer = outer;
  *ret_input = input;
  return WO_OK;
}

enum wo_status wo_input_open_fd(int fd, const char *name, struct wo_input **ret_input, struct wo_err *err) {
  assert(name != NULL && ret_input != NULL);
  const enum wo_status status = adopt_fd(fd, false, true, name, ret_input, err);
  if (status != WO_OK) wo_err_place(err, name, 0, 0, 0);
  return status;
}

/* Also for inputs that were made in part: what was not made is NULL or -1 and not owned. */
struct wo_input *wo_input_close(struct wo_input *input) {
  if (input == NULL) return NULL;
  if (input->unpacked) input->unpacker->done(input->unpacked);
  if (input->owns_fd) close(input->fd);
  wo_input_close(input->outer);
  free(input->raw);
  free(input->name);
  free(input);
  return NULL;
}

/* ---- Raw bytes ---- */

/* Offset in the (compressed) input of the next byte that is not used yet: where damage is reported,
 * and what expansion is measured against. */
static uint64_t raw_offset(const struct wo_input *input) {
  assert(input->raw_start <= input->raw_end && input->raw_end - input->raw_start <= input->raw_bytes);
  return input->raw_bytes - (input->raw_end - input->raw_start);
}

void wo_input_stop_when(struct wo_input *input, const volatile sig_atomic_t *is_up) {
  input->is_up = is_up;
  if (input->outer) wo_input_stop_when(input->outer, is_up);
}

/* One call of the system. A part has no bytes behind its end. */
static ssize_t read_once(struct wo_input *input, void *buf, size_t cap) {
  if (!input->is_part) return read(input->fd, buf, cap);
  const uint64_t left = input->part_end - input->part_at;
  if (left == 0) return 0;
  const ssize_t len = pread(input->fd, buf, left < cap ? (size_t)left : cap, (off_t)input->part_at);
  if (len > 0) input->part_at += (uint64_t)len;
  return len;
}

/* One read(2), repeated when a signal interrupts it. Zero bytes mean the end, and then *ret_len is 0. A short read means nothing:
 * pipes and terminals give the bytes that they have. */
static enum wo_status read_raw(struct wo_input *input, void *buf, size_t cap, size_t *ret_len, struct wo_err *err) {
  assert(cap > 0);
  ssize_t len = 0;
  if (input->outer) {
    size_t got = 0;
    const enum wo_status status = wo_input_read(input->outer, buf, cap, &got, err);
    if (status != WO_OK) return status;
    len = (ssize_t)got;
  } else {
    do {
      if (input->is_up && *input->is_up) return wo_err_set(err, WO_E_LIMIT, "the time limit is reached; the rest is not read");
      len = read_once(input, buf, cap < READ_MAX_BYTES ? cap : READ_MAX_BYTES);
    } while (len < 0 && errno == EINTR);
  }
  if (len < 0) return io_error(err, "cannot be read", errno);
  if (len == 0 && input->is_part && input->part_at < input->part_end)
    return wo_err_set(err, WO_E_IO, "cannot be read: its archive became shorter");
  input->raw_bytes += (uint64_t)len;
  if (len == 0) input->is_raw_at_end = true;
  *ret_len = (size_t)len;
  return WO_OK;
}

/* Makes at least `want` unused bytes available in the buffer, or all there are before the end. Moves what is unused to the front,
 * which is little: no caller wants more than the bytes of a magic. */
static enum wo_status fill_raw(struct wo_input *input, size_t want, struct wo_err *err) {
  assert(want <= WO_LIMIT_READ_BYTES);
  const size_t unused = input->raw_end - input->raw_start;
  if (unused >= want) return WO_OK;
  memmove(input->raw, input->raw + input->raw_start, unused);
  input->raw_start = 0;
  input->raw_end = unused;
  while (input->raw_end < want && !input->is_raw_at_end) {
    size_t len = 0;
    const enum wo_status status = read_raw(input, input->raw + input->raw_end, WO_LIMIT_READ_BYTES - input->raw_end, &len, err);
    if (status != WO_OK) return status;
    /* A pipe may give less than was asked for; the loop goes on until there is enough. */
    input->raw_end += len;
  }
  return WO_OK;
}

/* The format whose member starts at the next byte, or NULL. The first byte that no format begins with settles it without waiting
 * for more: at a terminal they may not have been typed yet. */
static enum wo_status sniff_member(struct wo_input *input, const struct wo_unpacker **ret_unpacker, struct wo_err *err) {
  size_t count = 0;
  const struct wo_unpacker *const known = wo_unpackers(&count);
  *ret_unpacker = NULL;
  for (size_t len = 1; len <= WO_UNPACK_MAGIC_MAX; len++) {
    const enum wo_status status = fill_raw(input, len, err);
    if (status != WO_OK || input->raw_end - input->raw_start < len) return status;
    bool is_open = false;
    for (size_t i = 0; i < count; i++) {
      if (known[i].magic_len < len || memcmp(known[i].magic, input->raw + input->raw_start, len) != 0) continue;
      if (known[i].magic_len == len) *ret_unpacker = &known[i];
      is_open = true;
    }
    if (*ret_unpacker || !is_open) return WO_OK;
  }
  return WO_OK;
}

/* ---- Expansion ---- */

/* Reports a damaged member with the library's reason and the offset in the compressed bytes. A log that is cut off is a common
 * case: it was copied while the job still wrote it. */
static enum wo_status damage_error(const struct wo_input *input, const char *reason, struct wo_err *err) {
  return wo_err_set(err, WO_E_SYNTAX, "compressed data is damaged at byte %" PRIu64 ": %s%s", raw_offset(input),
                    reason ? reason : "not valid ", reason ? "" : input->unpacker->name);
}

/* Whether the input has grown beyond what is reasonable. Deflate reaches about a thousand to one at best, and a log of one
 * repeated line comes nearer to that than one would think, so the ratio is checked only once much has come out. */
static enum wo_status check_expansion(const struct wo_input *input, uint64_t expanded_bytes, struct wo_err *err) {
  if (expanded_bytes > WO_LIMIT_EXPANDED_BYTES) {
    return wo_err_set(err, WO_E_LIMIT, "expands to more than %" PRIu64 " bytes; the rest is not read",
                      (uint64_t)WO_LIMIT_EXPANDED_BYTES);
  }
  if (expanded_bytes > WO_LIMIT_RATIO_FLOOR_BYTES && expanded_bytes / WO_LIMIT_EXPANSION_RATIO > raw_offset(input)) {
    return wo_err_set(err, WO_E_LIMIT, "expands to more than %d times its size, which no log does; the rest is not read",
                      WO_LIMIT_EXPANSION_RATIO);
  }
  return WO_OK;
}

/* One state serves all members of a format: a new one only costs a reset. */
static enum wo_status begin_member(struct wo_input *input, const struct wo_unpacker *unpacker, struct wo_err *err) {
  if (input->unpacked && input->unpacker != unpacker) {
    input->unpacker->done(input->unpacked);
    input->unpacked = NULL;
  }
  input->unpacker = unpacker;
  input->is_compressed = true;
  if (!unpacker->begin) {
    return wo_err_set(err, WO_E_KIND, "is compressed with %s, which this whyoom was built without: `%s FILE | whyoom`",
                      unpacker->name, unpacker->command);
  }
  if (!unpacker->begin(&input->unpacked)) return wo_err_set(err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
  input->state = STATE_MEMBER;
  return WO_OK;
}

/* A file can be read again, so that the faster way may be tried. */
static enum wo_status start_member(struct wo_input *input, const struct wo_unpacker *unpacker, struct wo_err *err) {
  const struct wo_fast_unpacker *const fast = input->is_regular ? unpacker->fast : NULL;
  const enum wo_status status = fast ? fill_raw(input, fast->head_len, err) : WO_OK;
  if (status != WO_OK) return status;
  const bool has_head = fast && input->raw_end - input->raw_start >= fast->head_len;
  input->member.is_fast = has_head && fast->takes(input->raw + input->raw_start);
  input->member.start = raw_offset(input);
  input->member.given = input->member.skip = 0;
  return begin_member(input, input->member.is_fast ? fast->unpacker : unpacker, err);
}

/* Goes back in the file; false, and nothing is changed, if the system refuses. */
static bool seek_back(struct wo_input *input, uint64_t way) {
  if (!input->is_part) return way <= INT64_MAX && lseek(input->fd, -(off_t)way, SEEK_CUR) >= 0;
  input->part_at -= way;
  return true;
}

/* Goes back to the start of the member for the usual way; false, and nothing is changed, if the system refuses. */
static bool go_back(struct wo_input *input, struct wo_err *err) {
  size_t count = 0;
  const struct wo_unpacker *const known = wo_unpackers(&count);
  if (!seek_back(input, input->raw_bytes - input->member.start)) return false;
  input->raw_bytes = input->member.start;
  input->raw_start = input->raw_end = 0;
  input->is_raw_at_end = false;
  input->member.is_fast = false;
  input->member.skip = input->member.given;
  input->member.given = 0;
  for (size_t i = 0; i < count; i++) {
    if (known[i].fast && known[i].fast->unpacker == input->unpacker) return begin_member(input, &known[i], err) == WO_OK;
  }
  return false;
}

/* Takes what was delivered at the first time through a member out of what comes at the second. */
static void skip_given(struct wo_input *input, char *buf, size_t *ret_len) {
  const size_t skipped = input->member.skip < *ret_len ? (size_t)input->member.skip : *ret_len;
  if (skipped > 0) memmove(buf, buf + skipped, *ret_len - skipped);
  input->member.skip -= skipped;
  *ret_len -= skipped;
}

/* Expands once from the buffered bytes; *ret_len bytes came out, also when a failure is returned. The text of a damaged member
 * before the damage is text like any other, and may hold the message that is looked for. Where the faster way ends, the usual one
 * takes over. */
static enum wo_status unpack_some(struct wo_input *input, char *buf, size_t cap, size_t *ret_len, struct wo_err *err) {
  struct wo_unpack_io io = {
      .in = input->raw + input->raw_start, .in_len = input->raw_end - input->raw_start, .out = buf, .out_len = cap};
  const enum wo_unpacked result = input->unpacker->unpack(input->unpacked, &io);
  input->raw_start = input->raw_end - io.in_len;
  *ret_len = cap - io.out_len;
  input->member.given += *ret_len;
  skip_given(input, buf, ret_len);
  switch (result) {
  case WO_UNPACKED_SOME:
    return WO_OK;
  case WO_UNPACKED_MEMBER:
    input->state = STATE_BETWEEN;
    return WO_OK;
  case WO_UNPACKED_NO_MEMORY:
    return wo_err_set(err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
  case WO_UNPACKED_TOO_LARGE:
    return wo_err_set(err, WO_E_LIMIT, "needs more than %zu MiB of memory to expand: `%s FILE | whyoom`",
                      WO_LIMIT_UNPACK_BYTES / (1024 * 1024), input->unpacker->command);
  default:
    if (input->member.is_fast && go_back(input, err)) return WO_OK;
    return damage_error(input, io.reason, err);
  }
}

/* Expands until something comes out or the member ends. Bytes that came out before a failure are
 * counted in *ret_len and delivered. */
static enum wo_status read_member(struct wo_input *input, char *buf, size_t cap, size_t *ret_len, struct wo_err *err) {
  assert(*ret_len == 0 && input->state == STATE_MEMBER);
  while (*ret_len == 0 && input->state == STATE_MEMBER) {
    enum wo_status status = fill_raw(input, 1, err);
    if (status != WO_OK) return status;
    const bool was_at_end = input->raw_start == input->raw_end;
    const uint64_t given = input->member.given;
    status = unpack_some(input, buf, cap, ret_len, err);
    if (status != WO_OK) return status;
    /* The library may still hold output that did not fit before, so the end of the bytes alone does not mean that it is cut. */
    const bool is_cut = was_at_end && input->member.given == given && input->is_raw_at_end && input->state == STATE_MEMBER;
    if (is_cut && !(input->member.is_fast && go_back(input, err))) {
      return damage_error(input, "the file ends in the middle; it may still be written, or its copy is incomplete", err);
    }
  }
  return check_expansion(input, input->expanded_bytes + *ret_len, err);
}

/* ---- Reading ---- */

/* Delivers what sniffing has buffered, then reads straight into the caller's buffer. *ret_len stays
 * 0 at the end. */
static enum wo_status read_plain(struct wo_input *input, char *buf, size_t cap, size_t *ret_len, struct wo_err *err) {
  /* At most the bytes of a magic, and what the same read brought with them. */
  const size_t buffered = input->raw_end - input->raw_start;
  if (buffered == 0) return input->is_raw_at_end ? WO_OK : read_raw(input, buf, cap, ret_len, err);
  const size_t len = buffered < cap ? buffered : cap;
  memcpy(buf, input->raw + input->raw_start, len);
  input->raw_start += len;
  *ret_len = len;
  return WO_OK;
}

/* Passes over padding: tapes and some archives fill a block with zeros behind a member. */
static enum wo_status skip_zeros(struct wo_input *input, struct wo_err *err) {
  for (;;) {
    const enum wo_status status = fill_raw(input, 1, err);
    if (status != WO_OK || input->raw_start == input->raw_end) return status;
    while (input->raw_start < input->raw_end && input->raw[input->raw_start] == 0) input->raw_start++;
    if (input->raw_start < input->raw_end) return WO_OK;
  }
}

/* Decides what begins at the next byte: at the start of the input a member or plain bytes, after a member another member, the
 * end, or plain bytes that somebody appended. gzip(1) ignores those; here they may be the lines that matter. */
static enum wo_status choose_state(struct wo_input *input, struct wo_err *err) {
  const bool is_start = input->state == STATE_START;
  assert(is_start || input->state == STATE_BETWEEN);
  const struct wo_unpacker *unpacker = NULL;
  enum wo_status status = is_start ? WO_OK : skip_zeros(input, err);
  if (status == WO_OK) status = sniff_member(input, &unpacker, err);
  if (status != WO_OK) return status;
  if (unpacker) return start_member(input, unpacker, err);
  input->state = STATE_PLAIN;
  if (!is_start && input->raw_start < input->raw_end) input->tail_offset = raw_offset(input);
  return WO_OK;
}

/* Goes through the states until bytes come out or the end is reached. *ret_len is valid on failure
 * too. An empty file goes from START over PLAIN to END in one call. */
static enum wo_status advance(struct wo_input *input, char *buf, size_t cap, size_t *ret_len, struct wo_err *err) {
  *ret_len = 0;
  while (*ret_len == 0 && input->state != STATE_END) {
    enum wo_status status = WO_OK;
    if (input->state == STATE_START || input->state == STATE_BETWEEN) status = choose_state(input, err);
    if (status == WO_OK && input->state == STATE_PLAIN) {
      status = read_plain(input, buf, cap, ret_len, err);
      if (status == WO_OK && *ret_len == 0) input->state = STATE_END;
    } else if (status == WO_OK && input->state == STATE_MEMBER) {
      status = read_member(input, buf, cap, ret_len, err);
    }
    if (status != WO_OK) return status;
  }
  return WO_OK;
}

/* A failure has two parts: the bytes that came before it, and itself. They are reported in two calls, so that no caller has to
 * handle both at once. */
static enum wo_status read_expanded(void *context, char *buf, size_t cap, size_t *ret_len, struct wo_err *err) {
  struct wo_input *const input = context;
  size_t len = 0;
  if (input->pending_status == WO_OK) {
    input->pending_status = advance(input, buf, cap, &len, &input->pending_err);
    if (input->pending_status != WO_OK) wo_err_place(&input->pending_err, input->name, 0, 0, raw_offset(input));
  }
  input->expanded_bytes += len;
  const enum wo_status status = input->pending_status;
  *ret_len = len;
  /* With bytes in hand the failure waits for the next call. */
  if (status == WO_OK || len > 0) return WO_OK;
  /* Reported once; from now on the input is at its end. */
  if (err != NULL) *err = input->pending_err;
  input->pending_status = WO_OK;
  input->state = STATE_END;
  return status;
}

/* Passes over plain bytes of a file, as far as it goes. */
static uint64_t skip_plain(void *context, uint64_t len) {
  struct wo_input *const input = context;
  struct stat info;
  const uint64_t buffered = input->raw_end - input->raw_start;
  if (input->state != STATE_PLAIN || !input->is_regular || input->is_part || input->pending_status != WO_OK) return 0;
  const uint64_t first = buffered < len ? buffered : len;
  input->raw_start += (size_t)first;
  uint64_t skipped = first;
  const off_t at = first < len ? lseek(input->fd, 0, SEEK_CUR) : -1;
  if (at >= 0 && fstat(input->fd, &info) == 0 && info.st_size > at) {
    const uint64_t there = (uint64_t)(info.st_size - at), left = len - first;
    const off_t way = (off_t)(there < left ? there : left);
    if (lseek(input->fd, way, SEEK_CUR) >= 0) {
      input->raw_bytes += (uint64_t)way;
      skipped += (uint64_t)way;
    }
  }
  input->expanded_bytes += skipped;
  return skipped;
}

static struct wo_archive_source source_of(struct wo_input *input) {
  return (struct wo_archive_source){.context = input, .read = read_expanded, .skip = skip_plain};
}

enum wo_status wo_input_read(struct wo_input *input, char *buf, size_t cap, size_t *ret_len, struct wo_err *err) {
  assert(input != NULL && buf != NULL && cap > 0 && ret_len != NULL);
  size_t len = 0;
  const struct wo_archive_source source = source_of(input);
  const enum wo_status status = wo_archive_read(&input->archive, &source, buf, cap, &len, err);
  input->file_bytes += len;
  if (status == WO_OK) *ret_len = len;
  return status;
}

enum wo_status wo_input_next_file(struct wo_input *input, bool *ret_is_there, struct wo_err *err) {
  assert(input != NULL && ret_is_there != NULL);
  input->file_bytes = 0;
  const struct wo_archive_source source = source_of(input);
  const enum wo_status status = wo_archive_next(&input->archive, &source, ret_is_there, err);
  if (status != WO_OK) wo_err_place(err, input->name, 0, 0, raw_offset(input));
  return status;
}

/* An input that was looked at and is no archive gives what was read for that first: it is dropped. */
bool wo_input_go_to(struct wo_input *input, uint64_t offset) {
  assert(input != NULL);
  const bool is_plain = (input->state == STATE_PLAIN || input->state == STATE_END) && !input->is_compressed &&
                        !input->archive.is_archive && input->pending_status == WO_OK && input->archive.head_status == WO_OK;
  if (!input->is_regular || !is_plain || offset > INT64_MAX) return false;
  if (lseek(input->fd, (off_t)offset, SEEK_SET) < 0) return false;
  input->state = STATE_PLAIN;
  input->is_raw_at_end = false;
  input->raw_start = input->raw_end = 0;
  input->raw_bytes = input->expanded_bytes = input->file_bytes = offset;
  input->archive.head_at = input->archive.head_len = 0;
  return true;
}

enum wo_status wo_input_next_entry(struct wo_input *input, bool *ret_is_there, struct wo_err *err) {
  assert(input != NULL && ret_is_there != NULL);
  input->file_bytes = 0;
  const struct wo_archive_source source = source_of(input);
  const enum wo_status status = wo_archive_next_entry(&input->archive, &source, ret_is_there, err);
  if (status != WO_OK) wo_err_place(err, input->name, 0, 0, raw_offset(input));
  return status;
}

const struct wo_archive_entry *wo_input_entry(const struct wo_input *input) {
  assert(input != NULL);
  return input->archive.is_archive ? &input->archive.entry : NULL;
}

int wo_input_fd(const struct wo_input *input) {
  return input->fd;
}

const char *wo_input_file_name(const struct wo_input *input) {
  assert(input != NULL);
  return input->archive.is_archive ? input->archive.name : NULL;
}

uint64_t wo_input_bytes(const struct wo_input *input) {
  assert(input != NULL);
  return input->file_bytes;
}

bool wo_input_is_compressed(const struct wo_input *input) {
  assert(input != NULL);
  return input->is_compressed;
}

uint64_t wo_input_tail_offset(const struct wo_input *input) {
  assert(input != NULL);
  return input->tail_offset;
}
