/* SPDX-License-Identifier: Apache-2.0 */
/* JSON that is read as it streams by, token after token, in lines or pieces of lines of any length, for fmt_sacct_json.c and
 * fmt_jobstats.c. It keeps only the path of the containers that the walk is in ("/" + key, or a slash and a star for an element
 * of an array), counted from the place where the reader begins. */
#ifndef WO_JSON_TOKENS_H
#define WO_JSON_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

#include "parsers/scan/format.h"

/* One scalar with its name: the path of containers and its key. An object's key "number" counts as the object itself. */
struct wo_json_value {
  char name[300];
  struct wo_view text; /* without quotes, valid during the call; escapes are left as they are */
};

/* Where a walk is between two lines; a part of its reader's state. All zero at the beginning. */
struct wo_json_place {
  char path[256];  /* of the containers that it is in */
  size_t skip;     /* bytes of the line's next piece that were read with this one */
  bool is_in_text; /* the next piece begins inside of a quoted text */
};

struct wo_json_reader;

/* A walk over one line or piece. */
struct wo_json_walk {
  const struct wo_json_reader *reader;
  struct wo_open *open;
  struct wo_json_place *place;
  struct wo_view rest; /* not yet read; inside of a call from begin_object, end_object it starts at the brace */
  struct wo_view key;  /* read, and its value is not yet */
};

/* The constants of a format that reads one kind of document. All are set. */
struct wo_json_reader {
  size_t place_at; /* offset of the struct wo_json_place in the format's state */
  /* After the opening brace of an object, and before the closing one: the path names the object. */
  void (*begin_object)(const struct wo_json_walk *json);
  void (*end_object)(const struct wo_json_walk *json);
  void (*read_value)(const struct wo_json_walk *json, const struct wo_json_value *value);
};

/* Whether the walk is in just that container. */
bool wo_json_is_path(const struct wo_json_walk *json, const char *path);

/* Reads open->line from byte `start` of its full text on. WO_MORE_NO at the end of the document, or of what can be understood. */
enum wo_more wo_json_read(struct wo_open *open, size_t start);

/* The `begin` and `feed` of such a format: the document goes on right behind the match, and then from line to line, or from piece
 * to piece of the same. Every line is tokens from its first byte: a prefix that looks like a logger's would be part of the
 * document here. */
enum wo_more wo_json_begin(struct wo_open *open, const struct wo_match *match);
enum wo_more wo_json_feed(struct wo_open *open);

#endif
