/* SPDX-License-Identifier: Apache-2.0 */
/* The expression parser: text -> checked tree, by recursive descent.
 *
 * One function per line of the grammar in expr.h, named after what it reads. Each returns its tree, or NULL after it has filled
 * the error; so every caller only passes NULL on. Types are checked where a node is made, which is the only moment at which the
 * places of the operands are known. Recursion happens through parentheses and calls only, and is counted. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "parsers/base/units.h"
#include "rules/language/event_fact.h"
#include "rules/language/expr_internal.h"
#include "parsers/base/nearest/nearest.h"

/* One parse. `at` is the next byte of `text` that is not taken yet, `depth` the number of primaries
 * around it. `err` may be NULL: whether something failed is in `status`. */
struct parser {
  struct wo_arena *arena;
  struct wo_view text;
  size_t at;
  unsigned depth;
  size_t row_at; /* of the first column that no aggregate has taken in yet, or WO_NOT_FOUND */
  const struct wo_names *names;
  struct wo_err *err;
  enum wo_status status; /* of the first error */
};

/* An operand and where it starts, for messages. */
struct operand {
  const struct wo_node *node;
  size_t start;
};

/* Fills the error and gives NULL, so that `return fail(...)` reads well. `at` counts from 0 and the column that people see from
 * 1. Called once at most: a caller that gets NULL returns at once. */
static void *__attribute__((format(printf, 4, 5)))
fail(struct parser *p, size_t at, enum wo_status code, const char *format, ...) {
  assert(code != WO_OK && p->status == WO_OK);
  char message[sizeof p->err->message];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  p->status = wo_err_set(p->err, code, "%s", message);
  wo_err_place(p->err, NULL, 0, (uint32_t)at + 1, at);
  return NULL;
}

/* Reports a value of one unit in place of another, or of a kind of units. */
static void *fail_type(struct parser *p, size_t at, const char *expected, enum wo_unit got) {
  return fail(p, at, WO_E_TYPE, "expected %s, got %s", expected, wo_unit_name(got));
}

/* Units that can be added, ordered and negated. A ratio is a number too, so "10%" and "0.1" are one
 * thing. */
static bool is_quantity(enum wo_unit unit) {
  return unit == WO_UNIT_NUMBER || unit == WO_UNIT_BYTES || unit == WO_UNIT_DURATION;
}

/* ---- characters ------------------------------------------------------------------------------------------------------- */

/* Moves past blanks, line ends included: long conditions may be on several lines. */
static void skip_blanks(struct parser *p) {
  while (p->at < p->text.len && wo_is_space(p->text.ptr[p->at])) p->at++;
}

/* The next character that is no blank, or NUL at the end. A NUL inside the text looks the same, and
 * is refused as such: no rule of the grammar starts with it. */
static char peek(struct parser *p) {
  skip_blanks(p);
  return p->at < p->text.len ? p->text.ptr[p->at] : '\0';
}

/* Takes the character c, with blanks before it, when it comes next. */
static bool accept(struct parser *p, char c) {
  if (p->at >= p->text.len || peek(p) != c) return false;
  p->at++;
  return true;
}

/* The name at the front, without taking it; empty when there is none. The dots belong to it:
 * "oom.reserved_unallocated" is one fact, not a member of something. */
static struct wo_view peek_name(struct parser *p) {
  if (!wo_is_alpha(peek(p))) return (struct wo_view){0};
  size_t end = p->at;
  while (end < p->text.len && (wo_is_word(p->text.ptr[end]) || p->text.ptr[end] == '.')) end++;
  return wo_view_sub(p->text, p->at, end);
}

/* Takes a whole word: "not" is not taken from "nothing". The first character is looked at first,
 * because most attempts fail there. */
static bool accept_word(struct parser *p, const char *word) {
  if (peek(p) != word[0]) return false;
  const struct wo_view name = peek_name(p);
  if (!wo_view_is(name, word)) return false;
  p->at += name.len;
  return true;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------------ */

/* A node without arguments; its value is still to be set. NULL after an error. */
static struct wo_node *new_leaf(struct parser *p, enum wo_op op, enum wo_unit unit) {
  struct wo_node *const node = wo_arena_alloc(p->arena, sizeof *node);
  if (node == NULL) return fail(p, p->at, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
  *node = (struct wo_node){.op = op, .unit = unit, .height = 1, .nodes = 1};
  return node;
}

/* A constant of any unit but text, all of it taken; `start` is where it began. BOOL constants are 0 and 1. */
static struct wo_node *new_number(struct parser *p, size_t start, enum wo_unit unit, double number) {
  struct wo_node *const node = new_leaf(p, WO_OP_CONSTANT, unit);
  if (node == NULL) return NULL;
  node->as.number = number;
  node->source = wo_view_trim(wo_view_sub(p->text, start, p->at));
  return node;
}

/* Makes a node over operands, and checks that the whole stays within the limits. `at` is where it
 * would be complained about. The node borrows nothing from `operands`: their nodes are copied into
 * an array of its own.
 *
 * Sizes grow towards the root only, so checking each new node bounds every tree. The sum cannot
 * overflow, since each operand has passed the same check. */
static struct wo_node *new_node(struct parser *p, size_t at, enum wo_op op, enum wo_unit unit, const struct operand *operands,
                                size_t count) {
  assert(op > WO_OP_DEFINITION && count >= 1 && count <= WO_LIMIT_EXPR_ARGS);
  const struct wo_node **const args = wo_arena_array(p->arena, count, sizeof(const struct wo_node *));
  struct wo_node *const node = args == NULL ? fail(p, at, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM)) : new_leaf(p, op, unit);
  if (node == NULL) return NULL;
  assert(args != NULL);
  for (size_t i = 0; i < count; i++) {
    args[i] = operands[i].node;
    node->nodes += args[i]->nodes;
    if (node->height <= args[i]->height) node->height = args[i]->height + 1;
    node->has_aggregate = node->has_aggregate || args[i]->has_aggregate;
    if (args[i]->rows == WO_ROWS_NONE) continue;
    if (node->rows != WO_ROWS_NONE && node->rows != args[i]->rows) {
      return fail(p, operands[i].start, WO_E_TYPE,
                  "rank.* and card.* cannot stand in one aggregate: their rows do not belong together");
    }
    node->rows = args[i]->rows;
  }
  const size_t start = operands[0].start < at ? operands[0].start : at;
  node->source = wo_view_trim(wo_view_sub(p->text, start, p->at));
  if (node->height > WO_LIMIT_EXPR_HEIGHT) return fail(p, at, WO_E_LIMIT, "expression is too deep");
  if (node->nodes > WO_LIMIT_EXPR_NODES) return fail(p, at, WO_E_LIMIT, "expression is too large");
  node->arg_count = (uint32_t)count;
  node->as.args = args;
  return node;
}

static const struct wo_node *new_binary(struct parser *p, size_t at, enum wo_op op, enum wo_unit unit, struct operand a,
                                        struct operand b) {
  const struct operand both[] = {a, b};
  return new_node(p, at, op, unit, both, 2);
}

/* ---- functions -------------------------------------------------------------------------------------------------------- */

/* How a function's arguments are checked and what it gives. "same" keeps `if(x, 512MiB, 3)` from
 * having a value that is bytes on some days and a number on others. */
enum shape {
  SHAPE_ANY_TO_BOOL,     /* any one value */
  SHAPE_SAME_QUANTITIES, /* quantities of one unit, which is the result's */
  SHAPE_CHOICE,          /* condition, then two values of one unit */
  SHAPE_SAME,            /* values of one unit, any */
  SHAPE_TEXTS_TO_BOOL,   /* texts */
  SHAPE_NUMBERS,         /* numbers */
  SHAPE_TRUTH,           /* a condition */
  SHAPE_TRUTH_TO_NUMBER  /* a condition, of which the rows are counted */
};

struct function {
  const char *name;
  enum wo_op op;
  enum shape shape;
  size_t least; /* arguments */
  size_t most;
};

static const struct function functions[] = {
#define WO_OP(code, eval)
#define WO_OP_FUNCTION(code, eval, name, shape, least, most) {name, code, shape, least, most},
#include "rules/language/ops.def"
#undef WO_OP
#undef WO_OP_FUNCTION
};
enum { FUNCTION_COUNT = sizeof functions / sizeof functions[0] };

/* The name is not empty. Most names differ in their first letter, and a job's start reads hundreds of calls. */
static const struct function *find_function(struct wo_view name) {
  for (size_t i = 0; i < FUNCTION_COUNT; i++) {
    if (name.ptr[0] == functions[i].name[0] && wo_view_is(name, functions[i].name)) return &functions[i];
  }
  return NULL;
}

/* Whether all operands have the unit; complains about the first that has not, at the place where
 * that operand starts: in `min(oom.tried, 3)` the caret goes to the 3. */
static bool all_are(struct parser *p, const struct operand *operands, size_t count, enum wo_unit unit) {
  for (size_t i = 0; i < count; i++) {
    if (operands[i].node->unit == unit) continue;
    fail_type(p, operands[i].start, wo_unit_name(unit), operands[i].node->unit);
    return false;
  }
  return true;
}

/* The unit of the function's value over these arguments, or WO_UNIT_NONE after a complaint. No
 * function gives a value of that unit, so it can stand for failure. The return after the switch is
 * for compilers: every shape has its case. */
static enum wo_unit check_call(struct parser *p, const struct function *function, const struct operand *args, size_t count) {
  assert(count >= 1 && args[0].node != NULL);
  const enum wo_unit first = args[0].node->unit;
  switch (function->shape) {
  case SHAPE_ANY_TO_BOOL:
    return WO_UNIT_BOOL;
  case SHAPE_SAME_QUANTITIES:
    if (!is_quantity(first)) fail_type(p, args[0].start, "a quantity", first);
    return p->status == WO_OK && all_are(p, args, count, first) ? first : WO_UNIT_NONE;
  case SHAPE_CHOICE:
    assert(count == 3 && args[1].node != NULL);
    if (!all_are(p, args, 1, WO_UNIT_BOOL)) return WO_UNIT_NONE;
    return all_are(p, args + 2, 1, args[1].node->unit) ? args[1].node->unit : WO_UNIT_NONE;
  case SHAPE_SAME:
    return all_are(p, args, count, first) ? first : WO_UNIT_NONE;
  case SHAPE_TEXTS_TO_BOOL:
    return all_are(p, args, count, WO_UNIT_TEXT) ? WO_UNIT_BOOL : WO_UNIT_NONE;
  case SHAPE_NUMBERS:
    return all_are(p, args, count, WO_UNIT_NUMBER) ? WO_UNIT_NUMBER : WO_UNIT_NONE;
  case SHAPE_TRUTH:
    return all_are(p, args, count, WO_UNIT_BOOL) ? WO_UNIT_BOOL : WO_UNIT_NONE;
  case SHAPE_TRUTH_TO_NUMBER:
    return all_are(p, args, count, WO_UNIT_BOOL) ? WO_UNIT_NUMBER : WO_UNIT_NONE;
  }
  return WO_UNIT_NONE;
}

static const struct wo_node *read_or(struct parser *p);

/* Reads an operand with `read`, and notes where it starts, which is where a complaint about its unit points. */
static const struct wo_node *read_operand(struct parser *p, struct operand *ret, const struct wo_node *(*read)(struct parser *)) {
  skip_blanks(p);
  ret->start = p->at;
  ret->node = read(p);
  return ret->node;
}

/* Reads the arguments and the closing parenthesis. Returns their number, or 0 after a complaint:
 * every function takes some. `args` has room for what the function takes at most, and the surplus
 * argument is refused before it is read. Too many are blamed on the argument that is one too many,
 * too few on the call as a whole. */
static size_t read_arguments(struct parser *p, size_t start, const struct function *function, struct operand *args) {
  size_t count = 0;
  do {
    if (count == function->most) {
      fail(p, p->at, WO_E_SYNTAX, "%s() takes at most %zu argument%s", function->name, function->most,
           function->most == 1 ? "" : "s");
      return 0;
    }
    if (read_operand(p, &args[count], read_or) == NULL) return 0;
    count++;
  } while (accept(p, ','));
  if (!accept(p, ')')) {
    fail(p, p->at, WO_E_SYNTAX, "expected ',' or ')' in the call of %s()", function->name);
    return 0;
  }
  if (count < function->least) {
    fail(p, start, WO_E_SYNTAX, "%s() needs %zu arguments, got %zu", function->name, function->least, count);
    return 0;
  }
  return count;
}

/* min() and max() of one value go over the rows when that is a column; of several, they compare within a row. */
static enum wo_op op_of_call(const struct function *function, const struct operand *args, size_t count) {
  const bool has_rows = count == 1 && args[0].node->rows != WO_ROWS_NONE;
  if (has_rows && function->op == WO_OP_MIN) return WO_OP_ROWS_MIN;
  if (has_rows && function->op == WO_OP_MAX) return WO_OP_ROWS_MAX;
  return function->op;
}

/* An aggregate needs a column to go over. One within another is refused, as its cost would be the square of the rows; spread(),
 * or a comparison of two aggregates, can say the same. */
static bool check_aggregate(struct parser *p, const struct function *function, const struct operand *arg) {
  if (arg->node->has_aggregate) {
    fail(p, arg->start, WO_E_SYNTAX, "an aggregate inside %s(): compare two aggregates instead", function->name);
  } else if (arg->node->rows == WO_ROWS_NONE) {
    fail(p, arg->start, WO_E_SYNTAX, "%s() goes over rank.* or card.*, and neither stands in it", function->name);
  }
  return p->status == WO_OK;
}

/* Names the closest function that exists. */
static void *fail_unknown_function(struct parser *p, size_t start, struct wo_view name) {
  struct wo_nearest nearest = {.want = name};
  for (size_t i = 0; i < FUNCTION_COUNT; i++) wo_nearest_offer(&nearest, wo_view_of(functions[i].name));
  wo_event_function_offer(&nearest);
  char hint[WO_NEAREST_BYTES];
  return fail(p, start, WO_E_UNKNOWN, "unknown function '%.*s'%s", WO_SHOWN(name),
              wo_nearest_hint(wo_nearest_best(&nearest), hint, sizeof hint));
}

/* A call whose arguments are words becomes a fact of the name "before(a,b)": its value depends on the job alone. The name is put
 * together anew, so that blanks make no difference. */
static const struct wo_node *read_event_call(struct parser *p, size_t start, const struct wo_event_function *function) {
  struct wo_view words[WO_EVENT_WORDS] = {{0}};
  for (size_t i = 0; i < function->word_count; i++) {
    if (i > 0 && !accept(p, ','))
      return fail(p, p->at, WO_E_SYNTAX, "%s() needs %zu words", function->name, function->word_count);
    words[i] = peek_name(p);
    char hint[WO_NEAREST_BYTES];
    if (words[i].len == 0)
      return fail(p, p->at, WO_E_SYNTAX, "%s() expects a %s, without quotes", function->name, function->word_is);
    if (!wo_event_word_is_known(function, words[i])) {
      return fail(p, p->at, WO_E_UNKNOWN, "unknown %s '%.*s'%s", function->word_is, WO_SHOWN(words[i]),
                  wo_nearest_hint(wo_event_word_nearest(function, words[i]), hint, sizeof hint));
    }
    p->at += words[i].len;
  }
  if (!accept(p, ')')) return fail(p, p->at, WO_E_SYNTAX, "expected ')' in the call of %s()", function->name);
  const struct wo_view name = wo_arena_format(p->arena, "%s(%.*s%s%.*s)", function->name, WO_SHOWN(words[0]),
                                              words[1].len > 0 ? "," : "", WO_SHOWN(words[1]));
  if (name.ptr == NULL) return fail(p, start, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
  struct wo_node *const node = new_leaf(p, WO_OP_FACT, function->unit);
  if (node == NULL) return NULL;
  node->as.text = name;
  node->source = name;
  return node;
}

/* function "(" ... ")", with the name and the parenthesis already taken. */
static const struct wo_node *read_call(struct parser *p, size_t start, struct wo_view name) {
  const struct wo_event_function *const event_function = wo_event_function_find(name);
  if (event_function != NULL) return read_event_call(p, start, event_function);
  const struct function *const function = find_function(name);
  if (function == NULL) return fail_unknown_function(p, start, name);
  struct operand args[WO_LIMIT_EXPR_ARGS];
  const size_t loose_at = p->row_at;
  p->row_at = WO_NOT_FOUND;
  const size_t count = read_arguments(p, start, function, args);
  if (count == 0) return NULL;
  const enum wo_unit unit = check_call(p, function, args, count);
  if (unit == WO_UNIT_NONE) return NULL;
  const enum wo_op op = op_of_call(function, args, count);
  const bool is_aggregate = wo__op_is_aggregate(op);
  if (is_aggregate && !check_aggregate(p, function, &args[0])) return NULL;
  struct wo_node *const node = new_node(p, start, op, unit, args, count);
  if (is_aggregate && node != NULL) {
    node->rows = WO_ROWS_NONE;
    node->has_aggregate = true;
  }
  if (is_aggregate || loose_at != WO_NOT_FOUND) p->row_at = loose_at;
  return node;
}

/* ---- primaries -------------------------------------------------------------------------------------------------------- */

/* A definition's own size counts as if it were written here. Only its height is checked: the node above it sums the sizes up, and
 * a definition alone has passed the check as a tree of its own. */
static const struct wo_node *new_definition(struct parser *p, size_t start, struct wo_view name,
                                            const struct wo_expr *definition) {
  struct wo_node *const node = new_leaf(p, WO_OP_DEFINITION, definition->root->unit);
  if (node == NULL) return NULL;
  node->as.definition = definition;
  node->source = name;
  node->has_aggregate = definition->root->has_aggregate;
  node->height = definition->root->height + 1;
  node->nodes = definition->root->nodes + 1;
  if (node->height > WO_LIMIT_EXPR_HEIGHT) return fail(p, start, WO_E_LIMIT, "expression is too deep");
  return node;
}

void wo_names_complain(const struct wo_names *names, struct wo_view name, struct wo_err *err) {
  struct wo_known_names known = {.nearest.want = name};
  if (names->offer != NULL) names->offer(names->context, &known);
  wo_err_set(err, WO_E_UNKNOWN, "unknown name '%.*s'%s", WO_SHOWN(name), wo_known_hint(&known));
}

static void *fail_unknown_name(struct parser *p, size_t start, struct wo_view name) {
  struct wo_err err;
  wo_names_complain(p->names, name, &err);
  return fail(p, start, err.code, "%s", err.message);
}

/* true, false, a call, a definition, or a fact: in that order, so that none of the former can be
 * hidden by a fact. A name is taken for a call by its parenthesis alone, so a misspelt function is
 * reported as one and not as an unknown fact. The loader keeps a "let" from having the name of a
 * fact. `name` is what comes next. */
static const struct wo_node *read_name(struct parser *p, struct wo_view name) {
  const size_t start = p->at;
  p->at += name.len;
  /* The two words have different lengths. */
  if (wo_view_is(name, "true") || wo_view_is(name, "false")) return new_number(p, start, WO_UNIT_BOOL, name.len == 4);
  if (accept(p, '(')) return read_call(p, start, name);
  const struct wo_names *const names = p->names;
  const struct wo_expr *const definition = names->definition == NULL ? NULL : names->definition(names->context, name);
  if (definition != NULL) return new_definition(p, start, name, definition);
  const enum wo_unit unit = names->unit_of(names->context, name);
  if (unit == WO_UNIT_NONE) return fail_unknown_name(p, start, name);
  struct wo_node *const node = new_leaf(p, WO_OP_FACT, unit);
  if (node == NULL) return NULL;
  node->as.text = name;
  node->source = name;
  node->rows = wo_rows_of(name);
  const size_t place = names->place_of == NULL ? WO_NOT_FOUND : names->place_of(names->context, name);
  if (node->rows == WO_ROWS_NONE && place < UINT32_MAX) node->place = (uint32_t)place + 1;
  if (node->rows != WO_ROWS_NONE && p->row_at == WO_NOT_FOUND) p->row_at = start;
  return node;
}

/* A text in quotes. There are no escapes: rule files are JSON and would need them twice. A text can therefore hold everything but
 * a quote; patterns match quoted text of logs, not expressions. */
static const struct wo_node *read_text(struct parser *p) {
  const size_t start = p->at;
  const size_t end = wo_view_find_char(p->text, '"', start + 1);
  if (end == WO_NOT_FOUND) return fail(p, start, WO_E_SYNTAX, "text without a closing quote");
  struct wo_node *const node = new_leaf(p, WO_OP_CONSTANT, WO_UNIT_TEXT);
  if (node == NULL) return NULL;
  node->as.text = wo_view_sub(p->text, start + 1, end);
  node->source = wo_view_sub(p->text, start, end + 1);
  p->at = end + 1;
  return node;
}

/* Spellings of sizes that rules may use. Stricter than what logs may print: rules are written for
 * people, and "GB" would leave open which of the two is meant (PyTorch prints powers of 1024, seff
 * calls the same powers GB). */
struct size_unit {
  const char *name;
  double bytes;
};

static const struct size_unit size_units[] = {
    {"B", 1}, {"KiB", WO_KIB}, {"MiB", WO_MIB}, {"GiB", WO_GIB}, {"TiB", WO_GIB *WO_KIB}};

/* number, percentage or size. A written constant is exact, also with a fraction: only printed numbers are rounded. A blank may be
 * before the unit ("2 GiB"). */
static const struct wo_node *read_number(struct parser *p) {
  const size_t start = p->at;
  struct wo_view rest = wo_view_skip(p->text, start);
  struct wo_interval number = {0};
  if (wo_number_decimal(&rest, &number, NULL) != WO_OK) return fail(p, start, WO_E_RANGE, "number cannot be read");
  const size_t end = p->text.len - rest.len;
  p->at = end;
  if (accept(p, '%')) return new_number(p, start, WO_UNIT_NUMBER, number.mid / 100);
  for (size_t i = 0; i < sizeof size_units / sizeof size_units[0]; i++) {
    if (accept_word(p, size_units[i].name)) return new_number(p, start, WO_UNIT_BYTES, number.mid * size_units[i].bytes);
  }
  /* A word that touches the number can only be a unit that does not exist. */
  if (end < p->text.len && wo_is_word(p->text.ptr[end])) {
    const struct wo_view word = peek_name(p);
    return fail(p, end, WO_E_SYNTAX, "unknown unit '%.*s' (B, KiB, MiB, GiB, TiB)", WO_SHOWN(word));
  }
  return new_number(p, start, WO_UNIT_NUMBER, number.mid);
}

/* Reports the text that was found in place of the expected one. */
static void *fail_unexpected(struct parser *p, const char *expected) {
  if (p->at >= p->text.len) return fail(p, p->at, WO_E_SYNTAX, "expected %s, got the end", expected);
  const struct wo_view word = peek_name(p);
  if (word.len > 0) return fail(p, p->at, WO_E_SYNTAX, "expected %s, got '%.*s'", expected, WO_SHOWN(word));
  const unsigned char c = (unsigned char)p->text.ptr[p->at];
  if (c <= ' ' || c > '~') return fail(p, p->at, WO_E_SYNTAX, "expected %s, got byte 0x%02x", expected, c);
  return fail(p, p->at, WO_E_SYNTAX, "expected %s, got '%c'", expected, c);
}

/* "(" expr ")", with the first parenthesis already taken. It needs no node of its own. */
static const struct wo_node *read_group(struct parser *p) {
  const struct wo_node *const inner = read_or(p);
  if (inner == NULL) return NULL;
  skip_blanks(p);
  return accept(p, ')') ? inner : fail_unexpected(p, "')'");
}

/* Words of the grammar, which are no names. */
static bool is_keyword(struct wo_view name) {
  return name.len <= 3 && (wo_view_is(name, "and") || wo_view_is(name, "or") || wo_view_is(name, "not"));
}

/* primary = number | percentage | size | "text" | true | false | name | function "(" ... ")" | "("
 * expr ")".
 *
 * The only way down into nested expressions, and so the place where depth is counted. The count is
 * taken back on the way out, after failures too: a parse that failed is not continued, but the
 * count then means something at every moment. */
static const struct wo_node *read_primary(struct parser *p) {
  const char c = peek(p);
  if (p->depth >= WO_LIMIT_EXPR_DEPTH) return fail(p, p->at, WO_E_LIMIT, "nested more than %d deep", WO_LIMIT_EXPR_DEPTH);
  const struct wo_node *node = NULL;
  const struct wo_view name = peek_name(p);
  p->depth++;
  if (wo_is_digit(c)) {
    node = read_number(p);
  } else if (c == '"') {
    node = read_text(p);
  } else if (accept(p, '(')) {
    node = read_group(p);
  } else if (name.len > 0 && !is_keyword(name)) {
    node = read_name(p, name);
  } else {
    node = fail_unexpected(p, "a value");
  }
  p->depth--;
  return node;
}

/* ---- operators -------------------------------------------------------------------------------------------------------- */

/* unary = [ "-" ] primary. One sign only: "--x" is a typing mistake. */
static const struct wo_node *read_unary(struct parser *p) {
  const size_t start = p->at;
  if (!accept(p, '-')) return read_primary(p);
  struct operand inner;
  if (read_operand(p, &inner, read_primary) == NULL) return NULL;
  if (!is_quantity(inner.node->unit)) return fail_type(p, inner.start, "a quantity", inner.node->unit);
  return new_node(p, start, WO_OP_NEGATE, inner.node->unit, &inner, 1);
}

/* The unit of a product or quotient, or WO_UNIT_NONE after a complaint about the right operand.
 *
 *   number * number   number        bytes * number    bytes         bytes * bytes    refused
 *   number * bytes    bytes         bytes / bytes     number        number / bytes   refused
 *
 * There are no square bytes and no rates: a formula that would need them is a slip in most cases,
 * and can be written with a ratio in the others. */
static enum wo_unit check_product(struct parser *p, enum wo_op op, struct operand a, struct operand b) {
  const enum wo_unit left = a.node->unit;
  const enum wo_unit right = b.node->unit;
  if (!is_quantity(left)) {
    fail_type(p, a.start, "a quantity", left);
  } else if (right == WO_UNIT_NUMBER) {
    return left;
  } else if (op == WO_OP_DIVIDE && left == right) {
    return WO_UNIT_NUMBER;
  } else if (op == WO_OP_MULTIPLY && left == WO_UNIT_NUMBER && is_quantity(right)) {
    return right;
  } else if (op == WO_OP_DIVIDE && left != WO_UNIT_NUMBER && is_quantity(right)) {
    fail(p, b.start, WO_E_TYPE, "expected %s or number, got %s", wo_unit_name(left), wo_unit_name(right));
  } else {
    fail_type(p, b.start, is_quantity(right) ? "number" : "a quantity", right);
  }
  return WO_UNIT_NONE;
}

/* The unit of a sum or difference. Both sides have the same one, and unlike in a product the left side decides: a wrong unit is
 * blamed on the right one, unless the left could not be added to anything. */
static enum wo_unit check_sum(struct parser *p, enum wo_op op, struct operand a, struct operand b) {
  (void)op;
  const enum wo_unit unit = a.node->unit;
  if (!is_quantity(unit)) fail_type(p, a.start, "a quantity", unit);
  return p->status == WO_OK && all_are(p, &b, 1, unit) ? unit : WO_UNIT_NONE;
}

/* One of two operators of one binding, from left to right. */
struct chain {
  char signs[2];
  enum wo_op ops[2];
  const struct wo_node *(*read)(struct parser *);
  enum wo_unit (*check)(struct parser *p, enum wo_op op, struct operand a, struct operand b);
};

static inline const struct wo_node *read_chain(struct parser *p, const struct chain *chain) {
  struct operand a;
  if (read_operand(p, &a, chain->read) == NULL) return NULL;
  for (char c = peek(p); c == chain->signs[0] || c == chain->signs[1]; c = peek(p)) {
    const size_t at = p->at++;
    const enum wo_op op = chain->ops[c == chain->signs[1]];
    struct operand b;
    if (read_operand(p, &b, chain->read) == NULL) return NULL;
    const enum wo_unit unit = chain->check(p, op, a, b);
    if (unit == WO_UNIT_NONE) return NULL;
    a.node = new_binary(p, at, op, unit, a, b);
    if (a.node == NULL) return NULL;
  }
  return a.node;
}

/* product = unary { ("*" | "/") unary }. */
static const struct wo_node *read_product(struct parser *p) {
  static const struct chain product = {{'*', '/'}, {WO_OP_MULTIPLY, WO_OP_DIVIDE}, read_unary, check_product};
  return read_chain(p, &product);
}

/* sum = product { ("+" | "-") product }. */
static const struct wo_node *read_sum(struct parser *p) {
  static const struct chain sum = {{'+', '-'}, {WO_OP_ADD, WO_OP_SUBTRACT}, read_product, check_sum};
  return read_chain(p, &sum);
}

/* Longer spellings first, or "<=" would be read as "<" and then fail at "=". */
struct comparison_row {
  const char *text;
  enum wo_op op;
};

static const struct comparison_row comparisons[] = {{"==", WO_OP_EQUAL},         {"!=", WO_OP_UNEQUAL}, {"<=", WO_OP_LESS_EQUAL},
                                                    {">=", WO_OP_GREATER_EQUAL}, {"<", WO_OP_LESS},     {">", WO_OP_GREATER}};

/* Takes a comparison operator, or gives WO_OP_COUNT_, which is no op. "=" alone is none, and is reported as text in place of an
 * operator. */
static enum wo_op accept_comparison(struct parser *p) {
  skip_blanks(p);
  const struct wo_view rest = wo_view_skip(p->text, p->at);
  for (size_t i = 0; i < sizeof comparisons / sizeof comparisons[0]; i++) {
    if (!wo_view_starts(rest, comparisons[i].text)) continue;
    p->at += strlen(comparisons[i].text);
    return comparisons[i].op;
  }
  return WO_OP_COUNT_;
}

/* cmp = sum [ operator sum ]. Comparisons do not chain: "a < b < c" would compare a truth with a number. */
static const struct wo_node *read_comparison(struct parser *p) {
  struct operand a;
  if (read_operand(p, &a, read_sum) == NULL) return NULL;
  skip_blanks(p);
  const size_t at = p->at;
  const enum wo_op op = accept_comparison(p);
  if (op == WO_OP_COUNT_) return a.node;
  struct operand b;
  if (read_operand(p, &b, read_sum) == NULL) return NULL;
  if (!all_are(p, &b, 1, a.node->unit)) return NULL;
  const bool is_order = op != WO_OP_EQUAL && op != WO_OP_UNEQUAL;
  if (is_order && !is_quantity(a.node->unit)) return fail_type(p, a.start, "a quantity", a.node->unit);
  return new_binary(p, at, op, WO_UNIT_BOOL, a, b);
}

/* not = [ "not" ] cmp. Binds looser than comparisons: "not a == b" denies the whole. */
static const struct wo_node *read_not(struct parser *p) {
  skip_blanks(p);
  const size_t start = p->at;
  if (!accept_word(p, "not")) return read_comparison(p);
  struct operand inner;
  if (read_operand(p, &inner, read_comparison) == NULL) return NULL;
  if (!all_are(p, &inner, 1, WO_UNIT_BOOL)) return NULL;
  return new_node(p, start, WO_OP_NOT, WO_UNIT_BOOL, &inner, 1);
}

/* Terms joined by one word: the shape that `and` and `or` share. A single term may have any unit, because this is also the way to
 * a formula; only what is joined must be a truth. `at` is where the word is, where a tree that is too large is reported. */
static const struct wo_node *read_joined(struct parser *p, const char *word, enum wo_op op,
                                         const struct wo_node *(*read_term)(struct parser *)) {
  struct operand a;
  if (read_operand(p, &a, read_term) == NULL) return NULL;
  skip_blanks(p);
  for (size_t at = p->at; accept_word(p, word); at = p->at) {
    struct operand b;
    if (read_operand(p, &b, read_term) == NULL) return NULL;
    if (!all_are(p, &a, 1, WO_UNIT_BOOL) || !all_are(p, &b, 1, WO_UNIT_BOOL)) return NULL;
    a.node = new_binary(p, at, op, WO_UNIT_BOOL, a, b);
    if (a.node == NULL) return NULL;
    skip_blanks(p);
  }
  return a.node;
}

/* and = not { "and" not }. */
static const struct wo_node *read_and(struct parser *p) {
  return read_joined(p, "and", WO_OP_AND, read_not);
}

/* or = and { "or" and }: the whole expression. `and` binds tighter, as in Python, which the authors
 * of rules know best. */
static const struct wo_node *read_or(struct parser *p) {
  return read_joined(p, "or", WO_OP_OR, read_and);
}

/* ---- public ----------------------------------------------------------------------------------------------------------- */

/* A column has no value of its own. */
static void fail_loose(struct parser *p) {
  assert(p->row_at < p->text.len);
  p->at = p->row_at;
  const struct wo_view name = peek_name(p);
  fail(p, p->at, WO_E_SYNTAX, "'%.*s' has a value for each row: use it inside max, min, sum, spread, count, any or all",
       WO_SHOWN(name));
}

/* After a failure the nodes made so far stay in the arena, which is thrown away with the load that
 * failed. */
enum wo_status wo__expr_parse_borrowed(struct wo_arena *arena, struct wo_view text, const struct wo_names *names,
                                       const struct wo_expr **ret_expr, struct wo_err *err) {
  assert(arena != NULL && names != NULL && names->unit_of != NULL && ret_expr != NULL);
  struct parser p = {.arena = arena, .text = text, .row_at = WO_NOT_FOUND, .names = names, .err = err};
  const struct wo_node *const root = read_or(&p);
  if (root == NULL) return p.status;
  skip_blanks(&p);
  if (p.at < text.len) fail_unexpected(&p, "an operator or the end");
  if (p.status == WO_OK && root->rows != WO_ROWS_NONE) fail_loose(&p);
  if (p.status != WO_OK) return p.status;
  struct wo_expr *const expr = wo_arena_alloc(arena, sizeof *expr);
  if (expr == NULL) return wo_err_set(err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
  *expr = (struct wo_expr){.source = text, .root = root};
  *ret_expr = expr;
  return WO_OK;
}

/* The copy is what lets names and texts in the tree be views into the source. */
enum wo_status wo_expr_parse(struct wo_arena *arena, struct wo_view text, const struct wo_names *names,
                             const struct wo_expr **ret_expr, struct wo_err *err) {
  const struct wo_view copy = wo_arena_copy(arena, text);
  if (copy.ptr == NULL) return wo_err_set(err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
  return wo__expr_parse_borrowed(arena, copy, names, ret_expr, err);
}

enum wo_unit wo_expr_unit(const struct wo_expr *expr) {
  return expr->root->unit;
}
