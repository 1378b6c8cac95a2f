#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of docs/pictures: terminal reports as SVG, HTML reports as small WebP files.

usage: make_pictures.py WHYOOM ROOT [SNAPSHOT]

The five sample jobs with most to show, the recording of one of them, and a snapshot that is given. Run it when a report has changed
its look, and look at what it made.
"""
import base64
import html
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import cdp  # noqa: E402

JOBS = ("ddp-8.5b-too-large", "grpo-micro-batch", "lora-7b-24g", "pretrain-512m-sequence", "rank0-decode")
CELL, LINE, MARGIN, SIZE = 8.43, 17, 12, 14
COLORS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "36": "#79c0ff"}


def in_terminal(args, folder):
    """What a program writes to a terminal of 80 columns."""
    environment = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    main, other = pty.openpty()
    subprocess.run(["stty", "rows", "24", "cols", "80"], stdin=other, check=True)
    process = subprocess.Popen(args, cwd=folder, stdout=other, stdin=other, stderr=subprocess.DEVNULL, env=environment)
    os.close(other)
    written = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:
            break
        if not piece:
            break
        written += piece
    os.close(main)
    process.wait()
    return written.decode().replace("\r\n", "\n")


def span(text, column, row, style):
    bold = ' font-weight="700"' if "1" in style else ""
    color = next((COLORS[code] for code in style if code in COLORS), "#8b949e" if "2" in style else "#e6edf3")
    x, y = MARGIN + column * CELL, MARGIN + SIZE + row * LINE
    return (f'<text x="{x:.1f}" y="{y}" fill="{color}"{bold} textLength="{len(text) * CELL:.1f}" xml:space="preserve">'
            f"{html.escape(text, quote=False)}</text>")


def terminal_picture(text, title):
    """An SVG of a terminal that shows the text; the colours are the eight that every terminal has."""
    spans, row, column, style = [], 0, 0, []
    for part in re.split(r"(\x1b\[[0-9;]*m|\n)", text.rstrip("\n")):
        if part == "\n":
            row, column = row + 1, 0
        elif part.startswith("\x1b["):
            codes = part[2:-1].split(";")
            style = [] if codes == ["0"] else codes
        elif part:
            if part.strip():
                spans.append(span(part, column, row, style))
            column += len(part)
    width, height = 2 * MARGIN + 80 * CELL, 2 * MARGIN + (row + 1) * LINE
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}" role="img">'
            f"<title>{html.escape(title)}</title>"
            f'<rect width="100%" height="100%" rx="6" fill="#0d1117"/><g font-family="ui-monospace, DejaVu Sans Mono, monospace" '
            f'font-size="{SIZE}">' + "".join(spans) + "</g></svg>\n")


def page_picture(browser, page, path, height):
    browser.open(page, width=1180, height=height)
    answer = browser.send("Page.captureScreenshot", format="webp", quality=55)
    path.write_bytes(base64.b64decode(answer["data"]))


def main():
    binary, root = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    target = root / "docs" / "pictures"
    target.mkdir(exist_ok=True)
    browser = cdp.Browser(cdp.find())
    with tempfile.TemporaryDirectory() as name:
        page = pathlib.Path(name) / "page.html"
        for job in JOBS:
            folder = root / "samples" / job
            files = sorted(path.name for path in folder.iterdir())
            title = f"whyoom: {job}"
            (target / f"{job}.svg").write_text(terminal_picture(in_terminal([binary, *files], folder), title))
            subprocess.run([binary, "--format", "html", "-o", str(page), *files], cwd=folder)
            page_picture(browser, page, target / f"{job}.webp", 1000)
        recordings = {"recording": root / "samples" / "lora-7b-24g" / "trace-90817.jsonl"}
        if len(sys.argv) > 3:
            recordings["snapshot"] = pathlib.Path(sys.argv[3])
        for name, path in recordings.items():
            subprocess.run([binary, "replay", "--format", "html", "-o", str(page), path.name], cwd=path.parent)
            page_picture(browser, page, target / f"{name}.webp", 1300)
    browser.close()


main()
