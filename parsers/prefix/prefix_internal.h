/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the readers of prefixes: the line being read, and small steps over its characters. prefix.c has the labels of
 * launchers and the table, prefix_log.c the parts of log records. Nobody else includes this. */
#ifndef WO_PREFIX_INTERNAL_H
#define WO_PREFIX_INTERNAL_H

#include <assert.h>

#include "parsers/base/number.h"
#include "parsers/event/event.h"
#include "parsers/prefix/prefix.h"

/* Longest worker label or log tag that is looked at. */
enum { TAG_BYTES_MAX = 200 };
enum { RANK_MAX = 999999 };

/* How far a label can be trusted to name the process; a better one replaces a worse one. A launcher's task number in front of
 * torchrun's local rank counts nodes: saying "local rank 1" is right then, and "rank 3" would be wrong for seven of eight. */
enum trust { TRUST_NONE, TRUST_TASK, TRUST_LOCAL, TRUST_RANK };

/* A line being read. */
struct reading {
  struct wo_view line;
  struct wo_prefix prefix;
  enum trust trust;
  size_t source_end; /* where the last label ended, blanks included; 0 when there was none */
  bool has_log_part; /* a time, level or log tag has been read: more of them may follow */
  const char *word;  /* where the name begins whose end is known (first_word_end); NULL: none */
  size_t word_len;
};

/* ---- Helpers ---- */

/* Offset after the digits that start at `at`. */
static inline size_t skip_digits(struct wo_view view, size_t at) {
  while (at < view.len && wo_is_digit(view.ptr[at])) at++;
  return at;
}

/* Offset after the blanks that start at `at`. Tabs are program text. */
static inline size_t skip_blanks(struct wo_view view, size_t at) {
  while (at < view.len && view.ptr[at] == ' ') at++;
  return at;
}

/* Offset after one blank at `at`, when there is one: what follows is the program's own indentation. */
static inline size_t skip_blank(struct wo_view view, size_t at) {
  return at < view.len && view.ptr[at] == ' ' ? at + 1 : at;
}

/* As skip_blank, for labels that some launchers write with a blank after them and others without: Python indents by even
 * numbers, so one blank of an odd number is the label's. */
static inline size_t skip_odd_blank(struct wo_view view, size_t at) {
  return (skip_blanks(view, at) - at) % 2 == 1 ? at + 1 : at;
}

/* Whether c is at `at`; false beyond the end, so that readers need no length checks of their own. */
static inline bool has_char(struct wo_view view, size_t at, char c) {
  return at < view.len && view.ptr[at] == c;
}

/* Whether c is one of the characters of the NUL-terminated set. */
static inline bool is_any(char c, const char *set) {
  while (*set != '\0' && *set != c) set++;
  return *set != '\0';
}

/* Whether view holds nothing but a number: then what is before it is a key and no label. */
static inline bool is_bare_number(struct wo_view view) {
  const struct wo_view trimmed = wo_view_trim(view);
  for (size_t i = 0; i < trimmed.len; i++) {
    if (!wo_is_digit(trimmed.ptr[i]) && trimmed.ptr[i] != '.') return false;
  }
  return trimmed.len > 0;
}

/* Reads the number that fills [start, end) as a rank. */
static inline bool rank_between(struct wo_view view, size_t start, size_t end, int32_t *ret_rank) {
  struct wo_view digits = wo_view_sub(view, start, end);
  uint64_t value = 0;
  if (wo_number_u64(&digits, RANK_MAX, &value) != WO_OK || digits.len > 0) return false;
  *ret_rank = (int32_t)value;
  return true;
}

/* Records a rank unless a label that can be trusted more, or an earlier one of the same kind, has given it. */
static inline void note_rank(struct reading *reading, int32_t rank, enum trust trust) {
  assert(rank >= 0 && rank <= RANK_MAX);
  if (trust <= reading->trust) return;
  reading->trust = trust;
  reading->prefix.rank = rank;
  reading->prefix.is_local_rank = trust == TRUST_LOCAL;
}

/* Records a host; the outermost wins. */
static inline void note_host(struct reading *reading, struct wo_view host) {
  if (reading->prefix.host.len == 0) reading->prefix.host = host;
}

/* Records a stamp; the outermost wins. Only one with a year is a time that can be shown. */
static inline void note_stamp(struct reading *reading, struct wo_stamp stamp, bool has_sure_date) {
  if (reading->prefix.stamp.clock == WO_CLOCK_NONE) reading->prefix.stamp = stamp;
  if (has_sure_date && reading->prefix.time_ns == WO_TIME_UNKNOWN) reading->prefix.time_ns = stamp.time_ns;
}

/* Records a label of the writer, `label` being part of `rest`, the whole prefix `length` bytes long. Labels side by side make one
 * source (`0: [default1]:` is another writer than `1: [default1]:`); one after a time does not, since times differ. */
static inline void note_source(struct reading *reading, struct wo_view label, size_t length) {
  assert(label.len > 0 && label.ptr >= reading->line.ptr);
  const size_t start = reading->prefix.length;
  const size_t label_end = (size_t)(label.ptr - reading->line.ptr) + label.len;
  if (reading->prefix.source.len == 0) {
    reading->prefix.source = label;
  } else if (reading->source_end == start) {
    const char *const first = reading->prefix.source.ptr;
    reading->prefix.source.len = (size_t)(reading->line.ptr + label_end - first);
  } else {
    return;
  }
  reading->source_end = start + length;
}

/* Records a level; the innermost one is the program's own. */
static inline void note_severity(struct reading *reading, enum wo_severity severity) {
  reading->prefix.severity = severity;
}

/* Characters of host names, and of the dotted names of loggers: letters, digits, '.', '-' and '_'. Each bit of the two words says
 * it of one ASCII character. */
static inline bool is_host_char(char c) {
  static const uint64_t names[2] = {UINT64_C(0x03ff600000000000), UINT64_C(0x07fffffe87fffffe)};
  const unsigned char byte = (unsigned char)c;
  return byte < 128 && (names[byte / 64] >> byte % 64 & 1) != 0;
}

/* Offset after the characters of host names that start at `at`. */
static inline size_t skip_host(struct wo_view view, size_t at) {
  while (at < view.len && is_host_char(view.ptr[at])) at++;
  return at;
}

/* skip_host from the front of rest, which several readers ask for. */
static inline size_t first_word_end(struct wo_view rest, struct reading *reading) {
  if (reading->word == rest.ptr) return reading->word_len;
  reading->word = rest.ptr;
  reading->word_len = skip_host(rest, 0);
  return reading->word_len;
}

/* Whether a word names a source file, as in `[core.py:560]`. */
static inline bool is_source_file(struct wo_view word) {
  static const char *const endings[] = {".py", ".cpp", ".cc", ".cu", ".c", ".h", ".hpp", ".cuh", ".rs", ".go"};
  return WO_VIEW_ANY(word, wo_view_ends, endings);
}

/* Readers of log records: bytes at the front of rest that belong to the prefix, 0 when it does not match. The table in prefix.c
 * says what each one reads. */
size_t wo__prefix_iso_time(struct wo_view rest, struct reading *reading);
size_t wo__prefix_bracketed_time(struct wo_view rest, struct reading *reading);
size_t wo__prefix_short_time(struct wo_view rest, struct reading *reading);
size_t wo__prefix_clock(struct wo_view rest, struct reading *reading);
size_t wo__prefix_kernel_time(struct wo_view rest, struct reading *reading);
size_t wo__prefix_syslog_head(struct wo_view rest, struct reading *reading);
size_t wo__prefix_dmesg_time(struct wo_view rest, struct reading *reading);
size_t wo__prefix_fixed(struct wo_view rest, struct reading *reading);
size_t wo__prefix_glog_tag(struct wo_view rest, struct reading *reading);
size_t wo__prefix_tensorflow_tag(struct wo_view rest, struct reading *reading);
size_t wo__prefix_leading_level(struct wo_view rest, struct reading *reading);
size_t wo__prefix_level_word(struct wo_view rest, struct reading *reading);
size_t wo__prefix_transformers_tag(struct wo_view rest, struct reading *reading);
size_t wo__prefix_file_tag(struct wo_view rest, struct reading *reading);
size_t wo__prefix_logger_name(struct wo_view rest, struct reading *reading);
size_t wo__prefix_pytest_mark(struct wo_view rest, struct reading *reading);

/* The level that the program's own text begins with, as in "WARNING: no card" and "WARNING:root:no card". */
enum wo_severity wo__prefix_leading_severity(struct wo_view text);

/* Notes level and time of a record that is written as JSON. */
void wo__prefix_json_record(struct wo_view text, struct reading *reading);

#endif
