/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of Python tracebacks in all forms. */
#include "parsers/formats/frameworks/traceback_frame.h"

#include "parsers/base/number.h"

enum { LINE_MAX_NUMBER = 100000000 };

/* Reads digits at the front of *in. */
static bool read_line(struct wo_view *in, uint64_t *ret_line) {
  return wo_number_u64(in, LINE_MAX_NUMBER, ret_line) == WO_OK;
}

/* The quotes around a path: as Python prints them, escaped in a string, and as forums show them. */
static const struct quotes {
  const char *open, *close;
} all_quotes[] = {{"File \"", "\", line "}, {"File \\\"", "\\\", line "}, {"File \xe2\x80\x9c", "\xe2\x80\x9d, line "}};

static const struct quotes *quotes_of(struct wo_view in) {
  for (size_t i = 0; i < sizeof all_quotes / sizeof all_quotes[0]; i++) {
    if (wo_view_starts(in, all_quotes[i].open)) return &all_quotes[i];
  }
  return NULL;
}

bool wo_traceback_read(struct wo_view text, struct wo_traceback_frame *ret_frame) {
  struct wo_view in = wo_view_trim(text);
  const struct quotes *const quotes = quotes_of(in);
  if (!quotes) return false;
  const struct wo_view end = wo_view_of(quotes->close);
  in = wo_view_skip(in, wo_view_of(quotes->open).len);
  const size_t quote = wo_view_find(in, end, 0);
  if (quote == WO_NOT_FOUND) return false;
  ret_frame->file = wo_view_sub(in, 0, quote);
  in = wo_view_skip(in, quote + end.len);
  if (!read_line(&in, &ret_frame->line)) return false;
  ret_frame->function = wo_view_starts(in, ", in ") ? wo_view_trim(wo_view_skip(in, 5)) : WO_VIEW("?");
  return true;
}

/* The name before the arguments: `f(self, x)` is f. */
static struct wo_view name_of(struct wo_view text) {
  const size_t end = wo_view_find_char(text, '(', 0);
  const struct wo_view name = wo_view_trim(end == WO_NOT_FOUND ? text : wo_view_sub(text, 0, end));
  const size_t dot = wo_view_find_last(name, WO_VIEW("."), name.len);
  const struct wo_view last = wo_view_skip(name, dot == WO_NOT_FOUND ? 0 : dot + 1); /* notebooks put the class before it */
  return last.len > 0 ? last : WO_VIEW("?");
}

/* Whether a word can be the file of a frame: a path, a script, or a cell. */
static bool is_file(struct wo_view word) {
  if (wo_view_find_char(word, ' ', 0) != WO_NOT_FOUND) return false;
  return wo_view_ends(word, ".py") || wo_view_ends(word, ".pyx") || wo_view_ends(word, ".ipynb") ||
         wo_view_starts(word, "<ipython-input");
}

/* `path:12` followed by `in`, whose words come behind it. Some versions write no function. */
static bool read_numbered(struct wo_view in, const char *between, struct wo_traceback_frame *ret_frame) {
  size_t at = wo_view_find(in, WO_VIEW(".py:"), 0);
  if (at == WO_NOT_FOUND) return false;
  at += 3;
  ret_frame->file = wo_view_sub(in, 0, at);
  if (!is_file(ret_frame->file)) return false;
  in = wo_view_skip(in, at + 1);
  if (!read_line(&in, &ret_frame->line)) return false;
  const bool has_function = wo_view_starts(in, between);
  if (!has_function && wo_view_trim(in).len > 0) return false;
  ret_frame->function = has_function ? name_of(wo_view_skip(in, wo_view_of(between).len)) : WO_VIEW("?");
  return true;
}

/* `Cell In[3], line 4`, `Cell In[3], line 4, in fit(model)`, `Input In [3], in <cell line: 4>()`. */
static bool read_cell(struct wo_view in, struct wo_traceback_frame *ret_frame) {
  const bool is_input = wo_view_starts(in, "Input In");
  if (!is_input && !wo_view_starts(in, "Cell In")) return false;
  const size_t end = wo_view_find_char(in, ']', 0);
  if (end == WO_NOT_FOUND) return false;
  *ret_frame = (struct wo_traceback_frame){.file = wo_view_sub(in, 0, end + 1), .function = WO_VIEW("<module>")};
  in = wo_view_skip(in, end + 1);
  if (wo_view_starts(in, ", line ")) {
    in = wo_view_skip(in, 7);
    (void)read_line(&in, &ret_frame->line);
  }
  if (wo_view_starts(in, ", in ") && !wo_view_starts(in, ", in <")) ret_frame->function = name_of(wo_view_skip(in, 5));
  return true;
}

/* The file of `[/x.py](https://localhost/#)`, as Colab copies it, or of the plain word. */
static struct wo_view link_text(struct wo_view word) {
  const size_t end = wo_view_find(word, WO_VIEW("]("), 0);
  return wo_view_starts(word, "[") && end != WO_NOT_FOUND ? wo_view_sub(word, 1, end) : word;
}

bool wo_traceback_read_notebook(struct wo_view text, struct wo_traceback_frame *ret_frame) {
  const struct wo_view in = wo_view_trim(text);
  if (read_cell(in, ret_frame)) return true;
  if (wo_view_starts(in, "File ")) return read_numbered(wo_view_skip(in, 5), ", in ", ret_frame);
  const size_t at = wo_view_find(in, WO_VIEW(" in "), 0);
  if (at == WO_NOT_FOUND) return false;
  const struct wo_view file = link_text(wo_view_sub(in, 0, at));
  if (!is_file(file)) return false;
  *ret_frame = (struct wo_traceback_frame){.file = file, .function = name_of(wo_view_skip(in, at + 4))};
  return true;
}

bool wo_traceback_read_rich(struct wo_view text, struct wo_traceback_frame *ret_frame) {
  return read_numbered(wo_view_trim(text), " in ", ret_frame);
}

bool wo_traceback_read_arrow(struct wo_view text, uint64_t *ret_line, struct wo_view *ret_code) {
  static const char *const arrows[] = {"\xe2\x9d\xb1", "-", ">"}; /* U+2771 */
  struct wo_view in = wo_view_trim(text);
  const size_t before = in.len;
  for (size_t i = 0; i < sizeof arrows / sizeof arrows[0]; i++) {
    while (wo_view_starts(in, arrows[i])) in = wo_view_skip(in, wo_view_of(arrows[i]).len);
  }
  if (in.len == before || !wo_view_starts(in, " ")) return false;
  in = wo_view_trim(in);
  if (!read_line(&in, ret_line)) return false;
  in = wo_view_trim(in);
  if (wo_view_starts(in, "\xe2\x94\x82")) in = wo_view_skip(in, 3); /* U+2502 */
  *ret_code = wo_view_trim(in);
  return true;
}
