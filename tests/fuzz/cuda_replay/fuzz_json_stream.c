/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as JSON. Properties: tokens are the same when the bytes come in pieces; passing over a value leads to where reading
 * it does, unless its brackets do not match; offsets rise; brackets are balanced at the end. */
#include "cuda_replay/recording/json/json_stream.h"
#include "tests/fuzz/trace_target.h"

enum { TOKENS_MAX = 1 << 16 };

struct stream {
  struct trace_chunks chunks;
  struct wo_trace_source source;
  struct wo_json_stream json;
};

static void start(struct stream *stream, struct wo_view bytes, size_t chunk_bytes, bool ends_at_newline) {
  stream->chunks = (struct trace_chunks){bytes, chunk_bytes};
  require(wo_trace_source_init(&stream->source, (struct wo_trace_feed){&stream->chunks, trace_fill}, "fuzz") == WO_OK);
  wo_json_stream_init(&stream->json, &stream->source, ends_at_newline);
}

static void end(struct stream *stream) {
  wo_json_stream_done(&stream->json);
  wo_trace_source_done(&stream->source);
}

/* The values of a number agree with each other. */
static void check_number(struct wo_view text) {
  uint64_t natural = 0;
  int64_t whole = 0, fixed = 0;
  double real = 0;
  const bool is_natural = wo_json_number_u64(text, &natural), is_whole = wo_json_number_i64(text, &whole);
  if (is_natural && natural <= INT64_MAX) require(is_whole && (uint64_t)whole == natural);
  if (is_whole && whole < INT64_MAX && whole > -INT64_MAX) require(wo_json_number_fixed(text, 0, &fixed) && fixed == whole);
  if (is_whole) require(wo_json_number_double(text, &real) && (double)whole - real <= 2048 && real - (double)whole <= 2048);
}

static void check_pieces(struct wo_view bytes, bool ends_at_newline) {
  struct stream whole, pieces;
  uint64_t last = 0;
  start(&whole, bytes, SIZE_MAX, ends_at_newline);
  start(&pieces, bytes, 1 + bytes.len % 5, ends_at_newline);
  for (int i = 0; i < TOKENS_MAX; i++) {
    struct wo_json_token a, b;
    struct wo_err a_err = {0}, b_err = {0};
    const enum wo_status status = wo_json_stream_next(&whole.json, &a, &a_err);
    require(status == wo_json_stream_next(&pieces.json, &b, &b_err));
    require(whole.json.offset == pieces.json.offset && whole.json.line == pieces.json.line &&
            whole.json.depth == pieces.json.depth);
    require(whole.json.offset >= last && whole.json.offset <= bytes.len);
    require(strcmp(a_err.message, b_err.message) == 0 && (status == WO_OK) == (a_err.message[0] == '\0'));
    last = whole.json.offset;
    if (status != WO_OK || a.kind == WO_JSON_END || a.kind == WO_JSON_CUT) break;
    require(a.kind == b.kind && wo_view_equal(a.text, b.text) && a.is_cut == b.is_cut);
    if (a.kind == WO_JSON_NUMBER) check_number(a.text);
  }
  end(&whole);
  end(&pieces);
}

/* Reads the first value, and passes over it. */
static void check_skip(struct wo_view bytes) {
  struct stream read, skipped;
  struct wo_json_token token = {0};
  enum wo_status status = WO_OK;
  start(&read, bytes, SIZE_MAX, false);
  start(&skipped, bytes, 3, false);
  do status = wo_json_stream_next(&read.json, &token, NULL);
  while (status == WO_OK && read.json.depth > 0 && !read.json.is_cut);
  if (status == WO_OK && !read.json.is_cut && token.kind != WO_JSON_END) {
    require(wo_json_stream_skip(&skipped.json, NULL) == WO_OK && !skipped.json.is_cut && skipped.json.depth == 0);
    require(wo_trace_source_offset(&read.source) == wo_trace_source_offset(&skipped.source));
  }
  end(&read);
  end(&skipped);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const struct wo_view bytes = {(const char *)data, size};
  check_pieces(bytes, size % 2 == 0);
  check_skip(bytes);
  return 0;
}
