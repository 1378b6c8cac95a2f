/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that would import, call or build something: refused by name. */
#include "cuda_replay/recording/snapshot/pickle_internal.h"

#include <inttypes.h>
#include <string.h>

/* The most bytes of a module and of a name in a message. */
enum { NAME_SHOWN_MAX = 80 };

/* The name comes from the file and goes to a terminal: only printable ASCII is shown. */
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
             shown[0], shown[1], wo__pickle_op_name(pickle->opcode), pickle->offset);
  wo_err_place(pickle->err, NULL, 0, 0, pickle->offset);
  return WO_E_SYNTAX;
}

enum wo_status wo__op_refuse(struct wo_pickle *pickle, uint64_t argument) {
  (void)argument;
  pickle->is_refused = true;
  return wo_pickle_fail(pickle, WO_E_SYNTAX, "would build Python objects: this is no snapshot and is not executed");
}

/* The source's window moves with the second line, so the first is kept. */
enum wo_status wo__op_refuse_lines(struct wo_pickle *pickle, uint64_t argument) {
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

/* Protocol 4 takes both names from the stack, where anything may lie. */
enum wo_status wo__op_refuse_stack(struct wo_pickle *pickle, uint64_t argument) {
  if (!wo__pickle_has_values(pickle, 2)) return wo__pickle_underflow(pickle);
  const struct wo_pickle_value module = *wo__pickle_top(pickle, 1);
  const struct wo_pickle_value name = *wo__pickle_top(pickle, 0);
  if (wo_value_kind(module) != WO_VALUE_TEXT || wo_value_kind(name) != WO_VALUE_TEXT) return wo__op_refuse(pickle, argument);
  const struct wo_view *const texts = pickle->intern->texts.items;
  return refuse_name(pickle, texts[wo_value_index(module)], texts[wo_value_index(name)]);
}
