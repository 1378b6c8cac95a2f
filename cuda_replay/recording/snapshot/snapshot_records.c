/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises the dicts of a snapshot by their keys, and makes their records. Keys come in any order and may be missing. */
#include "cuda_replay/recording/snapshot/snapshot_internal.h"

#include <inttypes.h>

#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

/* The most notes about things left out; the others are only counted. */
enum { SKIPS_NOTED = 8 };

void wo__snapshot_skip(struct wo_snapshot *snapshot, const char *what) {
  if (snapshot->skipped_count++ >= SKIPS_NOTED) return;
  wo_recording_note(snapshot->recording, "%s (byte %" PRIu64 "): left out", what, snapshot->pickle.offset);
}

/* ---- Words ---- */

/* The order of the tables is the order of the numbers: nothing was interned before. */
static enum wo_status learn(struct wo_snapshot *snapshot, const char *text, uint32_t expected) {
  uint32_t id = 0;
  const enum wo_status status = wo_intern_text(&snapshot->intern, wo_view_of(text), &id);
  assert(status != WO_OK || id == expected);
  (void)expected;
  return status == WO_OK ? WO_OK : WO_E_NOMEM;
}

enum wo_status wo__snapshot_learn_words(struct wo_snapshot *snapshot) {
  static const char *const words[] = {
#define WO_KEY(id, text) [WO_KEY_##id] = text,
#define WO_WORD(id, text) [WO_WORD_##id] = text,
#include "cuda_replay/recording/snapshot/snapshot_words.def"
#undef WO_KEY
#undef WO_WORD
  };
  _Static_assert(WO_KEY_COUNT_ <= 64, "keys are bits of a mask");
  enum wo_status status = WO_OK;
  for (uint32_t i = 0; i < WO_WORD_COUNT_ && status == WO_OK; i++) status = learn(snapshot, words[i], i);
  for (int i = 0; i < WO_ACTION_COUNT_ && status == WO_OK; i++) {
    if (!wo_action_is((enum wo_action)i, WO_TRAIT_RECORDED)) continue;
    status = learn(snapshot, wo_action_name((enum wo_action)i), WO_WORD_COUNT_ + snapshot->action_count);
    snapshot->actions[snapshot->action_count++] = (enum wo_action)i;
  }
  return status;
}

static bool is_word(struct wo_pickle_value value, enum wo_word word) {
  return wo_value_is_same(value, wo_value(WO_VALUE_TEXT, word));
}

/* ---- Fields ---- */

static bool has(const struct wo_dict_draft *draft, enum wo_word key) {
  return (draft->mask & wo__key_bit(key)) != 0;
}

static bool get_u64(const struct wo_snapshot *snapshot, const struct wo_dict_draft *draft, enum wo_word key, uint64_t *ret) {
  return wo_pickle_u64(&snapshot->pickle, wo__draft_field(draft, key), ret);
}

static uint32_t stack_of(const struct wo_dict_draft *draft) {
  const struct wo_pickle_value frames = wo__draft_field(draft, WO_KEY_FRAMES);
  return wo_value_kind(frames) == WO_VALUE_STACK ? wo_value_index(frames) : WO_NO_STACK;
}

/* Streams are raw pointers; one that does not fit into a number is as good as any other. */
static enum wo_status get_stream(struct wo_snapshot *snapshot, const struct wo_dict_draft *draft, uint32_t *ret_stream) {
  const struct wo_pickle_value value = wo__draft_field(draft, WO_KEY_STREAM);
  uint64_t raw = 0;
  int64_t number = 0;
  if (wo_pickle_i64(&snapshot->pickle, value, &number)) {
    raw = (uint64_t)number;
  } else if (!wo_pickle_u64(&snapshot->pickle, value, &raw)) {
    raw = 0;
  }
  return wo_intern_stream(&snapshot->intern, raw, ret_stream);
}

/* A pool's name must be a pair of small numbers; anything else names no pool. */
static enum wo_status get_pool(struct wo_snapshot *snapshot, const struct wo_dict_draft *draft, enum wo_word key,
                               uint32_t *ret_pool) {
  const struct wo_pickle_value value = wo__draft_field(draft, key);
  *ret_pool = WO_POOL_DEFAULT;
  if (wo_value_kind(value) != WO_VALUE_PAIR) return WO_OK;
  const uint64_t pair = wo_value_payload(value);
  const uint64_t low = (UINT64_C(1) << WO_VALUE_PAIR_BITS) - 1;
  return wo_intern_pool(&snapshot->intern, (struct wo_pool_id){pair >> WO_VALUE_PAIR_BITS, pair & low}, ret_pool);
}

/* ---- Frames and stacks ---- */

/* Frames of C++ may lack a name or a file; torch itself writes "??" for the file. */
static enum wo_status text_of(struct wo_snapshot *snapshot, struct wo_pickle_value value, uint32_t *ret_text) {
  if (wo_value_kind(value) != WO_VALUE_TEXT) return wo_intern_text(&snapshot->intern, WO_VIEW("??"), ret_text);
  *ret_text = wo_value_index(value);
  return WO_OK;
}

/* Frames with the same content become one, whether the file shares them or not. */
static enum wo_status make_frame(struct wo_snapshot *snapshot, const struct wo_dict_draft *draft,
                                 struct wo_pickle_value *ret_value) {
  uint32_t function = 0;
  uint32_t file = 0;
  uint32_t frame = 0;
  uint64_t line = 0;
  enum wo_status status = text_of(snapshot, wo__draft_field(draft, WO_KEY_NAME), &function);
  if (status == WO_OK) status = text_of(snapshot, wo__draft_field(draft, WO_KEY_FILENAME), &file);
  if (!get_u64(snapshot, draft, WO_KEY_LINE, &line) || line > UINT32_MAX) line = 0;
  if (status == WO_OK) status = wo_intern_frame(&snapshot->intern, function, file, (uint32_t)line, &frame);
  if (status == WO_E_LIMIT) return wo_pickle_fail(&snapshot->pickle, status, "holds more distinct frames than fit");
  *ret_value = wo_value(WO_VALUE_FRAME, frame);
  return status;
}

/* ---- Entries ---- */

/* One note for all unknown actions: a newer torch would give thousands. */
static enum wo_action action_of(struct wo_snapshot *snapshot, struct wo_pickle_value value) {
  const uint32_t text = wo_value_kind(value) == WO_VALUE_TEXT ? wo_value_index(value) : 0;
  if (text >= WO_WORD_COUNT_ && text - WO_WORD_COUNT_ < snapshot->action_count) return snapshot->actions[text - WO_WORD_COUNT_];
  if (snapshot->unknown_action_count++ == 0) {
    const struct wo_view name = wo_value_kind(value) == WO_VALUE_TEXT ? snapshot->intern.texts.items[text] : WO_VIEW("(no text)");
    wo_recording_note(snapshot->recording,
                      "an entry has the action '%.*s', which torch did not have when this was written (byte %" PRIu64
                      "): such entries are kept, and do nothing",
                      (int)(name.len < 60 ? name.len : 60), name.ptr, snapshot->pickle.offset);
  }
  return WO_ACTION_UNKNOWN;
}

/* Why an entry does not have what its action needs, or NULL. */
static const char *entry_flaw(const struct wo_snapshot *snapshot, const struct wo_dict_draft *draft,
                              struct wo_trace_entry *entry) {
  const bool is_oom = entry->action == WO_ACTION_OOM;
  const bool has_address = get_u64(snapshot, draft, is_oom ? WO_KEY_DEVICE_FREE : WO_KEY_ADDR, &entry->address);
  const bool has_size = get_u64(snapshot, draft, WO_KEY_SIZE, &entry->size_bytes);
  if (entry->action == WO_ACTION_UNKNOWN || entry->action == WO_ACTION_SNAPSHOT) return NULL;
  if (!has_address && !is_oom) return "an entry has no valid address";
  return has_size ? NULL : "an entry has no valid size";
}

/* Keeps what the program said about the entry that is added next; most programs say nothing. */
static enum wo_status keep_metadata(struct wo_snapshot *snapshot, const struct wo_dict_draft *draft) {
  const struct wo_pickle_value value = wo__draft_field(draft, WO_KEY_USER_METADATA);
  if (wo_value_kind(value) != WO_VALUE_TEXT || snapshot->intern.texts.items[wo_value_index(value)].len == 0) return WO_OK;
  if (!WO_VEC_RESERVE(&snapshot->metadata, 1, WO_LIMIT_TRACE_ENTRIES)) return WO_E_NOMEM;
  snapshot->metadata.items[snapshot->metadata.count++] =
      (struct wo_metadata_record){(uint32_t)snapshot->entries.count, wo_value_index(value)};
  return WO_OK;
}

/* Too many streams or pools (WO_E_LIMIT) cost only the entry; too many entries cost the rest of the file. */
static enum wo_status make_entry(struct wo_snapshot *snapshot, const struct wo_dict_draft *draft,
                                 struct wo_pickle_value *ret_value) {
  struct wo_trace_entry entry = {.time_us = WO_NO_TIME, .stack = stack_of(draft)};
  entry.action = action_of(snapshot, wo__draft_field(draft, WO_KEY_ACTION)) & 31;
  const char *flaw = entry_flaw(snapshot, draft, &entry);
  int64_t time_us = 0;
  if (wo_pickle_i64(&snapshot->pickle, wo__draft_field(draft, WO_KEY_TIME_US), &time_us)) entry.time_us = time_us;
  uint32_t stream = 0;
  uint32_t pool = 0;
  enum wo_status status = get_stream(snapshot, draft, &stream);
  if (status == WO_OK) status = get_pool(snapshot, draft, WO_KEY_POOL_ID, &pool);
  if (status == WO_E_NOMEM) return status;
  if (status != WO_OK) flaw = "an entry names one stream or pool too many";
  *ret_value = wo_value(WO_VALUE_OPAQUE, 0);
  if (flaw != NULL) {
    wo__snapshot_skip(snapshot, flaw);
    return WO_OK;
  }
  entry.stream = stream & (WO_TRACE_STREAMS_MAX - 1);
  entry.pool = pool & (WO_TRACE_POOLS_MAX - 1);
  status = WO_PICKLE_RESERVE(&snapshot->pickle, &snapshot->entries, 1, WO_LIMIT_TRACE_ENTRIES, "holds more entries than fit");
  if (status == WO_OK) status = keep_metadata(snapshot, draft);
  if (status != WO_OK) return status;
  snapshot->entry_keys |= draft->mask;
  *ret_value = wo_value(WO_VALUE_ENTRY, snapshot->entries.count);
  snapshot->entries.items[snapshot->entries.count++] = entry;
  return WO_OK;
}

/* ---- Blocks and segments ---- */

/* An earlier life of a block. */
static enum wo_status make_history(struct wo_snapshot *snapshot, const struct wo_dict_draft *draft,
                                   struct wo_pickle_value *ret_value) {
  struct wo_history_record history = {.stack = stack_of(draft)};
  if (!get_u64(snapshot, draft, WO_KEY_REAL_SIZE, &history.real_bytes)) history.real_bytes = 0;
  if (!WO_VEC_RESERVE(&snapshot->histories, 1, UINT32_MAX)) return WO_E_NOMEM;
  *ret_value = wo_value(WO_VALUE_HISTORY, snapshot->histories.count);
  snapshot->histories.items[snapshot->histories.count++] = history;
  return WO_OK;
}

/* False for a state that torch does not have. */
static bool state_of(struct wo_pickle_value value, enum wo_block_state *ret_state) {
  if (is_word(value, WO_WORD_ALLOCATED)) {
    *ret_state = WO_BLOCK_ALLOCATED;
  } else if (is_word(value, WO_WORD_PENDING) || is_word(value, WO_WORD_AWAITING)) {
    *ret_state = WO_BLOCK_PENDING;
  } else {
    *ret_state = WO_BLOCK_FREE;
    return is_word(value, WO_WORD_INACTIVE);
  }
  return true;
}

/* An unusable block gets no size, which makes its segment unusable, too. */
static enum wo_status make_block(struct wo_snapshot *snapshot, const struct wo_dict_draft *draft,
                                 struct wo_pickle_value *ret_value) {
  struct wo_trace_block block = {.address = WO_BLOCK_ADDRESS_OPEN, .stack = stack_of(draft)};
  bool is_good = state_of(wo__draft_field(draft, WO_KEY_STATE), &block.state);
  is_good = get_u64(snapshot, draft, WO_KEY_SIZE, &block.size_bytes) && is_good;
  if (has(draft, WO_KEY_ADDRESS)) is_good = get_u64(snapshot, draft, WO_KEY_ADDRESS, &block.address) && is_good;
  if (!is_good) block.size_bytes = 0;
  const bool is_live = block.state != WO_BLOCK_FREE;
  bool is_known = is_live && get_u64(snapshot, draft, WO_KEY_REQUESTED_SIZE, &block.requested_bytes);
  const struct wo_record_range history =
      wo__snapshot_take_list(snapshot, wo__draft_field(draft, WO_KEY_HISTORY), WO_VALUE_HISTORY);
  if (history.count > 0 && is_live) { /* the first is the newest */
    const struct wo_history_record newest = snapshot->histories.items[history.first];
    if (block.stack == WO_NO_STACK) block.stack = newest.stack;
    if (!is_known) block.requested_bytes = newest.real_bytes;
    is_known = true;
  }
  if (history.count > 0 && history.first + history.count == snapshot->histories.count) snapshot->histories.count = history.first;
  if (!is_known || block.requested_bytes > block.size_bytes) block.requested_bytes = 0;
  const enum wo_status status =
      WO_PICKLE_RESERVE(&snapshot->pickle, &snapshot->blocks, 1, WO_LIMIT_TRACE_BLOCKS, "holds more blocks than fit");
  if (status != WO_OK) return status;
  snapshot->block_keys |= draft->mask;
  *ret_value = wo_value(WO_VALUE_BLOCK, snapshot->blocks.count);
  snapshot->blocks.items[snapshot->blocks.count++] = block;
  return WO_OK;
}

/* A flaw of a segment is reported once the list of segments is known, with its place in the list. */
static enum wo_status make_segment(struct wo_snapshot *snapshot, const struct wo_dict_draft *draft,
                                   struct wo_pickle_value *ret_value) {
  struct wo_segment_record record = {.segment.stack = stack_of(draft), .index = (uint32_t)snapshot->segments.count};
  struct wo_trace_segment *const segment = &record.segment;
  if (!wo_pickle_i64(&snapshot->pickle, wo__draft_field(draft, WO_KEY_DEVICE), &record.device)) record.device = 0;
  if (!get_u64(snapshot, draft, WO_KEY_ADDRESS, &segment->address)) record.flaw = "has no valid address";
  if (!get_u64(snapshot, draft, WO_KEY_TOTAL_SIZE, &segment->size_bytes)) record.flaw = "has no valid size";
  segment->is_small = is_word(wo__draft_field(draft, WO_KEY_SEGMENT_TYPE), WO_WORD_SMALL);
  segment->is_expandable = wo_value_kind(wo__draft_field(draft, WO_KEY_IS_EXPANDABLE)) == WO_VALUE_TRUE;
  const struct wo_record_range blocks = wo__snapshot_take_list(snapshot, wo__draft_field(draft, WO_KEY_BLOCKS), WO_VALUE_BLOCK);
  segment->first_block = blocks.first;
  segment->block_count = blocks.count;
  enum wo_status status = get_stream(snapshot, draft, &segment->stream);
  if (status == WO_OK) status = get_pool(snapshot, draft, WO_KEY_SEGMENT_POOL_ID, &segment->pool);
  if (status == WO_E_NOMEM) return status;
  if (status != WO_OK) record.flaw = "names one stream or pool too many";
  status = WO_PICKLE_RESERVE(&snapshot->pickle, &snapshot->segments, 1, WO_LIMIT_TRACE_BLOCKS, "holds more segments than fit");
  if (status != WO_OK) return status;
  snapshot->segment_keys |= draft->mask;
  *ret_value = wo_value(WO_VALUE_SEGMENT, snapshot->segments.count);
  snapshot->segments.items[snapshot->segments.count++] = record;
  return WO_OK;
}

/* ---- Marks, and the whole ---- */

/* Annotations go to the recording at once: there is one list of them. */
static enum wo_status make_annotation(struct wo_snapshot *snapshot, const struct wo_dict_draft *draft,
                                      struct wo_pickle_value *ret_value) {
  struct wo_recording *const recording = snapshot->recording;
  struct wo_annotation annotation = {.time_us = WO_NO_TIME};
  int64_t number = 0;
  if (wo_pickle_i64(&snapshot->pickle, wo__draft_field(draft, WO_KEY_TIME_US), &number)) annotation.time_us = number;
  if (wo_pickle_i64(&snapshot->pickle, wo__draft_field(draft, WO_KEY_DEVICE), &number) && number >= 0 && number <= INT32_MAX)
    annotation.device = (int)number;
  const struct wo_pickle_value name = wo__draft_field(draft, WO_KEY_NAME);
  if (wo_value_kind(name) == WO_VALUE_TEXT) annotation.name = snapshot->intern.texts.items[wo_value_index(name)];
  annotation.is_start = is_word(wo__draft_field(draft, WO_KEY_STAGE), WO_WORD_START);
  const enum wo_status status =
      WO_PICKLE_RESERVE(&snapshot->pickle, &recording->annotations, 1, WO_LIMIT_TRACE_BLOCKS, "holds more annotations than fit");
  if (status != WO_OK) return status;
  *ret_value = wo_value(WO_VALUE_ANNOTATION, recording->annotations.count);
  recording->annotations.items[recording->annotations.count++] = annotation;
  return WO_OK;
}

/* The first one counts: nobody saves two. */
static enum wo_status make_whole(struct wo_snapshot *snapshot, const struct wo_dict_draft *draft,
                                 struct wo_pickle_value *ret_value) {
  *ret_value = wo_value(WO_VALUE_SNAPSHOT, 0);
  if (snapshot->is_found) {
    wo__snapshot_skip(snapshot, "a second snapshot stands in the same file");
    return WO_OK;
  }
  snapshot->is_found = true;
  snapshot->has_segments = has(draft, WO_KEY_SEGMENTS);
  snapshot->snapshot_keys = draft->mask;
  snapshot->found_segments = wo__snapshot_take_list(snapshot, wo__draft_field(draft, WO_KEY_SEGMENTS), WO_VALUE_SEGMENT);
  snapshot->found_traces = wo__snapshot_take_list(snapshot, wo__draft_field(draft, WO_KEY_DEVICE_TRACES), WO_VALUE_LIST);
  return WO_OK;
}

/* Tests for keys that only one kind of dict has, the most frequent kind first; a file name distinguishes frames from annotations,
 * which have names, too. */
enum wo_status wo__snapshot_record(struct wo_snapshot *snapshot, struct wo_dict_draft *draft, struct wo_pickle_value *ret_value) {
  *ret_value = wo_value(WO_VALUE_OPAQUE, 0);
  const uint64_t settings = wo__key_bit(WO_KEY_ALLOC_CONF) | wo__key_bit(WO_KEY_ALLOC_CONF_NEW) |
                            wo__key_bit(WO_KEY_MAX_SPLIT_SIZE) | wo__key_bit(WO_KEY_EXPANDABLE_SEGMENTS);
  if (has(draft, WO_KEY_NAME) && has(draft, WO_KEY_FILENAME)) return make_frame(snapshot, draft, ret_value);
  if (has(draft, WO_KEY_ACTION)) return make_entry(snapshot, draft, ret_value);
  if (has(draft, WO_KEY_STATE)) return make_block(snapshot, draft, ret_value);
  if (has(draft, WO_KEY_BLOCKS) || has(draft, WO_KEY_TOTAL_SIZE)) return make_segment(snapshot, draft, ret_value);
  if (has(draft, WO_KEY_REAL_SIZE)) return make_history(snapshot, draft, ret_value);
  if (has(draft, WO_KEY_STAGE)) return make_annotation(snapshot, draft, ret_value);
  if (has(draft, WO_KEY_SEGMENTS) || has(draft, WO_KEY_DEVICE_TRACES)) return make_whole(snapshot, draft, ret_value);
  if ((draft->mask & settings) != 0) {
    wo__snapshot_take_settings(snapshot, draft);
    *ret_value = wo_value(WO_VALUE_SETTINGS, 0);
  } else if (draft->mask >> WO_KEY_ROUNDUP_FIRST != 0) {
    wo__snapshot_take_roundup(snapshot, draft);
    *ret_value = wo_value(WO_VALUE_ROUNDUP, 0);
  }
  return WO_OK;
}
