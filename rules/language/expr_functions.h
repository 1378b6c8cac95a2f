/* The functions of the rule language by name. Private to rules/. */
#ifndef WO_EXPR_FUNCTIONS_H
#define WO_EXPR_FUNCTIONS_H

#include "rules/language/expr_internal.h"
#include "rules/language/nearest.h"

/* How a function's arguments are checked and what it gives. "same" keeps `if(x, 512MiB, 3)` from
 * having a value that is bytes on some days and a number on others. */
enum wo_shape {
  SHAPE_ANY_TO_BOOL,     /* any one value */
  SHAPE_SAME_QUANTITIES, /* quantities of one unit, which is the result's */
  SHAPE_CHOICE,          /* condition, then two values of one unit */
  SHAPE_SAME,            /* values of one unit, any */
  SHAPE_TEXTS_TO_BOOL,   /* texts */
  SHAPE_NUMBERS,         /* numbers */
  SHAPE_TRUTH,           /* a condition */
  SHAPE_TRUTH_TO_NUMBER  /* a condition, of which the rows are counted */
};

/* One row: name in rule files, op, how arguments are checked, and how many there may be. */
struct wo_function {
  const char *name;
  enum wo_op op;
  enum wo_shape shape;
  size_t least;
  size_t most;
};

/* The function of that name, or NULL. */
const struct wo_function *wo__function_find(struct wo_view name);

/* Offers the names of all functions. */
void wo__function_offer(struct wo_nearest *nearest);

#endif
