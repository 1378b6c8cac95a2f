/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the input reader: the bytes arrive through a descriptor, as a plain text, compressed, or as an archive, whichever they
 * look like. Checks: plain bytes come out as they went in, also those behind a gzip member, the amount and the text do not depend
 * on the size of the reads, a failure comes once, and the end is final. */
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "parsers/base/input/file_kind.h"
#include "parsers/base/input/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Enough to see differences; expansion beyond it is cut short to stay quick. */
enum { COMPARED_BYTES = 1 << 16 };

static void require(bool holds) {
  if (!holds) __builtin_trap();
}

struct outcome {
  char text[COMPARED_BYTES];
  size_t len;
  enum wo_status status; /* the failure that ended it, or WO_OK */
  uint64_t tail_offset;
  bool is_compressed;
};

/* After a failure, and after the end, there is nothing more. */
static void check_end(struct wo_input *input, const struct outcome *outcome) {
  char byte = 0;
  size_t len = 1;
  require(wo_input_read(input, &byte, 1, &len, NULL) == WO_OK && len == 0);
  require(wo_input_bytes(input) == outcome->len);
}

static void read_all(int fd, size_t cap, struct outcome *outcome) {
  struct wo_input *input = NULL;
  require(lseek(fd, 0, SEEK_SET) == 0);
  if (wo_input_open_fd(fd, "fuzz", &input, NULL) != WO_OK) return;
  *outcome = (struct outcome){.status = WO_OK};
  struct wo_err err = {.code = WO_OK};
  for (;;) {
    const size_t room = sizeof outcome->text - outcome->len;
    size_t len = 0;
    if (room == 0) break;
    outcome->status = wo_input_read(input, outcome->text + outcome->len, cap < room ? cap : room, &len, &err);
    require(len <= cap && len <= room);
    outcome->len += len;
    if (outcome->status != WO_OK || len == 0) break;
  }
  if (outcome->status != WO_OK) require(err.code == outcome->status && err.message[0] != '\0' && err.file[0] != '\0');
  if (outcome->len < sizeof outcome->text) check_end(input, outcome);
  outcome->is_compressed = wo_input_is_compressed(input);
  outcome->tail_offset = wo_input_tail_offset(input);
  require(wo_input_close(input) == NULL);
}

/* The files of an archive, or the one file that everything else is: their number and lengths do not depend on the size of reads.
 */
static uint64_t read_files(int fd, size_t cap) {
  struct wo_input *input = NULL;
  uint64_t sum = 0;
  char buf[4096];
  require(lseek(fd, 0, SEEK_SET) == 0);
  if (wo_input_open_fd(fd, "fuzz", &input, NULL) != WO_OK) return 0;
  bool is_there = true;
  for (int files = 0; is_there && files < 64; files++) {
    struct wo_err err = {.code = WO_OK};
    if (wo_input_next_file(input, &is_there, &err) != WO_OK) break;
    const char *const name = wo_input_file_name(input);
    if (name) require(strlen(name) < 1024);
    size_t len = is_there ? 1 : 0;
    while (len > 0 && wo_input_bytes(input) < COMPARED_BYTES && wo_input_read(input, buf, cap, &len, &err) == WO_OK) continue;
    sum = sum * 31 + (wo_input_bytes(input) < COMPARED_BYTES ? wo_input_bytes(input) : COMPARED_BYTES) + is_there;
  }
  wo_input_close(input);
  return sum;
}

/* A file without a name that holds the bytes, or -1. */
static int file_of(const uint8_t *data, size_t size) {
  char path[] = "/tmp/whyoom-fuzz-XXXXXX";
  const int fd = mkstemp(path);
  if (fd < 0) return -1;
  unlink(path);
  if (write(fd, data, size) == (ssize_t)size) return fd;
  close(fd);
  return -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct outcome whole, chopped;
  static const size_t caps[] = {1, 7, 4096};
  const struct wo_file_kind *const kind = wo_file_kind((struct wo_view){(const char *)data, size});
  require(kind == NULL || (kind->name[0] != '\0' && kind->advice[0] != '\0'));
  const int fd = file_of(data, size);
  if (fd < 0) return 0;
  read_all(fd, COMPARED_BYTES, &whole);
  const size_t compared = size < COMPARED_BYTES ? size : COMPARED_BYTES;
  if (!whole.is_compressed) require(whole.len == compared && (compared == 0 || memcmp(whole.text, data, compared) == 0));
  const size_t tail = whole.tail_offset > 0 ? size - (size_t)whole.tail_offset : 0;
  if (whole.len < COMPARED_BYTES && tail > 0) {
    require(whole.status == WO_OK && data[whole.tail_offset] != 0 && tail <= whole.len);
    require(memcmp(whole.text + whole.len - tail, data + whole.tail_offset, tail) == 0);
  }
  /* How much of damaged data liblzma gives before it says so depends on the room for it. */
  const bool is_damaged = whole.is_compressed && whole.status == WO_E_SYNTAX;
  for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++) {
    read_all(fd, caps[i], &chopped);
    require(is_damaged ? chopped.len <= whole.len : chopped.len == whole.len);
    require(chopped.status == whole.status && chopped.is_compressed == whole.is_compressed);
    require(memcmp(chopped.text, whole.text, chopped.len) == 0);
  }
  if (!is_damaged) require(read_files(fd, 4096) == read_files(fd, 7));
  close(fd);
  return 0;
}
