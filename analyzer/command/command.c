/* What commands share: loading rules, style, error lines, wrapped text. */
#include "analyzer/command/command.h"

#include <assert.h>

/* Width when nobody knows better, and between what it is kept: narrower pages break every line, and
 * wider ones are no longer read. */
#define WIDTH_DEFAULT 80
#define WIDTH_MIN 40
#define WIDTH_MAX 1000

/* Only the parts that are known: "whyoom: train.log:12: message" down to "whyoom: message". */
void wo_command_error(struct wo_text *errors, const struct wo_err *err) {
  wo_text_add(errors, "whyoom: ");
  if (err->file[0] != '\0') wo_text_add(errors, "%s:", err->file);
  if (err->line > 0) wo_text_add(errors, "%llu:", (unsigned long long)err->line);
  if (err->column > 0) wo_text_add(errors, "%u:", err->column);
  wo_text_add(errors, "%s%s\n", err->file[0] != '\0' ? " " : "", err->message);
}

/* Some failures have a status and no words (memory, mostly); the status then speaks. */
struct wo_pack *wo_command_load(const struct wo_cli *cli, enum wo_load_depth depth, struct wo_text *errors) {
  struct wo_pack *pack = NULL;
  struct wo_err err = {0};
  const enum wo_status status = wo_pack_load_all(cli->rules_dir, depth, &pack, &err);
  if (status == WO_OK) return pack;
  if (err.message[0] == '\0') wo_err_set(&err, status, "%s", wo_status_text(status));
  wo_command_error(errors, &err);
  return NULL;
}

/* The command line wins over the terminal. Colours are for a terminal that somebody looks at: not
 * with --output, not when NO_COLOR is set (no-color.org), unless they were asked for. Characters
 * beyond ASCII are for terminals too, since a pipe's reader is unknown. */
struct wo_text_style wo_command_style(const struct wo_cli *cli, const struct wo_terminal *terminal) {
  size_t width = cli->width > 0 ? cli->width : terminal->width;
  if (width == 0) width = WIDTH_DEFAULT;
  if (width < WIDTH_MIN) width = WIDTH_MIN;
  if (width > WIDTH_MAX) width = WIDTH_MAX;
  const bool wants_color = cli->color == WO_COLOR_ALWAYS ||
                           (cli->color == WO_COLOR_AUTO && terminal->is_stdout_terminal && !terminal->no_color && !cli->output);
  return (struct wo_text_style){.width = width,
                                .use_color = wants_color,
                                .use_utf8 = terminal->has_utf8 && terminal->is_stdout_terminal,
                                .is_verbose = cli->is_verbose};
}

/* Breaks at blanks only: an id or a path that is longer than the line keeps its length and can be
 * copied. */
void wo_command_wrap(struct wo_text *out, struct wo_view text, size_t indent, size_t width) {
  size_t column = 0;
  assert(width > indent);
  while (text.len > 0) {
    const struct wo_view word = wo_view_cut(&text, ' ');
    if (word.len == 0) continue;
    const size_t columns = wo_text_columns(word);
    if (column > 0 && column + 1 + columns > width) {
      wo_text_add(out, "\n");
      column = 0;
    }
    if (column == 0) {
      wo_text_repeat(out, ' ', indent);
      column = indent;
    } else {
      wo_text_add(out, " ");
      column++;
    }
    wo_text_add_view(out, word);
    column += columns;
  }
  wo_text_add(out, "\n");
}
