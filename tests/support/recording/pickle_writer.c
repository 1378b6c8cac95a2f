/* SPDX-License-Identifier: Apache-2.0 */
/* An encoder of pickles. After each value `done_value` does what the open container needs: SETITEM or APPEND in protocol 0, the
 * ends of batches in the others. */
#include "tests/support/recording/pickle_writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Python closes a batch of members after this many. */
enum { BATCH = 1000 };

void wo_pickle_write_raw(struct wo_pickle_writer *writer, const void *bytes, size_t len) {
  writer->written += len;
  if (writer->file != NULL) {
    if (fwrite(bytes, 1, len, writer->file) != len) abort();
    return;
  }
  if (writer->len + len > writer->cap) {
    writer->cap = (writer->len + len) * 2;
    writer->bytes = realloc(writer->bytes, writer->cap);
    if (writer->bytes == NULL) abort();
  }
  if (len > 0) memcpy(writer->bytes + writer->len, bytes, len);
  writer->len += len;
}

/* An opcode and a little-endian argument. */
static void put_op(struct wo_pickle_writer *writer, int opcode, uint64_t argument, size_t argument_bytes) {
  char bytes[9] = {(char)opcode};
  for (size_t i = 0; i < argument_bytes; i++) bytes[i + 1] = (char)(argument >> 8 * i);
  wo_pickle_write_raw(writer, bytes, argument_bytes + 1);
}

static void put_line(struct wo_pickle_writer *writer, const char *line) {
  wo_pickle_write_raw(writer, line, strlen(line));
  wo_pickle_write_raw(writer, "\n", 1);
}

/* An opcode of protocol 0 with a number. */
static void put_number_line(struct wo_pickle_writer *writer, char opcode, int64_t number, const char *suffix) {
  char line[40];
  snprintf(line, sizeof line, "%c%" PRId64 "%s", opcode, number, suffix);
  put_line(writer, line);
}

static uint32_t memoize(struct wo_pickle_writer *writer) {
  const uint32_t slot = writer->memo++;
  if (writer->protocol == 0) {
    put_number_line(writer, 'p', slot, "");
  } else if (writer->protocol >= 4) {
    put_op(writer, 0x94, 0, 0);
  } else {
    put_op(writer, slot < 256 ? 'q' : 'r', slot, slot < 256 ? 1 : 4);
  }
  return slot;
}

/* ---- Containers ---- */

static struct wo_pickle_write_open *innermost(struct wo_pickle_writer *writer) {
  return writer->depth == 0 ? NULL : &writer->open[writer->depth - 1];
}

/* Before the first member of a batch. A batch of one has no mark. */
static void begin_batch(struct wo_pickle_writer *writer, struct wo_pickle_write_open *open) {
  const bool is_short = !writer->is_cpp && open->members_left > BATCH;
  open->batch_left = is_short ? BATCH : open->members_left;
  open->has_mark = open->batch_left > 1 || writer->is_cpp;
  if (open->has_mark) put_op(writer, '(', 0, 0);
}

static void before_value(struct wo_pickle_writer *writer) {
  struct wo_pickle_write_open *const open = innermost(writer);
  if (open == NULL || writer->protocol == 0 || open->batch_left > 0) return;
  begin_batch(writer, open);
  open->is_key_next = true;
}

static void done_value(struct wo_pickle_writer *writer) {
  struct wo_pickle_write_open *const open = innermost(writer);
  if (open == NULL) return;
  if (open->members_left == 0) abort();
  if (open->is_dict && open->is_key_next) {
    open->is_key_next = false;
    return;
  }
  open->is_key_next = true;
  open->members_left--;
  if (writer->protocol == 0) {
    put_op(writer, open->is_dict ? 's' : 'a', 0, 0);
    return;
  }
  open->batch_left--;
  if (open->batch_left > 0) return;
  put_op(writer, open->is_dict ? (open->has_mark ? 'u' : 's') : (open->has_mark ? 'e' : 'a'), 0, 0);
}

static uint32_t open_container(struct wo_pickle_writer *writer, bool is_dict, uint64_t members) {
  before_value(writer);
  if (writer->depth >= WO_PICKLE_WRITE_DEPTH) abort();
  if (writer->protocol == 0) {
    wo_pickle_write_raw(writer, is_dict ? "(d" : "(l", 2);
  } else {
    put_op(writer, is_dict ? '}' : ']', 0, 0);
  }
  const uint32_t slot = writer->is_cpp ? 0 : memoize(writer);
  writer->open[writer->depth++] = (struct wo_pickle_write_open){.is_dict = is_dict, .is_key_next = true, .members_left = members};
  return slot;
}

uint32_t wo_pickle_write_dict(struct wo_pickle_writer *writer, uint64_t pairs) {
  return open_container(writer, true, pairs);
}

uint32_t wo_pickle_write_list(struct wo_pickle_writer *writer, uint64_t members) {
  return open_container(writer, false, members);
}

uint32_t wo_pickle_write_end(struct wo_pickle_writer *writer) {
  if (writer->depth == 0 || innermost(writer)->members_left != 0) abort();
  writer->depth--;
  const uint32_t slot = writer->is_cpp ? memoize(writer) : 0;
  done_value(writer);
  return slot;
}

/* ---- Values ---- */

static uint64_t hash_text(const char *text) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
  for (; *text != '\0'; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
  return hash;
}

/* Escapes as protocol 0 does: everything but plain ASCII as \uXXXX; bytes above 127 are taken for Latin-1. */
static void put_text_line(struct wo_pickle_writer *writer, const char *text) {
  wo_pickle_write_raw(writer, "V", 1);
  for (; *text != '\0'; text++) {
    char escaped[8];
    const unsigned char c = (unsigned char)*text;
    const bool is_plain = c != '\\' && c != '\n' && c < 0x80;
    if (!is_plain) snprintf(escaped, sizeof escaped, "\\u%04x", c);
    wo_pickle_write_raw(writer, is_plain ? text : escaped, is_plain ? 1 : 6);
  }
  wo_pickle_write_raw(writer, "\n", 1);
}

static void put_text(struct wo_pickle_writer *writer, const char *text) {
  const size_t len = strlen(text);
  if (writer->protocol == 0) {
    put_text_line(writer, text);
    return;
  }
  const bool is_short = writer->protocol >= 4 && len < 256;
  put_op(writer, is_short ? 0x8c : 'X', len, is_short ? 1 : 4);
  wo_pickle_write_raw(writer, text, len);
}

static void put_ref(struct wo_pickle_writer *writer, uint32_t slot) {
  if (writer->protocol == 0) {
    put_number_line(writer, 'g', slot, "");
  } else {
    put_op(writer, slot < 256 ? 'h' : 'j', slot, slot < 256 ? 1 : 4);
  }
}

void wo_pickle_write_text(struct wo_pickle_writer *writer, const char *text) {
  before_value(writer);
  size_t place = (size_t)hash_text(text) % WO_PICKLE_WRITE_TEXTS;
  while (writer->texts[place].text != NULL && strcmp(writer->texts[place].text, text) != 0)
    place = (place + 1) % WO_PICKLE_WRITE_TEXTS;
  if (writer->texts[place].text != NULL) {
    put_ref(writer, writer->texts[place].slot);
  } else {
    if (++writer->text_count >= WO_PICKLE_WRITE_TEXTS) abort();
    put_text(writer, text);
    writer->texts[place].text = strdup(text);
    writer->texts[place].slot = memoize(writer);
  }
  done_value(writer);
}

void wo_pickle_write_fresh_text(struct wo_pickle_writer *writer, const char *text) {
  before_value(writer);
  put_text(writer, text);
  memoize(writer);
  done_value(writer);
}

/* The fewest bytes that hold the number, as Python writes it; C++ writes eight. */
static void put_long(struct wo_pickle_writer *writer, int64_t number) {
  int bytes = 8;
  while (!writer->is_cpp && bytes > 1 && number >> (8 * bytes - 9) == (number < 0 ? -1 : 0)) bytes--;
  char encoded[10] = {(char)0x8a, (char)bytes};
  for (int i = 0; i < bytes; i++) encoded[2 + i] = (char)((uint64_t)number >> 8 * i);
  wo_pickle_write_raw(writer, encoded, (size_t)bytes + 2);
}

static void put_int(struct wo_pickle_writer *writer, int64_t number) {
  const bool is_int32 = number >= INT32_MIN && number <= INT32_MAX;
  if (writer->protocol == 0) {
    put_number_line(writer, is_int32 ? 'I' : 'L', number, is_int32 ? "" : "L");
  } else if (number >= 0 && number < 256) {
    put_op(writer, 'K', (uint64_t)number, 1);
  } else if (number >= 0 && number < 65536) {
    put_op(writer, 'M', (uint64_t)number, 2);
  } else if (is_int32) {
    put_op(writer, 'J', (uint64_t)number, 4);
  } else if (writer->protocol == 1) {
    put_number_line(writer, 'L', number, "L");
  } else {
    put_long(writer, number);
  }
}

void wo_pickle_write_int(struct wo_pickle_writer *writer, int64_t number) {
  before_value(writer);
  put_int(writer, number);
  done_value(writer);
}

void wo_pickle_write_float(struct wo_pickle_writer *writer, double number) {
  before_value(writer);
  if (writer->protocol == 0) {
    char line[40];
    snprintf(line, sizeof line, "F%.6f", number);
    put_line(writer, line);
  } else {
    uint64_t bits = 0;
    memcpy(&bits, &number, sizeof bits);
    put_op(writer, 'G', __builtin_bswap64(bits), 8);
  }
  done_value(writer);
}

void wo_pickle_write_bool(struct wo_pickle_writer *writer, bool is_true) {
  before_value(writer);
  if (writer->protocol < 2) {
    put_line(writer, is_true ? "I01" : "I00");
  } else {
    put_op(writer, is_true ? 0x88 : 0x89, 0, 0);
  }
  done_value(writer);
}

void wo_pickle_write_none(struct wo_pickle_writer *writer) {
  before_value(writer);
  put_op(writer, 'N', 0, 0);
  done_value(writer);
}

void wo_pickle_write_pair(struct wo_pickle_writer *writer, int64_t first, int64_t second) {
  before_value(writer);
  if (writer->protocol < 2) put_op(writer, '(', 0, 0);
  put_int(writer, first);
  put_int(writer, second);
  put_op(writer, writer->protocol < 2 ? 't' : 0x86, 0, 0);
  memoize(writer);
  done_value(writer);
}

void wo_pickle_write_ref(struct wo_pickle_writer *writer, uint32_t slot) {
  before_value(writer);
  put_ref(writer, slot);
  done_value(writer);
}

void wo_pickle_write_text_at(struct wo_pickle_writer *writer, const char *key, const char *text) {
  wo_pickle_write_text(writer, key);
  wo_pickle_write_text(writer, text);
}

void wo_pickle_write_int_at(struct wo_pickle_writer *writer, const char *key, int64_t number) {
  wo_pickle_write_text(writer, key);
  wo_pickle_write_int(writer, number);
}

void wo_pickle_write_bool_at(struct wo_pickle_writer *writer, const char *key, bool is_true) {
  wo_pickle_write_text(writer, key);
  wo_pickle_write_bool(writer, is_true);
}

/* ---- Ends ---- */

void wo_pickle_write_begin(struct wo_pickle_writer *writer, int protocol, bool is_cpp, FILE *file) {
  memset(writer, 0, sizeof *writer);
  writer->protocol = is_cpp ? 2 : protocol;
  writer->is_cpp = is_cpp;
  writer->file = file;
  if (writer->protocol >= 2) put_op(writer, 0x80, (uint64_t)writer->protocol, 1);
}

void wo_pickle_write_stop(struct wo_pickle_writer *writer) {
  if (writer->depth != 0) abort();
  put_op(writer, '.', 0, 0);
}

void wo_pickle_write_done(struct wo_pickle_writer *writer) {
  for (size_t i = 0; i < WO_PICKLE_WRITE_TEXTS; i++) free(writer->texts[i].text);
  free(writer->bytes);
  memset(writer, 0, sizeof *writer);
}
