/* SPDX-License-Identifier: Apache-2.0 */
/* Writes pickles as Python (protocols 0 to 5) and torch's C++ code write them: for tests, fuzz seeds and the bench.
 *
 * The caller says what comes, in order; containers say how many members they will have:
 *
 *   wo_pickle_write_dict(&w, 1);
 *   wo_pickle_write_text(&w, "line");
 *   wo_pickle_write_int(&w, 7);
 *   wo_pickle_write_end(&w);
 *
 * Texts are stored in the memo and referred to, as Python does it with keys; containers can be referred to by the number that
 * opening them returned. Fails by abort: this is test code. */
#ifndef WO_TEST_PICKLE_WRITER_H
#define WO_TEST_PICKLE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { WO_PICKLE_WRITE_DEPTH = 32, WO_PICKLE_WRITE_TEXTS = 4096 };

struct wo_pickle_writer {
  int protocol;
  bool is_cpp; /* torch's C++ code: protocol 2, one batch for each container, stored after it is complete */
  FILE *file;  /* written to when not NULL, else `bytes` grows */
  char *bytes; /* released with free */
  size_t len, cap;
  uint64_t written; /* in all */
  uint32_t memo;    /* next slot */
  int depth;
  struct wo_pickle_write_open {
    bool is_dict;
    bool is_key_next;
    bool has_mark; /* of the batch */
    uint64_t members_left, batch_left;
  } open[WO_PICKLE_WRITE_DEPTH];
  struct {
    char *text;
    uint32_t slot;
  } texts[WO_PICKLE_WRITE_TEXTS]; /* hash table */
  size_t text_count;
};

/* Begins a pickle; the writer is large. */
void wo_pickle_write_begin(struct wo_pickle_writer *writer, int protocol, bool is_cpp, FILE *file);

/* Ends it: STOP. */
void wo_pickle_write_stop(struct wo_pickle_writer *writer);

/* Releases all. */
void wo_pickle_write_done(struct wo_pickle_writer *writer);

/* Opens a container with that many members (pairs of a dict); returns its memo slot, which is_cpp knows only at its end: there,
 * the end returns it. */
uint32_t wo_pickle_write_dict(struct wo_pickle_writer *writer, uint64_t pairs);
uint32_t wo_pickle_write_list(struct wo_pickle_writer *writer, uint64_t members);
uint32_t wo_pickle_write_end(struct wo_pickle_writer *writer);

/* Values. */
void wo_pickle_write_text(struct wo_pickle_writer *writer, const char *text);
void wo_pickle_write_int(struct wo_pickle_writer *writer, int64_t number);
void wo_pickle_write_float(struct wo_pickle_writer *writer, double number);
void wo_pickle_write_bool(struct wo_pickle_writer *writer, bool is_true);
void wo_pickle_write_none(struct wo_pickle_writer *writer);
void wo_pickle_write_pair(struct wo_pickle_writer *writer, int64_t first, int64_t second);
void wo_pickle_write_ref(struct wo_pickle_writer *writer, uint32_t slot);

/* A fresh text that is stored and never referred to, as the values that torch makes for each entry. */
void wo_pickle_write_fresh_text(struct wo_pickle_writer *writer, const char *text);

/* Key and value of a dict. */
void wo_pickle_write_text_at(struct wo_pickle_writer *writer, const char *key, const char *text);
void wo_pickle_write_int_at(struct wo_pickle_writer *writer, const char *key, int64_t number);
void wo_pickle_write_bool_at(struct wo_pickle_writer *writer, const char *key, bool is_true);

/* Bytes as they are. */
void wo_pickle_write_raw(struct wo_pickle_writer *writer, const void *bytes, size_t len);

#endif
