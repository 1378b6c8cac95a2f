/* Changed lines and the diff of them. See patch.h. What is to be changed is found in patch_plan.c, files are written in
 * patch_write.c. */
#include "analyzer/patch.h"

#include <assert.h>

enum { CONTEXT_LINES = 3 };

/* ---- Lines ---- */

/* The next line with its line end. */
static struct wo_view take_line(struct wo_view *rest) {
  const size_t end = wo_view_find_char(*rest, '\n', 0);
  const size_t length = end == WO_NOT_FOUND ? rest->len : end + 1;
  const struct wo_view line = wo_view_sub(*rest, 0, length);
  *rest = wo_view_skip(*rest, length);
  return line;
}

/* What stands behind a key until its value: an equals sign, a colon, blanks, quotes of the key and of the value. */
static bool is_between(char c) {
  return c == ' ' || c == '\t' || c == '=' || c == ':' || c == '"' || c == '\'';
}

static bool is_part_of_name(char c) {
  return wo_is_word(c) || c == '-' || c == '.';
}

/* Offset of the value in the line, or WO_NOT_FOUND. The key must be a whole name, and the value must follow it and end there. */
static size_t find_value(struct wo_view line, const struct wo_patch_edit *edit) {
  size_t at = 0;
  while ((at = wo_view_find(line, edit->key, at)) != WO_NOT_FOUND) {
    size_t value = at + edit->key.len;
    const bool is_whole = at == 0 || !wo_is_word(line.ptr[at - 1]);
    const size_t gap = value;
    while (value < line.len && is_between(line.ptr[value])) value++;
    const struct wo_view rest = wo_view_skip(line, value);
    const bool is_value = rest.len >= edit->value.len && wo_view_equal(wo_view_sub(rest, 0, edit->value.len), edit->value);
    const bool is_ended =
        rest.len == edit->value.len || (rest.len > edit->value.len && !is_part_of_name(rest.ptr[edit->value.len]));
    if (is_whole && value > gap && is_value && is_ended && edit->value.len > 0) return value;
    at++;
  }
  return WO_NOT_FOUND;
}

/* ---- Changing ---- */

static bool is_sbatch(struct wo_view line) {
  return wo_view_starts(line, "#SBATCH");
}

/* The number of the last #SBATCH line; else of a first line "#!"; else 0. */
static uint64_t last_directive(struct wo_view content) {
  uint64_t found = wo_view_starts(content, "#!") ? 1 : 0;
  for (uint64_t number = 1; content.len > 0; number++) {
    if (is_sbatch(take_line(&content))) found = number;
  }
  return found;
}

/* The line end of a file: that of its first line. */
static const char *line_end_of(struct wo_view content) {
  return wo_view_ends(take_line(&content), "\r\n") ? "\r\n" : "\n";
}

/* One line with all edits of it put in. */
static enum wo_status change_line(struct wo_view line, uint64_t number, const struct wo_patch_edit *edits, size_t count,
                                  struct wo_view path, struct wo_text *out, struct wo_err *err) {
  struct wo_text changed = {0};
  wo_text_add_view(&changed, line);
  for (size_t i = 0; i < count; i++) {
    if (edits[i].line != number || !wo_view_equal(edits[i].path, path)) continue;
    const struct wo_view now = {changed.ptr, changed.len};
    const size_t at = find_value(now, &edits[i]);
    if (at == WO_NOT_FOUND) {
      wo_text_done(&changed);
      return wo_err_set(err, WO_E_RANGE, "line %llu does not set %.*s to %.*s any more: was the file changed since the job ran?",
                        (unsigned long long)number, (int)edits[i].key.len, edits[i].key.ptr, (int)edits[i].value.len,
                        edits[i].value.ptr);
    }
    struct wo_text next = {0};
    wo_text_add_view(&next, wo_view_sub(now, 0, at));
    wo_text_add_view(&next, edits[i].to);
    wo_text_add_view(&next, wo_view_skip(now, at + edits[i].value.len));
    if (changed.is_failed) next.is_failed = true;
    wo_text_done(&changed);
    changed = next;
  }
  if (changed.is_failed) out->is_failed = true;
  wo_text_add_view(out, (struct wo_view){changed.ptr, changed.len});
  wo_text_done(&changed);
  return WO_OK;
}

static void insert_lines(struct wo_view content, const struct wo_patch_edit *edits, size_t count, struct wo_view path,
                         struct wo_text *out) {
  for (size_t i = 0; i < count; i++) {
    if (edits[i].line != 0 || !wo_view_equal(edits[i].path, path)) continue;
    if (out->len > 0 && out->ptr[out->len - 1] != '\n') wo_text_add(out, "%s", line_end_of(content));
    wo_text_add_view(out, edits[i].to);
    wo_text_add(out, "%s", line_end_of(content));
  }
}

enum wo_status wo_patch_apply(struct wo_view content, const struct wo_patch_edit *edits, size_t count, struct wo_view path,
                              struct wo_text *ret_text, struct wo_err *err) {
  const uint64_t directive = last_directive(content);
  struct wo_text out = {0};
  struct wo_view rest = content;
  uint64_t number = 0;
  enum wo_status status = WO_OK;
  if (directive == 0) insert_lines(content, edits, count, path, &out);
  while (rest.len > 0 && status == WO_OK) {
    status = change_line(take_line(&rest), ++number, edits, count, path, &out, err);
    if (number == directive) insert_lines(content, edits, count, path, &out);
  }
  for (size_t i = 0; i < count && status == WO_OK; i++) {
    if (edits[i].line > number && wo_view_equal(edits[i].path, path))
      status = wo_err_set(err, WO_E_RANGE, "there is no line %llu any more: was the file changed since the job ran?",
                          (unsigned long long)edits[i].line);
  }
  if (status == WO_OK && out.is_failed) status = wo_err_set(err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
  if (status != WO_OK) {
    wo_text_done(&out);
    return status;
  }
  *ret_text = out;
  return WO_OK;
}

/* ---- The diff ---- */

/* A walk over both contents; ' ' both, '-' the old, '+' the new line. Edits replace a line or insert one, so that looking one
 * line ahead tells which it is. */
struct walk {
  struct wo_view before, after;
};

static char step(struct walk *walk, struct wo_view *ret_old, struct wo_view *ret_new) {
  struct wo_view before = walk->before, after = walk->after;
  *ret_old = take_line(&before);
  *ret_new = take_line(&after);
  const bool has_both = walk->before.len > 0 && walk->after.len > 0;
  if (has_both && wo_view_equal(*ret_old, *ret_new)) {
    walk->before = before, walk->after = after;
    return ' ';
  }
  struct wo_view next = after;
  const bool is_inserted = walk->before.len == 0 || (after.len > 0 && wo_view_equal(take_line(&next), *ret_old));
  if (!is_inserted) walk->before = before;
  walk->after = after;
  return is_inserted ? '+' : '-'; /* '-' stands for a replaced line: old, then new */
}

static void add_marked(struct wo_text *out, char mark, struct wo_view line) {
  wo_text_add(out, "%c", mark);
  wo_text_add_view(out, line);
  if (!wo_view_ends(line, "\n")) wo_text_add(out, "\n\\ No newline at end of file\n");
}

/* One hunk: where it begins in both, and its lines. */
struct hunk {
  uint64_t old_first, new_first, old_count, new_count;
  struct wo_text text;
  size_t quiet; /* equal lines since the last change */
};

static void close_hunk(struct hunk *hunk, struct wo_text *out) {
  if (hunk->text.is_failed) out->is_failed = true;
  if (hunk->text.len > 0) {
    wo_text_add(out, "@@ -%llu,%llu +%llu,%llu @@\n",
                (unsigned long long)(hunk->old_count > 0 ? hunk->old_first : hunk->old_first - 1),
                (unsigned long long)hunk->old_count, (unsigned long long)hunk->new_first, (unsigned long long)hunk->new_count);
    wo_text_add_view(out, (struct wo_view){hunk->text.ptr, hunk->text.len});
  }
  wo_text_done(&hunk->text);
  *hunk = (struct hunk){0};
}

/* The lines before a change, kept until one comes. */
struct lead {
  struct wo_view lines[CONTEXT_LINES];
  size_t count;
};

static void push_lead(struct lead *lead, struct wo_view line) {
  if (lead->count == CONTEXT_LINES) {
    for (size_t i = 1; i < CONTEXT_LINES; i++) lead->lines[i - 1] = lead->lines[i];
    lead->count--;
  }
  lead->lines[lead->count++] = line;
}

static void open_hunk(struct hunk *hunk, struct lead *lead, uint64_t old_line, uint64_t new_line) {
  hunk->old_first = old_line - lead->count;
  hunk->new_first = new_line - lead->count;
  for (size_t i = 0; i < lead->count; i++) add_marked(&hunk->text, ' ', lead->lines[i]);
  hunk->old_count = hunk->new_count = lead->count;
  lead->count = 0;
}

/* Changes that are nearer than twice the context share a hunk. */
void wo_patch_diff(struct wo_view path, struct wo_view before, struct wo_view after, struct wo_text *out) {
  struct walk walk = {before, after};
  struct hunk hunk = {0};
  struct lead lead = {.count = 0};
  uint64_t old_line = 1, new_line = 1; /* of the next one */
  bool is_open = false;
  if (wo_view_equal(before, after)) return;
  wo_text_add(out, "--- %.*s\n+++ %.*s\n", (int)path.len, path.ptr, (int)path.len, path.ptr);
  while (walk.before.len > 0 || walk.after.len > 0) {
    struct wo_view old, new;
    const char mark = step(&walk, &old, &new);
    if (mark == ' ') {
      if (is_open) {
        add_marked(&hunk.text, ' ', old);
        hunk.old_count++, hunk.new_count++, hunk.quiet++;
        if (hunk.quiet == CONTEXT_LINES) close_hunk(&hunk, out), is_open = false, lead.count = 0;
      } else {
        push_lead(&lead, old);
      }
      old_line++, new_line++;
      continue;
    }
    if (!is_open) open_hunk(&hunk, &lead, old_line, new_line), is_open = true;
    hunk.quiet = 0;
    if (mark == '-') add_marked(&hunk.text, '-', old), hunk.old_count++, old_line++;
    if (new.len > 0) add_marked(&hunk.text, '+', new), hunk.new_count++, new_line++;
  }
  close_hunk(&hunk, out);
}
