/* SPDX-License-Identifier: Apache-2.0 */
/* `whyoom rules pages DIR`: the pages of analyzer/command/rule_doc.h as files. The same rules give the same bytes, so that a
 * folder of pages can be compared with its rules. */
#include <errno.h>
#include <sys/stat.h>

#include "analyzer/command/commands.h"
#include "analyzer/command/rule_doc.h"
#include "parsers/base/command/call_output.h"
#include "parsers/base/output/page.h"
#include "rules/check/rule_check.h"

enum { PATH_BYTES = 4096, ID_BYTES_MAX = 128 };

/* The folder of the pages, and the page that is being written. */
struct pages {
  const struct wo_call *call;
  const char *folder;
  struct wo_text text; /* one page */
  size_t count;
};

/* Adds an error and returns false; `reason` NULL means errno. */
static bool fail(struct pages *pages, const char *path, const char *reason) {
  wo_message(pages->call->errors, wo_view_of(path), "cannot be written: %s", reason ? reason : strerror(errno));
  return false;
}

static bool make_folder(struct pages *pages, const char *path) {
  return mkdir(path, 0777) == 0 || errno == EEXIST || fail(pages, path, NULL);
}

/* DIR, DIR/causes and DIR/fixes. */
static bool make_folders(struct pages *pages) {
  static const char *const below[] = {WO_DOC_CAUSES, WO_DOC_FIXES};
  char path[PATH_BYTES];
  if (strlen(pages->folder) + 2 * ID_BYTES_MAX >= sizeof path) return fail(pages, pages->folder, "the name is too long");
  if (!make_folder(pages, pages->folder)) return false;
  for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
    snprintf(path, sizeof path, "%s/%s", pages->folder, below[i]);
    if (!make_folder(pages, path)) return false;
  }
  return true;
}

/* Writes the finished text to DIR/<name>. */
static bool write_page(struct pages *pages, const char *name) {
  char path[PATH_BYTES];
  struct wo_err err = {0};
  snprintf(path, sizeof path, "%s/%s", pages->folder, name);
  wo_page_seal(&pages->text, false);
  if (pages->text.is_failed) return fail(pages, path, wo_status_text(WO_E_NOMEM));
  const struct wo_view text = {pages->text.ptr, pages->text.len};
  const bool is_written = wo_call_write_output(pages->call, path, text, false, &err) == WO_OK;
  if (!is_written) wo_message_error(pages->call->errors, wo_view_of(path), &err);
  pages->count++;
  return is_written;
}

/* Users choose the ids of their rules; as names of files they must stay below DIR. */
static bool is_file_name(struct wo_view id) {
  for (size_t i = 0; i < id.len; i++) {
    const char c = id.ptr[i];
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_')) return false;
  }
  return id.len > 0 && id.len <= ID_BYTES_MAX;
}

static bool write_rule_page(struct pages *pages, const char *folder, struct wo_view id) {
  char name[2 * ID_BYTES_MAX];
  if (!is_file_name(id)) {
    wo_message(pages->call->errors, (struct wo_view){0}, "\"%.*s\" is no id that a page can be called by", WO_SHOWN(id));
    return false;
  }
  snprintf(name, sizeof name, "%s/%.*s.md", folder, WO_SHOWN(id));
  return write_page(pages, name);
}

static struct wo_doc start_page(struct pages *pages) {
  pages->text.len = 0;
  return (struct wo_doc){.out = &pages->text, .form = WO_DOC_MARKDOWN, .width = 80};
}

/* ---- Index ---- */

static struct wo_view first_sentence(struct wo_view text) {
  for (size_t i = 0; i + 1 < text.len; i++) {
    if (text.ptr[i] == '.' && text.ptr[i + 1] == ' ') return wo_view_sub(text, 0, i + 1);
  }
  return text;
}

/* Only known families have a table (the lint reports others); all causes have pages. */
static void add_family(struct wo_doc *doc, const struct wo_pack *pack, struct wo_view family) {
  wo_text_add(doc->out, "### %.*s\n\n| cause | reported as | means |\n| --- | --- | --- |\n", WO_SHOWN(family));
  for (size_t i = 0; i < pack->cause_count; i++) {
    const struct wo_cause *const cause = &pack->causes[i];
    if (wo_view_equal(cause->family, family))
      wo_doc_row(doc, WO_DOC_CAUSES, cause->id, wo_template_source(cause->title), cause->means);
  }
  wo_text_add(doc->out, "\n");
}

static bool write_index(struct pages *pages, const struct wo_pack *pack) {
  struct wo_doc doc = start_page(pages);
  wo_text_add(doc.out,
              "# The causes and fixes that whyoom knows\n\n"
              "Written by `whyoom rules pages DIR` from the rule files; change those, not these pages. `whyoom explain ID` "
              "prints the same on a terminal.\n`<tried>` and the like stand for numbers that a job's log gives; "
              "`oom.`, `gpu.` and `config.` are left out before their names in texts.\n");
  wo_doc_section(&doc, "Causes");
  for (size_t i = 0; wo_rule_family(i); i++) add_family(&doc, pack, wo_view_of(wo_rule_family(i)));
  wo_doc_section(&doc, "Fixes");
  wo_text_add(doc.out, "| fix | offered as | does |\n| --- | --- | --- |\n");
  for (size_t i = 0; i < pack->fix_count; i++) {
    const struct wo_fix *const fix = &pack->fixes[i];
    wo_doc_row(&doc, WO_DOC_FIXES, fix->id, wo_template_source(fix->title), first_sentence(fix->explain));
  }
  wo_doc_done(&doc);
  return write_page(pages, "README.md");
}

static bool write_all(struct pages *pages, const struct wo_pack *pack) {
  if (!make_folders(pages)) return false;
  for (size_t i = 0; i < pack->cause_count; i++) {
    struct wo_doc doc = start_page(pages);
    wo_rule_doc_cause(&doc, pack, &pack->causes[i]);
    wo_doc_done(&doc);
    if (!write_rule_page(pages, WO_DOC_CAUSES, pack->causes[i].id)) return false;
  }
  for (size_t i = 0; i < pack->fix_count; i++) {
    struct wo_doc doc = start_page(pages);
    wo_rule_doc_fix(&doc, pack, &pack->fixes[i]);
    wo_doc_done(&doc);
    if (!write_rule_page(pages, WO_DOC_FIXES, pack->fixes[i].id)) return false;
  }
  return write_index(pages, pack);
}

enum wo_exit wo_run_rules_pages(const struct wo_call *call, const struct wo_pack *pack) {
  if (call->word_count != 2) {
    wo_message(call->errors, (struct wo_view){0}, "rules pages needs the name of one folder");
    return WO_EXIT_ERROR;
  }
  struct pages pages = {.call = call, .folder = call->words[1]};
  const bool is_written = write_all(&pages, pack);
  wo_text_done(&pages.text);
  if (!is_written) return WO_EXIT_ERROR;
  wo_text_add(call->out, "%zu pages written to %s\n", pages.count, pages.folder);
  return WO_EXIT_FINE;
}
