/* One frame of a Python traceback, in the forms of the interpreter, of IPython and notebooks, and of rich; and the class of an
 * exception. Pure; any thread. */
#ifndef WO_TRACEBACK_FRAME_H
#define WO_TRACEBACK_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "parsers/base/view.h"

/* Views are parts of the line. */
struct wo_traceback_frame {
  struct wo_view file;
  uint64_t line;           /* 0: a later line of code shows it */
  struct wo_view function; /* "?" when absent */
};

/* Reads `File "train.py", line 12, in main`; in a string of JSON its quotes are escaped. */
bool wo_traceback_read(struct wo_view text, struct wo_traceback_frame *ret_frame);

/* Reads what notebooks show: `File ~/x.py:12, in f(a)`, `Cell In[3], line 4`, `/x.py in f(a)`,
 * `[/x.py](https://...) in f(a)`, `<ipython-input-3-0a1b> in <module>`. */
bool wo_traceback_read_notebook(struct wo_view text, struct wo_traceback_frame *ret_frame);

/* Reads what rich writes inside of its box: `/x/train.py:12 in main`. */
bool wo_traceback_read_rich(struct wo_view text, struct wo_traceback_frame *ret_frame);

/* Reads the arrow before the line of code that failed, `---> 12 code` by IPython and `> 12 | code` by rich: the number, and the
 * code. */
bool wo_traceback_read_arrow(struct wo_view text, uint64_t *ret_line, struct wo_view *ret_code);

/* Whether the file belongs to an installed package or to the interpreter. */
bool wo_traceback_is_package(struct wo_view file);

/* Who would change a file, from the last one that a user would ask to the first. */
enum wo_traceback_owner {
  WO_TRACEBACK_LIBRARY, /* libraries that many programs use, the interpreter, scripts that only start a program */
  WO_TRACEBACK_PROGRAM, /* the installed program that the user runs, or its engine room */
  WO_TRACEBACK_USER     /* code of the user */
};
enum wo_traceback_owner wo_traceback_owner_of(struct wo_view file);

/* The last components of a path. */
struct wo_view wo_traceback_short_path(struct wo_view path);

/* The path of a package's file below the folder where packages are installed, or its last components. */
struct wo_view wo_traceback_package_path(struct wo_view path);

/* Length of the exception's class at the start of text ("torch.OutOfMemoryError"), or 0. A class is a dotted name followed by ':'
 * or the end, whose last part looks like one. */
size_t wo_exception_class(struct wo_view text);

#endif
