/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of one memory message: what it prints, and what follows from that by adding and subtracting. */
#ifndef WO_CARD_H
#define WO_CARD_H

#include "analyzer/card/figure.h"
#include "parsers/base/arena.h"

struct wo_card {
  struct wo_figure tried, capacity, free;
  struct wo_figure allowed;                          /* a cap that is set, or the limit of the process (MPS) */
  struct wo_figure allocated, unallocated, reserved; /* the pool: in use by tensors, idle, both together */
  struct wo_figure process;                          /* all that the own process holds */
  struct wo_figure non_pytorch;                      /* of that, outside the pool */
  struct wo_figure listed;                           /* other processes that the message lists */
  struct wo_figure other;                            /* other processes: listed, or what nobody else can hold */
  struct wo_figure unaccounted;                      /* neither free nor of anybody who is named */
};

/* Reads a message of the card. All figures of one message belong to one moment, so they can be added. */
void wo_card_read(const struct wo_event *event, struct wo_card *ret_card);

/* Adds what the message leaves out from the table of torch.cuda.memory_summary() that a handler printed below the failure: by
 * then tensors of the failed pass may be gone, so that each figure lies between the present one and the peak, and more likely at
 * the peak (a card is fullest when it refuses). Rows of zeros are those of an allocator that does not count (cudaMallocAsync).
 * Returns whether anything was added. */
bool wo_card_add_table(struct wo_card *card, const struct wo_event *table);

/* A contradiction between the figures, in words; empty when they agree. */
struct wo_view wo_card_contradiction(struct wo_arena *arena, const struct wo_card *card);

/* What a process usually holds outside the pool on a card of that capacity: context, kernels, library workspaces. */
struct wo_interval wo_card_context(struct wo_figure capacity);

#endif
