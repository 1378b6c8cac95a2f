/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a model. See model_config.h. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/model/model_config.h"
#include "parsers/base/view.h"

/* Reads `size` bytes into a new copy, which ends with a NUL; NULL with *err set. */
static char *read_bytes(FILE *file, size_t size, struct wo_err *err) {
  char *const copy = malloc(size + 1);
  if (!copy) {
    wo_err_set(err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
    return NULL;
  }
  if (fread(copy, 1, size, file) != size) {
    wo_err_set(err, WO_E_SYNTAX, "it ends before the %zu bytes that were expected", size);
    free(copy);
    return NULL;
  }
  copy[size] = '\0';
  return copy;
}

static bool ends_with(const char *name, const char *end) {
  return wo_view_ends(wo_view_of(name), end);
}

/* The name that transformers gives it. In two parts, as the id of a knob would begin like it. */
static bool is_config(const char *name) {
  return wo_view_starts(wo_view_of(name), "config") && strcmp(name + strlen("config"), ".json") == 0;
}

static enum wo_status read_config(FILE *file, struct wo_arena *arena, struct wo_model_shape *shape, struct wo_err *err) {
  struct stat about;
  if (fstat(fileno(file), &about) != 0 || !S_ISREG(about.st_mode))
    return wo_err_set(err, WO_E_KIND, "%s", wo_status_text(WO_E_KIND));
  if ((size_t)about.st_size > WO_LIMIT_MODEL_CONFIG_BYTES)
    return wo_err_set(err, WO_E_LIMIT, "it is larger than %zu bytes: no config.json", WO_LIMIT_MODEL_CONFIG_BYTES);
  char *const text = read_bytes(file, (size_t)about.st_size, err);
  if (!text) return err->code;
  const enum wo_status status = wo_model_config_read((struct wo_view){text, (size_t)about.st_size}, arena, shape, err);
  free(text);
  return status;
}

/* The first 8 bytes are the length of the header, little-endian. */
static enum wo_status read_tensors(FILE *file, struct wo_model_tensors *tensors, struct wo_err *err) {
  unsigned char front[8];
  if (fread(front, 1, sizeof front, file) != sizeof front) return wo_err_set(err, WO_E_SYNTAX, "it is shorter than 8 bytes");
  size_t size = 0;
  for (int i = 7; i >= 0; i--) size = size << 8 | front[i];
  if (size > WO_LIMIT_TENSORS_HEADER_BYTES)
    return wo_err_set(err, WO_E_LIMIT, "its header would be of %zu bytes, at most %zu are read", size,
                      WO_LIMIT_TENSORS_HEADER_BYTES);
  char *const text = read_bytes(file, size, err);
  if (!text) return err->code;
  const enum wo_status status = wo_model_tensors_add((struct wo_view){text, size}, tensors, err);
  free(text);
  return status;
}

/* One file, by its name. */
static enum wo_status read_file(const char *path, struct wo_arena *arena, struct wo_model_shape *shape,
                                struct wo_model_tensors *tensors, struct wo_err *err) {
  struct stat about;
  if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) { /* opening a pipe would wait */
    wo_err_set(err, WO_E_KIND, "%s", wo_status_text(WO_E_KIND));
    wo_err_place(err, path, 0, 0, 0);
    return WO_E_KIND;
  }
  FILE *const file = fopen(path, "rbe");
  if (!file) {
    wo_err_set(err, WO_E_IO, "cannot be read: %s", strerror(errno));
    wo_err_place(err, path, 0, 0, 0);
    return WO_E_IO;
  }
  struct wo_err inner = {.code = WO_OK};
  const enum wo_status status =
      ends_with(path, ".safetensors") ? read_tensors(file, tensors, &inner) : read_config(file, arena, shape, &inner);
  fclose(file);
  if (status == WO_OK) return WO_OK;
  *err = inner;
  wo_err_place(err, path, 0, 0, 0);
  return status;
}

/* The same weights once more in another layout, or adapters. */
static bool is_beside(const char *name) {
  const struct wo_view view = wo_view_of(name);
  return wo_view_starts(view, "consolidated.") || wo_view_starts(view, "adapter_model");
}

static enum wo_status read_folder(const char *path, struct wo_arena *arena, struct wo_model_shape *shape,
                                  struct wo_model_tensors *tensors, struct wo_err *err) {
  DIR *const folder = opendir(path);
  if (!folder) return wo_err_set(err, WO_E_IO, "%s: %s", path, wo_status_text(WO_E_IO));
  enum wo_status status = WO_OK;
  size_t count = 0;
  for (const struct dirent *entry; status == WO_OK && (entry = readdir(folder)) != NULL;) {
    if (!is_config(entry->d_name) && !ends_with(entry->d_name, ".safetensors")) continue;
    if (is_beside(entry->d_name)) continue;
    const size_t size = strlen(path) + strlen(entry->d_name) + 2;
    char *const whole = malloc(size);
    if (!whole) {
      status = wo_err_set(err, WO_E_NOMEM, "%s", wo_status_text(WO_E_NOMEM));
      break;
    }
    snprintf(whole, size, "%s/%s", path, entry->d_name);
    status = ++count > WO_LIMIT_TENSORS_FILES
                 ? wo_err_set(err, WO_E_LIMIT, "%s: more than %d files of weights", path, WO_LIMIT_TENSORS_FILES)
                 : read_file(whole, arena, shape, tensors, err);
    free(whole);
  }
  closedir(folder);
  if (status == WO_OK && count == 0)
    return wo_err_set(err, WO_E_IO, "%s: no config.json and no safetensors file are in this folder", path);
  return status;
}

enum wo_status wo_model_path_read(const char *path, struct wo_arena *arena, struct wo_model_shape *ret_shape,
                                  struct wo_model_tensors *ret_tensors, struct wo_err *err) {
  assert(path && arena && ret_shape && ret_tensors && err);
  struct stat about;
  *ret_shape = (struct wo_model_shape){.layers = 0};
  *ret_tensors = (struct wo_model_tensors){.parameters = 0};
  if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) return read_folder(path, arena, ret_shape, ret_tensors, err);
  return read_file(path, arena, ret_shape, ret_tensors, err);
}
