/* SPDX-License-Identifier: Apache-2.0 */
/* The output of rules/load/embed.c: the rule packs as part of the program, and the tables to find their literals.
 *
 * File names are relative to the packs folder, such as "causes/fragmentation/fragmentation.json". Both arrays hold the same files
 * in the same order; the depth of a load decides which one it takes (rule_embedded.c). */
#ifndef WO_EMBEDDED_H
#define WO_EMBEDDED_H

#include "rules/load/rule.h"

/* As parsed trees, without examples and long texts. */
extern const struct wo_rule_file wo_embedded_short[];
extern const size_t wo_embedded_short_count;

/* As written, so that line numbers in messages are true. */
extern const struct wo_rule_file wo_embedded_full[];
extern const size_t wo_embedded_full_count;

/* Of all these files as written (wo_pack_version). */
extern const uint64_t wo_embedded_hash;

/* The tables of the literals of all patterns in these files, in the order in which a load makes them. */
extern const struct wo_prefilter_tables wo_embedded_prefilter;

#endif
