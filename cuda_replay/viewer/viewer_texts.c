/* SPDX-License-Identifier: Apache-2.0 */
/* The names in the page: each function and each file once. See viewer_internal.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_replay/viewer/viewer_internal.h"

/* A name of a frame, to be sorted. */
struct name {
  struct wo_view text;
  uint32_t place; /* in viewer->frames */
  bool is_file;
};

/* Frames in the order of the tree. */
static bool number_frames(struct wo__viewer *viewer) {
  const size_t count = viewer->look->lives.recording->frames.count;
  if (viewer->frame_place == NULL) viewer->frame_place = malloc((count + 1) * sizeof *viewer->frame_place);
  if (viewer->frame_place == NULL) return false;
  memset(viewer->frame_place, 0xff, (count + 1) * sizeof *viewer->frame_place);
  viewer->frames.count = 0;
  for (size_t i = 0; i < viewer->nodes.count; i++) {
    const uint32_t frame = viewer->nodes.items[i].frame;
    if (viewer->frame_place[frame] != UINT32_MAX) continue;
    if (!WO_VEC_RESERVE(&viewer->frames, 1, UINT32_MAX)) return false;
    viewer->frame_place[frame] = (uint32_t)viewer->frames.count;
    viewer->frames.items[viewer->frames.count++] = (struct wo__viewer_frame){.frame = frame};
  }
  return true;
}

static int compare(const void *left, const void *right) {
  const struct name *const a = left;
  const struct name *const b = right;
  if (a->is_file != b->is_file) return a->is_file ? 1 : -1;
  const size_t len = a->text.len < b->text.len ? a->text.len : b->text.len;
  const int order = len > 0 ? memcmp(a->text.ptr, b->text.ptr, len) : 0;
  if (order != 0) return order;
  return a->text.len < b->text.len ? -1 : a->text.len > b->text.len;
}

/* Bytes of a text in the page at most, with its escapes (viewer_code.h), quotes and comma. */
static size_t bytes_of(const struct name *name) {
  const size_t most = name->is_file ? WO__VIEWER_FILE_CHARS : WO__VIEWER_FUNCTION_CHARS;
  const size_t from = name->is_file && name->text.len > most ? name->text.len - most : 0;
  size_t bytes = 6;
  for (size_t i = from; i < name->text.len && i - from < most; i++) {
    const unsigned char c = (unsigned char)name->text.ptr[i];
    bytes += c == '<' || c == '>' || c == '&' || c == '\'' ? 6 : c >= 0x80 ? 4 : c == '"' || c == '\\' ? 2 : 1;
  }
  return bytes;
}

static bool number_texts(struct wo__viewer *viewer, struct name *names, size_t count, size_t *ret_bytes) {
  viewer->texts.count = 0;
  *ret_bytes = 0;
  for (size_t i = 0; i < count; i++) {
    if (i == 0 || compare(&names[i], &names[i - 1]) != 0) {
      if (!WO_VEC_RESERVE(&viewer->texts, 1, UINT32_MAX)) return false;
      viewer->texts.items[viewer->texts.count++] = (struct wo__viewer_text){names[i].text, names[i].is_file};
      *ret_bytes += bytes_of(&names[i]);
    }
    struct wo__viewer_frame *const frame = &viewer->frames.items[names[i].place];
    *(names[i].is_file ? &frame->file : &frame->function) = (uint32_t)(viewer->texts.count - 1);
  }
  return true;
}

bool wo__viewer_texts(struct wo__viewer *viewer, bool *ret_fits) {
  size_t bytes = 0;
  if (!number_frames(viewer)) return false;
  const size_t count = viewer->frames.count;
  struct name *const names = malloc((2 * count + 1) * sizeof *names);
  if (names == NULL) return false;
  for (size_t i = 0; i < count; i++) {
    const struct wo_frame *const frame = &viewer->look->lives.recording->frames.items[viewer->frames.items[i].frame];
    names[2 * i] = (struct name){frame->function, (uint32_t)i, false};
    names[2 * i + 1] = (struct name){frame->file, (uint32_t)i, true};
  }
  if (count > 0) qsort(names, 2 * count, sizeof *names, compare);
  const bool is_whole = number_texts(viewer, names, 2 * count, &bytes);
  *ret_fits = bytes <= WO_LIMIT_VIEWER_TEXT_BYTES;
  free(names);
  return is_whole;
}
