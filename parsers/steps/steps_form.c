/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a line around its numbers, the meaning that it gives them, and the quick reading of lines with the same text. */
#include "parsers/steps/steps_form.h"

#include <assert.h>
#include <string.h>

#include "parsers/base/units.h"
#include "parsers/steps/steps_number.h"

/* The use of a number of a line. */
enum use { USE_NONE, USE_STEP, USE_EPOCH, USE_RANK, USE_GPU, USE_MEMORY };
_Static_assert(USE_MEMORY + 1 == WO_STEPS_USE_COUNT, "forms that are read have a use that is known");

enum {
  WORDS_MAX = 6,   /* of a name: "max memory allocated gb" */
  NAME_BYTES = 48, /* of it */
  BAR_BYTES = 400  /* of a progress bar: a wide terminal, three bytes a cell */
};

/* More than any card has, and less than a whole number of bytes is taken to be when it has no unit. */
#define BYTES_MAX (1024 * WO_GIB)
#define BARE_BYTES_MIN (64 * WO_MIB)

const char *wo_steps_role_name(enum wo_steps_role role) {
  static const char *const names[WO_STEPS_ROLE_COUNT_] = {"allocated", "reserved",       "used",
                                                          "free",      "peak_allocated", "peak_reserved"};
  assert((unsigned)role < WO_STEPS_ROLE_COUNT_);
  return names[role];
}

/* ---- Cutting a line ---- */

/* The end of the bar that begins at `at`, after "%|"; 0 without one. */
static size_t skip_bar(struct wo_view line, size_t at) {
  const size_t most = line.len - at < BAR_BYTES ? line.len - at : BAR_BYTES;
  const char *const end = most > 0 ? memchr(line.ptr + at, '|', most) : NULL;
  return end ? (size_t)(end - line.ptr) : 0;
}

/* A stretch of text, and what ends it. */
struct cut {
  size_t text_end; /* without the blanks and the sign before the number */
  size_t start;    /* of the number, its sign not counted, or of the bar; at the end of the line its length */
  bool is_bar;
  bool is_end;
};

/* Whether a sign that follows c belongs to a number. "2026-01-02" has none. */
static bool is_before_sign(char c) {
  return wo__steps_is_blank(c) || c == ':' || c == '=' || c == ',' || c == '(' || c == '[';
}

/* Where the sequence of a terminal ends that begins with ESC at `at`. */
static size_t skip_escape(struct wo_view line, size_t at) {
  if (at + 1 >= line.len || line.ptr[at + 1] != '[') return at + 1;
  at += 2;
  while (at < line.len && (wo__steps_is_digit(line.ptr[at]) || line.ptr[at] == ';')) at++;
  return at;
}

/* The text from `at` up to the next number or bar. */
static struct cut next_cut(struct wo_view line, size_t at) {
  const size_t from = at;
  struct cut cut = {.start = line.len, .is_end = true};
  while (at < line.len) {
    const char c = line.ptr[at];
    if (c == '\033') {
      at = skip_escape(line, at);
      continue;
    }
    const bool is_bar = c == '|' && at > from && line.ptr[at - 1] == '%' && skip_bar(line, at + 1) > 0;
    if (is_bar || wo__steps_is_digit(c)) {
      cut = (struct cut){.start = is_bar ? at + 1 : at, .is_bar = is_bar};
      break;
    }
    at++;
  }
  cut.text_end = cut.start;
  if (cut.is_bar || cut.is_end) return cut;
  size_t end = cut.start;
  const bool is_signed = end > from && (line.ptr[end - 1] == '-' || line.ptr[end - 1] == '+');
  if (is_signed && (end - 1 == from || is_before_sign(line.ptr[end - 2]))) end--;
  while (end > from && wo__steps_is_blank(line.ptr[end - 1])) end--;
  cut.text_end = end;
  return cut;
}

/* ---- Names ---- */

/* The words right before a number, in small letters: "max memory allocated gb" of " - perf/max_memory_allocated_gb:". */
struct name {
  char text[NAME_BYTES + 1];
  struct wo_view words[WORDS_MAX];
  size_t count;
};

/* The text before a number, after it, and after the next one. */
struct around {
  struct wo_view before, after, beyond;
  struct name name; /* at the end of `before` */
};

/* Signs that may be between a name and its number. */
static bool is_joint(char c) {
  return wo__steps_is_blank(c) || c == ':' || c == '=' || c == '"' || c == '\'' || c == '(' || c == '[' || c == '#' || c == '>';
}

static bool is_name_sign(char c) {
  return c == '_' || c == '-' || c == '/' || c == '.' || c == ' ' || c == '(' || c == ')' || c == '@' || c == '\'' || c == '"';
}

/* Reads the name at the end of `text`, backwards. The last letter of a colour's code is no part of it, nor is the unit of the
 * number before ("0.45s mem"), unless the text is the first of its line. */
static void read_name(struct wo_view text, bool is_first, struct name *name) {
  size_t end = text.len;
  *name = (struct name){.count = 0};
  while (end > 0 && is_joint(text.ptr[end - 1])) end--;
  size_t start = end;
  while (start > 0 && end - start < NAME_BYTES && (wo_is_alpha(text.ptr[start - 1]) || is_name_sign(text.ptr[start - 1])))
    start--;
  const bool is_colour =
      start > 0 && (wo_is_digit(text.ptr[start - 1]) || text.ptr[start - 1] == '[') && memchr(text.ptr, '\033', start) != NULL;
  if (is_colour && start < end) start++;
  const bool is_glued = start == 0 && !is_first;
  while (is_glued && start < end && wo_is_alpha(text.ptr[start])) start++;
  for (size_t i = start; i < end; i++) name->text[i - start] = wo_is_alpha(text.ptr[i]) ? wo_lower(text.ptr[i]) : ' ';
  struct wo_view rest = {name->text, end - start};
  while (rest.len > 0) {
    const struct wo_view word = wo_view_cut(&rest, ' ');
    if (word.len == 0) continue;
    if (name->count == WORDS_MAX) memmove(name->words, name->words + 1, (WORDS_MAX - 1) * sizeof name->words[0]);
    if (name->count == WORDS_MAX) name->count--;
    name->words[name->count++] = word;
  }
}

#define HAS_ANY(name, list) has_any((name), (list), sizeof(list) / sizeof((list)[0]))

static bool has_any(const struct name *name, const char *const *words, size_t count) {
  for (size_t i = 0; i < name->count; i++) {
    if (wo_view_any(name->words[i], wo_view_is, words, count)) return true;
  }
  return false;
}

static bool has_word(const struct name *name, const char *word) {
  return has_any(name, &word, 1);
}

static bool ends_with(const struct name *name, const char *word) {
  return name->count > 0 && wo_view_is(name->words[name->count - 1], word);
}

/* ---- Units ---- */

/* The bytes of a unit at the front of text, or 0. A small letter alone is none: "12 m". */
static double unit_of(struct wo_view text) {
  text = wo_view_trim_start(text);
  size_t len = 0;
  while (len < text.len && (wo_is_alpha(text.ptr[len]) || text.ptr[len] == '/')) len++;
  const bool is_small_letter = len == 1 && wo_lower(text.ptr[0]) == text.ptr[0];
  return is_small_letter ? 0 : wo_units_scale(wo_view_sub(text, 0, len));
}

/* The unit in a name: "max_memory_allocated_gb", "memory (MB)". */
static double unit_in_name(const struct name *name) {
  static const struct {
    const char *word;
    double scale;
  } rows[] = {{"gb", WO_GIB}, {"gib", WO_GIB}, {"mb", WO_MIB}, {"mib", WO_MIB}, {"bytes", 1}};
  for (size_t i = 0; name->count > 0 && i < sizeof rows / sizeof rows[0]; i++) {
    if (ends_with(name, rows[i].word)) return rows[i].scale;
  }
  return 0;
}

/* The unit in brackets before all figures of a line: "memory (MB) | allocated: ". 0 without one. */
static double unit_of_line(struct wo_view line) {
  static const struct {
    const char *words;
    double scale;
  } rows[] = {{"memory (MB)", WO_MIB}, {"memory (MiB)", WO_MIB}, {"memory (GB)", WO_GIB}, {"memory (GiB)", WO_GIB}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (wo_view_has(line, rows[i].words)) return rows[i].scale;
  }
  return 0;
}

/* ---- The whole line ---- */

/* Answers of the whole line where a number's own name leaves them open. */
struct context {
  double unit;       /* of the line, or 0 */
  double known_unit; /* of a program that prints sizes without a unit, or 0 */
  bool is_foreign;   /* it is about something else: a failure, the host, a process */
  bool is_of_card;   /* words of the card are in it */
  bool is_training;  /* it has a step, and words of training */
  bool is_deepspeed; /* MA, Max_MA, CA, Max_CA */
};

static struct context read_context(struct wo_view line) {
  static const char *const foreign[] = {"Tried to allocate", "out of memory", "OutOfMemory", "total capacity",
                                        "Virtual Memory",    "RSS",           "rss",         "KV cache",
                                        "kv cache",          "memory in use"};
  static const char *const card[] = {"GPU", "gpu", "Gpu", "cuda", "CUDA", "VRAM", "vram", "HBM", "memory ("};
  static const char *const training[] = {"loss",   "Loss", "lr",   "LR",  "grad", "eta", "tok/s", "tps",
                                         "tokens", "it/s", "s/it", "mfu", "acc",  "ppl", "reward"};
  /* mmcv and mmengine (whole MiB), DeiT's logger and what copies it (MiB), I-JEPA (MiB), torchtune (GiB), fairseq (GiB). */
  static const char *const mib[] = {"data_time:", "max mem:", "max_mem:", "[mem:"};
  static const char *const gib[] = {"tokens_per_second_per_gpu", "gb_free"};
  return (struct context){
      .unit = unit_of_line(line),
      .known_unit = WO_VIEW_ANY(line, wo_view_has, gib)   ? WO_GIB
                    : WO_VIEW_ANY(line, wo_view_has, mib) ? WO_MIB
                                                          : 0,
      .is_foreign = WO_VIEW_ANY(line, wo_view_has, foreign),
      .is_of_card = WO_VIEW_ANY(line, wo_view_has, card),
      .is_training = WO_VIEW_ANY(line, wo_view_has, training),
      .is_deepspeed = wo_view_has(line, " Max_MA ") && wo_view_has(line, " CA "),
  };
}

/* ---- Memory ---- */

/* Names of other memory, of other quantities, and of what does not change with the steps. */
static const char *const other_words[] = {
    "cpu",   "host", "ram",     "rss",       "vms",       "swap", "shm",  "disk",     "virtual", "total",   "capacity", "limit",
    "data",  "node", "dataset", "bandwidth", "percent",   "pct",  "util", "time",     "ratio",   "seconds", "s",        "ms",
    "count", "num",  "number",  "available", "threshold", "frac", "kv",   "fraction", "retries", "ooms",    "reclaimed"};

/* The meaning of DeepSpeed's short names. */
static bool deepspeed_role(const struct name *name, enum wo_steps_role *ret_role) {
  const bool is_max = name->count >= 2 && wo_view_is(name->words[name->count - 2], "max");
  if (!ends_with(name, "ma") && !ends_with(name, "ca")) return false;
  if (ends_with(name, "ma")) *ret_role = is_max ? WO_STEPS_PEAK : WO_STEPS_ALLOCATED;
  if (ends_with(name, "ca")) *ret_role = is_max ? WO_STEPS_PEAK_RESERVED : WO_STEPS_RESERVED;
  return true;
}

/* The role of a figure of that name. False if it is no memory of a card. */
static bool role_of(const struct name *name, const struct context *context, enum wo_steps_role *ret_role) {
  static const char *const memory[] = {"mem", "memory", "vram", "gpumem"};
  static const char *const peak[] = {"max", "peak", "maximum", "highest"};
  static const char *const reserved[] = {"reserved", "cached", "cache"};
  static const char *const allocated[] = {"allocated", "alloc", "active"};
  if (context->is_deepspeed) return deepspeed_role(name, ret_role);
  if (HAS_ANY(name, other_words)) return false;
  const bool is_memory = HAS_ANY(name, memory) || (context->is_training && ends_with(name, "peak"));
  const bool is_peak = HAS_ANY(name, peak);
  if (has_word(name, "gb") && ends_with(name, "free")) {
    *ret_role = WO_STEPS_FREE;
    return true;
  }
  if (!is_memory && !context->is_of_card && !context->is_training) return false;
  if (HAS_ANY(name, reserved)) {
    *ret_role = is_peak ? WO_STEPS_PEAK_RESERVED : WO_STEPS_RESERVED;
    return true;
  }
  if (HAS_ANY(name, allocated)) {
    *ret_role = is_peak ? WO_STEPS_PEAK : WO_STEPS_ALLOCATED;
    return true;
  }
  if (!is_memory || has_word(name, "free")) return false;
  *ret_role = is_peak ? WO_STEPS_PEAK : WO_STEPS_USED;
  return true;
}

/* Whether the memory is the card's: the name says so, or the line is one of a training step. */
static bool is_of_card(const struct name *name, const struct context *context) {
  static const char *const card[] = {"gpu", "cuda", "vram", "device", "hbm", "allocated", "alloc", "reserved"};
  return context->is_deepspeed || context->is_training || context->known_unit > 0 || HAS_ANY(name, card);
}

/* mmcv and mmengine print the highest since the last print, or since the start, as "memory". */
static bool is_mmcv(const struct name *name, const struct context *context) {
  return context->known_unit > 0 && name->count > 0 && (ends_with(name, "memory") || ends_with(name, "mem"));
}

/* Whether something else than a unit of size is right after a number: "12%", "12 GB/s", "12x". */
static bool is_other_unit(struct wo_view after) {
  const struct wo_view word = wo_view_trim_start(after);
  return wo_view_starts(word, "%") || (after.len > 0 && wo_is_alpha(after.ptr[0])) || wo_view_starts(word, "GB/") ||
         wo_view_starts(word, "MB/") || wo_view_starts(word, "GiB/");
}

/* Makes the number `part` one of memory when its name and what follows it say so. */
static void take_memory(struct wo_steps_part *part, const struct around *around, const struct context *context) {
  const struct name *const name = &around->name;
  enum wo_steps_role role = WO_STEPS_USED;
  if (part->use != USE_NONE || name->count == 0 || !role_of(name, context, &role)) return;
  const double behind = unit_of(around->after);
  double scale = behind > 0 ? behind : unit_in_name(name);
  if (behind == 0 && is_other_unit(around->after)) return;
  if (scale == 0 && wo_view_is(wo_view_trim(around->after), "/")) scale = unit_of(around->beyond); /* "12.1/79.1 GB" */
  if (scale == 0) scale = context->unit > 0 ? context->unit : context->known_unit;
  if (scale == 0 && role == WO_STEPS_USED) return;
  if (behind == 0 && role == WO_STEPS_USED && is_mmcv(name, context)) role = WO_STEPS_PEAK;
  if (!is_of_card(name, context)) return;
  part->use = USE_MEMORY;
  part->role = (uint8_t)role;
  part->is_bare = scale == 0;
  part->scale = scale == 0 ? 1 : scale;
}

/* ---- Steps and labels ---- */

/* How well a number shows the step; 0 not at all. An epoch counts only where nothing else does. */
enum step_rank { STEP_NONE, STEP_EPOCH, STEP_BATCH, STEP_BAR, STEP_BRACKET, STEP_UPDATE, STEP_ITERATION, STEP_STEP };

static enum step_rank step_rank_of(const struct around *around, bool is_behind_bar) {
  static const char *const steps[] = {"step", "steps"};
  static const char *const iterations[] = {"iteration", "iter", "it", "iters"};
  static const char *const others[] = {"max",  "total", "per",  "eval", "warmup",       "log", "save",    "every",
                                       "skip", "lr",    "time", "ms",   "accumulation", "sec", "gradient"};
  const struct wo_view before = around->before;
  const struct wo_view after = around->after;
  const struct name *const name = &around->name;
  if (name->count > 0 && wo_view_starts(after, " iterations)") && ends_with(name, "after")) return STEP_STEP;
  if (is_behind_bar && wo_view_starts(after, "/")) return STEP_BAR;
  const bool is_bracket = wo_view_ends(before, "[") && wo_view_find_char(before, ']', 0) != WO_NOT_FOUND;
  const bool is_in_epoch = wo_view_is(wo_view_trim(before), ","); /* "[3,   150/ 2400]" */
  if ((is_bracket || is_in_epoch) && wo_view_is(wo_view_trim(after), "/")) return STEP_BRACKET;
  if (name->count == 0 || HAS_ANY(name, others)) return STEP_NONE;
  const struct wo_view last = name->words[name->count - 1];
  if (WO_VIEW_ANY(last, wo_view_is, steps)) return STEP_STEP;
  if (WO_VIEW_ANY(last, wo_view_is, iterations)) return STEP_ITERATION;
  if (wo_view_is(last, "updates")) return STEP_UPDATE;
  if (wo_view_is(last, "batch") && wo_view_starts(after, "/")) return STEP_BATCH;
  const bool is_mmengine = wo_view_is(last, "train") && name->count > 1 && wo_view_is(name->words[name->count - 2], "epoch");
  return wo_view_is(last, "epoch") || is_mmengine ? STEP_EPOCH : STEP_NONE;
}

/* Whether the number is the label of a rank: `[rank3]:`, `[Rank 0]`, `rank=3`, `[default0]:`, ` 8: ` of srun, `[1,3]<stderr>:`.
 */
static bool is_rank(const struct around *around, bool *is_local) {
  const struct wo_view before = around->before;
  const struct wo_view after = around->after;
  const struct name *const name = &around->name;
  if (wo_view_is(before, ",") && wo_view_starts(after, "]<std")) return true;
  if (name->count == 0) return false;
  const struct wo_view last = name->words[name->count - 1];
  *is_local = wo_view_is(last, "default") || has_word(name, "local");
  if (wo_view_is(last, "default")) return wo_view_ends(before, "[default") && wo_view_starts(after, "]:");
  return wo_view_is(last, "rank") && !has_word(name, "lora") && !has_word(name, "low") && !has_word(name, "tensor");
}

/* Whether the number is the index of a card: "GPU 0", "cuda:1", "device 2". */
static bool is_gpu(const struct around *around) {
  const bool is_named = ends_with(&around->name, "gpu") || ends_with(&around->name, "cuda");
  return is_named && unit_of(around->after) <= 0;
}

/* ---- Making a form ---- */

static void look_around(const struct wo_steps_form *form, size_t index, size_t start, struct around *ret) {
  const size_t end = start + form->parts[index].text_len;
  const size_t next = index + 1 < form->part_count ? form->parts[index + 1].text_len : form->tail_len;
  const size_t third = index + 2 < form->part_count ? form->parts[index + 2].text_len : form->tail_len;
  ret->before = (struct wo_view){form->text + start, end - start};
  ret->after = (struct wo_view){form->text + end, next};
  ret->beyond = (struct wo_view){form->text + end + next, index + 1 < form->part_count ? third : 0};
  read_name(ret->before, index == 0, &ret->name);
}

/* Cuts the line. False when it does not fit. */
static bool cut_line(struct wo_view line, struct wo_steps_form *form) {
  size_t at = 0;
  form->part_count = form->text_len = 0;
  for (;;) {
    const struct cut cut = next_cut(line, at);
    const size_t len = cut.text_end - at;
    memcpy(form->text + form->text_len, line.ptr + at, len);
    form->text_len += len;
    if (cut.is_end) {
      form->tail_len = len;
      return form->part_count > 0;
    }
    if (form->part_count == WO_LIMIT_STEPS_NUMBERS) return false;
    struct wo__steps_number number;
    form->parts[form->part_count++] = (struct wo_steps_part){
        .text_len = (uint16_t)len, .is_bar = cut.is_bar, .takes_sign = len == 0 || is_before_sign(line.ptr[cut.text_end - 1])};
    at = cut.is_bar ? skip_bar(line, cut.start) : wo__steps_read_number(line, cut.start, &number);
  }
}

/* Whether the line begins with a label of `srun -l`, " 8: ". Where no other number is the step, this one may be. */
static bool is_srun_label(const struct wo_steps_form *form) {
  struct around around;
  look_around(form, 0, 0, &around);
  return !form->parts[0].is_bar && around.before.len == 0 && wo_view_starts(around.after, ": ");
}

/* Gives the numbers that are no memory their use: the best step, the first rank, the first card, the first epoch. */
static bool take_labels(struct wo_steps_form *form) {
  size_t step = 0;
  size_t epoch = 0;
  bool has_epoch = false;
  bool has_rank = false;
  bool has_gpu = false;
  enum step_rank best = STEP_NONE;
  size_t start = 0;
  for (size_t i = 0; i < form->part_count; start += form->parts[i++].text_len) {
    struct around around;
    bool is_local = false;
    if (form->parts[i].is_bar) continue;
    look_around(form, i, start, &around);
    if (!has_rank && is_rank(&around, &is_local)) {
      form->parts[i].use = USE_RANK;
      form->is_local_rank = is_local;
      has_rank = true;
      continue;
    }
    const enum step_rank rank = step_rank_of(&around, i > 0 && form->parts[i - 1].is_bar);
    if (rank == STEP_EPOCH && !has_epoch) {
      has_epoch = true;
      epoch = i;
    } else if (rank > best && rank != STEP_EPOCH) {
      best = rank;
      step = i;
    } else if (!has_gpu && rank == STEP_NONE && is_gpu(&around)) {
      form->parts[i].use = USE_GPU;
      has_gpu = true;
    }
  }
  if (has_epoch) form->parts[epoch].use = best == STEP_NONE ? USE_STEP : USE_EPOCH;
  if (best != STEP_NONE) form->parts[step].use = USE_STEP;
  form->is_epoch = has_epoch && best == STEP_NONE;
  const bool has_step = has_epoch || best != STEP_NONE;
  if (has_step && !has_rank && form->parts[0].use == USE_NONE && is_srun_label(form)) form->parts[0].use = USE_RANK;
  return has_step;
}

bool wo_steps_form_make(struct wo_view line, struct wo_steps_form *form) {
  if (line.len == 0 || line.len > WO_LIMIT_STEPS_LINE_BYTES || !cut_line(line, form)) return false;
  const struct wo_view text = {form->text, form->text_len};
  struct context context = read_context(text);
  bool is_taken[WO_STEPS_ROLE_COUNT_] = {false};
  form->is_sample = form->is_local_rank = form->is_epoch = false;
  if (context.is_foreign) return true;
  if (!take_labels(form)) context.is_training = false;
  size_t start = 0;
  for (size_t i = 0; i < form->part_count; start += form->parts[i++].text_len) {
    struct around around;
    struct wo_steps_part *const part = &form->parts[i];
    if (part->is_bar) continue;
    look_around(form, i, start, &around);
    take_memory(part, &around, &context);
    if (part->use != USE_MEMORY) continue;
    if (is_taken[part->role]) part->use = USE_NONE; /* the first of a meaning counts */
    is_taken[part->role] = form->is_sample = true;
  }
  return true;
}

/* ---- Reading by a form ---- */

/* As memcmp for equality: the texts between numbers are too short to be worth its call. `room` bytes may be looked at of either.
 */
static inline bool is_same(const char *a, const char *b, size_t len, size_t room) {
  for (; len > sizeof(uint64_t); len -= sizeof(uint64_t), room -= sizeof(uint64_t)) {
    if (wo__steps_load_bytes(a, room) != wo__steps_load_bytes(b, room)) return false;
    a += sizeof(uint64_t);
    b += sizeof(uint64_t);
  }
  if (len == 0) return true;
  return (wo__steps_load_bytes(a, room) ^ wo__steps_load_bytes(b, room)) << (8 * (sizeof(uint64_t) - len)) == 0;
}

static const struct wo_steps_reading nothing_read = {
    .step = WO_STEPS_UNKNOWN,
    .epoch = WO_STEPS_UNKNOWN,
    .rank = -1,
    .gpu = -1,
    .bytes = {WO_STEPS_UNKNOWN, WO_STEPS_UNKNOWN, WO_STEPS_UNKNOWN, WO_STEPS_UNKNOWN, WO_STEPS_UNKNOWN, WO_STEPS_UNKNOWN}};
_Static_assert(WO_STEPS_ROLE_COUNT_ == 6, "nothing_read has a figure for each role");

static inline void take_number(const struct wo_steps_form *form, const struct wo_steps_part *part,
                               const struct wo__steps_number *number, struct wo_steps_reading *reading) {
  if (!number->is_exact || number->is_negative) return;
  switch ((enum use)part->use) {
  case USE_STEP:
    if (number->is_integer || form->is_epoch) reading->step = number->value;
    return;
  case USE_EPOCH:
    reading->epoch = number->value;
    return;
  case USE_RANK:
    if (number->is_integer && number->value <= WO_STEPS_LABEL_MAX) reading->rank = (int32_t)number->value;
    return;
  case USE_GPU:
    if (number->is_integer && number->value <= WO_STEPS_LABEL_MAX) reading->gpu = (int32_t)number->value;
    return;
  case USE_MEMORY: {
    const double bytes = number->value * part->scale;
    if (bytes > BYTES_MAX || (part->is_bare && (!number->is_integer || bytes < BARE_BYTES_MIN))) return;
    reading->bytes[part->role] = bytes;
    /* Programs cut figures off as often as they round them: a whole number may be one less than what it stands for. */
    reading->half_bytes[part->role] = (number->is_integer && part->scale > 1 ? 0.5 : number->half) * part->scale;
    return;
  }
  case USE_NONE:
    return;
  }
}

/* Reads the number at `at` of a part, with the blanks and the sign before it: its end, or WO_NOT_FOUND. */
static inline size_t match_number(const struct wo_steps_form *form, const struct wo_steps_part *part, struct wo_view line,
                                  size_t at, struct wo_steps_reading *reading) {
  const size_t blanks = at;
  bool is_negative = false;
  while (at < line.len && wo__steps_is_blank(line.ptr[at])) at++;
  if (at < line.len && (line.ptr[at] == '-' || line.ptr[at] == '+') && (at > blanks || part->takes_sign)) {
    is_negative = line.ptr[at] == '-';
    at++;
  }
  if (at == line.len || !wo__steps_is_digit(line.ptr[at])) return WO_NOT_FOUND;
  if (part->use == USE_NONE) return wo__steps_skip_number(line, at);
  struct wo__steps_number number;
  at = wo__steps_read_number(line, at, &number);
  number.is_negative = is_negative;
  take_number(form, part, &number, reading);
  return at;
}

static bool is_line_end(char c) {
  return c == '\n' || c == '\r';
}

/* A bar lies within its line. */
static size_t match_bar(struct wo_view line, size_t at) {
  const size_t end = skip_bar(line, at);
  if (end == 0 || memchr(line.ptr + at, '\n', end - at) || memchr(line.ptr + at, '\r', end - at)) return WO_NOT_FOUND;
  return end;
}

size_t wo_steps_form_match(const struct wo_steps_form *form, struct wo_view line, struct wo_steps_reading *ret_reading) {
  const char *text = form->text;
  size_t at = 0;
  *ret_reading = nothing_read;
  for (size_t i = 0; i < form->part_count; i++) {
    const struct wo_steps_part *const part = &form->parts[i];
    if (line.len - at < part->text_len) return WO_NOT_FOUND;
    if (!is_same(line.ptr + at, text, part->text_len, line.len - at)) return WO_NOT_FOUND;
    text += part->text_len;
    at += part->text_len;
    at = part->is_bar ? match_bar(line, at) : match_number(form, part, line, at, ret_reading);
    if (at == WO_NOT_FOUND) return WO_NOT_FOUND;
  }
  if (line.len - at < form->tail_len || !is_same(line.ptr + at, text, form->tail_len, line.len - at)) return WO_NOT_FOUND;
  at += form->tail_len;
  return at == line.len || is_line_end(line.ptr[at]) ? at : WO_NOT_FOUND;
}

bool wo_steps_read_yolo(struct wo_view line, struct wo_steps_reading *ret_reading) {
  struct wo__steps_number epoch, total, size;
  struct wo_view row = wo_view_trim_start(line);
  *ret_reading = nothing_read;
  if (row.len == 0 || !wo__steps_is_digit(row.ptr[0])) return false;
  row = wo_view_skip(row, wo__steps_read_number(row, 0, &epoch));
  if (row.len < 2 || row.ptr[0] != '/' || !wo__steps_is_digit(row.ptr[1])) return false;
  row = wo_view_skip(row, wo__steps_read_number(row, 1, &total));
  if (row.len == 0 || !wo__steps_is_blank(row.ptr[0])) return false;
  row = wo_view_trim_start(row);
  if (row.len == 0 || !wo__steps_is_digit(row.ptr[0])) return false;
  row = wo_view_skip(row, wo__steps_read_number(row, 0, &size));
  const bool is_gib = wo_view_starts(row, "G") || wo_view_starts(row, "M");
  if (!is_gib || row.len < 2 || !wo__steps_is_blank(row.ptr[1]) || !epoch.is_exact || !size.is_exact) return false;
  const double scale = row.ptr[0] == 'G' ? WO_GIB : WO_MIB;
  if (size.value * scale > BYTES_MAX) return false;
  ret_reading->step = epoch.value;
  ret_reading->bytes[WO_STEPS_RESERVED] = size.value * scale;
  ret_reading->half_bytes[WO_STEPS_RESERVED] = size.half * scale;
  return true;
}
