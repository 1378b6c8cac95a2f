# SPDX-License-Identifier: Apache-2.0
"""What MkDocs lacks for pages that are written for people who read them in the tree: see packaging/site/mkdocs.yml."""
import pathlib
import posixpath
import re

from mkdocs.exceptions import PluginError

GENERATED = ("rule-pages/causes/", "rule-pages/fixes/")  # the index of these is in the navigation
CODE_PAGE = re.compile(r"(?<![\[`])`([A-Za-z0-9_./-]+\.md)`(?![`\]])")


def _named(nav, found):
    for entry in nav:
        value = next(iter(entry.values())) if isinstance(entry, dict) else entry
        if isinstance(value, list):
            _named(value, found)
        elif "*" not in value:
            found.add(value)
    return found


def _expanded(nav, root, named):
    for entry in nav:
        if isinstance(entry, dict) and isinstance(next(iter(entry.values())), list):
            title, entries = next(iter(entry.items()))
            yield {title: list(_expanded(entries, root, named))}
        elif isinstance(entry, str) and "*" in entry:
            pages = sorted(path.relative_to(root).as_posix() for path in root.glob(entry))
            yield from (page for page in pages if page not in named)
        else:
            yield entry


def on_config(config):
    named = _named(config["nav"], set())
    config["nav"] = list(_expanded(config["nav"], pathlib.Path(config["docs_dir"]), named))
    return config


def on_nav(nav, config, files):
    """A new page must not be forgotten."""
    shown = {page.file.src_path for page in nav.pages}
    missing = [file.src_path for file in files.documentation_pages() if file.src_path not in shown and not file.src_path.startswith(GENERATED)]
    if missing:
        raise PluginError("packaging/site/mkdocs.yml: the navigation lacks " + ", ".join(missing))
    return nav


def _linked(line, page, pages):
    """`docs/verify.md` between backquotes is a link on the site, where that page is in it."""
    def link(found):
        target = posixpath.normpath(found.group(1))
        if target not in pages or target == page:
            return found.group(0)
        return f"[`{found.group(1)}`]({posixpath.relpath(target, posixpath.dirname(page) or '.')})"
    return CODE_PAGE.sub(link, line)


def on_page_markdown(markdown, page, config, files):
    """Links to pages, and blocks in items indented as Python-Markdown wants them."""
    pages = {file.src_path for file in files.documentation_pages()}
    lines, fence = [], None
    for line in markdown.splitlines():
        mark = re.match(r"( *)(```|~~~)", line)
        if mark:
            if fence is None:
                fence = len(mark.group(1))
            elif len(mark.group(1)) <= fence:
                line, fence = (" " * 4 + line.lstrip() if fence else line), None
                lines.append(line)
                continue
        if fence:
            line = " " * 4 + line[fence:] if line.strip() else line
        elif fence is None:
            line = _linked(line, page.file.src_path, pages)
        lines.append(line)
    return "\n".join(lines) + "\n"
