"""Is what `whyoom verify` says true? Used by `run --verify`.

Each program is run on a card on which it fails, recorded as `whyoom record` does it. What is said of changes to it (trial.c) is held against the
changed program, really run on that very card for all its steps. Data and arithmetic; the runs are card.py's.
"""
import collections
import concurrent.futures
import json
import subprocess
import sys

UNCERTAIN = 256 << 20  # as verify_trial.c has it, with the message's figures
MIB = 1 << 20
EXPANDABLE = "expandable_segments:True"
PROGRAMS = collections.OrderedDict()  # name -> (settings, arguments, micro-batch, length, changes)


def add(name, arguments, batch, length, settings="", batches=None, others=("checkpoint", "expandable"), fixed_length=False):
    """A program, and what is changed: smaller batches, half the length, and others by name."""
    words = arguments.split()
    if "--steps" not in words:
        words += ["--steps", "6"]
    changes = []
    for smaller in batches or [value for value in (batch // 2, 1) if value >= 1]:
        if ("batch", smaller) not in changes:
            changes.append(("batch", smaller))
    if not fixed_length:
        changes.append(("length", length // 2))
    changes += [(other, 0) for other in others]
    PROGRAMS[name] = (settings, words, batch, length, changes)


add("gpt", "--model gpt", 8, 1024, others=("checkpoint", "expandable", "offload", "shard", "empty"))
add("gpt-expandable", "--model gpt", 8, 1024, EXPANDABLE, others=("checkpoint",))
add("gpt-written", "--model gpt --attention written --dtype fp32 --layers 6", 8, 768)
add("gpt-accumulate", "--model gpt --accumulate 2", 4, 1024)
add("gpt-momentum", "--model gpt --optimizer momentum --clip --keep-gradients", 8, 768)
add("gpt-wide", "--model gpt --width 2048 --layers 12", 4, 1024, others=("checkpoint", "expandable", "offload", "shard", "empty"))
add("llama", "--model llama --dtype bf16 --layers 8", 8, 1280, others=("checkpoint", "expandable", "shard"))
add("llama-lora", "--model llama --dtype bf16 --lora 16 --layers 8", 8, 1024)
add("llama-checkpoint", "--model llama --dtype bf16 --checkpoint --layers 8", 8, 2048, others=("expandable",))
add("conv", "--model conv --dtype fp32", 16, 256, batches=(8, 2), others=("expandable", "empty"), fixed_length=True)
add("varying", "--model varying --steps 12", 8, 1024)
add("varying-expandable", "--model varying --steps 12", 8, 1024, EXPANDABLE, others=("checkpoint",))
add("varying-steady", "--model varying --steps 12 --from-step 2", 8, 1024, others=("expandable",))

# Of what the program needs: the card is a little too small, and much too small. (0: halfway between what a first step and all need.)
SHARES = (0.97, 0, 0.85, 0.6)


# Small ones that are kept in cases/, on cards of which nothing is uncertain: (program, where it is to fail).
CASES = [("verify-steady", "--model gpt --width 256 --vocabulary 4096 --layers 3 --steps 6", 0.97),
         ("verify-first", "--model gpt --width 256 --vocabulary 4096 --layers 3 --steps 6", 0.6),
         ("verify-varying", "--model varying --width 256 --vocabulary 4096 --layers 3 --steps 6", 0.6)]


def words_of(name, change=None):
    """The arguments of a program, changed."""
    _, words, batch, length, _ = PROGRAMS[name]
    kind, value = change or ("", 0)
    words = words + ["--micro-batch", str(value if kind == "batch" else batch), "--length", str(value if kind == "length" else length)]
    return words + {"checkpoint": ["--checkpoint"], "offload": ["--offload-optimizer"], "shard": ["--shard", "8"],
                    "empty": ["--empty-cache"]}.get(kind, [])


def settings_of(name, change=None):
    return EXPANDABLE if change and change[0] == "expandable" else PROGRAMS[name][0]


def replays_as(name, change):
    """The change in the words of a rule."""
    _, _, batch, length, _ = PROGRAMS[name]
    kind, value = change
    return {"batch": f"scale=micro_batch={batch}:{value}", "length": f"scale=seq_len={length}:{value}", "checkpoint": "transform=checkpoint",
            "expandable": f"set={EXPANDABLE}", "offload": "transform=offload-optimizer", "shard": "transform=shard=8",
            "empty": "transform=empty-cache"}[kind]


class Machine:
    """Runs tasks of card.py, and remembers their answers in a file."""

    def __init__(self, here, folder, environment, jobs):
        self.here, self.folder, self.environment, self.jobs = here, folder, environment, jobs
        self.path = folder / "answers.json"
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
        with subprocess.Popen([sys.executable, "-B", self.here / "card.py", path], env=self.environment(settings), text=True, stdout=subprocess.PIPE) as child:
            for line in child.stdout:
                answer = json.loads(line)
                self.answers[answer.pop("name")] = answer
                self.path.write_text(json.dumps(self.answers, indent=0))
        path.unlink()


def cards_of(least, least_first):
    """Sizes of cards on which a program fails that needs so much, and so much for its first step."""
    page = 2 * MIB
    sizes = [(least * share if share else (least + least_first) / 2) for share in SHARES]
    return sorted({int(size) // page * page for size in sizes if size < least}, reverse=True)


def ask(trial, trace, card, changes, uncertain=UNCERTAIN):
    """What trial.c says of each change, behind what it says of the recording and of the job as it is."""
    done = subprocess.run([trial, trace, str(card), str(uncertain)], input="\n".join(["", *changes]) + "\n", capture_output=True, text=True, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return rows if len(rows) == len(changes) + 2 else [{"error": done.stderr.strip() or f"status {done.returncode}"}]


def compare(machine, trial, names):
    """Rows of all programs: (program, card, where it failed, change, what is said, what is true)."""
    wanted = [(name, change) for name in names for change in [None, ("first", 0), *PROGRAMS[name][4]]]

    def words(name, change):
        return words_of(name) + ["--steps", "1"] if change == ("first", 0) else words_of(name, change)

    found = machine.do([(settings_of(*pair), {"words": words(*pair), "least": True}) for pair in wanted])
    least = dict(zip(wanted, found))
    recordings = []
    for name in names:
        whole, first = least[name, None], least[name, ("first", 0)]
        recordings += [(name, card) for card in cards_of(whole["least"], first["least"])]
    recorded = machine.do([(settings_of(name), {"words": words_of(name), "record": card, "out": str(machine.folder / f"{name}-{card // MIB}")})
                           for name, card in recordings])
    asked = {}
    for name, card in recordings:
        for change in PROGRAMS[name][4]:
            real = least[name, change]
            if "error" not in real and real["allocated"] <= card < real["reserved"]:
                asked.setdefault((name, change), set()).add(card)
    tasks = [(settings_of(*pair), {"words": words_of(*pair), "cards": sorted(cards)}) for pair, cards in asked.items()]
    on_card = {(*pair, int(card)): ran for pair, answer in zip(asked, machine.do(tasks)) for card, ran in answer["on"].items()}
    rows = []
    for (name, card), failure in zip(recordings, recorded):
        if "error" in failure or failure["ran"]:
            rows.append({"program": name, "card": card, "error": failure.get("error", "did not fail")})
            continue
        changes = PROGRAMS[name][4]
        said = ask(trial, machine.folder / f"{name}-{card // MIB}" / "trace.pickle", card, [replays_as(name, change) for change in changes])
        if "error" in said[0]:
            rows.append({"program": name, "card": card, "error": said[0]["error"]})
            continue
        for change, row in zip(changes, said[2:]):
            real = least[name, change]
            if "error" in real:
                continue
            runs = card >= real["reserved"] if (name, change, card) not in on_card else on_card[name, change, card]
            rows.append({"program": name, "card_mib": card // MIB, "step": failure["step"], "place": failure["place"], "completed": said[0]["completed"],
                         "not_completed": said[0]["not_completed"], "doubt": said[0]["doubt"], "baseline": said[1]["fit"], "change": row["change"], "said": row["fit"],
                         "why": row["why"], "runs": runs, "least_mib": real["least"] // MIB,
                         "high_mib": row["high"] // MIB if "high" in row else None, "low_mib": row["low"] // MIB if "low" in row else None})
    return rows


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
    for name, arguments, share in CASES:
        add(name, arguments, 8, 256)
        _, _, _, _, changes = PROGRAMS[name]
        found = machine.do([("", {"words": words_of(name), "least": True})])[0]
        card = int(found["least"] * share) // (2 * MIB) * 2 * MIB
        out = machine.folder / f"{name}-{card // MIB}"
        failure = machine.do([("", {"words": words_of(name), "record": card, "out": str(out)})])[0]
        write(out / "trace.pickle", name)
        truths = machine.do([(settings_of(name, change), {"words": words_of(name, change), "cards": [card]}) for change in changes])
        said = ask(trial, out / "trace.pickle", card, [replays_as(name, change) for change in changes], 0)
        kept += [{"case": name, "card_bytes": card, "step": failure["step"], "change": row["change"], "said": row["fit"], "runs": answer["on"][str(card)]}
                 for answer, row in zip(truths, said[2:])]
    return kept


def table(rows):
    """For each program: verdicts by whether the changed program runs, and how far the predicted least card (high end) is off where the
    step that failed could be completed."""
    out = ["The last two columns: how far the least card of the high end is off.", "",
           "| program | all | yes, runs | *yes, fails* | no, fails | *no, runs* | unsure | untried | MiB | % |",
           "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    programs = collections.OrderedDict()
    for row in rows:
        if "error" not in row:
            programs.setdefault(row["program"], []).append(row)
    programs["all"] = [row for part in programs.values() for row in part]
    for name, part in programs.items():
        counts = collections.Counter((row["said"], row["runs"]) for row in part)
        offs = [(row["high_mib"] - row["least_mib"], row["least_mib"]) for row in part if row["completed"] and row["high_mib"]]
        span = f"{min(o for o, _ in offs):+d} to {max(o for o, _ in offs):+d}" if offs else "-"
        percent = f"{min(100 * o / l for o, l in offs):+.1f} to {max(100 * o / l for o, l in offs):+.1f}" if offs else "-"
        out.append(f"| {name} | {len(part)} | {counts['yes', True]} | {counts['yes', False]} | {counts['no', False]} | {counts['no', True]} | "
                   f"{counts['not sure', True] + counts['not sure', False]} | {counts['untried', True] + counts['untried', False]} | {span} | {percent} |")
    return "\n".join(out) + "\n"
