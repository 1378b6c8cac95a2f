/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of hosts as SLURM writes them. See pseudonyms_internal.h. */
#include <stdio.h>
#include <string.h>

#include "parsers/base/anonymize/pseudonyms_internal.h"
#include "parsers/base/limits.h"
#include "parsers/base/number.h"

/* Digits of a number in a list at most. */
enum { DIGITS_MAX = 9, NUMBER_MAX = 999999999 };

/* A list in a text that is longer is not looked for: each "a[" of a hostile one would be searched to its end. */
enum { LIST_BYTES_MAX = 4096 };

/* Calls for each host of one item ("gpu[03-06,9]", "login1"), until it returns false. */
typedef bool (*host_fn)(void *context, struct wo_view host);

struct span {
  uint64_t from, to;
  int width; /* of numbers with zeros before them */
};

/* "03-06", "9". */
static bool read_span(struct wo_view text, struct span *span) {
  struct wo_view rest = text, from = wo_view_cut(&rest, '-'), to = rest.len > 0 ? rest : from;
  *span = (struct span){.width = (int)from.len};
  if (from.len == 0 || from.len > DIGITS_MAX) return false;
  if (wo_number_u64(&from, NUMBER_MAX, &span->from) != WO_OK || wo_number_u64(&to, NUMBER_MAX, &span->to) != WO_OK) return false;
  return from.len == 0 && to.len == 0 && span->to >= span->from;
}

/* Whether the item has one pair of brackets with numbers in it; *ret are its parts. */
static bool read_item(struct wo_view item, struct wo_view *ret_head, struct wo_view *ret_list, struct wo_view *ret_tail) {
  const size_t open = wo_view_find_char(item, '[', 0);
  const size_t close = open == WO_NOT_FOUND ? open : wo_view_find_char(item, ']', open);
  if (close == WO_NOT_FOUND || open == 0 || close == open + 1) return false;
  *ret_head = wo_view_sub(item, 0, open);
  *ret_list = wo_view_sub(item, open + 1, close);
  *ret_tail = wo_view_skip(item, close + 1);
  for (size_t i = 0; i < ret_list->len; i++) {
    if (!wo_is_digit(ret_list->ptr[i]) && ret_list->ptr[i] != ',' && ret_list->ptr[i] != '-') return false;
  }
  return true;
}

static bool each_of_item(struct wo_view item, host_fn fn, void *context) {
  struct wo_view head, list, tail;
  size_t count = 0;
  if (!read_item(item, &head, &list, &tail)) return fn(context, item);
  while (list.len > 0) {
    struct span span;
    if (!read_span(wo_view_cut(&list, ','), &span)) continue;
    for (uint64_t number = span.from; number <= span.to; number++) {
      char name[WO_LIMIT_PSEUDONYM_NAME_BYTES];
      if (count++ == WO_LIMIT_PSEUDONYM_HOSTS || head.len + tail.len + DIGITS_MAX >= sizeof name) return false;
      const int len =
          snprintf(name, sizeof name, "%.*s%0*llu%.*s", WO_SHOWN(head), span.width, (unsigned long long)number, WO_SHOWN(tail));
      if (!fn(context, (struct wo_view){name, (size_t)len})) return false;
    }
  }
  return true;
}

/* Commas in brackets do not divide items. */
static bool each_host(struct wo_view list, host_fn fn, void *context) {
  while (list.len > 0) {
    size_t end = 0;
    for (bool is_inside = false; end < list.len && (is_inside || list.ptr[end] != ','); end++) {
      is_inside = list.ptr[end] == '[' || (is_inside && list.ptr[end] != ']');
    }
    const struct wo_view item = wo_view_trim(wo_view_sub(list, 0, end));
    list = wo_view_skip(list, end + 1);
    if (item.len > 0 && !each_of_item(item, fn, context)) return false;
  }
  return true;
}

static bool learn_one(void *context, struct wo_view host) {
  wo_pseudonyms_learn(context, WO_NAME_OF_HOST, host);
  return true;
}

void wo_pseudonyms_learn_hosts(struct wo_pseudonyms *p, struct wo_view list) {
  each_host(list, learn_one, p);
}

/* ---- Writing: hosts whose numbers follow each other are one item ---- */

struct writer {
  struct wo_pseudonyms *p;
  struct wo_text *out;
  struct wo_text row; /* "1-4,7" */
  uint64_t first, last;
  size_t spans;
  bool has_item;
};

static void end_span(struct writer *w) {
  if (w->first == 0) return;
  wo_text_add(&w->row, w->first == w->last ? "%s%llu" : "%s%llu-%llu", w->spans > 0 ? "," : "", (unsigned long long)w->first,
              (unsigned long long)w->last);
  w->spans += w->first == w->last ? 1 : 2;
  w->first = 0;
}

static void end_row(struct writer *w) {
  end_span(w);
  if (w->spans > 0)
    wo_text_add(w->out, w->spans == 1 ? "%shost%.*s" : "%shost[%.*s]", w->has_item ? "," : "", (int)w->row.len, w->row.ptr);
  w->has_item = w->has_item || w->spans > 0;
  if (w->row.is_failed) w->out->is_failed = true;
  w->row.len = w->spans = 0;
}

static bool write_one(void *context, struct wo_view host) {
  struct writer *const w = context;
  struct wo_text shown = {0};
  wo_pseudonyms_add_name(w->p, WO_NAME_OF_HOST, host, &shown);
  const struct wo_view text = {shown.ptr, shown.len};
  struct wo_view digits = wo_view_skip(text, sizeof "host" - 1);
  uint64_t number = 0;
  if (!wo_view_starts(text, "host") || wo_number_u64(&digits, NUMBER_MAX, &number) != WO_OK || digits.len > 0) number = 0;
  if (number == 0) {
    end_row(w);
    wo_text_add(w->out, w->has_item ? "," : "");
    wo_text_add_view(w->out, text);
    w->has_item = true;
  } else if (w->first > 0 && number == w->last + 1) {
    w->last = number;
  } else {
    end_span(w);
    w->first = w->last = number;
  }
  if (shown.is_failed) w->out->is_failed = true;
  wo_text_done(&shown);
  return true;
}

void wo_pseudonyms_add_hosts(struct wo_pseudonyms *p, struct wo_view list, struct wo_text *out) {
  struct writer writer = {.p = p, .out = out};
  each_host(list, write_one, &writer);
  end_row(&writer);
  wo_text_done(&writer.row);
}

/* ---- In texts ---- */

static bool is_known(void *context, struct wo_view host) {
  struct wo_view shown;
  const struct wo_pseudonyms **const p = context;
  if (wo__find_name(*p, host, 0, &shown) != host.len) return true;
  *p = NULL; /* found */
  return false;
}

/* Brackets are also indices ("layers[0]"): a list is one of hosts if one of them is known, its numbers have zeros before them, or
 * a dash is before it. */
size_t wo__add_host_list(struct wo_pseudonyms *p, struct wo_view rest, struct wo_text *out) {
  struct wo_view head, list, tail;
  size_t end = 0;
  while (end < rest.len && (wo_is_alnum(rest.ptr[end]) || strchr("-_.", rest.ptr[end]))) end++;
  if (end == 0 || end >= rest.len || rest.ptr[end] != '[' || !wo_is_alpha(rest.ptr[0])) return 0;
  const size_t close = wo_view_find_char(wo_view_sub(rest, 0, LIST_BYTES_MAX), ']', end);
  if (close == WO_NOT_FOUND) return 0;
  end = close + 1;
  while (end < rest.len &&
         (wo_is_alnum(rest.ptr[end]) || (rest.ptr[end] == '-' && end + 1 < rest.len && wo_is_alnum(rest.ptr[end + 1]))))
    end++;
  const struct wo_view item = wo_view_sub(rest, 0, end);
  if (!read_item(item, &head, &list, &tail)) return 0;
  const struct wo_pseudonyms *seen = p;
  each_of_item(item, is_known, (void *)&seen);
  const bool has_range = wo_view_find_char(list, '-', 0) != WO_NOT_FOUND || wo_view_find_char(list, ',', 0) != WO_NOT_FOUND;
  const bool is_list =
      seen == NULL ||
      (has_range && ((list.ptr[0] == '0' && list.len > 1 && wo_is_digit(list.ptr[1])) || head.ptr[head.len - 1] == '-'));
  if (!is_list) return 0;
  wo_pseudonyms_add_hosts(p, item, out);
  return end;
}
