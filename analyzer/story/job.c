/* SPDX-License-Identifier: Apache-2.0 */
/* A job's inputs: reads each through the scanner into one evidence store, and notes what could not be read. */
#include "analyzer/story/job.h"

#include <assert.h>
#include <stdlib.h>

#include "analyzer/files/names.h"
#include "analyzer/story/story.h"
#include "parsers/base/input/file_kind.h"
#include "parsers/base/input/utf16.h"
#include "parsers/base/limits.h"
#include "parsers/base/text.h"
#include "parsers/base/vec.h"
#include "parsers/base/clean.h"
#include "parsers/formats/formats.h"

static const char *const outcome_names[] = {
#define WO_OUTCOME_NAME(code, name, text) [code] = name,
    WO_OUTCOME_MAP(WO_OUTCOME_NAME)
#undef WO_OUTCOME_NAME
};

static const char *const outcome_texts[] = {
#define WO_OUTCOME_TEXT(code, name, text) [code] = text,
    WO_OUTCOME_MAP(WO_OUTCOME_TEXT)
#undef WO_OUTCOME_TEXT
};

const char *wo_outcome_name(enum wo_outcome outcome) {
  assert(outcome < WO_OUTCOME_COUNT_);
  return outcome_names[outcome];
}

const char *wo_outcome_text(enum wo_outcome outcome) {
  assert(outcome < WO_OUTCOME_COUNT_);
  return outcome_texts[outcome];
}

struct wo_job_workspace {
  const struct wo_pack *pack;
  struct wo_pattern_set *patterns;
  struct wo_scan *scan; /* NULL before the first input */
  char *buf;            /* of WO_LIMIT_READ_BYTES, and room for what UTF-16 makes of them; NULL before the first input */
};

enum wo_status wo_job_workspace_new(const struct wo_pack *pack, struct wo_job_workspace **ret_workspace) {
  struct wo_job_workspace *const workspace = calloc(1, sizeof *workspace);
  if (!workspace) return WO_E_NOMEM;
  workspace->pack = pack;
  if (wo_pattern_set_new(pack->patterns, pack->pattern_count, wo_rule_prefilter(), &workspace->patterns) != WO_OK) {
    free(workspace);
    return WO_E_NOMEM;
  }
  *ret_workspace = workspace;
  return WO_OK;
}

void wo_job_workspace_free(struct wo_job_workspace *workspace) {
  if (!workspace) return;
  wo_scan_free(workspace->scan);
  wo_pattern_set_free(workspace->patterns);
  free(workspace->buf);
  free(workspace);
}

enum wo_status wo_job_new_unread(const struct wo_pack *pack, struct wo_job **ret_job) {
  struct wo_job *job = calloc(1, sizeof *job);
  if (!job) return WO_E_NOMEM;
  wo_arena_init(&job->arena, WO_LIMIT_REPORT_BYTES);
  wo_arena_init(&job->anonymous, 2 * WO_LIMIT_STORE_BYTES);
  wo_event_store_init(&job->events);
  wo_curve_set_init(&job->curves);
  job->pack = pack;
  *ret_job = job;
  return WO_OK;
}

enum wo_status wo_job_new_in(struct wo_job_workspace *workspace, struct wo_job **ret_job) {
  struct wo_job *job = NULL;
  if (wo_job_new_unread(workspace->pack, &job) != WO_OK) return WO_E_NOMEM;
  job->workspace = workspace;
  *ret_job = job;
  return WO_OK;
}

enum wo_status wo_job_new(const struct wo_pack *pack, struct wo_job **ret_job) {
  struct wo_job_workspace *workspace = NULL;
  if (wo_job_workspace_new(pack, &workspace) != WO_OK) return WO_E_NOMEM;
  if (wo_job_new_in(workspace, ret_job) != WO_OK) {
    wo_job_workspace_free(workspace);
    return WO_E_NOMEM;
  }
  (*ret_job)->owns_workspace = true;
  return WO_OK;
}

struct wo_job *wo_job_free(struct wo_job *job) {
  if (!job) return NULL;
  if (job->owns_workspace) wo_job_workspace_free(job->workspace);
  wo_event_store_done(&job->events);
  wo_curve_set_done(&job->curves);
  wo_arena_done(&job->arena);
  wo_arena_done(&job->anonymous);
  wo_overheard_done(&job->overheard);
  free(job->inputs);
  free(job);
  return NULL;
}

void wo_job_keep_curves(struct wo_job *job) {
  job->events.curves = &job->curves;
}

void wo_job_expect(struct wo_job *job, const char *const *paths, size_t count) {
  job->paths = paths;
  job->path_count = count;
}

/* NULL beyond the limit of files, or without memory; the input is then counted. Names of files can contain any bytes; they are
 * cleaned because they are printed on terminals and in JSON. */
static struct wo_job_input *add_input(struct wo_job *job, const char *path) {
  WO_VEC(struct wo_job_input) rows = {job->inputs, job->input_count, job->input_capacity};
  const bool has_room = WO_VEC_RESERVE(&rows, 1, WO_LIMIT_INPUT_FILES);
  job->inputs = rows.items;
  job->input_capacity = rows.capacity;
  char clean[512];
  const struct wo_view shown = wo_clean_utf8(wo_view_of(path), clean, sizeof clean);
  const struct wo_view name = has_room ? wo_arena_copy(&job->arena, shown) : (struct wo_view){0};
  if (!has_room || name.len < shown.len) {
    job->left_out_count++;
    return NULL;
  }
  struct wo_job_input *row = &job->inputs[job->input_count++];
  *row = (struct wo_job_input){.format = WO_VIEW("log"), .path = name, .file = name, .is_path_exact = wo_view_is(name, path)};
  return row;
}

/* An input has space for a few notes; the first ones are the causes of the others, so the later ones are dropped. */
static void add_note(struct wo_job_input *row, struct wo_view note) {
  if (note.len > 0 && row->note_count < sizeof row->notes / sizeof row->notes[0]) row->notes[row->note_count++] = note;
}

void wo_job_add_unreadable(struct wo_job *job, const char *path, const struct wo_err *err) {
  if (job->unopened_count++ >= WO_LIMIT_UNOPENED_FILES) {
    job->left_out_count++;
    return;
  }
  struct wo_job_input *row = add_input(job, path);
  if (!row) return;
  row->is_unreadable = true;
  row->format = WO_VIEW("unknown");
  add_note(row, wo_arena_copy(&job->arena, wo_view_of(err->message)));
}

/* Notes what the readers of traces could not read and why: tables of other vendors, columns without names. Each reason is noted
 * once, not once per card. */
static void note_traces(struct wo_job *job, struct wo_job_input *row) {
  const uint32_t file = (uint32_t)(row - job->inputs);
  for (size_t i = job->events.count; i-- > 0 && job->events.items[i].span.file == file;) {
    const struct wo_event *const event = &job->events.items[i];
    if (event->kind != WO_KIND_NOTE || event->mark < WO_MARK_SMI_DMON || event->mark > WO_MARK_SMI_OTHER) continue;
    const struct wo_view message = wo_event_text(event, WO_FIELD_MESSAGE);
    if (row->note_count == 0 || !wo_view_equal(row->notes[row->note_count - 1], message)) add_note(row, message);
  }
}

static void note_caps(struct wo_job *job, struct wo_job_input *row, const struct wo_scan_summary *summary) {
  for (enum wo_cap cap = 0; cap < WO_CAP_COUNT_; cap++) {
    const uint64_t count = summary->caps[cap];
    if (count > 0) {
      add_note(row, wo_arena_format(&job->arena, "%llu %s", (unsigned long long)count, wo_cap_text(cap, count)));
    }
  }
}

/* A line that was too long to search may contain a match of the pattern. */
static void note_unsearched(struct wo_job *job, struct wo_job_input *row, const struct wo_scan_summary *summary) {
  struct wo_text text = {0};
  for (size_t i = 0; i < summary->unsearched_count; i++) {
    const struct wo_unsearched *const one = &summary->unsearched[i];
    wo_text_add(&text,
                i > 0             ? ", %llu for %.*s"
                : one->lines == 1 ? "%llu line was too long to search for %.*s"
                                  : "%llu lines were too long to search for %.*s",
                (unsigned long long)one->lines, WO_SHOWN(one->pattern->id));
  }
  if (summary->unsearched_others > 0)
    wo_text_add(&text, ", %llu for other patterns", (unsigned long long)summary->unsearched_others);
  add_note(row, wo_arena_copy(&job->arena, (struct wo_view){text.ptr, text.len}));
  wo_text_done(&text);
}

/* The format follows from the evidence in the input first, and from its name second. */
static void note_summary(struct wo_job *job, struct wo_job_input *row, const struct wo_scan_summary *summary) {
  row->bytes = summary->bytes;
  row->lines = summary->lines;
  row->format = wo_name_format(&job->events, (uint32_t)(row - job->inputs), row->path);
  if (summary->long_lines > 0) {
    add_note(row, wo_arena_format(&job->arena, "%llu line%s longer than %zu KiB read in pieces",
                                  (unsigned long long)summary->long_lines, summary->long_lines == 1 ? "" : "s",
                                  WO_LIMIT_LINE_BYTES / 1024));
  }
  if (summary->joined_lines > 0) {
    add_note(row,
             wo_arena_format(&job->arena, "wrapped at %zu columns: %llu line%s joined with the one before", summary->joined_width,
                             (unsigned long long)summary->joined_lines, summary->joined_lines == 1 ? " was" : "s were"));
  }
  note_caps(job, row, summary);
  note_unsearched(job, row, summary);
  note_traces(job, row);
}

/* The first bytes of an input decide whether it is text. */
#define SAMPLE_BYTES ((size_t)4096)

/* The format of a recording of allocations, by its first bytes; empty for everything else. A snapshot is a pickle (protocols 2 to
 * 5 start with 0x80 and their number, 0 and 1 with a dictionary) that names its segments near the start; a profile is a Chrome
 * trace; trace lines have their name in the first one. */
static struct wo_view recording_format(const char *buf, size_t len) {
  const struct wo_view front = {buf, len < SAMPLE_BYTES ? len : SAMPLE_BYTES};
  const bool is_pickle = len > 2 && (((unsigned char)buf[0] == 0x80 && buf[1] >= 2 && buf[1] <= 5) ||
                                     wo_view_starts(front, "(dp") || wo_view_starts(front, "}q"));
  if (is_pickle && (wo_view_has(front, "segments") || wo_view_has(front, "segment_type"))) return WO_VIEW("snapshot");
  const bool is_json = wo_view_starts(wo_view_trim_start(front), "{");
  if (is_json && wo_view_has(wo_view_sub(front, 0, wo_view_find_char(front, '\n', 0)), "\"whyoom_trace\""))
    return WO_VIEW("trace-lines");
  return is_json && (wo_view_has(front, "\"traceEvents\"") || wo_view_has(front, "\"deviceProperties\"")) ? WO_VIEW("profiler")
                                                                                                          : (struct wo_view){0};
}

/* Properties of an input that its first bytes show, and whether it is blank as far as it was read. */
struct front {
  bool is_binary;
  bool is_utf16;
  bool is_blank;
  struct wo_view recording;        /* its format, or empty */
  const struct wo_file_kind *kind; /* of a file that holds no log, or NULL */
};

static struct front look_at_front(struct wo_view text, struct wo_view bytes, bool is_utf16) {
  struct front front = {.is_binary = wo_file_is_binary(wo_view_sub(text, 0, SAMPLE_BYTES)),
                        .is_utf16 = is_utf16,
                        .is_blank = true,
                        .recording = recording_format(bytes.ptr, bytes.len)};
  if (front.recording.len == 0 && !is_utf16) front.kind = wo_file_kind(bytes);
  return front;
}

/* Reads to the end, to the first error (a pipe is waited for until there is enough to see what it brings), or only the first
 * block of what is no log; in each case the scanner is ended, so that lines before the error count. */
static enum wo_status pump(struct wo_job *job, struct wo_scan *scan, struct wo_input *input, struct wo_scan_summary *ret_summary,
                           struct front *ret_front, struct wo_err *err) {
  char *const buf = job->workspace->buf;
  const size_t part = job->part_bytes > 0 ? job->part_bytes : WO_LIMIT_READ_BYTES;
  struct wo_utf16 utf16 = {0};
  enum wo_status status = WO_OK;
  size_t len = 0;
  do {
    const size_t least = wo_input_bytes(input) == 0 && part >= SAMPLE_BYTES ? SAMPLE_BYTES : 1;
    size_t more = 1;
    for (len = 0; status == WO_OK && len < least && more > 0; len += more) {
      more = 0;
      status = wo_input_read(input, buf + len, part - len, &more, err);
    }
    const struct wo_view text = wo_utf16_read(&utf16, (struct wo_view){buf, len}, buf + WO_LIMIT_READ_BYTES);
    if (len > 0 && wo_input_bytes(input) == len) {
      *ret_front = look_at_front(text, (struct wo_view){buf, len}, utf16.is_on);
      if (ret_front->recording.len > 0 || ret_front->kind) break;
    }
    ret_front->is_blank = ret_front->is_blank && wo_file_is_blank(text);
    if (wo_scan_feed(scan, text.ptr, text.len) != WO_OK) status = wo_err_set(err, WO_E_NOMEM, "out of memory");
    if (job->pseudonyms && !ret_front->is_binary) wo_overheard_read(&job->overheard, text);
    const bool is_text = status == WO_OK && len > 0 && !ret_front->is_binary && !ret_front->is_utf16;
    if (is_text && job->reader) job->reader->after_part(job->reader, job, scan, input);
  } while (status == WO_OK && len > 0);
  wo_overheard_end(&job->overheard);
  const enum wo_status end = wo_scan_end(scan, ret_summary);
  return status != WO_OK ? status : end;
}

/* The scanner of the workspace, ready for an input. The rank and the host in a file's name (log_node04_3.err) apply to all of its
 * lines that do not name one. */
static enum wo_status start_scan(struct wo_job *job, const char *path, uint64_t first_line, struct wo_scan **ret_scan) {
  struct wo_job_workspace *const workspace = job->workspace;
  const struct wo_view name = wo_view_of(path);
  const int32_t local = wo_name_local_rank(name);
  const bool is_local = local != WO_RANK_UNKNOWN;
  job->curves.file = (uint32_t)(job->input_count - 1);
  const struct wo_scan_options options = {.file = (uint32_t)(job->input_count - 1),
                                          .no_prefilter = job->no_prefilter,
                                          .rank = is_local ? local : wo_name_rank(name, job->paths, job->path_count),
                                          .is_local_rank = is_local || wo_name_is_node_rank(name, job->paths, job->path_count),
                                          .host = wo_name_host(name),
                                          .first_line = first_line};
  if (!workspace->buf) workspace->buf = malloc(WO_LIMIT_READ_BYTES + WO_UTF16_ROOM(WO_LIMIT_READ_BYTES));
  if (!workspace->buf) return WO_E_NOMEM;
  if (workspace->scan) {
    wo_scan_restart(workspace->scan, &job->events, options);
  } else if (wo_scan_new(workspace->patterns, &wo_formats, &job->events, options, &workspace->scan) != WO_OK) {
    return WO_E_NOMEM;
  }
  *ret_scan = workspace->scan;
  return WO_OK;
}

enum wo_status wo_job_read(struct wo_job *job, struct wo_input *input, const char *path, struct wo_err *err) {
  struct wo_job_input *row = add_input(job, path);
  if (!row && job->input_count < WO_LIMIT_INPUT_FILES) return wo_err_nomem(err);
  if (!row) return wo_err_set(err, WO_E_LIMIT, "more than %d files for one job", WO_LIMIT_INPUT_FILES);
  if (wo_input_file_name(input)) row->is_path_exact = false; /* no file has this path */
  struct wo_scan *scan = NULL;
  if (start_scan(job, path, 1, &scan) != WO_OK) return wo_err_set(err, WO_E_NOMEM, "out of memory");
  if (job->reader && !job->reader->begin(job->reader, job, scan, input)) start_scan(job, path, 1, &scan);
  struct wo_scan_summary summary = {0};
  struct front front = {0};
  enum wo_status status = pump(job, scan, input, &summary, &front, err);
  note_summary(job, row, &summary);
  if (front.recording.len > 0) {
    row->is_recording = true;
    row->format = front.recording;
    row->bytes = wo_input_bytes(input);
    add_note(row, WO_VIEW("is a recording of allocations and no log: `whyoom replay` reads it"));
  } else if (front.kind && status == WO_OK) {
    row->format = WO_VIEW("unknown");
    row->bytes = wo_input_bytes(input);
    status = wo_err_set(err, WO_E_KIND, "is %s: %s", front.kind->name, front.kind->advice);
  } else if (front.is_binary && status == WO_OK) {
    row->format = WO_VIEW("unknown");
    status = wo_err_set(err, WO_E_KIND, "is not text: only its readable parts were read (name the log that the job wrote)");
  }
  if (front.is_utf16) {
    row->is_path_exact = false; /* bytes are those of the text as UTF-8 */
    row->bytes = wo_input_bytes(input);
    add_note(row, WO_VIEW("UTF-16: bytes count in the same text as UTF-8"));
  }
  row->is_compressed = wo_input_is_compressed(input);
  row->is_blank = status == WO_OK && (front.is_blank || wo_input_bytes(input) == 0);
  if (wo_input_tail_offset(input) > 0)
    add_note(row, wo_arena_format(&job->arena, "plain text behind the compressed part, from byte %llu, was read too",
                                  (unsigned long long)wo_input_tail_offset(input)));
  if (status != WO_OK) {
    row->is_unreadable = true;
    if (err) add_note(row, wo_arena_copy(&job->arena, wo_view_of(err->message)));
  }
  return status;
}

enum wo_status wo_job_read_text(struct wo_job *job, struct wo_view text, const char *path) {
  return wo_job_read_part(job, text, path, 1);
}

enum wo_status wo_job_read_part(struct wo_job *job, struct wo_view text, const char *path, uint64_t first_line) {
  struct wo_job_input *row = add_input(job, path);
  if (!row) return WO_E_LIMIT;
  struct wo_scan *scan = NULL;
  enum wo_status status = start_scan(job, path, first_line, &scan);
  if (status != WO_OK) return status;
  struct wo_scan_summary summary = {0};
  status = wo_scan_feed(scan, text.ptr, text.len);
  const enum wo_status end = wo_scan_end(scan, &summary);
  note_summary(job, row, &summary);
  return status != WO_OK ? status : end;
}

/* The note goes to the last input: the limit was passed there or before. */
static void note_dropped(struct wo_job *job) {
  if (job->events.dropped == 0 || job->input_count == 0) return;
  add_note(&job->inputs[job->input_count - 1],
           wo_arena_format(&job->arena, "%llu pieces of evidence beyond the limit were counted, not kept",
                           (unsigned long long)job->events.dropped));
}

/* Ranks and runs beyond the limits are not told apart; this note goes to the last input too. */
static void note_apart(struct wo_job *job) {
  uint64_t count = 0;
  for (size_t i = 0; i < job->events.count; i++) count += job->events.items[i].rank >= WO_LIMIT_RANKS;
  struct wo_job_input *const last = job->input_count > 0 ? &job->inputs[job->input_count - 1] : NULL;
  if (last && count > 0)
    add_note(last, wo_arena_format(&job->arena, "evidence of ranks from %d on, which are not told apart: %llu", WO_LIMIT_RANKS,
                                   (unsigned long long)count));
  if (last && job->story.run_count == WO_LIMIT_RUNS)
    add_note(last, wo_arena_format(&job->arena, "later runs than the first %d are not told apart", WO_LIMIT_RUNS));
}

/* Everything behind this sees pseudonyms alone. The host in a file's name is learned from the lines that it was given to, and
 * from the name itself where no line is evidence. */
static void anonymize(struct wo_job *job) {
  for (size_t i = 0; i < job->input_count; i++) {
    wo_pseudonyms_learn(job->pseudonyms, WO_NAME_OF_HOST, wo_name_host(job->inputs[i].path));
    wo_pseudonyms_learn_text(job->pseudonyms, job->inputs[i].path);
  }
  wo_event_store_anonymize(&job->events, job->pseudonyms, &job->overheard, &job->anonymous);
  wo_overheard_done(&job->overheard);
  for (size_t i = 0; i < job->input_count; i++) {
    struct wo_job_input *const input = &job->inputs[i];
    input->path = wo_pseudonyms_path(job->pseudonyms, input->path, &job->arena);
    for (size_t k = 0; k < input->note_count; k++)
      input->notes[k] = wo_pseudonyms_text(job->pseudonyms, input->notes[k], &job->arena);
  }
}

enum wo_status wo_job_close(struct wo_job *job) {
  note_dropped(job);
  if (job->pseudonyms) anonymize(job);
  if (job->owns_workspace) wo_job_workspace_free(job->workspace);
  job->owns_workspace = false;
  job->workspace = NULL;
  const enum wo_status status = wo_story_tell(job);
  note_apart(job);
  return status;
}
