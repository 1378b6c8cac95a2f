#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the links of all Markdown pages of the tree: each relative one leads to a file that is there, each #anchor to a heading of
that page. Addresses elsewhere are not looked at.

usage: check_links.py SOURCE_DIR

Anchors are those of GitHub and of MkDocs where both are the same: the heading in small letters, without punctuation, blanks as
dashes. A link to a heading whose anchors differ there is refused, since it would lead nowhere on one of both.
"""
import pathlib
import re
import sys
import tempfile
import unicodedata

LEFT_OUT = ("build/", "dist/", "tests/checks/rule_pages/")  # a few pages of many, whose links test rules_pages checks
# [text](target "title"), ![picture](target), and <a href="target"> or <img src="target">.
LINK = re.compile(r"\]\(\s*<?([^)>\s]+)>?(?:\s+\"[^\"]*\")?\s*\)|<(?:a|img)\b[^>]*?\b(?:href|src)=\"([^\"]+)\"")
REFERENCE = re.compile(r"^\s{0,3}\[[^\]]+\]:\s*<?(\S+?)>?(?:\s+\"[^\"]*\")?\s*$")
ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def prose_of(text):
    """(number, line) outside of blocks of code, without what is between backquotes."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and (fence is None or line.strip().startswith(fence)):
            fence = mark.group(1) if fence is None else None
        elif fence is None:
            yield number, line


def github_anchor(heading):
    kept = "".join(c for c in heading.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


def mkdocs_anchor(heading):
    """As Python-Markdown's toc does it."""
    plain = unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def anchors_of(text):
    """The anchors of a page: those that all readers give, and those that only one of them gives."""
    github, mkdocs, counts = set(), set(), ({}, {})
    for _, line in prose_of(text):
        found = re.match(r"#{1,6}\s+(.*?)\s*#*\s*$", line)
        for anchor in re.findall(r"<a\s+(?:id|name)=\"([^\"]+)\"", line):
            github.add(anchor)
            mkdocs.add(anchor)
        if not found:
            continue
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", found.group(1)).replace("`", "").replace("*", "")
        for anchor, names, seen, again in ((github_anchor(heading), github, counts[0], "-"), (mkdocs_anchor(heading), mkdocs, counts[1], "_")):
            names.add(anchor if anchor not in seen else f"{anchor}{again}{seen[anchor]}")
            seen[anchor] = seen.get(anchor, 0) + 1
    return github & mkdocs, github ^ mkdocs


def links_of(text):
    for number, line in prose_of(text):
        plain = re.sub(r"`[^`]*`", "code", line)
        for found in LINK.finditer(plain):
            yield number, found.group(1) or found.group(2)
        reference = REFERENCE.match(plain)
        if reference:
            yield number, reference.group(1)


def complaint_of(source, page, target, texts):
    if ELSEWHERE.match(target) or target.startswith("//"):
        return None
    path, _, anchor = target.partition("#")
    if path.startswith("/"):
        return f"{target}: begins at the root of a file system"
    goal = (page.parent / path).resolve() if path else page
    if source not in goal.parents and goal != source:
        return f"{target}: is outside of the tree"
    if not goal.exists():
        return f"{target}: is not there"
    if not anchor or goal.suffix != ".md":
        return f"{target}: an anchor of what is no page" if anchor else None
    if goal not in texts:
        texts[goal] = anchors_of(goal.read_text(encoding="utf-8"))
    both, one = texts[goal]
    if anchor in one:
        return f"{target}: GitHub and MkDocs have different anchors for that heading"
    return None if anchor in both else f"{target}: no such heading there"


def complaints(source):
    """(page, line, complaint), and how many links there are."""
    texts, count, found = {}, 0, []
    pages = sorted(path for path in source.rglob("*.md") if not path.relative_to(source).as_posix().startswith(LEFT_OUT))
    for page in pages:
        for number, target in links_of(page.read_text(encoding="utf-8")):
            count += 1
            complaint = complaint_of(source, page, target, texts)
            if complaint:
                found.append((page.relative_to(source), number, complaint))
    return found, count, len(pages)


def check_the_check():
    """A check that lets everything pass would not be noticed otherwise."""
    with tempfile.TemporaryDirectory() as name:
        source = pathlib.Path(name).resolve() / "tree"
        (source / "docs").mkdir(parents=True)
        (source / "docs" / "b.md").write_text("# A page\n\n## The `code`\n\n## Twice\n\n## Twice\n\n```\n# no heading\n```\n", encoding="utf-8")
        for text, is_wrong in (("[b](docs/b.md)", False), ("[b](docs/b.md#the-code)", False), ("[b](docs/c.md)", True), ("![p](p.svg)", True),
                               ("[b](docs/b.md#no-heading)", True), ("[here](#top)", True), ("# Top\n[here](#top)", False), ("`[b](docs/c.md)`", False),
                               ("[b](../b.md)", True), ("[b](https://example.org/b#c)", False), ("```\n[b](c.md)\n```", False),
                               ("[b][r]\n\n[r]: docs/c.md", True), ("[b](docs/b.md#twice-1)", True), ("[b](docs/b.md#twice)", False),
                               ("[b](/etc/passwd)", True), ("<img src=\"p.png\">", True), ("[the `x`](docs/c.md)", True)):
            (source / "a.md").write_text(text + "\n", encoding="utf-8")
            assert bool(complaints(source)[0]) == is_wrong, (text, complaints(source))


def main():
    check_the_check()
    found, links, pages = complaints(pathlib.Path(sys.argv[1]).resolve())
    for page, number, complaint in found:
        print(f"{page}:{number}: {complaint}")
    if found or links < 40:
        sys.exit(f"links: {len(found)} complaints about {links} links of {pages} pages")
    print(f"links: {links} of {pages} pages lead somewhere")


if __name__ == "__main__":
    main()
