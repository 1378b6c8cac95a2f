/* SPDX-License-Identifier: Apache-2.0 */
/* See commands.h. */
#include "tests/support/commands.h"

#include "analyzer/command/cmd_scan.h"
#include "analyzer/command/commands.h"
#include "cuda_replay/record/record.h"
#include "cuda_replay/command/verify_command.h"

static const struct wo_command_entry entries[] = {
    {&wo_command_diagnose, NULL}, {&wo_command_scan, NULL},    {&wo_command_report, NULL},     {&wo_command_merge, NULL},
    {&wo_command_budget, NULL},   {&wo_command_replay, NULL},  {&wo_command_verify, NULL},     {&wo_command_record, NULL},
    {&wo_command_rules, NULL},    {&wo_command_explain, NULL}, {&wo_command_completion, NULL}, {&wo_command_help, NULL},
    {&wo_command_version, NULL},
};
const struct wo_commands wo_test_commands = {entries, sizeof entries / sizeof *entries};
