/* SPDX-License-Identifier: Apache-2.0 */
/* The memory failure: how often and where it was reported, its text, and the lines of the program that it came from. */
#include "analyzer/card/figure.h"
#include "analyzer/facts/facts_internal.h"
#include "analyzer/story/story.h"

/* A block may be larger than its tensor by this share. */
#define BLOCK_SHARE 0.01

/* Steps from which a failure no longer counts as one of the first. */
#define FIRST_STEPS 3

/* Counts for "count.<kind>". Quoted and survived events do not count: a rule that asks for a segmentation fault means one that
 * did harm. */
void wo__facts_counts(struct wo_facts *facts) {
  const struct wo_job *job = facts->job;
  wo_each_event (event, &job->events) {
    if (wo_facts_is_counted(job, event)) facts->counts[event->kind]++;
  }
}

/* How often the failure was reported, and by how many ranks. All ranks point to a setting, a single one to uneven work. Ranks are
 * counted by their last eight bits, so the number is a lower bound for more than 256 ranks. */
static void read_repeats(struct wo_facts *facts, const struct wo_event *failure) {
  const struct wo_job *job = facts->job;
  size_t count = 0;
  size_t ranks = 0;
  uint64_t seen[4] = {0};
  wo_each_event (event, &job->events) {
    const enum wo_role role = job->story.roles[event->id];
    if (event->kind != failure->kind || (role != WO_ROLE_FAILURE && role != WO_ROLE_REPEAT)) continue;
    count++;
    const uint32_t slot = (uint32_t)event->rank % 256;
    if (event->rank == WO_RANK_UNKNOWN || (seen[slot / 64] >> (slot % 64) & 1)) continue;
    seen[slot / 64] |= UINT64_C(1) << (slot % 64);
    ranks++;
  }
  wo__set_number(facts, "oom.count", (double)count, failure->id);
  if (ranks > 0) wo__set_number(facts, "oom.rank_count", (double)ranks, failure->id);
}

/* The innermost function belongs to PyTorch or a library; the user can change the file of the user's own frame. Hints that are
 * not for the innermost frames are about the card: the loop that keeps a graph is in the user's own, outer frame. */
static void read_traceback(struct wo_facts *facts, bool is_of_card) {
  const struct wo_story *story = &facts->job->story;
  const struct wo_event *traceback = wo_event_get(&facts->job->events, story->traceback);
  if (!traceback) return;
  const struct wo_view frames = wo_event_text(traceback, WO_FIELD_FRAMES);
  wo__set_text(facts, "oom.function", wo_event_text(traceback, WO_FIELD_INNER_FUNCTION), traceback->id);
  wo__set_text(facts, "oom.user_file", wo_event_text(traceback, WO_FIELD_FRAME_FILE), traceback->id);
  if (frames.len == 0) return;
  for (size_t i = 0; i < facts->pack->phase_count; i++) {
    const struct wo_phase_hint *const hint = &facts->pack->phases[i];
    if (hint->fact.len == 0 || !(hint->is_innermost || is_of_card)) continue;
    wo__set_bool(facts, hint->fact.ptr, wo_story_hint_shows(hint, frames), traceback->id);
  }
}

/* A failure in the first steps comes from sizes that are wrong from the start; one that comes late, from growth or from an odd
 * batch. Epochs are too long to tell. */
static void read_step(struct wo_facts *facts, const struct wo_event *failure) {
  const struct wo_story *story = &facts->job->story;
  if (story->step < 0 || !wo_program_has_steps(&facts->program)) return;
  wo__set_number(facts, "oom.step", (double)story->step, failure->id);
  wo__set_text(facts, "oom.step_unit", story->step_unit, failure->id);
  const bool counts_steps = !wo_view_is(story->step_unit, "epoch");
  if (counts_steps) wo__set_bool(facts, "oom.first_step", story->step < FIRST_STEPS, failure->id);
}

/* Messages of the same kind within this number of lines after a failure belong to it: engines report one failure in several
 * sentences. */
#define TEXT_LINES 12

/* Bytes of one sentence, and of all, that are kept. */
#define SENTENCE_BYTES 400
#define TEXT_BYTES 1600

/* The events are in the order of lines, so the sentences are joined as printed. Each is cut, so that a long one leaves space for
 * the next. */
static void read_text(struct wo_facts *facts, const struct wo_event *failure) {
  char text[TEXT_BYTES];
  size_t len = 0;
  for (size_t i = (size_t)failure->id; i < facts->job->events.count; i++) {
    const struct wo_event *event = &facts->job->events.items[i];
    if (event->kind != failure->kind || event->span.file != failure->span.file) continue;
    if (event->span.line > failure->span.line + TEXT_LINES) break;
    const struct wo_view part = wo_view_sub(event->text, 0, SENTENCE_BYTES);
    if (len + part.len + 1 > sizeof text) break;
    if (len > 0) text[len++] = ' ';
    memcpy(text + len, part.ptr, part.len);
    len += part.len;
  }
  wo__set_text(facts, "oom.text", wo_arena_copy(facts->arena, (struct wo_view){text, len}), failure->id);
}

/* Whether both tell of one request: the first one's figure is rounded, the second one's is that of the tensor, which is rounded
 * up to a block. */
static bool is_same_request(const struct wo_event *failure, const struct wo_event *repeat) {
  const struct wo_figure a = wo_figure_of(failure, WO_FIELD_TRIED_BYTES);
  const struct wo_figure b = wo_figure_of(repeat, WO_FIELD_TRIED_BYTES);
  return a.is_known && b.is_known && b.value.lo <= a.value.hi && b.value.hi >= a.value.lo * (1 - BLOCK_SHARE);
}

/* The message that names the tensor: an allocator gives the size alone, and the operation that asked for it says the shape below
 * the allocator's dump. */
static const struct wo_event *find_shape(const struct wo_facts *facts, const struct wo_event *failure) {
  if (wo_event_field(failure, WO_FIELD_SHAPE)) return failure;
  for (size_t i = (size_t)failure->id + 1; i < facts->job->events.count; i++) {
    const struct wo_event *const event = &facts->job->events.items[i];
    if (event->kind != failure->kind || event->span.file != failure->span.file || event->rank != failure->rank) continue;
    return wo_event_field(event, WO_FIELD_SHAPE) && is_same_request(failure, event) ? event : failure;
  }
  return failure;
}

/* Only for memory failures: the "oom." facts of other endings stay unknown, and rules about memory cannot hold. */
void wo__facts_failure(struct wo_facts *facts) {
  const struct wo_event *failure = wo__failure_of(facts);
  if (!failure || !wo_story_is_memory(failure)) return;
  wo__set_text(facts, "oom.kind", wo_view_of(wo_kind_name(failure->kind)), failure->id);
  if (failure->rank != WO_RANK_UNKNOWN) wo__set_number(facts, "oom.rank", failure->rank, failure->id);
  wo__set_text(facts, "oom.phase", facts->job->story.phase, failure->id);
  const bool is_card = wo_kind_class(failure->kind) == WO_CLASS_GPU_MEMORY;
  if (is_card) wo__set_text(facts, "oom.program", wo_event_text(failure, WO_FIELD_PROGRAM), failure->id);
  const struct wo_event *const tensor = find_shape(facts, failure);
  wo__set_text(facts, "oom.shape", wo_event_text(tensor, WO_FIELD_SHAPE), tensor->id);
  wo__set_field(facts, "oom.batch", tensor, WO_FIELD_BATCH);
  wo__set_text(facts, "oom.other_process_pids", wo_event_text(failure, WO_FIELD_OTHER_PROCESS_PIDS), failure->id);
  wo__set_field(facts, "oom.gpu", failure, WO_FIELD_GPU);
  wo__set_field(facts, "oom.max_model_len", failure, WO_FIELD_MAX_MODEL_LEN);
  if (failure->kind == WO_KIND_VLLM_KV) wo__set_field(facts, "oom.fitting_tokens", failure, WO_FIELD_KV_TOKENS);
  read_repeats(facts, failure);
  read_text(facts, failure);
  read_traceback(facts, is_card);
  read_step(facts, failure);
}
