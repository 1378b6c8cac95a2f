/* SPDX-License-Identifier: Apache-2.0 */
/* What a Python traceback has shown so far: the state that the reader of tracebacks (fmt_traceback.c) shares with the reader of
 * those on one line (traceback_joined.c). Private to this folder. */
#ifndef WO_TRACEBACK_H
#define WO_TRACEBACK_H

#include "parsers/formats/frameworks/traceback_frame.h"
#include "parsers/formats/frameworks/traceback_owner.h"
#include "parsers/scan/format.h"

/* Bytes that are kept of a file's path and of a function's name. */
enum { WO__TRACEBACK_NAME_BYTES = 256 };

enum wo__traceback_last { WO__LAST_OTHER, WO__LAST_FRAME_USER, WO__LAST_FRAME_PACKAGE };

/* How frames are written. Debuggers show the innermost frame first, below the exception. */
enum wo__traceback_style { WO__STYLE_PYTHON, WO__STYLE_NOTEBOOK, WO__STYLE_RICH, WO__STYLE_DEBUGGER };

/* The frames so far; their list is the construct's message. Texts are empty before the first frame. */
struct wo__traceback {
  enum wo__traceback_style style;
  int64_t frame_indent; /* -1: none yet */
  uint64_t frames;
  int strays;
  int launcher_lines; /* after the last frame */
  enum wo__traceback_last last;
  bool is_only_counted; /* there is no room for its event: what only that tells is not kept */
  bool has_header;
  bool is_chained;
  bool is_origin;                      /* frames that tell where the operation of the exception above was made */
  bool is_contained;                   /* nothing depends on it: the program went on */
  bool is_caught;                      /* by a server, which goes on with the next request */
  bool is_recorded;                    /* caught, and told as no error in the record above */
  char record[WO__TRACEBACK_NAME_BYTES]; /* the log record right above, if its logger calls it no error; "" for none */
  int message_lines;                   /* after the exception, while its message is missing or goes on */
  char lead[WO__TRACEBACK_NAME_BYTES]; /* a message that ends in a colon: the next line says what it is about */
  size_t frame_width;                  /* bytes of the newest frame's line */
  size_t front_len;                    /* of the message: the newest frame of a debugger, which stands in front */
  size_t outer_len;                    /* of the message: the outermost frames, which stay; 0 while all fit */
  enum wo_traceback_owner user_owner;  /* of the frame that is kept as the user's */
  uint64_t user_line;
  char first[WO__TRACEBACK_NAME_BYTES]; /* line, without its prefix */
  char user_file[WO__TRACEBACK_NAME_BYTES], user_function[WO__TRACEBACK_NAME_BYTES];
  char inner_file[WO__TRACEBACK_NAME_BYTES], inner_function[WO__TRACEBACK_NAME_BYTES];
};

/* Blanks before the text, with tabs counted as in Python. */
int64_t wo__traceback_indent(struct wo_view text);

/* Python prints the most recent call last, so each frame replaces the one before as the innermost; debuggers print it first.
 * `text` is the line that the frame was read from. */
void wo__traceback_take_frame(struct wo_open *open, struct wo_view text, const struct wo_traceback_frame *frame);

/* Keeps the line of code of the newest frame. */
void wo__traceback_add_code(struct wo_open *open, struct wo_view code);

/* Takes a word at the left side as the end of the function's name that a terminal broke. */
bool wo__traceback_take_rest_of_name(struct wo_open *open, struct wo_view text);

/* Fills the event from the frames and from what was around them. */
void wo__traceback_add_fields(const struct wo_open *open, struct wo_event *event);

/* Whether a whole traceback is on the line: escaped by a logger, or joined by a script that reports it. / Reads that, and adds
 * its event; a line without an exception is something else. */
bool wo__traceback_is_joined(struct wo_view text);
enum wo_more wo__traceback_begin_joined(struct wo_open *open);

#endif
