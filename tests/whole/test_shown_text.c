/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever inputs, names of files, packs and recordings hold: nothing that a terminal obeys or does not show gets out.
 *
 * Property of every output: valid UTF-8 without control characters but line feeds and tabs, without marks of direction and
 * without characters that are not seen; JSON is valid; a line to paste has no bytes of an input outside quotes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cJSON.h>
#include <cmocka.h>

#include "parsers/base/clean.h"
#include "parsers/base/text.h"
#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/xml.h"

enum { PATH_BYTES = 512, SECONDS = 120, LOGS = 3, ANY = -1 };

/* Escape sequences, C0 and C1 (as bytes and as UTF-8), an override and an isolate of direction, separators of lines and
 * paragraphs, zero-width blanks, a byte order mark, a tag, bytes that are no UTF-8. */
#define HOSTILE                                                                                                                  \
  "\x1b[31mX\x1b]0;t\x07\x08\x0b\x7f\x9b\xc2\x9b\xe2\x80\xaeY\xe2\x81\xa6\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\x8b\xef\xbb\xbf"       \
  "\xf3\xa0\x81\x81\xff\xd8\x9c\xe2\x80"

/* The same as JSON may spell it. */
#define HOSTILE_JSON "\\u001b[31mX\\u0007\\u009b\\u007f\\u202eY\\u2066\\u2028\\n\\r\\t\\u200b\\ufeff\\udb40\\udc41\\u061c"

/* A name of a file: no NUL and no slash. */
#define HOSTILE_NAME "a\n\x1b[31m b;$(x)`y`'\"\xe2\x80\xae\xc2\x9b\xff"

static char folder[PATH_BYTES / 4];
static char logs[LOGS][PATH_BYTES];
static char script[PATH_BYTES], dump[PATH_BYTES], recording[PATH_BYTES], rules[PATH_BYTES], pages[PATH_BYTES], plot[PATH_BYTES];

/* ---- The property ---- */

static void check_shown(const char *what, const char *text, size_t text_len) {
  const struct wo_view all = {text, text_len};
  for (size_t at = 0, len = 0; at < all.len; at += len) {
    const uint32_t code = wo_utf8_read(wo_view_skip(all, at), &len);
    const bool is_layout = code == '\n' || code == '\t';
    if (is_layout || (code != WO_UTF8_INVALID && !wo_clean_is_control(code) && !wo_clean_is_hidden(code))) continue;
    const size_t start = at < 120 ? 0 : at - 120;
    fail_msg("%s: U+%04X at %zu, behind: %.*s", what, (unsigned)code, at, (int)(at - start), text + start);
  }
}

/* Messages are lines of their own: no name makes a second one. */
static void check_messages(const char *what, const char *text) {
  for (const char *at = text; *at != '\0';) {
    const char *const end = strchr(at, '\n');
    if (end == NULL || strncmp(at, "whyoom: ", 8) != 0) fail_msg("%s: no message: %s", what, at);
    at = end + 1;
  }
}

/* Runs the program; standard output is JSON if it begins like it. */
static struct wo_process_result run(const char *const *args) {
  const struct wo_process_spec spec = {.args = args, .folder = folder, .seconds = SECONDS};
  struct wo_process_result result;
  assert_true(wo_process_run(&spec, &result));
  if (result.signal != 0) fail_msg("%s: signal %d: %s", args[0], result.signal, result.err);
  check_shown(args[0], result.out, result.out_len);
  check_shown(args[0], result.err, result.err_len);
  if (result.out_len > 0 && result.out[0] == '{') {
    cJSON *const json = cJSON_Parse(result.out);
    if (json == NULL) fail_msg("%s: invalid JSON", args[0]);
    cJSON_Delete(json);
  }
  return result;
}

/* Runs; checks also the exit code, and that standard error holds messages alone. */
#define CHECK(code, ...)                                                                                                         \
  do {                                                                                                                           \
    struct wo_process_result result = run((const char *const[]){__VA_ARGS__, NULL});                                             \
    check_messages(#__VA_ARGS__, result.err);                                                                                    \
    if ((code) != ANY && result.exit_code != (code))                                                                             \
      fail_msg("%s: exit %d: %s%s", #__VA_ARGS__, result.exit_code, result.err, result.out);                                     \
    wo_process_done(&result);                                                                                                    \
  } while (0)

/* ---- Hostile inputs ---- */

static const char log_text[] =
    "step 41: loss 2.1\nper_device_train_batch_size=8\nmodel_name_or_path: meta-llama/Llama-2-7b\n"
    "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:`x`\nseq_len = 4096\n"
    "Traceback (most recent call last):\n  File \"/home/u/train.py\", line 12, in main\n    loss.backward()\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 39.38 GiB of which "
    "1.25 GiB is free. Of the allocated memory 36.53 GiB is allocated by PyTorch, and 1.24 GiB is reserved by PyTorch but "
    "unallocated.\n"
    "slurmstepd: error: *** JOB 4711 ON gpu02 CANCELLED AT 2025-01-01T00:00:00 ***\n"
    "   Command=/home/u/x.sh; rm -rf ~ #\n";

/* The log with hostile bytes at one sort of place: 0 the start of lines, 1 their end, 2 behind '=' and ':'. */
static void make_log(int variant, struct wo_text *out) {
  for (const char *at = log_text; *at != '\0'; at++) {
    const bool is_first = at == log_text || at[-1] == '\n';
    const bool is_sign = *at == '=' || (*at == ':' && at[1] == ' ');
    if (variant == 0 && is_first) wo_text_add_view(out, WO_VIEW(HOSTILE));
    if (variant == 1 && *at == '\n') wo_text_add_view(out, WO_VIEW(HOSTILE));
    wo_text_repeat(out, *at, 1);
    if (variant == 2 && is_sign) wo_text_add_view(out, WO_VIEW(HOSTILE));
  }
}

static bool make_file(char *path, const char *name, struct wo_view content) {
  snprintf(path, PATH_BYTES, "%s/%s", folder, name);
  return wo_files_write(path, content);
}

static const char pack_text[] =
    "// " HOSTILE "\n[{\"cause\": \"hostile\", \"family\": \"unclear" HOSTILE_JSON "\", \"title\": \"t " HOSTILE_JSON
    " {oom.tried}\",\n"
    "  \"summary\": \"s " HOSTILE_JSON "\", \"means\": \"m " HOSTILE_JSON "\", \"details\": \"d " HOSTILE_JSON "\",\n"
    "  \"when\": \"oom.tried > 1MiB and oom.kind != \\\"" HOSTILE_JSON
    "\\\"\", \"at_most\": \"likely\", \"prior\": \"decisive\",\n"
    "  \"for\": [{\"if\": \"known(oom.tried)\", \"weight\": \"decisive\", \"say\": \"f " HOSTILE_JSON "\"}],\n"
    "  \"would_tell\": [\"w " HOSTILE_JSON "\"], \"references\": [\"r " HOSTILE_JSON "\"], \"fixes\": [\"hostile-fix\"],\n"
    "  \"examples\": [{\"gives\": true, \"log\": [\"l " HOSTILE_JSON "\"], \"title\": \"t " HOSTILE_JSON "\"},\n"
    "    {\"gives\": false, \"log\": [\"\\u001b[31m\"], \"why\": \"y " HOSTILE_JSON "\"}]},\n"
    " {\"fix\": \"hostile-fix\", \"title\": \"t " HOSTILE_JSON "\", \"when\": \"true\", \"explain\": \"e " HOSTILE_JSON "\",\n"
    "  \"commands\": [\"export X={config.alloc_conf}\", \"echo \\\"{config.alloc_conf}\\\"\", \"c " HOSTILE_JSON "\"],\n"
    "  \"notes\": [\"n " HOSTILE_JSON "\"]},\n"
    " {\"define\": \"odd\", \"means\": \"m " HOSTILE_JSON "\", \"expr\": \"oom.tried > 1B\"},\n"
    " {\"off\": \"fragmentation\", \"why\": \"o " HOSTILE_JSON "\"},\n"
    " {\"pattern\": \"hostile-line\", \"kind\": \"note\", \"literals\": [\"" HOSTILE_JSON "\"], \"samples\": [\"" HOSTILE_JSON
    "\"]},\n"
    " {\"term\": \"odd-term\", \"title\": \"t " HOSTILE_JSON "\", \"text\": \"x " HOSTILE_JSON "\"}]\n";

/* A recording that is replayed, with hostile bytes in its names. */
static void make_recording(struct wo_text *out) {
  static const char *const keys[] = {"\"function\":\"", "\"file\":\""};
  size_t len = 0;
  char *const text = wo_files_read(WO_SOURCE_DIR "/tests/recordings/fragmented.jsonl", &len);
  assert_non_null(text);
  for (size_t at = 0; at < len;) {
    const struct wo_view rest = {text + at, len - at};
    const bool is_key = WO_VIEW_ANY(rest, wo_view_starts, keys);
    const size_t taken = is_key ? wo_view_find_char(rest, ':', 0) + 2 : 1;
    wo_text_add_view(out, wo_view_sub(rest, 0, taken));
    if (is_key) wo_text_add(out, "%s", HOSTILE_JSON);
    at += taken;
  }
  wo_text_add(out, "{\"%s\":1}\n", HOSTILE_JSON);
  free(text);
}

static int make_inputs(void **state) {
  (void)state;
  static const char scontrol[] = "JobId=4711 JobName=" HOSTILE " UserId=u(1)\n   Command=/home/u/" HOSTILE "; rm -rf ~\n";
  bool is_made = wo_files_scratch(folder, sizeof folder);
  for (int i = 0; i < LOGS && is_made; i++) {
    struct wo_text text = {0};
    char name[64];
    make_log(i, &text);
    snprintf(name, sizeof name, "%d" HOSTILE_NAME ".err", i);
    is_made = make_file(logs[i], name, (struct wo_view){text.ptr, text.len});
    wo_text_done(&text);
  }
  is_made = is_made && make_file(script, HOSTILE_NAME ".sbatch", WO_VIEW("#SBATCH --mem=64G " HOSTILE "\nt.py --batch-size 8\n"));
  is_made = is_made && make_file(dump, HOSTILE_NAME ".txt", WO_VIEW(scontrol));
  struct wo_text text = {0};
  make_recording(&text);
  is_made = is_made && make_file(recording, HOSTILE_NAME ".jsonl", (struct wo_view){text.ptr, text.len});
  wo_text_done(&text);
  snprintf(rules, sizeof rules, "%s/%s", folder, HOSTILE_NAME);
  snprintf(pages, sizeof pages, "%s/pages\n\x1b[1m", folder);
  snprintf(plot, sizeof plot, "%s/plot\n.svg", folder);
  char file[PATH_BYTES];
  return is_made && mkdir(rules, 0700) == 0 && make_file(file, HOSTILE_NAME "/" HOSTILE_NAME ".json", WO_VIEW(pack_text)) ? 0
                                                                                                                          : -1;
}

static int remove_inputs(void **state) {
  (void)state;
  static const char *const below[] = {"/causes", "/fixes", ""};
  char path[PATH_BYTES + 16];
  for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
    snprintf(path, sizeof path, "%s%s", pages, below[i]);
    wo_files_remove_scratch(path);
  }
  wo_files_remove_scratch(rules);
  wo_files_remove_scratch(folder);
  return 0;
}

/* ---- The commands ---- */

static void test_diagnosis(void **state) {
  (void)state;
  for (int i = 0; i < LOGS; i++) {
    CHECK(1, logs[i], script, dump);
    CHECK(1, logs[i], script, dump, "--verbose", "--width", "200");
    CHECK(1, logs[i], script, dump, "--format", "json");
    CHECK(0, logs[i], script, dump, "--events");
    CHECK(1, logs[i], "--rules", rules, "--verbose");
    CHECK(1, logs[i], "--rules", rules, "--format", "json");
    CHECK(ANY, "budget", logs[i], script);
    CHECK(ANY, "budget", logs[i], script, "--format", "json");
    CHECK(0, "rules", "why", "oversized-micro-batch", logs[i]);
    CHECK(0, "rules", "why", "hostile", logs[i], "--rules", rules);
    CHECK(0, "rules", "why", "hostile", logs[i], "--rules", rules, "--format", "json");
  }
}

static void test_proof(void **state) {
  (void)state;
  for (int i = 0; i < LOGS; i++) {
    CHECK(3, "verify", logs[i], script, dump);
    CHECK(3, "verify", logs[i], script, "--format", "json");
    CHECK(3, "verify", logs[i], script, "--trace", recording);
    CHECK(3, "verify", logs[i], script, "--trace", recording, "--format", "json", "--patch");
    struct wo_process_result result = run((const char *const[]){"verify", logs[i], "--rules", rules, "--patch", NULL});
    wo_process_done(&result); /* the report goes to standard error */
  }
}

static void test_recordings(void **state) {
  (void)state;
  CHECK(1, "replay", recording);
  CHECK(1, "replay", recording, "--verbose");
  CHECK(1, "replay", recording, "--format", "json");
  CHECK(1, "replay", recording, "--sweep", "--capacity", "1GiB");
  CHECK(1, "replay", recording, "--plot", plot);
  size_t len = 0, at = 0;
  char *const svg = wo_files_read(plot, &len);
  assert_non_null(svg);
  check_shown("plot", svg, len);
  assert_true(wo_xml_is_well_formed((struct wo_view){svg, len}, &at));
  free(svg);
}

static void test_rules(void **state) {
  (void)state;
  static const char *const verbs[] = {"list", "check", "test"};
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) CHECK(i > 0 ? 1 : 0, "rules", verbs[i], rules);
  static const char *const ids[] = {"hostile", "hostile-fix", "odd", "odd-term", "fragmentation", HOSTILE_NAME};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i += wo_process_is_sanitized ? 2 : 1) {
    CHECK(ANY, "rules", "show", ids[i], "--rules", rules);
    CHECK(ANY, "explain", ids[i], "--rules", rules);
  }
  CHECK(ANY, "explain", "--rules", rules);
  CHECK(0, "rules", "pages", pages, "--rules", rules);
  static const char *const written[] = {"/causes/hostile.md", "/fixes/hostile-fix.md", "/README.md"};
  for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
    char path[PATH_BYTES + 32];
    size_t len = 0;
    snprintf(path, sizeof path, "%s%s", pages, written[i]);
    char *const page = wo_files_read(path, &len);
    if (page != NULL) check_shown(written[i], page, len);
    free(page);
  }
}

static void test_messages(void **state) {
  (void)state;
  CHECK(2, HOSTILE_NAME "/none");
  CHECK(2, "--format", HOSTILE, logs[0]);
  CHECK(2, "--" HOSTILE, logs[0]);
  CHECK(2, "--rules", HOSTILE_NAME "/none", logs[0]);
  CHECK(2, "-o", HOSTILE_NAME "/none/x", logs[0]);
  CHECK(2, "rules", HOSTILE);
  CHECK(2, "rules", "list", HOSTILE);
  CHECK(2, "help", HOSTILE);
  CHECK(2, "completion", HOSTILE);
  CHECK(2, "budget", "--params", HOSTILE);
  CHECK(2, "budget", "--model", HOSTILE);
  CHECK(2, "replay", HOSTILE_NAME "/none");
  CHECK(2, "replay", logs[0]);
  CHECK(2, "replay", recording, "--set", HOSTILE);
  CHECK(2, "replay", recording, "--plot", HOSTILE_NAME "/none/x.svg");
  CHECK(2, "verify", logs[0], "--trace", HOSTILE_NAME "/none");
  CHECK(127, "record", "--", HOSTILE_NAME "/none");
}

/* ---- Lines to paste ---- */

/* The log's own line chooses nothing, and its value is quoted where a fix extends it. */
static void test_nothing_of_a_log_is_run(void **state) {
  (void)state;
  char plain[PATH_BYTES], good[PATH_BYTES];
  assert_true(make_file(plain, "plain.err", wo_view_of(log_text)));
  assert_true(make_file(good, "my job.sh", WO_VIEW("#SBATCH --mem=64G\nt.py --per_device_train_batch_size 8\n")));
  struct wo_process_result result = run((const char *const[]){"plain.err", NULL});
  assert_null(strstr(result.out, "sbatch"));
  assert_null(strstr(result.out, "mb:`x`,"));
  wo_process_done(&result);
  result = run((const char *const[]){"plain.err", "my job.sh", NULL});
  assert_non_null(strstr(result.out, "sbatch 'my job.sh'"));
  wo_process_done(&result);
  result = run((const char *const[]){"plain.err", "--rules", rules, "--verbose", NULL});
  assert_non_null(strstr(result.out, "export X='max_split_size_mb:`x`'\n"));
  assert_null(strstr(result.out, "echo \""));
  wo_process_done(&result);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_diagnosis), cmocka_unit_test(test_proof),    cmocka_unit_test(test_recordings),
      cmocka_unit_test(test_rules),     cmocka_unit_test(test_messages), cmocka_unit_test(test_nothing_of_a_log_is_run),
  };
  return cmocka_run_group_tests_name("shown_text", tests, make_inputs, remove_inputs);
}
