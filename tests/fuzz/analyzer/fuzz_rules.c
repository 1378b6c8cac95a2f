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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  for (int depth = WO_LOAD_FOR_DIAGNOSIS; depth <= WO_LOAD_ALL; depth++) {
    const struct wo_rule_file file = {.name = "fuzz.json", .data = (const char *)data, .size = size};
    struct wo_pack *pack = NULL;
    struct wo_err err = {0};
    const enum wo_status status = wo_pack_load(&file, 1, (enum wo_load_depth)depth, &pack, &err);
    require((status == WO_OK) == (pack != NULL));
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
