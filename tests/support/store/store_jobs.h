/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of a made-up archive, for tests of stores. */
#ifndef WO_TEST_STORE_JOBS_H
#define WO_TEST_STORE_JOBS_H

#include "analyzer/store/store.h"

/* A job with the storage of its texts. */
struct wo_store_made {
  char path[64], other[64], id[24], node[48], evidence[1500];
  struct wo_store_file files[2];
  struct wo_store_job job;
};

/* Fills *made with job number `number` of an archive in `folder`: two files, two nodes, every third one failed, `evidence_bytes`
 * of packed evidence. The same every time. */
void wo_store_make_job(struct wo_store_made *made, const char *folder, uint32_t number, size_t evidence_bytes);

/* A line for each job of the store, with its files, nodes and evidence, to be released with free. Equal stores give equal text.
 * NULL after a failure. */
char *wo_store_dump(struct wo_store *store);

/* A store in a file, that must open / with the first `count` jobs of a folder, put by one scan that began at start_ns. */
struct wo_store *wo_store_must_open(const char *path, enum wo_store_mode mode);
void wo_store_fill(const char *path, const char *folder, uint32_t first, uint32_t count, int64_t start_ns);

#endif
