/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz target of a reader, for each row of parsers/formats/formats.def: any bytes behind a line that opens the reader. The
 * first two bytes choose that line (0 = none). Properties: what every piece of evidence must hold; chunks do not matter; CRLF and
 * LF give the same evidence. */
#include "tests/fuzz/format_leads.h"
#include "tests/fuzz/scan_target.h"
#include "tests/fuzz/targets.h"

/* The reader under test. A process tests one. */
static const struct wo_format *chosen;

/* In the order of wo_formats. */
static const char *const target_names[] = {
#define WO_FORMAT(name) "fuzz_fmt_" #name,
#include "parsers/formats/formats.def"
#undef WO_FORMAT
};

enum { BYTES_MAX = 6000, LEAD_MAX = 1024, HEAD = 2 };

/* The samples are kept by another way of loading than the one for diagnosis. Made once. */
static const struct wo_pack *samples(size_t *ret_count) {
  static struct wo_pack *pack;
  static size_t count;
  struct wo_err err;
  if (pack == NULL) {
    require(wo_pack_load_all(NULL, WO_LOAD_ALL, &pack, &err) == WO_OK);
    count = format_lead_count(pack, chosen);
    require(count > 0);
  }
  *ret_count = count;
  return pack;
}

/* Writes the lead and the data without carriage returns: those are what the second log adds. */
static struct wo_view make_log(const uint8_t *data, size_t size, char *log) {
  size_t leads = 0;
  size_t len = 0;
  const struct wo_pack *const pack = samples(&leads);
  const size_t choice = ((size_t)data[0] | (size_t)data[1] << 8) % (leads + 1);
  if (choice > 0) {
    const struct wo_view lead = *format_lead(pack, chosen, choice - 1);
    len = lead.len < LEAD_MAX ? lead.len : LEAD_MAX;
    memcpy(log, lead.ptr, len);
  }
  for (size_t i = HEAD; i < size; i++) {
    if (data[i] != '\r') log[len++] = (char)data[i];
  }
  return (struct wo_view){log, len};
}

static struct wo_view with_crlf(struct wo_view log, char *buf) {
  size_t len = 0;
  for (size_t i = 0; i < log.len; i++) {
    if (log.ptr[i] == '\n') buf[len++] = '\r';
    buf[len++] = log.ptr[i];
  }
  return (struct wo_view){buf, len};
}

/* As target_check_same; places differ by the carriage returns. */
static void check_same_evidence(const struct wo_event_store *a, const struct wo_event_store *b) {
  static char text_a[16384], text_b[16384];
  require(a->count == b->count && a->dropped == b->dropped);
  for (size_t i = 0; i < a->count; i++) {
    wo_event_to_text(&a->items[i], text_a, sizeof text_a);
    wo_event_to_text(&b->items[i], text_b, sizeof text_b);
    require(strcmp(text_a, text_b) == 0);
    require(a->items[i].of == b->items[i].of && a->items[i].is_quoted == b->items[i].is_quoted);
    require(wo_view_equal(a->items[i].text, b->items[i].text));
  }
}

bool fuzz_fmt_choose(const char *name) {
  const char *const slash = strrchr(name, '/');
  if (slash != NULL) name = slash + 1;
  for (size_t i = 0; i < sizeof target_names / sizeof *target_names; i++) {
    if (strcmp(target_names[i], name) == 0) chosen = wo_formats.items[i];
  }
  return chosen != NULL;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  if (fuzz_fmt_choose((*argv)[0])) return 0;
  fprintf(stderr, "fuzz: %s is not called fuzz_fmt_<reader>\n", (*argv)[0]);
  exit(2);
}

int fuzz_fmt_input(const uint8_t *data, size_t size) {
  static char log[LEAD_MAX + BYTES_MAX];
  static char crlf[2 * (LEAD_MAX + BYTES_MAX)];
  struct wo_event_store whole, other;
  if (size < HEAD) return 0;
  if (size > BYTES_MAX) size = BYTES_MAX;
  const struct wo_view view = make_log(data, size, log);
  const uint64_t joined_lines = target_scan(view, 0, false, &whole);
  target_check_store(&whole, view, joined_lines);
  target_scan(view, 1 + size % 61, false, &other);
  target_check_same(&whole, &other);
  wo_event_store_done(&other);
  target_scan(with_crlf(view, crlf), 0, false, &other);
  check_same_evidence(&whole, &other);
  wo_event_store_done(&other);
  wo_event_store_done(&whole);
  return 0;
}
