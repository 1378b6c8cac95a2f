/* SPDX-License-Identifier: Apache-2.0 */
/* The scanner's inside, shared by scan_new.c (its making), scan.c (buffer, lines), scan_line.c (what happens to a line),
 * scan_lookout.c (literals), scan_back.c (walks backwards), scan_open.c (services), scan_opening.c (starts of runs),
 * scan_context.c, scan_life.c and scan_shape.c (lines around a failure), scan_tail.c (the last lines), and scan_keep.c (going on
 * another time). Nobody else includes this. */
#ifndef WO_SCAN_INTERNAL_H
#define WO_SCAN_INTERNAL_H

#include "parsers/base/limits.h"
#include "parsers/base/vec.h"
#include "parsers/scan/format.h"
#include "parsers/scan/literal_net.h"
#include "parsers/scan/scan.h"

/* From the start of a piece of an over-long line to the start of the next one. */
#define WO_SCAN_PIECE_STRIDE (WO_LIMIT_LINE_BYTES - WO_LIMIT_LINE_OVERLAP_BYTES)

/* Memory failures whose surroundings (progress before and after) are looked at. */
#define WO_SCAN_CONTEXT_MAX 64

/* Failures on one line whose surroundings are looked at. */
#define WO_SCAN_PENDING_MAX 8

/* Keys of settings remembered per input, so that a setting that is printed at each step is kept once. */
#define WO_SCAN_SETTINGS_MAX 1024

/* The last value of a key. */
struct wo_seen_setting {
  uint64_t key;     /* hash of path and key */
  uint64_t value;   /* hash */
  uint64_t offset;  /* in the input, of the last print */
  uint32_t changes; /* 0 = free */
};

/* Lines at the start of an input that WO_WHERE_HEAD patterns look at: a shell may have echoed a few words before. */
#define WO_SCAN_HEAD_LINES 5

/* Writers whose last search for a time is remembered have names of at most this many bytes. */
#define WO_SCAN_SOURCE_BYTES 64

/* Where the last walk back from a failure came to without progress, so that a walk from the next one does not look there again:
 * dozens of ranks fail within a few hundred lines. */
struct wo_walk_memo {
  uint64_t line; /* of the failure: what is before it was looked at for stages; 0: no walk yet */
  uint64_t from; /* offset of its start */
  uint64_t to;   /* offset of the end of the first line that shows progress, or was not looked at */
  uint64_t to_line;
  int lines; /* between the two, as the walk counts them */
};

/* The result of the last search for the time of a line: most searches begin a few lines later and visit the same lines. */
struct wo_stamp_memo {
  bool is_set;
  uint64_t from; /* offset in the input of the line that the time was for */
  size_t source_len;
  char source[WO_SCAN_SOURCE_BYTES]; /* of its writer */
  struct wo_stamp stamp;             /* clock NONE: there is none */
  uint64_t offset;                   /* of the line that has it */
  int lines;                         /* lines between the two */
};

/* Bytes at the start of an input that those lines may have: a progress bar goes on for megabytes without a line feed. */
#define WO_SCAN_HEAD_BYTES WO_LIMIT_LINE_BYTES

/* Sorts of patterns of the tail. */
#define WO_SCAN_TAIL_SORTS 9

/* How the scanner treats lines that hold a pattern's literal. */
enum wo_scan_way {
  WO_SCAN_WAY_READ,  /* as lines are read */
  WO_SCAN_WAY_SHORT, /* handed to the reader's short way */
  WO_SCAN_WAY_FIRST, /* as READ, until one matched: a program need not be named twice */
  WO_SCAN_WAY_OVER,  /* not any more */
  WO_SCAN_WAY_FLOOD  /* as READ, until there are as many of its kind as are kept or told apart: some programs print
                      * them at each step */
};

/* Followers of one scan: more sorts of them than a table of formats has. */
#define WO_SCAN_FOLLOWERS_MAX 8

struct wo_followed {
  const struct wo_follower *follower;
  void *state; /* NULL until it is asked for */
};

/* Lines at the start of an input by which another start is recognised. */
#define WO_SCAN_OPENING_LINES 32

/* Bytes of a line of the opening that must stand in a line for it to be that line again. */
#define WO_SCAN_SIGN_BYTES 32

struct wo_opening {
  struct {
    uint64_t hash;
    bool is_repeated; /* it stands twice in the opening */
  } lines[WO_SCAN_OPENING_LINES];
  size_t count;
  struct {
    char text[WO_SCAN_SIGN_BYTES];
    size_t len;                   /* 0: it has none */
  } signs[WO_SCAN_OPENING_LINES]; /* bytes of each line by which it is looked for */
  struct wo_prefilter *filter;    /* over the signs; NULL: not made yet, or not possible */
  bool has_no_filter;
  size_t again;     /* lines from the first on that were just read again */
  bool is_over;     /* a run has ended, or begun again: nothing is learnt any more */
  uint32_t watched; /* lines that are still looked at, since the last end */
  size_t found;     /* place of the line that was found last, from 1; 0 for none */
};

/* Bytes at the start of an input from which a label is learnt that stands before each line. */
#define WO_SCAN_LABEL_HEAD_BYTES 4096

/* A label of an unknown form that the lines of the log begin with (scan_label.c). */
struct wo_label {
  bool is_looked_for; /* in the head */
  bool has_number;    /* by which several writers are told apart */
  size_t len;         /* of its form; 0 for none */
  size_t offered_len; /* of one that the next line must confirm */
  char form[64], offered[64];
};

/* The walk over the literals of the lines that are read one after the other: each byte is looked at once. */
struct wo_lookout {
  size_t end;    /* of the text in buf */
  size_t passed; /* what starts before this place in buf was given out; SIZE_MAX: the walk is to begin anew */
  struct wo_prefilter_cursor cursor;
  bool has_hit; /* `hit` is at `passed` or behind it */
  bool is_over; /* nothing was found behind `passed` */
  struct wo_prefilter_hit hit;
};

/* Bytes and line ends that were taken out of a text. */
struct wo_taken_out {
  uint64_t bytes;
  uint64_t lines;
};

/* A place at which a wrapped line was joined. Here and below, offsets are those in the text without what was taken out. */
struct wo_seam {
  uint64_t at;                /* offset of what follows the seam */
  struct wo_taken_out before; /* so far, this one included */
};

/* Wrapped lines (scan_wrap.c). */
struct wo_unwrap {
  struct wo_wrap *wrap;
  size_t raw_start, raw_end; /* in buf: what is not yet decided */
  bool is_in_long_line;
  size_t parts;                       /* decided so far, or passed over */
  size_t line_bytes;                  /* of the line that is being joined */
  size_t width;                       /* at which a line was cut last */
  struct wo_taken_out total, dropped; /* dropped: by seams before those that are kept */
  struct {
    struct wo_seam *items;
    size_t count, capacity;
  } seams;
};

struct wo_scan {
  struct wo_pattern_set *set;
  const struct wo_prefilter *prefilter;
  struct wo_event_store *store;
  struct wo_scan_options options;

  char *buf; /* [lookback][not yet looked at] up to buf_len, then what `unwrap` has not yet decided */
  size_t buf_len;
  size_t buf_cap;
  uint64_t buf_offset;  /* of buf[0] in the input */
  size_t pos;           /* start of the next line or piece; everything before has been looked at */
  uint64_t line_number; /* of the line that pos is in, from 1 */
  uint64_t long_lines;
  uint64_t open_start;  /* offset in the input of the line that the counting of long lines is in */
  bool is_in_long_line; /* that line has been counted */
  bool has_nul;
  bool is_at_end;

  struct wo_unwrap unwrap;

  char *clean;      /* cleaned text of the line being read, WO_LIMIT_LINE_BYTES */
  uint64_t *owners; /* pattern bits of the line being read */
  size_t owner_words;
  bool has_owners; /* some may be set */
  struct wo_lookout lookout;
  struct wo_lookout opening_out; /* for the lines of the opening */
  bool is_about_memory;          /* a pattern, or a message that goes on, found something about memory in the line being read */
  size_t *by_place; /* indices of patterns that are not looked for on every line, those of one place after those of another */
  struct wo_places before, stages, tail, head;     /* in the order of the packs */
  struct wo_places tail_sorts[WO_SCAN_TAIL_SORTS]; /* those of the tail by what they look for (scan_tail.c) */
  struct wo_literal_net *net;                      /* of all these but the head's */

  struct wo_open open[WO_LIMIT_OPEN_READERS];
  size_t open_count;
  char *messages;     /* WO_LIMIT_MESSAGE_BYTES for each open reader */
  char *states;       /* state_bytes for each open reader */
  size_t state_bytes; /* of the largest state, rounded up so that each is aligned */
  bool slot_used[WO_LIMIT_OPEN_READERS];

  wo_event_id pending[WO_SCAN_PENDING_MAX]; /* failures of this line whose surroundings are still to be looked at */
  size_t pending_count;
  size_t context_count;                                  /* memory failures whose surroundings were looked at */
  struct wo_walk_memo walk_memo;                         /* of the last of them */
  struct wo_seen_setting settings[WO_SCAN_SETTINGS_MAX]; /* hash table by key */
  size_t setting_count;                                  /* keys in it */
  uint64_t walked_bytes;                                 /* by walks that are not bounded otherwise, so far */
  uint64_t looked_back_bytes;                            /* by wo_scan_each_line_before, so far */
  struct wo_followed followed[WO_SCAN_FOLLOWERS_MAX];    /* in the order of the formats */
  size_t followed_count;
  const struct wo_format **readers; /* of each pattern; NULL for those that name none, or none that is known */
  unsigned char *ways;              /* enum wo_scan_way of each pattern */
  unsigned char *first_ways;        /* at the start of an input */
  size_t line_start;                /* in buf: the line being read, for lines before it */
  struct wo_stamp_memo stamp_memo;
  struct wo_opening opening;
  struct wo_label label;
  struct wo_scan_summary told; /* caps and patterns that were given up, so far */
  size_t limit_hits;           /* of the patterns, when the scanner last looked */
};

/* A bar that rewrites its line ends each state with CR, so walks backwards see the newest state first. Other line ends of Unicode
 * (NEL, U+2028) end no line: editors and grep, with whose line numbers ours must agree, do not count them either. */
static inline bool wo__scan_is_line_end(char c) {
  return c == '\n' || c == '\r';
}

/* Decides as much of the input as is there, or all if it is the last of it, and hands it over behind buf_len without the line
 * ends that a terminal put in. */
void wo__scan_unwrap(struct wo_scan *scan, bool is_last);

/* What was taken out at or before an offset. */
struct wo_taken_out wo__scan_taken_out(const struct wo_scan *scan, uint64_t at);

/* The offset in the input of a place in a line, whose offset is one in the input. */
uint64_t wo__scan_place(const struct wo_scan *scan, uint64_t line_offset, size_t start);

/* Forgets the seams before the buffer. */
void wo__scan_drop_seams(struct wo_scan *scan);

/* Line ends that were taken out of buf(from, to]. */
static inline uint64_t wo__scan_lines_between(const struct wo_scan *scan, size_t from, size_t to) {
  if (scan->unwrap.seams.count == 0) return 0;
  return wo__scan_taken_out(scan, scan->buf_offset + to).lines - wo__scan_taken_out(scan, scan->buf_offset + from).lines;
}

/* The offset in the input of a place in the text without what was taken out. */
static inline uint64_t wo__scan_offset(const struct wo_scan *scan, uint64_t at) {
  return scan->unwrap.total.lines == 0 ? at : at + wo__scan_taken_out(scan, at).bytes;
}

/* Looks at one line or piece of the line that pos is in: buf[start, end). `is_piece`: more of the line follows. */
void wo__scan_line(struct wo_scan *scan, size_t start, size_t end, bool is_piece);

/* The next literal in the text of the lookout that starts at `from` or behind it; false if there is none. */
bool wo__scan_next_hit(struct wo_scan *scan, size_t from, struct wo_prefilter_hit *ret_hit);

/* As that, for any filter and its lookout. */
bool wo__lookout_next(const struct wo_scan *scan, const struct wo_prefilter *filter, struct wo_lookout *out, size_t from,
                      struct wo_prefilter_hit *ret_hit);

/* Where the next literal is that is given out at `from` or behind it, or SIZE_MAX; it stays the next one. */
size_t wo__lookout_peek(const struct wo_scan *scan, const struct wo_prefilter *filter, struct wo_lookout *out, size_t from);

/* First line end in buf[from, to), or `to`. */
size_t wo__scan_line_end(const char *buf, size_t from, size_t to);

/* Marks in scan->owners the patterns that have a literal in the line or piece that is read, `raw`, which is at `start` in buf;
 * `is_piece`: more of the line follows. False if there is none. */
bool wo__scan_mark_owners(struct wo_scan *scan, struct wo_view raw, size_t start, bool is_piece);

/* Whether lines of the pattern are not looked at any more: none of its kind is kept. */
bool wo__scan_is_flooded(const struct wo_scan *scan, size_t pattern);

/* Notes the line when matching the pattern on it has reached a limit of PCRE2. Called after each match. */
void wo__scan_note_limits(struct wo_scan *scan, const struct wo_pattern *pattern, uint64_t line);

/* Adds the event of a match on the line, filled from its groups. NULL when limits are reached. */
struct wo_event *wo__scan_add_match(struct wo_scan *scan, const struct wo_line *line, const struct wo_pattern *pattern,
                                    const struct wo_match *match);

/* Closes all open constructs. */
void wo__scan_close_all(struct wo_scan *scan);

/* For each failure added since the last call: looks for progress before it, and starts to watch for progress after it. `line` is
 * the line being read. */
void wo__scan_contexts(struct wo_scan *scan, const struct wo_line *line);

/* Where the line begins that ends at `end`: after the last line end at or after floor, or at floor. */
size_t wo__scan_line_start(const char *buf, size_t floor, size_t end);

/* A walk backwards over lines: `end` is the start of the line last visited. */
struct wo_backwards {
  struct wo_scan *scan;
  size_t floor; /* nothing before this is looked at */
  size_t end;
  uint64_t number; /* line number at `end` */
  uint64_t base;   /* offset in the input of buf[0] */
  bool is_cut;     /* the line last visited begins before the floor */
  bool is_counted; /* its bytes are among those of WO_LIMIT_WALKED_BYTES */
};

/* Progress lines are short; a long one is looked at by its end, where a bar shows its newest state. */
#define WO_SCAN_AROUND_BYTES 1024

/* The floor is the lookback that the buffer keeps, not the buffer's start, so that the result does not depend on how the input
 * was cut into chunks. */
struct wo_backwards wo__scan_walk_back(struct wo_scan *scan, size_t from, uint64_t number);

/* The same from the line that is read, for walks that any message may cause: once they have passed WO_LIMIT_WALKED_BYTES, there
 * is no line before any more. */
struct wo_backwards wo__scan_walk_counted(struct wo_scan *scan, uint64_t number);

/* The previous line, without blank ones; first the part of its own line before `end`, if `end` does not start a line. False at
 * the floor; gives the end of a line that the floor cuts if enough of it is visible. */
bool wo__scan_previous_line(struct wo_backwards *walk, struct wo_view *ret_raw, uint64_t *ret_offset);

/* The stamp of the nearest stamped line of the same writer before the one being read, as inherited; clock NONE if none is near.
 */
struct wo_stamp wo__scan_stamp_before(struct wo_scan *scan, const struct wo_line *line);

/* Looks at the last lines of the input: how far it came, whether it says that it finished. */
void wo__scan_tail(struct wo_scan *scan);

/* Sorts the patterns of the tail, once for each scanner. The indices go to `items`, at most two for each pattern of it. */
void wo__scan_sort_tail(struct wo_scan *scan, size_t *items);

/* Whether the place in the input, on that line, is one that WO_WHERE_HEAD patterns look at. */
static inline bool wo__scan_is_head(uint64_t line, uint64_t offset) {
  return line <= WO_SCAN_HEAD_LINES && offset < WO_SCAN_HEAD_BYTES;
}

/* The line's own stamp, or an inherited one for a kind that may be an end of the job. */
struct wo_stamp wo__scan_stamp_of(struct wo_scan *scan, const struct wo_line *line, enum wo_kind kind);

/* Ends the open construct at that place of the scanner's list; the ones after it move up. */
void wo__scan_finish(struct wo_scan *scan, size_t at);

/* Opens a construct by hand (for readers that no pattern starts). False when none is free. */
struct wo_open *wo__scan_open(struct wo_scan *scan, const struct wo_format *format, const struct wo_pattern *pattern,
                              const struct wo_line *line);

/* Whether each line is to be read, because it may belong to an opening. */
bool wo__scan_is_opening(const struct wo_scan *scan);

/* Only while lines are watched for an opening, and none is to be read for other reasons before `end` in buf, where one begins.
 * Returns the start of the first of them that may be a line of the opening, or else `end`; the lines before it count as watched.
 */
size_t wo__scan_pass_unopened(struct wo_scan *scan, size_t end);

/* Only while wo__scan_is_opening. Learns the line, if it is one of the first; looks for it in what was learnt, if a run has ended
 * not long before. Two lines of the opening in their order make an event (run_start). */
void wo__scan_opening(struct wo_scan *scan, const struct wo_line *line);

/* Lines after an end in which the opening is looked for. */
#define WO_SCAN_WATCHED_LINES 400

/* A run ended here: the opening may follow. */
static inline void wo__scan_watch_for_opening(struct wo_scan *scan) {
  scan->opening.is_over = true;
  scan->opening.watched = scan->opening.count > 1 ? WO_SCAN_WATCHED_LINES : 0;
  scan->opening.found = 0;
}

/* How much the line shows that the program lived on after a failure at that time: WO_SCAN_LIFE_SURE, less, or 0. */
#define WO_SCAN_LIFE_SURE 2
int wo__scan_life(const struct wo_line *line, struct wo_stamp since);

/* Whether the line has words of a program that ends, or that tells of failures. */
bool wo__scan_is_about_end(struct wo_view text);

/* So much shows that a program went on: five lines that only one which lives on writes. */
#define WO_SCAN_LIFE_ENOUGH (5 * WO_SCAN_LIFE_SURE)

/* A line without what differs from one print of it to the next: its words. 0 for a line that has few. */
uint64_t wo__scan_shape(struct wo_view text);

/* Lines of one shape that differ in their numbers: a program that works prints them. */
#define WO_SCAN_SERIES_MAX 16

struct wo_series {
  struct {
    uint64_t shape;
    uint64_t numbers; /* of the line last seen */
    int lines;        /* that differ */
  } shapes[WO_SCAN_SERIES_MAX];
  size_t count;
};

/* Whether the line makes its shape a series: `least` lines that differ, or one less with several figures that have names. Lines
 * about an end, or about another try, are none. */
bool wo__series_grows(struct wo_series *series, struct wo_view text, int least);

/* Learns the label from the bytes of the head. */
void wo__scan_learn_label(struct wo_scan *scan, struct wo_view head);

/* The line after the one for which a label was offered: it must show that the label is one. */
void wo__scan_confirm_label(struct wo_scan *scan, struct wo_view raw);

struct wo_view wo__scan_cut_known_label(const struct wo_label *label, struct wo_view *raw);

/* Takes the label that was learnt off a line, and gives it; empty without one. */
static inline struct wo_view wo__scan_cut_label(const struct wo_scan *scan, struct wo_view *raw) {
  return scan->label.len > 0 ? wo__scan_cut_known_label(&scan->label, raw) : (struct wo_view){0};
}

/* A label with a number in it is that of a writer, if the line names none. */
static inline void wo__scan_note_label(const struct wo_scan *scan, struct wo_view label, struct wo_prefix *prefix) {
  if (label.len > 0 && scan->label.has_number && prefix->source.len == 0) prefix->source = label;
}

/* The reader that watches for progress after a failure. */
extern const struct wo_format wo__format_aftermath;

#endif
