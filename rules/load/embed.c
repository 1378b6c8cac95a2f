/* SPDX-License-Identifier: Apache-2.0 */
/* Host tool: rules/packs -> one C file with the packs in it (rules/load/embedded.h).
 *
 *   wo_embed FOLDER OUTPUT.c
 *
 * Every file goes in twice: as written, for linting and messages, and as a tree (rules/files/tree.h) without the parts that a
 * diagnosis never reads. The tree is constant data without an address in it: parsing, and later relocating, were most of the
 * program's start. The output depends on the packs alone. Part of the build, not of the program. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules/files/rule_comments.h"
#include "rules/files/rule_dir.h"
#include "rules/files/tree.h"
#include "rules/load/rule.h"

enum { LINE_BYTES = 100 };

/* Keys of rule objects that only `explain`, `rules check` and `rules test` read. Checklist: only
 * what the tables of rule_read_*.c mark as is_deep or skip for good can be listed here, or a
 * diagnosis would miss it. */
static const char *const deep_keys[] = {"examples", "samples", "not", "details", "explain", "references", "since", "source"};

enum { FILES_MAX = 1024 };

/* One run. `count` numbers the files; the arrays of bytes and trees are named after it. */
struct embed {
  FILE *out;
  const struct wo_pack *pack; /* what the program will load */
  size_t count;
  struct wo_rule_file files[FILES_MAX]; /* as written, in the order in which they are loaded */
  char table[2][1 << 16];               /* rows of the two arrays, collected while the bytes are written */
  size_t table_len[2];
};

/* Reports what is wrong; false, so that it can be returned. */
static bool complain(const char *path, const char *what) {
  fprintf(stderr, "wo_embed: %s: %s\n", path, what);
  return false;
}

/* ---- C out ------------------------------------------------------------------------------------------------------------ */

/* One byte inside a string literal. Octal always has three digits, so that no digit after it is
 * swallowed ("\x1" followed by "2" would be another byte); '?' could begin a trigraph. Returns the
 * number of characters written. */
static int write_byte(FILE *out, char c) {
  if (c == '\n') return fprintf(out, "\\n");
  if (c == '"' || c == '\\' || c == '?') return fprintf(out, "\\%c", c);
  if (c >= ' ' && c <= '~') return fprintf(out, "%c", c);
  return fprintf(out, "\\%03o", (unsigned)(unsigned char)c);
}

/* Writes bytes as short literals, which compile far faster than lists of numbers, between the quotes that the caller writes. */
static void write_text(FILE *out, const char *text, size_t len) {
  int column = 0;
  for (size_t i = 0; i < len; i++) {
    column += write_byte(out, text[i]);
    if (column < LINE_BYTES || i + 1 == len) continue;
    fprintf(out, "\"\n    \"");
    column = 0;
  }
}

/* Writes an array of bytes. The compiler adds a NUL after them, which the row's size leaves out. */
static void write_array(struct embed *embed, const char *kind, const char *text, size_t len) {
  fprintf(embed->out, "static const char %s_%zu[] =\n    \"", kind, embed->count);
  write_text(embed->out, text, len);
  fprintf(embed->out, "\";\n");
}

/* One row of one of the two arrays, for the file being written: the text, or the tree. `is_user` is
 * 0 in both: what was compiled in may be replaced, and replaces nothing. */
static bool add_row(struct embed *embed, int which, const char *name) {
  char *const at = embed->table[which] + embed->table_len[which];
  const size_t room = sizeof embed->table[which] - embed->table_len[which];
  const size_t n = embed->count;
  const int len = which == 0 ? snprintf(at, room, "    {\"%s\", NULL, 0, 0, tree_%zu.nodes},\n", name, n)
                             : snprintf(at, room, "    {\"%s\", full_%zu, sizeof full_%zu - 1, 0, NULL},\n", name, n, n);
  if (len < 0 || (size_t)len >= room) return complain(name, "too many files");
  embed->table_len[which] += (size_t)len;
  return true;
}

/* ---- shortening ------------------------------------------------------------------------------------------------------- */

/* Removes the parts that a diagnosis does not read. Keys that a rule lacks are no failure; nested objects are left as they
 * are. */
static void drop_deep(cJSON *object) {
  for (size_t i = 0; i < sizeof deep_keys / sizeof deep_keys[0]; i++) {
    cJSON_DeleteItemFromObjectCaseSensitive(object, deep_keys[i]);
  }
}

/* Gives a cause the list of what its condition needs: where one of them is not met, a diagnosis reads nothing else of it. False
 * when memory is out. */
static bool add_needs(const struct wo_pack *pack, cJSON *object) {
  enum { NEEDS_MAX = 3 }; /* further ones rarely decide */
  if (!cJSON_IsObject(object) || object->child == NULL || strcmp(object->child->string, "cause") != 0) return true;
  const struct wo_cause *const cause = wo_pack_cause(pack, wo_view_of(object->child->valuestring));
  struct wo_need needs[NEEDS_MAX];
  const size_t count = cause == NULL ? 0 : wo_expr_needs(cause->when, needs, NEEDS_MAX);
  cJSON *const list = cJSON_CreateArray();
  for (size_t i = 0; i < count; i++) {
    char text[WO_NEED_BYTES];
    wo_need_text(&needs[i], text, sizeof text);
    if (!cJSON_AddItemToArray(list, cJSON_CreateString(text))) return false;
  }
  return list != NULL && cJSON_AddItemToObject(object, "needs", list);
}

/* Terms are for `explain` alone. The first key shows the sort of a rule, as it does for the loader. */
static bool is_term(const cJSON *object) {
  return cJSON_IsObject(object) && object->child != NULL && strcmp(object->child->string, "term") == 0;
}

/* The rule objects of a file as one array, without terms and long texts; NULL when memory is out.
 * Takes `root` over. A file that is one rule becomes an array of one, which the loader reads just
 * the same. */
static cJSON *shorten(const struct wo_pack *pack, cJSON *root) {
  cJSON *const array = cJSON_IsArray(root) ? root : cJSON_CreateArray();
  if (array != root && !cJSON_AddItemToArray(array, root)) return NULL;
  for (cJSON *object = array->child; object != NULL;) {
    cJSON *const next = object->next;
    drop_deep(object);
    if (!add_needs(pack, object)) return NULL;
    if (is_term(object)) cJSON_Delete(cJSON_DetachItemViaPointer(array, object));
    object = next;
  }
  return array;
}

/* ---- trees out -------------------------------------------------------------------------------------------------------- */

static void write_nodes(FILE *out, const struct wo_tree *nodes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const struct wo_tree *const node = &nodes[i];
    fprintf(out, "    {%" PRIu32 ", %" PRIu32 ", %" PRIu32 ", %" PRIu32, node->type, node->count, node->next, node->key);
    if (node->type == WO_TREE_NUMBER) {
      fprintf(out, ", {.number = %.17g}},\n", node->as.number); /* as many digits as bring a double back unchanged */
    } else {
      fprintf(out, ", {%" PRIu64 "}},\n", node->as.text);
    }
  }
}

/* A tree as constant data: what lies in memory here is written as it lies. */
static void write_tree(const struct embed *embed, const struct wo_tree *tree, size_t nodes, size_t text_bytes) {
  fprintf(embed->out, "static const struct {\n  struct wo_tree nodes[%zu];\n  char text[%zu];\n} tree_%zu = {\n  {\n", nodes,
          text_bytes + 1, embed->count);
  write_nodes(embed->out, tree, nodes);
  fprintf(embed->out, "  },\n    \"");
  write_text(embed->out, (const char *)(tree + nodes), text_bytes);
  fprintf(embed->out, "\",\n};\n");
}

/* ---- one file --------------------------------------------------------------------------------------------------------- */

/* Writes the short form of a file. Blanks its comments in place, so the full form has to be written
 * before. That it is JSON is known: it was loaded. */
static bool write_short(struct embed *embed, const struct wo_rule_file *file) {
  char *const text = (char *)(uintptr_t)file->data;
  wo_rule_blank_comments(text, file->size);
  cJSON *const root = cJSON_Parse(text);
  cJSON *const array = root == NULL ? NULL : shorten(embed->pack, root);
  size_t nodes = 0;
  size_t text_bytes = 0;
  struct wo_tree *const tree = array == NULL ? NULL : wo_tree_of(array, &nodes, &text_bytes);
  if (tree != NULL) write_tree(embed, tree, nodes, text_bytes);
  cJSON_Delete(array);
  free(tree);
  return tree != NULL || complain(file->name, "out of memory");
}

/* ---- files in --------------------------------------------------------------------------------------------------------- */

/* Both forms of one file. Its name becomes part of a string literal, and of messages, so names that
 * would need escapes are refused rather than escaped. */
static bool embed_file(struct embed *embed, const struct wo_rule_file *file) {
  if (strpbrk(file->name, "\"\\?\n") != NULL) return complain(file->name, "has a name that cannot be embedded");
  write_array(embed, "full", file->data, file->size);
  const bool is_done = write_short(embed, file) && add_row(embed, 0, file->name) && add_row(embed, 1, file->name);
  embed->count++;
  return is_done;
}

/* causes/, fixes/ and so on, one after another, and in each of them by the names of the files alone. The order of causes decides
 * which of two findings with one score comes first; so the folders between, which only help readers to find a file, do not
 * count. */
static int compare_files(const void *a, const void *b) {
  const char *const left = ((const struct wo_rule_file *)a)->name;
  const char *const right = ((const struct wo_rule_file *)b)->name;
  const size_t left_top = strcspn(left, "/");
  const size_t right_top = strcspn(right, "/");
  const int by_top = strncmp(left, right, left_top < right_top ? left_top : right_top);
  if (by_top != 0) return by_top;
  if (left_top != right_top) return left_top < right_top ? -1 : 1;
  const char *const left_slash = strrchr(left, '/');
  const char *const right_slash = strrchr(right, '/');
  const int by_base = strcmp(left_slash == NULL ? left : left_slash, right_slash == NULL ? right : right_slash);
  return by_base != 0 ? by_base : strcmp(left, right);
}

/* All files of the folder, with names that start after it. `read` owns what they point to. */
static bool read_packs(struct embed *embed, const char *folder, struct wo_rule_files *read) {
  struct wo_err err = {0};
  if (wo_rule_dir_read(folder, read, &err) != WO_OK) return complain(err.file, err.message);
  if (read->count > FILES_MAX) return complain(folder, "too many files");
  for (size_t i = 0; i < read->count; i++) {
    embed->files[i] = read->items[i];
    embed->files[i].name += strlen(folder) + 1;
    embed->files[i].is_user = false;
  }
  qsort(embed->files, read->count, sizeof embed->files[0], compare_files);
  return true;
}

static bool embed_files(struct embed *embed, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!embed_file(embed, &embed->files[i])) return false;
  }
  return true;
}

/* ---- the prefilter ---------------------------------------------------------------------------------------------------- */

static void write_places(FILE *out, const struct wo_prefilter_tables *tables) {
  fprintf(out, "static const struct wo_prefilter_place places[] = {\n");
  for (size_t i = 0; i < tables->place_count; i++) {
    const struct wo_prefilter_place place = tables->places[i];
    fprintf(out, "    {%" PRIu32 ", %" PRIu32 ", %" PRIu32 ", %" PRIu32 ", %" PRIu32 ", %" PRIu32 ", %" PRIu32 "},\n",
            place.window, place.literal, place.offset, place.next, place.len, place.head, place.tail);
  }
  fprintf(out, "};\n");
}

/* Few slots are taken, so only those are written. */
static void write_slots(FILE *out, const struct wo_prefilter_tables *tables) {
  fprintf(out, "static const struct wo_prefilter_slot slots[%zu] = {\n", tables->slot_count);
  for (size_t i = 0; i < tables->slot_count; i++) {
    const struct wo_prefilter_slot slot = tables->slots[i];
    if (slot.head == 0) continue;
    fprintf(out, "    [%zu] = {%" PRIu32 ", %" PRIu32 ", UINT64_C(%" PRIu64 "), UINT64_C(%" PRIu64 ")},\n", i, slot.window,
            slot.head, slot.before, slot.after);
  }
  fprintf(out, "};\n");
}

static void write_bitmap(FILE *out, const struct wo_prefilter_tables *tables) {
  fprintf(out, "static const uint32_t bitmap[%zu] = {\n", tables->bitmap_words);
  for (size_t i = 0; i < tables->bitmap_words; i++) {
    if (tables->bitmap[i] != 0) fprintf(out, "    [%zu] = %" PRIu32 ",\n", i, tables->bitmap[i]);
  }
  fprintf(out, "};\n");
}

static void write_tables_of(FILE *out, const struct wo_prefilter_tables *tables) {
  write_places(out, tables);
  write_slots(out, tables);
  write_bitmap(out, tables);
  fprintf(out, "\nconst struct wo_prefilter_tables wo_embedded_prefilter = {\n    .made_of = UINT64_C(%" PRIu64 "),\n",
          tables->made_of);
  fprintf(out, "    .bitmap = bitmap,\n    .places = places,\n    .slots = slots,\n");
  fprintf(out, "    .bitmap_words = %zu,\n", tables->bitmap_words);
  fprintf(out, "    .place_count = %zu,\n    .slot_count = %zu,\n};\n", tables->place_count, tables->slot_count);
}

/* Loads the packs as the program will, so that a mistake in one ends the build with its place: as "file:line:column: message" it
 * is found by the editors that find a compiler's. */
static struct wo_pack *load_packs(const struct embed *embed, size_t count) {
  struct wo_pack *pack = NULL;
  struct wo_err err = {0};
  if (wo_pack_load(embed->files, count, WO_LOAD_FOR_DIAGNOSIS, &pack, &err) == WO_OK) return pack;
  fprintf(stderr, "%s:%" PRIu64 ":%" PRIu32 ": %s\n", err.file, err.line, err.column, err.message);
  return NULL;
}

/* Writes the prefilter's tables for the patterns of the packs. */
static bool write_prefilter(const struct embed *embed, const struct wo_pack *pack) {
  struct wo_pattern_set *set = NULL;
  if (wo_pattern_set_new(pack->patterns, pack->pattern_count, NULL, &set) != WO_OK) return complain("prefilter", "out of memory");
  const struct wo_prefilter_tables tables = wo_prefilter_tables(wo_pattern_set_prefilter(set));
  write_tables_of(embed->out, &tables);
  wo_pattern_set_free(set);
  return true;
}

/* ---- the whole -------------------------------------------------------------------------------------------------------- */

/* An empty row at the end keeps an empty array legal C. */
static void write_tables(struct embed *embed) {
  static const char *const names[] = {"short", "full"};
  for (int i = 0; i < 2; i++) {
    fprintf(embed->out, "\nconst struct wo_rule_file wo_embedded_%s[] = {\n%.*s    {\"\", \"\", 0, 0, NULL},\n};\n", names[i],
            (int)embed->table_len[i], embed->table[i]);
    fprintf(embed->out, "const size_t wo_embedded_%s_count = %zu;\n", names[i], embed->count);
  }
}

/* Wrong usage and a failure have exit statuses of their own, and the same as in whyoom itself. */
int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: wo_embed FOLDER OUTPUT.c\n");
    return 2;
  }
  struct embed *const embed = calloc(1, sizeof *embed);
  FILE *const out = embed == NULL ? NULL : fopen(argv[2], "wb");
  if (out == NULL) {
    free(embed);
    complain(argv[2], "cannot be written");
    return 1;
  }
  embed->out = out;
  fprintf(out, "/* Written by rules/load/embed.c from the rule packs. */\n#include \"rules/load/embedded.h\"\n#include "
               "\"rules/files/tree.h\"\n\n");
  struct wo_rule_files read = {0};
  struct wo_pack *const pack = read_packs(embed, argv[1], &read) ? load_packs(embed, read.count) : NULL;
  embed->pack = pack;
  bool is_done = pack != NULL && embed_files(embed, read.count) && write_prefilter(embed, pack);
  write_tables(embed);
  if (pack != NULL) fprintf(out, "const uint64_t wo_embedded_hash = UINT64_C(%" PRIu64 ");\n", pack->files_hash);
  is_done = ferror(out) == 0 && is_done;
  is_done = fclose(out) == 0 && is_done;
  /* A half-written file must not look finished to the next build. */
  if (!is_done) remove(argv[2]);
  wo_pack_free(pack);
  wo_rule_files_done(&read);
  free(embed);
  return is_done ? 0 : 1;
}
