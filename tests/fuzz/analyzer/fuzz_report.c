/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a log, through the whole diagnosis: the JSON report parses, the text report and Markdown hold no control
 * characters but line feeds, the page is well formed, scores are probabilities, and findings point to evidence that exists. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cJSON.h>

#include "analyzer/document/document.h"
#include "parsers/base/limits.h"
#include "tests/support/xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LOG_BYTES_MAX = 64 * 1024, NARROW = 40 };

/* A failed check must stop the fuzzer in every build type, so assert would not do. */
static void require(bool holds) {
  if (!holds) __builtin_trap();
}

/* The rules are the same for every input and never change: loaded once, kept until the program ends. */
static const struct wo_pack *compiled_in_rules(void) {
  static struct wo_pack *pack;
  struct wo_err err;
  if (!pack) require(wo_pack_load_all(NULL, WO_LOAD_FOR_DIAGNOSIS, &pack, &err) == WO_OK);
  return pack;
}

static void check_json(const struct wo_report *report) {
  struct wo_text text = {0};
  wo_report_json(report, &text);
  require(!text.is_failed && text.len > 0);
  cJSON *const json = cJSON_ParseWithLength(text.ptr, text.len);
  require(json != NULL);
  require(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "findings")) == (int)report->finding_count);
  cJSON_Delete(json);
  wo_text_done(&text);
}

static void require_clean(const struct wo_text *text) {
  require(!text->is_failed && text->len > 0);
  for (size_t i = 0; i < text->len; i++)
    require(((unsigned char)text->ptr[i] >= 0x20 || text->ptr[i] == '\n') && text->ptr[i] != 0x7f);
}

static void check_text(const struct wo_report *report, size_t width, bool is_verbose) {
  const struct wo_text_style style = {.width = width, .use_utf8 = true, .is_verbose = is_verbose};
  struct wo_text text = {0};
  wo_report_text(report, style, &text);
  require_clean(&text);
  wo_text_done(&text);
}

/* The body is well formed but for the scripts at its end, which are ours. */
static void check_page(const struct wo_text *page) {
  const struct wo_view text = {page->ptr, page->len};
  const size_t start = wo_view_find(text, WO_VIEW("<body>"), 0), end = wo_view_find(text, WO_VIEW("<script>"), 0);
  struct wo_text body = {0};
  size_t at = 0;
  require(start != WO_NOT_FOUND && end != WO_NOT_FOUND && start < end);
  wo_text_add_view(&body, wo_view_sub(text, start, end));
  wo_text_add(&body, "</body>\n");
  require(wo_xml_is_well_formed((struct wo_view){body.ptr, body.len}, &at));
  wo_text_done(&body);
}

static void check_documents(const struct wo_report *report) {
  struct wo_arena arena;
  struct wo_screen screen;
  struct wo_text page = {0}, markdown = {0};
  wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
  require(wo_screen_make(report, WO_VIEW("slurm-4711.err"), &arena, &screen) == WO_OK);
  wo_document_html(report, &screen, &page);
  wo_document_markdown(report, &screen, &markdown);
  require(!page.is_failed);
  check_page(&page);
  require_clean(&markdown);
  wo_text_done(&page);
  wo_text_done(&markdown);
  wo_arena_done(&arena);
}

/* Best first, and notes behind all failures. */
static bool is_in_order(const struct wo_finding *a, const struct wo_finding *b) {
  if (a->cause->is_failure != b->cause->is_failure) return a->cause->is_failure;
  return a->score >= b->score;
}

static void check_findings(const struct wo_report *report) {
  const struct wo_event_store *const events = &report->job->events;
  for (size_t i = 0; i < report->finding_count; i++) {
    const struct wo_finding *const finding = &report->findings[i];
    require(finding->score >= 0 && finding->score <= 1);
    require(i == 0 || is_in_order(&report->findings[i - 1], finding));
    for (size_t k = 0; k < finding->for_count; k++) {
      for (size_t e = 0; e < finding->for_[k].evidence_count; e++)
        require(wo_event_get(events, finding->for_[k].evidence[e]) != NULL);
    }
    for (size_t k = 0; k < finding->fix_count; k++) {
      const struct wo_interval saves = finding->fixes[k].saves_bytes;
      require(saves.lo >= 0 && saves.lo <= saves.mid && saves.mid <= saves.hi);
    }
  }
}

static void check_story(const struct wo_job *job) {
  const struct wo_story *const story = &job->story;
  require(story->outcome < WO_OUTCOME_COUNT_);
  require(story->failure == WO_EVENT_NONE || wo_event_get(&job->events, story->failure) != NULL);
  require(story->failure == WO_EVENT_NONE || story->roles[story->failure] == WO_ROLE_FAILURE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const struct wo_pack *const pack = compiled_in_rules();
  const struct wo_view log = {(const char *)data, size < LOG_BYTES_MAX ? size : LOG_BYTES_MAX};
  struct wo_job *job = NULL;
  struct wo_report *report = NULL;
  require(wo_job_new(pack, &job) == WO_OK);
  wo_job_keep_curves(job);
  require(wo_job_read_text(job, log, "slurm-4711.err") == WO_OK);
  require(wo_job_close(job) == WO_OK);
  check_story(job);
  require(wo_report_make(job, pack, &report) == WO_OK);
  check_findings(report);
  check_json(report);
  check_text(report, NARROW, true);
  check_documents(report);
  wo_report_free(report);
  wo_job_free(job);
  return 0;
}
