/* SPDX-License-Identifier: Apache-2.0 */
/* Tar archives. Each file is a header block, its bytes, and zeros up to the next block. Long names stand in entries of their own
 * before the one that they belong to (GNU: type L; pax: type x). */
#include "parsers/base/input/archive.h"

#include <string.h>

#include "parsers/base/number.h"
#include "parsers/base/units.h"
#include "parsers/base/view.h"

/* The fields of a header that are read: POSIX.1-2017, pax, "ustar Interchange Format". */
enum { NAME_AT = 0, NAME_LEN = 100, SIZE_AT = 124, SIZE_LEN = 12, SUM_AT = 148, SUM_LEN = 8, TYPE_AT = 156, MAGIC_AT = 257 };
enum { UID_AT = 108, UID_LEN = 8, TIME_AT = 136, TIME_LEN = 12, USER_AT = 265, USER_LEN = 32, PREFIX_AT = 345, PREFIX_LEN = 155 };

/* GNU: whether a further block of the list of holes follows, in the header of a sparse file and in such a block. */
enum { MORE_HOLES_AT = 482, MORE_HOLES_IN_BLOCK_AT = 504 };

/* Larger sizes are no sizes of files. */
#define SIZE_MAX_BYTES (UINT64_C(1) << 60)

/* Records of a pax header that are read; further ones are passed over. */
enum { PAX_BYTES = 4096 };

/* Later times are no times of files: nanoseconds of them would not fit. */
#define SECONDS_MAX UINT64_C(9000000000)

/* What entries before a header say of its file. */
struct ahead {
  char name[WO_ARCHIVE_NAME_BYTES]; /* empty: nothing */
  char user[WO_ARCHIVE_USER_BYTES];
  bool has_size, has_time, has_uid, is_sparse;
  uint64_t size, uid;
  int64_t mtime_ns;
};

/* ---- Fields ---- */

/* The text of a field: up to its end or its first NUL. */
static struct wo_view field_at(const char *block, size_t at, size_t len) {
  const char *const end = memchr(block + at, '\0', len);
  return (struct wo_view){block + at, end ? (size_t)(end - block) - at : len};
}

/* Octal digits between blanks and NULs; GNU writes large sizes as bytes, most significant first, behind a byte 0x80. */
static uint64_t number_at(const char *block, size_t at, size_t len) {
  const unsigned char *const bytes = (const unsigned char *)block + at;
  const bool is_binary = bytes[0] == 0x80;
  uint64_t value = 0;
  for (size_t i = is_binary; i < len && value < SIZE_MAX_BYTES; i++) {
    if (is_binary)
      value = value << 8 | bytes[i];
    else if (bytes[i] >= '0' && bytes[i] <= '7')
      value = value << 3 | (uint64_t)(bytes[i] - '0');
    else if (value > 0 || (bytes[i] != ' ' && bytes[i] != '\0'))
      break;
  }
  return value;
}

/* Whether the sum of the block's bytes, with blanks in the place of the sum, is the one in it. */
static bool is_header(const char *block) {
  uint64_t sum = 0;
  for (size_t i = 0; i < WO_ARCHIVE_BLOCK_BYTES; i++) {
    sum += i >= SUM_AT && i < SUM_AT + SUM_LEN ? ' ' : (unsigned char)block[i];
  }
  return block[NAME_AT] != '\0' && sum == number_at(block, SUM_AT, SUM_LEN);
}

static bool is_zero(const char *block) {
  return block[0] == '\0' && memcmp(block, block + 1, WO_ARCHIVE_BLOCK_BYTES - 1) == 0;
}

static void set_name(char *name, struct wo_view prefix, struct wo_view text) {
  size_t len = 0;
  for (int part = 0; part < 2; part++) {
    const struct wo_view one = wo_view_sub(part == 0 ? prefix : text, 0, WO_ARCHIVE_NAME_BYTES - 2 - len);
    if (one.len > 0) memcpy(name + len, one.ptr, one.len);
    len += one.len;
    if (part == 0 && one.len > 0 && len < WO_ARCHIVE_NAME_BYTES - 2) name[len++] = '/';
  }
  name[len] = '\0';
}

struct wo_view wo_archive_name(struct wo_view name) {
  for (size_t len = SIZE_MAX; len != name.len;) {
    len = name.len;
    if (wo_view_starts(name, "./")) name = wo_view_skip(name, 2);
    if (wo_view_starts(name, "/")) name = wo_view_skip(name, 1);
  }
  return name;
}

/* ---- Bytes ---- */

/* Reads `len` bytes, or all there are. */
static enum wo_status read_whole(struct wo_archive *archive, const struct wo_archive_source *source, char *buf, size_t len,
                                 size_t *ret_len, struct wo_err *err) {
  *ret_len = 0;
  while (*ret_len < len) {
    size_t got = 0;
    const size_t ready = archive->head_len - archive->head_at;
    if (ready > 0) {
      got = ready < len - *ret_len ? ready : len - *ret_len;
      memcpy(buf + *ret_len, archive->head + archive->head_at, got);
      archive->head_at += got;
    } else {
      const enum wo_status status = source->read(source->context, buf + *ret_len, len - *ret_len, &got, err);
      if (status != WO_OK) return status;
      if (got == 0) return WO_OK;
    }
    archive->taken += got;
    *ret_len += got;
  }
  return WO_OK;
}

static enum wo_status damaged(struct wo_err *err, const char *what) {
  return wo_err_set(err, WO_E_SYNTAX, "the tar archive %s; the files before are read", what);
}

/* Passes over the rest of a file and its padding. */
static enum wo_status skip_rest(struct wo_archive *archive, const struct wo_archive_source *source, struct wo_err *err) {
  char waste[4096];
  uint64_t left = archive->left + archive->padding;
  archive->left = archive->padding = 0;
  while (left > 0) {
    size_t got = 0;
    const bool is_in_head = archive->head_at < archive->head_len;
    const uint64_t skipped = source->skip && !is_in_head ? source->skip(source->context, left) : 0;
    archive->taken += skipped;
    left -= skipped;
    const size_t want = left < sizeof waste ? (size_t)left : sizeof waste;
    const enum wo_status status = read_whole(archive, source, waste, want, &got, err);
    if (status != WO_OK) return status;
    if (got < want) return damaged(err, "ends inside a file");
    left -= got;
  }
  return WO_OK;
}

static void begin_data(struct wo_archive *archive, uint64_t size) {
  archive->left = size;
  archive->padding = (WO_ARCHIVE_BLOCK_BYTES - size % WO_ARCHIVE_BLOCK_BYTES) % WO_ARCHIVE_BLOCK_BYTES;
}

/* ---- Entries ---- */

/* "1700000000.25" to nanoseconds; times before 1970 are taken for unknown. */
static bool read_time(struct wo_view text, int64_t *ret_ns) {
  uint64_t seconds = 0;
  int64_t fraction = 0, unit = WO_NS_PER_S;
  if (wo_number_u64(&text, SECONDS_MAX, &seconds) != WO_OK) return false;
  for (size_t i = 1; i < text.len && text.ptr[0] == '.' && wo_is_digit(text.ptr[i]) && unit > 1; i++) {
    unit /= 10;
    fraction += (text.ptr[i] - '0') * unit;
  }
  *ret_ns = (int64_t)seconds * WO_NS_PER_S + fraction;
  return true;
}

static void read_record(struct wo_view record, struct ahead *ahead) {
  struct wo_view value = record;
  const struct wo_view key = wo_view_cut(&value, '=');
  if (value.len > 0 && value.ptr[value.len - 1] == '\n') value.len--;
  if (wo_view_is(key, "path") || wo_view_is(key, "GNU.sparse.name")) set_name(ahead->name, (struct wo_view){0}, value);
  if (wo_view_is(key, "size")) ahead->has_size = wo_number_u64(&value, SIZE_MAX_BYTES, &ahead->size) == WO_OK;
  if (wo_view_is(key, "uid")) ahead->has_uid = wo_number_u64(&value, UINT32_MAX, &ahead->uid) == WO_OK;
  if (wo_view_is(key, "mtime")) ahead->has_time = read_time(value, &ahead->mtime_ns);
  if (wo_view_is(key, "uname")) wo_view_copy(value, ahead->user, sizeof ahead->user);
  if (wo_view_starts(key, "GNU.sparse.")) ahead->is_sparse = true;
}

/* Records are "LEN KEY=VALUE\n", where LEN counts all of it. */
static void read_pax(struct wo_view records, struct ahead *ahead) {
  while (records.len > 0) {
    struct wo_view rest = records;
    uint64_t len = 0;
    const bool is_record =
        wo_number_u64(&rest, PAX_BYTES, &len) == WO_OK && len > records.len - rest.len + 1 && len <= records.len;
    if (!is_record) return;
    read_record(wo_view_sub(records, records.len - rest.len + 1, (size_t)len), ahead);
    records = wo_view_skip(records, (size_t)len);
  }
}

/* Reads an entry that says something of the next one. */
static enum wo_status read_ahead(struct wo_archive *archive, const struct wo_archive_source *source, char type,
                                 struct ahead *ahead, struct wo_err *err) {
  char text[PAX_BYTES];
  size_t got = 0;
  const size_t want = archive->left < sizeof text ? (size_t)archive->left : sizeof text;
  const enum wo_status status = read_whole(archive, source, text, want, &got, err);
  if (status != WO_OK) return status;
  if (got < want) return damaged(err, "ends inside a name");
  archive->left -= got;
  if (type == 'x')
    read_pax((struct wo_view){text, got}, ahead);
  else
    set_name(ahead->name, (struct wo_view){0}, field_at(text, 0, got));
  return WO_OK;
}

/* Whether an entry of this type has bytes behind its header. Links name a size in old archives, and have none. */
static bool has_data(char type) {
  return type < '1' || type > '6';
}

static bool is_regular(char type) {
  return type == '0' || type == '\0' || type == '7';
}

/* Whether the type is that of an entry with a name of its own; its kind then. Old archives mark folders by a slash alone. */
static bool kind_of(char type, const char *name, enum wo_archive_kind *ret) {
  const size_t len = strlen(name);
  const bool is_folder = type == '5' || (is_regular(type) && len > 0 && name[len - 1] == '/');
  *ret = is_folder          ? WO_ARCHIVE_FOLDER
         : is_regular(type) ? WO_ARCHIVE_FILE
         : type == 'S'      ? WO_ARCHIVE_SPARSE
         : type == '1'      ? WO_ARCHIVE_HARD_LINK
         : type == '2'      ? WO_ARCHIVE_LINK
                            : WO_ARCHIVE_OTHER;
  return *ret != WO_ARCHIVE_OTHER || type == '3' || type == '4' || type == '6';
}

/* What the header and the entries before it say of a file. */
static void begin_entry(struct wo_archive *archive, const char *block, const struct ahead *ahead) {
  struct wo_archive_entry *const entry = &archive->entry;
  const bool is_ustar = memcmp(block + MAGIC_AT, "ustar\0", 6) == 0;
  const bool has_user = memcmp(block + MAGIC_AT, "ustar", 5) == 0;
  const struct wo_view prefix = is_ustar ? field_at(block, PREFIX_AT, PREFIX_LEN) : (struct wo_view){0};
  const uint64_t seconds = number_at(block, TIME_AT, TIME_LEN);
  if (ahead->name[0] != '\0')
    memcpy(archive->name, ahead->name, sizeof archive->name);
  else
    set_name(archive->name, prefix, field_at(block, NAME_AT, NAME_LEN));
  if (ahead->has_size && has_data(block[TYPE_AT])) begin_data(archive, ahead->size);
  *entry = (struct wo_archive_entry){.size_bytes = archive->left,
                                     .mtime_ns = ahead->has_time          ? ahead->mtime_ns
                                                 : seconds <= SECONDS_MAX ? (int64_t)seconds * WO_NS_PER_S
                                                                          : 0,
                                     .uid = (uint32_t)(ahead->has_uid ? ahead->uid : number_at(block, UID_AT, UID_LEN))};
  const struct wo_view user = has_user ? field_at(block, USER_AT, USER_LEN) : (struct wo_view){0};
  wo_view_copy(ahead->user[0] != '\0' ? wo_view_of(ahead->user) : user, entry->user, sizeof entry->user);
}

static enum wo_status read_block(struct wo_archive *archive, const struct wo_archive_source *source, char *block, size_t *ret_len,
                                 struct wo_err *err) {
  const enum wo_status status = read_whole(archive, source, block, WO_ARCHIVE_BLOCK_BYTES, ret_len, err);
  const bool is_cut = status == WO_OK && *ret_len > 0 && *ret_len < WO_ARCHIVE_BLOCK_BYTES;
  return is_cut ? damaged(err, "ends inside a header") : status;
}

/* Passes over the blocks with more holes of a sparse file, which are not counted in its size. */
static enum wo_status skip_holes(struct wo_archive *archive, const struct wo_archive_source *source, char *block,
                                 struct wo_err *err) {
  size_t got = WO_ARCHIVE_BLOCK_BYTES;
  enum wo_status status = WO_OK;
  for (size_t at = MORE_HOLES_AT; status == WO_OK && got > 0 && block[at] != '\0'; at = MORE_HOLES_IN_BLOCK_AT)
    status = read_block(archive, source, block, &got, err);
  return status;
}

/* Takes the header in `block`. *ret_is_there: it is of an entry with a name; else it says something of the next one, or
 * nothing. */
static enum wo_status take_header(struct wo_archive *archive, const struct wo_archive_source *source, char *block,
                                  struct ahead *ahead, bool *ret_is_there, struct wo_err *err) {
  const char type = block[TYPE_AT];
  enum wo_archive_kind kind;
  begin_data(archive, has_data(type) ? number_at(block, SIZE_AT, SIZE_LEN) : 0);
  if (type == 'x' || type == 'L') return read_ahead(archive, source, type, ahead, err);
  if (type == 'g' || type == 'K') return WO_OK;
  begin_entry(archive, block, ahead);
  *ret_is_there = kind_of(type, archive->name, &kind);
  const enum wo_status status = type == 'S' ? skip_holes(archive, source, block, err) : WO_OK;
  archive->entry.kind = kind == WO_ARCHIVE_FILE && ahead->is_sparse ? WO_ARCHIVE_SPARSE : kind;
  archive->entry.is_plain = is_regular(type) && kind == WO_ARCHIVE_FILE;
  archive->entry.at = archive->taken;
  *ahead = (struct ahead){.name = ""};
  return status;
}

/* Goes on from header to header until one is of an entry with a name. Each turn takes a block at least. */
static enum wo_status next_entry(struct wo_archive *archive, const struct wo_archive_source *source, bool *ret_is_there,
                                 struct wo_err *err) {
  struct ahead ahead = {.name = ""};
  enum wo_status status = WO_OK;
  while (status == WO_OK && !*ret_is_there) {
    char block[WO_ARCHIVE_BLOCK_BYTES];
    size_t got = 0;
    status = skip_rest(archive, source, err);
    if (status == WO_OK) status = read_block(archive, source, block, &got, err);
    if (status != WO_OK || got == 0 || is_zero(block)) return status;
    if (!is_header(block)) return damaged(err, "has bytes where the header of a file should be");
    status = take_header(archive, source, block, &ahead, ret_is_there, err);
  }
  if (status != WO_OK) *ret_is_there = false;
  return status;
}

/* ---- The stream ---- */

/* The first block decides; what was read of a stream that is no archive is given first, and then the failure that cut it. */
static void look(struct wo_archive *archive, const struct wo_archive_source *source) {
  size_t got = 0;
  archive->head_status = read_whole(archive, source, archive->head, sizeof archive->head, &got, &archive->head_err);
  archive->taken = 0;
  archive->head_len = got;
  archive->is_looked_at = true;
  archive->is_archive = got == sizeof archive->head && is_header(archive->head);
}

static enum wo_status give_head_status(struct wo_archive *archive, struct wo_err *err) {
  const enum wo_status status = archive->head_status;
  if (status != WO_OK && err) *err = archive->head_err;
  archive->head_status = WO_OK;
  return status;
}

enum wo_status wo_archive_next_entry(struct wo_archive *archive, const struct wo_archive_source *source, bool *ret_is_there,
                                     struct wo_err *err) {
  *ret_is_there = false;
  if (archive->is_over || (archive->is_looked_at && !archive->is_archive)) return WO_OK;
  if (!archive->is_looked_at) {
    look(archive, source);
    if (archive->head_len == 0 && archive->head_status != WO_OK) return give_head_status(archive, err);
    if (!archive->is_archive) {
      *ret_is_there = true;
      return WO_OK;
    }
  }
  const enum wo_status status = next_entry(archive, source, ret_is_there, err);
  archive->is_over = status != WO_OK || !*ret_is_there;
  return status;
}

enum wo_status wo_archive_next(struct wo_archive *archive, const struct wo_archive_source *source, bool *ret_is_there,
                               struct wo_err *err) {
  enum wo_status status = WO_OK;
  do {
    status = wo_archive_next_entry(archive, source, ret_is_there, err);
  } while (status == WO_OK && *ret_is_there && archive->is_archive && !archive->entry.is_plain);
  return status;
}

enum wo_status wo_archive_read(struct wo_archive *archive, const struct wo_archive_source *source, char *buf, size_t cap,
                               size_t *ret_len, struct wo_err *err) {
  const size_t ready = archive->head_len - archive->head_at;
  if (!archive->is_archive) {
    *ret_len = 0;
    if (ready > 0) return read_whole(archive, source, buf, ready < cap ? ready : cap, ret_len, err);
    if (archive->head_status != WO_OK) return give_head_status(archive, err);
    return source->read(source->context, buf, cap, ret_len, err);
  }
  *ret_len = 0;
  if (archive->left == 0) return WO_OK;
  const enum wo_status status =
      source->read(source->context, buf, archive->left < cap ? (size_t)archive->left : cap, ret_len, err);
  archive->left -= *ret_len;
  archive->taken += *ret_len;
  if (status != WO_OK || *ret_len > 0) return status;
  archive->left = archive->padding = 0;
  archive->is_over = true;
  return damaged(err, "ends inside this file");
}
