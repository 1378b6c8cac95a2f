/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the allocator model through a program of requests, one line at a time, and says what it did as the driver says it.
 *
 * Shared by compare.c (against answers of a wheel) and by the unit test of the committed cases. The model's device is a stand-in
 * of its own (standin.h), so that equal calls get equal addresses. One lockstep is used by one thread. */
#ifndef WO_LOCKSTEP_H
#define WO_LOCKSTEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/allocator/allocator.h"
#include "tests/stand_in/standin.h"

/* A call of the device (`kind` a letter of enum wo_standin_call), or an entry of the trace (a c f m o q s u, README.md). */
struct wo_oracle_call {
  char kind;
  uint64_t address;
  uint64_t size_bytes;
  uint64_t stream; /* entries only */
  uint64_t pool;   /* entries only: second half of a private pool's id; WO_ORACLE_ANY_POOL where the version does not say */
};

#define WO_ORACLE_ANY_POOL UINT64_MAX

struct wo_oracle_calls {
  struct wo_oracle_call *items;
  size_t count, capacity;
};

/* Adds a call. Ends the program when memory is out. */
void wo_oracle_calls_add(struct wo_oracle_calls *calls, struct wo_oracle_call call);

/* Joins device calls that unmap one run handle by handle. */
void wo_oracle_calls_join(struct wo_oracle_calls *calls);

/* Orders runs of calls of some kinds by address, where the allocator's order is that of a hash map: completed frees of several
 * streams, releases of several private pools. */
void wo_oracle_calls_settle(struct wo_oracle_calls *calls, const char *kinds);

/* The first index at which two lists differ, or SIZE_MAX. */
size_t wo_oracle_calls_differ(const struct wo_oracle_calls *left, const struct wo_oracle_calls *right);

struct wo_lockstep;

/* A new one for a torch version. Ends the program when memory is out. NULL allowed for free, which returns NULL. */
struct wo_lockstep *wo_lockstep_new(uint16_t torch);
struct wo_lockstep *wo_lockstep_free(struct wo_lockstep *lockstep);

/* Begins a sequence from its header line ("S ..."). False: the settings were refused or cannot be modelled; see the message. */
bool wo_lockstep_begin(struct wo_lockstep *lockstep, const char *line, size_t length);

/* Runs one request. *ret_address is what a malloc returned (0: out of memory). False: the model stopped; see the message. */
bool wo_lockstep_run(struct wo_lockstep *lockstep, const char *line, size_t length, uint64_t *ret_address);

/* The real one's entries for the request that comes, from an index on: waiting frees complete in their order. */
void wo_lockstep_follow(struct wo_lockstep *lockstep, const struct wo_oracle_calls *entries, size_t from);

/* Device calls of the last request, and the entries of the sequence so far. Borrowed. */
struct wo_oracle_calls *wo_lockstep_calls(struct wo_lockstep *lockstep);
struct wo_oracle_calls *wo_lockstep_entries(struct wo_lockstep *lockstep);

/* Whether the sequence used a block on other streams: then the order of completed frees moves passing statistics. */
bool wo_lockstep_has_waits(const struct wo_lockstep *lockstep);

/* Whether it began a capture: then releases of several pools have no order to rely on. */
bool wo_lockstep_has_pools(const struct wo_lockstep *lockstep);

/* Whether the model refused a request because torch fails there, at once or later: what follows cannot be compared. */
bool wo_lockstep_has_refused(const struct wo_lockstep *lockstep);

/* Torch 2.12: whether several waiting frees completed inside of one request, in an order that only torch knows and that decides
 * later ties, since there each block has an age. */
bool wo_lockstep_has_open_order(const struct wo_lockstep *lockstep);

/* The model itself, and why the last call returned false. */
const struct wo_allocator *wo_lockstep_allocator(const struct wo_lockstep *lockstep);
const char *wo_lockstep_message(const struct wo_lockstep *lockstep);

/* All statistics, in the driver's order. */
enum { WO_ORACLE_STATISTICS = 9 * 3 * 4 + 2 * 4 + 5 };
void wo_lockstep_statistics(const struct wo_lockstep *lockstep, uint64_t ret_values[WO_ORACLE_STATISTICS]);

/* A number of a program or an answer: skips blanks, reads digits; 0 when there are none. */
uint64_t wo_oracle_number(const char **at, const char *end);

#endif
