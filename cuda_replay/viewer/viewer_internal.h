/* SPDX-License-Identifier: Apache-2.0 */
/* Private to viewer*.c: a recording as the page shows it. */
#ifndef WO_VIEWER_INTERNAL_H
#define WO_VIEWER_INTERNAL_H

#include "cuda_replay/viewer/viewer.h"
#include "parsers/base/limits.h"

/* Call sites with a group of their own; all groups of a grouping; the groupings: by site, by class, by category. */
enum { WO__VIEWER_SITES = 24, WO__VIEWER_GROUPS = 32, WO__VIEWER_GROUPINGS = 3 };

/* Windows of entries in which all blocks are kept; failures that are marked. */
enum { WO__VIEWER_WINDOWS = 4, WO__VIEWER_OOMS = 64 };

#define WO__VIEWER_OTHERS UINT32_MAX

/* The page's data has the origins of frames as numbers, which viewer.js knows. */
_Static_assert(WO_FRAME_NATIVE == 0 && WO_FRAME_USER == 4, "as in viewer.js");

/* One way to divide the blocks into groups. */
struct wo__viewer_grouping {
  const char *name;                  /* "site" */
  uint32_t items[WO__VIEWER_GROUPS]; /* what each group is: a site, class or category, or WO__VIEWER_OTHERS */
  size_t count;
  size_t first;     /* the place of its first group in a row of all groups */
  uint8_t *of_item; /* the group of each site, class or category */
};

/* Memory over time in columns of `width` entries, the last one may be shorter: the states after these entries. Values are those
 * of the moment in the column where most is in use, so that the groups of a column add up. The state before the window is in
 * none. */
struct wo__viewer_columns {
  uint32_t width;
  size_t count;
  size_t groups;      /* values of one column: all groupings one after the other */
  uint32_t *at;       /* the moment of each column; WO_NO_ENTRY: before the first entry */
  uint64_t *bytes;    /* in use then */
  uint64_t *reserved; /* the most in the column */
  uint64_t *values;   /* count x groups */
  uint64_t *before;   /* groups: the state before the window */
  uint64_t reserved_before;
  uint64_t reserved_most; /* of all columns and before them */
};

/* A stack that the page has, in the order of the page. */
struct wo__viewer_stack {
  uint32_t stack;       /* of the recording */
  uint32_t node;        /* of the tree: its innermost frame */
  uint64_t peak_bytes;  /* at the peak */
  uint64_t total_bytes; /* of all its blocks in the window */
  uint64_t count;
  bool is_kept; /* has a block that is kept */
};

/* A frame of stacks: the frame that called it is `parent` (smaller than its own number), or UINT32_MAX. */
struct wo__viewer_node {
  uint32_t parent;
  uint32_t frame; /* of the recording */
};

/* A frame of the tree, with its texts by number. */
struct wo__viewer_frame {
  uint32_t frame; /* of the recording */
  uint32_t function, file;
};

/* A text of the page; of a file the end is kept where it is too long. */
struct wo__viewer_text {
  struct wo_view text;
  bool is_file;
};

struct wo__viewer {
  const struct wo_viewer *page;
  const struct wo_look *look;
  struct wo_window window;
  struct wo_moment peak;
  struct wo__viewer_grouping groupings[WO__VIEWER_GROUPINGS];
  size_t grouping_count; /* 3 with categories, else 2 */
  struct wo__viewer_columns columns;
  uint32_t ooms[WO__VIEWER_OOMS]; /* entries of the first ones in the window */
  size_t oom_kept, oom_count;
  /* Blocks and ranges that are shown one by one. */
  uint8_t *is_kept; /* for each block */
  size_t kept_count;
  size_t window_count; /* blocks that are there at any time in the window */
  struct wo_window exact[WO__VIEWER_WINDOWS];
  size_t exact_count;
  bool is_all_kept;
  uint8_t *is_range_kept;
  size_t range_count, range_kept; /* in the window */
  /* Stacks. */
  WO_VEC(struct wo__viewer_stack) stacks;
  WO_VEC(struct wo__viewer_node) nodes;
  size_t stack_count; /* in the window, of which stacks.count are in the page */
  WO_VEC(struct wo__viewer_frame) frames;
  WO_VEC(struct wo__viewer_text) texts;
  uint32_t *frame_place; /* for each frame of the recording: its place in frames, or UINT32_MAX */
};

/* Each makes its part of the model, in this order. False if memory is out. */
bool wo__viewer_group(struct wo__viewer *viewer);
bool wo__viewer_fill_columns(struct wo__viewer *viewer, size_t most);
bool wo__viewer_choose(struct wo__viewer *viewer, size_t block_limit, size_t range_limit);
bool wo__viewer_name(struct wo__viewer *viewer);

/* The most characters of a text in the page. */
enum { WO__VIEWER_FUNCTION_CHARS = 200, WO__VIEWER_FILE_CHARS = 120 };

/* Numbers the frames of the tree and their texts. *ret_fits: they take at most WO_LIMIT_VIEWER_TEXT_BYTES. False if memory is
 * out.
 */
bool wo__viewer_texts(struct wo__viewer *viewer, bool *ret_fits);

void wo__viewer_done(struct wo__viewer *viewer);

/* Appends the data of the script: one JSON object. False if memory is out. */
bool wo__viewer_data(const struct wo__viewer *viewer, struct wo_text *out);

/* Appends the picture of memory over time by call site. */
void wo__viewer_picture(const struct wo__viewer *viewer, struct wo_text *out);

/* Appends tables of what is in use at the first failure, else at the peak. False if memory is out. */
bool wo__viewer_tables(const struct wo__viewer *viewer, struct wo_text *out);

/* Appends the name of a group: any bytes. */
void wo__viewer_group_name(const struct wo__viewer *viewer, size_t grouping, size_t group, struct wo_text *out);

/* The group of a block. */
static inline uint8_t wo__viewer_group_of(const struct wo__viewer *viewer, size_t grouping, const struct wo_life *life) {
  const uint8_t *const of_item = viewer->groupings[grouping].of_item;
  return grouping == 0 ? of_item[wo_sites_of(&viewer->look->sites, life->stack)]
                       : of_item[grouping == 1 ? life->class_ : life->category];
}

/* A block's or range's beginning and end as seen from the window: entries from its first one, 0 for what was there before it;
 * *ret_end is 0 for what is there behind it. */
static inline void wo__viewer_place(struct wo_window window, uint32_t birth, uint32_t death, uint32_t *ret_birth,
                                    uint32_t *ret_end) {
  *ret_birth = birth == WO_NO_ENTRY || birth < window.first ? 0 : birth - window.first + 1;
  *ret_end = death == WO_NO_ENTRY || death >= window.end ? 0 : death - window.first + 1;
}

#endif
