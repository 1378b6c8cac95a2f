# SPDX-License-Identifier: Apache-2.0
"""What a shell would do with a printed line: which of its characters are active, and whether a planted word stands among them."""
import re

import hostile

ACTIVE = ";|&<>()`$*?[]{}~#!\n"
MARKED = re.compile(re.escape(hostile.MARK))
REACH = 30  # a planted command begins at most so many characters before its mark, and ends so many behind it


def active_mask(line):
    """For each character whether the shell takes it for more than itself. Quotes left open make everything behind them active."""
    mask = [False] * len(line)
    quote, begin, at, is_word_start = None, 0, 0, True
    while at < len(line):
        letter = line[at]
        if quote == "'":
            if letter == "'":
                quote = None
        elif quote == '"':
            if letter == '"':
                quote = None
            elif letter == "\\" and at + 1 < len(line) and line[at + 1] in '$`"\\\n':
                at += 1
            elif letter in "$`":
                mask[at] = True
        elif letter in "'\"":
            quote, begin = letter, at
        elif letter == "\\" and at + 1 < len(line):
            if line[at + 1] == "\n":
                mask[at + 1] = True
            at += 1
        elif letter == "#" and is_word_start:
            end = line.find("\n", at)
            if end < 0:
                return mask
            at = end
            mask[at] = True
        elif letter in ACTIVE:
            mask[at] = True
        is_word_start = quote is None and letter in " \t\n;|&("
        at += 1
    if quote is not None:
        for i in range(begin, len(line)):
            mask[i] = True
    return mask


def planted_active(line, are_words_meant=False):
    """The part of the line in which a planted word is active, or None. A planted word beside others is the sign of a name that is not
    quoted, unless the words of an input are meant as arguments (those of a dump's Command=)."""
    mask = None
    for match in MARKED.finditer(line):
        if mask is None:
            mask = active_mask(line)
        begin, end = max(0, match.start() - REACH), min(len(line), match.end() + REACH)
        if any(mask[begin:end]):
            return line[begin:end]
        if not are_words_meant and line[:match.start()].endswith("touch ") and is_bare(line, match.start()):
            return line[begin:end]
    return None


def is_bare(line, at):
    """Whether the mark follows a blank that no quotes and no backslash hold, as behind `touch `."""
    quote, is_escaped = None, False
    for letter in line[:at]:
        if is_escaped:
            is_escaped = False
            is_last_free = False
            continue
        is_last_free = quote is None and letter in " \t"
        if letter == "\\" and quote != "'":
            is_escaped = True
        elif quote:
            if letter == quote:
                quote = None
        elif letter in "'\"":
            quote = letter
        elif letter == "#":
            return False
    return is_last_free


# A line of a report that is meant to be pasted, and where it begins.
PASTED = re.compile(r"^ {0,9}(?:resubmit(?: with)?:\s*|prove it:\s*|next:\s*)?((?:sbatch|srun|salloc|export|unset|sacct|scontrol|whyoom|torchrun|"
                    r"accelerate|python3?|git apply|patch) .*)$")
INDENTED = re.compile(r"^ {9}((?:--|[A-Za-z_][\w.]*=).*)$")  # a setting of a fix; prose is farther in


def pasted_lines(report):
    """(line, is_resubmit) of the lines of a text report that a user would paste."""
    is_after = is_folded = False
    for line in report.split("\n"):
        # Folded consequences are lines of the log, word for word, and go on wherever they were broken.
        is_folded = line.startswith("  folded:") or (is_folded and line.startswith("    "))
        if is_folded:
            continue
        begins = re.match(r"^\s*resubmit(?: with)?:", line) is not None
        match = PASTED.match(line) or INDENTED.match(line)
        if match:
            yield match.group(1), begins or is_after
        is_after = begins and not match
