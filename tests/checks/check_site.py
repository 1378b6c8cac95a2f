#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the documentation site (packaging/site/build) and looks at it: every page is there and reachable, every link within it leads
to a page and a heading, and a browser that shows it loads nothing from elsewhere.

usage: check_site.py SOURCE_DIR WHYOOM        exit status 77: MkDocs or its theme is not installed
"""
import html.parser
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse

# Elements that a browser loads by itself, with the attribute that names the source. Links are followed by people.
LOADED = {"script": "src", "img": "src", "iframe": "src", "embed": "src", "source": "src", "video": "src", "audio": "src", "object": "data",
          "track": "src", "input": "src", "link": "href", "use": "href"}
STYLES = re.compile(r"url\(\s*['\"]?\s*((?:https?:)?//[^)'\"]+)|@import\s+['\"]((?:https?:)?//[^'\"]+)", re.IGNORECASE)
ELSEWHERE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
POLICY = "default-src 'self'"
LEAST_PAGES = 300 # causes and fixes have some 250


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.loaded, self.links, self.anchors, self.policy, self.styles = [], [], set(), "", []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = {name: value or "" for name, value in attributes}
        if "id" in given:
            self.anchors.add(given["id"])
        if tag == "a" and "name" in given:
            self.anchors.add(given["name"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADED and LOADED[tag] in given:
            self.loaded.append(given[LOADED[tag]])
        self.loaded += [part.split()[0] for part in given.get("srcset", "").split(",") if part.split()]
        self.styles.append(given.get("style", ""))
        if tag == "meta" and given.get("http-equiv", "").lower() == "content-security-policy":
            self.policy = given.get("content", "")


def foreign(page, text):
    """What a browser would load from elsewhere for this page."""
    yield from (target for target in page.loaded if ELSEWHERE.match(target))
    yield from (one or two for one, two in STYLES.findall(text if text else " ".join(page.styles)))


def dead(site, path, page, pages):
    """Links of a page that lead nowhere in the site."""
    for target in page.links + page.loaded:
        parts = urllib.parse.urlsplit(target)
        if parts.scheme or target.startswith("//") or not target:
            continue
        goal = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
        goal = goal / "index.html" if goal.is_dir() else goal
        if not goal.exists():
            yield target
        elif parts.fragment and goal in pages and urllib.parse.unquote(parts.fragment) not in pages[goal].anchors | {"__skip"}:
            yield target


def complaints(site):
    files = {path: path.read_text(encoding="utf-8") for path in sorted(site.rglob("*.html"))}
    pages = {path: Page(text) for path, text in files.items()}
    for path, page in pages.items():
        name = path.relative_to(site)
        if POLICY not in page.policy:
            yield f"{name}: no policy that keeps a browser from loading things from elsewhere"
        for target in foreign(page, files[path]):
            yield f"{name}: loads {target}"
        if name.name != "404.html": # its links begin at the root of a server
            for target in dead(site, path, page, pages):
                yield f"{name}: {target} leads nowhere"
        if "```" in re.sub(r"<pre.*?</pre>", "", files[path], flags=re.DOTALL):
            yield f"{name}: a fence is shown as text"
    for path in sorted(site.rglob("*.css")):
        for found in STYLES.finditer(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site)}: loads {found.group(0)}"
    reached, left = set(), [site / "index.html"]
    while left:
        path = left.pop()
        if path in reached or path not in pages:
            continue
        reached.add(path)
        left += [(path.parent / urllib.parse.unquote(urllib.parse.urlsplit(target).path)).resolve() for target in pages[path].links
                 if not ELSEWHERE.match(target) and urllib.parse.urlsplit(target).path]
    for path in sorted(set(pages) - reached):
        if path.name != "404.html":
            yield f"{path.relative_to(site)}: nothing leads there"
    if len(pages) < LEAST_PAGES:
        yield f"only {len(pages)} pages"


def check_the_check():
    """A check that lets everything pass would not be noticed otherwise."""
    for text in ("<script src=\"https://x.example/a.js\">", "<link rel=stylesheet href=\"//x.example/a.css\">", "<img srcset=\"http://x.example/a.png 2x\">",
                 "<p style=\"background: url(https://x.example/a.png)\">"):
        assert list(foreign(Page(text), text)), text
    for text in ("<a href=\"https://x.example/\">", "<img src=\"a.png\">", "<p>https://x.example/</p>"):
        assert not list(foreign(Page(text), text)), text
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name).resolve() / "a.html"
        path.write_text("<p id=here>", encoding="utf-8")
        for target, is_dead in (("b.html", True), ("a.html#there", True), ("a.html#here", False), ("#here", False), ("https://x.example", False)):
            page = Page(f"<p id=here><a href=\"{target}\">")
            assert bool(list(dead(path.parent, path, page, {path: page}))) == is_dead, target


def main():
    source, whyoom = (pathlib.Path(text).resolve() for text in sys.argv[1:3])
    check_the_check()
    with tempfile.TemporaryDirectory(prefix="whyoom-site.") as folder:
        site = pathlib.Path(folder).resolve() / "site"
        done = subprocess.run([str(source / "packaging/site/build"), str(whyoom), str(site)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              encoding="utf-8", check=False)
        if done.returncode != 0:
            print(done.stdout)
            sys.exit(done.returncode)
        found = list(complaints(site))
        for complaint in found[:50]:
            print(f"site: {complaint}")
        if found:
            sys.exit(f"site: {len(found)} complaints")
        print(done.stdout.splitlines()[-1].split(" in ")[0] + ", nothing is loaded from elsewhere, and all links lead somewhere")


if __name__ == "__main__":
    main()
