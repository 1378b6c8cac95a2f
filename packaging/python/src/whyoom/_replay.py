# SPDX-License-Identifier: Apache-2.0
"""The replay: records that follow docs/schema/replay-1.schema.json. Entries count from 0."""
from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional, Tuple

from whyoom._diagnosis import Tool
from whyoom._records import Call, Report, slotted


@slotted
@dataclass(frozen=True)
class AllocatorSettings:
    text: str
    expandable_segments: bool
    max_split_bytes: Optional[int]
    roundup_power2_divisions: Tuple[int, ...]
    garbage_collection_threshold: float
    max_non_split_rounding_bytes: Optional[int]
    large_segment_bytes: Optional[int]
    memory_fraction: Optional[float]


@slotted
@dataclass(frozen=True)
class Trace:
    path: str
    format: str
    fidelity: str
    device: Optional[int]
    entries: Optional[int]
    allocs: Optional[int]
    frees: Optional[int]
    torch: Optional[str]
    settings: Optional[AllocatorSettings]
    start: Optional[str]
    start_ambiguous: Optional[int]
    notes: Tuple[Optional[str], ...]
    truncated: bool = False


@slotted
@dataclass(frozen=True)
class Check:
    """How far the model gives what was recorded."""

    entries_compared: int
    allocations: int
    addresses_equal: int
    segment_events: int
    segment_events_equal: int
    refusals: Optional[int]
    refusals_equal: Optional[int]
    refusals_survived: Optional[int]
    final_layout_equal: Optional[bool]
    blocks: Optional[int]
    blocks_changed: Optional[int]
    blocks_untouched: Optional[int]
    blocks_unexplained: Optional[int]
    entries_skipped: Optional[int]
    garbage_limit_bytes: Optional[int]
    hidden_pools: Optional[int]
    diverged_at: Optional[int]
    expected: Optional[str]
    got: Optional[str]
    why: Optional[str]


@slotted
@dataclass(frozen=True)
class OutOfMemory:
    """The first request that is refused in the replay."""

    entry: Optional[int]
    requested_bytes: int
    rounded_bytes: Optional[int]
    segment_bytes: int
    free_bytes: Optional[int]
    idle_bytes: Optional[int]
    largest_free_block_bytes: int
    would_fit_unfragmented: bool
    by_fraction: bool = False


@slotted
@dataclass(frozen=True)
class Peak:
    reserved_bytes: int
    allocated_bytes: int
    requested_bytes: int
    active_bytes: int
    at_entry: Optional[int]


@slotted
@dataclass(frozen=True)
class Case:
    """One replay: settings, and what they need."""

    settings: AllocatorSettings
    peak: Peak
    idle_at_peak_pct: float
    runs: int
    runs_out_of_memory: int
    reserved_lo_bytes: int
    reserved_hi_bytes: int
    margin_bytes: Optional[int]
    fits: Optional[bool]


@slotted
@dataclass(frozen=True)
class SweepRow(Case):
    """A replay with the settings of one row; `text` is how they are written."""

    text: str
    needs: Optional[str]
    worth: str
    is_recorded: bool


@slotted
@dataclass(frozen=True)
class Sweep:
    """Settings, best first."""

    advice: str
    paste: Optional[str]
    rows: Tuple[SweepRow, ...]


@slotted
@dataclass(frozen=True)
class PinnedSegment:
    address: int
    bytes: int
    idle_bytes: Optional[int]
    held_by_bytes: int
    blocks: Optional[int]
    class_: Optional[str]
    since_entry: Optional[int]
    own_frame: Optional[str]
    stack: Tuple[Optional[str], ...]


@slotted
@dataclass(frozen=True)
class Fragmentation:
    at_peak_pct: Optional[float]
    idle_at_peak_bytes: Optional[int]
    releasable_at_peak_bytes: Optional[int]
    largest_free_block_bytes: Optional[int]
    peaks_apart_pct: Optional[float]
    pinned_idle_bytes: Optional[int]
    pinned_count: Optional[int]
    pinned_segments: Tuple[PinnedSegment, ...]


@slotted
@dataclass(frozen=True)
class Share:
    class_: str
    bytes: int
    requested_bytes: int
    blocks: int
    own_frame: Optional[str]
    stack: Tuple[Optional[str], ...]


@slotted
@dataclass(frozen=True)
class Holders:
    """Who holds the memory at that moment, by class and by stack."""

    at: str
    at_entry: Optional[int]
    classes: Tuple[Share, ...]
    stacks: Tuple[Share, ...]
    other_stacks_bytes: int


@slotted
@dataclass(frozen=True)
class Place:
    stream: int
    pool: Tuple[int, ...]
    segments: int
    blocks: int
    reserved_bytes: int
    in_use_bytes: int
    requested_bytes: Optional[int]
    pending_bytes: int
    idle_bytes: int
    kept_idle_bytes: int
    largest_free_block_bytes: int
    free_segments_bytes: int


@slotted
@dataclass(frozen=True)
class Holdings:
    """The content of a snapshot that cannot be replayed."""

    segments: int
    blocks: int
    reserved_bytes: int
    in_use_bytes: int
    requested_bytes: Optional[int]
    pending_bytes: int
    idle_bytes: int
    kept_idle_bytes: int
    largest_free_block_bytes: int
    releasable_bytes: int
    private_idle_bytes: int
    refused_bytes: Optional[int]
    free_at_refusal_bytes: Optional[int]
    places: Tuple[Place, ...]


@slotted
@dataclass(frozen=True)
class Category:
    name: Optional[str]
    requested_bytes: int
    blocks: int


@slotted
@dataclass(frozen=True)
class Categories:
    at_entry: Optional[int]
    requested_bytes: int
    given_up: int
    rows: Tuple[Category, ...]


@slotted
@dataclass(frozen=True)
class Axis:
    from_: int
    to: int


@slotted
@dataclass(frozen=True)
class Transform:
    name: str
    amount: Optional[int]
    assumption: Optional[str]


@slotted
@dataclass(frozen=True)
class ScaleInterval:
    reserved_lo_bytes: int
    reserved_hi_bytes: int
    is_figure: bool
    widest: str


@slotted
@dataclass(frozen=True)
class Scale:
    """The changes of the program; all None and empty for none."""

    micro_batch: Optional[Axis]
    seq_len: Optional[Axis]
    transforms: Tuple[Transform, ...]
    unsure_bytes: Optional[int]
    interval: Optional[ScaleInterval]
    low: Optional[Case]
    likely: Optional[Case]
    high: Optional[Case]


@slotted
@dataclass(frozen=True)
class Block:
    address: int
    bytes: int
    state: str
    requested_bytes: Optional[int]
    since_entry: Optional[int]
    own_frame: Optional[str]
    stack: Tuple[Optional[str], ...]


@slotted
@dataclass(frozen=True)
class Segment:
    address: int
    bytes: int
    stream: int
    pool: Tuple[int, ...]
    is_small: bool
    is_expandable: bool
    blocks: Tuple[Block, ...]


@slotted
@dataclass(frozen=True)
class State:
    """Every segment after an entry (--at)."""

    after_entry: int
    reserved_bytes: int
    segments: Tuple[Segment, ...]


@slotted
@dataclass(frozen=True)
class Replay(Report):
    """A recording that was run again on the model of the allocator. `str()` is the text report, `raw` the whole JSON."""

    schema: str
    tool: Tool
    verdict: str
    why: Optional[str]
    trace: Trace
    on: str
    torch: str
    settings: AllocatorSettings
    scale: Scale
    capacity_bytes: Optional[int]
    capacity_from: Optional[str]
    uncertainty_bytes: Optional[int]
    check: Optional[Check]
    fits: Optional[bool]
    margin_bytes: Optional[int]
    oom: Optional[OutOfMemory]
    peak: Optional[Peak]
    fragmentation: Fragmentation
    gpu: Optional[Mapping[str, Any]]
    recorded: Optional[Case]
    baseline: Optional[Case]
    whatif: Optional[Case]
    whatif_passes: Optional[int]
    whatif_first_step: Optional[bool]
    whatif_from_recorded_start: Optional[Case]
    holdings: Optional[Holdings]
    holders: Optional[Holders]
    sweep: Optional[Sweep]
    state: Optional[State]
    categories: Optional[Categories]
    seconds: Optional[float]
    events_per_second: Optional[float]
    raw: Mapping[str, Any] = field(repr=False)
    messages: str = field(repr=False)
    exit_status: int = field(repr=False)
    _call: Call = field(repr=False, compare=False)

    schema_name = "whyoom.replay/1"
    forms = ("text", "json", "html")
    default_table = "stacks"

    def html(self) -> str:
        """A page that shows the recording."""
        return self._call.ask("html").output

    def __repr__(self) -> str:
        return f"<whyoom.Replay: {self.verdict}, {self.trace.path}, device {self.trace.device}>"

    def _tables(self) -> Dict[str, Any]:
        raw = self.raw
        holders, sweep, categories = raw["holders"] or {}, raw["sweep"] or {}, raw["categories"] or {}
        return {
            "stacks": holders.get("stacks", []),
            "classes": holders.get("classes", []),
            "sweep": sweep.get("rows", []),
            "categories": categories.get("rows", []),
            "pinned_segments": raw["fragmentation"].get("pinned_segments", []),
            "places": (raw.get("holdings") or {}).get("places", []),
        }
