/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the answers of a real allocator with the model's, request by request.
 *
 * Usage: driver PROGRAM | compare TORCH PROGRAM. Prints the first disagreement of each sequence, then one line of counts:
 * sequences, operations, requests, out-of-memory, entries, disagreements; sequences that torch itself aborted (lines A);
 * sequences that the model refused to go on with, because torch fails there or is in ruins from there on (lines R, which end in
 * what became of torch, and a for its message), and of these: those in which torch failed, those after which its accounts are
 * wrong, those in which it went on without trouble; sequences that went apart where the order of frees is open. Exit status 1
 * when anything disagreed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/replay/allocator_valid.h"
#include "tests/oracle/lockstep.h"

enum { SHOWN = 100000, VALID_EVERY = 97 };

struct text {
  char *start;
  size_t size;
};

struct line {
  const char *at;
  size_t length;
};

/* What torch says that it has, and what the card gave it, in bytes, up to the last answer of a sequence. */
struct account {
  uint64_t card_bytes; /* held by calls of the card */
  uint64_t told_bytes; /* reserved, by its statistics */
  uint64_t laid_bytes; /* of the segments of the final layout */
  bool has_failed;     /* it threw, or crashed */
  bool has_ended;      /* the final layout came */
};

struct comparison {
  struct wo_lockstep *lockstep;
  uint16_t torch;
  struct text program;
  size_t program_at;
  char *answer; /* the current line of answers, without its end */
  size_t answer_capacity;
  size_t answer_length;
  bool has_answer;
  struct account account;
  struct wo_oracle_calls calls;   /* of the real one, for one request */
  struct wo_oracle_calls entries; /* of the real one, for the sequence */
  uint64_t sequence;
  uint64_t request; /* in the sequence */
  bool has_disagreed;
  uint64_t sequences, operations, mallocs, ooms, entry_count, disagreements, aborted, refused, open;
  uint64_t refused_failed, refused_ruined, refused_fine;
  bool is_modelled; /* the model could do the last request */
};

/* The number of a line at a place that counts from 0. */
static uint64_t number_at(const char *line, const char *end, size_t place) {
  const char *at = line + 1;
  uint64_t number = 0;
  for (size_t i = 0; i <= place; i++) number = wo_oracle_number(&at, end);
  return number;
}

static void keep_account(struct account *account, const char *line, size_t length) {
  enum { RESERVED_AT = 5 * 3 * 4 };
  const char *const end = line + length;
  if (line[0] == 'S') *account = (struct account){0};
  if (line[0] == 'A' || line[0] == 'M') account->card_bytes += number_at(line, end, 1);
  if (line[0] == 'F' || line[0] == 'U') account->card_bytes -= number_at(line, end, 1);
  if (line[0] == 'P') account->told_bytes = number_at(line, end, RESERVED_AT);
  if (line[0] == 'G') account->laid_bytes += number_at(line, end, 1);
  if (line[0] == '!') account->has_failed = true;
  if (line[0] == 'L') account->has_ended = true;
}

static void next_answer(struct comparison *c) {
  const ssize_t got = getline(&c->answer, &c->answer_capacity, stdin);
  c->has_answer = got > 0;
  c->answer_length = got > 0 ? (size_t)got - (c->answer[got - 1] == '\n') : 0;
  if (c->has_answer) c->answer[c->answer_length] = 0;
  if (c->has_answer) keep_account(&c->account, c->answer, c->answer_length);
}

static struct line program_line(const struct comparison *c) {
  const char *at = c->program.start + c->program_at;
  const char *end = memchr(at, '\n', c->program.size - c->program_at);
  return (struct line){at, end ? (size_t)(end - at) : c->program.size - c->program_at};
}

static bool program_ended(const struct comparison *c) {
  return c->program_at >= c->program.size;
}

static void disagree(struct comparison *c, const char *what, const char *expected, const char *got) {
  c->has_disagreed = true;
  if (wo_lockstep_has_open_order(c->lockstep)) {
    c->open++;
    return;
  }
  if (c->disagreements++ >= SHOWN) return;
  const struct line line = program_line(c);
  printf("D sequence %" PRIu64 " request %" PRIu64 " '%.*s': %s: real %s, model %s\n", c->sequence, c->request,
         program_ended(c) || line.at[0] == 'S' ? 3 : (int)line.length, program_ended(c) || line.at[0] == 'S' ? "end" : line.at,
         what, expected, got);
}

static void show_call(const struct wo_oracle_calls *calls, size_t at, char *out, size_t capacity) {
  if (at >= calls->count)
    snprintf(out, capacity, "nothing");
  else
    snprintf(out, capacity, "%c %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64, calls->items[at].kind, calls->items[at].address,
             calls->items[at].size_bytes, calls->items[at].stream, (int64_t)calls->items[at].pool);
}

static void disagree_calls(struct comparison *c, const char *what, const struct wo_oracle_calls *real,
                           const struct wo_oracle_calls *model, size_t at) {
  char expected[120];
  char got[120];
  show_call(real, at, expected, sizeof expected);
  show_call(model, at, got, sizeof got);
  disagree(c, what, expected, got);
}

/* ---- Statistics and layout ---- */

static const char *const statistic_names[] = {"allocation",       "segment",
                                              "active",           "inactive_split",
                                              "allocated_bytes",  "reserved_bytes",
                                              "active_bytes",     "inactive_split_bytes",
                                              "requested_bytes",  "oversize_allocations",
                                              "oversize_segments"};
static const char *const counter_names[] = {"num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc",
                                            "num_device_free"};
static const char *const part_names[] = {"current", "peak", "allocated", "freed"};

enum { COUNTERS_AT = 9 * 3 * 4 + 2 * 4, OVERSIZE_AT = 9 * 3 * 4 };

static void name_statistic(size_t at, char *out, size_t capacity) {
  static const char *const pools[] = {"all", "small", "large"};
  if (at >= COUNTERS_AT)
    snprintf(out, capacity, "%s", counter_names[at - COUNTERS_AT]);
  else if (at >= OVERSIZE_AT)
    snprintf(out, capacity, "%s.%s", statistic_names[9 + (at - OVERSIZE_AT) / 4], part_names[at % 4]);
  else
    snprintf(out, capacity, "%s.%s.%s", statistic_names[at / 12], pools[at / 4 % 3], part_names[at % 4]);
}

/* Whether a version counts it, and whether the order of completed frees leaves it alone. */
static bool is_compared(const struct comparison *c, size_t at) {
  const size_t stat = at / 12;
  if (at >= COUNTERS_AT + 2) return c->torch >= 204;
  if (at < OVERSIZE_AT && (stat == 3 || stat == 7) && at % 4 != 0) return !wo_lockstep_has_waits(c->lockstep);
  return true;
}

static void compare_statistics(struct comparison *c) {
  uint64_t values[WO_ORACLE_STATISTICS];
  const char *at = c->answer + 1;
  const char *end = c->answer + c->answer_length;
  wo_lockstep_statistics(c->lockstep, values);
  for (size_t i = 0; i < WO_ORACLE_STATISTICS; i++) {
    const uint64_t real = wo_oracle_number(&at, end);
    if (real == values[i] || !is_compared(c, i) || c->has_disagreed) continue;
    char name[80];
    char expected[32];
    char got[32];
    name_statistic(i, name, sizeof name);
    snprintf(expected, sizeof expected, "%" PRId64, (int64_t)real);
    snprintf(got, sizeof got, "%" PRId64, (int64_t)values[i]);
    disagree(c, name, expected, got);
  }
}

static bool expect_layout(struct comparison *c, const char *model) {
  const bool is_same = c->has_answer && strcmp(c->answer, model) == 0;
  if (!is_same)
    disagree(c, "layout", c->has_answer ? c->answer : "nothing", model);
  else
    next_answer(c);
  return is_same;
}

static bool compare_segment(void *state, const struct wo_allocator_segment *segment, const struct wo_allocator_block *blocks,
                            const wo_block_id *ids, size_t count) {
  struct comparison *c = state;
  char line[200];
  (void)ids;
  snprintf(line, sizeof line, "G %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %d %" PRIu64, segment->address, segment->size_bytes,
           segment->stream, segment->is_small, segment->is_expandable, c->torch >= 201 ? segment->pool.second : 0);
  if (!expect_layout(c, line)) return false;
  for (size_t i = 0; i < count; i++) {
    static const int states[] = {[WO_BLOCK_FREE] = 0, [WO_BLOCK_ALLOCATED] = 1, [WO_BLOCK_PENDING] = 2};
    snprintf(line, sizeof line, "B %" PRIu64 " %" PRIu64 " %d", blocks[i].size_bytes,
             blocks[i].state == WO_BLOCK_FREE ? 0 : blocks[i].requested_bytes, states[blocks[i].state]);
    if (!expect_layout(c, line)) return false;
  }
  return true;
}

/* ---- Answers ---- */

static struct wo_oracle_call parse_call(const char *kind, const char *end) {
  const char *at = kind + 1;
  struct wo_oracle_call call = {.kind = *kind};
  call.address = wo_oracle_number(&at, end);
  call.size_bytes = wo_oracle_number(&at, end);
  call.stream = wo_oracle_number(&at, end);
  call.pool = at < end ? wo_oracle_number(&at, end) : WO_ORACLE_ANY_POOL;
  return call;
}

/* Reads calls and entries up to a line of another kind, which becomes the current one. */
static void read_calls(struct comparison *c) {
  for (; c->has_answer; next_answer(c)) {
    const char *end = c->answer + c->answer_length;
    if (c->answer[0] == 't')
      wo_oracle_calls_add(&c->entries, parse_call(c->answer + 1, end));
    else if (strchr("AaFRrMmU", c->answer[0]))
      wo_oracle_calls_add(&c->calls, parse_call(c->answer, end));
    else
      return;
  }
}

static void check_valid(struct comparison *c) {
  const char *why = "";
  if (!c->has_disagreed && !wo_allocator_is_valid(wo_lockstep_allocator(c->lockstep), &why)) disagree(c, "model", "valid", why);
}

static void settle_calls(const struct comparison *c, struct wo_oracle_calls *calls) {
  if (wo_lockstep_has_pools(c->lockstep)) wo_oracle_calls_settle(calls, "FUr");
  wo_oracle_calls_join(calls);
}

static void settle_entries(const struct comparison *c, struct wo_oracle_calls *entries) {
  wo_oracle_calls_settle(entries, "c");
  if (wo_lockstep_has_pools(c->lockstep)) wo_oracle_calls_settle(entries, "fu");
}

/* One request on both sides. False: torch stopped there, or the model says that it does. */
static bool compare_request(struct comparison *c, bool is_refused) {
  const struct line line = program_line(c);
  uint64_t address = 0;
  c->calls.count = 0;
  const size_t entries_before = c->entries.count;
  read_calls(c);
  wo_lockstep_follow(c->lockstep, &c->entries, entries_before);
  c->is_modelled = c->has_disagreed || (!is_refused && wo_lockstep_run(c->lockstep, line.at, line.length, &address));
  if (c->has_answer && c->answer[0] == 'P' && !c->has_disagreed) compare_statistics(c);
  if (c->has_answer && c->answer[0] == 'P') next_answer(c);
  if (!c->has_answer || c->answer[0] != '=') return false;
  const char *at = c->answer + 1;
  const uint64_t real = wo_oracle_number(&at, c->answer + c->answer_length);
  c->operations++;
  c->mallocs += line.at[0] == 'm';
  c->ooms += line.at[0] == 'm' && real == 0;
  if (c->has_disagreed) return true;
  struct wo_oracle_calls *model = wo_lockstep_calls(c->lockstep);
  settle_calls(c, &c->calls);
  settle_calls(c, model);
  const size_t differs = wo_oracle_calls_differ(&c->calls, model);
  char expected[32];
  char got[32];
  snprintf(expected, sizeof expected, "%" PRIu64, real);
  snprintf(got, sizeof got, "%" PRIu64, address);
  if (!c->is_modelled && wo_lockstep_has_refused(c->lockstep)) return false;
  if (!c->is_modelled)
    disagree(c, "the model stopped", expected, wo_lockstep_message(c->lockstep));
  else if (differs != SIZE_MAX)
    disagree_calls(c, "device call", &c->calls, model, differs);
  else if (real != address)
    disagree(c, "address", expected, got);
  return true;
}

static void compare_end(struct comparison *c) {
  next_answer(c);
  if (c->has_answer && c->answer[0] == 'P' && !c->has_disagreed) compare_statistics(c);
  next_answer(c);
  if (!c->has_disagreed) wo_allocator_walk(wo_lockstep_allocator(c->lockstep), compare_segment, c);
  while (c->has_answer && strchr("GB", c->answer[0])) {
    if (!c->has_disagreed) disagree(c, "layout", c->answer, "nothing more");
    next_answer(c);
  }
  read_calls(c); /* 2.0 and 2.1 tell their trace at the end */
  struct wo_oracle_calls *model = wo_lockstep_entries(c->lockstep);
  settle_entries(c, &c->entries);
  settle_entries(c, model);
  c->entry_count += c->entries.count;
  const size_t differs = wo_oracle_calls_differ(&c->entries, model);
  if (!c->has_disagreed && differs != SIZE_MAX) disagree_calls(c, "trace entry", &c->entries, model, differs);
}

static void skip_line(struct comparison *c) {
  c->program_at += program_line(c).length + 1;
}

/* What became of torch after a request that the model refused. */
static const char *judge_refusal(struct comparison *c, const struct account *account) {
  if (account->has_failed || !account->has_ended) return c->refused_failed++, "torch fails";
  if (account->card_bytes != account->told_bytes || account->told_bytes != account->laid_bytes)
    return c->refused_ruined++, "torch's accounts are wrong";
  return c->refused_fine++, "torch goes on";
}

static void compare_sequence(struct comparison *c) {
  const struct line header = program_line(c);
  const char *at = header.at + 1;
  c->sequence = wo_oracle_number(&at, header.at + header.length);
  c->sequences++;
  c->request = 0;
  c->has_disagreed = false;
  c->entries.count = 0;
  c->is_modelled = wo_lockstep_begin(c->lockstep, header.at, header.length);
  const bool is_refused = !c->is_modelled;
  skip_line(c);
  next_answer(c);
  bool is_going = true;
  while (is_going && !program_ended(c) && program_line(c).at[0] != 'S') {
    is_going = compare_request(c, is_refused);
    c->request++;
    if (c->request % VALID_EVERY == 0) check_valid(c);
    if (is_going) {
      skip_line(c);
      next_answer(c);
    }
  }
  while (!program_ended(c) && program_line(c).at[0] != 'S') skip_line(c);
  const bool has_ended = is_going && c->has_answer && c->answer[0] == 'L';
  if (has_ended)
    compare_end(c);
  else if (c->is_modelled)
    c->aborted++;
  else
    c->refused++;
  const bool is_judged = !has_ended && !c->is_modelled;
  if (!is_refused) check_valid(c);
  struct account last = c->account;
  while (c->has_answer && c->answer[0] != 'S') {
    if (c->answer[0] == '!')
      printf("%c sequence %" PRIu64 " request %" PRIu64 ": %.200s\n", c->is_modelled ? 'A' : 'a', c->sequence, c->request,
             c->answer);
    last = c->account;
    next_answer(c);
  }
  if (is_judged)
    printf("R sequence %" PRIu64 " request %" PRIu64 ": %s; %s\n", c->sequence, c->request, wo_lockstep_message(c->lockstep),
           judge_refusal(c, &last));
}

static struct text read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  struct text text = {0};
  size_t capacity = 0;
  while (file && !feof(file)) {
    if (text.size == capacity) {
      capacity = capacity ? 2 * capacity : 1 << 20;
      text.start = realloc(text.start, capacity);
      if (!text.start) abort();
    }
    text.size += fread(text.start + text.size, 1, capacity - text.size, file);
  }
  if (file) fclose(file);
  return text;
}

int main(int argc, char **argv) {
  static struct comparison c;
  if (argc != 3 || !(c.program = read_file(argv[2])).size) {
    fputs("usage: driver PROGRAM | compare TORCH PROGRAM\n", stderr);
    return 2;
  }
  const char *version = argv[1];
  c.torch = (uint16_t)wo_oracle_number(&version, argv[1] + strlen(argv[1]));
  c.lockstep = wo_lockstep_new(c.torch);
  next_answer(&c);
  while (!program_ended(&c)) compare_sequence(&c);
  printf("sequences %" PRIu64 " operations %" PRIu64 " mallocs %" PRIu64 " ooms %" PRIu64 " entries %" PRIu64
         " disagreements %" PRIu64 " aborted %" PRIu64 " refused %" PRIu64 " open %" PRIu64 " failed %" PRIu64 " ruined %" PRIu64
         " fine %" PRIu64 "\n",
         c.sequences, c.operations, c.mallocs, c.ooms, c.entry_count, c.disagreements, c.aborted, c.refused, c.open,
         c.refused_failed, c.refused_ruined, c.refused_fine);
  wo_lockstep_free(c.lockstep);
  free(c.calls.items);
  free(c.entries.items);
  free(c.answer);
  free(c.program.start);
  return c.disagreements != 0;
}
