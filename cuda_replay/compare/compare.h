/* SPDX-License-Identifier: Apache-2.0 */
/* Two recordings of one program: what holds more memory in the second one, what is new there, and what is gone.
 *
 * Both are looked at in one moment each: where most memory was in use, or at the end. The blocks of that moment are summed up by
 * call site, by class and by category. A call site of one recording is that of the other if function and file are the same, with
 * folders left out: lines move when a program is edited. Where a function asks in several lines, sites with the same line go
 * together first, then the others in their order. Pure; one thread. */
#ifndef WO_COMPARE_H
#define WO_COMPARE_H

#include "cuda_replay/category/category.h"
#include "cuda_replay/category/look.h"
#include "parsers/base/anonymize/pseudonyms.h"
#include "parsers/base/text.h"

enum wo_compare_at { WO_COMPARE_PEAK, WO_COMPARE_END };

/* One recording, borrowed. The moment is in the look's window. */
struct wo_compare_side {
  const struct wo_look *look;
  struct wo_view path; /* any bytes */
};

/* A row: the same site, class or category in both. */
struct wo_compare_row {
  uint32_t item[2];     /* site, class or category; UINT32_MAX: not in that recording at all */
  struct wo_sum sum[2]; /* of the two moments */
  bool is_line_same;    /* of sites: the line, too */
};

struct wo_compare {
  struct wo_compare_side side[2];
  const struct wo_categories *categories;
  enum wo_compare_at at;
  struct wo_moment moment[2];
  WO_VEC(struct wo_compare_row) sites;           /* most growth first; rows without bytes in both are left out */
  WO_VEC(struct wo_compare_row) classes;         /* likewise */
  WO_VEC(struct wo_compare_row) categories_rows; /* likewise; empty without categories */
};

/* Compares. WO_E_NOMEM: *ret_compare is empty. */
enum wo_status wo_compare_make(const struct wo_compare_side side[2], const struct wo_categories *categories,
                               enum wo_compare_at at, struct wo_compare *ret_compare);

/* Reads two recordings and appends their comparison; of a file with several devices the first one counts, or `device` if it is
 * not negative. NUL-terminated paths. Statuses of wo_trace_open, WO_E_USAGE for a device or a part that a file does not have;
 * *ret_failed is then the path that failed. Nothing is appended on failure. */
struct wo_compare_options {
  const struct wo_categories *categories;
  enum wo_compare_at at;
  int device;
  struct wo_look_part part;
  struct wo_pseudonyms *pseudonyms; /* for names of both recordings and their paths; NULL for none */
  void (*write)(const struct wo_compare *compare, struct wo_text_style style, struct wo_text *out);
  struct wo_text_style style;
};
enum wo_status wo_compare_files(const char *const paths[2], const struct wo_compare_options *options, struct wo_text *out,
                                const char **ret_failed, struct wo_err *err);

/* Releases what it owns; NULL and {0} allowed. */
void wo_compare_done(struct wo_compare *compare);

/* Appends the report for people / one JSON object of schema whyoom.replay-diff/1 (docs/schema/replay-diff-1.schema.json), which
 * has no style. If memory is out, out->is_failed is set. */
void wo_compare_text(const struct wo_compare *compare, struct wo_text_style style, struct wo_text *out);
void wo_compare_json(const struct wo_compare *compare, struct wo_text_style style, struct wo_text *out);

/* Appends the name of a row, cleaned: of a site with its line in A where that is another one. */
typedef void (*wo_compare_name_fn)(const struct wo_compare *compare, const struct wo_compare_row *row, struct wo_text *out);
void wo_compare_name_site(const struct wo_compare *compare, const struct wo_compare_row *row, struct wo_text *out);
void wo_compare_name_class(const struct wo_compare *compare, const struct wo_compare_row *row, struct wo_text *out);
void wo_compare_name_category(const struct wo_compare *compare, const struct wo_compare_row *row, struct wo_text *out);

#endif
