# SPDX-License-Identifier: Apache-2.0
"""What attacks are built from: the samples, table tests, recordings, golden cases and rule packs of the tree."""
import json
import pathlib
import re


def without_comments(text):
    """JSON without // and /* */ comments."""
    found, at = [], 0
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', text, re.S):
        found.append(text[at:match.start()])
        if match.group().startswith('"'):
            found.append(match.group())
        at = match.end()
    return "".join(found) + text[at:]


def objects_in(path):
    value = json.loads(without_comments(path.read_text(encoding="utf-8")))
    return value if isinstance(value, list) else [value]


# An atom of a regular expression that is repeated.
REPEATED = re.compile(r"(\[\^?\]?(?:[^\]\\]|\\.)*\]|\\[wWdDsSNhR]|\.|\\.)(?:[*+]|\{\d+,\d*\})")
# What is left of a regular expression when its atoms that are no plain text are taken out.
NOT_PLAIN = re.compile(r"\\[wWdDsSbBNh]|\(\?(?:<\w+>|P<\w+>|[:=!]|<[=!])?|\[[^\]]*\]|[*+?{}()|^$]")
ESCAPED = {"d": "7", "D": "x", "w": "a", "W": "-", "s": " ", "S": "a", "N": "a", "h": " ", "R": "\n", "t": "\t", "n": "\n"}


def letters_of(atom):
    """Characters that the atom matches: enough to tell classes apart, not all of them."""
    if atom == ".":
        return ["a", " ", "7"]
    if atom.startswith("\\"):
        letter = ESCAPED.get(atom[1], atom[1])
        return [letter, "7"] if atom[1] in "wS" else [letter]
    inside = re.sub(r"\\([wWdDsSNhRtn])", lambda match: ESCAPED[match.group(1)], atom[1:-1])
    inside = re.sub(r"\\(.)", r"\1", inside)
    if inside.startswith("^"):
        return [letter for letter in "a7 .=" if letter not in inside[1:]][:3]
    found = [letter for letter in re.sub(r"(.)-(.)", r"\1\2", inside)]
    return sorted(set(found))[:4]


class Pattern:
    def __init__(self, row, source):
        self.id = row["pattern"]
        self.source = source
        self.regex = row.get("regex", "")
        self.literals = [literal.rstrip("\n") for literal in row.get("literals", [])]
        plain = NOT_PLAIN.sub("\0", self.regex).replace("\\", "")
        self.fragments = sorted({text for text in plain.split("\0") if len(text.strip()) >= 2})
        self.samples = row.get("samples", []) + row.get("not", [])
        self.where = row.get("where", "line")
        atoms = REPEATED.findall(self.regex)
        self.letters = sorted({letter for atom in atoms for letter in letters_of(atom)} - {"\n"})


class Material:
    def __init__(self, source):
        root = pathlib.Path(source)
        self.logs, self.scripts, self.settings, self.accounting, self.monitors, self.recordings = [], [], [], [], [], []
        self.jobs = []
        for folder in sorted(path for path in (root / "samples").iterdir() if path.is_dir()):
            job = []
            for path in sorted(folder.iterdir()):
                data = path.read_bytes()
                self.add(path.name, data)
                job.append((path.name.encode(), data))
            self.jobs.append(job)
        for path in sorted((root / "tests" / "recordings").iterdir()):
            self.recordings.append(path.read_bytes())
        self.cases = [case for path in sorted((root / "tests" / "table").glob("*.txt")) for case in self.table_cases(path)]
        packs = root / "rules" / "packs"
        self.patterns = [Pattern(row, path.name) for path in sorted((packs / "patterns").glob("*.json")) for row in objects_in(path)
                         if "pattern" in row]
        self.rules = [row for folder in ("causes", "fixes", "knobs") for path in sorted((packs / folder).rglob("*.json"))
                      for row in objects_in(path)]
        self.pattern_rows = [row for path in sorted((packs / "patterns").glob("*.json")) for row in objects_in(path)]
        self.ids = sorted({value for row in self.rules for key, value in row.items() if key in ("cause", "fix", "knob")})
        self.examples = [case["log"].encode() for row in self.rules for case in row.get("examples", [])
                         if isinstance(case, dict) and isinstance(case.get("log"), str)]
        self.keys = sorted({name for row in self.rules for name in self.spellings(row)})

    @staticmethod
    def spellings(row):
        if "knob" not in row:
            return []
        names = [row["knob"]]
        for value in row.values():
            if isinstance(value, list):
                names += [item if isinstance(item, str) else item.get("name", item.get("key", "")) for item in value
                          if isinstance(item, (str, dict))]
        return [name for name in names if isinstance(name, str) and re.fullmatch(r"[\w.-]{2,60}", name)]

    def add(self, name, data):
        if name.endswith((".err", ".out")):
            self.logs.append(data)
        elif name.endswith((".sbatch", ".slurm", ".sh")):
            self.scripts.append(data)
        elif name.endswith((".yaml", ".json")):
            self.settings.append(data)
        elif name.startswith(("sacct", "scontrol")):
            self.accounting.append(data)
        elif name.endswith(".jsonl"):
            self.recordings.append(data)
        elif name.startswith("dmon"):
            self.monitors.append(data)

    def table_cases(self, path):
        found, log, is_log = [], [], False
        for line in path.read_bytes().split(b"\n"):
            if not line:
                log, is_log = [], False
            elif line == b"---":
                if log:
                    found.append(b"".join(log))
                log, is_log = [], False
            elif is_log:
                log.append(re.sub(rb"\{\{([0-9A-Fa-f]{2})\}\}", lambda match: bytes([int(match.group(1), 16)]), line) + b"\n")
            elif not line.startswith(b"#"):
                is_log = True  # the title
        if path.name == "accounting.txt":
            self.accounting += found
        elif path.name == "monitors.txt":
            self.monitors += found
        elif path.name.startswith("setting"):
            self.settings += found
        return found
