"""Checks of a plugin's declared dependencies: ``reads``, ``prepares_from``, ``own_part`` and ``reach_of_copies``.

Each clause changes a part of a sample's cluster on which the results do not depend according to the declaration, and
compares the results before and after the change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PENDING
from kschedctl.objects.core import Node, Taint
from kschedctl.objects.meta import ApiObject
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import Dependencies, Reach
from kschedctl.scheduler.framework.interface import FilterPlugin, Plugin, ScorePlugin
from kschedctl.scheduler.framework.status import Code
from kschedctl.testing.probe import PluginAnswers, PluginSubject, ask, prepare, prepare_scores, run_filter
from kschedctl.testing.samples import Sample

_TAINT: Final = Taint(key="changed", effect="NoSchedule")


@dataclass(frozen=True, slots=True)
class _Difference:
    """A cluster that differs from the sample in one part.

    Attributes
    ----------
    cluster : Cluster
        The changed cluster.
    words : str
        A description of the change.
    pods_of : str
        The node with changed pods; empty if no pods changed.
    node : str
        The changed node; empty if no node changed.
    kind : type, optional
        The kind whose objects changed; ``None`` if none did.
    """

    cluster: Cluster
    words: str
    pods_of: str = ""
    node: str = ""
    kind: type[ApiObject] | None = None

    def touched(self, reads: Dependencies, names: tuple[str, ...]) -> frozenset[str]:
        """Return the nodes for which results with these dependencies can differ."""
        if self.kind is not None:
            return frozenset(names if self.kind in reads.kinds else ())
        node, reach = (self.pods_of, reads.pods) if self.pods_of else (self.node, reads.nodes)
        return frozenset(names if reach is Reach.CLUSTER else (node,) if reach is Reach.NODE else ())


def _differences(cluster: Cluster) -> Iterator[_Difference]:
    waiting = np.flatnonzero(cluster.pods.node_row == PENDING).tolist()
    for row, name in enumerate(cluster.nodes.names):
        here = cluster.pods.on_node(row).tolist()
        if here:
            yield _Difference(cluster.with_pods(removed=here), f"the pods of {name} removed", pods_of=name)
        for index in waiting:
            pod = cluster.pods.pod(index)
            bound = replace(pod, spec=replace(pod.spec, node_name=name))
            words = f"{cluster.pods.key(index)} bound to {name}"
            yield _Difference(cluster.with_pods(added=[bound]), words, pods_of=name)
        for words, node in _other_nodes(cluster.nodes.objects[row]):
            objects = cluster.nodes.objects
            changed = cluster.with_nodes((*objects[:row], node, *objects[row + 1 :]))
            yield _Difference(changed, f"{name} {words}", node=name)
    for kind in cluster.kinds:
        yield _Difference(cluster.with_objects(kind, ()), f"every {kind.__name__} removed", kind=kind)


def _other_nodes(node: Node) -> Iterator[tuple[str, Node]]:
    spec, status = node.spec, node.status
    yield "cordoned", replace(node, spec=replace(spec, unschedulable=not spec.unschedulable))
    yield "tainted", replace(node, spec=replace(spec, taints=(*spec.taints, _TAINT)))
    yield "without labels", replace(node, metadata=replace(node.metadata, labels={}))
    yield "without images", replace(node, status=replace(status, images=()))
    yield "without allocatable resources", replace(node, status=replace(status, allocatable={}))
    yield "with other declared features", replace(node, status=replace(status, declared_features=("Changed",)))


def answers_depend_on_no_more_than_reads_says(subject: PluginSubject, sample: Sample) -> None:
    """Check that Filter and Score give the same result for a node if nothing that ``reads`` declares has changed."""
    cluster = sample.world.cluster()
    plugin = subject.over(cluster)
    if plugin.reads is None:
        return
    names = cluster.nodes.names
    before = ask(plugin, cluster, sample.pod)
    for difference in _differences(cluster):
        after = ask(subject.over(difference.cluster), difference.cluster, sample.pod)
        touched = difference.touched(plugin.reads, names)
        # PreFilter and PreScore may skip after a change; then there is no result to compare.
        for node in [name for name in names if name not in touched]:
            for what, was, now in _of_node(before, after, node):
                assert now == was, (
                    f"{what} of {node} depends on more than reads declares: with {difference.words}, it differs"
                )


def _of_node(before: PluginAnswers, after: PluginAnswers, node: str) -> Iterator[tuple[str, object, object]]:
    if node in before.verdicts and node in after.verdicts:
        yield "the verdict", before.verdicts[node], after.verdicts[node]
    if node in before.raw and node in after.raw:
        yield "the score", before.raw[node], after.raw[node]


def preparing_depends_on_no_more_than_prepares_from_says(subject: PluginSubject, sample: Sample) -> None:
    """Check that results and state of PreFilter and PreScore hold if nothing in ``prepares_from`` has changed."""
    cluster = sample.world.cluster()
    plugin = subject.over(cluster)
    if plugin.prepares_from is None:
        return
    for difference in _differences(cluster):
        if difference.touched(plugin.prepares_from, cluster.nodes.names):
            continue
        other = subject.over(difference.cluster)
        kept, anew = _prepared(plugin, sample), _prepared(other, sample)
        words = f"with {difference.words}"
        assert kept[0] == anew[0], f"preparing depends on more than prepares_from declares: {words}, its result differs"
        states = _said(other, kept[1], sample), _said(other, anew[1], sample)
        assert states[0] == states[1], (
            f"the prepared state depends on more than prepares_from declares: {words}, it differs"
        )


def _prepared(plugin: Plugin, sample: Sample) -> tuple[object, CycleState]:
    state = CycleState()
    rows = plugin.handle.cluster.nodes.rows
    said = prepare(plugin, state, sample.pod)
    return (said, prepare_scores(plugin, state, sample.pod, rows)), state


def _said(plugin: Plugin, state: CycleState, sample: Sample) -> object:
    """Return the results of Filter and Score for a state; an error about missing preparation is a result, too."""
    cluster = plugin.handle.cluster
    verdicts: list[object] = []
    if isinstance(plugin, FilterPlugin):
        found = run_filter(plugin, state, sample.pod, cluster.overlay())
        verdicts = [found.status(row) for row in range(len(cluster.nodes))]
    scored = isinstance(plugin, ScorePlugin) and prepare_scores(plugin, CycleState(), sample.pod, cluster.nodes.rows)
    if isinstance(plugin, ScorePlugin) and scored and scored.code is Code.SUCCESS:
        return verdicts, plugin.score(state, sample.pod, cluster.nodes.rows).tolist()
    return verdicts, None


def answers_depend_on_no_more_of_the_pod_than_own_part_says(subject: PluginSubject, sample: Sample) -> None:
    """Check that results do not depend on the pod's name, uid, labels and owners if ``own_part`` does not."""
    cluster = sample.world.cluster()
    plugin = subject.over(cluster)
    pod = sample.pod
    other = replace(
        pod, metadata=replace(pod.metadata, name="other", uid="other", labels={"app": "other"}, owner_references=())
    )
    if plugin.reads is None or plugin.own_part(pod) != plugin.own_part(other):
        return
    before, after = ask(plugin, cluster, pod), ask(subject.over(cluster), cluster, other)
    assert (after.verdicts, after.raw) == (before.verdicts, before.raw), "the results depend on the pod's own metadata"


def copies_change_no_more_than_reach_of_copies_says(subject: PluginSubject, sample: Sample) -> None:
    """Check that a copy of the pod on a node does not change results beyond what ``reach_of_copies`` states."""
    cluster = sample.world.cluster()
    plugin = subject.over(cluster)
    reach = plugin.reach_of_copies(sample.pod)
    if reach is Reach.CLUSTER:
        return
    before = ask(plugin, cluster, sample.pod)
    for name in cluster.nodes.names:
        changed = cluster.with_copies(sample.pod, [name])
        after = ask(subject.over(changed), changed, sample.pod)
        words = f"with a copy of the pod on {name}, it differs"
        assert after.pre_filter == before.pre_filter, f"PreFilter depends on copies: {words}"
        for node in cluster.nodes.names:
            if node == name and reach is Reach.NODE:
                continue
            for what, was, now in _of_node(before, after, node):
                assert now == was, f"{what} of {node} depends on more than reach_of_copies says: {words}"
