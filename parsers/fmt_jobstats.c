/* Princeton's `jobstats --json`, and the same document packed into the AdminComment of a job ("JS1:" and gzip in base64), which
 * sacct and scontrol print: what each node's memory and each card's memory held at most.
 *
 *   {"nodes":{"gpu07":{"total_memory":68719476736,"used_memory":9771050598,"cpus":8,
 *     "gpu_total_memory":{"0":42949672960},"gpu_used_memory":{"0":28454158336},"gpu_utilization":{"0":81.2}}},
 *    "total_time":36322,"gpus":1}
 *
 * Sizes are bytes. Form: jobstats 1 and 2. The printed report is read by fmt_seff.c. */
#include <string.h>

#include "parsers/base/gunzip.h"
#include "parsers/format.h"

/* Lines of an indented document: ten for a node with one card. */
#define DOCUMENT_LINES 4000

/* Cards of a node. */
#define CARD_MAX 16

/* A packed document is cut at these sizes; what was expanded until then is read. Each node takes about 300 bytes. */
#define PACKED_BYTES 8192
#define EXPANDED_BYTES 32768

/* The reader's own numbers: braces that are open, and where in its line the document begins. */
enum number { DEPTH, START };

/* What a node's object says; negative = not told. */
struct node {
  struct wo_view name;
  double total_bytes;
  double used_bytes;
  double card_total_bytes[CARD_MAX];
  double card_used_bytes[CARD_MAX];
  double card_utilization_pct[CARD_MAX];
};

/* A walk over one document. Keys of the open objects: "nodes", the node, and the figure that is given card by card. */
struct walk {
  struct wo_scan *scan;
  const struct wo_line *line;
  const struct wo_pattern *pattern;
  struct wo_view keys[3];
  size_t depth;
  struct wo_view key; /* read, and its value is not yet */
  struct node node;
};

static void begin_node(struct node *node, struct wo_view name) {
  *node = (struct node){.name = name, .total_bytes = -1, .used_bytes = -1};
  for (size_t i = 0; i < CARD_MAX; i++) node->card_total_bytes[i] = node->card_used_bytes[i] = node->card_utilization_pct[i] = -1;
}

static void set_bytes(struct wo_event_store *store, struct wo_event *event, enum wo_field_id id, double bytes) {
  if (bytes >= 0) wo_event_set_number(store, event, id, wo_interval_exact(bytes));
}

/* One event for the node's main memory, and one for each card. A document of something else has no such figures. */
static void add_node(struct walk *walk) {
  struct wo_event_store *store = wo_scan_store(walk->scan);
  const struct node *node = &walk->node;
  for (size_t i = 0; i <= CARD_MAX; i++) {
    const bool is_card = i > 0;
    const double total = is_card ? node->card_total_bytes[i - 1] : node->total_bytes;
    const double used = is_card ? node->card_used_bytes[i - 1] : node->used_bytes;
    if (total <= 0 || used < 0) continue;
    struct wo_event *event = wo_scan_add_event(walk->scan, walk->line, walk->pattern,
                                               is_card ? WO_KIND_MEMORY_USE : WO_KIND_JOB_INFO, 0, walk->line->full.len);
    if (!event) return;
    wo_event_set_text(store, event, WO_FIELD_HOST, node->name);
    set_bytes(store, event, WO_FIELD_USED_BYTES, used);
    set_bytes(store, event, is_card ? WO_FIELD_CAPACITY_BYTES : WO_FIELD_LIMIT_BYTES, total);
    if (!is_card) continue;
    wo_event_set_number(store, event, WO_FIELD_GPU, wo_interval_exact((double)(i - 1)));
    const double busy_pct = node->card_utilization_pct[i - 1];
    if (busy_pct >= 0) wo_event_set_number(store, event, WO_FIELD_UTILIZATION, wo_interval_exact(busy_pct / 100));
  }
}

static void keep_number(struct walk *walk, double number) {
  struct node *node = &walk->node;
  if (walk->depth == 2 && wo_view_is(walk->key, "total_memory")) node->total_bytes = number;
  if (walk->depth == 2 && wo_view_is(walk->key, "used_memory")) node->used_bytes = number;
  if (walk->depth != 3) return;
  struct wo_view in = walk->key;
  uint64_t card = 0;
  if (wo_number_u64(&in, CARD_MAX - 1, &card) != WO_OK || in.len > 0) return;
  if (wo_view_is(walk->keys[2], "gpu_total_memory")) node->card_total_bytes[card] = number;
  if (wo_view_is(walk->keys[2], "gpu_used_memory")) node->card_used_bytes[card] = number;
  if (wo_view_is(walk->keys[2], "gpu_utilization")) node->card_utilization_pct[card] = number;
}

/* A text is a key when a colon follows; no value that is wanted is a text. */
static struct wo_view take_text(struct walk *walk, struct wo_view rest) {
  const size_t end = wo_view_find_char(rest, '"', 1);
  if (end == WO_NOT_FOUND) return (struct wo_view){0};
  const struct wo_view behind = wo_view_trim_start(wo_view_skip(rest, end + 1));
  if (wo_view_starts(behind, ":")) walk->key = wo_view_sub(rest, 1, end);
  return behind;
}

static struct wo_view take_number(struct walk *walk, struct wo_view rest) {
  struct wo_interval number;
  if (wo_number_decimal(&rest, &number, NULL) != WO_OK) return wo_view_skip(rest, 1);
  if (number.mid >= 0 && number.mid < 1e18) keep_number(walk, number.mid);
  return rest;
}

/* False at the end of "nodes", or when objects nest deeper than they do in such a document. */
static bool take_brace(struct walk *walk, bool is_open) {
  if (is_open) {
    if (walk->depth == sizeof walk->keys / sizeof walk->keys[0]) return false;
    walk->keys[walk->depth++] = walk->key;
    if (walk->depth == 2) begin_node(&walk->node, walk->key);
    return true;
  }
  if (walk->depth == 2) add_node(walk);
  return --walk->depth > 0;
}

/* Reads a document from its key "nodes" on. */
static void read_document(struct walk *walk, struct wo_view rest) {
  for (rest = wo_view_trim_start(rest); rest.len > 0; rest = wo_view_trim_start(rest)) {
    const char c = rest.ptr[0];
    if (c == '{' || c == '}') {
      if ((walk->depth == 0 && c == '}') || !take_brace(walk, c == '{')) return;
      rest = wo_view_skip(rest, 1);
    } else if (c == '"') {
      rest = take_text(walk, rest);
    } else {
      rest = wo_is_digit(c) ? take_number(walk, rest) : wo_view_skip(rest, 1);
    }
  }
}

/* ---- The document as it is printed ---- */

/* Collects the text without blanks until the object of "nodes" is closed. True when it is, or when there is no room for more. */
static bool collect(struct wo_open *open, struct wo_view text) {
  for (size_t i = 0; i < text.len; i++) {
    const char c = text.ptr[i];
    if (wo_is_space(c)) continue;
    if (open->message_len == WO_LIMIT_MESSAGE_BYTES) return true;
    open->message[open->message_len++] = c;
    if (c == '{') open->numbers[DEPTH]++;
    if (c == '}' && --open->numbers[DEPTH] <= 0) return true;
  }
  return false;
}

static enum wo_more begin_document(struct wo_scan *scan, const struct wo_line *line, const struct wo_match *match,
                                   struct wo_open *open) {
  (void)scan;
  open->numbers[START] = (int64_t)wo_match_start(match);
  return collect(open, wo_view_skip(line->full, wo_match_start(match))) ? WO_MORE_NO : WO_MORE_YES;
}

static enum wo_more feed_document(struct wo_scan *scan, const struct wo_line *line, struct wo_open *open) {
  (void)scan;
  if (open->lines > DOCUMENT_LINES) return WO_MORE_NO_UNREAD;
  return collect(open, line->full) ? WO_MORE_NO : WO_MORE_YES;
}

/* The event stands where the document begins. */
static void finish_document(struct wo_scan *scan, struct wo_open *open) {
  struct wo_line line = open->first;
  line.offset += (uint64_t)open->numbers[START];
  line.full = line.text = WO_VIEW("\"nodes\"");
  struct walk walk = {.scan = scan, .line = &line, .pattern = open->pattern};
  read_document(&walk, wo_open_message(open));
}

const struct wo_format wo__format_jobstats = {
    .name = "jobstats", .begin = begin_document, .feed = feed_document, .finish = finish_document};

/* ---- Packed ---- */

static enum wo_more begin_packed(struct wo_scan *scan, const struct wo_line *line, const struct wo_match *match,
                                 struct wo_open *open) {
  unsigned char packed[PACKED_BYTES];
  char text[EXPANDED_BYTES];
  const struct wo_view found = wo_match_text(match);
  const size_t packed_len = wo_base64_decode(wo_view_skip(found, strlen("JS1:")), packed, sizeof packed);
  const struct wo_view whole = {text, wo_gunzip(packed, packed_len, text, sizeof text)};
  const size_t at = wo_view_find(whole, WO_VIEW("\"nodes\""), 0);
  struct wo_line shown = *line;
  shown.offset += wo_match_start(match);
  shown.full = shown.text = wo_view_sub(found, 0, found.len < 60 ? found.len : 60);
  struct walk walk = {.scan = scan, .line = &shown, .pattern = open->pattern};
  if (at != WO_NOT_FOUND) read_document(&walk, wo_view_skip(whole, at));
  return WO_MORE_NO;
}

const struct wo_format wo__format_jobstats_packed = {.name = "jobstats-packed", .begin = begin_packed};
