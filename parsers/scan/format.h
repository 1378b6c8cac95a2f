/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of constructs that a single regular expression cannot read: messages over several lines, tracebacks, settings.
 *
 * A pattern names the reader that takes over at its match. `begin` sees the line of the match; when it asks for more, `feed` sees
 * the following lines of the same writer (same prefix source) until it says that it is done, and `finish` is called once, at the
 * end of the construct, of the input, or when too many are open. Adding a reader: one file fmt_<name>.c, one row in formats.def,
 * its tests. Readers keep their state only in the struct that they declare for it. */
#ifndef WO_FORMAT_H
#define WO_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "parsers/base/keep/keep.h"
#include "parsers/event/event.h"
#include "parsers/match/pattern.h"
#include "parsers/prefix/prefix.h"
#include "parsers/scan/scan.h"

struct wo_scan;

/* Lines of other writers after which an open construct is closed: its writer has probably died. */
#define WO_OPEN_SKIP_MAX 2000

/* One line as readers see it. */
struct wo_line {
  struct wo_view raw;  /* without its line end */
  struct wo_view full; /* cleaned, prefix included: what patterns match */
  struct wo_view text; /* cleaned, prefix removed: the end of full */
  struct wo_prefix prefix;
  uint64_t number; /* from 1 */
  uint64_t offset; /* of raw, from the start of the input */
  size_t own_end;  /* in full: what starts here or later is left to the next piece of the same line; SIZE_MAX when none follows */
};

enum wo_more { WO_MORE_NO, WO_MORE_YES, WO_MORE_NO_UNREAD /* done, and this line was not part of it */ };

/* An open construct, as its reader sees it. */
struct wo_open {
  const struct wo_format *format;
  const struct wo_pattern *pattern;
  struct wo_scan *scan;
  struct wo_event_store *store; /* where evidence goes */
  const struct wo_line *line;   /* the one that the reader is called with; in `finish` that is `first` */
  void *state;                  /* the reader's own struct, of format->state_bytes: zeroed before `begin`, aligned for any type */
  char source[64];              /* prefix source of the first line: lines of other writers are not fed */
  char host[64];                /* host of the first line; first.prefix.host shows it while the reader is called */
  struct wo_line first;         /* other views are empty: number, offset, rank, host and time are kept */
  char *message;                /* text collected with wo_open_append, WO_LIMIT_MESSAGE_BYTES at most */
  size_t message_len;
  uint32_t lines;    /* fed so far */
  uint32_t skipped;  /* lines of other writers since it was opened */
  wo_event_id event; /* the event being built, or WO_EVENT_NONE */
};

/* A state that lives as long as the scan of one input, for readers that follow the whole of it (the sums of a monitoring trace,
 * the course of memory along the steps). Several formats may share one. */
struct wo_follower {
  size_t state_bytes; /* of the state, zeroed before its first use */
  /* Turns the state into evidence. Called once, at the end of the input. */
  void (*emit)(struct wo_scan *scan, void *state);
  /* Releases what the state owns, not the state. May be NULL. */
  void (*done)(void *state);
  /* Writes the state, or reads one into zeroed memory, which `done` releases however that ends. */
  void (*keep)(struct wo_scan *scan, void *state, struct wo_keep *keep);
};

/* The state in the running scan, made when it is first asked for. NULL when memory is out: the store knows it then. */
void *wo_scan_follow(struct wo_scan *scan, const struct wo_follower *follower);

/* A short way for lines that may be most of a log: the scanner hands them over unchanged, without cleaning, prefix and
 * expression. The patterns of such a format are no more than literals. */
struct wo_short_way {
  /* Takes a line, raw and without its line end, that holds a literal of `pattern`. `number` counts lines from 1, `offset` is the
   * place in the input. */
  void (*take)(struct wo_scan *scan, const struct wo_pattern *pattern, struct wo_view line, uint64_t number, uint64_t offset);
  /* As take for the line at the start of `text`, if it is like the last ones and holds the literal, which is at `hit` in the
   * text. Returns its length, or 0 if nothing was taken. The line ends inside of the text, at a line end. */
  size_t (*take_like)(struct wo_scan *scan, const struct wo_pattern *pattern, struct wo_view text, size_t hit, uint64_t number,
                      uint64_t offset);
  /* Another pattern of the format has a literal in the line that was taken last. */
  void (*match_again)(struct wo_scan *scan, const struct wo_pattern *pattern);
};

struct wo_format {
  const char *name;
  size_t state_bytes;                   /* of the struct that the reader keeps in open->state; 0 for none */
  const void *constants;                /* the reader's own; formats that share their functions differ in them */
  const struct wo_follower *follower;   /* NULL for readers that keep nothing between constructs */
  const struct wo_short_way *short_way; /* NULL for most */
  bool is_of_line;                      /* `begin` looks at the line only: it may get NULL for the match */
  bool is_of_own_kind; /* all evidence is of the pattern's kind: none of it is kept once there is too much of that */
  /* Called at the match (its place is in line->full). */
  enum wo_more (*begin)(struct wo_open *open, const struct wo_match *match);
  /* Called with each following line. May be NULL when begin never returns WO_MORE_YES. */
  enum wo_more (*feed)(struct wo_open *open);
  /* Called once at the end. May be NULL. */
  void (*finish)(struct wo_open *open);
};

/* The readers that a scan may use; followers turn to evidence in the order in which they first appear. */
struct wo_formats {
  const struct wo_format *const *items;
  size_t count;
};

/* The reader of that name, or NULL. */
const struct wo_format *wo_format_find(const struct wo_formats *formats, struct wo_view name);

/* Services of the scanner for readers. */

/* Adds an event at a place of the given line with the line's rank, host and time. NULL when limits are reached. */
struct wo_event *wo_scan_add_event(struct wo_scan *scan, const struct wo_line *line, const struct wo_pattern *pattern,
                                   enum wo_kind kind, size_t start, size_t length);

/* As wo_scan_add_event, of the construct's pattern, at a part of its present line's full text. */
struct wo_event *wo_open_add(const struct wo_open *open, enum wo_kind kind, struct wo_view part);

/* As wo_open_add at the match, and fills the event from the match's groups. */
struct wo_event *wo_open_add_filled(const struct wo_open *open, enum wo_kind kind, const struct wo_match *match);

/* As wo_open_add_filled, of the pattern's kind: the event that the construct goes on to fill (open->event). A format's `begin`;
 * WO_MORE_NO when limits are reached. */
enum wo_more wo_open_begin(struct wo_open *open, const struct wo_match *match);

/* The event being built, or NULL. */
struct wo_event *wo_open_event(const struct wo_open *open);

/* Counts a cap that the reader has reached so often; it is reported with the input. */
void wo_scan_note_cap(struct wo_scan *scan, enum wo_cap cap, uint64_t count);

/* The store that events go to, and the patterns in use. */
struct wo_event_store *wo_scan_store(struct wo_scan *scan);
struct wo_pattern_set *wo_scan_patterns(struct wo_scan *scan);

/* Writes or reads which of the patterns it is. Nothing else than a pattern of the set is read. */
void wo_scan_keep_pattern(struct wo_scan *scan, struct wo_keep *keep, const struct wo_pattern **pattern);

/* Fills *line from raw bytes, cleaned into the scanner's buffer: the views of the line that is being read are invalid then. */
void wo_scan_make_line(struct wo_scan *scan, struct wo_view raw, uint64_t number, uint64_t offset, struct wo_line *line);

/* Offers what stands before the header of a traceback as the label of all further lines; it is taken if the next line has it
 * before a frame. */
void wo_scan_offer_label(struct wo_scan *scan, struct wo_view label);

/* Whether the whole input has been read: what is still open was cut off. */
bool wo_scan_is_at_end(const struct wo_scan *scan);

/* The number of the input that is being read. */
uint32_t wo_scan_file(const struct wo_scan *scan);

/* Whether so much evidence of the pattern's kind is there that more is only counted. */
bool wo_open_is_flooded(const struct wo_open *open);

/* Whether more than one construct of its format is open: lines without a label may be of any of them. */
bool wo_open_is_one_of_several(const struct wo_open *open);

/* Whether the key (under the path of its parents, which may be empty) was last printed with another value in this input, or
 * never; remembers the value. `offset` is the key's place in the input. False after WO_LIMIT_SETTING_CHANGES changes of one key;
 * false, and counted as dropped, when too many keys are known. */
bool wo_scan_is_setting_change(struct wo_scan *scan, struct wo_view path, struct wo_view key, struct wo_view value,
                               uint64_t offset);

/* Appends text to the open construct's message, with one blank before it when it has text already. Cut at the cap. */
void wo_open_append(struct wo_open *open, struct wo_view text);

/* The collected message. */
struct wo_view wo_open_message(const struct wo_open *open);

/* The n lines before the one being read, the nearest first, cleaned and without prefix; only lines of the same writer are
 * counted. Returns how many of them do not lie further back than WO_LIMIT_LOOKBACK_BYTES. `buf` receives the texts (cap bytes at
 * most of each, n * cap in all), which may also be parts of the input, valid during the call of the reader. */
size_t wo_open_lines_before(const struct wo_open *open, size_t n, struct wo_view *ret_texts, char *buf, size_t cap);

/* As wo_open_lines_before; *ret_severity is that of the nearest of these lines, set if there is one. */
size_t wo_open_severe_lines_before(const struct wo_open *open, size_t n, struct wo_view *ret_texts, char *buf, size_t cap,
                                   enum wo_severity *ret_severity);

/* Whether another `bytes` may be looked at for the structure around a setting; counts them against WO_LIMIT_LOOKED_BACK_BYTES. */
bool wo_scan_may_look_back(struct wo_scan *scan, size_t bytes);

/* Calls visit for the lines before the one being read, the nearest first, without prefix and without blank lines, until it
 * returns false. If the line has a prefix, only lines of the same writer are visited; otherwise all lines, unchanged. Ends after
 * WO_LIMIT_LOOKBACK_LINES, at WO_LIMIT_LOOKBACK_BYTES, and when wo_scan_may_look_back says so. The text is valid during the call
 * only. */
void wo_open_each_line_before(const struct wo_open *open, bool (*visit)(void *context, struct wo_view text), void *context);

#endif
