"""Leader elections on Leases: the answers of ``leader`` and ``leader simulate``."""

from typing import Annotated, Literal

from kschedctl.leaderelection.election import Election
from kschedctl.questions.answer import ClusterAnswer, CompoundAnswer, Data
from kschedctl.questions.answer_parts import CureData

Seconds = Annotated[float, "A duration, in seconds."]


class ProblemData(Data, frozen=True):
    """A problem of an election, or a note about it."""

    severity: Annotated[Literal["error", "warning", "info"], "The severity: error, warning or info."]
    rule: Annotated[str, "The rule that found the problem."]
    object: Annotated[str, "The object that the problem is about."]
    field: Annotated[str, "The path of the field with the problem; empty if there is none."]
    problem: Annotated[str, "The problem in one sentence."]
    hint: Annotated[str, "A hint for the repair; empty if there is none."]


class LeaderOverview(ClusterAnswer, frozen=True, kw_only=True):
    """All leader elections of a cluster."""

    summary: Annotated[
        str,
        "The state of the scheduler's own election, in one sentence; before it that of another one that has no "
        "leader although a candidate runs.",
    ]
    elections: Annotated[tuple[Election, ...], "The elections, those of the control plane first."]
    problems: Annotated[tuple[ProblemData, ...], "The problems of the elections."]
    heartbeats: Annotated[int, "The number of Leases that are heartbeats of nodes and API servers."]
    retry_period: Annotated[float, "The time that standby candidates are assumed to wait between attempts, in seconds."]
    suggestions: Annotated[
        tuple[CureData, ...], "The next steps for the election that the summary begins with; empty if it has a leader."
    ] = ()

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

    lease_duration: Annotated[float, "The time for which other candidates wait after the last renewal, in seconds."]
    renew_deadline: Annotated[float, "The time after which a leader that cannot renew gives up, in seconds."]
    retry_period: Annotated[float, "The time between attempts to acquire or renew, in seconds."]
    release_on_cancel: Annotated[bool, "True if a leader that ends releases its lease."]


class BoundsData(Data, frozen=True):
    """The guarantees that the timing settings give, in seconds."""

    earliest: Annotated[
        float, "The shortest time after the last renewal of a dead leader until another candidate leads."
    ]
    latest: Annotated[float, "The longest such time, provided that a candidate is waiting for the lease."]
    released: Annotated[float, "The longest time after the release of a lease until another candidate leads."]
    leads_on: Annotated[
        float, "The longest time for which a leader that cannot renew continues to lead after its last renewal."
    ]
    holds: Annotated[float, "The time after that renewal for which no other candidate can lead."]
    exclusive: Annotated[bool, "True if two candidates can never lead at once."]


class EventData(Data, frozen=True):
    """An event in a simulated election."""

    at: Annotated[float, "The time since the start, in seconds of true time."]
    who: Annotated[str, "The candidate that the event concerns; empty for all."]
    what: Annotated[str, "The kind of event in one or a few words."]
    detail: Annotated[str, "The details of the event; empty if there are none."]


class TermData(Data, frozen=True):
    """A term of a leader: its start and end, in seconds of true time since the start of the simulation."""

    who: Annotated[str, "The leader."]
    start: Annotated[float, "The start of the term, in seconds since the start of the simulation."]
    end: Annotated[float, "The end of the term, in seconds since the start of the simulation."]


class LeaderSimulation(CompoundAnswer, frozen=True, kw_only=True):
    """A simulated election, and the guarantees for any election with the same settings."""

    summary: Annotated[str, "The result in one sentence."]
    times: Annotated[TimesData, "The timing settings of the candidates."]
    bounds: Annotated[BoundsData, "The guarantees that these settings give."]
    candidates: Annotated[int, "The number of candidates."]
    duration: Seconds
    clock_skew: Annotated[float, "The largest clock offset, in seconds."]
    clock_drift: Annotated[float, "The largest clock drift, as a fraction: 0.01 is one percent too fast or too slow."]
    seed: Annotated[int, "The seed of the simulated election."]
    events: Annotated[tuple[EventData, ...], "The events in the order of time."]
    terms: Annotated[tuple[TermData, ...], "The terms of the leaders."]
    gaps: Annotated[
        tuple[tuple[float, float], ...], "The start and end of each period without a leader, in seconds of true time."
    ]
    overlaps: Annotated[tuple[tuple[TermData, TermData], ...], "The pairs of terms that overlap."]
    suggested: Annotated[
        TimesData | None,
        "Timing settings with which two candidates never lead at once and the requested fail-over time is met; "
        "null if none are suggested.",
    ]
    suggested_for: Annotated[
        Literal["failOver", "exclusive", ""],
        "The goal of the suggestion: a requested fail-over time or exclusive leadership; empty if there is no "
        "suggestion.",
    ]

    @property
    def exclusive(self) -> bool:
        """True if two candidates never led at once in this simulation."""
        return not self.overlaps

    @property
    def yes(self) -> bool:
        return self.exclusive

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        return tuple(term.who for term in self.terms)
