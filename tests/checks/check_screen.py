#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The first screen against the whole report: its lines, where the first fix is, and whether its numbers are those of -v and JSON.

usage: check_screen.py WHYOOM ROOT [--table] [--logs N]

Takes every job of samples/ and, where ../shared/corpus is, N of its whole logs (default 30, spread over the list). --table prints a
row for each. A number of the first screen that is not in the whole report, word for word, or not in JSON, fails; so does a screen of
more than 23 lines of 80 columns, and a first fix below line 14. Its words are on the HTML page and in the main part of the Markdown
too, which has at most 60 lines; pages are at most 200 KB.
"""
import html
import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

LINES, FIX_LINE, COLUMNS = 23, 14, 80
MARKDOWN_LINES, PAGE_BYTES = 60, 200_000
UNITS = {"GiB": 2**30, "MiB": 2**20, "KiB": 2**10, "bytes": 1, "byte": 1}
SIZE = re.compile(r"(?:(\d+(?:\.\d+)?) to )?(\d+(?:\.\d+)?) (GiB|MiB|KiB|bytes?)\b")
BARE = re.compile(r"(?<![\w.:/-])\d+(?:\.\d+)?(?![\w.]*[A-Za-z_/-])")


def run(binary, args, folder):
    done = subprocess.run([binary, "--width", str(COLUMNS), *args], cwd=folder, capture_output=True, timeout=60)
    return done.stdout.decode("utf-8")


def flat(text):
    return " ".join(text.split())


def values_of(node, numbers, texts):
    if isinstance(node, dict):
        for value in node.values():
            values_of(value, numbers, texts)
    elif isinstance(node, list):
        for value in node:
            values_of(value, numbers, texts)
    elif isinstance(node, bool) or node is None:
        pass
    elif isinstance(node, (int, float)):
        numbers.append(float(node))
    else:
        texts.append(str(node))


def is_in_json(number, scale, numbers, texts):
    """Whether some JSON number is printed so, or some JSON text has it."""
    if any(re.search(r"(?<![\d.])" + re.escape(number) + r"(?![\d.]*\d)", text) for text in texts):
        return True
    half = 0.5000001 * 10 ** -len(number.partition(".")[2])
    return any(abs(abs(value) / scale - float(number)) <= half for value in numbers)  # a lack is a negative margin


def check_numbers(screen, whole, report):
    """The numbers of the screen that are not in the whole report, or not in JSON."""
    numbers, texts, missing = [], [], []
    values_of(report, numbers, texts)
    whole = re.sub(r"(?<=\d) (?=\d{3}\b)", "", flat(whole))
    # Commands repeat names of files, a quote is the log's; numbers of fixes are their places in the list.
    body = "\n".join(line for line in screen.split("\n") if "whyoom " not in line)
    body = re.sub(r"^  line    .*\n(?: {10}.*\n)*", "", body, flags=re.M)
    body = re.sub(r"^ +\d+ [* ] ", "", body, flags=re.M)
    body = re.sub(r" on \S+", "", body, count=1)
    joined = flat(body)
    for match in SIZE.finditer(joined):
        if match.group(0) not in whole:
            missing.append(f"{match.group(0)} (-v)")
        for number in filter(None, match.groups()[:2]):
            if not is_in_json(number, UNITS[match.group(3)], numbers, texts):
                missing.append(f"{number} {match.group(3)} (JSON)")
    for match in BARE.finditer(SIZE.sub(" ", joined)):
        number = match.group(0)
        if not re.search(r"(?<![\d.])" + re.escape(number) + r"(?![\d.]*\d)", whole):
            missing.append(f"{number} (-v)")
        scales = (2**30, 1) if "." in number else (1,)
        if not any(is_in_json(number, scale, numbers, texts) for scale in scales):
            missing.append(f"{number} (JSON)")
    return missing


def words_of_page(page):
    """What a reader sees: without the script, the style and the tags."""
    page = re.sub(r"<(script|style)>.*?</\1>", " ", page, flags=re.S)
    return flat(html.unescape(re.sub(r"<[^>]*>", " ", page)))


def words_of_markdown(text):
    return flat(html.unescape(re.sub(r"\\(?=[!-/:-@[-`{-~])", "", text).replace("&#8203;", "")))


def check_documents(binary, screen, folder, files):
    """The numbers and the changes of the screen that the page or the Markdown lack."""
    page = run(binary, ["--format", "html", *files], folder)
    markdown = run(binary, ["--format", "markdown", *files], folder)
    main = markdown.partition("<details>")[0]
    wrong = []
    try:
        xml.etree.ElementTree.fromstring(page[page.index("<body>"):page.index("<script>")] + "</body>")
    except xml.etree.ElementTree.ParseError as error:
        wrong.append(f"a page that is not well formed: {error}")
    if len(page.encode()) > PAGE_BYTES:
        wrong.append(f"a page of {len(page.encode())} bytes")
    if main.count("\n") > MARKDOWN_LINES:
        wrong.append(f"Markdown of {main.count(chr(10))} lines before the first box")
    body = "\n".join(line for line in screen.split("\n") if "whyoom " not in line)
    numbers = {match.group(0) for match in SIZE.finditer(flat(body))}
    numbers |= set(re.findall(r"[\w.-]+:\d+\b", body))  # places
    numbers |= {re.sub(r"\s*\((?:certain|likely|possible)\)|\.\.$", "", line) for line in body.split("\n") if re.match(r"[A-Z][A-Z ]*: ", line)}
    for name, words in (("page", words_of_page(page)), ("Markdown", words_of_markdown(main))):
        plain = words.lower().replace(": ", " ")
        for number in sorted(numbers):
            if number.strip().lower().replace(": ", " ") not in plain and not number.startswith(("ALSO", "NOT IT", "ALREADY", "WOULD")):
                wrong.append(f"{number} ({name})")
    return wrong


def check(binary, folder, files):
    """(lines, widest, line of the first fix or 0, lines of -v, what is wrong) of one job."""
    screen = run(binary, files, folder)
    whole = run(binary, ["-v", *files], folder)
    report = json.loads(run(binary, ["--format", "json", *files], folder))
    lines = screen.rstrip("\n").split("\n")
    fix = next((at for at, line in enumerate(lines, 1) if line.startswith("CHANGE FIRST")), 0)
    # Only what is pasted is never cut: commands with names of files, and values of settings.
    widest = max((len(line) for line in lines if "whyoom " not in line and "sbatch " not in line), default=0)
    wrong = check_numbers(screen, whole, report) + check_documents(binary, screen, folder, files)
    if len(lines) > LINES:
        wrong.append(f"{len(lines)} lines")
    if fix > FIX_LINE:
        wrong.append(f"the first fix is on line {fix}")
    if widest > COLUMNS:
        wrong.append(f"a line of {widest} columns")
    if report["findings"] and report["findings"][0].get("fixes") and report["findings"][0].get("is_failure") and not fix:
        wrong.append("no fix on the screen")
    return len(lines), widest, fix, whole.count("\n"), wrong


def jobs_of(root, count):
    for folder in sorted((root / "samples").iterdir()):
        if any(folder.glob("slurm-*.err")):
            yield folder.name, folder, sorted(path.name for path in folder.iterdir())
    corpus = root.parent / "shared" / "corpus" / "whole"
    logs = sorted(path.name for path in corpus.glob("*.txt")) if corpus.is_dir() else []
    if not logs:
        print("no corpus: its logs are skipped", file=sys.stderr)
    step = max(1, len(logs) // count) if count else 1
    for name in logs[::step][:count] if count else logs:
        yield name, corpus, [name]


def main():
    binary, root = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    has_table = "--table" in sys.argv
    count = int(sys.argv[sys.argv.index("--logs") + 1]) if "--logs" in sys.argv else 30
    failed = total = 0
    if has_table:
        print("| job | lines | first fix | lines of -v | numbers |\n| --- | ---: | ---: | ---: | --- |")
    for name, folder, files in jobs_of(root, count):
        lines, _, fix, whole, wrong = check(binary, folder, files)
        total += 1
        failed += bool(wrong)
        if has_table:
            print(f"| {name} | {lines} | {fix or '-'} | {whole} | {'; '.join(wrong) or 'all there'} |")
        elif wrong:
            print(f"{name}: {'; '.join(wrong)}", file=sys.stderr)
    print(f"{total} jobs, {failed} with something wrong", file=sys.stderr)
    return 1 if failed or total == 0 else 0


sys.exit(main())
