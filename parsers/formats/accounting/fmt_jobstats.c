/* Princeton's `jobstats --json`, and the same document packed into the AdminComment of a job ("JS1:" and gzip in base64), which
 * sacct and scontrol print: what each node's memory and each card's memory held at most.
 *
 *   {"nodes":{"gpu07":{"total_memory":68719476736,"used_memory":9771050598,"cpus":8,
 *     "gpu_total_memory":{"0":42949672960},"gpu_used_memory":{"0":28454158336},"gpu_utilization":{"0":81.2}}},
 *    "total_time":36322,"gpus":1}
 *
 * Read node after node as it streams by; a node becomes evidence when its object ends. Sizes are bytes. Form: jobstats 1 and 2.
 * The printed report is read by fmt_seff.c. */
#include <string.h>

#include "parsers/base/gunzip.h"
#include "parsers/formats/common/json_tokens.h"

/* Lines after which a document is left: ten for a node with one card. */
#define DOCUMENT_LINES 10000000

/* Cards of a node. */
#define CARD_MAX 16

/* The reader's own numbers: where the object of the node being read begins, and what the walk over the tokens keeps. */
enum number { NODE_LINE, NODE_OFFSET, HAS_NODE, IS_PACKED, SKIP, IN_TEXT };

/* The reader's own texts. The figures of the node being read lie in the construct's message. */
enum text { PATH };

/* What a node's object says; negative = not told. */
struct node {
  char name[64];
  double total_bytes;
  double used_bytes;
  double card_total_bytes[CARD_MAX];
  double card_used_bytes[CARD_MAX];
  double card_utilization_pct[CARD_MAX];
};
_Static_assert(sizeof(struct node) <= WO_LIMIT_MESSAGE_BYTES, "a node fits into the message of the open construct");

/* Copied out and back: the message has not the alignment that a struct needs. */
static struct node load(const struct wo_open *open) {
  struct node node;
  memcpy(&node, open->message, sizeof node);
  return node;
}

static void save(struct wo_open *open, const struct node *node) {
  memcpy(open->message, node, sizeof *node);
}

/* Paths count from the object "nodes", whose brace the pattern has read: one name is a node. */
static bool is_node(const struct wo_open *open) {
  const char *const path = open->texts[PATH];
  return path[0] == '/' && strchr(path + 1, '/') == NULL;
}

/* A packed document has no places: its evidence stands where it begins in the log. */
static void begin_node(const struct wo_json *json) {
  struct node node = {.total_bytes = -1, .used_bytes = -1};
  if (!is_node(json->open)) return;
  for (size_t i = 0; i < CARD_MAX; i++) node.card_total_bytes[i] = node.card_used_bytes[i] = node.card_utilization_pct[i] = -1;
  snprintf(node.name, sizeof node.name, "%s", json->open->texts[PATH] + 1);
  save(json->open, &node);
  json->open->numbers[HAS_NODE] = 1;
  if (json->open->numbers[IS_PACKED]) return;
  json->open->numbers[NODE_LINE] = (int64_t)json->line->number;
  json->open->numbers[NODE_OFFSET] = (int64_t)json->line->offset + (json->rest.ptr - json->line->full.ptr);
}

static void set_bytes(struct wo_event_store *store, struct wo_event *event, enum wo_field_id id, double bytes) {
  if (bytes >= 0) wo_event_set_number(store, event, id, wo_interval_exact(bytes));
}

/* The line as evidence shows it: the node's name at the place where its object began. */
static struct wo_line shown_line(const struct wo_json *json, const struct node *node) {
  struct wo_line line = *json->line;
  line.number = (uint64_t)json->open->numbers[NODE_LINE];
  line.offset = (uint64_t)json->open->numbers[NODE_OFFSET];
  line.full = line.text = wo_view_of(node->name);
  return line;
}

/* A brace that closes what no brace opened ("[ }") ends no node.
 *
 * One event for the node's main memory, and one for each card. A document of something else has no such figures. */
static void end_node(const struct wo_json *json) {
  struct wo_event_store *store = wo_scan_store(json->scan);
  if (!is_node(json->open) || !json->open->numbers[HAS_NODE]) return;
  json->open->numbers[HAS_NODE] = 0;
  const struct node node = load(json->open);
  const struct wo_line line = shown_line(json, &node);
  for (size_t i = 0; i <= CARD_MAX; i++) {
    const bool is_card = i > 0;
    const double total = is_card ? node.card_total_bytes[i - 1] : node.total_bytes;
    const double used = is_card ? node.card_used_bytes[i - 1] : node.used_bytes;
    if (total <= 0 || used < 0) continue;
    struct wo_event *event =
        wo_scan_add_event(json->scan, &line, json->open->pattern, is_card ? WO_KIND_MEMORY_USE : WO_KIND_JOB_INFO, 0, 1);
    if (!event) return;
    wo_event_set_text(store, event, WO_FIELD_HOST, line.full);
    set_bytes(store, event, WO_FIELD_USED_BYTES, used);
    set_bytes(store, event, is_card ? WO_FIELD_CAPACITY_BYTES : WO_FIELD_LIMIT_BYTES, total);
    if (!is_card) continue;
    wo_event_set_number(store, event, WO_FIELD_GPU, wo_interval_exact((double)(i - 1)));
    const double busy_pct = node.card_utilization_pct[i - 1];
    if (busy_pct >= 0) wo_event_set_number(store, event, WO_FIELD_UTILIZATION, wo_interval_exact(busy_pct / 100));
  }
}

/* "/gpu07/gpu_used_memory" holds the figures of the cards. */
static void keep_card(struct node *node, struct wo_view figure, struct wo_view card_text, double number) {
  uint64_t card = 0;
  if (wo_number_u64(&card_text, CARD_MAX - 1, &card) != WO_OK || card_text.len > 0) return;
  if (wo_view_is(figure, "gpu_total_memory")) node->card_total_bytes[card] = number;
  if (wo_view_is(figure, "gpu_used_memory")) node->card_used_bytes[card] = number;
  if (wo_view_is(figure, "gpu_utilization")) node->card_utilization_pct[card] = number;
}

static void read_value(const struct wo_json *json, const struct wo_json_value *value) {
  struct wo_view name = wo_view_of(value->name);
  struct wo_view text = value->text;
  struct wo_interval number;
  if (!json->open->numbers[HAS_NODE] || wo_number_decimal(&text, &number, NULL) != WO_OK || text.len > 0) return;
  if (number.mid < 0 || number.mid >= 1e18) return;
  struct node node = load(json->open);
  wo_view_cut(&name, '/');
  wo_view_cut(&name, '/');
  const struct wo_view figure = wo_view_cut(&name, '/');
  if (name.len > 0) keep_card(&node, figure, name, number.mid);
  if (name.len == 0 && wo_view_is(figure, "total_memory")) node.total_bytes = number.mid;
  if (name.len == 0 && wo_view_is(figure, "used_memory")) node.used_bytes = number.mid;
  save(json->open, &node);
}

static const struct wo_json_reader reader = {
    .path_text = PATH,
    .skip_number = SKIP,
    .in_text_number = IN_TEXT,
    .begin_object = begin_node,
    .end_object = end_node,
    .read_value = read_value,
};

/* ---- The document as it is printed ---- */

static enum wo_more begin_document(struct wo_scan *scan, const struct wo_line *line, const struct wo_match *match,
                                   struct wo_open *open) {
  return wo_json_read(&reader, scan, line, open, wo_match_start(match) + wo_match_text(match).len);
}

static enum wo_more feed_document(struct wo_scan *scan, const struct wo_line *line, struct wo_open *open) {
  if (open->lines > DOCUMENT_LINES) return WO_MORE_NO_UNREAD;
  return wo_json_read_on(&reader, scan, line, open);
}

const struct wo_format wo__format_jobstats = {.name = "jobstats", .begin = begin_document, .feed = feed_document};

/* ---- Packed ---- */

static void note_cut(struct wo_scan *scan, const struct wo_line *line, const struct wo_open *open) {
  struct wo_event *event = wo_scan_add_event(scan, line, open->pattern, WO_KIND_NOTE, 0, line->full.len);
  if (event)
    wo_event_set_text(wo_scan_store(scan), event, WO_FIELD_MESSAGE,
                      WO_VIEW("packed job statistics are longer than the limit: their last nodes were not read"));
}

/* Reads the expanded text as one line of the document. */
static void read_expanded(struct wo_scan *scan, const struct wo_line *shown, struct wo_open *open, struct wo_view text) {
  const struct wo_view head = WO_VIEW("\"nodes\"");
  const size_t at = wo_view_find(text, head, 0);
  const size_t brace = at == WO_NOT_FOUND ? at : wo_view_find_char(text, '{', at + head.len);
  if (brace == WO_NOT_FOUND) return;
  struct wo_line line = *shown;
  line.full = line.text = text;
  line.own_end = SIZE_MAX;
  open->numbers[IS_PACKED] = 1;
  open->numbers[NODE_LINE] = (int64_t)shown->number;
  open->numbers[NODE_OFFSET] = (int64_t)shown->offset;
  wo_json_read(&reader, scan, &line, open, brace + 1);
}

static enum wo_more begin_packed(struct wo_scan *scan, const struct wo_line *line, const struct wo_match *match,
                                 struct wo_open *open) {
  unsigned char packed[WO_LIMIT_PACKED_BYTES];
  char text[WO_LIMIT_UNPACKED_BYTES];
  const struct wo_view found = wo_match_text(match);
  const size_t packed_len = wo_base64_decode(wo_view_skip(found, strlen("JS1:")), packed, sizeof packed);
  const size_t len = wo_gunzip(packed, packed_len, text, sizeof text);
  struct wo_line shown = *line;
  shown.offset += wo_match_start(match);
  shown.full = shown.text = wo_view_sub(found, 0, found.len < 60 ? found.len : 60);
  read_expanded(scan, &shown, open, (struct wo_view){text, len});
  if (packed_len == sizeof packed || len == sizeof text) note_cut(scan, &shown, open);
  return WO_MORE_NO;
}

const struct wo_format wo__format_jobstats_packed = {.name = "jobstats-packed", .begin = begin_packed};
