"""From a simulated election to the answer of ``leader simulate``."""

from __future__ import annotations

from kschedctl.leaderelection.bounds import Bounds
from kschedctl.leaderelection.settings import ElectionSettings
from kschedctl.leaderelection.simulation.faults import Scenario
from kschedctl.leaderelection.simulation.search import Counterexample
from kschedctl.leaderelection.simulation.timeline import Term, Timeline
from kschedctl.report.leader.data import (
    BoundsData,
    CounterexampleData,
    EventData,
    LeaderSimulation,
    TermData,
    TimesData,
)


def simulation_answer(
    settings: ElectionSettings,
    scenario: Scenario,
    timeline: Timeline,
    promised: Bounds,
    runs: int,
    found: Counterexample | None,
    found_faults: tuple[str, ...],
    suggested: ElectionSettings | None,
    *,
    asked_for: bool,
) -> LeaderSimulation:
    """Put a simulated election into data.

    Parameters
    ----------
    settings : ElectionSettings
        The candidates' times.
    scenario : Scenario
        What was played.
    timeline : Timeline
        What happened.
    promised : Bounds
        What the times promise.
    runs : int
        How many elections were searched for two leaders at once.
    found : Counterexample or None
        One in which there were.
    found_faults : tuple of str
        Its faults as options.
    suggested : ElectionSettings or None
        Times with which two never lead at once.
    asked_for : bool
        Whether they keep a bound that was asked for, too.
    """
    overlaps = tuple((_term(first), _term(second)) for first, second in timeline.overlaps())
    return LeaderSimulation(
        summary=_summary(promised, bool(overlaps), found, runs),
        times=_times(settings),
        bounds=BoundsData(
            earliest=_rounded(promised.earliest),
            latest=_rounded(promised.latest),
            released=_rounded(promised.released),
            leads_on=_rounded(promised.leads_on),
            holds=_rounded(promised.holds),
            exclusive=promised.exclusive,
        ),
        candidates=scenario.candidates,
        duration=scenario.duration,
        clock_skew=scenario.clock_skew,
        clock_drift=scenario.clock_drift,
        seed=scenario.seed,
        events=tuple(EventData(_rounded(one.at), one.who, one.what.value, one.detail) for one in timeline.events),
        terms=tuple(map(_term, timeline.terms())),
        gaps=tuple((_rounded(start), _rounded(end)) for start, end in timeline.gaps()),
        overlaps=overlaps,
        runs=runs,
        counterexample=None
        if found is None
        else CounterexampleData(
            found.scenario.seed, _term(found.first), _term(found.second), _rounded(found.seconds), found_faults
        ),
        suggested=None if suggested is None else _times(suggested),
        suggested_for="" if suggested is None else "failOver" if asked_for else "exclusive",
    )


def _summary(promised: Bounds, overlapped: bool, found: Counterexample | None, runs: int) -> str:
    numbers = (
        f"one that cannot renew leads for up to {promised.leads_on:.1f} s after its last renewal, "
        f"and nobody else does for {promised.holds:.1f} s"
    )
    if promised.exclusive:
        return f"Never two leaders at once: {numbers}."
    if overlapped or found is not None:
        return f"Two can lead at once, for up to {promised.overlap:.1f} s: {numbers}."
    return f"Two may lead at once, though none did in {runs} elections: {numbers}."


def _times(settings: ElectionSettings) -> TimesData:
    return TimesData(
        settings.lease_duration, settings.renew_deadline, settings.retry_period, settings.release_on_cancel
    )


def _term(term: Term) -> TermData:
    return TermData(term.who, _rounded(term.start), _rounded(term.end))


def _rounded(seconds: float) -> float:
    """Without what computing in floating point adds."""
    return round(seconds, 6)
