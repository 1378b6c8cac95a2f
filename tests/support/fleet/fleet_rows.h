/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of jobs written as words, for tests of stores and of what is made of them. */
#ifndef WO_TEST_FLEET_ROWS_H
#define WO_TEST_FLEET_ROWS_H

#include "analyzer/store/store.h"

/* Puts a job whose row is "column=value column=value ...": `+` stands for a blank and `;` for a line feed in a value; a column
 * that is not named is unknown. Names that are no column, and failures of the store, end the test. */
void wo_fleet_put(struct wo_store *store, const char *words);

/* The same for a printf-formatted line. */
void wo_fleet_putf(struct wo_store *store, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Opens a private store with these rows, one each; NULL ends the list. */
struct wo_store *wo_fleet_store(const char *const *rows);

#endif
