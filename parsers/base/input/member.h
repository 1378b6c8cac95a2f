/* SPDX-License-Identifier: Apache-2.0 */
/* Files in tar archives that are named by a path: "logs.tar.gz/run7/slurm-4711.out". Between input.c and member.c. */
#ifndef WO_MEMBER_H
#define WO_MEMBER_H

#include "parsers/base/input/input.h"

/* Opens a path that the system knows. See wo_input_open. */
enum wo_status wo__input_open_path(const char *path, struct wo_input **ret_input, struct wo_err *err);

/* An input of the present file of another one, which it closes in the end. On failure the other stays open. */
enum wo_status wo__input_open_inside(struct wo_input *outer, const char *name, struct wo_input **ret_input, struct wo_err *err);

#endif
