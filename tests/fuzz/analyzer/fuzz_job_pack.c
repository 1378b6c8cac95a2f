/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a kept job, as a store that somebody else made may hold. Either they are refused, or they are a job: packed again
 * it is the same, and the whole diagnosis works on it: the JSON report parses, the text report holds no control characters.
 *
 * An input that does not begin like a kept job is taken for the part of one that is compressed, so that mutations get through. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cJSON.h>

#include "analyzer/pack/job_pack.h"
#include "analyzer/pack/pack_bytes.h"
#include "analyzer/pack/pack_form.h"
#include "analyzer/report/report.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
  cJSON_Delete(json);
  wo_text_done(&text);
}

static void check_text(const struct wo_report *report) {
  const struct wo_text_style style = {.width = 80, .use_utf8 = true, .is_verbose = true};
  struct wo_text text = {0};
  wo_report_text(report, style, &text);
  require(!text.is_failed && text.len > 0);
  for (size_t i = 0; i < text.len; i++)
    require(((unsigned char)text.ptr[i] >= 0x20 || text.ptr[i] == '\n') && text.ptr[i] != 0x7f);
  wo_text_done(&text);
}

/* Packed and restored once more, the job packs to the same bytes. */
static void check_again(const struct wo_job *job) {
  struct wo_text first = {0}, second = {0};
  struct wo_job *restored = NULL;
  require(wo_job_pack(job, &first) == WO_OK);
  require(wo_job_unpack((struct wo_view){first.ptr, first.len}, job->pack, &restored, NULL) == WO_OK);
  require(restored->events.count == job->events.count && restored->input_count == job->input_count);
  require(wo_job_pack(restored, &second) == WO_OK);
  require(first.len == second.len && memcmp(first.ptr, second.ptr, first.len) == 0);
  wo_job_free(restored);
  wo_text_done(&first);
  wo_text_done(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const struct wo_view input = {(const char *)data, size};
  struct wo_text packed = {0};
  if (wo_view_starts(input, WO__PACK_MAGIC)) {
    wo_text_add_view(&packed, input);
  } else {
    wo_text_add(&packed, "%s%c", WO__PACK_MAGIC, WO__PACK_FORM);
    wo__put_number(&packed, size);
    require(wo__pack_compress(input, &packed) == WO_OK);
  }
  struct wo_job *job = NULL;
  struct wo_report *report = NULL;
  if (wo_job_unpack((struct wo_view){packed.ptr, packed.len}, compiled_in_rules(), &job, NULL) == WO_OK) {
    check_again(job);
    require(wo_job_close(job) == WO_OK);
    require(wo_report_make(job, compiled_in_rules(), &report) == WO_OK);
    check_json(report);
    check_text(report);
    wo_report_free(report);
    wo_job_free(job);
  }
  wo_text_done(&packed);
  return 0;
}
