/* SPDX-License-Identifier: Apache-2.0 */
/* Texts with values in them: "{oom.tried} was refused", "{oom.reserved_unallocated /
 * gpu.capacity:pct} of the card".
 *
 * A part in braces is an expression, with an optional format after ':' : bytes ("17.66 GiB"), gib
 * ("17.66"), pct ("22 %"), pct1 ("22.3 %"), int ("32", no separators), x1 ("2.5"), text. Default by
 * unit: bytes, int for whole numbers else up to two decimals, the text itself, yes/no. "{{" and
 * "}}" stand for braces. */
#ifndef WO_TEMPLATE_H
#define WO_TEMPLATE_H

#include "rules/language/expr.h"

struct wo_template;

/* Parses a template; expressions are checked as by wo_expr_parse. err->column is the place in text. */
enum wo_status wo_template_parse(struct wo_arena *arena, struct wo_view text, const struct wo_names *names,
                                 const struct wo_template **ret_template, struct wo_err *err);

/* Writes the text into the arena. A part whose value is unknown is written as "?" and, when
 * has_unknown is not NULL, *has_unknown becomes true. Empty view when memory is out. A NULL
 * template gives an empty text. */
struct wo_view wo_template_render(const struct wo_template *template_, const struct wo_facts_source *facts,
                                  struct wo_arena *arena, bool *has_unknown);

/* As wo_template_render, for a line to paste: values that are texts, which come from the inputs, are words quoted for the shell.
 * Empty view if one cannot be quoted where it stands, between quotes of the template itself. */
struct wo_view wo_template_render_command(const struct wo_template *template_, const struct wo_facts_source *facts,
                                          struct wo_arena *arena);

/* The text it was parsed from; empty for NULL. */
struct wo_view wo_template_source(const struct wo_template *template_);

/* Calls fn with the name of each fact used in it. */
void wo_template_each_fact(const struct wo_template *template_, void (*fn)(void *context, struct wo_view name), void *context);

#endif
