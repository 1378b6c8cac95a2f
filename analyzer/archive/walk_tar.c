/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a tar archive to jobs, as those of folders. See walk.h. */
#include <stdlib.h>

#include "analyzer/archive/select.h"
#include "analyzer/archive/walk_internal.h"
#include "analyzer/files/grouping.h"
#include "analyzer/files/names.h"

/* Why a name in the archive is not read; NULL where that is no news: links are passed over in folders too. */
static const char *why_not(const struct wo__walk *walk, const struct wo_tar_member *member) {
  const bool is_wanted = walk->options->include_count > 0 || wo_group_can_join(wo_view_of(member->name));
  switch (member->kind) {
  case WO_ARCHIVE_FILE:
    return wo_name_is_archive(wo_view_of(member->name)) ? "is an archive in an archive: it is not read" : NULL;
  case WO_ARCHIVE_SPARSE:
    return is_wanted ? "is stored in the archive with its holes left out: it is not read" : NULL;
  case WO_ARCHIVE_HARD_LINK:
    return is_wanted ? "is a second name of another file in the archive (a hard link): it is not read" : NULL;
  case WO_ARCHIVE_LINK:
    return is_wanted && walk->options->follows_links ? "is a link in an archive: it is not followed" : NULL;
  default:
    return "is a FIFO or a device, not a file: it is not read";
  }
}

static void report_member(struct wo__walk *walk, const char *why) {
  struct wo_err err = {0};
  wo_err_set(&err, WO_E_KIND, "%s", why);
  wo__walk_report(walk, &err);
}

/* Takes the files that are not left out. */
static void list_members(struct wo__walk *walk, size_t archive_len, bool is_again, struct wo__listed *listed) {
  for (size_t i = 0; i < walk->tar->count && !wo__walk_is_cancelled(walk); i++) {
    const struct wo_tar_member *const member = &walk->tar->items[i];
    if (!wo__walk_enter(walk, archive_len, member->name)) break;
    const enum wo_selected selected = wo_select_member(walk->options, walk->path.ptr, walk->root_len, archive_len);
    if (selected == WO_SELECT_LEFT_OUT && member->kind == WO_ARCHIVE_FILE) walk->counts.left_out++;
    if (selected != WO_SELECTED) continue;
    const char *const why = why_not(walk, member);
    if (why && !is_again) report_member(walk, why);
    if (why || member->kind != WO_ARCHIVE_FILE) continue;
    listed->names[listed->count] = member->name;
    listed->members[listed->count++] = member;
  }
}

enum wo_status wo_walk_archive(const struct wo_tar *tar, const struct wo_walk_options *options, const struct wo_walk_hooks *hooks,
                               const volatile sig_atomic_t *is_cancelled, bool is_again, struct wo_walk_counts *counts) {
  struct wo__walk walk = {
      .options = options, .hooks = hooks, .is_cancelled = is_cancelled, .tar = tar, .counts = *counts, .root_len = tar->root_len};
  struct wo__listed listed = {.names = calloc(tar->count + 1, sizeof *listed.names),
                              .members = calloc(tar->count + 1, sizeof *listed.members)};
  if (!listed.names || !listed.members || !wo__walk_enter(&walk, 0, tar->path)) walk.status = WO_E_NOMEM;
  /* Damage was in the list that was handed out first; other failures are of this reading. */
  const bool is_said = is_again && tar->status == WO_E_SYNTAX;
  if (walk.status == WO_OK && tar->status != WO_OK && !is_said) wo__walk_report(&walk, &tar->err);
  wo__walk_add_slash(&walk);
  const size_t archive_len = walk.path.len;
  if (walk.status == WO_OK) list_members(&walk, archive_len, is_again, &listed);
  if (!wo__walk_is_cancelled(&walk)) wo__walk_hand_out(&walk, &listed, archive_len, 0);
  free(listed.names);
  free(listed.members);
  wo_text_done(&walk.path);
  *counts = walk.counts;
  return walk.status;
}
