/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the report of a job: facts, findings, the card's memory, folded consequences, the line to resubmit with. */
#include <assert.h>

#include "analyzer/diagnosis/diagnose.h"
#include "analyzer/diagnosis/ladder.h"
#include "analyzer/facts/sizes.h"
#include "analyzer/files/names.h"
#include "analyzer/report/report.h"
#include "parsers/base/limits.h"
#include "parsers/base/output/shell_words.h"
#include "parsers/base/units.h"

/* ---- Memory of the card ---- */

/* Share of the card below which a part that may be zero is not shown. */
#define ROUNDING_SHARE 0.002

/* A card is not full if this many times the request is free, and these bytes more than it: the driver gives memory in whole pages
 * and keeps some back. As def.has_room of the rules. */
#define CLEAR_ROOM 1.25
#define CLEAR_BYTES (256.0 * WO_MIB)

/* Parts are drawn in the order in which they are added. */
static void add_part(const struct wo_diagnosis *diagnosis, struct wo_report_memory *memory, const char *name,
                     const char *fact_name) {
  const struct wo_value value = wo_diagnosis_fact(diagnosis, fact_name);
  /* A difference whose interval starts at zero is rounding, not memory. */
  const bool is_rounding = value.number.lo <= 0 && value.number.mid < memory->capacity_bytes.mid * ROUNDING_SHARE;
  if (!value.is_known || is_rounding || memory->part_count == sizeof memory->parts / sizeof memory->parts[0]) return;
  memory->parts[memory->part_count++] = (struct wo_memory_part){wo_view_of(name), value.number};
}

/* Lines that do not fit are left out; the most important come first. */
static void add_line(struct wo_report_memory *memory, struct wo_view line) {
  const size_t cap = sizeof memory->arithmetic / sizeof memory->arithmetic[0];
  if (line.len > 0 && memory->arithmetic_count < cap) memory->arithmetic[memory->arithmetic_count++] = line;
}

/* Compares the free and the idle memory with the request. */
static void add_room(const struct wo_diagnosis *diagnosis, struct wo_report_memory *memory) {
  const struct wo_value tried = wo_diagnosis_fact(diagnosis, "oom.tried");
  const struct wo_value room = wo_diagnosis_fact(diagnosis, "oom.free");
  const struct wo_value idle = wo_diagnosis_fact(diagnosis, "oom.reserved_unallocated");
  const struct wo_value contradiction = wo_diagnosis_fact(diagnosis, "oom.contradiction");
  if (!tried.is_known || !room.is_known || contradiction.is_known) return;
  const double sum = room.number.mid + (idle.is_known ? idle.number.mid : 0);
  const char *const f = WO_BYTES_TEXT(room.number.mid);
  const char *const t = WO_BYTES_TEXT(tried.number.mid);
  const char *const s = WO_BYTES_TEXT(sum);
  const char *const verdict = sum >= tried.number.mid ? "enough, but not in one piece" : "not enough, even in one piece";
  if (room.number.mid >= tried.number.mid) {
    memory->is_room_clear = room.number.mid >= CLEAR_ROOM * tried.number.mid && room.number.mid >= tried.number.mid + CLEAR_BYTES;
    add_line(memory, wo_arena_format(diagnosis->arena, "free %s >= %s wanted: the card itself was %s", f, t,
                                     memory->is_room_clear ? "not full" : "full but for what the driver rounds up"));
  } else if (idle.is_known) {
    add_line(memory, wo_arena_format(diagnosis->arena, "free %s + unallocated %s = %s %s %s wanted: %s", f,
                                     WO_BYTES_TEXT(idle.number.mid), s, sum >= tried.number.mid ? ">=" : "<", t, verdict));
  } else {
    add_line(memory, wo_arena_format(diagnosis->arena, "free %s < %s wanted", f, t));
  }
}

/* Figures contradict each other if the message was cut or mixed with another rank's. */
static void add_size(const struct wo_diagnosis *diagnosis, struct wo_report_memory *memory) {
  const struct wo_value tried = wo_diagnosis_fact(diagnosis, "oom.tried");
  const struct wo_value contradiction = wo_diagnosis_fact(diagnosis, "oom.contradiction");
  if (contradiction.is_known) {
    add_line(memory, wo_arena_format(diagnosis->arena, "%.*s: the figures are not read as parts of one sum",
                                     WO_SHOWN(contradiction.text)));
  }
  if (!tried.is_known || tried.number.lo <= memory->capacity_bytes.hi) return;
  add_line(memory, wo_arena_format(diagnosis->arena, "wanted %s > %s, the whole card", WO_BYTES_TEXT(tried.number.mid),
                                   WO_BYTES_TEXT(memory->capacity_bytes.mid)));
}

/* What is outside the own process. Where others are only what a usual context leaves of the rest, they are drawn if they are sure
 * to be there, and the context as unaccounted; else the whole rest is unaccounted. */
static void add_outsiders(const struct wo_diagnosis *diagnosis, struct wo_report_memory *memory) {
  const bool is_counted =
      wo_diagnosis_fact(diagnosis, "oom.process").is_known || wo_diagnosis_fact(diagnosis, "oom.other_processes_listed").is_known;
  const struct wo_value others = wo_diagnosis_fact(diagnosis, "part.other_processes");
  const bool is_shown = others.is_known && (is_counted || others.number.lo > 0);
  if (is_shown) add_part(diagnosis, memory, "other_processes", "part.other_processes");
  add_part(diagnosis, memory, "unaccounted", is_shown ? "part.unknown" : "oom.unaccounted");
}

/* Nothing is drawn without the card's capacity. */
static void make_memory(const struct wo_diagnosis *diagnosis, struct wo_report *report) {
  struct wo_value capacity = wo_diagnosis_fact(diagnosis, "oom.capacity");
  if (!capacity.is_known) capacity = wo_diagnosis_fact(diagnosis, "part.total"); /* the limit of the process */
  if (!capacity.is_known) return;
  struct wo_report_memory *memory = &report->memory;
  report->has_memory = true;
  memory->capacity_bytes = capacity.number;
  const struct wo_value gpu = wo_diagnosis_fact(diagnosis, "oom.gpu");
  memory->gpu = gpu.is_known && gpu.number.mid <= INT32_MAX ? (int32_t)gpu.number.mid : -1;
  memory->is_contradictory = wo_diagnosis_fact(diagnosis, "oom.contradiction").is_known;
  add_part(diagnosis, memory, "allocated", "oom.allocated");
  add_part(diagnosis, memory, "reserved_unallocated", "oom.reserved_unallocated");
  add_part(diagnosis, memory, "non_pytorch", "oom.non_pytorch");
  add_outsiders(diagnosis, memory);
  add_part(diagnosis, memory, "free", "oom.free");
  add_size(diagnosis, memory);
  add_room(diagnosis, memory);
}

/* Steps up from a run that fits. */
static enum wo_status make_ladder(const struct wo_diagnosis *diagnosis, struct wo_report *report) {
  struct wo_ladder *const ladder = wo_arena_alloc(diagnosis->arena, sizeof *ladder);
  if (!ladder) return WO_E_NOMEM;
  if (wo_ladder_find(diagnosis, ladder)) report->ladder = ladder;
  return WO_OK;
}

/* One step up from a run that fits is known better than any saving from the settings that failed. */
static enum wo_status make_first_change(const struct wo_diagnosis *diagnosis, struct wo_report *report) {
  if (!wo_report_tells_failure(report) || !report->ladder || report->job->story.outcome != WO_OUTCOME_GPU_OOM) return WO_OK;
  struct wo_finding_fix *const fix = wo_arena_alloc(diagnosis->arena, sizeof *fix);
  if (!fix) return WO_E_NOMEM;
  if (wo_ladder_change(diagnosis, report->ladder, fix)) report->first_change = fix;
  return WO_OK;
}

/* ---- Consequences ---- */

/* Sorts of consequences that are counted separately. */
#define FOLD_MAX 32

/* Users look for the exception in their logs; lines without one are named by their pattern. */
static struct wo_view fold_name(const struct wo_event *event) {
  const struct wo_view exception = wo_event_text(event, WO_FIELD_EXCEPTION);
  if (exception.len > 0) return exception;
  return event->pattern_id.len > 0 ? event->pattern_id : wo_view_of(wo_kind_name(event->kind));
}

/* Ranks that a sort of consequence was seen on, one bit for each of 256. */
struct fold_state {
  uint64_t ranks[FOLD_MAX][4];
};

/* When no more sorts fit, the last one counts the rest, so that the total stays right. */
static void count_fold(struct wo_report_fold *folds, size_t *count, struct fold_state *state, const struct wo_event *event) {
  const struct wo_view name = fold_name(event);
  size_t at = 0;
  while (at < *count && !wo_view_equal(folds[at].what, name)) at++;
  if (at == *count && *count == FOLD_MAX) at--;
  if (at == *count) folds[(*count)++] = (struct wo_report_fold){.what = name};
  folds[at].count++;
  if (event->rank == WO_RANK_UNKNOWN) return;
  const uint32_t slot = (uint32_t)event->rank % 256;
  if (state->ranks[at][slot / 64] >> (slot % 64) & 1) return;
  state->ranks[at][slot / 64] |= UINT64_C(1) << (slot % 64);
  folds[at].rank_count++;
}

/* One failure in a job of 64 ranks causes hundreds of tracebacks: they are counted and not listed. */
static enum wo_status make_folds(const struct wo_diagnosis *diagnosis, struct wo_report *report) {
  const struct wo_job *job = report->job;
  struct wo_report_fold *folds = wo_arena_array(diagnosis->arena, FOLD_MAX, sizeof *folds);
  struct fold_state *state = wo_arena_alloc(diagnosis->arena, sizeof *state);
  if (!folds || !state) return WO_E_NOMEM;
  for (size_t i = 0; i < job->events.count; i++) {
    const enum wo_role role = job->story.roles[i];
    if (role != WO_ROLE_CONSEQUENCE && role != WO_ROLE_REPEAT) continue;
    count_fold(folds, &report->fold_count, state, &job->events.items[i]);
  }
  report->folds = folds;
  return WO_OK;
}

/* ---- Resubmission ---- */

/* Whether the block of an scontrol dump is about a job with that id and that task of an array (-1: unknown). */
static bool is_about(const struct wo_event *block, struct wo_view id, int64_t task) {
  const bool is_task = wo_event_whole(block, WO_FIELD_ARRAY_TASK, -1) == task;
  return wo_view_equal(wo_event_text(block, WO_FIELD_JOB), id) ||
         (is_task && wo_view_equal(wo_event_text(block, WO_FIELD_ARRAY_JOB), id));
}

/* Whether the block begins as scontrol begins it, and is about the job that is diagnosed: the one of whose id the names of the
 * other inputs are ("slurm-4711.out"), else the one that their lines name. */
static bool is_own_block(const struct wo_job *job, const struct wo_event *block) {
  const bool is_whole = wo_view_starts(wo_view_trim_start(block->text), "JobId=") &&
                        wo_event_text(block, WO_FIELD_JOB_NAME).len > 0 && !block->is_quoted;
  bool is_named = false;
  for (size_t i = 0; i < job->input_count && is_whole; i++) {
    int64_t task = -1;
    const struct wo_view id = wo_name_job(job->inputs[i].path, &task);
    if (id.len == 0 || i == block->span.file) continue;
    if (is_about(block, id, task)) return true;
    is_named = true;
  }
  return is_whole && !is_named && job->story.job_id.len > 0 && is_about(block, job->story.job_id, job->story.array_task);
}

/* The command (an absolute path and its arguments) that an scontrol dump has for the job; empty without one. Lines of a log,
 * which may be anybody's, never become a command. */
static struct wo_view find_submitted(const struct wo_job *job) {
  wo_each_event (event, &job->events) {
    const struct wo_view command = wo_event_text(event, WO_FIELD_PROGRAM);
    if (event->mark != WO_MARK_SCONTROL || !wo_view_starts(command, "/") || !is_own_block(job, event)) continue;
    if (wo_name_is_control(&job->events, event->span.file)) return command;
  }
  return (struct wo_view){0};
}

/* A script among the inputs, by its name: a log can print lines that make it look like one. Empty without one. */
static struct wo_view find_script(const struct wo_job *job) {
  for (size_t i = 0; i < job->input_count; i++) {
    const struct wo_job_input *const input = &job->inputs[i];
    const bool is_usable = input->is_path_exact && !input->is_compressed && !input->is_unreadable;
    if (is_usable && wo_name_is_script(input->path)) return input->path;
  }
  return (struct wo_view){0};
}

/* Words of a command that scontrol prints. */
enum { COMMAND_WORDS_MAX = 64 };

/* The words of a command behind the first one. False if there are too many. */
static bool add_arguments(struct wo_view command, struct wo_view words[COMMAND_WORDS_MAX], size_t *count) {
  wo_view_word(&command);
  for (struct wo_view word = wo_view_word(&command); word.len > 0; word = wo_view_word(&command)) {
    if (*count == COMMAND_WORDS_MAX) return false;
    words[(*count)++] = word;
  }
  return true;
}

/* The script that is given, else the one that was submitted, with the arguments that it was submitted with. */
static void make_resubmit(const struct wo_diagnosis *diagnosis, struct wo_report *report) {
  if (!wo_report_tells_failure(report) || report->findings[0].fix_count == 0) return;
  const struct wo_view script = find_script(report->job), submitted = find_submitted(report->job);
  struct wo_view rest = submitted;
  const struct wo_view program = wo_view_word(&rest);
  const bool is_same = wo_view_equal(wo_name_base(script), wo_name_base(program));
  struct wo_view words[COMMAND_WORDS_MAX] = {WO_VIEW("sbatch"),
                                             script.len > 0 ? wo_shell_path(diagnosis->arena, script) : program};
  struct wo_text text = {0};
  size_t count = 2;
  const bool is_whole = (script.len > 0 && !is_same) || add_arguments(submitted, words, &count);
  if (words[1].len > 0 && is_whole && wo_shell_add_command(&text, words, count))
    report->resubmit = wo_arena_copy(diagnosis->arena, (struct wo_view){text.ptr, text.len});
  wo_text_done(&text);
}

/* Findings are made before the line to resubmit with, which is shown only if a fix is proposed. */
static enum wo_status fill(struct wo_report *report, const struct wo_job *job, const struct wo_pack *pack, bool is_brief) {
  const struct wo_facts *const facts = &report->facts;
  enum wo_status status = wo_facts_make(job, pack, &report->arena, &report->facts);
  if (status != WO_OK) return status;
  const struct wo_diagnosis diagnosis = {
      .facts = facts, .pack = pack, .source = wo_facts_source(facts), .arena = &report->arena, .is_brief = is_brief};
  if (facts->sizes->has_request) report->request = facts->sizes;
  status = wo_diagnose(&diagnosis, &report->findings, &report->finding_count);
  if (status == WO_OK) status = make_folds(&diagnosis, report);
  if (status == WO_OK) status = make_ladder(&diagnosis, report);
  if (status == WO_OK && !is_brief) status = make_first_change(&diagnosis, report);
  report->shortage = wo_shortage_find(&diagnosis);
  make_memory(&diagnosis, report);
  make_resubmit(&diagnosis, report);
  return wo_arena_is_exhausted(&report->arena) ? WO_E_NOMEM : status;
}

static enum wo_status make(const struct wo_job *job, const struct wo_pack *pack, bool is_brief, struct wo_report **ret_report) {
  struct wo_report *report = calloc(1, sizeof *report);
  if (!report) return WO_E_NOMEM;
  wo_arena_init(&report->arena, WO_LIMIT_REPORT_BYTES);
  report->job = job;
  const enum wo_status status = fill(report, job, pack, is_brief);
  if (status != WO_OK) {
    wo_report_free(report);
    return status;
  }
  *ret_report = report;
  return WO_OK;
}

enum wo_status wo_report_make(const struct wo_job *job, const struct wo_pack *pack, struct wo_report **ret_report) {
  return make(job, pack, false, ret_report);
}

enum wo_status wo_report_make_brief(const struct wo_job *job, const struct wo_pack *pack, struct wo_report **ret_report) {
  return make(job, pack, true, ret_report);
}

bool wo_report_is_refuted(const struct wo_finding_fix *fix) {
  return fix->proof != NULL && fix->proof->is_tried ? fix->proof->margin_bytes < 0 : fix->suffices == WO_SUFFICES_NO;
}

size_t wo_report_first_fix(const struct wo_finding *finding) {
  for (size_t i = 0; i < finding->fix_count; i++) {
    const struct wo_finding_fix *const fix = &finding->fixes[i];
    if (fix->cost_rank != WO_COST_RANK_MAX && !wo_report_is_refuted(fix)) return i;
  }
  return 0;
}

/* A job that just ends has none. */
const struct wo_event *wo_report_where(const struct wo_report *report) {
  const struct wo_story *const story = &report->job->story;
  const struct wo_event *event = wo_event_get(&report->job->events, story->failure);
  if (event == NULL && story->outcome_evidence_count > 0) event = wo_event_get(&report->job->events, story->outcome_evidence[0]);
  if (event != NULL || report->finding_count == 0) return event;
  const struct wo_finding *const finding = &report->findings[0];
  if (finding->for_count == 0 || finding->for_[0].evidence_count == 0) return NULL;
  return wo_event_get(&report->job->events, finding->for_[0].evidence[0]);
}

struct wo_report *wo_report_free(struct wo_report *report) {
  if (!report) return NULL;
  wo_arena_done(&report->arena);
  free(report);
  return NULL;
}
