"""Cures for drains: the changes with which a node can be drained and its pods scheduled, each tried by draining on.

Trials begin in the state in which the drain stopped, as ``kubectl drain`` goes on retrying while the operator makes the
change. ``options`` answers for missing options of kubectl, ``blocked`` for evictions that budgets refuse, ``pending``
for pods that find no other node.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from kschedctl.questions.analyses.drain.blocked import MOST_CURES, blocked_cures
from kschedctl.questions.analyses.drain.options import option_cures, own_controller
from kschedctl.questions.analyses.drain.pending import pending_cures
from kschedctl.questions.analyses.drain.run import DrainRequest, DrainRun
from kschedctl.questions.analyses.drain.trials import Trials, lost_pods
from kschedctl.questions.answers.cures import CureData
from kschedctl.trials.loaded_cluster import LoadedCluster


def drain_cures(cluster: LoadedCluster, request: DrainRequest, run: DrainRun) -> tuple[CureData, ...]:
    """Return the changes with which the nodes can be drained without the loss of pods, and the pods be scheduled."""
    if not run.finished:
        return ()
    trials = Trials(cluster, request, run)
    return tuple(islice(_cures(trials, request), MOST_CURES))


def _cures(trials: Trials, request: DrainRequest) -> Iterator[CureData]:
    """Yield the cures, the best first."""
    lost = lost_pods(trials.run.drained)
    if lost:
        yield own_controller([pod.key for pod in lost])
    if any(each.refusals for each in trials.run.drained):
        yield from option_cures(trials, request.options)
    elif trials.left:
        yield from blocked_cures(trials, trials.run, request.options)
    else:
        yield from pending_cures(trials)
