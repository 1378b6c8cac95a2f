/* SPDX-License-Identifier: Apache-2.0 */
/* Accounting of many jobs: where in which file each has its lines. See accounts.h. */
#include "analyzer/scan/accounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parsers/base/limits.h"
#include "parsers/base/vec.h"
#include "parsers/formats/accounting/sacct_table.h"

/* Longest text of one job that is read. */
enum { TEXT_BYTES = 64 * 1024 };

struct place {
  uint64_t key; /* hash of the id */
  uint64_t offset, line;
  uint32_t file, len;
  bool is_row; /* of the file's table: its head belongs to it */
};

struct file {
  struct wo_view path;
  struct wo_view head; /* header and rule of its table, with their line ends; empty for scontrol */
  int fd;              /* of a file that it is a part of; -1: it is opened by its path */
  uint64_t at;         /* of that part */
  struct stat info;    /* of one that is opened by its path: as it was */
};

/* Files that are open. Jobs that are found one after the other are often in the same ones. */
enum { OPEN_MAX = 16 };

struct opened {
  uint32_t file;
  int fd; /* -1: none */
};

struct wo_accounts {
  struct wo_arena arena;
  WO_VEC(struct place) places;
  WO_VEC(struct file) files;
  struct opened open[OPEN_MAX];
  size_t next_open; /* is closed for the next one */
};

enum wo_status wo_accounts_new(struct wo_accounts **ret_accounts) {
  struct wo_accounts *const accounts = calloc(1, sizeof *accounts);
  if (!accounts) return WO_E_NOMEM;
  wo_arena_init(&accounts->arena, WO_LIMIT_REPORT_BYTES);
  for (size_t i = 0; i < OPEN_MAX; i++) accounts->open[i].fd = -1;
  *ret_accounts = accounts;
  return WO_OK;
}

struct wo_accounts *wo_accounts_free(struct wo_accounts *accounts) {
  if (!accounts) return NULL;
  for (size_t i = 0; i < OPEN_MAX; i++) {
    if (accounts->open[i].fd >= 0) close(accounts->open[i].fd);
  }
  WO_VEC_DONE(&accounts->places);
  WO_VEC_DONE(&accounts->files);
  wo_arena_done(&accounts->arena);
  free(accounts);
  return NULL;
}

static int open_file(const char *path) {
  return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* ---- Looking through a file ---- */

/* The reader of one file, line by line. */
struct reader {
  struct wo_accounts *accounts;
  struct file *file;
  uint32_t index;
  struct wo_sacct_row row; /* header and rule of the table; an empty header: none was met */
  bool is_rule_next;
  uint64_t line, offset; /* of the line that is read */
  uint64_t id;           /* key of the job whose lines are read; 0: none */
  enum wo_status status;
};

/* Without the part of a step: "4711.batch" is of 4711. */
static uint64_t key_of(struct wo_view id) {
  return wo_view_hash(WO_HASH_START, wo_view_cut(&id, '.')) | 1;
}

/* The lines of a job go on, or those of another begin. */
static void take_line(struct reader *reader, uint64_t key, size_t len) {
  struct wo_accounts *const accounts = reader->accounts;
  struct place *const last = accounts->places.count > 0 ? &accounts->places.items[accounts->places.count - 1] : NULL;
  const bool is_more = last && last->file == reader->index && last->key == key && last->offset + last->len == reader->offset;
  if (is_more) {
    if (last->len + len <= TEXT_BYTES) last->len += (uint32_t)len;
    return;
  }
  if (accounts->places.count == WO_LIMIT_ACCOUNTS) {
    reader->status = WO_E_LIMIT;
  } else if (!WO_VEC_RESERVE(&accounts->places, 1, WO_LIMIT_ACCOUNTS)) {
    reader->status = WO_E_NOMEM;
  } else if (len <= TEXT_BYTES) {
    accounts->places.items[accounts->places.count++] = (struct place){.key = key,
                                                                      .offset = reader->offset,
                                                                      .line = reader->line,
                                                                      .file = reader->index,
                                                                      .len = (uint32_t)len,
                                                                      .is_row = reader->row.header.len > 0};
  }
}

/* Header and rule are needed before each row. Only the first table of a file counts. */
static bool take_head(struct reader *reader, struct wo_view text, struct wo_view whole) {
  if (reader->is_rule_next) {
    reader->is_rule_next = false;
    if (!wo_sacct_is_rule(text)) return false;
    const struct wo_view parts[] = {reader->file->head, whole};
    const size_t header_len = reader->row.header.len;
    reader->file->head = wo_arena_join(&reader->accounts->arena, parts, 2);
    reader->row.header = wo_view_sub(reader->file->head, 0, header_len);
    reader->row.rule = wo_view_sub(reader->file->head, parts[0].len, parts[0].len + text.len);
    return true;
  }
  if (reader->row.header.len > 0 || !wo_sacct_is_header(text)) return false;
  reader->file->head = wo_arena_copy(&reader->accounts->arena, whole);
  reader->row.header = wo_view_sub(reader->file->head, 0, text.len);
  reader->is_rule_next = !wo_view_has(text, "|");
  return true;
}

/* The value of a key in a line of scontrol; empty without it. */
static struct wo_view value_of(struct wo_view line, struct wo_view key) {
  const size_t at = wo_view_find(line, key, 0);
  struct wo_view rest = wo_view_skip(line, at == WO_NOT_FOUND ? line.len : at + key.len);
  return wo_view_cut(&rest, ' ');
}

/* "JobId=4711 ArrayJobId=4700 ArrayTaskId=3 JobName=...": the id by which SLURM names the log. */
static uint64_t key_of_block(struct wo_view line) {
  char id[64];
  const struct wo_view array = value_of(line, WO_VIEW(" ArrayJobId=")), task = value_of(line, WO_VIEW(" ArrayTaskId="));
  if (array.len == 0 || task.len == 0 || array.len + task.len > 60) return key_of(value_of(line, WO_VIEW("JobId=")));
  snprintf(id, sizeof id, "%.*s_%.*s", WO_SHOWN(array), WO_SHOWN(task));
  return key_of(wo_view_of(id));
}

static void read_line(struct reader *reader, struct wo_view whole) {
  struct wo_view text = whole;
  while (text.len > 0 && (text.ptr[text.len - 1] == '\n' || text.ptr[text.len - 1] == '\r')) text.len--;
  const bool is_head = take_head(reader, text, whole);
  if (!is_head && reader->row.header.len > 0) {
    reader->row.text = text;
    const struct wo_view id = wo_sacct_id(&reader->row);
    if (id.len > 0) take_line(reader, key_of(id), whole.len);
  } else if (!is_head) {
    if (wo_view_starts(text, "JobId=")) reader->id = key_of_block(text);
    if (text.len == 0) reader->id = 0;
    if (reader->id != 0) take_line(reader, reader->id, whole.len);
  }
  reader->line++;
  reader->offset += whole.len;
}

/* Reads whole lines from a buffer that holds a few; longer ones end the reading, since no accounting has them. */
static enum wo_status read_lines(struct reader *reader, const struct wo_file_part *part, char *buf, size_t cap,
                                 struct wo_err *err) {
  size_t len = 0;
  uint64_t done = 0;
  for (bool is_end = false; !is_end && reader->status == WO_OK;) {
    const uint64_t left = part->len - done, room = cap - len;
    const ssize_t more = pread(part->fd, buf + len, (size_t)(left < room ? left : room), (off_t)(part->at + done));
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return wo_err_set(err, WO_E_IO, "cannot be read: %s", strerror(errno));
    is_end = more == 0;
    len += (size_t)more;
    done += (uint64_t)more;
    struct wo_view rest = {buf, len};
    while (rest.len > 0 && reader->status == WO_OK) {
      const size_t at = wo_view_find_char(rest, '\n', 0);
      if (at == WO_NOT_FOUND && !is_end) break;
      const size_t whole = at == WO_NOT_FOUND ? rest.len : at + 1;
      read_line(reader, wo_view_sub(rest, 0, whole));
      rest = wo_view_skip(rest, whole);
    }
    if (rest.len == cap) return WO_OK;
    memmove(buf, rest.ptr, rest.len);
    len = rest.len;
  }
  if (reader->status == WO_E_LIMIT)
    return wo_err_set(err, WO_E_LIMIT, "accounting of more than %zu jobs: the rest is not looked up", WO_LIMIT_ACCOUNTS);
  return reader->status == WO_OK ? WO_OK : wo_err_nomem(err);
}

/* Looks through a part of an open file. */
static enum wo_status add_part(struct wo_accounts *accounts, const char *path, const struct wo_file_part *part, bool stays_open,
                               struct wo_err *err) {
  struct file *const file = &accounts->files.items[accounts->files.count];
  *file =
      (struct file){.path = wo_arena_copy(&accounts->arena, wo_view_of(path)), .fd = stays_open ? part->fd : -1, .at = part->at};
  struct reader reader = {.accounts = accounts, .file = file, .index = (uint32_t)accounts->files.count, .line = 1};
  const size_t before = accounts->places.count;
  char *const buf = malloc(WO_LIMIT_READ_BYTES);
  enum wo_status status = buf ? read_lines(&reader, part, buf, WO_LIMIT_READ_BYTES, err) : wo_err_nomem(err);
  free(buf);
  if (status == WO_OK && wo_arena_is_exhausted(&accounts->arena)) status = wo_err_nomem(err);
  if (accounts->places.count > before) accounts->files.count++;
  return status;
}

static enum wo_status make_room(struct wo_accounts *accounts, struct wo_err *err) {
  if (WO_VEC_RESERVE(&accounts->files, 1, WO_LIMIT_ACCOUNT_FILES)) return WO_OK;
  return wo_err_set(err, WO_E_LIMIT, "more than %zu files of accounting: it is not looked up", WO_LIMIT_ACCOUNT_FILES);
}

enum wo_status wo_accounts_add(struct wo_accounts *accounts, const char *path, struct wo_err *err) {
  enum wo_status status = make_room(accounts, err);
  if (status != WO_OK) return status;
  const struct wo_file_part part = {.fd = open_file(path), .len = INT64_MAX};
  struct stat info;
  if (part.fd < 0 || fstat(part.fd, &info) != 0) {
    status = wo_err_set(err, WO_E_IO, "cannot be opened: %s", strerror(errno));
    if (part.fd >= 0) close(part.fd);
    return status;
  }
  const size_t index = accounts->files.count;
  status = add_part(accounts, path, &part, false, err);
  if (accounts->files.count > index) accounts->files.items[index].info = info;
  close(part.fd);
  return status;
}

enum wo_status wo_accounts_add_part(struct wo_accounts *accounts, const char *path, const struct wo_file_part *part,
                                    struct wo_err *err) {
  const enum wo_status status = make_room(accounts, err);
  return status == WO_OK ? add_part(accounts, path, part, true, err) : status;
}

bool wo_accounts_are_current(const struct wo_accounts *accounts) {
  for (size_t i = 0; i < accounts->files.count; i++) {
    if (accounts->files.items[i].fd >= 0) continue; /* of an archive that is open */
    const struct stat *const then = &accounts->files.items[i].info;
    struct stat now;
    if (stat(accounts->files.items[i].path.ptr, &now) != 0) return false;
    if (now.st_ino != then->st_ino || now.st_size != then->st_size || now.st_mtim.tv_sec != then->st_mtim.tv_sec ||
        now.st_mtim.tv_nsec != then->st_mtim.tv_nsec)
      return false;
  }
  return true;
}

/* ---- Looking up a job ---- */

static int compare_places(const void *a, const void *b) {
  const struct place *const left = a, *const right = b;
  if (left->key != right->key) return left->key < right->key ? -1 : 1;
  if (left->file != right->file) return left->file < right->file ? -1 : 1;
  return (left->offset > right->offset) - (left->offset < right->offset);
}

void wo_accounts_sort(struct wo_accounts *accounts) {
  if (accounts->places.count > 1)
    qsort(accounts->places.items, accounts->places.count, sizeof *accounts->places.items, compare_places);
}

bool wo_accounts_is_empty(const struct wo_accounts *accounts) {
  return accounts->places.count == 0;
}

static int find_open(struct wo_accounts *accounts, uint32_t file) {
  if (accounts->files.items[file].fd >= 0) return accounts->files.items[file].fd;
  for (size_t i = 0; i < OPEN_MAX; i++) {
    if (accounts->open[i].fd >= 0 && accounts->open[i].file == file) return accounts->open[i].fd;
  }
  struct opened *const slot = &accounts->open[accounts->next_open];
  accounts->next_open = (accounts->next_open + 1) % OPEN_MAX;
  if (slot->fd >= 0) close(slot->fd);
  *slot = (struct opened){file, open_file(accounts->files.items[file].path.ptr)};
  return slot->fd;
}

/* Blocks of scontrol before a table have no head. */
static struct wo_view head_of(const struct wo_accounts *accounts, const struct place *place) {
  return place->is_row ? accounts->files.items[place->file].head : (struct wo_view){0};
}

/* The lines at a place, behind the head of their table. Empty if they cannot be read. */
static struct wo_view read_place(struct wo_accounts *accounts, const struct place *place, struct wo_arena *arena) {
  const struct wo_view head = head_of(accounts, place);
  char *const text = wo_arena_alloc(arena, head.len + place->len);
  const int fd = find_open(accounts, place->file);
  if (!text || fd < 0) return (struct wo_view){0};
  if (head.len > 0) memcpy(text, head.ptr, head.len);
  const ssize_t len = pread(fd, text + head.len, place->len, (off_t)(accounts->files.items[place->file].at + place->offset));
  return len == (ssize_t)place->len ? (struct wo_view){text, head.len + place->len} : (struct wo_view){0};
}

static uint64_t count_lines(struct wo_view text) {
  uint64_t count = 0;
  for (size_t i = 0; i < text.len; i++) count += text.ptr[i] == '\n';
  return count;
}

size_t wo_accounts_find(struct wo_accounts *accounts, struct wo_view job_id, int64_t task, struct wo_arena *arena,
                        struct wo_account_text *texts, size_t most) {
  char id[64];
  size_t low = 0, count = 0;
  if (job_id.len == 0 || job_id.len > 32 || accounts->places.count == 0) return 0;
  snprintf(id, sizeof id, task >= 0 ? "%.*s_%lld" : "%.*s", WO_SHOWN(job_id), (long long)task);
  const uint64_t key = key_of(wo_view_of(id));
  WO_LOWER_BOUND(low, accounts->places.count, at, accounts->places.items[at].key < key);
  for (; low < accounts->places.count && accounts->places.items[low].key == key && count < most; low++) {
    const struct place *const place = &accounts->places.items[low];
    const struct file *const file = &accounts->files.items[place->file];
    const uint64_t head_lines = count_lines(head_of(accounts, place));
    texts[count] = (struct wo_account_text){.path = file->path.ptr,
                                            .text = read_place(accounts, place, arena),
                                            .first_line = place->line > head_lines ? place->line - head_lines : 1};
    if (texts[count].text.len > 0) count++;
  }
  return count;
}
