/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a batch script: lines "#SBATCH" with options of sbatch, long or short, up to the first command. SLURM reads none
 * after it, and does not warn about those.
 *
 *   #SBATCH --nodes=2 --gres=gpu:a100:4
 *   #SBATCH -t 2-00:00:00
 *   #SBATCH --mem-per-gpu 60G        # comment
 *
 * Each option becomes an event of its own, so that every figure leads back to its place. Form: SLURM 17.02 to 26.05. */
#include <string.h>

#include "parsers/base/units.h"
#include "parsers/scan/format.h"

/* The parts of a limit that were seen; 0: not yet. */
struct sbatch {
  bool is_behind; /* the first command was seen */
  bool has_limit;
  int quiet; /* lines since the last directive */
  int64_t gpus, mib_per_gpu, cpus_per_task, tasks_per_node, mib_per_cpu;
};

/* Lines after the last directive after which the head is left: a directive further down is not reported. */
#define QUIET_LINES 100

/* Whether a value belongs to an option: always, or only after '='. */
enum argument { ARGUMENT, MAY_HAVE };

struct option {
  const char *name;
  char letter; /* '\0': none */
  enum argument argument;
};

static const struct option options[] = {
    {"mem", '\0', ARGUMENT},           {"mem-per-cpu", '\0', ARGUMENT},   {"mem-per-gpu", '\0', ARGUMENT},
    {"gres", '\0', ARGUMENT},          {"gpus", 'G', ARGUMENT},           {"gpus-per-node", '\0', ARGUMENT},
    {"gpus-per-task", '\0', ARGUMENT}, {"gpu-bind", '\0', ARGUMENT},      {"cpus-per-gpu", '\0', ARGUMENT},
    {"cpus-per-task", 'c', ARGUMENT},  {"ntasks", 'n', ARGUMENT},         {"ntasks-per-node", '\0', ARGUMENT},
    {"nodes", 'N', ARGUMENT},          {"time", 't', ARGUMENT},           {"array", 'a', ARGUMENT},
    {"signal", '\0', ARGUMENT},        {"requeue", '\0', MAY_HAVE},       {"no-requeue", '\0', MAY_HAVE},
    {"open-mode", '\0', ARGUMENT},     {"output", 'o', ARGUMENT},         {"error", 'e', ARGUMENT},
    {"exclusive", '\0', MAY_HAVE},     {"constraint", 'C', ARGUMENT},     {"job-name", 'J', ARGUMENT},
    {"partition", 'p', ARGUMENT},      {"oom-kill-step", '\0', MAY_HAVE},
};

/* One option of a line. Both point into line->full. */
struct given {
  const struct option *option;
  struct wo_view whole; /* option and value, as written */
  struct wo_view value; /* without quotes; may be empty */
};

/* Where a word ends: at a blank outside of quotes. */
static size_t word_length(struct wo_view text) {
  char quote = '\0';
  for (size_t i = 0; i < text.len; i++) {
    const char c = text.ptr[i];
    if (quote == '\0' && wo_is_space(c)) return i;
    if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = '\0';
    }
  }
  return text.len;
}

static struct wo_view without_quotes(struct wo_view text) {
  const bool is_quoted = text.len >= 2 && (text.ptr[0] == '"' || text.ptr[0] == '\'') && text.ptr[text.len - 1] == text.ptr[0];
  return is_quoted ? wo_view_sub(text, 1, text.len - 1) : text;
}

/* The option that a word begins with; *ret_value is what follows in the same word. NULL for words that are none of the table. */
static const struct option *find_option(struct wo_view word, struct wo_view *ret_value, bool *ret_has_value) {
  const bool is_long = wo_view_starts(word, "--");
  *ret_value = wo_view_skip(word, 2);
  const struct wo_view name = is_long ? wo_view_cut(ret_value, '=') : wo_view_sub(word, 1, 2);
  *ret_has_value = is_long ? wo_view_has(word, "=") : word.len > 2;
  for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
    if (is_long ? wo_view_is(name, options[i].name) : name.len == 1 && name.ptr[0] == options[i].letter) return &options[i];
  }
  return NULL;
}

/* Cuts the next option off *rest. False at the end of the line, or at its comment. */
static bool next_option(struct wo_view *rest, struct given *ret_given) {
  for (*rest = wo_view_trim_start(*rest); rest->len > 0 && rest->ptr[0] != '#'; *rest = wo_view_trim_start(*rest)) {
    bool has_value = false;
    const struct wo_view word = wo_view_sub(*rest, 0, word_length(*rest));
    *rest = wo_view_skip(*rest, word.len);
    if (word.len < 2 || word.ptr[0] != '-') continue;
    ret_given->option = find_option(word, &ret_given->value, &has_value);
    ret_given->whole = word;
    if (!ret_given->option) continue;
    if (!has_value && ret_given->option->argument == ARGUMENT) {
      const struct wo_view next = wo_view_trim_start(*rest);
      ret_given->value = wo_view_sub(next, 0, word_length(next));
      *rest = wo_view_skip(next, ret_given->value.len);
      if (ret_given->value.len > 0) ret_given->whole.len = (size_t)(ret_given->value.ptr + ret_given->value.len - word.ptr);
    }
    ret_given->value = without_quotes(ret_given->value);
    return true;
  }
  return false;
}

/* ---- What options say ---- */

/* The cards of "gpu:4", "gpu:a100:4", "a100:8" and "8", the last number; of "gpu" alone one. Other generic resources may be
 * around them in a list. 0 when there are none. */
static uint64_t count_gpus(struct wo_view value, bool is_gres) {
  uint64_t total = 0;
  while (value.len > 0) {
    struct wo_view item = wo_view_cut(&value, ',');
    if (wo_view_starts(item, "gres/")) item = wo_view_skip(item, 5);
    if (is_gres && !wo_view_is(item, "gpu") && !wo_view_starts(item, "gpu:")) continue;
    const size_t colon = wo_view_find_last(item, WO_VIEW(":"), item.len);
    struct wo_view number = wo_view_skip(item, colon == WO_NOT_FOUND ? 0 : colon + 1);
    uint64_t count = 0;
    total += wo_number_u64(&number, 100000, &count) == WO_OK ? count : 1;
  }
  return total;
}

/* MiB of "60G" and "4096", or 0. */
static int64_t read_mib(struct wo_view value) {
  struct wo_interval bytes;
  if (wo_units_bytes(&value, WO_MIB, &bytes) != WO_OK || !(bytes.mid > 0) || bytes.mid > 1e15) return 0;
  return (int64_t)(bytes.mid / WO_MIB);
}

static int64_t read_count(struct wo_view value) {
  uint64_t number = 0;
  return wo_number_u64(&value, 1000000, &number) == WO_OK ? (int64_t)number : 0;
}

static bool is_option(const struct given *given, const char *name) {
  return strcmp(given->option->name, name) == 0;
}

/* Parts of a limit that several options give. */
static void keep_parts(struct wo_open *open, const struct given *given, uint64_t gpus) {
  struct sbatch *const own = open->state;
  if (gpus > 0) own->gpus = (int64_t)gpus;
  if (is_option(given, "mem-per-gpu")) own->mib_per_gpu = read_mib(given->value);
  if (is_option(given, "mem-per-cpu")) own->mib_per_cpu = read_mib(given->value);
  if (is_option(given, "cpus-per-task")) own->cpus_per_task = read_count(given->value);
  if (is_option(given, "ntasks-per-node")) own->tasks_per_node = read_count(given->value);
}

/* The limit of a node, once all its factors are known. */
static void set_limit(struct wo_open *open, struct wo_event *event) {
  struct sbatch *const own = open->state;
  const double by_gpu = (double)own->mib_per_gpu * (double)own->gpus;
  const double by_cpu = (double)own->mib_per_cpu * (double)own->cpus_per_task * (double)own->tasks_per_node;
  const double mib = own->mib_per_gpu > 0 ? by_gpu : by_cpu;
  if (mib <= 0 || own->has_limit) return;
  own->has_limit = true;
  wo_event_set_exact(open->store, event, WO_FIELD_LIMIT_BYTES, mib * WO_MIB);
}

/* Fields of the options that rules look at. A time without a colon or a dash is in minutes. */
static void set_fields(struct wo_event_store *store, struct wo_event *event, const struct given *given) {
  struct wo_view in = given->value;
  int64_t ns = 0;
  if (is_option(given, "job-name")) wo_event_set_text(store, event, WO_FIELD_JOB_NAME, given->value);
  if (is_option(given, "ntasks-per-node")) wo_event_set_text(store, event, WO_FIELD_TASKS, given->value);
  if (is_option(given, "nodes")) {
    struct wo_view least = given->value;
    wo_event_set_text(store, event, WO_FIELD_NODES, wo_view_cut(&least, '-'));
  }
  if (is_option(given, "mem") && read_mib(given->value) > 0)
    wo_event_set_exact(store, event, WO_FIELD_LIMIT_BYTES, (double)read_mib(given->value) * WO_MIB);
  if (is_option(given, "time")) {
    wo_event_set_text(store, event, WO_FIELD_TIME, given->value);
    if (wo_units_slurm_duration(&in, &ns) == WO_OK && in.len == 0 && ns > 0)
      wo_event_set_exact(store, event, WO_FIELD_TIME_LIMIT_S, (double)(ns / WO_NS_PER_S));
  }
}

/* Cards of --gpus are those of all nodes together, and sizes per card or processor are no limit: so they do not become facts of
 * the job, which count per node. */
static void add_option(struct wo_open *open, const struct given *given) {
  const bool is_gres = is_option(given, "gres");
  const bool is_total = is_option(given, "gpus");
  const bool is_share = is_option(given, "mem-per-cpu") || is_option(given, "mem-per-gpu");
  const uint64_t gpus = is_gres || is_total || is_option(given, "gpus-per-node") ? count_gpus(given->value, is_gres) : 0;
  struct wo_event *event = wo_open_add(open, is_total || is_share ? WO_KIND_JOB_INFO : WO_KIND_SBATCH, given->whole);
  if (!event) return;
  set_fields(open->store, event, given);
  if (gpus > 0) wo_event_set_exact(open->store, event, WO_FIELD_GPUS, (double)gpus);
  if (is_share) wo_event_set_text(open->store, event, WO_FIELD_MESSAGE, given->whole);
  keep_parts(open, given, is_total ? 0 : gpus);
  set_limit(open, event);
  wo_event_set_text(open->store, event, WO_FIELD_KEY, wo_view_of(given->option->name));
  if (given->value.len > 0) wo_event_set_text(open->store, event, WO_FIELD_VALUE, given->value);
}

static void read_directive(struct wo_open *open) {
  struct sbatch *const own = open->state;
  const size_t at = wo_view_find(open->line->full, WO_VIEW("#SBATCH"), 0);
  struct wo_view rest = wo_view_skip(open->line->full, at == WO_NOT_FOUND ? open->line->full.len : at + 7);
  struct given given;
  own->quiet = 0;
  while (next_option(&rest, &given)) add_option(open, &given);
}

static enum wo_more begin_sbatch(struct wo_open *open, const struct wo_match *match) {
  (void)match;
  read_directive(open);
  return WO_MORE_YES;
}

/* A directive that SLURM ignores is reported, but not read. */
static void add_ignored(const struct wo_open *open, struct wo_view text) {
  struct wo_event *event = wo_open_add(open, WO_KIND_NOTE, text);
  if (event)
    wo_event_set_text(open->store, event, WO_FIELD_MESSAGE,
                      WO_VIEW("ignored: SLURM reads no #SBATCH line behind the first command"));
}

/* Another script begins with its own "#!". */
static enum wo_more feed_sbatch(struct wo_open *open) {
  struct sbatch *const own = open->state;
  const struct wo_view text = wo_view_trim(open->line->text);
  if (wo_view_starts(text, "#!") || ++own->quiet > QUIET_LINES) return WO_MORE_NO_UNREAD;
  if (!wo_view_starts(text, "#SBATCH")) {
    if (text.len > 0 && text.ptr[0] != '#') own->is_behind = true;
  } else if (own->is_behind) {
    add_ignored(open, text);
  } else {
    read_directive(open);
  }
  return WO_MORE_YES;
}

const struct wo_format wo__format_sbatch = {
    .name = "sbatch", .state_bytes = sizeof(struct sbatch), .begin = begin_sbatch, .feed = feed_sbatch};
