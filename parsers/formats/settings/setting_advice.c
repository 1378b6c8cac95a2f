/* SPDX-License-Identifier: Apache-2.0 */
/* Advice is no setting. Messages and warnings name settings that the reader could change: "try setting NAME=VALUE to avoid
 * fragmentation" is in every message of PyTorch since 2.2, even where it is set. What counts is what the program was given. */
#include <string.h>

#include "parsers/formats/settings/setting_internal.h"

/* Words of a sentence that are looked at before the setting; more is another thought. */
enum { WORDS_MOST = 14 };

/* Right before the setting, quotes aside. "Using" alone is a statement. */
static const char *const leads[] = {"setting", "try",     "set",        "use", "consider", "increase", "decrease", "reduce",
                                    "passing", "specify", "equivalent", "or",  "lowering", "raising",  "e.g."};

/* Anywhere before it in its sentence. */
static const char *const advising[] = {"try",       "consider",    "please",      "should",  "could",     "might",
                                       "recommend", "recommended", "recommends",  "suggest", "suggested", "instead",
                                       "example",   "equivalent",  "alternative", "e.g."};

/* Right behind it. */
static const char *const purposes[] = {"to avoid",    "to reduce", "to disable",  "to enable", "to silence",
                                       "to suppress", "to fix",    "to maintain", "to get ",   "to use ",
                                       "in the CLI",  "instead",   "if you "};

/* Letters, and the dots of "e.g."; words of a command line that begin with a dash or hold a sign are none. */
static bool is_plain_word(struct wo_view word) {
  for (size_t i = 0; i < word.len; i++) {
    if (!wo_is_alpha(word.ptr[i]) && word.ptr[i] != '.' && word.ptr[i] != '\'') return false;
  }
  return word.len > 0;
}

/* Without the marks that stand around a word. */
static struct wo_view bare(struct wo_view word) {
  while (word.len > 0 && strchr("`'\"(*,;:", word.ptr[0])) word = wo_view_skip(word, 1);
  while (word.len > 0 && strchr("`'\")*,;:", word.ptr[word.len - 1])) word.len--;
  return word;
}

/* Takes the last word off; empty at the beginning. */
static struct wo_view take_last_word(struct wo_view *text) {
  *text = wo_view_trim(*text);
  size_t start = text->len;
  while (start > 0 && !wo_is_space(text->ptr[start - 1])) start--;
  const struct wo_view word = wo_view_skip(*text, start);
  text->len = start;
  return word;
}

/* Whether a word ends a sentence: "fragmentation." does, "e.g." does not. */
static bool ends_sentence(struct wo_view word) {
  if (word.len == 0 || wo_view_ends(word, "e.g.")) return word.len == 0;
  return strchr(".!?", word.ptr[word.len - 1]) != NULL;
}

/* Signs of data and of command lines: no sentence goes on across them. */
static bool is_data(struct wo_view word) {
  for (size_t i = 0; i < word.len; i++) {
    if (strchr("={}[]", word.ptr[i])) return true;
  }
  return word.len > 2 && word.ptr[word.len - 1] == ':' && strchr("'\"", word.ptr[word.len - 2]);
}

/* Few words begin as one of the list does. */
static bool is_advising(struct wo_view word) {
  const char first = word.len > 0 ? wo_lower(word.ptr[0]) : '\0';
  for (size_t i = 0; i < sizeof advising / sizeof advising[0]; i++) {
    if (advising[i][0] == first && wo_view_is_nocase(word, advising[i])) return true;
  }
  return false;
}

/* Walks back over the words of the sentence. */
static bool is_advised(struct wo_view before) {
  while (before.len > 0 && strchr("`'\"( ", before.ptr[before.len - 1])) before.len--;
  struct wo_view raw = take_last_word(&before);
  const struct wo_view last = bare(raw);
  if (is_data(raw)) return false;
  if (is_plain_word(last) && WO_VIEW_ANY(last, wo_view_is_nocase, leads)) return true;
  for (int i = 0; i < WORDS_MOST && !ends_sentence(raw) && !is_data(raw); i++) {
    const struct wo_view word = bare(raw);
    if (is_plain_word(word) && is_advising(word)) return true;
    raw = take_last_word(&before);
  }
  return false;
}

/* Whether the setting is code within a sentence, between backticks: prose about it, unless it says what was passed. */
static bool is_mention(struct wo_view before) {
  size_t ticks = 0;
  for (size_t i = 0; i < before.len; i++) ticks += before.ptr[i] == '`';
  if (ticks % 2 == 0) return false;
  struct wo_view sentence = wo_view_sub(before, 0, wo_view_find_last(before, WO_VIEW("`"), before.len));
  return !wo_view_is_nocase(bare(take_last_word(&sentence)), "passed");
}

bool wo__setting_is_advice(const struct wo_setting_place *place, struct wo_view value) {
  const struct wo_view after = wo_view_trim_start(wo_view_skip(place->after, (size_t)(value.ptr + value.len - place->after.ptr)));
  struct wo_view behind = after;
  while (behind.len > 0 && strchr("`'\") ", behind.ptr[0])) behind = wo_view_skip(behind, 1);
  return WO_VIEW_ANY(behind, wo_view_starts, purposes) || is_mention(place->before) || is_advised(place->before);
}
