/* SPDX-License-Identifier: Apache-2.0 */
/* A program written as trace lines: weights, layers whose activations a backward pass frees, and stacks that say what each is. */
#ifndef WO_TEST_LAYERED_PROGRAM_H
#define WO_TEST_LAYERED_PROGRAM_H

#include "cuda_replay/recording/trace.h"
#include "parsers/base/text.h"

/* Stacks of the lines that wo_layered_begin writes. */
enum {
  WO_LAYERED_LOAD,      /* module.py, _apply: a weight */
  WO_LAYERED_FORWARD,   /* a matrix product in model.py */
  WO_LAYERED_BACKWARD,  /* its gradient */
  WO_LAYERED_OPTIMIZER, /* step of adamw.py */
  WO_LAYERED_OTHER      /* model.py, without an operator */
};

/* The head with torch 2.6 and these settings (NULL: none are told), the stacks, and weights of `mib` MiB each with ids from 1. */
void wo_layered_begin(struct wo_text *text, const char *settings, unsigned weights, unsigned mib);

/* Activations of a forward pass, of `mib` MiB each; *id is the last id that was given. */
void wo_layered_forward(struct wo_text *text, unsigned *id, unsigned count, unsigned mib);

/* Reads the lines and releases the text; a failure fails the test. */
struct wo_recording *wo_layered_read(struct wo_text *text);

#endif
