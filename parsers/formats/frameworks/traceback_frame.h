/* SPDX-License-Identifier: Apache-2.0 */
/* One frame of a Python traceback, in the forms of the interpreter, of IPython and notebooks, and of rich. Pure; any thread. */
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

#endif
