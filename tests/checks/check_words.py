#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the documents: the width of lines, and the words of sentences. (Their examples are run by tests/examples.)

usage: check_words.py SOURCE_DIR

Lines have at most 100 columns. Blocks of code are held to that as well, except for recordings (```jsonl) and output copied from the
program (the first line begins with "$ "). No sentence, item, cell or heading begins with "What ..." or "Of ..." as a noun; a question
may. Some words have a plainer one: see WORDS.
"""
import pathlib
import re
import sys

WIDTH = 100
ROOTS = ("*.md", "docs/*.md", "docs/guide/*.md", "docs/decisions/*.md", "docs/gpu-results/*.md", "packaging/*/*.md", "samples/*.md", "samples/*/*.md", "tests/*/*.md", "tests/*/*.md.in")
# A word, and its better one. Words in brackets behind it make it right.
WORDS = (
    (r"\b(?:tells?|told)\b(?! \w+ apart| apart| otherwise)", "report, show, give, name or say"),
    (r"\bstands?\b(?!-in\b| in\b| for\b)", "is"),
    (r"\bforetells?\b|\bforetold\b", "predict"),
    (r"\bwhat (?:is|was) (?:said|asked|told)\b", "a noun"),
)
NOT_YET = {"ARCHITECTURE.md"}  # pages that are being rewritten
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")


def is_copied(info, first):
    """Whether a block of code is a recording or output, whose lines are as wide as they are."""
    return info == "jsonl" or first.startswith("$ ")


def blocks(text):
    """The parts of a page: (kind, number of the first line, lines), kind is "code", "output" or "prose"."""
    part, start, fence = [], 1, None
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            if fence is None:
                yield "prose", start, part
                fence = line.strip()[3:]
            else:
                yield "output" if is_copied(fence, part[0] if part else "") else "code", start, part
                fence = None
            part, start = [], number + 1
        else:
            part.append(line)
    yield "prose", start, part


def passages(lines, first):
    """Passages of prose, each with its line: paragraphs, items, headings, cells of tables. Code between backquotes becomes `code`."""
    text, at = "", first
    for number, line in enumerate(lines + [""], first):
        is_code = line.startswith("    ") and not text
        is_alone = not line.strip() or is_code or line.startswith(("|", "#")) or ITEM.match(line)
        if is_alone and text:
            yield at, re.sub(r"`[^`]*`", "`code`", text)
            text = ""
        if line.startswith("|"):
            for cell in re.split(r"(?<!\\)\|", re.sub(r"`[^`]*`", "`code`", line)):
                if cell.strip(" -:"):
                    yield number, cell.strip()
        elif line.strip() and not is_code:
            if not text:
                at = number
            text += (" " if text else "") + ITEM.sub("", line).strip("# ").strip()


def sentences(passage):
    return re.split(r"(?<=[.?!:])\s+", passage.replace("**", "").replace("(", "").strip())


def complaints_of(text):
    """(line, complaint) for a page."""
    for kind, first, lines in blocks(text):
        if kind != "output":
            for number, line in enumerate(lines, first):
                if len(line) > WIDTH:
                    yield number, f"{len(line)} columns"
        if kind != "prose":
            continue
        for number, passage in passages(lines, first):
            for sentence in sentences(passage):
                if re.match(r"(?:what|of)\b(?! course| if\b)", sentence, re.IGNORECASE) and not sentence.endswith("?"):
                    yield number, f'begins with "{sentence.split()[0]}": {sentence[:60]}'
            for word, better in WORDS:
                for found in re.finditer(word, passage, re.IGNORECASE):
                    yield number, f'"{found.group(0)}": better {better}: {passage[max(0, found.start() - 25):found.end() + 25]}'


def check_the_check():
    """A check that lets everything pass would not be noticed otherwise."""
    for text in ("x" * 101, "```\n" + "x" * 101 + "\n```", "| " + "x" * 101 + " |", "What remains is free.", "All is well. Of the rest nothing\nis known.",
                 "- what it frees", "## What it does", "| a | what it is |", "It is told below.", "The file stands\nthere.", "**Sizes.** What is not decided."):
        assert list(complaints_of(text)), text
    for text in ("x" * 100, "```jsonl\n" + "x" * 101 + "\n```", "```\n$ ls\n" + "x" * 101 + "\n```", "What has to change?", "A driver stands in for it.",
                 "    What code says", "`What`", "```\nWhat a block says\n```", "Both are told apart. Of course."):
        assert not list(complaints_of(text)), text


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    check_the_check()
    failures = 0
    pages = sorted(page for root in ROOTS for page in source.glob(root) if page.name not in NOT_YET)
    for page in pages:
        for number, complaint in complaints_of(page.read_text(encoding="utf-8")):
            print(f"{page.relative_to(source)}:{number}: {complaint}")
            failures += 1
    if failures or len(pages) < 20:
        sys.exit(f"words: {failures} complaints in {len(pages)} pages")
    print(f"words: {len(pages)} pages")


if __name__ == "__main__":
    main()
