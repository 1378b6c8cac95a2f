/* SPDX-License-Identifier: Apache-2.0 */
/* Reading JSON members into the structs of rule.h, by tables. Private to rules/.
 *
 * Each sort of rule has one table: key, reader, place in the struct. A reader checks the JSON type, copies into the arena and
 * parses expressions and templates. All return false after a mistake, which they have handed on with its place. Whoever reads
 * several values goes on with the next one, so that one run finds all mistakes, unless the load is stopped. */
#ifndef WO_RULE_READ_INTERNAL_H
#define WO_RULE_READ_INTERNAL_H

#include "rules/files/rule_json.h"
#include "rules/load/pack_internal.h"

/* An object that is looked at again later: a definition, which needs the definitions that it uses before it, or an "off". */
struct wo_pending {
  const struct wo_rule_json *json;
  const struct wo_tree *object;
  bool is_being_read;
  bool is_read;
};

/* A let of the rule being read. If a rule is read as far as its conditions, only the lets that they use are parsed. */
struct wo_let {
  struct wo_view name;
  const struct wo_expr *expr; /* NULL: not parsed yet, or mistaken */
  const struct wo_tree *value;
};

/* How far a rule is read: whole, with its conditions only, or with what a condition needs only. */
enum wo_part { WO_PART_ALL, WO_PART_HEAD, WO_PART_NEEDS };

/* The state of one load. */
struct wo_loader {
  struct wo_pack *pack;
  enum wo_load_depth depth;
  enum wo_status status; /* of the first mistake */
  struct wo_err *err;    /* the first mistake */
  struct wo_load_notes notes;
  struct wo_err mistake; /* the one that is being made */
  size_t mistake_count;
  bool is_stopped;                 /* memory is out, or the mistakes are too many */
  bool has_unread_file;            /* names may be defined there */
  bool has_lost_lets;              /* of the rule being read: names may be defined there */
  bool uses_mistaken;              /* the expression being parsed: what is wrong with it follows from another mistake */
  const struct wo_rule_json *json; /* the file being read */
  enum wo_part part;
  bool has_user_defines; /* what conditions of built-in causes need may be something else then */
  struct wo_names names; /* facts and the lets below */
  struct wo_let lets[WO_LIMIT_LETS];
  size_t let_count;
  struct wo_pending *pending;     /* by place among the pack's definitions */
  struct wo_pending *off_pending; /* by place among pack->offs */
};

struct wo_member;
typedef bool (*wo_read_fn)(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target);

/* One key of an object. `offset` is where in the target struct the value goes, `count_offset` where the length of an array goes;
 * `unit` is that of an expression, and `how` belongs to the reader. */
struct wo_member {
  const char *key;
  wo_read_fn read;
  size_t offset;
  size_t count_offset;
  enum wo_unit unit;
  const void *how;
  bool is_deep;   /* read at WO_LOAD_ALL only */
  bool is_head;   /* read also when only the head of a rule is */
  bool is_needed; /* an object without it is refused */
};

/* Where a member goes: the value alone, or an array and its length. */
#define WO_AT(type, field) .offset = offsetof(struct type, field)
#define WO_ARRAY_AT(type, field, count) .offset = offsetof(struct type, field), .count_offset = offsetof(struct type, count)

/* The words that stand for the enumerators of a type: `how` of wo__load_word. Few words are listed in a complaint; of many the
 * closest is named. */
struct wo_rule_word {
  const char *text;
  int value;
};
struct wo_rule_words {
  const char *what; /* "weight" */
  const struct wo_rule_word *items;
  size_t count;
};

/* The elements of an array: `how` of wo__load_items. */
struct wo_items {
  size_t size;
  wo_read_fn read; /* one of them */
};

/* The form of the clauses of an array: `how` of wo__load_clauses. */
struct wo_clause_form {
  const struct wo_member *members;
  size_t count;
  enum wo_weight weight; /* of a clause that gives none */
  bool may_be_text;      /* a template alone, said always */
};
extern const struct wo_clause_form wo__form_condition; /* {"if", "say"} */
extern const struct wo_clause_form wo__form_argument;  /* {"if", "weight", "say"} */
extern const struct wo_clause_form wo__form_remark;    /* a template, or {"if", "say"} */
extern const struct wo_clause_form wo__form_question;  /* as a remark, or {"between", "say"}, with "if" or without */
extern const struct wo_clause_form wo__form_row;       /* {"label", "say"}, with "if" or without */

/* Hands on a mistake in a value or its key; false, so that `return wo__load_fail(...)` reads well. */
bool wo__load_fail(struct wo_loader *loader, const struct wo_tree *node, enum wo_rule_part part, enum wo_status code,
                   const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Hands on loader->mistake, which has its place already. */
bool wo__load_fail_made(struct wo_loader *loader);

/* Hands on loader->mistake, whose column is one of the text of `value`. */
bool wo__load_fail_inside(struct wo_loader *loader, const struct wo_tree *value);

/* Hands on the unknown names in the text of an expression from a column (from 1) on. In a template those between braces. */
void wo__load_fail_names(struct wo_loader *loader, const struct wo_tree *value, uint32_t column, bool is_template);

/* Stops the load: memory is out. */
bool wo__load_fail_nomem(struct wo_loader *loader);

/* Reads the members of an object. Unknown keys, keys that come twice and needed ones that are missing are errors. */
bool wo__load_members(struct wo_loader *loader, const struct wo_tree *object, const struct wo_member *members, size_t count,
                      void *target);

/* Readers. The comment says what is at the offset. */
#define WO_READER(name)                                                                                                          \
  bool name(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target)
WO_READER(wo__load_skip);          /* nothing */
WO_READER(wo__load_text);          /* a view, as it may be shown (wo_clean_utf8) */
WO_READER(wo__load_texts);         /* views, likewise */
WO_READER(wo__load_exacts);        /* views, unchanged: what is matched with the bytes of lines */
WO_READER(wo__load_regex);         /* a view: a regular expression that compiles */
WO_READER(wo__load_lines);         /* a view: lines with '\n' between them */
WO_READER(wo__load_bool);          /* a bool */
WO_READER(wo__load_word);          /* an enumerator; how: struct wo_rule_words */
WO_READER(wo__load_items);         /* structs; how: struct wo_items */
WO_READER(wo__load_template);      /* a template */
WO_READER(wo__load_expr);          /* an expression of the member's unit */
WO_READER(wo__load_weight);        /* a weight */
WO_READER(wo__load_clauses);       /* clauses; how: struct wo_clause_form */
WO_READER(wo__load_program_kinds); /* an unsigned: a set of kinds of programs (WO_PROGRAM_BIT) */

/* Parses an expression and checks its unit (WO_UNIT_NONE: any). */
bool wo__load_expr_of(struct wo_loader *loader, const struct wo_tree *value, enum wo_unit unit, const struct wo_expr **ret_expr);

/* Whether a text can name an expression: a letter, then letters, digits and '_'. */
bool wo__load_is_name(struct wo_view name);

/* Reads all definitions that are pending, in the order in which they need each other; refuses circles. */
void wo__load_defines(struct wo_loader *loader);

/* Puts the rules of "off" objects out of force, once all rules are read, and takes out mistaken patterns. Names that no rule has
 * are errors. */
void wo__load_apply_offs(struct wo_loader *loader);

/* Forgets the lets of the rule before; reads those of a rule (NULL: none). */
bool wo__load_lets(struct wo_loader *loader, const struct wo_tree *lets);

/* The expression that a let of the rule stands for, or NULL. Parses it where that was put off. */
const struct wo_expr *wo__load_let(struct wo_loader *loader, struct wo_view name);

/* Puts a rule off: the unread part of the cause or fix at `slot` is read when it is needed. */
void wo__late_put_off(struct wo_late *late, enum wo_sort sort, size_t slot, const struct wo_rule_json *json,
                      const struct wo_tree *object);

/* Makes the list of put-off rules of a load for one job, with a place for each cause and fix; NULL when memory is out. */
struct wo_late *wo__late_new(struct wo_arena *arena, size_t causes, size_t fixes);

/* Keeps the loader and the parsed files for as long as the pack; wo_pack_free frees both. */
void wo__late_keep(struct wo_late *late, struct wo_loader *loader, struct wo_rule_json *jsons, size_t count);

/* The string, or NULL after a complaint. */
const char *wo__load_string(struct wo_loader *loader, const struct wo_tree *value);

/* A copy of a string in the pack's arena. */
bool wo__load_copy(struct wo_loader *loader, struct wo_view text, struct wo_view *ret_copy);

/* Readers of whole rules. They fill a zeroed struct of which the id is set; a pattern's samples go beside it. */
#define WO_RULE_READER(name) bool name(struct wo_loader *loader, const struct wo_tree *object, void *rule)
WO_RULE_READER(wo__load_pattern);
WO_RULE_READER(wo__load_cause);
WO_RULE_READER(wo__load_fix);
WO_RULE_READER(wo__load_knob);
WO_RULE_READER(wo__load_phase);
WO_RULE_READER(wo__load_term);
WO_RULE_READER(wo__load_model);
WO_RULE_READER(wo__load_define); /* notes it for wo__load_defines */
WO_RULE_READER(wo__load_sign);
WO_RULE_READER(wo__load_off); /* notes it for wo__load_apply_offs */

#endif
