/* SPDX-License-Identifier: Apache-2.0 */
/* The compiled-in packs, alone and together with the rules of a folder. */
#include <assert.h>
#include <string.h>

#include "parsers/base/vec.h"
#include "rules/load/embedded.h"
#include "rules/files/rule_dir.h"

const struct wo_rule_file *wo_rule_embedded(enum wo_load_depth depth, size_t *ret_count) {
  assert(ret_count != NULL);
  const bool is_full = depth == WO_LOAD_ALL;
  *ret_count = is_full ? wo_embedded_full_count : wo_embedded_short_count;
  return is_full ? wo_embedded_full : wo_embedded_short;
}

const struct wo_prefilter_tables *wo_rule_prefilter(void) {
  return &wo_embedded_prefilter;
}

/* Reads the compiled-in files, and behind them those of a folder. The compiled-in ones come first: the later of two rules with
 * one id is the one that stays. */
static enum wo_status read_all(const char *dir, enum wo_load_depth depth, struct wo_rule_files *files, struct wo_err *err) {
  size_t count = 0;
  const struct wo_rule_file *const embedded = wo_rule_embedded(depth, &count);
  if (count > 0 && !WO_VEC_RESERVE(files, count, count)) return wo_err_nomem(err);
  if (count > 0) memcpy(files->items, embedded, count * sizeof *embedded);
  files->count = count;
  return dir == NULL ? WO_OK : wo_rule_dir_read(dir, files, err);
}

/* One load over both, so that a folder's rules may name the compiled-in ones and the other way round. Nothing read here outlives
 * the call: the pack copies what it keeps. */
enum wo_status wo_pack_load_all(const char *dir, enum wo_load_depth depth, struct wo_pack **ret_pack, struct wo_err *err) {
  assert(ret_pack != NULL);
  struct wo_rule_files files = {0};
  enum wo_status status = read_all(dir, depth, &files, err);
  if (status == WO_OK) status = wo_pack_load(files.items, files.count, depth, ret_pack, err);
  wo_rule_files_done(&files);
  return status;
}

enum wo_status wo_pack_load_all_noting(const char *dir, enum wo_load_depth depth, struct wo_load_notes notes,
                                       struct wo_pack **ret_pack) {
  assert(ret_pack != NULL);
  struct wo_rule_files files = {0};
  struct wo_err err;
  enum wo_status status = read_all(dir, depth, &files, &err);
  if (status == WO_OK) {
    status = wo_pack_load_noting(files.items, files.count, depth, notes, ret_pack);
  } else if (notes.fn != NULL) {
    notes.fn(notes.context, &err);
  }
  wo_rule_files_done(&files);
  return status;
}
