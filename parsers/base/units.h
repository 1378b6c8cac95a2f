/* SPDX-License-Identifier: Apache-2.0 */
/* Text <-> bytes and nanoseconds. The only place that knows that KiB is 1024, and what each printer means by "GB".
 *
 * Readers advance *in only on success. Writers write into the caller's buffer and always NUL-terminate when cap > 0.
 * No allocation, no locale, any thread. */
#ifndef WO_UNITS_H
#define WO_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "parsers/base/number.h"

#define WO_KIB 1024.0
#define WO_MIB (1024.0 * 1024.0)
#define WO_GIB (1024.0 * 1024.0 * 1024.0)
#define WO_NS_PER_S INT64_C(1000000000)

/* Reads a size: a number, optional blanks or line breaks (real, or written as `\n`), and a unit. Units, case-insensitive where
 * that is unambiguous: "bytes", "byte", "B", K/M/G/T/P with or without "iB", "i" or "B" ("17.66 GiB", "384.0KiB", "8.89 GB",
 * "64G", "123456K", "0 bytes", "16.0G", "16Gi"). A unit is a whole word ("2 GPUs" is no size) and "Gb" is refused, since it means
 * bits. All are powers of 1024: every tool that whyoom reads prints 1024 powers, whatever the name (pytorch-mps, kernel kB,
 * SLURM, seff). A bare number is bytes only when `bare_scale` > 0: then it is multiplied by it. The interval is the rounding
 * interval times the unit; its middle is rounded to a whole byte. Values at or above 2^63 (such as 17179869184.00 GiB, which WSL
 * prints for an unknown size) give WO_E_RANGE. */
enum wo_status wo_units_bytes(struct wo_view *in, double bare_scale, struct wo_interval *ret_bytes);

/* The bytes of such a unit, the whole word; 0 when it is none. */
double wo_units_scale(struct wo_view word);

/* Writes bytes the way PyTorch does: "0 bytes", "512 bytes", "20.00 MiB", "17.66 GiB" (two decimals, powers of 1024; up to
 * and including 1024 of a unit stays in that unit). Negative values get a '-'. Returns buf. */
char *wo_units_bytes_text(double bytes, char *buf, size_t cap);

/* The same in a buffer of its own, which lives to the end of the block around it. */
#define WO_BYTES_TEXT(bytes) wo_units_bytes_text((double)(bytes), (char[32]){0}, 32)

/* Writes bytes in GiB with the given number of decimals, without the unit ("17.66"). Returns buf. */
char *wo_units_gib_text(double bytes, int decimals, char *buf, size_t cap);

/* Reads a duration as SLURM writes it: "MM", "MM:SS", "HH:MM:SS", "D-HH", "D-HH:MM", "D-HH:MM:SS". Result in nanoseconds. */
enum wo_status wo_units_slurm_duration(struct wo_view *in, int64_t *ret_ns);

/* Writes a duration as "D-HH:MM:SS" or "HH:MM:SS". Returns buf. */
char *wo_units_duration_text(int64_t ns, char *buf, size_t cap);

/* Reads a calendar time at the front of *in: "2025-03-11T04:00:12", a blank or '_' instead of the T, optional fraction after
 * '.' or ',', optional "Z" or "+hh:mm" zone. Result: nanoseconds since 1970 as if the local time were UTC when no zone is given.
 * WO_E_SYNTAX when it is no such time; WO_E_RANGE for impossible fields. */
enum wo_status wo_units_time(struct wo_view *in, int64_t *ret_ns);

/* Writes nanoseconds since 1970 as RFC 3339 without zone ("2025-03-11T04:00:12"). Returns buf. */
char *wo_units_time_text(int64_t ns, char *buf, size_t cap);

#endif
