/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator's settings in a snapshot, and the version of torch as its keys show it. */
#include "cuda_replay/recording/snapshot/snapshot_internal.h"

#include <stdint.h>

/* Settings that are not given keep the defaults that the recording was made with. */
void wo__snapshot_take_settings(struct wo_snapshot *snapshot, const struct wo_dict_draft *draft) {
  struct wo_recording *const recording = snapshot->recording;
  struct wo_alloc_settings *const settings = &recording->settings;
  int64_t split = 0;
  recording->has_settings = true;
  /* A 64-bit maximum was cast to a signed number: -1 is no limit. */
  if (wo_pickle_i64(&snapshot->pickle, wo__draft_field(draft, WO_KEY_MAX_SPLIT_SIZE), &split))
    settings->max_split_bytes = split < 0 || split == INT64_MAX ? WO_SPLIT_UNLIMITED : (uint64_t)split;
  double threshold = 0;
  if (wo_pickle_double(&snapshot->pickle, wo__draft_field(draft, WO_KEY_GC_THRESHOLD), &threshold) && threshold > 0 &&
      threshold < 1)
    settings->garbage_collection_threshold = threshold;
  settings->expandable_segments = wo_value_kind(wo__draft_field(draft, WO_KEY_EXPANDABLE_SEGMENTS)) == WO_VALUE_TRUE;
  settings->graph_capture_record_stream_reuse = wo_value_kind(wo__draft_field(draft, WO_KEY_CAPTURE_REUSE)) == WO_VALUE_TRUE;
  if (wo_value_kind(wo__draft_field(draft, WO_KEY_ROUNDUP)) == WO_VALUE_ROUNDUP) {
    for (int i = 0; i < WO_ROUNDUP_SLOTS; i++) settings->roundup_divisions[i] = snapshot->roundup_divisions[i];
  }
  const enum wo_word names[] = {WO_KEY_ALLOC_CONF, WO_KEY_ALLOC_CONF_NEW};
  for (int i = 0; i < 2; i++) {
    const struct wo_pickle_value text = wo__draft_field(draft, names[i]);
    if (wo_value_kind(text) == WO_VALUE_TEXT) recording->settings_text = snapshot->intern.texts.items[wo_value_index(text)];
  }
}

void wo__snapshot_take_roundup(struct wo_snapshot *snapshot, const struct wo_dict_draft *draft) {
  for (int i = 0; i < WO_ROUNDUP_SLOTS; i++) {
    uint64_t divisions = 0;
    const struct wo_pickle_value value = wo__draft_field(draft, (enum wo_word)(WO_KEY_ROUNDUP_FIRST + i));
    const bool is_good = wo_pickle_u64(&snapshot->pickle, value, &divisions) && divisions <= UINT32_MAX;
    snapshot->roundup_divisions[i] = is_good ? (uint32_t)divisions : 0;
  }
}

/* ---- Version ---- */

/* A key, its place, and the versions that follow if it is there and if it is missing. 0 = none. */
static const struct {
  enum { IN_ENTRIES, IN_SEGMENTS, IN_BLOCKS, IN_WHOLE } place;
  enum wo_word key;
  uint16_t from_with, to_with; /* versions with the key */
  uint16_t to_without;         /* last version that may lack it */
} dated_keys[] = {
    {IN_BLOCKS, WO_KEY_HISTORY, 200, 200, 0},
    {IN_SEGMENTS, WO_KEY_IS_EXPANDABLE, 201, 0, 200},
    {IN_ENTRIES, WO_KEY_TIME_US, 202, 0, 201},
    {IN_WHOLE, WO_KEY_ALLOCATOR_SETTINGS, 202, 0, 203},
    {IN_WHOLE, WO_KEY_EXTERNAL_ANNOTATIONS, 206, 0, 206},
    {IN_ENTRIES, WO_KEY_COMPILE_CONTEXT, 207, 0, 208},
    {IN_ENTRIES, WO_KEY_USER_METADATA, 210, 0, 210},
    {IN_ENTRIES, WO_KEY_POOL_ID, 211, 0, 211},
};

/* A missing key means something only if there is a place for it: the file must be whole, and have entries. */
void wo__snapshot_date(struct wo_snapshot *snapshot) {
  struct wo_recording *const recording = snapshot->recording;
  const uint64_t places[] = {[IN_ENTRIES] = snapshot->entry_keys,
                             [IN_SEGMENTS] = snapshot->segment_keys,
                             [IN_BLOCKS] = snapshot->block_keys,
                             [IN_WHOLE] = recording->is_truncated ? 0 : snapshot->snapshot_keys};
  uint16_t from = WO_TORCH_OLDEST;
  uint16_t to = UINT16_MAX;
  for (size_t i = 0; i < sizeof dated_keys / sizeof dated_keys[0]; i++) {
    const uint64_t keys = places[dated_keys[i].place];
    const bool is_there = (keys & wo__key_bit(dated_keys[i].key)) != 0;
    const uint16_t limit = is_there ? dated_keys[i].to_with : dated_keys[i].to_without;
    if (is_there && dated_keys[i].from_with > from) from = dated_keys[i].from_with;
    if (keys != 0 && limit != 0 && limit < to) to = limit;
  }
  if (from > to) {
    wo_recording_note(recording, "the file mixes the keys of several versions of torch: none can be told");
    return;
  }
  recording->torch_from = from == WO_TORCH_OLDEST ? 0 : from;
  recording->torch_to = to == UINT16_MAX ? 0 : to;
}

/* ---- Settings that only the string states ---- */

/* Snapshots state most settings as numbers, which count; only the string states the segment size, the non-split rounding and the
 * backend. It is read with the newest version that fits, which knows the most keys. */
void wo__snapshot_read_text(struct wo_snapshot *snapshot) {
  struct wo_recording *const recording = snapshot->recording;
  struct wo_alloc_settings *const settings = &recording->settings;
  const struct wo_view text = recording->settings_text;
  const uint16_t torch = recording->torch_to == 0 ? WO_TORCH_NEWEST : recording->torch_to;
  struct wo_alloc_settings read = wo_alloc_settings_default(torch);
  struct wo_err err = {0};
  if (text.len == 0) return;
  if (wo_alloc_settings_parse(text, torch, &read, &err) != WO_OK) {
    wo_recording_note(recording,
                      "the recorded settings '%.*s' cannot be read (%s): only what the snapshot states apart from them counts",
                      (int)(text.len < 120 ? text.len : 120), text.ptr, err.message);
    return;
  }
  settings->max_non_split_rounding_bytes = read.max_non_split_rounding_bytes;
  settings->large_segment_bytes = read.large_segment_bytes;
  settings->memory_fraction = read.memory_fraction;
  settings->throw_on_cudamalloc_oom = read.throw_on_cudamalloc_oom;
  settings->is_native = read.is_native;
}
