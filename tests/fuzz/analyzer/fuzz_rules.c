/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a rule file: loading gives a pack or an error inside the file, and what it gives can be linted, asked and
 * rendered. */
#include <stddef.h>
#include <stdint.h>

#include "rules/load/rule.h"
#include "rules/check/rule_check.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore(void *context, const struct wo_err *complaint) {
  require(complaint->code != WO_OK);
  ++*(size_t *)context;
}

static struct wo_value know_nothing(void *context, struct wo_view name) {
  return wo_value_unknown(wo_fact_unit(context, name));
}

/* The file, and the mistakes that were told of it. */
struct told {
  const uint8_t *data;
  size_t size;
  size_t count;
};

static uint64_t count_lines(const uint8_t *data, size_t size) {
  uint64_t lines = 1;
  for (size_t i = 0; i < size; i++) lines += data[i] == '\n';
  return lines;
}

/* Over unknown facts nothing is decided without reason, and everything can still be written. */
static void use_causes(struct wo_pack *pack) {
  const struct wo_facts_source facts = {.get = know_nothing, .context = pack};
  for (size_t i = 0; i < pack->cause_count; i++) {
    const struct wo_cause *const cause = &pack->causes[i];
    require(wo_pack_cause(pack, cause->id) == cause);
    const enum wo_truth constant = wo_expr_constant(cause->when);
    if (constant != WO_UNDECIDED) require(wo_expr_truth(cause->when, &facts) == constant);
    wo_template_render(cause->title, &facts, &pack->arena, NULL);
    wo_template_render(cause->summary, &facts, &pack->arena, NULL);
  }
}

static void note_mistake(void *context, const struct wo_err *mistake) {
  struct told *const told = context;
  told->count++;
  require(mistake->code != WO_OK && mistake->message[0] != '\0');
  require(mistake->line <= count_lines(told->data, told->size) && mistake->offset <= told->size);
}

/* In spite of mistakes there is a pack that can be linted; its complaints are inside the file. */
static void check_in_spite(const struct wo_rule_file *file, enum wo_status expected) {
  struct told told = {.data = (const uint8_t *)file->data, .size = file->size};
  const struct wo_load_notes notes = {.fn = note_mistake, .context = &told, .keeps_rest = true};
  struct wo_pack *pack = NULL;
  const enum wo_status status = wo_pack_load_noting(file, 1, WO_LOAD_ALL, notes, &pack);
  require(status == expected && (status != WO_OK) == (told.count > 0));
  if (pack == NULL) return;
  require(pack->mistake_count == told.count);
  wo_pack_check(pack, note_mistake, &told);
  wo_pack_free(pack);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  for (int depth = WO_LOAD_FOR_DIAGNOSIS; depth <= WO_LOAD_ALL; depth++) {
    const struct wo_rule_file file = {.name = "fuzz.json", .data = (const char *)data, .size = size};
    struct wo_pack *pack = NULL;
    struct wo_err err = {0};
    const enum wo_status status = wo_pack_load(&file, 1, (enum wo_load_depth)depth, &pack, &err);
    require((status == WO_OK) == (pack != NULL));
    if (depth == WO_LOAD_ALL) check_in_spite(&file, status);
    if (pack == NULL) {
      require(err.code == status && err.message[0] != '\0');
      require(err.line <= count_lines(data, size) && err.offset <= size);
      continue;
    }
    size_t complaints = 0;
    const size_t count = wo_pack_check(pack, ignore, &complaints);
    require(count == complaints);
    use_causes(pack);
    wo_pack_free(pack);
  }
  return 0;
}
