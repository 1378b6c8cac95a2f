# SPDX-License-Identifier: Apache-2.0
"""Changes of a log whose effect on the diagnosis is known beforehand.

A change takes the lines of a log and yields variants. Each states its relation to the diagnosis of the log itself:
  same    the outcome and the family of the cause stay
  weaker  they stay, or the report says less: another confidence, `unclear`, `unknown`
  ended   the outcome stays; the report may say less of the cause
  before  the failure is not in the log any more: none is told, or the one that was told before
  flip    the job lived on: the failure is told as survived, and the outcome is no memory failure
"""
import re

SAME, WEAKER, ENDED, BEFORE, FLIP = "same", "weaker", "ended", "before", "flip"
PLACES = 20


class Variant:
    """`shift`: whether the line that the report quotes is still in the log."""

    def __init__(self, lines, relation, holds_root=True):
        self.lines, self.relation, self.holds_root = lines, relation, holds_root


# ---- Cuts ----

def cut_places(lines):
    return sorted({len(lines) * place // PLACES for place in range(1, PLACES)} - {0})


def cut_head(lines, root):
    """Without the line that decides, only what follows from it is left: the report may say less."""
    for place in cut_places(lines):
        yield Variant(lines[place:], WEAKER, root is None or place < root)


def cut_tail(lines, root):
    for place in cut_places(lines):
        is_there = root is not None and place >= root
        yield Variant(lines[:place], WEAKER if is_there else BEFORE, is_there)


# ---- Layout ----

def every(lines, change):
    yield Variant([change(line) for line in lines], SAME)


def carriage_returns(lines, _root):
    return every(lines, lambda line: line + "\r")


def trailing_blanks(lines, _root):
    return every(lines, lambda line: line + "   ")


def colours(lines, _root):
    return every(lines, lambda line: "\x1b[31m" + line + "\x1b[0m" if line else line)


def indent(lines, _root):
    return every(lines, lambda line: "    " + line)


def quote(lines, _root):
    return every(lines, lambda line: "> " + line)


def blank_lines(lines, _root):
    yield Variant([part for line in lines for part in (line, "")], SAME)


def wrap(lines, _root):
    """As a terminal of 80 columns is copied, and a wider one."""
    for width in (80, 120):
        yield Variant([line[at:at + width] for line in lines for at in range(0, max(len(line), 1), width)], SAME)


def wrap_narrow(lines, _root):
    """As a narrow console of PowerShell writes. One line that is cut once may not be recognised at such a width."""
    for width in (22, 46):
        yield Variant([line[at:at + width] for line in lines for at in range(0, max(len(line), 1), width)], WEAKER)


# ---- Prefixes ----

LABELLED = re.compile(r"^\s*(?:\[?(?:rank|default)?\d+\]?|\S+\s+\||\d+): ?", re.IGNORECASE)


def has_labels(lines):
    return sum(bool(LABELLED.match(line)) for line in lines) * 4 > len(lines)


def srun_label(lines, _root):
    if not has_labels(lines):
        yield from every(lines, lambda line: "0: " + line)


def rank_label(lines, _root):
    if not has_labels(lines):
        yield from every(lines, lambda line: "[rank0]: " + line)


def pod_name(lines, _root):
    return every(lines, lambda line: "trainer-worker-0 main " + line)


def compose_name(lines, _root):
    return every(lines, lambda line: "trainer-1  | " + line)


def container_time(lines, _root):
    yield Variant(["2031-05-06T07:%02d:%02d.%06dZ %s" % (at // 60 % 60, at % 60, at, line) for at, line in enumerate(lines)], SAME)


def clock(at):
    return "%02d:%02d:%02d" % (7 + at // 3600, at // 60 % 60, at % 60)


def open_mpi(lines, _root):
    return every(lines, lambda line: "[1,0]<stderr>:" + line)


def ray_actor(lines, _root):
    return every(lines, lambda line: "(RayTrainWorker pid=81234, ip=10.0.3.7) " + line)


def kubectl(lines, _root):
    return every(lines, lambda line: "[pod/trainer-0/main] " + line)


def jenkins(lines, _root):
    yield Variant(["[2031-05-06T%s.123Z] %s" % (clock(at), line) for at, line in enumerate(lines)], SAME)


# ---- Content that does not matter ----

HEADER = "Traceback (most recent call last):"


def cut_columns(lines, _root):
    """As a viewer or a database of logs cuts long lines."""
    for width in (160, 240):
        yield Variant([line[:width] for line in lines], WEAKER)


def no_header(lines, _root):
    if any(HEADER in line for line in lines):
        yield Variant([line for line in lines if HEADER not in line], WEAKER)


HOME = re.compile(r"(/(?:home|users|Users|scratch|nfs/home)/|C:\\Users\\)[A-Za-z0-9_.-]+")


def other_user(lines, _root):
    if any(HOME.search(line) for line in lines):
        yield from every(lines, lambda line: HOME.sub(lambda found: found.group(1) + "kq7rzp", line))


# ---- Content that belongs to something else ----

RUN_LINES = 30  # of the log itself, as an earlier start printed them

LIMIT = ["slurmstepd: error: *** JOB 70771 ON cn0123 CANCELLED AT 2031-03-06T09:02:03 DUE TO TIME LIMIT ***"]

ERROR = """Traceback (most recent call last):
  File "/opt/app/start_up.py", line 12, in <module>
    settings = read_settings(path)
  File "/opt/app/start_up.py", line 5, in read_settings
    return table[path]
KeyError: 'learning_rat'
srun: error: cn0123: task 0: Exited with exit code 1""".split("\n")


FRAME = re.compile(r"^\W*File \"|^\s+\^+\s*$|^\s+return ")


def has_opening(lines):
    """Where the log begins inside of a traceback, or says one thing again and again, nothing shows another start."""
    told = [re.sub(r"\d", "", line) for line in lines if len(re.sub(r"[^A-Za-z]", "", line)) >= 12]
    return not any(FRAME.search(line) for line in lines[:2]) and sum(told.count(line) == 1 for line in told) >= 2


def after_run(lines, root, end):
    """Only where enough stands before the failure: by what is said again, another start is known."""
    if root is not None and root > 6 and has_opening(lines[:min(root - 2, RUN_LINES)]):
        yield Variant(lines[:min(root - 2, RUN_LINES)] + end + lines, SAME)


def earlier_limit(lines, root):
    return after_run(lines, root, LIMIT)


def earlier_error(lines, root):
    return after_run(lines, root, ERROR)


CAUGHT = """WARNING:reader:sample 1771 was skipped: OSError: image file is truncated (3 bytes not processed)
Traceback (most recent call last):
  File "/opt/app/reader.py", line 88, in __getitem__
    image = read_image(path)
  File "/opt/app/reader.py", line 31, in read_image
    raise OSError("image file is truncated (3 bytes not processed)")
OSError: image file is truncated (3 bytes not processed)
INFO:reader:using the next sample instead of 1771""".split("\n")


def caught_before(lines, _root):
    yield Variant(CAUGHT + lines, SAME)


def second_rank(lines, root):
    """A healthy rank 1 beside it, which the launcher ends."""
    if has_labels(lines) or len(lines) < 3:
        return
    mixed = []
    for at, line in enumerate(lines):
        mixed.append("0: " + line)
        if at % 3 == 1 and (root is None or at < root - 1):
            mixed.append("1: INFO worker 1 reads shard %d" % at)
    yield Variant(mixed + ["1: Terminated", "srun: error: cn0123: task 1: Terminated"], SAME)


JOB_ID = re.compile(r"(?:\bJOB |\bSTEP |JobId=|StepId=|\bjob |slurmd/job|job_)(\d+)")


def job_id(lines):
    found = next((match for match in map(JOB_ID.search, lines) if match), None)
    return found.group(1) if found else "70771"


def launcher_tail(lines, _root):
    yield Variant(lines + ["srun: error: cn0123: task 0: Exited with exit code 1",
                           "slurmstepd: error: *** STEP %s.0 ON cn0123 CANCELLED AT 2031-03-06T09:02:03 ***" % job_id(lines)], SAME)


EXIT = ["srun: error: cn0123: task 0: Exited with exit code 1"]


def early_exit(lines, _root):
    """srun's own words may be written before those of the task."""
    starts = [at for at, line in enumerate(lines) if HEADER in line]
    if starts:
        yield Variant(lines[:starts[-1]] + EXIT + lines[starts[-1]:], SAME)
        yield Variant(lines[:starts[-1] + 1] + EXIT + lines[starts[-1] + 1:], WEAKER)


def twins(lines, _root):
    """Two processes without labels that print the same at the same time."""
    yield Variant([part for line in lines for part in (line, line)], SAME)


OTHERS = ["cn0123:81234:81301 [0] NCCL INFO Channel 00/02 :    0   1",
          "/opt/env/lib/python3.10/site-packages/torch/utils/checkpoint.py:31: UserWarning: None of the inputs have requires_grad=True. Gradients will be None"]


def others_among(lines, _root):
    """Processes without labels write between the lines of a traceback."""
    if any(HEADER in line for line in lines):
        for other in OTHERS:
            yield Variant([part for at, line in enumerate(lines) for part in ((line, other) if at % 2 == 1 else (line,))], ENDED)


def seff_tail(lines, _root):
    """Scripts end with seff, and may begin with the line with which its table begins."""
    head = "Job ID: " + job_id(lines)
    table = ["", head, "Cluster: hpc", "User/Group: ada/users", "State: FAILED (exit code 1)", "Nodes: 1", "Cores per node: 8",
             "CPU Utilized: 00:40:11", "CPU Efficiency: 41.20% of 01:37:36 core-walltime", "Job Wall-clock time: 00:12:12",
             "Memory Utilized: 21.31 GB", "Memory Efficiency: 33.30% of 64.00 GB"]
    yield Variant(lines + table, SAME)
    yield Variant([head] + lines + table, SAME)


CLEAN_UP = """Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f11c8b0d3a0>
Traceback (most recent call last):
  File "/opt/env/lib/python3.10/site-packages/torch/utils/data/dataloader.py", line 1478, in __del__
    self._shutdown_workers()
AssertionError: can only join a child process
/opt/env/lib/python3.10/multiprocessing/resource_tracker.py:224: UserWarning: resource_tracker: There appear to be 6 leaked semaphore objects to clean up at shutdown
  warnings.warn('resource_tracker: There appear to be %d '""".split("\n")


def clean_up_tail(lines, _root):
    yield Variant(lines + CLEAN_UP, SAME)


# ---- Life after the failure ----

LIFE = (["WARNING:trainer:out of memory was caught, this batch is skipped"] +
        ["Epoch 3/3 step %d/900 loss 2.%04d" % (step, 9100 - step) for step in range(810, 901, 10)] +
        ["Saved final model to out/final", "Training completed."])


def lives_on(lines, _root):
    yield Variant(lines + LIFE, FLIP)


# ---- Output that a buffer held back ----

STEPS = ["Epoch 3/3 step %d/900 loss 2.%04d" % (step, 9100 - step) for step in range(640, 900, 10)]


def held_back(lines, _root):
    """Standard output goes through a buffer, an exception that nothing catches does not: what stands below it was printed before it.
    Steps show that it was not the first one, which may change the cause."""
    starts = [at for at, line in enumerate(lines[:-1]) if HEADER in line]
    if starts and re.match(r'\s*File "[^"]*", line \d+, in <module>', lines[starts[-1] + 1]):
        yield Variant(lines + STEPS + EXIT, ENDED)
        yield Variant(STEPS[:8] + lines + STEPS[8:] + EXIT, ENDED)
        yield Variant(STEPS[:8] + lines + STEPS[8:], ENDED)


# ---- Figures of a message of PyTorch ----

SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)(\s?)(KiB|MiB|GiB|TiB)\b")


def scaled(lines, factor):
    def change(line):
        return SIZE.sub(lambda found: "%.*f%s%s" % (2 if "." in found.group(1) else 0, float(found.group(1)) * factor, found.group(2), found.group(3)), line)
    return [change(line) for line in lines]


def scale_sizes(lines, _root):
    """The parameters of a model, where a log names them, do not grow with the sizes: the report may say less."""
    if any("CUDA out of memory" in line and SIZE.search(line) for line in lines):
        for factor in (2, 4):
            yield Variant(scaled(lines, factor), WEAKER)


OLD = re.compile(r"Tried to allocate (?P<tried>[\d.]+ [KMG]iB) \(GPU (?P<gpu>\d+); (?P<total>[\d.]+) GiB total capacity; (?P<used>[\d.]+ [KMG]iB) already allocated; "
                 r"(?P<free>[\d.]+ (?:[KMG]iB|bytes)) free; (?P<reserved>[\d.]+ [KMG]iB) reserved in total by PyTorch\)")
NEW = re.compile(r"Tried to allocate (?P<tried>[\d.]+ [KMG]iB)\. GPU (?P<gpu>\d+) has a total capac(?:i)?ty of (?P<total>[\d.]+) GiB of which (?P<free>[\d.]+ (?:[KMG]iB|bytes)) is free\."
                 r"(?P<others>.*?)Of the allocated memory (?P<used>[\d.]+ [KMG]iB) is allocated by PyTorch, and (?P<idle>[\d.]+ (?:[KMG]iB|bytes)) is reserved by PyTorch but unallocated\.")
UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def bytes_of(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def size(count):
    for unit in ("GiB", "MiB", "KiB"):
        if abs(count) >= UNITS[unit]:
            return "%.2f %s" % (count / UNITS[unit], unit)
    return "%d bytes" % count


def newer(found):
    idle = max(0, bytes_of(found["reserved"]) - bytes_of(found["used"]))
    return ("Tried to allocate %s. GPU %s has a total capacity of %s GiB of which %s is free. Of the allocated memory %s is allocated by PyTorch, "
            "and %s is reserved by PyTorch but unallocated." % (found["tried"], found["gpu"], found["total"], found["free"], found["used"], size(idle)))


def older(found):
    return ("Tried to allocate %s (GPU %s; %s GiB total capacity; %s already allocated; %s free; %s reserved in total by PyTorch)" %
            (found["tried"], found["gpu"], found["total"], found["used"], found["free"], size(bytes_of(found["used"]) + bytes_of(found["idle"]))))


def newer_wording(lines, _root):
    if any(OLD.search(line) for line in lines):
        yield Variant([OLD.sub(newer, line) for line in lines], SAME)


def older_wording(lines, _root):
    """The older wording does not say what this process holds outside PyTorch."""
    if any(NEW.search(line) for line in lines):
        yield Variant([NEW.sub(older, line) for line in lines], WEAKER)


# ---- The table ----

class Change:
    """`most_other_pct`: of all variants, how many may give an answer that the relation does not allow, over the logs of the tree."""

    def __init__(self, make, most_other_pct, needs):
        self.make, self.name, self.most_other_pct, self.needs = make, make.__name__, most_other_pct, needs


ANY = "any"        # every log
FAILED = "failed"  # logs of programs that failed, not accounting
GPU = "gpu"        # those that ran out of memory on the card

CHANGES = [
    Change(carriage_returns, 0, ANY),
    Change(trailing_blanks, 0, ANY),
    Change(colours, 2, ANY),
    Change(indent, 2, ANY),
    Change(quote, 2, ANY),
    Change(blank_lines, 2, ANY),
    Change(wrap, 1, ANY),
    Change(wrap_narrow, 2, ANY),
    Change(srun_label, 2, ANY),
    Change(rank_label, 2, ANY),
    Change(pod_name, 2, ANY),
    Change(compose_name, 2, ANY),
    Change(container_time, 2, ANY),
    Change(open_mpi, 2, ANY),
    Change(ray_actor, 2, ANY),
    Change(kubectl, 2, ANY),
    Change(jenkins, 2, ANY),
    Change(cut_columns, 2, ANY),
    Change(no_header, 2, FAILED),
    Change(other_user, 0, ANY),
    Change(earlier_limit, 2, FAILED),
    Change(earlier_error, 2, FAILED),
    Change(caught_before, 1, ANY),
    Change(second_rank, 3, FAILED),
    Change(launcher_tail, 2, FAILED),
    Change(early_exit, 2, FAILED),
    Change(twins, 2, FAILED),
    Change(others_among, 2, FAILED),
    Change(seff_tail, 2, FAILED),
    Change(clean_up_tail, 2, FAILED),
    Change(lives_on, 5, GPU),
    Change(held_back, 2, FAILED),
    Change(scale_sizes, 2, GPU),
    Change(newer_wording, 2, GPU),
    Change(older_wording, 2, GPU),
    Change(cut_head, 1, FAILED),
    Change(cut_tail, 1, FAILED),
]
