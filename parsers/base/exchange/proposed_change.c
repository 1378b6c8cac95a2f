/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a proposed change. See proposed_change.h. */
#include "parsers/base/exchange/proposed_change.h"

#include "parsers/base/number.h"

#define SIZE_MAX_VALUE ((uint64_t)1 << 31)

static bool read_size(struct wo_view text, uint32_t *ret_size) {
  uint64_t value = 0;
  if (wo_number_u64(&text, SIZE_MAX_VALUE, &value) != WO_OK || text.len > 0 || value == 0) return false;
  *ret_size = (uint32_t)value;
  return true;
}

/* "micro_batch=32:16". */
static bool read_scale(struct wo_view text, struct wo_proposed_part *part) {
  const struct wo_view axis = wo_view_cut(&text, '=');
  const struct wo_view from = wo_view_cut(&text, ':');
  part->sort = wo_view_is(axis, "seq_len") ? WO_PROPOSED_SEQ_LEN : WO_PROPOSED_MICRO_BATCH;
  return (part->sort == WO_PROPOSED_SEQ_LEN || wo_view_is(axis, "micro_batch")) && read_size(from, &part->from) &&
         read_size(text, &part->to);
}

/* "shard", "shard=8", "accumulate=1:2". */
static bool read_transform(struct wo_view text, struct wo_proposed_part *part) {
  part->sort = WO_PROPOSED_TRANSFORM;
  part->text = wo_view_cut(&text, '=');
  if (wo_view_has(text, ":") && !read_size(wo_view_cut(&text, ':'), &part->from)) return false;
  return part->text.len > 0 && ((text.len == 0 && part->from == 0) || read_size(text, &part->to));
}

static struct wo_proposed_part read_part(struct wo_view item) {
  struct wo_proposed_part part = {.text = item};
  struct wo_view value = item;
  const struct wo_view name = wo_view_cut(&value, '=');
  if (wo_view_is(name, "scale") && read_scale(value, &part)) return part;
  if (wo_view_is(name, "transform") && read_transform(value, &part)) return part;
  if (wo_view_is(name, "set") && wo_view_find_char(value, ':', 0) != WO_NOT_FOUND)
    return (struct wo_proposed_part){.sort = WO_PROPOSED_SETTINGS, .text = value};
  return (struct wo_proposed_part){.sort = WO_PROPOSED_OTHER, .text = item};
}

/* The last blank cuts, so that a text may begin and end with some. */
struct wo_proposed_change wo_proposed_change_read(struct wo_view text) {
  struct wo_proposed_change change = {.count = 0};
  while ((text = wo_view_trim(text)).len > 0) {
    if (change.count == WO_PROPOSED_PARTS_MAX) {
      change.parts[change.count - 1] = (struct wo_proposed_part){.sort = WO_PROPOSED_OTHER, .text = text};
      break;
    }
    change.parts[change.count++] = read_part(wo_view_cut(&text, ' '));
  }
  return change;
}

/* ---- Settings that a fix changes ---- */

static const struct replayed {
  const char *knob;
  enum wo_proposed_sort sort;
  const char *transform, *word;
} replayed[] = {
#define WO_REPLAYED_KNOB(knob, sort, transform, word) {knob, sort, transform, word},
#include "parsers/base/exchange/replayed_knobs.def"
#undef WO_REPLAYED_KNOB
};

static const struct replayed *find_replayed(struct wo_view knob) {
  for (size_t i = 0; i < sizeof replayed / sizeof *replayed; i++) {
    if (wo_view_is(knob, replayed[i].knob)) return &replayed[i];
  }
  return NULL;
}

/* Numbers must agree where both are stated; a setting is replayed as it is written. */
static bool is_same(const struct wo_proposed_part *part, const struct replayed *row, const struct wo_changed_setting *setting) {
  if (part->sort != row->sort) return false;
  if (part->sort == WO_PROPOSED_SETTINGS) return wo_view_equal(part->text, setting->text);
  if (part->sort == WO_PROPOSED_TRANSFORM && !wo_view_is(part->text, row->transform)) return false;
  return part->from == 0 || (part->to == setting->to && (setting->from == 0 || part->from == setting->from));
}

bool wo_proposed_change_covers(const struct wo_proposed_change *change, const struct wo_changed_setting *setting) {
  const struct replayed *const row = find_replayed(setting->knob);
  for (size_t i = 0; i < change->count && row; i++) {
    if (is_same(&change->parts[i], row, setting)) return true;
  }
  return false;
}

void wo_proposed_change_leave_out(struct wo_proposed_change *change, struct wo_view knob) {
  if (change->count == WO_PROPOSED_PARTS_MAX) change->count--;
  change->parts[change->count++] = (struct wo_proposed_part){.sort = WO_PROPOSED_LEFT_OUT, .text = knob};
}

const char *wo_proposed_change_word(struct wo_view knob) {
  const struct replayed *const row = find_replayed(knob);
  return row ? row->word : NULL;
}
