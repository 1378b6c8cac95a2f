/* SPDX-License-Identifier: Apache-2.0 */
/* Paths, component by component: words about software stay, all others are replaced. See pseudonyms_internal.h. */
#include <string.h>

#include "parsers/base/anonymize/pseudonyms_internal.h"

/* ---- One component ---- */

/* End of the word at `at`: letters and digits. */
static size_t word_end(struct wo_view text, size_t at) {
  while (at < text.len && wo__is_name_byte(text.ptr[at])) at++;
  return at;
}

/* End of a run of unknown words that begins at `at`, with what is between them; a known word or name ends it. */
static size_t unknown_end(const struct wo_pseudonyms *p, struct wo_view text, size_t at) {
  size_t end = word_end(text, at);
  for (size_t next = end; next < text.len;) {
    struct wo_view shown;
    while (next < text.len && !wo__is_name_byte(text.ptr[next])) next++;
    const size_t next_end = word_end(text, next);
    if (next == next_end || wo__find_name(p, text, next, &shown) > 0) break;
    if (wo_known_word(wo_view_sub(text, next, next_end))) break;
    end = next = next_end;
  }
  return end;
}

static void add_component(struct wo_pseudonyms *p, enum wo_name_kind kind, struct wo_view text, struct wo_text *out) {
  for (size_t at = 0; at < text.len;) {
    const size_t end = word_end(text, at);
    struct wo_view shown;
    const size_t named = end > at ? wo__find_name(p, text, at, &shown) : 0;
    if (named > 0) {
      wo_text_add_view(out, shown);
      at += named;
    } else if (end == at || wo_known_word(wo_view_sub(text, at, end))) {
      const size_t stop = end == at ? at + 1 : end;
      wo_text_add_view(out, wo_view_sub(text, at, stop));
      at = stop;
    } else {
      const size_t stop = unknown_end(p, text, at);
      wo_text_add_view(out, wo__pseudonym(p, kind, wo_view_sub(text, at, stop)));
      at = stop;
    }
  }
}

/* ---- Paths ---- */

/* Bytes of a separator at a place, or 0: "/", "\", and both as URLs have them. */
static size_t separator(struct wo_view text, size_t at) {
  const struct wo_view rest = wo_view_skip(text, at);
  if (rest.len == 0) return 0;
  if (rest.ptr[0] == '/' || rest.ptr[0] == '\\') return 1;
  return wo_view_starts_nocase(rest, "%2f") || wo_view_starts_nocase(rest, "%5c") ? 3 : 0;
}

/* What is behind the name of the last folder, where it says whose or which the next one is. */
enum place { ANYWHERE, BELOW_HOMES, BELOW_PACKAGES, BELOW_LIB, BELOW_PYTHON, VERBATIM };

/* "python3.10", and not "python", which a folder of the user's may be called. */
static bool is_python(struct wo_view name) {
  if (!wo_view_starts(name, "python") || name.len == sizeof "python" - 1) return false;
  for (size_t i = sizeof "python" - 1; i < name.len; i++) {
    if (!wo_is_digit(name.ptr[i]) && name.ptr[i] != '.') return false;
  }
  return true;
}

static enum place place_below(enum place place, struct wo_view name) {
  static const char *const homes[] = {"home", "users", "homes", "people", "u"};
  static const char *const packages[] = {"site-packages", "dist-packages"};
  if (place == VERBATIM) return VERBATIM;
  if (WO_VIEW_ANY(name, wo_view_is, packages)) return BELOW_PACKAGES;
  if (place == BELOW_PACKAGES) return wo_known_package(name) ? VERBATIM : ANYWHERE;
  if (place == BELOW_PYTHON) return wo_known_name(name) ? VERBATIM : ANYWHERE; /* the standard library */
  if (WO_VIEW_ANY(name, wo_view_is_nocase, homes)) return BELOW_HOMES;
  if (wo_view_is(name, "lib") || wo_view_is(name, "lib64")) return BELOW_LIB;
  return place == BELOW_LIB && is_python(name) ? BELOW_PYTHON : ANYWHERE;
}

static void add_place(struct wo_pseudonyms *p, enum place place, struct wo_view name, bool is_last, bool is_first,
                      struct wo_text *out) {
  const bool is_home = is_first && name.len > 1 && name.ptr[0] == '~';
  const bool is_file = is_last && wo_known_file_ending(name);
  if (name.len == 0 || place == VERBATIM) {
    wo__add_words(p, name, out);
  } else if (is_home) {
    wo_text_add(out, "~");
    wo_pseudonyms_add_name(p, WO_NAME_OF_USER, wo_view_skip(name, 1), out);
  } else if (place == BELOW_HOMES && !is_file && wo__is_name_byte(name.ptr[0])) {
    wo_pseudonyms_add_name(p, WO_NAME_OF_USER, name, out);
  } else {
    add_component(p, is_file ? WO_NAME_OF_FILE : WO_NAME_OF_FOLDER, name, out);
  }
}

/* "torch/nn/modules/module.py", as builds and profilers name the files of packages: nothing in it is the user's. Packages that
 * are called as folders of anybody's ("datasets") are not meant, nor files other than sources. */
static bool is_in_package(struct wo_view path) {
  static const char *const common[] = {"datasets", "ray", "composer", "apex", "lightning", "nvidia"};
  static const char *const sources[] = {".py", ".pyx", ".h", ".hpp", ".cuh", ".cu", ".c", ".cc", ".cpp"};
  const size_t slash = wo_view_find_char(path, '/', 0);
  const struct wo_view package = wo_view_sub(path, 0, slash);
  return slash != WO_NOT_FOUND && wo_known_package(package) && !WO_VIEW_ANY(package, wo_view_is, common) &&
         WO_VIEW_ANY(path, wo_view_ends, sources);
}

void wo__add_shown_path(struct wo_pseudonyms *p, struct wo_view path, struct wo_text *out) {
  enum place place = is_in_package(path) ? VERBATIM : ANYWHERE;
  for (size_t at = 0; at < path.len;) {
    const size_t begin = at;
    size_t end = at;
    while (end < path.len && separator(path, end) == 0) end++;
    const struct wo_view name = wo_view_sub(path, begin, end);
    add_place(p, place_below(place, name) == VERBATIM ? VERBATIM : place, name, end == path.len, begin == 0, out);
    if (name.len > 0) place = place_below(place, name);
    const size_t len = separator(path, end);
    wo_text_add_view(out, wo_view_sub(path, end, end + len));
    at = end + len;
  }
}

void wo_pseudonyms_add_path(struct wo_pseudonyms *p, struct wo_view path, struct wo_text *out) {
  wo__add_shown_path(p, path, out);
}

/* "meta-llama/Llama-3.1-8B": the model decides the arithmetic. */
static bool is_published_model(struct wo_view chunk) {
  const size_t slash = wo_view_find_char(chunk, '/', 0);
  if (slash == WO_NOT_FOUND || slash == 0 || wo_view_find_char(chunk, '/', slash + 1) != WO_NOT_FOUND) return false;
  return wo_known_publisher(wo_view_sub(chunk, 0, slash));
}

/* Backslashes are those of Windows behind a drive, or doubled; a single one begins an escape. */
bool wo__is_path(struct wo_view chunk, char before) {
  if (is_published_model(chunk)) return false;
  if (wo_view_find_char(chunk, '/', 0) != WO_NOT_FOUND || wo_view_has_nocase(chunk, "%2f")) return true;
  if (wo_view_has(chunk, "\\\\") || (before == ':' && chunk.len > 1 && chunk.ptr[0] == '\\')) return true;
  if (chunk.len > 1 && chunk.ptr[0] == '~' && wo__is_name_byte(chunk.ptr[1]) && !wo_is_digit(chunk.ptr[1])) return true;
  return wo_known_file_ending(chunk);
}
