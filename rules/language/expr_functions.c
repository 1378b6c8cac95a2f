/* The table of functions. What they do stands in expr.h, how in expr_eval.c. */
#include "rules/language/expr_functions.h"

static const struct wo_function functions[] = {
    {"known", WO_OP_KNOWN, SHAPE_ANY_TO_BOOL, 1, 1},
    {"unknown", WO_OP_UNKNOWN, SHAPE_ANY_TO_BOOL, 1, 1},
    {"min", WO_OP_MIN, SHAPE_SAME_QUANTITIES, 1, WO_LIMIT_EXPR_ARGS},
    {"max", WO_OP_MAX, SHAPE_SAME_QUANTITIES, 1, WO_LIMIT_EXPR_ARGS},
    {"floor", WO_OP_FLOOR, SHAPE_SAME_QUANTITIES, 1, 1},
    {"ceil", WO_OP_CEIL, SHAPE_SAME_QUANTITIES, 1, 1},
    {"round", WO_OP_ROUND, SHAPE_SAME_QUANTITIES, 1, 1},
    {"abs", WO_OP_ABS, SHAPE_SAME_QUANTITIES, 1, 1},
    {"if", WO_OP_IF, SHAPE_CHOICE, 3, 3},
    {"otherwise", WO_OP_OTHERWISE, SHAPE_SAME, 2, 2},
    {"has", WO_OP_HAS, SHAPE_TEXTS_TO_BOOL, 2, 2},
    {"one_of", WO_OP_ONE_OF, SHAPE_TEXTS_TO_BOOL, 2, WO_LIMIT_EXPR_ARGS},
    {"nominal", WO_OP_NOMINAL, SHAPE_SAME_QUANTITIES, 1, 1},
    {"divisor_at_most", WO_OP_DIVISOR_AT_MOST, SHAPE_NUMBERS, 2, 2},
    {"power_of_two_at_most", WO_OP_POWER_OF_TWO_AT_MOST, SHAPE_SAME_QUANTITIES, 1, 1},
    {"sum", WO_OP_ROWS_SUM, SHAPE_SAME_QUANTITIES, 1, 1},
    {"spread", WO_OP_ROWS_SPREAD, SHAPE_SAME_QUANTITIES, 1, 1},
    {"count", WO_OP_ROWS_COUNT, SHAPE_TRUTH_TO_NUMBER, 1, 1},
    {"any", WO_OP_ROWS_ANY, SHAPE_TRUTH, 1, 1},
    {"all", WO_OP_ROWS_ALL, SHAPE_TRUTH, 1, 1},
};

const struct wo_function *wo__function_find(struct wo_view name) {
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    if (wo_view_is(name, functions[i].name)) return &functions[i];
  }
  return NULL;
}

void wo__function_offer(struct wo_nearest *nearest) {
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) wo_nearest_offer(nearest, wo_view_of(functions[i].name));
}
