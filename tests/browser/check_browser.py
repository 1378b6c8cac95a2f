#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HTML reports in a real browser.

usage: check_browser.py WHYOOM ROOT [--pictures DIR]      exits with 77 where no Chromium is installed

Reports of sample jobs, recordings and a folder, and of a job and a recording whose every text is hostile, are opened in a headless
Chromium: nothing on the console, no dialog, no request, no script of theirs run, nothing wider than a narrow or a wide window, enough
contrast in light and dark, readable without scripts. The time line of a recording is used with keys and with the pointer.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import cdp  # noqa: E402

WIDTHS = (360, 1280)
SECONDS_MAX = 5
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'`]]>--><svg/onload=alert(3)>${alert(4)}"
failures = []


def complain(name, text):
    failures.append(f"{name}: {text}")
    print(failures[-1], file=sys.stderr)


# ---- Pages ----


def hostile_log():
    """An out-of-memory message in whose every name there is markup."""
    return "\n".join((
        f"model: {HOSTILE} (1,000,000,000 parameters, torch.float16)",
        f"--per_device_train_batch_size 8 --name {HOSTILE}",
        "Traceback (most recent call last):",
        f'  File "/home/{HOSTILE}/train.py", line 7, in {HOSTILE}',
        f"    loss = model({HOSTILE})",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 39.39 GiB of which "
        "1.06 GiB is free. Of the allocated memory 36.11 GiB is allocated by PyTorch, and 0.62 GiB is reserved by PyTorch but "
        f"unallocated. {HOSTILE}",
        f"srun: error: {HOSTILE}: task 0: Exited with exit code 1", ""))


def hostile_recording():
    name = json.dumps(HOSTILE)
    lines = ['{"whyoom_trace": 1, "torch": "2.6"}', f'{{"frame": 0, "function": {name}, "file": {name}, "line": 1}}',
             '{"stack": 0, "frames": [0]}', f'{{"annotation": {name}, "stage": "start", "time_us": 1700000000000000}}']
    for i in range(40):
        lines.append(f'{{"alloc": {(i % 7 + 1) * 4194304}, "id": {i + 1}, "stack": 0, "time_us": {1700000000000100 + i * 100}}}')
        if i % 3 == 2:
            lines.append(f'{{"free": {i}, "time_us": {1700000000000150 + i * 100}}}')
    return "\n".join(lines) + "\n"


def long_recording(blocks=60000):
    """More blocks than a page keeps, one after the other: 1 MiB in use, then nothing. At the end a small one stays, and time goes slower."""
    lines = ['{"whyoom_trace": 1, "torch": "2.6"}', '{"frame": 0, "function": "step", "file": "train.py", "line": 1}',
             '{"stack": 0, "frames": [0]}']
    time_us, base = 1700000000000000, 140000000000000
    for i in range(blocks):
        if i == blocks - 10:
            lines.append(f'{{"alloc": 4096, "addr": {base}, "stack": 0, "time_us": {time_us}}}')
        for name in ("alloc", "free_requested", "free_completed"):
            time_us += 10 if i < blocks - 10 else 1000
            lines.append(f'{{"{name}": 1048576, "addr": {base + 2097152}, "stack": 0, "time_us": {time_us}}}')
    return "\n".join(lines) + "\n"


def make_pages(binary, root, folder):
    """{name: path} of all pages."""
    pages = {}

    def make(name, arguments, where):
        path = folder / f"{name}.html"
        done = subprocess.run([binary, *arguments, "--format", "html", "-o", str(path)], cwd=where, capture_output=True, timeout=60)
        if not path.exists():
            complain(name, "not written: " + done.stderr.decode(errors="replace")[:300])
        elif path.stat().st_size > 5 << 20:
            complain(name, f"{path.stat().st_size} bytes")
        else:
            pages[name] = path

    (folder / "hostile.err").write_text(hostile_log())
    (folder / "hostile.jsonl").write_text(hostile_recording())
    for sample in ("ddp-8.5b-too-large", "kept-losses", "lora-7b-24g", "pretrain-512m-sequence", "rank0-decode"):
        where = root / "samples" / sample
        make(sample, sorted(path.name for path in where.iterdir()), where)
    make("hostile", ["hostile.err"], folder)
    make("folder", ["scan", "samples"], root)
    make("recording", ["replay", "samples/lora-7b-24g/trace-90817.jsonl"], root)
    make("hostile-recording", ["replay", "hostile.jsonl"], folder)
    make("addresses", ["replay", "tests/recordings/fragmented.jsonl"], root)
    make("part", ["replay", "samples/lora-7b-24g/trace-90817.jsonl", "--from", "100"], root)
    (folder / "long.jsonl").write_text(long_recording())
    make("long", ["replay", "long.jsonl"], folder)
    make("long-part", ["replay", "long.jsonl", "--from", "10001"], folder)
    snapshots = root.parent / "shared" / "corpus" / "snapshots"
    largest = max(snapshots.glob("*.pickle"), key=lambda path: path.stat().st_size, default=None) if snapshots.is_dir() else None
    if largest:
        make("snapshot", ["replay", str(largest)], root)
    else:
        print("no corpus: its largest snapshot is skipped", file=sys.stderr)
    return pages


# ---- What holds for every page ----


def check_page(browser, name, path, pictures):
    contrast = (pathlib.Path(__file__).parent / "contrast.js").read_text()
    for width in WIDTHS:
        for dark in (False, True):
            seconds = browser.open(path, width=width, dark=dark)
            if seconds > SECONDS_MAX:
                complain(name, f"opens in {seconds:.1f} s")
            if browser.evaluate("document.documentElement.scrollWidth") > width:
                complain(name, f"is wider than {width} pixels")
            if width == WIDTHS[-1]:
                for text in browser.evaluate(contrast):
                    complain(name, f"{'dark' if dark else 'light'}, contrast of {text}")
            if pictures and not dark:
                browser.picture(pictures / f"{name}-{width}.png")
            for text in browser.complaints():
                complain(name, text)
    if not browser.evaluate("document.title.length > 0 && document.documentElement.lang.length > 0"):
        complain(name, "has no title or no language")
    browser.open(path, scripts=False)
    browser.send("Emulation.setScriptExecutionDisabled", value=False)
    if browser.evaluate("document.body.innerText.length") < 200:
        complain(name, "says next to nothing without scripts")


def check_hostile(browser, name, path):
    """Markup of a log is text: it is seen, and makes no element."""
    browser.open(path)
    if not browser.evaluate("document.body.textContent.includes('onerror=alert(1)')"):
        complain(name, "does not show the hostile text")
    if browser.evaluate("document.querySelectorAll('img, svg[onload], [onerror]').length"):
        complain(name, "makes elements of hostile text")


# ---- The time line ----


def text_of(browser, element):
    return browser.evaluate(f"(document.getElementById('{element}') || {{}}).textContent || ''")


def settle(browser):
    """Waits until what was done is drawn."""
    browser.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")


def moment(browser):
    settle(browser)
    return int(browser.evaluate("document.getElementById('moment').value") or -1)


def center_of(browser, element, x=0.5, y=0.5):
    return browser.evaluate(f"(() => {{ const e = document.getElementById('{element}'); e.scrollIntoView({{block: 'center'}});"
                            f" const r = e.getBoundingClientRect(); return [r.x + r.width * {x}, r.y + r.height * {y}]; }})()")


def check_keys(browser, name):
    browser.evaluate("document.getElementById('time').focus()")
    browser.key("Home")
    first = moment(browser)
    browser.key("End")
    last = moment(browser)
    if not first < last:
        complain(name, f"Home and End choose the moments {first} and {last}")
    browser.key(",")
    if not first <= moment(browser) < last:
        complain(name, "the comma does not go one entry back")
    browser.key("p")
    peak = moment(browser)
    before = browser.evaluate("document.getElementById('time').toDataURL()")
    for _ in range(4):
        browser.key("+")
    settle(browser)
    if browser.evaluate("document.getElementById('time').toDataURL()") == before:
        complain(name, "the plus key does not zoom")
    browser.key("ArrowDown")
    settle(browser)
    if not text_of(browser, "block-summary"):
        complain(name, f"no block is described at the peak, entry {peak}")


def check_pointer(browser, name):
    browser.evaluate("document.getElementById('zoom-all').click()")
    x, y = center_of(browser, "time", 0.5, 0.8)
    before = moment(browser)
    browser.move(x, y)
    browser.click(x, y)
    if moment(browser) == before:
        complain(name, "a click on the time line chooses no moment")
    picture = browser.evaluate("document.getElementById('time').toDataURL()")
    browser.wheel(x, y, -400)
    browser.evaluate("new Promise(done => setTimeout(done, 150))")
    if browser.evaluate("document.getElementById('time').toDataURL()") == picture:
        complain(name, "the wheel does not zoom")
    x, y = center_of(browser, "map", 0.1, 0.5)
    browser.click(x, y)
    browser.evaluate("document.getElementById('search').focus()")
    for letter in "forward":
        browser.key(letter)
    browser.evaluate("new Promise(done => setTimeout(done, 300))")
    if not text_of(browser, "search-result"):
        complain(name, "a search has no result line")


def choose_entry(browser, entry):
    browser.evaluate(f"(() => {{ const e = document.getElementById('moment'); e.value = '{entry}';"
                     " e.dispatchEvent(new Event('change')); })()")
    settle(browser)


def label(browser):
    return browser.evaluate("document.getElementById('time').getAttribute('aria-label')")


def check_follows(browser, name):
    """The line of a search is of the chosen moment, by whatever it was chosen."""
    browser.evaluate("document.getElementById('time').focus()")
    for key in ("End", ",", "Home", "p"):
        browser.key(key)
        entry = moment(browser)
        wanted = "before " if entry < 0 else f"after entry {entry:,}"
        if wanted not in text_of(browser, "search-result"):
            complain(name, f"the search is not of the moment {entry}: " + text_of(browser, "search-result"))


def check_map_keys(browser, name, path):
    """Keys with Alt, Ctrl or Meta are the browser's own."""
    browser.open(path)
    browser.evaluate("document.getElementById('map').focus()")
    browser.key("ArrowRight")
    settle(browser)
    first = text_of(browser, "block-summary")
    for modifiers in (1, 2, 4):
        browser.key("ArrowRight", modifiers=modifiers)
        settle(browser)
    if text_of(browser, "block-summary") != first:
        complain(name, "the segment map takes keys with Alt, Ctrl or Meta")
    browser.key("ArrowRight")
    settle(browser)
    if text_of(browser, "block-summary") == first:
        complain(name, "the right key chooses no other block on the segment map")


def check_print(browser, name, path):
    """The report is on paper with scripts and without."""
    is_open = "document.getElementById('report').open"
    browser.open(path)
    if browser.evaluate(is_open):
        complain(name, "the report is not folded away on the screen")
    browser.evaluate(f"window.addEventListener('beforeprint', () => {{ window.printed = {is_open}; }})")
    browser.send("Page.printToPDF")
    if not browser.evaluate("window.printed") or browser.evaluate(is_open):
        complain(name, "the report is not on paper, or not folded away again")
    browser.open(path, scripts=False)
    browser.send("Emulation.setScriptExecutionDisabled", value=False)
    if not browser.evaluate(is_open):
        complain(name, "the report is closed without scripts")


def check_time_line(browser, name, path):
    browser.open(path)
    check_keys(browser, name)
    check_pointer(browser, name)
    check_follows(browser, name)
    for text in browser.complaints():
        complain(name, text)
    check_print(browser, name, path)


def check_begin(browser, name, path, words):
    """The beginning of a part is not that of the recording, and its state is in no column."""
    browser.open(path)
    browser.evaluate("document.getElementById('time').focus()")
    browser.key("Home")
    settle(browser)
    if words not in label(browser):
        complain(name, "Home says: " + label(browser))


def check_part(browser, name, path):
    check_begin(browser, name, path, " in use before entry 100;")


def check_long_part(browser, name, path):
    check_begin(browser, name, path, "; 0 bytes in use before entry 10,001;")


def check_long(browser, name, path):
    """Where the page has columns only, it does not say that their highest moment is another one; nor guess times in silence."""
    browser.open(path)
    choose_entry(browser, 90001)  # the request of a free
    if "; at most 1024.00 KiB in use in entries 8" not in label(browser) and "; at most 1024.00 KiB in use in entries 9" not in label(browser):
        complain(name, "within a column: " + label(browser))
    if "when most was in use of entries " not in text_of(browser, "legend"):
        complain(name, "within a column, the legend says: " + text_of(browser, "legend"))
    x, y = center_of(browser, "time", 0.5, 0.8)
    browser.click(x, y)
    entry = moment(browser)
    if f"; 1024.00 KiB in use after entry {entry:,};" not in label(browser) or "most" in text_of(browser, "legend"):
        complain(name, f"at the highest moment of a column, {entry}: {label(browser)}; {text_of(browser, 'legend')}")
    choose_entry(browser, 179969)  # near the end all blocks are there
    if "; 0 bytes in use after entry 179,969;" not in label(browser):
        complain(name, "near the end: " + label(browser))
    browser.evaluate("document.getElementById('time').focus()")
    browser.key("End")
    browser.key("ArrowUp")
    settle(browser)
    age = text_of(browser, "block-summary")
    if "4.00 KiB" not in age or "(about " not in age or "(about 0 us)" in age:
        complain(name, "a block of the last entries: " + age)
    for text in browser.complaints():
        complain(name, text)


def main():
    chromium = cdp.find()
    if not chromium:
        print("browser: skipped, no Chromium is installed", file=sys.stderr)
        return 77
    binary, root = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    pictures = pathlib.Path(sys.argv[sys.argv.index("--pictures") + 1]) if "--pictures" in sys.argv else None
    with tempfile.TemporaryDirectory(prefix="whyoom-pages-") as name:
        pages = make_pages(binary, root, pathlib.Path(name))
        browser = cdp.Browser(chromium)
        try:
            for page, path in pages.items():
                check_page(browser, page, path, pictures)
                if page.startswith("hostile"):
                    check_hostile(browser, page, path)
            for page in ("recording", "snapshot"):
                if page in pages:
                    check_time_line(browser, page, pages[page])
            for page, check in (("addresses", check_map_keys), ("part", check_part), ("long", check_long),
                                ("long-part", check_long_part)):
                if page in pages:
                    check(browser, page, pages[page])
        finally:
            browser.close()
    print(f"browser: {len(pages)} pages, {len(failures)} failures")
    return 1 if failures or not pages else 0


sys.exit(main())
