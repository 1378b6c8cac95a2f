/* SPDX-License-Identifier: Apache-2.0 */
/* Names out of recordings. See trace_anonymous.h. */
#include "cuda_replay/recording/trace_anonymous.h"

#include "parsers/base/text.h"

/* Frames of one file come one after the other, and share its text. */
static void rewrite_frames(struct wo_recording *recording, struct wo_pseudonyms *p) {
  struct wo_view before = {0}, after = {0};
  for (size_t i = 0; i < recording->frames.count; i++) {
    struct wo_frame *const frame = &recording->frames.items[i];
    if (frame->file.ptr != before.ptr || frame->file.len != before.len) {
      before = frame->file;
      after = wo_pseudonyms_path(p, frame->file, &recording->arena);
    }
    frame->file = after;
    frame->function = wo_pseudonyms_words(p, frame->function, &recording->arena);
  }
}

/* A program says anything about its allocations. Of equal neighbours, which share their text, only the first is rewritten. */
static void rewrite_metadata(struct wo_recording *recording, struct wo_trace *trace, struct wo_pseudonyms *p) {
  struct wo_view before = {0}, after = {0};
  for (size_t i = 0; i < trace->metadata.count; i++) {
    struct wo_view *const text = &trace->metadata.items[i].text;
    if (text->ptr != before.ptr || text->len != before.len) {
      before = *text;
      after = wo_pseudonyms_text(p, *text, &recording->arena);
    }
    *text = after;
  }
}

static void learn_metadata(const struct wo_trace *trace, struct wo_pseudonyms *p) {
  struct wo_view before = {0};
  for (size_t i = 0; i < trace->metadata.count; i++) {
    const struct wo_view text = trace->metadata.items[i].text;
    if (text.ptr != before.ptr || text.len != before.len) wo_pseudonyms_learn_text(p, text);
    before = text;
  }
}

void wo_recording_learn(const struct wo_recording *recording, struct wo_pseudonyms *p) {
  struct wo_view before = {0};
  if (!p) return;
  for (size_t i = 0; i < recording->traces.count; i++) learn_metadata(&recording->traces.items[i], p);
  for (size_t i = 0; i < recording->notes.count; i++) wo_pseudonyms_learn_text(p, recording->notes.items[i]);
  for (size_t i = 0; i < recording->annotations.count; i++) wo_pseudonyms_learn_text(p, recording->annotations.items[i].name);
  for (size_t i = 0; i < recording->frames.count; i++) {
    const struct wo_view file = recording->frames.items[i].file;
    if (file.ptr != before.ptr || file.len != before.len) wo_pseudonyms_learn_path(p, file);
    before = file;
  }
}

void wo_recording_anonymize(struct wo_recording *recording, struct wo_pseudonyms *p) {
  if (!p) return;
  wo_recording_learn(recording, p);
  rewrite_frames(recording, p);
  for (size_t i = 0; i < recording->annotations.count; i++) {
    struct wo_annotation *const annotation = &recording->annotations.items[i];
    annotation->name = wo_pseudonyms_text(p, annotation->name, &recording->arena);
  }
  for (size_t i = 0; i < recording->traces.count; i++) rewrite_metadata(recording, &recording->traces.items[i], p);
  for (size_t i = 0; i < recording->notes.count; i++)
    recording->notes.items[i] = wo_pseudonyms_text(p, recording->notes.items[i], &recording->arena);
}
