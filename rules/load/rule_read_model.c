/* Known models: their keys, and where each goes. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "rules/load/rule_read.h"

#define COUNT_OF(table) (sizeof(table) / sizeof(table)[0])
#define IN_MODEL(field) .offset = offsetof(struct wo_model_shape, field)

/* Sizes beyond this are no models of this world, and would no longer be exact in a product. */
#define COUNT_MAX 1e13

/* A whole number above zero. */
static bool read_count(struct wo_loader *loader, const struct wo_tree *value, const struct wo_member *member, void *target) {
  if (!wo_tree_is(value, WO_TREE_NUMBER)) return wo__load_fail(loader, value, WO_JSON_VALUE, WO_E_TYPE, "expected a number");
  const double count = value->as.number;
  if (!(count >= 1 && count <= COUNT_MAX) || count != floor(count)) {
    return wo__load_fail(loader, value, WO_JSON_VALUE, WO_E_RANGE, "expected a whole number above zero");
  }
  memcpy((char *)target + member->offset, &count, sizeof count);
  return true;
}

static const struct wo_member model_members[] = {
    {.key = "model", .read = wo__load_skip},
    {.key = "names", .read = wo__load_texts, IN_MODEL(names), .count_offset = offsetof(struct wo_model_shape, name_count)},
    {.key = "architecture", .read = wo__load_text, IN_MODEL(architecture)},
    {.key = "parameters", .read = read_count, IN_MODEL(parameters)},
    {.key = "layers", .read = read_count, IN_MODEL(layers)},
    {.key = "hidden", .read = read_count, IN_MODEL(hidden)},
    {.key = "intermediate", .read = read_count, IN_MODEL(intermediate)},
    {.key = "heads", .read = read_count, IN_MODEL(heads)},
    {.key = "kv_heads", .read = read_count, IN_MODEL(kv_heads)},
    {.key = "head_dim", .read = read_count, IN_MODEL(head_dim)},
    {.key = "vocab", .read = read_count, IN_MODEL(vocab)},
    {.key = "positions", .read = read_count, IN_MODEL(positions)},
    {.key = "experts", .read = read_count, IN_MODEL(experts)},
    {.key = "tied", .read = wo__load_bool, IN_MODEL(is_tied)},
    {.key = "source", .read = wo__load_text, IN_MODEL(source), .is_deep = true},
};

/* A shape with a hole in it would be read as one with a part of size zero. A vocabulary and a table of positions may be missing:
 * there are models without. */
bool wo__load_model(struct wo_loader *loader, const struct wo_tree *object, struct wo_model_shape *shape) {
  assert(shape->id.len > 0);
  if (!wo__load_members(loader, object, model_members, COUNT_OF(model_members), shape)) return false;
  static const struct {
    const char *key;
    size_t offset;
  } needed[] = {{"parameters", offsetof(struct wo_model_shape, parameters)},
                {"layers", offsetof(struct wo_model_shape, layers)},
                {"hidden", offsetof(struct wo_model_shape, hidden)},
                {"intermediate", offsetof(struct wo_model_shape, intermediate)},
                {"heads", offsetof(struct wo_model_shape, heads)},
                {"kv_heads", offsetof(struct wo_model_shape, kv_heads)},
                {"head_dim", offsetof(struct wo_model_shape, head_dim)}};
  for (size_t i = 0; i < COUNT_OF(needed); i++) {
    double count = 0;
    memcpy(&count, (const char *)shape + needed[i].offset, sizeof count);
    if (count == 0) return wo__load_fail(loader, object, WO_JSON_VALUE, WO_E_SYNTAX, "missing key '%s'", needed[i].key);
  }
  return true;
}
