/* The pickle machine: opcodes, stack, marks and memo. Texts are read here; lines of protocol 0 in pickle_text.c; containers are
 * the builder's. Reads of the memo make most of a snapshot and have a loop of their own. */
#include "cuda_replay/pickle.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "parsers/base/limits.h"
#include "parsers/base/number.h"
#include "parsers/base/vec.h"

/* The longest opcode with its fixed argument. */
enum { OP_BYTES_MAX = 9 };

enum { OP_LONG_BINGET = 'j', OP_BINGET = 'h', OP_STOP = '.' };

/* Lines of a refused opcode that are told: module and name. */
enum { NAME_SHOWN_MAX = 80 };

typedef enum wo_status handler(struct wo_pickle *pickle, uint64_t argument);

static enum wo_status put(struct wo_pickle *pickle, uint64_t slot);

static const char *op_name(uint8_t code);

/* ---- Failing ---- */

enum wo_status wo__pickle_fail(struct wo_pickle *pickle, enum wo_status status, const char *message) {
  wo_err_set(pickle->err, status, "%s (%s at byte %" PRIu64 ")", message, op_name(pickle->opcode), pickle->offset);
  wo_err_place(pickle->err, NULL, 0, 0, pickle->offset);
  return status;
}

enum wo_status wo__pickle_cut(struct wo_pickle *pickle) {
  pickle->is_cut = true;
  return WO_E_SYNTAX;
}

static enum wo_status underflow(struct wo_pickle *pickle) {
  return wo__pickle_fail(pickle, WO_E_SYNTAX, "is no valid pickle: an instruction takes more than there is");
}

/* ---- Stack ---- */

enum wo_status wo__pickle_push(struct wo_pickle *pickle, struct wo_value value) {
  if (pickle->stack.count == pickle->stack.capacity && !WO_VEC_RESERVE(&pickle->stack, 1, WO_LIMIT_PICKLE_STACK)) {
    if (pickle->stack.count < WO_LIMIT_PICKLE_STACK) return WO_E_NOMEM;
    return wo__pickle_fail(pickle, WO_E_LIMIT, "holds too many values that belong nowhere");
  }
  pickle->stack.items[pickle->stack.count++] = value;
  return WO_OK;
}

/* What lies above the last mark cannot be taken together with it. */
static size_t floor_of(const struct wo_pickle *pickle) {
  return pickle->marks.count == 0 ? 0 : pickle->marks.items[pickle->marks.count - 1];
}

static bool has_values(const struct wo_pickle *pickle, size_t count) {
  return pickle->stack.count - floor_of(pickle) >= count;
}

/* The value that lies `depth` below the top. */
static struct wo_value *top(struct wo_pickle *pickle, size_t depth) {
  assert(depth < pickle->stack.count);
  return &pickle->stack.items[pickle->stack.count - 1 - depth];
}

/* Removes the last mark. The values above it begin at *ret_start. */
static bool take_mark(struct wo_pickle *pickle, size_t *ret_start) {
  if (pickle->marks.count == 0) return false;
  *ret_start = pickle->marks.items[--pickle->marks.count];
  assert(*ret_start <= pickle->stack.count);
  return true;
}

static void drop_from(struct wo_pickle *pickle, size_t start) {
  for (size_t i = pickle->stack.count; i > start; i--) {
    if (wo_value_is_open(pickle->stack.items[i - 1])) {
      pickle->builder.drop(pickle->builder.context, pickle->stack.items[i - 1]);
    }
  }
  pickle->stack.count = start;
}

static enum wo_status op_mark(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  if (pickle->marks.count >= WO_LIMIT_PICKLE_DEPTH)
    return wo__pickle_fail(pickle, WO_E_LIMIT, "nests containers deeper than any snapshot");
  if (!WO_VEC_RESERVE(&pickle->marks, 1, WO_LIMIT_PICKLE_DEPTH)) return WO_E_NOMEM;
  pickle->marks.items[pickle->marks.count++] = pickle->stack.count;
  return WO_OK;
}

static enum wo_status op_pop(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  size_t start = 0;
  if (has_values(pickle, 1)) {
    drop_from(pickle, pickle->stack.count - 1);
    return WO_OK;
  }
  return take_mark(pickle, &start) ? WO_OK : underflow(pickle);
}

static enum wo_status op_pop_mark(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  size_t start = 0;
  if (!take_mark(pickle, &start)) return underflow(pickle);
  drop_from(pickle, start);
  return WO_OK;
}

static enum wo_status share(struct wo_pickle *pickle, struct wo_value value, struct wo_value *ret_value) {
  const enum wo_value_kind kind = wo_value_kind(value);
  *ret_value = value;
  if (!wo_value_is_open(value)) return WO_OK;
  /* Something empty stays so, and equals any other. */
  if (kind == WO_VALUE_NEW_DICT || kind == WO_VALUE_NEW_LIST) {
    *ret_value = wo_value(kind, 0);
    return WO_OK;
  }
  return pickle->builder.share(pickle->builder.context, value, ret_value);
}

static enum wo_status op_dup(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  if (!has_values(pickle, 1)) return underflow(pickle);
  struct wo_value value = {0};
  const enum wo_status status = share(pickle, *top(pickle, 0), &value);
  return status == WO_OK ? wo__pickle_push(pickle, value) : status;
}

/* ---- Memo ---- */

void wo_pickle_patch_memo(struct wo_pickle *pickle, uint32_t next_slot, struct wo_value was, struct wo_value now) {
  if (next_slot == 0 || next_slot > pickle->memo.count) return;
  struct wo_value *const slot = &pickle->memo.items[next_slot - 1];
  if (wo_value_is_same(*slot, was)) *slot = now;
}

static enum wo_status get(struct wo_pickle *pickle, uint64_t slot) {
  if (slot >= pickle->memo.count || wo_value_kind(pickle->memo.items[slot]) == WO_VALUE_UNSET)
    return wo__pickle_fail(pickle, WO_E_SYNTAX, "is no valid pickle: refers to something that was not stored");
  struct wo_value value = {0};
  const enum wo_status status = share(pickle, pickle->memo.items[slot], &value);
  return status == WO_OK ? wo__pickle_push(pickle, value) : status;
}

/* Makes slots up to and with `slot`. Every writer counts its slots up from 0 or 1, so that none can be larger than the number of
 * bytes before it: with that rule a few bytes cannot claim gigabytes. */
static enum wo_status grow_memo(struct wo_pickle *pickle, uint64_t slot) {
  const size_t count = pickle->memo.count;
  if (slot < count) return WO_OK;
  if (slot > pickle->offset + 1) return wo__pickle_fail(pickle, WO_E_SYNTAX, "is no valid pickle: stores out of order");
  if (slot >= WO_LIMIT_PICKLE_MEMO) return wo__pickle_fail(pickle, WO_E_LIMIT, "stores too many values for later use");
  const size_t more = (size_t)slot + 1 - count;
  if (!WO_VEC_RESERVE(&pickle->memo, more, WO_LIMIT_PICKLE_MEMO)) return WO_E_NOMEM;
  memset(pickle->memo.items + count, 0, more * sizeof *pickle->memo.items);
  pickle->memo.count += more;
  return WO_OK;
}

/* An open container learns where it is stored, once; a second place would have to be kept up to date as well, which no writer
 * needs. */
static enum wo_status put(struct wo_pickle *pickle, uint64_t slot) {
  if (!has_values(pickle, 1)) return underflow(pickle);
  const enum wo_status status = grow_memo(pickle, slot);
  if (status != WO_OK) return status;
  struct wo_value *const value = top(pickle, 0);
  const enum wo_value_kind kind = wo_value_kind(*value);
  struct wo_value stored = *value;
  if (kind == WO_VALUE_NEW_DICT || kind == WO_VALUE_NEW_LIST) {
    if (wo_value_payload(*value) == 0) *value = stored = wo_value(kind, slot + 1);
  } else if (wo_value_is_open(*value)) {
    uint32_t *const next_slot = pickle->builder.next_slot(pickle->builder.context, *value);
    if (*next_slot == 0) {
      *next_slot = (uint32_t)slot + 1;
    } else {
      stored = wo_value(WO_VALUE_OPAQUE, 0);
    }
  }
  pickle->memo.items[slot] = stored;
  return WO_OK;
}

static enum wo_status op_memoize(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  return put(pickle, pickle->memo.count);
}

static enum wo_status op_get1(struct wo_pickle *pickle, uint64_t argument) {
  return get(pickle, argument);
}

static enum wo_status op_put1(struct wo_pickle *pickle, uint64_t argument) {
  return put(pickle, argument);
}

#define op_get4 op_get1
#define op_put4 op_put1

static enum wo_status read_slot(struct wo_pickle *pickle, uint64_t *ret_slot) {
  struct wo_view line = {0};
  const enum wo_status status = wo__pickle_line(pickle, &line);
  if (status != WO_OK) return status;
  if (wo_number_u64(&line, UINT32_MAX - 1, ret_slot) == WO_OK && line.len == 0) return WO_OK;
  return wo__pickle_fail(pickle, WO_E_SYNTAX, "is no valid pickle: expected the number of a stored value");
}

static enum wo_status op_get_line(struct wo_pickle *pickle, uint64_t argument) {
  const enum wo_status status = read_slot(pickle, &argument);
  return status == WO_OK ? get(pickle, argument) : status;
}

static enum wo_status op_put_line(struct wo_pickle *pickle, uint64_t argument) {
  const enum wo_status status = read_slot(pickle, &argument);
  return status == WO_OK ? put(pickle, argument) : status;
}

/* ---- Numbers and constants ---- */

enum wo_status wo__pickle_push_number(struct wo_pickle *pickle, struct wo_pickle_number number) {
  if (number.kind == WO_NUMBER_SIGNED && wo_value_fits(number.is.integer))
    return wo__pickle_push(pickle, wo_value_int(number.is.integer));
  if (pickle->numbers.count >= WO_LIMIT_PICKLE_NUMBERS)
    return wo__pickle_fail(pickle, WO_E_LIMIT, "holds more fractions and huge numbers than any snapshot");
  if (!WO_VEC_RESERVE(&pickle->numbers, 1, WO_LIMIT_PICKLE_NUMBERS)) return WO_E_NOMEM;
  pickle->numbers.items[pickle->numbers.count++] = number;
  return wo__pickle_push(pickle, wo_value(WO_VALUE_NUMBER, pickle->numbers.count - 1));
}

bool wo_pickle_i64(const struct wo_pickle *pickle, struct wo_value value, int64_t *ret_number) {
  if (wo_value_kind(value) == WO_VALUE_INT) {
    *ret_number = wo_value_get_int(value);
    return true;
  }
  if (wo_value_kind(value) != WO_VALUE_NUMBER) return false;
  const struct wo_pickle_number number = pickle->numbers.items[wo_value_index(value)];
  if (number.kind == WO_NUMBER_SIGNED) *ret_number = number.is.integer;
  return number.kind == WO_NUMBER_SIGNED;
}

bool wo_pickle_u64(const struct wo_pickle *pickle, struct wo_value value, uint64_t *ret_number) {
  int64_t number = 0;
  if (wo_pickle_i64(pickle, value, &number)) {
    *ret_number = (uint64_t)number;
    return number >= 0;
  }
  if (wo_value_kind(value) != WO_VALUE_NUMBER) return false;
  const struct wo_pickle_number *const wide = &pickle->numbers.items[wo_value_index(value)];
  if (wide->kind == WO_NUMBER_UNSIGNED) *ret_number = wide->is.natural;
  return wide->kind == WO_NUMBER_UNSIGNED;
}

bool wo_pickle_double(const struct wo_pickle *pickle, struct wo_value value, double *ret_number) {
  int64_t number = 0;
  if (wo_pickle_i64(pickle, value, &number)) {
    *ret_number = (double)number;
    return true;
  }
  if (wo_value_kind(value) != WO_VALUE_NUMBER) return false;
  const struct wo_pickle_number *const wide = &pickle->numbers.items[wo_value_index(value)];
  if (wide->kind == WO_NUMBER_FLOAT) *ret_number = wide->is.real;
  return wide->kind == WO_NUMBER_FLOAT;
}

static enum wo_status op_int1(struct wo_pickle *pickle, uint64_t argument) {
  return wo__pickle_push(pickle, wo_value_int((int64_t)argument));
}

#define op_int2 op_int1

static enum wo_status op_int4(struct wo_pickle *pickle, uint64_t argument) {
  return wo__pickle_push(pickle, wo_value_int((int32_t)(uint32_t)argument));
}

static enum wo_status op_float8(struct wo_pickle *pickle, uint64_t argument) {
  const uint64_t bits = __builtin_bswap64(argument);
  struct wo_pickle_number number = {.kind = WO_NUMBER_FLOAT};
  memcpy(&number.is.real, &bits, sizeof bits);
  return wo__pickle_push_number(pickle, number);
}

/* A two's complement number of `count` bytes, least significant first. A ninth byte of zero makes a natural number of 64 bits. */
static enum wo_status push_long(struct wo_pickle *pickle, uint64_t count) {
  if (count > 9) {
    const bool is_there = wo_trace_source_skip(pickle->source, count);
    return is_there ? wo__pickle_push_number(pickle, (struct wo_pickle_number){.kind = WO_NUMBER_HUGE}) : wo__pickle_cut(pickle);
  }
  const struct wo_view front = wo_trace_source_peek(pickle->source, (size_t)count);
  if (front.len < count) return wo__pickle_cut(pickle);
  const unsigned char *const bytes = (const unsigned char *)front.ptr;
  uint64_t bits = count > 0 && bytes[count - 1] >= 0x80 ? UINT64_MAX : 0;
  for (uint64_t i = count < 8 ? count : 8; i > 0; i--) bits = bits << 8 | bytes[i - 1];
  struct wo_pickle_number number = {.kind = WO_NUMBER_SIGNED, .is.integer = (int64_t)bits};
  if (count == 9) {
    number.kind = bytes[8] == 0 ? WO_NUMBER_UNSIGNED : WO_NUMBER_HUGE;
    number.is.natural = bits;
  }
  wo_trace_source_skip(pickle->source, count);
  return wo__pickle_push_number(pickle, number);
}

static enum wo_status op_long1(struct wo_pickle *pickle, uint64_t argument) {
  return push_long(pickle, argument);
}

static enum wo_status op_long4(struct wo_pickle *pickle, uint64_t argument) {
  if (argument > INT32_MAX) return wo__pickle_fail(pickle, WO_E_SYNTAX, "is no valid pickle: a number has a negative length");
  return push_long(pickle, argument);
}

static enum wo_status op_int_line(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  return wo__pickle_int_line(pickle);
}

static enum wo_status op_float_line(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  return wo__pickle_float_line(pickle);
}

#define CONSTANT(name, kind)                                                                                                     \
  static enum wo_status op_##name(struct wo_pickle *pickle, uint64_t argument) {                                                 \
    (void)argument;                                                                                                              \
    return wo__pickle_push(pickle, wo_value(kind, 0));                                                                           \
  }
CONSTANT(none, WO_VALUE_NONE)
CONSTANT(true_value, WO_VALUE_TRUE)
CONSTANT(false_value, WO_VALUE_FALSE)
CONSTANT(empty_dict, WO_VALUE_NEW_DICT)
CONSTANT(empty_list, WO_VALUE_NEW_LIST)
CONSTANT(empty_tuple, WO_VALUE_OPAQUE)

static enum wo_status op_nothing(struct wo_pickle *pickle, uint64_t argument) {
  (void)pickle;
  (void)argument;
  return WO_OK;
}

/* ---- Texts ---- */

static enum wo_status push_text(struct wo_pickle *pickle, struct wo_view text) {
  uint32_t id = 0;
  const enum wo_status status = wo_intern_text(pickle->intern, text, &id);
  if (status == WO_E_LIMIT) return wo__pickle_fail(pickle, status, "holds more distinct text than fits");
  return status == WO_OK ? wo__pickle_push(pickle, wo_value(WO_VALUE_TEXT, id)) : status;
}

static enum wo_status op_text1(struct wo_pickle *pickle, uint64_t length) {
  const size_t kept = length < WO_LIMIT_PICKLE_TEXT_BYTES ? (size_t)length : WO_LIMIT_PICKLE_TEXT_BYTES;
  const struct wo_view front = wo_trace_source_peek(pickle->source, kept);
  if (front.len < kept) return wo__pickle_cut(pickle);
  const enum wo_status status = push_text(pickle, (struct wo_view){front.ptr, kept});
  if (status != WO_OK) return status;
  return wo_trace_source_skip(pickle->source, length) ? WO_OK : wo__pickle_cut(pickle);
}

#define op_text4 op_text1
#define op_text8 op_text1

static enum wo_status op_text_line(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  return wo__pickle_text_line(pickle);
}

static enum wo_status op_quoted_line(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  return wo__pickle_quoted_line(pickle);
}

static enum wo_status op_bytes1(struct wo_pickle *pickle, uint64_t length) {
  if (!wo_trace_source_skip(pickle->source, length)) return wo__pickle_cut(pickle);
  return wo__pickle_push(pickle, wo_value(WO_VALUE_OPAQUE, 0));
}

#define op_bytes4 op_bytes1
#define op_bytes8 op_bytes1

enum wo_status wo__pickle_line(struct wo_pickle *pickle, struct wo_view *ret_line) {
  const struct wo_view front = wo_trace_source_peek(pickle->source, WO_LIMIT_PICKLE_TEXT_BYTES);
  const size_t end = wo_view_find_char(front, '\n', 0);
  if (end == WO_NOT_FOUND) {
    if (front.len < WO_LIMIT_PICKLE_TEXT_BYTES) return wo__pickle_cut(pickle);
    return wo__pickle_fail(pickle, WO_E_LIMIT, "holds a line that is too long");
  }
  *ret_line = wo_view_sub(front, 0, end);
  wo_trace_source_skip(pickle->source, end + 1);
  return WO_OK;
}

/* ---- Containers ---- */

static enum wo_status set_pairs(struct wo_pickle *pickle, struct wo_value *dict, size_t start, bool is_whole) {
  const size_t count = pickle->stack.count - start;
  if (count % 2 != 0) return wo__pickle_fail(pickle, WO_E_SYNTAX, "is no valid pickle: a key has no value");
  const struct wo_value *const pairs = pickle->stack.items + start;
  const enum wo_value_kind kind = wo_value_kind(*dict);
  if (kind == WO_VALUE_NEW_DICT || kind == WO_VALUE_DICT) {
    const enum wo_status status = pickle->builder.set(pickle->builder.context, dict, pairs, count / 2, is_whole);
    if (status != WO_OK) return status;
    pickle->stack.count = start;
  } else {
    drop_from(pickle, start); /* of a dict that was complete, or of something that nobody needs */
  }
  return WO_OK;
}

static enum wo_status append_items(struct wo_pickle *pickle, struct wo_value *list, size_t start) {
  const enum wo_value_kind kind = wo_value_kind(*list);
  if (kind == WO_VALUE_NEW_LIST || kind == WO_VALUE_LIST) {
    const enum wo_status status =
        pickle->builder.append(pickle->builder.context, list, pickle->stack.items + start, pickle->stack.count - start);
    if (status != WO_OK) return status;
    pickle->stack.count = start;
  } else {
    drop_from(pickle, start);
  }
  return WO_OK;
}

static enum wo_status op_setitem(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  if (!has_values(pickle, 3)) return underflow(pickle);
  return set_pairs(pickle, top(pickle, 2), pickle->stack.count - 2, false);
}

/* The container below the last mark, which is removed. */
static bool take_container(struct wo_pickle *pickle, size_t *ret_start, struct wo_value **ret_container) {
  if (!take_mark(pickle, ret_start) || *ret_start <= floor_of(pickle)) return false;
  *ret_container = &pickle->stack.items[*ret_start - 1];
  return true;
}

static enum wo_status op_setitems(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  size_t start = 0;
  struct wo_value *dict = NULL;
  return take_container(pickle, &start, &dict) ? set_pairs(pickle, dict, start, true) : underflow(pickle);
}

static enum wo_status op_append(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  if (!has_values(pickle, 2)) return underflow(pickle);
  return append_items(pickle, top(pickle, 1), pickle->stack.count - 1);
}

static enum wo_status op_appends(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  size_t start = 0;
  struct wo_value *list = NULL;
  return take_container(pickle, &start, &list) ? append_items(pickle, list, start) : underflow(pickle);
}

/* DICT and LIST make the container that EMPTY_DICT and EMPTY_LIST would have put below the mark. */
static enum wo_status op_dict(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  size_t start = 0;
  struct wo_value dict = wo_value(WO_VALUE_NEW_DICT, 0);
  if (!take_mark(pickle, &start)) return underflow(pickle);
  const bool is_whole = pickle->stack.count > start;
  const enum wo_status status = is_whole ? set_pairs(pickle, &dict, start, true) : WO_OK;
  return status == WO_OK ? wo__pickle_push(pickle, dict) : status;
}

static enum wo_status op_list(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  size_t start = 0;
  struct wo_value list = wo_value(WO_VALUE_NEW_LIST, 0);
  if (!take_mark(pickle, &start)) return underflow(pickle);
  const enum wo_status status = pickle->stack.count > start ? append_items(pickle, &list, start) : WO_OK;
  return status == WO_OK ? wo__pickle_push(pickle, list) : status;
}

/* Of tuples only the pair of small numbers has a meaning: a pool's name. */
static enum wo_status make_tuple(struct wo_pickle *pickle, size_t start) {
  struct wo_value tuple = wo_value(WO_VALUE_OPAQUE, 0);
  const struct wo_value *const items = pickle->stack.items + start;
  if (pickle->stack.count - start == 2) {
    uint64_t first = 0;
    uint64_t second = 0;
    const bool is_pair = wo_pickle_u64(pickle, items[0], &first) && wo_pickle_u64(pickle, items[1], &second);
    if (is_pair && first >> WO_VALUE_PAIR_BITS == 0 && second >> WO_VALUE_PAIR_BITS == 0)
      tuple = wo_value(WO_VALUE_PAIR, first << WO_VALUE_PAIR_BITS | second);
  }
  drop_from(pickle, start);
  return wo__pickle_push(pickle, tuple);
}

static enum wo_status make_tuple_of(struct wo_pickle *pickle, size_t count) {
  return has_values(pickle, count) ? make_tuple(pickle, pickle->stack.count - count) : underflow(pickle);
}

static enum wo_status op_tuple1(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  return make_tuple_of(pickle, 1);
}

static enum wo_status op_tuple2(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  return make_tuple_of(pickle, 2);
}

static enum wo_status op_tuple3(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  return make_tuple_of(pickle, 3);
}

static enum wo_status op_tuple(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  size_t start = 0;
  return take_mark(pickle, &start) ? make_tuple(pickle, start) : underflow(pickle);
}

static enum wo_status op_frozenset(struct wo_pickle *pickle, uint64_t argument) {
  const enum wo_status status = op_pop_mark(pickle, argument);
  return status == WO_OK ? wo__pickle_push(pickle, wo_value(WO_VALUE_OPAQUE, 0)) : status;
}

/* ---- What is refused ---- */

static enum wo_status refuse_name(struct wo_pickle *pickle, struct wo_view module, struct wo_view name) {
  char shown[2][NAME_SHOWN_MAX + 1] = {0};
  const struct wo_view parts[2] = {module, name};
  for (int i = 0; i < 2; i++) {
    const size_t len = parts[i].len < NAME_SHOWN_MAX ? parts[i].len : NAME_SHOWN_MAX;
    for (size_t j = 0; j < len; j++) {
      const char c = parts[i].ptr[j];
      shown[i][j] = c > ' ' && c < 0x7f ? c : '?';
    }
  }
  pickle->is_refused = true;
  wo_err_set(pickle->err, WO_E_SYNTAX, "holds a call to %s.%s (%s at byte %" PRIu64 "): this is no snapshot and is not executed",
             shown[0], shown[1], op_name(pickle->opcode), pickle->offset);
  wo_err_place(pickle->err, NULL, 0, 0, pickle->offset);
  return WO_E_SYNTAX;
}

static enum wo_status op_refuse(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  pickle->is_refused = true;
  return wo__pickle_fail(pickle, WO_E_SYNTAX, "would build Python objects: this is no snapshot and is not executed");
}

/* The source's window moves with the second line, so the first is kept. */
static enum wo_status op_refuse_lines(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  char module[NAME_SHOWN_MAX];
  struct wo_view line = {0};
  enum wo_status status = wo__pickle_line(pickle, &line);
  if (status != WO_OK) return status;
  const size_t len = line.len < sizeof module ? line.len : sizeof module;
  memcpy(module, line.ptr, len);
  status = wo__pickle_line(pickle, &line);
  return status == WO_OK ? refuse_name(pickle, (struct wo_view){module, len}, line) : status;
}

static enum wo_status op_refuse_stack(struct wo_pickle *pickle, uint64_t argument) {
  if (!has_values(pickle, 2)) return underflow(pickle);
  const struct wo_value module = *top(pickle, 1);
  const struct wo_value name = *top(pickle, 0);
  if (wo_value_kind(module) != WO_VALUE_TEXT || wo_value_kind(name) != WO_VALUE_TEXT) return op_refuse(pickle, argument);
  const struct wo_view *const texts = pickle->intern->texts.items;
  return refuse_name(pickle, texts[wo_value_index(module)], texts[wo_value_index(name)]);
}

static enum wo_status op_stop(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  if (!has_values(pickle, 1)) return underflow(pickle);
  pickle->is_stopped = true;
  return WO_OK;
}

/* ---- The machine ---- */

static const struct op {
  const char *name;
  handler *run;
  uint8_t argument_bytes;
} ops[UINT8_MAX + 1] = {
#define WO_PICKLE_OP(code, name, argument_bytes, function) [code] = {#name, op_##function, argument_bytes},
#include "cuda_replay/pickle_ops.def"
#undef WO_PICKLE_OP
};

static const char *op_name(uint8_t code) {
  return ops[code].name == NULL ? "?" : ops[code].name;
}

static uint64_t little_endian(const char *bytes, size_t count) {
  uint64_t number = 0;
  memcpy(&number, bytes, count); /* the machine is little-endian, too */
  return number;
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arguments are copied as they stand");

/* Pushes what a row of BINGET and LONG_BINGET refers to, as far as that is simple. */
static void run_gets(struct wo_pickle *pickle) {
  const char *at = pickle->source->at;
  const char *const end = pickle->source->end;
  const struct wo_value *const memo = pickle->memo.items;
  const size_t memo_count = pickle->memo.count;
  struct wo_value *out = pickle->stack.items + pickle->stack.count;
  const struct wo_value *const out_end = pickle->stack.items + pickle->stack.capacity;
  while (end - at >= OP_BYTES_MAX && out < out_end) {
    const bool is_long = *at == OP_LONG_BINGET;
    if (!is_long && *at != OP_BINGET) break;
    const size_t slot = is_long ? (size_t)little_endian(at + 1, 4) : (size_t)(unsigned char)at[1];
    if (slot >= memo_count || wo_value_is_open(memo[slot])) break;
    *out++ = memo[slot];
    at += is_long ? 5 : 2;
  }
  pickle->source->at = at;
  pickle->stack.count = (size_t)(out - pickle->stack.items);
}

static enum wo_status step(struct wo_pickle *pickle) {
  struct wo_trace_source *const source = pickle->source;
  if (source->end - source->at < OP_BYTES_MAX) wo_trace_source_peek(source, OP_BYTES_MAX);
  const size_t there = (size_t)(source->end - source->at);
  if (there == 0) return wo__pickle_cut(pickle);
  pickle->opcode = (uint8_t)*source->at;
  pickle->offset = wo_trace_source_offset(source);
  const struct op *const op = &ops[pickle->opcode];
  if (op->run == NULL) {
    wo_err_set(pickle->err, WO_E_SYNTAX, "is no valid pickle: unknown instruction 0x%02x at byte %" PRIu64, pickle->opcode,
               pickle->offset);
    wo_err_place(pickle->err, NULL, 0, 0, pickle->offset);
    return WO_E_SYNTAX;
  }
  if (there < (size_t)op->argument_bytes + 1) return wo__pickle_cut(pickle);
  const uint64_t argument = little_endian(source->at + 1, op->argument_bytes);
  source->at += op->argument_bytes + 1;
  return op->run(pickle, argument);
}

enum wo_pickle_end wo_pickle_run(struct wo_pickle *pickle) {
  assert(pickle->source != NULL && pickle->intern != NULL && pickle->err != NULL && pickle->builder.set != NULL);
  enum wo_status status = WO_OK;
  while (status == WO_OK && !pickle->is_stopped) {
    if (pickle->memo.count > 0 && pickle->stack.count > 0) run_gets(pickle);
    status = step(pickle);
  }
  if (status == WO_OK) return WO_PICKLE_STOP;
  if (status == WO_E_NOMEM) return WO_PICKLE_FAILED;
  if (pickle->is_refused) return WO_PICKLE_REFUSED;
  return pickle->is_cut ? WO_PICKLE_CUT : WO_PICKLE_BROKEN;
}

void wo_pickle_done(struct wo_pickle *pickle) {
  WO_VEC_DONE(&pickle->stack);
  WO_VEC_DONE(&pickle->marks);
  WO_VEC_DONE(&pickle->memo);
  WO_VEC_DONE(&pickle->numbers);
}

bool wo_pickle_sniff(struct wo_view front) {
  if (front.len < 2) return false;
  if ((unsigned char)front.ptr[0] == 0x80) return front.ptr[1] >= 2 && front.ptr[1] <= 5;
  /* Protocol 1 begins with an empty dict or list that is stored at once, protocol 0 with a mark before it. */
  const char *const starts[] = {"}q", "]q", "(dp", "(lp", "}r", "]r"};
  for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
    if (wo_view_starts(front, starts[i])) return true;
  }
  return false;
}

/* ---- Closing what was cut ---- */

/* A dict that was cut lacks keys, or their values: it counts only when it is the outermost one. */
static void drop_cut_dict(struct wo_pickle *pickle, struct wo_value *value) {
  if (value == pickle->stack.items || wo_value_kind(*value) != WO_VALUE_DICT) return;
  pickle->builder.drop(pickle->builder.context, *value);
  *value = wo_value(WO_VALUE_OPAQUE, 0);
}

/* Gives the values from `start` on to the container below them, if it is one. */
static enum wo_status close_at(struct wo_pickle *pickle, size_t start) {
  struct wo_value *const container = &pickle->stack.items[start - 1];
  const enum wo_value_kind kind = wo_value_kind(*container);
  enum wo_status status = WO_OK;
  for (size_t i = start; i < pickle->stack.count; i++) drop_cut_dict(pickle, &pickle->stack.items[i]);
  if (kind == WO_VALUE_NEW_LIST || kind == WO_VALUE_LIST) {
    status = append_items(pickle, container, start);
  } else if (kind == WO_VALUE_NEW_DICT || kind == WO_VALUE_DICT) {
    if ((pickle->stack.count - start) % 2 != 0) drop_from(pickle, pickle->stack.count - 1);
    status = set_pairs(pickle, container, start, false);
    if (status == WO_OK) drop_cut_dict(pickle, container);
  }
  if (status == WO_OK) drop_from(pickle, start);
  return status;
}

enum wo_status wo_pickle_close_all(struct wo_pickle *pickle) {
  enum wo_status status = WO_OK;
  size_t start = 0;
  while (status == WO_OK && take_mark(pickle, &start)) {
    if (start > 0) {
      status = close_at(pickle, start);
    } else {
      drop_from(pickle, 0);
    }
  }
  /* Without marks (protocol 0): each value belongs to the one below it, or is the value of a key whose dict is the next. */
  while (status == WO_OK && pickle->stack.count > 1) {
    const bool is_key_below = pickle->stack.count > 2 && wo_value_kind(*top(pickle, 1)) == WO_VALUE_TEXT;
    status = close_at(pickle, pickle->stack.count - (is_key_below ? 2 : 1));
  }
  return status;
}
