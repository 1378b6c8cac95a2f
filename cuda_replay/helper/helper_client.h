/* SPDX-License-Identifier: Apache-2.0 */
/* The libraries of a driver in another process: for a whyoom that can load none itself (WHYOOM_STATIC).
 *
 * The functions of the two structs then send what they are given to whyoom-gpu and return its answer, so that nothing above them
 * differs. If that process ends too early, the next call fails with words that say so; from then on, calls that give something
 * back succeed: the driver has freed all of it. Functions of a driver take no context, so there is one helper at a time. */
#ifndef WO_HELPER_CLIENT_H
#define WO_HELPER_CLIENT_H

#include "cuda_replay/device/elsewhere.h"

/* Where the helper is. */
struct wo_helper_place {
  const char *path;         /* NULL: whyoom-gpu beside the file of this program, also with version and processor in its name */
  char *const *environment; /* that it gets; NULL for none */
};

/* Whether this program needs one for any card. */
bool wo_helper_is_needed(void);

/* The helper of that place, which is borrowed. Opening it is WO_E_UNKNOWN when it is not there, does not start, is no helper, or
 * is of another version. */
struct wo_elsewhere wo_helper_at(const struct wo_helper_place *place);

#endif
