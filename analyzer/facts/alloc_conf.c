/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of PyTorch's allocator, "key:value,key:value": each part is a setting of its own, but only if it comes from
 * the configuration that counts. A misspelt key is an error in PyTorch from 1.12 on, and has no effect where the whole variable
 * is not read. */
#include "analyzer/facts/facts_internal.h"

/* Keys of PyTorch 1.10 to 2.12, CUDA and HIP. */
static const char *const known_keys[] = {"max_split_size_mb",
                                         "garbage_collection_threshold",
                                         "roundup_power2_divisions",
                                         "roundup_bypass_threshold_mb",
                                         "backend",
                                         "expandable_segments",
                                         "release_lock_on_cudamalloc",
                                         "release_lock_on_hipmalloc",
                                         "pinned_use_cuda_host_register",
                                         "pinned_use_hip_host_register",
                                         "pinned_num_register_threads",
                                         "pinned_use_background_threads",
                                         "pinned_reserve_segment_size_mb",
                                         "graph_capture_record_stream_reuse",
                                         "max_non_split_rounding_mb",
                                         "per_process_memory_fraction",
                                         "large_segment_size_mb",
                                         "throw_on_cudamalloc_oom"};

static bool is_known(struct wo_view key) {
  return WO_VIEW_ANY(key, wo_view_is, known_keys);
}

/* The next key of the configuration, cut from *rest with its value. A list in brackets contains commas and colons too. */
static struct wo_view next_key(struct wo_view *rest) {
  const struct wo_view key = wo_view_trim(wo_view_sub(*rest, 0, wo_view_find_char(*rest, ':', 0)));
  const size_t open = wo_view_find_char(*rest, '[', 0);
  const size_t comma = wo_view_find_char(*rest, ',', 0);
  size_t from = 0;
  if (open != WO_NOT_FOUND && open < comma) from = wo_view_find_char(*rest, ']', open);
  const size_t end = from == WO_NOT_FOUND ? WO_NOT_FOUND : wo_view_find_char(*rest, ',', from);
  *rest = end == WO_NOT_FOUND ? (struct wo_view){0} : wo_view_skip(*rest, end + 1);
  return key;
}

/* Whether this can be a key. Other texts are no configuration, but for example a variable of a script. */
static bool is_key(struct wo_view key) {
  for (size_t i = 0; i < key.len; i++) {
    if (!wo_is_word(key.ptr[i])) return false;
  }
  return key.len > 0;
}

static void tell_unknown_keys(struct wo_facts *facts, const struct wo_setting *conf) {
  struct wo_view rest = conf->value.text;
  struct wo_view unknown = {0};
  if (wo_view_find_char(rest, ':', 0) == WO_NOT_FOUND) return;
  while (rest.len > 0) {
    const struct wo_view key = next_key(&rest);
    if (!is_key(key) || is_known(key)) continue;
    const char *comma = unknown.len > 0 ? "," : "";
    unknown = wo_arena_format(facts->arena, "%.*s%s%.*s", WO_SHOWN(unknown), comma, WO_SHOWN(key));
    if (unknown.ptr == NULL) return;
  }
  wo__set_text(facts, "alloc.unknown_keys", unknown, conf->event->id);
}

/* Whether the setting comes from a configuration of the allocator other than the chosen one. */
static bool is_of_another(const struct wo_setting *part, const struct wo_setting *conf) {
  const struct wo_view key = wo_event_text(part->event, WO_FIELD_KEY);
  const bool is_part =
      wo_view_has(part->event->text, "_ALLOC_CONF") && wo_view_is(wo_event_text(part->event, WO_FIELD_STYLE), "colon");
  return is_part && wo_view_find(conf->value.text, key, 0) == WO_NOT_FOUND;
}

void wo__facts_alloc_conf(struct wo_facts *facts) {
  const struct wo_setting *const conf = wo_facts_setting(facts, WO_VIEW("alloc_conf"));
  if (conf == NULL || conf->value.unit != WO_UNIT_TEXT) return;
  for (size_t i = 0; i < facts->setting_count; i++) {
    struct wo_setting *const part = &facts->settings[i];
    if (part == conf || part->event == NULL || !is_of_another(part, conf)) continue;
    *part = (struct wo_setting){.knob = part->knob, .value = wo_value_unknown(part->knob->unit)};
  }
  tell_unknown_keys(facts, conf);
}
