/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz targets without libFuzzer: replays the files of the folders (or the files) given as arguments, then tries a fixed
 * number of deterministic mutations of them, or as many as fit into a few seconds. So every finding that is added to the corpus
 * stays a regression test, and every ordinary test run fuzzes a little. Each input is an allocation of exactly its size, so that
 * AddressSanitizer sees one byte too many.
 *
 *   wo_fuzz_replay [--seeds-only] TARGET [FOLDER|FILE]...     --seeds-only: no mutations, where libFuzzer makes better ones */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "tests/fuzz/targets.h"

/* A header that the build makes of the files' names: WO_FUZZ(name) for each. */
#define WO_FUZZ(name) int name##_input(const uint8_t *data, size_t size);
#include WO_FUZZ_LIST
#undef WO_FUZZ

/* The many targets of readers are given less time. */
enum { SEEDS_MAX = 1024, MUTATIONS = 2000, MUTATION_SECONDS = 5, FORMAT_MUTATION_SECONDS = 2, PATH_SIZE = 4096 };

/* Larger files are no seeds. */
#define SEED_MAX_BYTES ((size_t)1 << 20)

struct seed {
  uint8_t *data;
  size_t size;
};

struct target {
  const char *name;
  int (*input)(const uint8_t *data, size_t size);
  int mutation_seconds;
};

static const struct target targets[] = {
#define WO_FUZZ(name) {#name, name##_input, MUTATION_SECONDS},
#include WO_FUZZ_LIST
#undef WO_FUZZ
};

struct corpus {
  struct seed seeds[SEEDS_MAX];
  size_t count;
};

static void *must_alloc(size_t size) {
  void *const ptr = calloc(size == 0 ? 1 : size, 1);
  if (ptr == NULL) {
    fprintf(stderr, "fuzz: out of memory\n");
    exit(2);
  }
  return ptr;
}

/* Runs the target over an exact-size copy. */
static void run_one(const struct target *target, const uint8_t *data, size_t size) {
  uint8_t *const copy = must_alloc(size);
  if (size > 0) memcpy(copy, data, size);
  target->input(copy, size);
  free(copy);
}

/* ---- Seeds ---- */

static void add_file(struct corpus *corpus, const char *path, size_t size) {
  if (corpus->count == SEEDS_MAX || size > SEED_MAX_BYTES) {
    fprintf(stderr, "fuzz: %s left out (too large, or too many seeds)\n", path);
    return;
  }
  FILE *const file = fopen(path, "rb");
  if (file == NULL) {
    fprintf(stderr, "fuzz: %s: %s\n", path, strerror(errno));
    exit(2);
  }
  struct seed *const seed = &corpus->seeds[corpus->count++];
  seed->data = must_alloc(size);
  seed->size = fread(seed->data, 1, size, file);
  fclose(file);
}

static void add_folder(struct corpus *corpus, const char *path);

/* Adds a regular file, or the files of a folder one level down. */
static void add_path(struct corpus *corpus, const char *path, bool is_nested) {
  struct stat info;
  if (stat(path, &info) != 0) {
    printf("fuzz: no corpus at %s\n", path);
  } else if (S_ISREG(info.st_mode)) {
    add_file(corpus, path, (size_t)info.st_size);
  } else if (S_ISDIR(info.st_mode) && !is_nested) {
    add_folder(corpus, path);
  }
}

static int not_hidden(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

/* In the order of the names, so that every run does the same. */
static void add_folder(struct corpus *corpus, const char *path) {
  struct dirent **entries = NULL;
  const int count = scandir(path, &entries, not_hidden, alphasort);
  for (int i = 0; i < count; i++) {
    char name[PATH_SIZE];
    const int len = snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
    if (len > 0 && len < PATH_SIZE) add_path(corpus, name, true);
    free(entries[i]);
  }
  free(entries);
}

/* ---- Mutations ---- */

/* Marsaglia's xorshift64: the same numbers on every machine. */
static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static size_t below(uint64_t *state, size_t end) {
  return end == 0 ? 0 : (size_t)(next_random(state) % end);
}

/* Moves the bytes from `at` on by one place and puts a random byte there. */
static void insert_byte(struct seed *seed, size_t at, uint64_t *state) {
  memmove(seed->data + at + 1, seed->data + at, seed->size - at);
  seed->data[at] = (uint8_t)next_random(state);
  seed->size++;
}

/* Removes up to 16 bytes from `at` on. */
static void remove_bytes(struct seed *seed, size_t at, uint64_t *state) {
  size_t count = 1 + below(state, 16);
  if (count > seed->size - at) count = seed->size - at;
  memmove(seed->data + at, seed->data + at + count, seed->size - at - count);
  seed->size -= count;
}

/* Copies some bytes of the seed over others. */
static void repeat_bytes(struct seed *seed, size_t at, uint64_t *state) {
  const size_t from = below(state, seed->size);
  const size_t longer = at > from ? at : from;
  memmove(seed->data + at, seed->data + from, below(state, seed->size - longer) + 1);
}

/* One change at a random place. The storage has room for one more byte. */
static void mutate_once(struct seed *seed, uint64_t *state) {
  static const char telling[] = "0123456789.,-+eExX:TZ \n\r\\nKMGTPiB\0\x1f\x8b\xff/\"{}[]()";
  const size_t at = below(state, seed->size);
  if (seed->size == 0) {
    insert_byte(seed, 0, state);
    return;
  }
  switch (next_random(state) % 6) {
  case 0:
    seed->data[at] ^= (uint8_t)(1u << below(state, 8));
    break;
  case 1:
    seed->data[at] = (uint8_t)telling[below(state, sizeof telling - 1)];
    break;
  case 2:
    insert_byte(seed, at, state);
    break;
  case 3:
    remove_bytes(seed, at, state);
    break;
  case 4:
    repeat_bytes(seed, at, state);
    break;
  default:
    seed->size = at;
    break;
  }
}

/* A mutated copy of one seed: some changes, then a run. */
static void run_mutation(const struct target *target, const struct seed *seed, uint64_t *state) {
  const size_t changes = 1 + below(state, 8);
  struct seed copy = {.data = must_alloc(seed->size + changes), .size = seed->size};
  if (seed->size > 0) memcpy(copy.data, seed->data, seed->size);
  for (size_t i = 0; i < changes; i++) mutate_once(&copy, state);
  run_one(target, copy.data, copy.size);
  free(copy.data);
}

/* The target of that name; of no name when there is none. */
static struct target find_target(const char *name) {
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
    if (strcmp(targets[i].name, name) == 0) return targets[i];
  }
  if (fuzz_fmt_choose(name)) return (struct target){name, fuzz_fmt_input, FORMAT_MUTATION_SECONDS};
  return (struct target){NULL, NULL, 0};
}

/* Runs the seeds, then mutations of them. Returns how many inputs there were. */
static size_t run_corpus(const struct target *target, struct corpus *corpus) {
  size_t inputs = corpus->count;
  for (size_t i = 0; i < corpus->count; i++) run_one(target, corpus->seeds[i].data, corpus->seeds[i].size);
  /* Without any seed the mutations start from nothing. */
  if (corpus->count == 0) corpus->seeds[corpus->count++] = (struct seed){.data = must_alloc(0), .size = 0};
  uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
  const clock_t end = clock() + (clock_t)target->mutation_seconds * CLOCKS_PER_SEC;
  for (size_t i = 0; i < MUTATIONS && clock() < end; i++, inputs++) {
    run_mutation(target, &corpus->seeds[below(&state, corpus->count)], &state);
  }
  return inputs;
}

int main(int argc, char **argv) {
  static struct corpus corpus;
  const int first = argc >= 2 && strcmp(argv[1], "--seeds-only") == 0 ? 2 : 1;
  struct target target = find_target(first < argc ? argv[first] : "");
  if (target.name == NULL) {
    fprintf(stderr,
            "usage: wo_fuzz_replay [--seeds-only] TARGET [FOLDER|FILE]...   with a target of tests/fuzz, or fuzz_fmt_<reader>\n");
    return 2;
  }
  if (first == 2) target.mutation_seconds = 0;
  for (int i = first + 1; i < argc; i++) add_path(&corpus, argv[i], false);
  const size_t inputs = run_corpus(&target, &corpus);
  for (size_t i = 0; i < corpus.count; i++) free(corpus.seeds[i].data);
  printf("fuzz: %zu inputs\n", inputs);
  return 0;
}
