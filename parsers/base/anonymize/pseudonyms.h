/* SPDX-License-Identifier: Apache-2.0 */
/* Pseudonyms: names of people, machines and projects, and what stands for each of them.
 *
 * First the names are learned, from fields that are known to be names and from texts, then texts are rewritten: a name is
 * recognised everywhere, also where nothing but the name itself shows that it is one. The same name always has the same
 * pseudonym, and numbers count in the order in which names are learned, so that the same input gives the same output. Names are
 * compared without regard to ASCII case. docs/anonymize.md says what is replaced and what stays.
 *
 * A text that has been rewritten can be rewritten again and stays as it is. When memory is out (is_failed) or there are more
 * than WO_LIMIT_PSEUDONYMS names, further ones are replaced by the number 0 of their kind, and each word of a text that is not
 * known (known_words.h) by "name0": nothing of them is shown. Not for two threads. */
#ifndef WO_PSEUDONYMS_H
#define WO_PSEUDONYMS_H

#include "parsers/base/arena.h"
#include "parsers/base/text.h"
#include "parsers/base/vec.h"

enum wo_name_kind {
  WO_NAME_OF_NOTHING,
  WO_NAME_OF_USER,      /* user1 */
  WO_NAME_OF_HOST,      /* host1 */
  WO_NAME_OF_ACCOUNT,   /* account1 */
  WO_NAME_OF_PARTITION, /* partition1 */
  WO_NAME_OF_JOB,       /* job1; also of runs, experiments and projects */
  WO_NAME_OF_DOMAIN,    /* domain1.example */
  WO_NAME_OF_FOLDER,    /* dir1 */
  WO_NAME_OF_FILE,      /* file1, without the ending */
  WO_NAME_OF_MAIL,      /* mail1@example.org */
  WO_NAME_OF_SECRET,    /* token1 */
  WO_NAME_OF_IPV4,      /* 192.0.2.1: addresses that are set aside for documentation */
  WO_NAME_OF_IPV6,      /* 2001:db8::1 */
  WO_NAME_OF_DEVICE,    /* 00000000-0000-0000-0000-000000000001 */
  WO_NAME_OF_KINDS_
};

struct wo_pseudonym {
  struct wo_view name; /* in lower case */
  struct wo_view shown;
  enum wo_name_kind kind;
  bool is_everywhere; /* replaced wherever it is a whole word; a common word ("test") is not */
};

struct wo_pseudonyms {
  struct wo_arena arena;
  WO_VEC(struct wo_pseudonym) names;
  uint32_t *slots; /* index + 1; 0: free */
  size_t slot_count;
  size_t longest;                      /* bytes */
  uint32_t numbers[WO_NAME_OF_KINDS_]; /* last one given */
  uint8_t starts[8192];                /* a bit for the first two bytes of each name */
  bool is_full, is_failed;
};

/* Without any name. NULL: memory is out. / Frees; NULL allowed. */
struct wo_pseudonyms *wo_pseudonyms_new(void);
void wo_pseudonyms_free(struct wo_pseudonyms *pseudonyms);

/* Learns a name that a field gives, before anything is rewritten: a name may look like a pseudonym ("host1"). What is empty, a
 * number alone or the account of every machine ("root") is none. A host is
 * also known by its first label, users and accounts can be followed by an id in brackets. */
void wo_pseudonyms_learn(struct wo_pseudonyms *pseudonyms, enum wo_name_kind kind, struct wo_view name);

/* Learns all hosts of a list as SLURM writes them ("gpu[03-06,9],login1"). */
void wo_pseudonyms_learn_hosts(struct wo_pseudonyms *pseudonyms, struct wo_view list);

/* Learns what a text shows by its form: paths, addresses, secrets, `user=...`. */
void wo_pseudonyms_learn_text(struct wo_pseudonyms *pseudonyms, struct wo_view text);

/* The same for a path. */
void wo_pseudonyms_learn_path(struct wo_pseudonyms *pseudonyms, struct wo_view path);

/* Adds the pseudonym of a value that is a name of that kind as a whole, whatever it is ("test" as a user); what is no name is
 * added as it is. */
void wo_pseudonyms_add_name(struct wo_pseudonyms *pseudonyms, enum wo_name_kind kind, struct wo_view name, struct wo_text *out);

/* Adds the pseudonyms of a list of hosts, as short: "host[1-4]". */
void wo_pseudonyms_add_hosts(struct wo_pseudonyms *pseudonyms, struct wo_view list, struct wo_text *out);

/* Adds a text with all names replaced. `marks`, if not NULL, are `mark_count` rising offsets in the text, and become those in
 * what is added: of the piece that they are in. */
void wo_pseudonyms_add_text(struct wo_pseudonyms *pseudonyms, struct wo_view text, size_t *marks, size_t mark_count,
                            struct wo_text *out);

/* Adds a path, also one that nothing but its place shows to be one ("results"). */
void wo_pseudonyms_add_path(struct wo_pseudonyms *pseudonyms, struct wo_view path, struct wo_text *out);

/* Learns a path and replaces it wherever it stands in a text: with a blank in it, or as a bare word, nothing else shows that it
 * is one. */
void wo_pseudonyms_replace_path(struct wo_pseudonyms *pseudonyms, struct wo_view path, struct wo_text *text);

/* The text with all names replaced, in an arena (which is exhausted if memory is out: then it is empty). The text itself where
 * nothing changes, and for NULL as pseudonyms. */
struct wo_view wo_pseudonyms_text(struct wo_pseudonyms *pseudonyms, struct wo_view text, struct wo_arena *arena);

/* The same for a path, which may be one word alone. */
struct wo_view wo_pseudonyms_path(struct wo_pseudonyms *pseudonyms, struct wo_view path, struct wo_arena *arena);

/* The same for a text in which nothing has a form of its own (names of functions): only names that are known are replaced. */
struct wo_view wo_pseudonyms_words(struct wo_pseudonyms *pseudonyms, struct wo_view text, struct wo_arena *arena);

/* The kind of name that a setting or a field of that name holds ("job_name"), or WO_NAME_OF_NOTHING. */
enum wo_name_kind wo_pseudonyms_key_kind(struct wo_view key);

#endif
