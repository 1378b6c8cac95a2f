/* SPDX-License-Identifier: Apache-2.0 */
/* Whose code a frame of a Python traceback is in, by the path of its file. Pure; any thread. */
#ifndef WO_TRACEBACK_OWNER_H
#define WO_TRACEBACK_OWNER_H

#include "parsers/base/view.h"

/* Who would change a file, from the last one that a user would ask to the first. */
enum wo_traceback_owner {
  WO_TRACEBACK_LIBRARY, /* libraries that many programs use, the interpreter, scripts that only start a program */
  WO_TRACEBACK_PROGRAM, /* the installed program that the user runs, or its engine room */
  WO_TRACEBACK_USER     /* code of the user */
};

struct wo_traceback_home {
  enum wo_traceback_owner owner;
  bool is_package; /* the file belongs to an installed package or to the interpreter, or only starts a program */
};
struct wo_traceback_home wo_traceback_home_of(struct wo_view file);

/* The last components of a path. */
struct wo_view wo_traceback_short_path(struct wo_view path);

/* The path of a package's file below the folder where packages are installed, or its last components. */
struct wo_view wo_traceback_package_path(struct wo_view path);

#endif
