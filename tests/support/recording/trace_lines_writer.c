/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of the line form: header, frames, stacks, annotations, notes, then each device with its entries and segments.
 *
 * Lines are put together in one buffer that is handed to the sink when it is nearly full, so that memory does not grow with the
 * recording. What a line refers to stands above it, as the reader asks for. The order is fixed, and every default is left out:
 * equal recordings give equal bytes. */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_replay/recording/json/trace_lines_internal.h"
#include "tests/support/recording/trace_lines_writer.h"

/* A piece that is put at once is at most PIECE_BYTES; texts go in by parts. */
enum { BUFFER_BYTES = 64 * 1024, PIECE_BYTES = 512 };

struct writer {
  const struct wo_trace_sink *sink;
  struct wo_err *err;
  enum wo_status status; /* the first failure; nothing is put after it */
  size_t used;
  char buffer[BUFFER_BYTES];
};

/* ---- Bytes ---- */

/* After a failure bytes are dropped, so that writers need no check after each piece. */
static void flush(struct writer *writer) {
  if (writer->status == WO_OK && writer->used > 0)
    writer->status = writer->sink->put(writer->sink->context, (struct wo_view){writer->buffer, writer->used}, writer->err);
  writer->used = 0;
}

/* Room for one piece. */
static char *room(struct writer *writer) {
  if (BUFFER_BYTES - writer->used < PIECE_BYTES) flush(writer);
  return writer->buffer + writer->used;
}

static void put(struct writer *writer, struct wo_view piece) {
  assert(piece.len <= PIECE_BYTES);
  if (piece.len > 0) memcpy(room(writer), piece.ptr, piece.len);
  writer->used += piece.len;
}

#define PUT(writer, literal) put((writer), WO_VIEW(literal))

static void put_u64(struct writer *writer, uint64_t value) {
  assert(writer->used <= BUFFER_BYTES);
  char digits[20];
  size_t at = sizeof digits;
  do digits[--at] = (char)('0' + value % 10);
  while ((value /= 10) > 0);
  put(writer, (struct wo_view){digits + at, sizeof digits - at});
}

static void put_i64(struct writer *writer, int64_t value) {
  if (value < 0) PUT(writer, "-");
  put_u64(writer, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* What a byte becomes inside of a string; NULL for itself. */
static const char *escape(unsigned char c, char unicode[8]) {
  if (c == '"') return "\\\"";
  if (c == '\\') return "\\\\";
  if (c == '\n') return "\\n";
  if (c >= 0x20) return NULL;
  snprintf(unicode, 8, "\\u%04x", c);
  return unicode;
}

/* Byte by byte, as almost none needs an escape and none may be lost. */
static void put_text(struct writer *writer, struct wo_view text) {
  PUT(writer, "\"");
  for (size_t i = 0; i < text.len; i++) {
    char unicode[8];
    const char *const escaped = escape((unsigned char)text.ptr[i], unicode);
    if (escaped == NULL) {
      *room(writer) = text.ptr[i];
      writer->used++;
    } else {
      put(writer, wo_view_of(escaped));
    }
  }
  PUT(writer, "\"");
}

/* A name of ours behind a comma or, at the start of a line, its bracket. */
static void put_key(struct writer *writer, const char *start, const char *name) {
  put(writer, wo_view_of(start));
  put(writer, wo_view_of(name));
  PUT(writer, "\":");
}

static void start_line(struct writer *writer, const char *kind) {
  put_key(writer, "{\"", kind);
}

static void end_line(struct writer *writer) {
  PUT(writer, "}\n");
}

static void add_u64(struct writer *writer, const char *name, uint64_t value) {
  put_key(writer, ",\"", name);
  put_u64(writer, value);
}

static void add_i64(struct writer *writer, const char *name, int64_t value) {
  put_key(writer, ",\"", name);
  put_i64(writer, value);
}

static void add_text(struct writer *writer, const char *name, struct wo_view value) {
  put_key(writer, ",\"", name);
  put_text(writer, value);
}

static void add_true(struct writer *writer, const char *name, bool is_so) {
  if (!is_so) return;
  put_key(writer, ",\"", name);
  PUT(writer, "true");
}

/* ---- Header ---- */

/* As few digits as bring the value back. */
static void put_double(struct writer *writer, double value) {
  char digits[40];
  double back = 0;
  for (int precision = 1; precision <= 19; precision++) {
    snprintf(digits, sizeof digits, "%.*g", precision, value);
    if (wo_json_number_double(wo_view_of(digits), &back) && memcmp(&back, &value, sizeof back) == 0) break;
  }
  put(writer, wo_view_of(digits));
}

/* The counterpart of the reading in trace_lines_header.c. */
static void put_setting(struct writer *writer, const struct wo_alloc_settings *settings, const struct wo__setting_row *row) {
  const void *const member = (const char *)settings + row->offset;
  const uint32_t *const divisions = member;
  switch (row->type) {
  case WO__SETTING_BYTES:
    if (*(const uint64_t *)member == UINT64_MAX)
      PUT(writer, "null");
    else
      put_u64(writer, *(const uint64_t *)member);
    break;
  case WO__SETTING_FRACTION:
    put_double(writer, *(const double *)member);
    break;
  case WO__SETTING_FLAG:
    put(writer, *(const bool *)member ? WO_VIEW("true") : WO_VIEW("false"));
    break;
  case WO__SETTING_DIVISIONS:
    for (size_t i = 0; i < WO_ROUNDUP_SLOTS; i++) {
      put(writer, i == 0 ? WO_VIEW("[") : WO_VIEW(","));
      put_u64(writer, divisions[i]);
    }
    PUT(writer, "]");
    break;
  }
}

static void add_version(struct writer *writer, const char *name, uint16_t version) {
  if (version == 0) return;
  put_key(writer, ",\"", name);
  PUT(writer, "\"");
  put_u64(writer, version / 100);
  PUT(writer, ".");
  put_u64(writer, version % 100);
  PUT(writer, "\"");
}

static void add_settings(struct writer *writer, const struct wo_recording *recording) {
  if (!recording->has_settings) return;
  put_key(writer, ",\"", "settings");
  for (size_t i = 0; i < WO__SETTING_ROWS; i++) {
    put_key(writer, i == 0 ? "{\"" : ",\"", wo__setting_rows[i].name);
    put_setting(writer, &recording->settings, &wo__setting_rows[i]);
  }
  PUT(writer, "}");
}

static void put_pool(struct writer *writer, struct wo_pool_id pool) {
  PUT(writer, "[");
  put_u64(writer, pool.first);
  PUT(writer, ",");
  put_u64(writer, pool.second);
  PUT(writer, "]");
}

/* Streams and pools in the order of their indices, where there are others than the default. */
static void add_tables(struct writer *writer, const struct wo_recording *recording) {
  if (recording->streams.count > 1) put_key(writer, ",\"", "streams");
  for (size_t i = 0; i < recording->streams.count && recording->streams.count > 1; i++) {
    put(writer, i == 0 ? WO_VIEW("[") : WO_VIEW(","));
    put_u64(writer, recording->streams.items[i]);
  }
  if (recording->streams.count > 1) PUT(writer, "]");
  if (recording->pools.count > 1) put_key(writer, ",\"", "pools");
  for (size_t i = 0; i < recording->pools.count && recording->pools.count > 1; i++) {
    put(writer, i == 0 ? WO_VIEW("[") : WO_VIEW(","));
    put_pool(writer, recording->pools.items[i]);
  }
  if (recording->pools.count > 1) PUT(writer, "]");
}

static void write_header(struct writer *writer, const struct wo_recording *recording) {
  start_line(writer, "whyoom_trace");
  put_u64(writer, WO_TRACE_LINES_VERSION);
  if (recording->format != WO_TRACE_FORMAT_LINES) add_text(writer, "source", wo_view_of(wo__line_sources[recording->format]));
  if (recording->fidelity != WO_TRACE_EXACT) add_text(writer, "fidelity", wo_view_of(wo__line_fidelities[recording->fidelity]));
  add_true(writer, "truncated", recording->is_truncated);
  if (recording->torch_from == recording->torch_to) {
    add_version(writer, "torch", recording->torch_from);
  } else {
    add_version(writer, "torch_from", recording->torch_from);
    add_version(writer, "torch_to", recording->torch_to);
  }
  if (recording->capacity_bytes > 0) add_u64(writer, "capacity_bytes", recording->capacity_bytes);
  add_settings(writer, recording);
  if (recording->settings_text.len > 0) add_text(writer, "settings_text", recording->settings_text);
  add_tables(writer, recording);
  end_line(writer);
}

/* ---- Frames, stacks, annotations, notes ---- */

static void write_stacks(struct writer *writer, const struct wo_recording *recording) {
  for (size_t i = 0; i < recording->frames.count; i++) {
    const struct wo_frame *const frame = &recording->frames.items[i];
    start_line(writer, "frame");
    put_u64(writer, i);
    add_text(writer, "function", frame->function);
    add_text(writer, "file", frame->file);
    if (frame->line > 0) add_u64(writer, "line", frame->line);
    end_line(writer);
  }
  for (size_t i = 0; i < recording->stacks.count; i++) {
    const struct wo_stack stack = recording->stacks.items[i];
    start_line(writer, "stack");
    put_u64(writer, i);
    put_key(writer, ",\"", "frames");
    PUT(writer, "[");
    for (uint32_t j = 0; j < stack.count; j++) {
      if (j > 0) PUT(writer, ",");
      put_u64(writer, recording->stack_frames.items[stack.first + j]);
    }
    PUT(writer, "]");
    end_line(writer);
  }
}

/* Annotations name their device each time: they stand above all devices. */
static void write_marks(struct writer *writer, const struct wo_recording *recording) {
  for (size_t i = 0; i < recording->notes.count; i++) {
    start_line(writer, "note");
    put_text(writer, recording->notes.items[i]);
    end_line(writer);
  }
  for (size_t i = 0; i < recording->annotations.count; i++) {
    const struct wo_annotation *const annotation = &recording->annotations.items[i];
    start_line(writer, "annotation");
    put_text(writer, annotation->name);
    add_text(writer, "stage", annotation->is_start ? WO_VIEW("start") : WO_VIEW("end"));
    if (annotation->time_us != WO_NO_TIME) add_i64(writer, "time_us", annotation->time_us);
    add_i64(writer, "device", annotation->device);
    end_line(writer);
  }
}

/* ---- Entries ---- */

/* The value of the action's own key. */
static void put_size(struct writer *writer, const struct wo_recording *recording, const struct wo_trace_entry *entry) {
  switch ((enum wo_action)entry->action) {
  case WO_ACTION_SETTINGS:
    put_text(writer, recording->settings_texts.items[entry->size_bytes]);
    break;
  case WO_ACTION_FRACTION: {
    char fraction[32];
    snprintf(fraction, sizeof fraction, "%" PRIu64 ".%06" PRIu64, entry->size_bytes / 1000000, entry->size_bytes % 1000000);
    put(writer, wo_view_of(fraction));
    break;
  }
  case WO_ACTION_EMPTY_CACHE:
  case WO_ACTION_RECORD_STREAM:
  case WO_ACTION_CAPTURE_BEGIN:
  case WO_ACTION_CAPTURE_END:
  case WO_ACTION_POOL_RELEASE:
    if (entry->size_bytes == 0) {
      PUT(writer, "true");
      break;
    }
    /* fall through */
  default:
    put_u64(writer, entry->size_bytes);
  }
}

static void add_address(struct writer *writer, const struct wo_recording *recording, const struct wo_trace_entry *entry) {
  const enum wo_action action = (enum wo_action)entry->action;
  const bool is_block = wo__line_names_block(action);
  if (action == WO_ACTION_OOM) {
    add_u64(writer, "device_free", entry->address);
  } else if (is_block || wo_action_is(action, WO_TRAIT_SEGMENT)) {
    add_u64(writer, recording->has_only_ids && is_block ? "id" : "addr", entry->address);
  } else if (entry->address != 0) {
    add_u64(writer, "addr", entry->address);
  }
}

static void write_entry(struct writer *writer, const struct wo_recording *recording, const struct wo_trace_entry *entry,
                        struct wo_view metadata) {
  assert(entry->stream < recording->streams.count && entry->pool < recording->pools.count);
  start_line(writer, wo_action_name((enum wo_action)entry->action));
  put_size(writer, recording, entry);
  add_address(writer, recording, entry);
  if (entry->stream != 0) add_u64(writer, "stream", recording->streams.items[entry->stream]);
  if (entry->pool != WO_POOL_DEFAULT) {
    put_key(writer, ",\"", "pool");
    put_pool(writer, recording->pools.items[entry->pool]);
  }
  if (entry->stack != WO_NO_STACK) add_u64(writer, "stack", entry->stack);
  if (entry->time_us != WO_NO_TIME) add_i64(writer, "time_us", entry->time_us);
  if (metadata.len > 0) add_text(writer, "metadata", metadata);
  end_line(writer);
}

/* What the program said about an entry, if anything; *at goes on with the entries. */
static struct wo_view metadata_of(const struct wo_trace *trace, size_t entry, size_t *at) {
  if (*at == trace->metadata.count || trace->metadata.items[*at].entry != entry) return (struct wo_view){0};
  return trace->metadata.items[(*at)++].text;
}

/* ---- Segments ---- */

/* Blocks follow their segment without addresses, which their sizes give. */
static void write_segment(struct writer *writer, const struct wo_recording *recording, const struct wo_trace *trace,
                          const struct wo_trace_segment *segment) {
  assert(segment->stream < recording->streams.count && segment->pool < recording->pools.count);
  start_line(writer, "segment");
  put_u64(writer, segment->size_bytes);
  add_u64(writer, "addr", segment->address);
  if (segment->stream != 0) add_u64(writer, "stream", recording->streams.items[segment->stream]);
  if (segment->pool != WO_POOL_DEFAULT) {
    put_key(writer, ",\"", "pool");
    put_pool(writer, recording->pools.items[segment->pool]);
  }
  add_true(writer, "small", segment->is_small);
  add_true(writer, "expandable", segment->is_expandable);
  if (segment->stack != WO_NO_STACK) add_u64(writer, "stack", segment->stack);
  end_line(writer);
  for (uint32_t i = 0; i < segment->block_count; i++) {
    const struct wo_trace_block *const block = &trace->blocks.items[segment->first_block + i];
    start_line(writer, "block");
    put_u64(writer, block->size_bytes);
    add_text(writer, "state", wo_view_of(wo__line_states[block->state]));
    if (block->requested_bytes != 0) add_u64(writer, "requested", block->requested_bytes);
    if (block->stack != WO_NO_STACK) add_u64(writer, "stack", block->stack);
    end_line(writer);
  }
}

/* What belongs to a device stands below its line, so that no other line needs to name it. */
static void write_trace(struct writer *writer, const struct wo_recording *recording, const struct wo_trace *trace) {
  start_line(writer, "device");
  put_i64(writer, trace->device);
  add_true(writer, "has_segments", trace->has_segments);
  end_line(writer);
  size_t metadata = 0;
  for (size_t i = 0; i < trace->entries.count && writer->status == WO_OK; i++)
    write_entry(writer, recording, &trace->entries.items[i], metadata_of(trace, i, &metadata));
  for (size_t i = 0; i < trace->segments.count && writer->status == WO_OK; i++)
    write_segment(writer, recording, trace, &trace->segments.items[i]);
}

enum wo_status wo_trace_lines_write(const struct wo_recording *recording, const struct wo_trace_sink *sink, struct wo_err *err) {
  assert(recording != NULL && sink != NULL);
  struct writer *const writer = malloc(sizeof *writer);
  if (writer == NULL) return wo_err_set(err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
  writer->sink = sink;
  writer->err = err;
  writer->status = WO_OK;
  writer->used = 0;
  write_header(writer, recording);
  write_stacks(writer, recording);
  write_marks(writer, recording);
  for (size_t i = 0; i < recording->traces.count; i++) write_trace(writer, recording, &recording->traces.items[i]);
  flush(writer);
  const enum wo_status status = writer->status;
  free(writer);
  return status;
}
