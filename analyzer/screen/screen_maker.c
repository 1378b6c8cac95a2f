/* SPDX-License-Identifier: Apache-2.0 */
/* What the makers of all parts of the first screen use. */
#include "analyzer/files/names.h"
#include "analyzer/screen/screen_internal.h"

struct wo_text *wo__screen_start(struct wo__screen_maker *m) {
  m->scratch.len = 0;
  return &m->scratch;
}

struct wo_view wo__screen_keep(struct wo__screen_maker *m) {
  const struct wo_view text = {m->scratch.ptr, m->scratch.len};
  return text.len > 0 ? wo_arena_copy(m->arena, text) : (struct wo_view){0};
}

struct wo_value wo__screen_fact(const struct wo__screen_maker *m, const char *name) {
  return wo_facts_get(&m->report->facts, wo_view_of(name));
}

void wo__screen_add_place(const struct wo__screen_maker *m, struct wo_text *text, const struct wo_event *event) {
  const struct wo_job *const job = m->report->job;
  if (event->span.file < job->input_count) wo_text_add_clean(text, wo_name_base(job->inputs[event->span.file].path));
  wo_text_add(text, ":%llu", (unsigned long long)event->span.line);
}

struct wo_view wo__screen_lower(struct wo__screen_maker *m, struct wo_view title) {
  static const char *const names[] = {"Python ", "Windows ",    "NCCL ",    "CUDA ",
                                      "Ray ",    "Kubernetes ", "PyTorch ", "DistributedDataParallel "};
  const bool is_word = title.len > 1 && title.ptr[0] >= 'A' && title.ptr[0] <= 'Z' &&
                       (title.ptr[1] == ' ' || (title.ptr[1] >= 'a' && title.ptr[1] <= 'z'));
  if (!is_word || WO_VIEW_ANY(title, wo_view_starts, names)) return title;
  return wo_arena_format(m->arena, "%c%.*s", wo_lower(title.ptr[0]), WO_SHOWN(wo_view_skip(title, 1)));
}
