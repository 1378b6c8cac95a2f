/* SPDX-License-Identifier: Apache-2.0 */
/* Categories of blocks. See category.h. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "cuda_replay/category/category.h"

#include <assert.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "parsers/base/text.h"

/* Not looked up yet. */
enum { UNKNOWN = UINT8_MAX };

/* ---- Expressions ---- */

/* Texts are bytes: a name that is no UTF-8 is matched all the same. */
static pcre2_code *compile(struct wo_view regex, int *ret_error, PCRE2_SIZE *ret_offset) {
  pcre2_compile_context *const context = pcre2_compile_context_create(NULL);
  *ret_error = PCRE2_ERROR_NOMEMORY;
  if (context == NULL) return NULL;
  pcre2_set_parens_nest_limit(context, WO_LIMIT_REGEX_NESTING);
  pcre2_code *const code =
      pcre2_compile((PCRE2_SPTR)regex.ptr, regex.len, PCRE2_NEVER_UTF | PCRE2_NEVER_UCP, ret_error, ret_offset, context);
  pcre2_compile_context_free(context);
  return code;
}

enum wo_status wo_categories_add(struct wo_categories *categories, struct wo_view text, struct wo_err *err) {
  const size_t at = wo_view_find_last(text, WO_VIEW("="), text.len);
  PCRE2_UCHAR message[160];
  PCRE2_SIZE offset = 0;
  int error = 0;
  if (at == WO_NOT_FOUND || at == 0 || at + 1 == text.len)
    return wo_err_set(err, WO_E_USAGE, "--where wants REGEX=NAME, such as --where 'attention|sdpa=attention'");
  if (categories->count == WO_LIMIT_CATEGORIES)
    return wo_err_set(err, WO_E_USAGE, "--where: at most %d categories", (int)WO_LIMIT_CATEGORIES);
  const struct wo_category category = {wo_view_sub(text, 0, at), wo_view_skip(text, at + 1)};
  pcre2_code *const code = compile(category.regex, &error, &offset);
  if (code == NULL && error == PCRE2_ERROR_NOMEMORY) return wo_err_nomem(err);
  if (code == NULL) {
    pcre2_get_error_message(error, message, sizeof message);
    return wo_err_set(err, WO_E_USAGE, "--where: at character %zu of the expression: %s", (size_t)offset + 1,
                      (const char *)message);
  }
  pcre2_code_free(code);
  categories->items[categories->count++] = category;
  return WO_OK;
}

struct wo_view wo_category_name(const struct wo_categories *categories, uint8_t category) {
  assert(category <= categories->count);
  return category == 0 ? WO_VIEW("(no category)") : categories->items[category - 1].name;
}

/* ---- Matching ---- */

struct matcher {
  const struct wo_categories *categories;
  pcre2_code *codes[WO_LIMIT_CATEGORIES];
  pcre2_match_context *limits;
  pcre2_match_data *data;
  uint32_t given_up[WO_LIMIT_CATEGORIES]; /* texts on which each one gave up, up to the limit */
  uint64_t unsure;                        /* texts on which any gave up, or on which it was not tried any more */
};

static bool matcher_init(struct matcher *matcher, const struct wo_categories *categories) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  *matcher = (struct matcher){
      .categories = categories, .limits = pcre2_match_context_create(NULL), .data = pcre2_match_data_create(1, NULL)};
  if (matcher->limits == NULL || matcher->data == NULL) return false;
  pcre2_set_match_limit(matcher->limits, WO_LIMIT_REGEX_SHORT_MATCH);
  pcre2_set_depth_limit(matcher->limits, WO_LIMIT_REGEX_DEPTH);
  pcre2_set_heap_limit(matcher->limits, WO_LIMIT_REGEX_HEAP_KIB);
  for (size_t i = 0; i < categories->count; i++) {
    matcher->codes[i] = compile(categories->items[i].regex, &error, &offset);
    if (matcher->codes[i] == NULL) return false;
  }
  return true;
}

static void matcher_done(struct matcher *matcher) {
  for (size_t i = 0; i < WO_LIMIT_CATEGORIES; i++) pcre2_code_free(matcher->codes[i]);
  pcre2_match_data_free(matcher->data);
  pcre2_match_context_free(matcher->limits);
}

/* The first category that matches a text, from 1; 0: none. The limit on the length bounds the time of one text. */
static uint8_t find(struct matcher *matcher, struct wo_view text) {
  const size_t len = text.len < WO_LIMIT_CATEGORY_TEXT_BYTES ? text.len : WO_LIMIT_CATEGORY_TEXT_BYTES;
  uint8_t found = 0;
  bool is_unsure = false;
  for (size_t i = 0; i < matcher->categories->count && found == 0; i++) {
    if (matcher->given_up[i] == WO_LIMIT_CATEGORY_GIVEN_UP) {
      is_unsure = true; /* nobody knows whether it would match: such a text counts like those before it */
      continue;
    }
    const int result =
        pcre2_match(matcher->codes[i], (PCRE2_SPTR)(len > 0 ? text.ptr : ""), len, 0, 0, matcher->data, matcher->limits);
    if (result >= 0) found = (uint8_t)(i + 1);
    if (result >= 0 || result == PCRE2_ERROR_NOMATCH) continue;
    matcher->given_up[i]++;
    is_unsure = true;
  }
  matcher->unsure += is_unsure;
  return found;
}

/* The one that comes first in the command line; 0 is none. */
static uint8_t first_of(uint8_t a, uint8_t b) {
  return a == 0 || (b != 0 && b < a) ? b : a;
}

/* ---- Stacks ---- */

/* "FILE:LINE FUNCTION", so that one expression can ask for any of them. */
static uint8_t find_frame(struct matcher *matcher, const struct wo_frame *frame, struct wo_text *text) {
  text->len = 0;
  wo_text_add_view(text, frame->file);
  wo_text_add(text, ":%u ", frame->line);
  wo_text_add_view(text, frame->function);
  return find(matcher, (struct wo_view){text->ptr, text->len});
}

/* The category of each stack in of_stack; each frame is looked at once. False if memory is out. */
static bool find_stacks(struct matcher *matcher, const struct wo_recording *recording, uint8_t *of_stack) {
  struct wo_text text = {0};
  uint8_t *const of_frame = malloc(recording->frames.count + 1);
  if (of_frame == NULL) return false;
  memset(of_frame, UNKNOWN, recording->frames.count + 1);
  for (size_t i = 0; i < recording->stacks.count; i++) {
    const struct wo_stack stack = recording->stacks.items[i];
    for (uint32_t k = 0; k < stack.count; k++) {
      const uint32_t frame = recording->stack_frames.items[stack.first + k];
      if (of_frame[frame] == UNKNOWN) of_frame[frame] = find_frame(matcher, &recording->frames.items[frame], &text);
      of_stack[i] = first_of(of_stack[i], of_frame[frame]);
    }
  }
  const bool is_whole = !text.is_failed;
  wo_text_done(&text);
  free(of_frame);
  return is_whole;
}

/* ---- Annotations ---- */

/* How many annotations of each category are open, up to a place in the recording's list, which is by time. */
struct marks {
  const struct wo_lives *lives;
  const uint8_t *categories; /* of each annotation */
  size_t next;
  uint32_t open[WO_LIMIT_CATEGORIES + 1];
};

/* Goes on to a time, and gives the first category that is open then. */
static uint8_t open_at(struct marks *marks, int64_t time_us) {
  const struct wo_recording *const recording = marks->lives->recording;
  if (time_us == WO_NO_TIME) return 0;
  for (; marks->next < recording->annotations.count; marks->next++) {
    const struct wo_annotation *const mark = &recording->annotations.items[marks->next];
    uint32_t *const open = &marks->open[marks->categories[marks->next]];
    if (mark->time_us > time_us) break;
    if (mark->device >= 0 && mark->device != marks->lives->trace->device) continue;
    if (mark->is_start) {
      ++*open;
    } else if (*open > 0) {
      --*open;
    }
  }
  for (size_t i = 1; i <= WO_LIMIT_CATEGORIES; i++) {
    if (marks->open[i] > 0) return (uint8_t)i;
  }
  return 0;
}

/* A program makes the same annotation again and again: of equal neighbours only the first is looked at. */
static uint8_t *find_annotations(struct matcher *matcher, const struct wo_recording *recording) {
  uint8_t *const found = calloc(recording->annotations.count + 1, 1);
  for (size_t i = 0; found != NULL && i < recording->annotations.count; i++) {
    const struct wo_view name = recording->annotations.items[i].name;
    const size_t before = i > 0 ? i - 1 : 0;
    const bool is_same = i > 0 && name.ptr == recording->annotations.items[before].name.ptr &&
                         name.len == recording->annotations.items[before].name.len;
    found[i] = is_same ? found[before] : find(matcher, name);
  }
  return found;
}

/* ---- Blocks ---- */

/* The category of what the program said about an allocation: it says the same about many, one after the other. */
struct said {
  struct wo_view text;
  uint8_t category;
};

static uint8_t find_said(struct matcher *matcher, struct said *last, struct wo_view text) {
  if (text.ptr != last->text.ptr || text.len != last->text.len) *last = (struct said){text, find(matcher, text)};
  return last->category;
}

static void set_all(struct matcher *matcher, struct wo_lives *lives, const uint8_t *of_stack, struct marks *marks) {
  size_t at = 0;
  struct said last = {0};
  const struct wo_trace *const trace = lives->trace;
  for (size_t i = 0; i < lives->blocks.count; i++) {
    struct wo_life *const life = &lives->blocks.items[i];
    life->category = life->stack == WO_NO_STACK ? 0 : of_stack[life->stack];
    if (life->birth == WO_NO_ENTRY) continue;
    life->category = first_of(life->category, open_at(marks, trace->entries.items[life->birth].time_us));
    while (at < trace->metadata.count && trace->metadata.items[at].entry < life->birth) at++;
    if (at < trace->metadata.count && trace->metadata.items[at].entry == life->birth)
      life->category = first_of(life->category, find_said(matcher, &last, trace->metadata.items[at].text));
  }
}

enum wo_status wo_categories_set(const struct wo_categories *categories, struct wo_lives *lives, uint64_t *ret_given_up) {
  *ret_given_up = 0;
  if (categories->count == 0) return WO_OK;
  struct matcher matcher;
  uint8_t *const of_stack = calloc(lives->recording->stacks.count + 1, 1);
  bool is_whole = matcher_init(&matcher, categories) && of_stack != NULL;
  uint8_t *const of_annotation = is_whole ? find_annotations(&matcher, lives->recording) : NULL;
  is_whole = of_annotation != NULL && find_stacks(&matcher, lives->recording, of_stack);
  if (is_whole) {
    struct marks marks = {.lives = lives, .categories = of_annotation};
    set_all(&matcher, lives, of_stack, &marks);
  }
  *ret_given_up = matcher.unsure;
  free(of_annotation);
  free(of_stack);
  matcher_done(&matcher);
  return is_whole ? WO_OK : WO_E_NOMEM;
}
