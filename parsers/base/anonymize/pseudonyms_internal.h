/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of pseudonyms: pseudonyms.c has the table, pseudonym_text.c texts, pseudonym_path.c paths, pseudonym_forms.c what
 * has a form of its own, pseudonym_hosts.c lists of hosts. Nobody else includes this. */
#ifndef WO_PSEUDONYMS_INTERNAL_H
#define WO_PSEUDONYMS_INTERNAL_H

#include "parsers/base/anonymize/known_words.h"
#include "parsers/base/anonymize/pseudonyms.h"

/* Letters, digits and bytes of other alphabets: what words consist of. */
static inline bool wo__is_name_byte(char c) {
  return wo_is_alnum(c) || (unsigned char)c >= 0x80;
}

/* Whether a word can begin there: what is before it is no part of a word, or is an escape ("\n", "%2F"). */
bool wo__starts_word(struct wo_view text, size_t at);
/* Whether a word can end there. */
bool wo__ends_word(struct wo_view text, size_t at);

/* The pseudonym of a name, which is made if it has none. Never empty. */
struct wo_view wo__pseudonym(struct wo_pseudonyms *p, enum wo_name_kind kind, struct wo_view name);

/* A second name for something that has a pseudonym. */
void wo__pseudonym_also(struct wo_pseudonyms *p, enum wo_name_kind kind, struct wo_view name, struct wo_view shown);

/* Length of the longest known name at a place, 0 for none; *ret is what stands for it. */
size_t wo__find_name(const struct wo_pseudonyms *p, struct wo_view text, size_t at, struct wo_view *ret_shown);

/* Adds a text in which only known names are replaced. */
void wo__add_words(const struct wo_pseudonyms *p, struct wo_view text, struct wo_text *out);

/* Whether a chunk of a text is a path or the name of a file. */
bool wo__is_path(struct wo_view chunk, char before);

/* Adds a path, component by component. */
void wo__add_shown_path(struct wo_pseudonyms *p, struct wo_view path, struct wo_text *out);

/* ---- Forms: each returns the bytes that it took at the front of `rest`, and has added what stands for them; 0: another form
 * ---- */

size_t wo__add_url(struct wo_pseudonyms *p, struct wo_view rest, struct wo_text *out);
size_t wo__add_colon_address(struct wo_pseudonyms *p, struct wo_view rest, struct wo_text *out);
size_t wo__add_host_list(struct wo_pseudonyms *p, struct wo_view rest, struct wo_text *out);

/* The same for a whole chunk. `after` is the text behind it. */
bool wo__add_secret(struct wo_pseudonyms *p, struct wo_view chunk, struct wo_text *out);
bool wo__add_mail(struct wo_pseudonyms *p, struct wo_view chunk, struct wo_view after, struct wo_text *out);
bool wo__add_ipv4(struct wo_pseudonyms *p, struct wo_view chunk, struct wo_text *out);
bool wo__add_host_name(struct wo_pseudonyms *p, struct wo_view chunk, struct wo_text *out);

#endif
