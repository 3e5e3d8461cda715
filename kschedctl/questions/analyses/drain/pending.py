"""Cures for the pods of drained nodes that find no other node."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import listed
from kschedctl.diagnosis.diagnosis import Situation
from kschedctl.diagnosis.rules.volumes import volume_places
from kschedctl.diagnosis.why.proof import Suggestion
from kschedctl.diagnosis.why.search import suggest
from kschedctl.diagnosis.why.template import commands_of
from kschedctl.questions.analyses.drain.trials import DrainChange, Trials, newly_pending
from kschedctl.questions.analyses.pending_causes import PendingCauses
from kschedctl.questions.analyses.pod_cures import suggested_cure
from kschedctl.questions.answers.cures import CureData
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.framework.remedy import ObjectDeletion, Patch, Risk
from kschedctl.trials.whatif.patches import make_changes

#: The most suggestions to search for, and the number of them that are offered for a pod that finds no other node.
_MOST: Final = 5
_MOST_FOR_POD: Final = 3


def pending_cures(trials: Trials) -> Iterator[CureData]:
    """Yield cures for one pod of each cause for which pods stay pending."""
    causes = PendingCauses(trials.run.attempts)
    new = set(newly_pending(trials.run))
    done: set[str] = set()
    for key in causes.last:
        decision = causes.decision(key) if key in new else None
        if decision is None or decision.schedulable or causes.of(key) in done:
            continue
        done.add(causes.of(key))
        suggestions = list(suggestions_during_drain(trials, decision))
        if not suggestions:
            yield from after_the_drain(trials, decision)
        yield from map(suggested_cure, suggestions)


def after_the_drain(trials: Trials, decision: Decision) -> Iterator[CureData]:
    """Yield the end of the cordon for a pod whose volumes can only be used on drained nodes."""
    for place in volume_places(Situation(decision)):
        names = [decision.cluster.nodes.names[row] for row in np.flatnonzero(place.nodes).tolist()]
        if names and set(names) <= set(trials.run.nodes):
            yield CureData(
                f"uncordon {listed(names, most=3)} after the maintenance: volume {place.volume.name} is there",
                "",
                (f"kubectl uncordon {' '.join(names)}",),
                f"{decision.pod.key} stays pending until then",
            )
            return


def suggestions_during_drain(trials: Trials, decision: Decision) -> Iterator[Suggestion]:
    """Yield changes with which a pending pod is scheduled, without those that end the drain or evict pods."""
    nodes = trials.run.nodes
    found = (
        each
        for each in suggest(decision, _MOST).proven
        if not each.evicts
        and max(remedy.risk for remedy in each.remedies) < Risk.EVICTION
        and not any(isinstance(c, Patch) and c.kind == "Node" and c.name in nodes for c in each.changes)
        and not any(isinstance(c, ObjectDeletion) for c in each.changes)
    )
    return islice(found, _MOST_FOR_POD)


def as_change(suggestion: Suggestion) -> DrainChange:
    """Return the changes with which a pending pod is scheduled as one change."""
    pod = suggestion.before.pod

    def make(cluster: Cluster) -> Cluster:
        follows = [change for remedy in suggestion.remedies for change in remedy.follows]
        after = make_changes(cluster, pod, (*suggestion.changes, *follows))
        return after.cluster if after.pod is pod else after.cluster.with_pods(added=[after.pod])

    return DrainChange(
        summary=suggestion.summary, commands=commands_of(suggestion.before.cluster, suggestion.remedies), make=make
    )
