/* SPDX-License-Identifier: Apache-2.0 */
/* The header of the line form: versions, origin, and the allocator's settings as an object or as torch spells them.
 *
 * The object holds the exact settings of a recording, for all versions; the spelling is for people, and that version of torch
 * decides its meaning. Keys of the header may be in any order, so nothing is applied before all have been read. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "cuda_replay/recording/json/trace_lines.h"
#include "cuda_replay/recording/json/trace_lines_internal.h"
#include "parsers/base/number.h"

/* A page of the driver, and more than any card has. */
#define SEGMENT_MIN_BYTES (UINT64_C(2) << 20)
#define SEGMENT_MAX_BYTES (UINT64_C(1) << 50)

const char *const wo__line_sources[WO_TRACE_FORMAT_RECONSTRUCTED + 1] = {
    [WO_TRACE_FORMAT_UNKNOWN] = "unknown",   [WO_TRACE_FORMAT_SNAPSHOT] = "snapshot",
    [WO_TRACE_FORMAT_PROFILER] = "profiler", [WO_TRACE_FORMAT_TIMELINE] = "memory_timeline",
    [WO_TRACE_FORMAT_LINES] = "lines",       [WO_TRACE_FORMAT_RECONSTRUCTED] = "reconstructed",
};
const char *const wo__line_fidelities[WO_TRACE_APPROXIMATE + 1] = {
    [WO_TRACE_EXACT] = "exact",
    [WO_TRACE_BLOCK_SIZES] = "block_sizes",
    [WO_TRACE_APPROXIMATE] = "approximate",
};
const char *const wo__line_states[WO_BLOCK_PENDING + 1] = {
    [WO_BLOCK_FREE] = "free",
    [WO_BLOCK_ALLOCATED] = "allocated",
    [WO_BLOCK_PENDING] = "pending",
};

#define ROW(member, type)                                                                                                        \
  { #member, WO__SETTING_##type, offsetof(struct wo_alloc_settings, member) }
const struct wo__setting_row wo__setting_rows[WO__SETTING_ROWS] = {
    ROW(max_split_bytes, BYTES),
    ROW(max_non_split_rounding_bytes, BYTES),
    ROW(large_segment_bytes, BYTES),
    ROW(roundup_divisions, DIVISIONS),
    ROW(garbage_collection_threshold, FRACTION),
    ROW(memory_fraction, FRACTION),
    ROW(expandable_segments, FLAG),
    ROW(graph_capture_record_stream_reuse, FLAG),
    ROW(throw_on_cudamalloc_oom, FLAG),
    ROW(is_native, FLAG),
};
#undef ROW

/* ---- The settings object ---- */

/* Reads the sixteen divisions, after their opening bracket. */
static enum wo_status read_divisions(struct wo__line_reader *reader, uint32_t *divisions) {
  for (size_t i = 0;; i++) {
    struct wo_json_token token;
    uint64_t value = 0;
    const enum wo_status status = wo_json_stream_next(&reader->json, &token, reader->err);
    if (status != WO_OK || token.kind == WO_JSON_CUT) return status;
    if (token.kind == WO_JSON_ARRAY_END && i == WO_ROUNDUP_SLOTS) return WO_OK;
    if (token.kind != WO_JSON_NUMBER || i == WO_ROUNDUP_SLOTS || !wo_json_number_u64(token.text, &value) || value > UINT32_MAX)
      return WO__LINE_FAIL(reader, WO_E_TYPE, "\"roundup_divisions\" must be a list of %d numbers", WO_ROUNDUP_SLOTS);
    divisions[i] = (uint32_t)value;
  }
}

/* Memory of the large pool comes in this size. */
static enum wo_status read_segment_bytes(struct wo__line_reader *reader, const struct wo_json_token *token, uint64_t *ret_bytes) {
  const bool is_read = token->kind == WO_JSON_NUMBER && wo_json_number_u64(token->text, ret_bytes);
  if (is_read && *ret_bytes >= SEGMENT_MIN_BYTES && *ret_bytes <= SEGMENT_MAX_BYTES) return WO_OK;
  return WO__LINE_FAIL(reader, WO_E_RANGE, "\"large_segment_bytes\" must be from %" PRIu64 " to %" PRIu64 " bytes",
                       SEGMENT_MIN_BYTES, SEGMENT_MAX_BYTES);
}

/* The value goes to the member at the row's offset; the row has its type. */
static enum wo_status read_setting(struct wo__line_reader *reader, const struct wo__setting_row *row) {
  void *const member = (char *)&reader->settings + row->offset;
  struct wo_json_token token;
  const enum wo_status status = wo_json_stream_next(&reader->json, &token, reader->err);
  if (status != WO_OK || token.kind == WO_JSON_CUT) return status;
  switch (row->type) {
  case WO__SETTING_BYTES:
    if (row->offset == offsetof(struct wo_alloc_settings, large_segment_bytes)) return read_segment_bytes(reader, &token, member);
    if (token.kind == WO_JSON_NULL) return *(uint64_t *)member = UINT64_MAX, WO_OK;
    if (token.kind == WO_JSON_NUMBER && wo_json_number_u64(token.text, member)) return WO_OK;
    return WO__LINE_FAIL(reader, WO_E_TYPE, "\"%s\" must be a number of bytes, or null for no limit", row->name);
  case WO__SETTING_FRACTION:
    if (token.kind == WO_JSON_NUMBER && wo_json_number_double(token.text, member)) return WO_OK;
    return WO__LINE_FAIL(reader, WO_E_TYPE, "\"%s\" must be a number", row->name);
  case WO__SETTING_FLAG:
    *(bool *)member = token.kind == WO_JSON_TRUE;
    if (token.kind == WO_JSON_TRUE || token.kind == WO_JSON_FALSE) return WO_OK;
    return WO__LINE_FAIL(reader, WO_E_TYPE, "\"%s\" must be true or false", row->name);
  case WO__SETTING_DIVISIONS:
    if (token.kind == WO_JSON_ARRAY) return read_divisions(reader, member);
    return WO__LINE_FAIL(reader, WO_E_TYPE, "\"%s\" must be a list", row->name);
  }
  return WO_OK;
}

enum wo_status wo__line_read_settings(struct wo__line_reader *reader) {
  for (;;) {
    struct wo_json_token token;
    enum wo_status status = wo_json_stream_next(&reader->json, &token, reader->err);
    if (status != WO_OK || token.kind != WO_JSON_KEY) return status;
    size_t row = 0;
    while (row < WO__SETTING_ROWS && !wo_view_is(token.text, wo__setting_rows[row].name)) row++;
    status =
        row < WO__SETTING_ROWS ? read_setting(reader, &wo__setting_rows[row]) : wo_json_stream_skip(&reader->json, reader->err);
    if (status != WO_OK) return status;
  }
}

/* ---- The other keys ---- */

/* A version as torch prints it ("2.6", "2.6.0+cu124"); 0 stays "not known". Versions that are not modelled are read, too. */
static bool read_version(const struct wo__line *line, int key, uint16_t *ret_version) {
  struct wo_view rest = wo__line_text(line, key);
  uint64_t major = 0, minor = 0;
  if (!wo__line_has(line, key)) return true;
  if (wo_number_u64(&rest, 654, &major) != WO_OK || !wo_view_starts(rest, ".")) return false;
  rest = wo_view_skip(rest, 1);
  if (wo_number_u64(&rest, 99, &minor) != WO_OK) return false;
  *ret_version = (uint16_t)(major * 100 + minor);
  return true;
}

/* Reads one version if it is certain, else the range that the layout of the file allows. */
static enum wo_status read_versions(struct wo__line_reader *reader) {
  const struct wo__line *const line = &reader->line;
  struct wo_recording *const recording = reader->recording;
  uint16_t both = 0;
  bool is_read = read_version(line, WO__LINE_TORCH, &both);
  recording->torch_from = recording->torch_to = both;
  is_read = is_read && read_version(line, WO__LINE_TORCH_FROM, &recording->torch_from);
  is_read = is_read && read_version(line, WO__LINE_TORCH_TO, &recording->torch_to);
  return is_read ? WO_OK : WO__LINE_FAIL(reader, WO_E_SYNTAX, "\"torch\" must be a version such as \"2.6\"");
}

/* Reads a text as its index in a list of names. */
static enum wo_status read_name(struct wo__line_reader *reader, int key, const char *const *names, size_t count, int *value) {
  const struct wo_view text = wo__line_text(&reader->line, key);
  if (!wo__line_has(&reader->line, key)) return WO_OK;
  for (size_t i = 0; i < count; i++) {
    if (!wo_view_is(text, names[i])) continue;
    *value = (int)i;
    return WO_OK;
  }
  return WO__LINE_FAIL(reader, WO_E_UNKNOWN, "\"%.*s\" is no word of the header", (int)(text.len < 80 ? text.len : 80), text.ptr);
}

/* A settings string is applied by the rules of that version; an object is taken as it is. */
static enum wo_status read_header_settings(struct wo__line_reader *reader) {
  struct wo_recording *const recording = reader->recording;
  const int key = (int)WO__LINE_ACTION + WO_ACTION_SETTINGS;
  const uint16_t torch = recording->torch_to != 0 ? recording->torch_to : WO_TORCH_DEFAULT;
  const struct wo_view spelled = wo__line_text(&reader->line, reader->has_settings_object ? (int)WO__LINE_SETTINGS_TEXT : key);
  recording->settings_text = wo_arena_copy(&recording->arena, spelled);
  if (recording->settings_text.ptr == NULL) return WO__LINE_FAIL(reader, WO_E_NOMEM, "out of memory");
  recording->has_settings = wo__line_has(&reader->line, key);
  if (reader->has_settings_object) recording->settings = reader->settings;
  if (reader->has_settings_object || !recording->has_settings) return WO_OK;
  struct wo_err wrong;
  recording->settings = wo_alloc_settings_default(torch);
  const enum wo_status status = wo_alloc_settings_parse(spelled, torch, &recording->settings, &wrong);
  return status == WO_OK ? WO_OK : WO__LINE_FAIL(reader, status, "\"settings\": %s", wrong.message);
}

enum wo_status wo__line_read_header(struct wo__line_reader *reader) {
  struct wo_recording *const recording = reader->recording;
  const struct wo__line *const line = &reader->line;
  const uint64_t version = line->numbers[WO__LINE_WHYOOM_TRACE];
  int source = WO_TRACE_FORMAT_LINES, fidelity = WO_TRACE_EXACT;
  assert(wo__line_has(line, WO__LINE_WHYOOM_TRACE));
  if (version == 0 || version > WO_TRACE_LINES_VERSION)
    return WO__LINE_FAIL(reader, WO_E_RANGE,
                         "is in version %" PRIu64 " of the line form, and this whyoom reads version %d: take a newer one",
                         version, WO_TRACE_LINES_VERSION);
  enum wo_status status = read_name(reader, WO__LINE_SOURCE, wo__line_sources, WO_TRACE_FORMAT_RECONSTRUCTED + 1, &source);
  if (status == WO_OK) status = read_name(reader, WO__LINE_FIDELITY, wo__line_fidelities, WO_TRACE_APPROXIMATE + 1, &fidelity);
  if (status == WO_OK) status = read_versions(reader);
  if (status == WO_OK) status = read_header_settings(reader);
  recording->format = (enum wo_trace_format)source;
  recording->fidelity = (enum wo_trace_fidelity)fidelity;
  recording->is_truncated = wo__line_number(line, WO__LINE_TRUNCATED, 0) != 0;
  recording->capacity_bytes = wo__line_number(line, WO__LINE_CAPACITY_BYTES, 0);
  return status;
}
