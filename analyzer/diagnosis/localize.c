/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the tools of a system and of a maker of cards in place of those that rules name. What the log does not show is taken for
 * Linux and NVIDIA, as in most logs. */
#include "analyzer/diagnosis/localize.h"

#include "analyzer/diagnosis/diagnose.h"

/* What shows the processes on a card. */
static const struct {
  const char *vendor;
  const char *tool;  /* in sentences */
  const char *lists; /* to paste: the processes and their memory; NULL: nothing */
} tools[] = {
    {"amd", "rocm-smi", "rocm-smi --showpids --showmeminfo vram"},
    {"intel", "xpu-smi", "xpu-smi ps"},
    {"huawei", "npu-smi info", "npu-smi info"},
    {"apple", "Activity Monitor", NULL},
};

/* Commands that Windows and macOS have not; and those that look for NVIDIA's cards. */
static const char *const of_linux[] = {"#SBATCH", "sbatch ", "sacct ", "scontrol ", "fuser ", "df ", "test \"", "grep "};
static const char *const of_nvidia[] = {"fuser -v /dev/nvidia", "test \"$(nvidia-smi"};

static bool is_platform(const struct wo_diagnosis *diagnosis, const char *name) {
  return wo_view_is(diagnosis->facts->program.platform.text, name);
}

/* The row of the cards' maker, or NULL for NVIDIA and unknown ones. */
static size_t find_tool(const struct wo_diagnosis *diagnosis) {
  size_t at = 0;
  while (at < sizeof tools / sizeof tools[0] && !wo_view_is(diagnosis->facts->program.vendor.text, tools[at].vendor)) at++;
  return at < sizeof tools / sizeof tools[0] ? at : WO_NOT_FOUND;
}

/* Where the options of a command end that begin at `at`: "-s mu", "--query-gpu=...", "-L", "dmon". */
static size_t options_end(struct wo_view text, size_t at) {
  bool has_value = false;
  while (at < text.len && text.ptr[at] == ' ') {
    size_t end = at + 1;
    while (end < text.len && text.ptr[end] != ' ' && text.ptr[end] != ':') end++;
    const struct wo_view word = wo_view_sub(text, at + 1, end);
    const bool is_short =
        word.len == 2 && word.ptr[0] == '-' && wo_is_alpha(word.ptr[1]) && word.ptr[1] != 'L' && word.ptr[1] != 'q';
    const bool is_option = wo_view_starts(word, "-") || wo_view_is(word, "dmon") || wo_view_is(word, "nvlink") || has_value;
    if (!is_option) break;
    has_value = is_short && !has_value;
    at = end;
  }
  return at;
}

/* A program without gradients has no accumulation, and its batch is not cut into smaller ones. */
static struct wo_view without_micro(const struct wo_diagnosis *diagnosis, struct wo_view text) {
  const struct wo_program *const program = &diagnosis->facts->program;
  const bool trains = program->kind == WO_PROGRAM_UNKNOWN || program->kind == WO_PROGRAM_TRAINING;
  for (size_t at = trains ? WO_NOT_FOUND : wo_view_find(text, WO_VIEW("micro-batch"), 0); at != WO_NOT_FOUND;
       at = wo_view_find(text, WO_VIEW("micro-batch"), at)) {
    const struct wo_view parts[] = {wo_view_sub(text, 0, at), wo_view_skip(text, at + 6)};
    text = wo_arena_join(diagnosis->arena, parts, sizeof parts / sizeof parts[0]);
  }
  return text;
}

static struct wo_view with_tool(const struct wo_diagnosis *diagnosis, struct wo_view text) {
  const struct wo_view name = WO_VIEW("nvidia-smi");
  const size_t tool = find_tool(diagnosis);
  const size_t at = tool == WO_NOT_FOUND ? WO_NOT_FOUND : wo_view_find(text, name, 0);
  if (at == WO_NOT_FOUND) return text;
  const struct wo_view parts[] = {wo_view_sub(text, 0, at), wo_view_of(tools[tool].tool),
                                  wo_view_skip(text, options_end(text, at + name.len))};
  return wo_arena_join(diagnosis->arena, parts, sizeof parts / sizeof parts[0]);
}

struct wo_view wo_localize_text(const struct wo_diagnosis *diagnosis, struct wo_view text) {
  return without_micro(diagnosis, with_tool(diagnosis, text));
}

/* "export NAME=value   # why" as a command line of Windows takes it: without the remark, which would become a part of the value.
 */
static struct wo_view as_set(const struct wo_diagnosis *diagnosis, struct wo_view command) {
  const size_t remark = wo_view_find(command, WO_VIEW(" #"), 0);
  const struct wo_view line = wo_view_trim(wo_view_sub(command, 0, remark == WO_NOT_FOUND ? command.len : remark));
  return wo_arena_format(diagnosis->arena, "set %.*s", WO_SHOWN(wo_view_skip(line, 7)));
}

struct wo_view wo_localize_command(const struct wo_diagnosis *diagnosis, struct wo_view command) {
  const size_t tool = find_tool(diagnosis);
  const bool is_windows = is_platform(diagnosis, "windows");
  if ((is_windows || is_platform(diagnosis, "macos")) && WO_VIEW_ANY(command, wo_view_starts, of_linux))
    return (struct wo_view){0};
  if (is_windows && wo_view_starts(command, "export ")) return as_set(diagnosis, command);
  if (tool == WO_NOT_FOUND) return command;
  if (WO_VIEW_ANY(command, wo_view_starts, of_nvidia)) return (struct wo_view){0};
  if (!wo_view_starts(command, "nvidia-smi")) return command;
  return is_windows || !tools[tool].lists ? (struct wo_view){0} : wo_view_of(tools[tool].lists);
}
