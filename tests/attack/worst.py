# SPDX-License-Identifier: Apache-2.0
"""Searches for the file that takes the most time for its size: hill climbing by many, from the floods and from the words of the patterns.

A gene is a call, a head, lines that are repeated in turn until the size is reached, and a tail. A line is a list of words, one of which may
be repeated until the line has a given length. The score is the processor time above that of the same call with an empty file, for each MiB.
"""
import json
import pathlib
import time

import attack_case
import floods

POPULATION = 24  # genes of one kind that are kept by one worker
MEASURED = 10  # of them at the full size: some are refused there, because they pass a limit
TRIAL_BYTES = 768 * 1024  # of a file while the search goes on: the fixed costs are below a tenth of its time
LENGTHS = (0, 60, 300, 2000, 8000, 30000, 65000, 65536, 70000)  # of a line, in bytes
KINDS = ("log", "recording")
LOG_SHARE = 0.7  # of the trials: logs come from strangers more often than recordings do


class Gene:
    def __init__(self, args, head, lines, tail):
        self.args, self.head, self.lines, self.tail = args, head, lines, tail
        self.score = 0.0

    def copy(self):
        return Gene(self.args, self.head, [(list(words), at, length) for words, at, length in self.lines], self.tail)

    @staticmethod
    def line(words, at, length):
        text = "".join(words)
        missing = length - len(text)
        if 0 <= at < len(words) and missing > 0 and words[at]:
            text = "".join(words[:at]) + words[at] * (1 + missing // len(words[at])) + "".join(words[at + 1:])
        return text if text.endswith("\n") else text + "\n"

    def case(self, size):
        """As a case of the harness with one file of about `size` bytes."""
        cycle = "".join(self.line(*line) for line in self.lines)
        count = max(1, (size - len(self.head) - len(self.tail)) // max(1, len(cycle.encode("utf-8", "surrogateescape"))))
        return attack_case.Case("worst", self.args + ["x.txt"], [(b"x.txt", [self.head, {"count": count, "line": cycle}, self.tail])])


class Search:
    """The search of one worker."""

    def __init__(self, box, material, random):
        self.box, self.material, self.random = box, material, random
        self.fixed_s = {}  # by call
        self.words = self.words_of_logs()
        self.genes = {"log": [self.gene_of([], name, make) for name, make in floods.LOGS],
                      "recording": [self.gene_of(call, name, make) for name, make in floods.RECORDINGS for call in floods.CALLS if "--sweep" not in call]}

    # ---- What there is ----

    def words_of_logs(self):
        patterns = self.material.patterns
        found = [list({word for pattern in patterns for word in pattern.literals}),
                 list({word for pattern in patterns for word in pattern.fragments}),
                 list({sample for pattern in patterns for sample in pattern.samples}),
                 [letter for pattern in patterns for letter in pattern.letters],
                 ["a", " ", "7", "=", ":", "/", ".", "_", "-", "\"", "'", "(", "[", "{", "\\", "\t", "\x1b[31m", "\r", "é", "\udcff", "{i}", "\n", "|", ","],
                 list({line.decode("utf-8", "surrogateescape") for log in self.material.logs + self.material.cases for line in log.split(b"\n")
                       if line.strip()})]
        return [sorted(words) for words in found]

    @staticmethod
    def gene_of(call, _, make):
        parts = make(1000)
        pumped = next((part for part in parts if not isinstance(part, str)), None)
        if pumped is None:
            return Gene(call, "", [([parts[0]], -1, 0)], "")
        at = parts.index(pumped)
        word = pumped["line"] if isinstance(pumped, dict) else pumped[1]
        head, tail = "".join(parts[:at]), "".join(parts[at + 1:])
        # What has no end of line makes long lines.
        return Gene(call, head, [([word], -1 if word.endswith("\n") else 0, 0 if word.endswith("\n") else 60000)], tail)

    def word(self, kind):
        if kind == "recording":
            line = self.random.choice(self.random.choice(self.genes[kind]).lines)
            return self.random.choice(line[0])
        return self.random.choice(self.random.choice(self.words))

    # ---- Scores ----

    def seconds(self, case):
        self.box.place(case.files, case.rules)
        return self.box.run(case.argv()).cpu_s

    def fixed(self, args):
        key = tuple(args)
        if key not in self.fixed_s:
            case = attack_case.Case("worst", args + ["x.txt"], [(b"x.txt", ["\n"])])
            self.fixed_s[key] = min(self.seconds(case) for _ in range(5))
        return self.fixed_s[key]

    def judge(self, gene, size=TRIAL_BYTES, least=0.0):
        """The score; measured again, the lower one counting, if it is above `least`."""
        case = gene.case(size)
        mib = case.input_bytes() / 2**20
        score = (self.seconds(case) - self.fixed(gene.args)) / mib
        if score > least:
            score = min(score, (self.seconds(case) - self.fixed(gene.args)) / mib)
        gene.score = score
        return score

    # ---- Steps ----

    def mutant(self, kind):
        random, genes = self.random, self.genes[kind]
        gene = max(random.sample(genes, min(3, len(genes))), key=lambda one: one.score).copy()
        for _ in range(random.choice((1, 1, 2, 3))):
            self.change(kind, gene)
        return gene

    def change(self, kind, gene):
        random = self.random
        index = random.randrange(len(gene.lines))
        words, at, length = gene.lines[index]
        sort = random.randrange(9)
        if sort < 3:
            words.insert(random.randrange(len(words) + 1), self.word(kind))
        elif sort == 3 and len(words) > 1:
            del words[random.randrange(len(words))]
        elif sort == 4:
            words[random.randrange(len(words))] = self.word(kind)
        elif sort == 5 and len(gene.lines) < 12:
            gene.lines.insert(index, ([self.word(kind)], -1, 0))
        elif sort == 6 and len(gene.lines) > 1:
            del gene.lines[index]
            return
        elif sort == 7:
            other = random.choice(self.genes[kind])
            gene.lines = (gene.lines[:index + 1] + other.copy().lines)[:12]
            if random.randrange(3) == 0:
                gene.head, gene.tail = other.head, other.tail
            return
        else:
            at, length = random.randrange(len(words)), random.choice(LENGTHS)
        gene.lines[index] = (words, at, length)

    def step(self):
        kind = KINDS[self.random.random() >= LOG_SHARE]
        genes = self.genes[kind]
        gene = self.mutant(kind)
        last = min(genes, key=lambda one: one.score)
        if self.judge(gene, least=last.score) > last.score:
            genes[genes.index(last)] = gene

    def begin(self, until):
        """Scores the floods and keeps the slowest."""
        for kind in KINDS:
            for gene in self.genes[kind]:
                if time.monotonic() < until:
                    self.judge(gene)
            self.genes[kind].sort(key=lambda one: -one.score)
            del self.genes[kind][POPULATION:]


def work(box, material, random, until, size, found):
    """Puts rows (kind, processor seconds, bytes, call, case) of the slowest files of `size` bytes into `found`."""
    search = Search(box, material, random)
    search.begin(until)
    while time.monotonic() < until:
        search.step()
    for kind in KINDS:
        for gene in sorted(search.genes[kind], key=lambda one: -one.score)[:MEASURED]:
            case = gene.case(size)
            found.put((kind, min(search.seconds(case) for _ in range(2)), case.input_bytes(), gene.args, case.to_json()))


def report(rows, trials, seconds, keep):
    print("%d trials in %.0f s" % (trials, seconds))
    for kind in KINDS:
        best = sorted((row for row in rows if row[0] == kind), key=lambda row: row[2] / row[1])
        for number, (_, cpu_s, size, args, case) in enumerate(best[:3]):
            path = pathlib.Path(keep) / ("worst-%s-%d.json" % (kind, number + 1))
            about = "%.2f s for %.1f MB" % (cpu_s, size / 1e6)
            path.write_text(json.dumps({"property": "time", "about": about, **case}, indent=1) + "\n", encoding="ascii")
            print("%s: %.2f s for %.1f MB (%.1f MB/s), %s: %s" % (kind, cpu_s, size / 1e6, size / 1e6 / cpu_s, " ".join(args) or "diagnosis", path))
