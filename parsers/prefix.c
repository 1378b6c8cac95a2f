/* Line prefixes: a table of small readers, each named after what it reads, applied until none of them matches.
 *
 * A reader looks at the front of what is left of the line and gives the number of bytes that belong to the prefix, 0 when it
 * does not match. It records facts only when it matches. The order of the table matters where two forms look alike. Every
 * reader prefers to miss a prefix over eating text of the program: `fp16: true` is a setting and no host. */
#include "parsers/prefix.h"

#include <assert.h>
#include <string.h>

#include "parsers/base/number.h"
#include "parsers/base/units.h"
#include "parsers/event.h"

/* Prefixes nest a few deep (launcher, collector, logger time, level, file tag). */
enum { ROUNDS_MAX = 8 };
/* Longest worker label or log tag that is looked at. */
enum { TAG_BYTES_MAX = 200 };
enum { RANK_MAX = 999999 };

/* How far a label can be trusted to name the process; a better one replaces a worse one. A launcher's task number in front of
 * torchrun's local rank counts nodes: saying "local rank 1" is right then, and "rank 3" would be wrong for seven of eight. */
enum trust { TRUST_NONE, TRUST_TASK, TRUST_LOCAL, TRUST_RANK };

/* A line being read. */
struct reading {
  struct wo_view line;
  struct wo_prefix prefix;
  enum trust trust;
  size_t source_end; /* where the last label ended, blanks included; 0 when there was none */
  bool has_log_part; /* a time, level or log tag has been read: more of them may follow */
};

/* ---- Helpers ---- */

/* Offset behind the digits that start at `at`. */
static size_t skip_digits(struct wo_view view, size_t at) {
  while (at < view.len && wo_is_digit(view.ptr[at])) at++;
  return at;
}

/* Offset behind the blanks that start at `at`. Tabs are program text. */
static size_t skip_blanks(struct wo_view view, size_t at) {
  while (at < view.len && view.ptr[at] == ' ') at++;
  return at;
}

/* Offset behind one blank at `at`, when there is one: what follows is the program's own indentation. */
static size_t skip_blank(struct wo_view view, size_t at) {
  return at < view.len && view.ptr[at] == ' ' ? at + 1 : at;
}

/* As skip_blank, for labels that some launchers write with a blank behind them and others without: Python indents by even
 * numbers, so one blank of an odd number is the label's. */
static size_t skip_odd_blank(struct wo_view view, size_t at) {
  return (skip_blanks(view, at) - at) % 2 == 1 ? at + 1 : at;
}

/* Whether c stands at `at`; false beyond the end, so that readers need no length checks of their own. */
static bool has_char(struct wo_view view, size_t at, char c) {
  return at < view.len && view.ptr[at] == c;
}

/* Whether c is one of the characters of the NUL-terminated set. */
static bool is_any(char c, const char *set) {
  while (*set != '\0' && *set != c) set++;
  return *set != '\0';
}

/* Whether view holds nothing but a number: then what stands before it is a key and no label. */
static bool is_bare_number(struct wo_view view) {
  const struct wo_view trimmed = wo_view_trim(view);
  for (size_t i = 0; i < trimmed.len; i++) {
    if (!wo_is_digit(trimmed.ptr[i]) && trimmed.ptr[i] != '.') return false;
  }
  return trimmed.len > 0;
}

/* Reads the number that fills [start, end) as a rank. */
static bool rank_between(struct wo_view view, size_t start, size_t end, int32_t *ret_rank) {
  struct wo_view digits = wo_view_sub(view, start, end);
  uint64_t value = 0;
  if (wo_number_u64(&digits, RANK_MAX, &value) != WO_OK || digits.len > 0) return false;
  *ret_rank = (int32_t)value;
  return true;
}

/* Records a rank unless a label that can be trusted more, or an earlier one of the same kind, has told it. */
static void note_rank(struct reading *reading, int32_t rank, enum trust trust) {
  assert(rank >= 0 && rank <= RANK_MAX);
  if (trust <= reading->trust) return;
  reading->trust = trust;
  reading->prefix.rank = rank;
  reading->prefix.is_local_rank = trust == TRUST_LOCAL;
}

/* Records a host; the outermost wins. */
static void note_host(struct reading *reading, struct wo_view host) {
  if (reading->prefix.host.len == 0) reading->prefix.host = host;
}

/* Records a time; the outermost wins. */
static void note_time(struct reading *reading, int64_t time_ns) {
  if (reading->prefix.time_ns == WO_TIME_UNKNOWN) reading->prefix.time_ns = time_ns;
}

/* Records a label of the writer, `label` being part of `rest`, the whole prefix `length` bytes long. Labels side by side make one
 * source (`0: [default1]:` is another writer than `1: [default1]:`); one behind a time does not, since times differ. */
static void note_source(struct reading *reading, struct wo_view label, size_t length) {
  assert(label.len > 0 && label.ptr >= reading->line.ptr);
  const size_t start = reading->prefix.length;
  const size_t label_end = (size_t)(label.ptr - reading->line.ptr) + label.len;
  if (reading->prefix.source.len == 0) {
    reading->prefix.source = label;
  } else if (reading->source_end == start) {
    const char *const first = reading->prefix.source.ptr;
    reading->prefix.source.len = (size_t)(reading->line.ptr + label_end - first);
  } else {
    return;
  }
  reading->source_end = start + length;
}

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
  if (!wo_view_starts_nocase(rest, "[rank ")) return 0;
  const size_t end = skip_digits(rest, digits);
  int32_t rank = 0;
  if (!rank_between(rest, digits, end, &rank) || !has_char(rest, end, ']')) return 0;
  size_t after = end + 1;
  if (has_char(rest, after, ':')) after++;
  if (after < rest.len && rest.ptr[after] != ' ') return 0;
  note_rank(reading, rank, TRUST_RANK);
  return skip_blank(rest, after);
}

/* Characters of host names, and of the dotted names of loggers. */
static bool is_host_char(char c) {
  return wo_is_alnum(c) || c == '.' || c == '-' || c == '_';
}

/* Offset behind the characters of host names that start at `at`. */
static size_t skip_host(struct wo_view view, size_t at) {
  while (at < view.len && is_host_char(view.ptr[at])) at++;
  return at;
}

/* Whether some letter stands in view: a host name is not a number. */
static bool has_letter(struct wo_view view) {
  for (size_t i = 0; i < view.len; i++) {
    if (wo_is_alpha(view.ptr[i])) return true;
  }
  return false;
}

/* Whether a word names a source file, as in `[core.py:560]`. */
static bool is_source_file(struct wo_view word) {
  static const char *const endings[] = {".py", ".cpp", ".cc", ".cu", ".c", ".h", ".hpp", ".cuh", ".rs", ".go"};
  for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
    if (wo_view_ends(word, endings[i])) return true;
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
  if (reading->prefix.length > 0) return 0;
  size_t start = 0;
  if (has_char(rest, 0, 'P') && skip_digits(rest, 1) > 1 && has_char(rest, skip_digits(rest, 1), ' ')) {
    start = skip_digits(rest, 1); /* a component of a heterogeneous job */
  }
  const size_t digits = skip_blanks(rest, start);
  const size_t end = skip_digits(rest, digits);
  int32_t rank = 0;
  if (digits - start > width_max || end - digits > digits_max || !rank_between(rest, digits, end, &rank)) return 0;
  if (!has_char(rest, end, ':') || !has_char(rest, end + 1, ' ')) return 0;
  if (is_bare_number(wo_view_skip(rest, end + 1))) return 0;
  /* A line of a program's own list, such as `  17: 37.23% (94 questions)`. */
  if (digits - start > 1 && end + 2 < rest.len && wo_is_digit(rest.ptr[end + 2])) return 0;
  note_rank(reading, rank, TRUST_TASK);
  note_source(reading, wo_view_sub(rest, start > 0 ? 0 : digits, end), end + 2);
  return end + 2;
}

/* `[3] `: by MPICH and Intel MPI. Only at the start of a line; `[1] 4711` is a shell starting a job. */
static size_t mpich_label(struct wo_view rest, struct reading *reading) {
  if (reading->prefix.length > 0 || !has_char(rest, 0, '[')) return 0;
  const size_t end = skip_digits(rest, 1);
  int32_t rank = 0;
  if (!rank_between(rest, 1, end, &rank) || !wo_view_starts(wo_view_skip(rest, end), "] ")) return 0;
  if (is_bare_number(wo_view_skip(rest, end + 2))) return 0;
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
  for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
    if (wo_view_starts(word, starts[i])) return true;
  }
  return false;
}

/* Whether a word before a colon is a host name rather than a key: small letters, then somewhere digits; one digit alone only
 * behind the usual stems or a hyphen (`node1`, `worker-0`), since `gpu0:` and `x1:` are more often something else. */
static bool is_host_word(struct wo_view word) {
  static const char *const stems[] = {"node", "host", "worker", "compute", "server", "nid", "cn"};
  size_t digits = 0;
  bool is_host = wo_view_find_char(word, '-', 0) != WO_NOT_FOUND;
  for (size_t i = 0; i < word.len; i++) {
    if (word.ptr[i] == '_' || (wo_is_alpha(word.ptr[i]) && wo_lower(word.ptr[i]) != word.ptr[i])) return false;
    digits += wo_is_digit(word.ptr[i]) ? 1 : 0;
  }
  for (size_t i = 0; i < sizeof stems / sizeof stems[0]; i++) is_host = is_host || wo_view_starts(word, stems[i]);
  if (word.len == 0 || !wo_is_alpha(word.ptr[0]) || is_source_file(word) || wo_view_has(word, ".so")) return false;
  return (digits > 1 || (digits == 1 && is_host)) && !is_everyday_word(word);
}

/* `node01: `: by pdsh and clush. A single word behind it makes it a setting. */
static size_t host_label(struct wo_view rest, struct reading *reading) {
  if (reading->prefix.length > 0) return 0;
  const size_t end = skip_host(rest, 0);
  if (!has_char(rest, end, ':') || !has_char(rest, end + 1, ' ')) return 0;
  const struct wo_view host = wo_view_sub(rest, 0, end);
  const struct wo_view text = wo_view_trim(wo_view_skip(rest, end + 1));
  if (!is_host_word(host) || wo_view_find_char(text, ' ', 0) == WO_NOT_FOUND) return 0;
  note_host(reading, host);
  note_source(reading, host, end + 2);
  return end + 2;
}

/* `gpu01:4711:4720 [3] misc/socket.cc:50 NCCL WARN `: everything before NCCL. The number in brackets is NCCL's device. */
static size_t nccl_tag(struct wo_view rest, struct reading *reading) {
  const size_t host_end = skip_host(rest, 0);
  const size_t pid_end = skip_digits(rest, host_end + 1);
  const size_t tid_end = skip_digits(rest, pid_end + 1);
  if (host_end == 0 || !has_char(rest, host_end, ':') || pid_end == host_end + 1) return 0;
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

/* The whole label. Its inside is the source: name and process id tell workers apart. */
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

/* ---- Times ---- */

/* Offset behind `HH:MM:SS` and a fraction at `at`, or 0. */
static size_t clock_end(struct wo_view view, size_t at) {
  const size_t width = sizeof "00:00:00" - 1;
  const struct wo_view clock = wo_view_sub(view, at, at + width);
  if (clock.len < width) return 0;
  for (size_t i = 0; i < width; i++) {
    if (i % 3 == 2 ? clock.ptr[i] != ':' : !wo_is_digit(clock.ptr[i])) return 0;
  }
  const size_t end = at + width;
  const bool has_fraction = has_char(view, end, '.') || has_char(view, end, ',');
  const size_t fraction_end = has_fraction ? skip_digits(view, end + 1) : end;
  return fraction_end > end + 1 ? fraction_end : end;
}

/* A logger's time is a word of its own. TensorFlow writes `: ` behind it. Returns the offset of what follows, or 0. */
static size_t after_time(struct wo_view rest, size_t end) {
  if (end == rest.len) return end;
  if (wo_view_starts(wo_view_skip(rest, end), ": ")) return end + 2;
  if (has_char(rest, end, ',')) end++;
  return has_char(rest, end, ' ') ? end + 1 : 0;
}

/* Length of a calendar time with a year at the front of view, or 0. */
static size_t calendar_time(struct wo_view view, int64_t *ret_ns) {
  struct wo_view left = view;
  const bool is_likely = view.len >= sizeof "2025-01-06 15:18:19" - 1 && view.ptr[4] == '-' && wo_is_digit(view.ptr[0]);
  if (!is_likely || wo_units_time(&left, ret_ns) != WO_OK) return 0;
  return view.len - left.len;
}

/* `2025-01-06 15:18:19,123 ` and the other forms of ISO 8601. */
static size_t iso_time(struct wo_view rest, struct reading *reading) {
  int64_t time_ns = 0;
  const size_t end = calendar_time(rest, &time_ns);
  const size_t length = end == 0 ? 0 : after_time(rest, end);
  if (length > 0) note_time(reading, time_ns);
  return length;
}

/* `[2025-01-06 15:18:19,123] `, `[15:18:19] `, and NeMo's `[NeMo W 2025-01-06 15:18:19 file:12] `. */
static size_t bracketed_time(struct wo_view rest, struct reading *reading) {
  if (!has_char(rest, 0, '[')) return 0;
  const bool is_nemo = wo_view_starts(rest, "[NeMo ") && rest.len > 8 && rest.ptr[7] == ' ';
  const size_t start = is_nemo ? 8 : 1;
  int64_t time_ns = WO_TIME_UNKNOWN;
  size_t end = calendar_time(wo_view_skip(rest, start), &time_ns);
  end = end > 0 ? start + end : clock_end(rest, start);
  if (end > 0 && is_nemo) end = wo_view_find_char(wo_view_sub(rest, 0, TAG_BYTES_MAX), ']', end);
  if (end == 0 || end == WO_NOT_FOUND || !has_char(rest, end, ']')) return 0;
  note_time(reading, time_ns);
  return skip_blank(rest, end + 1);
}

/* `03-19 07:27:53 `, `03/19 07:27:53 `: no year, so no time is known; `03/19/2025 07:27:53 ` likewise is only removed. */
static size_t short_time(struct wo_view rest, struct reading *reading) {
  (void)reading;
  if (skip_digits(rest, 0) != 2 || skip_digits(rest, 3) != 5) return 0;
  const char separator = rest.ptr[2];
  if (separator != '-' && separator != '/') return 0;
  const size_t date_end = separator == '/' && has_char(rest, 5, '/') ? skip_digits(rest, 6) : 5;
  const size_t end = has_char(rest, date_end, ' ') ? clock_end(rest, date_end + 1) : 0;
  return end == 0 ? 0 : after_time(rest, end);
}

/* `[  514.682838] ` by the kernel, seconds since the machine started. */
static size_t kernel_time(struct wo_view rest, struct reading *reading) {
  (void)reading;
  if (!has_char(rest, 0, '[')) return 0;
  const size_t start = skip_blanks(rest, 1);
  const size_t whole_end = skip_digits(rest, start);
  const size_t end = has_char(rest, whole_end, '.') ? skip_digits(rest, whole_end + 1) : 0;
  if (whole_end == start || end <= whole_end + 1 || !has_char(rest, end, ']')) return 0;
  return skip_blank(rest, end + 1);
}

/* Whether the three letters at `at` name a month. */
static bool is_month(struct wo_view view, size_t at) {
  const struct wo_view name = wo_view_sub(view, at, at + 3);
  if (name.len < 3) return false;
  const size_t found = wo_view_find(WO_VIEW("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"), name, 0);
  return found != WO_NOT_FOUND && found % 4 == 0;
}

/* Offset behind `Jan  6 15:18:46` at `at`, or 0. */
static size_t month_time_end(struct wo_view view, size_t at) {
  if (!is_month(view, at) || !has_char(view, at + 3, ' ')) return 0;
  const size_t day = skip_blanks(view, at + 3);
  const size_t day_end = skip_digits(view, day);
  return day_end > day && has_char(view, day_end, ' ') ? clock_end(view, day_end + 1) : 0;
}

/* `Jan  6 15:18:46 gpu01 kernel: `: time and host by syslog and the journal; the tag stays for other readers. */
static size_t syslog_head(struct wo_view rest, struct reading *reading) {
  const size_t time_end = month_time_end(rest, 0);
  if (time_end == 0 || !has_char(rest, time_end, ' ')) return 0;
  const size_t host_end = skip_host(rest, time_end + 1);
  const size_t tag_end = wo_view_find_char(wo_view_skip(rest, host_end), ' ', 1);
  if (!has_char(rest, host_end, ' ') || tag_end == WO_NOT_FOUND || rest.ptr[host_end + tag_end - 1] != ':') return 0;
  note_host(reading, wo_view_sub(rest, time_end + 1, host_end));
  return host_end + 1;
}

/* `[Mon Jan  6 15:18:46 2025] ` by dmesg -T. */
static size_t dmesg_time(struct wo_view rest, struct reading *reading) {
  (void)reading;
  const size_t month = sizeof "[Mon " - 1;
  if (!has_char(rest, 0, '[') || !has_char(rest, month - 1, ' ')) return 0;
  const size_t end = month_time_end(rest, month);
  const size_t year_end = end == 0 ? 0 : skip_digits(rest, end + 1);
  if (end == 0 || !has_char(rest, end, ' ') || year_end != end + 5 || !has_char(rest, year_end, ']')) return 0;
  return skip_blank(rest, year_end + 1);
}

/* `kernel: ` by the journal. */
static size_t kernel_tag(struct wo_view rest, struct reading *reading) {
  (void)reading;
  return wo_view_starts(rest, "kernel: ") ? sizeof "kernel: " - 1 : 0;
}

/* ---- Parts of log records ---- */

/* Offset behind `] ` of a log tag that ends in a line number (`path.cc:607] `), searched from `at`; 0 when there is none. */
static size_t numbered_tag_end(struct wo_view rest, size_t at) {
  const size_t end = wo_view_find_char(wo_view_sub(rest, 0, TAG_BYTES_MAX), ']', at);
  if (end == WO_NOT_FOUND || !wo_is_digit(rest.ptr[end - 1])) return 0;
  size_t digits = end;
  while (digits > at && wo_is_digit(rest.ptr[digits - 1])) digits--;
  return digits > at && rest.ptr[digits - 1] == ':' ? skip_blank(rest, end + 1) : 0;
}

/* Whether one of glog's letters stands at `at`: information, warning, error, fatal. */
static bool is_severity(struct wo_view view, size_t at) {
  return at < view.len && is_any(view.ptr[at], "IWEF");
}

/* `W0106 15:18:46.670320 209443 path:1] ` by glog, `[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] ` by PyTorch: severity,
 * month and day, time. */
static size_t glog_tag(struct wo_view rest, struct reading *reading) {
  (void)reading;
  const size_t start = has_char(rest, 0, '[') ? 1 : 0;
  if (!is_severity(rest, start)) return 0;
  const size_t day_end = skip_digits(rest, start + 1);
  const size_t width = day_end - start - 1;
  if (width < 3 || width > 4 || !has_char(rest, day_end, ' ')) return 0;
  const size_t end = clock_end(rest, day_end + 1);
  return end == 0 || !has_char(rest, end, ' ') ? 0 : numbered_tag_end(rest, end);
}

/* `I tensorflow/core/framework/op.cc:100] ` behind TensorFlow's time. */
static size_t tensorflow_tag(struct wo_view rest, struct reading *reading) {
  if (!reading->has_log_part || !is_severity(rest, 0) || !has_char(rest, 1, ' ')) return 0;
  const size_t path_end = wo_view_find_char(wo_view_sub(rest, 0, TAG_BYTES_MAX), ' ', 2);
  const size_t end = numbered_tag_end(rest, 2);
  return path_end == WO_NOT_FOUND || end > path_end + 1 ? 0 : end;
}

/* Length of a level's name at the front of view, or 0. */
static size_t level_name(struct wo_view view) {
  static const char *const names[] = {"INFO", "WARNING", "WARN", "ERROR", "DEBUG", "CRITICAL", "FATAL", "TRACE"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const size_t len = strlen(names[i]);
    if (wo_view_starts(view, names[i]) && (view.len == len || !wo_is_word(view.ptr[len]))) return len;
  }
  return 0;
}

/* `ERROR 03-19 07:27:53 ` (vLLM): at the start of a line a level counts only with such a time behind it, since
 * `ERROR: CUDA out of memory` is the program's text. */
static size_t leading_level(struct wo_view rest, struct reading *reading) {
  const size_t end = level_name(rest);
  if (end == 0 || !has_char(rest, end, ' ')) return 0;
  const size_t next = skip_blanks(rest, end);
  const struct wo_view after = wo_view_skip(rest, next);
  int64_t time_ns = 0;
  return short_time(after, reading) > 0 || calendar_time(after, &time_ns) > 0 ? next : 0;
}

/* Offset behind `- `, `| ` or `: ` at `at`, with the blanks before it; `at` when there is none. */
static size_t skip_separator(struct wo_view rest, size_t at) {
  const size_t mark = skip_blanks(rest, at);
  if (mark >= rest.len || !is_any(rest.ptr[mark], "-|:")) return at;
  return has_char(rest, mark + 1, ' ') || mark + 1 == rest.len ? skip_blank(rest, mark + 1) : at;
}

/* `INFO `, `[INFO] `, `- ERROR - `, `| INFO     | ` behind a time. */
static size_t level_word(struct wo_view rest, struct reading *reading) {
  if (!reading->has_log_part) return 0;
  const size_t start = skip_separator(rest, 0);
  const bool is_bracketed = has_char(rest, start, '[');
  const size_t name = is_bracketed ? start + 1 : start;
  const size_t len = level_name(wo_view_skip(rest, name));
  if (len == 0 || (is_bracketed && !has_char(rest, name + len, ']'))) return 0;
  const size_t end = is_bracketed ? name + len + 1 : name + len;
  const size_t after = skip_separator(rest, end);
  if (after > end) return after;
  return end < rest.len && rest.ptr[end] != ' ' ? 0 : skip_blanks(rest, end);
}

/* `[INFO|trainer.py:1234] ` by transformers; a time and `>> ` follow. */
static size_t transformers_tag(struct wo_view rest, struct reading *reading) {
  (void)reading;
  const size_t len = has_char(rest, 0, '[') ? level_name(wo_view_skip(rest, 1)) : 0;
  return len == 0 || !has_char(rest, 1 + len, '|') ? 0 : numbered_tag_end(rest, len + 2);
}

/* `>> ` between a transformers time and its text. */
static size_t arrow(struct wo_view rest, struct reading *reading) {
  return reading->has_log_part && wo_view_starts(rest, ">> ") ? 3 : 0;
}

/* `[core.py:560] `, `[file.py:12:function] `. */
static size_t file_tag(struct wo_view rest, struct reading *reading) {
  (void)reading;
  if (!has_char(rest, 0, '[')) return 0;
  const struct wo_view head = wo_view_sub(rest, 0, TAG_BYTES_MAX);
  const size_t colon = wo_view_find_char(head, ':', 0);
  const size_t end = wo_view_find_char(head, ']', 0);
  if (colon == WO_NOT_FOUND || end == WO_NOT_FOUND || colon > end) return 0;
  const size_t line_end = skip_digits(rest, colon + 1);
  if (!is_source_file(wo_view_sub(rest, 1, colon)) || line_end == colon + 1) return 0;
  if (line_end != end && rest.ptr[line_end] != ':') return 0;
  return end + 1 < rest.len && rest.ptr[end + 1] != ' ' ? 0 : skip_blank(rest, end + 1);
}

/* `- torch.distributed - ` and `module:function:12 - ` (Loguru) in the middle of a log record. */
static size_t logger_name(struct wo_view rest, struct reading *reading) {
  if (!reading->has_log_part) return 0;
  const size_t start = wo_view_starts(rest, "- ") ? 2 : 0;
  size_t end = start;
  while (end < rest.len && (is_host_char(rest.ptr[end]) || is_any(rest.ptr[end], ":<>"))) end++;
  const bool is_place = wo_view_find_char(wo_view_sub(rest, start, end), ':', 0) != WO_NOT_FOUND;
  if (end == start || (start == 0 && !is_place)) return 0;
  return wo_view_starts(wo_view_skip(rest, end), " - ") ? end + (start > 0 ? 1 : 3) : 0;
}

/* `stderr F ` behind the time, by the container runtimes of Kubernetes. */
static size_t container_stream(struct wo_view rest, struct reading *reading) {
  const size_t length = sizeof "stderr F " - 1;
  if (!reading->has_log_part || (!wo_view_starts(rest, "stderr ") && !wo_view_starts(rest, "stdout "))) return 0;
  return (has_char(rest, length - 2, 'F') || has_char(rest, length - 2, 'P')) && has_char(rest, length - 1, ' ') ? length : 0;
}

/* `E   ` by pytest, at the start of a line, with whatever indentation the test had. */
static size_t pytest_mark(struct wo_view rest, struct reading *reading) {
  return reading->prefix.length == 0 && wo_view_starts(rest, "E   ") ? skip_blanks(rest, 1) : 0;
}

/* ---- All of them ---- */

/* A row of the table. */
struct reader {
  size_t (*read)(struct wo_view rest, struct reading *reading);
  bool is_log_part; /* part of a log record: further parts may follow it */
};

/* From the unmistakable to the general: labels in brackets with a word in them, log records, then bare numbers and names. */
static const struct reader readers[] = {
    {rank_label, false},      /* [rank3]: */
    {named_rank, false},      /* [Rank 3] */
    {stream_label, false},    /* [1,3]<stderr>: */
    {host_rank_label, false}, /* [gpu187:1]: */
    {role_label, false},      /* [default0]: */
    {worker_label, false},    /* (WorkerDict pid=1) */
    {glog_tag, true},         /* W0106 15:18:46.6 209443 path:1] */
    {kernel_time, true},      /* [  514.682838] */
    {bracketed_time, true},   /* [2025-01-06 15:18:19,123] */
    {dmesg_time, true},       /* [Mon Jan  6 15:18:46 2025] */
    {iso_time, true},         /* 2025-01-06 15:18:19,123 */
    {short_time, true},       /* 03-19 07:27:53 */
    {syslog_head, true},      /* Jan  6 15:18:46 gpu01 */
    {kernel_tag, true},       /* kernel: */
    {nccl_tag, false},        /* gpu01:4711:4720 [3] file.cc:50 */
    {leading_level, true},    /* ERROR, with 03-19 07:27:53 behind it */
    {level_word, true},       /* [INFO] */
    {transformers_tag, true}, /* [INFO|trainer.py:1234] */
    {file_tag, true},         /* [core.py:560] */
    {tensorflow_tag, true},   /* I tensorflow/core/op.cc:100] */
    {arrow, true},            /* >> */
    {container_stream, true}, /* stderr F */
    {logger_name, true},      /* - torch.distributed - */
    {task_label, false},      /* 8: */
    {mpich_label, false},     /* [3] */
    {host_label, false},      /* node01: */
    {pytest_mark, false},     /* E, with blanks behind it */
};

/* Reads one prefix. False when no reader matches. */
static bool read_one(struct reading *reading) {
  const struct wo_view rest = wo_view_skip(reading->line, reading->prefix.length);
  for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
    const size_t length = readers[i].read(rest, reading);
    assert(length <= rest.len);
    if (length == 0) continue;
    assert(reading->trust == TRUST_NONE || reading->prefix.rank >= 0);
    assert(reading->prefix.source.len == 0 || reading->source_end <= reading->prefix.length + length);
    reading->prefix.length += length;
    reading->has_log_part = reading->has_log_part || readers[i].is_log_part;
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
  return reading.prefix;
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
