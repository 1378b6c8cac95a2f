/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs: whatever arrives, plain or compressed, whole or damaged, comes out the same for every size of read; what is no regular
 * file is named and refused without waiting; every failing allocation is reported. */
#include "parsers/base/input/input.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "parsers/base/limits.h"
#include "tests/support/failing_alloc.h"

/* The scratch folder of this run, and the file most tests write. */
static char folder[] = "/tmp/whyoom-test-XXXXXX";
static char file_path[128];

static const char *path_of(const char *name, char *buf, size_t cap) {
  snprintf(buf, cap, "%s/%s", folder, name);
  return buf;
}

/* ---- Helpers ---- */

/* A growing text for expected and actual content. */
struct text {
  char *ptr;
  size_t len, capacity;
};

static void text_add(struct text *text, const void *bytes, size_t len) {
  if (text->capacity - text->len < len + 1) {
    text->capacity = (text->len + len + 1) * 2;
    text->ptr = realloc(text->ptr, text->capacity);
    assert_non_null(text->ptr);
  }
  if (len > 0) memcpy(text->ptr + text->len, bytes, len);
  text->len += len;
}

static void text_done(struct text *text) {
  free(text->ptr);
  *text = (struct text){0};
}

/* Lines that compress, but not to nothing. */
static void add_lines(struct text *text, int count) {
  for (int i = 0; i < count; i++) {
    char line[64];
    const int len = snprintf(line, sizeof line, "[rank%d] step %d loss %d\n", i % 8, i, i * 7919 % 10007);
    text_add(text, line, (size_t)len);
  }
}

/* Appends `len` bytes as one gzip member. */
static void add_member(struct text *out, const char *bytes, size_t len) {
  z_stream z = {0};
  unsigned char chunk[65536];
  unsigned char *const copy = malloc(len + 1);
  assert_non_null(copy);
  if (len > 0) memcpy(copy, bytes, len);
  assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  z.next_in = copy;
  z.avail_in = (uInt)len;
  int result = Z_OK;
  while (result == Z_OK) {
    z.next_out = chunk;
    z.avail_out = sizeof chunk;
    result = deflate(&z, Z_FINISH);
    text_add(out, chunk, sizeof chunk - z.avail_out);
  }
  assert_int_equal(result, Z_STREAM_END);
  deflateEnd(&z);
  free(copy);
}

static void write_file(const char *bytes, size_t len) {
  FILE *const file = fopen(file_path, "wb");
  assert_non_null(file);
  assert_int_equal(len == 0 ? 0 : fwrite(bytes, 1, len, file), len);
  assert_int_equal(fclose(file), 0);
}

/* Reads to the end or to the first failure, `cap` bytes at a time. */
static enum wo_status read_rest(struct wo_input *input, size_t cap, struct text *text, struct wo_err *err) {
  char *const buf = malloc(cap);
  assert_non_null(buf);
  enum wo_status status = WO_OK;
  for (;;) {
    size_t len = 0;
    status = wo_input_read(input, buf, cap, &len, err);
    if (status != WO_OK || len == 0) break;
    assert_true(len <= cap);
    text_add(text, buf, len);
  }
  free(buf);
  assert_int_equal(wo_input_bytes(input), text->len);
  return status;
}

/* Writes the bytes to the file and expects content and status for many sizes of read. After that the input stays at its end. */
static void expect(const struct text *bytes, const struct text *content, enum wo_status want_status, bool want_compressed) {
  static const size_t caps[] = {1, 3, 1000, 65536, 1 << 20};
  write_file(bytes->ptr, bytes->len);
  for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++) {
    struct wo_input *input = NULL;
    struct wo_err err = {.code = WO_OK};
    struct text got = {0};
    assert_int_equal(wo_input_open(file_path, &input, &err), WO_OK);
    assert_int_equal(read_rest(input, caps[i], &got, &err), want_status);
    assert_int_equal(err.code, want_status);
    assert_string_equal(err.file, want_status == WO_OK ? "" : file_path);
    assert_int_equal(got.len, content->len);
    if (got.len > 0) assert_memory_equal(got.ptr, content->ptr, got.len);
    assert_int_equal(wo_input_is_compressed(input), want_compressed);
    assert_int_equal(read_rest(input, caps[i], &got, &err), WO_OK);
    assert_int_equal(got.len, content->len);
    text_done(&got);
    assert_null(wo_input_close(input));
  }
}

/* ---- Plain ---- */

static void plain_comes_out_as_it_went_in(void **state) {
  (void)state;
  struct text bytes = {0};
  expect(&bytes, &bytes, WO_OK, false);
  text_add(&bytes, "\x1f", 1);
  expect(&bytes, &bytes, WO_OK, false);
  text_add(&bytes, "x\0y\r\n\xff", 6);
  expect(&bytes, &bytes, WO_OK, false);
  add_lines(&bytes, 20000);
  expect(&bytes, &bytes, WO_OK, false);
  text_done(&bytes);
}

/* From any place, at the start and once all was read; what is compressed has no places. */
static void plain_is_read_from_any_place(void **state) {
  (void)state;
  struct text bytes = {0}, packed = {0}, got = {0};
  struct wo_input *input = NULL;
  char buf[100];
  size_t len = 0;
  bool is_there = false;
  add_lines(&bytes, 20000);
  write_file(bytes.ptr, bytes.len);
  assert_int_equal(wo_input_open(file_path, &input, NULL), WO_OK);
  assert_false(wo_input_go_to(input, 5)); /* what it is was not looked at */
  assert_int_equal(wo_input_next_file(input, &is_there, NULL), WO_OK);
  for (size_t at = 0; at <= bytes.len; at += at < 3 ? 1 : bytes.len / 7) {
    assert_true(wo_input_go_to(input, at));
    assert_int_equal(wo_input_read(input, buf, sizeof buf, &len, NULL), WO_OK);
    assert_true(len > 0 || at == bytes.len);
    if (len > 0) assert_memory_equal(buf, bytes.ptr + at, len);
    assert_int_equal(wo_input_bytes(input), at + len);
  }
  assert_true(wo_input_go_to(input, 0));
  assert_int_equal(read_rest(input, 4096, &got, NULL), WO_OK);
  assert_int_equal(got.len, bytes.len);
  assert_memory_equal(got.ptr, bytes.ptr, bytes.len);
  wo_input_close(input);
  add_member(&packed, bytes.ptr, bytes.len);
  write_file(packed.ptr, packed.len);
  assert_int_equal(wo_input_open(file_path, &input, NULL), WO_OK);
  assert_int_equal(wo_input_next_file(input, &is_there, NULL), WO_OK);
  assert_false(wo_input_go_to(input, 0));
  wo_input_close(input);
  text_done(&bytes);
  text_done(&packed);
  text_done(&got);
}

/* ---- Compressed ---- */

static void gzip_is_expanded(void **state) {
  (void)state;
  struct text bytes = {0};
  struct text content = {0};
  add_lines(&content, 30000);
  add_member(&bytes, content.ptr, content.len);
  expect(&bytes, &content, WO_OK, true);
  text_done(&bytes);
  text_done(&content);
}

static void members_are_joined(void **state) {
  (void)state;
  struct text bytes = {0};
  struct text content = {0};
  add_lines(&content, 3000);
  add_member(&bytes, content.ptr, 100);
  add_member(&bytes, "", 0);
  add_member(&bytes, content.ptr + 100, 5000);
  add_member(&bytes, content.ptr + 5100, content.len - 5100);
  expect(&bytes, &content, WO_OK, true);
  text_done(&bytes);
  text_done(&content);
}

static void empty_member_is_empty(void **state) {
  (void)state;
  struct text bytes = {0};
  const struct text nothing = {0};
  add_member(&bytes, "", 0);
  expect(&bytes, &nothing, WO_OK, true);
  text_done(&bytes);
}

/* Zero padding (tape blocks) is passed over; everything else behind a member is delivered, and its place is known. */
static void nothing_behind_a_member_is_lost(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t len, zeros;
  } tails[] = {{"\0\0\0\0\0\0", 6, 6}, {"text", 4, 0}, {"\0\0text\0", 7, 2}, {"\x1f", 1, 0}, {"\x1fx\x8b", 3, 0}};
  for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
    struct text content = {0}, bytes = {0}, got = {0};
    struct wo_input *input = NULL;
    add_lines(&content, 500);
    add_member(&bytes, content.ptr, content.len);
    const uint64_t end = bytes.len;
    const size_t plain = tails[i].len - tails[i].zeros;
    text_add(&bytes, tails[i].bytes, tails[i].len);
    text_add(&content, tails[i].bytes + tails[i].zeros, plain);
    expect(&bytes, &content, WO_OK, true);
    write_file(bytes.ptr, bytes.len);
    assert_int_equal(wo_input_open(file_path, &input, NULL), WO_OK);
    assert_int_equal(read_rest(input, 4096, &got, NULL), WO_OK);
    assert_int_equal(wo_input_tail_offset(input), plain > 0 ? end + tails[i].zeros : 0);
    wo_input_close(input);
    text_done(&bytes);
    text_done(&content);
    text_done(&got);
  }
}

/* Padding longer than the buffer, then a member. */
static void members_behind_padding_are_read(void **state) {
  (void)state;
  static const char zeros[WO_LIMIT_READ_BYTES + 7];
  struct text bytes = {0}, content = {0};
  add_lines(&content, 3000);
  add_member(&bytes, content.ptr, 100);
  text_add(&bytes, zeros, sizeof zeros);
  add_member(&bytes, content.ptr + 100, content.len - 100);
  text_add(&bytes, zeros, sizeof zeros);
  expect(&bytes, &content, WO_OK, true);
  text_done(&bytes);
  text_done(&content);
}

/* Cut at every length: all that can be known is delivered, then one failure, except where a cut leaves a whole input. */
static void cut_members_fail_after_delivering(void **state) {
  (void)state;
  struct text bytes = {0};
  struct text content = {0};
  add_lines(&content, 60);
  add_member(&bytes, content.ptr, content.len);
  for (size_t cut = 2; cut <= bytes.len; cut++) {
    struct wo_input *input = NULL;
    struct wo_err err = {.code = WO_OK};
    struct text got = {0};
    write_file(bytes.ptr, cut);
    assert_int_equal(wo_input_open(file_path, &input, &err), WO_OK);
    assert_int_equal(read_rest(input, 777, &got, &err), cut == bytes.len ? WO_OK : WO_E_SYNTAX);
    assert_true(got.len <= content.len && (got.len == 0 || memcmp(got.ptr, content.ptr, got.len) == 0));
    if (cut < bytes.len) assert_int_equal(err.offset, cut);
    if (cut + 8 >= bytes.len) assert_int_equal(got.len, content.len); /* only the checksum is missing */
    text_done(&got);
    wo_input_close(input);
  }
  text_done(&bytes);
  text_done(&content);
}

static void cut_second_member_delivers_the_first(void **state) {
  (void)state;
  struct text bytes = {0};
  struct text content = {0};
  add_lines(&content, 100);
  add_member(&bytes, content.ptr, content.len);
  text_add(&bytes, "\x1f\x8b\x08", 3);
  expect(&bytes, &content, WO_E_SYNTAX, true);
  text_done(&bytes);
  text_done(&content);
}

static void damage_is_reported_with_its_offset(void **state) {
  (void)state;
  struct text bytes = {0};
  struct text content = {0};
  add_lines(&content, 3000);
  add_member(&bytes, content.ptr, content.len);
  bytes.ptr[bytes.len - 6] ^= 0x55; /* in the checksum, so that all content is still right */
  expect(&bytes, &content, WO_E_SYNTAX, true);
  text_done(&bytes);
  text_add(&bytes, "\x1f\x8b\x63 no compression method is called that", 40);
  text_done(&content);
  expect(&bytes, &content, WO_E_SYNTAX, true);
  struct wo_input *input = NULL;
  struct wo_err err;
  size_t len = 0;
  char byte = 0;
  assert_int_equal(wo_input_open(file_path, &input, &err), WO_OK);
  assert_int_equal(wo_input_read(input, &byte, 1, &len, &err), WO_E_SYNTAX);
  assert_true(err.offset > 0 && err.offset <= bytes.len);
  assert_non_null(strstr(err.message, "damaged at byte"));
  wo_input_close(input);
  text_done(&bytes);
}

/* Zeros shrink about a thousandfold, beyond what any log does. */
static void bombs_are_stopped(void **state) {
  (void)state;
  const size_t size = (size_t)WO_LIMIT_RATIO_FLOOR_BYTES + (size_t)6 * 1024 * 1024;
  char *const zeros = calloc(size, 1);
  assert_non_null(zeros);
  struct text bytes = {0};
  add_member(&bytes, zeros, size);
  free(zeros);
  write_file(bytes.ptr, bytes.len);
  text_done(&bytes);
  struct wo_input *input = NULL;
  struct wo_err err;
  static char buf[65536];
  enum wo_status status = wo_input_open(file_path, &input, &err);
  assert_int_equal(status, WO_OK);
  size_t len = 1;
  while (status == WO_OK && len > 0) status = wo_input_read(input, buf, sizeof buf, &len, &err);
  assert_int_equal(status, WO_E_LIMIT);
  assert_string_equal(err.file, file_path);
  assert_true(wo_input_bytes(input) > WO_LIMIT_RATIO_FLOOR_BYTES);
  assert_true(wo_input_bytes(input) <= WO_LIMIT_RATIO_FLOOR_BYTES + sizeof buf);
  assert_int_equal(wo_input_read(input, buf, sizeof buf, &len, &err), WO_OK);
  assert_int_equal(len, 0);
  wo_input_close(input);
}

/* ---- Kinds of file ---- */

static void expect_refusal(const char *path, enum wo_status want, const char *want_text) {
  struct wo_input *input = NULL;
  struct wo_err err = {.code = WO_OK};
  alarm(10); /* a reader that waits for a writer would wait for ever */
  assert_int_equal(wo_input_open(path, &input, &err), want);
  alarm(0);
  assert_null(input);
  assert_int_equal(err.code, want);
  assert_string_equal(err.file, path);
  assert_non_null(strstr(err.message, want_text));
  assert_int_equal(wo_input_open(path, &input, NULL), want);
}

static void other_kinds_are_refused(void **state) {
  (void)state;
  char path[128];
  expect_refusal(folder, WO_E_KIND, "is a folder");
  expect_refusal("/dev/null", WO_E_KIND, "is a device");
  expect_refusal(path_of("missing", path, sizeof path), WO_E_IO, "No such file");
  expect_refusal("", WO_E_IO, "cannot be opened");
  expect_refusal("/dev/fd/99999", WO_E_IO, "cannot be opened");
  assert_int_equal(mkfifo(path_of("fifo", path, sizeof path), 0600), 0);
  expect_refusal(path, WO_E_KIND, "is a FIFO");
  unlink(path);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", folder);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  const void *const where = &address;
  assert_int_equal(bind(fd, where, sizeof address), 0);
  expect_refusal(address.sun_path, WO_E_KIND, "is a socket");
  close(fd);
  unlink(address.sun_path);
}

static void unreadable_file(void **state) {
  (void)state;
  write_file("x", 1);
  assert_int_equal(chmod(file_path, 0), 0);
  if (access(file_path, R_OK) != 0) expect_refusal(file_path, WO_E_IO, "permission");
  unlink(file_path);
}

static void links_to_files_are_followed(void **state) {
  (void)state;
  char path[128];
  struct wo_input *input = NULL;
  write_file("linked", 6);
  assert_int_equal(symlink(file_path, path_of("link", path, sizeof path)), 0);
  assert_int_equal(wo_input_open(path, &input, NULL), WO_OK);
  wo_input_close(input);
  unlink(path);
}

/* ---- Descriptors ---- */

/* A pipe that holds the text and has no writer any more. */
static int pipe_with(const char *content) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(write(ends[1], content, strlen(content)), (ssize_t)strlen(content));
  close(ends[1]);
  return ends[0];
}

static void expect_content(struct wo_input *input, const char *want) {
  struct text got = {0};
  struct wo_err err;
  assert_int_equal(read_rest(input, 2, &got, &err), WO_OK);
  assert_int_equal(got.len, strlen(want));
  assert_memory_equal(got.ptr, want, got.len);
  text_done(&got);
}

static void descriptors_stay_the_callers(void **state) {
  (void)state;
  struct wo_input *input = NULL;
  const int fd = pipe_with("from a pipe");
  assert_int_equal(wo_input_open_fd(fd, "(pipe)", &input, NULL), WO_OK);
  expect_content(input, "from a pipe");
  wo_input_close(input);
  assert_true(fcntl(fd, F_GETFD) >= 0);
  close(fd);
}

/* What a shell gives for <(command), and stdin by its name. */
static void descriptor_paths(void **state) {
  (void)state;
  static const char *const folders[] = {"/dev/fd", "/proc/self/fd"};
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    char path[64];
    struct wo_input *input = NULL;
    const int fd = pipe_with("substituted");
    snprintf(path, sizeof path, "%s/%d", folders[i], fd);
    assert_int_equal(wo_input_open(path, &input, NULL), WO_OK);
    close(fd);
    expect_content(input, "substituted");
    wo_input_close(input);
  }
  struct wo_input *input = NULL;
  const int saved = dup(STDIN_FILENO);
  const int fd = pipe_with("stdin");
  assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
  assert_int_equal(wo_input_open("/dev/stdin", &input, NULL), WO_OK);
  expect_content(input, "stdin");
  wo_input_close(input);
  if (saved >= 0) dup2(saved, STDIN_FILENO);
  close(saved);
  close(fd);
}

static void bad_descriptors(void **state) {
  (void)state;
  struct wo_input *input = NULL;
  struct wo_err err;
  assert_int_equal(wo_input_open_fd(-1, "nowhere", &input, &err), WO_E_IO);
  assert_string_equal(err.file, "nowhere");
  const int fd = open(folder, O_RDONLY);
  assert_int_equal(wo_input_open_fd(fd, "here", &input, &err), WO_E_KIND);
  close(fd);
  assert_null(input);
}

/* A descriptor that is only open for writing gives an error on the first read, and then the end. */
static void failing_reads_are_reported_once(void **state) {
  (void)state;
  struct wo_input *input = NULL;
  struct wo_err err;
  char buf[8];
  size_t len = 7;
  const int fd = open(file_path, O_WRONLY | O_CREAT, 0600);
  assert_int_equal(wo_input_open_fd(fd, "write-only", &input, &err), WO_OK);
  assert_int_equal(wo_input_read(input, buf, sizeof buf, &len, &err), WO_E_IO);
  assert_int_equal(len, 7);
  assert_string_equal(err.file, "write-only");
  assert_int_equal(wo_input_read(input, buf, sizeof buf, &len, &err), WO_OK);
  assert_int_equal(len, 0);
  wo_input_close(input);
  close(fd);
}

static void waiting_is_not_for_us_to_decide(void **state) {
  (void)state;
  int ends[2];
  struct wo_input *input = NULL;
  struct wo_err err;
  char byte = 0;
  size_t len = 0;
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
  assert_int_equal(wo_input_open_fd(ends[0], "pipe", &input, &err), WO_OK);
  assert_int_equal(wo_input_read(input, &byte, 1, &len, &err), WO_E_IO);
  assert_non_null(strstr(err.message, "non-blocking"));
  wo_input_close(input);
  close(ends[0]);
  close(ends[1]);
}

/* ---- Out of memory ---- */

/* Opens and reads everything with the n-th allocation failing; `got` is the caller's, so that only our own calls count. */
static enum wo_status open_and_read(size_t *ret_len) {
  static char buf[4096];
  struct wo_input *input = NULL;
  struct wo_err err = {.code = WO_OK};
  enum wo_status status = wo_input_open(file_path, &input, &err);
  size_t len = 1;
  *ret_len = 0;
  while (status == WO_OK && len > 0) {
    status = wo_input_read(input, buf, sizeof buf, &len, &err);
    if (status == WO_OK) *ret_len += len;
  }
  assert_int_equal(err.code, status);
  assert_string_equal(err.file, status == WO_OK ? "" : file_path);
  wo_input_close(input);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  struct text bytes = {0};
  struct text content = {0};
  add_lines(&content, 5000);
  add_member(&bytes, content.ptr, content.len);
  write_file(bytes.ptr, bytes.len);
  for (int mode = 0; mode < 2; mode++) {
    bool was_hit = true;
    long n = 1;
    for (; was_hit; n++) {
      size_t len = 0;
      if (mode == 0) wo_fail_alloc_at(n);
      if (mode == 1) wo_fail_alloc_from(n);
      const enum wo_status status = open_and_read(&len);
      wo_fail_alloc_off();
      was_hit = wo_fail_alloc_hit();
      assert_int_equal(status, was_hit ? WO_E_NOMEM : WO_OK);
      assert_true(was_hit ? len < content.len : len == content.len);
    }
    assert_true(n > 5); /* the input, its buffer, its name, and at least two of zlib's */
  }
  text_done(&bytes);
  text_done(&content);
}

/* ---- Set-up ---- */

static int make_folder(void **state) {
  (void)state;
  if (mkdtemp(folder) == NULL) return -1;
  path_of("input", file_path, sizeof file_path);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  unlink(file_path);
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plain_comes_out_as_it_went_in),
      cmocka_unit_test(plain_is_read_from_any_place),
      cmocka_unit_test(gzip_is_expanded),
      cmocka_unit_test(members_are_joined),
      cmocka_unit_test(empty_member_is_empty),
      cmocka_unit_test(nothing_behind_a_member_is_lost),
      cmocka_unit_test(members_behind_padding_are_read),
      cmocka_unit_test(cut_members_fail_after_delivering),
      cmocka_unit_test(cut_second_member_delivers_the_first),
      cmocka_unit_test(damage_is_reported_with_its_offset),
      cmocka_unit_test(bombs_are_stopped),
      cmocka_unit_test(other_kinds_are_refused),
      cmocka_unit_test(unreadable_file),
      cmocka_unit_test(links_to_files_are_followed),
      cmocka_unit_test(descriptors_stay_the_callers),
      cmocka_unit_test(descriptor_paths),
      cmocka_unit_test(bad_descriptors),
      cmocka_unit_test(failing_reads_are_reported_once),
      cmocka_unit_test(waiting_is_not_for_us_to_decide),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
