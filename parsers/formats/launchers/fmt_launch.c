/* SPDX-License-Identifier: Apache-2.0 */
/* The line of a batch script that starts the program, also over lines that a backslash continues:
 *
 *   srun --ntasks-per-node=1 \
 *     torchrun --nproc_per_node=8 \
 *       train.py --batch-size 8
 *
 * The parts are joined with one blank between words. A command that starts no Python program gets no program. */
#include "parsers/scan/format.h"

/* Lines of one command. */
#define COMMAND_LINES 64

/* Appends the words of a line. True when a backslash at its end continues the command. */
static bool append_words(struct wo_open *open, struct wo_view text) {
  text = wo_view_trim(text);
  const bool is_continued = wo_view_ends(text, "\\");
  if (is_continued) text = wo_view_sub(text, 0, text.len - 1);
  for (text = wo_view_trim(text); text.len > 0;) wo_open_append(open, wo_view_word(&text));
  return is_continued;
}

static bool starts_python(struct wo_view command) {
  static const char *const programs[] = {"torchrun ", "accelerate launch ", "deepspeed ",
                                         "python ",   "python3 ",           "torch.distributed"};
  return WO_VIEW_ANY(command, wo_view_has, programs) || wo_view_has(command, ".py");
}

/* The event is where the command begins; its program is set when the last line was read. */
static enum wo_more begin_launch(struct wo_open *open, const struct wo_match *match) {
  const struct wo_view program = wo_match_group(match, "program");
  const bool is_continued = append_words(open, program);
  if (!is_continued && !starts_python(wo_open_message(open))) return WO_MORE_NO;
  const struct wo_event *event = wo_open_add(open, WO_KIND_JOB_INFO, program);
  open->event = event ? event->id : WO_EVENT_NONE;
  return event && is_continued ? WO_MORE_YES : WO_MORE_NO;
}

/* A comment or an empty line ends a command as the shell sees it, too. */
static enum wo_more feed_launch(struct wo_open *open) {
  const struct wo_view text = wo_view_trim(open->line->text);
  if (text.len == 0 || text.ptr[0] == '#') return WO_MORE_NO_UNREAD;
  return append_words(open, text) && open->lines < COMMAND_LINES ? WO_MORE_YES : WO_MORE_NO;
}

static void finish_launch(struct wo_open *open) {
  struct wo_event *event = wo_open_event(open);
  if (event && starts_python(wo_open_message(open)))
    wo_event_set_text(open->store, event, WO_FIELD_PROGRAM, wo_open_message(open));
}

const struct wo_format wo__format_launch = {
    .name = "launch", .begin = begin_launch, .feed = feed_launch, .finish = finish_launch};
