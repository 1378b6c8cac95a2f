/* SPDX-License-Identifier: Apache-2.0 */
/* Names out of rows. See row_anonymous.h. */
#include "analyzer/row/row_anonymous.h"

#include "parsers/base/text.h"

enum reading { AS_NAME, AS_HOSTS, AS_PATH, AS_TEXT };

/* The columns that can hold names; the others are words of the program's own lists, ids and numbers. `place` is a file and a
 * function. `work` is a hash of names, which somebody who guesses them could make again. */
static const struct {
  enum wo_column_id column;
  enum reading reading;
  enum wo_name_kind kind;
} columns[] = {
    {WO_COLUMN_OF_user, AS_NAME, WO_NAME_OF_USER},          {WO_COLUMN_OF_account, AS_NAME, WO_NAME_OF_ACCOUNT},
    {WO_COLUMN_OF_name, AS_NAME, WO_NAME_OF_JOB},           {WO_COLUMN_OF_partition, AS_NAME, WO_NAME_OF_PARTITION},
    {WO_COLUMN_OF_node, AS_NAME, WO_NAME_OF_HOST},          {WO_COLUMN_OF_work, AS_NAME, WO_NAME_OF_SECRET},
    {WO_COLUMN_OF_nodes, AS_HOSTS, WO_NAME_OF_HOST},        {WO_COLUMN_OF_path, AS_PATH, WO_NAME_OF_FILE},
    {WO_COLUMN_OF_evidence_path, AS_PATH, WO_NAME_OF_FILE}, {WO_COLUMN_OF_place, AS_TEXT, WO_NAME_OF_NOTHING},
    {WO_COLUMN_OF_settings, AS_TEXT, WO_NAME_OF_NOTHING},   {WO_COLUMN_OF_evidence, AS_TEXT, WO_NAME_OF_NOTHING},
    {WO_COLUMN_OF_title, AS_TEXT, WO_NAME_OF_NOTHING},      {WO_COLUMN_OF_change, AS_TEXT, WO_NAME_OF_NOTHING},
    {WO_COLUMN_OF_model, AS_TEXT, WO_NAME_OF_NOTHING},      {WO_COLUMN_OF_engine, AS_TEXT, WO_NAME_OF_NOTHING},
};

enum { COLUMN_COUNT = sizeof columns / sizeof columns[0] };

void wo_row_learn_names(const struct wo_row *row, struct wo_pseudonyms *p) {
  for (size_t i = 0; i < COLUMN_COUNT; i++) {
    const struct wo_view text = wo_row_text(row, columns[i].column);
    if (columns[i].reading == AS_NAME && columns[i].kind != WO_NAME_OF_SECRET) wo_pseudonyms_learn(p, columns[i].kind, text);
    if (columns[i].reading == AS_HOSTS) wo_pseudonyms_learn_hosts(p, text);
  }
}

void wo_row_learn_texts(const struct wo_row *row, struct wo_pseudonyms *p) {
  for (size_t i = 0; i < COLUMN_COUNT; i++) {
    const struct wo_view text = wo_row_text(row, columns[i].column);
    if (columns[i].reading == AS_PATH) wo_pseudonyms_learn_path(p, text);
    if (columns[i].reading == AS_TEXT) wo_pseudonyms_learn_text(p, text);
  }
}

static void add(struct wo_pseudonyms *p, size_t at, struct wo_view text, struct wo_text *out) {
  switch (columns[at].reading) {
  case AS_NAME:
    wo_pseudonyms_add_name(p, columns[at].kind, text, out);
    break;
  case AS_HOSTS:
    wo_pseudonyms_add_hosts(p, text, out);
    break;
  case AS_PATH:
    wo_pseudonyms_add_path(p, text, out);
    break;
  case AS_TEXT:
    wo_pseudonyms_add_text(p, text, NULL, 0, out);
    break;
  }
}

void wo_row_anonymize(struct wo_row *row, struct wo_pseudonyms *p, struct wo_arena *arena) {
  for (size_t i = 0; i < COLUMN_COUNT; i++) {
    const struct wo_view text = wo_row_text(row, columns[i].column);
    struct wo_text shown = {0};
    if (text.len == 0) continue;
    add(p, i, text, &shown);
    if (shown.is_failed) arena->is_exhausted = true;
    const struct wo_view view = {shown.ptr, shown.len};
    wo_row_set_text(row, columns[i].column, shown.is_failed ? (struct wo_view){0} : wo_arena_copy(arena, view));
    wo_text_done(&shown);
  }
}
