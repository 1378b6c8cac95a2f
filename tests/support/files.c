/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parsers/base/vec.h"

/* Nothing that a test reads is larger. */
enum { LARGEST_FILE_BYTES = 256 * 1024 * 1024, MOST_NAMES = 10000 };

char *wo_files_read_fd(int fd, size_t *ret_len) {
  struct {
    char *items;
    size_t count, capacity;
  } text = {0};
  if (lseek(fd, 0, SEEK_SET) < 0 && errno != ESPIPE) return NULL;
  for (;;) {
    if (!WO_VEC_RESERVE(&text, 65536, LARGEST_FILE_BYTES)) break;
    const ssize_t got = read(fd, text.items + text.count, 65535);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    if (got == 0) {
      text.items[text.count] = '\0';
      *ret_len = text.count;
      return text.items;
    }
    text.count += (size_t)got;
  }
  WO_VEC_DONE(&text);
  return NULL;
}

char *wo_files_read(const char *path, size_t *ret_len) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return NULL;
  char *text = wo_files_read_fd(fd, ret_len);
  close(fd);
  return text;
}

bool wo_files_write(const char *path, struct wo_view content) {
  FILE *file = fopen(path, "wb");
  if (file == NULL) return false;
  const bool is_written = content.len == 0 || fwrite(content.ptr, 1, content.len, file) == content.len;
  return fclose(file) == 0 && is_written;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

char **wo_files_names(const char *folder, const char *suffix, size_t *ret_count) {
  struct {
    char **items;
    size_t count, capacity;
  } names = {0};
  *ret_count = 0;
  DIR *dir = opendir(folder);
  if (dir == NULL) return NULL;
  for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
    if (entry->d_name[0] == '.' || !wo_view_ends(wo_view_of(entry->d_name), suffix)) continue;
    char *name = strdup(entry->d_name);
    if (name == NULL || !WO_VEC_RESERVE(&names, 1, MOST_NAMES)) {
      free(name);
      break;
    }
    names.items[names.count++] = name;
  }
  closedir(dir);
  if (names.count > 0) qsort(names.items, names.count, sizeof names.items[0], compare_names);
  *ret_count = names.count;
  return names.items;
}

void wo_files_free_names(char **names, size_t count) {
  for (size_t i = 0; i < count; i++) free(names[i]);
  free(names);
}

bool wo_files_scratch(char *buf, size_t cap) {
  const char *parent = getenv("TMPDIR");
  const int len = snprintf(buf, cap, "%s/whyoom-test-XXXXXX", parent != NULL && parent[0] != '\0' ? parent : "/tmp");
  return len > 0 && (size_t)len < cap && mkdtemp(buf) != NULL;
}

void wo_files_remove_scratch(const char *folder) {
  size_t count = 0;
  char **names = wo_files_names(folder, "", &count);
  for (size_t i = 0; i < count; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    if (unlink(path) != 0) rmdir(path);
  }
  wo_files_free_names(names, count);
  rmdir(folder);
}
