/* The table of facts.def, for the loader. Private to rules/. */
#ifndef WO_RULE_FACTS_H
#define WO_RULE_FACTS_H

#include "rules/load/pack_index.h"
#include "rules/load/rule.h"

/* How many facts there are without those of knobs and kinds. */
size_t wo__fact_count(void);

/* Adds them all to an index with room for them. */
void wo__fact_index(struct wo_pack_index *index);

/* The fact, setting or count whose name is closest to one that does not exist; empty when none is close. May live in `arena`. */
struct wo_view wo__fact_nearest(const struct wo_pack *pack, struct wo_arena *arena, struct wo_view name);

#endif
