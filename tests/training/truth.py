"""Is what `whyoom verify` says true? Used by `run --verify`.

Each program is run on a card on which it fails, recorded as `whyoom record` does it. What is said of changes to it (trial.c) is held against the
changed program, really run on that very card for all its steps. A second round takes cards between what was predicted and what was really needed,
where a wrong answer is most likely. Data and arithmetic; the runs are card.py's.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

UNCERTAIN = 256 << 20  # as verify_trial.c has it, with the message's figures
MIB = 1 << 20
EXPANDABLE = "expandable_segments:True"

# name -> (settings, arguments, micro-batch, length, accumulation, changes)
PROGRAMS = collections.OrderedDict()


def add(name, arguments, batch, length, settings="", accumulate=1, batches=None, others=("checkpoint", "expandable")):
    """A program, and what is changed: smaller batches, at the same effective batch; half the length (of texts, also where a model has none of that
    length: a log may show one); and others by name."""
    words = arguments.split()
    if "--steps" not in words:
        words += ["--steps", "6"]
    changes = []
    for smaller in batches or [batch // 2, 1]:
        if 1 <= smaller < batch and ("batch", smaller) not in changes:
            changes.append(("batch", smaller))
    PROGRAMS[name] = (settings, words, batch, length, accumulate, changes + [("length", length // 2)] + [(other, 0) for other in others])


add("gpt", "--model gpt", 8, 1024, others=("checkpoint", "expandable", "offload", "shard", "empty"))
add("gpt-expandable", "--model gpt", 8, 1024, EXPANDABLE, others=("checkpoint",))
add("gpt-written", "--model gpt --attention written --dtype fp32 --layers 6", 8, 768)
add("gpt-accumulate", "--model gpt", 4, 1024, accumulate=2)
add("gpt-accumulate-4", "--model gpt --layers 6", 4, 768, accumulate=4)
add("gpt-momentum", "--model gpt --optimizer momentum --clip --keep-gradients", 8, 768)
add("gpt-wide", "--model gpt --width 2048 --layers 12", 4, 1024, others=("checkpoint", "expandable", "offload", "shard", "empty"))
add("llama", "--model llama --dtype bf16 --layers 8", 8, 1280, others=("checkpoint", "expandable", "shard"))
add("llama-lora", "--model llama --dtype bf16 --lora 16 --layers 8", 8, 1024)
add("llama-checkpoint", "--model llama --dtype bf16 --checkpoint --layers 8", 8, 2048, others=("expandable",))
add("conv", "--model conv --dtype fp32", 16, 256, batches=(8, 2), others=("expandable", "empty"))
add("varying", "--model varying --steps 12", 8, 1024)
add("varying-expandable", "--model varying --steps 12", 8, 1024, EXPANDABLE, others=("checkpoint",))
add("varying-steady", "--model varying --steps 12 --from-step 2", 8, 1024, others=("expandable",))
NEW = "--init cuda"
add("encdec", f"{NEW} --model encdec", 8, 512)
add("vit", f"{NEW} --model vit", 64, 512)
add("clip", f"{NEW} --model clip", 64, 512)
add("vlm", f"{NEW} --model vlm", 8, 2048)
add("experts", f"{NEW} --model experts", 8, 512)
add("unet", f"{NEW} --model unet --image 256 --dtype fp32", 8, 256, others=("expandable",))
add("gpt-leak-graph", f"{NEW} --model gpt --leak graph --layers 4 --steps 12", 4, 512)
add("gpt-leak-outputs", f"{NEW} --model gpt --leak outputs --layers 4 --steps 20", 8, 1024)
add("growing", f"{NEW} --model growing --layers 4 --steps 10", 8, 1024)
add("gpt-evaluate", f"{NEW} --model gpt --layers 4 --evaluate 64", 4, 512)
add("gpt-generate", f"{NEW} --model gpt --layers 4 --generate 48", 16, 256)
add("gpt-compile", f"{NEW} --model gpt --layers 4 --compile", 8, 1024, others=("expandable",))
add("gpt-states", f"{NEW} --model gpt --width 2048 --layers 12", 2, 128, others=("offload", "shard"))
add("gpt-deep", f"{NEW} --model gpt --width 512 --layers 24", 8, 512)
add("encdec-checkpoint", f"{NEW} --model encdec --checkpoint", 16, 512, others=("expandable",))
add("vlm-momentum", f"{NEW} --model vlm --optimizer momentum", 8, 2048, others=("checkpoint",))

# As large as jobs are, so that a fixed uncertainty weighs as it does there: what a model's width, micro-batch and length are multiplied by.
LARGER = {"conv": (1, 32, 1), "unet": (1, 8, 1), "vit": (2, 2, 1), "clip": (2, 2, 1), "vlm": (2, 4, 1), "experts": (2, 2, 1), "encdec": (2, 2, 2)}
LARGER_TEXT = (2, 1, 2)


def enlarge():
    """All programs on cards of 16 to 80 GiB instead of 1 to 14."""
    for name, (settings, words, batch, length, accumulate, changes) in PROGRAMS.items():
        words = list(words)
        width, more, longer = LARGER.get(words[words.index("--model") + 1], LARGER_TEXT)
        if "--width" in words:
            words[words.index("--width") + 1] = str(int(words[words.index("--width") + 1]) * width)
        else:
            words += ["--width", str(1024 * width)]
        if "--evaluate" in words:
            words[words.index("--evaluate") + 1] = str(int(words[words.index("--evaluate") + 1]) * more)
        if "--init" not in words:
            words += ["--init", "cuda"]
        factors = {"batch": more, "length": longer}
        changes = [(kind, value * factors.get(kind, 1)) if value > 1 or kind != "batch" else (kind, value) for kind, value in changes]
        PROGRAMS[name] = (settings, words, batch * more, length * longer, accumulate, changes)


# Of what is allocated at the peak: the card is a little too small, and much too small. (0: halfway between what a first step and all need.)
SHARES = (0.99, 0, 0.9, 0.75, 0.6)


# Small ones that are kept in cases/, on cards of which nothing is uncertain: (program, where it is to fail, accumulation).
CASES = [("verify-steady", "--model gpt --width 256 --vocabulary 4096 --layers 3 --steps 6", 0.97, 1),
         ("verify-first", "--model gpt --width 256 --vocabulary 4096 --layers 3 --steps 6", 0.6, 1),
         ("verify-varying", "--model varying --width 256 --vocabulary 4096 --layers 3 --steps 6", 0.6, 1),
         ("verify-accumulate", "--init cuda --model gpt --width 512 --vocabulary 4096 --layers 3 --steps 3", 0.86, 2),
         ("verify-leak", "--model gpt --leak outputs --width 256 --vocabulary 4096 --layers 2 --steps 12", 0.97, 1),
         ("verify-images", "--model vit --width 256 --image 192 --layers 3 --steps 4", 0.85, 1)]


def words_of(name, change=None):
    """The arguments of a program, changed as a patch does it: a smaller batch is accumulated more often, but not in a small run."""
    _, words, batch, length, accumulate, _ = PROGRAMS[name]
    kind, value = change or ("", 0)
    if kind == "batch":
        accumulate, batch = accumulate * batch // value, value
    if kind == "small":
        batch = value
    words = words + ["--micro-batch", str(batch), "--length", str(value if kind == "length" else length)]
    if accumulate > 1:
        words += ["--accumulate", str(accumulate)]
    return words + {"checkpoint": ["--checkpoint"], "offload": ["--offload-optimizer"], "shard": ["--shard", "8"], "empty": ["--empty-cache"],
                    "first": ["--steps", "1"]}.get(kind, [])


def settings_of(name, change=None):
    return EXPANDABLE if change and change[0] == "expandable" else PROGRAMS[name][0]


def replays_as(name, change):
    """The change in the words of a rule."""
    _, _, batch, length, accumulate, _ = PROGRAMS[name]
    kind, value = change
    if kind == "batch":
        return f"scale=micro_batch={batch}:{value} transform=accumulate={accumulate}:{accumulate * batch // value}"
    return {"length": f"scale=seq_len={length}:{value}", "checkpoint": "transform=checkpoint", "expandable": f"set={EXPANDABLE}",
            "offload": "transform=offload-optimizer", "shard": "transform=shard=8", "empty": "transform=empty-cache"}[kind]


class Machine:
    """Runs tasks of card.py, and remembers their answers in a file. No task goes on after `end` (time.monotonic), where that is given."""

    def __init__(self, here, folder, environment, jobs, end=None):
        self.here, self.folder, self.environment, self.jobs, self.end = pathlib.Path(here), pathlib.Path(folder), environment, jobs, end
        self.path = self.folder / "answers.json"
        folder = self.folder
        folder.mkdir(parents=True, exist_ok=True)
        self.answers = json.loads(self.path.read_text()) if self.path.exists() else {}

    def do(self, tasks):
        """tasks: (settings, task). Answers by name; a task that was done before is not done again."""
        parts = collections.defaultdict(list)
        for settings, task in tasks:
            task["name"] = json.dumps([settings, {key: value for key, value in task.items() if key != "name"}])
            if task["name"] not in self.answers:
                parts[settings].append(task)
        pieces = [(settings, part[at::self.jobs]) for settings, part in parts.items() for at in range(self.jobs) if part[at::self.jobs]]
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(self.run_piece, range(len(pieces)), pieces))
        self.path.write_text(json.dumps(self.answers, indent=0))
        return [self.answers.get(task["name"], {"error": "not run"}) for _, task in tasks]

    def run_piece(self, at, piece):
        settings, tasks = piece
        path = self.folder / f"tasks-{at}.json"
        path.write_text(json.dumps(tasks))
        with subprocess.Popen([sys.executable, "-B", self.here / "card.py", path], env=self.environment(settings), text=True, stdout=subprocess.PIPE,
                              start_new_session=True) as child:
            stop = threading.Timer(max(0.0, self.end - time.monotonic()), os.killpg, (child.pid, signal.SIGKILL)) if self.end else None
            if stop:
                stop.start()
            for line in child.stdout:
                answer = json.loads(line)
                self.answers[answer.pop("name")] = answer
            if stop:
                stop.cancel()
        path.unlink()


class Asker:
    """Programs on cards: what is said of their changes, and what is true. `need` of a changed program is its peak on a card without end."""

    def __init__(self, machine, trial, names):
        self.machine, self.trial, self.names = machine, trial, names
        wanted = [(name, change) for name in names for change in [None, ("first", 0), *PROGRAMS[name][5]]]
        found = machine.do([(settings_of(*pair), {"words": words_of(*pair), "whole": True}) for pair in wanted])
        self.need = dict(zip(wanted, found))

    def cards(self, name):
        """Sizes of cards on which a program fails."""
        whole, first = self.need[name, None], self.need[name, ("first", 0)]
        if "error" in whole or "error" in first:
            return []
        most = whole["allocated"]
        sizes = [most * share if share else (most + first["allocated"]) / 2 for share in SHARES]
        return sorted({int(size) // (2 * MIB) * 2 * MIB for size in sizes if size < most}, reverse=True)

    def truth(self, asked):
        """asked: (name, change, card). Whether each runs; what is allocated at the peak never fits less, what is reserved fits."""
        tasks, unsure = [], []
        for name, change, card in asked:
            need = self.need[name, change]
            if "error" not in need and need["allocated"] <= card < need["reserved"]:
                unsure.append((name, change, card))
                tasks.append((settings_of(name, change), {"words": words_of(name, change), "cards": [card]}))
        ran = {key: answer["on"][str(key[2])] for key, answer in zip(unsure, self.machine.do(tasks)) if "error" not in answer}
        return {key: ran.get(key, key[2] >= self.need[key[0], key[1]].get("reserved", 0)) for key in asked
                if "error" not in self.need[key[0], key[1]] and (key in ran or key not in unsure)}

    def rows(self, pairs):
        """pairs: (name, card). A row for each change of each program that failed there, said from the recording of the failure; where that is one
        of the first step, also from the small run that verify asks for then."""
        recorded = self.machine.do([self.recording(name, card) for name, card in pairs])
        done = [(name, card, failure) for (name, card), failure in zip(pairs, recorded) if "error" not in failure and not failure["ran"]]
        asked = [(name, card, failure, 0) for name, card, failure in done] + self.small_runs([one for one in done if one[2]["step"] == 0])
        with concurrent.futures.ThreadPoolExecutor(self.machine.jobs) as pool:
            said = list(pool.map(lambda one: ask(self.trial, self.trace(one[0], one[1], one[3]), one[1], one[0], one[2]["step"], one[3]), asked))
        runs = self.truth([(name, change, card) for name, card, _ in done for change in PROGRAMS[name][5]])
        return [row for one, answers in zip(asked, said) for row in self.answers(one, answers, runs)]

    def trace(self, name, card, small):
        return self.machine.folder / f"{name}-{card // MIB}{f'-small-{small}' if small else ''}" / "trace.pickle"

    def recording(self, name, card, small=0):
        words = words_of(name, ("small", small) if small else None)
        return settings_of(name), {"words": words, "record": card, "out": str(self.trace(name, card, small).parent)}

    def small_runs(self, failed):
        """Each failure with the micro-batch of a small run: a quarter of the job's if that goes through, else 1, which may fail as well."""
        found, left = [], list(failed)
        for divisor in (4, 0):
            tried = [(*one, PROGRAMS[one[0]][2] // divisor if divisor else 1) for one in left if not divisor or PROGRAMS[one[0]][2] > divisor]
            answers = self.machine.do([self.recording(name, card, small) for name, card, _, small in tried])
            found += [one for one, answer in zip(tried, answers) if "error" not in answer and (answer["ran"] or not divisor)]
            left = [one for one in left if not any(one[:2] == other[:2] for other in found)]
        return found

    def answers(self, asked, answers, runs):
        name, card, failure, small = asked
        about = {"program": name, "card_mib": card // MIB, "step": failure["step"], "place": failure["place"], "recorded_at": small}
        if "error" in answers[0]:
            return [{**about, "error": answers[0]["error"]}]
        rows = []
        for change, row in zip(PROGRAMS[name][5], answers[2:]):
            if (name, change, card) in runs:
                need = self.need[name, change]
                rows.append({**about, "completed": answers[0]["completed"], "baseline": answers[1]["fit"], "change": row["change"],
                             "said": row["fit"], "why": row["why"], "runs": runs[name, change, card], "allocated_mib": need["allocated"] // MIB,
                             "reserved_mib": need["reserved"] // MIB, "low_mib": row["lo"] // MIB, "high_mib": row["hi"] // MIB})
        return rows


def between(rows):
    """Cards on which an answer would be wrong if it stayed as it is: above what is predicted and below what is needed, or the other way round."""
    cards = set()
    for row in rows:
        if "error" in row or row["said"] not in ("yes", "no"):
            continue
        if row["said"] == "yes" and row["high_mib"] + (UNCERTAIN // MIB) < row["allocated_mib"]:
            cards.add((row["program"], (row["high_mib"] + UNCERTAIN // MIB + row["allocated_mib"]) // 4 * 2 * MIB))
        if row["said"] == "no" and row["reserved_mib"] < row["low_mib"]:
            cards.add((row["program"], (row["low_mib"] + row["reserved_mib"]) // 4 * 2 * MIB))
    return sorted(cards)


def ask(trial, trace, card, name, step, small=0, uncertain=UNCERTAIN):
    """What trial.c says of each change, behind what it says of the recording and of the job as it is."""
    _, words, batch, length, _, changes = PROGRAMS[name]
    steps = words[words.index("--steps") + 1]
    changes = [replays_as(name, change) for change in changes]
    command = [trial, trace, str(card), str(uncertain), str(batch), str(step + 1), steps, str(small), str(length)]
    done = subprocess.run(command, input="\n".join(["", *changes]) + "\n", capture_output=True, text=True, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return rows if len(rows) == len(changes) + 2 else [{"error": done.stderr.strip() or f"status {done.returncode}"}]


def near(asker, rows):
    """Cards close to what a changed program needs, just enough and just too small: where the margin decides."""
    cards = set()
    for row in rows:
        whole = asker.need[row["program"], None]["allocated"] // MIB
        for card in (row["allocated_mib"] - 2, row["reserved_mib"] + UNCERTAIN // MIB // 2, row["reserved_mib"] + UNCERTAIN // MIB + 32):
            if "error" not in row and row["said"] in ("yes", "no") and card < whole:
                cards.add((row["program"], card // 2 * 2 * MIB))
    return sorted(cards)


def compare(machine, trial, names, near_too=False):
    """Rows of all programs: where it failed, the change, what is said, what is true."""
    asker = Asker(machine, trial, names)
    rows = asker.rows([(name, card) for name in names for card in asker.cards(name)])
    more = set(between(rows)) | set(near(asker, rows) if near_too else ())
    seen = {(row["program"], row["card_mib"] * MIB) for row in rows}
    return rows + asker.rows(sorted(more - seen))


def judge(row):
    """What a row is worth."""
    if "error" in row:
        return "not asked"
    if row["said"] == "yes":
        return "right" if row["runs"] else "YES THAT FAILS"
    if row["said"] == "no":
        return "no that runs" if row["runs"] else "right"
    return row["said"]


def make_cases(machine, trial, write):
    """Small recordings of jobs that failed, and whether the changed programs really ran there. `write` keeps a recording."""
    kept = []
    for name, arguments, share, accumulate in CASES:
        add(name, arguments, 8, 256, accumulate=accumulate)
        changes = PROGRAMS[name][5]
        found = machine.do([("", {"words": words_of(name), "whole": True})])[0]
        card = int(found["reserved"] * share) // (2 * MIB) * 2 * MIB
        out = machine.folder / f"{name}-{card // MIB}"
        failure = machine.do([("", {"words": words_of(name), "record": card, "out": str(out)})])[0]
        write(out / "trace.pickle", name)
        truths = machine.do([(settings_of(name, change), {"words": words_of(name, change), "whole": True, "cards": [card]}) for change in changes])
        said = ask(trial, out / "trace.pickle", card, name, failure["step"], 0, 0)
        steps = int(PROGRAMS[name][1][PROGRAMS[name][1].index("--steps") + 1])
        kept += [{"case": name, "card_bytes": card, "step": failure["step"], "steps": steps, "length": PROGRAMS[name][3], "change": row["change"], "said": row["fit"], "runs": answer["on"][str(card)],
                  "allocated_bytes": answer["allocated"]}
                 for answer, row in zip(truths, said[2:])]
    return kept


def has_small(rows):
    """The failures of a first step that have a small run beside them."""
    return {(row["program"], row["card_mib"]) for row in rows if row.get("recorded_at")}


def count(name, part):
    counts = collections.Counter((row["said"], row["runs"]) for row in part)
    open_rows = [row for row in part if row["said"] not in ("yes", "no")]
    first = sum(row["step"] == 0 for row in open_rows)
    return (f"| {name} | {len(part)} | {counts['yes', True]} | {counts['yes', False]} | {counts['no', False]} | {counts['no', True]} | "
            f"{len(open_rows) - first} | {first} |")


def table(rows):
    """For each program: verdicts by whether the changed program runs; those without one, by whether the first step failed already. Such a
    failure is answered from a small run, where there is one: what its own recording says is the last line."""
    out = ["| program | all | yes, runs | *yes, fails* | no, fails | *no, runs* | unsure | in step 1 |",
           "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    small = has_small(rows)
    rows = [row for row in rows if "error" not in row]
    alone = [row for row in rows if not row.get("recorded_at") and (row["program"], row["card_mib"]) in small]
    programs = collections.OrderedDict()
    for row in rows:
        if row.get("recorded_at") or (row["program"], row["card_mib"]) not in small:
            programs.setdefault(row["program"], []).append(row)
    programs["all"] = [row for part in programs.values() for row in part]
    out += [count(name, part) for name, part in programs.items()]
    if alone:
        out.append(count("*first step, from its own recording*", alone))
    return "\n".join(out) + "\n"

# SPDX-License-Identifier: Apache-2.0
