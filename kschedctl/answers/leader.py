"""Elections on Leases: the answers of ``leader`` and ``leader simulate``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from kschedctl.answers.base import ClusterAnswer, CompoundAnswer, Data
from kschedctl.findings.finding import ObjectRef

Seconds = Annotated[float, Meta(description="In seconds.")]


class ElectionCandidate(Data, frozen=True):
    """A candidate of a coordinated election."""

    name: str
    binary_version: str
    emulation_version: str
    strategy: str
    renewed_ago: Annotated[float | None, Meta(description="How long before the snapshot, in seconds.")]
    preferred: Annotated[bool, Meta(description="Whether it would be elected now.")] = False


class Election(Data, frozen=True):
    """An election and its state."""

    name: Annotated[str, Meta(description="As namespace/name.")]
    kind: Annotated[str, Meta(description="Where its record is: Lease, or as in old clusters ConfigMap or Endpoints.")]
    holder: Annotated[str, Meta(description="Who leads, as it calls itself; empty where the lease was given up.")]
    pod: Annotated[str, Meta(description="The pod that this means, as namespace/name; empty where there is none.")]
    node: Annotated[str, Meta(description="The node that it is on; empty where it is not known.")]
    lease_duration_seconds: int
    acquired_ago: Annotated[float | None, Meta(description="How long before the snapshot, in seconds.")]
    renewed_ago: Annotated[float | None, Meta(description="How long before the snapshot, in seconds.")]
    transitions: Annotated[int, Meta(description="How often another one took over.")]
    expired: Annotated[bool | None, Meta(description="Whether the lease had ended by then; null where not known.")]
    earliest: Annotated[
        float | None,
        Meta(description="If the holder died with the snapshot: after how many seconds another leads at the earliest."),
    ]
    latest: Annotated[float | None, Meta(description="And at the latest, where one waits for it.")]
    strategy: Annotated[str, Meta(description="Of coordinated election.")] = ""
    preferred_holder: Annotated[str, Meta(description="Of coordinated election.")] = ""
    candidates: tuple[ElectionCandidate, ...] = ()

    @property
    def ref(self) -> ObjectRef:
        """The object that has its record."""
        namespace, _, name = self.name.partition("/")
        return ObjectRef(self.kind, name, namespace)

    @property
    def led(self) -> bool:
        """True if somebody led when the snapshot was taken, as far as is known."""
        return bool(self.holder) and not self.expired


class ProblemData(Data, frozen=True):
    """Something that is wrong with an election, or worth knowing."""

    severity: Literal["error", "warning", "info"]
    rule: str
    object: Annotated[str, Meta(description="What it is about.")]
    field: str
    problem: str
    hint: str


class LeaderOverview(ClusterAnswer, frozen=True, kw_only=True):
    """All elections of a cluster."""

    summary: Annotated[str, Meta(description="One sentence about the scheduler's own election.")]
    elections: Annotated[tuple[Election, ...], Meta(description="Those of the control plane first.")]
    problems: tuple[ProblemData, ...]
    heartbeats: Annotated[int, Meta(description="How many Leases are heartbeats of nodes and API servers.")]
    retry_period: Annotated[float, Meta(description="What standbys are taken to wait between tries, in seconds.")]

    @property
    def fine(self) -> bool:
        """Whether every election has a leader and nothing is wrong."""
        return not any(problem.severity == "error" for problem in self.problems)

    @property
    def yes(self) -> bool:
        """True if every election has a leader and nothing else is wrong."""
        return self.fine

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The elections that somebody leads, with who does."""
        return tuple(f"{one.name} {one.holder}" for one in self.elections if one.holder and not one.expired)


class TimesData(Data, frozen=True):
    """The times of candidates, in seconds."""

    lease_duration: float
    renew_deadline: float
    retry_period: float
    release_on_cancel: bool


class BoundsData(Data, frozen=True):
    """What times promise, in seconds."""

    earliest: Annotated[float, Meta(description="After the last renewal of a dead leader another may lead.")]
    latest: Annotated[float, Meta(description="After that another leads, where one waits for it.")]
    released: Annotated[float, Meta(description="After a lease was given up another leads.")]
    leads_on: Annotated[float, Meta(description="How long one that cannot renew leads after its last renewal.")]
    holds: Annotated[float, Meta(description="How long after that renewal nobody else can lead.")]
    exclusive: Annotated[bool, Meta(description="Whether two can never lead at once.")]


class EventData(Data, frozen=True):
    """Something that happened in a simulated election."""

    at: Annotated[float, Meta(description="In true seconds since the beginning.")]
    who: Annotated[str, Meta(description="To which candidate; empty for all.")]
    what: str
    detail: str


class TermData(Data, frozen=True):
    """From when to when a candidate led, in true seconds since the beginning."""

    who: str
    start: float
    end: float


class CounterexampleData(Data, frozen=True):
    """An election in which two led at once."""

    seed: int
    first: TermData
    second: TermData
    seconds: Annotated[float, Meta(description="How long both led.")]
    faults: Annotated[tuple[str, ...], Meta(description="What went wrong, as the options that show it again.")]


class LeaderSimulation(CompoundAnswer, frozen=True, kw_only=True):
    """A simulated election, and what holds for any."""

    summary: Annotated[str, Meta(description="One sentence.")]
    times: TimesData
    bounds: BoundsData
    candidates: int
    duration: Seconds
    clock_skew: Annotated[float, Meta(description="How far clocks are off at most, in seconds.")]
    clock_drift: Annotated[float, Meta(description="How much too fast or slow they run at most, as a part of one.")]
    seed: int
    events: Annotated[tuple[EventData, ...], Meta(description="In their order.")]
    terms: Annotated[tuple[TermData, ...], Meta(description="Who led when.")]
    gaps: Annotated[tuple[tuple[float, float], ...], Meta(description="From when to when nobody led.")]
    overlaps: Annotated[tuple[tuple[TermData, TermData], ...], Meta(description="Who led at once.")]
    runs: Annotated[int, Meta(description="How many elections with other faults were looked at.")]
    counterexample: Annotated[
        CounterexampleData | None, Meta(description="Of two leaders at once; null where none was found.")
    ]
    suggested: Annotated[
        TimesData | None,
        Meta(description="Times with which two never lead at once, and that keep the bound that is asked for."),
    ]
    suggested_for: Annotated[Literal["failOver", "exclusive", ""], Meta(description="Whether a bound was asked for.")]

    @property
    def exclusive(self) -> bool:
        """Whether two never led at once, neither here nor anywhere that was looked."""
        return not self.overlaps and self.counterexample is None

    @property
    def yes(self) -> bool:
        """True if two candidates never led at once."""
        return self.exclusive

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Who led, in their order."""
        return tuple(term.who for term in self.terms)
