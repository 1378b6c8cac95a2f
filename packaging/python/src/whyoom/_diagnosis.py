# SPDX-License-Identifier: Apache-2.0
"""The diagnosis: records that follow docs/schema/report-1.schema.json."""
from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional, Tuple

from whyoom._records import Call, Report, Value, slotted


@slotted
@dataclass(frozen=True)
class Tool:
    name: str
    version: str


@slotted
@dataclass(frozen=True)
class Input:
    """A file that was read."""

    path: str
    format: str
    bytes: int
    lines: int
    notes: Tuple[str, ...]
    compressed: bool = False
    unreadable: bool = False


@slotted
@dataclass(frozen=True)
class Program:
    """The program that the job ran."""

    kind: str
    name: Optional[str]
    platform: Optional[str]
    vendor: Optional[str]
    evidence: Optional[str]


@slotted
@dataclass(frozen=True)
class Run:
    """One of several runs in the same files."""

    index: int
    path: Optional[str]
    first_line: int
    last_line: int
    job_id: Optional[str]
    outcome: str
    step_first: Optional[int]
    step_last: Optional[int]
    evidence: Optional[str]
    current: bool = False


@slotted
@dataclass(frozen=True)
class Rank:
    rank: int
    host: Optional[str]
    gpu: Optional[int]
    status: str
    evidence: Optional[str]


@slotted
@dataclass(frozen=True)
class Job:
    id: Optional[str]
    array_task: Optional[int]
    nodes: Tuple[str, ...]
    ranks: Optional[int]
    outcome: str
    outcome_evidence: Tuple[str, ...]
    recovered: Tuple[str, ...]
    program: Optional[Program]
    runs: Tuple[Run, ...]
    rank_table: Tuple[Rank, ...]
    order_rival: Optional[str]
    order_uncertain: bool = False


@slotted
@dataclass(frozen=True)
class Failure:
    """The first failure that was not survived."""

    kind: str
    rank: Optional[int]
    host: Optional[str]
    gpu: Optional[int]
    time: Optional[str]
    step: Optional[int]
    step_total: Optional[int]
    step_unit: Optional[str]
    phase: Optional[str]
    evidence: str
    traceback: Optional[str]
    consequences: Tuple[str, ...]
    rank_inferred: bool = False


@slotted
@dataclass(frozen=True)
class Argument:
    """A reason for or against a finding."""

    text: str
    weight: float
    evidence: Tuple[str, ...]


@slotted
@dataclass(frozen=True)
class Shown:
    label: str
    text: str


@slotted
@dataclass(frozen=True)
class Change:
    """A setting to change. `from_` is None where the files do not say it."""

    knob: str
    from_: Value
    to: Value
    spelled: Optional[str]
    where: Optional[str]


@slotted
@dataclass(frozen=True)
class Saving:
    lo: int
    hi: int
    formula: Optional[str]


@slotted
@dataclass(frozen=True)
class Range:
    lo: int
    hi: int


@slotted
@dataclass(frozen=True)
class Cost:
    rank: Optional[int]
    speed: Optional[str]
    accuracy: Optional[str]
    effort: Optional[str]


@slotted
@dataclass(frozen=True)
class Proof:
    on: str
    pattern: str
    fits: bool
    peak_reserved_bytes: int
    margin_bytes: int


@slotted
@dataclass(frozen=True)
class Fix:
    id: str
    title: str
    changes: Tuple[Change, ...]
    saves_bytes: Optional[Saving]
    suffices: Optional[str]
    headroom_bytes: Optional[Range]
    needs: Tuple[str, ...]
    cost: Cost
    commands: Tuple[str, ...]
    notes: Tuple[str, ...]
    proof: Optional[Proof]
    support: Optional[str]


@slotted
@dataclass(frozen=True)
class Finding:
    """A cause, or a note (`is_failure` is False then). `whyoom explain ID` says more of it."""

    id: str
    family: str
    title: str
    headline: Optional[str]
    shown: Tuple[Shown, ...]
    summary: str
    confidence: str
    score: float
    for_: Tuple[Argument, ...]
    against: Tuple[Argument, ...]
    would_tell: Tuple[str, ...]
    fixes: Tuple[Fix, ...]
    not_proposed: Tuple[str, ...]
    is_failure: bool = True


@slotted
@dataclass(frozen=True)
class Part:
    """A part of the card's memory."""

    name: str
    bytes: int
    lo: int
    hi: int


@slotted
@dataclass(frozen=True)
class Memory:
    gpu: Optional[int]
    capacity_bytes: Optional[int]
    parts: Tuple[Part, ...]
    arithmetic: Tuple[str, ...]
    contradictory: bool = False


@slotted
@dataclass(frozen=True)
class Shortage:
    bytes: int
    lo: int
    hi: int
    formula: Optional[str]


@slotted
@dataclass(frozen=True)
class Reading:
    """A tensor of the job that has the size of the request."""

    id: str
    meaning: str
    formula: str
    bytes: int
    specific: bool
    assumed: Tuple[str, ...]


@slotted
@dataclass(frozen=True)
class Request:
    bytes: int
    lo: int
    hi: int
    tried: int
    fitting: int
    readings: Tuple[Reading, ...]


@slotted
@dataclass(frozen=True)
class Slope:
    value: float
    lo: float
    hi: float


@slotted
@dataclass(frozen=True)
class Steps:
    """Memory that the program printed beside its steps."""

    path: str
    figure: str
    rank: Optional[int]
    prints: int
    step_unit: Optional[str]
    first_step: Optional[float]
    last_step: Optional[float]
    peak_step: Optional[float]
    first_bytes: Optional[int]
    last_bytes: Optional[int]
    peak_bytes: Optional[int]
    lowest_bytes: Optional[int]
    slope_bytes_per_step: Optional[Slope]
    late_rise_bytes: Optional[int]
    jump_bytes: Optional[int]
    jump_from_bytes: Optional[int]
    jump_step: Optional[float]
    jump_line: Optional[int]
    fall_bytes: Optional[int]
    first_line: int
    last_line: int
    evidence: Optional[str]
    falls: int = 0
    restarts: int = 0
    wraps: int = 0
    is_of_last_run: bool = False


@slotted
@dataclass(frozen=True)
class Monitor:
    """A card in the trace of a monitor."""

    path: str
    gpu: int
    samples: int
    fb_peak_bytes: Optional[int]
    fb_last_bytes: Optional[int]
    fb_slope_bytes_per_s: Optional[float]
    fb_slope_bytes_per_sample: Optional[float]
    sm_mean_pct: Optional[float]
    capacity_bytes: Optional[int]
    active_samples: Optional[int]
    sm_active_mean_pct: Optional[float]
    idle_pct: Optional[float]
    fb_trend_bytes_per_s: Optional[Slope]
    fb_trend_bytes_per_sample: Optional[Slope]
    fb_late_rise_bytes: Optional[int]
    note: Optional[str]
    evidence: Optional[str]


@slotted
@dataclass(frozen=True)
class GpuProcess:
    path: str
    gpu: Optional[int]
    pid: Optional[int]
    name: Optional[str]
    samples: int
    peak_bytes: Optional[int]
    evidence: Optional[str]


@slotted
@dataclass(frozen=True)
class Rung:
    micro_batch: float
    seq_len: Optional[float]
    grad_accum: Optional[float]
    global_batch: Optional[float]
    token_factor: float
    peak_bytes: Range
    verdict: str


@slotted
@dataclass(frozen=True)
class Ladder:
    """Larger settings from a run that fits."""

    micro_batch: float
    seq_len: Optional[float]
    global_batch: Optional[float]
    peak_bytes: int
    capacity_bytes: int
    margin_bytes: int
    fixed_bytes: Optional[int]
    source: str
    evidence: Optional[str]
    failed_token_factor: Optional[float]
    rungs: Tuple[Rung, ...]
    settings_by_name: bool = False


@slotted
@dataclass(frozen=True)
class Fact:
    value: Value
    unit: str
    evidence: Optional[str]
    lo: Optional[float]
    hi: Optional[float]


@slotted
@dataclass(frozen=True)
class OtherValue:
    value: Value
    evidence: Optional[str]
    why_not: str
    conflict: bool


@slotted
@dataclass(frozen=True)
class Setting:
    knob: str
    value: Value
    spelled: str
    evidence: Optional[str]
    others: Tuple[OtherValue, ...]


@slotted
@dataclass(frozen=True)
class Folded:
    what: str
    count: int
    ranks: int


@slotted
@dataclass(frozen=True)
class Evidence:
    """A place in an input and what it says. Lines count from 1, bytes from 0."""

    id: str
    kind: str
    path: Optional[str]
    line: int
    byte: int
    length: int
    rank: Optional[int]
    host: Optional[str]
    time: Optional[str]
    role: Optional[str]
    of: Optional[str]
    pattern: Optional[str]
    text: str
    fields: Mapping[str, Value]
    quoted: bool = False


@slotted
@dataclass(frozen=True)
class Diagnosis(Report):
    """Why a job ended as it did, and what to change. `str()` is the first screen, `raw` the whole JSON."""

    schema: str
    tool: Tool
    inputs: Tuple[Input, ...]
    job: Job
    failure: Optional[Failure]
    findings: Tuple[Finding, ...]
    first_change: Optional[Fix]
    memory: Optional[Memory]
    shortage: Optional[Shortage]
    request: Optional[Request]
    steps: Tuple[Steps, ...]
    monitors: Tuple[Monitor, ...]
    gpu_processes: Tuple[GpuProcess, ...]
    ladder: Optional[Ladder]
    facts: Mapping[str, Fact]
    settings: Tuple[Setting, ...]
    folded: Tuple[Folded, ...]
    resubmit: Optional[str]
    evidence: Tuple[Evidence, ...]
    raw: Mapping[str, Any] = field(repr=False)
    messages: str = field(repr=False)
    exit_status: int = field(repr=False)
    _call: Call = field(repr=False, compare=False)
    inputs_left_out: int = 0
    evidence_dropped: int = 0

    schema_name = "whyoom.report/1"
    forms = ("text", "json", "html", "markdown", "oneline")
    default_table = "findings"

    @property
    def is_failure(self) -> bool:
        """A failure was diagnosed; notes are none."""
        return self.cause is not None

    @property
    def cause(self) -> Optional[Finding]:
        """The diagnosis: the first finding that is a failure."""
        return next((finding for finding in self.findings if finding.is_failure), None)

    @property
    def fix(self) -> Optional[Fix]:
        """The change to make first."""
        if self.first_change is not None:
            return self.first_change
        return self.findings[0].fixes[0] if self.findings and self.findings[0].fixes else None

    def text(self, verbose: bool = False, width_columns: int = 80) -> str:
        """The text report: the first screen, or all of it."""
        more = ["--width", str(width_columns)] + (["--verbose"] if verbose else [])
        return self._call.ask("text", *more).output

    def html(self) -> str:
        """One page with pictures, which needs no network."""
        return self._call.ask("html").output

    def markdown(self) -> str:
        """The report for a ticket."""
        return self._call.ask("markdown").output

    def evidence_of(self, id: str) -> Evidence:
        """The evidence that an id such as `e7` names."""
        for item in self.evidence:
            if item.id == id:
                return item
        raise KeyError(id)

    def __repr__(self) -> str:
        cause = self.cause
        said = f"{cause.headline or cause.title} ({cause.confidence})" if cause else "no failure"
        return f"<whyoom.Diagnosis: {said}>"

    def _tables(self) -> Dict[str, Any]:
        raw = self.raw
        tables = {name: rows for name, rows in raw.items() if isinstance(rows, list)}
        tables["fixes"] = [dict(fix, finding=finding["id"]) for finding in raw["findings"] for fix in finding["fixes"]]
        tables["facts"] = [dict(fact, name=name) for name, fact in raw["facts"].items()]
        tables["memory"] = (raw["memory"] or {}).get("parts", [])
        tables["ranks"] = raw["job"].get("rank_table", [])
        tables["runs"] = raw["job"].get("runs", [])
        return tables
