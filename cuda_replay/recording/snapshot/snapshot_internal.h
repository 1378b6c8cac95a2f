/* SPDX-License-Identifier: Apache-2.0 */
/* The state of reading one snapshot, shared by the files snapshot*.c.
 *
 * Dicts become records as soon as they are complete; each sort of record has one store, and a list of records is a range of its
 * store: pickles write the members of a list one after the other. Drafts are containers that are not complete yet, a few at a
 * time. */
#ifndef WO_SNAPSHOT_INTERNAL_H
#define WO_SNAPSHOT_INTERNAL_H

#include "cuda_replay/recording/snapshot/pickle.h"
#include "cuda_replay/recording/trace.h"
#include "cuda_replay/recording/trace_intern.h"
#include "parsers/base/vec.h"

/* Texts; they are interned first, so that these numbers are their indices. Names of recorded actions follow. */
enum wo_word {
#define WO_KEY(id, text) WO_KEY_##id,
#define WO_WORD(id, text)
#include "cuda_replay/recording/snapshot/snapshot_words.def"
#undef WO_KEY
#undef WO_WORD
  WO_KEY_COUNT_,
  WO_WORD_BEFORE_FIRST_ = WO_KEY_COUNT_ - 1,
#define WO_KEY(id, text)
#define WO_WORD(id, text) WO_WORD_##id,
#include "cuda_replay/recording/snapshot/snapshot_words.def"
#undef WO_KEY
#undef WO_WORD
  WO_WORD_COUNT_
};

/* A block's address until the segment is known, if the file does not state it. */
#define WO_BLOCK_ADDRESS_OPEN UINT64_MAX

/* A range of a store. */
struct wo_record_range {
  uint32_t first;
  uint32_t count;
};

/* A dict being filled. Fields without their bit in `mask` are not set. */
struct wo_dict_draft {
  uint64_t mask;      /* of keys */
  uint64_t list_mask; /* of fields that are open lists */
  uint32_t next_slot; /* of the memo */
  bool is_free;
  struct wo_pickle_value fields[WO_KEY_COUNT_];
};

/* A list of records of one kind (FRAME, ENTRY, ..., and LIST for the list of traces). */
struct wo_list_draft {
  struct wo_record_range range;
  uint32_t next_slot;  /* of the memo */
  uint32_t next_stack; /* stack + 1 once a list of frames was shared before it was attached */
  enum wo_value_kind kind;
  bool is_free;
};

/* A segment as in the file; first_block and block_count are a range of wo_snapshot.blocks. */
struct wo_segment_record {
  struct wo_trace_segment segment;
  int64_t device;
  uint32_t index;   /* in the file's list */
  const char *flaw; /* why it cannot be used, or NULL */
};

/* What the program said about an entry of the store. */
struct wo_metadata_record {
  uint32_t entry;
  uint32_t text; /* interned */
};

/* An earlier life of a block: torch 2.0. */
struct wo_history_record {
  uint64_t real_bytes;
  uint32_t stack;
};

struct wo_snapshot {
  struct wo_recording *recording;
  struct wo_intern intern;
  struct wo_pickle pickle;
  enum wo_action actions[WO_ACTION_COUNT_]; /* actions of the texts from WO_WORD_COUNT_ on */
  uint32_t action_count;
  WO_VEC(struct wo_dict_draft) dicts;
  WO_VEC(struct wo_list_draft) lists;
  WO_VEC(struct wo_trace_entry) entries;
  WO_VEC(struct wo_metadata_record) metadata; /* of entries, in their order */
  WO_VEC(struct wo_trace_block) blocks;
  WO_VEC(struct wo_segment_record) segments;
  WO_VEC(struct wo_history_record) histories;
  WO_VEC(struct wo_record_range) traces; /* of entries: members of lists of lists */
  uint32_t roundup_divisions[WO_ROUNDUP_SLOTS];
  /* The parts of the outermost value, once it is known. */
  bool is_found;
  bool has_segments;
  struct wo_record_range found_segments; /* of segments */
  struct wo_record_range found_traces;   /* of traces */
  /* Keys that were seen in entries, in segments, in blocks and in the whole: they show the version of torch. */
  uint64_t entry_keys, segment_keys, block_keys, snapshot_keys;
  uint64_t skipped_count; /* things that were left out */
  uint64_t unknown_action_count;
};

/* ---- snapshot_build.c: containers ---- */

/* The builder of wo_snapshot for wo_pickle. */
struct wo_pickle_builder wo__snapshot_builder(struct wo_snapshot *snapshot);

/* Completes a value that may be open: a dict becomes its record, a list of frames a stack. Other values stay. */
enum wo_status wo__snapshot_settle(struct wo_snapshot *snapshot, struct wo_pickle_value *value);

/* Takes the range out of a list of records of a kind; the list is used up. Empty if the value is no such list. */
struct wo_record_range wo__snapshot_take_list(struct wo_snapshot *snapshot, struct wo_pickle_value value,
                                              enum wo_value_kind kind);

/* ---- snapshot_records.c: from dicts to records ---- */

/* Makes the record of a dict and adds it to its store. WO_E_NOMEM, WO_E_LIMIT. */
enum wo_status wo__snapshot_record(struct wo_snapshot *snapshot, struct wo_dict_draft *draft, struct wo_pickle_value *ret_value);

/* Interns the words. WO_E_NOMEM. */
enum wo_status wo__snapshot_learn_words(struct wo_snapshot *snapshot);

/* Reports that something is left out: with a note for the first few, by count for the others. `what` is a clause ("an entry has a
 * negative size"). */
void wo__snapshot_skip(struct wo_snapshot *snapshot, const char *what);

/* The field of a draft; UNSET if it is missing. */
static inline struct wo_pickle_value wo__draft_field(const struct wo_dict_draft *draft, enum wo_word key) {
  assert((unsigned)key < WO_KEY_COUNT_);
  return (draft->mask >> key & 1) != 0 ? draft->fields[key] : wo_value(WO_VALUE_UNSET, 0);
}

static inline uint64_t wo__key_bit(enum wo_word key) {
  return UINT64_C(1) << key;
}

/* ---- snapshot_settings.c ---- */

/* Takes the settings out of a dict of them / its roundup dict. */
void wo__snapshot_take_settings(struct wo_snapshot *snapshot, const struct wo_dict_draft *draft);
void wo__snapshot_take_roundup(struct wo_snapshot *snapshot, const struct wo_dict_draft *draft);

/* Sets torch_from and torch_to by the keys that were seen. */
void wo__snapshot_date(struct wo_snapshot *snapshot);

/* Adds the settings that only their string states, once the version is known. Adds a note if the string cannot be read. */
void wo__snapshot_read_text(struct wo_snapshot *snapshot);

/* ---- snapshot_segments.c ---- */

/* Checks the found segments and gives them to the traces of their devices, in order. WO_E_NOMEM. */
enum wo_status wo__snapshot_place_segments(struct wo_snapshot *snapshot);

#endif
