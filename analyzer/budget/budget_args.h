/* The options of `whyoom budget`: names and values of the command line -> struct wo_budget_input. Total and pure: any text gives
 * a value or a message. */
#ifndef WO_BUDGET_ARGS_H
#define WO_BUDGET_ARGS_H

#include "analyzer/budget/budget.h"

/* What an option takes. MODEL names a model of the table of known shapes, which the caller looks up. */
enum wo_budget_takes { WO_BUDGET_TAKES_NOTHING, WO_BUDGET_TAKES_VALUE, WO_BUDGET_IS_NO_OPTION };

/* Whether that is an option (name without dashes), and what it takes. */
enum wo_budget_takes wo_budget_option(struct wo_view name);

/* The key of that option, or WO_BUDGET_KEY_COUNT_ for options that are no keys (frozen, extra, activations, stated, model). */
enum wo_budget_key wo_budget_key_find(struct wo_view option);

/* The option of a key ("micro-batch"); how it is written. */
const char *wo_budget_key_option(enum wo_budget_key key);
enum wo_budget_sort wo_budget_key_sort(enum wo_budget_key key);

/* The name of a choice of a key by its place from 1 ("?" for a place that does not exist). */
struct wo_view wo_budget_choice_name(enum wo_budget_key key, double place);

/* Reads one option into *input; views of names point into `value`. WO_E_USAGE with a message that names the option and what it
 * wants; *input is then unchanged. `model` is taken and ignored. */
enum wo_status wo_budget_apply(struct wo_budget_input *input, struct wo_view option, struct wo_view value, struct wo_err *err);

/* Checks what only all options together show (a part larger than the whole, parallel sizes that exceed the cards). WO_E_USAGE. */
enum wo_status wo_budget_check(const struct wo_budget_input *input, struct wo_err *err);

/* A value as people write it: "16", "fp32", "47.40 GiB". */
char *wo_budget_value_text(enum wo_budget_key key, double value, char *buf, size_t cap);

#endif
