/* How the lint complains. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "rules/check/rule_check_internal.h"

/* Formats a complaint and hands it on at once; nothing is collected here. The place is the line where the rule starts: the pack
 * does not keep the places of single members. */
void wo__lint_complain(const struct wo_lint_rule *rule, enum wo_status code, const char *format, ...) {
  assert(code != WO_OK);
  struct wo_err err;
  char message[sizeof err.message] = "";
  int len = 0;
  if (rule->sort != WO_SORT_NONE)
    len = snprintf(message, sizeof message, "%s %.*s: ", wo__sort_rows[rule->sort].name, WO_SHOWN(rule->id));
  const size_t at = len > 0 && (size_t)len < sizeof message ? (size_t)len : 0;
  va_list args;
  va_start(args, format);
  vsnprintf(message + at, sizeof message - at, format, args);
  va_end(args);
  wo_err_set(&err, code, "%s", message);
  char file[sizeof err.file];
  snprintf(file, sizeof file, "%.*s", WO_SHOWN(rule->place.file));
  wo_err_place(&err, file, rule->place.line, 0, 0);
  rule->lint->complaints++;
  rule->lint->fn(rule->lint->context, &err);
}

void wo__lint_link(const struct wo_lint_rule *rule, enum wo_sort sort, struct wo_view id, const char *part) {
  if (wo_pack_index_find(rule->lint->pack->index, sort, id) != WO_NOT_FOUND) return;
  struct wo_nearest nearest = {.want = id};
  wo__pack_offer(rule->lint->pack, sort, &nearest);
  char hint[WO_NEAREST_BYTES];
  wo__lint_complain(rule, WO_E_UNKNOWN, "%s '%.*s'%s", part, WO_SHOWN(id),
                    wo_nearest_hint(wo_nearest_best(&nearest), hint, sizeof hint));
}
