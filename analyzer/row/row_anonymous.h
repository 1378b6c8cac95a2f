/* SPDX-License-Identifier: Apache-2.0 */
/* A row to the same row with the names of people, machines and projects replaced. */
#ifndef WO_ROW_ANONYMOUS_H
#define WO_ROW_ANONYMOUS_H

#include "analyzer/row/row.h"
#include "parsers/base/anonymize/pseudonyms.h"

/* Learns the names of a row: first those of columns that are names, then those that its texts show. */
void wo_row_learn_names(const struct wo_row *row, struct wo_pseudonyms *pseudonyms);
void wo_row_learn_texts(const struct wo_row *row, struct wo_pseudonyms *pseudonyms);

/* Rewrites the texts of a row; new ones are in the arena. Numbers, ids, causes and settings stay. */
void wo_row_anonymize(struct wo_row *row, struct wo_pseudonyms *pseudonyms, struct wo_arena *arena);

#endif
