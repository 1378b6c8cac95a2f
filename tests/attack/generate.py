# SPDX-License-Identifier: Apache-2.0
"""Makes cases. A case depends on the seed and its number only."""
import json
import pickle
import random as randoms
import re

import content
import floods
import hostile
from attack_case import PLOT, RULES, Case

PUMPS = (100, 1000, 4000, 16000)
OOM = (b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 39.38 GiB of which 1.25 GiB is "
       b"free. Of the allocated memory 36.53 GiB is allocated by PyTorch, and 1.24 GiB is reserved by PyTorch but unallocated.\n")
ENDINGS = (".err", ".out", ".log", ".txt", ".sbatch", ".sh", ".yaml", ".json", ".jsonl", ".pickle", ".csv", "")


def lines_of(data):
    return data.splitlines(keepends=True)


class Generator:
    """`only`: the name of the method that makes all cases, or None."""

    def __init__(self, material, most_bytes=256 * 1024, only=None):
        self.material, self.most_bytes, self.only = material, most_bytes, only
        self.contents = [(getattr(self, name), weight) for name, weight in (
            ("a_log", 6), ("mutated_log", 6), ("glued", 6), ("pumped", 8), ("pumped_samples", 4), ("random_bytes", 2), ("control_text", 3),
            ("long_line", 3), ("many_lines", 3), ("deep", 3), ("wide_table", 3), ("binary", 2), ("cut_utf8", 2), ("compressed", 3),
            ("script", 5), ("settings", 6), ("accounting", 7), ("monitor", 4), ("recording", 3), ("hostile_log", 6), ("flood", 5))]

    def case(self, seed, number):
        random = randoms.Random("%s:%d" % (seed, number))
        makers = (self.diagnosis, 60), (self.verify, 10), (self.replay, 10), (self.budget, 4), (self.why, 2), (self.packs, 6), \
            (self.words, 3), (self.folder, 2), (self.outputs, 1), (self.told, 2), (self.missing, 1)
        maker = self.pick(random, makers)
        return getattr(self, self.only)(random) if self.only else maker(random)

    @staticmethod
    def pick(random, weighted):
        total = random.randrange(sum(weight for _, weight in weighted))
        for item, weight in weighted:
            total -= weight
            if total < 0:
                return item
        return weighted[-1][0]

    # ---- Commands ----

    def files(self, random, most=6):
        """Files of one job, with names that are all different."""
        count = min(most, random.choice((1, 1, 1, 2, 2, 3, 4, 6)))
        if random.random() < 0.1:
            found = self.job(random)[:most]
        else:
            found = [(self.name(random), self.content(random)) for _ in range(count)]
        return list({name: (name, parts) for name, parts in found}.values())

    def job(self, random):
        """A sample job whose files have something hostile at their ends."""
        found = [(name, [data]) for name, data in random.choice(self.material.jobs)]
        random.shuffle(found)
        for _ in range(random.randrange(3)):
            at = random.randrange(len(found))
            found[at] = (found[at][0], found[at][1] + [random.choice((b"\n", b"")), content.bytes_of(hostile.word(random)), b"\n"])
        return found

    @staticmethod
    def name(random):
        ending = random.choice(ENDINGS)
        if random.random() < 0.25:
            return hostile.name(random, ending)
        stem = random.choice(("slurm-4711", "slurm-%d" % random.randrange(10 ** 6), "job", "train", "config", "my-scontrol", "my-sacct", "dmon", "trace",
                              "err.%d" % random.randrange(20), "job_gpu01_%d" % random.randrange(4), "x"))
        return (stem + ending).encode()

    def content(self, random):
        parts = self.pick(random, self.contents)(random)
        if random.random() < 0.08:
            parts = [{"gzip": parts}]
        return parts

    @staticmethod
    def look(random):
        """Options that change how a report looks."""
        sort = random.randrange(8)
        if sort < 3:
            return ["--format", "json"]
        found = []
        if random.random() < 0.3:
            found += ["--width", str(random.choice((1, 40, 41, 60, 80, 120, 1000, 5000)))]
        if random.random() < 0.4:
            found += [random.choice(("--color=always", "--color=never", "--color"))]
        if random.random() < 0.4:
            found += ["--verbose"]
        if random.random() < 0.15:
            found += ["--events"]
        return found

    def diagnosis(self, random):
        files = self.files(random)
        variants = [name for name, share in (("chunks", 0.08), ("pipe", 0.08), ("gzip", 0.08), ("members", 0.04), ("again", 0.05),
                                             ("looks", 0.1)) if random.random() < share]
        if random.random() < 0.05:
            files, variants = self.job(random), ["order"]
        return Case("diagnosis", self.look(random) + ["@%d" % i for i in range(len(files))], files, variants=variants)

    def folder(self, random):
        names = [b"slurm-%d" % random.randrange(10 ** 6) + self.name(random)[:200] + random.choice((b".out", b".err"))
                 for _ in range(random.randrange(1, 5))]
        files = [(name, self.content(random)) for name in sorted(set(names))]
        return Case("folder", self.look(random), files, is_terminal=True)

    def verify(self, random):
        files = self.files(random, 4)
        args = ["verify"] + self.look(random)
        args = [word for word in args if word != "--events"]
        args += ["@%d" % i for i in range(len(files))]
        if random.random() < 0.5:
            files.append((b"trace.jsonl", self.recording(random)))
            args += ["--trace", "@%d" % (len(files) - 1)]
        if random.random() < 0.4:
            args += ["--patch"]
        if random.random() < 0.3:
            args += ["--capacity", random.choice(("8GiB", "24GiB", "0", "-1", "1e99GiB", "79.1GiB"))]
        if random.random() < 0.2:
            args += ["--accept-reconstructed"]
        return Case("verify", args, files)

    def replay(self, random):
        args = ["replay", "--no-times"] + [word for word in self.look(random) if word != "--events"]
        options = (["--check"], ["--sweep"], ["--chart"], ["--at", str(random.choice(hostile.NUMBERS))], ["--capacity", "8GiB"],
                   ["--capacity", "1MiB"], ["--set", "expandable_segments:True"], ["--set", "max_split_size_mb:32,garbage_collection_threshold:0.6"],
                   ["--set", hostile.word(random).replace("\0", "")], ["--scale", "micro_batch=2:1"], ["--transform", "empty-cache"],
                   ["--transform", "checkpoint"], ["--torch", "2.1"], ["--device", str(random.choice(hostile.NUMBERS))])
        for option in random.sample(options, random.choice((0, 0, 1, 1, 2))):
            args += option
        if random.random() < 0.1:
            args += ["--plot", PLOT]
        files = [(self.name(random), self.recording(random) if random.random() < 0.9 else self.content(random))]
        if random.random() < 0.1:
            files.append((b"pair.jsonl", self.recording(random)))
            args += ["--pair", "@1"]
        return Case("replay", args + ["@0"], files)

    def budget(self, random):
        files = self.files(random, 3)
        args = ["budget"] + [word for word in self.look(random) if word != "--events"]
        options = (["--model", random.choice(("llama-3.1-8b", "qwen2.5-7b", hostile.word(random).replace("\0", "")))],
                   ["--params", str(random.choice(hostile.NUMBERS))], ["--micro-batch", str(random.choice(hostile.NUMBERS))],
                   ["--layers", str(random.choice(hostile.NUMBERS)), "--hidden", str(random.choice(hostile.NUMBERS))],
                   ["--capacity", random.choice(("47.4GiB", "1e30GiB", "0"))], ["--zero", "3", "--gpus", str(random.choice(hostile.NUMBERS))],
                   ["--frozen", hostile.word(random).replace("\0", "") + "=7B:bf16"], ["--stated", "weights=7-8GB"], ["--inference"])
        for option in random.sample(options, random.randrange(4)):
            args += option
        return Case("budget", args + ["@%d" % i for i in range(len(files))], files)

    def why(self, random):
        files = self.files(random, 2)
        look = [word for word in self.look(random) if word != "--events"]
        return Case("why", ["rules", "why"] + look + [random.choice(self.material.ids)] + ["@%d" % i for i in range(len(files))], files)

    def words(self, random):
        """Commands that read no files, with words that are not known."""
        word = hostile.word(random).replace("\0", "") if random.random() < 0.6 else random.choice(self.material.ids + self.material.keys)
        args = random.choice((["explain", word], ["help", word], ["rules", "show", word], ["completion", word], [word], ["--" + word],
                              ["--format", word], ["--width", word], ["rules", word], ["--rules", word, "rules", "list"], ["replay", word],
                              ["explain"], ["rules", "list"]))
        return Case("words", args, [])

    def outputs(self, random):
        """-o with the name of an input, or of something that cannot be written."""
        files = self.files(random, 2)
        where = random.choice(("@0", "@0", "/dev/full", "missing/folder/x", "/"))
        return Case("outputs", self.look(random) + ["-o", where] + ["@%d" % i for i in range(len(files))], files)

    def missing(self, random):
        """Very many names of files that are not there, or of folders."""
        name = random.choice(("missing-%d", "..", "/proc/self/fd/%d", "x\n%d", "/dev/null"))
        count = random.choice((3, 120, 400))
        return Case("missing", self.look(random) + [name.replace("%d", str(i)) for i in range(count)] + ["@0"], [(b"x.err", self.a_log(random))])

    # ---- Rule packs ----

    def packs(self, random):
        rows = []
        for row in random.sample(self.material.rules, 2) + random.sample(self.material.pattern_rows, 2):
            row = json.loads(json.dumps(row))
            for _ in range(random.randrange(3)):
                self.spoil(random, row)
            rows.append(row)
        text = json.dumps(rows, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")
        sort = random.randrange(10)
        if sort == 0:
            text = self.mutate(random, text)
        elif sort == 1:
            text = text[:random.randrange(len(text))]
        elif sort == 2:
            text = content.realise(self.deep(random))
        rules = [(random.choice((b"site.json", b"a b.json", b"x;touch PWNED-1.json", b"e\x1b[31m.json", b"\xff.json")), [text])]
        files = [(b"x.err", self.a_log(random))]
        row = rows[0]
        known = next((row[key] for key in ("cause", "fix", "knob", "pattern") if isinstance(row.get(key), str)), "unclear")
        known = known.replace("\0", "")
        args = random.choice((["rules", "list"], ["rules", "check"], ["rules", "show", known], ["rules", "why", known, "@0"],
                              ["explain", known], self.look(random) + ["@0"], self.look(random) + ["@0"], ["explain"]))
        return Case("packs", args + ["--rules", RULES], files, rules)

    def spoil(self, random, row):
        """Writes a hostile text, expression, or value of another sort into a rule."""
        keys = [key for key, value in row.items() if isinstance(value, (str, list, dict))]
        key = random.choice(keys)
        value = row[key]
        sort = random.randrange(6)
        if isinstance(value, str) and sort < 4:
            row[key] = value + hostile.word(random) if key != "regex" else random.choice(
                (value + "(", "(a+)+$", r"\S+" + value, value + "(?R)", "(?<x>" * 40, "[" * 50, r"(?:\S+\s+)*x", value + "{65536}"))
        elif isinstance(value, str) and key in ("when", "cause", "fix"):
            row[key] = random.choice(("(" * 60 + "1" + ")" * 60, "1" + "+1" * 400, "not " * 200 + "true", hostile.word(random)))
        elif isinstance(value, list) and value and sort < 4:
            at = random.randrange(len(value))
            if isinstance(value[at], dict):
                self.spoil(random, value[at]) if value[at] else None
            elif isinstance(value[at], str):
                value[at] += hostile.word(random)
        elif isinstance(value, dict) and value and sort < 4:
            self.spoil(random, value) if any(isinstance(item, (str, list, dict)) for item in value.values()) else None
        else:
            row[key] = random.choice((None, 1, -1, 2 ** 63, 1.5, True, [], {}, [[]], hostile.word(random), "x" * 5000))

    # ---- Contents: recipes ----

    def a_log(self, random):
        return [random.choice(self.material.logs + self.material.cases * 2)]

    def mutate(self, random, data):
        data = bytearray(data)
        for _ in range(random.choice((1, 2, 4, 16))):
            if not data:
                break
            at = random.randrange(len(data))
            sort = random.randrange(8)
            if sort == 0:
                data[at] = random.randrange(256)
            elif sort == 1:
                del data[at:at + random.choice((1, 2, 8, 64))]
            elif sort == 2:
                data[at:at] = content.bytes_of(hostile.word(random))
            elif sort == 3:
                data[at:at] = random.choice(hostile.NOT_UTF8)
            elif sort == 4:
                piece = data[at:at + random.choice((1, 8, 64, 512))]
                data[at:at] = piece * random.choice((2, 10, 100))
            elif sort == 5:
                found = [match.span() for match in re.finditer(rb"\d+", bytes(data))]
                if found:
                    begin, end = random.choice(found)
                    data[begin:end] = str(random.choice(hostile.NUMBERS)).encode()
            elif sort == 6:
                data[at:at] = content.bytes_of(self.literal(random))
            else:
                lines = lines_of(bytes(data))
                random.shuffle(lines)
                data = bytearray(b"".join(lines))
            if len(data) > self.most_bytes:
                del data[self.most_bytes:]
        return bytes(data)

    def literal(self, random):
        literals = random.choice(self.material.patterns).literals
        return random.choice(literals) if literals else "CUDA out of memory"

    def sample(self, random):
        samples = random.choice(self.material.patterns).samples
        return random.choice(samples) if samples else self.literal(random)

    def mutated_log(self, random):
        return [self.mutate(random, random.choice(self.material.logs + self.material.cases * 2))]

    def glued(self, random):
        """Lines of several sources, one behind the other, each with a different chance to be whole."""
        sources = self.material.cases + self.material.logs + self.material.accounting + self.material.monitors + self.material.scripts
        lines = []
        for _ in range(random.randrange(1, 6)):
            taken = lines_of(random.choice(sources))
            begin = random.randrange(max(1, len(taken)))
            lines += taken[begin:begin + random.randrange(1, 30)]
            if random.random() < 0.3:
                lines.append(self.sample(random).encode() + random.choice((b"\n", b"\r\n", b"\r", b"")))
        return [b"".join(lines)]

    def pumped(self, random):
        """One pattern's own literal and characters, many times over, on one line."""
        pattern = random.choice(self.material.patterns)
        count = random.choice(PUMPS)
        letter = random.choice(pattern.letters + ["a", " ", "7", ".", ":", "/", "=", ",", "[", "(", '"', "\t"])
        literal = random.choice(pattern.literals or [""])
        sample = random.choice(pattern.samples or [literal]).split("\n")[0]
        cut = random.randrange(len(sample) + 1)
        half = max(1, count // max(1, len(literal)))
        fragment = random.choice(pattern.fragments or [literal or "x"]) + random.choice(("", "", " ", letter, "7"))
        part = max(1, count // len(fragment))
        line = random.choice((
            [[part, fragment], literal], [literal, [part, fragment]], [[part, fragment + literal]], [[part, fragment], sample],
            [fragment, [count, letter], literal], [sample[:cut], [part, fragment], sample[cut:]],
            [[count, letter], literal], [literal, [count, letter]], [[count, letter], sample], [sample, [count, letter]],
            [sample[:cut], [count, letter], sample[cut:]], [[half, letter + literal]], [[half, literal]], [[half, literal + letter * 3]],
            [[max(1, count // (len(sample) + 1)), sample + " "]], [[max(1, count // (cut + 1)), sample[:cut]], sample[cut:]],
            [sample[:cut], [count // 2, letter + " "], sample[cut:]]))
        lines = random.choice((1, 1, 1, 4))
        return [OOM] * (random.random() < 0.3) + [part for _ in range(lines) for part in line + ["\n"]]

    def pumped_samples(self, random):
        """Lines of one pattern or of several, many times over: readers that keep what they read."""
        lines = [self.sample(random) for _ in range(random.choice((1, 1, 2, 3, 8)))]
        count = random.choice((20, 100, 500, 2000))
        parts = [[max(1, min(count, self.most_bytes // (len("".join(lines)) + 8))), "\n".join(lines) + "\n"]]
        return parts + ([OOM] if random.random() < 0.5 else [])

    def random_bytes(self, random):
        return [random.getrandbits(8 * 2048).to_bytes(2048, "big")[:random.choice((0, 1, 7, 200, 2048))]]

    def control_text(self, random):
        lines = []
        for _ in range(random.randrange(1, 20)):
            text = self.sample(random)
            for _ in range(random.randrange(1, 4)):
                at = random.randrange(len(text) + 1)
                text = text[:at] + hostile.word(random) + text[at:]
            lines.append(content.bytes_of(text) + random.choice((b"\n", b"\r\n", b"\r", random.choice(hostile.NOT_UTF8) + b"\n")))
        return [b"".join(lines)]

    def hostile_log(self, random):
        """A failure, and values of it that are commands: names of hosts, files, settings, programs."""
        plant = hostile.planted(random)
        texts = ("   Command=/home/kim/%s\n", "JobId=1 JobName=%s\n", "   WorkDir=/home/kim/%s\n", "srun: error: %s: task 0: Out Of Memory\n",
                 "+ python train.py --per_device_train_batch_size %s\n", "SLURM_JOB_NODELIST=%s\n", "SLURM_JOB_ID=%s\n", "#SBATCH --job-name=%s\n",
                 "srun python %s --micro_batch_size 8\n", "sbatch %s\n", "Submitted batch job %s\n", "export %s=8\n", "torchrun %s train.py\n",
                 '  File "/home/kim/%s", line 3, in forward\n', "Namespace(per_device_train_batch_size=8, x='%s')\n", "%s: line 3: 17 Killed python\n",
                 "/var/spool/slurmd/job1/slurm_script: line 3: 17 Killed   python %s\n", "micro_batch_size: 8 # %s\n", "model: %s\n",
                 "args: --%s-batch_size 8\n", "actor.%s.ppo_micro_batch_size_per_gpu=8\n", "%s.micro_batch_size=8\n", "--model_name_or_path %s\n",
                 "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True%s\n")
        lines = [random.choice(texts) % random.choice((plant, hostile.planted(random), hostile.word(random))) for _ in range(random.randrange(1, 8))]
        lines.insert(random.randrange(len(lines) + 1), OOM.decode())
        return [content.bytes_of("".join(lines))]

    def flood(self, random):
        _, make = random.choice(floods.LOGS)
        return make(random.choice((10, 70, 300, 1500)))

    def long_line(self, random):
        letter = random.choice(("a", "7", " ", "=", ".", "\x1b[31m", "ab ", "/x", "'", '"', "\r", "|", "%", "[", "{", "\u202e", "\xe9", "\\"))
        count = min(self.most_bytes, random.choice((70000, 140000, 300000, 4 << 20))) // len(content.bytes_of(letter))
        return random.choice(([[count, letter]], [[count, letter], OOM], [self.literal(random), [count, letter], self.literal(random)]))

    def many_lines(self, random):
        line = random.choice(("", "a", "  ", self.literal(random), self.sample(random), "k: 1", "step %d" % random.randrange(99), "\r", "key=1", "{", "-"))
        return [[min(self.most_bytes, random.choice((2000, 20000, 200000))) // (len(line) + 1), line + "\n"]] + [OOM] * random.randrange(2)

    def deep(self, random):
        count = random.choice((50, 300, 3000, 20000))
        key = random.choice(("a", "batch_size", "micro_batch"))
        return random.choice((
            [[count, "["], [count, "]"]], [[count, '{"%s":' % key], "8", [count, "}"]], [[count, "["]],
            ["".join("%s%s:\n" % (" " * depth, key) for depth in range(min(count, 500)))], [[count, "[%s.]\n" % key]],
            ["[" + ".".join([key] * min(count, 3000)) + "]\nbatch_size = 8\n"], [[count, "- "], "x: 1\n"], [[count, "("], [count, ")"]],
            ['{"traceEvents":', [count, "["]], [".".join([key] * min(count, 5000)), "=8\n"]))

    def wide_table(self, random):
        columns = random.choice((10, 64, 65, 300, 3000))
        divider = random.choice((" ", ",", "|", "\t", ", "))
        head = random.choice(("# gpu   pwr gtemp mtemp    sm   mem", "timestamp, index, memory.used [MiB], memory.total [MiB]", "JobID|State|ExitCode|MaxRSS"))
        row = divider.join(str(random.choice((0, 1, 7, 80000, "-", "N/A", random.choice(hostile.NUMBERS)))) for _ in range(min(columns, 300)))
        return [head + divider, [columns, "c" + divider], "\n", [random.choice((1, 20, 500)), row + "\n"]]

    def binary(self, random):
        return random.choice(([b"\x80\x02]q\x00(" + b"K\x01" * 200 + b"e."], [b"\x80\x04\x95" + b"\xff" * 8], [[5000, "\x00"]], [b"\x1f\x8b"],
                              [b"\x1f\x8b\x08\x00" + b"\0" * 40], [b"PK\x03\x04" + b"\0" * 100], [b"\x80\x02", [20000, "("]], [b"\x80\x02", [20000, "]"]],
                              [b"\x7fELF" + bytes(range(256))], [b"\xff\xfe" + "CUDA out of memory".encode("utf-16-le")], [b"\xef\xbb\xbf" + OOM],
                              [b"\x80\x04", [5000, "}\x94"], b"."], [b"\x80\x02c__builtin__\neval\n(U\x09touch PWNtR."], [b"(" * 3000 + b"lp0\n."]))

    def cut_utf8(self, random):
        text = "Übergrößenträger €uro 模型 😀 ".encode() * 4 + OOM
        at = random.randrange(1, 60)
        return [text[at:], text[:at], random.choice(hostile.NOT_UTF8), random.choice((b"", b"\n"))]

    def compressed(self, random):
        inner = self.pick(random, self.contents)(random)
        sort = random.randrange(6)
        if sort == 0:
            return [{"gzip": inner}, {"gzip": self.a_log(random)}]
        if sort == 1:
            return [{"gzip": [{"gzip": inner}]}]
        if sort == 2:
            data = content.gzip_of(content.realise(inner))
            return [data[:random.randrange(len(data))]]
        if sort == 3:
            data = bytearray(content.gzip_of(content.realise(inner)))
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
            return [bytes(data)]
        if sort == 4:
            return [{"gzip": [OOM, [min(self.most_bytes * 4, 1 << 20), random.choice(("\0", "a", "\n"))]], "level": 9}]
        return [{"gzip": inner}, [random.choice((1, 100)), "\0"]]

    def told(self, random):
        """Inputs that hold something which cannot be read, and must not be passed over in silence."""
        log = self.a_log(random)
        rules = []
        sort = random.randrange(4)
        if sort == 0:
            log = [{"gzip": log}, random.choice((OOM, b"x", b"\x1f\x8b\x08", b"\x1f\x8b", b"\n", b"\0x"))]
        elif sort == 1:
            data = content.gzip_of(content.realise(log))
            log = [data[:random.randrange(20, len(data))]]
        elif sort == 2:
            data = bytearray(content.gzip_of(content.realise(log)))
            data[-random.randrange(1, 9)] ^= 1 << random.randrange(8)  # the sum or the length at the end
            log = [bytes(data)]
        else:
            wrong = random.choice(("my own text(", "(?<x", "[z-a]my own text", "my own text{2,1}", "\\"))
            row = {"pattern": "site-x", "kind": "killed", "literals": ["my own text"], "regex": wrong, "since": "x", "samples": ["my own text"]}
            rules = [(b"site.json", [json.dumps([row])])]
        return Case("told", ["@0"] + (["--rules", RULES] if rules else []), [(b"x.log", log)], rules, told=True)

    def script(self, random):
        lines = lines_of(random.choice(self.material.scripts))
        extra = ("#SBATCH --job-name=%s\n", "#SBATCH --output=%s.out\n", "python %s --batch_size 8\n", "export X=%s\n", "BATCH=%s\n", "cd %s\n",
                 "if [ %s ]; then\n", "cat <<EOF\n%s\n", "srun \\\n %s \\\n", "source %s\n", "f() { %s; }\n", "X=${X:-%s}\n", "sbatch %s\n")
        for _ in range(random.randrange(5)):
            lines.insert(random.randrange(len(lines) + 1), content.bytes_of(random.choice(extra) % hostile.word(random)))
        if random.random() < 0.2:
            lines.insert(random.randrange(len(lines) + 1), b"srun python x.py " + b"--batch_size 8 " * random.choice((10, 1000)) + b"\n")
        return [b"".join(lines)]

    def settings(self, random):
        keys = random.sample(self.material.keys, 6)
        if random.random() < 0.3:
            keys[0] = "PYTORCH_CUDA_ALLOC_CONF"
        values = [random.choice(("8", "1e-4", "true", "bf16", "null", '"x"', hostile.word(random), str(random.choice(hostile.NUMBERS)))) for _ in keys]
        if random.random() < 0.4:
            values = [random.choice(('"%s"', "'%s'", "%s")) % (random.choice(("8", "x:1", "full", "")) + random.choice((value, hostile.planted(random))))
                      for value in values]
        if random.random() < 0.2:
            at = random.randrange(len(keys))
            keys[at] = random.choice((keys[at] + hostile.planted(random), hostile.planted(random) + "." + keys[at]))
        sort = random.randrange(7)
        if sort == 0:
            text = "".join("%s: %s\n" % pair for pair in zip(keys, values))
        elif sort == 1:
            text = "".join("%s%s:\n" % ("  " * i, key) for i, key in enumerate(keys)) + "  " * 6 + "batch_size: %s\n" % values[0]
        elif sort == 2:
            text = json.dumps(dict(zip(keys, values)), indent=random.choice((None, 2)), ensure_ascii=False)
        elif sort == 3:
            text = "python train.py " + " ".join("--%s%s%s" % (key, random.choice(" ="), value) for key, value in zip(keys, values)) + "\n"
        elif sort == 4:
            text = "[%s]\n" % hostile.word(random) + "".join("%s = %s\n" % pair for pair in zip(keys, values))
        elif sort == 5:
            text = "Namespace(" + ", ".join("%s=%s" % pair for pair in zip(keys, values)) + ")\n"
        else:
            text = " ".join("%s.%s=%s" % (hostile.word(random), key, value) for key, value in zip(keys, values)) + "\n"
        return [content.bytes_of(text)] + ([OOM] if random.random() < 0.5 else [])

    def accounting(self, random):
        text = content.text_of(random.choice(self.material.accounting))
        for _ in range(random.randrange(1, 5)):
            fields = list(re.finditer(r"(?<=[=|])[^\s|=]+", text))
            if fields:
                begin, end = random.choice(fields).span()
                value = random.choice((hostile.planted(random), hostile.word(random), text[begin:end] + hostile.planted(random)))
                text = text[:begin] + value + text[end:]
        names = ("Command", "WorkDir", "StdErr", "StdOut", "SubmitLine", "JobName", "NodeList", "Comment")
        for name in random.sample(names, random.randrange(3)):
            text = re.sub(r"(?m)^(\s*(?:\S+=\S+ )*?%s=).*$" % name, lambda match: match.group(1) + "/home/kim/x.sh" + hostile.planted(random), text)
        return [content.bytes_of(text)]

    def monitor(self, random):
        lines = lines_of(random.choice(self.material.monitors))
        if random.random() < 0.3:
            return [b"".join(lines[:5]), [random.choice((20, 500)), content.text_of(b"".join(lines[5:9]))]]
        return [self.mutate(random, b"".join(lines))]

    def recording(self, random):
        data = random.choice(self.material.recordings)
        sort = random.randrange(10)
        if sort >= 8:
            return self.snapshot(random)
        if sort == 0:
            return [data]
        if sort == 1:
            return [self.mutate(random, data)]
        lines = lines_of(data)
        if sort == 2:
            return self.refused(random)
        if sort == 3:
            return self.program(random)
        if sort == 4:
            return random.choice(floods.RECORDINGS)[1](random.choice((3, 70, 300, 1000)))
        for _ in range(random.choice((1, 1, 3))):
            at = random.randrange(len(lines))
            try:
                row = json.loads(lines[at])
            except ValueError:
                continue
            key = random.choice(list(row))
            row[key] = random.choice((random.choice(hostile.NUMBERS), hostile.word(random), [], {}, None, -1, [2 ** 64], True))
            if random.random() < 0.2:
                row[hostile.word(random)] = 1
            lines[at] = re.sub(r'"(1e\d+|1e-400|NaN|007)"', r"\1", json.dumps(row, ensure_ascii=random.random() < 0.5)).encode(
                "utf-8", "surrogatepass") + b"\n"
        if random.random() < 0.3:
            begin = random.randrange(len(lines))
            lines[begin:begin] = lines[begin:begin + 20] * random.choice((1, 5))
        return [b"".join(lines)]

    def snapshot(self, random):
        """A pickled snapshot as PyTorch writes them, with values that it would not write."""
        def number(usual):
            return usual if random.random() < 0.97 else random.choice(hostile.NUMBERS + (None, [], {}, "x", b"x", True))

        def text(usual):
            return usual if random.random() < 0.9 else random.choice((usual + hostile.word(random), 7, None, "x" * 70000, b"\xff"))
        shared = [{"filename": text("/home/kim/a.py"), "name": text("forward"), "line": number(3)} for _ in range(random.choice((0, 1, 3, 30)))]
        trace, at = [], 1 << 33
        for i in range(random.choice((1, 10, 100, 500))):
            size = random.choice((512, 1 << 20, 20 << 20))
            action = random.choice(("alloc", "alloc", "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map",
                                    "segment_unmap", "oom", "snapshot", text("alloc")))
            trace.append({"action": action, "addr": number(at), "size": number(size), "stream": number(0), "frames": shared})
            at += random.choice((0, size, 1 << 21))
        segments = [{"device": number(0), "address": number((1 << 33) + (i << 21)), "total_size": number(1 << 21), "allocated_size": 0, "active_size": 0,
                     "stream": number(0), "segment_type": text("small"), "blocks": [{"size": number(1 << 20), "state": text("inactive")}] * 2}
                    for i in range(random.choice((0, 1, 40)))]
        value = {"segments": segments, "device_traces": [trace] * random.choice((1, 1, 2, 8)), "allocator_settings": {"expandable_segments": number(False),
                 "PYTORCH_CUDA_ALLOC_CONF": text("")}, "external_annotations": [{"name": text("a"), "stage": text("START"), "time_us": number(7)}]}
        if random.random() < 0.2:
            value[random.choice(list(value))] = random.choice(hostile.NUMBERS + ("x", [], {}, [[[]]]))
        data = pickle.dumps(value, random.randrange(6))
        return [self.mutate(random, data) if random.random() < 0.3 else data]

    @staticmethod
    def refused(random):
        """Requests that do not fit, each with small ones between them that keep the cache in pieces."""
        count = random.choice((50, 500, 2000))
        rows = ['{"whyoom_trace": 1, "torch": "2.6"}']
        for i in range(count):
            rows.append('{"alloc": %d, "id": %d}' % (random.choice((512, 1 << 20, 3 << 20, 20 << 20, 1 << 34)), i))
            if random.random() < 0.5:
                rows.append('{"free": %d}' % i)
        return ["\n".join(rows) + "\n"]

    @staticmethod
    def program(random):
        """A program of random requests, with marks, streams and pools."""
        rows, live = ['{"whyoom_trace": 1, "torch": "2.%d"}' % random.randrange(10)], []
        for i in range(random.choice((10, 100, 1000))):
            sort = random.randrange(12)
            if sort < 6 or not live:
                rows.append('{"alloc": %d, "id": %d, "stream": %d}' % (random.choice((1, 512, 4096, 1 << 20, 9 << 20, 1 << 30)), i, random.randrange(3)))
                live.append(i)
            elif sort < 9:
                rows.append('{"free": %d}' % live.pop(random.randrange(len(live))))
            elif sort == 9:
                rows.append('{"annotation": "step%s", "stage": "%s"}' % (random.choice(("", "\\u001b[31m", ";touch PWNED-9")), random.choice(("start", "end"))))
            elif sort == 10:
                rows.append(random.choice(('{"empty_cache": true}', '{"settings": "max_split_size_mb:64"}', '{"memory_fraction": 0.5}',
                                           '{"record_stream": true, "id": %d, "stream": 2}' % live[-1], '{"note": "%s"}' % ("x" * 300))))
            else:
                rows.append('{"oom": %d, "device_free": %d}' % (random.choice((1, 1 << 34, 2 ** 63)), random.randrange(1 << 30)))
        return ["\n".join(rows) + "\n"]
