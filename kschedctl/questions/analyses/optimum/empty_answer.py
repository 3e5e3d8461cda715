"""The answer of ``optimum --minimize``: the nodes that can be emptied."""

from __future__ import annotations

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import counted, listed
from kschedctl.questions.analyses.provenance import Provenance, envelope
from kschedctl.questions.answers.optimum import Emptied, EmptiedNodeData
from kschedctl.trials.optimum.consolidation import Consolidation


def emptied_answer(before: Cluster, emptying: Consolidation, provenance: Provenance) -> Emptied:
    """Return the answer.

    Parameters
    ----------
    before : Cluster
        The cluster before the drain.
    provenance : Provenance
        The provenance of the answer.
    """
    fewest = emptying.standing.bound
    return Emptied(
        **envelope(before, provenance, ()),
        summary=_summary(emptying, fewest),
        used=emptying.n_used,
        used_after=emptying.n_used_after,
        newly_used=emptying.newly_used,
        fewest=fewest,
        proven=fewest == emptying.n_used_after and emptying.best.exact,
        nodes=tuple(
            EmptiedNodeData(node.node, tuple(pod.key for pod in node.evicted), dict(node.waited))
            for node in emptying.nodes
        ),
        cordoned=emptying.closed,
        placements=emptying.placed,
        given_up=emptying.given_up,
        obstacles=emptying.obstacles,
        fixed=emptying.fixed,
    )


def _summary(emptying: Consolidation, fewest: int | None) -> str:
    if not emptying.n_used:
        return "no node has pods other than DaemonSet pods and mirror pods"
    n = len(emptying.nodes)
    said = f"{n} of {counted(emptying.n_used, 'node')} in use can be emptied" if n else "no node can be emptied"
    after = emptying.n_used_after
    if emptying.newly_used:
        new = listed(emptying.newly_used, most=3)
        said += f": {after} {'is' if after == 1 else 'are'} in use afterwards, including {new}, unused now"
    elif n:
        said += f": {after} {'stays' if after == 1 else 'stay'} in use"
    if fewest == after:
        return f"{said}, and no placement needs fewer"
    return said if fewest is None else f"{said}; no placement needs fewer than {fewest}"
