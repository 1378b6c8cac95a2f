/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that programs print beside their training steps, with the memory of the card in them:
 *
 *   step 1200 | loss 2.31 | mem 67.02 GiB
 *
 * A line is text with numbers in between. The text around a number alone decides its meaning, so all lines with the same text are
 * read in the same way: the *form* of the first one is used to read the next ones in one pass, without another look at their
 * words. Pure; a form may be used by one thread at a time. */
#ifndef WO_STEPS_FORM_H
#define WO_STEPS_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/base/keep/keep.h"
#include "parsers/base/limits.h"
#include "parsers/base/view.h"

/* The role of a figure of memory. Peaks only rise until the program resets them, so they differ from the memory in use now. */
enum wo_steps_role {
  WO_STEPS_ALLOCATED,     /* by PyTorch, in use by tensors */
  WO_STEPS_RESERVED,      /* by PyTorch: allocated and cached */
  WO_STEPS_USED,          /* "mem", "GPU memory": the line does not say which */
  WO_STEPS_FREE,          /* fairseq's gb_free */
  WO_STEPS_PEAK,          /* highest allocated so far */
  WO_STEPS_PEAK_RESERVED, /* highest reserved so far */
  WO_STEPS_ROLE_COUNT_
};

/* A figure that a line does not have. */
#define WO_STEPS_UNKNOWN (-1.0)

/* The uses that a number can have. */
#define WO_STEPS_USE_COUNT 6

/* Highest rank or index of a card that is accepted. */
#define WO_STEPS_LABEL_MAX 99999

/* One number of a form, and the text before it. */
struct wo_steps_part {
  uint16_t text_len; /* of the text before it, without blanks at its end; 0 is no text */
  uint8_t use;       /* enum use of steps_form.c */
  uint8_t role;      /* of memory */
  bool is_bar;       /* no number but the bar of a progress bar */
  bool takes_sign;   /* a sign may be before it without a blank */
  bool is_bare;      /* no unit: whole bytes, and many of them */
  double scale;      /* bytes of its unit */
};

struct wo_steps_form {
  bool is_sample;     /* false: the text shows that such lines do not describe the card */
  bool is_local_rank; /* the rank counts the processes of one node */
  bool is_epoch;      /* what counts as step is an epoch */
  size_t part_count;
  size_t text_len;
  size_t tail_len; /* of the text after the last number, which is at the end of `text` */
  struct wo_steps_part parts[WO_LIMIT_STEPS_NUMBERS];
  char text[2 * WO_LIMIT_STEPS_LINE_BYTES]; /* as much again as a line has, so that as much may be looked at from any place */
};

/* The figures of one line; WO_STEPS_UNKNOWN if it does not have them. */
struct wo_steps_reading {
  double step;
  double epoch;
  int32_t rank; /* or -1 */
  int32_t gpu;  /* or -1 */
  double bytes[WO_STEPS_ROLE_COUNT_];
  double half_bytes[WO_STEPS_ROLE_COUNT_]; /* half of the last printed digit */
};

/* Finds the form of a line (raw, without its line end). False when it is too long, or has too many numbers or none. */
bool wo_steps_form_make(struct wo_view line, struct wo_steps_form *ret_form);

/* The length of the line at the start of `text` when it is of that form, or WO_NOT_FOUND. The line ends at '\n', '\r' or the end
 * of the text. Fills *ret_reading when the form is that of samples; a figure that cannot be true (negative, or larger than any
 * card) stays unknown. */
size_t wo_steps_form_match(const struct wo_steps_form *form, struct wo_view text, struct wo_steps_reading *ret_reading);

/* Writes a form, or reads one. */
void wo_steps_form_keep(struct wo_steps_form *form, struct wo_keep *keep);

/* Reads the row of a table of YOLO: "      1/100      12.3G     0.0412 ...". */
bool wo_steps_read_yolo(struct wo_view line, struct wo_steps_reading *ret_reading);

/* The name of a role in facts and reports: "allocated". */
const char *wo_steps_role_name(enum wo_steps_role role);

#endif
