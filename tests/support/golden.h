/* SPDX-License-Identifier: Apache-2.0 */
/* Golden tests: the whole program as its users see it. A case is a folder tests/golden/<name>/ with
 *
 *   cmd      arguments, one in each line, relative to the source folder
 *   stdin    standard input (may be missing: empty)
 *   env      variables of the environment, NAME=VALUE, one in each line; the values @cuda@ and @nvml@ stand for the libraries
 *            that stand in for a GPU (may be missing: none)
 *   stdout   what it must print, byte for byte
 *   stderr   likewise (may be missing: nothing)
 *   exit     its exit code
 *
 * With WHYOOM_UPDATE_GOLDEN=1 in the environment the last three are rewritten instead: read the difference before you keep it. */
#ifndef WO_TEST_GOLDEN_H
#define WO_TEST_GOLDEN_H

#include <stdbool.h>
#include <stddef.h>

/* Runs the case in `folder`. On failure `complaint` shows the first line that differs. */
bool wo_golden_run(const char *folder, char *complaint, size_t cap);

#endif
