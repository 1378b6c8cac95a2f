/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/store/store_jobs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "parsers/base/text.h"

/* Benches use this too, without the test framework. */
static void must(bool is_true, const char *what) {
  if (is_true) return;
  fprintf(stderr, "failed: %s\n", what);
  abort();
}

static void set_texts(struct wo_store_made *made, uint32_t number) {
  static const char *const users[] = {"ada", "grace", "edsger", "barbara", "alan"};
  struct wo_row *const row = &made->job.row;
  row->path = wo_view_of(made->path);
  row->job_id = wo_view_of(made->id);
  row->user = wo_view_of(users[number % 5]);
  row->partition = WO_VIEW("gpu");
  row->nodes = wo_view_of(made->node);
  row->outcome = number % 3 == 0 ? WO_VIEW("gpu_oom") : WO_VIEW("success");
  if (number % 3 != 0) return;
  row->cause = number % 2 == 0 ? WO_VIEW("fragmentation") : WO_VIEW("micro-batch-too-large");
  row->family = WO_VIEW("memory");
  row->confidence = WO_VIEW("likely");
  row->place = WO_VIEW("train.py:forward");
  row->settings = WO_VIEW("micro_batch=32\nseq_len=4096");
  row->node = wo_view_sub(row->nodes, 0, wo_view_find_char(row->nodes, ',', 0));
}

static void set_numbers(struct wo_store_made *made, uint32_t number) {
  struct wo_row *const row = &made->job.row;
  row->is_failed = number % 3 == 0;
  row->end_ns = INT64_C(1700000000) * 1000000000 + (int64_t)number * 1000000000;
  row->gpus = 8;
  if (number % 7 != 0) row->gpu_s = 8 * (int64_t)(number % 1000);
  row->files = 2;
  row->bytes = 4096 + number;
}

void wo_store_make_job(struct wo_store_made *made, const char *folder, uint32_t number, size_t evidence_bytes) {
  made->job = (struct wo_store_job){.row = wo_row_empty(), .files = made->files, .file_count = 2, .rules = WO_VIEW("p1-r1")};
  snprintf(made->path, sizeof made->path, "%s/slurm-%07" PRIu32 ".out", folder, number);
  snprintf(made->other, sizeof made->other, "%s/slurm-%07" PRIu32 ".err", folder, number);
  snprintf(made->id, sizeof made->id, "%" PRIu32, 4000000 + number);
  snprintf(made->node, sizeof made->node, "gpu%03" PRIu32 ",gpu%03" PRIu32, number % 100, number % 100 + 1);
  set_texts(made, number);
  set_numbers(made, number);
  for (uint32_t i = 0; i < 2; i++) {
    made->files[i] = (struct wo_store_file){.path = wo_view_of(i == 0 ? made->path : made->other),
                                            .device = UINT64_MAX - 5,
                                            .inode = 1000000 + 2 * (uint64_t)number + i,
                                            .size_bytes = 4096 + number,
                                            .mtime_ns = made->job.row.end_ns,
                                            .head_hash = UINT64_C(0xfedcba9876543210) + number};
  }
  must(evidence_bytes <= sizeof made->evidence, "so much evidence");
  for (size_t i = 0; i < evidence_bytes; i++) made->evidence[i] = (char)(number + i * 7 + (i * i >> 5));
  made->job.evidence = (struct wo_view){made->evidence, evidence_bytes};
}

/* ---- A store as text ---- */

struct dump {
  struct wo_store *store;
  struct wo_text text;
  bool is_failed;
};

static void dump_parts(struct dump *dump, int64_t id) {
  struct wo_arena arena;
  wo_arena_init(&arena, (size_t)64 * 1024 * 1024);
  const struct wo_store_file *files = NULL;
  size_t count = 0;
  struct wo_view evidence = {0};
  dump->is_failed |= wo_store_files(dump->store, id, &arena, &files, &count, NULL) != WO_OK;
  dump->is_failed |= wo_store_evidence(dump->store, id, &arena, &evidence, NULL) != WO_OK;
  for (size_t i = 0; i < count; i++) {
    const struct wo_store_file *const file = &files[i];
    wo_text_add(&dump->text, " [%.*s %" PRIx64 " %" PRIx64 " %" PRId64 " %" PRId64 " %" PRIx64 " %d]", WO_SHOWN(file->path),
                file->device, file->inode, file->size_bytes, file->mtime_ns, file->head_hash, file->is_unread);
  }
  uint64_t sum = 0;
  for (size_t i = 0; i < evidence.len; i++) sum = sum * 131 + (unsigned char)evidence.ptr[i];
  wo_text_add(&dump->text, " %zu:%" PRIx64 "\n", evidence.len, sum);
  wo_arena_done(&arena);
}

static bool dump_row(void *context, int64_t id, const struct wo_row *row) {
  struct dump *const dump = context;
  for (enum wo_column_id column = 0; column < WO_COLUMN_COUNT_; column++) {
    if (wo_columns[column].type == WO_COLUMN_TEXT) {
      wo_text_add_view(&dump->text, wo_row_text(row, column));
    } else if (wo_row_number(row, column) != WO_ROW_UNKNOWN) {
      wo_text_add(&dump->text, "%" PRId64, wo_row_number(row, column));
    }
    wo_text_add(&dump->text, "|");
  }
  dump_parts(dump, id);
  return true;
}

static bool dump_answer(void *context, const struct wo_store_value *values, size_t count) {
  struct dump *const dump = context;
  for (size_t i = 0; i < count; i++) wo_text_add(&dump->text, "%.*s ", WO_SHOWN(values[i].text));
  wo_text_add(&dump->text, "\n");
  return true;
}

char *wo_store_dump(struct wo_store *store) {
  struct dump dump = {.store = store};
  dump.is_failed |= wo_store_each(store, NULL, dump_row, &dump, NULL) != WO_OK;
  static const char *const lists[] = {"SELECT path, job_node.node FROM job JOIN job_node ON job.id = job_node.job ORDER BY 1, 2",
                                      "SELECT path, message FROM problem ORDER BY 1"};
  for (size_t i = 0; i < 2; i++) dump.is_failed |= wo_store_ask(store, lists[i], NULL, 0, dump_answer, &dump, NULL) != WO_OK;
  wo_text_add(&dump.text, "end\n");
  if (!dump.is_failed && !dump.text.is_failed) return dump.text.ptr;
  wo_text_done(&dump.text);
  return NULL;
}

/* ---- Files ---- */

struct wo_store *wo_store_must_open(const char *path, enum wo_store_mode mode) {
  struct wo_store *store = NULL;
  struct wo_err err = {0};
  must(wo_store_open(path, mode, &store, &err) == WO_OK, err.message);
  return store;
}

void wo_store_fill(const char *path, const char *folder, uint32_t first, uint32_t count, int64_t start_ns) {
  struct wo_store *const store = wo_store_must_open(path, WO_STORE_WRITE);
  struct wo_store_scan scan = {.roots = wo_view_of(folder), .shard_count = 1, .rules = WO_VIEW("p1-r1"), .start_ns = start_ns};
  struct wo_err err = {0};
  struct wo_store_made *const made = malloc(sizeof *made);
  must(made != NULL, "memory");
  must(wo_store_begin_scan(store, &scan, &err) == WO_OK, err.message);
  for (uint32_t i = 0; i < count; i++) {
    if (i % 300 == 0) must(wo_store_begin(store, &err) == WO_OK, err.message);
    wo_store_make_job(made, folder, first + i, 200);
    must(wo_store_put(store, &made->job, &err) == WO_OK, err.message);
    if (i % 300 == 299 || i + 1 == count) must(wo_store_commit(store, &err) == WO_OK, err.message);
  }
  scan.end_ns = start_ns + 1000;
  scan.jobs = count;
  must(wo_store_end_scan(store, &scan, &err) == WO_OK, err.message);
  free(made);
  wo_store_close(store);
}
