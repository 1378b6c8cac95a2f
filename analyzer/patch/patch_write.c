/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the changed files: all of them or none. See patch.h. */
#include <assert.h>

#include "analyzer/patch/patch.h"
#include "analyzer/patch/patch_internal.h"
#include "parsers/base/command/message.h"
#include "parsers/base/output_file.h"

/* One file on its way. */
struct writing {
  const struct wo__patch_change *change;
  struct wo_output_file place;
  struct wo_output_draft after, before; /* the new content, and the old one, to take a change back */
};

/* A file that is given under two names would keep the edits of one of them. */
static enum wo_status check_single(const struct writing *writings, size_t at, struct wo_err *err) {
  for (size_t i = 0; i < at; i++) {
    if (wo_output_is_same(&writings[i].place, &writings[at].place))
      return wo_err_set(err, WO_E_USAGE, "is given twice, under two names: nothing is written");
  }
  return WO_OK;
}

/* Puts both contents on the disk. The old one is only needed where there are several files. */
static enum wo_status prepare(struct writing *writing, bool is_single, struct wo_err *err) {
  const struct wo__patch_change *const change = writing->change;
  enum wo_status status = wo_output_find(change->path, &writing->place, err);
  if (status == WO_OK && !writing->place.is_old) status = wo_err_set(err, WO_E_KIND, "is not a plain file any more");
  if (status == WO_OK) status = wo_output_draft(&writing->place, change->after, true, &writing->after, err);
  if (status == WO_OK && !is_single) status = wo_output_draft(&writing->place, change->before, true, &writing->before, err);
  return status;
}

/* Replaces the files in order. After a failure those before it get their old content back. */
static bool replace(struct writing *writings, size_t count, struct wo_text *errors) {
  struct wo_err err = {0};
  size_t done = 0;
  while (done < count && wo_output_commit(&writings[done].place, &writings[done].after, &err) == WO_OK) done++;
  if (done == count) return true;
  wo_message_error(errors, wo_view_of(writings[done].change->path), &err);
  while (done-- > 0) {
    if (wo_output_commit(&writings[done].place, &writings[done].before, &err) != WO_OK)
      wo_message(errors, wo_view_of(writings[done].change->path), "is changed, although not all files are: %s", err.message);
  }
  return false;
}

/* Everything that can fail comes before the first file is replaced. */
static bool write_all(struct writing *writings, size_t count, struct wo_text *errors) {
  for (size_t i = 0; i < count; i++) {
    struct wo_err err = {0};
    enum wo_status status = prepare(&writings[i], count == 1, &err);
    if (status == WO_OK) status = check_single(writings, i, &err);
    if (status == WO_OK) continue;
    wo_message_error(errors, wo_view_of(writings[i].change->path), &err);
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    struct wo_err err = {0};
    if (wo__patch_check_unchanged(writings[i].change->path, writings[i].change->before, &err) == WO_OK) continue;
    wo_message_error(errors, wo_view_of(writings[i].change->path), &err);
    return false;
  }
  return replace(writings, count, errors);
}

/* A temporary file that stays is no reason to take a change back. */
static void drop(struct wo_output_draft *draft, struct wo_text *errors) {
  if (!wo_output_drop(draft)) wo_message(errors, wo_view_of(draft->path), "cannot be removed: it is not needed any more");
}

bool wo__patch_write(const struct wo__patch_change *changes, size_t count, struct wo_text *errors) {
  assert(count <= WO_PATCH_EDITS_MAX);
  struct writing *const writings = calloc(count + 1, sizeof *writings);
  if (!writings) {
    wo_message(errors, (struct wo_view){0}, "%s", wo_status_text(WO_E_NOMEM));
    return false;
  }
  for (size_t i = 0; i < count; i++) writings[i].change = &changes[i];
  const bool is_done = write_all(writings, count, errors);
  for (size_t i = 0; i < count; i++) {
    drop(&writings[i].after, errors);
    drop(&writings[i].before, errors);
  }
  free(writings);
  return is_done;
}
