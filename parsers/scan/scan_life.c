/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that only a program writes that goes on after a failure: it answers requests, or keeps its log at a later time. */
#include "parsers/scan/scan_internal.h"

/* A program that ends also logs for a moment. */
#define LATER_NS (INT64_C(2) * 1000000000)

/* Whether the line is a server's record of a request that it answered well. Probes are answered by servers that do nothing else
 * any more. */
static bool is_answer(struct wo_view text) {
  static const char *const answers[] = {"HTTP/1.1\" 200", "HTTP/1.0\" 200", "HTTP/2\" 200", "HTTP/2.0\" 200",
                                        "HTTP/1.1\" 400", "HTTP/1.1\" 422"}; /* the last two: the client's fault */
  static const char *const probes[] = {"/health", "/metrics", "/ping", "/ready", "/live", "/stats"};
  return wo_view_has(text, "HTTP/") && WO_VIEW_ANY(text, wo_view_has, answers) && !WO_VIEW_ANY(text, wo_view_has, probes);
}

static const char *const end_words[] = {"abort", "clean", "clos", "error", "exception", "exit",
                                        "fail",  "kill",  "shut", "stop",  "terminat",  "wandb: "};

/* Letters that the words begin with, and those that come second: a record of a log is read once for all of them. A new word needs
 * its letters here, and a line in test_scan_life.c. */
enum { FIRST = 1, SECOND = 2 };
static const unsigned char letters[256] = {
    ['a'] = FIRST | SECOND, ['A'] = FIRST | SECOND, ['c'] = FIRST,          ['C'] = FIRST,          ['e'] = FIRST | SECOND,
    ['E'] = FIRST | SECOND, ['f'] = FIRST,          ['F'] = FIRST,          ['k'] = FIRST,          ['K'] = FIRST,
    ['s'] = FIRST,          ['S'] = FIRST,          ['t'] = FIRST | SECOND, ['T'] = FIRST | SECOND, ['w'] = FIRST,
    ['W'] = FIRST,          ['b'] = SECOND,         ['B'] = SECOND,         ['l'] = SECOND,         ['L'] = SECOND,
    ['r'] = SECOND,         ['R'] = SECOND,         ['x'] = SECOND,         ['X'] = SECOND,         ['i'] = SECOND,
    ['I'] = SECOND,         ['h'] = SECOND,         ['H'] = SECOND};

bool wo__scan_is_about_end(struct wo_view text) {
  for (size_t at = 0; at + 1 < text.len; at++) {
    const unsigned char a = (unsigned char)text.ptr[at], b = (unsigned char)text.ptr[at + 1];
    if (!(letters[a] & FIRST) || !(letters[b] & SECOND)) continue;
    if (WO_VIEW_ANY(wo_view_skip(text, at), wo_view_starts_nocase, end_words)) return true;
  }
  return false;
}

/* What an image server that works off prompts says when it takes one; when it is done with one it may have failed at it. */
static int life_of_prompt(struct wo_view text) {
  if (wo_view_ends(text, "got prompt")) return WO_SCAN_LIFE_SURE;
  return wo_view_has(text, "Prompt executed in ") ? WO_SCAN_LIFE_SURE / 2 : 0;
}

static bool is_later(struct wo_stamp a, struct wo_stamp b) {
  return a.clock != WO_CLOCK_NONE && a.clock == b.clock && a.time_ns - b.time_ns >= LATER_NS;
}

/* TensorFlow tells for many lines what was in its pool when a request was refused. */
static bool is_of_pool(struct wo_view text) {
  return wo_view_has(text, "bfc_allocator");
}

/* A record without a time may be of the moments before the end: it counts half. */
int wo__scan_life(const struct wo_line *line, struct wo_stamp since) {
  const enum wo_severity severity = line->prefix.severity;
  const bool has_time = line->prefix.stamp.clock != WO_CLOCK_NONE;
  if (is_answer(line->text)) return WO_SCAN_LIFE_SURE;
  const int of_prompt = life_of_prompt(line->text);
  if (of_prompt > 0) return of_prompt;
  if ((severity != WO_SEVERITY_INFO && severity != WO_SEVERITY_DEBUG) || (has_time && !is_later(line->prefix.stamp, since)))
    return 0;
  if (wo__scan_is_about_end(line->text) || is_of_pool(line->full)) return 0;
  return has_time ? WO_SCAN_LIFE_SURE : WO_SCAN_LIFE_SURE / 2;
}
