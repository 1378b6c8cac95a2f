#!/usr/bin/env python3
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


def check_time_line(browser, name, path):
    browser.open(path)
    check_keys(browser, name)
    check_pointer(browser, name)
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
        finally:
            browser.close()
    print(f"browser: {len(pages)} pages, {len(failures)} failures")
    return 1 if failures or not pages else 0


sys.exit(main())
