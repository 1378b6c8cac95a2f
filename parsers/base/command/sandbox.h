/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox: a process that only reads cannot do more than read, whatever a hostile input makes of it.
 *
 * Linux, from 3.17 on: a filter over system calls (seccomp) that cannot be taken off again. It lets through what reading,
 * computing and writing to open files need. Opening a file for writing fails as a lack of permission; every other call (programs,
 * sockets, signals to others, names of files, tracing) fails as one that the system does not have, so that a C library takes
 * another way instead of the program being killed. Any file that the user may read can be read: nothing but the report leaves the
 * process. */
#ifndef WO_SANDBOX_H
#define WO_SANDBOX_H

#include "parsers/base/command/command.h"

/* Enters the sandbox, for good. WO_E_UNKNOWN: this system or this build has none; the message tells why. */
enum wo_status wo_sandbox_enter(struct wo_err *err);

/* Enters it for a call, if the command only reads (struct wo_command, needs_more). Without --sandbox a call that needs more, or a
 * system without one, runs outside. With --sandbox that is an error: WO_E_USAGE with the reason, WO_E_UNKNOWN. */
enum wo_status wo_sandbox_enter_for(const struct wo_call *call, struct wo_err *err);

#endif
