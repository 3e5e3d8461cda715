"""Leader elections on Leases: the answers of ``leader`` and ``leader simulate``."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Meta

from kschedctl.common.findings import ObjectRef
from kschedctl.questions.answer import ClusterAnswer, CompoundAnswer, Data

Seconds = Annotated[float, Meta(description="A duration, in seconds.")]


class ElectionCandidate(Data, frozen=True):
    """A candidate of a coordinated election."""

    name: Annotated[str, Meta(description="The name of the LeaseCandidate.")]
    binary_version: Annotated[str, Meta(description="The version of the candidate's binary; empty if it reports none.")]
    emulation_version: Annotated[
        str, Meta(description="The version that the candidate emulates; empty if it reports none.")
    ]
    strategy: Annotated[
        str, Meta(description="The strategy of the election that the candidate prefers; empty if it reports none.")
    ]
    renewed_ago: Annotated[
        float | None, Meta(description="The time from the last renewal to the snapshot, in seconds; null if unknown.")
    ]
    preferred: Annotated[bool, Meta(description="True if this candidate would be elected at the moment.")] = False


class ElectionState(StrEnum):
    """The state of an election when the snapshot was taken."""

    #: The holder renews the lease.
    LED = "led"
    #: The lease is valid, but its holder has not renewed it for more than two retry periods.
    LATE = "late"
    #: The lease has expired, and a waiting candidate can still be about to acquire it.
    EXPIRED = "expired"
    #: The lease expired so long ago that a waiting candidate would have acquired it.
    OVERDUE = "overdue"
    RELEASED = "released"
    NEVER_HELD = "neverHeld"
    #: The renewal is dated after the snapshot, so that nothing is known about its age.
    CLOCK_AHEAD = "clockAhead"
    UNKNOWN = "unknown"


class Election(Data, frozen=True):
    """A leader election and its state."""

    name: Annotated[str, Meta(description="The object with the election record, as namespace/name.")]
    kind: Annotated[
        str,
        Meta(
            description="The kind of the object with the election record: Lease, or in old clusters ConfigMap or "
            "Endpoints."
        ),
    ]
    holder: Annotated[str, Meta(description="The identity of the leader; empty if the lease was released.")]
    pod: Annotated[str, Meta(description="The pod with that identity, as namespace/name; empty if there is none.")]
    node: Annotated[str, Meta(description="The node that the leader runs on; empty if unknown.")]
    lease_duration_seconds: Annotated[int, Meta(description="The duration of the lease, in seconds.")]
    acquired_ago: Annotated[
        float | None,
        Meta(description="The time from the acquisition of the lease to the snapshot, in seconds; null if unknown."),
    ]
    renewed_ago: Annotated[
        float | None, Meta(description="The time from the last renewal to the snapshot, in seconds; null if unknown.")
    ]
    transitions: Annotated[int, Meta(description="The number of changes of the leader.")]
    expired: Annotated[
        bool | None, Meta(description="True if the lease had expired when the snapshot was taken; null if unknown.")
    ]
    earliest: Annotated[
        float | None,
        Meta(
            description="The shortest time until another candidate leads if the holder dies with the snapshot, in "
            "seconds; null if unknown, or if a waiting candidate would have led before the snapshot."
        ),
    ]
    latest: Annotated[
        float | None,
        Meta(
            description="The longest such time, in seconds, provided that a candidate is waiting for the lease; "
            "null like earliest."
        ),
    ]
    state: Annotated[
        ElectionState,
        Meta(
            description="The state: led; late, if the holder has not renewed for more than two retry periods; expired; "
            "overdue, if the lease has expired and no candidate waits for it; released; neverHeld; clockAhead, if the "
            "renewal is dated after the snapshot; unknown without times."
        ),
    ]
    strategy: Annotated[str, Meta(description="The strategy of a coordinated election; empty for other elections.")] = (
        ""
    )
    preferred_holder: Annotated[
        str, Meta(description="The preferred holder of a coordinated election; empty if there is none.")
    ] = ""
    candidates: Annotated[
        tuple[ElectionCandidate, ...], Meta(description="The candidates of a coordinated election.")
    ] = ()

    @property
    def ref(self) -> ObjectRef:
        """The object with the election record."""
        namespace, _, name = self.name.partition("/")
        return ObjectRef(self.kind, name, namespace)

    @property
    def led(self) -> bool:
        """True if there was a leader when the snapshot was taken, as far as is known."""
        return bool(self.holder) and not self.expired


class ProblemData(Data, frozen=True):
    """A problem of an election, or a note about it."""

    severity: Annotated[Literal["error", "warning", "info"], Meta(description="The severity: error, warning or info.")]
    rule: Annotated[str, Meta(description="The rule that found the problem.")]
    object: Annotated[str, Meta(description="The object that the problem is about.")]
    field: Annotated[str, Meta(description="The path of the field with the problem; empty if there is none.")]
    problem: Annotated[str, Meta(description="The problem in one sentence.")]
    hint: Annotated[str, Meta(description="A hint for the repair; empty if there is none.")]


class LeaderOverview(ClusterAnswer, frozen=True, kw_only=True):
    """All leader elections of a cluster."""

    summary: Annotated[str, Meta(description="The state of the scheduler's own election, in one sentence.")]
    elections: Annotated[tuple[Election, ...], Meta(description="The elections, those of the control plane first.")]
    problems: Annotated[tuple[ProblemData, ...], Meta(description="The problems of the elections.")]
    heartbeats: Annotated[int, Meta(description="The number of Leases that are heartbeats of nodes and API servers.")]
    retry_period: Annotated[
        float, Meta(description="The time that standby candidates are assumed to wait between attempts, in seconds.")
    ]

    @property
    def fine(self) -> bool:
        """True if no problem is an error: every election has a leader."""
        return not any(problem.severity == "error" for problem in self.problems)

    @property
    def yes(self) -> bool:
        """True if there are elections, and no problem is an error: every election has a leader."""
        return self.fine and bool(self.elections)

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the elections with a leader, one line per election: ``NAMESPACE/NAME HOLDER``."""
        return tuple(f"{one.name} {one.holder}" for one in self.elections if one.holder and not one.expired)


class TimesData(Data, frozen=True):
    """The timing settings of the candidates, in seconds."""

    lease_duration: Annotated[
        float, Meta(description="The time for which other candidates wait after the last renewal, in seconds.")
    ]
    renew_deadline: Annotated[
        float, Meta(description="The time after which a leader that cannot renew gives up, in seconds.")
    ]
    retry_period: Annotated[float, Meta(description="The time between attempts to acquire or renew, in seconds.")]
    release_on_cancel: Annotated[bool, Meta(description="True if a leader that ends releases its lease.")]


class BoundsData(Data, frozen=True):
    """The guarantees that the timing settings give, in seconds."""

    earliest: Annotated[
        float,
        Meta(description="The shortest time after the last renewal of a dead leader until another candidate leads."),
    ]
    latest: Annotated[
        float, Meta(description="The longest such time, provided that a candidate is waiting for the lease.")
    ]
    released: Annotated[
        float, Meta(description="The longest time after the release of a lease until another candidate leads.")
    ]
    leads_on: Annotated[
        float,
        Meta(
            description="The longest time for which a leader that cannot renew continues to lead after its last "
            "renewal."
        ),
    ]
    holds: Annotated[float, Meta(description="The time after that renewal for which no other candidate can lead.")]
    exclusive: Annotated[bool, Meta(description="True if two candidates can never lead at once.")]


class EventData(Data, frozen=True):
    """An event in a simulated election."""

    at: Annotated[float, Meta(description="The time since the start, in seconds of true time.")]
    who: Annotated[str, Meta(description="The candidate that the event concerns; empty for all.")]
    what: Annotated[str, Meta(description="The kind of event in one or a few words.")]
    detail: Annotated[str, Meta(description="The details of the event; empty if there are none.")]


class TermData(Data, frozen=True):
    """A term of a leader: its start and end, in seconds of true time since the start of the simulation."""

    who: Annotated[str, Meta(description="The leader.")]
    start: Annotated[float, Meta(description="The start of the term, in seconds since the start of the simulation.")]
    end: Annotated[float, Meta(description="The end of the term, in seconds since the start of the simulation.")]


class CounterexampleData(Data, frozen=True):
    """A simulated election in which two candidates led at once."""

    seed: Annotated[int, Meta(description="The seed of the simulated election.")]
    first: Annotated[TermData, Meta(description="The term of the first leader.")]
    second: Annotated[TermData, Meta(description="The term of the second leader, which begins before the first ends.")]
    seconds: Annotated[float, Meta(description="The time for which both led, in seconds.")]
    faults: Annotated[tuple[str, ...], Meta(description="The injected faults, as the options that reproduce them.")]


class LeaderSimulation(CompoundAnswer, frozen=True, kw_only=True):
    """A simulated election, and the guarantees for any election with the same settings."""

    summary: Annotated[str, Meta(description="The result in one sentence.")]
    times: Annotated[TimesData, Meta(description="The timing settings of the candidates.")]
    bounds: Annotated[BoundsData, Meta(description="The guarantees that these settings give.")]
    candidates: Annotated[int, Meta(description="The number of candidates.")]
    duration: Seconds
    clock_skew: Annotated[float, Meta(description="The largest clock offset, in seconds.")]
    clock_drift: Annotated[
        float, Meta(description="The largest clock drift, as a fraction: 0.01 is one percent too fast or too slow.")
    ]
    seed: Annotated[int, Meta(description="The seed of the simulated election.")]
    events: Annotated[tuple[EventData, ...], Meta(description="The events in the order of time.")]
    terms: Annotated[tuple[TermData, ...], Meta(description="The terms of the leaders.")]
    gaps: Annotated[
        tuple[tuple[float, float], ...],
        Meta(description="The start and end of each period without a leader, in seconds of true time."),
    ]
    overlaps: Annotated[tuple[tuple[TermData, TermData], ...], Meta(description="The pairs of terms that overlap.")]
    runs: Annotated[
        int, Meta(description="The number of elections with random faults that were searched for a counterexample.")
    ]
    counterexample: Annotated[
        CounterexampleData | None,
        Meta(description="An election in which two candidates led at once; null if none was found."),
    ]
    suggested: Annotated[
        TimesData | None,
        Meta(
            description="Timing settings with which two candidates never lead at once and the requested fail-over "
            "time is met; null if none are suggested."
        ),
    ]
    suggested_for: Annotated[
        Literal["failOver", "exclusive", ""],
        Meta(
            description="The goal of the suggestion: a requested fail-over time or exclusive leadership; empty if "
            "there is no suggestion."
        ),
    ]

    @property
    def exclusive(self) -> bool:
        """True if two candidates never led at once, neither in this simulation nor in any that was searched."""
        return not self.overlaps and self.counterexample is None

    @property
    def yes(self) -> bool:
        """True if two candidates never led at once."""
        return self.exclusive

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the leaders in order, one line per term."""
        return tuple(term.who for term in self.terms)
