/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines to paste: words quoted for the POSIX shell. Every command that is made of bytes of an input goes through here.
 *
 * A word with a character that cannot be shown as it is (control characters, bytes that are no UTF-8, marks of direction) cannot
 * be pasted safely either, so no command is made of it. */
#ifndef WO_SHELL_WORDS_H
#define WO_SHELL_WORDS_H

#include "parsers/base/arena.h"
#include "parsers/base/text.h"

/* Whether a shell takes the word as it is and as one word, without quotes. */
bool wo_shell_is_plain(struct wo_view word);

/* Adds a word: plain ones as they are, others in single quotes. False, and nothing is added, if it cannot be shown. */
bool wo_shell_add_word(struct wo_text *out, struct wo_view word);

/* The name of a file as a word that no program takes for an option: "-x" becomes "./-x". Empty when memory is out. */
struct wo_view wo_shell_path(struct wo_arena *arena, struct wo_view path);

/* Adds a command of `count` words with blanks between them. False, and nothing is added, if one of them cannot be shown. */
bool wo_shell_add_command(struct wo_text *out, const struct wo_view *words, size_t count);

#endif
