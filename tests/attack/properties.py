# SPDX-License-Identifier: Apache-2.0
"""What must hold in every run. Each check yields failures of one property; see README.md for the list.

A signature is the sort of the failure without the details of the case; expected.json names failures by it.
"""
import json
import math
import os
import re
import subprocess
import xml.etree.ElementTree

import content
import hostile
import shell_words
from attack_case import PLOT
from process import read, write

MIB = 1 << 20
MEMORY_BYTES = 96 * MIB
MEMORY_PER_RECORDED_BYTE = 64
TIME_FLOOR_S, TIME_PER_MIB_S = 0.25, 1.0
STEADY_FLOOR_S, STEADY_PER_MIB_S, STEADY_FINDING = 2.0, 20.0, 2.5  # on machines that nobody controls
LINEAR_FLOOR_S, LINEAR_EXPONENT = 0.05, 1.3
STEADY_LINEAR_FLOOR_S, STEADY_LINEAR_EXPONENT = 1.0, 1.6
LARGEST_BYTES = 24 * MIB
START_S = 0.004
RULES_CHECK_S = 2.0  # it measures each pattern of the folder
SHAPES = {"svg", "g", "path", "rect", "line", "polyline", "polygon", "text", "tspan", "title", "desc", "defs", "style", "clipPath", "circle", "use",
          "linearGradient", "stop", "pattern"}
STDERR_LINES = 100

EXITS = {"": (0, 1, 2), "verify": (0, 1, 2, 3), "replay": (0, 1, 2, 3), "budget": (0, 1, 2), "rules": (0, 1, 2), "explain": (0, 1, 2),
         "help": (0, 2), "completion": (0, 2), "version": (0,)}


def exponent(costs, sizes):
    """Of the time against the size, over the last two doublings."""
    last, first = costs[-1] - START_S, costs[-3 if len(costs) == 3 else -2] - START_S
    return math.log(max(last, 1e-3) / max(first, 1e-3)) / math.log(sizes[-1] / sizes[-3 if len(costs) == 3 else -2])


class Failure:
    def __init__(self, name, signature, detail):
        self.property, self.signature, self.detail = name, signature, detail

    def __str__(self):
        return "%s: %s: %s" % (self.property, self.signature, self.detail)


def short(value, most=160):
    text = repr(value)
    return text if len(text) <= most else text[:most] + "..."


class Checks:
    """All properties over one sandbox. `only`: the name of one property, or None. `is_steady`: limits with large margins."""

    def __init__(self, box, only=None, is_sanitized=False, is_steady=False):
        self.box, self.only, self.is_sanitized, self.is_steady = box, only, is_sanitized, is_steady
        self.judged = {}

    def wants(self, name):
        return self.only in (None, name)

    def check(self, case):
        """Failures of the case: of its own run and of its variants."""
        self.box.place(case.files, case.rules)
        before = self.box.state()
        result = self.box.run(case.argv(), is_terminal=case.is_terminal)
        failures = list(self.check_run(case, result))
        if self.wants("inputs"):
            failures += self.check_inputs(before, case)
        if self.wants("plot") and PLOT in case.args:
            failures += self.check_plot()
        if result.is_late:
            return failures
        if self.wants("time") and not self.is_sanitized:
            failures += self.check_time(case, result)
        if self.wants("linear") and not self.is_sanitized and case.is_pumped():
            failures += self.check_linear(case, result)
        if self.wants("same"):
            failures += [failure for variant in case.variants for failure in getattr(self, "same_" + variant)(case, result)]
        if case.told and self.wants("told"):
            failures += self.check_told(result)
        return failures

    def check_run(self, case, result):
        """The properties of a single run."""
        for name in ("exit", "memory", "stderr", "json", "terminal", "command"):
            if self.wants(name):
                self.judged[name] = self.judged.get(name, 0) + 1
                yield from getattr(self, "check_" + name)(case, result)

    # ---- exit ----

    def check_exit(self, case, result):
        command = case.command() or "diagnosis"
        if result.is_late:
            if not self.is_sanitized:
                yield Failure("time", "%s does not end" % command, "ended by the time limit of %g s" % self.box.timeout_s)
        elif result.code < 0:
            yield Failure("exit", "%s ends by signal %d" % (command, -result.code), short(result.err[-300:]))
        elif result.code == 99 and self.is_sanitized:
            found = re.search(rb"(?:SUMMARY: |runtime error: )[^\n]*", result.err)
            yield Failure("exit", "sanitizer: " + (found.group().decode("utf-8", "replace") if found else "?"), short(result.err[-600:]))
        elif result.code not in EXITS.get(case.command(), (0, 1, 2)):
            yield Failure("exit", "%s ends with %d" % (command, result.code), short(result.err[-300:]))
        elif result.code == 2 and not result.err:
            yield Failure("exit", "%s ends with 2 and says nothing" % command, short(result.out[:200]))

    # ---- time, linear, memory ----

    def limit_s(self, case, size):
        floor, rate = (STEADY_FLOOR_S, STEADY_PER_MIB_S) if self.is_steady else (TIME_FLOOR_S, TIME_PER_MIB_S)
        if case.command() == "rules" and "check" in case.args:
            floor += RULES_CHECK_S
        return floor + rate * size / MIB

    def least_cpu(self, case, result, times=2):
        """The least of several measurements, because the machine may be busy."""
        return min([result.cpu_s] + [self.box.run(case.argv(), is_terminal=case.is_terminal).cpu_s for _ in range(times)])

    def check_time(self, case, result):
        self.judged["time"] = self.judged.get("time", 0) + 1
        size = max(case.input_bytes(), 1)
        if "--sweep" in case.args or case.command() == "verify":
            size *= 40  # many replays of one recording
        if result.cpu_s <= self.limit_s(case, size):
            return
        least = self.least_cpu(case, result)
        if least > self.limit_s(case, size):
            yield Failure("time", "%s is slow" % (case.command() or "diagnosis"),
                          "%.2f s for %d bytes" % (least, case.input_bytes()))

    def check_linear(self, case, result):
        floor, most = (STEADY_LINEAR_FLOOR_S, STEADY_LINEAR_EXPONENT) if self.is_steady else (LINEAR_FLOOR_S, LINEAR_EXPONENT)
        size = case.input_bytes()
        if result.cpu_s < floor / 4 or 4 * size > LARGEST_BYTES:
            return
        self.judged["linear"] = self.judged.get("linear", 0) + 1
        costs, sizes = [self.least_cpu(case, result, 1)], [size]
        # Where the exponent is too large, four times as much decides: small times hold the growth of caches and of logarithms.
        for factor in (2, 4, 16):
            larger = case.scaled(factor)
            if larger.input_bytes() > LARGEST_BYTES:
                break
            self.box.place(larger.files, larger.rules)
            run = self.box.run(larger.argv(), is_terminal=case.is_terminal)
            if run.is_late:
                yield Failure("linear", case.command() or "diagnosis", "does not end at %d bytes" % larger.input_bytes())
                return
            costs.append(run.cpu_s if factor == 2 else self.least_cpu(larger, run, 1))
            sizes.append(larger.input_bytes())
            if factor == 4 and (costs[-1] < floor or sizes[-1] < 2 * size or exponent(costs, sizes) <= most):
                return
        if exponent(costs, sizes) > most:
            yield Failure("linear", "%s" % (case.command() or "diagnosis"),
                          "exponent %.2f: %s" % (exponent(costs, sizes), ", ".join("%.3f s at %d bytes" % pair for pair in zip(costs, sizes))))

    def check_memory(self, case, result):
        if self.is_sanitized or result.peak_bytes is None:
            return
        limit = MEMORY_BYTES
        if case.command() in ("replay", "verify"):
            limit += MEMORY_PER_RECORDED_BYTE * case.input_bytes()
        if result.peak_bytes > limit:
            yield Failure("memory", case.command() or "diagnosis", "%d MiB for %d bytes" % (result.peak_bytes // MIB, case.input_bytes()))

    # ---- what is printed ----

    def check_stderr(self, case, result):
        if "--patch" in case.args or (self.is_sanitized and result.code == 99):
            return  # the report goes to standard error
        lines = result.err.split(b"\n")
        if lines[-1] != b"":
            yield Failure("stderr", "the last line does not end", short(lines[-1]))
        for line in lines[:-1]:
            if not line.startswith(b"whyoom: "):
                yield Failure("stderr", "%s: a line without `whyoom: `" % (case.command() or "diagnosis"), short(line))
                break
        if len(lines) - 1 > STDERR_LINES:
            yield Failure("stderr", "too many lines", "%d lines for %d files" % (len(lines) - 1, len(case.files)))

    def check_json(self, case, result):
        if not case.is_json() or (result.code == 2 and not result.out) or "-o" in case.args or case.command() in ("explain", "help", "completion", "version"):
            return
        if case.args[:1] == ["rules"] and case.args[1:2] != ["why"] or "--events" in case.args or "--patch" in case.args:
            return
        try:
            for text in documents_of(result.out) if case.command() == "replay" else [result.out]:
                report_of(text)
        except ValueError as error:
            yield Failure("json", "%s: %s" % (case.command() or case.generator, re.sub(r"[^a-zA-Z ].*", "", str(error)) or "not valid"),
                          "%s in %s" % (error, short(result.out[-200:])))

    def check_terminal(self, case, result):
        command = " ".join([case.command() or "diagnosis"] + [word for word in case.args[1:2] if case.command() == "rules"])
        for stream, data in (("standard output", result.out), ("standard error", result.err)):
            if self.is_sanitized and result.code == 99:
                return
            if case.has_color() and stream == "standard output" or case.has_color() and "--patch" in case.args:
                data = re.sub(rb"\x1b\[[0-9;]*m", b"", data)
            for signature, detail in odd_characters(data):
                yield Failure("terminal", "%s: %s in %s" % (command, signature, stream), detail)
            at = data.find(b"\n\n" + hostile.FORGED.encode())
            if at >= 0:
                yield Failure("terminal", "%s: a name writes lines of its own in %s" % (command, stream), short(data[max(0, at - 40):at + 40]))
        if case.is_json() and result.code in (0, 1, 3) and result.out[:1] == b"{" and b"\\u" in result.out:
            try:
                report = report_of(result.out)
            except ValueError:
                return
            for text in texts_in(report):
                for signature, detail in odd_characters(text.replace("\n", " ").encode("utf-8", "surrogatepass")):
                    yield Failure("terminal", "%s: %s in a text of JSON" % (command, signature), detail)
                    return

    # ---- commands to paste ----

    def check_command(self, case, result):
        if hostile.MARK.encode() not in result.out + result.err:
            return
        for line, is_resubmit in self.pasted(case, result):
            if hostile.MARK not in line:
                continue
            found = shell_words.planted_active(line, is_resubmit and case.holds(b"Command="))
            kind = "resubmit" if is_resubmit else "fix (%s)" % re.sub(r"[^A-Za-z_. -].*", "", line)[:40].strip()
            if found:
                yield Failure("command", "%s: an unquoted word of an input in a %s line" % (case.command() or "diagnosis", kind), short(line))
            elif is_resubmit and self.made_by(line):
                yield Failure("command", "%s: running the %s line runs a planted command" % (case.command() or "diagnosis", kind), short(line))

    @staticmethod
    def pasted(case, result):
        """(line, is_resubmit) of everything that is meant for a shell."""
        if case.is_json() and "--patch" not in case.args and "--events" not in case.args:
            try:
                report = report_of(result.out)
            except ValueError:
                return
            if not isinstance(report, dict):
                return
            if isinstance(report.get("resubmit"), str):
                yield report["resubmit"], True
            for finding in report.get("findings", []):
                for fix in finding.get("fixes", []):
                    yield from ((change["spelled"], False) for change in fix.get("changes", []) if isinstance(change.get("spelled"), str))
                    yield from ((text, False) for text in fix.get("commands", []) if isinstance(text, str))
            return
        if case.command() in ("", "verify", "replay", "budget") and "--events" not in case.args:
            for data in (result.out, result.err):
                text = re.sub(r"\x1b\[[0-9;]*m", "", data.decode("utf-8", "replace"))
                yield from shell_words.pasted_lines(text)

    def made_by(self, line):
        """Whether a shell that runs the line, with nothing but stand-ins in its PATH, makes a planted file."""
        folder = self.box.folder + "/shell"
        if not os.path.isdir(folder):
            os.makedirs(folder + "/bin")
            os.makedirs(folder + "/work")
            os.symlink("/bin/touch" if os.path.exists("/bin/touch") else "/usr/bin/touch", folder + "/bin/touch")
            for name in ("sbatch", "srun", "python", "export"):
                write((folder + "/bin/" + name).encode(), b"#!/bin/sh\nexit 0\n")
                os.chmod(folder + "/bin/" + name, 0o755)
        subprocess.run(["/bin/sh", "-c", line.replace("\0", "")], cwd=folder + "/work", env={"PATH": folder + "/bin"}, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=10, check=False)
        made = os.listdir(folder + "/work")
        for name in made:
            os.unlink(os.path.join(folder, "work", name))
        return any(hostile.MARK in name for name in made)

    # ---- inputs ----

    def check_plot(self):
        """A picture is XML, and holds nothing but shapes and text: no program, no link, no event handler."""
        self.judged["plot"] = self.judged.get("plot", 0) + 1
        if not os.path.exists(PLOT):
            return
        data = read(PLOT)
        try:
            root = xml.etree.ElementTree.fromstring(data)
        except xml.etree.ElementTree.ParseError as error:
            yield Failure("plot", "not XML", "%s in %s" % (error, short(data[-200:])))
            return
        for element in root.iter():
            name = element.tag.rpartition("}")[2]
            if name not in SHAPES:
                yield Failure("plot", "an element that is no shape", name)
            for key in element.attrib:
                if key.rpartition("}")[2].lower().startswith(("on", "href")):
                    yield Failure("plot", "an attribute that acts", "%s %s" % (name, key))
        for signature, detail in odd_characters(data):
            yield Failure("plot", signature, detail)

    def check_inputs(self, before, case):
        self.judged["inputs"] = self.judged.get("inputs", 0) + 1
        after = self.box.state()
        if PLOT in case.args:
            after.pop(os.fsencode(os.path.join(self.box.folder, "in", PLOT)), None)
        for path in sorted(set(before) | set(after)):
            if before.get(path) != after.get(path):
                sort = "is gone" if path not in after else "is new" if path not in before else "is changed"
                yield Failure("inputs", "a file " + sort, short(path))

    def check_told(self, result):
        self.judged["told"] = self.judged.get("told", 0) + 1
        noted = b"note:" in result.out or b'"notes": ["' in result.out or result.err
        if result.code != 2 and not noted:
            yield Failure("told", "something was passed over in silence", "exit %d, standard error %s" % (result.code, short(result.err)))

    # ---- same ----

    def report(self, files, args=(), stdin=None, chunk=65536):
        """The JSON report of a diagnosis of these files (names) or of standard input, with the names of files replaced."""
        result = self.box.run([b"--format", b"json"] + list(args) + [b"./" + name if name.startswith(b"-") and name != b"-" else name
                                                                     for name in files], stdin=stdin, chunk=chunk)
        if result.code not in (0, 1, 2) or result.is_late:
            return ("exit", result.code), result
        try:
            return report_of(result.out), result
        except ValueError:
            return ("no JSON", result.code), result

    def differ(self, what, one, other):
        self.judged["same"] = self.judged.get("same", 0) + 1
        if one != other:
            place, detail = difference(one, other)
            yield Failure("same", "%s: %s" % (what, re.sub(r"\d+", "N", place)), detail)

    def same_again(self, case, result):
        self.box.place(case.files, case.rules)
        again = self.box.run(case.argv(), is_terminal=case.is_terminal)
        yield from self.differ("the same call again", [result.code, result.out, result.err], [again.code, again.out, again.err])

    def same_looks(self, case, result):
        """The exit code is the same whatever the report looks like."""
        if "--events" in case.args:
            return
        self.box.place(case.files, case.rules)
        words = case.with_args(["@%d" % i for i in range(len(case.files))]).argv()
        plain = self.box.run(words)
        for look in ([b"--format", b"json"], [b"--width", b"40"], [b"--verbose"], [b"--color=always"], [b"--no-prefilter"]):
            other = self.box.run(look + words)
            yield from self.differ("exit code with %s" % b" ".join(look).decode(), plain.code, other.code)

    def same_chunks(self, case, result):
        """Standard input in pieces of any size."""
        data = content.realise(case.files[0][1])[:64 * 1024]
        whole, _ = self.report([b"-"], stdin=data)
        for chunk in ((1, 7) if len(data) <= 4096 else (13, 4096)):
            pieces, _ = self.report([b"-"], stdin=data, chunk=chunk)
            yield from self.differ("chunks of a pipe", whole, pieces)

    def same_pipe(self, case, result):
        """A file and the same bytes through a pipe. The name has no meaning, but a pipe may lack what went to standard error: without a good end it
        has no end, where a file ended well."""
        data = content.realise(case.files[0][1])
        self.box.place([(b"attack-input", [data])])
        one, _ = self.report([b"attack-input"])
        other, _ = self.report([b"-"], stdin=data)
        one, other = without_names(one, "attack-input"), without_names(other, "-")
        yield from self.differ("file and pipe", without_end(one), without_end(other))

    def same_gzip(self, case, result):
        data = content.realise(case.files[0][1])
        if data[:2] == b"\x1f\x8b":
            return
        self.box.place([(b"attack-input", [data]), (b"attack-gzip", [content.gzip_of(data)])])
        one, _ = self.report([b"attack-input"])
        other, _ = self.report([b"attack-gzip"])
        yield from self.differ("file and gzip", without_names(one, "attack-input"), without_names(other, "attack-gzip"))

    def same_members(self, case, result):
        """One member and two of the same text."""
        data = content.realise(case.files[0][1])
        half = len(data) // 2
        self.box.place([(b"attack-input", [content.gzip_of(data)]), (b"attack-two", [content.gzip_of(data[:half]) + content.gzip_of(data[half:])])])
        one, _ = self.report([b"attack-input"])
        other, _ = self.report([b"attack-two"])
        yield from self.differ("one gzip member and two", without_names(one, "attack-input"), without_names(other, "attack-two"))

    def same_order(self, case, result):
        """The failure and the causes do not depend on the order in which the files are given."""
        if len(case.files) < 2:
            return
        self.box.place(case.files, case.rules)
        names = [name for name, _ in case.files]
        one, _ = self.report(names)
        for order in (names[::-1], names[1:] + names[:1]):
            other, _ = self.report(order)
            yield from self.differ("order of files", answer(one), answer(other))


# ---- Reports as values ----

def report_of(data):
    """The strictly read JSON. ValueError names what is wrong."""
    def pairs(items):
        found = dict(items)
        if len(found) != len(items):
            names = [name for name, _ in items]
            raise ValueError("key twice: %s" % next(name for name in names if names.count(name) > 1))
        return found

    def constant(name):
        raise ValueError("%s is no number of JSON" % name)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError("not UTF: %s" % error) from None
    value = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    if b"\\u" in data:
        for text in texts_in(value):
            if re.search("[\ud800-\udfff]", text):
                raise ValueError("half of a surrogate pair")
    return value


def documents_of(data):
    """The objects of `replay`: one for each recording and device. Each ends with a line that holds nothing but its bracket."""
    found = data.split(b"\n}\n")
    return [text + b"\n}\n" for text in found[:-1]] + ([found[-1]] if found[-1] or len(found) == 1 else [])


def texts_in(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from texts_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)


ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def odd_characters(data):
    """(sort, excerpt) of characters that do not belong on a terminal; one for each sort."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        yield "bytes that are no UTF-8", short(data[max(0, error.start - 30):error.end + 30])
        text = data.decode("utf-8", "replace")
    seen = set()
    for match in ODD.finditer(text):
        code = ord(match.group())
        sort = "control character" if code < 0x20 or code == 0x7f else "C1 control character" if code < 0xa0 else \
            "line separator" if code in (0x2028, 0x2029) else "direction mark"
        if sort not in seen:
            seen.add(sort)
            yield sort, short(text[max(0, match.start() - 40):match.end() + 40])


def without_names(report, name):
    """The report without what a file's name and its compression say."""
    if not isinstance(report, dict):
        return report
    report = dict(report, resubmit=None)
    report["inputs"] = [{key: value for key, value in row.items() if key not in ("path", "compressed", "bytes")} for row in report.get("inputs", [])]

    def renamed(value):
        if isinstance(value, dict):
            return {key: renamed(item) for key, item in value.items() if key not in ("path", "file")}
        if isinstance(value, list):
            return [renamed(item) for item in value]
        return value.replace("<stdin>", "-").replace("attack-input", "-").replace("attack-gzip", "-").replace("attack-two", "-") if isinstance(value, str) else value
    return renamed(report)


def without_end(report):
    """The report of a job that did not fail without what it says of an end that no line shows."""
    job = report.get("job", {}) if isinstance(report, dict) else {}
    if job.get("outcome") != "success" or job.get("outcome_evidence"):
        return report
    facts = dict(report["facts"], **{"job.outcome": dict(report["facts"]["job.outcome"], value="unknown")})
    return dict(report, job=dict(job, outcome="unknown"), facts=facts)


def answer(report):
    """What must not depend on the order of the files: the failure by its place, and which causes were found. (Where two files give a setting
    different values, the later one counts, so fixes may differ.)"""
    if not isinstance(report, dict):
        return report
    places = {row["id"]: "%s:%s:%s:%s" % (row.get("path"), row.get("line"), row.get("byte"), row.get("kind")) for row in report.get("evidence", [])}
    failure = report.get("failure") or {}
    return {"kind": failure.get("kind"), "place": places.get(failure.get("evidence")), "rank": failure.get("rank"),
            "findings": sorted(finding["id"] for finding in report.get("findings", []))}


def difference(one, other, place=""):
    """Where two values differ first, and how."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in list(one) + [key for key in other if key not in one]:
            if one.get(key) != other.get(key):
                return difference(one.get(key), other.get(key), place + "." + key)
    if isinstance(one, list) and isinstance(other, list):
        for i, (left, right) in enumerate(zip(one, other)):
            if left != right:
                return difference(left, right, place + "[%d]" % i)
        return place, "%d items against %d" % (len(one), len(other))
    if isinstance(one, (bytes, str)) and isinstance(other, type(one)):
        at = next((i for i, (left, right) in enumerate(zip(one, other)) if left != right), min(len(one), len(other)))
        return place, "%s against %s" % (short(one[max(0, at - 30):at + 60]), short(other[max(0, at - 30):at + 60]))
    return place, "%s against %s" % (short(one), short(other))
