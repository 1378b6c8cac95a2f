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

/* One load over both, so that a folder's rules may name the compiled-in ones and the other way round. The compiled-in files come
 * first: the later of two rules with one id is the one that stays. Nothing read here outlives the call: the pack copies what it
 * keeps. */
enum wo_status wo_pack_load_all(const char *dir, enum wo_load_depth depth, struct wo_pack **ret_pack, struct wo_err *err) {
  assert(ret_pack != NULL);
  size_t embedded_count = 0;
  const struct wo_rule_file *const embedded = wo_rule_embedded(depth, &embedded_count);
  if (dir == NULL) return wo_pack_load(embedded, embedded_count, depth, ret_pack, err);
  struct wo_rule_files files = {0};
  enum wo_status status = WO_OK;
  if (embedded_count > 0 && !WO_VEC_RESERVE(&files, embedded_count, embedded_count)) {
    status = wo_err_set(err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
  } else if (embedded_count > 0) {
    memcpy(files.items, embedded, embedded_count * sizeof *embedded);
    files.count = embedded_count;
  }
  if (status == WO_OK) status = wo_rule_dir_read(dir, &files, err);
  if (status == WO_OK) status = wo_pack_load(files.items, files.count, depth, ret_pack, err);
  wo_rule_files_done(&files);
  return status;
}
