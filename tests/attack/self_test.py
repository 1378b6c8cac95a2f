# SPDX-License-Identifier: Apache-2.0
"""Whether each property can fail: a program that violates it once (fake_whyoom) must be caught, and one that violates none must not."""
import os
import pathlib
import shutil
import sys
import tempfile

import content
import process
import properties
import shell_words
import shrink
from attack_case import Case, from_json

HERE = pathlib.Path(__file__).resolve().parent
VARIANTS = ["again", "looks", "chunks", "pipe", "gzip", "members"]


def log(args=(), variants=(), files=None, told=False):
    files = files or [(b"job.err", ["a line with PWNED-1\n", "another\n"])]
    return Case("self-test", list(args) + ["@%d" % i for i in range(len(files))], files, variants=variants, told=told)


JSON = ["--format", "json"]
PLOTTED = log(["replay", "--plot", "plot.svg"])
PUMPED = log(files=[(b"x", [[3000, "a"]])])
TWO = [(b"a.err", ["a\n"]), (b"b.err", ["b\n"])]
# What the fake does wrong, the case, the property that must fail, and a part of the signature.
WRONGS = (
    ("exit", log(), "exit", "ends with 7"), ("signal", log(), "exit", "signal 11"), ("silent", log(), "exit", "says nothing"),
    ("hangs", log(), "time", "does not end"), ("time", log(), "time", "slow"), ("linear", PUMPED, "linear", ""),
    ("memory", log(), "memory", ""), ("stderr", log(), "stderr", "without"), ("stderr-end", log(), "stderr", "does not end"),
    ("stderr-many", log(), "stderr", "too many"), ("text-escape", log(), "terminal", "control"), ("text-return", log(), "terminal", "control"),
    ("text-forged", log(), "terminal", "lines of its own"), ("text-direction", log(), "terminal", "direction"), ("text-separator", log(), "terminal", "separator"),
    ("text-c1", log(), "terminal", "C1"), ("text-bytes", log(), "terminal", "UTF-8"), ("error-escape", log(), "terminal", "standard error"),
    ("text-escape", log(["--color=always"]), "terminal", "control"), ("json-text", log(JSON), "terminal", "text of JSON"),
    ("json-constant", log(JSON), "json", "NaN"), ("json-twice", log(JSON), "json", "twice"), ("json-bytes", log(JSON), "json", "UTF"),
    ("json-cut", log(JSON), "json", ""), ("json-surrogate", log(JSON), "json", "half of a surrogate"),
    ("command", log(), "command", "resubmit"), ("command", log(JSON), "command", "resubmit"), ("command-fix", log(), "command", "fix"),
    ("command-fix", log(JSON), "command", "fix"), ("inputs", log(), "inputs", "changed"), ("inputs-time", log(), "inputs", "changed"),
    ("inputs-new", log(), "inputs", "new"), ("inputs-home", log(), "inputs", "new"), ("inputs-gone", log(), "inputs", "gone"),
    ("plot-script", PLOTTED, "plot", "no shape"), ("plot-event", PLOTTED, "plot", "acts"), ("plot-xml", PLOTTED, "plot", "XML"),
    ("honest", log(told=True), "told", "silence"), ("again", log([], ["again"]), "same", "again"), ("looks", log([], ["looks"]), "same", "--verbose"),
    ("chunks", log([], ["chunks"]), "same", "chunks"), ("pipe", log([], ["pipe"]), "same", "pipe"), ("gzip", log([], ["gzip"]), "same", "gzip"),
    ("members", log([], ["members"]), "same", "member"), ("order", log([], ["order"], TWO), "same", "order"))

# Lines to paste, and whether a planted word is active in them.
LINES = (("sbatch x;touch PWNED-1", True), ("sbatch 'x;touch PWNED-1'", False), ("sbatch x$(touch PWNED-1)", True),
         ('sbatch "x$(touch PWNED-1)"', True), ('sbatch "x;touch PWNED-1"', False), ("sbatch x\\;touch\\ PWNED-1", False),
         ("sbatch x touch PWNED-1", True), ("sbatch 'x'\\'';touch PWNED-1'", False), ("sbatch 'x'';touch PWNED-1", True),
         ("sbatch '`touch PWNED-1`'", False), ("sbatch \"`touch PWNED-1`\"", True), ("sbatch x 'open;touch PWNED-1", True),
         ("sbatch x  # now 2, a;touch PWNED-1", False), ("sbatch x  # a\ntouch PWNED-1", True), ("sbatch x#;touch PWNED-1", True))


def main():
    folder = tempfile.mkdtemp(prefix="whyoom-attack-self-", dir=process.scratch_root())
    complaints = []
    try:
        os.mkdir(folder + "/bin")
        for name in {wrong[0] for wrong in WRONGS} | {"honest", "sanitizer"}:
            install_fake(folder + "/bin/fake-" + name)
        box = process.Sandbox(folder + "/box", folder + "/bin/fake-honest", timeout_s=3)
        complaints += wrong_programs(box, folder)
        complaints += shell_lines(box)
        complaints += recipes()
        box.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("".join("FAILED %s\n" % line for line in complaints) + "%d wrong programs, %d lines of a shell: %d complaints" % (
        len(WRONGS), len(LINES), len(complaints)))
    return 1 if complaints else 0


def install_fake(path):
    """Run by this Python itself: what `env` finds may be a script that looks for one first, in each of hundreds of runs."""
    text = (HERE / "fake_whyoom").read_text()
    pathlib.Path(path).write_text("#!%s -S\n" % sys.executable + text.split("\n", 1)[1])
    os.chmod(path, 0o755)


def wrong_programs(box, folder):
    checks = properties.Checks(box)
    seen = set()
    for mode, case, name, part in WRONGS:
        box.program = folder + "/bin/fake-" + mode
        box.timeout_s = {"hangs": 0.5, "linear": 3}.get(mode, 20)
        found = checks.check(case)
        if not any(failure.property == name and part in failure.signature for failure in found):
            yield "fake-%s: %s is not caught, only %s" % (mode, name, [str(failure) for failure in found])
        seen.add(name)
    box.program, box.timeout_s = folder + "/bin/fake-honest", 60
    for case in (log(), log(JSON, VARIANTS), log(["--color=always"]), log([], ["order"], TWO), PLOTTED):
        yield from ("fake-honest: %s" % failure for failure in checks.check(case) if failure.property != "time")
    if seen != {"exit", "time", "linear", "memory", "stderr", "terminal", "json", "command", "inputs", "plot", "told", "same"}:
        yield "not all properties are tried: %s" % sorted(seen)
    box.program = folder + "/bin/fake-sanitizer"
    if not any("sanitizer" in failure.signature for failure in properties.Checks(box, is_sanitized=True).check(log())):
        yield "the report of a sanitizer is not caught"


def shell_lines(box):
    checks = properties.Checks(box)
    for line, is_active in LINES:
        if bool(shell_words.planted_active(line)) != is_active:
            yield "%r: should %sbe active" % (line, "" if is_active else "not ")
    for line, is_run in (("sbatch x;touch PWNED-1", True), ("sbatch 'x;touch PWNED-1'", False)):
        if checks.made_by(line) != is_run:
            yield "%r: should %srun" % (line, "" if is_run else "not ")


def recipes():
    """Recipes survive JSON, double where they are pumped, and shrink to what matters."""
    parts = ["a\xff".encode("latin-1"), [100, "b", [3, "c"]], {"gzip": ["d"]}, bytes(range(256))]
    if content.realise(content.to_json(parts)) != content.realise(parts):
        yield "a recipe does not survive JSON"
    if content.realise(content.scaled([[20, "a"], [2, "b"]], 2)) != b"a" * 40 + b"bb":
        yield "a recipe is not doubled where it is pumped"
    case = log(["--verbose"], files=[(b"a", ["x\n"]), (b"b", ["1\n2\nneedle\n3\n"]), (b"c", [[1000, "y"]])])
    small = shrink.Shrinker(lambda other: any(b"needle" in content.realise(parts) for _, parts in other.files)).shrink(case)
    if small.args != ["@0"] or [content.realise(parts) for _, parts in small.files] != [b"needle"]:
        yield "a case does not shrink: %s" % small.to_json()
    if from_json(case.to_json()).argv() != case.argv():
        yield "a case does not survive JSON"
