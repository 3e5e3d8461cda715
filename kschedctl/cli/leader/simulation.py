"""What ``leader simulate`` does once its options are read: simulate, search."""

from __future__ import annotations

from functools import cached_property
from math import inf, isfinite
from typing import Final

from kschedctl.cli.leader.times import written
from kschedctl.cli.shell import command_line
from kschedctl.leaderelection.bounds import Conditions, bounds, made_exclusive, settings_for
from kschedctl.leaderelection.settings import ElectionSettings
from kschedctl.leaderelection.simulation.faults import Fault, Scenario
from kschedctl.leaderelection.simulation.search import find_counterexample
from kschedctl.leaderelection.simulation.world import simulate
from kschedctl.report.document import Document
from kschedctl.report.envelope import Compound
from kschedctl.report.leader.data import LeaderSimulation
from kschedctl.report.leader.simulation import simulation_answer
from kschedctl.report.leader.simulation_text import simulation_document
from kschedctl.report.render.form import Outcome, Reply

_SHORTEST: Final = 120.0
#: How long it is looked at after the last fault, in leases.
_AFTER: Final = 3
#: How many elections are searched where two leaders are excluded, and where they are not.
_FEW, _MANY = 40, 400


def scenario(
    settings: ElectionSettings,
    faults: tuple[Fault, ...],
    candidates: int,
    duration: float | None,
    skew: float,
    drift: float,
    seed: int,
) -> Scenario:
    """What is played, for long enough that all of it shows."""
    ends = [end for fault in faults for end in (fault.at, getattr(fault, "until", inf)) if isfinite(end)]
    long_enough = max([_SHORTEST, *(end + _AFTER * settings.lease_duration for end in ends)])
    return Scenario(
        candidates=candidates,
        duration=long_enough if duration is None else duration,
        faults=faults,
        clock_skew=skew,
        clock_drift=drift,
        seed=seed,
    )


class SimulationReply(Reply):
    """One run of ``leader simulate``.

    Parameters
    ----------
    settings : ElectionSettings
        The candidates' times.
    played : Scenario
        What goes wrong.
    runs : int or None
        How many elections are searched; ``None`` for as many as are worth it.
    fail_over : float or None
        How soon another shall lead, in seconds.
    times : tuple of str
        The options of the times, for other commands.
    """

    def __init__(
        self,
        settings: ElectionSettings,
        played: Scenario,
        runs: int | None,
        fail_over: float | None,
        times: tuple[str, ...],
    ) -> None:
        self._settings = settings
        self._played = played
        self._runs = runs
        self._fail_over = fail_over
        self._times = times

    def value(self) -> Compound:
        """The election, and what holds for any."""
        return self._answer

    def document(self, *, wide: bool) -> Document:
        """The same for people."""
        found = self._answer.counterexample
        questions: tuple[tuple[str, str], ...] = ()
        if found is not None and found.seed != self._played.seed:
            played = self._played
            words = ["leader", "simulate", *self._times, "--candidates", str(played.candidates), "--runs", "0"]
            words += ["--duration", f"{played.duration:g}s", "--seed", str(found.seed), *found.faults]
            words += ["--clock-skew", f"{played.clock_skew:g}s"] if played.clock_skew else []
            words += ["--clock-drift", f"{played.clock_drift:g}"] if played.clock_drift else []
            questions = (("See it", command_line(*words)),)
        return simulation_document(self._answer, questions, every=wide)

    def outcome(self) -> Outcome:
        """Whether two never led at once."""
        return Outcome(yes=self._answer.exclusive)

    @cached_property
    def _answer(self) -> LeaderSimulation:
        conditions = Conditions(drift=self._played.clock_drift, request=self._played.longest_request)
        promised = bounds(self._settings, conditions)
        runs = self._runs if self._runs is not None else _FEW if promised.exclusive else _MANY
        timeline = simulate(self._settings, self._played)
        # The faults that are given were just played: the others are searched.
        found = find_counterexample(self._settings, self._played, runs)
        if self._fail_over is not None:
            suggested: ElectionSettings | None = settings_for(self._fail_over, conditions, self._settings)
        else:
            suggested = None if promised.exclusive else made_exclusive(self._settings, conditions)
        return simulation_answer(
            self._settings,
            self._played,
            timeline,
            promised,
            runs,
            found,
            () if found is None else tuple(word for fault in found.scenario.faults for word in written(fault)),
            suggested,
            asked_for=self._fail_over is not None,
        )
