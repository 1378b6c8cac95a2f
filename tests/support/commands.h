/* SPDX-License-Identifier: Apache-2.0 */
/* The list of commands as main.c has it, for tests of what is read and written by their tables. */
#ifndef WO_TESTS_COMMANDS_H
#define WO_TESTS_COMMANDS_H

#include "parsers/base/command/command.h"

extern const struct wo_commands wo_test_commands;

#endif
