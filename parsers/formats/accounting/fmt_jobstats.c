/* SPDX-License-Identifier: Apache-2.0 */
/* Princeton's `jobstats --json`, and the same document packed into the AdminComment of a job ("JS1:" and gzip in base64), which
 * sacct and scontrol print: the highest use of each node's memory and of each card's memory.
 *
 *   {"nodes":{"gpu07":{"total_memory":68719476736,"used_memory":9771050598,"cpus":8,
 *     "gpu_total_memory":{"0":42949672960},"gpu_used_memory":{"0":28454158336},"gpu_utilization":{"0":81.2}}},
 *    "total_time":36322,"gpus":1}
 *
 * Read node after node as it streams by; a node becomes evidence when its object ends. Sizes are bytes. Form: jobstats 1 and 2.
 * The printed report is read by fmt_seff.c. */
#include <stdlib.h>
#include <string.h>

#include "parsers/base/gunzip.h"
#include "parsers/formats/common/json_tokens.h"

/* Cards of a node. */
#define CARD_MAX 16

/* The figures of a memory; negative = not printed. */
struct figures {
  double total_bytes, used_bytes, busy_pct;
};

/* A node's object. */
struct node {
  char name[64];
  struct figures parts[1 + CARD_MAX]; /* the main memory, then the cards */
};

struct document {
  struct wo_json_place place;
  bool is_packed;
  bool has_node;                   /* the object of a node was begun */
  uint64_t node_line, node_offset; /* where it begins */
  struct node node;
};

static struct document *own(const struct wo_json_walk *json) {
  return json->open->state;
}

/* Paths count from the object "nodes", whose brace the pattern has read: one name is a node. */
static bool is_node(const struct wo_json_walk *json) {
  const char *const path = json->place->path;
  return path[0] == '/' && strchr(path + 1, '/') == NULL;
}

/* A packed document has no lines of its own: its evidence has the place where it begins in the log. */
static void begin_node(const struct wo_json_walk *json) {
  struct document *const document = own(json);
  struct node *const node = &document->node;
  if (!is_node(json)) return;
  for (size_t i = 0; i <= CARD_MAX; i++) node->parts[i] = (struct figures){-1, -1, -1};
  snprintf(node->name, sizeof node->name, "%s", json->place->path + 1);
  document->has_node = true;
  if (document->is_packed) return;
  document->node_line = json->open->line->number;
  document->node_offset = json->open->line->offset + (uint64_t)(json->rest.ptr - json->open->line->full.ptr);
}

/* The line as evidence shows it: the node's name at the place where its object began. */
static struct wo_line shown_line(const struct wo_json_walk *json) {
  struct wo_line line = *json->open->line;
  line.number = own(json)->node_line;
  line.offset = own(json)->node_offset;
  line.full = line.text = wo_view_of(own(json)->node.name);
  return line;
}

/* A brace that closes what no brace opened ("[ }") ends no node.
 *
 * One event for the node's main memory, and one for each card. A document of something else has no such figures. */
static void end_node(const struct wo_json_walk *json) {
  struct wo_event_store *store = json->open->store;
  const struct node *const node = &own(json)->node;
  if (!is_node(json) || !own(json)->has_node) return;
  own(json)->has_node = false;
  const struct wo_line line = shown_line(json);
  for (size_t i = 0; i <= CARD_MAX; i++) {
    const bool is_card = i > 0;
    const struct figures *const part = &node->parts[i];
    if (part->total_bytes <= 0 || part->used_bytes < 0) continue;
    struct wo_event *event =
        wo_scan_add_event(json->open->scan, &line, json->open->pattern, is_card ? WO_KIND_MEMORY_USE : WO_KIND_JOB_INFO, 0, 1);
    if (!event) return;
    wo_event_set_text(store, event, WO_FIELD_HOST, line.full);
    wo_event_set_exact(store, event, WO_FIELD_USED_BYTES, part->used_bytes);
    wo_event_set_exact(store, event, is_card ? WO_FIELD_CAPACITY_BYTES : WO_FIELD_LIMIT_BYTES, part->total_bytes);
    if (is_card) wo_event_set_exact(store, event, WO_FIELD_GPU, (double)(i - 1));
    if (part->busy_pct >= 0) wo_event_set_exact(store, event, WO_FIELD_UTILIZATION, part->busy_pct / 100);
  }
}

/* "/gpu07/used_memory" is a figure of the node, "/gpu07/gpu_used_memory/0" one of a card. */
static void read_value(const struct wo_json_walk *json, const struct wo_json_value *value) {
  struct wo_view name = wo_view_of(value->name);
  struct wo_view text = value->text;
  struct wo_interval number;
  if (!own(json)->has_node || wo_number_decimal(&text, &number, NULL) != WO_OK || text.len > 0) return;
  if (number.mid < 0 || number.mid >= 1e18) return;
  wo_view_cut(&name, '/');
  wo_view_cut(&name, '/');
  const struct wo_view figure = wo_view_cut(&name, '/');
  const bool is_card = name.len > 0;
  uint64_t card = 0;
  if (is_card && (wo_number_u64(&name, CARD_MAX - 1, &card) != WO_OK || name.len > 0)) return;
  struct figures *const part = &own(json)->node.parts[is_card ? 1 + card : 0];
  if (wo_view_is(figure, is_card ? "gpu_total_memory" : "total_memory")) part->total_bytes = number.mid;
  if (wo_view_is(figure, is_card ? "gpu_used_memory" : "used_memory")) part->used_bytes = number.mid;
  if (is_card && wo_view_is(figure, "gpu_utilization")) part->busy_pct = number.mid;
}

static const struct wo_json_reader reader = {
    .place_at = offsetof(struct document, place),
    .begin_object = begin_node,
    .end_object = end_node,
    .read_value = read_value,
};

/* ---- The document as it is printed ---- */

const struct wo_format wo__format_jobstats = {.name = "jobstats",
                                              .state_bytes = sizeof(struct document),
                                              .constants = &reader,
                                              .begin = wo_json_begin,
                                              .feed = wo_json_feed};

/* ---- Packed ---- */

static void note_cut(const struct wo_open *open, const struct wo_line *shown) {
  struct wo_event *event = wo_scan_add_event(open->scan, shown, open->pattern, WO_KIND_NOTE, 0, shown->full.len);
  if (event)
    wo_event_set_text(open->store, event, WO_FIELD_MESSAGE,
                      WO_VIEW("packed job statistics are longer than the limit: their last nodes were not read"));
}

/* Reads the expanded text as one line of the document. */
static void read_expanded(struct wo_open *open, const struct wo_line *shown, struct wo_view text) {
  struct document *const document = open->state;
  const struct wo_line *const packed = open->line;
  const struct wo_view head = WO_VIEW("\"nodes\"");
  const size_t at = wo_view_find(text, head, 0);
  const size_t brace = at == WO_NOT_FOUND ? at : wo_view_find_char(text, '{', at + head.len);
  if (brace == WO_NOT_FOUND) return;
  struct wo_line line = *shown;
  line.full = line.text = text;
  line.own_end = SIZE_MAX;
  document->is_packed = true;
  document->node_line = shown->number;
  document->node_offset = shown->offset;
  open->line = &line;
  wo_json_read(open, brace + 1);
  open->line = packed;
}

/* The bytes of a document, before and after it is expanded: too many for the stack. */
struct unpacking {
  unsigned char packed[WO_LIMIT_PACKED_BYTES];
  char text[WO_LIMIT_UNPACKED_BYTES];
};

static enum wo_more begin_packed(struct wo_open *open, const struct wo_match *match) {
  struct unpacking *const work = malloc(sizeof *work);
  if (work == NULL) {
    open->store->is_out_of_memory = true;
    return WO_MORE_NO;
  }
  const struct wo_view found = wo_match_text(match);
  const size_t packed_len = wo_base64_decode(wo_view_skip(found, strlen("JS1:")), work->packed, sizeof work->packed);
  const size_t len = wo_gunzip(work->packed, packed_len, work->text, sizeof work->text);
  struct wo_line shown = *open->line;
  shown.offset += wo_match_start(match);
  shown.full = shown.text = wo_view_sub(found, 0, found.len < 60 ? found.len : 60);
  read_expanded(open, &shown, (struct wo_view){work->text, len});
  if (packed_len == sizeof work->packed || len == sizeof work->text) note_cut(open, &shown);
  free(work);
  return WO_MORE_NO;
}

const struct wo_format wo__format_jobstats_packed = {
    .name = "jobstats-packed", .state_bytes = sizeof(struct document), .constants = &reader, .begin = begin_packed};
