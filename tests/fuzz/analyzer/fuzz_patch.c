/* SPDX-License-Identifier: Apache-2.0 */
/* Any script or configuration, and a change of one of the settings that the reader finds in it. Properties: the diff, applied by
 * the rules of unified diffs, gives exactly the planned text; a line that the change does not concern stays; and the changed
 * text, read again, shows the new value at the same place. The first byte chooses the setting, the second the sort of file. */
#include "analyzer/facts/facts.h"
#include "analyzer/patch/patch.h"
#include "analyzer/patch/patch_internal.h"
#include "parsers/base/number.h"
#include "rules/load/rule.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BYTES_MAX = 4000, HEAD = 2 };

static const char *const paths[] = {"job.sbatch", "conf.yaml", "conf.json", "conf.toml"};

static const struct wo_pack *pack(void) {
  static struct wo_pack *loaded;
  struct wo_err err;
  if (loaded == NULL) require(wo_pack_load_all(NULL, WO_LOAD_FOR_ONE_JOB, &loaded, &err) == WO_OK);
  return loaded;
}

static struct wo_job *read_job(struct wo_view content, const char *path) {
  struct wo_job *job = NULL;
  require(wo_job_new(pack(), &job) == WO_OK);
  require(wo_job_read_text(job, content, path) == WO_OK);
  require(wo_job_close(job) == WO_OK);
  return job;
}

static bool is_setting(const struct wo_event *event) {
  return event->kind == WO_KIND_CONFIG && wo_event_text(event, WO_FIELD_KEY).len > 0;
}

static const struct wo_event *choose(const struct wo_job *job, size_t choice, size_t *ret_count) {
  const struct wo_event *chosen = NULL;
  *ret_count = 0;
  for (size_t i = 0; i < job->events.count; i++) *ret_count += is_setting(&job->events.items[i]);
  for (size_t i = 0, at = 0; i<job->events.count && * ret_count> 0; i++) {
    if (is_setting(&job->events.items[i]) && at++ == choice % *ret_count) chosen = &job->events.items[i];
  }
  return chosen;
}

/* ---- The diff ---- */

static uint64_t read_number(struct wo_view *text) {
  uint64_t number = 0;
  *text = wo_view_skip(*text, 1);
  require(wo_number_u64(text, 1000000, &number) == WO_OK);
  return number;
}

struct hunk {
  uint64_t old_first, old_count, new_first, new_count;
};

static struct hunk read_hunk(struct wo_view line) {
  struct hunk hunk;
  require(wo_view_starts(line, "@@ -"));
  line = wo_view_skip(line, 3);
  hunk.old_first = read_number(&line);
  hunk.old_count = read_number(&line);
  line = wo_view_skip(line, 1);
  hunk.new_first = read_number(&line);
  hunk.new_count = read_number(&line);
  require(wo_view_is(line, " @@\n"));
  return hunk;
}

/* A line of a hunk without its mark; the remark that it has no end is taken with it. */
static struct wo_view read_line(struct wo_view *diff, char *ret_mark) {
  struct wo_view line = wo__patch_take_line(diff);
  require(line.len >= 2);
  *ret_mark = line.ptr[0];
  line = wo_view_skip(line, 1);
  if (wo_view_starts(*diff, "\\ No newline at end of file\n")) {
    wo__patch_take_line(diff);
    line.len--;
  }
  return line;
}

static void apply_hunk(const struct hunk *hunk, struct wo_view *diff, struct wo_view *before, struct wo_text *out) {
  uint64_t olds = 0, news = 0;
  while (olds < hunk->old_count || news < hunk->new_count) {
    char mark = 0;
    const struct wo_view line = read_line(diff, &mark);
    require(mark == ' ' || mark == '-' || mark == '+');
    if (mark != '+') require(wo_view_equal(wo__patch_take_line(before), line));
    if (mark != '-') wo_text_add_view(out, line);
    olds += mark != '+';
    news += mark != '-';
  }
  require(olds == hunk->old_count && news == hunk->new_count);
}

static void check_diff(struct wo_view before, const struct wo_patched *patched) {
  struct wo_text out = {0};
  const struct wo_view after = {patched->after.ptr, patched->after.len};
  uint64_t number = 1, made = 1; /* of the next line in both */
  struct wo_view rest = {patched->hunks.ptr, patched->hunks.len}, left = before;
  require(wo_view_equal(before, after) == (rest.len == 0));
  while (rest.len > 0) {
    const struct hunk hunk = read_hunk(wo__patch_take_line(&rest));
    for (; number < hunk.old_first + (hunk.old_count == 0); number++, made++) wo_text_add_view(&out, wo__patch_take_line(&left));
    require(made == hunk.new_first + (hunk.new_count == 0));
    apply_hunk(&hunk, &rest, &left, &out);
    number += hunk.old_count;
    made += hunk.new_count;
  }
  wo_text_add_view(&out, left);
  require(wo_view_equal((struct wo_view){out.ptr, out.len}, after));
  wo_text_done(&out);
}

/* ---- The change ---- */

/* Lines without the old value are none of the change's. */
static void check_lines(struct wo_view before, struct wo_view after, const struct wo_patch_edit *edit) {
  while (before.len > 0) {
    const struct wo_view old = wo__patch_take_line(&before), new = wo__patch_take_line(&after);
    if (wo_view_equal(old, new)) continue;
    require(wo_view_find(old, edit->key, 0) != WO_NOT_FOUND && wo_view_find(old, edit->value, 0) != WO_NOT_FOUND);
    require(wo_view_find(new, edit->to, 0) != WO_NOT_FOUND);
  }
  require(after.len == 0);
}

/* A limit that was reached may hide it. */
static void check_read_again(const struct wo_event *event, const struct wo_job *old, struct wo_view after, const char *path,
                             struct wo_view to) {
  struct wo_job *const job = read_job(after, path);
  bool is_found = old->events.dropped > 0 || job->events.dropped > 0;
  for (size_t i = 0; i < job->events.count && !is_found; i++) {
    const struct wo_event *const now = &job->events.items[i];
    is_found = is_setting(now) && now->span.line == event->span.line &&
               wo_view_equal(wo_event_text(now, WO_FIELD_KEY), wo_event_text(event, WO_FIELD_KEY)) &&
               wo_view_equal(wo_event_text(now, WO_FIELD_KNOB), wo_event_text(event, WO_FIELD_KNOB)) &&
               wo_view_equal(wo_event_text(now, WO_FIELD_VALUE), to);
  }
  require(is_found);
  wo_job_free(job);
}

/* A value that stands nowhere yet, so that it is not taken for one that was seen. */
static struct wo_view new_value(struct wo_view content) {
  static const char *const values[] = {"173", "2917", "40961", "7"};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    if (wo_view_find(content, wo_view_of(values[i]), 0) == WO_NOT_FOUND) return wo_view_of(values[i]);
  }
  return (struct wo_view){0};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char buf[BYTES_MAX];
  if (size < HEAD) return 0;
  const struct wo_view content = {buf, size - HEAD < BYTES_MAX ? size - HEAD : BYTES_MAX};
  memcpy(buf, data + HEAD, content.len);
  const char *const path = paths[data[1] % (sizeof paths / sizeof paths[0])];
  struct wo_job *const job = read_job(content, path);
  size_t count = 0;
  const struct wo_event *const event = choose(job, data[0], &count);
  const struct wo_view to = new_value(content);
  if (event && to.len > 0) {
    const struct wo_patch_edit edit = {.path = WO_VIEW("f"),
                                       .line = event->span.line,
                                       .byte = event->span.byte,
                                       .key = wo_event_text(event, WO_FIELD_KEY),
                                       .value = wo_event_text(event, WO_FIELD_VALUE),
                                       .to = to,
                                       .is_command = wo_view_is(wo_event_text(event, WO_FIELD_ORIGIN), "command")};
    const struct wo_patch_edit added = {.path = WO_VIEW("f"), .to = WO_VIEW("export A=1")};
    struct wo_patched made = {0}, longer = {0};
    struct wo_err err = {0};
    if (wo_patch_apply(content, &edit, 1, WO_VIEW("f"), &made, &err) == WO_OK) {
      const struct wo_view after = {made.after.ptr, made.after.len};
      check_diff(content, &made);
      check_lines(content, after, &edit);
      check_read_again(event, job, after, path, to);
    }
    if (wo_patch_apply(content, (struct wo_patch_edit[]){edit, added}, 2, WO_VIEW("f"), &longer, &err) == WO_OK) {
      check_diff(content, &longer);
    }
    wo_patched_done(&made);
    wo_patched_done(&longer);
  }
  wo_job_free(job);
  return 0;
}
