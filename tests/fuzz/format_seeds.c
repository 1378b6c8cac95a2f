/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the seeds of the readers' fuzz targets: format_seeds FOLDER TABLE... writes FOLDER/fuzz_fmt_<name>/<seed> for each row of
 * parsers/formats/formats.def, from the leads (format_leads.h) and from the logs of the table tests in which the reader found
 * evidence.
 */
#include <sys/stat.h>

#include "parsers/scan/scan.h"
#include "tests/fuzz/format_leads.h"
#include "tests/support/table.h"

enum { SEEDS_MAX = 60, LEAD_SEEDS_MAX = 30, PATH_SIZE = 4096 };

static const char *const names[] = {
#define WO_FORMAT(name) #name,
#include "parsers/formats/formats.def"
#undef WO_FORMAT
};

struct maker {
  const char *folder;
  struct wo_pack *pack;
  struct wo_pattern_set *set;
  size_t counts[sizeof names / sizeof names[0]];
};

static void must(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "format_seeds: %s\n", what);
  exit(1);
}

/* A seed is the number of its lead in two bytes, and what stands behind the lead. */
static void write_seed(struct maker *maker, size_t format, size_t lead, struct wo_view log) {
  char path[PATH_SIZE];
  if (maker->counts[format] == SEEDS_MAX) return;
  snprintf(path, sizeof path, "%s/fuzz_fmt_%s/%03zu", maker->folder, names[format], maker->counts[format]++);
  FILE *const file = fopen(path, "wb");
  must(file != NULL, path);
  const unsigned char head[2] = {(unsigned char)(lead & 0xff), (unsigned char)(lead >> 8)};
  must(fwrite(head, 1, sizeof head, file) == sizeof head && fwrite(log.ptr, 1, log.len, file) == log.len, path);
  must(fclose(file) == 0, path);
}

static void add_leads(struct maker *maker, size_t format) {
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s/fuzz_fmt_%s", maker->folder, names[format]);
  must(mkdir(path, 0777) == 0, path);
  const size_t count = format_lead_count(maker->pack, wo_formats.items[format]);
  for (size_t lead = 1; lead <= count && lead <= LEAD_SEEDS_MAX; lead++) write_seed(maker, format, lead, WO_VIEW("\n"));
}

static const struct wo_pattern *pattern_of(const struct maker *maker, const struct wo_event *event) {
  for (size_t i = 0; i < maker->pack->pattern_count; i++) {
    if (wo_view_equal(maker->pack->patterns[i].id, event->pattern_id)) return &maker->pack->patterns[i];
  }
  return NULL;
}

static bool is_read_by(const struct maker *maker, const struct wo_event_store *store, const struct wo_format *format) {
  for (size_t i = 0; i < store->count; i++) {
    const struct wo_pattern *const pattern = pattern_of(maker, &store->items[i]);
    if (pattern != NULL && wo_view_is(pattern->reader, format->name)) return true;
  }
  return false;
}

static void add_log(struct maker *maker, struct wo_view log) {
  struct wo_event_store store;
  struct wo_scan *scan = NULL;
  struct wo_scan_summary summary;
  wo_event_store_init(&store);
  must(wo_scan_new(maker->set, &wo_formats, &store, (struct wo_scan_options){.rank = WO_RANK_UNKNOWN}, &scan) == WO_OK,
       "no memory");
  must(wo_scan_feed(scan, log.ptr, log.len) == WO_OK && wo_scan_end(scan, &summary) == WO_OK, "no memory");
  wo_scan_free(scan);
  for (size_t i = 0; i < wo_formats.count; i++) {
    if (is_read_by(maker, &store, wo_formats.items[i])) write_seed(maker, i, 0, log);
  }
  wo_event_store_done(&store);
}

int main(int argc, char **argv) {
  struct maker maker = {.folder = argc > 1 ? argv[1] : ""};
  struct wo_err err;
  char complaint[512];
  must(argc > 2, "usage: format_seeds FOLDER TABLE...");
  must(mkdir(maker.folder, 0777) == 0, maker.folder);
  must(wo_pack_load_all(NULL, WO_LOAD_ALL, &maker.pack, &err) == WO_OK, "rule packs");
  must(wo_pattern_set_new(maker.pack->patterns, maker.pack->pattern_count, NULL, &maker.set) == WO_OK, "no memory");
  for (size_t i = 0; i < wo_formats.count; i++) add_leads(&maker, i);
  for (int i = 2; i < argc; i++) {
    struct wo_table table;
    must(wo_table_read(argv[i], &table, complaint, sizeof complaint), complaint);
    for (size_t j = 0; j < table.count; j++) add_log(&maker, table.items[j].log);
    wo_table_done(&table);
  }
  wo_pattern_set_free(maker.set);
  wo_pack_free(maker.pack);
  return 0;
}
