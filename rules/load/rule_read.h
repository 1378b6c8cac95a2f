/* Reading JSON members into the structs of rule.h, by tables. Private to rules/.
 *
 * Each sort of rule has one table: key, reader, place in the struct. A reader checks the JSON type, copies into the arena and
 * parses expressions and templates. All return false after the first error, which is then in loader->err with its place. */
#ifndef WO_RULE_READ_H
#define WO_RULE_READ_H

#include "rules/load/pack_index.h"
#include "rules/load/rule_json.h"

/* An object that is looked at again later: a definition, which needs those that it speaks of before it, or an "off". */
struct wo_pending {
  const struct wo_json *json;
  const struct wo_tree *object;
  bool is_being_read;
  bool is_read;
};

/* A let of the rule being read. Of a rule that is read as far as its conditions only those are parsed that they use. */
struct wo_let {
  struct wo_view name;
  const struct wo_expr *expr; /* NULL: not parsed yet */
  const struct wo_tree *value;
};

/* How far a rule is read. */
enum wo_part { WO_PART_ALL, WO_PART_HEAD };

/* The state of one load. */
struct wo_loader {
  struct wo_pack *pack;
  enum wo_load_depth depth;
  enum wo_status status;
  struct wo_err *err;
  const struct wo_json *json; /* the file being read */
  enum wo_part part;
  struct wo_names names; /* facts and the lets below */
  struct wo_let lets[WO_LIMIT_LETS];
  size_t let_count;
  struct wo_pending *pending;     /* by place among the pack's definitions */
  struct wo_pending *off_pending; /* by place among pack->offs */
};

struct wo_member;
typedef bool (*wo_read_fn)(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target);

/* One key of an object. `offset` is where in the target struct the value goes, `count_offset` where the length of an array goes,
 * `extra` what the reader makes of it. is_deep: read at WO_LOAD_ALL only; is_head: also when only the head of a rule is read. */
struct wo_member {
  const char *key;
  wo_read_fn read;
  size_t offset;
  size_t count_offset;
  int extra;
  bool is_deep;
  bool is_head;
};

/* Records an error about a value or its key; false, so that `return wo__load_fail(...)` reads well. */
bool wo__load_fail(struct wo_loader *loader, const struct wo_tree *node, enum wo_json_part part, enum wo_status code,
                   const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Records that memory is out. */
bool wo__load_fail_nomem(struct wo_loader *loader);

/* Reads the members of an object. Unknown keys, and keys that come twice, are errors. `first` members are skipped (the sort). */
bool wo__load_members(struct wo_loader *loader, const struct wo_tree *object, const struct wo_member *members, size_t count,
                      void *target);

/* Readers. The comment says what stands at the offset. */
bool wo__load_text(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member,
                   void *target); /* view */
bool wo__load_texts(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member,
                    void *target); /* views */
bool wo__load_lines(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member,
                    void *target); /* view */
bool wo__load_bool(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member,
                   void *target); /* bool */
bool wo__load_template(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member,
                       void *target); /* template */
bool wo__load_expr(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member,
                   void *target); /* unit: extra */
bool wo__load_weight(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member,
                     void *target); /* weight */
bool wo__load_clauses(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member,
                      void *target); /* clauses */
bool wo__load_skip(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member,
                   void *target); /* nothing */

/* What the clauses of an array look like: the `extra` of wo__load_clauses. */
enum wo_clause_form {
  WO_CLAUSE_CONDITION, /* {"if", "say"} */
  WO_CLAUSE_ARGUMENT,  /* {"if", "weight", "say"} */
  WO_CLAUSE_REMARK,    /* a template, or {"if", "say"} */
  WO_CLAUSE_QUESTION   /* as a remark, or {"between", "say"}, with "if" or without */
};

/* Parses an expression and checks its unit (WO_UNIT_NONE: any). */
bool wo__load_expr_of(struct wo_loader *loader, const struct wo_tree *value, enum wo_unit unit, const struct wo_expr **ret_expr);

/* Whether a text can name an expression: a letter, then letters, digits and '_'. */
bool wo__load_is_name(struct wo_view name);

/* Reads all definitions that are pending, in the order in which they need each other; refuses circles. */
bool wo__load_defines(struct wo_loader *loader);

/* Puts the rules of "off" objects out of force, once all rules are read. Names that no rule has are errors. */
bool wo__load_apply_offs(struct wo_loader *loader);

/* Forgets the lets of the rule before; reads those of a rule (NULL: none). */
bool wo__load_lets(struct wo_loader *loader, const struct wo_tree *lets);

/* The expression that a let of the rule stands for, or NULL. Parses it where that was put off. */
const struct wo_expr *wo__load_let(struct wo_loader *loader, struct wo_view name);

/* Puts a rule off: what is not read of the cause or fix at `slot` is read when it is asked for. */
void wo__late_put_off(struct wo_late *late, enum wo_sort sort, size_t slot, const struct wo_json *json,
                      const struct wo_tree *object);

/* Makes the books of a load for one job, with a place for each cause and fix; NULL when memory is out. */
struct wo_late *wo__late_new(struct wo_arena *arena, size_t causes, size_t fixes);

/* Reads the rest of a rule; true when it has all its parts. */
bool wo__late_finish(const struct wo_pack *pack, enum wo_sort sort, size_t slot);

/* Keeps the loader and the parsed files for as long as the pack; both are freed with it. */
void wo__late_keep(struct wo_late *late, struct wo_loader *loader, struct wo_json *jsons, size_t count);
void wo__late_done(struct wo_late *late);

/* The string, or NULL after a complaint. The length of an array, or WO_NOT_FOUND after a complaint. */
const char *wo__load_string(struct wo_loader *loader, const struct wo_tree *value);
size_t wo__load_array_len(struct wo_loader *loader, const struct wo_tree *value);

/* A copy of a string in the pack's arena. */
bool wo__load_copy(struct wo_loader *loader, struct wo_view text, struct wo_view *ret_copy);

/* Readers of whole rules (rule_read_cause.c, rule_read_fix.c, rule_read_pattern.c, rule_read_model.c). They fill a zeroed struct;
 * its id is set. */
bool wo__load_pattern(struct wo_loader *loader, const struct wo_tree *object, struct wo_pattern *pattern,
                      struct wo_pattern_samples *samples);
bool wo__load_cause(struct wo_loader *loader, const struct wo_tree *object, struct wo_cause *cause);
bool wo__load_fix(struct wo_loader *loader, const struct wo_tree *object, struct wo_fix *fix);
bool wo__load_knob(struct wo_loader *loader, const struct wo_tree *object, struct wo_knob *knob);
bool wo__load_phase(struct wo_loader *loader, const struct wo_tree *object, struct wo_phase_hint *phase);
bool wo__load_off(struct wo_loader *loader, const struct wo_tree *object, struct wo_off *off);
bool wo__load_term(struct wo_loader *loader, const struct wo_tree *object, struct wo_term *term);
bool wo__load_model(struct wo_loader *loader, const struct wo_tree *object, struct wo_model_shape *shape);

#endif
