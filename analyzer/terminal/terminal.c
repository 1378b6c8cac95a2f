/* SPDX-License-Identifier: Apache-2.0 */
/* What the terminal shows. See terminal.h. */
#include "analyzer/terminal/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Width of the text report if none is known, and the limits for a terminal's width: narrower pages break every line, and wider
 * ones are hard to read. */
enum { WIDTH_DEFAULT = 80, WIDTH_MIN = 40, WIDTH_MAX = 1000 };

const char *wo_terminal_variable(const char *name) {
  const char *const value = getenv(name);
  return value && value[0] != '\0' ? value : NULL;
}

/* Reads the variables in the order of setlocale, but sets no locale: only whether the terminal shows UTF-8 matters. */
static bool has_utf8_locale(void) {
  static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
  const char *locale = NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names && !locale; i++) locale = wo_terminal_variable(names[i]);
  const struct wo_view name = wo_view_of(locale);
  return wo_view_has_nocase(name, "utf-8") || wo_view_has_nocase(name, "utf8");
}

static size_t terminal_width(void) {
  struct winsize size = {0};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return WIDTH_DEFAULT;
  return size.ws_col < WIDTH_MIN ? WIDTH_MIN : size.ws_col > WIDTH_MAX ? WIDTH_MAX : size.ws_col;
}

static bool is_dumb(void) {
  const char *const terminal = wo_terminal_variable("TERM");
  return terminal && strcmp(terminal, "dumb") == 0;
}

/* FORCE_COLOR=0 asks for nothing, as programs that know the variable read it. */
static bool wants_color(const struct wo_call *call, bool is_terminal) {
  const char *const forced = wo_terminal_variable("FORCE_COLOR");
  if (call->color != WO_COLOR_AUTO) return call->color == WO_COLOR_ALWAYS;
  if (forced && strcmp(forced, "0") != 0) return true;
  return is_terminal && !wo_terminal_variable("NO_COLOR") && !is_dumb() && call->output.len == 0;
}

struct wo_text_style wo_terminal_style(const struct wo_call *call) {
  const bool is_terminal = isatty(STDOUT_FILENO) == 1 && call->output.len == 0;
  return (struct wo_text_style){.width = call->width > 0 ? call->width
                                         : is_terminal   ? terminal_width()
                                                         : WIDTH_DEFAULT,
                                .use_color = wants_color(call, is_terminal),
                                .use_utf8 = is_terminal && has_utf8_locale() && !is_dumb(),
                                .is_verbose = call->is_verbose};
}
