"""Trials of changes: each is made in the state in which the drain stopped, and the drain goes on from there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import KschedctlError
from kschedctl.common.wording import counted, listed
from kschedctl.objects.pod import Pod
from kschedctl.questions.analyses.drain.run import DrainRequest, DrainRun, run_drain
from kschedctl.questions.analyses.handle import AnalysisHandle
from kschedctl.questions.answers.cures import CureData
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.simulate.drain import DrainedNode, DrainOptions
from kschedctl.trials.simulate.simulated_cluster import newly_pending_pods
from kschedctl.trials.simulate.world import is_recreated

#: The most drains that are tried for the suggestions of an answer.
_MOST_TRIES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainChange:
    """A change to try.

    Attributes
    ----------
    summary : str
        The change in a few words, in the imperative.
    commands : tuple of str
        The commands that make it.
    make : callable
        Makes the change in a cluster; returns ``None`` if that is not possible.
    note : str
        A side effect, as a clause; empty for none.
    """

    summary: str
    commands: tuple[str, ...]
    make: Callable[[Cluster], Cluster | None]
    note: str = ""


class Trials:
    """The trials for one drain that stopped.

    Parameters
    ----------
    cluster : LoadedCluster
        The cluster before the drain.
    request : DrainRequest
        The question.
    run : DrainRun
        The drain.

    Attributes
    ----------
    cluster : LoadedCluster
        The cluster before the drain.
    run : DrainRun
        The drain.
    end : Cluster
        The cluster in which the drain stopped.
    left : list of str
        The nodes that are not drained.
    """

    def __init__(self, cluster: LoadedCluster, request: DrainRequest, run: DrainRun) -> None:
        self.cluster = cluster
        self.run = run
        self.end = run.simulation.cluster
        self.left = [each.node for each in run.drained if not each.drained]
        self._request = request
        self._nodes = (*self.left, *run.nodes[len(run.drained) :])
        self._tries = 0

    def tried(self, end: Cluster, changes: Sequence[DrainChange], options: DrainOptions) -> DrainRun | None:
        """Make changes and drain on; return ``None`` if they cannot be made."""
        try:
            for change in changes:
                made = change.make(end)
                if made is None:
                    return None
                end = made
        except KschedctlError:
            return None
        return self.drained_on(end, options)

    def drained_on(self, cluster: Cluster, options: DrainOptions) -> DrainRun | None:
        """Drain the remaining nodes in the state of a cluster; return ``None`` after too many trials."""
        if self._tries >= _MOST_TRIES:
            return None
        self._tries += 1
        request = replace(
            self._request, nodes=self._nodes, selector="", zone="", options=options, surge=0, place_pending_first=False
        )
        return run_drain(
            self.cluster.moved(cluster), request, AnalysisHandle(), newly_pending_pods(self.run.before, cluster)
        )


def cure(changes: Sequence[DrainChange], after: DrainRun, first: tuple[str, ...], before: DrainRun) -> CureData:
    """Return changes that help as data.

    Parameters
    ----------
    after : DrainRun
        The drain that goes on after the changes.
    first : tuple of str
        A summary and a command that come before the changes; empty for none.
    before : DrainRun
        The drain that stopped.
    """
    notes = [change.note for change in changes if change.note]
    summaries = (*first[:1], *(change.summary for change in changes))
    commands = (*(command for change in changes for command in change.commands), *first[1:])
    return CureData(", and ".join(summaries), "; ".join((outcome(after, before), *notes)), commands)


def outcome(after: DrainRun, before: DrainRun | None = None) -> str:
    """Return the result of a drain that finishes, such as ``node-a is drained, 3 pods move``."""
    names = [each.node for each in after.drained]
    stopped = [each for each in before.drained if not each.drained] if before is not None else []
    text = f"{listed(names, most=3)} {'is' if len(names) == 1 else 'are'} drained, "
    text += evictions_in_words([*stopped, *after.drained])
    n_pending = len(newly_pending(after))
    if not n_pending:
        return text
    return f"{text}; {counted(n_pending, 'pod')} {'stays' if n_pending == 1 else 'stay'} pending"


def evictions_in_words(nodes: Sequence[DrainedNode]) -> str:
    """Return the number of pods that move, and of those that no controller recreates."""
    n_lost = len(lost_pods(nodes))
    n_moved = sum(len(each.evicted) for each in nodes) - n_lost
    parts = [f"{counted(n_moved, 'pod')} {'moves' if n_moved == 1 else 'move'}"] if n_moved else []
    if n_lost:
        lost = f"{counted(n_lost, 'pod')} {'is' if n_lost == 1 else 'are'} lost for good"
        parts.append(f"{lost}: no controller recreates {'it' if n_lost == 1 else 'them'}")
    return ", ".join(parts) or "no pod has to move"


def lost_pods(nodes: Sequence[DrainedNode]) -> list[Pod]:
    """Return the evicted pods that no controller recreates."""
    return [pod for each in nodes for pod in each.evicted if not is_recreated(pod)]


def is_drained(run: DrainRun) -> bool:
    """Report whether a drain finished for all of its nodes."""
    return all(each.drained for each in run.drained) and len(run.drained) == len(run.nodes)


def newly_pending(run: DrainRun) -> list[str]:
    """Return the pods that are pending after a drain and were not before it."""
    return newly_pending_pods(run.before, run.simulation.cluster)
