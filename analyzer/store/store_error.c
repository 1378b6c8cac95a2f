/* SPDX-License-Identifier: Apache-2.0 */
/* How a failure of SQLite is told to the user. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "analyzer/store/store_internal.h"

enum wo_status wo__store_refuse(const struct wo_store *store, enum wo_status status, struct wo_err *err, const char *format,
                                ...) {
  char message[sizeof err->message];
  va_list values;
  va_start(values, format);
  vsnprintf(message, sizeof message, format, values);
  va_end(values);
  wo_err_set(err, status, "%s", message);
  if (store->path) wo_err_place(err, store->path, 0, 0, 0);
  return status;
}

/* The system's error number, as SQLite noted it, which it does not do when a commit fails; 0: none. */
static int system_error(const struct wo_store *store, int errno_now) {
  const int noted = store->db ? sqlite3_system_errno(store->db) : 0;
  return noted != 0 ? noted : errno_now;
}

static void write_reason(int code, int number, char *buf, size_t cap) {
  if (number != 0 && strerror_r(number, buf, cap) == 0) return;
  snprintf(buf, cap, "%s", sqlite3_errstr(code));
}

static bool is_locking(int code) {
  static const int codes[] = {SQLITE_IOERR_LOCK,    SQLITE_IOERR_UNLOCK,  SQLITE_IOERR_RDLOCK, SQLITE_IOERR_CHECKRESERVEDLOCK,
                              SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_SHMLOCK, SQLITE_IOERR_SHMMAP};
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
    if (codes[i] == code) return true;
  }
  return false;
}

static enum wo_status describe(struct wo_store *store, int code, int number, struct wo_err *err) {
  char reason[160];
  write_reason(code, number, reason, sizeof reason);
  const int sort = code & 0xff;
  switch (sort == SQLITE_IOERR && number == ENOSPC ? SQLITE_FULL : sort) {
  case SQLITE_NOMEM:
    wo_err_nomem(err);
    return WO_E_NOMEM;
  case SQLITE_FULL:
    return wo__store_refuse(store, WO_E_IO, err, "cannot be written: no space is left for it or its temporary files");
  case SQLITE_CANTOPEN:
    return wo__store_refuse(store, WO_E_IO, err, "cannot be opened: %s", reason);
  case SQLITE_READONLY:
  case SQLITE_PERM:
    return wo__store_refuse(store, WO_E_IO, err, "cannot be written: it, or its folder, is read-only");
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return wo__store_refuse(store, WO_E_IO, err, "is being written by another process; try again when it has ended");
  case SQLITE_NOTADB:
    return wo__store_refuse(store, WO_E_KIND, err, "is no store of whyoom: it is not a database of SQLite");
  case SQLITE_CORRUPT:
    return wo__store_refuse(store, WO_E_IO, err, "is damaged; `sqlite3 OLD .recover | sqlite3 NEW` saves what can be read");
  case SQLITE_IOERR:
    if (is_locking(code)) {
      return wo__store_refuse(store, WO_E_IO, err, "cannot be locked (%s): put the store on a file system that can lock files",
                              reason);
    }
    return wo__store_refuse(store, WO_E_IO, err, "cannot be read or written: %s", reason);
  case SQLITE_TOOBIG:
    return wo__store_refuse(store, WO_E_IO, err, "holds a text that is too long, or was given one");
  default:
    return wo__store_refuse(store, WO_E_IO, err, "is damaged, or was changed by hand: %s", sqlite3_errmsg(store->db));
  }
}

enum wo_status wo__store_fail(struct wo_store *store, int code, struct wo_err *err) {
  const int errno_now = errno;
  if (store->is_transaction) store->is_broken = true;
  store->last_failure = describe(store, code, system_error(store, errno_now), err);
  return store->last_failure;
}

enum wo_status wo__store_fail_as(struct wo_store *store, const struct wo_store *other, int code, struct wo_err *err) {
  const enum wo_status status = wo__store_fail(store, code, err);
  wo_err_place(err, other->path, 0, 0, 0);
  return status;
}
