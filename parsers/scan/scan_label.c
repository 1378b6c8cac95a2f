/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of an unknown form: what a collector of logs writes before each line, such as the names of a pod and its container.
 *
 *   trainer-worker-0 main Traceback (most recent call last):
 *   trainer-worker-0 main   File "/app/train.py", line 12, in <module>
 *
 * The readers of prefixes know the usual forms. Another one is learnt where it cannot be the program's own text: nearly all lines
 * of the log's head begin with the same name, or it stands before the header of a traceback and before the frame below. Digits
 * may differ, for several writers. What is learnt depends on the bytes of the log alone. */
#include <string.h>

#include "parsers/base/number.h"
#include "parsers/scan/scan_internal.h"

/* Lines of the head that are compared, and how many there must be. */
enum { LINES_MAX = 32, LINES_MIN = 3 };

/* Of this many lines one may be without the label. */
enum { LINES_PER_ODD = 8 };

/* Shorter names are words of programs. */
enum { NAME_MIN = 5 };

/* The length of the label at the front of text, of the form of `form`: the same characters, but other numbers where it has some.
 * Without it, 0. */
static size_t length_of(struct wo_view form, struct wo_view text) {
  size_t at = 0, own = 0;
  while (own < form.len) {
    if (at == text.len) return 0;
    if (wo_is_digit(form.ptr[own]) && wo_is_digit(text.ptr[at])) {
      while (own < form.len && wo_is_digit(form.ptr[own])) own++;
      while (at < text.len && wo_is_digit(text.ptr[at])) at++;
    } else if (form.ptr[own++] != text.ptr[at++]) {
      return 0;
    }
  }
  return at;
}

struct wo_view wo__scan_cut_known_label(const struct wo_label *label, struct wo_view *raw) {
  const size_t length = length_of((struct wo_view){label->form, label->len}, *raw);
  const struct wo_view cut = wo_view_sub(*raw, 0, length);
  *raw = wo_view_skip(*raw, length);
  return cut;
}

static void keep(struct wo_label *label, struct wo_view form) {
  if (form.len > sizeof label->form) return;
  if (form.len > 0) memcpy(label->form, form.ptr, form.len);
  label->len = form.len;
  for (size_t i = 0; i < form.len; i++) label->has_number = label->has_number || wo_is_digit(form.ptr[i]);
}

/* ---- By the head of the log ---- */

struct head {
  struct wo_view lines[LINES_MAX]; /* that are not blank */
  size_t count;
};

static void split(struct wo_view text, struct head *head) {
  while (text.len > 0 && head->count < LINES_MAX) {
    size_t end = 0;
    while (end < text.len && !wo__scan_is_line_end(text.ptr[end])) end++;
    if (end > 0) head->lines[head->count++] = wo_view_sub(text, 0, end);
    text = wo_view_skip(text, end + 1);
  }
}

/* Characters of names of pods, containers and hosts. */
static bool is_name_char(char c) {
  return wo_is_word(c) || c == '-' || c == '.' || c == '/' || c == '[' || c == ']';
}

/* The name at the front of a line and the blank after it; 0 if the first word is none: a name has letters, and a hyphen or
 * digits. */
static size_t name_end(struct wo_view line) {
  size_t end = 0, letters = 0, marks = 0;
  if (line.len == 0 || (!wo_is_alpha(line.ptr[0]) && line.ptr[0] != '[')) return 0;
  for (; end < line.len && is_name_char(line.ptr[end]); end++) {
    letters += wo_is_alpha(line.ptr[end]);
    marks += wo_is_digit(line.ptr[end]) || line.ptr[end] == '-' || line.ptr[end] == '/';
  }
  return end >= NAME_MIN && letters > 1 && marks > 1 && end < line.len && line.ptr[end] == ' ' ? end + 1 : 0;
}

/* Lines of the head that have the label, and how many of them have it as an earlier line does, digits included. */
struct shared {
  size_t lines;
  size_t repeated;
};

static struct shared count_shared(const struct head *head, struct wo_view form) {
  struct shared shared = {0, 0};
  for (size_t i = 0; i < head->count; i++) {
    const struct wo_view own = wo_view_sub(head->lines[i], 0, length_of(form, head->lines[i]));
    if (own.len == 0) continue;
    shared.lines++;
    bool is_repeated = false;
    for (size_t j = 0; j < i && !is_repeated; j++) is_repeated = wo_view_equal(wo_view_sub(head->lines[j], 0, own.len), own);
    shared.repeated += is_repeated;
  }
  return shared;
}

/* Rows that count something have other digits each; a few writers repeat theirs. */
static bool is_label(const struct head *head, struct wo_view form) {
  const struct shared shared = count_shared(head, form);
  return shared.lines + head->count / LINES_PER_ODD >= head->count && shared.repeated * 2 >= head->count;
}

/* The label with the word after the name, if that is one of small letters (the container) which all lines share as well. */
static size_t with_container(const struct head *head, struct wo_view line, size_t name) {
  size_t end = name;
  while (end < line.len && (wo_is_digit(line.ptr[end]) || line.ptr[end] == '-' || wo_lower(line.ptr[end]) == line.ptr[end]) &&
         is_name_char(line.ptr[end]))
    end++;
  if (end == name || end == line.len || line.ptr[end] != ' ') return name;
  return is_label(head, wo_view_sub(line, 0, end + 1)) ? end + 1 : name;
}

/* The blanks that all lines have in front: the log was indented as a whole, as texts on web pages are. */
static void learn_indent(struct wo_scan *scan, const struct head *head) {
  size_t least = SIZE_MAX;
  for (size_t i = 0; i < head->count; i++) {
    size_t blanks = 0;
    while (blanks < head->lines[i].len && head->lines[i].ptr[blanks] == ' ') blanks++;
    if (blanks < least) least = blanks;
  }
  if (head->count > LINES_MIN) keep(&scan->label, wo_view_sub(head->lines[0], 0, least));
}

/* Quoted in a mail: a test that failed marks a line of code so, with many blanks. */
static void learn_quote(struct wo_scan *scan, const struct head *head) {
  size_t quoted = 0;
  for (size_t i = 0; i < head->count; i++) quoted += head->lines[i].ptr[0] == '>';
  const bool is_mail = wo_view_starts(head->lines[0], "> ") && !wo_view_starts(head->lines[0], ">  ");
  if (is_mail || (head->count >= LINES_MIN && quoted + head->count / LINES_PER_ODD >= head->count))
    keep(&scan->label, WO_VIEW("> "));
}

/* The number of a line in "12.9s 77 text", where notebooks that run as a batch put the time and the number before each line; 0
 * for none. *ret_end: where the text begins. */
static uint64_t line_number_of(struct wo_view line, size_t *ret_end) {
  struct wo_view rest = line;
  uint64_t number = 0;
  while (rest.len > 0 && (wo_is_digit(rest.ptr[0]) || rest.ptr[0] == '.')) rest = wo_view_skip(rest, 1);
  if (rest.len == line.len || !wo_view_starts(rest, "s ")) return 0;
  rest = wo_view_skip(rest, 2);
  if (wo_number_u64(&rest, UINT32_MAX, &number) != WO_OK || !wo_view_starts(rest, " ")) return 0;
  *ret_end = line.len - rest.len + 1;
  return number;
}

/* Lines that are numbered one by one; bars that rewrite theirs are in one line. The number tells no writers apart. */
static void learn_numbers(struct wo_scan *scan, struct wo_view text) {
  struct wo_view rest = text;
  size_t form = 0, next = 0;
  const uint64_t first = line_number_of(wo_view_cut(&rest, '\n'), &form);
  for (uint64_t number = first + 1; rest.len > 0; number++) {
    const struct wo_view line = wo_view_cut(&rest, '\n');
    if (rest.len > 0 && line_number_of(line, &next) != number) return; /* the last one may be cut */
    if (rest.len == 0 && number - first < LINES_MIN) return;
  }
  keep(&scan->label, wo_view_sub(text, 0, form));
  scan->label.has_number = false;
}

void wo__scan_learn_label(struct wo_scan *scan, struct wo_view text) {
  struct head head = {.count = 0};
  const size_t first_end = name_end(text);
  scan->label.is_looked_for = true;
  if (wo_view_starts(text, ">")) {
    split(text, &head);
    learn_quote(scan, &head);
    return;
  }
  if (text.len > 0 && wo_is_digit(text.ptr[0]) && line_number_of(text, &(size_t){0}) > 0) {
    learn_numbers(scan, text);
    return;
  }
  if (wo_view_starts(text, " ")) {
    split(text, &head);
    learn_indent(scan, &head);
    return;
  }
  if (first_end == 0 || wo_prefix_read(wo_view_sub(text, 0, WO_SCAN_AROUND_BYTES)).length > 0) return;
  split(text, &head);
  if (head.count < LINES_MIN || !is_label(&head, wo_view_sub(text, 0, first_end))) return;
  keep(&scan->label, wo_view_sub(text, 0, with_container(&head, head.lines[0], first_end)));
}

/* ---- By a traceback ---- */

void wo_scan_offer_label(struct wo_scan *scan, struct wo_view label) {
  struct wo_label *const own = &scan->label;
  if (own->len > 0 || label.len < 2 || label.len > sizeof own->offered) return;
  memcpy(own->offered, label.ptr, label.len);
  own->offered_len = label.len;
}

void wo__scan_confirm_label(struct wo_scan *scan, struct wo_view raw) {
  struct wo_label *const own = &scan->label;
  const struct wo_view offered = {own->offered, own->offered_len};
  const size_t length = length_of(offered, raw);
  own->offered_len = 0;
  if (length == 0 || !wo_view_starts(wo_view_skip(raw, length), "  File \"")) return;
  keep(own, offered);
  own->has_number = false; /* what is open began without it */
}
