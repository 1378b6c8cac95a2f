/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parsers/base/units.h"
#include "parsers/base/vec.h"
#include "parsers/formats/formats.h"
#include "parsers/scan/scan.h"
#include "tests/support/files.h"

enum { MOST_CASES = 2000, EVENT_LINE_BYTES = 8192, NO_LIMIT = 0 };

/* ---- Reading ---- */

static struct wo_view next_line(struct wo_view *rest) {
  struct wo_view line = wo_view_cut(rest, '\n');
  if (wo_view_ends(line, "\r")) line.len--;
  return line;
}

static bool is_blank_or_comment(struct wo_view line) {
  return wo_view_trim(line).len == 0 || line.ptr[0] == '#';
}

/* Appends a line of the log at `out`, with {{HH}} decoded; returns the end. */
static char *decode_line(struct wo_view line, char *out) {
  while (line.len > 0) {
    struct wo_view hex = wo_view_sub(line, 2, 4);
    uint64_t byte = 0;
    if (wo_view_starts(line, "{{") && wo_view_starts(wo_view_skip(line, 4), "}}") && wo_number_hex(&hex, 255, &byte) == WO_OK) {
      *out++ = (char)byte;
      line = wo_view_skip(line, 6);
      continue;
    }
    *out++ = line.ptr[0];
    line = wo_view_skip(line, 1);
  }
  *out++ = '\n';
  return out;
}

/* Reads the case whose title has just been read. False when its `---` is missing. */
static bool read_case(struct wo_view *rest, uint64_t *line_number, char **decoded, struct wo_table_case *item) {
  item->log.ptr = *decoded;
  for (;;) {
    if (rest->len == 0) return false;
    const struct wo_view line = next_line(rest);
    ++*line_number;
    if (wo_view_is(line, "---")) break;
    *decoded = decode_line(line, *decoded);
  }
  item->log.len = (size_t)(*decoded - item->log.ptr);
  item->expect.ptr = rest->ptr;
  const char *end = rest->ptr;
  while (rest->len > 0) {
    const struct wo_view line = next_line(rest);
    ++*line_number;
    if (wo_view_trim(line).len == 0) break;
    end = line.ptr + line.len;
  }
  item->expect.len = (size_t)(end - item->expect.ptr);
  return item->expect.len > 0;
}

bool wo_table_read(const char *path, struct wo_table *ret_table, char *complaint, size_t cap) {
  struct wo_table table = {0};
  size_t len = 0;
  table.text = wo_files_read(path, &len);
  table.decoded = table.text != NULL ? malloc(len + 2) : NULL;
  if (table.decoded == NULL) {
    snprintf(complaint, cap, "%s: cannot be read", path);
    wo_table_done(&table);
    return false;
  }
  struct wo_view rest = {table.text, len};
  char *decoded = table.decoded;
  uint64_t line_number = 0;
  while (rest.len > 0) {
    const struct wo_view title = next_line(&rest);
    line_number++;
    if (is_blank_or_comment(title)) continue;
    struct wo_table_case item = {.title = title, .line = line_number};
    if (!WO_VEC_RESERVE(&table, 1, MOST_CASES) || !read_case(&rest, &line_number, &decoded, &item)) {
      snprintf(complaint, cap, "%s:%llu: this case has no '---' or expects nothing", path, (unsigned long long)item.line);
      wo_table_done(&table);
      return false;
    }
    table.items[table.count++] = item;
  }
  *ret_table = table;
  return true;
}

void wo_table_done(struct wo_table *table) {
  free(table->text);
  free(table->decoded);
  table->text = table->decoded = NULL;
  WO_VEC_DONE(table);
}

/* ---- Running ---- */

/* Appends formatted text to a NUL-terminated buffer. */
__attribute__((format(printf, 3, 4))) static void append(char *buf, size_t cap, const char *format, ...) {
  const size_t used = strlen(buf);
  va_list args;
  va_start(args, format);
  vsnprintf(buf + used, cap - used, format, args);
  va_end(args);
}

/* Scans the log in chunks of the given size (NO_LIMIT: in one). */
static bool scan_log(struct wo_view log, struct wo_pattern_set *set, size_t chunk, bool no_prefilter,
                     struct wo_event_store *store) {
  struct wo_scan *scan = NULL;
  struct wo_scan_summary summary;
  wo_event_store_init(store);
  const struct wo_scan_options options = {.no_prefilter = no_prefilter, .rank = WO_RANK_UNKNOWN};
  if (wo_scan_new(set, &wo_formats, store, options, &scan) != WO_OK) return false;
  bool is_fine = true;
  while (is_fine && log.len > 0) {
    const size_t len = chunk == NO_LIMIT || chunk > log.len ? log.len : chunk;
    is_fine = wo_scan_feed(scan, log.ptr, len) == WO_OK;
    log = wo_view_skip(log, len);
  }
  is_fine = wo_scan_end(scan, &summary) == WO_OK && is_fine;
  wo_scan_free(scan);
  return is_fine;
}

/* A copy of the log with CR LF line ends, or an empty view. */
static struct wo_view with_crlf(struct wo_view log) {
  char *copy = malloc(2 * log.len + 1);
  size_t len = 0;
  for (size_t i = 0; copy != NULL && i < log.len; i++) {
    if (log.ptr[i] == '\n') copy[len++] = '\r';
    copy[len++] = log.ptr[i];
  }
  return (struct wo_view){copy, len};
}

/* Times decide which rank was first, so they must not depend on how the input came in. */
static bool is_same_stamp(const struct wo_event *a, const struct wo_event *b) {
  return a->time_ns == b->time_ns && a->stamp.clock == b->stamp.clock && a->stamp.time_ns == b->stamp.time_ns &&
         a->stamp.is_inherited == b->stamp.is_inherited;
}

/* Whether both stores hold the same evidence; places are compared unless the bytes were not the same. */
static bool is_same_evidence(const struct wo_event_store *a, const struct wo_event_store *b, bool has_same_bytes, char *complaint,
                             size_t cap) {
  static char text_a[EVENT_LINE_BYTES], text_b[EVENT_LINE_BYTES];
  for (size_t i = 0; i < a->count || i < b->count; i++) {
    text_a[0] = text_b[0] = '\0';
    if (i < a->count) wo_event_to_text(&a->items[i], text_a, sizeof text_a);
    if (i < b->count) wo_event_to_text(&b->items[i], text_b, sizeof text_b);
    bool is_same = i < a->count && i < b->count && strcmp(text_a, text_b) == 0 && a->items[i].of == b->items[i].of &&
                   a->items[i].is_quoted == b->items[i].is_quoted && is_same_stamp(&a->items[i], &b->items[i]) &&
                   wo_view_equal(a->items[i].text, b->items[i].text);
    if (is_same && has_same_bytes)
      is_same = a->items[i].span.byte == b->items[i].span.byte && a->items[i].span.length == b->items[i].span.length;
    if (is_same) continue;
    append(complaint, cap, "event %zu differs:\n    %s\n    %s\n", i + 1, text_a, text_b);
    if (i < a->count && i < b->count) {
      const struct wo_event *in_a = &a->items[i], *in_b = &b->items[i];
      append(complaint, cap, "    belongs to %d, %d; at byte %llu, %llu; its text is\n    %.*s\n    %.*s\n", (int)in_a->of,
             (int)in_b->of, (unsigned long long)in_a->span.byte, (unsigned long long)in_b->span.byte, (int)in_a->text.len,
             in_a->text.ptr, (int)in_b->text.len, in_b->text.ptr);
    }
    return false;
  }
  return true;
}

/* ---- Expectations ---- */

static bool is_failure(enum wo_class class) {
  return class != WO_CLASS_NONE && class != WO_CLASS_CONTEXT;
}

/* Classes whose events must all be expected. */
static bool is_strict(enum wo_class class) {
  return class == WO_CLASS_GPU_MEMORY || class == WO_CLASS_HOST_MEMORY || class == WO_CLASS_ENDING;
}

static bool is_number(double found, struct wo_view wanted) {
  struct wo_interval value;
  struct wo_view rest = wanted;
  if (wo_number_decimal(&rest, &value, NULL) == WO_OK && rest.len == 0) return fabs(found - value.mid) <= 1e-9 * fabs(value.mid);
  rest = wanted;
  if (wo_units_bytes(&rest, 0, &value) != WO_OK || rest.len != 0) return false;
  return llround(found) == llround(value.mid);
}

/* Whether the event has the field; `line`, `rank` and `host` are the event's own, then fields of that name. */
static bool has_field(const struct wo_event *event, struct wo_view name, struct wo_view wanted) {
  if (wo_view_is(name, "line")) return is_number((double)event->span.line, wanted);
  if (wo_view_is(name, "rank") && event->rank != WO_RANK_UNKNOWN) return is_number(event->rank, wanted);
  if (wo_view_is(name, "host") && event->host.len > 0) return wo_view_equal(event->host, wanted);
  const enum wo_field_id id = wo_field_find(name);
  const struct wo_field *field = id != WO_FIELD_COUNT_ ? wo_event_field(event, id) : NULL;
  if (field == NULL || wo_view_is(wanted, "-")) return field == NULL && wo_view_is(wanted, "-");
  if (wo_field_type_of(id) == WO_FIELD_TYPE_TEXT) return wo_view_equal(field->text, wanted);
  return is_number(field->number.mid, wanted);
}

/* Cuts `name=value` or `name="value"` off the front of *rest. */
static bool next_pair(struct wo_view *rest, struct wo_view *ret_name, struct wo_view *ret_value) {
  *rest = wo_view_trim_start(*rest);
  if (rest->len == 0) return false;
  *ret_name = wo_view_cut(rest, '=');
  if (wo_view_starts(*rest, "\"")) {
    *rest = wo_view_skip(*rest, 1);
    *ret_value = wo_view_cut(rest, '"');
  } else {
    *ret_value = wo_view_cut(rest, ' ');
  }
  return true;
}

static bool is_expected_event(const struct wo_event *event, struct wo_view expectation) {
  struct wo_view rest = expectation, name, value;
  if (!wo_view_is(wo_view_cut(&rest, ' '), wo_kind_name(event->kind))) return false;
  while (next_pair(&rest, &name, &value))
    if (!has_field(event, name, value)) return false;
  return true;
}

/* `(nothing)` and `!kind`. */
static bool holds_negative(struct wo_view line, const struct wo_event_store *store) {
  const bool is_nothing = wo_view_is(line, "(nothing)");
  for (size_t i = 0; i < store->count; i++) {
    const struct wo_event *event = &store->items[i];
    if (is_nothing && is_failure(wo_kind_class(event->kind)) && !event->is_quoted) return false;
    if (!is_nothing && wo_view_is(wo_view_skip(line, 1), wo_kind_name(event->kind))) return false;
  }
  return true;
}

/* Finds the expectations in the store, in order; NULL or the first line that does not hold goes to *ret_missing. */
static bool holds_expectation(struct wo_view expect, const struct wo_event_store *store, struct wo_view *ret_missing) {
  size_t at = 0, strict = 0, expected_strict = 0;
  while (expect.len > 0) {
    const struct wo_view line = wo_view_trim(next_line(&expect));
    *ret_missing = line;
    if (is_blank_or_comment(line)) continue;
    if (line.ptr[0] == '!' || wo_view_is(line, "(nothing)")) {
      if (!holds_negative(line, store)) return false;
      continue;
    }
    while (at < store->count && !is_expected_event(&store->items[at], line)) at++;
    if (at == store->count) return false;
    expected_strict += is_strict(wo_kind_class(store->items[at++].kind));
  }
  for (size_t i = 0; i < store->count; i++)
    strict += is_strict(wo_kind_class(store->items[i].kind)) && !store->items[i].is_quoted;
  *ret_missing = WO_VIEW("no further failure of memory, no further ending");
  return strict <= expected_strict;
}

static void list_events(const struct wo_event_store *store, char *complaint, size_t cap) {
  static char text[EVENT_LINE_BYTES];
  append(complaint, cap, "  found:\n");
  for (size_t i = 0; i < store->count; i++)
    append(complaint, cap, "    %s\n", wo_event_to_text(&store->items[i], text, sizeof text));
  if (store->count == 0) append(complaint, cap, "    (no event)\n");
}

/* The three further readings of the log, compared with the first. */
static bool is_stable(const struct wo_table_case *item, struct wo_pattern_set *set, const struct wo_event_store *whole,
                      char *complaint, size_t cap) {
  const struct wo_view crlf = with_crlf(item->log);
  const struct {
    const char *name;
    struct wo_view log;
    size_t chunk;
    bool no_prefilter;
  } ways[] = {{"byte by byte", item->log, 1, false},
              {"with CRLF", crlf, NO_LIMIT, false},
              {"without the prefilter", item->log, NO_LIMIT, true}};
  bool is_fine = true;
  for (size_t i = 0; is_fine && i < sizeof ways / sizeof ways[0]; i++) {
    struct wo_event_store store;
    append(complaint, cap, "%s: ", ways[i].name);
    is_fine = scan_log(ways[i].log, set, ways[i].chunk, ways[i].no_prefilter, &store) &&
              is_same_evidence(whole, &store, ways[i].log.ptr == item->log.ptr, complaint, cap);
    wo_event_store_done(&store);
    if (is_fine) complaint[0] = '\0';
  }
  free((void *)(uintptr_t)crlf.ptr);
  return is_fine;
}

bool wo_table_run(const struct wo_table_case *item, struct wo_pattern_set *set, char *complaint, size_t cap) {
  struct wo_event_store whole;
  struct wo_view missing = {0};
  complaint[0] = '\0';
  bool is_fine = scan_log(item->log, set, NO_LIMIT, false, &whole);
  if (!is_fine) append(complaint, cap, "the scan failed\n");
  if (is_fine && !holds_expectation(item->expect, &whole, &missing)) {
    append(complaint, cap, "  wanted: %.*s\n", (int)missing.len, missing.ptr);
    list_events(&whole, complaint, cap);
    is_fine = false;
  }
  is_fine = is_fine && is_stable(item, set, &whole, complaint, cap);
  wo_event_store_done(&whole);
  return is_fine;
}
