/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz targets by name. fuzz_X.c defines LLVMFuzzerTestOneInput, which the build calls fuzz_X_input; the targets of the
 * readers, fuzz_fmt_<reader>, are one function that works on a chosen reader. */
#ifndef WO_FUZZ_TARGETS_H
#define WO_FUZZ_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Chooses the reader for fuzz_fmt_input: the one of the target `name`, with or without folders before it. False when `name` is no
 * fuzz_fmt_<reader> of parsers/formats/formats.def. */
bool fuzz_fmt_choose(const char *name);

/* Runs the chosen reader over the bytes. Returns 0; a property that does not hold ends the process. */
int fuzz_fmt_input(const uint8_t *data, size_t size);

/* libFuzzer calls it first: the reader is chosen by the name that the program is started with. */
int LLVMFuzzerInitialize(int *argc, char ***argv);

#endif
