/* SPDX-License-Identifier: Apache-2.0 */
/* The unified diff of a file, from the lines that edits changed. See patch.h and patch_internal.h. */
#include "analyzer/patch/patch.h"
#include "analyzer/patch/patch_internal.h"
#include "parsers/base/clean.h"

enum { CONTEXT_LINES = 3 };

static void add_marked(struct wo_text *out, char mark, struct wo_view line) {
  wo_text_add(out, "%c", mark);
  wo_text_add_view(out, line);
  if (!wo_view_ends(line, "\n")) wo_text_add(out, "\n\\ No newline at end of file\n");
}

/* New lines wait for all old lines of a block of changed neighbours, so that a block is written as removed lines, then added
 * lines. */
static void end_block(struct wo__patch_hunks *hunks) {
  if (hunks->added.is_failed) hunks->text.is_failed = true;
  wo_text_add_view(&hunks->text, (struct wo_view){hunks->added.ptr, hunks->added.len});
  wo_text_done(&hunks->added);
}

static void open_hunk(struct wo__patch_hunks *hunks) {
  hunks->is_open = true;
  hunks->old_count = hunks->new_count = hunks->lead_count;
  hunks->old_first = hunks->old_line - hunks->lead_count + 1;
  hunks->new_first = hunks->new_line - hunks->lead_count + 1;
  for (size_t i = 0; i < hunks->lead_count; i++) add_marked(&hunks->text, ' ', hunks->lead[i]);
  hunks->lead_count = 0;
}

/* By convention a side without lines begins at the line before it. */
void wo__patch_hunks_end(struct wo__patch_hunks *hunks) {
  end_block(hunks);
  if (hunks->text.is_failed) hunks->out->is_failed = true;
  if (hunks->is_open) {
    wo_text_add(hunks->out, "@@ -%llu,%llu +%llu,%llu @@\n", (unsigned long long)(hunks->old_first - (hunks->old_count == 0)),
                (unsigned long long)hunks->old_count, (unsigned long long)(hunks->new_first - (hunks->new_count == 0)),
                (unsigned long long)hunks->new_count);
    wo_text_add_view(hunks->out, (struct wo_view){hunks->text.ptr, hunks->text.len});
  }
  wo_text_done(&hunks->text);
  hunks->is_open = false;
}

static void push_lead(struct wo__patch_hunks *hunks, struct wo_view line) {
  if (hunks->lead_count == CONTEXT_LINES) {
    for (size_t i = 1; i < CONTEXT_LINES; i++) hunks->lead[i - 1] = hunks->lead[i];
    hunks->lead_count--;
  }
  hunks->lead[hunks->lead_count++] = line;
}

/* Changes with fewer than CONTEXT_LINES equal lines between them share a hunk. */
static void take_equal(struct wo__patch_hunks *hunks, struct wo_view line) {
  if (!hunks->is_open) {
    push_lead(hunks, line);
  } else {
    end_block(hunks);
    add_marked(&hunks->text, ' ', line);
    hunks->old_count++, hunks->new_count++;
    if (++hunks->quiet == CONTEXT_LINES) wo__patch_hunks_end(hunks);
  }
  hunks->old_line++, hunks->new_line++;
}

void wo__patch_hunks_line(struct wo__patch_hunks *hunks, struct wo_view old, struct wo_view now) {
  if (wo_view_equal(old, now)) {
    take_equal(hunks, old);
    return;
  }
  if (!hunks->is_open) open_hunk(hunks);
  hunks->quiet = 0;
  if (old.len > 0) add_marked(&hunks->text, '-', old), hunks->old_count++, hunks->old_line++;
  if (now.len > 0) add_marked(&hunks->added, '+', now), hunks->new_count++, hunks->new_line++;
}

/* Whether a byte of a name is written in octal: control characters, and what cannot be shown as it is (*ret_len bytes). */
static bool is_octal(struct wo_view rest, size_t *ret_len) {
  return wo_clean_character(rest, ret_len).ptr != rest.ptr;
}

/* A name with bytes that a header line cannot hold or show is quoted as in C; a tab ends a name with blanks. patch(1) and
 * git read both. */
static void add_name(struct wo_text *out, const char *mark, const char *side, struct wo_view path) {
  bool is_quoted = false;
  size_t len = 0;
  for (size_t i = 0; i < path.len; i += len) {
    const char c = path.ptr[i];
    is_quoted = is_octal(wo_view_skip(path, i), &len) || is_quoted || c == '"' || c == '\\';
  }
  wo_text_add(out, "%s %s%s/", mark, is_quoted ? "\"" : "", side);
  for (size_t i = 0; i < path.len; i += len) {
    const bool is_hidden = is_octal(wo_view_skip(path, i), &len);
    for (size_t k = i; k < i + len && is_hidden; k++) wo_text_add(out, "\\%03o", (unsigned)(unsigned char)path.ptr[k]);
    if (is_hidden) continue;
    if (is_quoted && (path.ptr[i] == '"' || path.ptr[i] == '\\')) wo_text_repeat(out, '\\', 1);
    wo_text_add_view(out, wo_view_sub(path, i, i + len));
  }
  const bool has_blank = wo_view_find_char(path, ' ', 0) != WO_NOT_FOUND;
  wo_text_add(out, "%s%s\n", is_quoted ? "\"" : "", has_blank && !is_quoted ? "\t" : "");
}

void wo_patch_header(struct wo_view path, struct wo_text *out) {
  add_name(out, "---", "a", path);
  add_name(out, "+++", "b", path);
}
