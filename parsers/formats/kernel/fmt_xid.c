/* SPDX-License-Identifier: Apache-2.0 */
/* Xid reports of the NVIDIA driver, as dmesg, the journal or syslog print them. Their number says what happened; whether the card
 * or the program is at fault, or neither, differs from number to number:
 *
 *   NVRM: Xid (PCI:0000:4e:00): 31, pid=88120, name=python, Ch 00000009, intr 00000000. MMU Fault: ...
 *   NVRM: Xid (PCI:0000:81:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
 *   NVRM: Xid (0000:04:00): 13, Graphics Exception: ESR 0x505224=0x80000000
 *
 * Form: drivers 340 to 580. None of the numbers means that memory ran out. */
#include <stdio.h>

#include "parsers/scan/format.h"

/* The meaning of a number, and the evidence that it is. */
struct meaning {
  uint32_t xid;
  enum wo_kind kind;
  const char *text;
};

/* 45 tidies up after another error or a killed process, and 154 says what to do about the report before it: neither is a failure
 * by itself. 13, 31 and 43 are what a wrong address or index in a kernel of the program looks like. */
static const struct meaning meanings[] = {
    {13, WO_KIND_PROGRAM_ERROR, "exception in a kernel: a wrong address or index"},
    {31, WO_KIND_PROGRAM_ERROR, "MMU fault: a kernel used a wrong address"},
    {43, WO_KIND_PROGRAM_ERROR, "the card stopped the program's channel after its error"},
    {45, WO_KIND_SECONDARY, "clean-up after another error or a killed process"},
    {48, WO_KIND_XID, "double-bit ECC error"},
    {61, WO_KIND_XID, "internal micro-controller stopped"},
    {62, WO_KIND_XID, "internal micro-controller halted"},
    {63, WO_KIND_XID, "a bad row or page of the card's memory was set aside"},
    {64, WO_KIND_XID, "a bad row or page of the card's memory could not be set aside"},
    {74, WO_KIND_XID, "NVLink error"},
    {79, WO_KIND_XID, "the card has fallen off the bus"},
    {92, WO_KIND_XID, "high rate of single-bit ECC errors"},
    {94, WO_KIND_XID, "contained ECC error"},
    {95, WO_KIND_XID, "uncontained ECC error"},
    {109, WO_KIND_XID, "context switch timed out"},
    {119, WO_KIND_XID, "the card's system processor (GSP) does not answer"},
    {120, WO_KIND_XID, "error of the card's system processor (GSP)"},
    {122, WO_KIND_XID, "the card's SPI or PMU could not be read"},
    {154, WO_KIND_NOTE, "what it takes to recover the card"},
};

/* NULL for a number that the table does not know. */
static const struct meaning *find_meaning(struct wo_view number) {
  uint64_t xid = 0;
  if (wo_number_u64(&number, 100000, &xid) != WO_OK) return NULL;
  for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
    if (meanings[i].xid == xid) return &meanings[i];
  }
  return NULL;
}

/* An unknown number is reported as a fault of the card, because most numbers are one. */
static enum wo_more begin_xid(struct wo_open *open, const struct wo_match *match) {
  const struct meaning *meaning = find_meaning(wo_match_group(match, "xid"));
  struct wo_event *event = wo_open_add_filled(open, meaning ? meaning->kind : open->pattern->kind, match);
  if (event && meaning) {
    char reason[120];
    snprintf(reason, sizeof reason, "Xid %u: %s", (unsigned)meaning->xid, meaning->text);
    wo_event_set_text(open->store, event, WO_FIELD_REASON, wo_view_of(reason));
  }
  return WO_MORE_NO;
}

const struct wo_format wo__format_xid = {.name = "xid", .begin = begin_xid};
