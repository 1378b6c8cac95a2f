/* SPDX-License-Identifier: Apache-2.0 */
/* Containers of a snapshot while they are read: dicts collect the relevant fields, lists become ranges of stores. */
#include "cuda_replay/recording/snapshot/snapshot_internal.h"

#include <assert.h>

#include "parsers/base/limits.h"
#include "parsers/base/vec.h"

/* ---- Drafts ---- */

/* Drafts are nearly always given back in the reverse order of their making: free ones at the end are removed. */
static void free_list(struct wo_snapshot *snapshot, uint32_t index) {
  snapshot->lists.items[index].is_free = true;
  while (snapshot->lists.count > 0 && snapshot->lists.items[snapshot->lists.count - 1].is_free) snapshot->lists.count--;
}

static void free_dict(struct wo_snapshot *snapshot, uint32_t index) {
  snapshot->dicts.items[index].is_free = true;
  while (snapshot->dicts.count > 0 && snapshot->dicts.items[snapshot->dicts.count - 1].is_free) snapshot->dicts.count--;
}

/* Pointers to drafts hold only until the next one is made. */
static struct wo_list_draft *list_of(const struct wo_snapshot *snapshot, struct wo_pickle_value value) {
  assert(wo_value_kind(value) == WO_VALUE_LIST && wo_value_index(value) < snapshot->lists.count);
  assert(!snapshot->lists.items[wo_value_index(value)].is_free);
  return &snapshot->lists.items[wo_value_index(value)];
}

static struct wo_dict_draft *dict_of(const struct wo_snapshot *snapshot, struct wo_pickle_value value) {
  assert(wo_value_kind(value) == WO_VALUE_DICT && wo_value_index(value) < snapshot->dicts.count);
  assert(!snapshot->dicts.items[wo_value_index(value)].is_free);
  return &snapshot->dicts.items[wo_value_index(value)];
}

/* Makes room for one more draft. */
#define RESERVE_DRAFT(snapshot, drafts)                                                                                          \
  WO_PICKLE_RESERVE(&(snapshot)->pickle, (drafts), 1, WO_LIMIT_PICKLE_OPEN, "holds too many containers that belong nowhere")

/* Makes a draft of a NEW_LIST. */
static enum wo_status open_list(struct wo_snapshot *snapshot, struct wo_pickle_value *list, enum wo_value_kind kind) {
  const enum wo_status status = RESERVE_DRAFT(snapshot, &snapshot->lists);
  if (status != WO_OK) return status;
  const uint32_t next_slot = wo_value_index(*list);
  const struct wo_pickle_value opened = wo_value(WO_VALUE_LIST, snapshot->lists.count);
  snapshot->lists.items[snapshot->lists.count++] = (struct wo_list_draft){.next_slot = next_slot, .kind = kind};
  wo_pickle_patch_memo(&snapshot->pickle, next_slot, *list, opened);
  *list = opened;
  return WO_OK;
}

/* The fields are not cleared: there are many. */
static void begin_dict(struct wo_dict_draft *draft, uint32_t next_slot) {
  draft->mask = draft->list_mask = 0;
  draft->next_slot = next_slot;
  draft->is_free = false;
}

/* Makes a draft of a NEW_DICT. */
static enum wo_status open_dict(struct wo_snapshot *snapshot, struct wo_pickle_value *dict) {
  const enum wo_status status = RESERVE_DRAFT(snapshot, &snapshot->dicts);
  if (status != WO_OK) return status;
  const uint32_t next_slot = wo_value_index(*dict);
  const struct wo_pickle_value opened = wo_value(WO_VALUE_DICT, snapshot->dicts.count);
  begin_dict(&snapshot->dicts.items[snapshot->dicts.count++], next_slot);
  wo_pickle_patch_memo(&snapshot->pickle, next_slot, *dict, opened);
  *dict = opened;
  return WO_OK;
}

/* Gives a draft back; the memo slot that refers to it becomes `now`. */
static void close_list(struct wo_snapshot *snapshot, struct wo_pickle_value list, struct wo_pickle_value now) {
  wo_pickle_patch_memo(&snapshot->pickle, list_of(snapshot, list)->next_slot, list, now);
  free_list(snapshot, wo_value_index(list));
}

/* Lists that no record took are dropped with their dict. */
static void end_dict(struct wo_snapshot *snapshot, const struct wo_dict_draft *draft, struct wo_pickle_value dict,
                     struct wo_pickle_value now) {
  for (uint64_t left = draft->list_mask; left != 0; left &= left - 1) {
    close_list(snapshot, draft->fields[__builtin_ctzll(left)], wo_value(WO_VALUE_OPAQUE, 0));
  }
  wo_pickle_patch_memo(&snapshot->pickle, draft->next_slot, dict, now);
}

static void close_dict(struct wo_snapshot *snapshot, struct wo_pickle_value dict, struct wo_pickle_value now) {
  end_dict(snapshot, dict_of(snapshot, dict), dict, now);
  free_dict(snapshot, wo_value_index(dict));
}

static void drop(void *context, struct wo_pickle_value value) {
  struct wo_snapshot *const snapshot = context;
  if (wo_value_kind(value) == WO_VALUE_LIST) close_list(snapshot, value, wo_value(WO_VALUE_OPAQUE, 0));
  if (wo_value_kind(value) == WO_VALUE_DICT) close_dict(snapshot, value, wo_value(WO_VALUE_OPAQUE, 0));
}

static uint32_t *next_slot(void *context, struct wo_pickle_value open) {
  struct wo_snapshot *const snapshot = context;
  const bool is_list = wo_value_kind(open) == WO_VALUE_LIST;
  return is_list ? &list_of(snapshot, open)->next_slot : &dict_of(snapshot, open)->next_slot;
}

/* ---- Completing ---- */

/* Makes the stack of a list of frames. The list may be attached, and so completed, after it was shared. */
static enum wo_status seal_frames(struct wo_snapshot *snapshot, struct wo_list_draft *draft, struct wo_pickle_value *ret_stack) {
  if (draft->next_stack == 0) {
    uint32_t stack = 0;
    const enum wo_status status = wo_intern_stack(&snapshot->intern, draft->range.first, draft->range.count, &stack);
    if (status != WO_OK) return status;
    draft->next_stack = stack + 1;
  }
  *ret_stack = wo_value(WO_VALUE_STACK, draft->next_stack - 1);
  return WO_OK;
}

/* Real files share lists of frames before they are attached: a segment's stack is also that of its first block. Any other
 * reference to an open container is one from inside itself. */
static enum wo_status share(void *context, struct wo_pickle_value open, struct wo_pickle_value *ret_value) {
  struct wo_snapshot *const snapshot = context;
  *ret_value = wo_value(WO_VALUE_OPAQUE, 0);
  if (wo_value_kind(open) != WO_VALUE_LIST) return WO_OK;
  struct wo_list_draft *const draft = list_of(snapshot, open);
  return draft->kind == WO_VALUE_FRAME ? seal_frames(snapshot, draft, ret_value) : WO_OK;
}

enum wo_status wo__snapshot_settle(struct wo_snapshot *snapshot, struct wo_pickle_value *value) {
  struct wo_pickle_value now = {0};
  enum wo_status status = WO_OK;
  if (wo_value_kind(*value) == WO_VALUE_DICT) {
    status = wo__snapshot_record(snapshot, dict_of(snapshot, *value), &now);
    if (status == WO_OK) close_dict(snapshot, *value, now);
  } else if (wo_value_kind(*value) == WO_VALUE_LIST && list_of(snapshot, *value)->kind == WO_VALUE_FRAME) {
    status = seal_frames(snapshot, list_of(snapshot, *value), &now);
    if (status == WO_OK) close_list(snapshot, *value, now);
  } else {
    return WO_OK;
  }
  if (status == WO_OK) *value = now;
  return status;
}

struct wo_record_range wo__snapshot_take_list(struct wo_snapshot *snapshot, struct wo_pickle_value value,
                                              enum wo_value_kind kind) {
  if (wo_value_kind(value) != WO_VALUE_LIST || list_of(snapshot, value)->kind != kind) return (struct wo_record_range){0};
  return list_of(snapshot, value)->range;
}

/* ---- Filling dicts ---- */

/* The field of a key, or WO_KEY_COUNT_ if it has none. */
static uint32_t field_of(struct wo_pickle_value key) {
  const bool is_known = wo_value_kind(key) == WO_VALUE_TEXT && wo_value_payload(key) < WO_KEY_COUNT_;
  return is_known ? wo_value_index(key) : WO_KEY_COUNT_;
}

/* Sets a field to a container, or one that holds a list. The values of unknown keys are thrown away. */
static enum wo_status set_field(struct wo_snapshot *snapshot, struct wo_dict_draft *draft, uint32_t field,
                                struct wo_pickle_value value) {
  const enum wo_status status = wo__snapshot_settle(snapshot, &value);
  if (status != WO_OK) return status;
  if (field == WO_KEY_COUNT_) {
    drop(snapshot, value);
    return WO_OK;
  }
  const uint64_t bit = UINT64_C(1) << field;
  if ((draft->list_mask & bit) != 0) drop(snapshot, draft->fields[field]);
  draft->fields[field] = value;
  draft->mask |= bit;
  draft->list_mask = wo_value_kind(value) == WO_VALUE_LIST ? draft->list_mask | bit : draft->list_mask & ~bit;
  return WO_OK;
}

/* Most fields are numbers and texts, which need no further step. */
static enum wo_status set_fields(struct wo_snapshot *snapshot, struct wo_dict_draft *draft, const struct wo_pickle_value *pairs,
                                 size_t pair_count) {
  enum wo_status status = WO_OK;
  for (const struct wo_pickle_value *const end = pairs + 2 * pair_count; pairs < end && status == WO_OK; pairs += 2) {
    const uint32_t field = field_of(pairs[0]);
    if (field == WO_KEY_COUNT_ || wo_value_is_open(pairs[1]) || (draft->list_mask >> field & 1) != 0) {
      status = set_field(snapshot, draft, field, pairs[1]);
    } else {
      draft->fields[field] = pairs[1];
      draft->mask |= UINT64_C(1) << field;
    }
  }
  return status;
}

/* Makes the record of a dict whose pairs all come at once: its draft ends here. */
static enum wo_status set_whole(struct wo_snapshot *snapshot, struct wo_pickle_value *dict, const struct wo_pickle_value *pairs,
                                size_t pair_count) {
  struct wo_dict_draft draft;
  struct wo_pickle_value now = {0};
  begin_dict(&draft, wo_value_index(*dict));
  enum wo_status status = set_fields(snapshot, &draft, pairs, pair_count);
  if (status == WO_OK) status = wo__snapshot_record(snapshot, &draft, &now);
  if (status != WO_OK) return status;
  end_dict(snapshot, &draft, *dict, now);
  *dict = now;
  return WO_OK;
}

static enum wo_status set(void *context, struct wo_pickle_value *dict, const struct wo_pickle_value *pairs, size_t pair_count,
                          bool is_whole) {
  struct wo_snapshot *const snapshot = context;
  const bool is_new = wo_value_kind(*dict) == WO_VALUE_NEW_DICT;
  if (is_new && is_whole) return set_whole(snapshot, dict, pairs, pair_count);
  enum wo_status status = is_new ? open_dict(snapshot, dict) : WO_OK;
  if (status == WO_OK) status = set_fields(snapshot, dict_of(snapshot, *dict), pairs, pair_count);
  return status == WO_OK && is_whole ? wo__snapshot_settle(snapshot, dict) : status;
}

/* ---- Filling lists ---- */

/* Whether the next member of a list is the next record of its store: then it joins the range. Shared records, and records made
 * for another list in between, do not. */
static bool extend(struct wo_list_draft *draft, uint32_t index) {
  assert(draft->range.count < UINT32_MAX);
  if (draft->range.count == 0) draft->range.first = index;
  if (draft->range.first + draft->range.count != index) return false;
  draft->range.count++;
  return true;
}

/* Most of a file is frames: they come in runs, and go directly to the end of the recording's array. */
static enum wo_status append_frames(struct wo_snapshot *snapshot, struct wo_pickle_value *list,
                                    const struct wo_pickle_value *frames, size_t count) {
  struct wo_recording *const recording = snapshot->recording;
  enum wo_status status = wo_value_kind(*list) == WO_VALUE_NEW_LIST ? open_list(snapshot, list, WO_VALUE_FRAME) : WO_OK;
  if (status != WO_OK) return status;
  struct wo_list_draft *const draft = list_of(snapshot, *list);
  if (draft->range.count == 0) draft->range.first = (uint32_t)recording->stack_frames.count;
  const bool is_next = (size_t)draft->range.first + draft->range.count == recording->stack_frames.count;
  if (draft->kind != WO_VALUE_FRAME || draft->next_stack != 0 || !is_next) {
    wo__snapshot_skip(snapshot, "a frame stands where no frame belongs");
    return WO_OK;
  }
  status = WO_PICKLE_RESERVE(&snapshot->pickle, &recording->stack_frames, count, WO_LIMIT_TRACE_STACK_FRAMES,
                             "holds more distinct stacks than fit");
  if (status != WO_OK) return status;
  uint32_t *const out = recording->stack_frames.items + recording->stack_frames.count;
  for (size_t i = 0; i < count; i++) out[i] = wo_value_index(frames[i]);
  recording->stack_frames.count += count;
  draft->range.count += (uint32_t)count;
  return WO_OK;
}

/* Adds the range of a list within a list, as a record. */
static enum wo_status add_range(struct wo_snapshot *snapshot, struct wo_pickle_value inner, uint32_t *ret_index) {
  if (!WO_VEC_RESERVE(&snapshot->traces, 1, UINT32_MAX)) return WO_E_NOMEM;
  *ret_index = (uint32_t)snapshot->traces.count;
  snapshot->traces.items[snapshot->traces.count++] = wo__snapshot_take_list(snapshot, inner, WO_VALUE_ENTRY);
  drop(snapshot, inner);
  return WO_OK;
}

/* Whether a kind has a store. */
static bool is_record(enum wo_value_kind kind) {
  return kind == WO_VALUE_ENTRY || kind == WO_VALUE_BLOCK || kind == WO_VALUE_SEGMENT || kind == WO_VALUE_HISTORY ||
         kind == WO_VALUE_ANNOTATION;
}

/* Values that are no records have no meaning in a list. */
static enum wo_status append_one(struct wo_snapshot *snapshot, struct wo_pickle_value *list, struct wo_pickle_value item) {
  enum wo_status status = wo_value_is_open(item) ? wo__snapshot_settle(snapshot, &item) : WO_OK;
  if (status != WO_OK) return status;
  enum wo_value_kind kind = wo_value_kind(item);
  if (kind == WO_VALUE_FRAME) return append_frames(snapshot, list, &item, 1);
  if (kind == WO_VALUE_NEW_LIST) kind = WO_VALUE_LIST; /* a device that recorded nothing */
  if (!is_record(kind) && kind != WO_VALUE_LIST) return WO_OK;
  if (wo_value_kind(*list) == WO_VALUE_NEW_LIST) status = open_list(snapshot, list, kind);
  uint32_t index = 0;
  if (status == WO_OK && kind == WO_VALUE_LIST) {
    status = add_range(snapshot, item, &index);
  } else if (status == WO_OK) {
    index = wo_value_index(item);
  }
  if (status != WO_OK) return status;
  struct wo_list_draft *const draft = list_of(snapshot, *list);
  if (draft->kind != kind || !extend(draft, index)) wo__snapshot_skip(snapshot, "a member of a list stands out of its order");
  return WO_OK;
}

static enum wo_status append(void *context, struct wo_pickle_value *list, const struct wo_pickle_value *items, size_t count) {
  struct wo_snapshot *const snapshot = context;
  enum wo_status status = WO_OK;
  for (size_t i = 0; i < count && status == WO_OK;) {
    size_t frames = 0;
    while (i + frames < count && wo_value_kind(items[i + frames]) == WO_VALUE_FRAME) frames++;
    status = frames > 0 ? append_frames(snapshot, list, items + i, frames) : append_one(snapshot, list, items[i]);
    i += frames > 0 ? frames : 1;
  }
  return status;
}

struct wo_pickle_builder wo__snapshot_builder(struct wo_snapshot *snapshot) {
  return (struct wo_pickle_builder){snapshot, set, append, share, drop, next_slot};
}
