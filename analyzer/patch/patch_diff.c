/* The unified diff of two contents of a file. See patch.h. */
#include "analyzer/patch/patch.h"
#include "analyzer/patch/patch_internal.h"

enum { CONTEXT_LINES = 3 };

/* A walk over both contents; ' ' both, '-' the old, '+' the new line. Edits replace a line or insert one, so that looking one
 * line ahead tells which it is. */
struct walk {
  struct wo_view before, after;
};

static char step(struct walk *walk, struct wo_view *ret_old, struct wo_view *ret_new) {
  struct wo_view before = walk->before, after = walk->after;
  *ret_old = wo__patch_take_line(&before);
  *ret_new = wo__patch_take_line(&after);
  const bool has_both = walk->before.len > 0 && walk->after.len > 0;
  if (has_both && wo_view_equal(*ret_old, *ret_new)) {
    walk->before = before, walk->after = after;
    return ' ';
  }
  struct wo_view next = after;
  const bool is_inserted = walk->before.len == 0 || (after.len > 0 && wo_view_equal(wo__patch_take_line(&next), *ret_old));
  if (!is_inserted) walk->before = before;
  walk->after = after;
  return is_inserted ? '+' : '-'; /* '-' stands for a replaced line: old, then new */
}

static void add_marked(struct wo_text *out, char mark, struct wo_view line) {
  wo_text_add(out, "%c", mark);
  wo_text_add_view(out, line);
  if (!wo_view_ends(line, "\n")) wo_text_add(out, "\n\\ No newline at end of file\n");
}

/* One hunk: where it begins in both, and its lines. New lines wait until the old ones that they stand beside have all come, so
 * that neighbours changed together read as one block: all that goes, then all that comes. */
struct hunk {
  uint64_t old_first, new_first, old_count, new_count;
  struct wo_text text, added;
  size_t quiet; /* equal lines since the last change */
};

/* The new lines that wait, at the end of a block of changes. */
static void end_block(struct hunk *hunk) {
  if (hunk->added.is_failed) hunk->text.is_failed = true;
  wo_text_add_view(&hunk->text, (struct wo_view){hunk->added.ptr, hunk->added.len});
  wo_text_done(&hunk->added);
}

static void close_hunk(struct hunk *hunk, struct wo_text *out) {
  end_block(hunk);
  if (hunk->text.is_failed) out->is_failed = true;
  if (hunk->text.len > 0) {
    wo_text_add(
        out, "@@ -%llu,%llu +%llu,%llu @@\n", (unsigned long long)(hunk->old_count > 0 ? hunk->old_first : hunk->old_first - 1),
        (unsigned long long)hunk->old_count, (unsigned long long)(hunk->new_count > 0 ? hunk->new_first : hunk->new_first - 1),
        (unsigned long long)hunk->new_count);
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

/* A name with bytes that the line of a header cannot hold is quoted as in C; behind one with blanks a tab ends it. Both are what
 * patch(1) and git read. */
static void add_name(struct wo_text *out, const char *mark, const char *side, struct wo_view path) {
  bool is_quoted = false;
  for (size_t i = 0; i < path.len; i++) {
    const unsigned char c = (unsigned char)path.ptr[i];
    is_quoted = is_quoted || c < ' ' || c == 127 || c == '"' || c == '\\';
  }
  wo_text_add(out, "%s %s%s/", mark, is_quoted ? "\"" : "", side);
  for (size_t i = 0; i < path.len; i++) {
    const unsigned char c = (unsigned char)path.ptr[i];
    if (is_quoted && (c == '"' || c == '\\')) {
      wo_text_add(out, "\\%c", c);
    } else if (c < ' ' || c == 127) {
      wo_text_add(out, "\\%03o", c);
    } else {
      wo_text_add_view(out, wo_view_sub(path, i, i + 1));
    }
  }
  const bool has_blank = wo_view_find_char(path, ' ', 0) != WO_NOT_FOUND;
  wo_text_add(out, "%s%s\n", is_quoted ? "\"" : "", has_blank && !is_quoted ? "\t" : "");
}

/* Changes that are nearer than twice the context share a hunk. */
void wo_patch_diff(struct wo_view path, struct wo_view before, struct wo_view after, struct wo_text *out) {
  struct walk walk = {before, after};
  struct hunk hunk = {0};
  struct lead lead = {.count = 0};
  uint64_t old_line = 1, new_line = 1; /* of the next one */
  bool is_open = false;
  if (wo_view_equal(before, after)) return;
  add_name(out, "---", "a", path);
  add_name(out, "+++", "b", path);
  while (walk.before.len > 0 || walk.after.len > 0) {
    struct wo_view old, new;
    const char mark = step(&walk, &old, &new);
    if (mark == ' ') {
      if (is_open) {
        end_block(&hunk);
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
    if (new.len > 0) add_marked(&hunk.added, '+', new), hunk.new_count++, new_line++;
  }
  close_hunk(&hunk, out);
}
