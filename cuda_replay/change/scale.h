/* SPDX-License-Identifier: Apache-2.0 */
/* The same work with another micro-batch or sequence length: how each allocation grows, from one recording.
 *
 * Sizes are s^i b^j times a constant. The exponents i (0, 1, 2) and j (0, 1) of every allocation are inferred from classes,
 * divisibility, operators, lifetimes and neighbours (docs/scaling.md), or computed from a second recording (scale_from_two.h). An
 * undecided exponent is an interval: a low and a high exponent beside the likely one. Requested bytes are scaled, never block
 * sizes. Pure; one thread at a time. */
#ifndef WO_SCALE_H
#define WO_SCALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_replay/classes/classify.h"
#include "cuda_replay/pattern/alloc_pattern.h"
#include "parsers/base/status.h"
#include "parsers/base/view.h"

/* An end of an interval: the smallest possible value, the likely one, the largest. A fix fits only if it fits at the high end. */
enum wo_bound { WO_BOUND_LOW, WO_BOUND_LIKELY, WO_BOUND_HIGH, WO_BOUND_COUNT_ };

/* The name of a bound ("low", "likely", "high"). Never NULL. */
const char *wo_bound_name(enum wo_bound bound);

/* One quantity, from its recorded value to the new one; {0, 0} if it is not named, else both are 1 .. 2^31. */
struct wo_scale_axis {
  uint32_t from;
  uint32_t to;
};

enum wo_scale_axis_id { WO_AXIS_MICRO_BATCH, WO_AXIS_SEQ_LEN, WO_AXIS_COUNT_ };

/* The name of an axis as it is spelled in a specification ("micro_batch"). Never NULL. */
const char *wo_scale_axis_name(enum wo_scale_axis_id axis);

/* Steps that differ in length: the length is that of allocations born at requests [length_first, length_end), and scales only
 * these; both 0: of all. */
struct wo_scale_spec {
  struct wo_scale_axis axes[WO_AXIS_COUNT_];
  uint32_t length_first, length_end;
  uint32_t batch_end; /* what is born at this request or later has another batch, which does not scale; 0: nothing is */
};

/* Reads "micro_batch=32:16,seq_len=512:1024" (blanks around items allowed; batch, seq, sequence_length, ... as other names). An
 * axis with equal ends states the recorded value and changes nothing; it helps the inference. WO_E_SYNTAX, WO_E_RANGE (0, too
 * large), WO_E_UNKNOWN (no such axis, the message lists them): *err has the column. */
enum wo_status wo_scale_parse(struct wo_view text, struct wo_scale_spec *ret_spec, struct wo_err *err);

/* How an exponent was found: rows of scale_reasons.def, in the order in which they are tried. */
enum wo_scale_reason {
#define WO_SCALE_REASON(id, text) WO_SCALE_REASON_##id,
#include "cuda_replay/change/scale_reasons.def"
#include "parsers/base/vec.h"
#undef WO_SCALE_REASON
  WO_SCALE_REASON_COUNT_
};

/* The words for a reason ("as large as a parameter"). Never NULL. */
const char *wo_scale_reason_text(enum wo_scale_reason reason);

/* Exponents of one allocation, by axis and bound: low <= likely <= high; micro_batch 0 or 1, seq_len 0 to 2. */
struct wo_exponent {
  uint8_t power[WO_AXIS_COUNT_][WO_BOUND_COUNT_];
  uint8_t reason; /* enum wo_scale_reason */
  int8_t shift;   /* the size counts seq_len + shift: -1 if a loss omits the last position, +1 for one more token */
};

struct wo_exponents {
  WO_VEC(struct wo_exponent) list; /* one for each instance */
  /* Bytes of all allocations that an activation rule matched, and of those that the named axis divides: if few are divisible, the
   * recorded value is wrong (padding, packing, a wrong number). */
  uint64_t activation_bytes;
  uint64_t divisible_bytes[WO_AXIS_COUNT_];
};

/* Infers the exponents of a classified pattern. WO_E_RANGE if the recorded values of the specification explain hardly any
 * activation (the message says how much); WO_E_NOMEM. */
enum wo_status wo_scale_infer(const struct wo_alloc_pattern *pattern, const struct wo_classes *classes,
                              const struct wo_scale_spec *spec, struct wo_exponents *ret_exponents, struct wo_err *err);

/* Whether a pass begins with a tensor of exactly micro_batch x seq_len tokens, so that the length moves what is allocated. That
 * sizes are multiples of a length shows nothing: dimensions of images and of models are multiples of the same powers of two. */
bool wo_scale_has_length(const struct wo_alloc_pattern *pattern, const struct wo_classes *classes, uint32_t micro_batch,
                         uint32_t seq_len);

/* The length of a pass, and the requests from its beginning to that of the next one (UINT32_MAX: it is the last). */
struct wo_pass_length {
  uint32_t seq_len; /* 0: not known */
  uint32_t first, end;
};

/* The greatest length, at most `most`, of the passes at or after request `first`: a tensor at the beginning of a pass has
 * micro_batch x length tokens, and most of the pass is multiples of these. Identifiers of less than
 * 8 bytes may show half the length. */
struct wo_pass_length wo_scale_find_length(const struct wo_alloc_pattern *pattern, const struct wo_classes *classes,
                                           uint32_t first, uint32_t micro_batch, uint32_t most);

/* Whether the last pass, which begins at or after request `first`, has a batch of its own (an evaluation between steps): it
 * begins with more tokens than micro_batch texts of at most seq_len have, and most of it is multiples of these, while earlier
 * passes show texts of the micro-batch. */
bool wo_scale_has_other_batch(const struct wo_alloc_pattern *pattern, const struct wo_classes *classes, uint32_t first,
                              uint32_t micro_batch, uint32_t seq_len);

/* Releases what it owns; NULL allowed. */
void wo_exponents_done(struct wo_exponents *exponents);

/* A copy of the pattern with every size scaled, at one end of the interval. WO_E_RANGE if a size leaves 1 .. 2^60 (the message
 * names the allocation); WO_E_NOMEM. The copy is released with wo_alloc_pattern_done. */
enum wo_status wo_scale_apply(const struct wo_alloc_pattern *pattern, const struct wo_exponents *exponents,
                              const struct wo_scale_spec *spec, enum wo_bound bound, struct wo_alloc_pattern *ret_pattern,
                              struct wo_err *err);

#endif
