/* SPDX-License-Identifier: Apache-2.0 */
/* Call sites: stacks put together by the line of the program that asked for the memory and the library function that it called,
 * and sums over blocks. */
#ifndef WO_SITES_H
#define WO_SITES_H

#include "cuda_replay/classes/user_frame.h"
#include "cuda_replay/lives/lives.h"

/* A call site: all stacks with the same asker and the same line of the program (user_frame.h). */
struct wo_site {
  struct wo_stack_sites frames;
};

/* Site 0 is that of blocks without a stack. */
struct wo_sites {
  WO_VEC(struct wo_site) items;
  uint32_t *of_stack; /* for each stack of the recording, and one more for WO_NO_STACK */
  size_t stack_count;
};

/* Finds the sites of all stacks. WO_E_NOMEM: *ret_sites is empty. */
enum wo_status wo_sites_make(const struct wo_recording *recording, struct wo_sites *ret_sites);

/* Releases what it owns; NULL and {0} allowed. */
void wo_sites_done(struct wo_sites *sites);

/* The site of a stack or of WO_NO_STACK. */
static inline uint32_t wo_sites_of(const struct wo_sites *sites, uint32_t stack) {
  return sites->of_stack[stack == WO_NO_STACK ? sites->stack_count : stack];
}

/* A number of blocks and their bytes. */
struct wo_sum {
  uint64_t bytes;
  uint64_t count;
};

/* Appends a frame as people read it: "softmax nn_utils.py:6", with a line of 0 left out; its function and file are as the
 * recording has them, which may be any bytes. "no stack recorded" for WO_NO_FRAME. */
void wo_frame_show(const struct wo_recording *recording, uint32_t frame, struct wo_text *out);

/* The frame that a site is known by: the program's own line, else the asker; WO_NO_FRAME without a stack. */
static inline uint32_t wo_site_frame(const struct wo_site *site) {
  return site->frames.user != WO_NO_FRAME ? site->frames.user : site->frames.asker;
}

/* Appends a site: its frame, and "in" its asker if that is another one. Any bytes. */
void wo_site_show(const struct wo_recording *recording, const struct wo_site *site, struct wo_text *out);

/* Appends a class as people read it: "optimizer state", "not classified". */
void wo_class_show(enum wo_alloc_class class_, struct wo_text *out);

#endif
