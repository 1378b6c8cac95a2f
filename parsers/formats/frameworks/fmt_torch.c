/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch out-of-memory messages: every generation and device, wrapped, boxed, escaped, cut or written by several ranks at once.
 *
 * The reader collects the message's text (joined over lines, runs of blanks made one) and reads it by its fixed phrases: each row
 * of a table says which field comes before or after which words. So the order of the parts, line breaks and missing parts do not
 * matter. Wording: PyTorch c10/cuda/CUDACachingAllocator.cpp, CUDAMallocAsyncAllocator.cpp, aten/src/ATen/mps, torch_npu,
 * intel-extension (versions in the phrase table). The closing advice sentence is never read. */
#include <assert.h>

#include "parsers/base/units.h"
#include "parsers/formats/common/fmt_joined.h"

/* Where in its first line the text begins, its length there, and the end of the line before. */
struct torch {
  size_t start, length;
  char before[256];
  int raw_gpu; /* one more than the card that a raw byte names; 0 when none does */
  bool is_after_blank;
};

/* Lines that one message may take. The widest seen, at 40 columns, takes 14. */
#define MESSAGE_LINES 16

/* The largest batch that a program may name. */
#define BATCH_MAX 10000000

/* Bytes before the first words of a message that are kept with it: the exception's name, a worker's label. A progress bar of
 * megabytes that the message is glued to is not. */
#define LEAD_BYTES ((size_t)256)

/* Lines after a message that broke off within which its rest may still be printed. */
#define REST_LINES MESSAGE_LINES

/* Events among which it is looked for. The surroundings of a failure add a few for each. */
#define REST_EVENTS 32

enum side { BEFORE, AFTER };

/* One phrase of the message, and the size that is next to it. */
struct phrase {
  const char *words;
  enum side side; /* the side of the phrase on which the size is */
  enum wo_field_id field;
};

static const struct phrase phrases[] = {
    {"Tried to allocate ", AFTER, WO_FIELD_TRIED_BYTES},
    /* 1.0-1.12: (GPU 0; 10.76 GiB total capacity; 4.16 GiB already allocated; 10.44 MiB free; 4.32 GiB reserved in total by
       PyTorch) */
    {" total capacity;", BEFORE, WO_FIELD_CAPACITY_BYTES},
    {" total;", BEFORE, WO_FIELD_CAPACITY_BYTES},
    {" already allocated", BEFORE, WO_FIELD_ALLOCATED_BYTES},
    {" current active", BEFORE, WO_FIELD_ACTIVE_BYTES},
    {" free;", BEFORE, WO_FIELD_FREE_BYTES},
    {" free)", BEFORE, WO_FIELD_FREE_BYTES},
    {" cached)", BEFORE, WO_FIELD_CACHED_BYTES},
    {" reserved in total by", BEFORE, WO_FIELD_RESERVED_BYTES},
    {" allowed;", BEFORE, WO_FIELD_ALLOWED_BYTES},
    /* 2.1+: total capacty (2.1) / capacity of 23.69 GiB of which 1.02 GiB is free. ... */
    {" total capacity of ", AFTER, WO_FIELD_CAPACITY_BYTES},
    {" total capacty of ", AFTER, WO_FIELD_CAPACITY_BYTES},
    {" is free", BEFORE, WO_FIELD_FREE_BYTES},
    {"this process has ", AFTER, WO_FIELD_PROCESS_BYTES},
    {"Of the allocated memory ", AFTER, WO_FIELD_ALLOCATED_BYTES},
    {" allocated in private pools", BEFORE, WO_FIELD_PRIVATE_POOL_BYTES},
    {" is reserved by PyTorch", BEFORE, WO_FIELD_RESERVED_UNALLOCATED_BYTES},
    /* MPS */
    {"MPS allocated: ", AFTER, WO_FIELD_ALLOCATED_BYTES},
    {"other allocations: ", AFTER, WO_FIELD_MPS_OTHER_BYTES},
    {"max allowed: ", AFTER, WO_FIELD_ALLOWED_BYTES},
    /* backend cudaMallocAsync */
    {"Currently allocated : ", AFTER, WO_FIELD_ALLOCATED_BYTES},
    {"Requested : ", AFTER, WO_FIELD_TRIED_BYTES},
    {"Device limit : ", AFTER, WO_FIELD_CAPACITY_BYTES},
    {"Free (according to CUDA): ", AFTER, WO_FIELD_FREE_BYTES},
    {"user-supplied memory fraction) : ", AFTER, WO_FIELD_ALLOWED_BYTES},
};

/* Devices by the words that name them. */
struct device {
  const char *words;
  enum wo_kind kind;
};

static const struct device devices[] = {
    {"CUDA out of memory", WO_KIND_CUDA_OOM},
    {"HIP out of memory", WO_KIND_HIP_OOM},
    {"XPU out of memory", WO_KIND_XPU_OOM},
    {"NPU out of memory", WO_KIND_NPU_OOM},
    {"MPS backend out of memory", WO_KIND_MPS_OOM},
    {"Current platform can NOT allocate memory block", WO_KIND_XPU_OOM}, /* Intel extension, one block above 4 GB */
    {"Allocation on device", WO_KIND_CUDA_OOM},                          /* backend cudaMallocAsync */
};

/* Words after which nothing more of a message is read. */
static const char *const endings[] = {
    "reserved by PyTorch but unallocated",
    "reserved in total by PyTorch",
    " cached)",
    "already allocated)",
    " pool. ",
    "shared pool",
    "private pool.",
    "memory fraction) : ",
    "empty_cache",
    "If reserved",
};

/* Copies text with each run of blanks, line breaks, escaped line breaks and box characters made one blank. */
static struct wo_view squeeze(struct wo_view text, char *buf, size_t cap) {
  size_t len = 0;
  for (size_t i = 0; i < text.len && len < cap; i++) {
    const bool is_escaped = text.ptr[i] == '\\' && i + 1 < text.len && (text.ptr[i + 1] == 'n' || text.ptr[i + 1] == 't');
    if (is_escaped) i++;
    if (is_escaped || wo_is_space(text.ptr[i])) {
      if (len > 0 && buf[len - 1] != ' ') buf[len++] = ' ';
    } else {
      buf[len++] = text.ptr[i];
    }
  }
  return (struct wo_view){buf, len};
}

/* Reads "<number> <unit>" at the start of text. A size is never negative. */
static enum wo_status read_size(struct wo_view text, struct wo_interval *ret_size) {
  return wo_view_starts(text, "-") ? WO_E_SYNTAX : wo_units_bytes(&text, 0, ret_size);
}

/* Reads "<number> <unit>" that ends where `text` ends. */
static enum wo_status read_size_backwards(struct wo_view text, struct wo_interval *ret_size) {
  size_t at = text.len;
  while (at > 0 && wo_is_alpha(text.ptr[at - 1])) at--;
  while (at > 0 && text.ptr[at - 1] == ' ') at--;
  while (at > 0 && (wo_is_digit(text.ptr[at - 1]) || text.ptr[at - 1] == '.')) at--;
  if (at > 0 && text.ptr[at - 1] == '-') return WO_E_SYNTAX;
  return read_size(wo_view_skip(text, at), ret_size);
}

static enum wo_status read_phrase(struct wo_view message, const struct phrase *phrase, struct wo_interval *ret_size) {
  const struct wo_view words = wo_view_of(phrase->words);
  const size_t at = wo_view_find(message, words, 0);
  if (at == WO_NOT_FOUND) return WO_E_SYNTAX;
  if (phrase->side == BEFORE) return read_size_backwards(wo_view_sub(message, 0, at), ret_size);
  return read_size(wo_view_skip(message, at + words.len), ret_size);
}

/* Reads all "Process <pid> has <size> memory in use" sentences: their sum, number and process ids. */
static void read_processes(struct wo_view message, struct wo_event_store *store, struct wo_event *event) {
  struct wo_interval sum = wo_interval_exact(0);
  size_t count = 0;
  char pids[160];
  size_t pids_len = 0;
  const struct wo_view words = WO_VIEW("Process ");
  for (size_t at = wo_view_find(message, words, 0); at != WO_NOT_FOUND; at = wo_view_find(message, words, at + 1)) {
    struct wo_view in = wo_view_skip(message, at + words.len);
    uint64_t pid = 0;
    struct wo_interval size;
    if (wo_number_u64(&in, UINT32_MAX, &pid) != WO_OK || !wo_view_starts(in, " has ")) continue;
    if (read_size(wo_view_skip(in, 5), &size) != WO_OK) continue;
    sum.lo += size.lo;
    sum.mid += size.mid;
    sum.hi += size.hi;
    count++;
    const int written = snprintf(pids + pids_len, sizeof pids - pids_len, "%s%llu", pids_len ? " " : "", (unsigned long long)pid);
    if (written > 0 && pids_len + (size_t)written < sizeof pids) pids_len += (size_t)written;
  }
  if (count == 0) return;
  wo_event_set_number(store, event, WO_FIELD_OTHER_PROCESS_BYTES, sum);
  wo_event_set_exact(store, event, WO_FIELD_OTHER_PROCESS_COUNT, (double)count);
  wo_event_set_text(store, event, WO_FIELD_OTHER_PROCESS_PIDS, (struct wo_view){pids, pids_len});
}

/* The card's index as the raw byte that version 2.3 writes: "GPU \1 has a total capacity"; -1 when the line has none. A copy in
 * which the byte was lost has no index. */
static int raw_gpu_of(struct wo_view raw) {
  const size_t at = wo_view_find(raw, WO_VIEW(" has a total capac"), 0);
  if (at == WO_NOT_FOUND || at < sizeof "GPU ") return -1;
  const struct wo_view before = wo_view_sub(raw, at - sizeof "GPU ", at - 1);
  const unsigned char byte = (unsigned char)raw.ptr[at - 1];
  return wo_view_is(before, "GPU ") && byte < ' ' ? byte : -1;
}

/* The card's index: "GPU 1 has a total", "(GPU 0; ", "(NPU 0; ", "on device 0 would". */
static void read_gpu(struct wo_view message, struct wo_event_store *store, struct wo_event *event) {
  static const char *const words[] = {"GPU ", "NPU ", "device "};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    const struct wo_view word = wo_view_of(words[i]);
    for (size_t at = wo_view_find(message, word, 0); at != WO_NOT_FOUND; at = wo_view_find(message, word, at + 1)) {
      struct wo_view in = wo_view_skip(message, at + word.len);
      uint64_t index = 0;
      if (wo_number_u64(&in, 1024, &index) != WO_OK) continue;
      if (!wo_view_starts(in, " has") && !wo_view_starts(in, ";") && !wo_view_starts(in, " would")) continue;
      wo_event_set_exact(store, event, WO_FIELD_GPU, (double)index);
      return;
    }
  }
}

static void read_impossible(struct wo_view message, struct wo_event_store *store, struct wo_event *event) {
  if (wo_view_has(message, "more than 1EB memory")) {
    wo_event_set_text(store, event, WO_FIELD_IMPOSSIBLE, WO_VIEW("asks for more than 1 EB: a corrupted shape"));
  } else if (wo_view_has(message, "17179869184.00 GiB")) {
    wo_event_set_text(store, event, WO_FIELD_IMPOSSIBLE, WO_VIEW("the driver cannot tell the use of a process"));
  }
}

/* Fills the event from one message. */
static void read_message(struct wo_view message, struct wo_event_store *store, struct wo_event *event) {
  for (size_t i = 0; i < sizeof phrases / sizeof phrases[0]; i++) {
    struct wo_interval size;
    if (read_phrase(message, &phrases[i], &size) == WO_OK) wo_event_set_number(store, event, phrases[i].field, size);
  }
  read_processes(message, store, event);
  read_gpu(message, store, event);
  read_impossible(message, store, event);
}

/* Where the next message starts at or after `from`: the words that name its device, or its first phrase if those were on another
 * line. */
static size_t find_message(struct wo_view text, size_t from, enum wo_kind *ret_kind) {
  size_t best = WO_NOT_FOUND;
  for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
    const size_t at = wo_view_find(text, wo_view_of(devices[i].words), from);
    if (at == WO_NOT_FOUND || at >= best) continue;
    best = at;
    *ret_kind = devices[i].kind;
  }
  return best;
}

static bool is_complete(struct wo_view message) {
  return WO_VIEW_ANY(message, wo_view_has, endings);
}

/* Which device a message without its first words belongs to, judged by the text before it. */
static enum wo_kind kind_of_bare(struct wo_view before) {
  static const struct device names[] = {
      {"HIP", WO_KIND_HIP_OOM}, {"XPU", WO_KIND_XPU_OOM}, {"NPU", WO_KIND_NPU_OOM}, {"MPS", WO_KIND_MPS_OOM}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (wo_view_has(before, names[i].words)) return names[i].kind;
  }
  return WO_KIND_CUDA_OOM;
}

/* A message is evidence when it gives the size it asked for, or follows the name of an exception. A sentence that only
 * speaks of "CUDA out of memory" (a help text, a FAQ, a setting) is not. */
static bool is_evidence(struct wo_view message, size_t start, struct wo_view text) {
  struct wo_interval size;
  if (read_phrase(message, &phrases[0], &size) == WO_OK) return true;
  if (wo_view_has(message, "would exceed allowed memory") && wo_view_has(message, "Currently allocated")) return true;
  if (wo_view_has(message, "more than 1EB memory")) return true;
  const struct wo_view before = wo_view_sub(text, 0, start);
  return wo_view_ends(before, "Error: ") || wo_view_ends(before, "Error(\"") || wo_view_ends(before, "Error('");
}

/* The batch that a program names where it says that memory ran out, in its own words above the message: "OOM at batch size 64",
 * "OUT OF MEMORY  batch=256". 0 without one. The number of a batch is none of its size. */
static uint64_t named_batch(struct wo_view words) {
  static const char *const names[] = {"batch=",       "batch_size=",  "batch size=", "batch size ",
                                      "batch size: ", "batch_size: ", "batch_size "};
  if (!wo_view_has_nocase(words, "oom") && !wo_view_has_nocase(words, "out of memory")) return 0;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const struct wo_view name = wo_view_of(names[i]);
    const size_t at = wo_view_find(words, name, 0);
    if (at == WO_NOT_FOUND) continue;
    struct wo_view rest = wo_view_skip(words, at + name.len);
    uint64_t batch = 0;
    if (wo_number_u64(&rest, BATCH_MAX, &batch) == WO_OK) return batch;
  }
  return 0;
}

/* The collected text holds one or more messages: makes one event for each. */
static void finish_torch(struct wo_open *open) {
  struct torch *const own = open->state;
  char buf[WO_LIMIT_MESSAGE_BYTES];
  const struct wo_view text = squeeze(wo_open_message(open), buf, sizeof buf);
  enum wo_kind kind = WO_KIND_CUDA_OOM;
  size_t start = find_message(text, 0, &kind);
  if (start == WO_NOT_FOUND) {
    start = wo_view_find(text, WO_VIEW("Tried to allocate"), 0);
    if (start == WO_NOT_FOUND) return;
    kind = kind_of_bare(wo_view_of(own->before));
  }
  while (start != WO_NOT_FOUND) {
    enum wo_kind next_kind = kind;
    const size_t next = find_message(text, start + 1, &next_kind);
    const struct wo_view message = wo_view_sub(text, start, next);
    if (is_evidence(message, start, text)) {
      struct wo_line line = open->first;
      line.full = line.text = text;
      if (wo_prefix_rank_inside(wo_view_sub(text, 0, start), &line.prefix.rank)) line.prefix.is_local_rank = false;
      const size_t room = own->length;
      struct wo_event *event =
          wo_scan_add_event(open->scan, &line, open->pattern, kind, own->start, message.len < room ? message.len : room);
      if (!event) return;
      read_message(message, open->store, event);
      const uint64_t batch = named_batch(wo_view_of(own->before));
      if (batch > 0) wo_event_set_exact(open->store, event, WO_FIELD_BATCH, (double)batch);
      if (own->raw_gpu > 0 && !wo_event_field(event, WO_FIELD_GPU))
        wo_event_set_exact(open->store, event, WO_FIELD_GPU, own->raw_gpu - 1);
    }
    kind = next_kind;
    start = next;
  }
}

/* A message that says its size and ends with the sentence, where the other one goes on in its line: the short form that programs
 * print before they raise the error, not a line that was cut by the same width. */
static bool is_short_form(struct wo_view said, struct wo_view text) {
  const size_t at = wo_view_find(text, WO_VIEW("Tried to allocate "), 0);
  const size_t stop = at == WO_NOT_FOUND ? at : wo_view_find(text, WO_VIEW("B. "), at);
  return stop != WO_NOT_FOUND && wo_view_ends(wo_view_trim(said), "B.");
}

/* Whether the rest of another message may come in the lines after this one, because nothing on them shows which message they
 * belong to: a message that no label names begins shortly before, and has not said all. */
static bool is_contested(const struct wo_open *open, struct wo_view text) {
  if (open->line->prefix.source.len > 0) return false;
  const size_t last = open->store->count > REST_EVENTS ? open->store->count - REST_EVENTS : 0;
  for (size_t i = open->store->count; i-- > last;) {
    const struct wo_event *event = &open->store->items[i];
    if (event->span.file != wo_scan_file(open->scan) || event->span.line + REST_LINES < open->line->number) continue;
    if (event->is_quoted || !wo_view_equal(event->pattern_id, open->pattern->id)) continue;
    return !is_complete(event->text) && !is_short_form(event->text, text);
  }
  return false;
}

/* The message starts in this line, or at the end of the line before when a console broke it inside "out of memory". */
static enum wo_more begin_torch(struct wo_open *open, const struct wo_match *match) {
  struct torch *const own = open->state;
  /* The text before it shows the device of a message whose first words were wrapped away. */
  char before[1024];
  struct wo_view previous = {0};
  wo_open_lines_before(open, 1, &previous, before, sizeof before);
  const struct wo_view end = wo_view_skip(previous, previous.len > 200 ? previous.len - 200 : 0);
  snprintf(own->before, sizeof own->before, "%.*s", (int)end.len, end.ptr ? end.ptr : "");
  const size_t near = wo_match_start(match) > LEAD_BYTES ? wo_match_start(match) - LEAD_BYTES : 0;
  const size_t start = near > open->line->prefix.length ? near : open->line->prefix.length;
  const struct wo_view text = wo_prefix_unbox(wo_view_skip(open->line->full, start));
  if (wo_view_has(previous, "out of") && !wo_view_has(text, "out of memory") && wo_view_starts(wo_view_trim(text), "memory")) {
    wo_open_append(open, wo_view_trim(previous));
  }
  wo_open_append(open, text);
  own->raw_gpu = raw_gpu_of(open->line->raw) + 1;
  own->start = start;
  own->length = (open->line->full.len - start);
  const bool is_whole = is_complete(wo_open_message(open)) || is_contested(open, text);
  return is_whole ? WO_MORE_NO : WO_MORE_YES;
}

/* Whether a line cannot belong to a message: a traceback, a new message, a line of a logger, a blank line. */
static bool is_foreign(const struct wo_open *open, struct wo_view text) {
  enum wo_kind kind;
  return find_message(text, 0, &kind) != WO_NOT_FOUND || wo__joined_is_foreign(open, text);
}

/* Whether a line goes on with the figures of a message. */
static bool has_figures(struct wo_view text) {
  static const char *const words[] = {"total capac",       "already allocated", "allocated by PyTorch",
                                      "reserved in total", "cached)",           "non-PyTorch memory"};
  return WO_VIEW_ANY(text, wo_view_has, words);
}

/* Whether the message breaks off before its figures: inside of a sentence or of the brackets that hold them. */
static bool is_broken(struct wo_view message) {
  const struct wo_view said = wo_view_trim(message);
  return !wo_view_has(said, "allocated by PyTorch") && !wo_view_ends(said, ".") && !wo_view_ends(said, ")");
}

/* A line without a label that a console broke off may belong to any open message: none takes it. Some copies have an empty line
 * after each. */
static enum wo_more feed_torch(struct wo_open *open) {
  struct torch *const own = open->state;
  const struct wo_view text = wo_prefix_unbox(open->line->text);
  const bool is_after_blank = own->is_after_blank;
  own->is_after_blank = text.len == 0;
  if (text.len == 0 && !is_after_blank && is_broken(wo_open_message(open))) return WO_MORE_YES;
  if (is_after_blank && !has_figures(text)) return WO_MORE_NO_UNREAD;
  if (open->lines > MESSAGE_LINES || is_foreign(open, text)) return WO_MORE_NO_UNREAD;
  if (open->line->prefix.source.len == 0 && wo_open_is_one_of_several(open)) return WO_MORE_YES;
  wo_open_append(open, text);
  if (own->raw_gpu == 0) own->raw_gpu = raw_gpu_of(open->line->raw) + 1;
  return is_complete(wo_open_message(open)) ? WO_MORE_NO : WO_MORE_YES;
}

const struct wo_format wo__format_torch_oom = {
    .name = "torch_oom",
    .state_bytes = sizeof(struct torch),
    .begin = begin_torch,
    .feed = feed_torch,
    .finish = finish_torch,
};
