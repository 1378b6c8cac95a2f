/* SPDX-License-Identifier: Apache-2.0 */
/* See regex_internal.h. */
#include "parsers/match/regex_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "parsers/base/limits.h"

/* Bytes of the just-in-time compiler's stack: start and most. Without a stack of its own, machine code takes a small piece of the
 * thread's, which long lines with many alternatives outgrow. */
enum { JIT_STACK_FIRST = 32 * 1024, JIT_STACK_MAX = 1024 * 1024 };

/* Uses of an expression from which machine code pays: compiling it takes as long as interpreting this many lines. */
enum { JIT_USES = 32 };

/* PCRE2 allocates through these, so that tests can make it fail. */
static void *regex_alloc(size_t size, void *unused) {
  (void)unused;
  return malloc(size);
}

static void regex_free(void *ptr, void *unused) {
  (void)unused;
  free(ptr);
}

/* Called before each item of an expression. Repeats report no item of their own: they show in how far the place has moved. */
static int count_step(pcre2_callout_block *block, void *state) {
  struct wo__matcher *const matcher = state;
  const size_t at = block->current_position;
  const uint64_t steps = 1 + (at > matcher->at ? at - matcher->at : 0);
  matcher->at = at;
  if (steps > matcher->steps_left) {
    matcher->steps_left = 0;
    return PCRE2_ERROR_MATCHLIMIT;
  }
  matcher->steps_left -= steps;
  return 0;
}

/* The limits bound different things: the match limit the steps of backtracking, the depth limit how far it nests, the heap limit
 * the memory for that. Machine code keeps to the first one only, counted in its own way, and to its stack in place of the other
 * two; a line can therefore be given up by one engine and matched by the other, but never without being counted. */
static pcre2_match_context *make_limits(const struct wo__matcher *matcher, uint32_t match_limit) {
  pcre2_match_context *const limits = pcre2_match_context_create(matcher->memory);
  if (limits == NULL) return NULL;
  pcre2_set_match_limit(limits, match_limit);
  pcre2_set_depth_limit(limits, WO_LIMIT_REGEX_DEPTH);
  pcre2_set_heap_limit(limits, WO_LIMIT_REGEX_HEAP_KIB);
  if (matcher->jit_stack != NULL) pcre2_jit_stack_assign(limits, NULL, matcher->jit_stack);
  return limits;
}

bool wo__matcher_make(struct wo__matcher *matcher) {
  uint32_t has_jit = 0;
  matcher->memory = pcre2_general_context_create(regex_alloc, regex_free, NULL);
  if (matcher->memory == NULL) return false;
  pcre2_config(PCRE2_CONFIG_JIT, &has_jit);
  if (has_jit != 0) {
    matcher->jit_stack = pcre2_jit_stack_create(JIT_STACK_FIRST, JIT_STACK_MAX, matcher->memory);
    if (matcher->jit_stack == NULL) return false;
  }
  matcher->compile = pcre2_compile_context_create(matcher->memory);
  matcher->data = pcre2_match_data_create(WO__REGEX_GROUPS_MAX, matcher->memory);
  matcher->limits = make_limits(matcher, WO_LIMIT_REGEX_SHORT_MATCH);
  matcher->counting = make_limits(matcher, WO_LIMIT_REGEX_MATCH);
  if (matcher->compile == NULL || matcher->data == NULL || matcher->limits == NULL || matcher->counting == NULL) return false;
  pcre2_set_parens_nest_limit(matcher->compile, WO_LIMIT_REGEX_NESTING);
  pcre2_set_callout(matcher->counting, count_step, matcher);
  matcher->steps_left = WO_LIMIT_REGEX_STEPS;
  return true;
}

void wo__matcher_done(struct wo__matcher *matcher) {
  pcre2_jit_stack_free(matcher->jit_stack);
  pcre2_match_data_free(matcher->data);
  pcre2_match_context_free(matcher->limits);
  pcre2_match_context_free(matcher->counting);
  pcre2_compile_context_free(matcher->compile);
  pcre2_general_context_free(matcher->memory);
}

void wo__regex_done(struct wo__regex *regex) {
  pcre2_code_free(regex->plain.code);
  pcre2_code_free(regex->counted.code);
}

/* Two alternatives may use the same group name (DUPNAMES): the old and the new wording of a message fill the same field. Text is
 * never UTF-8, whatever the expression says (NEVER_UTF): with it, one stray byte of a truncated line would make the whole line
 * unmatchable. */
pcre2_code *wo__regex_compile(struct wo_view source, pcre2_compile_context *context, uint32_t more, int *ret_error,
                              PCRE2_SIZE *ret_offset) {
  const uint32_t options = PCRE2_DUPNAMES | PCRE2_NEVER_UTF | PCRE2_NEVER_UCP | more;
  return pcre2_compile((PCRE2_SPTR)(source.ptr == NULL ? "" : source.ptr), source.len, options, ret_error, ret_offset, context);
}

/* The compiled form, or NULL. Without a just-in-time compiler, or when it declines, PCRE2 interprets. The counted form is for
 * long texts, where machine code pays at once. If memory is out, the line is lost and counted, but the next one tries again. */
static const pcre2_code *get_code(struct wo__matcher *matcher, struct wo__regex_form *form, struct wo_view source,
                                  bool is_counted) {
  if (!form->was_tried) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    form->code = wo__regex_compile(source, matcher->compile, is_counted ? PCRE2_AUTO_CALLOUT : 0, &error, &offset);
    form->was_tried = form->code != NULL || error != PCRE2_ERROR_HEAP_FAILED;
    if (!form->was_tried) matcher->limit_hits++;
  }
  if (form->uses <= JIT_USES && ++form->uses == (is_counted ? 1 : JIT_USES) && form->code != NULL && matcher->jit_stack != NULL)
    pcre2_jit_compile(form->code, PCRE2_JIT_COMPLETE);
  return form->code;
}

/* Whether PCRE2 gave up, as opposed to finding nothing. Its other errors mean a misuse that cannot depend on the text. */
static bool is_limit_error(int result) {
  switch (result) {
  case PCRE2_ERROR_MATCHLIMIT:
  case PCRE2_ERROR_DEPTHLIMIT:
  case PCRE2_ERROR_HEAPLIMIT:
  case PCRE2_ERROR_JIT_STACKLIMIT:
  case PCRE2_ERROR_NOMEMORY:
    return true;
  default:
    return false;
  }
}

static int run_form(struct wo__matcher *matcher, struct wo__regex_form *form, struct wo_view source, struct wo_view text,
                    size_t at, uint32_t options, bool is_counted) {
  const PCRE2_SPTR subject = (PCRE2_SPTR)(text.ptr == NULL ? "" : text.ptr);
  matcher->code = get_code(matcher, form, source, is_counted);
  if (matcher->code == NULL) return PCRE2_ERROR_NOMATCH;
  matcher->at = at;
  return pcre2_match(matcher->code, subject, text.len, at, options, matcher->data,
                     is_counted ? matcher->counting : matcher->limits);
}

int wo__regex_run(struct wo__matcher *matcher, struct wo__regex *regex, struct wo_view source, struct wo_view text, size_t at,
                  uint32_t options) {
  assert(at <= text.len);
  int result = PCRE2_ERROR_MATCHLIMIT;
  if (text.len < WO_LIMIT_REGEX_SHORT_BYTES) result = run_form(matcher, &regex->plain, source, text, at, options, false);
  if (is_limit_error(result) && matcher->steps_left > 0)
    result = run_form(matcher, &regex->counted, source, text, at, options, true);
  if (is_limit_error(result)) matcher->limit_hits++;
  return result;
}

void wo__regex_count(struct wo__matcher *matcher, struct wo__regex *regex, struct wo_view source, struct wo_view text) {
  (void)run_form(matcher, &regex->counted, source, text, 0, 0, true);
}
