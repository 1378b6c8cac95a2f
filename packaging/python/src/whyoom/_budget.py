# SPDX-License-Identifier: Apache-2.0
"""The budget: records that follow docs/schema/budget-1.schema.json. All sizes are bytes of one card unless a name says otherwise."""
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Tuple

from whyoom._diagnosis import Tool
from whyoom._records import Call, Report, Value, slotted


@slotted
@dataclass(frozen=True)
class Interval:
    low: float
    assumed: float
    high: float


@slotted
@dataclass(frozen=True)
class Component:
    id: str
    label: str
    rank: Optional[int]
    is_state: bool
    bytes: Optional[Interval]
    host_bytes: Optional[Interval]
    at_peak_bytes: Optional[float]
    formula: Optional[str]
    assumption: Optional[str]
    stated_bytes: Optional[Interval]
    stated_note: Optional[str]


@slotted
@dataclass(frozen=True)
class Figure:
    """A figure of the job's own log."""

    label: str
    bytes: float
    origin: Optional[str]
    note: str


@slotted
@dataclass(frozen=True)
class BudgetInput:
    name: str
    value: Value
    origin: Optional[str]


@slotted
@dataclass(frozen=True)
class WithoutEffect:
    name: str
    why: str


@slotted
@dataclass(frozen=True)
class KvCacheRoom:
    bytes: Interval
    bytes_per_token: float
    tokens: int


@slotted
@dataclass(frozen=True)
class Calibration:
    measured_bytes: float
    computed_bytes: float
    factor: float
    origin: str


@slotted
@dataclass(frozen=True)
class Budget(Report):
    """The memory that a card must hold, by component. `str()` is the text report, `raw` the whole JSON."""

    schema: str
    tool: Tool
    verdict: str
    seen_bytes: Optional[float]
    is_complete: bool
    capacity_bytes: Optional[float]
    margin_bytes: Optional[float]
    largest_micro_batch_sure: Optional[int]
    largest_micro_batch_assumed: Optional[int]
    states_by_zero_stage: Tuple[float, ...]
    components: Tuple[Component, ...]
    model_states_bytes: Interval
    peak: str
    pipeline_stage: Optional[str]
    in_use_bytes: Interval
    total_bytes: Interval
    total_other_ranks_bytes: Interval
    host_bytes_per_rank: Interval
    kv_cache_room: Optional[KvCacheRoom]
    calibration: Optional[Calibration]
    measured: Tuple[Figure, ...]
    inputs: Tuple[BudgetInput, ...]
    without_effect: Tuple[WithoutEffect, ...]
    raw: Mapping[str, Any] = field(repr=False)
    messages: str = field(repr=False)
    exit_status: int = field(repr=False)
    _call: Call = field(repr=False, compare=False)

    schema_name = "whyoom.budget/1"
    default_table = "components"

    @property
    def fits(self) -> Optional[bool]:
        """True and False where the verdict is `fits` and `does_not_fit`; None where it is `tight` or `open`."""
        return {"fits": True, "does_not_fit": False}.get(self.verdict)

    def __repr__(self) -> str:
        return f"<whyoom.Budget: {self.verdict}, {self.total_bytes.assumed / 2**30:.2f} GiB assumed>"
