/* SPDX-License-Identifier: Apache-2.0 */
/* Line prefixes: a table of small readers, each named after what it reads, applied until none of them matches.
 *
 * A reader looks at the front of what is left of the line and gives the number of bytes that belong to the prefix, 0 when it
 * does not match. It records facts only when it matches. The order of the table matters where two forms look alike. Every
 * reader prefers to miss a prefix over eating text of the program: `fp16: true` is a setting and no host. */
#include "parsers/prefix/prefix.h"

#include <string.h>

#include "parsers/prefix/prefix_internal.h"

/* Prefixes nest a few deep (launcher, collector, logger time, level, file tag). */
enum { ROUNDS_MAX = 8 };

/* ---- Labels of launchers ---- */

/* `[rank3]:`, by PyTorch since 2.2. */
static size_t rank_label(struct wo_view rest, struct reading *reading) {
  const size_t digits = sizeof "[rank" - 1;
  if (!wo_view_starts(rest, "[rank")) return 0;
  const size_t end = skip_digits(rest, digits);
  int32_t rank = 0;
  if (!rank_between(rest, digits, end, &rank) || !wo_view_starts(wo_view_skip(rest, end), "]:")) return 0;
  const size_t length = skip_blank(rest, end + 2);
  note_rank(reading, rank, TRUST_RANK);
  note_source(reading, wo_view_sub(rest, 0, end + 1), length);
  return length;
}

/* `[Rank 3] `, `[RANK 00] `, `[rank 3]: `: by loggers of programs. Continuation lines lack it, so it is no source. */
static size_t named_rank(struct wo_view rest, struct reading *reading) {
  const size_t digits = sizeof "[Rank " - 1;
  if (rest.len < digits || wo_lower(rest.ptr[1]) != 'r' || !wo_view_starts_nocase(rest, "[rank ")) return 0;
  const size_t end = skip_digits(rest, digits);
  int32_t rank = 0;
  if (!rank_between(rest, digits, end, &rank) || !has_char(rest, end, ']')) return 0;
  size_t after = end + 1;
  if (has_char(rest, after, ':')) after++;
  if (after < rest.len && rest.ptr[after] != ' ') return 0;
  note_rank(reading, rank, TRUST_RANK);
  return skip_blank(rest, after);
}

/* Whether some letter is in view: a host name is not a number. */
static bool has_letter(struct wo_view view) {
  for (size_t i = 0; i < view.len; i++) {
    if (wo_is_alpha(view.ptr[i])) return true;
  }
  return false;
}

/* `[gpu187:1]:`: host and local rank, by torchrun with a template of its own. */
static size_t host_rank_label(struct wo_view rest, struct reading *reading) {
  if (!has_char(rest, 0, '[')) return 0;
  const size_t colon = skip_host(rest, 1);
  const struct wo_view host = wo_view_sub(rest, 1, colon);
  if (!has_char(rest, colon, ':') || !has_letter(host) || is_source_file(host)) return 0;
  const size_t end = skip_digits(rest, colon + 1);
  int32_t rank = 0;
  if (!rank_between(rest, colon + 1, end, &rank) || !wo_view_starts(wo_view_skip(rest, end), "]:")) return 0;
  const size_t length = skip_odd_blank(rest, end + 2);
  note_host(reading, host);
  note_rank(reading, rank, TRUST_LOCAL);
  note_source(reading, wo_view_sub(rest, 0, end + 1), length);
  return length;
}

/* `[default0]:`, `[trainer12]:`: role and local rank, by torchrun --tee. It adds no blank of its own. */
static size_t role_label(struct wo_view rest, struct reading *reading) {
  if (!has_char(rest, 0, '[')) return 0;
  size_t end = 1;
  while (end < rest.len && (wo_is_word(rest.ptr[end]) || rest.ptr[end] == '-')) end++;
  size_t digits = end;
  while (digits > 1 && wo_is_digit(rest.ptr[digits - 1])) digits--;
  int32_t rank = 0;
  if (digits == 1 || !wo_is_alpha(rest.ptr[1]) || !rank_between(rest, digits, end, &rank)) return 0;
  if (!wo_view_starts(wo_view_skip(rest, end), "]:")) return 0;
  const size_t length = skip_odd_blank(rest, end + 2);
  note_rank(reading, rank, TRUST_LOCAL);
  note_source(reading, wo_view_sub(rest, 0, end + 1), length);
  return length;
}

/* `[1,3]<stderr>:` by Open MPI (job, rank); `[3]<stderr>:` by Horovod. */
static size_t stream_label(struct wo_view rest, struct reading *reading) {
  static const char *const streams[] = {"]<stdout>:", "]<stderr>:", "]<stddiag>:"};
  if (!has_char(rest, 0, '[')) return 0;
  size_t start = 1;
  size_t end = skip_digits(rest, start);
  if (end > start && has_char(rest, end, ',')) {
    start = end + 1;
    end = skip_digits(rest, start);
  }
  int32_t rank = 0;
  if (!rank_between(rest, start, end, &rank)) return 0;
  for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
    if (!wo_view_starts(wo_view_skip(rest, end), streams[i])) continue;
    const size_t length = skip_odd_blank(rest, end + strlen(streams[i]));
    note_rank(reading, rank, TRUST_RANK);
    note_source(reading, wo_view_sub(rest, 0, end + 1), length);
    return length;
  }
  return 0;
}

/* `0: `, ` 8: `, `P0 3: `: by srun -l, aligned to the width of the largest task number. Only at the start of a line, and
 * with fewer blanks than code is indented by: Python shows dictionaries as `    0: "a",`. */
static size_t task_label(struct wo_view rest, struct reading *reading) {
  const size_t width_max = 3;
  const size_t digits_max = 6;
  size_t start = 0;
  if (has_char(rest, 0, 'P') && skip_digits(rest, 1) > 1 && has_char(rest, skip_digits(rest, 1), ' ')) {
    start = skip_digits(rest, 1); /* a component of a heterogeneous job */
  }
  const size_t digits = skip_blanks(rest, start);
  const size_t end = skip_digits(rest, digits);
  int32_t rank = 0;
  if (end == digits) return 0; /* most lines are done here */
  if (digits - start > width_max || end - digits > digits_max || !rank_between(rest, digits, end, &rank)) return 0;
  if (!has_char(rest, end, ':') || !has_char(rest, end + 1, ' ')) return 0;
  if (is_bare_number(wo_view_skip(rest, end + 1))) return 0;
  /* A line of a program's own list, such as `  17: 37.23% (94 questions)`. */
  if (digits - start > 1 && end + 2 < rest.len && wo_is_digit(rest.ptr[end + 2])) return 0;
  note_rank(reading, rank, TRUST_TASK);
  note_source(reading, wo_view_sub(rest, start > 0 ? 0 : digits, end), end + 2);
  return end + 2;
}

/* `[3] `: by MPICH and Intel MPI. Only at the start of a line; `[1] 4711` is a shell starting a job, and in a line of gpustat,
 * `[0] NVIDIA A100 | 45'C, 98 % | 30000 / 81920 MB |`, it is the index of a card. */
static size_t mpich_label(struct wo_view rest, struct reading *reading) {
  if (!has_char(rest, 0, '[')) return 0;
  const size_t end = skip_digits(rest, 1);
  int32_t rank = 0;
  if (!rank_between(rest, 1, end, &rank) || !wo_view_starts(wo_view_skip(rest, end), "] ")) return 0;
  const struct wo_view text = wo_view_skip(rest, end + 2);
  if (is_bare_number(text) || wo_view_has(text, " MB |")) return 0;
  note_rank(reading, rank, TRUST_TASK);
  note_source(reading, wo_view_sub(rest, 0, end + 1), end + 2);
  return end + 2;
}

/* ---- Hosts ---- */

/* Words with a number in them that programs write before a colon. */
static bool is_everyday_word(struct wo_view word) {
  static const char *const starts[] = {
      "fp",    "bf16", "bf8",   "tf32",  "int",        "uint",   "float", "sha",    "md5",    "step", "epoch", "iter",
      "layer", "line", "gpt",   "llama", "qwen",       "resnet", "vgg",   "vit",    "rank",   "cuda", "top",   "acc",
      "loss",  "fold", "stage", "batch", "block",      "python", "gcc",   "clang",  "cc1",    "lib",  "zero",  "beta",
      "adam",  "conv", "pass",  "phase", "slurmstepd", "srun",   "trial", "run",    "task",   "test", "part",  "shard",
      "chunk", "http", "ipv",   "utf",   "base64",     "level",  "seed",  "expert", "warning"};
  return WO_VIEW_ANY(word, wo_view_starts, starts);
}

/* Whether a word before a colon is a host name rather than a key: small letters, then somewhere digits; one digit alone only
 * after the usual stems or a hyphen (`node1`, `worker-0`), since `gpu0:` and `x1:` are more often something else. */
static bool is_host_word(struct wo_view word) {
  static const char *const stems[] = {"node", "host", "worker", "compute", "server", "nid", "cn"};
  size_t digits = 0;
  const bool is_host = wo_view_find_char(word, '-', 0) != WO_NOT_FOUND || WO_VIEW_ANY(word, wo_view_starts, stems);
  for (size_t i = 0; i < word.len; i++) {
    if (word.ptr[i] == '_' || (wo_is_alpha(word.ptr[i]) && wo_lower(word.ptr[i]) != word.ptr[i])) return false;
    digits += wo_is_digit(word.ptr[i]) ? 1 : 0;
  }
  if (word.len == 0 || !wo_is_alpha(word.ptr[0]) || is_source_file(word) || wo_view_has(word, ".so")) return false;
  return (digits > 1 || (digits == 1 && is_host)) && !is_everyday_word(word);
}

/* `node01: `: by pdsh and clush. A single word after it makes it a setting. */
static size_t host_label(struct wo_view rest, struct reading *reading) {
  const size_t end = first_word_end(rest, reading);
  if (!has_char(rest, end, ':') || !has_char(rest, end + 1, ' ')) return 0;
  const struct wo_view host = wo_view_sub(rest, 0, end);
  const struct wo_view text = wo_view_trim(wo_view_skip(rest, end + 1));
  if (!is_host_word(host) || wo_view_find_char(text, ' ', 0) == WO_NOT_FOUND) return 0;
  note_host(reading, host);
  note_source(reading, host, end + 2);
  return end + 2;
}

/* `vllm-1  | `: the container, by docker compose. Names without a hyphen are left to tables. */
static size_t container_label(struct wo_view rest, struct reading *reading) {
  const size_t end = first_word_end(rest, reading);
  const struct wo_view name = wo_view_sub(rest, 0, end);
  size_t bar = end;
  if (end > 64 || !has_char(rest, end, ' ') || wo_view_find_char(name, '-', 0) == WO_NOT_FOUND || name.ptr[end - 1] == '-')
    return 0;
  while (has_char(rest, bar, ' ')) bar++;
  if (bar == end || !has_char(rest, bar, '|') || !has_char(rest, bar + 1, ' ')) return 0;
  note_source(reading, name, bar + 2);
  return bar + 2;
}

/* `gpu01:4711:4720 [3] misc/socket.cc:50 NCCL WARN `: everything before NCCL. The number in brackets is NCCL's device. */
static size_t nccl_tag(struct wo_view rest, struct reading *reading) {
  const size_t host_end = first_word_end(rest, reading);
  if (host_end == 0 || !has_char(rest, host_end, ':')) return 0;
  const size_t pid_end = skip_digits(rest, host_end + 1);
  const size_t tid_end = skip_digits(rest, pid_end + 1);
  if (pid_end == host_end + 1) return 0;
  if (!has_char(rest, pid_end, ':') || tid_end == pid_end + 1) return 0;
  const struct wo_view tail = wo_view_sub(rest, tid_end, tid_end + TAG_BYTES_MAX);
  if (!wo_view_starts(tail, " [")) return 0;
  const size_t name = wo_view_find(tail, WO_VIEW(" NCCL "), 0);
  if (name == WO_NOT_FOUND) return 0;
  note_host(reading, wo_view_sub(rest, 0, host_end));
  note_source(reading, wo_view_sub(rest, 0, tid_end), tid_end + name + 1);
  return tid_end + name + 1;
}

/* ---- Workers: `(WorkerDict pid=123, ip=10.0.0.2) `, `(VllmWorker rank=1 pid=123) ` ---- */

/* Notes what one `key=value` of a worker label says. */
static void note_worker_word(struct reading *reading, struct wo_view word) {
  struct wo_view value = word;
  const struct wo_view key = wo_view_cut(&value, '=');
  int32_t rank = 0;
  if (wo_view_is(key, "ip")) note_host(reading, value);
  if (wo_view_is(key, "rank") && rank_between(value, 0, value.len, &rank)) note_rank(reading, rank, TRUST_RANK);
}

/* Whether the label's inside is a list of words, one of them `pid=` and digits. */
static bool is_worker_label(struct wo_view inside) {
  const size_t key = wo_view_find(inside, WO_VIEW("pid="), 0);
  if (key == WO_NOT_FOUND || (key > 0 && inside.ptr[key - 1] != ' ')) return false;
  const size_t digits = key + sizeof "pid=" - 1;
  const size_t end = skip_digits(inside, digits);
  return end > digits && (end == inside.len || inside.ptr[end] == ' ' || inside.ptr[end] == ',');
}

/* The whole label. Its inside is the source: name and process id distinguish workers. */
static size_t worker_label(struct wo_view rest, struct reading *reading) {
  if (!has_char(rest, 0, '(')) return 0;
  const size_t end = wo_view_find_char(wo_view_sub(rest, 0, TAG_BYTES_MAX), ')', 0);
  if (end == WO_NOT_FOUND) return 0;
  const struct wo_view inside = wo_view_sub(rest, 1, end);
  if (!wo_view_is(inside, "raylet") && !is_worker_label(inside)) return 0;
  if (end + 1 < rest.len && rest.ptr[end + 1] != ' ') return 0;
  struct wo_view words = inside;
  while (words.len > 0) {
    struct wo_view word = wo_view_cut(&words, ' ');
    if (wo_view_ends(word, ",")) word.len--;
    note_worker_word(reading, word);
  }
  const size_t length = skip_blank(rest, end + 1);
  note_source(reading, inside, length);
  return length;
}

/* ---- All of them ---- */

/* Kinds of first characters of a prefix. Most lines have no prefix, and most readers see this from the first character. */
enum first {
  FIRST_BRACKET = 1 << 0, /* [ */
  FIRST_PAREN = 1 << 1,   /* ( */
  FIRST_BLANK = 1 << 2,
  FIRST_DIGIT = 1 << 3,
  FIRST_UPPER = 1 << 4,
  FIRST_LOWER = 1 << 5,
  FIRST_OTHER = 1 << 6,
  FIRST_NAME = FIRST_DIGIT | FIRST_UPPER | FIRST_LOWER | FIRST_OTHER /* is_host_char, and other characters of names */
};

/* Where a reader may read. */
enum place {
  ANYWHERE,
  AT_START,   /* of the line only */
  IN_A_RECORD /* after a time, a level or a tag of a log record only */
};

/* The readers, with the first characters that a prefix of theirs can have, their place, and whether they read a part of a log
 * record: further parts may follow it. From the unmistakable to the general: labels in brackets with a word in them, log records,
 * then bare numbers and names. */
#define READERS(READER)                                                                                                          \
  READER(rank_label, FIRST_BRACKET, ANYWHERE, false)                           /* [rank3]: */                                    \
  READER(named_rank, FIRST_BRACKET, ANYWHERE, false)                           /* [Rank 3] */                                    \
  READER(stream_label, FIRST_BRACKET, ANYWHERE, false)                         /* [1,3]<stderr>: */                              \
  READER(host_rank_label, FIRST_BRACKET, ANYWHERE, false)                      /* [gpu187:1]: */                                 \
  READER(role_label, FIRST_BRACKET, ANYWHERE, false)                           /* [default0]: */                                 \
  READER(worker_label, FIRST_PAREN, ANYWHERE, false)                           /* (WorkerDict pid=1) */                          \
  READER(wo__prefix_glog_tag, FIRST_BRACKET | FIRST_UPPER, ANYWHERE, true)     /* W0106 15:18:46.6 209443 path:1] */             \
  READER(wo__prefix_kernel_time, FIRST_BRACKET, ANYWHERE, true)                /* [  514.682838] */                              \
  READER(wo__prefix_bracketed_time, FIRST_BRACKET, ANYWHERE, true)             /* [2025-01-06 15:18:19,123] */                   \
  READER(wo__prefix_dmesg_time, FIRST_BRACKET, ANYWHERE, true)                 /* [Mon Jan  6 15:18:46 2025] */                  \
  READER(wo__prefix_iso_time, FIRST_DIGIT, ANYWHERE, true)                     /* 2025-01-06 15:18:19,123 */                     \
  READER(wo__prefix_short_time, FIRST_DIGIT, ANYWHERE, true)                   /* 03-19 07:27:53 */                              \
  READER(wo__prefix_clock, FIRST_DIGIT, ANYWHERE, true)                        /* 15:18:46 INFO */                               \
  READER(wo__prefix_syslog_head, FIRST_UPPER, ANYWHERE, true)                  /* Jan  6 15:18:46 gpu01 */                       \
  READER(wo__prefix_fixed, FIRST_LOWER | FIRST_OTHER, ANYWHERE, true)          /* kernel:   >>   stderr F */                     \
  READER(nccl_tag, FIRST_NAME, ANYWHERE, false)                                /* gpu01:4711:4720 [3] file.cc:50 */              \
  READER(wo__prefix_leading_level, FIRST_UPPER, ANYWHERE, true)                /* ERROR, 03-19 07:27:53 after it */              \
  READER(wo__prefix_level_word, ~(unsigned)FIRST_PAREN, IN_A_RECORD, true)     /* [INFO] */                                      \
  READER(wo__prefix_transformers_tag, FIRST_BRACKET, ANYWHERE, true)           /* [INFO|trainer.py:1234] */                      \
  READER(wo__prefix_file_tag, FIRST_BRACKET, ANYWHERE, true)                   /* [core.py:560] */                               \
  READER(wo__prefix_tensorflow_tag, FIRST_UPPER, IN_A_RECORD, true)            /* I tensorflow/core/op.cc:100] */                \
  READER(wo__prefix_logger_name, FIRST_NAME, IN_A_RECORD, true)                /* - torch.distributed - */                       \
  READER(task_label, FIRST_BLANK | FIRST_DIGIT | FIRST_UPPER, AT_START, false) /* 8: */                                          \
  READER(mpich_label, FIRST_BRACKET, AT_START, false)                          /* [3] */                                         \
  READER(host_label, FIRST_LOWER, AT_START, false)                             /* node01: */                                     \
  READER(container_label, FIRST_LOWER | FIRST_DIGIT, AT_START, false)          /* vllm-1  | */                                   \
  READER(wo__prefix_pytest_mark, FIRST_UPPER, AT_START, false)                 /* E, with blanks after it */

enum index {
#define READER_INDEX(name, first, place, is_log_part) INDEX_##name,
  READERS(READER_INDEX)
#undef READER_INDEX
      READER_COUNT
};
_Static_assert(READER_COUNT <= 32, "a set of readers is a word of bits");

/* A row of the table. */
struct reader {
  size_t (*read)(struct wo_view rest, struct reading *reading);
  bool is_log_part;
};

static const struct reader readers[READER_COUNT] = {
#define READER_ROW(name, first, place, is_log_part) [INDEX_##name] = {name, is_log_part},
    READERS(READER_ROW)
#undef READER_ROW
};

/* Sets of readers, as bits: by the first character, in the order of enum first, and by their place. */
#define READER_OF(set, own, name) | (uint32_t)(((set) & (own)) != 0) << INDEX_##name
#define BY_BRACKET(name, first, place, is_log_part) READER_OF(FIRST_BRACKET, first, name)
#define BY_PAREN(name, first, place, is_log_part) READER_OF(FIRST_PAREN, first, name)
#define BY_BLANK(name, first, place, is_log_part) READER_OF(FIRST_BLANK, first, name)
#define BY_DIGIT(name, first, place, is_log_part) READER_OF(FIRST_DIGIT, first, name)
#define BY_UPPER(name, first, place, is_log_part) READER_OF(FIRST_UPPER, first, name)
#define BY_LOWER(name, first, place, is_log_part) READER_OF(FIRST_LOWER, first, name)
#define BY_OTHER(name, first, place, is_log_part) READER_OF(FIRST_OTHER, first, name)
#define BY_START(name, first, place, is_log_part) READER_OF(1 << AT_START, 1 << (place), name)
#define BY_RECORD(name, first, place, is_log_part) READER_OF(1 << IN_A_RECORD, 1 << (place), name)
static const uint32_t by_first[] = {0 READERS(BY_BRACKET), 0 READERS(BY_PAREN), 0 READERS(BY_BLANK), 0 READERS(BY_DIGIT),
                                    0 READERS(BY_UPPER),   0 READERS(BY_LOWER), 0 READERS(BY_OTHER)};
static const uint32_t at_start = 0 READERS(BY_START);
static const uint32_t in_a_record = 0 READERS(BY_RECORD);

/* The readers that are worth asking of what begins with c. */
static uint32_t readers_of(char c, const struct reading *reading) {
  const uint32_t set = c == '['           ? by_first[0]
                       : c == '('         ? by_first[1]
                       : c == ' '         ? by_first[2]
                       : wo_is_digit(c)   ? by_first[3]
                       : !wo_is_alpha(c)  ? by_first[6]
                       : wo_lower(c) == c ? by_first[5]
                                          : by_first[4];
  return set & ~(reading->prefix.length == 0 ? 0 : at_start) & ~(reading->has_log_part ? 0 : in_a_record);
}

/* Reads one prefix. False when no reader matches. */
static bool read_one(struct reading *reading) {
  const struct wo_view rest = wo_view_skip(reading->line, reading->prefix.length);
  assert(rest.len > 0);
  for (uint32_t set = readers_of(rest.ptr[0], reading); set != 0; set &= set - 1) {
    const struct reader *const reader = &readers[__builtin_ctz(set)];
    const size_t length = reader->read(rest, reading);
    assert(length <= rest.len);
    if (length == 0) continue;
    assert(reading->trust == TRUST_NONE || reading->prefix.rank >= 0);
    assert(reading->prefix.source.len == 0 || reading->source_end <= reading->prefix.length + length);
    reading->prefix.length += length;
    reading->has_log_part = reading->has_log_part || reader->is_log_part;
    return true;
  }
  return false;
}

struct wo_prefix wo_prefix_read(struct wo_view line) {
  struct reading reading = {
      .line = line,
      .prefix = {.rank = WO_RANK_UNKNOWN, .time_ns = WO_TIME_UNKNOWN},
  };
  for (int round = 0; round < ROUNDS_MAX && reading.prefix.length < line.len; round++) {
    if (!read_one(&reading)) break;
  }
  assert(reading.prefix.length <= line.len);
  const enum wo_severity own = wo__prefix_leading_severity(wo_view_skip(line, reading.prefix.length));
  if (own != WO_SEVERITY_NONE) note_severity(&reading, own);
  wo__prefix_json_record(wo_view_skip(line, reading.prefix.length), &reading);
  return reading.prefix;
}

bool wo_prefix_rank_inside(struct wo_view text, int32_t *ret_rank) {
  const struct wo_view label = WO_VIEW("[rank");
  const size_t at = wo_view_find_last(text, label, text.len);
  if (at == WO_NOT_FOUND) return false;
  const size_t end = skip_digits(text, at + label.len);
  return wo_view_starts(wo_view_skip(text, end), "]:") && rank_between(text, at + label.len, end, ret_rank);
}

struct wo_view wo_prefix_unbox(struct wo_view text) {
  static const char *const sides[] = {"\xe2\x94\x82", "\xe2\x94\x83", "\xe2\x95\x91", "|"}; /* U+2502, U+2503, U+2551 */
  const struct wo_view trimmed = wo_view_trim(text);
  for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
    const size_t width = strlen(sides[i]);
    if (trimmed.len < 2 * width || !wo_view_starts(trimmed, sides[i]) || !wo_view_ends(trimmed, sides[i])) continue;
    return wo_view_trim(wo_view_sub(trimmed, width, trimmed.len - width));
  }
  return trimmed;
}
