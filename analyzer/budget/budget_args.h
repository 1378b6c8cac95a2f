/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `whyoom budget`: names and values of the command line -> struct wo_budget_input. Total and pure: any text gives
 * a value or a message. */
#ifndef WO_BUDGET_ARGS_H
#define WO_BUDGET_ARGS_H

#include "analyzer/budget/budget.h"
#include "parsers/base/command/option.h"

/* The table, whose target is a struct wo_budget_input; views of names point into the values. The id of an option is its key, or
 * WO_BUDGET_KEY_COUNT_ if it has none (frozen, extra, activations, stated; model and calibrate, which are taken and ignored). */
enum { WO_BUDGET_OPTION_COUNT = 67 };
extern const struct wo_option wo_budget_options[WO_BUDGET_OPTION_COUNT];

/* The key of the option of that name, or WO_BUDGET_KEY_COUNT_. */
enum wo_budget_key wo_budget_key_find(struct wo_view name);

/* The option of a key. It has no `value` when it is a flag, and `choices` when its value is a place in them, from 1. */
const struct wo_option *wo_budget_key_option(enum wo_budget_key key);

/* The name of a choice of a key by its place from 1 ("?" for a place that does not exist). */
struct wo_view wo_budget_choice_name(enum wo_budget_key key, double place);

/* Checks options against each other (a part larger than the whole, parallel sizes that exceed the cards). WO_E_USAGE. */
enum wo_status wo_budget_check(const struct wo_budget_input *input, struct wo_err *err);

/* A value as people write it: "16", "fp32", "47.40 GiB". */
char *wo_budget_value_text(enum wo_budget_key key, double value, char *buf, size_t cap);

#endif
