/* SPDX-License-Identifier: Apache-2.0 */
/* Changed lines. See patch.h. patch_plan.c finds the edits, patch_diff.c makes the hunks, patch_write.c writes the files. */
#include "analyzer/patch/patch.h"

#include <assert.h>

#include "analyzer/patch/patch_internal.h"
#include "parsers/base/clean.h"

/* ---- Lines ---- */

struct wo_view wo__patch_take_line(struct wo_view *rest) {
  const size_t end = wo_view_find_char(*rest, '\n', 0);
  const size_t length = end == WO_NOT_FOUND ? rest->len : end + 1;
  const struct wo_view line = wo_view_sub(*rest, 0, length);
  *rest = wo_view_skip(*rest, length);
  return line;
}

/* The bytes between a key and its value: an equals sign, a colon, blanks, quotes of the key and of the value. */
static bool is_between(char c) {
  return c == ' ' || c == '\t' || c == '=' || c == ':' || c == '"' || c == '\'';
}

static bool is_part_of_name(char c) {
  return wo_is_word(c) || c == '-' || c == '.';
}

/* Whether a name starts at `at`: "batch-size" does in "--batch-size", but not in "eval-batch-size". With is_exact a part before a
 * dot counts too: "eval.batch_size" is another setting than "batch_size". */
static bool is_name_start(struct wo_view line, size_t at, bool is_exact) {
  if (at == 0) return true;
  if (wo_is_word(line.ptr[at - 1]) || (is_exact && line.ptr[at - 1] == '.')) return false;
  while (at > 0 && line.ptr[at - 1] == '-') at--;
  return at == 0 || !wo_is_word(line.ptr[at - 1]);
}

/* Finds the key with the value in the line, from *from on: returns the offset of the value, or WO_NOT_FOUND; *from becomes the
 * end of the value and *ret_key the key's offset. The key must be a whole name, and the whole value must follow it. */
static size_t find_value(struct wo_view line, const struct wo_patch_edit *edit, size_t *from, size_t *ret_key) {
  size_t at = *from;
  while (edit->key.len > 0 && edit->value.len > 0 && (at = wo_view_find(line, edit->key, at)) != WO_NOT_FOUND) {
    const size_t gap = at + edit->key.len;
    size_t value = gap;
    while (value < line.len && is_between(line.ptr[value])) value++;
    const struct wo_view rest = wo_view_skip(line, value);
    const bool is_value = rest.len >= edit->value.len && wo_view_equal(wo_view_sub(rest, 0, edit->value.len), edit->value);
    const bool is_ended =
        rest.len == edit->value.len || (rest.len > edit->value.len && !is_part_of_name(rest.ptr[edit->value.len]));
    if (value > gap && is_value && is_ended && is_name_start(line, at, edit->is_command)) {
      *ret_key = at;
      *from = value + edit->value.len;
      return value;
    }
    at++;
  }
  return WO_NOT_FOUND;
}

/* ---- Places ---- */

static bool is_blank(struct wo_view line) {
  return wo_view_trim(line).len == 0;
}

/* The number of the last #SBATCH line before the first command, as sbatch reads them; else 1 for a first line "#!", else 0. */
static uint64_t last_directive(struct wo_view content) {
  uint64_t found = wo_view_starts(content, "#!") ? 1 : 0;
  for (uint64_t number = 1; content.len > 0; number++) {
    const struct wo_view line = wo__patch_take_line(&content);
    if (wo_view_starts(line, "#SBATCH")) found = number;
    if (!is_blank(line) && !wo_view_starts(line, "#")) break;
  }
  return found;
}

/* The line end of a file is that of its first line. */
static const char *line_end_of(struct wo_view content) {
  return wo_view_ends(wo__patch_take_line(&content), "\r\n") ? "\r\n" : "\n";
}

/* Whether the shell goes on reading the command on the next line. */
static bool is_continued(struct wo_view line) {
  return wo_view_ends(wo_view_trim(line), "\\");
}

struct lines {
  uint64_t first, last;
};

/* The lines of one command, joined by backslashes, that include line `number`. A flag may be in it twice, and the last one
 * counts: so all are changed. */
static struct lines command_of(struct wo_view content, uint64_t number) {
  struct lines lines = {1, 0};
  for (uint64_t at = 1; content.len > 0; at++) {
    const bool goes_on = is_continued(wo__patch_take_line(&content));
    lines.last = at;
    if (goes_on) continue;
    if (at >= number) break;
    lines.first = at + 1;
  }
  return lines;
}

/* ---- Changing ---- */

/* A part of a line, and its replacement. */
struct splice {
  size_t at, len;
  struct wo_view to;
};

enum { SPLICES_MAX = 64 };

struct changer {
  const struct wo_patch_edit *edits;
  size_t count;
  struct wo_view path;
  struct wo_view content;
  struct wo_text *out;
  struct wo__patch_hunks hunks;
  struct wo_err *err;
  struct lines lines[WO_PATCH_EDITS_MAX]; /* that each edit may change */
};

static enum wo_status refuse(struct changer *changer, const struct wo_patch_edit *edit, const char *verb, const char *end) {
  return wo_err_set(changer->err, WO_E_RANGE, "line %llu %s %.*s to %.*s %s", (unsigned long long)edit->line, verb,
                    WO_SHOWN(edit->key), WO_SHOWN(edit->value), end);
}

/* Adds the places of one edit in a line that begins at byte `start` of the file: all places for a command; else the one that the
 * diagnosis saw, or the only one. */
static enum wo_status add_splices(struct changer *changer, const struct wo_patch_edit *edit, struct wo_view line, uint64_t start,
                                  struct splice *splices, size_t *count) {
  const size_t before = *count;
  size_t from = 0, key = 0, at = 0;
  bool is_seen = false;
  while (!is_seen && (at = find_value(line, edit, &from, &key)) != WO_NOT_FOUND) {
    if (*count == SPLICES_MAX) return refuse(changer, edit, "sets", "in too many places: change it by hand");
    is_seen = !edit->is_command && edit->byte == start + key;
    if (is_seen) *count = before;
    splices[(*count)++] = (struct splice){at, edit->value.len, edit->to};
  }
  if (edit->is_command || is_seen || *count <= before + 1) return WO_OK;
  return refuse(changer, edit, "sets", "more than once: change it by hand");
}

static void sort_splices(struct splice *splices, size_t count) {
  for (size_t i = 1; i < count; i++) {
    const struct splice moved = splices[i];
    size_t k = i;
    for (; k > 0 && splices[k - 1].at > moved.at; k--) splices[k] = splices[k - 1];
    splices[k] = moved;
  }
}

/* The line with its parts replaced; of two changes of one part the first counts. */
static void put_line(struct wo_view line, struct splice *splices, size_t count, struct wo_text *out) {
  size_t done = 0;
  sort_splices(splices, count);
  for (size_t i = 0; i < count; i++) {
    if (splices[i].at < done) continue;
    wo_text_add_view(out, wo_view_sub(line, done, splices[i].at));
    wo_text_add_view(out, splices[i].to);
    done = splices[i].at + splices[i].len;
  }
  wo_text_add_view(out, wo_view_skip(line, done));
}

/* Whether the diagnosis saw the line as it is: terminal sequences and control characters are removed before a line is read. */
static bool is_plain(struct wo_view line) {
  char buf[16];
  while (line.len > 0 && (line.ptr[line.len - 1] == '\n' || line.ptr[line.len - 1] == '\r')) line.len--;
  return wo_clean_line(line, buf, sizeof buf).ptr == line.ptr;
}

/* Passes the output since `start` to the hunks, as the new form of a line of the file. */
static void add_to_hunks(struct changer *changer, struct wo_view old, size_t start) {
  const struct wo_view now = {changer->out->ptr, changer->out->len};
  wo__patch_hunks_line(&changer->hunks, old, wo_view_skip(now, start));
}

static bool has_new_lines(const struct changer *changer) {
  for (size_t i = 0; i < changer->count; i++) {
    if (changer->edits[i].line == 0 && wo_view_equal(changer->edits[i].path, changer->path)) return true;
  }
  return false;
}

/* One line with all its edits. If new lines follow it, it gets the line end that the last line of a file may lack. */
static enum wo_status change_line(struct changer *changer, struct wo_view line, uint64_t number, bool is_followed) {
  struct splice splices[SPLICES_MAX];
  size_t count = 0;
  const size_t written = changer->out->len;
  const uint64_t start = (uint64_t)(line.ptr - changer->content.ptr);
  for (size_t i = 0; i < changer->count; i++) {
    const struct wo_patch_edit *const edit = &changer->edits[i];
    const size_t before = count;
    if (edit->line == 0 || !wo_view_equal(edit->path, changer->path)) continue;
    if (number < changer->lines[i].first || number > changer->lines[i].last) continue;
    const enum wo_status status = add_splices(changer, edit, line, start, splices, &count);
    if (status != WO_OK) return status;
    if (number == edit->line && count == before)
      return refuse(changer, edit, "does not set", "any more: was the file changed since the job ran?");
    if (count > before && !is_plain(line)) return refuse(changer, edit, "sets", "among control characters: change it by hand");
  }
  put_line(line, splices, count, changer->out);
  if (is_followed && !wo_view_ends(line, "\n")) wo_text_add(changer->out, "%s", line_end_of(changer->content));
  add_to_hunks(changer, line, written);
  return WO_OK;
}

static void insert_lines(struct changer *changer) {
  for (size_t i = 0; i < changer->count; i++) {
    const size_t written = changer->out->len;
    if (changer->edits[i].line != 0 || !wo_view_equal(changer->edits[i].path, changer->path)) continue;
    wo_text_add(changer->out, "%.*s%s", WO_SHOWN(changer->edits[i].to), line_end_of(changer->content));
    add_to_hunks(changer, (struct wo_view){0}, written);
  }
}

/* Only sh and its relatives know `export`; csh, fish and Python do not. A file without "#!" is one that sbatch refuses, or a part
 * that a shell reads. */
static bool is_posix_shell(struct wo_view content) {
  static const char *const shells[] = {"sh", "bash", "dash", "ksh", "zsh", "ash", "mksh"};
  struct wo_view first = wo_view_trim(wo__patch_take_line(&content));
  if (!wo_view_starts(first, "#!")) return true;
  for (first = wo_view_skip(first, 2); first.len > 0;) {
    struct wo_view word = wo_view_cut(&first, ' ');
    for (size_t slash; (slash = wo_view_find_char(word, '/', 0)) != WO_NOT_FOUND;) word = wo_view_skip(word, slash + 1);
    if (WO_VIEW_ANY(word, wo_view_is, shells)) return true;
  }
  return false;
}

static uint64_t count_lines(struct wo_view content) {
  uint64_t count = 0;
  for (; content.len > 0; count++) wo__patch_take_line(&content);
  return count;
}

/* Sets the lines that each edit may change. WO_E_LIMIT, WO_E_RANGE, WO_E_KIND. */
static enum wo_status find_places(struct changer *changer) {
  const uint64_t line_count = count_lines(changer->content);
  if (changer->count > WO_PATCH_EDITS_MAX)
    return wo_err_set(changer->err, WO_E_LIMIT, "more than %d changes", WO_PATCH_EDITS_MAX);
  for (size_t i = 0; i < changer->count; i++) {
    const struct wo_patch_edit *const edit = &changer->edits[i];
    if (!wo_view_equal(edit->path, changer->path)) continue;
    changer->lines[i] = edit->is_command ? command_of(changer->content, edit->line) : (struct lines){edit->line, edit->line};
    if (edit->line > line_count)
      return wo_err_set(changer->err, WO_E_RANGE, "there is no line %llu any more: was the file changed since the job ran?",
                        (unsigned long long)edit->line);
    if (edit->line == 0 && !is_posix_shell(changer->content))
      return wo_err_set(changer->err, WO_E_KIND, "is no script of a POSIX shell, so that `%.*s` cannot be added",
                        WO_SHOWN(edit->to));
  }
  return WO_OK;
}

void wo_patched_done(struct wo_patched *patched) {
  wo_text_done(&patched->after);
  wo_text_done(&patched->hunks);
}

enum wo_status wo_patch_apply(struct wo_view content, const struct wo_patch_edit *edits, size_t count, struct wo_view path,
                              struct wo_patched *ret_patched, struct wo_err *err) {
  const uint64_t directive = last_directive(content);
  struct wo_patched made = {0};
  struct wo_view rest = content;
  struct changer changer = {.edits = edits, .count = count, .path = path, .content = content, .out = &made.after, .err = err};
  changer.hunks.out = &made.hunks;
  enum wo_status status = find_places(&changer);
  if (status == WO_OK && directive == 0) insert_lines(&changer);
  for (uint64_t number = 1; rest.len > 0 && status == WO_OK; number++) {
    const bool is_followed = number == directive && has_new_lines(&changer);
    status = change_line(&changer, wo__patch_take_line(&rest), number, is_followed);
    if (number == directive) insert_lines(&changer);
  }
  wo__patch_hunks_end(&changer.hunks);
  if (status == WO_OK && (made.after.is_failed || made.hunks.is_failed))
    status = wo_err_set(err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
  if (status != WO_OK) {
    wo_patched_done(&made);
    return status;
  }
  *ret_patched = made;
  return WO_OK;
}

uint64_t wo_patch_find_left(struct wo_view content, const struct wo_patch_edit *edit, uint64_t from) {
  for (uint64_t number = 1; content.len > 0; number++) {
    const struct wo_view line = wo__patch_take_line(&content);
    size_t at = 0, key = 0;
    if (number < from || wo_view_starts(wo_view_trim_start(line), "#")) continue;
    if (find_value(line, edit, &at, &key) != WO_NOT_FOUND) return number;
  }
  return 0;
}
