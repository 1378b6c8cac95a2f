/* The table of known models: finding a printed name in it, and counting the parameters of a shape. */
#ifndef WO_MODEL_SHAPE_H
#define WO_MODEL_SHAPE_H

#include "rules/load/rule.h"

/* The model that a printed name or path means, or NULL. Looks at the last part of a path (or at the name inside a cache folder
 * "models--owner--name"), in any case of letters. Only words that leave the shape unchanged (-Instruct, -AWQ, -v0.2) may follow
 * the longest known name: a further size, or any unknown word, makes it another model. An empty name gives NULL. */
const struct wo_model_shape *wo_model_shape_find(const struct wo_pack *pack, struct wo_view name);

/* The parameters that the shape adds up to, exactly as the published implementation has them; 0 for an architecture that is not
 * known. Buffers (rotary tables, masks) are no parameters. */
double wo_model_shape_parameters(const struct wo_model_shape *shape);

#endif
