#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts which windows of four bytes are common in logs, for parsers/match/common_windows.def.

usage: common_windows.py FILE... > parsers/match/common_windows.def

Each file counts alike, whatever its size, and no window counts for more than 20 in 1000 bytes of one file. Files that are
measured on (make_logs.py) must not be among them.
"""

import math
import sys

KEPT = 4000
HEAD_BYTES = 400_000
MOST = 20.0


def count(path, totals):
    with open(path, "rb") as file:
        text = file.read(HEAD_BYTES)
    if len(text) < 200 or b"\0" in text[:1000] or text.startswith(b"\x1f\x8b"):
        return 0
    own = {}
    for at in range(len(text) - 3):
        window = text[at:at + 4]
        own[window] = own.get(window, 0) + 1
    for window, number in own.items():
        totals[window] = totals.get(window, 0) + min(number * 1000 / len(text), MOST)
    return 1


def spell(window):
    out = ""
    for byte in window:
        char = chr(byte)
        if char in '"\\':
            out += "\\" + char
        elif char == "?":
            out += "\\?"
        elif 32 <= byte < 127:
            out += char
        else:
            out += "\\%03o" % byte
    return out


def main():
    totals, files = {}, 0
    for path in sys.argv[1:]:
        files += count(path, totals)
    rows = sorted(totals.items(), key=lambda row: (-row[1], row[0]))[:KEPT]
    levels = {}
    for window, total in rows:
        levels.setdefault(math.floor(math.log2(total / files)), []).append(window)
    print("/* Windows of four bytes that are common in logs: made by tests/bench/scan/common_windows.py of %d of them.\n *\n"
          " * WO_COMMON_WINDOWS(level, text): each four bytes of the text were met 2^level times in 1000 bytes, or nearly twice "
          "as often. */" % files)
    for level in sorted(levels, reverse=True):
        lines, line = [], ""
        for window in sorted(levels[level]):
            part = spell(window)
            if len(line) + len(part) > 112:
                lines.append(line)
                line = ""
            line += part
        lines.append(line)
        print("WO_COMMON_WINDOWS(%d,%s)" % (level, "".join('\n  "%s"' % line for line in lines)))


if __name__ == "__main__":
    main()
