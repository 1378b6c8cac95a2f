/* SPDX-License-Identifier: Apache-2.0 */
/* Texts: cut into chunks, each of which is a name, a path, a secret or plain words. See pseudonyms_internal.h. */
#include <string.h>

#include "parsers/base/anonymize/pseudonyms_internal.h"

/* A text that is being rewritten. */
struct writer {
  struct wo_pseudonyms *p;
  struct wo_view text;
  size_t at;
  size_t *marks;
  size_t mark_count, marked;
  bool is_batch; /* a line of a batch script: options of one letter are those of sbatch */
  struct wo_text *out;
};

/* What chunks consist of: words, and what is inside paths and addresses. */
static bool is_chunk_byte(char c) {
  return wo__is_name_byte(c) || (c != '\0' && strchr("_-./\\~%@+$#", c));
}

static bool is_quote(char c) {
  return c == '"' || c == '\'' || c == '`';
}

/* The chunk at `at`, without the full stops of a sentence. */
static struct wo_view chunk_at(struct wo_view text, size_t at) {
  size_t end = at;
  while (end < text.len && is_chunk_byte(text.ptr[end])) end++;
  size_t cut = end;
  while (cut > at && text.ptr[cut - 1] == '.') cut--;
  return wo_view_sub(text, at, cut > at ? cut : end);
}

/* Marks up to an offset of the text become the place that is written now. */
static void set_marks(struct writer *w, size_t until) {
  while (w->marked < w->mark_count && w->marks[w->marked] <= until) w->marks[w->marked++] = w->out->len;
}

/* ---- Values of fields ---- */

/* The offset of the value that follows a key at `at`: behind "=" or ":", blanks and a quote; behind one blank for an option.
 * WO_NOT_FOUND: none. */
static size_t value_after(struct wo_view text, size_t at, bool is_option) {
  const size_t begin = at;
  if (at < text.len && is_quote(text.ptr[at])) at++;
  while (at < text.len && text.ptr[at] == ' ') at++;
  const bool has_mark = at < text.len && (text.ptr[at] == '=' || text.ptr[at] == ':');
  if (has_mark) at++;
  if (!has_mark && !(is_option && at > begin)) return WO_NOT_FOUND;
  while (at < text.len && text.ptr[at] == ' ') at++;
  if (at < text.len && (is_quote(text.ptr[at]) || text.ptr[at] == '\\')) at++;
  if (at < text.len && is_quote(text.ptr[at])) at++;
  return at < text.len && wo__is_name_byte(text.ptr[at]) ? at : WO_NOT_FOUND;
}

/* Lists of hosts have commas and brackets in them. */
static struct wo_view value_at(struct wo_view text, size_t at, enum wo_name_kind kind) {
  size_t end = at;
  bool is_inside = false;
  while (end < text.len && !wo_is_space(text.ptr[end]) && !is_quote(text.ptr[end])) {
    const char c = text.ptr[end];
    is_inside = kind == WO_NAME_OF_HOST && (c == '[' || (is_inside && c != ']'));
    if (strchr(kind == WO_NAME_OF_SECRET ? ";)}>\\" : ",;()}]>\\&:", c) && !is_inside && c != ']' &&
        !(c == ',' && kind == WO_NAME_OF_HOST))
      break;
    if (c == ']' && kind != WO_NAME_OF_HOST) break;
    end++;
  }
  while (end > at && strchr(",.", text.ptr[end - 1])) end--;
  return wo_view_sub(text, at, end);
}

static bool has(struct wo_view text, bool (*fits)(char)) {
  for (size_t i = 0; i < text.len; i++) {
    if (fits(text.ptr[i])) return true;
  }
  return false;
}

/* What stands where a secret would be, and is none: "api_key=None", "token: str". */
static bool is_no_secret(struct wo_view value) {
  static const char *const words[] = {"none",     "null",     "true", "false", "str", "string",
                                      "required", "optional", "not",  "is",    "was"};
  return value.len == 0 || WO_VIEW_ANY(value, wo_view_is_nocase, words);
}

/* Words after "user:" and "host =" are often none of the kind: chats, devices, numbers. */
static bool is_value_of(enum wo_name_kind kind, struct wo_view value, bool is_sure) {
  if (kind == WO_NAME_OF_SECRET) return !is_no_secret(value);
  if (value.len < 2 || wo_view_find_char(value, '/', 0) != WO_NOT_FOUND) return false;
  if (!has(value, wo_is_alpha)) return false;
  if (is_sure) return true;
  if (kind == WO_NAME_OF_HOST)
    return (has(value, wo_is_digit) || wo_view_find_char(value, '.', 0) != WO_NOT_FOUND) && value.len > 2;
  if (kind == WO_NAME_OF_USER && wo_is_alpha(value.ptr[0]) && wo_lower(value.ptr[0]) != value.ptr[0]) return false;
  return !wo_known_name(value);
}

/* Keys that hold a name whatever it looks like: those of SLURM. */
static bool is_sure_key(struct wo_view key, bool is_batch) {
  static const char *const keys[] = {
      "JobName",        "UserId",         "Account",        "NodeList",          "ReqNodeList",
      "BatchHost",      "NodeName",       "job-name",       "job_name",          "account",
      "nodelist",       "SLURM_JOB_NAME", "SLURM_JOB_USER", "SLURM_JOB_ACCOUNT", "SLURM_JOB_NODELIST",
      "SLURM_NODELIST", "SLURMD_NODENAME"};
  while (key.len > 0 && key.ptr[0] == '-') key = wo_view_skip(key, 1);
  return is_batch || WO_VIEW_ANY(key, wo_view_is, keys);
}

static enum wo_name_kind kind_of_key(const struct writer *w, struct wo_view key) {
  if (w->is_batch && wo_view_is(key, "-A")) return WO_NAME_OF_ACCOUNT;
  if (w->is_batch && wo_view_is(key, "-J")) return WO_NAME_OF_JOB;
  if (w->is_batch && wo_view_is(key, "-w")) return WO_NAME_OF_HOST;
  if (w->is_batch && wo_view_is(key, "-p")) return WO_NAME_OF_PARTITION;
  if (wo_view_is(key, "as") && wo_view_ends(wo_view_sub(w->text, 0, w->at), "logged in as")) return WO_NAME_OF_USER;
  return wo_pseudonyms_key_kind(key);
}

/* The value behind a key that was just written, if it is a name. */
static void add_value(struct writer *w, struct wo_view key) {
  const enum wo_name_kind kind = kind_of_key(w, key);
  if (kind == WO_NAME_OF_NOTHING) return;
  const size_t at = value_after(w->text, w->at, key.ptr[0] == '-');
  if (at == WO_NOT_FOUND) return;
  const struct wo_view value = value_at(w->text, at, kind);
  if (!is_value_of(kind, value, is_sure_key(key, w->is_batch))) return;
  wo_text_add_view(w->out, wo_view_sub(w->text, w->at, at));
  set_marks(w, at);
  if (kind == WO_NAME_OF_HOST)
    wo_pseudonyms_add_hosts(w->p, value, w->out);
  else
    wo_pseudonyms_add_name(w->p, kind, value, w->out);
  w->at = at + value.len;
}

/* "-Jname", "-Aproject": an option of sbatch and its value in one word. */
static bool add_glued_option(struct writer *w, struct wo_view chunk) {
  const struct wo_view key = wo_view_sub(chunk, 0, 2), value = wo_view_skip(chunk, 2);
  if (!w->is_batch || value.len == 0 || chunk.ptr[0] != '-' || chunk.ptr[1] == '-') return false;
  const enum wo_name_kind kind = kind_of_key(w, key);
  if (kind == WO_NAME_OF_NOTHING) return false;
  wo_text_add_view(w->out, key);
  if (kind == WO_NAME_OF_HOST)
    wo_pseudonyms_add_hosts(w->p, value, w->out);
  else
    wo_pseudonyms_add_name(w->p, kind, value, w->out);
  return true;
}

/* "Bearer ..." is a secret whatever its form. */
static void add_bearer(struct writer *w, struct wo_view key) {
  if (!wo_view_is_nocase(key, "bearer") || w->at >= w->text.len || w->text.ptr[w->at] != ' ') return;
  const struct wo_view value = value_at(w->text, w->at + 1, WO_NAME_OF_SECRET);
  if (value.len < 8 || wo_known_name(value)) return;
  wo_text_add(w->out, " ");
  wo_text_add_view(w->out, wo__pseudonym(w->p, WO_NAME_OF_SECRET, value));
  w->at += 1 + value.len;
}

/* ---- Chunks ---- */

/* What numbers with dots follow in the names of releases. */
static bool is_version(const struct writer *w) {
  const char before = w->at > 0 ? w->text.ptr[w->at - 1] : ' ';
  if (before == '=' && w->at > 1 && w->text.ptr[w->at - 2] == '=') return true;
  const struct wo_view words = wo_view_sub(w->text, w->at > 12 ? w->at - 12 : 0, w->at);
  return wo_view_has_nocase(words, "version") || wo_view_has_nocase(words, "release");
}

static int hex_value(char c) {
  const char lower = wo_lower(c);
  return wo_is_digit(c) ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* The letter or digit that "%61" stands for at the front of a text, else '\0'. */
static char coded_letter(struct wo_view text) {
  if (text.len < 3 || text.ptr[0] != '%') return '\0';
  const int high = hex_value(text.ptr[1]), low = hex_value(text.ptr[2]);
  const char c = high < 0 || high > 7 || low < 0 ? '\0' : (char)(high * 16 + low);
  return wo_is_alnum(c) ? c : '\0';
}

enum { CODED_BYTES = 1024 };

/* The chunk with letters in place of their codes, which nobody needs: they would hide a name. */
static struct wo_view decode(struct wo_view chunk, char buf[CODED_BYTES]) {
  size_t len = 0;
  bool is_changed = false;
  for (size_t at = 0; at < chunk.len && chunk.len <= CODED_BYTES;) {
    const char c = coded_letter(wo_view_skip(chunk, at));
    is_changed |= c != '\0';
    buf[len++] = c != '\0' ? c : chunk.ptr[at];
    at += c != '\0' ? 3 : 1;
  }
  return is_changed ? (struct wo_view){buf, len} : chunk;
}

/* One that is no secret and no address. */
static void add_plain_chunk(struct writer *w, struct wo_view chunk, char before) {
  if (wo__add_host_name(w->p, chunk, w->out)) return;
  const bool is_option = wo_view_starts(chunk, "--") && wo_view_find_char(chunk, '/', 0) == WO_NOT_FOUND;
  if (!is_option && wo__is_path(chunk, before)) /* options are the program's own words, but for learned names */
    wo__add_shown_path(w->p, chunk, w->out);
  else
    wo__add_words(w->p, chunk, w->out);
}

static void add_chunk(struct writer *w, struct wo_view chunk) {
  char buf[CODED_BYTES];
  const char before = w->at > 0 ? w->text.ptr[w->at - 1] : ' ';
  const struct wo_view after = wo_view_skip(w->text, w->at + chunk.len);
  const bool may_be_address = !is_version(w);
  w->at += chunk.len;
  if (add_glued_option(w, chunk)) return;
  if (wo__add_secret(w->p, chunk, w->out) || wo__add_mail(w->p, chunk, after, w->out)) return;
  if (may_be_address && wo__add_ipv4(w->p, chunk, w->out)) return;
  add_plain_chunk(w, decode(chunk, buf), before);
}

static size_t add_special(struct writer *w, struct wo_view rest) {
  size_t len = wo__add_url(w->p, rest, w->out);
  if (len == 0) len = wo__add_colon_address(w->p, rest, w->out);
  return len > 0 ? len : wo__add_host_list(w->p, rest, w->out);
}

static void add_piece(struct writer *w) {
  const struct wo_view rest = wo_view_skip(w->text, w->at);
  const size_t len = add_special(w, rest);
  if (len > 0) {
    w->at += len;
    return;
  }
  const struct wo_view chunk = chunk_at(w->text, w->at);
  add_chunk(w, chunk);
  if (chunk.len == 0) return;
  add_value(w, chunk);
  add_bearer(w, chunk);
}

void wo_pseudonyms_add_text(struct wo_pseudonyms *p, struct wo_view text, size_t *marks, size_t mark_count, struct wo_text *out) {
  struct writer w = {.p = p,
                     .text = text,
                     .marks = marks,
                     .mark_count = mark_count,
                     .out = out,
                     .is_batch = wo_view_has(wo_view_sub(text, 0, 16), "#SBATCH")};
  while (w.at < text.len) {
    set_marks(&w, w.at);
    if (is_chunk_byte(text.ptr[w.at])) {
      add_piece(&w);
    } else {
      size_t end = w.at + 1;
      while (end < text.len && !is_chunk_byte(text.ptr[end])) end++;
      wo_text_add_view(out, wo_view_sub(text, w.at, end));
      w.at = end;
    }
  }
  set_marks(&w, text.len);
}

void wo_pseudonyms_learn_text(struct wo_pseudonyms *p, struct wo_view text) {
  struct wo_text scratch = {0};
  wo_pseudonyms_add_text(p, text, NULL, 0, &scratch);
  wo_text_done(&scratch);
}

void wo_pseudonyms_learn_path(struct wo_pseudonyms *p, struct wo_view path) {
  struct wo_text scratch = {0};
  wo_pseudonyms_add_path(p, path, &scratch);
  wo_text_done(&scratch);
}

void wo_pseudonyms_replace_path(struct wo_pseudonyms *p, struct wo_view path, struct wo_text *text) {
  struct wo_text shown = {0}, all = {0};
  struct wo_view rest = {text->ptr, text->len};
  wo_pseudonyms_learn_path(p, path);
  if (path.len < 2 || wo_view_find(rest, path, 0) == WO_NOT_FOUND) return;
  wo_pseudonyms_add_path(p, path, &shown);
  for (size_t at; (at = wo_view_find(rest, path, 0)) != WO_NOT_FOUND; rest = wo_view_skip(rest, at + path.len)) {
    wo_text_add_view(&all, wo_view_sub(rest, 0, at));
    wo_text_add_view(&all, (struct wo_view){shown.ptr, shown.len});
  }
  wo_text_add_view(&all, rest);
  all.is_failed = all.is_failed || shown.is_failed || text->is_failed;
  wo_text_done(&shown);
  wo_text_done(text);
  *text = all;
}

/* What was added, in an arena; the text itself if nothing changed. */
static struct wo_view keep(struct wo_text *shown, struct wo_view text, struct wo_arena *arena) {
  const struct wo_view view = {shown->ptr, shown->len};
  struct wo_view kept = text;
  if (shown->is_failed) {
    arena->is_exhausted = true;
    kept = (struct wo_view){0};
  } else if (!wo_view_equal(view, text)) {
    kept = wo_arena_copy(arena, view);
  }
  wo_text_done(shown);
  return kept;
}

struct wo_view wo_pseudonyms_text(struct wo_pseudonyms *p, struct wo_view text, struct wo_arena *arena) {
  struct wo_text shown = {0};
  if (!p || text.len == 0) return text;
  wo_pseudonyms_add_text(p, text, NULL, 0, &shown);
  return keep(&shown, text, arena);
}

struct wo_view wo_pseudonyms_path(struct wo_pseudonyms *p, struct wo_view path, struct wo_arena *arena) {
  struct wo_text shown = {0};
  if (!p || path.len == 0) return path;
  wo_pseudonyms_add_path(p, path, &shown);
  return keep(&shown, path, arena);
}

struct wo_view wo_pseudonyms_words(struct wo_pseudonyms *p, struct wo_view text, struct wo_arena *arena) {
  struct wo_text shown = {0};
  if (!p || text.len == 0) return text;
  wo__add_words(p, text, &shown);
  return keep(&shown, text, arena);
}
