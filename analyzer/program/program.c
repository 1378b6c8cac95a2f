/* SPDX-License-Identifier: Apache-2.0 */
/* Weighs the signs that a job shows (analyzer/program/signs.c finds them). */
#include "analyzer/program/program.h"

#include "analyzer/program/signs.h"

/* Distinct names, platforms or vendors that are weighed against each other; packs name fewer. */
#define TEXTS_MAX 20

struct texts {
  struct wo_program_text items[TEXTS_MAX];
  size_t count;
};

static double weigh(double score, double weight) {
  return score + (1 - score) * weight;
}

static void add_text(struct texts *texts, struct wo_view text, double weight, wo_event_id evidence) {
  size_t at = 0;
  if (text.len == 0) return;
  while (at < texts->count && !wo_view_equal(texts->items[at].text, text)) at++;
  if (at == TEXTS_MAX) return;
  if (at == texts->count) texts->items[texts->count++] = (struct wo_program_text){.text = text, .evidence = evidence};
  texts->items[at].score = weigh(texts->items[at].score, weight);
}

/* The one with the highest score, of equal ones that of the earlier sign; empty when there are weak signs alone. */
static struct wo_program_text best_text(const struct texts *texts) {
  struct wo_program_text best = {.evidence = WO_EVENT_NONE};
  for (size_t i = 0; i < texts->count; i++) {
    const double score = texts->items[i].score;
    if (score >= wo_weight_value(WO_WEIGHT_MEDIUM) && score > best.score) best = texts->items[i];
  }
  return best;
}

/* Training with an engine inside (roll-outs) is training, and so is training that evaluates, generates and exports in between:
 * decisive signs of gradients settle it. Otherwise the stronger side wins if it is likely at all. */
static enum wo_program_kind choose(const double scores[WO_PROGRAM_COUNT_]) {
  enum wo_program_kind other = WO_PROGRAM_UNKNOWN;
  const double training = scores[WO_PROGRAM_TRAINING];
  for (int kind = WO_PROGRAM_TRAINING + 1; kind < WO_PROGRAM_COUNT_; kind++) {
    if (other == WO_PROGRAM_UNKNOWN || scores[kind] > scores[other]) other = (enum wo_program_kind)kind;
  }
  if (training >= WO_SCORE_CERTAIN || (training >= WO_SCORE_LIKELY && training > scores[other])) return WO_PROGRAM_TRAINING;
  return scores[other] >= WO_SCORE_LIKELY && scores[other] > training ? other : WO_PROGRAM_UNKNOWN;
}

void wo_program_judge(const struct wo_job *job, struct wo_arena *arena, struct wo_program *ret_program) {
  const struct wo_pack *const pack = job->pack;
  struct texts names = {0}, platforms = {0}, vendors = {0}, managers = {0};
  wo_event_id evidence[WO_PROGRAM_COUNT_];
  double strongest[WO_PROGRAM_COUNT_] = {0};
  *ret_program = (struct wo_program){.kind_evidence = WO_EVENT_NONE};
  for (int kind = 0; kind < WO_PROGRAM_COUNT_; kind++) evidence[kind] = WO_EVENT_NONE;
  const struct wo_signs_seen *const seen = wo_signs_collect(job, arena);
  for (size_t i = 0; seen != NULL && i < pack->sign_count; i++) {
    const struct wo_sign *const sign = &pack->signs[i];
    const double weight = wo_weight_value(sign->weight);
    const wo_event_id event = wo_signs_find(seen, sign);
    if (event == WO_EVENT_NONE) continue;
    ret_program->scores[sign->kind] = weigh(ret_program->scores[sign->kind], weight);
    if (weight > strongest[sign->kind]) evidence[sign->kind] = event;
    if (weight > strongest[sign->kind]) strongest[sign->kind] = weight;
    add_text(&names, sign->name, weight, event);
    add_text(&platforms, sign->platform, weight, event);
    add_text(&vendors, sign->vendor, weight, event);
    add_text(&managers, sign->manager, weight, event);
  }
  ret_program->kind = choose(ret_program->scores);
  ret_program->kind_evidence = evidence[ret_program->kind == WO_PROGRAM_UNKNOWN ? WO_PROGRAM_TRAINING : ret_program->kind];
  ret_program->name = best_text(&names);
  ret_program->platform = best_text(&platforms);
  ret_program->vendor = best_text(&vendors);
  ret_program->manager = best_text(&managers);
}

bool wo_program_suits(const struct wo_program *program, unsigned set) {
  if (set >> (unsigned)program->kind & 1u) return true;
  if (program->kind != WO_PROGRAM_UNKNOWN) return false;
  double inside = 0, outside = 0;
  for (int kind = WO_PROGRAM_UNKNOWN + 1; kind < WO_PROGRAM_COUNT_; kind++) {
    double *const best = set >> (unsigned)kind & 1u ? &inside : &outside;
    if (program->scores[kind] > *best) *best = program->scores[kind];
  }
  return inside >= wo_weight_value(WO_WEIGHT_WEAK) && inside > outside;
}

bool wo_program_has_steps(const struct wo_program *program) {
  return program->kind != WO_PROGRAM_IMAGE_PIPELINE && program->kind != WO_PROGRAM_INFERENCE_SERVER;
}
