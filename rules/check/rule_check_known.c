/* The lint's look from the program at the packs: ids and marks that code knows, and that a pack must therefore have. */
#include "rules/check/rule_check.h"
#include "rules/language/nearest.h"

/* The sorts of known_ids.def. */
enum sort { KNOB, PHASE };

struct known_id {
  enum sort sort;
  const char *id;
};

static const struct known_id known_ids[] = {
#define WO_KNOWN_ID(sort, id, why) {sort, id},
#include "rules/language/known_ids.def"
#undef WO_KNOWN_ID
};

/* The id of a rule of the sort, by its place; empty behind the last. */
static struct wo_view id_at(const struct wo_pack *pack, enum sort sort, size_t at) {
  if (sort == KNOB) return at < pack->knob_count ? pack->knobs[at].id : (struct wo_view){0};
  return at < pack->phase_count ? pack->phases[at].phase : (struct wo_view){0};
}

static void check_known_id(struct wo_check *check, const struct known_id *known) {
  struct wo_nearest nearest = {.want = wo_view_of(known->id)};
  for (size_t i = 0; id_at(check->pack, known->sort, i).len > 0; i++) {
    const struct wo_view id = id_at(check->pack, known->sort, i);
    if (wo_view_equal(id, nearest.want)) return;
    wo_nearest_offer(&nearest, id);
  }
  char hint[WO_NEAREST_BYTES];
  wo__check_complain(check, (struct wo_rule_place){0}, WO_E_UNKNOWN, "the program needs the %s '%s', which no rule has%s",
                     known->sort == KNOB ? "knob" : "phase", known->id,
                     wo_nearest_hint(wo_nearest_best(&nearest), hint, sizeof hint));
}

static void check_mark(struct wo_check *check, enum wo_mark mark) {
  for (size_t i = 0; i < check->pack->own_pattern_count; i++) {
    if (check->pack->patterns[i].mark == mark) return;
  }
  wo__check_complain(check, (struct wo_rule_place){0}, WO_E_UNKNOWN, "the program needs the mark '%s', which no pattern has",
                     wo_mark_name(mark));
}

size_t wo_pack_check_known(const struct wo_pack *pack, wo_complaint_fn fn, void *context) {
  struct wo_check check = {.pack = pack, .fn = fn, .context = context};
  for (size_t i = 0; i < sizeof known_ids / sizeof known_ids[0]; i++) check_known_id(&check, &known_ids[i]);
  for (int mark = WO_MARK_NONE + 1; mark < WO_MARK_COUNT_; mark++) check_mark(&check, (enum wo_mark)mark);
  return check.complaints;
}
